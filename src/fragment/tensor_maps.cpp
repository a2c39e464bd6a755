// SPDX-License-Identifier: Apache-2.0
#include "fragment/tensor_maps.hpp"

#include <algorithm>

namespace warpbit::tensor {
namespace {

using Digit = FragmentMap::Digit;

constexpr int kWindow = 32, kWordBits = 32;

// The lanes of a layout: all, or sixteen of each window.
ActiveLanes active(const Extent& of) {
  if (of.path == DataPath::c || of.path == DataPath::f) return {kWindow, of.half, kWindow / 2};
  return {};
}

// A step of rows, or of columns.
Coordinate row(int step) {
  return {step, 0, 0};
}
Coordinate column(int step) {
  return {0, step, 0};
}

// The lanes as digits: rows of D, and the bank, whose columns are `apart` from those of the one before.
std::vector<Digit> lanes_of(const Extent& of, int apart) {
  switch (of.path) {
    case DataPath::a: return {{256, row(1)}};
    case DataPath::b: return {{64, row(1)}, {2, column(apart)}, {2, row(64)}};
    case DataPath::c: return {{16, row(1)}, {4, row(16)}, {2, row(64)}};
    case DataPath::d: return {{128, row(1)}};
    case DataPath::e: return {{64, row(1)}, {2, column(apart)}};
    case DataPath::f: return {{16, row(1)}, {4, row(16)}};
    case DataPath::g: return {{32, row(1)}, {4, column(apart)}};
  }
  return {};
}

int banks_of(DataPath path) {
  return path == DataPath::g ? 4 : path == DataPath::b || path == DataPath::e ? 2 : 1;
}

// Scale factors of lines, 32 lines to a column: bytes of a word from `first` on. Of six the last two are in columns of their own,
// behind all that 128 lines or a multiple of them have.
struct ScaleWords {
  Packing packing;
  std::vector<Digit> values;
};
ScaleWords scale_words(int lines, int scales, int first) {
  ScaleWords out{{kWordBits, 8, 0, 8, first, std::min(scales, 4)}, {{std::min(scales, 4), column(1)}}};
  const int words = scales > 4 ? (lines + 127) / 128 * 4 : (lines + kWindow - 1) / kWindow;
  if (words > 1) out.values.push_back({words, row(kWindow)});
  if (scales > 4) out.values.push_back({2, column(4)});
  return out;
}

}  // namespace

std::optional<DataPath> data_path(int m, int cta_group, bool is_weight_stationary, bool is_sparse) {
  if (cta_group == 2) {
    if (m == 256) return DataPath::a;
    if (m == 128) return is_sparse ? DataPath::c : DataPath::b;
    return std::nullopt;
  }
  if (m == 128) return DataPath::d;
  if (m == 64) return is_weight_stationary ? DataPath::e : DataPath::f;
  if (m == 32 && is_weight_stationary) return DataPath::g;
  return std::nullopt;
}

int blocks_of(DataPath path) {
  return path == DataPath::a || path == DataPath::b || path == DataPath::c ? 2 : 1;
}

FragmentMap d_map(const Extent& of, int bits) {
  const int columns = of.n / banks_of(of.path);
  return {of.m,      of.n, 1, {kWordBits, kWordBits, 0, bits}, lanes_of(of, columns), {{columns, column(1)}},
          active(of)};
}

FragmentMap a_map(const Extent& of, int stored_k, Packing packing) {
  return {of.m, stored_k, 1, packing, lanes_of(of, 0), {{stored_k, column(1)}}, active(of)};
}

// By sixteen: sixteen rows, in eight lanes each for the chunks from 0 and from 4 on; of a word those of a row and of the one
// that is eight further.
FragmentMap metadata_map(const Extent& of, bool by_sixteen, int selector) {
  if (!by_sixteen) return {of.m, 16, 1, {kWordBits, 4, 0, 4}, lanes_of(of, 0), {{16, column(1)}}, active(of)};
  std::vector<Digit> lanes{{8, row(1)}, {2, column(4)}};
  switch (of.path) {
    case DataPath::a: lanes.push_back({16, row(16)}); break;
    case DataPath::b: lanes.insert(lanes.end(), {{4, row(16)}, {2, row(0)}, {2, row(64)}}); break;
    case DataPath::c: lanes.insert(lanes.end(), {{4, row(16)}, {2, row(64)}}); break;
    case DataPath::d: lanes.push_back({8, row(16)}); break;
    case DataPath::e: lanes.insert(lanes.end(), {{4, row(16)}, {2, row(0)}}); break;
    case DataPath::f: lanes.push_back({4, row(16)}); break;
    case DataPath::g: lanes.insert(lanes.end(), {{2, row(16)}, {4, row(0)}}); break;
  }
  (void)selector;  // the number of the column, which the address has besides
  return {of.m, 8, 1, {kWordBits, 4, 0, 4}, lanes, {{4, column(1)}, {2, row(8)}}, active(of)};
}

FragmentMap scale_a_map(const Extent& of, int scales, int first_byte) {
  const int rows = of.m / blocks_of(of.path);
  std::vector<Digit> lanes{{kWindow, row(1)}, {4, row(0)}};
  if (blocks_of(of.path) == 2) lanes.push_back({2, row(rows)});
  const auto [packing, values] = scale_words(rows, scales, first_byte);
  return {of.m, scales, 1, packing, lanes, values};
}

FragmentMap scale_b_map(const Extent& of, int scales, int first_byte) {
  const bool by_banks = of.path == DataPath::b;
  const int columns = by_banks ? of.n / 2 : of.n;
  std::vector<Digit> lanes{{kWindow, row(1)}};
  if (by_banks)
    lanes.insert(lanes.end(), {{2, row(0)}, {2, row(columns)}});
  else
    lanes.push_back({4, row(0)});
  if (blocks_of(of.path) == 2) lanes.push_back({2, row(0)});
  const auto [packing, values] = scale_words(columns, scales, first_byte);
  return {of.n, scales, 1, packing, lanes, values};
}

}  // namespace warpbit::tensor
