// SPDX-License-Identifier: Apache-2.0
// Mutants of the assembler's rules (src/assembler/rules.hpp): each of them switched off, on the kernels that a GPU has run. One
// whose evidence is in golden/ must leave other bytes than the GPU there; what no recording tells is inferred from machine
// code, and its row names no recording.
#include <fmt/format.h>

#include <set>

#include "recorded_kernel.hpp"

namespace rule_mutants_test {

using namespace recorded_kernel;

// Whether a recorded launch leaves other bytes without a rule.
bool differs(const fs::path& folder, std::string_view rule) {
  const json recorded = json::parse(text_of(folder / "case.json"));
  Arrays memory = arrays_of(folder / "arrays.npz");
  const Result<ptx::Module> module = ptx::Module::load(text_of(folder / "kernel.ptx"), *Target::find("sm_90a"));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function(recorded.at("entry").get<std::string>());
  REQUIRE(function);
  ptx::Launch how = shape_of(recorded);
  how.without = {std::string(rule)};
  if (!recorded_kernel::launch(*function, recorded, memory, how).ok()) return true;
  return std::ranges::any_of(recorded.at("outputs"), [&](const json& output) {
    const auto name = output.get<std::string>();
    return memory.at("in_" + name) != memory.at("out_" + name);
  });
}

// The first recorded kernel that a mutant does not leave as the GPU did; empty if there is none.
std::string who_notices(std::string_view rule) {
  static const std::set<fs::path> folders = [] {
    std::set<fs::path> out;
    for (const fs::directory_entry& entry : fs::directory_iterator("golden/kernels"))
      if (fs::exists(entry.path() / "case.json")) out.insert(entry.path());
    return out;
  }();
  for (const fs::path& folder : folders)
    if (differs(folder, rule)) return folder.string();
  return {};
}

TEST_CASE("each rule of the assembler that is called recorded is noticed by a recorded kernel, if it is off") {
  int noticed = 0;
  for (const ptx::AssemblerRule& rule : ptx::assembler_rules()) {
    const std::string by = who_notices(rule.name);
    INFO(rule.name << ": " << rule.evidence);
    fmt::print("{} off: {}\n", rule.name, by.empty() ? "noticed by nobody; inferred from machine code" : by);
    CHECK((rule.evidence.find("golden/") != rule.evidence.npos) == !by.empty());
    noticed += !by.empty();
  }
  CHECK(noticed >= 2);
}

}  // namespace rule_mutants_test
