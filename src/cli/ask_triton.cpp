// SPDX-License-Identifier: Apache-2.0
// Attributes of Triton's layouts, and shapes of instructions as CUTLASS 2 writes them. They say no types of elements, or few.
#include <fmt/format.h>

#include "cli/ask.hpp"

namespace warpbit::cli {
namespace {

// The numbers of "instrShape = [16, 8, 16]" or "GemmShape<16, 8, 16>".
std::vector<int> numbers_behind(std::string_view text, std::string_view mark) {
  std::vector<int> out;
  const std::size_t at = text.find(mark);
  if (at == text.npos) return out;
  AskScanner in(text.substr(at + mark.size()));
  while (in.take(" ") || in.take("=") || in.take("[") || in.take("<") || in.take(",")) {
  }
  while (const auto number = in.take_number()) {
    out.push_back(*number);
    while (in.take(" ") || in.take(",")) {
    }
  }
  return out;
}

std::string warp_product(int m, int n, int k) {
  return fmt::format("mma.sync.aligned.m{}n{}k{}.row.col.f32.f16.f16.f32", m, n, k);
}

struct Shape {
  std::string form, said;
};

// #ttg.nvidia_mma<{versionMajor = 3, instrShape = [16, 128, 16]}>
std::optional<Shape> accumulators(std::string_view text) {
  const std::string said = "it says no types; f16 is taken, with sums in f32";
  std::vector<int> shape = numbers_behind(text, "GemmShape");
  if (shape.size() == 3) return Shape{warp_product(shape[0], shape[1], shape[2]), said};
  const std::vector<int> version = numbers_behind(text, "versionMajor");
  shape = numbers_behind(text, "instrShape");
  if (version.empty() || shape.size() < 2) return std::nullopt;
  const int k = shape.size() > 2 ? shape[2] : 16;
  if (version[0] == 3)
    return Shape{fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.f32.f16.f16", shape[1], k), said};
  return Shape{warp_product(shape[0], shape[1], k), said};
}

// #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>: kWidth elements of 32 bits together.
std::optional<Shape> factors(std::string_view text) {
  const std::vector<int> index = numbers_behind(text, "opIdx"), width = numbers_behind(text, "kWidth");
  if (text.find("dot_op<") == text.npos || index.empty()) return std::nullopt;
  const std::string said = fmt::format("the fragment of {}", index[0] == 0 ? "A" : "B");
  const int elements = width.empty() ? 2 : width[0];
  if (elements == 1) return Shape{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", said};
  if (elements == 4) return Shape{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", said + ", here of s8"};
  return Shape{warp_product(16, 8, 16), said + ", here of f16"};
}

// #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, ...>
std::optional<Shape> tensor_memory(std::string_view text) {
  if (text.find("tensor_memory_encoding<") == text.npos) return std::nullopt;
  return Shape{"tcgen05.mma.cta_group::1.kind::f16", "a matrix in tensor memory, by blocks"};
}

}  // namespace

AskReadings ask_triton(const AskedLine& line) {
  std::optional<Shape> found = accumulators(line.text);
  if (!found) found = factors(line.text);
  if (!found) found = tensor_memory(line.text);
  if (!found) return {};
  AskReading out =
      any_form_reading("atom", fmt::format("{} is", up_to(line.text, ";")), found->form, line.targets);
  if (out.kind != "error") out.understood += "; " + found->said;
  return {out};
}

}  // namespace warpbit::cli
