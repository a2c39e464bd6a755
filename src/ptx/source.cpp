// SPDX-License-Identifier: Apache-2.0
#include "ptx/source.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

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

std::string file_of(const ModuleText& module, int number) {
  const bool is_there = number > 0 && static_cast<std::size_t>(number) < module.files.size();
  return is_there ? module.files[static_cast<std::size_t>(number)] : std::string();
}

// The parameters of a function end its name, but for "const" and the like: "get(int) const" -> "get".
std::string_view without_parameters(std::string_view name) {
  const std::size_t end = name.rfind(')');
  if (end == name.npos || name.substr(0, end + 1).ends_with("operator()")) return name;
  int depth = 0;
  for (std::size_t at = end + 1; at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) return at == 0 ? name : name.substr(0, at);
  }
  return name;
}

// That of a template begins with its result: "void copy<float>" -> "copy<float>". Operators are the last name, and may have
// spaces and brackets themselves.
std::string_view without_result(std::string_view name) {
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t at = 0; at < name.size() && !name.substr(at).starts_with("operator"); ++at) {
    const char c = name[at];
    depth += c == '<' || c == '(' || c == '{' ? 1 : c == '>' || c == ')' || c == '}' ? -1 : 0;
    if (depth == 0 && c == ' ') first = at + 1;
  }
  return name.substr(first);
}

}  // namespace

std::string function_name(std::string_view symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || name == nullptr || !symbol.starts_with("_Z")) return std::string(symbol);
  return std::string(without_result(without_parameters(name.get())));
}

std::vector<SourceLink> chain_of(const ModuleText& module, const FunctionText& function,
                                 const Statement& statement) {
  std::vector<SourceLink> out;
  for (int at = statement.location; at >= 0; at = module.locations[static_cast<std::size_t>(at)].inlined_at) {
    const Location& location = module.locations[static_cast<std::size_t>(at)];
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
