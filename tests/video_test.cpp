// SPDX-License-Identifier: Apache-2.0
// Video instructions on random forms and operands with many extreme ones. Those of several lanes are the PTX manual's
// pseudocode, written again ("SIMD Video Instructions"). Those of one lane begin like it ("Scalar Video Instructions") and end
// like the statements that ptxas 13.0 makes of them for sm_90: arithmetic with two words, written again.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ptx/parts.hpp"
#include "scalar/operation.hpp"

namespace video_test {

using namespace warpbit;
__extension__ using Number = __int128;
using Selector = std::string;  // "b0", "h32"; empty: none

constexpr int kForms = 1000, kCasesOfForm = 1000;

// ---- Drawing

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}

  unsigned below(unsigned count) { return static_cast<unsigned>(engine_() % count); }
  bool coin() { return below(2) == 0; }
  template <std::size_t N>
  std::string one(const char* const (&of)[N]) {
    return of[below(N)];
  }
  std::uint32_t operand() {
    constexpr std::uint32_t kExtremes[] = {
        0,      1,      31,         32,         33,         0x7F,       0x80,       0xFF,       0x7FFF,
        0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x80808080, 0x7F7F7F7F, 0x80007FFF};
    return coin() ? kExtremes[below(std::size(kExtremes))] : static_cast<std::uint32_t>(engine_());
  }
  Selector part() {
    static constexpr const char* kParts[] = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
    return one(kParts);
  }
  Selector elements(char letter, unsigned count, unsigned values) {
    if (below(4) == 0) return "";
    Selector out(1, letter);
    for (unsigned i = 0; i < count; ++i) out += static_cast<char>('0' + below(values));
    return out;
  }
  Selector mask(char letter, unsigned lanes) {
    if (below(4) == 0) return "";
    const unsigned bits = 1 + below((1U << lanes) - 1);
    Selector out(1, letter);
    for (unsigned lane = lanes; lane-- > 0;)
      if ((bits >> lane & 1) != 0) out += static_cast<char>('0' + lane);
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

struct Form {
  std::string opcode;
  bool signed_d = false, signed_a = false, signed_b = false, sat = false;
  std::string mode, compare, op2, scale;
  bool po = false, negate_a = false, negate_b = false, negate_c = false;
  Selector d, a, b;

  std::string name() const {
    const auto type = [](bool is_signed) { return is_signed ? ".s32" : ".u32"; };
    std::string out = opcode;
    if (compare.empty()) out += type(signed_d);
    out += fmt::format("{}{}", type(signed_a), type(signed_b));
    if (po) out += ".po";
    if (sat) out += ".sat";
    for (const std::string& word : {mode, compare, op2, scale})
      if (!word.empty()) out += '.' + word;
    return out;
  }
};

// ---- The manual

std::uint32_t bits_of(std::uint32_t x, int first, int count) {
  return static_cast<std::uint32_t>((std::uint64_t{x} >> first) & ((std::uint64_t{1} << count) - 1));
}
Number extend(std::uint32_t x, int count, bool is_signed) {
  Number out = x;
  if (is_signed && (x >> (count - 1)) != 0) out -= Number{1} << count;
  return out;
}
Number part_select_sign_extend(std::uint32_t x, bool is_signed, const Selector& sel) {
  if (sel.empty()) return extend(x, 32, is_signed);
  const int count = sel[0] == 'b' ? 8 : 16;
  return extend(bits_of(x, (sel[1] - '0') * count, count), count, is_signed);
}
Number clamp_to(Number x, int count, bool is_signed) {
  Number most = 1, least = 0;
  for (int i = 0; i < (is_signed ? count - 1 : count); ++i) most *= 2;
  if (is_signed) least = -most;
  most -= 1;
  return x > most ? most : x < least ? least : x;
}
bool compares(const std::string& cmp, Number a, Number b) {
  if (cmp == "eq") return a == b;
  if (cmp == "ne") return a != b;
  if (cmp == "lt") return a < b;
  if (cmp == "le") return a <= b;
  if (cmp == "gt") return a > b;
  return a >= b;
}

// Rounded down.
Number halved(Number x) {
  return x >= 0 ? x / 2 : -((-x + 1) / 2);
}
Number shifted(const Form& f, Number a, std::uint32_t b) {
  const std::uint32_t amount = f.mode == "wrap" ? b % 32 : b > 32 ? 32 : b;
  for (std::uint32_t i = 0; i < amount; ++i) a = f.opcode == "vshl" ? a * 2 : halved(a);
  return a;
}

// What the opcode is without the number of lanes.
Number operated(const Form& f, Number a, Number b) {
  const std::string op = f.opcode.substr(0, f.opcode.find_first_of("24"));
  if (op == "vadd") return a + b;
  if (op == "vsub") return a - b;
  if (op == "vabsdiff") return a - b < 0 ? -(a - b) : a - b;
  if (op == "vmin") return a < b ? a : b;
  if (op == "vmax") return a > b ? a : b;
  if (op == "vavrg") return halved(a + b >= 0 ? a + b + 1 : a + b);
  if (op == "vset") return compares(f.compare, a, b) ? 1 : 0;
  return shifted(f, a, static_cast<std::uint32_t>(b));
}

// ---- What ptxas makes of one lane

struct Words {
  std::uint32_t low;
  std::int32_t high;
};
Words words_of(Number value) {
  return {static_cast<std::uint32_t>(value),
          static_cast<std::int32_t>(static_cast<std::uint64_t>(value) >> 32)};
}
std::int32_t sign_of(std::uint32_t low) {
  return low >> 31 != 0 ? -1 : 0;
}
Words signed_saturated(Words x) {
  if (x.high == sign_of(x.low)) return x;
  return {x.high >= 0 ? 0x7fffffffU : 0x80000000U, x.high >= 0 ? 0 : -1};
}
bool shifts(const Form& f) {
  return f.opcode == "vshl" || f.opcode == "vshr";
}

Words saturated_shift(const Form& f, Words x) {
  x.high &= 3;
  if ((x.high & 2) != 0) x.high |= ~3;
  if (f.signed_d) return signed_saturated(x);
  return {(x.high >= 0 ? ~0U : 0U) & ((x.high != 0 ? ~0U : 0U) | x.low), 0};
}
Words saturated(const Form& f, Words x) {
  if (!f.sat) return x;
  if (shifts(f)) return saturated_shift(f, x);
  if (!f.d.empty()) {
    const std::uint32_t most = (f.d[0] == 'b' ? 0xffU : 0xffffU) >> (f.signed_d ? 1 : 0);
    return {std::min((x.high != 0 ? ~0U : 0U) | x.low, most), 0};
  }
  if (f.signed_d) return signed_saturated(x);
  return x.high >= 0 ? x : Words{0, 0};
}

// Of a comparison the type of c is that of a.
std::uint32_t combined(const Form& f, Words x, std::uint32_t c) {
  if (f.op2 == "add") return x.low + c;
  const bool is_signed = f.compare.empty() ? f.signed_d : f.signed_a;
  if (f.opcode == "vadd" || f.opcode == "vsub" || (shifts(f) && f.sat)) x.high = sign_of(x.low);
  const std::int32_t c_high = is_signed ? sign_of(c) : 0;
  const bool is_less = x.high == c_high ? x.low < c
                       : is_signed      ? x.high < c_high
                                   : static_cast<std::uint32_t>(x.high) < static_cast<std::uint32_t>(c_high);
  return is_less == (f.op2 == "min") ? x.low : c;
}

// Bytes of the result, the lowest first: 0 to 3 are c's, 4 to 7 are those of what was computed.
std::uint32_t put(const Selector& part, std::uint32_t computed, std::uint32_t c) {
  static const std::map<Selector, std::array<unsigned, 4>> kBytes = {
      {"", {4, 5, 6, 7}},   {"b0", {4, 1, 2, 3}}, {"b1", {0, 4, 2, 3}}, {"b2", {0, 1, 4, 3}},
      {"b3", {0, 1, 2, 4}}, {"h0", {4, 5, 2, 3}}, {"h1", {0, 1, 6, 7}}};
  const std::uint64_t both = std::uint64_t{computed} << 32 | c;
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i)
    out |= static_cast<std::uint32_t>(both >> kBytes.at(part)[i] * 8 & 0xff) << i * 8;
  return out;
}

std::uint32_t scalar_result(const Form& f, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const Number ta = part_select_sign_extend(a, f.signed_a, f.a);
  const Number tb = part_select_sign_extend(b, f.signed_b, f.b);
  const Words x = saturated(f, words_of(operated(f, ta, tb)));
  return f.op2.empty() ? put(f.d, x.low, c) : combined(f, x, c);
}

std::uint32_t vmad_result(const Form& f, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const auto number = [](Number x) {
    return static_cast<std::int64_t>(extend(static_cast<std::uint32_t>(x), 32, true));
  };
  const bool negates = f.negate_a != f.negate_b;
  const bool signed_final = f.signed_a || f.signed_b || negates || f.negate_c;
  std::int64_t x =
      number(part_select_sign_extend(a, f.signed_a, f.a)) * number(part_select_sign_extend(b, f.signed_b, f.b));
  if (negates) x = ~x;
  x += number(f.negate_c ? ~c : c) + (f.po || negates || f.negate_c ? 1 : 0);
  const int shift = f.scale == "shr7" ? 7 : f.scale == "shr15" ? 15 : 0;
  x = signed_final ? x >> shift : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) >> shift);
  const Words scaled = words_of(x);
  if (!f.sat) return scaled.low;
  if (signed_final) return signed_saturated(scaled).low;
  return scaled.high < 0 ? 0 : scaled.high > 0 ? ~0U : scaled.low;
}

// ---- Several lanes

std::uint32_t simd_result(const Form& f, int lanes, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const int count = 32 / lanes;
  const auto extracted = [&](const Selector& sel, int lane, bool is_signed) {
    const int which = sel[sel.size() - 1 - static_cast<std::size_t>(lane)] - '0';
    return extend(bits_of(which < lanes ? a : b, which % lanes * count, count), count, is_signed);
  };
  const Selector asel = !f.a.empty() ? f.a : lanes == 2 ? "h10" : "b3210";
  const Selector bsel = !f.b.empty() ? f.b : lanes == 2 ? "h32" : "b7654";
  const Selector mask = !f.d.empty() ? f.d : lanes == 2 ? "h10" : "b3210";
  Number sum = c;
  std::uint32_t merged = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    Number t = operated(f, extracted(asel, lane, f.signed_a), extracted(bsel, lane, f.signed_b));
    if (f.sat) t = clamp_to(t, count, f.signed_d);
    const bool in_mask = mask.find(static_cast<char>('0' + lane), 1) != mask.npos;
    if (in_mask) sum += t;
    const std::uint32_t element = in_mask ? static_cast<std::uint32_t>(t) : bits_of(c, lane * count, count);
    merged += bits_of(element, 0, count) << (lane * count);
  }
  return f.op2 == "add" ? static_cast<std::uint32_t>(sum) : merged;
}

std::uint32_t expected(const Form& f, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (f.opcode == "vmad") return vmad_result(f, a, b, c);
  const char last = f.opcode.back();
  return last == '2' || last == '4' ? simd_result(f, last - '0', a, b, c) : scalar_result(f, a, b, c);
}

// ---- Forms by kind

Form types(Draw& draw, const std::string& opcode) {
  Form out;
  out.opcode = opcode;
  out.signed_d = draw.coin();
  out.signed_a = draw.coin();
  out.signed_b = draw.coin();
  return out;
}
void choose_comparison(Draw& draw, Form& form) {
  form.compare = draw.one({"eq", "ne", "lt", "le", "gt", "ge"});
}
// A second operation, a part of the result, or neither.
void choose_end(Draw& draw, Form& form) {
  if (draw.coin()) form.op2 = draw.one({"add", "min", "max"});
  if (form.op2.empty()) form.d = draw.part();
  form.a = draw.part();
  form.b = draw.part();
}

Form scalar_form(Draw& draw) {
  Form out = types(draw, draw.one({"vadd", "vsub", "vabsdiff", "vmin", "vmax"}));
  out.sat = draw.coin();
  choose_end(draw, out);
  return out;
}
Form shift(Draw& draw) {
  Form out = types(draw, draw.one({"vshl", "vshr"}));
  out.signed_b = false;
  out.sat = draw.coin();
  out.mode = draw.one({"clamp", "wrap"});
  choose_end(draw, out);
  return out;
}
Form comparison(Draw& draw) {
  Form out = types(draw, "vset");
  choose_comparison(draw, out);
  choose_end(draw, out);
  return out;
}
Form product(Draw& draw) {
  Form out = types(draw, "vmad");
  out.sat = draw.coin();
  out.scale = draw.one({"", "shr7", "shr15"});
  out.a = draw.part();
  out.b = draw.part();
  switch (draw.below(6)) {
    case 0: out.po = true; break;
    case 1: out.negate_a = true; break;
    case 2: out.negate_b = true; break;
    case 3: out.negate_c = true; break;
    case 4: out.negate_a = out.negate_b = true; break;
    default: break;
  }
  return out;
}
Form simd(Draw& draw, unsigned lanes) {
  const char letter = lanes == 2 ? 'h' : 'b';
  const std::string op = draw.one({"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"});
  Form out = types(draw, fmt::format("{}{}", op, lanes));
  if (op == "vset") choose_comparison(draw, out);
  if (draw.coin())
    out.op2 = "add";
  else
    out.sat = op != "vset" && draw.coin();
  out.d = draw.mask(letter, lanes);
  out.a = draw.elements(letter, lanes, 2 * lanes);
  out.b = draw.elements(letter, lanes, 2 * lanes);
  return out;
}

// ---- The library

std::vector<std::string_view> words(std::string_view name) {
  std::vector<std::string_view> out;
  for (std::size_t dot = name.find('.'); dot != name.npos;) {
    const std::size_t next = std::min(name.find('.', dot + 1), name.size());
    out.push_back(name.substr(dot + 1, next - dot - 1));
    dot = next == name.size() ? name.npos : next;
  }
  return out;
}
scalar::Operation operation(const Form& form, std::string_view name) {
  scalar::Operation out = scalar::operation(form.opcode, words(name));
  std::size_t i = 0;
  for (const Selector& part : {form.d, form.a, form.b}) {
    if (!part.empty()) scalar::select_part(out, i, part);
    ++i;
  }
  out.negate_product = form.negate_a != form.negate_b;
  out.negate_addend = form.negate_c;
  return out;
}

void compare(const char* kind, Form (*make)(Draw& draw), unsigned seed) {
  Draw draw(seed);
  int differ = 0;
  for (int i = 0; i < kForms; ++i) {
    const Form form = make(draw);
    const std::string name = form.name();
    const scalar::Operation mine = operation(form, name);
    REQUIRE(mine.execute != nullptr);
    for (int j = 0; j < kCasesOfForm; ++j) {
      const std::uint32_t a = draw.operand(), b = draw.operand(), c = draw.operand();
      const std::uint64_t got = scalar::execute(mine, {{a, b, c}, false, false, 3}).value;
      const std::uint32_t wanted = expected(form, a, b, c);
      if (got == wanted || ++differ > 5) continue;
      UNSCOPED_INFO(fmt::format("{} d.{} a.{} b.{}: {:#x} {:#x} {:#x}: {:#x}, expected {:#x}", name, form.d,
                                form.a, form.b, a, b, c, got, wanted));
    }
  }
  fmt::print("{}: {} results of {} forms, {} differ\n", kind, kForms * kCasesOfForm, kForms, differ);
  CHECK(differ == 0);
}

TEST_CASE("video instructions compute what the manual's pseudocode and ptxas's statements do") {
  compare("vadd, vsub, vabsdiff, vmin, vmax", scalar_form, 1);
  compare("vshl, vshr", shift, 2);
  compare("vset", comparison, 3);
  compare("vmad", product, 4);
  compare(
      "two lanes", [](Draw& draw) { return simd(draw, 2); }, 5);
  compare(
      "four lanes", [](Draw& draw) { return simd(draw, 4); }, 6);
}

// ptxas 13.0 accepts the other 4,095.
TEST_CASE("four bytes are a part unless their digits are those of a type") {
  for (unsigned digits = 0; digits < 4096; ++digits) {
    const std::string word = fmt::format("b{:04o}", digits);
    INFO(word);
    REQUIRE(ptx::is_part("bytes", word) == (word != "b1024"));
  }
}

}  // namespace video_test
