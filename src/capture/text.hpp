// SPDX-License-Identifier: Apache-2.0
// Texts of a capture: foreign ones in messages, errors that name a member, and the members in which a capture describes
// itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "warpbit/capture.hpp"
#include "warpbit/result.hpp"

namespace warpbit::capture {

#pragma GCC visibility push(default)  // the library of programs quotes, too
/// The text in single quotes, fit for a terminal: bytes outside printable ASCII become \xNN, and what is longer
/// than 80 bytes is cut and ends in "...".
std::string quoted(std::string_view text);
/// The same without the quotes.
std::string excerpt(std::string_view text);
#pragma GCC visibility pop

/// True if no byte is a control character; blanks are allowed, and tabs and newlines if `lines` is set.
bool is_plain(std::string_view text, bool lines);

/// An Error about one member; `member` may be foreign text.
Error member_error(Errc code, std::string_view member, std::string seen, std::string accepted);

// ---- The members in which a capture describes itself

/// Longest text of a descriptive member.
inline constexpr std::size_t kLongestText = std::size_t{1} << 20;

/// One descriptive member: a zero-dimensional byte string.
struct DescriptiveMember {
  std::string_view name;
  std::string_view accepted;  ///< what its text may be, for messages
  /// The member's text for a header.
  std::string (*text)(const CaptureHeader&);
  /// Puts the member's text into a header; false if it is not an accepted one.
  bool (*put)(CaptureHeader&, std::string_view);
};

/// All of them, in the order in which they are written and checked; `format` is the first.
std::span<const DescriptiveMember> descriptive_members();

bool is_descriptive(std::string_view member);

/// Checks the text of a descriptive member and puts it into `header`. Errors: member_malformed (too long),
/// member_value.
Result<void> put_text(const DescriptiveMember& member, std::string_view text, CaptureHeader& header);

}  // namespace warpbit::capture
