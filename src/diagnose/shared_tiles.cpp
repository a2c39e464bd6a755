// SPDX-License-Identifier: Apache-2.0
// Mistakes in the descriptors of factors in shared memory, where the matrices alone are known: which elements does a wrong
// descriptor read, if the kernel lays tiles out as the manual says (PTX manual, "Strides")?
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "diagnose/matrix_moves.hpp"
#include "numeric/formats.hpp"
#include "warpbit/descriptor.hpp"

namespace warpbit::diagnosis {
namespace {

// What a kernel gives the instruction for a part of a tile.
struct Reading {
  Descriptor descriptor;
  Major major;
};

// A tile of a factor in shared memory, and the parts of it that instructions take.
struct SharedTile {
  DescribedMatrix whole, part;
  Descriptor descriptor;  // of the whole, at address 0

  Reading right(int i, int k) const {
    Reading out{descriptor, whole.major};
    out.descriptor.start = static_cast<std::uint32_t>(element_bit(descriptor, whole, i, k) / 8);
    return out;
  }
  std::size_t index(int i, int k) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(whole.depth) + static_cast<std::size_t>(k);
  }
  std::string text() const {
    return fmt::format("tiles of {} lines x {} k, {}-major, {}", whole.lines, whole.depth,
                       whole.major == Major::k ? "K" : "MN", name(descriptor.swizzle));
  }
};

struct DescriptorMistake {
  std::string kind, text, hint;
  int cost;
  // Of the part at k of the tile.
  std::function<void(Reading&, const SharedTile&, int k)> change;
};

std::vector<DescriptorMistake> descriptor_mistakes() {
  std::vector<DescriptorMistake> out;
  const auto add = [&](std::string kind, std::string text, std::string hint, int cost, auto change) {
    out.push_back({std::move(kind), std::move(text), std::move(hint), cost, change});
  };
  add("offsets_exchanged", "LBO and SBO of the descriptors are exchanged",
      "which offset is the leading and which the stride dimension's", 1,
      [](Reading& r, const SharedTile&, int) { std::swap(r.descriptor.leading, r.descriptor.stride); });
  for (const Swizzle mode : {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128})
    add("swizzle", fmt::format("the descriptors have {}", name(mode)),
        "the swizzle that the tile was stored with", 1,
        [mode](Reading& r, const SharedTile&, int) { r.descriptor.swizzle = mode; });
  add("transposed", "the tile is taken as the other major", "imm-trans, and which direction is contiguous", 1,
      [](Reading& r, const SharedTile&, int) { r.major = r.major == Major::k ? Major::mn : Major::k; });
  const std::string advance = "how the start address advances from one wgmma to the next along K";
  add("depth_step", "the start address does not advance within a tile", advance, 1,
      [](Reading& r, const SharedTile&, int) { r.descriptor.start = 0; });
  add("depth_step", "the start address advances along K by bytes of elements", advance, 1,
      [](Reading& r, const SharedTile& t, int k) {
        r.descriptor.start = static_cast<std::uint32_t>(k * t.whole.element_bits / 8);
      });
  for (int base = 1; base < 8; ++base)
    add("base_offset", fmt::format("the base offset of the descriptors is {}", base),
        "address / 128 % 8 of where the swizzle's pattern begins", 2,
        [base](Reading& r, const SharedTile&, int) { r.descriptor.base_offset = base; });
  struct FieldOfReading {
    std::string_view kind, name;
    std::uint32_t Descriptor::*field;
  };
  constexpr FieldOfReading kOffsets[] = {{"leading_offset", "LBO", &Descriptor::leading},
                                         {"stride_offset", "SBO", &Descriptor::stride}};
  const std::string offset_hint = "how the address advances with K, M and N; the fields hold bytes / 16";
  for (const FieldOfReading& f : kOffsets) {
    const auto set = [&](const std::string& text, auto value) {
      add(std::string(f.kind), fmt::format("{} of the descriptors is {}", f.name, text), offset_hint, 2,
          [field = f.field, value](Reading& r, const SharedTile&, int) {
            r.descriptor.*field = value(r.descriptor.*field);
          });
    };
    set("twice what it should be", [](std::uint32_t x) { return 2 * x; });
    set("half of what it should be", [](std::uint32_t x) { return x / 32 * 16; });
    set("in bytes instead of units of 16 bytes", [](std::uint32_t x) { return 16 * x; });
    set("0", [](std::uint32_t) { return 0U; });
    for (std::uint32_t bytes = 16; bytes <= 2048; bytes *= 2)
      set(fmt::format("{} bytes", bytes), [bytes](std::uint32_t) { return bytes; });
  }
  for (const int by : {16, -16, 32, -32, 64, -64, 128, -128, 256, 512, 1024})
    add("start_address",
        fmt::format("the start address is {} bytes too {}", std::abs(by), by > 0 ? "large" : "small"),
        "the address of the tile", 2,
        [by](Reading& r, const SharedTile&, int) { r.descriptor.start += static_cast<std::uint32_t>(by); });
  return out;
}

// From which element of the tile each is read: an index, or kElsewhere behind the tile.
using TileSource = std::vector<std::int32_t>;

// Calls use(i, k, bit) for each element that is read. 16 bytes stay together.
template <class Use>
void for_each_element(const Reading& from, int bits, int lines, int depth, Use use) {
  const bool across = from.major == Major::mn;
  const int chunk = 128 / bits, along = across ? lines : depth, others = across ? depth : lines;
  for (int other = 0; other < others; ++other)
    for (int first = 0; first < along; first += chunk) {
      const int i = across ? first : other, k = across ? other : first;
      const std::uint64_t bit = element_bit(from.descriptor, from.major, bits, i, k);
      for (int n = 0; n < std::min(chunk, along - first); ++n)
        use(across ? i + n : i, across ? k : k + n, bit + static_cast<std::uint64_t>(n * bits));
    }
}

// nullptr: each from where it should be, or all from behind the tile.
std::shared_ptr<const TileSource> source_of(const SharedTile& t, const DescriptorMistake& mistake) {
  const DescribedMatrix& w = t.whole;
  const auto bits = static_cast<std::uint64_t>(w.element_bits);
  const std::size_t size = static_cast<std::size_t>(w.lines) * static_cast<std::size_t>(w.depth);
  TileSource stored(size, kElsewhere);
  const auto out = std::make_shared<TileSource>(size, kElsewhere);
  for_each_element(t.right(0, 0), w.element_bits, w.lines, w.depth, [&](int i, int k, std::uint64_t bit) {
    stored[bit / bits] = static_cast<std::int32_t>(t.index(i, k));
  });
  bool identity = true, known = false;
  for (int i0 = 0; i0 < w.lines; i0 += t.part.lines)
    for (int k0 = 0; k0 < w.depth; k0 += t.part.depth) {
      Reading reading = t.right(i0, k0);
      mistake.change(reading, t, k0);
      for_each_element(reading, w.element_bits, t.part.lines, t.part.depth,
                       [&](int i, int k, std::uint64_t bit) {
                         const std::size_t to = t.index(i0 + i, k0 + k);
                         if (bit / bits < size) (*out)[to] = stored[bit / bits];
                         identity = identity && (*out)[to] == static_cast<std::int32_t>(to);
                         known = known || (*out)[to] != kElsewhere;
                       });
    }
  return identity || !known ? nullptr : out;
}

// Tiles of a factor, and what each mistake makes of them.
struct FactorTiles {
  struct Moved {
    WholeMove move;
    MoveSummary summary;
  };
  std::vector<SharedTile> tiles;
  std::vector<std::vector<std::optional<Moved>>> moved;  // by tile and mistake, if that changes anything new
};

class SharedTiles {
 public:
  explicit SharedTiles(MatrixCollection& to) : to_(to) {}

  void run() {
    const FactorTiles a = moved_tiles(Part::a), b = moved_tiles(Part::b);
    for (std::size_t m = 0; m < mistakes_.size(); ++m) {
      for (std::size_t x = 0; x < a.tiles.size(); ++x) add(m, {{Part::a, &a, x}});
      for (std::size_t y = 0; y < b.tiles.size(); ++y) add(m, {{Part::b, &b, y}});
      for (std::size_t x = 0; x < a.tiles.size() && mistakes_[m].cost == 1; ++x)
        for (std::size_t y = 0; y < b.tiles.size(); ++y)
          if (a.tiles[x].whole.depth == b.tiles[y].whole.depth &&
              a.tiles[x].descriptor.swizzle == b.tiles[y].descriptor.swizzle)
            add(m, {{Part::a, &a, x}, {Part::b, &b, y}});
    }
  }

 private:
  // The layouts that a kernel may have chosen.
  std::vector<SharedTile> tiles(Part part) const {
    std::vector<SharedTile> out;
    const Result<DescribedMatrix> described = described_matrix(to_.instruction(), part);
    if (!described) return out;
    const int bits = described->element_bits, depth = described->depth, lines = described->lines,
              rows = to_.matrices.a.rows;
    for (const Major major : {Major::k, Major::mn})
      for (const Swizzle swizzle : {Swizzle::bytes_128, Swizzle::bytes_64, Swizzle::bytes_32, Swizzle::none})
        for (int steps = 1; steps <= 8 && steps < 2 * to_.to.capture.steps; steps *= 2)
          for (int more = 1; more == 1 || (more == 2 && part == Part::a && rows > lines);
               ++more) {                                     // A of two warpgroups
            if (major == Major::mn && bits != 16) continue;  // of other types K is contiguous
            const DescribedMatrix whole{major, bits, more * lines, steps * depth},
                one{major, bits, lines, depth};
            const Result<CanonicalTile> tile = CanonicalTile::make(whole, swizzle);
            const Result<Descriptor> first = tile ? tile->descriptor(0, whole) : tile.error();
            if (!first || !tile->step(one, 0, steps > 1 ? depth : 0)) continue;
            out.push_back({whole, one, *first});
            // Without a swizzle atoms may as well follow each other along K first.
            const auto atoms = static_cast<std::uint32_t>(whole.depth * bits / 128);
            if (swizzle == Swizzle::none) out.push_back({whole, one, {0, 128, 128 * atoms, 0, swizzle}});
          }
    return out;
  }

  FactorTiles moved_tiles(Part part) const {
    FactorTiles out{tiles(part), {}};
    for (const SharedTile& tile : out.tiles) {
      std::vector<std::shared_ptr<const TileSource>> sources;
      auto& moved = out.moved.emplace_back();
      for (const DescriptorMistake& mistake : mistakes_) {
        const std::shared_ptr<const TileSource> source = source_of(tile, mistake);
        moved.emplace_back();
        if (!source || std::ranges::any_of(sources, [&](const auto& s) { return *s == *source; })) continue;
        sources.push_back(source);
        const WholeMove move = move_of(part, tile, source);
        moved.back() = {move, to_.summary(move)};
      }
    }
    return out;
  }

  struct TileOf {
    Part part;
    const FactorTiles* all;
    std::size_t index;
  };
  // The same mistake in A's tile, in B's or in both.
  void add(std::size_t m, std::initializer_list<TileOf> of) {
    const DescriptorMistake& mistake = mistakes_[m];
    std::vector<WholeMove> moves;
    std::vector<MoveSummary> summaries;
    std::string names;
    const SharedTile* tile = nullptr;
    for (const TileOf& x : of) {
      const std::optional<FactorTiles::Moved>& moved = x.all->moved[x.index][m];
      if (!moved) return;
      tile = &x.all->tiles[x.index];
      names += fmt::format("{}{}", names.empty() ? "" : " and ", to_.letter(x.part));
      moves.push_back(moved->move);
      summaries.push_back(moved->summary);
    }
    to_.add({mistake.kind, "", fmt::format("{}: {} ({})", names, mistake.text, tile->text()), mistake.hint,
             mistake.cost + static_cast<int>(of.size()) - 1},
            std::move(moves), summaries);
  }
  WholeMove move_of(Part part, const SharedTile& t, std::shared_ptr<const TileSource> source) const {
    const Codes& m = to_.matrix(part);
    const bool is_a = part == Part::a;
    return {
        part,
        [=, &m, lines = t.whole.lines, depth = t.whole.depth, source = std::move(source)](int row, int column) {
          const int line = is_a ? row : column, k = is_a ? column : row;
          const std::int32_t from = (*source)[static_cast<std::size_t>(line % lines * depth + k % depth)];
          if (from < 0) return From{kElsewhere, 0};
          const int other = line / lines * lines + from / depth, other_k = k / depth * depth + from % depth;
          const From out = is_a ? From{other, other_k} : From{other_k, other};
          return m.has(out.row, out.column) ? out : From{kZero, 0};  // a copy fills with zeros
        },
        true};
  }

  MatrixCollection& to_;
  const std::vector<DescriptorMistake> mistakes_ = descriptor_mistakes();
};

}  // namespace

void collect_shared_tiles(MatrixCollection& to) {
  SharedTiles(to).run();
}

}  // namespace warpbit::diagnosis
