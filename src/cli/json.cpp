// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <fmt/format.h>

namespace warpbit::cli {

void print_json(std::string_view command, const nlohmann::ordered_json& object) {
  nlohmann::ordered_json out{{"schema", fmt::format("{}/1", command)}};
  out.update(object);
  fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace warpbit::cli
