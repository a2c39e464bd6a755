// SPDX-License-Identifier: Apache-2.0
// Orders are found from D: of products that were made in an order that the search does not see.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "order/run_sums.hpp"
#include "warp.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"
#include "warpbit/gemm.hpp"

namespace find_order_test {

using namespace warpbit;

// Operands near 1 with signs, in items.
struct Product {
  Instruction instruction;
  std::size_t rows, columns, depth;
  std::vector<std::byte> a, b, d;
  std::size_t item, result = 4;

  Product(const std::string& form, std::size_t m, std::size_t n, std::size_t k, unsigned seed)
      : instruction(warp::parse(form, "sm_90a")), rows(m), columns(n), depth(k) {
    const Operand& operand = *instruction.find(Part::a);
    item = static_cast<std::size_t>(operand.element_bits) / 8;
    std::mt19937_64 random(seed);
    const Codec codec = Codec::find(operand.format == "tf32" ? "f32" : operand.format).value();
    for (auto* matrix : {&a, &b}) {
      matrix->resize((matrix == &a ? m : n) * k * item);
      for (std::size_t i = 0; i < matrix->size(); i += item) {
        const double x = static_cast<double>(static_cast<int>(random() % 65535) - 32767) / 16384;
        const std::uint64_t code = operand.format == "s8" ? random() & 0xFF : codec.encode(x).value();
        std::memcpy(&(*matrix)[i], &code, item);
      }
    }
  }

  Gemm problem() const {
    const auto stride = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
    Gemm g{rows, columns, depth, {a.data(), stride(depth), 1}, {b.data(), 1, stride(depth)}, {}, {}};
    g.d = {const_cast<std::byte*>(d.data()), stride(columns), 1};
    return g;
  }
  void make(const SumOrder& order) {
    const std::string_view format = format_of_result(instruction, order);
    result = format == "f32" || format == "s32" ? 4 : 2;
    d.assign(rows * columns * result, std::byte{0});
    const Result<Execution> done = gemm(instruction, problem(), {order});
    REQUIRE((done ? "" : done.error().message()) == "");
  }
  std::uint64_t code(std::size_t row, std::size_t column) const {
    std::uint64_t out = 0;
    std::memcpy(&out, &d[(row * columns + column) * result], result);
    return out;
  }
};

// The bits of D by a description that was found.
std::vector<std::byte> bits_by(const FoundOrder& found, Product p) {
  const std::vector<std::byte> before = p.d;
  p.instruction = found.instruction;
  p.d.assign(before.size(), std::byte{0});
  REQUIRE(gemm(found.instruction, p.problem(), {found.order}).ok());
  return p.d;
}

FindOrderOptions options_for(const SumOrder& order) {
  FindOrderOptions out;
  out.known.store = order.store;
  out.most_found = 3;
  return out;
}

std::vector<Instruction> candidates(const Instruction& i) {
  return instructions_of_products(i.find(Part::a)->format, i.find(Part::b)->format, i.target()).value();
}

const char* const kForms[] = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"};

// A description that a library might have.
SumOrder random_order(std::mt19937_64& random, std::size_t depth, std::size_t terms, bool is_tf32) {
  const auto one_of = [&](std::initializer_list<std::size_t> list) {
    return list.begin()[random() % list.size()];
  };
  SumOrder out;
  if (is_tf32) out.tf32 = Tf32Rounding::nearest_even;
  out.store = std::string(std::vector<std::string>{"f32", "f16", "bf16"}[random() % 3]);
  switch (random() % 6) {
    case 0: out.descending = true; break;
    case 1: out.promote = terms * one_of({1, 2, 4}); break;
    case 2: out.short_first = one_of({16, 32, 64}); break;
    case 3: out.slices = one_of({2, 3, 4}), out.slice_width = one_of({16, 32}); break;
    default: break;
  }
  const bool is_plain = !out.descending && out.promote == 0 && out.short_first == 0 && out.slices == 1;
  if (is_plain && random() % 4 != 0) {
    out.split_k = 2 + random() % 9;
    out.unit = out.descending ? 0 : one_of({0, 64, 32});
    out.spread = static_cast<Spread>(random() % 5);
    out.merge_order = static_cast<MergeOrder>(random() % 5);
    if (random() % 4 == 0) out.merge = out.store;
    if (random() % 4 == 0) out.partials = out.store;
  }
  if (is_plain && out.split_k == 1 && depth > 64) out.omit = 64;
  return out;
}

TEST_CASE("orders of random products are found", "[find_order]") {
  const unsigned seed = GENERATE(range(1U, 31U));
  std::mt19937_64 random(seed);
  const std::string form = kForms[random() % std::size(kForms)];
  const std::size_t depth = 100 + random() % 500;
  Product p(form, 16, 24, depth, seed);
  const SumOrder order = random_order(random, depth, static_cast<std::size_t>(p.instruction.terms()),
                                      form.find("tf32") != form.npos);
  INFO(form << ", K " << depth << ": " << order.text());
  p.make(order);
  const Result<OrderSearch> search = find_order(candidates(p.instruction), {p.problem()}, options_for(order));
  REQUIRE(search.ok());
  INFO(search->text());
  REQUIRE_FALSE(search->found.empty());
  for (const FoundOrder& found : search->found) {
    CHECK(found.explains());
    CHECK(found.elements == 16 * 24);
    CHECK((bits_by(found, p) == p.d));
  }
}

TEST_CASE("words that are known are a question", "[quick][find_order]") {
  Product p(kForms[0], 16, 24, 512, 5);
  p.make(SumOrder::parse("split_k=4").value());
  const auto search = [&](const char* words) {
    FindOrderOptions options;
    options.known = SumOrder::parse(words).value();
    return find_order(std::span(&p.instruction, 1), {p.problem()}, options).value();
  };
  const OrderSearch right = search("split_k=4"), other = search("split_k=8");
  REQUIRE_FALSE(right.found.empty());
  CHECK(right.found[0].order.text() == "split_k=4");
  CHECK(right.narrowed);
  CHECK(right.split_k() == SplitAnswer::unknown);
  CHECK(other.found.empty());
  CHECK(other.text().find(" orders with these words explains all elements\n") != std::string::npos);
  for (const FoundOrder& near : other.nearest) CHECK(near.order.split_k == 8);
  CHECK_FALSE(other.nearest.empty());
}

TEST_CASE("some elements of D are enough", "[quick][find_order]") {
  Product p(kForms[0], 40, 30, 328, 5);
  p.make(SumOrder::parse("split_k=5 unit=64 spread=cut").value());
  FoundProduct known{p.problem()};
  for (std::size_t n = 0; n < 50; ++n) {
    const std::size_t row = n * 7 % 40, column = n * 11 % 30;
    known.elements.push_back({row, column, p.code(row, column)});
  }
  known.product.d = {};
  const Result<OrderSearch> search = find_order(candidates(p.instruction), known, options_for({}));
  REQUIRE(search.ok());
  REQUIRE_FALSE(search->found.empty());
  // floor(328 / 5) = 65, two units of 64 each: all of K; nothing is left out.
  CHECK(search->found[0].left_out == 0);
  CHECK(search->found[0].elements == 50);
  CHECK((bits_by(search->found[0], p) == p.d));
}

TEST_CASE("values that a kernel leaves out are named", "[quick][find_order]") {
  Product p(kForms[0], 16, 16, 584, 6);
  p.make(SumOrder::parse("split_k=9 unit=64 spread=cut store=f16").value());
  const Result<OrderSearch> search =
      find_order(candidates(p.instruction), {p.problem()}, options_for(SumOrder::parse("store=f16").value()));
  REQUIRE(search.ok());
  REQUIRE_FALSE(search->found.empty());
  CHECK(search->found[0].left_out == 8);  // 584 / 9 is 64, 9 * 64 is 576
  CHECK_THAT(search->text(),
             Catch::Contains("the last 8 values of K are not in the sum: a mistake of the kernel"));
}

TEST_CASE("a D that no order gives", "[quick][find_order]") {
  Product p(kForms[0], 16, 16, 40, 7);
  p.make({});
  p.d[4 * (3 * 16 + 5)] ^= std::byte{1};  // (3, 5)
  FindOrderOptions options = options_for({});
  options.most_products = 1e8;
  const Result<OrderSearch> search = find_order(candidates(p.instruction), {p.problem()}, options);
  REQUIRE(search.ok());
  CHECK(search->found.empty());
  REQUIRE_FALSE(search->nearest.empty());
  const FoundOrder& nearest = search->nearest[0];
  CHECK(nearest.equal == 255);
  CHECK(nearest.elements == 256);
  CHECK(nearest.first_wrong == ResultElement{3, 5, p.code(3, 5)});
  CHECK(nearest.computed == (p.code(3, 5) ^ 1));
  CHECK_THAT(search->text(), Catch::Contains("explains all elements") && Catch::Contains("at (3, 5) it gives"));
}

TEST_CASE("questions about orders that are none", "[quick][find_order]") {
  Product p(kForms[0], 4, 4, 40, 8);
  p.make({});
  const std::vector<Instruction> instructions = candidates(p.instruction);
  const auto refused = [&](auto change) {
    FoundProduct product{p.problem()};
    FindOrderOptions options;
    std::vector<Instruction> given = instructions;
    change(product, options, given);
    const Result<OrderSearch> search = find_order(given, product, options);
    REQUIRE_FALSE(search.ok());
    return search.error().message();
  };
  using P = FoundProduct&;
  using O = FindOrderOptions&;
  using I = std::vector<Instruction>&;
  CHECK_THAT(refused([](P, O, I i) { i.clear(); }), Catch::Contains("no instruction; expected one or more"));
  CHECK_THAT(refused([](P x, O, I) { x.product.d = {}; }), Catch::Contains("no elements of D"));
  CHECK_THAT(refused([](P x, O, I) {
               x.product.d = {}, x.elements = {{4, 0, 0}};
             }),
             Catch::Contains("an element (4, 0) of D; expected elements of 4 x 4"));
  CHECK_THAT(refused([](P x, O, I) { x.product.depth = 0; }),
             Catch::Contains("expected matrices with elements"));
  CHECK_THAT(refused([](P, O o, I) { o.shard = {2, 1}; }), Catch::Contains("shard 2 of 1"));
  CHECK_THAT(refused([](P, O o, I) { o.known.split_k = 0; }), Catch::Contains("split_k is 0"));
  CHECK_THAT(refused([](P, O, I i) { i.push_back(warp::parse(kForms[1], "sm_90a")); }),
             Catch::Contains("operands of other formats"));
  const Result<std::vector<Instruction>> none = instructions_of_products("f16", "s8", p.instruction.target());
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message(), Catch::Contains("operands of f16.s8 on sm_90a"));
}

// ---- Shards

bool is_same(const std::vector<FoundOrder>& x, const std::vector<FoundOrder>& y) {
  return std::ranges::equal(x, y, [](const FoundOrder& p, const FoundOrder& q) {
    return p.instruction.canonical() == q.instruction.canonical() && p.order == q.order && p.equal == q.equal &&
           p.elements == q.elements && p.first_wrong == q.first_wrong && p.computed == q.computed &&
           p.left_out == q.left_out && p.number == q.number && p.sum == q.sum &&
           std::ranges::equal(p.same, q.same, [](const SameSum& v, const SameSum& w) {
             return v.form == w.form && v.order == w.order;
           });
  });
}

TEST_CASE("shards of a search make the answer of one", "[quick][find_order]") {
  struct Row {
    const char* order;
    double most_products;
    std::size_t most_found;
    bool changed = false;  // an element, so that no order gives D
  };
  const Row rows[] = {{"split_k=3 unit=8 merge_order=descending", 4e9, 8},
                      {"split_k=5 promote=32", 8e9, 2},
                      {"ascending", 2e8, 1},
                      {"ascending", 2e8, 8, true}};
  for (const Row& row : rows) {
    INFO(row.order);
    Product p(kForms[0], 10, 12, 150, 9);
    p.make(SumOrder::parse(row.order).value());
    if (row.changed) p.d[4 * 7] ^= std::byte{2};
    FindOrderOptions options;
    options.most_products = row.most_products;
    options.most_found = row.most_found;
    const auto search = [&](Shard shard) {
      options.shard = shard;
      return find_order(candidates(p.instruction), {p.problem()}, options).value();
    };
    const OrderSearch whole = search({});
    CHECK(whole.found.empty() == row.changed);
    for (const std::uint64_t count : {2, 5}) {
      std::vector<OrderSearch> shares;
      for (std::uint64_t i = count; i > 0; --i) shares.push_back(search({i, count}));
      const OrderSearch merged = merge_orders(shares).value();
      CHECK(merged.text() == whole.text());
      CHECK(merged.tried == whole.tried);
      CHECK(merged.complete == whole.complete);
      CHECK(is_same(merged.found, whole.found));
      CHECK(is_same(merged.nearest, whole.nearest));
    }
  }
  CHECK_THAT(merge_orders({}).error().message(),
             Catch::Contains("no share; expected all shares of one search"));
}

// ---- What hypotheses have in common

// Any codes: NaN, Inf, subnormals and numbers far apart, too.
TEST_CASE("sums that are remembered are those of gemm", "[quick][find_order]") {
  const unsigned seed = GENERATE(range(1U, 41U));
  std::mt19937_64 random(seed);
  const char* const forms[] = {kForms[0], kForms[1], kForms[2], kForms[3],
                               "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"};
  const std::string form = forms[random() % std::size(forms)];
  const std::size_t depth = 60 + random() % 200;
  Product p(form, 3, 5, depth, seed);
  if (seed % 2 == 0)
    for (auto* matrix : {&p.a, &p.b})
      for (std::size_t i = 0; i < 2 + seed % 9; ++i) (*matrix)[random() % matrix->size()] = std::byte(random());
  std::vector<std::uint64_t> c(3 * 5);
  for (std::uint64_t& code : c) code = random() % 4 == 0 ? random() : 0x3C003C003C003C00;
  const std::vector<std::size_t> places = {0, 4, 7, 13};
  Gemm problem = p.problem();
  if (seed % 3 == 0) problem.c = {c.data(), 5, 1};
  order::RunSums sums(p.instruction, problem, places, {});
  for (int n = 0; n < 40; ++n) {
    SumOrder tried = random_order(random, depth, static_cast<std::size_t>(p.instruction.terms()),
                                  form.find("tf32") != form.npos);
    if (n % 3 == 1) tried.merge_order = static_cast<MergeOrder>(random() % 5), tried.split_k = 2 + random() % 5;
    if (n % 5 == 2) tried.c_last = true, tried.alpha = 0.5F, tried.beta = 3;
    if (n % 7 == 3) tried.store_rounding = Rounding::toward_zero;
    INFO(form << ", K " << depth << ": " << tried.text());
    const std::string_view stored = format_of_result(p.instruction, tried);
    p.result = stored == "f32" ? 4 : 2;
    p.d.assign(15 * p.result, std::byte{0});
    problem.d = p.problem().d;
    const bool is_done = gemm(p.instruction, problem, {tried}).ok();
    const auto codes = sums.codes(tried);
    REQUIRE(codes.has_value() == is_done);
    for (std::size_t i = 0; is_done && i < places.size(); ++i)
      CHECK((*codes)[i] == p.code(places[i] / 5, places[i] % 5));
  }
}

}  // namespace find_order_test
