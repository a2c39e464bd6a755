// SPDX-License-Identifier: Apache-2.0
// Who stores an element: the launch is run again, and may not store there.
//
//     |       writable       | read-only |       writable       |   the array, in three parts at one address
#include <algorithm>

#include "grid/launch_memory.hpp"
#include "test_process.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::ptx {
namespace {

constexpr std::uint64_t kPlaceOfArray = 0x7000'0000'0000;  // which the process does not use

bool holds_bytes(std::span<const std::byte> memory, std::span<const std::byte> part) {
  const std::less_equal<> not_behind;
  return !memory.empty() && not_behind(memory.data(), part.data()) &&
         not_behind(part.data() + part.size(), memory.data() + memory.size());
}

// What memory holds, and holds again in the end.
class KeptInTheEnd : public KeptMemory {
 public:
  using KeptMemory::KeptMemory;
  KeptInTheEnd(const KeptInTheEnd&) = delete;
  KeptInTheEnd& operator=(const KeptInTheEnd&) = delete;
  ~KeptInTheEnd() { restore(); }
};

// Pointers into the array become those into its parts.
std::vector<Argument> placed_arguments(std::span<const Argument> arguments, std::span<const std::byte> array) {
  std::vector<Argument> out(arguments.begin(), arguments.end());
  for (Argument& one : out)
    if (const std::span<const std::byte> memory = written_array(one);
        holds_bytes(array, memory) && !memory.empty())
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
    if (holds_bytes(written_array(one), element) && written_array(one).size() > array.size())
      array = written_array(one);
  if (array.empty() || element.empty())
    return Error{Errc::argument_mismatch, kernel.name(), "an element that no argument holds",
                 "an element of an array that the launch has as an argument to write to"};
  const auto byte = static_cast<std::size_t>(element.data() - array.data());
  const TestProcess::Unwatched looking;
  const KeptInTheEnd kept(how, arguments);
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
