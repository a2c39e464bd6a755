// SPDX-License-Identifier: Apache-2.0
// What is compiled once for each vector extension, and the plain data it works on.
//
// D = A B + C is computed in blocks of 16 elements of D: two rows, by eight columns, the rows side by side,
//
//     lane    0      1      2      3    ...  14     15
//           (0,0)  (1,0)  (0,1)  (1,1)  ... (0,7)  (1,7)
//
// from panels: of A the elements of the two rows for each k, of B those of the eight columns for each two k; a
// load brings the ones of one k twice. The order of k within a panel is free within a node, but the same in
// both.
//
//     A: codes, values, powers [k][2]            B: codes, values [k / 2][column][k % 2]
//
// Exponents of 8 bits of B are there twice, so that the eight of four k and both rows meet those of a column
// side by side:
//
//     A: exponents [k][2]                        B: exponents [k / 4][column][k % 4][2]
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpbit {

inline constexpr int kBlock = 16;
inline constexpr int kMaxNodes = 16;

/// How the codes of a factor become values and raw exponents.
struct Encoding {
  enum class Kind : std::uint8_t {
    half,  ///< f16, or a format of at most 8 bits whose codes are moved to where f16 has sign, exponent,
           ///< fraction
    bf16,
    tf32,
  };
  Kind kind = Kind::half;
  int bytes = 2;  ///< that an element takes in a register
  /// Of one byte: what of it is the sign and the magnitude, and by how much each is moved up.
  std::uint8_t sign_mask = 0, sign_shift = 0, magnitude_mask = 0, magnitude_shift = 0;
  /// half: the least magnitude that is Inf or NaN.
  std::uint16_t first_special = 0x7C00;
  /// half: the value is that of the f16 times 2^scale.
  int scale = 0;
  /// Of one byte: what is added to its exponent field, and the panel's exponents of bytes with a field of zero,
  /// by their magnitude as it lies. 0 and those of 1, or, where exponents are those of the value's f16 code,
  /// what this code has.
  std::int8_t added_exponent = 0, subnormal[8] = {};
};

/// Raw exponents as the panels hold them, of 8 bits: the field of the code (1 for a subnormal), less the
/// largest field of the panel, plus kTopExponent; from kTopExponent - kNearExponents on. Zero is so much below
/// that its sums are negative, and those of others are not.
inline constexpr int kTopExponent = 63, kNearExponents = 29;
inline constexpr std::int8_t kNoNearExponent = -64;
/// Where the exponents of a panel are too far apart for that, or the largest field is beyond kMaxTop, panels
/// of A hold powers of two instead, in f32: values without sign and fraction, 0 for zero. Subnormals, which
/// have none in f32, then count as specials.
inline constexpr int kMaxTop = 191;
/// Where E + 127 is below, products that count may be no normal numbers of f32: left to any.hpp.
inline constexpr int kMin = 40;
/// Or, of single cases of tf32 without a sparse A, the fields of f32 themselves, in 16 bits, where a code has
/// them; those of A less 127. None is beyond kMaxField: then the sum of a zero is below kMin, and so is that
/// of a subnormal, whose product has an E + 127 of at most kMin.
///
///     A: fields [k / 2][2][k % 2]                B: fields [k / 2][column][2][k % 2], as A's, twice
inline constexpr int kMaxField = kMin + 126, kTopOfFields = -1;
/// Panels of half have their fields, which are small enough, as they are.
inline constexpr int kTopOfHalf = kTopExponent;

/// How the blocks of a plan are computed.
struct FusedProgram {
  struct Node {
    int first = 0, count = 0;  ///< of k, in the order of the panels
    bool from_zero = false;
  };
  int nodes = 0;
  Node node[kMaxNodes] = {};
  int window = 0;                 ///< F
  int floor = 0;                  ///< of E, plus 127
  int exponent_bias = 0;          ///< what makes a sum of two exponent fields E plus 127
  int product_scale = 0;          ///< products of the values of the panels count 2^product_scale times
  std::uint32_t kept_mask = ~0U;  ///< the bits of an f32 result that survive
  bool half_nodes = false;        ///< nodes give f16, rounded to nearest; else f32, toward zero
  bool half_c = false;            ///< C is f16
  bool half_d = false;            ///< D is f16
  bool adds_c = false;            ///< C is added to what the nodes gave, rounded to nearest
};

/// The panels of a batch's cases lie in the body: no larger ones.
inline constexpr int kMaxRows = 8, kMaxPanelDepth = 64;

/// A sparse A. Its elements are stored two by two, of each row in the order of k; such a pair meets two
/// elements of a quad, four neighbours in a column of B. What it meets is in a table, for each nibble that says
/// which: two indices in the quad, the first one below.
///
///     A: values, powers [pair][row][2]       B: values [quad][nibble][column][2]
///
/// The largest sum of exponents of 8 bits is searched entry by entry: four pairs of two rows, and the segment
/// of B that they meet, four quads.
///
///     A: [entry][pair][row][2]               B: [segment][even columns, odd columns][4][quad][4]
struct Selection {
  static constexpr int kMaxWords = kMaxRows * kMaxPanelDepth / 16;

  int kept = 0;  ///< of a group 1 or 2 elements are stored (numeric/sparsity.hpp)
  int fours = 0;
  /// Where the 16 bits of four groups are in the registers, of each row of a pair, [row of blocks][four
  /// groups]: the word, and how many bits below them.
  std::int32_t word[2][kMaxWords] = {}, low_bits[2][kMaxWords] = {};
};
inline constexpr int kQuadValues = 16 * kBlock;  ///< of a quad in B's table

/// Where the blocks of C and D lie. A block is four pieces of four elements: (row 0, column 2t), (0, 2t+1),
/// (1, 2t), (1, 2t+1), for t = 0 .. 3.
struct BlockView {
  std::byte* base = nullptr;
  std::ptrdiff_t piece_stride = 0, row_stride = 0, column_stride = 0;  ///< in bytes; of a row of blocks, ...
  /// Or the registers of warps that have 16 rows each, of f32, those of all lanes side by side: [warp][column][4]. Lane
  /// 4 r + t of row r of blocks has the elements of piece t: (row 0, column 2t), (0, 2t+1), (1, 2t), (1, 2t+1).
  std::uint32_t* const* registers = nullptr;
  /// Or the rows of a matrix of f32, its columns side by side. Rows of blocks r have its rows 16 (r / 8) + r % 8, and the one 8
  /// behind (row_of_pair in exact.hpp).
  std::byte* rows = nullptr;
  std::ptrdiff_t row_bytes = 0;  ///< from row to row

  std::byte* row_of(int row, int column, int lane) const {
    return rows + (row / 8 * 16 + row % 8) * row_bytes + (8 * std::ptrdiff_t{column} + lane / 2) * 4;
  }
  std::uint32_t* const* registers_of(int row, int column, int columns) const {
    return registers + 4 * (std::ptrdiff_t{row} / 8 * columns + column);
  }
};

/// A lane of a block that a body leaves to the specification.
struct LeftLane {
  std::size_t index;  ///< of the case; 0 where there is one
  int row, column;    ///< of blocks
  int lane;
};
/// What the specification gives there: the code of D, from that of C.
struct ExactCode {
  std::uint64_t (*code)(void* context, const LeftLane& at, std::uint64_t c) = nullptr;
  void* context = nullptr;

  std::uint64_t operator()(const LeftLane& at, std::uint64_t c) const { return code(context, at, c); }
};

inline constexpr std::size_t kCodePadding = 128;

struct FusedBlocks {
  const FusedProgram* program = nullptr;
  int rows = 0, columns = 0;  ///< of blocks
  int depth = 0;              ///< of the program
  /// The program is executed so many times, each time for the next `depth` k, D of one as C of the next; of so
  /// many steps are the panels.
  int steps = 1, panel_steps = 1;
  const float *a = nullptr, *b = nullptr;
  const void* a_exponents = nullptr;
  const void* b_exponents = nullptr;  ///< if they are not powers
  /// The largest fields, where exponents have 8 bits; kTopOfFields; 0: they are powers.
  int a_top = 0, b_top = 0;
  /// Of a sparse A the nibbles times 8, [row of blocks][two pairs][row][2], and the places in segments, laid
  /// out as A's exponents.
  const std::uint8_t *selected = nullptr, *entry_places = nullptr;
  /// Whether there are specials: by row and by column of blocks, or, if these are null, anywhere.
  bool has_special = false;
  const std::uint8_t *a_special = nullptr, *b_special = nullptr;
  const std::int16_t *a_scales = nullptr, *b_scales = nullptr;  ///< exponents: (row of blocks, 2), (column, 16)
  BlockView c, d;                                               ///< c.base may be null: +0
  /// What the panels are made of, for blocks of any operands: the codes in the same order, of A of two rows, of B of eight
  /// columns; kCodePadding bytes behind them may be read. Of a sparse A also the k of B that each element meets,
  /// [row of blocks][k][2], of b_depth.
  const Encoding *a_encoding = nullptr, *b_encoding = nullptr;
  const void *a_codes = nullptr, *b_codes = nullptr;
  const std::uint8_t* met = nullptr;
  int b_depth = 0;
  /// Brings them, if they are null.
  void (*find_codes)(FusedBlocks&) = nullptr;
  /// Brings what follows, and says whether there is anything: other panels at the same places, with their tops,
  /// scales and specials, and other C and D with the same strides. Or none.
  bool (*next)(FusedBlocks&) = nullptr;
  void* reader = nullptr;  ///< of these functions
};

/// The exponents of codes: the largest field, and whether they are too far apart or too large for 8 bits.
struct ExponentRange {
  int top = 0;
  bool far = false;
};

/// A part of D, eight columns of 16 rows or 8, with what it is computed of: registers side by side, in the
/// fragments of m16n8 (kernel/gather.hpp).
struct PartRegisters {
  const std::byte *a, *b, *c;
  std::byte* d;  ///< may be c
  const std::byte *e, *a_scales, *b_scales;
};
/// From the registers of a case to those of the next one, in bytes.
struct CaseStrides {
  std::ptrdiff_t a = 0, b = 0, c = 0, d = 0, e = 0, a_scales = 0, b_scales = 0;
};
/// The parts of some cases.
struct Parts {
  const PartRegisters* part = nullptr;  ///< of the first case
  std::size_t count = 0;
  std::size_t cases = 1;
  CaseStrides strides;
  int rows = 0;                               ///< of blocks
  std::ptrdiff_t c_stride = 0, d_stride = 0;  ///< from lane to lane
  ExactCode exact;                            ///< the case is the number of the part, PartCursor::index()
};
/// Parts, one after the other. Inlined wherever it is called: what is compiled for an extension must not serve
/// others.
class PartCursor {
 public:
  inline __attribute__((always_inline)) explicit PartCursor(const Parts& parts) : parts_(parts) {}
  /// Goes on to the next part, at first to the first one. False if there is none.
  inline __attribute__((always_inline)) bool next() {
    if (++in_case_ < parts_.count) return true;
    in_case_ = 0;
    return ++case_ < parts_.cases;
  }
  inline __attribute__((always_inline)) PartRegisters part() const {
    const PartRegisters& first = parts_.part[in_case_];
    const CaseStrides& by = parts_.strides;
    const auto times = static_cast<std::ptrdiff_t>(case_);
    return {first.a + times * by.a,
            first.b + times * by.b,
            first.c + times * by.c,
            first.d + times * by.d,
            first.e + times * by.e,
            first.a_scales + times * by.a_scales,
            first.b_scales + times * by.b_scales};
  }
  /// Its number, counted over all cases.
  inline __attribute__((always_inline)) std::size_t index() const { return case_ * parts_.count + in_case_; }

 private:
  const Parts& parts_;
  std::size_t case_ = 0, in_case_ = static_cast<std::size_t>(-1);
};
/// Scale factors of ue8m0: their NaN, and the exponent of any other code.
constexpr unsigned kScaleNan = 255;
constexpr std::int16_t scale_exponent(unsigned code) {
  return static_cast<std::int16_t>(static_cast<int>(code) - 127);
}
/// Where registers have the scale factors of each row of A, (row of blocks, row), and column of B: the bytes of
/// the first ones.
struct ScaleBytes {
  std::uint16_t a[2 * kMaxRows] = {}, b[kBlock / 2] = {};
};

/// How parts are computed by fused nodes.
struct FusedParts {
  const FusedProgram* program = nullptr;
  Encoding a_encoding, b_encoding;
  bool by_register = false;
  int depth = 0, b_depth = 0;            ///< of the panels
  const Selection* selection = nullptr;  ///< of a sparse A
  /// Of its pairs, sixteen in a row, and of the quads those of even number come first.
  bool even_first = false;
  const ScaleBytes* scales = nullptr;  ///< of ue8m0, one for each row and column, if there are any
};

/// Scaled groups: m16n8k64, or m16n8k128 with a sparse A, of e2m1, with C and D of f32.
struct GroupProgram {
  bool fractions = false;  ///< scale factors are ue4m3, four in a row or column; else ue8m0, two
  bool sparse = false;
  /// WindowedGroups{4, 16, 35}: what it may cut otherwise than GroupScaled without a floor is left to the specification.
  bool windowed = false;
  int floor = 0;  ///< of E
  ScaleBytes scales;
};

// ---- Plans whose arithmetic the processor has itself: integers, bits, IEEE 754

/// Which of them.
struct NativeProgram {
  enum class Kind : std::uint8_t {
    integers,      ///< IntegerSum
    xor_count,     ///< BitCount
    and_count,     ///< BitCount
    double_chain,  ///< f64: FmaChain from C
    single_chain,  ///< f16: FmaChain in f32 from +0, then Add
    pair_sums,     ///< f16: PairSums in f32
  };
  /// In the order of the SSE control register.
  enum class Direction : std::uint8_t { nearest, down, up, zero };
  Kind kind = Kind::integers;
  Direction direction = Direction::nearest;                    ///< in which double_chain rounds
  int bits = 8;                                                ///< integers: of an element of A and B, 8 or 4
  bool a_signed = false, b_signed = false, saturates = false;  ///< integers
  int nodes = 1;                                               ///< integers: sums that follow each other
  bool half_c = false, half_d = false;                         ///< C and D are f16
  /// In a line of A: registers of 32 (integers, bits) or 64 bits (f64), or f16.
  int items = 0;
  std::uint8_t place[16] = {};  ///< of the item of each k; only the chains and sums of pairs ask
};

// ---- Chains of FMA

/// Blocks of D, a panel by some pairs of rows, from one product a b to the next.
struct ChainBlocks {
  bool is_double;           ///< numbers of f64, else of f32
  bool is_fused;            ///< else a b is rounded before it is added
  const void* a;            ///< [pair][step][2]
  std::size_t pair_stride;  ///< numbers from a pair to the next
  const void* b;            ///< [step][8]
  std::size_t steps, pairs;
  void* running;  ///< [pair][2][8]; of a NaN any bits
};

/// The functions of one extension.
struct Body {
  const char* name;  ///< of the extension that the compiler was told of, as of its Kernel
  /// Registers of a factor, dense -> codes in the order of panels (panels.hpp); of rows or columns of blocks.
  void (*arrange_a)(const Encoding&, const std::byte* registers, int rows, int depth, bool by_register,
                    void* codes);
  void (*arrange_b)(const Encoding&, const std::byte* registers, int columns, int depth, bool by_register,
                    void* codes);
  /// Codes of A and B -> values and exponents (panels.hpp).
  /// In any order. Of half {kTopOfHalf, false}.
  ExponentRange (*exponent_range)(const Encoding&, const void* codes, int count);
  /// With exponents relative to `top`, or powers if that is 0; no fields. True if there is an Inf or NaN, or
  /// with powers a subnormal. `each` is the number of codes for one k: of A two, of B eight.
  bool (*decode)(const Encoding&, const void* codes, int count, int each, int top, float* values,
                 void* exponents);
  /// Whether there are any, of each row or column of blocks, which has so many codes.
  void (*find_specials)(const Encoding&, const void* codes, int blocks, int count, int top,
                        std::uint8_t* found);
  void (*fused)(const FusedBlocks&);
  void (*fused_parts)(const FusedParts&, const Parts&);
  /// Whether nibbles of metadata are defined (numeric/sparsity.hpp), those whose third bits are in
  /// `third_bits`; of a multiple of 16 words.
  bool (*is_defined)(bool one_of_two, bool ordered, const std::byte* words, const std::uint32_t* third_bits,
                     int count);
  void (*groups)(const GroupProgram&, const Parts&);
  /// C and D without gaps between lanes.
  void (*native)(const NativeProgram&, const Parts&);
  void (*chain)(const ChainBlocks&);
};

extern const Body k_scalar_body, k_avx2_body, k_avx512_body, k_neon_body;

}  // namespace warpbit
