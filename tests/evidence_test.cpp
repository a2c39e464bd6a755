// SPDX-License-Identifier: Apache-2.0
// That the tables claim no more, and no less, than the captures show; and that the index of these is true.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "isa/instruction.hpp"
#include "probes/neighbour.hpp"
#include "warpbit/replay.hpp"

namespace evidence_test {

using namespace warpbit;
namespace fs = std::filesystem;

TEST_CASE("golden/index.tsv is what the files say, and the library was built with it") {
  const std::vector<fs::path> folders{"golden", "golden-digests"};
  const auto found = index_captures(folders);
  REQUIRE(found.ok());
  const std::ifstream file("golden/index.tsv", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  // Not equal: `warpbit list --captures golden golden-digests > golden/index.tsv`, and build again.
  CHECK(text.str() == index_text(*found));
  CHECK(golden_captures() == *found);
  for (const IndexedCapture& c : *found) {
    INFO(c.path);
    CHECK(c.source != name(CaptureSource::model));
    CHECK(c.cases > 0);
    CHECK(c.elements >= c.cases);
    CHECK(c.date != "-");
    CHECK(c.device != "-");
  }
}

// ---- What the parameters rest on

// A documented dot product on a target.
struct Use {
  const FormInfo* form;
  Instruction instruction;

  const Tile& tile() const { return std::get<Tile>(instruction.decoded().kernel); }
  const Arithmetic& arithmetic() const { return instruction.decoded().form->arithmetic; }
};

// Forms of equal keys have equal results: N and places aside.
using Key = std::tuple<std::string_view, const Plan*, const Format*, const Format*, const Format*, int>;
Key key_of(const Use& u) {
  const Tile& t = u.tile();
  return {u.instruction.target().name(), t.plan, t.a.format, t.b.format, t.c.format, t.terms};
}

// All uses that have one row's evidence: of one unit, on one target.
using Row = std::tuple<std::string_view, const PlanRow*, Unit>;
using Uses = std::vector<Use>;
const std::map<Row, std::map<Key, Uses>>& rows() {
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
std::vector<Case> cases_of(const IndexedCapture& capture, int terms) {
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
bool is_shown(const IndexedCapture& capture, const Use& use, const Neighbour& n,
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
constexpr std::pair<std::string_view, Parameter> kParameters[] = {
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
Parameter parameter_of(std::string_view name) {
  const auto* at = std::ranges::find(kParameters, name, &std::pair<std::string_view, Parameter>::first);
  REQUIRE(at != std::end(kParameters));
  return at->second;
}

const Ground& ground_of(const Evidence& e, Parameter p) {
  switch (p) {
    case Parameter::order: return e.order;
    case Parameter::window: return e.window;
    case Parameter::floor: return e.floor;
    case Parameter::specials: return e.specials;
  }
  return e.order;
}

// Of a row, the neighbours that results can tell, by parameter: how many, how many captures show, and one that
// none does.
struct Seen {
  int visible = 0, shown = 0;
  std::string missing;
};
using SeenOf = std::map<Parameter, Seen>;

void look(const Uses& uses, SeenOf& out) {
  const Use& first = uses.front();
  const Tile& t = first.tile();
  std::vector<std::pair<const IndexedCapture*, std::vector<Case>>> captures;
  for (const Use& use : uses)
    for (const IndexedCapture* c : golden_captures(use.instruction))
      if (c->layout == name(CaptureLayout::elements) && c->source == name(CaptureSource::hardware))
        captures.emplace_back(c, cases_of(*c, t.terms));
  const SumFormats formats{t.a.format,       t.b.format,       t.c.format,
                           t.a_scale.format, t.b_scale.format, static_cast<std::size_t>(t.terms)};
  for (const Neighbour& n : neighbours(*t.plan, formats.terms)) {
    Seen& seen = out[parameter_of(n.parameter)];
    if (why_invisible(*t.plan, n, formats)) continue;
    ++seen.visible;
    const bool shown =
        std::ranges::any_of(captures, [&](const auto& c) { return is_shown(*c.first, first, n, c.second); });
    seen.shown += shown;
    if (!shown)
      seen.missing = fmt::format("{}: {} {}, not {}", first.form->canonical, n.parameter, n.own, n.other);
  }
}

TEST_CASE(
    "every parameter that is called captured is shown by captures against all its neighbours, and no other") {
  std::map<std::string_view, int> captured;
  for (const auto& [row, by_key] : rows()) {
    const Evidence& evidence = by_key.begin()->second.front().instruction.evidence();
    SeenOf seen;
    for (const auto& [key, uses] : by_key) look(uses, seen);
    for (const auto& [parameter, s] : seen) {
      const Ground& ground = ground_of(evidence, parameter);
      INFO(by_key.begin()->second.front().form->canonical
           << " on " << std::get<0>(row) << ", parameter " << static_cast<int>(parameter) << ": " << ground.from
           << "; " << s.shown << " of " << s.visible << " shown; not " << s.missing);
      const bool is_captured = ground.basis == Basis::captured;
      if (is_captured) CHECK(s.shown == s.visible);
      // NaN and Inf are specials too, but no parameters; see below.
      if (parameter != Parameter::specials || s.visible > 0)
        CHECK(is_captured == (s.visible > 0 && s.shown == s.visible));
      captured[std::get<0>(row)] += is_captured;
    }
  }
  for (const auto& [target, count] : captured)
    if (count > 0) fmt::print("{}: {} parameters of plans are captured\n", target, count);
  CHECK(captured.at("sm_90a") > 60);
  CHECK(captured.at("sm_80") == 0);
}

// ---- NaN and Inf, which are no parameters of a plan

bool has_nan(const IndexedCapture& capture, const Operand& d) {
  const Result<CaptureReader> reader = CaptureReader::open(capture.path);
  REQUIRE(reader.ok());
  const Array results = reader->read("d").value();
  const std::uint64_t nan = d.format == "f64" ? 0x7FF8000000000000 : d.format == "f32" ? 0x7FFFFFFF : 0x7FFF;
  for (std::uint64_t i = 0; i < results.header.items(); ++i) {
    const std::uint64_t word = results.at(i);
    if ((word & nan) == nan || (d.format == "f16" && (word >> 16 & nan) == nan)) return true;
  }
  return false;
}

bool shows_nan(const Use& use) {
  return std::ranges::any_of(golden_captures(use.instruction), [&](const IndexedCapture* c) {
    return c->layout == name(CaptureLayout::registers) && has_nan(*c, use.instruction.operands()[0]);
  });
}

TEST_CASE("where specials are called captured, a whole tile with NaN among its results is") {
  int checked = 0;
  for (const auto& [row, by_key] : rows()) {
    const Use& first = by_key.begin()->second.front();
    const bool has_specials = first.instruction.operands()[0].format != "s32";
    if (!has_specials || first.instruction.evidence().specials.basis != Basis::captured) continue;
    INFO(first.form->canonical << " on " << first.instruction.target().name());
    CHECK(std::ranges::any_of(by_key,
                              [](const auto& entry) { return std::ranges::any_of(entry.second, shows_nan); }));
    ++checked;
  }
  CHECK(checked > 40);
}

}  // namespace evidence_test
