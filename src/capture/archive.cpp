// SPDX-License-Identifier: Apache-2.0
#include "capture/archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>  // std::end
#include <string_view>
#include <unordered_set>

#include "capture/text.hpp"

namespace warpbit::capture {
namespace {

// What a well-formed archive is, for messages.
constexpr std::string_view kArchive = "a complete .npz (zip) file";

// A deflated byte yields at most 1032: a length of 258 costs at least 2 bits (RFC 1951, 3.2.5: one bit each for
// the length and the distance code).
constexpr std::uint64_t kDeflateRatio = 1032;

struct ZipError {
  zip_error_t value;
  ZipError() { zip_error_init(&value); }
  ~ZipError() { zip_error_fini(&value); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
};

// Failures of the file system, as against failures of the bytes in it.
constexpr int kFileErrors[] = {ZIP_ER_OPEN, ZIP_ER_READ, ZIP_ER_SEEK, ZIP_ER_TELL, ZIP_ER_NOENT, ZIP_ER_MEMORY};

Error open_error(std::string_view where, zip_error_t& error) {
  std::string seen = zip_error_strerror(&error);
  const int code = zip_error_code_zip(&error);
  if (std::ranges::find(kFileErrors, code) != std::end(kFileErrors))
    return Error{Errc::file_unreadable, std::string(where), std::move(seen), ""};
  if (code == ZIP_ER_NOZIP) seen = "no zip directory at its end: truncated, or of another kind";
  return Error{Errc::not_an_archive, std::string(where), std::move(seen), std::string(kArchive)};
}

// Checks one directory entry on its own. `archive_bytes` is the size of the whole archive.
Result<void> check_entry(const zip_stat_t& entry, std::string_view name, std::uint64_t archive_bytes) {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return member_error(Errc::member_malformed, stem(name), std::move(seen), std::move(accepted));
  };
  if (stem(name).empty() || !is_plain(name, false))
    return refuse("its name is " + quoted(name), "a name without control characters");
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((entry.valid & kNeeded) != kNeeded)
    return refuse("its directory entry is incomplete", "sizes and method");
  if (entry.encryption_method != ZIP_EM_NONE) return refuse("it is encrypted", "no encryption");
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)
    return refuse(fmt::format("it is compressed by method {}", entry.comp_method),
                  "stored (0) or deflated (8)");
  if (entry.comp_size > archive_bytes)
    return refuse(fmt::format("its directory entry states {} compressed bytes", entry.comp_size),
                  fmt::format("at most the {} bytes of the archive", archive_bytes));
  const bool stored = entry.comp_method == ZIP_CM_STORE;
  if (stored ? entry.size != entry.comp_size : entry.size / kDeflateRatio > entry.comp_size)
    return refuse(fmt::format("its directory entry states {} bytes in {} {} bytes", entry.size, entry.comp_size,
                              stored ? "stored" : "deflated"),
                  "a size that these can hold");
  return {};
}

}  // namespace

std::string_view stem(std::string_view member_name) {
  if (member_name.ends_with(".npy")) member_name.remove_suffix(4);
  return member_name;
}

Error MemberStream::corrupt(std::string_view what) const {
  return member_error(Errc::member_malformed, member_, std::string(what),
                      "intact data of the stated size and CRC");
}

Result<void> MemberStream::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const zip_int64_t n = zip_fread(file_.get(), out.data(), out.size());
    if (n < 0) return corrupt(std::string("its data is corrupt: ") + zip_file_strerror(file_.get()));
    if (n == 0) return corrupt("its data ends early");
    out = out.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

// libzip compares the CRC when a read meets the end of the data, and only then.
Result<void> MemberStream::finish() {
  std::byte extra{};
  const zip_int64_t n = zip_fread(file_.get(), &extra, 1);
  if (n < 0) return corrupt(std::string("its data is corrupt: ") + zip_file_strerror(file_.get()));
  if (n > 0) return corrupt("its data goes on after the stated size");
  return {};
}

Result<Archive> Archive::open(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const std::string where = path.string();
  const auto unreadable = [&](std::string seen) {
    return Error{Errc::file_unreadable, where, std::move(seen), ""};
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return unreadable("no such file");
  if (error) return unreadable(error.message());
  if (std::filesystem::is_directory(status)) return unreadable("it is a directory");
  if (!std::filesystem::is_regular_file(status)) return unreadable("it is not a regular file");
  ZipError zip_error;
  Source source(zip_source_file_create(path.c_str(), 0, -1, &zip_error.value));
  return source ? from_source(std::move(source), where, max_bytes) : open_error(where, zip_error.value);
}

Result<Archive> Archive::open(std::span<const std::byte> bytes, std::uint64_t max_bytes) {
  constexpr std::string_view kWhere = "the archive in memory";
  ZipError zip_error;
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &zip_error.value));
  return source ? from_source(std::move(source), kWhere, max_bytes) : open_error(kWhere, zip_error.value);
}

Result<Archive> Archive::from_source(Source source, std::string_view where, std::uint64_t max_bytes) {
  zip_stat_t whole;
  zip_stat_init(&whole);
  if (zip_source_stat(source.get(), &whole) < 0 || (whole.valid & ZIP_STAT_SIZE) == 0)
    return open_error(where, *zip_source_error(source.get()));
  // libzip would take an empty file for an archive without members.
  if (whole.size == 0)
    return Error{Errc::not_an_archive, std::string(where), "it is empty", std::string(kArchive)};

  Archive out;
  ZipError zip_error;
  out.zip_.reset(zip_open_from_source(source.get(), ZIP_RDONLY, &zip_error.value));
  if (out.zip_ == nullptr) return open_error(where, zip_error.value);
  static_cast<void>(source.release());  // owned by the archive from here on
  if (const auto read = out.read_directory(where, whole.size, max_bytes); !read) return read.error();
  return out;
}

Result<void> Archive::read_directory(std::string_view where, std::uint64_t archive_bytes,
                                     std::uint64_t max_bytes) {
  const auto count = static_cast<zip_uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(zip_.get(), 0), 0));
  std::unordered_set<std::string> seen_names;
  std::uint64_t left = max_bytes;
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    zip_stat_init(&entry);
    const char* raw = zip_get_name(zip_.get(), i, ZIP_FL_ENC_RAW);
    if (raw == nullptr || zip_stat_index(zip_.get(), i, 0, &entry) < 0)
      return Error{Errc::not_an_archive, std::string(where), fmt::format("directory entry {} is unusable", i),
                   std::string(kArchive)};
    const std::string name = raw;
    if ((entry.valid & ZIP_STAT_SIZE) != 0 && entry.size > left)
      return Error{Errc::archive_too_large, std::string(where),
                   fmt::format("with member '{}' ({} bytes) its uncompressed size is too large",
                               excerpt(stem(name)), entry.size),
                   fmt::format("at most {} bytes in all are read", max_bytes)};
    if (const auto checked = check_entry(entry, name, archive_bytes); !checked) return checked.error();
    if (!seen_names.insert(name).second)
      return member_error(Errc::member_malformed, stem(name), "the archive has it twice", "distinct names");
    left -= entry.size;
    members_.push_back(Member{name, i, entry.size});
  }
  return {};
}

Result<MemberStream> Archive::stream(const Member& member) const {
  MemberStream out;
  out.member_ = stem(member.name);
  out.file_.reset(zip_fopen_index(zip_.get(), member.index, 0));
  if (out.file_ == nullptr) return out.corrupt(std::string("it cannot be opened: ") + zip_strerror(zip_.get()));
  return out;
}

}  // namespace warpbit::capture
