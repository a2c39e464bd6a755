// SPDX-License-Identifier: Apache-2.0
// tools/capture's program: what it refuses, and what it records on a driver without a GPU.
#include <catch2/catch.hpp>
#include <set>

#include "../tools/capture/blocks.hpp"
#include "capture_program.hpp"
#include "npz.hpp"
#include "warpbit/capture.hpp"
#include "warpbit/replay.hpp"

namespace capture_program_test {

using namespace warpbit;
using archive::Directory;
using capture_program::files_under;
using capture_program::kernels;
using capture_program::run;
using Catch::Contains;
using Catch::Matchers::Equals;
namespace fs = std::filesystem;

// A folder with a kernels file in it.
struct Bench {
  Directory directory;
  fs::path file = directory.path / "kernels", out = directory.path / "out";
  std::string target;

  Bench(std::string target_name, const std::string& forms) : target(std::move(target_name)) {
    tool::write(file, kernels(target, forms));
  }

  tool::Output record(std::vector<std::string> options, const std::string& settings = "") const {
    const std::vector<std::string> where = {"--kernels", file.string(), "--out", out.string()};
    options.insert(options.begin(), where.begin(), where.end());
    return run(options, capture_program::gpu_of(target) + " " + settings);
  }
  std::vector<FileReport> replayed() const { return replay_all(files_under(out)); }
};

// ---- What is refused

constexpr const char* kOneForm = "^mma.sync.aligned.m16n8k8.row.col.f32.f16";

TEST_CASE("options that are none, and values that do not fit, are refused by name") {
  const Bench bench("sm_90a", kOneForm);
  const auto refused = [&](const std::vector<std::string>& options, const std::string& message) {
    const tool::Output said = bench.record(options);
    INFO(tool::shell_words(options));
    CHECK(said.status == 2);
    CHECK_THAT(said.err, Contains("capture: " + message));
    CHECK(said.out.empty());
    CHECK(files_under(bench.out).empty());
  };
  refused({"--frobnicate"}, "'--frobnicate' is no option\nusage: capture ");
  refused({"mma"}, "'mma' is no option\nusage: ");
  refused({"--seed"}, "--seed needs a value\nusage: ");
  refused({"--seed", "one"}, "--seed: 'one'; expected a number, 0 or more");
  refused({"--seed", "1x"}, "--seed: '1x'; expected a number, 0 or more");
  refused({"--seed", "18446744073709551616"}, "--seed: '18446744073709551616'; expected ");
  refused({"--device", "-1"}, "--device: '-1'; expected a number, 0 or more");
  refused({"--cases", "0"}, "--cases: 0; expected a number, 1 or more");
  refused({"--elements", "0"}, "--elements: 0; expected a number, 1 or more");
  refused({"--profile", "odd"}, "--profile: 'odd'; expected one of uniform, ordinary, narrow, wide, ");
  refused({"--cases", "1", "--elements", "1"},
          "of --elements, --exhaustive and (--cases, --first-case) one at ");
  refused({"--exhaustive", "--first-case", "0"}, "of --elements, --exhaustive and ");
  refused({"--forms", "("}, "--forms: '(' (");
  refused({"--forms", "wgmma"}, "'wgmma' is in no statement of ");
  refused({"--generator", "no/such.ptx"}, "no/such.ptx: cannot be read");

  CHECK_THAT(run({}).err, Contains("capture: --kernels is missing\nusage: "));
  CHECK(run({}).status == 2);
  const tool::Output missing = run({"--kernels", "no/such/file"});
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, Equals("capture: no/such/file: cannot be read\n"));
}

TEST_CASE("--help and --list need no GPU") {
  const Bench bench("sm_90a", kOneForm);
  const tool::Output help = run({"--help"}, "");
  CHECK(help.status == 0);
  CHECK_THAT(help.out, Contains("usage: capture --kernels FILE") && Contains("--profile NAME"));
  const tool::Output list = bench.record({"--list"});
  CHECK(list.status == 0);
  CHECK_THAT(list.out, Equals("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};\n"));
}

TEST_CASE("a kernels file that is none is refused by its line") {
  const Bench bench("sm_90a", kOneForm);
  const std::string good = archive::bytes_of(bench.file);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& message) {
    std::string bad = good;
    REQUIRE(bad.find(from) != bad.npos);
    bad.replace(bad.find(from), from.size(), to);
    tool::write(bench.file, bad);
    INFO(to);
    const tool::Output said = bench.record({"--list"});
    CHECK(said.status == 2);
    CHECK_THAT(said.err, Contains(message));
  };
  refused("kernels 1", "kernels 2", "kernels:1: a format that is not read here; expected kernels 1");
  refused("target sm_90a\n", "", "kernels:2: 'set'; expected target ...");
  refused("\nlanes 32", "\nlanes x", "'x'; expected a number");
  refused("\nmember ", "\nmembre ", "'membre'; expected form, statement, file, ");
  refused("\nfill ", "\nfill colour=1 ", "expected numbers of a member");
  refused("\nresult d 4 32 32 4", "",
          "the block of mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, "
          "{b}, {c}; is not complete");
  refused("\nptx ", "\nptx 9", "the end of the file; expected ");
}

TEST_CASE("kernels of another target do not run on a GPU") {
  const Bench bench("sm_90a", kOneForm);
  for (const char* other : {"80", "89", "100"}) {
    const tool::Output said = run({"--kernels", bench.file.string(), "--out", bench.out.string()},
                                  std::string("FAKE_CAPABILITY=") + other);
    CHECK(said.status == 2);
    CHECK_THAT(said.err,
               Contains(std::string("kernels of sm_90a do not run on Fake \"GPU\" (sm_") + other + ")"));
  }
}

TEST_CASE("a GPU that no target is for answers the kernels of one before it, under its own name") {
  const Bench bench("sm_90", kOneForm);
  const tool::Output said =
      run({"--kernels", bench.file.string(), "--out", bench.out.string()}, "FAKE_CAPABILITY=129");
  INFO(said.err);
  CHECK(said.status == 0);
  const std::vector<fs::path> files = files_under(bench.out);
  REQUIRE(files.size() == 1);
  CHECK_THAT(files[0].string(), Contains("/sm_129/mma/"));
  const FileReport under_its_own = replay(files[0]);
  CHECK(under_its_own.status == FileStatus::unreadable);
  REQUIRE(under_its_own.error);
  CHECK_THAT(under_its_own.error->message(), Contains("'sm_129' is not a known target; known are sm_70, "));
  ReplayOptions options;
  options.target = *Target::find("sm_90");
  const FileReport as_sm_90 = replay(files[0], options);
  CHECK(as_sm_90.status == FileStatus::replayed);
  CHECK(as_sm_90.elements > 0);
  CHECK(as_sm_90.mismatches == 0);
}

// ---- What is recorded

struct Selection {
  const char *target, *forms;
  std::size_t families;
};
// Every family, with all kinds of members.
constexpr Selection kSelections[] = {
    {"sm_90a",
     "^(mma.sync.aligned.(m16n8k8.row.col.f32.tf32|m8n8k4.row.col.f64|m16n8k16.row.col.s32.s8)|"
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.bf16|"
     "wmma.load.a.sync.aligned.row.m8n32k16.*u8|wmma.store.d.sync.aligned.col.m16n16k16.shared.f16|"
     "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32|"
     "ldmatrix.*x2.trans.shared.b16|stmatrix.*x4.shared.b16|movmatrix|cvt.rn.satfinite.e4m3x2.f32|cvt.rn.f16."
     "f32|"
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16|wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e4m3.e5m2)",
     11},
    {"sm_120a",
     "^(mma.sync.*m16n8k64.*mxf4nvf4.*4X.*ue4m3|mma.sp::ordered.*m16n8k64.*mxf8f6f4.*e2m1.e3m2|"
     "cvt.*e2m1x2|cvt.rs.*e4m3x4)",
     3},
};

TEST_CASE("captures of every family replay without a mismatch", "[once]") {
  for (const Selection& selection : kSelections) {
    const Bench bench(selection.target, selection.forms);
    const tool::Output listed = bench.record({"--list"}), said = bench.record({"--cases", "3"});
    INFO(said.out << said.err);
    CHECK(said.status == 0);
    const std::size_t statements = listed.lines().size();
    CHECK_THAT(said.out, Contains("total: " + std::to_string(statements) + " statements, " +
                                  std::to_string(statements) + " recorded, 0 failed\n"));
    const std::vector<FileReport> reports = bench.replayed();
    CHECK(reports.size() == statements);
    std::set<std::string> families;
    for (const FileReport& report : reports) {
      INFO(report.path);
      families.insert(report.path.parent_path().filename().string());
      CHECK(report.status == FileStatus::replayed);
      CHECK(report.cases == 3);
      CHECK(report.elements > 0);
      CHECK(report.mismatches == 0);
      CHECK(report.notes.empty());
      CHECK(report.target == selection.target);
      CHECK(report.header.source == CaptureSource::hardware);
      CHECK_THAT(report.header.provenance, Contains(R"("device": "Fake \"GPU\"")") &&
                                               Contains(R"("driver": "CUDA 13.0")") &&
                                               Contains(R"("seed": 1, "profile": "mixed", "first_case": 0)"));
    }
    CHECK(families.size() == selection.families);
  }
}

TEST_CASE("digests of every family are those of the inputs that verify makes", "[once]") {
  for (const Selection& selection : kSelections) {
    const Bench bench(selection.target, selection.forms);
    const tool::Output said =
        bench.record({"--first", "--elements", "9000", "--seed", "77", "--profile", "alignment"});
    INFO(said.out << said.err);
    CHECK(said.status == 0);
    const std::vector<FileReport> reports = bench.replayed();
    CHECK(reports.size() >= selection.families);
    for (const FileReport& report : reports) {
      INFO(report.path);
      CHECK_THAT(report.path.string(), Catch::EndsWith(".alignment.digests.npz"));
      CHECK(report.header.layout == CaptureLayout::digests);
      CHECK(report.status == FileStatus::replayed);
      CHECK(report.elements >= 9000);
      CHECK(report.mismatches == 0);
    }
  }
}

TEST_CASE("all inputs of conversions, and of nothing else") {
  const Bench bench("sm_90a", "^(cvt.rn.f16x2.e5m2x2|movmatrix)");
  const tool::Output said = bench.record({"--exhaustive"});
  INFO(said.err);
  CHECK(said.status == 0);
  const std::vector<FileReport> reports = bench.replayed();
  REQUIRE(reports.size() == 1);
  CHECK_THAT(reports[0].path.string(), Catch::EndsWith(".exhaustive.digests.npz"));
  CHECK(reports[0].status == FileStatus::replayed);
  CHECK(reports[0].cases == 65536);
  CHECK(reports[0].mismatches == 0);
  const tool::Output none = bench.record({"--exhaustive", "--forms", "movmatrix"});
  CHECK(none.status == 0);
  CHECK_THAT(none.out, Equals("total: 0 statements, 0 recorded, 0 failed\n"));
}

TEST_CASE("digests are joined until few enough are left") {
  const auto joined = [](std::vector<std::uint64_t> digests, std::size_t most) {
    const std::uint64_t of_block = capture::join_blocks(digests, 10, most);
    return std::pair(of_block, digests);
  };
  using Digests = std::vector<std::uint64_t>;
  const Digests five = {1, 20, 300, 4000, 50000};
  CHECK(joined(five, 5) == std::pair(std::uint64_t{10}, five));
  CHECK(joined(five, 4) == std::pair(std::uint64_t{20}, Digests{21, 4300, 50000}));
  CHECK(joined(five, 2) == std::pair(std::uint64_t{40}, Digests{4321, 50000}));
  CHECK(joined(five, 1) == std::pair(std::uint64_t{80}, Digests{54321}));
  CHECK(joined({UINT64_MAX, 2}, 1) == std::pair(std::uint64_t{20}, Digests{1}));
}

// A digest that does not agree; `verify --bisect` computes its block, --first-case records it.
void check_block(const Bench& bench, const fs::path& digests, std::uint64_t block, std::uint64_t cases) {
  // The array of digests ends the file's data.
  std::string bytes = archive::bytes_of(digests);
  const std::size_t begin = bytes.find("digest.npy") + 10, end = bytes.find("PK\1\2");
  bytes[end - (3 - block) * sizeof(std::uint64_t)] ^= 1;
  const fs::path other = bench.directory.path / "other.npz";
  tool::write(other, archive::patched(bytes, "digest.npy", archive::kCrc,
                                      npz::crc32(std::string_view(bytes).substr(begin, end - begin))));
  ReplayOptions options;
  options.block_folder = bench.directory.path;
  const FileReport report = replay(other, options);
  REQUIRE(report.status == FileStatus::replayed);
  REQUIRE(report.mismatches == 1);
  CHECK(report.details.at(0).index == 4096 * block);
  CHECK(report.details.at(0).cases == cases);

  const std::string first = std::to_string(4096 * block);
  REQUIRE(bench.record({"--first-case", first, "--cases", std::to_string(cases)}).status == 0);
  fs::path again = digests;
  again.replace_filename("movmatrix_sync_aligned_m8n8_trans_b16.case" + first + ".npz");
  const FileReport recorded = replay(again);
  CHECK(recorded.status == FileStatus::replayed);
  CHECK(recorded.cases == cases);
  CHECK(recorded.mismatches == 0);
  const Result<DiffReport> compared = diff(again, bench.directory.path / ("other.case" + first + ".npz"));
  INFO((compared ? "" : compared.error().message()));
  REQUIRE(compared.ok());
  CHECK(compared->cases == cases);
  CHECK(compared->differences == 0);
}

TEST_CASE("a block whose digest differs is recorded again by its first case") {
  const Bench bench("sm_90a", "^movmatrix");
  REQUIRE(bench.record({"--elements", "300000"}).status == 0);  // 9375 cases
  const std::vector<fs::path> files = files_under(bench.out);
  REQUIRE(files.size() == 1);
  REQUIRE(replay(files[0]).mismatches == 0);
  check_block(bench, files[0], 1, 4096);
  check_block(bench, files[0], 2, 9375 - 2 * 4096);
}

// ---- What fails

TEST_CASE("a statement that fails ends only itself") {
  const Bench bench("sm_90a", "^mma.sync.aligned.m16n8k8.row.col.f(16|32)");
  const std::vector<std::string> statements = bench.record({"--list"}).lines();
  REQUIRE(statements.size() == 4);
  const auto failing = [&](const std::string& how, std::size_t which, const std::string& why) {
    const std::string& statement = statements[which];
    const std::string form = statement.substr(0, statement.find(' '));
    const tool::Output said =
        bench.record({"--cases", "2"}, "FAKE_DRIVER=" + how + " FAKE_STATEMENT='" + form + "'");
    INFO(how << " " << form << "\n" << said.out << said.err);
    CHECK(said.status == 1);
    CHECK_THAT(said.out, Contains("FAILED " + statement + "\n  " + why) &&
                             Contains("total: 4 statements, 3 recorded, 1 failed\n"));
    CHECK(bench.replayed().size() == 3);
    for (const FileReport& report : bench.replayed()) {
      CHECK(report.status == FileStatus::replayed);
      CHECK(report.mismatches == 0);
      CHECK(report.header.statement != statement);
    }
    fs::remove_all(bench.out);
  };
  for (const std::size_t which : {0U, 1U, 3U}) {
    failing("refuse", which,
            "the driver does not load it: CUDA_ERROR_FAKE, what FAKE_DRIVER asked for\nno such module");
    failing("launch", which, "cuLaunchKernel: CUDA_ERROR_FAKE, what FAKE_DRIVER asked for");
    failing("die", which, "the process that ran it died");
    failing("noise", which, "two runs on the same inputs returned different bits");
  }
  const tool::Output none = bench.record({}, "FAKE_DRIVER=die FAKE_STATEMENT=mma");
  CHECK(none.status == 1);
  CHECK_THAT(none.out, Contains("total: 4 statements, 0 recorded, 4 failed\n"));
  CHECK(files_under(bench.out).empty());
}

}  // namespace capture_program_test
