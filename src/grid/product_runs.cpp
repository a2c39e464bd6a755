// SPDX-License-Identifier: Apache-2.0
// Runs of products: D = A B + C one after another, none of which depends on another one, of each of some A with each of some
// B. As one, each A and each B is decoded once (tensor_slots.cpp).
#include <algorithm>

#include "api/checks.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {
namespace {

using Places = std::span<const Place>;

/// A product that may be in a run. `places`: of Program::places; D's come first, then those of A, B and C.
struct Product {
  std::int32_t places;
  Places d, a, b, c;
};

bool is_same(Places x, Places y) {
  return std::ranges::equal(x, y, {}, &Place::slot, &Place::slot);
}
bool have_common(Places x, Places y) {
  return std::ranges::any_of(
      x, [&](const Place& one) { return std::ranges::find(y, one.slot, &Place::slot) != y.end(); });
}

// All in registers of 32 bits, without a guard.
std::optional<Product> product_of(const Program& program, const Step& step) {
  if (step.run != tensor || step.guard >= 0) return {};
  const TensorPlan& plan = program.tensor_plans[static_cast<std::size_t>(step.extra)];
  const auto& [d, a, b, c] = plan.registers;
  if (plan.kind != TensorPlan::Kind::dense || d != 4 || c != 4 || a > 4 || b > 2 || !can_run_all(*plan.tile))
    return {};
  if (plan.tile->a.container != nullptr || plan.tile->b.container != nullptr)
    return {};  // looked at one by one
  const Places places = program.places[static_cast<std::size_t>(step.target)];
  for (const Place& place : places)
    if (place.kind != Place::Kind::reg || place.bits != 32) return {};
  return Product{step.target, places.first(4), places.subspan(4, a), places.subspan(std::size_t{4} + a, b),
                 places.last(4)};
}

// Sources are read before any result is written.
bool depends(const Product& later, const Product& earlier) {
  return have_common(earlier.d, later.d) || have_common(earlier.d, later.a) ||
         have_common(earlier.d, later.b) || have_common(earlier.d, later.c);
}

// The number of a fragment among those before; a new one is added.
std::size_t number_of(std::vector<Product>& among, const Product& product, Places Product::*which) {
  for (std::size_t i = 0; i < among.size(); ++i)
    if (is_same(among[i].*which, product.*which)) return i;
  among.push_back(product);
  return among.size() - 1;
}

// Nothing unless each A meets each B once.
std::optional<ProductRun> run_of(std::span<const Product> products) {
  std::vector<Product> a, b;
  std::vector<std::pair<std::size_t, std::size_t>> at;
  for (const Product& one : products) {
    const std::size_t row = number_of(a, one, &Product::a);
    at.emplace_back(row, number_of(b, one, &Product::b));
  }
  if (a.size() * b.size() != products.size()) return {};
  ProductRun out;
  out.steps = static_cast<int>(products.size());
  out.d.assign(products.size(), -1);
  for (std::size_t n = 0; n < products.size(); ++n) {
    std::int32_t& d = out.d[at[n].first * b.size() + at[n].second];
    if (d >= 0) return {};
    d = products[n].places;
  }
  for (const Product& one : a) out.a.push_back(one.places);
  for (const Product& one : b) out.b.push_back(one.places);
  return out;
}

// Products of one form from a step on, as many as do not depend on each other.
std::vector<Product> independent(const Program& program, std::size_t first) {
  std::vector<Product> out;
  const auto form = [&](std::size_t step) {
    return program.instructions[static_cast<std::size_t>(program.steps[step].extra)].canonical();
  };
  for (std::size_t k = first; k < program.steps.size() && out.size() < kMaxProducts; ++k) {
    const std::optional<Product> next = product_of(program, program.steps[k]);
    if (!next || std::ranges::any_of(out, [&](const Product& one) { return depends(*next, one); })) break;
    if (form(k) != form(first)) break;
    out.push_back(*next);
  }
  return out;
}

}  // namespace

void find_product_runs(Program& program, std::size_t first) {
  for (std::size_t i = first; i < program.steps.size();) {
    const std::vector<Product> products = independent(program, i);
    std::size_t count = products.size();
    for (; count > 1; --count) {
      std::optional<ProductRun> run = run_of(std::span(products).first(count));
      if (!run) continue;
      program.tensor_plans[static_cast<std::size_t>(program.steps[i].extra)].run =
          static_cast<std::int32_t>(program.product_runs.size());
      program.product_runs.push_back(*std::move(run));
      break;
    }
    i += std::max<std::size_t>(count, 1);
  }
}

}  // namespace warpbit::grid::steps
