// SPDX-License-Identifier: Apache-2.0
// The decoder against the tables of what the assembler accepts (tests/isa/README.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <regex>
#include <set>
#include <thread>

#include "in_turn.hpp"
#include "isa/instruction.hpp"
#include "isa/since.hpp"
#include "isa_table.hpp"
#include "warpbit/instruction.hpp"

namespace decoder_test {

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

// What tells forms of one text apart: "d a b_desc scale_d", "d a_desc b_desc scale_d".
std::string roles(const std::string& notation) {
  std::vector<std::string> out;
  for (const std::string& operand : isa_table::operands(notation)) out.push_back(isa_table::role(operand));
  return isa_table::joined(out);
}
std::string roles(const Instruction& instruction) {
  std::vector<std::string> out;
  for (const Operand& operand : instruction.operands()) out.emplace_back(operand.role);
  return isa_table::joined(out);
}

// As answers(), and with the operands of the notation.
bool answers_with(const Result<Instruction>& result, bool accepted, const std::string& canonical,
                  const std::string& notation) {
  return answers(result, accepted, canonical) && (!result.ok() || roles(*result) == roles(notation));
}

std::string words(bool accepted) {
  return accepted ? "accepted" : "refused";
}

// Refused, with a code and a word.
bool is_refused(const Result<Instruction>& result, Errc code, std::string_view word) {
  return !result.ok() && result.error().code == code &&
         result.error().message().find(word) != std::string::npos;
}

// In a process of its own (CTest's decoder_threads), so that nothing is compiled yet.
TEST_CASE("threads that decode at the same time share one compiled form", "[.threads]") {
  const std::vector<FormInfo> all = forms();
  std::array<std::vector<const CompiledForm*>, 4> seen;
  {
    std::vector<std::jthread> threads;
    for (std::vector<const CompiledForm*>& out : seen)
      threads.emplace_back([&] {
        for (const FormInfo& form : all) {
          const Result<Instruction> i = Instruction::parse(form.canonical, form.targets.back());
          out.push_back(i ? i->decoded().compiled : nullptr);
        }
      });
  }
  for (const std::vector<const CompiledForm*>& of_thread : seen) {
    CHECK(of_thread.size() == all.size());
    CHECK(of_thread == seen[0]);
    CHECK(std::ranges::count(of_thread, nullptr) == 0);
  }
}

TEST_CASE("every form of the table, on every target", "[quick][decoder][once]") {
  Counter counter("instructions.tsv");
  const std::vector<Row> rows = isa_table::read("instructions");
  const std::vector<Target> targets = Target::all();
  std::map<std::string, std::vector<const Row*>> of_text;  // they differ in their operands
  for (const Row& row : rows) of_text[row.at("instruction")].push_back(&row);
  for (const Row& row : rows) {
    const std::string& text = row.at("instruction");
    std::vector<std::string> lists = isa_table::operand_lists(row.at("operands"));
    lists.emplace_back();  // a bare form
    for (const Target target : targets) {
      const bool row_accepted = isa_table::is_accepted(row, target.name());
      for (const std::string& operands : lists) {
        // On other targets these are refused for their qualifiers: one long list of registers is enough.
        if (isa_table::is_asynchronous(row) && !row_accepted && !operands.empty() && target.name() != "sm_90" &&
            !target.name().ends_with("a"))
          continue;
        const auto result = Instruction::parse(text, operands, target);
        const bool bare = operands.empty();
        const bool expected =
            bare ? std::ranges::any_of(of_text[text],
                                       [&](const Row* r) { return isa_table::is_accepted(*r, target.name()); })
                 : row_accepted;
        counter.check(bare ? answers(result, expected, text) : answers_with(result, expected, text, operands),
                      text + " " + operands, target, words(expected));
        if (bare && of_text[text].size() > 1) continue;
        if (isa_table::is_undocumented(row))
          counter.check(is_refused(result, Errc::undocumented_form, "undocumented"), text, target,
                        "refused as undocumented");
        else if (!expected && isa_table::is_legal(row, target.name()))
          counter.check(is_refused(result, Errc::not_modelled, "fragment"), text, target,
                        "refused because the fragments are not known");
      }
    }
  }
  REQUIRE(counter.count() > rows.size() * targets.size());
}

TEST_CASE("the library's forms are those of the table", "[quick][decoder]") {
  Counter counter("forms()");
  std::map<std::string, Row> rows;
  for (const Row& row : isa_table::read("instructions")) {
    if (isa_table::is_undocumented(row)) continue;
    std::string operands = row.at("operands");
    if (isa_table::has_lenient_selector(row)) isa_table::replace(operands, "f:imm(0..3)", "f:imm(0..1)");
    REQUIRE(rows.emplace(row.at("instruction") + " " + operands, row).second);
  }
  std::set<std::string> later;
  for (const Row& row : isa_table::later()) later.insert(row.at("instruction") + " " + row.at("operands"));
  const std::vector<FormInfo> all = forms();
  for (const FormInfo& form : all) {
    const auto at = rows.find(form.canonical + " " + form.operands);
    if (at == rows.end() && later.contains(form.canonical + " " + form.operands)) continue;
    INFO(form.canonical << " " << form.operands);
    REQUIRE(at != rows.end());
    CHECK(at->second.at("family") == form.family);
    for (const Target target : Target::all()) {
      const bool listed = std::ranges::find(form.targets, target) != form.targets.end();
      counter.check(listed == isa_table::is_accepted(at->second, target.name()), form.canonical, target,
                    "as in the table");
    }
  }
  REQUIRE(all.size() == rows.size() + later.size());
  REQUIRE(counter.count() == rows.size() * Target::all().size());
}

TEST_CASE("forms after the table are those of the manual, from the version on that it says",
          "[quick][decoder]") {
  Counter counter("later.tsv");
  std::map<std::string, FormInfo> all;
  for (const FormInfo& form : forms()) all.emplace(form.canonical + " " + form.operands, form);
  for (const Row& row : isa_table::later()) {
    const std::string& text = row.at("instruction");
    const auto form = all.find(text + " " + row.at("operands"));
    INFO(text << " " << row.at("operands"));
    REQUIRE(form != all.end());
    CHECK(form->second.family == row.at("family"));
    const std::vector<std::string> parts = form_words::words_of(text);
    const std::vector<std::string_view> words(parts.begin() + 1, parts.end());
    for (const Target target : Target::all()) {
      const bool has = has_word(row.at("targets"), target.name());
      counter.check(
          answers_with(Instruction::parse(text, row.at("operands"), target), has, text, row.at("operands")),
          text, target, ::decoder_test::words(has));
      if (has)
        counter.check(warpbit::text(since(parts[0], words, target)) == row.at("since"), text, target,
                      row.at("since"));
    }
  }
  CHECK(counter.count() > 5000);
}

// With the test before: no test passes for want of rows.
TEST_CASE("the undocumented forms that the library knows are those of the table", "[quick][decoder]") {
  std::set<std::string> of_table, of_library;
  for (const Row& row : isa_table::read("instructions"))
    if (isa_table::is_undocumented(row) && !isa_table::omits_aligned(row.at("instruction")))
      of_table.insert(row.at("instruction"));
  for (const Family& family : families())
    for (const Form& form : family.forms)
      if (!form.undocumented.empty()) of_library.insert(form.canonical);
  CHECK_FALSE(of_table.empty());
  CHECK(of_table == of_library);
}

TEST_CASE("the table has what the manual says of targets that the assembler has dropped", "[quick][decoder]") {
  for (const std::string_view target : {"sm_70", "sm_72"}) {
    std::map<std::string, int> seen;
    for (const Row& row : isa_table::read("instructions"))
      if (isa_table::is_accepted(row, target)) ++seen[row.at("family")];
    CHECK(seen == std::map<std::string, int>{{"mma", 12}, {"cvt", 42}});
  }
}

// True where nothing is wrong but that the operands are missing: a bare form, which the library has and the
// assembler has not.
bool is_bare_form(const Row& row) {
  return row.at("instruction") == "wgmma.wait_group.sync.aligned" && row.at("operands").empty();
}

TEST_CASE("what the assembler refuses is refused on every target", "[quick][decoder][sampled]") {
  Counter counter("rejected.tsv");
  std::size_t bare = 0;
  const std::vector<Row> rows = isa_table::rejected();
  const std::vector<Target> targets = Target::all();
  std::size_t asked = 0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const Row& row = rows[r];
      const Target target = targets[t];
      const std::string text = row.at("instruction") + " " + row.at("operands");
      const bool expected = is_bare_form(row) && target.name() == "sm_90a";
      bare += expected;
      if (!expected && !has_turn(r, t, targets.size())) continue;
      ++asked;
      counter.check(answers(Instruction::parse(row.at("instruction"), row.at("operands"), target), expected),
                    text, target, words(expected) + ": " + row.at("what"));
    }
  REQUIRE(bare == 1);
  REQUIRE(counter.count() == asked);
  REQUIRE(asked >= rows.size() * (tries_all() ? targets.size() : 1));
}

TEST_CASE("qualifiers in other orders", "[quick][decoder]") {
  Counter counter("order.tsv");
  const std::vector<Row> rows = isa_table::read("order");
  for (const Row& row : rows) {
    const std::string &canonical = row.at("canonical"), &permuted = row.at("permuted");
    const bool expected = row.at("accepted") == "1";
    for (const Target target : Target::all()) {
      if (!Instruction::parse(canonical, target).ok()) continue;
      counter.check(answers(Instruction::parse(permuted, target), expected, canonical), permuted, target,
                    words(expected));
    }
  }
  REQUIRE(counter.count() >= rows.size());
}

TEST_CASE("the values of an immediate", "[quick][decoder][once]") {
  Counter counter("selectors.tsv");
  std::size_t lenient = 0;
  const std::vector<Row> rows = isa_table::read("selectors");
  for (const Row& row : rows) {
    const std::string& text = row.at("instruction");
    for (const Target target : isa_table::targets(row)) {
      for (const int value : isa_table::integers(row.at("tested"))) {
        const std::string operands = isa_table::with_immediate(row, fmt::format("{}", value));
        const auto result = Instruction::parse(text, operands, target);
        const bool by_assembler = isa_table::contains(row.at("accepted"), value);
        const bool by_library = by_assembler && !isa_table::omits_aligned(text) &&
                                !isa_table::is_integer_scale(row) &&
                                !(isa_table::has_lenient_selector(row) && value > 1);
        const std::string line = text + " " + operands;
        counter.check(answers_with(result, by_library, text, operands), line, target, words(by_library));
        if (isa_table::is_integer_scale(row))
          counter.check(is_refused(result, Errc::undocumented_form, "undocumented"), line, target,
                        "undocumented");
        if (by_assembler == by_library || isa_table::omits_aligned(text) || isa_table::is_integer_scale(row))
          continue;
        ++lenient;
        const bool named =
            !result.ok() && result.error().message().find("the assembler lets it through") != std::string::npos;
        counter.check(named, line, target, "refused by the manual");
      }
      if (!isa_table::tried_register(row)) continue;
      const std::string operands = isa_table::with_immediate(row, "b32");
      counter.check(answers(Instruction::parse(text, operands, target), false), text + " " + operands, target,
                    "refused");
    }
  }
  REQUIRE(lenient == 2 * 2 * 7);
  REQUIRE(counter.count() > rows.size());
}

// The form of a row of variants.tsv. Where qualifiers were written behind it, these belong to its name.
std::string form_of(const Row& variant) {
  std::string text = variant.at("instruction");
  const std::string extra = ".satfinite.relu";
  if (variant.at("change") != "extra " + extra) return text;
  text.erase(text.size() - extra.size());
  return text.insert(text.find(".satfinite"), ".relu");
}

TEST_CASE("other registers and literals that the assembler accepts", "[quick][decoder]") {
  Counter counter("variants.tsv");
  const std::vector<Row> rows = isa_table::read("variants");
  for (const Row& row : rows) {
    const std::string &text = row.at("instruction"), &operands = row.at("operands");
    const auto target = Target::find(row.at("target"));
    REQUIRE(target.ok());
    const bool expected = isa_table::is_usable(row) && !isa_table::omits_aligned(text) &&
                          !isa_table::has_unknown_fragments(row, target->name());
    counter.check(answers(Instruction::parse(text, operands, *target), expected, form_of(row)),
                  text + " " + operands, *target, words(expected));
  }
  REQUIRE(counter.count() == rows.size());
}

TEST_CASE("register types, literals and blanks", "[quick][decoder]") {
  Counter counter("spellings.tsv");
  const std::vector<Row> rows = isa_table::read("spellings");
  for (const Row& row : rows) {
    const auto target = Target::find(row.at("target"));
    REQUIRE(target.ok());
    const std::string& text = row.at("statement");
    const bool expected = row.at("decoder") == "1";
    counter.check(answers(Instruction::parse(text, *target, isa_table::type_of), expected), text, *target,
                  words(expected) + ": " + row.at("what"));
  }
  REQUIRE(counter.count() == rows.size());
}

// "{d}, {a}, e, 0, [p], {0, 0}": names for vectors and registers, values for immediates.
std::string symbols(const FormInfo& info) {
  std::vector<std::string> out;
  for (const std::string& operand : isa_table::operands(info.operands)) {
    const std::string role = operand.substr(0, operand.find(':')), value = operand.substr(role.size() + 1);
    if (operand.starts_with("["))
      out.push_back(role + "]");
    else if (role.starts_with("sel_"))
      out.emplace_back("{0, 0}");
    else if (value.starts_with("imm"))
      out.push_back(isa_table::least(value));
    else if (!operand.starts_with("{"))
      out.push_back(value[0] >= '0' && value[0] <= '9' ? "{" + role + "}" : role);
  }
  return fmt::format("{} {};", info.canonical, fmt::join(out, ", "));
}

// The form with one operand of as many registers.
std::string with_registers(const FormInfo& info, std::size_t operand, int count) {
  std::vector<std::string> operands = isa_table::operands(info.operands);
  std::string& text = operands[operand];
  const std::string role = text.substr(0, text.find(':')),
                    type = text.ends_with("pred") ? "pred" : text.substr(text.size() - 3);
  text = fmt::format("{}:{}x{}", role, count, type);
  if (count == 0) text = role + ":={}";
  return isa_table::statement(info.canonical, isa_table::joined(operands));
}

// The registers of an operand that has any: those of a vector, or 1.
std::optional<int> registers(const std::string& operand) {
  static const std::regex kVector("[a-z_]+:([0-9]+)x.*"), kScalar("[a-z_]+:[bf](16|32|64)|[a-z_]+:pred");
  std::smatch vector;
  if (std::regex_match(operand, vector, kVector)) return std::stoi(vector[1]);
  return std::regex_match(operand, kScalar) ? std::optional(1) : std::nullopt;
}

// Where ptxas 13.0 takes the metadata of mma.sp in braces; elsewhere it fails in PTX of its own.
bool takes_metadata_in_braces(const std::string& form, Target target) {
  const auto has = [&](std::initializer_list<const char*> words) {
    return std::ranges::any_of(words, [&](const char* word) { return form.find(word) != form.npos; });
  };
  const int number = std::stoi(std::string(target.name().substr(3)));
  if (has({".kind::"})) return number >= 120;
  if (has({".e4m3", ".e5m2"})) return number == 89 || number >= 120;
  if (has({".s4", ".u4"})) return number < 90;
  return number < 100 || has({"ordered_metadata"}) || !has({".f16.f16.", ".s8", ".u8"});
}

// True where ptxas takes a second register and drops it (variants.tsv).
bool drops_second_register(const FormInfo& info, Target target, const std::string& operand) {
  const bool is_8bit_b =
      operand == "b:1xb32" && (info.canonical.find(".m16n8k16.row.col.f32.e") != std::string::npos ||
                               info.canonical.find(".m16n8k16.row.col.f16.e") != std::string::npos);
  if (operand == "e:b32") return takes_metadata_in_braces(info.canonical, target);
  return is_8bit_b || operand == "scale_a:b32" || operand == "scale_b:b32" || operand == "sp_meta:b32";
}

TEST_CASE("symbols and PTX registers, in right and wrong numbers", "[quick][decoder][once]") {
  Counter counter("register counts");
  for (const FormInfo& info : forms())
    for (const Target target : info.targets) {
      const auto check = [&](const std::string& text, bool accepted) {
        counter.check(answers(Instruction::parse(text, target), accepted, info.canonical), text, target,
                      words(accepted));
      };
      check(symbols(info), true);
      check(isa_table::statement(info.canonical, info.operands), true);
      const std::vector<std::string> operands = isa_table::operands(info.operands);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::optional<int> count = registers(operands[i]);
        if (!count) continue;
        check(with_registers(info, i, *count + 1), drops_second_register(info, target, operands[i]));
        check(with_registers(info, i, *count - 1), false);
      }
    }
  REQUIRE(counter.count() > 2 * forms().size());
}

}  // namespace decoder_test
