// SPDX-License-Identifier: Apache-2.0
// Tensor maps are what a driver made of the same arguments, and what a GPU made of replaced fields
// (golden/tensor-maps/sm_90a.zip, recorded by tools/capture/tensor_maps.cu); what the driver refused is refused.
#include "warpbit/tensor_map.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <span>

#include "golden_records.hpp"
#include "warpbit/verify.hpp"

namespace tensor_map_test {

using namespace warpbit;
using golden_records::Changed, golden_records::json, golden_records::record_of, golden_records::verified;
using Words = std::array<std::uint32_t, 32>;

TensorMapBytes bytes(const Words& words) {
  TensorMapBytes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(words[i / 4] >> 8 * (i % 4) & 0xFF);
  return out;
}

/// How many maps of the recording were compared, by kind and by what the report calls them.
std::map<std::string, std::map<std::string, std::uint64_t>> compared() {
  const std::filesystem::path recording = "golden/tensor-maps/sm_90a.zip";
  std::map<std::string, std::map<std::string, std::uint64_t>> out;
  for (const FileReport& report : verify_all(find_verifiable(std::span(&recording, 1)))) {
    INFO(report.record << (report.error ? report.error->message() : ""));
    INFO((report.notes.empty() ? "" : report.notes[0]));
    CHECK((report.status == FileStatus::replayed || report.status == FileStatus::not_reproducible));
    CHECK(report.mismatches == 0);
    out[report.kind][report.header.statement] += report.elements;
  }
  return out;
}

TEST_CASE("recorded maps are encoded and decoded, and those that the driver refused are refused",
          "[golden][tensor_map]") {
  auto all = compared();
  const std::uint64_t taken = all["tensor_map"]["arguments that the driver takes"],
                      refused = all["tensor_map"]["arguments that the driver refuses"];
  CHECK(taken > 200);
  CHECK(refused > 50);
  CHECK(taken + refused == 310);
  CHECK(all["tensor_maps"]["legal"] == 12000);
  CHECK(all["tensor_maps"]["near"] == 16000);
  CHECK(all["tensor_maps"]["varied"] == 91140);
  CHECK(all["tensor_maps"]["combined"] == 16128);
  CHECK(all["tensor_maps"]["large"] == 1290);
  for (const char* field :
       {"global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride", "elemtype",
        "interleave_layout", "swizzle_mode", "fill_mode", "driver"}) {
    CAPTURE(field);
    CHECK(all["tensor_map_change"][field] >= 4);
  }
}

// ---- What differs from the recording, and records that are none

json golden(const std::string& name) {
  return record_of("golden/tensor-maps/sm_90a.zip", name);
}

TEST_CASE("a record that says otherwise differs, and the difference is named", "[quick][tensor_map]") {
  std::string map = golden("varied.0").at("map");
  map[0] = map[0] == '0' ? '1' : '0';
  const std::string zeros(256, '0');
  const Changed cases[] = {
      {"varied.0", "map", map, "byte 0 differs: expected 0x10, got 0x00"},
      {"varied.0-99", "digest", "0123456789abcdef",
       "the digest of the maps differs: expected 0123456789abcdef, got 642ce1cb70ff98b8"},
      {"varied.0-99", "refused", "7fe0fc003", "set 0: the driver refuses it, and here it is taken"},
      {"global_dim.0.1.4", "changed", golden("global_dim.0.1.4").at("map"),
       "the map that the GPU left has other arguments"},
  };
  for (const Changed& c : cases) {
    json record = golden(c.name);
    CHECK(verified(record).mismatches == 0);
    record[c.member] = c.value;
    const FileReport report = verified(record);
    INFO(c.name << ": " << c.member);
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.target == "sm_90a");
    REQUIRE(report.mismatches > 0);
    REQUIRE_FALSE(report.notes.empty());
    CHECK(report.notes[0] == c.says);
  }
}

TEST_CASE("what is wrong in a record of tensor maps is named", "[quick][tensor_map]") {
  json arguments = golden("varied.0").at("arguments"), few = arguments, large = arguments;
  few["dim"] = {1, 2}, large["box"][0] = 1ULL << 32, arguments["function"] = 3;
  const Changed cases[] = {
      {"varied.0", "map", "00", "'map': 1 bytes; expected 128 bytes"},
      {"varied.0", "arguments", arguments, "'function': 3; expected 0 (tiled), 1 (im2col) or 2 (im2col wide)"},
      {"varied.0", "arguments", few, "'dim': 2 numbers; expected 5 numbers of 64 bits"},
      {"varied.0", "arguments", large, "'box': 5 numbers; expected 5 numbers of 32 bits"},
      {"varied.0-99", "generator", "wild",
       "'generator': 'wild'; expected varied, combined, large, legal or near"},
      {"varied.0-99", "first", 91100, "'count': 100 sets from 91100 on; expected some of the 91140 sets"},
      {"varied.0-99", "refused", "xyz", "'refused': 'xyz'; expected hexadecimal digits"},
      {"global_dim.0.1.4", "field", "colour",
       "'field': 'colour'; expected a field of tensormap.replace, or driver"},
      {"global_dim.0.1.4", "ordinal", 5, "'ordinal': 5; expected a number from 0 to 4"},
  };
  require_refused(cases, golden);
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
