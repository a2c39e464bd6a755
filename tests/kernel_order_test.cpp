// SPDX-License-Identifier: Apache-2.0
// Products that cuBLAS computed on a GPU (golden/products/, recorded by tools/products/record.py, which says how inputs are
// made) come out bit for bit in the order that the names of their kernels tell.
#include "warpbit/find_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "warpbit/gemm.hpp"
#include "warpbit/inputs.hpp"

namespace kernel_order_test {

using namespace warpbit;
using Json = nlohmann::json;
using Indices = std::vector<std::size_t>;

// ---- Inputs

struct Type {
  std::size_t bits, exponent, fraction;
};
const std::map<std::string, Type, std::less<>> kTypes = {
    {"f16", {16, 5, 10}}, {"bf16", {16, 8, 7}}, {"f32", {32, 8, 23}}, {"e4m3", {8, 4, 3}},
    {"e5m2", {8, 5, 2}},  {"s8", {8, 0, 0}},    {"s32", {32, 0, 0}}};

enum Operand : std::uint64_t { a, b, c, bias, a_scale, b_scale };

std::uint64_t element(const Type& t, std::uint64_t place, std::uint64_t seed, Operand operand) {
  const std::uint64_t x = inputs::mix(place, 16 * seed + operand);
  const auto low = [](std::size_t bits) { return (std::uint64_t{1} << bits) - 1; };
  if (t.exponent == 0) return x & low(t.bits);
  const std::uint64_t sign = operand >= a_scale ? 0 : x >> 63,
                      exponent = (x >> 40 & 7) - 4 + (low(t.exponent) >> 1);
  return sign << (t.bits - 1) | exponent << t.fraction | (x & low(t.fraction));
}

// Codes in items of the type's size, row by row.
struct Matrix {
  Matrix(const Type& t, std::size_t m, std::size_t n)
      : item(t.bits / 8), columns(n), bytes(m * n * t.bits / 8) {}
  void set(std::size_t i, std::uint64_t code) { std::memcpy(&bytes[i * item], &code, item); }
  std::uint64_t get(std::size_t i) const {
    std::uint64_t out = 0;
    std::memcpy(&out, &bytes[i * item], item);
    return out;
  }
  MatrixView view() const { return {bytes.data(), static_cast<std::ptrdiff_t>(columns), 1}; }
  std::size_t item, columns;
  std::vector<std::byte> bytes;
};

// ---- A recorded product

struct Product {
  explicit Product(const Json& line) : json(line), name(line.at("name")), seed(line.at("seed")) {
    named.rows = line.at("m"), named.columns = line.at("n"), named.depth = line.at("k");
    named.batch = line.value("batch", std::size_t{1});
    named.d = line.at("d");
    named.has_c = line.at("op") == "addmm";
    named.alpha = line.value("alpha", 1.0F), named.beta = line.value("beta", 0.0F);
    scales = line.value("scales", "");
    named.has_scales = scales == "scalar" || scales == "rows" || scales == "blocks" || scales == "strips";
    for (const Json& kernel : line.at("kernels"))
      named.launches.push_back({kernel.at("name"), kernel.value("grid", std::array<std::size_t, 3>{1, 1, 1})});
    const bool rounds = line.value("tf32", false) && !is_on_cuda_cores();
    named.a = rounds ? "tf32" : line.at("a");
    named.b = rounds ? "tf32" : line.at("b");
  }
  const Type& type(const char* which) const { return kTypes.find(json.at(which).get<std::string>())->second; }

  bool is_on_cuda_cores() const {
    constexpr std::string_view kParts[] = {"_simt_", "_ffma_", "dot_kernel", "gemvx", "gemmSN"};
    return std::ranges::any_of(named.launches, [&](const NamedLaunch& l) {
      return std::ranges::any_of(kParts, [&](std::string_view part) { return l.name.find(part) != l.name.npos; });
    });
  }

  // A row of A, or a column of B, at each of these places, as rows of K.
  Matrix lines(Operand operand, bool mirrored, std::size_t item, const Indices& places) const {
    const Type& t = type(operand == a ? "a" : "b");
    const std::size_t depth = named.depth, height = operand == a ? named.rows : depth,
                      width = operand == a ? depth : named.columns;
    Matrix out(t, places.size(), depth);
    for (std::size_t line = 0; line < places.size(); ++line)
      for (std::size_t i = 0; i < depth; ++i) {
        const bool twin = mirrored && i >= depth - depth / 2;
        const std::size_t k = twin ? depth - 1 - i : i, row = operand == a ? places[line] : k,
                          column = operand == a ? k : places[line];
        const std::uint64_t code = element(t, (item * height + row) * width + column, seed, operand);
        out.set(line * depth + i, twin && operand == a ? code ^ std::uint64_t{1} << (t.bits - 1) : code);
      }
    return out;
  }

  const Json& json;
  std::string name, scales;
  std::uint64_t seed;
  NamedProduct named;
};

// ---- The same by the function under test

// C, bias and scale factors at sampled places; empty where the product has none.
struct Extras {
  Extras(const Product& p, const Indices& rows, const Indices& columns) {
    const Type &d = p.type("d"), &f32 = kTypes.find("f32")->second;
    const auto fill = [&](Matrix& m, const Indices& lines, const Indices& across, auto place, const Type& t,
                          Operand operand) {
      m = Matrix(t, lines.size(), across.size());
      for (std::size_t i = 0; i < lines.size(); ++i)
        for (std::size_t j = 0; j < across.size(); ++j)
          m.set(i * across.size() + j, element(t, place(lines[i], across[j]), p.seed, operand));
    };
    const std::size_t blocks = p.named.depth / 128, wide = p.scales == "blocks" ? 128 : 1;
    const Indices one = {0};
    Indices all(blocks);
    for (std::size_t i = 0; i < blocks; ++i) all[i] = i;
    if (p.named.has_c)
      fill(
          c, rows, columns, [&](auto i, auto j) { return i * p.named.columns + j; }, d, Operand::c);
    if (p.json.at("op") == "bias")
      fill(
          bias, one, columns, [](auto, auto j) { return j; }, d, Operand::bias);
    if (p.scales == "scalar" || p.scales == "rows") {
      const std::size_t step = p.scales == "rows";
      fill(
          left, rows, one, [&](auto i, auto) { return step * i; }, f32, Operand::a_scale);
      fill(
          right, one, columns, [&](auto, auto j) { return step * j; }, f32, Operand::b_scale);
    } else if (p.named.has_scales) {
      fill(
          left, rows, all, [&](auto i, auto k) { return i * blocks + k; }, f32, Operand::a_scale);
      fill(
          right, all, columns, [&](auto k, auto j) { return j / wide * blocks + k; }, f32, Operand::b_scale);
    }
  }
  void give_to(Gemm& gemm) const {
    const auto view = [](const Matrix& m) { return m.bytes.empty() ? MatrixView() : m.view(); };
    gemm.c = view(c), gemm.a_scale = view(left), gemm.b_scale = view(right), gemm.bias = view(bias);
    if (gemm.bias.data != nullptr) gemm.bias.row_stride = 0;
  }
  Matrix c{{}, 0, 0}, bias{{}, 0, 0}, left{{}, 0, 0}, right{{}, 0, 0};
};

Matrix computed(const Product& p, const KernelOrder& how, bool mirrored, std::size_t item, const Indices& rows,
                const Indices& columns) {
  const Instruction instruction = Instruction::parse(how.form, "sm_90a").value();
  const Matrix left = p.lines(a, mirrored, item, rows), right = p.lines(b, mirrored, item, columns);
  const Extras extras(p, rows, columns);
  Matrix out(p.type("d"), rows.size(), columns.size());
  Gemm gemm;
  gemm.rows = rows.size(), gemm.columns = columns.size(), gemm.depth = p.named.depth;
  gemm.a = left.view();
  gemm.b = {right.bytes.data(), 1, static_cast<std::ptrdiff_t>(p.named.depth)};
  extras.give_to(gemm);
  gemm.d = {out.bytes.data(), static_cast<std::ptrdiff_t>(columns.size()), 1};
  GemmOptions options;
  options.order = how.order;
  options.execute.threads = 1;
  const auto done = warpbit::gemm(instruction, gemm, options);
  INFO(p.name << " by " << how.form << " " << how.order.text());
  if (!done) FAIL(done.error().message());
  return out;
}

// Sampled elements of a run that differ.
std::size_t mismatches(const Product& p, const KernelOrder& how, const Json& run) {
  const Indices items = p.json.at("items"), rows = p.json.at("rows"), columns = p.json.at("columns");
  const std::string recorded = run.at("d");
  const std::size_t digits = p.type("d").bits / 4, size = rows.size() * columns.size();
  REQUIRE(recorded.size() == digits * size * items.size());
  std::size_t out = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Matrix d = computed(p, how, run.at("profile") == "mirrored", items[i], rows, columns);
    for (std::size_t j = 0; j < size; ++j)
      out += d.get(j) != std::stoull(recorded.substr((i * size + j) * digits, digits), nullptr, 16);
  }
  return out;
}

// ---- The recording

const std::vector<Json>& recording() {
  static const std::vector<Json> lines = [] {
    std::ifstream file("golden/products/sm_90a.jsonl");
    std::vector<Json> out;
    for (std::string line; std::getline(file, line);) out.push_back(Json::parse(line));
    REQUIRE(out.size() == 465);
    out.erase(out.begin());  // of the machine
    return out;
  }();
  return lines;
}

// Few enough for a test: all of D, by its digest.
bool is_small(const Product& p) {
  return p.named.batch * p.named.rows * p.named.columns * p.named.depth <= std::size_t{1} << 24;
}
std::uint64_t digest(const Product& p, const KernelOrder& how, bool mirrored) {
  Indices rows(p.named.rows), columns(p.named.columns);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  std::uint64_t out = 0;
  const std::size_t size = rows.size() * columns.size();
  for (std::size_t item = 0; item < p.named.batch; ++item) {
    const Matrix d = computed(p, how, mirrored, item, rows, columns);
    for (std::size_t i = 0; i < size; ++i) out += inputs::mix(item * size + i, d.get(i));
  }
  return out;
}

struct Refused {
  const char* part;  // of the message
  std::size_t products;
};
// What no rule explains: a kernel of integers without tensor cores, and one in which some tiles of D cut K and others do not.
constexpr Refused kRefused[] = {{"cutlass1x", 1}, {"cuts K in some", 1}};

TEST_CASE("products of cuBLAS come out in the order that kernels' names tell", "[capture]") {
  std::vector<std::size_t> refused(std::size(kRefused));
  std::size_t equal = 0;
  for (const Json& line : recording()) {
    const Product p(line);
    const auto how = kernel_order(p.named);
    if (!how) {
      const std::string message = how.error().message();
      INFO(p.name << ": " << message);
      const auto* known = std::ranges::find_if(
          kRefused, [&](const Refused& r) { return message.find(r.part) != std::string::npos; });
      REQUIRE(known != std::end(kRefused));
      ++refused[static_cast<std::size_t>(known - kRefused)];
      continue;
    }
    INFO(p.name << " by " << how->form << " " << how->order.text());
    for (const Json& run : line.at("runs")) {
      if (run.at("profile") == "ones") continue;
      const bool mirrored = run.at("profile") == "mirrored";
      CHECK(mismatches(p, *how, run) == 0);
      if (is_small(p))
        CHECK(digest(p, *how, mirrored) == std::stoull(run.at("digest").get<std::string>(), nullptr, 16));
    }
    ++equal;
  }
  for (std::size_t i = 0; i < refused.size(); ++i) {
    INFO(kRefused[i].part);
    CHECK(refused[i] == kRefused[i].products);
  }
  CHECK(equal == 462);
}

// ---- Names

struct Named {
  const char *a, *d;
  std::size_t rows, columns, depth;
  std::vector<NamedLaunch> launches;
  const char *form, *order;
};
const std::string kReduce =
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half>(int)";

TEST_CASE("names of kernels and their grids tell the order", "[capture]") {
  const Named cases[] = {
      {"f16",
       "f16",
       64,
       64,
       4096,
       {{"nvjet_sm90_hsh_32x64_64x16_2x1_v_bz_splitK_NTN", {2, 3, 1}}, {kReduce, {2, 4, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
       "split_k=3 unit=64 spread=cut store=f16"},
      // 2 x 9 tiles, as clusters of 2 x 4: 2 x 12
      {"bf16",
       "bf16",
       200,
       120,
       8192,
       {{"nvjet_sm90_tst_64x24_64x16_2x4_h_bz_splitK_TNT", {8, 12, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
       "split_k=4 unit=64 spread=cut store=bf16"},
      {"e4m3",
       "f32",
       256,
       256,
       1024,
       {{"Memset (Device)"}, {"nvjet_sm90_qqsss_24x64_128x16_4x2_h_bz_algo2_TNN", {8, 6, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
       "promote=128"},
      {"bf16",
       "bf16",
       777,
       333,
       555,
       {{"void cutlass::Kernel2<cutlass_75_tensorop_s1688gemm_bf16_128x128_tn_align1>(int)", {28, 1, 6}},
        {kReduce}},
       "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
       "split_k=6 unit=8 short_first=32 store=bf16"},
      {"f16",
       "f16",
       2230,
       471,
       4480,
       {{"void cutlass::Kernel2<cutlass_75_tensorop_s1688gemm_f16_256x128_nn_align1>(int)", {36, 1, 3}},
        {kReduce}},
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       "split_k=3 unit=64 short_first=32 store=f16"},
      {"f16",
       "f16",
       27,
       1230,
       9500,
       {{"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x64_64x3_nn_align2>(int)",
         {4, 2, 26}},
        {kReduce}},
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       "split_k=26 unit=8 short_first=64 partials=f16 store=f16"},
      {"f16",
       "f16",
       777,
       333,
       555,
       {{"void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_64x64_nt_align1>(int)", {104, 1, 2}}},
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       "split_k=2 unit=8 short_first=32 merge=f16 store=f16"},
      {"tf32",
       "f32",
       777,
       333,
       555,
       {{"sm80_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x16_stage4_execute_kernel__5x_cublas",
         {7, 3, 6}},
        {"sm80_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x16_stage4_execute_split_k_kernel__5x_cublas",
         {7, 3, 4}}},
       "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
       "tf32=rn sliced=6x16"},
      {"tf32",
       "f32",
       128,
       1024,
       11528,
       {{"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas",
         {112, 1, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
       "tf32=rn split_k=7 unit=32 spread=last merge_order=tree"},
  };
  for (const Named& c : cases) {
    INFO(c.launches.front().name);
    NamedProduct product;
    product.a = product.b = c.a, product.d = c.d;
    product.rows = c.rows, product.columns = c.columns, product.depth = c.depth;
    product.launches = c.launches;
    const auto how = kernel_order(product);
    REQUIRE(how.ok());
    CHECK(how->form == c.form);
    CHECK(how->order.text() == c.order);
  }
}

TEST_CASE("kernels whose order no name tells are refused", "[capture]") {
  const std::pair<std::vector<NamedLaunch>, const char*> cases[] = {
      {{},
       "order of the sum: no kernel; expected nvjet_sm90_, cutlass_75_, cutlass_80_, sm80_xmma_gemm_, sm90_xmma_gemm_, "
       "gemmSN_NN_kernel, gemmSN_TN_kernel, gemvx::kernel, gemvNSP_kernel, gemv2N_kernel, dot_kernel, gemmk1_kernel..."},
      {{{"Memset (Device)"}, {"void gemv2T_kernel<float>(int)"}},
       "order of the sum: the kernel void gemv2T_kernel<float>(int); expected nvjet_sm90_, cutlass_75_, cutlass_80_, "
       "sm80_xmma_gemm_, sm90_xmma_gemm_, gemmSN_NN_kernel, gemmSN_TN_kernel, gemvx::kernel, gemvNSP_kernel, "
       "gemv2N_kernel, dot_kernel, gemmk1_kernel..."},
      {{{"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(int)"}},
       "order of the sum: the kernel cutlass_80_simt_sgemm_64x64_8x5_tn_align1 uses no tensor core; expected "
       "operands of f32"},
      {{{"nvjet_sm90_hsh"}},
       "order of the sum: the kernel nvjet_sm90_hsh; expected nvjet_sm90_TYPES_TILE_DEPTHxSTAGES_CLUSTER_..."},
      {{{"sm90_xmma_gemm_f32f32_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas",
         {30, 4, 1}}},
       "order of the sum: the kernel "
       "sm90_xmma_gemm_f32f32_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas cuts K in some tiles of D "
       "only; expected one with a block or more for each tile"}};
  for (const auto& [launches, message] : cases) {
    NamedProduct product;
    product.a = product.b = "tf32", product.d = "f32";
    product.rows = 672, product.columns = 3384, product.depth = 8928;
    product.launches = launches;
    const auto how = kernel_order(product);
    REQUIRE(!how.ok());
    CHECK(how.error().message() == message);
  }
}

}  // namespace kernel_order_test
