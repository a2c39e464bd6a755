// SPDX-License-Identifier: Apache-2.0
// Small captures of every layout and kind of member: right answers are found right, a wrong bit is found where
// it is, and what does not fit is refused by the member's name. Expected bits follow from the text of the
// statement.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "archive.hpp"
#include "warpbit/replay.hpp"

namespace capture_replay_test {

using namespace warpbit;
using Catch::Contains;
using Catch::StartsWith;
using Catch::Matchers::Equals;
using Shape = std::vector<std::uint64_t>;

struct Capture {
  std::string statement;
  CaptureLayout layout = CaptureLayout::registers;
  std::string target = "sm_90a";
  std::vector<Array> arrays = {};

  Array& operator[](const std::string& name) {
    const auto found = std::ranges::find_if(arrays, [&](const Array& a) { return a.header.name == name; });
    REQUIRE(found != arrays.end());
    return *found;
  }
  Array& add(const std::string& name, std::size_t item_bytes, Shape shape) {
    return arrays.emplace_back(Array::zeros(name, item_bytes, std::move(shape)));
  }
  void add(const std::string& name, std::size_t item_bytes, Shape shape,
           const std::vector<std::uint64_t>& values) {
    Array& array = add(name, item_bytes, std::move(shape));
    REQUIRE(values.size() == array.header.items());
    for (std::uint64_t i = 0; i < values.size(); ++i) array.set(i, values[i]);
  }
  void remove(const std::string& name) {
    std::erase_if(arrays, [&](const Array& a) { return a.header.name == name; });
  }
};

struct Directory : archive::Directory {
  archive::fs::path write(const Capture& c, const char* name = "c.npz") const {
    const CaptureHeader header{c.statement, c.target, c.layout, CaptureSource::model,
                               R"({"program": "a test"})"};
    const Result<void> written = write_capture(path / name, header, c.arrays);
    INFO((written ? std::string() : written.error().message()));
    REQUIRE(written.ok());
    return path / name;
  }
  FileReport replayed(const Capture& c) const { return replay(write(c)); }
};

FileReport replayed(const Capture& c) {
  return Directory().replayed(c);
}

void require_right(const Capture& c, std::uint64_t cases, std::uint64_t elements) {
  const FileReport report = replayed(c);
  INFO(c.statement << ": " << (report.error ? report.error->message() : ""));
  REQUIRE(report.status == FileStatus::replayed);
  CHECK(report.cases == cases);
  CHECK(report.elements == elements);
  for (const Mismatch& m : report.details) FAIL_CHECK(text(m));
  CHECK(report.notes.empty());
}

void require_refused(const Capture& c, FileStatus status, const std::string& message) {
  const FileReport report = replayed(c);
  INFO(c.statement);
  REQUIRE(report.error);
  CHECK_THAT(report.error->message(), StartsWith(message));
  CHECK(report.status == status);
  CHECK(report.elements == 0);
}
void require_unreadable(const Capture& c, const std::string& message) {
  require_refused(c, FileStatus::unreadable, message);
}

// The only mismatch of a file.
Mismatch only_mismatch(const FileReport& report) {
  REQUIRE(report.status == FileStatus::replayed);
  REQUIRE(report.mismatches == 1);
  REQUIRE(report.details.size() == 1);
  return report.details[0];
}

// ---- Captures, two cases each

constexpr std::uint64_t kCases = 2, kBytes = 1024;

void add_noise(Capture& c, const std::string& name, std::size_t item_bytes, const Shape& shape) {
  static std::mt19937_64 random(9);
  Array& array = c.add(name, item_bytes, shape);
  for (std::byte& b : array.data) b = static_cast<std::byte>(random());
}

// Byte `at` of case i of an image.
std::uint64_t place(std::uint64_t i, std::uint64_t at) {
  return i * kBytes + at;
}
std::uint64_t word(const Array& image, std::uint64_t i, std::uint64_t at) {
  std::uint64_t out = 0;
  for (std::uint64_t n = 0; n < 4; ++n) out |= image.at(place(i, at + n)) << (8 * n);
  return out;
}
void set_word(Array& image, std::uint64_t i, std::uint64_t at, std::uint64_t value) {
  for (std::uint64_t n = 0; n < 4; ++n) image.set(place(i, at + n), value >> (8 * n) & 0xFF);
}

// Lane i of case n gives a line that no other lane gives, in an order that differs between the cases.
void add_lines(Capture& c, std::uint64_t offset = 0) {
  Array& addr = c.add("addr", 4, {kCases, 32});
  for (std::uint64_t n = 0; n < kCases; ++n)
    for (std::uint64_t lane = 0; lane < 32; ++lane)
      addr.set(n * 32 + lane, 16 * ((lane * (n == 0 ? 5 : 11) + 1) % 64) - offset);
}
std::uint64_t line(Capture& c, std::uint64_t i, std::uint64_t lane) {
  return c["addr"].at(i * 32 + lane);
}

// Lane l gets, or stores, word l % 4 of the line of lane l / 4.
Capture ldmatrix() {
  Capture c{"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [addr];"};
  add_noise(c, "smem", 1, {kCases, kBytes});
  add_lines(c);
  Array& r = c.add("r", 4, {kCases, 32, 1});
  for (std::uint64_t i = 0; i < kCases; ++i)
    for (std::uint64_t lane = 0; lane < 32; ++lane)
      r.set(i * 32 + lane, word(c["smem"], i, line(c, i, lane / 4) + 4 * (lane % 4)));
  return c;
}

Capture stmatrix() {
  Capture c{"stmatrix.sync.aligned.m8n8.x1.shared.b16 [addr], {r};"};
  add_noise(c, "smem", 1, {kCases, kBytes});
  add_lines(c);
  add_noise(c, "r", 4, {kCases, 32, 1});
  Array after = c["smem"];
  after.header.name = "smem_out";
  for (std::uint64_t i = 0; i < kCases; ++i)
    for (std::uint64_t lane = 0; lane < 32; ++lane)
      set_word(after, i, line(c, i, lane / 4) + 4 * (lane % 4), c["r"].at(i * 32 + lane));
  c.arrays.push_back(after);
  return c;
}

enum class Stride { member, literal, absent };
constexpr std::uint64_t kStride = 32;  // elements; 16 of s8 in a line, 8 of s32

// Where all lanes say, in bytes, and the stride; of case 1 another address.
std::uint64_t matrix_start(std::uint64_t i) {
  return 64 + 32 * i;
}
void add_matrix(Capture& c, Stride stride) {
  Array& addr = c.add("addr", 4, {kCases, 32});
  for (std::uint64_t n = 0; n < addr.header.items(); ++n) addr.set(n, matrix_start(n / 32));
  if (stride == Stride::member) c.add("stride", 4, {kCases}, {kStride, kStride});
}
std::string stride_text(Stride stride) {
  return stride == Stride::member ? ", stride" : stride == Stride::literal ? ", 32" : "";
}

// A of m16n16k16 s8: register r of lane l holds row l / 4 + 8 r, columns 4 (l % 4) and up.
Capture wmma_load(Stride stride = Stride::member) {
  Capture c{"wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {r}, [addr]" + stride_text(stride) + ";"};
  add_noise(c, "smem", 1, {kCases, kBytes});
  add_matrix(c, stride);
  const std::uint64_t bytes = stride == Stride::absent ? 16 : kStride;
  Array& r = c.add("r", 4, {kCases, 32, 2});
  for (std::uint64_t i = 0; i < kCases; ++i)
    for (std::uint64_t n = 0; n < 64; ++n)
      r.set(i * 64 + n, word(c["smem"], i, matrix_start(i) + (n / 8 + 8 * (n % 2)) * bytes + 4 * (n / 2 % 4)));
  return c;
}

// D of m8n8k32: register r of lane l holds row l / 4, column 2 (l % 4) + r.
Capture wmma_store(Stride stride = Stride::member) {
  Capture c{"wmma.store.d.sync.aligned.row.m8n8k32.shared.s32 [addr], {r}" + stride_text(stride) + ";"};
  add_noise(c, "smem", 1, {kCases, 2 * kBytes});
  add_matrix(c, stride);
  add_noise(c, "r", 4, {kCases, 32, 2});
  const std::uint64_t bytes = 4 * (stride == Stride::absent ? 8 : kStride);
  Array after = c["smem"];
  after.header.name = "smem_out";
  for (std::uint64_t i = 0; i < kCases; ++i)
    for (std::uint64_t n = 0; n < 64; ++n)
      set_word(after, 2 * i, matrix_start(i) + n / 8 * bytes + 4 * (n % 8), c["r"].at(i * 64 + n));
  c.arrays.push_back(after);
  return c;
}

Capture movmatrix() {
  Capture c{"movmatrix.sync.aligned.m8n8.trans.b16 d, a;"};
  c.add("a", 4, {kCases, 32});
  c.add("d", 4, {kCases, 32});
  for (std::uint64_t n = 0; n < kCases * 32; ++n) {
    const std::uint64_t row = n % 32 / 4, column = 2 * (n % 4);
    const auto element = [&](std::uint64_t r, std::uint64_t k) { return 1000 * (n / 32) + 8 * r + k; };
    c["a"].set(n, element(row, column) | element(row, column + 1) << 16);
    c["d"].set(n, element(column, row) | element(column + 1, row) << 16);
  }
  return c;
}

// 1 and 2 as f32.
constexpr std::uint64_t k1 = 0x3F800000, k2 = 0x40000000, k3 = 0x40400000, k4 = 0x40800000;

Capture cvt_pair() {
  Capture c{"cvt.rn.f16x2.f32 d, a, b;", CaptureLayout::scalars};
  c.add("a", 4, {3}, {k1, k2, 0});
  c.add("b", 4, {3}, {k2, k2, k1});
  c.add("d", 4, {3}, {0x3C004000, 0x40004000, 0x00003C00});
  return c;
}
Capture cvt_four() {
  Capture c{"cvt.rs.satfinite.e4m3x4.f32 d, {abcd}, rbits;", CaptureLayout::scalars, "sm_100a"};
  c.add("abcd", 4, {2, 4}, {k1, k2, k3, k4, 0, 0, 0, k1});
  c.add("rbits", 4, {2}, {0, 0xFFFFFFFF});
  c.add("d", 4, {2}, {0x38404448, 0x00000038});
  return c;
}

// One scale factor, 2^(x - 127), for 32 elements: 8 products of 1 times 2 times 1, plus 1, is 17.
Capture scaled() {
  Capture c{
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
      "{d}, {a}, {b}, {c}, sfa, {0, 0}, sfb, {0, 0};",
      CaptureLayout::elements, "sm_120a"};
  c.add("a", 1, {1, 8}, std::vector<std::uint64_t>(8, 0x38));
  c.add("b", 1, {1, 8}, std::vector<std::uint64_t>(8, 0x38));
  c.add("c", 4, {1}, {k1});
  c.add("sfa", 1, {1, 1}, {128});
  c.add("sfb", 1, {1, 1}, {127});
  c.add("d", 4, {1}, {0x41880000});
  return c;
}
// Two of them for 64 elements: 32 times 1 times 1 plus 32 times 4 times 1/2 is 96.
Capture twice_scaled() {
  Capture c{
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
      "{d}, {a}, {b}, {c}, sfa, {0, 0}, sfb, {0, 0};",
      CaptureLayout::elements, "sm_120a"};
  c.add("a", 1, {1, 64}, std::vector<std::uint64_t>(64, 2));
  c.add("b", 1, {1, 64}, std::vector<std::uint64_t>(64, 2));
  c.add("c", 4, {1}, {0});
  c.add("sfa", 1, {1, 2}, {127, 129});
  c.add("sfb", 1, {1, 2}, {127, 126});
  c.add("d", 4, {1}, {0x42C00000});
  return c;
}
// In registers: all of A, B and the scale factors 1, C is 0. sfa lies where {byte-id, thread-id} say.
Capture scaled_registers() {
  Capture c{
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
      "{d}, {a}, {b}, {c}, sfa, {1, 1}, sfb, {3, 2};",
      CaptureLayout::registers, "sm_120a"};
  c.add("a", 4, {1, 32, 4}, std::vector<std::uint64_t>(128, 0x38383838));
  c.add("b", 4, {1, 32, 2}, std::vector<std::uint64_t>(64, 0x38383838));
  c.add("c", 4, {1, 32, 4});
  Array& sfa = c.add("sfa", 4, {1, 32});
  for (std::uint64_t lane = 0; lane < 32; ++lane) sfa.set(lane, lane % 4 >= 2 ? 0xFFFF7FFF : 0xFFFFFFFF);
  Array& sfb = c.add("sfb", 4, {1, 32});
  for (std::uint64_t lane = 0; lane < 32; ++lane) sfb.set(lane, lane % 4 == 2 ? 0x7FFFFFFF : 0xFFFFFFFF);
  c.add("d", 4, {1, 32, 4}, std::vector<std::uint64_t>(128, 0x42000000));
  return c;
}

TEST_CASE("captures of every layout and member are replayed") {
  require_right(ldmatrix(), 2, 2 * 64);
  require_right(stmatrix(), 2, 2 * kBytes);
  for (const Stride stride : {Stride::member, Stride::literal, Stride::absent}) {
    require_right(wmma_load(stride), 2, 2 * 256);
    require_right(wmma_store(stride), 2, 4 * kBytes);
  }
  require_right(movmatrix(), 2, 2 * 64);
  require_right(cvt_pair(), 3, 6);
  require_right(cvt_four(), 2, 8);
  require_right(scaled(), 1, 1);
  require_right(twice_scaled(), 1, 1);
  require_right(scaled_registers(), 1, 128);

  Capture bytes{"cvt.rn.satfinite.e2m1x2.f32 d, a, b;", CaptureLayout::scalars, "sm_120a"};
  bytes.add("a", 4, {1}, {k1});
  bytes.add("b", 4, {1}, {k2});
  bytes.add("d", 1, {1}, {0x24});
  require_right(bytes, 1, 2);
  Capture wide{"cvt.f64.f16 d, a;", CaptureLayout::scalars};
  wide.add("a", 2, {1}, {0x3C00});
  wide.add("d", 8, {1}, {0x3FF0000000000000});
  require_right(wide, 1, 1);

  // The same words by generic addresses, and at an offset.
  Capture generic = ldmatrix();
  generic.statement = "ldmatrix.sync.aligned.m8n8.x1.b16 {r}, [addr];";
  require_right(generic, 2, 2 * 64);
  Capture offset = ldmatrix();
  offset.statement = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [addr+16];";
  for (std::uint64_t n = 0; n < 64; ++n) offset["addr"].set(n, offset["addr"].at(n) - 16);
  require_right(offset, 2, 2 * 64);
}

TEST_CASE("a wrong bit is found where it is") {
  Capture load = ldmatrix();
  load["r"].set(32 + 13, load["r"].at(32 + 13) ^ 0x10000);  // row 3, the upper half of lane 13: column 3
  Mismatch m = only_mismatch(replayed(load));
  CHECK(m.index == 1);
  CHECK(m.lane == 13);
  CHECK(m.reg == 0);
  CHECK(m.row == 3);
  CHECK(m.column == 3);
  CHECK(m.address == -1);
  CHECK((m.expected ^ m.got) == 1);
  CHECK(m.format == "b16");

  Capture store = stmatrix();
  store["smem_out"].set(place(1, 0x123), store["smem_out"].at(place(1, 0x123)) ^ 0xFF);
  m = only_mismatch(replayed(store));
  CHECK(m.index == 1);
  CHECK(m.lane == -1);
  CHECK(m.address == 0x123);
  CHECK(m.format == "b8");
  CHECK_THAT(text(m), StartsWith("case 1 byte 0x123 of memory: expected 0x"));

  // Unless a mask leaves it out; other masked places are not counted either.
  Array& mask = store.add("mask", 1, {kCases, kBytes});
  for (std::uint64_t n = 0; n < mask.header.items(); ++n) mask.set(n, n % 2 == 0);
  const FileReport masked = replayed(store);
  CHECK(masked.status == FileStatus::replayed);
  CHECK(masked.mismatches == 0);
  CHECK(masked.elements == kBytes);
  CHECK(masked.masked == kBytes);
  store["mask"].set(place(1, 0x123), 7);
  CHECK(only_mismatch(replayed(store)).address == 0x123);

  Capture pair = cvt_pair();
  pair["d"].set(2, 0x00013C00);  // a is in the upper half, which is element 1
  m = only_mismatch(replayed(pair));
  CHECK(m.index == 2);
  CHECK(m.column == 1);
  CHECK_THAT(text(m), Equals("case 2 element 1: expected 0x0001 (5.960464477539063e-08), got 0x0000 (0)"));

  Capture product = scaled();
  product["d"].set(0, 0x41880001);
  CHECK(only_mismatch(replayed(product)).got == 0x41880000);
}

TEST_CASE("a missing or misshapen member is named") {
  struct Row {
    Capture capture;
    std::string member, accepted;
  };
  const Row rows[] = {
      {ldmatrix(), "smem", "uint8 (2, bytes)"},
      {ldmatrix(), "addr", "uint32 (2, 32)"},
      {ldmatrix(), "r", "uint32 (cases, 32, 1)"},
      {stmatrix(), "smem", "uint8 (2, bytes)"},
      {stmatrix(), "smem_out", "uint8 (2, 1024)"},
      {stmatrix(), "addr", "uint32 (cases, 32)"},
      {stmatrix(), "r", "uint32 (2, 32, 1)"},
      {wmma_load(), "stride", "uint32 (2,)"},
      {wmma_store(), "stride", "uint32 (2,)"},
      {movmatrix(), "a", "uint32 (2, 32)"},
      {movmatrix(), "d", "uint32 (cases, 32)"},
      {cvt_pair(), "a", "uint32 (3,)"},
      {cvt_pair(), "b", "uint32 (3,)"},
      {cvt_pair(), "d", "uint32 (n,)"},
      {cvt_four(), "abcd", "uint32 (2, 4)"},
      {cvt_four(), "rbits", "uint32 (2,)"},
      {scaled(), "sfa", "uint8 (1, 1)"},
      {twice_scaled(), "sfb", "uint8 (1, 2)"},
      {scaled_registers(), "sfa", "uint32 (1, 32)"},
  };
  for (const auto& [good, member, accepted] : rows) {
    INFO(good.statement << ": " << member);
    const std::string dtype = accepted.substr(0, accepted.find(' ')), shape = accepted.substr(dtype.size() + 1);
    Capture bad = good;
    bad.remove(member);
    require_unreadable(bad, fmt::format("member '{}' is missing; expected {}", member, accepted));

    const ArrayHeader header = Capture(good)[member].header;
    const auto replaced = [&](std::size_t item_bytes, Shape wrong) {
      Capture out = good;
      out[member] = Array::zeros(member, item_bytes, std::move(wrong));
      return out;
    };
    const std::size_t other = header.item_bytes == 2 ? 4 : 2;
    require_unreadable(replaced(other, header.shape),
                       fmt::format("member '{}' has dtype uint{}; expected {}", member, 8 * other, dtype));
    Shape longer = header.shape;
    longer.push_back(1);
    const auto named = fmt::format("member '{}' has shape ", member);
    require_unreadable(replaced(header.item_bytes, longer), named);
    require_unreadable(replaced(header.item_bytes, {}), named);
    Shape wider = header.shape;
    if (member == "smem") continue;  // any number of bytes
    if (wider.size() > 1) {
      wider.back() += 1;
      const ArrayHeader seen{member, 'u', header.item_bytes, wider};
      require_unreadable(replaced(header.item_bytes, wider),
                         fmt::format("{}{}; expected {}", named, seen.shape_text(), shape));
    }
  }

  // Other numbers of cases than the member before.
  Capture bad = stmatrix();
  bad["smem_out"] = Array::zeros("smem_out", 1, {kCases + 1, kBytes});
  require_unreadable(bad, "member 'smem_out' has shape (3, 1024); expected (2, 1024)");
  bad = ldmatrix();
  bad["smem"] = Array::zeros("smem", 1, {1, kBytes});
  require_unreadable(bad, "member 'smem' has shape (1, 1024); expected (2, bytes)");
  bad = wmma_load();
  bad["stride"] = Array::zeros("stride", 4, {3});
  require_unreadable(bad, "member 'stride' has shape (3,); expected (2,)");
  bad = cvt_pair();
  bad["b"] = Array::zeros("b", 4, {4});
  require_unreadable(bad, "member 'b' has shape (4,); expected (3,)");
  bad = stmatrix();
  bad.add("mask", 1, {kCases, 32, 1});
  require_unreadable(bad, "member 'mask' has shape (2, 32, 1); expected (2, 1024)");
}

TEST_CASE("scale factors of layout elements: as many as the elements need") {
  for (const std::uint64_t count : {0, 2}) {
    Capture bad = scaled();
    bad["sfa"] = Array::zeros("sfa", 1, {1, count});
    require_unreadable(bad, fmt::format("member 'sfa' has shape (1, {}); expected (1, 1)", count));
  }
  // 33 of 64 elements lie in two blocks, 32 in one.
  for (const std::uint64_t depth : {32, 33}) {
    Capture c = twice_scaled();
    const std::uint64_t blocks = depth / 33 + 1;
    for (const char* name : {"a", "b"}) {
      c.remove(name);
      c.add(name, 1, {1, depth}, std::vector<std::uint64_t>(depth, 2));
    }
    for (const char* name : {"sfa", "sfb"}) {
      c.remove(name);
      c.add(name, 1, {1, blocks}, std::vector<std::uint64_t>(blocks, 127));
    }
    c["d"].set(0, depth == 32 ? 0x42000000 : 0x42040000);
    require_right(c, 1, 1);
    c["sfb"] = Array::zeros("sfb", 1, {1, 3 - blocks});
    require_unreadable(c, fmt::format("member 'sfb' has shape (1, {}); expected (1, {})", 3 - blocks, blocks));
  }
}

TEST_CASE("a layout that does not fit the statement is refused") {
  const auto in = [](Capture c, CaptureLayout layout) {
    c.layout = layout;
    return c;
  };
  using enum CaptureLayout;
  for (const Capture& c : {ldmatrix(), stmatrix(), wmma_load(), wmma_store(), movmatrix()})
    for (const CaptureLayout layout : {elements, scalars})
      require_unreadable(
          in(c, layout),
          fmt::format("member 'layout': {}; expected registers for this statement", name(layout)));
  for (const CaptureLayout layout : {registers, elements})
    require_unreadable(in(cvt_pair(), layout),
                       fmt::format("member 'layout': {}; expected scalars for this statement", name(layout)));
  require_unreadable(in(scaled(), scalars),
                     "member 'layout': scalars; expected registers or elements for this statement");
}

TEST_CASE("statements whose operands are no names of members are refused") {
  const auto with = [](Capture c, const std::string& from, const std::string& to) {
    const std::size_t at = c.statement.find(from);
    REQUIRE(at != c.statement.npos);
    c.statement.replace(at, from.size(), to);
    return c;
  };
  const std::string statement = "member 'statement': ";
  require_unreadable(with(ldmatrix(), "[addr]", "[%rd1]"),
                     statement + "operand p is not symbolic ('%rd1'); expected one name in brackets");
  require_unreadable(with(ldmatrix(), "{r}", "{_, %r1}"),
                     "ldmatrix.sync.aligned.m8n8.x1.shared.b16, operand r: ");
  require_unreadable(with(stmatrix(), "{r}", "{0f3F800000}"),
                     statement + "operand r is not symbolic ('0f3F800000'); expected one name in braces");
  require_unreadable(with(ldmatrix(), "{r}", "{addr}"), statement + "the name addr stands twice");
  require_unreadable(with(wmma_load(), "stride", "%r1"),
                     statement + "operand stride is not symbolic ('%r1'); expected one name");
  require_unreadable(with(cvt_pair(), "b;", "0f3F800000;"),
                     statement + "operand b is not symbolic ('0f3F800000'); expected one name");
  require_unreadable(with(cvt_four(), "{abcd}", "{a, b, c, d}"),
                     statement + "operand abcd is not symbolic ('a, b, c, d'); expected one name in braces");
  for (const char* pair : {"{i, j}", "{0, j}", "{%h0, 0}"})
    require_unreadable(with(scaled(), "{0, 0}", pair), statement + "operand sel_a");
  require_unreadable(with(scaled(), "{0, 0}", "{0.5, 0}"), "mma.sync.aligned.m16n8k32.");
  require_unreadable(with(scaled(), "{0, 0}", "{4, 0}"), "mma.sync.aligned.m16n8k32.");
  require_unreadable(with(scaled(), "{0, 0}", "{0, 2}"), "mma.sync.aligned.m16n8k32.");
}

TEST_CASE("addresses that do not fit the memory of a capture") {
  const auto at = [](Capture c, std::uint64_t item, std::uint64_t value) {
    c["addr"].set(item, value);
    return c;
  };
  require_unreadable(at(ldmatrix(), 37, kBytes),
                     "case 1, lane 5: 16 bytes from 0x400 of the shared space are out of bounds; "
                     "there is shared memory at 0x0 to 0x3ff");
  require_unreadable(at(stmatrix(), 7, 0xFFFFFFF0), "case 0, lane 7: 16 bytes from 0xfffffff0 ");
  require_unreadable(at(ldmatrix(), 0, 8),
                     "case 0, lane 0: address 0x8 is misaligned; it must be a multiple of 16 bytes");
  require_right(at(ldmatrix(), 8, 8), 2, 2 * 64);  // a lane whose address names no line
  Capture generic = at(ldmatrix(), 37, kBytes);
  generic.statement = "ldmatrix.sync.aligned.m8n8.x1.b16 {r}, [addr];";
  require_unreadable(generic, "case 1, lane 5: generic address 0x400 does not point into shared memory");
  Capture global = wmma_load();
  global.statement.replace(global.statement.find("shared"), 6, "global");
  require_unreadable(
      global,
      "case 0, line 0 of the tile: 16 bytes from 0x40 of the global space are out of bounds; there is none");
  Capture empty = ldmatrix();
  empty["smem"] = Array::zeros("smem", 1, {kCases, 0});
  require_unreadable(empty,
                     "case 0, lane 0: 16 bytes from 0x10 of the shared space are out of bounds; there is none");
  Capture far = wmma_load();
  far["stride"].set(1, 0xFFFFFFF0);
  require_unreadable(far, "case 1, line 1 of the tile, 4294967280 elements from line to line: ");
  far["stride"].set(1, 20);
  require_unreadable(far, "case 1, stride: 20 elements of 8 bits is misaligned");

  // What the manual leaves undefined: the file may be fine.
  require_refused(at(stmatrix(), 1, stmatrix()["addr"].at(0)), FileStatus::unsupported,
                  "case 0, lane 1: it stores another value to 0x10 than lane 0");
  require_refused(at(wmma_store(), 32 + 9, 0), FileStatus::unsupported,
                  "case 1, lane 9: address 0x0, but lane 0 has 0x60");
  far["stride"].set(1, 8);
  require_refused(far, FileStatus::unsupported, "case 1, stride: 8 is undefined; defined is 16 elements");
  // Up to sm_75 every lane needs a valid address.
  Capture old = at(ldmatrix(), 8, 8);
  old.target = "sm_75";
  require_unreadable(old, "case 0, lane 8: address 0x8 is misaligned");
}

TEST_CASE("members that the statement does not name are ignored with a note") {
  const auto notes = [](Capture c, const char* member) {
    c.add(member, 1, {7});
    const FileReport report = replayed(c);
    CHECK(report.status == FileStatus::replayed);
    return report.notes;
  };
  const auto note = [](const char* member) {
    return std::vector<std::string>{fmt::format("member '{}' is ignored", member)};
  };
  CHECK(notes(wmma_load(Stride::absent), "stride") == note("stride"));
  CHECK(notes(ldmatrix(), "smem_out") == note("smem_out"));
  CHECK(notes(movmatrix(), "smem") == note("smem"));
  CHECK(notes(cvt_pair(), "names") == note("names"));
}

TEST_CASE("diff of captures with memory") {
  const Directory directory;
  const auto differences = [&](const Capture& x, const Capture& y) {
    return diff(directory.write(x, "x.npz"), directory.write(y, "y.npz"));
  };
  Capture x = stmatrix(), y = x;
  CHECK(differences(x, y)->differences == 0);
  y["smem_out"].set(place(0, 0x77), x["smem_out"].at(place(0, 0x77)) ^ 1);
  const Result<DiffReport> one = differences(x, y);
  REQUIRE(one.ok());
  CHECK(one->cases == kCases);
  CHECK(one->elements == kCases * kBytes);
  CHECK(one->differences == 1);
  CHECK(one->details.at(0).address == 0x77);
  CHECK(one->details.at(0).expected == x["smem_out"].at(place(0, 0x77)));
  CHECK(one->details.at(0).got == y["smem_out"].at(place(0, 0x77)));

  const auto refused = [&](const Capture& other, const std::string& message) {
    const Result<DiffReport> result = differences(x, other);
    REQUIRE_FALSE(result.ok());
    CHECK(name(result.error().code) == "captures_differ");
    CHECK_THAT(result.error().message(), Equals(message));
  };
  for (const char* member : {"smem", "addr", "r"}) {
    Capture other = x;
    other[member].set(3, x[member].at(3) ^ 1);
    refused(other, fmt::format("member '{}': other inputs; expected the same inputs in both files", member));
  }
  Capture longer = x;
  longer["smem"] = Array::zeros("smem", 1, {kCases, 2 * kBytes});
  longer["smem_out"] = Array::zeros("smem_out", 1, {kCases, 2 * kBytes});
  refused(longer, fmt::format("member 'smem': ({0}, {2}); expected ({0}, {1})", kCases, kBytes, 2 * kBytes));

  x = wmma_load(Stride::member);
  const std::string form = "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {r}, [addr]";
  refused(wmma_load(Stride::absent), "statement: " + form + ";; expected " + form + ", stride;");
  refused(wmma_load(Stride::literal), "operand stride: 32; expected stride");
  x = cvt_pair();
  y = x;
  y["d"].set(0, 0);
  CHECK(differences(x, y)->differences == 2);
  y["b"].set(0, 0);
  refused(y, "member 'b': other inputs; expected the same inputs in both files");
}

}  // namespace capture_replay_test
