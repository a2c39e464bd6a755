// SPDX-License-Identifier: Apache-2.0
// warpbit diagnose
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "warpbit/diagnose.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct DiagnoseArguments {
  std::string file, target;
  std::size_t top = 5;
  bool json = false, single = false;
};

ordered_json json(const Finding& f) {
  return {{"kind", f.kind},         {"operand", f.operand},     {"mistake", f.mistake},
          {"hint", f.hint},         {"explained", f.explained}, {"contradicted", f.contradicted},
          {"elements", f.elements}, {"certain", f.certain}};
}

void print_diagnosis_json(const Diagnosis& d, std::size_t top) {
  ordered_json findings = ordered_json::array();
  for (std::size_t i = 0; i < std::min(top, d.findings.size()); ++i) findings.push_back(json(d.findings[i]));
  const ordered_json all{{"verdict", name(d.verdict)}, {"text", d.text()},       {"statement", d.statement},
                         {"target", d.target},         {"inferred", d.inferred}, {"cases", d.cases},
                         {"elements", d.elements},     {"right", d.right},       {"hypotheses", d.hypotheses},
                         {"found", d.findings.size()}, {"findings", findings}};
  fmt::print("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_diagnosis(const Diagnosis& d, std::size_t top) {
  print_fitted(d.text());
  if (d.inferred) fmt::print("the arithmetic of {} is inferred, no hardware result\n", d.target);
  if (d.findings.empty() || top == 0) return;
  Table table{{"explained", "mistake", "look at"}};
  for (std::size_t i = 0; i < std::min(top, d.findings.size()); ++i) {
    const Finding& f = d.findings[i];
    table.push_back({fmt::format("{} of {}", f.explained, f.elements), f.mistake, f.hint});
  }
  print(table, false);
  if (d.findings.size() > top) fmt::print("and {} more (--top)\n", d.findings.size() - top);
}

int diagnose_command(const DiagnoseArguments& o) {
  DiagnoseOptions options;
  options.pairs = !o.single;
  options.target = find_target(o.target);
  const Diagnosis d = required(diagnose(o.file, options));
  (o.json ? print_diagnosis_json : print_diagnosis)(d, o.top);
  return d.verdict == Verdict::correct ? kYes : kNo;
}

}  // namespace

void add_diagnose(CLI::App& command, int& status) {
  DiagnoseArguments& o = add_arguments(command, status, diagnose_command);
  command.add_option("file", o.file, "a capture of the layout registers, of an instruction D = A B + C")
      ->required();
  command.add_option("--target", o.target, "the target that the kernel ran on, instead of the one in the file");
  command.add_option("--top", o.top, "findings to show")->check(CLI::NonNegativeNumber)->capture_default_str();
  command.add_flag("--single", o.single, "try no pairs of mistakes");
  command.add_flag("--json", o.json, "print JSON");
  command.footer(
      examples({"warpbit diagnose golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz",
                "warpbit diagnose golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz "
                "--target sm_80 --single"}));
}

}  // namespace warpbit::cli
