// SPDX-License-Identifier: Apache-2.0
// What is told of barrier objects.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/checks.hpp"
#include "block/mbarrier.hpp"

namespace warpbit::block {

FaultSide Mbarriers::made_by(std::int64_t address, const Object& object) const {
  return side_of(object.made, fmt::format("initialises {} for {} arrival{}", name(address), object.expected,
                                          object.expected == 1 ? "" : "s"));
}

Fault Mbarriers::reused(std::int64_t address, const Object& object, Who by) const {
  return *misused(
      {}, address,
      fmt::format("it overwrites {}, and no mbarrier.inval came between mbarrier.init and this statement",
                  name(address)),
      "execute mbarrier.inval before the bytes become data, or store the data elsewhere", by, &object,
      KernelRule::mbarrier_becomes_data);
}

std::vector<Fault> Mbarriers::overwritten() const {
  std::vector<Fault> out;
  for (const auto& [address, object] : objects_)
    if (const std::optional<Who> by =
            object.overwritten || !object.used ? std::nullopt : overwriter(address, object))
      out.push_back(reused(address, object, *by));
  return out;
}

std::vector<Fault> Mbarriers::early_arrivals() const {
  std::vector<Fault> out;
  for (const auto& [address, object] : objects_) {
    const std::int64_t phase = object.phase;
    if (!object.early || object.early->phase != phase || object.awaited != phase || object.bytes != 0) continue;
    const Who who = object.early->who;
    out.push_back(*misused(
        {}, address,
        fmt::format(
            "phase {} of {} has had {} of {} arrivals when the block ends, and nothing orders the end of "
            "phase {} before this arrival, which may count there instead of another thread's",
            phase, name(address), arrived(object), object.expected, phase - 1),
        fmt::format(
            "mbarrier.init must count all arrivals of a phase (it counts {}), or a wait must come before a "
            "thread arrives again",
            object.expected),
        who, &object, KernelRule::mbarrier_arrival_early));
    for (const Arrived& one : object.arrived)
      if (one.who.thread == who.thread && one.phase == phase - 1)
        out.back().related.push_back(side_of(one.who, fmt::format("arrives in phase {}", one.phase)));
  }
  return out;
}

// Bytes of a copy that was issued in an earlier phase.
Fault Mbarriers::too_late(std::int64_t address, const Object& object, std::uint32_t bytes, std::int64_t phase,
                          Who who) const {
  Fault out = *misused(
      {}, address,
      fmt::format("this copy was issued in {}, and the phase was complete without its {} bytes{}",
                  phase_text(address, phase), bytes,
                  phase + 1 == object.phase
                      ? fmt::format(" (mbarrier.expect_tx had counted {})", object.came_before)
                      : ""),
      fmt::format("mbarrier.expect_tx must count these {} bytes no later than the last arrival of phase {}{}",
                  bytes, phase, object.expects ? fmt::format(", and not in phase {}", object.phase) : ""),
      who, &object, KernelRule::mbarrier_bytes_late);
  const auto last = std::find_if(object.arrived.rbegin(), object.arrived.rend(),
                                 [&](const Arrived& one) { return one.phase == phase; });
  if (last != object.arrived.rend())
    out.other = side_of(last->who, fmt::format("the last arrival of phase {}", phase));
  if (object.expects)
    out.related.push_back(side_of(*object.expects, fmt::format("expects bytes in phase {}", object.phase)));
  return out;
}

namespace {

std::string all_arrivals(std::uint32_t count) {
  return count == 1 ? "its 1 arrival" : fmt::format("all of its {} arrivals", count);
}

}  // namespace

// Lanes that arrive by one statement mostly do so by mistake. Each of them expects bytes, if the statement does: a larger count
// would wait for these.
Fault Mbarriers::too_many(std::int64_t address, const Object& object, const MbarrierArrival& arrival,
                          std::string_view what, Who who) const {
  const Who* const last = object.arrived.empty() ? nullptr : &object.arrived.back().who;
  const bool by_one_statement = last != nullptr && last->at == who.at && last->thread != who.thread;
  const auto is_own = [&](const Arrived& one) {
    return one.phase == object.phase && one.who.thread == who.thread;
  };
  const bool again = std::ranges::any_of(object.arrived, is_own);
  const std::int64_t awaited = object.bytes - std::int64_t{arrival.expected};
  const std::uint32_t more = arrival.count - object.pending;
  const std::string brings = more == 1 && arrival.count == 1
                                 ? "this arrival is one too many"
                                 : fmt::format("this statement brings {}, {} too many", arrival.count, more);
  const std::string had =
      object.pending != 0 ? fmt::format("{} of its {} arrivals, and", arrived(object), object.expected)
      : awaited > 0
          ? fmt::format("{} and still waits for {} bytes, so", all_arrivals(object.expected), awaited)
          : fmt::format("{} and {} bytes more than were expected, so", all_arrivals(object.expected), -awaited);
  Fault out = *misused(
      what, address, fmt::format("phase {} of {} has had {} {}", object.phase, name(address, who), had, brings),
      !by_one_statement
          ? fmt::format("{}, or mbarrier.init must count all arrivals of a phase",
                        again ? "this thread must wait for the end of the phase before it arrives again"
                              : "fewer arrivals must come")
      : arrival.expected != 0
          ? "one thread must execute this statement and expect the bytes of all copies of the phase, or "
            "mbarrier.init must count all threads that execute it"
          : "one thread must execute this statement, or mbarrier.init must count all threads that do",
      who, &object);
  if (last != nullptr) {
    out.other = side_of(*last, fmt::format("the latest arrival at {}", name(address)));
    out.related.push_back(made_by(address, object));
  }
  return out;
}

// In a phase in which nobody arrives, by a thread that has not waited for the one before.
std::optional<Cause> Mbarriers::expected_late(std::int64_t address, const Object& object) const {
  if (!object.expects || !object.expects_early || arrived(object) != 0) return std::nullopt;
  return Cause{
      *object.expects,
      fmt::format("{} expects bytes in phase {}, behind the last arrival of phase {}, and nobody has "
                  "arrived in phase {}",
                  name(address), object.phase, object.phase - 1, object.phase),
      fmt::format("mbarrier.expect_tx must come before the last arrival of phase {}", object.phase - 1),
      fmt::format("expects bytes in phase {}", object.phase)};
}

std::optional<Cause> Mbarriers::cause_of_copy(Place copy) const {
  for (const auto& [address, object] : objects_)
    if (object.copied && object.copied->phase == object.phase && object.copied->who.at == copy)
      if (auto cause = expected_late(address, object)) return cause;
  return std::nullopt;
}

// Other bytes are expected than come.
std::optional<Cause> Mbarriers::cause_of_bytes(std::int64_t address, const Object& object) const {
  if (auto late = expected_late(address, object)) return late;
  const std::int64_t expected = object.came + object.bytes;
  if ((object.pending == 0 && object.bytes > 0) || (object.bytes < 0 && expected > 0)) {
    if (!object.expects) return std::nullopt;
    return Cause{*object.expects,
                 fmt::format("{} expects {} bytes in phase {}, and {} have come", name(address), expected,
                             object.phase, object.came),
                 object.bytes > 0 ? "copies that count their bytes there must bring as many as are expected"
                                  : "mbarrier.expect_tx must count the bytes of all copies of a phase",
                 fmt::format("expects bytes in phase {}", object.phase)};
  }
  if (object.bytes >= 0 || !object.copied || object.copied->phase != object.phase) return std::nullopt;
  return Cause{object.copied->who,
               fmt::format("{} bytes have come to {} in phase {}, and nobody expects any", object.came,
                           name(address), object.phase),
               "mbarrier.expect_tx must count the bytes of all copies of a phase", "issues a copy"};
}

// Arrivals that have completed phases without the warp, since its last wait; 0: it has missed none, or a few threads arrive in turn.
std::uint64_t Mbarriers::missed(const Object& object, int warp) const {
  const auto seen = object.seen.find(warp);
  const Seen before = seen == object.seen.end() ? Seen{-1, 0} : seen->second;
  std::set<int> threads;
  for (const Arrived& one : object.arrived) threads.insert(one.who.thread);
  const bool has_missed = object.phase - 1 - before.phase > 1 && threads.size() > object.expected;
  return has_missed ? object.arrivals - before.arrivals : 0;
}

std::uint32_t Mbarriers::lacks(std::int64_t address) const {
  const auto found = objects_.find(address);
  if (found == objects_.end() || found->second.bytes > 0 || arrived(found->second) == 0) return 0;
  return found->second.pending;
}

bool Mbarriers::owes(std::int64_t address, int thread) const {
  const Object& object = objects_.at(address);
  const auto is_its = [&](const Arrived& one) { return one.who.thread == thread; };
  const auto is_new = [&](const Arrived& one) { return is_its(one) && one.phase == object.phase; };
  return !object.dropped.contains(thread) && std::ranges::none_of(object.arrived, is_new) &&
         (object.phase == 0 || std::ranges::any_of(object.arrived, is_its));
}

// Other arrivals come than the object counts.
std::optional<Cause> Mbarriers::cause_of_count(std::int64_t address, const Object& object, int warp) const {
  if (object.bytes > 0) return std::nullopt;
  const std::uint32_t come = arrived(object);
  const std::string made = fmt::format("{} was initialised for {} arrival{}", name(address), object.expected,
                                       object.expected == 1 ? "" : "s");
  if (object.pending != 0 && object.raises)
    return Cause{
        *object.raises,
        fmt::format("{}, and {} ha{} come: each of the {} by cp.async.mbarrier.arrive raised the count by one "
                    "before it arrived",
                    made, come, come == 1 ? "s" : "ve", object.raised),
        "cp.async.mbarrier.arrive must be .noinc if mbarrier.init counts it, or other arrivals must come",
        fmt::format("raises the count of {} by one, and arrives", name(address))};
  if (object.pending != 0 && come != 0 && object.phase == 0)
    return Cause{object.made, fmt::format("{}, and {} ha{} come", made, come, come == 1 ? "s" : "ve"),
                 "as many arrivals must come as mbarrier.init counts, or it must count fewer",
                 made_by(address, object).what};
  if (const std::uint64_t all = missed(object, warp); all != 0)
    return Cause{
        object.made,
        fmt::format("{}, and {} have come since warp {} last waited there, so it has missed phases", made, all,
                    warp % (shared_.cluster().stride() / kWarp)),
        "mbarrier.init must count all arrivals of a phase, or some of them must go to another mbarrier",
        made_by(address, object).what};
  return std::nullopt;
}

std::optional<Cause> Mbarriers::cause(std::int64_t address, int warp) const {
  const auto found = objects_.find(address);
  if (found == objects_.end()) return std::nullopt;
  const std::optional<Cause> bytes = cause_of_bytes(address, found->second);
  return bytes ? bytes : cause_of_count(address, found->second, warp);
}

std::string Mbarriers::miscounted(int warp, int thread) const {
  const auto last = waited(warp);
  const auto found = last ? objects_.find(last->address) : objects_.end();
  if (found == objects_.end()) return {};
  const Object& object = found->second;
  const auto one =
      std::ranges::find_if(object.arrived, [&](const Arrived& a) { return a.who.thread == thread; });
  if (one == object.arrived.end()) return {};
  const auto threads =
      std::ranges::count_if(object.arrived, [&](const Arrived& a) { return a.who.at == one->who.at; });
  if (threads <= std::int64_t{object.expected}) return {};
  return fmt::format(
      "mbarrier.init of {} must count the {} threads that arrive there by one statement (it counts {})",
      name(last->address), threads, object.expected);
}

// More arrive than the object counts, since one of the threads does so by several statements.
std::vector<Who> Mbarriers::arrives_again(const Object& object) {
  std::map<int, std::vector<Who>> by;
  for (const Arrived& one : object.arrived) by[one.who.thread].push_back(one.who);
  const auto is_again = [](const auto& one) { return one.second.size() > 1; };
  const auto again = std::ranges::find_if(by, is_again);
  const bool is_of_some = object.early && again != by.end() && !std::ranges::all_of(by, is_again);
  return is_of_some && object.arrived.size() > object.expected ? again->second : std::vector<Who>();
}

std::vector<Mbarriers::NotMet> Mbarriers::not_met(int warp, int other) const {
  std::vector<NotMet> out;
  for (const auto& [address, object] : objects_) {
    const auto seen = object.seen.find(warp);
    for (const Arrived& one : object.arrived) {
      if (one.who.thread / kWarp != warp) continue;
      const bool has_waited = seen != object.seen.end() && seen->second.phase >= one.phase;
      const auto is_others = [&, phase = one.phase](const Arrived& arrival) {
        return arrival.who.thread / kWarp == other && arrival.phase >= phase;
      };
      if (!has_waited || std::ranges::none_of(object.arrived, is_others))
        out.push_back({one.who, name(address), object.expected, has_waited, object.arrived.size(),
                       arrives_again(object)});
    }
  }
  return out;
}

std::string Mbarriers::in_use(std::int64_t address, const Object& object) const {
  return fmt::format("{} is in use (phase {} has had {})", name(address), object.phase, progress(object));
}

std::string Mbarriers::phase_text(std::int64_t address, std::int64_t phase) const {
  return fmt::format("phase {} (parity {}) of {}", phase, phase & 1, name(address));
}

std::vector<FaultSide> Mbarriers::places(std::int64_t address) const {
  std::vector<FaultSide> out;
  const auto found = objects_.find(address);
  if (found == objects_.end()) return out;
  const Object& object = found->second;
  out.push_back(made_by(address, object));
  if (!object.arrived.empty()) {
    const Who last = object.arrived.back().who;
    const bool raises = object.raises && object.raises->at == last.at;
    out.push_back(side_of(last, fmt::format("the latest arrival at {}{}", name(address),
                                            raises ? ", which raised its count" : "")));
  }
  return out;
}

// "warp 2, lanes 0-31", and the blocks of others.
std::string Mbarriers::names(const std::vector<int>& threads) const {
  const Cluster& cluster = shared_.cluster();
  std::map<std::pair<int, int>, std::vector<int>> lanes;  // by block and warp
  for (const int thread : threads) {
    const int rank = cluster.rank_of(thread);
    lanes[{rank, (thread - rank * cluster.stride()) / kWarp}].push_back(thread % kWarp);
  }
  std::string out;
  for (auto& [of, all] : lanes) {
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    out += fmt::format("{}warp {}{}, {} {}", out.empty() ? "" : ", and ", of.second,
                       of.first == shared_.rank() ? "" : fmt::format(" of block {} of the cluster", of.first),
                       all.size() == 1 ? "lane" : "lanes", ranges(all));
  }
  return out;
}

std::string Mbarriers::phase_text(std::int64_t address) const {
  const auto found = objects_.find(address);
  return found == objects_.end() ? "" : phase_text(address, found->second.phase);
}

// Threads that arrived in earlier phases, and not in this one.
std::string Mbarriers::absent(const Object& object) const {
  std::vector<int> missing;
  for (const Arrived& one : object.arrived)
    if (one.phase < object.phase && object.pending != 0) missing.push_back(one.who.thread);
  return names(missing);
}

std::vector<Mbarriers::Shown> Mbarriers::all() const {
  std::vector<Shown> out;
  for (const auto& [address, one] : objects_)
    out.push_back({address, one.phase, one.expected, one.pending, one.came, one.bytes, absent(one)});
  return out;
}

std::string Mbarriers::progress(const Object& object) const {
  std::string out = fmt::format("{} of {} arrivals", arrived(object), object.expected);
  if (object.bytes > 0)
    out += fmt::format(", {} of {} bytes have come", object.came, object.came + object.bytes);
  else if (object.bytes < 0)
    out += fmt::format(", {} bytes have come, {} more than expected", object.came, -object.bytes);
  if (object.raised != 0)
    out +=
        fmt::format(" (without {} by cp.async.mbarrier.arrive, each of which raised the count by one before)",
                    object.raised);
  if (const std::string missing = absent(object); !missing.empty())
    out += "; arrived before, and not in this phase: " + missing;
  return out;
}

std::string Mbarriers::left_out(std::int64_t address, int warp) const {
  const auto found = objects_.find(address);
  if (found == objects_.end()) return {};
  const Object& object = found->second;
  const auto seen = object.seen.find(warp);
  if ((seen == object.seen.end() ? -1 : seen->second.phase) >= object.phase - 1) return {};
  return fmt::format("this warp waits for {}, and has not waited for phase {} (parity {}), which is complete",
                     phase_text(address, object.phase), object.phase - 1, (object.phase - 1) & 1);
}

std::string Mbarriers::awaited(std::int64_t address, int warp) const {
  const auto found = objects_.find(address);
  if (found == objects_.end()) return fmt::format("there is no barrier object at {}", shared_.at(address));
  const Object& object = found->second;
  std::string out = fmt::format("phase {} of {}: {}", object.phase, name(address), progress(object));
  const auto seen = object.seen.find(warp);
  const std::int64_t last = object.phase - 1;
  const Seen before = seen == object.seen.end() ? Seen{-1, 0} : seen->second;
  if (warp < 0 || before.phase >= last) return out;
  if (const std::uint64_t all = missed(object, warp); all != 0)
    out += fmt::format("; {} arrivals have come since this warp's last wait there, and its phases take {}", all,
                       object.expected);
  else if (last - before.phase > 1)
    out += fmt::format(
        "; phase {} (parity {}) was complete, and phase {} after it, before this warp waited for it", last - 1,
        (last - 1) & 1, last);
  else
    out +=
        fmt::format("; phase {} (parity {}) is complete, and this warp has not waited for it", last, last & 1);
  return out;
}

}  // namespace warpbit::block
