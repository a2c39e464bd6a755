// SPDX-License-Identifier: Apache-2.0
#include "api/chains.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "api/checks.hpp"
#include "api/ordered_product.hpp"
#include "isa/instruction.hpp"
#include "kernel/bodies.hpp"
#include "kernel/floating.hpp"
#include "kernel/fused.hpp"
#include "kernel/panel_gemm.hpp"

namespace warpbit {
namespace {

// Engines are for so many steps; a chain takes the largest that it fills, and at its end the smallest that holds the rest.
constexpr std::size_t kEngineSteps[] = {128, 32, 8, 4, 2, 1};

// Lines of K, dense: rows of A, or columns of B.
struct KLines {
  std::size_t count, depth, item;
  std::vector<std::byte> bytes;

  const std::byte* at(std::size_t line, std::size_t k) const { return &bytes[(line * depth + k) * item]; }
};

KLines lines_of(const ItemMatrix& matrix, std::size_t count, std::size_t depth, Tf32Rounding rounding) {
  KLines out{count, depth, matrix.item_bytes, std::vector<std::byte>(count * depth * matrix.item_bytes)};
  if (rounding != Tf32Rounding::cut) {
    const std::vector<std::uint32_t> codes = rounded_to_tf32(matrix, count, depth, rounding);
    std::memcpy(out.bytes.data(), codes.data(), out.bytes.size());
    return out;
  }
  for (std::size_t line = 0; line < count; ++line)
    for (std::size_t k = 0; k < depth; ++k)
      std::memcpy(&out.bytes[(line * depth + k) * out.item], matrix.at(line, k), out.item);
  return out;
}

// The steps that are multiplied together, of A and B, and the engine that does it.
struct Batch {
  Batch(const Tile& tile, const Body* body, const KLines& a, const KLines& b, std::size_t steps)
      : of_a(a.count * steps * static_cast<std::size_t>(tile.terms) * a.item),
        of_b(b.count * steps * static_cast<std::size_t>(tile.terms) * b.item) {
    product.tile = &tile;
    product.rows = a.count;
    product.columns = b.count;
    product.depth = steps * static_cast<std::size_t>(tile.terms);
    const auto stride = static_cast<std::ptrdiff_t>(product.depth);
    product.a = {of_a.data(), stride, 1, a.item};
    product.b = {of_b.data(), 1, stride, b.item};
    for (std::size_t i = 0; i < steps; ++i) product.steps.push_back(i);
    stripe = largest_stripe(product);
    if (body == nullptr || stripe.steps != steps) return;
    engine = make_engine(product, *body);
  }

  void multiply(const RunningBlocks& running) {
    const BlockRange all{0, stripe.pairs, 0, stripe.panels};
    engine->pack_a(stripe, 0, stripe.pairs);
    for (std::size_t panel = 0; panel < stripe.panels; ++panel) engine->pack_b(stripe, panel);
    engine->packed(stripe);
    engine->decode_a(stripe, 0, stripe.pairs);
    for (std::size_t panel = 0; panel < stripe.panels; ++panel) engine->decode_b(stripe, panel);
    engine->multiply(stripe, all, running);
  }

  std::vector<std::byte> of_a, of_b;
  MatrixProduct product;
  Stripe stripe;
  std::unique_ptr<GemmEngine> engine;  // null: element by element
};

}  // namespace

struct Chains::State {
  State(const Instruction& instruction, const Gemm& g, Tf32Rounding rounding, const ExecuteOptions& how)
      : i(instruction), tile(std::get<Tile>(i.decoded().kernel)), item(code_bytes(tile.d.format->bits)) {
    const auto matrix = [](const MatrixView& view, const Format& format) {
      auto* data = static_cast<std::byte*>(const_cast<void*>(view.data));  // only read
      return ItemMatrix{data, view.row_stride, view.column_stride, code_bytes(format.bits)};
    };
    a = lines_of(matrix(g.a, *tile.a.format), g.rows, g.depth, rounding);
    b = lines_of(matrix(g.b, *tile.b.format).transposed(), g.columns, g.depth, rounding);
    const Result<Kernel> kernel = kernel_for(how);
    const Body* const body =
        kernel && (panel_tile(tile) != nullptr || is_chain(tile)) ? find_body(*kernel) : nullptr;
    for (const std::size_t steps : kEngineSteps) {
      auto batch = std::make_unique<Batch>(tile, body, a, b, steps);
      if (batch->engine != nullptr || (body == nullptr && steps == 1)) batches.push_back(std::move(batch));
    }
    running.resize(batches[0]->stripe.pairs * batches[0]->stripe.panels * kBlock * item);
  }

  RunningBlocks blocks() { return {running.data(), batches[0]->stripe.pairs, item}; }
  // Calls work(bytes of running, place in D) for each element.
  template <class Work>
  void for_each_element(Work work) {
    for (std::size_t row = 0; row < a.count; ++row)
      for (std::size_t column = 0; column < b.count; ++column)
        work(blocks().block(row / 2, column / 8) + element_of_block(row % 2, column % 8) * item,
             (row * b.count + column) * item);
  }

  // The values of some steps, each filled up with zeros.
  void gather(const KLines& from, const SumStep* steps, std::size_t count, std::size_t room,
              std::vector<std::byte>& to) const {
    const auto terms = static_cast<std::size_t>(tile.terms);
    for (std::size_t line = 0; line < from.count; ++line) {
      std::byte* out = &to[line * room * terms * from.item];
      for (std::size_t s = 0; s < room; ++s, out += terms * from.item) {
        const std::size_t values = s < count ? steps[s].count : 0;
        if (values != 0) std::memcpy(out, from.at(line, steps[s].first), values * from.item);
        if (values != terms) std::memset(out + values * from.item, 0, (terms - values) * from.item);
      }
    }
  }

  // Precondition: not more steps than the largest batch has.
  void go_on(const SumStep* steps, std::size_t count) {
    auto chosen =
        std::ranges::find_if(batches, [&](const auto& batch) { return batch->stripe.steps <= count; });
    if (chosen == batches.end()) chosen = batches.end() - 1;
    const std::size_t now = std::min((*chosen)->stripe.steps, count);
    Batch& batch = **chosen;
    gather(a, steps, now, batch.stripe.steps, batch.of_a);
    gather(b, steps, now, batch.stripe.steps, batch.of_b);
    batch.multiply(blocks());
    if (now < count) go_on(steps + now, count - now);
  }
  // By the specification.
  void run_elements(const SumBlock& steps) {
    Batch& batch = *batches[0];
    for (const SumStep& step : steps) {
      gather(a, &step, 1, 1, batch.of_a);
      gather(b, &step, 1, 1, batch.of_b);
      for_each_element([&](std::byte* code, std::size_t place) {
        std::uint64_t c = 0;
        std::memcpy(&c, code, item);
        c = run_step(batch.product, 0, place / item / b.count, place / item % b.count, c);
        std::memcpy(code, &c, item);
      });
    }
  }

  Instruction i;
  const Tile& tile;
  std::size_t item;
  KLines a, b;
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<std::byte> running;
};

Chains::Chains(const Instruction& instruction, const Gemm& problem, Tf32Rounding rounding,
               const ExecuteOptions& how)
    : state_(std::make_unique<State>(instruction, problem, rounding, how)) {}
Chains::~Chains() = default;
Chains::Chains(Chains&&) noexcept = default;
Chains& Chains::operator=(Chains&&) noexcept = default;

void Chains::run(const SumBlock& steps, const std::byte* start, std::byte* d) {
  const DefaultFloating floating;
  State& s = *state_;
  std::ranges::fill(s.running, std::byte{0});
  if (start != nullptr)
    s.for_each_element([&](std::byte* code, std::size_t place) { std::memcpy(code, start + place, s.item); });
  if (s.batches[0]->engine == nullptr) {
    s.run_elements(steps);
  } else {
    const std::size_t most = s.batches[0]->stripe.steps;
    for (std::size_t first = 0; first < steps.size(); first += most)
      s.go_on(&steps[first], std::min(most, steps.size() - first));
  }
  s.for_each_element([&](const std::byte* code, std::size_t place) { std::memcpy(d + place, code, s.item); });
}

}  // namespace warpbit
