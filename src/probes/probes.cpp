// SPDX-License-Identifier: Apache-2.0
#include "warpbit/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "isa/instruction.hpp"
#include "isa/memo.hpp"
#include "probes/neighbour.hpp"
#include "probes/probe_inputs.hpp"

namespace warpbit {
namespace {

constexpr int kEach = 4;      // maximum number of inputs per neighbour, in different places
constexpr int kFurther = 12;  // further arrangements of places to try when each neighbour has one input

std::string name(const Neighbour& n) {
  return fmt::format("{} {}, not {}", n.parameter, n.own, n.other);
}

// Finds inputs for which a neighbour returns other bits, for each neighbour.
class Search {
 public:
  Search(const Tile& tile, const std::vector<Neighbour>& visible) : tile_(tile) {
    for (const Neighbour& n : visible) {
      pending_.push_back({n, tile});
      pending_.back().tile.plan = &n.plan;
    }
  }

  // The inputs that are found, and the neighbours without any.
  Probes run() {
    if (!pending_.empty())
      for_each_probe_input(
          tile_, [&](const ProbeInputs& inputs, int arrangement) { return !take(inputs, arrangement); });
    for (const Pending& p : pending_)
      if (p.count == 0) out_.unknown.push_back({name(p.neighbour), p.neighbour.parameter, ""});
    return std::move(out_);
  }

 private:
  struct Pending {
    const Neighbour& neighbour;
    Tile tile;                        // with its plan
    int count = 0, arrangement = -1;  // the last one

    std::uint64_t result(const ElementInputs& inputs) const {
      if (neighbour.order.empty()) return run_element(tile, inputs);
      ElementInputs moved = inputs;
      for (std::size_t k = 0; k < neighbour.order.size(); ++k) {
        moved.a[k] = inputs.a[neighbour.order[k]];
        moved.b[k] = inputs.b[neighbour.order[k]];
      }
      return run_element(tile, moved);
    }
  };

  // Returns true when the search is complete.
  bool take(const ProbeInputs& inputs, int arrangement) {
    const std::uint64_t d = run_element(tile_, inputs);
    std::vector<std::string> names;
    std::vector<std::string_view> parameters;
    for (Pending& p : pending_) {
      if (p.count == kEach || p.arrangement == arrangement || p.result(inputs) == d) continue;
      ++p.count;
      p.arrangement = arrangement;
      names.push_back(name(p.neighbour));
      if (std::ranges::find(parameters, p.neighbour.parameter) == parameters.end())
        parameters.push_back(p.neighbour.parameter);
    }
    if (!names.empty())
      out_.probes.push_back(
          {inputs, fmt::format("{}: {}", fmt::join(names, "; "), inputs.text), parameters, d});
    if (std::ranges::any_of(pending_, [](const Pending& p) { return p.count == 0; }))
      last_ = arrangement + kFurther;
    return arrangement == last_ ||
           std::ranges::all_of(pending_, [](const Pending& p) { return p.count == kEach; });
  }

  const Tile& tile_;
  std::vector<Pending> pending_;
  int last_ = 0;
  Probes out_;
};

// What determines the probes.
auto key_of(const Tile& t) {
  return std::tuple(t.plan, t.a.format, t.b.format, t.c.format, t.a_scale.format, t.terms, t.a_scale.blocks,
                    t.negate_a, t.negate_b, t.starts_at_zero);
}

Probes probes_of(const Tile& tile) {
  std::vector<Neighbour> visible;
  std::vector<Invisible> invisible;
  const auto terms = static_cast<std::size_t>(tile.terms);
  const SumFormats formats{tile.a.format,       tile.b.format,       tile.c.format,
                           tile.a_scale.format, tile.b_scale.format, terms};
  for (const Neighbour& n : neighbours(*tile.plan, terms))
    if (const auto reason = why_invisible(*tile.plan, n, formats))
      invisible.push_back({name(n), n.parameter, *reason});
    else
      visible.push_back(n);
  Probes out = Search(tile, visible).run();
  out.invisible = std::move(invisible);
  return out;
}

}  // namespace

Result<Probes> probes(const Instruction& instruction) {
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (!tile)
    return Error{Errc::member_value, "statement", fmt::format("'{}'", instruction.canonical()),
                 "an instruction that computes D = A B + C"};
  static Memo<decltype(key_of(*tile)), Probes> known;
  return known.get(key_of(*tile), [&] { return probes_of(*tile); });
}

}  // namespace warpbit
