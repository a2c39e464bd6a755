// SPDX-License-Identifier: Apache-2.0
// One warp multiplies two matrices of ones. Prints "D[0,0] = 0x41800000".
#include <cstdint>
#include <cstdio>
#include <vector>

#include "warpbit/execute.hpp"

int main() {
  using namespace warpbit;
  const Result<Target> target = Target::find("sm_90");
  if (!target) return std::fprintf(stderr, "%s\n", target.error().message().c_str());
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *target);
  if (!mma) return std::fprintf(stderr, "%s\n", mma.error().message().c_str());

  std::vector<std::uint32_t> a(32 * 4, 0x3C003C00), b(32 * 2, 0x3C003C00), c(32 * 4), d(32 * 4);
  const std::vector<OperandView> sources = {OperandView::dense(a.data(), 32, 4, 32),
                                            OperandView::dense(b.data(), 32, 2, 32),
                                            OperandView::dense(c.data(), 32, 4, 32)};
  const Result<Execution> done = execute_batch(*mma, sources, ResultView::dense(d.data(), 32, 4, 32), 1);
  if (!done) return std::fprintf(stderr, "%s\n", done.error().message().c_str());

  const Place p = mma->operands()[0].fragment.find({0, 0})[0];  // which lane and register hold D[0,0]?
  std::printf("D[0,0] = 0x%08x\n", static_cast<unsigned>(d[static_cast<std::size_t>(p.lane * 4 + p.reg)]));
}
