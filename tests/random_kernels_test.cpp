// SPDX-License-Identifier: Apache-2.0
// Random kernels leave what an H100 left: golden-digests/random/sm_90a.tsv, made by tools/random/record.py. At -O0 all of
// them as they are written; at -O3 by the rules of the assembler all but those that golden-digests/random/differing.tsv
// lists, each with what is known of it. A kernel that is listed and does not differ is an error, too.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "random_recordings.hpp"

namespace random_kernels_test {

using random_kernels::Kind;
using random_kernels::Loaded;
using random_kernels::Words;

struct Replayed : random_recordings::Recorded {
  std::array<bool, 2> equal = {};      // at -O0, at -O3
  std::string said = {};               // an error or a fault
  std::set<std::string> defects = {};  // of ptxas, that the module has notes of
};

// Of a hundred kernels of a kind, how many may differ at -O3, defects of ptxas aside. What calls functions of the assembler's
// (f64) has copies of products that are not modelled.
int percent(const std::string& kind) {
  return kind.starts_with("mixed") ? 2 : 1;
}

void replay(Replayed& one) {
  const Kind* const kind = random_kernels::find_kind(one.kind);
  if (kind == nullptr) return;
  Loaded kernel(*kind, one.seed);
  for (const std::size_t level : {0, 1}) {
    const std::optional<Words> words = kernel.run(level == 0);
    one.equal[level] = random_recordings::is_equal(one, level, words);
    if (!words) one.said = kernel.said();
    for (const warpbit::ptx::AssemblerNote& note : kernel.notes()) one.defects.insert(note.defect);
  }
}

void replay(std::vector<Replayed>& all) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::size_t at; (at = next++) < all.size();) replay(all[at]);
    });
}

// "kind seed" -> why it differs at -O3; a defect of ptxas, or what is not understood.
std::map<std::pair<std::string, std::uint64_t>, std::string> differing() {
  std::ifstream file("golden-digests/random/differing.tsv");
  std::map<std::pair<std::string, std::uint64_t>, std::string> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("kind\t")) continue;
    std::istringstream cells(line);
    std::string kind, why;
    std::uint64_t seed = 0;
    cells >> kind >> seed;
    std::getline(cells >> std::ws, why);
    out[{kind, seed}] = why;
  }
  return out;
}

TEST_CASE("random kernels leave what an H100 left at -O0, and at -O3 all but those that are listed") {
  std::vector<Replayed> all;
  for (const random_recordings::Recorded& one : random_recordings::recorded(random_recordings::kPath))
    all.push_back({one});
  REQUIRE(all.size() >= 20'000);
  replay(all);
  const auto listed = differing();
  struct Count {
    int all = 0, open = 0;
  };
  std::map<std::string, Count> kinds;
  std::size_t met = 0;
  for (const Replayed& one : all) {
    INFO(one.kind << ' ' << one.seed << ": " << one.said);
    Count& count = kinds[one.kind];
    ++count.all;
    CHECK(one.said.empty());
    CHECK(one.equal[0]);
    const auto known = listed.find({one.kind, one.seed});
    const bool is_listed = known != listed.end();
    CHECK(one.equal[1] != is_listed);
    met += is_listed;
    const bool is_defect = is_listed && known->second.starts_with("defect ");
    if (is_defect)
      CHECK(std::ranges::any_of(one.defects,
                                [&](const std::string& name) { return known->second.ends_with(name); }));
    count.open += is_listed && !is_defect;
  }
  CHECK(met == listed.size());
  for (const auto& [kind, count] : kinds) {
    INFO(kind << ": " << count.open << " of " << count.all << " differ, defects aside");
    CHECK(100 * count.open <= percent(kind) * count.all);
  }
}

}  // namespace random_kernels_test
