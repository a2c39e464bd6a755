// SPDX-License-Identifier: Apache-2.0
// Results that others published, which lie in a folder of WARPBIT_GOLDEN_PATH: they are replayed, and what they show is called
// published, and nothing else.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>  // getenv, exit
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "plan_evidence.hpp"
#include "published_results.hpp"

namespace published_test {

using namespace warpbit;
using namespace plan_evidence;
using namespace published_results;
namespace fs = std::filesystem;

constexpr int kNotRun = 77;

struct Publication {
  const char *gpu, *target;
  std::vector<std::string> files;
};
const std::vector<Publication> kPublications{
    {"V100", "sm_70", {"f16_f16", "f16_f32"}},
    {"A100", "sm_80", {"bf16_f32", "f16_f16", "f16_f32", "tf32_f32"}},
    {"A2", "sm_86", {"bf16_f32", "f16_f16", "f16_f32", "tf32_f32"}},
    {"Ada",
     "sm_89",
     {"bf16_f32", "e4m3_f16", "e4m3_f32", "e5m2_f16", "e5m2_f32", "f16_f16", "f16_f32", "tf32_f32"}},
    {"L40S", "sm_89", {"bf16_f32", "e4m3_f32", "e5m2_f32", "f16_f16", "f16_f32", "tf32_f32"}},
    {"B200",
     "sm_100a",
     {"bf16_f32", "e4m3_f16", "e4m3_f32", "e5m2_f16", "e5m2_f32", "f16_f16", "f16_f32", "tf32_f32"}},
};

// The folder that has them, whole; exits where no folder is named that has any.
fs::path published_folder() {
  if (const std::optional<fs::path> found = find_folder()) return *found;
  fmt::print("not run: WARPBIT_GOLDEN_PATH names no folder of published results\n");
  std::fflush(stdout);
  std::exit(kNotRun);
}

TEST_CASE("published results are replayed") {
  const fs::path folder = published_folder();
  std::uint64_t elements = 0;
  for (const Publication& p : kPublications)
    for (const std::string& file : p.files) {
      const std::vector<fs::path> path{folder / p.gpu / (file + ".npz")};
      INFO(path[0]);
      REQUIRE(fs::exists(path[0]));
      const std::vector<FileReport> reports = replay_all(path, {});
      REQUIRE(reports.size() == 1);
      CHECK(reports[0].status == FileStatus::replayed);
      CHECK(reports[0].header.target == p.target);
      CHECK(reports[0].header.source == CaptureSource::published);
      CHECK(reports[0].elements == 2500);
      CHECK(reports[0].mismatches == 0);
      elements += reports[0].elements;
    }
  fmt::print("{} published results, 0 mismatches\n", elements);
  CHECK(elements == 80000);
}

TEST_CASE("what is called published is shown by published results, and nothing else") {
  const std::vector<fs::path> folder{published_folder()};
  const auto index = index_captures(folder);
  REQUIRE(index.ok());
  const auto captures_of = [&](const Instruction& i) {
    Captures out;
    for (const IndexedCapture& c : *index)
      if (without_letter(c.target) == without_letter(i.target().name()) &&
          Instruction::parse(c.statement, i.target()).value().canonical() == i.canonical())
        out.push_back(&c);
    return out;
  };
  const auto has_results = [&](const Uses& uses) {
    return std::ranges::any_of(uses, [&](const Use& use) { return !captures_of(use.instruction).empty(); });
  };
  std::map<std::string_view, int> rows_of;
  for (const auto& [row, by_key] : rows()) {
    const auto& [target, plan, unit] = row;
    if (unit == Unit::tcgen05 || unit == Unit::tcgen05_block_scale) continue;  // tensor_sums_test
    const Use& front = by_key.begin()->second.front();
    const Evidence& evidence = front.instruction.evidence();
    INFO(front.form->canonical << " on " << target);
    std::map<Parameter, std::set<std::string>> missing;
    int deepest = 0;
    for (const auto& [key, uses] : by_key) {
      if (!has_results(uses)) continue;
      deepest = std::max(deepest, uses.front().tile().terms);
      for_each_neighbour(uses, captures_of, [&](const Neighbour& n, bool visible, bool shown) {
        const auto parameter = kShownNearOne.find(n.parameter);
        if (!visible || shown || parameter == kShownNearOne.end()) return;
        missing[parameter->second].insert(name_of(n));
      });
    }
    const auto is_by_them = [](const Ground& ground) {
      return ground.basis == Basis::published && !ground.from.starts_with("PantheonSim");  // pantheonsim_test
    };
    CHECK(is_by_them(evidence.order) == (deepest > 0));
    CHECK(is_by_them(evidence.window) == (deepest > 0));
    for (const Ground* ground : {&evidence.floor, &evidence.specials}) CHECK_FALSE(is_by_them(*ground));
    if (deepest == 0) continue;
    if (std::ranges::any_of(by_key, [&](const auto& k) { return k.second.front().tile().terms > deepest; }))
      missing[Parameter::order].insert("deeper shapes");
    CHECK(exceptions(evidence.order.from) == missing[Parameter::order]);
    CHECK(exceptions(evidence.window.from) == missing[Parameter::window]);
    ++rows_of[target];
  }
  CHECK(rows_of == std::map<std::string_view, int>{{"sm_70", 2},
                                                   {"sm_80", 4},
                                                   {"sm_86", 4},
                                                   {"sm_89", 6},
                                                   {"sm_100", 6},
                                                   {"sm_100a", 6},
                                                   {"sm_100f", 6}});
}

// An element of wmma.mma that others measured: the first products, and the codes of C and D.
struct Word {
  std::string gpu, target;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0, d = 0;
};

std::vector<std::uint64_t> codes(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::uint64_t> out;
  for (std::uint64_t code = 0; in >> std::hex >> code;) out.push_back(code);
  out.resize(16);
  return out;
}

std::vector<Word> words_in(const fs::path& path) {
  INFO(path);
  std::ifstream file(path);
  REQUIRE(file.is_open());
  std::vector<Word> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("gpu\t")) continue;
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, '\t');) f.push_back(field);
    REQUIRE(f.size() == 6);
    out.push_back({f[0], f[1], codes(f[2]), codes(f[3]), codes(f[4])[0], codes(f[5])[0]});
  }
  return out;
}

std::uint64_t result_of(const Word& w, const Tile& tile) {
  return run_element(tile, {w.a, w.b, w.c, {}, {}});
}

// f16 without subnormals.
std::vector<std::uint64_t> flushed(std::vector<std::uint64_t> x) {
  for (std::uint64_t& code : x)
    if ((code & 0x7C00) == 0) code &= 0x8000;
  return x;
}

TEST_CASE("words of an RTX 3080, an A10 and an RTX 4090 show F, and that subnormals are kept") {
  struct Gpu {
    const char *name, *target;
    std::size_t words;
  };
  const std::vector<Word> all = words_in(published_folder() / "wmma_f16_f32_sm_86_sm_89.tsv");
  CHECK(all.size() == 45);
  for (const Gpu& gpu : {Gpu{"RTX 3080", "sm_86", 13}, {"A10", "sm_86", 13}, {"RTX 4090", "sm_89", 19}}) {
    INFO(gpu.name);
    const Target target = Target::find_ptx(gpu.target).value();
    const Instruction i =
        Instruction::parse("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d}, {a}, {b}, {c};", target)
            .value();
    const Tile& tile = std::get<Tile>(i.decoded().kernel);
    std::vector<Word> words;
    std::ranges::copy_if(all, std::back_inserter(words), [&](const Word& w) { return w.gpu == gpu.name; });
    CHECK(words.size() == gpu.words);
    for (const Word& w : words) {
      CHECK(w.target == gpu.target);
      CHECK(result_of(w, tile) == w.d);
    }
    CHECK(std::ranges::any_of(words, [&](const Word& w) {
      Word other = w;
      other.a = flushed(w.a);
      other.b = flushed(w.b);
      return result_of(other, tile) != w.d;
    }));
    for (const Neighbour& n : neighbours(*tile.plan, 16)) {
      if (n.parameter != "F") continue;
      INFO("F " << n.own << ", not " << n.other);
      Tile other = tile;
      other.plan = &n.plan;
      CHECK(std::ranges::any_of(words, [&](const Word& w) { return result_of(w, other) != w.d; }));
    }
  }
}

}  // namespace published_test
