// SPDX-License-Identifier: Apache-2.0
// A page has no files: what the C library asks of its host is answered here. Those that a command is given, or writes, are kept in
// memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <wasi/api.h>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "console.hpp"

namespace {

constexpr int kFirstFile = 3;  // behind the standard streams

struct Opened {
  std::string name;
  size_t read = 0;  // bytes, of a file that is given
};

warpbit::web::Printed g_printed;
const warpbit::web::Files* g_given = nullptr;
std::map<int, Opened> g_open;

// What is written to.
std::string& stream(__wasi_fd_t fd) {
  const auto file = g_open.find(static_cast<int>(fd));
  if (file != g_open.end()) return g_printed.files[file->second.name];
  return fd == 2 ? g_printed.messages : g_printed.out;
}

// nullptr: there is no such file.
const std::string* given(const std::string& name) {
  if (g_given == nullptr) return nullptr;
  const auto found = g_given->find(name);
  return found == g_given->end() ? nullptr : &found->second;
}

int open_as(Opened file) {
  const int fd = g_open.empty() ? kFirstFile : g_open.rbegin()->first + 1;
  g_open.emplace(fd, std::move(file));
  return fd;
}

}  // namespace

namespace warpbit::web {

Printed printed_by(const Files& files, const std::function<void()>& work) {
  g_given = &files;
  work();
  g_given = nullptr;
  std::fflush(stdout);
  return std::exchange(g_printed, {});
}

}  // namespace warpbit::web

extern "C" {

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t* pieces, size_t count,
                               __wasi_size_t* written) {
  std::string& to = stream(fd);
  *written = 0;
  for (size_t i = 0; i < count; ++i) {
    to.append(reinterpret_cast<const char*>(pieces[i].buf), pieces[i].buf_len);
    *written += pieces[i].buf_len;
  }
  return __WASI_ERRNO_SUCCESS;
}

// Standard input is empty.
__wasi_errno_t __wasi_fd_read(__wasi_fd_t fd, const __wasi_iovec_t* pieces, size_t count,
                              __wasi_size_t* read) {
  *read = 0;
  const auto file = g_open.find(static_cast<int>(fd));
  const std::string* text = file == g_open.end() ? nullptr : given(file->second.name);
  for (size_t i = 0; text != nullptr && i < count; ++i) {
    const size_t copied = text->copy(reinterpret_cast<char*>(pieces[i].buf), pieces[i].buf_len, file->second.read);
    file->second.read += copied;
    *read += copied;
  }
  return __WASI_ERRNO_SUCCESS;
}
__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd) {
  g_open.erase(static_cast<int>(fd));
  return __WASI_ERRNO_SUCCESS;
}
__wasi_errno_t __wasi_fd_sync(__wasi_fd_t) {
  return __WASI_ERRNO_SUCCESS;
}
__wasi_errno_t __wasi_fd_seek(__wasi_fd_t, __wasi_filedelta_t, __wasi_whence_t, __wasi_filesize_t*) {
  return __WASI_ERRNO_SPIPE;
}
__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t, __wasi_fdstat_t*) {
  return __WASI_ERRNO_BADF;
}
int __syscall_open(const char* path, int flags, int) {
  if ((flags & O_CREAT) == 0) return given(path) == nullptr ? -ENOENT : open_as({path});
  g_printed.files[path].clear();
  return open_as({path});
}
int __syscall_stat64(const char* path, void* out) {
  const std::string* text = given(path);
  if (text == nullptr) return -ENOENT;
  struct stat there {};
  there.st_mode = S_IFREG | S_IRUSR;
  there.st_size = static_cast<off_t>(text->size());
  *static_cast<struct stat*>(out) = there;
  return 0;
}
int __syscall_lstat64(const char*, void*) {
  return -ENOENT;
}
int __syscall_fstatat64(int, const char*, void*, int) {
  return -ENOENT;
}
int __syscall_faccessat(int, const char*, int, int) {
  return -ENOENT;
}
int __syscall_readlink(const char*, char*, size_t) {
  return -ENOENT;
}
int __syscall_getcwd(char*, size_t) {
  return -ENOENT;
}
int __syscall_getdents64(int, void*, size_t) {
  return -EBADF;
}
int __syscall_linkat(int, const char*, int, const char*, int) {
  return -ENOENT;
}
int __syscall_rename(const char* from, const char* to) {
  auto file = g_printed.files.extract(from);
  if (file.empty()) return -ENOENT;
  g_printed.files.insert_or_assign(to, std::move(file.mapped()));
  return 0;
}
int __syscall_rmdir(const char*) {
  return -ENOENT;
}
int __syscall_unlink(const char* path) {
  return g_printed.files.erase(path) == 1 ? 0 : -ENOENT;
}
int __syscall_fchmod(int, int) {
  return -EBADF;
}
int __syscall_fcntl64(int, int, int) {
  return -EBADF;
}
int __syscall_ioctl(int, int, int) {
  return -ENOTTY;
}

}  // extern "C"
