// SPDX-License-Identifier: Apache-2.0
// Registers as arrays of known size, and the matrices in them, as a program has them before and after an
// instruction. Matrices are row-major; warpbit/eigen.hpp takes Eigen's.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "warpbit/format.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The registers of one operand: a non-owning array [cases][lanes][registers]. Registers are little-endian.
/// Values narrower than a register lie side by side in it, the first one lowest (two _Float16 in a .b32). A
/// function that uses the array refuses it with view_mismatch if it does not fit the operand.
class OperandArray {
 public:
  /// An empty array, for an immediate or for an operand that the statement gives as literals.
  OperandArray() = default;

  /// A dense array: a vector, std::array or span of numbers, or of bytes.
  template <std::ranges::contiguous_range Values>
  requires std::ranges::sized_range<Values> && std::ranges::borrowed_range<Values> &&
      std::is_trivially_copyable_v<std::ranges::range_value_t<Values>> &&
      (!std::same_as<std::ranges::range_value_t<Values>, OperandArray>)OperandArray(Values&& values)
      : view_{reinterpret_cast<const std::byte*>(std::ranges::data(values))},
        writable_(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Values>>>),
        value_bytes_(sizeof(std::ranges::range_value_t<Values>)),
        values_(std::ranges::size(values)) {}

  /// An array with byte strides of any sign, 0 included. Precondition: all registers exist.
  static OperandArray strided(const OperandView& view, std::size_t cases);
  static OperandArray strided(const ResultView& view, std::size_t cases);

  bool empty() const { return view_.base == nullptr; }

  /// The array as a view, and the number of its cases. `destination`: it will be written. Errors:
  /// view_mismatch unless the array is [cases][lanes][registers] of the operand.
  struct Registers {
    ResultView view;
    std::size_t cases = 0;
    operator OperandView() const { return view; }
  };
  Result<Registers> registers(const Operand& operand, int lanes, bool destination) const;

 private:
  OperandView view_;  // dense: only its base
  bool writable_ = false;
  std::size_t value_bytes_ = 0, values_ = 0;  // dense: the size of one value, and how many there are
  std::size_t cases_ = 0;                     // strided, where value_bytes_ is 0
};

/// Writes a matrix of codes (Operand::format; bits above the format's width are ignored) into every place of
/// the registers that holds its elements; all other bits keep their values (PTX manual, "Matrix Fragments").
/// The matrix has operand.fragment.rows() x columns() elements, row by row. `index` is the case; `product`
/// selects one of several matrices side by side. Errors: view_mismatch.
Result<void> scatter(const Operand& operand, std::span<const std::uint64_t> codes, OperandArray registers,
                     std::size_t index = 0, int product = 0);
/// The same for numbers, each rounded once to nearest even. Errors: also those of Codec::encode.
Result<void> scatter_values(const Operand& operand, std::span<const double> numbers, OperandArray registers,
                            std::size_t index = 0, int product = 0);

/// The matrix of codes in the registers, row by row. If several places hold an element, the first one counts.
/// Errors: view_mismatch.
Result<std::vector<std::uint64_t>> gather(const Operand& operand, OperandArray registers, std::size_t index = 0,
                                          int product = 0);
/// The same as exact numbers. Errors: also those of Codec::find.
Result<std::vector<double>> gather_values(const Operand& operand, OperandArray registers, std::size_t index = 0,
                                          int product = 0);

}  // namespace warpbit
#pragma GCC visibility pop
