// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/arguments.hpp"
#include "cli/launch_numbers.hpp"
#include "cli/terminal.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

// "4096" or "64x64"
std::vector<std::uint64_t> parse_shape(const std::string& where, const std::string& text,
                                       std::uint64_t item_bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // bytes
  std::vector<std::uint64_t> out;
  std::uint64_t bytes = item_bytes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const auto one = number<std::uint64_t>(text.substr(at, end - at));
    if (!one || (*one != 0 && bytes > kMost / *one) || out.size() == 32)
      refuse(where, fmt::format("shape '{}'", text), "numbers as in 4096 or 64x64, of at most 2^40 bytes");
    bytes *= *one;
    out.push_back(*one);
    at = end + 1;
  }
  return out;
}

// "IN.npy" or "IN.npy:OUT.npy"
LaunchArray read_file(const std::string& text) {
  constexpr std::string_view kEnd = ".npy:";
  const std::size_t colon = text.find(kEnd);
  if (colon == text.npos) return {required(read_array(text)), "", ""};
  return {required(read_array(text.substr(0, colon + kEnd.size() - 1))), text.substr(colon + kEnd.size()), ""};
}

// "TYPE:SHAPE" or "TYPE:SHAPE:OUT.npy"
LaunchArray make_zeros(const std::string& where, const std::string& text) {
  const std::size_t first = text.find(':'), second = first == text.npos ? first : text.find(':', first + 1);
  if (first == text.npos) refuse(where, "no shape", std::string(kArgument));
  const std::string name = text.substr(0, first);
  const NumberType type = parse_type(where, name);
  const std::string shape = text.substr(first + 1, second == text.npos ? second : second - first - 1);
  LaunchArray out{Array::zeros("zeros", type.bytes, parse_shape(where, shape, type.bytes)),
                  second == text.npos ? "" : text.substr(second + 1), name};
  out.array.header.kind = type.kind;
  return out;
}

}  // namespace

bool is_array(const std::string& text) {
  return text.starts_with(kZeros) || text.starts_with(kUnwritten) || text.ends_with(".npy");
}

LaunchArray& add_array(const std::string& where, const std::string& text, std::deque<LaunchArray>& arrays) {
  const bool unwritten = text.starts_with(kUnwritten);
  LaunchArray array = unwritten                  ? make_zeros(where, text.substr(kUnwritten.size()))
                      : text.starts_with(kZeros) ? make_zeros(where, text.substr(kZeros.size()))
                                                 : read_file(text);
  array.unwritten = unwritten;
  if (!array.out.empty() && !array.out.ends_with(".npy"))
    refuse(where, fmt::format("'{}'", array.out), "a name that ends in .npy");
  return arrays.emplace_back(std::move(array));
}

std::string element_name(const LaunchArray& of) {
  const ArrayHeader& header = of.array.header;
  const bool typed = !of.type.empty() && of.type[0] != 'i' && of.type[0] != 'b';
  return typed ? of.type : fmt::format("{}{}", header.kind == 'i' ? 's' : header.kind, 8 * header.item_bytes);
}

}  // namespace warpbit::cli
