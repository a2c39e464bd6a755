// SPDX-License-Identifier: Apache-2.0
#include "function_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace warpbit {
namespace {

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

// nvcc puts what only one file sees into a namespace of the file: "_INTERNAL_6340af10_9_reduce_cu_kernel::__ldcg".
std::string without_file(std::string name) {
  constexpr std::string_view kBegin = "_INTERNAL_";
  for (std::size_t first = 0; (first = name.find(kBegin, first)) != name.npos;) {
    const std::size_t end =
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", first);
    if (end == name.npos || !std::string_view(name).substr(end).starts_with("::")) break;
    name.erase(first, end + 2 - first);
  }
  return name;
}

}  // namespace

std::string function_name(std::string_view symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || name == nullptr || !symbol.starts_with("_Z")) return std::string(symbol);
  return without_file(std::string(without_result(without_parameters(name.get()))));
}

}  // namespace warpbit
