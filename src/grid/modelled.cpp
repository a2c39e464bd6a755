// SPDX-License-Identifier: Apache-2.0
#include "grid/modelled.hpp"

#include <algorithm>
#include <string>

namespace warpbit::grid {
namespace {

using ptx::Type;

// How a name begins, and the reason. An opcode of the video instructions ends with a number of parts or not.
struct NotModelled {
  std::string_view name, reason;
};
constexpr NotModelled kNotModelled[] = {
    {"multimem", "there is one GPU"},
    {"tex", "there are no textures"},
    {"tld4", "there are no textures"},
    {"txq", "there are no textures"},
    {"istypep", "there are no textures"},
    {"suld", "there are no surfaces"},
    {"sust", "there are no surfaces"},
    {"sured", "there are no surfaces"},
    {"suq", "there are no surfaces"},
    {"vadd", "video instructions are not executed"},
    {"vsub", "video instructions are not executed"},
    {"vabsdiff", "video instructions are not executed"},
    {"vmin", "video instructions are not executed"},
    {"vmax", "video instructions are not executed"},
    {"vshl", "video instructions are not executed"},
    {"vshr", "video instructions are not executed"},
    {"vmad", "video instructions are not executed"},
    {"vset", "video instructions are not executed"},
    {"vavrg", "video instructions are not executed"},
};

}  // namespace

std::string_view reason_not_modelled(std::string_view opcode, std::span<const std::string_view> words) {
  std::string spelled(opcode);
  for (const std::string_view one : words) spelled.append(".").append(one);
  const auto fits = [&](const NotModelled& row) {
    if (!spelled.starts_with(row.name)) return false;
    std::string_view rest = std::string_view(spelled).substr(row.name.size());
    if (row.name.front() == 'v' && (rest.starts_with('2') || rest.starts_with('4'))) rest.remove_prefix(1);
    return rest.empty() || rest.front() == '.';
  };
  const auto found = std::ranges::find_if(kNotModelled, fits);
  return found == std::end(kNotModelled) ? std::string_view() : found->reason;
}

// Of sm_100 sums of two types, min and max of three, redux of f32; and those that the manual does not have (testp without
// its test, exch with a second operand).
bool is_unmeasured(std::string_view opcode, std::span<const std::string_view> words,
                   std::span<const Type> types, int operands) {
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  const Type type = types.empty() ? Type::b32 : types.back();
  if (opcode == "fma" && ptx::row(type).element == Type::bf16 && !has("rn")) return true;
  if (opcode == "madc") return ptx::bits(type) == 16 || has("sat");
  if (opcode == "add" || opcode == "sub" || opcode == "fma") return types.size() == 2;
  if (opcode == "min" || opcode == "max") return operands == 4;
  if (opcode == "redux") return types[0] == Type::f32;
  if (opcode == "testp") return words.size() == 1;
  return opcode == "atom" && has("exch") && operands == 4 && !has("L2::cache_hint");
}

}  // namespace warpbit::grid
