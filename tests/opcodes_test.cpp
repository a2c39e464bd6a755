// SPDX-License-Identifier: Apache-2.0
// What instructions are: the table of opcodes beside the rows of forms and the families of tensor instructions; how rows say
// that operands are used.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "isa/form.hpp"
#include "ptx/forms.hpp"
#include "ptx/rows/opcodes.hpp"

namespace opcodes_test {

using namespace warpbit;
using ptx::Does;

TEST_CASE("each opcode is what its forms are") {
  for (const Family& family : families()) {
    INFO(family.opcode);
    const ptx::Opcode& opcode = ptx::opcode(family.opcode);
    // Some conversions and fences are scalar instructions.
    const bool has_rows = !ptx::forms_of(family.opcode).empty();
    CHECK(has_rows == (opcode.does == Does::convert || opcode.does == Does::fence));
    CHECK((has_rows || opcode.does == Does::tensor));
  }
  for (const ptx::ScalarForm& form : ptx::scalar_forms())
    for (const std::string_view name : form.opcodes) {
      INFO(name);
      CHECK(ptx::opcode(name).does != Does::tensor);
      CHECK(ptx::opcode(name).does != Does::call);
    }
}

TEST_CASE("an opcode without a row computes") {
  CHECK(ptx::opcode("fma").does == Does::compute);
  CHECK(ptx::opcode("no such").does == Does::compute);
  CHECK(ptx::opcode("ldu").does == Does::load);
}

bool writes_first(std::string_view name, std::vector<std::string_view> words) {
  return ptx::writes_first(ptx::opcode(name), words);
}

// By the syntax of the PTX manual.
TEST_CASE("the first operand is a result where the forms have one") {
  CHECK(writes_first("fma", {"rn", "f32"}));
  CHECK(writes_first("brev", {"b32"}));
  CHECK(writes_first("bar", {"red", "popc", "u32"}));
  CHECK(writes_first("barrier", {"cta", "red", "and", "pred"}));
  CHECK_FALSE(writes_first("bar", {"sync"}));
  CHECK_FALSE(writes_first("barrier", {"arrive", "aligned"}));
  CHECK_FALSE(writes_first("brx", {"idx"}));
  CHECK_FALSE(writes_first("nanosleep", {"u32"}));
  CHECK_FALSE(writes_first("stackrestore", {"u64"}));
  CHECK_FALSE(writes_first("call", {"uni"}));
}

std::string uses(std::string_view name, std::vector<std::string_view> words) {
  const auto matches = ptx::scalar_matches(name, words, *Target::find("sm_90a"));
  REQUIRE_FALSE(matches.empty());
  return matches.front().form->uses;
}

// An address decides where something is done, and a mask or a count who waits: they must have been written.
TEST_CASE("rows say which sources must have been written") {
  CHECK(uses("add", {"u32"}) == "rrvv");
  CHECK(uses("ld", {"global", "u32"}) == "rrm");
  CHECK(uses("st", {"shared", "v4", "f32"}) == "rrmv");
  CHECK(uses("atom", {"global", "cas", "b32"}) == "rrmmm");
  CHECK(uses("red", {"shared", "add", "u32"}) == "rrmm");
  CHECK(uses("shfl", {"sync", "up", "b32"}) == "rrvvvm");
  CHECK(uses("vote", {"sync", "any", "pred"}) == "rrvm");
  CHECK(uses("elect", {"sync"}) == "rrm");
  CHECK(uses("bar", {"red", "popc", "u32"}) == "rrmmm");
  CHECK(uses("bar", {"warp", "sync"}) == "rrm");
  CHECK(uses("brx", {"idx"}) == "rrm");
  CHECK(uses("bra", {}) == "rr");
  CHECK(uses("mbarrier", {"init", "shared", "b64"}) == "rrmm");
  CHECK(uses("mbarrier", {"pending_count", "b64"}) == "rrm");
  CHECK(uses("cp", {"async", "ca", "shared", "global"}) == "rrmmm");
}

}  // namespace opcodes_test
