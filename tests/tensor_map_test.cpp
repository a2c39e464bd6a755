// SPDX-License-Identifier: Apache-2.0
// Tensor maps are what a driver made of the same arguments, and what a GPU made of replaced fields
// (golden/tensor-maps/sm_90a.tsv, recorded by tools/capture/tensor_maps.cu); what the driver refused is refused.
#include <catch2/catch.hpp>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "tensor_map_arguments.hpp"
#include "tool.hpp"
#include "warpbit/tensor_map.hpp"

namespace tensor_map_test {

using namespace warpbit;
using tensor_map_arguments::of;
using tensor_map_arguments::tensor_map;
using tensor_maps::Arguments;
using Words = std::array<std::uint32_t, 32>;

// ---- The recording

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

std::uint64_t number(const std::string& text, int base = 10) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  REQUIRE((error == std::errc{} && end == text.data() + text.size()));
  return out;
}

// The lines of a kind, as columns.
std::vector<std::vector<std::string>> recorded(const std::string& kind) {
  std::ifstream in("golden/tensor-maps/sm_90a.tsv");
  REQUIRE(in);
  std::vector<std::vector<std::string>> out;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(kind + "\t")) out.push_back(split(line, '\t'));
  REQUIRE_FALSE(out.empty());
  return out;
}

Words words(const std::string& text) {
  Words out{};
  std::size_t i = 0;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) out.at(i++) = static_cast<std::uint32_t>(number(word, 16));
  return out;
}

TensorMapBytes bytes(const Words& words) {
  TensorMapBytes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(words[i / 4] >> 8 * (i % 4) & 0xFF);
  return out;
}

template <class Numbers>
void read(Numbers& out, const std::string& list) {
  const std::vector<std::string> parts = split(list, ',');
  REQUIRE(parts.size() == out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool negative = parts[i].starts_with('-');
    const std::uint64_t magnitude = number(parts[i].substr(negative ? 1 : 0));
    out[i] = static_cast<typename Numbers::value_type>(negative ? 0 - magnitude : magnitude);
  }
}

// In the order of the struct.
Arguments arguments(const std::string& text) {
  const std::vector<std::string> part = split(text, ' ');
  REQUIRE(part.size() == 17);
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(number(part[i])); };
  Arguments a;
  a.kind = at(0), a.dataType = at(1), a.rank = at(2);
  a.address = number(part[3], 16);
  read(a.dim, part[4]), read(a.stride, part[5]), read(a.box, part[6]), read(a.step, part[7]);
  read(a.lower, part[8]), read(a.upper, part[9]);
  a.channels = at(10), a.pixels = at(11), a.interleave = at(12), a.mode = at(13), a.swizzle = at(14);
  a.promotion = at(15), a.fill = at(16);
  return a;
}

bool equal(const Arguments& x, const Arguments& y) {
  const auto tie = [](const Arguments& a) {
    return std::tie(a.kind, a.dataType, a.rank, a.address, a.dim, a.stride, a.box, a.step, a.lower, a.upper,
                    a.channels, a.pixels, a.interleave, a.mode, a.swizzle, a.promotion, a.fill);
  };
  return tie(x) == tie(y);
}

// Without what the driver ignores.
TensorMap essential(TensorMap m) {
  for (std::size_t i = static_cast<std::size_t>(m.rank); i < 5; ++i)
    m.global_dim[i] = m.global_stride[i - 1] = m.box_dim[i] = m.element_stride[i] = 0;
  if (m.mode == TensorMapMode::tiled) {
    m.pixel_box_lower = m.pixel_box_upper = {};
    m.channels_per_pixel = m.pixels_per_column = 0;
    return m;
  }
  m.box_dim = {};
  for (std::size_t i = static_cast<std::size_t>(m.rank) - 2; i < 3; ++i)
    m.pixel_box_lower[i] = m.pixel_box_upper[i] = 0;
  return m;
}

// The map, or nothing if it is refused. What is encoded must be decoded to its arguments.
std::optional<TensorMapBytes> encoded(const Arguments& a) {
  const std::optional<TensorMap> m = tensor_map(a);
  if (!m) return std::nullopt;
  const Result<TensorMapBytes> out = m->encode();
  if (!out) {
    REQUIRE(out.error().code == Errc::descriptor_field);
    return std::nullopt;
  }
  REQUIRE(m->refusals().empty());
  const Result<TensorMap> decoded = TensorMap::decode(*out);
  REQUIRE(decoded);
  REQUIRE(*decoded == essential(*m));
  return *out;
}

std::vector<Arguments> drawn(std::uint64_t n, Arguments (*make)(std::uint64_t)) {
  std::vector<Arguments> out;
  for (std::uint64_t seed = 1; seed <= n; ++seed) out.push_back(make(seed));
  return out;
}

// As tensor_maps.cu has them.
const std::map<std::string, std::vector<Arguments>>& groups() {
  static const std::map<std::string, std::vector<Arguments>> kGroups{
      {"varied", tensor_maps::varied()},
      {"combined", tensor_maps::combined()},
      {"large", tensor_maps::large()},
      {"legal", drawn(12000, tensor_maps::legal)},
      {"near", drawn(16000, tensor_maps::near_limits)}};
  return kGroups;
}

TEST_CASE("a recorded map is decoded to its arguments, and these are encoded to it", "[golden][tensor_map]") {
  std::map<bool, int> by_result;
  for (const std::vector<std::string>& line : recorded("map")) {
    const Arguments a = arguments(line.at(4));
    REQUIRE(equal(a, groups().at(line.at(1)).at(number(line.at(2)))));
    const bool accepted = line.at(3) == "0";
    ++by_result[accepted];
    CAPTURE(line.at(1), line.at(2));
    const std::optional<TensorMapBytes> map = encoded(a);
    REQUIRE(map.has_value() == accepted);
    if (!accepted) continue;
    const TensorMapBytes driver = bytes(words(line.at(5)));
    CHECK(*map == driver);
    const Result<TensorMap> decoded = TensorMap::decode(driver);
    REQUIRE(decoded);
    CHECK(*decoded == essential(*tensor_map(a)));
  }
  CHECK(by_result[true] > 200);
  CHECK(by_result[false] > 50);
}

TEST_CASE("more than 10,000 drawn maps and all varied ones are the driver's, others are refused",
          "[golden][tensor_map]") {
  std::map<std::string, std::size_t> seen, accepted;
  for (const std::vector<std::string>& line : recorded("block")) {
    const std::vector<Arguments>& sets = groups().at(line.at(1));
    const std::size_t first = number(line.at(2)), count = number(line.at(3));
    REQUIRE(first == seen[line.at(1)]);
    seen[line.at(1)] += count;
    const std::string mask = std::string(32 - line.at(4).size(), '0') + line.at(4);
    const std::uint64_t refused[] = {number(mask.substr(16), 16), number(mask.substr(0, 16), 16)};
    std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<TensorMapBytes> map = encoded(sets.at(first + i));
      CAPTURE(line.at(1), first + i);
      REQUIRE(map.has_value() == !(refused[i / 64] >> i % 64 & 1));
      if (!map) continue;
      ++accepted[line.at(1)];
      for (const std::byte byte : *map)
        digest = (digest ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;
    }
    CAPTURE(line.at(1), first);
    CHECK(digest == number(line.at(5), 16));
  }
  for (const auto& group : groups()) CHECK(seen[group.first] == group.second.size());
  CHECK(accepted["legal"] >= 10000);
}

// ---- tensormap.replace

// What a replacement does to the arguments, by the PTX manual.
void replace(TensorMap& m, const std::string& field, std::size_t i, std::uint64_t value) {
  constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128};
  if (field == "global_address") m.global_address = value;
  if (field == "driver") m.global_address = m.global_address >> 57 << 57 | value;  // its field has 57 bits
  if (field == "box_dim") m.box_dim[i] = static_cast<std::uint32_t>(value);
  if (field == "global_dim") m.global_dim[i] = value;
  if (field == "global_stride") m.global_stride[i] = value;
  if (field == "element_stride") m.element_stride[i] = static_cast<std::uint32_t>(value);
  if (field == "elemtype") m.elemtype = static_cast<TensorType>(value);
  if (field == "interleave_layout") m.interleave_layout = static_cast<TensorInterleave>(value);
  if (field == "swizzle_mode") m.swizzle_mode = kSwizzles[value];
  if (field == "fill_mode") m.fill_mode = static_cast<TensorFill>(value);
}

TEST_CASE("a field that the GPU replaced is decoded as its new value", "[golden][tensor_map]") {
  std::map<std::string, Words> images;
  for (const std::vector<std::string>& line : recorded("image")) images[line.at(1)] = words(line.at(2));
  std::map<std::string, int> compared;
  for (const std::vector<std::string>& line : recorded("replace")) {
    const std::string& field = line.at(1);
    const std::size_t ordinal = number(line.at(2));
    const std::uint64_t value = number(line.at(3), 16);
    Words after = images.at(line.at(4));
    const Result<TensorMap> before = TensorMap::decode(bytes(after));
    for (const std::string& change : split(line.at(5), ' '))
      if (!change.empty()) {
        const std::vector<std::string> parts = split(change, '=');
        after.at(number(parts.at(0))) = static_cast<std::uint32_t>(number(parts.at(1), 16));
      }
    CAPTURE(field, ordinal, value, line.at(4));
    // Entries beyond the rank are no arguments; neither is what has no decoding. The driver refuses some addresses.
    if (!before || (field == "driver" && ordinal != 0)) continue;
    const auto rank = static_cast<std::size_t>(before->rank);
    if (field == "global_stride" ? ordinal + 1 >= rank : ordinal >= rank && field != "driver") continue;
    if (field == "box_dim" && before->mode == TensorMapMode::im2col) continue;
    if (field == "rank") {
      if (value + 1 < 3 && before->mode == TensorMapMode::im2col) continue;
      const Result<TensorMap> decoded = TensorMap::decode(bytes(after));
      REQUIRE(decoded);
      CHECK(decoded->rank == static_cast<int>(value) + 1);
      ++compared[field];
      continue;
    }
    TensorMap expected = *before;
    replace(expected, field, ordinal, value);
    const Result<TensorMap> decoded = TensorMap::decode(bytes(after));
    REQUIRE(decoded);
    CHECK(*decoded == expected);
    ++compared[field];
  }
  for (const char* field :
       {"global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride", "elemtype",
        "interleave_layout", "swizzle_mode", "fill_mode", "driver"}) {
    CAPTURE(field);
    CHECK(compared[field] >= 4);
  }
}

// ---- What looks wrong

TensorMap matrix() {
  TensorMap m;
  m.elemtype = TensorType::f16;
  m.rank = 2;
  m.global_address = 0x7f0000000000;
  m.global_dim = {4096, 1024};
  m.global_stride = {8192};
  m.box_dim = {64, 128};
  m.element_stride = {1, 1};
  m.swizzle_mode = Swizzle::bytes_128;
  return m;
}

Words words(const TensorMap& m) {
  const TensorMapBytes map = *m.encode();
  Words out{};
  for (std::size_t i = 0; i < map.size(); ++i)
    out[i / 4] |= std::to_integer<std::uint32_t>(map[i]) << 8 * (i % 4);
  return out;
}

std::string only_finding(const Words& map) {
  const std::vector<TensorMapFinding> findings = check_tensor_map(bytes(map));
  REQUIRE(findings.size() == 1);
  return std::string(name(findings[0].issue)) + ": " + findings[0].message;
}

std::string refusal(void (*spoil)(TensorMap&)) {
  TensorMap m = matrix();
  spoil(m);
  const Result<TensorMapBytes> out = m.encode();
  REQUIRE_FALSE(out);
  return out.error().message();
}

TEST_CASE("an argument that is refused is named, with what would be taken", "[quick][tensor_map]") {
  CHECK(matrix().refusals().empty());
  CHECK(matrix().box_bytes() == 16384);
  CHECK(refusal([](TensorMap& m) { m.rank = 6; }) == "rank: 6; expected 1 to 5");
  CHECK(refusal([](TensorMap& m) { m.mode = TensorMapMode::im2col; }) ==
        "rank: 2; expected 3 to 5 with im2col");
  CHECK(refusal([](TensorMap& m) { m.global_address += 8; }) ==
        "global_address: 0x7f0000000008; expected a multiple of 16");
  CHECK(refusal([](TensorMap& m) { m.global_stride[0] = 8200; }) ==
        "global_stride[0]: 0x2008; expected a multiple of 16");
  CHECK(refusal([](TensorMap& m) { m.global_dim[1] = 0; }) == "global_dim[1]: 0; expected 1 to 4294967296");
  CHECK(refusal([](TensorMap& m) { m.box_dim[0] = 72; }) ==
        "box_dim[0]: 72 elements of f16, 144 bytes; expected at most the 128 bytes of the swizzle");
  CHECK(refusal([](TensorMap& m) { m.box_dim[0] = 60; }) ==
        "box_dim[0]: 60 elements of f16, 120 bytes; expected a multiple of 16 bytes");
  CHECK(refusal([](TensorMap& m) {
          m.fill_mode = TensorFill::nan;
          m.elemtype = TensorType::s32;
          m.box_dim[0] = 32;
        }) == "fill_mode: nan for elements of s32; expected zeros, or elements of a floating-point type");
  CHECK(refusal([](TensorMap& m) { m.elemtype = static_cast<TensorType>(200); }) ==
        "elemtype: 200; expected 0 to 12");
  CHECK(refusal([](TensorMap& m) {
          m.swizzle_mode = Swizzle::none;
          m.box_dim = {256, 256};
          m.elemtype = TensorType::f64;
        }) == "a copy: 524288 bytes; expected at most 233472");
  TensorMap twice = matrix();
  twice.global_address = 1;
  twice.box_dim[1] = 257;
  CHECK(twice.refusals().size() == 2);
}

TEST_CASE("what looks wrong about a map is found", "[quick][tensor_map]") {
  const Words good = words(matrix());
  CHECK(check_tensor_map(bytes(good)).empty());
  Words map = good;
  map[0] |= 8;
  CHECK(only_finding(map) == "refused: global_address: 0x7f0000000008; expected a multiple of 16");
  map = good;
  map[3] = 4096 / 16;
  CHECK(
      only_finding(map) ==
      "overlap: global_stride[0]: 4096 bytes, but 4096 elements of dimension 0 fill 2 each; it looks like a number of "
      "elements");
  map = good;
  map[2] |= 1u << 22;
  map[20] = 0;
  CHECK(only_finding(map) == "ignored_bits: word 2: bits 0x400000 are set, which no field has");
  map = good;
  map[14] = 63;  // as tensormap.replace of box_dim 1 by 64 leaves it
  CHECK(
      only_finding(map) ==
      "stale: word 16: the bytes of a copy is 16384, but by the fields it is 8192; `tensormap.replace` leaves it");
  map = good;
  map[2] |= 15u << 7;
  CHECK(only_finding(map) == "unknown_code: elemtype: code 15; expected 0 to 10");
  map = good;
  map[2] |= 1u << 16;  // as tensormap.replace of tf32 by f16 leaves it
  CHECK(
      only_finding(map) ==
      "unknown_code: elemtype: f16 with the bit of tf32; expected f32 or f32_ftz with that bit; `tensormap.replace` "
      "does not clear it");
  map = good;
  map[2] |= 7u << 4;
  CHECK(only_finding(map) == "unknown_code: rank: 8; expected 1 to 5");
  map = good;
  map[2] |= 3u << 11;
  CHECK(only_finding(map) == "unknown_code: interleave_layout: code 3; expected 0 to 2");
  TensorMap m = matrix();
  m.rank = 3;
  m.global_dim = {64, 64, 64};
  m.global_stride = {8192, 8192 * 64};
  m.box_dim = {8, 8, 8};
  m.element_stride = {1, 1, 1};
  m.interleave_layout = TensorInterleave::bytes_32;
  CHECK(
      only_finding(words(m)) ==
      "undocumented: swizzle_mode: 128-byte swizzle with an interleave of 32 bytes; cuda.h asks for the 32-byte "
      "swizzle");
}

}  // namespace tensor_map_test
