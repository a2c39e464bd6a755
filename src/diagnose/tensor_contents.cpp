// SPDX-License-Identifier: Apache-2.0
// Mistakes in what shared memory and tensor memory hold for a tcgen05.mma.
#include <fmt/format.h>

#include <algorithm>

#include "api/checks.hpp"
#include "diagnose/tensor.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/format.hpp"

namespace warpbit::diagnosis {
namespace {

constexpr int kTensorLanes = TensorMemory::kLanes, kTensorColumns = TensorMemory::kColumns, kTensorWindow = 32;

// ---- Tensor memory

// The word of a lane and a column behind an operand's address; nothing to leave it.
struct OldWords {
  const TensorMemory& memory;
  int first_column;

  std::optional<std::uint32_t> operator()(int lane, int column) const {
    const int at = first_column + column;
    if (lane < 0 || lane >= kTensorLanes || at < 0 || at >= kTensorColumns) return std::nullopt;
    return memory.read(lane, at);
  }
};
using NewWord = std::function<std::optional<std::uint32_t>(const OldWords& old, int lane, int column)>;

// Columns of an operand in both blocks.
struct TensorRegion {
  std::function<std::uint32_t(const TensorMmaSources&)> address;
  int columns;
  int lines = 0;  // of scale factors

  TensorChange rewritten(NewWord word) const {
    return [self = *this, word = std::move(word)](TensorState& s) {
      const int first = TensorAddress::decode(self.address(s.sources) & 0x3FFF'FFFF).column;
      for (TensorMemory& memory : s.tensor) {
        const TensorMemory before = memory;
        const OldWords old{before, first};
        for (int lane = 0; lane < kTensorLanes; ++lane)
          for (int column = 0; column < self.columns && first + column < kTensorColumns; ++column)
            if (const std::optional<std::uint32_t> x = word(old, lane, column))
              memory.write(lane, first + column, *x);
      }
    };
  }
};

// An operand, or two of a kind.
struct TensorOperand {
  std::string role, name;
  std::vector<TensorRegion> regions;
  int cost = 1;

  // word(region) says what becomes of its words.
  template <class Word>
  TensorChange rewritten(Word word) const {
    std::vector<TensorChange> all;
    for (const TensorRegion& region : regions) all.push_back(region.rewritten(word(region)));
    return [all](TensorState& s) {
      for (const TensorChange& one : all) one(s);
    };
  }
};

// A change of each word alone, and its inverse.
struct EachWord {
  std::string_view text;
  std::uint32_t (*word)(std::uint32_t), (*inverse)(std::uint32_t);
};
constexpr std::uint32_t swap_halves(std::uint32_t x) {
  return x >> 16 | x << 16;
}
constexpr std::uint32_t swap_bytes(std::uint32_t x) {
  return (x >> 8 & 0xFF00FF) | (x & 0xFF00FF) << 8;
}
constexpr std::uint32_t swap_nibbles(std::uint32_t x) {
  return (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
}
constexpr std::uint32_t reverse_bytes(std::uint32_t x) {
  return swap_halves(swap_bytes(x));
}
constexpr std::uint32_t rotate_up(std::uint32_t x) {
  return x << 8 | x >> 24;
}
constexpr std::uint32_t rotate_down(std::uint32_t x) {
  return x >> 8 | x << 24;
}
constexpr EachWord kHalves{"the halves of each word are exchanged", swap_halves, swap_halves},
    kBytes{"the bytes of each half are exchanged", swap_bytes, swap_bytes},
    kNibbles{"the halves of each byte are exchanged", swap_nibbles, swap_nibbles},
    kReversed{"the bytes of each word are reversed", reverse_bytes, reverse_bytes},
    kUp{"the bytes of each word are rotated up", rotate_up, rotate_down},
    kDown{"the bytes of each word are rotated down", rotate_down, rotate_up};

NewWord each(std::uint32_t (*word)(std::uint32_t)) {
  return [word](const OldWords& old, int lane, int column) -> std::optional<std::uint32_t> {
    const auto x = old(lane, column);
    return x ? std::optional(word(*x)) : x;
  };
}

NewWord constant(std::uint32_t word, int from_lane = 0) {
  return [=](const OldWords&, int lane, int) { return lane < from_lane ? std::nullopt : std::optional(word); };
}

class TensorContents {
 public:
  explicit TensorContents(TensorMistakes& to) : to_(to), x_(to.subject) {}

  void run() {
    if (x_.mma.is_block_scaled()) scales();
    if (x_.mma.is_sparse) metadata();
    if (x_.mma.a_in_tensor_memory) a();
  }

 private:
  void orders(const std::string& kind, const TensorOperand& of, std::initializer_list<EachWord> rows,
              const std::string& hint) {
    for (const EachWord& row : rows)
      to_.add({kind, of.role, fmt::format("{}: {}", of.name, row.text), hint, of.cost},
              of.rewritten([&](const TensorRegion&) { return each(row.word); }),
              of.rewritten([&](const TensorRegion&) { return each(row.inverse); }));
  }

  // Only the first lanes have what all should have.
  void first_lanes(const std::string& kind, const TensorOperand& of, int lanes, const std::string& hint) {
    const std::string text = fmt::format("{}: only lanes 0 to {} have them", of.name, lanes - 1);
    if (x_.is_wanted())
      return to_.add({kind, of.role, text, hint, of.cost}, of.rewritten([lanes](const TensorRegion&) {
        return [lanes](const OldWords& old, int lane, int column) { return old(lane % lanes, column); };
      }));
    for (const std::uint32_t word : {0U, TensorMemory::kUnwritten})
      to_.add({kind, of.role,
               fmt::format("{}, the others {}", text, word == 0 ? "have 0" : "have only bits that are 1"), hint,
               of.cost},
              of.rewritten([=](const TensorRegion&) { return constant(word, lanes); }));
  }

  void scales() {
    const int scales = x_.of.scales(x_.mma);
    const TensorRegion a{[](const TensorMmaSources&s) { return s.scale_a; },
                         tensor::scale_a_map(x_.extent, scales, x_.of.scale_id_a).registers(),
                         x_.of.m / x_.mma.cta_group},
        b{[](const TensorMmaSources&s) { return s.scale_b; },
          tensor::scale_b_map(x_.extent, scales, x_.of.scale_id_b).registers(),
          x_.extent.path == tensor::DataPath::b ? x_.of.n / 2 : x_.of.n};
    const double one = 1;
    const Result<std::vector<std::uint64_t>> code = encode(x_.of.scale, std::span(&one, 1));
    const std::uint32_t ones = code ? static_cast<std::uint32_t>((*code)[0]) * 0x01010101U : 0;
    for (const TensorOperand& of : {TensorOperand{"scale_a", "the scale factors of A", {a}},
                                    {"scale_b", "the scale factors of B", {b}},
                                    {"scale_a scale_b", "the scale factors of A and B", {a, b}}}) {
      first_lanes("scale_lane", of, kTensorWindow,
                  "tcgen05.cp with .warpx4: every window of 32 lanes has a copy");
      for (const auto& [word, text] : {std::pair{ones, "1"}, {0U, "0"}})
        if (!x_.is_wanted())
          to_.add({"scale_one", of.role, fmt::format("{} are {}", of.name, text),
                   "whether tcgen05.cp has copied them before the mma", of.cost, of.regions.size() == 1},
                  of.rewritten([word = word](const TensorRegion&) { return constant(word); }));
      orders("scale_order", of, {kReversed, kHalves, kBytes, kUp, kDown}, "byte j of a word is scale factor j");
      to_.add({"scale_lane", of.role, fmt::format("{}: line x lies in lane x / 4, column x % 4", of.name),
               "line x belongs into lane x % 32, column x / 32", of.cost},
              of.rewritten(in_fours), of.rewritten(out_of_fours));
    }
  }

  // Line x in lane x / 4, column x % 4, instead of lane x % 32, column x / 32.
  static NewWord in_fours(const TensorRegion& region) {
    return [lines = region.lines](const OldWords& old, int lane, int column) -> std::optional<std::uint32_t> {
      const int l = lane % kTensorWindow, line = 4 * l + column;
      if (column >= 4 || line >= lines) return std::nullopt;
      return old(lane - l + line % kTensorWindow, line / kTensorWindow);
    };
  }
  static NewWord out_of_fours(const TensorRegion& region) {
    return [lines = region.lines](const OldWords& old, int lane, int column) -> std::optional<std::uint32_t> {
      const int l = lane % kTensorWindow, line = kTensorWindow * column + l;
      if (line >= lines) return std::nullopt;
      return old(lane - l + line / 4, line % 4);
    };
  }

  void metadata() {
    const TensorOperand of{
        "metadata", "the metadata", {{[](const TensorMmaSources& s) { return s.metadata; }, 2}}};
    orders("metadata_order", of, {kHalves, kReversed, kBytes, kNibbles},
           "chunk q of a row is nibble q, from the lowest on");
    for (const int by : {8, 16})
      to_.add({"metadata_lane", of.role, fmt::format("the metadata: lanes {} apart are exchanged", by),
               "the lane of a row's metadata", 1},
              from_lane(of, [by](int lane) { return lane ^ by; }));
  }

  void a() {
    const bool has_bytes = x_.mma.kind == TensorKind::f8f6f4 || x_.mma.kind == TensorKind::mxf8f6f4;
    const int slot = has_bytes ? 8 : x_.of.a == "tf32" ? 32 : find_format_info(x_.of.a).value().bits;
    const TensorOperand of{"a",
                           "A in tensor memory",
                           {{[](const TensorMmaSources& s) { return static_cast<std::uint32_t>(s.a); },
                             x_.stored_k() * slot / 32}}};
    const std::string hint = "lower k lies in lower bits of a word";
    if (slot == 16) orders("element_order", of, {kHalves}, hint);
    if (slot == 8) orders("element_order", of, {kReversed, kHalves, kBytes}, hint);
    if (slot == 4) orders("element_order", of, {kNibbles, kReversed}, hint);
    using tensor::DataPath;
    const DataPath path = x_.extent.path;
    if (path == DataPath::b || path == DataPath::e || path == DataPath::g)
      first_lanes("copies", of, path == DataPath::g ? 32 : 64,
                  "each bank of lanes that has columns of D needs its own copy of A's rows");
    if (path == DataPath::f || path == DataPath::c) {
      const int half = x_.extent.half;
      to_.add({"layout", of.role, of.name + ": row m lies in lane m",
               "where M is 64 row m belongs into lane 32 (m / 16) + m % 16", 1},
              from_lane(of, [half](int m) { return m < 64 ? 32 * (m / 16) + m % 16 + half : -1; }),
              from_lane(of, [](int lane) { return lane / 32 * 16 + lane % 16; }));
      if (!x_.is_wanted()) to_.all.back().known_lanes = 64;
    }
    for (const int by : {1, -1})
      to_.add({"row", of.role,
               fmt::format("{}: each lane has the row of the {} one", of.name, by > 0 ? "next" : "preceding"),
               "lane i has row i; tcgen05.shift and .ashift move rows by one", 1},
              from_lane(of, [by](int lane) { return lane + by; }),
              from_lane(of, [by](int lane) { return lane - by; }));
  }

  // Words of another lane; -1: none.
  template <class Lane>
  static TensorChange from_lane(const TensorOperand& of, Lane from) {
    return of.rewritten([from](const TensorRegion&) {
      return [from](const OldWords& old, int lane, int column) { return old(from(lane), column); };
    });
  }

  TensorMistakes& to_;
  const TensorSubject& x_;
};

// ---- Shared memory

// A tile, and the bytes of it.
struct TensorTile {
  Descriptor descriptor;
  DescribedMatrix matrix;
  std::vector<ByteRange> ranges;

  // Calls use(address) for each byte that a memory has.
  template <class Use>
  void for_bytes(std::size_t bytes, Use use) const {
    for (const ByteRange& range : ranges)
      for (std::uint64_t i = range.first; i <= range.last && i < bytes; ++i) use(static_cast<std::size_t>(i));
  }
};

std::uint64_t swizzled(Swizzle swizzle, std::uint64_t x) {
  switch (swizzle) {
    case Swizzle::none: return x;
    case Swizzle::bytes_32: return x ^ (x >> 7 & 1) << 4;
    case Swizzle::bytes_64: return x ^ (x >> 7 & 3) << 4;
    case Swizzle::bytes_128: return x ^ (x >> 7 & 7) << 4;
    case Swizzle::bytes_128_atoms_32: return x ^ (x >> 7 & 3) << 5;
  }
  return x;
}

// Bytes of a tile come from elsewhere in the memory of the same block.
TensorChange moved_bytes(const TensorTile& tile, std::function<std::uint64_t(std::uint64_t)> from) {
  return [tile, from = std::move(from)](TensorState& s) {
    for (std::vector<std::byte>& memory : s.shared) {
      const std::vector<std::byte> old = memory;
      tile.for_bytes(memory.size(), [&](std::size_t i) {
        const std::uint64_t other = from(i);
        if (other < old.size()) memory[i] = old[static_cast<std::size_t>(other)];
      });
    }
  };
}

// One tile, or A's and B's alike.
struct TensorTiles {
  std::string role, name;
  std::vector<TensorTile> tiles;

  bool are_all(bool (*has)(const TensorTile&)) const { return std::ranges::all_of(tiles, has); }
  // change(tile) says what becomes of one.
  template <class Change>
  TensorChange changed(Change change) const {
    std::vector<TensorChange> all;
    for (const TensorTile& tile : tiles) all.push_back(change(tile));
    return [all](TensorState& s) {
      for (const TensorChange& one : all) one(s);
    };
  }
};

// Each byte alone.
TensorChange changed_bytes(const TensorTile& tile, std::byte (*byte)(std::byte)) {
  return [tile, byte](TensorState& s) {
    for (std::vector<std::byte>& memory : s.shared)
      tile.for_bytes(memory.size(), [&](std::size_t i) { memory[i] = byte(memory[i]); });
  };
}

void collect_swizzles(TensorMistakes& to, const TensorTiles& of) {
  if (!of.are_all([](const TensorTile& t) { return t.descriptor.swizzle != Swizzle::none; })) return;
  to.add({"swizzle_missing", of.role, of.name + " stored without the swizzle's exchange of chunks",
          "bits 4 to 6 of each address are XORed with bits 7 to 9 (of narrower swizzles fewer)", 1},
         of.changed([](const TensorTile& t) {
           return moved_bytes(t, [w = t.descriptor.swizzle](std::uint64_t x) { return swizzled(w, x); });
         }));
  if (!of.are_all(
          [](const TensorTile& t) { return t.descriptor.start % 1024 != 0 && t.descriptor.base_offset == 0; }))
    return;
  const auto by_offset = [](const TensorTile& t) {
    return moved_bytes(t, [w = t.descriptor.swizzle, start = std::uint64_t{t.descriptor.start}](
                              std::uint64_t x) { return swizzled(w, start + swizzled(w, x - start)); });
  };
  const auto by_address = [](const TensorTile& t) {
    return moved_bytes(t, [w = t.descriptor.swizzle, start = std::uint64_t{t.descriptor.start}](
                              std::uint64_t x) { return start + swizzled(w, swizzled(w, x) - start); });
  };
  to.add({"swizzle_offset", of.role, of.name + " swizzled by the offset from the start, not by the address",
          "a tile should begin at a multiple of 1024 bytes", 1},
         of.changed(by_offset), of.changed(by_address));
}

void collect_blocks(TensorMistakes& to, const TensorTiles& of) {
  const std::string hint = "which rows of A and columns of B a block of the pair brings: those of its rank";
  to.add({"blocks_exchanged", of.role, of.name + " exchanged between the two blocks", hint, 1, true},
         of.changed([](const TensorTile& tile) {
           return [tile](TensorState& s) {
             tile.for_bytes(std::min(s.shared[0].size(), s.shared[1].size()),
                            [&](std::size_t i) { std::swap(s.shared[0][i], s.shared[1][i]); });
           };
         }));
  for (const std::size_t from : {std::size_t{0}, std::size_t{1}})
    if (!to.subject.is_wanted())
      to.add(
          {"block_repeated", of.role,
           fmt::format("{} that of the {} block in both", of.name, from == 0 ? "even" : "odd"), hint, 1, true},
          of.changed([from](const TensorTile& tile) {
            return [tile, from](TensorState& s) {
              tile.for_bytes(std::min(s.shared[0].size(), s.shared[1].size()),
                             [&](std::size_t i) { s.shared[1 - from][i] = s.shared[from][i]; });
            };
          }));
}

void collect_tiles(TensorMistakes& to, const TensorTiles& of) {
  collect_swizzles(to, of);
  if (of.are_all([](const TensorTile& t) { return t.matrix.element_bits == 4; }))
    to.add({"element_order", of.role, of.name + " stored with the halves of each byte exchanged",
            "the element of lower k is the lower half", 1},
           of.changed([](const TensorTile& t) {
             return changed_bytes(t, [](std::byte x) { return x >> 4 | x << 4; });
           }));
  if (!to.subject.is_wanted() && of.tiles.size() == 1)
    to.add({"not_loaded", of.role, of.name + " 0", "whether the tile has arrived before the mma", 1},
           of.changed(
               [](const TensorTile& t) { return changed_bytes(t, [](std::byte) { return std::byte{0}; }); }));
  if (to.subject.mma.cta_group == 2) collect_blocks(to, of);
}

}  // namespace

void collect_tensor_contents(TensorMistakes& to) {
  TensorContents(to).run();
  const TensorSubject& x = to.subject;
  const auto tile = [&](Part part, std::uint64_t bits) -> std::vector<TensorTile> {
    const Result<DescribedMatrix> matrix = described_matrix(x.instruction, part, x.of);
    if (!matrix) return {};
    const Descriptor d = Descriptor::decode(bits, DescriptorForm::tcgen05);
    return {{d, *matrix, described_ranges(d, *matrix)}};
  };
  const std::vector<TensorTile> a = tile(Part::a, x.state.sources.a), b = tile(Part::b, x.state.sources.b);
  if (!a.empty()) collect_tiles(to, {"a", "the tile of A is", a});
  if (!b.empty()) collect_tiles(to, {"b", "the tile of B is", b});
  if (!a.empty() && !b.empty()) collect_tiles(to, {"a b", "the tiles of A and B are", {a[0], b[0]}});
}

}  // namespace warpbit::diagnosis
