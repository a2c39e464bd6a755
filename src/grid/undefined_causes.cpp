// SPDX-License-Identifier: Apache-2.0
// Where undefined values come from, and what is told of one that matters.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grid/block.hpp"
#include "grid/undefined.hpp"

namespace warpbit::grid {

std::uint32_t& Undefined::cause_of(const Path& path, const Place& place) {
  return place.kind == Place::Kind::predicate ? predicate_cause_[path.predicates + place.slot]
                                              : slot_cause_[path.frame + place.slot];
}

std::uint32_t Undefined::number_of(const Cause& cause) {
  const auto is_same = [&](const Cause& one) {
    return one.statement == cause.statement && (one.race == nullptr) == (cause.race == nullptr) &&
           one.early == cause.early;
  };
  auto found = std::ranges::find_if(causes_, is_same);
  if (found == causes_.end()) found = causes_.insert(causes_.end(), cause);
  return static_cast<std::uint32_t>(found - causes_.begin());
}

void Undefined::come_from(const Path& path, std::span<const Place> places, const Cause& cause) {
  const std::uint32_t number = number_of(cause);
  for (const Place& place : places)
    if (place.kind == Place::Kind::reg || place.kind == Place::Kind::predicate) cause_of(path, place) = number;
}

// That of its first source without a value. Who reads a register that nothing has written is told, not who is the last to use what
// came of it.
std::uint32_t Undefined::cause_of_results(const Path& path, const Step& step, Lanes lanes) {
  const Place& source = uses_.sources.front();
  if (const std::uint32_t known = cause_of(path, source); known != 0) return known;
  Cause reads{Cause::From::reg, 0, 0, warp_.site(step), lanes, warp_.number()};
  reads.name = name_of(path, source);
  return number_of(reads);
}

std::string Undefined::name_of(const Path& path, const Place& place) const {
  const Program& program = warp_.program();
  return register_name(program.functions[static_cast<std::size_t>(path.function)], place, 2 * path.pc);
}

Undefined::Cause Undefined::cause_of_store(const Path& path, const Place& place, const Step& step,
                                           Lanes lanes) {
  const bool is_kept = place.kind == Place::Kind::reg || place.kind == Place::Kind::predicate;
  const std::uint32_t known = is_kept ? cause_of(path, place) : 0;
  return known != 0 ? causes_[known]
                    : Cause{Cause::From::stored, 0, 0, warp_.site(step), lanes, warp_.number()};
}

void StoredCauses::store(std::int64_t first, std::int64_t bytes, const UndefinedCause& cause) {
  for (std::int64_t i = 0; i < bytes; ++i) causes_.insert_or_assign(first + i, cause);
}

void StoredCauses::copy(std::int64_t to, std::int64_t from, std::int64_t bytes) {
  if (causes_.empty()) return;
  for (std::int64_t i = 0; i < bytes; ++i)
    if (const UndefinedCause* const found = find(from + i)) store(to + i, 1, UndefinedCause(*found));
}

void StoredCauses::forget(std::int64_t first, std::int64_t bytes) {
  causes_.erase(causes_.lower_bound(first), causes_.lower_bound(first + bytes));
}

const UndefinedCause* StoredCauses::find(std::int64_t byte) const {
  const auto found = causes_.find(byte);
  return found == causes_.end() ? nullptr : &found->second;
}

using From = Undefined::Cause::From;

From undefined_memory(ptx::StateSpace space, std::uint64_t address, const GlobalMemory& memory) {
  if (space == ptx::StateSpace::shared) return From::shared;
  if (space == ptx::StateSpace::local) return From::local;
  if (address - kHeap < Heap::kBytes) return From::heap;
  const GlobalMemory::Range* const range = memory.find(address, 1);
  return range != nullptr && range->began_with_values ? From::discarded : From::array;
}

namespace {

/// What is missing, what a value that depends on it depends on, and what would be right before a statement of this opcode, {}.
struct Missing {
  std::string seen;
  std::string_view it, accepted;
};

Missing missing(const Undefined::Cause& cause, const GlobalMemory& memory) {
  constexpr std::array<std::string_view, 4> kSpaces = {"", "shared memory", "local memory",
                                                       "what malloc returns"};
  const auto bytes_of_array = [&] {
    const auto first = static_cast<std::uint64_t>(cause.byte);
    const GlobalMemory::Range& range = *memory.find(first, 1);
    return range.part(first - range.address, static_cast<std::uint64_t>(cause.last - cause.byte) + 1);
  };
  const bool is_one = cause.byte == cause.last;
  switch (cause.from) {
    case From::reg:
      return {cause.name + " has never been written", "it", "it must have a value before this {}"};
    case From::discarded:
      return {
          fmt::format("{} {} been discarded, and not written since", bytes_of_array(), is_one ? "has" : "have"),
          is_one ? "it" : "them", "discard.L2 leaves bytes without a value: write them before this {}"};
    case From::lane:
      return {"a lane reads one that is not active, or that its mask does not name",
              "what it gets, which is undefined",
              "it must read a lane that executes the statement with it and that its mask names"};
    case From::stored:
      return {"a register without a value is stored", "it", "the register must have a value before this {}"};
    case From::tensor:
      return {"columns of tensor memory have never been written", "them",
              "they must be written before this {}"};
    case From::failed:
      return {"the request has failed, so its response has no ctaid", "it",
              "execute this only where query_cancel.is_canceled of the response is true"};
    case From::converted:
      return {cause.name + " is converted", "what it becomes, which is undefined",
              "a pointer to other memory takes ld, st and the like without a space"};
    default: break;
  }
  const std::string bytes = cause.from == From::array
                                ? bytes_of_array()
                                : fmt::format("{} of {}", block::bytes_text(cause.byte, cause.last),
                                              kSpaces[static_cast<std::size_t>(cause.from)]);
  return {fmt::format("{} {} never been written", bytes, is_one ? "has" : "have"), is_one ? "it" : "them",
          is_one ? "it must be written before this {}" : "they must be written before this {}"};
}

// `user`: the statement for which the value matters; `loads`: the one that gets it.
Error error_of(const Undefined::Cause& cause, const GlobalMemory& memory, const std::string& name,
               const ptx::Statement& user, const ptx::Statement& loads) {
  if (cause.statement < 0)
    return {Errc::never_written,
            {},
            fmt::format("{} has never been written", name),
            "it must have a value before this statement"};
  const Missing what = missing(cause, memory);
  const bool may_be_anothers = cause.from == From::local && loads.text.find(".local") == loads.text.npos;
  return {
      Errc::never_written,
      {},
      fmt::format("{}, and {} at PTX line {} depends on {}", what.seen, name, user.position.line, what.it),
      fmt::format(fmt::runtime(what.accepted), loads.opcode) +
          (may_be_anothers ? ", by the same thread (a local address is another place in each thread)" : "")};
}

}  // namespace

Fault Undefined::fault_of(const Path& path, const Step& step, const Place& place, Lanes lanes) {
  const Program& program = warp_.program();
  const std::string name = name_of(path, place);
  const Cause& cause = causes_[cause_of(path, place)];
  if (cause.is_of_race()) return cause.race ? *cause.race : *cause.early->race;
  const ptx::Statement& user = statement_of(program, step);
  const ptx::Statement& loads =
      cause.statement < 0 ? user : statement_of(origin_at(program, Block::place(cause.statement)));
  Fault out = block::fault_of(Block::who(warp_, step, 0),
                              error_of(cause, warp_.block().grid().memory, name, user, loads),
                              KernelRule::never_written);
  out.lanes = block::lanes_of(lanes);
  if (cause.from == From::shared) out.address = {Space::shared, cause.byte};
  if (cause.statement >= 0) {
    out.other = static_cast<FaultSide&>(out);  // the load is the mistake, its user only shows it
    out.other->what = fmt::format("uses {}", name);
    out.warp = cause.warp;
    out.at = Block::place(cause.statement);
    out.lanes = block::lanes_of(cause.lanes);
  }
  return out;
}

bool Undefined::fault(const Path& path, const Step& step, const Place& place, Lanes lanes) {
  EarlyRead* const early = causes_[cause_of(path, place)].early.get();
  if (early != nullptr) early->used = true;
  const bool is_no_race = early != nullptr && early->race == nullptr;
  if (!is_no_race && !warp_.block().allows(fault_of(path, step, place, lanes))) return false;
  take(path, place, lanes, {});
  return true;
}

// Whether some step stores elements of so many bytes to the variable.
bool Undefined::has_words(const Cause& cause) {
  const auto [at, is_new] = has_words_.try_emplace({cause.variable, cause.element});
  if (is_new)
    at->second = std::ranges::any_of(warp_.program().steps, [&](const Step& step) {
      return does(warp_.program(), step) == ptx::Does::store && step.access.variable == cause.variable &&
             step.access.bytes >= cause.element;
    });
  return at->second;
}

bool Undefined::is_padded(const Path& path, const Place& place, Lanes lanes, std::size_t bytes) {
  const Cause& cause = causes_[cause_of(path, place)];
  if (cause.is_of_race() || cause.element != bytes || bytes > sizeof(std::uint64_t)) return false;
  const std::uint64_t mask = ones(static_cast<int>(8 * bytes));
  bool out = true;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t defined = mask & ~read(path, place, lane);
    out = out && defined != 0 && (defined & (defined + 1)) == 0 && std::bit_width(defined) % 8 == 0;
  });
  return out && has_words(cause);
}

bool Undefined::stores(const Path& path, const Step& step, const Place& place, Lanes lanes, std::size_t bytes,
                       bool is_part) {
  const bool is_padding = is_padded(path, place, lanes, bytes);
  if (!is_padding && (!is_part || causes_[cause_of(path, place)].is_of_race()))
    return fault(path, step, place, lanes);
  Fault found = fault_of(path, step, place, lanes);
  found.rule = is_padding ? KernelRule::padding_stored : KernelRule::undefined_part_sent;
  found.error.accepted = (is_padding ? "they may be padding of a struct; else "
                                     : "a flag in the same store may tell who reads it to leave that; else ") +
                         found.error.accepted;
  return warp_.block().allows(std::move(found));
}

}  // namespace warpbit::grid
