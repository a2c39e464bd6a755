// SPDX-License-Identifier: Apache-2.0
// warpbit/ptx.hpp
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "api/checks.hpp"
#include "assembler/defects.hpp"
#include "block/shape.hpp"
#include "grid/evidence.hpp"
#include "grid/grades.hpp"
#include "grid/launch.hpp"
#include "grid/turn.hpp"
#include "isa/since.hpp"
#include "ptx/source.hpp"
#include "texture/texture.hpp"
#include "threads.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::ptx {

// ---- Addresses of the process

namespace {

struct Named {
  std::span<std::byte> array;
  int uses = 0;
};
struct AllNamed {
  std::mutex mutex;
  std::map<std::uint64_t, Named> arrays;  // by address
  std::uint64_t next = grid::kNamed;
};
AllNamed& named() {
  static AllNamed all;
  return all;
}

bool is_same(std::span<const std::byte> x, std::span<const std::byte> y) {
  return x.data() == y.data() && x.size() == y.size();
}

}  // namespace

std::uint64_t address(std::span<std::byte> array) {
  constexpr std::uint64_t kStep = 1 << 21;
  AllNamed& all = named();
  const std::lock_guard lock(all.mutex);
  for (auto& [address, one] : all.arrays)
    if (is_same(one.array, array)) return ++one.uses, address;
  const std::uint64_t out = all.next;
  all.next += (array.size() / kStep + 2) * kStep;
  all.arrays.emplace(out, Named{array, 1});
  return out;
}

bool forget(std::uint64_t address) {
  if (texture::forget(address)) return true;
  AllNamed& all = named();
  const std::lock_guard lock(all.mutex);
  const auto found = all.arrays.find(address);
  if (found == all.arrays.end()) return false;
  if (--found->second.uses == 0) all.arrays.erase(found);
  return true;
}

// ---- Targets

namespace {

/// "sm_90a": 90 and 'a'.
struct Generation {
  int number = 0;
  char kind = 0;
};
Generation generation(std::string_view name) {
  Generation out;
  if (!name.starts_with("sm_")) return out;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 3, end, out.number);
  if (error == std::errc() && rest != end) out.kind = *rest;
  return out;
}

/// Targets that PTX has and this library does not: nothing runs on them, but code for them runs on later ones.
constexpr std::array kOtherTargets = {10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 82};

bool exists(int number) {
  return std::ranges::find(kOtherTargets, number) != kOtherTargets.end() ||
         std::ranges::any_of(Target::all(),
                             [&](Target one) { return generation(one.name()).number == number; });
}

std::string_view present_name(std::string_view written) {
  const auto renamed = std::ranges::find(target_rows(), written, &TargetRow::formerly);
  return renamed == target_rows().end() ? written : renamed->name;
}

/// PTX for one target runs on every later one; that for sm_90a on sm_90a alone, and that for a family within it (PTX
/// manual, "PTX Module Directives: .target").
bool runs_on(std::string_view written, Target target) {
  const std::string_view name = present_name(written);
  if (name == target.name()) return true;
  const Generation from = generation(name), to = generation(target.name());
  if (!exists(from.number)) return false;  // no name of PTX
  if (from.kind == 'f') return from.number / 10 == to.number / 10 && from.number <= to.number && to.kind != 0;
  return from.kind == 0 && generation(written).number <= to.number;
}

/// Of sm_75.
constexpr int kFirstOfKernels = 75;

Result<Target> target_of(const ModuleText& module, std::optional<Target> wanted) {
  std::vector<Target> able;
  for (const Target target : Target::all())
    if (runs_on(module.target, target) && target.row().features.has(Feature::sm_75)) able.push_back(target);
  const auto is_able = [&](Target target) { return std::ranges::find(able, target) != able.end(); };
  if (able.empty()) return Target::find_ptx(module.target).error();
  const Result<Target> same = Target::find_ptx(present_name(module.target));
  if (same && same->name() == module.target && module.version < same->row().since)
    return Error{Errc::not_in_version, fmt::format(".target {}", module.target), text(module.version),
                 text(same->row().since)};
  if (!wanted) {
    if (generation(module.target).number >= kFirstOfKernels) return same ? *same : able.front();
    return Error{
        Errc::target_too_old, "this module", std::string(module.target),
        fmt::format("it runs on one of these if that is given as the target, such as {}", able.front().name())};
  }
  if (!wanted->row().features.has(Feature::sm_75))
    return Error{Errc::target_too_old, "the target that is given", std::string(wanted->name()),
                 "give a later one"};
  if (!is_able(*wanted))
    return Error{Errc::not_on_target, fmt::format("PTX for {}", module.target), std::string(wanted->name()),
                 names(able)};
  return *wanted;
}

}  // namespace

// ---- Modules

struct Module::State {
  std::shared_ptr<const ModuleText> text;
  Target target;
  bool is_given = false;  ///< the target; else it is the module's own
  grid::GlobalMemory memory = {};
  grid::Addresses addresses = {};  // of variables
  std::once_flag filling = {};
  std::unique_ptr<grid::Heap> heap = {};  // once a kernel has used it
  grid::Turns launches = {};

  /// Its variables with their bytes, which nothing needs before.
  const grid::GlobalMemory& variables() {
    std::call_once(filling, [&] { grid::fill_variables(*text, addresses, memory); });
    return memory;
  }
};

/// Of a module. Those of compilers have at most a few MiB.
constexpr std::size_t kMostText = std::size_t{1} << 28;

Result<Module> Module::load(std::string text, std::optional<Target> target) {
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
  return Module(state);
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
  return load(std::move(text), target);
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

// Those that a function meets, behind the others.
void add_notes(const ModuleText& module, const FunctionText& function, std::vector<AssemblerNote>& to) {
  for (const assembler::FoundDefect& one : assembler::find_defects(function)) {
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

Result<std::vector<AddressWord>> Module::address_words(std::string_view name) const {
  const auto found = find_variable(state_->addresses, name);
  if (!found) return found.error();
  std::vector<AddressWord> out;
  for (const Relocation& one : found->first->relocations)
    out.push_back({static_cast<std::size_t>(one.at), static_cast<std::size_t>(one.bytes)});
  return out;
}

// ---- Kernels

struct Function::State {
  std::shared_ptr<Module::State> module;
  const FunctionText* text;
  std::string name;
  std::vector<Parameter> parameters;
  grid::Program usual;
  std::vector<AssemblerNote> notes = {};  // of the functions that it may call, too
  // Compiled when they are asked for.
  mutable std::mutex compiling = {};
  mutable std::map<grid::CompileOptions, Result<grid::Program>> others = {};

  Result<const grid::Program*> program(const grid::CompileOptions& options) const {
    if (options == grid::CompileOptions()) return &usual;
    const std::lock_guard turn(compiling);
    auto found = others.find(options);
    if (found == others.end())
      found =
          others.emplace(options, grid::compile(module->text, name, module->target, module->addresses, options))
              .first;
    if (!found->second) return found->second.error();
    return &*found->second;
  }
};

namespace {

std::vector<Parameter> parameters_of(const FunctionText& function) {
  std::vector<Parameter> out;
  std::size_t at = 0;
  for (const Variable& one : function.parameters) {
    const auto alignment = static_cast<std::size_t>(one.alignment);
    at = (at + alignment - 1) / alignment * alignment;
    const auto bytes = static_cast<std::size_t>(one.bytes);
    out.push_back({std::string(one.name), std::string(row(one.type).name), bytes, at, alignment});
    at += bytes;
  }
  return out;
}

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

/// Where arrays that are only read begin, between buffers and arrays with an address.
constexpr std::uint64_t kConstantBuffers = 0x1800'0000'0000, kConstantStep = 1 << 21;

/// The memory of one launch.
class LaunchMemory {
 public:
  LaunchMemory(const grid::GlobalMemory& variables, std::size_t parameters) : bytes_(parameters) {
    memory_.share(variables);
    AllNamed& all = named();
    const std::lock_guard lock(all.mutex);
    for (const auto& [address, one] : all.arrays)
      memory_.add({address, one.array.size(), one.array.data(), true, "an array with an address"});
  }
  std::optional<Error> set(const Parameter& parameter, const Argument& argument);
  std::optional<Error> place(const PlacedMemory& part);
  grid::GlobalMemory& memory() { return memory_; }
  std::span<std::byte> parameters() { return bytes_; }

 private:
  std::uint64_t reach(std::span<const std::byte> array, bool writable, const std::string& name);
  std::uint64_t reach_unwritten(std::span<std::byte> array, const std::string& name);

  grid::GlobalMemory memory_;
  std::deque<grid::ZeroBytes> defined_;  // of arrays that begin without a value
  std::vector<std::byte> bytes_;
  std::uint64_t next_constant_ = kConstantBuffers;
};

// The same array has one address.
std::uint64_t LaunchMemory::reach(std::span<const std::byte> array, bool writable, const std::string& name) {
  for (const grid::GlobalMemory::Range& range : memory_.ranges())
    if (range.writable == writable && is_same({range.data, range.bytes}, array)) return range.address;
  const std::span<std::byte> bytes(const_cast<std::byte*>(array.data()), array.size());
  const std::string of = fmt::format("the array of '{}'", name);
  if (writable) return memory_.add(of, bytes);
  const std::uint64_t address = next_constant_;
  next_constant_ += (array.size() / kConstantStep + 2) * kConstantStep;
  memory_.add({address, bytes.size(), bytes.data(), false, of});
  return address;
}

std::uint64_t LaunchMemory::reach_unwritten(std::span<std::byte> array, const std::string& name) {
  const std::uint64_t address = reach(array, true, name);
  memory_.begin_undefined(address, defined_.emplace_back(array.size()).data());
  return address;
}

std::optional<Error> LaunchMemory::place(const PlacedMemory& part) {
  const std::uint64_t bytes = part.bytes.size();
  const auto refuse = [&](std::string accepted) {
    return Error{Errc::argument_mismatch, fmt::format("the memory '{}'", part.name),
                 fmt::format("{} bytes at {:#x}", bytes, part.address), std::move(accepted)};
  };
  if (bytes == 0) return std::nullopt;
  if (!part.defined.empty() && part.defined.size() != bytes)
    return refuse(fmt::format("as many bytes as `defined`, which has {}", part.defined.size()));
  const std::uint64_t last = part.address + (bytes - 1);
  if (part.address == 0 || last < part.address || (last >= grid::kConstants && part.address < grid::kOwnEnd) ||
      last >= grid::kSharedWindow)
    return refuse("addresses from 1 to 0xdffffffffff, or from 0x400000000000 to 0x7effffffffffffff");
  if (memory_.overlaps(part.address, bytes)) return refuse("memory that overlaps no other");
  memory_.add(
      {part.address, bytes, part.bytes.data(), part.is_writable, fmt::format("the memory '{}'", part.name)});
  if (!part.defined.empty()) memory_.begin_undefined(part.address, part.defined.data());
  return std::nullopt;
}

std::optional<Error> LaunchMemory::set(const Parameter& parameter, const Argument& argument) {
  const auto mismatch = [&](std::string seen) {
    return Error{Errc::argument_mismatch, fmt::format("argument '{}'", parameter.name), std::move(seen),
                 fmt::format("{} bytes (.{})", parameter.bytes, parameter.type)};
  };
  const auto* const array = std::get_if<std::span<std::byte>>(&argument);
  const auto* const constant = std::get_if<std::span<const std::byte>>(&argument);
  const auto* const unwritten = std::get_if<Unwritten>(&argument);
  if (array != nullptr || constant != nullptr || unwritten != nullptr) {
    if (parameter.bytes != 8) return mismatch("an array, which is a pointer of 8 bytes");
    const std::uint64_t address = array != nullptr      ? reach(*array, true, parameter.name)
                                  : constant != nullptr ? reach(*constant, false, parameter.name)
                                                        : reach_unwritten(unwritten->bytes, parameter.name);
    std::memcpy(&bytes_[parameter.offset], &address, sizeof address);
    return std::nullopt;
  }
  const std::vector<std::byte>& value = std::get<std::vector<std::byte>>(argument);
  if (value.size() != parameter.bytes) return mismatch(fmt::format("{} bytes", value.size()));
  std::ranges::copy(value, bytes_.begin() + static_cast<std::ptrdiff_t>(parameter.offset));
  return std::nullopt;
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
  return Function(std::shared_ptr<const Function::State>(new Function::State{
      state_, found, std::string(name), parameters_of(*found), *std::move(usual), std::move(notes)}));
}

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

Result<assembler::Rules> rules_of(const Launch& how) {
  if (how.as_written) return assembler::Rules::none();
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

}  // namespace

namespace {

std::vector<std::string> switched_off(const Launch& how) {
  if (!how.check_shared) return {"any rule of kernels"};
  std::vector<std::string> out;
  if (!how.check_global) out.emplace_back("races in global memory");
  for (const GradedRule& one : how.grades)
    if (one.grade == Grade::silent) out.push_back("the rule " + one.rule);
  return out;
}

// "12,288"
std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

}  // namespace

std::string Finding::more() const {
  if (times == 1) return "";
  std::string out = fmt::format("{} more like it", grouped(times - 1));
  std::string_view before = ": ";
  const auto add = [&](std::string_view what) { out.append(std::exchange(before, ", ")).append(what); };
  if (!warps.empty()) add(fmt::format("warp{} {}", warps.size() == 1 ? "" : "s", ranges(warps)));
  if (!lanes.empty()) add(fmt::format("lane{} {}", lanes.size() == 1 ? "" : "s", ranges(lanes)));
  if (blocks != 1) add(fmt::format("in {} blocks", grouped(blocks)));
  return out;
}

std::string Checked::text() const {
  std::string out = fmt::format("checked {} shared and {} global accesses", grouped(shared), grouped(global));
  const auto add = [&](std::uint64_t count, std::string_view one, std::string_view several) {
    if (count != 0) out += fmt::format(", {} {}", grouped(count), count == 1 ? one : several);
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
  const Result<assembler::Rules> rules = rules_of(how);
  if (!rules) return {};
  const Result<const grid::Program*> program = state_->program({*rules, true});
  return program ? grid::lines(**program) : std::vector<CodeLine>();
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

}  // namespace

Report Function::launch(const Launch& how, std::span<const Argument> arguments) const {
  Report out;
  const auto fail = [&](Error error) {
    out.fault = block::refused(std::move(error));
    return std::move(out);
  };
  // Who observes a launch sees what each register had before.
  const Result<assembler::Rules> rules = rules_of(how);
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
  if (how.observe)
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
  memory.memory().add_parameters(memory.parameters());
  std::unique_ptr<grid::Heap>& heap = state_->module->heap;
  if (program.uses_heap && !heap) heap = std::make_unique<grid::Heap>();
  if (heap)
    memory.memory().add({grid::kHeap, grid::Heap::kBytes, heap->data(), true, "the heap", heap.get(),
                         heap->defined(grid::kHeap)});
  grid::Workspace workspace = {};
  if (program.has_workspace)
    memory.memory().add({grid::kWorkspace, workspace.size(), workspace.data(), true, "the grid's workspace"});

  grid::Grid all{program, memory.memory(), extent(how.grid), extent(how.block)};
  all.shared_bytes = shared;
  all.parameters = memory.parameters();
  all.execute = how.execute;
  all.execute.threads = 1;
  if (how.step_limit != 0) all.step_limit = how.step_limit;
  all.check_shared = how.check_shared;
  all.check_global = how.check_shared && how.check_global;
  all.early_answers = how.strict && how.check_shared ? grid::kEarlyAnswers : 0;
  all.grades = *grades;
  all.cancel = how.cancel;
  all.cancel_seed = how.cancel_seed;
  all.has_clusters = cluster->has_value();
  if (*cluster) all.cluster = extent(**cluster);
  all.heap = heap.get();
  std::vector<grid::Executors> executors(program.freedoms.size());
  all.executors = executors.data();
  if (how.profile || how.observe) all.watched = &watched;
  all.stop = stop_flag();
  all.extension = static_cast<int>(*kernel_for(how.execute)) - static_cast<int>(Kernel::scalar);
  grid::Report report =
      grid::run(all, thread_count(how.execute.threads, block::product(how.grid)), watched.progress);
  out.fault = std::move(report.fault);
  out.inferences = grid::inferences(program, report.inferred);
  out.inferred = !out.inferences.empty();
  out.assembled = assembled(program);
  if (!how.as_written) out.notes = state_->notes;
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
  out.stopped = report.stopped;
  return out;
}

}  // namespace warpbit::ptx
