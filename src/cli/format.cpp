// SPDX-License-Identifier: Apache-2.0
// warpbit format
#include "warpbit/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/format_block.hpp"
#include "cli/gpu_conversion.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

constexpr int kMostTableBits = 8;

struct FormatArguments {
  std::string format, rounding;
  std::vector<std::string> texts;  // one; of a block format the numbers
  bool satfinite = false, table = false, csv = false, json = false, markdown = false;

  bool is_for_programs() const { return csv || json || markdown; }
  const std::string text() const { return texts.empty() ? "" : texts.front(); }
};

const std::vector<std::pair<std::string, Rounding>> kRoundings = {{"rn", Rounding::nearest_even},
                                                                  {"rz", Rounding::toward_zero},
                                                                  {"rp", Rounding::up},
                                                                  {"rm", Rounding::down},
                                                                  {"rna", Rounding::nearest_away}};

// 0x7e, with all digits that a code of that many bits has.
std::string hex(std::uint64_t code, int bits) {
  return fmt::format("{:#0{}x}", code, 2 + (bits + 3) / 4);
}

void print_as_asked(const Table& table, const FormatArguments& o) {
  if (o.csv) return print_csv(table);
  print(table, o.markdown);
}

using Json = nlohmann::ordered_json;

// An object for each row, whose members are named by the first.
Json objects(const Table& table) {
  Json out = Json::array();
  for (std::size_t i = 1; i < table.size(); ++i) {
    Json object;
    for (std::size_t j = 0; j < table[0].size(); ++j) object[table[0][j]] = table[i][j];
    out.push_back(object);
  }
  return out;
}

// What is known of a code.
Json code_json(const FormatInfo& f, const ExplainedCode& e) {
  Json fields = Json::array();
  for (const CodeField& field : e.fields) fields.push_back({{"name", field.name}, {"bits", field.bits}});
  const auto code = [&](const std::optional<std::uint64_t>& c) { return c ? Json(hex(*c, f.bits)) : Json(); };
  return {{"format", f.name},
          {"code", hex(e.code, f.bits)},
          {"fields", fields},
          {"class", name(e.cls)},
          {"value", e.decimal},
          {"power", e.power},
          {"hexadecimal", e.hexadecimal},
          {"ulp", e.unit},
          {"below", code(e.below)},
          {"above", code(e.above)}};
}

// Of a code that the library gave.
ExplainedCode explained(const FormatInfo& f, std::uint64_t code) {
  return *explain_code(f.name, code);
}

std::optional<ExplainedCode> landmark(const FormatInfo& f, std::string_view name) {
  for (const Landmark& l : *landmarks(f.name))
    if (l.name == name) return explained(f, l.code);
  return std::nullopt;
}

void print_line(std::string_view label, std::string_view text) {
  fmt::print("  {:<11}{}\n", label, text);
}

// Of all fields, from the top.
template <class T>
std::string fields(const ExplainedCode& e, T CodeField::*member, std::string_view separator) {
  std::string out;
  for (const CodeField& field : e.fields)
    out += fmt::format("{}{}", out.empty() ? "" : separator, field.*member);
  return out;
}

// What follows "value": all that is known of the number.
void print_value(const FormatInfo& f, const ExplainedCode& e) {
  print_line("bits", fields(e, &CodeField::bits, " ") + "   " + fields(e, &CodeField::name, " | "));
  print_line("class", name(e.cls));
  print_line("value", e.decimal);
  if (!e.power.empty()) print_line("", fmt::format("{} = {}", e.power, e.hexadecimal));
  if (!e.unit.empty() && !f.is_integer) print_line("ulp", e.unit);
}

void print_neighbours(const FormatInfo& f, const ExplainedCode& e) {
  if (e.cls == CodeClass::nan) return;
  for (const auto& [label, code] : {std::pair("next below", e.below), std::pair("next above", e.above)})
    print_line(label, code ? fmt::format("{}  {}", hex(*code, f.bits), explained(f, *code).decimal) : "none");
}

// "0x7e", "0b111'1110": a code; what has an exponent of two is a number.
std::optional<std::uint64_t> code_of(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X"),
             is_binary = text.starts_with("0b") || text.starts_with("0B");
  if ((!is_hex && !is_binary) || text.find_first_of("pP.") != text.npos) return std::nullopt;
  std::string digits(text.substr(2));
  std::erase_if(digits, [](char c) { return c == '_' || c == '\''; });
  const auto out = number<std::uint64_t>(digits, is_hex ? 16 : 2);
  if (!out)
    refuse("code", fmt::format("'{}'", text),
           is_hex ? "0x and at most 16 hexadecimal digits" : "0b and at most 64 binary digits");
  return out;
}

void print_code(const FormatInfo& f, std::uint64_t code, bool json) {
  const ExplainedCode e = required(explain_code(f.name, code));
  if (json) return print_json("format", code_json(f, e));
  fmt::print("{} {}\n", f.name, hex(code, f.bits));
  print_value(f, e);
  print_neighbours(f, e);
}

// What a number of that sign is beyond.
std::string bound_text(const FormatInfo& f, bool negative) {
  if (negative && !f.is_signed) return fmt::format("{} has no sign", f.name);
  if (negative && f.is_integer) return fmt::format("the least number is {}", landmark(f, "least")->decimal);
  return fmt::format("the largest number is {}{}", negative ? "-" : "", landmark(f, "largest")->decimal);
}

// What a GPU's conversion does otherwise: it saturates, or does not round so. Empty: nothing.
std::string gpu_text(const FormatInfo& f, const FormatArguments& o, Rounding mode, const EncodedNumber& n) {
  const std::optional<GpuConversion> gpu = conversion_to(f.name);
  if (!gpu) return "";
  const std::string rounding = o.rounding.empty() ? "rn" : o.rounding;
  if (!n.is_exact && std::ranges::find(gpu->roundings, rounding) == gpu->roundings.end())
    return fmt::format("NVIDIA's cvt to {} does not round by {}; it has {}", f.name, rounding,
                       fmt::join(gpu->roundings, ", "));
  if (!n.is_beyond_largest || !gpu->always_saturates || o.satfinite) return "";
  const EncodedNumber saturated = required(encode_number(f.name, o.text(), mode, true));
  return fmt::format("NVIDIA's cvt to {} always has .satfinite and gives {} ({})", f.name,
                     hex(saturated.code, f.bits), explained(f, saturated.code).decimal);
}

void print_number(const FormatInfo& f, const FormatArguments& o) {
  const std::string rounding = o.rounding.empty() ? "rn" : o.rounding;
  const auto mode = std::ranges::find(kRoundings, rounding, &std::pair<std::string, Rounding>::first)->second;
  const EncodedNumber n = required(encode_number(f.name, o.text(), mode, o.satfinite));
  const ExplainedCode e = explained(f, n.code);
  if (o.json) {
    Json out = code_json(f, e);
    out.update(Json{{"number", o.text()},
                    {"rounding", rounding},
                    {"satfinite", o.satfinite},
                    {"is_exact", n.is_exact},
                    {"error_ulp", n.error},
                    {"is_beyond_largest", n.is_beyond_largest},
                    {"on_gpu", gpu_text(f, o, mode, n)}});
    return print_json("format", out);
  }
  fmt::print("{} {} = {} by {}{}\n", f.name, hex(n.code, f.bits), o.text(), rounding,
             o.satfinite ? ", satfinite" : "");
  print_value(f, e);
  if (!n.error.empty())
    print_line("error",
               n.is_exact ? std::string("0, exact") : fmt::format("{}{}", n.error, f.is_integer ? "" : " ulp"));
  if (n.is_beyond_largest) print_line("beyond", bound_text(f, o.text().starts_with('-')));
  if (const std::string gpu = gpu_text(f, o, mode, n); !gpu.empty()) print_fitted("  on a GPU   " + gpu);
  print_neighbours(f, e);
}

const Row kColumns = {"code", "bits", "class", "value", "power", "hexadecimal"};

Row cells(const FormatInfo& f, const ExplainedCode& e) {
  return {hex(e.code, f.bits), fields(e, &CodeField::bits, " "), std::string(name(e.cls)), e.decimal, e.power,
          e.hexadecimal};
}

// In full if it is short, otherwise rounded to the nearest decimal number of some digits.
std::string short_value(const FormatInfo& f, const ExplainedCode& e, std::size_t longest, int digits) {
  return e.decimal.size() <= longest
             ? e.decimal
             : fmt::format("{:.{}g}", required(Codec::find(f.name)).decode(e.code), digits);
}

// For programs: all columns of all codes, or of the landmarks.
Table long_table(const FormatInfo& f) {
  if (f.bits <= kMostTableBits) {
    Table out{kColumns};
    for (std::uint64_t code = 0; code >> f.bits == 0; ++code) out.push_back(cells(f, explained(f, code)));
    return out;
  }
  Table out{joined({"landmark"}, kColumns)};
  for (const Landmark& l : *landmarks(f.name))
    out.push_back(joined({std::string(l.name)}, cells(f, explained(f, l.code))));
  return out;
}

// What fits a terminal.
Table short_landmarks(const FormatInfo& f) {
  constexpr int kMostBits = 32;
  constexpr std::size_t kLongest = 26;
  Table out{{"landmark", "code"}};
  if (f.bits <= kMostBits) out[0].push_back("bits");
  out[0].push_back("value");
  for (const Landmark& l : *landmarks(f.name)) {
    const ExplainedCode e = explained(f, l.code);
    out.push_back({std::string(l.name), hex(l.code, f.bits)});
    if (f.bits <= kMostBits) out.back().push_back(cells(f, e)[1]);
    constexpr int kDigits = 9;
    out.back().push_back(e.decimal.size() <= kLongest
                             ? e.decimal
                             : fmt::format("{} = {}", short_value(f, e, kLongest, kDigits), e.hexadecimal));
  }
  return out;
}

// The first code of each row, and the numbers that it and those behind it are; as many as fit.
Table grid(const FormatInfo& f) {
  std::vector<ExplainedCode> all;
  for (std::uint64_t code = 0; code >> f.bits == 0; ++code) all.push_back(explained(f, code));
  constexpr std::size_t kLongest = 16;
  const bool by_power =
      std::ranges::any_of(all, [](const ExplainedCode& e) { return e.decimal.size() > kLongest; });
  const auto text = [&](const ExplainedCode& e) { return by_power && !e.power.empty() ? e.power : e.decimal; };
  std::size_t widest = 0;
  for (const ExplainedCode& e : all) widest = std::max(widest, text(e).size());
  std::size_t columns = std::min<std::size_t>(16, all.size());
  while (columns > 1 && 4 + columns * (2 + widest) > terminal().columns) columns /= 2;
  Table out{{"code"}};
  for (std::size_t j = 0; j < columns; ++j) out[0].push_back(fmt::format("+{:x}", j));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % columns == 0) out.push_back({hex(all[i].code, f.bits)});
    out.back().push_back(text(all[i]));
  }
  return out;
}

void print_table(const FormatInfo& f, const FormatArguments& o) {
  const bool is_small = f.bits <= kMostTableBits;
  if (o.json)
    return print_json("format",
                      {{"format", f.name}, {is_small ? "codes" : "landmarks", objects(long_table(f))}});
  if (!is_small && !o.is_for_programs())
    fmt::print("{} has 2^{} codes; these are its landmarks\n", f.name, f.bits);
  print_as_asked(o.is_for_programs() ? long_table(f) : is_small ? grid(f) : short_landmarks(f), o);
}

// "1 sign, 4 exponent, 3 fraction"
std::string layout_text(const FormatInfo& f) {
  std::string out;
  for (const CodeField& field : explained(f, 0).fields)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", field.bits.size(), field.name);
  return out;
}

Json summary_json(const FormatInfo& f) {
  Json found = Json::array();
  for (const Landmark& l : *landmarks(f.name)) {
    Json landmark{{"landmark", l.name}};
    landmark.update(code_json(f, explained(f, l.code)));
    found.push_back(landmark);
  }
  return {{"format", f.name},
          {"synonyms", f.synonyms},
          {"bits", f.bits},
          {"is_integer", f.is_integer},
          {"is_signed", f.is_signed},
          {"exponent_bits", f.exponent_bits},
          {"fraction_bits", f.fraction_bits},
          {"bias", f.bias},
          {"defined_in", f.source},
          {"landmarks", found}};
}

void print_summary(const FormatInfo& f, bool json) {
  if (json) return print_json("format", summary_json(f));
  fmt::print("{}{}\n", f.name, f.synonyms.empty() ? "" : fmt::format(" ({})", f.synonyms));
  print_line("bits", fmt::format("{}: {}{}", f.bits, layout_text(f),
                                 f.is_integer && f.is_signed && f.zero_bits == 0 ? ", two's complement" : ""));
  if (!f.is_integer) print_line("bias", std::to_string(f.bias));
  print_line("defined in", f.source);
  fmt::print("\n");
  print(short_landmarks(f), false);
}

void print_all(const FormatArguments& o) {
  Table out{{"format", "bits", "S E F", "bias", "largest", "least normal", "least subnormal", "Inf", "NaN"}};
  for (const FormatInfo& f : all_formats()) {
    const auto of_floats = [&](const std::string& text) { return f.is_integer ? "-" : text; };
    const auto yes = [](bool has) { return has ? "yes" : "-"; };
    const auto value = [&](std::string_view name) -> std::string {
      constexpr std::size_t kLongest = 14;
      constexpr int kDigits = 6;
      const std::optional<ExplainedCode> e = landmark(f, name);
      return e ? short_value(f, *e, kLongest, kDigits) : "-";
    };
    out.push_back({std::string(f.name), std::to_string(f.bits),
                   of_floats(fmt::format("{:d} {} {}", f.is_signed, f.exponent_bits, f.fraction_bits)),
                   of_floats(std::to_string(f.bias)), value("largest"),
                   of_floats(value(f.has_subnormals ? "least normal" : "least")), value("least subnormal"),
                   yes(f.has_infinity), yes(f.has_nan)});
  }
  const Table blocks = block_format_table();
  if (o.json) return print_json("format", {{"formats", objects(out)}, {"block_formats", objects(blocks)}});
  print_as_asked(out, o);
  if (o.csv) return;
  fmt::print("\n");
  print_as_asked(blocks, o);
}

// What is not answered together.
void check_arguments(const FormatArguments& o) {
  const bool is_rounded = o.satfinite || !o.rounding.empty();
  if (o.texts.empty() && is_rounded)
    refuse("format", "--round or --satfinite without a number", "a number behind the format");
  if ((o.csv || o.markdown) && !o.table && !o.format.empty())
    refuse("format", "--csv or --markdown without --table", "them with --table, or without a format");
  if (o.table && (o.format.empty() || !o.texts.empty()))
    refuse("format", "--table", "it behind a format alone");
  if (is_rounded && code_of(o.text()))
    refuse("format", "--round or --satfinite with a code", "a number: 126, 0x1.8p-3, 1/3");
}

int format_block(const BlockFormat& block, const FormatArguments& o) {
  if (o.table || o.csv || o.markdown || o.satfinite || !o.rounding.empty())
    refuse(std::string(block.name), "an option of formats of one element", "numbers, and --json");
  return print_block_format(block, o.texts, o.json);
}

int format_command(const FormatArguments& o) {
  if (o.format.empty() && o.texts.empty() && !o.table && !o.satfinite && o.rounding.empty()) {
    print_all(o);
    return kYes;
  }
  if (const std::string note = shared_name_note(o.format); !note.empty() && !o.is_for_programs())
    fmt::print("{}\n", note);
  if (const std::optional<BlockFormat> block = block_format_of(o.format)) return format_block(*block, o);
  check_arguments(o);
  const FormatInfo f = required(find_format_info(o.format));
  if (o.texts.size() > 1)
    refuse(std::string(f.name), fmt::format("{} numbers", o.texts.size()), "one; several of a block format");
  const std::optional<std::uint64_t> code = code_of(o.text());
  if (o.table)
    print_table(f, o);
  else if (o.texts.empty())
    print_summary(f, o.json);
  else if (code)
    print_code(f, *code, o.json);
  else
    print_number(f, o);
  return kYes;
}

}  // namespace

void add_format(CLI::App& command, int& status) {
  FormatArguments& o = add_arguments(command, status, format_command);
  command.add_option(
      "format", o.format,
      "a format, by the manual's name or another (fp16, fp8); all of them, a row each, without it");
  command.add_option(
      "text", o.texts,
      "a code (0x7e, 0b01111110) or a number (3.3, 1e-20, 0x1.8p-3, 1/3, inf, nan); of a block "
      "format (nvfp4, mxfp8, ...) numbers, which are quantised; a summary of the format without it");
  command.add_option("--round", o.rounding, "how a number is rounded: rn (unless given), rz, rp, rm or rna")
      ->check(CLI::IsMember(kRoundings));
  command.add_flag("--satfinite", o.satfinite, "beyond the largest number there is the largest number");
  command.add_flag("--table", o.table,
                   "print all codes of the format; of formats of more than 8 bits, the ones to know");
  CLI::Option* csv = command.add_flag("--csv", o.csv, "print a table by commas");
  CLI::Option* json = command.add_flag("--json", o.json, "print one JSON object")->excludes(csv);
  command.add_flag("--markdown", o.markdown, "print a table for Markdown")->excludes(csv, json);
  command.footer(
      examples({"warpbit format e4m3 0x7e", "warpbit format e4m3 3.3 --round rz", "warpbit format e2m1 --table",
                "warpbit format nvfp4 0.1 -0.4 6.5", "warpbit format"}));
}

}  // namespace warpbit::cli
