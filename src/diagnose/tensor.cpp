// SPDX-License-Identifier: Apache-2.0
#include "diagnose/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/verdict.hpp"
#include "threads.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace diagnosis {

std::vector<TensorBlock> TensorState::blocks() {
  std::vector<TensorBlock> out;
  for (std::size_t i = 0; i < tensor.size(); ++i) out.push_back({&tensor[i], shared[i]});
  return out;
}

Result<TensorSubject> TensorSubject::make(const Instruction& instruction, const TensorMmaSources& sources,
                                          std::span<const TensorBlock> blocks,
                                          TensorDiagnoseOptions::Compared compared) {
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if (!mma)
    return Error{Errc::usage, std::string(instruction.canonical()), "another instruction", "tcgen05.mma"};
  const Result<InstructionDescriptor> of =
      InstructionDescriptor::decode(sources.instruction, *mma, instruction.target());
  if (!of) return of.error();
  const tensor::DataPath path =
      *tensor::data_path(of->m, mma->cta_group, mma->is_weight_stationary, mma->is_sparse);
  const bool has_half = path == tensor::DataPath::c || path == tensor::DataPath::f;
  const int half = has_half && TensorAddress::decode(sources.d).lane == 16 ? 16 : 0;
  TensorSubject out{instruction, *mma, *of, {path, of->m, of->n, half}, {}, {sources, {}, {}}, compared};
  for (const Place& place : tensor::d_map(out.extent, find_format_info(of->d).value().bits).table())
    out.d.push_back({place.lane / TensorMemory::kLanes, place.lane % TensorMemory::kLanes, place.reg});
  for (const TensorBlock& block : blocks) {
    out.state.tensor.push_back(*block.tensor);
    out.state.shared.emplace_back(block.shared.begin(), block.shared.end());
  }
  return out;
}

namespace {

constexpr std::size_t kTensorDifferences = 4;  // that are shown
constexpr std::size_t kTensorPairs = 1000;     // that are tried

using Words = std::vector<std::uint32_t>;

// The words of D in the memories behind a product. Precondition: they have its columns.
Words words_of_d(const TensorSubject& x, std::span<const TensorMemory* const> memories) {
  const int first = TensorAddress::decode(x.state.sources.d).column;
  Words out;
  for (const TensorCell& cell : x.d) {
    out.push_back(memories[static_cast<std::size_t>(cell.block)]->read(cell.lane, first + cell.column));
  }
  return out;
}

Result<Execution> execute_state(const Instruction& instruction, TensorState& state) {
  return execute_mma(instruction, state.sources, state.blocks(), {.threads = 1});
}

// Compares what mistakes make of D with what is given.
class TensorJudge {
 public:
  using Together = std::vector<const TensorMistake*>;

  TensorJudge(const TensorSubject& subject, const TensorState& after, std::span<const std::uint32_t> d)
      : x_(subject), after_(after), d_(d) {
    std::vector<const TensorMemory*> memories;
    for (const TensorMemory& memory : after.tensor) memories.push_back(&memory);
    product_ = words_of_d(x_, memories);
    for (std::size_t i = 0; i < d_.size(); ++i) right_ += d_[i] == product_[i] ? 1 : 0;
  }

  const Words& product() const { return product_; }
  std::uint64_t right() const { return right_; }

  // Nothing if the product cannot be executed then.
  std::optional<Score> operator()(const Together& together) const {
    const TensorRead* read = nullptr;
    bool changes = false;
    int known_lanes = TensorMemory::kLanes;
    for (const TensorMistake* mistake : together) {
      known_lanes = std::min(known_lanes, mistake->known_lanes);
      if (mistake->read) read = &mistake->read;
      changes |= static_cast<bool>(mistake->change);
    }
    if (!changes) return compare({after_, x_.state.sources.accumulates, known_lanes, read});
    TensorState state = x_.state;
    for (const TensorMistake* mistake : together)
      if (mistake->change) mistake->change(state);
    if (!execute_state(x_.instruction, state)) return std::nullopt;
    return compare({state, state.sources.accumulates, known_lanes, read});
  }

 private:
  // What a mistake makes of the memories, and how D is read from them then.
  struct Prediction {
    const TensorState& state;
    bool accumulates;
    int known_lanes;
    const TensorRead* read;
  };

  // The word that was read for a cell; nothing where nobody can know it.
  std::optional<std::uint32_t> word(const Prediction& p, const TensorCell& cell) const {
    const int first = TensorAddress::decode(x_.state.sources.d).column;
    const std::optional<TensorCell> at = p.read == nullptr ? std::optional(cell) : (*p.read)(cell);
    if (!at) return std::nullopt;
    const int column = first + at->column;
    if (at->block < 0 || at->block >= static_cast<int>(p.state.tensor.size()) || at->lane < 0 ||
        at->lane >= p.known_lanes || column < 0 || column >= TensorMemory::kColumns)
      return std::nullopt;
    const auto block = static_cast<std::size_t>(at->block);
    if (!p.state.tensor[block].is_written(at->lane, column)) return std::nullopt;
    if (p.accumulates && !x_.state.tensor[block].is_written(at->lane, column)) return std::nullopt;
    return p.state.tensor[block].read(at->lane, column);
  }

  Score compare(const Prediction& prediction) const {
    Score out;
    std::set<std::uint32_t> values;
    for (std::size_t i = 0; i < d_.size(); ++i) {
      const std::optional<std::uint32_t> got = word(prediction, x_.d[i]);
      if (!got) continue;
      if (*got != d_[i]) {
        ++out.contradicted;
        continue;
      }
      ++out.explained;
      if (product_[i] == d_[i]) continue;
      ++out.gained;
      if (values.size() < kLeastValues) values.insert(*got);
    }
    out.values = values.size();
    return out;
  }

  const TensorSubject& x_;
  const TensorState& after_;
  std::span<const std::uint32_t> d_;
  Words product_;
  std::uint64_t right_ = 0;
};

std::vector<Candidate> candidates_of(const TensorJudge& judge, const std::vector<TensorJudge::Together>& list) {
  std::vector<std::optional<Score>> scores(list.size());
  for_each_piece(0, list.size(), [&](std::size_t i) { scores[i] = judge(list[i]); });
  std::vector<Candidate> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!scores[i] || scores[i]->gained == 0) continue;
    Candidate candidate{{}, *scores[i]};
    for (const TensorMistake* mistake : list[i]) candidate.together.push_back(&mistake->words);
    if (scores[i]->explained > judge.right() || candidate.is_consistent()) out.push_back(std::move(candidate));
  }
  std::ranges::stable_sort(out, is_better);
  return out;
}

// Two at once, of those that are common; where D was read comes last.
std::vector<TensorJudge::Together> pairs_of(const std::vector<TensorMistake>& all) {
  std::vector<TensorJudge::Together> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size() && out.size() < kTensorPairs; ++j) {
      const Hypothesis &x = all[i].words, &y = all[j].words;
      if (x.pairs && y.pairs && (x.kind != y.kind || x.operand != y.operand)) out.push_back({&all[i], &all[j]});
    }
  return out;
}

std::vector<TensorDifference> differences_of(const TensorSubject& x, const Words& product,
                                             std::span<const std::uint32_t> d) {
  std::vector<TensorDifference> out;
  const int first = TensorAddress::decode(x.state.sources.d).column;
  for (std::size_t i = 0; i < d.size() && out.size() < kTensorDifferences; ++i)
    if (d[i] != product[i])
      out.push_back({static_cast<int>(i) / x.of.n,
                     static_cast<int>(i) % x.of.n,
                     {x.d[i].lane, first + x.d[i].column},
                     x.d[i].block,
                     d[i],
                     product[i]});
  return out;
}

void search(const TensorSubject& x, const TensorJudge& judge, bool with_pairs, Diagnosis& out) {
  TensorMistakes mistakes{x};
  collect_tensor_operands(mistakes);
  collect_tensor_contents(mistakes);
  collect_tensor_reads(mistakes);
  std::ranges::stable_sort(mistakes.all, {}, [](const TensorMistake& m) { return m.words.cost; });
  out.hypotheses = mistakes.all.size();
  std::vector<TensorJudge::Together> singles;
  for (const TensorMistake& mistake : mistakes.all) singles.push_back({&mistake});
  std::vector<Candidate> candidates = candidates_of(judge, singles);
  const auto explains_all = [&](const Candidate& c) { return c.score.explained == out.elements; };
  if (with_pairs && std::ranges::none_of(candidates, &Candidate::is_consistent)) {
    std::vector<Candidate> pairs = candidates_of(judge, pairs_of(mistakes.all));
    std::erase_if(pairs, [&](const Candidate& c) { return !explains_all(c); });
    candidates.insert(candidates.end(), pairs.begin(), pairs.end());
    std::ranges::stable_sort(candidates, is_better);
  }
  conclude(candidates, {}, out);
  // Nor does anything contradict one that leaves words open.
  if (std::ranges::count_if(candidates, &Candidate::is_consistent) > 1)
    for (Finding& finding : out.findings) finding.certain = false;
}

}  // namespace
}  // namespace diagnosis

std::string TensorDiagnosis::text() const {
  std::string out = diagnosis.text();
  if (diagnosis.verdict != Verdict::none) return out;
  for (const TensorDifference& d : differences)
    out += fmt::format(
        "\nrow {}, column {} ({}lane {}, column {} of tensor memory): {:#010x}, the product has {:#010x}",
        d.row, d.column, d.block == 0 ? "" : "odd block, ", d.at.lane, d.at.column, d.compared, d.product);
  return out;
}

Result<std::vector<std::uint32_t>> tensor_d(const Instruction& instruction, const TensorMmaSources& sources,
                                            std::span<const TensorBlock> after) {
  if (Result<TensorTouches> touches = touches_of_mma(instruction, sources, after); !touches)
    return touches.error();
  using namespace diagnosis;
  const Result<TensorSubject> subject =
      TensorSubject::make(instruction, sources, {}, TensorDiagnoseOptions::Compared::seen);
  if (!subject) return subject.error();
  std::vector<const TensorMemory*> memories;
  for (const TensorBlock& block : after) memories.push_back(block.tensor);
  return words_of_d(*subject, memories);
}

Result<TensorDiagnosis> diagnose_tensor(const Instruction& instruction, const TensorMmaSources& sources,
                                        std::span<const TensorBlock> before, std::span<const std::uint32_t> d,
                                        const TensorDiagnoseOptions& options) {
  using namespace diagnosis;
  const Result<TensorSubject> subject = TensorSubject::make(instruction, sources, before, options.d);
  if (!subject) return subject.error();
  if (d.size() != subject->d.size())
    return Error{Errc::view_mismatch, std::string(instruction.canonical()),
                 fmt::format("{} words of D", d.size()), fmt::format("{} x {}", subject->of.m, subject->of.n)};
  TensorState after = subject->state;
  const Result<Execution> done = execute_state(instruction, after);
  if (!done) return done.error();
  const TensorJudge judge(*subject, after, d);
  TensorDiagnosis out;
  Diagnosis& found = out.diagnosis;
  found.statement = instruction.text();
  found.target = instruction.target().name();
  found.cases = 1;
  found.inferred = done->inferred;
  found.elements = d.size();
  found.right = judge.right();
  out.differences = differences_of(*subject, judge.product(), d);
  if (found.right == found.elements)
    found.verdict = Verdict::correct;
  else
    search(*subject, judge, options.pairs, found);
  return out;
}

}  // namespace warpbit
