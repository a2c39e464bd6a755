// SPDX-License-Identifier: Apache-2.0
// Mistakes in whole products of wgmma, made by a small simulation of such a kernel: small integers, whose sums are exact in
// any order; the warpgroup's registers and shared memory by the manual's formulas, written here once more.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "warpbit/diagnose.hpp"
#include "warpbit/format.hpp"

namespace diagnose_wgmma_test {

using namespace warpbit;

std::size_t at(int row, int columns, int column) {
  return static_cast<std::size_t>(row * columns + column);
}

// A kernel that computes A B + C with some form. Numbers are those of the operands.
struct Kernel {
  std::string form;
  int rows, columns, depth;
  std::vector<double> a = {}, b = {}, c = {}, d = {};
  std::mt19937 random{5};

  Kernel(std::string of, int m, int n, int k, int least = -7, int most = 7)
      : form(std::move(of)), rows(m), columns(n), depth(k) {
    const auto fill = [&](std::vector<double>& to, int size, int low, int high) {
      for (int i = 0; i < size; ++i)
        to.push_back(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
    };
    fill(a, m * k, least, most);
    fill(b, k * n, least, most);
    fill(c, m * n, -100, 100);
    run();
  }

  using Read = std::function<double(int row, int column)>;
  double any(int most) { return static_cast<double>(1 + random() % static_cast<unsigned>(most)); }
  // D where the elements of A and B are those that are read.
  void run(const Read& read_a, const Read& read_b) {
    d = c;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        for (int k = 0; k < depth; ++k) d[at(row, columns, column)] += read_a(row, k) * read_b(k, column);
  }
  void run() {
    run([this](int row, int k) { return a[at(row, depth, k)]; },
        [this](int k, int column) { return b[at(k, columns, column)]; });
  }
  void run_a(const Read& read) {
    run(read, [this](int k, int column) { return b[at(k, columns, column)]; });
  }
  void run_b(const Read& read) {
    run([this](int row, int k) { return a[at(row, depth, k)]; }, read);
  }
  // Each element of D is stored where to(row, column) says.
  void store(const std::function<std::pair<int, int>(int, int)>& to) {
    const std::vector<double> right = d;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const auto [to_row, to_column] = to(row, column);
        d[at(to_row, columns, to_column)] = right[at(row, columns, column)];
      }
  }

  Diagnosis diagnosed(bool pairs = false, const std::string& store = {}) const {
    const Result<Instruction> i = Instruction::parse(form, "H100");
    REQUIRE(i.ok());
    const Operand& of_d = i->operands()[0];
    const auto codes = [](std::string_view format, const std::vector<double>& numbers) {
      const Result<std::vector<std::uint64_t>> all = encode(format, numbers);
      REQUIRE(all.ok());
      const auto bytes = static_cast<std::size_t>((find_format_info(format).value().bits + 7) / 8);
      std::vector<std::byte> out(numbers.size() * bytes);
      for (std::size_t n = 0; n < numbers.size(); ++n) std::memcpy(&out[n * bytes], &(*all)[n], bytes);
      return out;
    };
    const std::vector<std::byte> of_a = codes(i->find(Part::a)->format, a),
                                 of_b = codes(i->find(Part::b)->format, b), of_c = codes(of_d.format, c);
    std::vector<std::byte> result = codes(store.empty() ? of_d.format : store, d);
    DiagnoseOptions options;
    options.pairs = pairs;
    options.store = store;
    const Gemm product{static_cast<std::size_t>(rows),  static_cast<std::size_t>(columns),
                       static_cast<std::size_t>(depth), {of_a.data(), depth, 1},
                       {of_b.data(), columns, 1},       {of_c.data(), columns, 1},
                       {result.data(), columns, 1}};
    const Result<Diagnosis> out = diagnose(*i, product, options);
    INFO((out ? std::string() : out.error().message()));
    REQUIRE(out.ok());
    return *out;
  }
};

Diagnosis check_named(const Kernel& kernel, const std::string& kind, const std::string& operand) {
  Diagnosis found = kernel.diagnosed();
  std::string all;
  for (const Finding& f : found.findings)
    all += fmt::format("\n  {} ({}): {}, {} of {}", f.kind, f.operand, f.mistake, f.explained, f.elements);
  INFO(kernel.form << ": " << found.text() << all);
  REQUIRE_FALSE(found.findings.empty());
  CHECK(found.findings[0].kind == kind);
  CHECK(found.findings[0].operand == operand);
  CHECK(found.findings[0].explains_all());
  CHECK(found.where.empty());
  return found;
}

// Where D's register of a thread of the warpgroup is in its tile, by the manual.
struct Register {
  int thread, reg;
};
std::pair<int, int> place(const Register& r) {
  return {16 * (r.thread / 32) + r.thread % 32 / 4 + 8 * (r.reg / 2 % 2),
          8 * (r.reg / 4) + r.thread % 4 * 2 + r.reg % 2};
}
Register holder(int row, int column) {
  return {row / 16 * 32 + row % 8 * 4 + column % 8 / 2, column / 8 * 4 + row % 16 / 8 * 2 + column % 2};
}

const std::vector<std::string>& forms() {
  static const std::vector<std::string> all = {"wgmma.m64n64k16.f32.f16", "wgmma.m64n32k16.f32.bf16",
                                               "wgmma.m64n16k8.f32.tf32", "wgmma.m64n32k32.f32.e4m3.e5m2",
                                               "wgmma.m64n16k32.s32.s8",  "wgmma.m64n8k16.f16.f16"};
  return all;
}

TEST_CASE("right products of wgmma are correct", "[diagnose][wgmma]") {
  for (const std::string& form : forms())
    for (const auto& [m, n, k] : {std::tuple(64, 64, 64), {128, 96, 40}, {70, 33, 24}}) {
      const Diagnosis found = Kernel(form, m, n, k, -3, 3).diagnosed();
      INFO(form << " " << found.text());
      CHECK(found.verdict == Verdict::correct);
      CHECK(found.elements == static_cast<std::uint64_t>(m * n));
      CHECK_FALSE(found.inferred);
    }
  CHECK(Kernel("wgmma.m64n32k32.s32.u8", 64, 32, 64, 0, 255).diagnosed().verdict == Verdict::correct);
}

TEST_CASE("products of wgmma have the sums of wgmma", "[diagnose][wgmma]") {
  // Of FP8 a sum keeps 13 bits behind the leading one of its largest product: of 2^16 + 4 nothing of the 4.
  Kernel kernel("wgmma.m64n8k32.f32.e4m3.e4m3", 64, 8, 32, 0, 0);
  std::ranges::fill(kernel.c, 0);
  for (int row = 0; row < 64; ++row) kernel.a[at(row, 32, 0)] = 256, kernel.a[at(row, 32, 1)] = 2;
  for (int column = 0; column < 8; ++column) kernel.b[at(0, 8, column)] = 256, kernel.b[at(1, 8, column)] = 2;
  kernel.run();
  REQUIRE(kernel.d[0] == 65540);
  CHECK(kernel.diagnosed().verdict != Verdict::correct);
  std::ranges::fill(kernel.d, 65536);
  CHECK(kernel.diagnosed().verdict == Verdict::correct);
}

TEST_CASE("stale and missing stages of wgmma are named", "[diagnose][wgmma]") {
  constexpr int stage = 32, depth = 6 * stage;
  for (const char* form :
       {"wgmma.m64n32k16.f32.f16", "wgmma.m64n32k32.f32.e4m3.e4m3", "wgmma.m64n64k16.f32.bf16"}) {
    Kernel kernel(form, 64, 32, depth);
    const auto stale = [&](int first, int last, int ring) {
      return [=, &kernel](int row, int k) {
        const int s = k / stage;
        return kernel.a[at(row, depth, s < first || s > last ? k : k - ring * stage)];
      };
    };
    kernel.run_a(stale(3, 3, 2));
    check_named(kernel, "stale_step", "a");
    kernel.run_a(stale(1, 5, 1));
    check_named(kernel, "stale_step", "a");
    kernel.run_b([&](int k, int column) {
      return kernel.b[at(k / stage == 4 ? k - 4 * stage : k, kernel.columns, column)];
    });
    check_named(kernel, "stale_step", "b");
    kernel.run_a([&](int row, int k) { return k / stage == 2 ? 0 : kernel.a[at(row, depth, k)]; });
    check_named(kernel, "step_missing", "");
  }
}

float through_bf16(double x, bool nearest) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  const std::uint32_t half = nearest ? 0x7FFF + (bits >> 16 & 1) : 0;
  return std::bit_cast<float>((bits + half) & 0xFFFF0000);
}

TEST_CASE("an epilogue's rounding and activation are named", "[diagnose][wgmma]") {
  for (const std::string form : {"wgmma.m64n32k16.f32.f16", "wgmma.m64n24k8.f32.tf32",
                                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"}) {
    for (const bool nearest : {true, false}) {
      Kernel kernel(form, 64, 40, 32);
      for (double& x : kernel.d) x = through_bf16(x, nearest);
      CHECK_THAT(check_named(kernel, "rounded", "d").findings[0].mistake,
                 Catch::Contains(nearest ? "bf16, to nearest even" : "bf16, toward zero"));
    }
    Kernel kernel(form, 64, 40, 32);
    for (double& x : kernel.d) x = std::max(x, 0.0);
    check_named(kernel, "relu", "d");
    for (double& x : kernel.d) x = through_bf16(x, true);
    const Diagnosis both = kernel.diagnosed(true);
    REQUIRE_FALSE(both.findings.empty());
    CHECK((both.findings[0].kind == "rounded+relu" || both.findings[0].kind == "relu+rounded"));
    CHECK(both.findings[0].explains_all());
  }
  Kernel integers("wgmma.m64n16k32.s32.s8", 64, 32, 64);
  for (double& x : integers.d) x = std::max(x, 0.0);
  check_named(integers, "relu", "d");
}

TEST_CASE("a kernel may store its sums in another format", "[diagnose][wgmma]") {
  for (const auto& [form, store] : {std::pair("wgmma.m64n32k16.f32.f16", "f16"),
                                    {"wgmma.m64n32k32.f32.e4m3.e4m3", "bf16"},
                                    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "bf16"}}) {
    Kernel kernel(form, 64, 32, 96);
    CHECK(kernel.diagnosed(false, store).verdict == Verdict::correct);
    kernel.run_a([&](int row, int k) { return kernel.a[at(row, 96, k < 64 ? k : k - 32)]; });
    const Diagnosis stale = kernel.diagnosed(false, store);
    REQUIRE_FALSE(stale.findings.empty());
    CHECK(stale.findings[0].kind == "stale_step");
    CHECK(stale.findings[0].explains_all());
    kernel.run();
    for (double& x : kernel.d) x = std::max(x, 0.0);
    CHECK(kernel.diagnosed(false, store).findings.at(0).kind == "relu");
  }
  const auto refused = [](const std::string& form, const std::string& store) {
    const Instruction i = Instruction::parse(form, "H100").value();
    std::vector<std::byte> any(8192);
    DiagnoseOptions options;
    options.store = store;
    const Result<Diagnosis> out =
        diagnose(i, Gemm{8, 8, 8, {any.data(), 8, 1}, {any.data(), 8, 1}, {}, {any.data(), 8, 1}}, options);
    REQUIRE_FALSE(out.ok());
    return out.error().message();
  };
  CHECK_THAT(refused("wgmma.m64n8k16.f32.f16", "e4m3"),
             Catch::Contains("D is stored in e4m3; expected f32, or f16 or bf16"));
  CHECK_THAT(refused("wgmma.m64n8k16.f16.f16", "f32"), Catch::Contains("D is stored in f32"));
  CHECK_THAT(refused("wgmma.m64n8k32.s32.s8", "f16"), Catch::Contains("D is stored in f16; expected s32"));
  CHECK_THAT(refused("wgmma.m64n8k16.f32.f16", "nothing"), Catch::Contains("D is stored in nothing"));
}

TEST_CASE("registers and warps of D in other places are named", "[diagnose][wgmma]") {
  for (const std::string form : {"wgmma.m64n64k16.f32.f16", "wgmma.m64n64k32.s32.s8"}) {
    Kernel kernel(form, 64, 128, 32);
    const auto in_tiles = [&](const std::function<Register(const Register&)>& other) {
      kernel.run();
      kernel.store([&](int row, int column) {
        const auto [r, c] = place(other(holder(row, column % 64)));
        return std::pair(r, column / 64 * 64 + c);
      });
    };
    in_tiles([](const Register& r) { return Register{r.thread ^ 32, r.reg}; });
    check_named(kernel, "lane_order", "d");
    in_tiles([](const Register& r) { return Register{r.thread, r.reg ^ 3}; });
    check_named(kernel, "register_order", "d");
    in_tiles([](const Register& r) { return Register{r.thread ^ 1, r.reg}; });
    check_named(kernel, "lane_order", "d");
  }
}

TEST_CASE("registers of A of wgmma in other places are named", "[diagnose][wgmma]") {
  Kernel kernel("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {d}, {a}, b_desc, p, 1, 1, 0;", 128, 32,
                32);
  const auto a = [&](int row, int k) { return kernel.a[at(row, 32, k)]; };
  // Registers of A: those of rows 8 to 15 of each 16 are odd, those of k 8 to 15 are 2 and 3.
  kernel.run_a([&](int row, int k) {
    return a(row / 16 * 16 + row % 8 + k % 16 / 8 * 8, k / 16 * 16 + row % 16 / 8 * 8 + k % 8);
  });
  check_named(kernel, "register_order", "a");
  kernel.run_a([&](int row, int k) { return a(row ^ 16, k); });
  check_named(kernel, "lane_order", "a");
  kernel.run_a([&](int row, int k) { return row / 16 % 4 == 3 ? 0 : a(row, k); });
  check_named(kernel, "not_loaded", "a");
}

TEST_CASE("registers of two tiles that are mixed are named", "[diagnose][wgmma]") {
  for (const auto& [form, n] : {std::pair("wgmma.m64n32k16.f32.f16", 32), {"wgmma.m64n64k8.f32.tf32", 64}})
    for (const bool down : {true, false}) {
      Kernel kernel(form, down ? 128 : 64, down ? n : 2 * n, 48);
      const int registers = n / 2;
      const auto mixed = [&, n = n](const std::function<int(int)>& other) {
        kernel.run();
        kernel.store([&](int row, int column) {
          const int tile = down ? row / 64 : column / n;
          const Register r = holder(row % 64, column % n);
          const int i = other(tile * registers + r.reg);
          const auto [to_row, to_column] = place({r.thread, i % registers});
          return std::pair(to_row + (down ? i / registers * 64 : 0),
                           to_column + (down ? 0 : i / registers * n));
        });
      };
      mixed([&](int i) { return i % registers * 2 + i / registers; });
      check_named(kernel, "tiles_mixed", "d");
      mixed([&](int i) { return (i & 1) == 0 ? i : (i + registers) % (2 * registers); });
      check_named(kernel, "tiles_mixed", "d");
    }
}

// K-major tiles of 16 bits without a swizzle: 8 lines of 16 bytes lie side by side, LBO further the next 8 of k, SBO further
// the next 8 lines.
TEST_CASE("LBO and SBO that are exchanged are named", "[diagnose][wgmma]") {
  for (const std::string form : {"wgmma.m64n64k16.f32.f16", "wgmma.m64n64k16.f32.bf16"}) {
    Kernel kernel(form, 64, 64, 16);
    const auto exchanged = [](int line, int k) {  // which (line, k) is read, in a tile of 64 lines and 16 k
      const int lbo = 1024, sbo = 128, chunk = k / 8, eight = line / 8;
      const int address = chunk * sbo + eight * lbo;  // of the right ones: chunk * lbo + eight * sbo
      return std::pair(address % lbo / sbo * 8 + line % 8, address / lbo * 8 + k % 8);
    };
    // Lines from 16 on are read from behind the tile: what is known of D are the first 16.
    kernel.run_a([&](int row, int k) {
      const auto [line, other] = exchanged(row, k);
      return other < 16 ? kernel.a[at(line, 16, other)] : kernel.any(15) - 8;
    });
    const Diagnosis found = kernel.diagnosed();
    INFO(found.text());
    REQUIRE_FALSE(found.findings.empty());
    CHECK(found.verdict == Verdict::partial);
    CHECK(found.findings[0].kind == "offsets_exchanged");
    CHECK(found.findings[0].operand == "a");
    CHECK(found.findings[0].contradicted == 0);
    CHECK(found.findings[0].explained == 16 * 64);
  }
}

// K-major tiles with the 128-byte swizzle: a line is 128 bytes, and bits 4 to 6 of an address are XORed with 7 to 9.
TEST_CASE("a swizzle that the descriptor does not have is named", "[diagnose][wgmma]") {
  const auto swizzled = [](int address, int bits) { return address ^ (address >> 7 & bits) << 4; };
  Kernel kernel("wgmma.m64n64k16.f32.f16", 64, 64, 64);
  // Stored with 128 bytes, read with none: LBO 16, SBO 1024 as they were.
  const auto read = [&](int line, int k) {
    const int step = k / 16, chunk = k % 16 / 8;
    const int address = step * 32 + line % 8 * 16 + line / 8 * 1024 + chunk * 16 + k % 8 * 2;
    const int stored = swizzled(address, 7);
    return std::pair(stored / 128, stored % 128 / 2);
  };
  kernel.run_a([&](int row, int k) {
    const auto [line, other] = read(row, k);
    return kernel.a[at(line, 64, other)];
  });
  check_named(kernel, "swizzle", "a");
  kernel.run_b([&](int k, int column) {
    const auto [line, other] = read(column, k);
    return kernel.b[at(other, 64, line)];
  });
  check_named(kernel, "swizzle", "b");
}

TEST_CASE("steps along K that do not advance are named", "[diagnose][wgmma]") {
  Kernel kernel("wgmma.m64n64k16.f32.f16", 64, 64, 256);
  kernel.run_b([&](int k, int column) { return kernel.b[at(k / 64 * 64 + k % 16, 64, column)]; });
  check_named(kernel, "depth_step", "b");
}

TEST_CASE("where nothing explains D, the wrong elements have a map", "[diagnose][wgmma]") {
  Kernel kernel("wgmma.m64n64k16.f32.f16", 128, 192, 32);
  for (int row = 0; row < 64; ++row)
    for (int column = 64; column < 128; ++column)
      if (row / 16 == 2 && row % 16 >= 8) kernel.d[at(row, 192, column)] += kernel.any(1000);
  const Diagnosis found = kernel.diagnosed();
  CHECK(found.verdict == Verdict::none);
  REQUIRE(found.where.size() == 1);
  const WrongPlaces& where = found.where[0];
  CHECK(where.wrong == 8 * 64);
  CHECK(where.is_complete);
  CHECK(
      where.text() ==
      "512 wrong: all with tile row 0, tile column 1, warp 2, register 2 to 3 of each 4, row 40 to 47, column 64 to 127");
  CHECK(where.indices[3].size == 32);

  kernel.d[at(127, 192, 0)] += 3;
  const Diagnosis two = kernel.diagnosed();
  REQUIRE(two.where.size() == 2);
  CHECK(two.where[0].text() == where.text());
  CHECK(two.where[1].text() ==
        "1 wrong: all with tile row 1, tile column 0, warp 3, lane 28, register 2, row 127, column 0");

  for (double& x : kernel.d) x += kernel.any(1000);
  const Diagnosis all = kernel.diagnosed();
  REQUIRE(all.where.size() == 1);
  CHECK(all.where[0].text() == "every element is wrong");
}

TEST_CASE("products that diagnose refuses", "[diagnose][wgmma]") {
  const auto refused = [](const std::string& form, const std::string& target) {
    const Instruction i = Instruction::parse(form, target).value();
    std::vector<std::byte> any(8 * 4096);
    const Result<Diagnosis> out =
        diagnose(i, Gemm{16, 8, 64, {any.data(), 64, 1}, {any.data(), 8, 1}, {}, {any.data(), 8, 1}});
    REQUIRE_FALSE(out.ok());
    CHECK(out.error().code == Errc::view_mismatch);
    CHECK_THAT(out.error().message(), Catch::Contains("a dense product of matrices, of a warp or of a"));
  };
  refused("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", "H100");
  refused("tcgen05.mma.cta_group::1.kind::f16", "B200");
  refused("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "H100");
}

}  // namespace diagnose_wgmma_test
