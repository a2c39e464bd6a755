// SPDX-License-Identifier: Apache-2.0
// Asks the driver for tensor maps and the GPU to replace their fields (src/tensor_map/LAYOUT.md).
//
//   nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -I tools/capture -I src -o tensor_maps tools/capture/tensor_maps.cu \
//     tools/capture/driver.cpp
//   ./tensor_maps >tensor_maps.jsonl && warpbit pack tensor_maps.jsonl golden/tensor-maps/sm_90a.zip
//   ./tensor_maps --all GROUP      each set of arguments of a group in full
//   ./tensor_maps --replace N      only `tensormap.replace` of field N, with values that no map may have, too
//
// Needs an H100 or H200. src/verify/cases/tensor_maps.hpp makes the arguments. Lines are those of a recording
// (src/recording/FORMAT.md): records of the kinds tensor_map, tensor_maps and tensor_map_change.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "driver.hpp"
#include "provenance.hpp"
#include "tensor_map_driver.cuh"
#include "verify/cases/tensor_maps.hpp"

using namespace tensor_maps;

namespace {

// ---- tensormap.replace

// The fields that sm_90a replaces, under their names of the PTX manual. `values` of the last four are immediates.
struct Field {
  const char* name;
  unsigned ordinals, values;
};
constexpr std::array<Field, 10> kFields{{{"global_address", 1, 0},
                                         {"rank", 1, 0},
                                         {"box_dim", 5, 0},
                                         {"global_dim", 5, 0},
                                         {"global_stride", 4, 0},
                                         {"element_stride", 5, 0},
                                         {"elemtype", 1, 13},
                                         {"interleave_layout", 1, 3},
                                         {"swizzle_mode", 1, 4},
                                         {"fill_mode", 1, 2}}};

struct Replacement {
  std::uint32_t field, ordinal;
  std::uint64_t value;
  std::uint32_t image;
};

#define REPLACE(space, name, type, operands, ...)                                                           \
  asm volatile("tensormap.replace.tile." name "." space ".b1024." type " [%0], " operands ";" ::__VA_ARGS__ \
               : "memory")

// One lane; `map` is an address of the space.
#define REPLACER(function, space)                                                                              \
  template <unsigned Ordinal>                                                                                  \
  __device__ void function##_ordinal(std::uint64_t map, const Replacement& r) {                                \
    const auto v = static_cast<std::uint32_t>(r.value);                                                        \
    if (r.field == 2) REPLACE(space, "box_dim", "b32", "%1, %2", "l"(map), "n"(Ordinal), "r"(v));              \
    if (r.field == 3) REPLACE(space, "global_dim", "b32", "%1, %2", "l"(map), "n"(Ordinal), "r"(v));           \
    if constexpr (Ordinal < 4)                                                                                 \
      if (r.field == 4)                                                                                        \
        REPLACE(space, "global_stride", "b64", "%1, %2", "l"(map), "n"(Ordinal), "l"(r.value));                \
    if (r.field == 5) REPLACE(space, "element_stride", "b32", "%1, %2", "l"(map), "n"(Ordinal), "r"(v));       \
  }                                                                                                            \
  template <unsigned Value>                                                                                    \
  __device__ void function##_immediate(std::uint64_t map, const Replacement& r) {                              \
    if (r.value != Value) return;                                                                              \
    if (r.field == 6) REPLACE(space, "elemtype", "b32", "%1", "l"(map), "n"(Value));                           \
    if constexpr (Value < 3)                                                                                   \
      if (r.field == 7) REPLACE(space, "interleave_layout", "b32", "%1", "l"(map), "n"(Value));                \
    if constexpr (Value < 4)                                                                                   \
      if (r.field == 8) REPLACE(space, "swizzle_mode", "b32", "%1", "l"(map), "n"(Value));                     \
    if constexpr (Value < 2)                                                                                   \
      if (r.field == 9) REPLACE(space, "fill_mode", "b32", "%1", "l"(map), "n"(Value));                        \
  }                                                                                                            \
  template <unsigned... Values>                                                                                \
  __device__ void function##_immediates(std::uint64_t map, const Replacement& r) {                             \
    (function##_immediate<Values>(map, r), ...);                                                               \
  }                                                                                                            \
  __device__ void function(std::uint64_t map, const Replacement& r) {                                          \
    if (r.field == 0) REPLACE(space, "global_address", "b64", "%1", "l"(map), "l"(r.value));                   \
    if (r.field == 1) REPLACE(space, "rank", "b32", "%1", "l"(map), "r"(static_cast<std::uint32_t>(r.value))); \
    if (r.ordinal == 0) function##_ordinal<0>(map, r);                                                         \
    if (r.ordinal == 1) function##_ordinal<1>(map, r);                                                         \
    if (r.ordinal == 2) function##_ordinal<2>(map, r);                                                         \
    if (r.ordinal == 3) function##_ordinal<3>(map, r);                                                         \
    if (r.ordinal == 4) function##_ordinal<4>(map, r);                                                         \
    if (r.field >= 6) function##_immediates<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(map, r);                 \
  }
REPLACER(replace_global, "global")
REPLACER(replace_shared, "shared::cta")

// A block for each replacement, 32 threads; `after` has two maps for each: replaced in shared and in global memory.
__global__ void replace_fields(const Replacement* all, const Words* images, Words* after) {
  __shared__ alignas(128) Words map;
  const Replacement r = all[blockIdx.x];
  Words *const in_shared = &after[2 * blockIdx.x], *const in_global = in_shared + 1;
  map.words[threadIdx.x] = in_global->words[threadIdx.x] = images[r.image].words[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) replace_shared(__cvta_generic_to_shared(&map), r);
  if (threadIdx.x == 0) replace_global(__cvta_generic_to_global(in_global), r);
  __syncthreads();
  in_shared->words[threadIdx.x] = map.words[threadIdx.x];
}

// Values of a field: those that the driver takes, and `wild` ones.
std::vector<std::uint64_t> values_of(std::size_t field, bool wild) {
  std::vector<std::uint64_t> out;
  if (kFields[field].values != 0) {
    for (std::uint64_t v = 0; v < kFields[field].values; ++v) out.push_back(v);
    return out;
  }
  switch (field) {
    case 0: out = {0, 0x7f1234560000, 0xfffffffffff0, 0x123456789abcdef0}; break;
    case 1: out = {0, 1, 2, 3, 4}; break;
    case 2: out = {1, 2, 3, 8, 64, 100, 128, 255, 256}; break;
    case 3: out = {1, 2, 3, 256, 1000, 0x12345678, 0x80000000, 0xffffffff}; break;
    case 4: out = {16, 32, 0x1230, 0x40000000, 0x123456780, 0xfffffffff0, 0x8000000000}; break;
    default: out = {1, 2, 3, 4, 5, 6, 7, 8};
  }
  if (!wild) return out;
  for (std::uint32_t bit = 0; bit < 64; ++bit) out.push_back(std::uint64_t{1} << bit);
  for (const std::uint64_t v :
       {0ull, 5ull, 6ull, 7ull, 9ull, 15ull, 17ull, 257ull, 511ull, ~0ull, 0x0123456789abcdefull})
    out.push_back(v);
  return out;
}

// Replaces in shared memory; false with a message if the GPU refuses, or if global memory has another result.
bool run_replacements(const std::vector<Replacement>& all, const std::vector<Words>& images,
                      std::vector<Words>& after) {
  Replacement* device_all = nullptr;
  Words *device_images = nullptr, *device_after = nullptr;
  require(cudaMalloc(&device_all, all.size() * sizeof(Replacement)), "cudaMalloc");
  require(cudaMalloc(&device_images, images.size() * sizeof(Words)), "cudaMalloc");
  require(cudaMalloc(&device_after, 2 * all.size() * sizeof(Words)), "cudaMalloc");
  require(cudaMemcpy(device_all, all.data(), all.size() * sizeof(Replacement), cudaMemcpyDefault),
          "cudaMemcpy");
  require(cudaMemcpy(device_images, images.data(), images.size() * sizeof(Words), cudaMemcpyDefault),
          "cudaMemcpy");
  replace_fields<<<static_cast<unsigned>(all.size()), 32>>>(device_all, device_images, device_after);
  std::vector<Words> both(2 * all.size());
  require(cudaDeviceSynchronize(), "tensormap.replace");
  require(cudaMemcpy(both.data(), device_after, both.size() * sizeof(Words), cudaMemcpyDefault), "cudaMemcpy");
  cudaFree(device_all), cudaFree(device_images), cudaFree(device_after);
  bool same = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    after.push_back(both[2 * i]);
    if (both[2 * i] != both[2 * i + 1]) same = false;
  }
  if (!same) std::fprintf(stderr, "tensor_maps: shared and global memory differ\n");
  return same;
}

// ---- Lines

std::string text(const Words& map) {
  std::string out;
  for (const std::uint32_t word : map.words)
    for (int byte = 0; byte < 4; ++byte) {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%02x", word >> 8 * byte & 0xff);
      out += digits;
    }
  return out;
}

// ", "name": number", or a list of them.
std::string member(const char* name, std::uint32_t number) {
  return std::string(", \"") + name + "\": " + std::to_string(number);
}
template <class Numbers>
std::string member(const char* name, const Numbers& numbers) {
  std::string out;
  for (const auto n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return std::string(", \"") + name + "\": [" + out + "]";
}

std::string text(const Arguments& a) {
  char address[32];
  std::snprintf(address, sizeof address, "\"0x%" PRIx64 "\"", a.address);
  return "{\"address\": " + std::string(address) + member("function", a.kind) + member("type", a.dataType) +
         member("rank", a.rank) + member("dim", a.dim) + member("stride", a.stride) + member("box", a.box) +
         member("step", a.step) + member("lower", a.lower) + member("upper", a.upper) +
         member("channels", a.channels) + member("pixels", a.pixels) + member("interleave", a.interleave) +
         member("mode", a.mode) + member("swizzle", a.swizzle) + member("promotion", a.promotion) +
         member("fill", a.fill) + "}";
}

void print_map(const char* group, std::size_t index, const Arguments& a, const Encoded& e) {
  std::printf("{\"kind\": \"tensor_map\", \"name\": \"%s.%zu\", \"arguments\": %s, \"result\": %d", group,
              index, text(a).c_str(), e.result);
  if (e.result == CUDA_SUCCESS) std::printf(", \"map\": \"%s\"", text(e.map).c_str());
  std::printf("}\n");
}

constexpr std::size_t kBlock = 100;

// A group: its blocks, and in full every `each`-th set.
void print_group(const Driver& driver, const char* group, const std::vector<Arguments>& sets,
                 std::size_t each) {
  std::size_t accepted = 0;
  for (std::size_t first = 0; first < sets.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, sets.size() - first);
    std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
    std::array<std::uint64_t, 2> refused{};
    for (std::size_t i = 0; i < count; ++i) {
      const Arguments& a = sets[first + i];
      const Encoded e = driver(a);
      if ((first + i) % each == 0) print_map(group, first + i, a, e);
      if (e.result != CUDA_SUCCESS) {
        refused[i / 64] |= std::uint64_t{1} << i % 64;
        continue;
      }
      ++accepted;
      for (const std::uint32_t word : e.map.words)
        for (int byte = 0; byte < 4; ++byte) digest = (digest ^ (word >> 8 * byte & 0xff)) * 0x100000001b3u;
    }
    std::printf(
        "{\"kind\": \"tensor_maps\", \"name\": \"%s.%zu-%zu\", \"generator\": \"%s\", \"first\": %zu, \"count\": %zu",
        group, first, first + count - 1, group, first, count);
    std::printf(", \"refused\": \"%016" PRIx64 "%016" PRIx64 "\", \"digest\": \"%016" PRIx64 "\"}\n",
                refused[1], refused[0], digest);
    std::fflush(stdout);
  }
  std::fprintf(stderr, "%s: %zu sets, %zu accepted\n", group, sets.size(), accepted);
}

std::vector<Arguments> drawn(std::uint64_t n, Arguments (*make)(std::uint64_t seed)) {
  std::vector<Arguments> out;
  for (std::uint64_t seed = 1; seed <= n; ++seed) out.push_back(make(seed));
  return out;
}

// Maps to replace fields of: all bits 0, all 1, others; then the driver's.
std::vector<Words> images(const Driver& driver) {
  std::vector<Words> out(4);
  std::fill_n(out[1].words, 32, ~0u);
  Draw draw(7);
  for (auto& word : out[2].words) word = static_cast<std::uint32_t>(draw());
  for (auto& word : out[3].words) word = static_cast<std::uint32_t>(draw());
  for (std::uint32_t rank = 1; rank <= 5; ++rank) out.push_back(driver(base(kTiled, 6, rank, 0, 0)).map);
  out.push_back(driver(base(kTiled, 9, 5, 2, 1)).map);
  out.push_back(driver(base(kTiled, 6, 4, 1, 3)).map);
  out.push_back(driver(base(kIm2col, 6, 4, 0, 3)).map);
  return out;
}

void print_replacement(const char* field, unsigned ordinal, std::uint64_t value, std::size_t image,
                       const Words& before, const Words& after) {
  std::printf("{\"kind\": \"tensor_map_change\", \"name\": \"%s.%u.%" PRIx64 ".%zu\", \"field\": \"%s\"", field,
              ordinal, value, image, field);
  std::printf(", \"ordinal\": %u, \"value\": \"0x%" PRIx64 "\", \"map\": \"%s\", \"changed\": \"%s\"}\n",
              ordinal, value, text(before).c_str(), text(after).c_str());
}

bool print_replacements(const std::vector<Words>& before, std::size_t first_field, std::size_t end_field,
                        bool wild) {
  std::vector<Replacement> all;
  for (std::size_t f = first_field; f < end_field; ++f)
    for (std::uint32_t ordinal = 0; ordinal < kFields[f].ordinals; ++ordinal)
      for (const std::uint64_t value : values_of(f, wild))
        for (std::size_t i = 0; i < before.size(); i += wild ? 1 : 4)
          all.push_back({static_cast<std::uint32_t>(f), ordinal, value, static_cast<std::uint32_t>(i)});
  std::vector<Words> after;
  const bool same = run_replacements(all, before, after);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Replacement& r = all[i];
    print_replacement(kFields[r.field].name, r.ordinal, r.value, r.image, before[r.image], after[i]);
  }
  return same;
}

void print_replaced_addresses(const Driver& driver, const std::vector<Words>& images) {
  for (std::uint32_t bit = 0; bit < 64; ++bit) {
    const std::size_t image = bit % images.size();
    const std::uint64_t address = std::uint64_t{1} << bit;
    Words after = images[image];
    const int result = driver.replace_address(after, address);
    print_replacement("driver", static_cast<unsigned>(result), address, image, images[image], after);
  }
}

int run(int argc, char** argv) {
  const std::string option = argc == 3 ? argv[1] : "", which = argc == 3 ? argv[2] : "";
  if (argc > 1 && option != "--all" && option != "--replace") {
    std::fprintf(stderr, "usage: tensor_maps [--all varied|combined|large|legal|near | --replace N]\n");
    return 2;
  }
  const capture::Device gpu(0);  // its context is the process's from here on
  const capture::Answerer by{gpu.name(), gpu.compute_capability(), gpu.driver(),
                             capture::cuda_version(CUDART_VERSION), capture::today()};
  std::printf(
      "{\"format\": \"recording-1\", \"target\": \"sm_90a\", \"source\": \"hardware\", %s, \"program\": "
      "\"tools/capture/tensor_maps.cu\"}\n",
      capture::about(by).c_str());
  const Driver driver;
  const std::vector<Words> before = images(driver);
  if (option == "--replace") {
    const std::size_t field = std::stoul(which);
    return field < kFields.size() && print_replacements(before, field, field + 1, true) ? 0 : 1;
  }
  const auto print = [&](const char* group, std::size_t each, auto make) {
    if (option.empty() || which == group) print_group(driver, group, make(), option.empty() ? each : 1);
  };
  print("varied", 997, [] { return varied(); });
  print("combined", 401, [] { return combined(); });
  print("large", 101, [] { return large(); });
  print("legal", 97, [] { return drawn(12000, legal); });
  print("near", 401, [] { return drawn(16000, near_limits); });
  if (option == "--all") return 0;
  print_replaced_addresses(driver, before);
  return print_replacements(before, 0, kFields.size(), false) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const capture::Failure& failure) {
  std::fprintf(stderr, "tensor_maps: %s\n", failure.what());
  return 1;
}
