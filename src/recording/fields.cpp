// SPDX-License-Identifier: Apache-2.0
#include "recording/fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "capture/text.hpp"

namespace warpbit::recording {

using nlohmann::json;

namespace {

constexpr int kMostLevels = 64;  // of objects and lists in each other

// "[1,2,...": enough to find it.
std::string seen_text(const json& value) {
  return capture::excerpt(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

Fields::Fields(std::string where, json object) : where_(std::move(where)), object_(std::move(object)) {
  if (!object_.is_object())
    throw Malformed{{Errc::record_malformed, where_, seen_text(object_), "a JSON object"}};
}

Fields Fields::parse(const std::string& where, std::string_view text) {
  bool is_deep = false;
  const auto look = [&](int depth, json::parse_event_t, const json&) {
    return !(is_deep |= depth > kMostLevels);
  };
  json object = json::parse(text, look, false);
  if (is_deep)
    throw Malformed{{Errc::record_malformed, where, fmt::format("more than {} levels", kMostLevels), "fewer"}};
  if (object.is_discarded())
    throw Malformed{{Errc::record_malformed, where, "'" + capture::excerpt(text) + "'", "a JSON object"}};
  return {where, std::move(object)};
}

void Fields::refuse(const std::string& name, std::string seen, std::string accepted) const {
  throw Malformed{
      {Errc::record_malformed, fmt::format("{}: '{}'", where_, name), std::move(seen), std::move(accepted)}};
}

const json& Fields::member(const std::string& name, std::string_view accepted) const {
  const auto found = object_.find(name);
  if (found == object_.end()) refuse(name, "nothing", std::string(accepted));
  return *found;
}

std::string Fields::text(const std::string& name) const {
  const json& value = member(name, "a string");
  if (!value.is_string()) refuse(name, seen_text(value), "a string");
  return value.get<std::string>();
}

std::optional<std::string> Fields::optional_text(const std::string& name) const {
  if (!has(name) || is_null(name)) return {};
  return text(name);
}

std::uint64_t Fields::number(const std::string& name) const {
  const json& value = member(name, "a number from 0 on");
  if (!value.is_number_unsigned()) refuse(name, seen_text(value), "a number from 0 on");
  return value.get<std::uint64_t>();
}

double Fields::real_or(const std::string& name, double other) const {
  if (!has(name)) return other;
  const json& value = object_.at(name);
  if (!value.is_number()) refuse(name, seen_text(value), "a number");
  return value.get<double>();
}

std::optional<bool> Fields::optional_flag(const std::string& name) const {
  if (!has(name) || is_null(name)) return {};
  const json& value = object_.at(name);
  if (!value.is_boolean()) refuse(name, seen_text(value), "true or false");
  return value.get<bool>();
}

std::vector<std::uint64_t> Fields::numbers(const std::string& name) const {
  const json& value = member(name, "a list of numbers");
  std::vector<std::uint64_t> out;
  if (!value.is_array()) refuse(name, seen_text(value), "a list of numbers");
  for (const json& one : value) {
    if (!one.is_number_unsigned()) refuse(name, seen_text(value), "numbers from 0 on");
    out.push_back(one.get<std::uint64_t>());
  }
  return out;
}

std::vector<std::string> Fields::texts(const std::string& name) const {
  const json& value = member(name, "a list of strings");
  std::vector<std::string> out;
  if (!value.is_array()) refuse(name, seen_text(value), "a list of strings");
  for (const json& one : value) {
    if (!one.is_string()) refuse(name, seen_text(value), "strings");
    out.push_back(one.get<std::string>());
  }
  return out;
}

std::vector<std::int64_t> Fields::integers(const std::string& name) const {
  const json& value = member(name, "a list of numbers");
  std::vector<std::int64_t> out;
  if (!value.is_array()) refuse(name, seen_text(value), "a list of numbers");
  for (const json& one : value) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (!one.is_number_integer() || (one.is_number_unsigned() && one.get<std::uint64_t>() > kMost))
      refuse(name, seen_text(value), "whole numbers from -2^63 to 2^63 - 1");
    out.push_back(one.get<std::int64_t>());
  }
  return out;
}

Dim3 Fields::extent(const std::string& name) const {
  const std::vector<std::uint64_t> all = numbers(name);
  const auto is_extent = [](std::uint64_t n) { return n >= 1 && n <= 0xFFFF'FFFF; };
  if (all.size() != 3 || !is_extent(all[0]) || !is_extent(all[1]) || !is_extent(all[2]))
    refuse(name, seen_text(object_.at(name)), "three numbers from 1 on");
  return {static_cast<unsigned>(all[0]), static_cast<unsigned>(all[1]), static_cast<unsigned>(all[2])};
}

std::optional<Dim3> Fields::optional_extent(const std::string& name) const {
  if (!has(name) || is_null(name)) return {};
  return extent(name);
}

std::uint64_t Fields::address(const std::string& name) const {
  const std::string digits = text(name);
  std::uint64_t out = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_address = digits.starts_with("0x") && digits.size() > 2;
  const auto [rest, error] = std::from_chars(digits.data() + (is_address ? 2 : 0), end, out, 16);
  if (!is_address || error != std::errc() || rest != end)
    refuse(name, "'" + capture::excerpt(digits) + "'", "an address as in \"0x7f2c40000000\"");
  return out;
}

std::vector<std::byte> Fields::hex(const std::string& name) const {
  const std::string digits = text(name);
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    const char* const from = digits.data() + i;
    const auto [rest, error] = std::from_chars(from, digits.data() + std::min(i + 2, digits.size()), byte, 16);
    if (error != std::errc() || rest != from + 2)
      refuse(name, "'" + capture::excerpt(digits) + "'", "two hexadecimal digits for each byte");
    out.push_back(static_cast<std::byte>(byte));
  }
  return out;
}

Fields Fields::object(const std::string& name) const {
  return {fmt::format("{}: '{}'", where_, name), member(name, "an object")};
}

std::vector<Fields> Fields::objects(const std::string& name) const {
  const json& value = member(name, "a list of objects");
  if (!value.is_array()) refuse(name, seen_text(value), "a list of objects");
  std::vector<Fields> out;
  for (std::size_t i = 0; i < value.size(); ++i)
    out.emplace_back(fmt::format("{}: '{}' {}", where_, name, i), value[i]);
  return out;
}

Fields fields_of(const Record& record) {
  return Fields::parse(fmt::format("line {}, {} '{}'", record.line, record.kind, record.name), record.text);
}

}  // namespace warpbit::recording
