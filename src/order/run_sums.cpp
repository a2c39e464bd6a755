// SPDX-License-Identifier: Apache-2.0
#include "order/run_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "api/merged_runs.hpp"
#include "api/sums.hpp"
#include "kernel/floating.hpp"
#include "numeric/formats.hpp"

namespace warpbit::order {
namespace {

constexpr std::size_t kMostRemembered = std::size_t{1} << 18;

// ---- Numbers of f32, f16 and bf16

bool is_narrow_or_f32(const Format& f) {
  return f.id == FormatId::f32 || f.id == FormatId::f16 || f.id == FormatId::bf16;
}

//  31   30..23    22..13  12..0
//  S   EEEEEEEE   kept    f16 rounds to nearest even; below 2^-14 an addition of 0.5 does, whose last bit is 2^-24
std::uint32_t f16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint32_t>(format(FormatId::f16).canonical_nan);
  if (magnitude >= 0x477FF000) return sign | 0x7C00;  // from 65520 on
  if (magnitude < 0x38800000)
    return sign | (std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000);
  return sign | (magnitude + 0xFFF + (magnitude >> 13 & 1) - 0x38000000) >> 13;
}
std::uint32_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint32_t>(format(FormatId::bf16).canonical_nan);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}
std::uint32_t f32_of(float x) {
  return std::isnan(x) ? static_cast<std::uint32_t>(format(FormatId::f32).canonical_nan)
                       : std::bit_cast<std::uint32_t>(x);
}
std::uint32_t encoded(const Format& f, float x) {
  return f.id == FormatId::f16 ? f16_of(x) : f.id == FormatId::bf16 ? bf16_of(x) : f32_of(x);
}

//  15  14..10  9..0
//  S   EEEEE   F      a subnormal is F 2^-24
float number_of_f16(std::uint32_t code) {
  const std::uint32_t sign = (code & 0x8000) << 16, magnitude = code & 0x7FFF;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | magnitude << 13 | 0x7F800000);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  return std::bit_cast<float>(sign | small);
}
float number_of(const Format& f, std::uint32_t code) {
  return f.id == FormatId::f16    ? number_of_f16(code)
         : f.id == FormatId::bf16 ? std::bit_cast<float>(code << 16)
                                  : std::bit_cast<float>(code);
}

void round_to(const Format& f, Values& x) {
  if (f.id == FormatId::f16)
    for (float& value : x) value = number_of_f16(f16_of(value));
  if (f.id == FormatId::bf16)
    for (float& value : x) value = std::bit_cast<float>(bf16_of(value) << 16);
}
void add(const Values& y, const Format& to, Values& x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  round_to(to, x);
}

// ---- The merge

Values merged_runs(std::span<const Values> runs, MergeOrder by, const Format& to) {
  const auto rounded = [&](Values x) {
    round_to(to, x);
    return x;
  };
  const auto added = [&](Values x, const Values& y) {
    add(y, to, x);
    return x;
  };
  return rounded(RunMerge(
      runs.size(), [&](std::size_t run) { return runs[run]; }, rounded, added)(by));
}

// The steps as lines of equal ones: (first, values of each, distance, steps).
std::vector<std::uint32_t> key_of(const SumBlock& steps, bool from_c) {
  std::vector<std::uint32_t> out = {from_c};
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t last = i + 1;
    const std::size_t next = last < steps.size() ? steps[last].first - steps[i].first : 0;
    while (last < steps.size() && steps[last].count == steps[i].count &&
           steps[last].first - steps[last - 1].first == next)
      ++last;
    const std::size_t values[] = {steps[i].first, steps[i].count, next, last - i};
    for (const std::size_t value : values) out.push_back(static_cast<std::uint32_t>(value));
    i = last;
  }
  return out;
}

// What an order says of the runs, without what is done with their sums.
SumOrder order_of_runs(SumOrder o) {
  const SumOrder usual;
  o.partials = o.merge = o.between = o.store = "";
  o.merge_order = usual.merge_order;
  o.alpha = usual.alpha, o.beta = usual.beta, o.fused = usual.fused;
  o.store_rounding = usual.store_rounding;
  return o;
}

}  // namespace

std::size_t RunSums::KeyHash::operator()(const std::vector<std::uint32_t>& key) const {
  std::uint64_t out = 0;
  for (const std::uint32_t word : key) {
    out = (out ^ word) * 0x9E3779B97F4A7C15;
    out ^= out >> 32;
  }
  return static_cast<std::size_t>(out);
}

RunSums::RunSums(const Instruction& instruction, const Gemm& problem, std::span<const std::size_t> places,
                 const ExecuteOptions& how)
    : i_(instruction), g_(problem), places_(places.begin(), places.end()), how_(how) {
  sum_ = find_format(i_.operands()[0].format);
  if ((sum_->id != FormatId::f32 && sum_->id != FormatId::f16) || g_.a_scale.data != nullptr ||
      g_.b_scale.data != nullptr || i_.blocks() != 0)
    return;
  result_.resize(g_.rows * g_.columns * 8);
  Gemm plain = g_;
  plain.c = plain.bias = {};
  plain.d = {result_.data(), static_cast<std::ptrdiff_t>(g_.columns), 1};
  is_known_ = gemm(i_, plain, {{}, how_}).ok();
}

bool RunSums::knows(const SumOrder& o) const {
  const auto is_usual = [](const std::string& name) {
    const Format* const f = name.empty() ? &format(FormatId::f32) : find_format(name);
    return f != nullptr && is_narrow_or_f32(*f);
  };
  return is_known_ && o.k_order.empty() && !o.scales_last &&
         (o.promote_format.empty() || o.promote_format == "f32") && is_usual(o.partials) && is_usual(o.merge) &&
         is_usual(o.store) && (o.c_last || (o.beta == 1 && o.between.empty())) &&
         (o.between.empty() || is_usual(o.between)) &&
         (o.tf32 == Tf32Rounding::cut ||
          (i_.find(Part::a)->format == "tf32" && i_.find(Part::b)->format == "tf32"));
}

RunSums::Rounded& RunSums::rounded(Tf32Rounding rounding) {
  auto found = rounded_.find(rounding);
  if (found == rounded_.end())
    found = rounded_.emplace(rounding, Rounded{Chains(i_, g_, rounding, how_)}).first;
  return found->second;
}

const Values& RunSums::of_block(Rounded& from, const SumBlock& steps, bool from_c) {
  if (from.memo.size() >= kMostRemembered) from.memo.clear();
  const auto [found, is_new] = from.memo.try_emplace(key_of(steps, from_c));
  if (!is_new) return found->second;
  from.chains.run(steps, from_c ? start_.data() : nullptr, result_.data());
  const std::size_t item = code_bytes(sum_->bits);
  for (std::size_t n = 0; n < places_.size(); ++n) {
    std::uint32_t code = 0;
    std::memcpy(&code, &result_[places_[n] * item], item);
    found->second[n] = number_of(*sum_, code);
  }
  return found->second;
}

Values RunSums::of_slice(Rounded& from, const SumSlice& slice, bool from_c, bool promotes) {
  if (!promotes) return of_block(from, slice[0], from_c);
  Values outer = {};
  if (from_c) outer = of_block(from, {}, true);
  for (const SumBlock& block : slice) add(of_block(from, block, false), format(FormatId::f32), outer);
  return outer;
}

// False if there are none.
bool RunSums::find_run_sums(const SumOrder& order) {
  SumOrder of_runs = order_of_runs(order);
  if (last_ == of_runs) return true;
  last_.reset();
  const Result<std::vector<SumRun>> runs = find_runs(i_, g_.depth, order);
  if (!runs) return false;
  const bool promotes = order.promote != 0, starts_at_c = !order.c_last && g_.c.data != nullptr;
  const Format& format_of_slices = promotes ? format(FormatId::f32) : *sum_;
  if (starts_at_c && start_.empty()) {
    const std::size_t item = code_bytes(sum_->bits);
    for (std::size_t row = 0; row < g_.rows; ++row)
      for (std::size_t column = 0; column < g_.columns; ++column) {
        const auto at = static_cast<std::ptrdiff_t>(row) * g_.c.row_stride +
                        static_cast<std::ptrdiff_t>(column) * g_.c.column_stride;
        const auto* code = static_cast<const std::byte*>(g_.c.data) + at * static_cast<std::ptrdiff_t>(item);
        start_.insert(start_.end(), code, code + item);
      }
  }
  Rounded& from = rounded(order.tf32);
  runs_.clear();
  for (const SumRun& run : *runs) {
    const bool from_c = starts_at_c && runs_.empty();
    runs_.push_back(merged_slices(
        order, run.size(), [&](std::size_t i) { return of_slice(from, run[i], from_c && i == 0, promotes); },
        [&](Values x, const Values& y) {
          add(y, format_of_slices, x);
          return x;
        }));
  }
  last_ = std::move(of_runs);
  return true;
}

void RunSums::store(const SumOrder& order, const Format& merged, const Format& stored, const Values& sums) {
  const bool has_c = order.c_last && g_.c.data != nullptr;
  if (!has_c && g_.bias.data == nullptr && order.alpha == 1 && order.store_rounding == Rounding::nearest_even) {
    for (std::size_t n = 0; n < places_.size(); ++n) codes_[n] = encoded(stored, sums[n]);
    return;
  }
  // The small product again, of which most elements do not count.
  Sums all(merged, g_.rows, g_.columns);
  for (std::size_t n = 0; n < places_.size(); ++n) {
    const std::uint32_t code = encoded(merged, sums[n]);
    std::memcpy(&all.codes[places_[n] * all.item()], &code, all.item());
  }
  const auto matrix = [&](const MatrixView& view) {
    auto* data = static_cast<std::byte*>(const_cast<void*>(view.data));  // only read
    return ItemMatrix{data, view.row_stride, view.column_stride, code_bytes(stored.bits)};
  };
  const ItemMatrix d{result_.data(), static_cast<std::ptrdiff_t>(g_.columns), 1, code_bytes(stored.bits)};
  warpbit::store({&order, &stored, matrix(g_.c), matrix(g_.bias), d}, all, 1);
  for (std::size_t n = 0; n < places_.size(); ++n)
    codes_[n] = d.get(places_[n] / g_.columns, places_[n] % g_.columns);
}

std::optional<std::span<const std::uint64_t>> RunSums::codes(const SumOrder& order) {
  const DefaultFloating floating;
  if (!knows(order) || !find_run_sums(order)) return std::nullopt;
  const Format& usual = order.promote != 0 ? format(FormatId::f32) : *sum_;
  const auto named = [](const std::string& name, const Format& otherwise) -> const Format& {
    return name.empty() ? otherwise : *find_format(name);
  };
  const Format &partials = named(order.partials, usual), &merged = named(order.merge, usual),
               &stored = named(order.store, merged);
  std::vector<Values> rounded;
  std::span<const Values> runs = runs_;
  if (partials.id != usual.id) {
    rounded = runs_;
    for (Values& sum : rounded) round_to(partials, sum);
    runs = rounded;
  }
  store(order, merged, stored, merged_runs(runs, order.merge_order, merged));
  return std::span(codes_).first(places_.size());
}

}  // namespace warpbit::order
