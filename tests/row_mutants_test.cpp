// SPDX-License-Identifier: Apache-2.0
// Mutants made from the rows: each number and rule of each row that targets have, changed by one; the selectors of metadata;
// the qualifiers of conversions. Each is executed on what GPUs returned: recordings of golden/, results and words that others
// published (tests/published, and a folder of WARPBIT_GOLDEN_PATH). One that none of them notices must not be in a row that is
// called captured or published, unless the row says "but for" it.
//
// WARPBIT_ROW_MUTANTS=list prints a line for each mutant, with who noticed it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>  // getenv
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "plan_evidence.hpp"
#include "published_results.hpp"
#include "replay/execute_capture.hpp"
#include "replay/loaded_capture.hpp"
#include "tensor_words.hpp"

namespace row_mutants_test {

using namespace warpbit;
using namespace plan_evidence;
using namespace published_results;
namespace fs = std::filesystem;

bool lists() {
  static const bool out = std::getenv("WARPBIT_ROW_MUTANTS") != nullptr;
  return out;
}

/// How many mutants there are, and who noticed them.
struct Tally {
  int noticed = 0, open = 0, failed = 0;

  // `by`: who noticed it, or nothing. `claim`: empty, or what the row says that shows it.
  void add(const std::string& mutant, const std::string& by, std::string_view claim) {
    const bool fails = by.empty() && !claim.empty();
    (!by.empty() ? noticed : fails ? failed : open) += 1;
    const std::string line =
        fmt::format("{}: {}", mutant,
                    !by.empty() ? by
                    : fails     ? fmt::format("FAILED: noticed by nobody, and called {}", claim)
                                : "noticed by nobody; inferred");
    if (lists()) fmt::print("{}\n", line);
    if (fails) FAIL_CHECK(line);
  }
  void print(std::string_view what) const {
    fmt::print("{}: {} mutants noticed, {} open in rows that say so, {} failed\n", what, noticed, open, failed);
  }
};

// ---- Plans

/// What a mutant is, of all keys of a row.
struct Mutant {
  Parameter parameter;
  std::string_view name;
  std::string rule;  ///< as it stands in a ground's exceptions
  bool is_visible = false;
  std::string by = {};
};

/// Recordings of single sums, and their cases, which are read once.
class Recordings {
 public:
  Recordings() {
    const std::optional<fs::path> folder = find_folder();
    if (!folder) return;
    const std::vector<fs::path> paths{*folder};
    auto index = index_captures(paths);
    REQUIRE(index.ok());
    published_ = *std::move(index);
  }
  bool has_published() const { return !published_.empty(); }

  Captures of(const Instruction& instruction) const {
    Captures out = golden_captures(instruction);
    std::erase_if(out, [](const IndexedCapture* c) {
      return c->layout != name(CaptureLayout::elements) || c->source != name(CaptureSource::hardware);
    });
    for (const IndexedCapture& c : published_)
      if (without_letter(c.target) == without_letter(instruction.target().name()) &&
          Instruction::parse(c.statement, instruction.target()).value().canonical() == instruction.canonical())
        out.push_back(&c);
    return out;
  }
  bool has_any(const Uses& uses) const {
    return std::ranges::any_of(uses, [&](const Use& use) { return !of(use.instruction).empty(); });
  }
  const std::vector<Case>& cases(const IndexedCapture& capture, int terms) {
    const auto [at, added] = cases_.try_emplace(&capture);
    if (added) at->second = cases_of(capture, terms);
    return at->second;
  }

 private:
  std::vector<IndexedCapture> published_;
  std::map<const IndexedCapture*, std::vector<Case>> cases_;
};

using Mutants = std::map<std::string, Mutant>;  // by a line for a person

Mutant& mutant_of(const Neighbour& n, Mutants& of) {
  Mutant& out = of[fmt::format("{} {} -> {}", n.parameter, n.own, n.other)];
  out.parameter = parameter_of(n.parameter);
  out.name = n.parameter;
  out.rule = name_of(n);
  return out;
}

void add_mutants(const Uses& uses, Recordings& recordings, Mutants& out) {
  const Tile& t = uses.front().tile();
  const SumFormats formats{&t.a.read_format(), &t.b.read_format(), t.c.format,
                           t.a_scale.format,   t.b_scale.format,   static_cast<std::size_t>(t.terms)};
  for (const Neighbour& n : neighbours(*t.plan, formats.terms)) {
    Mutant& mutant = mutant_of(n, out);
    if (!mutant.by.empty() || why_invisible(*t.plan, n, formats)) continue;
    mutant.is_visible = true;
    for (const Use& use : uses)
      for (const IndexedCapture* capture : recordings.of(use.instruction))
        if (mutant.by.empty() && is_shown(*capture, uses.front(), n, recordings.cases(*capture, t.terms)))
          mutant.by = capture->path;
  }
}

// Whether the row says that results show a mutant's parameter: then on what.
std::string_view claim_of(const Evidence& evidence, const Mutant& mutant) {
  const Ground& ground = ground_of(evidence, mutant.parameter);
  const bool is_claimed = ground.basis == Basis::captured || ground.basis == Basis::published;
  return is_claimed && !exceptions(ground.from).contains(mutant.rule) ? ground.from : std::string_view();
}

TEST_CASE("mutants of plans are noticed by results of GPUs, or their rows say that none shows them") {
  Recordings recordings;
  std::map<std::string, Tally> tallies;
  for (const auto& [row, by_key] : rows()) {
    const auto& [target, plan, unit] = row;
    const Use& front = by_key.begin()->second.front();
    const Evidence& evidence = front.instruction.evidence();
    if (!lists() && evidence.overall() == Basis::inferred) continue;
    const bool is_shallow = exceptions(evidence.order.from).contains("deeper shapes");
    Mutants mutants;
    for (const auto& [key, uses] : by_key)
      if (!is_shallow || recordings.has_any(uses)) add_mutants(uses, recordings, mutants);
    for (const auto& [what, mutant] : mutants) {
      if (!mutant.is_visible) continue;
      const bool is_published = ground_of(evidence, mutant.parameter).basis == Basis::published;
      if (is_published && !recordings.has_published()) continue;  // they are not at hand
      if (ground_of(evidence, mutant.parameter).from.starts_with("PantheonSim")) continue;  // pantheonsim_test
      const bool is_beyond = is_published && !kShownNearOne.contains(mutant.name);
      tallies[std::string(target)].add(fmt::format("{} {}: {}", target, front.form->canonical, what), mutant.by,
                                       is_beyond ? "" : claim_of(evidence, mutant));
    }
  }
  for (const auto& [target, tally] : tallies) tally.print(target);
  CHECK(tallies.at("sm_90a").noticed > 300);
}

/// What results show of a parameter.
struct Shown {
  int noticed = 0;
  std::set<std::string> missing = {};

  void add(const Mutant& mutant) { mutant.by.empty() ? missing.insert(mutant.rule), void() : void(++noticed); }
};

TEST_CASE("mutants of tcgen05's plans are noticed by words of a B200, or their rows say that none shows them") {
  using namespace tensor_words;
  const std::vector<Published> all = published();
  std::map<const PlanRow*, std::vector<const Published*>> by_row;
  for (const Published& x : all) by_row[x.kind.plan_on("sm_100a").row].push_back(&x);
  Tally tally;
  for (const auto& [row, words] : by_row) {
    Mutants mutants;
    for (const Published* x : words) {
      const Kind& kind = x->kind;
      const Format* const scale = kind.scale.empty() ? nullptr : find_format(kind.scale);
      const SumFormats formats{find_format(kind.a),
                               find_format(kind.b),
                               find_format(kind.d),
                               scale,
                               scale,
                               static_cast<std::size_t>(kind.terms())};
      for (const Neighbour& n : neighbours(row->plan, formats.terms)) {
        Mutant& mutant = mutant_of(n, mutants);
        if (!mutant.by.empty() || why_invisible(row->plan, n, formats)) continue;
        mutant.is_visible = true;
        Inputs moved = x->in;
        for (std::size_t k = 0; k < n.order.size(); ++k) {
          moved.a[k] = x->in.a[n.order[k]];
          moved.b[k] = x->in.b[n.order[k]];
        }
        if (run(kind, n.plan, moved) != x->word) mutant.by = x->name;
      }
    }
    Kind dense = words.front()->kind;
    dense.sparse = false;
    const Evidence& evidence = dense.plan_on("sm_100a").evidence;
    std::map<Parameter, Shown> shown;
    for (const auto& [what, mutant] : mutants) {
      if (!mutant.is_visible) continue;
      shown[mutant.parameter].add(mutant);
      tally.add(fmt::format("sm_100a {}: {}", dense.title(), what), mutant.by, claim_of(evidence, mutant));
    }
    for (const auto& [parameter, s] : shown) {
      const Ground& ground = ground_of(evidence, parameter);
      INFO(dense.title() << ", parameter " << static_cast<int>(parameter) << ": " << ground.from);
      if (ground.basis == Basis::published) CHECK(exceptions(ground.from) == s.missing);
      // NaN and Inf are specials too, and no parameters.
      if (parameter != Parameter::specials) CHECK((ground.basis == Basis::published) == (s.noticed > 0));
    }
  }
  tally.print("tcgen05");
  CHECK(tally.noticed > 20);
}

// ---- Selectors, conversions: the statement of a recording with another word

std::vector<const IndexedCapture*> recordings_of(std::string_view layout, std::string_view opcode) {
  std::vector<const IndexedCapture*> out;
  for (const IndexedCapture& c : golden_captures())
    if (c.layout == layout && c.source == name(CaptureSource::hardware) && c.profile != "probes" &&
        c.statement.starts_with(opcode))
      out.push_back(&c);
  return out;
}

// Whether the results of another statement on the inputs of a recording are others. Nothing if it has no such registers.
std::optional<bool> differs(const LoadedCapture& recorded, const Instruction& other) {
  if (other.operands().size() != recorded.instruction.operands().size()) return std::nullopt;
  for (std::size_t i = 0; i < other.operands().size(); ++i)
    if (other.operands()[i].registers != recorded.instruction.operands()[i].registers) return std::nullopt;
  LoadedCapture changed = recorded;
  changed.instruction = other;
  ExecuteOptions options;
  options.undefined = Undefined::as_measured;
  const Result<Array> got = execute(changed, options);
  if (!got) return true;
  for (std::uint64_t i = 0; i < recorded.expected.header.items(); ++i)
    if (recorded.compared(i) && got->at(i) != recorded.expected.at(i)) return true;
  return false;
}

TEST_CASE("another selector of metadata gives other results than recorded") {
  Tally tally;
  for (const char* opcode : {"mma.sp", "wgmma.mma_async.sp"})
    for (const IndexedCapture* c : recordings_of(name(CaptureLayout::registers), opcode)) {
      const Result<LoadedCapture> recorded = load_capture(c->path, {});
      REQUIRE(recorded.ok());
      const std::size_t at =
          recorded->instruction.find(Part::selector) == nullptr ? std::string::npos : c->statement.find(" e, ");
      if (at == std::string::npos) continue;
      for (char other = '0'; other <= '3'; ++other) {
        std::string statement = c->statement;
        if (statement[at + 4] == other) continue;
        statement[at + 4] = other;
        const Result<Instruction> instruction = Instruction::parse(statement, recorded->instruction.target());
        const std::optional<bool> noticed = instruction ? differs(*recorded, *instruction) : std::nullopt;
        if (noticed) tally.add(statement, *noticed ? c->path : "", "captured");
      }
    }
  tally.print("selectors of metadata");
  CHECK(tally.noticed > 100);
}

// The words of an opcode that change a conversion's arithmetic. A statement with one less, one more or another rounding.
std::set<std::string> other_conversions(const std::string& statement) {
  const std::string words = statement.substr(0, statement.find(' ')), rest = statement.substr(words.size());
  std::vector<std::string> all;
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, '.');) all.push_back(word);
  const std::vector<std::string> roundings{"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"};
  std::set<std::string> out;
  const auto add = [&](const std::vector<std::string>& with) {
    out.insert(fmt::format("{}{}", fmt::join(with, "."), rest));
  };
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::vector<std::string> less = all;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    add(less);
    const bool rounds = std::ranges::find(roundings, all[i]) != roundings.end();
    for (const std::string& other : roundings)
      if (rounds && other != all[i]) {
        std::vector<std::string> with = all;
        with[i] = other;
        add(with);
      }
    for (const char* more : {"ftz", "sat", "satfinite", "relu"}) {
      std::vector<std::string> with = all;
      with.insert(with.begin() + static_cast<std::ptrdiff_t>(i), more);
      add(with);
    }
  }
  out.erase(statement);
  return out;
}

// Codes that reach what conversions do: all of 16 bits, all signs and exponents with mantissas of few ones or few zeros.
std::vector<std::uint64_t> telling_codes(const Format& from) {
  std::vector<std::uint64_t> out;
  if (from.bits <= 16)
    for (std::uint64_t code = 0; code >> from.bits == 0; ++code) out.push_back(code);
  else
    for (std::uint64_t high = 0; high >> (from.bits - from.fraction_bits) == 0; ++high)
      for (int low = 0; low < from.fraction_bits; ++low)
        for (const std::uint64_t mantissa :
             {std::uint64_t{1} << low, (std::uint64_t{2} << low) - 1, std::uint64_t{0}}) {
          const std::uint64_t half = std::uint64_t{1} << (from.fraction_bits - 1);
          const std::uint64_t mask = 2 * half - 1;
          for (const std::uint64_t other : {mantissa, ~mantissa & mask, (mantissa | half) & mask})
            out.push_back(high << from.fraction_bits | other);
        }
  return out;
}

// Whether some code tells two conversions.
bool are_different(const Instruction& x, const Instruction& y) {
  const auto conversion = [](const Instruction& i) {
    return std::get<ElementwiseKernel>(i.decoded().kernel).conversion;
  };
  const auto a = conversion(x), b = conversion(y);
  if (!a || !b || a->from != b->from || a->to != b->to) return false;
  const std::vector<std::uint64_t> codes = telling_codes(format(a->from));
  return std::ranges::any_of(codes,
                             [&](std::uint64_t code) { return convert(*a, code, 0) != convert(*b, code, 0); });
}

// The recording, or the digest of a million inputs, that another statement contradicts; nothing if there is none.
std::string who_notices(const IndexedCapture& c, const LoadedCapture& recorded, const Instruction& other) {
  if (differs(recorded, other).value_or(false)) return c.path;
  for (const IndexedCapture* digests : recordings_of(name(CaptureLayout::digests), c.statement)) {
    const auto file = load_digests(CaptureReader::open(digests->path).value(), {});
    REQUIRE(file.ok());
    LoadedCapture of_row = generated_inputs(file->instruction, file->choice, 0, digests->cases).value();
    of_row.expected = execute(of_row, {}).value();  // as recorded: replay_test
    if (differs(of_row, other).value_or(false)) return digests->path;
  }
  return {};
}

TEST_CASE("another rounding, clamp or flush of a conversion gives other results than recorded") {
  Tally tally;
  for (const IndexedCapture* c : recordings_of(name(CaptureLayout::scalars), "cvt.")) {
    const Result<LoadedCapture> recorded = load_capture(c->path, {});
    REQUIRE(recorded.ok());
    std::set<std::string_view> tried;
    for (const std::string& statement : other_conversions(c->statement)) {
      const Result<Instruction> other = Instruction::parse(statement, recorded->instruction.target());
      if (!other || !are_different(recorded->instruction, *other) || !tried.insert(other->canonical()).second)
        continue;
      tally.add(fmt::format("{} -> {}", c->statement, other->canonical()), who_notices(*c, *recorded, *other),
                "captured");
    }
  }
  tally.print("conversions");
  CHECK(tally.noticed > 100);
}

}  // namespace row_mutants_test
