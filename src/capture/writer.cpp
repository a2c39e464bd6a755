// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <unordered_set>
#include <utility>

#include "capture/archive.hpp"
#include "capture/npy.hpp"
#include "capture/text.hpp"
#include "capture/whole_file.hpp"
#include "warpbit/capture.hpp"

namespace warpbit {
namespace {

using capture::member_error;

// MS-DOS date and time, as NumPy writes them: 1980-01-01 00:00.
constexpr zip_uint16_t kDate = (0 << 9) | (1 << 5) | 1;
constexpr zip_uint16_t kTime = 0;
constexpr zip_uint32_t kDeflateLevel = 6;

// One member to be written: its .npy header, in a descriptive one followed by the text, and an array's data.
struct Part {
  std::string name;
  std::string start;
  std::span<const std::byte> data;
};

// Checks an array as the reader would.
Result<void> check_array(const Array& array) {
  const ArrayHeader& header = array.header;
  if (header.name.empty() || !capture::is_plain(header.name, false) || capture::is_descriptive(header.name))
    return member_error(Errc::member_malformed, header.name, "its name is " + capture::quoted(header.name),
                        "a name without control characters that is not a descriptive member's");
  const auto parsed = capture::parse_npy_dictionary(header.name, capture::npy_dictionary(header));
  if (!parsed) return parsed.error();
  return capture::check_npy_data(header, array.data.size());
}

// The members in the order of the file.
Result<std::vector<Part>> parts_of(const CaptureHeader& header, std::span<const Array> arrays) {
  std::vector<Part> parts;
  CaptureHeader read_back;
  for (const auto& row : capture::descriptive_members()) {
    const std::string text = row.text(header);
    if (const auto put = put_text(row, text, read_back); !put) return put.error();
    const ArrayHeader text_header{std::string(row.name), 'S', text.size(), {}};
    parts.push_back({text_header.name, capture::encode_npy_header(text_header) + text, {}});
  }
  std::unordered_set<std::string_view> names;
  for (const Array& array : arrays) {
    if (const auto checked = check_array(array); !checked) return checked.error();
    if (!names.insert(array.header.name).second)
      return member_error(Errc::member_malformed, array.header.name, "it is given twice", "distinct names");
    parts.push_back({array.header.name, capture::encode_npy_header(array.header), array.data});
  }
  return parts;
}

// Adds one member; false if libzip refuses, and the reason is in the archive's error.
bool add(zip_t* archive, const Part& part) {
  // libzip wants pointers to mutable bytes, and does not write to them.
  zip_buffer_fragment_t fragments[2] = {
      {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(part.start.data())), part.start.size()},
      {reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(part.data.data())), part.data.size()}};
  zip_source_t* source = zip_source_buffer_fragment(archive, fragments, part.data.empty() ? 1 : 2, 0);
  if (source == nullptr) return false;
  const zip_int64_t index = zip_file_add(archive, (part.name + ".npy").c_str(), source, ZIP_FL_ENC_GUESS);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  const auto at = static_cast<zip_uint64_t>(index);
  return zip_set_file_compression(archive, at, ZIP_CM_DEFLATE, kDeflateLevel) == 0 &&
         zip_file_set_dostime(archive, at, kTime, kDate, 0) == 0;
}

// The archive's bytes, or what libzip says against it as file_unwritable.
Result<std::vector<std::byte>> zipped(std::span<const Part> parts, const std::string& where) {
  const auto refuse = [&](const char* why) { return Error{Errc::file_unwritable, where, why, ""}; };
  zip_error_t error;
  zip_error_init(&error);
  capture::Source bytes(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (bytes == nullptr) return refuse("out of memory");
  capture::Zip archive(zip_open_from_source(bytes.get(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (archive == nullptr) return refuse("libzip cannot make an archive");
  zip_source_keep(bytes.get());  // one reference for the archive, one for us
  for (const Part& part : parts)
    if (!add(archive.get(), part)) return refuse(zip_strerror(archive.get()));
  if (zip_close(archive.get()) < 0) return refuse(zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // freed by zip_close

  zip_stat_t whole;
  zip_stat_init(&whole);
  if (zip_source_stat(bytes.get(), &whole) < 0 || zip_source_open(bytes.get()) < 0)
    return refuse(zip_error_strerror(zip_source_error(bytes.get())));
  std::vector<std::byte> out(static_cast<std::size_t>(whole.size));
  const zip_int64_t n = zip_source_read(bytes.get(), out.data(), out.size());
  zip_source_close(bytes.get());
  if (n < 0 || static_cast<std::size_t>(n) != out.size()) return refuse("libzip returns an incomplete archive");
  return out;
}

}  // namespace

Result<void> write_capture(const std::filesystem::path& path, const CaptureHeader& header,
                           std::span<const Array> arrays) {
  try {
    const auto parts = parts_of(header, arrays);
    if (!parts) return parts.error();
    const auto bytes = zipped(*parts, path.string());
    if (!bytes) return bytes.error();
    return capture::write_whole_file(path, *bytes);
  } catch (const std::bad_alloc&) {
    return Error{Errc::file_unwritable, path.string(), "out of memory", ""};
  } catch (const std::exception& e) {
    return Error{Errc::file_unwritable, path.string(), e.what(), ""};
  }
}

}  // namespace warpbit
