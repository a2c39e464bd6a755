// SPDX-License-Identifier: Apache-2.0
#include "block/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "api/checks.hpp"

namespace warpbit::block {
namespace {

std::uint32_t bit(int lane) {
  return std::uint32_t{1} << lane;
}

std::string place(const Place& at) {
  return fmt::format("{}:{}", at.file, at.line);
}

}  // namespace

Meeting::Meeting(int threads, Shared& shared, Execute execute)
    : threads_(static_cast<std::size_t>(threads)), shared_(shared), execute_(std::move(execute)) {}

bool Meeting::any_can_run() const {
  return std::ranges::any_of(threads_, [](const Thread& t) { return t.state == State::ready; });
}

bool Meeting::all_have_ended() const {
  return std::ranges::all_of(threads_, [](const Thread& t) { return t.state == State::ended; });
}

bool Meeting::waits_elsewhere() const {
  return std::ranges::any_of(threads_, [](const Thread& t) { return t.waits_elsewhere(); });
}

bool Meeting::look_again(bool in_vain) {
  bool any = false;
  for (Thread& t : threads_) {
    if (!t.waits() || !t.request->is_elsewhere() || (in_vain && t.request->kind != Request::Kind::phase))
      continue;
    t.request->in_vain = in_vain;
    t.state = State::ready;
    any = true;
  }
  return any;
}

void Meeting::wait(int i, Request& request) {
  thread(i) = {State::waits, &request, request.at};
}

void Meeting::stick(int i, Fault fault) {
  if (!stuck_) stuck_ = std::move(fault);
  thread(i).state = State::stuck;
}

bool Meeting::pass_barrier() {
  if (!fault_) check_warpgroups();
  if (!fault_) check_barrier();
  if (fault_) return false;
  shared_.barrier();
  for (Thread& t : threads_)
    if (t.state != State::ended) t.state = State::ready;
  return true;
}

void Meeting::go_on(int warp, std::uint32_t lanes) {
  for (int i = 0; i < kWarp; ++i)
    if ((lanes & bit(i)) != 0) lane(warp, i).state = State::ready;
}

bool Meeting::meet(int warp) {
  if (waiting(warp) == 0) return false;
  if (meet_masked(warp) || meet_instruction(warp)) return !fault_;
  if (fault_ || lanes_that(warp, [](const Thread& t) { return t.state == State::stuck; }) != 0) return false;
  if (meet_active_mask(warp)) return true;
  if (lanes_that(warp, [](const Thread& t) { return t.waits_elsewhere(); }) != 0) return false;
  diagnose(warp);
  return false;
}

// CUDA C++ Programming Guide, "Warp Vote Functions", "Warp Shuffle Functions", "__syncwarp": all lanes in the
// mask that have not ended must execute the same call with the same mask.
bool Meeting::meet_masked(int warp) {
  bool progress = false;
  const std::uint32_t live = lanes_that(warp, [](const Thread& t) { return t.state != State::ended; });
  for (int i = 0; i < kWarp && !fault_; ++i) {
    if ((live & bit(i)) == 0 || !lane(warp, i).waits()) continue;
    const Request& first = *lane(warp, i).request;
    if (!first.is_masked()) continue;
    if ((first.mask & bit(i)) == 0) {
      fault_ =
          fault_of(who(warp * kWarp + i, first.at),
                   {Errc::inactive_lane, std::string(first.name),
                    fmt::format("its mask {:#010x} does not name lane {}, which executes it", first.mask, i),
                    "the mask must name every lane that executes it"});
      return false;
    }
    const std::uint32_t here = waiting(warp, [&](const Request& x) { return x.is_same(first); });
    const std::uint32_t wanted = first.mask & live;
    if ((here & wanted) != wanted) continue;
    if (first.kind == Request::Kind::shuffle) fault_ = shuffle(warp, wanted);
    if (first.kind == Request::Kind::vote) vote(warp, wanted);
    if (first.kind == Request::Kind::sync_warp) shared_.sync_warp(warp, wanted);
    shared_.order().meet(shared_.first_warp() + warp, wanted);
    go_on(warp, wanted);
    progress = true;
  }
  return progress;
}

void Meeting::vote(int warp, std::uint32_t lanes) {
  std::uint64_t ballot = 0;
  for (const int i : lanes_of(lanes)) ballot |= lane(warp, i).request->value != 0 ? bit(i) : 0;
  for (const int i : lanes_of(lanes)) lane(warp, i).request->value = ballot;
}

// PTX manual, "shfl.sync": a lane reads another lane of its segment of `width` lanes, or itself if that lane
// does not exist.
Found Meeting::shuffle(int warp, std::uint32_t lanes) {
  std::array<std::uint64_t, kWarp> values{};
  for (const int i : lanes_of(lanes)) values[static_cast<std::size_t>(i)] = lane(warp, i).request->value;
  for (const int i : lanes_of(lanes)) {
    Request& r = *lane(warp, i).request;
    const auto fault = [&](Errc code, std::string seen, std::string accepted) {
      return fault_of(who(warp * kWarp + i, r.at),
                      {code, std::string(r.name), std::move(seen), std::move(accepted)});
    };
    if (r.width < 1 || r.width > kWarp || !std::has_single_bit(static_cast<unsigned>(r.width)))
      return fault(Errc::undefined_operand, fmt::format("width {}", r.width), "1, 2, 4, 8, 16 or 32");
    const int first = i & ~(r.width - 1), operand = r.operand & (kWarp - 1);
    int from = i;
    switch (r.how) {
      case Shuffle::index: from = first + (operand & (r.width - 1)); break;
      case Shuffle::up: from = i - operand < first ? i : i - operand; break;
      case Shuffle::down: from = i + operand >= first + r.width ? i : i + operand; break;
      case Shuffle::exclusive_or: from = (i ^ operand) >= first + r.width ? i : i ^ operand; break;
    }
    if ((lanes & bit(from)) == 0) {
      Fault out = fault(Errc::inactive_lane, fmt::format("lane {} reads lane {}, which takes no part", i, from),
                        fmt::format("a lane that executes it: {}", ranges(lanes_of(lanes))));
      if (warp * kWarp + from < threads()) {
        out.other = side(warp, {from}, lane(warp, from).last);
        out.other->what = "its last place";
      }
      return out;
    }
    r.value = values[static_cast<std::size_t>(from)];
  }
  return std::nullopt;
}

bool Meeting::meet_active_mask(int warp) {
  const auto asks = [](const Request& r) { return r.kind == Request::Kind::active_mask; };
  const std::uint32_t all = waiting(warp, asks);
  if (all == 0) return false;
  const Place at = lane(warp, std::countr_zero(all)).request->at;
  const std::uint32_t lanes = waiting(warp, [&](const Request& r) { return asks(r) && r.at == at; });
  for (const int i : lanes_of(lanes)) lane(warp, i).request->value = lanes;
  go_on(warp, lanes);
  return true;
}

bool Meeting::meet_instruction(int warp) {
  if (!lane(warp, 0).waits() || !lane(warp, 0).request->is_instruction()) return false;
  const bool grouped = lane(warp, 0).request->kind == Request::Kind::of_warpgroup;
  const int count = grouped ? kWarpgroup : kWarp, first = warp * kWarp / count * count;
  if (first + count > threads() || !thread(first).waits()) return false;
  const Request& wanted = request(first);
  const auto lanes =
      std::span(threads_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  if (!std::ranges::all_of(lanes, [&](const Thread& t) { return t.waits_like(wanted); })) return false;
  Found fault = execute_(first);
  const bool stuck = fault && fault->error.code == Errc::never_written;
  for (Thread& t : lanes) t.state = stuck ? State::stuck : State::ready;
  if (stuck && !stuck_) stuck_ = std::move(fault);
  if (!stuck) fault_ = std::move(fault);
  return !stuck && !fault_;
}

// ---- Deadlocks

// The fault if the others of `first` execute something else, as `one` of them, or nothing any more.
Fault Meeting::unmet(int first, const Thread* one, std::string_view here, std::string_view others,
                     std::string must) const {
  const Request& r = request(first);
  const bool barrier =
      r.kind == Request::Kind::barrier || (one != nullptr && one->request->kind == Request::Kind::barrier);
  const Errc code = one == nullptr ? Errc::lanes_missing
                    : barrier      ? Errc::threads_diverge
                                   : Errc::lanes_disagree;
  return fault_of(who(first, r.at), {code, std::string(r.form()),
                                     fmt::format("executed by {}, but {}", here, others), std::move(must)});
}

// The fault if `wanted` lanes do not execute the instruction that lane `first` waits for.
Fault Meeting::missing(int warp, int first, std::uint32_t wanted) {
  const Request& r = *lane(warp, first).request;
  const std::uint32_t here = waiting(warp, [&](const Request& x) { return x.is_same(r); });
  std::uint32_t away = wanted & ~here;
  const std::uint32_t waits = away & waiting(warp);
  const Thread* const one = waits == 0 ? nullptr : &lane(warp, std::countr_zero(waits));
  if (one != nullptr) away &= waiting(warp, [&](const Request& x) { return x.is_same(*one->request); });
  const int absent = std::countr_zero(away);
  Fault out = unmet(
      warp * kWarp + first, one, lanes_text(here),
      one != nullptr ? fmt::format("{} by {}", one->request->form(), lanes_text(away))
                     : fmt::format("{} {} ended", lanes_text(away), std::has_single_bit(away) ? "has" : "have"),
      r.is_masked() ? fmt::format("all lanes of the mask {:#010x} must execute it", r.mask)
                    : fmt::format("all lanes of the {} must execute it, at one place",
                                  r.kind == Request::Kind::of_warpgroup ? "warpgroup" : "warp"));
  out.lanes = lanes_of(away);
  if (one != nullptr || warp * kWarp + absent < threads()) {
    out.other = side(warp, out.lanes, one != nullptr ? one->request->at : lane(warp, absent).last);
    out.other->what = one != nullptr ? "they wait" : "their last place";
  }
  return out;
}

// Finds the fault when all lanes wait or have ended and no request can be fulfilled, unless all wait at one
// barrier.
void Meeting::diagnose(int warp) {
  const std::uint32_t live = waiting(warp);
  // Report the widest rendezvous first: warp instruction, masked operation, barrier.
  for (const std::uint32_t lanes : {waiting(warp, [](const Request& r) { return r.is_instruction(); }),
                                    waiting(warp, [](const Request& r) { return r.is_masked(); }), live}) {
    if (lanes == 0) continue;
    const int first = std::countr_zero(lanes);
    const Request& r = *lane(warp, first).request;
    const std::uint32_t wanted = r.is_instruction() ? kAllLanes : r.is_masked() ? r.mask & live : live;
    if ((wanted & ~waiting(warp, [&](const Request& x) { return x.is_same(r); })) == 0) continue;
    fault_ = missing(warp, first, wanted);
    return;
  }
}

// The fault if `first` waits for a warpgroup instruction that `warp` does not execute.
Fault Meeting::missing_warp(int first, int warp) {
  const Request& r = request(first);
  std::vector<int> here;
  const int first_warp = first / kWarpgroup * kGroupWarps;
  for (int w = first_warp; w < first_warp + kGroupWarps; ++w)
    if (waiting(w, [&](const Request& x) { return x.is_same(r); }) != 0) here.push_back(w);
  const bool exists = warp * kWarp < threads();
  const std::uint32_t waits = waiting(warp);
  const Thread* const one = waits == 0 ? nullptr : &lane(warp, std::countr_zero(waits));
  Fault out = unmet(first, one, fmt::format("{} {}", here.size() == 1 ? "warp" : "warps", ranges(here)),
                    !exists          ? fmt::format("there is no warp {}", warp)
                    : one == nullptr ? fmt::format("warp {} has ended", warp)
                                     : fmt::format("{} by warp {}", one->request->form(), warp),
                    "all four warps of the warpgroup must execute it, at one place");
  if (!exists) return out;
  out.lanes = lanes_of(one == nullptr ? kAllLanes : waits);
  out.other = side(warp, out.lanes, one == nullptr ? lane(warp, 0).last : one->request->at);
  out.other->what = one == nullptr ? "their last place" : "they wait";
  return out;
}

// Called when no thread can proceed: finds a warpgroup whose instruction cannot complete.
void Meeting::check_warpgroups() {
  for (int i = 0; i < threads(); ++i) {
    if (!thread(i).waits() || request(i).kind != Request::Kind::of_warpgroup) continue;
    const int first_warp = i / kWarpgroup * kGroupWarps;
    for (int warp = first_warp; warp < first_warp + kGroupWarps; ++warp) {
      if (waiting(warp, [&](const Request& x) { return x.is_same(request(i)); }) != 0) continue;
      fault_ = missing_warp(i, warp);
      return;
    }
  }
}

// CUDA C++ Programming Guide, "Synchronization Functions": a condition around __syncthreads must be the same
// for all threads of the block.
void Meeting::check_barrier() {
  const Thread* first = nullptr;
  for (int i = 0; i < threads(); ++i) {
    const Thread& t = thread(i);
    if (!t.waits()) continue;
    if (first == nullptr) first = &t;
    if (t.request->at == first->request->at) continue;
    const auto one = static_cast<int>(first - threads_.data());
    Fault out = fault_of(who(i, t.request->at),
                         {Errc::threads_diverge, std::string(t.request->name),
                          fmt::format("warp {} waits at {}, warp {} at {}", one / kWarp,
                                      place(first->request->at), i / kWarp, place(t.request->at)),
                          "all threads of a block must wait at the same place"});
    out.other = side(one / kWarp, {one % kWarp}, first->request->at);
    out.other->what = "it waits";
    fault_ = std::move(out);
    return;
  }
}

}  // namespace warpbit::block
