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

namespace {

using namespace warpbit;
using namespace warpbit::device;

/// A form that kernels call, with a statement's operands where it needs them, and the bytes of each operand in
/// a lane.
struct Called {
  std::string form;
  std::string statement;
  std::vector<std::size_t> bytes;
};

std::vector<Called> products() {
  std::vector<Called> out;
#define WARPBIT_ROW(shape, sum, a, b, f) \
  out.push_back(                         \
      {Mma<shape, sum, a, b>::form, "", {sizeof(f::Sum), sizeof(f::A), sizeof(f::B), sizeof(f::Sum)}});
  WARPBIT_MMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(shape, sum, a, b, f, count)                                                             \
  for (int i = 0; i < (count); ++i)                                                                         \
    out.push_back(                                                                                          \
        {MmaSp<shape, sum, a, b>::form,                                                                     \
         std::string(MmaSp<shape, sum, a, b>::form) + " {d}, {a}, {b}, {c}, e, " + std::to_string(i) + ";", \
         {sizeof(f::Sum), sizeof(f::A), sizeof(f::B), sizeof(f::Sum), sizeof(std::uint32_t)}});
  WARPBIT_MMA_SP_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(shape, kind, vec, a, b, scale) \
  out.push_back({MmaBlockScale<shape, kind, a, b, scale>::form, "", {16, 16, 8, 16, 4, 4, 4, 4}});
  WARPBIT_BLOCK_SCALE_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
  return out;
}

template <class R, int N>
constexpr std::size_t bytes_of(std::type_identity<AsyncFragment<R, N>>) {
  return sizeof(R) * N;
}

// Of one N, as constants: code for each of them would take minutes to compile.
struct Sized {
  const char* form = nullptr;  // none of that N
  const char *described = nullptr, *in_registers = nullptr;
  std::size_t d = 0, a = 0;
};
template <int K, class Sum, class A, class B, int n>
constexpr Sized sized() {
  if constexpr (!one_of<A, s8, u8> || n <= 32 || n % 16 == 0) {
    using Row = Wgmma<m64nNkK<n, K>, Sum, A, B>;
    return {Literal<WgmmaForm<Row>>::text, Literal<WgmmaStatement<Row, true, 1, 1, 0, 0>>::text,
            Literal<WgmmaStatement<Row, false, 1, 1, 0, 0>>::text,
            bytes_of(std::type_identity<typename Row::Sum>()), bytes_of(std::type_identity<typename Row::A>())};
  }
  return {};
}

template <int K, class Sum, class A, class B, int... Eighths>
void add_sizes(std::integer_sequence<int, Eighths...>, std::vector<Called>& out) {
  static constexpr Sized kSizes[] = {sized<K, Sum, A, B, 8 * (Eighths + 1)>()...};
  for (const Sized& one : kSizes) {
    if (one.form == nullptr) continue;
    out.push_back({one.form, one.described, {one.d, 8, 8, 1}});
    out.push_back({one.form, one.in_registers, {one.d, one.a, 8, 1}});
  }
}

std::vector<Called> products_of_warpgroups() {
  std::vector<Called> out;
#define WARPBIT_ROW(k, sum, a, b) add_sizes<k, sum, a, b>(std::make_integer_sequence<int, 32>(), out);
  WARPBIT_WGMMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
  return out;
}

std::vector<Called> moves() {
  std::vector<Called> out;
#define WARPBIT_ROW(name, qualifiers, matrices, registers) \
  out.push_back({WARPBIT_LDMATRIX_TEXT(qualifiers), "", {4 * (registers)}});
  WARPBIT_LDMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(name, qualifiers, matrices, registers) \
  out.push_back({WARPBIT_STMATRIX_TEXT(qualifiers), "", {4 * (registers)}});
  WARPBIT_STMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
  return out;
}

TEST_CASE("each row is a form, with its operands", "[quick][device]") {
  std::set<std::string> forms;
  const auto check = [&](const std::vector<Called>& rows) {
    for (const Called& row : rows) {
      INFO(row.form << " " << row.statement);
      forms.insert(row.form);
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
  CHECK(forms.size() == 125);
  check(products_of_warpgroups());
  CHECK(forms.size() == 125 + 12 * 32 + 4 * 18);
}

// A form that kernels cannot call yet: what its text has in it says why.
bool has_no_row(const std::string& form) {
  for (const char* part : {
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
           "kind::mxf4nvf4.f32",     // kinds without block scaling
           "mma.sp.",                // mma.sp::ordered_metadata
           "m16n8k64.row.col.f16.",  // of a sparse e4m3 or e5m2
           ".b8x16",                 // narrow elements
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

template <class Row, class Shape, class Sum, class A, class B>
void check_dense() {
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
#define WARPBIT_ROW(shape, sum, a, b, f) check_dense<Mma<shape, sum, a, b>, shape, sum, a, b>();
  WARPBIT_MMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
}

// Metadata that every sparsity allows: indices 0 and 1 of each group of four; of two, index 0 (4 of 4 and 14).
template <class Row, int Selector, class Shape, class Sum, class A, class B>
void check_sparse() {
  INFO(Row::form);
  Random random;
  const auto a = random.lanes<typename Row::A>();
  const auto b = random.lanes<typename Row::B>();
  const auto c = random.lanes<typename Row::Sum>();
  const Lanes<std::uint32_t> metadata(32, 0x4444'4444);
  Lanes<typename Row::Sum> d(32);
  const Launched launched = launch({device_inputs::target("sm_90"), {}, {32}}, [&] {
    const unsigned i = threadIdx.x;
    d[i] = mma_sp<Shape, Sum, A, B, Selector>(a[i], b[i], c[i], metadata[i]);
  });
  check_same(launched, d,
             batch<typename Row::Sum>(
                 std::string(Row::form) + " {d}, {a}, {b}, {c}, e, " + std::to_string(Selector) + ";", "sm_90",
                 a, b, c, metadata));
}

TEST_CASE("each sparse product has the bits of a batch", "[quick][device]") {
#define WARPBIT_ROW(shape, sum, a, b, f, count)                 \
  check_sparse<MmaSp<shape, sum, a, b>, 0, shape, sum, a, b>(); \
  check_sparse<MmaSp<shape, sum, a, b>, (count)-1, shape, sum, a, b>();
  WARPBIT_MMA_SP_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
}

template <class Shape, class Kind, class A, class B, class Scale>
void check_scaled() {
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
  check_same(launched, d, batch<Fragment<float, 4>>(form, "sm_120a", a, b, c, scale_a, of_a, scale_b, of_b));
}

TEST_CASE("each product with block scaling has the bits of a batch", "[quick][device]") {
#define WARPBIT_ROW(shape, kind, vec, a, b, scale) check_scaled<shape, kind, a, b, scale>();
  WARPBIT_BLOCK_SCALE_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
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

}  // namespace
