// SPDX-License-Identifier: Apache-2.0
// Tensor memory for kernels' source (PTX manual, "TensorCore 5th Generation Family Instructions"). On sm_100, sm_103 and
// sm_110, with the targets whose names end in a or f. Without a GPU, src/async/ASYNCHRONOUS.md, "Tensor memory", has what is a
// fault; what it calls tolerated is not reported. An address of tensor memory has the lane in its upper and the column in its
// lower 16 bits.
//
//     tcgen05_alloc(where, 32);                                    // a whole warp
//     ...
//     if (threadIdx.x == 0) {
//       tcgen05_mma<MmaKind::f16>(d, tensor_descriptor(a, 128, 256, Swizzle::none), b, instruction, false);
//       tcgen05_commit(done);
//     }
//     mbarrier_wait_parity(done, 0);
//     tcgen05_fence_after_thread_sync();
//     const auto r = tcgen05_ld<shape32x32b, 16>(d + (warp << 21));  // a whole warp
//     tcgen05_wait_ld();
#pragma once

#include "warpbit/device/forms.hpp"

namespace warpbit::device {

// ---- Descriptors

/// The descriptor of a matrix in shared memory that begins there, for tcgen05_mma and tcgen05_cp.
template <class T>
WARPBIT_DEVICE std::uint64_t tensor_descriptor(SharedArray<T> start, int leading_bytes, int stride_bytes,
                                               Swizzle swizzle, Place at = Place::here()) {
  WARPBIT_EITHER(return tensor_matrix(start, leading_bytes, stride_bytes, swizzle),
                        return calls::tensor_descriptor(start.view, leading_bytes, stride_bytes, swizzle, at));
}

// ---- Allocation, by a whole warp; with CtaGroup 2 by one in each block of a pair

/// Allocates columns, a power of two from 32 to 512, and stores the address. Waits while too few are free.
template <int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_alloc(SharedArray<std::uint32_t> to, std::uint32_t columns,
                                  Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(
      asm volatile(
          "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(to)),
          "r"(columns), "n"(CtaGroup)
          : "memory"),
      calls::tensor_by_warp(calls::Tensor::alloc, CtaGroup, {.columns = columns, .shared = &to.view}, at));
}
/// Frees what tcgen05_alloc has returned.
template <int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_dealloc(std::uint32_t address, std::uint32_t columns, Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(
      asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns),
                   "n"(CtaGroup)
                   : "memory"),
      calls::tensor_by_warp(calls::Tensor::dealloc, CtaGroup, {.address = address, .columns = columns}, at));
}
/// The block allocates no more.
template <int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_relinquish_alloc_permit(Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(CtaGroup)
                              : "memory"),
                 calls::tensor_by_warp(calls::Tensor::relinquish, CtaGroup, {}, at));
}

// ---- Loads and stores by a whole warp are tcgen05_ld and tcgen05_st (warpbit/device/forms.hpp). Waits for all of the warp:

/// Until its loads are complete.
WARPBIT_DEVICE void tcgen05_wait_ld(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("tcgen05.wait::ld.sync.aligned;" ::
                                  : "memory"),
                 calls::tensor_by_warp(calls::Tensor::wait_ld, 1, {}, at));
}
/// Until its stores are complete.
WARPBIT_DEVICE void tcgen05_wait_st(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("tcgen05.wait::st.sync.aligned;" ::
                                  : "memory"),
                 calls::tensor_by_warp(calls::Tensor::wait_st, 1, {}, at));
}
/// Orders what threads have done with tensor memory before they synchronise, and what they do behind that.
WARPBIT_DEVICE void tcgen05_fence_before_thread_sync(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("tcgen05.fence::before_thread_sync;" ::
                                  : "memory"),
                 calls::tensor(calls::Tensor::fence_before, 1, {}, at));
}
/// The other half.
WARPBIT_DEVICE void tcgen05_fence_after_thread_sync(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("tcgen05.fence::after_thread_sync;" ::
                                  : "memory"),
                 calls::tensor(calls::Tensor::fence_after, 1, {}, at));
}

// ---- By one thread; with CtaGroup 2 by one of the pair, for both blocks

/// .kind::... without scale factors. `instruction` is an instruction descriptor (warpbit/instruction.hpp).
enum class MmaKind : std::uint8_t { f16, tf32, f8f6f4, i8 };
/// The word of a statement for a kind.
template <MmaKind>
struct MmaKindText;
#define WARPBIT_KIND(name)                         \
  template <>                                      \
  struct MmaKindText<MmaKind::name> {              \
    static constexpr char text[] = "kind::" #name; \
  };
WARPBIT_KIND(f16)
WARPBIT_KIND(tf32)
WARPBIT_KIND(f8f6f4)
WARPBIT_KIND(i8)
#undef WARPBIT_KIND

/// D = A B, or D = A B + D, with A and B in shared memory.
template <MmaKind Kind, int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_mma(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t instruction,
                                bool accumulates, Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                              "tcgen05.mma.cta_group::%5.%6 [%0], %1, %2, %3, p;\n}" ::"r"(d),
                              "l"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(accumulates)),
                              "n"(CtaGroup), "C"(MmaKindText<Kind>::text)
                              : "memory"),
                 calls::tensor(calls::Tensor::mma, CtaGroup,
                               {.address = d,
                                .a = a,
                                .b = b,
                                .instruction = instruction,
                                .accumulates = accumulates,
                                .words = MmaKindText<Kind>::text},
                               at));
}
/// The same with A in tensor memory.
template <MmaKind Kind, int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_mma_a_in_tensor_memory(std::uint32_t d, std::uint32_t a, std::uint64_t b,
                                                   std::uint32_t instruction, bool accumulates,
                                                   Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                              "tcgen05.mma.cta_group::%5.%6 [%0], [%1], %2, %3, p;\n}" ::"r"(d),
                              "r"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(accumulates)),
                              "n"(CtaGroup), "C"(MmaKindText<Kind>::text)
                              : "memory"),
                 calls::tensor(calls::Tensor::mma_a_in_tensor_memory, CtaGroup,
                               {.address = d,
                                .a = a,
                                .b = b,
                                .instruction = instruction,
                                .accumulates = accumulates,
                                .words = MmaKindText<Kind>::text},
                               at));
}

/// .kind::... with scale factors, which have a number for each row of A and each column of B.
enum class ScaledMmaKind : std::uint8_t { mxf8f6f4_1X, mxf4_2X, mxf4nvf4_2X, mxf4nvf4_4X };
/// The words of a statement for a kind.
template <ScaledMmaKind>
struct ScaledMmaKindText;
#define WARPBIT_KIND(kind, number)                                                    \
  template <>                                                                         \
  struct ScaledMmaKindText<ScaledMmaKind::kind##_##number> {                          \
    static constexpr char text[] = "kind::" #kind ".block_scale.scale_vec::" #number; \
  };
WARPBIT_KIND(mxf8f6f4, 1X)
WARPBIT_KIND(mxf4, 2X)
WARPBIT_KIND(mxf4nvf4, 2X)
WARPBIT_KIND(mxf4nvf4, 4X)
#undef WARPBIT_KIND

/// The same with scale factors in tensor memory, A and B in shared memory.
template <ScaledMmaKind Kind, int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_mma_block_scale(std::uint32_t d, std::uint64_t a, std::uint64_t b,
                                            std::uint32_t instruction, std::uint32_t scale_a,
                                            std::uint32_t scale_b, bool accumulates, Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
                   "tcgen05.mma.cta_group::%7.%8 [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),
                   "l"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b),
                   "r"(static_cast<int>(accumulates)), "n"(CtaGroup), "C"(ScaledMmaKindText<Kind>::text)
                   : "memory"),
      calls::tensor(calls::Tensor::mma_block_scale, CtaGroup,
                    {.address = d,
                     .a = a,
                     .b = b,
                     .instruction = instruction,
                     .accumulates = accumulates,
                     .scale_a = scale_a,
                     .scale_b = scale_b,
                     .words = ScaledMmaKindText<Kind>::text},
                    at));
}

/// What tcgen05.cp copies: lanes and bits of each, and in which lanes copies lie.
enum class CopyShape : std::uint8_t { s128x256b, s4x256b, s128x128b, s64x128b_02_13, s64x128b_01_23, s32x128b };
/// The words of a statement for a shape.
template <CopyShape>
struct CopyShapeText;
#define WARPBIT_SHAPE(name, words)        \
  template <>                             \
  struct CopyShapeText<CopyShape::name> { \
    static constexpr char text[] = words; \
  };
WARPBIT_SHAPE(s128x256b, "128x256b")
WARPBIT_SHAPE(s4x256b, "4x256b")
WARPBIT_SHAPE(s128x128b, "128x128b")
WARPBIT_SHAPE(s64x128b_02_13, "64x128b.warpx2::02_13")
WARPBIT_SHAPE(s64x128b_01_23, "64x128b.warpx2::01_23")
WARPBIT_SHAPE(s32x128b, "32x128b.warpx4")
#undef WARPBIT_SHAPE

/// Copies from shared memory, at a descriptor.
template <CopyShape Shape, int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_cp(std::uint32_t to, std::uint64_t from, Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(asm volatile("tcgen05.cp.cta_group::%2.%3 [%0], %1;" ::"r"(to), "l"(from), "n"(CtaGroup),
                              "C"(CopyShapeText<Shape>::text)
                              : "memory"),
                 calls::tensor(calls::Tensor::cp, CtaGroup,
                               {.address = to, .a = from, .words = CopyShapeText<Shape>::text}, at));
}

/// Arrives once at an object when all that the thread has issued is complete.
template <int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_commit(SharedArray<std::uint64_t> object, Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(
      asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                       cluster_address(object)),
                   "n"(CtaGroup)
                   : "memory"),
      calls::tensor(calls::Tensor::commit, CtaGroup, {.shared = &object.view}, at));
}
/// The same at the same place in each block of a mask, whose bit i is the block of rank i.
template <int CtaGroup = 1>
WARPBIT_DEVICE void tcgen05_commit_multicast(SharedArray<std::uint64_t> object, std::uint16_t mask,
                                             Place at = Place::here()) {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a pair has two blocks");
  WARPBIT_EITHER(
      asm volatile("tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster."
                   "b64 [%0], %1;" ::"r"(cluster_address(object)),
                   "h"(mask), "n"(CtaGroup)
                   : "memory"),
      calls::tensor(calls::Tensor::commit, CtaGroup, {.shared = &object.view, .mask = &mask}, at));
}

}  // namespace warpbit::device
