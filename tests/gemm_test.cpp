// SPDX-License-Identifier: Apache-2.0
// Whole matrix products against a loop that builds one warp for each tile and step, or that executes element by element
// what no warp has in registers.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "in_turn.hpp"
#include "warp.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/gemm.hpp"

namespace gemm_test {

using namespace warpbit;
using Codes = std::vector<std::uint64_t>;  // of a matrix, row by row

// ---- Codes

struct Layout {
  std::string_view format;
  int exponent_bits, fraction_bits, unused;  // unused: bits below the fraction
};
const Layout kLayouts[] = {{"f16", 5, 10, 0}, {"bf16", 8, 7, 0}, {"tf32", 8, 10, 13},
                           {"e4m3", 4, 3, 0}, {"e5m2", 5, 2, 0}, {"e3m2", 3, 2, 0},
                           {"e2m1", 2, 1, 0}, {"f32", 8, 23, 0}, {"f64", 11, 52, 0}};

// `ordinary`: signs and exponents near 1; `any`: all bits; `sparse`: ordinary with a special, zero or subnormal
// here and there.
enum class Values { ordinary, any, some_special };

std::uint64_t random_code(const Operand& operand, Values values, std::mt19937_64& random) {
  const std::uint64_t all = operand.element_bits == 64 ? ~0ULL : (1ULL << operand.element_bits) - 1;
  const auto layout = std::ranges::find(kLayouts, operand.format, &Layout::format);
  if (layout == std::end(kLayouts) || values == Values::any) return random() & all;
  const int low = layout->fraction_bits + layout->unused;
  const std::uint64_t bias = (1ULL << (layout->exponent_bits - 1)) - 1,
                      spread = std::min<std::uint64_t>(bias, 4);
  std::uint64_t exponent = bias + random() % spread - spread / 2;
  if (values == Values::some_special && random() % 64 == 0) exponent = random() % 2 ? 0 : 2 * bias + 1;
  const std::uint64_t fraction = random() & ((1ULL << low) - 1);
  const std::uint64_t sign = (random() & 1) << (layout->exponent_bits + low);
  return sign | exponent << low | (random() % 8 == 0 ? 0 : fraction);
}

Codes random_codes(const Operand& operand, std::size_t count, Values values, std::mt19937_64& random) {
  Codes out(count);
  for (std::uint64_t& code : out) code = random_code(operand, values, random);
  return out;
}

// Some of ue8m0 and ue4m3 are near 1, and 1 is among them.
Codes random_scales(const Operand* operand, std::size_t count, Values values, std::mt19937_64& random) {
  Codes out(operand != nullptr ? count : 0);
  for (std::uint64_t& code : out)
    if (values == Values::any || (values == Values::some_special && random() % 16 == 0))
      code = random() & 0xFF;
    else
      code = operand->format == "ue8m0" ? 124 + random() % 7 : 0x2C + random() % 24;
  return out;
}

// ---- Matrices in memory

enum class Order { row_major, column_major, backward, gaps };

// The codes of a matrix in items, and what tells that nothing else was written.
class Stored {
 public:
  Stored(const Operand& operand, const Codes& codes, std::size_t rows, std::size_t columns, Order order)
      : item_(operand.element_bits <= 8 ? 1 : static_cast<std::size_t>(operand.element_bits) / 8),
        rows_(rows),
        columns_(columns) {
    const auto r = static_cast<std::ptrdiff_t>(rows), c = static_cast<std::ptrdiff_t>(columns);
    switch (order) {
      case Order::row_major: row_stride = c, column_stride = 1; break;
      case Order::column_major: row_stride = 1, column_stride = r; break;
      case Order::backward: row_stride = -c, column_stride = -1, first_ = r * c - 1; break;
      case Order::gaps: row_stride = 3 * c + 5, column_stride = 3; break;
    }
    memory_.assign(item_ * ((3 * columns + 5) * rows + 1), std::byte{0xA5});
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column)
        std::memcpy(&memory_[at(row, column)], &codes[row * columns + column], item_);
  }

  std::ptrdiff_t row_stride = 0, column_stride = 0;
  void* data() { return memory_.data() + at(0, 0); }

  Codes codes() const {
    Codes out(rows_ * columns_);
    for (std::size_t i = 0; i < out.size(); ++i)
      std::memcpy(&out[i], &memory_[at(i / columns_, i % columns_)], item_);
    return out;
  }
  // All bytes but those of the elements.
  std::vector<std::byte> rest() const {
    std::vector<std::byte> out = memory_;
    for (std::size_t i = 0; i < rows_ * columns_; ++i)
      std::memset(&out[at(i / columns_, i % columns_)], 0, item_);
    return out;
  }

 private:
  std::size_t at(std::size_t row, std::size_t column) const {
    return item_ * static_cast<std::size_t>(first_ + static_cast<std::ptrdiff_t>(row) * row_stride +
                                            static_cast<std::ptrdiff_t>(column) * column_stride);
  }
  std::size_t item_, rows_, columns_;
  std::ptrdiff_t first_ = 0;
  std::vector<std::byte> memory_;
};

// ---- The naive product

// The registers of an operand, its element (row, column) being code(row, column); of several products the
// first.
template <class Code>
std::vector<std::byte> registers_of(const Operand& operand, Code code) {
  const FragmentMap& map = operand.fragment;
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  std::vector<std::byte> out(static_cast<std::size_t>(map.lanes() * operand.registers) * bytes);
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < operand.registers; ++reg) {
      std::uint64_t word = 0;
      for (int slot = 0; slot < map.packing().per_register(); ++slot)
        if (const auto element = map.at(lane, reg, slot); element && element->product == 0)
          word |= code(static_cast<std::size_t>(element->row), static_cast<std::size_t>(element->column))
                  << map.packing().low_bit_of(slot);
      std::memcpy(&out[static_cast<std::size_t>(lane * operand.registers + reg) * bytes], &word, bytes);
    }
  return out;
}

struct Sizes {
  std::size_t rows, columns, depth;
};

struct Naive {
  const Instruction& instruction;
  Sizes size;
  const Codes &a, &b;

  const Operand& operand(int i) const { return instruction.operands()[static_cast<std::size_t>(i)]; }

  // Executes the instruction for the tile at (row, column) and step; d is C before and D after.
  void step(std::size_t row, std::size_t column, std::size_t k, Codes& d) const {
    const auto a_registers = registers_of(operand(1), [&](std::size_t r, std::size_t t) {
      return row + r < size.rows && k + t < size.depth ? a[(row + r) * size.depth + k + t] : 0;
    });
    const auto b_registers = registers_of(operand(2), [&](std::size_t t, std::size_t c) {
      return column + c < size.columns && k + t < size.depth ? b[(k + t) * size.columns + column + c] : 0;
    });
    const auto c_registers = registers_of(operand(3), [&](std::size_t r, std::size_t c) {
      return row + r < size.rows && column + c < size.columns ? d[(row + r) * size.columns + column + c] : 0;
    });
    std::vector<std::byte> d_registers(c_registers.size());
    const auto view = [&](int i, const std::vector<std::byte>& registers) {
      return OperandView::dense(registers.data(), instruction.lanes(), operand(i).registers,
                                operand(i).register_bits);
    };
    const std::vector<OperandView> sources = {view(1, a_registers), view(2, b_registers), view(3, c_registers)};
    ExecuteOptions options;
    options.kernel = Kernel::reference;
    REQUIRE(execute_batch(instruction, sources,
                          ResultView::dense(d_registers.data(), instruction.lanes(), operand(0).registers,
                                            operand(0).register_bits),
                          1, options)
                .ok());
    const FragmentMap& map = operand(0).fragment;
    const auto bytes = static_cast<std::size_t>(operand(0).register_bits / 8);
    for (std::size_t r = 0; r < static_cast<std::size_t>(map.rows()) && row + r < size.rows; ++r)
      for (std::size_t c = 0; c < static_cast<std::size_t>(map.columns()) && column + c < size.columns; ++c) {
        const Place p = map.find({static_cast<int>(r), static_cast<int>(c), 0}).at(0);
        std::uint64_t word = 0;
        std::memcpy(&word,
                    &d_registers[static_cast<std::size_t>(p.lane * operand(0).registers + p.reg) * bytes],
                    bytes);
        d[(row + r) * size.columns + column + c] =
            p.bits == 64 ? word : word >> p.low_bit & ((1ULL << p.bits) - 1);
      }
  }

  // The steps [first, last) of the order.
  Codes run(const std::vector<std::size_t>& order, std::size_t first, std::size_t last, Codes d) const {
    for (std::size_t row = 0; row < size.rows; row += static_cast<std::size_t>(instruction.rows()))
      for (std::size_t column = 0; column < size.columns;
           column += static_cast<std::size_t>(instruction.columns()))
        for (std::size_t i = first; i < last; ++i)
          step(row, column, order[i] * static_cast<std::size_t>(instruction.depth()), d);
    return d;
  }
};

// ---- Additions, by other means than the library's

double half_value(std::uint64_t code) {
  const auto fraction = static_cast<double>(code & 0x3FF);
  const int exponent = static_cast<int>(code >> 10 & 0x1F);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return code >> 15 ? -magnitude : magnitude;
}

// Of finite numbers: the nearest code, of two the even one.
std::uint64_t nearest_half(double value) {
  const double magnitude = std::abs(value);
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (magnitude >= 65520) return sign | 0x7C00;
  std::uint64_t below = 0, above = 0x7BFF;  // magnitudes ascend with their codes
  while (below < above) {
    const std::uint64_t middle = (below + above + 1) / 2;
    (half_value(middle) <= magnitude ? below : above) = half_value(middle) <= magnitude ? middle : middle - 1;
  }
  if (below == 0x7BFF) return sign | below;
  const double down = magnitude - half_value(below), up = half_value(below + 1) - magnitude;
  return sign | (down < up || (down == up && below % 2 == 0) ? below : below + 1);
}

template <class Float, class Code>
std::uint64_t native_sum(std::uint64_t x, std::uint64_t y, std::uint64_t nan) {
  const Code codes[2] = {static_cast<Code>(x), static_cast<Code>(y)};
  Float values[2];
  std::memcpy(values, codes, sizeof values);
  const Float sum = values[0] + values[1];
  Code out;
  std::memcpy(&out, &sum, sizeof out);
  return std::isnan(sum) ? nan : out;
}

std::uint64_t sum(const Instruction& i, std::uint64_t x, std::uint64_t y) {
  const std::string_view format = i.operands()[0].format;
  if (format == "f32") return native_sum<float, std::uint32_t>(x, y, 0x7FFFFFFF);
  if (format == "f64") return native_sum<double, std::uint64_t>(x, y, 0xFFF8000000000000);
  if (format == "f16") {
    const auto is_special = [](std::uint64_t code) { return (code & 0x7C00) == 0x7C00; };
    const auto is_nan = [&](std::uint64_t code) { return is_special(code) && (code & 0x3FF) != 0; };
    if (is_nan(x) || is_nan(y) || (is_special(x) && is_special(y) && x != y)) return 0x7FFF;
    if (is_special(x) || is_special(y)) return is_special(x) ? x : y;
    return nearest_half(half_value(x) + half_value(y));
  }
  const std::int64_t total = std::int64_t{static_cast<std::int32_t>(x)} + static_cast<std::int32_t>(y);
  if (i.canonical().find("satfinite") == i.canonical().npos) return static_cast<std::uint32_t>(total);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(total, INT32_MIN, INT32_MAX));
}

template <class Product>
Codes expected(const Product& naive, const Codes& c, std::vector<std::size_t> order, std::size_t split) {
  const auto depth = static_cast<std::size_t>(naive.instruction.depth());
  const std::size_t steps = (naive.size.depth + depth - 1) / depth;
  if (order.empty()) {
    order.resize(steps);
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  const std::size_t run = (steps + split - 1) / split;
  Codes d = naive.run(order, 0, std::min(run, steps), c);
  for (std::size_t first = run; first < steps; first += run) {
    const Codes partial = naive.run(order, first, std::min(first + run, steps), Codes(c.size()));
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = sum(naive.instruction, d[i], partial[i]);
  }
  return d;
}

// ---- Element by element

// The product by instructions of one element each.
struct Chain {
  const Instruction& instruction;
  Sizes size;
  const Codes &a, &b, &a_scale, &b_scale;

  std::size_t terms() const { return static_cast<std::size_t>(instruction.terms()); }
  // From `count` on, `each` in a step, what lies `stride` apart; 1 behind `most`.
  static Codes part(const Codes& all, std::size_t at, std::size_t stride, std::size_t first, std::size_t each,
                    std::size_t most, std::uint64_t behind) {
    Codes out;
    for (std::size_t i = first; i < first + each; ++i) out.push_back(i < most ? all[at + i * stride] : behind);
    return out;
  }

  std::uint64_t step(std::size_t row, std::size_t column, std::size_t step, std::uint64_t c) const {
    const std::size_t first = step * terms(), blocks = static_cast<std::size_t>(instruction.blocks());
    ElementInputs element{part(a, row * size.depth, 1, first, terms(), size.depth, 0),
                          part(b, column, size.columns, first, terms(), size.depth, 0), c};
    if (blocks != 0) {
      const std::size_t all = a_scale.size() / size.rows;
      const std::uint64_t one = instruction.find(Part::scale_a)->format == "ue8m0" ? 127 : 0x38;
      element.a_scale = part(a_scale, row * all, 1, step * blocks, blocks, all, one);
      element.b_scale = part(b_scale, column, size.columns, step * blocks, blocks, all, one);
    }
    const Result<Element> done = execute_element(instruction, element);
    if (!done) FAIL(done.error().message());
    return done->code;
  }

  // The steps [first, last) of the order.
  Codes run(const std::vector<std::size_t>& order, std::size_t first, std::size_t last, Codes d) const {
    for (std::size_t at = 0; at < d.size(); ++at)
      for (std::size_t i = first; i < last; ++i)
        d[at] = step(at / size.columns, at % size.columns, order[i], d[at]);
    return d;
  }
};

// ---- Comparisons

const Operand& sum_of(const Instruction& i) {
  return i.find(Part::c) != nullptr ? *i.find(Part::c) : i.operands()[0];
}

struct Problem {
  Problem(const std::string& form, std::string_view target, Sizes sizes, Values values, std::uint64_t seed)
      : instruction(warp::parse(form, target)), size(sizes) {
    std::mt19937_64 random(seed);
    a = random_codes(*instruction.find(Part::a), size.rows * size.depth, values, random);
    b = random_codes(*instruction.find(Part::b), size.depth * size.columns, values, random);
    c = random_codes(sum_of(instruction), size.rows * size.columns, values, random);
    a_scale = random_scales(instruction.find(Part::scale_a), size.rows * blocks(), values, random);
    b_scale = random_scales(instruction.find(Part::scale_b), blocks() * size.columns, values, random);
  }
  Instruction instruction;
  Sizes size;
  Codes a, b, c, a_scale, b_scale;

  // Of K.
  std::size_t blocks() const {
    if (instruction.blocks() == 0) return 0;
    const auto each = static_cast<std::size_t>(instruction.terms() / instruction.blocks());
    return (size.depth + each - 1) / each;
  }
  Codes chain(const std::vector<std::size_t>& order, std::size_t split) const {
    return expected(Chain{instruction, size, a, b, a_scale, b_scale}, c, order, split);
  }

  Codes naive(const std::vector<std::size_t>& order, std::size_t split) const {
    return expected(Naive{instruction, size, a, b}, c, order, split);
  }

  // D by the library, with the matrices in that order in memory; `in_place`: D is C.
  Codes result(const GemmOptions& options, Order order = Order::row_major, bool in_place = false,
               Kernel* ran = nullptr) const {
    const Operand &of_a = *instruction.find(Part::a), &of_b = *instruction.find(Part::b);
    Stored left(of_a, a, size.rows, size.depth, order), right(of_b, b, size.depth, size.columns, order);
    Stored addend(sum_of(instruction), c, size.rows, size.columns, order);
    Stored other(instruction.operands()[0], Codes(c.size(), 0x5A), size.rows, size.columns, order);
    Stored of_rows(of_a, a_scale, a_scale.empty() ? 0 : size.rows, blocks(), order),
        of_columns(of_b, b_scale, blocks(), size.columns, order);  // of a byte, as A and B then are
    Stored& d = in_place ? addend : other;
    const auto before = d.rest();
    Gemm problem{size.rows,
                 size.columns,
                 size.depth,
                 {left.data(), left.row_stride, left.column_stride},
                 {right.data(), right.row_stride, right.column_stride},
                 {addend.data(), addend.row_stride, addend.column_stride},
                 {d.data(), d.row_stride, d.column_stride}};
    if (blocks() != 0) {
      problem.a_scale = {of_rows.data(), of_rows.row_stride, of_rows.column_stride};
      problem.b_scale = {of_columns.data(), of_columns.row_stride, of_columns.column_stride};
    }
    const Result<Execution> done = gemm(instruction, problem, options);
    INFO((done ? std::string() : done.error().message()));
    REQUIRE(done.ok());
    CHECK(done->inferred == instruction.inferred());
    if (ran) *ran = done->kernel;
    CHECK((d.rest() == before));
    CHECK((left.codes() == a));
    CHECK((right.codes() == b));
    if (!in_place) CHECK((addend.codes() == c));
    CHECK((of_rows.codes() == a_scale));
    CHECK((of_columns.codes() == b_scale));
    return d.codes();
  }
};

std::size_t different(const Codes& x, const Codes& y) {
  REQUIRE(x.size() == y.size());
  std::size_t out = 0;
  for (std::size_t i = 0; i < x.size(); ++i) out += x[i] != y[i];
  return out;
}

GemmOptions with(Kernel kernel, int threads, std::vector<std::size_t> order = {}, std::size_t split = 1) {
  GemmOptions out;
  out.order.k_order = std::move(order);
  out.order.split_k = split;
  out.execute.kernel = kernel;
  out.execute.threads = threads;
  return out;
}

struct FormCase {
  std::string form;
  std::string_view target;
  bool has_body;
};
const FormCase kForms[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80", true},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90", true},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "sm_90", true},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "sm_90", true},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "sm_90", true},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "sm_90", true},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "sm_80", true},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90", true},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_89", true},
    {"mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16", "sm_90", true},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "sm_120a", true},
    {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "sm_90", false},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_80", false},
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_90", false},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "sm_80", false},
    {"mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", "sm_90", false},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32", "sm_80", false},
    {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc", "sm_90", false},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "sm_80", false},
};

// The kernels; where they have nothing for a form, only the one that is chosen.
std::vector<Kernel> able(bool has_body) {
  return has_body ? kernels() : std::vector<Kernel>{kernels().back()};
}

// Odd sizes, and a little more than three steps.
Sizes odd_sizes(const Instruction& i) {
  return {19, 13, 3 * static_cast<std::size_t>(i.depth()) + 3};
}

TEST_CASE("products equal tiles executed one by one", "[gemm]") {
  const std::size_t subject = GENERATE(range(std::size_t{0}, std::size(kForms)));
  const auto& [form, target, has_body] = kForms[subject];
  const Values values = GENERATE(Values::ordinary, Values::any, Values::some_special);
  if (!has_turn(subject, static_cast<std::size_t>(values), 3)) return;
  INFO(form << " on " << target << ", values " << static_cast<int>(values));
  const Instruction instruction = warp::parse(form, target);
  const Problem problem(form, target, odd_sizes(instruction), values, 1);
  const Codes plain = problem.naive({}, 1);
  const Codes ordered = problem.naive({2, 0, 3, 1}, 1);
  for (const Kernel kernel : able(has_body))
    for (const int threads : {1, 2}) {
      INFO(name(kernel) << ", " << threads << " threads");
      Kernel ran{};
      CHECK(different(problem.result(with(kernel, threads), Order::row_major, false, &ran), plain) == 0);
      CHECK(name(ran) == name(has_body ? kernel : Kernel::reference));
      CHECK(different(problem.result(with(kernel, threads, {2, 0, 3, 1})), ordered) == 0);
    }
  if (values == Values::ordinary) return;
  for (const std::size_t split : {2, 3, 4, 9}) {
    INFO("split_k " << split);
    const Codes sums = problem.naive({3, 1, 0, 2}, split);
    for (const Kernel kernel : able(has_body))
      CHECK(different(problem.result(with(kernel, 2, {3, 1, 0, 2}, split)), sums) == 0);
  }
}

TEST_CASE("matrices lie in memory in any order", "[gemm]") {
  const auto& [form, target, has_body] = GENERATE(from_range(std::begin(kForms), std::end(kForms)));
  INFO(form << " on " << target);
  const Problem problem(form, target, odd_sizes(warp::parse(form, target)), Values::some_special, 2);
  const Codes plain = problem.naive({}, 1);
  for (const Order order : {Order::row_major, Order::column_major, Order::backward, Order::gaps})
    for (const bool in_place : {false, true}) {
      INFO("order " << static_cast<int>(order) << (in_place ? ", D is C" : ""));
      CHECK(different(problem.result(with(kernels().back(), 2), order, in_place), plain) == 0);
    }
}

// ---- wgmma, wmma and block scaling

struct ChainCase {
  std::string text;
  std::string_view target;
  bool has_body;
};

// Every class of dense wgmma in its smallest shape, and the largest one now and then; all signs of A and of B, with A in
// registers and in memory; every class with block scaling.
std::vector<ChainCase> chain_cases() {
  std::vector<ChainCase> out;
  const std::string wgmma = "wgmma.mma_async.sync.aligned.";
  for (const FormInfo& form : forms()) {
    if (form.family == "wgmma" && form.canonical.find(".m64n8k") != form.canonical.npos &&
        (out.empty() || out.back().text != form.canonical))
      out.push_back({form.canonical, "sm_90a",

                     form.canonical.find("s32.") == form.canonical.npos});
    if (form.canonical.starts_with("mma.sync") && form.canonical.find("scale_vec") != form.canonical.npos)
      out.push_back({form.canonical, "sm_120a",
                     form.canonical.find("4X") == form.canonical.npos ||
                         form.canonical.find("ue8m0") == form.canonical.npos});
  }
  for (const std::string form : {"m64n256k16.f32.f16.f16", "m64n24k16.f16.f16.f16", "m64n128k32.f32.e4m3.e5m2"})
    out.push_back({wgmma + form, "sm_90a", true});
  for (const std::string signs : {"1, 1", "-1, 1", "1, -1", "-1, -1"})
    for (const std::string form : {"m64n8k16.f32.bf16.bf16", "m64n16k16.f16.f16.f16", "m64n8k8.f32.tf32.tf32",
                                   "m64n8k32.f32.e4m3.e5m2", "m64n8k32.f16.e5m2.e5m2"}) {
      const bool transposes = form.find("k16") != form.npos;
      out.push_back(
          {wgmma + form + " {d}, {a}, desc, p, " + signs + (transposes ? ", 1;" : ";"), "sm_90a", true});
      out.push_back({wgmma + form + " {d}, a_desc, b_desc, 1, " + signs + (transposes ? ", 1, 0;" : ";"),
                     "sm_90a", true});
    }
  out.push_back({"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", "sm_90", true});
  out.push_back({"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", "sm_90", false});
  return out;
}

TEST_CASE("products equal their elements computed one by one", "[gemm]") {
  static const std::vector<ChainCase> cases = chain_cases();
  REQUIRE(cases.size() > 90);
  std::size_t number = 0;
  for (const auto& [text, target, has_body] : cases) {
    if (!has_turn(number, 0, 8) && ++number) continue;
    INFO(text << " on " << target);
    const Values values = std::array{Values::some_special, Values::any, Values::ordinary}[++number % 3];
    const Instruction instruction = warp::parse(text, target);
    const Problem problem(text, target, odd_sizes(instruction), values, number);
    const Codes plain = problem.chain({}, 1), sums = problem.chain({3, 1, 0, 2}, 2);
    for (const Kernel kernel : able(has_body)) {
      INFO(name(kernel));
      Kernel ran{};
      CHECK(different(problem.result(with(kernel, 1), Order::gaps, true, &ran), plain) == 0);
      CHECK(name(ran) == name(has_body ? kernel : Kernel::reference));
      CHECK(different(problem.result(with(kernel, 2, {3, 1, 0, 2}, 2), Order::column_major), sums) == 0);
    }
  }
}

// Parts of several ranges of blocks, the last of which are not whole; more than one step of stripes.
TEST_CASE("larger products equal their elements", "[gemm]") {
  const auto [text, target] = GENERATE(table<std::string, std::string_view>(
      {{"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "sm_90a"},
       {"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0", "sm_120a"},
       {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "sm_120a"},
       {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "sm_120a"}}));
  INFO(text);
  const Problem problem(text, target, {83, 75, 300}, Values::some_special, 9);
  const Codes plain = problem.chain({}, 1);
  for (const Kernel kernel : kernels()) {
    INFO(name(kernel));
    CHECK(different(problem.result(with(kernel, 3)), plain) == 0);
  }
}

// Elsewhere the numbers are so small that a sum with the exponent of a NaN would be an ordinary number.
TEST_CASE("a NaN among scale factors is one in its row or column alone", "[gemm]") {
  const auto [text, target, nan] = GENERATE(table<std::string, std::string_view, std::uint64_t>(
      {{"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", "sm_120a", 255},
       {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "sm_120a", 127}}));
  INFO(text);
  Problem problem(text, target, {37, 20, 200}, Values::ordinary, 11);
  if (nan == 255) std::ranges::fill(problem.b_scale, 60);
  problem.a_scale[21 * problem.blocks() + 3] = nan;
  problem.b_scale[2 * 20 + 13] = nan;
  const Codes plain = problem.chain({}, 1);
  for (std::size_t at = 0; at < plain.size(); ++at)
    CHECK((plain[at] == 0x7FFFFFFF) == (at / 20 == 21 || at % 20 == 13));
  for (const Kernel kernel : kernels()) CHECK(different(problem.result(with(kernel, 1)), plain) == 0);
}

// imm-scale -1 is a changed sign, and a bare form has none; nor has it in a product where both are changed.
TEST_CASE("signs of A and B", "[gemm]") {
  const std::string form = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";
  const auto problem = [&](const std::string& operands) {
    return Problem(form + operands, "sm_90a", {20, 9, 40}, Values::ordinary, 8);
  };
  const auto by = [&](const std::string& signs) {
    return problem(" {d}, a_desc, b_desc, p, " + signs + ", 0, 0;").result({});
  };
  const Codes plain = problem("").result({});
  CHECK(different(by("1, 1"), plain) == 0);
  CHECK(different(by("-1, -1"), plain) == 0);
  Problem negated = problem("");
  for (std::uint64_t& code : negated.a) code ^= 0x8000;
  const Codes other = negated.result({});
  CHECK(different(other, plain) > 100);
  CHECK(different(by("-1, 1"), other) == 0);
  CHECK(different(by("1, -1"), other) == 0);
}

// A tile as a warpgroup executes it, with B in shared memory: element (k, n) of eight columns at 16 n + 128 (k / 8) + 2 k %
// 16.
TEST_CASE("a tile of wgmma is what the warpgroup computes", "[gemm]") {
  const std::string form = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, {a}, b_desc, p, 1, 1, 0;";
  const Problem problem(form, "sm_90a", {64, 8, 16}, Values::some_special, 10);
  const Operand &of_a = *problem.instruction.find(Part::a), &of_d = problem.instruction.operands()[0];
  const auto element = [](const Codes& codes, std::size_t columns) {
    return [&codes, columns](std::size_t row, std::size_t column) { return codes[row * columns + column]; };
  };
  const std::vector<std::byte> a = registers_of(of_a, element(problem.a, 16));
  std::vector<std::byte> d = registers_of(of_d, element(problem.c, 8)), memory(256);
  for (std::size_t k = 0; k < 16; ++k)
    for (std::size_t n = 0; n < 8; ++n)
      std::memcpy(&memory[16 * n + k / 8 * 128 + k % 8 * 2], &problem.b[k * 8 + n], 2);
  WarpgroupSources sources;
  sources.a = OperandView::dense(a.data(), 128, of_a.registers, of_a.register_bits);
  sources.b_descriptor = *Descriptor{.start = 0, .leading = 128, .stride = 256}.encode();
  ExecuteOptions options;
  options.kernel = Kernel::reference;
  const ResultView result = ResultView::dense(d.data(), 128, of_d.registers, of_d.register_bits);
  REQUIRE(execute_warpgroup(problem.instruction, sources, memory, result, options).ok());
  for (const Kernel kernel : kernels())
    CHECK((registers_of(of_d, element(problem.result(with(kernel, 1)), 8)) == d));
}

// Stripes of D are 1024 x 1024, their steps 128 deep.
TEST_CASE("products larger than a stripe", "[gemm]") {
  const std::string bf16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  const Values values = GENERATE(Values::ordinary, Values::any);
  const Sizes size = GENERATE(Sizes{3, 1042, 20}, Sizes{1034, 5, 20}, Sizes{70, 70, 290}, Sizes{3, 5, 600});
  if (!has_turn(size.rows, static_cast<std::size_t>(values), 2)) return;
  INFO(size.rows << " x " << size.columns << " x " << size.depth << ", values " << static_cast<int>(values));
  const Problem problem(bf16, "sm_90", size, values, 3);
  const Codes plain = problem.naive({}, 1), parts = problem.naive({}, 2);
  for (const Kernel kernel : kernels()) {
    CHECK(different(problem.result(with(kernel, 2)), plain) == 0);
    CHECK(different(problem.result(with(kernel, 2, {}, 2)), parts) == 0);
  }
}

// Several steps of stripes in four ranges of blocks, enough work for five threads.
TEST_CASE("parts of threads are of any size, and none may have a thread of its own", "[gemm]") {
  const std::string bf16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  const Problem problem(bf16, "sm_90", {100, 72, 300}, Values::some_special, 5);
  const Codes plain = problem.naive({}, 1);
  for (const Kernel kernel : kernels())
    for (const int threads : {3, 40}) {
      INFO(name(kernel) << ", " << threads << " threads");
      CHECK(different(problem.result(with(kernel, threads)), plain) == 0);
    }
  Codes in_a_team;  // which has no more threads to give
#pragma omp parallel num_threads(2)
#pragma omp single
  in_a_team = problem.result(with(kernels().back(), 3));
  CHECK(different(in_a_team, plain) == 0);
}

TEST_CASE("values that are beyond ordinary ones", "[gemm]") {
  const std::string bf16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  Problem problem(bf16, "sm_90", {40, 24, 96}, Values::ordinary, 4);
  // A NaN, an Inf, and rows of numbers so small or large that sums are no normal numbers.
  problem.a[5 * 96 + 70] = 0x7FC1;
  problem.a[17 * 96 + 20] = 0xFF80;
  problem.b[60 * 24 + 11] = 0x7F80;
  for (std::size_t k = 0; k < 96; ++k) {
    problem.a[9 * 96 + k] = 0x0001 + k;
    problem.a[23 * 96 + k] = 0x7F00 | k;
    problem.a[31 * 96 + k] = 0;
  }
  const Codes plain = problem.naive({}, 1);
  CHECK(plain[5 * 24] == 0x7FFFFFFF);
  CHECK((plain[17 * 24] & 0x7FFFFFFF) == 0x7F800000);
  for (const Kernel kernel : kernels()) {
    INFO(name(kernel));
    CHECK(different(problem.result(with(kernel, 2)), plain) == 0);
  }
}

// Where exponents are far apart powers of two find E. Subnormals have none; here two whose products cancel are the largest, a
// little above the others, so that E shows in the bits of C that are cut.
TEST_CASE("subnormals that decide E", "[gemm]") {
  for (const auto& [form, format] : {std::pair("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "bf16"),
                                     {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "tf32"}}) {
    const auto layout = std::ranges::find(kLayouts, std::string_view(format), &Layout::format);
    const int low = layout->fraction_bits + layout->unused;
    constexpr std::size_t kRows = 32, kColumns = 16, kRow = 5;
    const std::size_t depth = std::string_view(format) == "bf16" ? 16 : 8;
    Problem problem(form, "sm_90", {kRows, kColumns, depth}, Values::ordinary, 11);
    const auto set_exponents = [](Codes& codes, int at, std::uint64_t field) {
      for (std::uint64_t& code : codes) code = (code & ~(0xFFULL << at)) | field << at;
    };
    set_exponents(problem.a, low, 60);   // 2^-67
    set_exponents(problem.b, low, 120);  // 2^-7
    set_exponents(problem.c, 23, 53);    // 2^-74
    for (const std::size_t k : {2, 5}) {
      for (std::size_t row = 0; row < kRows; ++row) problem.a[row * depth + k] = 0;
      problem.a[kRow * depth + k] = 1ULL << (low - 1) | std::uint64_t{k == 5} << (low + 8);  // 2^-127, -2^-127
      for (std::size_t column = 0; column < kColumns; ++column)
        problem.b[k * kColumns + column] = std::uint64_t{127 + 57} << low;
    }
    const Codes plain = problem.naive({}, 1);
    for (const Kernel kernel : kernels()) {
      INFO(form << " by " << name(kernel));
      CHECK(different(problem.result(with(kernel, 1)), plain) == 0);
    }
  }
}

TEST_CASE("no steps, no elements, no C", "[gemm]") {
  const std::string f16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const Problem empty(f16, "sm_90", {5, 9, 0}, Values::any, 5);
  CHECK(different(empty.result({}), empty.c) == 0);
  CHECK(different(empty.result(with(kernels().back(), 1, {}, 3)), empty.c) == 0);

  const Instruction instruction = warp::parse(f16, "sm_90");
  CHECK(gemm(instruction, {0, 5, 7, {}, {}, {}, {}}).ok());
  CHECK(gemm(instruction, {5, 0, 7, {}, {}, {}, {}}).ok());

  Problem zero(f16, "sm_90", {5, 9, 20}, Values::ordinary, 6);
  std::ranges::fill(zero.c, 0);
  const Codes plain = zero.naive({}, 1);
  std::vector<std::uint16_t> a(zero.a.begin(), zero.a.end()), b(zero.b.begin(), zero.b.end());
  std::vector<std::uint32_t> d(plain.size(), 1);
  REQUIRE(gemm(instruction, {5, 9, 20, {a.data(), 20, 1}, {b.data(), 9, 1}, {}, {d.data(), 9, 1}}).ok());
  CHECK(different(Codes(d.begin(), d.end()), plain) == 0);
}

// Bits of an item above its code do not count.
TEST_CASE("codes are in the low bits of items", "[gemm]") {
  for (const std::string form :
       {"mma.sync.aligned.m16n8k32.row.col.s32.s4.u4.s32",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"}) {
    Problem problem(form, "sm_120a", {7, 6, 40}, Values::any, 7);
    const Codes plain = problem.blocks() == 0 ? problem.naive({}, 1) : problem.chain({}, 1);
    for (std::uint64_t& code : problem.a) code |= 0xB0;
    for (std::uint64_t& code : problem.b) code |= 0x50;
    for (const Kernel kernel : kernels()) CHECK(different(problem.result(with(kernel, 1)), plain) == 0);
  }
}

// ---- Errors

std::string refusal(const std::string& text, std::string_view target, Errc code, const Gemm& problem,
                    const GemmOptions& options = {}) {
  const Result<Execution> done = gemm(warp::parse(text, target), problem, options);
  REQUIRE_FALSE(done.ok());
  CHECK(name(done.error().code) == name(code));
  return done.error().message();
}

TEST_CASE("products that are refused", "[gemm]") {
  using Catch::Matchers::Contains;
  const std::string f16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  std::vector<std::uint16_t> items(64 * 64);
  std::vector<std::uint32_t> results(64 * 64);
  const MatrixView view{items.data(), 64, 1};
  const MatrixResult result{results.data(), 64, 1};
  const Gemm good{20, 9, 40, view, view, {}, result};
  REQUIRE(gemm(warp::parse(f16, "sm_90"), good).ok());

  const auto instruction = [&](const std::string& text, std::string_view target) {
    return refusal(text, target, Errc::view_mismatch, good);
  };
  CHECK_THAT(
      instruction("cvt.rn.f16.f32", "sm_90"),
      Contains("it is no product of matrices; expected a dense product of matrices: mma, wmma or wgmma"));
  const std::string wgmma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16";
  CHECK_THAT(instruction(wgmma + " {d}, {a}, desc, 0, 1, 1, 0;", "sm_90a"),
             Contains("scale-d is 0; expected 1 or a predicate"));
  CHECK_THAT(instruction(wgmma + " {d}, {a}, 0x10, p, 1, 1, 0;", "sm_90a"), Contains("literals in b_desc"));
  CHECK_THAT(instruction("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16", "sm_90a"),
             Contains("its A is sparse"));
  CHECK_THAT(instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80"),
             Contains("its A is sparse"));
  CHECK_THAT(
      instruction(
          "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
          "sm_120a"),
      Contains("a_scale has no data; expected its elements"));
  CHECK_THAT(instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16", "sm_70"),
             Contains("C is f16 and D is f32"));
  CHECK_THAT(instruction(f16 + " {d}, {a}, {b}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};", "sm_90"),
             Contains("literals in c; expected registers"));

  const auto problem = [&](auto change) {
    Gemm bad = good;
    change(bad);
    return refusal(f16, "sm_90", Errc::view_mismatch, bad);
  };
  CHECK_THAT(problem([](Gemm& g) { g.a.data = nullptr; }), Contains("a has no data; expected its elements"));
  CHECK_THAT(problem([](Gemm& g) { g.b.data = nullptr; }), Contains("b has no data"));
  CHECK_THAT(problem([](Gemm& g) { g.d.data = nullptr; }), Contains("d has no data"));
  CHECK_THAT(problem([](Gemm& g) { g.depth = std::size_t{1} << 31; }),
             Contains("20 rows, 9 columns, depth 2147483648; expected at most 2147483647 of each"));

  CHECK_THAT(problem([&](Gemm& g) { g.b_scale = view; }),
             Contains("b_scale is given; expected no scale factors: the form has no block scaling"));

  const auto options = [&](auto change) {
    GemmOptions bad;
    change(bad);
    return refusal(f16, "sm_90", Errc::view_mismatch, good, bad);
  };
  CHECK_THAT(options([](GemmOptions& o) {
               o.order.k_order = {0, 1};
             }),
             Contains("2 steps in k_order; expected each of the 3 steps of K once"));
  CHECK_THAT(options([](GemmOptions& o) {
               o.order.k_order = {0, 1, 3};
             }),
             Contains("step 3 in k_order; expected"));
  CHECK_THAT(options([](GemmOptions& o) {
               o.order.k_order = {0, 1, 1};
             }),
             Contains("step 1 twice in k_order; expected"));
  CHECK_THAT(options([](GemmOptions& o) { o.order.split_k = 0; }),
             Contains("split_k is 0; expected at least 1"));

  GemmOptions strict;
  strict.execute.allow_inferred = false;
  CHECK_THAT(refusal(f16, "sm_87", Errc::inferred_plan, good, strict), Contains("sm_87"));

  for (const Kernel kernel : {Kernel::avx2, Kernel::avx512, Kernel::neon}) {
    if (std::ranges::count(kernels(), kernel) != 0) continue;
    GemmOptions missing;
    missing.execute.kernel = kernel;
    CHECK_THAT(refusal(f16, "sm_90", Errc::no_such_kernel, good, missing), Contains(std::string(name(kernel))));
  }
  GemmOptions none;
  none.execute.kernel = static_cast<Kernel>(17);
  CHECK_THAT(refusal(f16, "sm_90", Errc::no_such_kernel, good, none),
             Contains("there is no kernel '17' on this processor; expected reference, scalar"));
}

}  // namespace gemm_test
