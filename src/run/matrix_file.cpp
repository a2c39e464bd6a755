// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "capture/archive.hpp"
#include "capture/npy.hpp"
#include "capture/text.hpp"
#include "capture/whole_file.hpp"
#include "numeric/formats.hpp"
#include "numeric/words.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparators = ",; \t\r";
constexpr std::string_view kTexts[] = {"", ".csv", ".tsv", ".txt"};

bool is_npy(const fs::path& path) {
  return path.extension() == ".npy";
}

// Takes the elements of a matrix one by one.
class Encoder {
 public:
  Encoder(std::string_view file, const Format& format) : file_(file), format_(format) {}

  // What a cell of text or an item of an array became.
  Result<void> put(CodeMatrix& matrix, std::string_view word, const Result<EncodedNumber>& number) {
    const std::size_t row = matrix.codes.size() / matrix.columns, column = matrix.codes.size() % matrix.columns;
    const auto place = [&] { return fmt::format("{}, element ({}, {})", file_, row, column); };
    if (!number) return Error{number.error().code, place(), number.error().seen, number.error().accepted};
    if (!number->is_exact && format_.is_integer)
      return Error{Errc::usage, place(), fmt::format("{} is not in {}", word, format_.name),
                   "an integer that is"};
    if (!number->is_exact && rounded_++ == 0) first_ = fmt::format("{} at ({}, {})", word, row, column);
    beyond_ += number->is_beyond_largest ? 1 : 0;
    matrix.codes.push_back(number->code);
    return {};
  }

  void note(std::vector<std::string>& notes) const {
    if (rounded_ != 0)
      notes.push_back(fmt::format("{}: {} number{} not in {}, rounded to nearest even{}; the first is {}",
                                  file_, rounded_, rounded_ == 1 ? " is" : "s are", format_.name,
                                  beyond_ == 0 ? "" : fmt::format(", {} of them beyond the largest", beyond_),
                                  first_));
  }

 private:
  std::string_view file_;
  const Format& format_;
  std::uint64_t rounded_ = 0, beyond_ = 0;
  std::string first_;
};

Result<CodeMatrix> from_text(std::string_view file, std::string_view text, const Format& format,
                             Encoder& encoder) {
  CodeMatrix out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    std::vector<std::string_view> words = words_between(text.substr(0, size), kSeparators);
    std::erase(words, "");
    text.remove_prefix(std::min(size + 1, text.size()));
    if (words.empty() || words[0].starts_with('#')) continue;
    if (out.rows != 0 && words.size() != out.columns)
      return Error{Errc::usage, fmt::format("{}, line {}", file, line), fmt::format("{} cells", words.size()),
                   fmt::format("{}, as in the lines before", out.columns)};
    out.columns = words.size();
    for (const std::string_view word : words)
      if (Result<void> put = encoder.put(out, capture::excerpt(word), parse_code(format.name, word)); !put)
        return put.error();
    ++out.rows;
  }
  if (out.rows == 0) return Error{Errc::usage, std::string(file), "no numbers", "a row in each line"};
  return out;
}

// An item of a format of floating-point numbers, in another one.
Result<EncodedNumber> converted(const Format& from, std::uint64_t item, const Format& to) {
  if (from.id == to.id) return EncodedNumber{item, true, "", false};
  const Decoded d = decode(from, item);
  if (d.cls == Class::nan) return encode_number(to.name, "nan");
  if (d.cls == Class::infinity) return encode_number(to.name, d.negative ? "-inf" : "inf");
  const std::uint64_t code = encode(to, exact(d, from), Rounding::nearest_even, Overflow::ieee);
  const Decoded back = decode(to, code);
  const bool is_number = back.cls == Class::zero || back.cls == Class::finite;
  const bool same = is_number && encode(from, exact(back, to), Rounding::toward_zero, Overflow::ieee) == item;
  return EncodedNumber{code, same || (d.cls == Class::zero && to.is_integer), "", !is_number};
}

std::string number_text(const Format& format, std::uint64_t code) {
  return explain_code(format.name, code)->decimal;
}

// Integers of one or two bytes are how NumPy has the formats of floating-point numbers that it lacks.
bool has_codes(const ArrayHeader& h, const Format& f) {
  return h.kind == 'i' && !f.is_integer && h.item_bytes <= 2 && h.item_bytes == code_bytes(f.bits);
}

// The row of the format that items of that many bytes have, by NumPy.
const Format& numpy_format(std::size_t bytes) {
  return format(bytes == 2 ? FormatId::f16 : bytes == 4 ? FormatId::f32 : FormatId::f64);
}

Result<CodeMatrix> from_array(std::string_view file, const Array& array, const Format& format,
                              Encoder& encoder) {
  const ArrayHeader& h = array.header;
  if (h.kind == 'S' || h.kind == 'b')
    return Error{Errc::member_dtype, std::string(file), h.dtype(), "numbers, or unsigned codes"};
  if (h.shape.size() > 2 || h.items() == 0)
    return Error{Errc::member_shape, std::string(file), h.shape_text(), "(rows, columns), (columns,) or ()"};
  const auto size = [&](std::size_t from_behind) {
    return from_behind > h.shape.size() ? std::size_t{1}
                                        : static_cast<std::size_t>(h.shape[h.shape.size() - from_behind]);
  };
  CodeMatrix out{size(2), size(1), {}};
  for (std::uint64_t i = 0; i < h.items(); ++i) {
    const std::uint64_t item = array.at(i);
    Result<EncodedNumber> number = EncodedNumber{item, true, "", false};
    std::string word;
    if (h.kind == 'f') {
      const Format& from = numpy_format(h.item_bytes);
      number = converted(from, item, format);
      if (number && !number->is_exact) word = number_text(from, item);
    } else if (h.kind == 'i' && !has_codes(h, format)) {
      const int unused = 64 - 8 * static_cast<int>(h.item_bytes);
      word = std::to_string(static_cast<std::int64_t>(item << unused) >> unused);
      number = encode_number(format.name, word);
    } else if (const Result<ExplainedCode> fits = explain_code(format.name, item); !fits) {
      number = fits.error();
    }
    if (Result<void> put = encoder.put(out, word, number); !put) return put.error();
  }
  return out;
}

// What an operand of the format has in its registers: of tf32 it is f32, which the instruction cuts off, or the order of the
// sum rounds.
const Format& held(const Format& f) {
  return f.id == FormatId::tf32 ? format(FormatId::f32) : f;
}

Result<const Format*> known(std::string_view name) {
  const Result<FormatInfo> found = find_format_info(name);
  if (!found) return found.error();
  return find_format(found->name);
}

std::string cell(const Format& f, std::uint64_t code, bool codes) {
  const Decoded d = decode(f, code);
  if (codes || d.cls == Class::nan) return fmt::format("{:#0{}x}", code, 2 + (f.bits + 3) / 4);
  if (f.id == FormatId::f64) return fmt::format("{}", std::bit_cast<double>(code));
  if (f.id == FormatId::f32) return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(code)));
  return d.cls == Class::infinity ? (d.negative ? "-inf" : "inf") : number_text(f, code);
}

// "x.npz:a" -> "x.npz", "a". Nothing of other names.
std::optional<std::pair<fs::path, std::string>> member_of_npz(const fs::path& path) {
  constexpr std::string_view kEnd = ".npz:";
  const std::string text = path.string();
  const std::size_t at = text.rfind(kEnd);
  if (at == text.npos) return std::nullopt;
  return std::pair(fs::path(text.substr(0, at + kEnd.size() - 1)), text.substr(at + kEnd.size()));
}

Result<Array> array_of_npz(const fs::path& path, std::string_view name, std::uint64_t max_bytes) {
  const Result<capture::Archive> archive = capture::Archive::open(path, max_bytes);
  if (!archive) return archive.error();
  std::vector<std::string_view> names;
  for (const capture::Member& member : archive->members()) {
    names.push_back(capture::stem(member.name));
    if (names.back() != name) continue;
    Result<capture::MemberStream> stream = archive->stream(member);
    if (!stream) return stream.error();
    std::vector<std::byte> bytes(member.bytes);
    if (Result<void> read = stream->read(bytes); !read) return read.error();
    if (Result<void> finished = stream->finish(); !finished) return finished.error();
    return capture::parse_npy(fmt::format("{}:{}", path.string(), name), bytes);
  }
  return Error{Errc::usage, path.string(), fmt::format("no array '{}'", name),
               names.empty() ? "an .npz with arrays" : fmt::format("one of {}", fmt::join(names, ", "))};
}

bool has_array(const fs::path& path) {
  return is_npy(path) || member_of_npz(path);
}

}  // namespace

Result<CodeMatrix> read_matrix(const fs::path& path, std::string_view format_name,
                               std::vector<std::string>& notes, const ReadOptions& options) {
  const Result<const Format*> format = known(format_name);
  if (!format) return format.error();
  const std::string file = path.string();
  const Format& as = held(**format);
  Encoder encoder(file, as);
  Result<CodeMatrix> out = CodeMatrix{};
  if (has_array(path)) {
    const Result<Array> array = read_array(path, options);
    if (!array) return array.error();
    out = from_array(file, *array, as, encoder);
  } else {
    const Result<std::vector<std::byte>> bytes = capture::read_whole_file(path, options.max_bytes);
    if (!bytes) return bytes.error();
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    out = from_text(file, text, as, encoder);
  }
  if (out) encoder.note(notes);
  return out;
}

Result<std::string> format_of_file(const fs::path& path, const ReadOptions& options) {
  const Result<Array> array = read_array(path, options);
  if (!array) return array.error();
  const ArrayHeader& h = array->header;
  if (h.kind == 'f') return std::string(numpy_format(h.item_bytes).name);
  if ((h.kind == 'u' || h.kind == 'i') && h.item_bytes == 2) return std::string("bf16");
  return Error{Errc::member_dtype, path.string(), h.dtype(),
               "float16, float32, float64; or uint16, which is bf16"};
}

Result<std::string> matrix_text(const CodeMatrix& matrix, std::string_view format_name, bool codes) {
  const Result<const Format*> format = known(format_name);
  if (!format) return format.error();
  std::string out;
  for (std::size_t i = 0; i < matrix.codes.size(); ++i) {
    out += cell(**format, matrix.codes[i], codes);
    out += (i + 1) % matrix.columns == 0 ? '\n' : ',';
  }
  return out;
}

Result<void> write_matrix(const fs::path& path, const CodeMatrix& matrix, std::string_view format_name,
                          bool codes) {
  if (!is_npy(path)) {
    const std::string extension = path.extension().string();
    if (std::ranges::find(kTexts, extension) == std::end(kTexts))
      return Error{Errc::usage, path.string(), fmt::format("the extension '{}'", extension),
                   "a matrix as .npy, or as text: .csv, .tsv, .txt or none"};
    const Result<std::string> text = matrix_text(matrix, format_name, codes);
    return text ? capture::write_whole_file(path, std::as_bytes(std::span(*text))) : text.error();
  }
  const Result<const Format*> format = known(format_name);
  if (!format) return format.error();
  const Format& f = **format;
  const std::size_t item_bytes = code_bytes(f.bits);
  Array array = Array::zeros("d", item_bytes, {matrix.rows, matrix.columns});
  // Of the format's own type, if NumPy has it.
  const bool is_signed =
      f.is_integer && f.is_signed && f.zero_bits == 0 && static_cast<std::size_t>(f.bits) == 8 * item_bytes;
  array.header.kind = codes ? 'u' : f.id == numpy_format(item_bytes).id ? 'f' : is_signed ? 'i' : 'u';
  for (std::size_t i = 0; i < matrix.codes.size(); ++i) array.set(i, matrix.codes[i]);
  return write_array(path, array);
}

Result<Array> read_array(const fs::path& path, const ReadOptions& options) {
  if (const auto member = member_of_npz(path))
    return array_of_npz(member->first, member->second, options.max_bytes);
  const Result<std::vector<std::byte>> bytes = capture::read_whole_file(path, options.max_bytes);
  return bytes ? capture::parse_npy(path.string(), *bytes) : bytes.error();
}

Result<void> write_array(const fs::path& path, const Array& array) {
  std::string bytes = capture::encode_npy_header(array.header);
  bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  return capture::write_whole_file(path, std::as_bytes(std::span(bytes)));
}

}  // namespace warpbit
