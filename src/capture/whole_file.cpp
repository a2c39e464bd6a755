// SPDX-License-Identifier: Apache-2.0
#include "capture/whole_file.hpp"

#include <fcntl.h>  // open
#include <fmt/format.h>
#include <sys/stat.h>  // fchmod
#include <unistd.h>    // fsync

#include <cerrno>
#include <fstream>
#include <new>  // bad_alloc
#include <system_error>

namespace warpbit::capture {
namespace {

namespace fs = std::filesystem;

// What a write through links replaces.
fs::path behind_links(fs::path path) {
  constexpr int kLinks = 40;  // as Linux follows
  std::error_code error;
  for (int i = 0; i < kLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

// A new file that takes the place of `target`, with its permissions. Where the file system can, it has no name until it
// is complete, so that nothing is left of it if the process is killed.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) : target_(target) {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
    constexpr mode_t kMode = 0666;             // less the umask
    if (::access("/proc/self/fd", X_OK) == 0)  // by which it gets its name
      file_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
    if (file_ < 0)
      take_name([&] {
        file_ = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kMode);
        return file_ >= 0;
      });
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file_ >= 0) ::close(file_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  // Writes everything and renames. False if that fails; then errno says why.
  bool commit(std::span<const std::byte> bytes) {
    if (file_ < 0) return false;
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    struct stat there {};
    if (::stat(target_.c_str(), &there) == 0) static_cast<void>(::fchmod(file_, there.st_mode & 07777u));
    if (::fsync(file_) != 0) return false;
    const std::string descriptor = fmt::format("/proc/self/fd/{}", file_);
    if (path_.empty() && !take_name([&] {
          return ::linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
        }))
      return false;
    if (::rename(path_.c_str(), target_.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

 private:
  // Tries names beside the target until make() succeeds, or fails for another reason than that there is such a file.
  template <class Make>
  bool take_name(Make make) {
    constexpr int kAttempts = 1000;  // names taken by other threads, or left by killed processes
    for (int i = 0; i < kAttempts; ++i) {
      path_ = target_.parent_path() / fmt::format(".warpbit-{}-{}.partial", ::getpid(), i);
      if (make()) return true;
      if (errno != EEXIST) break;
    }
    path_.clear();
    return false;
  }

  fs::path target_, path_;  // path_ is empty while the file has no name
  int file_ = -1;
};

}  // namespace

Result<void> write_whole_file(const fs::path& path, std::span<const std::byte> bytes) {
  const auto refuse = [&](std::string why) {
    return Error{Errc::file_unwritable, path.string(), std::move(why), ""};
  };
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) return refuse("it is not a regular file");
  errno = 0;
  const int failure = Temporary(behind_links(path)).commit(bytes) ? 0 : errno;
  if (failure != 0) return refuse(std::error_code(failure, std::generic_category()).message());
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
