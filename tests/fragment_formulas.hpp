// SPDX-License-Identifier: Apache-2.0
// Which element of its matrix a value of a lane is, and which bits it has: by the formulas of the PTX manual,
// or where it has none, by facts 4. g = lane / 4, t = lane % 4; of the map itself nothing is asked.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

#include "warpbit/instruction.hpp"

namespace formulas {

using warpbit::Instruction;
using warpbit::Operand;
using warpbit::Place;

using Key = std::tuple<int, int, int>;  // product, row, column

inline bool has_word(std::string_view form, std::string_view word) {
  const std::string dotted = "." + std::string(form) + ".";
  return dotted.find("." + std::string(word) + ".") != std::string::npos;
}

// ---- Bits: elements side by side, low bits first, unless the manual says otherwise.

// Six- and four-bit types have containers of eight bits: e2m1 in the middle four ("mma", kind::f8f6f4 and
// kind::mxf8f6f4), else in the low ones ("cvt"; "ldmatrix", with CUTLASS 4, mma_traits_sm120.hpp). e2m1 is
// packed with kind::mxf4 and kind::mxf4nvf4 and by cvt.
struct Container {
  int bits, low_bit, element_bits;
};
inline Container container(const Instruction& i, const Operand& op) {
  const std::string_view form = i.canonical(), f = op.format;
  if (has_word(form, "b6x16_p32")) return {8, 0, 6};
  if (has_word(form, "b4x16_p64")) return {8, 0, 4};
  if (f == "e3m2" || f == "e2m3") return {8, 0, 6};
  if (f != "e2m1") return {op.element_bits, 0, op.element_bits};
  const bool packed = i.family() == "cvt" || has_word(form, "kind::mxf4") || has_word(form, "kind::mxf4nvf4");
  return packed ? Container{4, 0, 4} : Container{8, 2, 4};
}

inline int per_register(const Instruction& i, const Operand& op) {
  return op.register_bits / container(i, op).bits;
}

inline Place bits_of(const Instruction& i, const Operand& op, int lane, int value) {
  const Container c = container(i, op);
  const int per = per_register(i, op);
  return {lane, value / per, value % per * c.bits + c.low_bit, c.element_bits};
}

// ---- mma

// The manual, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
inline Key volta(const Instruction& i, const Operand& op, int lane, int value) {
  const bool high = lane >= 16;
  const int product = lane % 16 / 4, t = lane % 4;
  const std::string form(i.canonical());
  const bool a_row = form.find("m8n8k4.row") != form.npos,
             b_row = form.find(".row.f", form.find("m8n8k4")) != form.npos;
  if (op.role == "a" && a_row) return {product, high ? t + 4 : t, value};
  if (op.role == "a") return {product, high ? value + 4 : value, t};
  if (op.role == "b" && b_row) return {product, t, high ? value + 4 : value};
  if (op.role == "b") return {product, value, high ? t + 4 : t};
  if (op.format == "f16") return {product, high ? t + 4 : t, value};
  const int x = (lane & 1) + (value & 2);
  return {product, high ? x + 4 : x, (value & 4) + (lane & 2) + (value & 1)};
}

// The manual, all other fragments of mma: one formula for each operand, by the bits of an element in its
// register. M is 8 or 16.
inline Key tile(char role, int m, int per, int lane, int value) {
  const int group = lane / 4, thread = lane % 4, reg = value / per, e = value % per;
  if (role == 'a' && m == 8) return {0, group, thread * per + e + 4 * per * reg};
  if (role == 'a') return {0, group + (reg % 2 == 1 ? 8 : 0), thread * per + e + (reg / 2) * 4 * per};
  if (role == 'b') return {0, thread * per + e + reg * 4 * per, group};
  return {0, value < 2 ? group : group + 8, thread * 2 + value % 2};
}

// ---- wmma (facts 4, "wmma on sm_90")

struct Shape {
  int m, n, k;
};
inline Shape shape_of(std::string_view form) {
  const std::size_t at = std::min(form.find(".m8n"), std::min(form.find(".m16n"), form.find(".m32n"))) + 2;
  const std::string text(form.substr(at, form.find('.', at) - at));
  const std::size_t n = text.find('n'), k = text.find('k');
  return {std::stoi(text), std::stoi(text.substr(n + 1)), std::stoi(text.substr(k + 1))};
}

// Fragments of mma, one after the other; where they leave registers over, from the first again.
inline Key wmma(char role, const Shape& s, int per, int lane, int value) {
  if (s.n == 32) {  // m32n8 with A and B exchanged
    const char other = role == 'a' ? 'b' : role == 'b' ? 'a' : role;
    const auto [product, row, column] = wmma(other, {32, 8, s.k}, per, lane, value);
    return {product, column, row};
  }
  const int m = std::min(s.m, 16);  // of a tile; its N is 8
  const int values = role == 'a' ? m * s.k / 32 : role == 'b' ? 8 * s.k / 32 : m * 8 / 32;
  const bool down = role != 'b' && s.m == 32, right = role != 'a' && s.n == 16;
  const int number = value / values % (down || right ? 2 : 1);
  const auto [product, row, column] = tile(role, m, per, lane, value % values);
  return {product, row + (down ? 16 * number : 0), column + (right ? 8 * number : 0)};
}

// ---- wgmma (facts 4): warp w has rows 16 w to 16 w + 15

inline Key warpgroup(char role, int per, int lane, int value) {
  const int w = lane / 32, g = lane % 32 / 4, t = lane % 4;
  if (role == 'd') return {0, 16 * w + g + 8 * (value / 2 % 2), 2 * t + value % 2 + 8 * (value / 4)};
  const int reg = value / per, e = value % per;
  return {0, 16 * w + g + 8 * (reg % 2), per * t + e + 4 * per * (reg / 2)};
}

// ---- Matrix moves: row and column as the matrix lies in memory

// "ldmatrix", "stmatrix" and "movmatrix", figures 104 to 110. Of 16-bit elements a row belongs to four lanes,
// of the transposed matrix a column. m16n16 takes two registers a matrix; of m16n8 a line in memory is a
// column.
inline Key moved(const Instruction& i, const Operand& op, int lane, int value) {
  const std::string_view form = i.canonical();
  const int g = lane / 4, t = lane % 4;
  const bool halves = has_word(form, "b16");
  const int reg = value / (halves ? 2 : 4), e = value % (halves ? 2 : 4);
  if (has_word(form, "m16n16")) return {reg / 2, 4 * t + e, g + 8 * (reg % 2)};
  if (has_word(form, "m8n16")) return {reg, g, 4 * t + e};
  if (has_word(form, "m16n8")) return {reg, 2 * t + e % 2, g + 8 * (e / 2)};
  const bool transposed = has_word(form, "trans") && op.role != "a";
  return transposed ? Key{reg, 2 * t + e, g} : Key{reg, g, 2 * t + e};
}

// ---- tcgen05.ld, tcgen05.st: lane and column of tensor memory ("Data Movement Shape"); the columns of .16x32bx2 side by side.
// With 16b, column c is columns 2 c and 2 c + 1, of whose words the low halves are moved.

inline Key in_tensor_memory(const Instruction& i, const Operand& op, int t, int value) {
  const std::string_view form = i.canonical();
  const bool halves = has_word(form, "pack::16b") || has_word(form, "unpack::16b");
  const int r = value / (halves ? 2 : 1), e = value % (halves ? 2 : 1);
  const auto at = [&](int lane, int column) { return Key{0, lane, halves ? 2 * column + e : column}; };
  if (has_word(form, "32x32b")) return at(t, r);
  if (has_word(form, "16x32bx2")) return at(t % 16, r + t / 16 * op.registers);
  if (has_word(form, "16x64b")) return at(t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2);
  if (has_word(form, "16x128b")) return at(t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2));
  return at(t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4));  // 16x256b
}

// ---- All

inline Key element(const Instruction& i, const Operand& op, int lane, int value) {
  const std::string_view family = i.family(), form = i.canonical();
  const int per = per_register(i, op);
  if (family == "cvt") return {0, 0, value};  // elements in order
  if (family == "ldmatrix" || family == "stmatrix" || family == "movmatrix") return moved(i, op, lane, value);
  if (family.starts_with("tcgen05.")) return in_tensor_memory(i, op, lane, value);
  if (family == "wmma.mma") return wmma(op.role[0], shape_of(form), per, lane, value);
  if (family == "wmma.load" || family == "wmma.store")
    return wmma(form[family.size() + 1], shape_of(form), per, lane, value);
  if (family == "wgmma" || family == "wgmma.sp") return warpgroup(op.role[0], per, lane, value);
  if (i.products() == 4) return volta(i, op, lane, value);
  return tile(op.role[0], i.rows(), per, lane, value);
}

}  // namespace formulas
