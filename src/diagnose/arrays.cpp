// SPDX-License-Identifier: Apache-2.0
// warpbit/bits.hpp: a wrong product of whole arrays
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "warpbit/bits.hpp"
#include "warpbit/format.hpp"
#include "warpbit/gemm.hpp"

namespace warpbit {
namespace {

// The bytes of an item that holds a code of so many bits.
std::size_t bytes_of_item(int bits) {
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

std::optional<Error> check_array(std::string_view name, const ArrayBits& array, const Operand& operand) {
  const Result<FormatInfo> format = find_format_info(operand.format);
  if (!format) return format.error();
  const std::size_t bytes = bytes_of_item(format->bits);
  std::size_t items = 1;
  for (const std::size_t one : array.shape) items *= one;
  if (array.shape.size() == 2 && array.item_bytes == bytes && array.bytes.size() == items * bytes)
    return std::nullopt;
  return Error{
      Errc::view_mismatch, std::string(name),
      fmt::format("{} bytes in items of {}, of shape ({})", array.bytes.size(), array.item_bytes,
                  fmt::join(array.shape, ", ")),
      fmt::format("a matrix of {}, of shape (rows, columns), in items of {} bytes", operand.format, bytes)};
}

MatrixView view_of(const ArrayBits& array) {
  return {array.bytes.data(), static_cast<std::ptrdiff_t>(array.shape[1]), 1};
}

}  // namespace

Result<Diagnosis> diagnose(const Instruction& instruction, const ArrayBits& a, const ArrayBits& b,
                           const ArrayBits& d) {
  const Operand *of_a = instruction.find(Part::a), *of_b = instruction.find(Part::b);
  if (of_a == nullptr || of_b == nullptr)
    return Error{Errc::view_mismatch, std::string(instruction.canonical()), "no product",
                 "an instruction D = A B + C"};
  for (const auto& [name, array, operand] :
       {std::tuple("a", &a, of_a), std::tuple("b", &b, of_b), std::tuple("d", &d, &instruction.operands()[0])})
    if (std::optional<Error> refused = check_array(name, *array, *operand)) return *std::move(refused);
  const std::size_t rows = a.shape[0], depth = a.shape[1], columns = b.shape[1];
  if (b.shape[0] != depth || d.shape[0] != rows || d.shape[1] != columns)
    return Error{
        Errc::view_mismatch, "d = a b",
        fmt::format("{} x {} of {} x {} and {} x {}", d.shape[0], d.shape[1], rows, depth, b.shape[0], columns),
        "rows x columns of rows x depth and depth x columns"};
  std::vector<std::byte> wrong(d.bytes.begin(),
                               d.bytes.end());  // it is only read, by a view of what may be written
  return diagnose(instruction, Gemm{rows,
                                    columns,
                                    depth,
                                    view_of(a),
                                    view_of(b),
                                    {},
                                    {wrong.data(), static_cast<std::ptrdiff_t>(columns), 1}});
}

}  // namespace warpbit
