// SPDX-License-Identifier: Apache-2.0
// Where a kernel's stores and atomics may go in global memory, by the text of all functions that it may call:
//
//     ld.param.u64 %rd1, [out];  add.s64 %rd2, %rd1, %rd9;  st.global.f32 [%rd2], %f1;      to what the argument 'out' points to
//     ld.global.u64 %rd1, [%rd2];  st.global.f32 [%rd1], %f1;                               anywhere
//
// An address that is made of several values may go where each of them points. A product or a quotient is a distance.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "grid/memory.hpp"
#include "ptx/module.hpp"

namespace warpbit::grid {

struct Stores {
  bool anywhere = false;                 ///< some are to an address that the text does not say
  std::vector<std::uint64_t> variables;  ///< addresses of variables
  std::vector<std::int64_t> parameters;  ///< places of addresses in the kernel's parameters
};

/// Precondition: the first function is the kernel. `address_of`: of a variable in global memory; 0 of one that has none.
Stores find_stores(std::span<const ptx::FunctionText* const> functions,
                   const std::function<std::uint64_t(const ptx::Variable&)>& address_of);

/// Whether some may go to a range, in a launch with these parameters. An argument that points beside all ranges may lead to
/// any of them.
bool may_reach(const Stores& stores, std::span<const std::byte> parameters, const GlobalMemory& memory,
               const GlobalMemory::Range& range);

}  // namespace warpbit::grid
