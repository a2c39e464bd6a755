// SPDX-License-Identifier: Apache-2.0
// Orders of all-reduces: sums by hand, their words, and what is found of results of NCCL on an H200 (golden/reductions).
#include "warpbit/all_reduce.hpp"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "golden_records.hpp"

namespace all_reduce_test {

using namespace warpbit;
using Catch::Contains;
using Codes = std::vector<std::uint64_t>;

Codes codes(const std::vector<float>& of) {
  Codes out;
  for (const float one : of) out.push_back(std::bit_cast<std::uint32_t>(one));
  return out;
}
AllReduceOrder order(const std::string& words) {
  return AllReduceOrder::parse(words).value();
}
AllReduceProblem problem(const Codes& x, std::size_t ranks, bool is_mean = false) {
  return {ranks, x.size() / ranks, "f32", is_mean, x};
}

constexpr float kBig = 1 << 30;  // swallows ones

TEST_CASE("all-reduces by hand") {
  struct ByHand {
    std::string words;
    std::vector<float> ranks;
    float sum;
  };
  for (const ByHand& one : std::vector<ByHand>{
           {"ring=0,1,2,3", {1, kBig, -kBig, 1}, 2},                              // ((1+2)+3)+0
           {"ring=0,1,2,3", {kBig, 1, -kBig, 1}, 0},                              // ((1-B)+1)+B
           {"ring=1,2,3,0", {kBig, 1, -kBig, 1}, 1},                              // ((2+3)+0)+1 = ((-B+1)+B)+1
           {"ring=3,0,1,2", {kBig, -kBig, 1, 1}, 2},                              // ((0+1)+2)+3
           {"trees=0(2(1,3))", {1, kBig, 1, -kBig}, 1},                           // ((1+2)+3)+0
           {"trees=0(1,2,3)", {kBig, -kBig, 1, 1}, 2},                            // ((0+1)+2)+3
           {"trees=0(4(2(1,3),6(5,7)))", {1, kBig, 0, 0, 0, -kBig, 0, 1}, 1}}) {  // (B+((5+6)+7))+0 = (B-B)+1
    INFO(one.words);
    const Codes x = codes(one.ranks);
    CHECK(all_reduce(problem(x, one.ranks.size()), order(one.words)).value() == codes({one.sum}));
  }
}

TEST_CASE("ranges follow each other by turns") {
  // Each value of the ranks is B, -B, 1: by a chain that ends at rank 0, 1 or 2 the sum is 0, 0 or 1.
  const Codes x = codes({kBig,  kBig,  kBig,  kBig, kBig, kBig, kBig, -kBig, -kBig, -kBig, -kBig,
                         -kBig, -kBig, -kBig, 1,    1,    1,    1,    1,     1,     1});
  CHECK(all_reduce(problem(x, 3), order("ring=0,1,2 sizes=2")).value() == codes({0, 0, 0, 0, 1, 1, 0}));
  CHECK(all_reduce(problem(x, 3), order("ring=2,0,1 sizes=3,1")).value() == codes({1, 1, 1, 0, 0, 0, 0}));
  CHECK(all_reduce(problem(x, 3), order("trees=2(1(0)),0(1(2)) sizes=1")).value() ==
        codes({1, 0, 1, 0, 1, 0, 1}));
}

TEST_CASE("sums are rounded to the type, and means scale in one step with the sum") {
  // 2048 + 1 is 2048 in f16, so the ones are lost one by one; in one sum of f32 they would make 2050.
  const Codes x = {0x6800, 0x3C00, 0x3C00};
  AllReduceProblem of16{3, 1, "f16", false, x};
  CHECK(all_reduce(of16, order("ring=2,0,1")).value() == Codes{0x6800});
  CHECK(all_reduce(of16, order("ring=0,1,2")).value() == Codes{0x6801});
  // A third of f32 is (1 + 2^-25) / 3: 3 times it is 1 + 2^-25 exactly. Rank 2 adds what ranks 0 and 1 have, (0 + -1), in one step:
  // what is left is the error of the third.
  const Codes thirds = codes({0, -3, 3});
  const float third = 1.0F / 3.0F;
  CHECK(all_reduce(problem(thirds, 3, true), order("ring=2,0,1")).value() ==
        codes({static_cast<float>(3.0 * double{third} - double{3.0F * third})}));
}

TEST_CASE("words of all-reduces are read as they are written") {
  for (const char* words : {"ring=0,1,2,3", "ring=2,0,1 sizes=5464,5464,5456",
                            "trees=0(2(1,3)),3(1(2,0)) sizes=16384", "trees=0", "trees=5(4,3(2(1)),0)"})
    CHECK(order(words).text() == words);
  CHECK(order("trees=0(4(2(1,3),6(5,7)))").trees[0].sum() == "((((1+2)+3)+4)+((5+6)+7))+0");
  CHECK(order("ring=0,1,2,3").tree(5).text() == "1(0(3(2)))");
  for (const auto& [words, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "ring= or trees="},
           {"sizes=4", "ring= or trees="},
           {"ring=0,1 trees=0(1)", "ring= or trees="},
           {"ring=0,2", "each of the ranks 0 to 1 once"},
           {"ring=0,0", "each of the ranks 0 to 1 once"},
           {"trees=0(1),0", "once in each tree"},
           {"trees=0(1", "trees= with values such as"},
           {"trees=0(1))", "trees= with values such as"},
           {"trees=0()", "trees= with values such as"},
           {"ring=0,-1", "ring= with values such as"},
           {"ring=", "ring= with values such as"},
           {"ring=0,1 sizes=0", "none of them 0"},
           {"ring=0,1 sizes=99999999999999999999", "sizes= with values such as"},
           {"rings=0", "words of ring="},
           {"trees=" + std::string(5000, '('), "trees= with values such as"}}) {
    const Result<AllReduceOrder> got = AllReduceOrder::parse(words);
    REQUIRE_FALSE(got);
    CHECK_THAT(got.error().message(), Contains(says));
  }
}

TEST_CASE("all-reduces that do not fit are refused") {
  const Codes x = codes({1, 2, 3, 4}), d = codes({4, 6});
  AllReduceProblem good = problem(x, 2);
  good.d = d;
  REQUIRE(find_all_reduce_order(good));
  const auto refused = [&](const std::string& says, const auto& change) {
    AllReduceProblem bad = good;
    change(bad);
    const Result<AllReduceSearch> got = find_all_reduce_order(bad);
    REQUIRE_FALSE(got);
    CHECK_THAT(got.error().message(), Contains(says));
  };
  refused("f16, bf16, f32 or f64", [](AllReduceProblem& p) { p.format = "e4m3"; });
  refused("1 to 1024 ranks", [](AllReduceProblem& p) { p.ranks = 0; });
  refused("1 to 1024 ranks", [](AllReduceProblem& p) { p.ranks = 1025; });
  refused("4 values of x", [](AllReduceProblem& p) { p.values = 3; });
  refused("as many as a rank has", [](AllReduceProblem& p) { p.d = p.d.first(1); });
  CHECK_FALSE(all_reduce(good, order("ring=0,1,2")));
  CHECK_FALSE(all_reduce(good, AllReduceOrder{}));
}

// Numbers of both signs whose sums are rounded.
Codes some(std::size_t count) {
  Codes out;
  std::uint32_t state = 11;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    out.push_back((0x3C000000 + (state >> 6 & 0x03FFFFFF)) | (state << 3 & 0x80000000));
  }
  return out;
}

TEST_CASE("an order that made an all-reduce is found again") {
  struct Case {
    std::size_t ranks;
    std::string words, name;
  };
  for (const Case& one :
       {Case{3, "ring=0,1,2 sizes=100", "ring 0 1 2"}, Case{4, "ring=0,2,1,3 sizes=150", "ring 0 2 1 3"},
        Case{6, "ring=0,5,2,4,1,3 sizes=80", "ring 0 5 2 4 1 3"},
        Case{8, "ring=0,2,4,6,1,3,5,7 sizes=60", "ring 0 2 4 6 1 3 5 7"},
        Case{4, "ring=3,2,1,0 sizes=64", "ring 3 2 1 0"},
        Case{5, "trees=0(4(2(1,3))),1(0(3(2,4))) sizes=256", "tree"}, Case{4, "trees=0(2,1(3))", "other"},
        Case{4, "trees=0(1,2(3))", "tree of 2 hosts"},
        Case{8, "trees=0(1,4(5(2(3)),6(7))),6(7,2(3(4(5)),0(1))) sizes=300", "tree of 4 hosts"},
        Case{7, "ring=6,0,3,1,4,2,5 sizes=80", "ring 6 0 3 1 4 2 5"}})
    for (const bool is_mean : {false, true}) {
      INFO(one.words);
      const Codes x = some(one.ranks * 600);
      AllReduceProblem made = problem(x, one.ranks, is_mean);
      const Codes d = all_reduce(made, order(one.words)).value();
      made.d = d;
      const AllReduceSearch search = find_all_reduce_order(made).value();
      CHECK(search.explained == 600);
      CHECK(search.name == one.name);
      CHECK(all_reduce(made, search.order).value() == d);
      if (one.name != "other") CHECK(search.order == order(one.words));
    }
}

TEST_CASE("nothing explains an all-reduce that nothing has made") {
  const Codes x = some(4 * 100);
  AllReduceProblem made = problem(x, 4);
  Codes d = all_reduce(made, order("ring=0,1,2,3 sizes=25")).value();
  d[60] ^= 1;
  made.d = d;
  const AllReduceSearch search = find_all_reduce_order(made).value();
  CHECK(search.name.empty());
  CHECK(search.explained == 60);
  CHECK_THAT(search.text(), Contains("none of 15 orders") && Contains("value 60"));
}

// ---- Results of an H200

TEST_CASE("recorded all-reduces tell their ring or tree", "[once]") {
  const Recording recording = Recording::open("golden/reductions/sm_90a_nccl.zip").value();
  for (const auto& [name, found, words] : std::vector<std::array<std::string, 3>>{
           {"nccl.ring.simple.all_reduce.f32.2x1000", "any", "trees=0(1)"},
           {"nccl.ring.simple.all_reduce_mean.f32.3x1000", "ring 0 1 2", "ring=0,1,2 sizes=336"},
           {"nccl.tree.ll.all_reduce_mean.f32.3x1000", "tree", "trees=0(2(1))"},
           {"nccl.default.default.all_reduce.f32.4x32768", "ring 0 1 2 3", "ring=0,1,2,3 sizes=4096"},
           {"nccl.tree.simple.all_reduce.f32.4x32768", "tree", "trees=0(2(1,3)),3(1(2,0)) sizes=16384"},
           {"nccl.ring.simple.all_reduce.f32.8x1000", "ring 0 1 2 3 4 5 6 7", "ring=0,1,2,3,4,5,6,7 sizes=128"},
           {"nccl.tree.ll.all_reduce.f32.8x1000", "tree", "trees=0(4(2(1,3),6(5,7)))"},
           {"nccl.tree.simple.all_reduce.f32.4x1000.x2", "tree of 2 hosts", "trees=0(1,2(3))"},
           {"nccl.tree.simple.all_reduce.f32.8x1000.x2", "tree of 4 hosts", "trees=0(1,4(5(2(3)),6(7)))"}}) {
    INFO(name);
    const Record* const record = recording.find(name);
    REQUIRE(record != nullptr);
    const RecordedReduction r = read_reduction(*record).value();
    const auto items = [&](const RecordedMatrix& of) {
      const std::vector<std::byte> data = recording.data(of.data).value();
      Codes out(data.size() / 4);
      for (std::size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], &data[4 * i], 4);
      return out;
    };
    const Codes x = items(r.x), d = items(r.d);
    AllReduceProblem made = problem(x, r.x.shape[0], r.op == "all_reduce_mean");
    made.d = d;
    const AllReduceSearch search = find_all_reduce_order(made).value();
    CHECK(search.name == found);
    CHECK(search.order == order(words));
  }
}

}  // namespace all_reduce_test
