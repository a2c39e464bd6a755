// SPDX-License-Identifier: Apache-2.0
// Sums as people write them: "1 + 2^-12 - 3.5", "1*1 + 0.5*0.25 on H100", "sum 1 2^-12 -3.5 bf16 A100,H100".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/arguments.hpp"
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

// ---- The forms that add them

// Of a format and an accumulator the first form counts that most of the targets have.
struct SumForm {
  std::string_view format, accumulator, form;
  std::size_t terms;
};
constexpr SumForm kSumForms[] = {
    {"f16", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16},
    {"f16", "f32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 8},
    {"f16", "f32", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 4},
    {"f16", "f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16},
    {"f16", "f16", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 8},
    {"f16", "f16", "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", 4},
    {"bf16", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16},
    {"tf32", "f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8},
    {"e4m3", "f32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 32},
    {"e5m2", "f32", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 32},
    {"e3m2", "f32", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32", 32},
    {"e2m3", "f32", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m3.f32", 32},
    {"e2m1", "f32", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", 32},
    {"f64", "f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 4},
    {"s8", "s32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32},
    {"s8", "s32", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 16},
};
constexpr std::string_view kGuessed[] = {"f16", "bf16", "tf32"};  // from which one is chosen if none is said
constexpr int kLost = 1'000, kUnwritable = 1'000'000;

// How badly numbers fit a format: those that become 0 or infinite count most, those that are rounded less.
int loss(const AskedSum& sum, std::string_view format) {
  int out = 0;
  for (const Term& term : sum.terms)
    for (const std::string& value : {term.a, term.b}) {
      const Result<EncodedNumber> n = parse_code(format, value);
      if (!n) return kUnwritable;
      const Result<ExplainedCode> e = explain_code(format, n->code);
      const bool is_lost = !n->is_exact && (n->is_beyond_largest || (e && e->cls == CodeClass::zero));
      out += is_lost ? kLost : n->is_exact ? 0 : 1;
    }
  return out;
}

std::string_view format_of(const AskedSum& sum) {
  if (!sum.format.empty()) return sum.format;
  return *std::ranges::min_element(kGuessed, {}, [&](std::string_view format) { return loss(sum, format); });
}

// "in f16" may be said of the factors or of the sum: a form for each accumulator. Where nothing is said the widest is meant.
std::vector<SumForm> forms_of(const AskedSum& sum, const std::vector<Target>& targets) {
  const std::string_view format = format_of(sum);
  const auto having = [&](const SumForm& row) {
    return std::ranges::count_if(targets, [&](Target target) { return has_form(target, row.form); });
  };
  std::vector<SumForm> out;
  for (const SumForm& row : kSumForms) {
    if (row.format != format) continue;
    const auto known = std::ranges::find(out, row.accumulator, &SumForm::accumulator);
    if (known == out.end() && (out.empty() || !sum.format.empty()))
      out.push_back(row);
    else if (known != out.end() && having(row) > having(*known))
      *known = row;
  }
  return out;
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

// ---- The answer

constexpr std::size_t kMostTerms = 4096;  // of a chain

// What the form makes of the sum on each of the targets.
Result<ElementComparison> answer_of(const AskedSum& sum, const SumForm& form,
                                    const std::vector<Target>& targets, std::vector<std::string>& notes) {
  std::vector<Computation> computations;
  for (const Target target : targets) {
    Result<Instruction> instruction = Instruction::parse(form.form, target);
    if (!instruction) return instruction.error();
    computations.push_back({*instruction});
  }
  ElementOptions values;
  values.a = joined_values(sum, &Term::a), values.b = joined_values(sum, &Term::b);
  notes.clear();  // the same of each form
  const auto instructions = static_cast<int>(kMostTerms / form.terms);
  return compare_element(computations, values.inputs(computations[0].instruction, notes, instructions));
}

AskReading no_sum(const AskedSum& sum, const std::string& why) {
  return {"error", fmt::format("A sum of {} terms{}", sum.terms.size(), why)};
}

// "f16, which fits the numbers best, as FORM adds it"
std::string understood_of(const AskedSum& sum, const std::vector<SumForm>& forms) {
  std::vector<std::string> ways;
  for (const SumForm& form : forms)
    ways.push_back(forms.size() == 1 ? fmt::format("as {} adds it", form.form)
                                     : fmt::format("in accumulators of {}: {}", form.accumulator, form.form));
  return fmt::format("A sum of {} terms in {}{}, {}", sum.terms.size(), forms[0].format,
                     sum.format.empty() ? ", which fits the numbers best" : "", fmt::join(ways, "; or "));
}

// Adds the answer of a form, and the commands that say more.
Result<void> add_form(AskReading& out, const AskedSum& sum, const SumForm& form, const AskedLine& line) {
  const std::vector<Target> targets = compared_targets(std::string(form.form), line.targets);
  Result<ElementComparison> answer = answer_of(sum, form, targets, out.notes);
  if (!answer) return answer.error();
  out.answers.push_back(*std::move(answer));
  const std::string a = joined_values(sum, &Term::a), b = joined_values(sum, &Term::b);
  AskView view = sum_view(std::string(form.form), targets, a, b);
  if (sum.terms.size() > form.terms)  // only a chain has so many
    view.commands = {{"compare", std::string(form.form), "--targets", view.commands[0][3], "--order",
                      "ascending,descending", "--a", a, "--b", b, "--json"}};
  out.views.push_back(view);
  return {};
}

}  // namespace

AskReadings ask_sum(const AskedLine& line) {
  const std::optional<AskedSum> sum = read_sum(line);
  if (!sum) return {};
  if (!sum->is_said && !sum->has_operators) return {};  // numbers one beside the other
  const std::vector<SumForm> forms = forms_of(*sum, line.targets);
  if (forms.empty())
    return {no_sum(*sum, fmt::format(" in {}, of which no instruction adds products", sum->format))};
  if (loss(*sum, forms[0].format) >= kUnwritable)
    return {no_sum(*sum, fmt::format(", of which not all can be written in {}", forms[0].format))};
  if (sum->terms.size() > kMostTerms)
    return {no_sum(*sum, fmt::format("; accepted are at most {}", kMostTerms))};
  AskReading out{"sum", understood_of(*sum, forms)};
  out.form = forms[0].form;
  for (const SumForm& form : forms)
    if (const Result<void> added = add_form(out, *sum, form, line); !added)
      return {no_sum(*sum, fmt::format(": {}", added.error().message()))};
  for (const std::string_view other : kGuessed)
    if (other != forms[0].format && loss(*sum, other) < kLost)
      out.suggestions.push_back(
          {line_of(*sum, other, line.targets), fmt::format("the same with factors in {}", other)});
  return {out};
}

}  // namespace warpbit::cli
