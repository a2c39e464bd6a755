// SPDX-License-Identifier: Apache-2.0
// Plans that no target has: whatever plan a tile has, the fast kernels refuse it or compute it as the
// specification does. The plans are those beside the targets' own, on inputs that tell each from its neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>  // memcpy
#include <map>
#include <set>

#include "combinations.hpp"
#include "kernel/bodies.hpp"
#include "kernel/fast_tile.hpp"
#include "numeric/node.hpp"
#include "probes/neighbour.hpp"
#include "warpbit/record.hpp"

namespace kernel_plans_test {

using namespace warpbit;
using namespace combinations;
using profiles::ScaledCase;
using Codes = std::vector<std::uint64_t>;

constexpr std::uint64_t kProfiles = 5;  // inputs of each form beside the probes

// ---- One dot product in every element of a tile

// The registers of an operand, side by side.
struct Cells {
  const TileRegisters& registers;
  int lanes;
  std::vector<std::byte> bytes = std::vector<std::byte>(static_cast<std::size_t>(lanes * stride()));

  int stride() const { return registers.count * registers.bits / 8; }
  OperandView view() const { return OperandView::dense(bytes.data(), lanes, registers.count, registers.bits); }
  ResultView result_view() { return ResultView::dense(bytes.data(), lanes, registers.count, registers.bits); }
  std::byte* word(const RegisterBits& p) {
    return &bytes[static_cast<std::size_t>(p.lane * stride() + p.reg * registers.bits / 8)];
  }
  std::size_t word_bytes() const { return static_cast<std::size_t>(registers.bits / 8); }

  void put(const RegisterBits& p, std::uint64_t code) {
    std::uint64_t w = 0;
    const std::uint64_t mask = boundary::ones(p.bits) << p.low_bit;
    std::memcpy(&w, word(p), word_bytes());
    w = (w & ~mask) | (code << p.low_bit & mask);
    std::memcpy(word(p), &w, word_bytes());
  }
  std::uint64_t get(const RegisterBits& p) {
    std::uint64_t w = 0;
    std::memcpy(&w, word(p), word_bytes());
    return w >> p.low_bit & boundary::ones(p.bits);
  }
  // The same codes in each line.
  void put_lines(Places places, const Codes& codes) {
    for (std::size_t i = 0; i < places.size(); ++i) put(places[i], codes[i % codes.size()]);
  }
};

// A factor without registers lies in memory in 8 x 16 bytes, without a swizzle.
constexpr std::uint32_t kFactorBytes = 32 * 1024;
Descriptor descriptor_at(std::uint32_t start, const DescribedMatrix& factor) {
  const auto chunks = static_cast<std::uint32_t>(factor.contiguous_bytes() / 16);
  return {start, 128, 128 * chunks};
}
void put_lines(std::vector<std::byte>& memory, std::uint32_t start, const DescribedMatrix& factor,
               const Codes& codes) {
  for (int line = 0; line < factor.lines; ++line)
    for (int k = 0; k < factor.depth; ++k) {
      const std::uint64_t bit = element_bit(descriptor_at(start, factor), factor, line, k);
      const std::uint64_t code = codes[static_cast<std::size_t>(k)];
      if (factor.element_bits >= 8)
        std::memcpy(&memory[bit / 8], &code, static_cast<std::size_t>(factor.element_bits / 8));
      else
        memory[bit / 8] |= static_cast<std::byte>(code << bit % 8);
    }
}

class Registers {
 public:
  Registers(const Tile& tile, const ScaledCase& in) : t_(tile) {
    fill(a_, t_.a.places, t_.a_described, 0, in.a, views_.a_descriptor);
    fill(b_, t_.b.places, t_.b_described, kFactorBytes, spread(in.b), views_.b_descriptor);
    c_.put_lines(t_.c.places, {in.c});
    if (t_.sparsity.is_sparse()) e_.put_lines(t_.e.places, {nibble()});
    if (t_.a_scale.is_present()) a_scale_.put_lines(t_.a_scale.choices[0], in.scale_a);
    if (t_.b_scale.is_present()) b_scale_.put_lines(t_.b_scale.choices[0], in.scale_b);
    views_.a = a_.view();
    views_.b = b_.view();
    views_.c = c_.view();
    views_.e = e_.view();
    views_.a_scale = a_scale_.view();
    views_.b_scale = b_scale_.view();
    views_.a_selector = views_.b_selector = selector_.view();
    views_.a_memory = views_.b_memory = memory_;
  }
  // The codes in D.
  Codes run(const Body& body, const Tile& tile) {
    Cells d{t_.d.registers, t_.lanes};
    if (t_.uses_memory()) d.bytes = c_.bytes;  // D is C
    if (t_.uses_memory()) views_.c = d.view();
    const ResultView to = d.result_view();
    tile.fast->run({body, tile, views_, to, 0, 1});
    Codes out;
    for (const RegisterBits& p : t_.d.places) out.push_back(d.get(p));
    return out;
  }

 private:
  void fill(Cells& cells, Places places, const std::optional<DescribedMatrix>& described, std::uint32_t start,
            const Codes& codes, Descriptor& descriptor) {
    if (!described) return cells.put_lines(places, codes);
    memory_.resize(2 * kFactorBytes);
    put_lines(memory_, start, *described, codes);
    descriptor = descriptor_at(start, *described);
  }
  // The first one that is defined, in all groups.
  std::uint64_t nibble() const {
    std::uint64_t out = 0;
    while (!is_defined(t_.sparsity, out, false)) ++out;
    return out;
  }
  // A column of B whose chosen elements are these.
  Codes spread(const Codes& terms) const {
    const Sparsity& s = t_.sparsity;
    if (!s.is_sparse()) return terms;
    Codes out;
    for (int k = 0; k < t_.depth; ++k) out.push_back(terms[static_cast<std::size_t>(k / 2)]);
    for (int term = 0; term < t_.terms; ++term) {
      const int within = term % s.kept, unit = s.kept / 2;
      const int chosen = s.kept == 1 ? static_cast<int>(nibble() >> 3)
                                     : stored_index(s, nibble(), within) * unit + within % unit;
      out[static_cast<std::size_t>(term / s.kept * s.width + chosen)] = terms[static_cast<std::size_t>(term)];
    }
    return out;
  }

  const Tile& t_;
  TileRegisters two_halves_{2, 16, {}};
  Cells a_{t_.a.registers, t_.lanes}, b_{t_.b.registers, t_.lanes}, c_{t_.c.registers, t_.lanes};
  Cells e_{t_.e.registers, t_.lanes}, a_scale_{t_.a_scale.registers, t_.lanes},
      b_scale_{t_.b_scale.registers, t_.lanes}, selector_{two_halves_, t_.lanes};
  std::vector<std::byte> memory_;
  TileViews views_;
};

// ---- Plans

// A plan beside one that a target has; of `in_one_step` the specification may have no proof.
struct Other {
  std::string name;
  Plan plan;
  bool in_one_step = false;
  bool is_invisible = false;
};

SumFormats formats_of(const Tile& t) {
  return {t.a.format,       t.b.format,       t.c.format,
          t.a_scale.format, t.b_scale.format, static_cast<std::size_t>(t.terms)};
}

// The neighbours, and what differs in several steps of those also step by step.
std::vector<Other> others(const Tile& t) {
  const Plan& own = *t.plan;
  std::vector<Other> out;
  for (const Neighbour& n : neighbours(own, static_cast<std::size_t>(t.terms))) {
    if (!n.order.empty()) continue;
    const std::string name = fmt::format("{} {}, not {}", n.parameter, n.own, n.other);
    out.push_back({name, n.plan, false, why_invisible(own, n, formats_of(t)).has_value()});
    for (std::size_t i = 0; n.plan.size() == own.size() && own.size() > 1 && i < own.size(); ++i) {
      Plan one = own;
      one.begin()[i] = n.plan.begin()[i];
      if (one != own && one != n.plan) out.push_back({fmt::format("{} in step {}", name, i), one, true});
    }
  }
  return out;
}

// What the specification makes of them, with another plan.
std::uint64_t expected(Tile tile, const Plan& plan, const ScaledCase& in) {
  tile.plan = &plan;
  return run_element(tile, {in.a, in.b, in.c, in.scale_a, in.scale_b});
}

// ---- Forms

// One for each plan, formats and layout.
std::vector<Combination> subjects() {
  std::map<std::string, std::vector<Combination>> found;
  for (const Combination& x : all_combinations()) {
    if (x.has_sign()) continue;
    std::string layout = fmt::format("{} terms, {};", x.instruction.terms(), x.problem.scale);
    for (const Operand& o : x.instruction.operands())
      layout += fmt::format("{} {} {};", o.format, o.registers, o.registers > 0 ? o.fragment.text() : "");
    std::vector<Combination>& alike = found[layout];
    if (std::ranges::none_of(alike, [&](const Combination& y) { return x.same_arithmetic(y); }))
      alike.push_back(x);
  }
  std::vector<Combination> out;
  for (const auto& [layout, list] : found) out.insert(out.end(), list.begin(), list.end());
  return out;
}

std::vector<ScaledCase> inputs_of(const Combination& x) {
  static std::map<std::string, std::vector<ScaledCase>> known;  // by the plan and the formats
  const Tile& t = x.tile();
  const std::string key = fmt::format("{} {} {} {} {} {} {}", describe(*t.plan), x.problem.a, x.problem.b,
                                      x.problem.c, x.problem.d, x.problem.scale, t.terms);
  const auto [at, is_new] = known.try_emplace(key);
  if (!is_new) return at->second;
  for (const Probe& p : probes(x.instruction).value().probes)
    at->second.push_back({p.a, p.b, p.a_scale, p.b_scale, p.c});
  const oracle::Dot dot(x.problem);
  const Inputs inputs(x, dot);
  for (std::uint64_t i = 0; i < kProfiles; ++i) at->second.push_back(inputs(i));
  return at->second;
}

// ---- Comparison

struct Counts {
  std::size_t refused = 0, computed = 0, products = 0;
};

// What the specification makes of them, with the target's own plan.
Codes own_results(const Combination& x, const std::vector<ScaledCase>& inputs) {
  Codes out;
  for (const ScaledCase& in : inputs) out.push_back(expected(x.tile(), *x.tile().plan, in));
  return out;
}

// A plan that the fast kernels accept, by all of them; `own` is what the target's has.
void compare(const Combination& x, const Tile& tile, const Other& other, const std::vector<ScaledCase>& inputs,
             const Codes& own, std::vector<Registers>& registers, Counts& counts) {
  bool is_shown = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t wanted = expected(x.tile(), *tile.plan, inputs[i]);
    is_shown = is_shown || wanted != own[i];
    for (const Kernel kernel : kernels()) {
      const Body* body = find_body(kernel);
      if (body == nullptr) continue;
      const Codes got = registers[i].run(*body, tile);
      const auto wrong = std::ranges::count_if(got, [&](std::uint64_t code) { return code != wanted; });
      ++counts.products;
      if (wrong == 0) continue;
      INFO(x.title() << ", " << other.name << ": " << describe(*tile.plan) << ", " << name(kernel) << ", input "
                     << i << ": " << wrong << " elements, the first " << got[0] << ", not " << wanted);
      CHECK(wrong == 0);
      return;
    }
  }
  INFO(x.title() << ", " << other.name);
  CHECK((is_shown || other.is_invisible || other.in_one_step));
}

TEST_CASE("a plan beside a target's own is refused or computed as the specification does") {
  Counts counts;
  for (const Combination& x : subjects()) {
    std::vector<ScaledCase> inputs;
    Codes own;
    std::vector<Registers> registers;
    for (const Other& other : others(x.tile())) {
      Tile tile = x.tile();
      tile.plan = &other.plan;
      tile.fast = compile_fast(tile);
      if (!tile.fast) {
        ++counts.refused;
        continue;
      }
      if (inputs.empty()) {
        inputs = inputs_of(x);
        own = own_results(x, inputs);
        registers.reserve(inputs.size());
        for (const ScaledCase& in : inputs) registers.emplace_back(x.tile(), in);
      }
      ++counts.computed;
      compare(x, tile, other, inputs, own, registers, counts);
    }
  }
  fmt::print("{} plans refused, {} computed, {} tiles\n", counts.refused, counts.computed, counts.products);
  CHECK(counts.refused > 4000);
  CHECK(counts.computed > 500);
}

// ---- The plans of tcgen05.mma, whose own tiles are no registers

// Its plan for the factors and the depth of a form, if it has one.
const Plan* tensor_plan(const Combination& x) {
  const Tile& t = x.tile();
  const auto* fused = first_of<Fused>(*t.plan);
  const bool is_scaled = t.a_scale.is_present();
  const Unit unit = is_scaled ? Unit::tcgen05_block_scale : Unit::tcgen05;
  const Modifier modifier = fused != nullptr                          ? Modifier::none
                            : t.a_scale.format->id == FormatId::ue4m3 ? Modifier::packed_nvf4
                                                                      : Modifier::packed_fp4;
  const std::optional<TargetPlan> found =
      find_plan(Target::find("sm_100a").value().row(),
                {unit, t.d.format->id, t.a.format->id, t.b.format->id, t.c.format->id, modifier});
  if (!found) return nullptr;
  const auto* own = first_of<Fused>(found->row->plan);
  return own == nullptr || own->products == t.terms ? &found->row->plan : nullptr;
}

// Groups that are cut differently by fours and by sixteens: 2^16 (36 - 36), and 2^-20 twice.
ScaledCase narrow_groups() {
  ScaledCase in{Codes(64), Codes(64), {0x78, 1, 0x38, 0x38}, {0x78, 1, 0x38, 0x38}, 0};
  for (const auto& [k, a, b] : {std::array{0, 7, 7}, {1, 15, 7}, {16, 1, 1}, {20, 1, 1}}) {
    in.a[static_cast<std::size_t>(k)] = static_cast<std::uint64_t>(a);
    in.b[static_cast<std::size_t>(k)] = static_cast<std::uint64_t>(b);
  }
  return in;
}

TEST_CASE("the fast kernels compute the plans of tcgen05.mma as the specification does") {
  Counts counts;
  std::set<std::string> plans;
  for (const Combination& x : subjects()) {
    const bool has_node = first_of<Fused>(*x.tile().plan) != nullptr;
    if (!has_node && first_of<GroupScaled>(*x.tile().plan) == nullptr) continue;
    const Plan* plan = tensor_plan(x);
    if (plan == nullptr) continue;
    Tile tile = x.tile();
    tile.plan = plan;
    tile.fast = compile_fast(tile);
    INFO(x.title() << ", " << describe(*plan));
    // Four powers of two in a row: the specification alone computes them.
    const TileScale& scale = tile.a_scale;
    const bool has_no_kernel =
        scale.format != nullptr && scale.format->id == FormatId::ue8m0 && scale.blocks == 4;
    REQUIRE((tile.fast == nullptr) == has_no_kernel);
    if (has_no_kernel) continue;
    std::vector<ScaledCase> inputs = inputs_of(x);
    const oracle::Dot dot(x.problem);
    const Inputs more(x, dot);
    for (std::uint64_t i = kProfiles; i < (has_node ? kProfiles : 200U); ++i) inputs.push_back(more(i));
    if (first_of<WindowedGroups>(*plan) != nullptr) inputs.push_back(narrow_groups());
    std::vector<Registers> registers;
    registers.reserve(inputs.size());
    for (const ScaledCase& in : inputs) registers.emplace_back(x.tile(), in);
    compare(x, tile, {"tcgen05", *plan, true}, inputs, own_results(x, inputs), registers, counts);
    plans.insert(describe(*plan));
  }
  fmt::print("{} plans of tcgen05.mma, {} tiles\n", plans.size(), counts.products);
  CHECK(plans.size() == 7);
}

}  // namespace kernel_plans_test
