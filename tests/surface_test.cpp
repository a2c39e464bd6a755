// SPDX-License-Identifier: Apache-2.0
// Surface instructions do what a GPU did: golden-digests/surfaces/, made by tools/capture/record_surfaces.py. What the manual says
// is computed here by hand.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "golden_records.hpp"
#include "verify/cases/surface.hpp"
#include "warpbit/ptx.hpp"

namespace surface_test {

using namespace warpbit;
using Catch::Contains;
using golden_records::json, golden_records::verified;

const std::filesystem::path kRecording = "golden-digests/surfaces/sm_90.zip";

TEST_CASE("every surface that a GPU has accessed is accessed so here", "[golden]") {
  const auto reports = verify_all(find_verifiable(std::span(&kRecording, 1)));
  CHECK(reports.size() == 4727);
  std::uint64_t elements = 0;
  for (const FileReport& report : reports) {
    INFO(report.record << (report.error ? report.error->message() : ""));
    INFO((report.notes.empty() ? "" : report.notes[0]));
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    CHECK_FALSE(report.inferred);
    elements += report.elements;
  }
  CHECK(elements == 106806144);
}

TEST_CASE("a record of a surface that says otherwise differs, and one that is wrong is refused", "[quick]") {
  const json golden = golden_records::record_of(kRecording, "suld.b.1d.b8.trap 1d u8 1 10");
  json record = golden;
  CHECK(verified(record).mismatches == 0);
  record["digest"] = "0123456789abcdef";
  CHECK(verified(record).mismatches == 1);
  const auto said = [&](const char* member, const json& value, FileStatus status) {
    json other = golden;
    other[member] = value;
    const FileReport report = verified(other);
    CHECK(report.status == status);
    return report.error ? report.error->message() : "-";
  };
  for (const char* const text :
       {"", "1d", "2d u8 1 10x6", "1d u7 1 10", "1d u8 1 10x6", "1d u8 1 0", "1d u8 1 10 3"})
    CHECK_THAT(said("surface", text, FileStatus::unreadable),
               Contains("expected a surface of shape 1d as in 'a2d u8 2 10x6 3'"));
  CHECK_THAT(said("elements", 4, FileStatus::unreadable), Contains("'elements': 4; expected 4096"));
  CHECK_THAT(said("form", "tex.1d.v4.f32.f32", FileStatus::unreadable),
             Contains("a form of suld, sust or sured"));
  CHECK_THAT(said("form", "suld.b.1d.v3.b8.trap", FileStatus::unsupported), Contains("suld.b.1d.v3"));
}

// ---- One thread, at places that are written out

/// What a launch says and leaves: four words, zeros unless the statement loads.
struct Done {
  std::array<std::uint32_t, 4> words = {};
  std::string said = "-";
};

/// `statements`: with the handle in %h; they leave words in %r0 to %r3.
Done done(const std::string& statements, std::uint64_t handle, std::uint64_t texture = 0,
          std::uint32_t threads = 1) {
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 surface, .param .u64 texture, .param .u64 out) {\n"
      ".reg .u64 %h, %t, %p; .reg .b32 %r<8>; .reg .b64 %q<4>; .reg .pred %p<2>; .reg .s32 %x;\n"
      "ld.param.u64 %h, [surface]; ld.param.u64 %t, [texture]; ld.param.u64 %p, [out]; mov.u32 %x, %tid.x;\n"
      "mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;\n" +
      statements + "\nst.global.v4.b32 [%p], {%r0, %r1, %r2, %r3};\nret;\n}\n";
  Done out;
  const auto module = ptx::Module::load(text);
  if (!module) return out.said = module.error().message(), out;
  const auto made = module->function("k");
  if (!made) return out.said = made.error().message(), out;
  std::vector<std::uint32_t> words(4);
  const ptx::Report report =
      made->launch({.block = {threads}}, {ptx::value(handle), ptx::value(texture), ptx::buffer(words)});
  if (report.fault) out.said = report.fault->message();
  std::ranges::copy(words, out.words.begin());
  return out;
}

/// A surface of bytes 0, 1, 2, ... of its array.
struct Bytes {
  std::vector<std::uint8_t> bytes;
  std::uint64_t handle = 0;

  Bytes(ptx::TextureShape shape, ptx::TexelFormat format, int channels, std::array<std::uint32_t, 4> extents) {
    ptx::Surface of;
    of.shape = shape, of.format = format, of.channels = channels;
    of.width = extents[0], of.height = extents[1], of.depth = extents[2], of.layers = extents[3];
    bytes.resize(std::size_t{of.width} * of.height * of.depth * of.layers * static_cast<std::size_t>(channels) *
                 static_cast<std::size_t>(ptx::texel_bytes(format)));
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    of.texels = std::as_writable_bytes(std::span(bytes));
    handle = ptx::surface(of).value();
  }
  ~Bytes() { ptx::forget(handle); }
  Bytes(const Bytes&) = delete;

  /// Four of its bytes as a word.
  std::uint32_t word(std::size_t at) const {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out |= std::uint32_t{bytes[at + i]} << 8 * i;
    return out;
  }
};

using enum ptx::TextureShape;
using enum ptx::TexelFormat;

TEST_CASE("a load names bytes of a row, and texels of the other axes", "[quick]") {
  const Bytes line(one, u8, 1, {16, 1, 1, 1}), plane(two, u8, 4, {5, 3, 1, 1}), box(three, u8, 2, {4, 3, 2, 1}),
      lines(one_array, u8, 4, {4, 1, 1, 3}), planes(two_array, u8, 4, {2, 3, 1, 3});
  CHECK(done("suld.b.1d.b32.trap %r0, [%h, {8}];", line.handle).words[0] == 0x0B0A0908);
  CHECK(done("suld.b.2d.b32.trap %r0, [%h, {4, 2}];", plane.handle).words[0] == plane.word(2 * 20 + 4));
  CHECK(done("suld.b.3d.b16.trap %r0, [%h, {6, 2, 1, 0}];", box.handle).words[0] == 0x2F2E);
  CHECK(done("suld.b.a1d.b8.trap %r0, [%h, {2, 15}];", lines.handle).words[0] == 47);
  CHECK(done("suld.b.a2d.b32.trap %r0, [%h, {2, 4, 1, 0}];", planes.handle).words[0] ==
        planes.word(2 * 24 + 8 + 4));
  const Done four = done("suld.b.1d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%h, {0}];", line.handle);
  CHECK(four.words == std::array<std::uint32_t, 4>{0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C});
  const Done wide = done("suld.b.1d.v2.b64.trap {%q0, %q1}, [%h, {0}]; mov.b64 {%r0, %r1}, %q1;", line.handle);
  CHECK((wide.words[0] == 0x0B0A0908 && wide.words[1] == 0x0F0E0D0C));
}

TEST_CASE("beyond the edge .clamp takes the nearest place of its size, .zero nothing", "[quick]") {
  // Rows of 10 bytes: two whole accesses of 4 bytes, at 0 and 4.
  const Bytes plane(two, u8, 1, {10, 3, 1, 1});
  const auto load = [&](const char* mode, int x, int y) {
    return done(fmt::format("suld.b.2d.b32.{} %r0, [%h, {{{}, {}}}];", mode, x, y), plane.handle).words[0];
  };
  CHECK(load("clamp", -4, 0) == plane.word(0));
  CHECK(load("clamp", 8, 0) == plane.word(4));
  CHECK(load("clamp", 400, 1) == plane.word(14));
  CHECK(load("clamp", 4, 7) == plane.word(24));
  CHECK(load("clamp", 4, -7) == plane.word(4));
  for (const auto& [x, y] : {std::pair(-4, 0), {8, 0}, {12, 0}, {4, 3}, {4, -1}})
    CHECK(load("zero", x, y) == 0);
  CHECK(load("zero", 4, 2) == plane.word(24));
  // A row that has no whole access.
  CHECK(done("suld.b.2d.v4.b32.clamp {%r0, %r1, %r2, %r3}, [%h, {0, 0}];", plane.handle).words[0] == 0);
}

TEST_CASE("a store outside is moved by .clamp and left out by .zero", "[quick]") {
  for (const bool clamps : {true, false}) {
    Bytes plane(two, u8, 1, {8, 2, 1, 1});
    const std::vector<std::uint8_t> before = plane.bytes;
    CHECK(done(fmt::format("sust.b.2d.b32.{} [%h, {{8, 0}}], 0xA1B2C3D4;", clamps ? "clamp" : "zero"),
               plane.handle)
              .said == "-");
    std::vector<std::uint8_t> after = before;
    if (clamps) std::ranges::copy(std::array<std::uint8_t, 4>{0xD4, 0xC3, 0xB2, 0xA1}, after.begin() + 4);
    CHECK(plane.bytes == after);
  }
}

TEST_CASE("of a layer the lowest 16 bits count, as an H200 has it", "[quick]") {
  const Bytes lines(one_array, u8, 4, {4, 1, 1, 3});
  const auto load = [&](const char* mode, std::int64_t layer) {
    return done(fmt::format("suld.b.a1d.b32.{} %r0, [%h, {{{}, 4}}];", mode, layer), lines.handle).words[0];
  };
  CHECK(load("zero", 0x12820001) == lines.word(16 + 4));
  CHECK(load("zero", 3) == 0);
  CHECK(load("clamp", 3) == lines.word(32 + 4));
  CHECK(load("clamp", -1) == lines.word(32 + 4));
}

TEST_CASE("a formatted store counts texels and converts", "[quick]") {
  const auto stored = [](ptx::TexelFormat format, std::uint32_t element) {
    Bytes plane(two, format, 1, {4, 2, 1, 1});
    CHECK(done(fmt::format("sust.p.2d.b32.trap [%h, {{3, 1}}], {:#x};", element), plane.handle).said == "-");
    const auto size = static_cast<std::size_t>(ptx::texel_bytes(format));
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < size; ++i) out |= std::uint32_t{plane.bytes[7 * size + i]} << 8 * i;
    return out;
  };
  CHECK(stored(u8, 200) == 200);
  CHECK(stored(u8, 256) == 255);
  CHECK(stored(u16, 0xFFFFFFFF) == 0xFFFF);
  CHECK(stored(s8, static_cast<std::uint32_t>(-200)) == 0x80);
  CHECK(stored(s8, 127) == 127);
  CHECK(stored(s16, 40000) == 0x7FFF);
  CHECK(stored(u32, 0x89ABCDEF) == 0x89ABCDEF);
  CHECK(stored(f32, 0x7FC12345) == 0x7FC12345);
  CHECK(stored(f16, std::bit_cast<std::uint32_t>(1.5F)) == 0x3E00);
  CHECK(stored(f16, std::bit_cast<std::uint32_t>(-0x1.FFFFFEp0F)) == 0xBFFF);  // cut
  CHECK(stored(f16, std::bit_cast<std::uint32_t>(1e6F)) == 0x7BFF);
  CHECK(stored(f16, std::bit_cast<std::uint32_t>(0x1.8p-24F)) == 0x0001);
  CHECK(stored(f16, 0xFF800000) == 0xFC00);
  CHECK(stored(f16, 0x7F800001) == 0x7C01);  // stays a NaN
  CHECK(stored(f16, 0xFFFFFFFF) == 0xFFFF);
}

TEST_CASE("channels that a formatted store does not give are 0", "[quick]") {
  Bytes plane(two, u8, 4, {2, 1, 1, 1});
  CHECK(done("sust.p.2d.v2.b32.clamp [%h, {9, 0}], {17, 18};", plane.handle).said == "-");
  CHECK(plane.bytes == std::vector<std::uint8_t>{0, 1, 2, 3, 17, 18, 0, 0});
  CHECK(done("sust.p.2d.v4.b32.zero [%h, {0, 0}], {1, 2, 3, 4};", plane.handle).said == "-");
  CHECK(plane.bytes == std::vector<std::uint8_t>{1, 2, 3, 4, 17, 18, 0, 0});
}

TEST_CASE("threads reduce one texel together", "[quick]") {
  const auto reduced = [](const char* form, std::uint32_t before, ptx::TexelFormat format = u32) {
    Bytes line(one, format, 1, {4, 1, 1, 1});
    std::memcpy(&line.bytes[4], &before, 4);
    const std::string x = std::string_view(form).starts_with("sured.p") ? "1" : "4";
    const Done out = done(fmt::format("{} [%h, {{{}}}], %x;", form, x), line.handle, 0, 100);
    CHECK(out.said == "-");
    return line.word(4);
  };
  CHECK(reduced("sured.b.add.1d.u32.trap", 7) == 7 + 4950);
  CHECK(reduced("sured.b.min.1d.s32.trap", 0xFFFFFFFE) == 0xFFFFFFFE);
  CHECK(reduced("sured.b.min.1d.u32.trap", 0xFFFFFFFE) == 0);
  CHECK(reduced("sured.b.max.1d.s32.clamp", 0xFFFFFFFE) == 99);
  CHECK(reduced("sured.b.or.1d.b32.zero", 0x100) == 0x17F);
  CHECK(reduced("sured.b.and.1d.b32.zero", 0xFF) == 0);
  CHECK(reduced("sured.p.max.1d.b32.trap", 0xFFFFFFFE, s32) == 99);
  CHECK(reduced("sured.p.max.1d.b32.trap", 0xFFFFFFFE, u32) == 0xFFFFFFFE);
  // Its x counts words of the row, whatever a texel has.
  const Bytes small(two, u16, 1, {4, 2, 1, 1});
  CHECK(done("sured.p.add.2d.b32.trap [%h, {1, 1}], 1;", small.handle).said == "-");
  CHECK(small.word(12) == 0x0F0E0D0D);
  CHECK_THAT(done("sured.p.add.2d.b32.trap [%h, {2, 1}], 1;", small.handle).said,
             Contains("x is a number from 0 to 1, y 0 to 1"));
  Bytes line(one, u32, 2, {2, 1, 1, 1});
  CHECK(done("sured.b.add.1d.u64.trap [%h, {8}], 1;", line.handle).said == "-");
  CHECK(line.word(8) == 0x0B0A0909);
}

TEST_CASE("suq says the extents, and the layers behind them; istypep that a handle is no variable", "[quick]") {
  const auto said = [](const Bytes& of) {
    return done("suq.width.b32 %r0, [%h]; suq.height.b32 %r1, [%h]; suq.depth.b32 %r2, [%h];", of.handle).words;
  };
  using Words = std::array<std::uint32_t, 4>;
  CHECK(said(Bytes(one, u8, 1, {10, 1, 1, 1})) == Words{10, 0, 0, 0});
  CHECK(said(Bytes(two, f16, 2, {10, 6, 1, 1})) == Words{10, 6, 0, 0});
  CHECK(said(Bytes(three, u32, 1, {5, 6, 4, 1})) == Words{5, 6, 4, 0});
  CHECK(said(Bytes(one_array, u32, 1, {10, 1, 1, 3})) == Words{10, 3, 0, 0});
  CHECK(said(Bytes(two_array, f32, 4, {16, 4, 1, 2})) == Words{16, 4, 2, 0});
  const Bytes of(two, u8, 1, {2, 2, 1, 1});
  CHECK(done("istypep.surfref %p0, %h; selp.b32 %r0, 1, 2, %p0;", of.handle).words[0] == 2);
}

TEST_CASE("one array is a texture and a surface", "[quick]") {
  Bytes plane(two, u32, 1, {2, 2, 1, 1});
  ptx::Texture also;
  also.texels = std::as_bytes(std::span(plane.bytes)), also.format = u32, also.width = also.height = 2;
  const std::uint64_t texture = ptx::texture(also).value();
  CHECK(done("sust.p.2d.b32.trap [%h, {1, 0}], 77;", plane.handle).said == "-");
  CHECK(done("tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%t, {1, 0}];", plane.handle, texture).words[0] == 77);
  CHECK(ptx::forget(texture));
}

// ---- Faults and refusals

std::string first_line(const std::string& message) {
  return message.substr(0, message.find('\n'));
}

TEST_CASE("what lies outside, misaligned or of another kind is a fault", "[quick]") {
  const Bytes plane(two, u8, 4, {10, 6, 1, 1}), lines(one_array, u8, 1, {10, 1, 1, 3}),
      small(two, u16, 1, {4, 4, 1, 1});
  const auto fault = [](const std::string& statement, std::uint64_t handle) {
    return first_line(done(statement, handle).said);
  };
  CHECK_THAT(fault("suld.b.2d.b32.trap %r0, [%h, {40, 1}];", plane.handle),
             Contains("coordinates x 40, y 1 of a 2D surface of 10 x 6 texels are out of bounds; "
                      "x is a multiple of 4 from 0 to 36, y 0 to 5"));
  CHECK_THAT(fault("sust.p.2d.b32.trap [%h, {-1, 6}], 5;", plane.handle),
             Contains("coordinates x -1, y 6 of a 2D surface of 10 x 6 texels are out of bounds; "
                      "x is a number from 0 to 9, y 0 to 5"));
  CHECK_THAT(fault("suld.b.a1d.b8.trap %r0, [%h, {3, 1}];", lines.handle),
             Contains("coordinates x 1, layer 3 of a 1D surface array of 10 texels are out of bounds; "
                      "x is a number from 0 to 9, layer 0 to 2"));
  CHECK_THAT(fault("suld.b.a1d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%h, {0, 0}];", lines.handle),
             Contains("a row has 10 bytes, less than an access"));
  for (const char* const mode : {"trap", "clamp", "zero"})
    CHECK_THAT(fault(fmt::format("suld.b.2d.b32.{} %r0, [%h, {{2, 1}}];", mode), plane.handle),
               Contains("x 2, a byte of a row of the surface, is misaligned; it must be a multiple of 4"));
  CHECK_THAT(fault("suld.b.1d.b32.trap %r0, [%h, {0}];", plane.handle),
             Contains("a 2D surface of 10 x 6 texels; expected a surface of the instruction's shape, \"1d\""));
  CHECK_THAT(fault("suld.b.2d.b32.trap %r0, [%h, {0, 0}];", 7),
             Contains("0x7 is no surface: such handles are out of bounds"));
  CHECK_THAT(fault("suq.width.b32 %r0, [%h];", 7), Contains("0x7 is no surface"));
  CHECK_THAT(fault("suq.array_size.b32 %r0, [%h];", plane.handle),
             Contains("its results have not been measured"));
}

TEST_CASE("threads that store to one texel race", "[quick]") {
  const Bytes plane(two, u32, 1, {64, 1, 1, 1});
  const auto said = [&](const std::string& statement) { return done(statement, plane.handle, 0, 64).said; };
  CHECK(said("shl.b32 %r5, %x, 2; sust.b.2d.b32.trap [%h, {%r5, 0}], %x;") == "-");
  CHECK_THAT(said("sust.b.2d.b32.trap [%h, {0, 0}], %x;"), Contains("a surface"));
  CHECK_THAT(said("shl.b32 %r5, %x, 2; sust.b.2d.b32.trap [%h, {%r5, 0}], %x; xor.b32 %r5, %r5, 128;"
                  "suld.b.2d.b32.trap %r4, [%h, {%r5, 0}];"),
             Contains("a surface"));
  CHECK(said("shl.b32 %r5, %x, 2; sust.b.2d.b32.trap [%h, {%r5, 0}], %x; bar.sync 0; xor.b32 %r5, %r5, 128;"
             "suld.b.2d.b32.trap %r4, [%h, {%r5, 0}];") == "-");
}

TEST_CASE("an impossible surface is refused", "[quick]") {
  std::vector<std::uint8_t> texels(64);
  ptx::Surface of;
  of.texels = std::as_writable_bytes(std::span(texels)), of.width = of.height = 8;
  const auto said = [&](auto change) {
    ptx::Surface other = of;
    change(other);
    const auto handle = ptx::surface(other);
    return handle ? (ptx::forget(*handle), std::string("-")) : handle.error().message();
  };
  CHECK(said([](ptx::Surface&) {}) == "-");
  CHECK_THAT(said([](ptx::Surface& x) { x.width = 9; }), Contains("texels: 64 bytes; expected 72"));
  CHECK_THAT(said([](ptx::Surface& x) { x.channels = 3; }), Contains("channels: 3; expected 1, 2 or 4"));
  CHECK_THAT(said([](ptx::Surface& x) { x.shape = cube; }),
             Contains("shape: cube; expected 1d, 2d, 3d, a1d or a2d"));
  CHECK_THAT(said([](ptx::Surface& x) { x.layers = 2; }),
             Contains("layers: 2; expected 1 to 1 of a 2D surface"));
  CHECK_THAT(said([](ptx::Surface& x) { x.shape = one, x.width = 40000, x.height = 1; }),
             Contains("width: 40000; expected 1 to 32768 of a 1D surface"));
  const std::array<std::uint64_t, 3> array = {2, 3, 4};
  of.shape = two_array;
  CHECK(ptx::with_extents(of, array)->layers == 2);
  of.shape = one;
  CHECK_THAT(ptx::with_extents(of, array).error().message(),
             Contains("surface: an array of shape (2, 3, 4); expected of a 1D surface: (width)"));
}

}  // namespace surface_test
