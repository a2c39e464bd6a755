// SPDX-License-Identifier: Apache-2.0
// From timed runs to one table and one JSON file.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "products.hpp"
#include "rows.hpp"

namespace bench {

/// By the name of the benchmark: ns of a run in each repetition, of the processor or, where the benchmark asks
/// for that, of the clock.
using Samples = std::map<std::string, std::vector<double>>;

/// Gathers the samples, and what Google Benchmark writes as JSON.
class Collector : public benchmark::BenchmarkReporter {
 public:
  Collector();
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override { json_.Finalize(); }

  const Samples& samples() const { return samples_; }
  std::string json() const { return text_.str(); }

 private:
  Samples samples_;
  std::ostringstream text_;
  benchmark::JSONReporter json_;
};

/// A row, which kernel computes it or why none does, and the names of its benchmarks.
struct Entry {
  const Row* row = nullptr;
  std::string kernel = {}, error = {};
  std::optional<Shape> shape = {};
  std::string measured = {},
              other = {};  ///< other: on all threads; of Kind::gemm on one, if Row::threads are more
  double tiles = 1, tiles_of_other = 1;  ///< of a run
  std::string by_hand = {}, by_eigen = {}, by_gemm = {};
  double tiles_of_product = 1;
};

/// A line of the table. What is absent does not apply.
struct Line {
  std::string work = {}, kernel = {}, error = {};
  double ns = 0;                                                               ///< a tile
  std::optional<double> rate = {}, by_hand = {}, by_eigen = {}, by_gemm = {};  ///< multiplications a ns
  std::optional<double> by_ordinary = {};  ///< times of the same work on ordinary values
  std::optional<double> ratio = {}, ratio_all_threads =
                                        {};  ///< of times: to the faster plain product on one thread, or gemm()
  std::optional<double> speedup = {};        ///< over one thread
  std::optional<double> limit = {}, speedup_limit = {};
  bool within = true;  ///< the limits

  double plain() const { return std::max({by_hand.value_or(0), by_eigen.value_or(0), by_gemm.value_or(0)}); }
};

Line line(const Entry& entry, const Samples& samples);

/// One line each, under a heading.
std::string table(const std::vector<Line>& lines, std::string_view extension, int threads);
/// Google Benchmark's JSON with an array `rows` added.
std::string with_rows(const std::string& json, const std::vector<Line>& lines, std::string_view extension);

}  // namespace bench
