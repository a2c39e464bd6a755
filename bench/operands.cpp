// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "numeric/formats.hpp"
#include "warpbit/execute.hpp"

namespace bench {
namespace {

using namespace warpbit;

// The nearest code, the largest finite one beyond it.
std::uint64_t nearest(const Format& format, double number) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);
  const Exact exact{number < 0, static_cast<u128>(std::ldexp(fraction, 53)), exponent - 53};
  return encode(format, exact, Rounding::nearest_even, Overflow::saturate);
}

template <class Code>
EigenCodes matrix(int rows, int columns, Code code) {
  EigenCodes out(rows, columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) out(row, column) = code();
  return out;
}

// The deviation of a factor's elements: 1, or that of all integers of so many bits.
double deviation(const Format& format) {
  return format.is_integer ? std::ldexp(1, format.bits) / std::sqrt(12) : 1;
}

// Scale factors around 1.
EigenCodes scale(const Operand& operand, Random& random) {
  std::normal_distribution<double> normal;
  const Format& format = *find_format(operand.format);
  return matrix(operand.fragment.rows(), operand.fragment.columns(),
                [&] { return nearest(format, std::exp2(normal(random))); });
}

// A sparse A: two elements anywhere in each four.
CompressedMatrix sparse_factor(const Instruction& instruction, const Operand& a, Random& random) {
  const EigenCodes values = factor(a.format, instruction.rows(), instruction.depth(), random);
  std::vector<std::uint64_t> dense;
  std::array<int, 4> order{0, 1, 2, 3};
  for (int row = 0; row < instruction.rows(); ++row)
    for (int k = 0; k < instruction.depth(); ++k) {
      if (k % 4 == 0) std::ranges::shuffle(order, random);
      dense.push_back(order[static_cast<std::size_t>(k % 4)] < 2 ? values(row, k) : 0);
    }
  return compress(instruction, dense).value();
}

EigenCodes in_rows(const std::vector<std::uint64_t>& codes, const FragmentMap& map) {
  auto next = codes.begin();
  return matrix(map.rows(), map.columns(), [&] { return *next++; });
}

// The matrices of one case into its registers.
void scatter_case(const Instruction& instruction, std::vector<Bytes>& registers, std::size_t index,
                  Random& random) {
  CompressedMatrix sparse;
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const Operand& operand = instruction.operands()[i];
    const FragmentMap& map = operand.fragment;
    const bool is_sparse = instruction.terms() < instruction.depth();
    const auto put = [&](const EigenCodes& codes) {
      if (const Result<void> done = scatter(operand, codes, registers[i], index); !done)
        throw std::logic_error(done.error().message());
    };
    switch (operand.part) {
      case Part::a:
        if (is_sparse) sparse = sparse_factor(instruction, operand, random);
        put(is_sparse ? in_rows(sparse.codes, map) : factor(operand.format, map.rows(), map.columns(), random));
        break;
      case Part::b: put(factor(operand.format, map.rows(), map.columns(), random)); break;
      case Part::c:
        put(accumulators(instruction, instruction.terms(), map.rows(), map.columns(), random));
        break;
      case Part::metadata: put(in_rows(sparse.metadata, map)); break;
      case Part::scale_a:
      case Part::scale_b: put(scale(operand, random)); break;
      default: break;
    }
  }
}

}  // namespace

EigenCodes factor(std::string_view format_name, int rows, int columns, Random& random, Values values) {
  const Format& format = *find_format(format_name);
  const bool any = format.is_integer || values == Values::any_bits;
  std::normal_distribution<double> normal;
  return matrix(rows, columns,
                [&] { return any ? random() & format.mask() : nearest(format, normal(random)); });
}

EigenCodes accumulators(const Instruction& instruction, int terms, int rows, int columns, Random& random) {
  const auto is_factor = [](const Operand& operand) { return operand.part == Part::a; };
  const Operand& a = *std::ranges::find_if(instruction.operands(), is_factor);
  const double of_factor = deviation(*find_format(a.format));
  std::normal_distribution<double> normal(0, of_factor * of_factor * std::sqrt(terms));
  const Format& format = *find_format(instruction.operands()[0].format);
  return matrix(rows, columns, [&] { return nearest(format, normal(random)); });
}

std::vector<Bytes> make_registers(const Instruction& instruction, Values values, std::size_t cases,
                                  Random& random) {
  std::vector<Bytes> out;
  for (const Operand& operand : instruction.operands())
    out.emplace_back(
        cases * static_cast<std::size_t>(instruction.lanes() * operand.registers * operand.register_bits / 8));
  for (std::size_t i = 0; i < cases; ++i) scatter_case(instruction, out, i, random);
  for (std::size_t i = 0; i < out.size() && values == Values::any_bits; ++i)
    if (instruction.operands()[i].part != Part::metadata)
      std::ranges::generate(out[i], [&] { return static_cast<std::byte>(random()); });
  return out;
}

}  // namespace bench
