// SPDX-License-Identifier: Apache-2.0
// What verifying each kind of record says. Values that a GPU left are those of golden/, or follow from the PTX manual alone.
#include "warpbit/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <span>

#include "golden_records.hpp"
#include "tool.hpp"

namespace verify_test {

using namespace warpbit;
using namespace recording_files;
using archive::Directory;
using Catch::Contains;

/// Records verified in a folder of their own.
struct Verified {
  Verified(const std::vector<json>& records, const Data& data, const VerifyOptions& options = {})
      : path(write_folder(directory.path / "recording", lines(records), data)),
        reports(verify_all(find_verifiable(std::span(&path, 1)), options)) {}

  const FileReport& only() const {
    REQUIRE(reports.size() == 1);
    return reports[0];
  }
  std::string notes(std::size_t i = 0) const {
    REQUIRE(i < reports.size());
    const FileReport& report = reports[i];
    return fmt::format("{}{}", fmt::join(report.notes, "\n"), report.error ? report.error->message() : "");
  }

  Directory directory;
  fs::path path;
  std::vector<FileReport> reports;
};

// p[0] = 7, p[1] += 1
const std::string kStores = kernel(
    "  mov.u32 %r1, 7;\n  st.global.u32 [%rd1], %r1;\n  ld.global.u32 %r2, [%rd1+4];\n"
    "  add.u32 %r2, %r2, 1;\n  st.global.u32 [%rd1+4], %r2;\n");
const json kOne = launch("one", list({pointer(0x1000)}), list({part("0x1000", 12, "before", "after")}));
const Data kOneData = {{"k.ptx", kStores}, {"before", words({1, 2, 3})}, {"after", words({7, 3, 3})}};

Data with(Data data, const std::string& name, const std::string& content) {
  for (auto& [known, bytes] : data)
    if (known == name) return bytes = content, data;
  data.emplace_back(name, content);
  return data;
}

TEST_CASE("a launch that leaves the bytes of the GPU is the same") {
  const Verified verified({kOne}, kOneData);
  const FileReport& report = verified.only();
  INFO(verified.notes());
  CHECK(report.status == FileStatus::replayed);
  CHECK((report.kind == "launch" && report.record == "one" && report.header.statement == "k"));
  CHECK((report.target == "sm_90a" && report.cases == 1 && report.elements == 12 && report.mismatches == 0));
  CHECK_FALSE(report.may_differ);
}

TEST_CASE("the first byte that differs is named") {
  const Verified verified({kOne}, with(kOneData, "after", words({7, 0x0102, 4})));
  CHECK(verified.only().status == FileStatus::replayed);
  CHECK(verified.only().mismatches == 3);
  CHECK(
      verified.notes() ==
      "at 0x1000: 3 of 12 bytes differ, the first is byte 4: expected 0x00000102, got 0x00000003\n"
      "the first store to the 4 bytes there: st.global.u32 [%rd1+4], %r2\n  k, block (0, 0, 0)\n  PTX line 15: warp 0, lane 0");
  json odd = kOne;
  odd["memory"] = list({part("0x1000", 13, "before", "after")});
  const Verified bytes(
      {odd}, {{"k.ptx", kStores}, {"before", words({1, 2, 3}) + "x"}, {"after", words({7, 3, 3}) + "y"}});
  CHECK(bytes.notes() == "at 0x1000: 1 of 13 bytes differ, the first is byte 12: expected 0x79, got 0x78");
}

TEST_CASE("memory without `after` is as before, and with null it is not compared") {
  json one = kOne;
  one["memory"] = list({part("0x1000", 12, "before", "")});
  CHECK(Verified({one}, kOneData).only().mismatches == 2);
  one["memory"] = list({part("0x1000", 12, "before", nullptr)});
  const Verified unknown({one}, kOneData);
  CHECK((unknown.only().mismatches == 0 && unknown.only().elements == 0));
}

TEST_CASE("memory that nobody has written is compared where the launch writes, and a use of it is a fault") {
  json one = launch("one", list({pointer(0x1000)}), list({part("0x1000", 8, "", "after")}));
  const Data data = {{"k.ptx", kernel("  st.global.u32 [%rd1], 7;\n")}, {"after", words({7, 99})}};
  const Verified written({one}, data);
  INFO(written.notes());
  CHECK((written.only().status == FileStatus::replayed && written.only().elements == 4));
  CHECK(written.only().mismatches == 0);
  const Verified used({one}, with(data, "k.ptx", kStores));
  CHECK(used.only().status == FileStatus::fault);
  CHECK_THAT(used.notes(), Contains("fault of the rule never_written"));
}

TEST_CASE("a launch that ends in a fault says which") {
  const Verified verified({kOne}, with(kOneData, "k.ptx", kernel("  st.global.u32 [%rd1+12], 7;\n")));
  CHECK(verified.only().status == FileStatus::fault);
  CHECK_THAT(verified.notes(), Contains("fault") && Contains("at 0x1000"));
}

TEST_CASE("a launch without PTX, or with a reason, cannot be reproduced") {
  json one = kOne, other = kOne;
  one.erase("module");
  other.update({{"name", "other"}, {"reason", "it needs a printer"}});
  const Verified verified({one, other}, kOneData);
  REQUIRE(verified.reports.size() == 2);
  for (const FileReport& report : verified.reports) CHECK(report.status == FileStatus::not_reproducible);
  CHECK(verified.notes(0) == "the recording has no PTX of it");
  CHECK(verified.notes(1) == "it needs a printer");
}

TEST_CASE("a launch with the handle of a texture or a surface cannot be reproduced") {
  for (const char* const access :
       {"tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r0}];", "suld.b.1d.b32.trap %r1, [%rd1, {%r0}];"}) {
    const Verified verified({kOne},
                            with(kOneData, "k.ptx", kernel(fmt::format("  mov.u32 %r0, 0;\n  {}\n", access))));
    INFO(verified.notes());
    CHECK(verified.only().status == FileStatus::not_reproducible);
    CHECK_THAT(verified.notes(),
               Contains("the recording has no textures and no surfaces: ") && Contains("0x1000 is no "));
  }
}

TEST_CASE("what PTX leaves open, or a second run left otherwise, may differ") {
  json one = kOne;
  one["stable"] = false;
  const Verified unstable({one}, with(kOneData, "after", words({7, 3, 4})));
  CHECK((unstable.only().may_differ && unstable.only().mismatches == 1));
  CHECK_THAT(unstable.notes(), Contains("a second run on the GPU left other bytes, too"));
  // 1 + 2^-24 + 2^-24 is 1 or 1 + 2^-23, as the threads come.
  one = launch("one", list({pointer(0x1000)}), list({part("0x1000", 4, "before", "after")}));
  one["block"] = {2, 1, 1};
  const Verified sum({one}, {{"k.ptx", kernel("  red.global.add.f32 [%rd1], 0f33800000;\n")},
                             {"before", words({0x3F80'0000})},
                             {"after", words({0x3F80'0001})}});
  INFO(sum.notes());
  CHECK(sum.only().status == FileStatus::replayed);
  CHECK((sum.only().may_differ && sum.only().mismatches == 1));
  CHECK_THAT(sum.notes(), Contains("order-dependent: line 11 red.global.add.f32 ("));
  ReplayTotals totals;
  totals.add(sum.only());
  CHECK((totals.exit_status() == 0 && totals.may_differ == 1 && totals.mismatches == 0));
}

TEST_CASE("variables of the module are set and compared") {
  std::string ptx = kernel("  ld.global.u32 %r1, [v];\n  add.u32 %r1, %r1, 1;\n  st.global.u32 [v], %r1;\n");
  ptx.insert(ptx.find(".visible .entry"), ".visible .global .u32 v;\n");
  json one = launch("one", list({pointer(0x1000)}), list({part("0x1000", 4, "before", "")}));
  one["variables"] = list({{{"name", "v"}, {"before", "before"}, {"after", "after"}}});
  const Data data = {{"k.ptx", ptx}, {"before", words({41})}, {"after", words({42})}};
  const Verified same({one}, data);
  INFO(same.notes());
  CHECK(
      (same.only().status == FileStatus::replayed && same.only().elements == 8 && same.only().mismatches == 0));
  CHECK_THAT(Verified({one}, with(data, "after", words({43}))).notes(),
             Contains("v: 1 of 4 bytes differ, the first is byte 0: expected 0x0000002b, got 0x0000002a"));
  one["variables"][0]["name"] = "w";
  CHECK(Verified({one}, data).only().status == FileStatus::unreadable);
}

TEST_CASE("records that fit no data, kernel, kind or target are unreadable or unsupported") {
  struct Case {
    const char* member;
    json value;
    FileStatus status;
    const char* says;
  };
  const Case cases[] = {
      {"memory", list({part("0x1000", 16, "before", "after")}), FileStatus::unreadable,
       "line 2: at 0x1000: data 'before' of 12 bytes; expected 16 bytes"},
      {"memory", list({part("0x1000", 12, "nothing", "after")}), FileStatus::unreadable, "nothing"},
      {"memory", list({part("0x1000", 12, "../after", "after")}), FileStatus::unreadable,
       "data '../after'; expected a name of letters"},
      {"module", "before", FileStatus::unsupported, "line 1, column 1: byte 0x01"},
      {"entry", "no_such_kernel", FileStatus::unreadable, "no_such_kernel"},
      {"kind", "dance", FileStatus::unreadable,
       "line 2: 'kind': 'dance'; expected launch, product, generated_product, reduction, copy"},
      {"target", "sm_12", FileStatus::unsupported, "sm_12"},
      {"parameters", json::array(), FileStatus::unreadable, "argument"},
  };
  for (const Case& c : cases) {
    json one = kOne;
    one[c.member] = c.value;
    const Verified verified({one}, kOneData);
    INFO(c.member << ": " << c.value.dump() << "\n" << verified.notes());
    CHECK(name(verified.only().status) == name(c.status));
    REQUIRE(verified.only().error);
    CHECK_THAT(verified.notes(), Contains(c.says));
  }
}

// ---- Products

// 16 products of 1 and 1 are 16 in any order.
TEST_CASE("a product that a library computed comes out in an order that explains D") {
  std::string ones, d;
  for (int i = 0; i < 16 * 16; ++i) ones += std::string("\x00\x3C", 2);
  for (int i = 0; i < 16 * 8; ++i) d += words({0x4180'0000});
  const Verified verified({product()}, {{"ones", ones}, {"d", d}});
  INFO(verified.notes());
  CHECK((verified.only().status == FileStatus::replayed && verified.only().mismatches == 0));
  CHECK((verified.only().elements == 128 && verified.only().header.statement == "mm"));
  CHECK_THAT(verified.notes(), Contains("found from D"));
  const Verified other({product()}, {{"ones", ones}, {"d", words({0x4180'0001}) + d.substr(4)}});
  CHECK(other.only().status == FileStatus::not_reproducible);
  CHECK(other.notes() == "no order of the sum that is known gives D");
  CHECK_THAT(Verified({product()}, {{"ones", "xx"}, {"d", d}}).notes(),
             Contains("line 2: a: data of 2 bytes; expected at least 512 bytes, for an element or more"));
}

TEST_CASE("a product with generated operands is compared element by element, and by its digest") {
  const json one = golden_records::record_of("golden/products/sm_90a.jsonl", "mm.f16.f16 NN 16x16x16");
  const Verified same({one}, {});
  INFO(same.notes());
  CHECK((same.only().status == FileStatus::replayed && same.only().mismatches == 0 &&
         same.only().elements == 1024));
  json wrong = one;
  std::string d = wrong["runs"][0]["d"];
  d[3] = d[3] == '5' ? '6' : '5';
  wrong["runs"][0].update({{"d", d}, {"digest", "0123456789abcdef"}});
  const Verified differs({wrong}, {});
  CHECK(differs.only().mismatches == 2);
  CHECK_THAT(
      differs.notes(),
      Contains(fmt::format("plain: item 0 row 0 column 0: expected 0x{}, got 0xcd04", d.substr(0, 4))) &&
          Contains("plain: the digest of D differs: expected 0x0123456789abcdef, got 0x111a34df3c4f0d56"));
  const Wrong cases[] = {
      {"op", "gemm", "'op': 'gemm'; expected mm, bmm, addmm, bias, scaled_mm, int_mm"},
      {"a", "f17", "'a': 'f17'; expected f16, bf16, f32, e4m3, e5m2, s8 or s32"},
      {"k", 0, "'k': 0; expected a number from 1 to 2^31 - 1"},
      {"m", 1ULL << 40, "'m': 1099511627776; expected a number from 1 to 2^31 - 1"},
      {"rows", list({16}), "'rows': 16; expected numbers below 16"},
      {"rows", list({1}), "'runs' 0: 'd': '"},
      {"scales", "some", "'scales': 'some'; expected , one, scalar, rows, blocks, strips"},
      {"runs", list({{{"profile", "wild"}}}), "'runs' 0: 'profile': 'wild'; expected plain, mirrored, ones"},
  };
  for (const auto& [member, value, message] : cases) {
    json malformed = one;
    malformed[member] = value;
    const Verified verified({malformed}, {});
    INFO(message);
    CHECK(verified.only().status == FileStatus::unreadable);
    CHECK_THAT(verified.notes(), Contains(message));
  }
}

// ---- Whole programs

// The second launch finds what the first one left.
std::vector<json> two_launches() {
  json second = kOne;
  second.update({{"name", "two"}, {"memory", list({part("0x1000", 12, "after", "last")})}});
  return {kOne, second};
}
const Data kTwoData = with(kOneData, "last", words({7, 4, 3}));

VerifyOptions whole() {
  VerifyOptions out;
  out.whole = true;
  return out;
}

TEST_CASE("as a whole each record finds what those before it have left here") {
  for (const VerifyOptions& options : {VerifyOptions(), whole()})
    for (const FileReport& report : Verified(two_launches(), kTwoData, options).reports)
      CHECK((report.status == FileStatus::replayed && report.mismatches == 0));
  // The first one leaves something else than the GPU did: by itself the second does not show it.
  const Data wrong = with(with(kTwoData, "after", words({7, 13, 3})), "last", words({7, 14, 3}));
  const Verified apart(two_launches(), wrong), together(two_launches(), wrong, whole());
  CHECK((apart.reports[0].mismatches == 1 && apart.reports[1].mismatches == 0));
  CHECK((together.reports[0].mismatches == 1 && together.reports[1].mismatches == 1));
  CHECK_THAT(together.notes(1), Contains("byte 4: expected 0x0000000e, got 0x00000004"));
}

TEST_CASE("as a whole, bytes that something unrecorded has changed come from the recording, if they are used") {
  Data data = with(kTwoData, "found", words({7, 50, 3}));
  std::vector<json> records = two_launches();
  records[1]["memory"][0]["before"] = "found";
  data = with(data, "last", words({7, 51, 3}));
  const Verified verified(records, data, whole());
  CHECK((verified.reports[1].status == FileStatus::replayed && verified.reports[1].mismatches == 0));
  CHECK_THAT(verified.notes(1), Contains("it uses bytes that something which is not recorded has changed"));
  records.insert(records.begin() + 1,
                 json{{"kind", "copy"}, {"name", "fill"}, {"to", "0x1004"}, {"bytes", 4}, {"data", "fifty"}});
  const Verified copied(records, with(data, "fifty", words({50})), whole());
  REQUIRE(copied.reports.size() == 3);
  CHECK(copied.reports[1].status == FileStatus::replayed);
  CHECK((copied.reports[2].mismatches == 0 && copied.notes(2).empty()));
}

// ---- Two recordings

RecordingComparison compared(const std::vector<json>& first, const Data& first_data,
                             const std::vector<json>& second, const Data& second_data) {
  const Directory directory;
  return required(compare_recordings(
      required(Recording::open(write_folder(directory.path / "x", lines(first), first_data))),
      required(Recording::open(write_folder(directory.path / "y", lines(second), second_data)))));
}

TEST_CASE("two recordings of one program: what is the same, and where they part") {
  const RecordingComparison same = compared(two_launches(), kTwoData, two_launches(), kTwoData);
  CHECK((same.same == 2 && same.differences.empty() && same.parting() == nullptr));
  const Data wrong = with(with(kTwoData, "after", words({7, 13, 3})), "last", words({7, 14, 3}));
  const RecordingComparison other = compared(two_launches(), kTwoData, two_launches(), wrong);
  CHECK(other.same == 0);
  REQUIRE(other.differences.size() == 2);
  REQUIRE(other.parting() == &other.differences[0]);
  CHECK((other.differences[0].same_inputs && other.differences[0].same_code &&
         !other.differences[1].same_inputs));
  const std::string said = fmt::format("{}", fmt::join(other.differences[0].lines, "\n"));
  CHECK_THAT(said, Contains("after it, at 0x1000: 1 of 12 bytes differ, the first is byte 4: 0x03 and 0x0d") &&
                       Contains("the first recording has the bytes that its PTX has here on sm_90a") &&
                       Contains("the second recording has bytes that its PTX does not have here"));
  CHECK_THAT(fmt::format("{}", fmt::join(other.differences[1].lines, "\n")),
             Contains("before it, at 0x1000: 1 of 12"));
  const RecordingComparison fewer = compared(two_launches(), kTwoData, {kOne}, kOneData);
  REQUIRE(fewer.differences.size() == 1);
  CHECK((fewer.differences[0].first == "two" && fewer.differences[0].second.empty()));
  CHECK(fewer.differences[0].lines == std::vector<std::string>{"only the first recording has it"});
}

// ---- The command

TEST_CASE("verify says of each record what came out, as text, JSON and JUnit") {
  json faulty = kOne, bare = kOne, different = kOne;
  faulty.update({{"name", "faulty"}, {"module", "bad.ptx"}});
  bare.update({{"name", "bare"}, {"reason", "no PTX & no <source>"}});
  different.update({{"name", "different"}, {"memory", list({part("0x1000", 12, "before", "before")})}});
  const Directory directory;
  const fs::path path = write_folder(directory.path / "r", lines({kOne, faulty, bare, different}),
                                     with(kOneData, "bad.ptx", kernel("  st.global.u32 [%rd1+12], 7;\n")));
  const std::string junit = (directory.path / "junit.xml").string();
  const tool::Output text = tool::run({"verify", path.string(), "--junit", junit});
  CHECK(text.status == 1);
  CHECK_THAT(text.out, Contains(path.string() + ": one: launch k on sm_90a: the same 12 bytes\n") &&
                           Contains(": faulty: launch k on sm_90a: a fault\n") &&
                           Contains(": bare: launch k on sm_90a: not reproducible\n  no PTX & no <source>\n") &&
                           Contains(": different: launch k on sm_90a: 2 of 12 bytes differ\n"));
  CHECK_THAT(
      text.lines().back(),
      Catch::StartsWith(
          "total: 4 files, 3 cases, 24 elements, 2 mismatches, 0 unsupported, 0 unreadable, 4 of the files "
          "records of recordings, 1 with a fault, 1 not reproducible"));
  const std::string xml = archive::bytes_of(junit);
  CHECK_THAT(
      xml,
      Contains("<testsuite name=\"warpbit verify\" tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\">") &&
          Contains("name=\"one\"/>") && Contains("name=\"faulty\"><failure message=\"fault") &&
          Contains("name=\"bare\"><skipped message=\"no PTX &amp; no &lt;source&gt;\"/>") &&
          Contains("name=\"different\"><failure message=\""));
  const tool::Output as_json = tool::run({"verify", path.string(), "--json"});
  const json parsed = json::parse(as_json.out);
  REQUIRE(parsed["files"].size() == 4);
  CHECK((parsed["files"][0]["record"] == "one" && parsed["files"][0]["kind"] == "launch"));
  CHECK((parsed["files"][1]["status"] == "fault" && parsed["total"]["records"] == 4));
}

TEST_CASE("verify --against and --whole are commands, too") {
  const Directory directory;
  const std::string x = write_folder(directory.path / "x", lines(two_launches()), kTwoData).string(),
                    y = write_folder(directory.path / "y", lines(two_launches()),
                                     with(kTwoData, "last", words({7, 5, 3})))
                            .string();
  CHECK(tool::run({"verify", "--whole", "--quiet", x}).status == 0);
  CHECK_THAT(tool::run({"verify", "--whole", "--shard", "1/2", x}).err,
             Contains("--whole: a shard; expected no --shard"));
  const tool::Output same = tool::run({"verify", x, "--against", x}),
                     other = tool::run({"verify", x, "--against", y});
  CHECK((same.status == 0 && same.out == "total: 2 records are the same in both, 0 are not\n"));
  CHECK(other.status == 1);
  CHECK_THAT(other.out, Contains("two and two (launch k): here the two part\n") &&
                            Contains("total: 1 records are the same in both, 1 are not\n"));
  CHECK_THAT(tool::run({"verify", (directory.path / "none.zip").string()}).out,
             Contains("none.zip: unreadable: "));
}

}  // namespace verify_test
