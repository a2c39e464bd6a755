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
#include "threads.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

// An instruction with its members and the inputs of a choice.
struct Generator {
  static constexpr std::uint64_t kCases = 4096;  // after which it may be stopped
  const Instruction& instruction;
  const std::vector<CaptureMember> members;
  const InputChoice& choice;

  // Cases [first, first + cases), their results zero.
  LoadedCapture inputs(std::uint64_t first, std::uint64_t cases) const {
    const inputs::Key key = inputs::key_of(std::string(instruction.canonical()).c_str(), choice.seed);
    LoadedCapture out({}, instruction, cases);
    out.header.layout = instruction.lanes() == 1 ? CaptureLayout::scalars : CaptureLayout::registers;
    auto member = members.begin();
    for (const CaptureArray& array : members_of(instruction, out.header.layout)) {
      std::vector<std::uint64_t> shape = member->shape;
      shape.insert(shape.begin(), cases);
      Array& to = out.array_of(array) = Array::zeros(member->name, member->item_bytes, shape);
      for (const inputs::Member& m : member->fills)
        for (std::uint64_t i = 0; i < cases; i += kCases) {
          end_if(stop_flag());
          fill_inputs(*member, m, key, choice.profile, first + i, std::min(kCases, cases - i),
                      to.data.data() + i * member->case_bytes());
        }
      ++member;
    }
    return out;
  }

  // What the cases add to their digest. Errors: those of execution; archive_too_large, if there is no memory.
  Result<std::uint64_t> digest(std::uint64_t first, std::uint64_t cases, const ExecuteOptions& options) const
      try {
    const Result<Array> results = execute(inputs(first, cases), options);
    if (results) return sum(*results, first);
    Error error = results.error();
    error.where = fmt::format("of cases {} to {}, {}", first, first + cases - 1, error.where);
    return error;
  } catch (const std::bad_alloc&) {
    return Error{Errc::archive_too_large, fmt::format("cases {} to {}", first, first + cases - 1),
                 "there is no memory for their arrays", "more memory"};
  }

  // Of results from case `first` on.
  std::uint64_t sum(const Array& results, std::uint64_t first) const {
    const CaptureMember& d = members.back();
    const auto sum = [&](auto value) {
      std::uint64_t out = 0, position = first * static_cast<std::uint64_t>(d.lanes * d.registers);
      for (std::size_t i = 0; i < results.data.size(); i += sizeof(value)) {
        std::memcpy(&value, results.data.data() + i, sizeof(value));
        out += inputs::mix(position++, value);
      }
      return out;
    };
    switch (d.register_bits) {
      case 8: return sum(std::uint8_t{});
      case 16: return sum(std::uint16_t{});
      case 32: return sum(std::uint32_t{});
      default: return sum(std::uint64_t{});
    }
  }
};

// Cases that are made and executed at once: so few that they stay in the cache.
std::uint64_t cases_at_once(const Generator& generator) {
  constexpr std::uint64_t kCacheBytes = std::uint64_t{256} << 10;
  std::uint64_t each = 0;
  for (const CaptureMember& member : generator.members) each += member.case_bytes();
  return std::max<std::uint64_t>(kCacheBytes / each, 1);
}

}  // namespace

Result<LoadedCapture> generated_inputs(const Instruction& instruction, const InputChoice& choice,
                                       std::uint64_t first, std::uint64_t cases) {
  Result<std::vector<CaptureMember>> members = capture_members(instruction);
  if (!members) return members.error();
  return Generator{instruction, *std::move(members), choice}.inputs(first, cases);
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
  const Generator generator{instruction, *std::move(members), choice};
  const std::uint64_t part = cases_at_once(generator), parts = (blocks.of_block - 1) / part + 1;
  std::vector<std::atomic<std::uint64_t>> sums(which.size());
  ExecuteOptions each = options;
  each.threads = 1;
  // The first of the cases that fail, whichever thread is there first.
  std::atomic<std::uint64_t> first_failure = UINT64_MAX;
  std::optional<Error> error;
  std::mutex mutex;
  for_each_piece(options.threads, sums.size() * parts, [&](std::uint64_t i) {
    const std::uint64_t block = which[i / parts], before = i % parts * part, cases = blocks.cases_in(block);
    const std::uint64_t first = blocks.first_case(block) + before;
    if (before >= cases || first_failure < first) return;
    const Result<std::uint64_t> sum = generator.digest(first, std::min(part, cases - before), each);
    if (sum) {
      sums[i / parts] += *sum;
      return;
    }
    const std::lock_guard lock(mutex);
    if (first < first_failure) {
      first_failure = first;
      error = sum.error();
    }
  });
  if (error) return *error;
  return std::vector<std::uint64_t>(sums.begin(), sums.end());
}

}  // namespace warpbit
