// SPDX-License-Identifier: Apache-2.0
// A batch in C++ alone, timed by itself: what overhead.py compares Python with.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "warpbit/execute.hpp"

using namespace warpbit;

/// Seconds that execute_batch takes on one thread, of dense registers of m16n8k16; negative if it is refused.
extern "C" __attribute__((visibility("default"))) double overhead_batch(const char* form, const char* target,
                                                                        const void* a, const void* b,
                                                                        const void* c, void* d,
                                                                        std::size_t cases) {
  const Result<Target> found = Target::find(target);
  if (!found) return -1;
  static const Result<Instruction> mma = Instruction::parse(form, *found);
  if (!mma) return -1;
  const auto start = std::chrono::steady_clock::now();
  const OperandView sources[] = {OperandView::dense(a, 32, 4, 32), OperandView::dense(b, 32, 2, 32),
                                 OperandView::dense(c, 32, 4, 32)};
  ExecuteOptions options;
  options.threads = 1;
  const Result<Execution> done = execute_batch(*mma, sources, ResultView::dense(d, 32, 4, 32), cases, options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return done ? taken.count() : -1;
}
