// SPDX-License-Identifier: Apache-2.0
#include "capture/new_archive.hpp"

#include "capture/archive.hpp"

namespace warpbit::capture {
namespace {

// MS-DOS date and time, as NumPy writes them: 1980-01-01 00:00.
constexpr zip_uint16_t kDate = (0 << 9) | (1 << 5) | 1;
constexpr zip_uint16_t kTime = 0;
constexpr zip_uint32_t kDeflateLevel = 6;

// Adds one member; false if libzip refuses, and the reason is in the archive's error.
bool add_member(zip_t* archive, const NewMember& member) {
  // libzip wants pointers to mutable bytes, and does not write to them; a piece of no bytes it reads past (1.7).
  zip_buffer_fragment_t pieces[2];
  zip_uint64_t count = 0;
  const auto add = [&](const void* data, std::size_t bytes) {
    if (bytes != 0) pieces[count++] = {static_cast<zip_uint8_t*>(const_cast<void*>(data)), bytes};
  };
  add(member.start.data(), member.start.size());
  add(member.data.data(), member.data.size());
  zip_source_t* source = zip_source_buffer_fragment(archive, pieces, count, 0);
  if (source == nullptr) return false;
  const zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_GUESS);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  const auto at = static_cast<zip_uint64_t>(index);
  return zip_set_file_compression(archive, at, ZIP_CM_DEFLATE, kDeflateLevel) == 0 &&
         zip_file_set_dostime(archive, at, kTime, kDate, 0) == 0;
}

}  // namespace

Result<std::vector<std::byte>> zipped(std::span<const NewMember> members, const std::string& where) {
  const auto refuse = [&](const char* why) { return Error{Errc::file_unwritable, where, why, ""}; };
  zip_error_t error;
  zip_error_init(&error);
  Source bytes(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (bytes == nullptr) return refuse("out of memory");
  Zip archive(zip_open_from_source(bytes.get(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (archive == nullptr) return refuse("libzip cannot make an archive");
  zip_source_keep(bytes.get());  // one reference for the archive, one for us
  for (const NewMember& member : members)
    if (!add_member(archive.get(), member)) return refuse(zip_strerror(archive.get()));
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

}  // namespace warpbit::capture
