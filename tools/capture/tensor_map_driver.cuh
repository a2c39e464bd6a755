// SPDX-License-Identifier: Apache-2.0
// The driver's functions that make tensor maps, by the arguments of src/verify/cases/tensor_maps.hpp.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "verify/cases/tensor_maps.hpp"

namespace tensor_maps {

inline void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// A function of the driver, or null if it has none of that name.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  require(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found), name);
  return reinterpret_cast<Function>(found == cudaDriverEntryPointSuccess ? address : nullptr);
}

struct Words {
  alignas(64) std::uint32_t words[32];
  friend bool operator==(const Words&, const Words&) = default;
};

inline constexpr std::uint32_t kUntouched = 0xA5A5A5A5;  // in a map before the driver writes it

struct Encoded {
  int result;  // CUresult
  Words map;
};

class Driver {
 public:
  Encoded operator()(const Arguments& a) const {
    Encoded out{};
    std::fill_n(out.map.words, 32, kUntouched);
    auto* const map = reinterpret_cast<CUtensorMap*>(&out.map);
    // What lies behind the last entry that the driver may read: rank 7.
    const std::array<std::uint64_t, 8> dim{a.dim[0], a.dim[1], a.dim[2], a.dim[3], a.dim[4], 16, 16, 16};
    const std::array<std::uint64_t, 8> stride{a.stride[0], a.stride[1], a.stride[2], a.stride[3],
                                              1u << 31,    1u << 31,    1u << 31,    1u << 31};
    const std::array<std::uint32_t, 8> box{a.box[0], a.box[1], a.box[2], a.box[3], a.box[4], 1, 1, 1},
        step{a.step[0], a.step[1], a.step[2], a.step[3], a.step[4], 1, 1, 1};
    const std::array<int, 8> lower{a.lower[0], a.lower[1], a.lower[2]},
        upper{a.upper[0], a.upper[1], a.upper[2]};
    const auto type = static_cast<CUtensorMapDataType>(a.dataType);
    void* const address = reinterpret_cast<void*>(a.address);
    const auto interleave = static_cast<CUtensorMapInterleave>(a.interleave);
    const auto swizzle = static_cast<CUtensorMapSwizzle>(a.swizzle);
    const auto promotion = static_cast<CUtensorMapL2promotion>(a.promotion);
    const auto fill = static_cast<CUtensorMapFloatOOBfill>(a.fill);
    if (a.kind == kTiled)
      out.result =
          tiled_(map, type, a.rank, address, dim.data(), reinterpret_cast<const cuuint64_t*>(stride.data()),
                 box.data(), step.data(), interleave, swizzle, promotion, fill);
    else if (a.kind == kIm2col)
      out.result = im2col_(map, type, a.rank, address, dim.data(), stride.data(), lower.data(), upper.data(),
                           a.channels, a.pixels, step.data(), interleave, swizzle, promotion, fill);
    else
      out.result = wide_ == nullptr
                       ? CUDA_ERROR_NOT_SUPPORTED
                       : wide_(map, type, a.rank, address, dim.data(), stride.data(), a.lower[0], a.upper[0],
                               a.channels, a.pixels, step.data(), interleave,
                               static_cast<CUtensorMapIm2ColWideMode>(a.mode), swizzle, promotion, fill);
    return out;
  }

  int replace_address(Words& map, std::uint64_t address) const {
    return replace_(reinterpret_cast<CUtensorMap*>(&map), reinterpret_cast<void*>(address));
  }

 private:
  decltype(&cuTensorMapEncodeTiled) tiled_ =
      driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", 12000);
  decltype(&cuTensorMapEncodeIm2col) im2col_ =
      driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col", 12000);
  decltype(&cuTensorMapEncodeIm2colWide) wide_ =
      driver_function<decltype(&cuTensorMapEncodeIm2colWide)>("cuTensorMapEncodeIm2colWide", 12080);
  decltype(&cuTensorMapReplaceAddress) replace_ =
      driver_function<decltype(&cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress", 12000);
};

}  // namespace tensor_maps
