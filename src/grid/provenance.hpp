// SPDX-License-Identifier: Apache-2.0
// From which variable the addresses in registers come, as far as the text of a function says it on all ways:
//
//     mov.u32 %r1, As;  add.u32 %r2, %r1, %r9;  ld.shared.f32 %f1, [%r2 + 16];      of As, whatever %r9 is
//     selp.b32 %r3, %r1, %r4, %p1;                                                  of As if %r4 is, too; else of none
//
// What is loaded is a number; a difference of addresses, and a number that is made of the bits of one, is known no more, nor
// is what it is added to.
#pragma once

#include <vector>

#include "ptx/module.hpp"

namespace warpbit::grid {

class Provenance {
 public:
  explicit Provenance(const ptx::FunctionText& function);

  /// Goes on in the text, one statement after another from the first on.
  void pass(int statement);
  /// That of an address, before the statement behind the last one that was passed; nullptr: it is not known.
  const ptx::Variable* variable(const ptx::Operand& operand) const;

 private:
  /// Of the bits of a register: of none as long as nothing is known to write to it.
  struct Origin {
    enum class Kind : std::uint8_t { none, number, address, unknown } kind = Kind::none;
    const ptx::Variable* variable = nullptr;  ///< of an address
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  static Origin join(Origin a, Origin b);
  static Origin sum(Origin a, Origin b);
  static Origin mixture(Origin a, Origin b);
  Origin of(const ptx::Operand& operand) const;
  Origin result(const ptx::Statement& statement) const;
  void begin();
  void write_results(const ptx::Statement& statement);
  void write(int reg, Origin origin, bool is_guarded);

  struct Here {
    Origin origin = {};
    int stretch = 0;  ///< in which it was written
  };
  const ptx::FunctionText& f_;
  std::vector<bool> joins_;       // by statement: a branch names it
  std::vector<Origin> anywhere_;  // by register: of all statements that write to it
  std::vector<Here> here_;  // by register: in the stretch at hand, which nothing enters but at its beginning
  int stretch_ = 1;
  bool grows_ = false;  // anywhere_, in a round
};

}  // namespace warpbit::grid
