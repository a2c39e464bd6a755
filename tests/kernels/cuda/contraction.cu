// SPDX-License-Identifier: Apache-2.0
// Products and sums in PTX, some of which the assembler fuses into FMAs and some not: without and with a
// rounding, with flushing of one or both, of two products, through neg and mov, with other uses of the product,
// across branches. f32, f64, f16 and f16x2; bf16 and bf16x2 from sm_90 on. A row of results, widened to 64
// bits, for each.
#include <cstdint>

namespace kernel {

// A thread's operands a, b, c, d, and where its next result goes.
template <class T>
struct Column {
  T a, b, c, d;
  uint64_t* to;
  int columns;

  __device__ void put(uint64_t x) {
    *to = x;
    to += columns;
  }
};

// The operands are %1 to %4, the result is %0; t, u, v are registers, p a predicate.
#define RESULT(T, C, type, text)                                 \
  do {                                                           \
    T result;                                                    \
    asm("{\n.reg ." type " t, u, v;\n.reg .pred p;\n" text "\n}" \
        : "=" C(result)                                          \
        : C(o.a), C(o.b), C(o.c), C(o.d));                       \
    o.put(result);                                               \
  } while (0)

// What all types have. R is the type of registers, `type` that of instructions.
#define PAIRS(T, C, R, type)                                                                      \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd." type " %0, t, %3;");                            \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd." type " %0, %3, t;");                            \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nsub." type " %0, t, %3;");                            \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nsub." type " %0, %3, t;");                            \
  RESULT(T, C, R, "mul.rn." type " t, %1, %2;\nadd." type " %0, t, %3;");                         \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd.rn." type " %0, t, %3;");                         \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nmul." type " u, %3, %4;\nadd." type " %0, t, u;");    \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nmul." type " u, %3, %4;\nsub." type " %0, t, u;");    \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nmul.rn." type " u, %3, %4;\nadd." type " %0, u, t;"); \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nneg." type " u, t;\nadd." type " %0, u, %3;");        \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nmov." R " u, t;\nadd." type " %0, u, %3;");           \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd." type " u, t, %3;\nadd." type " %0, t, u;");     \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd." type " u, t, %3;\nmul.rn." type " %0, t, u;");  \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd." type " %0, t, t;");                             \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nmul." type " u, t, %4;\nadd." type " %0, u, %3;");    \
  RESULT(T, C, R,                                                                                 \
         "fma.rn." type " t, %1, %2, %3;\nadd." type " u, t, %4;\nmul." type                      \
         " v, %3, %4;\n"                                                                          \
         "sub." type " %0, u, v;")

// Across branches and under predicates, of types with setp.
#define BRANCHES(T, C, R, type, compare)                                                            \
  RESULT(T, C, R,                                                                                   \
         "mul." type " t, %1, %2;\nsetp.lt." compare " p, %1, %4;\n@p bra other;\nadd." type        \
         " %0, t, %3;\nbra done;\nother:\nsub." type " %0, t, %3;\ndone:");                         \
  RESULT(T, C, R,                                                                                   \
         "mul." type " t, %1, %2;\nsetp.lt." compare " p, %1, %4;\nmov." R " %0, %3;\n@p add." type \
         " %0, t, %3;");                                                                            \
  RESULT(T, C, R,                                                                                   \
         "mov." R " t, %4;\nsetp.lt." compare " p, %1, %4;\n@p mul." type " t, %1, %2;\nadd." type  \
         " %0, t, %3;")

// With flushing and saturation, of types that have them.
#define MODIFIERS(T, C, R, type)                                               \
  RESULT(T, C, R, "mul.ftz." type " t, %1, %2;\nadd.ftz." type " %0, t, %3;"); \
  RESULT(T, C, R, "mul.ftz." type " t, %1, %2;\nadd." type " %0, t, %3;");     \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd.ftz." type " %0, t, %3;");     \
  RESULT(T, C, R, "mul." type " t, %1, %2;\nadd.sat." type " %0, t, %3;");     \
  RESULT(T, C, R, "mul.sat." type " t, %1, %2;\nadd." type " %0, t, %3;")

__device__ void pairs_f32(Column<unsigned> o) {
  PAIRS(unsigned, "r", "b32", "f32");
  BRANCHES(unsigned, "r", "b32", "f32", "f32");
  MODIFIERS(unsigned, "r", "b32", "f32");
  RESULT(unsigned, "r", "b32", "mul.rz.f32 t, %1, %2;\nadd.rz.f32 %0, t, %3;");
  RESULT(unsigned, "r", "b32", "mul.f32 t, %1, %2;\nabs.f32 u, t;\nadd.f32 %0, u, %3;");
  RESULT(unsigned, "r", "b32", "mul.f32 t, %1, 0f3DCCCCCD;\nadd.f32 %0, t, 0f3F800000;");
}

__device__ void pairs_f64(Column<uint64_t> o) {
  PAIRS(uint64_t, "l", "b64", "f64");
  BRANCHES(uint64_t, "l", "b64", "f64", "f64");
}

__device__ void pairs_f16(Column<unsigned short> o) {
  PAIRS(unsigned short, "h", "b16", "f16");
  BRANCHES(unsigned short, "h", "b16", "f16", "f16");
  MODIFIERS(unsigned short, "h", "b16", "f16");
}

__device__ void pairs_f16x2(Column<unsigned> o) {
  PAIRS(unsigned, "r", "b32", "f16x2");
  MODIFIERS(unsigned, "r", "b32", "f16x2");
}

#if __CUDA_ARCH__ >= 900
__device__ void pairs_bf16(Column<unsigned short> o) {
  PAIRS(unsigned short, "h", "b16", "bf16");
}
__device__ void pairs_bf16x2(Column<unsigned> o) {
  PAIRS(unsigned, "r", "b32", "bf16x2");
}
#endif

// Operands that lie n apart.
template <class T>
__device__ Column<T> column(const T* operands, uint64_t* out, int i, int n) {
  const T* p = operands + i;
  return {p[0], p[n], p[2 * n], p[3 * n], out + i, n};
}

// Operands: a, b, c and d of n each.
extern "C" __global__ void contraction(const unsigned* f32, const uint64_t* f64, const unsigned* f16x2,
                                       const unsigned* bf16x2, uint64_t* out_f32, uint64_t* out_f64,
                                       uint64_t* out_f16, uint64_t* out_bf16) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  pairs_f32(column(f32, out_f32, i, n));
  pairs_f64(column(f64, out_f64, i, n));
  const auto* const halves = reinterpret_cast<const unsigned short*>(f16x2);
  pairs_f16x2(column(f16x2, out_f16, i, n));
  pairs_f16({halves[2 * i], halves[2 * (i + n)], halves[2 * (i + 2 * n)], halves[2 * (i + 3 * n)],
             out_f16 + 21 * n + i, n});
#if __CUDA_ARCH__ >= 900
  const auto* const bfloats = reinterpret_cast<const unsigned short*>(bf16x2);
  pairs_bf16x2(column(bf16x2, out_bf16, i, n));
  pairs_bf16({bfloats[2 * i], bfloats[2 * (i + n)], bfloats[2 * (i + 2 * n)], bfloats[2 * (i + 3 * n)],
              out_bf16 + 16 * n + i, n});
#endif
}

}  // namespace kernel
