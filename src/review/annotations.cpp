// SPDX-License-Identifier: Apache-2.0
// warpbit/review.hpp: the workflow commands of GitHub Actions.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

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

// Everything of an annotation but its message: remarks with the same one are one annotation.
std::string heading_of(const Remark& one, const fs::path& root) {
  const RemarkPlace* const shown = shown_place(one, root);
  const std::optional<fs::path> file = shown == nullptr ? std::nullopt : review::below(shown->file, root);
  std::string where;
  if (file) where = fmt::format("file={},", escaped(file->generic_string(), kEndsProperty));
  if (file && shown->line > 0) where += fmt::format("line={},", shown->line);
  if (file && shown->line > 0 && shown->column > 0) where += fmt::format("col={},", shown->column);
  const std::string title = one.kernel.empty() ? one.rule : fmt::format("{} in {}", one.rule, one.kernel);
  return fmt::format("::{} {}title={}::", command_of(one.grade), where, escaped(title, kEndsProperty));
}

}  // namespace

std::string annotations(std::span<const Remark> all, const fs::path& root) {
  std::vector<std::pair<std::string, std::vector<const Remark*>>> groups;
  for (const Remark& one : all) {
    const std::string heading = heading_of(one, root);
    auto known = std::ranges::find(groups, heading, [](const auto& group) { return group.first; });
    if (known == groups.end()) known = groups.insert(known, {heading, {}});
    known->second.push_back(&one);
  }
  std::string out;
  for (const auto& [heading, remarks] : groups) {
    const std::string more = remarks.size() == 1 ? "" : fmt::format("\nand {} more", remarks.size() - 1);
    out += heading + escaped(remarks[0]->message + more, kEndsMessage) + "\n";
  }
  return out;
}

}  // namespace warpbit
