// SPDX-License-Identifier: Apache-2.0
// What lanes of a warp tell each other: vote, match, redux, activemask, shfl in all modes and widths, and the
// same by some of the lanes on the two sides of a branch, with __syncwarp. `out` has a row of results for each
// operation.

// Where the thread's next results go.

namespace kernel {

struct Rows {
  unsigned* to;
  int columns;

  __device__ void put(unsigned x) {
    *to = x;
    to += columns;
  }
};

__device__ void votes(Rows& rows, unsigned members, unsigned x) {
  rows.put(__ballot_sync(members, x % 2));
  rows.put(__all_sync(members, x != 5));
  rows.put(__any_sync(members, x == 5));
  rows.put(__uni_sync(members, x < 3));
  int all_equal;
  rows.put(__match_any_sync(members, x % 4));
  rows.put(__match_any_sync(members, static_cast<unsigned long long>(x % 3) << 40));
  rows.put(__match_all_sync(members, x / 64, &all_equal));
  rows.put(all_equal);
  rows.put(__match_all_sync(members, static_cast<unsigned long long>(x / 64) << 33, &all_equal));
  rows.put(all_equal);
}

__device__ void reductions(Rows& rows, unsigned members, unsigned x) {
  rows.put(__reduce_add_sync(members, x));
  rows.put(__reduce_min_sync(members, x));
  rows.put(__reduce_max_sync(members, x));
  rows.put(__reduce_add_sync(members, static_cast<int>(x)));
  rows.put(__reduce_min_sync(members, static_cast<int>(x)));
  rows.put(__reduce_max_sync(members, static_cast<int>(x)));
  rows.put(__reduce_and_sync(members, x | 0xF0));
  rows.put(__reduce_or_sync(members, x & 0xF0F));
  rows.put(__reduce_xor_sync(members, x));
}

// The value, and whether the lane that it came from was in range. `clamp` is the segment's mask and its last
// lane.
#define SHFL(mode, distance, clamp)                                             \
  do {                                                                          \
    unsigned value, inside;                                                     \
    asm volatile("{\n.reg .pred p;\nshfl.sync." mode                            \
                 ".b32 %0|p, %2, %3, %4, 0xffffffff;\nselp.u32 %1, 1, 0, p;\n}" \
                 : "=r"(value), "=r"(inside)                                    \
                 : "r"(x), "r"(distance), "r"(clamp));                          \
    rows.put(value);                                                            \
    rows.put(inside);                                                           \
  } while (0)

__device__ void shuffles(Rows& rows, unsigned x, unsigned lane) {
  for (const unsigned width : {32u, 16u, 8u, 4u, 1u}) {
    const unsigned segment = (32 - width) << 8;
    SHFL("idx", (x >> 3) % 64, segment | 31);
    SHFL("up", x % 5, segment);
    SHFL("down", x % 7, segment | 31);
    SHFL("bfly", 13 % width, segment | 31);
  }
  SHFL("down", 3u, 20u);  // a last lane inside the warp
  SHFL("bfly", 16u, 25u);
  SHFL("idx", lane + 4, 17u);
  rows.put(__float_as_uint(__shfl_sync(~0u, __uint_as_float(x), 31 - lane)));
  const unsigned long long wide = __shfl_xor_sync(~0u, static_cast<unsigned long long>(x) << 20, 9);
  rows.put(static_cast<unsigned>(wide >> 20));
}

// The two sides of a branch, three lanes on the second one; they leave their values to each other in shared
// memory.
__device__ void sides(Rows& rows, unsigned x, unsigned lane, unsigned* box) {
  constexpr unsigned kFew = 1u << 3 | 1u << 17 | 1u << 30;
  if (kFew >> lane & 1) {
    votes(rows, kFew, x);
    reductions(rows, kFew, x);
    rows.put(__shfl_sync(kFew, x, lane == 3 ? 17 : 3));
    box[lane] = x;
    __syncwarp(kFew);
    rows.put(box[lane == 30 ? 3 : 30]);
  } else {
    votes(rows, ~kFew, x);
    reductions(rows, ~kFew, x);
    rows.put(__shfl_sync(~kFew, x, lane == 0 ? 31 : 0));
    box[lane] = ~x;
    __syncwarp(~kFew);
    rows.put(box[lane == 31 ? 0 : 31]);
  }
  __syncwarp();
  rows.put(box[lane ^ 3]);
  unsigned alone = 0;
  if (lane == x % 32) alone = __activemask() & 1u << lane;
  rows.put(alone);
}

extern "C" __global__ void votes_and_shuffles(const unsigned* x, unsigned* out) {
  __shared__ unsigned boxes[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32, mine = x[i];
  Rows rows = {out + i, static_cast<int>(gridDim.x * blockDim.x)};
  rows.put(__activemask());
  votes(rows, ~0u, mine);
  reductions(rows, ~0u, mine);
  shuffles(rows, mine, lane);
  sides(rows, mine, lane, boxes + threadIdx.x / 32 * 32);
  unsigned masks[5];
  asm("mov.u32 %0, %%lanemask_lt;\nmov.u32 %1, %%lanemask_le;\nmov.u32 %2, %%lanemask_eq;\n"
      "mov.u32 %3, %%lanemask_ge;\nmov.u32 %4, %%lanemask_gt;"
      : "=r"(masks[0]), "=r"(masks[1]), "=r"(masks[2]), "=r"(masks[3]), "=r"(masks[4]));
  for (const unsigned mask : masks) rows.put(mask);
}

}  // namespace kernel
