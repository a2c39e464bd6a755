// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/kernels/: without a GPU they leave the bits in memory that a GPU left, as source and as the PTX
// that nvcc makes of it, and products of small integers are those of integers.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "device_inputs.hpp"
#include "forget_array.hpp"
#include "kernels/cases.hpp"
#include "text_file.hpp"
#include "warpbit/ptx.hpp"

namespace kernels_test {

using namespace warpbit;
using namespace warpbit::device;
using device_inputs::target;

/// As copies need it aligned.
struct alignas(16) Line {
  std::byte bytes[16];
};

TensorMapBytes encoded(const kernels::MatrixMap& matrix, std::uint64_t address) {
  TensorMap map;
  map.elemtype = matrix.is_bf16 ? TensorType::bf16 : TensorType::f32;
  map.rank = 2;
  map.global_address = address;
  map.global_dim = {matrix.columns, matrix.rows};
  map.global_stride = {matrix.columns * element_bytes(map.elemtype)};
  map.box_dim = {matrix.box_columns, matrix.box_rows};
  map.element_stride = {1, 1};
  if (matrix.is_bf16) map.swizzle_mode = Swizzle::bytes_128;
  const Result<TensorMapBytes> bytes = map.encode();
  INFO((bytes ? "" : bytes.error().message()));
  REQUIRE(bytes);
  return *bytes;
}

/// Launches in the library.
class Host {
 public:
  explicit Host(std::string_view on) : target_(target(on)) {}

  std::vector<kernels::Outcome> outcomes;

  void begin(const char* name) {
    name_ = name;
    memory_.clear();
  }
  template <class T>
  GlobalArray<const T> input(const std::vector<T>& values) {
    const std::span<T> at = allocate<T>(values.size());
    std::copy(values.begin(), values.end(), at.begin());
    return GlobalArray<const T>(at);
  }
  template <class T>
  GlobalArray<T> output(std::size_t elements) {
    const std::span<T> at = allocate<T>(elements);
    output_ = std::as_bytes(at);
    return at;
  }
  template <class T>
  TensorMapParameter map(const GlobalArray<T>& array, const kernels::MatrixMap& matrix) {
    const auto at = reinterpret_cast<std::uintptr_t>(array.view.global);
    return TensorMapParameter::of(encoded(matrix, at));
  }
  template <class... Parameters, class... Arguments>
  void launch(const kernels::Shape& shape, void (*kernel)(Parameters...), const Arguments&... arguments) {
    Launch how{target_, {shape.columns, shape.rows}, {shape.threads}, shape.shared_bytes};
    how.cluster = {shape.cluster_columns, shape.cluster_rows};
    const Launched launched = warpbit::launch(how, kernel, arguments...);
    INFO(name_ << (launched ? "" : ": " + launched.fault->message()));
    REQUIRE(launched.ok());
    std::vector<std::uint32_t> words(output_.size() / 4);
    std::memcpy(words.data(), output_.data(), output_.size());
    outcomes.push_back(kernels::outcome_of(name_, words));
  }

 private:
  template <class T>
  std::span<T> allocate(std::size_t elements) {
    // Outputs begin with all bits set.
    memory_.emplace_back((elements * sizeof(T) + 15) / 16, Line{});
    std::memset(memory_.back().data(), 0xFF, memory_.back().size() * 16);
    return {reinterpret_cast<T*>(memory_.back().data()), elements};
  }

  Target target_;
  const char* name_ = "";
  std::vector<std::vector<Line>> memory_;
  std::span<const std::byte> output_;
};

/// Launches of the PTX of tests/kernels/record.cu (golden/kernels/sm_90a.ptx.gz).
class FromPtx {
 public:
  explicit FromPtx(const ptx::Module& module) : module_(module) {}

  std::vector<kernels::Outcome> outcomes;

  ~FromPtx() { forget_arrays(); }
  FromPtx(const FromPtx&) = delete;

  void begin(const char* name) {
    name_ = name;
    forget_arrays();
  }
  template <class T>
  ptx::Argument input(const std::vector<T>& values) {
    const std::span<std::byte> at = allocate(values.size() * sizeof(T));
    std::memcpy(at.data(), values.data(), at.size());
    return at;
  }
  template <class T>
  ptx::Argument output(std::size_t elements) {
    output_ = allocate(elements * sizeof(T));
    return output_;
  }
  ptx::Argument map(const ptx::Argument& array, const kernels::MatrixMap& matrix) {
    return ptx::value(encoded(matrix, ptx::address(std::get<std::span<std::byte>>(array))));
  }
  template <class Kernel, class... Arguments>
  void launch(const kernels::Shape& shape, Kernel, const Arguments&... arguments) {
    INFO(name_);
    const auto kernel = module_.function(entry());
    REQUIRE(kernel);
    ptx::Launch how;
    how.grid = {shape.columns, shape.rows};
    how.block = {shape.threads};
    how.shared_bytes = shape.shared_bytes;
    if (shape.cluster_columns * shape.cluster_rows > 1)
      how.cluster = Dim3{shape.cluster_columns, shape.cluster_rows};
    const ptx::Report report = kernel->launch(how, {argument(arguments)...});
    INFO((report ? "" : report.fault->message()));
    REQUIRE(report.ok());
    std::vector<std::uint32_t> words(output_.size() / 4);
    std::memcpy(words.data(), output_.data(), output_.size());
    outcomes.push_back(kernels::outcome_of(name_, words));
  }

 private:
  // "gemm 64x64x32" is a launch of the kernel whose name nvcc spells "_ZN7kernels4gemm...".
  std::string entry() const {
    const std::string name(name_, std::strcspn(name_, " "));
    const std::string start = fmt::format("_ZN7kernels{}{}", name.size(), name);
    for (const std::string& one : module_.entries())
      if (one.starts_with(start)) return one;
    return start;
  }
  static ptx::Argument argument(const ptx::Argument& array) { return array; }
  template <class T>
  requires std::is_arithmetic_v<T>
  static ptx::Argument argument(T number) { return ptx::value(number); }
  void forget_arrays() {
    for (std::vector<std::byte>& one : memory_) forget_array(one);
    memory_.clear();
  }
  std::span<std::byte> allocate(std::size_t bytes) {
    memory_.emplace_back(bytes, std::byte{0xFF});  // outputs begin with all bits set
    return memory_.back();
  }

  const ptx::Module& module_;
  const char* name_ = "";
  std::vector<std::vector<std::byte>> memory_;
  std::span<std::byte> output_;
};

std::string text(const kernels::Outcome& o) {
  return fmt::format("{}: {} words, digest {:#018x}, samples {:#010x}", o.name, o.words, o.digest,
                     fmt::join(o.samples, " "));
}

kernels::Outcome recorded(const nlohmann::json& entry) {
  const auto number = [](const nlohmann::json& text) {
    return std::stoull(text.get<std::string>(), nullptr, 0);
  };
  kernels::Outcome out{entry.at("name"), entry.at("words"), number(entry.at("digest")), {}};
  for (const nlohmann::json& sample : entry.at("samples"))
    out.samples.push_back(static_cast<std::uint32_t>(number(sample)));
  return out;
}

nlohmann::json golden() {
  std::ifstream file("golden/kernels/sm_90a.json");
  REQUIRE(file);
  nlohmann::json out = nlohmann::json::parse(file);
  CHECK(out.at("source") == "hardware");
  CHECK(out.at("provenance").at("device") == "NVIDIA H100 80GB HBM3");
  return out;
}

void check_equal(const std::vector<kernels::Outcome>& outcomes, const nlohmann::json& cases) {
  REQUIRE(cases.size() == outcomes.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) CHECK(text(outcomes[i]) == text(recorded(cases[i])));
}

TEST_CASE("kernels leave what a GPU left", "[quick][kernels]") {
  const nlohmann::json from_gpu = golden();
  Host host(from_gpu.at("target").get<std::string>());
  kernels::run_all(host);
  check_equal(host.outcomes, from_gpu.at("cases"));
}

TEST_CASE("so does the PTX that nvcc makes of them", "[quick][kernels][once]") {
  const auto module = ptx::Module::load(text_file::text_of("golden/kernels/sm_90a.ptx.gz"));
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  FromPtx launches(*module);
  kernels::run_all(launches);
  check_equal(launches.outcomes, golden().at("cases"));
}

// ---- Products of small integers, which no order of the sum can change

int integer(std::uint32_t& seed, int most) {
  seed = seed * 1664525 + 1013904223;
  return static_cast<int>(seed >> 16) % (2 * most + 1) - most;
}

std::vector<int> integers(int count, std::uint32_t seed, int most) {
  std::vector<int> out(static_cast<std::size_t>(count));
  for (int& x : out) x = integer(seed, most);
  return out;
}

/// The code of a small integer in a format of so many bits.
template <class T>
T code(int x, int exponent_bits, int significand_bits) {
  if (x == 0) return 0;
  int exponent = 0;
  for (const int bits = std::abs(x); bits >> (exponent + 1) != 0;) ++exponent;
  const int significand = (std::abs(x) << significand_bits >> exponent) - (1 << significand_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  return static_cast<T>(((x < 0 ? 1 << exponent_bits : 0) + exponent + bias) << significand_bits | significand);
}

template <class T>
std::vector<T> codes(const std::vector<int>& values, int exponent_bits, int significand_bits) {
  std::vector<T> out;
  for (const int x : values) out.push_back(code<T>(x, exponent_bits, significand_bits));
  return out;
}

std::size_t at(int row, int column, int columns) {
  return static_cast<std::size_t>(row * columns + column);
}

TEST_CASE("the FP8 GEMM of integers", "[quick][kernels]") {
  constexpr int m = 64, n = 128, k = 192;
  const std::vector<int> a = integers(m * k, 1, 8), b = integers(n * k, 2, 8);
  const auto left = codes<std::uint8_t>(a, 4, 3), right = codes<std::uint8_t>(b, 4, 3);
  std::vector<float> d(m * n), expected(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int l = 0; l < k; ++l) sum += a[at(i, l, k)] * b[at(j, l, k)];
      expected[at(i, j, n)] = 0.5F * static_cast<float>(sum);
    }
  using Is = kernels::Fp8Gemm;
  REQUIRE(launch(Launch{target("sm_89"), {n / Is::tile, m / Is::tile}, {Is::threads}, Is::shared_bytes},
                 kernels::fp8_gemm, GlobalArray<const std::uint8_t>(left),
                 GlobalArray<const std::uint8_t>(right), GlobalArray<float>(d), k, 0.5F)
              .ok());
  CHECK(d == expected);
}

TEST_CASE("the sparse GEMM of integers", "[quick][kernels]") {
  constexpr int m = 64, n = 64, k = 128;
  const std::vector<int> stored = integers(m * k / 2, 3, 32), b = integers(k * n, 4, 32);
  // The columns of the two elements of a group, by its number.
  constexpr std::array<std::array<int, 2>, 6> kColumns = {{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};
  std::vector<int> a(m * k);
  std::vector<std::uint16_t> metadata(m * k / 16);
  for (int i = 0; i < m; ++i)
    for (int group = 0; group < k / 4; ++group) {
      const std::array<int, 2>& columns = kColumns[static_cast<std::size_t>((i * 5 + group * 7) % 6)];
      for (int e = 0; e < 2; ++e)
        a[at(i, 4 * group + columns[static_cast<std::size_t>(e)], k)] = stored[at(i, 2 * group + e, k / 2)];
      metadata[at(i, group / 4, k / 16)] |=
          static_cast<std::uint16_t>((columns[0] | columns[1] << 2) << 4 * (group % 4));
    }
  const auto left = codes<std::uint16_t>(stored, 5, 10), right = codes<std::uint16_t>(b, 5, 10);
  std::vector<float> d(m * n), expected(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int l = 0; l < k; ++l) sum += a[at(i, l, k)] * b[at(l, j, n)];
      expected[at(i, j, n)] = static_cast<float>(sum);
    }
  using Is = kernels::SparseGemm;
  REQUIRE(launch(Launch{target("sm_80"), {n / Is::tile, m / Is::tile}, {Is::threads}, Is::shared_bytes},
                 kernels::sparse_gemm, GlobalArray<const std::uint16_t>(left),
                 GlobalArray<const std::uint16_t>(metadata), GlobalArray<const std::uint16_t>(right),
                 GlobalArray<float>(d), k)
              .ok());
  CHECK(d == expected);
}

/// Attention of 64 queries; all keys give the same score, which is no matter of how they are rounded.
std::vector<float> attention(const std::vector<std::uint16_t>& q, const std::vector<std::uint16_t>& k,
                             const std::vector<std::uint16_t>& v, int keys) {
  using Is = kernels::Attention;
  std::vector<float> o(Is::tile * Is::depth);
  REQUIRE(launch(Launch{target("sm_80"), {1}, {Is::threads}, Is::shared_bytes}, kernels::attention,
                 GlobalArray<const std::uint16_t>(q), GlobalArray<const std::uint16_t>(k),
                 GlobalArray<const std::uint16_t>(v), GlobalArray<float>(o), keys)
              .ok());
  return o;
}

TEST_CASE("attention to equal keys is the mean of the values", "[quick][kernels]") {
  constexpr int depth = kernels::Attention::depth, keys = 256;
  const std::vector<int> values = integers(keys * depth, 5, 100);
  const auto v = codes<std::uint16_t>(values, 8, 7);
  const std::vector<std::uint16_t> q = device_inputs::codes(64 * depth, 6, 0x3F00), k(keys * depth);
  std::vector<float> expected(64 * depth);
  for (int column = 0; column < depth; ++column) {
    int sum = 0;
    for (int key = 0; key < keys; ++key) sum += values[at(key, column, depth)];
    for (int row = 0; row < 64; ++row) expected[at(row, column, depth)] = static_cast<float>(sum) / keys;
  }
  CHECK(attention(q, k, v, keys) == expected);
}

TEST_CASE("attention to one key far above the others is its value", "[quick][kernels]") {
  constexpr int depth = kernels::Attention::depth, keys = 192, chosen = 100;
  const std::vector<int> values = integers(keys * depth, 7, 100);
  const auto v = codes<std::uint16_t>(values, 8, 7);
  // Scores are 0, but 64 * 32 / 8 for one key: e^256 is beyond what a sum of f32 keeps of the rest.
  const std::vector<std::uint16_t> q(64 * depth, code<std::uint16_t>(32, 8, 7));
  std::vector<std::uint16_t> k(keys * depth);
  for (int i = 0; i < depth; ++i) k[at(chosen, i, depth)] = code<std::uint16_t>(1, 8, 7);
  std::vector<float> expected(64 * depth);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < depth; ++column)
      expected[at(row, column, depth)] = static_cast<float>(values[at(chosen, column, depth)]);
  CHECK(attention(q, k, v, keys) == expected);
}

}  // namespace kernels_test
