// SPDX-License-Identifier: Apache-2.0
// warpbit/ptx.hpp: kernels, and what a launch is
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "api/checks.hpp"
#include "assembler/defects.hpp"
#include "block/shape.hpp"
#include "grid/block_state.hpp"
#include "grid/evidence.hpp"
#include "grid/grades.hpp"
#include "grid/launch_memory.hpp"
#include "grid/module_state.hpp"
#include "grid/twin_launch.hpp"
#include "ptx/source.hpp"
#include "test_process.hpp"
#include "threads.hpp"

namespace warpbit::ptx {

namespace {

std::size_t bytes_of(const std::vector<Parameter>& parameters) {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes;
}

// What a module demands of its blocks (PTX manual, "Performance-Tuning Directives").
std::optional<Error> check_block(const FunctionText& function, const Dim3& block) {
  const auto extent = [](const Extent& e) { return Dim3{e.x, e.y, e.z}; };
  const auto error = [&](const Extent& e, std::string_view directive, std::string_view words) {
    return Error{Errc::launch_shape, std::string(function.name),
                 fmt::format("a block of {} threads", block::size(block)),
                 fmt::format("{}{} threads ({})", words, block::size(extent(e)), directive)};
  };
  const Extent &required = function.required_threads, &most = function.max_threads;
  if (required.x != 0 && (required.x != block.x || required.y != block.y || required.z != block.z))
    return error(required, ".reqntid", "");
  if (most.x != 0 && block::product(block) > block::product(extent(most)))
    return error(most, ".maxntid", "at most ");
  return std::nullopt;
}

grid::Extent extent(const Dim3& d) {
  return {d.x, d.y, d.z};
}

// Its size, if the launch has clusters (PTX manual, "Cluster Dimension Directives").
Result<std::optional<Dim3>> cluster_of(const FunctionText& function, const Launch& how) {
  const Extent& required = function.required_cluster;
  std::optional<Dim3> out = how.cluster;
  const auto error = [&](std::string seen, std::string accepted) {
    return Error{Errc::launch_shape, std::string(function.name), std::move(seen), std::move(accepted)};
  };
  if (required.x != 0) {
    const Dim3 needed{required.x, required.y, required.z};
    if (out && block::size(*out) != block::size(needed))
      return error(fmt::format("a cluster of {} blocks", block::size(*out)),
                   fmt::format("{} blocks (.reqnctapercluster)", block::size(needed)));
    out = needed;
  }
  if (!out && function.explicit_cluster)
    return error("a launch without a cluster", "the size of a cluster (.explicitcluster)");
  if (!out) return out;
  if (auto refused = block::check_cluster(how.grid, *out)) {
    refused->where = function.name;
    return *std::move(refused);
  }
  return out;
}

}  // namespace

std::span<const AssemblerDefect> assembler_defects() {
  static const std::vector<AssemblerDefect> all = [] {
    std::vector<AssemblerDefect> out;
    for (const assembler::DefectRow& row : assembler::defects())
      out.push_back({row.name, row.pattern, row.result, row.manual, row.seen, row.evidence});
    return out;
  }();
  return all;
}

std::span<const AssemblerRule> assembler_rules() {
  static const std::vector<AssemblerRule> all = [] {
    std::vector<AssemblerRule> out;
    for (const assembler::RuleRow& row : assembler::rules())
      out.push_back({row.name, row.pattern, row.result, row.since, row.evidence});
    return out;
  }();
  return all;
}

namespace {

// ptxas refuses to optimise a debug module (nvcc -G).
bool is_as_written(const ptx::ModuleText& module, const Launch& how) {
  return how.as_written || module.is_debug;
}

Result<assembler::Rules> rules_of(const ptx::ModuleText& module, const Launch& how) {
  if (is_as_written(module, how)) return assembler::Rules::none();
  assembler::Rules out = assembler::Rules::all();
  if (!how.contract) out = out.separate();
  for (const std::string& name : how.without) {
    const auto rule = assembler::find_rule(name);
    if (!rule) {
      std::vector<std::string_view> names;
      for (const assembler::RuleRow& row : assembler::rules()) names.push_back(row.name);
      return Error{Errc::no_such_rule, {}, name, fmt::format("{}", fmt::join(names, ", "))};
    }
    out = out.without(*rule);
  }
  return out;
}

// Of each rule and line one.
std::vector<AssembledLine> assembled(const grid::Program& program) {
  std::map<std::tuple<int, assembler::Rule>, AssembledLine> out;
  for (const grid::Program::Use& use : program.uses) {
    const Statement& statement = grid::statement_of(use.origin);
    const SourceLink at = source_of(*program.module, *use.origin.function, statement);
    out.try_emplace({statement.position.line, use.rule},
                    AssembledLine{std::string(assembler::row(use.rule).name), statement.position.line,
                                  one_line(statement.text), at.file, at.line});
  }
  std::vector<AssembledLine> lines;
  for (auto& [key, line] : out) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> switched_off(const Launch& how) {
  if (!how.check_shared) return {"any rule of kernels"};
  std::vector<std::string> out;
  if (!how.check_global) out.emplace_back("races in global memory");
  for (const GradedRule& one : how.grades)
    if (one.grade == Grade::silent) out.push_back("the rule " + one.rule);
  return out;
}

}  // namespace

std::string Finding::more() const {
  if (times == 1) return "";
  std::string out = fmt::format("{} more like it", block::grouped(times - 1));
  std::string_view before = ": ";
  const auto add = [&](std::string_view what) { out.append(std::exchange(before, ", ")).append(what); };
  if (!warps.empty()) add(fmt::format("warp{} {}", warps.size() == 1 ? "" : "s", ranges(warps)));
  if (!lanes.empty()) add(fmt::format("lane{} {}", lanes.size() == 1 ? "" : "s", ranges(lanes)));
  if (blocks != 1) add(fmt::format("in {} blocks", block::grouped(blocks)));
  return out;
}

std::string Checked::text() const {
  std::string out =
      fmt::format("checked {} shared and {} global accesses", block::grouped(shared), block::grouped(global));
  const auto add = [&](std::uint64_t count, std::string_view one, std::string_view several) {
    if (count != 0) out += fmt::format(", {} {}", block::grouped(count), count == 1 ? one : several);
  };
  add(barriers, "barrier", "barriers");
  add(copies, "copy", "copies");
  add(products, "product", "products");
  return out;
}

const std::string& Function::name() const {
  return state_->name;
}
const std::vector<Parameter>& Function::parameters() const {
  return state_->parameters;
}
std::uint64_t Function::shared_bytes() const {
  const grid::Program& program = state_->usual;
  return (program.shared_bytes - program.reserved_bytes + program.shared_alignment - 1) /
         program.shared_alignment * program.shared_alignment;
}

std::vector<CodeLine> Function::lines(const Launch& how) const {
  const Result<assembler::Rules> rules = rules_of(*state_->usual.module, how);
  if (!rules) return {};
  const Result<const grid::Program*> program = state_->program({*rules, true});
  return program ? grid::lines(**program) : std::vector<CodeLine>();
}

std::vector<SharedVariable> Function::shared_variables(const Launch& how) const {
  const Result<assembler::Rules> rules = rules_of(*state_->usual.module, how);
  if (!rules) return {};
  const Result<const grid::Program*> program = state_->program({*rules, true});
  return program ? grid::shared_variables(**program) : std::vector<SharedVariable>();
}

namespace {

// Or what no shape of a launch has.
std::uint64_t sum(std::uint64_t x, std::uint64_t y) {
  return y > ~x ? ~std::uint64_t{0} : x + y;
}

std::optional<Error> check_observed(const Launch& how) {
  const device::Index3 at = how.observed_block;
  const Dim3& grid = how.grid;
  if (at.x >= grid.x || at.y >= grid.y || at.z >= grid.z)
    return Error{Errc::launch_shape, "the observed block", fmt::format("({}, {}, {})", at.x, at.y, at.z),
                 fmt::format("one of the {} x {} x {} blocks, from (0, 0, 0) on", grid.x, grid.y, grid.z)};
  if (!how.observe || how.observes_all_warps) return std::nullopt;
  const std::uint64_t warps = (block::product(how.block) + grid::kLanes - 1) / grid::kLanes;
  if (how.observed_warp < 0 || static_cast<std::uint64_t>(how.observed_warp) >= warps)
    return Error{
        Errc::launch_shape, "the observed warp", fmt::format("{}", how.observed_warp),
        warps == 1 ? "0, the only warp of the block" : fmt::format("0 to {}, the warps of a block", warps - 1)};
  return std::nullopt;
}

std::optional<Error> check_inferred(const grid::Program& program) {
  const std::vector<Inference> all = grid::inferences(program, -1);
  if (all.empty()) return {};
  const Inference& first = all.front();
  return Error{Errc::inferred_plan,
               fmt::format("line {}: {} on {}", first.line, first.instruction, program.target.name()),
               fmt::format("{}: as {}", first.open, first.from), "allow inferred arithmetic to execute it"};
}

// In which line of a module's text its mistake begins; 0 without one.
int mistake_line(const std::optional<PlantedMistake>& mistake, std::string_view text) {
  if (!mistake || mistake->at > text.size()) return 0;
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, mistake->at), '\n'));
}

}  // namespace

Report Function::launch(const Launch& how, std::span<const Argument> arguments) const {
  const TestProcess* const process = TestProcess::self();
  if (process == nullptr || how.observe) return launch_once(how, arguments);
  const grid::TwinLaunch what{*process,           state_->name,
                              state_->parameters, how,
                              arguments,          mistake_line(process->mistake(), state_->module->text->text)};
  const auto once = [](const Function& of) {
    return [of](const Launch& as, std::span<const Argument> with) { return of.launch_once(as, with); };
  };
  if (!state_->original)
    return process->is_first_run()
               ? grid::launch_recorded(what, {state_->module->key, state_->module->file}, once(*this))
               : launch_once(how, arguments);
  const Function original(state_->original);
  return grid::launch_twins(what, {once(*this), state_->module->variables().ranges()},
                            {once(original), state_->original->module->variables().ranges()});
}

Report Function::launch_once(const Launch& how, std::span<const Argument> arguments) const {
  Report out;
  const auto fail = [&](Error error) {
    out.fault = block::refused(std::move(error));
    return std::move(out);
  };
  // Who observes a launch sees what each register had before.
  const Result<assembler::Rules> rules = rules_of(*state_->usual.module, how);
  if (!rules) return fail(rules.error());
  const Result<grid::Grades> grades = grid::grades_of(how);
  if (!grades) return fail(grades.error());
  const Result<const grid::Program*> compiled = state_->program({*rules, !how.observe});
  if (!compiled) return fail(compiled.error());
  const grid::Program& program = **compiled;
  const std::uint64_t shared = sum(program.shared_bytes, how.shared_bytes);
  if (auto error = block::check_shape(how.grid, how.block, shared - program.reserved_bytes))
    return fail(*std::move(error));
  if (auto error = check_block(*state_->text, how.block)) return fail(*std::move(error));
  const Result<std::optional<Dim3>> cluster = cluster_of(*state_->text, how);
  if (!cluster) return fail(cluster.error());
  if (how.observe || how.timeline)
    if (auto error = check_observed(how)) return fail(*std::move(error));
  if (const Result<Kernel> kernel = kernel_for(how.execute); !kernel) return fail(kernel.error());
  if (!how.execute.allow_inferred)
    if (auto error = check_inferred(program)) return fail(*std::move(error));
  if (arguments.size() != state_->parameters.size())
    return fail({Errc::argument_mismatch, state_->name, fmt::format("{} arguments", arguments.size()),
                 fmt::format("{}", state_->parameters.size())});
  const grid::Turn turn(state_->module->launches);
  if (auto error = turn.refused(state_->name)) return fail(*std::move(error));
  const Launch watched = turn.inside(how);
  LaunchMemory memory(state_->module->variables(), bytes_of(state_->parameters));
  for (const PlacedMemory& part : how.memory)
    if (auto error = memory.place(part)) return fail(*std::move(error));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (auto error = memory.set(state_->parameters[i], arguments[i])) return fail(*std::move(error));
  const Result<grid::References> references =
      grid::References::of(program, state_->module->references(), memory.parameters());
  if (!references) return fail(references.error());
  memory.memory().add_parameters(memory.parameters());
  std::unique_ptr<grid::Heap>& heap = state_->module->heap;
  if (program.uses_heap && !heap) heap = std::make_unique<grid::Heap>();
  if (heap)
    memory.memory().add({grid::kHeap, grid::Heap::kBytes, heap->data(), true, "the heap", heap.get(),
                         heap->defined(grid::kHeap)});
  if (program.discards && how.check_shared && how.check_global) memory.memory().follow_values();
  grid::Workspace workspace = {};
  if (program.has_workspace)
    memory.memory().add({grid::kWorkspace, workspace.size(), workspace.data(), true, "the grid's workspace"});

  grid::Grid all{program, memory.memory(), extent(how.grid), extent(how.block)};
  all.shared_bytes = shared;
  all.parameters = memory.parameters();
  all.references = &*references;
  all.execute = how.execute;
  all.execute.threads = 1;
  if (how.step_limit != 0) all.step_limit = how.step_limit;
  all.check_shared = how.check_shared;
  all.check_global = how.check_shared && how.check_global;
  all.early_answers = how.strict && how.check_shared ? grid::kEarlyAnswers : 0;
  all.grades = *grades;
  all.cancel = how.cancel;
  all.cancel_seed = how.cancel_seed;
  std::optional<grid::Schedule> schedule;
  if (how.schedule != 0) all.schedule = &schedule.emplace(how.schedule, program.steps.size());
  all.has_clusters = cluster->has_value();
  if (*cluster) all.cluster = extent(**cluster);
  all.heap = heap.get();
  std::vector<grid::Executors> executors(program.freedoms.size());
  all.executors = executors.data();
  if (how.profile || how.timeline || how.observe) all.watched = &watched;
  all.stop = stop_flag();
  all.extension = static_cast<int>(*kernel_for(how.execute)) - static_cast<int>(Kernel::scalar);
  const int threads = schedule ? 1 : thread_count(how.execute.threads, block::product(how.grid));
  grid::Report report = grid::run(all, threads, watched.progress);
  out.fault = std::move(report.fault);
  out.inferences = grid::inferences(program, report.inferred);
  out.inferred = !out.inferences.empty();
  out.assembled = assembled(program);
  out.notes = state_->notes;
  if (is_as_written(*program.module, how))
    std::erase_if(out.notes, [](const AssemblerNote& one) { return !assembler::acts_always(one.defect); });
  out.contracted = std::ranges::any_of(program.uses, [](const grid::Program::Use& use) {
    return !assembler::Rules::all().separate().has(use.rule);
  });
  out.blocks = report.blocks;
  out.cancelled = report.cancelled;
  out.steps = report.steps;
  out.checked = std::move(report.checked);
  out.checked.not_looked_for = switched_off(how);
  out.order_dependent =
      grid::left_open(program, executors, block::product(how.grid) * block::product(how.block));
  out.printed = report.printed.text();
  out.printed_dropped = report.printed.dropped();
  out.findings = std::move(report.findings);
  out.profile = grid::profile(program, report.counts);
  out.timeline = std::move(report.timeline);
  out.stopped = report.stopped;
  return out;
}

}  // namespace warpbit::ptx
