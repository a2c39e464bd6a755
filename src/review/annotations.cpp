// SPDX-License-Identifier: Apache-2.0
// warpbit/review.hpp: the workflow commands of GitHub Actions.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "review/paths.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;

// What would end a value is written as %XX.
std::string escaped(std::string_view text, std::string_view ends) {
  std::string out;
  for (const char c : text)
    out += c == '%' || ends.find(c) != ends.npos ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                                                 : std::string(1, c);
  return out;
}
constexpr std::string_view kEndsMessage = "\r\n", kEndsProperty = "\r\n:,";

std::string_view command_of(Grade grade) {
  return grade == Grade::fault ? "error" : grade == Grade::finding ? "warning" : "notice";
}

}  // namespace

std::string annotations(std::span<const Remark> all, const fs::path& root) {
  std::string out;
  for (const Remark& one : all) {
    const RemarkPlace* const shown = shown_place(one, root);
    const std::optional<fs::path> file = shown == nullptr ? std::nullopt : review::below(shown->file, root);
    std::string where;
    if (file) where = fmt::format("file={},", escaped(file->generic_string(), kEndsProperty));
    if (file && shown->line > 0) where += fmt::format("line={},", shown->line);
    if (file && shown->line > 0 && shown->column > 0) where += fmt::format("col={},", shown->column);
    const std::string title = one.kernel.empty() ? one.rule : fmt::format("{} in {}", one.rule, one.kernel);
    out += fmt::format("::{} {}title={}::{}\n", command_of(one.grade), where, escaped(title, kEndsProperty),
                       escaped(one.message, kEndsMessage));
  }
  return out;
}

}  // namespace warpbit
