// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/correct/: each is correct by the PTX manual, or by time alone, as its head says, so that a launch has
// neither a fault nor a finding and leaves the bytes that its head (kernel_head.hpp) says, by a formula.
#include <catch2/catch.hpp>

#include "in_turn.hpp"
#include "kernel_head.hpp"

namespace correct_kernels_test {

using namespace warpbit;
using namespace kernel_head;
using Catch::Contains, Catch::EndsWith;

/// How a kernel is launched.
struct Way {
  bool strict = false;
  std::uint64_t schedule = 0;
  bool as_written = false;
};

/// What is wrong with a launch; empty: nothing.
std::string wrong(const std::string& text, Case& test, Way way) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) return module.error().message();
  const Result<ptx::Function> kernel = module->function(module->entries().at(0));
  if (!kernel && !test.refused.empty() &&
      kernel.error().message().ends_with("is not modelled yet: " + test.refused))
    return "";
  if (!kernel) return kernel.error().message();
  if (!test.refused.empty()) return "it is modelled";
  for (const auto& array : test.arrays)
    std::copy(array->before.begin(), array->before.end(), array->bytes.begin());
  test.how.strict = way.strict;
  test.how.schedule = way.schedule;
  test.how.as_written = way.as_written;
  test.how.step_limit = 2'000'000;
  const ptx::Report report = kernel->launch(test.how, test.arguments);
  if (!test.accused.empty())
    return report.fault && report.fault->message().find(test.accused) != std::string::npos
               ? ""
               : "it is accused no more";
  if (report.fault) return "fault: " + report.fault->message();
  if (!report.findings.empty()) return "finding: " + report.findings[0].fault.message();
  if (report.printed != test.prints) return "printed: " + report.printed;
  for (const auto& array : test.arrays)
    if (const std::string found = difference(*array); !found.empty()) return found;
  return "";
}

// In another order of its threads such a kernel is wrong.
bool is_right_by_time(const std::string& text) {
  return text.find("// Right by time alone") != std::string::npos;
}

TEST_CASE("there are 150 correct kernels") {
  CHECK(kernels("tests/correct").size() >= 150);
}

TEST_CASE("correct kernels have no fault, no finding, and the bytes that they should have", "[sampled]") {
  std::size_t turn = 0;
  for (const File& kernel : kernels("tests/correct")) {
    Case test(kernel.text);
    ++turn;
    const Way ways[] = {{}, {.strict = true}, {.schedule = turn}, {.as_written = true}};
    for (std::size_t i = 0; i < std::size(ways); ++i) {
      if (!has_turn(turn, i, std::size(ways))) continue;
      if (ways[i].schedule != 0 && is_right_by_time(kernel.text)) continue;
      INFO(kernel.name << (ways[i].strict ? ", strict" : "") << (ways[i].as_written ? ", as written" : "")
                       << ", schedule " << ways[i].schedule);
      CHECK(wrong(kernel.text, test, ways[i]) == "");
    }
  }
}

// Modules as compilers of CUDA 13.2 to 13.5 write them, whose names begin with "later_": each has forms of one version, which
// are refused before and on a lesser target. One has old forms alone, and five stand on a target of PTX 9.4: of these the
// target is refused before.
TEST_CASE("modules of PTX 9.1 to 9.5 are refused before, and on lesser targets, by what they show", "[quick]") {
  struct Later {
    std::string_view kernel, target, before, since, shows;
    std::string_view lesser;        // empty: there a directive is refused before an instruction is
    std::string_view missing = {};  // empty: what it shows
  };
  constexpr Later kLater[] = {
      {"nvfp4_gemm", "sm_120a", "9.0", "9.1",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
       "sm_120"},
      {"nvfp4_sparse_gemm", "sm_120a", "9.0", "9.1",
       "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
       ".f32.e2m1.e2m1.f32.ue8m0",
       "sm_120f"},
      {"casts_to_narrow", "sm_120f", "9.0", "9.1", "cvt.rn.satfinite.e4m3x2.bf16x2", "sm_90a"},
      {"casts_from_narrow", "sm_120f", "9.1", "9.2", "cvt.rn.bf16x2.e4m3x2", "sm_120"},
      {"pixels_of_bytes", "sm_120f", "9.1", "9.2", "add.sat.u8x4", "sm_100f"},
      {"ragged_copy", "sm_90", "9.1", "9.2",
       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob", "sm_89",
       "fence.mbarrier_init.release.cluster"},
      {"crc_by_clmad", "sm_90a", "9.2", "9.3", "clmad.hi.u64", ""},
      {"int8_by_int4", "sm_90a", "9.3", "9.4", "ldmatrix.sync.aligned.m8n16.x4.shared::cta.s8.s4", "sm_90"},
      {"casts_of_rubin", "sm_107a", "9.3", "9.4", ".target sm_107a", "sm_103a", "cvt.rn.satfinite.ue5m3x2.f32"},
      {"rubin_f16", "sm_107a", "9.3", "9.4", ".target sm_107a", "sm_107",
       "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"},
      {"rubin_fp4_k96", "sm_107a", "9.3", "9.4", ".target sm_107a", "sm_107",
       "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"},
      {"strong_copies", "sm_90a", "9.2", "9.3", "mbarrier.init.layout::v1.shared::cta.b64", "sm_90",
       "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128"},
      {"wide_masks", "sm_107f", "9.3", "9.4", ".target sm_107f", "sm_107",
       "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.multicast::cluster::32b.b64"},
      {"map_of_three_tensors", "sm_107f", "9.3", "9.4", ".target sm_107f", "sm_100f",
       "cp.async.bulk.prefetch.tensor.1d.L2.global.tile.L2::evict_last.override::global_address"},
      {"readonly_loads", "sm_90", "9.3", "9.4", "prefetch.global.L1::32B.valid_addr", "sm_89"},
      {"multistage_wgmma", "sm_90a", "7.8", "8.0", ".target sm_90a", "sm_90",
       "setmaxnreg.dec.sync.aligned.u32"},
  };
  const auto errors = [](std::string text, std::string_view version, std::string_view target) {
    const std::size_t at = text.find("\n.version "), end = text.find("\n.address_size");
    text.replace(at, end - at, fmt::format("\n.version {}\n.target {}", version, target));
    const Result<ptx::Module> module = ptx::Module::load(text);
    return module ? module->check() : std::vector{module.error()};
  };
  for (const Later& c : kLater) {
    INFO(c.kernel);
    std::ifstream in(fmt::format("tests/correct/later_{}.ptx", c.kernel));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const std::string_view version : {c.since, std::string_view("9.5")})
      CHECK(errors(text, version, c.target).empty());
    const std::vector<Error> early = errors(text, c.before, c.target);
    REQUIRE_FALSE(early.empty());
    CHECK_THAT(early[0].message(), EndsWith(fmt::format("{} does not exist in PTX {}; it exists from PTX {} on",
                                                        c.shows, c.before, c.since)));
    for (const Error& error : early) CHECK(error.code == Errc::not_in_version);
    if (c.lesser.empty()) continue;
    const std::vector<Error> elsewhere = errors(text, "9.5", c.lesser);
    REQUIRE_FALSE(elsewhere.empty());
    CHECK_THAT(elsewhere[0].message(),
               Contains(fmt::format("{} does not exist on {}; it exists on ",
                                    c.missing.empty() ? c.shows : c.missing, c.lesser)));
    for (const Error& error : elsewhere) CHECK(error.code == Errc::not_on_target);
  }
}

}  // namespace correct_kernels_test
