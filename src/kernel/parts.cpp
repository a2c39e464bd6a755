// SPDX-License-Identifier: Apache-2.0
#include "kernel/parts.hpp"

#include <algorithm>
#include <cstring>

#include "kernel/dense.hpp"
#include "kernel/described.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kGatheredAtOnce = 8;  // parts that are brought together, then computed
constexpr std::size_t kMaxParts = 256;      // of a case

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

bool has_rows(const Tile& t) {
  return t.b_described && t.lanes == t.rows && t.products == 1;
}

bool has_rows_of_f32(const Tile& t) {
  if (!has_rows(t)) return false;
  for (const TileOperand* sums : {&t.c, &t.d})
    for (std::size_t i = 0; i < sums->places.size(); ++i)
      if (const auto columns = static_cast<std::size_t>(t.columns);
          sums->places[i] != RegisterBits{static_cast<int>(i / columns), static_cast<int>(i % columns), 0, 32})
        return false;
  return t.rows % 16 == 0 && t.columns % 8 == 0;
}

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
  return (t.a_described || has_rows(t) || find_lines(left, rows_of_parts, rows, t.terms, rows, of_a, a)) &&
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

// Lines of K that are two chunks, x and y: of B one after the other, of A two rows, eight lines apart.
//
//     B  x0 y0 x1 y1 ...        A  x0 x0' y0 y0'  x1 x1' y1 y1' ...
void load_two_chunks(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                     bool is_a, std::uint32_t* to) {
  using Chunk [[gnu::vector_size(kChunkBytes)]] = std::uint32_t;
  const LineChunks at(d, 2);
  const auto chunk = [&](unsigned eight, unsigned i, unsigned number) {
    Chunk out;
    std::memcpy(&out, memory.data() + at(eight, i, number), sizeof out);
    return out;
  };
  const auto put = [&to](Chunk x, Chunk y) {  // x0 y0 ...
    const Chunk low = __builtin_shufflevector(x, y, 0, 4, 1, 5),
                high = __builtin_shufflevector(x, y, 2, 6, 3, 7);
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + kChunkWords, &high, sizeof high);
    to += 2 * kChunkWords;
  };
  for (unsigned eight = 0; eight < static_cast<unsigned>(factor.lines); eight += is_a ? 16 : 8)
    for (unsigned i = 0; i < 8; ++i) {
      const Chunk x = chunk(eight, i, 0), y = chunk(eight, i, 1);
      if (!is_a) {
        put(x, y);
        continue;
      }
      const Chunk other_x = chunk(eight + 8, i, 0), other_y = chunk(eight + 8, i, 1);
      put(__builtin_shufflevector(x, y, 0, 4, 1, 5), __builtin_shufflevector(other_x, other_y, 0, 4, 1, 5));
      put(__builtin_shufflevector(x, y, 2, 6, 3, 7), __builtin_shufflevector(other_x, other_y, 2, 6, 3, 7));
    }
}

void load_factor(const Descriptor& descriptor, const DescribedMatrix& factor, std::span<const std::byte> memory,
                 bool is_a, Scratch::Words& out) {
  const auto units = static_cast<unsigned>(factor.depth * (factor.padded ? 8 : factor.element_bits) / 128);
  const unsigned each = is_a ? 2 : 1;
  out.resize(static_cast<std::size_t>(factor.lines) * 4 * units);
  if (factor.major == Major::k && units == 2 && !factor.padded)
    return load_two_chunks(descriptor, factor, memory, is_a, out.data());
  load_described(
      descriptor, factor, memory, [=, to = out.data()](unsigned line, unsigned word, std::uint32_t value) {
        const unsigned pair = is_a ? line / 16 * 8 + line % 8 : line, which = is_a ? line / 8 % 2 : 0;
        to[((pair * 4 + word % 4) * units + word / 4) * each + which] = value;
      });
}

// Rows of A, each the words of a lane, as load_factor has them.
void load_rows(const TileRegisters& registers, const OperandView& view, int rows, Scratch::Words& out) {
  const int words = registers.count, units = words / 4;
  out.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(words));
  for (int row = 0; row < rows; ++row) {
    const int pair = row / 16 * 8 + row % 8, which = row / 8 % 2;
    for (int word = 0; word < words; ++word)
      std::memcpy(&out[static_cast<std::size_t>(((pair * 4 + word % 4) * units + word / 4) * 2 + which)],
                  view.at(0, row, word), sizeof(std::uint32_t));
  }
}

// Whether elements of less than a byte have one of their own.
bool has_bytes(const Tile& t) {
  if (t.a.format->bits >= 8) return false;
  return t.a_described ? t.a_described->padded : t.a.places[1].low_bit == t.a.places[0].low_bit + 8;
}

// Changes the sign of each element.
void negate(const Format& format, bool in_bytes, Scratch::Words& registers) {
  std::uint32_t signs = 0;
  for (int bit = (in_bytes ? format.byte_low : 0) + format.bits - 1; bit < 32;
       bit += in_bytes ? 8 : format.bits)
    signs |= std::uint32_t{1} << bit;
  for (std::uint32_t& word : registers) word ^= signs;
}

}  // namespace

FactorLines load_lines(const FastRun& run) {
  const auto& [body, t, views, d, first, last] = run;
  if (t.a_described)
    load_factor(views.a_descriptor, *t.a_described, views.a_memory, true, scratch.a);
  else
    has_rows(t) ? load_rows(t.a.registers, views.a, t.rows, scratch.a)
                : copy_registers(t.a.registers, views.a, t.lanes, first, scratch.a);
  load_factor(views.b_descriptor, *t.b_described, views.b_memory, false, scratch.b);
  if (t.negate_a != t.negate_b) negate(*t.a.format, has_bytes(t), scratch.a);
  return {bytes_of(scratch.a), bytes_of(scratch.b)};
}

// ---- Metadata and scale factors

int lanes_of_part(const Tile& t) {
  return t.lanes * 16 / t.rows;
}

bool has_metadata_by_warp(const Tile& t) {
  const std::size_t of_warp = static_cast<std::size_t>(16 * t.terms / t.sparsity.kept);
  for (std::size_t i = 0; i < t.e.places.size(); ++i) {
    const RegisterBits &at = t.e.places[i], &first = t.e.places[i % of_warp];
    if (at.lane != first.lane + static_cast<int>(i / of_warp) * lanes_of_part(t) || at.reg != first.reg ||
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
  for (int i = 0; i < std::min(t.rows, 16); ++i) out.a[i] = byte_of(t.a_scale, of_a, row_of_pair(i / 2, i % 2));
  for (int i = 0; i < std::min(t.columns, 8); ++i) out.b[i] = byte_of(t.b_scale, of_b, i);
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

// C where it does not count.
alignas(64) constexpr std::byte kZeros[32 * 4 * sizeof(double)] = {};

}  // namespace

// Where one run of a tile has the registers of its parts.
class PartsTile::Route {
 public:
  Route(const PartsTile& tile, const FastRun& run) : tile_(tile), run_(run) {
    if (!views_.accumulate) c_.stride = t_.c.format->bits / 2;
    for (Placed* operand : {&a_, &b_, &c_, &d_}) operand->make_room(at_once_ * n_);
    if (t_.uses_memory()) lines_ = load_lines(run);
  }

  // How many cases are computed at once.
  std::size_t at_once() const { return at_once_; }

  // The parts of cases [begin, end): `list` has those of the first one, if the others follow by strides, or all.
  Parts bring(std::size_t begin, std::size_t end, PartRegisters* list) {
    const std::size_t listed = follows_ ? 1 : end - begin;
    for (std::size_t i = 0; i < listed; ++i) bring_case(begin + i, i * n_, list + i * n_);
    return {list, listed * n_, (end - begin) / listed, strides_, tile_.rows / 2, c_.stride, d_.stride, {}};
  }

  // Brings the results of these cases to where they belong, unless they were computed there.
  void take_results(std::size_t begin, std::size_t end) const {
    if (d_direct_) return;
    for (std::size_t index = begin; index < end; ++index) {
      const bool dense = !d_.in_place && has_no_gaps(t_.d.registers, run_.d);
      const ResultRegisters after(t_.d.registers, run_.d, t_.lanes, index, dense);
      for (std::size_t i = 0; !d_.in_place && i < n_; ++i)
        tile_.d[i].to_registers(d_.slot((index - begin) * n_ + i), after.base());
      after.store();
    }
  }

 private:
  void bring_case(std::size_t index, std::size_t slot, PartRegisters* to) {
    const FactorLines now = t_.uses_memory() ? lines_ : FactorLines{in_a_.of(index), in_b_.of(index)};
    const std::byte* const before = views_.accumulate ? in_c_.of(index) : nullptr;
    const ResultRegisters after(t_.d.registers, run_.d, t_.lanes, index, d_direct_);
    const std::byte *const e = in_e_.of(index), *const a_scale = in_a_scale_.of(index),
                           *const b_scale = in_b_scale_.of(index);
    for (std::size_t i = 0; i < n_; ++i, ++slot) {
      const TilePart& part = tile_.parts[i];
      const int number = static_cast<int>(i);
      to[i] = {.a = a_.bring(part.a_lines, slot, now.a),
               .b = b_.bring(part.b_lines, slot, now.b),
               .c = views_.accumulate ? c_.bring(number, slot, before) : kZeros,
               .d = d_.in_place ? after.base() + d_.place(number) : d_.slot(slot),
               .e = e + part.row / 16 * lanes_of_part(t_) * lane_bytes(t_.e.registers),  // of the part's warp
               .a_scales = a_scale + part.row * lane_bytes(t_.a_scale.registers),
               .b_scales = b_scale + columns_before(part)};
    }
  }

  // Bytes of the scale factors of B: those of column n are in lane n % lanes.
  std::ptrdiff_t columns_before(const TilePart& part) const {
    if (!t_.b_scale.is_present()) return 0;
    return part.column % t_.lanes * lane_bytes(t_.b_scale.registers) + part.column / t_.lanes * 4;
  }

  // Of a part of C or D: eight columns.
  int bytes_of_part(const TileOperand& sums) const { return tile_.rows * sums.format->bits; }

  // What is left to the specification reads the other operands after parts of D are written.
  bool is_free() const {
    for (const OperandView* view : {&views_.a, &views_.b, &views_.e, &views_.a_scale, &views_.b_scale})
      if (view->base == run_.d.base) return false;
    return true;
  }
  // Registers that are copied, and scale factors that are found, are those of one case.
  bool is_one_by_one() const {
    for (const Input* input : {&in_a_, &in_b_, &in_c_, &in_e_, &in_a_scale_, &in_b_scale_})
      if (input->is_copied()) return true;
    return (d_.in_place && !d_direct_) || t_.a_scale.choices.size() > 1 || t_.b_scale.choices.size() > 1;
  }

  const PartsTile& tile_;
  const FastRun& run_;
  const Tile& t_ = run_.tile;
  const TileViews& views_ = run_.views;
  const std::size_t n_ = tile_.parts.size();
  // A and B change places in the transposed product.
  const TileOperand &left_ = tile_.exchanged ? t_.b : t_.a, &right_ = tile_.exchanged ? t_.a : t_.b;
  const OperandView &left_view_ = tile_.exchanged ? views_.b : views_.a,
                    &right_view_ = tile_.exchanged ? views_.a : views_.b;

  Placed a_{tile_.a, scratch.a_panel, tile_.a_bytes_, lane_bytes(left_.registers)};
  Placed b_{tile_.b, scratch.b_panel, tile_.b_bytes_, lane_bytes(right_.registers)};
  Placed c_{tile_.c, scratch.c_panel, bytes_of_part(t_.c), lane_bytes(t_.c.registers)};
  Placed d_{tile_.d, scratch.d_panel, bytes_of_part(t_.d), lane_bytes(t_.d.registers)};
  const bool c_direct_ = place_sums(c_, t_.c, views_.c, tile_.takes_gaps(), views_.accumulate);
  const bool d_direct_ = place_sums(d_, t_.d, run_.d, tile_.takes_gaps(), is_free());
  Input in_a_{left_.registers, left_view_, t_.lanes, scratch.a, t_.uses_memory()};
  Input in_b_{right_.registers, right_view_, t_.lanes, scratch.b, t_.uses_memory()};
  Input in_c_{t_.c.registers, views_.c, t_.lanes, scratch.c, c_direct_ || !views_.accumulate};
  Input in_e_{t_.e.registers, views_.e, t_.lanes, scratch.e};
  Input in_a_scale_{t_.a_scale.registers, views_.a_scale, t_.lanes, scratch.a_scale};
  Input in_b_scale_{t_.b_scale.registers, views_.b_scale, t_.lanes, scratch.b_scale};

  const bool in_place_ = a_.in_place && b_.in_place && c_.in_place && d_.in_place;
  const bool one_by_one_ = is_one_by_one();
  const bool follows_ = in_place_ && !one_by_one_ && !t_.uses_memory();  // the next case, by strides
  const std::size_t at_once_ = follows_      ? run_.last - run_.first
                               : one_by_one_ ? 1
                                             : std::max<std::size_t>(1, kGatheredAtOnce / n_);
  const CaseStrides strides_{.a = left_view_.case_stride,
                             .b = right_view_.case_stride,
                             .c = views_.accumulate ? views_.c.case_stride : 0,
                             .d = run_.d.case_stride,
                             .e = views_.e.case_stride,
                             .a_scales = views_.a_scale.case_stride,
                             .b_scales = views_.b_scale.case_stride};
  FactorLines lines_ = {};
};

void PartsTile::run(const FastRun& run) const {
  Route route(*this, run);
  ExactLanes exact(run.tile, run.views, rows, parts, exchanged);
  PartRegisters list[kMaxParts];
  for (std::size_t begin = run.first; begin < run.last; begin += route.at_once()) {
    const std::size_t end = std::min(begin + route.at_once(), run.last);
    Parts given = route.bring(begin, end, list);
    exact.begin(begin);
    given.exact = exact.callback();
    compute(run, given, begin * parts.size());
    route.take_results(begin, end);
  }
}

}  // namespace warpbit
