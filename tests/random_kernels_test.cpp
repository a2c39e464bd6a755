// SPDX-License-Identifier: Apache-2.0
// Random kernels leave what an H100 left: golden-digests/random/, made by tools/random/record.py. At -O0 all of them as they are
// written; at -O3 by the rules of the assembler all but those whose record says why not. One that says so and does not differ is an
// error, too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "golden_records.hpp"
#include "random_recordings.hpp"

namespace random_kernels_test {

using namespace warpbit;
using golden_records::Changed, golden_records::json, golden_records::verified;

// Of a hundred kernels of a kind, how many may differ at -O3, defects of ptxas aside. What calls functions of the assembler's
// (f64) has copies of products that are not modelled.
int percent(const std::string& kind) {
  return kind.starts_with("mixed") ? 2 : 1;
}

TEST_CASE("random kernels leave what an H100 left at -O0, and at -O3 all but those that are listed") {
  const std::filesystem::path path = random_recordings::kPath;
  const auto all = find_verifiable(std::span(&path, 1));
  REQUIRE(all.size() >= 20'000);
  const std::vector<FileReport> reports = verify_all(all);
  struct Count {
    int all = 0, open = 0;
  };
  std::map<std::string, Count> kinds;
  std::size_t defects = 0, open = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FileReport& report = reports[i];
    INFO(report.record << ": " << fmt::format("{}", fmt::join(report.notes, "\n"))
                       << (report.error ? report.error->message() : ""));
    const json record = json::parse(all[i].record().text);
    Count& count = kinds[record.at("generator")];
    ++count.all;
    const bool is_defect = record.contains("defects"), is_open = record.contains("differs");
    CHECK(report.status == (is_defect || is_open ? FileStatus::not_reproducible : FileStatus::replayed));
    CHECK(report.mismatches == 0);
    CHECK(report.cases == (is_defect || is_open ? 1 : 2));
    defects += is_defect, open += is_open;
    count.open += is_open;
  }
  CHECK((defects == 359 && open == 96));
  for (const auto& [kind, count] : kinds) {
    INFO(kind << ": " << count.open << " of " << count.all << " differ, defects aside");
    CHECK(100 * count.open <= percent(kind) * count.all);
  }
}

// ---- What records may say

const std::string kEqual = "plain 0", kOpen = "branches 805";

TEST_CASE("a record that says otherwise of a kernel differs, and one that is wrong is refused", "[quick]") {
  const auto golden = [](const std::string& name) {
    return golden_records::record_of(random_recordings::kPath, name);
  };
  const Changed differing[] = {
      {kEqual.c_str(), "O0", "0123456789abcdef",
       "at -O0: expected digest 0x0123456789abcdef, got 0xacb0f94e43a0b290"},
      {kEqual.c_str(), "O3", "0123456789abcdef",
       "at -O3: expected digest 0x0123456789abcdef, got 0x20e5f93441eeebde"},
      {kEqual.c_str(), "differs", "not understood",
       "at -O3 the same words, and the record says that they differ: not understood"},
      {kOpen.c_str(), "defects", {"half-addend"}, "no note of the module has the defect 'half-addend'"},
  };
  for (const Changed& c : differing) {
    json record = golden(c.name);
    CHECK(verified(record).mismatches == 0);
    record[c.member] = c.value;
    const FileReport report = verified(record);
    INFO(c.says);
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 1);
    REQUIRE_FALSE(report.notes.empty());
    CHECK(report.notes[0] == c.says);
  }
  const Changed wrong[] = {
      {kEqual.c_str(), "generator", "wild", "'generator': 'wild'; expected a kind of random kernels"},
      {kEqual.c_str(), "seed", -1, "'seed': -1; expected a number from 0 on"},
      {kEqual.c_str(), "O3", 3, "'O3': 3; expected a string"},
  };
  golden_records::require_refused(wrong, golden);
}

}  // namespace random_kernels_test
