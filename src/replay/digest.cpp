// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cstring>  // std::memcpy
#include <mutex>
#include <new>  // std::bad_alloc
#include <optional>

#include "replay/execute_capture.hpp"
#include "replay/fill_inputs.hpp"
#include "threads.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

// Sum over registers of a result whose first one has number `position`.
template <class Register>
std::uint64_t sum_registers(std::span<const std::byte> results, std::uint64_t position) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < results.size() / sizeof(Register); ++i) {
    Register value;
    std::memcpy(&value, results.data() + i * sizeof(Register), sizeof(Register));
    sum += inputs::mix(position + i, value);
  }
  return sum;
}

// An instruction with the inputs of a choice.
class Generator {
 public:
  Generator(const Instruction& instruction, std::vector<CaptureMember> members, const InputChoice& choice)
      : instruction_(instruction),
        members_(std::move(members)),
        key_(inputs::key_of(std::string(instruction.canonical()).c_str(), choice.seed)),
        profile_(choice.profile) {}

  const std::vector<CaptureMember>& members() const { return members_; }
  std::size_t case_bytes() const {
    std::size_t out = 0;
    for (const CaptureMember& member : members_) out += member.case_bytes();
    return out;
  }

  // Cases [first, first + cases), their results zero.
  LoadedCapture inputs(std::uint64_t first, std::uint64_t cases) const {
    LoadedCapture out({}, instruction_, cases);
    out.header.layout = instruction_.lanes() == 1 ? CaptureLayout::scalars : CaptureLayout::registers;
    auto member = members_.begin();
    for (const CaptureArray& array : members_of(instruction_, out.header.layout))
      out.array_of(array) = generated(*member++, first, cases);
    return out;
  }

  // What the cases add to their digest. Errors: those of execution; archive_too_large, if there is no memory.
  Result<std::uint64_t> digest(std::uint64_t first, std::uint64_t cases, const ExecuteOptions& options) const
      try {
    const LoadedCapture capture = inputs(first, cases);
    const Result<Array> results = execute(capture, options);
    if (results) return sum(*results, first);
    Error error = results.error();
    error.where = fmt::format("of cases {} to {}, {}", first, first + cases - 1, error.where);
    return error;
  } catch (const std::bad_alloc&) {
    return Error{Errc::archive_too_large, fmt::format("cases {} to {}", first, first + cases - 1),
                 "there is no memory for their arrays", "more memory"};
  }

 private:
  // Of results from case `first` on.
  std::uint64_t sum(const Array& results, std::uint64_t first) const {
    const CaptureMember& d = members_.back();
    const std::uint64_t position = first * static_cast<std::uint64_t>(d.lanes * d.registers);
    switch (d.register_bits) {
      case 8: return sum_registers<std::uint8_t>(results.data, position);
      case 16: return sum_registers<std::uint16_t>(results.data, position);
      case 32: return sum_registers<std::uint32_t>(results.data, position);
      default: return sum_registers<std::uint64_t>(results.data, position);
    }
  }

  Array generated(const CaptureMember& member, std::uint64_t first, std::uint64_t cases) const {
    std::vector<std::uint64_t> shape = member.shape;
    shape.insert(shape.begin(), cases);
    Array out = Array::zeros(member.name, member.item_bytes, shape);
    for (const inputs::Member& m : member.fills)
      fill_inputs(member, m, key_, profile_, first, cases, out.data.data());
    return out;
  }

  const Instruction& instruction_;
  std::vector<CaptureMember> members_;
  inputs::Key key_;
  inputs::Profile profile_;
};

// The failure that the first of the cases has, whichever thread is there first.
class FirstFailure {
 public:
  bool is_before(std::uint64_t first) const { return first_ < first; }
  void note(std::uint64_t first, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (first >= first_) return;
    first_ = first;
    error_ = error;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::atomic<std::uint64_t> first_ = UINT64_MAX;
  std::mutex mutex_;
  std::optional<Error> error_;
};

// Cases that are made and executed at once: so few that they stay in the cache.
std::uint64_t cases_at_once(const Generator& generator) {
  constexpr std::uint64_t kCacheBytes = std::uint64_t{256} << 10;
  return std::max<std::uint64_t>(kCacheBytes / generator.case_bytes(), 1);
}

}  // namespace

Result<LoadedCapture> generated_inputs(const Instruction& instruction, const InputChoice& choice,
                                       std::uint64_t first, std::uint64_t cases) {
  Result<std::vector<CaptureMember>> members = capture_members(instruction);
  if (!members) return members.error();
  return Generator(instruction, std::move(*members), choice).inputs(first, cases);
}

Result<std::vector<Array>> generated_capture(const Instruction& instruction, const InputChoice& choice,
                                             std::uint64_t first, std::uint64_t cases,
                                             const ExecuteOptions& options) {
  Result<LoadedCapture> capture = generated_inputs(instruction, choice, first, cases);
  if (!capture) return capture.error();
  Result<Array> results = execute(*capture, options);
  if (!results) return results.error();
  return std::move(*capture).with_results(*std::move(results));
}

Result<std::vector<std::uint64_t>> digests(const Instruction& instruction, const InputChoice& choice,
                                           const DigestBlocks& blocks, std::span<const std::uint64_t> which,
                                           const ExecuteOptions& options) {
  Result<std::vector<CaptureMember>> members = capture_members(instruction);
  if (!members) return members.error();
  const Generator generator(instruction, std::move(*members), choice);
  const std::uint64_t part = cases_at_once(generator), parts = (blocks.of_block - 1) / part + 1;
  std::vector<std::uint64_t> out(which.size());
  ExecuteOptions each = options;
  each.threads = 1;
  FirstFailure failure;
  for_each_piece(options.threads, out.size() * parts, [&](std::uint64_t i) {
    const std::uint64_t block = which[i / parts], before = i % parts * part, cases = blocks.cases_in(block);
    const std::uint64_t first = blocks.first_case(block) + before;
    if (before >= cases || failure.is_before(first)) return;
    const Result<std::uint64_t> sum = generator.digest(first, std::min(part, cases - before), each);
    if (!sum) {
      failure.note(first, sum.error());
      return;
    }
    std::uint64_t& digest = out[i / parts];
#pragma omp atomic
    digest += *sum;
  });
  if (const std::optional<Error> error = failure.error()) return *error;
  return out;
}

}  // namespace warpbit
