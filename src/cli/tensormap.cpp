// SPDX-License-Identifier: Apache-2.0
// warpbit tensormap
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <span>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "warpbit/descriptor.hpp"  // span_bytes
#include "warpbit/tensor_map.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBytes = sizeof(TensorMapBytes);
constexpr std::string_view kExpected =
    "128 bytes in hexadecimal, as one word of 256 digits or 128 of 2 in the order of memory; or as 32 words of 32 bits, or "
    "16 of 64 bits";

struct TensorMapArguments {
  std::vector<std::string> words;
  bool json = false;
};

// "0x34560000, 0x7f12 ..." without prefixes.
std::vector<std::string> hexadecimal_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    std::string word;
    for (const char c : argument + ' ') {
      const bool separates = std::string_view(" \t\n\r,").find(c) != std::string_view::npos;
      if (!separates) word += c;
      if (!separates || word.empty()) continue;
      out.push_back(word.starts_with("0x") || word.starts_with("0X") ? word.substr(2) : word);
      word.clear();
    }
  }
  return out;
}

// Bytes in the order of memory.
TensorMapBytes parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = hexadecimal_words(arguments);
  if (words.size() == 1 && words[0].size() == 2 * kBytes) {
    const std::string all = words[0];
    words.clear();
    for (std::size_t i = 0; i < all.size(); i += 2) words.push_back(all.substr(i, 2));
  }
  if (words.size() != kBytes && words.size() != kBytes / 4 && words.size() != kBytes / 8)
    refuse(
        "map",
        words.size() == 1 ? fmt::format("{} digits", words[0].size()) : fmt::format("{} words", words.size()),
        std::string(kExpected));
  const std::size_t bytes = kBytes / words.size();
  TensorMapBytes out{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = words[i].size() <= 2 * bytes ? number<std::uint64_t>(words[i], 16) : std::nullopt;
    if (!value)
      refuse("map", fmt::format("'{}'", words[i]), fmt::format("at most {} hexadecimal digits", 2 * bytes));
    for (std::size_t b = 0; b < bytes; ++b) out[i * bytes + b] = static_cast<std::byte>(*value >> 8 * b & 0xFF);
  }
  return out;
}

// "0x20000066510", the 16 words of 64 bits.
ordered_json memory_words(const TensorMapBytes& map) {
  ordered_json out = ordered_json::array();
  for (std::size_t i = 0; i < kBytes; i += 8) {
    std::uint64_t word = 0;
    for (std::size_t b = 0; b < 8; ++b) word |= std::to_integer<std::uint64_t>(map[i + b]) << 8 * b;
    out.push_back(hexadecimal(word));
  }
  return out;
}

template <class Numbers>
auto first(const Numbers& numbers, int count) {
  return std::span(numbers).first(static_cast<std::size_t>(count));
}

// Members under their names, in the order of the header.
ordered_json members(const TensorMap& m) {
  ordered_json out{{"mode", name(m.mode)},
                   {"elemtype", name(m.elemtype)},
                   {"rank", m.rank},
                   {"global_address", m.global_address},
                   {"global_dim", first(m.global_dim, m.rank)},
                   {"global_stride", first(m.global_stride, m.rank - 1)}};
  if (m.mode == TensorMapMode::tiled) {
    out["box_dim"] = first(m.box_dim, m.rank);
  } else {
    out["pixel_box_lower"] = first(m.pixel_box_lower, m.rank - 2);
    out["pixel_box_upper"] = first(m.pixel_box_upper, m.rank - 2);
    out["channels_per_pixel"] = m.channels_per_pixel;
    out["pixels_per_column"] = m.pixels_per_column;
  }
  out["element_stride"] = first(m.element_stride, m.rank);
  out["interleave_layout"] = name(m.interleave_layout);
  out["swizzle_mode"] =
      m.swizzle_mode == Swizzle::none ? "none" : fmt::format("bytes_{}", span_bytes(m.swizzle_mode));
  out["l2_promotion"] = name(m.l2_promotion);
  out["fill_mode"] = name(m.fill_mode);
  out["box_bytes"] = m.box_bytes();
  return out;
}

// "[4096, 1024]" is printed as "4096 1024".
std::string plain(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  return fmt::format("{}", fmt::join(value.get<std::vector<std::int64_t>>(), " "));
}

int tensormap(const TensorMapArguments& o) {
  const TensorMapBytes map = parse(o.words);
  const std::vector<TensorMapFinding> findings = check_tensor_map(map);
  const Result<TensorMap> decoded = TensorMap::decode(map);
  ordered_json all = decoded ? members(*decoded) : ordered_json::object();
  if (o.json) {
    all["findings"] = ordered_json::array();
    for (const TensorMapFinding& f : findings)
      all["findings"].push_back({{"issue", name(f.issue)}, {"message", f.message}});
    all["fields"] = ordered_json::array();
    for (const TensorMapField& f : tensor_map_fields(map))
      all["fields"].push_back(
          {{"field", f.name}, {"first_bit", f.first_bit}, {"bits", f.bits}, {"value", f.value}});
    all["words"] = memory_words(map);
    print_json("tensormap", all);
  } else {
    for (const auto& [key, value] : all.items())
      fmt::print("{:18} {}\n", key,
                 key == "global_address" ? fmt::format("{:#x}", decoded->global_address) : plain(value));
    for (const TensorMapFinding& f : findings) fmt::print("{}: {}\n", name(f.issue), f.message);
  }
  return findings.empty() ? kYes : kNo;
}

}  // namespace

void add_tensormap(CLI::App& command, int& status) {
  TensorMapArguments& o = add_arguments(command, status, tensormap);
  command.add_option("map", o.words, std::string(kExpected))->required();
  add_json(command, o.json);
  command.footer(examples(
      {"warpbit tensormap 7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0",
       "warpbit tensormap 7f0000000008 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0 "
       "--json"}));
}

}  // namespace warpbit::cli
