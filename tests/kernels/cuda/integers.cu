// SPDX-License-Identifier: Apache-2.0
// Integer instructions, a row of results for each: chains of carries, products, divisions (also by zero), bit
// fields, shifts beyond the width, permutations of bytes, logic of three operands, dot products, clamping,
// conversions. `out` has results of 32 bits, `wide` of 64; a thread has a column.
#include <cstdint>

namespace kernel {

// Where the next results go.
struct Rows {
  unsigned* narrow;
  uint64_t* wide;
  int columns;

  __device__ void put(unsigned x) {
    *narrow = x;
    narrow += columns;
  }
  __device__ void put(uint64_t x) {
    *wide = x;
    wide += columns;
  }
};

struct Operands {
  unsigned x, y, z;
  uint64_t u, v;  // x:y and z:x
};

// "=C" is the result of type T; a `text` has its operands as %1, %2, %3.
#define RESULT(T, C, text, ...)          \
  rows.put([&] {                         \
    T result;                            \
    asm(text : C(result) : __VA_ARGS__); \
    return result;                       \
  }())
#define XY(op)   RESULT(unsigned, "=r", op " %0, %1, %2;", "r"(o.x), "r"(o.y))
#define XYZ(op)  RESULT(unsigned, "=r", op " %0, %1, %2, %3;", "r"(o.x), "r"(o.y), "r"(o.z))
#define X(op)    RESULT(unsigned, "=r", op " %0, %1;", "r"(o.x))
#define UV(op)   RESULT(uint64_t, "=l", op " %0, %1, %2;", "l"(o.u), "l"(o.v))
#define WIDE(op) RESULT(uint64_t, "=l", op " %0, %1, %2;", "r"(o.x), "r"(o.y))
#define U(op)    RESULT(uint64_t, "=l", op " %0, %1;", "l"(o.u))
#define UX(op)   RESULT(uint64_t, "=l", op " %0, %1, %2;", "l"(o.u), "r"(o.x))
// Of the lower halves of x and y, in a scope with 16-bit registers; the result widened by `widen`.
#define HALVES(op, widen)                                                                         \
  RESULT(unsigned, "=r",                                                                          \
         "{\n.reg .b16 a, b, r;\ncvt.u16.u32 a, %1;\ncvt.u16.u32 b, %2;\n" op " r, a, b;\n" widen \
         " %0, r;\n}",                                                                            \
         "r"(o.x), "r"(o.y))

__device__ void carries(Rows& rows, const Operands& o) {
  unsigned r[4];
  asm("add.cc.u32 %0, %4, %5;\naddc.cc.u32 %1, %5, %6;\naddc.cc.u32 %2, %6, %4;\naddc.u32 %3, 0, 0;"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3])
      : "r"(o.x), "r"(o.y), "r"(o.z));
  for (const unsigned word : r) rows.put(word);
  asm("sub.cc.u32 %0, %4, %5;\nsubc.cc.u32 %1, %5, %6;\nsubc.cc.u32 %2, %6, %4;\nsubc.u32 %3, 0, 0;"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3])
      : "r"(o.x), "r"(o.y), "r"(o.z));
  for (const unsigned word : r) rows.put(word);
  // (x:y) times (z:x), 128 bits.
  asm("{\nmul.lo.u32 %0, %5, %4;\nmul.hi.u32 %1, %5, %4;\nmad.lo.cc.u32 %1, %5, %6, %1;\n"
      "madc.hi.u32 %2, %5, %6, 0;\nmad.lo.cc.u32 %1, %4, %4, %1;\nmadc.hi.cc.u32 %2, %4, %4, %2;\n"
      "addc.u32 %3, 0, 0;\nmad.lo.cc.u32 %2, %4, %6, %2;\nmadc.hi.u32 %3, %4, %6, %3;\n}"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3])
      : "r"(o.x), "r"(o.y), "r"(o.z));
  for (const unsigned word : r) rows.put(word);
  uint64_t w[2];
  asm("add.cc.u64 %0, %2, %3;\naddc.u64 %1, %3, %2;" : "=&l"(w[0]), "=&l"(w[1]) : "l"(o.u), "l"(o.v));
  for (const uint64_t word : w) rows.put(word);
  asm("mad.lo.cc.u64 %0, %2, %3, %3;\nmadc.hi.u64 %1, %2, %3, %2;"
      : "=&l"(w[0]), "=&l"(w[1])
      : "l"(o.u), "l"(o.v));
  for (const uint64_t word : w) rows.put(word);
}

__device__ void products(Rows& rows, const Operands& o) {
  XY("mul.lo.s32"), XY("mul.hi.s32"), XY("mul.hi.u32"), XY("mul24.lo.s32"), XY("mul24.hi.s32"),
      XY("mul24.lo.u32");
  XY("mul24.hi.u32"), XYZ("mad24.lo.s32"), XYZ("mad24.hi.s32"), XYZ("mad24.hi.sat.s32"), XYZ("mad24.lo.u32");
  XYZ("mad.lo.s32"), XYZ("mad.hi.s32"), XYZ("mad.hi.sat.s32"), XYZ("mad.hi.u32"), XYZ("sad.s32"),
      XYZ("sad.u32");
  XYZ("dp4a.s32.s32"), XYZ("dp4a.u32.u32"), XYZ("dp4a.s32.u32"), XYZ("dp4a.u32.s32"), XYZ("dp2a.lo.s32.s32");
  XYZ("dp2a.hi.s32.s32"), XYZ("dp2a.lo.u32.u32"), XYZ("dp2a.hi.u32.s32");
  WIDE("mul.wide.s32"), WIDE("mul.wide.u32"), UV("mul.lo.u64"), UV("mul.hi.s64"), UV("mul.hi.u64");
  RESULT(uint64_t, "=l", "mad.wide.s32 %0, %1, %2, %3;", "r"(o.x), "r"(o.y), "l"(o.u));
  RESULT(uint64_t, "=l", "mad.wide.u32 %0, %1, %2, %3;", "r"(o.x), "r"(o.y), "l"(o.v));
  RESULT(uint64_t, "=l", "sad.s64 %0, %1, %2, %1;", "l"(o.u), "l"(o.v));
  HALVES("mul.lo.s16", "cvt.s32.s16"), HALVES("mul.hi.s16", "cvt.s32.s16"), HALVES("mul.hi.u16", "cvt.u32.u16");
  HALVES("add.s16", "cvt.s32.s16"), HALVES("sub.u16", "cvt.u32.u16");
  XY("add.sat.s32"), XY("sub.sat.s32");
}

__device__ void divisions(Rows& rows, const Operands& o) {
  XY("div.s32"), XY("div.u32"), XY("rem.s32"), XY("rem.u32"), UV("div.s64"), UV("div.u64"), UV("rem.s64");
  UV("rem.u64"), HALVES("div.s16", "cvt.s32.s16"), HALVES("div.u16", "cvt.u32.u16"),
      HALVES("rem.s16", "cvt.s32.s16");
  HALVES("rem.u16", "cvt.u32.u16");
  // By 64-bit words of which the upper half is zero, and the same of both.
  RESULT(uint64_t, "=l", "div.u64 %0, %1, %2;", "l"(o.u), "l"(uint64_t{o.z}));
  RESULT(uint64_t, "=l", "rem.u64 %0, %1, %2;", "l"(uint64_t{o.x}), "l"(uint64_t{o.z}));
}

__device__ void comparisons(Rows& rows, const Operands& o) {
  X("abs.s32"), X("neg.s32"), X("not.b32"), X("cnot.b32"), XY("min.s32"), XY("max.s32"), XY("min.u32");
  XY("max.u32"), UV("min.s64"), UV("max.u64"), U("abs.s64"), U("neg.s64"), U("not.b64"), U("cnot.b64");
  HALVES("min.s16", "cvt.s32.s16"), HALVES("max.u16", "cvt.u32.u16");
  XYZ("slct.s32.s32"), XY("set.lt.u32.s32"), XY("set.hs.u32.u32"), UV("and.b64"), UV("or.b64"), UV("xor.b64");
  RESULT(unsigned, "=r",
         "{\n.reg .pred p, q, r;\nsetp.lt.s32 p|q, %1, %2;\nsetp.ne.and.u32 r, %3, 0, p;\n"
         "selp.u32 %0, 1, 2, q;\n@r add.u32 %0, %0, 4;\n@!p add.u32 %0, %0, 8;\n}",
         "r"(o.x), "r"(o.y), "r"(o.z));
}

__device__ void bits(Rows& rows, const Operands& o) {
  X("popc.b32"), X("clz.b32"), X("brev.b32"), X("bfind.u32"), X("bfind.s32"), X("bfind.shiftamt.u32");
  X("bfind.shiftamt.s32"), U("brev.b64");
  RESULT(unsigned, "=r", "popc.b64 %0, %1;", "l"(o.u));
  RESULT(unsigned, "=r", "clz.b64 %0, %1;", "l"(o.u));
  RESULT(unsigned, "=r", "bfind.u64 %0, %1;", "l"(o.u));
  RESULT(unsigned, "=r", "bfind.s64 %0, %1;", "l"(o.u));
  RESULT(unsigned, "=r", "fns.b32 %0, %1, %2, %3;", "r"(o.x), "r"(o.y & 31), "r"(int(o.z % 9) - 4));
  XYZ("bfe.u32"), XYZ("bfe.s32"), XY("szext.wrap.s32"), XY("szext.clamp.u32"), XY("bmsk.wrap.b32");
  XY("bmsk.clamp.b32"), RESULT(unsigned, "=r", "lop3.b32 %0, %1, %2, %3, 0x96;", "r"(o.x), "r"(o.y), "r"(o.z));
  XYZ("prmt.b32"), XYZ("prmt.b32.f4e"), XYZ("prmt.b32.b4e"), XYZ("prmt.b32.rc8"), XYZ("prmt.b32.ecl");
  XYZ("prmt.b32.ecr"), XYZ("prmt.b32.rc16"), XYZ("shf.l.clamp.b32"), XYZ("shf.l.wrap.b32"),
      XYZ("shf.r.clamp.b32");
  XYZ("shf.r.wrap.b32"), XY("shl.b32"), XY("shr.u32"), XY("shr.s32"), UX("shl.b64"), UX("shr.u64"),
      UX("shr.s64");
  RESULT(unsigned, "=r", "bfi.b32 %0, %1, %2, %3, %4;", "r"(o.x), "r"(o.y), "r"(o.z & 63), "r"(o.z >> 8 & 63));
  RESULT(uint64_t, "=l", "bfi.b64 %0, %1, %2, %3, %4;", "l"(o.u), "l"(o.v), "r"(o.z & 127),
         "r"(o.z >> 8 & 127));
  RESULT(uint64_t, "=l", "bfe.u64 %0, %1, %2, %3;", "l"(o.u), "r"(o.z & 127), "r"(o.z >> 8 & 127));
  RESULT(uint64_t, "=l", "bfe.s64 %0, %1, %2, %3;", "l"(o.u), "r"(o.z & 127), "r"(o.z >> 8 & 127));
  RESULT(unsigned, "=r",
         "{\n.reg .pred p, q;\nsetp.lt.s32 q, %1, 0;\nlop3.or.b32 %0|p, %1, %2, %3, 0xca, q;\n"
         "selp.u32 %0, %0, 77, p;\n}",
         "r"(o.x), "r"(o.y), "r"(o.z));
}

__device__ void conversions(Rows& rows, const Operands& o) {
  X("cvt.s32.s8"), X("cvt.u32.u8"), X("cvt.s32.s16"), X("cvt.sat.s8.s32"), X("cvt.sat.u8.s32"),
      X("cvt.sat.u16.s32");
  X("cvt.sat.u32.s32"), X("cvt.sat.s32.u32"), XY("cvt.pack.sat.s16.s32"), XY("cvt.pack.sat.u16.s32");
  XYZ("cvt.pack.sat.s8.s32.b32"), XYZ("cvt.pack.sat.u8.s32.b32");
  RESULT(unsigned, "=r", "cvt.sat.s32.s64 %0, %1;", "l"(o.u));
  RESULT(unsigned, "=r", "cvt.sat.u32.u64 %0, %1;", "l"(o.u >> 16));
  RESULT(unsigned, "=r", "cvt.rn.f32.s32 %0, %1;", "r"(o.x));
  RESULT(unsigned, "=r", "cvt.rz.f32.u32 %0, %1;", "r"(o.x));
  RESULT(unsigned, "=r", "cvt.rn.f32.u64 %0, %1;", "l"(o.u));
  RESULT(unsigned, "=r", "cvt.rp.f32.s64 %0, %1;", "l"(o.u));
  RESULT(uint64_t, "=l", "cvt.rn.f64.s64 %0, %1;", "l"(o.u));
  RESULT(uint64_t, "=l", "cvt.rm.f64.u64 %0, %1;", "l"(o.u));
  RESULT(uint64_t, "=l", "cvt.rn.f64.s32 %0, %1;", "r"(o.x));
}

extern "C" __global__ void integers(const unsigned* x, const unsigned* y, const unsigned* z, unsigned* out,
                                    uint64_t* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Operands o = {x[i], y[i], z[i], uint64_t{x[i]} << 32 | y[i], uint64_t{z[i]} << 32 | x[i]};
  Rows rows = {out + i, wide + i, static_cast<int>(gridDim.x * blockDim.x)};
  carries(rows, o);
  products(rows, o);
  divisions(rows, o);
  comparisons(rows, o);
  bits(rows, o);
  conversions(rows, o);
}

}  // namespace kernel
