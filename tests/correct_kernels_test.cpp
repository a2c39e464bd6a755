// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/correct/: each is correct by the PTX manual, or by time alone, as its head says, so that a launch has
// neither a fault nor a finding and leaves the bytes that its head (kernel_head.hpp) says, by a formula.
#include <catch2/catch.hpp>

#include "in_turn.hpp"
#include "kernel_head.hpp"

namespace correct_kernels_test {

using namespace warpbit;
using namespace kernel_head;

/// What is wrong with a launch; empty: nothing.
std::string wrong(const std::string& text, Case& test, bool strict) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) return module.error().message();
  const Result<ptx::Function> kernel = module->function(module->entries().at(0));
  if (!kernel && !test.refused.empty() &&
      kernel.error().message().ends_with("is not modelled yet: " + test.refused))
    return "";
  if (!kernel) return kernel.error().message();
  if (!test.refused.empty()) return "it is modelled";
  for (const auto& array : test.arrays)
    std::copy(array->before.begin(), array->before.end(), array->bytes.begin());
  test.how.strict = strict;
  test.how.step_limit = 2'000'000;
  const ptx::Report report = kernel->launch(test.how, test.arguments);
  if (!test.accused.empty())
    return report.fault && report.fault->message().find(test.accused) != std::string::npos
               ? ""
               : "it is accused no more";
  if (report.fault) return "fault: " + report.fault->message();
  if (!report.findings.empty()) return "finding: " + report.findings[0].fault.message();
  if (report.printed != test.prints) return "printed: " + report.printed;
  for (const auto& array : test.arrays)
    if (const std::string found = difference(*array); !found.empty()) return found;
  return "";
}

TEST_CASE("there are 150 correct kernels") {
  CHECK(kernels("tests/correct").size() >= 150);
}

TEST_CASE("correct kernels have no fault, no finding, and the bytes that they should have", "[sampled]") {
  std::size_t turn = 0;
  for (const File& kernel : kernels("tests/correct")) {
    Case test(kernel.text);
    ++turn;
    for (const bool strict : {false, true}) {
      if (!has_turn(turn, strict, 2)) continue;
      INFO(kernel.name << (strict ? ", strict" : ""));
      CHECK(wrong(kernel.text, test, strict) == "");
    }
  }
}

}  // namespace correct_kernels_test
