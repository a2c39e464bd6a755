// SPDX-License-Identifier: Apache-2.0
#include "kernel/parts.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/dense.hpp"
#include "kernel/described.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kGatheredAtOnce = 8, kMaxParts = 128;  // brought together, then computed

bool all_in_place(const std::vector<Gather>& gathers) {
  return std::ranges::all_of(gathers, [](const Gather& gather) { return gather.place().has_value(); });
}

// Whether registers are of a known size.
bool has_known_registers(const TileOperand& operand) {
  return operand.registers.bits == 32 || operand.registers.bits == 64;
}

// Whether no register bit of C or D is without an element.
bool is_filled(const TileOperand& operand, int lanes) {
  return static_cast<int>(operand.places.size()) * operand.format->bits ==
         lanes * operand.registers.count * operand.registers.bits;
}

int lane_bytes(const TileRegisters& registers) {
  return registers.count * registers.bits / 8;
}

}  // namespace

// ---- Compilation

bool PartsTile::find_parts(const Tile& t, const WordLayout& of_a, const WordLayout& of_b) {
  exchanged = is_exchanged(t);
  const int down = exchanged ? t.columns : t.rows, across = exchanged ? t.rows : t.columns;
  rows = down % 16 == 0 ? 16 : 8;
  if (down % rows != 0 || across % 8 != 0 || !is_filled(t.c, t.lanes) || !is_filled(t.d, t.lanes)) return false;
  for (const TileOperand* operand : {&t.a, &t.b, &t.c, &t.d})
    if (!has_known_registers(*operand)) return false;
  const int rows_of_parts = t.products * down / rows, columns_of_parts = t.products * across / 8;
  const auto count = static_cast<std::size_t>(rows_of_parts * (across / 8));
  if (count > (t.uses_memory() ? kMaxParts : kGatheredAtOnce)) return false;
  for (int i = 0; i < rows_of_parts; ++i)
    for (int j = 0; j < across / 8; ++j) {
      const int product = i / (down / rows), row = i % (down / rows) * rows, column = 8 * j;
      parts.push_back(
          {product, exchanged ? column : row, exchanged ? row : column, i, product * (across / 8) + j});
      c.push_back(gather_sums(t, t.c, parts.back(), rows, exchanged));
      d.push_back(gather_sums(t, t.d, parts.back(), rows, exchanged));
    }
  const auto find_lines = [&](const TileOperand& factor, int lines, int first_rows, int length, int each,
                              const WordLayout& layout, std::vector<Gather>& out) {
    for (int i = 0; i < lines; ++i) {
      const std::optional<Gather> gather = gather_lines(factor, i * each, first_rows, length, layout);
      if (!gather) return false;
      out.push_back(*gather);
    }
    return true;
  };
  a_bytes_ = 2 * rows * of_a.lane_bytes(true);
  b_bytes_ = 32 * of_b.lane_bytes(false);
  const TileOperand &left = exchanged ? t.b : t.a, &right = exchanged ? t.a : t.b;
  return (t.a_described || find_lines(left, rows_of_parts, rows, t.terms, rows, of_a, a)) &&
         (t.b_described || find_lines(right, columns_of_parts, 0, t.depth, 8, of_b, b));
}

bool PartsTile::is_in_place() const {
  return all_in_place(a) && all_in_place(b) && all_in_place(c) && all_in_place(d);
}

std::string PartsTile::source() const {
  return std::string(is_in_place() ? "fragments" : "gathered registers") +
         (b.empty() ? ", which shared memory is brought into" : "");
}

// ---- Factors in shared memory

namespace {

void load_factor(std::uint64_t descriptor, const DescribedMatrix& factor, std::span<const std::byte> memory,
                 bool is_a, Scratch::Words& out) {
  const auto units = static_cast<unsigned>(factor.depth * factor.element_bits / 128);
  const unsigned each = is_a ? 2 : 1;
  out.resize(static_cast<std::size_t>(factor.lines) * 4 * units);
  load_described(
      descriptor, factor, memory, [=, to = out.data()](unsigned line, unsigned word, std::uint32_t value) {
        const unsigned pair = is_a ? line / 16 * 8 + line % 8 : line, which = is_a ? line / 8 % 2 : 0;
        to[((pair * 4 + word % 4) * units + word / 4) * each + which] = value;
      });
}

// Changes the sign of each element.
void negate(const Format& format, Scratch::Words& registers) {
  std::uint32_t signs = 0;
  for (int bit = format.bits - 1; bit < 32; bit += format.bits) signs |= std::uint32_t{1} << bit;
  for (std::uint32_t& word : registers) word ^= signs;
}

}  // namespace

FactorLines load_lines(const FastRun& run) {
  const auto& [body, t, views, d, first, last] = run;
  if (t.a_described)
    load_factor(views.a_descriptor, *t.a_described, views.memory, true, scratch.a);
  else
    copy_registers(t.a.registers, views.a, t.lanes, first, scratch.a);
  load_factor(views.b_descriptor, *t.b_described, views.memory, false, scratch.b);
  if (t.negate_a != t.negate_b) negate(*t.a.format, scratch.a);
  return {bytes_of(scratch.a), bytes_of(scratch.b)};
}

// ---- Metadata and scale factors

bool has_metadata_by_warp(const Tile& t) {
  const std::size_t of_warp = static_cast<std::size_t>(16 * t.terms / t.sparsity.kept);
  for (std::size_t i = 0; i < t.e.places.size(); ++i) {
    const RegisterBits &at = t.e.places[i], &first = t.e.places[i % of_warp];
    if (at.lane != first.lane + static_cast<int>(i / of_warp) * 32 || at.reg != first.reg ||
        at.low_bit != first.low_bit)
      return false;
  }
  return true;
}

ScaleBytes scale_bytes(const FastRun& run, std::size_t index) {
  const auto& [body, t, views, d, first, last] = run;
  ScaleBytes out;
  const auto byte_of = [](const TileScale& scale, Places places, int line) {
    const RegisterBits& at = places[static_cast<std::size_t>(line * scale.blocks)];
    return static_cast<std::uint16_t>((at.lane * scale.registers.count + at.reg) * 4 + at.low_bit / 8);
  };
  const Places of_a = chosen_places(t.a_scale, views.a_selector, index),
               of_b = chosen_places(t.b_scale, views.b_selector, index);
  for (int i = 0; i < t.rows; ++i) out.a[i] = byte_of(t.a_scale, of_a, row_of_pair(i / 2, i % 2));
  for (int i = 0; i < t.columns; ++i) out.b[i] = byte_of(t.b_scale, of_b, i);
  return out;
}

// ---- Execution

namespace {

// One operand of all parts: where its registers have them, or brought together in a panel.
struct Placed {
  const std::vector<Gather>& gathers;  // none: `bytes` of each line after the other
  Scratch::Words& panel;
  std::ptrdiff_t bytes;          // of a part
  int side;                      // bytes of a lane, side by side
  std::ptrdiff_t stride = side;  // of lanes
  bool in_place = all_in_place(gathers);

  void make_room(std::size_t parts) {  // no NaN where the tile has no k
    if (!in_place) panel.assign(parts * static_cast<std::size_t>(bytes) / 4, 0);
  }
  std::byte* slot(std::size_t i) const { return bytes_of(panel) + static_cast<std::ptrdiff_t>(i) * bytes; }
  std::ptrdiff_t place(int line) const {
    if (gathers.empty()) return line * bytes;
    const auto at = static_cast<std::ptrdiff_t>(*gathers[static_cast<std::size_t>(line)].place());
    return stride == side ? at : at / side * stride + at % side;
  }
  const std::byte* bring(int line, std::size_t i, const std::byte* registers) const {
    if (in_place) return registers + place(line);
    gathers[static_cast<std::size_t>(line)].to_panel(registers, slot(i));
    return slot(i);
  }
};

// C or D. True if the registers serve as the view has them; else they are brought side by side first.
template <class View>
bool place_sums(Placed& sums, const TileOperand& operand, const View& view, bool takes_gaps, bool is_free) {
  const std::ptrdiff_t piece = 4 * operand.format->bits / 8;
  const bool is_direct = sums.in_place && is_free && view.register_stride == operand.registers.bits / 8 &&
                         operand.registers.literals.empty() && (takes_gaps || view.lane_stride == piece);
  sums.in_place = sums.in_place && (takes_gaps || is_direct || sums.side == piece);
  sums.stride = is_direct ? view.lane_stride : sums.in_place ? sums.side : piece;
  return is_direct;
}

// The registers of an operand side by side: where they are, or a copy.
class Input {
 public:
  // `is_direct`: it is read as the view has it, or not at all.
  Input(const TileRegisters& registers, const OperandView& view, int lanes, Scratch::Words& copy,
        bool is_direct = false)
      : registers_(registers),
        view_(view),
        lanes_(lanes),
        copy_(copy),
        is_copied_(!is_direct && registers.count != 0 && !is_dense(registers, view)) {}

  bool is_copied() const { return is_copied_; }
  const std::byte* of(std::size_t index) const {
    if (!is_copied_) return view_.base + static_cast<std::ptrdiff_t>(index) * view_.case_stride;
    copy_registers(registers_, view_, lanes_, index, copy_);
    return bytes_of(copy_);
  }

 private:
  const TileRegisters& registers_;
  const OperandView& view_;
  int lanes_;
  Scratch::Words& copy_;
  bool is_copied_;
};

// The registers of a part as many bytes further: those of the next case, where all lie in place.
struct CaseStrides {
  std::ptrdiff_t a, b, c, d, e, a_scales, b_scales;
};
PartRegisters next(const PartRegisters& part, const CaseStrides& by) {
  return {part.a + by.a,
          part.b + by.b,
          part.c + by.c,
          part.d + by.d,
          part.e + by.e,
          part.a_scales + by.a_scales,
          part.b_scales + by.b_scales};
}

// C where it does not count.
alignas(64) constexpr std::byte kZeros[32 * 4 * sizeof(double)] = {};

}  // namespace

void PartsTile::run(const FastRun& run) const {
  const auto& [body, t, views, result, first, last] = run;
  const TileOperand &left = exchanged ? t.b : t.a, &right = exchanged ? t.a : t.b;
  const std::size_t n = parts.size();
  Placed of_a{a, scratch.a_panel, a_bytes_, lane_bytes(left.registers)};
  Placed of_b{b, scratch.b_panel, b_bytes_, lane_bytes(right.registers)};
  Placed of_c{c, scratch.c_panel, rows * t.c.format->bits, lane_bytes(t.c.registers)};
  Placed of_d{d, scratch.d_panel, rows * t.d.format->bits, lane_bytes(t.d.registers)};
  // What is left to the specification reads the others after parts of D are written.
  bool is_free = true;
  for (const OperandView* view : {&views.a, &views.b, &views.e, &views.a_scale, &views.b_scale})
    is_free = is_free && view->base != result.base;
  const bool c_direct = place_sums(of_c, t.c, views.c, takes_gaps(), views.accumulate),
             d_direct = place_sums(of_d, t.d, result, takes_gaps(), is_free);
  if (!views.accumulate) of_c.stride = t.c.format->bits / 2;
  const Input in_a(left.registers, exchanged ? views.b : views.a, t.lanes, scratch.a, t.uses_memory()),
      in_b(right.registers, exchanged ? views.a : views.b, t.lanes, scratch.b, t.uses_memory()),
      in_c(t.c.registers, views.c, t.lanes, scratch.c, c_direct || !views.accumulate),
      in_e(t.e.registers, views.e, t.lanes, scratch.e),
      in_a_scale(t.a_scale.registers, views.a_scale, t.lanes, scratch.a_scale),
      in_b_scale(t.b_scale.registers, views.b_scale, t.lanes, scratch.b_scale);
  // Registers that are copied, and scale factors that are found, are those of one case.
  const bool one_by_one = (of_d.in_place && !d_direct) || t.a_scale.choices.size() > 1 ||
                          t.b_scale.choices.size() > 1 || in_a.is_copied() || in_b.is_copied() ||
                          in_c.is_copied() || in_e.is_copied() || in_a_scale.is_copied() ||
                          in_b_scale.is_copied();
  const bool in_place = of_a.in_place && of_b.in_place && of_c.in_place && of_d.in_place;
  const bool is_regular = in_place && !one_by_one;  // a tile that uses memory has one case
  const CaseStrides strides{(exchanged ? views.b : views.a).case_stride,
                            (exchanged ? views.a : views.b).case_stride,
                            views.accumulate ? views.c.case_stride : 0,
                            result.case_stride,
                            views.e.case_stride,
                            views.a_scale.case_stride,
                            views.b_scale.case_stride};
  const std::size_t at_once =
      one_by_one ? 1 : std::max<std::size_t>(1, (in_place ? kMaxParts : kGatheredAtOnce) / n);
  for (Placed* operand : {&of_a, &of_b, &of_c, &of_d}) operand->make_room(at_once * n);
  FactorLines lines = {};
  if (t.uses_memory()) lines = load_lines(run);

  ExactLanes exact(t, views, rows, parts, exchanged);
  PartRegisters list[kMaxParts];
  for (std::size_t begin = first; begin < last; begin += at_once) {
    const std::size_t end = std::min(begin + at_once, last);
    PartRegisters* to = list;
    for (std::size_t index = begin; index < end; ++index) {
      if (is_regular && index > begin) {
        for (std::size_t i = 0; i < n; ++i, ++to) *to = next(to[-static_cast<std::ptrdiff_t>(n)], strides);
        continue;
      }
      const FactorLines now = t.uses_memory() ? lines : FactorLines{in_a.of(index), in_b.of(index)};
      const std::byte* const before = views.accumulate ? in_c.of(index) : nullptr;
      const ResultRegisters after(t.d.registers, result, t.lanes, index, d_direct);
      const std::byte *const e = in_e.of(index), *const a_scale = in_a_scale.of(index),
                             *const b_scale = in_b_scale.of(index);
      for (std::size_t i = 0; i < n; ++i, ++to) {
        const auto slot = static_cast<std::size_t>(to - list);
        const int part = static_cast<int>(i);
        to->a = of_a.bring(parts[i].a_lines, slot, now.a);
        to->b = of_b.bring(parts[i].b_lines, slot, now.b);
        to->c = views.accumulate ? of_c.bring(part, slot, before) : kZeros;
        to->d = of_d.in_place ? after.base() + of_d.place(part) : of_d.slot(slot);
        to->e = e + parts[i].row / 16 * 32 * lane_bytes(t.e.registers);  // of the part's warp
        to->a_scales = a_scale;
        to->b_scales = b_scale;
      }
    }
    exact.begin(begin);
    compute(run, {list, (end - begin) * n, rows / 2, of_c.stride, of_d.stride, exact.callback()}, begin * n);
    if (d_direct) continue;
    for (std::size_t index = begin; index < end; ++index) {
      const bool dense = !of_d.in_place && has_no_gaps(t.d.registers, result);
      const ResultRegisters after(t.d.registers, result, t.lanes, index, dense);
      for (std::size_t i = 0; !of_d.in_place && i < n; ++i)
        d[i].to_registers(of_d.slot((index - begin) * n + i), after.base());
      after.store();
    }
  }
}

}  // namespace warpbit
