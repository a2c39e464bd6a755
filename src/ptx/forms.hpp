// SPDX-License-Identifier: Apache-2.0
// The forms of scalar instructions: what ptxas 13.0 accepts (tests/isa/scalar.tsv), as rows. The tensor families, matrix
// moves and the conversions of isa/families/ are not among them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/compression.hpp"
#include "ptx/rows/rows.hpp"
#include "ptx/type.hpp"
#include "target/target.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

/// An operand of a form, by the notation of the rows:
///
///     d:T       a register or a constant of the last type among the qualifiers
///     d:U       of the last but one;  d:W  of twice the bits of T;  d:u32  of that type
///     d_:T      may be `_`
///     #d:T      a vector of as many as .v2, .v4, .v8 says, or one of them
///     d|p:T     a second destination, a predicate, may follow;  d&p:T  one follows
///     p:pred    a predicate;  b:T?  an operand that may be absent;  c:pred&  that is there with .and, .or or .xor
///     c:u64&L2::cache_hint  that is there with this word;  _  nothing else
///     a.part:u32  it may be a part of a register that has a name: %r1.b0 (ptx/parts);  -a:u32  it is negative, -%r1;
///     +-a:u32  it may be
///     {a:b16*2} a vector of two;  {a:b32*M}  of as many as metadata has, C compressed, D dense elements;  [p]  an address;  #imm  a constant
///     [r]       an address in a register;  [w]  of 64 bits;  [m]  in .shared;  [x]  in any space, parameters too
///     a:u32=    a register of an integer type, none of bits
///     a:u32!    whose bits must have been written: more than the result depends on them, as on those of an address
///     [t,c]     the address of a tensor map, and as many coordinates as .1d to .5d says, 5 with four rows;  [t,g,c]  with the
///               address of the tensor;  [t,g,z,c]  and the size of its one dimension;  [t,g,z,l,u,c]  sizes and strides
///     [e,o]     a fabric handle: an endpoint, an offset;  [e,o,n]  the offset of a counter, too
///     [h,x]     the handle of a texture or the name of what stands for one, and the coordinates that its shape has, of the last
///               type; the first of an array is a layer; with texmode_independent a sampler between them;  [h,s]  of a surface, .s32
///     {o}       offsets of .im2col, two for fewer than coordinates; two of .im2col::w
///     @label    of an instruction;  @table  of .branchtargets
///     #imm(0..15), b:u32(0..255)  a constant of these values;  (24..256/8)  that is a multiple of 8;  (1..0)  none
struct OperandForm {
  enum class Kind : std::uint8_t {
    value,
    vector,
    pack,
    address,
    tensor,
    handle,
    texture,
    offsets,
    sink,
    immediate,
    label,
    table
  };
  enum class Presence : std::uint8_t { always, optional, with_boolean, with_word };
  enum class Second : std::uint8_t { none, allowed, required };
  Kind kind = Kind::value;
  std::string_view role;
  char type_from = 0;  ///< 'T', 'U', 'V', 'W', or 0: `type`
  Type type = Type::b32;
  int count = 1;        ///< of a pack, and of the parts in brackets
  char count_from = 0;  ///< of a pack: 'M', 'C', 'D', or 0: `count`
  Presence presence = Presence::always;
  std::string_view word = {};    ///< with which it is there
  Second second = Second::none;  ///< |p
  std::string_view parts = {};   ///< which parts of a register it may be; empty: the whole one
  bool may_be_negative = false, may_be_positive = true;
  bool sink = false;
  bool is_strict = false;  ///< registers of bits are not taken
  bool must_be_written = false;
  std::string_view values = {};  ///< of a constant; empty: all

  bool is_destination() const { return role == "d"; }
};

using Words = std::vector<std::string_view>;

/// A row, taken apart.
struct ScalarForm {
  const FormRow* row;
  const Chapter* chapter;
  std::vector<std::string_view> opcodes;
  std::vector<std::vector<Words>> slots;  ///< of each its alternatives, words without dots
  std::set<std::string_view> words;       ///< of all slots
  std::vector<OperandForm> operands;
  Version since;                                            ///< of the row
  std::vector<std::pair<std::string_view, Version>> later;  ///< words that have their own
  bool has_parts = false;                                   ///< an operand may be a part of a register
  /// How a step uses its places (grid/written.hpp): r two of results, then by operand v value, m must be written.
  std::string uses;
};

/// A row of a chapter, for those who match words against it.
ScalarForm take_apart(const FormRow& row, const Chapter& chapter);
/// All of them, in the order of the rows.
std::span<const ScalarForm> scalar_forms();
/// Those of an opcode; none if it has none.
std::span<const ScalarForm* const> forms_of(std::string_view opcode);

/// A form as a statement names it.
struct MatchedForm {
  const ScalarForm* form = nullptr;
  std::vector<Type> types;  ///< among the qualifiers, in order
  int vector = 1;
  bool boolean = false;              ///< .and, .or, .xor
  int coordinates = 0, offsets = 0;  ///< of a tensor, or a texture
  bool has_layer = false;            ///< the first coordinate of a texture is one
  VectorSizes sizes = {};
  Features features = {};  ///< of the target, which special registers need too

  /// The type of an operand.
  Type type_of(const OperandForm& operand) const;
  /// How many registers a pack has.
  int count_of(const OperandForm& operand) const;
};

/// Why no kernel executes a form; empty: kernels do.
std::string_view why_not_executed(const ScalarForm& form);

/// The first version of PTX that has a form with these words. A target may be later (TargetRow::since).
Version since(const ScalarForm& form, std::span<const std::string_view> words);
/// Whether a statement's words are those of a form, in the order of the row or in another that ptxas takes.
bool has_words(const ScalarForm& form, std::string_view opcode, std::span<const std::string_view> words);
/// The forms that have these words, in the order of the row or in another that ptxas takes; several, if they differ in
/// operands, and none if the target has none.
std::vector<MatchedForm> scalar_matches(std::string_view opcode, std::span<const std::string_view> qualifiers,
                                        Target target);
/// The same, and why there is none. Errors: unknown_instruction, not_on_target, those of no_form (refusal.hpp).
Result<std::vector<MatchedForm>> match_scalar(std::string_view opcode,
                                              std::span<const std::string_view> qualifiers, Target target);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
