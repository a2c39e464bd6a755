// SPDX-License-Identifier: Apache-2.0
#include "ptx/source.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "function_name.hpp"

namespace warpbit::ptx {
namespace {

// The name at an offset behind a label of .debug_str.
std::string_view name_at(const ModuleText& module, const Location& at) {
  const auto label = module.debug_labels.find(at.function);
  if (label == module.debug_labels.end() || at.offset < 0) return {};
  const std::size_t first = label->second + static_cast<std::size_t>(at.offset);
  if (first >= module.debug_names.size()) return {};
  return std::string_view(module.debug_names).substr(first, module.debug_names.find('\0', first) - first);
}

// Without ways up: "/usr/local/cuda/bin/../targets" is "/usr/local/cuda/targets".
std::string file_of(const ModuleText& module, int number) {
  const bool is_there = number > 0 && static_cast<std::size_t>(number) < module.files.size();
  if (!is_there) return {};
  return std::filesystem::path(module.files[static_cast<std::size_t>(number)]).lexically_normal().string();
}

}  // namespace

std::vector<SourceLink> chain_of(const ModuleText& module, const FunctionText& function,
                                 const Statement& statement) {
  std::vector<SourceLink> out;
  for (int at = statement.location; at >= 0; at = module.locations[static_cast<std::size_t>(at)].inlined_at) {
    const Location& location = module.locations[static_cast<std::size_t>(at)];
    if (location.line == 0) continue;  // of no line, as compilers say
    const std::string_view name = location.inlined_at < 0 ? function.name : name_at(module, location);
    out.push_back({function_name(name), file_of(module, location.file), location.line});
  }
  std::ranges::reverse(out);
  if (!out.empty() && out.front().file.empty()) out.clear();
  return out;
}

SourceLink source_of(const ModuleText& module, const FunctionText& function, const Statement& statement) {
  std::vector<SourceLink> all = chain_of(module, function, statement);
  return all.empty() ? SourceLink{} : std::move(all.front());
}

}  // namespace warpbit::ptx
