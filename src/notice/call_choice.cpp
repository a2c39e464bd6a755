// SPDX-License-Identifier: Apache-2.0
// Mistakes in calls of kernels in source.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "async/cluster.hpp"
#include "notice/choice.hpp"
#include "notice/kinds.hpp"

namespace warpbit::noticing {
namespace {

Call call_of(const SeenCall& seen, Target target) {
  Call out{seen.call, target};
  if (Result<Instruction> instruction = Instruction::parse(seen.call, target)) out.instruction = *instruction;
  return out;
}

bool is_wanted_line(const NoticeOptions& options, const SeenCall& seen) {
  return options.at.empty() || std::ranges::any_of(options.at, [&](const std::string& wanted) {
           return is_line(wanted, seen.file, seen.line);
         });
}

Candidate candidate(const SeenCall& seen, std::string_view kind, std::string sentence) {
  Candidate out;
  Mistake& mistake = out.mistake;
  mistake.kind = kind;
  mistake.sentence = std::move(sentence);
  mistake.file = seen.file;
  mistake.line = seen.line;
  mistake.source = {{}, seen.file, seen.line};
  mistake.is_in_source = true;
  out.is_executed = true;
  return out;
}

void add_changes(const SeenCall& seen, const Call& call, const NoticeOptions& options,
                 std::vector<Candidate>& to) {
  for (const KindRow& row : kind_rows()) {
    if (row.add_call == nullptr || !is_wanted(options, row.name)) continue;
    std::vector<CallChange> changes;
    row.add_call(call, changes);
    for (CallChange& one : changes) {
      Candidate& next = to.emplace_back(candidate(seen, row.name, std::move(one.sentence)));
      next.mistake.before = flat(seen.call);
      if (one.change == PlantedCall::Change::statement)
        next.mistake.after = flat(one.text);
      else if (one.change != PlantedCall::Change::left_out)
        next.mistake.after = fmt::format("{}: {}", next.mistake.before, next.mistake.sentence);
      next.planted = PlantedCall{
          seen.file, static_cast<unsigned>(seen.line), seen.call, one.change, one.operand, std::move(one.text)};
    }
  }
}

/// Whether another generation has it.
bool exists_on(const SeenCall& seen, Target target, Target other) {
  constexpr std::string_view kAsynchronous =
      "mbarrier. cp.async.bulk cp.async.mbarrier cp.reduce barrier.cluster fence.mbarrier";
  if (begins(seen.call, kAsynchronous)) return !async::not_on(other, seen.call);
  return !Instruction::parse(seen.call, target) || Instruction::parse(seen.call, other);
}

/// The launches on a target as on another one, at the first product.
void add_other_targets(const std::set<SeenCall>& calls, const std::string& name, const NoticeOptions& options,
                       std::vector<Candidate>& to) {
  const auto is_product = [&](const SeenCall& one) {
    return one.target == name && begins(one.call, kProducts);
  };
  const auto product = std::ranges::find_if(calls, is_product);
  const Result<Target> target = Target::find_ptx(name);
  if (product == calls.end() || !target || !is_wanted(options, kTarget) || !is_wanted_line(options, *product))
    return;
  for (const std::string generation : kGenerations) {
    const Result<Target> other = Target::find_ptx(generation);
    const auto is_there = [&](const SeenCall& one) {
      return one.target != name || exists_on(one, *target, *other);
    };
    if (name.starts_with(generation) || !other || !std::ranges::all_of(calls, is_there)) continue;
    Candidate& next = to.emplace_back(candidate(*product, kTarget, "computed as on " + generation));
    next.mistake.before = "a launch on " + name;
    next.mistake.after = "a launch on " + generation;
    next.planted = PlantedCall{{}, 0, name, PlantedCall::Change::target, 0, generation};
  }
}

}  // namespace

std::vector<Candidate> candidates_of(const std::set<SeenCall>& calls, const NoticeOptions& options,
                                     Choice& counts) {
  std::vector<Candidate> out;
  if (!options.kernels.empty()) return out;  // they have no names here
  std::set<std::string> targets;
  const SeenCall* before = nullptr;
  for (const SeenCall& one : calls) {
    targets.insert(one.target);
    const bool is_known = before != nullptr && std::tie(before->file, before->line, before->call) ==
                                                   std::tie(one.file, one.line, one.call);
    before = &one;
    const Result<Target> target = Target::find_ptx(one.target);
    if (is_known || !target || !is_wanted_line(options, one)) continue;
    ++counts.statements;
    ++counts.executed;
    add_changes(one, call_of(one, *target), options, out);
  }
  for (const std::string& name : targets) add_other_targets(calls, name, options, out);
  return out;
}

}  // namespace warpbit::noticing
