// SPDX-License-Identifier: Apache-2.0
// Number formats as a person looks at them: what the bits of a code mean, and which code a number becomes. All
// of it is exact: a code's value is printed in full, and a number is rounded once, from its text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/detail/rounding.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A number format (PTX manual, "Fundamental Types" and "Alternate Floating-Point Data Formats"). A code, from
/// the top: ignored_high bits, a sign if is_signed, exponent_bits, fraction_bits, ignored_low bits. An integer
/// is two's complement (is_signed) or plain; its other fields are 0.
struct FormatInfo {
  std::string_view name;      ///< the manual's, as Operand::format has it
  std::string_view synonyms;  ///< other names, separated by blanks
  bool is_integer;
  int bits;  ///< of a code, the ignored ones included
  bool is_signed;
  int exponent_bits, fraction_bits, bias;
  int ignored_low, ignored_high;
  bool has_subnormals, has_infinity, has_nan;
  std::string_view source;  ///< the document that defines it
};
/// All formats.
std::vector<FormatInfo> all_formats();
/// The format of a name or a synonym. Error: usage, which lists the names.
Result<FormatInfo> find_format_info(std::string_view name);

/// What kind of number a code is.
enum class CodeClass { zero, subnormal, normal, integer, infinity, nan };
std::string_view name(CodeClass c);

/// Bits of a code that belong together, e.g. {"exponent", "1111"}.
struct CodeField {
  std::string_view name;  ///< "sign", "exponent", "fraction", "integer" or "ignored"
  std::string bits;
};

/// A code, and the number that it is.
struct ExplainedCode {
  std::uint64_t code;
  CodeClass cls;
  bool negative;
  std::vector<CodeField> fields;  ///< from the top
  /// All digits of the number, "0.15625"; with an exponent of ten where that would be long, "9.1835...e-41"; or
  /// "Inf", "-Inf", "NaN".
  std::string decimal;
  /// "1.75 x 2^-3", with the exponent of the code (a subnormal has that of the least normal number), and the
  /// same number as a hexadecimal one, "0x1.cp-3". Both are empty for integers and for what is no number.
  std::string power, hexadecimal;
  /// The exact distance of numbers with this exponent (one ulp); empty for infinities and NaNs.
  std::string unit;
  /// The code of the next number below and above; where the format has infinities, they are the last. Nothing
  /// beyond the last, and for a NaN. The ignored bits are 0.
  std::optional<std::uint64_t> below, above;
};
/// Errors: those of find_format_info; usage if the code has more bits than the format.
Result<ExplainedCode> explain_code(std::string_view format, std::uint64_t code);

/// The codes that say what a format reaches: "zero", "least subnormal", "least normal" (or "least"), "one",
/// "largest", "Inf", "NaN", as far as it has them. Error: that of find_format_info.
struct Landmark {
  std::string_view name;
  std::uint64_t code;
};
Result<std::vector<Landmark>> landmarks(std::string_view format);

/// The code that a number becomes.
struct EncodedNumber {
  std::uint64_t code;
  bool is_exact;
  /// The code's value minus the number, in units of the code's last place (ulp): "0", "+0.2", "-1/3"; "about
  /// +0.123457" where neither 30 digits nor a ratio of 64-bit integers is enough. Empty where one of them is no
  /// number.
  std::string error;
  bool is_beyond_largest;  ///< the number is farther from 0 than the largest one of its sign
};
/// Encodes the number that a text means: decimal ("3.3", "1e-20"), hexadecimal with an exponent of two
/// ("0x1.8p-3"), a fraction ("1/3"), "inf" or "nan", each with or without a sign. It is taken exactly and
/// rounded once. Beyond the largest number: Inf or the largest one, as the rounding says (IEEE 754-2019, 7.4),
/// the canonical NaN where there is no Inf, the largest one where there is no NaN either; integers wrap. With
/// `satfinite` it is the largest, and integers are clamped. A format without a sign makes of a negative number
/// its canonical NaN, or its least with `satfinite`. Errors: usage for a text that is no number, has more than
/// 10,000 characters or an exponent beyond +-10,000; for "nan" where there is no NaN, and "inf" for integers
/// without `satfinite`; those of find_format_info.
Result<EncodedNumber> encode_number(std::string_view format, std::string_view text,
                                    Rounding rounding = Rounding::nearest_even, bool satfinite = false);

/// "0x3f800000 (1)": a code in hex and as a number. `format` is a name of Operand::format.
std::string code_text(std::string_view format, std::uint64_t code);

/// What a person types for an element: a code in hexadecimal ("0x3c00"), or a number as above, also "2^-12",
/// rounded to nearest even. Errors: those of explain_code and encode_number.
Result<EncodedNumber> parse_code(std::string_view format, std::string_view word);

// ---- Many codes

struct Format;  // src/numeric/formats.hpp

/// A format that was looked up once. Cheap to copy.
class Codec {
 public:
  /// Of a name or a synonym. Error: that of find_format_info.
  static Result<Codec> find(std::string_view format);

  /// The manual's name.
  std::string_view name() const;
  /// Of a code.
  int bits() const;

  /// The number that a code is, exactly, an infinity, or a quiet NaN. Bits above the format's width are
  /// ignored.
  double decode(std::uint64_t code) const;
  /// encode_number (warpbit/format.hpp) of a number that is a double; a NaN becomes the canonical one. Errors:
  /// usage, for a NaN where there is none, and an infinity for integers without `satfinite`.
  Result<std::uint64_t> encode(double number, Rounding rounding = Rounding::nearest_even,
                               bool satfinite = false) const;

 private:
  explicit Codec(const Format& row) : row_(&row) {}
  const Format* row_;
};

/// The codes of many numbers, as Codec::encode; the numbers of many codes, as Codec::decode. Errors: those of
/// Codec::find and Codec::encode, which name the first number that is refused.
Result<std::vector<std::uint64_t>> encode(std::string_view format, std::span<const double> numbers,
                                          Rounding rounding = Rounding::nearest_even, bool satfinite = false);
Result<std::vector<double>> decode(std::string_view format, std::span<const std::uint64_t> codes);

}  // namespace warpbit
#pragma GCC visibility pop
