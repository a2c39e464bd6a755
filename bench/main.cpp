// SPDX-License-Identifier: Apache-2.0
// warpbit-bench: how long the instructions of some families take, beside the plain products of the same shapes,
// in one run. No test is timed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "report.hpp"
#include "work.hpp"

namespace {

using namespace bench;

struct Options {
  std::string rows = ".*", json;
  bool quick = false;
};

void measure_work(benchmark::State& state, const Work& work) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(work.run().ok());
    benchmark::ClobberMemory();
  }
}

void measure_product(benchmark::State& state, Multiply multiply, Tiles& tiles) {
  void* data = tiles.data();
  for (auto _ : state) {
    benchmark::DoNotOptimize(data);
    multiply(data, tiles.count());
    benchmark::ClobberMemory();
  }
}

void measure_square(benchmark::State& state, MultiplySquare by, Square& matrices, int threads) {
  for (auto _ : state) {
    matrices.multiply(by, threads);
    benchmark::ClobberMemory();
  }
}

// What the selected rows need, each plain product once.
class Suite {
 public:
  Suite(const Plain& plain, int threads) : plain_(plain), threads_(threads) {}

  void add(const Row& row) {
    Entry& entry = entries_.emplace_back(Entry{.row = &row});
    entry.error = fill(entry);
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  // An error as text, empty if there is none. One of the work shows in its first run: all others are the same.
  std::string fill(Entry& entry) {
    const Row& row = *entry.row;
    const bool is_gemm = row.kind == Kind::gemm;
    const int other_threads = is_gemm ? 1 : threads_;
    const warpbit::Result<Work> work = make_work(row, row.threads);
    if (!work) return work.error().message();
    const warpbit::Result<std::string_view> kernel = work->run();
    if (!kernel) return kernel.error().message();
    entry.kernel = *kernel;
    entry.shape = work->shape;
    entry.measured = name(row);
    entry.tiles = add_work(entry.measured, *work, is_gemm || row.threads > 1);
    if (!entry.shape) return "";
    if (work->gemm) {
      entry.by_gemm = entry.measured + ", by gemm()";
      add_work(entry.by_gemm, {1, {}, work->gemm}, row.threads > 1);
      return "";
    }
    if (!is_gemm || row.threads > 1) {
      const warpbit::Result<Work> other = make_work(row, other_threads);
      if (!other) return other.error().message();
      entry.other = entry.measured + (is_gemm ? ", on one" : ", all threads");
      entry.tiles_of_other = add_work(entry.other, *other, is_gemm || other_threads > 1);
    }
    if (is_gemm)
      add_square(entry);
    else if (!add_product(entry))
      return fmt::format("plain.cpp lacks {}", name(*entry.shape));
    return "";
  }

  // The tiles of a run. Several threads are measured by the clock, and so are all of Kind::gemm, with one thread too.
  static double add_work(const std::string& name, const Work& work, bool by_clock) {
    benchmark::internal::Benchmark* added = benchmark::RegisterBenchmark(name.c_str(), measure_work, work);
    if (by_clock) added->UseRealTime();
    return static_cast<double>(work.tiles);
  }

  void add_square(Entry& entry) {
    const int threads = entry.row->threads;
    entry.by_eigen = fmt::format("{}, by Eigen, threads: {}", name(*entry.shape), threads);
    const auto matrices = std::make_shared<Square>(entry.shape->m);
    auto* added = benchmark::RegisterBenchmark(
        entry.by_eigen.c_str(),
        [=, by = plain_.square](benchmark::State& state) { measure_square(state, by, *matrices, threads); });
    added->UseRealTime();
  }

  // False if there is no such product.
  bool add_product(Entry& entry) {
    const auto product = std::ranges::find(plain_.products, *entry.shape, &Product::shape);
    if (product == plain_.products.end()) return false;
    entry.by_hand = name(*entry.shape) + ", by hand";
    entry.by_eigen = name(*entry.shape) + ", by Eigen";
    const auto data = std::make_shared<Tiles>(product->shape);
    entry.tiles_of_product = static_cast<double>(data->count());
    if (!products_.insert(entry.by_hand).second) return true;
    const auto add = [&](const std::string& name, Multiply multiply) {
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { measure_product(state, multiply, *data); });
    };
    add(entry.by_hand, product->by_hand);
    add(entry.by_eigen, product->by_eigen);
    return true;
  }

  Plain plain_;
  int threads_;
  std::vector<Entry> entries_;
  std::set<std::string> products_;
};

// Google Benchmark keeps the pointer to the program's name.
void initialize(char* program, bool quick) {
  std::string interleave = "--benchmark_enable_random_interleaving=true",
              repetitions = quick ? "--benchmark_repetitions=3" : "--benchmark_repetitions=5",
              seconds = quick ? "--benchmark_min_time=0.01" : "--benchmark_min_time=0.1";
  std::array arguments{program, interleave.data(), repetitions.data(), seconds.data()};
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
}

int fail(const std::string& message) {
  fmt::print(stderr, "warpbit-bench: {}\n", message);
  return 2;
}

int run(const Options& options, char* program) {
  const warpbit::Result<warpbit::Kernel> kernel = warpbit::chosen_kernel();
  if (!kernel) return fail(kernel.error().message());
  const Plain products = plain(*kernel);
  const int threads = omp_get_max_threads();
  Suite suite(products, threads);
  const std::regex wanted(options.rows);
  for (const Row& row : rows())
    if (std::regex_search(name(row), wanted)) suite.add(row);
  if (suite.entries().empty()) return fail(fmt::format("no row matches '{}'", options.rows));

  initialize(program, options.quick);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  std::vector<Line> lines;
  for (const Entry& entry : suite.entries()) lines.push_back(line(entry, collector.samples()));
  fmt::print("{}", table(lines, products.extension, threads));
  if (!options.json.empty() &&
      !(std::ofstream(options.json) << with_rows(collector.json(), lines, products.extension)).flush())
    return fail(options.json + " cannot be written");
  return std::ranges::all_of(lines, &std::string::empty, &Line::error) ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times instructions beside plain products of the same shapes.");
  app.add_option("rows", options.rows, "a regular expression: rows whose name has a match")
      ->check([](const std::string& text) -> std::string {
        try {
          const std::regex tried(text);
        } catch (const std::regex_error& error) {
          return error.what();
        }
        return "";
      });
  app.add_flag("--quick", options.quick, "shorter and fewer runs");
  app.add_option("--json", options.json, "a file for everything that was measured");
  CLI11_PARSE(app, argc, argv);
  return run(options, argv[0]);
}
