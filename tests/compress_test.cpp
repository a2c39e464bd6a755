// SPDX-License-Identifier: Apache-2.0
// A dense matrix becomes what a sparse instruction reads, and comes back; the sparse instruction then gives
// what the dense one gives. Integers, so that the order of a sum does not matter.
#include <unistd.h>  // getpid

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <string>

#include "warpbit/eigen.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/replay.hpp"

namespace compress_test {

using namespace warpbit;

Instruction parse(const std::string& text, const char* target = "sm_90a") {
  const Result<Instruction> i = Instruction::parse(text, *Target::find(target));
  INFO((i ? std::string() : i.error().message()));
  REQUIRE(i.ok());
  return *i;
}

// rows x depth codes; in each group of `width`, as many units of `unit` elements as may be stored are not zero,
// or fewer. `code` gives codes that are not zero.
template <class Code>
std::vector<std::uint64_t> random_sparse(const Instruction& i, int width, int unit, std::mt19937& random,
                                         Code code) {
  std::vector<std::uint64_t> out(static_cast<std::size_t>(i.rows() * i.depth()));
  for (std::size_t group = 0; group < out.size(); group += static_cast<std::size_t>(width)) {
    const auto units = static_cast<std::size_t>(width / unit);
    for (std::size_t stored = random() % (units / 2 + 1); stored > 0; --stored) {
      const std::size_t place = random() % units;  // the same place twice leaves fewer
      for (std::size_t e = 0; e < static_cast<std::size_t>(unit); ++e)
        out[group + place * static_cast<std::size_t>(unit) + e] = code();
    }
  }
  return out;
}

EigenCodes matrix_of(const std::vector<std::uint64_t>& codes, int rows, int columns) {
  EigenCodes out(rows, columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      out(row, column) = codes[static_cast<std::size_t>(row * columns + column)];
  return out;
}

using Words = std::vector<std::uint32_t>;
Words registers_of(const Operand& op, const EigenCodes& matrix) {
  Words words(32 * static_cast<std::size_t>(op.registers));
  REQUIRE(scatter(op, matrix, words).ok());
  return words;
}

// D of the dense instruction, or of the sparse one after compression.
EigenCodes execute(const Instruction& i, const EigenCodes& a, const EigenCodes* metadata, const EigenCodes& b,
                   const EigenCodes& c) {
  const auto operands = i.operands();
  const Words aw = registers_of(operands[1], a), bw = registers_of(operands[2], b),
              cw = registers_of(operands[3], c);
  const Words ew = metadata ? registers_of(operands[4], *metadata) : Words{};
  Words d(cw.size());
  std::vector<OperandArray> arrays = {d, aw, bw, cw};
  if (metadata) arrays.insert(arrays.end(), {ew, {}});
  REQUIRE(warpbit::execute(i, arrays).ok());
  return gather_eigen(operands[0], d).value();
}

struct Kind {
  const char* sparse;
  const char* dense;  // of the same depth; "" if there is none
  int width, unit, selectors;
  const char* target = "sm_90a";
  const char* scales = "";  // the operands after the selector
};
constexpr const char* kScales = ", sfa, {0, 0}, sfb, {0, 0}";
const Kind kKinds[] = {
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4, 1, 2},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.u8.s8.s32", "", 4, 1, 1},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
     "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 8, 2, 2},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "", 4, 1, 4},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "", 2, 1, 4},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e3m2.e4m3.f32."
     "ue8m0",
     "", 4, 1, 1, "sm_120a", kScales},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
     "", 8, 2, 1, "sm_120a", kScales},
};

TEST_CASE("compress and expand are inverse, and sparse equals dense") {
  std::mt19937 random(1);
  for (const Kind& kind : kKinds)
    for (int selector = 0; selector < kind.selectors; ++selector) {
      const Instruction sparse = parse(
          std::string(kind.sparse) + " {d}, {a}, {b}, {c}, e, " + std::to_string(selector) + kind.scales + ";",
          kind.target);
      INFO(sparse.text());
      const int bits = sparse.operands()[1].element_bits;
      const auto code = [&] { return bits == 32 ? 0x3F802000u : (random() % 7) + 1; };  // no low bits of tf32
      const std::vector<std::uint64_t> dense = random_sparse(sparse, kind.width, kind.unit, random, code);
      const Result<CompressedMatrix> compressed = compress(sparse, dense);
      REQUIRE(compressed.ok());
      const Result<std::vector<std::uint64_t>> expanded = expand(sparse, *compressed);
      REQUIRE(expanded.ok());
      REQUIRE(*expanded == dense);
      if (*kind.dense == '\0') continue;

      EigenCodes b(sparse.depth(), 8), c(16, 8);
      for (int i = 0; i < b.size(); ++i) b.data()[i] = random() & ((1u << bits) - 1);
      for (int i = 0; i < c.size(); ++i) c.data()[i] = random();
      const int groups = static_cast<int>(compressed->metadata.size()) / 16;
      const EigenCodes metadata = matrix_of(compressed->metadata, 16, groups);
      REQUIRE(execute(sparse, matrix_of(compressed->codes, 16, sparse.terms()), &metadata, b, c) ==
              execute(parse(kind.dense), matrix_of(dense, 16, sparse.depth()), nullptr, b, c));
    }
}

TEST_CASE("what does not fit is named") {
  const Instruction sparse = parse(kKinds[0].sparse);
  std::vector<std::uint64_t> dense(16 * 32);
  dense[2 * 32 + 8] = dense[2 * 32 + 9] = dense[2 * 32 + 11] = 1;
  const Result<CompressedMatrix> refused = compress(sparse, dense);
  REQUIRE(refused.error().code == Errc::not_sparse);
  REQUIRE(refused.error().message().find("row 2, columns 8-11") != std::string::npos);
  REQUIRE(refused.error().message().find("2 of 4") != std::string::npos);
  REQUIRE(compress(sparse, std::span(dense).first(31)).error().code == Errc::not_sparse);
  REQUIRE(compress(parse(kKinds[0].dense), dense).error().code == Errc::not_sparse);

  // A pair that is half zero is a pair.
  const Instruction pairs = parse(kKinds[2].sparse);
  std::vector<std::uint64_t> halves(16 * 64);
  halves[0] = halves[3] = halves[4] = 1;
  REQUIRE(compress(pairs, halves).error().message().find("4 of 8, in pairs") != std::string::npos);

  CompressedMatrix descending = *compress(sparse, std::vector<std::uint64_t>(16 * 32));
  descending.metadata[9] = 0x1;
  const Result<std::vector<std::uint64_t>> undefined = expand(sparse, descending);
  REQUIRE(undefined.error().code == Errc::undefined_operand);
  REQUIRE(undefined.error().message().find("row 1, group 1") != std::string::npos);
  descending.codes.pop_back();
  REQUIRE(expand(sparse, descending).error().code == Errc::not_sparse);
}

TEST_CASE("diff does not take different selectors for the same inputs") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("warpbit_compress_" + std::to_string(getpid()));
  fs::create_directory(folder);
  const auto write = [&](const std::string& name, const std::string& selector) {
    CaptureHeader header;
    header.statement =
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, " + selector + ";";
    header.target = "sm_90a";
    header.provenance = "{}";
    const std::vector<Array> arrays = {Array::zeros("a", 4, {1, 32, 2}), Array::zeros("b", 4, {1, 32, 2}),
                                       Array::zeros("c", 4, {1, 32, 4}), Array::zeros("d", 4, {1, 32, 4}),
                                       Array::zeros("e", 4, {1, 32})};
    REQUIRE(write_capture(folder / name, header, arrays).ok());
    return folder / name;
  };
  const fs::path zero = write("0.npz", "0"), one = write("1.npz", "1"), again = write("2.npz", "0");
  REQUIRE(diff(zero, again).ok());
  REQUIRE(diff(zero, one).error().code == Errc::captures_differ);
  REQUIRE(diff(zero, one).error().message().find("operand f") != std::string::npos);
  fs::remove_all(folder);
}

}  // namespace compress_test
