// SPDX-License-Identifier: Apache-2.0
// What one may not expect of a form: that matrix products of a GPU use another, and what the bits beside elements do.
#include <fmt/format.h>

#include <string_view>

#include "isa/instruction.hpp"
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

// What the bits beside elements do (NUMERICS.md, "Padding").
constexpr std::string_view
    kAboveMiddle =
        "elements of e2m1 lie in bits 5 to 2 of their bytes, and bits 1 and 0 must be zero: the GPU reads bits 5 to 0 as e2m3",
    kAboveLow = "the GPU ignores bits 7 and 6 of the bytes that elements of six bits lie in";
struct MoveNote {
  std::string_view qualifier, sentence;
};
constexpr MoveNote kMoveNotes[] = {
    {"b4x16_p64",
     "the last 8 of each 16 bytes are ignored; an element goes to bits 3 to 0 of its byte, zeros above, and mma reads bits 5 "
     "to 0: shift left by 2 before it"},
    {"b6x16_p32",
     "the last 4 of each 16 bytes are ignored; an element goes to bits 5 to 0 of its byte, zeros above"},
};

// Of factors whose elements have bytes of their own, if they are narrower; of a move of such.
std::string_view padding_note(const Instruction& i) {
  if (i.family() == "ldmatrix")
    for (const MoveNote& move : kMoveNotes)
      if (i.canonical().find(move.qualifier) != std::string_view::npos) return move.sentence;
  const Tile* const tile = std::get_if<Tile>(&i.decoded().kernel);
  if (tile == nullptr) return "";
  if (tile->a.container != nullptr || tile->b.container != nullptr) return kAboveMiddle;
  for (const TileOperand* factor : {&tile->a, &tile->b})
    if (factor->format->bits == 6 && !factor->places.empty()) return kAboveLow;
  return "";
}

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
  return std::string(padding_note(i));
}

}  // namespace warpbit
