// SPDX-License-Identifier: Apache-2.0
// Products as people name them: "H100 fp8 gemm", "int8 matmul on A100". The instruction that has the types on that GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

// Of each type short forms: the first one that a GPU has is that of its products.
struct ProductRow {
  std::string_view type;
  std::vector<std::string_view> forms;
};
const std::vector<ProductRow>& products() {
  static const std::vector<ProductRow> all = {
      {"f16",
       {"tcgen05.f32.f16", "wgmma.m64n128k16.f32.f16", "mma.m16n8k16.f32.f16", "mma.m16n8k8.f32.f16",
        "mma.m8n8k4.row.col.f32.f16"}},
      {"bf16", {"tcgen05.f32.bf16", "wgmma.m64n128k16.f32.bf16", "mma.m16n8k16.f32.bf16"}},
      {"tf32", {"tcgen05.f32.tf32", "wgmma.m64n128k8.f32.tf32", "mma.m16n8k8.f32.tf32"}},
      {"e4m3",
       {"tcgen05.f32.e4m3", "wgmma.m64n128k32.f32.e4m3", "mma.m16n8k32.f8f6f4.f32.e4m3",
        "mma.m16n8k32.f32.e4m3"}},
      {"e5m2",
       {"tcgen05.f32.e5m2", "wgmma.m64n128k32.f32.e5m2", "mma.m16n8k32.f8f6f4.f32.e5m2",
        "mma.m16n8k32.f32.e5m2"}},
      {"e3m2", {"tcgen05.f32.e3m2", "mma.m16n8k32.f8f6f4.f32.e3m2"}},
      {"e2m3", {"tcgen05.f32.e2m3", "mma.m16n8k32.f8f6f4.f32.e2m3"}},
      {"e2m1", {"tcgen05.f32.e2m1", "mma.m16n8k32.f8f6f4.f32.e2m1"}},
      {"s8", {"tcgen05.s32.s8", "wgmma.m64n128k32.s32.s8", "mma.m16n8k32.s32.s8", "mma.m8n8k16.s32.s8"}},
      {"u8", {"tcgen05.s32.u8", "wgmma.m64n128k32.s32.u8", "mma.m16n8k32.s32.u8", "mma.m8n8k16.s32.u8"}},
      {"s4", {"mma.m16n8k64.s32.s4", "mma.m8n8k32.s32.s4"}},
      {"u4", {"mma.m16n8k64.s32.u4", "mma.m8n8k32.s32.u4"}},
      {"f64", {"mma.m16n8k16.f64.f64", "mma.m8n8k4.f64.f64"}},
      {"nvfp4", {"tcgen05.nvfp4", "mma.nvfp4"}},
      {"mxfp4", {"tcgen05.mxfp4", "mma.mxfp4"}},
      {"mxfp8_e4m3", {"tcgen05.mxfp8_e4m3", "mma.mxfp8_e4m3"}},
      {"mxfp8_e5m2", {"tcgen05.mxfp8_e5m2", "mma.mxfp8_e5m2"}},
      {"mxfp6_e3m2", {"tcgen05.mxfp6_e3m2", "mma.mxfp6_e3m2"}},
      {"mxfp6_e2m3", {"tcgen05.mxfp6_e2m3", "mma.mxfp6_e2m3"}},
  };
  return all;
}

struct AskedProduct {
  std::string type;  // empty: not said
  std::vector<Target> targets;
};

bool is_one_of(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool names_multiplication(std::string_view word) {
  constexpr std::string_view kWords[] = {"gemm", "gemms", "matmul", "matmuls", "mm", "torch.matmul", "product"};
  return is_one_of(kWords, word);
}

bool is_filler(std::string_view word) {
  constexpr std::string_view kWords[] = {"what",   "which",  "instruction", "does", "do",   "use",   "uses",
                                         "how",    "is",     "a",           "an",   "the",  "of",    "in",
                                         "on",     "for",    "with",        "and",  "core", "cores", "kernel",
                                         "tensor", "matrix", "dense",       "x",    "are",  ""};
  return is_one_of(kWords, word);
}

// The longest name of a target that begins with this word; how many words it has.
std::size_t targets_at(std::span<const std::string> words, std::vector<Target>& out) {
  for (std::size_t count = std::min<std::size_t>(words.size(), 4); count > 0; --count)
    if (const Result<Target> found = Target::find(fmt::format("{}", fmt::join(words.first(count), " ")))) {
      if (std::ranges::find(out, *found) == out.end()) out.push_back(*found);
      return count;
    }
  return 0;
}

std::string product_type(const std::string& word) {
  if (const Result<BlockFormat> block = find_block_format(word)) return std::string(block->name);
  return element_type(word);
}

// Nothing if the line has words of something else.
std::optional<AskedProduct> read_product(const AskedLine& line) {
  AskedProduct out{"", line.targets};
  bool is_product = false;
  std::vector<std::string> words;
  for (const std::string& word : line.words) words.emplace_back(up_to(word, ",?"));
  for (std::size_t i = 0; i < words.size();) {
    const std::string small = in_small_letters(words[i]);
    const std::size_t count = targets_at(std::span(words).subspan(i), out.targets);
    const std::string type = count == 0 ? product_type(words[i]) : "";
    is_product = is_product || names_multiplication(small);
    if (!type.empty() && out.type.empty())
      out.type = type;
    else if (count == 0 && (type.empty() || type != out.type) && !names_multiplication(small) &&
             !is_filler(small))
      return std::nullopt;
    i += std::max<std::size_t>(count, 1);
  }
  return is_product ? std::optional(out) : std::nullopt;
}

// As the line calls it, or by its first name.
std::string target_name(Target target, const AskedLine& line) {
  const std::string said = in_small_letters(line.line);
  for (const TargetNames& row : target_names()) {
    if (row.target != target) continue;
    const auto name = std::ranges::find_if(
        row.names, [&](std::string_view one) { return said.find(in_small_letters(one)) != said.npos; });
    return fmt::format("{} ({})", name == row.names.end() ? row.names.front() : *name, target.name());
  }
  return std::string(target.name());
}

std::optional<std::string> product_on(const ProductRow& row, Target target) {
  for (const std::string_view form : row.forms)
    if (const Result<Instruction> i = Instruction::parse(form, target.name()))
      return std::string(i->canonical());
  return std::nullopt;
}

// The types of products that it has, by their rows.
std::vector<std::string_view> types_on(Target target) {
  std::vector<std::string_view> out;
  for (const ProductRow& row : products())
    if (product_on(row, target)) out.push_back(row.type);
  return out;
}

// What one does with matrices in files of one's own.
std::vector<std::string> lines_with_files(const std::string& form, Target target, bool has_scales) {
  const std::string on = fmt::format("{} --target {}", form, target.name());
  if (has_scales)
    return {fmt::format("warpbit run {} --a a.npy --b b.npy --a-scale sa.npy --b-scale sb.npy --out d.npy", on),
            fmt::format("warpbit.gemm(warpbit.Instruction(\"{}\", \"{}\"), a, b, a_scale=sa, b_scale=sb).d",
                        form, target.name())};
  return {fmt::format("warpbit run {} --a a.npy --b b.npy --out d.npy", on),
          fmt::format("warpbit order a.npy b.npy d.npy --form {} --target {}", form, target.name()),
          fmt::format("warpbit diagnose {} --a a.npy --b b.npy --d d.npy", on),
          fmt::format("warpbit.gemm(warpbit.Instruction(\"{}\", \"{}\"), a, b).d", form, target.name())};
}

// Compared with the same types in other instructions of that GPU.
void add_comparison(AskReading& out, const ProductRow& row, Target target) {
  AskCommand command{"compare", fmt::format("{}@{}", out.form, target.name())};
  for (const std::string_view form : row.forms) {
    const Result<Instruction> i = Instruction::parse(form, target.name());
    if (i && i->canonical() != out.form) command.push_back(fmt::format("{}@{}", i->canonical(), target.name()));
  }
  if (command.size() == 2) return;
  command.insert(command.end(), {"--random", "ordinary", "--cases", "16", "--json"});
  out.views.push_back({"sum", "How other instructions of this GPU add the same types", {command}});
}

AskReading product_reading(const ProductRow& row, Target target, const AskedLine& line) {
  const std::optional<std::string> form = product_on(row, target);
  if (!form)
    return {"error", fmt::format("{} has no product of {}; it has {}", target_name(target, line), row.type,
                                 fmt::join(types_on(target), ", "))};
  Result<AskReading> out = form_reading("product", *form, {target});
  if (!out) return {"error", out.error().message()};
  out->understood = fmt::format("Products of {} on {} use {}, {}", row.type, target_name(target, line), *form,
                                out->understood);
  add_comparison(*out, row, target);
  out->with_files = lines_with_files(*form, target, find_block_format(row.type).ok());
  return *out;
}

}  // namespace

AskReadings ask_product(const AskedLine& line) {
  std::optional<AskedProduct> named = read_product(line);
  if (!named || (named->type.empty() && named->targets.empty())) return {};
  const bool is_said = !named->type.empty();
  const auto row = std::ranges::find(products(), is_said ? named->type : "f16", &ProductRow::type);
  if (row == products().end())
    return {{"error",
             fmt::format("Tensor cores have no product of {}", named->type),
             {{"format", fmt::format("What {} is", named->type), {{"format", named->type, "--json"}}}}}};
  if (named->targets.empty())
    for (const std::string_view name : {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
      if (const Target target = *Target::find_ptx(name); product_on(*row, target))
        named->targets.push_back(target);
  AskReadings out;
  for (const Target target : named->targets) out.push_back(product_reading(*row, target, line));
  if (!is_said)
    for (const std::string_view type : types_on(named->targets[0]))
      if (type != row->type)
        out[0].suggestions.push_back(
            {fmt::format("{} {} gemm", named->targets[0].name(), type), "with other types"});
  return out;
}

}  // namespace warpbit::cli
