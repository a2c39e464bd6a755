// SPDX-License-Identifier: Apache-2.0
// Whole matrix products, D = A B + C, in steps of K that are each as deep as a tile.
//
// D is computed in stripes, each in the blocks of 2 x 8 elements of body.hpp; a row of blocks is a pair of rows
// of D, a column of blocks a panel of eight columns. What lies outside the matrices is +0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// A code in each item of 1, 2, 4 or 8 bytes. Strides are in items.
struct ItemMatrix {
  std::byte* data = nullptr;  ///< A, B and C are only read
  std::ptrdiff_t row_stride = 0, column_stride = 0;
  std::size_t item_bytes = 1;

  ItemMatrix transposed() const { return {data, column_stride, row_stride, item_bytes}; }
  std::byte* at(std::size_t row, std::size_t column) const {
    return data + (static_cast<std::ptrdiff_t>(row) * row_stride +
                   static_cast<std::ptrdiff_t>(column) * column_stride) *
                      static_cast<std::ptrdiff_t>(item_bytes);
  }
  std::uint64_t get(std::size_t row, std::size_t column) const {
    std::uint64_t code = 0;
    std::memcpy(&code, at(row, column), item_bytes);
    return code;
  }
};

/// What is to be computed.
struct MatrixProduct {
  const Tile* tile = nullptr;  ///< dense; C has D's format and counts
  std::size_t rows = 0, columns = 0, depth = 0;
  ItemMatrix a, b, c, d;           ///< c.data may be null: +0
  std::vector<std::size_t> steps;  ///< of K, in the order in which they are executed
  int threads = 1;
  ItemMatrix a_scale = {}, b_scale = {};  ///< with block scaling: (row, block of K) and (block of K, column)

  /// For how many stripes an engine holds A and B at the same time.
  std::size_t slots() const { return threads > 1 ? 2 : 1; }
};

/// The scale factors of the rows of A or the columns of B; those of blocks outside the matrices are 1.
class LineScales {
 public:
  LineScales(const MatrixProduct& product, bool of_a);

  /// Blocks in a step; 0 without block scaling.
  std::size_t blocks() const { return blocks_; }
  /// Of block `block` of step `step` of K.
  std::uint64_t code(std::size_t line, std::size_t step, std::size_t block) const {
    const std::size_t at = step * blocks_ + block;
    return line < lines_ && at < count_ ? matrix_.get(line, at) : one_;
  }

 private:
  ItemMatrix matrix_;  // (line, block of K)
  std::size_t blocks_ = 0, lines_ = 0, count_ = 0;
  std::uint64_t one_ = 0;
};

/// Memory in whole cache lines, not initialised.
template <class T>
class Lines {
 public:
  explicit Lines(std::size_t count) : lines_(new Line[(count * sizeof(T) + sizeof(Line) - 1) / sizeof(Line)]) {}
  T* data() const { return reinterpret_cast<T*>(lines_.get()); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines_;
};

/// A part of a product: the blocks [0, pairs) x [0, panels) of D, and some steps.
struct Stripe {
  std::size_t first_row = 0, first_column = 0;
  std::size_t pairs = 0, panels = 0;
  std::size_t first_step = 0, steps = 0;
  std::size_t slot = 0;  ///< of the engine, below MatrixProduct::slots
};

/// Some blocks of a stripe.
struct BlockRange {
  std::size_t first_pair = 0, last_pair = 0, first_panel = 0, last_panel = 0;
};

/// The running values of a stripe: codes of D, [panel][pair][16], the elements of a block in the order of
/// BlockView.
struct RunningBlocks {
  std::byte* base = nullptr;
  std::size_t pairs = 0, item_bytes = 4;  ///< pairs of the largest stripe

  std::byte* block(std::size_t pair, std::size_t panel) const {
    return base + (panel * pairs + pair) * kBlock * item_bytes;
  }
};

/// Which element of a running block (row, column) is.
constexpr std::size_t element_of_block(std::size_t row, std::size_t column) {
  return column / 2 * 4 + row * 2 + column % 2;
}

/// Pairs of rows that are packed and multiplied together; the last such range of a stripe may have fewer.
inline constexpr std::size_t kRangePairs = 32;

/// How blocks are multiplied. The steps of a stripe are: pack_a for each range of pairs and pack_b for each
/// panel; packed, once; decode_a and decode_b likewise; multiply for blocks of a range of pairs. All are called from
/// any thread; those of a stripe in one slot while another is in the other.
class GemmEngine {
 public:
  virtual ~GemmEngine() = default;
  virtual void pack_a(const Stripe& stripe, std::size_t first_pair, std::size_t last_pair) = 0;
  virtual void pack_b(const Stripe& stripe, std::size_t panel) = 0;
  virtual void packed(const Stripe&) {}
  virtual void decode_a(const Stripe&, std::size_t /*first_pair*/, std::size_t /*last_pair*/) {}
  virtual void decode_b(const Stripe&, std::size_t /*panel*/) {}
  virtual void multiply(const Stripe& stripe, const BlockRange& range, const RunningBlocks& running) = 0;
};

/// An element after step number `number` of product.steps, from the one before, by the specification; 0 outside the
/// matrices.
std::uint64_t run_step(const MatrixProduct& product, std::size_t number, std::size_t row, std::size_t column,
                       std::uint64_t c);

/// The sum of the codes of D that two runs ended in: rounded to nearest even, of integers wrapped or clamped as
/// the plan has it.
std::uint64_t add_partial_sums(const Tile& tile, std::uint64_t x, std::uint64_t y);

/// The largest stripe, and its steps, that an engine for this product must hold.
Stripe largest_stripe(const MatrixProduct& product);

/// Whether the bodies have something for whole matrices of this tile.
bool has_engine(const Tile& tile);

/// Computes D by the body, or element by element by the specification if it is null. Precondition: has_engine,
/// if there is a body.
void run_product(const MatrixProduct& product, const Body* body);

}  // namespace warpbit
#pragma GCC visibility pop
