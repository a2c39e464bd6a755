// SPDX-License-Identifier: Apache-2.0
// Mistakes that put elements into other registers, lanes or places of a matrix than the fragments have.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "diagnose/diagnose_fragment.hpp"

namespace warpbit {
namespace {

using namespace diagnosis;

class FragmentCollection {
 public:
  explicit FragmentCollection(const LoadedCapture& capture)
      : instruction_(capture.instruction), in_place_(capture.before.has_value()) {
    LoadedCapture copy = capture;
    const int lanes = instruction_.lanes();
    for (const Part part : {Part::a, Part::b, Part::c, Part::d}) {
      const Operand* op = instruction_.find(part);
      if (part == Part::c && capture.before) op = &instruction_.operands()[0];
      if (op == nullptr || (part != Part::d && registers_of(copy, part) == nullptr)) continue;
      Fragment fragment(part, *op, lanes);
      if (!fragment.is_whole()) continue;
      fragments_.push_back(std::move(fragment));
      digits_.push_back(digits_of(fragments_.back()));
      coordinates_[part] = fragments_.back().coordinates();
    }
  }

  std::vector<Hypothesis> run() {
    for (std::size_t i = 0; i < fragments_.size(); ++i) one_operand({i});
    const std::size_t n = fragments_.size();
    if (n >= 2 && fragments_[n - 2].part() == Part::c && !in_place_) one_operand({n - 2, n - 1});  // C and D
    if (n >= 3) {
      std::vector<std::size_t> all(n);
      for (std::size_t i = 0; i < n; ++i) all[i] = i;
      lanes(all);
      lane_digits(all);
    }
    return std::move(out_);
  }

 private:
  using Which = std::vector<std::size_t>;

  std::string names(const Which& which) const {
    std::string out;
    for (const std::size_t i : which)
      out += fmt::format("{}{}",
                         out.empty()         ? ""
                         : i == which.back() ? " and "
                                             : ", ",
                         letter(fragments_[i].part()));
    return out;
  }

  // One mistake with the same source of elements in all these operands. Whether it reaches elsewhere.
  template <class Source>
  bool add(Which which, std::string kind, std::string mistake, std::string hint, int cost, bool pairs,
           Source source) {
    PartMaps maps;
    bool elsewhere = false;
    for (const std::size_t i : which) {
      const Fragment& f = fragments_[i];
      maps.emplace_back(f.part(), map_of(f, [&](const Index& index) {
                          const std::int32_t slot = source(f, index);
                          elsewhere = elsewhere || slot == kElsewhere;
                          return slot;
                        }));
      const auto reads = [](std::int32_t slot) { return slot >= 0; };
      if (std::ranges::none_of(maps.back().second, reads)) return elsewhere;
    }
    add_maps(std::move(which), {std::move(kind), {}, std::move(mistake), std::move(hint), cost, pairs},
             std::move(maps));
    return elsewhere;
  }
  // The same with a map that says for D, too, what each slot is read from.
  void add_maps(const Which& which, Hypothesis h, PartMaps maps) {
    if (std::ranges::all_of(maps, [](const auto& map) { return is_identity(map.second); })) return;
    if (!seen_.insert(hash_of(maps)).second) return;
    if (which.size() > 1) ++h.cost;
    for (const auto& [part, map] : maps)
      h.neighbours = h.neighbours || std::ranges::any_of(map, [&, size = map.size()](std::int32_t slot) {
                       return slot >= static_cast<std::int32_t>(size);
                     });
    for (const std::size_t i : which) h.operand += (h.operand.empty() ? "" : " ") + role(fragments_[i].part());
    SlotMap of_d;
    if (maps.back().first == Part::d) {
      of_d = maps.back().second;
      maps.pop_back();
    }
    if (!maps.empty())
      h.inputs = [maps, coordinates = coordinates_](Trial& trial) {
        const Instruction& instruction = trial.capture.instruction;
        for (const auto& [part, map] : maps) {
          Array* registers = registers_of(trial.capture, part);
          const Operand* op = instruction.find(part);
          move_slots(op ? *op : instruction.operands()[0], instruction.lanes(), map, Array(*registers),
                     *registers);
          forget(part, *coordinates.at(part), *coordinates.at(Part::d), map, trial.capture.cases, trial.known);
        }
      };
    if (!of_d.empty())
      h.results = [of_d](const LoadedCapture& inputs, Prediction& p) {
        const Instruction& instruction = inputs.instruction;
        move_slots(instruction.operands()[0], instruction.lanes(), of_d, Array(p.d), p.d);
        std::vector<Knowledge> known(p.known.size());
        for (std::size_t i = 0; i < known.size(); ++i) {
          const std::int32_t from = of_d[i % of_d.size()];
          known[i] = from < 0 ? Knowledge::unwritten
                              : p.known[i / of_d.size() * of_d.size() + static_cast<std::size_t>(from)];
        }
        p.known = std::move(known);
      };
    out_.push_back(std::move(h));
  }

  void one_operand(const Which& which) {
    registers(which);
    lanes(which);
    transpositions(which);
    leading_dimensions(which);
    terms_exchanged(which);
    shifts(which);
    not_loaded(which);
    for (const std::size_t i : which)
      if (digits_[i].empty()) return;
    digits(which);
  }

  // What is beyond the ends of lines and tiles.
  enum class Memory { unknown, tight, tiles };
  // Those to try: what D has beyond its tile is never seen; of C and D together the plainest.
  std::span<const Memory> memories(const Which& which) const {
    static constexpr std::array kAll{Memory::unknown, Memory::tight, Memory::tiles};
    if (which.size() == 2) return std::span(kAll).first(1);
    return std::span(kAll).first(fragments_[which[0]].part() == Part::d ? 2 : 3);
  }
  static std::int32_t slot_of(const Fragment& f, const Coordinate& c, Memory memory) {
    if (memory == Memory::unknown) return f.slot_at(c);
    return f.slot_at_address(f.outer(c) * f.line() + f.inner(c), c.product, memory == Memory::tiles);
  }

  static std::int32_t slot_of(const Fragment& f, const Index& i) {
    return static_cast<std::int32_t>((i.lane * f.registers() + i.reg) * f.per_register() + i.slot);
  }

  // "a0 and a2, a1 and a3 are exchanged"
  static std::string exchange_text(std::string_view what, int n, int mask) {
    std::string out;
    int pairs = 0;
    for (int i = 0; i < n; ++i) {
      if (i > (i ^ mask)) continue;
      if (++pairs > 4) return fmt::format("{}, and so on, are exchanged", out);
      out += fmt::format("{0}{1}{2} and {1}{3}", out.empty() ? "" : ", ", what, i, i ^ mask);
    }
    return out + " are exchanged";
  }

  void registers(const Which& which) {
    const Fragment& first = fragments_[which[0]];
    const int n = first.registers(), per = first.per_register();
    const std::string name = names(which), r = role(first.part());
    const std::string hint = fmt::format("compare the order of {}'s registers with the fragment's", name);
    const auto reg = [&](std::string text, int cost, auto other) {
      add(which, "register_order", fmt::format("registers of {}: {}", name, text), hint, cost, true,
          [&](const Fragment& f, const Index& i) {
            return slot_of(f, {i.lane, other(i.reg), i.slot});
          });
    };
    for (int x = 0; x < n; ++x)
      for (int y = x + 1; y < n && (n <= 8 || y == (x ^ 1)); ++y)
        reg(fmt::format("{}{} and {}{} are exchanged", r, x, r, y), 1, [&](int i) {
          return i == x ? y : i == y ? x : i;
        });
    for (int mask = 1; mask < n && n % (2 * static_cast<int>(std::bit_floor(static_cast<unsigned>(mask)))) == 0;
         ++mask)
      reg(exchange_text(r, n, mask), 1, [&](int i) { return i ^ mask; });
    // One operand of the statement given twice. What happens to a register of D then is the compiler's choice.
    for (int x = 0; x < n && n <= 8 && which.size() == 1 && first.part() != Part::d; ++x)
      for (int y = 0; y < n; ++y)
        if (x != y) {
          add(which, "register_order",
              fmt::format("registers of {0}: {1}{2} is passed in the place of {1}{3}", name, r, x, y), hint, 1,
              false, [&](const Fragment& f, const Index& i) {
                return slot_of(f, {i.lane, i.reg == y ? x : i.reg, i.slot});
              });
        }
    reg("reversed", 2, [&](int i) { return n - 1 - i; });
    reg("rotated by one", 2, [&](int i) { return (i + 1) % n; });
    reg("rotated back by one", 2, [&](int i) { return (i + n - 1) % n; });
    for (int bits = 1; 1 << bits < n && std::has_single_bit(static_cast<unsigned>(n)); ++bits)
      reg(fmt::format("the index is split at {} the wrong way round", 1 << bits), 2, [&](int i) {
        return i >> bits | (i & ((1 << bits) - 1)) << (std::bit_width(unsigned(n - 1)) - bits);
      });
    for (int mask = 1; mask < per; ++mask)
      add(which, "element_order",
          per == 2
              ? fmt::format("the two halves of each register of {} are exchanged", name)
              : fmt::format("elements of each register of {}: {}", name, exchange_text("element ", per, mask)),
          "the first element is in the lowest bits of a register", 1, true,
          [&](const Fragment& f, const Index& i) {
            return slot_of(f, {i.lane, i.reg, i.slot ^ mask});
          });
  }

  void lanes(const Which& which) {
    for (const auto& [text, other] : lane_orders())
      add(which, "lane_order", fmt::format("lanes of {}: {}", names(which), text),
          fmt::format("row and column of {}'s elements follow from lane / 4 and lane % 4", names(which)), 2,
          false, [&](const Fragment& f, const Index& i) {
            return slot_of(f, {(i.lane & ~31) | other(i.lane & 31), i.reg, i.slot});
          });
  }

  void transpositions(const Which& which) {
    const std::string name = names(which);
    const std::string hint =
        fmt::format("row-major or column-major? ldmatrix and stmatrix of {}: .trans missing or too much", name);
    const auto add_one = [&](std::string text, int cost, auto source) {
      add(which, "transposed", fmt::format("rows and columns of {} are exchanged{}", name, text), hint, cost,
          true, [&](const Fragment& f, const Index& i) { return source(f, f.at(i)); });
    };
    add_one("", 1, [](const Fragment& f, const Coordinate& c) {
      return f.slot_at({c.column, c.row, c.product});
    });
    add_one(" (tightly stored, its own leading dimension)", 1, [](const Fragment& f, const Coordinate& c) {
      return f.slot_at_address(f.inner(c) * f.line() + f.outer(c), c.product);
    });
    add_one(" (tightly stored, into the next tile)", 2, [](const Fragment& f, const Coordinate& c) {
      return f.slot_at_address(f.inner(c) * f.line() + f.outer(c), c.product, true);
    });
    add_one(" (tightly stored, leading dimension of the transposed)", 1,
            [](const Fragment& f, const Coordinate& c) {
              const int lines = f.lines_first() ? f.op().fragment.rows() : f.op().fragment.columns();
              const int address = f.inner(c) * lines + f.outer(c);
              return f.slot_at_address(address, c.product);
            });
    add_one(" within each 8x8 matrix", 1, [](const Fragment& f, const Coordinate& c) {
      return f.slot_at({c.row / 8 * 8 + c.column % 8, c.column / 8 * 8 + c.row % 8, c.product});
    });
  }

  void leading_dimensions(const Which& which) {
    const Fragment& first = fragments_[which[0]];
    const Instruction& in = instruction_;
    const int line = first.line();
    for (const int wrong :
         {in.rows(), in.columns(), in.depth(), in.terms(), line + 1, line - 1, 2 * line, line / 2, 0})
      add(which, "leading_dimension",
          fmt::format("{} has a leading dimension of {} instead of {}", names(which), wrong, line),
          fmt::format("a line of {} has {} elements", names(which), line), 2, false,
          [&](const Fragment& f, const Index& i) {
            const Coordinate c = f.at(i);
            const int address = f.outer(c) * wrong + f.inner(c);
            return f.slot_at_address(address, c.product);
          });
  }

  // outer * inner + line: the leading dimension and the index in the line exchanged
  void terms_exchanged(const Which& which) {
    add(which, "leading_dimension",
        fmt::format("{}: row times column plus the leading dimension", names(which)),
        "the terms of the address", 3, false, [&](const Fragment& f, const Index& i) {
          const Coordinate c = f.at(i);
          return f.slot_at_address(f.outer(c) * f.inner(c) + f.line(), c.product, true);
        });
  }

  void shifts(const Which& which) {
    const auto shift = [&](int cost, auto source) {
      for (const int by : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16})
        for (const bool rows : {true, false})
          add(which, "offset",
              fmt::format("{} is read or written {} {} {}", names(which), std::abs(by),
                          rows ? "rows" : "columns", by > 0 ? "too far" : "too early"),
              fmt::format("the first element of the tile of {}", names(which)), cost, false,
              [&](const Fragment& f, const Index& i) {
                return source(f, f.at(i) + Coordinate{rows ? by : 0, rows ? 0 : by, 0});
              });
    };
    for (const Memory memory : memories(which))
      shift(2 + static_cast<int>(memory),
            [memory](const Fragment& f, const Coordinate& c) { return slot_of(f, c, memory); });
    // Lines the other way, B by rows: what is beyond the last one is the next tile's.
    if (memories(which).back() == Memory::tiles)
      shift(5, [](const Fragment& f, const Coordinate& c) { return f.slot_in_next(c); });
  }

  // Registers that stay 0; of D, that are not written.
  void not_loaded(const Which& which) {
    const Fragment& first = fragments_[which[0]];
    if (which.size() > 1) return;
    const std::string r = role(first.part());
    const bool stores = first.part() == Part::d;
    const auto zero = [&](std::string text, auto is_zero) {
      SlotMap map(first.size());
      for (std::size_t i = 0; i < map.size(); ++i)
        map[i] = is_zero(first.index(i)) ? kZero : static_cast<std::int32_t>(i);
      Hypothesis h{stores ? "not_stored" : "not_loaded",
                   {},
                   fmt::format("{} {}", text, stores ? "not stored, 0" : "not loaded, 0"),
                   "the bound of the loop over registers or elements",
                   1,
                   true};
      add_maps(which, std::move(h), {{first.part(), std::move(map)}});
    };
    const int n = first.registers();
    if (first.part() == Part::a || first.part() == Part::b)
      zero(fmt::format("all of {} is", letter(first.part())), [](const Index&) { return true; });
    for (int x = 0; x < n && n <= 8; ++x)
      zero(fmt::format("register {}{} is", r, x), [&](const Index& i) { return i.reg == x; });
    if (n > 8) zero(fmt::format("register {}{} is", r, n - 1), [&](const Index& i) { return i.reg == n - 1; });
    for (const auto& [from, to] : {std::pair(16, 31), std::pair(0, 15), std::pair(8, 31), std::pair(1, 31)})
      zero(fmt::format("{} in lanes {} to {} is", letter(first.part()), from, to),
           [from = from, to = to](const Index& i) { return i.lane % 32 >= from && i.lane % 32 <= to; });
    for (int from = n - 2; from > 0; --from)
      zero(fmt::format("registers {}{} to {}{} are", r, from, r, n - 1),
           [&](const Index& i) { return i.reg >= from; });
    for (int e = 0; e < first.per_register() && first.per_register() > 1; ++e)
      zero(fmt::format("element {} of each register of {} is", e, letter(first.part())),
           [&](const Index& i) { return i.slot == e; });
    for (int from = 1; from < first.per_register() - 1; ++from)
      zero(fmt::format("elements {} and up of each register of {} are", from, letter(first.part())),
           [&](const Index& i) { return i.slot >= from; });
  }

  // The coordinate with some digits computed otherwise: what they move by then.
  template <class Change>
  void add_changed(const Which& which, const Hypothesis& h, std::span<const Digit> changed, Change change) {
    std::vector<std::vector<Digit>> digits(fragments_.size());
    for (const std::size_t i : which)
      for (const Digit& digit : digits_[i])
        if (std::ranges::any_of(changed, [&](const Digit& other) { return is_same(digit, other); }))
          digits[i].push_back(digit);
    for (const Memory memory : memories(which))
      if (!add(which, h.kind, h.mistake + std::string(memory == Memory::tiles ? " (into the next tile)" : ""),
               h.hint, h.cost + static_cast<int>(memory), h.pairs, [&](const Fragment& f, const Index& i) {
                 Coordinate c = f.at(i);
                 for (const Digit& digit : digits[static_cast<std::size_t>(&f - fragments_.data())])
                   c = c + change(digit, i) + -digit.of(i) * digit.step;
                 return slot_of(f, c, memory);
               }))
        return;
  }
  static bool is_same(const Digit& x, const Digit& y) { return x.source == y.source && x.first == y.first; }

  void digits(const Which& which) {
    const std::vector<Digit>& all = digits_[which[0]];
    for (const Digit& digit : all) {
      expressions_of(which, digit);
      steps_of(which, digit);
    }
    exchanged(which, all);
    variables_exchanged(which, all);
  }

  // The digit is computed from its index by another expression.
  void expressions_of(const Which& which, const Digit& digit) {
    static const std::vector<Expression> kAll = expressions();
    constexpr std::array<std::string_view, 3> kNames{"lane", "i", "j"};
    constexpr std::array<std::string_view, 3> kKinds{"lane_order", "register_order", "element_order"};
    const auto source = static_cast<std::size_t>(digit.source);
    // of a warpgroup, the thread's index or the lane in the warp
    const int warps = digit.source == 0 && fragments_[which[0]].lanes() > 32 ? 2 : 1;
    const Fragment& f = fragments_[which[0]];
    const std::array counts{f.lanes(), f.registers(), f.per_register()};
    std::set<std::vector<int>> effects;
    for (const Expression& e : kAll)
      for (int whole = 0; whole < warps; ++whole) {
        std::vector<int> effect;
        for (int x = 0; x < counts[source]; ++x)
          effect.push_back(e.value(digit.source == 0 && !whole ? x % 32 : x, e.constant));
        if (!effects.insert(std::move(effect)).second) continue;
        add_changed(
            which,
            {std::string(kKinds[source]),
             {},
             fmt::format("{}: {} instead of {}", names(which),
                         fmt::format(fmt::runtime(e.text), whole ? "thread" : kNames[source]), digit.text()),
             fmt::format("what {} chooses in {}", digit.text(), names(which)),
             3 + whole},
            std::span(&digit, 1), [&](const Digit& d, const Index& i) {
              const int index = d.source == 0 && !whole ? i.lane % 32 : d.index_of(i);
              return e.value(index, e.constant) * d.step;
            });
      }
  }

  // The digit moves by another step.
  void steps_of(const Which& which, const Digit& digit) {
    const Coordinate s = digit.step;
    const auto other = [&](int rows, int columns) {
      add_changed(
          which,
          {"index_constant",
           {},
           fmt::format("{}: {} moves by {} instead of {}", names(which), digit.text(),
                       step_text({rows, columns, 0}, digits_part(which)), step_text(s, digits_part(which))),
           fmt::format("the constants in the addresses of {}", names(which)),
           2},
          std::span(&digit, 1),
          [&, step = Coordinate{rows, columns, s.product}](const Digit& d, const Index& i) {
            return d.of(i) * step;
          });
    };
    for (const int by : {-1, 1}) other(s.row ? s.row + by : 0, s.column ? s.column + by : 0);
    other(2 * s.row, 2 * s.column);
    other(s.row / 2, s.column / 2);
    other(0, 0);
    other(s.column, s.row);
    other(4 * s.row, 4 * s.column);
  }
  Part digits_part(const Which& which) const { return fragments_[which[0]].part(); }

  // Two digits exchange what they move by.
  void exchanged(const Which& which, const std::vector<Digit>& all) {
    for (std::size_t x = 0; x < all.size(); ++x)
      for (std::size_t y = x + 1; y < all.size(); ++y)
        add_changed(which,
                    {all[x].source == 0 && all[y].source == 0 ? "lane_order" : "register_order",
                     {},
                     fmt::format("{}: {} and {} are exchanged", names(which), all[x].text(), all[y].text()),
                     fmt::format("which index chooses what in {}", names(which)),
                     2},
                    std::array{all[x], all[y]}, [&](const Digit& d, const Index& i) {
                      return d.of(i) * (is_same(d, all[x]) ? all[y].step : all[x].step);
                    });
  }

  // Two indices stand in each other's place: what is shifted or masked of one is so of the other.
  void variables_exchanged(const Which& which, const std::vector<Digit>& all) {
    const auto variable = [](const Digit& d, const Index& i) {
      return d.source == 0 ? d.of(i) : d.index_of(i);
    };
    const auto part_of = [&](const Digit& d, int x) {
      const bool last = std::ranges::none_of(
          all, [&](const Digit& other) { return other.source == d.source && other.first > d.first; });
      return d.source != 1 ? x : last ? x >> d.first : x >> d.first & ((1 << d.bits) - 1);
    };
    for (const Digit& x : all)
      for (const Digit& y : all) {
        if (x.source == y.source && (x.source != 0 || x.first >= y.first)) continue;
        if (x.source > y.source) continue;
        add_changed(
            which,
            {x.source == 0 && y.source == 0 ? "lane_order" : "register_order",
             {},
             fmt::format("{}: the indices in {} and {} are exchanged", names(which), x.text(), y.text()),
             fmt::format("which index chooses what in {}", names(which)),
             3},
            std::array{x, y}, [&](const Digit& d, const Index& i) {
              return (is_same(d, x) ? part_of(x, variable(y, i)) : part_of(y, variable(x, i))) * d.step;
            });
      }
  }

  // lane / 4 and lane % 4, computed once for all operands.
  void lane_digits(const Which& all) {
    for (const std::size_t i : all)
      if (digits_[i].size() < 2 || digits_[i][0].source != 0 || digits_[i][1].source != 0 ||
          digits_[i][0].bits != 2)
        return;
    const std::vector<Digit> lane{digits_[0][0], digits_[0][1]};
    for (const Digit& digit : lane) expressions_of(all, digit);
    add(all, "lane_order", "lane / 4 and lane % 4 are exchanged in all operands",
        "the group is lane / 4, the thread in it lane % 4", 2, false, [&](const Fragment& f, const Index& i) {
          const std::vector<Digit>& digits = digits_[static_cast<std::size_t>(&f - fragments_.data())];
          Coordinate c;
          for (const Digit& d : digits)
            c = c + (is_same(d, lane[0])   ? i.lane % 32 / 4
                     : is_same(d, lane[1]) ? i.lane % 4
                                           : d.of(i)) *
                        d.step;
          return f.slot_at(c);
        });
  }

  const Instruction& instruction_;
  bool in_place_;  // D is C: a kernel stores it, and loads it elsewhere if at all
  std::vector<Fragment> fragments_;
  std::vector<std::vector<Digit>> digits_;
  std::map<Part, std::shared_ptr<const SlotCoordinates>> coordinates_;
  std::set<std::uint64_t> seen_;  // hashes of maps
  std::vector<Hypothesis> out_;
};

}  // namespace

std::vector<Hypothesis> fragment_hypotheses(const LoadedCapture& capture) {
  return FragmentCollection(capture).run();
}

}  // namespace warpbit
