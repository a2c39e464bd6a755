// SPDX-License-Identifier: Apache-2.0
#include "grid/slot_words.hpp"

#include <cstring>

namespace warpbit::grid::steps {
namespace {

using Word [[gnu::vector_size(16)]] = std::uint32_t;  // of four lanes

Word word_at(const std::uint32_t* from) {
  Word out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
void put(std::uint32_t* to, Word word) {
  std::memcpy(to, &word, sizeof word);
}

// Four registers of four lanes: from register by register to lane by lane, and back.
//
//     a0 a1 a2 a3        a0 b0 c0 d0
//     b0 b1 b2 b3   ->   a1 b1 c1 d1
//     c0 c1 c2 c3        a2 b2 c2 d2
//     d0 d1 d2 d3        a3 b3 c3 d3
void transpose(Word& a, Word& b, Word& c, Word& d) {
  const Word ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
             cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

}  // namespace

void gather_four(const SlotOperand& from, std::uint32_t* to, std::size_t stride) {
  const std::uint32_t *const p = from.slot(0), *const q = from.slot(1), *const r = from.slot(2),
                             *const s = from.slot(3);
  for (std::size_t lane = 0; lane < kLanes; lane += 4) {
    Word a = word_at(p + lane), b = word_at(q + lane), c = word_at(r + lane), d = word_at(s + lane);
    transpose(a, b, c, d);
    std::uint32_t* const out = to + lane * stride;
    put(out, a);
    put(out + stride, b);
    put(out + 2 * stride, c);
    put(out + 3 * stride, d);
  }
}
void scatter_four(const SlotOperand& to, const std::uint32_t* from, std::size_t stride) {
  std::uint32_t *const p = to.slot(0), *const q = to.slot(1), *const r = to.slot(2), *const s = to.slot(3);
  for (std::size_t lane = 0; lane < kLanes; lane += 4) {
    const std::uint32_t* const in = from + lane * stride;
    Word a = word_at(in), b = word_at(in + stride), c = word_at(in + 2 * stride), d = word_at(in + 3 * stride);
    transpose(a, b, c, d);
    put(p + lane, a);
    put(q + lane, b);
    put(r + lane, c);
    put(s + lane, d);
  }
}

void gather_slots(const SlotOperand& from, std::byte* to) {
  const std::size_t count = from.places.size();
  auto* const words = reinterpret_cast<std::uint32_t*>(to);
  std::size_t done = 0;
  const auto all_exist = [&](std::size_t first, std::size_t n) {
    for (std::size_t i = first; i < first + n; ++i)
      if (!from.places[i].exists() || from.places[i].kind == Place::Kind::predicate) return false;
    return true;
  };
  for (; from.bits == 32 && done + 4 <= count && all_exist(done, 4); done += 4) {
    gather_four({from.warp, from.path, from.places.subspan(done), 32}, words + done, count);
  }
  if (from.bits == 32 && count == 2 && all_exist(0, 2)) {
    const std::uint32_t *const p = from.slot(0), *const q = from.slot(1);
    for (std::size_t lane = 0; lane < kLanes; lane += 4) {
      const Word a = word_at(p + lane), b = word_at(q + lane);
      put(words + 2 * lane, __builtin_shufflevector(a, b, 0, 4, 1, 5));
      put(words + 2 * lane + 4, __builtin_shufflevector(a, b, 2, 6, 3, 7));
    }
    return;
  }
  const auto bytes = static_cast<std::size_t>(from.bits / 8);
  for (; done < count; ++done)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t value =
          from.places[done].exists() ? from.warp.read(from.path, from.places[done], lane) : 0;
      std::memcpy(to + (static_cast<std::size_t>(lane) * count + done) * bytes, &value, bytes);
    }
}

void scatter_slots(const SlotOperand& to, const std::byte* from, Lanes lanes) {
  const std::size_t count = to.places.size();
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
  std::size_t done = 0;
  const auto all_exist = [&](std::size_t first) {
    for (std::size_t i = first; i < first + 4; ++i)
      if (to.places[i].kind != Place::Kind::reg) return false;
    return true;
  };
  for (; lanes == kAllLanes && to.bits == 32 && done + 4 <= count && all_exist(done); done += 4) {
    scatter_four({to.warp, to.path, to.places.subspan(done), 32}, words + done, count);
  }
  const auto bytes = static_cast<std::size_t>(to.bits / 8);
  for (; done < count; ++done)
    for_each_lane(lanes, [&](int lane) {
      std::uint64_t value = 0;
      std::memcpy(&value, from + (static_cast<std::size_t>(lane) * count + done) * bytes, bytes);
      to.warp.write(to.path, to.places[done], lane, value);
    });
}

}  // namespace warpbit::grid::steps
