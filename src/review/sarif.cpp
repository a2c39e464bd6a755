// SPDX-License-Identifier: Apache-2.0
// warpbit/review.hpp: SARIF 2.1.0. Numbers in brackets are its sections.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "review/paths.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// A path in a URI (RFC 3986): what is neither unreserved nor a slash is written as %XX.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kKept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out;
  for (const char c : path)
    out +=
        kKept.find(c) != kKept.npos ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

// [3.4]
ordered_json artifact(const std::string& file, const fs::path& root) {
  if (const std::optional<fs::path> path = review::below(file, root))
    return {{"uri", uri_of(path->generic_string())}, {"uriBaseId", "%SRCROOT%"}};
  const fs::path whole(file);
  return {{"uri", (whole.is_absolute() ? "file://" : "") + uri_of(whole.generic_string())}};
}

// [3.28]
ordered_json location(const RemarkPlace& place, const fs::path& root) {
  ordered_json out = {{"physicalLocation", {{"artifactLocation", artifact(place.file, root)}}}};
  if (place.line > 0) out["physicalLocation"]["region"]["startLine"] = place.line;
  if (place.line > 0 && place.column > 0) out["physicalLocation"]["region"]["startColumn"] = place.column;
  if (!place.what.empty()) out["message"] = {{"text", place.what}};
  return out;
}

// [3.27.10]
std::string_view level_of(Grade grade) {
  return grade == Grade::fault ? "error" : grade == Grade::finding ? "warning" : "note";
}

// [3.27]
ordered_json result(const Remark& one, std::size_t rule, const fs::path& root) {
  ordered_json out = {{"ruleId", one.rule},
                      {"ruleIndex", rule},
                      {"level", level_of(one.grade)},
                      {"message", {{"text", one.message}}}};
  const RemarkPlace* const shown = shown_place(one, root);
  ordered_json at =
      shown == nullptr ? ordered_json::object() : location({shown->file, shown->line, shown->column}, root);
  if (!one.kernel.empty())
    at["logicalLocations"] = ordered_json::array({{{"name", one.kernel}, {"kind", "function"}}});
  if (!at.empty()) out["locations"] = ordered_json::array({at});
  for (const std::vector<RemarkPlace>* places : {&one.at, &one.others})
    for (const RemarkPlace& place : *places)
      if (&place != shown && !place.file.empty()) {
        out["relatedLocations"].push_back(location(place, root));
        out["relatedLocations"].back()["id"] = out["relatedLocations"].size();
      }
  if (one.times > 1) out["occurrenceCount"] = one.times;
  return out;
}

}  // namespace

std::string sarif(std::span<const Remark> all, const fs::path& root) {
  ordered_json rules = ordered_json::array(), results = ordered_json::array();
  for (const Remark& one : all) {
    const auto known =
        std::ranges::find_if(rules, [&](const ordered_json& rule) { return rule["id"] == one.rule; });
    const auto number = static_cast<std::size_t>(known - rules.begin());
    if (known == rules.end())
      rules.push_back({{"id", one.rule}, {"shortDescription", {{"text", one.sentence}}}});
    results.push_back(result(one, number, root));
  }
  const ordered_json driver = {{"name", "warpbit"}, {"version", WARPBIT_VERSION_TEXT}, {"rules", rules}};
  const ordered_json run = {
      {"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", results}};
  const ordered_json out = {
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", ordered_json::array({run})}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace warpbit
