// SPDX-License-Identifier: Apache-2.0
// A recording of one launch, whose kernel and memory a test changes. The launch as it was is for warpbit/verify.hpp.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"
#include "warpbit/recording.hpp"

namespace recorded_launch {

using namespace warpbit;
namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;
using Parts = std::vector<Bytes>;  // the parts of a launch's memory

/// The value of what must not fail.
template <class T>
T required(Result<T> result) {
  INFO((result ? "" : result.error().message()));
  REQUIRE(result);
  return *std::move(result);
}

/// The recordings of golden/kernels, by their names.
inline std::vector<fs::path> recordings() {
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry : fs::directory_iterator("golden/kernels"))
    if (Recording::is_one(entry.path())) out.push_back(entry.path());
  REQUIRE(!out.empty());
  std::ranges::sort(out, {}, [](const fs::path& path) { return path.stem(); });
  return out;
}

class GoldenLaunch {
 public:
  explicit GoldenLaunch(const fs::path& path) : recording_(required(Recording::open(path))) {
    INFO(path);
    REQUIRE(recording_.records().size() == 1);
    launch_ = required(read_launch(recording_.records()[0]));
    for (const RecordedMemory& part : launch_.memory)
      before_.push_back(required(recording_.data(*part.before)));
  }
  static GoldenLaunch golden(const std::string& name) {
    return GoldenLaunch(fs::path("golden/kernels") / (name + ".zip"));
  }

  std::string text() const {
    const Bytes module = required(recording_.data(launch_.module));
    return {reinterpret_cast<const char*>(module.data()), module.size()};
  }
  const Parts& before() const { return before_; }
  const std::string& entry() const { return launch_.entry; }

  ptx::Launch shape() const {
    ptx::Launch how;
    how.grid = launch_.grid;
    how.block = launch_.block;
    how.cluster = launch_.cluster;
    how.shared_bytes = launch_.shared_bytes;
    return how;
  }
  /// Runs a function on memory, which lies where it lay on the GPU.
  ptx::Report launch(const ptx::Function& function, ptx::Launch how, Parts& memory) const {
    for (std::size_t i = 0; i < memory.size(); ++i)
      how.memory.push_back({launch_.memory[i].address, memory[i], launch_.memory[i].name});
    std::vector<ptx::Argument> arguments;
    for (const RecordedParameter& one : launch_.parameters) arguments.emplace_back(one.bytes);
    return function.launch(how, arguments);
  }
  /// That memory is as the GPU left it, where that is known.
  void require_left(const Parts& memory) const {
    std::size_t compared = 0;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const RecordedMemory& part = launch_.memory[i];
      if (!part.is_compared) continue;
      INFO(part.name);
      CHECK(memory[i] == required(recording_.data(part.after ? *part.after : *part.before)));
      ++compared;
    }
    CHECK(compared > 0);
  }

 private:
  Recording recording_;
  RecordedLaunch launch_;
  Parts before_;
};

}  // namespace recorded_launch
