// SPDX-License-Identifier: Apache-2.0
// What the results of statements rest on. Two facts decide it, each in one place: which forms a GPU has executed and left a
// recording of (golden/forms.tsv, golden-digests/scalar/), and what the PTX manual leaves open (kinds()).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ptx/forms.hpp"
#include "target/target.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

/// Results of one kind.
struct KindRow {
  Kind kind;
  std::string_view words;  ///< a form has one of these: "f16 f32"; empty: any form
  std::string_view name;
  std::string_view open;  ///< what the PTX manual leaves open of a result; empty: nothing, it defines every bit
  std::string_view tried;  ///< which results of other GPUs there are, if something is open
};
/// The first of its row's kind that fits is that of a form; several may have one name.
std::span<const KindRow> kinds();
/// Of a form with these words. Nullptr: no kernel can execute it yet.
const KindRow* kind_of(const ScalarForm& form, std::span<const std::string_view> words);
/// The same of the first row that has the words and that a kernel can execute.
const KindRow* kind_of(std::string_view opcode, std::span<const std::string_view> words);

/// How a result is known, the best first.
enum class Rests : std::uint8_t {
  captured,  ///< a GPU of that target left it
  defined,   ///< no such GPU did, and the PTX manual says every bit
  inferred,  ///< the manual leaves something open, and it is as another GPU or another form has it
};
struct FormEvidence {
  Rests rests;
  const KindRow* kind;         ///< or nullptr
  std::string_view recording;  ///< of the form, on whatever target; empty: none
};
FormEvidence evidence(const KindRow* kind, std::string_view opcode, std::span<const std::string_view> words,
                      Target target);
/// Of a rule of the assembler (doc/guide/assembler.md), which is recorded as the form "assembler.contract".
FormEvidence rule_evidence(std::string_view rule, Target target);

/// sm_90 and sm_90a: one chip, whose letter adds instructions. Programs for both are among the recordings.
bool is_recorded(Target target);
/// Of a form with these words, in any order that ptxas takes: a file or a folder; empty: none. Scopes, orders and hints count
/// for nothing: they change no bit of a result.
std::string_view recording_of(std::string_view opcode, std::span<const std::string_view> words);

/// Calls visit(opcode, words) for the forms of a row; of those that differ in what counts for nothing once.
void for_each_form(const ScalarForm& row,
                   const std::function<void(std::string_view, std::span<const std::string_view>)>& visit);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
