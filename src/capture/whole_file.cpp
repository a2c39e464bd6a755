// SPDX-License-Identifier: Apache-2.0
#include "capture/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>  // fsync

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <new>  // bad_alloc
#include <system_error>
#include <utility>  // exchange

namespace warpbit::capture {
namespace {

// A new file beside `target`, removed at the end of its life unless it took the target's place.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& target) {
    constexpr int kAttempts = 1000;  // names taken by other writers, or left by killed ones
    for (int i = 0; i < kAttempts && file_ == nullptr; ++i) {
      path_ = target.parent_path() / fmt::format(".warpbit-{}.partial", i);
      errno = 0;
      file_ = std::fopen(path_.c_str(), "wbx");
      if (file_ == nullptr && errno != EEXIST) break;
    }
    if (file_ == nullptr) {
      failure_ = errno;
      path_.clear();
    }
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

  // Writes everything and renames. Returns 0 or an errno value.
  int commit(std::span<const std::byte> bytes, const std::filesystem::path& target) {
    if (file_ == nullptr) return failure_;
    errno = 0;
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() &&
                         std::fflush(file_) == 0 && fsync(fileno(file_)) == 0;
    const int failure = errno;
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!written || !closed) return failure != 0 ? failure : EIO;
    std::error_code error;
    std::filesystem::rename(path_, target, error);
    if (error) return error.value();
    path_.clear();
    return 0;
  }

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
  int failure_ = 0;
};

}  // namespace

Result<void> write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const auto refuse = [&](std::string why) {
    return Error{Errc::file_unwritable, path.string(), std::move(why), ""};
  };
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return refuse("it is no regular file");
  if (const int failure = Temporary(path).commit(bytes, path); failure != 0)
    return refuse(std::error_code(failure, std::generic_category()).message());
  return {};
}

Result<std::vector<std::byte>> read_whole_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const auto refuse = [&](Errc code, std::string why, std::string accepted = "") {
    return Error{code, path.string(), std::move(why), std::move(accepted)};
  };
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (!std::filesystem::exists(there)) return refuse(Errc::file_unreadable, "no such file");
  if (!std::filesystem::is_regular_file(there)) return refuse(Errc::file_unreadable, "not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return refuse(Errc::file_unreadable, error.message());
  if (size > max_bytes)
    return refuse(Errc::archive_too_large, fmt::format("it has {} bytes", size),
                  fmt::format("at most {} bytes are read", max_bytes));
  try {
    std::vector<std::byte> out(static_cast<std::size_t>(size));
    std::ifstream in(path, std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(size)))
      return refuse(Errc::file_unreadable, "it cannot be read");
    return out;
  } catch (const std::bad_alloc&) {
    return refuse(Errc::archive_too_large, "there is not enough memory for it", "a smaller one");
  }
}

}  // namespace warpbit::capture
