// SPDX-License-Identifier: Apache-2.0
// Whole kernels, PTX as compilers made it, leave in memory what they left in a GPU's: every byte of every output.
#include <fmt/format.h>

#include <cstdlib>  // getenv, exit
#include <set>

#include "recorded_kernel.hpp"

namespace whole_kernels_test {

using namespace recorded_kernel;

constexpr int kNotRun = 77;

ptx::Report launch(const fs::path& folder, const json& recorded, Arrays& memory, bool checks) {
  const Result<ptx::Module> module = ptx::Module::load(text_of(kernel_in(folder)), *Target::find("sm_90a"));
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function(recorded.at("entry").get<std::string>());
  INFO((function ? "" : function.error().message()));
  REQUIRE(function);
  ptx::Launch how = shape_of(recorded);
  how.check_shared = checks;
  return recorded_kernel::launch(*function, recorded, memory, how);
}

/// "out: 3 of 4096 bytes differ, the first is byte 17: expected 0x3f, got 0x40", or nothing.
std::string difference(const std::string& name, const Bytes& expected, const Bytes& got) {
  if (expected.size() != got.size())
    return fmt::format("{}: {} bytes, expected {}", name, got.size(), expected.size());
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != got[i] && count++ == 0) first = i;
  if (count == 0) return "";
  return fmt::format("{}: {} of {} bytes differ, the first is byte {}: expected {:#04x}, got {:#04x}", name,
                     count, expected.size(), first, static_cast<unsigned>(expected[first]),
                     static_cast<unsigned>(got[first]));
}

/// What a folder says of its launch. One that a program made does not say which arrays are outputs; behind its parameters are
/// two pointers of Triton's own.
json case_of(const fs::path& folder) {
  json out = json::parse(text_of(folder / "case.json"));
  if (!out.contains("outputs"))
    for (const char* const scratch : {"global_scratch", "profile_scratch"})
      out.at("params").push_back({{"null", scratch}});
  return out;
}

/// What a GPU left of the outputs, or of all arrays: where there is no out_X, in_X is as it was.
Arrays expected_of(const json& recorded, const Arrays& memory) {
  Arrays out;
  if (recorded.contains("outputs")) {
    for (const std::string name : recorded.at("outputs")) out[name] = memory.at("out_" + name);
    return out;
  }
  for (const auto& [name, before] : memory)
    if (name.starts_with("in_")) {
      const auto after = memory.find("out_" + name.substr(3));
      out[name.substr(3)] = after == memory.end() ? before : after->second;
    }
  return out;
}

/// Launches what a folder holds, and compares. The number of bytes that the GPU left. Without checks of shared memory other
/// functions execute some instructions.
std::size_t require_equal(const fs::path& folder, bool checks) {
  INFO(folder.string() << (checks ? "" : ", unchecked"));
  const json recorded = case_of(folder);
  Arrays memory = arrays_of(folder / "arrays.npz");
  const Arrays expected = expected_of(recorded, memory);
  const ptx::Report report = launch(folder, recorded, memory, checks);
  INFO((report.ok() ? "" : report.fault->message()));
  CHECK(report.ok());
  if (!report.ok()) return 0;
  std::size_t bytes = 0;
  for (const auto& [name, left] : expected) {
    CHECK(difference(name, left, memory.at("in_" + name)) == "");
    bytes += left.size();
  }
  CHECK(report.printed == recorded.value("printed", ""));
  CHECK(bytes > 0);
  return bytes;
}

/// All launches under a folder, in alphabetical order.
void require_all_equal(const fs::path& root) {
  std::set<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(root))
    if (!kernel_in(entry.path()).empty()) folders.insert(entry.path());
  std::set<std::string> kernels;
  std::size_t bytes = 0;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    kernels.insert(name.substr(0, name.find('.')));  // "scan.fmad_false" is a launch of "scan"
    bytes += require_equal(folder, true);
    (void)require_equal(folder, false);
  }
  fmt::print("{}: {} kernels, {} launches, {} bytes\n", root.string(), kernels.size(), folders.size(), bytes);
  CHECK(!folders.empty());
}

TEST_CASE("every kernel in golden/kernels/ leaves what a GPU left", "[golden]") {
  require_all_equal("golden/kernels");
}

[[noreturn]] void not_run(const std::string& why) {
  fmt::print("not run: {}\n", why);
  std::fflush(stdout);
  std::exit(kNotRun);
}

TEST_CASE("so do those beside the captures of WARPBIT_GOLDEN_PATH", "[path]") {
  const char* const folders = std::getenv("WARPBIT_GOLDEN_PATH");
  const std::string first = folders ? std::string(folders, std::strcspn(folders, ":")) : "";
  const fs::path root = fs::path(first) / "../../kernels";
  if (first.empty() || !fs::exists(root)) not_run("WARPBIT_GOLDEN_PATH names no folder with kernels beside it");
  require_all_equal(root);
}

TEST_CASE("so do launches that programs made, in the folder of WARPBIT_LAUNCHES_PATH", "[launches]") {
  const char* const folder = std::getenv("WARPBIT_LAUNCHES_PATH");
  if (folder == nullptr || !fs::exists(folder)) not_run("WARPBIT_LAUNCHES_PATH names no folder");
  require_all_equal(folder);
}

}  // namespace whole_kernels_test
