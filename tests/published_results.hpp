// SPDX-License-Identifier: Apache-2.0
// A folder of WARPBIT_GOLDEN_PATH with results that others published, and what the rows claim of them.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>  // getenv
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "plan_evidence.hpp"

namespace published_results {

/// Nothing where none is named that has any.
inline std::optional<std::filesystem::path> find_folder() {
  const char* value = std::getenv("WARPBIT_GOLDEN_PATH");
  std::istringstream folders(value ? value : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    INFO(folder);
    REQUIRE(std::filesystem::is_directory(folder));
    if (std::filesystem::exists(std::filesystem::path(folder) / "V100")) return folder;
  }
  return std::nullopt;
}

inline std::string without_letter(std::string_view target) {
  return std::string(target.substr(0, target.find_last_of("0123456789") + 1));
}

/// What a ground excepts: "X" and "Y" of "..., but for X and Y".
inline std::set<std::string> exceptions(std::string_view from) {
  std::set<std::string> out;
  const std::string_view mark = ", but for ", conjunction = " and ";
  const std::size_t at = from.find(mark);
  if (at == from.npos) return out;
  for (std::string_view rest = from.substr(at + mark.size());;) {
    const std::size_t end = rest.find(conjunction);
    out.emplace(rest.substr(0, end));
    if (end == rest.npos) return out;
    rest.remove_prefix(end + conjunction.size());
  }
}

/// Results near 1 show no more than these.
inline const std::map<std::string_view, plan_evidence::Parameter> kShownNearOne{
    {"L", plan_evidence::Parameter::order},
    {"order", plan_evidence::Parameter::order},
    {"C", plan_evidence::Parameter::order},
    {"F", plan_evidence::Parameter::window},
    {"rounding", plan_evidence::Parameter::window},
    {"fraction bits", plan_evidence::Parameter::window},
    {"rounding of C's addition", plan_evidence::Parameter::window}};

/// What a ground calls a neighbour.
inline std::string name_of(const warpbit::Neighbour& n) {
  const bool is_tie = n.parameter == "rounding" && n.own == "rn" && n.other == "rna";
  return is_tie ? "ties to even" : std::string(n.parameter);
}

}  // namespace published_results
