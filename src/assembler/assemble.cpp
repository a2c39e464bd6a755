// SPDX-License-Identifier: Apache-2.0
#include "assembler/assemble.hpp"

#include <algorithm>
#include <numeric>

#include "assembler/contract.hpp"
#include "assembler/fold.hpp"
#include "assembler/scale.hpp"
#include "assembler/sign.hpp"
#include "assembler/sink.hpp"
#include "assembler/unroll.hpp"

namespace warpbit::assembler {
namespace {

/// What statements say, without the variables, which stay where they are.
ptx::FunctionText body_of(const ptx::FunctionText& function) {
  ptx::FunctionText out;
  out.name = function.name;
  out.is_entry = function.is_entry;
  out.has_samplers = function.has_samplers;
  out.registers = function.registers;
  out.statements = function.statements;
  out.qualifiers = function.qualifiers;
  out.operands = function.operands;
  out.tables = function.tables;
  return out;
}

/// Whether a function has a statement of f32 that rules look at.
bool has(const ptx::FunctionText& function, std::initializer_list<std::string_view> opcodes) {
  return std::ranges::any_of(function.statements, [&](const ptx::Statement& s) {
    return std::ranges::find(opcodes, s.opcode) != opcodes.end();
  });
}

void change_numbers(Assembled& out, Rules rules) {
  if (rules.has(Rule::unroll)) unroll(out);
  if (rules.has(Rule::fold) || rules.has(Rule::divide) || rules.has(Rule::identity)) fold(out, rules);
  if (rules.has(Rule::pair) || rules.has(Rule::identity)) pair(out, rules);
  if (rules.has(Rule::contract)) sink(out);
  if (rules.has(Rule::contract) || rules.has(Rule::quotient)) contract(out, rules);
  if (rules.has(Rule::scale)) scale(out, rules);
}

}  // namespace

Assembled assemble(const ptx::FunctionText& function, Rules rules) {
  Assembled out{body_of(function),
                std::vector<int>(function.statements.size()),
                std::vector<bool>(function.statements.size()),
                {},
                nullptr};
  std::iota(out.origins.begin(), out.origins.end(), 0);
  const bool approximates = has(function, {"rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "div"});
  const bool multiplies = has(function, {"mul"});
  if (approximates || multiplies) change_numbers(out, rules);
  if (rules.has(Rule::sign) && has(out.function, {"neg", "abs"})) sign(out);
  out.flow.reset();  // of this place
  return out;
}

}  // namespace warpbit::assembler
