// SPDX-License-Identifier: Apache-2.0
#include "warpbit/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "api/checks.hpp"
#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "diagnose/orders.hpp"
#include "diagnose/verdict.hpp"
#include "diagnose/wrong_places.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

using namespace diagnosis;

constexpr std::size_t kFinalists = 64;              // hypotheses that are tried on all cases
constexpr std::uint64_t kPairElements = 1'000'000;  // of D, that pairs may compute
constexpr std::uint64_t kWindow = 4;                // cases to try what takes something from another case

// Compares predictions with the D of some cases.
class Judge {
 public:
  Judge(Problem capture, Array right, std::span<const Fragment> fragments)
      : capture_(std::move(capture)), as_is_(std::move(right)), fragments_(fragments) {
    expected_ = codes(capture_.expected);
    const std::vector<std::uint64_t> as_is = codes(as_is_);
    const auto per = static_cast<std::uint64_t>(capture_.slots());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      compared_.push_back(capture_.compared(i / per) && is_inside(capture_, fragments_.back(), i));
      right_.push_back(expected_[i] == as_is[i]);
      elements_ += compared_[i] ? 1 : 0;
      right_count_ += compared_[i] && right_[i] ? 1 : 0;
    }
  }
  // Of these cases alone.
  Judge window(std::uint64_t first, std::uint64_t count, std::optional<PartOfD> block = {}) const {
    Problem part = cases_of(capture_, first, count);
    part.block = block;
    return Judge(std::move(part), warpbit::cases_of(as_is_, capture_.cases, first, count), fragments_);
  }
  // The block of D that shows enough of the case with the first wrong element, where that case has far more elements.
  std::optional<PartOfD> block() const {
    constexpr int kRows = 16, kColumns = 8;
    if (!capture_.matrices || !capture_.instruction.uses_memory()) return std::nullopt;
    const Fragment& d = fragments_.back();
    const std::size_t i = first_wrong_element();
    const Coordinate origin = capture_.origin(Part::d, i / d.size(), 0), at = d.at(i % d.size());
    return PartOfD{origin.row + at.row / kRows * kRows, origin.column + at.column / kColumns * kColumns, kRows,
                   kColumns};
  }
  // The case of the first wrong element. Precondition: there is one.
  std::uint64_t first_wrong() const { return first_wrong_element() / (expected_.size() / capture_.cases); }
  // Of each element.
  std::vector<Compared> comparison() const {
    std::vector<Compared> out;
    for (std::size_t i = 0; i < expected_.size(); ++i)
      out.push_back(!compared_[i] ? Compared::left_out : right_[i] ? Compared::right : Compared::wrong);
    return out;
  }
  std::uint64_t elements() const { return elements_; }
  std::uint64_t steps() const { return static_cast<std::uint64_t>(capture_.steps); }
  std::uint64_t right() const { return right_count_; }

  // Nothing if the hypothetical instruction cannot be executed, or if it is contradicted and does not count then.
  std::optional<Score> operator()(const Together& together) const {
    Trial trial{capture_, std::vector<Knowledge>(expected_.size(), Knowledge::exact)};
    const Hypothesis* execution = nullptr;
    for (const Hypothesis* h : together) {
      change_inputs(*h, fragments_, trial);
      if (h->execution) execution = h;
    }
    Result<Array> d = execution ? execution->execution(trial.capture)
                      : std::ranges::all_of(together, &Hypothesis::is_of_results)
                          ? Result<Array>(as_is_)
                          : execute_trial(trial.capture);
    if (!d) return std::nullopt;
    if (capture_.block && !std::ranges::all_of(together, &Hypothesis::is_of_results))
      for (std::size_t i = 0; i < expected_.size(); ++i)
        if (!compared_[i]) trial.known[i] = Knowledge::nothing;
    for (const Hypothesis* h : together) change_results(*h, fragments_, trial, *d);
    const Score score = compare(codes(*d), trial.known);
    const bool refuted = score.contradicted > 0 && std::ranges::any_of(together, &Hypothesis::consistent);
    return refuted ? std::nullopt : std::optional(score);
  }

 private:
  std::size_t first_wrong_element() const {
    std::size_t i = 0;
    while (!compared_[i] || right_[i]) ++i;
    return i;
  }
  std::vector<std::uint64_t> codes(const Array& array) const {
    const Packing& packing = fragments_.back().packing();
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0, n = array.header.items(); i < n; ++i)
      for (int slot = 0; slot < packing.per_register(); ++slot)
        out.push_back(stored(array.at(i) >> packing.low_bit_of(slot) & packing.mask()));
    return out;
  }
  // What is left of a sum where the kernel stores it in another format.
  std::uint64_t stored(std::uint64_t code) const {
    if (capture_.store == nullptr) return code;
    const Format& sum = *find_format(fragments_.back().op().format);
    return rounded_to(sum, *capture_.store, rounded_to(*capture_.store, sum, code));
  }
  Score compare(const std::vector<std::uint64_t>& got, const std::vector<Knowledge>& known) const {
    Score out;
    std::set<std::uint64_t> values;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!compared_[i] || known[i] == Knowledge::nothing) continue;
      if (got[i] != expected_[i]) {
        out.contradicted += known[i] == Knowledge::exact ? 1 : 0;
        continue;
      }
      ++out.explained;
      if (right_[i]) continue;
      ++out.gained;
      if (values.size() < kLeastValues) values.insert(got[i]);
    }
    out.values = values.size();
    return out;
  }

  Problem capture_;
  Array as_is_;  // the right D
  std::span<const Fragment> fragments_;
  std::vector<std::uint64_t> expected_;
  std::vector<bool> compared_, right_;
  std::uint64_t elements_ = 0, right_count_ = 0;
};

class Search {
 public:
  Search(const Judge& all, std::span<const Hypothesis> hypotheses, std::uint64_t cases)
      : all_(all),
        hypotheses_(hypotheses),
        sample_(all.window(all.first_wrong(), 1, all.block())),
        wider_(all.window(begin(), std::min(cases - begin(), kWindow))) {}

  std::vector<Candidate> singles() const {
    std::vector<Together> in_case, with_neighbours;
    for (const Hypothesis& h : hypotheses_) (h.neighbours ? with_neighbours : in_case).push_back({&h});
    std::vector<Candidate> out;
    choose(sample_, in_case, out);
    choose(wider_, with_neighbours, out);
    return out;
  }

  std::vector<Candidate> pairs() const {
    const std::uint64_t budget =
        kPairElements / (std::max<std::uint64_t>(sample_.elements(), 1) * sample_.steps());
    std::vector<Together> list;
    std::uint64_t executed = 0;
    for (const Hypothesis& x : hypotheses_)
      for (const Hypothesis& y : hypotheses_.subspan(static_cast<std::size_t>(&x - hypotheses_.data()) + 1)) {
        // The second instruction would replace the first one.
        if (!x.pairs || !y.pairs || (x.kind == y.kind && x.operand == y.operand)) continue;
        const bool executes = !x.is_of_results() || !y.is_of_results();
        if (executes && executed == budget) continue;
        executed += executes ? 1 : 0;
        list.push_back({&x, &y});
      }
    std::vector<Candidate> out;
    choose(sample_, list, out);
    std::erase_if(out, [&](const Candidate& c) { return c.score.explained < all_.elements(); });
    return out;
  }

 private:
  std::uint64_t begin() const { return std::max<std::uint64_t>(all_.first_wrong(), 1) - 1; }
  // Adds the best on the sample with their scores on all cases; those that nothing contradicts on the sample in any
  // number. Of pairs nothing may contradict it.
  void choose(const Judge& sample, const std::vector<Together>& list, std::vector<Candidate>& out) const {
    std::vector<std::optional<Score>> scores(list.size());
    for_each_piece(0, list.size(), [&](std::size_t i) { scores[i] = sample(list[i]); });
    std::vector<Candidate> sampled;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (scores[i] && scores[i]->gained > 0 && (list[i].size() == 1 || scores[i]->contradicted == 0))
        sampled.push_back({list[i], *scores[i]});
    std::ranges::stable_sort(sampled, is_better);
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      if (i >= kFinalists && sampled[i].score.explained != sample.elements()) continue;
      const std::optional<Score> score = all_(sampled[i].together);
      if (!score) continue;
      const Candidate on_all{sampled[i].together, *score};
      if (score->explained > all_.right() || on_all.is_consistent()) out.push_back(on_all);
    }
    std::ranges::stable_sort(out, is_better);
  }

  const Judge& all_;
  std::span<const Hypothesis> hypotheses_;
  Judge sample_;  // the first case with a wrong element
  Judge wider_;   // that one and its neighbours
};

// A loop that leaves the end of K out is a mistake and an order, and so are orders that leave out as much; it is one explanation, the
// mistake.
void drop_twins(std::vector<Candidate>& candidates, std::vector<Finding>& orders) {
  const bool is_tail = std::ranges::any_of(candidates, [&](const Candidate& c) {
    return c.together.size() == 1 && c.together[0]->kind == "tail_missing" && !orders.empty() &&
           c.score.explained == orders[0].elements;
  });
  const auto tail = std::ranges::find_if(orders, [](const Finding& f) {
    return f.order.starts_with("omit=") && f.order.find(' ') == f.order.npos;
  });
  if (!is_tail || tail == orders.end()) return;
  std::erase_if(orders, [left_out = tail->left_out](const Finding& f) { return f.left_out == left_out; });
}

// Looks for orders of the sum, given how many elements are right.
using FindOrders = std::function<Result<OrderFindings>(std::uint64_t)>;

Result<Diagnosis> diagnose_problem(const Problem& capture, const Result<Array>& right,
                                   const DiagnoseOptions& options, const FindOrders& find_orders = {}) {
  if (!right) return right.error();
  Diagnosis out;
  out.statement = capture.instruction.text();
  out.target = capture.instruction.target().name();
  out.cases = capture.cases;
  out.inferred = capture.instruction.inferred();
  Collection hypotheses{capture};
  const Judge judge(capture, *right, hypotheses.fragments);
  out.elements = judge.elements();
  out.right = judge.right();
  if (out.right == out.elements) {
    out.verdict = Verdict::correct;
    return out;
  }
  collect_places(hypotheses);
  for (const auto& collect :
       {collect_statements, collect_depth, collect_words, collect_epilogue, collect_products})
    collect(hypotheses);
  std::ranges::stable_sort(hypotheses.all, {}, &Hypothesis::cost);
  Result<OrderFindings> orders = find_orders ? find_orders(out.right) : OrderFindings();
  if (!orders) return orders.error();
  out.hypotheses = hypotheses.all.size() + orders->tried;
  out.inferred = out.inferred || orders->inferred;
  const Search search(judge, hypotheses.all, capture.cases);
  std::vector<Candidate> candidates = search.singles();
  const auto explains_all = [&](const Candidate& c) { return c.score.explained == out.elements; };
  if (options.pairs && orders->all.empty() && std::ranges::none_of(candidates, explains_all)) {
    const std::vector<Candidate> pairs = search.pairs();
    candidates.insert(candidates.end(), pairs.begin(), pairs.end());
    std::ranges::stable_sort(candidates, is_better);
  }
  drop_twins(candidates, orders->all);
  conclude(candidates, std::move(orders->all), out);
  if (out.verdict == Verdict::none || out.verdict == Verdict::partial)
    out.where = wrong_places(capture, hypotheses.fragment(Part::d), judge.comparison());
  return out;
}
Result<Diagnosis> diagnose_loaded(LoadedCapture capture, const DiagnoseOptions& options) {
  const Problem problem(std::move(capture));
  return diagnose_problem(problem, execute_trial(problem), options);
}

bool is_order(const Finding& f) {
  return !f.order.empty() && f.left_out == 0;
}

std::string text_of(const Finding& f, std::uint64_t wrong) {
  if (is_order(f))
    return fmt::format("{}: {} (all {} elements, {} of which the plain chain gives otherwise)",
                       f.certain ? "another order" : "probably another order", f.mistake, f.elements, wrong);
  return fmt::format("{}: {} (explains all {} elements, {} of which are wrong)",
                     f.certain ? "mistake" : "probable mistake", f.mistake, f.elements, wrong);
}

std::string ambiguous_text(const Diagnosis& d) {
  const auto orders = static_cast<std::size_t>(std::ranges::count_if(d.findings, is_order));
  const std::string_view what = orders == 0                   ? "mistakes"
                                : orders == d.findings.size() ? "orders of the sum"
                                                              : "mistakes and orders of the sum";
  return fmt::format("ambiguous: {} {} explain all {} elements and cannot be told apart by these inputs",
                     d.findings.size(), what, d.elements);
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"correct", "mistake", "ambiguous", "partial", "none"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string Diagnosis::details(std::size_t most) const {
  std::string out = text();
  for (const WrongPlaces& one : where) out += "\n  " + one.text();
  for (const Finding& one : std::span(findings).first(std::min(most, findings.size()))) {
    out += fmt::format("\n  {}: explains {} of {} elements, contradicted by {}", one.mistake, one.explained,
                       one.elements, one.contradicted);
    if (!one.hint.empty()) out += "\n    " + one.hint;
  }
  return out;
}

std::string Diagnosis::text() const {
  switch (verdict) {
    case Verdict::correct: return fmt::format("correct: all {} elements are right", elements);
    case Verdict::mistake: return text_of(findings[0], elements - right);
    case Verdict::ambiguous: return ambiguous_text(*this);
    case Verdict::partial:
      return fmt::format("no single mistake explains everything; the best explains {} of {} elements{}: {}",
                         findings[0].explained, elements,
                         findings[0].contradicted == 0 ? " and contradicts none" : "", findings[0].mistake);
    case Verdict::none:
      return fmt::format("none: {} of {} elements are wrong, and no mistake known explains them",
                         elements - right, elements);
  }
  return {};
}

Result<Diagnosis> diagnose(const std::filesystem::path& path, const DiagnoseOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(path, options.read);
  if (!reader) return reader.error();
  ReplayOptions replay;
  replay.target = options.target;
  replay.read = options.read;
  if (reader->header().layout != CaptureLayout::registers)
    return Error{Errc::member_value, "layout", std::string(name(reader->header().layout)), "registers"};
  const Result<LoadedCapture> capture = load_capture(*reader, replay);
  if (!capture) return capture.error();
  if (capture->instruction.depth() == 0)
    return Error{Errc::member_value, "statement", std::string(capture->instruction.canonical()),
                 "an instruction D = A B + C"};
  return diagnose_loaded(*capture, options);
}

Result<Diagnosis> diagnose(const Instruction& instruction, std::span<const OperandView> sources,
                           const OperandView& d, std::size_t cases, const DiagnoseOptions& options) {
  const std::span<const Operand> operands = instruction.operands();
  if (instruction.depth() == 0 || instruction.uses_memory() || cases == 0)
    return Error{Errc::member_value, "statement", std::string(instruction.canonical()),
                 "an instruction D = A B + C in registers, at least once"};
  if (sources.size() + 1 != operands.size())
    return mismatch(instruction, fmt::format("{} source views", sources.size()),
                    fmt::format("{}", operands.size() - 1));
  LoadedCapture capture({instruction.text(), std::string(instruction.target().name()), CaptureLayout::registers,
                         CaptureSource::model, "{}"},
                        instruction, cases);
  // A dense copy of the registers that a view has.
  const auto copy = [&](const Operand& op, const OperandView& view) {
    const auto bytes = static_cast<std::size_t>(op.register_bits / 8);
    Array out = Array::zeros(
        op.label, bytes,
        {cases, static_cast<std::uint64_t>(instruction.lanes()), static_cast<std::uint64_t>(op.registers)});
    std::byte* to = out.data.data();
    for (std::size_t n = 0; n < cases; ++n)
      for (int lane = 0; lane < instruction.lanes(); ++lane)
        for (int reg = 0; reg < op.registers; ++reg, to += bytes)
          std::copy_n(view.base + static_cast<std::ptrdiff_t>(n) * view.case_stride + lane * view.lane_stride +
                          reg * view.register_stride,
                      bytes, to);
    return out;
  };
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i].base != nullptr) capture.sources[i] = copy(operands[i + 1], sources[i]);
  if (d.base == nullptr) return mismatch(instruction, "the view of d is empty", "the registers to diagnose");
  capture.expected = copy(operands[0], d);
  return diagnose_loaded(std::move(capture), options);
}

Result<Diagnosis> diagnose(const Instruction& instruction, const Gemm& product,
                           const DiagnoseOptions& options) {
  const Result<const Format*> store = stored_format(instruction, options.store);
  if (!store) return store.error();
  const Result<Matrices> read = matrices_of(instruction, product, *store);
  if (!read) return read.error();
  const auto matrices = std::make_shared<Matrices>(*read);
  Problem problem = problem_of(instruction, matrices);
  problem.store = *store;
  const Result<Array> right = execute_trial(problem);
  if (right) matrices->right = matrix_of(problem, fragments_of(problem).back(), *right);
  Result<Diagnosis> out = diagnose_problem(problem, right, options, [&](std::uint64_t right_count) {
    return find_orders(instruction, product, *matrices, right_count, options);
  });
  if (out) out->cases = 1;
  return out;
}

}  // namespace warpbit
