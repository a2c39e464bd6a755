// SPDX-License-Identifier: Apache-2.0
// What the assembler does to a module against the PTX manual.
#pragma once

#include <string>
#include <vector>

#include "cli/json.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {

void print_assembler_notes(const std::vector<ptx::AssemblerNote>& notes);
nlohmann::ordered_json notes_json(const std::vector<ptx::AssemblerNote>& notes);

}  // namespace warpbit::cli
