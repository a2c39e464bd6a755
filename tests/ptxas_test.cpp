// SPDX-License-Identifier: Apache-2.0
// Asks ptxas about every row of the tables under tests/isa/, and checks the tables and the decoder against what
// it says. Where it is missing the program says so and exits with 77.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>  // std::exit

#include "assembler.hpp"
#include "isa_table.hpp"
#include "warpbit/instruction.hpp"

namespace {

using namespace warpbit;
using isa_table::Row;

/// One line for one target, what the table says about it and what the decoder should say.
struct Question {
  std::string line;
  Target target;
  bool by_table, by_decoder, decoded;
};

// "d:4xf32 c:={0,0} e:b32" with fresh registers.
std::string statement(const std::string& instruction, const std::string& operands) {
  std::string out = instruction;
  std::map<std::string, int> used;
  std::istringstream in(operands);
  for (std::string operand; std::getline(in, operand, ' ');) {
    out += out == instruction ? " " : ", ";
    std::string value = operand.substr(operand.find(':') + 1);
    if (value[0] == '=') {
      out += value.substr(1);
      continue;
    }
    const std::size_t x = value.find('x');
    if (value.starts_with("imm(")) {  // the least value
      out += value.substr(4, value.find_first_of(".)") - 4);
      continue;
    }
    const bool vector = x != value.npos && value[0] >= '0' && value[0] <= '9';
    const int count = vector ? std::stoi(value) : 1;
    const std::string type = vector ? value.substr(x + 1) : value;
    static const std::map<std::string, std::string> kLetters = {
        {"b32", "%r"}, {"f32", "%f"}, {"f64", "%d"}, {"b64", "%q"}, {"b16", "%c"}};
    if (vector) out += "{";
    for (int i = 0; i < count; ++i) out += fmt::format("{}{}{}", i ? "," : "", kLetters.at(type), used[type]++);
    if (vector) out += "}";
  }
  return out + ";";
}

Target target_of(const Row& row) {
  const auto target = Target::find(row.at("target"));
  REQUIRE(target.ok());
  return *target;
}

bool decoder_accepts(const Row& row, Target target) {
  return Instruction::parse(row.at("instruction"), row.at("operands"), target).ok();
}

void add_instructions(std::vector<Question>& out) {
  for (const Row& row : isa_table::read("instructions"))
    for (const Target target : isa_table::target_columns(row)) {
      const std::string& cell = row.at(std::string(target.name()));
      if (cell == "n/a") continue;
      out.push_back({statement(row.at("instruction"), row.at("operands")), target, cell == "1",
                     cell == "1" && !isa_table::is_undocumented(row), decoder_accepts(row, target)});
    }
}

void add_rejected(std::vector<Question>& out) {
  for (const Row& row : isa_table::read("rejected"))
    out.push_back({statement(row.at("instruction"), row.at("operands")), target_of(row), false, false,
                   decoder_accepts(row, target_of(row))});
}

void add_variants(std::vector<Question>& out) {
  for (const Row& row : isa_table::read("variants")) {
    // Only the check is asked for: it takes a spelling that crashes the assembler later, the decoder does not.
    out.push_back({statement(row.at("instruction"), row.at("operands")), target_of(row), true,
                   isa_table::is_usable(row), decoder_accepts(row, target_of(row))});
  }
}

void add_orders(std::vector<Question>& out) {
  const std::vector<Row> forms = isa_table::read("instructions");
  for (const Row& row : isa_table::read("order"))
    for (const Row& form : forms) {
      if (form.at("instruction") != row.at("canonical")) continue;
      for (const Target target : isa_table::target_columns(form)) {
        if (form.at(std::string(target.name())) != "1") continue;
        const bool accepted = row.at("accepted") == "1";
        out.push_back({statement(row.at("permuted"), form.at("operands")), target, accepted, accepted,
                       Instruction::parse(row.at("permuted"), form.at("operands"), target).ok()});
      }
    }
}

void add_spellings(std::vector<Question>& out) {
  for (const Row& row : isa_table::read("spellings")) {
    const std::string& line = row.at("statement");
    out.push_back({line, target_of(row), row.at("ptxas") == "1", row.at("decoder") == "1",
                   Instruction::parse(line, target_of(row), isa_table::type_of).ok()});
  }
}

void add_selectors(std::vector<Question>& out) {
  for (const Row& row : isa_table::read("selectors")) {
    const std::vector<int> right = isa_table::integers(row.at("accepted"));
    std::vector<std::pair<std::string, bool>> values = {{"b32", false}};  // a register
    for (const int value : isa_table::integers(row.at("tested")))
      values.emplace_back(fmt::format("={}", value), std::ranges::find(right, value) != right.end());
    for (const Target target : isa_table::targets(row))
      for (const auto& [value, accepted] : values) {
        const std::string operands = isa_table::with_immediate(row, value);
        // Selectors 2 and 3 of this form are the assembler's leniency: the decoder follows the manual.
        const bool only_assembler = isa_table::has_lenient_selector(row) && (value == "=2" || value == "=3");
        out.push_back({statement(row.at("instruction"), operands), target, accepted,
                       accepted && !only_assembler,
                       Instruction::parse(row.at("instruction"), operands, target).ok()});
      }
  }
}

std::vector<Question> questions() {
  std::vector<Question> out;
  add_instructions(out);
  add_rejected(out);
  add_variants(out);
  add_orders(out);
  add_spellings(out);
  add_selectors(out);
  return out;
}

// Before anything else: is there an assembler?
struct Listener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo&) override {
    const std::string path = find_assembler();
    if (!path.empty() && Assembler(path).reads_tables_version()) return;
    fmt::print("not run: {} comparisons need ptxas\n", questions().size());
    std::exit(77);
  }
};
CATCH_REGISTER_LISTENER(Listener)

TEST_CASE("ptxas says what the tables and the decoder say", "[toolkit]") {
  Assembler assembler(find_assembler());
  std::map<std::string, std::vector<Question>> by_target;
  for (const Question& question : questions())
    by_target[std::string(question.target.name())].push_back(question);

  std::size_t compared = 0;
  for (const auto& [target, asked] : by_target) {
    if (!assembler.knows(target)) continue;
    std::vector<std::string> lines;
    for (const Question& question : asked) lines.push_back(question.line);
    const std::vector<bool> accepted = assembler.accepts(lines, target);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      ++compared;
      if (accepted[i] == asked[i].by_table && asked[i].decoded == asked[i].by_decoder) continue;
      INFO(asked[i].line << " on " << target);
      CHECK(accepted[i] == asked[i].by_table);
      CHECK(asked[i].decoded == asked[i].by_decoder);
    }
  }
  fmt::print("ptxas {}: {} comparisons in {} runs\n", assembler.version(), compared, assembler.runs());
  REQUIRE(compared >= 25000);
}

}  // namespace
