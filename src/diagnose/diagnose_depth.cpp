// SPDX-License-Identifier: Apache-2.0
// Mistakes in what is summed: parts of K, the accumulator, signs, exchanged factors, containers of narrow
// elements, tiles of other cases.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "diagnose/diagnose_trial.hpp"
#include "numeric/value.hpp"

namespace warpbit {
namespace {

// A map of an operand's slots by what is read for an element: a coordinate, nothing for 0.
template <class Source>
SlotMap by_coordinate(const Operand& to, const Operand& from, int lanes, Source source) {
  const FragmentMap& f = from.fragment;
  const std::vector<Place> table = f.table();
  const Packing& packing = f.packing();
  const int per = to.fragment.packing().per_register();
  SlotMap out(slots_of(to, lanes), kElsewhere);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int n = static_cast<int>(i);
    const auto at = to.fragment.at(n / per / to.registers, n / per % to.registers, n % per);
    if (!at) continue;
    const std::optional<Coordinate> c = source(*at);
    if (!c) {
      out[i] = kZero;
      continue;
    }
    if (c->row < 0 || c->row >= f.rows() || c->column < 0 || c->column >= f.columns()) continue;
    const Place& place =
        table[static_cast<std::size_t>((c->product * f.rows() + c->row) * f.columns() + c->column)];
    out[i] = (place.lane * from.registers + place.reg) * packing.per_register() +
             (place.low_bit - packing.low_bit_of(0)) / packing.slot_bits;
  }
  return out;
}

void forget_part(Trial& trial, Part part, const SlotMap& map) {
  const Instruction& i = trial.capture.instruction;
  forget(part, coordinates_of(*i.find(part), i.lanes()), coordinates_of(i.operands()[0], i.lanes()), map,
         trial.capture.cases, trial.known);
}

using Registers = std::vector<std::pair<Part, SlotMap>>;
void move_all(Trial& trial, const Registers& maps) {
  for (const auto& [part, map] : maps) {
    Array* registers = registers_of(trial.capture, part);
    const Instruction& i = trial.capture.instruction;
    move_slots(*i.find(part), i.lanes(), map, Array(*registers), *registers);
    if (std::ranges::find(map, kElsewhere) != map.end()) forget_part(trial, part, map);
  }
}

// The bits of all elements of a register.
std::uint64_t in_all_slots(const Packing& packing, std::uint64_t element) {
  std::uint64_t out = 0;
  for (int slot = 0; slot < packing.per_register(); ++slot) out |= element << packing.low_bit_of(slot);
  return out;
}

// The sum of two codes.
std::uint64_t add_codes(const Format& f, std::uint64_t x, std::uint64_t y) {
  if (f.is_integer) return (x + y) & f.mask();
  const Value total = sum(value_of(decode(f, x), f), value_of(decode(f, y), f), Rounding::nearest_even);
  return round(f, total, Rounding::nearest_even);
}

bool is_signed_magnitude(const Operand& op) {
  const Format& f = *find_format(op.format);
  return !f.is_integer && f.is_signed;
}

// x + y, element by element; both have the packing of `op`.
Array sum_of(const Operand& op, const Array& x, const Array& y) {
  const Format& f = *find_format(op.format);
  const Packing& packing = op.fragment.packing();
  const std::uint64_t mask = packing.mask();
  Array out = x;
  for (std::uint64_t i = 0; i < x.header.items(); ++i) {
    std::uint64_t bits = 0;
    for (int slot = 0; slot < packing.per_register(); ++slot) {
      const int low = packing.low_bit_of(slot);
      bits |= add_codes(f, x.at(i) >> low & mask, y.at(i) >> low & mask) << low;
    }
    out.set(i, bits);
  }
  return out;
}

class DepthCollection {
 public:
  explicit DepthCollection(const LoadedCapture& capture)
      : capture_(capture), instruction_(capture_.instruction), lanes_(instruction_.lanes()) {}

  std::vector<Hypothesis> run() {
    accumulator();
    const bool a = has(Part::a), b = has(Part::b);
    if (a || b) depth(a, b);
    for (const Part part : {Part::a, Part::b})
      if (has(part)) factor(part);
    if (a && b) factors_exchanged();
    other_tiles();
    return std::move(out_);
  }

 private:
  bool has(Part part) { return registers_of(capture_, part) != nullptr; }
  const Operand& operand(Part part) const {
    const Operand* op = instruction_.find(part);
    return op == nullptr ? instruction_.operands()[0] : *op;  // D where it is the accumulator
  }
  void add_inputs(Hypothesis h, std::function<void(Trial&)> inputs) {
    h.inputs = std::move(inputs);
    out_.push_back(std::move(h));
  }

  // ---- C

  void accumulator() {
    if (!has(Part::c)) return;
    const Operand &c = operand(Part::c), &d = instruction_.operands()[0];
    const std::string hint = "where the accumulators begin, and how often they are added";
    add_inputs({"accumulator_missing", "c", "C is not added", hint, 1, true}, [](Trial& trial) {
      std::ranges::fill(registers_of(trial.capture, Part::c)->data, std::byte{0});
      if (Array* scale = scale_d(trial.capture)) std::ranges::fill(scale->data, std::byte{1});
    });
    add_inputs({"accumulator_kept", "c", "C is added though scale-d is 0", "the predicate scale-d", 1, true},
               [](Trial& trial) {
                 if (Array* scale = scale_d(trial.capture)) std::ranges::fill(scale->data, std::byte{1});
               });
    if (is_signed_magnitude(c)) {
      const std::uint64_t sign = in_all_slots(c.fragment.packing(), std::uint64_t{1} << (c.element_bits - 1));
      add_inputs({"sign", "c", "C is subtracted", "the sign of the accumulators", 1, true},
                 [sign](Trial& trial) {
                   change_registers(trial.capture, Part::c, [sign](std::uint64_t x) { return x ^ sign; });
                 });
    }
    if (c.format != d.format) return;
    Hypothesis skipped{"not_executed", "d", "the instruction is not executed: D is C",
                       "the bound of the loop over K", 1};
    skipped.execution = [](const LoadedCapture& inputs) { return c_as_d(inputs); };
    out_.push_back(skipped);
    Hypothesis zero{"not_stored", "d", "D is not stored: it is 0", "whether the results are written", 1};
    zero.execution = [](const LoadedCapture& inputs) -> Result<Array> {
      Array out = inputs.expected;
      std::ranges::fill(out.data, std::byte{0});
      return out;
    };
    out_.push_back(zero);
    twice(d);
  }

  static Array* scale_d(LoadedCapture& capture) {
    const auto operands = capture.instruction.operands();
    for (std::size_t i = 1; i < operands.size(); ++i)
      if (operands[i].part == Part::scale_d && !capture.sources[i - 1].data.empty())
        return &capture.sources[i - 1];
    return nullptr;
  }
  static Array c_as_d(const LoadedCapture& inputs) {
    LoadedCapture copy = inputs;
    Array out = *registers_of(copy, Part::c);
    out.header = inputs.expected.header;
    return out;
  }

  // C, or the product, added twice.
  void twice(const Operand& d) {
    const std::string hint = "where the accumulators begin, and how often they are added";
    const auto add = [&](std::string kind, std::string text,
                         std::function<Result<Array>(const LoadedCapture&)> run) {
      Hypothesis h{std::move(kind), "c", std::move(text), hint, 2};
      h.execution = std::move(run);
      out_.push_back(std::move(h));
    };
    add("accumulator_twice", "C is added twice, the second time to D",
        [d](const LoadedCapture& in) -> Result<Array> {
          const Result<Array> once = execute_trial(in);
          return once ? Result<Array>(sum_of(d, *once, c_as_d(in))) : once;
        });
    add("accumulator_twice", "C is doubled before the product is added",
        [d](const LoadedCapture& in) { return execute_after(in, sum_of(d, c_as_d(in), c_as_d(in))); });
    add("executed_twice", "the product is added twice", [](const LoadedCapture& in) -> Result<Array> {
      const Result<Array> once = execute_trial(in);
      return once ? execute_after(in, *once) : once;
    });
  }
  static Result<Array> execute_after(const LoadedCapture& inputs, const Array& c) {
    LoadedCapture next = inputs;
    Array* registers = registers_of(next, Part::c);
    registers->data = c.data;
    return execute_trial(next);
  }

  // ---- K

  static int k_of(Part part, const Coordinate& c) { return part == Part::a ? c.column : c.row; }
  static Coordinate with_k(Part part, Coordinate c, int k) {
    (part == Part::a ? c.column : c.row) = k;
    return c;
  }
  // A map that changes k alone; -1 for 0.
  template <class Source>
  SlotMap k_map(Part part, Source source) const {
    const Operand& op = operand(part);
    return by_coordinate(op, op, lanes_, [&](const Coordinate& c) -> std::optional<Coordinate> {
      const int k = source(k_of(part, c));
      if (k < 0) return std::nullopt;
      return with_k(part, c, k);
    });
  }
  // k of B for k of a stored element of A.
  int scale_of(Part part) const { return part == Part::b ? instruction_.depth() / instruction_.terms() : 1; }

  template <class Source>
  void add_k(bool a, bool b, Hypothesis h, Source source) {
    Registers maps;
    for (const Part part : {Part::a, Part::b}) {
      if (part == Part::a ? !a : !b) continue;
      const int scale = scale_of(part);
      maps.emplace_back(part, k_map(part, [&](int k) {
                          const int other = source(k / scale);
                          return other < 0 ? -1 : other * scale + k % scale;
                        }));
      h.operand += (h.operand.empty() ? "" : " ") + std::string(part == Part::a ? "a" : "b");
    }
    add_inputs(std::move(h), [maps](Trial& trial) { move_all(trial, maps); });
  }

  void depth(bool a, bool b) {
    const int terms = instruction_.terms();
    for (int size = terms / 2; size >= std::max(1, terms / 32); size /= 2)
      for (int first = 0; first < terms; first += size) {
        add_k(a, b,
              {"depth_missing",
               {},
               fmt::format("k {} to {} are not summed", first, first + size - 1),
               "the bound of the loop over K",
               1,
               size == terms / 2},
              [&](int k) { return k >= first && k < first + size ? -1 : k; });
        if (size >= terms / 4) repeated(a, b, first, size);
      }
    for (int last = std::max(1, terms - 4); last < terms - 1; ++last)
      add_k(a, b,
            {"depth_missing",
             {},
             fmt::format("k {} to {} are not summed", last, terms - 1),
             "the bound of the loop over K",
             2},
            [&](int k) { return k >= last ? -1 : k; });
  }
  // Elements [first, first + size) are those of another run of K again.
  void repeated(bool a, bool b, int first, int size) {
    for (int from = 0; from < instruction_.terms(); from += size) {
      if (from == first) continue;
      for (int which = 1; which < 4; ++which) {
        if ((which & 1 && !a) || (which & 2 && !b)) continue;
        const char* const names[] = {"", "A", "B", "A and B"};
        add_k(
            which & 1, which & 2,
            {"depth_repeated",
             {},
             fmt::format("{}: k {} to {} are those from {} again", names[which], first, first + size - 1, from),
             "how the address advances with K",
             2},
            [&](int k) { return k >= first && k < first + size ? k - first + from : k; });
      }
    }
  }

  // ---- A or B

  void factor(Part part) {
    const Operand& op = operand(part);
    const std::string name = part == Part::a ? "A" : "B", role(op.role);
    if (is_signed_magnitude(op)) {
      const std::uint64_t sign = in_all_slots(op.fragment.packing(), std::uint64_t{1} << (op.element_bits - 1));
      add_inputs({"sign", role, name + " is negated", "the sign of " + name, 1, true},
                 [part, sign](Trial& trial) {
                   change_registers(trial.capture, part, [sign](std::uint64_t x) { return x ^ sign; });
                 });
    }
    const Packing& packing = op.fragment.packing();
    if (packing.low_bit == 0 || packing.bits == packing.slot_bits) return;
    const int low = packing.low_bit;
    const std::uint64_t mask = in_all_slots(packing, (std::uint64_t{1} << packing.bits) - 1);
    add_inputs({"container", role,
                fmt::format("elements of {} lie in bits 0 to {} of their containers instead of {} to {}", name,
                            packing.bits - 1, low, low + packing.bits - 1),
                fmt::format("shift each element of {} left by {}", name, low), 1, true},
               [part, low, mask](Trial& trial) {
                 change_registers(trial.capture, part,
                                  [low, mask](std::uint64_t x) { return ((x & mask) >> low) & mask; });
               });
    add_inputs({"container", role, fmt::format("elements of {} are shifted twice", name),
                fmt::format("shift each element of {} left by {} once", name, low), 2},
               [part, low, mask](Trial& trial) {
                 change_registers(trial.capture, part,
                                  [low, mask](std::uint64_t x) { return ((x & mask) << low) & mask; });
               });
  }

  // A is filled from B's matrix by A's indices, and B from A's.
  void factors_exchanged() {
    const Operand &a = operand(Part::a), &b = operand(Part::b);
    if (a.fragment.packing() != b.fragment.packing()) return;
    const auto exchanged = [](const Coordinate& c) -> std::optional<Coordinate> {
      return Coordinate{c.column, c.row, c.product};
    };
    const SlotMap to_a = by_coordinate(a, b, lanes_, exchanged), to_b = by_coordinate(b, a, lanes_, exchanged);
    add_inputs({"factors_exchanged", "a b", "A and B are exchanged", "which operand is which matrix", 1, true},
               [to_a, to_b](Trial& trial) {
                 const Instruction& i = trial.capture.instruction;
                 Array &x = *registers_of(trial.capture, Part::a), &y = *registers_of(trial.capture, Part::b);
                 const Array old_x = x, old_y = y;
                 exchange(*i.find(Part::a), *i.find(Part::b), to_a, old_y, x, i.lanes());
                 exchange(*i.find(Part::b), *i.find(Part::a), to_b, old_x, y, i.lanes());
                 forget_part(trial, Part::a, missing(to_a));
                 forget_part(trial, Part::b, missing(to_b));
               });
  }
  // Slots of another operand count as known.
  static SlotMap missing(SlotMap map) {
    for (std::int32_t& slot : map) slot = std::min(slot, 0);
    return map;
  }
  // move_slots between two operands.
  static void exchange(const Operand& to_op, const Operand& from_op, const SlotMap& map, const Array& from,
                       Array& to, int lanes) {
    const Packing& packing = to_op.fragment.packing();
    const int per = packing.per_register();
    const std::uint64_t mask = packing.mask();
    const auto in = static_cast<std::uint64_t>(lanes * from_op.registers);
    const auto out = static_cast<std::uint64_t>(lanes * to_op.registers);
    std::ranges::fill(to.data, std::byte{0});
    for (std::uint64_t n = 0; n < to.header.items() / out; ++n)
      for (std::size_t slot = 0; slot < map.size(); ++slot) {
        if (map[slot] < 0) continue;
        const int s = static_cast<int>(slot);
        const std::uint64_t item = n * out + static_cast<std::uint64_t>(s / per);
        const std::uint64_t bits = from.at(n * in + static_cast<std::uint64_t>(map[slot] / per)) >>
                                       packing.low_bit_of(map[slot] % per) &
                                   mask;
        to.set(item, to.at(item) | bits << packing.low_bit_of(s % per));
      }
  }

  // ---- Tiles

  // The operand of another case: the address does not advance, or too early.
  void other_tiles() {
    if (capture_.cases < 2) return;
    struct Row {
      std::string_view text;
      std::int64_t (*other)(std::int64_t n);
    };
    static constexpr Row kRows[] = {
        {"the case before", [](std::int64_t n) { return n - 1; }},
        {"the next case", [](std::int64_t n) { return n + 1; }},
        {"the first case", [](std::int64_t) { return std::int64_t{0}; }},
    };
    for (const Part part : {Part::a, Part::b, Part::c, Part::metadata, Part::scale_a, Part::scale_b}) {
      if (!has(part)) continue;
      const std::string role = part == Part::c ? std::string("c") : std::string(operand(part).role);
      for (const Row& row : kRows) {
        Hypothesis h{"other_tile",
                     role,
                     fmt::format("{} is that of {}", role, row.text),
                     "how the address advances from one instruction to the next",
                     2,
                     false,
                     true};
        add_inputs(std::move(h), [part, other = row.other](Trial& trial) {
          Array& array = *registers_of(trial.capture, part);
          const Array old = array;
          const auto count = static_cast<std::int64_t>(trial.capture.cases);
          const auto bytes = static_cast<std::int64_t>(array.data.size()) / count;
          const auto slots = static_cast<std::ptrdiff_t>(trial.known.size()) / count;
          for (std::int64_t n = 0; n < count; ++n) {
            const std::int64_t from = other(n);
            if (from >= 0 && from < count)
              std::copy_n(old.data.begin() + from * bytes, bytes, array.data.begin() + n * bytes);
            else
              std::fill_n(trial.known.begin() + n * slots, slots, Knowledge::nothing);
          }
        });
      }
    }
  }

  LoadedCapture capture_;
  const Instruction& instruction_;
  int lanes_;
  std::vector<Hypothesis> out_;
};

}  // namespace

std::vector<Hypothesis> depth_hypotheses(const LoadedCapture& capture) {
  return DepthCollection(capture).run();
}

}  // namespace warpbit
