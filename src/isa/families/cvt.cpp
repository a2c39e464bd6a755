// SPDX-License-Identifier: Apache-2.0
// cvt between floating-point formats (PTX manual, "Data Movement and Conversion Instructions: cvt").
//
//   cvt{.rnd}{.ftz}{.sat}{.relu}{.satfinite}{.pzo}{.scale}.dtype.atype  d, a {, scale};
//   cvt.rnd{.relu}{.satfinite}{.pzo}{.scale}.dtypex2.f32                d, a, b {, rbits}{, scale};
//   cvt.rs{.relu}.satfinite{.pzo}.dtypex4.f32                           d, {a, b, e, f}, rbits;
#include <fmt/format.h>

#include <bit>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace cvt_family {

using enum FormatId;
using enum CvtRounding;

// ---- The table: one row per pair of types, with sets for roundings and other qualifiers.

enum class Word : std::uint32_t {
  ftz = 1 << 0,
  sat = 1 << 1,
  relu = 1 << 2,
  satfinite = 1 << 3,
  pzo = 1 << 4,
  n1 = 1 << 5,  // the scale factor; likewise n2
  n2 = 1 << 6
};
using Words = Flags<Word>;

enum class Sources {
  one,     // a register with as many elements as the destination
  single,  // f32, an element each: a and b, or a vector of four
};

struct Row {
  FormatSet to, from;
  int count;  // elements
  std::span<const CvtRounding> roundings;
  std::span<const Words> words;
  Features needs;
  Sources sources = Sources::one;
  std::string_view undocumented = "";
};

constexpr CvtRounding kNone[] = {none}, kRn[] = {rn}, kRs[] = {rs}, kRna[] = {rna}, kNearOrZero[] = {rn, rz},
                      kAll[] = {rn, rz, rm, rp}, kAllOrNone[] = {none, rn, rz, rm, rp},
                      kNoneOrIntegral[] = {none, rni, rzi, rmi, rpi}, kZeroOrUp[] = {rz, rp},
                      kDownOrUp[] = {rm, rp}, kRz[] = {rz}, kNearOrZeroOrUp[] = {rn, rz, rp};

constexpr Words kFtz = Word::ftz, kSat = Word::sat, kRelu = Word::relu, kSatfinite = Word::satfinite;
constexpr Words kPlain[] = {{}}, kPlainOrFtz[] = {{}, kFtz}, kPlainOrSat[] = {{}, kSat},
                kFtzSat[] = {{}, kFtz, kSat, kFtz | kSat}, kOnlyFtz[] = {kFtz}, kPlainOrRelu[] = {{}, kRelu},
                kOnlyRelu[] = {kRelu}, kOnlySatfinite[] = {kSatfinite},
                kReluAndSatfinite[] = {kRelu | kSatfinite}, kPlainOrSatfinite[] = {{}, kSatfinite},
                kSatfiniteRelu[] = {kSatfinite, kRelu | kSatfinite},
                kReluSatfinite[] = {{}, kRelu, kSatfinite, kRelu | kSatfinite};

constexpr Words kPzo = Word::pzo, kN1 = Word::n1, kN2 = Word::n2;
// Each of `words`, and with each of `more`.
template <std::size_t N, std::size_t M>
constexpr std::array<Words, N * M> with(const Words (&words)[N], const std::array<Words, M>& more) {
  std::array<Words, N * M> out;
  for (std::size_t i = 0; i < N * M; ++i) out[i] = words[i % N] | more[i / N];
  return out;
}
constexpr std::array<Words, 1> kWithPzo{kPzo}, kWithN1{kN1};
constexpr std::array<Words, 2> kUpToN2{Words{}, kN2};
constexpr std::array<Words, 3> kPzoAndN1{kPzo, kN1, kPzo | kN1};
constexpr std::array<Words, 4> kUpToPzoAndN1{Words{}, kPzo, kN1, kPzo | kN1};
constexpr auto kReluSatfinitePzo = with(kReluSatfinite, kWithPzo);
constexpr auto kReluSatfiniteUpToN2 = with(kReluSatfinite, kUpToN2);
constexpr auto kSatfiniteReluPzo = with(kSatfiniteRelu, kWithPzo);
constexpr auto kSatfiniteReluUpToN2 = with(kSatfiniteRelu, kUpToN2);
constexpr auto kSatfiniteUpToN2 = with(kPlainOrSatfinite, kUpToN2);
constexpr auto kSatfiniteReluPzoN1 = with(kSatfiniteRelu, kPzoAndN1);
constexpr auto kSatfiniteReluUpToPzoN1 = with(kSatfiniteRelu, kUpToPzoAndN1);
constexpr auto kSatfiniteN1 = with(kPlainOrSatfinite, kWithN1);

constexpr Feature kNarrow = Feature::narrow_moves, kStochastic = Feature::stochastic_rounding,
                  kFixed = Feature::fixed_point, kRubin = Feature::sm_107f;
constexpr Features kStochasticRubin = kStochastic | kRubin;
constexpr auto kNothing = "ue8m0x4, of which ptxas 13.0 makes no code";

constexpr Row kRows[] = {
    // to  from  elements  roundings  words  needs
    {f16, f16, 1, kNoneOrIntegral, kPlainOrSat, Feature::sm_70},
    {f32, f16, 1, kNone, kFtzSat, Feature::sm_70},
    {f64, f16, 1, kNone, kPlainOrSat, Feature::sm_70},
    {f16, f32, 1, kAll, kFtzSat, Feature::sm_70},
    {f16, f32, 1, kNearOrZero, kOnlySatfinite, Feature::sm_70},
    {f16, f32, 1, kNearOrZero, kOnlyRelu, Feature::sm_80},
    {f16, f32, 1, kNearOrZero, kReluAndSatfinite, Feature::sm_80},
    {f16, f64, 1, kAll, kPlainOrSat, Feature::sm_70},
    {bf16, bf16, 1, kNoneOrIntegral, kPlain, Feature::sm_90},
    {bf16, f16, 1, kAllOrNone, kPlain, Feature::sm_90},
    {f16, bf16, 1, kAllOrNone, kPlain, Feature::sm_90},
    {f32, bf16, 1, kAllOrNone, kPlain, Feature::sm_80},
    {f32, bf16, 1, kAllOrNone, kOnlyFtz, Feature::sm_90},
    {f64, bf16, 1, kAllOrNone, kPlain, Feature::sm_90},
    {bf16, f32, 1, kAll, kPlainOrFtz, Feature::sm_80},
    {bf16, f32, 1, kNearOrZero, kSatfiniteRelu, Feature::sm_80},
    {bf16, f32, 1, kNearOrZero, kOnlyRelu, Feature::sm_80},
    {bf16, f64, 1, kAll, kPlain, Feature::sm_90},
    {tf32, f32, 1, kRna, kPlainOrSatfinite, Feature::sm_80},
    {tf32, f32, 1, kNearOrZero, kPlainOrRelu, Feature::sm_90},
    {tf32, f32, 1, kNearOrZero, kSatfiniteRelu, Feature::sm_100},

    {f16 | bf16, f32, 2, kNearOrZero, kReluSatfinite, Feature::sm_80, Sources::single},
    {f16 | bf16, f32, 2, kRs, kReluSatfinite, kStochastic, Sources::single},
    {kFp8, f32, 2, kRn, kSatfiniteRelu, Feature::fp8, Sources::single},
    {kFp8, f16, 2, kRn, kSatfiniteRelu, Feature::fp8},
    {f16, kFp8, 2, kRn, kPlainOrRelu, Feature::fp8},
    {kFp6Fp4, f32, 2, kRn, kSatfiniteRelu, kNarrow, Sources::single},
    {kFp6Fp4, f16, 2, kRn, kSatfiniteRelu, kNarrow},
    {kF8f6f4, bf16, 2, kRn, kSatfiniteRelu, kNarrow},
    {bf16, kF8f6f4, 2, kRn, kReluSatfiniteUpToN2, kNarrow},
    {f16, kFp6Fp4, 2, kRn, kPlainOrRelu, kNarrow},
    {ue8m0, f32, 2, kZeroOrUp, kPlainOrSatfinite, kNarrow, Sources::single},
    {ue8m0, bf16, 2, kZeroOrUp, kPlainOrSatfinite, kNarrow},
    {bf16, ue8m0, 2, kRn, kPlain, kNarrow},
    {kFp8 | kFp6Fp4, f32, 4, kRs, kSatfiniteRelu, kStochastic, Sources::single},

    // PTX ISA 9.1 and, with .rz, 9.4
    {s2f6, f32, 2, kNearOrZero, kSatfiniteReluUpToN2, kFixed, Sources::single},
    {s2f6, bf16, 2, kNearOrZero, kSatfiniteReluUpToN2, kFixed},
    {bf16, s2f6, 2, kRn, kReluSatfiniteUpToN2, kFixed},

    // PTX ISA 9.4
    {f16 | bf16, f32, 1, kNearOrZero, kReluSatfinitePzo, kRubin},
    {f16 | bf16, f32, 2, kNearOrZero, kReluSatfinitePzo, kRubin, Sources::single},
    {f16 | bf16, f32, 2, kRs, kReluSatfinitePzo, kStochasticRubin, Sources::single},
    {tf32, f32, 1, kNearOrZero, kReluSatfinitePzo, kRubin},
    {kF8f6f4, f32, 2, kRn, kSatfiniteReluPzoN1, kRubin, Sources::single},
    {kF8f6f4, f16 | bf16, 2, kRn, kSatfiniteReluPzoN1, kRubin},
    {kF8f6f4, f32, 2, kRz, kSatfiniteReluUpToPzoN1, kRubin, Sources::single},
    {kF8f6f4, f16 | bf16, 2, kRz, kSatfiniteReluUpToPzoN1, kRubin},
    {kF8f6f4, f32, 4, kRs, kSatfiniteReluPzo, kStochasticRubin, Sources::single},
    {ue5m3, f32, 2, kNearOrZeroOrUp, kPlainOrSatfinite, kRubin, Sources::single},
    {ue5m3, f16 | bf16, 2, kNearOrZeroOrUp, kPlainOrSatfinite, kRubin},
    {ue5m3, f32, 2, kNearOrZero, kSatfiniteN1, kRubin, Sources::single},
    {ue5m3, f16 | bf16, 2, kNearOrZero, kSatfiniteN1, kRubin},
    {f16, ue5m3, 2, kRn, kPlain, kRubin},
    {bf16, ue5m3, 2, kRn, kSatfiniteUpToN2, kRubin},

    {ue8m0, f32, 4, kNearOrZero, kReluSatfinite, Feature::sm_75, Sources::single, kNothing},
    {ue8m0, f32, 4, kDownOrUp, kPlainOrSatfinite, Feature::sm_75, Sources::single, kNothing},
};

// ---- Registers: the accepted types for one format depend on the other one.

constexpr LiteralRule kFloats{.f32 = kAnywhere, .f64 = kAnywhere}, kDoubles{.f64 = kAlone};

// e2m1 fills nibbles, other narrow formats their bytes.
int slot_bits(FormatId id) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(format(id).bits)));
}

// For `id` beside `other`.
const RegisterClass& registers(FormatId id, int count, FormatId other) {
  static constexpr RegisterClass kByte{"b8", 8, "b8"}, kB16{"b16", 16, "b16"}, kB32{"b32", 32, "b32"},
      kF16{"b16", 16, "b16 f16 b32 b64 b128"}, kF16Bf16{"b16", 16, "b16 f16"}, kF16x2{"b32", 32, "b32 f16x2"},
      kWideF16x2{"b32", 32, "b32 f16x2 b64 b128"}, kF32{"f32", 32, "f32 b32", kFloats},
      kWideF32{"f32", 32, "f32 b32 b64 b128", kFloats}, kF64{"f64", 64, "f64 b64", kDoubles},
      kWideF64{"f64", 64, "f64 b64 b128", kDoubles};
  if (id == f64) return other == f16 ? kWideF64 : kF64;
  if (id == f32) return other == f16 ? kWideF32 : kF32;
  if (id == f16 && count == 1) return other == bf16 ? kF16Bf16 : kF16;
  if (id == f16) return other == f32 ? kWideF16x2 : kF16x2;
  if (id == bf16 && count == 2 && other == ue8m0) return kAnyWord;
  const int bits = slot_bits(id) * count;
  return bits == 8 ? kByte : bits == 16 ? kB16 : kB32;
}

// `count` elements in a register, the lowest first.
FragmentMap packed(FormatId id, int count) {
  const int slot = slot_bits(id);
  return {1, count, 1, {slot * count, slot, 0, format(id).bits}, {}, {{count, {0, 1}}}};
}

OperandSpec packed_operand(std::string_view role, Part part, FormatId id, int count, FormatId other) {
  return scalar_operand(role, part, registers(id, count, other), id, packed(id, count));
}

std::vector<OperandSpec> operands(const Row& row, FormatId to, FormatId from, CvtRounding rounding,
                                  Words words) {
  static constexpr RegisterClass kRandom{"b32", 32, "b32"};
  std::vector<OperandSpec> out = {packed_operand("d", Part::d, to, row.count, from)};
  if (row.sources == Sources::one) {
    out.push_back(packed_operand("a", Part::source, from, row.count, to));
    if (rounding == rna) out.back().registers = &accumulator_registers(f32);  // ptxas has no doubles here
  } else if (row.count == 2) {
    out.push_back(packed_operand("a", Part::source, from, 1, to));
    out.push_back(packed_operand("b", Part::source, from, 1, to));
  } else {
    out.push_back(vector_operand("abcd", Part::source, registers(from, 1, to), from,
                                 packed(from, 1).tiled(1, row.count, {row.count, {0, 1}})));
  }
  if (rounding == rs) out.push_back(scalar_operand("rbits", Part::random_bits, kRandom, b32, packed(b32, 1)));
  const int scales = words.has(Word::n1) ? 1 : words.has(Word::n2) ? 2 : 0;
  if (scales > 0) out.push_back(packed_operand("scale", Part::scale_factor, ue8m0, scales, to));
  return out;
}

// ---- Expansion

constexpr std::array kSlots{
    kRounding,
    QualifierSlot{.what = "qualifier .ftz", .group = "ftz", .required = false},
    QualifierSlot{.what = "qualifier .sat", .group = "sat", .required = false, .repeatable = true},
    QualifierSlot{.what = "qualifier .relu", .group = "relu", .required = false, .repeatable = true},
    QualifierSlot{.what = "qualifier .satfinite", .group = "satfinite", .required = false, .repeatable = true},
    QualifierSlot{.what = "qualifier .pzo", .group = "pzo", .required = false},
    QualifierSlot{.what = "scale factors", .group = "scaled", .required = false},
    kTypeOfD,
    kTypeOfA,
};

std::string type(FormatId id, int count) {
  return count == 1 ? std::string(qualifier(id)) : fmt::format("{}x{}", qualifier(id), count);
}

Form make_form(const Row& row, FormatId to, FormatId from, CvtRounding rounding, Words words) {
  const auto word = [&](Word w, std::string_view text) { return words.has(w) ? text : ""; };
  Form out = make_form("cvt",
                       {name(rounding), word(Word::ftz, "ftz"), word(Word::sat, "sat"),
                        word(Word::relu, "relu"), word(Word::satfinite, "satfinite"), word(Word::pzo, "pzo"),
                        words.has(Word::n1) ? "scaled::n1::ue8m0" : word(Word::n2, "scaled::n2::ue8m0"),
                        type(to, row.count), type(from, row.sources == Sources::one ? row.count : 1)},
                       {1, row.count}, row.needs, {Unit::cvt, to, from, from, to});
  out.undocumented = row.undocumented;
  out.action = Elementwise{Conversion{.from = from,
                                      .to = to,
                                      .rounding = rounding,
                                      .ftz = words.has(Word::ftz),
                                      .sat = words.has(Word::sat),
                                      .satfinite = words.has(Word::satfinite),
                                      .relu = words.has(Word::relu),
                                      .pzo = words.has(Word::pzo),
                                      .scaling = words.has(Word::n1)   ? Scaling::n1
                                                 : words.has(Word::n2) ? Scaling::n2
                                                                       : Scaling::none}};
  if (out.undocumented.empty()) out.operands = operands(row, to, from, rounding, words);
  return out;
}

std::vector<Form> expand() {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const FormatId to : types_in(row.to))
      for (const FormatId from : types_in(row.from))
        for (const CvtRounding rounding : row.roundings)
          for (const Words words : row.words) out.push_back(make_form(row, to, from, rounding, words));
  return out;
}

constexpr SinceRow kSince[] = {
    {".f32.bf16", {7, 1}},
    {"satfinite !e4m3x2|e5m2x2", {8, 1}},
    {"e4m3x2|e5m2x2", {7, 8}},
    {"e4m3x2|e5m2x2", {8, 1}, "sm_89"},
    {"rs", {8, 7}},
    {".e2m3x2.f16x2|.e3m2x2.f16x2", {9, 1}},
    {".e4m3x2.bf16x2|.e5m2x2.bf16x2|.e3m2x2.bf16x2|.e2m3x2.bf16x2|.e2m1x2.bf16x2", {9, 1}},
    {"s2f6x2", {9, 1}},
    {".bf16x2.e4m3x2|.bf16x2.e5m2x2|.bf16x2.e3m2x2|.bf16x2.e2m3x2|.bf16x2.e2m1x2", {9, 2}},
    {"rz e4m3x2|e5m2x2|e3m2x2|e2m3x2|e2m1x2|s2f6x2", {9, 4}},
    {"pzo|scaled::n1::ue8m0|ue5m3x2", {9, 4}},
};

}  // namespace cvt_family
}  // namespace

void add_cvt(std::vector<Family>& out) {
  using namespace cvt_family;
  out.push_back({"cvt", "cvt", {}, kSlots, FormList(expand), kSince});
}

}  // namespace warpbit
