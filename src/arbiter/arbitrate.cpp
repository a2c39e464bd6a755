// SPDX-License-Identifier: Apache-2.0
// The order in which things are tried: as it is; faults and findings; other ways to run; defects that are known; statements of
// the slice, nearest to the store first. What is known says beforehand which bytes it leaves, and is believed before a statement
// that is changed until they fit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "arbiter/hypotheses.hpp"
#include "arbiter/minimal.hpp"
#include "threads.hpp"

namespace warpbit {
namespace arbiter {
namespace {

constexpr std::uint64_t kFewestSteps = 10'000, kMoreSteps = 4;  // of a launch with a changed statement
constexpr std::uint64_t kMostSteps = 1'000'000'000;             // of all of them together
constexpr std::uint64_t kManyBytes = 16;                        // that differ, for a statement to be certain
constexpr std::size_t kOfOneStatement = 3;                      // causes that are told

/// A way to run the kernel that a GPU may have gone.
struct KnownWay {
  std::string_view name, sentence;
  void (*change)(ptx::Launch&);
};
constexpr KnownWay kWays[] = {
    {"as-written", "each statement by itself, as ptxas -O0 has it",
     [](ptx::Launch& how) { how.as_written = true; }},
    {"fmad", "with no products fused, as ptxas --fmad=false has it",
     [](ptx::Launch& how) { how.contract = false; }},
};

struct RulingWords {
  std::string_view name, sentence;
};
constexpr RulingWords kRulings[] = {
    // by their number
    {"as_ptx", "the GPU has the bits of the PTX"},
    {"open", "the PTX leaves it open"},
    {"ptx_fault", "the PTX is at fault"},
    {"assembler", "the assembler is at fault"},
    {"other_code", "other code ran"},
    {"unexplained", "not explained"},
};

class Arbiter {
 public:
  Arbiter(Experiment experiment, Code code, const ArbiterOptions& options)
      : experiment_(std::move(experiment)), code_(std::move(code)), options_(options) {}
  Result<Judgement> run();

 private:
  void judge_equal();
  void judge_different();
  void add(Ruling ruling, std::string_view hypothesis, std::string sentence,
           std::vector<CodePlace> places = {}) {
    out_.causes.push_back({ruling, std::string(hypothesis), std::move(sentence), std::move(places)});
  }
  bool has(Ruling ruling) const {
    return std::ranges::find(out_.causes, ruling, &Cause::ruling) != out_.causes.end();
  }
  bool tells(std::string_view hypothesis, const Way& way, const std::string& text);
  bool tells(std::string_view hypothesis, const std::function<void(ptx::Launch&)>& change) {
    return tells(hypothesis, {change, {}}, code_.text());
  }
  CodePlace place_of(int line) const;
  void add_fault(const Fault& fault);
  void find_slices();
  void say_open();
  void try_ways();
  void try_targets();
  void try_defects();
  bool has_bytes(const Imitated& all);
  std::string minimal_of(int site, const std::string& text, std::string_view defect) const;
  std::uint64_t limit() const { return std::max(kFewestSteps, kMoreSteps * usual_.report.steps); }
  bool all_of_assembler() const {
    return std::ranges::all_of(out_.causes, [](const Cause& one) { return one.ruling == Ruling::assembler; });
  }
  void try_statements();
  void try_statement(int site, const Evidence& evidence);
  bool is_told_apart();
  void say_inferred();
  void conclude();
  void count(std::string_view hypothesis, std::uint64_t tries = 1);

  const Experiment experiment_;
  const Code code_;
  const ArbiterOptions& options_;
  Outcome usual_;
  std::vector<Slice> slices_;
  Solutions solutions_;
  std::optional<Probe> probe_;
  std::set<std::uint64_t> bounds_;
  std::set<int> blamed_;  // statements of causes
  std::set<int> lines_;   // of the slices
  std::uint64_t tried_ = 0, most_ = 0;
  Judgement out_;
};

void Arbiter::count(std::string_view hypothesis, std::uint64_t tries) {
  const auto found = std::ranges::find(out_.tried, hypothesis, &Tried::hypothesis);
  if (found == out_.tried.end())
    out_.tried.push_back({std::string(hypothesis), tries});
  else
    found->count += tries;
  tried_ += tries;
  if (options_.progress) options_.progress(tried_);
}

// Whether a text has the bytes of the GPU in a way.
bool Arbiter::tells(std::string_view hypothesis, const Way& way, const std::string& text) {
  count(hypothesis);
  const auto change = [&](ptx::Launch& how) {
    how.check_shared = how.check_global = false;
    how.lenient = true;
    if (way.change) way.change(how);
  };
  return experiment_.run(text, {change, way.target}).is_equal();
}

CodePlace Arbiter::place_of(int line) const {
  const auto found = std::ranges::find(code_.sites(), line, &Site::line);
  return found == code_.sites().end() ? CodePlace{line, {}} : place(*found);
}

void Arbiter::add_fault(const Fault& fault) {
  std::vector<CodePlace> places = {place_of(fault.ptx_line)};
  if (fault.other && fault.other->ptx_line != 0) places.push_back(place_of(fault.other->ptx_line));
  for (const FaultSide& one : fault.related)
    if (one.ptx_line != 0) places.push_back(place_of(one.ptx_line));
  add(Ruling::ptx_fault, fault.rule == KernelRule::none ? name(fault.error.code) : warpbit::name(fault.rule),
      fault.message(), std::move(places));
}

// ---- Equal bytes

// A rule has a part in the bytes if they are others without it.
void Arbiter::judge_equal() {
  out_.ruling = Ruling::as_ptx;
  out_.is_certain = true;
  std::map<std::string, std::vector<CodePlace>> acted;
  for (const ptx::AssembledLine& one : usual_.report.assembled)
    acted[one.rule].push_back({one.line, one.statement});
  for (const auto& [rule, places] : acted) {
    if (tells("rule", [&, &one = rule](ptx::Launch& how) { how.without = {one}; })) continue;
    const auto rows = ptx::assembler_rules();
    const auto row = std::ranges::find(rows, rule, &ptx::AssemblerRule::name);
    add(Ruling::as_ptx, rule,
        fmt::format("the rule {} of the assembler changes the bytes: {}: {}", rule, row->pattern, row->result),
        places);
  }
  for (const ptx::Finding& one : usual_.report.findings)
    if (one.grade == Grade::finding) out_.notes.push_back("a finding: " + one.fault.message());
  for (const ptx::OrderDependence& one : usual_.report.order_dependent)
    out_.notes.push_back(fmt::format("line {}: {}: {}", one.line, one.instruction, one.why));
}

// ---- Other bytes

void Arbiter::find_slices() {
  for (const Difference& one : usual_.differences)
    for (const std::size_t byte : {one.first, one.last}) {
      for (const std::uint64_t size : {1ULL, 2ULL, 4ULL, 8ULL})
        for (const std::uint64_t n : {byte / size, byte / size + 1}) bounds_.insert(n);
      if (slices_.size() >= 4 || (byte == one.last && one.first == one.last)) continue;
      const std::optional<Thread> thread = find_writer(experiment_, code_, one.part, byte);
      if (!thread) continue;
      if (!probe_) probe_ = Probe{thread->block, one.part, byte};
      slices_.push_back(slice(code_, trace(experiment_, code_, *thread), experiment_.address(one.part, byte)));
      solve(experiment_, code_, slices_.back(), solutions_);
    }
  if (slices_.empty()) {
    out_.notes.emplace_back(
        "no store of a thread leads to a wrong element here: all statements of the first thread count");
    slices_.push_back(slice(code_, trace(experiment_, code_, {}), 0));
  }
  if (slices_.front().trace.is_cut)
    out_.notes.emplace_back("the thread executes more statements than were looked at");
  for (const Slice& one : slices_)
    for (const int site : one.sites) lines_.insert(code_.site(site).line);
  for (const int site : slices_.front().sites) out_.slice.push_back(place(code_.site(site)));
}

// What breaks a rule, or leaves something open, where the wrong element comes from.
void Arbiter::say_open() {
  const auto matters = [&](const Fault& fault) {
    return lines_.contains(fault.ptx_line) || (fault.other && lines_.contains(fault.other->ptx_line));
  };
  for (const ptx::Finding& one : usual_.report.findings) {
    if (one.grade != Grade::finding || one.cause >= 0) continue;
    if (matters(one.fault))
      add_fault(one.fault);
    else
      out_.notes.push_back("a finding elsewhere: " + one.fault.message());
  }
  for (const ptx::OrderDependence& one : usual_.report.order_dependent)
    if (lines_.contains(one.line))
      add(Ruling::open, "order", one.instruction + ": " + one.why, {place_of(one.line)});
  if (experiment_.launch().stable == false)
    add(Ruling::open, "unstable", "a second run on the GPU left other bytes");
}

void Arbiter::try_ways() {
  for (const KnownWay& way : kWays)
    if (tells(way.name, way.change)) add(Ruling::other_code, way.name, std::string(way.sentence));
  if (out_.causes.empty())
    for (const ptx::AssemblerRule& rule : ptx::assembler_rules())
      if (tells("without-rule", [&](ptx::Launch& how) { how.without = {std::string(rule.name)}; }))
        add(Ruling::other_code, "without-rule", fmt::format("without the rule {} of the assembler", rule.name));
  try_targets();
  if (experiment_.leaves_memory())
    add(Ruling::other_code, "nothing", "memory is as it was: nothing was stored");
}

// The same statements for other targets: each is named in the text, too.
void Arbiter::try_targets() {
  const std::string_view named = code_.module().target;
  const auto at = static_cast<std::size_t>(named.data() - code_.text().data());
  std::vector<std::string> found;
  for (const Target target : Target::all()) {
    if (target.name() == experiment_.target().name()) continue;
    const std::string text = code_.changed({{at, named.size(), std::string(target.name())}});
    if (tells("target", {{}, target}, text)) found.emplace_back(target.name());
  }
  if (!found.empty())
    add(Ruling::other_code, "target", fmt::format("the PTX for {}", fmt::join(found, " or ")));
}

bool Arbiter::has_bytes(const Imitated& all) {
  std::vector<Edit> edits;
  for (const auto& [defect, text] : all) edits.push_back(whole(code_.site(defect->site), text));
  count("defect");
  return experiment_.try_out(code_.changed(std::move(edits)), limit()).is_equal();
}

void Arbiter::try_defects() {
  const std::vector<KnownDefect> all = known_defects(code_);
  for (const KnownDefect& one : all)
    if (one.imitations.empty() && lines_.contains(code_.site(one.site).line))
      out_.notes.push_back(fmt::format("line {}: {}: the assembler has the defect {}, which is not imitated",
                                       code_.site(one.site).line, code_.site(one.site).text, one.row->name));
  for (Imitated set : sets_of(all)) {
    if (!has_bytes(set)) continue;
    for (std::size_t i = set.size(); i-- > 0 && set.size() > 1;) {  // those that change no byte go
      Imitated fewer = set;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (has_bytes(fewer)) set = std::move(fewer);
    }
    for (const auto& [defect, text] : set) {
      const assembler::DefectRow& row = *defect->row;
      add(Ruling::assembler, row.name,
          fmt::format("ptxas ({}) {}; by the PTX manual {}", row.seen, row.result, row.manual),
          {place(code_.site(defect->site))});
      if (out_.minimal.empty()) out_.minimal = minimal_of(defect->site, text, row.name);
    }
    return;
  }
}

std::string Arbiter::minimal_of(int site, const std::string& text, std::string_view defect) const {
  for (const Slice& one : slices_)
    if (std::string out = minimal_module(code_, one, site, text, defect); !out.empty()) return out;
  return "";
}

// ---- Statements

void Arbiter::try_statement(int site, const Evidence& evidence) {
  std::size_t told = 0;
  std::set<std::string> known;
  for (const Hypothesis& row : hypotheses()) {
    std::vector<Candidate> all;
    row.add(evidence, site, all);
    std::erase_if(all, [&](const Candidate& one) {
      return !known.insert(fmt::format("{} {} {}", one.edit.at, one.edit.length, one.edit.text)).second;
    });
    if (tried_ + all.size() > most_) all.resize(most_ - std::min(most_, tried_));
    std::vector<char> fits(all.size());
    for_each_piece(0, all.size(), [&](std::size_t i) {
      const std::string text = code_.changed({all[i].edit});
      fits[i] = (!probe_ || experiment_.may_fit(text, limit(), *probe_)) &&
                experiment_.try_out(text, limit()).is_equal();
    });
    count(row.name, all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!fits[i] || told++ >= kOfOneStatement) continue;
      add(row.ruling, row.name, all[i].sentence, {place(code_.site(site))});
      blamed_.insert(site);
      const Site& of = code_.site(site);
      if (out_.minimal.empty() && all[i].edit.at == of.at && all[i].edit.length == of.length)
        out_.minimal = minimal_of(site, "$G" + all[i].edit.text, {});
    }
  }
}

void Arbiter::try_statements() {
  most_ = std::min(tried_ + options_.tries, tried_ + kMostSteps / (usual_.report.steps + 1));
  const Evidence evidence{code_, slices_, solutions_, bounds_};
  std::vector<int> sites;
  for (const Slice& slice : slices_)
    for (const int one : slice.sites)
      if (std::ranges::find(sites, one) == sites.end()) sites.push_back(one);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (tried_ < most_)
      try_statement(sites[i], evidence);
    else if (i + 1 == sites.size())
      out_.notes.emplace_back("not all statements were tried: there is a limit");
  }
}

// Bits that rest on no result of a GPU may be others there.
void Arbiter::say_inferred() {
  for (const ptx::Inference& one : usual_.report.inferences)
    if (lines_.contains(one.line))
      add(Ruling::open, "inferred",
          fmt::format("{}: {} is assumed as {} has it; no result of the target's GPU shows it", one.instruction,
                      one.open, one.from),
          {place_of(one.line)});
}

// A rule that is broken comes first, then what is open, as a product that need not be fused; the rest by what was found first.
void Arbiter::conclude() {
  if (out_.causes.empty()) return;
  out_.ruling = out_.causes.front().ruling;
  for (const Ruling one : {Ruling::assembler, Ruling::open, Ruling::ptx_fault})
    if (has(one)) out_.ruling = one;
  std::stable_partition(out_.causes.begin(), out_.causes.end(),
                        [&](const Cause& one) { return one.ruling == out_.ruling; });
}

// Whether a statement that was changed until the bytes fit says more than they do: many of them, and no defect beside it.
bool Arbiter::is_told_apart() {
  std::uint64_t differing = 0;
  for (const Difference& one : usual_.differences) differing += one.differing;
  if (differing < kManyBytes) out_.notes.emplace_back("few bytes differ: much would explain them");
  const bool has_defect = std::ranges::any_of(
      known_defects(code_), [&](const KnownDefect& one) { return lines_.contains(code_.site(one.site).line); });
  return differing >= kManyBytes && !has_defect;
}

void Arbiter::judge_different() {
  for (const Difference& one : usual_.differences) out_.differences.push_back(one.text());
  find_slices();
  say_open();
  if (has(Ruling::ptx_fault) || has(Ruling::open)) {
    out_.is_certain = true;
    return conclude();
  }
  try_ways();
  try_defects();
  out_.is_certain = out_.causes.size() == 1 || all_of_assembler();
  if (!out_.causes.empty()) return conclude();
  try_statements();
  out_.is_certain = blamed_.size() == 1 && is_told_apart();
  if (out_.causes.empty()) say_inferred();
  conclude();
}

Result<Judgement> Arbiter::run() {
  usual_ = experiment_.run(code_.text());
  if (usual_.refused) return *usual_.refused;
  if (usual_.report.fault) {
    add_fault(*usual_.report.fault);
    out_.ruling = Ruling::ptx_fault;
    out_.is_certain = true;
    if (tells("lenient", {}, code_.text()))
      out_.notes.emplace_back("without checks the launch has the bytes of the GPU here, too");
  } else if (usual_.differences.empty()) {
    judge_equal();
  } else {
    judge_different();
  }
  return std::move(out_);
}

}  // namespace
}  // namespace arbiter

std::string_view name(Ruling ruling) {
  return arbiter::kRulings[static_cast<std::size_t>(ruling)].name;
}

std::string_view sentence(Ruling ruling) {
  return arbiter::kRulings[static_cast<std::size_t>(ruling)].sentence;
}

Result<Judgement> arbitrate(const Recording& recording, const Record& record, const ArbiterOptions& options) {
  Result<arbiter::Experiment> experiment = arbiter::Experiment::read(recording, record, options);
  if (!experiment) return experiment.error();
  Result<arbiter::Code> code = arbiter::Code::read(experiment->text());
  if (!code) return code.error();
  return arbiter::Arbiter(*std::move(experiment), *std::move(code), options).run();
}

}  // namespace warpbit
