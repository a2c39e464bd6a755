// SPDX-License-Identifier: Apache-2.0
#include "warpbit/state.hpp"

namespace warpbit {

Registers::Registers(int lanes, int registers)
    : lanes_(lanes),
      registers_(registers),
      cells_(static_cast<std::size_t>(lanes) * static_cast<std::size_t>(registers)) {}

void apply(const Effects& effects, Registers& registers) {
  for (const Effects::Write& w : effects.writes) registers.write(w.lane, w.reg, w.value);
}

Result<void> apply(const Effects& effects, Registers& registers, Memory& memory) {
  for (const Effects::MemoryWrite& w : effects.memory_writes)
    if (!memory.contains(w.space, w.address, w.bytes.size()))
      return memory.write(w.space, w.address, w.bytes);  // its error
  for (const Effects::MemoryWrite& w : effects.memory_writes)
    if (const Result<void> done = memory.write(w.space, w.address, w.bytes); !done) return done;
  apply(effects, registers);
  return {};
}

}  // namespace warpbit
