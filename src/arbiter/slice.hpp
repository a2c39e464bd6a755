// SPDX-License-Identifier: Apache-2.0
// Where an element comes from: the statements that a thread executed, and those of them that made what it stored there.
//
//     mov.u32 %r1, %tid.x;        3     for %r1
//     ld.global.u32 %r2, [%rd4];  2     for %r2
//     add.s32 %r3, %r4, 1;              for nothing that is stored
//     add.s32 %r5, %r2, %r1;      1     for %r5
//     st.global.u32 [%rd3], %r5;  0     the wrong element
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/experiment.hpp"
#include "edit/code.hpp"
#include "warpbit/arbiter.hpp"

namespace warpbit::arbiter {

using edit::Code, edit::Edit, edit::Site, edit::is_among, edit::guarded;

/// What a verdict says of a statement.
inline CodePlace place(const Site& site) {
  return {site.line, site.text};
}

/// Bytes that a statement accesses: from an address, or from a symbol on.
struct Cell {
  std::string symbol = {};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;

  bool meets(const Cell& other) const {
    return symbol == other.symbol && address < other.address + other.bytes && other.address < address + bytes;
  }
};

struct RegisterValue {
  std::string name;
  std::uint64_t bits;
};

/// A statement that the thread has executed, with what it read and wrote; or did not execute, since its guard did not hold.
struct Event {
  int site;
  std::vector<RegisterValue> sources, results;
  std::vector<std::string> skipped = {};  ///< what it would have written
  bool is_executed = true;

  std::optional<std::uint64_t> source(std::string_view name) const;
  std::optional<std::uint64_t> result(std::string_view name) const;
};

struct Trace {
  Thread thread;
  std::vector<Event> events;
  bool is_cut = false;  ///< it is longer than what is kept
};

/// What a statement loads or stores, with the values of its sources; nothing of others.
std::optional<Cell> accessed(const Site& site, const Event& event);

/// What a thread executes, statement by statement as they are written.
Trace trace(const Experiment& experiment, const Code& code, const Thread& thread);
/// The thread that writes a byte; nothing if none does, or what does so is no store of a thread.
std::optional<Thread> find_writer(const Experiment& experiment, const Code& code, std::size_t part,
                                  std::size_t byte);

struct Slice {
  Trace trace;
  int store = -1;           ///< the event that stores the element; -1: none does
  std::vector<int> events;  ///< of the trace, the store first; then those that decide branches
  std::vector<int> sites;   ///< the same, each statement once
};

/// The slice for a byte at an address. Without its store it is all that the thread has executed.
Slice slice(const Code& code, Trace trace, std::uint64_t address);

}  // namespace warpbit::arbiter
