// SPDX-License-Identifier: Apache-2.0
#include "interface.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "console.hpp"

namespace {

using Json = nlohmann::ordered_json;

bool is_list_of_strings(const Json& json) {
  if (!json.is_array()) return false;
  for (const Json& item : json)
    if (!item.is_string()) return false;
  return true;
}

std::string text_of(int status, const warpbit::web::Printed& printed) {
  Json out = {{"status", status}, {"stdout", printed.out}, {"stderr", printed.messages}};
  if (!printed.files.empty()) out["files"] = printed.files;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// By their names; nothing if it is no object of strings.
std::optional<warpbit::web::Files> files_in(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  warpbit::web::Files out;
  for (const auto& [name, text] : json.items()) {
    if (!text.is_string()) return std::nullopt;
    out.emplace(name, text.get<std::string>());
  }
  return out;
}

std::string answer(const char* text) {
  const Json given = Json::parse(text, nullptr, false);
  const Json arguments = given.is_object() ? given.value("arguments", Json()) : given;
  const auto files = files_in(given.is_object() ? given.value("files", Json::object()) : Json::object());
  if (!is_list_of_strings(arguments) || !files)
    return text_of(
        2, {"",
            "warpbit: the arguments are no list; accepted: JSON, an array of strings, or an object with "
            "the array \"arguments\" and the object of strings \"files\"\n"});
  auto words = arguments.get<std::vector<std::string>>();
  words.insert(words.begin(), "warpbit");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int status = 0;
  const warpbit::web::Printed printed = warpbit::web::printed_by(*files, [&] {
    status = warpbit::cli::run_command_line(static_cast<int>(words.size()), pointers.data());
  });
  return text_of(status, printed);
}

}  // namespace

const char* warpbit_web_command(const char* arguments) {
  static std::string out;
  out = answer(arguments);
  return out.c_str();
}
