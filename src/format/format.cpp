// SPDX-License-Identifier: Apache-2.0
#include "warpbit/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>    // std::ldexp
#include <cstdlib>  // std::abs
#include <limits>

#include "format/number.hpp"
#include "numeric/format_names.hpp"
#include "numeric/formats.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit {
namespace {

FormatInfo info(const Format& f) {
  return {f.name,
          f.synonyms,
          f.is_integer,
          f.bits,
          f.is_signed,
          f.exponent_bits,
          f.fraction_bits,
          f.bias,
          f.ignored_low,
          f.ignored_high,
          !f.is_integer && f.subnormals,
          f.specials == Specials::ieee,
          f.specials != Specials::none,
          f.source,
          f.zero_bits};
}

// Exponent and fraction of a floating-point code, or the magnitude of one that has it, as one integer, which grows with the
// magnitude.
std::uint64_t magnitude_field(const Format& f, std::uint64_t code) {
  if (f.zero_bits != 0) return code & f.magnitude_mask();
  return (code & f.mask()) >> f.ignored_low & ones(f.exponent_bits + f.fraction_bits);
}

CodeClass class_of(const Format& f, std::uint64_t code, const Decoded& d) {
  switch (d.cls) {
    case Class::infinity: return CodeClass::infinity;
    case Class::nan: return CodeClass::nan;
    case Class::zero: return CodeClass::zero;
    case Class::finite: break;
  }
  if (f.is_integer) return f.fraction_bits > 0 ? CodeClass::fixed_point : CodeClass::integer;
  const bool is_subnormal = f.subnormals && magnitude_field(f, code) >> f.fraction_bits == 0;
  return is_subnormal ? CodeClass::subnormal : CodeClass::normal;
}

std::vector<CodeField> fields_of(const Format& f, std::uint64_t code) {
  const std::string bits = fmt::format("{:0{}b}", code, f.bits);
  std::vector<CodeField> out;
  std::size_t at = 0;
  const auto add = [&](std::string_view field, int count) {
    if (count != 0) out.push_back({field, bits.substr(at, static_cast<std::size_t>(count))});
    at += static_cast<std::size_t>(count);
  };
  if (f.is_integer) {
    const bool has_sign = f.zero_bits != 0;
    add("sign", has_sign ? 1 : 0);
    add("zero", f.zero_bits);
    add("integer", f.bits - f.fraction_bits - f.zero_bits - (has_sign ? 1 : 0));
    add("fraction", f.fraction_bits);
    return out;
  }
  add("ignored", f.ignored_high);
  add("sign", f.is_signed ? 1 : 0);
  add("exponent", f.exponent_bits);
  add("fraction", f.fraction_bits);
  add("ignored", f.ignored_low);
  return out;
}

// 0x1.8p-3; 0x0p+0
std::string hexadecimal(const Exact& x) {
  const char* const sign = x.negative ? "-" : "";
  if (x.magnitude == 0) return fmt::format("{}0x0p+0", sign);
  const int below = bit_length(x.magnitude) - 1, digits = (below + 3) / 4;
  const auto fraction = static_cast<std::uint64_t>(x.magnitude << (4 * digits - below)) & ones(4 * digits);
  std::string text = digits ? fmt::format(".{:0{}x}", fraction, digits) : "";
  text.erase(text.find_last_not_of('0') + 1);
  return fmt::format("{}0x1{}p{:+}", sign, text == "." ? "" : text, x.exponent + below);
}

// The number's next neighbour, upwards or downwards.
std::optional<std::uint64_t> neighbour(const Format& f, std::uint64_t code, const Decoded& d, bool upwards) {
  if (d.cls == Class::nan) return std::nullopt;
  if (f.is_integer && f.zero_bits == 0) {
    const bool is_last = upwards       ? code == largest(f, false)
                         : f.is_signed ? code == largest(f, true)
                                       : code == 0;
    return is_last ? std::nullopt : std::optional((upwards ? code + 1 : code - 1) & f.mask());
  }
  const std::uint64_t last =
      magnitude_field(f, f.specials == Specials::ieee ? infinity(f, false) : largest(f, false));
  const std::uint64_t field = magnitude_field(f, code);
  if (field == 0 && d.cls == Class::zero)
    return upwards || f.is_signed ? std::optional(pack(f, !upwards, 1)) : std::nullopt;
  const bool outwards = upwards != d.negative;
  if (outwards ? field == last : field == 0) return std::nullopt;
  return pack(f, d.negative, outwards ? field + 1 : field - 1);
}

// A number of a format and one from a person, in units of the format's last place: significand and number /
// denominator. `code` is the significand times the denominator.
struct Compared {
  cpp_int code, number, denominator;

  Compared(const Exact& x, const Number& n) : number(n.numerator), denominator(n.denominator) {
    (x.exponent < 0 ? number : denominator) <<= std::abs(x.exponent);
    code = denominator * cpp_int(x.magnitude);
  }
};

// The difference between the encoded number and the given one.
std::string error_of(const Decoded& d, const Format& f, const Number& n) {
  const Exact x = exact(d, f);
  Compared c(x, n);
  if (x.negative == n.negative)
    return x.negative ? difference_text(c.number, c.code, c.denominator)
                      : difference_text(c.code, c.number, c.denominator);
  c.code += c.number;  // the signs differ
  return x.negative ? difference_text(0, c.code, c.denominator) : difference_text(c.code, 0, c.denominator);
}

// Compares with the largest number of the sign; that is 0 for a negative number in an unsigned format.
bool is_beyond_largest(const Format& f, const Number& n) {
  if (n.negative && !f.is_signed) return n.numerator != 0;
  const Compared c(exact(decode(f, largest(f, n.negative)), f), n);
  return c.code < c.number;
}

// The row of a format, by name, synonym or shared name.
Result<const Format*> find_row(std::string_view name) {
  if (const Format* f = find_format(name)) return f;
  const std::string small = in_small_letters(name);
  const auto* const shared = std::ranges::find(kSharedFormats, small, &SharedFormat::name);
  if (const Format* f = find_format(shared == std::end(kSharedFormats) ? small : shared->taken)) return f;
  std::string known;
  for (const Format& f : formats()) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
  return Error{Errc::usage, "format", fmt::format("'{}'", name), "one of " + known};
}

// The code of an infinity or a NaN.
Result<std::uint64_t> encode_special(const Format& f, Class cls, bool negative, bool satfinite) {
  if (cls == Class::nan) {
    if (f.specials == Specials::none)
      return Error{Errc::usage, std::string(f.name), "it has no NaN", "a number"};
    return f.canonical_nan;
  }
  if (f.is_integer && !satfinite)
    return Error{Errc::usage, std::string(f.name), "it has no infinity", "a number, or saturation"};
  if (f.specials == Specials::ieee && !satfinite) return infinity(f, negative);
  const bool finite = satfinite || f.specials == Specials::none;
  if (!finite) return f.canonical_nan;
  return negative && !f.is_signed ? 0 : largest(f, negative);
}

}  // namespace

std::vector<FormatInfo> all_formats() {
  std::vector<FormatInfo> out;
  for (const Format& f : formats()) out.push_back(info(f));
  return out;
}

Result<FormatInfo> find_format_info(std::string_view name) {
  const Result<const Format*> f = find_row(name);
  if (!f) return f.error();
  return info(**f);
}

std::span<const SharedName> shared_names() {
  static const auto all = [] {
    std::vector<SharedName> out;
    for (const auto& [name, taken, other] : kSharedFormats) out.push_back({name, taken, other});
    return out;
  }();
  return all;
}

std::string_view name(CodeClass c) {
  constexpr std::string_view kNames[] = {"zero",        "subnormal", "normal", "integer",
                                         "fixed-point", "infinity",  "NaN"};
  return kNames[static_cast<std::size_t>(c)];
}

Result<ExplainedCode> explain_code(std::string_view format_name, std::uint64_t code) {
  const Result<const Format*> row = find_row(format_name);
  if (!row) return row.error();
  const Format& f = **row;
  if (code > f.mask())
    return Error{Errc::usage, std::string(f.name), fmt::format("code {:#x}", code),
                 fmt::format("at most {} bit{}, {:#x}", f.bits, f.bits == 1 ? "" : "s", f.mask())};
  if ((code & ~f.used()) != 0)
    return Error{
        Errc::usage, std::string(f.name), fmt::format("code {:#x}", code),
        fmt::format("0 in bits {} to {}, between sign and magnitude", f.bits - 1 - f.zero_bits, f.bits - 2)};
  const Decoded d = decode(f, code);
  ExplainedCode out{code, class_of(f, code, d), d.negative, fields_of(f, code), "", "", "", "", {}, {}};
  out.below = neighbour(f, code, d, false);
  out.above = neighbour(f, code, d, true);
  if (d.cls == Class::nan || d.cls == Class::infinity) {
    out.decimal = d.cls == Class::nan ? "NaN" : d.negative ? "-Inf" : "Inf";
    return out;
  }
  const Exact x = exact(d, f);
  out.decimal = exact_decimal(x);
  out.unit = exact_decimal({false, 1, x.exponent});
  if (f.is_integer) return out;
  out.power =
      fmt::format("{} x 2^{}", exact_decimal({d.negative, d.significand, -f.fraction_bits}), d.exponent);
  out.hexadecimal = hexadecimal(x);
  return out;
}

Result<std::vector<Landmark>> landmarks(std::string_view format_name) {
  const Result<const Format*> row = find_row(format_name);
  if (!row) return row.error();
  const Format& f = **row;
  const std::uint64_t one = encode(f, {false, 1, 0}, Rounding::nearest_even, Overflow::saturate);
  if (f.is_integer) {
    std::vector<Landmark> out{{"zero", 0}, {"largest", largest(f, false)}};
    if (f.is_signed) out.insert(out.begin(), {"least", largest(f, true)});
    if (decode(f, one).significand >> f.fraction_bits == 1 && one != largest(f, false))
      out.insert(out.end() - 1, {"one", one});
    return out;
  }
  std::vector<Landmark> out;
  if (f.subnormals) out = {{"zero", 0}, {"least subnormal", pack(f, false, 1)}};
  out.push_back({f.subnormals ? "least normal" : "least",
                 pack(f, false, f.subnormals ? std::uint64_t{1} << f.fraction_bits : 0)});
  out.push_back({"one", one});
  out.push_back({"largest", largest(f, false)});
  if (f.specials == Specials::ieee) out.push_back({"Inf", infinity(f, false)});
  if (f.specials != Specials::none) out.push_back({"NaN", f.canonical_nan});
  return out;
}

Result<EncodedNumber> encode_number(std::string_view format_name, std::string_view text, Rounding rounding,
                                    bool satfinite) {
  const Result<const Format*> row = find_row(format_name);
  if (!row) return row.error();
  const Format& f = **row;
  const Result<Number> number = parse_number(text);
  if (!number) return number.error();
  if (number->cls != Class::finite) {
    const Result<std::uint64_t> special = encode_special(f, number->cls, number->negative, satfinite);
    if (!special) return special.error();
    const bool is_exact = number->cls == Class::nan || decode(f, *special).cls == Class::infinity;
    return EncodedNumber{*special, is_exact, "", !is_exact};
  }
  const bool is_clamped = satfinite || f.zero_bits != 0;
  const std::uint64_t code = encode(f, for_encoding(*number, f.is_integer, is_clamped, f.fraction_bits),
                                    rounding, satfinite ? Overflow::saturate : Overflow::ieee);
  const Decoded d = decode(f, code);
  const bool is_number = d.cls == Class::finite || d.cls == Class::zero;
  EncodedNumber out{code, false, is_number ? error_of(d, f, *number) : "", is_beyond_largest(f, *number)};
  out.is_exact = out.error == "0";
  return out;
}

Result<EncodedNumber> parse_code(std::string_view format_name, std::string_view word) {
  const bool is_hex = word.starts_with("0x") || word.starts_with("0X");
  if (is_hex && word.find_first_of(".pP") == word.npos) {
    std::uint64_t code = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + 2, end, code, 16);
    if (error != std::errc{} || stop != end)
      return Error{Errc::usage, "code", fmt::format("'{}'", word), "at most 16 hexadecimal digits after 0x"};
    const Result<ExplainedCode> explained = explain_code(format_name, code);
    if (!explained) return explained.error();
    return EncodedNumber{code, true, "", false};
  }
  return encode_number(format_name, word);
}

std::string code_text(std::string_view format_name, std::uint64_t code) {
  const Result<Codec> codec = Codec::find(format_name);
  if (!codec) return fmt::format("0x{:x}", code);
  const Decoded d = decode(*find_format(format_name), code);
  const std::string number = d.cls == Class::nan ? "nan" : fmt::format("{}", std::abs(codec->decode(code)));
  return fmt::format("0x{:0{}x} ({}{})", code, (codec->bits() + 3) / 4, d.negative ? "-" : "", number);
}

// ---- Many codes

Result<Codec> Codec::find(std::string_view name) {
  const Result<const Format*> row = find_row(name);
  if (!row) return row.error();
  return Codec(**row);
}

std::string_view Codec::name() const {
  return row_->name;
}

int Codec::bits() const {
  return row_->bits;
}

double Codec::decode(std::uint64_t code) const {
  const Decoded d = warpbit::decode(*row_, code);
  const double sign = d.negative ? -1 : 1;
  switch (d.cls) {
    case Class::nan: return std::numeric_limits<double>::quiet_NaN();
    case Class::infinity: return sign * std::numeric_limits<double>::infinity();
    default:  // no significand has more than 53 bits, and no number lies below those of double
      return sign * std::ldexp(static_cast<double>(d.significand), d.exponent - row_->fraction_bits);
  }
}

Result<std::uint64_t> Codec::encode(double number, Rounding rounding, bool satfinite) const {
  const Format& f64 = format(FormatId::f64);
  const Decoded d = warpbit::decode(f64, std::bit_cast<std::uint64_t>(number));
  if (d.cls == Class::nan || d.cls == Class::infinity)
    return encode_special(*row_, d.cls, d.negative, satfinite);
  return warpbit::encode(*row_, exact(d, f64), rounding, satfinite ? Overflow::saturate : Overflow::ieee);
}

Result<std::vector<std::uint64_t>> encode(std::string_view format, std::span<const double> numbers,
                                          Rounding rounding, bool satfinite) {
  const Result<Codec> codec = Codec::find(format);
  if (!codec) return codec.error();
  std::vector<std::uint64_t> out(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Result<std::uint64_t> code = codec->encode(numbers[i], rounding, satfinite);
    if (!code) {
      Error error = code.error();
      error.where = fmt::format("number {}, {}", i, error.where);
      return error;
    }
    out[i] = *code;
  }
  return out;
}

Result<std::vector<double>> decode(std::string_view format, std::span<const std::uint64_t> codes) {
  const Result<Codec> codec = Codec::find(format);
  if (!codec) return codec.error();
  std::vector<double> out(codes.size());
  std::ranges::transform(codes, out.begin(), [&](std::uint64_t code) { return codec->decode(code); });
  return out;
}

}  // namespace warpbit
