// SPDX-License-Identifier: Apache-2.0
// Each mistake with barrier objects, bulk copies and clusters that a launch finds in kernels' source: in the kernels that a GPU
// has recorded, which are silent without it, and in small ones beside their correct neighbour.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "device_inputs.hpp"
#include "kernels/cluster_sum.cuh"
#include "kernels/tma_gemm.cuh"

namespace device_async_faults_test {

using namespace warpbit;
using namespace warpbit::device;

/// As copies need it aligned.
template <class T>
struct Aligned {
  std::vector<std::array<std::uint64_t, 2>> memory;
  std::span<T> elements;
  explicit Aligned(std::size_t count)
      : memory((count * sizeof(T) + 15) / 16), elements(reinterpret_cast<T*>(memory.data()), count) {}
};

TensorMapParameter map_of(TensorType type, const void* address, std::array<unsigned, 2> size,
                          std::array<unsigned, 2> box, Swizzle swizzle) {
  TensorMap map;
  map.elemtype = type;
  map.rank = 2;
  map.global_address = reinterpret_cast<std::uintptr_t>(address);
  map.global_dim = {size[0], size[1]};
  map.global_stride = {size[0] * element_bytes(type)};
  map.box_dim = {box[0], box[1]};
  map.element_stride = {1, 1};
  map.swizzle_mode = swizzle;
  const Result<TensorMapBytes> bytes = map.encode();
  INFO((bytes ? "" : bytes.error().message()));
  REQUIRE(bytes);
  return TensorMapParameter::of(*bytes);
}

// Two blocks, which are one cluster.
template <kernels::tma_gemm::Mistake mistake>
Launched gemm() {
  constexpr unsigned kM = 128, kN = 64, kK = 64 * 7;
  using namespace kernels::tma_gemm;
  Aligned<std::uint16_t> a(kM * kK), b(kN * kK);
  Aligned<float> d(kM * kN);
  const auto inputs = device_inputs::codes(static_cast<int>((kM + kN) * kK), 1, 0x3F00);
  std::copy_n(inputs.begin(), kM * kK, a.elements.begin());
  std::copy_n(inputs.begin() + kM * kK, kN * kK, b.elements.begin());
  Launch how{device_inputs::target("sm_90a"), {1, 2}, {kThreads}, kShared};
  how.cluster = {1, 2};
  return launch(how, kernels::tma_gemm::gemm<mistake>,
                map_of(TensorType::bf16, a.memory.data(), {kK, kM}, {64, 64}, Swizzle::bytes_128),
                map_of(TensorType::bf16, b.memory.data(), {kK, kN}, {64, 32}, Swizzle::bytes_128),
                map_of(TensorType::f32, d.memory.data(), {kN, kM}, {64, 64}, Swizzle::none), 7);
}

template <kernels::cluster_sum::Mistake mistake>
Launched sum() {
  using namespace kernels::cluster_sum;
  Aligned<std::uint32_t> in(4 * kThreads), out(7 * kThreads);
  Launch how{device_inputs::target("sm_90a"), {2, 2}, {kThreads}, kShared};
  how.cluster = {2, 2};
  return launch(how, kernels::cluster_sum::sum<mistake>, GlobalArray<const std::uint32_t>(in.elements),
                GlobalArray<std::uint32_t>(out.elements));
}

// ---- In the recorded kernels

const std::string kGemm = "tests/kernels/tma_gemm.cuh", kSum = "tests/kernels/cluster_sum.cuh";

/// A mistake, what the fault says, and its two places: lines of the kernel that have these words; empty: any.
struct Mistaken {
  const char* name;
  Launched (*run)();
  const std::string& file;
  Errc code;
  std::vector<const char*> says;
  const char *at, *other;
  int warp;  ///< at fault
};

using G = kernels::tma_gemm::Mistake;
using S = kernels::cluster_sum::Mistake;

const std::vector<Mistaken> kMistaken = {
    {"a parity from the number of the step",
     gemm<G::parity_of_step>,
     kGemm,
     Errc::deadlock,
     {"mbarrier.try_wait.parity", "  phase 1 of the mbarrier at 0xc008: 0 of 1 arrivals",
      "phase 0 (parity 0) is complete, and this warp has not waited for it", "warp 4, lane 0  ",
      "phase 0 of the mbarrier at 0xc020: 0 of 8 arrivals"},
     "mbarrier_wait_parity(full + stage",
     "",
     0},
    {"the bytes of one operand are expected",
     gemm<G::half_of_the_bytes>,
     kGemm,
     Errc::barrier_misused,
     {"this copy was issued in phase 0 (parity 0) of the mbarrier at 0xc000, and the phase was complete without its 4096 bytes"},
     "cp_async_bulk_tensor_global_to_shared_multicast(to",
     "mbarrier_arrive_expect_tx(full",
     4},
    {"a stage is filled that nobody has emptied",
     gemm<G::empty_not_awaited>,
     kGemm,
     Errc::barrier_misused,
     {"phase 0 of the mbarrier at 0xc000 has had its 1 arrival"},
     "mbarrier_arrive_expect_tx(full",
     "mbarrier_arrive_expect_tx(full",
     4},
    {"a stage is released before its products are complete",
     gemm<G::released_early>,
     kGemm,
     Errc::data_race,
     {"bytes 0x0 to 0x1f were read by a wgmma of warps 0-3", "wgmma.wait_group"},
     "cp_async_bulk_tensor_global_to_shared(to, a",
     "wgmma<m64nNkK<kTile, 16>, f32, bf16>(",
     4},
    {"objects without fence_mbarrier_init",
     gemm<G::no_init_fence>,
     kGemm,
     Errc::barrier_misused,
     {"was initialised by lane 0 of warp 0 of that block, and that thread executed no fence after mbarrier.init"},
     "cp_async_bulk_tensor_global_to_shared_multicast(to",
     "mbarrier_init(full + stage, 1)",
     4},
    {"a multicast to a block that may not have begun",
     gemm<G::no_cluster_barrier>,
     kGemm,
     Errc::protocol_violation,
     {"block 1 of the cluster may not have begun", "barrier.cluster.wait before the first access"},
     "cp_async_bulk_tensor_global_to_shared_multicast(to",
     "",
     4},
    {"a block that ends while the other one arrives",
     gemm<G::ends_early>,
     kGemm,
     Errc::protocol_violation,
     {"lane 0 of warp 1 of block 1 of the cluster arrives at the mbarrier at 0xc020"},
     "mbarrier_arrive_cluster(mapa(empty",
     "",
     1},
    {"sums without a proxy fence",
     gemm<G::no_proxy_fence>,
     kGemm,
     Errc::protocol_violation,
     {"bytes 0x0 to 0x3fff were written by lane 0 of warp 0 and others through the generic proxy",
      "fence.proxy.async"},
     "cp_async_bulk_tensor_shared_to_global(d",
     "tile[(16 * warp",
     0},
    {"sums that are changed while they are stored",
     gemm<G::source_reused>,
     kGemm,
     Errc::copy_pending,
     {"bytes 0x0 to 0x3 are read by a bulk copy of lane 0 of warp 0, which has not been waited for",
      "cp.async.bulk.wait_group.read"},
     "tile[0] = 0;",
     "cp_async_bulk_tensor_shared_to_global(d",
     0},
    {"a descriptor without the swizzle of the map",
     gemm<G::plain_layout>,
     kGemm,
     Errc::protocol_violation,
     {"the tile from 0x2000 on was copied with 128-byte swizzle, and its byte 0x2080 is read with no swizzle"},
     "wgmma<m64nNkK<kTile, 16>, f32, bf16>(",
     "cp_async_bulk_tensor_global_to_shared_multicast(to",
     0},
    {"one arrival more is expected than comes",
     gemm<G::one_arrival_short>,
     kGemm,
     Errc::deadlock,
     {"phase 0 of the mbarrier at 0xc018: 8 of 9 arrivals"},
     "mbarrier_wait_parity(full + stage, mistake == Mistake::parity_of_step",
     "",
     0},
    {"more bytes are expected than come",
     sum<S::too_many_bytes>,
     kSum,
     Errc::deadlock,
     {"the mbarrier at 0x600 expects 1040 bytes in phase 0, and 1024 have come",
      "phase 0 of the mbarrier at 0x600: 1 of 1 arrivals, 1024 of 1040 bytes have come",
      "barrier.cluster.wait"},
     "mbarrier_arrive_expect_tx(full",
     "",
     0},
    {"stores without a proxy fence before a copy",
     sum<S::no_proxy_fence>,
     kSum,
     Errc::protocol_violation,
     {"bytes 0x0 to 0xff were written by lane 0 of warp 0 and others through the generic proxy"},
     "cp_async_bulk_shared_to_cluster(mapa(slots",
     "mine[thread] = in",
     0},
    {"bytes that no release orders",
     sum<S::early_load>,
     kSum,
     Errc::data_race,
     {"bytes 0x4 to 0x7 were written by lane 1 of warp 0, and the arrival between that write and this read is relaxed"},
     "cp_async_bulk_shared_to_cluster(mapa(slots",
     "mine[thread] = in",
     0},
    {"a block that ends while the other one reads",
     sum<S::ends_early>,
     kSum,
     Errc::protocol_violation,
     {"lane 0 of warp 0 of block 0 of the cluster reads byte 0x0"},
     "mapa(mine, static_cast<unsigned>(neighbour))",
     "",
     0},
    {"a thread that arrives twice",
     sum<S::arrives_twice>,
     kSum,
     Errc::barrier_misused,
     {"a thread arrives a second time", "barrier.cluster.wait must come between both arrivals"},
     "if (mistake == Mistake::arrives_twice)",
     "",
     0},
    {"a block that is not there",
     sum<S::rank_beyond>,
     kSum,
     Errc::address_out_of_bounds,
     {"block 4 of the cluster", "the cluster has 4 blocks"},
     "mapa(mine, static_cast<unsigned>(neighbour))",
     "",
     0},
};

TEST_CASE("kernels that a GPU has recorded are silent", "[quick][device]") {
  for (const Launched& launched : {gemm<G::none>(), sum<S::none>()}) {
    INFO((launched ? "" : launched.fault->message()));
    CHECK(launched.ok());
  }
}

TEST_CASE("a mistake in them is named, with both places", "[quick][device]") {
  for (const Mistaken& one : kMistaken) {
    INFO(one.name);
    const Launched launched = one.run();
    REQUIRE(launched.fault);
    const Fault& fault = *launched.fault;
    INFO(fault.message());
    CHECK(name(fault.error.code) == name(one.code));
    for (const char* words : one.says) CHECK_THAT(fault.message(), Catch::Contains(words));
    CHECK(fault.warp == one.warp);
    if (*one.at != '\0') CHECK(fault.at.line == device_inputs::line_of(one.file, one.at));
    if (*one.other != '\0') REQUIRE(fault.other);
    if (*one.other != '\0') CHECK(fault.other->at.line == device_inputs::line_of(one.file, one.other));
  }
}

TEST_CASE("the other side of a fault is in its own block", "[quick][device]") {
  const Launched launched = gemm<G::no_init_fence>();
  REQUIRE(launched.fault);
  CHECK(launched.fault->block == Index3{0, 0, 0});
  REQUIRE(launched.fault->other);
  REQUIRE(launched.fault->other->elsewhere);
  CHECK(*launched.fault->other->elsewhere == Index3{0, 1, 0});
}

// ---- In one thread

/// Byte 0: an object; from byte 64 on: 1024 bytes.
SharedArray<Mbarrier> object() {
  return shared_array<Mbarrier>(0, 1);
}
SharedArray<float> room() {
  return shared_array<float>(64, 256);
}

Launched alone(const std::function<void()>& thread, std::string_view on = "sm_90a") {
  return launch({device_inputs::target(on), {}, {1}, 2048}, thread);
}

/// A thread, and what the fault of its last statement says; nullptr: none.
struct Single {
  const char* name;
  std::function<void()> thread;
  Errc code;
  const char* says;
};

TEST_CASE("what one thread may not do, beside what it may", "[quick][device]") {
  Aligned<float> numbers(256);
  const GlobalArray<float> global(numbers.elements);
  const TensorMapParameter map =
      map_of(TensorType::f32, numbers.memory.data(), {16, 16}, {16, 16}, Swizzle::none);
  TensorMapParameter broken = map;
  std::memset(broken.bytes, 0xFF, sizeof broken.bytes);
  const auto begin = [](std::uint32_t count = 1) { mbarrier_init(object(), count); };
  const std::vector<Single> cases = {
      {"an object",
       [&] { begin(), mbarrier_wait(object(), mbarrier_arrive(object())), mbarrier_inval(object()); },
       {},
       nullptr},
      {"no object", [&] { mbarrier_arrive(object()); }, Errc::barrier_misused,
       "there is no barrier object at 0x0"},
      {"a count of 0", [&] { begin(0); }, Errc::barrier_misused, "a count of 0"},
      {"an object in use", [&] { begin(2), mbarrier_arrive(object()), begin(); }, Errc::barrier_misused,
       "is in use"},
      {"an object at an odd place", [&] { mbarrier_init(as<Mbarrier>(room() + 1), 1); },
       Errc::address_misaligned, "multiple of 8"},
      {"an arrival too many", [&] { begin(), mbarrier_arrive(object(), 2); }, Errc::barrier_misused,
       "has had 0 of its 1 arrivals, and this statement brings 2, 1 too many"},
      {"a copy",
       [&] {
         begin(), mbarrier_arrive_expect_tx(object(), 1024);
         cp_async_bulk_global_to_shared(room(), global, 1024, object());
         mbarrier_wait_parity(object(), 0);
         if (room()[255] != 0) throw std::runtime_error("other bytes");
       },
       {},
       nullptr},
      {"a copy that is not awaited",
       [&] {
         begin(), mbarrier_arrive_expect_tx(object(), 1024);
         cp_async_bulk_global_to_shared(room(), global, 1024, object());
         if (room()[255] != 0) throw std::runtime_error("other bytes");
       },
       Errc::copy_pending, "wait for phase 0 (parity 0) of the mbarrier at 0x0 first"},
      {"a copy of 24 bytes", [&] { begin(), cp_async_bulk_global_to_shared(room(), global, 24, object()); },
       Errc::address_misaligned, "a copy of 24 bytes"},
      {"a copy of -16 bytes", [&] { begin(), cp_async_bulk_global_to_shared(room(), global, -16, object()); },
       Errc::undefined_operand, "-16 bytes"},
      {"a copy from beyond the array",
       [&] { begin(), cp_async_bulk_global_to_shared(room(), global + 4, 1024, object()); },
       Errc::address_out_of_bounds, "1024 bytes from 0x10"},
      {"a copy to beyond the array",
       [&] { begin(), cp_async_bulk_global_to_shared(room() + 4, global, 1024, object()); },
       Errc::address_out_of_bounds, "1024 bytes from 0x50"},
      {"a multicast beyond the cluster",
       [&] { begin(), cp_async_bulk_global_to_shared_multicast(room(), global, 1024, object(), 2); },
       Errc::address_out_of_bounds, "the cluster has one block"},
      {"a map of other dimensions",
       [&] {
         begin(), cp_async_bulk_tensor_global_to_shared(room() + 16, map, {0, 0, 0}, object());
       },
       Errc::descriptor_field, "a tensor map of 2 dimensions"},
      {"no map",
       [&] {
         begin(), cp_async_bulk_tensor_global_to_shared(room() + 16, broken, {0, 0}, object());
       },
       Errc::descriptor_field, ""},
      {"a box beyond the array",
       [&] {
         begin(), cp_async_bulk_tensor_global_to_shared(room() + 32, map, {0, 0}, object());
       },
       Errc::address_out_of_bounds, "1024 bytes from 0xc0"},
      {"a minimum of floats",
       [&] {
         for (int i = 0; i < 4; ++i) room()[i] = 1;
         fence_proxy_async();
         cp_reduce_async_bulk_shared_to_global<Reduction::min>(global, room(), 16);
       },
       Errc::undefined_operand, ".min.f32"},
      {"a source that nobody has written", [&] { cp_async_bulk_shared_to_global(global, room(), 16); },
       Errc::never_written, "bytes 0x40 to 0x4f of shared memory"},
      {"a wait without an arrival", [&] { barrier_cluster_wait(); }, Errc::barrier_misused,
       "a thread waits that has not arrived"},
      {"a wait for what nobody does", [&] { begin(), mbarrier_wait_parity(object(), 0); }, Errc::deadlock,
       "phase 0 of the mbarrier at 0x0: 0 of 1 arrivals"},
  };
  for (const Single& one : cases) {
    INFO(one.name);
    const Launched launched = alone(one.thread);
    INFO((launched ? "" : launched.fault->message()));
    REQUIRE(launched.ok() == (one.says == nullptr));
    if (launched) continue;
    CHECK(name(launched.fault->error.code) == name(one.code));
    CHECK_THAT(launched.fault->message(), Catch::Contains(one.says));
  }
}

// Two blocks of a cluster, which meet before and behind.
Launched together(const std::function<void()>& thread) {
  Launch how{device_inputs::target("sm_90a"), {2}, {1}, 2048};
  how.cluster = {2};
  return launch(how, [&] {
    mbarrier_init(object(), 2);
    fence_mbarrier_init();
    cluster_sync();
    thread();
    cluster_sync();
  });
}

TEST_CASE("what reaches another block, and what does not", "[quick][device]") {
  const auto fill = [] {
    for (int i = 0; i < 4; ++i) room()[i] = 1;
    fence_proxy_async();
  };
  const unsigned other = 1;
  const std::vector<Single> cases = {
      {"an arrival", [&] { mbarrier_arrive_cluster(mapa(object(), other)); }, {}, nullptr},
      {"an arrival of the own block's", [&] { mbarrier_arrive(mapa(object(), cluster_ctarank() ^ 1)); },
       Errc::address_out_of_bounds, "bytes of block 1 of the cluster"},
      {"a wait", [&] { mbarrier_wait_parity(mapa(object(), cluster_ctarank() ^ 1), 1); },
       Errc::address_out_of_bounds, "bytes of block 1 of the cluster"},
      {"a copy",
       [&] {
         fill();
         mbarrier_arrive_expect_tx(object(), 16);
         const unsigned rank = cluster_ctarank() ^ 1;
         cp_async_bulk_shared_to_cluster(mapa(room(), rank) + 4, room(), 16, mapa(object(), rank));
         mbarrier_arrive(object());
         mbarrier_wait_parity(object(), 0);
       },
       {},
       nullptr},
      {"a copy for an object of the own block",
       [&] {
         fill();
         cp_async_bulk_shared_to_cluster(mapa(room(), cluster_ctarank() ^ 1) + 4, room(), 16, object());
       },
       Errc::address_out_of_bounds, "barrier objects of another block"},
      {"a copy from there",
       [&] {
         const SharedArray<float> there = mapa(room(), cluster_ctarank() ^ 1);
         cp_async_bulk_shared_to_cluster(room(), there, 16, object());
       },
       Errc::address_out_of_bounds, "bytes of block 1 of the cluster"},
  };
  for (const Single& one : cases) {
    INFO(one.name);
    const Launched launched = together(one.thread);
    INFO((launched ? "" : launched.fault->message()));
    REQUIRE(launched.ok() == (one.says == nullptr));
    if (launched) continue;
    CHECK(name(launched.fault->error.code) == name(one.code));
    CHECK_THAT(launched.fault->error.message(), Catch::Contains(one.says));
  }
}

TEST_CASE("bytes that nobody has written are the cause, not who waits", "[quick][device]") {
  const Launched launched = together([] {
    if (cluster_ctarank() == 1 && room()[0] != 0) room()[1] = 1;
  });
  REQUIRE(launched.fault);
  CHECK(name(launched.fault->error.code) == name(Errc::never_written));
  CHECK(launched.fault->block == Index3{1, 0, 0});
}

struct WaitsAtItsEnd {
  bool of_cluster;
  ~WaitsAtItsEnd() {
    if (of_cluster)
      cluster_sync();
    else
      mbarrier_wait_parity(object(), 0);
  }
};

TEST_CASE("a destructor that waits does not hold up the end of a launch", "[quick][device]") {
  for (const bool of_cluster : {false, true}) {
    const Launched launched = alone([&] {
      mbarrier_init(object(), 1);
      const WaitsAtItsEnd waits{of_cluster};
      room()[256] = 1;
    });
    REQUIRE(launched.fault);
    CHECK(name(launched.fault->error.code) == name(Errc::address_out_of_bounds));
  }
}

TEST_CASE("lanes that wait one by one have waited once", "[quick][device]") {
  const auto run = [](bool twice) {
    return launch({device_inputs::target("sm_90a"), {}, {32}, 2048}, [&] {
      if (threadIdx.x == 0) mbarrier_init(object(), 1);
      __syncwarp();
      if (threadIdx.x == 31) mbarrier_arrive(object());
      mbarrier_wait_parity(object(), 0);
      if (twice) mbarrier_wait_parity(object(), 0);
      room()[256] = 1;
    });
  };
  const Launched once = run(false), again = run(true);
  REQUIRE(once.fault);
  CHECK(name(once.fault->error.code) == name(Errc::address_out_of_bounds));
  REQUIRE(again.fault);
  CHECK(name(again.fault->error.code) == name(Errc::phase_mistaken));
}

TEST_CASE("bits of signed numbers are reduced", "[quick][device]") {
  Aligned<std::int32_t> numbers(4);
  numbers.elements[3] = 6;
  const GlobalArray<std::int32_t> global(numbers.elements);
  const Launched launched = alone([&] {
    const SharedArray<std::int32_t> mine = as<std::int32_t>(room());
    for (int i = 0; i < 4; ++i) mine[i] = 3;
    fence_proxy_async();
    cp_reduce_async_bulk_shared_to_global<Reduction::xor_>(global, mine, 16);
    cp_async_bulk_commit_group();
    cp_async_bulk_wait_group<0>();
  });
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
  CHECK(numbers.elements[0] == 3);
  CHECK(numbers.elements[3] == 5);
}

TEST_CASE("older targets have none of it", "[quick][device]") {
  for (const std::function<void()>& thread : {std::function<void()>([] { mbarrier_init(object(), 1); }),
                                              std::function<void()>([] { cluster_sync(); }),
                                              std::function<void()>([] { (void)mapa(object(), 0); })}) {
    const Launched launched = alone(thread, "sm_89");
    REQUIRE(launched.fault);
    CHECK(name(launched.fault->error.code) == name(Errc::not_on_target));
    CHECK_THAT(launched.fault->error.message(), Catch::Contains("sm_89") && Catch::Contains("sm_90a"));
  }
}

TEST_CASE("a cluster on an older target", "[quick][device]") {
  Launch how{device_inputs::target("sm_80"), {2}, {32}, 0};
  how.cluster = {2};
  const Launched launched = launch(how, [] {});
  REQUIRE(launched.fault);
  CHECK(name(launched.fault->error.code) == name(Errc::not_on_target));
}

TEST_CASE("a cluster that cannot be", "[quick][device]") {
  Launch how{device_inputs::target("sm_90a"), {4, 2}, {32}, 0};
  for (const Dim3& cluster : {Dim3{3}, Dim3{1, 1, 2}, Dim3{0}, Dim3{4, 4}}) {
    how.cluster = cluster;
    const Launched launched = launch(how, [] {});
    REQUIRE(launched.fault);
    CHECK(name(launched.fault->error.code) == name(Errc::launch_shape));
  }
}

// Eight rows of 64 bf16 with the swizzle of 128 bytes: the first matrix of 8 x 8.
TEST_CASE("an ldmatrix of a swizzled tile takes its chunks where they are", "[quick][device]") {
  Aligned<std::uint16_t> numbers(8 * 64);
  for (std::size_t i = 0; i < numbers.elements.size(); ++i) numbers.elements[i] = static_cast<std::uint16_t>(i);
  const TensorMapParameter map =
      map_of(TensorType::bf16, numbers.memory.data(), {64, 8}, {64, 8}, Swizzle::bytes_128);
  std::vector<std::uint32_t> seen(32);
  const GlobalArray<std::uint32_t> out(seen);
  const auto run = [&](bool swizzled, bool in_place = false) {
    return launch({device_inputs::target("sm_90a"), {}, {32}, 4096}, [&] {
      const SharedArray<std::uint16_t> tile = shared_array<std::uint16_t>(1024, 8 * 64);
      const int lane = static_cast<int>(threadIdx.x), row = lane % 8;
      if (lane == 0) {
        mbarrier_init(object(), 1);
        mbarrier_arrive_expect_tx(object(), 1024);
        cp_async_bulk_tensor_global_to_shared(tile, map, {0, 0}, object());  // <- copied
      }
      __syncwarp();
      mbarrier_wait_parity(object(), 0);
      if (in_place) {  // row 0 stays as it is
        for (int i = 0; i < 8 && lane < 8 && lane > 0; ++i) {
          const int from = 5 ^ row;
          const std::uint16_t other = tile[row * 64 + from * 8 + i], mine = tile[row * 64 + 5 * 8 + i];
          tile[row * 64 + 5 * 8 + i] = other;
          tile[row * 64 + from * 8 + i] = mine;
        }
        __syncwarp();
      }
      const int chunk = swizzled ? 5 ^ row : 5;
      out[lane] = ldmatrix<1>(tile + (row * 64 + chunk * 8))[0];  // <- read
    });
  };
  for (const bool in_place : {false, true}) {
    const Launched right = run(!in_place, in_place);
    INFO((right ? "" : right.fault->message()));
    REQUIRE(right.ok());
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t first = lane / 4 * 64 + 5 * 8 + lane % 4 * 2;
      CHECK(seen[lane] == (first | (first + 1) << 16));
    }
  }
  const Launched wrong = run(false);
  REQUIRE(wrong.fault);
  CHECK(name(wrong.fault->error.code) == name(Errc::protocol_violation));
  CHECK_THAT(
      wrong.fault->error.message(),
      Catch::Contains("the tile from 0x400 on was copied with 128-byte swizzle, and lanes 0-7 read 16-byte "
                      "chunk 5 of each 128-byte row, as without a swizzle; the chunk's number must be "
                      "XORed with bits 7 to 9 of the address"));
  const std::string file = "tests/device_async_faults_test.cpp";
  CHECK(wrong.fault->at.line == device_inputs::line_of(file, " // <- read\n"));
  REQUIRE(wrong.fault->other);
  CHECK(wrong.fault->other->at.line == device_inputs::line_of(file, " // <- copied\n"));
}

// ---- What the functions return

TEST_CASE("states and phases of an object", "[quick][device]") {
  std::vector<std::uint32_t> seen(8);
  const GlobalArray<std::uint32_t> out(seen);
  const Launched launched = alone([&] {
    mbarrier_init(object(), 3);
    const std::uint64_t first = mbarrier_arrive(object(), 2);
    out[0] = mbarrier_pending_count(first);
    out[1] = mbarrier_test_wait(object(), first) ? 1 : 0;  // nobody else can arrive
    const std::uint64_t second = mbarrier_arrive_drop(object());
    out[2] = mbarrier_pending_count(second);
    out[3] = mbarrier_test_wait(object(), first) ? 1 : 0;
    out[4] = mbarrier_try_wait_parity(object(), 0) ? 1 : 0;
    out[5] = mbarrier_pending_count(mbarrier_arrive(object()));  // one less than before
    mbarrier_expect_tx(object(), 4);
    mbarrier_arrive(object());
    out[6] = mbarrier_try_wait_parity(object(), 1) ? 1 : 0;
    mbarrier_complete_tx(object(), 4);
    out[7] = mbarrier_test_wait_parity(object(), 1) ? 1 : 0;
  });
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
  CHECK(seen == std::vector<std::uint32_t>{3, 0, 1, 1, 1, 2, 0, 1});
}

TEST_CASE("copies of cp.async arrive at an object", "[quick][device]") {
  Aligned<float> numbers(32 * 4);
  for (std::size_t i = 0; i < numbers.elements.size(); ++i) numbers.elements[i] = static_cast<float>(i);
  std::vector<float> seen(32);
  const GlobalArray<float> out(seen), from(numbers.elements);
  const Launched launched = launch({device_inputs::target("sm_90a"), {}, {32}, 2048}, [&] {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) mbarrier_init(object(), 32);
    __syncthreads();
    cp_async_cg(room() + 4 * thread, from + 4 * thread);
    cp_async_mbarrier_arrive_noinc(object());
    mbarrier_wait_parity(object(), 0);
    out[thread] = room()[127 - 4 * thread];
  });
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
  for (int i = 0; i < 32; ++i) CHECK(seen[static_cast<std::size_t>(i)] == static_cast<float>(127 - 4 * i));
}

// 2 images of 3 x 5 pixels with 4 channels: the pixels of one row, from the second one on.
TEST_CASE("im2col takes pixels by their offset", "[quick][device]") {
  constexpr int kImages = 2, kRows = 3, kColumns = 5, kChannels = 4, kPixels = 4;
  Aligned<float> numbers(kImages * kRows * kColumns * kChannels);
  for (std::size_t i = 0; i < numbers.elements.size(); ++i) numbers.elements[i] = static_cast<float>(i);
  TensorMap made;
  made.mode = TensorMapMode::im2col;
  made.elemtype = TensorType::f32;
  made.rank = 4;
  made.global_address = reinterpret_cast<std::uintptr_t>(numbers.memory.data());
  made.global_dim = {kChannels, kColumns, kRows, kImages};
  made.global_stride = {16, 16 * kColumns, 16 * kColumns * kRows};
  made.element_stride = {1, 1, 1, 1};
  made.pixel_box_upper = {-1, 0};
  made.channels_per_pixel = kChannels;
  made.pixels_per_column = kPixels;
  const Result<TensorMapBytes> bytes = made.encode();
  INFO((bytes ? "" : bytes.error().message()));
  REQUIRE(bytes);
  const TensorMapParameter map = TensorMapParameter::of(*bytes);
  std::vector<float> seen(kPixels * kChannels);
  const GlobalArray<float> out(seen);
  const Launched launched = alone([&] {
    const SharedArray<float> tile = shared_array<float>(128, kPixels * kChannels);
    mbarrier_init(object(), 1);
    mbarrier_arrive_expect_tx(object(), 4 * kPixels * kChannels);
    cp_async_bulk_tensor_im2col_global_to_shared(tile, map, {0, 0, 2, 1}, {1, 0}, object());
    mbarrier_wait_parity(object(), 0);
    for (int i = 0; i < kPixels * kChannels; ++i) out[i] = tile[i];
  });
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
  const int first = ((1 * kRows + 2) * kColumns + 1) * kChannels;
  for (int i = 0; i < kPixels * kChannels; ++i)
    CHECK(seen[static_cast<std::size_t>(i)] == static_cast<float>(first + i));
}

}  // namespace device_async_faults_test
