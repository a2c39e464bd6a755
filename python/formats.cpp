// SPDX-License-Identifier: Apache-2.0
// Number formats: arrays of codes from and to float64, and one code or number at a time.
#include "warpbit/format.hpp"

#include <span>
#include <string>
#include <vector>

#include "records.hpp"

namespace warpbit::python {
namespace {

py::array_t<double> decode(const std::string& format, const Codes& codes) {
  const Codec codec = value_of(Codec::find(format));
  const std::string name(codec.name());
  return decoded({Arguments("decode " + name, true).codes(codes, "codes", name), Kind::numbers, name});
}

Unsigned encode(const std::string& format, const Numbers& values, Rounding rounding, bool satfinite) {
  if (const Result<BlockFormat> block = find_block_format(format); block && !Codec::find(format))
    refuse(Errc::usage, "encode", "'" + format + "', elements with scale factors",
           "quantize(x, \"" + std::string(block->name) + "\"), which gives both, or encode(\"" +
               std::string(block->element) + "\", x) for the elements alone");
  const Codec codec = value_of(Codec::find(format));
  const std::string where = "encode " + std::string(codec.name());
  const py::array_t<double> numbers = Arguments(where).numbers(values, "x");
  const std::span from(numbers.data(), static_cast<std::size_t>(numbers.size()));
  py::array out(unsigned_dtype(code_bytes(codec.bits())), shape_of(numbers));
  const std::span to(static_cast<std::byte*>(out.mutable_data()), static_cast<std::size_t>(out.nbytes()));
  if (auto bad = interruptible(
          [&] {
            return encode_items(codec, from, to, {rounding, satfinite});
          },
          kItemAsProducts * static_cast<double>(from.size())))
    refuse(bad->error.code, where + ", item " + place_text(numbers, bad->item), bad->error.seen,
           bad->error.accepted);
  return out;
}

void add_records(py::module_& m) {
  auto info = add_record(
      m, "Format",
      R"(A number format. A code, from the top: ignored_high bits, a sign if is_signed, exponent_bits,
fraction_bits, ignored_low bits. An integer is two's complement (is_signed) or plain, or with zero_bits a sign, these, and a
magnitude; its other fields are 0.)",
      field("name", &FormatInfo::name, "The manual's name."),
      field("synonyms", &FormatInfo::synonyms, "Other names, separated by blanks."),
      field("is_integer", &FormatInfo::is_integer, "Whether codes are integers."),
      field("bits", &FormatInfo::bits, "Bits of a code, the ignored ones included."),
      field("is_signed", &FormatInfo::is_signed, "Whether a code has a sign."),
      field("exponent_bits", &FormatInfo::exponent_bits, "Bits of the exponent field."),
      field("fraction_bits", &FormatInfo::fraction_bits, "Bits of the fraction field."),
      field("bias", &FormatInfo::bias, "What is subtracted from the exponent field."),
      field("ignored_low", &FormatInfo::ignored_low, "Lowest bits that do not count."),
      field("ignored_high", &FormatInfo::ignored_high, "Highest bits that do not count."),
      field("has_subnormals", &FormatInfo::has_subnormals, "Whether exponent field 0 means subnormals."),
      field("has_infinity", &FormatInfo::has_infinity, "Whether it has infinities."),
      field("has_nan", &FormatInfo::has_nan, "Whether it has NaNs."),
      field("source", &FormatInfo::source, "The document that defines it."),
      field("zero_bits", &FormatInfo::zero_bits,
            "Bits between the sign and the magnitude of an integer that has these; 0 in others."));
  info.def_property_readonly(
      "dtype", [](const FormatInfo& f) { return unsigned_dtype(code_bytes(f.bits)); },
      "The smallest unsigned type of NumPy that holds a code.");
  add_record(m, "CodeField", "Bits of a code that belong together.",
             field("name", &CodeField::name,
                   "\"sign\", \"exponent\", \"fraction\", \"integer\", \"zero\" or \"ignored\"."),
             field("bits", &CodeField::bits, "\"1111\""));
  add_record(
      m, "Code", "A code, and the number that it is.", field("code", &ExplainedCode::code, "The code."),
      field("kind", &ExplainedCode::cls,
            "\"zero\", \"subnormal\", \"normal\", \"integer\", \"infinity\" or \"NaN\"."),
      field("negative", &ExplainedCode::negative, "Its sign."),
      field("fields", &ExplainedCode::fields, "Its bits, from the top."),
      field("decimal", &ExplainedCode::decimal, "All digits of the number, or \"Inf\", \"-Inf\", \"NaN\"."),
      field("power", &ExplainedCode::power, "\"1.75 x 2^-3\"; empty for integers and what is no number."),
      field("hexadecimal", &ExplainedCode::hexadecimal, "\"0x1.cp-3\"; empty for the same."),
      field("unit", &ExplainedCode::unit, "One ulp, exactly; empty for what is no number."),
      field("below", &ExplainedCode::below, "The code of the next number below, or None."),
      field("above", &ExplainedCode::above, "The code of the next number above, or None."));
  add_record(m, "EncodedNumber", "The code that a number becomes.",
             field("code", &EncodedNumber::code, "The code."),
             field("is_exact", &EncodedNumber::is_exact, "Whether nothing was rounded."),
             field("error", &EncodedNumber::error,
                   "The code's value minus the number, in ulp: \"+0.2\"; may be empty."),
             field("is_beyond_largest", &EncodedNumber::is_beyond_largest,
                   "Whether the number is farther from 0 than the largest one of its sign."));
}

void add_block_formats(py::module_& m) {
  add_record(m, "BlockFormat",
             "A format whose elements share scale factors: a number is element x scale factor.",
             field("name", &BlockFormat::name, "\"nvfp4\""),
             field("element", &BlockFormat::element, "The format of an element."),
             field("scale", &BlockFormat::scale, "The format of a scale factor."),
             field("block", &BlockFormat::block, "Elements that share a scale factor."),
             field("tensor_scale", &BlockFormat::tensor_scale,
                   "The second scale factor, in words; empty without one."),
             field("source", &BlockFormat::source, "The document that defines it."));
  add_record(m, "QuantizedElement", "What a number becomes in a block.",
             field("code", &QuantizedElement::code, "The code of number / scale factor."),
             field("value", &QuantizedElement::value, "The element times the scale factor, exactly."),
             field("error", &QuantizedElement::error, "The value minus the number: \"0\", \"+0.02\"."));
  add_record(
      m, "QuantizedBlock", "What the numbers of a block become.",
      field("amax", &QuantizedBlock::amax, "The largest magnitude."),
      field("unrounded_scale", &QuantizedBlock::unrounded_scale, "The scale factor before it is encoded."),
      field("scale", &QuantizedBlock::scale, "The code of the scale factor."),
      field("scale_value", &QuantizedBlock::scale_value, "The scale factor."),
      field("elements", &QuantizedBlock::elements, "One for each number."));
  m.def(
      "block_formats", [] { return std::vector(block_formats().begin(), block_formats().end()); },
      "All block formats.");
  m.def(
      "explain_blocks",
      [](const std::string& format, const Numbers& values) {
        const py::array_t<double> numbers = Arguments("explain_blocks").numbers(values, "values");
        const std::span<const double> all(numbers.data(), static_cast<std::size_t>(numbers.size()));
        return interruptible([&] { return value_of(quantize(format, all)); });
      },
      "format"_a, "values"_a,
      R"(What numbers become in a block format ("nvfp4", "mxfp8_e4m3", ...), in exact texts: a QuantizedBlock for each block, of
which the last may be shorter. `quantize` does it with whole arrays. Errors: usage for another format, no value, an infinity or a NaN.)");
}

}  // namespace

void add_formats(py::module_& m) {
  add_records(m);
  add_block_formats(m);
  m.def("formats", &all_formats, "All number formats.");
  m.def("format", &find_format_info, "name"_a,
        "The format of a name or a synonym. Error: usage, which lists the names.");
  m.def("decode", &decode, "format"_a, "codes"_a,
        R"(The numbers of codes, exactly: float64 of the same shape; NaNs are quiet.

codes: of Format.dtype (or floats of the format itself, as their bits), with any strides; here integers of Python are
codes, too. Bits above the format's width are ignored. Error: view_mismatch.)");
  m.def("encode", &encode, "format"_a, "values"_a, "rounding"_a = Rounding::nearest_even, "satfinite"_a = false,
        R"(The codes of numbers, each rounded once: Format.dtype of the same shape.

values: a number, lists of numbers or an array, float64 holding each exactly. rounding: "rn" (to nearest even),
"rz" (toward zero), "rp" (up), "rm" (down), "rna" (to nearest, ties away from zero). Beyond the largest number:
Inf or the largest one, as the rounding says, the canonical NaN where there is no Inf, the largest one where
there is no NaN either; integers wrap. With `satfinite` it is the largest, and integers are clamped. A NaN
becomes the canonical one. Errors: view_mismatch; usage, with the place, for a NaN where there is none, and an
infinity for integers without `satfinite`.)");
  m.def("explain_code", &explain_code, "format"_a, "code"_a, "What a code means, exactly. Error: usage.");
  m.def(
      "encode_number", &encode_number, "format"_a, "text"_a, "rounding"_a = Rounding::nearest_even,
      "satfinite"_a = false,
      "The code of the number that a text means, taken exactly: \"3.3\", \"0x1.8p-3\", \"1/3\", \"inf\", \"nan\".");
  m.def(
      "landmarks",
      [](const std::string& format) {
        As<"dict[str, int]", py::dict> out;
        for (const Landmark& l : value_of(landmarks(format))) out[py::cast(l.name)] = l.code;
        return out;
      },
      "format"_a,
      R"(The codes of a format's remarkable numbers, as far as it has them: {"zero": 0, "least subnormal": 1,
...}, also "least normal" (or "least"), "one", "largest", "Inf" and "NaN".)");
}

}  // namespace warpbit::python
