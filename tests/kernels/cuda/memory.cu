// SPDX-License-Identifier: Apache-2.0
// Loads and stores of all kinds, by blocks and a grid of three dimensions: vectors of each width, pointers of
// which only the run knows the space, isspacep, caches' hints, non-coherent, relaxed and volatile accesses,
// sign extension of bytes, special registers, and matrices turned in registers by movmatrix.
#include <cstdint>

namespace kernel {

__constant__ unsigned constants[8] = {11, 22, 33, 44, 55, 66, 77, 88};

// Where a thread's results go: a row for each.
struct Rows {
  unsigned* to;
  int columns;

  __device__ void put(unsigned x) {
    *to = x;
    to += columns;
  }
};

__device__ void places(Rows& rows) {
  rows.put(threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16);
  rows.put(blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16);
  rows.put(blockDim.x | blockDim.y << 8 | blockDim.z << 16);
  rows.put(gridDim.x | gridDim.y << 8 | gridDim.z << 16);
  unsigned lane, bytes;
  asm("mov.u32 %0, %%laneid;\nmov.u32 %1, %%dynamic_smem_size;" : "=r"(lane), "=r"(bytes));
  rows.put(lane), rows.put(bytes);
}

// Vectors of a thread's own 32 bytes, and bytes that are extended.
__device__ void vectors(Rows& rows, const uint8_t* from) {
  unsigned a, b, c, d;
  uint64_t u, v;
  unsigned short h, k;
  asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from));
  rows.put(a ^ b), rows.put(c ^ d);
  asm("ld.global.ca.v2.u64 {%0, %1}, [%2+16];" : "=l"(u), "=l"(v) : "l"(from));
  rows.put(static_cast<unsigned>(u ^ v >> 32));
  asm("ld.global.cg.v4.u8 {%0, %1, %2, %3}, [%4+4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from));
  rows.put(a | b << 8 | c << 16 | d << 24);
  asm("ld.global.v2.s8 {%0, %1}, [%2+8];" : "=r"(a), "=r"(b) : "l"(from));
  rows.put(a), rows.put(b);
  asm("ld.global.cs.v2.u16 {%0, %1}, [%2+12];" : "=h"(h), "=h"(k) : "l"(from));
  rows.put(h << 16 | k);
  asm("ld.global.lu.s16 %0, [%1+20];" : "=r"(a) : "l"(from));
  asm("ld.relaxed.gpu.global.u32 %0, [%1+24];" : "=r"(b) : "l"(from));
  asm("ld.volatile.global.s8 %0, [%1+29];" : "=r"(c) : "l"(from));
  rows.put(a), rows.put(b), rows.put(c);
}

__device__ void store_vectors(uint8_t* to, unsigned x) {
  asm volatile("st.global.v4.u32 [%0], {%1, %1, %2, %3};" ::"l"(to), "r"(x), "r"(~x), "r"(x * 3) : "memory");
  asm volatile("st.global.v2.u8 [%0+16], {%1, %2};" ::"l"(to), "r"(x), "r"(x >> 8) : "memory");
  asm volatile("st.global.wt.u16 [%0+18], %1;" ::"l"(to), "h"(static_cast<unsigned short>(x >> 4)) : "memory");
  asm volatile("st.relaxed.sys.global.u32 [%0+20], %1;" ::"l"(to), "r"(x + 1) : "memory");
  asm volatile("st.global.cg.u64 [%0+24], %1;" ::"l"(to), "l"(uint64_t{x} << 20) : "memory");
}

// Pointers into four spaces, one of them by the thread's number, and which spaces they are in.
__device__ void spaces(Rows& rows, unsigned* in_shared, unsigned* in_global, int t) {
  unsigned in_local[4];
  for (int i = 0; i < 4; ++i) in_local[i] = t * i;
  in_shared[t] = 1000 + t;
  const unsigned* const choices[] = {in_shared + t, in_global, in_local + t % 4, constants + t % 8};
  const unsigned* const p = choices[t % 4];
  if (t % 4 != 3) *const_cast<volatile unsigned*>(p) = *p + 5;
  rows.put(*p);
  rows.put(__isShared(p) | __isGlobal(p) << 1 | __isLocal(p) << 2 | __isConstant(p) << 3);
  rows.put(in_local[0] + in_local[1] + in_local[2] + in_local[3]);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in_global));
  asm volatile("prefetchu.L1 [%0];" ::"l"(p));
}

// Blocks of 8 x 2 x 4: two warps. `bytes` and `copies` have 32 bytes for each thread, `cells` a word.
extern "C" __global__ void memory(const uint8_t* bytes, uint8_t* copies, unsigned* cells, unsigned* out) {
  extern __shared__ unsigned in_shared[];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z, i = block * threads + t;
  Rows rows = {out + i, static_cast<int>(threads * gridDim.x * gridDim.y * gridDim.z)};
  places(rows);
  vectors(rows, bytes + 32 * i);
  store_vectors(copies + 32 * i, cells[i]);
  spaces(rows, in_shared, cells + i, t);
  unsigned turned;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(cells[i]));
  rows.put(turned);
}

}  // namespace kernel
