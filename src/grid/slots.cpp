// SPDX-License-Identifier: Apache-2.0
#include "grid/slots.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "grid/overtakes.hpp"
#include "grid/reach.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

/// A function with more words in one set of each block shares nothing: the four sets would have more than 512 MiB.
constexpr std::size_t kMaxWords = std::size_t{1} << 24;

int slots_of(int bits) {
  return bits <= 32 ? 1 : bits / 32;
}

/// A register has here the number of the slot that it has for itself.
class Sharing {
 public:
  Sharing(Program& program, FunctionCode& code, std::size_t first_list)
      : program_(program), code_(code), first_list_(first_list), registers_(index(code.slots)) {}

  void run(bool shares) {
    find_registers();
    find_touches();
    if (!shares) return pack();
    find_blocks();
    number_registers();
    if (blocks_.size() * words() > kMaxWords) return;
    find_live();
    find_ranges();
    const std::vector<std::uint32_t> homes = assign();
    rename(homes);
  }

 private:
  using Set = std::vector<std::uint64_t>;  // of registers with a number, a bit each
  struct Register {
    int of = -1;   // FunctionText::registers; -1: what the compiler has added
    int bits = 0;  // 0: no step has it
    int number = -1;
    int first = std::numeric_limits<int>::max(), last = -1;  // points
    void cover(int point) {
      first = std::min(first, point);
      last = std::max(last, point);
    }
  };
  struct Touch {
    std::uint32_t reg;
    bool writes;
  };
  struct Block {
    int first = 0, last = 0;  // steps; last is behind
    std::vector<int> next = {};
    Set reads = {}, writes = {};  // reads: before it writes them
    Set in = {}, out = {};        // live at its begin and its end
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int end() const { return static_cast<int>(program_.steps.size()); }
  std::size_t words() const { return (index(numbers_) + 63) / 64; }
  const Step& step(int i) const { return program_.steps[index(i)]; }
  std::span<const Touch> touches(int step) const {
    const std::size_t at = index(step - code_.first_step);
    return std::span(touches_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
  }

  // Each register keeps its slot from the first point to the last one.
  void pack() {
    for (Register& reg : registers_)
      if (reg.bits > 0) reg.cover(2 * code_.first_step), reg.cover(2 * end());
    rename(assign());
  }

  void find_registers() {
    const std::vector<ptx::Register>& all = code_.registers;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].type != ptx::Type::pred) registers_[code_.slot[i]].of = static_cast<int>(i);
  }

  // What a store, and the fences behind it, read, if a load comes before them (overtakes.hpp): behind that load.
  void keep_for_late(int store) {
    const int behind = step(store).target + 1;
    for (int i = store; i < behind; ++i)
      if (is_late(program_, step(i)))
        for_each_use(program_, step(i), [&](const Place& place, Use) {
          if (place.kind == Place::Kind::reg) late_[behind].push_back({place.slot, false});
        });
  }

  // Of each step, what it reads and then what it writes.
  void find_touches() {
    for (int i = code_.first_step; i < end(); ++i) {
      begin_.push_back(touches_.size());
      if (const auto late = late_.find(i); late != late_.end())
        touches_.insert(touches_.end(), late->second.begin(), late->second.end());
      if (step(i).access.may_be_late) keep_for_late(i);
      for_each_use(program_, step(i), [&](const Place& place, Use use) {
        if (place.kind != Place::Kind::reg) return;
        touches_.push_back({place.slot, use == Use::result});
        Register& reg = registers_[place.slot];
        reg.bits = reg.of >= 0 ? ptx::bits(code_.registers[index(reg.of)].type) : place.bits;
      });
    }
    begin_.push_back(touches_.size());
  }

  void find_blocks() {
    const auto at = [&](int step) { return index(step - code_.first_step); };
    std::vector<bool> begins(at(end()) + 1);
    begins[0] = true;
    std::vector<int> to;
    const auto next = [&](int i) {
      to.clear();
      followers(program_, i, to);
    };
    for (int i = code_.first_step; i < end(); ++i) {
      next(i);
      if (to.size() == 1 && to[0] == i + 1) continue;
      begins[at(i + 1)] = true;
      for (const int one : to) begins[at(one)] = true;
    }
    std::vector<int> block_of;
    for (int i = code_.first_step; i < end(); ++i) {
      if (begins[at(i)]) blocks_.push_back({.first = i});
      blocks_.back().last = i + 1;
      block_of.push_back(static_cast<int>(blocks_.size()) - 1);
    }
    for (Block& one : blocks_) {
      next(one.last - 1);
      for (const int i : to)
        if (i < end()) one.next.push_back(block_of[at(i)]);
    }
  }

  // Calls f(register, whether the block has written it, touch, step), in order. A step with a guard writes for some lanes.
  template <class F>
  void for_each_touch(F f) {
    std::vector<int> written(registers_.size(), -1);  // the last block that has
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (int i = blocks_[b].first; i < blocks_[b].last; ++i)
        for (const Touch& touch : touches(i)) {
          f(b, registers_[touch.reg], touch, written[touch.reg] == static_cast<int>(b), i);
          if (touch.writes && step(i).guard < 0) written[touch.reg] = static_cast<int>(b);
        }
  }

  // A register that only one block has, and writes first, is live nowhere else: it needs no number.
  void number_registers() {
    std::vector<int> of(registers_.size(), -1);  // the first block that has it
    for_each_touch([&](std::size_t block, Register& reg, const Touch& touch, bool is_written, int) {
      if (of[touch.reg] < 0) of[touch.reg] = static_cast<int>(block);
      const bool elsewhere = of[touch.reg] != static_cast<int>(block) || (!touch.writes && !is_written);
      if (elsewhere && reg.number < 0) {
        reg.number = numbers_++;
        numbered_.push_back(touch.reg);
      }
    });
  }

  void find_live() {
    const Set none(words());
    for (Block& one : blocks_) one.reads = one.writes = one.in = one.out = none;
    for_each_touch([&](std::size_t b, const Register& reg, const Touch& touch, bool is_written, int i) {
      if (reg.number < 0) return;
      const std::uint64_t bit = std::uint64_t{1} << reg.number % 64;
      Block& block = blocks_[b];
      if (!touch.writes && !is_written) block.reads[index(reg.number) / 64] |= bit;
      if (touch.writes && step(i).guard < 0) block.writes[index(reg.number) / 64] |= bit;
    });
    for (bool changed = true; std::exchange(changed, false);)
      for (std::size_t b = blocks_.size(); b-- > 0;) {
        Block& one = blocks_[b];
        for (std::size_t k = 0; k < words(); ++k) {
          for (const int next : one.next) one.out[k] |= blocks_[index(next)].in[k];
          const std::uint64_t in = one.reads[k] | (one.out[k] & ~one.writes[k]);
          changed = changed || in != one.in[k];
          one.in[k] = in;
        }
      }
  }

  void cover(const Set& live, int point) {
    for (std::size_t k = 0; k < live.size(); ++k)
      for (std::uint64_t rest = live[k]; rest != 0; rest &= rest - 1)
        registers_[numbered_[64 * k + index(std::countr_zero(rest))]].cover(point);
  }
  void find_ranges() {
    for (const Block& one : blocks_) {
      cover(one.in, 2 * one.first);
      cover(one.out, 2 * one.last - 1);
    }
    for_each_touch([](std::size_t, Register& reg, const Touch& touch, bool, int i) {
      reg.cover(touch.writes ? 2 * i + 1 : 2 * i);
    });
  }

  // Those of as many bits lie side by side. In the order in which they begin, each takes what was free last.
  std::vector<std::uint32_t> assign() {
    std::map<int, std::vector<std::uint32_t>> by_bits;
    for (std::size_t i = 0; i < registers_.size(); ++i)
      if (registers_[i].bits > 0) by_bits[registers_[i].bits].push_back(static_cast<std::uint32_t>(i));
    constexpr auto kNowhere = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> homes(registers_.size(), kNowhere);
    std::uint32_t slots = 0;
    for (auto& [bits, all] : by_bits) {
      std::ranges::stable_sort(all, {}, [&](std::uint32_t i) { return registers_[i].first; });
      using Taken = std::pair<int, std::uint32_t>;  // until which point, slot
      std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken;
      std::vector<std::uint32_t> free;
      for (const std::uint32_t i : all) {
        for (; !taken.empty() && taken.top().first < registers_[i].first; taken.pop())
          free.push_back(taken.top().second);
        if (free.empty()) {
          free.push_back(slots);
          slots += static_cast<std::uint32_t>(slots_of(bits));
        }
        homes[i] = free.back();
        free.pop_back();
        taken.emplace(registers_[i].last, homes[i]);
      }
    }
    code_.slots = static_cast<int>(slots);
    return homes;
  }

  void rename(const std::vector<std::uint32_t>& homes) {
    const auto to_home = [&](Place& place) {
      if (place.kind == Place::Kind::reg) place.slot = homes[place.slot];
    };
    for (int i = code_.first_step; i < end(); ++i)
      std::ranges::for_each(program_.steps[index(i)].place, to_home);
    for (std::size_t i = first_list_; i < program_.places.size(); ++i)
      std::ranges::for_each(program_.places[i], to_home);
    for (std::size_t i = 0; i < registers_.size(); ++i) {
      const Register& reg = registers_[i];
      if (reg.of < 0) continue;
      code_.slot[index(reg.of)] = homes[i];
      if (reg.bits > 0) code_.held.push_back({homes[i], reg.first, reg.last, reg.of});
    }
  }

  Program& program_;
  FunctionCode& code_;
  std::size_t first_list_;
  std::vector<Register> registers_;
  std::vector<Touch> touches_;
  std::vector<std::size_t> begin_;          // of touches_, by step
  std::map<int, std::vector<Touch>> late_;  // by step, before which they are
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> numbered_;  // by number
  int numbers_ = 0;
};

}  // namespace

void share_slots(Program& program, FunctionCode& code, std::size_t first_list, bool shares) {
  Sharing(program, code, first_list).run(shares);
}

}  // namespace warpbit::grid
