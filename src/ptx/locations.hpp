// SPDX-License-Identifier: Apache-2.0
// Which .loc is meant (PTX manual, ".loc"): an inlined_at names a .loc that stands before by its line and column alone, and a
// line may have been inlined at several places.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ptx/module.hpp"

namespace warpbit::ptx {

/// A file, a line, a column.
struct LinePlace {
  int file = 0, line = 0, column = 0;
  friend auto operator<=>(const LinePlace&, const LinePlace&) = default;
};

/// The .loc of one function, in the order of the text. Compilers write the places of a chain once, from the outside:
///
///     .loc 1 18 5                            a.push(...)        a root
///     .loc 2 45 74, ..., inlined_at 1 18 5   its body
///     .loc 4 51 3,  ..., inlined_at 2 45 74  what that calls
///     .loc 1 20 5                            b.push(...)
///     .loc 2 45 74, ..., inlined_at 1 20 5
///     .loc 4 51 3,  ..., inlined_at 2 45 74
///
/// A loop that is unrolled has copies of the last one alone, 4 51 3, of both calls. Such a copy has the order of the first one:
/// behind a root the place is meant that followed it there. Where no root stands before it, the place is not known for sure.
class Locations {
 public:
  /// `all`: to which they are added, as indices of which they are known.
  explicit Locations(std::vector<Location>& all) : all_(&all) {}
  /// The next .loc, and of which place it is said that it was inlined there. Returns its index.
  int add(Location here, const std::optional<LinePlace>& inlined_at);
  /// A basic block begins: a label of the function follows.
  void block() { block_ = order_.size(); }
  void clear();

 private:
  using Key = std::pair<LinePlace, LinePlace>;  // a line, and where it was inlined
  struct Choice {
    int parent = -1;
    bool is_sure = true;
    std::optional<std::size_t> like = {};  ///< the occurrence that it repeats
  };
  using Occurrences = std::vector<std::size_t>;  // of order_
  Choice choose(const Key& key, const Occurrences& seen);
  Choice choose_of(const std::vector<int>& parents, const Occurrences& seen);
  std::optional<std::size_t> next_like(const Occurrences& seen) const;
  std::optional<int> distance(int location) const;
  std::optional<int> nearest(const std::vector<int>& places) const;
  int index_of(const Location& here, bool is_sure);
  const Location& at(int index) const { return (*all_)[static_cast<std::size_t>(index)]; }

  std::vector<Location>* all_;
  std::map<std::tuple<LinePlace, int, bool>, int>
      known_;                                   // by line, by where it was inlined, whether that is sure
  std::map<LinePlace, std::vector<int>> sure_;  // by line
  std::map<LinePlace, int> not_sure_;           // by line: the last one
  std::map<Key, Occurrences> seen_;
  std::vector<int> order_;    // the location of each .loc
  std::size_t block_ = 0;     // of order_: the first of the basic block
  std::size_t like_ = 0;      // the occurrence that the last one repeats, or itself
  bool is_anchored_ = false;  // behind the last place that is not sure stood one that is
};

}  // namespace warpbit::ptx
