// SPDX-License-Identifier: Apache-2.0
#include "grid/launch_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "ptx/module.hpp"
#include "texture/sampler.hpp"
#include "texture/surface.hpp"
#include "texture/texture.hpp"

namespace warpbit::ptx {

namespace {

struct Named {
  std::span<std::byte> array;
  int uses = 0;
};
struct AllNamed {
  std::mutex mutex;
  std::map<std::uint64_t, Named> arrays;  // by address
  std::uint64_t next = grid::kNamed;
};
AllNamed& named() {
  static AllNamed all;
  return all;
}

bool is_same(std::span<const std::byte> x, std::span<const std::byte> y) {
  return x.data() == y.data() && x.size() == y.size();
}

}  // namespace

std::uint64_t address(std::span<std::byte> array) {
  constexpr std::uint64_t kStep = 1 << 21;
  AllNamed& all = named();
  const std::lock_guard lock(all.mutex);
  for (auto& [address, one] : all.arrays)
    if (is_same(one.array, array)) return ++one.uses, address;
  const std::uint64_t out = all.next;
  all.next += (array.size() / kStep + 2) * kStep;
  all.arrays.emplace(out, Named{array, 1});
  return out;
}

bool forget(std::uint64_t address) {
  if (texture::forget(address) || texture::forget_surface(address) || texture::forget_sampler(address))
    return true;
  AllNamed& all = named();
  const std::lock_guard lock(all.mutex);
  const auto found = all.arrays.find(address);
  if (found == all.arrays.end()) return false;
  if (--found->second.uses == 0) all.arrays.erase(found);
  return true;
}

std::vector<std::pair<std::uint64_t, std::span<std::byte>>> named_arrays() {
  AllNamed& all = named();
  const std::lock_guard lock(all.mutex);
  std::vector<std::pair<std::uint64_t, std::span<std::byte>>> out;
  for (const auto& [address, one] : all.arrays) out.emplace_back(address, one.array);
  return out;
}

namespace {

/// Where arrays that are only read begin, between buffers and arrays with an address.
constexpr std::uint64_t kConstantBuffers = 0x1800'0000'0000, kConstantStep = 1 << 21;

}  // namespace

LaunchMemory::LaunchMemory(const grid::GlobalMemory& variables, std::size_t parameters)
    : bytes_(parameters), next_constant_(kConstantBuffers) {
  memory_.share(variables);
  for (const auto& [address, array] : named_arrays())
    memory_.add({address, array.size(), array.data(), true, "an array with an address"});
  for (const std::span<std::byte> array : texture::surface_memory())
    if (std::ranges::none_of(memory_.ranges(), [&](const auto& one) {
          return is_same({one.data, one.bytes}, array);
        }))
      memory_.add("a surface", array);
}

// The same array has one address.
std::uint64_t LaunchMemory::reach(std::span<const std::byte> array, bool writable, const std::string& name) {
  for (const grid::GlobalMemory::Range& range : memory_.ranges())
    if (range.writable == writable && is_same({range.data, range.bytes}, array)) return range.address;
  const std::span<std::byte> bytes(const_cast<std::byte*>(array.data()), array.size());
  const std::string of = fmt::format("the array of '{}'", name);
  if (writable) return memory_.add(of, bytes);
  const std::uint64_t address = next_constant_;
  next_constant_ += (array.size() / kConstantStep + 2) * kConstantStep;
  memory_.add({address, bytes.size(), bytes.data(), false, of});
  return address;
}

std::uint64_t LaunchMemory::reach_unwritten(std::span<std::byte> array, const std::string& name) {
  const std::uint64_t address = reach(array, true, name);
  memory_.begin_undefined(address, defined_.emplace_back(array.size()).data());
  return address;
}

std::optional<Error> LaunchMemory::place(const PlacedMemory& part) {
  const std::uint64_t bytes = part.bytes.size();
  const auto refuse = [&](std::string accepted) {
    return Error{Errc::argument_mismatch, fmt::format("the memory '{}'", part.name),
                 fmt::format("{} bytes at {:#x}", bytes, part.address), std::move(accepted)};
  };
  if (bytes == 0) return std::nullopt;
  if (!part.defined.empty() && part.defined.size() != bytes)
    return refuse(fmt::format("as many bytes as `defined`, which has {}", part.defined.size()));
  const std::uint64_t last = part.address + (bytes - 1);
  if (part.address == 0 || last < part.address || (last >= grid::kConstants && part.address < grid::kOwnEnd) ||
      last >= grid::kSharedWindow)
    return refuse("addresses from 1 to 0xdffffffffff, or from 0x400000000000 to 0x7effffffffffffff");
  if (memory_.overlaps(part.address, bytes)) return refuse("memory that overlaps no other");
  memory_.add(
      {part.address, bytes, part.bytes.data(), part.is_writable, fmt::format("the memory '{}'", part.name)});
  if (!part.defined.empty()) memory_.begin_undefined(part.address, part.defined.data());
  return std::nullopt;
}

std::optional<Error> LaunchMemory::set(const Parameter& parameter, const Argument& argument) {
  const auto mismatch = [&](std::string seen) {
    return Error{Errc::argument_mismatch, fmt::format("argument '{}'", parameter.name), std::move(seen),
                 fmt::format("{} bytes (.{})", parameter.bytes, parameter.type)};
  };
  const auto* const array = std::get_if<std::span<std::byte>>(&argument);
  const auto* const constant = std::get_if<std::span<const std::byte>>(&argument);
  const auto* const unwritten = std::get_if<Unwritten>(&argument);
  if (array != nullptr || constant != nullptr || unwritten != nullptr) {
    if (ptx::find_opaque(parameter.type) != Opaque::none) return mismatch("an array, which is no handle");
    if (parameter.bytes != 8) return mismatch("an array, which is a pointer of 8 bytes");
    const std::uint64_t address = array != nullptr      ? reach(*array, true, parameter.name)
                                  : constant != nullptr ? reach(*constant, false, parameter.name)
                                                        : reach_unwritten(unwritten->bytes, parameter.name);
    std::memcpy(&bytes_[parameter.offset], &address, sizeof address);
    return std::nullopt;
  }
  const std::vector<std::byte>& value = std::get<std::vector<std::byte>>(argument);
  if (value.size() != parameter.bytes) return mismatch(fmt::format("{} bytes", value.size()));
  std::ranges::copy(value, bytes_.begin() + static_cast<std::ptrdiff_t>(parameter.offset));
  return std::nullopt;
}

std::span<std::byte> written_array(const Argument& argument) {
  if (const auto* array = std::get_if<std::span<std::byte>>(&argument)) return *array;
  if (const auto* array = std::get_if<Unwritten>(&argument)) return array->bytes;
  return {};
}

std::vector<std::span<std::byte>> writable_memory(const Launch& how, std::span<const Argument> arguments) {
  std::vector<std::span<std::byte>> out;
  const auto add = [&](std::span<std::byte> bytes) {
    const auto has_it = [&](std::span<std::byte> one) {
      return one.data() == bytes.data() && one.size() >= bytes.size();
    };
    if (!bytes.empty() && std::ranges::none_of(out, has_it)) out.push_back(bytes);
  };
  for (const Argument& one : arguments) add(written_array(one));
  for (const PlacedMemory& one : how.memory)
    if (one.is_writable) add(one.bytes);
  for (const auto& [address, array] : named_arrays()) add(array);
  for (const std::span<std::byte> array : texture::surface_memory()) add(array);
  return out;
}

KeptMemory::KeptMemory(const Launch& how, std::span<const Argument> arguments) {
  for (const std::span<std::byte> memory : writable_memory(how, arguments))
    kept_.emplace_back(memory, std::vector<std::byte>(memory.begin(), memory.end()));
}

void KeptMemory::restore() const {
  for (const auto& [memory, bytes] : kept_) std::ranges::copy(bytes, memory.begin());
}

}  // namespace warpbit::ptx
