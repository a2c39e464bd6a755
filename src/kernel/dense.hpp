// SPDX-License-Identifier: Apache-2.0
// Registers of one operand in one case, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "kernel/registers.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit {

/// Begins in a cache line of its own: vectors of the bodies do not cross lines.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) = default;
};

/// Memory of one thread for what lies otherwise than a body wants it; used again, so that nothing is allocated
/// per execution.
struct Scratch {
  using Words = std::vector<std::uint32_t, LineAllocator<std::uint32_t>>;
  Words a, b, c, d, e, a_scale, b_scale;               // registers side by side
  Words a_panel, b_panel, c_panel, d_panel, expanded;  // as a body takes them
};
inline thread_local Scratch scratch;

inline std::byte* bytes_of(Scratch::Words& words) {
  return reinterpret_cast<std::byte*>(words.data());
}

/// True if a view has the registers of a case as [lane][register] without gaps.
template <class View>
bool has_no_gaps(const TileRegisters& r, const View& view) {
  return view.register_stride == r.bits / 8 && view.lane_stride == view.register_stride * r.count;
}

/// The same of an operand that has no literals either.
inline bool is_dense(const TileRegisters& r, const OperandView& view) {
  return has_no_gaps(r, view) && r.literals.empty();
}

/// Copies the registers of an operand as [lane][register] without gaps. Precondition: of 32 or 64 bits.
void copy_registers(const TileRegisters& registers, const OperandView& view, int lanes, std::size_t index,
                    Scratch::Words& out);

/// The registers of an operand as [lane][register] without gaps: where they are, or copied to `copy` if they
/// lie otherwise or hold literals. Precondition: that of copy_registers.
const std::byte* dense_registers(const TileOperand& operand, const OperandView& view, int lanes,
                                 std::size_t index, Scratch::Words& copy);

/// Registers of D with those of a lane side by side: in place, or in scratch.d until they are stored.
class ResultRegisters {
 public:
  /// Precondition of `in_place`: the view has the registers of a lane side by side.
  ResultRegisters(const TileRegisters& registers, const ResultView& view, int lanes, std::size_t index,
                  bool in_place);

  std::byte* base() const { return base_; }
  std::ptrdiff_t lane_stride() const { return lane_stride_; }
  /// Brings them to where the view has them, if they are not there.
  void store() const;

 private:
  const TileRegisters& registers_;
  std::byte *base_, *to_;
  const ResultView& view_;
  std::ptrdiff_t lane_stride_;
  int lanes_;
};

}  // namespace warpbit
