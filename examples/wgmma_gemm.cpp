// SPDX-License-Identifier: Apache-2.0
// The main loop of a matrix product as a kernel writes it: one warpgroup, a tile of 64 x 128 in bf16, K = 256,
// through a ring of four stages in shared memory. The result equals that of the same instructions one after
// another, bit by bit; and without its fence the kernel is refused.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "warpbit/descriptor.hpp"
#include "warpbit/machine.hpp"

namespace {

using namespace warpbit;

constexpr int kM = 64, kN = 128, kK = 256;
constexpr int kStageK = 64, kStages = 4,
              kSteps = kK / kStageK;  // 64 bf16 are 128 bytes, the span of the swizzle
constexpr int kProductK = 16;
constexpr std::uint32_t kRow = 128, kBytesOfA = kM * kRow, kStageBytes = kBytesOfA + kN * kRow;

// Registers: 64 accumulators, then the descriptors.
constexpr int kD = 0, kAccumulators = 64, kDescriptorA = 64, kDescriptorB = 65, kRegisters = 66, kLanes = 128;
const Binding kBinding = {kD, kDescriptorA, kDescriptorB, 0, 0, 0, 0, 0};

// A row of K for each row of A or column of B; values around 1, of both signs.
using Matrix = std::vector<std::uint16_t>;

Matrix random_matrix(int rows, std::uint32_t seed) {
  Matrix out(static_cast<std::size_t>(rows) * kK);
  for (std::uint16_t& element : out) {
    seed = seed * 1664525 + 1013904223;
    element = static_cast<std::uint16_t>(seed >> 31 << 15 | (124 + (seed >> 28 & 7)) << 7 | (seed >> 8 & 0x7F));
  }
  return out;
}

// The columns of one step as they lie in shared memory: rows of 128 bytes, whose 16-byte chunks are exchanged
// by the number of the row.
void add_rows(const Matrix& matrix, int step, std::vector<std::byte>& image) {
  for (std::size_t row = 0; row < matrix.size() / kK; ++row)
    for (std::size_t byte = 0; byte < kRow; ++byte) {
      const std::size_t unswizzled = byte ^ (row % 8) * 16;
      const std::uint16_t element =
          matrix[row * kK + static_cast<std::size_t>(step) * kStageK + unswizzled / 2];
      image.push_back(static_cast<std::byte>(element >> unswizzled % 2 * 8));
    }
}

struct Problem {
  Matrix a = random_matrix(kM, 1), b = random_matrix(kN, 2);

  std::vector<std::byte> stage(int step) const {
    std::vector<std::byte> out;
    add_rows(a, step, out);
    add_rows(b, step, out);
    return out;
  }
};

// K-major with a swizzle of 128 bytes: eight rows are 1024 bytes, the leading offset is ignored.
std::uint64_t descriptor(std::uint32_t start) {
  return Descriptor{.start = start, .stride = 8 * kRow, .swizzle = Swizzle::bytes_128}.encode().value();
}
// Of product `i` of a step: 16 bf16 further along K.
std::uint64_t descriptor_a(std::uint32_t stage, int i) {
  return descriptor(stage + static_cast<std::uint32_t>(i * kProductK * 2));
}
std::uint64_t descriptor_b(std::uint32_t stage, int i) {
  return descriptor_a(stage + kBytesOfA, i);
}

struct Instructions {
  Target target = *Target::find("sm_90a");
  Instruction product = *Instruction::parse(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {d}, a_desc, b_desc, 1, 1, 1, 0, 0;", target);
  Instruction fence = *Instruction::parse("wgmma.fence.sync.aligned;", target);
  Instruction commit = *Instruction::parse("wgmma.commit_group.sync.aligned;", target);
  Instruction wait_1 = *Instruction::parse("wgmma.wait_group.sync.aligned 1;", target);
  Instruction wait_0 = *Instruction::parse("wgmma.wait_group.sync.aligned 0;", target);
};

// A machine of one warpgroup that stops at the first refusal.
class Warpgroup {
 public:
  std::optional<Error> refusal;

  void execute(const Instruction& instruction, const Binding& binding = {}) {
    if (!refusal) keep(machine_.execute(0, instruction, binding));
  }
  void set(int reg, std::uint64_t value) {
    for (int lane = 0; lane < kLanes && !refusal; ++lane) keep(machine_.write_register(0, lane, reg, value));
  }
  std::uint32_t get(int lane, int reg) {
    Result<std::uint64_t> value = refusal ? *refusal : machine_.read_register(0, lane, reg);
    keep(value);
    return value ? static_cast<std::uint32_t>(*value) : 0;
  }
  void fill(std::uint32_t address, const std::vector<std::byte>& bytes) {
    if (!refusal) keep(machine_.copy_async(address, bytes));
  }

 private:
  template <class T>
  void keep(const Result<T>& result) {
    if (!result) refusal = result.error();
  }
  Machine machine_{4, kRegisters, Memory(kStages* kStageBytes)};
};

constexpr std::uint32_t stage_of(int step) {
  return static_cast<std::uint32_t>(step % kStages) * kStageBytes;
}

Result<std::vector<std::uint32_t>> kernel(const Problem& problem, const Instructions& i, bool with_fence) {
  Warpgroup group;
  for (int step = 0; step < kStages - 1; ++step) group.fill(stage_of(step), problem.stage(step));
  for (int reg = kD; reg < kD + kAccumulators; ++reg) group.set(reg, 0);
  for (int step = 0; step < kSteps; ++step) {
    if (with_fence) group.execute(i.fence);
    for (int k = 0; k < kStageK / kProductK; ++k) {
      group.set(kDescriptorA, descriptor_a(stage_of(step), k));
      group.set(kDescriptorB, descriptor_b(stage_of(step), k));
      group.execute(i.product, kBinding);
    }
    group.execute(i.commit);
    group.execute(i.wait_1, {0});  // the step before has read its stage, which is filled again
    if (const int next = step + kStages - 1; next < kSteps) group.fill(stage_of(next), problem.stage(next));
  }
  group.execute(i.wait_0, {0});

  std::vector<std::uint32_t> d;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int reg = kD; reg < kD + kAccumulators; ++reg) d.push_back(group.get(lane, reg));
  if (group.refusal) return *group.refusal;
  return d;
}

// The same products, each complete before the next.
Result<std::vector<std::uint32_t>> one_by_one(const Problem& problem, const Instructions& i) {
  Registers registers(kLanes, kRegisters);
  Memory memory(kStageBytes);
  const std::vector<const Instruction*> all(kLanes, &i.product);
  for (int step = 0; step < kSteps; ++step) {
    if (Result<void> filled = memory.write(Space::shared, 0, problem.stage(step)); !filled)
      return filled.error();
    for (int k = 0; k < kStageK / kProductK; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        registers.write(lane, kDescriptorA, descriptor_a(0, k));
        registers.write(lane, kDescriptorB, descriptor_b(0, k));
      }
      const Result<Effects> effects = execute_warp(all, kBinding, registers, memory);
      if (!effects) return effects.error();
      apply(*effects, registers);
    }
  }
  std::vector<std::uint32_t> d;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int reg = kD; reg < kD + kAccumulators; ++reg)
      d.push_back(static_cast<std::uint32_t>(registers.read(lane, reg)));
  return d;
}

}  // namespace

int main() {
  const Problem problem;
  const Instructions instructions;
  const auto expected = one_by_one(problem, instructions), d = kernel(problem, instructions, true);
  if (!expected || !d)
    return std::fprintf(stderr, "%s\n", (expected ? d.error() : expected.error()).message().c_str());
  std::size_t equal = 0;
  for (std::size_t n = 0; n < d->size(); ++n) equal += (*d)[n] == (*expected)[n];
  std::printf("%zu of %zu accumulators equal\n", equal, d->size());

  const auto refused = kernel(problem, instructions, false);
  std::printf("without the fence: %s\n", refused ? "accepted" : refused.error().message().c_str());
}
