// SPDX-License-Identifier: Apache-2.0
// Every capture is replayed to the bit, and the bits do not depend on the number of threads.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>  // getenv, exit
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "replay/loaded_capture.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/replay.hpp"

namespace replay_test {

using namespace warpbit;
namespace fs = std::filesystem;

constexpr int kNotRun = 77;

// "Not run" where WARPBIT_KERNEL names a kernel that exists, but not on this processor.
void need_kernel() {
  const char* wanted = std::getenv("WARPBIT_KERNEL");
  const Result<Kernel> chosen = chosen_kernel();
  if (chosen) return;
  for (const Kernel kernel : {Kernel::reference, Kernel::scalar, Kernel::avx2, Kernel::avx512, Kernel::neon}) {
    if (name(kernel) != wanted) continue;
    fmt::print("not run: {}\n", chosen.error().message());
    std::fflush(stdout);
    std::exit(kNotRun);
  }
  FAIL(chosen.error().message());
}

// Prints a line for each file that fails, and the total.
std::vector<FileReport> require_equal(const std::vector<fs::path>& folders, const ReplayOptions& options = {}) {
  need_kernel();
  const std::vector<FileReport> reports = replay_all(find_captures(folders), options);
  ReplayTotals totals;
  for (const FileReport& r : reports) {
    totals.add(r);
    if (r.error)
      fmt::print("{}: {}\n", r.path.string(), r.error->message());
    else if (r.mismatches)
      fmt::print("{}: {} mismatches in {} elements; {}\n", r.path.string(), r.mismatches, r.elements,
                 text(r.details.front()));
    CHECK(
        (r.status == FileStatus::replayed || (options.shard.count > 1 && r.status == FileStatus::other_shard)));
    CHECK(r.mismatches == 0);
  }
  fmt::print("{}\n", totals.text());
  REQUIRE(totals.files > 0);
  REQUIRE(totals.exit_status() == 0);
  return reports;
}

// "wmma.load" -> "wmma_load"
std::string folder_of(std::string_view family) {
  std::string out(family);
  std::ranges::replace(out, '.', '_');
  return out;
}

// The folders in an environment variable, separated by colons.
std::vector<fs::path> folders_in(const char* variable) {
  std::vector<fs::path> out;
  const char* value = std::getenv(variable);
  for (std::string_view rest = value ? value : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

TEST_CASE("every file in golden/ is replayed without a mismatch", "[golden]") {
  std::set<std::string> captured, known;
  for (const FileReport& r : require_equal({"golden"})) {
    INFO(r.path);
    const auto instruction = Instruction::parse(r.header.statement, *Target::find(r.header.target));
    REQUIRE(instruction.ok());
    captured.emplace(instruction->family());
    // golden/<target>/<family>/
    CHECK(r.path.parent_path().parent_path().filename() == r.header.target);
    CHECK(r.path.parent_path().filename() == folder_of(instruction->family()));
  }
  for (const FormInfo& form : forms())
    if (!form.family.starts_with("tcgen05")) known.emplace(form.family);
  // No GPU that has tensor memory or block scaling was at hand; the others have no results.
  for (const char* family : {"mma.block_scale", "mma.sp.block_scale", "wgmma.sync", "fence.proxy"})
    CHECK(known.erase(family) == 1);
  CHECK(captured == known);
}

TEST_CASE("one in 1024 digests of golden-digests/ is that of the inputs it names", "[digests]") {
  ReplayOptions options;
  options.shard = {1, 1024};
  for (const FileReport& r : require_equal({"golden-digests"}, options))
    CHECK(r.header.layout == CaptureLayout::digests);
}

TEST_CASE("what the manual leaves undefined is replayed as measured, on request", "[undefined]") {
  ReplayOptions options;
  options.undefined = Undefined::as_measured;
  require_equal({"golden-undefined"}, options);
  const std::vector<fs::path> folder{"golden-undefined"};
  for (const FileReport& r : replay_all(find_captures(folder))) {
    INFO(r.path);
    CHECK(r.status == FileStatus::unsupported);
    REQUIRE(r.error);
    CHECK(r.error->code == Errc::undefined_operand);
  }
}

TEST_CASE("so is every file in the folders of WARPBIT_GOLDEN_PATH", "[path]") {
  const std::vector<fs::path> folders = folders_in("WARPBIT_GOLDEN_PATH");
  if (folders.empty()) {
    fmt::print("not run: WARPBIT_GOLDEN_PATH names no folders\n");
    std::fflush(stdout);
    std::exit(kNotRun);
  }
  for (const fs::path& folder : folders) {
    fmt::print("{}\n", folder.string());
    require_equal({folder});
  }
}

// ---- Threads

std::vector<std::byte> results(const LoadedCapture& capture, int threads) {
  const Instruction& instruction = capture.instruction;
  const auto operands = instruction.operands();
  std::vector<OperandView> sources;
  for (std::size_t i = 0; i < capture.sources.size(); ++i)
    sources.push_back(OperandView::dense(capture.sources[i].data.data(), instruction.lanes(),
                                         operands[i + 1].registers, operands[i + 1].register_bits));
  std::vector<std::byte> d(capture.expected.data.size());
  const auto view =
      ResultView::dense(d.data(), instruction.lanes(), operands[0].registers, operands[0].register_bits);
  const auto done = execute_batch(instruction, sources, view, capture.cases, {.threads = threads});
  REQUIRE(done);
  return d;
}

TEST_CASE("the bits do not depend on the number of threads", "[threads]") {
  const std::vector<fs::path> golden{"golden"};
  const std::vector<fs::path> files = find_captures(golden);
  REQUIRE(!files.empty());
  for (std::size_t i = 0; i < files.size(); i += 8) {  // enough to meet every kind of step
    const Result<CaptureReader> reader = CaptureReader::open(files[i]);
    REQUIRE(reader);
    const Result<LoadedCapture> capture = load_capture(*reader, {});
    REQUIRE(capture);
    if (capture->header.layout == CaptureLayout::elements || capture->memory) continue;
    INFO(files[i]);
    const std::vector<std::byte> one = results(*capture, 1);
    CHECK(one == capture->expected.data);
    for (const int threads : {2, 5}) CHECK(results(*capture, threads) == one);
  }
}

}  // namespace replay_test
