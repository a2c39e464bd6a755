// SPDX-License-Identifier: Apache-2.0
// A kernel's source with tensor memory: its product of integers, and mistakes.
#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "device_inputs.hpp"
#include "kernels/tensor_product.cuh"
#include "warpbit/format.hpp"

namespace device_tensor_test {

using namespace warpbit;
using namespace kernels::tensor_product;
using kernels::tensor_product::Mistake;

constexpr int kRows = 128, kColumns = 16, kDepth = 16;

int a(int i, int k) {
  return i * 5 % 127 - 63 + k;
}
int b(int k, int j) {
  return j * 7 % 61 - 30 + 3 * k;
}

template <class Value>
std::vector<std::uint32_t> words(int rows, Value value) {
  const Codec codec = *Codec::find("f16");
  std::vector<std::uint32_t> out(static_cast<std::size_t>(rows * kDepth / 2));
  for (int i = 0; i < rows * kDepth; ++i)
    out[static_cast<std::size_t>(i / 2)] |=
        static_cast<std::uint32_t>(*codec.encode(value(i / kDepth, i % kDepth))) << 16 * (i % 2);
  return out;
}

template <Mistake mistake>
Launched run(std::vector<std::uint32_t>& d, const char* target = "sm_100a") {
  const std::vector<std::uint32_t> of_a = words(kRows, a),
                                   of_b = words(kColumns, [](int j, int k) { return b(k, j); });
  return launch(Launch{device_inputs::target(target), {1}, {kThreads}, kShared}, product<mistake>,
                device::GlobalArray<const std::uint32_t>(std::span(of_a)),
                device::GlobalArray<const std::uint32_t>(std::span(of_b)),
                device::GlobalArray<std::uint32_t>(std::span(d)));
}

TEST_CASE("a product in tensor memory, from a kernel's source", "[quick]") {
  std::vector<std::uint32_t> d(kRows * kColumns);
  const Launched launched = run<Mistake::none>(d);
  if (launched.fault) FAIL(launched.fault->message());
  int wrong = 0;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) {
      int sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += a(i, k) * b(k, j);
      wrong += d[static_cast<std::size_t>(i * kColumns + j)] !=
               std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  CHECK(wrong == 0);
}

TEST_CASE("a product with scale factors, from a kernel's source", "[quick]") {
  constexpr int kBytes = 32;
  const auto of_a = [](int i, int k) { return (i * 3 + k * 5) % 17 - 8; };
  const auto of_b = [](int k, int j) { return (j * 7 + k * 2) % 15 - 7; };
  const Codec codec = *Codec::find("e4m3");
  const auto words_of = [&](int rows, auto value) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(rows * kBytes / 4));
    for (int i = 0; i < rows * kBytes; ++i)
      out[static_cast<std::size_t>(i / 4)] |=
          static_cast<std::uint32_t>(*codec.encode(value(i / kBytes, i % kBytes))) << 8 * (i % 4);
    return out;
  };
  const std::vector<std::uint32_t> a_words = words_of(kRows, of_a),
                                   b_words = words_of(kColumns, [&](int j, int k) { return of_b(k, j); });
  std::vector<std::uint32_t> d(kRows * kColumns);
  constexpr int kHalf = 126;  // 2^-1, of A and of B
  const Launched launched = launch(Launch{device_inputs::target("sm_100a"), {1}, {kThreads}, kShared},
                                   scaled<kHalf>, device::GlobalArray<const std::uint32_t>(std::span(a_words)),
                                   device::GlobalArray<const std::uint32_t>(std::span(b_words)),
                                   device::GlobalArray<std::uint32_t>(std::span(d)));
  if (launched.fault) FAIL(launched.fault->message());
  int wrong = 0;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) {
      int sum = 0;
      for (int k = 0; k < kBytes; ++k) sum += of_a(i, k) * of_b(k, j);
      const float expected = static_cast<float>(sum) / 4;
      wrong += d[static_cast<std::size_t>(i * kColumns + j)] != std::bit_cast<std::uint32_t>(expected) ? 1 : 0;
    }
  CHECK(wrong == 0);
}

void require_fault(const Launched& launched, Errc code, const char* says) {
  REQUIRE(launched.fault);
  INFO(launched.fault->message());
  CHECK(name(launched.fault->error.code) == name(code));
  CHECK_THAT(launched.fault->message(), Catch::Contains(says));
}

TEST_CASE("mistakes with tensor memory in a kernel's source are faults", "[quick]") {
  std::vector<std::uint32_t> d(kRows * kColumns);
  require_fault(run<Mistake::no_wait>(d), Errc::protocol_violation, "that tcgen05.mma has not been waited for");
  require_fault(run<Mistake::no_deallocation>(d), Errc::protocol_violation,
                "32 columns of tensor memory at 0x0 are still allocated");
  require_fault(run<Mistake::no_columns>(d), Errc::tensor_memory, "48 columns");
  require_fault(run<Mistake::other_address>(d), Errc::undefined_operand, "the same values in all lanes");
  require_fault(run<Mistake::none>(d, "sm_90a"), Errc::not_on_target, "does not exist on sm_90a");
}

}  // namespace device_tensor_test
