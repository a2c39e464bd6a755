// SPDX-License-Identifier: Apache-2.0
// Kernels that make the inputs of captures on a GPU and digest the results there (warpbit/inputs.hpp), for the
// driver API:
//
//   nvcc -std=c++20 -ptx -arch=compute_75 -I include tools/capture/generate.cu
#include "warpbit/inputs.hpp"

namespace {

using namespace warpbit::inputs;

// Numbers of this thread, and of all of them.
__device__ std::uint64_t thread_index() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t threads() {
  return std::uint64_t{gridDim.x} * blockDim.x;
}

// Register i of an array.
__device__ void store(unsigned char* array, std::uint64_t i, int register_bits, std::uint64_t value) {
  switch (register_bits) {
    case 8: array[i] = static_cast<unsigned char>(value); break;
    case 16: reinterpret_cast<std::uint16_t*>(array)[i] = static_cast<std::uint16_t>(value); break;
    case 32: reinterpret_cast<std::uint32_t*>(array)[i] = static_cast<std::uint32_t>(value); break;
    default: reinterpret_cast<std::uint64_t*>(array)[i] = value;
  }
}
__device__ std::uint64_t load(const unsigned char* array, std::uint64_t i, int register_bits) {
  switch (register_bits) {
    case 8: return array[i];
    case 16: return reinterpret_cast<const std::uint16_t*>(array)[i];
    case 32: return reinterpret_cast<const std::uint32_t*>(array)[i];
    default: return reinterpret_cast<const std::uint64_t*>(array)[i];
  }
}

}  // namespace

// Fills what `member` says of the array [cases][member.lanes][registers], whose first case is number `first`.
// Any grid of one dimension.
extern "C" __global__ void fill(Member member, Key key, Profile profile, std::uint64_t first,
                                std::uint64_t cases, int registers, unsigned char* array) {
  const auto lanes = static_cast<std::uint64_t>(member.lanes),
             count = static_cast<std::uint64_t>(member.registers);
  for (std::uint64_t i = thread_index(); i < cases * lanes * count; i += threads()) {
    const auto reg = member.first + static_cast<std::int32_t>(i % count);
    const auto lane = static_cast<std::int32_t>(i / count % lanes);
    const std::uint64_t index = i / count / lanes;
    const std::uint64_t place =
        (index * lanes + static_cast<std::uint64_t>(lane)) * static_cast<std::uint64_t>(registers) +
        static_cast<std::uint64_t>(reg);
    store(array, place, member.register_bits, word(key, profile, member, first + index, lane, reg));
  }
}

// Adds to digests[0], [1], ... what the results of the blocks of cases do whose first is number `first`, a
// multiple of kBlockCases. `results` has `cases` times `registers` registers of all lanes together. Block (x,
// y) of the grid does a part of digest x; blocks of any number of whole warps.
extern "C" __global__ void digest(const unsigned char* results, std::uint64_t first, std::uint64_t cases,
                                  int registers, int register_bits, unsigned long long* digests) {
  const auto per_case = static_cast<std::uint64_t>(registers);
  const std::uint64_t begin = blockIdx.x * kBlockCases;
  const std::uint64_t end = begin + kBlockCases < cases ? begin + kBlockCases : cases;
  unsigned long long sum = 0;
  for (std::uint64_t i = begin * per_case + std::uint64_t{blockIdx.y} * blockDim.x + threadIdx.x;
       i < end * per_case; i += std::uint64_t{gridDim.y} * blockDim.x)
    sum += mix(first * per_case + i, load(results, i, register_bits));
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(digests + blockIdx.x, sum);
}
