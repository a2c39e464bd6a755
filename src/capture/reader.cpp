// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>  // bad_alloc

#include "capture/archive.hpp"
#include "capture/description.hpp"
#include "capture/npy.hpp"
#include "capture/text.hpp"
#include "warpbit/capture.hpp"

namespace warpbit {

using capture::Archive;
using capture::member_error;

namespace {

// An array member whose header has been read.
struct Entry {
  capture::Member member;
  std::size_t data_offset = 0;
};

struct OpenedArray {
  ArrayHeader header;
  Entry entry;
};

// Reads and checks a member's .npy header; the data that follows it has exactly the size that it states.
Result<OpenedArray> open_array(const Archive& archive, const capture::Member& member) {
  const std::string name(capture::stem(member.name));
  auto stream = archive.stream(member, name);
  if (!stream) return stream.error();

  std::vector<std::byte> start(
      static_cast<std::size_t>(std::min<std::uint64_t>(member.bytes, capture::kNpyPreamble)));
  if (const auto read = stream->read(start); !read) return read.error();
  const auto extent = capture::parse_npy_preamble(name, start);
  if (!extent) return extent.error();
  if (extent->data_offset > member.bytes || extent->data_offset < start.size())
    return member_error(Errc::member_malformed, name,
                        fmt::format("its header ends at byte {} of {}", extent->data_offset, member.bytes),
                        "a complete header");

  const std::size_t read_already = start.size();
  start.resize(extent->data_offset);
  if (const auto read = stream->read(std::span(start).subspan(read_already)); !read) return read.error();
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  auto header = capture::parse_npy_dictionary(name, text.substr(extent->dictionary));
  if (!header) return header.error();

  if (const auto fits = capture::check_npy_data(*header, member.bytes - extent->data_offset); !fits)
    return fits.error();
  return OpenedArray{std::move(*header), Entry{member, extent->data_offset}};
}

// Reads the data of an array whose header has been read, and proves size and CRC.
Result<Array> read_array(const Archive& archive, const ArrayHeader& header, const Entry& entry) {
  auto stream = archive.stream(entry.member, header.name);
  if (!stream) return stream.error();
  std::vector<std::byte> skipped(entry.data_offset);
  if (const auto read = stream->read(skipped); !read) return read.error();
  Array out{header, std::vector<std::byte>(static_cast<std::size_t>(entry.member.bytes - entry.data_offset))};
  if (const auto read = stream->read(out.data); !read) return read.error();
  if (const auto end = stream->finish(); !end) return end.error();
  return out;
}

Result<void> read_description(const Archive& archive, const capture::DescriptiveMember& row,
                              CaptureHeader& out) {
  const auto members = archive.members();
  const auto found = std::ranges::find(members, std::string(row.name) + ".npy", &capture::Member::name);
  if (found == members.end())
    return member_error(Errc::member_missing, row.name, "", std::string(row.accepted));
  constexpr const char* kDtype = "a byte string, |S1 or longer";
  const auto opened = open_array(archive, *found);
  if (!opened) {
    Error error = opened.error();
    if (error.code == Errc::member_dtype) error.accepted = kDtype;
    return error;
  }
  const ArrayHeader& header = opened->header;
  if (header.kind != 'S') return member_error(Errc::member_dtype, row.name, header.dtype(), kDtype);
  if (!header.shape.empty())
    return member_error(Errc::member_shape, row.name, header.shape_text(), "(), zero-dimensional");
  if (header.item_bytes > capture::kLongestText)
    return member_error(Errc::member_malformed, row.name, fmt::format("it has {} bytes", header.item_bytes),
                        fmt::format("at most {}", capture::kLongestText));
  const auto array = read_array(archive, header, opened->entry);
  if (!array) return array.error();
  return put_text(row, array->text(), out);
}

Error no_memory(std::string where) {
  return Error{Errc::archive_too_large, std::move(where), "there is not enough memory for it",
               "close other programs or lower the size limit"};
}

}  // namespace

struct CaptureReader::State {
  Archive archive;
  CaptureHeader header;
  std::vector<ArrayHeader> arrays;
  std::vector<Entry> entries;  // parallel to arrays
  std::vector<std::string> ignored;

  explicit State(Archive opened) : archive(std::move(opened)) {}

  // The descriptive members first: a file of another format version is called that, whatever else it holds.
  Result<void> load(const CaptureHeader* given) {
    for (const auto& row : capture::descriptive_members()) {
      const auto read =
          given ? put_text(row, row.text(*given), header) : read_description(archive, row, header);
      if (!read) return read.error();
    }
    for (const capture::Member& member : archive.members()) {
      if (!member.name.ends_with(".npy")) {
        ignored.push_back(member.name);
        continue;
      }
      if (capture::is_descriptive(capture::stem(member.name))) continue;
      auto opened = open_array(archive, member);
      if (!opened) return opened.error();
      arrays.push_back(std::move(opened->header));
      entries.push_back(std::move(opened->entry));
    }
    return {};
  }

  // `from` is a path, or bytes. A file is what it says about itself, unless it is given.
  template <class From>
  static Result<CaptureReader> open(const From& from, const std::string& where, const CaptureHeader* given,
                                    const ReadOptions& options) {
    try {
      Result<Archive> archive = Archive::open(from, options.max_bytes);
      if (!archive) return archive.error();
      auto state = std::make_unique<State>(std::move(*archive));
      if (const auto loaded = state->load(given); !loaded) return loaded.error();
      return CaptureReader(std::move(state));
    } catch (const std::bad_alloc&) {
      return no_memory(where);
    } catch (const std::exception& e) {
      return Error{Errc::file_unreadable, where, e.what(), ""};
    }
  }
};

Result<CaptureReader> CaptureReader::open(const std::filesystem::path& path, const ReadOptions& options) {
  return State::open(path, path.string(), nullptr, options);
}

Result<CaptureReader> CaptureReader::open_arrays(const std::filesystem::path& path, const CaptureHeader& header,
                                                 const ReadOptions& options) {
  return State::open(path, path.string(), &header, options);
}

Result<CaptureReader> CaptureReader::open(std::span<const std::byte> bytes, const ReadOptions& options) {
  return State::open(bytes, "the archive in memory", nullptr, options);
}

CaptureReader::CaptureReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

const CaptureHeader& CaptureReader::header() const {
  return state_->header;
}
std::span<const ArrayHeader> CaptureReader::arrays() const {
  return state_->arrays;
}
std::span<const std::string> CaptureReader::ignored() const {
  return state_->ignored;
}

const ArrayHeader* CaptureReader::find(std::string_view name) const {
  const auto found = std::ranges::find(state_->arrays, name, &ArrayHeader::name);
  return found == state_->arrays.end() ? nullptr : &*found;
}

Result<Array> CaptureReader::read(std::string_view name) const {
  const ArrayHeader* header = find(name);
  try {
    if (header == nullptr) {
      std::string known;
      for (const ArrayHeader& array : state_->arrays)
        known += (known.empty() ? "one of " : ", ") + capture::excerpt(array.name);
      return member_error(Errc::member_missing, name, "", known.empty() ? "a file with arrays" : known);
    }
    return read_array(state_->archive, *header,
                      state_->entries[static_cast<std::size_t>(header - state_->arrays.data())]);
  } catch (const std::bad_alloc&) {
    return no_memory("member '" + capture::excerpt(name) + "'");
  } catch (const std::exception& e) {
    return member_error(Errc::member_malformed, name, e.what(), "readable data");
  }
}

}  // namespace warpbit
