// SPDX-License-Identifier: Apache-2.0
// What people type: targets, files, numbers, shares of a work, elements. What is none is refused.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {

/// The target of that name; none for an empty one.
std::optional<Target> find_target(const std::string& name);

/// A form or statement as it is typed: FORM@TARGET, or with the target of an option; a bare form may be short.
struct AskedForm {
  std::string text;              ///< the form in full
  std::optional<Target> target;  ///< if one is given
  std::string short_form = {};   ///< as typed, if it is one
};
/// find_form() returns the error of a form that no form is short for; asked_form() refuses it.
Result<AskedForm> find_form(const std::string& typed, const std::string& target = {});
AskedForm asked_form(const std::string& typed, const std::string& target = {});
/// The instruction. Precondition: the form has a target.
Instruction instruction_of(const AskedForm& form);
/// The instruction on its target, or on the newest that has it.
Instruction instruction_anywhere(const AskedForm& form);

/// An instruction descriptor that a form of tcgen05.mma may have, as an example: common types, M 128 of a block, a small N.
/// None of other forms.
std::optional<std::uint32_t> example_descriptor(const Instruction& instruction);

/// The options with that target.
ReplayOptions with_target(ReplayOptions options, const std::string& name);

/// For options of whole numbers: from `least` to `most`.
inline constexpr std::uint64_t kNoMost = std::numeric_limits<std::uint64_t>::max();
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = kNoMost);

/// True if an argument that may be a form names a file.
bool is_file(const std::string& what);
/// Refuses the name of a picture, where there is one, that does not end in .svg.
void check_svg(const std::string& file);

/// A number, if the text is one from end to end and it fits.
template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}
/// 64 bits, with or without 0x.
std::uint64_t parse_hex(const std::string& where, std::string_view text);
/// 32 bits.
std::uint32_t parse_word(const std::string& where, std::string_view text);

/// The option --undefined, which writes to `undefined`. Precondition: that outlives the parsing.
void add_undefined(CLI::App& command, Undefined& undefined);
/// The option --shard I/N, which writes to `shard`. Precondition: `shard` outlives the parsing.
void add_shard(CLI::App& command, Shard& shard, const std::string& description);

/// The options --a, --b, --c, --a-scale and --b-scale: numbers ("1", "-0x1.8p3", "2^-12", "1/3", "nan") or
/// codes ("0x3c00"), separated by blanks or commas.
struct ElementOptions {
  std::string a, b, c, a_scale, b_scale;

  void add_to(CLI::App& command);
  bool is_given() const { return !(a + b + c + a_scale + b_scale).empty(); }
  /// The options as they are typed: " --a '1 2' --b '3'".
  std::string typed() const;
  /// In the formats of the instruction, of a and b at most as many as it has terms, or `instructions` times as
  /// many; `notes` says what had to be rounded. Scale factors that are not given are 1. An instruction that is
  /// no D = A B + C is refused.
  ElementInputs inputs(const Instruction& instruction, std::vector<std::string>& notes,
                       int instructions = 1) const;
};

}  // namespace warpbit::cli
