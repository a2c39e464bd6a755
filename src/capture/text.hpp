// SPDX-License-Identifier: Apache-2.0
// Foreign text in messages, and the errors that name a member.
#pragma once

#include <string>
#include <string_view>

#include "warpbit/result.hpp"

namespace warpbit::capture {

/// The text in single quotes, fit for a terminal: bytes outside printable ASCII become \xNN, and what is longer
/// than 80 bytes is cut and ends in "...".
std::string quoted(std::string_view text);
/// The same without the quotes.
std::string excerpt(std::string_view text);

/// True if no byte is a control character; blanks are allowed, and tabs and newlines if `lines` is set.
bool is_plain(std::string_view text, bool lines);

/// An Error about one member; `member` may be foreign text.
Error member_error(Errc code, std::string_view member, std::string seen, std::string accepted);

}  // namespace warpbit::capture
