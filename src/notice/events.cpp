// SPDX-License-Identifier: Apache-2.0
#include "notice/events.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "test_process.hpp"

namespace warpbit::noticing {

namespace fs = std::filesystem;

std::vector<nlohmann::json> events_of(const fs::path& folder) {
  std::vector<nlohmann::json> out;
  std::ifstream file(folder / TestProcess::kEvents);
  for (std::string line; std::getline(file, line);)
    if (nlohmann::json one = nlohmann::json::parse(line, nullptr, false); one.is_object())
      out.push_back(std::move(one));
  return out;
}

bool is_event(const nlohmann::json& one, std::string_view name) {
  return one.value("event", "") == name;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string end_of_output(const fs::path& folder) {
  constexpr std::size_t kShown = 2000;
  std::string out = read_file(folder / "output");
  if (out.size() > kShown) out.erase(0, out.size() - kShown);
  return out;
}

std::optional<Error> check_command(std::span<const std::string> command, std::string_view who) {
  if (command.empty()) return Error{Errc::usage, "the command", "none", "a command that runs a test"};
  if (std::getenv(TestProcess::kVariable) != nullptr)
    return Error{Errc::usage, std::string(who), "it is run by a test that is watched itself",
                 "a process that is not"};
  return std::nullopt;
}

}  // namespace warpbit::noticing
