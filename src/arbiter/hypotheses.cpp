// SPDX-License-Identifier: Apache-2.0
#include "arbiter/hypotheses.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "ptx/type.hpp"

namespace warpbit::arbiter {
namespace {

using Candidates = std::vector<Candidate>;

void add_text(const Site& site, std::string text, std::string sentence, Candidates& out) {
  if (!text.empty()) out.push_back({replaced(site, std::move(text)), std::move(sentence)});
}

// ---- Literals

/// Numbers near to one that people write: by digits of decimals, and by bits of the mantissa.
void add_near_reals(std::uint64_t bits, bool is_double, std::vector<std::uint64_t>& out) {
  const auto code = [&](double x) {
    return is_double ? std::bit_cast<std::uint64_t>(x)
                     : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(x))};
  };
  const double x =
      is_double ? std::bit_cast<double>(bits) : double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  if (!std::isfinite(x)) return;
  for (int digits = 1; digits <= 7; ++digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", digits - 1, x);
    out.push_back(code(std::strtod(text, nullptr)));
  }
  out.push_back(code(std::copysign(std::pow(10, std::round(std::log10(std::abs(x)))), x)));
  const int mantissa = is_double ? 52 : 23;
  for (int kept = 4; kept < mantissa; kept += 4) {
    const std::uint64_t unit = std::uint64_t{1} << (mantissa - kept);
    out.push_back((bits + unit / 2) / unit * unit);
  }
  for (std::uint64_t n = 1; n <= 3; ++n) {
    out.push_back(bits + n);
    out.push_back(bits - n);
  }
}

/// The numbers that a comparison has found in the place of its other source.
void add_compared(const Evidence& evidence, int site, std::uint64_t was, std::vector<std::uint64_t>& out) {
  for (const Slice& slice : evidence.slices)
    for (const Event& event : slice.trace.events)
      if (event.site == site)
        for (const RegisterValue& one : event.sources)
          for (const std::uint64_t n : {one.bits, one.bits + 1, one.bits - 1}) out.push_back(n);
  out.insert(out.end(), evidence.bounds.begin(), evidence.bounds.end());
  for (std::uint64_t n = 3; n <= 16; ++n)  // rounds of a loop
    for (const std::uint64_t one : {was + n, was - n}) out.push_back(one);
}

void add_changed(const Site& site, std::uint64_t bits, bool is_real, std::vector<std::uint64_t>& out) {
  const int width = std::max(site.bits(), 8);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  if (is_real) {
    const std::uint64_t exponent = std::uint64_t{1} << (width == 64 ? 52 : 23);
    for (const std::uint64_t n : {bits + exponent, bits - exponent, bits ^ sign, std::uint64_t{0}})
      out.push_back(n);
  } else {
    for (const std::uint64_t n : {bits + 1, bits - 1, bits + 2, bits - 2, bits * 2, bits / 2, ~bits + 1,
                                  std::uint64_t{0}, std::uint64_t{1}, ~bits})
      out.push_back(n);
  }
  for (int i = 0; i < width; ++i) out.push_back(bits ^ std::uint64_t{1} << i);
}

// Another literal, which an element says, or near to it.
void literal(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  const std::uint64_t mask = site.bits() >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << site.bits()) - 1;
  for (std::size_t n = 1; n < site.parts.operands.size(); ++n) {
    if (!is_literal(site, n)) continue;
    const std::uint64_t was = literal_of(site, n);
    const bool is_real = site.parts.operands[n].literal.is_float;
    std::vector<std::uint64_t> all;
    if (const auto found = evidence.solutions.find({number, n}); found != evidence.solutions.end())
      for (const std::uint64_t bits : found->second) {
        all.push_back(bits);
        if (is_real) add_near_reals(bits, site.type() == "f64", all);
      }
    const bool compares = site.parts.opcode == "setp" || site.parts.opcode == "set";
    if (all.empty() || compares) add_changed(site, was, is_real, all);
    if (compares) add_compared(evidence, number, was, all);
    std::set<std::uint64_t> known = {was & mask};
    for (const std::uint64_t bits : all) {
      if (!known.insert(bits & mask).second) continue;
      std::vector<std::string> operands = site.operands();
      operands[n] = literal_text(site, n, bits & mask);
      add_text(site, site.with(operands), fmt::format("with {} in place of {}", operands[n], site.operand(n)),
               out);
    }
  }
}

// Another value in memory or in a parameter, which the element says.
void loaded(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  const auto found = evidence.solutions.find({number, 1});
  if (!is_load(site) || found == evidence.solutions.end() || site.bits() < 16) return;
  for (const std::uint64_t bits : found->second)
    add_text(site, fmt::format("mov.b{} {}, {:#x};", site.bits(), site.operand(0), bits),
             fmt::format("if {:#x} is loaded", bits), out);
}

// ---- Words

/// Words of which each may stand for another one, of statements with some opcodes or of all.
struct Group {
  std::string_view words, opcodes = {};
};
constexpr Group kQualifiers[] = {
    {"lt le gt ge eq ne", "setp set"},
    {"rn rz rm rp"},
    {"rni rzi rmi rpi"},
    {"approx full rn", "div rcp sqrt"},
    {"u8 s8"},
    {"u16 s16"},
    {"u32 s32"},
    {"u64 s64"},
    {"b32 s32", "shr"},
    {"clamp wrap"},
    {"up down bfly idx", "shfl"},
    {"l r", "shf"},
    {"lo hi", "mul mad"},
};
constexpr std::string_view kOpcodes[] = {"add sub", "min max", "and or xor", "shl shr",
                                         "sin cos ex2 lg2 rcp sqrt rsqrt"};
constexpr std::string_view kMayBeAbsent = "ftz sat satfinite relu",
                           kMayFlush = "add sub mul fma div min max ex2 rcp sqrt rsqrt";

std::vector<std::string> words_of_group(std::string_view words) {
  std::istringstream in{std::string(words)};
  return {std::istream_iterator<std::string>(in), {}};
}
void word(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  const auto add = [&](std::size_t i, std::string_view word, std::string sentence) {
    Site other = site;
    other.parts.qualifiers[i] = word;
    add_text(site, other.with(site.operands()), std::move(sentence), out);
  };
  for (std::size_t i = 0; i < site.parts.qualifiers.size(); ++i) {
    const std::string_view own = site.parts.qualifiers[i];
    if (is_among(own, kMayBeAbsent)) add(i, "", fmt::format("without .{}", own));
    if (own == "f32" && i + 1 == site.parts.qualifiers.size() && !site.has("ftz") &&
        is_among(site.parts.opcode, kMayFlush))
      add(i, "ftz.f32", "with .ftz");
    for (const Group& group : kQualifiers) {
      if (!is_among(own, group.words)) continue;
      if (!group.opcodes.empty() && !is_among(site.parts.opcode, group.opcodes)) continue;
      for (const std::string& one : words_of_group(group.words))
        if (one != own) add(i, one, fmt::format("with .{} in place of .{}", one, own));
    }
  }
}

void opcode(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  for (const std::string_view group : kOpcodes) {
    if (!is_among(site.parts.opcode, group)) continue;
    for (const std::string& one : words_of_group(group)) {
      Site other = site;
      other.parts.opcode = one;
      if (one != site.parts.opcode) add_text(site, other.with(site.operands()), fmt::format("as {}", one), out);
    }
  }
}

// ---- Sources

bool computes(const Site& site) {
  return site.writes_first && !is_load(site) && site.parts.operands.size() >= 2 &&
         site.parts.operands[0].kind == OperandText::Kind::name && site.parts.operands[0].second.empty();
}

void swapped(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (!computes(site)) return;
  for (std::size_t n = 1; n + 1 < site.parts.operands.size() && n < 3; ++n) {
    std::vector<std::string> operands = site.operands();
    if (operands[n] == operands[n + 1]) continue;
    std::swap(operands[n], operands[n + 1]);
    add_text(site, site.with(operands), fmt::format("with sources {} and {} exchanged", n, n + 1), out);
  }
}

// The result as a move has it: of a word of 16 to 64 bits.
std::string move_of(const Site& site, const std::string& source) {
  const int bits = site.has("wide") ? 2 * site.bits() : site.bits();
  if (site.parts.opcode == "setp") return {};
  if (bits != 16 && bits != 32 && bits != 64) return {};
  return fmt::format("mov.b{} {}, {};", bits, site.operand(0), source);
}

void dropped(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (!computes(site)) return;
  const bool adds_product = site.parts.opcode == "fma" || site.parts.opcode == "mad";
  if (adds_product && site.parts.operands.size() == 4) {
    Site other = site;
    other.parts.opcode = "mul";
    add_text(site, other.with({site.operand(0), site.operand(1), site.operand(2)}), "without the addend", out);
    add_text(site, move_of(site, site.operand(3)), "without the product", out);
  }
  for (std::size_t n = 1; n < site.parts.operands.size() && site.parts.operands.size() > 2; ++n)
    add_text(site, move_of(site, site.operand(n)), fmt::format("as a copy of {}", site.operand(n)), out);
  add_text(site, move_of(site, "0"), "with the result 0", out);
}

void absent(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (site.parts.opcode == "ret" || site.parts.opcode == "exit") return;
  out.push_back({whole(site, ""), "if it is not there"});
}

void guard(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (site.guard.empty()) return;
  const std::size_t length = site.at - site.guard_at;
  out.push_back({{site.guard_at, length, ""}, "without its guard"});
  std::string other = site.guard;
  if (other[1] == '!')
    other.erase(1, 1);
  else
    other.insert(1, "!");
  out.push_back({{site.guard_at, length, other}, "with the guard of the other sign"});
}

// [%rd1+4] with another distance.
void offset(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (!is_load(site) && !is_store(site)) return;
  for (std::size_t n = 0; n < site.parts.operands.size(); ++n) {
    const OperandText& operand = site.parts.operands[n];
    if (operand.kind != OperandText::Kind::address || operand.parts.size() != 1) continue;
    for (const std::int64_t by :
         {4, -4, 8, -8, 2, -2, 1, -1, 16, -16, 32, -32, 64, -64, 128, -128, 256, -256}) {
      std::vector<std::string> operands = site.operands();
      operands[n] =
          fmt::format("[{}{:+}]", operand.parts[0].name, operand.offset + operand.parts[0].offset + by);
      add_text(site, site.with(operands), fmt::format("at {} in place of {}", operands[n], operand.text), out);
    }
  }
}

// Another register of the same type, which the thread has written shortly before.
void source(const Evidence& evidence, int number, Candidates& out) {
  constexpr std::size_t kNear = 8;
  const Site& site = evidence.code.site(number);
  if (!computes(site)) return;
  const auto type_of = [&](std::string_view name) {
    const auto found = std::ranges::find(site.function->registers, name, &ptx::Register::name);
    return found == site.function->registers.end() ? std::nullopt : std::optional(ptx::bits(found->type));
  };
  std::vector<std::string> near;
  for (const Event& event : evidence.slices.front().trace.events) {
    if (event.site == number) break;
    for (const RegisterValue& one : event.results) {
      std::erase(near, one.name);
      near.push_back(one.name);
    }
  }
  for (std::size_t n = 1; n < site.parts.operands.size(); ++n) {
    const auto bits = type_of(site.operand(n));
    std::size_t count = 0;
    for (auto one = near.rbegin(); bits && one != near.rend() && count < kNear; ++one) {
      if (*one == site.operand(n) || type_of(*one) != bits) continue;
      ++count;
      std::vector<std::string> operands = site.operands();
      operands[n] = *one;
      add_text(site, site.with(operands), fmt::format("with {} in place of {}", *one, site.operand(n)), out);
    }
  }
}

// ---- Products and sums

// A product that is not fused with the sum behind it.
void separate(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (site.parts.opcode != "mul" || (site.type() != "f32" && site.type() != "f64")) return;
  for (const char* const rounding : {"rn", "rz", "rm", "rp"})
    if (site.has(rounding)) return;
  Site other = site;
  other.parts.qualifiers.insert(other.parts.qualifiers.begin(), "rn");
  add_text(site, other.with(site.operands()), "a product that is not fused", out);
}

// fma as a product and a sum, each rounded.
void split_fma(const Evidence& evidence, int number, Candidates& out) {
  const Site& site = evidence.code.site(number);
  if (site.parts.opcode != "fma" || site.parts.operands.size() != 4 ||
      (site.type() != "f32" && site.type() != "f64"))
    return;
  const std::string words = fmt::format(".{}", fmt::join(site.parts.qualifiers, "."));
  out.push_back(
      {whole(site, fmt::format("{{ .reg .{} _product; mul{} _product, {}, {}; $Gadd{} {}, _product, {}; }}",
                               site.type(), words, site.operand(1), site.operand(2), words, site.operand(0),
                               site.operand(3))),
       "as a product and a sum, each rounded"});
}

constexpr Hypothesis kHypotheses[] = {
    {"separate", Ruling::open, separate},     {"split-fma", Ruling::other_code, split_fma},
    {"dropped", Ruling::other_code, dropped}, {"guard", Ruling::other_code, guard},
    {"word", Ruling::other_code, word},       {"opcode", Ruling::other_code, opcode},
    {"swapped", Ruling::other_code, swapped}, {"absent", Ruling::other_code, absent},
    {"literal", Ruling::other_code, literal}, {"loaded", Ruling::other_code, loaded},
    {"source", Ruling::other_code, source},   {"offset", Ruling::other_code, offset},
};

}  // namespace

std::span<const Hypothesis> hypotheses() {
  return kHypotheses;
}

}  // namespace warpbit::arbiter
