// SPDX-License-Identifier: Apache-2.0
// The registers of one operand, in one case of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "numeric/formats.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit {

/// Where an element lies.
using RegisterBits = Place;
/// Where the elements of a matrix lie, in an order that the user of the list states. Lists are shared: they are
/// kept as long as the program (isa/compile.cpp).
using Places = std::span<const RegisterBits>;

/// The registers of an operand: `count` in a lane, of `bits` bits; those with a literal are not read.
struct TileRegisters {
  int count = 0;
  int bits = 32;
  std::vector<std::optional<std::uint64_t>> literals;
};

/// One operand, compiled: where each element lies, in the order in which the kernel takes them.
struct TileOperand {
  const Format* format = nullptr;
  TileRegisters registers;
  Places places;
  /// How a GPU reads the byte of an element that has one of its own, if the bits below the element count: from bit 0 on
  /// (NUMERICS.md, "Padding").
  ///
  ///     bit   7 6 | 5 4 3 2 | 1 0
  ///     e2m1   -  |  code   | padding       as e2m3: bits 5 to 0
  const Format* container = nullptr;

  const Format& read_format() const { return container != nullptr ? *container : *format; }
};

/// The code of an element together with the padding below it, from bit kPaddingAt on.
inline constexpr int kPaddingAt = 32;

/// The registers of one operand as 64-bit words. An object that is used again does not allocate again.
class RegisterFile {
 public:
  /// All zero.
  void clear(const TileRegisters& r, int lanes) {
    registers_ = static_cast<std::size_t>(r.count);
    words_.assign(static_cast<std::size_t>(lanes) * registers_, 0);
  }
  void load(const TileRegisters& r, const OperandView& view, int lanes, std::size_t index) {
    clear(r, lanes);
    for (int lane = 0; lane < lanes; ++lane)
      for (int reg = 0; reg < r.count; ++reg) {
        const auto i = static_cast<std::size_t>(reg);
        std::uint64_t& word = at(lane, reg);
        if (i < r.literals.size() && r.literals[i])
          word = *r.literals[i];
        else
          std::memcpy(&word, view.at(index, lane, reg), static_cast<std::size_t>(r.bits / 8));
      }
  }
  void store(const TileRegisters& r, const ResultView& view, int lanes, std::size_t index) const {
    for (int lane = 0; lane < lanes; ++lane)
      for (int reg = 0; reg < r.count; ++reg)
        std::memcpy(view.at(index, lane, reg), &at(lane, reg), static_cast<std::size_t>(r.bits / 8));
  }

  std::uint64_t get(const RegisterBits& p) const { return at(p.lane, p.reg) >> p.low_bit & p.mask(); }
  void set(const RegisterBits& p, std::uint64_t code) { at(p.lane, p.reg) |= code << p.low_bit; }

  std::uint64_t& at(int lane, int reg) { return words_[cell(lane, reg)]; }
  const std::uint64_t& at(int lane, int reg) const { return words_[cell(lane, reg)]; }

 private:
  std::size_t cell(int lane, int reg) const {
    return static_cast<std::size_t>(lane) * registers_ + static_cast<std::size_t>(reg);
  }

  std::size_t registers_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace warpbit
