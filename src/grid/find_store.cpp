// SPDX-License-Identifier: Apache-2.0
// Who stores an element: the launch is run again, and may not store there.
//
//     |       writable       | read-only |       writable       |   the array, in three parts at one address
#include <algorithm>

#include "warpbit/ptx.hpp"

namespace warpbit::ptx {
namespace {

constexpr std::uint64_t kPlaceOfArray = 0x7000'0000'0000;  // which the process does not use

// What a kernel may write to.
std::span<std::byte> memory_of(const Argument& argument) {
  if (const auto* array = std::get_if<std::span<std::byte>>(&argument)) return *array;
  if (const auto* array = std::get_if<Unwritten>(&argument)) return array->bytes;
  return {};
}

bool holds_bytes(std::span<const std::byte> memory, std::span<const std::byte> part) {
  const std::less_equal<> not_behind;
  return !memory.empty() && not_behind(memory.data(), part.data()) &&
         not_behind(part.data() + part.size(), memory.data() + memory.size());
}

// What the arrays of a launch hold, and hold again in the end.
class KeptArrays {
 public:
  explicit KeptArrays(std::span<const Argument> arguments) {
    for (const Argument& one : arguments) {
      const std::span<std::byte> memory = memory_of(one);
      kept_.emplace_back(memory, std::vector<std::byte>(memory.begin(), memory.end()));
    }
  }
  KeptArrays(const KeptArrays&) = delete;
  KeptArrays& operator=(const KeptArrays&) = delete;
  ~KeptArrays() { restore(); }
  void restore() {
    for (const auto& [memory, bytes] : kept_) std::ranges::copy(bytes, memory.begin());
  }

 private:
  std::vector<std::pair<std::span<std::byte>, std::vector<std::byte>>> kept_;
};

// Pointers into the array become those into its parts.
std::vector<Argument> placed_arguments(std::span<const Argument> arguments, std::span<const std::byte> array) {
  std::vector<Argument> out(arguments.begin(), arguments.end());
  for (Argument& one : out)
    if (const std::span<const std::byte> memory = memory_of(one); holds_bytes(array, memory) && !memory.empty())
      one = value(kPlaceOfArray + static_cast<std::uint64_t>(memory.data() - array.data()));
  return out;
}

std::vector<PlacedMemory> array_parts(std::span<std::byte> array, std::size_t from, std::size_t to) {
  std::vector<PlacedMemory> out;
  const auto add = [&](std::size_t first, std::size_t last, bool is_writable) {
    if (first < last)
      out.push_back({kPlaceOfArray + first, array.subspan(first, last - first), "the array", {}, is_writable});
  };
  add(0, from, true);
  add(from, to, false);
  add(to, array.size(), true);
  return out;
}

}  // namespace

Result<std::optional<Fault>> find_store(const Function& kernel, const Launch& how,
                                        std::span<const Argument> arguments,
                                        std::span<const std::byte> element) {
  std::span<std::byte> array;
  for (const Argument& one : arguments)
    if (holds_bytes(memory_of(one), element) && memory_of(one).size() > array.size()) array = memory_of(one);
  if (array.empty() || element.empty())
    return Error{Errc::argument_mismatch, kernel.name(), "an element that no argument holds",
                 "an element of an array that the launch has as an argument to write to"};
  const auto byte = static_cast<std::size_t>(element.data() - array.data());
  KeptArrays kept(arguments);
  // An access that reaches across the edge of the bytes is out of bounds; then more are taken.
  for (std::size_t around = element.size(); around <= 32; around *= 2) {
    Launch again = how;
    again.check_shared = again.check_global = again.profile = false;
    again.as_written = again.lenient = true;
    const std::size_t first = byte / around * around;
    for (PlacedMemory& part : array_parts(array, first, std::min(first + around, array.size())))
      again.memory.push_back(std::move(part));
    Report report = kernel.launch(again, placed_arguments(arguments, array));
    if (!report.fault) return std::optional<Fault>();
    if (report.fault->error.code == Errc::address_read_only) return std::move(report.fault);
    if (report.fault->error.code != Errc::address_out_of_bounds) return report.fault->error;
    kept.restore();
  }
  return std::optional<Fault>();
}

}  // namespace warpbit::ptx
