// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.store and whole tiles of wmma.mma on one warp: where elements lie in memory, by the manual's
// section "Matrix Storage for WMMA", and products of small integers, which no rounding touches.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>

#include "in_turn.hpp"
#include "warp.hpp"

namespace wmma_test {

using namespace warp;
using Catch::EndsWith;
using Catch::StartsWith;
using Catch::Matchers::Equals;

constexpr std::uint64_t kWindow = 0x5000'0000, kGlobal = 0x10'0000;

// ---- Where the elements lie

// The manual's table of default strides: columns A (row), A (column), B (row), B (column), accumulator (row),
// accumulator (column).
const std::map<std::string, std::array<int, 6>> kDefaultStrides = {
    {"m16n16k16", {16, 16, 16, 16, 16, 16}}, {"m8n32k16", {16, 8, 32, 16, 32, 8}},
    {"m32n8k16", {16, 32, 8, 16, 8, 32}},    {"m8n8k32", {32, 8, 8, 32, 8, 8}},
    {"m8n8k128", {128, 8, 8, 128, 8, 8}},    {"m16n16k8", {8, 16, 16, 8, 16, 16}},
    {"m8n8k4", {4, 8, 8, 4, 8, 8}}};

const std::map<std::string, int> kElementBits = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32},
                                                 {"f64", 64}, {"s32", 32},  {"s8", 8},    {"u8", 8},
                                                 {"s4", 4},   {"u4", 4},    {"b1", 1}};

// What a wmma.load or wmma.store says about memory.
struct Storage {
  bool by_rows;
  int stride;  // the default one, in elements
  int bits;    // of an element
  Space space;

  explicit Storage(const std::string& form) {
    by_rows = has(form, "row");
    const std::size_t matrix = has(form, "a") ? 0 : has(form, "b") ? 2 : 4;
    for (const auto& [shape, strides] : kDefaultStrides)
      if (has(form, shape)) stride = strides[matrix + (by_rows ? 0 : 1)];
    bits = kElementBits.at(form.substr(form.rfind('.') + 1));
    space = has(form, "global")                               ? Space::global
            : has(form, "shared") || has(form, "shared::cta") ? Space::shared
                                                              : Space::generic;
  }
  // Bits before the element, counted from the matrix' first byte.
  std::uint64_t bit(const Coordinate& c, int leading) const {
    return static_cast<std::uint64_t>((by_rows ? c.row * leading + c.column : c.column * leading + c.row) *
                                      bits);
  }
};

// The loads that ptxas 13.0 turns into LDSM (what capture_toolkit_test sees).
bool by_ldmatrix(const std::string& form) {
  static const std::regex kLoads(
      R"(wmma\.load\.([ab]\..*\.shared(::cta)?\.(f16|bf16)|(a\..*\.row|b\..*\.col)\..*\.shared(::cta)?\.(s8|u8|s4|u4|b1)))");
  return std::regex_match(form, kLoads);
}

// "The starting address of each instance of the leading dimension must be aligned with the size of the
// corresponding fragment in bytes"; each row of an ldmatrix must be with 16.
int alignment(const std::string& form, const Operand& fragment) {
  const int bytes = fragment.registers * fragment.register_bits / 8;
  return by_ldmatrix(form) ? std::max(bytes, 16) : bytes;
}

// A stride larger than the default that keeps every line aligned: with 16 bytes for a fragment of 32.
int wider(const Storage& storage, int bytes) {
  const int step = 8 * std::min(bytes, 16) / storage.bits;
  return (storage.stride / step + 3) * step;
}

Memory memory_of(std::uint64_t bytes) {
  Memory out(bytes, kWindow);
  REQUIRE(out.add_global(kGlobal, bytes).ok());
  return out;
}

// The image that the space shows, and the address of its first byte.
Bytes image_of(const Warp& w, Space space) {
  Bytes out(w.memory.shared_bytes());
  REQUIRE(
      w.memory.read(space == Space::global ? space : Space::shared, space == Space::global ? kGlobal : 0, out)
          .ok());
  return out;
}
std::uint64_t base_of(Space space) {
  return space == Space::global ? kGlobal : space == Space::generic ? kWindow : 0;
}

void randomise(Warp& w) {
  w.randomise_memory();
  Bytes noise(w.memory.shared_bytes());
  for (std::byte& b : noise) b = static_cast<std::byte>(w.random());
  REQUIRE(w.memory.write(Space::global, kGlobal, noise).ok());
}

// How the stride is written.
enum class StrideAs { absent, reg, literal };
constexpr StrideAs kAll[] = {StrideAs::absent, StrideAs::reg, StrideAs::literal};

std::string stride_text(StrideAs as, int stride) {
  return as == StrideAs::absent ? "" : as == StrideAs::reg ? ", s" : fmt::format(", {}", stride);
}

// Its register has 32 bits; what lies above them in the cell does not count.
void set_stride(Warp& w, StrideAs as, int stride) {
  if (as != StrideAs::reg) return;
  for (int lane = 0; lane < 32; ++lane)
    w.set(Part::stride, lane, w.random() << 32 | static_cast<std::uint32_t>(stride));
}

std::string load_text(const std::string& form, const std::string& rest = "") {
  return form + " {r}, [p]" + rest + ";";
}
std::string store_text(const std::string& form, const std::string& rest = "") {
  return form + " [p], {r}" + rest + ";";
}

// Calls visit(lane, register, slot, element) for each element that the fragment holds, copies included.
template <class Visit>
void for_each_place(const Operand& fragment, Visit visit) {
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < fragment.registers; ++r)
      for (int slot = 0; slot < fragment.register_bits / fragment.element_bits; ++slot) {
        const std::optional<Coordinate> c = fragment.fragment.at(lane, r, slot);
        if (!c) FAIL("a slot without an element");
        visit(lane, r, slot, *c);
      }
}

TEST_CASE("wmma.load: every lane, register and slot holds the element that lies where the manual says") {
  const std::vector<std::string> list = forms_of("wmma.load", "sm_90a");
  CHECK(list.size() == 352);
  for (const std::string& form : list)
    for (const StrideAs as : kAll) {
      const Storage storage(form);
      const Instruction bare = parse(form, "sm_90a");
      const Operand& fragment = bare.operands()[0];
      REQUIRE(fragment.element_bits == storage.bits);
      const int stride = as == StrideAs::absent ? storage.stride : wider(storage, alignment(form, fragment));
      INFO(form << " stride " << stride);
      Warp w(load_text(form, stride_text(as, stride)), "sm_90a", memory_of(8192));
      randomise(w);
      const Bytes image = image_of(w, storage.space);
      const std::uint64_t start = static_cast<std::uint64_t>(alignment(form, fragment)) * (1 + w.random() % 4);
      w.set_all(Part::address, base_of(storage.space) + start);
      set_stride(w, as, stride);
      const Effects effects = w.run();

      for_each_place(fragment, [&](int lane, int r, int slot, const Coordinate& c) {
        const std::uint64_t expected = bits(image, 8 * start + storage.bit(c, stride), storage.bits);
        const std::uint64_t got = w.get(Part::d, lane, r);
        if ((got >> (slot * storage.bits) & (~std::uint64_t{0} >> (64 - storage.bits))) != expected)
          FAIL("lane " << lane << " register " << r << " slot " << slot);
        if (fragment.register_bits == 32 && got >> 32 != 0) FAIL("more than 32 bits");
      });
      const int lines = storage.by_rows ? bare.rows() : bare.columns();
      REQUIRE(effects.memory_reads.size() == static_cast<std::size_t>(lines));
      for (int i = 0; i < lines; ++i) {
        const Effects::MemoryRead& read = effects.memory_reads[static_cast<std::size_t>(i)];
        CHECK(read.lane == Effects::kEveryLane);
        CHECK(read.space == storage.space);
        CHECK(read.address ==
              base_of(storage.space) + start + static_cast<std::uint64_t>(i * stride * storage.bits / 8));
        CHECK(read.bytes == static_cast<std::uint64_t>(storage.stride * storage.bits / 8));
      }
      CHECK(effects.writes.size() == 32 * static_cast<std::size_t>(fragment.registers));
      CHECK(effects.memory_writes.empty());
    }
}

TEST_CASE("wmma.store of what wmma.load.c loads writes the matrix and no other byte") {
  const std::vector<std::string> list = forms_of("wmma.store", "sm_90a");
  CHECK(list.size() == 104);
  for (const std::string& form : list)
    for (const StrideAs as : kAll)
      for (const char* layout : {"row", "col"}) {
        const Storage to(form);
        std::string load_form = form;
        load_form.replace(load_form.find("store.d"), 7, "load.c");
        const std::size_t at = load_form.find(to.by_rows ? ".row." : ".col.");
        load_form.replace(at + 1, 3, layout);
        const Storage from(load_form);
        Warp load(load_text(load_form), "sm_90a", memory_of(4096));
        randomise(load);
        load.set_all(Part::address, base_of(from.space));
        load.run();

        const Operand& fragment = load.operand(Part::d);
        const int stride = as == StrideAs::absent ? to.stride : wider(to, alignment(form, fragment));
        INFO(form << " stride " << stride << " from " << layout);
        Warp store(store_text(form, stride_text(as, stride)), "sm_90a", memory_of(4096));
        randomise(store);
        const std::uint64_t start = 2 * static_cast<std::uint64_t>(alignment(form, fragment));
        store.set_all(Part::address, base_of(to.space) + start);
        set_stride(store, as, stride);
        for (int lane = 0; lane < 32; ++lane)
          for (int r = 0; r < fragment.registers; ++r)
            store.set(Part::source, lane, load.get(Part::d, lane, r), r);

        const Bytes source = image_of(load, from.space);
        Bytes expected = image_of(store, to.space);
        const std::uint64_t bytes = static_cast<std::uint64_t>(to.bits / 8);
        for (int row = 0; row < load.instruction.rows(); ++row)
          for (int column = 0; column < load.instruction.columns(); ++column)
            for (std::uint64_t i = 0; i < bytes; ++i)
              expected.at(start + to.bit({row, column}, stride) / 8 + i) =
                  source.at(from.bit({row, column}, from.stride) / 8 + i);
        const Effects effects = store.run();
        CHECK(image_of(store, to.space) == expected);
        CHECK(effects.writes.empty());
        CHECK(effects.memory_reads.empty());
        CHECK(effects.memory_writes.size() ==
              static_cast<std::size_t>(to.by_rows ? load.instruction.rows() : load.instruction.columns()));
        for (const Effects::MemoryWrite& write : effects.memory_writes)
          CHECK(write.lane == Effects::kEveryLane);
      }
}

// ---- Refusals

TEST_CASE("wmma.load: addresses and strides that are refused") {
  const std::string form = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16";
  Warp w(load_text(form, ", s"), "sm_90a", memory_of(1024));
  w.set_all(Part::address, 32);
  w.set_all(Part::stride, 16);
  w.run();
  w.set_all(Part::address, 48);
  CHECK_THAT(w.refusal(Errc::address_misaligned),
             Equals("all lanes: address 0x30 is misaligned; it must be a multiple of 32 bytes"));
  w.set_all(Part::address, 32);
  w.set_all(Part::stride, 24);  // of 16 bytes, not of 32
  w.run();
  w.set_all(Part::stride, 20);
  CHECK_THAT(w.refusal(Errc::address_misaligned),
             Equals("stride: 20 elements of 16 bits is misaligned; it must be a multiple of 16 bytes"));
  w.set_all(Part::stride, 15);
  CHECK_THAT(w.refusal(Errc::undefined_operand),
             Equals("stride: 15 is undefined; defined is 16 elements, the length of a line, or more"));
  w.set_all(Part::stride, 32);
  w.run();  // up to the last byte
  w.set_all(Part::address, 64);
  CHECK_THAT(
      w.refusal(Errc::address_out_of_bounds),
      Equals(
          "line 15 of the tile, 32 elements from line to line: 32 bytes from 0x400 of the shared space are out of bounds; there is shared memory at "
          "0x0 to 0x3ff"));
  w.set_all(Part::address, 0);
  w.set(Part::address, 13, 32);
  CHECK_THAT(w.refusal(Errc::addresses_disagree),
             Equals("lane 13: address 0x20, but lane 0 has 0x0; all lanes must give the same"));
  w.set(Part::address, 13, 0);
  w.set(Part::stride, 31, 16);
  CHECK_THAT(w.refusal(Errc::addresses_disagree),
             Equals("lane 31: stride 0x10, but lane 0 has 0x20; all lanes must give the same"));
}

TEST_CASE("wmma.load: what ptxas loads by ldmatrix must lie at multiples of 16 bytes") {
  std::size_t seen = 0;
  for (const std::string& form : forms_of("wmma.load", "sm_90a")) {
    INFO(form);
    const Storage storage(form);
    Warp w(load_text(form, ", s"), "sm_90a", memory_of(8192));
    const auto enough = static_cast<std::uint64_t>(alignment(form, w.operand(Part::d)));
    seen += by_ldmatrix(form) && enough == 16 && w.operand(Part::d).registers < 4;
    w.set_all(Part::stride, static_cast<std::uint64_t>(wider(storage, 32)));
    w.set_all(Part::address, base_of(storage.space) + enough);
    w.run();
    w.set_all(Part::address, base_of(storage.space) + enough / 2);
    CHECK_THAT(w.refusal(Errc::address_misaligned), EndsWith(fmt::format("multiple of {} bytes", enough)));
  }
  CHECK(seen == 36);  // whose fragments have 4 or 8 bytes

  const std::string form = "wmma.load.b.sync.aligned.col.m32n8k16.shared.u8";
  Warp w(load_text(form, ", s"), "sm_90a", memory_of(1024));
  w.set_all(Part::address, 16);
  w.set_all(Part::stride, 32);
  w.run();
  w.set_all(Part::stride, 24);
  CHECK_THAT(w.refusal(Errc::address_misaligned),
             Equals("stride: 24 elements of 8 bits is misaligned; it must be a multiple of 16 bytes"));
  w.set_all(Part::stride, 32);
  w.set_all(Part::address, 20);
  CHECK_THAT(w.refusal(Errc::address_misaligned),
             Equals("all lanes: address 0x14 is misaligned; it must be a multiple of 16 bytes"));
}

TEST_CASE("wmma: a generic address may point anywhere, one of a state space only there") {
  const std::string form = "wmma.store.d.sync.aligned.col.m8n8k32";
  Warp generic(store_text(form + ".s32"), "sm_90a", memory_of(256));
  for (const std::uint64_t start : {kGlobal, kWindow}) {
    generic.set_all(Part::address, start);
    generic.run();
  }
  generic.set_all(Part::address, 0x8);
  CHECK_THAT(
      generic.refusal(Errc::address_out_of_bounds),
      Equals(
          "line 0 of the tile: 32 bytes from 0x8 of the generic space are out of bounds; there is shared memory at "
          "0x50000000 to 0x500000ff, global memory at 0x100000 to 0x1000ff"));
  Warp global(store_text(form + ".global.s32"), "sm_90a", memory_of(256));
  const Bytes before = image_of(global, Space::global);
  global.set_all(Part::address, kWindow);
  CHECK_THAT(global.refusal(Errc::address_out_of_bounds),
             StartsWith("line 0 of the tile: 32 bytes from 0x50000000 of the global"));
  CHECK(image_of(global, Space::global) == before);
  const Result<Effects> none = execute_warp(global.lanes, global.binding, global.registers);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == Errc::memory_needed);
}

TEST_CASE("wmma: strides are judged in elements of any size") {
  const auto load = [](const std::string& form, std::uint64_t stride) {
    Warp w(load_text(form, ", s"), "sm_90a", memory_of(4096));
    w.set_all(Part::address, kGlobal);
    w.set_all(Part::stride, stride);
    return w;
  };
  const std::string nibbles = "wmma.load.a.sync.aligned.row.m8n8k32.global.s4",
                    single = "wmma.load.b.sync.aligned.col.m8n8k128.global.b1";
  load(nibbles, 40).run();
  CHECK_THAT(load(nibbles, 33).refusal(Errc::address_misaligned),
             Equals("stride: 33 elements of 4 bits is misaligned; it must be a multiple of 4 bytes"));
  CHECK_THAT(load(nibbles, 24).refusal(Errc::undefined_operand), StartsWith("stride: 24 is undefined"));
  load(single, 160).run();
  CHECK_THAT(load(single, 144).refusal(Errc::address_misaligned),
             Equals("stride: 144 elements of 1 bits is misaligned; it must be a multiple of 4 bytes"));
  // The longest stride.
  CHECK_THAT(
      load(nibbles, 0xFFFFFFF8).refusal(Errc::address_out_of_bounds),
      StartsWith("line 1 of the tile, 4294967288 elements from line to line: 16 bytes from 0x800ffffc "));
  // The manual's default strides of 8 f16 elements are shorter than the alignment of 32 bytes; they are legal.
  Warp odd(load_text("wmma.load.b.sync.aligned.row.m32n8k16.shared.f16", ", 8"), "sm_90a", memory_of(4096));
  odd.set_all(Part::address, 32);
  odd.run();
  odd.set_all(Part::address, 16);
  CHECK_THAT(odd.refusal(Errc::address_misaligned), StartsWith("all lanes: address 0x10 is misaligned; "));
}

TEST_CASE("wmma is refused where its fragments have not been measured") {
  const auto refused = [](const std::string& text, const char* target) {
    const Result<Instruction> i = Instruction::parse(text, *Target::find(target));
    REQUIRE_FALSE(i.ok());
    CHECK(name(i.error().code) == "not_modelled");
    CHECK_THAT(i.error().message(),
               StartsWith(text + " exists on " + target +
                          ", but its fragments there are unspecified and have not been measured; "
                          "they are known on sm_80, "));
  };
  for (const char* target : {"sm_70", "sm_72", "sm_75"}) {
    refused("wmma.load.a.sync.aligned.row.m16n16k16.f16", target);
    refused("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", target);
    refused("wmma.store.d.sync.aligned.row.m32n8k16.shared.f32", target);
    if (target == std::string("sm_70")) continue;
    refused("wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32", target);
  }
  refused("wmma.load.b.sync.aligned.col.m8n8k128.b1", "sm_75");
  const Result<Instruction> later =
      Instruction::parse("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", *Target::find("sm_75"));
  REQUIRE_FALSE(later.ok());
  CHECK(later.error().code == Errc::not_on_target);
}

// ---- Whole tiles

using Matrix = std::vector<std::vector<int>>;

// A small integer as a code of `bits` bits with `fraction` fraction bits.
std::uint64_t encoded(int value, int bits, int fraction) {
  if (value == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(value));
  int top = 0;
  while (magnitude >> (top + 1) != 0) ++top;
  REQUIRE(top <= fraction);
  const std::uint64_t bias = (std::uint64_t{1} << (bits - fraction - 2)) - 1;
  return std::uint64_t{value < 0} << (bits - 1) | (bias + static_cast<std::uint64_t>(top)) << fraction |
         (magnitude ^ std::uint64_t{1} << top) << (fraction - top);
}

std::uint64_t code(int value, std::string_view format) {
  if (format == "f16") return encoded(value, 16, 10);
  if (format == "bf16") return encoded(value, 16, 7);
  if (format == "f32" || format == "tf32") return encoded(value, 32, 23);
  if (format == "f64") return encoded(value, 64, 52);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

int random_factor(Warp& w, std::string_view format) {
  if (format == "b1") return static_cast<int>(w.random() % 2);
  return static_cast<int>(w.random() % 7) - (format[0] == 'u' ? 0 : 3);
}

// Away from 0, so that no partial sum cancels: of f64 with .rm the sign of that zero would matter.
int random_addend(Warp& w) {
  const int magnitude = 1000 + static_cast<int>(w.random() % 24);
  return w.random() % 2 == 0 ? magnitude : -magnitude;
}

template <class Random>
Matrix random_matrix(int rows, int columns, Random random) {
  Matrix out(static_cast<std::size_t>(rows), std::vector<int>(static_cast<std::size_t>(columns)));
  for (auto& row : out)
    for (int& element : row) element = random();
  return out;
}

int product(int a, int b, const std::string& form) {
  return has(form, "xor") ? a ^ b : has(form, "and") ? a & b : a * b;
}

Matrix multiplied(const Matrix& a, const Matrix& b, const Matrix& c, const std::string& form) {
  Matrix d = c;
  for (std::size_t i = 0; i < d.size(); ++i)
    for (std::size_t j = 0; j < d[i].size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) d[i][j] += product(a[i][k], b[k][j], form);
  return d;
}

// The matrix packed by rows or columns, without gaps.
Bytes packed(const Matrix& m, bool by_rows, std::string_view format) {
  const int bits = kElementBits.at(std::string(format));
  const std::size_t rows = m.size(), columns = m[0].size();
  Bytes out(rows * columns * static_cast<std::size_t>(bits) / 8);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const int value = by_rows ? m[i / columns][i % columns] : m[i % rows][i / rows];
    for (int bit = 0; bit < bits; ++bit)
      if (code(value, format) >> bit & 1) {
        const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
        out[at / 8] |= std::byte(1 << at % 8);
      }
  }
  return out;
}

// The fragment that wmma.load gives of a packed matrix, put into an operand of the product.
void load_into(Warp& mma, Part part, const std::string& form, const Bytes& matrix) {
  Warp load(load_text(form), mma.instruction.target().name(), Memory(matrix.size()));
  REQUIRE(load.memory.write(Space::shared, 0, matrix).ok());
  load.set_all(Part::address, 0);
  load.run();
  REQUIRE(load.operand(Part::d).registers == mma.operand(part).registers);
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < mma.operand(part).registers; ++r) mma.set(part, lane, load.get(Part::d, lane, r), r);
}

Bytes stored(const Warp& mma, const std::string& form, std::size_t bytes) {
  Warp store(store_text(form), mma.instruction.target().name(), Memory(bytes));
  store.set_all(Part::address, 0);
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < mma.operand(Part::d).registers; ++r)
      store.set(Part::source, lane, mma.get(Part::d, lane, r), r);
  store.run();
  return store.image();
}

void check_tile(const std::string& form, const char* target) {
  Warp mma(form + " {d}, {a}, {b}, {c};", target);
  const int m = mma.instruction.rows(), n = mma.instruction.columns(), k = mma.instruction.depth();
  const std::string shape = fmt::format("m{}n{}k{}", m, n, k);
  // wmma.mma{.op.popc}.sync.aligned.alayout.blayout...
  const std::size_t layouts = form.find(".aligned.") + 9;
  const std::string a_layout = form.substr(layouts, 3), b_layout = form.substr(layouts + 4, 3);
  const auto move = [&](const char* what, const std::string& layout, std::string_view format) {
    return fmt::format("wmma.{}.sync.aligned.{}.{}.shared.{}", what, layout, shape, format);
  };
  const std::string_view factor = mma.operand(Part::a).format, c_format = mma.operand(Part::c).format,
                         d_format = mma.operand(Part::d).format;
  const auto any_factor = [&] { return random_factor(mma, factor); };
  const Matrix a = random_matrix(m, k, any_factor), b = random_matrix(k, n, any_factor),
               c = random_matrix(m, n, [&] { return random_addend(mma); });
  load_into(mma, Part::a, move("load.a", a_layout, factor), packed(a, a_layout == "row", factor));
  load_into(mma, Part::b, move("load.b", b_layout, factor), packed(b, b_layout == "row", factor));
  for (const char* layout : {"row", "col"}) {
    const bool by_rows = layout == std::string("row");
    load_into(mma, Part::c, move("load.c", layout, c_format), packed(c, by_rows, c_format));
    mma.run();
    const Bytes expected = packed(multiplied(a, b, c, form), by_rows, d_format);
    CHECK(stored(mma, move("store.d", layout, d_format), expected.size()) == expected);
  }
}

TEST_CASE("wmma: tiles of small integers are multiplied, in every form") {
  const std::vector<std::string> list = forms_of("wmma.mma", "sm_90a");
  CHECK(list.size() == 138);
  std::size_t turn = 0, tiles = 0;
  const auto check_in_turn = [&](const std::string& form, const char* target) {
    if (!has_turn(turn++, 0, 3)) return;  // 4 layouts of each
    check_tile(form, target);
    ++tiles;
  };
  for (const std::string& form : list) {
    INFO(form);
    check_in_turn(form, "sm_90a");
  }
  for (const char* target : {"sm_80", "sm_100", "sm_120a"})
    for (const std::string& form : forms_of("wmma.mma", target))
      if (has(form, "row.col")) check_in_turn(form, target);
  CHECK(tiles >= (tries_all() ? list.size() : list.size() / 3));
}

}  // namespace wmma_test
