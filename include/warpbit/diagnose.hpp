// SPDX-License-Identifier: Apache-2.0
// From a wrong result to the mistake in the kernel: which simple mistake, made with the right inputs, gives
// exactly these bits?
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What is taken as given, and how far the search goes.
struct DiagnoseOptions {
  /// The target that the kernel ran on, instead of the one that the file names.
  std::optional<Target> target;
  ReadOptions read;
  /// Whether pairs of simple mistakes are tried where no single one explains everything.
  bool pairs = true;
};

/// What a mistake explains. An element that it makes hang on something that is not in the inputs (elements
/// outside the tiles, what an element of D that nobody writes held before) is neither explained nor
/// contradicted.
struct Finding {
  std::string kind;     ///< a word for a program, e.g. "transposed"; the mistakes of a pair joined by "+"
  std::string operand;  ///< the roles of the operands concerned, e.g. "a" or "a b c d"; may be empty
  std::string mistake;  ///< in words, e.g. "rows and columns of A are exchanged"
  std::string hint;     ///< what to look at
  std::uint64_t explained = 0;     ///< elements of D that are, bit for bit, what the mistake gives
  std::uint64_t contradicted = 0;  ///< elements of D that are something else
  std::uint64_t elements = 0;      ///< all that were compared
  /// It explains every element, no other mistake does, and the values are manifold enough to be no chance.
  bool certain = false;

  bool explains_all() const { return explained == elements; }
};

enum class Verdict {
  correct,    ///< every element is right
  mistake,    ///< one mistake explains everything; the first finding
  ambiguous,  ///< several mistakes explain everything: these inputs cannot tell them apart
  partial,    ///< the best finding explains much more than the result as it is, and not everything
  none,       ///< nothing explains clearly more than the result as it is
};
/// The name of a verdict as it is spelled above.
std::string_view name(Verdict verdict);

/// What became of the search.
struct Diagnosis {
  Verdict verdict = Verdict::none;
  std::string statement;    ///< the instruction
  std::string_view target;  ///< on which it was diagnosed
  std::uint64_t cases = 0, elements = 0;
  std::uint64_t right = 0;        ///< elements that are right as they are
  std::uint64_t hypotheses = 0;   ///< mistakes that were tried
  bool inferred = false;          ///< the arithmetic rests on no hardware result
  std::vector<Finding> findings;  ///< those that explain more than the result as it is, the best first

  /// One sentence.
  std::string text() const;
};

/// Diagnoses a capture of the layout `registers` (src/capture/FORMAT.md), of an instruction D = A B + C: the
/// inputs are what the author of the kernel meant to give, D is what the kernel gave. Errors: those of reading
/// and decoding a capture and of execute_batch or execute_warpgroup; member_value for other layouts and
/// instructions.
Result<Diagnosis> diagnose(const std::filesystem::path& path, const DiagnoseOptions& options = {});

/// The same of registers in memory, as execute_batch takes them: `d` has the wrong results. Errors:
/// view_mismatch, member_value if it is no D = A B + C in registers, and those of execute_batch.
Result<Diagnosis> diagnose(const Instruction& instruction, std::span<const OperandView> sources,
                           const OperandView& d, std::size_t cases, const DiagnoseOptions& options = {});

// ---- In tests

/// The registers that are expected in one operand of one warp, dense: [lane][register]. Padding bits do not
/// count.
class ExpectedBits {
 public:
  /// These bits, for an operand with registers (PTX manual, "Matrix Fragments"). Errors: operand_kind if it has
  /// none; view_mismatch if they are not `lanes` times its registers.
  static Result<ExpectedBits> registers(const Operand& operand, int lanes, std::span<const std::byte> expected);
  /// What an instruction makes of its sources, each dense as above, in the order of the statement; of an
  /// immediate empty. Errors: view_mismatch if one has another size; those of execute_batch.
  static Result<ExpectedBits> result_of(const Instruction& instruction,
                                        std::span<const std::span<const std::byte>> sources);

  /// What is wrong with the bits of a kernel, in lines: how many elements, of the first of them lane, register,
  /// row, column and both values, and, of the result of D = A B + C, the mistake that explains it
  /// (warpbit/diagnose.hpp). Empty if nothing is.
  std::string mismatch(std::span<const std::byte> got) const;

 private:
  struct State;
  explicit ExpectedBits(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace warpbit
#pragma GCC visibility pop
