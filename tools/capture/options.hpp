// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "warpbit/inputs/text.hpp"

namespace capture {

struct Options {
  std::string kernels, out = "captures", forms, generator, target;
  std::optional<std::uint64_t> cases, elements, first_case;
  std::uint64_t seed = 1;
  warpbit::inputs::Profile profile = warpbit::inputs::Profile::mixed;
  int device = 0;
  bool help = false, first = false, list = false, dry_run = false, describe = false, exhaustive = false,
       probes = false;
};

/// What every option does, for a person.
extern const char* const kUsage;

/// Throws Failure for what is no option or has no such value.
Options parse_options(int argc, char** argv);

}  // namespace capture
