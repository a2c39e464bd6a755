// SPDX-License-Identifier: Apache-2.0
// What a scalar instruction does to the registers of one lane: the specification. It is written to be read; kernels that
// execute 32 lanes at a time must equal it. Whatever the manual leaves open is as an H100 does it
// (src/target/NUMERICS.md, "Scalar instructions").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "numeric/formats.hpp"
#include "ptx/forms.hpp"
#include "ptx/type.hpp"
#include "scalar/function.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::scalar {

using ptx::Type;

enum class Precision : std::uint8_t { exact, approx, full };
/// .eq to .nan, in the manual's order; the unsigned .lo, .ls, .hi, .hs are lt, le, gt, ge.
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Boolean : std::uint8_t { none, conjunction, disjunction, exclusive };
enum class TestOf : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };
enum class Permutation : std::uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

/// How far undefined bits of the sources spread (grid/undefined_bits.cpp).
enum class Spread : std::uint8_t {
  whole,
  bitwise,
  moved,
  sum,
  difference,
  product,
  monotone,
  compared,
  selected,
  parts,  ///< of registers, by lane
};

/// The second operation of a video instruction: of its result and the third source.
enum class Secondary : std::uint8_t { none, add, min, max };

/// Which elements of a register an operand of a video instruction is, by lane, the lowest first. Sources are taken from both
/// registers: b's elements are numbered behind a's.
struct Part {
  static constexpr std::uint8_t kNone = 0xFF;  ///< of a result: the lane is not in the mask
  std::uint8_t bits = 32;
  std::array<std::uint8_t, 4> element = {};
};

/// Four numbers of eight bits or less: of one format, `stride` bits from one to the next.
struct Narrow {
  FormatId format = FormatId::e4m3;
  std::uint8_t stride = 0;  ///< 0: other types
};

struct Operation;

/// What a lane reads: its registers in the order of the statement, the predicate among them, and the carry flag.
struct Sources {
  std::array<std::uint64_t, 4> value = {};
  bool predicate = false;
  bool carry = false;
  int count = 0;

  std::uint64_t operator[](int i) const { return value[static_cast<std::size_t>(i)]; }
};

/// What it writes.
struct Results {
  std::uint64_t value = 0;
  bool second = false;  ///< the predicate of d|p
  bool carry = false;   ///< with .cc
};

using Execute = Results (*)(const Operation& operation, const Sources& sources);

/// Numbers of 2 or 4 bits, which are no type.
struct SmallNumbers {
  int bits = 0;  ///< 0: none
  bool is_signed = false;
};

/// An instruction without its registers. Made by `operation`.
struct Operation {
  Function function = Function::none;
  Type type = Type::b32;   ///< of the sources
  Type to = Type::b32;     ///< of the result
  Type third = Type::b32;  ///< slct: of the selector; dp4a, vadd: of b
  /// Sums and products: of each source, of which the first is `type`.
  std::array<Type, 3> from = {Type::b32, Type::b32, Type::b32};
  std::array<Narrow, 4> narrow = {};  ///< of the result and of each source
  SmallNumbers packed = {};           ///< what cvt.pack makes, if it is not of type `to`
  Mode mode = Mode::none;
  Precision precision = Precision::exact;
  Rounding rounding = Rounding::nearest_even;
  bool rounds_to_integer = false;  ///< .rni and the like
  bool has_rounding = false;
  bool ftz = false, sat = false, satfinite = false, relu = false, oob = false, nan = false, xorsign = false,
       abs = false;
  bool carry = false;                                  ///< .cc
  bool takes_carry = false;                            ///< of another one
  bool negate_product = false, negate_addend = false;  ///< of vmad; of an fma that the assembler made
  bool scaled = false;  ///< a product or a part of a quotient that the assembler made (assembler/assemble.hpp)
  bool exchanged = false;  ///< the assembler has exchanged two sources
  bool clamp = false;      ///< .clamp, otherwise .wrap
  bool left = false;       ///< shf.l
  bool shift_amount = false;
  Compare compare = Compare::eq;
  Boolean boolean = Boolean::none;
  bool predicate = false;  ///< the predicate among the sources, where it is a constant
  TestOf test = TestOf::finite;
  Permutation permutation = Permutation::index;
  Secondary secondary = Secondary::none;
  bool plus_one = false;           ///< .po
  std::uint8_t scale = 0;          ///< .shr7, .shr15
  std::array<Part, 3> parts = {};  ///< video instructions: of the result, of a and of b
  Spread spread = Spread::whole;
  std::string_view moved =
      {};  ///< with Spread::moved: by source, d for bits that it moves, c for what says where they go
  Execute execute = nullptr;
};

/// Precondition: the words are those of a form (ptx::match_scalar). `execute` is null if the opcode has no value of its
/// own to compute (ld, bar and so on).
Operation operation(std::string_view opcode, std::span<const std::string_view> words);

/// Of a video instruction: an operand (0: the result) is a part of a register, such as "b0". Precondition: one of the form's
/// (ptx/parts.hpp).
void select_part(Operation& operation, std::size_t operand, std::string_view part);

/// The bits of a video instruction's result that undefined bits of its sources reach.
std::uint64_t undefined_parts(const Operation& operation, const Sources& undefined);

/// The type of a source, by its number; of a predicate pred.
Type source_type(const Operation& operation, int source);

/// The result of one lane. A packed type is executed part by part.
Results execute(const Operation& operation, const Sources& sources);

// ---- For the files of this folder

/// The lowest bits of a register, as a number.
inline std::uint64_t cut(std::uint64_t value, int bits) {
  return value & ones(bits);
}
inline std::int64_t extend(std::uint64_t value, int bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

struct Row {
  std::string_view opcode;  ///< and its first word, if that makes another one of it
  Execute execute;
  Function function = Function::none;
  Spread spread = Spread::whole;
  std::string_view moved = {};
  bool takes_carry = false;
};
std::span<const Row> integer_rows(), floating_rows(), compare_rows(), convert_rows(), narrow_rows(),
    video_rows();

/// What a word such as e2m1x4 says; nothing for others.
std::optional<Narrow> find_narrow(std::string_view word);

/// The parts of a video instruction that names none.
std::array<Part, 3> whole_parts(Function function);

inline bool is_video(Function function) {
  return function >= Function::video && function <= Function::vmad;
}

FormatId format_of(Type type);

}  // namespace warpbit::scalar
#pragma GCC visibility pop
