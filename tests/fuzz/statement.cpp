// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any text is either decoded or refused with a sentence, as a statement with and without
// declared registers, and as a form with operands in the notation of the instruction table.
//
//     byte 0         the rest
//     index of the   statement, or form <tab> operands
//     target
#include <cstddef>
#include <cstdint>
#include <cstdlib>   // abort
#include <iterator>  // size
#include <string_view>

#include "warpbit/instruction.hpp"

namespace {

using warpbit::Instruction;

void judge(const warpbit::Result<Instruction>& result) {
  if (!result) {
    if (result.error().message().empty()) std::abort();
    return;
  }
  // What was accepted has a plan, what has results has operands, and its canonical form is a form of the same
  // target.
  if (result->plan().empty() || (result->operands().empty() && result->rows() > 0)) std::abort();
  if (!Instruction::parse(result->canonical(), result->target())) std::abort();
}

// Declares names by their last character; the others are unknown.
std::optional<std::string> declared(std::string_view name) {
  constexpr std::string_view kTypes[] = {"b32", "f32", "b64", "f64", "s32", "u32", "f16x2", "pred"};
  const auto digit = static_cast<std::size_t>(name.empty() ? 0 : name.back() - '0');
  if (digit >= std::size(kTypes)) return std::nullopt;
  return std::string(kTypes[digit]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::vector<warpbit::Target> targets = warpbit::Target::all();
  const warpbit::Target target = targets[data[0] % targets.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);

  judge(Instruction::parse(text, target));
  judge(Instruction::parse(text, target, declared));
  const std::size_t tab = text.find('\t');
  if (tab != text.npos) judge(Instruction::parse(text.substr(0, tab), text.substr(tab + 1), target));
  return 0;
}
