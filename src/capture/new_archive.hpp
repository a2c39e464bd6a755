// SPDX-License-Identifier: Apache-2.0
// Zip archives that are made: the same bytes for the same members, whatever the day.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "warpbit/result.hpp"

namespace warpbit::capture {

/// A member to be written: `start`, and the data behind it.
struct NewMember {
  std::string name;
  std::string start;
  std::span<const std::byte> data;
};

/// The bytes of an archive of these, deflated, in their order. Errors: file_unwritable, of `where`.
Result<std::vector<std::byte>> zipped(std::span<const NewMember> members, const std::string& where);

}  // namespace warpbit::capture
