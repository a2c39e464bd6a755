// SPDX-License-Identifier: Apache-2.0
// warpbit list --isa, of which doc/isa.md is the Markdown
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "cli/list.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {
namespace {

constexpr std::string_view kTensor = "tensor instructions";
const Row kHeadings = {"forms", "targets", "since PTX", "recorded", "open elsewhere"};

Row cells(const IsaRow& row) {
  return {row.forms, row.targets, row.since, row.recorded, row.open};
}

// A pattern each: the first with the other cells.
void add_in_code(Table& table, const IsaRow& row) {
  std::string_view rest = row.forms;
  for (Row out = cells(row); !rest.empty(); out = Row(kHeadings.size())) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    out[0] = fmt::format("`{}`", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    table.push_back(std::move(out));
  }
}

constexpr std::string_view kHead = R"(# The instructions of kernels

What kernels may have, by chapter of the PTX manual: each row is of forms that are alike in what they need and in what their
results rest on. `warpbit list --isa --markdown` prints this page.

* **forms**: in a pattern `{a,b}` is one of these, with `{,a}` none or this one, and `$name` one of [the sets](#sets-of-words);
  with `$name+` a hint of a cache, `.L2::cache_hint`, stands before the type.
* **since PTX**: the version, and behind it words that have another one. Empty: as old as the target. Words of any instruction may
  be later: `.shared::cta` is of PTX 7.8. Of tensor instructions: the versions in which forms came. What is later than PTX 9.0 follows
  the manual of PTX 9.4, and what is of PTX 9.5 the list of it in apache/tvm-tirx#241; no assembler was asked about it.
* **recorded**: how many of the forms an H100 has executed and left a recording of; words that change no bit of a result (scopes,
  orders, hints of caches) count for nothing. Of tensor instructions: the targets whose GPU has.
* **open elsewhere**: what the PTX manual leaves open of the result, which is therefore inferred where there is no recording.
  Empty: the manual defines every bit.
)";

void print_page(const std::vector<IsaRow>& rows) {
  fmt::print("{}", kHead);
  for (auto first = rows.begin(); first != rows.end();) {
    const auto end =
        std::find_if(first, rows.end(), [&](const IsaRow& row) { return row.chapter != first->chapter; });
    Table table{kHeadings};
    for (const IsaRow& row : std::span(&*first, static_cast<std::size_t>(end - first)))
      row.chapter == kTensor ? table.push_back(cells(row)) : add_in_code(table, row);
    fmt::print("\n## {}{}\n\n", static_cast<char>(std::toupper(first->chapter[0])), first->chapter.substr(1));
    print(table, true);
    first = end;
  }
  fmt::print("\n## Sets of words\n\n");
  for (const IsaSet& one : isa_sets()) fmt::print("* `${}`: `{}`\n", one.name, one.words);
}

}  // namespace

int list_isa(const ListArguments& o) {
  const std::vector<IsaRow> rows = isa_rows();
  if (o.markdown) {
    print_page(rows);
    return kYes;
  }
  Table table{kHeadings};
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  for (const IsaRow& row : rows) {
    table.push_back(cells(row));
    listed.push_back({{"chapter", row.chapter},
                      {"forms", row.forms},
                      {"targets", row.targets},
                      {"since", row.since},
                      {"recorded", row.recorded},
                      {"open", row.open}});
  }
  return print_listing(o, table, {{"instructions", listed}});
}

}  // namespace warpbit::cli
