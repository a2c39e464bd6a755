// SPDX-License-Identifier: Apache-2.0
// Functions of f32 as kernels have them, element by element: PTX, executed as any kernel is.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace warpbit::reduction {

/// `expf`, `ex2`, `logf`, `rsqrt` of one argument; `div_full` of two. Precondition: it is one of these, and the arguments are alike long.
std::vector<float> computed(std::string_view function, std::span<const float> a, std::span<const float> b = {});

}  // namespace warpbit::reduction
