// SPDX-License-Identifier: Apache-2.0
// Registers that are read before they are written. Such a register has an unspecified value; that is a fault where the
// value matters: in an address, a guard, a branch, or a store. Stores to .local and .param do not count: they are the
// thread's own.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "grid/program.hpp"

namespace warpbit::grid {

struct Path;

/// How a step uses a register.
enum class Use : std::uint8_t {
  result,   ///< it is written
  any,      ///< it is read, and needs no value
  value,    ///< the results depend on it
  matters,  ///< an address, a guard, a branch or what others can read depends on it
};
/// Calls visit for each register and predicate of a step but its guard, sources first.
void for_each_use(const Program& program, const Step& step,
                  const std::function<void(const Place&, Use)>& visit);

/// The register of a function that a place is at a point (slots.hpp); nullptr for a carry.
const ptx::Register* find_register(const FunctionCode& function, const Place& place, int point);
/// Its name, as the module spells it.
std::string register_name(const FunctionCode& function, const Place& place, int point);

/// Whether some way through the steps [first, last) of a function reads a register before it is written.
bool may_read_unwritten(const Program& program, const FunctionCode& function, int first, int last);

/// The lanes that have written each register of a warp, and 16 bits of it where they have not written all of it: packed values
/// of which a half is used.
class Written {
 public:
  /// A call begins: none of its registers has a value.
  void begin(const Path& path, const FunctionCode& function, Lanes lanes);
  /// Follows a step, behind its guard. Returns the place whose value matters and which some of the lanes have not written.
  struct Missing {
    Place place = {};
    Lanes lanes = 0;
  };
  Missing guard(const Path& path, const Place& place, Lanes lanes) { return {place, lanes & ~of(path, place)}; }
  /// All registers have a value, as far as is known.
  void assume_all();
  /// What a step has written there is no value.
  void forget(const Path& path, const Place& place, Lanes lanes) { set(path, place, lanes, {}); }
  Missing follow(const Program& program, const Path& path, const Step& step, Lanes lanes);

 private:
  /// The lanes that have written bits 16 i to 16 i + 15. Those that a register does not have count as written.
  using Parts = std::array<Lanes, 4>;

  Lanes& of(const Path& path, const Place& place);
  Parts parts_of(const Path& path, const Place& place);
  /// The lanes write the place, with a value in these of its parts.
  void set(const Path& path, const Place& place, Lanes lanes, const Parts& known);
  void pack(const Program& program, const Path& path, const Step& step, Lanes lanes);
  void unpack(const Program& program, const Path& path, const Step& step, Lanes lanes);

  std::vector<Lanes> slots_, predicates_;  // all of the register
  std::map<std::size_t, Parts> partly_;    // by slot; looked up for lanes that slots_ has not
};

}  // namespace warpbit::grid
