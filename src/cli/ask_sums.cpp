// SPDX-License-Identifier: Apache-2.0
// Sums as people write them: "1 + 2^-12 - 3.5", "1*1 + 0.5*0.25 on H100", "sum 1 2^-12 -3.5 bf16 A100,H100".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

struct Term {
  std::string a, b = "1";
};

// A sum, and what was said beside it.
struct AskedSum {
  std::vector<Term> terms;
  std::string format;    // of the factors, if it is said
  bool is_said = false;  // "sum ..."
  bool has_operators = false;
};

bool is_number_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.' || c == 'x' ||
         c == 'X' || c == 'p' || c == 'P' || c == '^' || c == '/';
}

// "3.5", "2^-12", "1e-5", "0x1.8p-3", "1/3", "inf", "nan", without a sign; "" if it is none.
std::string take_value(AskScanner& in) {
  if (const std::string_view word = in.take_one({"inf", "nan"}); !word.empty()) return std::string(word);
  const std::string_view text = in.rest();
  std::size_t end = 0;
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  while (end < text.size()) {
    const char last = end == 0 ? ' ' : text[end - 1];
    const bool is_exponent =
        last == '^' || last == 'p' || last == 'P' || (!is_hex && (last == 'e' || last == 'E'));
    if (!is_number_character(text[end]) && !(is_exponent && (text[end] == '-' || text[end] == '+'))) break;
    ++end;
  }
  const std::string out(text.substr(0, end));
  const auto is_digit = [&](std::size_t i) { return i < out.size() && out[i] >= '0' && out[i] <= '9'; };
  const bool has_zeros_before =
      out.starts_with('0') && is_digit(1);  // of a date, behind the comma of a thousand
  if (!(is_digit(0) || out.starts_with('.')) || has_zeros_before || !parse_code("f64", out)) return "";
  in.take(out);
  return out;
}

// "-", "+", "- -": whether it is minus.
bool take_signs(AskScanner& in, bool& has_sign) {
  bool is_negative = false;
  for (in.skip_blanks(); in.rest().starts_with('+') || in.rest().starts_with('-'); in.skip_blanks()) {
    has_sign = true;
    if (in.take("-"))
      is_negative = !is_negative;
    else
      in.take("+");
  }
  return is_negative;
}

bool take_term(AskScanner& in, AskedSum& out) {
  bool has_sign = false;
  bool is_negative = take_signs(in, has_sign);
  out.has_operators = out.has_operators || (has_sign && !out.terms.empty());
  Term term{take_value(in)};
  if (term.a.empty()) return false;
  in.skip_blanks();
  if (in.take("*")) {
    out.has_operators = true;
    if (take_signs(in, has_sign)) is_negative = !is_negative;
    term.b = take_value(in);
    if (term.b.empty()) return false;
  }
  if (is_negative) term.a = "-" + term.a;
  out.terms.push_back(term);
  return true;
}

std::size_t digits_of(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

// "555-1234", "2024-01-05": numbers of a telephone, days. Someone who subtracts says it otherwise.
bool is_grouped_digits(std::string_view text) {
  return text.find_first_not_of("0123456789-") == text.npos && text.find('-', 1) != text.npos &&
         text.find(" ") == text.npos;
}

std::optional<AskedSum> read_sum(const AskedLine& line) {
  AskedSum out;
  std::string text;
  for (const std::string& word : line.words) {
    const std::string small = in_small_letters(up_to(word, ":"));
    const Result<FormatInfo> format = find_format_info(small);
    if (small == "sum" || small == "add" || small == "dot")
      out.is_said = true;
    else if (format)
      out.format = format->name;
    else if (small == "=" && &word != &line.words.back() && line.words.back() != "?")
      return std::nullopt;  // an equation
    else if (small != "of" && small != "in" && small != "=" && small != "?" && small != "as")
      text += (text.empty() ? "" : " ") + word;
  }
  while (text.ends_with('=') || text.ends_with('?') || text.ends_with(' ')) text.pop_back();
  if (is_grouped_digits(text)) return std::nullopt;
  AskScanner in(text);
  while (!in.is_done()) {
    if (!take_term(in, out)) return std::nullopt;
    const bool has_comma = (in.skip_blanks(), in.take(","));
    const bool may_be_thousands = !in.is_done() && in.rest()[0] >= '0' && in.rest()[0] <= '9' &&
                                  (!out.is_said || digits_of(in.rest()) == 3);
    if (has_comma && may_be_thousands) return std::nullopt;  // "1,250" is one number
    in.skip_blanks();
  }
  return out.terms.size() >= 2 ? std::optional(out) : std::nullopt;
}

// ---- The form that adds them

struct SumForm {
  std::string_view format, form;
  std::size_t terms;
};
constexpr SumForm kSumForms[] = {
    {"f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16},
    {"bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16},
    {"tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8},
    {"e4m3", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 32},
    {"e5m2", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 32},
    {"e3m2", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32", 32},
    {"e2m3", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m3.f32", 32},
    {"e2m1", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", 32},
    {"f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 4},
    {"s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32},
};
constexpr std::size_t kFloatForms = 3;  // from which one is chosen if none is said

// How badly numbers fit a format: those that become 0 or infinite count most, those that are rounded less.
int loss(const AskedSum& sum, std::string_view format) {
  constexpr int kLost = 1000;
  int out = 0;
  for (const Term& term : sum.terms)
    for (const std::string& value : {term.a, term.b}) {
      const Result<EncodedNumber> n = parse_code(format, value);
      if (!n) return kLost * kLost;
      const Result<ExplainedCode> e = explain_code(format, n->code);
      const bool is_lost = !n->is_exact && (n->is_beyond_largest || (e && e->cls == CodeClass::zero));
      out += is_lost ? kLost : n->is_exact ? 0 : 1;
    }
  return out;
}

const SumForm* form_of(const AskedSum& sum) {
  const std::span<const SumForm> all(kSumForms);
  if (!sum.format.empty()) {
    const auto said = std::ranges::find(all, sum.format, &SumForm::format);
    return said == all.end() ? nullptr : &*said;
  }
  const auto floats = all.first(kFloatForms);
  return &*std::ranges::min_element(floats, {}, [&](const SumForm& form) { return loss(sum, form.format); });
}

// The sum as a line, with factors in the format.
std::string line_of(const AskedSum& sum, std::string_view format, const std::vector<Target>& targets) {
  std::string out = "sum";
  for (const Term& term : sum.terms) out += fmt::format(" {}{}", term.a, term.b == "1" ? "" : "*" + term.b);
  out += fmt::format(" {}", format);
  for (const Target target : targets) out += fmt::format(" {}", target.name());
  return out;
}

std::string joined_values(const AskedSum& sum, std::string Term::*factor) {
  std::string out;
  for (const Term& term : sum.terms) out += (out.empty() ? "" : " ") + term.*factor;
  return out;
}

}  // namespace

AskReadings ask_sum(const AskedLine& line) {
  const std::optional<AskedSum> sum = read_sum(line);
  if (!sum) return {};
  const SumForm* form = form_of(*sum);
  if (!sum->is_said && !sum->has_operators) return {};  // numbers one beside the other
  if (form == nullptr)
    return {{"error", fmt::format("A sum of {} terms in {}, of which no instruction adds products",
                                  sum->terms.size(), sum->format)}};
  if (loss(*sum, form->format) >= 1000 * 1000)
    return {{"error", fmt::format("A sum of {} terms, of which not all can be written in {}", sum->terms.size(),
                                  form->format)}};
  const std::vector<Target> targets = compared_targets(std::string(form->form), line.targets);
  AskReading out{"sum", fmt::format("A sum of {} term{} in {}{}, as {} adds it", sum->terms.size(),
                                    sum->terms.size() == 1 ? "" : "s", form->format,
                                    sum->format.empty() ? ", which fits the numbers best" : "", form->form)};
  out.form = form->form;
  AskView view = sum_view(out.form, targets, joined_values(*sum, &Term::a), joined_values(*sum, &Term::b));
  if (sum->terms.size() > form->terms)
    view.commands.erase(view.commands.begin());  // only a chain has so many terms
  if (view.commands.empty())
    return {
        {"error", fmt::format("A sum of {} terms, of which {} adds {}; several targets are compared on more",
                              sum->terms.size(), form->form, form->terms)}};
  out.views.push_back(view);
  for (const SumForm& other : kSumForms)
    if (other.format != form->format && loss(*sum, other.format) < 1000 && out.suggestions.size() < 2)
      out.suggestions.push_back({line_of(*sum, other.format, line.targets),
                                 fmt::format("the same with factors in {}", other.format)});
  return {out};
}

}  // namespace warpbit::cli
