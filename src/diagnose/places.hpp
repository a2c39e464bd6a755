// SPDX-License-Identifier: Apache-2.0
// Mistakes with one source of elements, made in one operand or in several alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "diagnose/digits.hpp"

namespace warpbit::diagnosis {

// What is beyond the ends: in memory the next line, behind it the next tile; or the next tile at each edge.
enum class Beyond { unknown, tight, tiles, edges };
inline std::int32_t slot_of(const Fragment& f, const Coordinate& c, Beyond beyond) {
  if (beyond == Beyond::unknown) return f.slot_at(c);
  if (beyond == Beyond::edges) return f.slot_in_next(c);
  return f.slot_at_address(f.outer(c) * f.line() + f.inner(c), c.product, beyond == Beyond::tiles);
}

class PlaceGroup {
 public:
  explicit PlaceGroup(Hypotheses& to);

 protected:
  // The same mistake is made in all these operands.
  void take(std::vector<const Fragment*> group) {
    group_ = std::move(group);
    names_.clear();
    for (const Fragment* f : group_) {
      const std::string_view between = f == group_.front() ? "" : f == group_.back() ? " and " : ", ";
      names_ += fmt::format("{}{}", between, f->letter());
    }
  }
  const Fragment& first() const { return *group_[0]; }

  // A mistake with the same source of elements in all these operands. Whether it reaches elsewhere.
  // `reads`: also of D the source is what is read, not where it is written.
  template <class Source>
  bool add(Hypothesis h, Source source, bool reads = false) {
    bool elsewhere = false, identity = true;
    for (const Fragment* f : group_) {
      SlotMove move{f->part(), f->part(), map_of(*f, *f, source, reads)};
      const auto unknown = static_cast<std::size_t>(std::ranges::count(move.map, kElsewhere));
      if (unknown == f->size()) return true;
      elsewhere = elsewhere || unknown > 0;
      for (std::size_t i = 0; i < f->size(); ++i)
        identity = identity && move.map[i] == static_cast<std::int32_t>(i);
      h.neighbours = h.neighbours || std::ranges::max(move.map) >= static_cast<std::int32_t>(f->size());
      h.operand += (h.operand.empty() ? "" : " ") + f->role();
      h.moves.push_back(std::move(move));
    }
    if (identity || !seen_.insert(hash_of(h.moves)).second) return elsewhere;
    if (group_.size() > 1) ++h.cost;
    to_.add(std::move(h));
    return elsewhere;
  }

  // Those of the first to try: what D has beyond its tile is never seen; of C and D together the plainest.
  std::span<const Beyond> to_try(std::size_t most) const {
    static constexpr std::array kAll{Beyond::unknown, Beyond::tight, Beyond::tiles, Beyond::edges};
    return std::span(kAll).first(group_.size() == 2 ? 1 : first().part() == Part::d ? 2 : most);
  }

  // Digits of a coordinate are computed otherwise (digit_places.cpp); lane / 4 and lane % 4 once for all operands.
  void digits();
  void lane_digits();

  Hypotheses& to_;
  std::vector<const Fragment*> group_;
  std::string names_;  // of these

 private:
  static bool is_same(const Digit& x, const Digit& y) { return x.source == y.source && x.first == y.first; }
  static std::uint64_t hash_of(std::span<const SlotMove> moves);
  template <class Change>
  void add_changed(const Hypothesis& h, std::span<const Digit> changed, Change change);
  template <class Change>
  void add_pair(const Digit& x, const Digit& y, std::string_view text, int cost, Change change);
  void expressions_of(const Digit& digit);
  void steps_of(const Digit& digit);
  void exchanged(const std::vector<Digit>& all);
  void variables_exchanged(const std::vector<Digit>& all);

  std::map<Part, std::vector<Digit>> digits_;
  std::set<std::uint64_t> seen_;  // hashes of moves
};

}  // namespace warpbit::diagnosis
