// SPDX-License-Identifier: Apache-2.0
// Probes recorded by the capture program on a driver without a GPU: that each code comes to its place, and D
// from there. The results are those of the library, so that any other place shows.
#include <catch2/catch.hpp>
#include <regex>

#include "capture_program.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"

namespace probe_capture_test {

using namespace warpbit;
namespace fs = std::filesystem;

using capture_program::kernels;

// The program's exit status; what it says goes to `said`.
int capture(const std::string& target, const fs::path& kernels, const fs::path& out, std::string& said) {
  const tool::Output done = capture_program::run(
      {"--probes", "--kernels", kernels.string(), "--out", out.string(), "--target", target},
      capture_program::gpu_of(target));
  said = done.out + done.err;
  return done.status;
}

void check_recorded(const std::string& target, const std::string& pattern) {
  INFO(target << ": " << pattern);
  const std::regex regex(pattern);
  const auto files = std::ranges::count_if(forms(), [&](const FormInfo& form) {
    return std::regex_search(form.canonical, regex) &&
           std::ranges::find(form.targets, Target::find(target).value()) != form.targets.end();
  });
  REQUIRE(files > 0);
  const archive::Directory directory;
  const fs::path file = directory.path / "kernels", out = directory.path / "out";
  std::ofstream(file, std::ios::binary) << kernels(target, pattern);
  std::string said;
  REQUIRE(capture(target, file, out, said) == 0);
  const std::vector<FileReport> reports = replay_all(find_captures(std::vector<fs::path>{out}));
  CHECK(reports.size() == static_cast<std::size_t>(files));
  for (const FileReport& report : reports) {
    INFO(report.path);
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.header.layout == CaptureLayout::elements);
    CHECK(report.cases >= 2);
    CHECK(report.mismatches == 0);
    CHECK(report.notes.empty());
  }
}

TEST_CASE("probes are recorded where the statement has them") {
  check_recorded("sm_90a", "^mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2");
  check_recorded("sm_90a", "^mma.sync.aligned.m8n8k4");
}

TEST_CASE("probes of every other kind of form are, too", "[once]") {
  check_recorded("sm_90a", "^mma.sync.aligned.m16n8k(8|16).row.col.f(16|32).(f16|tf32)");
  check_recorded("sm_90a", "^mma.sync.aligned.m8n8k(32|128)");
  check_recorded("sm_90a", "^mma.sp.*m16n8k(16|32|64).*(f32.f16|f32.tf32|f32.e4m3.e5m2|s32.s8.u8|s32.s4.s4)");
  check_recorded("sm_90a", "^wmma.mma.*row.col.m(16n16k16|8n32k16|16n16k8|8n8k)");
  check_recorded("sm_90a", "^wgmma.mma_async.*m64n24k.*(f16.f16.f16|f32.tf32|f32.e4m3.e5m2|s32.s8.u8|b1)");
  check_recorded("sm_120a", "block_scale.*(e2m1.e2m1|e4m3.e5m2)");
}

TEST_CASE("a kernels file whose probes do not fit is refused") {
  const std::string good = kernels("sm_90a", "^mma.sync.aligned.m16n8k8.row.col.f32.f16");
  const archive::Directory directory;
  const fs::path file = directory.path / "kernels", out = directory.path / "out";
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& message) {
    std::string bad = good;
    REQUIRE(bad.find(from) != bad.npos);
    bad.replace(bad.find(from), from.size(), to);
    std::ofstream(file, std::ios::binary) << bad;
    std::string said;
    INFO(to);
    CHECK(capture("sm_90a", file, out, said) == 2);
    CHECK(said.find(message) != said.npos);
  };
  refused("\nset ", "\nset 0", "there is no set ");
  refused("\nplaces b b", "\nplaces z b", "a place in z that is not there");
  refused("\nplace d d 32 0", "\nplace d d 32 4090", "a place in d that is not there");
  refused("\nplace d d 32 0", "", "d has no place");
  refused("\ncodes a ", "\ncodes z ", "a code of z without a place");
  refused("\ncodes a 0:", "\ncodes a 8:", "a code of a without a place");
  refused("\ncodes a 0:", "\ncodes a 0:x", "expected a number in hex");
  refused("\nset ", "\nprobe x\nset ", "expected set before it");
}

}  // namespace probe_capture_test
