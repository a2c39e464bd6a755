// SPDX-License-Identifier: Apache-2.0
// The rows: for each GPU the plans of its operand classes, then the targets. NUMERICS.md explains every
// number.
#include <algorithm>
#include <array>

#include "target/target.hpp"

namespace warpbit {
namespace {

using enum FormatId;
using enum Unit;

// ---- Grounds

constexpr Ground kH200{Basis::captured, "golden/sm_90a/mma, H200"};
constexpr Ground kH200Sparse{Basis::captured, "golden/sm_90a/mma_sp, H200"};
constexpr Ground kAsHopper{Basis::inferred, "assumed as captured on sm_90a"};
constexpr Ground kFloorOfHawkeye{Basis::value_only,
                                 "measured by others: Hawkeye, MLSys 2026, has -132 for an A100"};
constexpr Ground kFloorAsHawkeye{
    Basis::inferred, "assumed as for bf16 on sm_80, which others measured: -132, Hawkeye, MLSys 2026"};
constexpr Ground kFloorOfModels{Basis::inferred, "published models; no result reaches the floor"};
constexpr Ground kFloorAssumed{Basis::inferred, "assumed as on sm_80; no result reaches the floor"};
constexpr Ground kFloorOutOfReach{Basis::inferred, "no sum of these types is small enough to show it"};
constexpr Ground kMmaSim{Basis::inferred, "the MMA-Sim model"};

constexpr Evidence all(Ground ground) {
  return {ground, ground, ground, ground};
}
// For types whose products are too large for a floor to be visible (probes/invisible.cpp proves that).
constexpr Evidence no_floor(Evidence evidence) {
  evidence.floor = kFloorOutOfReach;
  return evidence;
}
// Published inner products: 2,500 per GPU and class, with values near 1, so they prove order and window only; what they leave
// open even of these, the grounds say after "but for" (tests/published_test.cpp).
constexpr Evidence published(std::string_view order, std::string_view window, Ground floor) {
  return {{Basis::published, order}, {Basis::published, window}, floor, kAsHopper};
}
constexpr Evidence published(std::string_view gpu, Ground floor) {
  return published(gpu, gpu, floor);
}
constexpr std::string_view kV100 = "MATLAB-tensor-core, V100";
constexpr std::string_view kV100F16 = "MATLAB-tensor-core, V100, but for F and ties to even";
constexpr std::string_view kAda = "MATLAB-tensor-core, Ada and L40S";
constexpr std::string_view kB200 = "MATLAB-tensor-core, B200";
// Transcripts (NUMERICS.md, "published, PantheonSim").
constexpr Ground by_pantheonsim(std::string_view from) {
  return {Basis::published, from};
}
constexpr Ground kRtx3060 = by_pantheonsim("PantheonSim, RTX 3060");
constexpr Ground kL40s = by_pantheonsim("PantheonSim, L40S");
constexpr Ground kRtxPro = by_pantheonsim("PantheonSim, RTX PRO 6000");
constexpr Evidence kModel{kMmaSim, kMmaSim, kFloorAssumed, kAsHopper};
constexpr Ground kExactSums{Basis::inferred,
                            "the MMA-Sim model; PantheonSim's sums on an RTX PRO 6000 are exact"};
constexpr Evidence kModelHopper{kMmaSim, kMmaSim, kAsHopper, kAsHopper};
constexpr Evidence kModelExact{kExactSums, kExactSums, kAsHopper, kAsHopper};

// ---- Plans

struct Window {
  int fraction;   // F
  int floor_f32;  // floor of E with f32 D, and with f16 D
  int floor_f16;
};
constexpr Window kVolta{23, -132, -20};
constexpr Window kTuringToAda{24, -132, -20};
constexpr Window kAdaFp8{13, -132, -20};
constexpr Window kHopper{25, -133, -21};

constexpr Fused to_f32(int products, Window w, int kept_fraction_bits = 23) {
  return {products, w.fraction, w.floor_f32, f32, kept_fraction_bits, Rounding::toward_zero};
}
constexpr Fused to_f16(int products, Window w) {
  return {products, w.fraction, w.floor_f16, f16, 10, Rounding::nearest_even};
}
constexpr Fused from_zero(Fused f) {
  f.start = Start::zero;
  return f;
}
constexpr Fused over(KSet k, Fused f) {
  f.k = k;
  return f;
}
constexpr KSet kLowPair{4, 0b0011}, kHighPair{4, 0b1100};  // k % 4 in {0, 1}; in {2, 3}
constexpr auto kNearest = Rounding::nearest_even;

// ---- Blocks shared by several GPUs

// Integers and bits. Sums that wrap show no order; those that are clamped are, after each so many products.
struct Integers {
  int s8, s4;  // L
  std::string_view s4_machine, xor_machine, and_machine;
};
constexpr Integers kTuringToAdaIntegers{16, 32, "IMMA", "BMMA", "BMMA"};  // 128 bits of K
constexpr Integers kHopperIntegers{kWholeDepth, kWholeDepth, "2 IMMA (s8)", "2 BMMA (and)", "BMMA"};
constexpr Integers kBlackwellIntegers{kWholeDepth, kWholeDepth, "2 IMMA (s8)", "IMMA, MOVM", "IMMA, MOVM"};

struct IntegerEvidence {
  Evidence s8, s8_clamped, s4, s4_clamped, b1;
};
// Those with s8, with s4, with b1; sparse ones end before the last.
constexpr std::array<PlanRow, 6> integer_rows(const Integers& how, const IntegerEvidence& on) {
  const auto sum = [](FormatSet types, Evidence evidence, std::string_view machine) {
    return PlanRow{{mma, s32, types, types, s32}, {IntegerSum{Overflow::ieee}}, evidence, machine};
  };
  const auto clamped = [](FormatSet types, int products, Evidence evidence, std::string_view machine) {
    return PlanRow{{mma, s32, types, types, s32, Modifier::satfinite},
                   {IntegerSum{Overflow::saturate, products}},
                   evidence,
                   machine};
  };
  const auto count = [&](Modifier modifier, BitOperation operation, std::string_view machine) {
    return PlanRow{{mma, s32, b1, b1, s32, modifier}, {BitCount{operation}}, on.b1, machine};
  };
  return {sum(kS8, on.s8, "IMMA"),
          clamped(kS8, how.s8, on.s8_clamped, "IMMA"),
          sum(kS4, on.s4, how.s4_machine),
          clamped(kS4, how.s4, on.s4_clamped, how.s4_machine),
          count(Modifier::xor_popc, BitOperation::xor_, how.xor_machine),
          count(Modifier::and_popc, BitOperation::and_, how.and_machine)};
}
constexpr std::size_t kWithoutBits = 4, kWithoutAnd = 5;

// Of a GPU that was asked without a rounding, to nearest even, and with each but .rn.
struct F64Evidence {
  Evidence none, rn, others;
};
constexpr PlanRow f64_row(Modifier modifier, Rounding rounding, Evidence evidence, std::string_view machine) {
  return {{mma, f64, f64, f64, f64, modifier},
          {FmaChain{f64, rounding, NanRule::first_of_b_sum_a}},
          evidence,
          machine};
}
constexpr std::array<PlanRow, 5> f64_rows(std::string_view machine, const F64Evidence& on) {
  return {f64_row(Modifier::none, kNearest, on.none, machine), f64_row(Modifier::rn, kNearest, on.rn, machine),
          f64_row(Modifier::rz, Rounding::toward_zero, on.others, machine),
          f64_row(Modifier::rm, Rounding::down, on.others, machine),
          f64_row(Modifier::rp, Rounding::up, on.others, machine)};
}
constexpr std::string_view kDmmaByShape = "1, 2, 4 or 8 DMMA.884 by shape";

// FMA on CUDA cores: IEEE 754, and which NaN, as the instruction alone has it.
constexpr Ground kH200Fma{Basis::captured, "golden/products, H200"};
constexpr Ground kH100Scalar{Basis::captured, "golden-digests/scalar, H100"};
constexpr Evidence kFma{kH200Fma, kH200Fma, kH200Fma, kH100Scalar};
constexpr PlanRow chain_of(FormatId factor) {
  return {{chain, f32, factor, factor, f32}, {FmaChain{f32, kNearest, NanRule::canonical}}, kFma, "FFMA"};
}
constexpr std::array kChainRows{
    chain_of(f32),
    chain_of(f16),
    chain_of(bf16),
    PlanRow{{chain, f64, f64, f64, f64}, {FmaChain{f64, kNearest, NanRule::first_of_b_sum_a}}, kFma, "DFMA"},
    PlanRow{{chain, f32, f32, f32, f32, Modifier::separate},
            {FmaChain{f32, kNearest, NanRule::canonical, Start::running, false}},
            all(kH100Scalar),
            "FMUL, FADD"},
    PlanRow{{chain, f64, f64, f64, f64, Modifier::separate},
            {FmaChain{f64, kNearest, NanRule::first_of_b_sum_a, Start::running, false}},
            {kH100Scalar, kH100Scalar, kH100Scalar, {Basis::inferred, "which NaN: assumed as of DFMA"}},
            "DMUL, DADD"},
};

// mma.m8n8k4 with f16 operands, which the toolkit emulates without the tensor core from sm_80 on.
constexpr std::array kM8n8k4EmulatedRows{
    PlanRow{{mma_m8n8k4, f32, f16, f16, f32},
            {FmaChain{f32, kNearest, NanRule::canonical, Start::zero}, Add{f32, kNearest}},
            all(kH200),
            "FFMA, FADD"},
    PlanRow{{mma_m8n8k4, f32, f16, f16, f16},
            {FmaChain{f32, kNearest, NanRule::canonical, Start::zero}, Add{f32, kNearest}},
            all(kH200),
            "FFMA, FADD"},
    PlanRow{{mma_m8n8k4, f16, f16, f16, f16},
            {Convert{f32, kNearest}, PairSums{f32, kNearest}, Convert{f16, kNearest}},
            all(kH200),
            "FMUL, FFMA, FADD, F2FP"},
};

// e4m3 and e5m2 where the toolkit lowers them to two f16 instructions, starting from zero, and adds C at the
// end.
constexpr PlanRow fp8_lowered_f32(Evidence evidence) {
  return {{mma, f32, kFp8, kFp8, f32},
          {f16,
           {over(kLowPair, from_zero(to_f32(16, kHopper))), over(kHighPair, to_f32(16, kHopper)),
            Add{f32, kNearest}}},
          evidence,
          "2 HMMA (f16), FADD"};
}
constexpr PlanRow fp8_lowered_f16(Evidence evidence) {
  return {{mma, f16, kFp8, kFp8, f16},
          {f16,
           {over(kLowPair, from_zero(to_f16(16, kHopper))), over(kHighPair, to_f16(16, kHopper)),
            Add{f16, kNearest}}},
          evidence,
          "2 HMMA (f16), HADD2"};
}

// ---- Volta: sm_70, sm_72

constexpr std::array kVoltaRows{
    PlanRow{{mma_m8n8k4, f32, f16, f16, f32}, {to_f32(4, kVolta)}, published(kV100, kFloorAssumed), "HMMA.884"},
    PlanRow{{mma_m8n8k4, f16, f16, f16, f16},
            {to_f16(4, kVolta)},
            published(kV100, kV100F16, kFloorAssumed),
            "HMMA.884"},
    PlanRow{{mma_m8n8k4, f32, f16, f16, f16},
            {Convert{f32, kNearest}, to_f32(4, kVolta)},
            all({Basis::inferred, "the row with f32 C; that an f16 C is converted first, from sm_90a wmma"}),
            "HMMA.884"},
};

// ---- Turing: sm_75

constexpr std::array kTuringRows{
    PlanRow{{mma, f32, f16, f16, f32}, {to_f32(8, kTuringToAda)}, kModel, "HMMA"},
    PlanRow{{mma, f16, f16, f16, f16}, {to_f16(8, kTuringToAda)}, kModel, "HMMA"},
    PlanRow{{mma_m8n8k4, f32, f16, f16, f32}, {to_f32(4, kTuringToAda)}, kModel, "4 HMMA.884"},
    PlanRow{{mma_m8n8k4, f16, f16, f16, f16}, {to_f16(4, kTuringToAda)}, kModel, "2 HMMA.884"},
    PlanRow{{mma_m8n8k4, f32, f16, f16, f16},
            {Convert{f32, kNearest}, to_f32(4, kTuringToAda)},
            kModel,
            "4 HMMA.884"},
};

// ---- Ampere: sm_80, sm_86, sm_87, sm_88; and the rows that Ada, sm_89, shares

// What published results of a GPU show.
struct Publication {
  std::string_view order;   // all but that deeper instructions are chains of nodes
  std::string_view window;  // F and the rounding of f32 results
  std::string_view f16;     // the rounding of f16 results
  Ground floor_of_bf16 = kFloorAsHawkeye;
};
constexpr Publication kOfA100{"MATLAB-tensor-core, A100, but for deeper shapes", "MATLAB-tensor-core, A100",
                              "MATLAB-tensor-core, A100, but for F and ties to even", kFloorOfHawkeye};
constexpr Publication kOfA2{"MATLAB-tensor-core, A2, but for deeper shapes", "MATLAB-tensor-core, A2",
                            "MATLAB-tensor-core, A2, but for F and ties to even"};
constexpr Publication kOfAda{"MATLAB-tensor-core, Ada and L40S, but for deeper shapes", kAda,
                             "MATLAB-tensor-core, Ada and L40S, but for F"};

constexpr std::array<PlanRow, 4> ampere_rows(const Publication& p) {
  const auto row = [&](FormatId d, FormatId ab, const Fused& node, std::string_view window, Ground floor) {
    return PlanRow{{mma, d, ab, ab, d}, {node}, published(p.order, window, floor), "HMMA"};
  };
  return {
      row(f32, f16, to_f32(8, kTuringToAda), p.window, kFloorOutOfReach),
      row(f16, f16, to_f16(8, kTuringToAda), p.f16, kFloorOfModels),
      row(f32, bf16, to_f32(8, kTuringToAda), p.window, p.floor_of_bf16),
      row(f32, tf32, to_f32(4, kTuringToAda), p.window, kFloorAsHawkeye),
  };
}
constexpr auto kAmpereRows = ampere_rows(kOfA100);
constexpr auto kAmpereA2Rows = ampere_rows(kOfA2);

// ---- Ada: sm_89

constexpr auto kAdaRows = ampere_rows(kOfAda);
constexpr std::array kAdaFp8Rows{
    PlanRow{{mma, f32, kFp8, kFp8, f32}, {to_f32(16, kAdaFp8, 13)}, published(kAda, kFloorOfModels), "QMMA"},
    PlanRow{{mma, f16, kFp8, kFp8, f16},
            {to_f16(16, kAdaFp8)},
            published("MATLAB-tensor-core, Ada", kFloorOfModels),
            "QMMA"},
};

// ---- Hopper: sm_90, sm_90a; and Blackwell for data centres: sm_100, sm_103, sm_110

constexpr std::array<PlanRow, 6> hopper_rows(Evidence evidence) {
  return {
      PlanRow{{mma, f32, f16, f16, f32}, {to_f32(16, kHopper)}, no_floor(evidence), "HMMA"},
      PlanRow{{mma, f16, f16, f16, f16}, {to_f16(16, kHopper)}, evidence, "HMMA"},
      PlanRow{{mma, f32, bf16, bf16, f32}, {to_f32(16, kHopper)}, evidence, "HMMA"},
      PlanRow{{mma, f32, tf32, tf32, f32}, {to_f32(8, kHopper)}, evidence, "HMMA"},
      fp8_lowered_f32(no_floor(evidence)),
      fp8_lowered_f16(no_floor(evidence)),
  };
}
constexpr auto kHopperRows = hopper_rows(all(kH200));
constexpr auto kHopperSparseRows = hopper_rows(all(kH200Sparse));
// Sparse 8-bit types with f16 D do not exist.
constexpr std::span<const PlanRow> kHopperSparse = std::span(kHopperSparseRows).first<5>();
// With FP8 nearly all sums are exact, whatever F is.
constexpr std::array<PlanRow, 6> blackwell_rows() {
  std::array<PlanRow, 6> rows = hopper_rows(published(kB200, kAsHopper));
  const auto but_for = [&](std::size_t row, std::string_view order, std::string_view window) {
    rows[row].evidence.order.from = order;
    rows[row].evidence.window.from = window;
  };
  but_for(1, kB200, "MATLAB-tensor-core, B200, but for F and ties to even");
  but_for(3, "MATLAB-tensor-core, B200, but for deeper shapes", kB200);
  but_for(4, "MATLAB-tensor-core, B200, but for L and order",
          "MATLAB-tensor-core, B200, but for F and fraction bits and rounding");
  but_for(5, kB200, "MATLAB-tensor-core, B200, but for F");
  return rows;
}
constexpr auto kBlackwellRows = blackwell_rows();

// ---- Blackwell for workstations: sm_120, sm_121

constexpr Ground kRtxProWindow = by_pantheonsim("PantheonSim, RTX PRO 6000, but for zero products");
constexpr Evidence kNarrowPro{by_pantheonsim("PantheonSim, RTX PRO 6000, but for C"), kRtxProWindow, kAsHopper,
                              kAsHopper};
constexpr std::array kRtxBlackwellRows{
    PlanRow{{mma, f32, f16, f16, f32}, {to_f32(16, kHopper)}, kModelExact, "HMMA"},
    PlanRow{{mma, f16, f16, f16, f16}, {to_f16(16, kHopper)}, kModelExact, "HMMA"},
    PlanRow{{mma, f32, bf16, bf16, f32}, {to_f32(16, kHopper)}, kModelExact, "HMMA"},
    PlanRow{{mma, f32, tf32, tf32, f32}, {to_f32(8, kHopper)}, kModelExact, "HMMA"},
    PlanRow{{mma, f32, kF8f6f4, kF8f6f4, f32}, {to_f32(32, kHopper)}, kNarrowPro, "QMMA"},
    PlanRow{{mma, f16, kF8f6f4, kF8f6f4, f16}, {to_f16(32, kHopper)}, kModelHopper, "QMMA"},
};

// Block scaling: mxf8f6f4 adds the scales' exponents to those of each product; mxf4 and mxf4nvf4 scale exact
// sums of 16.
constexpr Ground kScaleModels{Basis::inferred, "MMA-Sim's model of sm_120; no result shows it"};
constexpr Evidence kScalePro{kRtxPro, kRtxProWindow, kScaleModels, kScaleModels};
constexpr Evidence kSparseScalePro{
    kRtxPro, by_pantheonsim("PantheonSim, RTX PRO 6000, but for exponents and zero products"), kScaleModels,
    kScaleModels};
constexpr Ground kFp4Models{
    Basis::inferred,
    "MMA-Sim's model of sm_120, which differs from a model fitted to sm_100; PantheonSim's hashes of an RTX PRO 6000 show F of 33 "
    "or more, toward zero (NUMERICS.md, \"Block scaling\")"};
constexpr std::array kBlockScaleRows{
    PlanRow{{block_scale, f32, kF8f6f4, kF8f6f4, f32}, {to_f32(32, kHopper)}, kScalePro, "QMMA.SF"},
    PlanRow{{block_scale, f32, e2m1, e2m1, f32, Modifier::packed_fp4},
            {GroupScaled{16, 35, -139, f32, Rounding::toward_zero}},
            all(kFp4Models),
            "OMMA.SF"},
};

// ---- wmma.mma: the machine instructions of mma, except tf32 in steps of 4, and mixed accumulators in f32

constexpr std::array<PlanRow, 6> wmma_rows(int products, Window w, Evidence evidence) {
  const Evidence of_f16 = no_floor(evidence);
  return {
      PlanRow{{wmma, f32, f16, f16, f32}, {to_f32(products, w)}, of_f16, "2 HMMA"},
      PlanRow{{wmma, f16, f16, f16, f16}, {to_f16(products, w)}, evidence, "2 HMMA"},
      PlanRow{
          {wmma, f32, f16, f16, f16}, {Convert{f32, kNearest}, to_f32(products, w)}, of_f16, "HADD2, 2 HMMA"},
      PlanRow{
          {wmma, f16, f16, f16, f32}, {to_f32(products, w), Convert{f16, kNearest}}, of_f16, "2 HMMA, F2FP"},
      PlanRow{{wmma, f32, bf16, bf16, f32}, {to_f32(products, w)}, evidence, "2 HMMA"},
      PlanRow{{wmma, f32, tf32, tf32, f32}, {to_f32(4, w)}, evidence, "4 HMMA"},
  };
}
constexpr Ground kH200Wmma{Basis::captured, "golden/sm_90a/wmma_mma, H200"};
constexpr Ground kAsMma{Basis::inferred,
                        "this target's mma; that wmma becomes its machine instructions, sm_90a captures"};
constexpr auto kWmmaAmpereRows = wmma_rows(8, kTuringToAda, all(kAsMma));
constexpr auto kWmmaHopperRows = wmma_rows(16, kHopper, all(kH200Wmma));
constexpr auto kWmmaBlackwellRows = wmma_rows(16, kHopper, all(kAsMma));

// ---- wgmma on sm_90a: one node for the whole depth

constexpr Window kHopperFp8{13, -133, -21};
constexpr Ground kH200Wgmma{Basis::captured, "golden/sm_90a/wgmma, H200"};
constexpr Ground kH200WgmmaSp{Basis::captured, "golden/sm_90a/wgmma_sp, H200"};
constexpr std::array<PlanRow, 6> wgmma_rows(Evidence evidence) {
  return {
      PlanRow{{wgmma, f32, f16, f16, f32}, {to_f32(16, kHopper)}, no_floor(evidence), "HGMMA"},
      PlanRow{{wgmma, f16, f16, f16, f16}, {to_f16(16, kHopper)}, evidence, "HGMMA"},
      PlanRow{{wgmma, f32, bf16, bf16, f32}, {to_f32(16, kHopper)}, evidence, "HGMMA"},
      PlanRow{{wgmma, f32, tf32, tf32, f32}, {to_f32(8, kHopper)}, evidence, "HGMMA"},
      PlanRow{{wgmma, f32, kFp8, kFp8, f32}, {to_f32(32, kHopperFp8, 13)}, no_floor(evidence), "QGMMA"},
      PlanRow{{wgmma, f16, kFp8, kFp8, f16}, {to_f16(32, kHopperFp8)}, no_floor(evidence), "QGMMA"},
  };
}
constexpr auto kWgmmaRows = wgmma_rows(all(kH200Wgmma));
constexpr auto kWgmmaSpRows = wgmma_rows(all(kH200WgmmaSp));
constexpr std::array kWgmmaIntegerRows{
    PlanRow{{wgmma, s32, kS8, kS8, s32}, {IntegerSum{Overflow::ieee}}, all(kH200Wgmma), "IGMMA"},
    PlanRow{{wgmma, s32, kS8, kS8, s32, Modifier::satfinite},
            {IntegerSum{Overflow::saturate}},
            all(kH200Wgmma),
            "IGMMA"},
};
constexpr std::array kWgmmaBitRows{
    PlanRow{{wgmma, s32, b1, b1, s32, Modifier::and_popc},
            {BitCount{BitOperation::and_}},
            all(kH200Wgmma),
            "BGMMA"},
};

// ---- tcgen05 on sm_100, sm_103, sm_110: one node for the whole depth, without a floor. Which element types there are, the
// instruction descriptor says.

constexpr Window kTensorCore5{25, kNoFloor, kNoFloor};
// Which parameters no published word shows, the grounds say after "but for"; none of those of an inferred ground is shown
// (tests/row_mutants_test.cpp).
constexpr Ground words(std::string_view from) {
  return {Basis::published, from};
}
constexpr Ground kWordsB200 = words("tcgen05-model, words of a B200 (tests/published)");
constexpr Ground kWordsButForL = words("tcgen05-model, words of a B200 (tests/published), but for L");
constexpr Ground kWordsButForF = words("tcgen05-model, words of a B200 (tests/published), but for F");
constexpr Ground kWordsButForZero =
    words("tcgen05-model, words of a B200 (tests/published), but for sign of zero");
constexpr Ground kWordsOfSpecials =
    words("tcgen05-model, words of a B200 (tests/published), but for overflow and sign of zero");
constexpr Ground kWordsOfRoundings = words(
    "tcgen05-model, words of a B200 (tests/published), but for F and exponents and fraction bits and rounding and zero products");
constexpr Ground kWordsOfBits = words(
    "tcgen05-model, words of a B200 (tests/published), but for F and exponents and rounding and zero products");
constexpr Ground kWordsOfGroups =
    words("tcgen05-model, words of a B200 (tests/published), but for F and exponents and zero products");
constexpr Ground kModelB200{Basis::inferred, "tcgen05-model, fitted to a B200; no published word shows it"};
constexpr Ground kNoFloorOfModel{
    Basis::inferred,
    "tcgen05-model; MMA-Sim has -133, and no published word shows it (NUMERICS.md, \"tcgen05\")"};
constexpr Ground kLeastOfModel{
    Basis::inferred,
    "tcgen05-model; MMA-Sim has a floor of -139, and no published word shows it (NUMERICS.md, \"tcgen05\")"};
constexpr Evidence kB200F16{kModelB200, kWordsOfRoundings, kFloorOutOfReach, kWordsButForZero};
constexpr Evidence kB200Bf16{kModelB200, kModelB200, kNoFloorOfModel, kWordsButForZero};
constexpr Evidence kB200Tf32{kWordsButForL, kWordsOfRoundings, kNoFloorOfModel, kWordsButForZero};
constexpr Evidence kB200F8{kModelB200, kWordsOfBits, kFloorOutOfReach, kWordsButForZero};
constexpr Evidence kB200F8Specials{kModelB200, kModelB200, kNoFloorOfModel, kWordsOfSpecials};
constexpr Evidence kB200Integers{kWordsB200, kWordsB200, kWordsB200, kModelB200};
constexpr Evidence kB200Groups{kWordsButForL, kWordsOfGroups, kLeastOfModel, kWordsOfSpecials};
constexpr Evidence kB200Windowed{kWordsButForL, kWordsButForF, kFloorOutOfReach, kWordsB200};
constexpr Ground kClampTensor{Basis::inferred,
                              "as captured of wgmma on sm_90a: one clamp; no published word reaches the limit"};
constexpr std::array kTensorCore5Rows{
    PlanRow{{tcgen05, f32, f16, f16, f32}, {to_f32(16, kTensorCore5)}, kB200F16, "UTCHMMA"},
    PlanRow{{tcgen05, f16, f16, f16, f16}, {to_f16(16, kTensorCore5)}, all(kModelB200), "UTCHMMA"},
    PlanRow{{tcgen05, f32, bf16, bf16, f32}, {to_f32(16, kTensorCore5)}, kB200Bf16, "UTCHMMA"},
    PlanRow{{tcgen05, f32, tf32, tf32, f32}, {to_f32(8, kTensorCore5)}, kB200Tf32, "UTCHMMA"},
    PlanRow{{tcgen05, f32, kF8f6f4, kF8f6f4, f32}, {to_f32(32, kTensorCore5)}, kB200F8, "UTCQMMA"},
    PlanRow{{tcgen05, f16, kF8f6f4, kF8f6f4, f16},
            {to_f16(32, kTensorCore5)},
            no_floor(kB200F8Specials),
            "UTCQMMA"},
    PlanRow{{tcgen05, s32, kS8, kS8, s32}, {IntegerSum{Overflow::ieee}}, kB200Integers, "UTCIMMA"},
    PlanRow{{tcgen05, s32, kS8, kS8, s32, Modifier::satfinite},
            {IntegerSum{Overflow::saturate}},
            {kClampTensor, kWordsB200, kWordsB200, kClampTensor},
            "UTCIMMA"},
};
// sm_107 alone. A sum beyond 32 bits is refused where the instruction is executed: the manual has no clamp, and does not say that
// it wraps.
constexpr std::array kSignMagnitudeRows{
    PlanRow{{tcgen05, s32, s1z4m11, s1z4m11, s32},
            {IntegerSum{Overflow::ieee}},
            all({Basis::inferred, "PTX ISA 9.4, tcgen05.mma: factors of 11 bits and a sign, sums in s32"}),
            "unknown"},
};
constexpr std::array kTensorCore5ScaleRows{
    PlanRow{{tcgen05_block_scale, f32, kF8f6f4, kF8f6f4, f32},
            {to_f32(32, kTensorCore5)},
            kB200F8Specials,
            "UTCQMMA"},
    PlanRow{{tcgen05_block_scale, f32, e2m1, e2m1, f32, Modifier::packed_fp4},
            {GroupScaled{16, 35, kNoFloor, f32, Rounding::toward_zero, -174}},
            kB200Groups,
            "UTCOMMA"},
    PlanRow{{tcgen05_block_scale, f32, e2m1, e2m1, f32, Modifier::packed_nvf4},
            {WindowedGroups{4, 16, 35, f32, Rounding::toward_zero}},
            kB200Windowed,
            "UTCOMMA"},
};

// ---- Control: no values, so the evidence concerns the order

constexpr PlanRow control_row(Unit unit, std::string_view machine) {
  return {{unit, b32, b32, b32, b32}, {}, all({Basis::inferred, "the PTX manual's definition"}), machine};
}
constexpr std::array kProxyFenceRows{control_row(proxy_fence, "FENCE.VIEW.ASYNC")};
constexpr std::array kTensorMemoryRows{control_row(tensor_memory, "UTCBAR, UTCCP, LDTM, STTM")};
constexpr std::array kWgmmaSyncRows{control_row(wgmma_sync, "WARPGROUP.ARRIVE, WARPGROUP.DEPBAR")};

// ---- Moves: elements unchanged, so the evidence concerns their places

constexpr FormatSet kWmmaTypes = f16 | f32 | bf16 | tf32 | f64 | s32 | kS8 | kS4 | b1;
constexpr Ground kManualMoves{Basis::inferred, "the PTX manual's definition; captured on sm_90a"};
constexpr Ground kCutlassMoves{Basis::inferred,
                               "the PTX manual and CUTLASS 4, copy_traits_sm100.hpp; no capture"};
constexpr Ground kWmmaMeasured{Basis::inferred, "unspecified by the manual; assumed as captured on sm_90a"};
constexpr Ground kH200Moves{Basis::captured, "golden/sm_90a/ldmatrix, stmatrix, movmatrix, H200"};
constexpr Ground kH200WmmaMoves{Basis::captured, "golden/sm_90a/wmma_load, wmma_store, H200"};

constexpr PlanRow move_row(Unit unit, FormatSet types, Ground ground, std::string_view machine) {
  return {{unit, types, types, types, types}, {}, all(ground), machine};
}
constexpr Ground kLaterManual{Basis::inferred,
                              "the manual of PTX 9.4; no result and no assembler's word is known"};
constexpr std::string_view kNotKnown = "not known";  // to the toolkit
constexpr PlanRow kSignedMoveRow = move_row(matrix_move, s8, kLaterManual, kNotKnown);
constexpr std::array kMoveRows{
    kSignedMoveRow,
    move_row(matrix_move, b16, kManualMoves, "LDSM, STSM, MOVM"),
    move_row(matrix_move, b8, kCutlassMoves, "LDSM, STSM"),
    move_row(wmma_move, kWmmaTypes, kWmmaMeasured, "LD, ST"),
};
constexpr Ground kMovesPro{
    Basis::inferred, "PantheonSim, RTX PRO 6000, of ldmatrix; of the others the PTX manual and CUTLASS 4"};
constexpr std::array kMoveRtxRows{
    kSignedMoveRow,
    move_row(matrix_move, b16 | b8, kMovesPro, "LDSM, STSM, MOVM"),
    move_row(wmma_move, kWmmaTypes, kWmmaMeasured, "LD, ST"),
};
constexpr std::array kMoveHopperRows{
    kSignedMoveRow,
    move_row(matrix_move, b16, kH200Moves, "LDSM, STSM, MOVM"),
    move_row(wmma_move, kWmmaTypes, kH200WmmaMoves, "LD, ST"),
};

// ---- cvt

constexpr FormatSet kCvtHopperSources = kFp8 | f64 | f32 | f16 | bf16;
constexpr Ground kH200Cvt{Basis::captured, "golden/sm_90a/cvt, H200"};
constexpr Ground kCvtManual{Basis::inferred, "the PTX manual; what sm_90a has of it, captured there"};
constexpr std::string_view kCvtMachine = "F2F, F2FP, HADD2 or shifts, by form";

// A row for all qualifiers.
constexpr PlanRow cvt_row(FormatSet to, FormatSet from, Ground ground, std::string_view machine = kCvtMachine) {
  return {{cvt, to, from, from, to}, {}, all(ground), machine};
}
// Of PTX 9.1, 9.2 and 9.4.
constexpr PlanRow kToFixedPoint = cvt_row(s2f6 | ue5m3, f32 | f16 | bf16, kLaterManual, kNotKnown);
constexpr PlanRow kFromFixedPoint = cvt_row(f16 | bf16, s2f6 | ue5m3, kLaterManual, kNotKnown);
constexpr PlanRow kNarrowOfBf16 = cvt_row(kF8f6f4, bf16, kLaterManual, kNotKnown);
constexpr PlanRow kBf16OfNarrow = cvt_row(bf16, kF8f6f4, kLaterManual, kNotKnown);
constexpr PlanRow kSixBitsOfF16 = cvt_row(e3m2 | e2m3, f16, kLaterManual, kNotKnown);
// Of PTX 9.0.
constexpr PlanRow kNarrowOfF16 = cvt_row(kFp8 | e2m1, f16, kCvtManual);
constexpr PlanRow kScaleOfBf16 = cvt_row(ue8m0, bf16, kCvtManual);
constexpr PlanRow kToHalf = cvt_row(f16 | bf16, f64 | f32 | f16 | bf16, kCvtManual);
constexpr PlanRow kToWide = cvt_row(f64 | f32 | tf32, f32 | f16 | bf16, kCvtManual);
constexpr std::array kCvtRows{
    kToFixedPoint,
    kFromFixedPoint,
    kNarrowOfBf16,
    kBf16OfNarrow,
    kSixBitsOfF16,
    cvt_row(kF8f6f4 | ue8m0, f32, kCvtManual),
    cvt_row(f16, kF8f6f4, kCvtManual),
    cvt_row(bf16, ue8m0, kCvtManual),
    kNarrowOfF16,
    kScaleOfBf16,
    kToHalf,
    kToWide,
};
constexpr Ground kCvtL4 = by_pantheonsim("PantheonSim, L4, without .relu");
constexpr Ground kCvtPro = by_pantheonsim("PantheonSim, RTX PRO 6000; with .relu e2m1 alone");
constexpr std::array kCvtAdaRows{
    cvt_row(kFp8, f32, kCvtL4),
    cvt_row(kFp8, f16, kCvtManual),
    cvt_row(f16 | bf16, f64 | f32 | f16 | kFp8, kCvtManual),
    kToWide,
};
constexpr std::array kCvtRtxRows{
    cvt_row(kF8f6f4 | ue8m0, f32, kCvtPro),
    cvt_row(f16, kF8f6f4, kCvtPro),
    cvt_row(bf16, ue8m0, kCvtPro),
    cvt_row(s2f6, f32 | bf16, kLaterManual, kNotKnown),
    cvt_row(bf16, s2f6, kLaterManual, kNotKnown),
    kNarrowOfBf16,
    kBf16OfNarrow,
    kSixBitsOfF16,
    kNarrowOfF16,
    kScaleOfBf16,
    kToHalf,
    kToWide,
};
constexpr std::array kCvtHopperRows{cvt_row(kCvtHopperSources | tf32, kCvtHopperSources, kH200Cvt)};

// ---- The blocks of each target

constexpr Ground inferred(std::string_view from) {
  return {Basis::inferred, from};
}
constexpr Ground kWraps = inferred("a sum modulo 2^32 is the same in every order; captured on sm_90a");
constexpr Ground kClampNibbles =
    inferred("as s8 a clamp after each 128 bits of K; PantheonSim excludes 64 and less, but not 256");
constexpr Ground kClampRtxPro = inferred(
    "sm_90a captures: the same routine, which clamps once; PantheonSim excludes 16 products and less, but not 32");
constexpr Ground kClampTuring =
    inferred("sm_86 and sm_89, which clamp after each 128 bits of K: there are no more");
constexpr Ground kClampAmpere = inferred("sm_86 and sm_89, which clamp after each 128 bits of K");
constexpr Ground kClampSparse = inferred("this target's dense row, over the products that exist");
constexpr Ground kClampHopper = inferred("sm_90a captures: the same machine instructions, which clamp once");
constexpr Ground kDmma = inferred("sm_90a captures: the same DMMA");
constexpr Ground kDmmaSplit = inferred("sm_90a captures: a row of DMMA.884 for each instruction");
constexpr Ground kSameSequence = inferred("sm_90a captures: the same emulation by the toolkit");
constexpr Ground kAsSm70 = inferred("sm_70: the same machine instruction");
constexpr Ground kAsSm80 = inferred("sm_80: the same machine instruction");
constexpr Ground kAsSm100 = inferred("sm_100: the same machine instructions");
constexpr Ground kAsSm103 = inferred("assumed as sm_100 and sm_103, of its family: no result is known");
constexpr Ground kAsSm120 = inferred("sm_120: the same machine instruction");
constexpr Ground kAsDense =
    inferred("this target's dense row; that only products that exist count, captured on sm_90a");

constexpr Ground kSparseFp4 = inferred("the dense rows, which rest on models (NUMERICS.md, \"Block scaling\")");
constexpr Ground kTensorSparse =
    inferred("this target's dense row; that only products that exist count, words of a B200 (tests/published)");

// A block that also serves mma.sp.
constexpr Block sparse(std::span<const PlanRow> rows, std::optional<Evidence> evidence = all(kAsDense)) {
  return {rows, evidence, Unit::mma_sp};
}

// A block of mma that also serves wmma.mma.
constexpr Block as_wmma(std::span<const PlanRow> rows, std::optional<Evidence> evidence = {}) {
  return {rows, evidence, Unit::wmma};
}

template <std::size_t N, std::size_t M>
constexpr std::array<Block, N + M> joined(const std::array<Block, N>& x, const std::array<Block, M>& y) {
  std::array<Block, N + M> out{};
  std::ranges::copy(x, out.begin());
  std::ranges::copy(y, out.begin() + N);
  return out;
}

// Sums that wrap rest on arithmetic alone, clamped ones on `dense`.
constexpr IntegerEvidence integers_as(Ground dense) {
  return {all(kWraps), all(dense), all(kWraps), all(dense), all(kWraps)};
}
// Transcripts of a GPU, which has clamped dense sums alone; of s4 these leave something open.
constexpr IntegerEvidence integers_of(Ground gpu, Ground s4_clamped) {
  const Evidence wrapped{gpu, gpu, gpu, kWraps};
  return {wrapped, all(gpu), wrapped, {s4_clamped, gpu, gpu, gpu}, wrapped};
}
constexpr IntegerEvidence sparse_integers_of(Ground gpu) {
  const Evidence wrapped{gpu, gpu, gpu, kWraps};
  return {wrapped, all(kClampSparse), wrapped, all(kClampSparse), wrapped};
}
constexpr F64Evidence f64_of(Ground order, Ground nearest, Ground directed, Ground others) {
  return {{order, nearest, others, others}, all(others), {order, directed, others, others}};
}
constexpr F64Evidence f64_as(Ground ground) {
  return {all(ground), all(ground), all(ground)};
}

constexpr auto kIntegersTuring = integer_rows(kTuringToAdaIntegers, integers_as(kClampTuring));
constexpr auto kIntegersHopper =
    integer_rows(kHopperIntegers, {all(kH200), all(kH200), all(kH200), all(kH200), all(kH200)});
constexpr auto kF64Hopper = f64_rows("DMMA", f64_as(kH200));

// What rests on more than the target's generation.
struct OwnRows {
  std::array<PlanRow, 5> f64;
  std::array<PlanRow, 6> integers, sparse_integers;
  std::span<const PlanRow> cvt = kCvtRows, moves = kMoveRows;
};
constexpr OwnRows kOwnAmpere{f64_rows("DMMA", f64_as(kDmma)),
                             integer_rows(kTuringToAdaIntegers, integers_as(kClampAmpere)),
                             integer_rows(kTuringToAdaIntegers, integers_as(kClampSparse))};
constexpr OwnRows kOwn3060{
    f64_rows("DMMA",
             f64_of(kRtx3060, by_pantheonsim("PantheonSim, RTX 3060, but for ties to even"), kRtx3060, kDmma)),
    integer_rows(kTuringToAdaIntegers, integers_of(kRtx3060, kClampNibbles)),
    integer_rows(kTuringToAdaIntegers, sparse_integers_of(kRtx3060))};
constexpr OwnRows kOwnL40s{
    f64_rows("DMMA", f64_of(kL40s, by_pantheonsim("PantheonSim, L40S, but for ties to even"), kL40s, kDmma)),
    integer_rows(kTuringToAdaIntegers, integers_of(kL40s, kClampNibbles)),
    integer_rows(kTuringToAdaIntegers, sparse_integers_of(kL40s)), kCvtAdaRows};
constexpr OwnRows kOwnB200{f64_rows(kDmmaByShape, f64_as(kDmmaSplit)),
                           integer_rows(kBlackwellIntegers, integers_as(kClampHopper)),
                           integer_rows(kBlackwellIntegers, integers_as(kClampHopper))};
constexpr OwnRows kOwnRtxPro{
    f64_rows(kDmmaByShape,
             f64_of(by_pantheonsim("PantheonSim, RTX PRO 6000, but for deeper shapes"),
                    by_pantheonsim("PantheonSim, RTX PRO 6000, but for ties to even"), kRtxPro, kDmmaSplit)),
    integer_rows(kBlackwellIntegers, integers_of(kRtxPro, kClampRtxPro)),
    integer_rows(kBlackwellIntegers, sparse_integers_of(kRtxPro)), kCvtRtxRows, kMoveRtxRows};

constexpr Block kChainsAsHopper{kChainRows, all(kAsHopper)};

constexpr std::array kSm70Blocks{Block{kVoltaRows}, Block{kCvtRows}, kChainsAsHopper};
constexpr std::array kSm72Blocks{Block{kVoltaRows, all(kAsSm70)}, Block{kCvtRows}, kChainsAsHopper};
constexpr std::array kSm75Blocks{Block{kTuringRows}, Block{std::span(kIntegersTuring).first<kWithoutAnd>()},
                                 Block{kMoveRows}, Block{kCvtRows}, kChainsAsHopper};

constexpr std::array<Block, 12> ampere_blocks(Block floating, const OwnRows& own) {
  return {floating,
          Block{kM8n8k4EmulatedRows, all(kSameSequence)},
          Block{own.f64},
          Block{own.integers},
          sparse(floating.rows),
          sparse(std::span(own.sparse_integers).first<kWithoutBits>(), {}),
          Block{kWmmaAmpereRows},
          as_wmma(own.f64, all(kDmma)),
          as_wmma(own.integers, all(kAsMma)),
          Block{own.moves},
          Block{own.cvt},
          kChainsAsHopper};
}
constexpr auto kSm80Blocks = ampere_blocks({kAmpereRows}, kOwnAmpere);
constexpr auto kSm86Blocks = ampere_blocks({kAmpereA2Rows}, kOwn3060);
constexpr auto kSm87Blocks = ampere_blocks({kAmpereRows, all(kAsSm80)}, kOwnAmpere);
constexpr auto kSm89Blocks =
    joined(ampere_blocks({kAdaRows}, kOwnL40s), std::array{Block{kAdaFp8Rows}, sparse(kAdaFp8Rows)});
constexpr std::array kSm90Blocks{Block{kHopperRows},
                                 Block{kM8n8k4EmulatedRows},
                                 Block{kF64Hopper},
                                 Block{kIntegersHopper},
                                 Block{kHopperSparse, {}, Unit::mma_sp},
                                 sparse(std::span(kIntegersHopper).first<kWithoutBits>(), all(kH200Sparse)),
                                 Block{kWmmaHopperRows},
                                 as_wmma(kF64Hopper, all(kH200Wmma)),
                                 as_wmma(kIntegersHopper, all(kH200Wmma)),
                                 Block{kMoveHopperRows},
                                 Block{kCvtHopperRows},
                                 Block{kWgmmaRows},
                                 Block{kWgmmaIntegerRows},
                                 Block{kWgmmaBitRows},
                                 Block{kWgmmaSpRows, {}, Unit::wgmma_sp},
                                 Block{kWgmmaIntegerRows, all(kH200WgmmaSp), Unit::wgmma_sp},
                                 Block{kWgmmaSyncRows},
                                 Block{kProxyFenceRows},
                                 Block{kChainRows}};

// With `as` all that is not the same everywhere rests on another target.
constexpr std::array<Block, 16> blackwell_blocks(Block floating, const OwnRows& own,
                                                 std::optional<Evidence> as = {}) {
  return {floating,
          Block{kM8n8k4EmulatedRows, all(kSameSequence)},
          Block{own.f64, as},
          Block{own.integers, as},
          sparse(floating.rows),
          sparse(std::span(own.sparse_integers).first<kWithoutBits>(), as),
          Block{kBlockScaleRows, as},
          Block{std::span(kBlockScaleRows).first<1>(), as ? as : kSparseScalePro, Unit::sp_block_scale},
          Block{std::span(kBlockScaleRows).last<1>(), all(kSparseFp4), Unit::sp_block_scale},
          Block{kWmmaBlackwellRows},
          as_wmma(own.f64, all(kDmma)),
          as_wmma(own.integers, all(kAsMma)),
          Block{own.moves, as},
          Block{own.cvt, as},
          Block{kProxyFenceRows},
          kChainsAsHopper};
}
constexpr std::array kTensorBlocks{
    Block{kTensorCore5Rows}, Block{kTensorCore5Rows, all(kTensorSparse), Unit::tcgen05_sp},
    Block{kTensorCore5ScaleRows},
    Block{kTensorCore5ScaleRows, all(kTensorSparse), Unit::tcgen05_sp_block_scale}, Block{kTensorMemoryRows}};
constexpr std::array kTensorBlocksInferred{
    Block{kTensorCore5Rows, all(kAsSm100)}, Block{kTensorCore5Rows, all(kAsSm100), Unit::tcgen05_sp},
    Block{kTensorCore5ScaleRows, all(kAsSm100)},
    Block{kTensorCore5ScaleRows, all(kAsSm100), Unit::tcgen05_sp_block_scale}, Block{kTensorMemoryRows}};
constexpr std::array kTensorBlocksRubin{
    Block{kTensorCore5Rows, all(kAsSm103)},
    Block{kTensorCore5Rows, all(kAsSm103), Unit::tcgen05_sp},
    Block{kTensorCore5ScaleRows, all(kAsSm103)},
    Block{kTensorCore5ScaleRows, all(kAsSm103), Unit::tcgen05_sp_block_scale},
    Block{kSignMagnitudeRows},
    Block{kSignMagnitudeRows, {}, Unit::tcgen05_sp},
    Block{kTensorMemoryRows}};
constexpr auto kSm100Blocks = joined(blackwell_blocks({kBlackwellRows}, kOwnB200), kTensorBlocks);
constexpr auto kSm103Blocks =
    joined(blackwell_blocks({kBlackwellRows, all(kAsSm100)}, kOwnB200), kTensorBlocksInferred);
constexpr auto kSm107Blocks =
    joined(blackwell_blocks({kBlackwellRows, all(kAsSm103)}, kOwnB200, all(kAsSm103)), kTensorBlocksRubin);
constexpr auto kSm120Blocks = blackwell_blocks({kRtxBlackwellRows}, kOwnRtxPro);
constexpr auto kSm121Blocks = blackwell_blocks({kRtxBlackwellRows, all(kAsSm120)}, kOwnRtxPro, all(kAsSm120));

// ---- Targets (PTX manual, "Target ISA Notes" of mma; `a` and `f` add to their base)

constexpr Features kSm70 = Feature::sm_70;
constexpr Features kSm72 = kSm70 | Feature::sm_72;
constexpr Features kSm75 = kSm72 | Feature::sm_75;
constexpr Features kSm80 = kSm75 | Feature::sm_80 | Feature::wmma_fragments;
constexpr Features kSm86 = kSm80 | Feature::sm_86;
constexpr Features kSm89 = kSm86 | Feature::fp8;
constexpr Features kSm90 = kSm89 | Feature::sm_90;
constexpr Features kSm90a = kSm90 | Feature::wgmma | Feature::setmaxnreg | Feature::strong_copies;
constexpr Features kSm100 = kSm90 | Feature::sm_100;
constexpr Features kFamily =
    kSm100 | Feature::kind_f8f6f4_fp8 | Feature::narrow_moves | Feature::setmaxnreg | Feature::cancel_multicast;
constexpr Features kSm100f =
    kFamily | Feature::tensor_group | Feature::multimem_fp8 | Feature::redux_f32 | Feature::strong_copies;
constexpr Features kSm100a = kSm100f | Feature::stochastic_rounding | Feature::tensor_specific |
                             Feature::tensor_i8 | Feature::fixed_point | Feature::fp8_arithmetic;
constexpr Features kSm103f = kSm100f | Feature::tensor_reduce;
constexpr Features kOnlySm103a =
    Feature::stochastic_rounding | Feature::tensor_specific | Feature::tensor_k96 | Feature::fixed_point;
constexpr Features kSm103a = kSm103f | kOnlySm103a | Feature::fp8_arithmetic;
constexpr Features kSm107f = kSm103f | Feature::sm_107f | Feature::byte_sums;
constexpr Features kSm107a = kSm107f | kOnlySm103a | Feature::sm_107a;
constexpr Features kSm110f =
    kFamily | Feature::tensor_group | Feature::multimem_fp8 | Feature::tensor_reduce | Feature::strong_copies;
constexpr Features kSm110a = kSm110f | Feature::tensor_specific | Feature::tensor_i8 | Feature::fixed_point;
constexpr Features kSm120f = kFamily | Feature::kind_f8f6f4 | Feature::byte_sums;
constexpr Features kSm120a = kSm120f | Feature::sparse_fp4 | Feature::multimem_fp8 | Feature::fixed_point;

constexpr std::string_view kToolkit = "CUDA 13.0, ptxas V13.0.88";
constexpr std::string_view kDocuments = "no toolkit: PTX ISA 9.4 alone";
constexpr std::string_view kNoToolkit = "no toolkit: CUDA 13.0 has dropped the target";

constexpr std::array kTargets{
    TargetRow{"sm_70", kSm70, kSm70Blocks, kNoToolkit, {6, 0}},
    TargetRow{"sm_72", kSm72, kSm72Blocks, kNoToolkit, {6, 1}},
    TargetRow{"sm_75", kSm75, kSm75Blocks, kToolkit, {6, 3}},
    TargetRow{"sm_80", kSm80, kSm80Blocks, kToolkit, {7, 0}},
    TargetRow{"sm_86", kSm86, kSm86Blocks, kToolkit, {7, 1}},
    TargetRow{"sm_87", kSm86, kSm87Blocks, kToolkit, {7, 4}},
    TargetRow{"sm_88", kSm86, kSm87Blocks, kToolkit, {7, 3}},
    TargetRow{"sm_89", kSm89, kSm89Blocks, kToolkit, {7, 8}},
    TargetRow{"sm_90", kSm90, kSm90Blocks, kToolkit, {7, 8}},
    TargetRow{"sm_90a", kSm90a, kSm90Blocks, kToolkit, {8, 0}, 227 << 10},
    TargetRow{"sm_100", kSm100, kSm100Blocks, kToolkit, {8, 6}},
    TargetRow{"sm_100a", kSm100a, kSm100Blocks, kToolkit, {8, 6}, 227 << 10},
    TargetRow{"sm_100f", kSm100f, kSm100Blocks, kToolkit, {8, 8}},
    TargetRow{"sm_103", kSm100, kSm103Blocks, kToolkit, {8, 8}},
    TargetRow{"sm_103a", kSm103a, kSm103Blocks, kToolkit, {8, 8}, 227 << 10},
    TargetRow{"sm_103f", kSm103f, kSm103Blocks, kToolkit, {8, 8}},
    TargetRow{"sm_107", kSm100, kSm107Blocks, kDocuments, {9, 4}},
    TargetRow{"sm_107a", kSm107a, kSm107Blocks, kDocuments, {9, 4}, 227 << 10},
    TargetRow{"sm_107f", kSm107f, kSm107Blocks, kDocuments, {9, 4}},
    TargetRow{"sm_110", kSm100, kSm103Blocks, kToolkit, {9, 0}, 48 << 10, "sm_101"},
    TargetRow{"sm_110a", kSm110a, kSm103Blocks, kToolkit, {9, 0}, 227 << 10, "sm_101a"},
    TargetRow{"sm_110f", kSm110f, kSm103Blocks, kToolkit, {9, 0}, 48 << 10, "sm_101f"},
    TargetRow{"sm_120", kSm100, kSm120Blocks, kToolkit, {8, 7}},
    TargetRow{"sm_120a", kSm120a, kSm120Blocks, kToolkit, {8, 7}, 99 << 10},
    TargetRow{"sm_120f", kSm120f, kSm120Blocks, kToolkit, {8, 8}},
    TargetRow{"sm_121", kSm100, kSm121Blocks, kToolkit, {8, 8}},
    TargetRow{"sm_121a", kSm120a, kSm121Blocks, kToolkit, {8, 8}, 99 << 10},
    TargetRow{"sm_121f", kSm120f, kSm121Blocks, kToolkit, {8, 8}},
};

}  // namespace

std::span<const TargetRow> target_rows() {
  return kTargets;
}

}  // namespace warpbit
