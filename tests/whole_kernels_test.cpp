// SPDX-License-Identifier: Apache-2.0
// Whole kernels, PTX as compilers made it, leave in memory what they left in a GPU's: every byte of every output.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cstdlib>  // getenv
#include <cstring>
#include <set>
#include <span>

#include "tool.hpp"
#include "warpbit/verify.hpp"

namespace whole_kernels_test {

using namespace warpbit;
namespace fs = std::filesystem;

constexpr const char* kConverter = "tests/launch_recordings.py";

/// That every record is executed and leaves all that the GPU left. Without checks of shared memory other functions execute some
/// instructions. The number of bytes.
std::uint64_t require_equal(std::span<const Verifiable> launches, bool checks) {
  VerifyOptions options;
  options.how.check_shared = checks;
  std::uint64_t bytes = 0;
  for (const FileReport& report : verify_all(launches, options)) {
    INFO(report.path.string() << ", " << report.record << (checks ? "" : ", unchecked"));
    INFO((report.error ? report.error->message() : ""));
    INFO(fmt::format("{}", fmt::join(report.notes, "\n")));
    CHECK(report.kind == "launch");
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    CHECK(report.elements > 0);
    bytes += report.elements;
  }
  return bytes;
}

/// The number of launches, all of which are equal.
std::size_t require_all_equal(const fs::path& root) {
  const std::vector<Verifiable> launches = find_verifiable(std::span(&root, 1));
  std::set<std::string> kernels;
  for (const Verifiable& one : launches) {
    REQUIRE(one.recording);
    const std::string& name = one.record().name;
    kernels.insert(name.substr(0, name.find('.')));  // "scan.fmad_false" is a launch of "scan"
  }
  const std::uint64_t bytes = require_equal(launches, true);
  (void)require_equal(launches, false);
  fmt::print("{}: {} kernels, {} launches, {} bytes\n", root.string(), kernels.size(), launches.size(), bytes);
  return launches.size();
}

TEST_CASE("every kernel in golden/kernels/ leaves what a GPU left", "[golden]") {
  CHECK(require_all_equal("golden/kernels") == 76);
}

/// The same of launches that lie in folders.
void require_folders_equal(const fs::path& root) {
  const std::string python = tool::find_command({"python3", "/usr/bin/python3"}, "-c 'import numpy'");
  if (python.empty()) tool::not_run("needs python3 with NumPy");
  const tool::Directory directory;
  const fs::path recording = directory.path / "launches.zip";
  const tool::Output made =
      tool::shell(fmt::format("{} {} {} {}", python, kConverter, tool::shell_word(root.string()),
                              tool::shell_word(recording.string())));
  INFO(made.err);
  REQUIRE(made.status == 0);
  const std::size_t launches = require_all_equal(recording);
  CHECK(launches > 0);
  CHECK(made.out == fmt::format("{} launches\n", launches));
}

TEST_CASE("so do those beside the captures of WARPBIT_GOLDEN_PATH", "[path]") {
  const char* const folders = std::getenv("WARPBIT_GOLDEN_PATH");
  const std::string first = folders ? std::string(folders, std::strcspn(folders, ":")) : "";
  const fs::path root = fs::path(first) / "../../kernels";
  if (first.empty() || !fs::exists(root))
    tool::not_run("WARPBIT_GOLDEN_PATH names no folder with kernels beside it");
  require_folders_equal(root);
}

TEST_CASE("so do launches that programs made, in the folder of WARPBIT_LAUNCHES_PATH", "[launches]") {
  const char* const folder = std::getenv("WARPBIT_LAUNCHES_PATH");
  if (folder == nullptr || !fs::exists(folder)) tool::not_run("WARPBIT_LAUNCHES_PATH names no folder");
  require_folders_equal(folder);
}

}  // namespace whole_kernels_test
