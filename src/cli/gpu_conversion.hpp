// SPDX-License-Identifier: Apache-2.0
// What the conversion from f32 of NVIDIA's GPUs (PTX manual, "cvt") has for a format, beside what the format alone allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpbit::cli {

struct GpuConversion {
  std::vector<std::string> roundings;  ///< "rn", "rz", ...; as forms of cvt name them
  bool always_saturates = true;        ///< each form has .satfinite
};
/// Nothing if no tensor conversion goes to the format.
std::optional<GpuConversion> conversion_to(std::string_view format);

}  // namespace warpbit::cli
