// SPDX-License-Identifier: Apache-2.0
#include "assembler/halves.hpp"

#include <algorithm>

namespace warpbit::assembler {
namespace {

constexpr int kDeep = 12;  // copies of copies that are followed

bool is_vector(const Operand& o) {
  return o.kind == Operand::Kind::vector;
}
bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}
bool has_short_type(const View& v) {
  return is_one_of(v.type(), {"b16", "u16", "s16"});
}
// cvt.u16.u32 and the like: the low half as it is.
bool truncates(const View& v) {
  const auto words = v.words();
  return v.opcode() == "cvt" && words.size() == 2 && is_one_of(words[0], {"u16", "s16"}) &&
         is_one_of(words[1], {"u32", "s32", "u64", "s64"});
}

}  // namespace

Halves::Halves(const FunctionText& function, const Flow& flow)
    : f_(function), flow_(flow), writers_(function.registers.size()), readers_(function.registers.size()) {
  for (int i = 0; i < static_cast<int>(f_.statements.size()); ++i)
    for_each_access(
        f_, i,
        [&](int reg) {
          std::vector<int>& all = readers_[static_cast<std::size_t>(reg)];
          if (flow_.is_needed(i) && (all.empty() || all.back() != i)) all.push_back(i);
        },
        [&](int reg) { ++writers_[static_cast<std::size_t>(reg)]; });
}

Flow::Uses Halves::uses(int statement, int reg) const {
  const auto r = static_cast<std::size_t>(reg);
  return writers_[r] == 1 ? Flow::Uses{readers_[r], false} : flow_.uses(statement, reg);
}

int Halves::bits(const Operand& reg) const {
  return ptx::bits(f_.registers[static_cast<std::size_t>(reg.index)].type);
}

unsigned Halves::used(int statement, int reg, int depth) const {
  const Flow::Uses all = uses(statement, reg);
  if (all.elsewhere || depth > kDeep) return kAll;
  unsigned out = 0;
  for (const int i : all.statements) out |= used_by({f_, i}, reg, depth + 1);
  return out;
}

unsigned Halves::used_by(const View& v, int reg, int depth) const {
  const auto is = [&](int n) { return v.is_register(n) && v.operand(n).index == reg; };
  if (v.statement().guard == reg) return kAll;
  if (v.opcode() == "mov") return used_by_move(v, reg, depth);
  if (v.opcode() == "st") {
    bool is_address = false;
    for_each_register(f_, v.operand(0), [&](int one) { is_address = is_address || one == reg; });
    return has_short_type(v) && !is_address ? kLow : kAll;
  }
  if (v.opcode() == "cvt" && v.has("pack"))  // its last source is taken as 16 bits
    return v.operands() == 4 && is(3) && !is(1) && !is(2) ? kLow : kAll;
  if (v.opcode() == "cvt" && (truncates(v) || has_short_type(v))) return kLow;
  if (v.opcode() == "cvt" && v.has("u64") && v.type() == "u32")
    return used(v.i, v.operand(0).index, depth) & kWord;
  if (v.opcode() == "add" && is_one_of(v.type(), {"u16x2", "s16x2"}))
    return used(v.i, v.operand(0).index, depth);
  return kAll;
}

// mov d, x;  mov {a, b}, x;  mov d, {x, y}
unsigned Halves::used_by_move(const View& v, int reg, int depth) const {
  const Operand &d = v.operand(0), &a = v.operand(1);
  if (is_vector(d)) return is_vector(a) ? kAll : used_parts(v, depth);
  if (d.kind != Operand::Kind::reg) return kAll;
  const unsigned whole = used(v.i, d.index, depth);
  if (!is_vector(a)) return whole;
  if (a.count != 2 || bits(d) != 64) return kAll;
  unsigned out = 0;
  for (const int n : {0, 1})
    if (part(a, n).kind == Operand::Kind::reg && part(a, n).index == reg) out |= whole >> 2 * n & kWord;
  return out;
}

unsigned Halves::used_parts(const View& v, int depth) const {
  const Operand& d = v.operand(0);
  unsigned out = 0;
  for (int n = 0; n < d.count; ++n) {
    const Operand& one = part(d, n);
    if (one.kind != Operand::Kind::reg) continue;
    const unsigned halves = used(v.i, one.index, depth);
    if (bits(one) == 16) out |= halves != 0 ? 1U << n : 0;
    if (bits(one) == 32) out |= (halves & kWord) << 2 * n;
    if (bits(one) != 16 && bits(one) != 32) return kAll;
  }
  return out;
}

std::vector<Halves::Value> Halves::copies(Value of) const {
  std::vector<Value> out;
  add_copies(of, out, 0);
  return out;
}

void Halves::add_copies(Value of, std::vector<Value>& to, int depth) const {
  if (depth > kDeep) return;
  to.push_back(of);
  for (const int i : uses(of.statement, of.reg).statements) {
    const View v{f_, i};
    if (v.opcode() != "mov" || v.is_guarded() || v.operand(0).kind != Operand::Kind::reg) continue;
    const Operand &d = v.operand(0), &a = v.operand(1);
    if (a.kind == Operand::Kind::reg) add_copies({i, d.index}, to, depth + 1);
    for (int n = 0; is_vector(a) && n < a.count; ++n)
      if (part(a, n).kind == Operand::Kind::reg && part(a, n).index == of.reg)
        add_part({i, d.index}, n, bits(d) / a.count, to, depth + 1);
  }
}

// The registers that get the part of so many bits of a value.
void Halves::add_part(Value of, int n, int size, std::vector<Value>& to, int depth) const {
  for (const int i : uses(of.statement, of.reg).statements) {
    const View v{f_, i};
    const Operand& d = v.operand(0);
    if (n == 0 && size == 16 && truncates(v)) add_copies({i, d.index}, to, depth);
    if (v.opcode() != "mov" || !is_vector(d) || is_vector(v.operand(1)) || n >= d.count) continue;
    const Operand& one = part(d, n);
    if (one.kind == Operand::Kind::reg && bits(one) == size) add_copies({i, one.index}, to, depth);
  }
}

std::vector<Halves::Value> Halves::low_halves(Value of) const {
  std::vector<Value> out;
  for (const Value& one : copies(of)) {
    add_part(one, 0, 16, out, 0);
    for (const int i : uses(one.statement, one.reg).statements) {  // mov.b64 d, {x, y}; mov.b64 {a, b, c, e}, d
      const View v{f_, i};
      if (v.opcode() != "mov" || v.is_guarded() || !v.is_register(0) || !is_vector(v.operand(1))) continue;
      for (int n = 0; n < v.operand(1).count; ++n)
        if (part(v.operand(1), n).index == one.reg) add_part({i, v.operand(0).index}, 2 * n, 16, out, 0);
    }
  }
  return out;
}

std::vector<View> Halves::readers(Value of) const {
  std::vector<View> out;
  for (const Value& one : copies(of))
    for (const int i : uses(one.statement, one.reg).statements)
      if (f_.statements[static_cast<std::size_t>(i)].opcode != "mov") out.push_back({f_, i});
  return out;
}

}  // namespace warpbit::assembler
