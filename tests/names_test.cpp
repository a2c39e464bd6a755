// SPDX-License-Identifier: Apache-2.0
// The names that people use: of targets, and short ones of forms.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "form_words.hpp"
#include "tally.hpp"
#include "tool.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/warpbit.h"

namespace names_test {

using namespace tool;
using namespace form_words;
using warpbit::Errc;
using warpbit::full_form;
using warpbit::Instruction;
using warpbit::Target;

// ---- Targets

TEST_CASE("targets are found by the names that people use", "[quick][names]") {
  const std::pair<std::string_view, Words> kNames[] = {
      {"sm_70", {"V100", "volta", "Tesla V100-SXM2-16GB", "Titan V"}},
      {"sm_72", {"Xavier", "AGX Xavier"}},
      {"sm_75", {"T4", "Tesla T4", "RTX 2080 Ti", "rtx2060", "RTX 2070 Super", "turing", "Quadro RTX 6000"}},
      {"sm_80", {"A100", "a100", "NVIDIA A100-SXM4-80GB", "A30", "ampere", "Ampere"}},
      {"sm_86", {"RTX 3090", "GeForce RTX 3080 Ti", "A10", "A40", "A6000", "RTX A6000", "A2"}},
      {"sm_87", {"Orin", "Jetson Orin Nano"}},
      {"sm_89",
       {"L4", "L40", "L40S", "RTX 4090", "4090", "NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 6000 Ada", "ada"}},
      {"sm_90a",
       {"H100", "H200", "GH200", "H800", "H20", "hopper", "HOPPER", "NVIDIA H100 80GB HBM3", "H100 PCIe",
        "h-100", " H100 ", "sm90a", "SM_90A"}},
      {"sm_90", {"SM_90", "sm90"}},
      {"sm_100a", {"B100", "B200", "GB200"}},
      {"sm_103a", {"B300", "GB300"}},
      {"sm_107a", {"Rubin", "VR200"}},
      {"sm_110a", {"Thor", "Jetson AGX Thor"}},
      {"sm_120a", {"RTX 5090", "RTX-5090", "rtx_5090", "RTX 5070 Laptop GPU", "RTX PRO 6000"}},
      {"sm_121a", {"DGX Spark", "Spark", "GB10"}},
  };
  for (const auto& [target, names] : kNames)
    for (const std::string& name : names) {
      INFO(name);
      const auto found = Target::find(name);
      REQUIRE(found.ok());
      CHECK(found->name() == target);
    }
}

TEST_CASE("a name of several targets or of none is refused with what it may be", "[quick][names]") {
  const auto both = Target::find("Blackwell");
  REQUIRE_FALSE(both.ok());
  CHECK(both.error().code == Errc::ambiguous_target);
  CHECK(both.error().message() == "'Blackwell' may be sm_100a (B100) or sm_120a (RTX 5050)");
  for (const char* none : {"",       " ",         "-",        "_",        "sm",       "sm_",          "H10O",
                           "H1000",  "RTX",       "RTX 6000", "RTX 4010", "RTX 40",   "RTX 4090 Tii", "nvidia",
                           "GPU",    "H100 H100", "80GB",     "A100\n",   "RTX 40x0", "x0",           "L",
                           "hoppers"}) {
    INFO(none);
    const auto found = Target::find(none);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == Errc::unknown_target);
    CHECK_THAT(found.error().message(), Catch::Contains("sm_70, sm_72, ") && Catch::Contains("GPUs by name"));
  }
  CHECK_THAT(Target::find("H10O").error().message(), Catch::EndsWith("GPUs by name, here H100 (sm_90a)"));
  CHECK_THAT(Target::find("RTX 6000").error().message(), Catch::Contains("Quadro RTX 6000 (sm_75)") &&
                                                             Catch::Contains("RTX 6000 Ada (sm_89)") &&
                                                             Catch::Contains("RTX PRO 6000 (sm_120a)"));
}

TEST_CASE("each name in the table is the target's, or ambiguous", "[quick][names]") {
  std::set<std::string_view> targets;
  std::size_t ambiguous = 0;
  for (const warpbit::TargetNames& row : warpbit::target_names()) {
    CHECK(targets.insert(row.target.name()).second);
    CHECK_FALSE(row.architecture.empty());
    REQUIRE_FALSE(row.names.empty());
    for (std::string name : Words(row.names.begin(), row.names.end())) {
      INFO(name);
      const auto found = Target::find(name);
      if (found.ok()) CHECK(*found == row.target);
      ambiguous += !found.ok();
    }
  }
  CHECK(targets.size() == 14);
  CHECK(ambiguous == 2);  // blackwell, twice
}

TEST_CASE("PTX and captures have the manual's names of targets only", "[quick][names]") {
  CHECK(Target::find_ptx("sm_90a")->name() == "sm_90a");
  for (const char* name : {"H100", "hopper", "SM_90A", "sm90a", " sm_90a", ""}) {
    INFO(name);
    REQUIRE_FALSE(Target::find_ptx(name).ok());
    CHECK(Target::find_ptx(name).error().code == Errc::unknown_target);
  }
  CHECK(Target::find_ptx("H100").error().message() ==
        "'H100' is not a known target; known are PTX's names, here sm_90a");
  const std::string body = "\n.address_size 64\n.visible .entry k() { ret; }\n";
  CHECK(warpbit::ptx::Module::load(".version 8.0\n.target sm_90a" + body).ok());
  CHECK_FALSE(warpbit::ptx::Module::load(".version 8.0\n.target H100" + body).ok());
  CHECK(warpbit::ptx::Module::load(".version 8.0\n.target sm_80" + body, *Target::find("H100")).ok());
}

TEST_CASE("warpbit list --targets", "[quick][names][cli]") {
  const Output shown = run({"list", "--targets"});
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, Catch::StartsWith("target   architecture  names\n"));
  CHECK_THAT(shown.out, Catch::Contains("\nsm_90a   Hopper        H100, H200, GH200, H800, H20, hopper\n"));
  const auto json = nlohmann::json::parse(run({"list", "--targets", "--json"}).out);
  CHECK(json["schema"] == "list/1");
  REQUIRE(json["targets"].size() == 14);
  CHECK(json["targets"][3] == nlohmann::json{{"target", "sm_80"},
                                             {"architecture", "Ampere"},
                                             {"names", {"A100", "A800", "A30", "ampere"}}});
}

// ---- Short forms

TEST_CASE("short forms stand for one form", "[quick][names]") {
  const std::pair<std::string, std::string> kShort[] = {
      {"mma.m16n8k16.f32.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
      {"mma.m16n8k16.f16.f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"},
      {"mma.m16n8k16.bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
      {"mma.m16n8k32.f32.e4m3", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"},
      {"mma.m16n8k32.f32.e4m3.e5m2", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"},
      {"mma.m16n8k32.s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
      {"mma.m16n8k32.s8.u8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"},
      {"mma.m16n8k32.satfinite.s8", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"},
      {"mma.m16n8k256.b1.xor.popc", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"},
      {"mma.sp.m16n8k32.f32.f16", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"},
      {"mma.m8n8k4.row.col.f32.f16", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"},
      {"mma.m16n8k64.mxf4nvf4.4X.f32.e2m1.ue4m3",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"},
      {"mma.m16n8k32.f8f6f4.f32.e2m1", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"},
      {"wgmma.m64n256k32.f32.e4m3", "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3"},
      {"wgmma.fence", "wgmma.fence.sync.aligned"},
      {"ldmatrix.x4", "ldmatrix.sync.aligned.m8n8.x4.b16"},
      {"ldmatrix.x4.trans", "ldmatrix.sync.aligned.m8n8.x4.trans.b16"},
      {"stmatrix.x2", "stmatrix.sync.aligned.m8n8.x2.b16"},
      {"wmma.row.col.m16n16k16.f32.f16", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16"},
  };
  for (const auto& [text, form] : kShort) {
    INFO(text);
    const auto found = full_form(text);
    if (!found) FAIL(found.error().message());
    CHECK(*found == form);
    CHECK(full_form(form).value() == form);
  }
}

TEST_CASE("what a short form leaves open is refused with what it may be", "[quick][names]") {
  const auto refusal = [](const std::string& text) {
    const auto found = full_form(text);
    INFO(text);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == Errc::ambiguous_form);
    return found.error().message();
  };
  CHECK(
      refusal("mma.m16n8k8.f32") ==
      "mma.m16n8k8.f32 is short for 3 forms: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32, "
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32, mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32");
  CHECK_THAT(refusal("mma.m16n8k16.f16"), Catch::Contains("is short for "));  // of D or of A
  CHECK_THAT(refusal("mma.m16n8k16.f32.f32"), Catch::Contains("leaves out"));
  CHECK_THAT(refusal("mma.m8n8k4.f32.f16"), Catch::Contains("is short for 4 forms"));
  CHECK_THAT(refusal("mma"), Catch::Contains(", and ") && Catch::EndsWith(" more"));
  // What changes the instruction must be said.
  CHECK_THAT(refusal("mma.m16n8k64.mxf4nvf4.f32.e2m1"),
             Catch::Contains("scale_vec::2X") && Catch::Contains("scale_vec::4X"));
  CHECK_THAT(refusal("mma.m16n8k32.f32.e2m1"), Catch::Contains("kind::f8f6f4"));
  CHECK_THAT(refusal("movmatrix"), Catch::EndsWith("movmatrix.sync.aligned.m8n8.trans.b16"));
}

TEST_CASE("any other text is what it is", "[quick][names]") {
  for (const char* text :
       {"", ";", "...", "frobnicate", "mma.m16n8k16.f32.f16;", "mma.m16n8k16.f32.f16 {d}, {a}, {b}, {c};",
        "mma.m16n8k16.f32.f16 {d}", "mma.sync.aligned.m16n8k16.row.f32.col.f16.f16.f32", "cvt.f16.f32",
        "wgmma.fence.sync", "MMA.m16n8k16.f32.f16"}) {
    INFO(text);
    CHECK(full_form(text).value() == text);
  }
}

TEST_CASE("a product that is short for no form is refused by its wrong word", "[quick][names]") {
  struct Wrong {
    std::string text, message;
  };
  const Wrong kWrong[] = {
      // Shapes: those that differ in the fewest numbers, the nearest first
      {"mma.m16n8k15.f32.f16", "mma: m16n8k15 does not exist for f32 and f16; it has m16n8k16 and m16n8k8"},
      {"mma.m16n8k17.f32.f16", "mma: m16n8k17 does not exist for f32 and f16; it has m16n8k16 and m16n8k8"},
      {"m16n8k32.f32.f16", "mma: m16n8k32 does not exist for f32 and f16; it has m16n8k16 and m16n8k8"},
      {"mma.m16n8k32.f32.f16", "mma: m16n8k32 does not exist for f32 and f16; it has m16n8k16 and m16n8k8"},
      {"mma.m15n8k16.f32.f16", "mma: m15n8k16 does not exist for f32 and f16; it has m16n8k16"},
      {"mma.m16n9k16.f32.f16", "mma: m16n9k16 does not exist for f32 and f16; it has m16n8k16"},
      {"mma.sp.m16n8k64.f32.f16",
       "mma: m16n8k64 does not exist for sp, f32 and f16; it has m16n8k32 and m16n8k16"},
      {"wgmma.m64n9k16.f32.f16",
       "wgmma: m64n9k16 does not exist for f32 and f16; it has m64n8k16, m64n16k16, m64n24k16, m64n32k16, "
       "m64n40k16, m64n48k16 and 26 more"},
      {"wgmma.m64n8k15.f32.f16", "wgmma: m64n8k15 does not exist for f32 and f16; it has m64n8k16"},
      {"tcgen05.m128n9k16.f32.f16",
       "tcgen05: m128n9k16 does not exist for f32 and f16; it has m128n8k16, m128n16k16, m128n24k16, "
       "m128n32k16, m128n40k16, m128n48k16 and 26 more"},
      // What people call types
      {"mma.m16n8k16.f32.fp16",
       "mma.m16n8k16.f32.fp16: '.fp16' is not a qualifier of this instruction; it takes .f16"},
      {"mma.m16n8k16.f32.float16",
       "mma.m16n8k16.f32.float16: '.float16' is not a qualifier of this instruction; it takes .f16"},
      {"mma.m16n8k16.f32.half",
       "mma.m16n8k16.f32.half: '.half' is not a qualifier of this instruction; it takes .f16"},
      {"mma.m16n8k16.fp32.f16",
       "mma.m16n8k16.fp32.f16: '.fp32' is not a qualifier of this instruction; it takes .f32"},
      {"m16n8k16.f32.bfloat16",
       "mma.m16n8k16.f32.bfloat16: '.bfloat16' is not a qualifier of this instruction; it takes .bf16"},
      {"mma.m16n8k32.f32.fp8",
       "mma.m16n8k32.f32.fp8: '.fp8' is not a qualifier of this instruction; it takes .e4m3 and .e5m2"},
      {"mma.m16n8k32.s32.int8",
       "mma.m16n8k32.s32.int8: '.int8' is not a qualifier of this instruction; it takes .s8"},
      {"wgmma.m64n64k16.f32.fp16",
       "wgmma.m64n64k16.f32.fp16: '.fp16' is not a qualifier of this instruction; it takes .f16"},
      {"tcgen05.f32.fp8",
       "tcgen05.f32.fp8: '.fp8' is not a qualifier of this instruction; it takes .e4m3 and .e5m2"},
      // Other words
      {"mma.m16n8k16.f32.foo",
       "mma.m16n8k16.f32.foo: '.foo' is not a qualifier of this instruction; it takes .f32, .f16, .bf16, .e5m2 and .e4m3"},
      {"mma.f32.m16n8k16.f16",
       "mma.f32.m16n8k16.f16: its words stand in another order; accepted is "
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
  };
  for (const auto& [text, message] : kWrong) {
    INFO(text);
    const auto found = full_form(text);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().message() == message);
    const auto parsed = Instruction::parse(text, "B200");
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().message() == message);
  }
}

TEST_CASE("a shape alone is that of a product, and nvfp4 has sums of f32", "[quick][names]") {
  CHECK(full_form("m16n8k16.f32.f16").value() == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  CHECK(full_form("m64n64k16.f32.bf16").value() == "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16");
  CHECK(full_form("m128n64k16.f32.f16").value() == full_form("tcgen05.m128n64k16.f32.f16").value());
  CHECK(full_form("tcgen05.f32.nvfp4").value() == full_form("tcgen05.nvfp4").value());
  CHECK(full_form("mma.f32.nvfp4").value() == full_form("mma.nvfp4").value());
}

TEST_CASE("of several forms those of the target are meant", "[quick][names]") {
  REQUIRE_FALSE(full_form("mma.f32.f16").ok());
  CHECK(full_form("mma.f32.f16", *Target::find("T4")).ok() == false);  // m8n8k4 has layouts
  REQUIRE_FALSE(full_form("mma.f16.f16").ok());
  CHECK(full_form("mma.m16n8k8.f32", *Target::find("T4")).value() ==
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
  CHECK_FALSE(full_form("mma.m16n8k8.f32", *Target::find("A100")).ok());
  // None of the target's: the form, which then is refused there.
  const auto refused = Instruction::parse("wgmma.m64n8k16.f32.f16", "A100");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Errc::not_on_target);
}

TEST_CASE("statements and PTX take no short forms", "[quick][names]") {
  const Target target = *Target::find("H100");
  CHECK_FALSE(Instruction::parse("mma.m16n8k16.f32.f16", target).ok());
  CHECK_FALSE(Instruction::parse("mma.m16n8k16.f32.f16 {d}, {a}, {b}, {c};", "H100").ok());
  const auto parsed = Instruction::parse("mma.m16n8k16.f32.f16", "H100");
  REQUIRE(parsed.ok());
  CHECK(parsed->text() == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  CHECK(parsed->canonical() == parsed->text());
  CHECK(parsed->target().name() == "sm_90a");
  warpbit_instruction* instruction = nullptr;
  REQUIRE(warpbit_parse("ldmatrix.x4", "rtx 4090", &instruction) == WARPBIT_OK);
  warpbit_description description{};
  description.size = sizeof description;
  REQUIRE(warpbit_describe(instruction, &description) == WARPBIT_OK);
  CHECK(std::string(description.form) == "ldmatrix.sync.aligned.m8n8.x4.b16");
  warpbit_free(instruction);
}

// The words of the types: of D, A, B and C in an mma, of D, A and B in a wgmma.
std::size_t first_type(const Words& words) {
  const std::set<std::string> types = {"f64",  "f32",  "f16",  "bf16", "tf32", "s32",
                                       "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
  return static_cast<std::size_t>(
      std::ranges::find_if(words, [&](const auto& word) { return types.contains(word); }) - words.begin());
}

void leave_out(Words& words, const std::set<std::string>& these) {
  std::erase_if(words, [&](const std::string& word) { return these.contains(word); });
}

TEST_CASE("of each form the shortest text is that form, or open", "[quick][names][once]") {
  Tally first, rest;
  std::size_t resolved = 0, texts = 0;
  std::string last;
  for (const warpbit::FormInfo& form : warpbit::forms()) {
    if (std::exchange(last, form.canonical) == form.canonical) continue;
    Words words = words_of(form.canonical);
    const bool is_mma = words[0] == "mma", is_wgmma = words[0] == "wgmma" && words[1] == "mma_async";
    if (const std::size_t d = first_type(words); is_mma || is_wgmma) {
      const bool repeats_b = words[d + 2] == words[d + 1], repeats_c = is_mma && words[d + 3] == words[d];
      if (repeats_c) words.erase(words.begin() + static_cast<std::ptrdiff_t>(d) + 3);
      if (repeats_b && (repeats_c || is_wgmma)) words.erase(words.begin() + static_cast<std::ptrdiff_t>(d) + 2);
    }
    leave_out(words, {"sync", "aligned", "mma_async"});
    const auto described = [&] { return joined(words) + " from " + form.canonical; };
    const auto short_one = full_form(joined(words));
    first.check(short_one.ok() && (*short_one == form.canonical), described);
    const auto judge = [&](std::optional<Target> target) {
      const auto found = full_form(joined(words), target);
      rest.check(found ? *found == form.canonical : found.error().code == Errc::ambiguous_form, described);
      resolved += found.ok();
      ++texts;
    };
    leave_out(words, {"row", "col", "block_scale", "ue8m0", "ue4m3"});
    judge({});
    std::erase_if(words, [](const std::string& word) {
      return word.starts_with("m") && word.find_first_of("0123456789") == 1;
    });
    judge(form.targets.back());
  }
  first.judge("short forms");
  rest.judge("shortest forms");
  CHECK(resolved > texts / 4);
}

TEST_CASE("commands take short forms, names of GPUs, and FORM@TARGET", "[quick][names][cli]") {
  const std::string full = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const Output one = run({"check", "mma.m16n8k16.f32.f16@A100"});
  CHECK(one.status == 0);
  CHECK_THAT(one.out,
             Catch::StartsWith("mma.m16n8k16.f32.f16 is short for " + full + "; ptxas takes that only\n") &&
                 Catch::Contains("accepted on sm_80: " + full + "\n"));
  CHECK_THAT(run({"check", "mma.m16n8k16.f32.f16"}).out, Catch::Contains("is short for " + full));
  CHECK_THAT(run({"check", full, "--target", "H100"}).out, Catch::StartsWith("accepted on sm_90a: "));
  const Output open = run({"check", "mma.m16n8k16.f32"});
  CHECK(open.status == 1);
  CHECK_THAT(open.out, Catch::StartsWith("refused: mma.m16n8k16.f32 is short for 4 forms: "));
  CHECK_THAT(run({"compare", full + "@A100", full + "@H100", "--targets", "B200", "--a", "1"}).err,
             Catch::StartsWith("warpbit: compare: --targets beside forms that all name their own"));
  CHECK_THAT(run({"compare", full, "--targets", "A100,H100", "--random", "ordinary", "--a", "1"}).err,
             Catch::StartsWith("warpbit: --random: "));
  CHECK_THAT(run({"compare", full, "--targets", "A100,H100", "--random", "ordinary", "--cases", "0"}).err,
             Catch::StartsWith("--cases: '0'; expected a whole number from 1 on\n"));
  CHECK_THAT(run({"check", full, "--target", ""}).err, Catch::StartsWith("--target: an empty name\n"));
  CHECK(run({"layout", "mma.m16n8k16.f32.f16", "--operand", "a"}).out ==
        run({"layout", full, "--operand", "a"}).out);
  const auto diagnosed = [](Words words) {
    for (const std::string word : {"--a", "none.npy", "--b", "none.npy", "--d", "none.npy"})
      words.push_back(word);
    words.insert(words.begin(), "diagnose");
    return run(words).err;
  };
  CHECK_THAT(diagnosed({"mma.m16n8k16.f32.f16@H100"}), Catch::Contains("none.npy"));
  CHECK(diagnosed({"mma.m16n8k16.f32.f16@H100"}) == diagnosed({full, "--target", "H100"}));
  const Words values = {"--a", "1 2^-12", "--b", "1 1"};
  const auto explained = [&](Words words) {
    words.insert(words.begin(), "explain");
    words.insert(words.end(), values.begin(), values.end());
    return run(words);
  };
  CHECK(explained({"mma.m16n8k16.f32.f16@H100"}).out == explained({full, "--target", "sm_90a"}).out);
  CHECK(explained({"mma.m16n8k16.f32.f16@H100", "--target", "hopper"}).status == 0);
  CHECK(explained({"mma.m16n8k16.f32.f16@H100", "--target", "A100"}).status == 2);
  CHECK(explained({"mma.m16n8k16.f32.f16@"}).status == 2);
  CHECK(explained({"mma.m16n8k16.f32.f16@H10"}).status == 2);
  // A shape of Turing, one of Ampere.
  const Output compared = run({"compare", "mma.m16n8k8.f32.f16@T4", "mma.m16n8k16.f32.f16@A100", "--random",
                               "ordinary", "--cases", "4"});
  CHECK((compared.status == 0 || compared.status == 1));
  CHECK_THAT(compared.out, Catch::Contains("sm_80"));
  CHECK(run({"compare", "mma.m16n8k16.f32.f16@A100", "mma.m16n8k16.f32.f16", "--random", "ordinary"}).status ==
        2);
  const Output crossed = run({"compare", "mma.m16n8k8.f32.f16", "mma.m16n8k8.f32.f16@T4", "--targets",
                              "A100,H100", "--random", "ordinary", "--cases", "4"});
  CHECK_THAT(crossed.out, Catch::Contains("sm_90") && Catch::Contains("sm_75"));
}

TEST_CASE("misspelt commands and options are answered with the nearest", "[quick][names][cli]") {
  CHECK_THAT(run({"chek"}).err, Catch::Contains("expected check?"));
  CHECK_THAT(run({"layuot", "x"}).err, Catch::Contains("expected layout?"));
  const Output option = run({"check", "mma.m16n8k16.f32.f16", "--taget", "H100"});
  CHECK(option.status == 2);
  CHECK(option.err == "warpbit: check: '--taget' is no option of it; expected --target?\n");
}

TEST_CASE("the words that scripts of shells ask for", "[quick][names][cli]") {
  const Output forms = run({"completion", "--forms", "ldmatrix.x4"});
  CHECK(forms.status == 0);
  REQUIRE_FALSE(forms.lines().empty());
  CHECK(forms.lines()[0] == "ldmatrix.x4");
  CHECK_THAT(forms.out, Catch::Contains("\nldmatrix.x4.trans\n"));
  for (const std::string& form : forms.lines()) CHECK(full_form(form).ok());
  CHECK_THAT(run({"completion", "--forms", "mma.sync.aligned.m16n8k16.row.col.f32.bf"}).out,
             Catch::Equals("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n"));
  for (const std::string text :
       {"mma.m16n8k16.f32.bf16", "mma.m16n8k32.s32.s8.u8", "wgmma.m64n256k32.f32.e4m3"})
    CHECK_THAT(run({"completion", "--forms", text}).lines(), Catch::VectorContains(text));
  CHECK(warpbit::short_forms("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")[0] == "mma.m16n8k16.f32.f16");
  CHECK(warpbit::short_forms("mma.m16n8k16.f32.f16").empty());
  CHECK(run({"completion", "--forms", "mma.x@H1"}).out == "mma.x@H100\n");
  CHECK(run({"completion", "--forms", "nothing"}).out.empty());
}

}  // namespace names_test
