// SPDX-License-Identifier: Apache-2.0
// Results of sums of products that the public project PantheonSim has of an RTX 3060, an L40S and an RTX PRO 6000
// (tests/published/pantheonsim_*.tsv): hashes of all registers of D, and the formulas of their inputs.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>  // memcpy
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tile_results.hpp"

namespace pantheonsim {

using namespace warpbit;
using namespace tile_results;

/// The fields of each line of a table, behind its comments and its heading.
inline std::vector<std::vector<std::string>> table(const std::string& name) {
  std::ifstream file("tests/published/pantheonsim_" + name + ".tsv");
  REQUIRE(file.is_open());
  std::vector<std::vector<std::string>> out;
  bool is_heading = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::vector<std::string> row;
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    if (!is_heading) out.push_back(std::move(row));
    is_heading = false;
  }
  return out;
}

inline std::uint64_t number(const std::string& hex) {
  return std::stoull(hex, nullptr, 16);
}

// ---- Inputs

inline std::uint32_t mix(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352d;
  x = (x ^ x >> 15) * 0x846ca68b;
  return x ^ x >> 16;
}

inline std::uint32_t bits_of(float x) {
  std::uint32_t out = 0;
  std::memcpy(&out, &x, sizeof out);
  return out;
}
/// Of a normal number of f16, or 0.
inline std::uint32_t half_of(float x) {
  const std::uint32_t f = bits_of(x);
  return x == 0 ? 0 : (f >> 16 & 0x8000) | ((f >> 13 & 0x3FFFF) - (112 << 10));
}

/// mma_forms: three warps, by seed.
struct FormInputs {
  std::uint32_t seed;
  bool full;  // fractions of tf32 have all bits that a word has

  std::uint32_t hash(std::uint32_t more, int lane, int index) const {
    return mix((seed + more) * 0x9E3779B9 ^ mix(static_cast<std::uint32_t>(lane * 131 + index * 7919 + 17)));
  }
  /// A number from -8 to 8.
  float small(std::uint32_t more, int lane, int index) const {
    return static_cast<float>(static_cast<int>(hash(more, lane, index) % 17) - 8);
  }
  std::uint64_t halves(std::uint32_t more, int lane, int reg, bool is_f16) const {
    std::uint64_t out = 0;
    for (int e = 0; e < 2; ++e) {
      const float x = small(more, lane, 2 * reg + e) * 0.25F;
      out |= std::uint64_t{is_f16 ? half_of(x) : bits_of(x) >> 16} << (16 * e);
    }
    return out;
  }
  std::uint64_t of_f64(std::uint32_t more, int lane, int reg) const {
    const auto high = std::uint64_t{hash(more, lane, reg)} << 32 | hash(more + 1, lane, reg);
    const double x = static_cast<double>(high >> 11) / 9007199254740992.0 * 2 - 1;
    std::uint64_t out = 0;
    std::memcpy(&out, &x, sizeof out);
    return out;
  }
  std::uint64_t metadata(int lane, bool tf32) const {
    static constexpr std::uint64_t kAny[] = {4, 8, 9, 12, 13, 14}, kWhole[] = {4, 14};
    std::uint64_t out = 0;
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t h = hash(29, lane, i);
      out |= (tf32 ? kWhole[h % 2] : kAny[h % 6]) << (4 * i);
    }
    return out;
  }
  std::uint64_t sum(std::string_view format, bool clamped, int lane, int reg) const {
    const std::uint32_t h = hash(13, lane, reg);
    if (format == "f32") return bits_of(small(13, lane, reg) * 0.5F);
    if (format == "f16") return halves(13, lane, reg, true);
    if (format == "f64") return of_f64(13, lane, reg);
    if (clamped) return (h & 1) != 0 ? 0x7FFFF000 + (h >> 20) : 0x80000FFF - (h >> 20);
    return static_cast<std::uint32_t>(static_cast<int>(h % 2001) - 1000);
  }
  std::uint64_t factor(std::string_view format, std::uint32_t more, int lane, int reg) const {
    if (format == "f16" || format == "bf16") return halves(more, lane, reg, format == "f16");
    if (format == "f64") return of_f64(more, lane, reg);
    if (format == "tf32" && full) return (hash(more, lane, reg) & 0x807FFFFF) | 0x3F800000;
    if (format == "tf32") return bits_of(small(more, lane, reg) * 0.25F);
    return hash(more, lane, reg);
  }
  std::uint64_t word(const Instruction& i, const Operand& o, int lane, int reg) const {
    const bool clamped = i.canonical().find("satfinite") != std::string_view::npos;
    if (o.part == Part::c) return sum(o.format, clamped, lane, reg);
    if (o.part == Part::metadata) return metadata(lane, i.find(Part::a)->format == "tf32");
    return factor(o.format, o.part == Part::b ? 7 : 0, lane, reg);
  }
};

/// mma_blockscale: one warp, of one list of words.
struct BlockScaleInputs {
  static std::uint32_t entry(int at) {
    const auto i = static_cast<std::uint32_t>(at);
    if (at >= 256 && at < 288) return 0x4E4E4E4E ^ (i % 2 != 0 ? 0x0A0A0A0A : 0);
    if (at < 192 || at >= 256) return i * 2654435761U ^ (i >> 3) * 40503U;
    std::uint32_t out = 0;
    for (std::uint32_t b = 0; b < 4; ++b) out |= (123 + (i * 7 + b * 3) % 8) << (8 * b);
    return out;
  }
  static std::uint64_t word(const Instruction&, const Operand& o, int lane, int reg) {
    static constexpr std::array kC = {0.0F, 1.0F, -2.0F, 0.25F};
    switch (o.part) {
      case Part::a: return entry(lane + 32 * reg);
      case Part::b: return entry(lane + (reg < 2 ? 128 : 224) + 32 * reg);
      case Part::scale_a: return entry(192 + lane);
      case Part::scale_b: return entry(224 + lane);
      case Part::metadata: return entry(256 + lane);
      default: return bits_of(reg == 0 ? 0.5F * static_cast<float>(lane) : kC[static_cast<std::size_t>(reg)]);
    }
  }
};

template <class Inputs>
Operands operands_of(const Instruction& i, const Inputs& inputs) {
  Operands out;
  for (const Operand& o : i.operands()) {
    Words& words = out.emplace_back();
    if (o.part == Part::d || o.kind == OperandKind::immediate || !o.literals.empty()) continue;
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < o.registers; ++reg) words.push_back(inputs.word(i, o, lane, reg));
  }
  return out;
}

// ---- Transcripts

struct Transcript {
  Instruction instruction;
  std::uint64_t hash;
  bool is_forms;  // else mma_blockscale
  bool full;
};

inline std::vector<Transcript> transcripts() {
  std::vector<Transcript> out;
  const auto add = [&](const std::string& statement, const char* target, const std::string& hash, bool is_forms,
                       bool full) {
    INFO(statement << " on " << target);
    out.push_back({Instruction::parse(statement, Target::find_ptx(target).value()).value(), number(hash),
                   is_forms, full});
  };
  for (const auto& row : table("forms"))
    for (const auto& [column, target] : {std::pair(2, "sm_86"), {3, "sm_89"}, {4, "sm_120"}})
      add(row.at(0), target, row.at(static_cast<std::size_t>(column)), true, row.at(1) == "full");
  for (const auto& row : table("block_scale")) add(row.at(0), "sm_120a", row.at(1), false, false);
  return out;
}

/// The hash of what a computation returns.
inline std::uint64_t hash_of(const Transcript& t, const Compute& compute) {
  constexpr std::uint64_t kStart = 1469598103934665603, kPrime = 1099511628211;
  std::uint64_t out = kStart;
  if (!t.is_forms) {
    const Words d = compute(operands_of(t.instruction, BlockScaleInputs{}));
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint32_t of_lane = 2166136261;
      for (std::size_t reg = 0; reg < 4; ++reg)
        of_lane = (of_lane ^ static_cast<std::uint32_t>(d[4 * lane + reg])) * 16777619;
      out = (out ^ of_lane) * kPrime;
    }
    return out;
  }
  for (const std::uint32_t seed : {1, 2, 3}) {
    std::uint64_t of_warp = kStart;
    for (const std::uint64_t word : compute(operands_of(t.instruction, FormInputs{seed, t.full})))
      for (int byte = 0; byte < 8; ++byte) of_warp = (of_warp ^ (word >> (8 * byte) & 0xFF)) * kPrime;
    out = (out ^ (of_warp + seed)) * kPrime;
  }
  return out;
}

// ---- Computations

/// As everybody computes it.
inline Compute executed(const Instruction& i, Kernel kernel) {
  return [&i, kernel](const Operands& words) {
    const Operand& d = i.operands()[0];
    const Bytes in = bytes_of(i, words);
    const auto each = static_cast<std::size_t>(d.register_bits / 8);
    std::vector<std::byte> bytes(32 * static_cast<std::size_t>(d.registers) * each);
    ExecuteOptions options;
    options.kernel = kernel;
    const auto done = execute_batch(
        i, in.sources, ResultView::dense(bytes.data(), 32, d.registers, d.register_bits), 1, options);
    INFO(i.canonical());
    REQUIRE(done.ok());
    Words out(bytes.size() / each);
    for (std::size_t w = 0; w < out.size(); ++w) std::memcpy(&out[w], &bytes[w * each], each);
    return out;
  };
}

}  // namespace pantheonsim
