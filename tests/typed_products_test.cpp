// SPDX-License-Identifier: Apache-2.0
// Products of tcgen05.mma whose types stand in the name: what they are short for, what a B200 returned
// (tests/published/tcgen05_b200.tsv), and the commands that take them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tensor_words.hpp"
#include "tool.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/gemm.hpp"

namespace typed_products_test {

using namespace warpbit;
using namespace tool;
using Catch::Contains;

TEST_CASE("names of products by types", "[quick][isa]") {
  struct Row {
    const char *typed, *target, *form;
  };
  constexpr Row kRows[] = {
      {"tcgen05.f32.e4m3", "B200", "tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3"},
      {"tcgen05.f32.e4m3.e5m2", "B200", "tcgen05.mma.kind::f8f6f4.f32.e4m3.e5m2"},
      {"tcgen05.f32.f16", "B300", "tcgen05.mma.kind::f16.f32.f16.f16"},
      {"tcgen05.f16.f16", "B200", "tcgen05.mma.kind::f16.f16.f16.f16"},
      {"tcgen05.mma.f32.bf16", "B200", "tcgen05.mma.kind::f16.f32.bf16.bf16"},
      {"tcgen05.f32.tf32", "B200", "tcgen05.mma.kind::tf32.f32.tf32.tf32"},
      {"tcgen05.s32.s8.u8", "B200", "tcgen05.mma.kind::i8.s32.s8.u8"},
      {"tcgen05.mma.cta_group::1.kind::f8f6f4.f32.e4m3.e4m3", "B200", "tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3"},
      {"tcgen05.mma.cta_group::2.f32.e4m3", "B200", "tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3"},
      {"tcgen05.m128n256k32.f32.e2m1", "B200", "tcgen05.mma.m128n256k32.kind::f8f6f4.f32.e2m1.e2m1"},
      {"tcgen05.m64n200k32.f32.e4m3", "B200", "tcgen05.mma.m64n200k32.kind::f8f6f4.f32.e4m3.e4m3"},
      {"tcgen05.m256n256k16.f32.bf16", "B200", "tcgen05.mma.m256n256k16.kind::f16.f32.bf16.bf16"},
      {"tcgen05.m256n128k64.f32.e2m1.ue4m3", "B200",
       "tcgen05.mma.m256n128k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.ue4m3"},
      {"tcgen05.m128n8k16.f32.f16", "B200", "tcgen05.mma.m128n8k16.kind::f16.f32.f16.f16"},
      {"nvfp4", "B200", "tcgen05.mma.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.ue4m3"},
      {"mxfp4", "B200", "tcgen05.mma.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.ue8m0"},
      {"mxf8", "B200", "tcgen05.mma.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.ue8m0"},
      {"mxfp8_e5m2", "B200", "tcgen05.mma.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.ue8m0"},
      {"tcgen05.f32.e4m3.e2m1.ue8m0", "B200",
       "tcgen05.mma.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.ue8m0"},
      {"mma.m16n8k64.nvfp4", "RTX 5090",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"},
      {"nvfp4", "RTX 5090",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"}};
  for (const Row& row : kRows) {
    INFO(row.typed << " on " << row.target);
    const Result<Instruction> i = Instruction::parse(row.typed, row.target);
    REQUIRE((i ? "" : i.error().message()) == "");
    CHECK(i->canonical() == row.form);
    // In full, too.
    CHECK(Instruction::parse(row.form, row.target)->canonical() == row.form);
  }
}

TEST_CASE("names of products that there are not", "[quick][isa]") {
  const auto refused = [](const char* typed, const char* target) {
    const Result<Instruction> i = Instruction::parse(typed, target);
    REQUIRE_FALSE(i.ok());
    return i.error().message();
  };
  CHECK_THAT(refused("tcgen05.f32.e4m3", "H100"), Contains("sm_90a"));
  CHECK_THAT(refused("tcgen05.mma.kind::f16.f32.f16.bf16", "B200"),
             Contains("'.f16' does not fit the other words; there can be .bf16"));
  CHECK_THAT(refused("tcgen05.mma.m128n12k32.f32.e4m3", "B200"), Contains("m128n12k32"));
  CHECK_THAT(refused("tcgen05.mma.m256n24k32.f32.e4m3", "B200"), Contains("m256n24k32"));
  CHECK_THAT(refused("tcgen05.f32.e2m1.ue8m0", "B200"),
             Contains("kind::mxf8f6f4") && Contains("kind::mxf4.") && Contains("kind::mxf4nvf4"));
  CHECK_THAT(refused("tcgen05.mma.f8f6f4", "B200"),
             Contains("short for 2 forms") && Contains("tcgen05.mma.kind::f8f6f4.f32."));
  // PTX has no types in this name.
  CHECK_FALSE(Instruction::parse("tcgen05.mma.kind::f16.f32.f16.f16 {d}, {a}, {b}, {c};", "B200").ok());
}

// ---- Arithmetic

std::string name_of(const tensor_words::Kind& k) {
  const std::string vec =
      k.scale.empty() ? "" : fmt::format(".block_scale.scale_vec::{}X", k.kind == "mxf8f6f4" ? 1 : k.scales);
  return fmt::format("tcgen05.mma.kind::{}{}{}.{}.{}.{}{}{}", k.kind, vec, k.saturates ? ".satfinite" : "", k.d,
                     k.a, k.b, k.scale.empty() ? "" : ".", k.scale);
}

TEST_CASE("elements that a B200 returned", "[quick][isa]") {
  std::size_t asked = 0;
  for (const tensor_words::Published& x : tensor_words::published()) {
    if (x.kind.sparse) continue;
    INFO(x.name << ", " << name_of(x.kind));
    const Result<Instruction> i = Instruction::parse(name_of(x.kind), Target::find("B200").value());
    REQUIRE((i ? "" : i.error().message()) == "");
    REQUIRE(i->terms() == x.kind.terms());
    const Result<Element> element = execute_element(*i, {x.in.a, x.in.b, x.in.c, x.in.scale_a, x.in.scale_b});
    REQUIRE((element ? "" : element.error().message()) == "");
    CHECK(element->code == x.word);
    ++asked;
  }
  CHECK(asked >= 40);
}

// M and N say how many elements there are, and nothing of their arithmetic.
TEST_CASE("products by types of every M are the same sums", "[quick][isa]") {
  std::size_t asked = 0;
  for (const tensor_words::Published& x : tensor_words::published()) {
    if (x.kind.sparse) continue;
    const std::string name = name_of(x.kind);
    for (const char* shape : {"m64n8", "m64n256", "m256n16", "m256n256"}) {
      const std::string shaped = fmt::format("tcgen05.mma.{}k{}{}", shape, x.kind.terms(),
                                             name.substr(std::string("tcgen05.mma").size()));
      INFO(x.name << ", " << shaped);
      const Result<Instruction> i = Instruction::parse(shaped, Target::find("B200").value());
      REQUIRE((i ? "" : i.error().message()) == "");
      const Result<Element> element = execute_element(*i, {x.in.a, x.in.b, x.in.c, x.in.scale_a, x.in.scale_b});
      REQUIRE((element ? "" : element.error().message()) == "");
      CHECK(element->code == x.word);
      ++asked;
    }
  }
  CHECK(asked >= 160);
}

// Registers of 64 and of 256 lanes, by whatever executes them, against gemm.
TEST_CASE("products by types of every M execute as gemm does", "[quick][isa][once]") {
  for (const char* form : {"m64n24k32.f32.e4m3", "m256n32k32.f32.e4m3", "m64n8k16.f32.f16",
                           "m256n16k8.f32.tf32", "m64n8k32.s32.s8"}) {
    INFO(form);
    const Instruction i = Instruction::parse(fmt::format("tcgen05.{}", form), "B200").value();
    const std::vector<Computation> both = {
        {i},
        {Instruction::parse(fmt::format("tcgen05{}", std::string(form).substr(std::string(form).find('.'))),
                            "B200")
             .value()}};
    const Result<Comparison> c = compare_generated(both, {1, inputs::Profile::mixed}, 2);
    REQUIRE((c ? "" : c.error().message()) == "");
    CHECK(c->elements == 2 * static_cast<std::uint64_t>(i.rows()) * static_cast<std::uint64_t>(i.columns()));
    CHECK(c->results[1].differing == 0);
  }
}

// The same elements in a product of matrices, each in its place.
TEST_CASE("gemm by types gives the elements that a B200 returned", "[quick][gemm]") {
  std::size_t asked = 0;
  for (const tensor_words::Published& x : tensor_words::published()) {
    if (x.kind.sparse || !x.kind.scale.empty() || (x.kind.d != "f32" && x.kind.d != "s32")) continue;
    INFO(x.name << ", " << name_of(x.kind));
    const Instruction i = Instruction::parse(name_of(x.kind), Target::find("B200").value()).value();
    const auto items = [](const std::string& format, const std::vector<std::uint64_t>& codes) {
      const std::size_t bytes = format == "tf32" ? 4 : format == "f16" || format == "bf16" ? 2 : 1;
      std::vector<std::byte> out;
      for (const std::uint64_t code : codes)
        for (std::size_t n = 0; n < bytes; ++n) out.push_back(std::byte(code >> 8 * n));
      return out;
    };
    const std::vector<std::byte> a = items(x.kind.a, x.in.a), b = items(x.kind.b, x.in.b);
    const auto c = static_cast<std::uint32_t>(x.in.c);
    std::uint32_t d = 0;
    Gemm problem{1, 1, x.in.a.size(), {a.data(), 1, 1}, {b.data(), 1, 1}, {&c, 1, 1}, {&d, 1, 1}};
    problem.a.row_stride = static_cast<std::ptrdiff_t>(x.in.a.size());
    const Result<Execution> done = gemm(i, problem);
    REQUIRE((done ? "" : done.error().message()) == "");
    CHECK(d == x.word);
    ++asked;
  }
  CHECK(asked >= 20);
}

// ---- Commands

const std::string kFp8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32";

// The command that an answer names, in lines of the shell, without "warpbit".
std::vector<std::string> named_command(const Output& answer) {
  std::string command;
  for (const std::string& line : answer.lines()) {
    if (command.empty() ? !line.starts_with("  warpbit ") : !command.ends_with("\\")) continue;
    if (command.ends_with("\\")) command.pop_back();
    command += line;
  }
  std::vector<std::string> out;
  std::istringstream in(command);
  for (std::string word; in >> word;) {
    if (word.size() > 1 && word.front() == '\'') word = word.substr(1, word.size() - 2);
    out.push_back(word);
  }
  INFO(answer.out);
  REQUIRE(out.size() > 1);
  out.erase(out.begin());
  return out;
}

TEST_CASE("the note on FP8 of Blackwell is followed by a command that works", "[quick][cli]") {
  const Output explained = run({"explain", kFp8, "--target", "B200", "--a", "1", "--b", "2"});
  CHECK_THAT(explained.out, Contains("note: FP8 GEMMs on this GPU use tcgen05.mma"));
  const std::vector<std::string> again = named_command(explained);
  CHECK(again[1] == "tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3@sm_100a");
  const Output answer = run(again);
  CHECK(answer.status == 0);
  CHECK_THAT(answer.out, Contains("fused L 32, F 25") && Contains("inferred"));

  const Output compared =
      run({"compare", kFp8 + "@B200", kFp8 + "@H100", "--random", "ordinary", "--cases", "2"});
  const Output both = run(named_command(compared));
  CHECK(both.err == "");
  CHECK_THAT(both.out, Contains("differs from") && Contains("fused L 32, F 25"));
  CHECK_THAT(both.out, !Contains("  warpbit compare"));
}

TEST_CASE("commands on products by types", "[quick][cli]") {
  const Directory directory;
  const auto put = [&](const char* name, const char* text) { return write(directory.path / name, text); };
  const std::string a = put("a.csv", "1 2\n3 4\n"), d = put("d.csv", "7 10\n15 22\n");
  CHECK(run({"run", "tcgen05.f32.e4m3@B200", "--a", a, "--b", a}).out == "7,10\n15,22\n");
  CHECK_THAT(run({"run", "tcgen05.f32.e4m3@B200", "--a", a, "--b", a, "--json"}).out,
             Contains("\"inferred\": true"));
  const Output scaled = run({"run", "nvfp4@B200", "--a", a, "--b", a, "--a-scale", put("sa.csv", "2\n1\n"),
                             "--b-scale", put("sb.csv", "1 0.5\n")});
  CHECK(scaled.out == "14,10\n15,11\n");
  const Output compared = run({"compare", "wgmma.m64n8k32.f32.e4m3@H100", "tcgen05.f32.e4m3@B200", "--random",
                               "ordinary", "--cases", "4"});
  CHECK(compared.err == "");
  CHECK_THAT(compared.out, Contains("F 13") && Contains("F 25"));
  const Output order = run({"order", a, a, d, "--form", "tcgen05.f32.e4m3@B200"});
  CHECK_THAT(order.out, Contains("tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3: ascending"));
  CHECK_THAT(run({"order", a, a, d, "--target", "B200", "--types", "e4m3"}).out,
             Contains("tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3: ascending"));
  const Output diagnosed =
      run({"diagnose", "tcgen05.f32.e4m3@B200", "--a", a, "--b", a, "--d", put("t.csv", "7 15\n10 22\n")});
  CHECK(diagnosed.err == "");
  CHECK_THAT(diagnosed.out, Contains("rows and columns of D are exchanged"));
}

TEST_CASE("a tcgen05.mma without its types is told how its product is named", "[quick][cli]") {
  const std::string form = "tcgen05.mma.cta_group::1.kind::f8f6f4@B200";
  const Directory directory;
  const std::string a = write(directory.path / "a.csv", "1 2\n3 4\n");
  const std::vector<std::vector<std::string>> commands = {
      {"run", form, "--a", a, "--b", a},
      {"explain", form, "--a", "1", "--b", "1"},
      {"compare", "wgmma.m64n8k32.f32.e4m3@H100", form, "--random", "ordinary"},
      {"order", a, a, a, "--form", form}};
  for (const std::vector<std::string>& command : commands) {
    const Output answer = run(command);
    CHECK(answer.status == 2);
    CHECK_THAT(answer.err, Contains("its types are in an instruction descriptor") &&
                               Contains("tcgen05.mma.kind::f8f6f4.f32."));
  }
}

}  // namespace typed_products_test
