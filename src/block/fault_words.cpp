// SPDX-License-Identifier: Apache-2.0
// The words of faults: bytes, values, and what orders two accesses or does not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>  // std::memcpy
#include <utility>

#include "api/checks.hpp"
#include "block/fault.hpp"
#include "warpbit/format.hpp"

namespace warpbit::block {

// ---- Numbers

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 8;
  std::string out = "0x";
  for (std::size_t i = std::min(bytes.size(), kMost); i-- > 0;)
    out += fmt::format("{:02x}", std::to_integer<int>(bytes[i]));
  return out;
}

std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

std::string warps_text(const std::vector<int>& warps) {
  return fmt::format("{} {}", warps.size() == 1 ? "warp" : "warps", ranges(warps));
}

namespace {

struct FloatType {
  std::string_view name, bits;
  std::size_t bytes;
  int mantissa;
};
constexpr FloatType kFloats[] = {
    {"f32", "b32", 4, 23}, {"f64", "b64", 8, 52}, {"f16", "", 2, 10}, {"bf16", "", 2, 7}};

// Numbers as integers in their order, zeros alike. Nothing: NaN or infinite.
std::optional<std::int64_t> ordered(std::span<const std::byte> bytes, const FloatType& type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), type.bytes);
  const int width = static_cast<int>(8 * type.bytes);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1), magnitude = bits & (sign - 1);
  const std::uint64_t infinite = (sign - 1) >> type.mantissa << type.mantissa;
  if (magnitude >= infinite) return std::nullopt;
  return (bits & sign) != 0 ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

// Of bits that are finite; what fits in a float is printed as short as one.
std::string number_text(std::span<const std::byte> bytes, const FloatType& type) {
  std::uint64_t code = 0;
  std::memcpy(&code, bytes.data(), type.bytes);
  const double value = Codec::find(type.name)->decode(code);
  return type.bytes == 8 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

}  // namespace

std::string apart(std::span<const std::byte> x, std::span<const std::byte> y, std::string_view type) {
  constexpr std::uint64_t kNear = 100;
  for (const FloatType& one : kFloats) {
    if (type != one.name && (type != one.bits || type.empty())) continue;
    for (std::size_t i = 0; i + one.bytes <= std::min(x.size(), y.size()); i += one.bytes) {
      const auto a = x.subspan(i, one.bytes), b = y.subspan(i, one.bytes);
      if (std::ranges::equal(a, b)) continue;
      const auto first = ordered(a, one), second = ordered(b, one);
      if (!first || !second) return "";
      const auto low = static_cast<std::uint64_t>(std::min(*first, *second)),
                 units = static_cast<std::uint64_t>(std::max(*first, *second)) - low;
      if (type == one.bits && units >= kNear) return "";
      if (units >= kNear)
        return fmt::format(", as {} {} and {}", one.name, number_text(a, one), number_text(b, one));
      return fmt::format(", as {} {} unit{} in the last place apart", one.name, units, units == 1 ? "" : "s");
    }
  }
  return "";
}

std::string arrivals_text(std::int64_t arrived, std::int64_t expected, bool are_whole) {
  const bool in_warps = are_whole && arrived % kWarp == 0 && expected % kWarp == 0;
  const std::int64_t unit = in_warps ? kWarp : 1, come = arrived / unit, all = expected / unit;
  return fmt::format("{} of {} {}{} {} arrived", come, all, in_warps ? "warp" : "thread", all == 1 ? "" : "s",
                     come == 1 ? "has" : "have");
}

// ---- What orders two accesses

namespace {

constexpr std::array<std::string_view, kScopes> kScopeNames = {"cta", "cluster", "gpu"},
                                                kFences = {"__threadfence_block (fence.acq_rel.cta)",
                                                           "fence.acq_rel.cluster",
                                                           "__threadfence (fence.acq_rel.gpu)"};

}  // namespace

std::string flag_text(const Flaw& flaw, const FlagUse& use) {
  const bool writes = &use == &flaw.write;
  if (flaw.kind == Flaw::Kind::arrival) return "the arrival, which is relaxed";
  if (flaw.kind == Flaw::Kind::lanes) return fmt::format("the {} of the flag", writes ? "release" : "acquire");
  if (flaw.kind == Flaw::Kind::unmet) return fmt::format("the {} of the flag", writes ? "write" : "read");
  if (flaw.kind == Flaw::Kind::early)
    return fmt::format("the {} of the flag", writes             ? flaw.write.lacks ? "write" : "release"
                                             : flaw.write.lacks ? "read"
                                                                : "acquire");
  if (flaw.kind == Flaw::Kind::relaxed)
    return fmt::format("the {} of the flag{}", writes ? "write" : "read",
                       use.lacks ? ", which is relaxed" : "");
  if (flaw.kind == Flaw::Kind::scope)
    return fmt::format("the {} of the flag{}", writes ? "release" : "acquire",
                       !use.lacks ? ""
                       : use.unsaid
                           ? ", which says no scope"
                           : fmt::format(", with .{} scope", kScopeNames[static_cast<std::size_t>(use.scope)]));
  if (writes && use.lacks && use.fenced)
    return fmt::format("the write of the flag, {}", use.is_own ? "without a fence right before it"
                                                               : "whose fence stands before these accesses");
  if (writes) return use.lacks ? "the write of the flag, without a fence before it" : "the write of the flag";
  return use.lacks ? "the read of the flag, without a fence after it" : "the read of the flag";
}

std::string must_fence_proxy(int before, int now, std::string_view access, bool has_others) {
  if (has_others)
    return fmt::format(
        "each of these threads must execute fence.proxy.async after its {}, and before any barrier that comes "
        "between them",
        access);
  if (before == now) return "this thread must execute fence.proxy.async between them";
  return fmt::format(
      "the thread of that {} must execute fence.proxy.async after it, and before any barrier that comes "
      "between them",
      access);
}

KernelRule rule_of_race(const std::optional<Flaw>& flaw, Misfit misfit) {
  if (misfit == Misfit::scope) return KernelRule::scope_too_narrow;
  if (flaw && flaw->kind == Flaw::Kind::lanes) return KernelRule::lanes_not_synchronised;
  if (!is_of_flag(flaw)) switch (misfit) {
      case Misfit::lanes: return KernelRule::lanes_not_synchronised;
      case Misfit::overlap: return KernelRule::sizes_differ;
      case Misfit::update: return KernelRule::lost_update;
      default: return KernelRule::data_race;
    }
  if (flaw->kind == Flaw::Kind::fence) return KernelRule::flag_fence;
  const bool is_narrow = (flaw->write.lacks && !flaw->write.unsaid) || (flaw->read.lacks && !flaw->read.unsaid);
  const bool is_by_default = flaw->write.unsaid || flaw->read.unsaid;
  return is_narrow || !is_by_default ? KernelRule::scope_too_narrow : KernelRule::scope_by_default;
}

namespace {

// Of a flag's write by another thread than that of the access.
constexpr std::string_view kHowItKnows =
    "the barrier (for lanes of one warp a __syncwarp) or the flag by which its thread knows of the accesses of others";

// "must come before the write of the flag, and another one after its read", where each lacks one.
std::string missing_fences(const Flaw& flaw, std::string_view both) {
  if (!flaw.write.lacks) return "must come after the read of the flag";
  const std::string before =
      !flaw.write.fenced ? "must come before the write of the flag"
      : flaw.write.is_own
          ? fmt::format("must come between {} and the write of the flag", both.substr(0, both.find(" and ")))
          : fmt::format("must stand right before the write of the flag, behind {}", kHowItKnows);
  return fmt::format("{}{}", before, flaw.read.lacks ? ", and another one after its read" : "");
}

// Which release or acquire between both accesses is too narrow; a fence has no flag of its own.
Unordered::Words of_scope(const Flaw& flaw, std::string_view both, std::string_view reach) {
  const bool is_write = flaw.write.lacks, is_read = flaw.read.lacks;
  const std::string_view what = is_write && is_read ? "release and the acquire"
                                : is_write          ? "release"
                                : is_read           ? "acquire"
                                                    : "fence";
  const bool is_unsaid = (is_write && flaw.write.unsaid) || (is_read && flaw.read.unsaid);
  return {
      fmt::format("the {} between {} ha{} .{} scope{}, which does not reach {}", what, both,
                  is_write && is_read ? "ve" : "s", kScopeNames[static_cast<std::size_t>(flaw.scope)],
                  is_unsaid ? " by default" : "",
                  flaw.scope == Scope::cta ? "another block" : "another cluster"),
      fmt::format("the {} must have .{} scope", is_write || is_read ? "release and the acquire" : what, reach)};
}

// One that was written before what it is to hand over. `both`: the earlier access, and the later one.
Unordered::Words of_early(const Flaw& flaw, const std::pair<std::string_view, std::string_view>& both,
                          std::string_view fence, std::string_view advice) {
  const bool is_bare = flaw.write.lacks;
  const auto [earlier, later] = both;
  const std::string_view write = is_bare ? "write" : "release";
  return {fmt::format("the flag {} before {} was {} before {}", is_bare ? "read" : "acquired", later,
                      is_bare ? "written" : "released", earlier),
          fmt::format("{} must come before the {} of the flag{}, or {}", earlier, write,
                      is_bare             ? fmt::format(", with a {} between them", fence)
                      : flaw.write.is_own ? ""
                                          : ", with a barrier between them",
                      advice)};
}

// An atomic, and a write or a read, of which one does not reach the thread of the other.
Unordered::Words of_atomics(const Unordered& of, std::string_view reach) {
  const Scope least = std::min(of.before.scope, of.now.scope);
  const bool are_alike = of.before.scope == of.now.scope;
  const std::size_t first = of.both.find(" and ");
  return {fmt::format(
              "{} ha{} .{} scope, which does not reach {}, so nothing promises that they are atomic to each "
              "other",
              are_alike                        ? of.both
              : of.before.scope < of.now.scope ? of.both.substr(0, first)
                                               : of.both.substr(first + 5),
              are_alike ? "ve" : "s", kScopeNames[static_cast<std::size_t>(least)],
              least == Scope::cta ? "another block" : "another cluster"),
          fmt::format("both must have .{} scope (atomicAdd, not atomicAdd_block)", reach)};
}

}  // namespace

const FlagUse* at_fault(const Flaw& flaw) {
  using enum Flaw::Kind;
  const bool may_be = flaw.kind == fence || flaw.kind == scope || flaw.kind == relaxed;
  if (!may_be || flaw.write.lacks == flaw.read.lacks) return nullptr;
  const FlagUse& out = flaw.write.lacks ? flaw.write : flaw.read;
  return out.thread < 0 ? nullptr : &out;
}

Unordered::Words words_of(const Flaw& flaw, Scope reach, Scope own) {
  const bool writes = flaw.write.lacks;
  const FlagUse& use = writes ? flaw.write : flaw.read;
  const std::string_view scope = kScopeNames[static_cast<std::size_t>(reach)],
                         fence = kFences[static_cast<std::size_t>(reach)];
  if (flaw.kind == Flaw::Kind::scope)
    return {fmt::format("{} of a flag has .{} scope{}, which does not reach {}",
                        !writes           ? "this acquire"
                        : own > use.scope ? "the fence before this write"
                                          : "this release",
                        kScopeNames[static_cast<std::size_t>(use.scope)], use.unsaid ? " by default" : "",
                        use.scope == Scope::cta ? "another block" : "another cluster"),
            writes && own > use.scope ? fmt::format("it must be a {}", fence)
                                      : fmt::format("it must have .{} scope", scope)};
  const bool is_early = writes && use.fenced.has_value();
  const std::string must = is_early ? fmt::format("must stand right before it, behind {}",
                                                  use.is_own ? "the accesses that come before it" : kHowItKnows)
                                    : fmt::format("must come {} it", writes ? "before" : "after");
  return {fmt::format("this {} of a flag is {}, and {}", writes ? "write" : "read",
                      flaw.kind == Flaw::Kind::relaxed ? "relaxed" : "volatile or relaxed",
                      is_early ? "the last fence stands before the accesses that it hands over"
                      : writes ? "no fence stands before it"
                               : "no fence follows it"),
          fmt::format("{}a {} {}",
                      flaw.kind == Flaw::Kind::relaxed
                          ? fmt::format("it must be .{}.{}, or ", writes ? "release" : "acquire", scope)
                          : "",
                      fence, must)};
}

Unordered::Words words_of_early(const Flaw& flaw, bool writes) {
  const std::string_view access = writes ? "write" : "read";
  return {fmt::format("this {} of a flag comes before a {} of bytes that it hands over",
                      flaw.write.lacks ? "write" : "release", access),
          fmt::format("it must come behind that {}{}, or another flag must be released after it", access,
                      flaw.write.lacks ? fmt::format(", with a {} between them", kFences.back()) : "")};
}

Unordered::Words Unordered::words() const {
  const std::string_view fence = kFences[static_cast<std::size_t>(reach)],
                         scope = kScopeNames[static_cast<std::size_t>(reach)];
  const std::size_t middle = both.find(" and ");
  const std::pair in_order(both.substr(0, middle), both.substr(middle + 5));
  if (misfit == Misfit::scope) return of_atomics(*this, scope);
  if (flaw && flaw->kind == Flaw::Kind::scope) return of_scope(*flaw, both, scope);
  if (flaw && flaw->kind == Flaw::Kind::lanes)
    return {
        fmt::format(
            "the flag between {} was acquired by another lane of the warp alone, and no __syncwarp came since",
            both),
        fmt::format(
            "a __syncwarp must come between the acquire and {}, or a __syncthreads if other warps need the flag, too",
            in_order.second == "this write" || in_order.second == "this read" ? in_order.second
                                                                              : "this statement")};
  if (flaw && flaw->kind == Flaw::Kind::arrival)
    return {fmt::format("the arrival between {} is relaxed, so it does not order them", both),
            fmt::format("the arrival must not be .relaxed, or a {} must come before it", fence)};
  if (flaw && flaw->kind == Flaw::Kind::fence)
    return {fmt::format("the flag between {} is volatile or relaxed, so it does not order them", both),
            fmt::format("a {} {}", fence, missing_fences(*flaw, both))};
  const bool is_relaxed = flaw && flaw->kind == Flaw::Kind::relaxed;
  if (is_open || (is_relaxed && !flaw->write.lacks))
    return {
        fmt::format("the read of the flag between {} is relaxed, and no fence follows it", both),
        fmt::format("the flag must be read with .acquire.{}, or a {} must come after its read", scope, fence)};
  if (is_relaxed && !flaw->read.lacks)
    return {fmt::format("the write of the flag between {} is relaxed, and no fence stands before it", both),
            fmt::format("the flag must be written with .release.{}, or a {} must come before its write", scope,
                        fence)};
  if (is_relaxed)
    return {
        fmt::format("the flag between {} is relaxed, so it does not order them", both),
        fmt::format("the flag must be written with .release.{} and read with .acquire.{}, or a {} must come "
                    "before its write and another one after its read",
                    scope, scope, fence)};
  const std::string why = cause.empty() ? fmt::format("no barrier came between {}", both) : std::string(cause);
  if (flaw && flaw->kind == Flaw::Kind::unmet)
    return {fmt::format("{}: another thread of its block has written the flag, and no barrier came before that",
                        why),
            fmt::format("a __syncthreads must come between {} and the write of the flag", in_order.first)};
  if (flaw && flaw->kind == Flaw::Kind::early)
    return of_early(*flaw, in_order, fence,
                    reach == Scope::gpu ? "another flag must be released after it" : advice);
  switch (misfit) {
    case Misfit::size: {
      const int read = std::max(before.bytes, now.bytes), write = std::min(before.bytes, now.bytes);
      return {fmt::format("{}: a read of {} bytes may see a write of {} without the one that belongs to it",
                          why, read, write),
              fmt::format("one store must write all {} bytes, or {}", read, advice)};
    }
    case Misfit::lanes:
      return {why, fmt::format("{} (volatile and relaxed accesses do not make lanes wait)", advice)};
    case Misfit::overlap:
      return {fmt::format(
                  "{}: one has {} bytes and the other one {}, so nothing promises that each is done at once",
                  why, before.element, now.element),
              fmt::format("both must have the same bytes, or {}", advice)};
    case Misfit::update:
      return {fmt::format("{}: each changes what it has read, so one of the changes may be lost", why),
              fmt::format("each change must be one atomic, such as atomicAdd or atomicMax, or {}", advice)};
    default: break;
  }
  return {why,
          fmt::format("{}{}", advice,
                      is_weak_read
                          ? ", or both accesses must be atomic, volatile or relaxed if either order is right"
                          : "")};
}

std::string bytes_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("byte {:#x}", first) : fmt::format("bytes {:#x} to {:#x}", first, last);
}

std::string bytes_text(std::int64_t first, std::int64_t last, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", bytes_text(first, last), first == last ? one : many);
}

Error beyond_shared(std::uint64_t first, std::uint64_t bytes, std::uint64_t size) {
  return {
      Errc::address_out_of_bounds,
      {},
      fmt::format("{} of shared memory, of which the block has {} bytes,",
                  bytes == 0 ? fmt::format("addresses from {:#x} on", first)
                             : fmt::format("{} bytes at {:#x}", bytes, first),
                  size),
      "the statement must stay inside them, or the launch must give more dynamic shared memory (--shared; in Python "
      "shared_mem, in C++ shared_bytes)"};
}

std::string_view both_accesses(bool before_writes, bool now_writes) {
  return !before_writes ? "that read and this write"
         : now_writes   ? "that write and this one"
                        : "that write and this read";
}

Error unordered(std::string_view what, std::string_view first, const Unordered& why) {
  auto [cause, advice] = why.words();
  return {Errc::data_race, std::string(what), fmt::format("{}, and {}", first, cause), std::move(advice)};
}

// By two lanes at one statement, maybe in two rounds of a loop, or at two statements.
std::string one_must_store(const Fault& race) {
  if (race.at == race.other->at) return "at most one thread may store there between two barriers";
  return "at most one of these two threads may store there, or " + race.error.accepted;
}

std::string must_meet_at_end(bool arrives) {
  return fmt::format(
      "all threads of the cluster must execute barrier.cluster.arrive and barrier.cluster.wait after the "
      "last {} another block's {}",
      arrives ? "arrival at" : "access to", arrives ? "mbarrier" : "shared memory");
}

}  // namespace warpbit::block
