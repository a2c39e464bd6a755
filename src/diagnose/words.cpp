// SPDX-License-Identifier: Apache-2.0
// Mistakes in the words that decide about the factors: metadata and scale factors, a register of each lane; the
// descriptors of factors in shared memory (PTX manual, "Matrix Descriptor Format").
#include <fmt/format.h>

#include <optional>
#include <set>

#include "diagnose/hypothesis.hpp"
#include "numeric/formats.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit::diagnosis {
namespace {

// Registers of a lane each, whole.
void add_lane_orders(Collection& to, const std::vector<Part>& parts, const std::string& kind,
                     const std::string& role, const std::string& what) {
  static constexpr LaneOrder kOneOfFour[] = {
      {"all lanes of four have those of lane 0", [](int x) { return x & ~3; }},
      {"all lanes of four have those of lane 1", [](int x) { return (x & ~3) | 1; }},
      {"all lanes of four have those of lane 2", [](int x) { return (x & ~3) | 2; }},
      {"all lanes of four have those of lane 3", [](int x) { return x | 3; }},
  };
  for (const std::span<const LaneOrder> orders :
       {std::span<const LaneOrder>(kLaneOrders), std::span<const LaneOrder>(kOneOfFour)})
    for (const LaneOrder& order : orders)
      to.add({kind, role, fmt::format("{}: {}", what, order.text), "which lanes hold " + what, 2}).inputs =
          [parts, from = order.lane](Trial& trial) {
            for (const Part part : parts) {
              Array& array = *array_of(trial.capture, part);
              const Array old = array;
              for (std::uint64_t i = 0; i < array.header.items(); ++i)
                array.set(i, old.at((i & ~std::uint64_t{31}) |
                                    static_cast<std::uint64_t>(from(static_cast<int>(i % 32)))));
            }
          };
}

struct WordOrder {
  std::string_view text;
  std::uint64_t (*word)(std::uint64_t);  // of 32 bits
};
void add_word_orders(Collection& to, Part part, const std::string& kind, const std::string& role,
                     const std::string& what, std::span<const WordOrder> orders) {
  for (const WordOrder& order : orders)
    to.add_change({kind, role, fmt::format("{}: {}", what, order.text), "how " + what + " is packed", 1, true},
                  {part}, [word = order.word](std::uint64_t x) { return word(x) & 0xFFFFFFFF; });
}

void collect_metadata(Collection& to) {
  static constexpr WordOrder kOrders[] = {
      {"its 16-bit halves are exchanged", [](std::uint64_t x) { return x >> 16 | x << 16; }},
      {"the indices of each pair are exchanged",
       [](std::uint64_t x) { return (x >> 2 & 0x33333333) | (x & 0x33333333) << 2; }},
      {"the nibbles of each byte are exchanged",
       [](std::uint64_t x) { return (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4; }},
      {"the bytes of each half are exchanged",
       [](std::uint64_t x) { return (x >> 8 & 0x00FF00FF) | (x & 0x00FF00FF) << 8; }},
      {"its bytes are reversed",
       [](std::uint64_t x) { return x >> 24 | (x >> 8 & 0xFF00) | (x & 0xFF00) << 8 | x << 24; }},
      {"shifted by a nibble to the right", [](std::uint64_t x) { return x >> 4; }},
      {"shifted by a nibble to the left", [](std::uint64_t x) { return x << 4; }},
      {"its upper half is that of the lower one", [](std::uint64_t x) { return (x & 0xFFFF) * 0x10001; }},
      {"its lower half is that of the upper one", [](std::uint64_t x) { return (x >> 16) * 0x10001; }},
      {"the upper half is 0", [](std::uint64_t x) { return x & 0xFFFF; }},
      {"the lower half is 0", [](std::uint64_t x) { return x & 0xFFFF0000; }},
      {"the first two of four everywhere", [](std::uint64_t) { return std::uint64_t{0x44444444}; }},
      {"the last two of four everywhere", [](std::uint64_t) { return std::uint64_t{0xEEEEEEEE}; }},
      {"0 everywhere", [](std::uint64_t) { return std::uint64_t{0}; }},
  };
  add_word_orders(to, Part::metadata, "metadata_order", "e", "the metadata", kOrders);
  add_lane_orders(to, {Part::metadata}, "metadata_lane", "e", "the metadata");
}

// The scale factor of a row of A or column of B and a block is that of another; from(row, block) says of which.
template <class From>
void add_scale_move(Collection& to, Hypothesis h, Part part, From from) {
  const FragmentMap& map = to.instruction.find(part)->fragment;
  const bool left = part == Part::scale_a;
  struct Move {
    Place to;
    std::optional<Place> from;
    int row;
  };
  std::vector<Move> moves;
  const int rows = left ? map.rows() : map.columns(), blocks = left ? map.columns() : map.rows();
  const auto place = [&](int row, int block) {
    const std::vector<Place> found = map.find(left ? Coordinate{row, block} : Coordinate{block, row});
    return found.empty() ? std::nullopt : std::optional(found[0]);
  };
  bool all_unknown = true, identity = true;
  for (int row = 0; row < rows; ++row)
    for (int block = 0; block < blocks; ++block) {
      const auto [r, b] = from(std::int64_t{row}, std::int64_t{block});
      const bool inside = r >= 0 && r < rows && b >= 0 && b < blocks;
      const std::optional<Place> at = place(row, block);
      if (!at) return;
      moves.push_back({*at, inside ? place(static_cast<int>(r), static_cast<int>(b)) : std::nullopt, row});
      all_unknown = all_unknown && !moves.back().from;
      identity = identity && r == row && b == block;
    }
  if (all_unknown || identity) return;
  to.add(std::move(h)).inputs = [moves, part, left, &d = to.fragment(Part::d)](Trial& trial) {
    Array& array = *array_of(trial.capture, part);
    const Array old = array;
    const std::uint64_t each = old.header.items() / trial.capture.cases;
    for (std::uint64_t n = 0; n < trial.capture.cases; ++n)
      for (const Move& move : moves) {
        const auto item = [&](const Place& p) { return n * each + static_cast<std::uint64_t>(p.lane); };
        if (move.from) {
          const std::uint64_t code = old.at(item(*move.from)) >> move.from->low_bit & move.from->mask();
          array.set(item(move.to),
                    (array.at(item(move.to)) & ~(move.to.mask() << move.to.low_bit)) | code << move.to.low_bit);
          continue;
        }
        for (std::size_t slot = 0; slot < d.size(); ++slot)
          if ((left ? d.at(slot).row : d.at(slot).column) == move.row)
            trial.known[n * d.size() + slot] = Knowledge::nothing;
      }
  };
}

// Rows and blocks of scale factors, as they lie in memory.
void collect_scale_places(Collection& to, Part part, const std::string& role, const std::string& names) {
  const FragmentMap& map = to.instruction.find(part)->fragment;
  const bool left = part == Part::scale_a;
  const std::int64_t rows = left ? map.rows() : map.columns(), blocks = left ? map.columns() : map.rows();
  if (rows < 2 || blocks < 1) return;
  const auto add = [&](std::string kind, const std::string& text, std::string hint, int cost, auto from) {
    add_scale_move(to, {std::move(kind), role, names + " " + text, std::move(hint), cost}, part, from);
  };
  for (const int by : {1, -1, 2, -2, 8, -8})
    add("scale_row",
        fmt::format("are those of {} {} {}", std::abs(by), left ? "row" : "column",
                    by > 0 ? "further" : "before"),
        "the index of the row or column", 2,
        [by](std::int64_t r, std::int64_t b) { return std::pair(r + by, b); });
  for (const int by : {1, -1})
    add("scale_block", fmt::format("are those of the {} block of K", by > 0 ? "next" : "preceding"),
        "how the address advances with K", 2,
        [by](std::int64_t r, std::int64_t b) { return std::pair(r, b + by); });
  const ScaleLayout tiles{rows, blocks, ScaleOrder::tiles}, lines{rows, blocks, ScaleOrder::linear};
  const std::string hint = "the layout of scale factors in memory: tiles of 512 bytes, or row by row";
  const auto pair_of = [](const ScaleFactor& f) { return std::pair(f.row, f.block); };
  add("scale_layout", "lie in tiles of 128 x 4 and are read row by row", hint, 1,
      [=](std::int64_t r, std::int64_t b) { return pair_of(tiles.place(lines.offset(r, b))); });
  add("scale_layout", "lie row by row and are read as tiles of 128 x 4", hint, 1,
      [=](std::int64_t r, std::int64_t b) { return pair_of(lines.place(tiles.offset(r, b))); });
  add("scale_layout", "lie block by block and are read row by row", hint, 1,
      [=](std::int64_t r, std::int64_t b) {
        const std::int64_t at = lines.offset(r, b);
        return std::pair(at % rows, at / rows);
      });
  add("scale_layout", "lie row by row and are read block by block", hint, 1,
      [=](std::int64_t r, std::int64_t b) { return pair_of(lines.place(b * rows + r)); });
}

void collect_scales(Collection& to) {
  static constexpr WordOrder kOrders[] = {
      {"halves are exchanged", [](std::uint64_t x) { return x >> 16 | x << 16; }},
      {"bytes of each half are exchanged",
       [](std::uint64_t x) { return (x >> 8 & 0x00FF00FF) | (x & 0x00FF00FF) << 8; }},
      {"bytes are reversed",
       [](std::uint64_t x) { return x >> 24 | (x >> 8 & 0xFF00) | (x & 0xFF00) << 8 | x << 24; }},
      {"bytes are rotated", [](std::uint64_t x) { return x >> 8 | x << 24; }},
      {"bytes are rotated back", [](std::uint64_t x) { return x << 8 | x >> 24; }},
      {"byte 0 everywhere", [](std::uint64_t x) { return (x & 0xFF) * 0x01010101; }},
      {"byte 1 everywhere", [](std::uint64_t x) { return (x >> 8 & 0xFF) * 0x01010101; }},
      {"byte 2 everywhere", [](std::uint64_t x) { return (x >> 16 & 0xFF) * 0x01010101; }},
      {"byte 3 everywhere", [](std::uint64_t x) { return (x >> 24 & 0xFF) * 0x01010101; }},
  };
  const std::uint64_t one = 0x01010101 * encode(*find_format(to.instruction.find(Part::scale_a)->format),
                                                {false, 1, 0}, Rounding::nearest_even, Overflow::saturate);
  struct Row {
    std::string roles, names;
    std::vector<Part> parts;
  };
  const Row a{"scale_a", "the scale factors of A", {Part::scale_a}},
      b{"scale_b", "the scale factors of B", {Part::scale_b}},
      both{"scale_a scale_b", "the scale factors of A and B", {Part::scale_a, Part::scale_b}};
  for (const Row& row : {a, b, both})
    to.add_change({"scale_one", row.roles, row.names + " are taken as 1",
                   "whether the scale factors are loaded", 1, true},
                  row.parts, [one](std::uint64_t) { return one; });
  to.add({"scales_exchanged", "scale_a scale_b", "the scale factors of A and B are exchanged",
          "the order of the operands", 1, true})
      .inputs = [](Trial& trial) {
    std::swap(array_of(trial.capture, Part::scale_a)->data, array_of(trial.capture, Part::scale_b)->data);
  };
  for (const Row& row : {a, b}) collect_scale_places(to, row.parts[0], row.roles, row.names);
  for (const Row& row : {a, b, both}) {
    if (row.parts.size() == 1) add_word_orders(to, row.parts[0], "scale_order", row.roles, row.names, kOrders);
    add_lane_orders(to, row.parts, "scale_lane", row.roles, row.names);
  }
}

// ---- Descriptors

constexpr std::uint64_t kField = 0x3FFF;
constexpr int kStart = 0, kLeading = 16, kStride = 32, kBase = 49, kSwizzle = 62;

std::uint64_t field(std::uint64_t bits, int low, std::uint64_t mask = kField) {
  return bits >> low & mask;
}
std::uint64_t with_field(std::uint64_t bits, int low, std::uint64_t value, std::uint64_t mask = kField) {
  return (bits & ~(mask << low)) | (value & mask) << low;
}

using Change = std::function<std::uint64_t(std::uint64_t)>;

struct FieldName {
  int low;
  std::string_view kind, name;
};
constexpr FieldName kFields[] = {{kStart, "start_address", "the start address"},
                                 {kLeading, "leading_offset", "LBO"},
                                 {kStride, "stride_offset", "SBO"}};

class DescriptorCollection {
 public:
  explicit DescriptorCollection(Collection& to) : to_(to) {}

  void run() {
    std::vector<Part> parts;
    for (const Part part : {Part::a, Part::b})
      if (array_of(to_.capture, part, true) != nullptr) parts.push_back(part);
    for (const Part part : parts) one({part});
    if (parts.size() < 2) return;
    one(parts);
    to_.add({"factors_exchanged", "a b", "the descriptors of A and B are exchanged",
             "the order of the operands", 1})
        .inputs = [](Trial& trial) {
      std::swap(array_of(trial.capture, Part::a, true)->data, array_of(trial.capture, Part::b, true)->data);
    };
  }

 private:
  void add(std::string_view kind, std::string_view what, std::string hint, int cost, const Change& change_one) {
    std::vector<std::uint64_t> before, effect;
    for (const Part part : parts_)
      for (std::uint64_t i = 0; i < to_.capture.cases; ++i) {
        before.push_back(array_of(to_.capture, part, true)->at(i));
        effect.push_back(change_one(before.back()));
      }
    if (effect == before || !seen_.insert({parts_, effect}).second) return;
    constexpr std::string_view kRoles[] = {"a", "b", "a b"};
    constexpr std::string_view kNames[] = {"the descriptor of A", "the descriptor of B",
                                           "the descriptors of A and B"};
    const std::size_t which = parts_.size() == 2 ? 2 : parts_[0] == Part::a ? 0 : 1;
    to_.add_change({std::string(kind), std::string(kRoles[which]), fmt::format("{}: {}", kNames[which], what),
                    std::move(hint), cost, cost == 1},
                   parts_, change_one, true);
  }

  void one(std::vector<Part> parts) {
    parts_ = std::move(parts);
    add("offsets_exchanged", "LBO and SBO are exchanged",
        "which offset is the leading and which the stride dimension's", 1, [](std::uint64_t d) {
          return with_field(with_field(d, kLeading, field(d, kStride)), kStride, field(d, kLeading));
        });
    units();
    for (std::uint64_t mode = 0; mode < 4; ++mode)
      add("swizzle", name(static_cast<Swizzle>(mode)), "the swizzle that the tile was stored with", 1,
          [mode](std::uint64_t d) { return with_field(d, kSwizzle, mode, 3); });
    for (std::uint64_t base = 0; base < 8; ++base)
      add("base_offset", fmt::format("the base offset is {}", base),
          "address / 128 % 8 of where the swizzle's pattern begins", 2,
          [base](std::uint64_t d) { return with_field(d, kBase, base, 7); });
    for (const FieldName& f : kFields) values(f);
  }

  // Bytes where units of 16 bytes belong, and the other way round, in any of the three fields.
  void units() {
    for (int subset = 1; subset < 8; ++subset)
      for (const bool bytes : {true, false}) {
        std::string which;
        for (std::size_t i = 0; i < 3; ++i)
          if (subset >> i & 1) which += fmt::format("{}{}", which.empty() ? "" : " and ", kFields[i].name);
        add("offset_units",
            fmt::format("{} {} {}", which, bytes ? "in bytes instead of" : "divided once more into",
                        "units of 16 bytes"),
            "the fields hold bytes / 16", 1, [subset, bytes](std::uint64_t d) {
              for (std::size_t i = 0; i < 3; ++i)
                if (subset >> i & 1) {
                  const std::uint64_t value = field(d, kFields[i].low);
                  d = with_field(d, kFields[i].low, bytes ? value * 16 : value / 16);
                }
              return d;
            });
      }
  }

  // Another offset or start: of neighbours, of another step along K.
  void values(const FieldName& f) {
    const auto set = [&](const std::string& text, auto value) {
      add(f.kind, fmt::format("{} is {}", f.name, text), "how the address advances with K, M and N", 2,
          [low = f.low, value](std::uint64_t d) { return with_field(d, low, value(field(d, low))); });
    };
    set("0", [](std::uint64_t) { return std::uint64_t{0}; });
    set("twice what it should be", [](std::uint64_t x) { return 2 * x; });
    set("half of what it should be", [](std::uint64_t x) { return x / 2; });
    for (std::uint64_t units = 1; units <= 512; units *= 2) {
      set(fmt::format("{} bytes too large", 16 * units), [units](std::uint64_t x) { return x + units; });
      set(fmt::format("{} bytes too small", 16 * units), [units](std::uint64_t x) { return x - units; });
    }
    if (f.low != kStart)
      for (std::uint64_t units = 1; units <= 512; units *= 2)
        set(fmt::format("{} bytes", 16 * units), [units](std::uint64_t) { return units; });
  }

  Collection& to_;
  std::vector<Part> parts_;
  std::set<std::pair<std::vector<Part>, std::vector<std::uint64_t>>> seen_;
};

}  // namespace

void collect_words(Collection& to) {
  if (to.has(Part::metadata)) collect_metadata(to);
  if (to.has(Part::scale_a) && to.has(Part::scale_b)) collect_scales(to);
  if (to.capture.memory) DescriptorCollection(to).run();
}

}  // namespace warpbit::diagnosis
