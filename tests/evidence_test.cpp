// SPDX-License-Identifier: Apache-2.0
// That the tables claim no more, and no less, than the captures show; and that the index of these is true.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "plan_evidence.hpp"
#include "tile_results.hpp"
#include "warpbit/inputs.hpp"

namespace evidence_test {

using namespace warpbit;
using namespace plan_evidence;
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

// Those of probes that a GPU of ours computed.
Captures probes_of(const Instruction& instruction) {
  Captures out = golden_captures(instruction);
  std::erase_if(out, [](const IndexedCapture* c) {
    return c->layout != name(CaptureLayout::elements) || c->source != name(CaptureSource::hardware);
  });
  return out;
}

// Of a row, the neighbours that results can tell, by parameter: how many, how many captures show, and one that
// none does.
struct Seen {
  int visible = 0, shown = 0;
  std::string missing;
};
using SeenOf = std::map<Parameter, Seen>;

void look(const Uses& uses, SeenOf& out) {
  for_each_neighbour(uses, probes_of, [&](const Neighbour& n, bool visible, bool shown) {
    Seen& seen = out[parameter_of(n.parameter)];
    seen.visible += visible;
    seen.shown += shown;
    if (visible && !shown)
      seen.missing =
          fmt::format("{}: {} {}, not {}", uses.front().form->canonical, n.parameter, n.own, n.other);
  });
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

// ---- Sums of several machine instructions

// Where there is no instruction for 4-bit types, their sums are made of two of 8 bits. A clamp between these, of even and of odd
// k in either order, is none of the neighbours that probes tell.
TEST_CASE("whole tiles show that sums of 4-bit types are clamped once, though two instructions compute them") {
  const Target target = Target::find_ptx("sm_90a").value();
  int checked = 0;
  for (const IndexedCapture& c : golden_captures()) {
    if (c.layout != name(CaptureLayout::registers) || !c.statement.starts_with("mma.sync") ||
        c.statement.find("satfinite.s32.s4") == c.statement.npos)
      continue;
    INFO(c.statement);
    const Instruction i = Instruction::parse(c.statement, target).value();
    const Tile& tile = std::get<Tile>(i.decoded().kernel);
    const auto terms = static_cast<std::size_t>(tile.terms);
    const Plan halves{IntegerSum{Overflow::saturate, tile.terms / 2}};
    std::vector<std::vector<std::size_t>> orders(2);
    for (const std::size_t first : {0, 1})
      for (const std::size_t parity : {first, 1 - first})
        for (std::size_t k = parity; k < terms; k += 2) orders[first].push_back(k);
    const Result<CaptureReader> reader = CaptureReader::open(c.path);
    REQUIRE(reader.ok());
    const Array d = reader->read("d").value();
    std::vector<Array> sources;
    for (const char* member : {"a", "b", "c"}) sources.push_back(reader->read(member).value());
    const auto of_case = [&](const Array& array, std::uint64_t n) {
      const std::uint64_t each = array.header.items() / c.cases;
      tile_results::Words out;
      for (std::uint64_t at = n * each; at < (n + 1) * each; ++at) out.push_back(array.at(at));
      return out;
    };
    for (const auto& order : orders) {
      bool differs = false;
      for (std::uint64_t n = 0; n < c.cases && !differs; ++n) {
        tile_results::Operands words(1);
        for (const Array& source : sources) words.push_back(of_case(source, n));
        CHECK(tile_results::by_plan(i, *tile.plan)(words) == of_case(d, n));
        differs = tile_results::by_plan(i, halves, order)(words) != of_case(d, n);
      }
      CHECK(differs);
    }
    ++checked;
  }
  CHECK(checked == 6);
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

// ---- Two GPUs of one target

// A line of golden-digests/H100/sm_90a.tsv: one digest of all results of a statement.
struct Recorded {
  std::string statement, profile, seed, cases, digest;

  std::string inputs() const { return statement + '\t' + profile + '\t' + cases; }
  std::uint64_t expected() const { return std::stoull(digest, nullptr, 16); }
};

std::vector<Recorded> recorded_on_h100() {
  std::ifstream file("golden-digests/H100/sm_90a.tsv");
  std::vector<Recorded> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("statement\t")) continue;
    std::istringstream fields(line);
    Recorded& r = out.emplace_back();
    for (std::string* field : {&r.statement, &r.profile, &r.seed, &r.cases, &r.digest})
      std::getline(fields, *field, '\t');
  }
  return out;
}

std::uint64_t digest_of(const IndexedCapture& capture) {
  const Result<CaptureReader> reader = CaptureReader::open(capture.path);
  REQUIRE(reader.ok());
  const bool is_digest = capture.layout == name(CaptureLayout::digests);
  const Array array = reader->read(is_digest ? "digest" : "d").value();
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < array.header.items(); ++i)
    out += is_digest ? array.at(i) : inputs::mix(i, array.at(i));
  return out;
}

TEST_CASE("an H100 returned what an H200 did, for all digests and probes of both") {
  std::map<std::string, std::vector<const IndexedCapture*>> of_h200;
  for (const IndexedCapture& c : golden_captures())
    if (c.layout == name(CaptureLayout::digests) || c.profile == "probes")
      of_h200[fmt::format("{}\t{}\t{}", c.statement, c.profile, c.cases)].push_back(&c);
  std::uint64_t files = 0, elements = 0;
  for (const Recorded& r : recorded_on_h100()) {
    if (r.seed == "2") continue;
    const auto same = of_h200.find(r.inputs());
    if (same == of_h200.end()) continue;
    INFO(r.inputs());
    CHECK(std::ranges::any_of(same->second,
                              [&](const IndexedCapture* c) { return digest_of(*c) == r.expected(); }));
    ++files;
    elements += same->second.front()->elements;
  }
  fmt::print("{} files, {} elements\n", files, elements);
  CHECK(files == 3318);
  CHECK(elements > 140'000'000'000);
}

TEST_CASE("what an H100 alone was asked is what is computed here") {
  const Target target = Target::find_ptx("sm_90a").value();
  std::size_t asked = 0, checked = 0;
  for (const Recorded& r : recorded_on_h100()) {
    if (r.seed != "2" || asked++ % 101 != 0) continue;
    INFO(r.inputs());
    const Instruction instruction = Instruction::parse(r.statement, target).value();
    CHECK(r.profile == "mixed");
    const DigestBlocks blocks{std::stoull(r.cases)};
    std::vector<std::uint64_t> which(blocks.count());
    std::iota(which.begin(), which.end(), 0);
    const auto parts = digests(instruction, {2, inputs::Profile::mixed}, blocks, which);
    REQUIRE(parts.ok());
    CHECK(std::accumulate(parts->begin(), parts->end(), std::uint64_t{0}) == r.expected());
    ++checked;
  }
  CHECK(asked == 3333);
  CHECK(checked == 33);
}

}  // namespace evidence_test
