// SPDX-License-Identifier: Apache-2.0
// Executes a plan over whole tiles: gather, decode, one evaluation for each output element, scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel/registers.hpp"
#include "numeric/plan.hpp"
#include "numeric/sparsity.hpp"
#include "numeric/trace.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/fragment.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// How many products a b are a part of some work that a thread takes, by a body and by the specification: well below a
/// millisecond, and worth the start of another thread.
inline constexpr std::size_t kBodyPart = std::size_t{1} << 19, kElementPart = std::size_t{1} << 14;

/// The deepest sum; tests/plan_test.cpp proves that no form needs more.
inline constexpr int kMaxDepth = 256;

/// {byte-id, thread-id}, which choose one of several maps: number byte-id / step * threads + thread-id.
struct TileSelector {
  TileRegisters registers;
  int bytes = 1, step = 1, threads = 1;  ///< byte-id: 0, step, ... below bytes; thread-id: below threads
};

/// The scale factors of the rows of A or the columns of B, if there are any.
struct TileScale {
  const Format* format = nullptr;
  TileRegisters registers;
  int blocks = 0;  ///< in a row of A or a column of B
  TileSelector selector;
  std::span<const Places> choices;  ///< by selector: (row of A or column of B, block)

  bool is_present() const { return blocks > 0; }
};

struct Body;     // kernel/body.hpp
class FastTile;  // kernel/fast_tile.hpp

/// A decoded instruction as the kernel needs it.
struct Tile {
  const Plan* plan = nullptr;
  int lanes = 32, products = 1, rows = 0, columns = 0;
  int depth = 0;  ///< rows of B
  int terms = 0;  ///< products in a sum: depth, or half of it if A is sparse
  Sparsity sparsity;
  TileOperand d, a, b, c;
  TileOperand e;                                            ///< metadata, if A is sparse: (row, group)
  TileScale a_scale, b_scale;                               ///< if the form is block-scaled
  std::optional<DescribedMatrix> a_described, b_described;  ///< in shared memory: a, b have no registers
  bool negate_a = false, negate_b = false;                  ///< imm-scale -1
  bool starts_at_zero = false;                              ///< scale-d is the literal 0: C does not count
  int c_scale = 0;                                          ///< C counts 2^-c_scale times

  std::shared_ptr<const FastTile> fast;  ///< what the bodies need, if they have something for it

  bool uses_memory() const { return b_described.has_value(); }
};

/// The registers that a tile reads. A view whose operand is all literals is not read.
struct TileViews {
  OperandView a, b, c, e;
  OperandView a_scale, b_scale, a_selector, b_selector;
  Descriptor a_descriptor = {}, b_descriptor = {};
  std::span<const std::byte> a_memory = {}, b_memory = {};  ///< shared memory, of A and of B
  bool accumulate = true;                                   ///< false: C is +0, and not read
};

/// Where the scale factors of case `index` lie, by the registers of the selector.
Places chosen_places(const TileScale& scale, const OperandView& selector, std::size_t index);

/// Computes case `index` element by element, by the specification. Views must have the strides of the operands.
/// Precondition: what the descriptors read (DescriptorMap::ranges) lies in the memory.
void run_tile(const Tile& tile, const TileViews& views, const ResultView& d, std::size_t index);

/// One element of one case at a time, by the specification, for kernels that leave some to it. What it needs of
/// the case is read at the first call.
class ExactElements {
 public:
  ExactElements(const Tile& tile, const TileViews& views, std::size_t index)
      : tile_(tile), views_(views), index_(index) {}
  /// The code of an element of D, from that of C.
  std::uint64_t operator()(std::size_t product, std::size_t row, std::size_t column, std::uint64_t c);

 private:
  const Tile& tile_;
  const TileViews& views_;
  std::size_t index_;
  bool loaded_ = false;
};

/// A nibble of metadata that the manual leaves undefined.
struct MetadataFault {
  RegisterBits bits;
  int row, group;
  std::uint64_t nibble;
};

/// The third bit of each nibble of metadata: [lane][register].
std::vector<std::uint32_t> metadata_bits(const Tile& tile);

/// Whether all nibbles of case `index` are defined, whose third bits are `third_bits`. Much faster than
/// find_fault, which finds the one that is not.
bool is_defined(const Body& body, const Tile& tile, std::span<const std::uint32_t> third_bits,
                const OperandView& e, std::size_t index, bool ordered);

/// The first such nibble in case `index`, by row and group; `ordered` as in is_defined. Precondition: the tile
/// is sparse.
std::optional<MetadataFault> find_fault(const Tile& tile, const OperandView& e, std::size_t index,
                                        bool ordered);

/// A selector that is out of range, or not the same in all lanes.
struct SelectorFault {
  int lane, item;  ///< item 0: byte-id, 1: thread-id
  std::uint64_t value;
};

/// The first such item in case `index`. Precondition of run_tile: there is none.
std::optional<SelectorFault> find_fault(const TileSelector& selector, const OperandView& view, int lanes,
                                        std::size_t index);

/// If `trace` is given, the sums on its way are appended there.
std::uint64_t run_element(const Tile& tile, const ElementCodes& codes, Trace* trace = nullptr);

/// Those of some elements of case `index`; of a sparse A, of the products that exist. Preconditions: those of
/// run_tile; `elements` are of D.
std::vector<ElementInputs> codes_of_elements(const Tile& tile, const TileViews& views, std::size_t index,
                                             std::span<const Coordinate> elements);

/// A row of A or a column of B, decoded: tile.terms elements, and the scale factors of its blocks.
struct DecodedLine {
  std::span<const Decoded> elements, scales = {};
};
/// The same of decoded lines.
std::uint64_t run_element(const Tile& tile, const DecodedLine& a, const DecodedLine& b, std::uint64_t c);
/// An element of A, or of B, as run_element takes it.
Decoded decode_factor(const Tile& tile, bool of_a, std::uint64_t code);

}  // namespace warpbit
#pragma GCC visibility pop
