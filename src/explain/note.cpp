// SPDX-License-Identifier: Apache-2.0
// What one may not expect of a form: that matrix products of a GPU use another, and what the bits beside elements do.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "isa/instruction.hpp"
#include "numeric/formats.hpp"
#include "warpbit/explain.hpp"

namespace warpbit {
namespace {

struct Note {
  std::string_view family, types, targets;  // each in words; types are those of A
  std::string_view sentence;
  std::string_view form = {};  // which they use; {d}, {a}, {b} are the formats of these operands
};

constexpr std::string_view
    kTensorMemory = "sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_110 sm_110a sm_110f",
    kOneSum =
        "FP8 GEMMs on this GPU use tcgen05.mma, one sum of all products and C; this form is made of two f16 instructions and "
        "an addition";

// NUMERICS.md, "8-bit types on sm_90 and sm_100", "wgmma" and "tcgen05".
constexpr Note kNotes[] = {
    {"mma", "e4m3 e5m2", "sm_90 sm_90a",
     "FP8 GEMMs on this GPU use wgmma, which keeps 13 fraction bits where this form, made of f16 instructions, keeps 25",
     "wgmma.mma_async.sync.aligned.m64n8k32.{d}.{a}.{b}"},
    {"mma.sp", "e4m3 e5m2", "sm_90 sm_90a",
     "sparse FP8 GEMMs on this GPU use wgmma, which keeps 13 fraction bits where this form, made of f16 instructions, "
     "keeps 25",
     "wgmma.mma_async.sp.sync.aligned.m64n8k64.{d}.{a}.{b}"},
    {"mma", "e4m3 e5m2", kTensorMemory, kOneSum, "tcgen05.mma.kind::f8f6f4.{d}.{a}.{b}"},
    {"mma.sp", "e4m3 e5m2", kTensorMemory, kOneSum},
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

const Note* find_note(const Instruction& i) {
  const Operand* const a = i.find(Part::a);
  const std::string_view type = a != nullptr ? a->format : std::string_view();
  const auto* const found = std::ranges::find_if(kNotes, [&](const Note& note) {
    return has_word(note.family, i.family()) && has_word(note.types, type) &&
           has_word(note.targets, i.target().name());
  });
  return found == std::end(kNotes) ? nullptr : found;
}

}  // namespace

std::optional<Instruction> used_by_products(const Instruction& i) {
  const Note* const note = find_note(i);
  if (note == nullptr || note->form.empty()) return std::nullopt;
  const auto type = [&](Part part) { return i.find(part)->format; };
  const std::string form = fmt::format(fmt::runtime(note->form), fmt::arg("d", type(Part::d)),
                                       fmt::arg("a", type(Part::a)), fmt::arg("b", type(Part::b)));
  const std::string target(i.target().name());
  for (const std::string& name : {target, target + "a"})
    if (Result<Instruction> used = Instruction::parse(form, name)) return *std::move(used);
  return std::nullopt;
}

std::string note(const Instruction& i) {
  const Note* const note = find_note(i);
  if (note == nullptr) return std::string(padding_note(i));
  const std::optional<Instruction> used = used_by_products(i);
  if (!used) return std::string(note->sentence);
  return fmt::format("{}; ask {}@{}", note->sentence, used->canonical(), used->target().name());
}

}  // namespace warpbit
