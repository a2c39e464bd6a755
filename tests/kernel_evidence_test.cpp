// SPDX-License-Identifier: Apache-2.0
// That no form of whole kernels is called captured without a recording: golden/forms.tsv has what launches executed, and the
// rows of forms are joined with it and with golden-digests/scalar/, textures/ and surfaces/.
#include <fmt/ranges.h>

#include <fstream>
#include <map>
#include <set>

#include "numeric/words.hpp"
#include "ptx/evidence.hpp"
#include "ptx/rows/opcodes.hpp"
#include "random_recordings.hpp"
#include "recorded_launch.hpp"
#include "scalar_table.hpp"
#include "text_file.hpp"
#include "verify/cases/tensor_copies.hpp"

namespace kernel_evidence_test {

using namespace recorded_launch;
using text_file::text_of;
using Words = std::vector<std::string_view>;

/// Form -> recording.
using Forms = std::map<std::string, std::string>;

constexpr const char *kDigests = "golden-digests/scalar/sm_90a.zip",
                     *kTextures = "golden-digests/textures/sm_90.zip",
                     *kSurfaces = "golden-digests/surfaces/sm_90.zip",
                     *kCopies = "golden/tensor-copies/sm_90a.zip";

std::pair<std::string_view, Words> parts(std::string_view form) {
  Words words = words_between(form, ".");
  const std::string_view opcode = words.front();
  words.erase(words.begin());
  return {opcode, words};
}

const ptx::KindRow* kind_of(const std::string& form) {
  const auto [opcode, words] = parts(form);
  return ptx::kind_of(opcode, words);
}

ptx::FormEvidence evidence(const std::string& form, const char* target) {
  const auto [opcode, words] = parts(form);
  return ptx::evidence(ptx::kind_of(opcode, words), opcode, words, *Target::find_ptx(target));
}

/// The forms of recorded digests, each with how many records it has of all inputs.
std::map<std::string, std::size_t> digests(const std::string& path) {
  const Recording recording = required(Recording::open(path));
  std::map<std::string, std::size_t> out;
  for (const Record& record : recording.records()) {
    const auto one = recording_files::json::parse(record.text);
    out[one.at("form").get<std::string>()] += one.contains("first");
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

/// The lines of a table of forms, by its first two columns.
Forms table(const std::string& path) {
  std::ifstream in(path);
  Forms out;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> cells = isa_table::cells(line);
    if (cells.size() > 1 && cells[0].find('.') != std::string::npos) out.emplace(cells[0], cells[1]);
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

// ---- What was executed

/// "@%p1 atom.global.add.f32 %f1, [%rd1], %f2" -> atom.global.add.f32
std::string form_of(std::string_view statement) {
  if (statement.starts_with('@')) statement.remove_prefix(statement.find(' ') + 1);
  return std::string(statement.substr(0, statement.find_first_of(" ;")));
}

/// The forms that a recorded launch executes; that it leaves what a GPU left is for whole_kernels_test.
std::set<std::string> executed(const fs::path& path) {
  INFO(path);
  const GoldenLaunch recorded(path);
  Parts memory = recorded.before();
  const Result<ptx::Module> module = ptx::Module::load(recorded.text(), *Target::find("sm_90a"));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function(recorded.entry());
  REQUIRE(function);
  ptx::Launch how = recorded.shape();
  how.check_shared = false;
  how.profile = true;
  const ptx::Report report = recorded.launch(*function, how, memory);
  REQUIRE(report.ok());
  std::set<std::string> out;
  for (const ptx::LineCounts& line : report.profile) out.insert(form_of(line.statement));
  return out;
}

/// What tools/capture/tensor_copies.cu asks a GPU for.
std::string form_of(const tensor_copies::CopyCase& c) {
  using namespace tensor_copies;
  constexpr std::array kTypes = {"", "", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "", "", ""};
  const std::string op = kReductions[c.reduction];
  const bool is_logic = c.reduction >= 5,
             adds_halves = op == "add" && (c.map.dataType == 6 || c.map.dataType == 9);
  std::string type = kTypes[c.map.dataType];
  if (is_logic && !type.empty()) type[0] = 'b';
  const std::string reduced = fmt::format("{}{}.{}", op, adds_halves ? ".noftz" : "", type);
  const std::string place = fmt::format("{}d.global.shared::cta", c.instruction_rank);
  const char* const mode = c.instruction_im2col == 0 ? "tile" : "im2col_no_offs";
  switch (c.operation) {
    case kLoad:
      return fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.{}.mbarrier::complete_tx::bytes",
                         c.instruction_rank, c.instruction_im2col == 0 ? "tile" : "im2col");
    case kStore: return fmt::format("cp.async.bulk.tensor.{}.{}.bulk_group", place, mode);
    case kReduce: return fmt::format("cp.reduce.async.bulk.tensor.{}.{}.{}.bulk_group", place, op, mode);
    case kBulkLoad: return "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    case kBulkStore: return "cp.async.bulk.global.shared::cta.bulk_group";
    case kBulkReduce: return "cp.reduce.async.bulk.global.shared::cta.bulk_group." + reduced;
    case kSharedCopy: return "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
    case kSharedReduce:
      return "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." + reduced;
  }
  return "";
}

/// All that GPUs executed, but what kDigests has; tensor instructions have their own evidence. A rule of the assembler counts
/// if a random kernel leaves what a GPU left with it, and not without.
Forms recorded_forms() {
  const std::map<std::string, std::size_t> scalar = digests(kDigests);
  const std::vector<fs::path> launches = recordings();
  Forms out;
  for (const fs::path& launch : launches)
    for (const std::string& form : executed(launch))
      if (!scalar.contains(form) && kind_of(form) != nullptr) out.emplace(form, launch.generic_string());
  for (const ptx::AssemblerRule& rule : ptx::assembler_rules())
    if (random_recordings::first_that_needs(std::string(rule.name)))
      out.emplace(fmt::format("assembler.{}", rule.name), random_recordings::kPath);
  std::set<std::string> groups;
  const Recording copies = required(Recording::open(kCopies));
  for (const Record& record : copies.records())
    if (record.kind == "tensor_copies") groups.insert(record.name.substr(0, record.name.find('.')));
  for (const tensor_copies::Group& group : tensor_copies::groups())
    if (groups.erase(group.name) != 0)
      for (const tensor_copies::CopyCase& c : group.make()) out.emplace(form_of(c), kCopies);
  CHECK(groups.empty());
  CHECK(launches.size() >= 76);
  return out;
}

TEST_CASE("golden/forms.tsv has what a GPU executed and left a recording of", "[golden]") {
  std::string text = "form\trecording\n";
  for (const auto& [form, recording] : recorded_forms()) text += fmt::format("{}\t{}\n", form, recording);
  const fs::path made = fs::temp_directory_path() / "forms.tsv";
  if (text != text_of("golden/forms.tsv")) std::ofstream(made, std::ios::binary) << text;
  INFO("recordings were added? Then copy " << made.string() << " to golden/forms.tsv, and build again");
  CHECK(text == text_of("golden/forms.tsv"));
}

// ---- The rows

/// The forms of tests/isa/scalar.tsv, which ptxas takes, that a target has.
template <class Visit>
void for_each_form(const std::string& target, Visit visit) {
  for (const isa_table::Row& row : isa_table::read("scalar"))
    if (row.at(target) == "1")
      for (const std::string& name : scalar_table::names(row.at("form"))) visit(name);
}

TEST_CASE("a form is captured on sm_90 and sm_90a alone, and there if a recording has it") {
  Forms recorded = table("golden/forms.tsv");
  for (const char* const path : {kDigests, kTextures, kSurfaces})
    for (const auto& [form, large] : digests(path)) recorded.emplace(form, path);
  std::size_t captured = 0, by_others = 0;
  for (const char* const target :
       {"sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a", "sm_121"}) {
    const bool is_hopper = std::string(target).starts_with("sm_90");
    for_each_form(target, [&](const std::string& form) {
      const ptx::FormEvidence found = evidence(form, target);
      const bool is_captured = found.rests == ptx::Rests::captured;
      if (!is_hopper && is_captured) FAIL_CHECK(form << " on " << target);
      if (is_hopper && recorded.contains(form) && !is_captured) FAIL_CHECK(form << " is recorded");
      if (is_captured && found.recording.empty()) FAIL_CHECK(form << " without a recording");
      captured += is_captured && recorded.contains(form);
      by_others += is_captured && !recorded.contains(form);
    });
  }
  fmt::print("{} forms captured, {} beside them that differ in what changes no result\n", captured, by_others);
  CHECK(captured >= 7000);
}

TEST_CASE("words that count for nothing are scopes, orders and hints") {
  for (const auto& [form, other] : std::vector<std::pair<std::string, std::string>>{
           {"atom.global.add.f32", "atom.relaxed.gpu.global.add.f32"},
           {"atom.shared.add.f32", "atom.acq_rel.cta.shared::cta.add.f32"},
           {"ld.global.f32", "ld.global.nc.L1::no_allocate.L2::128B.f32"}}) {
    CAPTURE(form, other);
    CHECK(!evidence(form, "sm_90a").recording.empty());
    CHECK(evidence(form, "sm_90a").recording == evidence(other, "sm_90a").recording);
  }
}

TEST_CASE("a new form is not captured by being written") {
  for (const char* const form :
       {"add.f8", "add.rn.f32.f16", "atom.global.add.f8", "ex2.approx.f64", "mbarrier.arrive.f32"})
    for (const char* const target : {"sm_80", "sm_90a", "sm_120a"}) {
      CAPTURE(form, target);
      CHECK(evidence(form, target).rests != ptx::Rests::captured);
    }
  CHECK(evidence("no_such_opcode.f32", "sm_90a").rests == ptx::Rests::inferred);
}

TEST_CASE("each row of forms that a kernel can execute has a kind") {
  std::set<std::string_view> without;
  for (const ptx::ScalarForm& row : ptx::scalar_forms())
    ptx::for_each_form(row, [&](std::string_view opcode, std::span<const std::string_view> words) {
      const bool is_executed =
          row.row->kind != ptx::Kind::not_executed && row.row->kind != ptx::Kind::not_measured;
      CHECK((ptx::kind_of(row, words) != nullptr) == is_executed);
      if (is_executed) return;
      CHECK_FALSE(ptx::why_not_executed(row).empty());
      if (row.row->kind == ptx::Kind::not_executed && row.row->not_executed.empty()) without.insert(opcode);
    });
  CHECK(without == std::set<std::string_view>{"multimem", "fabric"});  // the opcode says why
}

TEST_CASE("a kind with something open says what was tried") {
  for (const ptx::KindRow& kind : ptx::kinds()) {
    INFO(kind.name);
    CHECK(kind.open.empty() == kind.tried.empty());
  }
}

// ---- What the manual defines

TEST_CASE("forms whose every bit the manual states are defined elsewhere, others inferred") {
  for (const char* const form :
       {"add.s32", "mad.lo.u64", "shl.b32", "setp.lt.f32", "selp.f32", "cvt.u16.u32", "cvt.rzi.s32.f32",
        "prmt.b32", "mov.b64", "ld.global.f32", "st.shared.v4.u32", "atom.global.add.u32",
        "cp.async.cg.shared.global", "bar.sync", "shfl.sync.idx.b32", "cvt.rn.f32.s32"})
    CHECK(evidence(form, "sm_80").rests == ptx::Rests::defined);
  for (const char* const form : {"div.s32", "rem.u64", "add.f32", "fma.rn.f64", "min.f16x2", "ex2.approx.f32",
                                 "div.full.f32", "cvt.rn.f16.f32", "cvt.f64.f32", "atom.global.add.f32",
                                 "mbarrier.arrive.shared.b64", "activemask.b32", "abs.f32", "bfe.u64"}) {
    INFO(form);
    CHECK(evidence(form, "sm_80").rests == ptx::Rests::inferred);
    CHECK(evidence(form, "sm_120a").rests == ptx::Rests::inferred);
    CHECK(evidence(form, "sm_90a").rests == ptx::Rests::captured);
  }
}

// ---- Functions of which every input is recorded

TEST_CASE("approximate functions are captured by all their inputs") {
  std::size_t exhaustive = 0;
  for (const auto& [form, large] : digests(kDigests)) {
    if (large == 0) continue;
    INFO(form);
    CHECK(large == 256);  // of 2^24 inputs each
    CHECK(evidence(form, "sm_90a").rests == ptx::Rests::captured);
    CHECK(evidence(form, "sm_100a").rests == ptx::Rests::inferred);
    ++exhaustive;
  }
  CHECK(exhaustive >= 15);
}

// ---- The table

TEST_CASE("the table of kinds counts the forms of the rows") {
  const std::vector<Target> targets = Target::all();
  std::size_t captured = 0;
  for (const ptx::KindEvidence& row : ptx::evidence_table()) {
    INFO(row.kind);
    REQUIRE(row.by_target.size() == targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const ptx::FormCounts& counts = row.by_target[i];
      if (!ptx::is_recorded(targets[i])) CHECK(counts.captured == 0);
      if (row.open.empty()) CHECK(counts.inferred == 0);
      if (!row.open.empty()) CHECK(counts.defined == 0);
      CHECK((counts.captured == 0 || !row.recordings.empty()));
      captured += counts.captured;
    }
  }
  CHECK(captured >= 7500);
}

}  // namespace kernel_evidence_test
