// SPDX-License-Identifier: Apache-2.0
// Mistakes in how D was read from tensor memory.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "diagnose/tensor.hpp"

namespace warpbit::diagnosis {
namespace {

constexpr int kReadWindow = 32;

// ---- Another data movement shape (PTX manual, "Data Movement Shape")

// The register that a thread of a warp has for a word of its window: 32 lanes, or 16, of which the upper ones are read by
// themselves.
struct Held {
  int thread, reg;
};
struct ReadShape {
  std::string_view name;
  int lanes;
  Held (*held)(int lane, int column);
  TensorCell (*cell)(const Held&);  // of block 0
};
constexpr ReadShape kReadShapes[] = {
    {".32x32b", 32,
     [](int l, int c) {
       return Held{l, c};
     },
     [](const Held& h) {
       return TensorCell{0, h.thread, h.reg};
     }},
    {".16x64b", 16,
     [](int l, int c) {
       return Held{l % 8 * 4 + l / 8 + 2 * (c % 2), c / 2};
     },
     [](const Held& h) {
       return TensorCell{0, h.thread / 4 + 8 * (h.thread % 2), 2 * h.reg + h.thread / 2 % 2};
     }},
    {".16x128b", 16,
     [](int l, int c) {
       return Held{l % 8 * 4 + c % 4, l / 8 + 2 * (c / 4)};
     },
     [](const Held& h) {
       return TensorCell{0, h.thread / 4 + 8 * (h.reg % 2), h.thread % 4 + 4 * (h.reg / 2)};
     }},
    {".16x256b", 16,
     [](int l, int c) {
       return Held{l % 8 * 4 + c / 2 % 4, c % 2 + 2 * (l / 8) + 4 * (c / 8)};
     },
     [](const Held& h) {
       return TensorCell{0, h.thread / 4 + 8 * (h.reg / 2 % 2),
                         2 * (h.thread % 4) + h.reg % 2 + 8 * (h.reg / 4)};
     }},
};

void collect_read_shapes(TensorMistakes& to) {
  for (const ReadShape& meant : kReadShapes)
    for (const ReadShape& used : kReadShapes) {
      if (&meant == &used) continue;
      to.add_read({"move_shape", "d",
                   fmt::format("D is read with {} and taken for what {} gives", used.name, meant.name),
                   "the shape of tcgen05.ld", meant.lanes == 32 || used.lanes == 32 ? 1 : 2},
                  [&meant, &used](const TensorCell& at) -> std::optional<TensorCell> {
                    const int half = at.lane % kReadWindow / meant.lanes * meant.lanes;
                    const TensorCell from = used.cell(meant.held(at.lane % meant.lanes, at.column));
                    const int lane = half + from.lane;
                    if (lane >= kReadWindow) return std::nullopt;
                    return TensorCell{at.block, at.lane / kReadWindow * kReadWindow + lane, from.column};
                  });
    }
}

// ---- Other lanes and columns

void collect_read_layouts(TensorMistakes& to) {
  const TensorSubject& x = to.subject;
  using tensor::DataPath;
  struct Row {
    DataPath path;
    std::string_view text;
  };
  const Row rows[] = {{DataPath::b, "lane m % 64, and 64 further for the upper half of the columns (layout B)"},
                      {DataPath::c, "lane 32 (m % 64 / 16) + m % 16 (layout C)"},
                      {DataPath::d, "lane m (layout D)"},
                      {DataPath::e, "lane m, and 64 further for the upper half of the columns (layout E)"},
                      {DataPath::f, "lane 32 (m / 16) + m % 16 (layout F)"},
                      {DataPath::g, "lane m, and 32 further for each quarter of the columns (layout G)"}};
  for (const Row& row : rows) {
    if (row.path == x.extent.path) continue;
    const bool is_banked = row.path == DataPath::b || row.path == DataPath::e;
    const int rows_of_block = x.of.m / x.mma.cta_group;
    if ((is_banked || row.path == DataPath::c || row.path == DataPath::f) && rows_of_block != 64) continue;
    if (row.path == DataPath::g && rows_of_block != 32) continue;
    if ((row.path == DataPath::b || row.path == DataPath::c) != (x.mma.cta_group == 2)) continue;
    // By elements: the cell says which, since no two have the same.
    const int n_all = x.of.n, per = x.of.m / x.mma.cta_group;
    auto element = std::make_shared<std::vector<int>>(2 * 128 * 512, -1);
    for (std::size_t i = 0; i < x.d.size(); ++i)
      (*element)[static_cast<std::size_t>((x.d[i].block * 128 + x.d[i].lane) * 512 + x.d[i].column)] =
          static_cast<int>(i);
    to.add_read({"layout", "d", fmt::format("D is read as if row m were in {}", row.text),
                 "the layout of D for this M", 1},
                [=, path = row.path](const TensorCell& at) -> std::optional<TensorCell> {
                  const int i =
                      (*element)[static_cast<std::size_t>((at.block * 128 + at.lane) * 512 + at.column)];
                  const int m = i / n_all % per, n = i % n_all;
                  switch (path) {
                    case DataPath::b:
                    case DataPath::e: return TensorCell{at.block, m + 64 * (n / (n_all / 2)), n % (n_all / 2)};
                    case DataPath::c:
                    case DataPath::f: return TensorCell{at.block, 32 * (m / 16) + m % 16, n};
                    case DataPath::g: return TensorCell{at.block, m + 32 * (n / (n_all / 4)), n % (n_all / 4)};
                    default: return TensorCell{at.block, m, n};
                  }
                });
  }
}

void collect_read_places(TensorMistakes& to) {
  to.add_read({"lane_register", "d", "D is read with lanes and registers exchanged",
               "thread t of .32x32b has lane t, register r column r", 1},
              [](const TensorCell& at) -> std::optional<TensorCell> {
                return TensorCell{at.block, at.lane / kReadWindow * kReadWindow + at.column % kReadWindow,
                                  at.column / kReadWindow * kReadWindow + at.lane % kReadWindow};
              });
  const std::string window = "warp w reads lanes 32 (w % 4) and on, whatever the address says";
  for (int by = 1; by < 4; ++by)
    to.add_read({"window", "d", fmt::format("D is read from the windows {} further ({} lanes)", by, 32 * by),
                 window, 1},
                [by](const TensorCell& at) -> std::optional<TensorCell> {
                  return TensorCell{at.block, (at.lane + kReadWindow * by) % 128, at.column};
                });
  for (int w = 0; w < 4; ++w)
    to.add_read(
        {"window", "d", fmt::format("all of D is read from lanes {} to {}", 32 * w, 32 * w + 31), window, 1},
        [w](const TensorCell& at) -> std::optional<TensorCell> {
          return TensorCell{at.block, kReadWindow * w + at.lane % kReadWindow, at.column};
        });
  for (const int by : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32, 64, -64})
    to.add_read(
        {"column", "d", fmt::format("D is read {} columns too {}", std::abs(by), by > 0 ? "high" : "low"),
         "the columns of tcgen05.ld's address and of d_tmem", 2},
        [by](const TensorCell& at) -> std::optional<TensorCell> {
          return TensorCell{at.block, at.lane, at.column + by};
        });
  to.add_read({"half", "d", "D is read from the other sixteen lanes of each window",
               "the lane of the address, 0 or 16", 1},
              [](const TensorCell& at) -> std::optional<TensorCell> {
                return TensorCell{at.block, at.lane ^ 16, at.column};
              });
  if (to.subject.mma.cta_group == 1) return;
  to.add_read({"blocks_exchanged", "d", "the rows of the two blocks are exchanged",
               "the rank of the block in the pair", 1},
              [](const TensorCell& at) -> std::optional<TensorCell> {
                return TensorCell{1 - at.block, at.lane, at.column};
              });
  to.add_read({"block_repeated", "d", "both blocks have the rows of the even one",
               "the rank of the block in the pair", 1},
              [](const TensorCell& at) -> std::optional<TensorCell> {
                return TensorCell{0, at.lane, at.column};
              });
}

}  // namespace

void collect_tensor_reads(TensorMistakes& to) {
  if (to.subject.is_wanted()) return;  // it is not what anybody read
  collect_read_layouts(to);
  collect_read_places(to);
  collect_read_shapes(to);
}

}  // namespace warpbit::diagnosis
