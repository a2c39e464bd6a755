// SPDX-License-Identifier: Apache-2.0
#include "assembler/assemble.hpp"

#include <algorithm>
#include <numeric>

#include "assembler/contract.hpp"
#include "assembler/fold.hpp"
#include "assembler/pair.hpp"
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

/// Whether a function has a statement with one of these opcodes, and one of these types for its last word.
bool has(const ptx::FunctionText& function, std::initializer_list<std::string_view> opcodes,
         std::string_view types) {
  return std::ranges::any_of(function.statements, [&](const ptx::Statement& s) {
    if (std::ranges::find(opcodes, s.opcode) == opcodes.end()) return false;
    const auto words = ptx::words_of(function, s);
    return !words.empty() && has_word(types, words.back());
  });
}
constexpr std::string_view kFloating = "f32 f64 f16 f16x2 bf16 bf16x2";

}  // namespace

Assembled assemble(const ptx::FunctionText& function, Rules rules) {
  Assembled out{body_of(function),
                std::vector<int>(function.statements.size()),
                std::vector<bool>(function.statements.size()),
                {},
                nullptr};
  std::iota(out.origins.begin(), out.origins.end(), 0);
  if (has(function, {"neg", "abs", "sub", "cvt"}, kFloating)) read(out, rules);
  if (rules == Rules::none()) return out;
  const bool computes =
      has(function, {"mul", "rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "div"}, kFloating);
  if (computes && rules.has(Rule::unroll)) unroll(out);
  if (computes || has(function, {"min", "max", "cvt", "neg", "abs"}, kFloating)) fold(out, rules);
  if (computes || has(function, {"neg"}, kFloating)) pair(out, rules);
  if (computes && rules.has(Rule::contract)) sink(out);
  if (computes && (rules.has(Rule::contract) || rules.has(Rule::quotient))) contract(out, rules);
  if (computes && rules.has(Rule::scale)) scale(out, rules);
  if (rules.has(Rule::sign) && has(out.function, {"neg", "abs"}, "f32")) sign(out);
  out.flow.reset();  // of this place
  return out;
}

}  // namespace warpbit::assembler
