// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <unordered_set>
#include <utility>

#include "capture/new_archive.hpp"
#include "capture/npy.hpp"
#include "capture/text.hpp"
#include "capture/whole_file.hpp"
#include "warpbit/capture.hpp"

namespace warpbit {
namespace {

using capture::member_error, capture::NewMember;

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

// The members in the order of the file: of each its .npy header, in a descriptive one followed by the text, and an array's data.
Result<std::vector<NewMember>> parts_of(const CaptureHeader& header, std::span<const Array> arrays) {
  std::vector<NewMember> parts;
  CaptureHeader read_back;
  for (const auto& row : capture::descriptive_members()) {
    const std::string text = row.text(header);
    if (const auto put = put_text(row, text, read_back); !put) return put.error();
    const ArrayHeader text_header{std::string(row.name), 'S', text.size(), {}};
    parts.push_back({text_header.name + ".npy", capture::encode_npy_header(text_header) + text, {}});
  }
  std::unordered_set<std::string_view> names;
  for (const Array& array : arrays) {
    if (const auto checked = check_array(array); !checked) return checked.error();
    if (!names.insert(array.header.name).second)
      return member_error(Errc::member_malformed, array.header.name, "it is given twice", "distinct names");
    parts.push_back({array.header.name + ".npy", capture::encode_npy_header(array.header), array.data});
  }
  return parts;
}

}  // namespace

Result<void> write_capture(const std::filesystem::path& path, const CaptureHeader& header,
                           std::span<const Array> arrays) {
  try {
    const auto parts = parts_of(header, arrays);
    if (!parts) return parts.error();
    const auto bytes = capture::zipped(*parts, path.string());
    if (!bytes) return bytes.error();
    return capture::write_whole_file(path, *bytes);
  } catch (const std::bad_alloc&) {
    return Error{Errc::file_unwritable, path.string(), "out of memory", ""};
  } catch (const std::exception& e) {
    return Error{Errc::file_unwritable, path.string(), e.what(), ""};
  }
}

}  // namespace warpbit
