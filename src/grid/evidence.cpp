// SPDX-License-Identifier: Apache-2.0
#include "grid/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "grid/watch.hpp"
#include "isa/instruction.hpp"
#include "isa/statement.hpp"
#include "isa/tensor_action.hpp"
#include "ptx/evidence.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
namespace {

// Every bit, where no kind says what is open.
constexpr std::string_view kAll = "all bits", kHopper = "an H100", kLike = "forms like it";

}  // namespace

std::optional<Inference> inference(const Origin& origin, Target target) {
  const std::string_view opcode = statement_of(origin).opcode;
  const auto words = words_of(*origin.function, statement_of(origin));
  const ptx::FormEvidence found = ptx::evidence(ptx::kind_of(opcode, words), opcode, words, target);
  if (found.rests != ptx::Rests::inferred) return {};
  return Inference{-1, found.kind == nullptr ? kAll : found.kind->open,
                   found.recording.empty() ? kLike : kHopper};
}

// Control has no results. Which arithmetic a product of tensor memory has, its descriptor says when it is executed.
std::optional<Inference> inference(const Instruction& instruction) {
  const CompiledAction& action = instruction.decoded().kernel;
  const auto* const memory = std::get_if<TensorAction>(&action);
  const bool says_later = memory != nullptr && std::holds_alternative<TensorMma>(memory->what);
  if (std::holds_alternative<Control>(action) || says_later || !instruction.inferred()) return {};
  const Evidence& e = instruction.evidence();
  return Inference{-1, kAll, e.order.basis == Basis::inferred ? e.order.from : e.window.from};
}

namespace {

/// By line.
struct List {
  const Program& program;
  std::vector<ptx::Inference> out = {};

  void add(const Origin& origin, std::string instruction, std::string_view open, std::string_view from) {
    const ptx::Statement& statement = statement_of(origin);
    const SourceLink at = source_of(*program.module, *origin.function, statement);
    out.push_back({statement.position.line, std::move(instruction), std::string(open), std::string(from),
                   at.file, at.line});
  }
  void add(const Inference& one) {
    const Origin& origin = program.origins[static_cast<std::size_t>(one.statement)];
    add(origin, form_of(origin), one.open, one.from);
  }
  // Each rule once, where it has acted first.
  void add_rules() {
    std::set<assembler::Rule> seen;
    for (const Program::Use& use : program.uses) {
      if (!seen.insert(use.rule).second) continue;
      const std::string_view name = assembler::row(use.rule).name;
      const ptx::FormEvidence found = ptx::rule_evidence(name, program.target);
      if (found.rests == ptx::Rests::captured) continue;
      add(use.origin, fmt::format("assembler: {}", name), found.kind->open,
          found.recording.empty() ? "machine code" : kHopper);
    }
  }
};

}  // namespace

std::vector<ptx::Inference> inferences(const Program& program, std::int32_t product) {
  List list{program};
  for (const Inference& one : program.inferred) list.add(one);
  if (product >= 0) list.add({product, kAll, "models and neighbours"});
  list.add_rules();
  std::ranges::stable_sort(list.out, {}, &ptx::Inference::line);
  return std::move(list.out);
}

namespace {

bool has_letter(Target target) {
  return std::isdigit(static_cast<unsigned char>(target.name().back())) == 0;
}

// The later targets on which an instruction has another plan; of neighbours with the same the first, and none with a letter:
// these compute as those without.
std::vector<Target> computing_otherwise(const Instruction& instruction) {
  const std::vector<Target> all = Target::all();
  std::vector<Target> out;
  std::string last = instruction.plan();
  for (auto next = std::ranges::find(all, instruction.target()); next != all.end(); ++next) {
    if (has_letter(*next)) continue;
    const Result<Instruction> there = Instruction::parse(instruction.canonical(), *next);
    if (!there || there->plan() == last) continue;
    last = there->plan();
    if (last != instruction.plan()) out.push_back(*next);
  }
  return out;
}

}  // namespace

std::optional<ptx::AssemblerNote> computed_otherwise_later(const Program& program) {
  if (has_letter(program.target)) return std::nullopt;  // it runs on no later one
  std::set<std::string> looked_at;
  for (const Step& step : program.steps) {
    if (step.statement < 0 || does(program, step) != ptx::Does::tensor) continue;
    const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
    if (!looked_at.insert(form_of(origin)).second) continue;
    const Result<Instruction> here = Instruction::parse(form_of(origin), program.target);
    if (!here) continue;
    const std::vector<Target> later = computing_otherwise(*here);
    if (later.empty()) continue;
    const ptx::Statement& statement = statement_of(origin);
    const SourceLink at = source_of(*program.module, *origin.function, statement);
    const std::string_view own = program.target.name();
    return ptx::AssemblerNote{
        "",
        statement.position.line,
        form_of(origin),
        fmt::format(
            "computed as on {} (.target {}): its last bits may differ on {}: --target {} computes as there",
            own, program.module->target, names(later), later.front().name()),
        at.file,
        at.line};
  }
  return std::nullopt;
}

}  // namespace warpbit::grid

namespace warpbit::ptx {
namespace {

// How many forms of a kind a target has, each of those that differ in what counts for nothing once.
struct Counter {
  const std::vector<Target> targets = Target::all();
  std::vector<KindEvidence> kinds = {};
  std::set<std::string> seen = {};

  // "golden/kernels" of "golden/kernels/atomics.zip".
  static void shown_by(KindEvidence& kind, std::string_view recording) {
    const std::string_view folder = recording.substr(0, recording.rfind('/'));
    if (std::ranges::find(kind.recordings, folder) == kind.recordings.end()) kind.recordings.push_back(folder);
  }

  void count(const FormEvidence& found, std::size_t target) {
    KindEvidence& kind = *std::ranges::find(kinds, found.kind->name, &KindEvidence::kind);
    FormCounts& counts = kind.by_target[target];
    ++(found.rests == Rests::captured  ? counts.captured
       : found.rests == Rests::defined ? counts.defined
                                       : counts.inferred);
    if (found.rests == Rests::captured) shown_by(kind, found.recording);
  }

  void add(const ScalarForm& row, std::string_view opcode, std::span<const std::string_view> words) {
    const KindRow* const kind = kind_of(row, words);
    if (kind == nullptr) return;
    const std::string form = warpbit::spell(opcode, words);
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i].row().features.has(row.row->needs) &&
          seen.insert(form + ' ' + std::string(targets[i].name())).second)
        count(evidence(kind, opcode, words, targets[i]), i);
  }
};

}  // namespace

std::vector<KindEvidence> evidence_table() {
  Counter counter;
  for (const KindRow& kind : kinds())
    if (std::ranges::find(counter.kinds, kind.name, &KindEvidence::kind) == counter.kinds.end())
      counter.kinds.push_back(
          {kind.name, kind.open, kind.tried, {}, std::vector<FormCounts>(counter.targets.size())});
  for (const ScalarForm& row : scalar_forms())
    for_each_form(row, [&](std::string_view opcode, std::span<const std::string_view> words) {
      counter.add(row, opcode, words);
    });
  for (const assembler::RuleRow& rule : assembler::rules())
    for (std::size_t i = 0; i < counter.targets.size(); ++i)
      counter.count(rule_evidence(rule.name, counter.targets[i]), i);
  return std::move(counter.kinds);
}

}  // namespace warpbit::ptx
