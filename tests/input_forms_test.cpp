// SPDX-License-Identifier: Apache-2.0
// Inputs of every statement that is captured: nothing about them is undefined, no address leaves the image, and
// formats and registers are those of the form.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "oracle/formats.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/record.hpp"
#include "warpbit/replay.hpp"

namespace input_forms_test {

using namespace warpbit;

struct Statement {
  std::string text;
  Target target;
};

// Every statement of every form of these targets that a capture can hold.
std::vector<Statement> statements() {
  std::vector<Statement> out;
  for (const char* name : {"sm_80", "sm_90a", "sm_120a"}) {
    const Target target = *Target::find(name);
    for (const FormInfo& form : forms()) {
      if (std::ranges::find(form.targets, target) == form.targets.end()) continue;
      const Result<Instruction> bare = Instruction::parse(form.canonical, form.operands, target);
      REQUIRE(bare.ok());
      for (std::string& text : capture_statements(*bare)) out.push_back({std::move(text), target});
    }
  }
  return out;
}

Instruction parse(const Statement& statement) {
  const Result<Instruction> instruction = Instruction::parse(statement.text, statement.target);
  INFO(statement.text << (instruction ? "" : ": " + instruction.error().message()));
  REQUIRE(instruction.ok());
  return *instruction;
}

// Some cases from around 2^32 on, of all profiles unless there are many results in each.
std::string failure(const Statement& statement, std::uint64_t offset) {
  const Result<Instruction> instruction = Instruction::parse(statement.text, statement.target);
  if (!instruction) return instruction.error().message();
  const int results = instruction->rows() * instruction->columns() * instruction->products();
  const auto cases = static_cast<std::uint64_t>(std::clamp(8000 / results, 1, inputs::kMixedProfiles + 2));
  ExecuteOptions options;
  options.threads = 1;
  const auto done = generated_capture(*instruction, {7, inputs::Profile::mixed}, UINT32_MAX - 10 + offset % 20,
                                      cases, options);
  return done ? "" : done.error().message();
}

TEST_CASE("inputs of every statement execute without an error", "[inputs]") {
  const std::vector<Statement> list = statements();
  std::vector<std::string> errors(list.size());
  const auto count = static_cast<std::ptrdiff_t>(list.size());
#pragma omp parallel for schedule(dynamic)
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    errors[at] = failure(list[at], at);
    if (!errors[at].empty()) errors[at].insert(0, list[at].text + ": ");
  }
  std::erase(errors, "");
  for (std::size_t i = 0; i < std::min<std::size_t>(errors.size(), 5); ++i) UNSCOPED_INFO(errors[i]);
  CHECK(errors.size() == 0);
  fmt::print("inputs: {} statements\n", list.size());
  REQUIRE(list.size() > 10000);
}

// The numbers of a format are those of the oracle's row.
void check_format(const Operand& op, const inputs::Format& f) {
  const oracle::Format& row = oracle::find_format(op.format);
  const bool integer = row.specials == oracle::Specials::integer;
  CHECK(f.bits == op.element_bits);
  CHECK(f.is_signed == row.has_sign);
  CHECK(f.exponent_bits == (integer ? 0 : row.exponent_bits));
  if (integer) return;
  CHECK(f.fraction_bits == row.fraction_bits);
  CHECK(f.bias == row.bias);
  CHECK(f.ignored_low == row.unused_bits);
  CHECK(f.subnormals == row.lowest_field);
  CHECK((f.no_numbers == inputs::NoNumbers::ieee) == (row.specials == oracle::Specials::ieee));
  CHECK((f.no_numbers == inputs::NoNumbers::all_ones) == (row.specials == oracle::Specials::nan_all_ones));
}

TEST_CASE("fills have the formats and the registers of their operands", "[quick][inputs][once]") {
  std::set<std::string_view> formats;
  std::size_t checked = 0;
  for (const Statement& statement : statements()) {
    if (statement.text.find("n256") == std::string::npos && statement.text.starts_with("wgmma")) continue;
    const Instruction instruction = parse(statement);
    const auto members = capture_members(instruction);
    REQUIRE(members.ok());
    CHECK(members->back().fills.empty());
    INFO(statement.text);
    std::set<int> numbers;
    for (const CaptureMember& member : *members)
      for (const inputs::Member& m : member.fills) {
        CHECK(numbers.insert(m.operand).second);
        CHECK(m.lanes == member.lanes);
        CHECK(m.register_bits == member.register_bits);
        CHECK(m.first + m.registers <= member.registers);
        if (m.fill != inputs::Fill::elements || member.name == "smem") continue;
        const auto op = std::ranges::find(instruction.operands(), member.name == "d_in" ? "d" : member.name,
                                          &Operand::label);
        REQUIRE(op != instruction.operands().end());
        check_format(*op, m.format);
        const Packing& p = op->fragment.packing();
        CHECK(m.register_bits == p.register_bits);
        CHECK((m.register_bits / m.slot_bits == 1 || m.slot_bits == p.slot_bits));
        CHECK(m.low_bit == p.low_bit);
        formats.insert(op->format);
        ++checked;
      }
  }
  REQUIRE(checked > 5000);
  CHECK(formats.size() == 19);  // all but b8, b16 and b32: what is moved has any bits
}

TEST_CASE("what no capture can hold is refused", "[quick][inputs]") {
  const auto refusal = [](const char* text) {
    const auto members = capture_members(*Instruction::parse(text, *Target::find("sm_90a")));
    REQUIRE_FALSE(members.ok());
    CHECK(members.error().code == Errc::member_value);
    return members.error().message();
  };
  CHECK(refusal("wgmma.fence.sync.aligned;") ==
        "member 'statement': an instruction without results; expected one with results");
  CHECK(refusal("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {r}, [addr];") ==
        "member 'statement': global memory; expected shared memory");
}

}  // namespace input_forms_test
