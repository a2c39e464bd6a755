// SPDX-License-Identifier: Apache-2.0
// Tensor copies, bulk copies and their reductions leave the bytes that a GPU left (golden/tensor-copies/sm_90a.zip,
// recorded by tools/capture/tensor_copies.cu).
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <span>

#include "golden_records.hpp"
#include "verify/cases/tensor_copy_arguments.hpp"
#include "warpbit/verify.hpp"

namespace tensor_copy_test {

using namespace warpbit;
using namespace tensor_copy_arguments;
using golden_records::Changed, golden_records::json, golden_records::record_of, golden_records::verified;
using tensor_map::CopyMode;
using tensor_map::CopyRun;
using tensor_map::Reduction;
using tensor_map::TensorCopy;

TensorType type_of(const CopyCase& c) {
  return map_of(c).elemtype;
}

TEST_CASE("a recorded copy leaves the GPU's bytes and counts as many; what the GPU did not take is refused",
          "[golden][tensor_copy]") {
  const std::filesystem::path recording = "golden/tensor-copies/sm_90a.zip";
  std::map<std::string, std::map<std::string, std::size_t>> seen;  // by kind and group
  for (const FileReport& report : verify_all(find_verifiable(std::span(&recording, 1)))) {
    INFO(report.record << (report.error ? report.error->message() : ""));
    INFO((report.notes.empty() ? "" : report.notes[0]));
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    seen[report.kind][report.header.statement] += report.elements;
  }
  std::size_t examples = 0, questions = 0;
  for (const Group& group : groups()) {
    INFO(group.name);
    const bool is_question = std::string(group.name).starts_with("ask-");
    CHECK(seen[is_question ? "tensor_copy" : "tensor_copies"][group.name] == group.make().size());
    (is_question ? questions : examples) += seen["tensor_copy"][group.name];
  }
  CHECK(examples == 68);
  CHECK(questions == 284);
}

TEST_CASE("loads of whole lines are among them", "[tensor_copy]") {
  std::size_t lines = 0;
  for (const Group& group : groups())
    if (!std::string(group.name).starts_with("ask-"))
      for (const CopyCase& c : group.make())
        lines += c.operation == kLoad && tensor_map::lines(map_of(c), copy_of(c)).has_value();
  CHECK(lines > 40);
}

TEST_CASE("a record of a copy that says otherwise differs, and one that is wrong is refused", "[tensor_copy]") {
  const auto golden = [](const std::string& name) {
    return record_of("golden/tensor-copies/sm_90a.zip", name);
  };
  std::string changed = golden("tile.3").at("changed");
  changed[0] = changed[0] == '0' ? '1' : '0';
  json digests = golden("tile.0-7").at("digests");
  digests[5] = "0123456789abcdef";
  const Changed differing[] = {
      {"tile.3", "changed", changed, ": it leaves other bytes"},
      {"tile.3", "counted", 65, ": its mbarrier counts other bytes"},
      {"tile.0-7", "digests", digests, ": expected 0123456789abcdef, got 8c13b4c4b49248cb"},
      {"ask-own.0", "fault", true, ": the GPU does not take it, and here it is taken"},
  };
  for (const Changed& c : differing) {
    json record = golden(c.name);
    CHECK(verified(record).mismatches == 0);
    record[c.member] = c.value;
    const FileReport report = verified(record);
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 1);
    REQUIRE(report.notes.size() == 1);
    CHECK_THAT(report.notes[0], Catch::EndsWith(c.says));
  }
  const Changed wrong[] = {
      {"tile.3", "generator", "wild", "'generator': 'wild'; expected a group of tensor copies"},
      {"tile.3", "index", 1000000, "'index': 1000000; expected a case of the "},
      {"tile.3", "first", 1000000, "'changed': 64 bytes from 1000000 on; expected bytes of a window of 16384"},
      {"tile.0-7", "digests", json::array(), "'digests': none; expected at least one"},
      {"tile.0-7", "digests", {1, 2}, "'digests': [1,2]; expected strings"},
  };
  require_refused(wrong, golden);
}

// ---- A second statement of the places, element by element

// Where a byte of shared memory lies: in rows of 128 bytes, 8 chunks of 16 each, a chunk changes places with others of
// its row, by the number of the row. The argument is the driver's: 0, or 1 to 3 for 32, 64, 128 bytes.
std::uint32_t naive_swizzle(std::uint32_t address, std::uint32_t swizzle) {
  const std::uint32_t row = address / 128, chunk = address / 16 % 8, byte = address % 16;
  const std::uint32_t rows[] = {1, 2, 4, 8};
  return row * 128 + (chunk ^ row % rows[swizzle]) * 16 + byte;
}

// The coordinate of a dimension after `n` steps from `first` on, where it goes from `end` back to `low`; `n` becomes how
// often it went back.
std::int64_t stepped(std::int64_t first, std::int64_t step, std::int64_t low, std::int64_t end,
                     std::int64_t& n) {
  const std::int64_t in_first = (end - first + step - 1) / step, in_others = (end - low + step - 1) / step;
  if (n < in_first) {
    const std::int64_t at = first + n * step;
    n = 0;
    return at;
  }
  const std::int64_t rest = n - in_first;
  n = 1 + rest / in_others;
  return low + rest % in_others * step;
}

// Where line `n` of the tile begins in the tensor.
std::array<std::int64_t, 5> naive_line(const CopyCase& c, std::int64_t n) {
  const Arguments& a = c.map;
  std::array<std::int64_t, 5> at{};
  for (std::size_t d = 0; d < a.rank; ++d) at[d] = c.coordinates[d];
  const bool slices = a.interleave != 0, tiled = a.kind == tensor_maps::kTiled;
  for (std::size_t d = slices ? 0 : 1; tiled && d < a.rank; ++d) {
    if (slices && d + 2 == a.rank) continue;
    const std::int64_t places = (a.box[d] + a.step[d] - 1) / a.step[d];
    at[d] += n % places * a.step[d];
    n /= places;
  }
  for (std::size_t i = 0; !tiled && i + 2 < a.rank; ++i) {
    const std::size_t d = slices ? i : i + 1;
    const auto end = static_cast<std::int64_t>(a.dim[d]) + a.upper[i];
    at[d] = stepped(at[d], a.step[d], a.lower[i], end, n) + (c.operation == kLoad ? c.offsets[i] : 0);
  }
  if (!tiled) at[a.rank - 1] += n * a.step[a.rank - 1];
  return at;
}

// For each byte of the shared window: the byte of the tensor that a load puts there, -1 for what stands outside it, -2 for
// none.
std::vector<std::int64_t> naive_sources(const CopyCase& c) {
  const Arguments& a = c.map;
  const bool slices = a.interleave != 0, tiled = a.kind == tensor_maps::kTiled;
  const std::uint32_t unit = slices ? 16 * a.interleave : bytes_of(a);
  const std::uint32_t units = slices ? 1 : tiled ? a.box[0] : a.channels;
  const std::uint32_t pitch = slices || a.swizzle == 0 ? units * unit : 16u << a.swizzle;
  const std::uint32_t lines = expected_bytes(c) / (units * unit);
  std::vector<std::int64_t> out(kSharedBytes, -2);
  for (std::uint32_t line = 0; line < lines; ++line)
    for (std::uint32_t i = 0; i < units * unit; ++i) {
      std::array<std::int64_t, 5> at = naive_line(c, line);
      at[0] += i / unit;
      bool inside = true;
      for (std::size_t d = 0; d < a.rank; ++d)
        inside = inside && at[d] >= 0 && at[d] < static_cast<std::int64_t>(a.dim[d]);
      std::int64_t from = static_cast<std::int64_t>(a.address) + at[0] * unit + i % unit;
      for (std::size_t d = 1; d < a.rank; ++d) from += at[d] * static_cast<std::int64_t>(a.stride[d - 1]);
      out.at(naive_swizzle(c.shared + line * pitch + i, a.swizzle)) = inside ? from : -1;
    }
  return out;
}

TEST_CASE("runs of a load are what element after element is", "[tensor_copy]") {
  for (const bool im2col : {false, true})
    for (const bool interleave : {false, true})
      for (const CopyCase& c : copies(kLoad, 900000, 150, im2col, interleave)) {
        INFO(describe(c));
        const Result<std::vector<CopyRun>> runs = tensor_map::runs(map_of(c), copy_of(c));
        REQUIRE(runs);
        std::vector<std::int64_t> sources(kSharedBytes, -2);
        for (const CopyRun& run : *runs)
          for (std::uint32_t i = 0; i < run.bytes; ++i)
            sources.at(run.shared + i) = run.outside ? -1 : static_cast<std::int64_t>(run.global + i);
        CHECK(sources == naive_sources(c));
      }
}

// ---- Refusals

// A legal copy: 8 rows of 64 elements of f16, or 6 pixels of 16 channels.
CopyCase plain(Operation operation, bool im2col) {
  CopyCase c = question(operation, 6, 0);
  if (!im2col) return c;
  c.map = tensor_maps::base(tensor_maps::kIm2col, 6, 4, 0, 0);
  c.map.address = 256, c.map.dim = {16, 8, 6, 4, 1}, c.map.stride = {32, 256, 2048, 0};
  c.map.channels = 16, c.map.pixels = 6, c.map.lower = {}, c.map.upper = {};
  c.instruction_rank = 4, c.instruction_im2col = 1;
  return c;
}

struct Refusal {
  const char* message;
  Errc code;
  Operation operation;
  bool im2col;
  void (*change)(TensorMap&, TensorCopy&);
};

TEST_CASE("what a tensor copy does not take is refused by name", "[tensor_copy]") {
  using M = TensorMap&;
  using C = TensorCopy&;
  const Errc misaligned = Errc::address_misaligned, field = Errc::descriptor_field;
  const Errc open = Errc::instruction_not_modelled;
  const Refusal kRefusals[] = {
      {"0x410 is misaligned; a multiple of 128", misaligned, kLoad, false,
       [](M, C copy) { copy.shared = 0x410; }},
      {"coordinate 4, byte 8,", misaligned, kLoad, false, [](M, C copy) { copy.coordinates[0] = 4; }},
      {"a tensor map of mode im2col", field, kLoad, true, [](M, C copy) { copy.mode = CopyMode::tile; }},
      {"a tensor map of mode tiled", field, kLoad, false, [](M, C copy) { copy.mode = CopyMode::im2col; }},
      {"a store to coordinate -1", field, kStore, false, [](M, C copy) { copy.coordinates[1] = -1; }},
      {"a store to coordinate -8", field, kReduce, false, [](M, C copy) { copy.coordinates[0] = -8; }},
      {"a store between the corners -1 and 0", field, kStore, true, [](M m, C) { m.pixel_box_lower[1] = -1; }},
      {"a store between the corners 0 and 1", field, kStore, true, [](M m, C) { m.pixel_box_upper[0] = 1; }},
      {"coordinate -1; expected 0 to 7, by the corners", field, kLoad, true,
       [](M, C copy) { copy.coordinates[1] = -1; }},
      {"coordinate 6; expected 0 to 5, by the corners", field, kLoad, true,
       [](M, C copy) { copy.coordinates[2] = 6; }},
      {"a store to coordinate 6, not 0 to 5, by the corners", open, kStore, true,
       [](M, C copy) { copy.coordinates[2] = 6; }},
      {"offset 256 of more than 8 bits", open, kLoad, true, [](M, C copy) { copy.offsets[1] = 256; }},
      {"a dimension of 2147483649; expected at most 2147483648", field, kLoad, false,
       [](M m, C) { m.global_dim[1] = 2147483649; }},
      {"a first dimension of 2147483649", open, kLoad, false, [](M m, C) { m.global_dim[0] = 2147483649; }},
      {"im2col::w is not modelled yet: not recorded", open, kLoad, true,
       [](M, C copy) { copy.mode = CopyMode::im2col_w; }},
      {"tile::gather4 is not modelled yet: not recorded", open, kLoad, false,
       [](M, C copy) { copy.mode = CopyMode::tile_gather4; }},
      {"tile::scatter4 is not modelled yet: not recorded", open, kStore, false,
       [](M, C copy) { copy.mode = CopyMode::tile_scatter4; }},
  };
  for (const Refusal& refusal : kRefusals) {
    const CopyCase c = plain(refusal.operation, refusal.im2col);
    TensorMap m = map_of(c);
    TensorCopy copy = copy_of(c);
    INFO(refusal.message);
    CHECK(tensor_map::runs(m, copy));
    refusal.change(m, copy);
    const Result<std::vector<CopyRun>> runs = tensor_map::runs(m, copy);
    REQUIRE_FALSE(runs);
    CHECK(runs.error().code == refusal.code);
    CHECK_THAT(runs.error().message(), Catch::Contains(refusal.message));
  }
}

// ---- Elements

TEST_CASE("the bulk reductions that there are", "[tensor_copy]") {
  for (std::uint32_t reduction = 0; reduction < 8; ++reduction)
    for (std::uint32_t type = 0; type < 13; ++type) {
      CopyCase c;
      c.reduction = reduction;
      c.map = tensor_maps::base(tensor_maps::kTiled, type, 2, 0, 0);
      INFO(kReductions[reduction] << " " << type);
      CHECK(tensor_map::exists(reduction_of(c), type_of(c), false) ==
            ((kGlobalReductions[reduction] >> type & 1) != 0));
    }
}

TEST_CASE("reductions of one element", "[tensor_copy]") {
  using enum Reduction;
  using enum TensorType;
  struct Row {
    Reduction reduction;
    TensorType type;
    std::uint64_t old, value, result;
  };
  const Row kRows[] = {
      {add, u32, 0xFFFFFFFF, 2, 1},
      {add, f32, 0x3F800000, 0x33800000, 0x3F800000},
      {add, f32, 0x3F800001, 0x33800000, 0x3F800002},
      {add, f32, 0x00000001, 0x00000001, 0x00000002},
      {add, f32_ftz, 0x00000001, 0x00000001, 0},
      {add, f32_ftz, 0x80000001, 0x80000001, 0x80000000},
      {add, tf32, 0x00000001, 0x00000001, 0x00000002},
      {add, tf32_ftz, 0x00800001, 0x80800000, 0},
      {add, f32, 0x7F800000, 0xFF800000, 0x7FFFFFFF},
      {add, f32, 0x7F7FFFFF, 0x7F7FFFFF, 0x7F800000},
      {add, f16, 0x3C00, 0xBC00, 0},
      {add, f16, 0x8000, 0x8000, 0x8000},
      {add, bf16, 0xFFC1, 0x3F80, 0x7FFF},
      {add, f64, 0x7FF0000000000001, 0x3FF0000000000000, 0x7FF0000000000001},
      {add, f64, 0x7FF0000000000001, 0xFFF8000000000002, 0xFFF8000000000002},
      {min, s32, 0xFFFFFFFF, 1, 0xFFFFFFFF},
      {min, u32, 0xFFFFFFFF, 1, 1},
      {max, s64, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF},
      {min, f16, 0x0000, 0x8000, 0x8000},
      {max, bf16, 0x8000, 0x0000, 0x0000},
      {max, f16, 0x7E00, 0xC000, 0xC000},
      {min, bf16, 0x7FC0, 0xFFFF, 0x7FFF},
      {inc, u32, 5, 6, 6},
      {inc, u32, 6, 6, 0},
      {dec, u32, 0, 6, 6},
      {dec, u32, 7, 6, 6},
      {dec, u32, 6, 6, 5},
      {and_, u32, 0xC, 0xA, 0x8},
      {or_, u64, 0xC, 0xA, 0xE},
      {xor_, u32, 0xC, 0xA, 0x6},
  };
  for (const Row& row : kRows) {
    INFO(tensor_map::name(row.reduction) << " " << name(row.type) << " " << row.old << " " << row.value);
    CHECK(tensor_map::reduce(row.reduction, row.type, row.old, row.value) == row.result);
  }
}

}  // namespace tensor_copy_test
