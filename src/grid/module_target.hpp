// SPDX-License-Identifier: Apache-2.0
// On which targets a module runs.
#pragma once

#include <optional>

#include "ptx/module.hpp"

namespace warpbit::ptx {

/// The target that a module is to run on: the one that is wanted, else the module's own. Errors: not_on_target, unknown_target,
/// target_too_old, not_in_version.
Result<Target> target_of(const ModuleText& module, std::optional<Target> wanted);

}  // namespace warpbit::ptx
