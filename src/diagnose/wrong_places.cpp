// SPDX-License-Identifier: Apache-2.0
#include "diagnose/wrong_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace warpbit {
namespace diagnosis {
namespace {

constexpr std::size_t kMostTiles = 4;   // that are described each for itself
constexpr std::size_t kMostRanges = 6;  // of values that are written

// "0 to 3, 8"
std::string ranges_text(const std::vector<int>& values) {
  std::string out;
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < values.size(); ++ranges) {
    std::size_t last = first;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) ++last;
    if (ranges == kMostRanges) return out + ", ...";
    out += fmt::format("{}{}", out.empty() ? "" : ", ", values[first]);
    if (last > first) out += fmt::format(" to {}", values[last]);
    first = last + 1;
  }
  return out;
}

bool is_range(const std::vector<int>& values) {
  return values.back() - values.front() + 1 == static_cast<int>(values.size());
}

// The values, or how they repeat.
std::string values_text(const std::vector<int>& values, int size) {
  if (is_range(values)) return ranges_text(values);
  std::vector<bool> is_there(static_cast<std::size_t>(size));
  for (const int x : values) is_there[static_cast<std::size_t>(x)] = true;
  for (int period = 2; period <= size / 2; period *= 2) {
    bool repeats = true;
    for (int x = period; x < size; ++x)
      repeats =
          repeats && is_there[static_cast<std::size_t>(x)] == is_there[static_cast<std::size_t>(x % period)];
    if (!repeats) continue;
    std::vector<int> first;
    std::ranges::copy_if(values, std::back_inserter(first), [period](int x) { return x < period; });
    return fmt::format("{} of each {}", ranges_text(first), period);
  }
  const std::string out = ranges_text(values);
  return out.ends_with("...") ? fmt::format("{} ({} of {})", out, values.size(), size) : out;
}

// By the slot of an element among those of all cases.
std::vector<IndexOfElement> indices_of(const Problem& p, const Fragment& d) {
  const std::size_t slots = d.size();
  const auto in_tile = [&d, slots](std::size_t i) { return d.index(i % slots); };
  const auto at = [&p, &d, slots](std::size_t i) {
    const Coordinate in = d.at(i % slots);
    const Coordinate origin = p.matrices ? p.origin(Part::d, i / slots, 0) : Coordinate{};
    return Coordinate{origin.row + in.row, origin.column + in.column};
  };
  const int cases = static_cast<int>(p.cases), across = p.matrices ? p.tiles_across() : 1;
  std::vector<IndexOfElement> all;
  if (!p.matrices)
    all.push_back({"case", cases, [slots](std::size_t i) { return static_cast<int>(i / slots); }});
  if (p.matrices) {
    all.push_back({"tile row", cases / across,
                   [slots, across](std::size_t i) { return static_cast<int>(i / slots) / across; }});
    all.push_back({"tile column", across,
                   [slots, across](std::size_t i) { return static_cast<int>(i / slots) % across; }});
  }
  all.push_back({"warp", d.lanes() / 32, [in_tile](std::size_t i) { return in_tile(i).lane / 32; }});
  all.push_back({"lane", std::min(d.lanes(), 32), [in_tile](std::size_t i) { return in_tile(i).lane % 32; }});
  all.push_back({"register", d.registers(), [in_tile](std::size_t i) { return in_tile(i).reg; }});
  all.push_back({"element", d.per_register(), [in_tile](std::size_t i) { return in_tile(i).slot; }});
  all.push_back({"row", p.matrices ? p.matrices->d.rows : d.op().fragment.rows(),
                 [at](std::size_t i) { return at(i).row; }});
  all.push_back({"column", p.matrices ? p.matrices->d.columns : d.op().fragment.columns(),
                 [at](std::size_t i) { return at(i).column; }});
  std::erase_if(all, [](const IndexOfElement& index) { return index.size < 2; });
  return all;
}

}  // namespace

WrongPlaces places_of(const std::vector<IndexOfElement>& indices, const std::vector<Compared>& elements,
                      const std::function<bool(std::size_t)>& counts) {
  std::vector<std::vector<bool>> is_wrong, is_there;
  for (const IndexOfElement& index : indices) {
    is_wrong.emplace_back(static_cast<std::size_t>(index.size));
    is_there.emplace_back(static_cast<std::size_t>(index.size));
  }
  const auto value = [&](std::size_t n, std::size_t i) { return static_cast<std::size_t>(indices[n].of(i)); };
  WrongPlaces out;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == Compared::left_out) continue;
    const bool wrong = elements[i] == Compared::wrong && counts(i);
    out.wrong += wrong ? 1 : 0;
    for (std::size_t n = 0; n < indices.size(); ++n) {
      is_there[n][value(n, i)] = true;
      if (wrong) is_wrong[n][value(n, i)] = true;
    }
  }
  const auto is_among = [&](std::size_t i) {
    for (std::size_t n = 0; n < indices.size(); ++n)
      if (!is_wrong[n][value(n, i)]) return false;
    return true;
  };
  out.is_complete = true;
  for (std::size_t i = 0; i < elements.size() && out.is_complete; ++i)
    out.is_complete = elements[i] != Compared::right || !counts(i) || !is_among(i);
  for (std::size_t n = 0; n < indices.size(); ++n) {
    if (is_wrong[n] == is_there[n]) continue;
    WrongIndices& index = out.indices.emplace_back(WrongIndices{indices[n].name, {}, indices[n].size});
    for (int x = 0; x < index.size; ++x)
      if (is_wrong[n][static_cast<std::size_t>(x)]) index.values.push_back(x);
    index.text = values_text(index.values, index.size);
  }
  return out;
}

std::vector<WrongPlaces> wrong_places(const Problem& problem, const Fragment& d,
                                      const std::vector<Compared>& elements) {
  const std::vector<IndexOfElement> indices = indices_of(problem, d);
  WrongPlaces all = places_of(indices, elements, [](std::size_t) { return true; });
  std::map<std::size_t, std::uint64_t> tiles;  // wrong elements of each
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i] == Compared::wrong) ++tiles[i / d.size()];
  if (all.is_complete || tiles.size() < 2 || tiles.size() > kMostTiles) return {std::move(all)};
  std::vector<WrongPlaces> out;
  for (const auto& [tile, wrong] : tiles)
    out.push_back(
        places_of(indices, elements, [&, tile = tile](std::size_t i) { return i / d.size() == tile; }));
  return std::ranges::all_of(out, &WrongPlaces::is_complete) ? out : std::vector{std::move(all)};
}

}  // namespace diagnosis

std::string WrongPlaces::text() const {
  if (indices.empty()) return is_complete ? "every element is wrong" : "wrong elements are everywhere";
  std::string out = fmt::format("{} wrong: {}", wrong, is_complete ? "all with" : "only with");
  for (const WrongIndices& i : indices)
    out += fmt::format("{} {} {}", &i == indices.data() ? "" : ",", i.index, i.text);
  return out;
}

}  // namespace warpbit
