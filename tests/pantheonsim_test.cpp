// SPDX-License-Identifier: Apache-2.0
// Results that the public project PantheonSim has of an RTX 3060, an L4, an L40S and an RTX PRO 6000: they are replayed, and what
// they show is called published, and nothing else.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "pantheonsim.hpp"
#include "plan_evidence.hpp"
#include "published_results.hpp"

namespace pantheonsim_test {

using namespace warpbit;
using namespace pantheonsim;
using namespace plan_evidence;
using published_results::exceptions;
using published_results::name_of;

const std::vector<Transcript>& all() {
  static const std::vector<Transcript> out = transcripts();
  return out;
}

TEST_CASE("the hashes of mma of four GPUs are replayed") {
  std::map<std::string_view, int> count;
  for (const Transcript& t : all()) {
    INFO(t.instruction.canonical() << " on " << t.instruction.target().name());
    for (const Kernel kernel : kernels()) {
      INFO(name(kernel));
      CHECK(hash_of(t, executed(t.instruction, kernel)) == t.hash);
    }
    ++count[t.instruction.target().name()];
  }
  CHECK(count ==
        std::map<std::string_view, int>{{"sm_86", 123}, {"sm_89", 123}, {"sm_120", 123}, {"sm_120a", 27}});
}

// ---- What they show

const Plan& plan_of(const Transcript& t) {
  return *std::get<Tile>(t.instruction.decoded().kernel).plan;
}

std::string_view base_of(const Instruction& i) {
  const std::string_view name = i.target().name();
  return name.substr(0, name.find_last_of("0123456789") + 1);
}

// Those of the same arithmetic on a GPU of the target, whose suffix does not count.
std::vector<const Transcript*> transcripts_of(const Use& use) {
  const auto key = [](const Use& u) {
    Key out = key_of(u);
    std::get<0>(out) = base_of(u.instruction);
    return std::pair(out, u.arithmetic().unit);
  };
  std::vector<const Transcript*> out;
  for (const Transcript& t : all())
    if (key({nullptr, t.instruction}) == key(use)) out.push_back(&t);
  return out;
}

// The neighbours of a row that results can tell, by parameter and both values: whether a hash does, of any types of the row.
using Told = std::map<std::tuple<std::string, std::string, std::string>, bool>;
struct RowSeen {
  int terms = 0;  // of the deepest sum that was seen
  std::map<Parameter, Told> of;
};
void look(const std::map<Key, Uses>& by_key, RowSeen& out) {
  for (const auto& [key, uses] : by_key) {
    const std::vector<const Transcript*> known = transcripts_of(uses.front());
    if (known.empty()) continue;
    const Tile& t = uses.front().tile();
    out.terms = std::max(out.terms, t.terms);
    const SumFormats formats{&t.a.read_format(), &t.b.read_format(), t.c.format,
                             t.a_scale.format,   t.b_scale.format,   static_cast<std::size_t>(t.terms)};
    for (const Neighbour& n : neighbours(*t.plan, formats.terms)) {
      if (why_invisible(*t.plan, n, formats)) continue;
      bool& told = out.of[parameter_of(n.parameter)][{name_of(n), n.own, n.other}];
      told = told || std::ranges::any_of(known, [&](const Transcript* x) {
               return hash_of(*x, by_plan(x->instruction, n.plan, n.order)) != x->hash;
             });
    }
  }
}
// All that is known of a row on the targets that differ in their suffixes alone.
using RowOfBase = std::tuple<std::string, const PlanRow*, Unit>;
std::map<RowOfBase, RowSeen> look_at_all() {
  std::map<RowOfBase, RowSeen> out;
  for (const auto& [row, by_key] : rows())
    look(by_key, out[{std::string(base_of(by_key.begin()->second.front().instruction)), std::get<1>(row),
                      std::get<2>(row)}]);
  return out;
}

TEST_CASE(
    "what is called published is told from each neighbour by a hash, and what is told so is called published") {
  constexpr std::string_view kProject = "PantheonSim, ";
  const std::map<RowOfBase, RowSeen> all_seen = look_at_all();
  std::map<std::string_view, int> published;
  for (const auto& [row, by_key] : rows()) {
    const auto& [target, plan, unit] = row;
    const Use& front = by_key.begin()->second.front();
    const Evidence& evidence = front.instruction.evidence();
    const RowSeen& seen = all_seen.at({std::string(base_of(front.instruction)), plan, unit});
    const bool is_deeper =
        std::ranges::any_of(by_key, [&](const auto& k) { return k.second.front().tile().terms > seen.terms; });
    for (const Parameter p : {Parameter::order, Parameter::window, Parameter::floor, Parameter::specials}) {
      const Ground& ground = ground_of(evidence, p);
      INFO(front.form->canonical << " on " << target << ", " << describe(plan->plan) << ", parameter "
                                 << static_cast<int>(p) << ": " << ground.from);
      const auto at = seen.of.find(p);
      const Told none, &told = at != seen.of.end() ? at->second : none;
      std::set<std::string> missing;
      bool has_any = told.empty();
      for (const auto& [n, is_told] : told) {
        has_any = has_any || is_told;
        if (!is_told) missing.insert(std::get<0>(n));
      }
      if (p == Parameter::order && is_deeper && !told.empty()) missing.insert("deeper shapes");
      const bool is_ours = ground.basis == Basis::published && ground.from.starts_with(kProject);
      published[target] += is_ours;
      if (is_ours) {
        CHECK(seen.terms > 0);
        CHECK(has_any);
        CHECK(exceptions(ground.from) == missing);
      } else if (ground.basis == Basis::inferred) {
        CHECK_FALSE((!told.empty() && missing.empty()));
      }
    }
  }
  for (const auto& [target, count] : published)
    if (count > 0) fmt::print("{}: {} parameters of plans are published by PantheonSim\n", target, count);
  CHECK(published.at("sm_86") == published.at("sm_89"));
  CHECK(published.at("sm_120a") > published.at("sm_86"));
  for (const char* other : {"sm_80", "sm_87", "sm_90a", "sm_100a", "sm_121a"}) CHECK(published.at(other) == 0);
}

// ---- Padding (NUMERICS.md, "Padding")

bool has_padding(const Transcript& t) {
  const Tile& tile = std::get<Tile>(t.instruction.decoded().kernel);
  return tile.a.container != nullptr || tile.b.container != nullptr;
}

// The registers of a factor without the bits below its elements.
Operands cleared(const Instruction& i, Operands words) {
  const Tile& tile = std::get<Tile>(i.decoded().kernel);
  for (std::size_t n = 0; n < words.size(); ++n) {
    const Part part = i.operands()[n].part;
    if ((part == Part::a && tile.a.container != nullptr) || (part == Part::b && tile.b.container != nullptr))
      for (std::uint64_t& word : words[n]) word &= 0xFCFCFCFC;
  }
  return words;
}

TEST_CASE("an RTX PRO 6000 reads the padding below e2m1") {
  int count = 0;
  std::map<std::string_view, std::uint64_t> hashes;
  for (const Transcript& t : all()) {
    hashes[t.instruction.canonical()] = t.hash;
    if (!has_padding(t)) continue;
    INFO(t.instruction.canonical());
    const Compute compute = executed(t.instruction, Kernel::reference);
    CHECK(hash_of(t, [&](const Operands& words) { return compute(cleared(t.instruction, words)); }) != t.hash);
    ++count;
  }
  CHECK(count == 9);
  // The same bytes as e2m3.
  const std::string start = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.";
  CHECK(hashes.at(start + "e2m1.e4m3.f32") == hashes.at(start + "e2m3.e4m3.f32"));
}

// ---- FP4, of which they show bounds

TEST_CASE("an RTX PRO 6000 shows of FP4 that F is at least 33, and no length of groups") {
  const auto agree = [](auto edit) {
    int count = 0;
    bool all_agree = true;
    for (const Transcript& t : all()) {
      Plan plan = plan_of(t);
      auto* const groups = std::get_if<GroupScaled>(plan.begin());
      if (groups == nullptr) continue;
      edit(*groups);
      ++count;
      // A group lies within a block.
      const Tile& tile = std::get<Tile>(t.instruction.decoded().kernel);
      if (groups->group * tile.a_scale.blocks > tile.terms) continue;
      all_agree = all_agree && hash_of(t, by_plan(t.instruction, plan)) == t.hash;
    }
    CHECK(count == 6);
    return all_agree;
  };
  for (const int window : {30, 31, 32, 33, 34, 36, 37, 40}) {
    INFO("F " << window);
    CHECK(agree([&](GroupScaled& x) { x.window = window; }) == (window >= 33));
  }
  for (const int group : {4, 8, 16, 32}) {
    INFO("groups of " << group);
    CHECK(agree([&](GroupScaled& x) { x.group = group; }));
  }
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::down, Rounding::up, Rounding::nearest_away})
    CHECK_FALSE(agree([&](GroupScaled& x) { x.rounding = rounding; }));
}

// ---- Conversions

// Results of a conversion of as many values as each source has.
std::vector<std::uint64_t> converted(const std::string& form, const char* target,
                                     const std::vector<std::vector<std::uint64_t>>& sources) {
  INFO(form << " on " << target);
  const Instruction i = Instruction::parse(form, Target::find_ptx(target).value()).value();
  const auto bytes_of = [](const Operand& o) { return static_cast<std::size_t>(o.register_bits / 8); };
  const std::size_t count = sources[0].size(), each = bytes_of(i.operands()[0]);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<OperandArray> arrays;
  for (std::size_t n = 0; n <= sources.size(); ++n) {
    const std::size_t width = bytes_of(i.operands()[n]);
    bytes.emplace_back(count * width);
    for (std::size_t k = 0; n > 0 && k < count; ++k)
      std::memcpy(&bytes[n][k * width], &sources[n - 1][k], width);
  }
  for (auto& one : bytes) arrays.emplace_back(one);
  REQUIRE(execute(i, arrays).ok());
  std::vector<std::uint64_t> out(count);
  for (std::size_t k = 0; k < count; ++k) std::memcpy(&out[k], &bytes[0][k * each], each);
  return out;
}

// The numbers that narrow_cvt converts.
float narrow_input(std::uint32_t i) {
  if (i % 71 == 0) return -0.0F;
  if (i % 73 == 0) return 0;
  if (i % 79 == 0) return i % 2 != 0 ? 1e30F : -7e5F;
  if (i % 83 == 0) return i % 2 != 0 ? 1e-40F : -3e-39F;
  if (i % 89 == 0) return (i % 2 != 0 ? 1.0F : -1.0F) * std::numeric_limits<float>::infinity();
  if (i % 97 == 0) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(static_cast<int>(i * 2654435761U % 40001) - 20000) / 1999.0F;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

TEST_CASE("conversions to and from narrow types are those of an RTX PRO 6000") {
  constexpr std::uint32_t kCount = 4096;
  std::map<std::string, std::vector<std::uint64_t>> values;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::uint32_t x = bits_of(narrow_input(i)), y = bits_of(narrow_input((7 * i + 3) % kCount));
    values["x"].push_back(x);
    values["y"].push_back(y);
    values["|x|"].push_back(x & 0x7FFFFFFF);
    values["|y|"].push_back(y & 0x7FFFFFFF);
  }
  int hashes = 0;
  for (const auto& row : table("narrow_cvt")) {
    if (row.at(0) != "hash") {
      std::vector<std::vector<std::uint64_t>> sources;
      for (const std::string& name : words_of(row.at(2))) sources.push_back(values.at(name));
      values[row.at(0)] = converted(row.at(1), "sm_120a", sources);
      continue;
    }
    std::vector<std::uint32_t> words(kCount);
    for (const std::string& part : words_of(row.at(1))) {
      const std::size_t at = part.find("<<");
      const int shift = at == part.npos ? 0 : std::stoi(part.substr(at + 2));
      const std::vector<std::uint64_t>& of_part = values.at(part.substr(0, at));
      for (std::size_t k = 0; k < kCount; ++k) words[k] |= static_cast<std::uint32_t>(of_part[k]) << shift;
    }
    std::uint32_t hash = 2166136261;
    for (const std::uint32_t word : words) hash = (hash ^ word) * 16777619;
    INFO(row.at(1));
    CHECK(hash == number(row.at(2)));
    ++hashes;
  }
  CHECK(hashes == 12);
}

// The numbers that lowprec_cvt converts.
std::vector<float> l4_inputs() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> out = {0.F,
                            -0.F,
                            1.F,
                            -1.F,
                            .5F,
                            1.5F,
                            2.5F,
                            3.5F,
                            448.F,
                            449.F,
                            464.F,
                            465.F,
                            480.F,
                            500.F,
                            -500.F,
                            57344.F,
                            57345.F,
                            61440.F,
                            65504.F,
                            65536.F,
                            1e5F,
                            1e-3F,
                            0.001953125F,
                            0.0009765625F,
                            0.00146484375F,
                            1.52587890625e-5F,
                            7.62939453125e-6F,
                            1.1444091796875e-5F,
                            kInfinity,
                            -kInfinity,
                            std::numeric_limits<float>::quiet_NaN(),
                            .1F,
                            .3F,
                            100.1F,
                            .0625F,
                            .015625F,
                            .01171875F,
                            .017578125F,
                            240.F,
                            256.F,
                            272.F,
                            3.F,
                            5.F,
                            7.F,
                            9.F,
                            11.F,
                            13.F,
                            15.F,
                            -0.001953125F,
                            -448.F,
                            -449.F,
                            -57344.F,
                            -61440.F};
  for (auto k = static_cast<std::uint32_t>(out.size()); k < 512; ++k) {
    const std::uint32_t r = mix(k * 2654435761U + 17);
    const float m = static_cast<float>(r & 0xFFFFFF) / 16777216.0F;
    out.push_back(std::ldexp(m * 2 - 1, static_cast<int>((r >> 24) % 28) - 14));
  }
  return out;
}

TEST_CASE("conversions to FP8 are those of an L4") {
  const std::vector<float> inputs = l4_inputs();
  std::size_t words = 0;
  for (const auto& row : table("cvt_l4")) {
    const std::vector<std::string> expected = words_of(row.at(1));
    std::vector<std::vector<std::uint64_t>> sources(2);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      sources[0].push_back(bits_of(inputs[(7 * i + 3) % inputs.size()]));
      sources[1].push_back(bits_of(inputs[i]));
    }
    const std::vector<std::uint64_t> got = converted(row.at(0), "sm_89", sources);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(row.at(0) << ", word " << i);
      CHECK(got[i] == number(expected[i]));
    }
    words += expected.size();
  }
  CHECK(words == 192);
}

// ---- Moves

TEST_CASE("ldmatrix of bytes and less is that of an RTX PRO 6000") {
  std::vector<std::byte> memory(1024);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 37 + 11);
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t lane = 0; lane < 32; ++lane) addresses.push_back(16 * lane);
  int words = 0;
  for (const auto& row : table("ldmatrix")) {
    INFO(row.at(0));
    const Instruction i = Instruction::parse(row.at(0), Target::find_ptx("sm_120a").value()).value();
    const auto count = static_cast<std::size_t>(i.operands()[0].registers);
    std::vector<std::uint32_t> d(32 * count);
    REQUIRE(execute_warp(i, {d, addresses}, memory).ok());
    constexpr std::uint32_t kStart = 2166136261, kPrime = 16777619;
    std::uint32_t hash = kStart;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint32_t of_lane = kStart;
      for (std::size_t reg = 0; reg < count; ++reg) of_lane = (of_lane ^ d[lane * count + reg]) * kPrime;
      hash = (hash ^ (count == 1 ? d[lane] : of_lane)) * kPrime;
    }
    CHECK(hash == number(row.at(1)));
    if (row.at(2) == "-") continue;
    CHECK(d[5 * count + number(row.at(2))] == number(row.at(3)));
    ++words;
  }
  CHECK(table("ldmatrix").size() == 10);
  CHECK(words == 2);
}

}  // namespace pantheonsim_test
