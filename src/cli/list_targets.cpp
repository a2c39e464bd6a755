// SPDX-License-Identifier: Apache-2.0
#include "cli/list_targets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {

int list_targets(bool markdown, bool json) {
  Table table{{"target", "architecture", "names"}};
  nlohmann::ordered_json targets = nlohmann::ordered_json::array();
  for (const TargetNames& row : target_names()) {
    table.push_back({std::string(row.target.name()), std::string(row.architecture),
                     fmt::format("{}", fmt::join(row.names, ", "))});
    targets.push_back(
        {{"target", row.target.name()}, {"architecture", row.architecture}, {"names", row.names}});
  }
  if (json) {
    print_json("list", {{"targets", targets}});
    return kYes;
  }
  if (markdown)
    print(table, true);
  else
    print_narrow(table);
  if (!markdown)
    print_fitted(fmt::format("\nx: a digit from 5 to 9. PTX has the names {}", names(Target::all())));
  return kYes;
}

}  // namespace warpbit::cli
