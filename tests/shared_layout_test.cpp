// SPDX-License-Identifier: Apache-2.0
// Where variables lie in shared memory, and how many bytes they have, as ptxas says (tests/isa/shared.tsv).
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "grid/compile.hpp"
#include "warpbit/ptx.hpp"

namespace shared_layout_test {

using namespace warpbit;

std::uint64_t field(const std::string& row, std::size_t& at) {
  const std::size_t end = row.find('\t', at);
  const std::uint64_t out = std::stoull(row.substr(at, end - at));
  at = end + 1;
  return out;
}

TEST_CASE("shared variables lie as ptxas lays them out") {
  std::ifstream table("tests/isa/shared.tsv");
  std::string row;
  REQUIRE(std::getline(table, row));
  int rows = 0;
  for (; std::getline(table, row); ++rows) {
    std::size_t at = 0;
    const std::uint64_t bytes = field(row, at), alignment = field(row, at);
    const std::string text = row.substr(at);
    INFO(text);
    const auto module = ptx::parse_module(text);
    REQUIRE(module);
    const Result<grid::Program> program = grid::compile(*module, "k", *Target::find("sm_90a"), {}, {});
    REQUIRE(program);
    CHECK(program->shared_bytes == bytes);
    CHECK(program->shared_alignment == alignment);
  }
  CHECK(rows > 100);
}

// The driver of an H100 says 32896 of a kernel with two tiles of 16 KiB and two barrier objects: ptxas says 32784, in a section
// that is aligned to 128 bytes.
TEST_CASE("a kernel has as much shared memory as the driver says") {
  const Result<ptx::Module> module = ptx::Module::load(R"(.version 8.7 .target sm_90a .address_size 64
.visible .entry k() { .shared .align 128 .b8 a[16384]; .shared .align 128 .b8 b[16384]; .shared .align 8 .b8 x[8];
.shared .align 8 .b8 y[8]; ret; })",
                                                       *Target::find("sm_90a"));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  CHECK(function->shared_bytes() == 32896);
}

}  // namespace shared_layout_test
