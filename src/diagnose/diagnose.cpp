// SPDX-License-Identifier: Apache-2.0
#include "warpbit/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/diagnose_trial.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kFinalists = 64;              // hypotheses that are tried on all cases
constexpr std::uint64_t kPairElements = 1'000'000;  // of D, that pairs may compute
constexpr std::uint64_t kWindow = 4;                // cases to try what takes something from another case
constexpr std::uint64_t kLeastNew = 4;              // wrong elements that a claim must explain, at least
constexpr std::uint64_t kLeastValues = 3;           // different values among them

// What a prediction explains.
struct Score {
  std::uint64_t explained = 0, contradicted = 0;
  std::uint64_t gained = 0;  // explained, and not right as they are
  std::uint64_t values = 0;  // different codes among those, up to kLeastValues
};

// Compares predictions with the D of some cases.
class Judge {
 public:
  Judge(LoadedCapture capture, const Array& right) : capture_(std::move(capture)), as_is_(right) {
    expected_ = codes(capture_.expected);
    const std::vector<std::uint64_t> as_is = codes(right);
    const auto per = static_cast<std::uint64_t>(capture_.slots());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      compared_.push_back(capture_.compared(i / per));
      right_.push_back(expected_[i] == as_is[i]);
      elements_ += compared_[i] ? 1 : 0;
      right_count_ += compared_[i] && right_[i] ? 1 : 0;
    }
  }
  const LoadedCapture& capture() const { return capture_; }
  std::uint64_t elements() const { return elements_; }
  std::uint64_t right() const { return right_count_; }

  // Nothing if the hypothetical instruction cannot be executed.
  std::optional<Score> operator()(std::span<const Hypothesis* const> together) const {
    Trial trial{capture_, std::vector<Knowledge>(expected_.size(), Knowledge::exact)};
    const Hypothesis* execution = nullptr;
    for (const Hypothesis* h : together) {
      if (h->inputs) h->inputs(trial);
      if (h->execution) execution = h;
    }
    const auto only_results = [](const Hypothesis* h) { return !h->inputs && !h->execution; };
    Result<Array> d = execution                                     ? execution->execution(trial.capture)
                      : std::ranges::all_of(together, only_results) ? Result<Array>(as_is_)
                                                                    : execute_trial(trial.capture);
    if (!d) return std::nullopt;
    Prediction prediction{std::move(*d), std::move(trial.known)};
    for (const Hypothesis* h : together)
      if (h->results) h->results(trial.capture, prediction);
    return compare(prediction);
  }

 private:
  std::vector<std::uint64_t> codes(const Array& array) const {
    const Packing& packing = capture_.instruction.operands()[0].fragment.packing();
    const std::uint64_t mask = packing.mask();
    std::vector<std::uint64_t> out = words_of(array);
    if (packing.per_register() == 1 && packing.bits == packing.register_bits) return out;
    const std::vector<std::uint64_t> words = std::move(out);
    out.clear();
    for (const std::uint64_t bits : words)
      for (int slot = 0; slot < packing.per_register(); ++slot)
        out.push_back(bits >> packing.low_bit_of(slot) & mask);
    return out;
  }
  Score compare(const Prediction& prediction) const {
    const std::vector<std::uint64_t> got = codes(prediction.d);
    Score out;
    std::set<std::uint64_t> values;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!compared_[i] || prediction.known[i] == Knowledge::nothing) continue;
      if (got[i] != expected_[i]) {
        out.contradicted += prediction.known[i] == Knowledge::exact ? 1 : 0;
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

  LoadedCapture capture_;
  Array as_is_;  // the right D
  std::vector<std::uint64_t> expected_;
  std::vector<bool> compared_, right_;
  std::uint64_t elements_ = 0, right_count_ = 0;
};

struct Candidate {
  std::vector<const Hypothesis*> together;
  Score score;

  int cost() const {
    int sum = together.size() > 1 ? 10 : 0;
    for (const Hypothesis* h : together) sum += h->cost;
    return sum;
  }
  bool is_consistent() const { return score.contradicted == 0 && score.gained >= kLeastNew; }
};

// The better one first: what nothing contradicts, then what explains more, then what is simpler.
bool is_better(const Candidate& x, const Candidate& y) {
  if (x.is_consistent() != y.is_consistent()) return x.is_consistent();
  if (x.score.explained != y.score.explained) return x.score.explained > y.score.explained;
  return x.cost() < y.cost();
}

// More than the result as it is, and more than chance.
bool is_claim(const Candidate& c, std::uint64_t wrong) {
  return c.score.gained >= std::max(kLeastNew, wrong / 16) && c.score.values >= kLeastValues;
}

class Search {
 public:
  Search(const LoadedCapture& capture, const Array& right, std::vector<Hypothesis> hypotheses)
      : all_(capture, right), hypotheses_(std::move(hypotheses)) {
    const std::uint64_t first = first_wrong(capture, right);
    sample_.emplace(window(capture, right, first, 1));
    const std::uint64_t begin = first > 0 ? first - 1 : 0;
    wider_.emplace(window(capture, right, begin, std::min(capture.cases - begin, kWindow)));
  }
  const Judge& all() const { return all_; }
  std::size_t tried() const { return hypotheses_.size(); }

  std::vector<Candidate> singles() const {
    std::vector<Candidate> out, wider, whole;
    std::vector<std::optional<Score>> scores(hypotheses_.size());
    for_each_piece(0, hypotheses_.size(), [&](std::size_t i) {
      const Hypothesis* const one[] = {&hypotheses_[i]};
      scores[i] = (hypotheses_[i].neighbours ? *wider_ : *sample_)(one);
    });
    for (std::size_t i = 0; i < hypotheses_.size(); ++i)
      if (scores[i] && scores[i]->gained > 0)
        (hypotheses_[i].neighbours ? wider : out).push_back({{&hypotheses_[i]}, *scores[i]});
    finals(out, sample_->elements(), whole);
    finals(wider, wider_->elements(), whole);
    return whole;
  }

  std::vector<Candidate> pairs() const {
    std::vector<Candidate> out, whole;
    std::uint64_t budget = kPairElements / std::max<std::uint64_t>(sample_->elements(), 1);
    for (std::size_t x = 0; x < hypotheses_.size(); ++x)
      for (std::size_t y = x + 1; y < hypotheses_.size(); ++y) {
        const Hypothesis &hx = hypotheses_[x], &hy = hypotheses_[y];
        if (!hx.pairs || !hy.pairs || budget == 0) continue;
        // The second instruction would replace the first one.
        if (hx.kind == hy.kind && hx.operand == hy.operand) continue;
        --budget;
        const Hypothesis* const two[] = {&hx, &hy};
        const std::optional<Score> score = (*sample_)(two);
        if (score && score->contradicted == 0 && score->gained > 0) out.push_back({{&hx, &hy}, *score});
      }
    finals(out, sample_->elements(), whole);
    std::erase_if(whole, [&](const Candidate& c) { return c.score.explained < all_.elements(); });
    return whole;
  }

 private:
  static Judge window(const LoadedCapture& capture, const Array& right, std::uint64_t first,
                      std::uint64_t count) {
    Array part = right;
    const auto bytes = static_cast<std::ptrdiff_t>(right.data.size() / capture.cases);
    const auto begin = right.data.begin() + static_cast<std::ptrdiff_t>(first) * bytes;
    part.data = {begin, begin + static_cast<std::ptrdiff_t>(count) * bytes};
    part.header.shape[0] = count;
    return Judge(cases_of(capture, first, count), part);
  }
  static std::uint64_t first_wrong(const LoadedCapture& capture, const Array& right) {
    std::uint64_t first = 0;
    bool found = false;
    for_each_element(capture, capture.expected, right, [&](const Mismatch& m, const auto&) {
      if (found || m.expected == m.got) return;
      found = true;
      first = m.index;
    });
    return first;
  }
  void try_all(std::vector<const Hypothesis*> together, std::vector<Candidate>& out) const {
    const std::optional<Score> score = all_(together);
    if (score && score->explained > all_.right())
      out.push_back({std::move(together), *score});
    else if (score && score->contradicted == 0 && score->gained >= kLeastNew)
      out.push_back({std::move(together), *score});
  }
  // The best of the sample on all cases, those that nothing contradicts there in any number.
  void finals(std::vector<Candidate>& sampled, std::uint64_t elements, std::vector<Candidate>& out) const {
    std::ranges::stable_sort(sampled, is_better);
    for (std::size_t i = 0; i < sampled.size(); ++i)
      if (i < kFinalists || sampled[i].score.explained == elements) try_all(sampled[i].together, out);
    std::ranges::stable_sort(out, is_better);
  }

  Judge all_;
  std::optional<Judge> sample_;  // the first case with a wrong element
  std::optional<Judge> wider_;   // that one and its neighbours
  std::vector<Hypothesis> hypotheses_;
};

Finding finding_of(const Candidate& c, std::uint64_t elements) {
  Finding out;
  for (const Hypothesis* h : c.together) {
    const auto join = [](std::string& text, const std::string& more, std::string_view by) {
      text += (text.empty() || more.empty() ? "" : std::string(by)) + more;
    };
    join(out.kind, h->kind, "+");
    join(out.operand, h->operand, " ");
    join(out.mistake, h->mistake, "; and ");
    join(out.hint, h->hint, "; ");
  }
  out.explained = c.score.explained;
  out.contradicted = c.score.contradicted;
  out.elements = elements;
  return out;
}

std::vector<Hypothesis> all_hypotheses(const LoadedCapture& capture) {
  std::vector<Hypothesis> out;
  for (const auto& make :
       {fragment_hypotheses, statement_hypotheses, depth_hypotheses, word_hypotheses, memory_hypotheses})
    for (Hypothesis& h : make(capture)) out.push_back(std::move(h));
  std::ranges::stable_sort(out, {}, &Hypothesis::cost);
  return out;
}

void conclude(const Search& search, std::vector<Candidate> candidates, Diagnosis& out) {
  const std::uint64_t wrong = out.elements - out.right;
  const auto full = static_cast<std::uint64_t>(
      std::ranges::count_if(candidates, [&](const Candidate& c) { return c.score.explained == out.elements; }));
  for (const Candidate& c : candidates)
    if (c.score.explained == out.elements || (full == 0 && is_claim(c, wrong)))
      out.findings.push_back(finding_of(c, out.elements));
  out.hypotheses = search.tried();
  if (full > 1)
    out.verdict = Verdict::ambiguous;
  else if (full == 1)
    out.verdict = Verdict::mistake;
  else
    out.verdict = out.findings.empty() ? Verdict::none : Verdict::partial;
  if (full == 1) out.findings[0].certain = candidates[0].together.size() == 1 && is_claim(candidates[0], wrong);
}

Result<void> check_kind(const LoadedCapture& capture) {
  if (capture.header.layout != CaptureLayout::registers)
    return Error{Errc::member_value, "layout", std::string(name(capture.header.layout)), "registers"};
  if (capture.instruction.depth() == 0)
    return Error{Errc::member_value, "statement", std::string(capture.instruction.canonical()),
                 "an instruction D = A B + C"};
  return {};
}

Result<Diagnosis> diagnose_loaded(const LoadedCapture& capture, const DiagnoseOptions& options) {
  if (Result<void> checked = check_kind(capture); !checked) return checked.error();
  const Result<Array> right = execute_trial(capture);
  if (!right) return right.error();
  Diagnosis out;
  out.statement = capture.instruction.text();
  out.target = capture.instruction.target().name();
  out.cases = capture.cases;
  out.inferred = capture.instruction.inferred();
  const Judge as_is(capture, *right);
  out.elements = as_is.elements();
  out.right = as_is.right();
  if (out.right == out.elements) {
    out.verdict = Verdict::correct;
    return out;
  }
  const Search search(capture, *right, all_hypotheses(capture));
  std::vector<Candidate> candidates = search.singles();
  const auto explains_all = [&](const Candidate& c) { return c.score.explained == out.elements; };
  if (options.pairs && std::ranges::none_of(candidates, explains_all)) {
    const std::vector<Candidate> pairs = search.pairs();
    candidates.insert(candidates.end(), pairs.begin(), pairs.end());
    std::ranges::stable_sort(candidates, is_better);
  }
  conclude(search, std::move(candidates), out);
  return out;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::correct: return "correct";
    case Verdict::mistake: return "mistake";
    case Verdict::ambiguous: return "ambiguous";
    case Verdict::partial: return "partial";
    case Verdict::none: return "none";
  }
  return "";
}

std::string Diagnosis::text() const {
  switch (verdict) {
    case Verdict::correct: return fmt::format("correct: all {} elements are right", elements);
    case Verdict::mistake:
      return fmt::format("{}: {} (explains all {} elements, {} of which are wrong)",
                         findings[0].certain ? "mistake" : "probable mistake", findings[0].mistake, elements,
                         elements - right);
    case Verdict::ambiguous:
      return fmt::format(
          "ambiguous: {} mistakes explain all {} elements and cannot be told apart by these inputs",
          findings.size(), elements);
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
  return capture ? diagnose_loaded(*capture, options) : capture.error();
}

Result<Diagnosis> diagnose(const Instruction& instruction, std::span<const OperandView> sources,
                           const OperandView& d, std::size_t cases, const DiagnoseOptions& options) {
  const std::span<const Operand> operands = instruction.operands();
  if (instruction.depth() == 0 || instruction.uses_memory() || cases == 0)
    return Error{Errc::member_value, "statement", std::string(instruction.canonical()),
                 "an instruction D = A B + C in registers, at least once"};
  if (sources.size() + 1 != operands.size())
    return Error{Errc::view_mismatch, std::string(instruction.canonical()),
                 fmt::format("{} source views", sources.size()), fmt::format("{}", operands.size() - 1)};
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
  if (d.base == nullptr)
    return Error{Errc::view_mismatch, std::string(instruction.canonical()), "the view of d is empty",
                 "the registers to diagnose"};
  capture.expected = copy(operands[0], d);
  return diagnose_loaded(capture, options);
}

}  // namespace warpbit
