// SPDX-License-Identifier: Apache-2.0
// Scalar instructions: each form of tests/isa/scalar_asked.tsv is accepted or refused as ptxas does (scalar.tsv).
#include "scalar_table.hpp"

namespace scalar_forms_test {

using namespace warpbit;
using isa_table::Row;

/// The row of each form, by its name and the operands' notation.
std::map<std::pair<std::string, std::string>, const Row*> accepted_forms(const std::vector<Row>& rows) {
  std::map<std::pair<std::string, std::string>, const Row*> out;
  for (const Row& row : rows)
    for (const std::string& name : scalar_table::names(row.at("form"))) out[{name, row.at("operands")}] = &row;
  return out;
}

TEST_CASE("every scalar form is accepted or refused as by ptxas", "[once]") {
  const std::vector<Row> rows = isa_table::read("scalar");
  std::vector<Target> targets = Target::all();
  std::erase_if(targets,
                [&](Target target) { return !rows.front().contains(isa_table::column_of(target.name())); });
  const auto table = accepted_forms(rows);
  std::vector<const Row*> answers;
  std::set<std::string> seen;
  std::string lines;
  for (const Row& row : isa_table::read("scalar_asked"))
    for (const std::string& name : scalar_table::names(row.at("form"))) {
      const auto statement = scalar_table::statement(name, row.at("operands"));
      if (!statement || !seen.insert(*statement).second) continue;
      const auto found = table.find({name, row.at("operands")});
      answers.push_back(found == table.end() ? nullptr : found->second);
      lines += *statement + '\n';
    }
  const auto module = ptx::parse_module(scalar_table::module(lines));
  INFO((module.ok() ? "" : module.error().message()));
  REQUIRE(module.ok());
  const ptx::FunctionText& function = (*module)->functions.front();
  REQUIRE(function.statements.size() == answers.size());

  std::vector<std::string> differences;
  std::size_t accepted = 0, refused = 0;
#pragma omp parallel for schedule(dynamic, 100) reduction(+ : accepted, refused)
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const ptx::Statement& statement = function.statements[i];
    std::vector<std::pair<Features, bool>> asked;  // targets with the same features take the same
    const auto takes = [&](Target target) {
      for (const auto& [features, taken] : asked)
        if (features == target.row().features) return taken;
      asked.emplace_back(target.row().features, scalar_table::takes(function, statement, target));
      return asked.back().second;
    };
    for (const Target target : targets) {
      const bool expected = answers[i] != nullptr && answers[i]->at(isa_table::column_of(target.name())) == "1";
      const bool got = takes(target);
      ++(expected ? accepted : refused);
      if (got == expected) continue;
#pragma omp critical
      differences.push_back(
          fmt::format("{} on {}: ptxas {}", statement.text, target.name(), expected ? "accepts" : "refuses"));
    }
  }
  fmt::print("{} forms on {} targets: {} accepted, {} refused as by ptxas, {} differ\n", answers.size(),
             targets.size(), accepted, refused, differences.size());
  std::ranges::sort(differences);
  const std::size_t shown = std::min<std::size_t>(differences.size(), 50);
  INFO(fmt::format("{}", fmt::join(std::span(differences).first(shown), "\n")));
  CHECK(differences.empty());
  CHECK(accepted >= 275000);
  CHECK(refused >= 4060000);
}

// Integer registers for a bf16 result of set, which ptx_operands_test explains.
bool is_lenient(const std::string& statement) {
  return statement.starts_with("set.") && statement.find(".bf16.") != statement.npos;
}

TEST_CASE("qualifiers are taken in the orders that ptxas takes") {
  std::size_t accepted = 0, refused = 0, lenient = 0;
  for (const Row& row : isa_table::read("scalar_order")) {
    const Target target = Target::find(row.at("target")).value();
    const std::string& statement = row.at("statement");
    INFO(statement);
    const auto module = ptx::parse_module(scalar_table::module(statement));
    REQUIRE(module.ok());
    const ptx::FunctionText& function = (*module)->functions.front();
    const bool taken = scalar_table::takes(function, function.statements.front(), target);
    const bool expected = row.at("accepted") == "1";
    if (expected && !taken && is_lenient(statement)) {
      ++lenient;
      continue;
    }
    ++(expected ? accepted : refused);
    CHECK(taken == expected);
  }
  fmt::print("{} other orders accepted, {} refused as by ptxas; {} that it takes are refused\n", accepted,
             refused, lenient);
  CHECK(accepted >= 1900);
  CHECK(refused >= 450);
}

}  // namespace scalar_forms_test
