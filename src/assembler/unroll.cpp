// SPDX-License-Identifier: Apache-2.0
#include "assembler/unroll.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "assembler/flow.hpp"
#include "scalar/operation.hpp"

namespace warpbit::assembler {
namespace {

using ptx::Type;

// How many rounds of a body of so many statements, without its step and its test, ptxas 13.0 (sm_90a) unrolls: asked of
// it with bodies of mul and fma. A loop around loops is unrolled further than that: no random kernel has one that stays.
struct Limit {
  int statements, rounds;
};
constexpr std::array<Limit, 9> kLimits = {
    {{1, 3591}, {2, 1451}, {4, 519}, {8, 245}, {16, 69}, {32, 20}, {64, 6}, {96, 4}, {128, 2}}};
constexpr int kMostRounds = kLimits.front().rounds,
              kMostStatements = 16384;  // of a loop around loops: with all rounds

/// Statements that are looked at for loops. A function of which more would be has loops that stay.
constexpr std::int64_t kMostWork = 200'000'000;

/// Statements first to last; the last one is the branch back to the first.
struct Loop {
  int first, last;
};

class Unroller {
 public:
  explicit Unroller(Assembled& of) : of_(of), f_(of.function) {}

  // Of the innermost loops the first that can be unrolled. Whether there was one. `work` is what may still be looked at.
  bool run(std::int64_t& work) {
    labels_.assign(f_.statements.size() + 1, false);
    for (const Operand& one : f_.operands)
      if (one.kind == Operand::Kind::label) labels_[static_cast<std::size_t>(one.index)] = true;
    work -= std::ssize(f_.statements);
    for (int i = 0; i < static_cast<int>(f_.statements.size()) && work > 0; ++i) {
      if (!goes_back(i)) continue;
      const Loop loop{view(i).operand(0).index, i};
      const int count = rounds(loop), length = loop.last - loop.first;
      if (count < 1 || count * length > most_statements(loop)) continue;
      work -= std::ssize(f_.statements);
      if (!is_alone(loop)) continue;
      const int statement = of_.origins[static_cast<std::size_t>(loop.last)];
      repeat(loop, count);
      of_.uses.push_back({Rule::unroll, statement});
      return true;
    }
    return false;
  }

 private:
  View view(int i) const { return {f_, i}; }

  bool goes_back(int i) const {
    const View branch = view(i);
    return branch.opcode() == "bra" && branch.is_guarded() && branch.operand(0).kind == Operand::Kind::label &&
           branch.operand(0).index <= i && i - branch.operand(0).index <= kMostStatements;
  }

  // Who branches where: into a loop only its last statement and its own, and out of it none.
  bool is_alone(const Loop& loop) const {
    const auto is_inside = [&](int at) { return loop.first <= at && at <= loop.last; };
    std::vector<std::size_t> to;
    for (int k = 0; k < static_cast<int>(f_.statements.size()); ++k) {
      if (k == loop.last) continue;
      const std::string_view opcode = view(k).opcode();
      if (is_inside(k) && (opcode == "brx" || opcode == "call" || opcode == "ret" || opcode == "exit"))
        return false;
      to.clear();
      followers(f_, static_cast<std::size_t>(k), to);
      for (const std::size_t one : to) {
        const int target = static_cast<int>(one);
        if (is_inside(k) && (!is_inside(target) || target <= k)) return false;
        if (!is_inside(k) && is_inside(target) && !(target == loop.first && k == loop.first - 1)) return false;
      }
    }
    return true;
  }

  /// The only statement from first to last that writes to a register; -1 if there are several or none.
  int only_definition(int reg, int first, int last) const {
    int out = -1, count = 0;
    for (int i = first; i <= last; ++i)
      for_each_access(
          f_, i, [](int) {},
          [&](int written) {
            if (written != reg) return;
            out = i;
            ++count;
          });
    return count == 1 ? out : -1;
  }

  int most_statements(const Loop& loop) const {
    const int length = loop.last - loop.first;
    const auto first = of_.origins.begin() + loop.first;
    const std::set<int> distinct(first, first + length);
    if (static_cast<int>(distinct.size()) < length) return kMostStatements;
    const auto* const limit = std::ranges::lower_bound(kLimits, length - 2, {}, &Limit::statements);
    return limit == kLimits.end() ? 0 : limit->rounds * length;
  }

  // How often the body is executed; 0 if that is not known.
  int rounds(const Loop& loop) const {
    const Statement& branch = f_.statements[static_cast<std::size_t>(loop.last)];
    const int test = only_definition(branch.guard, loop.first, loop.last);
    if (test < 0 || view(test).opcode() != "setp" || view(test).is_guarded() || !view(test).is_register(1))
      return 0;
    const View compare = view(test);
    const int counter = compare.operand(1).index;
    const int step = only_definition(counter, loop.first, loop.last);
    const auto limit = compare.literal(2);
    if (step < 0 || step > test || !limit || compare.operands() != 3 ||
        compare.operand(0).index != branch.guard)
      return 0;
    const View change = view(step);
    const bool steps = (change.opcode() == "add" || change.opcode() == "sub") && !change.is_guarded() &&
                       change.is_register(1) && change.operand(1).index == counter &&
                       change.words().size() == 1;
    const auto by = change.literal(2);
    std::optional<std::uint64_t> value = begin_of(counter, loop.first);
    if (!steps || !by || !value) return 0;
    if (stays(loop)) return 0;
    return count(compare, change, *value, *by, *limit, branch.guard_negated);
  }
  // Between a loop's ends: a branch, by which its step and its test might be jumped over, or a statement that keeps it.
  bool stays(const Loop& loop) const {
    for (int i = loop.first; i < loop.last; ++i)
      if (view(i).opcode() == "bra" || keeps_loop(view(i))) return true;
    return false;
  }

  // The literal that a register has before a statement: in straight text above.
  std::optional<std::uint64_t> begin_of(int reg, int first) const {
    for (int i = first - 1; i >= 0 && view(i).opcode() != "bra"; --i) {
      if (only_definition(reg, i, i) < 0) {
        if (is_label(i)) return {};
        continue;
      }
      if (view(i).opcode() != "mov" || view(i).is_guarded()) return {};
      return view(i).literal(1);
    }
    return {};
  }
  bool is_label(int i) const { return labels_[static_cast<std::size_t>(i)]; }

  static int count(const View& compare, const View& change, std::uint64_t value, std::uint64_t by,
                   std::uint64_t limit, bool negated) {
    const scalar::Operation test = scalar::operation("setp", compare.words()),
                            step = scalar::operation(change.opcode(), change.words());
    if (ptx::is_floating(test.type) || ptx::is_floating(step.type)) return 0;
    for (int rounds = 1; rounds <= kMostRounds; ++rounds) {
      scalar::Sources sources;
      sources.count = 2;
      sources.value = {value, by};
      value = scalar::cut(scalar::execute(step, sources).value, ptx::bits(step.type));
      sources.value = {value, limit};
      if ((scalar::execute(test, sources).value != 0) == negated) return rounds;
    }
    return 0;
  }

  void repeat(const Loop& loop, int count) {
    const int length = loop.last - loop.first, added = (count - 1) * length - 1;
    const auto insert = [&](auto& list, auto last) {
      auto out = list;
      out.erase(out.begin() + last);
      for (int k = 1; k < count; ++k)
        out.insert(out.begin() + last + std::ptrdiff_t{k - 1} * length, list.begin() + loop.first,
                   list.begin() + last);
      list = std::move(out);
    };
    insert(f_.statements, std::ptrdiff_t{loop.last});
    insert(of_.origins, std::ptrdiff_t{loop.last});
    insert(of_.made, std::ptrdiff_t{loop.last});
    for (Operand& one : f_.operands)
      if (one.kind == Operand::Kind::label && one.index > loop.last) one.index += added;
    for (ptx::LabelTable& table : f_.tables)
      for (int& label : table.labels)
        if (label > loop.last) label += added;
  }

  Assembled& of_;
  FunctionText& f_;
  std::vector<bool> labels_;  // by statement
};

}  // namespace

void unroll(Assembled& function) {
  std::int64_t work = kMostWork;
  while (Unroller(function).run(work)) {
  }
}

}  // namespace warpbit::assembler
