// SPDX-License-Identifier: Apache-2.0
// A launch, and the thread that makes it.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "json.hpp"
#include "memory.hpp"
#include "modules.hpp"

namespace warpbit::record {

/// A launch, whichever call made it.
struct Launch {
  void* handle = nullptr;
  const char* symbol = nullptr;
  unsigned grid[3] = {}, block[3] = {}, cluster[3] = {}, shared = 0;
  bool is_cooperative = false;
  void* stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  const LaunchConfig* config = nullptr;
};

/// What a thread of the program is about.
struct ThreadState {
  int inside = 0;  // calls of the recorder's own
  int paused = 0;
  bool is_collecting = false;
  JsonList collected;  // of a product: the kernels that ran
  std::vector<Part> hints;
  std::string where, library, answer;
  std::string next_ptx, next_library;  // of the image that is loaded next
};

inline ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

/// While it lives, calls of this thread are the recorder's own. Calls that are forbidden while another thread captures a
/// graph are allowed.
class Inside {
 public:
  explicit Inside(const Driver& driver) : driver_(driver) {
    if (this_thread().inside++ == 0 && driver_.capture_mode != nullptr) driver_.capture_mode(&mode_);
  }
  ~Inside() {
    if (--this_thread().inside == 0 && driver_.capture_mode != nullptr) driver_.capture_mode(&mode_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const Driver& driver_;
  int mode_ = kRelaxed;
};

/// Where an allocator that the driver does not know keeps things: the piece that an address lies in.
using FindBlock = int(Address address, Address* start, std::uint64_t* bytes);

/// A launch that is being recorded.
struct Pending {
  Launch launch;
  std::shared_ptr<Function> function;
  Bytes parameters;
  std::vector<Part> parts;
  std::string reason;
  bool points_elsewhere = false, has_followed = false;
};

/// The bytes of all parameters, each at its offset.
inline Bytes parameters_of(const Launch& launch, const Function& function) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < function.sizes.size(); ++i)
    end = std::max(end, function.offsets[i] + function.sizes[i]);
  Bytes out(end);
  if (launch.parameters != nullptr) {
    for (std::size_t i = 0; i < function.sizes.size(); ++i)
      std::memcpy(out.data() + function.offsets[i], launch.parameters[i], function.sizes[i]);
  } else if (launch.extra != nullptr) {  // pairs: 1, the buffer; 2, its size; ends with 0
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (void** at = launch.extra; *at != nullptr; at += 2) {
      if (reinterpret_cast<std::uintptr_t>(*at) == 1) buffer = at[1];
      if (reinterpret_cast<std::uintptr_t>(*at) == 2) size = *static_cast<std::size_t*>(at[1]);
    }
    if (buffer != nullptr) std::memcpy(out.data(), buffer, std::min(size, end));
  }
  return out;
}

}  // namespace warpbit::record
