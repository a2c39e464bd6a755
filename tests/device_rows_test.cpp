// SPDX-License-Identifier: Apache-2.0
// The forms that kernels may call, against those of the library; and that each gives the bits of a batch.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device_inputs.hpp"
#include "warpbit/device.hpp"
#include "warpbit/execute.hpp"

namespace device_rows_test {

using namespace warpbit;
using namespace warpbit::device;

/// A form that kernels call, with a statement's operands where it needs them, and the bytes of each operand in
/// a lane.
struct Called {
  std::string form;
  std::string statement;
  std::vector<std::size_t> bytes;
};

template <class... Row, class Each>
void for_each(Rows<Row...>, Each each) {
  (each(Row{}), ...);
}

std::vector<Called> products() {
  std::vector<Called> out;
  const auto bytes_of = []<class Row>(Row, std::initializer_list<std::size_t> more) {
    std::vector<std::size_t> bytes{sizeof(typename Row::Sum), sizeof(typename Row::A), sizeof(typename Row::B),
                                   sizeof(typename Row::Sum)};
    bytes.insert(bytes.end(), more);
    return bytes;
  };
  for_each(MmaRows{}, [&](auto row) { out.push_back({row.form, "", bytes_of(row, {})}); });
  for_each(MmaSpRows{}, [&](auto row) {
    for (int i = 0; i < row.selectors; ++i)
      out.push_back({row.form, std::string(row.form) + " {d}, {a}, {b}, {c}, e, " + std::to_string(i) + ";",
                     bytes_of(row, {sizeof(std::uint32_t)})});
  });
  for_each(MmaBlockScaleRows{}, [&](auto row) {
    out.push_back({row.form, "", bytes_of(row, {4, sizeof(ScaleSelector), 4, 4})});
  });
  return out;
}

template <class R, int N>
constexpr std::size_t bytes_of(std::type_identity<AsyncFragment<R, N>>) {
  return sizeof(R) * N;
}

// The bytes of D for one N, 0 if there is no such form.
template <int K, class Sum, class A, class B, int n>
constexpr std::size_t sum_bytes() {
  if constexpr (!one_of<A, s8, u8> || n <= 32 || n % 16 == 0)
    return bytes_of(std::type_identity<typename Wgmma<m64nNkK<n, K>, Sum, A, B>::Sum>());
  return 0;
}

template <int K, class Sum, class A, class B, int... Eighths>
void add_sizes(Wgmma<m64nNkK<8, K>, Sum, A, B> row, std::integer_sequence<int, Eighths...>,
               std::vector<Called>& out) {
  static constexpr std::size_t kBytes[] = {sum_bytes<K, Sum, A, B, 8 * (Eighths + 1)>()...};
  const std::string signs = row.scales ? ", 1, 1" : "", transposed = row.transposes ? ", 0" : "";
  for (std::size_t i = 0; i < std::size(kBytes); ++i) {
    if (kBytes[i] == 0) continue;
    const std::string form = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(8 * (i + 1)) + row.form;
    out.push_back(
        {form, form + " {d}, a_desc, b_desc, p" + signs + transposed + transposed + ";", {kBytes[i], 8, 8, 1}});
    out.push_back({form, form + " {d}, {a}, b_desc, p" + signs + transposed + ";", {kBytes[i], 16, 8, 1}});
  }
}

std::vector<Called> products_of_warpgroups() {
  std::vector<Called> out;
  for_each(WgmmaRows{}, [&](auto row) { add_sizes(row, std::make_integer_sequence<int, 32>(), out); });
  return out;
}

std::vector<Called> moves() {
  std::vector<Called> out;
  const auto add = [&]<class Row>(Row row) {
    out.push_back({row.form, "", {sizeof(typename Row::Registers)}});
  };
  for_each(LdmatrixRows{}, add);
  for_each(StmatrixRows{}, add);
  return out;
}

std::vector<Called> conversions() {
  std::vector<Called> out;
  for_each(CvtRows{}, [&]<class Row>(Row row) {
    out.push_back({row.form, "", {sizeof(typename Row::Registers), sizeof(float), sizeof(float)}});
  });
  return out;
}

TEST_CASE("each row is a form, with its operands", "[quick][device]") {
  const auto check = [](const std::vector<Called>& rows) {
    for (const Called& row : rows) {
      INFO(row.form << " " << row.statement);
      bool found = false;
      for (const Target on : Target::all()) {
        const auto instruction = Instruction::parse(row.statement.empty() ? row.form : row.statement, on);
        if (!instruction) continue;
        found = true;
        CHECK(instruction->canonical() == row.form);
        std::vector<std::size_t> bytes;
        for (const Operand& operand : instruction->operands())
          if (operand.kind != OperandKind::immediate && operand.kind != OperandKind::address)
            bytes.push_back(static_cast<std::size_t>(operand.registers * operand.register_bits / 8));
        CHECK(bytes == row.bytes);
      }
      CHECK(found);
    }
  };
  check(products());
  check(moves());
  check(conversions());
  check(products_of_warpgroups());
}

// A form that kernels cannot call yet: what its text has in it says why.
bool has_no_row(const std::string& form) {
  for (const char* part : {
           ".scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
           ".s8.s4",  // of PTX 9.1
           ".m8n8k4.row.col.f16",
           ".m8n8k4.row.col.f32",
           ".m8n8k4.row.row",
           ".m8n8k4.col",  // sm_70's own
           ".b1.",
           ".satfinite",
           ".f64.rn",
           ".f64.rz",
           ".f64.rm",
           ".f64.rp",
           "kind::f8f6f4",
           "kind::f16",
           "kind::i8",
           "kind::tf32",
           "kind::mxf4.f32",
           "kind::mxf8f6f4.f32",
           "kind::mxf4nvf4.f32",  // kinds without block scaling
           "mma.sp.",             // mma.sp::ordered_metadata
           ".b8x16",              // narrow elements
           "wgmma.mma_async.sp.",
           "proxy.async.global",           // kernels read and write there through the generic proxy alone
           "proxy.async.shared::cluster",  // there are no clusters
       })
    if (form.find(part) != form.npos) return true;
  // The default of what is spelled out here.
  if (form.find("block_scale") != form.npos)
    return form.find("scale_vec") == form.npos || form.starts_with("mma.sp::");
  // The space is .shared.
  if (form.find("matrix") != form.npos && form.find(".shared.") == form.npos)
    return !form.starts_with("movmatrix");
  return false;
}

TEST_CASE("each form has a row, or is known to have none", "[quick][device]") {
  std::set<std::string> rows{"movmatrix.sync.aligned.m8n8.trans.b16"};
  for (const Called& row : products()) rows.insert(row.form);
  for (const Called& row : moves()) rows.insert(row.form);
  for (const Called& row : products_of_warpgroups()) rows.insert(row.form);
  for (const char* form :
       {"wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned",
        "fence.proxy.async", "fence.proxy.async.shared::cta"})
    rows.insert(form);
  std::size_t compared = 0;
  for (const FormInfo& form : warpbit::forms()) {
    const std::string family(form.family);
    if (!family.starts_with("mma") && !family.starts_with("wgmma") && family != "fence.proxy" &&
        family != "ldmatrix" && family != "stmatrix" && family != "movmatrix")
      continue;
    INFO(form.canonical);
    CHECK(rows.contains(form.canonical) != has_no_row(form.canonical));
    ++compared;
  }
  CHECK(compared >= 1300);
}

// ---- The bits

/// Registers of an operand in the lanes.
template <class T>
using Lanes = std::vector<T>;

class Random {
 public:
  template <class T>
  Lanes<T> lanes() {
    Lanes<T> out(32);
    for (T& lane : out) {
      std::uint32_t words[sizeof(T) / 4];
      for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(bits_());
      std::memcpy(&lane, words, sizeof lane);
    }
    return out;
  }

 private:
  std::mt19937 bits_{5};
};

// What execute_batch makes of the same registers.
template <class D, class... Sources>
Lanes<D> batch(const std::string& statement, std::string_view on, const Lanes<Sources>&... sources) {
  const Result<Instruction> instruction = Instruction::parse(statement, device_inputs::target(on));
  REQUIRE(instruction.ok());
  std::vector<OperandView> views;
  const void* const given[] = {sources.data()...};
  std::size_t next = 0;
  for (const Operand& operand : instruction->operands().subspan(1))
    views.push_back(operand.kind == OperandKind::immediate
                        ? OperandView{}
                        : OperandView::dense(given[next++], 32, operand.registers, operand.register_bits));
  Lanes<D> d(32);
  const Operand& to = instruction->operands()[0];
  const Result<Execution> done =
      execute_batch(*instruction, views, ResultView::dense(d.data(), 32, to.registers, to.register_bits), 1);
  INFO((done ? "" : done.error().message()));
  REQUIRE(done.ok());
  return d;
}

template <class D>
void check_same(const Launched& launched, const Lanes<D>& found, const Lanes<D>& expected) {
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
  CHECK(std::memcmp(found.data(), expected.data(), 32 * sizeof(D)) == 0);
}

// A target that has the form.
std::string target_of(const std::string& form) {
  for (const char* name : {"sm_90", "sm_120a"})
    if (Instruction::parse(form, name)) return name;
  FAIL("no target has " << form);
  return "";
}

template <class Shape, class Sum, class A, class B>
void check_dense(Mma<Shape, Sum, A, B>) {
  using Row = Mma<Shape, Sum, A, B>;
  INFO(Row::form);
  Random random;
  const auto a = random.lanes<typename Row::A>();
  const auto b = random.lanes<typename Row::B>();
  const auto c = random.lanes<typename Row::Sum>();
  Lanes<typename Row::Sum> d(32);
  const Launched launched = launch({device_inputs::target("sm_90"), {}, {32}}, [&] {
    d[threadIdx.x] = mma<Shape, Sum, A, B>(a[threadIdx.x], b[threadIdx.x], c[threadIdx.x]);
  });
  check_same(launched, d, batch<typename Row::Sum>(Row::form, "sm_90", a, b, c));
}

TEST_CASE("each dense product has the bits of a batch", "[quick][device]") {
  for_each(MmaRows{}, [](auto row) { check_dense(row); });
}

// Metadata that every sparsity allows: indices 0 and 1 of each group of four; of two, index 0 (4 of 4 and 14).
template <int Selector, class Shape, class Sum, class A, class B>
void check_sparse(MmaSp<Shape, Sum, A, B>) {
  using Row = MmaSp<Shape, Sum, A, B>;
  INFO(Row::form);
  const std::string on = target_of(Row::form);
  Random random;
  const auto a = random.lanes<typename Row::A>();
  const auto b = random.lanes<typename Row::B>();
  const auto c = random.lanes<typename Row::Sum>();
  const Lanes<std::uint32_t> metadata(32, 0x4444'4444);
  Lanes<typename Row::Sum> d(32);
  const Launched launched = launch({device_inputs::target(on), {}, {32}}, [&] {
    const unsigned i = threadIdx.x;
    d[i] = mma_sp<Shape, Sum, A, B, Selector>(a[i], b[i], c[i], metadata[i]);
  });
  check_same(launched, d,
             batch<typename Row::Sum>(
                 std::string(Row::form) + " {d}, {a}, {b}, {c}, e, " + std::to_string(Selector) + ";", on, a, b,
                 c, metadata));
}

TEST_CASE("each sparse product has the bits of a batch", "[quick][device]") {
  for_each(MmaSpRows{}, []<class Row>(Row row) {
    check_sparse<0>(row);
    check_sparse<Row::selectors - 1>(row);
  });
}

template <class Shape, class Kind, class A, class B, class Scale>
void check_scaled(MmaBlockScale<Shape, Kind, A, B, Scale>) {
  const std::string form = MmaBlockScale<Shape, Kind, A, B, Scale>::form;
  INFO(form);
  Random random;
  const auto a = random.lanes<Fragment<std::uint32_t, 4>>();
  const auto b = random.lanes<Fragment<std::uint32_t, 2>>();
  const auto c = random.lanes<Fragment<float, 4>>();
  const auto scale_a = random.lanes<std::uint32_t>(), scale_b = random.lanes<std::uint32_t>();
  const Lanes<ScaleSelector> of_a(32, {0, 1}), of_b(32, {0, 3});
  Lanes<Fragment<float, 4>> d(32);
  const Launched launched = launch({device_inputs::target("sm_120a"), {}, {32}}, [&] {
    const unsigned i = threadIdx.x;
    d[i] =
        mma_block_scale<Shape, Kind, A, B, Scale>(a[i], b[i], c[i], scale_a[i], of_a[i], scale_b[i], of_b[i]);
  });
  const std::string statement = form + " {d}, {a}, {b}, {c}, sa, {ba, ta}, sb, {bb, tb};";
  check_same(launched, d,
             batch<Fragment<float, 4>>(statement, "sm_120a", a, b, c, scale_a, of_a, scale_b, of_b));
}

TEST_CASE("each product with block scaling has the bits of a batch", "[quick][device]") {
  for_each(MmaBlockScaleRows{}, [](auto row) { check_scaled(row); });
}

// 32 products of ones: 32 times the scale factor of A, 2^(code - 127), and that of B.
TEST_CASE("selectors name the bytes of scale factors", "[quick][device]") {
  constexpr std::uint32_t kOnes = 0x3838'3838, kScales = 0x8281'7f7e;
  const float factors[] = {0.5F, 1, 4, 8};
  std::vector<float> d(32);
  for (std::uint16_t of_a = 0; of_a < 4; ++of_a)
    for (std::uint16_t of_b = 0; of_b < 4; ++of_b) {
      const Launched launched = launch({device_inputs::target("sm_120a"), {}, {32}}, [&] {
        d[threadIdx.x] = mma_block_scale<m16n8k32, mxf8f6f4, e4m3, e4m3, ue8m0>(
            {kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}, {}, kScales, {of_a, 0}, kScales, {of_b, 0})[0];
      });
      REQUIRE(launched.ok());
      CHECK(d == std::vector<float>(32, 32 * factors[of_a] * factors[of_b]));
    }
}

// ---- Moves, by the manual's pictures

// Byte (row, byte) of 16 rows of 16 bytes.
std::uint32_t byte_at(int row, int byte) {
  return static_cast<std::uint32_t>(16 * row + byte) & 0xFF;
}

// PTX manual, "ldmatrix" and "stmatrix", fragment layouts: row lane / 4, two elements from column 2 (lane % 4)
// on; .trans has rows and columns in each other's place.
TEST_CASE("ldmatrix, stmatrix and movmatrix place elements as the manual draws them", "[quick][device]") {
  Lanes<std::uint32_t> plain(32), transposed(32), moved(32), second(32), back(32);
  const Launched launched = launch({device_inputs::target("sm_90"), {}, {32}, 512}, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    const auto tile = shared_array<std::uint8_t>(0, 256), copy = shared_array<std::uint8_t>(256, 256);
    for (int i = 0; i < 8; ++i) tile[8 * lane + i] = static_cast<std::uint8_t>(8 * lane + i);
    __syncwarp();
    const auto i = static_cast<std::size_t>(lane);
    const auto two = ldmatrix<2>(tile + 16 * (lane % 16));
    plain[i] = two[0];
    second[i] = two[1];
    transposed[i] = ldmatrix_trans<1>(tile + 16 * (lane % 8))[0];
    moved[i] = movmatrix_trans(plain[i]);
    stmatrix_trans<2>(copy + 16 * (lane % 16), two);
    __syncwarp();
    back[i] = as<const std::uint32_t>(copy)[lane];
  });
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
  for (int lane = 0; lane < 32; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    const int g = lane / 4, t = lane % 4;
    const auto halves = [](int row0, int column0, int row1, int column1) {
      const auto half = [](int row, int column) {
        return byte_at(row, 2 * column) | byte_at(row, 2 * column + 1) << 8;
      };
      return half(row0, column0) | half(row1, column1) << 16;
    };
    CHECK(plain[i] == halves(g, 2 * t, g, 2 * t + 1));
    CHECK(second[i] == halves(8 + g, 2 * t, 8 + g, 2 * t + 1));
    CHECK(transposed[i] == halves(2 * t, g, 2 * t + 1, g));
    CHECK(moved[i] == transposed[i]);
    CHECK(back[i] == halves(2 * t, g, 2 * t + 1, g));  // row lane / 4 of the first matrix, stored transposed
  }
}

}  // namespace device_rows_test
