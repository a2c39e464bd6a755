// SPDX-License-Identifier: Apache-2.0
// Arrays of a capture and their headers.
#include <fmt/format.h>
#include <fmt/ranges.h>  // join

#include <algorithm>
#include <functional>  // multiplies
#include <iterator>    // back_inserter
#include <numeric>     // accumulate

#include "warpbit/capture.hpp"

namespace warpbit {

std::uint64_t ArrayHeader::items() const {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

std::string ArrayHeader::dtype() const {
  switch (kind) {
    case 'u': return fmt::format("uint{}", 8 * item_bytes);
    case 'i': return fmt::format("int{}", 8 * item_bytes);
    case 'f': return fmt::format("float{}", 8 * item_bytes);
    case 'b': return "bool";
    default: return fmt::format("|{}{}", kind, item_bytes);
  }
}

std::string ArrayHeader::shape_text() const {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Array Array::zeros(std::string name, std::size_t item_bytes, std::vector<std::uint64_t> shape) {
  Array out{ArrayHeader{std::move(name), 'u', item_bytes, std::move(shape)}, {}};
  out.data.resize(static_cast<std::size_t>(out.header.items()) * item_bytes);
  return out;
}

std::uint64_t Array::at(std::uint64_t i) const {
  const std::byte* item = data.data() + i * header.item_bytes;
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < header.item_bytes; ++k)
    value |= std::to_integer<std::uint64_t>(item[k]) << (8 * k);
  return value;
}

void Array::set(std::uint64_t i, std::uint64_t value) {
  std::byte* item = data.data() + i * header.item_bytes;
  for (std::size_t k = 0; k < header.item_bytes; ++k) item[k] = static_cast<std::byte>(value >> (8 * k));
}

std::string Array::text(std::uint64_t i) const {
  const auto item = std::span(data).subspan(static_cast<std::size_t>(i) * header.item_bytes, header.item_bytes);
  std::string out;
  std::transform(item.begin(), item.end(), std::back_inserter(out),
                 [](std::byte b) { return static_cast<char>(b); });
  out.erase(out.find_last_not_of('\0') + 1);
  return out;
}

}  // namespace warpbit
