// SPDX-License-Identifier: Apache-2.0
// Asks ptxas about every row of the tables under tests/isa/, and checks the tables and the decoder against what
// it says. Where it is missing the program says so and exits with 77.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>  // std::exit
#include <functional>
#include <utility>

#include "../tools/capture/ptxas.hpp"
#include "assembler.hpp"
#include "isa_table.hpp"
#include "warpbit/instruction.hpp"

namespace ptxas_test {

using namespace warpbit;
using isa_table::Row;

/// One line for one target, what the table says about it and what the decoder should say.
struct Question {
  std::string line;
  Target target;
  bool by_table, by_decoder, decoded;
};

Target target_of(const Row& row) {
  const auto target = Target::find(row.at("target"));
  REQUIRE(target.ok());
  return *target;
}

// A form with operands in the notation of the tables.
Question question(const std::string& instruction, const std::string& operands, Target target, bool by_table,
                  bool by_decoder) {
  return {isa_table::statement(instruction, operands), target, by_table, by_decoder,
          Instruction::parse(instruction, operands, target).ok()};
}

void add_instructions(std::vector<Question>& out, bool undocumented) {
  for (const Row& row : isa_table::read("instructions")) {
    if (isa_table::is_undocumented(row) != undocumented) continue;
    for (const Target target : isa_table::target_columns(row)) {
      const std::string& cell = row.at(std::string(target.name()));
      if (cell == "n/a") continue;
      for (const std::string& operands : isa_table::operand_lists(row.at("operands")))
        out.push_back(question(row.at("instruction"), operands, target, cell == "1",
                               isa_table::is_accepted(row, target.name())));
    }
  }
}
void add_documented(std::vector<Question>& out) {
  add_instructions(out, false);
}
// For four targets: what the assembler fails at here without a line is a run for each line.
void add_undocumented(std::vector<Question>& out) {
  add_instructions(out, true);
  std::erase_if(out, [](const Question& question) {
    const std::string_view target = question.target.name();
    return target != "sm_80" && target != "sm_90a" && target != "sm_100a" && target != "sm_120a";
  });
}

void add_rejected(std::vector<Question>& out) {
  for (const Row& row : isa_table::rejected())
    out.push_back(question(row.at("instruction"), row.at("operands"), target_of(row), false, false));
}

void add_variants(std::vector<Question>& out) {
  for (const Row& row : isa_table::read("variants")) {
    // Only the check is asked for: it takes a spelling that crashes the assembler later, the decoder does not.
    const Target target = target_of(row);
    const bool by_decoder = isa_table::is_usable(row) && !isa_table::omits_aligned(row.at("instruction")) &&
                            !isa_table::has_unknown_fragments(row, target.name());
    out.push_back(question(row.at("instruction"), row.at("operands"), target, true, by_decoder));
  }
}

void add_orders(std::vector<Question>& out) {
  std::map<std::string, std::vector<Row>> forms;
  for (Row& row : isa_table::read("instructions")) forms[row.at("instruction")].push_back(std::move(row));
  for (const Row& row : isa_table::read("order"))
    for (const Row& form : forms[row.at("canonical")]) {
      for (const Target target : isa_table::target_columns(form)) {
        if (form.at(std::string(target.name())) != "1") continue;
        const bool accepted = row.at("accepted") == "1";
        out.push_back(question(row.at("permuted"), form.at("operands"), target, accepted,
                               accepted && isa_table::is_accepted(form, target.name())));
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
    std::vector<std::pair<std::string, bool>> values;
    if (isa_table::tried_register(row)) values.emplace_back("b32", false);
    for (const int value : isa_table::integers(row.at("tested")))
      values.emplace_back(fmt::format("{}", value), isa_table::contains(row.at("accepted"), value));
    for (const Target target : isa_table::targets(row))
      for (const auto& [value, accepted] : values) {
        // Selectors 2 and 3 of a form, and what is written without .aligned, are the assembler's leniency: the
        // decoder follows the manual.
        const bool only_assembler = (isa_table::has_lenient_selector(row) && (value == "2" || value == "3")) ||
                                    isa_table::omits_aligned(row.at("instruction")) ||
                                    isa_table::is_integer_scale(row);
        out.push_back(question(row.at("instruction"), isa_table::with_immediate(row, value), target, accepted,
                               accepted && !only_assembler));
      }
  }
}

// By table; what is accepted apart from what is not. Errors in syntax, and in the assembler's own text for some undocumented
// forms, end a run, and the rest is asked again: the questions that cause them are better asked apart.
std::vector<std::vector<Question>> questions() {
  std::vector<std::vector<Question>> out;
  for (const auto add : {add_documented, add_undocumented, add_rejected, add_variants, add_orders,
                         add_spellings, add_selectors}) {
    std::vector<Question> all;
    add(all);
    const auto refused = std::stable_partition(all.begin(), all.end(), std::mem_fn(&Question::by_table));
    out.emplace_back(all.begin(), refused);
    out.emplace_back(refused, all.end());
  }
  return out;
}

std::size_t size(const std::vector<std::vector<Question>>& tables) {
  std::size_t out = 0;
  for (const std::vector<Question>& table : tables) out += table.size();
  return out;
}

TEST_CASE("ptxas says what the tables and the decoder say", "[toolkit]") {
  const std::string path = capture::find_ptxas();
  if (path.empty() || !Assembler(path).reads_tables_version()) {
    fmt::print("not run: {} comparisons need ptxas\n", size(questions()));
    std::exit(77);
  }
  Assembler assembler(path);
  std::size_t compared = 0;
  for (const std::vector<Question>& table : questions()) {
    std::map<std::string, std::vector<Question>> by_target;
    for (const Question& question : table) by_target[std::string(question.target.name())].push_back(question);
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
  }
  fmt::print("ptxas {}: {} comparisons in {} runs\n", assembler.version(), compared, assembler.runs());
  REQUIRE(compared >= 150000);
}

}  // namespace ptxas_test
