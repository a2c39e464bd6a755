// SPDX-License-Identifier: Apache-2.0
// Mistakes in a product of whole matrices: in which steps a kernel goes along K, and where its accumulators begin.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/matrix_moves.hpp"

namespace warpbit::diagnosis {
namespace {

class StepCollection {
 public:
  explicit StepCollection(MatrixCollection& to) : to_(to) {}

  void run() {
    steps();
    orders();
    accumulators();
  }

 private:
  // ---- Steps along K

  void add_runs(Hypothesis h, std::vector<Run> runs, bool without_c = false) {
    std::erase_if(runs, [](const Run& run) { return run.empty(); });
    const Run& all = ascending();
    // tails() has what leaves out the last step only, where that is the tail.
    const bool is_tail = to_.matrices.depth() % to_.instruction().depth() != 0 && runs.size() == 1 &&
                         std::ranges::equal(runs[0], std::span(all).first(all.size() - 1));
    if (runs.empty() || is_tail || (runs == to_.to.capture.runs && !without_c)) return;
    if (!runs_.insert({runs, without_c}).second) return;
    to_.to.add(std::move(h)).inputs = [runs = std::move(runs), without_c](Trial& t) {
      t.capture.runs = runs;
      if (without_c) std::ranges::fill(array_of(t.capture, Part::c)->data, std::byte{0});
    };
  }
  const Run& ascending() const { return to_.to.capture.runs.at(0); }

  static std::string steps_text(int first, int last) {
    return first == last ? fmt::format("step {} of K", first) : fmt::format("steps {} to {} of K", first, last);
  }

  // Steps that are left out, done twice, or done with the data of another step.
  void steps() {
    constexpr int kMost = 64;
    const int n = to_.to.capture.steps, depth = to_.instruction().depth();
    if (n < 2) return;
    const std::string hint = fmt::format("the loop over K: a step of the instruction is {} deep", depth);
    for (int size = 1; size <= 8 && size <= n; size *= 2)
      for (int first = 0; first < n && n / size <= kMost; first += size) {
        const int last = std::min(n, first + size) - 1;
        Run missing = ascending(), twice = missing;
        missing.erase(missing.begin() + first, missing.begin() + last + 1);
        twice.insert(twice.begin() + last + 1, ascending().begin() + first, ascending().begin() + last + 1);
        add_runs({"step_missing", "", steps_text(first, last) + (first == last ? " is" : " are") + " missing",
                  hint, 1},
                 {missing});
        add_runs({"step_twice", "",
                  steps_text(first, last) + (first == last ? " is" : " are") + " summed twice", hint, 1},
                 {twice});
        Run only(ascending().begin() + first, ascending().begin() + last + 1);
        if (first == 0)
          add_runs({"step_missing", "",
                    fmt::format("only {} {} summed", steps_text(first, last), first == last ? "is" : "are"),
                    hint, 1},
                   {only});
        if (first == 0 || last != n - 1) continue;
        for (const bool without_c : {false, true})
          if (!without_c || std::ranges::any_of(to_.matrices.c.codes, [](std::uint64_t x) { return x != 0; }))
            add_runs({"accumulator_cleared", "c",
                      fmt::format("only {} {} in D{}", steps_text(first, last), first == last ? "is" : "are",
                                  without_c ? ", without C" : ""),
                      "the accumulators are cleared in the loop over K", 1},
                     {only}, without_c);
      }
    skipped(n, hint);
    stale(n, hint);
    stages(n, hint);
  }

  // A loop whose step is not the instruction's.
  void skipped(int n, const std::string& hint) {
    for (int stride = 2; stride <= 8 && stride <= n; stride *= 2)
      for (int first = 0; first < stride; ++first) {
        Run run;
        for (int s = first; s < n; s += stride) run.emplace_back(s);
        add_runs({"step_missing", "",
                  fmt::format("of each {} steps of K only number {} is summed", stride, first), hint, 1},
                 {run});
      }
    const int depth = to_.instruction().depth();
    for (const int wrong : {depth / 4, depth / 2, 2 * depth, 4 * depth}) {
      const auto k = [=, all = to_.matrices.depth()](int i) {
        const int at = i / depth * wrong + i % depth;
        return at < all ? at : kZero;
      };
      to_.add({"step_stride", "", fmt::format("the loop over K advances by {} instead of {}", wrong, depth),
               hint, 2},
              {{Part::a,
                [=](int row, int i) {
                  return k(i) < 0 ? From{kZero, 0} : From{row, k(i)};
                }},
               {Part::b, [=](int i, int column) {
                  return k(i) < 0 ? From{kZero, 0} : From{k(i), column};
                }}});
    }
  }

  // The data of another step than the loop is at: stages of a pipeline.
  void stale(int n, const std::string& hint) {
    const int depth = to_.instruction().depth();
    const auto other_step = [&](const std::string& text, auto step) {
      constexpr std::string_view kNames[] = {"", "A", "B", "A and B"};
      const auto k = [=](int i) { return step(i / depth) * depth + i % depth; };
      for (int which = 1; which < 4; ++which) {
        std::vector<WholeMove> moves;
        if (which & 1)
          moves.push_back({Part::a, [=](int row, int i) {
                             return k(i) < 0 ? From{kZero, 0} : From{row, k(i)};
                           }});
        if (which & 2)
          moves.push_back({Part::b, [=](int i, int column) {
                             return k(i) < 0 ? From{kZero, 0} : From{k(i), column};
                           }});
        to_.add({"stale_step", "", fmt::format("{}: {}", kNames[which], text),
                 hint + "; stages, and who waits for whom", 2},
                std::move(moves));
      }
    };
    other_step("each step has the data of the step before, the first its own",
               [](int s) { return std::max(0, s - 1); });
    other_step("each step has the data of the step before, the first has zeros", [](int s) { return s - 1; });
    other_step("each step has the data of the next, the last its own",
               [n](int s) { return std::min(n - 1, s + 1); });
    other_step("all steps have the data of the first", [](int) { return 0; });
    other_step("all steps have the data of the last", [n](int) { return n - 1; });
    constexpr int kMostAhead = 8;
    for (int ahead = 1; ahead < n && ahead <= kMostAhead; ++ahead) {
      const std::string steps = ahead == 1 ? "a step" : fmt::format("{} steps", ahead);
      other_step(
          fmt::format("each step has the data of {} further on, the last ones those of the first", steps),
          [=](int s) { return (s + ahead) % n; });
      if (2 * ahead != n)
        other_step(fmt::format("each step has the data of {} before, the first ones those of the last", steps),
                   [=](int s) { return (s + n - ahead) % n; });
    }
    for (int two = 1; two < n; two *= 2)
      other_step(fmt::format("steps {} apart are exchanged", two),
                 [=](int s) { return (s ^ two) < n ? s ^ two : s; });
  }

  // A stage of a ring is read before its data arrives: it has what it had one time round before.
  void stages(int n, const std::string& hint) {
    constexpr int kMost = 32, kMostInRing = 8;
    for (int size = 1; size <= 8 && size < n; size *= 2)
      for (int ring = 1; ring <= kMostInRing && ring * size < n && n / size <= kMost; ++ring) {
        const std::string text =
            fmt::format("had {} before, {} deep each", ring == 1 ? "one" : std::to_string(ring),
                        size * to_.instruction().depth());
        const int count = (n + size - 1) / size;
        for (int stage = ring; stage < count; ++stage)
          stale_stages(fmt::format("stage {} of K has the data that the stage {}", stage, text), hint, stage,
                       stage, size, ring);
        stale_stages(fmt::format("from stage {} of K on each has the data that the stage {}", ring, text), hint,
                     ring, count - 1, size, ring);
      }
  }
  void stale_stages(const std::string& text, const std::string& hint, int first, int last, int size, int ring) {
    constexpr std::string_view kNames[] = {"", "A", "B", "A and B"};
    constexpr std::string_view kRoles[] = {"", "a", "b", "a b"};
    for (std::size_t which = 1; which < 4; ++which) {
      Run run = ascending();
      for (Step& step : run) {
        const int stage = step.a / size;
        if (stage < first || stage > last) continue;
        step = {step.a - (which & 1 ? ring * size : 0), step.b - (which & 2 ? ring * size : 0)};
      }
      add_runs({"stale_step", std::string(kRoles[which]), fmt::format("{}: {}", kNames[which], text),
                hint + "; stages, and who waits for whom", 2},
               {run});
    }
  }

  // Steps by turns: what is summed is right, the roundings are others. find_order knows the other orders.
  void orders() {
    const Run& steps = ascending();
    const auto n = to_.to.capture.steps;
    for (const int parts : {2, 3, 4, 5, 6, 7, 8, 16, 32}) {
      if (parts >= n) break;
      Run by_turns;
      for (int first = 0; first < parts; ++first)
        for (int s = first; s < n; s += parts) by_turns.push_back(steps[static_cast<std::size_t>(s)]);
      add_runs({"k_order", "d",
                fmt::format("the sum has another order along K: first each {}. step, then the ones behind them",
                            parts),
                "the order is no mistake, but the bits follow from it", 2},
               {by_turns});
    }
  }

  // The accumulators begin with what the kernel had in D for another block.
  void accumulators() {
    const Codes& d = to_.matrices.d;
    const auto kept = [&](const std::string& text, int height, int width, bool along_rows) {
      Hypothesis& h =
          to_.to.add({"accumulator_not_cleared", "c", "the accumulators begin with " + text + ", not with C",
                      "where the accumulators are cleared", 2});
      h.inputs = [&d, &c = to_.matrices.c, &fragment = to_.to.fragment(Part::c), height, width,
                  along_rows](Trial& t) {
        const int across = (d.columns + width - 1) / width, down = (d.rows + height - 1) / height;
        *array_of(t.capture, Part::c) = tiles_of(t.capture, fragment, [&](int row, int column) {
          int i = row / height, j = column / width;
          const int before = (along_rows ? i * across + j : j * down + i) - 1;
          if (before < 0) return c.at(row, column);
          i = along_rows ? before / across : before % down;
          j = along_rows ? before % across : before / down;
          return d.at(i * height + row % height, j * width + column % width);
        });
      };
    };
    for (int height = 8; height <= 128; height *= 2)
      for (int width = 8; width <= 128; width *= 2)
        for (const bool along_rows : {true, false})
          if (height < d.rows || width < d.columns)
            kept(fmt::format("D of the block of {} x {} before, {}", height, width,
                             along_rows ? "row by row" : "column by column"),
                 height, width, along_rows);
  }

  MatrixCollection& to_;
  std::set<std::pair<std::vector<Run>, bool>> runs_;
};

}  // namespace

void collect_steps(MatrixCollection& to) {
  StepCollection(to).run();
}

}  // namespace warpbit::diagnosis
