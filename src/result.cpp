// SPDX-License-Identifier: Apache-2.0
#include "warpbit/result.hpp"

#include <fmt/format.h>

#include <array>

namespace warpbit {
namespace {

struct Row {
  Errc code;
  std::string_view name;
  ErrorKind kind;
  std::string_view text;  // {where}, {seen}, {accepted}
};
constexpr std::string_view kExpected = "{where}: {seen}; expected {accepted}",
                           kSeen = "{where}: {seen}; {accepted}";

// One row per code, in the order of the enumeration (proved by the static_assert below).
constexpr auto kRows = [] {
  using enum ErrorKind;
  return std::array{
      Row{Errc::statement_syntax, "statement_syntax", statement, kExpected},
      Row{Errc::unknown_instruction, "unknown_instruction", statement,
          "'{seen}' is not an instruction of this library; it has {accepted}"},
      Row{Errc::unknown_qualifier, "unknown_qualifier", statement,
          "{where}: '.{seen}' is not a qualifier of this instruction; it takes {accepted}"},
      Row{Errc::repeated_qualifier, "repeated_qualifier", statement, "{where}: {seen}; accepted is {accepted}"},
      Row{Errc::qualifier_order, "qualifier_order", statement, "{where}: {seen}; accepted is {accepted}"},
      Row{Errc::missing_qualifier, "missing_qualifier", statement,
          "{where}: the {seen} is missing; accepted is {accepted}"},
      Row{Errc::no_such_form, "no_such_form", statement, kSeen},
      Row{Errc::undocumented_form, "undocumented_form", statement,
          "{where}: undocumented: {seen}; documented is {accepted}"},
      Row{Errc::not_on_target, "not_on_target", statement,
          "{where} does not exist on {seen}; it exists on {accepted}"},
      Row{Errc::not_modelled, "not_modelled", statement,
          "{where} exists on {seen}, but its fragments there are unspecified and have not been measured; "
          "they are known on {accepted}"},
      Row{Errc::instruction_not_modelled, "instruction_not_modelled", statement,
          "{where} is not modelled yet: {seen}"},
      Row{Errc::operand_missing, "operand_missing", statement,
          "{where}: operand {seen} is missing; expected {accepted}"},
      Row{Errc::operand_extra, "operand_extra", statement,
          "{where}: operand {seen} is one too many; expected {accepted}"},
      Row{Errc::operand_kind, "operand_kind", statement, kExpected},
      Row{Errc::register_count, "register_count", statement, kExpected},
      Row{Errc::register_type, "register_type", statement, kExpected},
      Row{Errc::unknown_target, "unknown_target", statement,
          "'{seen}' is not a known target; known are {accepted}"},
      Row{Errc::lanes_missing, "lanes_missing", execution, kSeen},
      Row{Errc::lanes_disagree, "lanes_disagree", execution, kSeen},
      Row{Errc::view_mismatch, "view_mismatch", execution, kExpected},
      Row{Errc::memory_needed, "memory_needed", execution, kExpected},
      Row{Errc::machine_needed, "machine_needed", execution, kExpected},
      Row{Errc::protocol_violation, "protocol_violation", execution, kSeen},
      Row{Errc::inferred_plan, "inferred_plan", execution,
          "{where}: the arithmetic is inferred ({seen}; src/target/NUMERICS.md); {accepted}"},
      Row{Errc::undefined_operand, "undefined_operand", execution,
          "{where}: {seen} is undefined; defined is {accepted}"},
      Row{Errc::no_such_kernel, "no_such_kernel", execution,
          "{where}: there is no kernel {seen}; expected {accepted}"},
      Row{Errc::not_sparse, "not_sparse", execution, kExpected},
      Row{Errc::address_out_of_bounds, "address_out_of_bounds", memory,
          "{where}: {seen} are out of bounds; {accepted}"},
      Row{Errc::address_misaligned, "address_misaligned", memory, "{where}: {seen} is misaligned; {accepted}"},
      Row{Errc::address_not_shared, "address_not_shared", memory,
          "{where}: {seen} does not point into shared memory; {accepted}"},
      Row{Errc::addresses_disagree, "addresses_disagree", memory, kSeen},
      Row{Errc::stores_overlap, "stores_overlap", memory, kSeen},
      Row{Errc::memory_overlap, "memory_overlap", memory, "{where}: {seen} overlaps {accepted}"},
      Row{Errc::descriptor_field, "descriptor_field", memory, kExpected},
      Row{Errc::no_such_layout, "no_such_layout", memory, kExpected},
      Row{Errc::launch_shape, "launch_shape", execution, kExpected},
      Row{Errc::threads_diverge, "threads_diverge", execution, kSeen},
      Row{Errc::inactive_lane, "inactive_lane", execution, kSeen},
      Row{Errc::never_written, "never_written", execution,
          "{where}: {seen} has never been written; {accepted}"},
      Row{Errc::data_race, "data_race", execution, kSeen},
      Row{Errc::copy_pending, "copy_pending", execution, kSeen},
      Row{Errc::stack_overflow, "stack_overflow", execution, kSeen},
      Row{Errc::file_unreadable, "file_unreadable", file, "{where}: cannot be read: {seen}"},
      Row{Errc::file_unwritable, "file_unwritable", file, "{where}: cannot be written: {seen}"},
      Row{Errc::not_an_archive, "not_an_archive", file,
          "{where}: not a readable zip archive ({seen}); expected {accepted}"},
      Row{Errc::archive_too_large, "archive_too_large", file, kSeen},
      Row{Errc::member_missing, "member_missing", file, "member '{where}' is missing; expected {accepted}"},
      Row{Errc::member_malformed, "member_malformed", file, "member '{where}': {seen}; expected {accepted}"},
      Row{Errc::member_dtype, "member_dtype", file, "member '{where}' has dtype {seen}; expected {accepted}"},
      Row{Errc::member_shape, "member_shape", file, "member '{where}' has shape {seen}; expected {accepted}"},
      Row{Errc::member_value, "member_value", file, "member '{where}': {seen}; expected {accepted}"},
      Row{Errc::no_cases, "no_cases", file, kExpected},
      Row{Errc::captures_differ, "captures_differ", file, kExpected},
      Row{Errc::usage, "usage", usage, kExpected},
  };
}();

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].code) != i) return false;
  return kRows.size() == static_cast<std::size_t>(Errc::usage) + 1;
}
static_assert(in_order());

// Texts and paths come from outside: control characters are escaped, what is too long is cut.
std::string one_line(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return text.size() > kLongest ? out + "..." : out;
}

}  // namespace

std::string Error::message() const {
  return fmt::format(fmt::runtime(kRows[static_cast<std::size_t>(code)].text),
                     fmt::arg("where", one_line(where)), fmt::arg("seen", one_line(seen)),
                     fmt::arg("accepted", accepted));
}

std::string_view name(Errc code) {
  return kRows[static_cast<std::size_t>(code)].name;
}

ErrorKind kind(Errc code) {
  return kRows[static_cast<std::size_t>(code)].kind;
}

}  // namespace warpbit
