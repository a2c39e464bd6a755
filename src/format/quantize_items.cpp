// SPDX-License-Identifier: Apache-2.0
// Block formats of whole arrays. Doubles here are exact, or round in a way that no code depends on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>

#include "format/narrow.hpp"
#include "threads.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

// ---- Scale factors

constexpr ScaleRuleInfo kRules[] = {
    {"floor", true, "2^(floor(log2 amax) - floor(log2 m))",
     "OCP Microscaling Formats 1.0, 6.3; torchao's FLOOR"},
    {"ceil", true, "2^(ceil(log2 amax) - floor(log2 m))", "torchao's CEIL"},
    {"rceil", true, "2^ceil(log2(amax / m)), which saturates no element",
     "cuBLAS for D, Transformer Engine; torchao's RCEIL"},
    {"even", true, "floor, of amax rounded to the fraction bits of an element", "torchao's EVEN"},
    {"quotient", false, "amax / m, to nearest even", "NVFP4: NVIDIA, Transformer Engine, torchao"},
};

constexpr int kLeastPower = -127, kMostPower = 127;  // exponents of ue8m0

// What all blocks of a call share.
struct Quantizer {
  const BlockFormat& format;
  Narrow element, scale_code;
  double largest;        // element
  int largest_exponent;  // of it
  int fraction_bits;     // of an element
  std::string_view rule;
  double tensor_scale;
};

// x / y, or where that is not exact the neighbour with an odd last bit: it rounds to fewer bits as the exact quotient does.
double odd_quotient(double x, double y) {
  const double q = x / y, rest = std::fma(q, y, -x);
  if (rest == 0 || (std::bit_cast<std::uint64_t>(q) & 1) != 0) return q;
  return std::nextafter(q, rest > 0 ? -INFINITY : INFINITY);
}

// floor(log2 x). Precondition: x > 0.
int floor_of_log2(double x) {
  return std::ilogb(x);
}

int power_for(const Quantizer& q, double amax) {
  if (amax == 0) return kLeastPower;
  const int floor = floor_of_log2(amax);
  int out = floor - q.largest_exponent;
  if (q.rule == "ceil" && amax != std::ldexp(1.0, floor)) ++out;
  if (q.rule == "rceil" && amax > std::ldexp(q.largest, out)) ++out;
  if (q.rule == "even") {  // 2 - 2^-(bits + 1) and more round up to 2
    const double middle = 2 - std::ldexp(1.0, -q.fraction_bits - 1);
    if (amax >= std::ldexp(middle, floor)) ++out;
  }
  return std::clamp(out, kLeastPower, kMostPower);
}

// ---- Blocks

void quantize_block(const Quantizer& q, std::span<const double> numbers, std::byte* codes, std::byte* scale) {
  double amax = 0;
  for (const double x : numbers) amax = std::max(amax, std::abs(x));
  if (q.format.rule == ScaleRule::power_of_two) {
    const int power = power_for(q, amax);
    *scale = static_cast<std::byte>(power - kLeastPower);
    const double inverse = std::ldexp(1.0, -power);  // products are exact: of powers of two
    for (const double x : numbers) *codes++ = static_cast<std::byte>(q.element.saturate(x * inverse));
    return;
  }
  const std::uint64_t code = q.scale_code.saturate(odd_quotient(amax, q.largest * q.tensor_scale));
  *scale = static_cast<std::byte>(code);
  const double divisor = q.scale_code.value(code) * q.tensor_scale;
  for (const double x : numbers)
    *codes++ = static_cast<std::byte>(
        q.element.saturate(divisor == 0 ? std::copysign(0.0, x) : odd_quotient(x, divisor)));
}

Error not_quantized(std::string seen, std::string accepted) {
  return {Errc::usage, "quantize", std::move(seen), std::move(accepted)};
}

// The rule by its name, or the format's own.
Result<std::string_view> rule_of(const BlockFormat& format, std::string_view name) {
  std::string known;
  for (const ScaleRuleInfo& rule : kRules) {
    if (rule.power_of_two != (format.rule == ScaleRule::power_of_two)) continue;
    if (name.empty() || rule.name == name) return rule.name;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", rule.name);
  }
  return not_quantized(fmt::format("rule '{}'", name), fmt::format("one for {}: {}", format.name, known));
}

const Format& row_of(std::string_view name) {
  return *find_format(name);
}

double largest_number(std::string_view format) {
  const Format& f = row_of(format);
  return Codec::find(format)->decode(largest(f, false));
}

}  // namespace

std::span<const ScaleRuleInfo> scale_rules() {
  return kRules;
}

float tensor_scale(const BlockFormat& format, std::span<const double> numbers) {
  if (format.tensor_scale.empty()) return 1;
  double amax = 0;
  for (const double x : numbers) amax = std::max(amax, std::abs(x));
  const auto out =
      static_cast<float>(odd_quotient(amax, largest_number(format.scale) * largest_number(format.element)));
  return out > 0 && std::isfinite(out) ? out : 1;
}

Result<void> quantize_items(const BlockFormat& format, std::span<const double> numbers, std::size_t row,
                            std::span<std::byte> codes, std::span<std::byte> scales, const QuantizeItems& how) {
  const Result<std::string_view> rule = rule_of(format, how.rule);
  if (!rule) return rule.error();
  if (!(how.tensor_scale > 0) || !std::isfinite(how.tensor_scale))
    return not_quantized(fmt::format("tensor_scale {}", how.tensor_scale), "a positive number");
  if (format.tensor_scale.empty() && how.tensor_scale != 1)
    return not_quantized(fmt::format("tensor_scale {}", how.tensor_scale),
                         fmt::format("none: {} has no second scale factor", format.name));
  const Format& element = row_of(format.element);
  const double most = largest_number(format.element);
  const bool powers = format.rule == ScaleRule::power_of_two;
  const Quantizer q{format, Narrow(element),     Narrow(powers ? element : row_of(format.scale)),
                    most,   floor_of_log2(most), element.fraction_bits,
                    *rule,  how.tensor_scale};
  const auto block = static_cast<std::size_t>(format.block);
  const std::size_t across = (row + block - 1) / block, rows = row == 0 ? 0 : numbers.size() / row;
  std::atomic<std::size_t> bad = numbers.size();  // the first number that is none
  constexpr std::size_t kNumbers = 1 << 15;       // of a piece, about
  const std::size_t piece = std::max<std::size_t>(1, kNumbers / block);
  for_each_piece(0, (rows * across + piece - 1) / piece, [&](std::size_t p) {
    for (std::size_t b = p * piece; b < std::min(rows * across, (p + 1) * piece); ++b) {
      const std::size_t first = b / across * row + b % across * block,
                        count = std::min(block, row - b % across * block);
      const std::span<const double> of = numbers.subspan(first, count);
      const auto none = std::ranges::find_if(of, [](double x) { return !std::isfinite(x); });
      if (none == of.end()) {
        quantize_block(q, of, codes.data() + first, scales.data() + b);
        continue;
      }
      const std::size_t at = first + static_cast<std::size_t>(none - of.begin());
      for (std::size_t least = bad; at < least && !bad.compare_exchange_weak(least, at);) {
      }
    }
  });
  if (bad != numbers.size())
    return Error{Errc::usage, fmt::format("number {}", bad.load()), fmt::format("{}", numbers[bad]),
                 "a finite number"};
  return {};
}

void dequantize_items(const BlockFormat& format, std::span<const std::byte> codes,
                      std::span<const std::byte> scales, std::size_t row, float tensor_scale,
                      std::span<double> numbers) {
  const Codec element = *Codec::find(format.element), scale = *Codec::find(format.scale);
  std::array<double, 256> elements{}, factors{};
  for (std::size_t code = 0; code < 256; ++code) {
    elements[code] = element.decode(code);
    factors[code] = scale.decode(code);
  }
  const auto block = static_cast<std::size_t>(format.block);
  const std::size_t across = (row + block - 1) / block, rows = row == 0 ? 0 : numbers.size() / row;
  for_each_piece(0, rows, [&](std::uint64_t r) {
    for (std::size_t i = 0; i < row; ++i) {
      const std::size_t at = r * row + i;
      const double factor = factors[std::to_integer<std::size_t>(scales[r * across + i / block])];
      numbers[at] =
          elements[std::to_integer<std::size_t>(codes[at])] * factor * static_cast<double>(tensor_scale);
    }
  });
}

}  // namespace warpbit
