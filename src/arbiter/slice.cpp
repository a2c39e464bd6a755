// SPDX-License-Identifier: Apache-2.0
#include "arbiter/slice.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "ptx/type.hpp"

namespace warpbit::arbiter {
namespace {

constexpr std::size_t kMaxEvents = 200'000;
// A store of a thread has 32 bytes at most, and lies at a multiple of them.
constexpr std::size_t kWidestStore = 32, kNarrowStore = 4;

std::vector<RegisterValue> values_of(const std::vector<ptx::RegisterValues>& all, int lane) {
  std::vector<RegisterValue> out;
  for (const ptx::RegisterValues& one : all)
    out.push_back({one.name, one.values[static_cast<std::size_t>(lane)]});
  return out;
}

std::optional<std::uint64_t> find_value(const std::vector<RegisterValue>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &RegisterValue::name);
  return found == all.end() ? std::nullopt : std::optional(found->bits);
}

// Calls see(statement, lanes, observation) for what a warp executes, as it is written.
void observe(const Experiment& experiment, const Code& code, const Thread& thread, const auto& see) {
  experiment.run(code.text(), {[&](ptx::Launch& how) {
                   how.as_written = true;
                   how.check_shared = how.check_global = false;
                   how.lenient = true;
                   how.observed_block = thread.block;
                   how.observed_warp = thread.warp;
                   how.observe = [&](const ptx::Observation& seen) {
                     const int site = code.find(seen.line, seen.statement);
                     return site < 0 || see(site, seen);
                   };
                 }});
}

const OperandText* address_operand(const Site& site) {
  const auto found = std::ranges::find(site.parts.operands, OperandText::Kind::address, &OperandText::kind);
  return found == site.parts.operands.end() ? nullptr : &*found;
}

std::uint64_t access_bytes(const Site& site) {
  std::uint64_t count = 1;
  for (const char* const vector : {"v2", "v4", "v8"})
    if (site.has(vector)) count = static_cast<std::uint64_t>(vector[1] - '0');
  return count * static_cast<std::uint64_t>(site.bits()) / 8;
}

/// What is still wanted on the way up, and what has been found.
class Walk {
 public:
  Walk(const Code& code, const Trace& trace) : code_(code), trace_(trace) {}

  /// The events, the last one first, on which `roots` depend.
  std::vector<int> from(const std::set<int>& roots);
  /// Whether loads are among them of bytes that the thread itself has not stored.
  bool needs_others() const { return !cells_.empty(); }

 private:
  bool makes(const Site& site, const Event& event);

  const Code& code_;
  const Trace& trace_;
  std::set<std::string> registers_;
  std::vector<Cell> cells_;
};

bool Walk::makes(const Site& site, const Event& event) {
  bool out =
      std::ranges::any_of(event.skipped, [&](const std::string& one) { return registers_.contains(one); });
  for (const RegisterValue& one : event.results) out = registers_.erase(one.name) > 0 || out;
  if (!is_store(site)) return out;
  const std::optional<Cell> to = accessed(site, event);
  return (to && std::erase_if(cells_, [&](const Cell& cell) { return cell.meets(*to); }) > 0) || out;
}

std::vector<int> Walk::from(const std::set<int>& roots) {
  std::vector<int> out;
  for (int i = static_cast<int>(trace_.events.size()) - 1; i >= 0; --i) {
    const Event& event = trace_.events[static_cast<std::size_t>(i)];
    const Site& site = code_.site(event.site);
    if (!makes(site, event) && !roots.contains(i)) continue;
    out.push_back(i);
    for (const RegisterValue& one : event.sources) registers_.insert(one.name);
    if (is_load(site))
      if (std::optional<Cell> cell = accessed(site, event)) cells_.push_back(*std::move(cell));
  }
  return out;
}

// What other threads may have stored: as they run the same code, what this one stores to shared memory; parameters of calls.
std::set<int> stores_to_others(const Code& code, const Trace& trace) {
  std::set<int> out;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Site& site = code.site(trace.events[i].site);
    const bool passes = std::ranges::any_of(site.parts.qualifiers, [](std::string_view word) {
      return word.starts_with("shared") || word.starts_with("param");
    });
    if (is_store(site) && passes) out.insert(static_cast<int>(i));
  }
  return out;
}

std::set<int> branches(const Code& code, const Trace& trace) {
  std::set<int> out;
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    if (code.site(trace.events[i].site).does() == ptx::Does::branch) out.insert(static_cast<int>(i));
  return out;
}

void append(const std::vector<int>& more, std::vector<int>& to) {
  std::set<int> known(to.begin(), to.end());
  for (const int one : more)
    if (known.insert(one).second) to.push_back(one);
}

}  // namespace

std::optional<std::uint64_t> Event::source(std::string_view name) const {
  return find_value(sources, name);
}
std::optional<std::uint64_t> Event::result(std::string_view name) const {
  return find_value(results, name);
}

std::optional<Cell> accessed(const Site& site, const Event& event) {
  const OperandText* const operand = address_operand(site);
  if (operand == nullptr || operand->parts.empty() || !event.is_executed || !(is_load(site) || is_store(site)))
    return {};
  const OperandText& base = operand->parts.front();
  const auto offset = static_cast<std::uint64_t>(operand->offset + base.offset);
  Cell out{{}, offset, access_bytes(site)};
  if (base.kind == OperandText::Kind::literal)
    out.address += base.literal.bits;
  else if (const std::optional<std::uint64_t> value = event.source(base.name))
    out.address += *value;
  else
    out.symbol = base.name;
  return out;
}

Trace trace(const Experiment& experiment, const Code& code, const Thread& thread) {
  Trace out{thread, {}};
  observe(experiment, code, thread, [&](int site, const ptx::Observation& seen) {
    Event event{site, values_of(seen.sources, thread.lane), values_of(seen.registers, thread.lane)};
    event.is_executed = (seen.lanes >> thread.lane & 1) != 0;
    if (!event.is_executed) {
      if (code.site(site).guard.empty()) return true;
      for (const RegisterValue& one : event.results) event.skipped.push_back(one.name);
      event.results.clear();
    }
    out.is_cut = out.events.size() >= kMaxEvents;
    if (!out.is_cut) out.events.push_back(std::move(event));
    return !out.is_cut;
  });
  return out;
}

std::optional<Thread> find_writer(const Experiment& experiment, const Code& code, std::size_t part,
                                  std::size_t byte) {
  for (const std::size_t around : {kWidestStore, kNarrowStore, std::size_t{1}}) {
    std::optional<Thread> found = experiment.writer(part, byte, around);
    if (!found) continue;
    const Cell wanted{{}, experiment.address(part, byte), 1};
    int lane = -1;
    observe(experiment, code, *found, [&](int number, const ptx::Observation& seen) {
      const Site& site = code.site(number);
      for (int i = 0; i < 32 && is_store(site); ++i) {
        if ((seen.lanes >> i & 1) == 0) continue;
        const auto cell = accessed(site, {number, values_of(seen.sources, i), {}});
        if (cell && cell->meets(wanted)) lane = i;
      }
      return true;
    });
    if (lane < 0) continue;
    found->lane = lane;
    return found;
  }
  return {};
}

Slice slice(const Code& code, Trace of, std::uint64_t address) {
  Slice out{std::move(of), -1, {}, {}};
  const Trace& trace = out.trace;
  const Cell wanted{{}, address, 1};
  std::set<int> all;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    all.insert(static_cast<int>(i));
    const Site& site = code.site(trace.events[i].site);
    const std::optional<Cell> to = is_store(site) ? accessed(site, trace.events[i]) : std::nullopt;
    if (to && to->meets(wanted)) out.store = static_cast<int>(i);
  }
  if (out.store >= 0) {
    Walk data(code, trace);
    append(data.from({out.store}), out.events);
    std::set<int> roots = {out.store};
    if (data.needs_others()) roots.merge(stores_to_others(code, trace));
    append(Walk(code, trace).from(roots), out.events);
    roots.merge(branches(code, trace));
    append(Walk(code, trace).from(roots), out.events);
  } else {
    append(Walk(code, trace).from(all), out.events);
  }
  std::set<int> known;
  for (const int one : out.events) {
    const int site = trace.events[static_cast<std::size_t>(one)].site;
    if (known.insert(site).second) out.sites.push_back(site);
  }
  return out;
}

}  // namespace warpbit::arbiter
