// SPDX-License-Identifier: Apache-2.0
// What instructions are: the table of opcodes beside the rows of forms and the families of tensor instructions; how rows say
// that operands are used.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "isa/form.hpp"
#include "ptx/forms.hpp"
#include "ptx/rows/opcodes.hpp"
#include "tool.hpp"

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

// ---- No list of opcodes beside the rows

/// Where string literals name opcodes, and why.
struct Exception {
  std::string_view path, reason;
};
constexpr Exception kExceptions[] = {
    {"src/ptx/rows/", "the rows"},
    {"src/scalar/", "the rows of functions, each beside its function"},
    {"src/isa/", "the rows of tensor instructions: families, versions, machine code"},
    {"src/ptx/forms.cpp", "the order of an opcode's words"},
    {"src/assembler/", "rules of the assembler are about certain instructions, and make others"},
    {"src/arbiter/hypotheses.cpp", "hypotheses are about certain instructions, and make others"},
    {"src/arbiter/solve.cpp", "which instructions can be taken back, and how"},
    {"src/notice/", "mistakes are about certain instructions, and make others"},
    {"src/cli/", "words that people type"},
    {"src/record/capture_kernel.cpp", "it writes PTX"},
    {"src/layout/", "it writes statements"},
    {"src/explain/note.cpp", "notes are about certain instructions"},
    {"src/device/async.cpp", "names of wrappers in faults"},
    {"src/device/calls.cpp", "names of wrappers where mistakes are planted"},
    {"src/grid/compile_tensor.cpp", "which statements are those of isa"},
    {"src/ptx/parse_functions.cpp", "a sum as an operand becomes a mov and an add"},
    {"src/ptx/calls.cpp", "what calls pass in registers becomes loads and stores"},
    {"src/grid/compile.cpp", "products that are pending are wgmma's"},
    {"src/reduction/", "functions of kernels, in PTX"},
    {"src/verify/cases/", "inputs of certain instructions"},
    {"src/verify/texture_digests.cpp", "which instructions take a component"},
    // Other meanings.
    {"src/kernel/kernel.cpp", "a feature of processors"},
    {"src/target/target.cpp", "units"},
    {"src/grid/function.cpp", "kinds of faults"},
    {"src/grid/counts.cpp", "kinds of waits"},
    {"src/block/fault_words.cpp", "an English word"},
    {"src/ptx/evidence.cpp", "kinds of results"},
    {"src/diagnose/places.cpp", "a bit that is set"},
};

using Names = std::set<std::string, std::less<>>;

/// Whether a literal is a list of opcodes. Words that are qualifiers, too, may be meant as such.
bool names_opcodes(const std::string& literal, const Names& opcodes, const Names& words) {
  static const std::regex kWord("[^ |]+");
  bool any = false;
  for (std::sregex_iterator at(literal.begin(), literal.end(), kWord), end; at != end; ++at) {
    if (!opcodes.contains(at->str())) return false;
    any = any || !words.contains(at->str());
  }
  return any;
}

TEST_CASE("no opcode is named in a string outside the rows") {
  Names opcodes, words;
  for (const Family& family : families()) opcodes.emplace(family.opcode);
  for (const ptx::ScalarForm& form : ptx::scalar_forms()) {
    opcodes.insert(form.opcodes.begin(), form.opcodes.end());
    words.insert(form.words.begin(), form.words.end());
  }
  static const std::regex kLiteral(R"re("([a-z0-9]+(?:[ |][a-z0-9]+)*)")re");
  Names needed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("src")) {
    const std::string path = entry.path().generic_string(), extension = entry.path().extension();
    if (extension != ".hpp" && extension != ".cpp" && extension != ".inc") continue;
    const auto exception =
        std::ranges::find_if(kExceptions, [&](const Exception& one) { return path.starts_with(one.path); });
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      line.resize(std::min(line.find("//"), line.size()));
      for (std::sregex_iterator at(line.begin(), line.end(), kLiteral), end; at != end; ++at) {
        if (!names_opcodes((*at)[1], opcodes, words)) continue;
        INFO(path << ": " << line << "\na column of the rows (ptx/rows, scalar) says what an opcode is");
        CHECK(exception != std::end(kExceptions));
        if (exception != std::end(kExceptions)) needed.emplace(exception->path);
      }
    }
  }
  for (const Exception& one : kExceptions) {
    INFO(one.path);
    CHECK(needed.contains(one.path));
  }
}

// ---- The page of instructions

TEST_CASE("doc/isa.md is what the tool prints", "[once]") {
  const tool::Output page = tool::run({"list", "--isa", "--markdown"});
  CHECK(page.status == 0);
  std::ifstream in("doc/isa.md", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  INFO("warpbit list --isa --markdown > doc/isa.md");
  CHECK(text == page.out);
}

}  // namespace opcodes_test
