// SPDX-License-Identifier: Apache-2.0
#include "warpbit/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>  // std::abs

#include "format/number.hpp"
#include "numeric/formats.hpp"
#include "threads.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit {
namespace {

// ---- The formats

constexpr std::string_view kMx = "OCP Microscaling Formats 1.0, 5.2 and 6.3";
constexpr std::string_view kNv =
    "NVIDIA, \"Introducing NVFP4 for Efficient and Accurate Low-Precision Inference\"";
constexpr std::string_view kSecond =
    "an f32 for the tensor, amax of the tensor / (448 x 6), by which numbers are divided first; the GEMM's result is "
    "multiplied by those of both tensors";

using enum ScaleRule;
constexpr BlockFormat kFormats[] = {
    // name        also called  element scale  block rule        second scale
    {"nvfp4", "", "e2m1", "ue4m3", 16, quotient, kSecond, kNv},
    {"mxfp4", "mxfp4_e2m1", "e2m1", "ue8m0", 32, power_of_two, "", kMx},
    {"mxfp6_e3m2", "", "e3m2", "ue8m0", 32, power_of_two, "", kMx},
    {"mxfp6_e2m3", "", "e2m3", "ue8m0", 32, power_of_two, "", kMx},
    {"mxfp8_e4m3", "", "e4m3", "ue8m0", 32, power_of_two, "", kMx},
    {"mxfp8_e5m2", "", "e5m2", "ue8m0", 32, power_of_two, "", kMx},
};
constexpr SharedName kShared[] = {{"mxfp8", "mxfp8_e4m3", "mxfp8_e5m2"}, {"mxfp6", "mxfp6_e3m2", "mxfp6_e2m3"}};

const Format& row(std::string_view name) {
  return *find_format(name);
}

// ---- Numbers

// Texts of x / y.
std::string ratio_text(const cpp_int& x, const cpp_int& y) {
  std::string out = difference_text(x, 0, y);
  std::erase(out, '+');
  return out;
}

struct Ratio {
  cpp_int numerator, denominator = 1;
};

Ratio operator/(const Ratio& x, const Ratio& y) {
  return {x.numerator * y.denominator, x.denominator * y.numerator};
}

Ratio ratio(const Exact& x) {
  const cpp_int magnitude(x.magnitude), power = cpp_int(1) << std::abs(x.exponent);
  return x.exponent < 0 ? Ratio{magnitude, power} : Ratio{magnitude * power, 1};
}

Exact product(const Exact& x, const Exact& y) {
  return {x.negative != y.negative, x.magnitude * y.magnitude, x.exponent + y.exponent};
}

std::uint64_t nearest(const Format& f, const Ratio& x, bool negative) {
  const Number number{Class::finite, negative, x.numerator, x.denominator};
  return encode(f, for_encoding(number, false, true), Rounding::nearest_even, Overflow::saturate);
}

// floor(log2 x) of a number that is not 0
int floor_log2(const Ratio& x) {
  const int out = static_cast<int>(msb(x.numerator)) - static_cast<int>(msb(x.denominator));
  const Ratio power = ratio({false, 1, out});
  return x.numerator * power.denominator < power.numerator * x.denominator ? out - 1 : out;
}

// ---- A block

struct Scale {
  std::uint64_t code;
  std::string unrounded;
};

Scale scale_of(const BlockFormat& b, const Ratio& amax) {
  const Format &element = row(b.element), &scale = row(b.scale);
  const Decoded most = decode(element, largest(element, false));
  if (b.rule == ScaleRule::quotient) {
    const Ratio wanted = amax / ratio(exact(most, element));
    return {nearest(scale, wanted, false), ratio_text(wanted.numerator, wanted.denominator)};
  }
  constexpr int kLeast = -127, kMost = 127;
  if (amax.numerator == 0)
    return {nearest(scale, ratio({false, 1, kLeast}), false), fmt::format("2^{}", kLeast)};
  const int wanted = floor_log2(amax) - most.exponent;
  return {nearest(scale, ratio({false, 1, std::clamp(wanted, kLeast, kMost)}), false),
          fmt::format("2^{}", wanted)};
}

QuantizedElement quantized(const Format& element, const Exact& scale, const Number& x) {
  QuantizedElement out;
  if (scale.magnitude == 0)
    out.code = nearest(element, {0}, x.negative);
  else
    out.code = nearest(element, Ratio{x.numerator, x.denominator} / ratio(scale), x.negative);
  const Exact value = product(exact(decode(element, out.code), element), scale);
  out.value = exact_decimal(value);
  const Ratio v = ratio(value);
  const cpp_int is = v.numerator * x.denominator, given = x.numerator * v.denominator;
  out.error = difference_text(value.negative ? cpp_int(-is) : is, x.negative ? cpp_int(-given) : given,
                              x.denominator * v.denominator);
  return out;
}

QuantizedBlock quantized(const BlockFormat& b, std::span<const Number> numbers) {
  Ratio amax{0};
  for (const Number& x : numbers)
    if (x.numerator * amax.denominator > amax.numerator * x.denominator) amax = {x.numerator, x.denominator};
  const auto [code, unrounded] = scale_of(b, amax);
  const Exact scale = exact(decode(row(b.scale), code), row(b.scale));
  QuantizedBlock out{ratio_text(amax.numerator, amax.denominator), unrounded, code, exact_decimal(scale), {}};
  for (const Number& x : numbers) out.elements.push_back(quantized(row(b.element), scale, x));
  return out;
}

Result<std::vector<Number>> parse_numbers(std::span<const std::string> texts) {
  std::vector<Number> out;
  for (const std::string& text : texts) {
    end_if(stop_flag());
    Result<Number> x = parse_number(text);
    if (!x) return x.error();
    if (x->cls != Class::finite)
      return Error{Errc::usage, fmt::format("number {}", out.size()), fmt::format("'{}'", text),
                   "a finite number"};
    out.push_back(*std::move(x));
  }
  if (out.empty()) return Error{Errc::usage, "block", "no number", "one or more"};
  return out;
}

}  // namespace

std::span<const BlockFormat> block_formats() {
  return kFormats;
}
std::span<const SharedName> shared_block_names() {
  return kShared;
}

Result<BlockFormat> find_block_format(std::string_view name) {
  std::string small = in_small_letters(name), known;
  for (const SharedName& shared : kShared)
    if (shared.name == small) small = shared.taken;
  for (const BlockFormat& b : kFormats) {
    if (b.name == small || has_word(b.synonyms, small)) return b;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", b.name);
  }
  return Error{Errc::usage, "block format", fmt::format("'{}'", name), "one of " + known};
}

Result<std::vector<QuantizedBlock>> quantize(std::string_view name, std::span<const std::string> texts) {
  const Result<BlockFormat> format = find_block_format(name);
  if (!format) return format.error();
  const Result<std::vector<Number>> numbers = parse_numbers(texts);
  if (!numbers) return numbers.error();
  std::vector<QuantizedBlock> out;
  const auto block = static_cast<std::size_t>(format->block);
  for (std::span<const Number> rest = *numbers; !rest.empty();) {
    end_if(stop_flag());
    const std::size_t count = std::min(block, rest.size());
    out.push_back(quantized(*format, rest.first(count)));
    rest = rest.subspan(count);
  }
  return out;
}

Result<std::vector<QuantizedBlock>> quantize(std::string_view name, std::span<const double> numbers) {
  std::vector<std::string> texts;
  for (const double x : numbers) {
    end_if(stop_flag());
    texts.push_back(fmt::format("{:a}", x));  // exactly
  }
  return quantize(name, texts);
}

}  // namespace warpbit
