// SPDX-License-Identifier: Apache-2.0
// The names that people use for targets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "numeric/words.hpp"
#include "target/target.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit {
namespace {

// ---- The names (NVIDIA, "CUDA GPU Compute Capability")

struct Generation {
  std::string_view target, architecture;
  std::string_view names;  // separated by commas
};
constexpr Generation kGenerations[] = {
    {"sm_70", "Volta", "V100,Titan V,Quadro GV100,volta"},
    {"sm_72", "Volta", "Xavier,AGX Xavier,Xavier NX"},
    {"sm_75", "Turing", "T4,RTX 2060,RTX 2070,RTX 2080,Titan RTX,Quadro RTX 6000,Quadro RTX 8000,turing"},
    {"sm_80", "Ampere", "A100,A800,A30,ampere"},
    {"sm_86", "Ampere",
     "RTX 2050,RTX 3050,RTX 3060,RTX 3070,RTX 3080,RTX 3090,A2,A10,A10G,A16,A40,RTX A2000,RTX A4000,RTX A5000,RTX A6000"},
    {"sm_87", "Ampere", "Orin,AGX Orin,Orin NX,Orin Nano"},
    {"sm_89", "Ada",
     "RTX 4050,RTX 4060,RTX 4070,RTX 4080,RTX 4090,L4,L20,L40,L40S,RTX 4000 Ada,RTX 5000 Ada,RTX 6000 Ada,ada"},
    {"sm_90a", "Hopper", "H100,H200,GH200,H800,H20,hopper"},
    {"sm_100a", "Blackwell", "B100,B200,GB200,blackwell"},
    {"sm_103a", "Blackwell", "B300,GB300"},
    {"sm_107a", "Rubin", "VR200,rubin"},
    {"sm_110a", "Blackwell", "Thor,AGX Thor"},
    {"sm_120a", "Blackwell",
     "RTX 5050,RTX 5060,RTX 5070,RTX 5080,RTX 5090,RTX PRO 4000,RTX PRO 4500,RTX PRO 5000,RTX PRO 6000,blackwell"},
    {"sm_121a", "Blackwell", "DGX Spark,GB10"},
};
constexpr std::string_view kBrands[] = {"nvidia", "geforce", "tesla", "jetson", "rtx", "dgx", "hgx"};
// Words behind a name: forms of a GPU with the same target. "80GB" is one, too.
constexpr std::string_view kForms[] = {"pcie", "sxm",   "sxm2", "sxm4",  "sxm5",   "nvl",
                                       "hbm2", "hbm2e", "hbm3", "hbm3e", "laptop", "gpu"};
constexpr std::string_view kVariants[] = {"ti", "super", "tisuper"};  // of a GeForce RTX

// ---- Equal names

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == '-' || c == '_';
}

bool is_form(std::string_view word) {
  const bool is_memory =
      word.size() > 2 && word.ends_with("gb") && word.find_first_not_of("0123456789") + 2 == word.size();
  return word.empty() || is_memory || std::ranges::find(kForms, word) != std::end(kForms);
}

// In small letters, without separators: "RTX-4090" -> "rtx4090".
std::string plain(std::string_view name) {
  std::string out = in_small_letters(name);
  std::erase_if(out, is_separator);
  return out;
}

// The same without what stands before and behind the name: "NVIDIA H100 80GB HBM3" -> "h100".
std::string bare(std::string_view name) {
  for (auto end = name.size(); end > 0; name = name.substr(0, end)) {
    const auto last = std::find_if(name.rbegin(), name.rend(), is_separator).base() - name.begin();
    if (last == 0 || !is_form(plain(name.substr(static_cast<std::size_t>(last))))) break;
    end = static_cast<std::size_t>(last) - 1;
  }
  std::string out = plain(name);
  const auto brand = [&] {
    return std::ranges::find_if(kBrands, [&](auto b) { return out.starts_with(b) && out.size() > b.size(); });
  };
  for (auto at = brand(); at != std::end(kBrands); at = brand()) out.erase(0, at->size());
  return out;
}

// Of the table; `given` is bare. What is only digits is a GeForce RTX, which has variants.
bool is_name(std::string_view name, std::string_view given) {
  const std::string known = bare(name);
  if (!given.starts_with(known)) return false;
  const std::string_view rest = given.substr(known.size());
  const bool has_variants = known.find_first_not_of("0123456789") == known.npos;
  return rest.empty() || (has_variants && std::ranges::find(kVariants, rest) != std::end(kVariants));
}

// ---- Near names

// "H100 (sm_90a)": names that contain the given one, or differ in one place.
std::vector<std::string> near_names(std::string_view name) {
  constexpr std::size_t kShortest = 3, kMost = 4;
  const std::string given = bare(name);
  std::vector<std::string> out;
  if (given.size() < kShortest) return out;
  for (const TargetNames& row : target_names())
    for (const std::string_view known : row.names)
      if (out.size() < kMost &&
          (bare(known).find(given) != std::string::npos || letters_apart(bare(known), given) == 1))
        out.push_back(fmt::format("{} ({})", known, row.target.name()));
  return out;
}

}  // namespace

std::vector<TargetNames> target_names() {
  std::vector<TargetNames> out;
  for (const Generation& row : kGenerations)
    out.push_back({*Target::find_ptx(row.target), row.architecture, words_between(row.names, ",")});
  return out;
}

Result<Target> Target::find_ptx(std::string_view name) {
  const std::vector<Target> known = all();
  const auto same = std::ranges::find(known, name, &Target::name);
  if (same != known.end()) return *same;
  const Result<Target> meant = find(name);
  return Error{Errc::unknown_target,
               {},
               std::string(name),
               meant ? fmt::format("PTX's names, here {}", meant->name()) : names(known)};
}

Result<Target> Target::find(std::string_view name) {
  for (const Target target : all())
    if (plain(target.name()) == plain(name) ||
        (!target.row().formerly.empty() && plain(target.row().formerly) == plain(name)))
      return target;
  std::vector<TargetNames> found = target_names();
  std::erase_if(found, [given = bare(name)](const TargetNames& row) {
    return std::ranges::none_of(row.names, [&](auto known) { return is_name(known, given); });
  });
  if (found.size() == 1) return found.front().target;
  std::vector<std::string> may_be;
  for (const TargetNames& row : found)
    may_be.push_back(fmt::format("{} ({})", row.target.name(), row.names.front()));
  if (!found.empty())
    return Error{Errc::ambiguous_target, {}, std::string(name), fmt::format("{}", fmt::join(may_be, " or "))};
  const std::vector<std::string> near = near_names(name);
  return Error{Errc::unknown_target,
               {},
               std::string(name),
               fmt::format("{}; and GPUs by name, {}", names(all()),
                           near.empty() ? "such as H100, A100 or RTX 4090"
                                        : fmt::format("here {}", fmt::join(near, ", ")))};
}

}  // namespace warpbit
