// SPDX-License-Identifier: Apache-2.0
#include "capture/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>  // join

#include <algorithm>
#include <array>
#include <charconv>    // from_chars
#include <cstring>     // memcpy
#include <functional>  // multiplies
#include <numeric>     // accumulate
#include <optional>

#include "capture/text.hpp"

namespace warpbit {

std::uint64_t ArrayHeader::items() const {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

std::string ArrayHeader::dtype() const {
  switch (kind) {
    case 'u': return fmt::format("uint{}", 8 * item_bytes);
    case 'i': return fmt::format("int{}", 8 * item_bytes);
    case 'f': return fmt::format("float{}", 8 * item_bytes);
    case 'b': return "bool";
    default: return fmt::format("|{}{}", kind, item_bytes);
  }
}

std::string ArrayHeader::shape_text() const {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Array Array::zeros(std::string name, std::size_t item_bytes, std::vector<std::uint64_t> shape) {
  Array out{ArrayHeader{std::move(name), 'u', item_bytes, std::move(shape)}, {}};
  out.data.resize(static_cast<std::size_t>(out.header.items()) * item_bytes);
  return out;
}

namespace {

template <class Item>
std::uint64_t item_at(const Array& array, std::uint64_t i) {
  Item value;
  std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
  return value;
}

}  // namespace

// Bytes are little-endian, as this processor's are. A copy of a known size is a load.
std::uint64_t Array::at(std::uint64_t i) const {
  switch (header.item_bytes) {
    case 1: return item_at<std::uint8_t>(*this, i);
    case 2: return item_at<std::uint16_t>(*this, i);
    case 4: return item_at<std::uint32_t>(*this, i);
    default: return item_at<std::uint64_t>(*this, i);
  }
}

void Array::set(std::uint64_t i, std::uint64_t value) {
  std::memcpy(data.data() + i * header.item_bytes, &value, header.item_bytes);
}

std::string Array::text(std::uint64_t i) const {
  std::string out(header.item_bytes, '\0');
  std::memcpy(out.data(), data.data() + i * header.item_bytes, header.item_bytes);
  out.erase(out.find_last_not_of('\0') + 1);
  return out;
}

namespace capture {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kVersions = "npy version 1.0, 2.0 or 3.0";
constexpr std::string_view kDictionary = "a dictionary with exactly the keys descr, fortran_order and shape";
constexpr std::string_view kDtypes =
    "|u1, <u2, <u4 or <u8 (also |i1 to <i8, <f2 to <f8, |b1), or a byte string |S1 or longer";
constexpr std::string_view kShapes =
    "a tuple of at most 32 non-negative integers whose array has fewer than 2^63 bytes";
constexpr std::size_t kMaxDimensions = 32;  // NPY_MAXDIMS of NumPy 1
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 63;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// The content of a Python string literal, which must be all of `text`; no prefixes, no escapes.
std::optional<std::string_view> string_literal(std::string_view text) {
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0]) return std::nullopt;
  const std::string_view content = text.substr(1, text.size() - 2);
  if (content.find(text[0]) != std::string_view::npos || content.find('\\') != std::string_view::npos)
    return std::nullopt;
  return content;
}

// The decimal number that is all of `text`, as Python writes it (no sign, no leading zeros).
std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return value;
}

// Cuts `text` after the first `stop` that is outside quotes and brackets, and returns what stood before it;
// without such a place, all of it.
std::string_view cut(std::string_view& text, char stop) {
  int depth = 0;
  char quote = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == stop && depth == 0) {
      break;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
  }
  const std::string_view head = text.substr(0, i);
  text.remove_prefix(std::min(i + 1, text.size()));
  return trimmed(head);
}

// The values of the keys, in this order.
constexpr std::array<std::string_view, 3> kKeys{"descr", "fortran_order", "shape"};
using Dictionary = std::array<std::optional<std::string_view>, kKeys.size()>;

Result<Dictionary> split(std::string_view member, std::string_view text) {
  const auto refuse = [&](std::string seen) {
    return member_error(Errc::member_malformed, member, std::move(seen), std::string(kDictionary));
  };
  const std::string_view whole = trimmed(text);
  if (whole.size() < 2 || whole.front() != '{' || whole.back() != '}')
    return refuse("its header is " + quoted(whole));
  Dictionary out;
  std::string_view rest = whole.substr(1, whole.size() - 2);
  while (!trimmed(rest).empty()) {
    std::string_view value = cut(rest, ',');
    const std::string_view key_text = cut(value, ':');
    const auto key = string_literal(key_text);
    const auto* const known = key ? std::ranges::find(kKeys, *key) : kKeys.end();
    if (known == kKeys.end()) return refuse("its header has the key " + quoted(key.value_or(key_text)));
    auto& slot = out[static_cast<std::size_t>(known - kKeys.begin())];
    if (slot) return refuse("its header has the key " + quoted(*key) + " twice");
    slot = trimmed(value);
  }
  for (std::size_t i = 0; i < kKeys.size(); ++i)
    if (!out[i]) return refuse("its header has no key " + quoted(kKeys[i]));
  return out;
}

// What is wrong with a type string that is not read, in words; empty if there are none.
std::string_view dtype_note(char order, char kind) {
  constexpr std::pair<std::string_view, std::string_view> kNotes[] = {{"O", " (Python objects)"},
                                                                      {"U", " (unicode strings)"},
                                                                      {"V", " (raw or structured data)"},
                                                                      {"c", " (complex numbers)"},
                                                                      {"Mm", " (times)"}};
  if (order == '>') return " (big-endian)";
  for (const auto& [kinds, note] : kNotes)
    if (kinds.find(kind) != kinds.npos) return note;
  return "";
}

bool known_size(char kind, std::uint64_t bytes) {
  switch (kind) {
    case 'u':
    case 'i': return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    case 'f': return bytes == 2 || bytes == 4 || bytes == 8;
    case 'b': return bytes == 1;
    case 'S': return bytes >= 1;
    default: return false;
  }
}

// descr: order ('<', '>', '=' or '|'), kind, bytes of an item. One-byte items and byte strings have no order;
// NumPy writes '|' for them.
Result<void> read_descr(std::string_view descr, ArrayHeader& out) {
  const auto refuse = [&](std::string_view note) {
    return member_error(Errc::member_dtype, out.name, excerpt(descr) + std::string(note), std::string(kDtypes));
  };
  const auto text = string_literal(descr);
  if (!text) return refuse(descr.starts_with('[') ? " (structured)" : "");
  if (text->size() < 2) return refuse("");
  const char order = (*text)[0];
  const char kind = (*text)[1];
  const auto bytes = decimal(text->substr(2));
  const bool orderless = kind == 'S' || bytes == 1;
  if (!bytes || !known_size(kind, *bytes) || !(order == '<' || (order == '|' && orderless)))
    return refuse(dtype_note(order, kind));
  out.kind = kind;
  out.item_bytes = static_cast<std::size_t>(*bytes);
  return {};
}

// shape: "()", "(3,)" or "(3, 4)".
Result<void> read_shape(std::string_view shape, ArrayHeader& out) {
  const auto refuse = [&](std::string_view note) {
    return member_error(Errc::member_shape, out.name, excerpt(shape) + std::string(note), std::string(kShapes));
  };
  if (shape.size() < 2 || shape.front() != '(' || shape.back() != ')') return refuse("");
  std::string_view rest = trimmed(shape.substr(1, shape.size() - 2));
  if (!rest.empty() && rest.find(',') == std::string_view::npos) return refuse("");  // (3) is no tuple
  std::uint64_t room = (kMaxBytes - 1) / std::max<std::uint64_t>(out.item_bytes, 1);
  while (!rest.empty()) {
    const std::string_view item = cut(rest, ',');
    const bool digits = !item.empty() && item.find_first_not_of("0123456789") == item.npos;
    const auto extent = decimal(item);
    if (!extent) return refuse(item.starts_with('-') ? " (negative)" : digits ? " (too large)" : "");
    if (out.shape.size() == kMaxDimensions) return refuse(" (too many dimensions)");
    if (*extent > room) return refuse(" (too large)");
    if (*extent != 0) room /= *extent;
    out.shape.push_back(*extent);
    rest = trimmed(rest);
  }
  return {};
}

// Bytes that are enough to know where a member's dictionary starts and ends.
constexpr std::size_t kNpyPreamble = 12;
// No header of ours comes near this; NumPy itself pads to 64 bytes.
constexpr std::size_t kLongestNpyHeader = std::size_t{64} << 10;

// Where the dictionary starts, at 10 or 12, and the data, at kLongestNpyHeader at the most.
struct NpyExtent {
  std::size_t dictionary, data_offset;
};

// Reads magic, version and length. `start` holds the member's first bytes, kNpyPreamble of them unless it is shorter.
Result<NpyExtent> parse_npy_preamble(std::string_view member, std::span<const std::byte> start) {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return member_error(Errc::member_malformed, member, std::move(seen), std::move(accepted));
  };
  if (start.size() < 10 || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
    return refuse("it does not begin like a .npy file", std::string(kVersions));

  const auto major = std::to_integer<unsigned>(start[6]), minor = std::to_integer<unsigned>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    return refuse(fmt::format("it is of npy version {}.{}", major, minor), std::string(kVersions));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t dictionary = 8 + length_bytes;
  if (start.size() < dictionary) return refuse("its header is cut off", std::string(kVersions));
  std::size_t length = 0;
  std::memcpy(&length, start.data() + 8, length_bytes);
  if (length > kLongestNpyHeader - dictionary)
    return refuse(fmt::format("its header has {} bytes", dictionary + length),
                  fmt::format("at most {}", kLongestNpyHeader));
  return NpyExtent{dictionary, dictionary + length};
}

}  // namespace

Result<ArrayHeader> parse_npy_dictionary(std::string_view member, std::string_view text, bool* by_columns) {
  const auto dictionary = split(member, text);
  if (!dictionary) return dictionary.error();
  ArrayHeader out;
  out.name = std::string(member);
  const auto [descr, order, shape] = std::array{*(*dictionary)[0], *(*dictionary)[1], *(*dictionary)[2]};
  if (const auto read = read_descr(descr, out); !read) return read.error();
  if (const auto read = read_shape(shape, out); !read) return read.error();
  if (order != "True" && order != "False")
    return member_error(Errc::member_malformed, member, "its fortran_order is " + quoted(order),
                        "True or False");
  const bool is_fortran = order == "True" && out.shape.size() > 1;
  if (by_columns != nullptr) *by_columns = is_fortran;
  if (is_fortran && (by_columns == nullptr || out.shape.size() > 2))
    return member_error(Errc::member_malformed, member, "it is in Fortran order", "C order");
  return out;
}

Result<void> check_npy_data(const ArrayHeader& header, std::uint64_t bytes) {
  const std::uint64_t stated = header.items() * header.item_bytes;
  if (stated == bytes) return {};
  return member_error(Errc::member_malformed, header.name, fmt::format("it has {} bytes of data", bytes),
                      fmt::format("{} for {} {}", stated, header.dtype(), header.shape_text()));
}

Result<ArrayHeader> read_npy_header(std::string_view member, std::uint64_t bytes,
                                    const std::function<Result<void>(std::span<std::byte>)>& read,
                                    bool* by_columns) {
  std::vector<std::byte> start(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kNpyPreamble)));
  if (const auto done = read(start); !done) return done.error();
  const auto extent = parse_npy_preamble(member, start);
  if (!extent) return extent.error();
  if (extent->data_offset > bytes || extent->data_offset < start.size())
    return member_error(Errc::member_malformed, member,
                        fmt::format("its header ends at byte {} of {}", extent->data_offset, bytes),
                        "a complete header");
  const std::size_t read_already = start.size();
  start.resize(extent->data_offset);
  if (const auto done = read(std::span(start).subspan(read_already)); !done) return done.error();
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  auto header = parse_npy_dictionary(member, text.substr(extent->dictionary), by_columns);
  if (!header) return header.error();
  if (const auto fits = check_npy_data(*header, bytes - extent->data_offset); !fits) return fits.error();
  return header;
}

Result<Array> parse_npy(std::string_view name, std::span<const std::byte> bytes) {
  std::span<const std::byte> data = bytes;
  bool by_columns = false;
  const auto read = [&](std::span<std::byte> out) {
    std::ranges::copy(data.first(out.size()), out.begin());
    data = data.subspan(out.size());
    return Result<void>();
  };
  Result<ArrayHeader> header = read_npy_header(name, bytes.size(), read, &by_columns);
  if (!header) return header.error();
  Array out{*std::move(header), {data.begin(), data.end()}};
  if (!by_columns) return out;
  const std::uint64_t rows = out.header.shape[0], columns = out.header.shape[1];
  const std::size_t item = out.header.item_bytes;
  for (std::uint64_t row = 0; row < rows; ++row)
    for (std::uint64_t column = 0; column < columns; ++column)
      std::ranges::copy(data.subspan((column * rows + row) * item, item),
                        out.data.begin() + static_cast<std::ptrdiff_t>((row * columns + column) * item));
  return out;
}

std::string npy_dictionary(const ArrayHeader& header) {
  const bool orderless = header.kind == 'S' || header.item_bytes == 1;
  return fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': {}, }}", orderless ? '|' : '<',
                     header.kind, header.item_bytes, header.shape_text());
}

std::string encode_npy_header(const ArrayHeader& header) {
  std::string text = npy_dictionary(header);
  constexpr std::size_t kDictionaryAt = 10;
  constexpr std::size_t kAlign = 64;
  const std::size_t length = (kDictionaryAt + text.size() + 1 + kAlign - 1) / kAlign * kAlign - kDictionaryAt;
  text.resize(length - 1, ' ');
  text.push_back('\n');
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return out + text;
}

}  // namespace capture
}  // namespace warpbit
