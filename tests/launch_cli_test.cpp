// SPDX-License-Identifier: Apache-2.0
// The command-line tool on modules of PTX: launch, check --ptx.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "on_terminal.hpp"
#include "small_kernels.hpp"

namespace launch_cli_test {

using namespace tool;
using archive::dictionary;
using archive::npy;
using Catch::Contains;
namespace fs = std::filesystem;

template <class T>
std::string data_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}
std::string floats(const std::vector<float>& numbers) {
  return npy(dictionary("'<f4'", fmt::format("({},)", numbers.size())), data_of(numbers));
}

// The data of a .npy file, behind its header of 128 bytes or less.
std::string data_in(const fs::path& path) {
  const std::string all = archive::bytes_of(path);
  REQUIRE(all.size() > 10);
  const auto header = static_cast<unsigned char>(all[8]) + 256U * static_cast<unsigned char>(all[9]);
  return all.substr(10 + header);
}

struct Place {
  explicit Place(const char* text = small_kernels::kText) : ptx(write(directory.path / "small.ptx", text)) {}

  Directory directory;
  std::string ptx;

  std::string file(const std::string& name) const { return (directory.path / name).string(); }
  Output launch(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"launch", ptx});
    return run(arguments);
  }
};

TEST_CASE("launch reads arrays and writes them", "[quick][cli]") {
  const Place place;
  const std::string x = write(place.file("x.npy"), floats({0, 1, 2, 3})),
                    y = write(place.file("y.npy"), floats({1, 1, 1, 1}));
  const std::string before = archive::bytes_of(y);
  const Output done =
      place.launch({"--entry", "saxpy", "--grid", "2,1", "--block", "2", "--arg",
                    y + ":" + place.file("out.npy"), "--arg", x, "--arg", "f32:0x1.8p0", "--arg", "i32:4"});
  CHECK(done.err == "");
  REQUIRE(done.status == 0);
  const std::vector<std::string> lines = done.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[3] == "checked 0 shared and 12 global accesses: nothing found");
  CHECK_THAT(lines[0], Catch::Matches("saxpy on sm_90a: 2 blocks, [0-9]+ steps"));
  CHECK(lines[1] == "assembled: contract at line 27");
  CHECK(lines[2] == place.file("out.npy") + ": float32 of shape (4,)");
  CHECK(data_in(place.file("out.npy")) == data_of(std::vector<float>{1, 2.5F, 4, 5.5F}));
  CHECK(archive::bytes_of(y) == before);
  // In place, and a new array.
  REQUIRE(place
              .launch({"--entry", "saxpy", "--block", "4", "--arg", y + ":" + y, "--arg", x, "--arg", "f32:2",
                       "--arg", "u32:0x3"})
              .status == 0);
  CHECK(data_in(y) == data_of(std::vector<float>{1, 3, 5, 1}));
  const std::string zeros = "zeros:f32:2x2:" + place.file("z.npy");
  REQUIRE(place
              .launch({"--entry", "saxpy", "--block", "4", "--arg", zeros, "--arg", x, "--arg", "f32:1/2",
                       "--arg", "b32:4"})
              .status == 0);
  CHECK_THAT(archive::bytes_of(place.file("z.npy")), Contains("'<f4'") && Contains("(2, 2)"));
  CHECK(data_in(place.file("z.npy")) == data_of(std::vector<float>{0, 0.5F, 1, 1.5F}));
}

// (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24; the product alone, rounded to 24 bits, loses 2^-24.
TEST_CASE("launch fuses products and sums, or not", "[quick][cli]") {
  const Place place;
  const float a = 1 + 0x1p-12F;
  const std::string x = write(place.file("x.npy"), floats({a})), y = write(place.file("y.npy"), floats({-1}));
  std::vector<std::string> arguments{
      "--entry", "saxpy",         "--json", "--arg", y + ":" + place.file("z.npy"), "--arg", x,
      "--arg",   "f32:0x1.001p0", "--arg",  "i32:1"};
  Output done = place.launch(arguments);
  REQUIRE(done.status == 0);
  CHECK(data_in(place.file("z.npy")) == data_of(std::vector<float>{0x1p-11F + 0x1p-24F}));
  nlohmann::json answer = nlohmann::json::parse(done.out);
  CHECK(answer["contracted"] == true);
  CHECK(answer["kernel"] == "saxpy");
  CHECK(answer["target"] == "sm_90a");
  CHECK(answer["blocks"] == 1);
  CHECK(answer["fault"] == nullptr);
  CHECK(answer["written"] == nlohmann::json{place.file("z.npy")});
  arguments.emplace_back("--no-contract");
  done = place.launch(arguments);
  CHECK(nlohmann::json::parse(done.out)["contracted"] == false);
  CHECK(data_in(place.file("z.npy")) == data_of(std::vector<float>{0x1p-11F}));
}

TEST_CASE("launch says where rules of the assembler have acted", "[quick][cli]") {
  const Place place;
  const float a = 1 + 0x1p-12F;
  const std::string x = write(place.file("x.npy"), floats({a})), y = write(place.file("y.npy"), floats({-1}));
  const auto launch = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--entry", "saxpy", "--arg", y + ":" + place.file("z.npy"), "--arg", x, "--arg",
                               "f32:0x1.001p0", "--arg", "i32:1"});
    return place.launch(more);
  };
  const nlohmann::json answer = nlohmann::json::parse(launch({"--json"}).out);
  REQUIRE(answer["assembled"].size() == 1);
  CHECK(answer["assembled"][0]["rule"] == "contract");
  CHECK(answer["assembled"][0]["ptx_line"] == 27);
  CHECK(answer["assembled"][0]["statement"] == "add.f32 %f5, %f4, %f3");
  using Words = std::vector<std::string>;
  for (const Words& more : {Words{"--as-written"}, Words{"--without", "fold", "--without", "contract"}}) {
    const Output done = launch(more);
    CHECK(done.lines().size() == 3);
    CHECK(data_in(place.file("z.npy")) == data_of(std::vector<float>{0x1p-11F}));
  }
  const Output refused = launch({"--without", "contraction"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("--without") && Contains("contraction") && Contains("quotient"));
}

// Sums in the lines 12, 14, ..., 30 are fused, and the quotient by 3 is a product.
TEST_CASE("many lines of a rule are counted", "[quick][cli]") {
  std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .f32 %f<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.global.f32 %f1, [%rd1];
  div.full.f32 %f2, %f1, 0f40400000;
)";
  for (int i = 0; i < 10; ++i) text += "  mul.f32 %f3, %f1, %f1;\n  add.f32 %f2, %f2, %f3;\n";
  text += "  st.global.f32 [%rd1], %f2;\n  ret;\n}\n";
  const Place place(text.c_str());
  const std::vector<std::string> lines = place.launch({"--arg", "zeros:f32:1"}).lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] ==
        "assembled: divide at line 10; contract at lines 12, 14, 16, 18, 20, 22, 24, 26 and 2 more");
}

TEST_CASE("after a fault nothing is written", "[quick][cli]") {
  const Place place;
  const std::string x = write(place.file("x.npy"), floats({1, 2, 3, 4}));
  std::vector<std::string> arguments{
      "--entry", "saxpy", "--block", "8",     "--arg", "zeros:f32:8:" + place.file("out.npy"),
      "--arg",   x,       "--arg",   "f32:1", "--arg", "i32:8"};
  const Output done = place.launch(arguments);
  CHECK(done.status == 1);
  CHECK(done.err == "");
  CHECK_THAT(done.out,
             Catch::StartsWith("ld.global.f32 %f2, [%rd5]: 4 bytes at ") &&
                 Contains("(bytes 16 to 19 of the array of 'x', which has 16 bytes) are out of bounds") &&
                 Contains("block (0, 0, 0)\n") && Contains("warp 0, lane 4"));
  CHECK_FALSE(fs::exists(place.file("out.npy")));
  arguments.emplace_back("--json");
  const nlohmann::json answer = nlohmann::json::parse(place.launch(arguments).out);
  CHECK(answer["fault"]["code"] == "address_out_of_bounds");
  CHECK_THAT(done.out, Catch::StartsWith(answer["fault"]["message"].get<std::string>() + "\nchecked ") &&
                           Catch::EndsWith(" global accesses: a fault\n"));
  CHECK(answer["fault"]["block"] == nlohmann::json{0, 0, 0});
  CHECK(answer["fault"]["at"]["lanes"] == nlohmann::json{4});
  CHECK(answer["fault"]["at"]["ptx_line"] == 24);
  CHECK(answer["written"] == nlohmann::json::array());
  CHECK_FALSE(fs::exists(place.file("out.npy")));
  const Output endless = place.launch({"--entry", "forever", "--arg", "zeros:u32:1", "--step-limit", "100"});
  CHECK(endless.status == 1);
}

TEST_CASE("launch prints what the kernel prints", "[quick][cli]") {
  const Place place;
  const Output done = place.launch({"--entry", "say", "--grid", "2", "--arg", "i32:-7", "--threads", "1"});
  REQUIRE(done.status == 0);
  CHECK_THAT(done.out, Catch::StartsWith("-7\n-7\nsay on sm_90a: 2 blocks, "));
  const Output json = place.launch({"--entry", "say", "--arg", "s32:12", "--json"});
  CHECK(nlohmann::json::parse(json.out)["printed"] == "12\n");
}

TEST_CASE("launch says what a kernel leaves open", "[quick][cli]") {
  const Place place;
  const std::string text = small_kernels::kText;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("ld.volatile")), '\n');
  std::vector<std::string> arguments{"--entry", "forever", "--block",
                                     "2",       "--arg",   write(place.file("p.npy"), floats({1}))};
  CHECK_THAT(place.launch(arguments).out,
             Catch::Matches(fmt::format(
                 "forever on sm_90a: 1 block, [0-9]+ steps, order-dependent: line {} ld.volatile.global.u32 "
                 "\\(the value depends on when other threads write it\\)\nchecked .*\n",
                 line)));
  arguments.emplace_back("--json");
  const nlohmann::json answer = nlohmann::json::parse(place.launch(arguments).out);
  REQUIRE(answer["order_dependent"].size() == 1);
  CHECK(answer["order_dependent"][0] ==
        nlohmann::json{{"ptx_line", line},
                       {"instruction", "ld.volatile.global.u32"},
                       {"why", "the value depends on when other threads write it"},
                       {"file", ""},
                       {"line", 0}});
  arguments[3] = "1";  // there are no other threads
  CHECK(nlohmann::json::parse(place.launch(arguments).out)["order_dependent"] == nlohmann::json::array());
}

TEST_CASE("a report says what is inferred, and from what", "[quick][cli]") {
  std::string text = small_kernels::kText;
  text.replace(text.find("sm_90a"), 6, "sm_90");
  const Place place(text.c_str());
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("mul.f32")), '\n');
  std::vector<std::string> arguments{"--entry",       "saxpy",    "--arg",  "zeros:f32:4", "--arg",
                                     "zeros:f32:4",   "--arg",    "f32:1",  "--arg",       "i32:1",
                                     "--no-contract", "--target", "sm_120a"};
  CHECK_THAT(place.launch(arguments).out,
             Catch::Matches(fmt::format("saxpy on sm_120a: 1 block, [0-9]+ steps, inferred: line {} mul.f32 "
                                        "\\(the bits of a NaN; as an H100\\) and 1 more\nchecked .*\n",
                                        line)));
  arguments.emplace_back("--json");
  const nlohmann::json answer = nlohmann::json::parse(place.launch(arguments).out);
  CHECK(answer["inferred"] == true);
  REQUIRE(answer["inferences"].size() == 2);
  CHECK(answer["inferences"][0] == nlohmann::json{{"ptx_line", line},
                                                  {"instruction", "mul.f32"},
                                                  {"open", "the bits of a NaN"},
                                                  {"from", "an H100"},
                                                  {"file", ""},
                                                  {"line", 0}});
  arguments[12] = "H100";
  const nlohmann::json recorded = nlohmann::json::parse(place.launch(arguments).out);
  CHECK(recorded["inferred"] == false);
  CHECK(recorded["inferences"] == nlohmann::json::array());
}

TEST_CASE("a terminal shows how many blocks have ended", "[quick][cli]") {
  const Place place;
  const auto launch = [&](const std::string& more) {
    return on_terminal(100, shell_words({named("WARPBIT_CLI"), "launch", place.ptx, "--entry", "say", "--grid",
                                         "4", "--arg", "i32:1"}) +
                                more);
  };
  const Output shown = launch("");
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, Contains("[##########..............................] 1/4"));
  CHECK_THAT(seen(shown.out), Catch::StartsWith("1\n1\n1\n1\nsay on sm_90a: 4 blocks, "));
  CHECK_THAT(launch(" | cat").out, !Contains("1/4"));
}

TEST_CASE("a structure is bytes", "[quick][cli]") {
  const Place place;
  CHECK(place.launch({"--entry", "by_value", "--arg", "bytes:00112233445566778899aabbccddeeff"}).status ==
        1);  // nothing is there
  const Output wrong = place.launch({"--entry", "by_value", "--arg", "bytes:0011"});
  CHECK(wrong.status == 2);
  CHECK(wrong.err == "warpbit: argument 'p': 2 bytes; expected 16 bytes (.b8)\n");
}

TEST_CASE("launch forms clusters", "[quick][cli]") {
  const Place place(small_kernels::kHopper);
  const auto after = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--entry", "neighbours", "--grid", "4", "--arg", "zeros:u32:4:" + place.file("to.npy")});
    const Output done = place.launch(more);
    CHECK(done.err == "");
    CHECK(done.status == 0);
    return data_in(place.file("to.npy"));
  };
  using Words = std::vector<std::uint32_t>;
  CHECK(after({}) == data_of(Words{0, 1, 2, 3}));
  CHECK(after({"--cluster", "2"}) == data_of(Words{1, 0, 3, 2}));
  CHECK(after({"--cluster", "4,1,1"}) == data_of(Words{1, 2, 3, 0}));
  for (const auto& [cluster, words] :
       {std::pair{"3", "expected"}, {"2,", "--cluster: '2,'; expected one to three numbers from 1 on"}}) {
    const Output wrong =
        place.launch({"--entry", "neighbours", "--grid", "4", "--cluster", cluster, "--arg", "zeros:u32:4"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.err, Contains(words) && Contains("cluster"));
  }
}

TEST_CASE("launch lets clusters take others by a schedule", "[quick][cli]") {
  const Place place(small_kernels::kBlackwell);
  const auto said = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"--grid", "5", "--arg", "zeros:u32:5:" + place.file("to.npy")});
    const Output done = place.launch(options);
    CHECK(done.err == "");
    CHECK(done.status == 0);
    return done.out;
  };
  CHECK_THAT(said({}), Contains("taking on sm_100: 2 blocks (and 3 cancelled), ") &&
                           Contains("(which clusters are taken, and by whom, is left to the GPU)"));
  CHECK(data_in(place.file("to.npy")) == data_of(std::vector<std::uint32_t>{0, 1, 0, 1, 0}));
  CHECK_THAT(said({"--cancel", "first_come"}), Contains("2 blocks (and 3 cancelled), "));
  CHECK_THAT(said({"--cancel", "never"}), Contains("taking on sm_100: 5 blocks, "));
  CHECK_THAT(said({"--cancel", "always"}), Contains("1 block (and 4 cancelled), "));
  CHECK(nlohmann::json::parse(said({"--cancel", "always", "--json"})).at("cancelled") == 4);
  CHECK(said({"--cancel", "random", "--cancel-seed", "3"}) ==
        said({"--cancel-seed", "3", "--cancel", "random"}));
  const Output refused = place.launch({"--cancel", "sometimes"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("first_come"));
}

TEST_CASE("a lenient launch shows all that it finds", "[quick][cli]") {
  const Place place(small_kernels::kHopper);
  std::vector<std::string> arguments{"--entry",   "racing", "--grid", "2",
                                     "--block",   "64",     "--arg",  "zeros:u32:1:" + place.file("to.npy"),
                                     "--threads", "1"};
  const Output fault = place.launch(arguments);
  CHECK(fault.status == 1);
  CHECK_FALSE(fs::exists(place.file("to.npy")));
  arguments.emplace_back("--lenient");
  const Output done = place.launch(arguments);
  CHECK(done.err == "");
  CHECK(done.status == 1);
  const std::size_t grade = fault.out.find("  fault of the rule data_race\nchecked ");
  REQUIRE(grade != fault.out.npos);
  CHECK_THAT(done.out,
             Catch::StartsWith(fault.out.substr(0, grade) +
                               "  finding of the rule data_race\n  and 1 more like it: warp 1, lane 0, in 2 "
                               "blocks\nracing on sm_90a: 2 blocks, ") &&
                 Catch::EndsWith(": 1 finding\n"));
  CHECK_THAT(done.out, Contains(" steps, 1 finding\n"));
  CHECK(data_in(place.file("to.npy")) == data_of(std::vector<std::uint32_t>{7}));
  arguments.emplace_back("--json");
  const nlohmann::json answer = nlohmann::json::parse(place.launch(arguments).out);
  CHECK(answer["fault"] == nullptr);
  REQUIRE(answer["findings"].size() == 1);
  CHECK(answer["findings"][0]["times"] == 2);
  CHECK(answer["findings"][0]["blocks"] == 2);
  CHECK(answer["findings"][0]["cause"] == nullptr);
  CHECK(answer["checked"]["not_looked_for"] == nlohmann::json::array());
  CHECK(answer["findings"][0]["fault"]["code"] == "data_race");
  CHECK_THAT(done.out, Catch::StartsWith(answer["findings"][0]["fault"]["message"].get<std::string>() + "\n"));
  CHECK(answer["findings"][0]["fault"]["block"] == nlohmann::json{0, 0, 0});
  CHECK(answer["written"] == nlohmann::json{place.file("to.npy")});
}

// An array of 6 x 8, of which the box at (4, 3) has three rows.
TEST_CASE("an argument may be a tensor map", "[quick][cli]") {
  const Place place(small_kernels::kHopper);
  std::vector<std::uint32_t> image(48), tile(16);
  for (std::uint32_t i = 0; i < 48; ++i) image[i] = 100 + i;
  for (std::uint32_t row = 0; row < 3; ++row)
    for (std::uint32_t column = 0; column < 4; ++column)
      tile[4 * row + column] = 100 + 8 * (row + 3) + column + 4;
  const std::string file = write(place.file("image.npy"), npy(dictionary("'<u4'", "(6, 8)"), data_of(image)));
  const auto launch = [&](const std::string& map) {
    return place.launch({"--entry", "box", "--arg", map, "--arg", "u32:4", "--arg", "u32:3", "--arg",
                         "zeros:u32:4x4:" + place.file("tile.npy")});
  };
  for (const char* const members : {"", "elemtype=s32:", "element_stride=1x1:l2_promotion=bytes_256:"}) {
    const Output done = launch(fmt::format("tensor_map:4x4:{}{}", members, file));
    CHECK(done.err == "");
    REQUIRE(done.status == 0);
    CHECK(data_in(place.file("tile.npy")) == data_of(tile));
  }
  const Output filled = launch("tensor_map:4x4:fill_mode=nan:zeros:f32:6x8");
  CHECK(filled.err == "");
  CHECK(data_in(place.file("tile.npy")).substr(48, 4) == data_of(std::vector<std::uint32_t>{0x7FF7'7FF7}));
  const auto bad = [&](const std::string& map, const std::string& words) {
    const Output done = launch(map);
    INFO(done.err);
    CHECK(done.status == 2);
    CHECK_THAT(done.err, Contains(words));
  };
  bad("tensor_map:4x4", "''; expected an array, or MEMBER=VALUE with one of elemtype, element_stride");
  bad("tensor_map:4x4:swizzle=none:zeros:f32:6x8",
      "tensor_map has no member swizzle; expected elemtype, element_stride, swizzle_mode, ");
  bad("tensor_map:4:zeros:f32:6x8",
      "box '4'; expected 2 numbers as in 64x16, in the order of the array's shape");
  bad("tensor_map:4x4x4:zeros:f32:6x8", "box '4x4x4'; expected 2 numbers");
  bad("tensor_map:4x4:swizzle_mode=bytes_16:zeros:f32:6x8",
      "swizzle_mode 'bytes_16'; expected one of none, bytes_32, bytes_64, bytes_128");
  bad("tensor_map:4x4:elemtype=f16:zeros:f32:6x8",
      "elemtype f16 for an array of float32; expected a type of 4 bytes");
  bad("tensor_map:4x4:elemtype=f15:zeros:f32:6x8", "elemtype 'f15'; expected one of u8, u16");
  bad("tensor_map:4x16:zeros:i8:6x16",
      "an array of i8; expected elemtype=TYPE before it, with a type of 1 bytes");
  bad("tensor_map:4x5:zeros:f32:6x8", "box_dim[0]");
  bad("tensor_map:1x1x1x1x1x1:zeros:f32:1x1x1x1x1x1", "expected one to five dimensions");
}

// A thread stores 10 more than its number to the second row.
TEST_CASE("an argument may be a surface, which is written to its file", "[quick][cli]") {
  const Place place(R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 surface)
{
  .reg .u64 %h;
  .reg .b32 %x, %v;
  ld.param.u64 %h, [surface];
  mov.u32 %x, %tid.x;
  add.u32 %v, %x, 10;
  sust.p.2d.b32.trap [%h, {%x, 1}], %v;
  ret;
}
)");
  const std::string from =
                        write(place.file("a.npy"), npy(dictionary("'|u1'", "(2, 4)"), std::string("abcdefgh"))),
                    to = place.file("to.npy");
  const auto launch = [&](const std::string& surface, const char* threads) {
    return place.launch({"--block", threads, "--arg", surface});
  };
  const Output done = launch(fmt::format("surface:2d:{}:{}", from, to), "4");
  CHECK(done.err == "");
  CHECK(done.status == 0);
  CHECK(data_in(to) == "abcd\x0A\x0B\x0C\x0D");
  CHECK(data_in(from) == "abcdefgh");
  const Output beyond = launch("surface:2d:" + from, "5");
  CHECK(beyond.status == 1);
  CHECK_THAT(beyond.out, Contains("coordinates x 4, y 1 of a 2D surface of 4 x 2 texels are out of bounds"));
  const auto bad = [&](const std::string& surface, const std::string& words) {
    const Output refused = launch(surface, "1");
    CHECK(refused.status == 2);
    CHECK(refused.err == fmt::format("warpbit: --arg {}: {}\n", surface, words));
  };
  bad("surface:2d", "'2d'; expected 1d, 2d, 3d, a1d or a2d, and an array");
  bad("surface:4d:zeros:u8:2x4", "'4d'; expected 1d, 2d, 3d, a1d or a2d, and an array");
  bad("surface:cube:zeros:u8:6x2x2", "shape: cube; expected 1d, 2d, 3d, a1d or a2d of a surface");
  bad("surface:2d:uninit:u8:2x4",
      "'uninit:u8:2x4'; expected IN.npy, IN.npy:OUT.npy or zeros:TYPE:SHAPE[:OUT.npy]");
  bad("surface:2d:zeros:f64:2x4", "an array of float64; expected integers of 8 to 32 bits, f16 or f32");
}

// A thread reads a texture by its name at (x, 0), and stores the texel's first word to a surface of a name.
TEST_CASE("variables that stand for textures, samplers and surfaces are bound by name", "[quick][cli]") {
  const Place place(R"(.version 9.0
.target sm_90, texmode_independent
.address_size 64
.global .texref tex;
.global .samplerref how;
.global .surfref to;
.visible .entry k()
{
  .reg .b32 %x, %r<4>;
  .reg .f32 %f;
  mov.u32 %x, %tid.x;
  cvt.rn.f32.u32 %f, %x;
  tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [tex, how, {%f, 0f00000000}];
  sust.p.2d.b32.trap [to, {%x, 0}], %r0;
  ret;
}
)");
  const std::string from = write(place.file("a.npy"), npy(dictionary("'|u1'", "(1, 4)"), std::string("abcd"))),
                    to = place.file("to.npy");
  const std::string tex = "tex=texture:2d:" + from, out = "to=surface:2d:zeros:u8:1x6:" + to;
  const auto launch = [&](const std::vector<std::string>& bound) {
    std::vector<std::string> arguments = {"--block", "6"};
    for (const std::string& one : bound) arguments.insert(arguments.end(), {"--bind", one});
    return place.launch(arguments);
  };
  const Output clamped = launch({tex, "how=sampler:nearest", out});
  CHECK(clamped.err == "");
  CHECK(clamped.status == 0);
  CHECK(data_in(to) == "abcddd");
  CHECK(launch({tex, "how=sampler:border:border=0", out}).status == 0);
  CHECK(data_in(to) == std::string("abcd\0\0", 6));
  const auto refused = [&](const std::vector<std::string>& bound, const std::string& words) {
    const Output done = launch(bound);
    CHECK(done.status == 2);
    CHECK_THAT(done.err, Contains(words));
  };
  refused(
      {"how=sampler:nearest", out},
      "the .texref 'tex': no texture is bound to it; expected one, by its name, before the launch: Module::bind, "
      "RawModule.bind, --bind tex=texture:SHAPE:ARRAY");
  refused({"text=texture:2d:" + from},
          "bind: 'text'; expected a .texref, .samplerref or .surfref of the module: tex, how, to");
  refused({"tex=sampler:linear"}, "is no texture but a sampler; expected what ptx::texture has returned");
  refused({"how=sampler:filtered"},
          "--bind how=sampler:filtered: 'filtered'; expected nearest, linear, unnormalized, wrap, clamp");
  for (const char* const none : {"tex", "tex=", "tex=u64:1", "tex=zeros:u8:4"})
    refused({none}, "expected NAME=texture:SHAPE:ARRAY, NAME=surface:SHAPE:ARRAY or NAME=sampler:WORD");
}

TEST_CASE("launch refuses what is none", "[quick][cli]") {
  const Place place;
  const auto refused = [&](std::vector<std::string> arguments, const std::string& words) {
    arguments.insert(arguments.begin(), {"--entry", "say"});
    const Output done = place.launch(arguments);
    INFO(done.err);
    CHECK(done.status == 2);
    CHECK(done.out == "");
    CHECK_THAT(done.err, Contains(words));
  };
  const auto bad = [&](const std::string& argument, const std::string& words) {
    refused({"--arg", argument}, words);
  };
  bad("f32:x", "'x'; expected a decimal number");
  bad("i32:4294967296", "'4294967296'; expected an integer that i32 holds");
  bad("s32:2147483648", "'2147483648'; expected an integer that s32 holds");
  bad("i32:-2147483649", "an integer that i32 holds");
  bad("u8:-1", "'-1'; expected an integer that u8 holds");
  bad("u8:0x", "'0x'; expected an integer that u8 holds");
  bad("i64:", "''; expected an integer that i64 holds");
  bad("foo", "--arg: 'foo'; expected null; IN.npy");
  bad("q32:1", "type 'q32'; expected one of i8 to i64");
  bad("e2m1:1", "type 'e2m1'; expected");
  bad("zeros:f32", "no shape; expected");
  bad("zeros:f32:4x", "shape '4x'; expected");
  bad("zeros:f32:1099511627776", "shape '1099511627776'; expected");
  bad("zeros:f32:4:c.txt", "'c.txt'; expected a name that ends in .npy");
  bad("bytes:1", "'1'; expected two hexadecimal digits");
  bad("bytes:zz", "'zz'; expected two hexadecimal digits");
  bad(place.file("none.npy"), "none.npy: cannot be read");
  bad(write(place.file("bad.npy"), "no array"), "bad.npy");
  bad("texture:2d:linear:normalised:" + place.file("none.npy"),
      "'normalised'; expected an array, or before it linear, normalized, floats");
  bad("u64:1", "argument 'n': 8 bytes; expected 4 bytes (.u32)");
  bad("null", "argument 'n': 8 bytes; expected 4 bytes (.u32)");
  refused({}, "say: 0 arguments; expected 1: n (4 bytes, .u32)");
  refused({"--arg", "i32:1", "--grid", "0"}, "--grid: '0'; expected one to three numbers from 1 on");
  refused({"--arg", "i32:1", "--grid", "1,2,3,4"}, "--grid: '1,2,3,4'");
  refused({"--arg", "i32:1", "--block", "1,"}, "--block: '1,'");
  refused({"--arg", "i32:1", "--block", "1025"}, "a block of 1025 x 1 x 1 threads");
  refused({"--arg", "i32:1", "--target", "sm_80"}, "PTX for sm_90a does not exist on sm_80");
  const Output two = run({"launch", place.ptx});
  CHECK(two.status == 2);
  CHECK(
      two.err ==
      "warpbit: launch: no --entry for a module with 5 kernels; expected saxpy, astray, by_value, forever, say\n");
  CHECK(run({"launch", place.ptx, "--entry", "sa"}).err ==
        "warpbit: there is no kernel 'sa'; the module has saxpy, astray, by_value, forever, say\n");
  CHECK(run({"launch", place.file("none.ptx")}).status == 2);
}

TEST_CASE("an array that cannot be written", "[quick][cli]") {
  const Place place;
  const Output done = place.launch({"--entry", "forever", "--arg",
                                    write(place.file("p.npy"), floats({1})) + ":" + place.file("no/out.npy")});
  CHECK(done.status == 2);
  CHECK_THAT(done.err, Contains("no/out.npy: cannot be written"));
}

// What ptxas gets wrong is no refusal.
TEST_CASE("check and launch name defects of ptxas", "[quick][cli]") {
  const Place place(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.global.u32 %r1, [%rd1];
  bfe.s32 %r2, %r1, 40, 3;
  st.global.u32 [%rd1], %r2;
  ret;
}
)");
  const std::string note =
      "note: line 9: bfe.s32 %r2, %r1, 40, 3: ptxas (13.0) makes it ones; by the PTX manual all bits are the sign "
      "(defect bfe-position)\n";
  const Output checked = run({"check", "--ptx", place.ptx});
  CHECK(checked.status == 0);
  CHECK(checked.out == "accepted on sm_90a: k\n" + note);
  const nlohmann::json of_check = nlohmann::json::parse(run({"check", "--ptx", place.ptx, "--json"}).out);
  CHECK(of_check["accepted"] == true);
  REQUIRE(of_check["notes"].size() == 1);
  CHECK(of_check["notes"][0]["defect"] == "bfe-position");
  CHECK(of_check["notes"][0]["ptx_line"] == 9);
  CHECK_THAT(place.launch({"--arg", "zeros:u32:1"}).out, Contains(note));
  CHECK_THAT(place.launch({"--arg", "zeros:u32:1", "--as-written"}).out, !Contains("note:"));
  const nlohmann::json report = nlohmann::json::parse(place.launch({"--arg", "zeros:u32:1", "--json"}).out);
  CHECK(report["notes"] == of_check["notes"]);
}

TEST_CASE("check reads a module", "[quick][cli]") {
  const Place place;
  const Output good = run({"check", "--ptx", place.ptx});
  CHECK(good.status == 0);
  CHECK(good.out == "accepted on sm_90a: saxpy, astray, by_value, forever, say\n");
  CHECK(run({"check", "--ptx", place.ptx, "--target", "sm_90a"}).out == good.out);
  std::string text = small_kernels::kText;
  const std::string right[] = {"mul.f32", "setp.eq.s32"}, wrong[] = {"mul.f33", "setp.qe.s32"};
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t at = text.find(right[i]);
    REQUIRE(at != text.npos);
    text.replace(at, right[i].size(), wrong[i]);
    lines.push_back(1 + static_cast<std::size_t>(
                            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')));
  }
  const Output bad = run({"check", "--ptx", write(place.file("bad.ptx"), text)});
  CHECK(bad.status == 1);
  REQUIRE(bad.lines().size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK_THAT(bad.lines()[i], Catch::StartsWith(fmt::format("refused: line {}, column 3", lines[i])));
  const Output none = run({"check", "--ptx", write(place.file("kernel.cu"), "__global__ void f() {}")});
  CHECK(none.status == 1);
  CHECK_THAT(none.out, Catch::StartsWith("refused: line 1, column 1: "));
  CHECK(run({"check", "--ptx", place.ptx, "--target", "sm_80"}).status == 1);
  CHECK(run({"check", "--ptx", place.file("none.ptx")}).status == 2);
  CHECK(run({"check", "--ptx", place.ptx, "mma.sync"}).status == 2);
}

}  // namespace launch_cli_test
