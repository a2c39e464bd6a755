// SPDX-License-Identifier: Apache-2.0
// make_forms FILE
// Writes warpbit/device/forms.hpp: the forms that kernels may call, from the tables of the library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "warpbit/instruction.hpp"

namespace {

using Words = std::vector<std::string>;

/// What a lane gives for an operand.
struct Operand {
  std::string name, type;  ///< as the table of forms has them
  int count;               ///< of registers in braces; 0 for one without

  /// Its type in C++, and its constraint in asm.
  std::pair<std::string, std::string> register_type() const {
    static const std::map<std::string, std::pair<std::string, std::string>> kTypes = {
        {"f32", {"float", "f"}},
        {"f64", {"double", "d"}},
        {"b16", {"std::uint16_t", "h"}},
        {"b32", {"std::uint32_t", "r"}}};
    return kTypes.at(type);
  }
  std::string cpp_type() const {
    return count == 0 ? register_type().first : fmt::format("Fragment<{}, {}>", register_type().first, count);
  }
};

struct Form {
  std::string text;
  std::smatch parts;  ///< of `text`, by the pattern of a template
  std::vector<Operand> operands;

  std::string of(const char* format) const { return parts.format(format); }
  const Operand* find(std::string_view name) const {
    const auto at = std::ranges::find(operands, name, &Operand::name);
    return at == operands.end() ? nullptr : &*at;
  }
};

/// Part of a message: different words of some forms.
struct Listed {
  const char *before, *format, *last;
};

/// A template that forms specialise. $1 and so on are the groups of the pattern.
struct Template {
  const char *pattern, *name, *parameters, *arguments;
  /// Of what no form has: by this parameter, whose values are so written.
  const char *parameter, *value;
  Listed all;
  const char* after = "";
  std::vector<Listed> with_value = {};
  const char *list, *parameters_of_form = "", *text = "$&";
  /// Of a function that is called like the form.
  const char* function = "";
};

const char* const kProduct = "class Shape, class Sum_, class A_, class B_";

const Template kTemplates[] = {
    // But m8n8k4 of f16, which is four products.
    {.pattern = R"(mma\.sync\.aligned\.(?!m8n8k4[a-z.]*\.f(?:16|32))(m\w+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\2)",
     .name = "Mma",
     .parameters = kProduct,
     .arguments = "$1, $2, $3, $4",
     .parameter = "A_",
     .value = "$3",
     .all = {"mma has A of ", "$3", "or"},
     .with_value =
         {{"mma with A ", "$3", ""}, {" has ", "$1", "and"}, {"; B ", "$4", "or"}, {"; C and D ", "$2", "or"}},
     .list = "MmaRows"},
    {.pattern = R"(mma\.sp::ordered_metadata\.sync\.aligned\.(m\w+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\2)",
     .name = "MmaSp",
     .parameters = kProduct,
     .arguments = "$1, $2, $3, $4",
     .parameter = "A_",
     .value = "$3",
     .all = {"mma.sp has A of ", "$3", "or"},
     .with_value = {{"mma.sp with A ", "$3", ""},
                    {" has ", "$1", "and"},
                    {"; B ", "$4", "or"},
                    {"; C and D ", "$2", "or"}},
     .list = "MmaSpRows"},
    {.pattern =
         R"(mma\.sync\.aligned\.(m\w+)\.row\.col\.kind::(\w+)\.block_scale\.scale_vec::\w+\.f32\.(\w+)\.(\w+)\.f32\.(\w+))",
     .name = "MmaBlockScale",
     .parameters = "class Shape, class Kind, class A_, class B_, class Scale",
     .arguments = "$1, $2, $3, $4, $5",
     .parameter = "Kind",
     .value = "$2",
     .all = {"block scaling has the kinds ", "$2", "and"},
     .with_value = {{"kind::", "$2", ""},
                    {" has ", "$1", "and"},
                    {"; A and B ", "$3", "or"},
                    {"; scale factors ", "$5", "or"}},
     .list = "MmaBlockScaleRows"},
    {.pattern = R"(wgmma\.mma_async\.sync\.aligned\.m64n8k(\d+)\.(\w+)\.(\w+)\.(\w+))",
     .name = "Wgmma",
     .parameters = kProduct,
     .arguments = "m64nNkK<N, $1>, $2, $3, $4",
     .parameter = "A_",
     .value = "$3",
     .all = {"wgmma has A of ", "$3", "or"},
     .with_value = {{"wgmma with A ", "$3", ""},
                    {" has ", "m64nNk$1", "and"},
                    {"; B ", "$4", "or"},
                    {"; D ", "$2", "or"}},
     .list = "WgmmaRows",
     .parameters_of_form = "int N",
     .text = "k$1.$2.$3.$4"},
    {.pattern = R"((ldmatrix)\.sync\.aligned\.m\d+n\d+\.x(\d)(\.trans)?\.shared(?:\.b16|(\.b8)))",
     .name = "$1$4$3",
     .parameters = "int N",
     .arguments = "$2",
     .parameter = "Literal<N>",
     .value = "Literal<$2>",
     .all = {" has ", "$2", "or"},
     .after = " matrices",
     .list = "LdmatrixRows",
     .function = R"(template <int N, class T>
WARPBIT_DEVICE typename {0}_row<N>::Registers {0}(SharedArray<T> row, Place at = Place::here()) {{
  return load_matrix<{0}_row<N>>(row, at);
}}
)"},
    {.pattern = R"((stmatrix)\.sync\.aligned\.m\d+n\d+\.x(\d)(\.trans)?\.shared(?:\.b16|(\.b8)))",
     .name = "$1$4$3",
     .parameters = "int N",
     .arguments = "$2",
     .parameter = "Literal<N>",
     .value = "Literal<$2>",
     .all = {" has ", "$2", "or"},
     .after = " matrices",
     .list = "StmatrixRows",
     .function = R"(template <int N, class T>
WARPBIT_DEVICE void {0}(SharedArray<T> row, const typename {0}_row<N>::Registers& r, Place at = Place::here()) {{
  store_matrix<{0}_row<N>>(row, r, at);
}}
)"},
    // Of two f32, to a register that CUDA has, without random bits.
    {.pattern = R"((cvt\.(?!rs)[a-z.]+)\.((?!e2m1)\w+x2)\.f32)",
     .name = "$1",
     .parameters = "class To",
     .arguments = "$2",
     .parameter = "To",
     .value = "$2",
     .all = {" has ", "$2", "or"},
     .list = "CvtRows",
     .function = R"(template <class To>
WARPBIT_DEVICE typename {0}_row<To>::Registers {0}(float upper, float lower, Place at = Place::here()) {{
  return convert<{0}_row<To>>(upper, lower, at);
}}
)"},
};

// ---- Words

// "x", "x or y", "x, y or z".
std::string listed(const Words& words, std::string_view last) {
  if (words.size() == 1) return words[0];
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), last, words.back());
}

/// Each once, short ones first: m16n8k8 before m16n8k16.
template <class Range, class Get>
Words distinct(const Range& range, Get get) {
  Words out;
  for (const auto& one : range) out.push_back(get(one));
  std::ranges::sort(out, {}, [](const std::string& word) { return std::pair(word.size(), word); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}
Words distinct(const std::vector<Form>& forms, const char* format) {
  return distinct(forms, [&](const Form& form) { return form.of(format); });
}

std::string message(const std::vector<Form>& forms, const Listed& part) {
  return part.before + listed(distinct(forms, part.format), part.last);
}

std::vector<Form> only(std::vector<Form> forms, const char* format, const std::string& word) {
  std::erase_if(forms, [&](const Form& form) { return form.of(format) != word; });
  return forms;
}

// ---- Forms

// "d:4xf32 [p:b64] e:b32 f:imm(0..3) sel_a(byte_id,thread_id):{b16,b16}"
std::vector<Operand> operands_of(const std::string& notation) {
  static const std::regex kOperand(R"(\[?(\w+)(?:\([^)]*\))?:(?:(\d+)x)?([^ \]]+))");
  std::vector<Operand> out;
  for (std::sregex_iterator at(notation.begin(), notation.end(), kOperand), end; at != end; ++at)
    out.push_back({(*at)[1], (*at)[3], (*at)[2].matched ? std::stoi((*at)[2]) : 0});
  return out;
}

std::vector<Form> forms_of(const char* text) {
  const std::regex pattern(text);
  static const std::vector<warpbit::FormInfo> kForms = warpbit::forms();
  std::vector<Form> out;
  for (const warpbit::FormInfo& info : kForms) {
    Form form{info.canonical, {}, operands_of(info.operands)};
    // Of a form of wgmma that is there twice, the one with A in registers.
    if (form.find("a_desc") == nullptr && std::regex_match(info.canonical, form.parts, pattern))
      out.push_back({info.canonical, form.parts, form.operands});
  }
  return out;
}

/// What a specialisation derives from.
std::string base_of(const Form& form) {
  const Operand *d = form.find("d"), *a = form.find("a"), *b = form.find("b"), *r = form.find("r");
  if (r != nullptr || d->count == 0) return fmt::format("Held<{}>", (r != nullptr ? r : d)->cpp_type());
  if (form.find("b_desc") != nullptr)
    return fmt::format("AsyncFragments<N, {}, N / {}, {}, {}>", d->register_type().first, 8 / d->count,
                       form.find("imm_scale_a") != nullptr, form.find("imm_trans_b") != nullptr);
  const Operand* selector = form.find("f");  // imm(0..3)
  return fmt::format("Fragments<{}, {}, {}, {}, {}, {}>", d->register_type().first, d->count,
                     a->register_type().first, a->count, b->count,
                     selector == nullptr ? 0 : *(selector->type.end() - 2) - '0' + 1);
}

// ---- The header

struct Header {
  std::string rows, issues, functions;
  std::set<std::string> names;
};

/// The function that issues a form by asm, whose operands are numbered in the order of the statement.
std::string issue(const Form& form, const std::string& row) {
  Words parameters{row}, operands, outputs, inputs;
  const auto bind = [&](const std::string& constraint, const std::string& value) {
    (constraint[0] == '=' ? outputs : inputs).push_back(fmt::format("\"{}\"({})", constraint, value));
    return fmt::format("%{}", outputs.size() + inputs.size() - 1);
  };
  for (const Operand& operand : form.operands) {
    const bool is_output = operand.name == "d" || (operand.name == "r" && operands.empty());
    if (operand.name == "p") {
      parameters.emplace_back("unsigned p");
      operands.push_back(fmt::format("[{}]", bind("r", "p")));
    } else if (operand.name == "f") {
      parameters.emplace_back("Literal<Selector>");
      operands.push_back(bind("n", "Selector"));
    } else if (operand.type[0] == '{') {
      parameters.push_back("ScaleSelector " + operand.name);
      const std::string byte_id = bind("h", operand.name + ".byte_id");
      operands.push_back(fmt::format("{{{}, {}}}", byte_id, bind("h", operand.name + ".thread_id")));
    } else {
      const std::string constraint = (is_output ? "=" : "") + operand.register_type().second;
      parameters.push_back(
          fmt::format("{}{}& {}", is_output ? "" : "const ", operand.cpp_type(), operand.name));
      Words registers;
      for (int i = 0; i < operand.count; ++i)
        registers.push_back(bind(constraint, fmt::format("{}[{}]", operand.name, i)));
      operands.push_back(operand.count == 0 ? bind(constraint, operand.name)
                                            : fmt::format("{{{}}}", fmt::join(registers, ", ")));
    }
  }
  return fmt::format(R"({}WARPBIT_DEVICE void issue({}) {{
  asm{}("{} {};" : {} : {}{});
}}
)",
                     form.find("f") == nullptr ? "" : "template <int Selector>\n", fmt::join(parameters, ", "),
                     form.text.starts_with("cvt") ? "" : " volatile", form.text, fmt::join(operands, ", "),
                     fmt::join(outputs, ", "), fmt::join(inputs, ", "),
                     form.find("p") == nullptr ? "" : " : \"memory\"");
}

/// Of wgmma: the operands of asm are D, A, B, scale-d, N, the text behind it and the immediates.
std::string issue_wgmma(const std::string& type, const std::string& constraint, int count, bool described) {
  Words registers, outputs, a, inputs, numbers;
  const auto number = [&] { return fmt::format("%{}", outputs.size() + inputs.size() - 1); };
  const auto input = [&](std::string_view text) { return inputs.emplace_back(text), number(); };
  for (int i = 0; i < count; ++i) {
    outputs.push_back(fmt::format("\"+{}\"(d[{}])", constraint, i));
    registers.push_back(number());
  }
  for (int i = 0; i < 4 && !described; ++i) a.push_back(input(fmt::format("\"r\"(a[{}])", i)));
  const std::string a_text = described ? input("\"l\"(a)") : fmt::format("{{{}}}", fmt::join(a, ", "));
  const std::string b = input("\"l\"(b)"), scale = input("\"r\"(scale_d)"), n = input("\"n\"(S::Row::columns)");
  for (const char* text : {"Row::form", "SignA::text", "SignB::text", "TransposedA::text", "TransposedB::text"})
    numbers.push_back(input(fmt::format("\"C\"(S::{})", text)));
  return fmt::format(R"(template <class S>
WARPBIT_DEVICE void issue(S, Fragment<{}, {}>& d, {}, std::uint64_t b, int scale_d) {{
  asm volatile("{{\n.reg .pred p;\nsetp.ne.b32 p, {}, 0;\nwgmma.mma_async.sync.aligned.m64n{}{} {{{}}}, {}, {}, p{};\n}}"
               : {} : {} : "memory");
}}
)",
                     type, count, described ? "std::uint64_t a" : "const Fragment<std::uint32_t, 4>& a", scale,
                     n, numbers[0], fmt::join(registers, ", "), a_text, b,
                     fmt::join(numbers.begin() + 1, numbers.end(), ""), fmt::join(outputs, ", "),
                     fmt::join(inputs, ", "));
}

/// A template for the forms of one name, and its specialisations; their names go to `all`.
void print(Header& out, const Template& made, const std::vector<Form>& forms, const std::string& function,
           Words& all) {
  const std::string name = *made.function == '\0' ? function : function + "_row";
  const std::string base = std::regex_replace(base_of(forms[0]), std::regex("\\bN\\b"), "8");
  out.rows += fmt::format("template <{}>\nstruct {} : {} {{\n  static constexpr char form[] = \"\";\n",
                          made.parameters, name, base);
  const Words values = distinct(forms, made.value);
  for (const std::string& value : values) {
    if (made.with_value.empty()) break;
    out.rows += fmt::format("  static_assert(!one_of<{}, {}>, \"", made.parameter, value);
    for (const Listed& part : made.with_value) out.rows += message(only(forms, made.value, value), part);
    out.rows += "\");\n";
  }
  out.rows += fmt::format("  static_assert(one_of<{}, {}>, \"{}{}{}\");\n}};\n", made.parameter,
                          fmt::join(values, ", "), *made.function == '\0' ? "" : function,
                          message(forms, made.all), made.after);
  for (const Form& form : forms) {
    const std::string row = fmt::format("{}<{}>", name, form.of(made.arguments));
    out.rows += fmt::format("template <{}>\nstruct {} : {} {{\n  static constexpr char form[] = \"{}\";\n}};\n",
                            made.parameters_of_form, row, base_of(form), form.of(made.text));
    all.push_back(std::regex_replace(row, std::regex("<N,"), "<8,"));
    if (form.find("b_desc") == nullptr) out.issues += issue(form, row);
  }
  out.functions += fmt::format(fmt::runtime(made.function), function);
}

void print(Header& out, const Template& made) {
  const std::vector<Form> forms = forms_of(made.pattern);
  const auto name = [&](const Form& form) {
    return std::regex_replace(form.of(made.name), std::regex("[.]"), "_");
  };
  Words all;
  for (const std::string& function : distinct(forms, name)) {
    std::vector<Form> some = forms;
    std::erase_if(some, [&](const Form& form) { return name(form) != function; });
    print(out, made, some, function, all);
  }
  out.rows += fmt::format("using {} = Rows<{}>;\n\n", made.list, fmt::join(all, ", "));
  static const std::regex kName("\\b[a-z]+[a-z0-9]*\\b");  // of a shape, a type or a kind
  for (const std::string& row : all)
    for (std::sregex_iterator at(row.begin(), row.end(), kName), end; at != end; ++at)
      out.names.insert((*at)[0]);
}

}  // namespace

int main(int, char** arguments) {
  Header out;
  for (const Template& made : kTemplates) print(out, made);
  std::set<std::tuple<std::string, std::string, int>> sums;
  for (const Form& form : forms_of(R"(wgmma\.mma_async\.sync\.aligned\.m64n\d+k\d+\.\w+\.\w+\.\w+)")) {
    const auto [type, constraint] = form.find("d")->register_type();
    sums.emplace(type, constraint, form.find("d")->count);
  }
  for (const auto& [type, constraint, count] : sums)
    for (const bool described : {true, false}) out.issues += issue_wgmma(type, constraint, count, described);
  std::ofstream(arguments[1]) << fmt::format(R"(// SPDX-License-Identifier: Apache-2.0
// Made by the build from the tables of the library: the forms that kernels may call.
#pragma once

#ifdef __CUDACC__
#include "warpbit/device/cuda.hpp"
#else
#include "warpbit/device/host.hpp"
#endif

namespace warpbit::device {{

// ---- Types, shapes and kinds. Registers hold the bits; these only select a form.

struct {} {{}};

// ---- Forms: what has no specialisation says what there is

{}
#ifdef __CUDACC__
{}#endif

{}
}}  // namespace warpbit::device
)",
                                             fmt::join(out.names, " {};\nstruct "), out.rows, out.issues,
                                             out.functions);
}
