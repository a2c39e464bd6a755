// SPDX-License-Identifier: Apache-2.0
// The table of opcodes; functions and what they call.
#include "grid/compile.hpp"

#include "grid/compiler.hpp"
#include "grid/freedom.hpp"
#include "grid/locks.hpp"
#include "grid/overtakes.hpp"
#include "grid/polls.hpp"
#include "grid/products.hpp"
#include "grid/reach.hpp"
#include "grid/slots.hpp"
#include "grid/states.hpp"
#include "grid/written.hpp"
#include "ptx/operands.hpp"

namespace warpbit::grid {

void Compiler::refuse(Error error) const {
  if (statement_ != nullptr)
    error.where = fmt::format("{}: {}", ptx::text(statement_->position),
                              error.where.empty() ? ptx::one_line(statement_->text) : error.where);
  throw Refused{std::move(error)};
}

void Compiler::refuse(std::string seen, std::string accepted) const {
  refuse({Errc::operand_kind, {}, std::move(seen), std::move(accepted)});
}

// ---- Statements

// Whether one does more than set registers of its lanes, or wait, says the third column. Atomics say it when they are executed.
// Tensor instructions have none: isa/ reads them.
const Compiler::Maker Compiler::kMakers[] = {
    {Does::compute, &Compiler::scalar, false},
    {Does::convert, &Compiler::scalar, false},
    {Does::move, &Compiler::move, false},
    {Does::logic, &Compiler::logic, false},
    {Does::decompress, &Compiler::decompress, false},
    {Does::load, &Compiler::load, false},
    {Does::store, &Compiler::store},
    {Does::atomic, &Compiler::atomic, false},
    {Does::reduction, &Compiler::reduction},
    {Does::branch, &Compiler::branch, false},
    {Does::branch_indexed, &Compiler::branch_indexed, false},
    {Does::ret, &Compiler::run<steps::go_back>},
    {Does::exit, &Compiler::run<steps::exit>},
    {Does::trap, &Compiler::run<steps::trap>},
    {Does::allocate, &Compiler::allocate},
    {Does::save_stack, &Compiler::save_stack},
    {Does::restore_stack, &Compiler::restore_stack},
    {Does::window, &Compiler::window, false},
    {Does::is_space, &Compiler::is_space, false},
    {Does::map_address, &Compiler::map_address, false},
    {Does::rank_of_address, &Compiler::rank_of_address, false},
    {Does::policy, &Compiler::policy, false},
    {Does::copy, &Compiler::copy_async},
    {Does::mbarrier, &Compiler::mbarrier},
    {Does::tensor_map, &Compiler::tensor_map},
    {Does::shuffle, &Compiler::shuffle, false},
    {Does::vote, &Compiler::vote, false},
    {Does::match, &Compiler::match, false},
    {Does::reduce_lanes, &Compiler::reduce_lanes, false},
    {Does::active_mask, &Compiler::active_mask, false},
    {Does::elect, &Compiler::elect, false},
    {Does::barrier, &Compiler::barrier},
    {Does::fence, &Compiler::fence, false},
    {Does::hint, &Compiler::nothing, false},
    {Does::discard, &Compiler::discard},
    {Does::registers, &Compiler::registers},
    {Does::launch_control, &Compiler::launch_control},
    {Does::texture, &Compiler::texture, false},
    {Does::surface_load, &Compiler::surface_load, false},
    {Does::surface_store, &Compiler::surface_store},
    {Does::surface_reduction, &Compiler::surface_store},
    {Does::surface_query, &Compiler::surface_query, false},
};

// What ptxas takes is no refusal where a module is checked, though nothing executes it.
void Compiler::leave(std::string_view reason) {
  if (!checks_) refuse({Errc::instruction_not_modelled, {}, std::string(reason), {}});
  nothing();
}

void Compiler::note(std::optional<Inference> inferred) {
  if (!inferred) return;
  inferred->statement = static_cast<std::int32_t>(program_.origins.size()) - 1;
  if (noted_.insert(form_of(program_.origins.back())).second) program_.inferred.push_back(*inferred);
}
void Compiler::note(OfWords& of) {
  if (std::exchange(of.is_noted, true)) return;
  note(inference(program_.origins.back(), program_.target));
}

Compiler::OfWords& Compiler::of_words() {
  return of_words_[form_of(program_.origins.back())];
}

// Of the assembler's: its words are not all of PTX.
void Compiler::made_statement() {
  note(of_words());  // as it was
  changes_ = false;
  form_ = nullptr;
  statement_->is->does == Does::move ? move() : scalar();
}

void Compiler::statement() {
  const Does does = statement_->is->does;
  changes_ = true;
  form_ = nullptr;
  if (does == Does::call) return call();
  for (int i = 0; i < count(); ++i) check_special(operand(i));
  const bool by_forms =
      does == Does::convert || has("tensormap::generic");  // of which some are tensor instructions
  if (!by_forms && tensor()) return;
  OfWords& shared = of_words();
  if (!shared.forms) shared.forms = ptx::match_scalar(statement_->opcode, words(), program_.target);
  const Result<std::vector<ptx::MatchedForm>>& form = *shared.forms;
  if (!form && does == Does::convert && tensor(&form.error())) return;
  if (!form) refuse(form.error());
  const Result<const ptx::MatchedForm*> taken = ptx::check_operands(*function_, *statement_, *form);
  if (!taken) throw Refused{taken.error()};
  form_ = (*taken)->form;
  check_version();
  check_address_size();
  if (const std::string_view reason = ptx::why_not_executed(*form_); !reason.empty()) return leave(reason);
  note(shared);
  const Maker& maker = *std::ranges::find(kMakers, does, &Maker::does);
  changes_ = maker.changes;
  (this->*maker.make)();
}

void Compiler::add(Step step) {
  step.statement = static_cast<std::int32_t>(program_.origins.size()) - 1;
  step.changes = changes_;
  step.form = form_;
  if (statement_->guard >= 0) {
    step.guard = static_cast<int>(slot_[static_cast<std::size_t>(statement_->guard)]);
    step.guard_negated = statement_->guard_negated;
  }
  program_.steps.push_back(step);
}

Type Compiler::last_type() const {
  Type out = Type::b32;
  for (const std::string_view one : words())
    if (const auto type = ptx::find_type(one)) out = *type;
  return out;
}

// ---- Functions

std::size_t Compiler::index_of(std::string_view name, const Statement* at) {
  const ptx::FunctionText* found = program_.module->find(name);
  if (found == nullptr || !found->has_body) {
    statement_ = at;
    refuse(fmt::format("function '{}'", name), "a function that is defined in the module");
  }
  program_.function_of.resize(program_.module->functions.size(), -1);
  std::int32_t& out = program_.function_of[program_.module->numbers.at(found->name)];
  if (out < 0) {
    out = static_cast<std::int32_t>(program_.functions.size());
    program_.functions.emplace_back().function = found;
  }
  program_.function_of[program_.module->numbers.at(name)] = out;  // of an alias
  return static_cast<std::size_t>(out);
}

namespace {

// Products that are pending are known by the slots of their registers, so no two may share one.
bool has_products(const ptx::FunctionText& function) {
  return std::ranges::find(function.statements, "wgmma", &Statement::opcode) != function.statements.end();
}

}  // namespace

void Compiler::function(std::size_t index, std::vector<Error>* refused) {
  FunctionCode code = program_.functions[index];
  declared_ = code.function;
  code_ = &code;
  code.first_step = static_cast<int>(program_.steps.size());
  const std::size_t first_list = program_.places.size();
  checks_ = refused != nullptr;
  if (checks_) cta_group_ = 0;  // each function alone
  assembler::Assembled assembled = assembler::assemble(*declared_, rules_);
  function_ = &assembled.function;
  changed_ = changed_ || assembled.origins.size() != declared_->statements.size() ||
             std::ranges::find(assembled.made, true) != assembled.made.end();
  for (const assembler::Use& one : assembled.uses)
    program_.uses.push_back({one.rule, {declared_, one.statement}});
  lay_out_registers();
  lay_out_variables();
  // Most statements are one step. Of many functions the room doubles, as it does step by step.
  if (const std::size_t all = program_.steps.size() + function_->statements.size() + 1;
      all > program_.steps.capacity())
    program_.steps.reserve(std::max(all, 2 * program_.steps.capacity()));
  const std::vector<std::int32_t> step_of = statements(assembled, refused);
  program_.steps.push_back({.run = steps::go_back});  // behind the last statement
  resolve(step_of);
  statement_ = nullptr;
  code.slot = slot_;
  code.registers = std::move(assembled.function.registers);
  find_read_results(program_, code);
  find_polls(program_, code);
  find_spin_locks(program_, code);
  find_overtakes(program_, code);
  find_states(program_, code);
  if (program_.shares_slots || (refused == nullptr && has_products(*code.function)))
    share_slots(program_, code, first_list, program_.shares_slots);
  steps::find_product_runs(program_, static_cast<std::size_t>(code.first_step));
  if (refused == nullptr)
    code.unwritten = find_unwritten(program_, code, code.first_step, static_cast<int>(program_.steps.size()));
  program_.functions[index] = std::move(code);
  function_ = nullptr;
}

// The steps of all statements that can be reached. By statement, its first one; at the end, the one behind.
std::vector<std::int32_t> Compiler::statements(const assembler::Assembled& from, std::vector<Error>* refused) {
  const std::vector<bool> is_reached = refused == nullptr
                                           ? assembler::reached(*function_)
                                           : std::vector<bool>(function_->statements.size(), true);
  definitions_.emplace(*function_);
  provenance_.emplace(*function_);
  cas_loops_.emplace(*function_, *program_.module, cas_parameters_);
  find_stores();
  pending_.clear();
  pending_tables_.clear();
  std::vector<std::int32_t> step_of;
  for (std::size_t i = 0; i < function_->statements.size(); ++i) {
    statement_ = &function_->statements[i];
    if (i > 0) definitions_->pass(static_cast<int>(i) - 1);
    if (i > 0) provenance_->pass(static_cast<int>(i) - 1);
    step_of.push_back(static_cast<std::int32_t>(program_.steps.size()));
    program_.origins.push_back({declared_, from.origins[i]});
    if (!is_reached[i]) continue;
    try {
      from.made[i] ? made_statement() : statement();
    } catch (Refused& refusal) {
      if (refused == nullptr) throw;
      refused->push_back(std::move(refusal.error));
    }
  }
  step_of.push_back(static_cast<std::int32_t>(program_.steps.size()));
  return step_of;
}

// Branches go to steps.
void Compiler::resolve(const std::vector<std::int32_t>& step_of) {
  for (const Pending& one : pending_)
    program_.steps[one.step].target = step_of[static_cast<std::size_t>(one.statement)];
  for (const auto& [step, table] : pending_tables_) {
    std::vector<std::int32_t> targets;
    for (const int label : table->labels) targets.push_back(step_of[static_cast<std::size_t>(label)]);
    program_.steps[step].extra = static_cast<std::int32_t>(program_.tables.size());
    program_.tables.push_back(std::move(targets));
  }
}

std::uint64_t function_address(const ptx::ModuleText& module, std::string_view name) {
  const auto found = module.numbers.find(name);
  return found == module.numbers.end() ? 0 : (found->second + 1) * 16;
}

namespace {

// What rules of the assembler have replaced or left out is no less illegal for that.
void check_as_written(const Program& program, const Named& names, const Addresses& addresses) {
  Program written(program.module, program.target);
  written.shares_slots = program.shares_slots;
  Compiler compiler(written, addresses, assembler::Rules::none());
  compiler.lay_out_shared(names);
  for (const FunctionCode& code : program.functions) compiler.index_of(code.function->name, nullptr);
  for (std::size_t i = 0; i < written.functions.size(); ++i) compiler.function(i);
}

Stores stores_of(const Program& program, const Addresses& addresses) {
  std::vector<const ptx::FunctionText*> functions;
  for (const FunctionCode& code : program.functions) functions.push_back(code.function);
  return find_stores(functions, [&](const ptx::Variable& variable) {
    const auto found = std::ranges::find(addresses, &variable, &Addresses::value_type::first);
    return found == addresses.end() ? 0 : found->second;
  });
}

}  // namespace

Result<Program> compile(std::shared_ptr<const ptx::ModuleText> module, std::string_view entry, Target target,
                        const Addresses& addresses, const CompileOptions& options) {
  Program out(std::move(module), target);
  out.shares_slots = options.shares_slots;
  Compiler compiler(out, addresses, options.rules);
  try {
    const std::size_t kernel = compiler.index_of(entry, nullptr);
    const Named names = named(*out.module, *out.functions[kernel].function);
    compiler.lay_out_shared(names);
    compiler.check_static_shared(*out.functions[kernel].function);
    for (const ptx::FunctionText* function : names.functions) {
      compiler.index_of(function->name, nullptr);
      if (has_products(*function)) out.shares_slots = false;
    }
    for (std::size_t i = 0; i < out.functions.size(); ++i) compiler.function(i);
    if (compiler.changed()) check_as_written(out, names, addresses);
    out.stores = stores_of(out, addresses);
    find_freedoms(out);
    find_touches(out);
    out.leads_out = lead_out(out);
    steps::find_early_uses(out);
  } catch (Refused& refused) {
    return std::move(refused.error);
  }
  return out;
}

namespace {

// Static shared memory, kernel by kernel.
void check_shared(const Program& program, const Addresses& addresses, std::vector<Error>& refused) {
  for (const ptx::FunctionText& function : program.module->functions) {
    if (!function.is_entry || !function.has_body) continue;
    Program alone(program.module, program.target);
    Compiler compiler(alone, addresses, assembler::Rules::none());
    try {
      compiler.lay_out_shared(named(*program.module, function));
      compiler.check_static_shared(function);
    } catch (Refused& refusal) {
      refused.push_back(std::move(refusal.error));
    }
  }
}

}  // namespace

std::vector<Error> check(std::shared_ptr<const ptx::ModuleText> module, Target target,
                         const Addresses& addresses) {
  std::vector<Error> out;
  Program program(std::move(module), target);
  program.shares_slots = false;
  Compiler compiler(program, addresses, assembler::Rules::none());
  Named all;
  for (const ptx::FunctionText& function : program.module->functions) {
    if (!function.has_body) continue;
    compiler.index_of(function.name, nullptr);
    all.functions.push_back(&function);
  }
  if (all.functions.empty()) return out;
  for (const ptx::Variable& variable : program.module->variables) all.variables.insert(&variable);
  check_shared(program, addresses, out);
  compiler.lay_out_shared(all);
  for (std::size_t i = 0; i < program.functions.size(); ++i) compiler.function(i, &out);
  return out;
}

}  // namespace warpbit::grid
