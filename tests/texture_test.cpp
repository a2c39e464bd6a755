// SPDX-License-Identifier: Apache-2.0
// Texture instructions read what a GPU read: golden-digests/textures/, made by tools/capture/record_textures.py, which says how
// the inputs are drawn.
#include "texture/sample.hpp"

#include <bit>
#include <cmath>
#include <set>

#include "scalar_cases.hpp"
#include "texture/texture.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/ptx.hpp"

namespace texture_test {

using namespace warpbit;
using scalar_cases::draw;
using scalar_cases::ones;
using texture::Place;

constexpr std::uint64_t kPlaces = 4096;

template <class Enum>
Enum named(std::string_view wanted, int count) {
  for (int i = 0; i < count; ++i)
    if (ptx::name(static_cast<Enum>(i)) == wanted) return static_cast<Enum>(i);
  FAIL("no " << wanted);
  return {};
}

/// A row of the table.
struct Row {
  std::string form, text;
  std::uint64_t digest;
};

std::vector<Row> recorded() {
  std::ifstream in("golden-digests/textures/sm_90.tsv");
  std::vector<Row> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#') || line.starts_with("form\t")) continue;
    const std::vector<std::string> cells = isa_table::cells(line);
    REQUIRE(cells.size() == 4);
    REQUIRE(cells[2] == std::to_string(4 * kPlaces));
    out.push_back({cells[0], cells[1], std::stoull(cells[3], nullptr, 16)});
  }
  return out;
}

/// A texture with its texels.
struct Drawn {
  std::vector<std::byte> texels;
  ptx::Texture texture;
  int axes = 0;
  bool is_array = false;
};

std::uint64_t texel(const ptx::Texture& of, std::uint64_t x, std::uint64_t y) {
  const bool half = of.format == ptx::TexelFormat::f16;
  if ((half || of.format == ptx::TexelFormat::f32) && y % 4 != 0) {
    const int fraction = half ? 10 : 23, exponent = half ? 5 : 8;
    const std::uint64_t near = (y >> 8) % 16 + ones(exponent - 1) - 8;
    x = (x & ~(ones(exponent) << fraction)) | near << fraction;
  }
  return x;
}

float border(const ptx::Texture& of, std::uint64_t x) {
  const int bits = 8 * ptx::texel_bytes(of.format);
  if (of.floats) {
    const auto code = static_cast<std::int64_t>(x & ones(bits));
    if (name(of.format)[0] == 'u')
      return static_cast<float>(static_cast<double>(code) / static_cast<double>(ones(bits)));
    const auto number = static_cast<double>(code - ((code >> (bits - 1)) << bits));
    return static_cast<float>(std::max(number / static_cast<double>(ones(bits - 1)), -1.0));
  }
  const auto out = static_cast<float>((static_cast<double>(x >> 40) - 0x1p22) / 0x1p23);
  return of.format == ptx::TexelFormat::f16
             ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(out) & 0xFFFF'E000)
             : out;
}

Drawn drawn(const std::string& text, std::uint64_t seed) {
  std::vector<std::string> words = scalar_table::split(text, ' ');
  Drawn out;
  ptx::Texture& of = out.texture;
  of.shape = named<ptx::TextureShape>(words[0], 8);
  of.format = named<ptx::TexelFormat>(words[1], 8);
  of.channels = std::stoi(words[2]);
  const std::vector<std::string> extents = scalar_table::split(words[3], 'x');
  of.width = static_cast<std::uint32_t>(std::stoul(extents[0]));
  if (extents.size() > 1) of.height = static_cast<std::uint32_t>(std::stoul(extents[1]));
  if (extents.size() > 2) of.depth = static_cast<std::uint32_t>(std::stoul(extents[2]));
  const bool cube = words[0].ends_with("cube");
  out.axes = cube ? 3 : static_cast<int>(extents.size());
  out.is_array = words[0][0] == 'a';
  if (out.is_array) of.layers = static_cast<std::uint32_t>(std::stoul(words[4]));
  const std::size_t last = words.size();
  of.addressing.fill(named<ptx::Addressing>(words[last - 4], 4));
  of.linear = words[last - 3] == "linear";
  of.normalized = words[last - 2] == "normalized";
  of.floats = words[last - 1] == "floats";
  const auto bytes = static_cast<std::size_t>(ptx::texel_bytes(of.format));
  const std::uint64_t count = std::uint64_t{of.width} * of.height * of.depth * of.layers * (cube ? 6 : 1) *
                              static_cast<std::uint64_t>(of.channels);
  out.texels.resize(count * bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t code = texel(of, draw(seed, 2 * i), draw(seed, 2 * i + 1));
    std::memcpy(out.texels.data() + i * bytes, &code, bytes);
  }
  of.texels = out.texels;
  for (std::uint64_t i = 0; i < 4; ++i) of.border[i] = border(of, draw(seed, (std::uint64_t{1} << 40) + i));
  return out;
}

std::uint32_t coordinate(const Drawn& from, bool integer, std::uint64_t j, std::uint64_t x, std::uint64_t y) {
  const ptx::Texture& of = from.texture;
  const bool is_layer = from.is_array && j == 0, cube = from.axes == 3 && of.depth == 1;
  if (y % 32 == 0) {
    const auto raw = static_cast<std::uint32_t>(x);
    if (is_layer || !cube) return raw;
    return (raw & 0x807F'FFFF) | static_cast<std::uint32_t>((x >> 40) % 128 + 63) << 23;
  }
  const std::array<std::uint32_t, 3> extents = {of.width, of.height, of.depth};
  const std::uint64_t n = is_layer ? of.layers : extents[j - from.is_array];
  if (is_layer || integer) return static_cast<std::uint32_t>(static_cast<std::int64_t>(x % (n + 6)) - 3);
  const auto t = static_cast<double>(x >> 40);
  const double out = cube            ? t / 0x1p23 - 1
                     : of.normalized ? t / 0x1p22 - 1.5
                                     : static_cast<double>(n + 4) * t / 0x1p24 - 2;
  return std::bit_cast<std::uint32_t>(static_cast<float>(out));
}

Place place(const Row& row, const Drawn& from, std::uint64_t seed, std::uint64_t i) {
  Place out{{}, row.form.ends_with(".s32")};
  const std::uint64_t layers = from.is_array ? 1 : 0;
  for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(from.axes) + layers; ++j) {
    const std::uint64_t k = (std::uint64_t{1} << 41) + 8 * i + 2 * j;
    (j < layers ? out.layer : out.at[j - layers]) =
        coordinate(from, out.integers, j, draw(seed, k), draw(seed, k + 1));
  }
  return out;
}

std::uint64_t seed_of(const Row& row) {
  return scalar_cases::fnv(row.form + ' ' + row.text);
}

std::uint64_t digest(const Row& row) {
  const std::uint64_t seed = seed_of(row);
  const Drawn from = drawn(row.text, seed);
  const bool gathers = row.form.starts_with("tld4.");
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    const Place at = place(row, from, seed, i);
    const texture::Texel got =
        gathers ? gather(from.texture, at, static_cast<int>(std::string_view("rgba").find(row.form[5])))
                : read(from.texture, at);
    for (std::uint64_t c = 0; c < 4; ++c) out += inputs::mix(4 * i + c, got[c]);
  }
  return out;
}

/// Filtered textures of three dimensions with floats: how slices are added is not known to the last bit.
bool is_refused(const Row& row) {
  return row.text.starts_with("3d f") && row.text.find("linear") != std::string::npos;
}

TEST_CASE("every texture that a GPU has read is read so here", "[golden]") {
  const std::vector<Row> rows = recorded();
  REQUIRE(rows.size() >= 1300);
  std::vector<std::string> differences;
#pragma omp parallel for schedule(dynamic, 8)
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_refused(rows[i]) || digest(rows[i]) == rows[i].digest) continue;
#pragma omp critical
    differences.push_back(rows[i].form + " of " + rows[i].text);
  }
  std::ranges::sort(differences);
  INFO(fmt::format("{}", fmt::join(differences, "\n")));
  CHECK(differences.empty());
  CHECK(std::ranges::count_if(rows, is_refused) == 18);
  for (const Row& row : rows) {
    const Drawn from = drawn(row.text, seed_of(row));
    const Result<std::uint64_t> handle = ptx::texture(from.texture);
    INFO(row.text);
    CHECK(static_cast<bool>(handle) != is_refused(row));
    if (handle) CHECK(ptx::forget(*handle));
  }
}

// ---- In a kernel

/// A thread reads `words` coordinates and writes four results.
std::string kernel(const std::string& form, std::size_t words) {
  std::string coordinates, loads;
  for (std::size_t i = 0; i < words; ++i) {
    coordinates += fmt::format("{}%c{}", i == 0 ? "" : ", ", i);
    loads += fmt::format("  ld.global.b32 %c{}, [%p+{}];\n", i, 4 * i);
  }
  if (words == 3) coordinates += ", %c0";
  return fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 texture, .param .u64 in, .param .u64 out) {{
  .reg .u32 %at, %block;
  .reg .b32 %c<4>;
  .reg .{5} %r<4>;
  .reg .u64 %p, %t;
  mov.u32 %at, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %at, %block, 256, %at;
  ld.param.u64 %t, [texture];
  ld.param.u64 %p, [in];
  mad.wide.u32 %p, %at, {0}, %p;
{1}  {2} {{%r0, %r1, %r2, %r3}}, [%t, {{{3}}}]{4};
  ld.param.u64 %p, [out];
  mad.wide.u32 %p, %at, 16, %p;
  st.global.v4.{5} [%p], {{%r0, %r1, %r2, %r3}};
  ret;
}}
)",
                     4 * words, loads, form, coordinates, form.starts_with("tex.level") ? ", 0f40200000" : "",
                     form.find(".v4.f16") == form.npos ? "b32" : "b16");
}

std::uint64_t digest_of_launch(const Row& row) {
  const std::uint64_t seed = seed_of(row);
  const Drawn from = drawn(row.text, seed);
  const std::uint64_t handle = ptx::texture(from.texture).value();
  std::vector<std::uint32_t> in, out(4 * kPlaces);
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    const Place at = place(row, from, seed, i);
    if (from.is_array) in.push_back(at.layer);
    in.insert(in.end(), at.at.begin(), at.at.begin() + from.axes);
  }
  const auto module = ptx::Module::load(kernel(row.form, in.size() / kPlaces));
  REQUIRE(module);
  const ptx::Report report = module->function("k").value().launch(
      {.grid = {kPlaces / 256}, .block = {256}}, {ptx::value(handle), ptx::buffer(in), ptx::buffer(out)});
  INFO((report.fault ? report.fault->message() : ""));
  REQUIRE(report.ok());
  CHECK(ptx::forget(handle));
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < out.size(); ++i) sum += inputs::mix(i, out[i]);
  return sum;
}

TEST_CASE("kernels read textures as a GPU's did") {
  std::set<std::string> forms;
  for (const Row& row : recorded()) {
    if (is_refused(row) || !forms.insert(row.form + row.text.substr(0, row.text.find(' '))).second) continue;
    INFO(row.form << " of " << row.text);
    CHECK(digest_of_launch(row) == row.digest);
  }
  CHECK(forms.size() >= 60);
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
  CHECK_THAT(fault("tex.2d.v4.f32.f32", 2, 7), Contains("0x7 is no texture; handles are out of bounds"));
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
  CHECK_THAT(said([](ptx::Texture& x) { x.linear = true; }),
             Contains("texels of u8 that are read as integers"));
  CHECK(said([](ptx::Texture& x) { x.linear = x.floats = true; }) == "-");
  CHECK_THAT(said([](ptx::Texture& x) { x.addressing[0] = ptx::Addressing::wrap; }),
             Contains("wrap of coordinates that are not normalized; expected clamp or border"));
  CHECK_THAT(said([](ptx::Texture& x) { x.floats = true, x.border[0] = 0.3F; }),
             Contains("border: 0.3; expected a number that u8 has"));
  CHECK_THAT(said([](ptx::Texture& x) { x.depth = 2; }), Contains("depth: 2; expected 1 to 1 of a 2D texture"));
  CHECK_THAT(said([](ptx::Texture& x) { x.shape = ptx::TextureShape::cube, x.width = 9; }),
             Contains("height: 8; expected the width, 9"));
}

}  // namespace texture_test
