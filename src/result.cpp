// SPDX-License-Identifier: Apache-2.0
#include "warpbit/result.hpp"

#include <fmt/format.h>

#include <array>

namespace warpbit {
namespace {

struct Row {
  Errc code;
  std::string_view name;
  std::string_view text;  // {where}, {seen}, {accepted}
};

// One row per code, in the order of the enumeration (proved by the static_assert below).
constexpr std::array kRows{
    Row{Errc::statement_syntax, "statement_syntax", "{where}: {seen}; expected {accepted}"},
    Row{Errc::unknown_instruction, "unknown_instruction",
        "'{seen}' is not an instruction of this library; it has {accepted}"},
    Row{Errc::unknown_qualifier, "unknown_qualifier",
        "{where}: '.{seen}' is not a qualifier of this instruction; it takes {accepted}"},
    Row{Errc::repeated_qualifier, "repeated_qualifier", "{where}: {seen}; accepted is {accepted}"},
    Row{Errc::qualifier_order, "qualifier_order", "{where}: {seen}; accepted is {accepted}"},
    Row{Errc::missing_qualifier, "missing_qualifier", "{where}: the {seen} is missing; accepted is {accepted}"},
    Row{Errc::no_such_form, "no_such_form", "{where}: {seen}; {accepted}"},
    Row{Errc::undocumented_form, "undocumented_form",
        "{where}: undocumented: {seen}; documented is {accepted}"},
    Row{Errc::not_on_target, "not_on_target", "{where} does not exist on {seen}; it exists on {accepted}"},
    Row{Errc::not_modelled, "not_modelled",
        "{where} exists on {seen}, but its fragments there are unspecified and have not been measured; "
        "they are known on {accepted}"},
    Row{Errc::instruction_not_modelled, "instruction_not_modelled", "{where} is not modelled yet: {seen}"},
    Row{Errc::operand_missing, "operand_missing", "{where}: operand {seen} is missing; expected {accepted}"},
    Row{Errc::operand_extra, "operand_extra", "{where}: operand {seen} is one too many; expected {accepted}"},
    Row{Errc::operand_kind, "operand_kind", "{where}: {seen}; expected {accepted}"},
    Row{Errc::register_count, "register_count", "{where}: {seen}; expected {accepted}"},
    Row{Errc::register_type, "register_type", "{where}: {seen}; expected {accepted}"},
    Row{Errc::unknown_target, "unknown_target", "'{seen}' is not a known target; known are {accepted}"},
    Row{Errc::lanes_missing, "lanes_missing", "{where}: {seen}; {accepted}"},
    Row{Errc::lanes_disagree, "lanes_disagree", "{where}: {seen}; {accepted}"},
    Row{Errc::view_mismatch, "view_mismatch", "{where}: {seen}; expected {accepted}"},
    Row{Errc::memory_needed, "memory_needed", "{where}: {seen}; expected {accepted}"},
    Row{Errc::machine_needed, "machine_needed", "{where}: {seen}; expected {accepted}"},
    Row{Errc::protocol_violation, "protocol_violation", "{where}: {seen}; {accepted}"},
    Row{Errc::inferred_plan, "inferred_plan",
        "{where}: the arithmetic is inferred ({seen}; src/target/NUMERICS.md); {accepted}"},
    Row{Errc::undefined_operand, "undefined_operand", "{where}: {seen} is undefined; defined is {accepted}"},
    Row{Errc::no_such_kernel, "no_such_kernel", "{where}: there is no kernel {seen}; expected {accepted}"},
    Row{Errc::not_sparse, "not_sparse", "{where}: {seen}; expected {accepted}"},
    Row{Errc::address_out_of_bounds, "address_out_of_bounds", "{where}: {seen} are out of bounds; {accepted}"},
    Row{Errc::address_misaligned, "address_misaligned", "{where}: {seen} is misaligned; {accepted}"},
    Row{Errc::address_not_shared, "address_not_shared",
        "{where}: {seen} does not point into shared memory; {accepted}"},
    Row{Errc::addresses_disagree, "addresses_disagree", "{where}: {seen}; {accepted}"},
    Row{Errc::stores_overlap, "stores_overlap", "{where}: {seen}; {accepted}"},
    Row{Errc::memory_overlap, "memory_overlap", "{where}: {seen} overlaps {accepted}"},
    Row{Errc::descriptor_field, "descriptor_field", "{where}: {seen}; expected {accepted}"},
    Row{Errc::no_such_layout, "no_such_layout", "{where}: {seen}; expected {accepted}"},
    Row{Errc::launch_shape, "launch_shape", "{where}: {seen}; expected {accepted}"},
    Row{Errc::threads_diverge, "threads_diverge", "{where}: {seen}; {accepted}"},
    Row{Errc::inactive_lane, "inactive_lane", "{where}: {seen}; {accepted}"},
    Row{Errc::never_written, "never_written", "{where}: {seen} has never been written; {accepted}"},
    Row{Errc::data_race, "data_race", "{where}: {seen}; {accepted}"},
    Row{Errc::copy_pending, "copy_pending", "{where}: {seen}; {accepted}"},
    Row{Errc::stack_overflow, "stack_overflow", "{where}: {seen}; {accepted}"},
    Row{Errc::file_unreadable, "file_unreadable", "{where}: cannot be read: {seen}"},
    Row{Errc::file_unwritable, "file_unwritable", "{where}: cannot be written: {seen}"},
    Row{Errc::not_an_archive, "not_an_archive",
        "{where}: not a readable zip archive ({seen}); expected {accepted}"},
    Row{Errc::archive_too_large, "archive_too_large", "{where}: {seen}; {accepted}"},
    Row{Errc::member_missing, "member_missing", "member '{where}' is missing; expected {accepted}"},
    Row{Errc::member_malformed, "member_malformed", "member '{where}': {seen}; expected {accepted}"},
    Row{Errc::member_dtype, "member_dtype", "member '{where}' has dtype {seen}; expected {accepted}"},
    Row{Errc::member_shape, "member_shape", "member '{where}' has shape {seen}; expected {accepted}"},
    Row{Errc::member_value, "member_value", "member '{where}': {seen}; expected {accepted}"},
    Row{Errc::no_cases, "no_cases", "{where}: {seen}; expected {accepted}"},
    Row{Errc::captures_differ, "captures_differ", "{where}: {seen}; expected {accepted}"},
    Row{Errc::usage, "usage", "{where}: {seen}; expected {accepted}"},
};

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

}  // namespace warpbit
