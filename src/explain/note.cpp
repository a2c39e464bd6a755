// SPDX-License-Identifier: Apache-2.0
// Forms that are not what matrix products of a GPU use, though the GPU has them.
#include <fmt/format.h>

#include <string_view>

#include "numeric/formats.hpp"
#include "warpbit/explain.hpp"

namespace warpbit {
namespace {

struct Note {
  std::string_view family, types, targets;  // each in words; types are those of A
  std::string_view sentence;                // {d}, {a}, {b} are the formats of these operands
};

// NUMERICS.md, "8-bit types on sm_90 and sm_100", "wgmma" and "tcgen05".
constexpr Note kNotes[] = {
    {"mma", "e4m3 e5m2", "sm_90 sm_90a",
     "FP8 GEMMs on this GPU use wgmma, which keeps 13 fraction bits where this form, made of f16 instructions, keeps "
     "25; ask wgmma.mma_async.sync.aligned.m64n8k32.{d}.{a}.{b} on sm_90a"},
    {"mma.sp", "e4m3 e5m2", "sm_90 sm_90a",
     "sparse FP8 GEMMs on this GPU use wgmma, which keeps 13 fraction bits where this form, made of f16 instructions, "
     "keeps 25; ask wgmma.mma_async.sp.sync.aligned.m64n8k64.{d}.{a}.{b} on sm_90a"},
    {"mma mma.sp", "e4m3 e5m2", "sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_110 sm_110a sm_110f",
     "FP8 GEMMs on this GPU use tcgen05.mma, one sum of all products and C; this form is made of two f16 instructions and an "
     "addition"},
};

}  // namespace

std::string note(const Instruction& i) {
  const auto format_of = [&](Part part) {
    const Operand* found = i.find(part);
    return found != nullptr ? found->format : std::string_view();
  };
  for (const Note& note : kNotes)
    if (has_word(note.family, i.family()) && has_word(note.types, format_of(Part::a)) &&
        has_word(note.targets, i.target().name()))
      return fmt::format(fmt::runtime(note.sentence), fmt::arg("d", format_of(Part::d)),
                         fmt::arg("a", format_of(Part::a)), fmt::arg("b", format_of(Part::b)));
  return "";
}

}  // namespace warpbit
