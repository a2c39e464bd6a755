// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f32 and f64, a row of results for each operation: each rounding, with and without flushing and
// saturation, quotients and roots, minima, comparisons, approximate functions, conversions to integers and
// between the two. `out` has results of 32 bits, `wide` of 64.
#include <cstdint>

namespace kernel {

// A thread's operands, and where its next results go.
struct Column {
  float x, y, z;
  double u, v, w;
  unsigned* narrow;
  uint64_t* wide;
  int columns;

  __device__ void put(unsigned r) {
    *narrow = r;
    narrow += columns;
  }
  __device__ void put(uint64_t r) {
    *wide = r;
    wide += columns;
  }
};

#define RESULT(T, C, text, ...)          \
  o.put([&] {                            \
    T result;                            \
    asm(text : C(result) : __VA_ARGS__); \
    return result;                       \
  }())
#define X(op)             RESULT(unsigned, "=r", op " %0, %1;", "f"(o.x))
#define XY(op)            RESULT(unsigned, "=r", op " %0, %1, %2;", "f"(o.x), "f"(o.y))
#define XYZ(op)           RESULT(unsigned, "=r", op " %0, %1, %2, %3;", "f"(o.x), "f"(o.y), "f"(o.z))
#define U(op)             RESULT(uint64_t, "=l", op " %0, %1;", "d"(o.u))
#define UV(op)            RESULT(uint64_t, "=l", op " %0, %1, %2;", "d"(o.u), "d"(o.v))
#define UVW(op)           RESULT(uint64_t, "=l", op " %0, %1, %2, %3;", "d"(o.u), "d"(o.v), "d"(o.w))
#define ROUNDED(M, a, b)  M(a ".rn" b), M(a ".rz" b), M(a ".rm" b), M(a ".rp" b)
#define INTEGRAL(M, a, b) M(a ".rni" b), M(a ".rzi" b), M(a ".rmi" b), M(a ".rpi" b)

__device__ void arithmetic_f32(Column& o) {
  ROUNDED(XY, "add", ".f32"), ROUNDED(XY, "sub", ".ftz.f32"), ROUNDED(XY, "mul", ".f32"),
      ROUNDED(XY, "mul", ".ftz.f32");
  ROUNDED(XY, "div", ".f32"), ROUNDED(XYZ, "fma", ".f32"), ROUNDED(XYZ, "fma", ".ftz.f32"),
      ROUNDED(X, "rcp", ".f32");
  ROUNDED(X, "sqrt", ".f32"), ROUNDED(X, "sqrt", ".ftz.f32"), XY("add.sat.f32"), XY("mul.sat.f32"),
      XY("sub.ftz.sat.f32");
  XYZ("fma.rn.sat.f32"), XY("div.rn.ftz.f32"), XY("div.approx.f32"), XY("div.approx.ftz.f32"),
      XY("div.full.f32");
  XY("div.full.ftz.f32"), XY("min.f32"), XY("max.f32"), XY("min.ftz.f32"), XY("min.NaN.f32"), XY("max.NaN.f32");
  XY("copysign.f32"), X("abs.f32"), X("neg.f32"), X("abs.ftz.f32"), X("neg.ftz.f32");
  RESULT(unsigned, "=r", "slct.f32.f32 %0, %1, %2, %3;", "f"(o.x), "f"(o.y), "f"(o.z));
  RESULT(unsigned, "=r", "slct.ftz.s32.f32 %0, %1, %2, %3;", "r"(1), "r"(2), "f"(o.x));
}

__device__ void approximate(Column& o) {
  X("rcp.approx.f32"), X("rcp.approx.ftz.f32"), X("sqrt.approx.f32"), X("sqrt.approx.ftz.f32"),
      X("rsqrt.approx.f32");
  X("rsqrt.approx.ftz.f32"), X("sin.approx.f32"), X("sin.approx.ftz.f32"), X("cos.approx.f32"),
      X("lg2.approx.f32");
  X("lg2.approx.ftz.f32"), X("ex2.approx.f32"), X("ex2.approx.ftz.f32"), X("tanh.approx.f32");
}

// A bit for each comparison, ordered ones first; those of `testp` behind them.
#define COMPARE(type, C, a, b)                                                                              \
  RESULT(unsigned, "=r",                                                                                    \
         "{\n.reg .pred p;\n.reg .b32 t;\nmov.b32 %0, 0;\n" BIT("eq", type) BIT("ne", type) BIT("lt", type) \
             BIT("le", type) BIT("gt", type) BIT("ge", type) BIT("equ", type) BIT("neu", type)              \
                 BIT("ltu", type) BIT("leu", type) BIT("gtu", type) BIT("geu", type) BIT("num", type)       \
                     BIT("nan", type) "}",                                                                  \
         C(a), C(b))
#define BIT(op, type)  "setp." op "." type " p, %1, %2;\nselp.b32 t, 1, 0, p;\nshf.l.wrap.b32 %0, t, %0, 1;\n"
#define TEST(op, type) "testp." op "." type " p, %1;\nselp.b32 t, 1, 0, p;\nshf.l.wrap.b32 %0, t, %0, 1;\n"
#define TESTS(type, C, a)                                                                                    \
  RESULT(unsigned, "=r",                                                                                     \
         "{\n.reg .pred p;\n.reg .b32 t;\nmov.b32 %0, 0;\n" TEST("finite", type) TEST("infinite", type)      \
             TEST("number", type) TEST("notanumber", type) TEST("normal", type) TEST("subnormal", type) "}", \
         C(a))

__device__ void comparisons(Column& o) {
  COMPARE("f32", "f", o.x, o.y), COMPARE("ftz.f32", "f", o.x, o.z), COMPARE("f64", "d", o.u, o.v);
  TESTS("f32", "f", o.x), TESTS("f64", "d", o.u);
  XY("set.lt.f32.f32"), XY("set.geu.ftz.u32.f32"), XY("set.nan.s32.f32");
}

__device__ void conversions(Column& o) {
  INTEGRAL(X, "cvt", ".s32.f32"), INTEGRAL(X, "cvt", ".u32.f32"), INTEGRAL(X, "cvt", ".f32.f32");
  INTEGRAL(X, "cvt", ".ftz.s32.f32"), X("cvt.rni.s16.f32"), X("cvt.rzi.u16.f32"), X("cvt.rni.sat.s8.f32");
  X("cvt.rzi.sat.u8.f32"), X("cvt.sat.f32.f32"), X("cvt.rzi.ftz.f32.f32"), X("cvt.rna.tf32.f32");
  RESULT(uint64_t, "=l", "cvt.rni.s64.f32 %0, %1;", "f"(o.x)),
      RESULT(uint64_t, "=l", "cvt.rzi.u64.f32 %0, %1;", "f"(o.x));
  RESULT(uint64_t, "=l", "cvt.f64.f32 %0, %1;", "f"(o.x)),
      RESULT(uint64_t, "=l", "cvt.ftz.f64.f32 %0, %1;", "f"(o.x));
  RESULT(unsigned, "=r", "cvt.rn.f32.f64 %0, %1;", "d"(o.u)),
      RESULT(unsigned, "=r", "cvt.rz.f32.f64 %0, %1;", "d"(o.u));
  RESULT(unsigned, "=r", "cvt.rm.f32.f64 %0, %1;", "d"(o.u)),
      RESULT(unsigned, "=r", "cvt.rp.f32.f64 %0, %1;", "d"(o.u));
  RESULT(unsigned, "=r", "cvt.rn.ftz.f32.f64 %0, %1;", "d"(o.u));
  RESULT(unsigned, "=r", "cvt.rni.s32.f64 %0, %1;", "d"(o.u)),
      RESULT(unsigned, "=r", "cvt.rzi.u32.f64 %0, %1;", "d"(o.u));
  INTEGRAL(U, "cvt", ".s64.f64"), INTEGRAL(U, "cvt", ".u64.f64"), INTEGRAL(U, "cvt", ".f64.f64");
}

__device__ void arithmetic_f64(Column& o) {
  ROUNDED(UV, "add", ".f64"), ROUNDED(UV, "sub", ".f64"), ROUNDED(UV, "mul", ".f64"),
      ROUNDED(UV, "div", ".f64");
  ROUNDED(UVW, "fma", ".f64"), ROUNDED(U, "rcp", ".f64"), ROUNDED(U, "sqrt", ".f64"), UV("min.f64"),
      UV("max.f64");
  UV("copysign.f64"), U("abs.f64"), U("neg.f64");
}

extern "C" __global__ void floats(const float* x, const float* y, const float* z, const double* u,
                                  const double* v, const double* w, unsigned* out, uint64_t* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  Column o = {x[i], y[i], z[i], u[i], v[i], w[i], out + i, wide + i, n};
  arithmetic_f32(o);
  approximate(o);
  comparisons(o);
  conversions(o);
  arithmetic_f64(o);
}

}  // namespace kernel
