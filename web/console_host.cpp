// SPDX-License-Identifier: Apache-2.0
// The C library of a host lets stdout be another stream.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "console.hpp"

namespace warpbit::web {
namespace {

// While it lives, a stream of C writes into memory.
class Redirected {
 public:
  explicit Redirected(std::FILE*& stream)
      : stream_(stream), before_(std::exchange(stream, open_memstream(&data_, &size_))) {}
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() {
    std::fclose(std::exchange(stream_, before_));
    std::free(data_);
  }
  std::string text() {
    std::fflush(stream_);
    return {data_, size_};
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::FILE*& stream_;
  std::FILE* before_;
};

}  // namespace

Printed printed_by(const Files&, const std::function<void()>& work) {
  Redirected out(stdout), messages(stderr);
  work();
  return {out.text(), messages.text()};
}

}  // namespace warpbit::web
