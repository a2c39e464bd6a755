// SPDX-License-Identifier: Apache-2.0
// What warpbit launch counts: as tables, as data, as a picture.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "warpbit/ptx.hpp"

namespace warpbit::cli {

/// --profile, --svg and --svg-block of a command.
class LaunchProfile {
 public:
  void add_to(CLI::App& command);

  /// Refuses names and blocks that cannot be. `json`: the answer has the data.
  void follow(ptx::Launch& how, bool json) const;
  /// Tables, if they are asked for.
  void print(const ptx::Report& report) const;
  /// The member "profile", if it is.
  void add_to(nlohmann::ordered_json& answer, const ptx::Report& report) const;
  /// The picture, if it is. `title`: the kernel and where it runs.
  void draw(const std::string& title, const ptx::Report& report) const;

 private:
  bool is_wanted_ = false;
  std::string svg_, block_;
};

}  // namespace warpbit::cli
