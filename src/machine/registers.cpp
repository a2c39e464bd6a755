// SPDX-License-Identifier: Apache-2.0
#include "warpbit/registers.hpp"

namespace warpbit {

Registers::Registers(int lanes, int registers)
    : lanes_(lanes),
      registers_(registers),
      cells_(static_cast<std::size_t>(lanes) * static_cast<std::size_t>(registers)) {}

void apply(const Effects& effects, Registers& registers) {
  for (const Effects::Write& w : effects.writes) registers.write(w.lane, w.reg, w.value);
}

}  // namespace warpbit
