// SPDX-License-Identifier: Apache-2.0
// What forms become in machine code, against tests/isa/lowering.tsv, and which forms the names of instructions stand for.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "isa_table.hpp"
#include "tally.hpp"
#include "warpbit/instruction.hpp"

namespace machine_code_test {

using warpbit::MachineForm;
using warpbit::Target;

// "HMMA*2 F2FP*4 call:__cuda..." as the library says it.
std::string expected(const std::string& cell, const std::string& target) {
  std::string out;
  bool calls = false;
  std::istringstream in(cell);
  for (std::string word; in >> word;) {
    calls = calls || word.starts_with("call:");
    const std::size_t star = word.find('*');
    if (star == word.npos) continue;
    std::string name = word.substr(0, star);
    name = name.substr(0, std::min(name.find(".reg"), name.find(".desc")));
    if (name == "op236") name = target == "sm_75" ? "HMMA" : "0x236";
    const std::string count = word.substr(star + 1);
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", count == "1" ? "" : count + " ", name);
  }
  if (out.empty()) return "none of the tensor cores";
  return out + (calls ? " in an internal routine" : "");
}

TEST_CASE("machine code is what the assembler made", "[quick][isa]") {
  std::set<std::string> documented;
  for (const warpbit::FormInfo& form : warpbit::forms()) documented.insert(form.canonical);
  Tally tally;
  for (const isa_table::Row& row : isa_table::read("lowering")) {
    const std::string form = row.at("instruction");
    if (!documented.contains(form)) continue;
    for (const auto& column : row) {
      const std::string &target = column.first, &cell = column.second;
      if (!target.starts_with("sm_")) continue;
      const auto code = warpbit::machine_code(form, *Target::find_ptx(target));
      const std::string seen = code ? text(*code) : "-";
      tally.check(seen == (cell == "-" ? "-" : expected(cell, target)),
                  [&] { return fmt::format("{} on {}: {}", form, target, seen); });
    }
  }
  tally.judge("forms on targets");
}

TEST_CASE("what was not compiled has no machine code", "[quick][isa]") {
  CHECK_FALSE(
      warpbit::machine_code("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_86")));
  CHECK_FALSE(warpbit::machine_code("tcgen05.mma.cta_group::1.kind::f16", *Target::find("sm_100a")));
  CHECK_FALSE(warpbit::machine_code("mma", *Target::find("sm_80")));
  CHECK_FALSE(warpbit::machine_code("", *Target::find("sm_80")));
  // Of wgmma all N are taken to be like those that were compiled.
  CHECK(text(*warpbit::machine_code("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16",
                                    *Target::find("sm_90a"))) == "HGMMA");
}

// A name, the first form that becomes it, and how many do: as a whole, and as a part.
struct Name {
  std::string name, form;
  std::size_t whole, parts;
};
// Parts of HMMA.16816.F32 are wmma's with f32 in C or D (3 shapes, 4 layouts, 3 pairs of types) and those of e4m3 and e5m2 with
// f32 (4 pairs, with and without a kind); of IMMA.16832.S8.S8 those of s4 with twice its K.
const Name kNames[] = {
    {"HMMA.16816.F32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 1, 44},
    {"hmma.16816.f32.bf16 R4, R8, R26, R4;", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 1, 12},
    {"HMMA.1688.F32.TF32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 1, 0},
    {"HMMA.SP.16832.F32.BF16", "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", 2, 0},
    {"IMMA.16832.S8.S8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 2, 2},
    {"QMMA.16832.F32.E4M3.E5M2", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 2, 0},
    {"OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X",
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 1,
     0},
    {"BMMA.168256.AND.POPC", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 1, 0},
    {"DMMA.16816", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 5, 0},
    {"HGMMA.64x128x16.F32.BF16", "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", 1, 0},
    {"LDSM.16.M88.4", "ldmatrix.sync.aligned.m8n8.x4.b16", 3, 0},
    {"LDSM.16.MT88.2", "ldmatrix.sync.aligned.m8n8.x2.trans.b16", 3, 0},
    {"MOVM.16.MT88", "movmatrix.sync.aligned.m8n8.trans.b16", 1, 0},
};

TEST_CASE("names of machine instructions stand for forms", "[quick][isa]") {
  for (const auto& [name, form, whole, parts] : kNames) {
    INFO(name);
    const auto found = warpbit::forms_of_machine_code(name);
    REQUIRE(found);
    REQUIRE_FALSE(found->forms.empty());
    CHECK(found->forms[0].form == form);
    CHECK(found->forms.size() == whole);
    CHECK(found->composing.size() == parts);
  }
  const auto kind = warpbit::forms_of_machine_code("UTCQMMA");
  REQUIRE(kind);
  CHECK(kind->forms[0].form == "tcgen05.mma.cta_group::1.kind::f8f6f4");
  const std::vector<std::string_view> all = warpbit::machine_instructions();
  for (const std::string_view name : {"HMMA", "QGMMA", "LDSM", "UTCHMMA", "UTCOMMA", "LDTM"})
    CHECK(std::ranges::find(all, name) != all.end());
  const auto unknown = warpbit::forms_of_machine_code("FROB.16816");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == warpbit::Errc::unknown_instruction);
  CHECK_THAT(unknown.error().message(), Catch::Contains("HMMA"));
  CHECK(warpbit::forms_of_machine_code("HMMA.999.F32")->forms.empty());
  CHECK_FALSE(warpbit::forms_of_machine_code(""));
}

}  // namespace machine_code_test
