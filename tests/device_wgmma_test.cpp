// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup in kernels: each form on small integers, whose sums are exact in any order, against a
// sum over integers; elements lie where the formulas of descriptors and the manual's pictures of fragments say.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "descriptor_formulas.hpp"
#include "device_inputs.hpp"
#include "kernels/wgmma_gemm.cuh"
#include "warpbit/execute.hpp"

namespace device_wgmma_test {

using namespace warpbit;
using namespace warpbit::device;
using formulas::Described;
using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint32_t>;

std::string said(const Launched& launched) {
  return launched ? "" : launched.fault->message();
}

// ---- Small integers and their codes

// The bits of a type, and the codes of 0, 1, 2 and 3 (IEEE 754; PTX manual, "Alternate Floating-Point Data
// Formats"); the sign is the highest bit.
template <class T>
struct Codes;
template <>
struct Codes<f16> {
  static constexpr int bits = 16;
  static constexpr std::uint32_t of[] = {0, 0x3C00, 0x4000, 0x4200};
};
template <>
struct Codes<bf16> {
  static constexpr int bits = 16;
  static constexpr std::uint32_t of[] = {0, 0x3F80, 0x4000, 0x4040};
};
template <>
struct Codes<tf32> {
  static constexpr int bits = 32;
  static constexpr std::uint32_t of[] = {0, 0x3F800000, 0x40000000, 0x40400000};
};
template <>
struct Codes<e4m3> {
  static constexpr int bits = 8;
  static constexpr std::uint32_t of[] = {0, 0x38, 0x40, 0x44};
};
template <>
struct Codes<e5m2> {
  static constexpr int bits = 8;
  static constexpr std::uint32_t of[] = {0, 0x3C, 0x40, 0x42};
};

template <class T>
constexpr int bits_of() {
  if constexpr (one_of<T, s8, u8>)
    return 8;
  else
    return Codes<T>::bits;
}

template <class T>
std::uint32_t code(int value) {
  if constexpr (one_of<T, s8, u8>)
    return static_cast<std::uint32_t>(value) & 0xFF;
  else
    return Codes<T>::of[std::abs(value)] | (value < 0 ? std::uint32_t{1} << (Codes<T>::bits - 1) : 0);
}

// Of an f16 that is an integer up to 2048.
std::uint32_t half(int value) {
  const auto magnitude = static_cast<unsigned>(std::abs(value));
  if (magnitude == 0) return 0;
  unsigned exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  return (value < 0 ? 0x8000U : 0U) | (exponent + 15) << 10 | ((magnitude << (10 - exponent)) & 0x3FF);
}

// -3 to 3, of unsigned types 0 to 3.
template <class T>
int value(int i, int k, int seed) {
  const int v = (i * 7 + k * 3 + i * k + seed) % 7 - 3;
  return std::is_same_v<T, u8> ? std::abs(v) : v;
}

// ---- One product

template <int N_, int K_, class Sum_, class A_, class B_ = A_, int SignA = 1, int SignB = 1, int TransA = 0,
          int TransB = 0, bool InRegisters = false>
struct Case {
  static constexpr int n = N_, k = K_;
  static constexpr bool in_registers = InRegisters, a_mn = TransA != 0, b_mn = TransB != 0;
  using Sum = Sum_;
  using A = A_;
  using B = B_;
  using D = typename Wgmma<m64nNkK<n, k>, Sum, A, B>::Sum;

  static int c(int row, int column, bool scale_d) { return scale_d ? (row + 2 * column) % 11 - 5 : 0; }
  static int d(int row, int column, bool scale_d) {
    int sum = c(row, column, scale_d);
    for (int i = 0; i < k; ++i) sum += SignA * value<A>(row, i, 1) * SignB * value<B>(column, i, 2);
    return sum;
  }
  static void issue(D& d, const AsyncFragment<std::uint32_t, 4>& a, std::uint64_t a_desc, std::uint64_t b_desc,
                    bool scale_d) {
    if constexpr (in_registers)
      wgmma<m64nNkK<n, k>, Sum, A, B, SignA, SignB, 0, TransB>(d, a, b_desc, scale_d);
    else
      wgmma<m64nNkK<n, k>, Sum, A, B, SignA, SignB, TransA, TransB>(d, a_desc, b_desc, scale_d);
  }
};

/// Where a factor lies.
struct Placed {
  Described at;
  Swizzle swizzle;
  bool mn;
};

// A tile of `lines` by K that fills what it occupies: with a span of 16 bytes one chunk of 8 lines after the
// other; with a span of 128 bytes, which holds all of K or 64 of M or N, groups of 8 lines.
Placed placed(std::uint64_t start, bool mn, bool swizzled) {
  if (swizzled) return {{start, mn ? 8192U : 16U, 1024, 0, 128}, Swizzle::bytes_128, mn};
  return {{start, mn ? 4096U : 128U, mn ? 128U : 512U, 0, 16}, Swizzle::none, mn};
}

template <class T>
void place(Bytes& image, const Placed& where, int lines, int k, int seed) {
  for (int i = 0; i < lines; ++i)
    for (int j = 0; j < k; ++j) {
      const std::uint64_t at =
          formulas::described_bit(where.at, where.mn, false, bits_of<T>(), static_cast<std::uint64_t>(i),
                                  static_cast<std::uint64_t>(j)) /
          8;
      const std::uint32_t bits = code<T>(value<T>(i, j, seed));
      std::memcpy(&image[at], &bits, bits_of<T>() / 8);
    }
}

// Row and column of register `reg` of a lane of D (PTX manual, "Register Fragments for
// wgmma.mma_async.m64nNk16", the matrix D).
std::array<int, 2> place_of_d(int lane, int reg) {
  return {16 * (lane / 32) + lane % 32 / 4 + reg / 2 % 2 * 8, reg / 4 * 8 + lane % 4 * 2 + reg % 2};
}

template <class Sum>
std::uint32_t register_of_d(int lane, int reg, auto element) {
  const auto at = [&](int r) { return element(place_of_d(lane, r)[0], place_of_d(lane, r)[1]); };
  if constexpr (std::is_same_v<Sum, f32>)
    return std::bit_cast<std::uint32_t>(static_cast<float>(at(reg)));
  else if constexpr (std::is_same_v<Sum, s32>)
    return static_cast<std::uint32_t>(at(reg));
  else
    return half(at(2 * reg)) | half(at(2 * reg + 1)) << 16;
}

// Likewise of A in registers: elements side by side, then rows 8 further, then the upper half of K.
template <class T>
std::uint32_t register_of_a(int lane, int reg) {
  constexpr int kEach = 32 / bits_of<T>();
  std::uint32_t out = 0;
  for (int e = 0; e < kEach; ++e)
    out |= code<T>(value<T>(16 * (lane / 32) + lane % 32 / 4 + reg % 2 * 8,
                            reg / 2 * 4 * kEach + lane % 4 * kEach + e, 1))
           << e * bits_of<T>();
  return out;
}

template <class C>
void check_product(bool swizzled, bool scale_d) {
  constexpr int kRegisters = C::n / (std::is_same_v<typename C::Sum, f16> ? 4 : 2);
  constexpr std::uint64_t kStartOfB = 16384;
  using R = std::conditional_t<std::is_same_v<typename C::Sum, f32>, float, std::uint32_t>;
  const Placed a = placed(0, C::a_mn, swizzled), b = placed(kStartOfB, C::b_mn, swizzled);
  Bytes image(65536);
  place<typename C::A>(image, a, 64, C::k, 1);
  place<typename C::B>(image, b, C::n, C::k, 2);
  Words found(128 * kRegisters), expected;
  const GlobalArray<const std::uint8_t> from(image);
  const GlobalArray<std::uint32_t> to(found);

  const Launched launched = launch({device_inputs::target("sm_90a"), {}, {128}, 65536}, [&] {
    const int thread = static_cast<int>(threadIdx.x);
    const auto memory = shared_array<std::uint64_t>(0, 8192);
    for (int i = thread; i < 8192; i += 128) memory[i] = as<const std::uint64_t>(from)[i];
    fence_proxy_async();
    __syncthreads();
    AsyncFragment<std::uint32_t, 4> left;
    for (int i = 0; i < 4; ++i) left[i] = register_of_a<typename C::A>(thread, i);
    typename C::D d;
    for (int i = 0; i < kRegisters; ++i)
      d[i] = std::bit_cast<R>(register_of_d<typename C::Sum>(
          thread, i, [&](int row, int column) { return C::c(row, column, scale_d); }));
    wgmma_fence(d);
    const auto descriptor = [&](const Placed& p) {
      return matrix_descriptor(memory + p.at.start / 8, static_cast<int>(p.at.lbo), static_cast<int>(p.at.sbo),
                               p.swizzle);
    };
    C::issue(d, left, descriptor(a), descriptor(b), scale_d);
    wgmma_commit_group();
    wgmma_wait_group<0>(d);
    for (int i = 0; i < kRegisters; ++i) to[thread * kRegisters + i] = std::bit_cast<std::uint32_t>(R(d[i]));
  });
  INFO(said(launched));
  REQUIRE(launched.ok());
  CHECK_FALSE(launched.inferred);
  for (int lane = 0; lane < 128; ++lane)
    for (int reg = 0; reg < kRegisters; ++reg)
      expected.push_back(register_of_d<typename C::Sum>(
          lane, reg, [&](int row, int column) { return C::d(row, column, scale_d); }));
  CHECK(found == expected);
}

template <class... C>
void check_products() {
  for (const bool swizzled : {false, true})
    for (const bool scale_d : {false, true}) (check_product<C>(swizzled, scale_d), ...);
}

TEST_CASE("products of each type give exact sums", "[quick][device]") {
  check_products<Case<8, 16, f32, f16>, Case<40, 16, f16, f16>, Case<128, 16, f32, bf16>,
                 Case<24, 8, f32, tf32>, Case<16, 32, f32, e4m3, e5m2>, Case<32, 32, f16, e5m2, e4m3>,
                 Case<48, 32, s32, s8, u8>, Case<24, 32, s32, u8>>();
}

TEST_CASE("products with the largest N", "[quick][device]") {
  check_products<Case<256, 16, f32, bf16>, Case<256, 16, f16, f16>>();
}

TEST_CASE("products with A in registers", "[quick][device]") {
  check_products<Case<8, 16, f32, f16, f16, 1, 1, 0, 0, true>, Case<64, 8, f32, tf32, tf32, -1, 1, 0, 0, true>,
                 Case<16, 32, f32, e4m3, e4m3, 1, 1, 0, 0, true>,
                 Case<16, 32, s32, s8, s8, 1, 1, 0, 0, true>>();
}

TEST_CASE("signs and transposed factors", "[quick][device]") {
  check_products<Case<16, 16, f32, f16, f16, -1, 1>, Case<16, 16, f32, bf16, bf16, -1, -1>,
                 Case<16, 8, f32, tf32, tf32, 1, -1>, Case<64, 16, f32, bf16, bf16, 1, 1, 1, 0>,
                 Case<64, 16, f32, f16, f16, 1, 1, 0, 1>, Case<128, 16, f16, f16, f16, 1, -1, 1, 1>,
                 Case<64, 16, f32, f16, f16, -1, 1, 0, 1, true>>();
}

TEST_CASE("the bits of a descriptor", "[quick][device]") {
  const Launched launched = launch({device_inputs::target("sm_90a"), {}, {1}, 32768}, [] {
    const auto array = shared_array<std::uint16_t>(1024, 8192);
    const std::uint64_t plain = matrix_descriptor(array + 512, 128, 256, Swizzle::none),
                        swizzled = matrix_descriptor(array + 64, 16, 1024, Swizzle::bytes_128, 1);
    CHECK(plain == Described{2048, 128, 256, 0, 16}.bits());
    CHECK(swizzled == Described{1152, 16, 1024, 1, 128}.bits());
  });
  INFO(said(launched));
  CHECK(launched.ok());
}

// ---- The protocol allows

// Two groups under way, one accumulator each; the older one is complete first. Each warpgroup its own.
TEST_CASE("several groups and warpgroups are under way", "[quick][device]") {
  std::vector<float> sums(2 * 256);
  const GlobalArray<float> out(sums);
  const Launched launched = launch({device_inputs::target("sm_90a"), {}, {256}, 2048}, [&] {
    const int thread = static_cast<int>(threadIdx.x);
    const auto tile = shared_array<std::uint16_t>(0, 1024);
    for (int i = thread; i < 1024; i += 256) tile[i] = 0x3C00;  // 1
    __syncthreads();
    fence_proxy_async();  // behind the barrier, by each thread
    const std::uint64_t at = matrix_descriptor(tile, 128, 256, Swizzle::none);
    AsyncFragment<float, 4> one, two = Fragment<float, 4>{{5, 5, 5, 5}};
    wgmma_fence();
    const int products = thread / 128 + 1;
    for (int i = 0; i < products; ++i) wgmma<m64nNkK<8, 16>, f32, f16>(one, at, at, i > 0);
    wgmma_commit_group();
    wgmma<m64nNkK<8, 16>, f32, f16>(two, at, at, true);
    wgmma_commit_group();
    wgmma_wait_group<1>(one);
    AsyncFragment<float, 4> copy = one;
    out[thread] = copy[3];
    wgmma_wait_group<0>(two);
    copy = two;
    out[256 + thread] = copy[0];
  });
  INFO(said(launched));
  REQUIRE(launched.ok());
  for (std::size_t i = 0; i < 256; ++i) {
    CHECK(sums[i] == (i < 128 ? 16.0f : 32.0f));
    CHECK(sums[256 + i] == 21.0f);
  }
}

// ---- The GEMM

using kernels::wgmma_gemm::Mistake;

struct Product {
  int m, n, k;
  std::vector<std::uint16_t> a = device_inputs::codes(m * k, 1, 0x3F00),
                             b = device_inputs::codes(n * k, 2, 0x3F00);
  std::vector<float> d = std::vector<float>(static_cast<std::size_t>(m * n));

  template <Mistake mistake = Mistake::none>
  Launched run(int threads = 0) {
    using namespace kernels::wgmma_gemm;
    Launch how{device_inputs::target("sm_90a"), {}, {kThreads}, kShared};
    how.grid = {static_cast<unsigned>(n / kTile), static_cast<unsigned>(m / kTile)};
    how.execute.threads = threads;
    return launch(how, gemm<mistake>, GlobalArray<const std::uint16_t>(a), GlobalArray<const std::uint16_t>(b),
                  GlobalArray<float>(d), k);
  }

  // The same bits by one instruction after another, each tile in a memory without swizzle, 8 columns at a time.
  std::vector<float> one_by_one() const {
    const auto size = [](int x) { return static_cast<std::size_t>(x); };
    const Result<Instruction> product = Instruction::parse(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d}, a_desc, b_desc, 1, 1, 1, 0, 0;",
        device_inputs::target("sm_90a"));
    REQUIRE(product.ok());
    const Placed at_a = placed(0, false, false), at_b = placed(4096, false, false);
    std::vector<float> out(size(m * n));
    for (int row = 0; row < m; row += 64)
      for (int column = 0; column < n; column += 8) {
        float registers[128][4] = {};
        for (int depth = 0; depth < k; depth += 16) {
          std::vector<std::byte> memory(8192);
          const auto fill = [&](const Placed& where, const std::vector<std::uint16_t>& codes, int first,
                                int lines) {
            for (int i = 0; i < lines; ++i)
              for (int j = 0; j < 16; ++j)
                std::memcpy(&memory[formulas::described_bit(where.at, false, false, 16, size(i), size(j)) / 8],
                            &codes[size((first + i) * k + depth + j)], 2);
          };
          fill(at_a, a, row, 64);
          fill(at_b, b, column, 8);
          const Result<Execution> done = execute_warpgroup(*product, {{}, at_a.at.bits(), at_b.at.bits()},
                                                           memory, ResultView::dense(registers, 128, 4, 32));
          INFO((done ? "" : done.error().message()));
          REQUIRE(done.ok());
        }
        for (int lane = 0; lane < 128; ++lane)
          for (int reg = 0; reg < 4; ++reg) {
            const auto [i, j] = place_of_d(lane, reg);
            out[size((row + i) * n + column + j)] = registers[lane][reg];
          }
      }
    return out;
  }
};

TEST_CASE("a GEMM by wgmma gives the bits of its instructions one by one", "[quick][device]") {
  for (const auto& [m, n, k] : {std::array{64, 64, 64}, {64, 128, 448}, {128, 64, 192}})
    for (const int threads : {1, 2}) {
      Product problem{m, n, k};
      const Launched launched = problem.run(threads);
      INFO(m << " x " << n << " x " << k << ": " << said(launched));
      REQUIRE(launched.ok());
      CHECK(problem.d == problem.one_by_one());
    }
}

TEST_CASE("a GEMM by wgmma of small integers is exact", "[quick][device]") {
  Product problem{64, 128, 256};
  const auto entry = [](int i, int k, int seed) { return value<bf16>(i, k, seed); };
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < 256; ++k)
      problem.a[static_cast<std::size_t>(i * 256 + k)] = static_cast<std::uint16_t>(code<bf16>(entry(i, k, 1)));
  for (int j = 0; j < 128; ++j)
    for (int k = 0; k < 256; ++k)
      problem.b[static_cast<std::size_t>(j * 256 + k)] = static_cast<std::uint16_t>(code<bf16>(entry(j, k, 2)));
  std::vector<float> expected;
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 128; ++j) {
      int sum = 0;
      for (int k = 0; k < 256; ++k) sum += entry(i, k, 1) * entry(j, k, 2);
      expected.push_back(static_cast<float>(sum));
    }
  const Launched launched = problem.run();
  INFO(said(launched));
  REQUIRE(launched.ok());
  CHECK(problem.d == expected);
  // A tile that is not swizzled gives no fault, but another D.
  REQUIRE(problem.run<Mistake::plain_layout>().ok());
  CHECK(problem.d != expected);
}

template <Mistake mistake>
Fault fault_of_gemm() {
  Product problem{64, 128, 512};
  const Launched launched = problem.run<mistake>();
  REQUIRE_FALSE(launched.ok());
  return *launched.fault;
}

TEST_CASE("what is missing in a GEMM by wgmma is found", "[quick][device]") {
  const auto line = [](const std::string& text) {
    return device_inputs::line_of("tests/kernels/wgmma_gemm.cuh", text);
  };
  const unsigned copy = line("cp_async_cg(to"), product = line("wgmma<m64nNkK"), sums = line("= sums[i]"),
                 made = line("sums = {}");
  struct Expected {
    Fault fault;
    Errc code;
    const char* accepted;
    unsigned at, other;
  };
  const Expected expected[] = {
      {fault_of_gemm<Mistake::no_fence>(), Errc::protocol_violation,
       "all four warps must execute wgmma.fence before it, after the last access to the registers of this wgmma",
       product, 0},
      {fault_of_gemm<Mistake::no_proxy_fence>(), Errc::protocol_violation,
       "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between them",
       product, copy},
      {fault_of_gemm<Mistake::no_barrier>(), Errc::data_race, "a __syncthreads must come between them", product,
       copy},
      {fault_of_gemm<Mistake::no_copy_wait>(), Errc::copy_pending,
       "thread 0 must execute cp.async.wait_group 2, and then a barrier together with this thread, before this statement",
       product, copy},
      {fault_of_gemm<Mistake::one_stage_further>(), Errc::protocol_violation,
       "all four warps must execute wgmma.wait_group 0, and then a barrier, before this statement", copy,
       product},
      {fault_of_gemm<Mistake::wait_for_less>(), Errc::protocol_violation,
       "wgmma.wait_group 0 must come before this statement", sums, product},
  };
  for (const Expected& e : expected) {
    INFO(e.fault.message());
    CHECK(e.fault.error.code == e.code);
    CHECK(e.fault.error.accepted == e.accepted);
    CHECK(e.fault.at.line == e.at);
    CHECK((e.fault.other ? e.fault.other->at.line : 0) == e.other);
  }
  CHECK(expected[5].fault.error.seen.find("register 0 of the fragment of line " + std::to_string(made)) == 0);
}

}  // namespace device_wgmma_test
