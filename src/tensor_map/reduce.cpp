// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/reduce.hpp"

#include <algorithm>
#include <array>
#include <cstring>  // std::memcpy

namespace warpbit::tensor_map {
namespace {

using U64 = std::uint64_t;

constexpr U64 low_bits(unsigned n) {
  return n >= 64 ? ~U64{0} : (U64{1} << n) - 1;
}

// ---- Floating point

//  sign:1  exponent  fraction
struct Format {
  unsigned bits, fraction;
  bool flushes;    // subnormals in and out of a sum become zeros of their sign
  bool keeps_nan;  // a sum with NaN has its bits, signaling or not; those of the second operand if both are
  U64 nan;         // of sums and of what has no number

  U64 sign() const { return U64{1} << (bits - 1); }
  U64 infinity() const { return low_bits(bits - 1 - fraction) << fraction; }
  bool is_nan(U64 x) const { return (x & ~sign()) > infinity(); }
  U64 flushed(U64 x) const { return flushes && (x & infinity()) == 0 ? x & sign() : x; }
};

constexpr Format kF16{16, 10, false, false, 0x7FFF}, kBf16{16, 7, false, false, 0x7FFF},
    kF32{32, 23, false, false, 0x7FFFFFFF}, kF32Ftz{32, 23, true, false, 0x7FFFFFFF},
    kF64{64, 52, false, true, 0xFFF8000000000000};

bool is_floating(TensorType type) {
  return type >= TensorType::f16;
}

const Format& format(TensorType type) {
  switch (type) {
    case TensorType::f16: return kF16;
    case TensorType::bf16: return kBf16;
    case TensorType::f64: return kF64;
    case TensorType::f32_ftz:
    case TensorType::tf32_ftz: return kF32Ftz;
    default: return kF32;
  }
}

// Shifts right; lost bits make bit 0 a 1.
U64 shift_sticky(U64 x, U64 n) {
  if (n == 0) return x;
  return n > 63 ? U64{x != 0} : x >> n | U64{(x & low_bits(static_cast<unsigned>(n))) != 0};
}

// To nearest even. `significand` has three bits below the fraction of a number with that exponent field (at least 1).
U64 packed(const Format& f, U64 sign, U64 exponent, U64 significand) {
  const U64 one = U64{1} << (f.fraction + 3);
  if (significand >= 2 * one) significand = shift_sticky(significand, 1), ++exponent;
  while (significand < one && exponent > 1) significand <<= 1, --exponent;
  const U64 rest = significand & 7, kept = significand >> 3;
  U64 magnitude = (kept < one >> 3 ? 0 : exponent << f.fraction) + (kept & low_bits(f.fraction));
  magnitude += rest > 4 || (rest == 4 && (kept & 1) != 0);
  return sign | std::min(magnitude, f.infinity());
}

U64 sum(const Format& f, U64 x, U64 y) {
  if (f.is_nan(x) || f.is_nan(y)) return f.keeps_nan ? (f.is_nan(y) ? y : x) : f.nan;
  x = f.flushed(x), y = f.flushed(y);
  if ((x & ~f.sign()) < (y & ~f.sign())) std::swap(x, y);
  const U64 sx = x & f.sign(), sy = y & f.sign(), a = x ^ sx, b = y ^ sy;
  if (a == f.infinity()) return b == a && sx != sy ? f.nan : x;
  const auto exponent = [&](U64 m) { return std::max<U64>(m >> f.fraction, 1); };
  const auto significand = [&](U64 m) {
    return ((m & low_bits(f.fraction)) | U64{m >> f.fraction != 0} << f.fraction) << 3;
  };
  const U64 aligned = shift_sticky(significand(b), exponent(a) - exponent(b));
  const U64 total = sx == sy ? significand(a) + aligned : significand(a) - aligned;
  if (total == 0) return sx == sy ? sx : 0;
  return f.flushed(packed(f, sx, exponent(a), total));
}

// The smaller (or larger) number; a NaN loses, and -0 is below +0.
U64 extreme(const Format& f, bool is_min, U64 x, U64 y) {
  if (f.is_nan(x)) return f.is_nan(y) ? f.nan : y;
  if (f.is_nan(y)) return x;
  const auto ordered = [&](U64 v) {
    return (v & f.sign()) != 0 ? f.sign() - (v & ~f.sign()) - 1 : f.sign() + v;
  };
  return (ordered(x) < ordered(y)) == is_min ? x : y;
}

// ---- Integers

bool is_signed(TensorType type) {
  return type == TensorType::s32 || type == TensorType::s64;
}

bool less(TensorType type, U64 x, U64 y) {
  const U64 flip = is_signed(type) ? U64{1} << (8 * element_bytes(type) - 1) : 0;
  return (x ^ flip) < (y ^ flip);
}

}  // namespace

std::string_view name(Reduction reduction) {
  constexpr std::string_view kNames[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return kNames[static_cast<std::size_t>(reduction)];
}

bool exists(Reduction reduction, TensorType type, bool tensor) {
  using enum TensorType;
  switch (reduction) {
    case Reduction::add:
      return type == u32 || type == s32 || type == u64 || type == f16 || type == f32 || type == f64 ||
             type == bf16 || (tensor && (type == f32_ftz || type == tf32 || type == tf32_ftz));
    case Reduction::min:
    case Reduction::max:
      return type == u32 || type == s32 || type == u64 || type == s64 || type == f16 || type == bf16;
    case Reduction::inc:
    case Reduction::dec: return type == u32;
    default: return type == u32 || type == u64 || (tensor && type == s32);
  }
}

std::uint64_t reduce(Reduction reduction, TensorType type, std::uint64_t old, std::uint64_t value) {
  const U64 mask = low_bits(8 * element_bytes(type));
  switch (reduction) {
    case Reduction::add: return is_floating(type) ? sum(format(type), old, value) : (old + value) & mask;
    case Reduction::min:
    case Reduction::max: {
      const bool is_min = reduction == Reduction::min;
      if (is_floating(type)) return extreme(format(type), is_min, old, value);
      return less(type, old, value) == is_min ? old : value;
    }
    case Reduction::inc: return old >= value ? 0 : old + 1;
    case Reduction::dec: return old == 0 || old > value ? value : old - 1;
    case Reduction::and_: return old & value;
    case Reduction::or_: return old | value;
    case Reduction::xor_: return old ^ value;
  }
  return old;
}

void reduce(Reduction reduction, TensorType type, std::span<std::byte> old, std::span<const std::byte> values) {
  const std::size_t bytes = element_bytes(type);
  for (std::size_t i = 0; i + bytes <= old.size(); i += bytes) {
    U64 x = 0, y = 0;
    std::memcpy(&x, &old[i], bytes);
    std::memcpy(&y, &values[i], bytes);
    x = reduce(reduction, type, x, y);
    std::memcpy(&old[i], &x, bytes);
  }
}

}  // namespace warpbit::tensor_map
