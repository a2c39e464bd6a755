// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "grid/program.hpp"

namespace warpbit::grid {

/// Whether a step sets registers of its lanes, or chooses what they do next, and does nothing that others can see.
bool stays_in_lane(ptx::Does does);

/// Adds the steps of a function that may follow one. Behind its last one is none of its own.
void followers(const Program& program, int step, std::vector<int>& to);

/// Whether a thread may come from one statement to another, and if `without_barrier`, with none of its block on the way. Both are
/// numbers of Program::origins.
bool leads_to(const Program& program, int from, int to, bool without_barrier);

/// A statement by which threads wait for a flag before they come to `read`, and which is on no way to `write` or from it; -1: there is
/// none. The numbers are those of Program::origins.
int awaits_before(const Program& program, int read, int write);
/// An atom.cas from which threads come to both statements without a barrier; -1: there is none.
int claims(const Program& program, int one, int other);

/// Whether threads write to shared memory behind a step, or have a copy write there, before they read any of it: then they have
/// waited for a buffer to be free. Accesses by generic addresses are left out.
bool fills_next(const Program& program, int step);
/// Whether a load has come before its thread can tell anybody of it: on each way from there a statement takes what it has loaded, and
/// no barrier, fence, atomic, strong access, call or end comes before. `statement`: a number of Program::origins.
bool is_taken_before_others(const Program& program, int statement);
/// Of each step: whether a thread that is there may end, or leave the function. False in a loop that nothing leaves.
std::vector<bool> lead_out(const Program& program);

/// What a kernel may use.
struct Named {
  std::vector<const ptx::FunctionText*> functions;  ///< with a body; the kernel first
  std::set<const ptx::Variable*> variables;
  bool reserved_shared = false;  ///< the offsets of what the system keeps of shared memory
};
/// What a kernel names, and what these functions and variables name in turn.
Named named(const ptx::ModuleText& module, const ptx::FunctionText& kernel);

}  // namespace warpbit::grid
