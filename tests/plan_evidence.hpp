// SPDX-License-Identifier: Apache-2.0
// Which parameters of the plans results show: each neighbour of a plan must return something else for one of them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "isa/instruction.hpp"
#include "probes/neighbour.hpp"
#include "warpbit/replay.hpp"

namespace plan_evidence {

using namespace warpbit;

// A documented dot product on a target.
struct Use {
  const FormInfo* form;
  Instruction instruction;

  const Tile& tile() const { return std::get<Tile>(instruction.decoded().kernel); }
  const Arithmetic& arithmetic() const { return instruction.decoded().form->arithmetic; }
};

// Forms of equal keys have equal results: N and places aside.
using Key = std::tuple<std::string_view, const Plan*, const Format*, const Format*, const Format*, int>;
inline Key key_of(const Use& u) {
  const Tile& t = u.tile();
  return {u.instruction.target().name(), t.plan, t.a.format, t.b.format, t.c.format, t.terms};
}

// All uses that have one row's evidence: of one unit, on one target.
using Row = std::tuple<std::string_view, const PlanRow*, Unit>;
using Uses = std::vector<Use>;
inline const std::map<Row, std::map<Key, Uses>>& rows() {
  static const std::vector<FormInfo> all = forms();
  static const std::map<Row, std::map<Key, Uses>> out = [] {
    std::map<Row, std::map<Key, Uses>> by_row;
    for (const FormInfo& form : all)
      for (const Target target : form.targets) {
        const Instruction i = Instruction::parse(form.canonical, form.operands, target).value();
        if (!std::holds_alternative<Tile>(i.decoded().kernel)) continue;
        const Use use{&form, i};
        const PlanRow* row = find_plan(target.row(), use.arithmetic()).value().row;
        by_row[{target.name(), row, use.arithmetic().unit}][key_of(use)].push_back(use);
      }
    return by_row;
  }();
  return out;
}

struct Case {
  std::vector<std::uint64_t> a, b, a_scale, b_scale;
  std::uint64_t c, d;
};

// Single dot products that a GPU computed.
inline std::vector<Case> cases_of(const IndexedCapture& capture, int terms) {
  const Result<CaptureReader> reader = CaptureReader::open(capture.path);
  REQUIRE(reader.ok());
  const Array c = reader->read("c").value(), d = reader->read("d").value();
  std::vector<Case> out(capture.cases);
  const auto fill = [&](const char* name, std::size_t extent, auto member) {
    if (reader->find(name) == nullptr) return;
    const Array array = reader->read(name).value();
    const auto width = static_cast<std::size_t>(array.header.shape.at(1));
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t k = 0; k < width; ++k) (out[i].*member).push_back(array.at(i * width + k));
      (out[i].*member).resize(std::max(width, extent));
    }
  };
  fill("a", static_cast<std::size_t>(terms), &Case::a);
  fill("b", static_cast<std::size_t>(terms), &Case::b);
  fill("sfa", 0, &Case::a_scale);
  fill("sfb", 0, &Case::b_scale);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].c = c.at(i);
    out[i].d = d.at(i);
  }
  return out;
}

// With the signs that the capture's statement gives its factors.
inline bool is_shown(const IndexedCapture& capture, const Use& use, const Neighbour& n,
                     const std::vector<Case>& cases) {
  const Instruction i = Instruction::parse(capture.statement, use.instruction.target()).value();
  Tile other = std::get<Tile>(i.decoded().kernel);
  other.plan = &n.plan;
  return std::ranges::any_of(cases, [&](const Case& x) {
    Case moved = x;
    for (std::size_t k = 0; k < n.order.size(); ++k) {
      moved.a[k] = x.a[n.order[k]];
      moved.b[k] = x.b[n.order[k]];
    }
    return run_element(other, {moved.a, moved.b, moved.c, moved.a_scale, moved.b_scale}) != x.d;
  });
}

enum class Parameter { order, window, floor, specials };
inline constexpr std::pair<std::string_view, Parameter> kParameters[] = {
    {"L", Parameter::order},
    {"order", Parameter::order},
    {"C", Parameter::order},
    {"operation", Parameter::order},
    {"F", Parameter::window},
    {"rounding", Parameter::window},
    {"fraction bits", Parameter::window},
    {"products", Parameter::window},
    {"rounding of C's addition", Parameter::window},
    {"rounding of the conversion", Parameter::window},
    {"conversion", Parameter::window},
    {"operands", Parameter::window},
    {"exponents", Parameter::window},
    {"zero products", Parameter::window},
    {"floor", Parameter::floor},
    {"NaN", Parameter::specials},
    {"sign of zero", Parameter::specials},
    {"overflow", Parameter::specials},
};
inline Parameter parameter_of(std::string_view name) {
  const auto* at = std::ranges::find(kParameters, name, &std::pair<std::string_view, Parameter>::first);
  REQUIRE(at != std::end(kParameters));
  return at->second;
}

inline const Ground& ground_of(const Evidence& e, Parameter p) {
  switch (p) {
    case Parameter::order: return e.order;
    case Parameter::window: return e.window;
    case Parameter::floor: return e.floor;
    case Parameter::specials: return e.specials;
  }
  return e.order;
}

using Captures = std::vector<const IndexedCapture*>;

// Calls visit(neighbour, visible, shown) for each neighbour of a key's plan: whether results can tell it, and whether those of
// the captures do.
template <class Visit>
void for_each_neighbour(const Uses& uses, const std::function<Captures(const Instruction&)>& captures_of,
                        Visit visit) {
  const Use& first = uses.front();
  const Tile& t = first.tile();
  std::vector<std::pair<const IndexedCapture*, std::vector<Case>>> captures;
  for (const Use& use : uses)
    for (const IndexedCapture* c : captures_of(use.instruction))
      captures.emplace_back(c, cases_of(*c, t.terms));
  const SumFormats formats{&t.a.read_format(), &t.b.read_format(), t.c.format,
                           t.a_scale.format,   t.b_scale.format,   static_cast<std::size_t>(t.terms)};
  for (const Neighbour& n : neighbours(*t.plan, formats.terms)) {
    const bool visible = !why_invisible(*t.plan, n, formats);
    visit(n, visible, visible && std::ranges::any_of(captures, [&](const auto& c) {
                        return is_shown(*c.first, first, n, c.second);
                      }));
  }
}

}  // namespace plan_evidence
