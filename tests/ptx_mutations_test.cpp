// SPDX-License-Identifier: Apache-2.0
// Recorded kernels with one mistake each, at a random place: another register, another offset, another mask, or a barrier
// less. Each is a fault, or changes the output, or is shown to change nothing: it is not executed, or what it computes
// is the same (on other inputs, too), or the checks find that every access is ordered without the barrier.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <regex>
#include <sstream>

#include "recorded_launch.hpp"

namespace ptx_mutations_test {

using namespace recorded_launch;

constexpr int kOfEach = 12;

// Kernels that finish soon, of every kind.
constexpr std::array kKernels = {"attention",      "divergence",  "floats",    "gemm_f64",   "gemm_int8",
                                 "gemm_mma",       "gemm_sparse", "gemm_tf32", "gemm_wgmma", "gemm_wmma",
                                 "halves",         "histogram",   "integers",  "layernorm",  "memory",
                                 "mandelbrot_f32", "reduction",   "scan",      "sort",       "transpose"};

struct Mutant {
  std::string text, what;
  int line = 0;
  bool is_barrier = false;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// Instructions of the body that a mutation may change.
bool is_instruction(const std::string& line) {
  static const std::regex pattern(R"(^\s*(@!?%p\d+ +)?[a-z]+[\w.:]*\s+[^:]*;\s*$)");
  return std::regex_match(line, pattern) && line.find(".reg") == std::string::npos &&
         line.find(".param") == std::string::npos;
}

/// A line with one mistake, or nothing if it has no place for one.
std::string mistaken(const std::string& line, std::mt19937_64& random) {
  static const std::regex number(R"((%(?:rd|rs|r|f|fd|p))(\d+))");
  static const std::regex offset(R"(\[(%\w+)(\+-?\d+)?\])");
  static const std::regex mask(R"(, (-1|31)(?=[,;]))");
  static const std::regex barrier(R"(^\s*(bar\.(warp\.)?sync|cp\.async\.wait))");
  if (std::regex_search(line, barrier)) return "// " + line;
  std::vector<std::string> found;
  std::smatch match;
  if (std::regex_search(line, match, offset)) {
    const int before = match[2].matched ? std::stoi(match[2].str().substr(1)) : 0;
    for (const int by : {4, -4, 64, 1 << 20})
      found.push_back(match.prefix().str() + fmt::format("[{}+{}]", match[1].str(), before + by) +
                      match.suffix().str());
  }
  if (std::regex_search(line, match, mask))
    found.push_back(match.prefix().str() + ", 7" + match.suffix().str());
  // The last register of the line is a source.
  std::string::const_iterator at = line.begin();
  std::smatch last;
  while (std::regex_search(at, line.end(), match, number)) {
    last = match;
    at = match[0].second;
  }
  if (at != line.begin()) {
    const auto first = static_cast<std::size_t>(last[2].first - line.begin());
    const int n = std::stoi(last[2].str());
    for (const int by : {1, -1, 2})
      if (n + by > 0)
        found.push_back(line.substr(0, first) + std::to_string(n + by) +
                        std::string(last[2].second, line.end()));
  }
  return found.empty() ? "" : found[random() % found.size()];
}

std::vector<Mutant> mutants(const std::string& text, std::mt19937_64& random) {
  std::vector<std::string> lines = lines_of(text);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (is_instruction(lines[i])) places.push_back(i);
  REQUIRE(places.size() > 10);
  std::vector<Mutant> out;
  for (int tries = 0; out.size() < kOfEach && tries < 50 * kOfEach; ++tries) {
    const std::size_t i = places[random() % places.size()];
    const std::string wrong = mistaken(lines[i], random);
    if (wrong.empty() || wrong == lines[i]) continue;
    std::string all;
    for (std::size_t k = 0; k < lines.size(); ++k) all += (k == i ? wrong : lines[k]) + "\n";
    out.push_back(
        {std::move(all), lines[i] + " -> " + wrong, static_cast<int>(i) + 1, wrong.starts_with("//")});
  }
  return out;
}

struct Outcome {
  bool refused = false;
  ptx::Report report = {};
  Parts memory = {};
};

Outcome run(const std::string& text, const GoldenLaunch& recorded, Parts memory, std::uint64_t limit) {
  Outcome out;
  const Result<ptx::Module> module = ptx::Module::load(text, *Target::find("sm_90a"));
  out.refused = !module;
  if (out.refused) return out;
  const Result<ptx::Function> function = module->function(recorded.entry());
  out.refused = !function;
  if (out.refused) return out;
  ptx::Launch how = recorded.shape();
  how.step_limit = limit;
  how.profile = true;
  out.report = recorded.launch(*function, how, memory);
  out.memory = std::move(memory);
  return out;
}

// Other inputs: the elements in another order.
Parts permuted(Parts memory, std::uint64_t seed) {
  for (Bytes& bytes : memory) {
    if (bytes.size() % 8 != 0) continue;
    std::mt19937_64 random(seed);
    for (std::size_t i = bytes.size() / 8; i > 1; --i) {
      const std::size_t j = random() % i;
      std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(8 * (i - 1)),
                       bytes.begin() + static_cast<std::ptrdiff_t>(8 * i),
                       bytes.begin() + static_cast<std::ptrdiff_t>(8 * j));
    }
  }
  return memory;
}

struct Counts {
  int refused = 0, faults = 0, changed = 0, not_executed = 0, ordered = 0, same = 0;
};

// The original and the mutant on one set of inputs: whether the mutant shows.
bool shows(const std::string& right, const Mutant& mutant, const GoldenLaunch& recorded, const Parts& inputs,
           Counts& counts) {
  const Outcome original = run(right, recorded, inputs, 0);
  const Outcome wrong = run(mutant.text, recorded, inputs, 100 * (original.report.steps + 1000));
  if (wrong.refused) return ++counts.refused, true;
  if (wrong.report.fault && !original.report.fault) return ++counts.faults, true;
  if (wrong.memory != original.memory) return ++counts.changed, true;
  return false;
}

TEST_CASE("a mistake at a random place shows, or is shown to change nothing") {
  std::mt19937_64 random(20261125);
  Counts counts;
  std::string unchanged;
  for (const char* kernel : kKernels) {
    INFO(kernel);
    const GoldenLaunch recorded = GoldenLaunch::golden(kernel);
    const std::string text = recorded.text();
    const Parts& memory = recorded.before();
    const Outcome right = run(text, recorded, memory, 0);
    REQUIRE_FALSE(right.refused);
    REQUIRE_FALSE(right.report.fault);
    for (const Mutant& mutant : mutants(text, random)) {
      INFO(mutant.what);
      if (shows(text, mutant, recorded, memory, counts)) continue;
      const bool executed = std::ranges::any_of(
          right.report.profile, [&](const ptx::LineCounts& one) { return one.line == mutant.line; });
      if (!executed) {
        ++counts.not_executed;
      } else if (mutant.is_barrier) {
        ++counts.ordered;  // no fault: every pair of accesses is ordered without it
      } else if (!shows(text, mutant, recorded, permuted(memory, 1), counts) &&
                 !shows(text, mutant, recorded, permuted(memory, 2), counts)) {
        ++counts.same;
        unchanged += fmt::format("  {}: {}\n", kernel, mutant.what);
      }
    }
  }
  const int all =
      counts.refused + counts.faults + counts.changed + counts.not_executed + counts.ordered + counts.same;
  fmt::print(
      "{} mistakes in {} kernels: {} refused, {} faults, {} change the output, {} not executed, {} barriers that order "
      "nothing, {} with the same results on three inputs:\n{}",
      all, kKernels.size(), counts.refused, counts.faults, counts.changed, counts.not_executed, counts.ordered,
      counts.same, unchanged);
  CHECK(all == static_cast<int>(kKernels.size()) * kOfEach);
  CHECK(counts.faults > all / 4);
  CHECK(counts.same < all / 10);
}

}  // namespace ptx_mutations_test
