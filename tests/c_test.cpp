// SPDX-License-Identifier: Apache-2.0
// The interface for C: the same answers as the library's, and refusals instead of crashes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/warpbit.h"

extern "C" const char* c_product(std::uint32_t d[32][4]);

namespace c_test {

const char* const kProduct = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";

// An instruction for as long as a test needs it.
class Handle {
 public:
  explicit Handle(const char* text, const char* target = "sm_90a") {
    INFO(text);
    const warpbit_status status = warpbit_parse(text, target, &handle_);
    INFO(warpbit_message());
    REQUIRE(status == WARPBIT_OK);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { warpbit_free(handle_); }
  operator const warpbit_instruction*() const { return handle_; }

 private:
  warpbit_instruction* handle_ = nullptr;
};

TEST_CASE("C calls it", "[quick][c]") {
  std::uint32_t d[32][4] = {};
  const char* const failure = c_product(d);
  INFO((failure == nullptr ? "" : failure));
  REQUIRE(failure == nullptr);
  for (const auto& lane : d)
    for (const std::uint32_t element : lane) CHECK(element == 0x41000000);  // 8.0
  CHECK(warpbit_abi() == WARPBIT_ABI);
  CHECK(std::string(warpbit_version()).find('.') != std::string::npos);
}

TEST_CASE("descriptions are those of the instruction", "[quick][c]") {
  std::size_t number = 0;
  for (const warpbit::FormInfo& form : warpbit::forms()) {
    if (number++ % 41 != 0) continue;
    const warpbit::Target target = form.targets.front();
    const auto instruction = warpbit::Instruction::parse(form.canonical, target);
    REQUIRE(instruction.ok());
    const Handle handle(form.canonical.c_str(), std::string(target.name()).c_str());
    warpbit_description d = WARPBIT_INIT(warpbit_description);
    REQUIRE(warpbit_describe(handle, &d) == WARPBIT_OK);
    CHECK(d.size == sizeof d);
    CHECK(d.form == form.canonical);
    CHECK(d.family == form.family);
    CHECK(d.lanes == instruction->lanes());
    CHECK(d.rows == instruction->rows());
    CHECK(d.columns == instruction->columns());
    CHECK(d.uses_memory == instruction->uses_memory());
    CHECK(d.inferred == instruction->inferred());
    REQUIRE(d.operands == static_cast<int>(instruction->operands().size()));
    for (int i = 0; i < d.operands; ++i) {
      const warpbit::Operand& operand = instruction->operands()[static_cast<std::size_t>(i)];
      warpbit_operand o = WARPBIT_INIT(warpbit_operand);
      REQUIRE(warpbit_describe_operand(handle, i, &o) == WARPBIT_OK);
      CHECK(o.role == operand.role);
      CHECK(o.kind == static_cast<int>(operand.kind));
      CHECK(o.registers == operand.registers);
      if (operand.registers == 0) continue;
      CHECK(o.format == operand.format);
      CHECK(o.register_bits == operand.register_bits);
    }
  }
  CHECK(number > 3000);
}

TEST_CASE("elements are found in both directions", "[quick][c]") {
  // PTX manual, "Matrix Fragments for mma.m16n8k8": a2, a3 of lane 7 are row 7 / 4 + 8, columns 7 % 4 * 2 and
  // + 1.
  const Handle mma(kProduct);
  warpbit_element element{};
  int found = 0;
  REQUIRE(warpbit_element_at(mma, 1, 7, 1, 16, &element, &found) == WARPBIT_OK);
  CHECK(found == 1);
  CHECK(element.row == 9);
  CHECK(element.column == 7);
  std::array<warpbit_place, 2> places{};
  std::size_t count = 0;
  REQUIRE(warpbit_places_of(mma, 1, {9, 7, 0}, places.data(), places.size(), &count) == WARPBIT_OK);
  CHECK(count == 1);
  CHECK(places[0].lane == 7);
  CHECK(places[0].reg == 1);
  CHECK(places[0].low_bit == 16);
  CHECK(places[0].bits == 16);
  REQUIRE(warpbit_element_at(mma, 1, 32, 0, 0, &element, &found) == WARPBIT_OK);
  CHECK(found == 0);
  REQUIRE(warpbit_element_at(mma, 1, 0, -1, 0, &element, &found) == WARPBIT_OK);
  CHECK(found == 0);
  REQUIRE(warpbit_places_of(mma, 1, {16, 0, 0}, nullptr, 0, &count) == WARPBIT_OK);
  CHECK(count == 0);
}

TEST_CASE("many cases, with strides and threads", "[quick][c]") {
  // Row 0 of A is k, column 0 of B is 1 in every case: D(0, 0) is the case's number times 8.
  const Handle mma(kProduct);
  constexpr std::size_t kCases = 50;
  std::vector<std::uint32_t> a(kCases * 64), b(kCases * 32, 0x3C003C00), c(kCases * 128), d(kCases * 128, 7);
  const std::array<std::uint32_t, 4> halves{0, 0x3C003C00, 0x40004000, 0x42004200};  // 0 to 3
  for (std::size_t i = 0; i < kCases; ++i)
    for (std::size_t at = 0; at < 64; ++at) a[i * 64 + at] = halves[i % 4];
  const warpbit_registers operands[] = {warpbit_dense(mma, 0, d.data()), warpbit_dense(mma, 1, a.data()),
                                        warpbit_dense(mma, 2, b.data()), warpbit_dense(mma, 3, c.data())};
  warpbit_options options = WARPBIT_INIT(warpbit_options);
  options.threads = 2;
  REQUIRE(warpbit_execute(mma, operands, 4, kCases, &options) == WARPBIT_OK);
  const std::array<std::uint32_t, 4> wanted{0, 0x41000000, 0x41800000, 0x41C00000};  // 0, 8, 16, 24
  for (std::size_t i = 0; i < kCases; ++i)
    CHECK(std::all_of(&d[i * 128], &d[i * 128] + 128, [&](std::uint32_t x) { return x == wanted[i % 4]; }));
}

TEST_CASE("a number of threads that no process can make", "[quick][c]") {
  // Row 0 of A and column 0 of B are 1: D(0, 0) is 8.
  const Handle mma(kProduct);
  constexpr std::size_t kCases = 100000;
  std::vector<std::uint32_t> ones(128, 0x3C003C00), zeros(128), d(kCases * 128, 7);
  const auto same = [](std::uint32_t* data, std::ptrdiff_t registers) {
    return warpbit_registers{data, 0, 4 * registers, 4};
  };
  const warpbit_registers operands[] = {warpbit_dense(mma, 0, d.data()), same(ones.data(), 2),
                                        same(ones.data(), 1), same(zeros.data(), 4)};
  warpbit_options options = WARPBIT_INIT(warpbit_options);
  options.threads = 100000;
  REQUIRE(warpbit_execute(mma, operands, 4, kCases, &options) == WARPBIT_OK);
  CHECK(std::ranges::all_of(d, [](std::uint32_t x) { return x == 0x41000000; }));
}

TEST_CASE("a warp moves a matrix between memory and registers", "[quick][c]") {
  // Shared memory at window 0x1000: row i of an 8 x 8 matrix of 16 bits lies at 16 i; element j is 8 i + j.
  std::array<std::uint16_t, 64> shared{};
  std::iota(shared.begin(), shared.end(), std::uint16_t{0});
  const Handle load("ldmatrix.sync.aligned.m8n8.x1.b16 {r}, [p];");
  std::array<std::uint32_t, 32> r{};
  std::array<std::uint64_t, 32> p{};
  for (std::size_t lane = 0; lane < 32; ++lane) p[lane] = 0x1000 + 16 * (lane % 8);
  warpbit_operand address = WARPBIT_INIT(warpbit_operand);
  REQUIRE(warpbit_describe_operand(load, 1, &address) == WARPBIT_OK);
  CHECK(address.kind == WARPBIT_ADDRESS);
  const warpbit_registers in[] = {warpbit_dense(load, 0, r.data()), {p.data(), 0, 8, 8}};
  const warpbit_status loaded =
      warpbit_execute_warp(load, in, 2, shared.data(), sizeof shared, 0x1000, nullptr);
  INFO(warpbit_message());
  REQUIRE(loaded == WARPBIT_OK);
  for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(r[lane] == (2 * lane | (2 * lane + 1) << 16));

  const Handle store("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [p], {r};");
  for (std::size_t lane = 0; lane < 32; ++lane) p[lane] -= 0x1000;
  const warpbit_registers out[] = {{p.data(), 0, 8, 8}, warpbit_dense(store, 1, r.data())};
  REQUIRE(warpbit_execute_warp(store, out, 2, shared.data(), sizeof shared, 0x1000, nullptr) == WARPBIT_OK);
  for (std::uint16_t i = 0; i < 8; ++i)
    for (std::uint16_t j = 0; j < 8; ++j) CHECK(shared[8u * i + j] == 8 * j + i);

  const auto before = shared;
  p[3] = 1020;
  CHECK(warpbit_execute_warp(store, out, 2, shared.data(), sizeof shared, 0x1000, nullptr) == WARPBIT_MEMORY);
  CHECK(std::string(warpbit_error_name()).starts_with("address_"));
  CHECK(shared == before);
  CHECK(warpbit_execute(store, out, 2, 1, nullptr) == WARPBIT_EXECUTION);
  CHECK(std::string(warpbit_error_name()) == "memory_needed");
}

TEST_CASE("captures", "[quick][c]") {
  warpbit_report report = WARPBIT_INIT(warpbit_report);
  const char* const path = "golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz";
  REQUIRE(warpbit_verify(path, nullptr, &report) == WARPBIT_OK);
  CHECK(report.cases == 16);
  CHECK(report.elements == 2048);
  CHECK(report.mismatches == 0);
  REQUIRE(warpbit_verify(path, "sm_80", &report) == WARPBIT_OK);
  warpbit::ReplayOptions options;
  options.target = *warpbit::Target::find("sm_80");
  CHECK(report.mismatches > 0);
  CHECK(report.mismatches == warpbit::replay(path, options).mismatches);
  CHECK(std::string(warpbit_message()).find("expected 0x") != std::string::npos);
  CHECK(warpbit_verify("no such file", nullptr, &report) == WARPBIT_FILE);
  CHECK(warpbit_verify(path, "sm_1", &report) == WARPBIT_STATEMENT);
}

TEST_CASE("what cannot be is refused with a status and a message", "[quick][c]") {
  const auto message = [] { return std::string(warpbit_message()); };
  warpbit_instruction* none = nullptr;
  CHECK(warpbit_parse("mma.sync.aligned.m16n8k9.row.col.f32.f16.f16.f32", "sm_90", &none) == WARPBIT_STATEMENT);
  CHECK(none == nullptr);
  CHECK(message().find("m16n8k9") != std::string::npos);
  CHECK(std::string(warpbit_error_name()) == "no_such_form");
  CHECK(warpbit_parse(kProduct, "sm_1", &none) == WARPBIT_STATEMENT);
  CHECK(warpbit_parse(nullptr, "sm_90", &none) == WARPBIT_USAGE);
  CHECK(warpbit_parse(kProduct, nullptr, &none) == WARPBIT_USAGE);
  CHECK(warpbit_parse(kProduct, "sm_90", nullptr) == WARPBIT_USAGE);
  warpbit_free(nullptr);

  const Handle mma(kProduct);
  warpbit_description d{};  // without its size
  CHECK(warpbit_describe(mma, &d) == WARPBIT_USAGE);
  CHECK(message().find("WARPBIT_INIT") != std::string::npos);
  CHECK(warpbit_describe(mma, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_describe(nullptr, &d) == WARPBIT_USAGE);
  warpbit_operand o = WARPBIT_INIT(warpbit_operand);
  for (const int operand : {-1, 4}) CHECK(warpbit_describe_operand(mma, operand, &o) == WARPBIT_USAGE);
  CHECK(message().find("0 to 3") != std::string::npos);
  CHECK(warpbit_dense(mma, 4, &o).data == nullptr);
  CHECK(warpbit_dense(nullptr, 0, &o).data == nullptr);

  std::vector<std::uint32_t> words(128);
  std::array<warpbit_registers, 4> operands{};
  for (int i = 0; i < 4; ++i) operands[static_cast<std::size_t>(i)] = warpbit_dense(mma, i, words.data());
  CHECK(warpbit_execute(mma, operands.data(), 3, 1, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_execute(mma, nullptr, 4, 1, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_execute(nullptr, operands.data(), 4, 1, nullptr) == WARPBIT_USAGE);
  warpbit_options options = WARPBIT_INIT(warpbit_options);
  options.threads = -1;
  CHECK(warpbit_execute(mma, operands.data(), 4, 1, &options) == WARPBIT_USAGE);
  options = {};
  CHECK(warpbit_execute(mma, operands.data(), 4, 1, &options) == WARPBIT_USAGE);
  operands[2].data = nullptr;
  CHECK(warpbit_execute(mma, operands.data(), 4, 1, nullptr) == WARPBIT_USAGE);
  CHECK(message().find("operand 2 (b)") != std::string::npos);
  CHECK(warpbit_execute_warp(mma, operands.data(), 4, nullptr, 16, 0, nullptr) == WARPBIT_USAGE);
  operands[2] = warpbit_dense(mma, 2, words.data());
  CHECK(warpbit_execute_warp(mma, operands.data(), 4, words.data(), 16, UINT64_MAX, nullptr) == WARPBIT_USAGE);
}

TEST_CASE("a structure of an older caller is filled as far as it goes", "[quick][c]") {
  const Handle mma(kProduct);
  warpbit_description d = WARPBIT_INIT(warpbit_description);
  d.size = offsetof(warpbit_description, lanes);
  d.lanes = -5;
  REQUIRE(warpbit_describe(mma, &d) == WARPBIT_OK);
  CHECK(d.operands == 4);
  CHECK(d.lanes == -5);
  // A newer one knows more than this library: what it adds stays as it is.
  struct {
    warpbit_description known;
    int more;
  } newer{{}, -5};
  newer.known.size = sizeof newer;
  REQUIRE(warpbit_describe(mma, &newer.known) == WARPBIT_OK);
  CHECK(newer.known.lanes == 32);
  CHECK(newer.more == -5);
}

TEST_CASE("each thread has its own message", "[quick][c]") {
  const Handle mma(kProduct);
  std::vector<std::thread> threads;
  std::array<std::string, 4> messages;
  for (std::size_t t = 0; t < messages.size(); ++t)
    threads.emplace_back([&, t] {
      warpbit_instruction* none = nullptr;
      for (int i = 0; i < 200; ++i) {
        static_cast<void>(warpbit_parse(fmt::format("mma{}", t).c_str(), "sm_90", &none));
        warpbit_description d = WARPBIT_INIT(warpbit_description);
        static_cast<void>(warpbit_describe(mma, &d));
      }
      messages[t] = warpbit_message();
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < messages.size(); ++t)
    CHECK(messages[t].find(fmt::format("mma{}", t)) != std::string::npos);
}

TEST_CASE("whole matrices, with scale factors", "[quick][c]") {
  // Of ones each of D is the length of K.
  const std::size_t rows = 3, columns = 5, depth = 70;
  const std::vector<std::uint8_t> ones(rows * depth + depth * columns, 0x38);  // of e4m3
  std::vector<float> d(rows * columns, 7);
  const std::string form = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3";
  void* const factors = const_cast<std::uint8_t*>(ones.data());
  warpbit_product product = WARPBIT_INIT(warpbit_product);
  product.rows = rows;
  product.columns = columns;
  product.depth = depth;
  product.a = {factors, depth, 1};
  product.b = {factors, 1, depth};
  product.d = {d.data(), columns, 1};
  const auto all_are = [&d](float value) { return std::ranges::count(d, value) == std::ssize(d); };
  const Handle bare(form.c_str()), negated((form + " {d}, a_desc, b_desc, p, 1, -1;").c_str());
  CHECK(warpbit_gemm(bare, &product, nullptr) == WARPBIT_OK);
  CHECK(all_are(70));
  CHECK(warpbit_gemm(negated, &product, nullptr) == WARPBIT_OK);
  CHECK(all_are(-70));
  // D is C, in an order of K.
  product.c = product.d;
  product.order = "2:0:1 split_k=2";
  CHECK(warpbit_gemm(bare, &product, nullptr) == WARPBIT_OK);
  CHECK(all_are(0));

  product.order = "2:0";
  CHECK(warpbit_gemm(bare, &product, nullptr) == WARPBIT_EXECUTION);
  CHECK_THAT(warpbit_message(), Catch::Contains("2 steps in k_order; expected each of the 3 steps of K once"));
  product.order = "split_k=x";
  CHECK(warpbit_gemm(bare, &product, nullptr) == WARPBIT_USAGE);
  CHECK_THAT(warpbit_message(), Catch::Contains("'split_k=x'; expected split_k=4"));
  product.order = nullptr;
  CHECK(warpbit_gemm(nullptr, &product, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_gemm(bare, nullptr, nullptr) == WARPBIT_USAGE);
  warpbit_product none{};
  CHECK(warpbit_gemm(bare, &none, nullptr) == WARPBIT_USAGE);
  CHECK_THAT(warpbit_message(), Catch::Contains("product: size 0; expected WARPBIT_INIT"));

  // With a factor of 2 for rows of A and of 1/2, 1/2 and 4 for three blocks of B: 32 + 32 + 6 * 8.
  const Handle scaled("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0",
                      "sm_121a");  // whose results nobody has published
  std::uint8_t twos[9], mixed[3] = {126, 126, 129};
  std::ranges::fill(twos, std::uint8_t{128});
  product.c = {};
  CHECK(warpbit_gemm(scaled, &product, nullptr) == WARPBIT_EXECUTION);
  CHECK_THAT(warpbit_message(), Catch::Contains("a_scale has no data"));
  product.a_scale = {twos, 3, 1};
  product.b_scale = {mixed, 1, 0};
  CHECK(warpbit_gemm(scaled, &product, nullptr) == WARPBIT_OK);
  CHECK(all_are(112));
  warpbit_options options = WARPBIT_INIT(warpbit_options);
  options.refuse_inferred = 1;
  CHECK(warpbit_gemm(scaled, &product, &options) == WARPBIT_EXECUTION);
  CHECK(std::string(warpbit_error_name()) == "inferred_plan");
}

}  // namespace c_test
