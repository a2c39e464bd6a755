// SPDX-License-Identifier: Apache-2.0
#include "grid/provenance.hpp"

#include <algorithm>
#include <string_view>

#include "assembler/flow.hpp"

namespace warpbit::grid {

using ptx::Operand;

namespace {

constexpr int kMostRounds = 20;

}  // namespace

Provenance::Provenance(const ptx::FunctionText& function)
    : f_(function),
      joins_(function.statements.size() + 1),
      anywhere_(function.registers.size()),
      here_(function.registers.size()) {
  for (const Operand& one : f_.operands)
    if (one.kind == Operand::Kind::label && one.index >= 0) joins_[static_cast<std::size_t>(one.index)] = true;
  for (const ptx::LabelTable& table : f_.tables)
    for (const int label : table.labels) joins_[static_cast<std::size_t>(label)] = true;
  int rounds = 0;
  do {
    begin();
    for (std::size_t i = 0; i < f_.statements.size(); ++i) pass(static_cast<int>(i));
  } while (grows_ && ++rounds < kMostRounds);
  if (grows_) std::ranges::fill(anywhere_, Origin{Origin::Kind::unknown});
  begin();
}

void Provenance::begin() {
  ++stretch_;
  grows_ = false;
}

// On one of two ways.
Provenance::Origin Provenance::join(Origin a, Origin b) {
  if (a.kind == Origin::Kind::none || a == b) return b;
  if (b.kind == Origin::Kind::none) return a;
  return {Origin::Kind::unknown};
}

// An address and a number.
Provenance::Origin Provenance::sum(Origin a, Origin b) {
  if (a.kind == Origin::Kind::none || b.kind == Origin::Kind::none) return {};
  if (a.kind == Origin::Kind::number) return b;
  return b.kind == Origin::Kind::number ? a : Origin{Origin::Kind::unknown};
}

// Numbers make a number.
Provenance::Origin Provenance::mixture(Origin a, Origin b) {
  if (a.kind == Origin::Kind::none || b.kind == Origin::Kind::none) return {};
  const bool numbers = a.kind == Origin::Kind::number && b.kind == Origin::Kind::number;
  return {numbers ? Origin::Kind::number : Origin::Kind::unknown};
}

Provenance::Origin Provenance::of(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::symbol: return {Origin::Kind::address, operand.variable};
    case Operand::Kind::reg: {
      const auto reg = static_cast<std::size_t>(operand.index);
      return here_[reg].stretch == stretch_ ? here_[reg].origin : anywhere_[reg];
    }
    case Operand::Kind::vector: {
      Origin out{Origin::Kind::number};
      for (int i = 0; i < operand.count; ++i)
        out = mixture(out, of(f_.operands[static_cast<std::size_t>(operand.first + i)]));
      return out;
    }
    default: return {Origin::Kind::number};
  }
}

Provenance::Origin Provenance::result(const ptx::Statement& statement) const {
  const std::string_view sources = statement.is->addresses;
  Origin out{Origin::Kind::number}, chosen;
  for (int i = 1; i < statement.operands; ++i) {
    const auto at = static_cast<std::size_t>(i) - 1;
    const Origin one = of(f_.operands[static_cast<std::size_t>(statement.first_operand + i)]);
    switch (at < sources.size() ? sources[at] : 'm') {
      case 'n': return out;
      case '-': break;
      case 'a': out = one; break;
      case 's': out = sum(out, one); break;
      case 'c': chosen = out = join(chosen, one); break;
      case 'd': out = one.kind == Origin::Kind::address ? mixture(out, one) : sum(out, one); break;
      default: out = mixture(out, one); break;
    }
  }
  return out;
}

void Provenance::write(int index, Origin origin, bool is_guarded) {
  const auto reg = static_cast<std::size_t>(index);
  const Origin before = here_[reg].stretch == stretch_ ? here_[reg].origin : anywhere_[reg];
  const Origin all = join(anywhere_[reg], origin);
  grows_ = grows_ || all != anywhere_[reg];
  anywhere_[reg] = all;
  here_[reg] = {is_guarded ? join(before, origin) : origin, stretch_};
}

void Provenance::pass(int i) {
  write_results(f_.statements[static_cast<std::size_t>(i)]);
  if (joins_[static_cast<std::size_t>(i) + 1]) ++stretch_;
}

void Provenance::write_results(const ptx::Statement& statement) {
  const bool is_guarded = statement.guard >= 0, calls = statement.is->does == ptx::Does::call;
  if (!calls && !assembler::writes_first(f_, statement)) return;
  Origin written = calls ? Origin{Origin::Kind::unknown} : result(statement);
  for (int n = 0; n < (calls ? statement.operands : 1); ++n) {
    const Operand& one = f_.operands[static_cast<std::size_t>(statement.first_operand + n)];
    if (one.kind == Operand::Kind::vector && written.kind == Origin::Kind::address)
      written = {Origin::Kind::unknown};  // parts of it
    assembler::for_each_register(f_, one, [&](int reg) { write(reg, written, is_guarded); });
  }
}

const ptx::Variable* Provenance::variable(const Operand& operand) const {
  const Origin found = of(operand);
  return found.kind == Origin::Kind::address ? found.variable : nullptr;
}

}  // namespace warpbit::grid
