// SPDX-License-Identifier: Apache-2.0
// Loads whose values an atom.cas at the same address is compared with, as in loops that replace a word:
//
//        ld.global.u32 %r1, [%rd1];
//     L: add.u32 %r2, %r1, 1;
//        atom.global.cas.b32 %r3, [%rd1], %r1, %r2;
//        setp.ne.u32 %p1, %r3, %r1;
//        mov.u32 %r1, %r3;
//     @%p1 bra L;
//
// The load is in a race with the atom.cas of others, which does no harm: the own one finds out whether the value was there.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ptx/module.hpp"

namespace warpbit::grid {

class CasLoops {
 public:
  explicit CasLoops(const ptx::FunctionText& function);
  /// Whether a load of `value` from the address `where` is one.
  bool compares(const ptx::Operand& where, const ptx::Operand& value) const;

 private:
  struct Cas {
    int base;  ///< the register of the address
    std::int64_t offset;
    std::set<int> values;  ///< registers of what it is compared with, and those that were moved to them
  };
  const ptx::FunctionText& function_;
  std::vector<Cas> all_;
};

}  // namespace warpbit::grid
