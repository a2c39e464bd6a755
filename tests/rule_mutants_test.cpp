// SPDX-License-Identifier: Apache-2.0
// Mutants of the assembler's rules (src/assembler/rules.hpp): each of them switched off, on the random kernels that a GPU has
// run. One whose evidence is in golden/ or golden-digests/ must leave other bytes than the GPU there; what no recording tells
// is inferred from machine code, and its row names no recording.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "random_recordings.hpp"
#include "warpbit/ptx.hpp"

namespace rule_mutants_test {

using namespace warpbit;

TEST_CASE("each rule of the assembler that is called recorded is noticed by a recorded kernel, if it is off") {
  int noticed = 0;
  for (const ptx::AssemblerRule& rule : ptx::assembler_rules()) {
    const auto by = random_recordings::first_that_needs(std::string(rule.name));
    INFO(rule.name << ": " << rule.evidence);
    fmt::print("{} off: {}\n", rule.name,
               by ? "noticed by " + *by : "noticed by nobody; inferred from machine code");
    CHECK((rule.evidence.find("golden") != rule.evidence.npos) == by.has_value());
    noticed += by.has_value();
  }
  CHECK(noticed >= 2);
}

}  // namespace rule_mutants_test
