// SPDX-License-Identifier: Apache-2.0
#include "ptx/source.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
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

int root_of(const ModuleText& module, int at) {
  while (module.locations[static_cast<std::size_t>(at)].inlined_at >= 0)
    at = module.locations[static_cast<std::size_t>(at)].inlined_at;
  return at;
}

// The other lines of the kernel that a chain may begin with, where it is not sure at one of its links.
std::vector<int> other_roots(const ModuleText& module, int at) {
  const Location& own = module.locations[static_cast<std::size_t>(root_of(module, at))];
  std::set<int> lines;
  for (; at >= 0; at = module.locations[static_cast<std::size_t>(at)].inlined_at)
    for (const int other : module.locations[static_cast<std::size_t>(at)].or_inlined_at) {
      const Location& root = module.locations[static_cast<std::size_t>(root_of(module, other))];
      if (root.file == own.file && root.line != own.line) lines.insert(root.line);
    }
  return {lines.begin(), lines.end()};
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
  if (!out.empty()) out.front().or_lines = other_roots(module, statement.location);
  return out;
}

SourceLink source_of(const ModuleText& module, const FunctionText& function, const Statement& statement) {
  std::vector<SourceLink> all = chain_of(module, function, statement);
  return all.empty() ? SourceLink{} : std::move(all.front());
}

}  // namespace warpbit::ptx
