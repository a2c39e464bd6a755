// SPDX-License-Identifier: Apache-2.0
// Instructions: a PTX statement, decoded once, can be executed many times.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/fragment.hpp"
#include "warpbit/result.hpp"
#include "warpbit/target.hpp"
#include "warpbit/tensor_memory.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The role of an operand in D = A B + C, in a move of matrices between memory and registers, or in a
/// conversion.
enum class Part {
  d,               ///< D: rows() x columns(); for a load, the matrices
  a,               ///< A: rows() x terms()
  b,               ///< B: depth() x columns()
  c,               ///< C: rows() x columns()
  metadata,        ///< positions of A's stored elements: rows() x groups of a row, a nibble each
  selector,        ///< which lanes hold the metadata; an immediate
  scale_a,         ///< scale factors of A: rows() x blocks of a row
  scale_b,         ///< scale factors of B: blocks of a column x columns()
  selector_a,      ///< which bytes of which lanes hold the scale factors of A: {byte-id, thread-id}
  selector_b,      ///< the same for B
  source,          ///< the operand that is stored, transposed or converted
  random_bits,     ///< for stochastic rounding
  scale_factor,    ///< of a conversion: one, or one for each element
  address,         ///< the address of a matrix, or of a row of one, in memory
  scale_d,         ///< whether C is added: D = A B + C, or D = A B
  sign_a,          ///< 1 or -1, by which A is multiplied; an immediate
  sign_b,          ///< the same for B
  transposed_a,    ///< whether A in memory has M contiguous (1) instead of K (0); an immediate
  transposed_b,    ///< whether B in memory has N contiguous
  group_count,     ///< the number of groups of asynchronous products that may stay pending; an immediate
  stride,          ///< from one row or column of a matrix in memory to the next, in elements
  tensor_address,  ///< an address of tensor memory, of a move to or from there
  d_address,       ///< the address of D in tensor memory; likewise below
  a_address,
  metadata_address,
  scale_a_address,
  scale_b_address,
  instruction_descriptor,  ///< shape, types and more of a product (warpbit/instruction.hpp)
  disabled_lanes,          ///< the lanes of D that are not written: a bit each
  enable_d,                ///< whether D is read: D = A B + D, or D = A B
  scale_exponent,          ///< n of D = A B + D 2^-n; an immediate
  zero_columns,            ///< the descriptor of the columns of B that count as zeros
  column_count,            ///< the number of columns of tensor memory to allocate or to free
  half_split,              ///< from the columns of lanes 0-15 to those of lanes 16-31; an immediate
  reduced,                 ///< the minimum or maximum of what a thread loads
  block_mask,              ///< the blocks of a cluster that an arrival goes to: a bit each
};
/// True if an operand of this role is written.
constexpr bool is_destination(Part part) {
  return part == Part::d || part == Part::reduced;
}

/// How an operand is written.
enum class OperandKind {
  vector,      ///< registers in braces
  scalar,      ///< one register
  immediate,   ///< a literal
  pair,        ///< two literals or 16-bit registers in braces
  address,     ///< a register and an offset in brackets
  descriptor,  ///< a 64-bit register or literal that says where a matrix lies (warpbit/descriptor.hpp)
  predicate,   ///< a predicate register, 0 or 1
};

/// One operand of an instruction, as a numbered slot. Names matter in parsing and printing only. An immediate
/// has no registers: only its role, label, part, kind and literals[0], its value, are meaningful.
struct Operand {
  std::string_view role;  ///< the manual's name: "d", "a", "b", "c", "e", "f", ...
  std::string label;      ///< as the statement names it, e.g. "a" for `{a}`, "%f0, %f1" for `{%f0, %f1}`
  Part part = Part::d;
  OperandKind kind = OperandKind::vector;
  bool is_symbolic = true;  ///< `{d}`, `e`: a name that is not a register; also true for a bare form
  int registers = 0;        ///< per lane
  int register_bits = 32;   ///< 8, 16, 32 or 64
  std::string_view format;  ///< the manual's name of the element type, without a dot
  int element_bits = 0;     ///< of an element's code
  FragmentMap fragment;  ///< for an operand that is not a matrix in registers: one row, an element per register
  /// For a vector or a scalar with literals: the value of register i in every lane, where set. Otherwise
  /// empty.
  std::vector<std::optional<std::uint64_t>> literals;
  /// For a destination with `_` in it: the registers whose value is dropped.
  std::vector<int> sinks;
  /// For an address: added to the register, modulo 2^64.
  std::int64_t offset = 0;

  bool is_destination() const { return warpbit::is_destination(part); }
  /// True if the statement gives the whole operand as literals: its registers are never read.
  bool is_all_literals() const {
    return !literals.empty() && std::ranges::all_of(literals, [](const auto& l) { return l.has_value(); });
  }
};

/// Gives the declared type of a register, e.g. "b32" (without a dot), or nothing if the name is not declared.
using TypeLookup = std::function<std::optional<std::string>(std::string_view name)>;

struct DecodedInstruction;  // src/isa/instruction.hpp
struct Statement;           // src/isa/statement.hpp

/// An instruction of a target. Immutable, cheap to copy, safe to share between threads.
class Instruction {
 public:
  /// Decodes a statement or a bare form. Operands may be symbolic (`{d}`: a vector with all registers of the
  /// form), PTX's own (`{%f0, %f1}`), or absent (a bare form). Register types are checked where `types` knows
  /// the name; a name in braces that it knows is one register, not a symbol. In a bare form every immediate
  /// has its minimum value. Errors: the codes of Errc's first group, each with the wrong qualifier or operand
  /// and the accepted ones.
  static Result<Instruction> parse(std::string_view text, Target target, const TypeLookup& types = {});
  /// The same as people write it: a bare form may be short (full_form), and the target has a name that
  /// Target::find knows; text() is the full form. Errors: also ambiguous_form, unknown_target, ambiguous_target.
  static Result<Instruction> parse(std::string_view text, std::string_view target);

  /// Decodes a form with separate operands, in the notation of tests/isa/instructions.tsv:
  ///
  ///     d:4xb32        a brace vector of 4 registers of that type
  ///     e:b32          a register
  ///     c:={0,0}       a brace vector of literals
  ///     f:=1           a literal
  ///     [p:b64]        an address
  ///     {stride:b32}   a register that may be absent
  ///     s:{b16,imm}    a pair, each a register of that type or an immediate, which is 0
  ///     s:={0,1}       a pair of literals
  ///
  /// With an empty notation this is parse(). Errors: those of parse.
  static Result<Instruction> parse(std::string_view text, std::string_view notation, Target target);

  /// The parsed text.
  const std::string& text() const;
  /// The form in the manual's spelling, without operands.
  std::string_view canonical() const;
  /// The family, as in the first column of the instruction table.
  std::string_view family() const;
  Target target() const;

  /// In the order of the statement: the destination first, except that a store's address precedes its source.
  /// Operands that the statement omits are absent.
  std::span<const Operand> operands() const;
  /// The operand with this name in the manual (Operand::role): "d", "a", "b", "c", "e", "scale_a", "a_desc",
  /// ...; nullptr if there is none.
  const Operand* operand(std::string_view role) const;
  /// The operand with this role, or nullptr.
  const Operand* find(Part part) const;
  /// True if it reads or writes memory; execute_warp executes such instructions (warpbit/machine.hpp).
  bool uses_memory() const;
  /// Matrix sizes: D is rows x columns, B has `depth` rows; there are `products` of them side by side. For a
  /// move: each of `products` matrices is rows x columns, and depth is 0. For a conversion: one row with a
  /// column per element. All are 0 for instructions without results.
  int rows() const;
  int columns() const;
  int depth() const;
  /// Products in one sum: depth(), or half of it if A is sparse.
  int terms() const;
  /// Scale factors in a row of A and in a column of B; 0 if there are none.
  int blocks() const;
  int products() const;
  /// Number of lanes that execute it together: a warp, a warpgroup, or 1 if each thread executes it alone.
  int lanes() const;

  /// The evidence for the arithmetic, in words and by parameter (src/target/NUMERICS.md).
  const Evidence& evidence() const;
  /// True if no result of that GPU shows the arithmetic (Evidence::overall) and it could be different: sums
  /// of integers and of bits are exact by definition.
  bool inferred() const;
  std::string plan() const;          ///< the steps of one output element
  std::string machine() const;       ///< the machine instructions that it compiles to
  std::string_view toolkit() const;  ///< the toolkit with which that was observed

  /// The same of a statement whose text has been read, and whose operands have their types.
  static Result<Instruction> decode(const Statement& statement, std::string_view text, Target target);
  const DecodedInstruction& decoded() const { return *decoded_; }

 private:
  static Result<Instruction> decode(const Statement& statement, std::shared_ptr<DecodedInstruction> out);
  explicit Instruction(std::shared_ptr<const DecodedInstruction> decoded);
  std::shared_ptr<const DecodedInstruction> decoded_;
};

/// The form that a short one stands for (doc/guide/targets.md has examples). The words of a short form stand in the
/// manual's order. It may leave out
///
///     .sync, .aligned, the shape, layouts, ...   what every such form must have, if one form is left
///     the types of B, C                          where they are those of A, D
///     kind::, scale_vec::, ...                   the part of a word up to "::"
///
/// and nothing that changes what the instruction does (.sp, .trans, .satfinite, .rn, ...). A shape alone is that of a product. Of
/// several forms those of `target` are meant. Other texts, full forms and statements with operands are returned as they are. ptxas
/// takes no short forms, nor do parse() with a Target and ptx::Module. Errors: ambiguous_form, which lists forms; of a product
/// that is short for none unknown_qualifier, qualifier_order or no_such_form, which name the wrong word and what may stand there.
Result<std::string> full_form(std::string_view text, std::optional<Target> target = {});

/// Short texts for a form, for which full_form() gives it: with and without its shape and its first types, as far as one form is
/// left. Empty if there are none, or if it is no documented form.
std::vector<std::string> short_forms(std::string_view form);

/// One documented form and the targets that have it.
struct FormInfo {
  std::string canonical;
  std::string_view family;
  std::string operands;  ///< in the notation of the instruction table, e.g. "d:4xf32 a:4xb32 b:2xb32 c:4xf32"
  std::vector<Target> targets;
};
/// All documented forms of all families.
std::vector<FormInfo> forms();

/// At most `most` documented forms, ordered by distance from a form or statement, the nearest first. The
/// distance counts replaced words (weighted by how different they are), extra words and missing words, in any
/// order; the operands are ignored. Forms of `target` precede others at about the same distance. Empty if
/// nothing is near.
std::vector<std::string> nearest_forms(std::string_view text, std::optional<Target> target, std::size_t most);

/// The evidence for the results of a class of forms: the strongest and the weakest basis among them
/// (Evidence::overall).
struct BasisRange {
  Basis strongest, weakest;
};
/// The same for one class of operands, by target.
struct EvidenceRow {
  std::string_view type;  ///< the type of A, of the moved elements, or of a conversion's source
  std::string_view unit;  ///< the instructions that share this arithmetic
  /// In the order of Target::all(); nothing if the target has no such form.
  std::vector<std::optional<BasisRange>> by_target;
  /// That for the floor of E (Evidence::floor); nothing if the target has no such form, or its sums have no floor.
  std::vector<std::optional<BasisRange>> floor_by_target;
};
/// The table of all documented forms.
std::vector<EvidenceRow> evidence_table();

// ---- Machine code
//
// Machine code: which instructions of the GPU a form of PTX becomes, and which forms become an instruction. PTX does not fix
// it: this is what was seen when ptxas 13.0 compiled a kernel with that instruction alone.

/// Instructions of one opcode.
struct MachineInstruction {
  std::string_view
      name;  ///< "HMMA", "QMMA.SF", without shape and types; "0x236" for an opcode without a known name
  int count = 1;
  friend bool operator==(const MachineInstruction&, const MachineInstruction&) = default;
};

/// What a form became: its tensor instructions, and conversions, additions and shuffles beside them. Other instructions of the
/// integer units are not listed. Names were read from the opcode bits of the machine code.
struct MachineCode {
  std::vector<MachineInstruction> instructions;  ///< empty: none of these
  bool calls_routine = false;                    ///< the toolkit puts an internal routine around them
  friend bool operator==(const MachineCode&, const MachineCode&) = default;
};
/// "2 HMMA, 12 F2FP, 4 FADD"; "2 IMMA in an internal routine"; "none of the tensor cores".
std::string text(const MachineCode& code);

/// The toolkit with which it was seen.
inline constexpr std::string_view kMachineCodeToolkit = "ptxas 13.0";

/// The machine code of a documented form in full; nothing if it was not seen for this form and target. Not every target was
/// compiled for: of those that share a generation's forms the one that has all of them.
std::optional<MachineCode> machine_code(std::string_view form, Target target);

/// The names of all machine instructions that forms become, without shape and types, in alphabetical order.
std::vector<std::string_view> machine_instructions();

/// A form and the targets on which it becomes an instruction.
struct MachineForm {
  std::string form;
  std::vector<Target> targets;
};
/// What a machine instruction's name says.
struct MachineForms {
  std::string name;                    ///< what was read of it
  std::vector<std::string> ignored;    ///< words that do not tell forms apart
  std::vector<MachineForm> forms;      ///< the whole instruction
  std::vector<MachineForm> composing;  ///< forms that become several, or one with others
};
/// The documented forms that become an instruction, as a disassembler writes it: "HMMA.16816.F32", "IMMA.16832.S8.S8", "LDSM.16.M88.4",
/// "HGMMA.64x128x16.F32.BF16"; operands behind it are left out, case does not matter. Products in tensor memory are found
/// by the kind of their arithmetic. Error: unknown_instruction, with the names that are known.
Result<MachineForms> forms_of_machine_code(std::string_view instruction);

// ---- Instruction descriptors
//
// Instruction descriptors of tcgen05.mma: the shape, the types and more that its qualifiers leave open (PTX manual,
// "Instruction Descriptor").

/// What the qualifiers and the operands of a tcgen05.mma say; nothing of another instruction.
std::optional<TensorMma> tensor_mma(const Instruction& instruction);

/// An instruction descriptor, decoded. There are three forms of it, by kind: of f16, tf32, f8f6f4 and i8; of mxf8f6f4; of
/// mxf4 and mxf4nvf4 (src/machine/TENSOR_MEMORY.md, "Instruction descriptors", has the bits).
struct InstructionDescriptor {
  int m = 0, n = 0, k = 0;  ///< of the product of all blocks; of a sparse one, K counts what is not stored, too
  std::string_view a, b, d;  ///< types as formats are named: "f16", "e4m3", "u8", "f32", ...
  std::string_view scale;    ///< of the scale factors: "ue8m0", "ue4m3", "" without
  bool is_sparse = false;
  int sparsity_selector = 0;
  bool saturates = false;  ///< i8
  bool negates_a = false, negates_b = false;
  bool a_is_mn_major = false, b_is_mn_major = false;  ///< bits 15, 16: transposed
  int max_shift = 0;                                  ///< of B's columns, for .ws: 0, 8, 16 or 32
  int scale_id_a = 0, scale_id_b = 0;                 ///< the byte of the word that has the first scale factor
  friend bool operator==(const InstructionDescriptor&, const InstructionDescriptor&) = default;

  /// The scale factors of a row of A or a column of B.
  int scales(const TensorMma& of) const;

  /// Errors: instruction_descriptor, with the field, its bits, its value and what the manual allows: for types and shapes that
  /// do not exist for this mma on this target, for reserved bits, and for a sparsity that is not that of the mma. Whether the
  /// target has the mma is not asked.
  static Result<InstructionDescriptor> decode(std::uint32_t bits, const TensorMma& mma, Target target);
  /// K may be 0 where no other is possible, and D of scaled kinds "". Errors: the same, and for what no field can say.
  Result<std::uint32_t> encode(const TensorMma& mma, Target target) const;
};

/// The zero-column mask descriptor of tcgen05.mma.ws (PTX manual, "Zero-Column Mask Descriptor"): which columns of the product
/// take zeros for B, and by how much the columns of B are shifted.
///
///     63 62   61 ... 56   55 ... 48    47 ... 40    39        38 ... 36   35 ... 32      31 ... 0
///     0       shift       other - 1    zero - 1     enabled   0           first values   start counts, 8 bits each
///
/// Sub-mask i is of N M / 128 columns: runs of `zero` and of `other` columns by turns, of which the first, with the first value
/// i (1: zero), is shorter by the start count i. A start count that would leave no column of it leaves one: the manual's
/// examples do not show that.
struct ZeroColumnMask {
  std::array<int, 4> start_count = {};
  std::array<bool, 4> first_value = {};
  bool is_enabled = false;
  std::array<int, 2> runs = {1, 1};  ///< lengths, by value: of other columns, of zero columns
  int shift = 0;                     ///< column n of the product takes column n + shift of B
  int width = 0;                     ///< of a sub-mask

  /// Errors: descriptor_field, for reserved bits and for shifts beyond that of the instruction descriptor.
  static Result<ZeroColumnMask> decode(std::uint64_t bits, const InstructionDescriptor& of);
  /// Whether it changes anything.
  bool exists() const { return is_enabled || shift != 0; }
  /// Whether a column of the product takes zeros for B. Precondition: 0 <= column < N.
  bool is_zero(int column) const;
};
/// One line: "runs of 3 zero columns and 4 others, columns of B shifted by 2".
std::string text(const ZeroColumnMask& mask);

/// One field of an instruction descriptor.
struct InstructionDescriptorField {
  std::string_view name;
  int first_bit = 0, bits = 0;
  std::uint32_t value = 0;
  std::string meaning;  ///< "f32", "128", "MN-major", or what it should be if it is not allowed
};
/// All fields of a kind's form, from bit 0 on, whether or not they fit together.
std::vector<InstructionDescriptorField> fields(std::uint32_t descriptor, TensorKind kind);

/// One line: "M 128, N 256, K 16, f32 = f16 x f16, A K-major, B MN-major".
std::string text(const InstructionDescriptor& descriptor);

}  // namespace warpbit
#pragma GCC visibility pop
