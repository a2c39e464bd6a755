// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_bytes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/arguments.hpp"

namespace warpbit::cli {
namespace {

constexpr MemoryType kMemoryTypes[] = {{"u8", 1},  {"u16", 2},  {"u32", 4}, {"u64", 8}, {"s8", 1},  {"s16", 2},
                                       {"s32", 4}, {"s64", 8},  {"b8", 1},  {"b16", 2}, {"b32", 4}, {"b64", 8},
                                       {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};
constexpr std::string_view kShared = "shared ";

// Decimal, or hexadecimal with 0x.
std::optional<std::uint64_t> number_of(std::string_view text) {
  return text.starts_with("0x") ? number<std::uint64_t>(text.substr(2), 16) : number<std::uint64_t>(text);
}

// The number of an element by its index: "17", or "3,5" in an array of as many dimensions.
std::optional<std::uint64_t> element_of(std::string_view index, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> all;
  for (std::size_t at = 0; at <= index.size();) {
    const std::size_t end = std::min(index.find(',', at), index.size());
    const auto one = number_of(index.substr(at, end - at));
    if (!one) return std::nullopt;
    all.push_back(*one);
    at = end + 1;
  }
  if (all.size() == 1) return all[0];
  if (all.size() != shape.size()) return std::nullopt;
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] >= shape[i]) return std::nullopt;
    out = out * shape[i] + all[i];
  }
  return out;
}

DebugBytes parse_shared_bytes(const std::string& where, std::string_view text,
                              std::span<const ptx::SharedVariable> variables) {
  const std::size_t colon = text.find(':');
  const SharedPlace at = parse_shared(where, text.substr(0, colon), variables);
  DebugBytes out{{}, at.address, parse_memory_type(where, at.type).bytes, at.type};
  if (colon == text.npos) return out;
  const auto bytes = number_of(text.substr(colon + 1));
  if (!bytes || *bytes == 0)
    refuse(where, fmt::format("'{}'", text), "a number of bytes behind the colon, as in As+0x40:16");
  out.bytes = *bytes;
  return out;
}

// What a kernel may write to by an argument; empty for others.
std::span<const std::byte> written(const ptx::Argument& argument) {
  if (const auto* const bytes = std::get_if<std::span<std::byte>>(&argument)) return *bytes;
  if (const auto* const bytes = std::get_if<ptx::Unwritten>(&argument)) return bytes->bytes;
  return {};
}

}  // namespace

DebugPredicate DebugBytes::is_written() const {
  return memory.empty() ? writes_shared(address, bytes) : writes_memory(memory);
}

MemoryType parse_memory_type(const std::string& where, std::string_view name) {
  const auto* const found = std::ranges::find(kMemoryTypes, name, &MemoryType::name);
  if (found == std::end(kMemoryTypes))
    refuse(where, fmt::format("type '{}'", name), "u8 to u64, s8 to s64, b8 to b64, f16, bf16, f32 or f64");
  return *found;
}

// Zeros have the type that was typed, files that of their items.
std::string type_of(const LaunchArray& array) {
  const std::size_t bits = 8 * array.array.header.item_bytes;
  const char kind = array.array.header.kind;
  if (kind == 'i') return fmt::format("s{}", bits);
  return array.type.empty() || kind == 'f' ? fmt::format("{}{}", kind, bits) : array.type;
}

LaunchArray& parse_array(const std::string& where, std::string_view name, LoadedLaunch& loaded) {
  const auto& parameters = loaded.kernel.parameters();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::span<const std::byte> bytes = written(loaded.arguments[i]);
    if (bytes.empty()) continue;
    names.push_back(parameters[i].name);
    if (name != parameters[i].name && name != std::to_string(i)) continue;
    for (LaunchArray& one : loaded.arrays)
      if (one.array.data.data() == bytes.data()) return one;
  }
  refuse(where, name.empty() ? "no array" : fmt::format("'{}'", name),
         fmt::format("a parameter that is an array, by its name or number: {}", fmt::join(names, ", ")));
}

SharedPlace parse_shared(const std::string& where, std::string_view text,
                         std::span<const ptx::SharedVariable> variables) {
  if (const auto at = number_of(text)) return {*at, 0, "u32"};
  const std::size_t plus = std::min(text.find('+'), text.size());
  const auto found = std::ranges::find(variables, text.substr(0, plus), &ptx::SharedVariable::name);
  const auto offset = plus == text.size() ? std::optional(std::uint64_t{0}) : number_of(text.substr(plus + 1));
  if (found == variables.end() || !offset || (found->bytes != 0 && *offset >= found->bytes)) {
    std::vector<std::string> names;
    for (const ptx::SharedVariable& one : variables) names.push_back(one.name);
    refuse(where, fmt::format("'{}'", text),
           names.empty() ? "the first byte, as in 0x40: the kernel has no variable in shared memory"
                         : fmt::format("the first byte, as in 0x40, or a variable, as in {}+0x40: {}", names[0],
                                       fmt::join(names, ", ")));
  }
  return {found->address + *offset, found->bytes == 0 ? 0 : found->bytes - *offset, found->type};
}

DebugBytes parse_bytes(const std::string& where, std::string_view text, LoadedLaunch& loaded,
                       std::span<const ptx::SharedVariable> variables) {
  if (text.starts_with(kShared)) return parse_shared_bytes(where, text.substr(kShared.size()), variables);
  const std::size_t bracket = std::min(text.find('['), text.size());
  LaunchArray& array = parse_array(where, text.substr(0, bracket), loaded);
  const std::span<std::byte> memory = array.array.data;
  if (bracket == text.size()) return {memory, 0, memory.size(), type_of(array)};
  const std::size_t bytes = array.array.header.item_bytes;
  const bool closes = text.ends_with(']');
  const auto element =
      closes ? element_of(text.substr(bracket + 1, text.size() - bracket - 2), array.array.header.shape)
             : std::nullopt;
  if (!element || *element >= memory.size() / bytes)
    refuse(where, fmt::format("'{}'", text),
           fmt::format("an element of an array of shape {}, as in {}[0]", array.array.header.shape_text(),
                       text.substr(0, bracket)));
  return {memory.subspan(*element * bytes, bytes), 0, bytes, type_of(array)};
}

}  // namespace warpbit::cli
