// SPDX-License-Identifier: Apache-2.0
// Families and their forms, as tables. A family's file lists rows; they expand to forms; everything else (the
// decoder, refusals, listings, legality) is derived from the forms.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "isa/tensor_action.hpp"
#include "kernel/move.hpp"
#include "numeric/conversion.hpp"
#include "numeric/formats.hpp"
#include "numeric/sparsity.hpp"
#include "target/target.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/state.hpp"

namespace warpbit {

/// Which literals a source may hold, and where.
struct LiteralRule {
  struct Places {
    bool whole = false;  ///< alone, or without registers beside them
    bool mixed = false;  ///< beside registers
    constexpr bool any() const { return whole || mixed; }
  };
  Places integer = {};  ///< the bits of the register
  Places f32 = {};      ///< 0f...: the bits of the register
  Places f64 = {};      ///< 1.0, 0d...: the bits of the register, or rounded to the f32 in there

  constexpr bool any_whole() const { return integer.whole || f32.whole || f64.whole; }
};
inline constexpr LiteralRule::Places kAnywhere{true, true}, kAlone{true, false}, kBeside{false, true};

/// The registers that an operand accepts: as the assembler (ptxas 13.0) where the manual ("Operand Type
/// Checking") is silent. Literals whose meaning differs between targets are left out.
struct RegisterClass {
  std::string_view name;  ///< in the notation of the instruction table
  int bits;
  std::string_view types;  ///< accepted declared types, separated by blanks
  LiteralRule literals = {};
  bool mixed = true;  ///< a vector may mix types
  bool sinks = true;  ///< a destination may have '_' beside registers
};

/// The values of an immediate. The maximum may be kUnbounded, and the minimum then kAnyInteger.
struct ImmediateRange {
  int least = 0, most = 0;  ///< in the manual
  int assembler_most = 0;   ///< in the assembler, if that is more
  int step = 1;
  std::optional<int> of_bare_form = {};  ///< by default the minimum
};
inline constexpr int kUnbounded = std::numeric_limits<int>::max(),
                     kAnyInteger = std::numeric_limits<int>::min();

/// An operand of a form.
struct OperandSpec {
  std::string_view role;
  Part part;
  OperandKind kind;
  const RegisterClass* registers;
  int count;  ///< registers per lane
  FormatId format;
  std::vector<FragmentMap> fragments;  ///< one; for metadata, one for each selector
  ImmediateRange immediate = {};       ///< of a pair: for its first item
  ImmediateRange second = {};          ///< of a pair: for its second item
  /// Other counts that the assembler accepts; it ignores the further registers.
  std::span<const int> also_counts = {};
  bool optional = false;  ///< may be omitted, if it is the last one

  const FragmentMap& fragment() const { return fragments.front(); }
};

/// The role of a qualifier in messages.
enum class SlotRole { plain, shape, factor_type };

/// A place in the qualifier list of a family, in the manual's order. Qualifiers of different groups may be
/// written in any order; those of one group fill its slots in the order in which they stand.
struct QualifierSlot {
  std::string_view what;   ///< for messages: "shape", "type of A"
  std::string_view group;  ///< "shape", "type"
  bool required = true;
  bool repeatable = false;      ///< may be written more than once
  bool after_previous = false;  ///< must be written after the slot before it
  bool leading = false;         ///< must be written at its place in this list
  bool chosen = false;          ///< required, and yet never implied by other words of a short form
  /// If not 0, how many slots before it the word stands that a short form need not repeat.
  int repeats = 0;
  /// Required by the manual but not by the assembler.
  bool assembler_optional = false;
  SlotRole role = SlotRole::plain;
  /// If set, tells whether an unknown qualifier was meant for this group.
  bool (*resembles)(std::string_view qualifier) = nullptr;
};

/// m<digits>n<digits>k<digits>
bool looks_like_shape(std::string_view qualifier);

/// Executes D = A B + C, by the plan of its arithmetic.
struct DotProduct {};

/// Each element of the destination is an element of the sources, possibly converted. Elements of the sources
/// are numbered from the lowest bits of the last register of the last source; in a fragment with several
/// rows, by row and column.
struct Elementwise {
  std::optional<Conversion> conversion;
};

/// Elements move between registers and memory (kernel/move.hpp).
struct MatrixMove {
  bool to_memory;
  Space space;
  Addressing addressing;
  bool lines_are_columns;   ///< of the fragment; rows otherwise
  int element_bits;         ///< in memory
  int line_bytes;           ///< in memory, with padding
  int alignment;            ///< of the addresses, in bytes
  int stride_multiple = 1;  ///< in bytes
  int extended_bits = 0;    ///< loads sign-extend elements to as many bits of a register
};

/// Orders asynchronous instructions or waits for them; moves no elements. Lanes execute it together.
struct Control {
  AsyncControl control;
  int lanes;
};

struct Form {
  std::string canonical;
  std::vector<std::string> qualifiers;  ///< one for each slot of the family, "" where absent
  std::vector<OperandSpec> operands;
  Features needs;       ///< features that the assembler requires
  Features known = {};  ///< features for which the library knows the behaviour
  Arithmetic arithmetic;
  std::variant<DotProduct, Elementwise, MatrixMove, Control, TensorAction> action = DotProduct{};
  int rows, columns, depth, products;
  Sparsity sparsity = {};  ///< of A
  bool ordered = false;    ///< the indices in the metadata must ascend

  int terms() const { return sparsity.is_sparse() ? depth / 2 : depth; }
  std::string_view undocumented;  ///< not empty: the assembler accepts it, but the manual does not list it
};

/// The forms of a family, expanded from its rows when they are first asked for: most programs need few families of the many.
/// They stay until the program ends. Thread-safe.
#pragma GCC visibility push(default)  // the page of the ISA asks for them
class FormList {
 public:
  /// What expand(given...) returns.
  template <class... Given>
  explicit FormList(std::vector<Form> (*expand)(Given...), std::type_identity_t<Given>... given)
      : made_(std::make_shared<Made>([=] { return expand(given...); })) {}

  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  const Form& front() const { return all().front(); }
  const Form& back() const { return all().back(); }

 private:
  struct Made {
    explicit Made(std::function<std::vector<Form>()> how) : expand(std::move(how)) {}
    std::function<std::vector<Form>()> expand;
    std::once_flag once;
    std::vector<Form> forms;
  };
  const std::vector<Form>& all() const;

  std::shared_ptr<Made> made_;
};
#pragma GCC visibility pop

/// Since which version of PTX forms of an opcode exist, where that is later than their targets (PTX manual, "PTX ISA Notes" of
/// each instruction; tests/isa/versions.tsv has what ptxas asks for). The words must all be there: `a|b` one of them, `a*` one
/// that begins so, `.a` as the last, `.a.b` as the last two, `!a` none. Of the rows that fit the latest counts.
struct SinceRow {
  std::string_view words;
  Version since;
  std::string_view target = {};  ///< if it is of one alone
};

struct Family {
  std::string_view name;    ///< first column of the instruction table
  std::string_view opcode;  ///< up to the first dot
  /// Qualifiers that distinguish the family from others of the same opcode, as written or followed by
  /// "::..."; none for the plain one.
  std::span<const std::string_view> marks;
  std::span<const QualifierSlot> slots;
  FormList forms;
  std::span<const SinceRow> since = {};  ///< of all families of the opcode
};

/// All families.
#pragma GCC visibility push(default)  // the page of the ISA asks for them
std::span<const Family> families();
#pragma GCC visibility pop

/// Products of a chain of FMA, which are no forms of PTX and not among the families (families/chain.cpp).
const Family& chain_family();

/// "0..3", "0" if there is one value, "-1,1" if values between are excluded, ">=0" without a maximum, "any".
std::string text(const ImmediateRange& range);

/// The operands of a form in the notation of the instruction table, e.g. "d:4xf32 a:4xb32 b:2xb32 c:4xf32".
std::string operand_notation(const Form& form);

/// The index of the metadata's or scale factors' fragment that the selector's literals choose; 0 if they are
/// registers.
std::size_t fragment_index(const OperandSpec& selector, std::span<const std::optional<std::uint64_t>> literals);

/// The fragment of the registers of tcgen05.ld or tcgen05.st with this immHalfSplitoff; nothing if it points outside tensor
/// memory. Elements between the two halves have no place.
std::optional<FragmentMap> map_of_split(const Form& form, std::int64_t split);

/// The nibbles of metadata that the manual defines, e.g. "0x4, 0xe". Precondition: the form is sparse.
std::string defined_nibbles(const Form& form);

/// The targets that have the form.
#pragma GCC visibility push(default)
std::vector<Target> targets_of(const Form& form);
#pragma GCC visibility pop

// Each file in families/ appends its own.
using AddFamilies = void(std::vector<Family>& out);
AddFamilies add_mma, add_block_scale, add_wmma, add_matrix_moves, add_cvt, add_wgmma, add_async_control,
    add_tcgen05;

}  // namespace warpbit
