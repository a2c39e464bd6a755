// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/wrong/: `wrong` has one mistake, by the PTX manual alone, and `right` is the same without it. A launch
// tells the mistake, by a fault or a finding, at the latest with --strict; the other one is silent and leaves the bytes that the
// head (kernel_head.hpp) says.
#include <algorithm>
#include <catch2/catch.hpp>

#include "in_turn.hpp"
#include "kernel_head.hpp"

namespace wrong_kernels_test {

using namespace warpbit;
using namespace kernel_head;

/// What a launch of an entry says; empty: nothing.
std::string told(const File& kernel, const std::string& entry, Case& test, bool strict) {
  const Result<ptx::Module> module = ptx::Module::load(kernel.text);
  if (!module) return module.error().message();
  const Result<ptx::Function> function = module->function(entry);
  if (!function) return function.error().message();
  for (const auto& array : test.arrays)
    std::copy(array->before.begin(), array->before.end(), array->bytes.begin());
  test.how.strict = strict;
  test.how.step_limit = tries_all() ? 2'000'000 : 200'000;  // some mistakes never end
  const ptx::Report report = function->launch(test.how, test.arguments);
  if (report.fault) return report.fault->message();
  return report.findings.empty() ? "" : report.findings[0].fault.message();
}

TEST_CASE("there are 150 kernels with a mistake") {
  CHECK(kernels("tests/wrong").size() >= 150);
}

TEST_CASE("a mistake of a kernel is told, and nothing where there is none") {
  for (const File& kernel : kernels("tests/wrong")) {
    INFO(kernel.name);
    Case test(kernel.text);
    for (const bool strict : {false, true}) {
      CHECK(told(kernel, "right", test, strict) == "");
      for (const auto& array : test.arrays) CHECK(difference(*array) == "");
    }
    CHECK((!told(kernel, "wrong", test, false).empty() || !told(kernel, "wrong", test, true).empty()));
  }
}

}  // namespace wrong_kernels_test
