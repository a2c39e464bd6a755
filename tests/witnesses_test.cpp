// SPDX-License-Identifier: Apache-2.0
// tools/isa/ask_witnesses.py on small files that are made like those of libcu++, LLVM and TVM: what agrees is silent, what differs a row.
#include <catch2/catch.hpp>

#include "tool.hpp"

namespace witnesses_test {

std::string python() {
  return tool::find_command({"python3", "/usr/bin/python3"}, "--version");
}

std::vector<std::string> asked(const std::string& name, const std::string& text,
                               const std::string& arguments = "") {
  const archive::Directory directory;
  const std::string file = tool::write(directory.path / name, text);
  const char* const warpbit = std::getenv("WARPBIT_CLI");
  REQUIRE(warpbit != nullptr);
  const tool::Output output =
      tool::shell(python() + " tools/isa/ask_witnesses.py " + tool::shell_word(warpbit) + " " + arguments +
                  " " + tool::shell_word(file));
  INFO(output.err);
  REQUIRE(output.status == 0);
  std::vector<std::string> out;
  for (const std::string& line : output.lines()) out.push_back(line.substr(0, line.rfind('\t')));
  REQUIRE(!out.empty());
  out.front() = output.err.substr(0, output.err.find('\n'));  // in place of the head: the counts
  return out;
}

using Rows = std::vector<std::string>;

TEST_CASE("a header of libcu++ is asked for its first versions", "[python]") {
  if (python().empty()) tool::not_run("needs python3");
  const std::string text = R"(/*
// fence.sem.scope; // PTX ISA 78, SM_90
// .sem = { .acq_rel, .sc }
// .scope = { .cluster }
template <typename = void> void fence();
*/
/*
// fabric.submit.op_restrict::fetching; // PTX ISA 90, SM_100
template <typename = void> void submit();
*/
)";
  CHECK(asked("fence.h", text) ==
        Rows{"3 facts, 1 differ", "fabric.submit.op_restrict::fetching\t9.0\tsm_100\tsince 9.3"});
}

TEST_CASE("a test of LLVM is asked for the targets of its lines of RUN", "[python]") {
  if (python().empty()) tool::not_run("needs python3");
  const std::string text = R"(; RUN: llc < %s -mcpu=sm_90 -mattr=+ptx80 | FileCheck %s
; CHECK: fence.proxy.async.global;
; CHECK-NEXT: wgmma.fence.sync.aligned;
)";
  const Rows rows = asked("fence.ll", text);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == "2 facts, 1 differ");
  CHECK_THAT(rows[1], Catch::StartsWith("wgmma.fence.sync.aligned\t8.0\tsm_90\trefused: "));
}

TEST_CASE("TVM's table is asked for each two words of a row", "[python]") {
  if (python().empty()) tool::not_run("needs python3");
  const std::string text = R"(
import itertools
from dataclasses import dataclass

@dataclass(frozen=True)
class Row:
    ptx_name: str
    slots: tuple
    cert_arch: str = None
    check: object = None

def variants(row):
    return [words for words in itertools.product(*row.slots) if not row.check or not row.check(words)]

TABLE = {row.ptx_name: row for row in (
    Row('cp', (('async',), ('ca', 'cg'), ('shared', 'shared::cta'), ('global',), ('', 'L2::128B'))),
    Row('spdecompress', (('b8',), ('b2', 'b4'), ('sp::1:2', 'sp::2:8'), ('x2',)), 'sm_107a', lambda w: w[1:3] == ('b2', 'sp::2:8')),
    Row('ret', ()),
    Row('prefetch', (('global',), ('L1::32B',), ('valid_addr',))),
    Row('setmaxnreg', (('inc', 'down'), ('sync',), ('aligned',), ('u32',)), 'sm_90a'))}
)";
  const Rows rows = asked("table.py", text, "--ptx 9.4");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == "14 facts, 1 differ");
  CHECK_THAT(rows[1], Catch::StartsWith("setmaxnreg.down.sync.aligned.u32\t9.4\tsm_90a\trefused: "));
  const Rows early = asked("table.py", text, "--ptx 9.3");
  REQUIRE(early.size() == 3);
  CHECK(early[1] == "prefetch.global.L1::32B.valid_addr\t9.3\tsm_90\tsince 9.4");
}

}  // namespace witnesses_test
