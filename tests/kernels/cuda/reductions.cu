// SPDX-License-Identifier: Apache-2.0
// red, and atom of vectors and of bf16, in global memory and in shared memory: each thread at a place of its own, of 16
// bytes, for each instruction. The operand is 16 bytes, too; atom stores what was there before.
#include <cstdint>

namespace kernel {

struct Row {
  uint4 *memory, *old;
  const uint4* operands;
  int columns;

  __device__ void next() {
    memory += columns;
    old += columns;
    operands += columns;
  }
};

// x, y, z, w are the words of the operand, o those of the result, p is the place.
#define WORDS(o) "r"(o.x), "r"(o.y), "r"(o.z), "r"(o.w)
#define DECLARE  "{\n.reg .b64 u, v, du, dv;\n.reg .b128 q, r, dq;\n.reg .b16 a0, a1, a2, a3, a4, a5, a6, a7;\n"

#define RED(row, text)                                                                                      \
  do {                                                                                                      \
    const uint4 o = *row.operands;                                                                          \
    asm volatile(DECLARE "mov.b64 u, {%1, %2};\nmov.b32 {a0, a1}, %1;\nred." text ";\n}" ::"l"(row.memory), \
                 WORDS(o)                                                                                   \
                 : "memory");                                                                               \
    row.next();                                                                                             \
  } while (0)

#define RED_SHARED(row, own, text)                                                       \
  do {                                                                                   \
    const uint4 o = *row.operands;                                                       \
    *own = *row.memory;                                                                  \
    asm volatile(DECLARE "mov.b64 u, {%1, %2};\nmov.b32 {a0, a1}, %1;\nred.shared." text \
                         ";\n}" ::"l"(__cvta_generic_to_shared(own)),                    \
                 WORDS(o)                                                                \
                 : "memory");                                                            \
    *row.memory = *own;                                                                  \
    row.next();                                                                          \
  } while (0)

// The operands are %5 to %8, the old words %0 to %3, the place %4.
#define ATOM(row, text)                                                                                 \
  do {                                                                                                  \
    const uint4 o = *row.operands;                                                                      \
    uint4 d = {0, 0, 0, 0};                                                                             \
    asm volatile(DECLARE "mov.b64 u, {%5, %6};\nmov.b64 v, {%7, %8};\nmov.b128 q, {u, v};\n" text "\n}" \
                 : "+r"(d.x), "+r"(d.y), "+r"(d.z), "+r"(d.w)                                           \
                 : "l"(row.memory), WORDS(o)                                                            \
                 : "memory");                                                                           \
    *row.old = d;                                                                                       \
    row.next();                                                                                         \
  } while (0)

#define HALVES(type, op)                                                                         \
  "mov.b32 {a0, a1}, %5;\nmov.b32 {a2, a3}, %6;\nmov.b32 {a4, a5}, %7;\nmov.b32 {a6, a7}, %8;\n" \
  "atom.global." op ".noftz.v8." type                                                            \
  " {a0, a1, a2, a3, a4, a5, a6, a7}, [%4], {a0, a1, a2, a3, a4, a5, a6, a7};\n"                 \
  "mov.b32 %0, {a0, a1};\nmov.b32 %1, {a2, a3};\nmov.b32 %2, {a4, a5};\nmov.b32 %3, {a6, a7};"

// The old pair of words is u afterwards.
#define PAIR(text) text "\nmov.b64 {%0, %1}, u;"

__device__ void wide(Row& row) {
  RED(row, "global.add.f64 [%0], u");
  RED(row, "global.add.u64 [%0], u");
  RED(row, "global.min.s64 [%0], u");
  RED(row, "relaxed.gpu.global.max.s64 [%0], u");
  RED(row, "release.sys.global.min.u64 [%0], u");
  RED(row, "global.max.u64 [%0], u");
  RED(row, "global.and.b64 [%0], u");
  RED(row, "relaxed.cta.global.or.b64 [%0], u");
  RED(row, "global.xor.b64 [%0], u");
  ATOM(row, PAIR("atom.acq_rel.gpu.global.add.f64 u, [%4], u;"));
  ATOM(
      row,
      "atom.global.exch.b128 dq, [%4], q;\nmov.b128 {du, dv}, dq;\nmov.b64 {%0, %1}, du;\nmov.b64 {%2, %3}, dv;");
  ATOM(row,
       "ld.global.v2.u64 {du, dv}, [%4];\nmov.b128 r, {du, dv};\natom.global.cas.b128 dq, [%4], r, q;\n"
       "mov.b128 {du, dv}, dq;\nmov.b64 {%0, %1}, du;\nmov.b64 {%2, %3}, dv;");
  ATOM(
      row,
      "atom.global.cas.b128 dq, [%4], q, q;\nmov.b128 {du, dv}, dq;\nmov.b64 {%0, %1}, du;\nmov.b64 {%2, %3}, dv;");
}

__device__ void wide_in_shared(Row& row, uint4* own) {
  RED_SHARED(row, own, "add.f64 [%0], u");
  RED_SHARED(row, own, "add.u64 [%0], u");
  RED_SHARED(row, own, "min.s64 [%0], u");
  RED_SHARED(row, own, "max.u64 [%0], u");
  RED_SHARED(row, own, "xor.b64 [%0], u");
}

__device__ void words(Row& row) {
  RED(row, "global.add.f32 [%0], %1");
  RED(row, "add.f32 [%0], %1");
  RED(row, "global.add.u32 [%0], %1");
  RED(row, "global.add.s32 [%0], %1");
  RED(row, "global.inc.u32 [%0], %1");
  RED(row, "global.dec.u32 [%0], %1");
  RED(row, "global.min.u32 [%0], %1");
  RED(row, "global.max.u32 [%0], %1");
  RED(row, "global.min.s32 [%0], %1");
  RED(row, "global.max.s32 [%0], %1");
  RED(row, "global.and.b32 [%0], %1");
  RED(row, "global.or.b32 [%0], %1");
  RED(row, "global.xor.b32 [%0], %1");
  RED(row, "global.add.v2.f32 [%0], {%1, %2}");
  RED(row, "global.add.v4.f32 [%0], {%1, %2, %3, %4}");
  ATOM(row, "atom.global.add.v2.f32 {%0, %1}, [%4], {%5, %6};");
  ATOM(row, "atom.global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};");
  ATOM(row, "atom.relaxed.sys.add.f32 %0, [%4], %5;");
}

__device__ void words_in_shared(Row& row, uint4* own) {
  RED_SHARED(row, own, "add.f32 [%0], %1");
  RED_SHARED(row, own, "inc.u32 [%0], %1");
  RED_SHARED(row, own, "dec.u32 [%0], %1");
  RED_SHARED(row, own, "max.s32 [%0], %1");
  RED_SHARED(row, own, "or.b32 [%0], %1");
}

__device__ void halves(Row& row) {
  RED(row, "global.add.noftz.f16 [%0], a0");
  RED(row, "global.add.noftz.f16x2 [%0], %1");
  RED(row, "global.add.noftz.bf16 [%0], a0");
  RED(row, "global.add.noftz.bf16x2 [%0], %1");
  RED(row, "global.add.noftz.v2.f16x2 [%0], {%1, %2}");
  RED(row, "global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4}");
  RED(row, "global.min.noftz.v4.f16x2 [%0], {%1, %2, %3, %4}");
  ATOM(row, "mov.b32 {a0, a1}, %5;\natom.global.add.noftz.f16 a2, [%4], a0;\nmov.b32 %0, {a2, a2};");
  ATOM(row, "mov.b32 {a0, a1}, %5;\natom.global.add.noftz.bf16 a2, [%4], a0;\nmov.b32 %0, {a2, a2};");
  ATOM(row, "atom.global.add.noftz.bf16x2 %0, [%4], %5;");
  ATOM(row, "atom.global.add.noftz.v4.f16x2 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};");
  ATOM(row, "atom.global.max.noftz.v4.f16x2 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};");
  ATOM(row, "atom.global.min.noftz.v4.bf16x2 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};");
  ATOM(row, "atom.global.max.noftz.v2.bf16x2 {%0, %1}, [%4], {%5, %6};");
  ATOM(row, HALVES("f16", "add"));
  ATOM(row, HALVES("f16", "min"));
  ATOM(row, HALVES("bf16", "add"));
  ATOM(row, HALVES("bf16", "max"));
}

__device__ void halves_in_shared(Row& row, uint4* own) {
  RED_SHARED(row, own, "add.noftz.f16 [%0], a0");
  RED_SHARED(row, own, "add.noftz.f16x2 [%0], %1");
  RED_SHARED(row, own, "add.noftz.bf16 [%0], a0");
  RED_SHARED(row, own, "add.noftz.bf16x2 [%0], %1");
}

extern "C" __global__ void reductions(uint4* memory, const uint4* operands, uint4* old) {
  __shared__ uint4 in_shared[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Row row = {memory + i, old + i, operands + i, static_cast<int>(gridDim.x * blockDim.x)};
  uint4* const own = in_shared + threadIdx.x;
  wide(row);
  wide_in_shared(row, own);
  words(row);
  words_in_shared(row, own);
  halves(row);
  halves_in_shared(row, own);
}

}  // namespace kernel
