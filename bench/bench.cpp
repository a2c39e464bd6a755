// SPDX-License-Identifier: Apache-2.0
// Time of one tile on one core, for a few instructions that differ in their arithmetic. No test is timed.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "warpbit/execute.hpp"

namespace {

using namespace warpbit;

constexpr std::size_t kCases = 64;

// Codes near 1 in every format of 16 bits: sums neither vanish nor overflow.
std::uint32_t pattern(std::uint32_t i) {
  return 0x3C003800u ^ ((i * 2654435761u) & 0x03FF03FFu);
}

void tile(benchmark::State& state, const char* form, const char* target_name) {
  const Result<Target> target = Target::find(target_name);
  const Result<Instruction> instruction = target ? Instruction::parse(form, *target) : target.error();
  if (!instruction) {
    state.SkipWithError(instruction.error().message().c_str());
    return;
  }
  std::vector<std::vector<std::uint32_t>> registers;
  for (const Operand& op : instruction->operands()) {
    const std::size_t words =
        kCases * static_cast<std::size_t>(instruction->lanes() * op.registers * op.register_bits / 32);
    registers.emplace_back(words);
    for (std::size_t i = 0; i < words; ++i) registers.back()[i] = pattern(static_cast<std::uint32_t>(i));
  }
  const auto dense = [&](std::size_t i) {
    const Operand& op = instruction->operands()[i];
    return OperandView::dense(registers[i].data(), instruction->lanes(), op.registers, op.register_bits);
  };
  const Operand& d = instruction->operands()[0];
  const ResultView out =
      ResultView::dense(registers[0].data(), instruction->lanes(), d.registers, d.register_bits);
  const std::vector<OperandView> sources = {dense(1), dense(2), dense(3)};
  ExecuteOptions options;
  options.threads = 1;
  for (auto _ : state) {
    const Result<Execution> done = execute_batch(*instruction, sources, out, kCases, options);
    if (!done) state.SkipWithError(done.error().message().c_str());
    benchmark::DoNotOptimize(registers[0].data());
  }
  state.counters["time_per_tile"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kCases,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK_CAPTURE(tile, m16n8k16_f16_sm_80, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80");
BENCHMARK_CAPTURE(tile, m16n8k16_f16_sm_90, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90");
BENCHMARK_CAPTURE(tile, m16n8k8_tf32_sm_90, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "sm_90");
BENCHMARK_CAPTURE(tile, m16n8k32_e4m3_sm_90, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90");
BENCHMARK_CAPTURE(tile, m16n8k32_e4m3_sm_120, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_120");
BENCHMARK_CAPTURE(tile, m16n8k32_s8_sm_80, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_80");
BENCHMARK_CAPTURE(tile, m16n8k256_b1_sm_80, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
                  "sm_80");
BENCHMARK_CAPTURE(tile, m16n8k16_f64_sm_90, "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "sm_90");

BENCHMARK_MAIN();
