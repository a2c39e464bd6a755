// SPDX-License-Identifier: Apache-2.0
// tools/capture/run in a folder that has what it needs and no more, on a driver without a GPU.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "capture_program.hpp"
#include "warpbit/replay.hpp"

namespace capture_run_test {

using namespace warpbit;
using archive::Directory;
using capture_program::files_under;
using Catch::Contains;
using Catch::Matchers::Equals;
namespace fs = std::filesystem;

constexpr const char* kForms = "^(mma.sync.aligned.m16n8k8.row.col.f(16|32)|movmatrix|cvt.rn.f16x2.e5m2x2)";
constexpr std::size_t kStatements = 6, kWithProbes = 4;

// As tools/capture/bundle makes it, but with the other program.
struct Kit {
  Directory directory;
  fs::path root = directory.path / "kit", out = directory.path / "out";

  explicit Kit(const std::vector<std::string>& targets = {"sm_90a"}) {
    fs::create_directories(root / "tools");
    fs::create_directories(root / "include" / "warpbit");
    fs::create_directories(root / "build" / "capture");
    fs::create_directories(out);
    fs::copy("tools/capture", root / "tools" / "capture");
    fs::copy("include/warpbit/inputs", root / "include" / "warpbit" / "inputs");
    for (const std::string& target : targets)
      tool::write(root / "build" / "capture" / ("kernels-" + target + ".txt"),
                  capture_program::kernels(target, kForms));
    fs::copy(tool::named("WARPBIT_CAPTURE"), root / "build" / "capture" / "capture");
  }

  tool::Output run(std::vector<std::string> options, const std::string& settings = "FAKE_CAPABILITY=90") const {
    options.insert(options.begin(), {"--out", out.string()});
    return tool::shell("NVCC= " + std::string(capture_program::kFake) + settings + " " +
                       tool::shell_word((root / "tools" / "capture" / "run").string()) + " " +
                       tool::shell_words(options));
  }
  // The only folder that was made.
  fs::path folder() const {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(out))
      if (entry.is_directory()) found.push_back(entry.path());
    REQUIRE(found.size() == 1);
    return found[0];
  }
};

std::vector<fs::path> captures_in(const fs::path& folder) {
  std::vector<fs::path> out = files_under(folder);
  std::erase_if(out, [](const fs::path& path) { return path.extension() != ".npz"; });
  return out;
}

void check_replay(const std::vector<fs::path>& files, const ReplayOptions& options = {}) {
  for (const FileReport& report : replay_all(files, options)) {
    INFO(report.path);
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.elements > 0);
    CHECK(report.mismatches == 0);
  }
}

TEST_CASE("run records captures, probes and digests, and packs them") {
  const Kit kit;
  const tool::Output said =
      kit.run({"--cases", "5", "--elements", "20000", "--exhaustive", "--seed", "9", "--parts"});
  INFO(said.out << said.err);
  REQUIRE(said.status == 0);
  const fs::path folder = kit.folder();
  CHECK_THAT(folder.filename().string(),
             Catch::Matches("warpbit-captures-Fake-GPU-[0-9]{4}-[0-9]{2}-[0-9]{2}"));
  const std::vector<fs::path> files = captures_in(folder);
  CHECK(files.size() == 2 * kStatements + kWithProbes + 1);
  check_replay(files);

  // The manifest names all of them, with their checksums.
  const nlohmann::json manifest = nlohmann::json::parse(archive::bytes_of(folder / "manifest.json"));
  CHECK(manifest["device"] == "Fake \"GPU\"");
  CHECK(manifest["compute_capability"] == "9.0");
  CHECK(manifest["seed"] == 9);
  REQUIRE(manifest["files"].size() == files.size());
  std::string sums;
  for (const auto& [name, sum] : manifest["files"].items()) sums += sum.get<std::string>() + "  " + name + "\n";
  CHECK(
      tool::shell("cd " + tool::shell_word(folder.string()) + " && sha256sum --check --strict", sums).status ==
      0);

  // The archive holds the folder; its pieces are the archive.
  const std::string packed = folder.string() + ".tar.gz", there = (kit.directory.path / "there").string();
  fs::create_directory(there);
  REQUIRE(tool::shell("cat " + packed + ".part-* | tar -xzf - -C " + there).status == 0);
  CHECK(archive::bytes_of(packed).size() < 15000000);
  CHECK(tool::shell("diff -r " + folder.string() + " " + there + "/" + folder.filename().string()).status == 0);
  CHECK_THAT(archive::bytes_of(folder / "run.log"), Contains("total: 6 statements, 6 recorded, 0 failed\n"));
}

TEST_CASE("run packs what it has where a statement fails") {
  const Kit kit;
  const tool::Output said = kit.run({"--cases", "2", "--elements", "0", "--no-probes"},
                                    "FAKE_CAPABILITY=90 FAKE_DRIVER=die FAKE_STATEMENT=movmatrix");
  INFO(said.out << said.err);
  CHECK(said.status == 1);
  CHECK_THAT(said.out, Contains("FAILED movmatrix") && Contains("packed: "));
  CHECK(captures_in(kit.folder()).size() == kStatements - 1);
  check_replay(captures_in(kit.folder()));

  const tool::Output again = kit.run({"--cases", "2"});
  CHECK(again.status == 2);
  CHECK_THAT(again.err, Contains(" is there already"));
}

TEST_CASE("run finds the kernels of a GPU: its own, else those of the last target before it", "[once]") {
  const auto recorded = [](const std::vector<std::string>& targets, const std::string& capability) {
    const Kit kit(targets);
    const tool::Output said =
        kit.run({"--cases", "2", "--elements", "0", "--no-probes"}, "FAKE_CAPABILITY=" + capability);
    INFO(said.out << said.err);
    REQUIRE(said.status == 0);
    const std::vector<fs::path> files = captures_in(kit.folder());
    CHECK(files.size() >= kStatements - 1);
    ReplayOptions options;
    if (capability == "129") options.target = *Target::find("sm_120");
    check_replay(files, options);
    return fs::relative(files[0], kit.folder()).begin()->string();
  };
  CHECK(recorded({"sm_90", "sm_90a"}, "90") == "sm_90a");
  CHECK(recorded({"sm_80", "sm_120", "sm_120a"}, "120") == "sm_120a");
  CHECK(recorded({"sm_80", "sm_90a", "sm_120", "sm_120a"}, "129") == "sm_129");
  CHECK(recorded({"sm_80", "sm_90a"}, "86") == "sm_86");

  const Kit kit;
  const tool::Output said = kit.run({}, "FAKE_CAPABILITY=89");
  CHECK(said.status == 2);
  CHECK_THAT(said.err, Contains("run: no kernels for sm_89 or before it: "));
}

TEST_CASE("run refuses what it cannot do") {
  const Kit kit;
  const auto refused = [&](const std::vector<std::string>& options, const std::string& message) {
    INFO(tool::shell_words(options));
    const tool::Output said = kit.run(options);
    CHECK(said.status == 2);
    CHECK_THAT(said.err, Contains(message));
  };
  refused({"--frobnicate"}, "run: '--frobnicate' is no option; --device --forms --seed ");
  refused({"--seed"}, "run: --seed needs a value");
  refused({"--cases", "x"}, "run: --cases: 'x'; expected a number");
  refused({"--elements", "-1"}, "run: --elements: '-1'; expected a number");
  refused({"--target", "sm_90a"}, "run: --target is for --dry-run");
  refused({"--dry-run"}, "run: --dry-run needs --target");
  refused({"--dry-run", "--target", "sm_1"}, "run: no kernels for sm_1: ");
  refused({"--dry-run", "--target", "sm_90a"}, "capture: ptxas: not found");
  refused({"--device", "7"}, "run: no GPU can be used");
  CHECK(fs::is_empty(kit.out));
  refused({"--forms", "wgmma"}, "run: nothing was recorded");
}

}  // namespace capture_run_test
