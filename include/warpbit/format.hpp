// SPDX-License-Identifier: Apache-2.0
// Number formats for a person: the meaning of a code's bits, and the code of a number. Everything is exact:
// the value of a code is printed in full, and a number is rounded once, from its text.
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
/// is two's complement (is_signed) or plain, or with zero_bits a sign, these, and a magnitude; its other fields are 0.
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
  int zero_bits;  ///< bits between the sign and the magnitude of an integer that has these; 0 in others
};
/// All formats.
std::vector<FormatInfo> all_formats();
/// The format of a name, a synonym or a shared name; case does not matter. Error: usage, which lists the names.
Result<FormatInfo> find_format_info(std::string_view name);

/// A name that people use for two formats of a size.
struct SharedName {
  std::string_view name;
  std::string_view taken;  ///< the format that it is taken as
  std::string_view other;
};
/// All of them.
std::span<const SharedName> shared_names();

/// The class of a code.
enum class CodeClass { zero, subnormal, normal, integer, fixed_point, infinity, nan };
std::string_view name(CodeClass c);

/// A field of a code, e.g. {"exponent", "1111"}.
struct CodeField {
  std::string_view name;  ///< "sign", "exponent", "fraction", "integer", "zero" or "ignored"
  std::string bits;
};

/// A code and its value.
struct ExplainedCode {
  std::uint64_t code;
  CodeClass cls;
  bool negative;
  std::vector<CodeField> fields;  ///< from the top
  /// All digits of the value, "0.15625"; with an exponent of ten where that would be long, "9.1835...e-41";
  /// or "Inf", "-Inf", "NaN".
  std::string decimal;
  /// "1.75 x 2^-3", with the exponent of the code (for a subnormal, that of the minimum normal number), and
  /// the same value in hexadecimal, "0x1.cp-3". Both are empty for integers, infinities and NaNs.
  std::string power, hexadecimal;
  /// The exact distance between numbers with this exponent (one ulp); empty for infinities and NaNs.
  std::string unit;
  /// The codes of the next lower and higher number; where the format has infinities, they are the last.
  /// Absent beyond the last, and for a NaN. The ignored bits are 0.
  std::optional<std::uint64_t> below, above;
};
/// Errors: those of find_format_info; usage if the code has more bits than the format, or others than 0 in its zero_bits.
Result<ExplainedCode> explain_code(std::string_view format, std::uint64_t code);

/// The codes at the limits of a format: "zero", "least subnormal", "least normal" (or "least"), "one",
/// "largest", "Inf", "NaN", where they exist. Error: that of find_format_info.
struct Landmark {
  std::string_view name;
  std::uint64_t code;
};
Result<std::vector<Landmark>> landmarks(std::string_view format);

/// The code of a number.
struct EncodedNumber {
  std::uint64_t code;
  bool is_exact;
  /// The code's value minus the number, in units of the code's last place (ulp): "0", "+0.2", "-1/3"; "about
  /// +0.123457" if neither 30 digits nor a ratio of 64-bit integers can express it. Empty if either is
  /// infinite or NaN.
  std::string error;
  bool is_beyond_largest;  ///< the number's magnitude exceeds the largest one of its sign
};
/// Encodes a number given as text: decimal ("3.3", "1e-20"), hexadecimal with an exponent of two
/// ("0x1.8p-3"), a power of two ("2^-12"), a fraction ("1/3"), "inf" or "nan", each with an optional sign. It is read exactly and
/// rounded once. Beyond the largest number the result is Inf or the largest number, as the rounding requires
/// (IEEE 754-2019, 7.4); the canonical NaN if the format has no Inf; the largest number if it has no NaN
/// either, as in an integer of a sign and a magnitude. Other integers wrap. With `satfinite` the result is the largest number, and integers are clamped. In a
/// format without a sign, a negative number becomes the canonical NaN, or the minimum with `satfinite`.
/// Errors: usage for text that is not a number, has more than 10,000 characters or an exponent beyond
/// +-10,000; for "nan" if the format has no NaN, and for "inf" to an integer without `satfinite`; those of
/// find_format_info.
Result<EncodedNumber> encode_number(std::string_view format, std::string_view text,
                                    Rounding rounding = Rounding::nearest_even, bool satfinite = false);

/// "0x3f800000 (1)": a code in hexadecimal and its value. `format` is a name of Operand::format.
std::string code_text(std::string_view format, std::uint64_t code);

/// Parses a person's notation of an element: a code in hexadecimal ("0x3c00"), or a number as above, rounded
/// to nearest even. Errors: those of explain_code and encode_number.
Result<EncodedNumber> parse_code(std::string_view format, std::string_view word);

// ---- Many codes

struct Format;  // src/numeric/formats.hpp

/// A format, looked up once. Cheap to copy.
class Codec {
 public:
  /// The codec of a format, by name or synonym. Error: that of find_format_info.
  static Result<Codec> find(std::string_view format);

  /// The manual's name.
  std::string_view name() const;
  /// The width of a code.
  int bits() const;

  /// The exact value of a code, an infinity, or a quiet NaN. Bits above the format's width are ignored.
  double decode(std::uint64_t code) const;
  /// As encode_number, from a double; a NaN becomes the canonical one. Errors: usage for a NaN if the format
  /// has none, and for an infinity to an integer without `satfinite`.
  Result<std::uint64_t> encode(double number, Rounding rounding = Rounding::nearest_even,
                               bool satfinite = false) const;

 private:
  explicit Codec(const Format& row) : row_(&row) {}
  const Format* row_;
};

/// Codec::encode and Codec::decode for many elements. Errors: those of Codec::find and Codec::encode, with
/// the first refused number.
Result<std::vector<std::uint64_t>> encode(std::string_view format, std::span<const double> numbers,
                                          Rounding rounding = Rounding::nearest_even, bool satfinite = false);
Result<std::vector<double>> decode(std::string_view format, std::span<const std::uint64_t> codes);

// Arrays whose items are codes, each in the least of 1, 2, 4 or 8 bytes that hold its bits, in the byte order of this
// machine. Threads share the work, to which the caller's Stoppable applies.

/// How encode_items encodes.
struct EncodeItems {
  Rounding rounding = Rounding::nearest_even;
  bool satfinite = false;
  bool exactly = false;  ///< numbers that the format does not hold are refused
};
/// The first number that is refused, and why.
struct RefusedItem {
  std::size_t item;
  Error error;
};
/// Codec::encode of each number. Nothing, unless one is refused; then some items may have been written. Precondition: as many
/// items as numbers.
std::optional<RefusedItem> encode_items(const Codec& codec, std::span<const double> numbers,
                                        std::span<std::byte> items, const EncodeItems& how = {});
/// Codec::decode of each item. Precondition: as many numbers as items.
void decode_items(const Codec& codec, std::span<const std::byte> items, std::span<double> numbers);

// ---- Block formats
//
// Block formats: elements of few bits that share a scale factor, and what numbers become in them. Everything is exact.

/// How the scale factor of a block comes from amax, the largest magnitude in the block.
enum class ScaleRule {
  quotient,      ///< amax / the largest element, to nearest even, at most the largest scale factor
  power_of_two,  ///< 2^(floor(log2 amax) - the exponent of the largest element), at least 2^-127; 2^-127 for amax 0
};

/// A block format: numbers are element x scale factor.
struct BlockFormat {
  std::string_view name;
  std::string_view synonyms;        ///< other names, separated by blanks
  std::string_view element, scale;  ///< formats (find_format_info)
  int block;                        ///< elements that share a scale factor
  ScaleRule rule;
  std::string_view tensor_scale;  ///< the second scale factor, of all blocks, in words; empty without one
  std::string_view source;        ///< the document that defines it
};
std::span<const BlockFormat> block_formats();
/// By name, synonym or shared name; case does not matter. Error: usage, which lists the names.
Result<BlockFormat> find_block_format(std::string_view name);
/// Names that people use for two of them.
std::span<const SharedName> shared_block_names();

/// A number in a block. The texts are exact, as EncodedNumber::error is.
struct QuantizedElement {
  std::uint64_t code;  ///< of the number / the scale factor, to nearest even; beyond the largest element, that
  std::string value;   ///< the element times the scale factor
  std::string error;   ///< the value minus the number, "0", "+0.02"
};
/// A block of numbers with its scale factor. The texts are exact, or begin with "about" where they would be too long.
struct QuantizedBlock {
  std::string amax;
  std::string unrounded_scale;  ///< amax / the largest element, or the power of two before its limits
  std::uint64_t scale;          ///< the code of the scale factor
  std::string scale_value;
  std::vector<QuantizedElement> elements;  ///< with a scale factor of 0, all are 0
};
/// Quantises numbers given as text (encode_number says which), block by block; the last block may be shorter.
/// Errors: usage for no number, an infinity or a NaN; those of encode_number and find_block_format.
Result<std::vector<QuantizedBlock>> quantize(std::string_view format, std::span<const std::string> numbers);
/// The same for doubles.
Result<std::vector<QuantizedBlock>> quantize(std::string_view format, std::span<const double> numbers);

/// How the scale factor of a block comes from amax, its largest magnitude; m is the largest element, in exact numbers.
struct ScaleRuleInfo {
  std::string_view name;
  bool power_of_two;      ///< of formats whose scale factors are powers of two
  std::string_view says;  ///< "2^floor(log2 amax) / 2^floor(log2 m)"
  std::string_view used;  ///< by whom
};
/// All of them; the first that fits a format is its own.
std::span<const ScaleRuleInfo> scale_rules();

/// How quantize_items quantises.
struct QuantizeItems {
  std::string_view rule = {};  ///< of scale_rules(); empty: the format's own
  float tensor_scale = 1;      ///< by which numbers are divided first
};
/// What the definition of a format has for the tensor: amax / (the largest scale factor x the largest element), to nearest
/// even, or 1 where that is 0; 1 for a format without one.
float tensor_scale(const BlockFormat& format, std::span<const double> numbers);
/// Codes and scale factors of rows of numbers: each row begins a block. Codes as `quantize` gives them, if the tensor's scale
/// is 1. Threads share the work, to which the caller's Stoppable applies. Preconditions: `row`, the numbers in a row, divides
/// their count; a byte for each number, and for each block of each row. Errors: usage for an infinity or a NaN, for a rule that
/// does not fit, and for a tensor's scale that is not positive and finite, or is not 1 and the format has none.
Result<void> quantize_items(const BlockFormat& format, std::span<const double> numbers, std::size_t row,
                            std::span<std::byte> codes, std::span<std::byte> scales,
                            const QuantizeItems& how = {});
/// Element x scale factor x tensor_scale, exactly unless more than 53 bits are needed. Preconditions: as there.
void dequantize_items(const BlockFormat& format, std::span<const std::byte> codes,
                      std::span<const std::byte> scales, std::size_t row, float tensor_scale,
                      std::span<double> numbers);

}  // namespace warpbit
#pragma GCC visibility pop
