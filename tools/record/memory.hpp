// SPDX-License-Identifier: Apache-2.0
// The memory that a launch can reach, and its bytes on the way between GPU and host.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cuda_abi.hpp"

namespace warpbit::record {

struct Part {
  Address address = 0;
  std::size_t bytes = 0;
  std::string name;
  bool is_variable = false;
  std::size_t at = 0;  // in the staging memory
  Address end() const { return address + bytes; }
};

/// Sorted, and where they overlap one. Parts side by side stay two.
inline std::vector<Part> merged(std::vector<Part> parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.address < b.address; });
  std::vector<Part> out;
  for (Part& part : parts) {
    if (part.bytes == 0) continue;
    if (out.empty() || part.address >= out.back().end()) {
      out.push_back(std::move(part));
      continue;
    }
    Part& last = out.back();
    last.bytes = std::max(last.end(), part.end()) - last.address;
    if (last.name.empty()) last.name = std::move(part.name);
  }
  return out;
}

inline bool covers(const std::vector<Part>& parts, Address address) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Part& p) { return p.address <= address && address < p.end(); });
}

/// Host memory that the GPU copies to fast. Grows.
class Staging {
 public:
  unsigned char* get(const Driver& driver, std::size_t size) {
    if (size <= size_) return bytes_;
    if (bytes_ != nullptr && is_pinned_) driver.host_free(bytes_);
    if (bytes_ != nullptr && !is_pinned_) std::free(bytes_);
    size_ = std::max(size + size / 4, std::size_t{1} << 20);
    void* memory = nullptr;
    is_pinned_ = driver.host_allocate != nullptr && driver.host_allocate(&memory, size_, 0) == 0;
    if (!is_pinned_) memory = std::malloc(size_);
    if (memory == nullptr) size_ = 0;
    return bytes_ = static_cast<unsigned char*>(memory);
  }

 private:
  unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
  bool is_pinned_ = false;
};

class Memory {
 public:
  explicit Memory(const Driver& driver) : driver_(driver) {}

  /// The allocation that an address lies in. False if there is none that the GPU can reach.
  bool allocation(Address address, Part& out) const {
    Address start = 0;
    std::size_t size = 0;
    if (address < 4096 || driver_.pointer_attribute(&start, kPointerRangeStart, address) != 0 || start == 0 ||
        driver_.pointer_attribute(&size, kPointerRangeSize, address) != 0 || size == 0)
      return false;
    out.address = start;
    out.bytes = size;
    return address - start < size;
  }

  bool is_of_host(Address address) const {
    unsigned type = 0;
    return driver_.pointer_attribute(&type, kPointerMemoryType, address) != 0 || type == kMemoryOfHost;
  }

  /// Gives each part its place. The bytes of all.
  static std::size_t place(std::vector<Part>& parts) {
    std::size_t at = 0;
    for (Part& part : parts) {
      part.at = at;
      at += (part.bytes + 255) / 256 * 256;
    }
    return at;
  }

  int read(const std::vector<Part>& parts, unsigned char* to) {
    return each(parts,
                [&](const Part& p) { return copy(reinterpret_cast<Address>(to + p.at), p.address, p.bytes); });
  }
  int write(const std::vector<Part>& parts, const unsigned char* from) {
    return each(
        parts, [&](const Part& p) { return copy(p.address, reinterpret_cast<Address>(from + p.at), p.bytes); });
  }
  /// A stream of the recorder in the current context.
  void* stream() {
    void* context = nullptr;
    driver_.context(&context);
    void*& stream = streams_[context];
    if (stream == nullptr && driver_.stream_create != nullptr) driver_.stream_create(&stream, kNonBlocking);
    return stream;
  }

 private:
  int copy(Address to, Address from, std::size_t bytes) { return driver_.copy(to, from, bytes, stream_); }

  template <class Copy>
  int each(const std::vector<Part>& parts, Copy copy_part) {
    stream_ = stream();
    int code = 0;
    for (const Part& part : parts)
      if (code == 0) code = copy_part(part);
    const int last = driver_.stream_synchronize(stream_);
    return code != 0 ? code : last;
  }

  const Driver& driver_;
  std::map<void*, void*> streams_;
  void* stream_ = nullptr;
};

}  // namespace warpbit::record
