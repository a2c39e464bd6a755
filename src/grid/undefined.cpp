// SPDX-License-Identifier: Apache-2.0
#include "grid/undefined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "grid/undefined_bits.hpp"

namespace warpbit::grid {

// ---- Registers

void Undefined::begin() {
  active_ = true;
  warp_.reserve_masks(masks_);
  slot_cause_.resize(masks_.slots());
  unknown_.resize(masks_.slots());
  predicate_cause_.resize(masks_.predicates());
}

void Undefined::enter(const Path& path, const FunctionCode& function, Lanes lanes) {
  if (!warp_.block().checks() || (!active_ && function.unwritten.empty())) return;
  begin();
  const auto clear = [&](std::uint32_t* mask) { for_each_lane(lanes, [&](int lane) { mask[lane] = 0; }); };
  for (int i = 0; i < function.slots; ++i) clear(masks_.slot(path.frame + static_cast<std::uint32_t>(i)));
  for (int i = 0; i < function.predicates; ++i)
    masks_.predicate(path.predicates + static_cast<std::uint32_t>(i)) &= ~lanes;
  LaneBits all;
  all.fill(~std::uint64_t{0});
  for (const Place& place : function.unwritten) {
    take(path, place, lanes, all);
    cause_of(path, place) = 0;
  }
}

std::uint64_t Undefined::read(const Path& path, const Place& place, int lane) {
  if (place.kind == Place::Kind::none || place.kind == Place::Kind::constant) return 0;
  if (place.kind == Place::Kind::predicate) return masks_.predicate(path.predicates + place.slot) >> lane & 1;
  return lane_bits(masks_.slot(path.frame + place.slot), place.bits, lane);
}

void Undefined::write(const Path& path, const Place& place, int lane, std::uint64_t bits) {
  if (place.kind == Place::Kind::none) return;
  if (place.kind == Place::Kind::predicate) {
    std::uint32_t& to = masks_.predicate(path.predicates + place.slot);
    to = (to & ~(Lanes{1} << lane)) | (bits != 0 ? Lanes{1} << lane : 0);
    return;
  }
  set_lane_bits(masks_.slot(path.frame + place.slot), place.bits, lane, bits);
  if (bits != 0) unknown_[path.frame + place.slot][static_cast<std::size_t>(lane)] = ++unknowns_;
}

std::uint64_t Undefined::unknown(const Path& path, const Place& place, int lane) {
  if (place.kind != Place::Kind::reg || place.bits > 64 || read(path, place, lane) == 0) return 0;
  return unknown_[path.frame + place.slot][static_cast<std::size_t>(lane)];
}

namespace {

// A register of 128 bits is two of 64.
template <class F>
void for_each_half(const Place& place, F f) {
  if (place.bits <= 64) return f(place);
  for (const Place& half : halves(place)) f(half);
}

}  // namespace

void Undefined::take(const Path& path, const Place& place, Lanes lanes, const LaneBits& bits) {
  for_each_half(place, [&](const Place& half) {
    for_each_lane(lanes, [&](int lane) { write(path, half, lane, bits[static_cast<std::size_t>(lane)]); });
  });
}

Lanes Undefined::lanes_of(const Path& path, const Place& place, Lanes lanes) {
  Lanes out = 0;
  for_each_half(place, [&](const Place& half) {
    for_each_lane(lanes, [&](int lane) { out |= Lanes{read(path, half, lane) != 0} << lane; });
  });
  return out;
}

// Once no register has undefined bits, nothing is followed any more.
void Undefined::settle() {
  constexpr int kSteps = 64;
  if (++steps_ % kSteps != 0 || !open_.empty()) return;
  const auto has_some = [](std::uint32_t bits) { return bits != 0; };
  for (std::uint32_t i = 0; i < masks_.slots(); ++i)
    if (std::any_of(masks_.slot(i), masks_.slot(i) + kLanes, has_some)) return;
  for (std::uint32_t i = 0; i < masks_.predicates(); ++i)
    if (masks_.predicate(i) != 0) return;
  active_ = false;
}

// ---- Where they come from, and faults

std::uint32_t& Undefined::cause_of(const Path& path, const Place& place) {
  return place.kind == Place::Kind::predicate ? predicate_cause_[path.predicates + place.slot]
                                              : slot_cause_[path.frame + place.slot];
}

std::uint32_t Undefined::number_of(const Cause& cause) {
  const auto is_same = [&](const Cause& one) {
    return one.statement == cause.statement && (one.race == nullptr) == (cause.race == nullptr);
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

namespace {

using From = Undefined::Cause::From;

/// What is missing, what a value that depends on it depends on, and what would be right before a statement of this opcode, {}.
struct Missing {
  std::string seen;
  std::string_view it, accepted;
};

Missing missing(const Undefined::Cause& cause) {
  constexpr std::array<std::string_view, 5> kSpaces = {
      "", "shared memory", "local memory", "what malloc returns", "an array without initial values"};
  switch (cause.from) {
    case From::reg:
      return {cause.name + " has never been written", "it", "it must have a value before this {}"};
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
  const bool is_one = cause.byte == cause.last;
  return {fmt::format("{} of {} {} never been written", block::bytes_text(cause.byte, cause.last),
                      kSpaces[static_cast<std::size_t>(cause.from)], is_one ? "has" : "have"),
          is_one ? "it" : "them",
          is_one ? "it must be written before this {}" : "they must be written before this {}"};
}

// `user`: the statement for which the value matters; `loads`: the one that gets it.
Error error_of(const Undefined::Cause& cause, const std::string& name, const ptx::Statement& user,
               const ptx::Statement& loads) {
  if (cause.statement < 0)
    return {Errc::never_written,
            {},
            fmt::format("{} has never been written", name),
            "it must have a value before this statement"};
  const Missing what = missing(cause);
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
  if (cause.race) return *cause.race;
  const ptx::Statement& user = statement_of(program, step);
  const ptx::Statement& loads =
      cause.statement < 0 ? user : statement_of(origin_at(program, Block::place(cause.statement)));
  Fault out = block::fault_of(Block::who(warp_, step, 0), error_of(cause, name, user, loads),
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
  if (!warp_.block().allows(fault_of(path, step, place, lanes))) return false;
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
  if (cause.race || cause.element != bytes || bytes > sizeof(std::uint64_t)) return false;
  const std::uint64_t mask = ones(static_cast<int>(8 * bytes));
  bool out = true;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t defined = mask & ~read(path, place, lane);
    out = out && defined != 0 && (defined & (defined + 1)) == 0 && std::bit_width(defined) % 8 == 0;
  });
  return out && has_words(cause);
}

bool Undefined::stores(const Path& path, const Step& step, const Place& place, Lanes lanes, std::size_t bytes) {
  if (!is_padded(path, place, lanes, bytes)) return fault(path, step, place, lanes);
  Fault found = fault_of(path, step, place, lanes);
  found.rule = KernelRule::padding_stored;
  found.error.accepted = "they may be padding of a struct; else " + found.error.accepted;
  return warp_.block().allows(std::move(found));
}

// ---- Steps

bool Undefined::check_guard(Path& path, const Step& step, Lanes lanes) {
  const Place guard{Place::Kind::predicate, 1, step.guard_negated, static_cast<std::uint32_t>(step.guard)};
  const Lanes undefined = lanes_of(path, guard, lanes);
  return undefined == 0 || decides(path, guard, undefined) || fault(path, step, guard, undefined);
}

// Whether nothing depends on a value that was read in a race but registers and local memory of these lanes, behind this step or
// where the ways meet that it decides.
bool Undefined::decides(const Path& path, const Place& place, Lanes lanes) {
  const std::uint32_t cause = cause_of(path, place);
  if (!causes_[cause].race) return false;
  auto found = decided_.find(path.pc);
  if (found == decided_.end()) found = decided_.emplace(path.pc, decided_by(warp_.program(), path.pc)).first;
  if (!found->second) return false;
  const Decided* const what = &*found->second;
  const auto is_same = [&](const Open& one) { return one.what == what && one.frame == path.frame; };
  if (const auto open = std::ranges::find_if(open_, is_same); open != open_.end())
    open->lanes |= lanes;
  else
    open_.push_back({what, path.frame, lanes, cause});
  return true;
}

void Undefined::arrive(const Path& path) {
  LaneBits all;
  all.fill(~std::uint64_t{0});
  for (Open& one : open_) {
    const Lanes lanes = one.lanes & path.lanes;
    if (one.what->join != path.pc || one.frame != path.frame || lanes == 0) continue;
    one.lanes &= ~lanes;
    for (const Place& place : one.what->written) {
      take(path, place, lanes, all);
      cause_of(path, place) = one.cause;
    }
    if (one.what->stores) lose_frame(path, lanes, causes_[one.cause]);
  }
  std::erase_if(open_, [](const Open& one) { return one.lanes == 0; });
}

// Nobody knows what local memory has: of this call, and of those that may have passed an address of theirs.
void Undefined::lose_frame(const Path& path, Lanes lanes, const Cause& cause) {
  const std::int64_t bytes =
      path.local + warp_.program().functions[static_cast<std::size_t>(path.function)].local_bytes;
  for_each_lane(lanes, [&](int lane) {
    if (std::byte* const defined = warp_.defined(lane, 0, bytes)) std::fill_n(defined, bytes, std::byte{0});
  });
  local_.store(0, bytes, cause);
}

namespace {

// Addresses in a window have 32 bits, whatever their registers have.
Lanes undefined_lanes(Undefined& of, const Path& path, const Step& step, const Place& place, Lanes lanes) {
  using enum ptx::StateSpace;
  const ptx::StateSpace space = step.access.space;
  const bool is_short = place.bits == 64 && !step.access.generic && place == step.place[2] &&
                        (space == shared || space == local || space == param);
  if (!is_short) return of.lanes_of(path, place, lanes);
  Lanes out = 0;
  for_each_lane(lanes, [&](int lane) {
    out |= Lanes{static_cast<std::uint32_t>(of.read(path, place, lane)) != 0} << lane;
  });
  return out;
}

}  // namespace

bool Undefined::follow(Path& path, const Step& step, Lanes lanes) {
  settle();
  pending_.clear();
  causes_pending_.clear();
  uses_.sources.clear();
  uses_.results.clear();
  const bool is_private = does(warp_.program(), step) == ptx::Does::load &&
                          step.access.space == ptx::StateSpace::local && !step.access.generic;
  const Place* missing = nullptr;
  Place first;
  Lanes without = 0, any = 0;
  for_each_use(warp_.program(), step, [&](const Place& place, Use use, Lanes counted) {
    if (use == Use::result) return uses_.results.push_back(place);
    const Lanes undefined = undefined_lanes(*this, path, step, place, lanes & counted);
    if (undefined == 0) return;
    any |= undefined;
    uses_.sources.push_back(place);
    if (use == Use::matters && missing == nullptr) first = place, missing = &first, without = undefined;
  });
  if (missing != nullptr && !(is_private && decides(path, *missing, without)) &&
      !fault(path, step, *missing, without))
    return false;
  if (any != 0) {
    const std::uint32_t cause = cause_of_results(path, step, any);
    for (const Place& place : uses_.results) causes_pending_.emplace_back(&cause_of(path, place), cause);
  }
  find_results(path, step, lanes, missing == nullptr ? any : 0);
  return true;
}

void Undefined::forget(const Path& path, const Place& place, Lanes lanes) {
  begin();
  commit();
  pending_.clear();
  causes_pending_.clear();
  LaneBits all;
  all.fill(~std::uint64_t{0});
  take(path, place, lanes, all);
  cause_of(path, place) = 0;
}

void Undefined::commit() {
  const Path all;
  for (const Result& one : pending_) {
    take(all, one.place, one.lanes, one.bits);
    for_each_lane(one.lanes, [&](int lane) {
      const auto at = static_cast<std::size_t>(lane);
      if (one.unknown[at] != 0) unknown_[one.place.slot][at] = one.unknown[at];
    });
  }
  for (const auto& [to, cause] : causes_pending_) *to = cause;
}

}  // namespace warpbit::grid
