// SPDX-License-Identifier: Apache-2.0
// The same streams in other languages: from tools/capture/inputs.py, and from the headers as CUDA's compiler
// takes them. Where Python with NumPy, or nvcc, is missing, the program says so and exits with 77.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>  // std::system
#include <sstream>

#include "input_members.hpp"
#include "tool.hpp"
#include "warpbit/inputs/text.hpp"

namespace input_streams_test {

using namespace warpbit;
namespace fs = std::filesystem;

constexpr const char* kForm = "input_streams_test";
constexpr std::uint64_t kSeed = 0x123456789ABCDEF0, kFirst = (std::uint64_t{1} << 32) - 20, kCases = 12;

// The members' text, a line each.
std::string member_lines() {
  std::string out;
  for (const auto& named : input_members::all()) out += inputs::text(named.fill) + "\n";
  return out;
}

// What a program prints for these lines: the registers of each member in hexadecimal.
std::string expected_lines(inputs::Profile profile) {
  const inputs::Key key = inputs::key_of(kForm, kSeed);
  std::string out;
  for (const auto& [form, member, m] : input_members::all()) {
    const char* blank = "";
    for (std::uint64_t i = kFirst; i < kFirst + kCases; ++i)
      for (int lane = 0; lane < m.lanes; ++lane)
        for (int reg = m.first; reg < m.first + m.registers; ++reg) {
          out += fmt::format("{}{:x}", blank, inputs::word(key, profile, m, i, lane, reg));
          blank = " ";
        }
    out += "\n";
  }
  return out;
}

// Compares what a command prints, for each profile, with what is expected.
void compare(const std::string& command) {
  const archive::Directory directory;
  const std::string in = tool::write(directory.path / "members", member_lines());
  std::size_t bytes = 0;
  for (const std::string_view profile : inputs::kProfileNames) {
    const std::string out = (directory.path / "out").string();
    INFO(command << " " << profile);
    REQUIRE(std::system(fmt::format("{} {} {} {} {} {} <{} >{}", command, kForm, kSeed, profile, kFirst, kCases,
                                    in, out)
                            .c_str()) == 0);
    const std::string got = archive::bytes_of(out), expected = expected_lines(*inputs::find_profile(profile));
    bytes += got.size();
    const bool equal = got == expected;
    CHECK(equal);
  }
  REQUIRE(bytes > 10000000);
  fmt::print("streams: {} bytes of hexadecimal digits\n", bytes);
}

TEST_CASE("Python makes the same inputs", "[python]") {
  const std::string python = tool::find_command({"python3", "/usr/bin/python3"}, "-c 'import numpy'");
  if (python.empty()) tool::not_run("needs python3 with NumPy");
  compare(python + " tools/capture/inputs.py");
}

TEST_CASE("CUDA's compiler makes the same inputs, and device code of them", "[cuda]") {
  const std::string nvcc = tool::find_command({"nvcc", "/usr/local/cuda/bin/nvcc"}, "--version");
  if (nvcc.empty()) tool::not_run("needs nvcc");
  const archive::Directory directory;
  const std::string program = (directory.path / "stream").string(),
                    ptx = (directory.path / "generate.ptx").string();
  REQUIRE(tool::shell(nvcc + " -std=c++20 -O2 -I include -o " + program + " tests/input_stream.cu").status ==
          0);
  compare(program);
  REQUIRE(tool::shell(nvcc + " -std=c++20 -ptx -arch=compute_75 -I include -o " + ptx +
                      " tools/capture/generate.cu")
              .status == 0);
  const std::string text = archive::bytes_of(ptx);
  CHECK(text.find(".entry fill(") != std::string::npos);
  CHECK(text.find(".entry digest(") != std::string::npos);
}

}  // namespace input_streams_test
