// SPDX-License-Identifier: Apache-2.0
// 2^24 + 1 + 1 by m16n8k16 on sm_90: one sum, so nothing is lost. 2^24 + 2 = 0x4b800001.
#include <cstdint>
#include <cstdio>
#include <vector>
#include <warpbit/execute.hpp>
#include <warpbit/format.hpp>
#include <warpbit/gemm.hpp>
#include <warpbit/layout.hpp>

int main() {
  using namespace warpbit;
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_90"));
  if (!mma) return std::puts(mma.error().message().c_str()), 1;
  // Rows of A are 1 at k = 0 and k = 8: lanes 0, 4, 8, ..., the low halves of all four registers. B is ones.
  std::vector<std::uint32_t> a(32 * 4), b(32 * 2, 0x3C003C00), c(32 * 4, 0x4B800000), d(32 * 4);
  for (std::size_t lane = 0; lane < 32; lane += 4)
    for (std::size_t r = 0; r < 4; ++r) a[lane * 4 + r] = 0x3C00;
  const std::vector<OperandView> sources = {OperandView::dense(a.data(), 32, 4, 32),
                                            OperandView::dense(b.data(), 32, 2, 32),
                                            OperandView::dense(c.data(), 32, 4, 32)};
  const Result<Execution> done = execute_batch(*mma, sources, ResultView::dense(d.data(), 32, 4, 32), 1);
  if (!done) return std::puts(done.error().message().c_str()), 1;
  for (const std::uint32_t word : d)
    if (word != 0x4B800001) return std::printf("0x%08x\n", static_cast<unsigned>(word)), 1;
  if (const Result<Target> none = Target::find("sm_1"); none || none.error().code != Errc::unknown_target)
    return std::puts("sm_1 exists"), 1;
  std::puts("D is 0x4b800001 everywhere");
}
