// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>  // bad_alloc

#include "capture/archive.hpp"
#include "capture/npy.hpp"
#include "capture/text.hpp"
#include "warpbit/capture.hpp"

namespace warpbit {

using capture::Archive;
using capture::member_error;

namespace {

// Reads and checks a member's .npy header; the data that follows it has exactly the size that it states.
Result<ArrayHeader> open_array(const Archive& archive, const capture::Member& member) {
  auto stream = archive.stream(member);
  if (!stream) return stream.error();
  return capture::read_npy_header(capture::stem(member.name), member.bytes,
                                  [&](std::span<std::byte> out) { return stream->read(out); });
}

// Reads the data of an array whose header has been read, and proves size and CRC.
Result<Array> read_array(const Archive& archive, const ArrayHeader& header, const capture::Member& member) {
  auto stream = archive.stream(member);
  if (!stream) return stream.error();
  Array out{header, std::vector<std::byte>(static_cast<std::size_t>(header.items() * header.item_bytes))};
  std::vector<std::byte> skipped(static_cast<std::size_t>(member.bytes - out.data.size()));
  for (std::vector<std::byte>* bytes : {&skipped, &out.data})
    if (const auto read = stream->read(*bytes); !read) return read.error();
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
  const auto header = open_array(archive, *found);
  if (!header) {
    Error error = header.error();
    if (error.code == Errc::member_dtype) error.accepted = kDtype;
    return error;
  }
  if (header->kind != 'S') return member_error(Errc::member_dtype, row.name, header->dtype(), kDtype);
  if (!header->shape.empty())
    return member_error(Errc::member_shape, row.name, header->shape_text(), "(), zero-dimensional");
  if (header->item_bytes > capture::kLongestText)
    return member_error(Errc::member_malformed, row.name, fmt::format("it has {} bytes", header->item_bytes),
                        fmt::format("at most {}", capture::kLongestText));
  const auto array = read_array(archive, *header, *found);
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
  std::vector<capture::Member> members;  // parallel to arrays
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
      arrays.push_back(*std::move(opened));
      members.push_back(member);
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
                      state_->members[static_cast<std::size_t>(header - state_->arrays.data())]);
  } catch (const std::bad_alloc&) {
    return no_memory("member '" + capture::excerpt(name) + "'");
  } catch (const std::exception& e) {
    return member_error(Errc::member_malformed, name, e.what(), "readable data");
  }
}

}  // namespace warpbit
