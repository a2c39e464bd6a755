// SPDX-License-Identifier: Apache-2.0
// Statements by which threads go elsewhere, wait for each other or exchange values.
#include "grid/compiler.hpp"
#include "ptx/operands.hpp"

namespace warpbit::grid {

void Compiler::branch() {
  pending_.push_back({program_.steps.size(), operand(0).index});
  add({.run = steps::branch});
}

void Compiler::branch_indexed() {
  Step step;
  step.run = steps::branch_indexed;
  step.place[2] = source(operand(0), Type::u32);
  pending_tables_.push_back(
      {program_.steps.size(), &function_->tables[static_cast<std::size_t>(operand(1).index)]});
  add(step);
}

// A function that is not in the module, declared as the device has it.
Run Compiler::system_call(const ptx::FunctionText& declared) {
  const steps::SystemFunction* const found = steps::system_function(declared.name);
  if (found == nullptr)
    refuse({Errc::instruction_not_modelled,
            fmt::format("a call of '{}'", declared.name),
            "the module does not define it, and no device has it",
            {}});
  const auto sizes = [](const auto& variables) {
    std::vector<std::int64_t> out;
    for (const ptx::Variable& one : variables) out.push_back(one.bytes);
    return out;
  };
  const auto words = [](std::span<const std::int64_t> results, std::span<const std::int64_t> parameters) {
    return fmt::format("({}) {}", fmt::join(results, ", "), fmt::format("({})", fmt::join(parameters, ", ")));
  };
  const std::vector<std::int64_t> returns = sizes(declared.returns), parameters = sizes(declared.parameters);
  if (!std::ranges::equal(returns, found->returns) || !std::ranges::equal(parameters, found->parameters))
    throw Refused{{Errc::operand_kind, fmt::format("{}: '{}'", ptx::text(declared.position), declared.name),
                   fmt::format("results and parameters of {} bytes", words(returns, parameters)),
                   fmt::format("{}, as a device has it", words(found->returns, found->parameters))}};
  program_.uses_heap = program_.uses_heap || found->uses_heap;
  return found->run;
}

// call{.uni} (results), function, (arguments){, table}; without results or arguments their lists are absent.
void Compiler::call() {
  for (const std::string_view word : words())
    if (word != "uni") refuse(fmt::format("the qualifier .{}", word), "call or call.uni");
  if (Result<void> taken = ptx::check_call(*program_.module, *function_, *statement_); !taken)
    throw Refused{taken.error()};
  Step step;
  step.run = steps::call;
  Call call;
  int i = 0;
  const Operand* results = nullptr;
  if (operand(i).kind == Operand::Kind::list) results = &operand(i++);
  const Operand& callee = operand(i++);
  const Operand* arguments = i < count() && operand(i).kind == Operand::Kind::list ? &operand(i++) : nullptr;
  if (callee.kind == Operand::Kind::function) {
    const ptx::FunctionText& called = *program_.module->find(callee.text);
    if (called.has_body)
      call.function = static_cast<int>(index_of(callee.text, statement_));
    else
      step.run = system_call(called);
  } else {
    step.place[2] = source(callee, Type::u64);
  }
  const auto is_formal = [&](const ptx::Variable* variable) {
    const auto is_it = [&](const ptx::Variable& one) { return &one == variable; };
    return std::ranges::any_of(declared_->parameters, is_it) || std::ranges::any_of(declared_->returns, is_it);
  };
  const auto copies = [&](const Operand* list, std::vector<Call::Copy>& out) {
    for (int k = 0; list != nullptr && k < list->count; ++k) {
      const Operand& item = child(*list, k);
      if (item.kind != Operand::Kind::symbol)
        refuse("an argument that is not in .param", "the name of a .param variable");
      if (is_formal(item.variable))
        refuse(fmt::format("the parameter '{}' of the function itself", item.text),
               "a .param variable of its body");
      const std::int64_t at = local_.at(item.variable);
      out.push_back({at, at, item.variable->bytes});
    }
  };
  copies(arguments, call.arguments);
  copies(results, call.results);
  step.extra = static_cast<std::int32_t>(program_.calls.size());
  program_.calls.push_back(std::move(call));
  add(step);
}

// Threads may wait for each other by what is ordered so.
void Compiler::fence() {
  if (!words().empty() && (word(0) == "mbarrier_init" || (count() > 0 || has("tensormap::generic"))))
    return async_fence();
  if (words().size() > 1 && word(1).starts_with("async")) return add({.run = steps::fence_proxy});
  if (has("proxy")) return nothing();
  program_.orders_by_memory = true;
  const bool is_membar = form_ != nullptr && form_->words.contains("gl");
  const bool is_sequential = has("sc") || is_membar;
  program_.has_weak_fences = program_.has_weak_fences || !is_sequential;
  Step step{.run = steps::fence_memory, .target = is_sequential ? steps::kSequential : -1};
  step.access.order = strength();
  const bool one_sided = has("acquire") || has("release");
  if (!one_sided) step.access.order.acquires = step.access.order.releases = true;
  add(step);
}

void Compiler::barrier() {
  if (has("warp")) {
    changes_ = false;
    return sync_warp();
  }
  if (has("cluster")) return cluster_barrier();
  Step step;
  step.run = steps::barrier;
  int i = 0;
  const bool reduces = has("red");
  if (reduces) step.place[0] = destination(operand(i++));
  step.place[2] = source(operand(i++), Type::u32);
  const int last = reduces ? count() - 1 : count();
  if (i < last) step.place[3] = source(operand(i++), Type::u32);
  if (reduces) {
    step.place[4] = source(operand(count() - 1), Type::pred);
    step.access.count = has("popc") ? 1 : has("and") ? 2 : 3;
  } else {
    step.access.count = 0;
  }
  const bool aligned = statement_->is->aligned || has("aligned");
  step.target = (has("arrive") ? 0 : steps::kWaits) | (aligned ? steps::kAligned : 0);
  add(step);
}

void Compiler::sync_warp() {
  Step step{.run = steps::sync_warp};
  step.place[2] = source(operand(0), Type::b32);
  add(step);
}

// d|p, a value, and words of 32 bits: the mask is the last one.
Step Compiler::meeting(Run what, Type of_value) {
  Step step{.run = what};
  step.place[0] = destination(operand(0));
  step.place[1] = second(operand(0));
  for (int i = 1; i < count(); ++i)
    step.place[static_cast<std::size_t>(i + 1)] = source(operand(i), i == 1 ? of_value : Type::b32);
  return step;
}

namespace {

// The mode that one of the words names.
template <class Mode, std::size_t N>
std::int32_t mode_of(std::span<const std::string_view> words,
                     const std::pair<std::string_view, Mode> (&modes)[N]) {
  const auto named = [&](const auto& row) { return std::ranges::find(words, row.first) != words.end(); };
  return static_cast<std::int32_t>(std::ranges::find_if(modes, named)->second);
}

}  // namespace

void Compiler::shuffle() {
  using How = steps::Shuffle;
  constexpr std::pair<std::string_view, How> kModes[] = {
      {"up", How::up}, {"down", How::down}, {"bfly", How::butterfly}, {"idx", How::index}};
  Step step = meeting(steps::shuffle, last_type());
  step.extra = mode_of(words(), kModes);
  vectorise_lanes(step, nullptr);
  add(step);
}

void Compiler::vote() {
  using How = steps::Vote;
  constexpr std::pair<std::string_view, How> kModes[] = {
      {"all", How::all}, {"any", How::any}, {"uni", How::uniform}, {"ballot", How::ballot}};
  Step step = meeting(steps::vote, Type::pred);
  step.extra = mode_of(words(), kModes);
  vectorise_lanes(step, nullptr);
  add(step);
}

void Compiler::match() {
  Step step = meeting(steps::match, last_type());
  step.extra = has("all") ? 1 : 0;
  add(step);
}

void Compiler::reduce_lanes() {
  const Type type = last_type();
  Step step = meeting(steps::reduce, type);
  const std::array<std::string_view, 1> of = {ptx::row(type).name};
  scalar::Operation operation = scalar::operation(named_operation(), of);
  vectorise_lanes(step, &operation);
  step.extra = keep(std::move(operation));
  add(step);
}

void Compiler::active_mask() {
  add(meeting(steps::active_mask, Type::b32));
}

void Compiler::elect() {
  add(meeting(steps::elect, Type::b32));
}

}  // namespace warpbit::grid
