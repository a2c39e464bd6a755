// SPDX-License-Identifier: Apache-2.0
#include "scalar/operation.hpp"

#include <algorithm>

namespace warpbit::scalar {
namespace {

// ---- Words

// What a qualifier says. Types and what only says where memory lies are elsewhere.
struct Word {
  std::string_view word;
  void (*apply)(Operation& o);
};
constexpr Word kWords[] = {
    {"lo", [](Operation& o) { o.mode = Mode::low; }},
    {"hi", [](Operation& o) { o.mode = Mode::high; }},
    {"wide", [](Operation& o) { o.mode = Mode::wide; }},
    {"approx", [](Operation& o) { o.precision = Precision::approx; }},
    {"full", [](Operation& o) { o.precision = Precision::full; }},
    {"ftz", [](Operation& o) { o.ftz = true; }},
    {"sat", [](Operation& o) { o.sat = true; }},
    {"satfinite", [](Operation& o) { o.satfinite = true; }},
    {"relu", [](Operation& o) { o.relu = true; }},
    {"scaled", [](Operation& o) { o.scaled = true; }},
    {"oob", [](Operation& o) { o.oob = true; }},
    {"NaN", [](Operation& o) { o.nan = true; }},
    {"xorsign", [](Operation& o) { o.xorsign = true; }},
    {"abs", [](Operation& o) { o.abs = true; }},
    {"cc", [](Operation& o) { o.carry = true; }},
    {"clamp", [](Operation& o) { o.clamp = true; }},
    {"l", [](Operation& o) { o.left = true; }},
    {"shiftamt", [](Operation& o) { o.shift_amount = true; }},
    {"and", [](Operation& o) { o.boolean = Boolean::conjunction; }},
    {"or", [](Operation& o) { o.boolean = Boolean::disjunction; }},
    {"xor", [](Operation& o) { o.boolean = Boolean::exclusive; }},
    {"add", [](Operation& o) { o.secondary = Secondary::add; }},
    {"min", [](Operation& o) { o.secondary = Secondary::min; }},
    {"max", [](Operation& o) { o.secondary = Secondary::max; }},
    {"po", [](Operation& o) { o.plus_one = true; }},
    {"shr7", [](Operation& o) { o.scale = 7; }},
    {"shr15", [](Operation& o) { o.scale = 15; }},
};

template <class E>
struct Named {
  std::string_view word;
  E value;
};
constexpr Named<Compare> kCompares[] = {
    {"eq", Compare::eq},   {"ne", Compare::ne},   {"lt", Compare::lt},   {"le", Compare::le},
    {"gt", Compare::gt},   {"ge", Compare::ge},   {"lo", Compare::lt},   {"ls", Compare::le},
    {"hi", Compare::gt},   {"hs", Compare::ge},   {"equ", Compare::equ}, {"neu", Compare::neu},
    {"ltu", Compare::ltu}, {"leu", Compare::leu}, {"gtu", Compare::gtu}, {"geu", Compare::geu},
    {"num", Compare::num}, {"nan", Compare::nan},
};
constexpr Named<TestOf> kTests[] = {
    {"finite", TestOf::finite},         {"infinite", TestOf::infinite}, {"number", TestOf::number},
    {"notanumber", TestOf::notanumber}, {"normal", TestOf::normal},     {"subnormal", TestOf::subnormal},
};
constexpr Named<Permutation> kPermutations[] = {
    {"f4e", Permutation::f4e}, {"b4e", Permutation::b4e}, {"rc8", Permutation::rc8},
    {"ecl", Permutation::ecl}, {"ecr", Permutation::ecr}, {"rc16", Permutation::rc16},
};
constexpr Named<SmallNumbers> kSmallNumbers[] = {
    {"u2", {2, false}}, {"s2", {2, true}}, {"u4", {4, false}}, {"s4", {4, true}}};
constexpr Named<Rounding> kRoundings[] = {
    {"rn", Rounding::nearest_even}, {"rz", Rounding::toward_zero},   {"rm", Rounding::down},
    {"rp", Rounding::up},           {"rni", Rounding::nearest_even}, {"rzi", Rounding::toward_zero},
    {"rmi", Rounding::down},        {"rpi", Rounding::up},
};

template <class E, std::size_t N>
const Named<E>* find_word(const Named<E> (&rows)[N], std::string_view word) {
  const auto found = std::ranges::find(rows, word, &Named<E>::word);
  return found == std::end(rows) ? nullptr : &*found;
}

void apply(Operation& o, std::string_view word) {
  const bool compares = o.function == Function::set || o.function == Function::setp || is_video(o.function);
  if (const auto* found = find_word(kRoundings, word)) {
    o.rounding = found->value;
    o.has_rounding = true;
    o.rounds_to_integer = word.ends_with('i');
  } else if (const auto* compare = find_word(kCompares, word); compares && compare != nullptr) {
    o.compare = compare->value;
  } else if (const auto* test = find_word(kTests, word)) {
    o.test = test->value;
  } else if (const auto* permutation = find_word(kPermutations, word)) {
    o.permutation = permutation->value;
  } else if (const auto* small = find_word(kSmallNumbers, word)) {
    o.packed = small->value;
  } else if (const auto* row = std::ranges::find(kWords, word, &Word::word); row != std::end(kWords)) {
    row->apply(o);
  }
}

// add.f32.f16, fma.f32x2.f16x2.f32x2.f32x2: the result's, and those of the sources; what is not named is of the result's.
void set_types_of_sources(Operation& o, std::span<const Type> types) {
  const bool mixes = types.size() > 1 && (o.function == Function::add || o.function == Function::sub ||
                                          o.function == Function::mul || o.function == Function::fma);
  o.from = {o.type, o.type, o.type};
  if (!mixes) return;
  o.to = types[0];
  const std::size_t last = o.function == Function::fma ? 2 : 1;
  for (std::size_t i = 0; i <= last; ++i) o.from[i] = types[types.size() == 2 ? i < last : i + 1];
  o.type = o.from[0];
}

// The types of sources and result, from those among the qualifiers.
void set_types(Operation& o, std::span<const Type> types) {
  if (types.empty()) return;
  o.type = o.to = o.third = types.back();
  if (o.mode == Mode::wide) o.to = ptx::twice(o.type).value_or(o.type);
  const Type first = types[types.size() < 2 ? 0 : types.size() - 2];
  switch (o.function) {
    case Function::popc:
    case Function::clz:
    case Function::bfind: o.to = Type::u32; break;
    case Function::slct: o.type = o.to = first; break;
    case Function::dp4a:
    case Function::dp2a: o.third = first; break;
    case Function::cvt_pack:
      o.to = types[0];
      o.type = Type::s32;
      break;
    case Function::video:
    case Function::video2:
    case Function::video4:
    case Function::vmad:
      o.to = types[0];  // of a comparison that of a
      o.type = first;
      break;
    default: o.to = types.size() < 2 ? o.to : first;
  }
  set_types_of_sources(o, types);
}

// In the same order.
void set_narrow(Operation& o, std::span<const Narrow> types) {
  o.narrow = {types[0], types[1], types[types.size() < 3 ? 0 : 2], types[0]};
  for (std::size_t i = 0; i < o.from.size(); ++i)
    o.from[i] = o.narrow[i + 1].stride == 4 ? Type::b16 : Type::b32;
}

// ---- Halves

// The sources of one half; the selector of slct and the predicate are whole.
Sources element(const Operation& part, const Sources& s, int i) {
  Sources out = s;
  for (std::size_t k = 0; k < part.from.size(); ++k) {
    const int size = ptx::bits(part.from[k]);
    out.value[k] = cut(s.value[k] >> i * size, size);
  }
  return out;
}

}  // namespace

namespace {

// "cvt.pack" is the opcode with its first word.
bool is_of(const Row& row, std::string_view opcode, std::span<const std::string_view> words) {
  if (!row.opcode.starts_with(opcode)) return false;
  const std::string_view rest = row.opcode.substr(opcode.size());
  return rest.empty() || (rest[0] == '.' && !words.empty() && rest.substr(1) == words[0]);
}

const Row* find(std::span<const Row> rows, std::string_view opcode, std::span<const std::string_view> words) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return is_of(row, opcode, words); });
  return found == rows.end() ? nullptr : &*found;
}
const Row* find(std::string_view opcode, std::span<const std::string_view> words, Type type) {
  const bool floating = ptx::is_floating(type) || type == Type::bf16;
  const std::span<const Row> first = floating ? floating_rows() : integer_rows();
  for (const std::span<const Row> rows : {first, compare_rows(), convert_rows(), video_rows()})
    if (const Row* const row = find(rows, opcode, words); row != nullptr) return row;
  return nullptr;
}

}  // namespace

Operation operation(std::string_view opcode, std::span<const std::string_view> words) {
  Operation out;
  std::vector<Type> types;
  std::vector<Narrow> narrow;
  for (const std::string_view word : words)
    if (const auto type = ptx::find_type(word))
      types.push_back(*type);
    else if (const auto numbers = find_narrow(word))
      narrow.push_back(*numbers);
  const Row* const row = !narrow.empty()
                             ? find(narrow_rows(), opcode, words)
                             : find(opcode, words, types.empty() ? Type::b32 : ptx::row(types.back()).element);
  if (row != nullptr) {
    out.execute = row->execute;
    out.function = row->function;
    out.spread = row->spread;
    out.moved = row->moved;
    out.takes_carry = row->takes_carry;
    out.parts = whole_parts(row->function);
  }
  for (const std::string_view word : words)
    if (!ptx::find_type(word)) apply(out, word);
  set_types(out, types);
  if (row != nullptr && !narrow.empty()) set_narrow(out, narrow);
  return out;
}

Type source_type(const Operation& o, int i) {
  switch (o.function) {
    case Function::shl:
    case Function::shr: return i == 1 ? Type::u32 : o.type;
    case Function::bfe: return i > 0 ? Type::u32 : o.type;
    case Function::bfi: return i > 1 ? Type::u32 : o.type;
    case Function::slct: return i == 2 ? o.third : o.type;
    case Function::lop3: return o.type;
    case Function::selp:
    case Function::set:
    case Function::setp: return i == 2 ? Type::pred : o.from[static_cast<std::size_t>(i)];
    case Function::dp4a:
    case Function::dp2a:
    case Function::cvt_pack: return Type::b32;
    default: return o.mode == Mode::wide && i == 2 ? o.to : o.from[static_cast<std::size_t>(i)];
  }
}

Results execute(const Operation& o, const Sources& s) {
  const bool selects = o.function == Function::selp || o.function == Function::slct;
  if (!ptx::is_packed(o.type) || selects) return o.execute(o, s);
  Operation part = o;
  part.type = part.third = ptx::row(o.type).element;
  part.to = ptx::row(o.to).element;
  for (Type& type : part.from) type = ptx::row(type).element;
  const int size = ptx::bits(part.type), count = ptx::bits(o.type) / size;
  const int to = ptx::is_packed(o.to) ? ptx::bits(part.to) : size;  // set of f16x2 to u32: 16 bits each
  Results out;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t one = o.execute(part, element(part, s, i)).value;
    if (o.function != Function::setp)
      out.value |= cut(one, to) << to * i;
    else if (i == 0)
      out.value = one;
    else
      out.second = one != 0;
  }
  return out;
}

}  // namespace warpbit::scalar
