// SPDX-License-Identifier: Apache-2.0
// scripts/golden: what it takes of an archive of captures, what it replaces and what it refuses.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "tool.hpp"
#include "warpbit/replay.hpp"

namespace golden_script_test {

using namespace warpbit;
namespace fs = std::filesystem;

constexpr std::string_view kProduct = "sm_90a/mma/mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32";

int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// A repository's folder with some of golden/, and an archive.
struct Fixture {
  archive::Directory directory;
  fs::path into = directory.path / "into", from = directory.path / "archive";

  Fixture() {
    fs::create_directories(into / "golden");
    fs::create_directories(from);
  }
  static void copy(const fs::path& file, const fs::path& to) {
    fs::create_directories(to.parent_path());
    fs::copy_file(file, to);
  }
  // A file of golden/, under a name in the archive.
  void record(const std::string& golden, const std::string& name) {
    copy("golden/" + golden + ".npz", from / (name + ".npz"));
  }
  void keep(const std::string& golden, const std::string& name) {
    copy("golden/" + golden + ".npz", into / "golden" / (name + ".npz"));
    REQUIRE(shell("cd " + tool::shell_word(into.string()) +
                  " && \"$WARPBIT_CLI\" list --captures golden >index && mv index golden/index.tsv") == 0);
  }
  void write_manifest() const {
    REQUIRE(shell("cd " + tool::shell_word(from.string()) +
                  " && { echo '{\"files\": {'; find . -name '*.npz' -printf '%P\\n' | sort | xargs sha256sum |"
                  " sed -E 's/^([0-9a-f]+)  (.*)$/  \"\\2\": \"\\1\",/'; echo '}}'; } >manifest.json") == 0);
  }
  int take(const std::string& options = "") const {
    return shell("scripts/golden " + tool::shell_word(from.string()) + " --into " +
                 tool::shell_word(into.string()) + " " + options + " >/dev/null 2>&1");
  }
  // Paths in golden/, with the number of cases.
  std::map<std::string, std::uint64_t> taken() const {
    std::map<std::string, std::uint64_t> out;
    const std::vector<fs::path> folder{into / "golden"};
    const auto found = index_captures(folder).value();
    for (const IndexedCapture& c : found)
      out[fs::path(c.path).lexically_relative(into / "golden").generic_string()] = c.cases;
    // The index has the same.
    CHECK(archive::bytes_of(into / "golden" / "index.tsv").find("golden/sm_90a/") != std::string::npos);
    return out;
  }
};

TEST_CASE("captures are cut to what fits, probes are not") {
  Fixture f;
  f.record(std::string(kProduct), std::string(kProduct));
  f.record(std::string(kProduct) + ".probes", std::string(kProduct) + ".probes");
  f.write_manifest();
  REQUIRE(f.take("--bytes 5000") == 0);
  const auto taken = f.taken();
  REQUIRE(taken.size() == 2);
  constexpr std::size_t kCase = 32 * 4 * (2 + 1 + 4 + 4);
  CHECK(taken.at(std::string(kProduct) + ".npz") == 5000 / kCase);
  CHECK(taken.at(std::string(kProduct) + ".probes.npz") > 20);
}

TEST_CASE("a file of the same statement and kind is replaced, whatever its name") {
  Fixture f;
  f.keep(std::string(kProduct), "sm_90a/mma/other");
  f.keep(std::string(kProduct) + ".underflow", "sm_90a/mma/other.underflow");
  f.record(std::string(kProduct), std::string(kProduct));
  f.write_manifest();
  REQUIRE(f.take() == 0);
  const auto taken = f.taken();
  CHECK(taken.size() == 2);
  CHECK(taken.contains("sm_90a/mma/other.underflow.npz"));
  CHECK(taken.contains(std::string(kProduct) + ".npz"));
}

// The same inputs and results, of a target that computes otherwise.
void spoil(const Fixture& f) {
  const fs::path file = f.from / (std::string(kProduct) + ".npz");
  const Result<CaptureReader> reader = CaptureReader::open(file);
  CaptureHeader header = reader->header();
  std::vector<Array> arrays;
  for (const ArrayHeader& h : reader->arrays()) arrays.push_back(reader->read(h.name).value());
  header.target = "sm_80";
  REQUIRE(write_capture(file, header, arrays).ok());
  f.write_manifest();
}

TEST_CASE("what is not what the manifest says, or not what is computed, is refused, and nothing is taken") {
  Fixture f;
  f.record(std::string(kProduct), std::string(kProduct));
  f.write_manifest();
  SECTION("another file") {
    fs::remove(f.from / (std::string(kProduct) + ".npz"));
    f.record(std::string(kProduct) + ".underflow", std::string(kProduct));
  }
  SECTION("a further file") {
    f.record(std::string(kProduct) + ".underflow", "sm_90a/mma/further");
  }
  SECTION("a missing file") {
    fs::remove(f.from / (std::string(kProduct) + ".npz"));
  }
  SECTION("no manifest") {
    fs::remove(f.from / "manifest.json");
  }
  SECTION("other bits") {
    spoil(f);
  }
  CHECK(f.take() == 2);
  CHECK_FALSE(fs::exists(f.into / "golden" / "sm_90a"));
  CHECK_FALSE(fs::exists(f.into / "golden" / "index.tsv"));
}

TEST_CASE("of shares that others verify nothing is known") {
  Fixture f;
  f.record(std::string(kProduct), std::string(kProduct));
  spoil(f);
  const bool first = f.take("--shard 1/2") == 0, second = f.take("--shard 2/2") == 0;
  CHECK(first != second);
  CHECK(f.take("--shard 3/2") == 2);
}

TEST_CASE("of wgmma some N are taken, of probes all") {
  Fixture f;
  const auto name = [](int n) {
    return "sm_90a/wgmma/wgmma_mma_async_sync_aligned_m64n" + std::to_string(n) + "k16_f32_f16_f16";
  };
  // Two places of A at N 8, and others of N 24 and 64.
  for (const auto& entry : fs::directory_iterator("golden/sm_90a/wgmma")) {
    const std::string stem = entry.path().stem().string();
    for (const int n : {8, 24, 64, 256})
      if (("sm_90a/wgmma/" + stem).starts_with(name(n)))
        f.record("sm_90a/wgmma/" + stem, "sm_90a/wgmma/" + stem);
  }
  f.write_manifest();
  REQUIRE(f.take() == 0);
  const auto taken = f.taken();
  const auto count = [&](int n, std::string_view end) {
    return std::ranges::count_if(
        taken, [&](const auto& x) { return x.first.starts_with(name(n)) && x.first.ends_with(end); });
  };
  const auto recorded = [&](int n, std::string_view end) {
    return std::ranges::count_if(fs::recursive_directory_iterator(f.from), [&](const auto& x) {
      const std::string path = x.path().lexically_relative(f.from).generic_string();
      return path.starts_with(name(n)) && path.ends_with(end);
    });
  };
  for (const int n : {8, 24, 64, 256}) CHECK(count(n, ".probes.npz") == recorded(n, ".probes.npz"));
  CHECK(count(8, ".npz") == recorded(8, ".npz"));
  // The only other N, with A in registers or in memory.
  CHECK(count(24, "descriptors.npz") > 0);
  CHECK(count(24, "descriptors.npz") < recorded(24, "descriptors.npz"));
}

TEST_CASE("too many bytes are reported") {
  Fixture f;
  f.record(std::string(kProduct), std::string(kProduct));
  f.write_manifest();
  CHECK(f.take("--limit 1000") == 2);
  CHECK(f.take("--limit 100000") == 0);
  CHECK(f.take("--frobnicate") == 2);
}

}  // namespace golden_script_test
