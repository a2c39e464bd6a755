// SPDX-License-Identifier: Apache-2.0
// Lets a GPU make tensor copies, bulk copies and their reductions (src/tensor_map/COPIES.md).
//
//   nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -I tools/capture -I src -o tensor_copies \
//     tools/capture/tensor_copies.cu tools/capture/driver.cpp
//   ./tensor_copies >tensor_copies.jsonl
//   ./tensor_copies GROUP...              these groups only, without the first line
//   ./tensor_copies --from GROUP N [FILE]   each case of a group from the N-th on as a line; what they changed into FILE
//
// Needs an H100 or H200. src/verify/cases/tensor_copies.hpp makes the copies and the bytes. Lines are those of a recording
// (src/recording/FORMAT.md): records of the kinds tensor_copies and tensor_copy. With --from they have more: `state`, `complete` if
// the phase ended with all bytes of the tile, which are `counted` then; the `words` of the mbarrier before and after, before
// anything was expected; the `fault` of the last line says which.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "driver.hpp"
#include "provenance.hpp"
#include "tensor_map_driver.cuh"
#include "verify/cases/tensor_copies.hpp"

using namespace tensor_copies;
using tensor_maps::Driver;
using tensor_maps::Encoded;
using tensor_maps::require;

namespace {

// ---- On the GPU

struct Operands {
  std::uint32_t operation, reduction, rank, im2col, type;
  std::int32_t coordinates[5];
  std::uint16_t offsets[3];
  std::uint32_t shared, other, bytes, expected, to;
};

struct Outcome {
  std::uint32_t counted, complete, window;  // window: address of the shared window
  unsigned long long before, after;         // words of the mbarrier
};

struct Places {
  std::uint64_t map, global;           // addresses in global memory
  std::uint32_t tile, other, barrier;  // in shared memory
};

#define COORDINATES                                                                           \
  "r"(o.coordinates[0]), "r"(o.coordinates[1]), "r"(o.coordinates[2]), "r"(o.coordinates[3]), \
      "r"(o.coordinates[4])
#define TENSOR_LOAD(n, mode, point, moved)                                                          \
  asm volatile("cp.async.bulk.tensor." n "d.shared::cluster.global." mode                           \
               ".mbarrier::complete_tx::bytes [%0], [%1, " point "], [%2]" moved ";" ::"r"(p.tile), \
               "l"(p.map), "r"(p.barrier), COORDINATES, "h"(o.offsets[0]), "h"(o.offsets[1]),       \
               "h"(o.offsets[2])                                                                    \
               : "memory")
#define TENSOR_STORE(instruction, n, mode, point)                                                           \
  asm volatile(instruction n "d.global.shared::cta" mode ".bulk_group [%0, " point "], [%1];" ::"l"(p.map), \
               "r"(p.tile), "r"(0), COORDINATES                                                             \
               : "memory")
#define POINT_1 "{%3}"
#define POINT_2 "{%3, %4}"
#define POINT_3 "{%3, %4, %5}"
#define POINT_4 "{%3, %4, %5, %6}"
#define POINT_5 "{%3, %4, %5, %6, %7}"

__device__ void tensor_load(const Operands& o, const Places& p) {
  switch (o.rank + 8 * o.im2col) {
    case 1: TENSOR_LOAD("1", "tile", POINT_1, ""); break;
    case 2: TENSOR_LOAD("2", "tile", POINT_2, ""); break;
    case 3: TENSOR_LOAD("3", "tile", POINT_3, ""); break;
    case 4: TENSOR_LOAD("4", "tile", POINT_4, ""); break;
    case 5: TENSOR_LOAD("5", "tile", POINT_5, ""); break;
    case 11: TENSOR_LOAD("3", "im2col", POINT_3, ", {%8}"); break;
    case 12: TENSOR_LOAD("4", "im2col", POINT_4, ", {%8, %9}"); break;
    case 13: TENSOR_LOAD("5", "im2col", POINT_5, ", {%8, %9, %10}"); break;
  }
}

#define TENSOR_STORES(instruction, of_tile, of_im2col)                  \
  switch (o.rank + 8 * o.im2col) {                                      \
    case 1: TENSOR_STORE(instruction, "1", of_tile, POINT_1); break;    \
    case 2: TENSOR_STORE(instruction, "2", of_tile, POINT_2); break;    \
    case 3: TENSOR_STORE(instruction, "3", of_tile, POINT_3); break;    \
    case 4: TENSOR_STORE(instruction, "4", of_tile, POINT_4); break;    \
    case 5: TENSOR_STORE(instruction, "5", of_tile, POINT_5); break;    \
    case 11: TENSOR_STORE(instruction, "3", of_im2col, POINT_3); break; \
    case 12: TENSOR_STORE(instruction, "4", of_im2col, POINT_4); break; \
    case 13: TENSOR_STORE(instruction, "5", of_im2col, POINT_5); break; \
  }

__device__ void tensor_store(const Operands& o, const Places& p){
    TENSOR_STORES("cp.async.bulk.tensor.", ".tile", ".im2col_no_offs")}
#define TENSOR_REDUCE(number, op) \
  case number: TENSOR_STORES("cp.reduce.async.bulk.tensor.", "." op ".tile", "." op ".im2col_no_offs") break;

__device__ void tensor_reduce(const Operands& o, const Places& p) {
  switch (o.reduction) {
    TENSOR_REDUCE(0, "add")
    TENSOR_REDUCE(1, "min")
    TENSOR_REDUCE(2, "max")
    TENSOR_REDUCE(3, "inc")
    TENSOR_REDUCE(4, "dec")
    TENSOR_REDUCE(5, "and")
    TENSOR_REDUCE(6, "or")
    TENSOR_REDUCE(7, "xor")
  }
}

#define BULK_REDUCE(op, number, op_and_type)                                     \
  if (o.reduction == op && o.type == number)                                     \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op_and_type \
               " [%0], [%1], %2;" ::"l"(p.global),                               \
               "r"(p.tile), "r"(o.bytes)                                         \
               : "memory")

__device__ void bulk_reduce(const Operands& o, const Places& p) {
  BULK_REDUCE(0, 2, "add.u32");
  BULK_REDUCE(0, 3, "add.s32");
  BULK_REDUCE(0, 4, "add.u64");
  BULK_REDUCE(0, 6, "add.noftz.f16");
  BULK_REDUCE(0, 7, "add.f32");
  BULK_REDUCE(0, 8, "add.f64");
  BULK_REDUCE(0, 9, "add.noftz.bf16");
  BULK_REDUCE(1, 2, "min.u32");
  BULK_REDUCE(1, 3, "min.s32");
  BULK_REDUCE(1, 4, "min.u64");
  BULK_REDUCE(1, 5, "min.s64");
  BULK_REDUCE(1, 6, "min.f16");
  BULK_REDUCE(1, 9, "min.bf16");
  BULK_REDUCE(2, 2, "max.u32");
  BULK_REDUCE(2, 3, "max.s32");
  BULK_REDUCE(2, 4, "max.u64");
  BULK_REDUCE(2, 5, "max.s64");
  BULK_REDUCE(2, 6, "max.f16");
  BULK_REDUCE(2, 9, "max.bf16");
  BULK_REDUCE(3, 2, "inc.u32");
  BULK_REDUCE(4, 2, "dec.u32");
  BULK_REDUCE(5, 2, "and.b32");
  BULK_REDUCE(5, 4, "and.b64");
  BULK_REDUCE(6, 2, "or.b32");
  BULK_REDUCE(6, 4, "or.b64");
  BULK_REDUCE(7, 2, "xor.b32");
  BULK_REDUCE(7, 4, "xor.b64");
}

#define SHARED_REDUCE(op, number, op_and_type)                                                              \
  if (o.reduction == op && o.type == number)                                                                \
  asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." op_and_type \
               " [%0], [%1], %2, [%3];" ::"r"(p.tile),                                                      \
               "r"(p.other), "r"(o.bytes), "r"(p.barrier)                                                   \
               : "memory")

__device__ void shared_reduce(const Operands& o, const Places& p) {
  SHARED_REDUCE(0, 2, "add.u32");
  SHARED_REDUCE(0, 3, "add.s32");
  SHARED_REDUCE(0, 4, "add.u64");
  SHARED_REDUCE(1, 2, "min.u32");
  SHARED_REDUCE(1, 3, "min.s32");
  SHARED_REDUCE(2, 2, "max.u32");
  SHARED_REDUCE(2, 3, "max.s32");
  SHARED_REDUCE(3, 2, "inc.u32");
  SHARED_REDUCE(4, 2, "dec.u32");
  SHARED_REDUCE(5, 2, "and.b32");
  SHARED_REDUCE(6, 2, "or.b32");
  SHARED_REDUCE(7, 2, "xor.b32");
}

__device__ void issue(const Operands& o, const Places& p) {
  switch (o.operation) {
    case kLoad: tensor_load(o, p); break;
    case kStore: tensor_store(o, p); break;
    case kReduce: tensor_reduce(o, p); break;
    case kBulkLoad:
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              p.tile),
          "l"(p.global), "r"(o.bytes), "r"(p.barrier)
          : "memory");
      break;
    case kBulkStore:
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(p.global), "r"(p.tile),
                   "r"(o.bytes)
                   : "memory");
      break;
    case kBulkReduce: bulk_reduce(o, p); break;
    case kSharedCopy:
      asm volatile(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              p.tile),
          "r"(p.other), "r"(o.bytes), "r"(p.barrier)
          : "memory");
      break;
    case kSharedReduce: shared_reduce(o, p); break;
  }
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ std::uint64_t word_of(std::uint32_t barrier) {
  std::uint64_t out;
  asm volatile("ld.volatile.shared.b64 %0, [%1];" : "=l"(out) : "r"(barrier) : "memory");
  return out;
}

__device__ void init(std::uint32_t barrier) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

__device__ void expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// An arrival that expects bytes; then the phase must end within a millisecond or so.
__device__ std::uint32_t completes(std::uint32_t barrier, std::uint32_t bytes) {
  expect(barrier, bytes);
  asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier) : "memory");
  std::uint32_t complete = 0;
  for (const long long begin = clock64(); !complete && clock64() - begin < 1000000;)
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
        : "=r"(complete)
        : "r"(barrier)
        : "memory");
  return complete;
}

__device__ std::uint32_t in_block(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t out;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(address), "r"(rank));
  return out;
}

__device__ std::uint32_t block_rank() {
  std::uint32_t out;
  asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(out));
  return out;
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive;\n barrier.cluster.wait;" ::: "memory");
}

// The first block issues; block `o.to` has the tile and the mbarrier.
__global__ void copy(const __grid_constant__ CUtensorMap map, const Operands o, unsigned char* global,
                     uint4* shared_window, Outcome* out) {
  __shared__ alignas(1024) uint4 window[kSharedBytes / 16];
  __shared__ alignas(8) std::uint64_t one;
  for (std::uint32_t i = threadIdx.x; i < kSharedBytes / 16; i += blockDim.x) window[i] = shared_window[i];
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(window));
  const auto barrier = static_cast<std::uint32_t>(__cvta_generic_to_shared(&one));
  const bool is_plain = o.operation < kSharedCopy || o.to == 2;
  const std::uint32_t rank = block_rank(), to = is_plain ? 0 : o.to;
  if (threadIdx.x == 0) init(barrier);
  asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async;" ::: "memory");
  __syncthreads();
  cluster_sync();
  if (threadIdx.x == 0) {
    Outcome r{0, 1, at, word_of(barrier), 0};
    if (rank == 0)
      issue(o, {reinterpret_cast<std::uint64_t>(&map), __cvta_generic_to_global(global + o.other),
                is_plain ? at + o.shared : in_block(at + o.shared, to), at + o.other,
                is_plain ? barrier : in_block(barrier, to)});
    if (rank == to) {
      if (o.operation == kLoad || o.operation == kBulkLoad || o.operation >= kSharedCopy) {
        for (const long long begin = clock64(); clock64() - begin < 40000;) r.after = word_of(barrier);
        r.complete = completes(barrier, o.expected);
        r.counted = r.complete ? o.expected : 0;
      }
      *out = r;
    }
  }
  __syncthreads();
  cluster_sync();
  if (rank != to) return;
  for (std::uint32_t i = threadIdx.x; i < kSharedBytes / 16; i += blockDim.x) shared_window[i] = window[i];
}

// Shared copies go from block to block of a cluster; others have it for themselves.
void launch(const CUtensorMap& map, const Operands& o, unsigned char* global, uint4* window, Outcome* out) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {o.operation >= kSharedCopy ? 2u : 1u, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = cluster.val.clusterDim.x;
  config.blockDim = 128;
  config.attrs = &cluster;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, copy, map, o, global, window, out), "cudaLaunchKernelEx");
}

// ---- Cases

struct Recorded {
  std::string fault;  // empty: none
  bool refused = false;
  Outcome outcome{};
  std::vector<std::uint8_t> before, after;  // the window that the copy goes to
};

constexpr std::size_t kMargin = 1 << 20;  // on both sides of the global window

class Recorder {
 public:
  Recorder() {
    require(cudaMalloc(&global_, kGlobalBytes + 2 * kMargin), "cudaMalloc");
    require(cudaMemset(global_, 0xEE, kGlobalBytes + 2 * kMargin), "cudaMemset");
    require(cudaMalloc(&shared_, kSharedBytes), "cudaMalloc");
    require(cudaMalloc(&outcome_, sizeof(Outcome)), "cudaMalloc");
  }

  Recorded operator()(const CopyCase& c) const {
    Recorded r;
    unsigned char* const global = global_ + kMargin;
    std::vector<std::uint8_t> windows[2] = {window(c, 0), window(c, 1)};
    CUtensorMap map{};
    if (!is_bulk(c.operation)) {
      Arguments a = c.map;
      a.address += reinterpret_cast<std::uint64_t>(global);
      const Encoded e = driver_(a);
      r.refused = e.result != CUDA_SUCCESS;
      if (r.refused) return r;
      std::memcpy(&map, &e.map, sizeof map);
    }
    require(cudaMemcpy(global, windows[0].data(), kGlobalBytes, cudaMemcpyDefault), "cudaMemcpy");
    require(cudaMemcpy(shared_, windows[1].data(), kSharedBytes, cudaMemcpyDefault), "cudaMemcpy");
    launch(map, operands(c), global, reinterpret_cast<uint4*>(shared_), outcome_);
    if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
      r.fault = cudaGetErrorString(status);
      return r;
    }
    r.before = windows[is_to_shared(c.operation) ? 1 : 0];
    r.after.resize(r.before.size());
    require(cudaMemcpy(r.after.data(), is_to_shared(c.operation) ? shared_ : global, r.after.size(),
                       cudaMemcpyDefault),
            "cudaMemcpy");
    require(cudaMemcpy(&r.outcome, outcome_, sizeof(Outcome), cudaMemcpyDefault), "cudaMemcpy");
    return r;
  }

 private:
  static Operands operands(const CopyCase& c) {
    Operands o{c.operation,
               c.reduction,
               c.instruction_rank,
               c.instruction_im2col,
               c.map.dataType,
               {},
               {},
               c.shared,
               c.other,
               c.bytes,
               expected_bytes(c),
               c.to};
    std::copy(c.coordinates.begin(), c.coordinates.end(), o.coordinates);
    std::copy(c.offsets.begin(), c.offsets.end(), o.offsets);
    return o;
  }

  Driver driver_;
  unsigned char *global_ = nullptr, *shared_ = nullptr;
  Outcome* outcome_ = nullptr;
};

// ---- Lines

struct Change {
  std::size_t first = 0, count = 0;
};

Change change(const Recorded& r) {
  std::size_t first = 0, end = r.after.size();
  while (first < end && r.before[first] == r.after[first]) ++first;
  while (end > first && r.before[end - 1] == r.after[end - 1]) --end;
  return {first, end - first};
}

void fail(const char* group, std::size_t index, const CopyCase& c, const std::string& message) {
  throw capture::Failure(std::string(group) + " " + std::to_string(index) + ": " + message + ": " +
                         describe(c));
}

// What a record of a case begins with.
std::string about(const Group& group, std::size_t i) {
  const std::string name = group.name, index = std::to_string(i);
  return "\"kind\": \"tensor_copy\", \"name\": \"" + name + "." + index + "\", \"generator\": \"" + name +
         "\", \"index\": " + index;
}

void print_group(const Recorder& record, const Group& group) {
  const std::vector<CopyCase> cases = group.make();
  std::string examples;
  int n_examples = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Recorded r = record(cases[i]);
    if (r.refused) fail(group.name, i, cases[i], "the driver refuses the map");
    if (!r.fault.empty()) fail(group.name, i, cases[i], r.fault);
    if (!r.outcome.complete) fail(group.name, i, cases[i], "the phase does not end");
    if (r.outcome.window % 1024 != 0) fail(group.name, i, cases[i], "the shared window is not aligned");
    const std::size_t last = std::min(i + 8, cases.size()) - 1;
    if (i % 8 == 0)
      std::printf(
          "{\"kind\": \"tensor_copies\", \"name\": \"%s.%zu-%zu\", \"generator\": \"%s\", \"first\": %zu, \"digests\": [",
          group.name, i, last, group.name, i);
    std::printf("\"%016" PRIx64 "\"%s", digest(r.after, r.outcome.counted),
                i % 8 == 7 || i + 1 == cases.size() ? "]}\n" : ", ");
    const Change changed = change(r);
    if (n_examples == 4 || changed.count == 0 || changed.count > 256) continue;
    ++n_examples;
    examples += "{" + about(group, i) + ", \"counted\": " + std::to_string(r.outcome.counted) +
                ", \"first\": " + std::to_string(changed.first) + ", \"changed\": \"";
    for (std::size_t b = 0; b < changed.count; ++b) {
      char text[4];
      std::snprintf(text, sizeof text, "%02x", r.after[changed.first + b]);
      examples += text;
    }
    examples += "\"}\n";
  }
  std::printf("%s", examples.c_str());
}

// Each case as a line. What it changed: five words (index, counted, complete, first, bytes) and the bytes.
bool print_cases(const Recorder& record, const Group& group, std::size_t from, std::FILE* file) {
  const std::vector<CopyCase> cases = group.make();
  for (std::size_t i = from; i < cases.size(); ++i) {
    const Recorded r = record(cases[i]);
    if (!r.fault.empty()) {
      std::printf("{%s, \"fault\": %s, \"case\": \"%s\"}\n", about(group, i).c_str(),
                  capture::json_text(r.fault).c_str(), describe(cases[i]).c_str());
      return false;
    }
    const char* state = r.refused ? "refused" : r.outcome.complete ? "complete" : "incomplete";
    std::printf("{%s, \"counted\": %u, \"state\": \"%s\", \"digest\": \"%016" PRIx64
                "\", \"case\": \"%s\", \"words\": [\"%016llx\", \"%016llx\"]}\n",
                about(group, i).c_str(), r.outcome.counted, state, digest(r.after, r.outcome.counted),
                describe(cases[i]).c_str(), r.outcome.before, r.outcome.after);
    std::fflush(stdout);
    if (file == nullptr || r.refused) continue;
    const Change changed = change(r);
    const std::uint32_t head[] = {static_cast<std::uint32_t>(i), r.outcome.counted, r.outcome.complete,
                                  static_cast<std::uint32_t>(changed.first),
                                  static_cast<std::uint32_t>(changed.count)};
    std::fwrite(head, sizeof head, 1, file);
    std::fwrite(r.after.data() + changed.first, 1, changed.count, file);
    std::fflush(file);
  }
  return true;
}

bool has(char** names, const char* name) {
  for (; *names != nullptr; ++names)
    if (std::string(*names) == name) return true;
  return false;
}

int run(int argc, char** argv) {
  const bool from = argc > 1 && std::string(argv[1]) == "--from";
  if (from && argc < 4) {
    std::fprintf(stderr, "usage: tensor_copies [GROUP... | --from GROUP N [FILE]]\n");
    return 2;
  }
  const capture::Device gpu(0);  // its context is the process's from here on
  const Recorder record;
  if (!from) {
    const capture::Answerer by{gpu.name(), gpu.compute_capability(), gpu.driver(),
                               capture::cuda_version(CUDART_VERSION), capture::today()};
    if (argc == 1)
      std::printf(
          "{\"format\": \"recording-1\", \"target\": \"sm_90a\", \"source\": \"hardware\", %s, \"program\": "
          "\"tools/capture/tensor_copies.cu\"}\n",
          capture::about(by).c_str());
    for (const Group& group : groups())
      if (argc == 1 ? std::string(group.name).rfind("ask-", 0) != 0 : has(argv + 1, group.name))
        print_group(record, group);
    return 0;
  }
  for (const Group& group : groups()) {
    if (std::string(argv[2]) != group.name) continue;
    std::FILE* const file = argc > 4 ? std::fopen(argv[4], "ab") : nullptr;
    const bool whole = print_cases(record, group, std::stoul(argv[3]), file);
    if (file != nullptr) std::fclose(file);
    return whole ? 0 : 3;
  }
  std::fprintf(stderr, "tensor_copies: no group %s\n", argv[2]);
  return 2;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const capture::Failure& failure) {
  std::fprintf(stderr, "tensor_copies: %s\n", failure.what());
  return 1;
}
