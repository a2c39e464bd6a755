// SPDX-License-Identifier: Apache-2.0
// Scalar instructions are what a GPU made of them: golden-digests/scalar/, made by tools/capture/record_scalar.py. All 2^32 inputs
// of the approximate functions take `warpbit verify golden-digests/scalar`, which runs for hours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "golden_records.hpp"
#include "scalar_table.hpp"

namespace scalar_test {

using namespace warpbit;
using golden_records::Changed, golden_records::json, golden_records::verified, golden_records::verified_records;

const std::filesystem::path kRecording = "golden-digests/scalar/sm_90a.zip";

/// Of the 2^24 inputs from one on.
bool is_large(const Record& record) {
  return record.name.find(" from 0x") != std::string::npos;
}

void require_equal(const std::vector<FileReport>& reports) {
  for (const FileReport& report : reports) {
    if (report.status == FileStatus::not_reproducible) continue;
    INFO(report.record << ": " << fmt::format("{}", fmt::join(report.notes, "\n"))
                       << (report.error ? report.error->message() : ""));
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    CHECK_FALSE(report.inferred);
  }
}

TEST_CASE("every form of scalar.tsv that computes is what a GPU made of it", "[golden]") {
  const auto reports = verified_records(kRecording, [](const Record& record) { return !is_large(record); });
  require_equal(reports);
  std::set<std::string> skipped;
  std::size_t forms = 0;
  std::uint64_t elements = 0;
  for (const FileReport& report : reports) {
    elements += report.elements;
    forms += report.status == FileStatus::replayed;
    if (report.status == FileStatus::not_reproducible) skipped.insert(report.header.statement);
  }
  fmt::print("{} forms, {} elements; {} forms are not in the manual\n", forms, elements, skipped.size());
  CHECK(forms >= 7000);
  CHECK(elements >= 103000000);
  CHECK(skipped == scalar_table::undocumented());  // each of them is recorded
}

TEST_CASE("so is a block of all inputs of each approximate function", "[blocks]") {
  constexpr std::size_t kBlocks = 256;  // of a function, which follow each other
  std::size_t number = 0;
  const auto reports = verified_records(kRecording, [&](const Record& record) {
    if (!is_large(record)) return false;
    const std::size_t function = number / kBlocks, block = number % kBlocks;
    ++number;
    return block == (63 + 37 * function) % kBlocks;
  });
  CHECK(number == 19 * kBlocks);
  REQUIRE(reports.size() == 19);
  std::set<std::string> functions;
  for (const FileReport& report : reports) {
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.elements == std::size_t{1} << 24);
    functions.insert(report.header.statement);
  }
  CHECK(functions.size() == 19);
  require_equal(reports);
}

TEST_CASE("a record that says otherwise differs, and one that is wrong is refused") {
  const auto golden = [](const std::string& name) { return golden_records::record_of(kRecording, name); };
  const std::string sum = "add.s32 d:T a:T b:T", sine = "sin.approx.f32 d:T a:T from 0x3f000000";
  json record = golden(sum);
  CHECK(verified(record).mismatches == 0);
  record["digests"][1] = "0123456789abcdef";
  const FileReport report = verified(record);
  CHECK(report.status == FileStatus::replayed);
  CHECK(report.mismatches == 1);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0] == fmt::format("cases 4096 to 5776: expected digest 0x0123456789abcdef, got 0x{}",
                                       golden(sum)["digests"][1].get<std::string>()));
  const Changed wrong[] = {
      {sum.c_str(), "operands", "d:T a:X b:T",
       "'operands': 'd:T a:X b:T' of 'add.s32'; expected those of an instruction"},
      {sum.c_str(), "operands", "d:T", "expected those of an instruction"},
      {sum.c_str(), "operands", "d:T a:T b:T #0x", "expected those of an instruction"},
      {sum.c_str(), "elements", 5776, "'elements': 5776; expected 5777, as its inputs have"},
      {sum.c_str(), "digests", json::array(), "'digests': 0; expected 2, as its inputs have"},
      {sum.c_str(), "first", 0, "'first': inputs of 'add.s32'; expected a form with one source, of 32 bits"},
      {sine.c_str(), "first", 4096, "'first': 0x1000; expected a multiple of 2^24 below 2^32"},
  };
  golden_records::require_refused(wrong, golden);
  for (const auto& [member, value, says] :
       {std::tuple("form", "sum.s32", "'sum' is not an instruction of this library"),
        {"operands", "d:T a.b0:T b:T", "d:T a.b0:T b:T"},
        {"operands", "d:T a:T b:T c:T", "d:T a:T b:T"}}) {
    json other = golden(sum);
    other[member] = value;
    const FileReport refused = verified(other);
    INFO(value);
    CHECK(refused.status == FileStatus::unsupported);
    REQUIRE(refused.error);
    CHECK_THAT(refused.error->message(), Catch::Contains(says));
  }
}

}  // namespace scalar_test
