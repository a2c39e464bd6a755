// SPDX-License-Identifier: Apache-2.0
#include "warpbit/instruction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "isa/instruction.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit {
namespace {

// ---- The table

struct CodeRow {
  std::string_view forms, codes;
};
constexpr CodeRow kCodes[] = {
#define WARPBIT_MACHINE_CODE(forms, codes) {forms, codes},
#include "isa/machine_code.inc"
#undef WARPBIT_MACHINE_CODE
};
constexpr std::array<std::string_view, 9> kCompiledFor = {"sm_75",   "sm_80",   "sm_89",   "sm_90a", "sm_100a",
                                                          "sm_103a", "sm_110a", "sm_120a", "sm_121a"};

// The text up to the separator, which is taken off with it.
std::string_view next(std::string_view& text, std::string_view separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + separator.size(), text.size()));
  return out;
}

// "m64n*k16"
bool is_code_word(std::string_view pattern, std::string_view word) {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == word;
  return word.starts_with(pattern.substr(0, star)) && word.ends_with(pattern.substr(star + 1));
}

// Whether the form is one of "cvt.rn.{,relu}.f16x2.{e4m3x2,e5m2x2}".
bool is_of_row(std::string_view pattern, std::string_view form) {
  if (pattern.empty()) return form.empty();
  const std::size_t end = pattern.front() == '{' ? pattern.find('}') : pattern.npos;
  std::string_view words, after = pattern;
  if (end == pattern.npos) {
    words = next(after, ".");
  } else {
    words = pattern.substr(1, end - 1);
    after.remove_prefix(std::min(end + 2, pattern.size()));
  }
  std::string_view rest = form;
  const std::string_view given = next(rest, ".");
  while (true) {
    const bool is_last = words.find(',') == words.npos;
    const std::string_view word = next(words, ",");
    if (word.empty() ? is_of_row(after, form) : is_code_word(word, given) && is_of_row(after, rest))
      return true;
    if (is_last) return false;
  }
}

// "- | QMMA | = | 2 HMMA, 12 F2FP": of each target.
std::array<std::string_view, kCompiledFor.size()> codes_by_target(std::string_view codes) {
  std::array<std::string_view, kCompiledFor.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const std::string_view code = next(codes, " | "); code == "=")
      out[i] = out[i - 1];
    else
      out[i] = code;
  return out;
}

MachineCode read_code(std::string_view text) {
  MachineCode out;
  while (!text.empty()) {
    std::string_view word = next(text, ", ");
    if (word == "routine") out.calls_routine = true;
    if (word == "routine" || word == "none") continue;
    MachineInstruction instruction;
    if (const std::size_t blank = word.find(' '); blank != word.npos) {
      std::from_chars(word.data(), word.data() + blank, instruction.count);
      word.remove_prefix(blank + 1);
    }
    instruction.name = word;
    out.instructions.push_back(instruction);
  }
  return out;
}

constexpr std::string_view opcode_of(std::string_view form) {
  return form.substr(0, form.find('.'));
}
constexpr std::string_view opcode_of_row(const CodeRow& row) {
  return opcode_of(row.forms);
}
static_assert(std::ranges::is_sorted(kCodes, {}, opcode_of_row));

const CodeRow* find_row(std::string_view form) {
  const auto rows = std::ranges::equal_range(kCodes, opcode_of(form), {}, opcode_of_row);
  const auto row = std::ranges::find_if(rows, [&](const CodeRow& r) { return is_of_row(r.forms, form); });
  return row == rows.end() ? nullptr : &*row;
}

// ---- Names of instructions, as disassemblers write them

// "HMMA.16816.F32", of which nothing else than HMMA need be there.
struct MachineName {
  std::string base;
  bool is_sparse = false, is_scaled = false;
  std::optional<std::array<int, 3>> shape = {};  // M, N, K
  std::vector<std::string> types = {};           // D's first, but for integers
  std::vector<std::string> words = {};           // that the form must have
  std::vector<std::string> ignored = {};

  bool is_bare() const { return !is_sparse && !is_scaled && !shape && types.empty() && words.empty(); }
  bool is_of(std::string_view bases) const { return has_word(bases, base); }
  bool is_move() const { return is_of("LDSM STSM MOVM"); }
};

std::optional<int> code_number(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && text.front() != '-' ? std::optional(out)
                                                                                         : std::nullopt;
}

// "16816", "88128", "64x128x16"
std::optional<std::array<int, 3>> machine_shape(std::string_view text) {
  std::string parts(text);
  if (text.find('X') == text.npos) {
    if (text.size() < 3 || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
    const std::size_t m = text.starts_with("16") ? 2 : 1;
    if (text.size() < m + 2) return std::nullopt;
    parts = fmt::format("{}X{}X{}", text.substr(0, m), text.substr(m, 1), text.substr(m + 1));
  }
  std::string_view rest = parts;
  const auto m = code_number(next(rest, "X")), n = code_number(next(rest, "X")), k = code_number(rest);
  if (!m || !n || !k) return std::nullopt;
  return std::array{*m, *n, *k};
}

bool is_machine_type(std::string_view word) {
  constexpr std::string_view kMachineTypes[] = {"F64",  "F32",  "TF32", "F16", "BF16", "E5M2", "E4M3",
                                                "E3M2", "E2M3", "E2M1", "S8",  "U8",   "S4",   "U4"};
  return std::ranges::find(kMachineTypes, word) != std::end(kMachineTypes);
}

void read_move(MachineName& out, const std::string& word) {
  if (word == "16")
    out.words.emplace_back("b16");
  else if (word == "M88" || word == "MT88")
    out.words.emplace_back("m8n8");
  else if (word == "1" || word == "2" || word == "4")
    out.words.push_back("x" + word);
  else
    out.ignored.push_back(word);
  if (word == "MT88") out.words.emplace_back("trans");
}

void read_word(MachineName& out, const std::string& word) {
  if (out.is_move()) return read_move(out, word);
  if (word == "SP" || word == "SF")
    (word == "SP" ? out.is_sparse : out.is_scaled) = true;
  else if (const auto shape = machine_shape(word); shape && !out.shape)
    out.shape = shape;
  else if (is_machine_type(word))
    out.types.push_back(in_small_letters(word));
  else if (word == "XOR" || word == "AND")
    out.words.push_back(in_small_letters(word));
  else if (word == "4X")
    out.words.emplace_back("scale_vec::4X");
  else
    out.ignored.push_back(word);
}

MachineName read_name(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text = text.substr(0, text.find_first_of(" \t;,"));
  std::string name(text);
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::string_view rest = name;
  MachineName out{std::string(next(rest, "."))};
  while (!rest.empty()) read_word(out, std::string(next(rest, ".")));
  const auto says = [&](std::string_view word) {
    return std::ranges::find(out.words, word) != out.words.end();
  };
  if (out.is_of("LDSM STSM") && says("m8n8") && !says("x2") && !says("x4") && !says("x1"))
    out.words.emplace_back("x1");
  return out;
}

// ---- Forms of an instruction

// The type of a factor in each of `count` instructions: several emulate a type that the GPU has none for.
FormatId as_executed(FormatId id, const MachineName& name, int count) {
  if (count == 1) return id;
  if (name.is_of("HMMA") && kFp8.contains(id)) return FormatId::f16;
  if (name.is_of("IMMA") && id == FormatId::s4) return FormatId::s8;
  if (name.is_of("IMMA") && id == FormatId::u4) return FormatId::u8;
  return id;
}

bool has_types(const MachineName& name, const Arithmetic& of, int count) {
  const auto is = [](FormatId id, const std::string& type) { return format(id).name == type; };
  const FormatId a = as_executed(of.a, name, count), b = as_executed(of.b, name, count);
  const std::vector<std::string>& types = name.types;
  if (types.empty()) return true;
  if (name.is_of("DMMA")) return is(of.a, types[0]);
  if (name.is_of("IMMA IGMMA")) return is(a, types[0]) && (types.size() < 2 || is(b, types[1]));
  if (!is(of.d, types[0]) && !is(of.c, types[0])) return false;
  if (!name.is_of("HMMA HGMMA"))
    return (types.size() < 2 || is(of.a, types[1])) && (types.size() < 3 || is(of.b, types[2]));
  const bool says_a = types.size() > 1 && (types[1] == "bf16" || types[1] == "tf32");  // else f16, or C
  return says_a ? is(a, types[1]) : a == FormatId::f16;
}

// Whether `count` instructions of the name's shape are the form's product. Several have its shape where they are the steps of
// HMMA.884, or the parts of an exclusive or.
bool has_shape(const MachineName& name, const Form& form, int count) {
  if (!name.shape) return true;
  const auto [m, n, k] = *name.shape;
  const bool are_steps = name.is_of("BMMA") || (name.is_of("HMMA") && k == 4 && m == 8);
  if (count == 1 || are_steps) return m == form.rows && n == form.columns && k == form.depth;
  return m * n * k * count == form.rows * form.columns * form.depth;
}

bool has_code_words(const MachineName& name, const Form& form) {
  const auto has = [&](std::string_view word) {
    return std::ranges::find(form.qualifiers, word) != form.qualifiers.end();
  };
  const bool is_transposed = std::ranges::find(name.words, "trans") != name.words.end();
  return std::ranges::all_of(name.words, has) &&
         (!name.is_move() || name.is_bare() || has("trans") == is_transposed);
}

// How many of the instruction the code has; 0 if it is another.
int count_of(const MachineName& name, const MachineCode& code) {
  for (const MachineInstruction& instruction : code.instructions) {
    const bool is_scaled = instruction.name.ends_with(".SF");
    const std::string_view base = instruction.name.substr(0, instruction.name.size() - (is_scaled ? 3 : 0));
    if (base == name.base && (is_scaled == name.is_scaled || name.is_bare())) return instruction.count;
  }
  return 0;
}

bool is_meant(const MachineName& name, const Form& form, int count) {
  return has_shape(name, form, count) && has_types(name, form.arithmetic, count) &&
         has_code_words(name, form) && (name.is_bare() || name.is_sparse == form.sparsity.is_sparse());
}

// Instructions on tensor memory, and the word behind tcgen05 that becomes each.
struct TensorName {
  std::string_view name, word;
};
constexpr TensorName kTensorMoves[] = {
    {"LDTM", "ld"}, {"STTM", "st"}, {"UTCCP", "cp"}, {"UTCBAR", "commit"}, {"UTCSHIFT", "shift"}};

bool is_tensor_form(const MachineName& name, const Form& form, Target target) {
  std::string_view rest = form.canonical;
  next(rest, ".");
  const std::string_view word = next(rest, ".");
  if (const auto move = std::ranges::find(kTensorMoves, name.base, &TensorName::name);
      move != std::end(kTensorMoves))
    return word == move->word;
  if (word != "mma" || (name.is_sparse && !form.sparsity.is_sparse())) return false;
  return std::ranges::any_of(arithmetics_of(form), [&](const Arithmetic& arithmetic) {
    const auto plan = find_plan(target.row(), arithmetic);
    return plan && plan->row->machine == name.base;
  });
}

// Those of products: what the rows of plans say.
std::set<std::string_view> tensor_products() {
  std::set<std::string_view> out;
  for (const TargetRow& target : target_rows())
    for (const Block& block : target.blocks)
      for (const PlanRow& row : block.rows)
        if (row.operands.unit == Unit::tcgen05 || row.operands.unit == Unit::tcgen05_block_scale)
          out.insert(row.machine);
  return out;
}

// Adds a target to a form, which is the last if it is there.
void add_target(std::vector<MachineForm>& out, const Form& form, Target target) {
  if (out.empty() || out.back().form != form.canonical) out.push_back({form.canonical, {}});
  if (std::ranges::find(out.back().targets, target) == out.back().targets.end())
    out.back().targets.push_back(target);
}

void add_tensor_forms(MachineForms& out, const MachineName& name) {
  for (const Family& family : families()) {
    if (family.opcode != "tcgen05") continue;
    for (const Form& form : family.forms) {
      if (!form.undocumented.empty()) continue;
      for (const Target target : targets_of(form))
        if (is_tensor_form(name, form, target)) add_target(out.forms, form, target);
    }
  }
}

void add_forms(MachineForms& out, const MachineName& name) {
  for (const Family& family : families())
    for (const Form& form : family.forms) {
      const CodeRow* row = form.undocumented.empty() ? find_row(form.canonical) : nullptr;
      if (row == nullptr || row->codes.find(name.base) == std::string_view::npos) continue;
      const auto codes = codes_by_target(row->codes);
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const MachineCode code = read_code(codes[i]);
        const int count = count_of(name, code);
        if (count == 0 || !is_meant(name, form, count)) continue;
        const bool is_whole = code.instructions.size() == 1 && count == 1 && !code.calls_routine;
        add_target(is_whole ? out.forms : out.composing, form, *Target::find_ptx(kCompiledFor[i]));
      }
    }
}

// The names of all opcodes.
std::set<std::string_view> known_names() {
  std::set<std::string_view> out = tensor_products();
  for (const TensorName& move : kTensorMoves) out.insert(move.name);
  for (const CodeRow& row : kCodes)
    for (const std::string_view code : codes_by_target(row.codes))
      if (code != "-")
        for (const MachineInstruction& instruction : read_code(code).instructions)
          if (!instruction.name.starts_with("0x"))
            out.insert(instruction.name.substr(0, instruction.name.find('.')));
  return out;
}

}  // namespace

std::string text(const MachineCode& code) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : code.instructions)
    parts.push_back(count == 1 ? std::string(name) : fmt::format("{} {}", count, name));
  if (parts.empty()) return "none of the tensor cores";
  return fmt::format("{}{}", fmt::join(parts, ", "), code.calls_routine ? " in an internal routine" : "");
}

std::optional<MachineCode> machine_code(std::string_view form, Target target) {
  const auto at = std::ranges::find(kCompiledFor, target.name());
  const CodeRow* row = at == kCompiledFor.end() ? nullptr : find_row(form);
  if (row == nullptr) return std::nullopt;
  const std::string_view code =
      codes_by_target(row->codes)[static_cast<std::size_t>(at - kCompiledFor.begin())];
  return code == "-" ? std::nullopt : std::optional(read_code(code));
}

std::vector<std::string_view> machine_instructions() {
  const std::set<std::string_view> out = known_names();
  return {out.begin(), out.end()};
}

Result<MachineForms> forms_of_machine_code(std::string_view instruction) {
  const MachineName name = read_name(instruction);
  const std::set<std::string_view> known = known_names();
  if (!known.contains(name.base))
    return Error{Errc::unknown_instruction, "machine code", name.base,
                 fmt::format("{}", fmt::join(known, ", "))};
  MachineForms out{name.base, name.ignored, {}, {}};
  if (name.is_sparse) out.name += ".SP";
  if (name.is_scaled) out.name += ".SF";
  if (name.shape) out.name += fmt::format(" m{}n{}k{}", (*name.shape)[0], (*name.shape)[1], (*name.shape)[2]);
  for (const auto* words : {&name.types, &name.words})
    for (const std::string& word : *words) out.name += " " + word;
  const bool is_tensor =
      tensor_products().contains(name.base) ||
      std::ranges::find(kTensorMoves, name.base, &TensorName::name) != std::end(kTensorMoves);
  is_tensor ? add_tensor_forms(out, name) : add_forms(out, name);
  return out;
}

}  // namespace warpbit
