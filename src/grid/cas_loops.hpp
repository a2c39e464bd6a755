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
//
// In debug builds the atom.cas is in a function that others call, with the address and the value in parameters:
//
//        ld.u32 %r16, [%rd4];  ...  mov.b64 %rd10, %rd4;  mov.b32 %r17, %r4;
//        st.param.b64 [param0], %rd10;  st.param.b32 [param1], %r17;
//        call (retval0), atomicCAS, (param0, param1, param2);
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ptx/module.hpp"

namespace warpbit::grid {

class CasLoops {
 public:
  /// By function: the numbers of parameters that are the address of an atom.cas and what it is compared with.
  using Parameters = std::map<const ptx::FunctionText*, std::vector<std::pair<int, int>>>;

  /// `known` is added to.
  CasLoops(const ptx::FunctionText& function, const ptx::ModuleText& module, Parameters& known);
  /// Whether a load of `value` from the address `where` is one.
  bool compares(const ptx::Operand& where, const ptx::Operand& value) const;

 private:
  struct Cas {
    std::set<int> bases;  ///< registers of the address
    std::int64_t offset;
    std::set<int> values;  ///< registers of what it is compared with, and those that were moved to them
  };
  const ptx::Operand& operand(const ptx::Statement& statement, int i) const {
    return function_.operands[static_cast<std::size_t>(statement.first_operand + i)];
  }
  const ptx::Operand& child(const ptx::Operand& of, int i) const {
    return function_.operands[static_cast<std::size_t>(of.first + i)];
  }
  void add(int base, std::int64_t offset, int value);
  void add_atomic(const ptx::Statement& statement);
  void add_call(const ptx::Statement& statement, const ptx::ModuleText& module, Parameters& known);
  void add_moved(std::set<int>& registers, bool are_addresses) const;
  bool is_whole(const ptx::Operand& address, const ptx::Variable& variable) const;
  int stored_to(const ptx::Variable& variable) const;
  int parameter_of(const std::set<int>& registers) const;
  static const std::vector<std::pair<int, int>>& parameters_of(const ptx::FunctionText& function,
                                                               const ptx::ModuleText& module,
                                                               Parameters& known);

  const ptx::FunctionText& function_;
  std::map<int, int> definitions_;  // by register
  std::vector<Cas> all_;
};

}  // namespace warpbit::grid
