// SPDX-License-Identifier: Apache-2.0
// What a profile counts of copies in bulk, and of products and copies in tensor memory. The numbers are worked out by hand, of
// extents and addresses.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "kernel_head.hpp"
#include "warpbit/instruction.hpp"

namespace profile_copies_test {

using namespace warpbit;

struct Expected {
  std::string statement;  // a part of it
  ptx::Counts counts;
};

// A kernel with its head (kernel_head.hpp).
void check(const std::string& text, const std::vector<Expected>& expected, bool checks = true) {
  kernel_head::Case given(text);
  given.how.profile = true;
  given.how.check_shared = given.how.check_global = checks;
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> kernel = module->function("kernel");
  REQUIRE(kernel);
  for (const auto& array : given.arrays) REQUIRE(ptx::address(array->bytes) % 256 == 0);
  const ptx::Report report = kernel->launch(given.how, given.arguments);
  if (report.fault) FAIL(report.fault->message());
  for (const Expected& row : expected) {
    INFO(row.statement);
    const auto found = std::ranges::find_if(report.profile, [&](const ptx::LineCounts& one) {
      return one.statement.find(row.statement) != std::string::npos;
    });
    REQUIRE(found != report.profile.end());
    CHECK(found->lanes == row.counts.lanes);
    CHECK(found->bytes == row.counts.bytes);
    CHECK(found->sectors == row.counts.sectors);
    CHECK(found->least_sectors == row.counts.least_sectors);
    CHECK(found->shared_bytes == row.counts.shared_bytes);
    CHECK(found->tensor_bytes == row.counts.tensor_bytes);
    CHECK(found->products == row.counts.products);
  }
}

// ---- Copies in bulk

// 256 bytes from a multiple of 32 on are 8 sectors, from 16 on 0 to 8: 9. 48 bytes from 16 to 63: 2, and 2 would do. Two lanes
// that copy the same 32 bytes read one sector each.
TEST_CASE("copies of bytes touch the sectors in which they lie") {
  check(R"(// launch: block 2
// array: u8[1024] = 0 -> 0
.version 8.7
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 param0)
{
  .reg .pred other, done;
  .reg .b32 tid, bar, to;
  .reg .b64 from, at;
  .shared .align 8 .b8 object[8];
  .shared .align 128 .b8 tile[1024];
  ld.param.u64 from, [param0];
  mov.u32 tid, %tid.x;
  mov.u32 bar, object;
  mov.u32 to, tile;
  setp.ne.u32 other, tid, 0;
  @!other mbarrier.init.shared::cta.b64 [bar], 2;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mad.lo.u32 to, tid, 32, to;
  @other bra SAME;
  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 512;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to+256], [from], 256, [bar];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to+512], [from+16], 256, [bar];
  cp.async.bulk.prefetch.L2.global [from], 256;
SAME:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], 32, [bar];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;
  @!done bra WAIT;
  @other bra END;
  cp.async.bulk.global.shared::cta.bulk_group [from+16], [to+256], 48;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [from+512], [to+256], 64;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
  ret;
}
)",
        {{"[from], 256, [bar]",
          {.lanes = 1, .bytes = 256, .sectors = 8, .least_sectors = 8, .shared_bytes = 256}},
         {"[from+16], 256", {.lanes = 1, .bytes = 256, .sectors = 9, .least_sectors = 8, .shared_bytes = 256}},
         {"prefetch", {.lanes = 1}},
         {"[from], 32", {.lanes = 2, .bytes = 64, .sectors = 2, .least_sectors = 2, .shared_bytes = 64}},
         {"[from+16], [to", {.lanes = 1, .bytes = 48, .sectors = 2, .least_sectors = 2, .shared_bytes = 48}},
         {"cp.reduce", {.lanes = 1, .bytes = 64, .sectors = 2, .least_sectors = 2, .shared_bytes = 64}}});
}

// A tensor of 12 by 8 words: row r has the bytes from 48 r on. A box of 8 by 8 from column 4 on has of each row 32 bytes, from 48 r
// + 16 on: two sectors of an even row (16, 112, 208, 304), one of an odd row (64, 160, 256, 352), all different. From column 8 and row
// 6 on four words of two rows are within: bytes 320 to 335 and 368 to 383, of sectors 10 and 11; one could hold both.
TEST_CASE("a tensor copy touches the sectors of the part of its box that is in the tensor") {
  const ptx::Counts within{.lanes = 1, .bytes = 256, .sectors = 12, .least_sectors = 8, .shared_bytes = 256},
      beyond{.lanes = 1, .bytes = 256, .sectors = 2, .least_sectors = 1, .shared_bytes = 256};
  check(R"(// launch: block 1
// array: u32[96] = 0 -> 0
// map: array 0 u32 dims 12 8 box 8 8
.version 8.7
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 param0, .param .align 64 .b8 map1[128])
{
  .reg .pred done;
  .reg .b32 bar, to, x4, x8, y0, y6;
  .reg .b64 map;
  .shared .align 8 .b8 object[8];
  .shared .align 128 .b8 tile[512];
  mov.b64 map, map1;
  cvta.param.u64 map, map;
  mov.u32 bar, object;
  mov.u32 to, tile;
  mov.u32 x4, 4;
  mov.u32 x8, 8;
  mov.u32 y0, 0;
  mov.u32 y6, 6;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [to], [map, {x4, y0}], [bar];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [to+256], [map, {x8, y6}], [bar];
  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [map, {x4, y0}];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;
  @!done bra WAIT;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {x4, y0}], [to];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [map, {x8, y6}], [to];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)",
        {{"[to], [map, {x4, y0}]", within},
         {"[to+256], [map, {x8, y6}]", beyond},
         {"prefetch", {.lanes = 1}},
         {"global.shared::cta.tile.bulk_group", within},
         {"cp.reduce", beyond}});
}

// 64 bytes for two blocks: 2 sectors are read, and 64 bytes written in each.
TEST_CASE("a multicast reads once") {
  check(R"(// launch: grid 2 block 1 cluster 2
// array: u8[256] = 0 -> 0
.version 8.7
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 param0)
{
  .reg .pred other, done;
  .reg .b32 bar, to, rank;
  .reg .b16 mask;
  .reg .b64 from;
  .shared .align 8 .b8 object[8];
  .shared .align 128 .b8 tile[64];
  ld.param.u64 from, [param0];
  mov.u32 bar, object;
  mov.u32 to, tile;
  mov.u32 rank, %cluster_ctarank;
  mov.u16 mask, 3;
  setp.ne.u32 other, rank, 0;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @other bra WAIT;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [to], [from], 64, [bar], mask;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;
  @!done bra WAIT;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)",
        {{"multicast", {.lanes = 1, .bytes = 64, .sectors = 2, .least_sectors = 2, .shared_bytes = 128}}});
}

// ---- Tensor memory

std::string correct(const std::string& name) {
  std::ifstream in("tests/correct/" + name + ".ptx");
  return {std::istreambuf_iterator<char>(in), {}};
}

// f16, D of f32. M 128, N 16, K 16: A has 4096 bytes, B 512, D 8192.
TEST_CASE("products and copies in tensor memory read and write their matrices") {
  constexpr std::uint64_t kA = 4096, kB = 512, kD = 8192, kProducts = 128 * 16 * 16;
  check(correct("tcgen05_mma_f16"),
        {{"tcgen05.mma", {.lanes = 1, .shared_bytes = kA + kB, .tensor_bytes = kD, .products = kProducts}},
         {"tcgen05.ld", {.lanes = 128, .tensor_bytes = kD}}});
  // Four steps of K, of which the first does not read D; a tile of 128 rows of 128 bytes, and one of 16.
  check(
      correct("tcgen05_fed_by_tensor_copies"),
      {{"tcgen05.mma",
        {.lanes = 4, .shared_bytes = 4 * (kA + kB), .tensor_bytes = 7 * kD, .products = 4 * kProducts}},
       {"[a], [m2", {.lanes = 1, .bytes = 16384, .sectors = 512, .least_sectors = 512, .shared_bytes = 16384}},
       {"[b], [m3", {.lanes = 1, .bytes = 2048, .sectors = 64, .least_sectors = 64, .shared_bytes = 2048}}});
  check(correct("tcgen05_a_in_tensor_memory"),
        {{"tcgen05.mma", {.lanes = 1, .shared_bytes = kB, .tensor_bytes = kA + kD, .products = kProducts}}});
  // M 256, N 32 of two blocks.
  check(correct("tcgen05_pair_of_blocks"),
        {{"tcgen05.mma",
          {.lanes = 1, .shared_bytes = 2 * (kA + kB), .tensor_bytes = 4 * kD, .products = 4 * kProducts}}});
  // 128 rows of 128 bits
  check(correct("tcgen05_copy_from_shared"),
        {{"tcgen05.cp", {.lanes = 1, .shared_bytes = 2048, .tensor_bytes = 2048}}});
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  REQUIRE(text.find(what) != text.npos);
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// The kernel of f16 with another product, of M 128 and N 16. What its matrices hold means nothing; metadata choose the first two of
// each four.
std::string with_product(const std::string& form, const std::string& operands, std::uint32_t descriptor) {
  std::string text = replaced(correct("tcgen05_mma_f16"), "0x08040010", fmt::format("{:#x}", descriptor));
  text = replaced(text, "[where], 32;", "[where], 512;");
  text = replaced(text, "r70, 32;", "r70, 512;");
  text = replaced(text, ".b8 b[512]", ".b8 b[4096]");
  text = replaced(text, "  mov.u32 r89, a;\n", R"(  mov.u32 r20, 0x44444444;
  tcgen05.st.sync.aligned.32x32b.x2.b32 [r71+256], {r20, r20};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  mov.u32 r89, a;
)");
  return replaced(text, "tcgen05.mma.cta_group::1.kind::f16 [r70], d0, d1, r75, t;",
                  fmt::format("{} [r70], d0, d1, {}, t;", form, operands));
}

// Of M 128 and N 16, with A and B alike and D of f32.
InstructionDescriptor types(std::string_view factors, std::string_view scale = "") {
  InstructionDescriptor out;
  out.m = 128;
  out.n = 16;
  out.a = out.b = factors;
  out.d = "f32";
  out.scale = scale;
  return out;
}

TEST_CASE("elements have the bytes that they take, metadata and scale factors count once") {
  constexpr std::uint64_t kD = 8192;
  struct Row {
    std::string form, operands;
    TensorMma mma;
    InstructionDescriptor of;
    ptx::Counts counts;
  };
  const Row rows[] = {
      // 16 elements of 4 bits begin each 16 bytes: 128 32 and 16 32 bytes
      {"tcgen05.mma.cta_group::1.kind::f8f6f4",
       "r75",
       {.kind = TensorKind::f8f6f4},
       types("e2m1"),
       {.lanes = 1, .shared_bytes = 4096 + 512, .tensor_bytes = kD, .products = 128 * 16 * 32}},
      // 16 of K 32 are stored: A 128 16 2, B 16 32 2; of metadata 8 times 4 bits for each row
      {"tcgen05.mma.sp.cta_group::1.kind::f16",
       "[r70+256], r75",
       {.kind = TensorKind::f16, .is_sparse = true},
       types("f16"),
       {.lanes = 1, .shared_bytes = 4096 + 1024, .tensor_bytes = kD + 128 * 8 / 2, .products = 128 * 16 * 16}},
      // a factor for each 32 of K
      {"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X",
       "r75, [r70+256], [r70+264]",
       {.kind = TensorKind::mxf8f6f4, .scale_vec = 1},
       types("e4m3", "ue8m0"),
       {.lanes = 1, .shared_bytes = 4096 + 512, .tensor_bytes = kD + 128 + 16, .products = 128 * 16 * 32}},
      // K 64 of 4 bits, a factor for each 16
      {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X",
       "r75, [r70+256], [r70+264]",
       {.kind = TensorKind::mxf4nvf4, .scale_vec = 4},
       types("e2m1", "ue4m3"),
       {.lanes = 1,
        .shared_bytes = 4096 + 512,
        .tensor_bytes = kD + 4 * (128 + 16),
        .products = 128 * 16 * 64}},
  };
  for (const Row& row : rows) {
    INFO(row.form);
    InstructionDescriptor of = row.of;
    of.is_sparse = row.mma.is_sparse;
    const Result<std::uint32_t> descriptor = of.encode(row.mma, *Target::find_ptx("sm_100a"));
    if (!descriptor) FAIL(descriptor.error().message());
    check(with_product(row.form, row.operands, *descriptor), {{"tcgen05.mma", row.counts}}, false);
  }
}

}  // namespace profile_copies_test
