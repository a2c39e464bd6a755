// SPDX-License-Identifier: Apache-2.0
// tools/capture/capture.cuh without a GPU: lanes that hold what a capture holds make the same capture again.
#include "capture.cuh"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "archive.hpp"
#include "warpbit/capture.hpp"

namespace capture_header_test {

using namespace warpbit;
using archive::Directory;
using Catch::Contains;
using Catch::Matchers::Equals;
namespace fs = std::filesystem;

CaptureReader opened(const fs::path& path) {
  Result<CaptureReader> reader = CaptureReader::open(path);
  INFO(path << (reader ? "" : ": " + reader.error().message()));
  REQUIRE(reader.ok());
  return std::move(*reader);
}
Array read(const CaptureReader& reader, const std::string& name) {
  const Result<Array> array = reader.read(name);
  REQUIRE(array.ok());
  return *array;
}

// ---- A kernel that plays a capture

bool is_memory(const ArrayHeader& array) {
  return array.name.starts_with("smem");
}
bool is_descriptor(const ArrayHeader& array) {
  return array.name.starts_with("desc_");
}

capture::Member member_of(const ArrayHeader& array) {
  const auto last = static_cast<std::uint32_t>(array.shape.back());
  const auto bytes = static_cast<std::uint32_t>(array.item_bytes);
  if (is_memory(array)) return capture::memory(array.name, last);
  if (array.shape.size() == 3) return capture::registers(array.name, last, 8 * bytes);
  return array.shape.size() == 2 ? capture::lane_register(array.name) : capture::value(array.name, bytes);
}

template <class T>
void put_items(const capture::Case& record, int member, const unsigned char* from, std::size_t count) {
  const auto of = [&](auto constant) {
    constexpr std::size_t kCount = decltype(constant)::value;
    if (count != kCount) return;
    T values[kCount];
    std::memcpy(values, from, sizeof values);
    record.put(member, values);
  };
  of(std::integral_constant<std::size_t, 1>{});
  of(std::integral_constant<std::size_t, 2>{});
  of(std::integral_constant<std::size_t, 4>{});
  of(std::integral_constant<std::size_t, 12>{});
}

// One array, as the current lane of a case holds it.
void put_member(const capture::Case& record, int member, const Array& array, std::size_t index,
                std::size_t lane) {
  const ArrayHeader& about = array.header;
  const std::size_t of_case = array.data.size() / about.shape[0];
  const auto* of = reinterpret_cast<const unsigned char*>(array.data.data()) + index * of_case;
  if (is_memory(about)) {
    std::memcpy(const_cast<unsigned char*>(fake_shared), of, of_case);
    return record.put_memory(member, fake_shared);
  }
  const bool of_lanes = about.shape.size() > 1;
  const std::size_t bytes = of_lanes ? of_case / about.shape[1] : of_case;
  if (of_lanes) of += lane * bytes;
  std::uint64_t value = 0;
  std::memcpy(&value, of, bytes < 8 ? bytes : 8);
  if (about.name == "addr") return record.put_address(member, fake_shared + value, fake_shared);
  if (is_descriptor(about))
    return record.put_descriptor(member, value + (__cvta_generic_to_shared(fake_shared) >> 4), fake_shared);
  switch (about.item_bytes) {
    case 1: return put_items<std::uint8_t>(record, member, of, 1);
    case 4: return put_items<std::uint32_t>(record, member, of, bytes / 4);
    default: return put_items<std::uint64_t>(record, member, of, bytes / 8);
  }
}

// Every other number is a case of the capture; the kernel has more than there is room for.
void play(const CaptureReader& from, const fs::path& to) {
  std::vector<Array> arrays;
  std::vector<capture::Member> members;
  std::size_t lanes = 0;
  for (const ArrayHeader& about : from.arrays()) {
    arrays.push_back(read(from, about.name));
    members.push_back(member_of(about));
    if (members.back().of_lanes) lanes = about.shape[1];
  }
  const std::size_t cases = arrays[0].header.shape[0];
  const capture::Recording recording(from.header().statement, from.header().target, members,
                                     static_cast<std::uint32_t>(2 * cases + 1), static_cast<int>(lanes));
  blockDim.x = static_cast<unsigned>(lanes) * 2;
  for (std::size_t number = 0; number < 2 * cases + 4; ++number)
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
      const capture::Case record(recording.view(), static_cast<std::uint32_t>(number));
      const bool is_other_warp = threadIdx.x >= lanes;
      if (number % 2 == 0 && number <= 2 * cases) continue;
      if (is_other_warp != (number % 4 == 1)) continue;
      for (std::size_t i = 0; i < arrays.size(); ++i)
        put_member(record, static_cast<int>(i), arrays[i], number / 2 % cases, threadIdx.x % lanes);
    }
  recording.write(to.string(), "capture_header_test");
}

TEST_CASE("captures of every kind of member come out as they went in") {
  alignas(1024) static unsigned char shared[1 << 16];
  fake_shared = shared;
  const Directory directory;
  for (const char* name : {"mma/mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32",
                           "mma/mma_sync_aligned_m8n8k4_row_col_f64_f64_f64_f64",
                           "mma_sp/mma_sp_ordered_metadata_sync_aligned_m16n8k32_row_col_f32_f16_f16_f32_sel0",
                           "ldmatrix/ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16",
                           "stmatrix/stmatrix_sync_aligned_m8n8_x4_shared_b16",
                           "wmma_load/wmma_load_a_sync_aligned_col_m16n16k16_shared_s8.counters",
                           "wgmma/wgmma_mma_async_sync_aligned_m64n24k16_f32_f16_f16_rs_1_m1_0.descriptors",
                           "wgmma/wgmma_mma_async_sync_aligned_m64n24k16_f32_f16_f16_ss_1_1_0_1.descriptors"}) {
    const CaptureReader golden = opened(fs::path("golden/sm_90a") / (std::string(name) + ".npz"));
    const fs::path path = directory.path / "again.npz";
    play(golden, path);
    const CaptureReader again = opened(path);
    CHECK(again.header().statement == golden.header().statement);
    CHECK(again.header().target == golden.header().target);
    CHECK(again.header().layout == CaptureLayout::registers);
    CHECK(again.header().source == CaptureSource::hardware);
    const nlohmann::json about = nlohmann::json::parse(again.header().provenance);
    CHECK(about["device"] == "Fake GPU");
    CHECK(about["compute_capability"] == "9.0");
    CHECK(about["driver"] == "CUDA 13.1");
    CHECK(about["toolkit"] == "CUDA 13.0");
    CHECK(about["program"] == "capture_header_test");
    CHECK(again.arrays().size() == golden.arrays().size());
    for (const ArrayHeader& array : golden.arrays()) {
      INFO(name << " " << array.name);
      const Array before = read(golden, array.name), after = read(again, array.name);
      CHECK(after.header.dtype() == before.header.dtype());
      CHECK(after.header.shape == before.header.shape);
      const bool equal = after.data == before.data;
      CHECK(equal);
    }
  }
}

// ---- What is wrong with a kernel

TEST_CASE("what a kernel puts otherwise than it was declared is no capture") {
  const Directory directory;
  const std::string path = (directory.path / "a.npz").string();
  blockDim.x = 32;
  threadIdx.x = 0;
  const auto refused = [&](const std::string& message, auto kernel) {
    const capture::Recording recording("mma", "sm_90a",
                                       {capture::registers("a", 2), capture::value("stride", 4)}, 2);
    kernel(capture::Case(recording.view(), 1));
    CHECK_THROWS_WITH(recording.write(path, "test"), Equals("mma: " + message));
    CHECK(directory.entries() == 0);
  };
  const std::uint32_t one = 1, two[2] = {}, three[3] = {};
  const std::uint64_t wide[2] = {};
  refused("no case was recorded", [](const capture::Case&) {});
  refused("case 1 lacks stride", [&](const capture::Case& record) { record.put(0, two); });
  refused("case 1 lacks a", [&](const capture::Case& record) { record.put(1, one); });
  refused("a: 2 items of 4 bytes are what the kernel put otherwise",
          [&](const capture::Case& record) { record.put(0, three); });
  refused("a: 2 items of 4 bytes are what the kernel put otherwise",
          [&](const capture::Case& record) { record.put(0, wide); });
  refused("stride: 1 items of 4 bytes are what the kernel put otherwise",
          [&](const capture::Case& record) { record.put(1, std::uint64_t{1}); });
  refused("a: 2 items of 4 bytes are what the kernel put otherwise",
          [&](const capture::Case& record) { record.put_memory(0, two); });
  refused("the kernel put member 2; there are 2", [&](const capture::Case& record) { record.put(2, one); });

  fake_status = cudaErrorMisalignedAddress;
  refused("the kernel: misaligned address", [&](const capture::Case& record) { record.put(0, two); });
  fake_status = cudaSuccess;
}

TEST_CASE("what does not fit is refused before a kernel runs") {
  CHECK_THROWS_WITH(capture::Recording("mma", "sm_90a", {13, capture::value("v", 4)}, 1),
                    Equals("mma: 13 members; expected at most 12"));
  CHECK_THROWS_WITH(capture::Recording("mma", "sm_90a", {capture::memory("smem", 1u << 20)}, 1u << 20),
                    Equals("mma: memory of the GPU: out of memory"));
}

}  // namespace capture_header_test
