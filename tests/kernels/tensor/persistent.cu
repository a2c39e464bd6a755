// SPDX-License-Identifier: Apache-2.0
// D = A B by pairs of blocks that stay: a pair computes its own tile of D, and then those of pairs that have not begun, which one
// thread of it asks for. Copies, products and stores of different tiles overlap. A response comes to both blocks, and each role
// reads it:
//
//     warp         0-3                4           5                    6
//     block 0      stores the rows    copies      multiplies           asks
//     block 1      stores the rows    copies
#include "blackwell.cuh"

namespace kernel {

inline constexpr int kStages = 2, kAhead = 2,
                     kSums = 2;    // rings: of tiles of A and B, of responses, of tiles of D
inline constexpr int kSpan = 128;  // bytes along K of a stage: four instructions
inline constexpr unsigned kRing = 1024,
                          kColumns = 256;  // of shared memory, behind the barriers; of tensor memory
inline constexpr int kCopies = 4, kMultiplies = 5, kAsks = 6, kThreads = 7 * 32;
inline constexpr int kReaders = 3 + 4 + 1 + 4;  // of a response

// Places in shared memory, from the first barrier on.
inline constexpr unsigned kFull = 0, kEmpty = kFull + 8 * kStages, kAnswered = kEmpty + 8 * kStages,
                          kRead = kAnswered + 8 * kAhead, kDone = kRead + 8 * kAhead, kFree = kDone + 8 * kSums,
                          kSlot = kFree + 8 * kSums, kResponses = 512;

__device__ inline void request(unsigned to, unsigned barrier) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
      "[%0], [%1];" ::"r"(to),
      "r"(barrier)
      : "memory");
}

__device__ inline void arrive_expecting_at(unsigned barrier, unsigned rank, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                   at_rank(barrier, rank)),
               "r"(bytes)
               : "memory");
}

// The tiles of a pair, as one of its roles goes through them.
struct Tiles {
  unsigned shared, x = blockIdx.x & ~1U, y = blockIdx.y, z = blockIdx.z;  // of the even block
  int turn = 0;

  __device__ unsigned of_turn(unsigned ring) const { return shared + ring + 8 * (turn % kAhead); }
  __device__ unsigned parity() const { return turn / kAhead % 2; }
  // The next one, if there is one. The role is one thread, or a whole warp, whose first lane tells that all have read.
  template <bool whole_warp = false>
  __device__ bool next() {
    wait_cluster(of_turn(kAnswered), parity());
    unsigned exists;
    asm volatile(
        "{\n.reg .pred p;\n.reg .b128 response;\n"
        "ld.shared.b128 response, [%4];\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response;\n"
        "selp.u32 %3, 1, 0, p;\n"
        "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, response;\n}"
        : "+r"(x), "+r"(y), "+r"(z), "=r"(exists)
        : "r"(shared + kResponses + 16 * (turn % kAhead))
        : "memory");
    fence_async_shared();
    if (whole_warp) __syncwarp();
    if (!whole_warp || threadIdx.x % 32 == 0) arrive_at(of_turn(kRead), 0);
    ++turn;
    return exists != 0;
  }
};

__device__ inline void load_pair(unsigned to, const TensorMap& map, int x, int y, unsigned barrier,
                                 unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier & 0xFEFFFFFF), "l"(policy)
      : "memory");
}

// `rows`: of A in a block, half of those of a tile of D. A and B have 128 bytes of K in a row; elements: of those. D is row-major.
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kThreads)
    persistent_gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                    unsigned* d, unsigned descriptor, int rows, int columns, int stride, int steps,
                    int elements) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned shared = shared_address(memory), of_a = rows * kSpan, stage_bytes = of_a + columns / 2 * kSpan;
  const int warp = threadIdx.x / 32, rank = cluster_rank();

  if (warp == 0) {
    allocate<2>(shared + kSlot, kColumns);
    if (elect()) {
      prefetch(map_a);
      prefetch(map_b);
      for (int i = 0; i < kStages; ++i) init(shared + kFull + 8 * i, 1), init(shared + kEmpty + 8 * i, 1);
      for (int i = 0; i < kAhead; ++i)
        init(shared + kAnswered + 8 * i, 1), init(shared + kRead + 8 * i, kReaders);
      for (int i = 0; i < kSums; ++i) init(shared + kDone + 8 * i, 1), init(shared + kFree + 8 * i, 8);
      fence_barriers();
    }
  }
  sync_all<2>();
  const unsigned tensor = *reinterpret_cast<unsigned*>(memory + kSlot);
  asm volatile("griddepcontrol.wait;" ::: "memory");

  Tiles tiles{shared};
  int step = 0;  // of all tiles
  if (warp == kCopies && elect()) {
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    do {
      const int row = (2 * (tiles.z * gridDim.y + tiles.y) + rank) * rows,
                column = tiles.x / 2 * columns + rank * columns / 2;
      for (int k = 0; k < steps; ++k, ++step) {
        const int stage = step % kStages;
        const unsigned to = shared + kRing + stage * stage_bytes;
        wait_cluster(shared + kEmpty + 8 * stage, step / kStages % 2 ^ 1);
        if (rank == 0) arrive_expecting(shared + kFull + 8 * stage, 2 * stage_bytes);
        load_pair(to, map_a, k * elements, row, shared + kFull + 8 * stage, policy);
        load_pair(to + of_a, map_b, k * elements, column, shared + kFull + 8 * stage, policy);
      }
    } while (tiles.next());
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  } else if (warp == kMultiplies && rank == 0 && elect()) {
    int sum = 0;
    do {
      const unsigned to = tensor + sum % kSums * (kColumns / kSums);
      wait_cluster(shared + kFree + 8 * (sum % kSums), sum / kSums % 2 ^ 1);
      after_sync();
      for (int k = 0; k < steps; ++k, ++step) {
        const int stage = step % kStages;
        const unsigned from = shared + kRing + stage * stage_bytes;
        wait_cluster(shared + kFull + 8 * stage, step / kStages % 2);
        after_sync();
#pragma unroll 1
        for (int depth = 0; depth < kSpan; depth += 32)
          asm volatile(
              "{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n}" ::
                  "r"(to),
              "l"(matrix_descriptor(from + depth, 16, 8 * kSpan, 2)),
              "l"(matrix_descriptor(from + of_a + depth, 16, 8 * kSpan, 2)), "r"(descriptor), "r"(k + depth)
              : "memory");
        commit<2>(shared + kEmpty + 8 * stage);
      }
      commit<2>(shared + kDone + 8 * (sum++ % kSums));
    } while (tiles.next());
  } else if (warp == kAsks && rank == 0 && elect()) {
    do {
      wait_cluster(tiles.of_turn(kRead), tiles.parity() ^ 1);
      arrive_expecting_at(tiles.of_turn(kAnswered), 0, 16);
      arrive_expecting_at(tiles.of_turn(kAnswered), 1, 16);
      request(shared + kResponses + 16 * (tiles.turn % kAhead), tiles.of_turn(kAnswered));
    } while (tiles.next());
  } else if (warp < 4) {
    int sum = 0;
    do {
      const int row = (2 * (tiles.z * gridDim.y + tiles.y) + rank) * rows + threadIdx.x;
      const unsigned from = tensor + sum % kSums * (kColumns / kSums) + (warp * 32 << 16);
      wait_cluster(shared + kDone + 8 * (sum % kSums), sum / kSums % 2);
      after_sync();
#pragma unroll 1
      for (int i = 0; i < columns; i += 8) {
        const Words8 words = load_columns(from + i);
        uint4* const to = reinterpret_cast<uint4*>(d + row * stride + tiles.x / 2 * columns + i);
        to[0] = make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]);
        to[1] = make_uint4(words.word[4], words.word[5], words.word[6], words.word[7]);
      }
      before_sync();
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive_at(shared + kFree + 8 * (sum % kSums), 0);
      ++sum;
    } while (tiles.next<true>());
  }
  sync_all<2>();
  if (warp == 0) deallocate<2>(tensor, kColumns);
}

}  // namespace kernel
