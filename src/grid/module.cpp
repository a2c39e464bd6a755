// SPDX-License-Identifier: Apache-2.0
// warpbit/ptx.hpp: modules
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "assembler/defects.hpp"
#include "grid/evidence.hpp"
#include "grid/module_state.hpp"
#include "grid/module_target.hpp"
#include "isa/since.hpp"
#include "ptx/source.hpp"
#include "test_process.hpp"

namespace warpbit::ptx {

/// Of a module. Those of compilers have at most a few MiB.
constexpr std::size_t kMostText = std::size_t{1} << 28;

Result<std::shared_ptr<Module::State>> Module::read(std::string text, std::optional<Target> target) {
  if (text.size() > kMostText)
    return Error{Errc::statement_syntax, "module", fmt::format("a text of {} bytes", text.size()),
                 fmt::format("at most {}", kMostText)};
  Result<std::shared_ptr<const ModuleText>> parsed = parse_module(std::move(text));
  if (!parsed) return parsed.error();
  const Result<Target> on = target_of(**parsed, target);
  if (!on) return on.error();
  const std::shared_ptr<State> state(new State{*std::move(parsed), *on, target.has_value()});
  Result<grid::Addresses> addresses = grid::place_variables(*state->text, state->memory);
  if (!addresses) return addresses.error();
  state->addresses = *std::move(addresses);
  return state;
}

// In a test that is watched the module may get a mistake, and knows what it was without.
Result<Module> Module::load(std::string text, std::optional<Target> target) {
  Result<std::shared_ptr<State>> state = read(std::move(text), target);
  if (!state) return state.error();
  const TestProcess* const process = TestProcess::self();
  if (process == nullptr) return Module(*state);
  const ModuleText& module = *(*state)->text;
  (*state)->key = module_key(module.text, (*state)->target.name());
  if (process->is_first_run()) process->keep((*state)->key, module.text);
  process->write({{"event", "module"}, {"module", (*state)->key}, {"target", (*state)->target.name()}});
  const std::optional<PlantedMistake>& mistake = process->mistake();
  if (!mistake || mistake->module != (*state)->key || mistake->at > module.text.size()) return Module(*state);
  std::string changed = module.text;
  changed.replace(mistake->at, mistake->length, mistake->text);
  if (const Result<Target> other = Target::find_ptx(mistake->target); other && *other != (*state)->target)
    target = *other;
  Result<std::shared_ptr<State>> planted = read(std::move(changed), target);
  if (!planted) return planted.error();
  process->write({{"event", "planted"}, {"module", (*state)->key}});
  (*planted)->original = *state;
  return Module(*planted);
}

Result<Module> Module::load_file(const std::filesystem::path& path, std::optional<Target> target) {
  const auto unreadable = [&] { return Error{Errc::file_unreadable, path.string(), std::strerror(errno), {}}; };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return Error{Errc::file_unreadable, path.string(), "it is not a regular file", {}};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return unreadable();
  std::string text;
  char part[1 << 16];
  while (const std::size_t bytes = std::fread(part, 1, sizeof part, file.get())) {
    text.append(part, bytes);
    if (text.size() > kMostText)
      return Error{
          Errc::file_unreadable, path.string(), fmt::format("it has more than {} bytes", kMostText), {}};
  }
  if (std::ferror(file.get()) != 0) return unreadable();
  Result<Module> out = load(std::move(text), target);
  if (out) out->state_->file = path.string();
  return out;
}

Target Module::target() const {
  return state_->target;
}

std::vector<std::string> Module::entries() const {
  std::vector<std::string> out;
  for (const FunctionText& function : state_->text->functions)
    if (function.is_entry && function.has_body) out.emplace_back(function.name);
  return out;
}

std::vector<Error> Module::check() const {
  return grid::check(state_->text, state_->target, state_->addresses);
}

namespace {

// Those that a function meets, behind the others; in a debug module, which ptxas does not optimise, those of -O0.
void add_notes(const ModuleText& module, const FunctionText& function, std::vector<AssemblerNote>& to) {
  for (const assembler::FoundDefect& one : assembler::find_defects(function)) {
    if (module.is_debug && !one.defect->always) continue;
    const Statement& statement = function.statements[static_cast<std::size_t>(one.statement)];
    const SourceLink at = source_of(module, function, statement);
    const assembler::DefectRow& row = *one.defect;
    to.push_back({std::string(row.name), statement.position.line, one_line(statement.text),
                  fmt::format("ptxas ({}) {}; by the PTX manual {}", row.seen, row.result, row.manual), at.file,
                  at.line});
  }
}

}  // namespace

std::vector<AssemblerNote> Module::notes() const {
  std::vector<AssemblerNote> out;
  const Version version = state_->text->version;
  if (version > kKnownPtx)
    out.push_back({"", 1, fmt::format(".version {}", text(version)),
                   fmt::format("PTX {} is later than what is known ({})", text(version), text(kKnownPtx)), "",
                   0});
  for (const FunctionText& function : state_->text->functions) add_notes(*state_->text, function, out);
  std::ranges::stable_sort(out, {}, &AssemblerNote::line);
  return out;
}

namespace {

Result<std::pair<const Variable*, std::uint64_t>> find_variable(const grid::Addresses& all,
                                                                std::string_view name) {
  std::vector<std::string_view> others;
  for (const auto& [variable, address] : all) {
    if (variable->name == name) return std::pair(variable, address);
    others.push_back(variable->name);
  }
  return Error{Errc::no_such_variable, {}, std::string(name), fmt::format("{}", fmt::join(others, ", "))};
}

}  // namespace

Result<std::span<std::byte>> Module::variable(std::string_view name) const {
  const auto found = find_variable(state_->addresses, name);
  if (!found) return found.error();
  const auto bytes = static_cast<std::size_t>(found->first->bytes);
  return std::span(state_->variables().find(found->second, bytes)->data, bytes);
}

Result<void> Module::bind(std::string_view name, std::uint64_t handle) const {
  std::vector<std::string_view> others;
  const Variable* found = nullptr;
  for (const Variable& one : state_->text->variables) {
    if (one.opaque == Opaque::none || one.linkage == Linkage::external) continue;
    if (one.name == name) found = &one;
    others.push_back(one.name);
  }
  if (found == nullptr)
    return Error{
        Errc::usage, "bind", fmt::format("'{}'", name),
        others.empty()
            ? std::string("another module: this one has no .texref, .samplerref or .surfref")
            : fmt::format("a .texref, .samplerref or .surfref of the module: {}", fmt::join(others, ", "))};
  if (auto error = grid::wrong_handle(*found, handle)) return *std::move(error);
  const std::lock_guard lock(state_->binding);
  state_->bound.insert_or_assign(found, handle);
  if (state_->original) (void)Module(state_->original).bind(name, handle);
  return {};
}

Result<std::vector<AddressWord>> Module::address_words(std::string_view name) const {
  const auto found = find_variable(state_->addresses, name);
  if (!found) return found.error();
  std::vector<AddressWord> out;
  for (const Relocation& one : found->first->relocations)
    out.push_back({static_cast<std::size_t>(one.at), static_cast<std::size_t>(one.bytes)});
  return out;
}
namespace {

std::vector<Parameter> parameters_of(const FunctionText& function) {
  std::vector<Parameter> out;
  std::size_t at = 0;
  for (const Variable& one : function.parameters) {
    const auto alignment = static_cast<std::size_t>(one.alignment);
    at = (at + alignment - 1) / alignment * alignment;
    const auto bytes = static_cast<std::size_t>(one.bytes);
    const std::string_view type = one.opaque == Opaque::none ? row(one.type).name : ptx::name(one.opaque);
    out.push_back({std::string(one.name), std::string(type), bytes, at, alignment});
    at += bytes;
  }
  return out;
}

}  // namespace

Result<Function> Module::function(std::string_view name) const {
  const FunctionText* const found = state_->text->find(name);
  if (found == nullptr || !found->is_entry || !found->has_body)
    return Error{
        Errc::no_such_kernel_entry, {}, std::string(name), fmt::format("{}", fmt::join(entries(), ", "))};
  Result<grid::Program> usual = grid::compile(state_->text, name, state_->target, state_->addresses);
  if (!usual) return usual.error();
  std::vector<AssemblerNote> notes;
  for (const grid::FunctionCode& code : usual->functions) add_notes(*state_->text, *code.function, notes);
  if (!state_->is_given)
    if (std::optional<AssemblerNote> note = grid::computed_otherwise_later(*usual))
      notes.push_back(*std::move(note));
  std::ranges::stable_sort(notes, {}, &AssemblerNote::line);
  std::shared_ptr<const Function::State> original;
  if (state_->original) {
    const Result<Function> found_there = Module(state_->original).function(name);
    if (found_there) original = found_there->state_;
  }
  return Function(std::shared_ptr<const Function::State>(
      new Function::State{state_, found, std::string(name), parameters_of(*found), *std::move(usual),
                          std::move(original), std::move(notes)}));
}

}  // namespace warpbit::ptx
