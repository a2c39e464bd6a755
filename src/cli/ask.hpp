// SPDX-License-Identifier: Apache-2.0
// What a line means that somebody holds: a form, a statement, a name of a library or of machine code, a descriptor, a code,
// numbers; and the commands that say more about it.
//
//     line -> AskedLine     read_line: without what surrounds it in sources, the targets behind it taken off
//          -> AskReadings   of each recogniser of the table in ask.cpp, in its order
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/explain.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/target.hpp"

namespace warpbit::cli {

/// The arguments of the tool, without its name.
using AskCommand = std::vector<std::string>;

/// What one can look at. `view`: layout, sum, descriptor, tensormap, format or gpu. Each command answers: its exit status is 0
/// or 1.
struct AskView {
  std::string_view view;
  std::string title;
  std::vector<AskCommand> commands;
};

/// Another line, and what speaks for it.
struct AskSuggestion {
  std::string line, why;
};

/// One meaning. `kind`: form, statement, atom, name, layout, machine, descriptor, idesc, tensormap, code, number, sum, product,
/// format, target; or error, where it is seen what is meant and that it does not exist.
struct AskReading {
  std::string_view kind;
  std::string understood;  ///< a sentence
  std::vector<AskView> views = {};
  std::vector<AskSuggestion> suggestions = {};
  std::string form = {};  ///< in full, if there is one
  std::optional<Target> target = {};
  std::vector<ElementComparison> answers = {};  ///< of a sum: by each form, on each target
  std::vector<std::string> notes = {};          ///< what was rounded before it was added
  std::vector<std::string> with_files = {};     ///< lines of the shell and of Python for matrices that one has
};
using AskReadings = std::vector<AskReading>;

/// A line, prepared for the recognisers.
struct AskedLine {
  std::string line;                        ///< as given
  std::string text;                        ///< without quotes, escapes and the targets behind
  std::vector<std::string> words;          ///< of that text
  std::vector<Target> targets = {};        ///< behind the text: "... H100", "... on A100 and H100", "...@sm_90"
  std::optional<Error> target_error = {};  ///< of what stands behind '@'

  std::optional<Target> target() const;
};
AskedLine read_line(const std::string& line);

// ---- Recognisers. Each returns what it can be; nothing if it is not of its kind.

AskReadings ask_tensor_map(const AskedLine& line);
AskReadings ask_form(const AskedLine& line);
AskReadings ask_layout(const AskedLine& line);
AskReadings ask_atom(const AskedLine& line);
AskReadings ask_operation(const AskedLine& line);
AskReadings ask_kernel(const AskedLine& line);
AskReadings ask_triton(const AskedLine& line);
AskReadings ask_words(const AskedLine& line);
AskReadings ask_fragment(const AskedLine& line);
AskReadings ask_statement(const AskedLine& line);
AskReadings ask_machine(const AskedLine& line);
AskReadings ask_machine_name(const AskedLine& line);
AskReadings ask_name(const AskedLine& line);
AskReadings ask_descriptor(const AskedLine& line);
AskReadings ask_sum(const AskedLine& line);
AskReadings ask_product(const AskedLine& line);
AskReadings ask_format(const AskedLine& line);
AskReadings ask_code(const AskedLine& line);
AskReadings ask_number(const AskedLine& line);
AskReadings ask_target(const AskedLine& line);

// ---- What they share

/// The form's reading with all of its views: on the first of the targets that has it, or on the newest that does. `statement`
/// is what layouts are asked for, if it is more than the form. An error if there is no such form.
Result<AskReading> form_reading(std::string_view kind, const std::string& form,
                                const std::vector<Target>& targets, const std::string& statement = {});
/// The reading of any form that a kernel may have: "SAID FORM, WHAT IT IS", or the error.
AskReading any_form_reading(std::string_view kind, const std::string& said, const std::string& form,
                            const std::vector<Target>& targets);
/// The element type that a name of C++ or Python means, as PTX names it; empty if none.
std::string element_type(std::string_view name);
/// All documented forms, made once.
const std::vector<FormInfo>& all_forms();
/// The reading of a form that does not exist: the error, and near forms.
AskReading no_form(const std::string& form, const Error& error, const std::vector<Target>& targets);
/// The views of sums: terms a[i] b[i] in the form, on each of the targets.
AskView sum_view(const std::string& form, const std::vector<Target>& targets, const std::string& a,
                 const std::string& b);
/// Whether the target has the form.
bool has_form(Target target, std::string_view form);
/// Targets that differ in their sums and have the form, or at most `most` of the given ones that do.
std::vector<Target> compared_targets(const std::string& form, const std::vector<Target>& given);
/// The form and the instruction descriptor of tcgen05.mma that stand for others in examples.
inline constexpr std::string_view kTensorForm = "tcgen05.mma.cta_group::1.kind::f16";
inline constexpr std::string_view kTensorDescriptor = "0x8200490";

/// The text up to a character of the set, from `first` on.
std::string_view up_to(std::string_view text, std::string_view characters, std::size_t first = 0);
/// A word of hexadecimal digits, without 0x.
struct HexWord {
  std::string digits;
  bool has_prefix = false;

  std::string text() const { return "0x" + digits; }
  std::uint64_t bits() const;
};

/// Nothing if there are other signs than these digits, and the ends of numbers in C++ and lists.
std::optional<HexWord> hex_word(std::string_view word);
/// Words between blanks.
std::vector<std::string> words_of(std::string_view text);
/// "mma.sync.aligned" -> "mma", "sync", "aligned"
std::vector<std::string> dot_words(std::string_view form);

/// A name of something else, the form of PTX that it stands for, and what is said of it.
struct AskName {
  std::string_view name, form, said;
};
/// Forms that several names stand for.
inline constexpr std::string_view kTileLoad =
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
inline constexpr std::string_view kTileStore = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group";
inline constexpr std::string_view kTileReduce =
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group";
inline constexpr std::string_view kBulkLoad =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
inline constexpr std::string_view kCommit =
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64";

/// Reads a text from the left.
class AskScanner {
 public:
  explicit AskScanner(std::string_view text) : rest_(text) {}

  bool is_done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  /// Whether the text goes on with this, which is taken off.
  bool take(std::string_view text);
  /// The first of these with which it goes on, taken off; "" if with none.
  std::string_view take_one(std::initializer_list<std::string_view> texts);
  /// Blanks with which it goes on are taken off.
  void skip_blanks();
  /// The digits with which it goes on, at most 6, as a number.
  std::optional<int> take_number();

 private:
  std::string_view rest_;
};

}  // namespace warpbit::cli
