// SPDX-License-Identifier: Apache-2.0
// Texture instructions read what a GPU read: golden-digests/textures/, made by tools/capture/record_textures.py.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <set>

#include "golden_records.hpp"
#include "texture/filter.hpp"
#include "verify/cases/texture.hpp"
#include "warpbit/ptx.hpp"

namespace texture_test {

using namespace warpbit;
using golden_records::json, golden_records::verified;
using texture::Place;
using texture_cases::drawn, texture_cases::Drawn, texture_cases::kPlaces, texture_cases::place;

const std::filesystem::path kRecording = "golden-digests/textures/sm_90.zip",
                            kMore = "golden-digests/textures/sm_90_h200.zip",
                            kIntegers = "golden-digests/textures/sm_90_h200_filtered_integers.zip";

struct Row {
  std::string form, text;
  std::uint64_t digest;
};

std::vector<Row> recorded() {
  std::vector<Row> out;
  for (const auto& path : {kRecording, kMore, kIntegers}) {
    const Recording recording = recording_files::required(Recording::open(path));
    for (const Record& record : recording.records()) {
      const json one = json::parse(record.text);
      out.push_back(
          {one.at("form"), one.at("texture"), std::stoull(one.at("digest").get<std::string>(), nullptr, 16)});
    }
  }
  return out;
}

TEST_CASE("every texture that a GPU has read is read so here", "[golden]") {
  const std::filesystem::path all[] = {kRecording, kMore, kIntegers};
  const auto reports = verify_all(find_verifiable(all));
  CHECK(reports.size() >= 1500);
  for (const FileReport& report : reports) {
    INFO(report.record << (report.error ? report.error->message() : ""));
    INFO((report.notes.empty() ? "" : report.notes[0]));
    CHECK(report.status == FileStatus::replayed);
    CHECK((report.cases == kPlaces && report.elements == 4 * kPlaces && report.mismatches == 0));
    CHECK_FALSE(report.inferred);
  }
}

TEST_CASE("a record of a texture that says otherwise differs, and one that is wrong is refused", "[quick]") {
  const json golden =
      golden_records::record_of(kRecording, "tex.1d.v4.f32.f32 1d u8 2 10 wrap point normalized floats");
  json record = golden;
  CHECK(verified(record).mismatches == 0);
  record["digest"] = "0123456789abcdef";
  CHECK(verified(record).mismatches == 1);
  CHECK(verified(record).notes.at(0) ==
        "expected digest 0x0123456789abcdef, got 0x" + golden.at("digest").get<std::string>());
  const auto said = [&](const char* member, const json& value, FileStatus status) {
    json other = golden;
    other[member] = value;
    const FileReport report = verified(other);
    CHECK(report.status == status);
    return report.error ? report.error->message() : "-";
  };
  for (const char* const text :
       {"", "1d", "4d u8 2 10 wrap point normalized floats", "1d u7 2 10 wrap point normalized floats",
        "1d u8 2 10x6 wrap point normalized floats", "1d u8 2 10 wrap point normalized",
        "1d u8 2 10 wrap dots normalized floats", "1d u8 2 0 wrap point normalized floats",
        "3d u8 2 1000x1000x2 wrap point normalized floats", "a1d u8 2 10 wrap point normalized floats",
        "1d u8 2 10 3 wrap point normalized floats"}) {
    INFO(text);
    CHECK_THAT(said("texture", text, FileStatus::unreadable),
               Catch::Contains("expected a texture as in 'a2d u8 2 10x6 3 clamp linear normalized floats'"));
  }
  CHECK_THAT(said("elements", 4096, FileStatus::unreadable),
             Catch::Contains("'elements': 4096; expected 16384"));
  CHECK_THAT(said("form", "tex.2d.v4.f32.f32", FileStatus::unsupported),
             Catch::Contains("a texture of the instruction's shape"));
  CHECK_THAT(said("form", "txq.width.b32", FileStatus::unsupported),
             Catch::Contains("which tex or tld4 reads"));
  CHECK_THAT(said("form", "tex.1d.v3.f32.f32", FileStatus::unsupported), Catch::Contains("tex.1d.v3"));
}

/// Sums at a tie, which hang on the last bit of the smaller slice, and zeros: as an H200 gave them.
TEST_CASE("slices of a 3D texture of floats are added as a GPU adds them", "[quick]") {
  using ptx::TexelFormat;
  struct Sum {
    TexelFormat format;
    std::vector<texture::Part> parts;
    std::uint32_t bits;
  };
  const Sum sums[] = {
      {TexelFormat::f32, {{0xC72F79DA, 48, 0}, {0x34BD698D, 208, 1}}, 0xC6039B63},
      {TexelFormat::f32, {{0xC65675B8, 19, 0}, {0x3442ED0B, 237, 1}}, 0xC47EABCB},
      {TexelFormat::f32, {{0xBB42998E, 240, 0}, {0xC3EDFB85, 16, 1}}, 0xC1EE0138},
      {TexelFormat::f32,
       {{0xC2800000, 120, 0}, {0xCB800000, 55, 0}, {0x3A000000, 55, 1}, {0xC1800000, 26, 1}},
       0xCA5C007E},
      {TexelFormat::f16, {{0xFB53, 37, 0}, {0x7B53, 37, 0}, {0x8C00, 91, 1}, {0x200, 91, 1}}, 0xBB000000},
      {TexelFormat::f32, {{0x80000000, 35}, {0xC315F2F1, 0}, {0x80000000, 220}, {0x80000000, 1}}, 0x00000000},
      {TexelFormat::f32, {{0x80000000, 36}, {0x80000000, 220}}, 0x80000000},
      {TexelFormat::f16, {{0x8000, 246}, {0x8000, 7}, {0x8000, 3}, {0xC3E1, 0}}, 0x00000000},
  };
  for (const Sum& sum : sums) {
    INFO(fmt::format("0x{:08X} of {} texels", sum.bits, sum.parts.size()));
    CHECK(texture::filtered(sum.format, true, sum.parts) == sum.bits);
  }
  // Read as integers: halves go up, below 0 too.
  const std::vector<Sum> integers = {
      {TexelFormat::u8, {{1, 128}, {2, 128}}, 2},
      {TexelFormat::u8, {{255, 128}, {254, 127}, {254, 1}}, 255},
      {TexelFormat::u16, {{0, 129}, {1, 127}}, 0},
      {TexelFormat::s8, {{3, 128}, {0, 128}}, 2},
      {TexelFormat::s8, {{0x86, 128}, {0x87, 128}}, 0xFFFF'FF87},
      {TexelFormat::s16, {{0x8000, 256}}, 0xFFFF'8000},
  };
  for (const Sum& sum : integers) {
    INFO(sum.bits);
    CHECK(texture::filtered(sum.format, false, sum.parts) == sum.bits);
  }
}

// ---- In a kernel

/// By what an instruction names its texture.
struct Way {
  std::string_view mode = "", variables = "", parameter = ".u64", before = "ld.param.u64 %t, [texture];",
                   names = "%t";
};
constexpr Way kHandle,
    kReferences[] = {
        {"", ".global .texref v;", ".u64", "", "v"},
        {"", ".global .texref v;", ".u64", "mov.u64 %t, v;", "%t"},
        {"", "", ".texref", "", "texture"},
        {"", "", ".texref", "mov.u64 %t, texture;", "%t"},
        {", texmode_independent", ".global .texref v; .global .samplerref s;", ".u64", "", "v, s"},
        {", texmode_independent", ".global .samplerref s;", ".texref", "", "texture, s"},
};

/// A thread reads `words` coordinates and writes four results.
std::string kernel(const std::string& form, std::size_t words, const Way& way = kHandle) {
  std::string coordinates, loads;
  for (std::size_t i = 0; i < words; ++i) {
    coordinates += fmt::format("{}%c{}", i == 0 ? "" : ", ", i);
    loads += fmt::format("  ld.global.b32 %c{}, [%p+{}];\n", i, 4 * i);
  }
  if (words == 3) coordinates += ", %c0";
  return fmt::format(R"(.version 8.0
.target sm_90{6}
.address_size 64
{7}
.visible .entry k(.param {8} texture, .param .u64 in, .param .u64 out) {{
  .reg .u32 %at, %block;
  .reg .b32 %c<4>;
  .reg .{5} %r<4>;
  .reg .u64 %p, %t;
  mov.u32 %at, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %at, %block, 256, %at;
  {9}
  ld.param.u64 %p, [in];
  mad.wide.u32 %p, %at, {0}, %p;
{1}  {2} {{%r0, %r1, %r2, %r3}}, [{10}, {{{3}}}]{4};
  ld.param.u64 %p, [out];
  mad.wide.u32 %p, %at, 16, %p;
  st.global.v4.{5} [%p], {{%r0, %r1, %r2, %r3}};
  ret;
}}
)",
                     4 * words, loads, form, coordinates, form.starts_with("tex.level") ? ", 0f40200000" : "",
                     form.find(".v4.f16") == form.npos ? "b32" : "b16", way.mode, way.variables, way.parameter,
                     way.before, way.names);
}

// A texture whose own modes are others than those of its sampler, which count.
ptx::Texture with_other_modes(ptx::Texture of) {
  of.addressing = {ptx::Addressing::mirror, ptx::Addressing::wrap, ptx::Addressing::border};
  of.linear = false;
  of.border = {};
  return of;
}

std::uint64_t digest_of_launch(const Row& row, const Way& way = kHandle) {
  const Drawn from = drawn(row.form, row.text).value();
  const ptx::Texture& of = from.texture;
  const std::uint64_t handle = ptx::texture(way.mode.empty() ? of : with_other_modes(of)).value();
  std::vector<std::uint32_t> in, out(4 * kPlaces);
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    const Place at = place(row.form, from, i);
    if (from.is_array) in.push_back(at.layer);
    in.insert(in.end(), at.at.begin(), at.at.begin() + from.axes);
  }
  const auto module = ptx::Module::load(kernel(row.form, in.size() / kPlaces, way));
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  if (way.variables.find(".texref") != way.variables.npos) REQUIRE(module->bind("v", handle));
  const std::uint64_t sampler =
      ptx::sampler({.addressing = of.addressing, .linear = of.linear, .border = of.border});
  if (!way.mode.empty()) REQUIRE(module->bind("s", sampler));
  const ptx::Report report = module->function("k").value().launch(
      {.grid = {kPlaces / 256}, .block = {256}}, {ptx::value(handle), ptx::buffer(in), ptx::buffer(out)});
  INFO((report.fault ? report.fault->message() : ""));
  REQUIRE(report.ok());
  CHECK(report.inferred == (!way.mode.empty() || way.parameter != kHandle.parameter));
  CHECK(ptx::forget(handle));
  CHECK(ptx::forget(sampler));
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < out.size(); ++i) sum += inputs::mix(i, out[i]);
  return sum;
}

TEST_CASE("kernels read textures as a GPU's did") {
  std::set<std::string> forms;
  for (const Row& row : recorded()) {
    if (!forms.insert(row.form + row.text.substr(0, row.text.find(' '))).second) continue;
    INFO(row.form << " of " << row.text);
    CHECK(digest_of_launch(row) == row.digest);
  }
  CHECK(forms.size() >= 60);
}

TEST_CASE("a reference, its address and a sampler beside it read what a GPU read by a handle") {
  std::set<std::string> shapes;  // with two words of the form: tex.1d, tex.level, tld4.r
  for (const Row& row : recorded()) {
    const std::string shape = row.text.substr(0, row.text.find(' '));
    if (!shapes.insert(row.form.substr(0, row.form.find('.', 4)) + shape).second) continue;
    for (const Way& way : kReferences) {
      INFO(row.form << " of " << row.text << " by " << way.variables << way.before << way.names);
      CHECK(digest_of_launch(row, way) == row.digest);
    }
  }
  CHECK(shapes.size() == 16);
}

std::string fault(const std::string& form, std::size_t words, std::uint64_t handle) {
  std::vector<std::uint32_t> in(256 * words), out(4 * 256);
  const auto module = ptx::Module::load(kernel(form, words));
  if (!module) return module.error().message();
  const auto made = module->function("k");
  if (!made) return made.error().message();
  const ptx::Report report =
      made->launch({.grid = {1}, .block = {256}}, {ptx::value(handle), ptx::buffer(in), ptx::buffer(out)});
  return report.fault ? report.fault->message() : "-";
}

TEST_CASE("a handle is that of a texture of the instruction's shape", "[quick]") {
  using Catch::Contains;
  std::vector<float> texels(60);
  ptx::Texture of;
  of.texels = std::as_bytes(std::span(texels));
  of.width = 10, of.height = 6;
  const std::uint64_t handle = ptx::texture(of).value();
  CHECK(fault("tex.2d.v4.f32.f32", 2, handle) == "-");
  CHECK(fault("tex.2d.v4.f32.s32", 2, handle) == "-");
  CHECK_THAT(fault("tex.1d.v4.f32.f32", 1, handle),
             Contains("a 2D texture of 10 x 6 texels; expected a texture of the instruction's shape, \"1d\""));
  CHECK_THAT(fault("tex.2d.v4.f32.f32", 2, 7), Contains("0x7 is no texture: such handles are out of bounds"));
  CHECK(ptx::forget(handle));
  CHECK_FALSE(ptx::forget(handle));
  CHECK_THAT(fault("tex.2d.v4.f32.f32", 2, handle), Contains("is no texture"));
  CHECK_THAT(fault("tex.2d.v4.f16.f32", 2, handle), Contains("its results have not been measured"));
  of.shape = ptx::TextureShape::memory, of.width = 60, of.height = 1;
  const std::uint64_t memory = ptx::texture(of).value();
  CHECK(fault("tex.1d.v4.f32.s32", 1, memory) == "-");
  CHECK_THAT(fault("tex.1d.v4.f32.f32", 1, memory), Contains("a texture of linear memory of 60 texels"));
  CHECK(ptx::forget(memory));
}

TEST_CASE("a border of halves has its colour", "[quick]") {
  const std::uint16_t texel = 0x3C00;
  ptx::Texture of;
  of.texels = std::as_bytes(std::span(&texel, 1));
  of.format = ptx::TexelFormat::f16;
  of.addressing.fill(ptx::Addressing::border);
  const Place beyond{{std::bit_cast<std::uint32_t>(-5.0F), 0}};
  for (const float colour : {0.0F, -0.0F, 1.0F, -1.5F, 0.25F, 65504.0F, 0x1p-24F, -0x1.8p-15F, HUGE_VALF}) {
    of.border[0] = colour;
    const auto handle = ptx::texture(of);
    REQUIRE(handle);
    CHECK(ptx::forget(*handle));
    CHECK(read(of, beyond)[0] == std::bit_cast<std::uint32_t>(colour));
  }
  for (const float colour : {0x1p-25F, 65536.0F, 1 + 0x1p-11F}) {
    of.border[0] = colour;
    CHECK_FALSE(ptx::texture(of));
  }
}

TEST_CASE("an impossible texture is refused", "[quick]") {
  using Catch::Contains;
  std::vector<std::uint8_t> texels(64);
  ptx::Texture of;
  of.texels = std::as_bytes(std::span(texels));
  of.format = ptx::TexelFormat::u8;
  of.width = of.height = 8;
  const auto said = [&](auto change) {
    ptx::Texture other = of;
    change(other);
    const auto handle = ptx::texture(other);
    return handle ? (ptx::forget(*handle), std::string("-")) : handle.error().message();
  };
  CHECK(said([](ptx::Texture&) {}) == "-");
  CHECK_THAT(said([](ptx::Texture& x) { x.width = 9; }), Contains("texels: 64 bytes; expected 72"));
  CHECK_THAT(said([](ptx::Texture& x) { x.channels = 3; }), Contains("channels: 3; expected 1, 2 or 4"));
  CHECK(said([](ptx::Texture& x) { x.linear = true; }) == "-");
  CHECK_THAT(said([](ptx::Texture& x) {
               x.linear = true, x.format = ptx::TexelFormat::u32, x.width = 4, x.height = 4;
             }),
             Contains("linear: texels of u32; expected f16, f32, or integers of 8 or 16 bits"));
  CHECK(said([](ptx::Texture& x) { x.linear = x.floats = true; }) == "-");
  CHECK(said([](ptx::Texture& x) { x.addressing[0] = ptx::Addressing::wrap; }) == "-");
  CHECK_THAT(said([](ptx::Texture& x) { x.floats = true, x.border[0] = 0.3F; }),
             Contains("border: 0.3; expected a number that u8 has"));
  CHECK_THAT(said([](ptx::Texture& x) { x.depth = 2; }), Contains("depth: 2; expected 1 to 1 of a 2D texture"));
  CHECK_THAT(said([](ptx::Texture& x) { x.shape = ptx::TextureShape::cube, x.width = 9; }),
             Contains("height: 8; expected the width, 9"));
}

}  // namespace texture_test
