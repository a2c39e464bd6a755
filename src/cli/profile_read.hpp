// SPDX-License-Identifier: Apache-2.0
// From data back to what a launch has counted.
#pragma once

#include <string>
#include <string_view>

#include "warpbit/profile.hpp"

namespace warpbit::cli {

/// What `launch --svg` draws, of the text that `launch --profile --json` prints for the same launch. `where`: the text's name.
/// Throws a Refusal of what is no such text, with the member that is not as it should be.
ptx::ProfilePicture read_profile(const std::string& where, std::string_view text);

}  // namespace warpbit::cli
