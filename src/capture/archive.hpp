// SPDX-License-Identifier: Apache-2.0
// Zip archives through libzip, with every size checked before anything is allocated or decompressed.
#pragma once

#include <zip.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warpbit/result.hpp"

namespace warpbit::capture {

/// What libzip allocates. A source is freed unless an archive takes it over, an archive discarded.
template <auto Free>
struct Freed {
  void operator()(auto* object) const { Free(object); }
};
using Source = std::unique_ptr<zip_source_t, Freed<zip_source_free>>;
using Zip = std::unique_ptr<zip_t, Freed<zip_discard>>;

/// One entry of the archive's directory.
struct Member {
  std::string name;         ///< as stored, for example "a.npy"
  std::uint64_t index = 0;  ///< position in the archive
  std::uint64_t bytes = 0;  ///< uncompressed size that the directory states; believable, but not yet proved
};

/// The uncompressed bytes of one member, from its start.
class MemberStream {
 public:
  /// Fills `out`. Errors: member_malformed if the data is corrupt or ends early.
  Result<void> read(std::span<std::byte> out);
  /// Succeeds if the data ends here and its CRC is the stated one. Errors: member_malformed.
  Result<void> finish();

 private:
  friend class Archive;
  Error corrupt(std::string_view what) const;

  std::string member_;
  std::unique_ptr<zip_file_t, Freed<zip_fclose>> file_;
};

/// An open archive whose directory has been checked.
class Archive {
 public:
  /// Opens a regular file and checks its directory: names that are unique, not empty and free of control
  /// characters; no encryption; members stored or deflated; sizes that the compressed sizes allow; all
  /// uncompressed sizes together at most `max_bytes`.
  /// Errors: file_unreadable, not_an_archive, archive_too_large, member_malformed.
  static Result<Archive> open(const std::filesystem::path& path, std::uint64_t max_bytes);
  /// The same from bytes, which must outlive the archive.
  static Result<Archive> open(std::span<const std::byte> bytes, std::uint64_t max_bytes);

  std::span<const Member> members() const { return members_; }

  /// Starts reading a member of this archive. Errors: member_malformed.
  Result<MemberStream> stream(const Member& member) const;

 private:
  static Result<Archive> from_source(Source source, std::string_view where, std::uint64_t max_bytes);
  Result<void> read_directory(std::string_view where, std::uint64_t archive_bytes, std::uint64_t max_bytes);

  Zip zip_;
  std::vector<Member> members_;
};

/// The member's name without ".npy"; other names unchanged.
std::string_view stem(std::string_view member_name);

}  // namespace warpbit::capture
