// SPDX-License-Identifier: Apache-2.0
// What vprintf of a device makes of a format and its arguments (CUDA C++ Programming Guide, "Formatted Output").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace warpbit::grid {

/// The text of a launch, of which a GPU's buffer keeps the last 1 MiB.
class Printed {
 public:
  static constexpr std::size_t kBytes = 1 << 20;
  void add(std::string_view text);
  void add(const Printed& later);
  /// The last kBytes of all that was added.
  std::string_view text() const {
    return std::string_view(text_).substr(text_.size() - std::min(text_.size(), kBytes));
  }
  /// Bytes before that.
  std::uint64_t dropped() const { return all_ - text().size(); }
  bool empty() const { return all_ == 0; }

 private:
  std::string text_;  // up to twice as long
  std::uint64_t all_ = 0;
};

/// Where the arguments of a format lie.
struct PrintArguments {
  /// The next one, of 4 or 8 bytes.
  std::function<std::uint64_t(std::uint64_t bytes)> next;
  /// The text at an address up to its zero, and no more than `most` bytes.
  std::function<std::string(std::uint64_t address, std::size_t most)> text;
};

/// At most 32 conversions, each of one argument and, with '*', of those before it; what follows is text, as is a '%' before
/// what a device does not know. No width and no precision counts for more than Printed::kBytes. `count`: of conversions.
std::string printed(std::string_view format, const PrintArguments& arguments, int& count);

}  // namespace warpbit::grid
