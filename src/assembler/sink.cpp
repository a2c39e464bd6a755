// SPDX-License-Identifier: Apache-2.0
#include "assembler/sink.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>  // pair

#include "assembler/editor.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {
namespace {

constexpr int kMost = 10;

/// What a statement costs: about as many instructions as the machine has for it.
struct Price {
  std::string_view opcode, type, word;  ///< type, word: empty: any; the word is one that it has
  int price;
};
// The first row that fits counts.
constexpr Price kPrices[] = {
    {"add", "", "", 1},         {"sub", "", "", 1},         {"mul", "", "", 1},       {"fma", "", "", 1},
    {"min", "", "", 1},         {"max", "", "", 1},         {"selp", "", "", 1},      {"setp", "", "", 1},
    {"copysign", "f32", "", 1}, {"copysign", "f64", "", 5}, {"sin", "", "", 1},       {"cos", "", "", 1},
    {"tanh", "", "", 1},        {"div", "f32", "full", 99}, {"div", "f32", "ftz", 2}, {"rcp", "", "ftz", 1},
    {"rsqrt", "", "ftz", 1},    {"sqrt", "", "ftz", 1},     {"ex2", "", "ftz", 1},    {"lg2", "", "ftz", 1},
    {"div", "f32", "", 8},      {"rcp", "f32", "", 8},      {"sqrt", "f32", "", 8},   {"rsqrt", "f32", "", 8},
    {"ex2", "f32", "", 8},      {"lg2", "f32", "", 8},
};

bool is_float(const View& v) {
  return v.type() == "f32" || v.type() == "f64";
}
// Part of what uses its result.
bool is_part(const View& v) {
  const bool is_sign = (v.opcode() == "neg" || v.opcode() == "abs") && !v.has("ftz");
  return (v.opcode() == "mov" || is_sign) && is_float(v) && !v.is_guarded() && v.is_register(0) &&
         v.is_register(1);
}
std::optional<int> price_of(const View& v) {
  if (is_part(v)) return 0;
  if (v.is_guarded() || !v.is_register(0) || !is_float(v) || becomes_branches(v)) return {};
  for (const Price& row : kPrices)
    if (row.opcode == v.opcode() && (row.type.empty() || row.type == v.type()) &&
        (row.word.empty() || v.has(row.word)))
      return row.price;
  return v.has("ftz") && (v.opcode() == "neg" || v.opcode() == "abs") ? std::optional(1) : std::nullopt;
}
// A function of several blocks, called or inline.
bool becomes_call(const View& v) {
  constexpr std::array<std::string_view, 5> kCallNames = {"div", "rem", "rcp", "sqrt", "rsqrt"};
  return becomes_branches(v) && std::ranges::find(kCallNames, v.opcode()) != kCallNames.end();
}

class Sinker {
 public:
  explicit Sinker(Assembled& function) : f_(function.function), flow_(flow_of(function)), editor_(function) {}

  void run() {
    find_places();
    if (calls_.size() < 2) return;
    gone_.resize(f_.statements.size());
    for (int i = static_cast<int>(f_.statements.size()); i-- > 0;) look(i);
    editor_.apply();
  }

 private:
  /// Control goes through a line from its first statement to the last one.
  struct Place {
    int line, call;  ///< how many lines, calls are above
    auto operator<=>(const Place&) const = default;
  };
  struct Cone {
    int root, until;  ///< until: the call before which it is computed
    std::set<int> statements = {};
    int price = 0;
  };

  View view(int i) const { return {f_, i}; }
  const Place& place(int i) const { return places_[static_cast<std::size_t>(i)]; }

  void find_places() {
    const auto& blocks = flow_.blocks();
    std::vector<int> ways(blocks.size());  // into a block
    for (const Flow::Block& one : blocks)
      for (const int next : one.next) ++ways[static_cast<std::size_t>(next)];
    Place at = {0, 0};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const bool goes_on = b > 0 && blocks[b - 1].next == std::vector{static_cast<int>(b)} && ways[b] == 1;
      if (!goes_on) ++at.line;
      for (int i = blocks[b].first; i < blocks[b].last; ++i) {
        places_.push_back(at);
        if (!becomes_call(view(i)) || !flow_.is_needed(i)) continue;
        calls_.push_back(i);
        ++at.call;
      }
    }
  }

  /// Adds the statements that use what one writes to a register, each as often as it does.
  void add_uses(int i, int reg, std::vector<int>& to) const {
    for (const int use : flow_.all_uses(i, reg).statements) {
      if (is_part(view(use))) {
        add_uses(use, view(use).operand(0).index, to);
        continue;
      }
      for_each_access(
          f_, use,
          [&](int one) {
            if (one == reg) to.push_back(use);
          },
          [](int) {});
    }
  }
  std::vector<int> uses(int i, int reg) const {
    std::vector<int> out;
    add_uses(i, reg, out);
    return out;
  }

  void look(int i) {
    const View v = view(i);
    if (!flow_.is_needed(i))
      for_each_access(
          f_, i, [&](int reg) { idle_[reg].push_back(i); }, [](int) {});
    if (!price_of(v) || !flow_.is_needed(i) || !flow_.is_written_once(v.operand(0).index)) return;
    std::vector<int> left = uses(i, v.operand(0).index);
    if (left.empty()) return;
    std::erase_if(left, [&](int use) { return gone_[static_cast<std::size_t>(use)]; });
    if (left.empty()) return remove(i);
    const int first = *std::ranges::min_element(left);
    if (is_part(v) || first < i || place(first).line != place(i).line || place(first).call < place(i).call + 2)
      return;
    Cone cone{i, calls_[static_cast<std::size_t>(place(first).call) - 1]};
    if (!copies_.contains({cone.until, v.operand(0).index}) && gather(i, cone)) move(cone);
  }

  // Whether a statement can be computed before the call, from what lives there.
  bool gather(int i, Cone& cone) {
    const View v = view(i);
    const auto price = price_of(v);
    if (!price || place(i).line != place(cone.root).line || !flow_.is_written_once(v.operand(0).index))
      return false;
    if (!cone.statements.insert(i).second) return true;
    cone.price += *price + (i != cone.root && *price > 0 && uses(i, v.operand(0).index).size() > 1 ? 1 : 0);
    if (cone.price > kMost) return false;
    for (int n = 1; n < v.operands(); ++n)
      if (!can_be_had(v.operand(n), cone)) return false;
    return true;
  }
  bool can_be_had(const Operand& source, Cone& cone) {
    if (source.kind != Operand::Kind::reg) return source.kind == Operand::Kind::literal;
    if (flow_.is_constant(source.index)) return true;
    const int at = flow_.only_definition(source.index);
    if (at < 0 || at > cone.root) return false;
    const View v = view(at);
    const bool is_leaf = (v.opcode() == "ld" && !v.is_guarded()) || is_plain_call(v);
    if (!is_leaf) return gather(at, cone);
    const Place from = {place(cone.root).line, place(cone.until).call};
    return std::ranges::any_of(uses(at, source.index), [&](int use) { return place(use) >= from; });
  }

  void move(const Cone& cone) {
    std::map<int, int> now;  // by register
    for (const int i : cone.statements) {
      const int reg = view(i).operand(0).index;
      const auto [copy, is_new] = copies_.try_emplace({cone.until, reg}, reg);
      if (is_new) {
        if (i != cone.root) copy->second = editor_.temporary(f_.registers[static_cast<std::size_t>(reg)].type);
        now[reg] = copy->second;
        std::vector<Operand> operands;
        for (int n = 0; n < view(i).operands(); ++n) {
          operands.push_back(view(i).operand(n));
          Operand& one = operands.back();
          const auto by = one.kind == Operand::Kind::reg ? now.find(one.index) : now.end();
          if (by != now.end()) one.index = by->second;
        }
        insert(cone, i, operands);
      }
      now[reg] = copy->second;
    }
    remove(cone.root);
    move_parts(cone, cone.root);
  }
  // What is part of its uses goes along.
  void move_parts(const Cone& cone, int i) {
    for (const int use : flow_.all_uses(i, view(i).operand(0).index).statements) {
      if (!is_part(view(use)) || gone_[static_cast<std::size_t>(use)] || use > cone.until) continue;
      insert(cone, use, {view(use).operand(0), view(use).operand(1)});
      remove(use);
      move_parts(cone, use);
    }
  }
  void insert(const Cone& cone, int like, const std::vector<Operand>& operands) {
    const View v = view(like);
    std::vector<std::string_view> words(v.words().begin(), v.words().end());
    editor_.insert_before(cone.until, editor_.make(like, v.opcode(), std::move(words), operands), like);
  }
  // What nobody needs goes with what it reads.
  void remove(int i) {
    if (gone_[static_cast<std::size_t>(i)]) return;
    gone_[static_cast<std::size_t>(i)] = true;
    editor_.remove(i);
    if (view(i).is_register(0))
      for (const int reader : idle_[view(i).operand(0).index]) remove(reader);
  }

  FunctionText& f_;
  const Flow& flow_;
  Editor editor_;
  std::vector<Place> places_;                  // by statement
  std::vector<int> calls_;                     // statements
  std::vector<bool> gone_;                     // by statement
  std::map<int, std::vector<int>> idle_;       // by register, which statements read it that nobody needs
  std::map<std::pair<int, int>, int> copies_;  // by call and register
};

}  // namespace

void sink(Assembled& function) {
  Sinker(function).run();
}

}  // namespace warpbit::assembler
