// SPDX-License-Identifier: Apache-2.0
// Tensor copies, bulk copies and their reductions: the bytes that a GPU left, and what it did not take.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "recording/fields.hpp"
#include "verify/cases/tensor_copy_arguments.hpp"
#include "verify/kinds.hpp"

namespace warpbit::verification {
namespace {

using namespace tensor_copy_arguments;
using recording::Fields;
using tensor_map::CopyRun;
using Window = std::vector<std::uint8_t>;

// ---- A case, by what kernels execute

/// What a copy leaves: the window that it goes to, and the bytes that its mbarrier counted.
struct Left {
  Window after;
  std::uint64_t counted = 0;
};

std::span<std::byte> piece(Window& window, std::uint64_t first, std::uint64_t bytes) {
  return std::as_writable_bytes(std::span(window).subspan(first, bytes));
}

void move_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  std::ranges::copy(from, to.begin());
}

Left bulk(const CopyCase& c) {
  Window global = window(c, 0), shared = window(c, 1);
  const bool within = c.operation >= kSharedCopy, to_shared = is_to_shared(c.operation);
  const std::span<std::byte> other = piece(within ? shared : global, c.other, c.bytes);
  const std::span<std::byte> tile = piece(shared, c.shared, c.bytes);
  const std::span<std::byte> to = to_shared ? tile : other, from = to_shared ? other : tile;
  if (c.operation == kBulkReduce || c.operation == kSharedReduce)
    tensor_map::reduce(reduction_of(c), map_of(c).elemtype, to, from);
  else
    move_bytes(to, from);
  return {to_shared ? shared : global, to_shared ? c.bytes : 0U};
}

// A run of a tensor copy.
void execute(const CopyCase& c, const TensorMap& m, const CopyRun& run, Window& global, Window& shared) {
  const std::span<std::byte> tile = piece(shared, run.shared, run.bytes);
  if (run.outside) {
    if (c.operation == kLoad) tensor_map::fill(m, tile);
    return;
  }
  const std::span<std::byte> tensor = piece(global, run.global, run.bytes);
  if (c.operation == kReduce) tensor_map::reduce(reduction_of(c), m.elemtype, tensor, tile);
  if (c.operation == kStore) move_bytes(tensor, tile);
  if (c.operation == kLoad) {
    move_bytes(tile, tensor);
    tensor_map::convert(m.elemtype, tile);
  }
}

// Errors: what the copy is refused for; a load of whole lines must leave the same by its runs and by its lines.
Result<Left> left_by(const CopyCase& c) {
  if (is_bulk(c.operation)) return bulk(c);
  const TensorMap m = map_of(c);
  const tensor_map::TensorCopy copy = copy_of(c);
  // A grid compares the ranks (COPIES.md).
  if (static_cast<int>(c.instruction_rank) != m.rank)
    return Error{Errc::descriptor_field, "a tensor map", fmt::format("rank {}", m.rank),
                 fmt::format("rank {}", c.instruction_rank)};
  if (c.operation == kReduce && !tensor_map::exists(reduction_of(c), m.elemtype, true))
    return Error{Errc::descriptor_field, "a reduction", std::string(name(m.elemtype)), "a type that it has"};
  const Result<std::vector<CopyRun>> runs = tensor_map::runs(m, copy);
  if (!runs) return runs.error();
  Window global = window(c, 0), shared = window(c, 1);
  for (const CopyRun& run : *runs) execute(c, m, run, global, shared);
  if (c.operation != kLoad) return Left{global, 0};
  if (const auto lines = tensor_map::lines(m, copy)) {
    Window moved = window(c, 1);
    tensor_map::move(*lines, piece(global, lines->global, lines->reach()).data(), piece(moved, 0, 1).data());
    if (moved != shared)
      return Error{Errc::descriptor_field, "a copy", "other bytes by lines than by runs", "the same"};
  }
  return Left{shared, tensor_map::counted_bytes(m)};
}

// ---- Records

const std::vector<CopyCase>& read_generator(const Fields& fields) {
  static const std::vector<std::vector<CopyCase>> kCases = [] {
    std::vector<std::vector<CopyCase>> out;
    for (const Group& group : groups()) out.push_back(group.make());
    return out;
  }();
  const std::string name = fields.text("generator");
  for (std::size_t i = 0; i < groups().size(); ++i)
    if (groups()[i].name == name) return kCases[i];
  fields.refuse("generator", fmt::format("'{}'", name), "a group of tensor copies");
}

const CopyCase* read_case(const Fields& fields, const std::string& member, std::size_t further) {
  const std::vector<CopyCase>& cases = read_generator(fields);
  const std::uint64_t first = fields.number(member);
  if (first >= cases.size() || further >= cases.size() - first)
    fields.refuse(member, fmt::format("{}", first + further), fmt::format("a case of the {}", cases.size()));
  return &cases[first];
}

struct RecordedCopies {
  const CopyCase* first = nullptr;
  std::vector<std::string> digests;
};

struct RecordedTensorCopy {
  const CopyCase* one = nullptr;
  bool is_fault = false;
  std::string digest;  ///< empty: all bytes that the copy has changed
  std::uint64_t counted = 0, first = 0;
  std::vector<std::byte> changed;
};

RecordedTensorCopy read_copy_case(const Fields& fields) {
  RecordedTensorCopy out{
      read_case(fields, "index", 0), fields.has("fault"), fields.text_or_empty("digest"), 0, 0, {}};
  if (out.is_fault || !out.digest.empty()) return out;
  out.counted = fields.number("counted"), out.first = fields.number("first"),
  out.changed = fields.hex("changed");
  const std::uint64_t window = is_to_shared(out.one->operation) ? kSharedBytes : kGlobalBytes;
  if (out.first > window || out.changed.size() > window - out.first)
    fields.refuse("changed", fmt::format("{} bytes from {} on", out.changed.size(), out.first),
                  fmt::format("bytes of a window of {}", window));
  return out;
}

// ---- Comparing

// Of a case by its digest; what differs is noted.
void compare_digest(const CopyCase& c, const std::string& expected, FileReport& report) {
  ++report.cases, ++report.elements;
  const Result<Left> left = left_by(c);
  const std::string got =
      left ? fmt::format("{:016x}", digest(left->after, left->counted)) : left.error().message();
  if (got == expected) return;
  ++report.mismatches;
  report.notes.push_back(fmt::format("{}: expected {}, got {}", describe(c), expected, got));
}

void compare_bytes(const RecordedTensorCopy& recorded, FileReport& report) {
  ++report.cases, ++report.elements;
  const CopyCase& c = *recorded.one;
  Window expected = window(c, is_to_shared(c.operation) ? 1 : 0);
  std::ranges::transform(recorded.changed, expected.begin() + static_cast<std::ptrdiff_t>(recorded.first),
                         [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  const Result<Left> left = left_by(c);
  if (left && left->after == expected && left->counted == recorded.counted) return;
  ++report.mismatches;
  report.notes.push_back(fmt::format("{}: {}", describe(c),
                                     !left                               ? left.error().message()
                                     : left->counted != recorded.counted ? "its mbarrier counts other bytes"
                                                                         : "it leaves other bytes"));
}

void compare_fault(const CopyCase& c, FileReport& report) {
  ++report.cases, ++report.elements;
  if (!left_by(c)) return;
  ++report.mismatches;
  report.notes.push_back(describe(c) + ": the GPU does not take it, and here it is taken");
}

}  // namespace

Result<FileStatus> verify_tensor_copies(const Subject& subject, FileReport& report) {
  report.target = subject.recording.header().target;
  const auto recorded = recording::reading([&] {
    const Fields fields = recording::fields_of(subject.record);
    report.header.statement = fields.text("generator");
    RecordedCopies out{nullptr, fields.texts("digests")};
    if (out.digests.empty()) fields.refuse("digests", "none", "at least one");
    out.first = read_case(fields, "first", out.digests.size() - 1);
    return out;
  });
  if (!recorded) return recorded.error();
  for (std::size_t i = 0; i < recorded->digests.size(); ++i)
    compare_digest(recorded->first[i], recorded->digests[i], report);
  return FileStatus::replayed;
}

Result<FileStatus> verify_tensor_copy(const Subject& subject, FileReport& report) {
  report.target = subject.recording.header().target;
  const auto recorded = recording::reading([&] {
    const Fields fields = recording::fields_of(subject.record);
    report.header.statement = fields.text("generator");
    return read_copy_case(fields);
  });
  if (!recorded) return recorded.error();
  if (recorded->is_fault)
    compare_fault(*recorded->one, report);
  else if (!recorded->digest.empty())
    compare_digest(*recorded->one, recorded->digest, report);
  else
    compare_bytes(*recorded, report);
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
