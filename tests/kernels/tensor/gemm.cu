// SPDX-License-Identifier: Apache-2.0
// D = A B as kernels for Blackwell are written: tensor maps with the swizzle of 128 bytes, a ring of stages, one warp that
// copies, one thread that multiplies, and four warps that read tensor memory at last. A tile of D for each block, or for each
// pair, whose blocks have half of the rows of A and half of the columns of B each.
#include "blackwell.cuh"

namespace kernel {

inline constexpr int kStages = 2, kSpan = 128;  // bytes along K of a stage: four instructions
inline constexpr unsigned kRing = 1024;         // of shared memory, behind the barriers
inline constexpr int kCopies = 4, kMultiplies = 5, kThreads = 6 * 32;

template <int group>
__device__ inline void load_tile(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  if constexpr (group == 1)
    load(to, map, x, y, barrier);
  else  // the barrier is that of the even block
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3}], [%4];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier & 0xFEFFFFFF)
        : "memory");
}

// A and B have 128 bytes of K in a row; elements: of those. D is row-major, in words.
template <class Instruction>
__device__ inline void gemm(const TensorMap& map_a, const TensorMap& map_b, unsigned* d, unsigned descriptor,
                            int rows, int columns, int stride, int steps, int elements) {
  constexpr int group = Instruction::group;
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned shared = shared_address(memory), full = shared, empty = full + 8 * kStages,
                 done = empty + 8 * kStages, slot = done + 8;
  const int warp = threadIdx.x / 32, rank = group == 2 ? cluster_rank() : 0, own = columns / group;
  const int row = blockIdx.y * rows, column = blockIdx.x / group * columns;
  const unsigned of_a = rows * kSpan, stage_bytes = of_a + own * kSpan;

  if (warp == 0) {
    allocate<group>(slot, 256);
    if (elect()) {
      for (int i = 0; i < kStages; ++i) {
        init(full + 8 * i, 1);
        init(empty + 8 * i, 1);
      }
      init(done, 1);
      fence_barriers();
    }
  }
  sync_all<group>();
  const unsigned tensor = *reinterpret_cast<unsigned*>(memory + (slot - shared));

  if (warp == kCopies && elect()) {
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      const unsigned to = shared + kRing + stage * stage_bytes;
      group == 1 ? wait(empty + 8 * stage, step / kStages % 2 ^ 1)
                 : wait_cluster(empty + 8 * stage, step / kStages % 2 ^ 1);
      if (rank == 0) arrive_expecting(full + 8 * stage, group * stage_bytes);
      load_tile<group>(to, map_a, step * elements, group == 2 ? rank * rows : row, full + 8 * stage);
      load_tile<group>(to + of_a, map_b, step * elements, column + rank * own, full + 8 * stage);
    }
  } else if (warp == kMultiplies && rank == 0 && elect()) {
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      const unsigned from = shared + kRing + stage * stage_bytes;
      group == 1 ? wait(full + 8 * stage, step / kStages % 2)
                 : wait_cluster(full + 8 * stage, step / kStages % 2);
      after_sync();
#pragma unroll 1
      for (int depth = 0; depth < kSpan; depth += 32)
        Instruction::issue(tensor, matrix_descriptor(from + depth, 16, 8 * kSpan, 2),
                           matrix_descriptor(from + of_a + depth, 16, 8 * kSpan, 2), descriptor, step + depth);
      commit<group>(empty + 8 * stage);
    }
    commit<group>(done);
  } else if (warp < 4) {
    group == 1 ? wait(done, 0) : wait_cluster(done, 0);
    after_sync();
    // 64 rows: of a block in lanes 0-15 of each warp; of a pair the other lanes have the other half of the columns.
    const int lane = threadIdx.x % 32, half = rows == 64 && group == 2 ? 2 : 1;
    const int own_row = rows != 64 ? threadIdx.x : group == 2 ? threadIdx.x % 64 : 16 * warp + lane;
    const bool has_row = rows != 64 || group == 2 || lane < 16;
    const int first = column + (half == 2 && warp >= 2 ? columns / 2 : 0);
#pragma unroll 1
    for (int i = 0; i < columns / half; i += 8) {
      const Words8 words = load_columns(tensor + (warp * 32 << 16) + i);
      if (!has_row) continue;
      uint4* const to =
          reinterpret_cast<uint4*>(d + ((group == 2 ? rank * rows : row) + own_row) * stride + first + i);
      to[0] = make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]);
      to[1] = make_uint4(words.word[4], words.word[5], words.word[6], words.word[7]);
    }
  }
  sync_all<group>();
  if (warp == 0) deallocate<group>(tensor, 256);
}

#define GEMM(name, blocks, kind, cluster)                                                                     \
  struct name {                                                                                               \
    static constexpr int group = blocks;                                                                      \
    __device__ static void issue(unsigned d, unsigned long long a, unsigned long long b, unsigned descriptor, \
                                 unsigned accumulates) {                                                      \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::" #blocks ".kind::" kind  \
                   " [%0], %1, %2, %3, p;\n}" ::"r"(d),                                                       \
                   "l"(a), "l"(b), "r"(descriptor), "r"(accumulates)                                          \
                   : "memory");                                                                               \
    }                                                                                                         \
  };                                                                                                          \
  extern "C" __global__ void cluster __launch_bounds__(kThreads)                                              \
      gemm_##name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, unsigned* d,      \
                  unsigned descriptor, int rows, int columns, int stride, int steps, int elements) {          \
    gemm<name>(a, b, d, descriptor, rows, columns, stride, steps, elements);                                  \
  }

GEMM(f16, 1, "f16", )
GEMM(tf32, 1, "tf32", )
GEMM(f8f6f4, 1, "f8f6f4", )
GEMM(i8, 1, "i8", )
GEMM(f16_pair, 2, "f16", __cluster_dims__(2, 1, 1))
GEMM(i8_pair, 2, "i8", __cluster_dims__(2, 1, 1))

}  // namespace kernel
