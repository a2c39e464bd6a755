// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <vector>

#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

/// A type of registers: how wide it is, and what its values are.
struct RegisterType {
  std::string_view name;
  int bits;
  enum class Kind { number, integer, bits } kind;
  bool is_signed = false;
};
using RegisterKind = RegisterType::Kind;
constexpr RegisterType kRegisterTypes[] = {
    {"pred", 1, RegisterKind::integer},       {"u8", 8, RegisterKind::integer},
    {"u16", 16, RegisterKind::integer},       {"u32", 32, RegisterKind::integer},
    {"u64", 64, RegisterKind::integer},       {"s8", 8, RegisterKind::integer, true},
    {"s16", 16, RegisterKind::integer, true}, {"s32", 32, RegisterKind::integer, true},
    {"s64", 64, RegisterKind::integer, true}, {"b8", 8, RegisterKind::integer},
    {"b16", 16, RegisterKind::integer},       {"b32", 32, RegisterKind::integer},
    {"b64", 64, RegisterKind::integer},       {"f16", 16, RegisterKind::number},
    {"bf16", 16, RegisterKind::number},       {"f32", 32, RegisterKind::number},
    {"f64", 64, RegisterKind::number},        {"f16x2", 32, RegisterKind::bits},
    {"bf16x2", 32, RegisterKind::bits},       {"u16x2", 32, RegisterKind::bits},
    {"s16x2", 32, RegisterKind::bits}};

RegisterType register_type(std::string_view name) {
  const auto found = std::ranges::find(kRegisterTypes, name, &RegisterType::name);
  return found != std::end(kRegisterTypes) ? *found : RegisterType{name, 64, RegisterKind::bits};
}

std::string bits_text(const RegisterType& type, std::uint64_t value) {
  return fmt::format("{:#0{}x}", value, 2 + type.bits / 4);
}

// The fewest digits that tell an f32 or f64 from others.
std::string number_text(const RegisterType& type, std::uint64_t value) {
  const Result<Codec> codec = Codec::find(type.name);
  if (!codec) return bits_text(type, value);
  const double number = codec->decode(value);
  return type.bits == 64 ? fmt::format("{}", number) : fmt::format("{}", static_cast<float>(number));
}

std::string integer_text(const RegisterType& type, std::uint64_t value) {
  constexpr std::uint64_t kMaxDecimal = 999'999;
  const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1), all = 2 * (sign - 1) + 1;
  if (value <= kMaxDecimal) return fmt::format("{}", value);
  const std::uint64_t negated = (~value + 1) & all;
  if (type.is_signed && (value & sign) != 0 && negated <= kMaxDecimal) return fmt::format("-{}", negated);
  return fmt::format("{:#x}", value);
}

struct RunOfLanes {
  std::uint64_t value;
  std::uint32_t lanes;
};

// Lanes one after another with the same value.
std::vector<RunOfLanes> runs_of(const ptx::RegisterValues& of, std::uint32_t lanes) {
  std::vector<RunOfLanes> out;
  for (std::size_t lane = 0; lane < of.values.size(); ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    if (out.empty() || out.back().value != of.values[lane]) out.push_back({of.values[lane], 0});
    out.back().lanes |= std::uint32_t{1} << lane;
  }
  return out;
}

// By how much integers rise or fall from lane to lane, if it is always the same.
std::optional<std::int64_t> step_of(const RegisterType& type, const std::vector<RunOfLanes>& runs,
                                    std::uint32_t lanes) {
  constexpr std::size_t kMinRuns = 4;
  if (runs.size() < kMinRuns || runs.size() != static_cast<std::size_t>(std::popcount(lanes))) return {};
  const auto wide = [&](std::uint64_t value) {  // with its sign
    const int above = type.is_signed ? 64 - type.bits : 0;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << above) >> above);
  };
  const std::uint64_t step = wide(runs[1].value) - wide(runs[0].value);
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (wide(runs[i].value) - wide(runs[i - 1].value) != step) return {};
  return static_cast<std::int64_t>(step);
}

}  // namespace

std::string lanes_text(std::uint32_t lanes) {
  std::string out;
  for (int first = 0; first < 32; ++first) {
    if ((lanes >> first & 1) == 0) continue;
    int last = first;
    while (last < 31 && (lanes >> (last + 1) & 1) != 0) ++last;
    out += (out.empty() ? "" : ", ") +
           (last > first ? fmt::format("{}-{}", first, last) : fmt::format("{}", first));
    first = last;
  }
  return out;
}

std::string value_text(std::string_view type, std::uint64_t value) {
  const RegisterType found = register_type(type);
  if (found.kind == RegisterKind::number) return number_text(found, value);
  return found.kind == RegisterKind::integer ? integer_text(found, value) : bits_text(found, value);
}

std::string value_and_bits(std::string_view type, std::uint64_t value) {
  const RegisterType found = register_type(type);
  if (found.kind != RegisterKind::number) return value_text(type, value);
  return fmt::format("{} ({})", bits_text(found, value), number_text(found, value));
}

std::string value_in_a_word(std::string_view type, std::uint64_t value) {
  const RegisterType found = register_type(type);
  if (found.kind != RegisterKind::number) return value_text(type, value);
  return fmt::format("{}={}", bits_text(found, value), number_text(found, value));
}

std::string values_text(const ptx::RegisterValues& of, std::uint32_t lanes) {
  constexpr std::size_t kFew = 3, kFirst = 6;
  const std::vector<RunOfLanes> runs = runs_of(of, lanes);
  if (runs.empty()) return "";
  if (runs.size() == 1) return value_and_bits(of.type, runs[0].value);
  const RegisterType type = register_type(of.type);
  if (const auto step = type.kind == RegisterKind::integer ? step_of(type, runs, lanes) : std::nullopt)
    return fmt::format("{} to {}{}", value_text(of.type, runs.front().value),
                       value_text(of.type, runs.back().value), *step == 1 ? "" : fmt::format(" by {}", *step));
  std::string out;
  const auto add = [&](const std::string& one) { out += (out.empty() ? "" : ", ") + one; };
  if (runs.size() <= kFew) {
    for (const RunOfLanes& run : runs)
      add(fmt::format("{} ({})", value_text(of.type, run.value), lanes_text(run.lanes)));
    return out;
  }
  std::size_t count = 0;
  for (std::size_t lane = 0; lane < of.values.size(); ++lane)
    if ((lanes >> lane & 1) != 0 && ++count <= kFirst) add(value_text(of.type, of.values[lane]));
  return count > kFirst ? out + ", ..." : out;
}

}  // namespace warpbit::cli
