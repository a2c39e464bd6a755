// SPDX-License-Identifier: Apache-2.0
#include "cli/notes.hpp"

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace warpbit::cli {

void print_assembler_notes(const std::vector<ptx::AssemblerNote>& notes) {
  for (const ptx::AssemblerNote& one : notes)
    fmt::print("note: line {}: {}: {}{}\n", one.line, printable(one.statement), one.text,
               one.defect.empty() ? "" : fmt::format(" (defect {})", one.defect));
}

nlohmann::ordered_json notes_json(const std::vector<ptx::AssemblerNote>& notes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ptx::AssemblerNote& one : notes)
    out.push_back({{"defect", one.defect},
                   {"ptx_line", one.line},
                   {"statement", one.statement},
                   {"text", one.text},
                   {"file", one.file},
                   {"line", one.source_line}});
  return out;
}

}  // namespace warpbit::cli
