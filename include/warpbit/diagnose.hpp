// SPDX-License-Identifier: Apache-2.0
// From a wrong result to the mistake in the kernel: which simple mistake, applied to the right inputs, gives
// exactly these bits?
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Assumptions and limits of the search.
struct DiagnoseOptions {
  /// The target that the kernel ran on; overrides the one in the file.
  std::optional<Target> target;
  ReadOptions read;
  /// Whether to try pairs of simple mistakes if no single one explains everything.
  bool pairs = true;
  /// Of a product of whole matrices: about how many products a b the search for the order of its sum computes (find_order);
  /// 0: none.
  double most_products = 1e10;
  /// Of a product of whole matrices: the format in which the kernel stores D, by its name, rounded to nearest even; that of
  /// the accumulators if empty. `product.d` has it, C that of the accumulators.
  std::string store = {};
};

/// A mistake and the elements that it explains. An element that would depend on data outside the inputs
/// (elements outside the tiles, the previous content of an element of D that is never written) is neither
/// explained nor contradicted.
struct Finding {
  std::string kind;     ///< a word for a program, e.g. "transposed"; the mistakes of a pair joined by "+"
  std::string operand;  ///< the roles of the operands concerned, e.g. "a" or "a b c d"; may be empty
  std::string mistake;  ///< in words, e.g. "rows and columns of A are exchanged"
  std::string hint;     ///< what to look at
  std::uint64_t explained = 0;     ///< elements of D that equal the mistake's result, bit for bit
  std::uint64_t contradicted = 0;  ///< elements of D that differ from it
  std::uint64_t elements = 0;      ///< all compared elements
  /// It explains every element, no other mistake does, and there are enough distinct values that a
  /// coincidence is ruled out.
  bool certain = false;
  /// Of an order of the sum: the instruction, the order in the words of SumOrder, and how many values at the end of K it
  /// leaves out. An order is certain if it is the only one found of those as plausible, and so many elements differ from
  /// the plain chain's that it is no coincidence. 0 values left out: the order is no mistake.
  std::string form = {}, order = {};
  std::size_t left_out = 0;

  bool explains_all() const { return explained == elements; }
};

/// Values of one index of the elements of D that have wrong elements.
struct WrongIndices {
  /// "case", "tile row" and "tile column" (of the instruction's tiles of whole matrices), "warp", "lane" (of its warp),
  /// "register", "element" (of the register), "row" or "column".
  std::string index;
  std::vector<int> values;  ///< ascending
  int size = 0;             ///< of how many
  std::string text = {};    ///< the values in short, e.g. "8 to 15 of each 16"
};
/// Where wrong elements of D are.
struct WrongPlaces {
  std::vector<WrongIndices> indices;  ///< those of which some values have no wrong element
  std::uint64_t wrong = 0;            ///< elements
  bool is_complete = false;           ///< every element with such indices is wrong

  /// One line.
  std::string text() const;
};

enum class Verdict {
  correct,    ///< every element is right
  mistake,    ///< one mistake explains everything; the first finding
  ambiguous,  ///< several mistakes explain everything: these inputs cannot tell them apart
  partial,    ///< the best finding explains much more than the unchanged result, but not everything
  none,       ///< nothing explains clearly more than the unchanged result
};
/// The name of a verdict as it is spelled above.
std::string_view name(Verdict verdict);

/// The outcome of the search.
struct Diagnosis {
  Verdict verdict = Verdict::none;
  std::string statement;    ///< the instruction
  std::string_view target;  ///< the target of the diagnosis
  std::uint64_t cases = 0, elements = 0;
  std::uint64_t right = 0;        ///< elements that are right already
  std::uint64_t hypotheses = 0;   ///< mistakes tried
  bool inferred = false;          ///< the arithmetic is not verified on hardware
  std::vector<Finding> findings;  ///< those that explain more than the unchanged result, the best first
  /// Where nothing explains every element: the wrong ones, of a few tiles each for itself.
  std::vector<WrongPlaces> where = {};

  /// One sentence.
  std::string text() const;
  /// That, and indented lines: where wrong elements are, and the first `most` findings with their hints.
  std::string details(std::size_t most = std::numeric_limits<std::size_t>::max()) const;
};

/// Diagnoses a capture of the layout `registers` (src/capture/FORMAT.md) of an instruction D = A B + C. The
/// inputs are the intended ones, D is the kernel's. Errors: those of reading and decoding a capture and of
/// execute_batch or execute_warpgroup; member_value for other layouts and instructions.
Result<Diagnosis> diagnose(const std::filesystem::path& path, const DiagnoseOptions& options = {});

/// The same for registers in memory, as execute_batch takes them; `d` holds the wrong results. Errors:
/// view_mismatch, member_value if the instruction is not D = A B + C in registers, and those of
/// execute_batch.
Result<Diagnosis> diagnose(const Instruction& instruction, std::span<const OperandView> sources,
                           const OperandView& d, std::size_t cases, const DiagnoseOptions& options = {});

/// The same of a product of whole matrices, D = A B + C, that a kernel computes with this instruction, tile by tile
/// along K. `product.d` holds the wrong result and is only read. Mistakes in the loop over K and its stages, in the blocks of
/// D, in the addresses of whole matrices, in registers of two tiles and in the epilogue are tried, too, and orders of the sum
/// along K, also those of other instructions and those that leave values of K out (find_order). Of factors in shared
/// memory the mistakes in descriptors are those of the manual's layouts of tiles; what lies behind a tile is not known.
/// The instruction must be a dense product of a warp or a warpgroup without block scaling, whose C has the format of D. Errors:
/// view_mismatch, also for matrices of more than 2^20 elements, or 2^26 products; those of execute_batch and gemm.
Result<Diagnosis> diagnose(const Instruction& instruction, const Gemm& product,
                           const DiagnoseOptions& options = {});

/// The same of the registers of one operand of a warp, without an instruction: which mistake makes `got` of what is
/// expected, both [lane][register]. Errors: operand_kind unless it is A, B, C or D in registers; view_mismatch.
Result<Diagnosis> diagnose(const Operand& operand, int lanes, std::span<const std::byte> expected,
                           std::span<const std::byte> got);

// ---- Products of tensor memory

/// How to diagnose a product of tensor memory.
struct TensorDiagnoseOptions {
  /// What the product is compared with.
  enum class Compared {
    seen,    ///< what a kernel made of D; operands and memories are those that it should have had
    wanted,  ///< what D should be; operands and memories are those that the kernel had
  };
  Compared d = Compared::seen;
  /// Whether to try pairs of simple mistakes if no single one explains everything.
  bool pairs = true;
};

/// An element of D that is not what the product has.
struct TensorDifference {
  int row = 0, column = 0;
  TensorAddress at;  ///< in tensor memory
  int block = 0;     ///< of the pair
  std::uint32_t compared = 0, product = 0;
  friend bool operator==(const TensorDifference&, const TensorDifference&) = default;
};

/// The outcome for a product of tensor memory.
struct TensorDiagnosis {
  Diagnosis diagnosis;
  std::vector<TensorDifference> differences;  ///< the first ones, by rows

  /// One sentence; if nothing explains D, the first differences in further lines.
  std::string text() const;
};

/// Words of D that a product with these operands has written, by rows. Errors: usage, instruction_descriptor,
/// tensor_memory.
Result<std::vector<std::uint32_t>> tensor_d(const Instruction& instruction, const TensorMmaSources& sources,
                                            std::span<const TensorBlock> after);

/// Diagnoses one product of tensor memory: which mistake in its descriptors, its operands, in what memories hold or in
/// how D was read makes `d` of the blocks before it? `d` has M x N words, by rows, as tensor_d() returns them; 16 bits
/// in the lower half, above 0. What a mistake makes of words that were never written is neither explained nor
/// contradicted. Errors: those of execute_mma; view_mismatch for another number of words.
Result<TensorDiagnosis> diagnose_tensor(const Instruction& instruction, const TensorMmaSources& sources,
                                        std::span<const TensorBlock> before, std::span<const std::uint32_t> d,
                                        const TensorDiagnoseOptions& options = {});

/// The same of an .npz, in which blocks come first: `shared` (bytes), `tensor` (128 x 512 words of each block;
/// `written`, a byte for each, says which were, else all), `d` (32 bits an item), and the value of each operand by its
/// role: `d_tmem`, `a_desc`, `b_desc`, `idesc`, `enable_input_d` and so on. Errors: also those of reading,
/// member_missing, member_dtype, member_shape.
Result<TensorDiagnosis> diagnose_tensor(const Instruction& instruction, const std::filesystem::path& path,
                                        const TensorDiagnoseOptions& options = {});

// ---- In tests

/// The expected registers of one operand of one warp, dense: [lane][register]. Padding bits do not count.
class ExpectedBits {
 public:
  /// These bits, for an operand with registers (PTX manual, "Matrix Fragments"). Errors: operand_kind if it
  /// has none; view_mismatch unless there are `lanes` times its registers.
  static Result<ExpectedBits> registers(const Operand& operand, int lanes, std::span<const std::byte> expected);
  /// The result of an instruction for these sources, each dense as above, in the order of the statement;
  /// empty for an immediate. Errors: view_mismatch if the size of one is wrong; those of execute_batch.
  static Result<ExpectedBits> result_of(const Instruction& instruction,
                                        std::span<const std::span<const std::byte>> sources);

  /// Describes how a kernel's bits differ, in lines: the mistake that explains it, if there is one; the number of
  /// wrong elements; lane, register, row, column and both values of the first ones. Empty if the bits are
  /// right.
  std::string mismatch(std::span<const std::byte> got) const;

 private:
  struct State;
  explicit ExpectedBits(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace warpbit
#pragma GCC visibility pop
