// SPDX-License-Identifier: Apache-2.0
// Every kernel against the specification, Kernel::reference, on whole tiles: the same bits for every form of a dot
// product on every target.
// WARPBIT_KERNEL_COUNT is the number of dot products for each plan (30000 unless set), which its forms share. Each kernel
// computes all of them where WARPBIT_KERNEL_INPUTS is `bits`, registers of random bits, or `boundaries`, boundary codes crossed.
// The first WARPBIT_KERNEL_PLANS - 1 plans are left out where that is set: an interrupted run goes on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "count_wanted.hpp"
#include "in_turn.hpp"
#include "isa/instruction.hpp"
#include "kernel_cases.hpp"

namespace kernel_test {

using namespace warpbit;
using namespace kernel_cases;

// What the kernels may treat alike: "mma: fused", "mma.sp: integer sum", "mma, 4 products: pair sums".
std::string kind_of(const Subject& x) {
  constexpr const char* kNames[] = {"fused", "group scaled", "windowed groups", "fma chain", "pair sums",
                                    "add",   "convert",      "integer sum",     "bit count"};
  static_assert(std::size(kNames) == std::variant_size_v<Step>);
  std::string step;
  for (const Step& s : *x.tile().plan)
    if (step.empty() && !std::holds_alternative<Convert>(s)) step = kNames[s.index()];
  const int products = x.instruction.products();
  return fmt::format("{}{}: {}", x.instruction.family(),
                     products > 1 ? fmt::format(", {} products", products) : "", step);
}

// ---- Comparison

constexpr std::size_t kCases = tiles::Builder::kKinds;  // of a batch
constexpr std::byte kNoise{0x5A};                       // in a destination before it is written

Bytes results(const Subject& x, const Inputs::Batch& batch, Kernel kernel) {
  Cells d(x.instruction, 0, batch.kinds.size());
  std::ranges::fill(d.bytes, kNoise);
  execute(x, batch.views(), d.result_view(), batch.kinds.size(), kernel);
  return d.bytes;
}

struct Outcome {
  std::uint64_t compared = 0, different = 0;  // dot products of each kernel
  std::string first;
};

// The first register of D that differs.
std::string text(const Subject& x, std::uint64_t number, const Inputs::Batch& batch, Kernel kernel,
                 const Bytes& got, const Bytes& expected) {
  const Operand& d = x.instruction.operands()[0];
  const auto byte = static_cast<int>(std::ranges::mismatch(got, expected).in1 - got.begin());
  const int size = d.register_bits / 8, at = byte / size;
  const int reg = at % d.registers, lane = at / d.registers % x.instruction.lanes();
  const auto index = static_cast<std::size_t>(at / d.registers / x.instruction.lanes());
  const auto value = [&](const Bytes& bytes) {
    std::uint64_t out = 0;
    std::memcpy(&out, &bytes[static_cast<std::size_t>(at * size)], static_cast<std::size_t>(size));
    return out;
  };
  const auto element = d.fragment.at_bit(lane, reg, byte % size * 8);
  return fmt::format("{}, {}: batch {}, case {} ({}), D[{},{}] in lane {}, register {}: {:x}, reference {:x}",
                     x.title(), name(kernel), number, index, batch.kinds[index], element ? element->row : -1,
                     element ? element->column : -1, lane, reg, value(got), value(expected));
}

// `turn`: of the first batch, whose kernel it is.
Outcome compare(const Subject& x, std::uint64_t count, std::size_t turn, std::string_view which) {
  const Inputs inputs(x.instruction, x.problem);
  const auto of_case =
      static_cast<std::uint64_t>(x.instruction.rows() * x.instruction.columns() * x.instruction.products());
  const std::uint64_t batches = (count + kCases * of_case - 1) / (kCases * of_case);
  std::uint64_t different = 0;
  Outcome out;
#pragma omp parallel for schedule(dynamic) reduction(+ : different)
  for (std::uint64_t i = 0; i < batches; ++i) {
    const Inputs::Batch batch = which == "bits"         ? inputs.of_bits(i, kCases)
                                : which == "boundaries" ? inputs.of_boundaries(i, kCases)
                                                        : inputs(i, kCases);
    const Bytes expected = results(x, batch, Kernel::reference);
    const std::vector<Kernel> kernels = fast_kernels();
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (which.empty() && !has_turn(turn + i, k, kernels.size())) continue;
      const Kernel kernel = kernels[k];
      const Bytes got = results(x, batch, kernel);
      if (got == expected) continue;
      ++different;
#pragma omp critical
      if (out.first.empty()) out.first = text(x, i, batch, kernel, got, expected);
    }
  }
  out.compared = batches * kCases * of_case;
  out.different = different;
  return out;
}

TEST_CASE("every kernel equals the specification", "[equal]") {
  const std::uint64_t count = count_wanted("WARPBIT_KERNEL_COUNT", 30000);
  const char* const which = std::getenv("WARPBIT_KERNEL_INPUTS");
  INFO("WARPBIT_KERNEL_INPUTS is bits, boundaries or not set");
  REQUIRE((which == nullptr || std::string_view(which) == "bits" || std::string_view(which) == "boundaries"));
  std::vector<Subject> list = distinct_subjects();
  std::uint64_t total = 0;
  std::size_t turn = 0;
  const std::uint64_t first = count_wanted("WARPBIT_KERNEL_PLANS", 1);
  for (std::uint64_t plan = 1; !list.empty(); ++plan) {
    const Subject head = list.front();
    const auto rest = std::ranges::partition(list, [&](const Subject& x) { return !x.same_plan(head); });
    if (plan < first) {
      list.erase(rest.begin(), rest.end());
      continue;
    }
    std::uint64_t compared = 0;
    std::size_t form = 0;
    for (const Subject& x : rest) {
      if (!has_turn(form++, 0, 3)) continue;
      const Outcome outcome = compare(x, count / rest.size() + 1, turn++, which == nullptr ? "" : which);
      INFO(outcome.first);
      CHECK(outcome.different == 0);
      compared += outcome.compared;
    }
    CHECK(compared >= count);
    fmt::print("{:>10} dot products in {:>3} forms of {}: {}\n", compared, rest.size(), kind_of(head),
               describe(*head.tile().plan));
    std::fflush(stdout);
    total += compared;
    list.erase(rest.begin(), rest.end());
  }
  std::vector<std::string_view> names;
  for (const Kernel kernel : fast_kernels()) names.push_back(name(kernel));
  fmt::print("total: {} dot products by {}\n", total, fmt::join(names, ", "));
  CHECK(total > 0);
}

// Four powers of two in a row: the specification alone computes them.
bool has_no_kernel(const Subject& x) {
  const TileScale& scale = x.tile().a_scale;
  return scale.format != nullptr && scale.format->id == FormatId::ue8m0 && scale.blocks == 4;
}

TEST_CASE("every dot product with factors in registers has the kernels", "[equal]") {
  const std::vector<Kernel> none(fast_kernels().size(), Kernel::reference);
  for (const Subject& x : distinct_subjects()) {
    INFO(x.title());
    CHECK(kernels_that_run(x) == (has_no_kernel(x) ? none : fast_kernels()));
  }
}

}  // namespace kernel_test
