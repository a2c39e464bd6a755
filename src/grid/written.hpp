// SPDX-License-Identifier: Apache-2.0
// What a step reads and writes, and registers that are read before they are written: undefined.hpp follows what becomes of
// those.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grid/program.hpp"

namespace warpbit::grid {

/// How a step uses a register.
enum class Use : std::uint8_t {
  result,   ///< it is written
  value,    ///< the results depend on it
  matters,  ///< an address, a branch, a barrier or what others can read depends on it
};
/// Calls visit for each register and predicate of a step but its guard, sources first.
void for_each_use(const Program& program, const Step& step,
                  const std::function<void(const Place&, Use)>& visit);

/// The same with the lanes whose registers count.
using VisitLanes = std::function<void(const Place&, Use, Lanes)>;
void for_each_use(const Program& program, const Step& step, const VisitLanes& visit);

/// Whether a step writes a register or a predicate, where each register has a slot of its own.
bool writes(const Program& program, const Step& step, const Place& place);

/// Whether a place is that of a descriptor: of a matrix in shared memory, or of a tensor instruction.
bool is_descriptor(const Program& program, const Step& step, const Place& place);

/// Whether a step behind this one reads the predicate that it writes, on some way and before another one is written there.
/// Precondition: branches go to steps.
bool is_read_behind(const Program& program, int step);

/// The register of a function that a place is at a point (slots.hpp); nullptr for a carry.
const ptx::Register* find_register(const FunctionCode& function, const Place& place, int point);
/// Its name, as the module spells it.
std::string register_name(const FunctionCode& function, const Place& place, int point);

/// The registers and predicates of a function that some way through the steps [first, last) reads before it writes them.
std::vector<Place> find_unwritten(const Program& program, const FunctionCode& function, int first, int last);

}  // namespace warpbit::grid
