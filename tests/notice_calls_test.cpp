// SPDX-License-Identifier: Apache-2.0
// warpbit notice: what mistakes make of calls of kernels in source.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "device_inputs.hpp"
#include "notice/mistakes.hpp"

namespace notice_calls_test {

using namespace warpbit;

using How = PlantedCall::Change;

struct ChangedCall {
  std::string kind, call;
  How change = How::left_out;
  std::string operand = {}, text = {};  ///< the name of an operand; of a statement
};
const std::string
    kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    kSparse = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, ",
    kWgmma = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {d}, a_desc, b_desc, p, ",
    kScaled =
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0";
const ChangedCall kCalls[] = {
    {"barrier", "__syncthreads"},
    {"barrier", "barrier.cluster.arrive"},
    {"fence", "fence.proxy.async"},
    {"fence", "wgmma.fence.sync.aligned"},
    {"fence", "fence.mbarrier_init"},
    {"wait", "cp.async.wait_all"},
    {"wait", "cp.async.wait_group 1"},
    {"wait", "cp.async.wait_group 1", How::one_more},
    {"wait", "cp.async.bulk.wait_group 0", How::one_more},
    {"wait", "wgmma.wait_group.sync.aligned 0;"},
    {"wait", "wgmma.wait_group.sync.aligned 0;", How::statement, "", "wgmma.wait_group.sync.aligned 1;"},
    {"wait", "mbarrier.try_wait"},
    {"wait", "tcgen05.wait::ld.sync.aligned"},
    {"parity", "mbarrier.test_wait.parity", How::toggled},
    {"arrival", "mbarrier.arrive.expect_tx"},
    {"arrival", "cp.async.mbarrier.arrive.noinc"},
    {"arrival", "cp.async.commit_group"},
    {"arrival", "wgmma.commit_group.sync.aligned"},
    {"copy", "cp.async.ca.shared.global"},
    {"copy", "cp.async.bulk.tensor.shared::cluster.global.tile"},
    {"store", "st.shared.b16"},
    {"store", "stmatrix.sync.aligned.m8n8.x1.shared.b16"},
    {"fragment", kMma, How::exchanged, "a"},
    {"fragment", kMma, How::exchanged, "d"},
    {"fragment", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", How::exchanged, "r"},
    {"fragment", "stmatrix.sync.aligned.m8n8.x4.shared.b16", How::exchanged, "r"},
    {"transposed", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", How::statement, "",
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
    {"transposed", "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", How::statement, "",
     "stmatrix.sync.aligned.m8n8.x2.shared.b16"},
    {"transposed", kWgmma + "1, 1, 0, 0;", How::statement, "", kWgmma + "1, 1, 0, 1;"},
    {"transposed", kWgmma + "1, 1, 0, 0;", How::statement, "", kWgmma + "1, 1, 1, 0;"},
    {"selector", kSparse + "0;", How::statement, "", kSparse + "1;"},
    {"selector", kScaled, How::toggled, "sel_a"},
    {"product_sign", kWgmma + "1, 1, 0, 0;", How::statement, "", kWgmma + "-1, 1, 0, 0;"},
    {"product", kMma},
    {"product", kWgmma + "1, 1, 0, 0;"},
    {"accumulation", kMma, How::added, "c"},
    {"offset", "ld.global.b32", How::further},
    {"literal", "__shfl_down_sync", How::one_more},
    {"rounding", "cvt.rn.f16x2.f32", How::statement, "", "cvt.rz.f16x2.f32"},
};
// Calls of which nothing of the kind is made.
const ChangedCall kNoCalls[] = {
    {"copy", "cp.async.wait_group 1"},
    {"copy", "cp.async.commit_group"},
    {"wait", "mbarrier.arrive"},
    {"parity", "mbarrier.try_wait"},
    {"transposed", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"},
    {"accumulation", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"},
    {"rounding", "cvt.rn.satfinite.e4m3x2.f32"},
    {"product_sign", kWgmma + "-1, 1, 0, 0;"},
};

std::vector<noticing::CallChange> changes_of(const std::string& kind, const std::string& text,
                                             const char* target) {
  noticing::Call call{text, device_inputs::target(target)};
  if (const Result<Instruction> instruction = Instruction::parse(text, call.target))
    call.instruction = *instruction;
  std::vector<noticing::CallChange> out;
  for (const noticing::KindRow& row : noticing::kind_rows())
    if (row.name == kind && row.add_call != nullptr) row.add_call(call, out);
  for (const noticing::CallChange& one : out) CHECK_FALSE(one.sentence.empty());
  return out;
}

TEST_CASE("each kind of mistakes changes calls as it says") {
  std::set<std::string> seen;
  for (const ChangedCall& one : kCalls) {
    CAPTURE(one.kind, one.call, one.text);
    const char* const target = one.call == kScaled ? "sm_120a" : "sm_90a";
    const Result<Instruction> instruction = Instruction::parse(one.call, device_inputs::target(target));
    const auto is_it = [&](const noticing::CallChange& got) {
      return got.change == one.change && got.text == one.text &&
             (one.operand.empty() || instruction->operands()[got.operand].role == one.operand);
    };
    const std::vector<noticing::CallChange> all = changes_of(one.kind, one.call, target);
    CHECK(std::count_if(all.begin(), all.end(), is_it) == 1);
    seen.insert(one.kind);
  }
  for (const noticing::KindRow& row : noticing::kind_rows())
    CHECK(seen.contains(std::string(row.name)) == (row.add_call != nullptr));
  for (const ChangedCall& one : kNoCalls) {
    CAPTURE(one.kind, one.call);
    CHECK(changes_of(one.kind, one.call, "sm_100a").size() + changes_of(one.kind, one.call, "sm_90a").size() ==
          0);
  }
}

}  // namespace notice_calls_test
