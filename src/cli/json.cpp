// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <fmt/format.h>

namespace warpbit::cli {
namespace {

constexpr Errc kCodes[] = {
#define WARPBIT_ERROR(code, kind, sentence) Errc::code,
#include "warpbit/detail/errors.inc"
#undef WARPBIT_ERROR
};

void print_indented(std::string_view command, const nlohmann::ordered_json& object, int indent) {
  nlohmann::ordered_json out{{"schema", fmt::format("{}/1", command)}};
  out.update(object);
  fmt::print("{}\n", out.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, fmt::format("print JSON, of the schema {}/1", command.get_name()));
}

void print_json(std::string_view command, const nlohmann::ordered_json& object) {
  print_indented(command, object, 2);
}

void print_json_line(std::string_view command, const nlohmann::ordered_json& object) {
  print_indented(command, object, -1);
}

nlohmann::ordered_json error_json(const Error& error) {
  return {{"code", name(error.code)},
          {"message", error.message()},
          {"where", error.where},
          {"seen", error.seen},
          {"accepted", error.accepted}};
}

Error error_of(const nlohmann::ordered_json& object) {
  Error out{Errc::usage, object.at("where"), object.at("seen"), object.at("accepted")};
  for (const Errc code : kCodes)
    if (object.at("code") == name(code)) out.code = code;
  return out;
}

std::string hexadecimal(std::uint64_t code) {
  return fmt::format("{:#x}", code);
}

}  // namespace warpbit::cli
