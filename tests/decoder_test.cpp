// SPDX-License-Identifier: Apache-2.0
// The decoder against the tables of what the assembler accepts (tests/isa/README.md).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "isa_table.hpp"
#include "warpbit/instruction.hpp"

namespace {

using namespace warpbit;
using isa_table::Row;

// Counts comparisons and prints the number at the end of a test.
class Counter {
 public:
  explicit Counter(std::string what) : what_(std::move(what)) {}
  Counter(const Counter&) = delete;
  ~Counter() { fmt::print("{}: {} comparisons\n", what_, count_); }

  void check(bool right, const std::string& text, Target target, std::string_view expected) {
    ++count_;
    if (right) return;
    INFO(text << " on " << target.name() << ": expected " << expected);
    CHECK(right);
  }
  std::size_t count() const { return count_; }

 private:
  std::string what_;
  std::size_t count_ = 0;
};

// Accepted with the right form, or refused with a message.
bool answers(const Result<Instruction>& result, bool accepted, const std::string& canonical = "") {
  if (result.ok()) return accepted && (canonical.empty() || result->canonical() == canonical);
  return !accepted && !result.error().message().empty();
}

// sm_70 and sm_72, which the assembler of the tables does not know, have the f16 forms of m8n8k4 only (PTX
// manual, mma, "Target ISA Notes").
bool is_accepted(const Row& row, std::string_view target) {
  const std::string& cell = row.at(std::string(target));
  if (isa_table::is_undocumented(row)) return false;
  if (cell != "n/a") return cell == "1";
  const std::string& text = row.at("instruction");
  return text.find(".m8n8k4.") != text.npos && text.find(".f16.f16.") != text.npos;
}

std::string words(bool accepted) {
  return accepted ? "accepted" : "refused";
}

TEST_CASE("every form of the table, on every target", "[quick][decoder]") {
  Counter counter("instructions.tsv");
  const std::vector<Row> rows = isa_table::read("instructions");
  const std::vector<Target> targets = isa_table::target_columns(rows[0]);
  REQUIRE(targets.size() == Target::all().size());
  std::size_t undocumented = 0;
  std::map<std::string_view, int> accepted_on;
  for (const Row& row : rows) {
    const std::string &text = row.at("instruction"), &operands = row.at("operands");
    undocumented += isa_table::is_undocumented(row);
    for (const Target target : targets) {
      const bool expected = is_accepted(row, target.name());
      accepted_on[target.name()] += expected;
      for (const auto& result :
           {Instruction::parse(text, operands, target), Instruction::parse(text, target)}) {
        counter.check(answers(result, expected, text), text, target, words(expected));
        if (!isa_table::is_undocumented(row)) continue;
        const bool named = !result.ok() && result.error().code == Errc::undocumented_form &&
                           result.error().message().find("undocumented") != std::string::npos;
        counter.check(named, text, target, "refused as undocumented");
      }
    }
  }
  REQUIRE(accepted_on["sm_70"] == 12);
  REQUIRE(accepted_on["sm_72"] == 12);
  REQUIRE(undocumented == 56);
  REQUIRE(accepted_on["sm_75"] == 31);
  REQUIRE(accepted_on["sm_80"] == 79 + 80);
  REQUIRE(counter.count() >= (216 + 142 + 56) * 25 * 2);
}

TEST_CASE("the library's forms are those of the table", "[quick][decoder]") {
  Counter counter("forms()");
  const std::vector<Row> rows = isa_table::read("instructions");
  const std::vector<FormInfo> all = forms();
  for (const FormInfo& form : all) {
    const auto row =
        std::ranges::find_if(rows, [&](const Row& r) { return r.at("instruction") == form.canonical; });
    REQUIRE(row != rows.end());
    CHECK(row->at("family") == form.family);
    std::string operands = row->at("operands");
    if (isa_table::has_lenient_selector(*row)) {
      REQUIRE(operands.ends_with("f:imm(0..3)"));
      operands.replace(operands.size() - 2, 1, "1");
    }
    CHECK(operands == form.operands);
    for (const Target target : Target::all()) {
      const bool listed = std::ranges::find(form.targets, target) != form.targets.end();
      counter.check(listed == is_accepted(*row, target.name()), form.canonical, target, "as in the table");
    }
  }
  REQUIRE(all.size() == static_cast<std::size_t>(std::ranges::count_if(
                            rows, [](const Row& r) { return !isa_table::is_undocumented(r); })));
  REQUIRE(counter.count() >= (160 + 142) * 25);
}

TEST_CASE("what the assembler refuses is refused on every target", "[quick][decoder]") {
  Counter counter("rejected.tsv");
  for (const Row& row : isa_table::read("rejected"))
    for (const Target target : Target::all()) {
      const std::string text = row.at("instruction") + " " + row.at("operands");
      counter.check(answers(Instruction::parse(row.at("instruction"), row.at("operands"), target), false), text,
                    target, "refused: " + row.at("what"));
    }
  REQUIRE(counter.count() >= (150 + 120) * 25);
}

TEST_CASE("qualifiers in other orders", "[quick][decoder]") {
  Counter counter("order.tsv");
  for (const Row& row : isa_table::read("order")) {
    const std::string &canonical = row.at("canonical"), &permuted = row.at("permuted");
    const bool expected = row.at("accepted") == "1";
    for (const Target target : Target::all()) {
      if (!Instruction::parse(canonical, target).ok()) continue;
      counter.check(answers(Instruction::parse(permuted, target), expected, canonical), permuted, target,
                    words(expected));
    }
  }
  REQUIRE(counter.count() >= (112 + 24) * 4);
}

TEST_CASE("the values of an immediate", "[quick][decoder]") {
  Counter counter("selectors.tsv");
  std::size_t lenient = 0;
  for (const Row& row : isa_table::read("selectors")) {
    const std::string& text = row.at("instruction");
    const std::vector<int> right = isa_table::integers(row.at("accepted"));
    const std::string& tested = row.at("tested");
    REQUIRE(tested.ends_with(" register"));
    for (const Target target : isa_table::targets(row)) {
      for (const int value : isa_table::integers(tested)) {
        const std::string operands = isa_table::with_immediate(row, fmt::format("={}", value));
        const auto result = Instruction::parse(text, operands, target);
        const bool by_assembler = std::ranges::find(right, value) != right.end();
        const bool by_library = by_assembler && !(isa_table::has_lenient_selector(row) && value > 1);
        const std::string line = text + " " + operands;
        counter.check(answers(result, by_library, text), line, target, words(by_library));
        if (by_assembler == by_library) continue;
        ++lenient;
        const bool named =
            !result.ok() && result.error().message().find("the assembler lets it through") != std::string::npos;
        counter.check(named, line, target, "refused by the manual");
      }
      const std::string operands = isa_table::with_immediate(row, "b32");
      counter.check(answers(Instruction::parse(text, operands, target), false), text + " " + operands, target,
                    "refused");
    }
  }
  REQUIRE(lenient == 2 * 2 * 7);
  REQUIRE(counter.count() >= 142 * 2 * 27);
}

TEST_CASE("other registers and literals that the assembler accepts", "[quick][decoder]") {
  Counter counter("variants.tsv");
  for (const Row& row : isa_table::read("variants")) {
    const std::string &text = row.at("instruction"), &operands = row.at("operands");
    const auto target = Target::find(row.at("target"));
    REQUIRE(target.ok());
    const bool expected = isa_table::is_usable(row);
    counter.check(answers(Instruction::parse(text, operands, *target), expected, text), text + " " + operands,
                  *target, words(expected));
  }
  REQUIRE(counter.count() >= 42 + 16);
}

TEST_CASE("register types, literals and blanks", "[quick][decoder]") {
  Counter counter("spellings.tsv");
  for (const Row& row : isa_table::read("spellings")) {
    const auto target = Target::find(row.at("target"));
    REQUIRE(target.ok());
    const std::string& text = row.at("statement");
    const bool expected = row.at("decoder") == "1";
    counter.check(answers(Instruction::parse(text, *target, isa_table::type_of), expected), text, *target,
                  words(expected) + ": " + row.at("what"));
  }
  REQUIRE(counter.count() >= 280);
}

// "{d}, {a}, ...", with a register or an immediate as it is written.
std::string symbols(const FormInfo& info) {
  std::string out = info.canonical + " {d}, {a}, {b}, {c}";
  if (info.operands.find(" e:b32 f:imm") != std::string::npos) out += ", e, 0";
  return out + ";";
}

// "{%d0, %d1}, {%a0}, ...", operand `other` with `by` registers more or less.
std::string statement(const Instruction& form, std::size_t other, int by) {
  std::string out = std::string(form.canonical());
  for (std::size_t i = 0; i < form.operands().size(); ++i) {
    const Operand& op = form.operands()[i];
    const int registers = op.registers + (i == other ? by : 0);
    const bool braces = op.kind == OperandKind::vector || registers != 1;
    out += i == 0 ? " " : ", ";
    if (op.kind == OperandKind::immediate) {
      out += "0";
      continue;
    }
    if (braces) out += "{";
    for (int r = 0; r < registers; ++r) out += fmt::format("{}%{}{}", r ? ", " : "", op.role, r);
    if (braces) out += "}";
  }
  return out + ";";
}

TEST_CASE("symbols and PTX registers, in right and wrong numbers", "[quick][decoder]") {
  Counter counter("register counts");
  for (const FormInfo& info : forms())
    for (const Target target : info.targets) {
      const std::string symbolic = symbols(info);
      const auto form = Instruction::parse(symbolic, target);
      counter.check(answers(form, true, info.canonical), symbolic, target, "accepted");
      if (!form.ok()) continue;
      const std::string right = statement(*form, 0, 0);
      counter.check(answers(Instruction::parse(right, target), true, info.canonical), right, target,
                    "accepted");
      for (std::size_t i = 0; i < form->operands().size(); ++i) {
        const Operand& op = form->operands()[i];
        if (op.kind == OperandKind::immediate) continue;
        // ptxas takes a second register here and drops it (variants.tsv).
        const bool dropped = op.kind == OperandKind::scalar ||
                             (op.role == "b" && op.registers == 1 && op.element_bits == 8 &&
                              form->depth() == 16 && form->rows() == 16 && op.format[0] == 'e');
        const std::string more = statement(*form, i, 1), fewer = statement(*form, i, -1);
        counter.check(answers(Instruction::parse(more, target), dropped), more, target, words(dropped));
        counter.check(answers(Instruction::parse(fewer, target), false), fewer, target, "refused");
      }
    }
  REQUIRE(counter.count() >= 10 * 160 * 10 + 12 * 142 * 4);
}

}  // namespace
