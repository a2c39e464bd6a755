// SPDX-License-Identifier: Apache-2.0
// A module of PTX as its text has it, with every name resolved (PTX manual, "PTX Module Structure" and "Directives").
// Whether its instructions exist, and what they do, is decided elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa/statement.hpp"
#include "ptx/rows/opcodes.hpp"
#include "ptx/type.hpp"
#include "target/target.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

using warpbit::Position, warpbit::text;

/// A .loc: from where the statements behind it come.
struct Location {
  int file = 0, line = 0, column = 0;  ///< file 0: unknown
  std::string_view function = {};      ///< of a function that was inlined: the label of its name in .debug_str
  std::int64_t offset = 0;             ///< behind that
  int inlined_at = -1;                 ///< of ModuleText::locations: where it was called
  /// If that is not sure: all places where it may have been called, this one among them.
  std::vector<int> or_inlined_at = {};
  friend bool operator==(const Location&, const Location&) = default;
};

enum class StateSpace : std::uint8_t { reg, param, local, shared, global, constant };
std::string_view name(StateSpace space);

enum class Linkage : std::uint8_t { internal, visible, external, weak, common };

/// The address of a symbol in initialised memory or in an operand.
struct Relocation {
  std::size_t at;  ///< the first byte
  int bytes;       ///< 8, or 1 of them: mask(symbol)
  std::string_view symbol;
  std::int64_t offset;
  bool generic;       ///< generic(symbol)
  int shift = 0;      ///< of a single byte: which one of the address
  Position position;  ///< for a symbol that does not exist
};

/// What a variable stands for that has no bytes of its own (PTX manual, "Texture Sampler and Surface Types").
enum class Opaque : std::uint8_t { none, texture, sampler, surface };
/// Its type, without the dot: "texref".
std::string_view name(Opaque opaque);
/// That of such a name; none of others.
Opaque find_opaque(std::string_view name);

/// A member of the initial value of a reference: addr_mode_0 = wrap, width = 64.
struct ReferenceMember {
  std::string_view name;
  std::string_view word = {};  ///< empty: `number`
  std::int64_t number = 0;
};

/// A variable in memory, or a parameter.
struct Variable {
  std::string_view name;
  StateSpace space;
  Type type = Type::b8;
  std::int64_t bytes = 0;  ///< 0: an array whose size the launch gives
  int alignment = 1;
  Linkage linkage = Linkage::internal;
  std::vector<std::byte> initial = {};  ///< the rest is zero
  std::vector<Relocation> relocations = {};
  Position position = {};
  /// Of a parameter of a kernel (.ptr): the space to which it points.
  std::optional<StateSpace> pointee = {};
  Opaque opaque = Opaque::none;  ///< of others than none `type` is u64
  std::vector<ReferenceMember> members = {};

  /// Of a reference; nullptr if its initial value does not have it.
  const ReferenceMember* member(std::string_view named) const {
    const auto found = std::ranges::find(members, named, &ReferenceMember::name);
    return found == members.end() ? nullptr : &*found;
  }
};

/// A register of a function. A vector register is as many.
struct Register {
  std::string name;
  Type type;
};

/// What an operand names.
struct Operand {
  enum class Kind : std::uint8_t {
    reg,       ///< `index`: of FunctionText::registers
    literal,   ///< a constant
    special,   ///< a special register; `text` is its name with its component
    symbol,    ///< the address of `variable` plus `offset`
    function,  ///< `text`: its name
    label,     ///< `index`: of the instruction
    table,     ///< of .branchtargets, .calltargets or .callprototype; `index` of FunctionText::tables
    sink,      ///< _
    vector,    ///< {operands}
    list,      ///< (operands)
    address,   ///< [base + offset]: a reg, symbol or literal; [base, {coordinates}]: two operands
  };
  Kind kind = Kind::sink;
  bool negated = false;  ///< !p, -r
  int index = -1;
  std::int64_t offset = 0;
  Literal literal = {};
  std::string_view text = {};  ///< as written; of a name with an offset the name
  const Variable* variable = nullptr;
  int first = 0, count = 0;    ///< of a vector, a list and an address: their operands (FunctionText::operands)
  int second = -1;             ///< d|p: the register after the bar; kSinkPredicate for `_`
  std::string_view part = {};  ///< r.b0: of the register (ptx/parts)
  Position position = {};
};
inline constexpr int kSinkPredicate = -2;
inline constexpr int kUnresolved = -2;  ///< an index, while the text is read

/// An instruction of a function.
struct Statement {
  std::string_view text;  ///< without its guard, up to and with its ';'
  std::string_view opcode;
  const Opcode* is = nullptr;               ///< what the opcode is
  int first_qualifier = 0, qualifiers = 0;  ///< FunctionText::qualifiers, without their dots
  int first_operand = 0, operands = 0;      ///< FunctionText::operands
  int guard = -1;                           ///< a register
  bool guard_negated = false;
  Position position = {};
  int location = -1;  ///< of ModuleText::locations; -1: unknown
};

/// .branchtargets, .calltargets, .callprototype.
struct LabelTable {
  enum class Kind : std::uint8_t { branch_targets, call_targets, prototype } kind;
  std::string_view name;
  std::vector<int> labels = {};  ///< instructions
  std::vector<std::string_view> functions = {};
  std::deque<Variable> returns = {}, parameters = {};  ///< of a prototype
};

/// x, y, z of .maxntid and the like; 0: not given.
struct Extent {
  unsigned x = 0, y = 1, z = 1;
};

struct FunctionText {
  std::string_view name;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::internal;
  std::deque<Variable> returns = {}, parameters = {};
  Extent max_threads = {}, required_threads = {}, required_cluster = {};
  std::int64_t max_registers = 0, min_blocks = 0;  ///< .maxnreg and .minnctapersm; 0 without
  bool explicit_cluster = false, no_return = false;
  bool has_samplers = false;    ///< see ModuleText
  std::string_view alias = {};  ///< the function that it is (.alias)
  Position position = {};

  std::vector<Register> registers = {};
  std::deque<Variable> variables = {};  ///< of the body, of all its scopes
  std::vector<Statement> statements = {};
  std::vector<std::string_view> qualifiers = {};
  std::vector<Operand> operands = {};
  std::vector<LabelTable> tables = {};
};

/// The qualifiers of a statement of the function.
std::span<const std::string_view> words_of(const FunctionText& function, const Statement& statement);

struct ModuleText {
  std::string text;  ///< viewed by everything else
  Version version = {};
  std::string_view target;
  int address_bits = 64;
  bool has_samplers = false;             ///< of their own, beside textures (texmode_independent)
  bool is_debug = false;                 ///< .target ..., debug
  std::vector<std::string> files = {};   ///< by .file's number
  std::vector<Location> locations = {};  ///< of all functions
  std::string debug_names = {};          ///< the bytes of .debug_str
  std::unordered_map<std::string_view, std::size_t> debug_labels = {};  ///< where in them
  std::deque<Variable> variables = {};
  std::deque<FunctionText> functions = {};
  std::unordered_map<std::string_view, std::size_t> numbers = {};  ///< of functions, by name

  /// Of an alias the function that it is; nullptr if there is none.
  const FunctionText* find(std::string_view name) const;
};

/// The bits of a constant in a type: an integer cut to its size, 0f... as it is, another floating-point constant rounded to
/// f32 where the type has 32 bits; of the rest the lowest bits (PTX manual, "Floating-Point Constants"; ptxas).
std::uint64_t literal_bits(const Literal& value, Type type);

/// A statement without its semicolon, in one line: the text of a module has tabs and line breaks.
std::string one_line(std::string_view statement);

/// Errors: statement_syntax and the like, with line and column.
Result<std::shared_ptr<const ModuleText>> parse_module(std::string text);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
