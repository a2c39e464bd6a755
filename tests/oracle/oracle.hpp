// SPDX-License-Identifier: Apache-2.0
// A second, naive implementation of the numeric rules: exact big integers, no code shared with the library.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace oracle {

using boost::multiprecision::cpp_int;

// What a code of some format means. Formats, by the manual's name:
// f64 f32 tf32 f16 bf16 e5m2 e4m3 e3m2 e2m3 e2m1 ue8m0 ue4m3 s32 s8 u8 s4 u4 b1.
struct Value {
  enum Kind { zero, finite, infinity, nan } kind = zero;
  bool negative = false;
  cpp_int magnitude = 0;   // a finite value is exactly +-magnitude * 2^exponent
  int exponent = 0;        // of the last place of `magnitude`
  int raw_exponent = 0;    // a zero or subnormal has that of the smallest normal number; 0 for integers
  std::uint64_t code = 0;  // as it was given, bits beyond the format's width dropped
};

// Decodes a code. tf32: the low 13 bits are dropped before classification. ue4m3: bit 7 is ignored.
// Throws std::invalid_argument for an unknown format.
Value decode(std::string_view format, std::uint64_t code);

// The rounding directions of IEEE 754.
enum class Round { nearest_even, toward_zero, down, up, nearest_away };

// Encodes the exact number +-magnitude * 2^exponent, magnitude >= 0; zero keeps its sign where the format has
// one. Overflow goes to the largest finite number if `saturate`, if `Round` leads there, or if the format has
// neither Inf nor NaN; otherwise to Inf, or to the canonical NaN where there is no Inf. Integers are rounded to
// an integer, then wrapped, or clamped if `saturate`. A format without sign makes of a negative non-zero number
// the canonical NaN, or its smallest code if `saturate`. ue8m0 has no zero: zero and all below 2^-127 become
// code 0.
std::uint64_t encode(std::string_view format, bool negative, const cpp_int& magnitude, int exponent, Round,
                     bool saturate);

// The NaN that an operation itself makes. Throws std::invalid_argument for a format without NaN.
std::uint64_t canonical_nan(std::string_view format);

// One output element of mma.sync or mma.sp.sync, with or without .block_scale, of wmma.mma, or of
// wgmma.mma_async, by the words of its qualifiers.
struct Problem {
  std::string target;      // sm_90a
  std::string shape;       // m16n8k16
  std::string d, a, b, c;  // names of formats
  bool satfinite = false;
  std::string rounding;       // f64 only: "" (is rn), "rn", "rz", "rm", "rp"
  std::string bit_operation;  // b1 only: "xor", "and"
  bool sparse = false;        // mma.sp, wgmma.mma_async.sp: half of K products exist
  std::string scale;          // .block_scale only: ue8m0, ue4m3
  int blocks = 0;             // .block_scale only: the number in scale_vec::1X, 2X, 4X
  bool wmma = false, wgmma = false;
  bool negate_a = false, negate_b = false;  // wgmma only: imm-scale-a, imm-scale-b of -1
};

// Reads the words of a form such as mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32. Throws
// std::invalid_argument for a word that no form has.
Problem problem_of(std::string_view target, std::string_view form);

// A problem with its rule looked up once, for loops. Cheap to copy; const use from several threads is safe.
class Dot {
 public:
  // Throws std::invalid_argument where no rule is given.
  explicit Dot(const Problem&);
  // a and b hold a code for each product that exists (K of the shape; half of it if sparse), in ascending k,
  // else std::invalid_argument. Returns the code of D.
  std::uint64_t operator()(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           std::uint64_t c) const;
  // With block scaling. The scales of A's row and of B's column, one for each block, low k first: the products
  // that exist are dealt out evenly. Other numbers of scales, or scales for a problem without, are a
  // std::invalid_argument; so is the call above for a problem with scales.
  std::uint64_t operator()(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                           std::span<const std::uint64_t> scale_a,
                           std::span<const std::uint64_t> scale_b) const;

 private:
  std::shared_ptr<const struct Resolved> resolved_;
};

// One output element of tcgen05.mma, dense or sparse, by its .kind and the types of its instruction descriptor.
struct TensorProblem {
  std::string kind;     // f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4
  std::string d, a, b;  // names of formats
  bool saturates = false;
  std::string scale;  // of block scaling: ue8m0, ue4m3
};

// As Dot, of any number of products and scales. C has D's format.
class TensorDot {
 public:
  // Throws std::invalid_argument for an unknown format.
  explicit TensorDot(const TensorProblem&);
  std::uint64_t operator()(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                           std::span<const std::uint64_t> scale_a = {},
                           std::span<const std::uint64_t> scale_b = {}) const;

 private:
  TensorProblem problem_;
};

// The same in one call.
std::uint64_t dot(const Problem&, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                  std::uint64_t c);

}  // namespace oracle
