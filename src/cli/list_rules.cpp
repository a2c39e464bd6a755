// SPDX-License-Identifier: Apache-2.0
// warpbit list --rules, --assembler, --defects
#include <initializer_list>
#include <string_view>

#include "cli/list.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {
namespace {

Row row_of(std::initializer_list<std::string_view> cells) {
  return {cells.begin(), cells.end()};
}

}  // namespace

int list_kernel_rules(const ListArguments& o) {
  Table table{{"rule", "a kernel keeps it if", "PTX manual", "by default", "strict", "in source", "why",
               "what hardware did"}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const KernelRuleInfo& rule : kernel_rules()) {
    table.push_back(row_of({rule.name, rule.says, rule.manual, name(rule.by_default), name(rule.strict),
                            name(rule.in_source), rule.reason, rule.hardware}));
    rows.push_back({{"name", rule.name},
                    {"says", rule.says},
                    {"manual", rule.manual},
                    {"by_default", name(rule.by_default)},
                    {"strict", name(rule.strict)},
                    {"in_source", name(rule.in_source)},
                    {"reason", rule.reason},
                    {"hardware", rule.hardware}});
  }
  return print_listing(o, o.markdown ? in_page_width(table, {24, 30, 17, 7, 7, 7, 26, 22}) : table,
                       {{"rules", rows}});
}

int list_rules(const ListArguments& o) {
  Table table{{"rule", "sees", "makes of it", "since", "evidence"}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ptx::AssemblerRule& rule : ptx::assembler_rules()) {
    table.push_back(row_of({rule.name, rule.pattern, rule.result, rule.since, rule.evidence}));
    rows.push_back({{"name", rule.name},
                    {"pattern", rule.pattern},
                    {"result", rule.result},
                    {"since", rule.since},
                    {"evidence", rule.evidence}});
  }
  return print_listing(o, o.markdown ? in_page_width(table, {12, 40, 28, 8, 32}) : table, {{"rules", rows}});
}

int list_defects(const ListArguments& o) {
  Table table{{"defect", "sees", "makes of it", "by the PTX manual", "seen", "evidence"}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ptx::AssemblerDefect& one : ptx::assembler_defects()) {
    table.push_back(row_of({one.name, one.pattern, one.result, one.manual, one.seen, one.evidence}));
    rows.push_back({{"name", one.name},
                    {"pattern", one.pattern},
                    {"result", one.result},
                    {"manual", one.manual},
                    {"seen", one.seen},
                    {"evidence", one.evidence}});
  }
  return print_listing(o, o.markdown ? in_page_width(table, {16, 28, 20, 20, 14, 20}) : table,
                       {{"defects", rows}});
}

}  // namespace warpbit::cli
