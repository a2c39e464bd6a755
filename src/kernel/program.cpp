// SPDX-License-Identifier: Apache-2.0
#include "kernel/program.hpp"

#include <algorithm>

namespace warpbit {

// ---- Encodings

bool is_encodable(const Format& f) {
  return f.id == FormatId::f16 || f.id == FormatId::bf16 || f.id == FormatId::tf32 ||
         (!f.is_integer && f.is_signed && f.bits <= 8);
}

Encoding encoding_of(const TileOperand& operand, bool as_half) {
  const Format& f = operand.read_format();
  Encoding out;
  out.kind = f.id == FormatId::bf16   ? Encoding::Kind::bf16
             : f.id == FormatId::tf32 ? Encoding::Kind::tf32
                                      : Encoding::Kind::half;
  out.bytes = f.bits > 16 ? 4 : f.bits > 8 ? 2 : 1;
  if (out.bytes != 1) return out;
  const bool is_whole = operand.container != nullptr;  // from bit 0 on
  const int low = is_whole ? 0 : operand.places.empty() ? f.byte_low : operand.places[0].low_bit % 8;
  const int magnitude_bits = f.exponent_bits + f.fraction_bits, sign = low + magnitude_bits;
  const int moved = 10 - f.fraction_bits;
  out.sign_mask = static_cast<std::uint8_t>(1 << sign);
  out.sign_shift = static_cast<std::uint8_t>(15 - sign);
  out.magnitude_mask = static_cast<std::uint8_t>(((1 << magnitude_bits) - 1) << low);
  out.magnitude_shift = static_cast<std::uint8_t>(moved - low);
  out.first_special =
      f.specials == Specials::ieee           ? static_cast<std::uint16_t>(((1 << f.exponent_bits) - 1) << 10)
      : f.specials == Specials::nan_all_ones ? static_cast<std::uint16_t>(((1 << magnitude_bits) - 1) << moved)
                                             : std::uint16_t{0xFFFF};
  out.scale = 15 - f.bias;
  // e5m2 has the exponents of f16.
  const bool as_f16 = as_half && f.id != FormatId::e5m2;
  if (as_f16) out.added_exponent = static_cast<std::int8_t>(out.scale);
  for (std::size_t m = 1; m < std::size_t{1} << f.fraction_bits; ++m) {
    const std::uint64_t code =
        encode(format(FormatId::f16), exact(decode(f, m), f), Rounding::toward_zero, Overflow::ieee);
    out.subnormal[m << low] = as_f16 ? static_cast<std::int8_t>(code >> 10) : std::int8_t{1};
  }
  out.subnormal[0] = kNoNearExponent;
  return out;
}

// ---- Panels

std::vector<int> panel_order(int units, int bytes, bool by_register) {
  std::vector<int> order, out;  // of the units of four lanes
  for (int u = 0; u < 4 * units; ++u) order.push_back(u);
  if (by_register) std::ranges::stable_sort(order, {}, [&](int u) { return u % units; });
  const std::size_t group = by_register ? 4 : order.size();
  for (std::size_t first = 0; first < order.size(); first += group)
    for (int half = 0; half < (bytes == 1 ? 2 : 1); ++half)
      for (std::size_t i = first; i < first + group; ++i)
        for (int element = 0; element < (bytes == 4 ? 1 : 2); ++element)
          out.push_back((4 * (order[i] % units) + order[i] / units) * (4 / bytes) + 2 * half + element);
  return out;
}

// ---- Programs

namespace {

// Adds the nodes of a step, if their k are neighbours in the panels.
bool add_nodes(const Fused& step, std::span<const int> order, FusedProgram& program) {
  if (step.products < 1) return false;
  std::vector<int> chosen;
  for (int k = 0; k < static_cast<int>(order.size()); ++k)
    if (step.k.contains(static_cast<std::size_t>(k))) chosen.push_back(k);
  for (std::size_t first = 0; first < chosen.size(); first += static_cast<std::size_t>(step.products)) {
    const std::size_t last = std::min(chosen.size(), first + static_cast<std::size_t>(step.products));
    const std::span<const int> of_node = std::span(chosen).subspan(first, last - first);
    const auto at = std::ranges::find_first_of(order, of_node) - order.begin();
    const std::span<const int> run = order.subspan(static_cast<std::size_t>(at));
    if (run.size() < of_node.size() || at % 4 != 0 || of_node.size() % 4 != 0 || program.nodes == kMaxNodes)
      return false;
    for (const int k : run.first(of_node.size()))
      if (std::ranges::find(of_node, k) == of_node.end()) return false;
    program.node[program.nodes++] = {static_cast<int>(at), static_cast<int>(of_node.size()),
                                     first == 0 && step.start == Start::zero};
  }
  return true;
}

constexpr auto kNearest = Rounding::nearest_even;

FormatId format_of(bool is_half) {
  return is_half ? FormatId::f16 : FormatId::f32;
}

// The exponent of the lowest bit of a format's numbers.
int lowest_bit(const Format& f) {
  return f.min_exponent() - f.fraction_bits;
}

// The plan with a floor that the powers of two of nodes in f16 can have: where E is so low that nothing is cut, it may as
// well be higher.
//
//     E ...  E - F ...    lowest bit of an addend
//      |.......|..............|
Plan with_usable_floor(const Tile& t) {
  Plan out = *t.plan;
  const int products = lowest_bit(t.a.read_format()) + lowest_bit(t.b.read_format());
  for (Step& step : out) {
    auto* fused = std::get_if<Fused>(&step);
    if (fused == nullptr || fused->result != FormatId::f16) continue;
    const int lowest = std::min({products, lowest_bit(*t.c.format), lowest_bit(format(FormatId::f16))});
    fused->floor = std::max(fused->floor, lowest + fused->window);
  }
  return out;
}

// What a program does, as a plan: C in the nodes' format; nodes that differ in L and k alone, the first of which
// may start from zero; then C's addition or the conversion to D's format. Of `given` come the operands and how
// many nodes there are. Nothing where a plan has no room for it.
std::optional<Plan> executed_plan(const FusedProgram& p, int kept_fraction_bits, const Plan& given) {
  std::vector<Step> steps;
  if (p.half_c && !p.half_nodes && !p.node[0].from_zero) steps.push_back(Convert{FormatId::f32, kNearest});
  Start start = p.node[0].from_zero ? Start::zero : Start::running;
  for (const Step& step : given) {
    const auto* own = std::get_if<Fused>(&step);
    if (own == nullptr) continue;
    steps.push_back(Fused{own->products, p.window, p.floor - 127, format_of(p.half_nodes), kept_fraction_bits,
                          p.half_nodes ? kNearest : Rounding::toward_zero, start, own->k});
    start = Start::running;
  }
  if (p.adds_c)
    steps.push_back(Add{format_of(p.half_d), kNearest});
  else if (p.half_d && !p.half_nodes)
    steps.push_back(Convert{FormatId::f16, kNearest});
  if (steps.size() > Plan::kMaxSteps) return std::nullopt;
  Plan out{};
  out.operands = given.operands;
  for (const Step& step : steps) out.push_back(step);
  return out;
}

// Whether the body computes what a program says: the limits of its arithmetic.
bool is_within(const FusedProgram& p, int kept_fraction_bits) {
  const auto alike = [&](const FusedProgram::Node& n) { return n.count == p.node[0].count; };
  if (p.nodes == 0 || p.node[0].count > 32 || !std::all_of(p.node, p.node + p.nodes, alike)) return false;
  // Sums of 16 products, each below 4 * 2^F, must fit in 32 bits.
  if (p.window < 1 || p.window > 25) return false;
  if (!p.half_nodes) return p.floor <= kMin && kept_fraction_bits >= 0 && kept_fraction_bits <= 23;
  // The powers of two that bring addends to units and back are numbers of f32.
  return p.floor > p.window && 254 + p.window + p.product_scale - p.floor < 255 &&
         kept_fraction_bits == format(FormatId::f16).fraction_bits;
}

// Whether C and D are in formats between which the body moves: it adds an f16 C in f32 without rounding twice
// only to another f16, and has no f16 of an f32 C.
bool is_known_sum(const Tile& t, const FusedProgram& p) {
  for (const Format* f : {t.c.format, t.d.format})
    if (f->id != FormatId::f16 && f->id != FormatId::f32) return false;
  if (p.half_nodes && !p.half_c && !p.node[0].from_zero) return false;
  if (p.adds_c) return !p.half_d || (p.half_nodes && p.half_c);
  return p.half_d || !p.half_nodes;
}

}  // namespace

std::optional<FusedProgram> compile_program(const Tile& t, const Encoding& a, const Encoding& b,
                                            std::span<const int> order) {
  const Plan plan = with_usable_floor(t);
  const Fused* first = first_of<Fused>(plan);
  if (first == nullptr) return std::nullopt;
  FusedProgram program;
  for (const Step& step : plan)
    if (const auto* fused = std::get_if<Fused>(&step); fused && !add_nodes(*fused, order, program))
      return std::nullopt;
  const bool is_half = a.kind == Encoding::Kind::half;
  program.window = first->window;
  program.floor = first->floor + 127;
  program.half_nodes = first->result == FormatId::f16;
  program.half_c = t.c.format->bits == 16;
  program.half_d = t.d.format->bits == 16;
  program.adds_c = first_of<Add>(plan) != nullptr;
  program.product_scale = a.scale + b.scale;
  program.exponent_bias =
      127 - 2 * (is_half ? 15 : 127) + a.scale - a.added_exponent + b.scale - b.added_exponent;
  const int kept = first->kept_fraction_bits;
  if (!is_within(program, kept) || !is_known_sum(t, program)) return std::nullopt;
  if (program.half_nodes && (!is_half || t.a_scale.is_present())) return std::nullopt;
  if (!program.half_nodes) program.kept_mask = ~0U << (23 - kept);
  if (executed_plan(program, kept, plan) != plan) return std::nullopt;
  return program;
}

}  // namespace warpbit
