// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>  // std::istream_iterator
#include <sstream>

#include "cli/help.hpp"
#include "warpbit/format.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::cli {

std::optional<Target> find_target(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(required(Target::find(name)));
}

Result<AskedForm> find_form(const std::string& typed, const std::string& target) {
  const std::size_t at = typed.rfind('@');
  const bool has_target = at != typed.npos && at > 0;
  const std::string form = typed.substr(0, has_target ? at : typed.npos);
  AskedForm out{form, find_target(has_target ? typed.substr(at + 1) : target)};
  if (has_target && at + 1 == typed.size()) refuse(form, "'@' without a target", "FORM@TARGET");
  if (has_target && !target.empty() && find_target(target) != out.target)
    refuse("--target", fmt::format("'{}' beside '{}'", target, typed.substr(at)), "one of both");
  const Result<std::string> full = full_form(form, out.target);
  if (!full) return full.error();
  out.text = *full;
  if (out.text != form) out.short_form = form;
  return out;
}

AskedForm asked_form(const std::string& typed, const std::string& target) {
  return required(find_form(typed, target), typed.substr(0, typed.find('@', 1)), find_target(target));
}

Instruction instruction_of(const AskedForm& form) {
  return required(Instruction::parse(form.text, *form.target), form.text, form.target);
}

Instruction instruction_anywhere(const AskedForm& form) {
  return form.target ? instruction_of(form) : required(parse_on_newest(form.text), form.text);
}

std::optional<std::uint32_t> example_descriptor(const Instruction& instruction) {
  struct Types {
    TensorKind kind;
    std::string_view d, a, scale;
  };
  using enum TensorKind;
  constexpr Types kUsual[] = {
      {f16, "f32", "f16", ""},         {tf32, "f32", "tf32", ""},       {f8f6f4, "f32", "e4m3", ""},
      {i8, "s32", "s8", ""},           {mxf8f6f4, "", "e4m3", "ue8m0"}, {mxf4, "", "e2m1", "ue8m0"},
      {mxf4nvf4, "", "e2m1", "ue4m3"}, {mxf4nvf4, "", "e2m1", "ue8m0"}, {ti16, "s32", "s1z4m11", ""}};
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if (!mma) return std::nullopt;
  for (const Types& types : kUsual)
    for (const int n : {16, 32, 64}) {
      if (types.kind != mma->kind) continue;
      InstructionDescriptor out;
      out.m = 128 * mma->cta_group, out.n = n;
      out.a = out.b = types.a, out.d = types.d, out.scale = types.scale;
      out.is_sparse = mma->is_sparse;
      if (const auto bits = out.encode(*mma, instruction.target())) return *bits;
    }
  return std::nullopt;
}

ReplayOptions with_target(ReplayOptions options, const std::string& name) {
  options.target = find_target(name);
  return options;
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        const auto found = number<std::uint64_t>(text);
        if (found && *found >= least && *found <= most) return std::string();
        return fmt::format("'{}'; expected a whole number from {} {}", text, least,
                           most == kNoMost ? "on" : fmt::format("to {}", most));
      },
      "");
}

CLI::Validator new_file() {
  return CLI::Validator(
      [](const std::string& text) {
        namespace fs = std::filesystem;
        std::error_code error;
        const fs::path folder = fs::path(text).parent_path();
        if (fs::is_directory(text, error)) return fmt::format("'{}' is a folder; expected a file", text);
        if (folder.empty() || fs::is_directory(folder, error)) return std::string();
        return fmt::format("'{}'; expected a file in a folder that is there: {} is not", text, folder.string());
      },
      "");
}

bool is_file(const std::string& what) {
  return what.ends_with(".npz") || std::filesystem::exists(what);
}

void check_svg(const std::string& file) {
  if (!file.empty() && !file.ends_with(".svg"))
    refuse("--svg", fmt::format("'{}'", file), "a name that ends in .svg");
}

std::uint64_t parse_hex(const std::string& where, std::string_view text) {
  const bool has_prefix = text.starts_with("0x") || text.starts_with("0X");
  const auto out = number<std::uint64_t>(text.substr(has_prefix ? 2 : 0), 16);
  if (!out) refuse(where, fmt::format("'{}'", text), "at most 16 hexadecimal digits");
  return *out;
}

std::uint32_t parse_word(const std::string& where, std::string_view text) {
  const std::uint64_t bits = parse_hex(where, text);
  if (bits >> 32 != 0) refuse(where, fmt::format("'{}'", text), "at most 8 hexadecimal digits");
  return static_cast<std::uint32_t>(bits);
}

void add_undefined(CLI::App& command, Undefined& undefined) {
  const auto take = [&undefined](const std::string& text) {
    undefined = text == "error" ? Undefined::error : Undefined::as_measured;
  };
  command
      .add_option_function<std::string>(
          "--undefined", take, "operands that the manual leaves undefined: error (default) or as-measured")
      ->check(CLI::IsMember({"error", "as-measured"}));
}

void add_shard(CLI::App& command, Shard& shard, const std::string& description) {
  const auto parse = [&shard](const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto first = number<std::uint64_t>(text.substr(0, slash)),
               count = number<std::uint64_t>(slash == text.npos ? "" : text.substr(slash + 1));
    if (!first || !count || *first < 1 || *first > *count)
      throw CLI::ValidationError("--shard", "'" + text + "'; expected I/N with 1 <= I <= N");
    shard = {*first, *count};
  };
  command.add_option_function<std::string>("--shard", parse, description)->type_name("I/N");
}

// ---- Values of an element

namespace {

using Codes = std::vector<std::uint64_t>;

Codes codes_of(const std::string& role, std::string_view format, std::string text, int most,
               std::vector<std::string>& notes) {
  Codes out;
  std::ranges::replace(text, ',', ' ');
  std::istringstream in(text);
  const std::vector<std::string> words(std::istream_iterator<std::string>(in), {});
  if (words.size() > static_cast<std::size_t>(most))
    refuse(role, fmt::format("{} values", words.size()), fmt::format("at most {}", most));
  for (const std::string& word : words) {
    const std::string where = fmt::format("{}[{}]", role, out.size());
    const Result<EncodedNumber> number = parse_code(format, word);
    if (!number) refuse(where, number.error().seen, number.error().accepted, number.error().code);
    if (!number->is_exact)
      notes.push_back(fmt::format("{}: {} is not in {}; {} is taken", where, word, format,
                                  code_text(format, number->code)));
    out.push_back(number->code);
  }
  return out;
}

}  // namespace

void ElementOptions::add_to(CLI::App& command) {
  const auto add = [&](const char* name, std::string& to, const char* description) {
    command.add_option(name, to, description)->type_name("NUMBERS");
  };
  add("--a", a, "a row of A: numbers or codes (0x3c00), as many as there are, the rest is 0");
  add("--b", b, "a column of B; with a sparse A what its elements meet");
  add("--c", c, "the accumulator; 0 unless given");
  add("--a-scale", a_scale, "scale factors of the row of A, one for each block; 1 unless given");
  add("--b-scale", b_scale, "the same for the column of B");
}

std::string ElementOptions::typed() const {
  std::string out;
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) out += fmt::format(" {} '{}'", option, quoted(value));
  };
  add("--a", a), add("--b", b), add("--c", c), add("--a-scale", a_scale), add("--b-scale", b_scale);
  return out;
}

ElementInputs ElementOptions::inputs(const Instruction& instruction, std::vector<std::string>& notes,
                                     int instructions) const {
  const Operand *left = instruction.find(Part::a), *right = instruction.find(Part::b),
                *accumulator = instruction.find(Part::c);
  if (const std::string_view product = product_by_types(instruction); !product.empty())
    refuse(std::string(instruction.canonical()), "its types are in an instruction descriptor",
           fmt::format("types in the name: {}", product), Errc::view_mismatch);
  if (left == nullptr || right == nullptr)
    refuse(std::string(instruction.canonical()), "it is no product of matrices",
           "an instruction of the form D = A B + C", Errc::view_mismatch);
  const int terms = instruction.terms();
  ElementInputs out;
  out.a = codes_of("a", left->format, a, terms * instructions, notes);
  out.b = codes_of("b", right->format, b, terms * instructions, notes);
  out.a.resize(std::max(out.a.size(), out.b.size()));
  for (const std::uint64_t code :
       codes_of("c", (accumulator ? *accumulator : instruction.operands()[0]).format, c, 1, notes))
    out.c = code;
  // As many scale factors as the elements need, and at least as many as are given.
  const auto blocks = static_cast<std::size_t>(instruction.blocks()), all = static_cast<std::size_t>(terms);
  std::size_t needed = std::max<std::size_t>((out.a.size() * blocks + all - 1) / all, blocks > 0 ? 1 : 0);
  const auto take = [&](const char* role, Part part, const std::string& text, Codes& codes) {
    const Operand* scale = instruction.find(part);
    if (scale != nullptr)
      codes = codes_of(role, scale->format, text, instruction.blocks(), notes);
    else if (!text.empty())
      refuse(role, "scale factors", "none: the form has no block scaling");
    needed = std::max(needed, codes.size());
  };
  take("a-scale", Part::scale_a, a_scale, out.a_scale);
  take("b-scale", Part::scale_b, b_scale, out.b_scale);
  if (blocks > 0)
    out.a.resize(std::max(out.a.size(), (needed - 1) * all / blocks + 1));  // the rest of a block is 0
  out.b.resize(out.a.size());
  for (const auto& [part, codes] :
       {std::pair(Part::scale_a, &out.a_scale), std::pair(Part::scale_b, &out.b_scale)})
    if (const Operand* scale = instruction.find(part))
      codes->resize(needed, encode_number(scale->format, "1")->code);
  return out;
}

}  // namespace warpbit::cli
