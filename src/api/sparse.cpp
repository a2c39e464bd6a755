// SPDX-License-Identifier: Apache-2.0
#include "warpbit/execute.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/checks.hpp"
#include "isa/instruction.hpp"

namespace warpbit {
namespace {

// The sizes of a compressed matrix.
struct Sizes {
  const Form& form;
  const Format& format;
  std::size_t rows, depth, terms, kept, width;
  std::size_t unit = kept > 1 ? kept / 2 : 1;  // elements that are stored or left out together
  std::size_t groups = terms / kept;           // of a row
};

Error not_sparse(const Instruction& instruction, std::string seen, std::string expected) {
  return mismatch(instruction, std::move(seen), std::move(expected), Errc::not_sparse);
}

Result<Sizes> sizes_of(const Instruction& instruction) {
  const Form& form = *instruction.decoded().form;
  if (!form.sparsity.is_sparse())
    return not_sparse(instruction, "A is dense", "an instruction with a sparse A");
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  return Sizes{form,
               format(form.arithmetic.a),
               size(form.rows),
               size(form.depth),
               size(form.terms()),
               size(form.sparsity.kept),
               size(form.sparsity.width)};
}

// The nibble for stored units at these places, ascending.
std::uint64_t nibble_of(const Sizes& s, const std::vector<std::size_t>& places) {
  if (s.kept == 1) return places[0] == 0 ? 0b0100 : 0b1110;
  return places[0] | places[1] << 2;
}

// The places of a group's stored units, or nothing if there are too many.
std::vector<std::size_t> stored_places(const Sizes& s, const std::uint64_t* group) {
  const std::size_t units = s.width / s.unit, wanted = s.kept / s.unit;
  std::vector<bool> stored(units);
  for (std::size_t i = 0; i < s.width; ++i)
    if (decode(s.format, group[i]).cls != Class::zero) stored[i / s.unit] = true;
  auto count = static_cast<std::size_t>(std::ranges::count(stored, true));
  if (count > wanted) return {};
  for (std::size_t place = 0; count < wanted; ++place)  // fill up with zeros
    if (!stored[place]) {
      stored[place] = true;
      ++count;
    }
  std::vector<std::size_t> out;
  for (std::size_t place = 0; place < units; ++place)
    if (stored[place]) out.push_back(place);
  return out;
}

}  // namespace

Result<CompressedMatrix> compress(const Instruction& instruction, std::span<const std::uint64_t> dense) {
  const Result<Sizes> sizes = sizes_of(instruction);
  if (!sizes) return sizes.error();
  const Sizes& s = *sizes;
  if (dense.size() != s.rows * s.depth)
    return not_sparse(instruction, fmt::format("{} codes", dense.size()),
                      fmt::format("{} x {}", s.rows, s.depth));
  CompressedMatrix out;
  for (std::size_t row = 0; row < s.rows; ++row)
    for (std::size_t group = 0; group < s.groups; ++group) {
      const std::size_t first = group * s.width;
      const std::uint64_t* elements = &dense[row * s.depth + first];
      const std::vector<std::size_t> places = stored_places(s, elements);
      if (places.empty())
        return not_sparse(instruction,
                          fmt::format("row {}, columns {}-{} have too many elements that are not zero", row,
                                      first, first + s.width - 1),
                          fmt::format("{} of {}{}", s.kept, s.width, s.unit > 1 ? ", in pairs" : ""));
      out.metadata.push_back(nibble_of(s, places));
      for (const std::size_t place : places)
        for (std::size_t i = 0; i < s.unit; ++i)
          out.codes.push_back(elements[place * s.unit + i] & s.format.mask());
    }
  return out;
}

Result<std::vector<std::uint64_t>> expand(const Instruction& instruction, const CompressedMatrix& matrix) {
  const Result<Sizes> sizes = sizes_of(instruction);
  if (!sizes) return sizes.error();
  const Sizes& s = *sizes;
  if (matrix.codes.size() != s.rows * s.terms || matrix.metadata.size() != s.rows * s.groups)
    return not_sparse(instruction,
                      fmt::format("{} codes and {} nibbles", matrix.codes.size(), matrix.metadata.size()),
                      fmt::format("{} and {}", s.rows * s.terms, s.rows * s.groups));
  std::vector<std::uint64_t> out(s.rows * s.depth);
  for (std::size_t i = 0; i < matrix.codes.size(); ++i) {
    const std::size_t row = i / s.terms, term = i % s.terms, group = term / s.kept, within = term % s.kept;
    const std::uint64_t nibble = matrix.metadata[row * s.groups + group];
    if (nibble > 15 || !is_defined(s.form.sparsity, nibble, s.form.ordered))
      return mismatch(instruction, fmt::format("metadata {:#x} of row {}, group {}", nibble, row, group),
                      defined_nibbles(s.form), Errc::undefined_operand);
    const std::size_t place =
        s.kept == 1
            ? (nibble == 0b1110 ? 1 : 0)
            : static_cast<std::size_t>(stored_index(s.form.sparsity, nibble, static_cast<int>(within))) *
                      s.unit +
                  within % s.unit;
    out[row * s.depth + group * s.width + place] = matrix.codes[i] & s.format.mask();
  }
  return out;
}

}  // namespace warpbit
