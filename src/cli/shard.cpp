// SPDX-License-Identifier: Apache-2.0
#include "cli/shard.hpp"

#include <charconv>
#include <optional>

namespace warpbit::cli {
namespace {

// "3/16"
std::optional<Shard> parse_shard(const std::string& text) {
  Shard out;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, out.number);
  if (number.ec != std::errc{} || number.ptr == end || *number.ptr != '/') return std::nullopt;
  const auto count = std::from_chars(number.ptr + 1, end, out.count);
  const bool good = count.ec == std::errc{} && count.ptr == end && out.number >= 1 && out.number <= out.count;
  return good ? std::optional(out) : std::nullopt;
}

}  // namespace

void add_shard(CLI::App& command, Shard& shard, const std::string& description) {
  command
      .add_option_function<std::string>(
          "--shard",
          [&shard](const std::string& text) {
            const std::optional<Shard> parsed = parse_shard(text);
            if (!parsed) throw CLI::ValidationError("--shard", "'" + text + "'; expected I/N with 1 <= I <= N");
            shard = *parsed;
          },
          description)
      ->type_name("I/N");
}

}  // namespace warpbit::cli
