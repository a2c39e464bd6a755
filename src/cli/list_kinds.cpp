// SPDX-License-Identifier: Apache-2.0
// warpbit list --kernels
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/list.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

// "captured 31 (golden/kernels), inferred 65 (the bits of a NaN)"; without numbers where it is one of them.
std::string on_recorded(const ptx::KindEvidence& kind, const ptx::FormCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name, std::uint64_t count, std::string_view why) {
    if (count == 0) return;
    const std::string number = count == counts.all() ? "" : fmt::format(" {}", count);
    parts.push_back(fmt::format("{}{} ({})", name, number, why));
  };
  add("captured", counts.captured, fmt::format("{}", fmt::join(kind.recordings, ", ")));
  add("defined", counts.defined, "the PTX manual");
  add("inferred", counts.inferred, kind.open);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string on_others(const ptx::KindEvidence& kind) {
  return kind.open.empty() ? "defined (the PTX manual)"
                           : fmt::format("inferred ({}); {}", kind.open, kind.tried);
}

// For targets that were recorded a row each, for those alike one; for all others one.
void add_rows(Table& table, const ptx::KindEvidence& kind, const std::vector<Target>& targets) {
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ptx::FormCounts& counts = kind.by_target[i];
    if (counts.captured == 0) {
      others = std::max(others, counts.all());
      continue;
    }
    Row row{std::string(kind.kind), std::string(targets[i].name()), std::to_string(counts.all()),
            on_recorded(kind, counts)};
    Row& last = table.back();
    if (std::equal(row.begin() + 2, row.end(), last.begin() + 2) && row[0] == last[0])
      last[1] += ", " + row[1];
    else
      table.push_back(std::move(row));
  }
  if (others != 0) table.push_back({std::string(kind.kind), "others", std::to_string(others), on_others(kind)});
}

ordered_json json_of(const ptx::KindEvidence& kind, const std::vector<Target>& targets) {
  ordered_json by_target = ordered_json::object();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ptx::FormCounts& counts = kind.by_target[i];
    if (counts.all() != 0)
      by_target[std::string(targets[i].name())] = {
          {"captured", counts.captured}, {"defined", counts.defined}, {"inferred", counts.inferred}};
  }
  return {{"kind", kind.kind},
          {"open", kind.open},
          {"tried", kind.tried},
          {"recordings", kind.recordings},
          {"targets", by_target}};
}

}  // namespace

int list_kinds(const ListArguments& o) {
  const std::vector<Target> targets = Target::all();
  Table table{{"results of", "on", "forms", "rest on"}};
  ordered_json rows = ordered_json::array();
  for (const ptx::KindEvidence& kind : ptx::evidence_table()) {
    add_rows(table, kind, targets);
    rows.push_back(json_of(kind, targets));
  }
  constexpr std::size_t kWhole = std::string::npos;
  return print_listing(o, o.markdown ? in_page_width(table, {kWhole, kWhole, kWhole, 56}) : table,
                       {{"kinds", rows}});
}

}  // namespace warpbit::cli
