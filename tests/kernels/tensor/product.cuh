// SPDX-License-Identifier: Apache-2.0
// D = A B by a few instructions of tcgen05.mma, whatever the form: a block, or two of a cluster, lays its operands where the
// arguments say, by plain stores; A and metadata also in tensor memory, scale factors by copies.
#pragma once

#include "blackwell.cuh"
#include "product.hpp"

namespace kernel {

using tensor_products::Operand;
using tensor_products::Product;

inline constexpr int kThreads = 128;
// Columns of tensor memory.
inline constexpr unsigned kColumns = 512, kOfA = 256, kOfMetadata = 320, kOfScalesA = 352, kOfScalesB = 400;

// ---- shared memory

extern __shared__ __align__(1024) unsigned char memory[];
__shared__ unsigned long long done;
__shared__ unsigned address;

__device__ inline int width(int swizzle) {
  return swizzle == 4 ? 64 : swizzle == 6 ? 32 : 128;
}

// Where a byte of a line lies, but for the swizzle.
__device__ inline int offset(const Operand& x, int line, int byte) {
  const int w = width(x.swizzle);
  if (x.is_mn_major) {
    if (x.swizzle == 0) return byte % 16 + byte / 16 * x.stride + line % 8 * 16 + line / 8 * x.leading;
    const int lines = x.swizzle == 1 ? 4 : 8;
    return byte % w + byte / w * x.leading + line % lines * w + line / lines * x.stride;
  }
  if (x.swizzle == 0) return line % 8 * 16 + line / 8 * x.stride + byte / 16 * x.leading + byte % 16;
  return line % 8 * w + line / 8 * x.stride + byte / w * x.further + byte % w;
}

// The swizzle exchanges chunks of 16 bytes, mode 1 of 32, by the address.
__device__ inline unsigned swizzled(int swizzle, unsigned address) {
  if (swizzle == 0) return address;
  if (swizzle == 1) return address ^ (address >> 7 & 3) << 5;
  return address ^ (address >> 7 & (width(swizzle) / 16 - 1)) << 4;
}

// All threads of a block lay its matrix.
__device__ __noinline__ void lay(const Operand& x, const unsigned char* from) {
  const unsigned shared = shared_address(memory) + x.at;
  const int chunks = x.bytes / 16;
#pragma unroll 1
  for (int i = threadIdx.x; i < x.lines * chunks; i += kThreads) {
    const int line = i / chunks, byte = i % chunks * 16;
    const uint4 four = *reinterpret_cast<const uint4*>(from + line * x.pitch + byte);
    asm volatile(
        "st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(swizzled(x.swizzle, shared + offset(x, line, byte))),
        "r"(four.x), "r"(four.y), "r"(four.z), "r"(four.w)
        : "memory");
  }
}

__device__ __noinline__ void lay_bytes(const uint4* from, int bytes, int at) {
  const unsigned to = shared_address(memory) + at;
#pragma unroll 1
  for (int i = threadIdx.x; i < bytes / 16; i += kThreads) {
    const uint4 four = from[i];
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + 16 * i), "r"(four.x), "r"(four.y),
                 "r"(four.z), "r"(four.w)
                 : "memory");
  }
}

// An instruction that begins in one span of 128 bytes and ends in the next has the address of the next one for the leading
// byte offset: 48 bytes of sm_103a.
__device__ __noinline__ unsigned long long descriptor_of(const Operand& x, int step) {
  const unsigned start = shared_address(memory) + x.at;
  const int from = step * x.step;
  if (x.is_mn_major) return matrix_descriptor(start + offset(x, from, 0), x.leading, x.stride, x.swizzle);
  const bool is_split = x.step == 48 && x.swizzle == 2 && from % 128 + 48 > 128;
  const int leading = is_split ? start + (from / 128 + 1) * x.further : x.leading;
  return matrix_descriptor(start + offset(x, 0, from), leading, x.stride, x.swizzle) |
         static_cast<unsigned long long>(is_split) << 52;
}

// ---- tensor memory: which row of the block's D, and which column, lies there

__device__ inline int row_of(const Product& p, int lane) {
  switch (p.layout) {
    case 'B':
    case 'E': return lane % 64;
    case 'G': return lane % 32;
    case 'C':
    case 'F': {
      const int row = lane % 32 - p.first_lane;
      return row >= 0 && row < 16 ? lane / 32 * 16 + row : -1;
    }
    default: return lane;
  }
}

__device__ inline int banks(const Product& p) {
  return p.layout == 'G' ? 4 : p.layout == 'B' || p.layout == 'E' ? 2 : 1;
}

// A warp's part of the rows of A, in tensor memory.
__device__ __noinline__ void store_a(const Product& p, const unsigned char* from, unsigned window) {
  const int row = row_of(p, threadIdx.x);
#pragma unroll 1
  for (int column = 0; column < p.a.bytes / 4; column += 8) {
    Words8 words = {};
    if (row >= 0)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        words.word[i] = *reinterpret_cast<const unsigned*>(from + row * p.a.pitch + 4 * (column + i));
    store_columns(window + kOfA + column, words);
  }
}

template <int group>
__device__ __noinline__ void copy_scales(const Product& p, unsigned tensor) {
  const unsigned shared = shared_address(memory);
  const int blocks_a = p.scale_groups * p.scale_rows_a, blocks_b = p.scale_groups * p.scale_rows_b;
  const bool banks = group == 2 && p.layout == 'B';
#pragma unroll 1
  for (int i = 0; i < blocks_a + (banks ? 0 : blocks_b); ++i) {
    const unsigned to = tensor + (i < blocks_a ? kOfScalesA + 4 * i : kOfScalesB + 4 * (i - blocks_a));
    const unsigned long long from = matrix_descriptor(shared + p.scales_at + 512 * i, 128, 128, 0);
    if constexpr (group == 1)
      asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from) : "memory");
    else
      asm volatile("tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from) : "memory");
  }
  // Lanes 0-63 have the factors of the first half of B's columns, the others those of the second.
  if constexpr (group == 2)
#pragma unroll 1
    for (int i = 0; banks && i < p.scale_groups; ++i)
      asm volatile("tcgen05.cp.cta_group::2.64x128b.warpx2::01_23 [%0], %1;" ::"r"(tensor + kOfScalesB + 4 * i),
                   "l"(matrix_descriptor(shared + p.scales_at + 512 * (blocks_a + 2 * i), 128, 128, 0))
                   : "memory");
}

// ---- the product

/// Operands of an instruction.
struct Sources {
  unsigned d, a, metadata, scale_a, scale_b, descriptor, accumulates;
  unsigned long long a_shared, b_shared;
};

__device__ __noinline__ Sources sources(const Product& p, unsigned tensor, int step) {
  const unsigned at = tensor + (p.first_lane << 16);
  const int scale = step * p.scales, id = scale % 4;
  Sources s;
  s.d = at + step * p.d_step;
  s.a = at + kOfA + step * p.a_step;
  s.metadata = at + kOfMetadata + (p.metadata_step == 1 ? step & ~1 : step * p.metadata_step);
  s.scale_a = tensor + kOfScalesA + scale / 4 * p.scale_rows_a * 4;
  s.scale_b = tensor + kOfScalesB + scale / 4 * (p.layout == 'B' ? 1 : p.scale_rows_b) * 4;
  s.descriptor = p.descriptor | id << 4 | id << 29 | (p.metadata_step == 1 ? step & 1 : 0);
  s.accumulates = p.accumulate >> step & 1;
  s.a_shared = descriptor_of(p.a, step);
  s.b_shared = descriptor_of(p.b, step);
  return s;
}

/// Lays all operands. The address of tensor memory.
template <int group, bool a_in_tensor>
__device__ __noinline__ unsigned begin(const Product& p, const unsigned char* a, const unsigned char* b,
                                       const unsigned* metadata, const uint4* scales) {
  const int thread = threadIdx.x, rank = group == 2 ? cluster_rank() : 0,
            scale_bytes = 512 * p.scale_groups * (p.scale_rows_a + p.scale_rows_b);
  if (thread < 32) allocate<group>(shared_address(&address), kColumns);
  if (thread == 0) {
    init(shared_address(&done), 1);
    fence_barriers();
  }
  if (!a_in_tensor) lay(p.a, a + rank * p.a.of_rank);
  lay(p.b, b + rank * p.b.of_rank);
  if (p.scales) lay_bytes(scales + rank * scale_bytes / 16, scale_bytes, p.scales_at);
  if (p.copies_metadata) lay_bytes(reinterpret_cast<const uint4*>(metadata), 2048, p.scales_at);
  fence_async_shared();
  sync_all<group>();

  const unsigned window = address + (thread / 32 * 32 << 16);
  if (a_in_tensor) store_a(p, a + rank * p.a.of_rank, window);
  if (p.fills)
#pragma unroll 1
    for (int i = 0; i < p.columns / banks(p); ++i) store_column(window + i, p.fill);
  if (!p.copies_metadata)
#pragma unroll 1
    for (int i = 0; i < p.metadata_columns; ++i)
      store_column(window + kOfMetadata + i, metadata[(rank * kThreads + thread) * p.metadata_columns + i]);
  wait_stores();
  sync_all<group>();
  return address;
}

/// What is copied to tensor memory, and belongs before the instructions.
template <int group>
__device__ __noinline__ void copy(const Product& p, unsigned tensor) {
  if (p.scales) copy_scales<group>(p, tensor);
  if (group == 1 && p.copies_metadata)
    asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(tensor + kOfMetadata),
                 "l"(matrix_descriptor(shared_address(memory) + p.scales_at, 128, 128, 0))
                 : "memory");
}

/// D, row by row, when all is complete.
template <int group>
__device__ __noinline__ void end(const Product& p, unsigned tensor, unsigned* d) {
  group == 1 ? wait(shared_address(&done), 0) : wait_cluster(shared_address(&done), 0);
  after_sync();
  const int thread = threadIdx.x, row = row_of(p, thread), columns = p.columns / banks(p),
            first = thread / (128 / banks(p)) * columns, rank = group == 2 ? cluster_rank() : 0;
#pragma unroll 1
  for (int set = 0; set < (p.d_step ? p.steps : 1); ++set)
#pragma unroll 1
    for (int column = 0; column < columns; column += 8) {
      const Words8 words = load_columns(tensor + (thread / 32 * 32 << 16) + set * p.d_step + column);
      unsigned* const to = d + ((set * group + rank) * p.rows + row) * p.columns + first + column;
      if (row >= 0)
        for (int i = 0; i < 8; ++i) to[i] = words.word[i];
    }
  sync_all<group>();
  if (thread < 32) deallocate<group>(tensor, kColumns);
}

/// Instruction: group, a_in_tensor, issue(sources, product).
template <class Instruction>
__device__ inline void product(const Product& p, const unsigned char* a, const unsigned char* b,
                               const unsigned* metadata, const uint4* scales, unsigned* d) {
  constexpr int group = Instruction::group;
  const unsigned tensor = begin<group, Instruction::a_in_tensor>(p, a, b, metadata, scales);
  if ((group == 1 || cluster_rank() == 0) && threadIdx.x < 32 && elect()) {
    copy<group>(p, tensor);
#pragma unroll 1
    for (int step = 0; step < p.steps; ++step) {
      Instruction::issue(sources(p, tensor, step), p);
      if (Instruction::a_in_tensor && group == 1 && p.shifts >= 0)
        asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(tensor + (p.shifts << 16) + kOfA)
                     : "memory");
    }
    commit<group>(shared_address(&done));
  }
  end<group>(p, tensor, d);
}

}  // namespace kernel
