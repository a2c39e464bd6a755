// SPDX-License-Identifier: Apache-2.0
// Names of kernels of cuBLAS, cuDNN and CUTLASS: which instruction multiplies in them, as far as the name says it.
//
//     ampere_fp16_ s 16816 gemm _fp16_128x64_...          sums in f32 (s; h: f16, i: s32, d: f64), m16n8k16
//     cutlass3x_sm90_tensorop_ s64x128x16gemm _f16_...    wgmma.m64n128k16; on sm100 tcgen05.mma
//     sm90_xmma_gemm_bf16bf16_bf16f32_..._tilesize128x128x64_...
//     nvjet_hsh_256x128_...                               A and B of f16 (h; t: bf16, q: FP8), sums in f32 (s), D of f16
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit::cli {
namespace {

struct Word {
  std::string_view seen, meant;
};
constexpr Word kShapes[] = {{"161616", "m16n16k16"}, {"884", "m8n8k4"},      {"1684", "m16n8k4"},
                            {"1688", "m16n8k8"},     {"16816", "m16n8k16"},  {"8816", "m8n8k16"},
                            {"8832", "m8n8k32"},     {"16832", "m16n8k32"},  {"16864", "m16n8k64"},
                            {"168128", "m16n8k128"}, {"168256", "m16n8k256"}};
constexpr Word kSums[] = {{"s", "f32"}, {"h", "f16"}, {"i", "s32"}, {"d", "f64"}};
constexpr Word kFactors[] = {{"fp16", "f16"},  {"f16", "f16"},   {"bf16", "bf16"}, {"tf32", "tf32"},
                             {"e4m3", "e4m3"}, {"e5m2", "e5m2"}, {"int8", "s8"},   {"s8", "s8"},
                             {"u8", "u8"},     {"s4", "s4"},     {"f64", "f64"},   {"fp64", "f64"},
                             {"b1", "b1"}};

template <class Words>
std::string_view meant(const Words& words, std::string_view seen) {
  for (const Word& word : words)
    if (word.seen == seen) return word.meant;
  return "";
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> out(1);
  for (const char c : name)
    if (c == '_')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

// What the factors are: said by a part, or by the shape. "bf16bf16" says it twice.
std::string factors_of(const std::vector<std::string>& parts, std::string_view otherwise) {
  for (const std::string& part : parts)
    for (const Word& word : kFactors)
      if (part == word.seen || part == fmt::format("{0}{0}", word.seen) ||
          part == fmt::format("{}f32", word.seen))
        return std::string(word.meant);
  return std::string(otherwise);
}

std::string product(std::string_view shape, std::string_view sum, std::string_view factor) {
  return fmt::format("mma.sync.aligned.{}.row.col.{}.{}.{}.{}{}", shape, sum, factor, factor, sum,
                     factor == "b1" ? ".xor.popc" : "");
}

// wmma.mma names A's and B's types where they are not f16.
std::string wmma_types(std::string_view sum, std::string_view factor) {
  return factor == "f16" ? fmt::format("{}.{}", sum, sum)
                         : fmt::format("{}.{}.{}.{}", sum, factor, factor, sum);
}

// "s16816gemm", "s16816fprop", "h884"
std::string by_digits(const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    const std::string_view sum = meant(kSums, std::string_view(part).substr(0, 1));
    if (sum.empty()) continue;
    AskScanner in(std::string_view(part).substr(1));
    const auto number = in.take_number();
    const std::string_view shape = number ? meant(kShapes, fmt::format("{}", *number)) : "";
    if (shape.empty()) continue;
    const bool is_of_cutlass = parts[0] == "cutlass";
    std::string usual = sum == "f64"         ? "f64"
                        : shape == "m16n8k8" ? (is_of_cutlass && sum == "f32" ? "tf32" : "f16")
                        : sum == "s32"       ? (shape == "m16n8k64" || shape == "m8n8k32" ? "s4" : "s8")
                                             : "f16";
    if (in.take("tf32")) usual = "tf32";
    if (in.take("bf16")) usual = "bf16";
    const std::string factor = factors_of(parts, usual);
    if (shape == "m16n16k16")
      return fmt::format("wmma.mma.sync.aligned.row.col.{}.{}", shape, wmma_types(sum, factor));
    if (shape == "m8n8k4" && factor != "f64")
      return fmt::format("mma.sync.aligned.m8n8k4.row.col.{}.f16.f16.{}", sum, sum);
    return product(shape, sum, sum == "f64" ? "f64" : factor);
  }
  return "";
}

std::string_view tensor_kind(std::string_view factor) {
  return factor == "f16" || factor == "bf16" ? "f16"
         : factor == "tf32"                  ? "tf32"
         : factor == "s8" || factor == "u8"  ? "i8"
                                             : "f8f6f4";
}
std::string tensor_product(std::string_view factor, bool is_pair) {
  return fmt::format("tcgen05.mma.cta_group::{}.kind::{}", is_pair ? 2 : 1, tensor_kind(factor));
}
int depth_of(std::string_view factor) {
  return factor == "tf32" ? 8 : factor == "f16" || factor == "bf16" ? 16 : 32;
}
std::string warpgroup_product(std::string_view sum, std::string_view factor, int columns) {
  columns = columns % 8 == 0 && columns >= 8 && columns <= 256 ? columns : 128;
  return fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}", columns, depth_of(factor), sum, factor,
                     factor);
}

// "64x128x16", "tilesize128x128x64", "256x128": the numbers.
std::vector<int> extents_in(std::string_view part) {
  const std::size_t first = part.find_first_of("0123456789");
  std::vector<int> out;
  if (first == part.npos) return out;
  AskScanner in(part.substr(first));
  do {
    const auto number = in.take_number();
    if (!number) break;
    out.push_back(*number);
  } while (in.take("x"));
  return out;
}

// "s64x128x16gemm", "gemm_f16_...128x128x64..."
std::string by_extents(const std::vector<std::string>& parts, int generation) {
  for (const std::string& part : parts) {
    const bool is_instruction = part.ends_with("gemm") && part.size() > 4;
    const std::vector<int> extents = extents_in(part);
    if (extents.size() < 3) continue;
    const std::string_view said = is_instruction ? meant(kSums, std::string_view(part).substr(0, 1)) : "";
    std::string_view sum = said.empty() ? "f32" : said;
    const std::string factor = factors_of(parts, extents[2] == 8 ? "tf32" : "f16");
    if (factor == "s8" || factor == "u8") sum = "s32";
    if (generation >= 100) return tensor_product(factor, is_instruction && extents[0] == 256);
    return warpgroup_product(sum, factor, extents[1]);
  }
  return "";
}

// The letters behind nvjet: the types of A and B, of sums, of D.
std::string by_letters(const std::vector<std::string>& parts, int generation) {
  constexpr Word kLetters[] = {{"h", "f16"}, {"t", "bf16"}, {"q", "e4m3"}, {"s", "tf32"}, {"i", "s8"}};
  const std::size_t at = generation > 0 && parts.size() > 2 && parts[1].starts_with("sm") ? 2 : 1;
  if (parts.size() <= at + 1) return "";
  const std::string_view factor = meant(kLetters, std::string_view(parts[at]).substr(0, 1));
  const std::vector<int> tile = extents_in(parts[at + 1]);
  if (factor.empty() || parts[at].size() < 3 || tile.size() < 2) return "";
  if (generation >= 100) return tensor_product(factor, false);
  return warpgroup_product(factor == "s8" ? "s32" : "f32", factor, tile[1]);
}

int generation_of(const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (part.starts_with("sm")) {
      AskScanner in(std::string_view(part).substr(2));
      if (const auto number = in.take_number()) return *number;
    }
  return 0;
}

std::string form_of(const std::vector<std::string>& parts) {
  const int generation = generation_of(parts);
  if (parts[0] == "nvjet") return by_letters(parts, generation);
  for (const std::string& part : parts)  // "tensor16x8x16"
    if (const std::vector<int> shape = extents_in(part); part.starts_with("tensor") && shape.size() == 3)
      return product(fmt::format("m{}n{}k{}", shape[0], shape[1], shape[2]),
                     factors_of(parts, "f16") == "s8" ? "s32" : "f32",
                     factors_of(parts, shape[2] == 8 ? "tf32" : "f16"));
  if (const std::string form = by_digits(parts); !form.empty()) return form;
  return generation >= 90 ? by_extents(parts, generation) : "";
}

bool begins_like_a_library(std::string_view name) {
  for (const std::string_view begin :
       {"cutlass", "nvjet", "ampere_", "turing_", "volta_", "hopper_", "ada_", "blackwell_", "sm70_", "sm75_",
        "sm80_", "sm86_", "sm89_", "sm90_", "sm100_", "sm120_"})
    if (name.starts_with(begin)) return true;
  return false;
}

}  // namespace

AskReadings ask_kernel(const AskedLine& line) {
  std::string bare = line.text;
  for (char& c : bare)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = ' ';
  for (const std::string& name : words_of(bare)) {
    if (!begins_like_a_library(name) || name.find('_') == name.npos) continue;
    const std::string form = form_of(parts_of(name));
    if (!form.empty())
      return {any_form_reading("name",
                               fmt::format("{} is a kernel of a library. By its name it multiplies by", name),
                               form, line.targets)};
  }
  return {};
}

}  // namespace warpbit::cli
