// SPDX-License-Identifier: Apache-2.0
// make_forms FILE
// Writes warpbit/device/forms.hpp: the forms that kernels may call, from the tables of the library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <tuple>  // std::tie
#include <utility>
#include <vector>

#include "isa/since.hpp"
#include "numeric/words.hpp"
#include "warpbit/instruction.hpp"

namespace {

using Words = std::vector<std::string>;

// ---- What there is to make

/// A template, which forms specialise. $1 and so on are the groups of the pattern.
struct Template {
  std::string name, pattern, parameters, arguments;
  /// What no form has is refused by this parameter, for which the forms have these values.
  std::string parameter, value;
  std::string refusal, refusal_with_value = "";
  /// The name of a function that is called like the form, and its declaration.
  std::string function = "", declaration = "";
  std::string parameters_of_form = "", text = "$&";
};

const std::string kProduct = "class Shape, class Sum_, class A_, class B_";
const std::string kMatrices = R"(matrix)\.sync\.aligned\.m\d+n\d+\.x(\d)(\.trans)?\.shared(?:\.b16|(\.b8)))";

const Template kTemplates[] = {
    // But m8n8k4 of f16, which is four products.
    {"Mma", R"(mma\.sync\.aligned\.(?!m8n8k4[a-z.]*\.f(?:16|32))(m\w+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\2)",
     kProduct, "$1, $2, $3, $4", "A_", "$3", "mma has A $3", "mma with A $3 has $1; B $4; C and D $2"},
    {"MmaSp", R"(mma\.sp::ordered_metadata\.sync\.aligned\.(m\w+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\2)",
     kProduct, "$1, $2, $3, $4", "A_", "$3", "mma.sp has A $3", "mma.sp with A $3 has $1; B $4; C and D $2"},
    {"MmaBlockScale",
     R"(mma\.sync\.aligned\.(m\w+)\.row\.col\.kind::(\w+)\.block_scale\.scale_vec::\w+\.f32\.(\w+)\.(\w+)\.f32\.(\w+))",
     "class Shape, class Kind, class A_, class B_, class Scale", "$1, $2, $3, $4, $5", "Kind", "$2",
     "block scaling has kind::$2", "kind::$2 has $1; A and B $3; scale factors $5"},
    {"Wgmma", R"(wgmma\.mma_async\.sync\.aligned\.m64n8k(\d+)\.(\w+)\.(\w+)\.(\w+))", kProduct,
     "m64nNkK<N, $1>, $2, $3, $4", "A_", "$3", "wgmma has A $3", "wgmma with A $3 has m64nNk$1; B $4; D $2", "",
     "", "int N", "k$1.$2.$3.$4"},
    {"Ldmatrix", "(ld" + kMatrices, "int N", "$2", "Literal<N>", "Literal<$2>", "$1$4$3 has $2 matrices", "",
     "$1$4$3", R"(template <int N, class T>
WARPBIT_DEVICE typename {0}_row<N>::Registers {0}(SharedArray<T> row, Place at = Place::here()) {{
  return load_matrix<{0}_row<N>>(row, at);
}}
)"},
    {"Stmatrix", "(st" + kMatrices, "int N", "$2", "Literal<N>", "Literal<$2>", "$1$4$3 has $2 matrices", "",
     "$1$4$3", R"(template <int N, class T>
WARPBIT_DEVICE void {0}(SharedArray<T> row, const typename {0}_row<N>::Registers& r, Place at = Place::here()) {{
  store_matrix<{0}_row<N>>(row, r, at);
}}
)"},
    // Of two f32, to a register that CUDA has, without random bits.
    {"Cvt", R"((cvt\.(?!rs)[a-z.]+)\.((?!e2m1)\w+x2)\.f32)", "class To", "$2", "To", "$2", "$1 has $2", "",
     "$1",
     R"(template <class To>
WARPBIT_DEVICE typename {0}_row<To>::Registers {0}(float upper, float lower, Place at = Place::here()) {{
  return convert<{0}_row<To>>(upper, lower, at);
}}
)"},
    // In bare shapes, without a second half elsewhere.
    {"TensorLoad", R"((tcgen05\.ld)\.sync\.aligned\.(16x64b|16x128b|16x256b|32x32b)\.x(\d+)\.b32)",
     "class Shape, int N", "shape$2, $3", "Shape", "shape$2", "$1 has $2", "", "$1",
     R"(template <class Shape, int N>
WARPBIT_DEVICE typename {0}_row<Shape, N>::Registers {0}(std::uint32_t address, Place at = Place::here()) {{
  return load_tensor<{0}_row<Shape, N>>(address, at);
}}
)"},
    {"TensorStore", R"((tcgen05\.st)\.sync\.aligned\.(16x64b|16x128b|16x256b|32x32b)\.x(\d+)\.b32)",
     "class Shape, int N", "shape$2, $3", "Shape", "shape$2", "$1 has $2", "", "$1",
     R"(template <class Shape, int N>
WARPBIT_DEVICE void {0}(std::uint32_t address, const typename {0}_row<Shape, N>::Registers& r, Place at = Place::here()) {{
  store_tensor<{0}_row<Shape, N>>(address, r, at);
}}
)"},
};
const char* const kSizesOfWgmma = R"(wgmma\.mma_async\.sync\.aligned\.m64n\d+k\d+\.\w+\.\w+\.\w+)";

// ---- Forms

/// What a lane gives for an operand.
struct Operand {
  std::string name;
  int count;               ///< of registers in braces; 0 for one without
  std::string type;        ///< in C++, or as the table of forms has it
  char constraint = '\0';  ///< in asm

  std::string fragment() const { return count == 0 ? type : fmt::format("Fragment<{}, {}>", type, count); }
};

struct Form {
  std::smatch parts;  ///< of its text, by the pattern of a template
  std::vector<Operand> operands;

  std::string of(const std::string& format) const { return parts.format(format); }
  const Operand* find(std::string_view name) const {
    const auto at = std::ranges::find(operands, name, &Operand::name);
    return at == operands.end() ? nullptr : &*at;
  }
};

// "d:4xf32 [p:b64] e:b32 f:imm(0..3) sel_a(byte_id,thread_id):{b16,b16}"
std::vector<Operand> operands_of(const std::string& notation) {
  static const std::regex kOperand(R"(\[?(\w+)(?:\([^)]*\))?:(?:(\d+)x)?([^ \]]+))");
  static const std::map<std::string, std::pair<const char*, char>> kTypes = {{"f32", {"float", 'f'}},
                                                                             {"f64", {"double", 'd'}},
                                                                             {"b16", {"std::uint16_t", 'h'}},
                                                                             {"b32", {"std::uint32_t", 'r'}}};
  std::vector<Operand> out;
  for (std::sregex_iterator at(notation.begin(), notation.end(), kOperand), end; at != end; ++at) {
    out.push_back({(*at)[1], (*at)[2].matched ? std::stoi((*at)[2]) : 0, (*at)[3]});
    if (const auto known = kTypes.find(out.back().type); known != kTypes.end())
      std::tie(out.back().type, out.back().constraint) = known->second;
  }
  return out;
}

// Whether compilers know a form: those of CUDA 13.0, whose PTX is 9.0.
bool is_compiled(const warpbit::FormInfo& info) {
  const std::vector<std::string_view> words = warpbit::words_between(info.canonical, ".");
  return warpbit::since(words[0], std::span(words).subspan(1), info.targets.front()) <= warpbit::Version{9, 0};
}

std::vector<Form> forms_of(const std::string& text) {
  const std::regex pattern(text);
  static const std::vector<warpbit::FormInfo> kForms = warpbit::forms();
  std::vector<Form> out;
  for (const warpbit::FormInfo& info : kForms) {
    Form form{{}, operands_of(info.operands)};
    // Of a form of wgmma that is there twice, the one with A in registers.
    if (form.find("a_desc") == nullptr && is_compiled(info) &&
        std::regex_match(info.canonical, form.parts, pattern))
      out.push_back(std::move(form));
  }
  return out;
}

/// Each once, short ones first: m16n8k8 before m16n8k16.
Words distinct(const std::vector<Form>& forms, const std::string& format) {
  const auto order = [](const std::string& word) { return std::pair(word.size(), word); };
  Words out;
  for (const Form& form : forms) out.push_back(form.of(format));
  std::ranges::sort(out, {}, order);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<Form> only(std::vector<Form> forms, const std::string& format, const std::string& word) {
  std::erase_if(forms, [&](const Form& form) { return form.of(format) != word; });
  return forms;
}

/// The text with what the forms have for each group: "x", "x or y", "x, y or z".
std::string listed(const std::vector<Form>& forms, const std::string& text) {
  const std::size_t at = text.find('$');
  if (at == text.npos) return text;
  const Words words = distinct(forms, text.substr(at, 2));
  return text.substr(0, at) + fmt::format("{}", fmt::join(words.begin(), words.end() - 1, ", ")) +
         (words.size() > 1 ? " or " : "") + words.back() + listed(forms, text.substr(at + 2));
}

// ---- Functions that issue a form by asm

/// What a statement binds its operands to; they are numbered in its order.
struct Asm {
  Words outputs = {}, inputs = {};

  std::string bind(std::string_view constraint, std::string_view value) {
    const bool is_output = constraint[0] == '=' || constraint[0] == '+';
    (is_output ? outputs : inputs).push_back(fmt::format("\"{}\"({})", constraint, value));
    return fmt::format("%{}", outputs.size() + inputs.size() - 1);
  }
  std::string registers(const std::string& access, char constraint, std::string_view name, int count) {
    Words out;
    for (int i = 0; i < count; ++i) out.push_back(bind(access + constraint, fmt::format("{}[{}]", name, i)));
    return fmt::format("{{{}}}", fmt::join(out, ", "));
  }
  std::string text() const {
    return fmt::format(": {} : {}", fmt::join(outputs, ", "), fmt::join(inputs, ", "));
  }
};

std::string issue(const Form& form, const std::string& row) {
  Words parameters{row}, operands;
  Asm bound;
  for (const Operand& operand : form.operands) {
    const std::string& name = operand.name;
    const std::string access = name == "d" || (name == "r" && operands.empty()) ? "=" : "";
    if (name == "p") {
      parameters.emplace_back("unsigned p");
      operands.push_back("[" + bound.bind("r", name) + "]");
    } else if (name == "taddr") {
      parameters.emplace_back("unsigned taddr");
      operands.push_back("[" + bound.bind("r", name) + "]");
    } else if (name == "f") {
      parameters.emplace_back("Literal<Selector>");
      operands.push_back(bound.bind("n", "Selector"));
    } else if (operand.constraint == '\0') {  // a pair
      parameters.push_back("ScaleSelector " + name);
      const std::string byte_id = bound.bind("h", name + ".byte_id");
      operands.push_back("{" + byte_id + ", " + bound.bind("h", name + ".thread_id") + "}");
    } else {
      parameters.push_back((access.empty() ? "const " : "") + operand.fragment() + "& " + name);
      operands.push_back(operand.count == 0 ? bound.bind(access + operand.constraint, name)
                                            : bound.registers(access, operand.constraint, name, operand.count));
    }
  }
  return fmt::format("{}WARPBIT_DEVICE void issue({}) {{\n  asm{}(\"{} {};\" {}{});\n}}\n",
                     form.find("f") == nullptr ? "" : "template <int Selector>\n", fmt::join(parameters, ", "),
                     form.of("$&").starts_with("cvt") ? "" : " volatile", form.of("$&"),
                     fmt::join(operands, ", "), bound.text(), form.find("p") == nullptr ? "" : " : \"memory\"");
}

/// For all forms of wgmma with this D; A by its descriptor or in registers.
std::string issue_wgmma(const Operand& d, bool described) {
  Asm bound;
  const std::string d_text = bound.registers("+", d.constraint, "d", d.count);
  const std::string a = described ? bound.bind("l", "a") : bound.registers("", 'r', "a", 4);
  const std::string b = bound.bind("l", "b"), scale = bound.bind("r", "scale_d");
  std::string immediates, form = bound.bind("n", "S::Row::columns") + bound.bind("C", "S::Row::form");
  for (const char* one : {"SignA", "SignB", "TransposedA", "TransposedB"})
    immediates += bound.bind("C", fmt::format("S::{}::text", one));
  return fmt::format(R"(template <class S>
WARPBIT_DEVICE void issue(S, {}& d, {}, std::uint64_t b, int scale_d) {{
  asm volatile("{{\n.reg .pred p;\nsetp.ne.b32 p, {}, 0;\nwgmma.mma_async.sync.aligned.m64n{} {}, {}, {}, p{};\n}}" {}
               : "memory");
}}
)",
                     d.fragment(), described ? "std::uint64_t a" : "const Fragment<std::uint32_t, 4>& a", scale,
                     form, d_text, a, b, immediates, bound.text());
}

// ---- The header

struct Header {
  std::string rows, issues, functions;
  std::set<std::string> names;  ///< of shapes, types and kinds
};

/// What a specialisation derives from.
std::string base_of(const Form& form, std::string_view n) {
  const Operand *d = form.find("d"), *a = form.find("a"), *b = form.find("b"), *r = form.find("r");
  if (r != nullptr || d->count == 0) return "Held<" + (r != nullptr ? r : d)->fragment() + ">";
  if (form.find("b_desc") != nullptr)
    return fmt::format("AsyncFragments<{}, {}, {} / {}, {}, {}>", n, d->type, n, 8 / d->count,
                       form.find("imm_scale_a") != nullptr, form.find("imm_trans_b") != nullptr);
  const Operand* selector = form.find("f");  // imm(0..3)
  return fmt::format("Fragments<{}, {}, {}, {}, {}, {}>", d->type, d->count, a->type, a->count, b->count,
                     selector == nullptr ? 0 : *(selector->type.end() - 2) - '0' + 1);
}

/// A template, its specialisations, and the function. The names of the rows go to `all`.
void print(Header& out, const Template& made, const std::vector<Form>& forms, Words& all) {
  static const std::regex kDot("[.]"), kN("\\bN\\b"), kName("\\b[a-z]+[a-z0-9]*\\b");
  const std::string function = std::regex_replace(forms[0].of(made.function), kDot, "_");
  const std::string name = function.empty() ? made.name : function + "_row";
  out.rows += fmt::format("template <{}>\nstruct {} : {} {{\n  static constexpr char form[] = \"\";\n",
                          made.parameters, name, base_of(forms[0], "8"));
  const Words values = distinct(forms, made.value);
  for (const std::string& value : values)
    if (!made.refusal_with_value.empty())
      out.rows += fmt::format("  static_assert(!one_of<{}, {}>, \"{}\");\n", made.parameter, value,
                              listed(only(forms, made.value, value), made.refusal_with_value));
  out.rows += fmt::format("  static_assert(one_of<{}, {}>, \"{}\");\n}};\n", made.parameter,
                          fmt::join(values, ", "), listed(forms, made.refusal));
  for (const Form& form : forms) {
    const std::string row = fmt::format("{}<{}>", name, form.of(made.arguments));
    out.rows += fmt::format("template <{}>\nstruct {} : {} {{\n  static constexpr char form[] = \"{}\";\n}};\n",
                            made.parameters_of_form, row, base_of(form, "N"), form.of(made.text));
    all.push_back(std::regex_replace(row, kN, "8"));
    out.names.insert(std::sregex_token_iterator(row.begin(), row.end(), kName), {});
    if (form.find("b_desc") == nullptr) out.issues += issue(form, row);
  }
  out.functions += fmt::format(fmt::runtime(made.declaration), function);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: make_forms FILE\n");
    return 2;
  }
  Header out;
  for (const Template& made : kTemplates) {
    const std::vector<Form> forms = forms_of(made.pattern);
    Words all;
    for (const std::string& function : distinct(forms, made.function))
      print(out, made, only(forms, made.function, function), all);
    out.rows += fmt::format("using {}Rows = Rows<{}>;\n\n", made.name, fmt::join(all, ", "));
  }
  std::map<std::string, Operand> sums;
  for (const Form& form : forms_of(kSizesOfWgmma)) sums.emplace(form.find("d")->fragment(), *form.find("d"));
  for (const auto& [fragment, d] : sums) out.issues += issue_wgmma(d, true) + issue_wgmma(d, false);
  const std::string text = fmt::format(
      R"(// SPDX-License-Identifier: Apache-2.0
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

// ---- Forms. What has no specialisation says what there is.

{}
#ifdef __CUDACC__
{}#endif

{}
}}  // namespace warpbit::device
)",
      fmt::join(out.names, " {};\nstruct "), out.rows, out.issues, out.functions);
  // A header that stays the same stays as old as it is, so that nothing is compiled again.
  std::ifstream before(arguments[1]);
  if (std::string(std::istreambuf_iterator<char>(before), {}) == text) return 0;
  if (std::ofstream(arguments[1]) << text << std::flush) return 0;
  fmt::print(stderr, "make_forms: {} cannot be written\n", arguments[1]);
  return 1;
}
