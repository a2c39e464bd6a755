// SPDX-License-Identifier: Apache-2.0
// What the names of cuBLAS's kernels say (golden/products/ has the evidence). cuBLAS multiplies column-major matrices, so it
// computes the transpose of a row-major D: tiles of AxB are A columns wide and B rows high.
#include "warpbit/find_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>

#include "numeric/words.hpp"
#include "text/wrapped.hpp"

namespace warpbit {
namespace {

using Sizes = std::vector<std::size_t>;

std::size_t divided_up(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

// "64x16" as {64, 16}; nothing if it is something else, or a size is 0.
Sizes sizes_in(std::string_view word) {
  Sizes out;
  for (const std::string_view number : words_between(word, "x")) {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
    if (error != std::errc{} || end != number.data() + number.size() || n == 0) return {};
    out.push_back(n);
  }
  return out;
}

// A name, or what stands in it from here on, as the words between its low lines.
struct Name {
  std::vector<std::string_view> words;

  static std::optional<Name> found(std::string_view text, std::string_view from) {
    const std::size_t first = text.find(from);
    if (first == std::string_view::npos) return std::nullopt;
    text.remove_prefix(first);
    const auto ends = [](char c) {
      return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z');
    };
    return Name{words_between(
        text.substr(0, static_cast<std::size_t>(std::ranges::find_if(text, ends) - text.begin())), "_")};
  }
  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
  std::string_view with(std::string_view part) const {
    const auto word = std::ranges::find_if(words, [&](auto w) { return w.find(part) != w.npos; });
    return word == words.end() ? std::string_view() : *word;
  }
  // All words that are sizes, in order.
  std::vector<Sizes> sizes() const {
    std::vector<Sizes> out;
    for (const std::string_view word : words)
      if (Sizes s = sizes_in(word); s.size() == 2) out.push_back(std::move(s));
    return out;
  }
};

// ---- What all kernels share

struct Call {
  const NamedProduct& product;
  const NamedLaunch& gemm;
  Name name;
  bool reduces;   // cuBLAS's kernel adds the runs
  bool collects;  // one of the kernel's own does

  std::size_t width() const { return std::max<std::size_t>(gemm.grid[0], 1); }
  std::size_t blocks() const { return gemm.grid[0] * gemm.grid[1] * gemm.grid[2]; }
  std::size_t batch() const { return std::max<std::size_t>(product.batch, 1); }
  // Of D, rounded up to whole clusters.
  std::size_t tiles(const Sizes& tile, const Sizes& cluster = {1, 1}) const {
    const std::size_t wide = divided_up(divided_up(product.columns, tile[0]), cluster[0]) * cluster[0],
                      high = divided_up(divided_up(product.rows, tile[1]), cluster[1]) * cluster[1];
    return std::max<std::size_t>(wide * high * batch(), 1);
  }
};

Error refusal(const Call& call, std::string_view why, std::string_view accepted) {
  return {Errc::usage, "order of the sum", fmt::format("the kernel {}{}", fmt::join(call.name.words, "_"), why),
          std::string(accepted)};
}

std::size_t bits_of(std::string_view format) {
  return format == "f64"                       ? 64
         : format == "tf32" || format == "f32" ? 32
         : format == "f16" || format == "bf16" ? 16
                                               : 8;
}

// On CUDA cores: a product a step.
std::string chain_form(const NamedProduct& p) {
  if (p.a == "f16" || p.a == "bf16") return "chain.fma.rn.f32." + p.a;
  return "chain.fma.rn." + (p.a == "tf32" ? "f32" : p.a);
}

std::string product_form(const NamedProduct& p, bool of_warpgroup, std::size_t depth) {
  const std::string_view sum = p.a == "s8" || p.a == "u8" ? "s32" : p.a == "f64" ? "f64" : "f32";
  if (of_warpgroup) return fmt::format("wgmma.mma_async.sync.aligned.m64n8k{}.{}.{}.{}", depth, sum, p.a, p.b);
  return fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{}", depth, sum, p.a, p.b, sum);
}

// ---- Families of kernels

// Names speak of cuBLAS's A and B: row-major ones are exchanged.
void add_scales(const Name& name, SumOrder& order) {
  const bool has_blocks = !name.with("blk").empty();
  order.scales_last = name.with("vec").empty() && !has_blocks;
  if (name.has("ovscale")) order.scale_order = FactorOrder::b_first;
  if (!order.scales_last && !has_blocks) order.scale_order = FactorOrder::a_first;
}

//     nvjet_sm90_hsh_64x32_64x16_4x2_h_bz_splitK_NNT
//                    tile  K     cluster             (16 stages)
Result<KernelOrder> nvjet(const Call& call) {
  const std::vector<Sizes> sizes = call.name.sizes();
  if (sizes.size() != 3) return refusal(call, "", "nvjet_sm90_TYPES_TILE_DEPTHxSTAGES_CLUSTER_...");
  const std::size_t depth = sizes[1][0];
  KernelOrder out{product_form(call.product, true, 256 / bits_of(call.product.a)), {}};
  if (call.name.has("splitK")) {
    out.order.split_k = std::max<std::size_t>(call.blocks() / call.tiles(sizes[0], sizes[2]), 1);
    out.order.unit = depth;
    out.order.spread = Spread::cut;
  }
  if (call.name.has("algo2")) out.order.promote = depth;
  if (call.name.has("badd")) out.order.between = call.product.d;
  if (call.product.has_scales) add_scales(call.name, out.order);
  return out;
}

//     cutlass_80_tensorop_f16_s16816gemm_f16_256x64_64x3_nn_align2
//                         D   shape          tile   K    layouts
// The type of D is there unless it is f32. Older names lack K, which is 32.
Result<KernelOrder> cutlass(const Call& call) {
  const Name& name = call.name;
  const std::vector<Sizes> sizes = name.sizes();
  const std::string_view shape = name.with("gemm");
  const bool is_chain = name.has("simt");
  if (sizes.empty() || shape.empty())
    return refusal(call, "", "cutlass_80_tensorop_SHAPEgemm_TYPES_TILE_DEPTHxSTAGES_LAYOUTS_...");
  const bool is_narrow = bits_of(call.product.a) == 16 && shape.find("1688") != shape.npos;
  KernelOrder out{product_form(call.product, false, is_narrow ? 8 : 256 / bits_of(call.product.a)), {}};
  if (is_chain) out.form = chain_form(call.product);
  if (shape.starts_with("d884")) out.form = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
  SumOrder& order = out.order;
  if (call.product.a == "s8") return out;
  if (!is_chain) order.short_first = sizes.size() == 1 ? 32 : sizes[1][0];
  order.split_k = std::max<std::size_t>(call.gemm.grid[2] / call.batch(), 1);
  if (order.split_k == 1) return out;
  // Runs have whole lines of memory if one of the operands is contiguous along K and whole lines deep.
  const std::size_t line = 1024 / bits_of(call.product.a);
  const bool contiguous = name.has("tn") || name.has("tt") || name.has("nn");
  order.unit = contiguous && call.product.depth % line == 0 ? line : line / 8;
  const auto before = std::ranges::find(name.words, shape);
  if (before != name.words.begin() && before[-1] == call.product.d)
    (call.reduces ? order.partials : order.merge) = call.product.d;
  return out;
}

//     sm80_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_..._execute_kernel__5x_cublas
//     sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas
Result<KernelOrder> xmma(const Call& call) {
  constexpr std::string_view kTile = "tilesize";
  std::string_view tile = call.name.with(kTile);
  const bool is_chain = call.name.has("ffma");
  tile.remove_prefix(std::min(kTile.size(), tile.size()));
  const Sizes sizes = sizes_in(tile);
  if (sizes.size() != 3) return refusal(call, "", "sm80_xmma_gemm_TYPES_LAYOUTS_tilesizeAxBxC_...");
  KernelOrder out{
      product_form(call.product, !call.name.with("warpgroupsize").empty(), 256 / bits_of(call.product.a)), {}};
  if (is_chain) out.form = chain_form(call.product);
  if (call.product.a == "f64") out.form = product_form(call.product, false, 16);
  SumOrder& order = out.order;
  if (call.collects) {
    order.slices = std::max<std::size_t>(call.gemm.grid[2] / call.batch(), 1);
    order.slice_width = order.slices == 1 ? 0 : sizes[2];
  }
  if (call.name.has("segment") && call.name.has("on")) {
    order.split_k = call.blocks() / call.tiles(sizes);
    if (order.split_k == 0)
      return refusal(call, " cuts K in some tiles of D only", "one with a block or more for each tile");
    order.unit = sizes[2];
    order.spread = Spread::last;
    order.merge_order = MergeOrder::tree;
  }
  return out;
}

// ---- On CUDA cores, vectors and small matrices. `words` are what stands between < and the first template in the name.

std::size_t number_at(const std::vector<std::string_view>& words, std::size_t i) {
  const Sizes n = i < words.size() ? sizes_in(words[i]) : Sizes();
  return n.empty() ? 0 : n[0];
}
std::vector<std::string_view> arguments_of(const Call& call, std::string_view kernel) {
  std::string_view text = call.gemm.name;
  text.remove_prefix(std::min(text.find(kernel) + kernel.size(), text.size()));
  if (!text.starts_with('<')) return {};
  text.remove_prefix(1);
  std::vector<std::string_view> out = words_between(text.substr(0, text.find_first_of("<>")), ",");
  for (std::string_view& word : out) word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  return out;
}
Error unknown_sum(const Call& call, std::size_t most) {
  return refusal(call, fmt::format(" sums {} values", call.product.depth),
                 fmt::format("up to {}: of more, no order is known", most));
}

//     gemmSN_NN_kernel<float, 128, 2, 4, 8, 4, 4, false, ...>      two runs; `true`: of parts of 128 values
Result<KernelOrder> gemm_sn(const Call& call) {
  const auto words = arguments_of(call, "gemmSN_NN_kernel");
  const std::size_t runs = number_at(words, 2);
  constexpr std::size_t kPart = 128;
  if (runs == 0 || words.size() < 8)
    return refusal(call, "", "gemmSN_NN_kernel<T, THREADS, RUNS, ., ., ., ., PARTS, ...>");
  const bool has_parts = words[7] == "true";
  if (!has_parts && call.product.depth > kPart * runs) return unknown_sum(call, kPart * runs);
  KernelOrder out{chain_form(call.product), {}};
  out.order.split_k = runs;
  if (has_parts) out.order.promote = kPart;
  return out;
}

//     gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false, ...>     16 threads an element
Result<KernelOrder> gemm_sn_tn(const Call& call) {
  const std::size_t threads = number_at(arguments_of(call, "gemmSN_TN_kernel"), 2);
  if (call.product.depth > threads) return unknown_sum(call, threads);
  KernelOrder out{chain_form(call.product), {}};
  out.order.slices = threads;
  out.order.slice_width = 1;
  return out;
}

// A tile of D by a block: lanes are the threads of an element.
//
//     gemvx::kernel<int, int, float, float, float, float, false, true, true, false, 7, false, ...>
//                             A      x      y      sum                 by rows      log2 of the threads of a block
Result<KernelOrder> gemvx(const Call& call) {
  const auto words = arguments_of(call, "gemvx::kernel");
  const std::size_t power = number_at(words, 10);
  if (power == 0 || power > 10)
    return refusal(call, "", "gemvx::kernel<., ., A, X, Y, SUM, ., ., ROWS, ., LOG2_THREADS, ...>");
  constexpr std::size_t kStretch = 512;  // seen up to 500 values; 8192 are taken one by one
  const NamedProduct& p = call.product;
  const std::size_t threads = std::size_t{1} << power, elements = std::max(p.rows, p.columns);
  const std::size_t tile = std::max<std::size_t>(std::bit_ceil(divided_up(elements, call.width())), 4),
                    lanes = std::max<std::size_t>(threads / tile, 1);
  KernelOrder out{chain_form(p), {}};
  out.order.split_k = std::max<std::size_t>(call.gemm.grid[2] / call.batch(), 1);
  if (lanes == 1) return out;
  const std::size_t share = divided_up(divided_up(p.depth, out.order.split_k), lanes);
  out.order.slices = lanes;
  const bool by_rows = words[8] == "true";
  out.order.slice_width = (by_rows ? p.depth > kStretch : lanes >= 32) ? 1
                          : by_rows                                    ? share
                                                                       : std::min(share, threads / lanes);
  out.order.slice_order = SliceOrder::halves;
  return out;
}

//     gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024, false, ...>     32 lanes with 4 values each
Result<KernelOrder> gemv_nsp(const Call& call) {
  const auto words = arguments_of(call, "gemvNSP_kernel");
  const std::size_t lanes = number_at(words, 5), width = number_at(words, 6);
  if (!std::has_single_bit(lanes) || lanes > 32 || width == 0 || width > 1024)
    return refusal(call, "", "gemvNSP_kernel<A, X, Y, SUM, ., LANES, WIDTH, ...>");
  if (call.product.depth > lanes * width) return unknown_sum(call, lanes * width);
  KernelOrder out{chain_form(call.product), {}};
  out.order.slices = lanes;
  out.order.slice_width = width;
  out.order.slice_order = SliceOrder::halves;
  return out;
}

//     gemv2N_kernel<...>     a thread an element, which multiplies by alpha first
Result<KernelOrder> gemv_2n(const Call& call) {
  if (call.product.alpha != 1) return refusal(call, fmt::format(" with alpha {}", call.product.alpha), "1");
  return KernelOrder{chain_form(call.product), {}};
}

// Each block sums a run by its threads; then four threads sum the runs.
//
//     dot_kernel<float, 128, 0, ...>     a thread has two neighbours, each in a sum of its own; one value of f64, and of vectors
//                                        with gaps, which have a grid of 31 blocks
Result<KernelOrder> dot_of_blocks(const Call& call) {
  constexpr std::size_t kBlocksWithGaps = 31;
  const NamedProduct& p = call.product;
  const std::size_t threads = number_at(arguments_of(call, "dot_kernel"), 1);
  if (!std::has_single_bit(threads) || threads > 1024)
    return refusal(call, "", "dot_kernel<SUM, THREADS, ...>");
  KernelOrder out{chain_form(p), {}};
  SumOrder& order = out.order;
  const bool has_pairs = p.a != "f64" && call.width() != kBlocksWithGaps;
  order.slices = has_pairs ? 2 * threads : threads;
  order.slice_width = 1;
  order.slice_order = has_pairs ? SliceOrder::pair_halves : SliceOrder::halves;
  constexpr std::size_t kMostRuns = 32;
  const std::size_t unit = order.slices, units = divided_up(p.depth, unit);
  order.split_k = std::min(units, call.width());
  if (order.split_k > kMostRuns) return unknown_sum(call, kMostRuns * unit);
  if (order.split_k > 1) order.unit = unit;
  if (order.split_k > 4) order.merge_order = MergeOrder::fours;
  if (units > order.split_k) order.spread = Spread::turns;
  return out;
}

//     gemmk1_kernel<...>     K is 1
Result<KernelOrder> gemm_k1(const Call& call) {
  if (call.product.depth != 1) return unknown_sum(call, 1);
  return KernelOrder{chain_form(call.product), {}};
}

struct Family {
  std::string_view name;
  Result<KernelOrder> (*order)(const Call&);
};
constexpr Family kFamilies[] = {
    {"nvjet_sm90_", nvjet},           {"cutlass_75_", cutlass},      {"cutlass_80_", cutlass},
    {"sm80_xmma_gemm_", xmma},        {"sm90_xmma_gemm_", xmma},     {"gemmSN_NN_kernel", gemm_sn},
    {"gemmSN_TN_kernel", gemm_sn_tn}, {"gemvx::kernel", gemvx},      {"gemvNSP_kernel", gemv_nsp},
    {"gemv2N_kernel", gemv_2n},       {"dot_kernel", dot_of_blocks}, {"gemmk1_kernel", gemm_k1}};

bool is_launched(const NamedProduct& p, std::string_view part) {
  return std::ranges::any_of(p.launches,
                             [&](const NamedLaunch& l) { return l.name.find(part) != l.name.npos; });
}

// alpha, beta and the formats at both ends.
void complete(const Call& call, SumOrder& order) {
  const NamedProduct& p = call.product;
  if (p.a == "tf32") order.tf32 = Tf32Rounding::nearest_even;
  order.alpha = p.alpha;
  if (p.has_c) {
    order.c_last = true;
    order.beta = p.beta;
    if (call.reduces) order.fused = p.a == "f32" ? FusedScaling::beta : FusedScaling::none;
  }
  if (p.d != "f32" && p.d != "s32" && p.d != "f64") order.store = p.d;
}

std::string known_families() {
  std::string out;
  for (const Family& family : kFamilies) out += fmt::format("{}{}", out.empty() ? "" : ", ", family.name);
  return out;
}

}  // namespace

Result<KernelOrder> kernel_order(const NamedProduct& product) {
  for (const NamedLaunch& launch : product.launches)
    for (const Family& family : kFamilies) {
      std::optional<Name> name = Name::found(launch.name, family.name);
      if (!name) continue;
      const Call call{product, launch, *std::move(name), is_launched(product, "splitKreduce"),
                      is_launched(product, "execute_split_k_kernel")};
      Result<KernelOrder> out = family.order(call);
      if (!out) return out;
      if (out->form.starts_with("chain.") && product.a == "tf32")
        return refusal(call, " uses no tensor core", "operands of f32");
      complete(call, out->order);
      return out;
    }
  const auto computes = [](const NamedLaunch& l) {
    return !l.name.starts_with("Mem");
  };  // Memset (Device), Memcpy
  const auto first = std::ranges::find_if(product.launches, computes);
  return Error{
      Errc::usage, "order of the sum",
      first == product.launches.end() ? "no kernel" : fmt::format("the kernel {}", cut_off(first->name, 100)),
      known_families() + "..."};
}

}  // namespace warpbit
