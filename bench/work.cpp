// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "operands.hpp"
#include "tests/kernels/gemm.cuh"
#include "warpbit/descriptor.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/machine.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/tensor_map.hpp"

namespace bench {
namespace {

using namespace warpbit;

constexpr std::string_view kNotSaid = "-";  // which kernel
constexpr Shape kSquare{Element::f32, kGemmSize, kGemmSize, kGemmSize};
constexpr std::size_t kCases = 64;  // for each thread; their registers stay in the second level of cache

// ---- Tiles, by execute_batch

struct Batch {
  Instruction instruction;
  std::vector<Bytes> registers;
  std::size_t cases;
  ExecuteOptions options;
  std::vector<OperandView> sources = {};
  ResultView destination = {};

  Batch(const Instruction& i, Values values, int threads)
      : instruction(i), cases(kCases * static_cast<std::size_t>(threads)) {
    Random random(1);
    registers = make_registers(instruction, values, kCases, random);
    options.threads = threads;
    for (std::size_t n = 0; n < registers.size(); ++n) {
      const Bytes once = registers[n];
      for (int thread = 1; thread < threads; ++thread)
        registers[n].insert(registers[n].end(), once.begin(), once.end());
      const Operand& operand = instruction.operands()[n];
      if (operand.is_destination())
        destination = ResultView::dense(registers[n].data(), instruction.lanes(), operand.registers,
                                        operand.register_bits);
      else
        sources.push_back(OperandView::dense(registers[n].data(), instruction.lanes(), operand.registers,
                                             operand.register_bits));
    }
  }

  Result<std::string_view> run() const {
    const Result<Execution> done = execute_batch(instruction, sources, destination, cases, options);
    if (!done) return done.error();
    return name(done->kernel);
  }
};

Result<Work> tiles(const Instruction& instruction, Values values, int threads) {
  const auto batch = std::make_shared<Batch>(instruction, values, threads);
  return Work{batch->cases, shape_of(instruction), [batch] { return batch->run(); }};
}

// ---- A product of a warpgroup, by execute_warpgroup

// Both factors in tiles of 64 along K, the span of the swizzle, as a kernel lays them out.
constexpr int kTileK = 64, kElementBits = 16;

// Writes a factor into shared memory from `start` on. The descriptor of its first part of so many elements
// along K.
Result<std::uint64_t> place_factor(std::string_view format, int lines, int depth, std::uint32_t start,
                                   Memory& memory, Random& random, Values values) {
  const Result<CanonicalTile> tile =
      CanonicalTile::make({Major::k, kElementBits, lines, kTileK}, Swizzle::bytes_128);
  if (!tile) return tile.error();
  const EigenCodes codes = factor(format, lines, kTileK, random, values);
  for (int i = 0; i < lines; ++i)
    for (int k = 0; k < kTileK; ++k) {
      const std::uint64_t address = start + tile->element_bit(i, k) / 8;
      const std::array bytes{static_cast<std::byte>(codes(i, k)), static_cast<std::byte>(codes(i, k) >> 8)};
      if (Result<void> written = memory.write(Space::shared, address, bytes); !written) return written.error();
    }
  const Result<Descriptor> descriptor = tile->descriptor(start, {Major::k, kElementBits, lines, depth});
  if (!descriptor) return descriptor.error();
  return descriptor->encode();
}

struct Warpgroup {
  Instruction plus, minus;  // D = A B + D and D = -A B + D, by turns: D stays as large as the sums
  Memory memory;
  WarpgroupSources sources = {};
  std::vector<std::uint32_t> d = {};  // [lane][register]

  Result<std::string_view> run() {
    Kernel kernel = Kernel::reference;
    for (const Instruction* instruction : {&plus, &minus}) {
      const ResultView view = ResultView::dense(d.data(), plus.lanes(), plus.operands()[0].registers,
                                                plus.operands()[0].register_bits);
      const Result<Execution> done = execute_warpgroup(*instruction, sources, memory.shared(), view);
      if (!done) return done.error();
      kernel = done->kernel;
    }
    return name(kernel);
  }
};

Result<Work> warpgroup(const Row& row, Target target) {
  const auto with_sign = [&](std::string_view sign) {
    return Instruction::parse(
        std::string(row.text).append(" {d}, a_desc, b_desc, 1, ").append(sign).append(", 1, 0, 0;"), target);
  };
  const Result<Instruction> plus = with_sign("1"), minus = with_sign("-1");
  if (!plus || !minus) return plus ? minus.error() : plus.error();

  Random random(1);
  const auto operands = plus->operands();
  const auto bytes_of_a = static_cast<std::uint32_t>(plus->rows() * kTileK * kElementBits / 8),
             bytes_of_b = static_cast<std::uint32_t>(plus->columns() * kTileK * kElementBits / 8);
  const auto group = std::make_shared<Warpgroup>(Warpgroup{*plus, *minus, Memory(bytes_of_a + bytes_of_b)});
  const Result<std::uint64_t> a =
      place_factor(operands[1].format, plus->rows(), plus->depth(), 0, group->memory, random, row.values);
  const Result<std::uint64_t> b = place_factor(operands[2].format, plus->columns(), plus->depth(), bytes_of_a,
                                               group->memory, random, row.values);
  if (!a || !b) return a ? b.error() : a.error();
  group->sources.a_descriptor = *a;
  group->sources.b_descriptor = *b;
  const int registers = operands[0].registers;
  const EigenCodes c = accumulators(*plus, plus->terms(), plus->lanes(), registers, random);
  for (int lane = 0; lane < plus->lanes(); ++lane)
    for (int reg = 0; reg < registers; ++reg) group->d.push_back(static_cast<std::uint32_t>(c(lane, reg)));
  return Work{2, shape_of(*plus), [group] { return group->run(); }};
}

// ---- A product of tensor memory, by execute_mma

struct Tensor {
  static constexpr int kM = 128, kN = 256, kK = 16;
  static constexpr std::uint32_t kNegatesA = 1 << 13;  // in the instruction descriptor
  Instruction instruction;
  Memory memory;
  TensorMemory tensor = {};
  TensorMmaSources sources = {};

  Result<std::string_view> run() {
    Kernel kernel = Kernel::reference;
    for (int sign = 0; sign < 2; ++sign) {  // by turns: D stays as large as the sums
      const TensorBlock block{&tensor, memory.shared()};
      const Result<Execution> done = execute_mma(instruction, sources, std::span(&block, 1));
      if (!done) return done.error();
      kernel = done->kernel;
      sources.instruction ^= kNegatesA;
    }
    return name(kernel);
  }
};

Result<Work> tensor(const Row& row, Target target) {
  const Result<Instruction> instruction = Instruction::parse(row.text, target);
  if (!instruction) return instruction.error();
  constexpr std::uint32_t kBytesOfA = Tensor::kM * kTileK * kElementBits / 8,
                          kBytesOfB = Tensor::kN * kTileK * kElementBits / 8;
  const auto all = std::make_shared<Tensor>(Tensor{*instruction, Memory(kBytesOfA + kBytesOfB)});
  Random random(1);
  for (const auto& [lines, start, to] :
       {std::tuple{Tensor::kM, std::uint32_t{0}, &all->sources.a}, {Tensor::kN, kBytesOfA, &all->sources.b}}) {
    const Result<std::uint64_t> descriptor =
        place_factor("f16", lines, Tensor::kK, start, all->memory, random, row.values);
    if (!descriptor) return descriptor.error();
    const Result<std::uint64_t> bits = Descriptor::decode(*descriptor).encode_tensor();
    if (!bits) return bits.error();
    *to = *bits;
  }
  InstructionDescriptor of;
  of.m = Tensor::kM, of.n = Tensor::kN, of.k = Tensor::kK, of.a = of.b = "f16", of.d = "f32";
  const Result<std::uint32_t> bits = of.encode({TensorKind::f16}, target);
  if (!bits) return bits.error();
  all->sources.instruction = *bits;
  if (const auto allocated = all->tensor.allocate(TensorMemory::kColumns); !allocated) return allocated.error();
  const EigenCodes c = factor("f32", Tensor::kM, Tensor::kN, random);
  for (int lane = 0; lane < Tensor::kM; ++lane)
    for (int column = 0; column < Tensor::kN; ++column)
      all->tensor.write(lane, column, static_cast<std::uint32_t>(c(lane, column)));
  return Work{2, Shape{Element::f32, Tensor::kM, Tensor::kN, Tensor::kK}, [all] { return all->run(); }};
}

// ---- Whole matrices, by gemm

// Row by row. Precondition: T has the bits of a code.
template <class T>
std::vector<T> in_rows(const EigenCodes& codes) {
  std::vector<T> out;
  for (Eigen::Index row = 0; row < codes.rows(); ++row)
    for (Eigen::Index column = 0; column < codes.cols(); ++column)
      out.push_back(static_cast<T>(codes(row, column)));
  return out;
}

// Precondition: factors of 16 bits, accumulators of 32.
struct Matrices {
  Instruction instruction;
  std::vector<std::uint16_t> a, b;
  std::vector<std::uint32_t> c, d;
  GemmOptions options = {};
  bool is_plain = false;  // B column by column, and no C

  Matrices(const Instruction& i, int threads, Values values = Values::ordinary) : instruction(i) {
    Random random(1);
    const auto random_factor = [&] {
      return in_rows<std::uint16_t>(factor(i.operands()[1].format, kGemmSize, kGemmSize, random, values));
    };
    a = random_factor();
    b = random_factor();
    d = c = in_rows<std::uint32_t>(accumulators(i, kGemmSize, kGemmSize, kGemmSize, random));
    options.execute.threads = threads;
  }

  Result<std::string_view> run() {
    const auto view = [](const void* data) { return MatrixView{data, kGemmSize, 1}; };
    const Result<Execution> done = gemm(instruction,
                                        {.rows = kGemmSize,
                                         .columns = kGemmSize,
                                         .depth = kGemmSize,
                                         .a = view(a.data()),
                                         .b = is_plain ? MatrixView{b.data(), 1, kGemmSize} : view(b.data()),
                                         .c = is_plain ? MatrixView{} : view(c.data()),
                                         .d = {d.data(), kGemmSize, 1}},
                                        options);
    if (!done) return done.error();
    return name(done->kernel);
  }
};

Result<Work> matrices(const Instruction& instruction, int threads, Values values) {
  const auto all = std::make_shared<Matrices>(instruction, threads, values);
  return Work{1, kSquare, [all] { return all->run(); }};
}

// ---- The source of a kernel

struct KernelGemm {
  static constexpr std::size_t kElements = std::size_t{kLaunchSize} * kLaunchSize;
  Launch how;
  std::vector<std::uint16_t> a, b;
  std::vector<float> d = std::vector<float>(kElements);

  KernelGemm(const Instruction& i, Target target, int threads)
      : how{target,
            {kLaunchSize / kernels::kTile, kLaunchSize / kernels::kTile},
            {kernels::kThreads},
            kernels::kGemmShared} {
    Random random(1);
    a = in_rows<std::uint16_t>(factor(i.operands()[1].format, kLaunchSize, kLaunchSize, random));
    b = in_rows<std::uint16_t>(factor(i.operands()[1].format, kLaunchSize, kLaunchSize, random));
    how.execute.threads = threads;
  }

  Result<std::string_view> run() {
    using namespace device;
    Launched done = launch(how, kernels::gemm<>, GlobalArray<const std::uint16_t>(a),
                           GlobalArray<const std::uint16_t>(b), GlobalArray<float>(d), kLaunchSize);
    if (!done) return done.fault->error;
    return kNotSaid;
  }
};

Result<Work> kernel_gemm(const Instruction& instruction, Target target, int threads) {
  const auto all = std::make_shared<KernelGemm>(instruction, target, threads);
  return Work{1, std::nullopt, [all] { return all->run(); }};
}

// ---- Modules of PTX

Result<ptx::Function> load_kernel(std::string_view module, std::string_view name, Target target) {
  std::ifstream file(std::string(WARPBIT_BENCH_KERNELS "/").append(module));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Result<ptx::Module> loaded = ptx::Module::load(text, target);
  if (!loaded) return loaded.error();
  return loaded->function(std::string(name));
}

struct PtxKernel {
  ptx::Function function;
  ptx::Launch how;
  std::vector<ptx::Argument> arguments;

  Result<std::string_view> run() const {
    const ptx::Report done = function.launch(how, arguments);
    if (!done) return done.fault->error;
    return kNotSaid;
  }
};

// By mma: tiles of kernels/kernels.cu.
Result<PtxKernel> mma_kernel(Matrices& of, Target target) {
  constexpr unsigned kTile = 128, kThreads = 256;
  const Result<ptx::Function> function = load_kernel("kernels.ptx", "gemm", target);
  if (!function) return function.error();
  return PtxKernel{*function,
                   {.grid = {kGemmSize / kTile, kGemmSize / kTile}, .block = {kThreads}},
                   {ptx::buffer(of.a), ptx::buffer(of.b), ptx::buffer(of.d), ptx::value(kGemmSize)}};
}

// By wgmma and tensor copies: tiles and stages of kernels/hopper.cu.
Result<PtxKernel> wgmma_kernel(Matrices& of, Target target) {
  constexpr unsigned kTileRows = 64, kTileColumns = 256, kStep = 64, kStages = 4, kThreads = 128;
  const Result<ptx::Function> function = load_kernel("hopper.ptx", "gemm", target);
  if (!function) return function.error();
  const auto map = [](std::vector<std::uint16_t>& factor, unsigned lines) {
    TensorMap out{.elemtype = TensorType::bf16,
                  .rank = 2,
                  .global_address = ptx::address(std::as_writable_bytes(std::span(factor))),
                  .global_dim = {kGemmSize, kGemmSize},
                  .global_stride = {kGemmSize * sizeof(std::uint16_t)},
                  .box_dim = {kStep, lines},
                  .element_stride = {1, 1},
                  .swizzle_mode = Swizzle::bytes_128};
    return out.encode();
  };
  const Result<TensorMapBytes> a = map(of.a, kTileRows), b = map(of.b, kTileColumns);
  if (!a || !b) return a ? b.error() : a.error();
  return PtxKernel{*function,
                   {.grid = {kGemmSize / kTileColumns, kGemmSize / kTileRows},
                    .block = {kThreads},
                    .shared_bytes = kStages * (kTileRows + kTileColumns) * kStep * sizeof(std::uint16_t)},
                   {ptx::value(*a), ptx::value(*b), ptx::buffer(of.d), ptx::value(kGemmSize)}};
}

// Beside gemm(), whose D it must have.
Result<Work> ptx_gemm(const Row& row, const Instruction& instruction, Target target, int threads) {
  const auto all = std::make_shared<Matrices>(instruction, threads);
  all->is_plain = true;
  const bool is_wgmma = row.kind == Kind::ptx_wgmma || row.kind == Kind::ptx_wgmma_checked;
  Result<PtxKernel> kernel = is_wgmma ? wgmma_kernel(*all, target) : mma_kernel(*all, target);
  if (!kernel) return kernel.error();
  kernel->how.check_shared = row.kind == Kind::ptx_mma_checked || row.kind == Kind::ptx_wgmma_checked;
  kernel->how.execute.threads = threads;
  if (const auto done = all->run(); !done) return done.error();
  const std::vector<std::uint32_t> expected = all->d;
  std::ranges::fill(all->d, 0);
  if (const auto done = kernel->run(); !done) return done.error();
  if (all->d != expected) return Error{Errc::assertion, std::string(row.name), "D is that of gemm()", {}};
  return Work{1, kSquare, [all, kernel = *kernel] { return kernel.run(); }, [all] { return all->run(); }};
}

Result<Work> ptx_products(Target target, int threads) {
  constexpr unsigned kThreads = 256, kBlocks = 4;  // kernels/kernels.cu
  constexpr int kLoops = 500;
  const Result<ptx::Function> function = load_kernel("kernels.ptx", "products", target);
  if (!function) return function.error();
  const auto d = std::make_shared<std::vector<float>>(std::size_t{kBlocks} * kThreads);
  PtxKernel kernel{*function, {.grid = {kBlocks}, .block = {kThreads}}, {ptx::buffer(*d), ptx::value(kLoops)}};
  kernel.how.check_shared = false;
  kernel.how.execute.threads = threads;
  const std::uint64_t steps = kernel.function.launch(kernel.how, kernel.arguments).steps;
  return Work{static_cast<std::size_t>(steps), std::nullopt, [d, kernel] { return kernel.run(); }};
}

Result<Work> ptx_load(Target target) {
  constexpr std::array kStatements = {"fma.rn.f32 %f1, %f2, %f3, %f1;", "add.s32 %r1, %r2, %r3;",
                                      "shl.b32 %r2, %r1, 3;",           "mad.lo.s32 %r3, %r1, %r2, %r3;",
                                      "mul.f32 %f2, %f1, %f3;",         "setp.lt.s32 %p1, %r1, %r2;",
                                      "selp.b32 %r1, %r2, %r3, %p1;",   "ld.global.f32 %f3, [%d1+16];",
                                      "st.global.f32 [%d1], %f1;",      "xor.b32 %r1, %r2, %r3;"};
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .f32 %f<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n.reg .pred %p<2>;\n";
  for (std::size_t i = 0; i < 10'000; ++i) text += std::string(kStatements[i % kStatements.size()]) + "\n";
  text += "ret;\n}\n";
  return Work{1, std::nullopt, [text, target]() -> Result<std::string_view> {
                const Result<ptx::Module> module = ptx::Module::load(text, target);
                if (!module) return module.error();
                const Result<ptx::Function> function = module->function("k");
                if (!function) return function.error();
                return kNotSaid;
              }};
}

// ---- Decoding

Result<Work> parse(const Row& row, Target target) {
  return Work{1, std::nullopt, [&row, target]() -> Result<std::string_view> {
                const Result<Instruction> instruction = Instruction::parse(row.text, target);
                if (!instruction) return instruction.error();
                benchmark::DoNotOptimize(&instruction.value());
                return kNotSaid;
              }};
}

}  // namespace

Result<Work> make_work(const Row& row, int threads) {
  const Result<Target> target = Target::find(row.target);
  if (!target) return target.error();
  if (row.kind == Kind::parse) return parse(row, *target);
  if (row.kind == Kind::ptx_load) return ptx_load(*target);
  if (row.kind == Kind::ptx_products) return ptx_products(*target, threads);
  if (row.kind == Kind::warpgroup) return warpgroup(row, *target);
  if (row.kind == Kind::tensor) return tensor(row, *target);
  const Result<Instruction> instruction = Instruction::parse(row.text, *target);
  if (!instruction) return instruction.error();
  if (row.kind == Kind::gemm) return matrices(*instruction, threads, row.values);
  if (row.kind == Kind::launch) return kernel_gemm(*instruction, *target, threads);
  if (row.kind != Kind::tile) return ptx_gemm(row, *instruction, *target, threads);
  return tiles(*instruction, row.values, threads);
}

}  // namespace bench
