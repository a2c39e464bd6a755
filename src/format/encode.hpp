// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "numeric/formats.hpp"
#include "warpbit/format.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// The row of a format, by name or synonym. Error: that of find_format_info.
Result<const Format*> find_row(std::string_view name);

/// The code of an infinity or a NaN. Errors: usage, as for encode_number. Precondition: `cls` is one of
/// these.
Result<std::uint64_t> encode_special(const Format& format, Class cls, bool negative, bool satfinite);

}  // namespace warpbit
#pragma GCC visibility pop
