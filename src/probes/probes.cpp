// SPDX-License-Identifier: Apache-2.0
#include "warpbit/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "isa/instruction.hpp"
#include "isa/memo.hpp"
#include "probes/invisible.hpp"
#include "probes/neighbour.hpp"
#include "probes/probe_inputs.hpp"

namespace warpbit {
namespace {

constexpr int kEach = 4;      // maximum number of inputs per neighbour, in different places
constexpr int kFurther = 12;  // further arrangements of places to try when each neighbour has one input

std::string name(const Neighbour& n) {
  return fmt::format("{} {}, not {}", n.parameter, n.own, n.other);
}

// A neighbour of a tile's plan, as a tile.
class OtherTile {
 public:
  OtherTile(const Tile& tile, const Neighbour& neighbour) : neighbour_(neighbour), tile_(tile) {
    tile_.plan = &neighbour_.plan;
  }

  std::uint64_t operator()(const ProbeInputs& inputs) const {
    if (neighbour_.order.empty()) return run_element(tile_, inputs);
    ProbeInputs moved = inputs;
    for (std::size_t k = 0; k < neighbour_.order.size(); ++k) {
      moved.a[k] = inputs.a[neighbour_.order[k]];
      moved.b[k] = inputs.b[neighbour_.order[k]];
    }
    return run_element(tile_, moved);
  }
  const Neighbour& neighbour() const { return neighbour_; }

 private:
  const Neighbour& neighbour_;
  Tile tile_;
};

// Finds inputs for which a neighbour returns other bits, for each neighbour.
class Search {
 public:
  Search(const Tile& tile, const std::vector<Neighbour>& visible) : tile_(tile) {
    for (const Neighbour& n : visible) pending_.push_back({OtherTile(tile, n), 0});
  }

  void run() {
    if (pending_.empty()) return;
    for_each_probe_input(
        tile_, [&](const ProbeInputs& inputs, int arrangement) { return !take(inputs, arrangement); });
  }

  std::vector<Probe> found() { return std::move(found_); }
  std::vector<const Neighbour*> without() const {
    std::vector<const Neighbour*> out;
    for (const Pending& p : pending_)
      if (p.count == 0) out.push_back(&p.tile.neighbour());
    return out;
  }

 private:
  struct Pending {
    OtherTile tile;
    int count, arrangement = -1;  // the last one
  };

  // Returns true when the search is complete.
  bool take(const ProbeInputs& inputs, int arrangement) {
    const std::uint64_t d = run_element(tile_, inputs);
    std::vector<std::string> names;
    std::vector<std::string_view> parameters;
    for (Pending& p : pending_) {
      if (p.count == kEach || p.arrangement == arrangement || p.tile(inputs) == d) continue;
      ++p.count;
      p.arrangement = arrangement;
      names.push_back(name(p.tile.neighbour()));
      if (std::ranges::find(parameters, p.tile.neighbour().parameter) == parameters.end())
        parameters.push_back(p.tile.neighbour().parameter);
    }
    if (!names.empty())
      found_.push_back({fmt::format("{}: {}", fmt::join(names, "; "), inputs.text), parameters, inputs.a,
                        inputs.b, inputs.a_scale, inputs.b_scale, inputs.c, d});
    if (std::ranges::any_of(pending_, [](const Pending& p) { return p.count == 0; }))
      last_ = arrangement + kFurther;
    return arrangement == last_ ||
           std::ranges::all_of(pending_, [](const Pending& p) { return p.count == kEach; });
  }

  const Tile& tile_;
  std::vector<Pending> pending_;
  int last_ = 0;
  std::vector<Probe> found_;
};

SumFormats formats_of(const Tile& t) {
  return {t.a.format,       t.b.format,       t.c.format,
          t.a_scale.format, t.b_scale.format, static_cast<std::size_t>(t.terms)};
}

// The key that determines the probes.
using Key = std::tuple<const Plan*, const Format*, const Format*, const Format*, const Format*, int, int, bool,
                       bool, bool>;
Key key_of(const Tile& t) {
  return {t.plan,  t.a.format,       t.b.format, t.c.format, t.a_scale.format,
          t.terms, t.a_scale.blocks, t.negate_a, t.negate_b, t.starts_at_zero};
}

Probes probes_of(const Tile& tile) {
  Probes out;
  const std::vector<Neighbour> all = neighbours(*tile.plan, static_cast<std::size_t>(tile.terms));
  std::vector<Neighbour> visible;
  for (const Neighbour& n : all) {
    const auto reason = why_invisible(*tile.plan, n, formats_of(tile));
    if (reason)
      out.invisible.push_back({name(n), n.parameter, *reason});
    else
      visible.push_back(n);
  }
  Search search(tile, visible);
  search.run();
  out.probes = search.found();
  for (const Neighbour* n : search.without()) out.unknown.push_back({name(*n), n->parameter, ""});
  return out;
}

}  // namespace

Result<Probes> probes(const Instruction& instruction) {
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (!tile)
    return Error{Errc::member_value, "statement", fmt::format("'{}'", instruction.canonical()),
                 "an instruction that computes D = A B + C"};
  static Memo<Key, Probes> known;
  return known.get(key_of(*tile), [&] { return probes_of(*tile); });
}

}  // namespace warpbit
