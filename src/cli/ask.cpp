// SPDX-License-Identifier: Apache-2.0
// warpbit ask
#include "cli/ask.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/compare_output.hpp"
#include "cli/help.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kMostBytes = 20'000, kMostSuggestions = 5, kNoLimit = 1'000'000;

// ---- The recognisers, in the order in which their readings are listed

struct Recogniser {
  std::string_view what, example;
  AskReadings (*read)(const AskedLine&);
  bool is_last;  // if it reads something, those behind it are not asked
};
constexpr Recogniser kRecognisers[] = {
    {"a tensor map", "7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0",
     ask_tensor_map, true},
    {"a descriptor", "0x4000004000010040", ask_descriptor, false},
    {"a layout of CuTe", "((4,8),(2,2)):((32,1),(16,8))", ask_layout, true},
    {"an atom of CuTe", "SM80_16x8x16_F32F16F16F32_TN", ask_atom, true},
    {"an operation of CuTe DSL", "LdMatrix8x8x16bOp(transpose=True, num_matrices=4)", ask_operation, true},
    {"a kernel of a library", "ampere_fp16_s16816gemm_fp16_128x64_ldg8_stages_64x4_tn", ask_kernel, true},
    {"a fragment of wmma", "fragment<matrix_a, 16, 16, 16, half, row_major>", ask_fragment, true},
    {"a layout of Triton", "#ttg.nvidia_mma<{versionMajor = 3, instrShape = [16, 128, 16]}>", ask_triton, true},
    {"a statement or a form of PTX", "mma m16n8k16 f32 f16 H100", ask_form, true},
    {"another statement of a kernel", "mbarrier.try_wait.parity.shared::cta.b64", ask_statement, true},
    {"a machine instruction", "HMMA.16816.F32", ask_machine, true},
    {"another machine instruction", "UTMALDG.2D", ask_machine_name, true},
    {"a name of a library", "__shfl_xor_sync", ask_name, true},
    {"products on a GPU", "H100 fp8 gemm", ask_product, true},
    {"a sum", "1 + 2^-12 - 3.5 on A100 and H100", ask_sum, true},
    {"numbers or codes in a format", "e4m3 0x7e", ask_format, true},
    {"a code", "0x3c00", ask_code, true},
    {"a number", "0.1", ask_number, true},
    {"a GPU", "RTX 4090", ask_target, true},
};

AskReadings readings_of(const AskedLine& line) {
  AskReadings out;
  for (const Recogniser& recogniser : kRecognisers) {
    AskReadings more = recogniser.read(line);
    const bool is_form_of_descriptor =
        !out.empty() && !more.empty() && !more[0].form.empty() && line.words.size() > 1;
    if (!is_form_of_descriptor) out.insert(out.end(), more.begin(), more.end());
    if (!more.empty() && recogniser.is_last) break;
  }
  if (out.empty() || out[0].kind == "error")
    if (AskReadings words = ask_words(line); !words.empty()) return words;
  return out;
}

// ---- What is not understood

struct KnownName {
  std::string name, why;
};

std::vector<KnownName> known_names() {
  std::vector<KnownName> out;
  for (const TargetNames& row : target_names())
    for (const std::string_view name : row.names)
      out.push_back({std::string(name), fmt::format("a GPU, {}", row.target.name())});
  for (const Target target : Target::all()) out.push_back({std::string(target.name()), "a target"});
  for (const FormatInfo& format : all_formats()) out.push_back({std::string(format.name), "a format"});
  for (const BlockFormat& block : block_formats()) out.push_back({std::string(block.name), "a block format"});
  for (const FormInfo& form : all_forms())
    if (const std::string opcode = form.canonical.substr(0, form.canonical.find('.'));
        out.back().name != opcode)
      out.push_back({opcode, "an instruction of PTX"});
  for (const std::string_view name : machine_instructions())
    out.push_back({std::string(name), "a machine instruction"});
  for (const Recogniser& recogniser : kRecognisers)
    out.push_back({std::string(recogniser.example), std::string(recogniser.what)});
  return out;
}

// Names that a word or the whole line differs from in a letter of three at most.
std::vector<AskSuggestion> near_lines(const AskedLine& line) {
  std::vector<std::pair<std::size_t, AskSuggestion>> found;
  std::vector<std::string> given = line.words;
  if (line.words.size() > 1) given.push_back(line.text);
  if (given.size() > 8) given.resize(8);
  const std::vector<KnownName> names = known_names();
  for (const std::string& word : given) {
    const std::string name = in_small_letters(up_to(word, ".<@"));
    if (name.size() < 2 || name.size() > 80) continue;
    for (const KnownName& known : names) {
      const std::size_t apart = letters_apart(name, in_small_letters(known.name));
      const bool is_known =
          std::ranges::any_of(found, [&](const auto& f) { return f.second.line == known.name; });
      if (!is_known && 3 * apart <= name.size())
        found.emplace_back(apart, AskSuggestion{known.name, known.why});
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& f) { return f.first; });
  std::vector<AskSuggestion> out;
  for (auto& [apart, suggestion] : found)
    if (out.size() < kMostSuggestions) out.push_back(suggestion);
  return out;
}

AskReading not_understood(const AskedLine& line) {
  const std::string seen = line.line.size() > 60 ? line.line.substr(0, 60) + "..." : line.line;
  std::vector<std::string> accepted;
  for (const Recogniser& recogniser : kRecognisers)
    if (recogniser.example.size() < 60)
      accepted.push_back(fmt::format("{} ({})", recogniser.what, recogniser.example));
  AskReading out{"error",
                 fmt::format("'{}' is not understood; accepted is {}", seen, fmt::join(accepted, ", "))};
  out.suggestions = near_lines(line);
  if (line.words.size() == 1 && line.text.find('.') != line.text.npos && line.text.size() < 200)
    for (const std::string& form : nearest_forms(line.text, line.target(), 3))
      out.suggestions.push_back({form, "a form of PTX"});
  return out;
}

AskReadings answer_of(const std::string& text) {
  if (text.size() > kMostBytes)
    return {{"error", fmt::format("A line of {} bytes is not understood; accepted are at most {}", text.size(),
                                  kMostBytes)}};
  const AskedLine line = read_line(text);
  AskReadings out = readings_of(line);
  if (out.empty()) out.push_back(not_understood(line));
  return out;
}

// ---- Printing

using nlohmann::ordered_json;

ordered_json views_json(const std::vector<AskView>& views) {
  ordered_json out = ordered_json::array();
  for (const AskView& view : views)
    out.push_back({{"view", view.view}, {"title", view.title}, {"commands", view.commands}});
  return out;
}

// Of each form and target what it makes of a sum.
ordered_json answers_json(const AskReading& reading) {
  ordered_json out = ordered_json::array();
  for (const ElementComparison& answer : reading.answers)
    for (const Explanation& e : answer.explanations) {
      out.push_back({{"form", e.form},
                     {"target", e.target},
                     {"code", hexadecimal(e.code)},
                     {"value", e.result.decimal()},
                     {"exact", e.exact.decimal()}});
      ordered_json& one = out.back();
      one["nearest"] = e.nearest ? ordered_json(hexadecimal(*e.nearest)) : ordered_json();
      one["ulps"] = e.ulps ? ordered_json(e.ulps->decimal()) : ordered_json();
      if (const std::string text = mark(e); !text.empty()) one["mark"] = text;
      if (!e.note.empty()) one["note"] = e.note;
    }
  return out;
}

ordered_json reading_json(const AskReading& reading) {
  ordered_json out{{"understood", reading.understood}, {"kind", reading.kind}};
  if (!reading.form.empty()) out["form"] = reading.form;
  if (reading.target) out["target"] = reading.target->name();
  if (!reading.answers.empty()) out["answers"] = answers_json(reading);
  if (!reading.notes.empty()) out["notes"] = reading.notes;
  if (!reading.with_files.empty()) out["with_files"] = reading.with_files;
  return out;
}

void print_answer_json(const std::string& line, const AskReadings& readings) {
  ordered_json out{{"line", line}}, also = ordered_json::array(), suggestions = ordered_json::array();
  out.update(reading_json(readings[0]));
  out["views"] = ordered_json::array();
  for (const AskReading& reading : readings) {
    for (const ordered_json& view : views_json(reading.views)) out["views"].push_back(view);
    if (&reading != readings.data()) {
      also.push_back(reading_json(reading));
      also.back()["views"] = views_json(reading.views);
    }
    for (const AskSuggestion& s : reading.suggestions)
      suggestions.push_back({{"line", s.line}, {"why", s.why}});
  }
  out["also"] = also;
  out["suggestions"] = suggestions;
  print_json("ask", out);
}

// As one types it, without --json.
std::string shell_line(const AskCommand& command) {
  std::string out = "warpbit";
  for (const std::string& word : command) {
    if (word == "--json") continue;
    const bool is_plain =
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.,@=/+-") ==
        word.npos;
    out += ' ';
    out += is_plain ? word : fmt::format("'{}'", quoted(word));
  }
  return out;
}

void print_answers(const AskReading& reading) {
  for (const std::string& note : reading.notes) print_fitted(note);
  for (const ElementComparison& answer : reading.answers) {
    fmt::print("\n");
    if (reading.answers.size() > 1) fmt::print("{}\n", answer.explanations[0].form);
    print_results(answer);
    for (const Explanation& e : answer.explanations)
      if (!e.note.empty()) print_fitted(fmt::format("note: {}: {}", e.name, e.note));
  }
  if (!reading.answers.empty()) fmt::print("\n");
}

void print_answer(const AskReadings& readings) {
  for (const AskReading& reading : readings) {
    const std::string what = fmt::format("{}: {}", reading.kind, printable(reading.understood));
    fmt::print("{}{}\n", &reading == readings.data() ? "" : "\n", fmt::join(broken(what), "\n"));
    print_answers(reading);
    for (const AskView& view : reading.views) {
      fmt::print("{}\n", fmt::join(broken(fmt::format("  {}: {}", view.view, view.title)), "\n"));
      for (const AskCommand& command : view.commands)
        fmt::print("  {}\n", shell_lines(printable(shell_line(command)),
                                         terminal().is_one ? terminal().columns - 2 : kNoLimit));
    }
    if (!reading.with_files.empty()) fmt::print("  With matrices in files or arrays\n");
    for (const std::string& one : reading.with_files)
      fmt::print("  {}\n", shell_lines(one, terminal().is_one ? terminal().columns - 2 : kNoLimit));
    for (const AskSuggestion& s : reading.suggestions)
      print_fitted(fmt::format("  or {}  ({})", printable(s.line), s.why));
  }
}

struct AskArguments {
  std::vector<std::string> words;
  bool json = false;
};

int ask(const AskArguments& o) {
  const std::string line = fmt::format("{}", fmt::join(o.words, " "));
  const AskReadings readings = answer_of(line);
  if (o.json)
    print_answer_json(line, readings);
  else
    print_answer(readings);
  return readings[0].kind == "error" ? kNo : kYes;
}

}  // namespace

void add_ask(CLI::App& command, int& status) {
  AskArguments& o = add_arguments(command, status, ask);
  command
      .add_option(
          "line", o.words,
          "what you hold: a form or a line of PTX, a name of CuTe, a machine instruction, a descriptor or tensor map in "
          "hexadecimal, a code, numbers; a GPU may stand behind it")
      ->required();
  add_json(command, o.json);
  command.footer(examples({"warpbit ask mma m16n8k16 f16 H100", "warpbit ask SM90_64x128x16_F32BF16BF16_SS",
                           "warpbit ask HMMA.16816.F32", "warpbit ask 0x4000004000010040",
                           "warpbit ask '1 + 2^-12 - 3.5 on A100 and H100'", "warpbit ask e4m3 0x7e --json"}));
}

}  // namespace warpbit::cli
