// SPDX-License-Identifier: Apache-2.0
#include "fragment/tensor_maps.hpp"

#include <initializer_list>
#include <utility>
#include <vector>

namespace warpbit::tensor {
namespace {

using Digit = FragmentMap::Digit;

constexpr int kWindow = 32, kWordBits = 32, kWordBytes = 4;

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

// Scale factors of `lines` lines side by side, 32 to a column, each in bytes from `first` on of one word, and where it has no
// more, of that which lies as many columns further as multiples of 128 lines have. The lanes count lines by kApart.
constexpr int kApart = 256;  // more than there are

FragmentMap scale_map(int rows, std::vector<Digit> lanes, int lines, int scales, int first) {
  const bool goes_on = first + scales > kWordBytes;
  const int words = goes_on ? (lines + 127) / 128 * 4 : (lines + kWindow - 1) / kWindow;
  std::vector<Digit> values{{kWordBytes, column(1)}, {words, row(kWindow)}};
  if (goes_on) values.push_back({2, column(kWordBytes)});
  const FragmentMap all(rows, scales, 1, {kWordBits, 8, 0, 8}, std::move(lanes), std::move(values));
  return all.within({column(-first), kApart, lines});
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

namespace {

// Kinds f16 and tf32: of sixteen rows the first eight lanes have chunks 0 to 3, the others 4 to 7; a word has those of a row,
// and above them those of the row eight further.
std::vector<Digit> lanes_by_sixteen(DataPath path) {
  std::vector<Digit> out{{8, row(1)}, {2, column(4)}};
  const auto add = [&](std::initializer_list<Digit> digits) { out.insert(out.end(), digits); };
  switch (path) {
    case DataPath::a: add({{16, row(16)}}); break;
    case DataPath::b: add({{4, row(16)}, {2, row(0)}, {2, row(64)}}); break;
    case DataPath::c: add({{4, row(16)}, {2, row(64)}}); break;
    case DataPath::d: add({{8, row(16)}}); break;
    case DataPath::e: add({{4, row(16)}, {2, row(0)}}); break;
    case DataPath::f: add({{4, row(16)}}); break;
    case DataPath::g: add({{2, row(16)}, {4, row(0)}}); break;
  }
  return out;
}

}  // namespace

FragmentMap metadata_map(const Extent& of, bool by_sixteen, int selector) {
  constexpr Packing kNibbles{kWordBits, 4, 0, 4};
  if (!by_sixteen) return {of.m, 16, 1, kNibbles, lanes_of(of, 0), {{16, column(1)}}, active(of)};
  const FragmentMap all(of.m, 8, 1, kNibbles, lanes_by_sixteen(of.path),
                        {{4, column(1)}, {2, row(8)}, {selector + 1, column(8)}}, active(of));
  return all.within({.origin = column(-8 * selector)});  // nothing in the columns before
}

FragmentMap scale_a_map(const Extent& of, int scales, int first_byte) {
  const int rows = of.m / blocks_of(of.path);
  std::vector<Digit> lanes{{kWindow, row(1)}, {4, row(0)}};
  if (blocks_of(of.path) == 2) lanes.push_back({2, row(kApart)});
  return scale_map(of.m, std::move(lanes), rows, scales, first_byte);
}

// In layout B each bank of 64 lanes has the columns of B that it has of D.
FragmentMap scale_b_map(const Extent& of, int scales, int first_byte) {
  const bool by_banks = of.path == DataPath::b;
  std::vector<Digit> lanes{{kWindow, row(1)}};
  if (by_banks)
    lanes.insert(lanes.end(), {{2, row(0)}, {2, row(kApart)}});
  else
    lanes.push_back({4, row(0)});
  if (blocks_of(of.path) == 2) lanes.push_back({2, row(0)});
  return scale_map(of.n, std::move(lanes), by_banks ? of.n / 2 : of.n, scales, first_byte);
}

}  // namespace warpbit::tensor
