// SPDX-License-Identifier: Apache-2.0
// Every function of warpbit/device/async.hpp, as nvcc compiles it: each form of a copy once.
#include "warpbit/device.hpp"

using namespace warpbit::device;

WARPBIT_KERNEL void objects(GlobalArray<std::uint64_t> out) {
  const SharedArray<Mbarrier> object = shared_array<Mbarrier>(0, 1);
  mbarrier_init(object, 7);
  fence_mbarrier_init();
  barrier_cluster_arrive_relaxed();
  barrier_cluster_wait();
  out[0] = mbarrier_arrive(object, 2);
  out[1] = mbarrier_arrive_drop(object);
  out[2] = mbarrier_arrive_expect_tx(object, 64);
  mbarrier_expect_tx(object, 32);
  mbarrier_complete_tx(object, 96);
  mbarrier_arrive_cluster(mapa(object, cluster_ctarank() ^ 1));
  cp_async_mbarrier_arrive(object);
  cp_async_mbarrier_arrive_noinc(object);
  out[3] = mbarrier_pending_count(out[0]);
  out[4] = mbarrier_test_wait(object, out[0]) ? 1 : 0;
  out[5] = mbarrier_test_wait_parity(object, 1) ? 1 : 0;
  mbarrier_wait(object, out[1]);
  mbarrier_wait_parity(object, 1);
  mbarrier_inval(object);
  out[6] = cluster_ctaid().z * cluster_nctaid().y;
}

template <int N>
WARPBIT_DEVICE void tensor(const TensorMapParameter& map, const int (&at)[N]) {
  const SharedArray<Mbarrier> object = shared_array<Mbarrier>(0, 1);
  const SharedArray<float> tile = shared_array<float>(1024, 1024);
  cp_async_bulk_tensor_global_to_shared(tile, map, at, object);
  cp_async_bulk_tensor_global_to_shared_multicast(tile, map, at, object, 3);
  cp_async_bulk_tensor_shared_to_global(map, at, tile);
}

template <Reduction Of>
WARPBIT_DEVICE void reduce(const TensorMapParameter& map) {
  cp_reduce_async_bulk_tensor_shared_to_global<Of>(map, {1, 2}, shared_array<float>(1024, 1024));
}

WARPBIT_KERNEL void tensors(const WARPBIT_GRID_CONSTANT TensorMapParameter map) {
  const SharedArray<Mbarrier> object = shared_array<Mbarrier>(0, 1);
  const SharedArray<float> tile = shared_array<float>(1024, 1024);
  tensor(map, {1});
  tensor(map, {1, 2});
  tensor(map, {1, 2, 3});
  tensor(map, {1, 2, 3, 4});
  tensor(map, {1, 2, 3, 4, 5});
  cp_async_bulk_tensor_im2col_global_to_shared(tile, map, {1, 2, 3}, {4}, object);
  cp_async_bulk_tensor_im2col_global_to_shared(tile, map, {1, 2, 3, 4}, {5, 6}, object);
  cp_async_bulk_tensor_im2col_global_to_shared(tile, map, {1, 2, 3, 4, 5}, {6, 7, 8}, object);
  reduce<Reduction::add>(map);
  reduce<Reduction::min>(map);
  reduce<Reduction::max>(map);
  reduce<Reduction::inc>(map);
  reduce<Reduction::dec>(map);
  reduce<Reduction::and_>(map);
  reduce<Reduction::or_>(map);
  reduce<Reduction::xor_>(map);
}

template <Reduction Of, class Type, class T>
WARPBIT_DEVICE void reduce_bytes(GlobalArray<T> to) {
  cp_reduce_async_bulk_shared_to_global<Of, Type>(to, shared_array<T>(1024, 1024), 64);
}

WARPBIT_KERNEL void bytes(GlobalArray<std::uint32_t> words, GlobalArray<std::int32_t> integers,
                          GlobalArray<std::uint64_t> longs, GlobalArray<float> floats,
                          GlobalArray<double> doubles, GlobalArray<std::uint16_t> halves) {
  const SharedArray<Mbarrier> object = shared_array<Mbarrier>(0, 1);
  const SharedArray<std::uint32_t> tile = shared_array<std::uint32_t>(1024, 1024);
  cp_async_bulk_global_to_shared(tile, words, 64, object);
  cp_async_bulk_global_to_shared_multicast(tile, words, 64, object, 3);
  cp_async_bulk_shared_to_cluster(mapa(tile, 1), tile, 64, mapa(object, 1));
  cp_async_bulk_shared_to_global(words, tile, 64);
  reduce_bytes<Reduction::add, void>(words);
  reduce_bytes<Reduction::inc, void>(words);
  reduce_bytes<Reduction::and_, void>(words);
  reduce_bytes<Reduction::min, void>(integers);
  reduce_bytes<Reduction::or_, void>(integers);
  reduce_bytes<Reduction::xor_, void>(longs);
  reduce_bytes<Reduction::add, void>(longs);
  reduce_bytes<Reduction::add, void>(floats);
  reduce_bytes<Reduction::add, void>(doubles);
  reduce_bytes<Reduction::add, f16>(halves);
  reduce_bytes<Reduction::max, bf16>(halves);
  cp_async_bulk_commit_group();
  cp_async_bulk_wait_group<1>();
  cp_async_bulk_wait_group_read<0>();
}
