// SPDX-License-Identifier: Apache-2.0
// Mistakes of layout in a kernel whose fragments are loaded by hand: the result is not what was meant, and
// diagnose says which mistake it was.
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "device_inputs.hpp"
#include "fragment_formulas.hpp"
#include "kernels/by_hand.cuh"
#include "warpbit/diagnose.hpp"

namespace device_layout_test {

using namespace warpbit;
using namespace warpbit::device;
using device_inputs::target;
using kernels::Layout;

constexpr int kTiles = 3;
constexpr char kForm[] = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

/// Tiles one after the other; B has two more than are computed.
struct Tiles {
  std::vector<std::uint16_t> a = random<std::uint16_t>(kTiles * 256, 1),
                             b = random<std::uint16_t>((kTiles + 2) * 128, 2);
  std::vector<float> c, d = std::vector<float>(kTiles * 128);

  Tiles() {
    for (const std::uint16_t code : random<std::uint16_t>(kTiles * 128, 3))
      c.push_back((code & 0x8000) != 0 ? -static_cast<float>(code & 0x3FF) / 256
                                       : static_cast<float>(code & 0x3FF) / 256);
  }

  /// Numbers of both signs from 1/2 to 4.
  template <class T>
  static std::vector<T> random(int count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<T> out(static_cast<std::size_t>(count));
    for (T& code : out) {
      const auto bits = static_cast<std::uint32_t>(generator());
      code = static_cast<T>((bits >> 31) << 15 | (14 + (bits >> 16) % 3) << 10 | (bits & 0x3FF));
    }
    return out;
  }
};

/// The registers of a lane's operand as the manual places the elements, of all tiles.
template <class T>
std::vector<T> registers(char role, const std::vector<T>& matrices, int values, int columns, int elements) {
  std::vector<T> out;
  for (int tile = 0; tile < kTiles; ++tile)
    for (int lane = 0; lane < 32; ++lane)
      for (int value = 0; value < values; ++value) {
        const auto [product, row, column] =
            formulas::tile(role, 16, role == 'a' || role == 'b' ? 2 : 1, lane, value);
        out.push_back(matrices[static_cast<std::size_t>(tile * elements + row * columns + column)]);
      }
  return out;
}

struct Found {
  std::string mismatch;  ///< of the first tile
  Diagnosis diagnosis;
};

template <Layout layout>
Found run() {
  Tiles tiles;
  const Launched launched =
      launch(target("sm_90"), {kTiles}, {32}, 0, kernels::by_hand<layout>,
             GlobalArray<const std::uint16_t>(tiles.a), GlobalArray<const std::uint16_t>(tiles.b),
             GlobalArray<const float>(tiles.c), GlobalArray<float>(tiles.d));
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());

  const Result<Instruction> mma = Instruction::parse(kForm, target("sm_90"));
  REQUIRE(mma.ok());
  const auto a = registers('a', tiles.a, 8, 16, 256), b = registers('b', tiles.b, 4, 8, 128);
  const auto c = registers('c', tiles.c, 4, 8, 128), d = registers('d', tiles.d, 4, 8, 128);
  const auto bytes = [](const auto& all) {
    return std::as_bytes(std::span(all)).first(all.size() / kTiles * sizeof(all[0]));
  };
  const std::vector<std::span<const std::byte>> sources = {bytes(a), bytes(b), bytes(c)};
  const Result<ExpectedBits> expected = ExpectedBits::result_of(*mma, sources);
  REQUIRE(expected.ok());
  const std::vector<OperandView> views = {OperandView::dense(a.data(), 32, 4, 32),
                                          OperandView::dense(b.data(), 32, 2, 32),
                                          OperandView::dense(c.data(), 32, 4, 32)};
  const Result<Diagnosis> diagnosis = diagnose(*mma, views, OperandView::dense(d.data(), 32, 4, 32), kTiles);
  REQUIRE(diagnosis.ok());
  return {expected->mismatch(bytes(d)), *diagnosis};
}

TEST_CASE("fragments loaded by hand", "[quick][device]") {
  const Found found = run<Layout::right>();
  CHECK(found.mismatch.empty());
  CHECK(found.diagnosis.verdict == Verdict::correct);
}

template <Layout layout>
void check(const std::string& kind, const std::string& operand) {
  const Found found = run<layout>();
  INFO(kind << " of " << operand << "\n" << found.mismatch << "\n" << found.diagnosis.text());
  CHECK_FALSE(found.mismatch.empty());
  REQUIRE_FALSE(found.diagnosis.findings.empty());
  const Finding& first = found.diagnosis.findings[0];
  INFO(first.mistake);
  CHECK(first.kind == kind);
  CHECK(first.operand == operand);
  CHECK(first.contradicted == 0);
  // What the last tile reads of the next one is in no case.
  if (layout == Layout::b_of_next_tile || layout == Layout::b_row_too_far) {
    CHECK(found.diagnosis.verdict == Verdict::partial);
    CHECK(first.explained == (kTiles - 1) * 128);
  } else {
    CHECK(found.diagnosis.verdict == Verdict::mistake);
    CHECK(first.certain);
    CHECK_THAT(found.mismatch, Catch::Contains(first.mistake));
  }
}

TEST_CASE("mistakes of layout are named", "[quick][device]") {
  check<Layout::a_registers_swapped>("register_order", "a");
  check<Layout::a_transposed>("transposed", "a");
  check<Layout::a_stride>("leading_dimension", "a");
  check<Layout::a_register_not_loaded>("not_loaded", "a");
  check<Layout::b_row_too_far>("offset", "b");
  check<Layout::b_of_next_tile>("other_tile", "b");
  check<Layout::c_missing>("accumulator_missing", "c");
  check<Layout::c_registers_swapped>("register_order", "c");
  check<Layout::d_transposed>("transposed", "d");
  check<Layout::lanes_exchanged>("lane_order", "a b c d");
}

// Exchanging the same elements of A would give the same products.
TEST_CASE("where two mistakes give the same result, both are named", "[quick][device]") {
  const Found found = run<Layout::b_halves_swapped>();
  INFO(found.diagnosis.text());
  CHECK_FALSE(found.mismatch.empty());
  CHECK(found.diagnosis.verdict == Verdict::ambiguous);
  REQUIRE(found.diagnosis.findings.size() >= 2);
  std::set<std::string> operands;
  for (const Finding& finding : std::span(found.diagnosis.findings).first(2)) {
    CHECK(finding.kind == "element_order");
    CHECK(finding.explains_all());
    operands.insert(finding.operand);
  }
  CHECK(operands == std::set<std::string>{"a", "b"});
}

}  // namespace device_layout_test
