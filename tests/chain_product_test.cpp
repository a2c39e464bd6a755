// SPDX-License-Identifier: Apache-2.0
// Products in chains of FMA, as CUDA cores sum: against sums that are written out here with std::fma. Threads that share a sum,
// and blocks of K, are found from D.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"
#include "warpbit/gemm.hpp"

namespace chain_product_test {

using namespace warpbit;

Instruction chain(const std::string& name) {
  return Instruction::parse("chain." + name, "sm_90a").value();
}

template <class T>
struct Numbers {
  Numbers(std::size_t m, std::size_t n, unsigned seed) : rows(m), columns(n), values(m * n) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (T& x : values) x = static_cast<T>(normal(random));
  }
  T operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  MatrixView view() const { return {values.data(), static_cast<std::ptrdiff_t>(columns), 1}; }
  std::size_t rows, columns;
  std::vector<T> values;
};

template <class T>
std::vector<T> product(const Instruction& i, const Numbers<T>& a, const Numbers<T>& b, const std::string& order,
                       std::optional<Kernel> kernel = {}) {
  std::vector<T> out(a.rows * b.columns);
  Gemm gemm{a.rows,
            b.columns,
            a.columns,
            a.view(),
            b.view(),
            {},
            {out.data(), static_cast<std::ptrdiff_t>(b.columns), 1}};
  GemmOptions options;
  options.order = SumOrder::parse(order).value();
  options.execute.threads = 1;
  options.execute.kernel = kernel;
  const auto done = warpbit::gemm(i, gemm, options);
  INFO(i.canonical() << " " << order);
  if (!done) FAIL(done.error().message());
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

// sum(row, column) for each element of D.
template <class T, class Sum>
std::vector<T> each(const Numbers<T>& a, const Numbers<T>& b, Sum sum) {
  std::vector<T> out;
  for (std::size_t row = 0; row < a.rows; ++row)
    for (std::size_t column = 0; column < b.columns; ++column) out.push_back(sum(row, column));
  return out;
}

// The values [first, last) of K, `step` apart, in a chain.
template <class T>
T fused(const Numbers<T>& a, const Numbers<T>& b, std::size_t row, std::size_t column, std::size_t first,
        std::size_t last, std::size_t step = 1) {
  T out = 0;
  for (std::size_t k = first; k < last; k += step) out = std::fma(a(row, k), b(k, column), out);
  return out;
}

TEST_CASE("a chain is an FMA after the other", "[quick]") {
  for (const std::size_t depth :
       {std::size_t{1}, std::size_t{2}, std::size_t{127}, std::size_t{129}, std::size_t{300}}) {
    const Numbers<float> a(11, depth, 1), b(depth, 21, 2);
    const Numbers<double> x(5, depth, 3), y(depth, 9, 4);
    for (const Kernel kernel : kernels()) {
      INFO("K " << depth);
      CHECK(same_bits(product(chain("fma.rn.f32"), a, b, "ascending", kernel),
                      each(a, b, [&](auto i, auto j) { return fused(a, b, i, j, 0, depth); })));
      CHECK(same_bits(product(chain("fma.rn.f64"), x, y, "ascending", kernel),
                      each(x, y, [&](auto i, auto j) { return fused(x, y, i, j, 0, depth); })));
    }
  }
}

TEST_CASE("operands of 16 bits are converted", "[quick]") {
  // 1 + 2^-7 squared is 1 + 2^-6 + 2^-14: of f16 and bf16 alike, 32 times with numbers that f32 holds.
  struct {
    const char* form;
    std::uint16_t code;
  } const cases[] = {{"fma.rn.f32.f16", 0x3C08}, {"fma.rn.f32.bf16", 0x3F81}};
  for (const auto& c : cases)
    for (const Kernel kernel : kernels()) {
      Numbers<std::uint16_t> a(1, 32, 1), b(32, 1, 1);
      a.values.assign(32, c.code), b.values.assign(32, c.code);
      float d = 0;
      const Gemm gemm{1, 1, 32, a.view(), b.view(), {}, {&d, 1, 1}};
      GemmOptions options;
      options.execute.kernel = kernel;
      INFO(c.form);
      REQUIRE(warpbit::gemm(chain(c.form), gemm, options).ok());
      CHECK(d == 32.501953125F);
    }
}

TEST_CASE("the NaN of f32 is the canonical one, that of f64 an operand's", "[quick]") {
  for (const Kernel kernel : kernels()) {
    Numbers<float> a(3, 4, 1), b(4, 9, 2);
    a.values[5] = std::bit_cast<float>(0xFFC12345U);
    const auto d = product(chain("fma.rn.f32"), a, b, "ascending", kernel);
    for (std::size_t column = 0; column < 9; ++column)
      CHECK(std::bit_cast<std::uint32_t>(d[9 + column]) == 0x7FFFFFFF);
    CHECK(!std::isnan(d[0]));
    Numbers<double> x(3, 4, 1), y(4, 9, 2);
    x.values[5] = std::bit_cast<double>(0xFFF0000000012345U);
    CHECK(std::bit_cast<std::uint64_t>(product(chain("fma.rn.f64"), x, y, "ascending", kernel)[9]) ==
          0xFFF8000000012345U);
  }
}

// ---- Threads that share a sum

// Sums as threads exchange them: each is added to the one half of them before it.
float exchanged(std::vector<float> sums, std::size_t lanes) {
  for (std::size_t half = lanes / 2; half != 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i)
      if (i + half < sums.size()) sums[i] += sums[i + half];
  return sums[0];
}
float by_lanes(const Numbers<float>& a, const Numbers<float>& b, std::size_t i, std::size_t j,
               std::size_t first, std::size_t last, std::size_t lanes, std::size_t width) {
  std::vector<float> sums;
  for (std::size_t lane = 0; lane < lanes && first + lane * width < last; ++lane) {
    float sum = 0;
    for (std::size_t begin = first + lane * width; begin < last; begin += lanes * width)
      for (std::size_t k = begin; k < std::min(begin + width, last); ++k) sum = std::fma(a(i, k), b(k, j), sum);
    sums.push_back(sum);
  }
  return exchanged(sums, lanes);
}

struct Shared {
  const char* order;
  std::size_t depth, lanes, width;
};
constexpr Shared kShared[] = {{"sliced=32x10:halves", 300, 32, 10},
                              {"sliced=32x1:halves", 500, 32, 1},
                              {"sliced=16x7:halves", 100, 16, 7},
                              {"sliced=2x64", 300, 2, 64},
                              {"sliced=32x4:halves", 128, 32, 4}};

// D as a search has it.
OrderSearch searched(const Numbers<float>& a, const Numbers<float>& b, std::vector<float>& d) {
  const FoundProduct found{{a.rows,
                            b.columns,
                            a.columns,
                            a.view(),
                            b.view(),
                            {},
                            {d.data(), static_cast<std::ptrdiff_t>(b.columns), 1}}};
  FindOrderOptions options;
  options.execute.threads = 1;
  const auto instructions = instructions_of_products("f32", "f32", Target::find("sm_90a").value()).value();
  return find_order(instructions, found, options).value();
}
std::string first_found(const Numbers<float>& a, const Numbers<float>& b, std::vector<float> d) {
  const OrderSearch search = searched(a, b, d);
  return search.found.empty()
             ? "none"
             : std::string(search.found[0].instruction.canonical()) + ": " + search.found[0].order.text();
}

TEST_CASE("threads exchange their sums", "[quick]") {
  for (const Shared& c : kShared) {
    INFO(c.order);
    const Numbers<float> a(16, c.depth, 1), b(c.depth, 3, 2);
    const auto d =
        each(a, b, [&](auto i, auto j) { return by_lanes(a, b, i, j, 0, c.depth, c.lanes, c.width); });
    CHECK(same_bits(product(chain("fma.rn.f32"), a, b, c.order), d));
    CHECK(same_bits(product(chain("fma.rn.f32"), a, b, c.order, Kernel::reference), d));
    CHECK(first_found(a, b, d) == std::string("chain.fma.rn.f32: ") + c.order);
  }
}

// A block has 128 threads, each with two sums, of neighbours in each of its units of 256; four threads add the blocks.
float by_blocks(const Numbers<float>& a, const Numbers<float>& b, std::size_t i, std::size_t j,
                std::size_t blocks) {
  std::vector<float> fours(4);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::vector<float> sums;
    for (std::size_t thread = 0; thread < 128; ++thread) {
      float even = 0, odd = 0;
      for (std::size_t k = 256 * block + 2 * thread; k < a.columns; k += 256 * blocks) {
        even = std::fma(a(i, k), b(k, j), even);
        if (k + 1 < a.columns) odd = std::fma(a(i, k + 1), b(k + 1, j), odd);
      }
      sums.push_back(even + odd);
    }
    const float sum = exchanged(sums, 128);
    fours[block % 4] = block < 4 ? sum : fours[block % 4] + sum;
  }
  return fours[0] + fours[1] + fours[2] + fours[3];
}

TEST_CASE("blocks of threads sum runs, and four threads these", "[quick][once]") {
  struct {
    const char* order;
    std::size_t depth, blocks;
  } const cases[] = {{"split_k=9 unit=256 sliced=256x1:pair_halves merge_order=fours", 2203, 9},
                     {"split_k=16 unit=256 spread=turns sliced=256x1:pair_halves merge_order=fours", 4301, 16}};
  for (const auto& c : cases) {
    INFO(c.order);
    const Numbers<float> a(12, c.depth, 1), b(c.depth, 2, 2);
    const auto d = each(a, b, [&](auto i, auto j) { return by_blocks(a, b, i, j, c.blocks); });
    CHECK(same_bits(product(chain("fma.rn.f32"), a, b, c.order), d));
    CHECK(first_found(a, b, d) == std::string("chain.fma.rn.f32: ") + c.order);
  }
}

TEST_CASE("runs of units are found", "[quick]") {
  const Numbers<float> a(20, 300, 1), b(300, 24, 2);
  const auto d = each(a, b, [&](auto i, auto j) {
    float out = 0;
    for (std::size_t first = 0; first < 300; first += 76)
      out += fused(a, b, i, j, first, std::min<std::size_t>(first + 76, 300));
    return out;
  });
  CHECK(first_found(a, b, d) == "chain.fma.rn.f32: split_k=4 unit=4");
}

// What libraries for processors do: a block of K after the other, and what is left of more than one in two halves.
TEST_CASE("blocks of K of a processor's library are found", "[quick]") {
  const Numbers<float> a(20, 1000, 1), b(1000, 24, 2);
  const auto d = each(a, b, [&](auto i, auto j) {
    return fused(a, b, i, j, 0, 448) + fused(a, b, i, j, 448, 736) + fused(a, b, i, j, 736, 1000);
  });
  CHECK(first_found(a, b, d) == "chain.fma.rn.f32: runs=448:288:264");
}

// What plain loops do, as compilers make them for any x86-64 processor: a b is rounded, too.
template <class T>
std::vector<T> looped(const Numbers<T>& a, const Numbers<T>& b, std::size_t each_run) {
  return each(a, b, [&](auto i, auto j) {
    T out = 0;
    for (std::size_t first = 0; first < a.columns; first += each_run) {
      T run = 0;
      for (std::size_t k = first; k < std::min(first + each_run, a.columns); ++k) {
        const volatile T product = a(i, k) * b(k, j);  // no FMA
        run = run + product;
      }
      out = first == 0 ? run : out + run;
    }
    return out;
  });
}

TEST_CASE("plain loops round products", "[quick]") {
  const Numbers<float> a(20, 256, 1), b(256, 24, 2);
  for (const auto& [run, order] : {std::pair(256, "ascending"), std::pair(64, "split_k=4")}) {
    const auto d = looped(a, b, static_cast<std::size_t>(run));
    CHECK(same_bits(product(chain("mul_add.rn.f32"), a, b, order), d));
    CHECK(same_bits(product(chain("mul_add.rn.f32"), a, b, order, Kernel::reference), d));
    CHECK_FALSE(same_bits(product(chain("fma.rn.f32"), a, b, order), d));
    CHECK(first_found(a, b, d).starts_with("chain.mul_add.rn.f32: "));
  }
  const Numbers<double> wide_a(8, 100, 1), wide_b(100, 8, 2);
  const auto d = looped(wide_a, wide_b, 100);
  CHECK(same_bits(product(chain("mul_add.rn.f64"), wide_a, wide_b, "ascending"), d));
  CHECK(same_bits(product(chain("mul_add.rn.f64"), wide_a, wide_b, "ascending", Kernel::reference), d));
}

// numpy.sum along the last axis (loops_utils.h.src, pairwise_sum): eight accumulators, runs of at most 128.
float pairwise(const Numbers<float>& a, const Numbers<float>& b, std::size_t i, std::size_t j,
               std::size_t first, std::size_t n) {
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise(a, b, i, j, first, half) + pairwise(a, b, i, j, first + half, n - half);
  }
  float r[8] = {};
  for (std::size_t k = 0; k < n; ++k) {
    const volatile float product = a(i, first + k) * b(first + k, j);
    r[k % 8] = k < 8 ? product : r[k % 8] + product;
  }
  return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
}

TEST_CASE("NumPy's sums of products are found", "[quick]") {
  const struct {
    std::size_t depth;
    const char* order;
  } cases[] = {{64, "sliced=8x1:pairs"},
               {256, "split_k=2 unit=8 sliced=8x1:pairs"},
               {1000, "runs=120:128:120:128:120:128:128:128 sliced=8x1:pairs merge_order=pairs"}};
  for (const auto& c : cases) {
    const Numbers<float> a(16, c.depth, 1), b(c.depth, 12, 2);
    const auto d = each(a, b, [&](auto i, auto j) { return pairwise(a, b, i, j, 0, c.depth); });
    INFO(c.order);
    CHECK(same_bits(product(chain("mul_add.rn.f32"), a, b, c.order), d));
    CHECK(first_found(a, b, d) == std::string("chain.mul_add.rn.f32: ") + c.order);
  }
}

TEST_CASE("slices that are no power of two are not added in halves", "[quick]") {
  const Numbers<float> a(2, 12, 1), b(12, 2, 2);
  std::vector<float> d(4);
  const Gemm gemm{2, 2, 12, a.view(), b.view(), {}, {d.data(), 2, 1}};
  GemmOptions options;
  options.order = SumOrder::parse("sliced=3x2:halves").value();
  const auto done = warpbit::gemm(chain("fma.rn.f32"), gemm, options);
  REQUIRE(!done.ok());
  CHECK(done.error().message().find("3 slices added in halves or pairs; expected a power of two") !=
        std::string::npos);
}

}  // namespace chain_product_test
