// SPDX-License-Identifier: Apache-2.0
// Shared by both compilers: fragments, and what the rows of warpbit/device/forms.hpp are made of.
#pragma once

#include <cstdint>
#include <cstring>  // std::memcpy

#include "warpbit/detail/swizzle.hpp"
#ifndef __CUDACC__
#include "warpbit/detail/block.hpp"
#endif

#ifdef __CUDACC__
/// Marks a kernel; goes before its return type.
#define WARPBIT_KERNEL __global__
/// Marks a function that kernels call.
#define WARPBIT_DEVICE __device__ __forceinline__
#define WARPBIT_BOTH   __host__ __device__
/// Marks a tensor map among the parameters of a kernel.
#define WARPBIT_GRID_CONSTANT __grid_constant__
/// What one of the compilers gets: nvcc the first argument, others the rest.
#define WARPBIT_EITHER(cuda, ...) cuda
#else
#define WARPBIT_KERNEL inline
#define WARPBIT_DEVICE inline
#define WARPBIT_BOTH
#define WARPBIT_GRID_CONSTANT
#define WARPBIT_EITHER(cuda, ...) __VA_ARGS__
#endif

namespace warpbit::device {

using warpbit::Swizzle;

/// One lane's part of an operand: N registers.
template <class R, int N>
struct Fragment {
  R r[N];

  WARPBIT_BOTH constexpr R& operator[](int i) { return r[i]; }
  WARPBIT_BOTH constexpr const R& operator[](int i) const { return r[i]; }
};

#ifdef __CUDACC__
template <class R, int N>
using AsyncFragment = Fragment<R, N>;

/// nvcc tells no places.
struct Place {
  WARPBIT_BOTH static constexpr Place here() { return {}; }
};
#else
template <class R, int N>
class AsyncFragment;
#endif

template <class T, class... Of>
inline constexpr bool one_of = (__is_same(T, Of) || ...);

/// Some rows, e.g. all of a template.
template <class...>
struct Rows {};

/// A number as an operand.
template <int N>
struct Literal {};

/// The registers of a row that has those of one operand.
template <class T>
struct Held {
  using Registers = T;
};
/// The fragments of a product: number and type of the registers of each operand. If A is sparse, the selector has
/// so many values.
template <class D, int kD, class Factor, int kA, int kB, int kSelectors>
struct Fragments {
  using Sum = Fragment<D, kD>;
  using A = Fragment<Factor, kA>;
  using B = Fragment<Factor, kB>;
  static constexpr int selectors = kSelectors;
};

// ---- Bulk copies

/// What a copy makes of the elements that are there already (PTX manual, "cp.reduce.async.bulk").
enum class Reduction : std::uint8_t { add, min, max, inc, dec, and_, or_, xor_ };

/// The words of a statement for an operation, and for the type of elements.
template <Reduction>
struct OperationText;
#define WARPBIT_OPERATION(name, word)             \
  template <>                                     \
  struct OperationText<Reduction::name> {         \
    static constexpr char operation[] = "." word; \
  };
WARPBIT_OPERATION(add, "add")
WARPBIT_OPERATION(min, "min")
WARPBIT_OPERATION(max, "max")
WARPBIT_OPERATION(inc, "inc")
WARPBIT_OPERATION(dec, "dec")
WARPBIT_OPERATION(and_, "and")
WARPBIT_OPERATION(or_, "or")
WARPBIT_OPERATION(xor_, "xor")
#undef WARPBIT_OPERATION

/// A tensor map as a parameter of a kernel: the 128 bytes of a CUtensorMap, or those of TensorMap::encode.
///
///     WARPBIT_KERNEL void kernel(const WARPBIT_GRID_CONSTANT TensorMapParameter map, ...)
struct WARPBIT_EITHER(alignas(64), alignas(8)) TensorMapParameter {
  unsigned char bytes[128];

  template <class Map>
  static TensorMapParameter of(const Map& map) {
    static_assert(sizeof map == 128, "a tensor map has 128 bytes");
    TensorMapParameter out;
    std::memcpy(out.bytes, &map, 128);
    return out;
  }
};

// ---- Products

/// Selects the bytes and lanes that hold the scale factors of an operand: {byte-id, thread-id}.
struct ScaleSelector {
  std::uint16_t byte_id = 0, thread_id = 0;
};

// ---- wgmma

/// The shape 64 x N x K.
template <int N, int K>
struct m64nNkK {};

/// One lane's parts of D and of an A in registers, and which immediates the form has.
template <int N, class D, int kD, bool kScales, bool kTransposes>
struct AsyncFragments {
  using Sum = AsyncFragment<D, kD>;
  using A = AsyncFragment<std::uint32_t, 4>;
  static constexpr int columns = N;
  static constexpr bool scales = kScales, transposes = kTransposes;
  static_assert(!scales || (N >= 8 && N <= 256 && N % 8 == 0), "N of wgmma is a multiple of 8 from 8 to 256");
  static_assert(scales || N == 8 || N == 24 || (N >= 16 && N <= 256 && N % 16 == 0),
                "N of wgmma with A s8 or u8 is 8, 24 or a multiple of 16 from 16 to 256");
};

/// The text of an immediate, if the form has it.
template <bool kIsThere, int kValue>
struct Immediate {
  static constexpr char text[] = "";
};
/// 1.
template <>
struct Immediate<true, 1> {
  static constexpr char text[] = ", 1";
};
/// 0.
template <>
struct Immediate<true, 0> {
  static constexpr char text[] = ", 0";
};
/// -1.
template <>
struct Immediate<true, -1> {
  static constexpr char text[] = ", -1";
};

/// A statement of a row, with imm-scale-a, imm-scale-b, imm-trans-a and imm-trans-b as far as the form has them.
template <class Row_, bool kDescribed, int ScaleA, int ScaleB, int TransA, int TransB>
struct WgmmaStatement {
  using Row = Row_;
  using SignA = Immediate<Row::scales, ScaleA>;
  using SignB = Immediate<Row::scales, ScaleB>;
  using TransposedA = Immediate<Row::transposes && kDescribed, TransA>;
  using TransposedB = Immediate<Row::transposes, TransB>;
  static_assert((ScaleA == 1 || ScaleA == -1) && (ScaleB == 1 || ScaleB == -1),
                "imm-scale-a and imm-scale-b of wgmma are 1 or -1");
  static_assert(Row::scales || (ScaleA == 1 && ScaleB == 1),
                "wgmma with A s8 or u8 negates nothing: imm-scale-a and imm-scale-b are 1");
  static_assert((TransA == 0 || TransA == 1) && (TransB == 0 || TransB == 1),
                "imm-trans-a and imm-trans-b of wgmma are 0 or 1");
  static_assert(Row::transposes || (TransA == 0 && TransB == 0), "wgmma transposes f16 and bf16 alone");
  static_assert(kDescribed || TransA == 0, "wgmma does not transpose an A in registers");
};

}  // namespace warpbit::device
