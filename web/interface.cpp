// SPDX-License-Identifier: Apache-2.0
#include "interface.h"

#include <nlohmann/json.hpp>
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

std::string answer(const char* text) {
  const Json given = Json::parse(text, nullptr, false);
  if (!is_list_of_strings(given))
    return text_of(2, {"", "warpbit: the arguments are no list; accepted: JSON, an array of strings\n"});
  auto words = given.get<std::vector<std::string>>();
  words.insert(words.begin(), "warpbit");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int status = 0;
  const warpbit::web::Printed printed = warpbit::web::printed_by(
      [&] { status = warpbit::cli::run_command_line(static_cast<int>(words.size()), pointers.data()); });
  return text_of(status, printed);
}

}  // namespace

const char* warpbit_web_command(const char* arguments) {
  static std::string out;
  out = answer(arguments);
  return out.c_str();
}
