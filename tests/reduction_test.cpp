// SPDX-License-Identifier: Apache-2.0
// Orders of reductions: sums by hand in each of them, their words, and what is found again of results of a GPU
// (golden/reductions) and of sums that are made here.
#include "warpbit/reduction.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "golden_records.hpp"

namespace reduction_test {

using namespace warpbit;
using Catch::Contains;
using Codes = std::vector<std::uint64_t>;

Codes codes(const std::vector<float>& of) {
  Codes out;
  for (const float one : of) out.push_back(std::bit_cast<std::uint32_t>(one));
  return out;
}
float number(std::uint64_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code));
}
ReductionOrder order(const std::string& words) {
  return ReductionOrder::parse(words).value();
}
ReductionProblem problem(Reduction reduction, const Codes& x, std::size_t columns) {
  return {reduction, x.size() / columns, columns, "f32", "f32", x};
}

// 2^30 swallows ones: what is left says which ones met it after -2^30 had.
constexpr float kBig = 1 << 30;
struct ByHand {
  std::string words;
  std::vector<float> x;
  float sum;
};
const std::vector<ByHand> kByHand = {
    // ((((B+1)+1)-B)+1)+1
    {"threads=1", {kBig, 1, 1, -kBig, 1, 1}, 2},
    // threads 0 to 3 have B, 1, 1, -B: (B+1)+(1-B)
    {"threads=4", {kBig, 1, 1, -kBig}, 0},
    {"threads=4 lanes=pairs", {kBig, 1, -kBig, 1}, 0},
    {"threads=4 lanes=pairs", {kBig, -kBig, 1, 1}, 2},
    {"threads=4", {kBig, 1, -kBig, 1}, 2},
    // thread 0 has values 0, 1, 4, 5, thread 1 the others
    {"threads=2 vector=2", {kBig, -kBig, 1, 1, 1, 1, 1, 1}, 6},
    {"threads=2 vector=2", {kBig, 1, 1, 1, -kBig, 1, 1, 1}, 5},
    // each: (B-B) + (1+1)
    {"threads=2 vector=2 accumulators=each", {kBig, 1, 1, 1, -kBig, 1, 1, 1}, 6},
    // step: (B+1) + (-B+1)
    {"threads=2 vector=2 accumulators=step", {kBig, 1, 1, 1, -kBig, 1, 1, 1}, 4},
    // four to a thread: (0+1)+(2+3), and ((0+1)+2)+3
    {"vector=4 accumulators=each:pairs", {kBig, 1, 1, -kBig}, 0},
    {"vector=4 accumulators=each", {kBig, -kBig, 1, 1}, 2},
    {"vector=4 accumulators=step:pairs", {1, 1, kBig, -kBig}, 2},
    {"vector=4 accumulators=step", {1, 1, kBig, -kBig}, 0},
    // thread 0 has vectors 0 and 2 of a step
    {"threads=2 vector=1 unroll=2 accumulators=each", {kBig, 1, -kBig, 1}, 2},
    // two blocks: runs of three, and by turns
    {"blocks=2", {kBig, 1, -kBig, 1, 1, 1}, 3},
    {"blocks=2 spread=turns", {kBig, 1, -kBig, 1, 1, 1}, 4},
    {"blocks=2 spread=turns threads=2", {kBig, 1, 1, 1, -kBig, 1, 1, 1}, 6},
    {"blocks=4 merge_order=ascending", {kBig, -kBig, 1, 1}, 2},
    {"blocks=4 merge_order=pairs", {kBig, 1, -kBig, 1}, 0},
    {"blocks=4", {kBig, 1, -kBig, 1}, 2},
    // blocks 0, 2 and 4 go to one thread
    {"blocks=6 merge_threads=2", {kBig, 1, -kBig, 1, 1, 1}, 4},
    // (B+1+1)+(-B+1+1)
    {"loop=3", {kBig, 1, 1, -kBig, 1, 1}, 0},
    {"loop=4", {kBig, 1, 1, -kBig, 1, 1}, 2},
};

TEST_CASE("sums by hand") {
  for (const ByHand& one : kByHand) {
    INFO(one.words);
    const Codes x = codes(one.x);
    const Result<Codes> got = reduce(problem(Reduction::sum, x, x.size()), order(one.words));
    REQUIRE(got);
    REQUIRE(got->size() == 1);
    CHECK(number(got->front()) == one.sum);
  }
}

// 64 threads: two groups of 32. The values that matter are those of threads 0, 1, 31, 32 and 33.
TEST_CASE("threads beyond 32") {
  const auto sum = [](const std::string& words, std::initializer_list<std::pair<std::size_t, float>> values) {
    std::vector<float> x(64);
    for (const auto& [at, value] : values) x[at] = value;
    const Codes of = codes(x);
    return number(reduce(problem(Reduction::sum, of, 64), order(words)).value().front());
  };
  // The group first: -B meets the one of its own group, or B.
  CHECK(sum("threads=64", {{0, kBig}, {1, 1}, {32, -kBig}, {33, 1}}) == 0);
  CHECK(sum("threads=64 shared", {{0, kBig}, {1, 1}, {32, -kBig}, {33, 1}}) == 2);
  // Of three groups the last one comes last, or meets the first.
  const auto three = [&](const std::string& words) {
    std::vector<float> x(96);
    x[0] = kBig, x[32] = 1, x[64] = -kBig;
    const Codes of = codes(x);
    return number(reduce(problem(Reduction::sum, of, 96), order(words)).value().front());
  };
  CHECK(three("threads=96 warps=ascending") == 0);
  CHECK(three("threads=96 warps=pairs") == 0);
  CHECK(three("threads=96") == 1);
}

TEST_CASE("what becomes of the sum") {
  const Codes x = codes({1, 2, 2, 4});
  const auto of = [&](Reduction reduction, const std::string& words) {
    return reduce(problem(reduction, x, 4), order(words)).value();
  };
  CHECK(of(Reduction::mean, "") == codes({2.25F}));
  CHECK(of(Reduction::norm, "") == codes({5}));
  CHECK(of(Reduction::norm, "fused") == codes({5}));
  // 1/3 is rounded: 3 (1/3) is not 1 in every rounding, and 0.1 * (1/3) is another number than 0.1 / 3.
  const Codes tenth = codes({0.1F, 0, 0});
  const ReductionProblem thirds = problem(Reduction::mean, tenth, 3);
  CHECK(reduce(thirds, order("")).value() == codes({0.1F / 3.0F}));
  CHECK(reduce(thirds, order("function=reciprocal")).value() == codes({0.1F * (1.0F / 3.0F)}));
  // exp(0) is 1, whatever approximates it.
  const Codes same = codes({3, 3, 3, 3});
  for (const char* words : {"function=expf", "function=ex2", "function=ex2:full", "function=expf:reciprocal"})
    CHECK(reduce(problem(Reduction::softmax, same, 4), order(words)).value() ==
          codes({0.25F, 0.25F, 0.25F, 0.25F}));
}

TEST_CASE("squares that are not rounded before they are added") {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: a tie that goes to even if it is rounded, and is not with -1 behind it.
  const float x = 1 + std::ldexp(1.0F, -12);
  const Codes of = codes({1, x});
  ReductionProblem two = problem(Reduction::norm, of, 2);
  const float rounded = x * x, sum = 1 + rounded, fused = std::fma(x, x, 1.0F);
  CHECK(reduce(two, order("")).value() == codes({std::sqrt(sum)}));
  CHECK(reduce(two, order("fused")).value() == codes({std::sqrt(fused)}));
}

TEST_CASE("means and variances by Welford") {
  const Codes x = codes({1, 3, 5, 7, 1, 3, 5, 7});  // mean 4, variance 5
  ReductionProblem rows = problem(Reduction::layer_norm, x, 4);
  rows.epsilon = 11;  // 1 / sqrt(16)
  for (const char* words :
       {"", "threads=2", "threads=4", "threads=4 lanes=pairs", "vector=4 accumulators=each", "blocks=2"})
    CHECK(reduce(rows, order(words)).value() ==
          codes({-0.75F, -0.25F, 0.25F, 0.75F, -0.75F, -0.25F, 0.25F, 0.75F}));
}

// Equal scores: each exponential is 1, and a sum of products is one of v.
struct AttentionByHand {
  std::string words;
  std::vector<float> v;
  float d;
};
const std::vector<AttentionByHand> kAttention = {
    // one thread: ((B+1)-B)+1
    {"threads=32 value_lanes=1 online function=ex2", {kBig, 1, -kBig, 1}, 0.25F},
    // four of them: (B-B)+(1+1), and neighbours first
    {"threads=32 value_lanes=4 online function=ex2", {kBig, 1, -kBig, 1}, 0.5F},
    {"threads=32 value_lanes=4 lanes=pairs online function=ex2", {kBig, 1, -kBig, 1}, 0},
    // two of each of two groups of 32: (B-B)+(1+1) in groups first
    {"threads=64 value_lanes=2 online function=ex2", {kBig, -kBig, 1, 1}, 0.5F},
    {"threads=64 value_lanes=2 online function=ex2", {kBig, 1, -kBig, 1}, 0},
    // two at a time: (B-B)+(1+1), and (B+1)+(1-B)
    {"loop=2 threads=32 value_lanes=1 online function=expf", {kBig, -kBig, 1, 1}, 0.5F},
    {"loop=2 threads=32 value_lanes=1 online function=expf", {kBig, 1, -kBig, 1}, 0},
    // blocks leave the means 0 and 1
    {"blocks=2 threads=32 value_lanes=1 online function=ex2:full", {kBig, -kBig, 1, 1}, 0.5F},
    // and B/2, -B/2 and 2, one after the other, or the first and the last one together
    {"blocks=3 threads=32 value_lanes=1 merge_order=ascending online function=ex2",
     {kBig, 0, -kBig, 0, 2, 2},
     2.0F / 3},
    {"blocks=3 threads=32 value_lanes=1 merge_order=halves online function=ex2", {kBig, 0, -kBig, 0, 2, 2}, 0},
};

TEST_CASE("attention by hand") {
  for (const AttentionByHand& one : kAttention) {
    INFO(one.words);
    const Codes x(one.v.size(), 0x40400000), v = codes(one.v);
    ReductionProblem rows = problem(Reduction::attention, x, x.size());
    rows.v = v;
    rows.v_columns = 1;
    CHECK(reduce(rows, order(one.words)).value() == codes({one.d}));
    CHECK(order(order(one.words).text()) == order(one.words));
  }
  // exp(-200) is 0: what comes before the greatest score is forgotten, and what comes behind adds nothing.
  const Codes x = codes({0, 200, 0, 0}), v = codes({5, 7, 9, 11, 2, 4, 6, 8});
  ReductionProblem rows = problem(Reduction::attention, x, 4);
  rows.v = v;
  rows.v_columns = 2;
  CHECK(reduce(rows, order("loop=1 threads=32 value_lanes=8 online function=ex2:full")).value() ==
        codes({9, 11}));
}

TEST_CASE("logarithms of sums by hand") {
  // log(4) is twice log(2) as f32 has it.
  const Codes x = codes({3, 3, 3, 3});
  const float log4 = 2 * 0.693147182F;
  for (const char* words :
       {"function=expf", "threads=4 function=ex2", "loop=1 online function=ex2", "loop=2 online function=expf"})
    CHECK(reduce(problem(Reduction::logsumexp, x, 4), order(words)).value() == codes({log4 + 3}));
  CHECK(reduce(problem(Reduction::log_softmax, x, 4), order("function=expf")).value() ==
        codes({-log4, -log4, -log4, -log4}));
  // Of bf16: log(4) is 1.3828125, and 4.3828125 is rounded to 4.375.
  const Codes of16(4, 0x4040);
  ReductionProblem steps{Reduction::logsumexp, 1, 4, "bf16", "bf16", of16};
  CHECK(reduce(steps, order("function=expf:steps")).value() == Codes{0x408C});
}

TEST_CASE("words of online orders that do not fit are refused") {
  const Codes x = codes({1, 2, 3, 4}), v = codes({1, 2, 3, 4});
  ReductionProblem rows = problem(Reduction::attention, x, 4);
  CHECK_FALSE(reduce(rows, order("threads=32 value_lanes=8 online function=ex2")));  // no v
  rows.v = v;
  rows.v_columns = 1;
  CHECK(reduce(rows, order("threads=32 value_lanes=8 online function=ex2")));
  CHECK_FALSE(reduce(rows, order("threads=32 online function=ex2")));
  CHECK_FALSE(reduce(rows, order("threads=32 function=ex2")));
  CHECK_FALSE(reduce(problem(Reduction::softmax, x, 4), order("online function=ex2")));
  CHECK_FALSE(reduce(problem(Reduction::logsumexp, x, 4), order("online function=expf:steps")));
  for (const char* words :
       {"value_lanes=8", "threads=32 value_lanes=3 online", "threads=16 value_lanes=8 online",
        "online spread=turns", "online blocks=4 merge_threads=2", "value_lanes=64"})
    CHECK_FALSE(ReductionOrder::parse(words));
}

TEST_CASE("of large arrays the first rows are compared", "[once]") {
  const std::size_t columns = std::size_t{1} << 19;
  const Codes x(3 * columns, 0x3F800000), d = codes({524288, 524288, 0});
  ReductionProblem rows = problem(Reduction::sum, x, columns);
  rows.d = d;
  const ReductionSearch search = find_reduction_order(rows, {{}, 1e7}).value();
  CHECK(search.rows == 2);
  CHECK(search.all_rows == 3);
  CHECK_THAT(search.text(), Contains("the first 2 of 3 rows"));
}

TEST_CASE("words are read as they are written") {
  for (const ByHand& one : kByHand) CHECK(order(order(one.words).text()) == order(one.words));
  for (const char* words : {"threads=512 vector=4 accumulators=each shared",
                            "threads=256 lanes=pairs warps=ascending", "threads=128 fused function=reciprocal"})
    CHECK(order(words).text() == words);
  for (const auto& [words, says] :
       std::vector<std::pair<std::string, std::string>>{{"thread=4", "words of blocks=, spread="},
                                                        {"threads=0", "threads= with a number from 1 to 1024"},
                                                        {"threads=x", "threads= with"},
                                                        {"lanes=ascending", "lanes= with pairs, halves"},
                                                        {"accumulators=both", "accumulators= with one, each"},
                                                        {"half", "words of"},
                                                        {"threads=99999999999", "threads= with"},
                                                        {"threads=1025", "from 1 to 1024"},
                                                        {"=5", "words of"}}) {
    const Result<ReductionOrder> got = ReductionOrder::parse(words);
    REQUIRE_FALSE(got);
    CHECK_THAT(got.error().message(), Contains(says) && Contains(words));
  }
}

TEST_CASE("what does not fit is refused") {
  const Codes x = codes({1, 2, 3, 4}), d = codes({3, 7});
  ReductionProblem good = problem(Reduction::sum, x, 2);
  good.d = d;
  REQUIRE(find_reduction_order(good));
  const auto refused = [&](const std::string& says, const auto& change) {
    ReductionProblem bad = good;
    change(bad);
    const Result<ReductionSearch> got = find_reduction_order(bad);
    REQUIRE_FALSE(got);
    CHECK_THAT(got.error().message(), Contains(says));
  };
  refused("f16, bf16, f32 or f64", [](ReductionProblem& p) { p.x_format = "e4m3"; });
  refused("4 values of x", [](ReductionProblem& p) { p.columns = 3; });
  refused("one for each row", [](ReductionProblem& p) { p.d = p.d.first(1); });
  refused("as many as x has", [](ReductionProblem& p) { p.reduction = Reduction::softmax; });
  refused("an array without values", [](ReductionProblem& p) { p.rows = 0; });
  CHECK_FALSE(reduce(good, order("function=expf")));
  CHECK_FALSE(reduce(good, order("fused")));
  for (const int threads : {0, -1, 1 << 20}) {
    ReductionOrder wrong;
    wrong.threads = threads;
    CHECK_FALSE(reduce(good, wrong));
    CHECK_FALSE(find_reduction_order(good, {{threads == 0 ? -5 : threads, 0}}));
  }
  CHECK_FALSE(ReductionOrder::parse("loop=64 threads=32 blocks=2 spread=turns"));
  CHECK_FALSE(ReductionOrder::parse("blocks=65536 threads=1024"));
  refused("4294967296 x 4294967296",
          [](ReductionProblem& p) { p.rows = p.columns = std::size_t{1} << 32, p.x = {}; });
  CHECK_FALSE(find_reduction("product"));
}

// Numbers of both signs, from 2^-15 to 2, whose sums are rounded.
Codes some(std::size_t count) {
  Codes out;
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    out.push_back((0x38000000 + (state >> 5 & 0x07FFFFFF)) | (state << 3 & 0x80000000));
  }
  return out;
}

TEST_CASE("an order that made a sum is in the answer", "[once]") {
  constexpr std::size_t kRows = 40, kColumns = 700;
  const Codes x = some(kRows * kColumns);
  for (const char* words : {"threads=1", "threads=128 vector=4", "threads=64 vector=4 accumulators=each shared",
                            "threads=256 lanes=pairs warps=ascending",
                            "blocks=7 threads=32 unroll=4 accumulators=each", "loop=256 threads=64 vector=4",
                            "blocks=20 threads=4 unroll=4 merge_threads=4 spread=turns accumulators=each"}) {
    INFO(words);
    ReductionProblem one = problem(Reduction::sum, x, kColumns);
    const Codes d = reduce(one, order(words)).value();
    one.d = d;
    const ReductionSearch search = find_reduction_order(one).value();
    CHECK(search.complete);
    REQUIRE(search.classes.size() == 1);
    CHECK(search.more_classes == 0);
    CHECK(std::ranges::find(search.classes[0].orders, order(words)) != search.classes[0].orders.end());
    for (const ReductionOrder& same : search.classes[0].orders) CHECK(reduce(one, same).value() == d);
  }
}

TEST_CASE("nothing is said to explain what nothing does") {
  const Codes x = some(8 * 100);
  ReductionProblem one = problem(Reduction::sum, x, 100);
  Codes d = reduce(one, order("threads=32")).value();
  d.back() ^= 1;
  one.d = d;
  const ReductionSearch search = find_reduction_order(one).value();
  CHECK(search.classes.empty());
  CHECK(search.nearest_rows == 7);
  CHECK_THAT(search.text(), Contains("none of") && Contains("explains the first 7"));
}

// ---- Results of an H200

void check_recording(const std::filesystem::path& path, std::size_t with_order, std::size_t without_order) {
  std::size_t equal = 0, without = 0;
  for (const FileReport& one : verify_all(find_verifiable(std::span(&path, 1)))) {
    INFO(one.record);
    CHECK(one.mismatches == 0);
    if (one.status == FileStatus::not_reproducible)
      ++without;
    else if (one.status == FileStatus::replayed && one.elements > 0)
      ++equal;
  }
  CHECK(equal == with_order);
  CHECK(without == without_order);
}

TEST_CASE("recorded reductions come out bit for bit", "[once]") {
  check_recording("golden/reductions/sm_90a.zip", 101, 3);
  check_recording("golden/reductions/sm_90a_logs.zip", 20, 0);
  check_recording("golden/reductions/sm_90a_nccl.zip", 82, 0);
  check_recording("golden/reductions/sm_90a_scans.zip", 6, 0);
}

// Of many rows of f32 one order explains all, and it is the kernel's: threads are those of the launch, and loops are known.
const std::vector<std::pair<std::string, std::string>> kFound = {
    {"torch.sum.f32.64x1000", "threads=32 vector=4 accumulators=each"},
    {"torch.sum.f32.1000x64.axis0", "threads=8 unroll=4 accumulators=each"},
    {"torch.mean.f32.64x1000", "threads=32 vector=4 accumulators=each function=reciprocal"},
    {"torch.norm.f32.64x1000", "threads=32 vector=4 accumulators=each fused"},
    {"torch.softmax.f32.64x100", "threads=32 function=expf"},
    {"torch.layer_norm.f32.16x1000", "threads=128 vector=4"},
    {"triton.tile4.w4.f32.32x500", "threads=128"},
    {"cupy.sum.f32.64x1000", "threads=512 shared"},
    {"cupy.sum.cub.f32.64x1000", "threads=256 lanes=pairs warps=ascending"},
};

Codes items(const Recording& recording, const RecordedMatrix& of) {
  const std::vector<std::byte> data = recording.data(of.data).value();
  Codes out(data.size() / 4);
  for (std::size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], &data[4 * i], 4);
  return out;
}

// The orders that explain what a record has.
ReductionSearch search_of(const Recording& recording, const Record& record) {
  const RecordedReduction r = read_reduction(record).value();
  Codes x = items(recording, r.x), d = items(recording, r.d);
  std::size_t rows = r.x.shape[0], columns = r.x.shape[1];
  if (r.axis == 0U) {
    x = transposed(x, rows, columns);
    if (d.size() == x.size()) d = transposed(d, rows, columns);
    std::swap(rows, columns);
  }
  const ReductionProblem problem{find_reduction(r.op).value(), rows, columns, "f32", "f32", x, d, r.epsilon};
  return find_reduction_order(problem).value();
}

TEST_CASE("recorded reductions tell their order", "[once]") {
  const Recording recording = Recording::open("golden/reductions/sm_90a.zip").value();
  for (const auto& [name, words] : kFound) {
    INFO(name);
    const Record* const record = recording.find(name);
    REQUIRE(record != nullptr);
    const ReductionSearch search = search_of(recording, *record);
    REQUIRE(search.classes.size() == 1);
    CHECK(std::ranges::find(search.classes[0].orders, order(words)) != search.classes[0].orders.end());
  }
}

// ---- Cumulative sums

TEST_CASE("cumulative sums by hand") {
  const struct {
    const char* words;
    std::vector<float> x, sums;
  } cases[] = {
      {"threads=1", {kBig, 1, -kBig, 1}, {kBig, kBig, 0, 1}},
      {"threads=2", {kBig, 1, -kBig, 1}, {kBig, kBig, 0, 0}},           // (B+1) + (-B+1)
      {"threads=2", {1, kBig, -kBig, 1, 1, 1}, {1, kBig, 0, 0, 1, 2}},  // 0 goes on to the next four
      {"threads=4", {1, kBig, -kBig, 1, 1, 1}, {1, kBig, 0, 0, 1, 2}},  // (0) + 1, (0) + (1+1)
      {"threads=1", {-0.0F, -0.0F, 1}, {0, 0, 1}},                      // it begins with 0
      {"threads=1024", {1, 1, 1}, {1, 2, 3}},
  };
  for (const auto& one : cases) {
    INFO(one.words);
    const Codes x = codes(one.x);
    CHECK(reduce(problem(Reduction::cumsum, x, x.size()), order(one.words)).value() == codes(one.sums));
  }
  const Codes x = codes({1, 2});
  for (const char* words :
       {"threads=3", "threads=2 vector=2", "blocks=2", "shared", "fused", "threads=32 loop=64"}) {
    INFO(words);
    const auto refused = reduce(problem(Reduction::cumsum, x, 2), order(words));
    REQUIRE_FALSE(refused.ok());
    CHECK_THAT(refused.error().message(), Contains("threads= alone, with a power of two up to 1024"));
  }
}

TEST_CASE("recorded cumulative sums tell the threads of their scan") {
  const Recording recording = Recording::open("golden/reductions/sm_90a_scans.zip").value();
  for (const auto& [name, words] :
       {std::pair{"torch.cumsum.f32.8x1000", "threads=256"},
        std::pair{"torch.cumsum.f32.4x4096", "threads=512"}, std::pair{"torch.cumsum.f32.300x64", "threads=16"},
        std::pair{"torch.cumsum.f32.300x64.axis0", "threads=1"}}) {
    INFO(name);
    const ReductionSearch search = search_of(recording, *recording.find(name));
    REQUIRE(search.classes.size() == 1);
    CHECK(search.classes[0].orders[0] == order(words));
  }
}

}  // namespace reduction_test
