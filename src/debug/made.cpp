// SPDX-License-Identifier: Apache-2.0
// What made an element: the statements of the block, walked from its last store back.
//
//     needed               statement, from the last one on                 needed then
//     [0x1000, 0x1004)     st.global.f32 [%rd1], %f3      lane 0           %f3 of lane 0
//     %f3                  add.f32 %f3, %f1, %f2                           %f1, %f2
//     %f1, %f2             ld.shared.f32 %f2, [%r4]                        %f1, 4 bytes of shared memory
//
// Registers are those of lanes; addresses and guards are not followed.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "warpbit/debug.hpp"

namespace warpbit {
namespace {

using Lanes = std::uint32_t;

/// Bytes [first, end) that are needed, by their first one; none touch.
class Bytes {
 public:
  bool has(std::uint64_t first, std::uint64_t end) const {
    const auto behind = all_.lower_bound(end);
    return behind != all_.begin() && std::prev(behind)->second > first;
  }
  void add(std::uint64_t first, std::uint64_t end) {
    remove(first, end);
    all_.emplace(first, end);
  }
  void remove(std::uint64_t first, std::uint64_t end) {
    while (has(first, end)) {
      const auto one = std::prev(all_.lower_bound(end));
      const auto [from, to] = *one;
      all_.erase(one);
      if (from < first) all_.emplace(from, first);
      if (to > end) all_.emplace(end, to);
    }
  }

 private:
  std::map<std::uint64_t, std::uint64_t> all_;
};

/// What a walk needs of a statement that was executed.
struct Executed {
  int warp;
  Lanes lanes;
  int line;
  std::vector<std::string> sources, results;
  std::vector<ptx::MemoryAccess> accesses;
};

/// What its text says, the same each time.
struct Text {
  std::string statement;
  std::set<std::string, std::less<>> addresses;  ///< registers in brackets, and its guard
  bool meets = false;                            ///< lanes take values of others
  bool changes = false;                          ///< it reads the memory that it writes
  std::vector<std::string> accumulators =
      {};  ///< of wgmma, whose results are not seen where a warp waits for others
};

std::vector<std::string> registers_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    const std::size_t end = text.find_first_of(" ,;+-]}|[", at);
    out.emplace_back(text.substr(at, end - at));
  }
  return out;
}

// The text behind its guard.
std::string_view behind_guard(std::string_view text) {
  return text.starts_with('@') ? text.substr(std::min(text.find(' ') + 1, text.size())) : text;
}

Text text_of(const std::string& statement) {
  Text out{statement, {}};
  const std::string_view all = statement, body = behind_guard(all);
  for (std::string& name : registers_in(all.substr(0, all.size() - body.size())))
    out.addresses.insert(std::move(name));
  for (std::size_t at = all.find('['); at != all.npos; at = all.find('[', at + 1))
    for (std::string& name : registers_in(all.substr(at, all.find(']', at) - at)))
      out.addresses.insert(std::move(name));
  constexpr std::string_view kMeeting[] = {"mma",  "wmma",  "wgmma", "ldmatrix", "movmatrix",
                                           "shfl", "redux", "vote",  "match"};
  const auto begins = [&](std::string_view word) { return body.starts_with(word); };
  out.meets = std::ranges::any_of(kMeeting, begins);
  out.changes = begins("atom") || begins("red");
  if (!begins("wgmma.mma_async")) return out;
  const std::string_view behind_d = body.substr(std::min(body.find('}'), body.size()));
  out.accumulators = registers_in(body.substr(0, body.size() - behind_d.size()));
  const std::size_t a = std::min(behind_d.find('{'), behind_d.size());
  for (std::string& name : registers_in(behind_d.substr(a == behind_d.size() ? 0 : behind_d.find('}', a))))
    out.addresses.insert(std::move(name));  // descriptors and scale-d
  return out;
}

class Walk {
 public:
  explicit Walk(const std::map<int, Text>& texts) : texts_(texts) {}

  void need(const ptx::MemoryAccess& bytes) {
    bytes_of(bytes.space).add(bytes.address, bytes.address + bytes.bytes);
  }
  /// The lanes of a statement that make something needed; what they have made it of is needed from now on.
  Lanes pass(const Executed& one) {
    const Text& text = texts_.at(one.line);
    Lanes out = stored(one, text);
    const std::vector<std::string>& results = text.accumulators.empty() ? one.results : text.accumulators;
    for (const std::string& name : results)
      if (const auto found = registers_.find({one.warp, name}); found != registers_.end()) {
        out |= found->second & one.lanes;
        found->second &= ~one.lanes;
      }
    if (out != 0) need_sources(one, text, text.meets ? one.lanes : out);
    return out;
  }

 private:
  Bytes& bytes_of(Space space) { return space == Space::shared ? shared_ : global_; }

  Lanes stored(const Executed& one, const Text& text) {
    Lanes out = 0;
    for (const ptx::MemoryAccess& access : one.accesses) {
      Bytes& bytes = bytes_of(access.space);
      const std::uint64_t end = access.address + access.bytes;
      if (!access.writes || !bytes.has(access.address, end)) continue;
      out |= Lanes{1} << access.lane;
      if (!text.changes) bytes.remove(access.address, end);
    }
    return out;
  }

  void need_sources(const Executed& one, const Text& text, Lanes lanes) {
    for (const std::string& name : one.sources)
      if (!text.addresses.contains(name)) registers_[{one.warp, name}] |= lanes;
    for (const ptx::MemoryAccess& access : one.accesses)
      if (!access.writes && (lanes >> access.lane & 1) != 0) need(access);
  }

  const std::map<int, Text>& texts_;
  std::map<std::pair<int, std::string>, Lanes> registers_;
  Bytes shared_, global_;
};

std::vector<std::string> names_of(const std::vector<ptx::RegisterValues>& all) {
  std::vector<std::string> out;
  for (const ptx::RegisterValues& one : all) out.push_back(one.name);
  return out;
}

}  // namespace

Result<std::vector<DebugOrigin>> Debugger::made(std::uint64_t step, const DebugPredicate& writes) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::vector<Executed> all;
  std::map<int, Text> texts;
  std::size_t last = 0;  // behind the last statement that writes
  run([&](const ptx::Observation& seen) {
    all.push_back(
        {seen.warp, seen.lanes, seen.line, names_of(seen.sources), names_of(seen.registers), seen.accesses});
    texts.try_emplace(seen.line, text_of(seen.statement));
    if (writes(seen)) last = all.size();
    return all.size() < step && all.size() < kMost;
  });
  if (all.size() == kMost && kMost < step)
    return Error{Errc::usage, "the chain of an element", fmt::format("more than {} statements", kMost),
                 "a place before the end, or a smaller launch"};
  std::vector<DebugOrigin> out;
  if (last == 0) return out;
  Walk walk(texts);
  for (const ptx::MemoryAccess& one : all[last - 1].accesses) {
    ptx::Observation alone{};
    alone.accesses = {one};
    if (writes(alone)) walk.need(one);
  }
  for (std::size_t i = last; i-- > 0;)
    if (const Lanes lanes = walk.pass(all[i]); lanes != 0)
      out.push_back({i + 1, all[i].warp, lanes, all[i].line, texts.at(all[i].line).statement});
  return out;
}

}  // namespace warpbit
