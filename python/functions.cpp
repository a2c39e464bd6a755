// SPDX-License-Identifier: Apache-2.0
// Functions of the hardware on arrays: each is an instruction that a kernel executes for every element.
#include <cstring>

#include "module.hpp"
#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::python {
namespace {

// ---- Instructions

constexpr std::string_view kPtxVersion = "9.4";

// Of a format, what lies in memory and in registers.
struct Place {
  std::string_view format;
  std::string_view type;  // of PTX, as instructions name it
  char letter;            // of its register
  int bits;
};
constexpr Place kPlaces[] = {
    {"f32", "f32", 'r', 32},    {"f16", "f16", 'h', 16},    {"bf16", "bf16", 'h', 16},
    {"f64", "f64", 'd', 64},    {"s32", "s32", 'r', 32},    {"tf32", "tf32", 'r', 32},
    {"e4m3", "e4m3x2", 'h', 8}, {"e5m2", "e5m2x2", 'h', 8}, {"e3m2", "e3m2x2", 'h', 8},
    {"e2m3", "e2m3x2", 'h', 8}, {"e2m1", "e2m1x2", 'b', 8}, {"ue8m0", "ue8m0x2", 'h', 8},
};

const Place& place_of(std::string_view format, const std::string& where, std::string_view what) {
  const auto* found = std::ranges::find(kPlaces, format, &Place::format);
  std::string known;
  for (const Place& place : kPlaces) known += (known.empty() ? "" : ", ") + std::string(place.format);
  if (found == std::end(kPlaces))
    refuse(where, std::string(what) + " of " + std::string(format), "one of " + known);
  return *found;
}

// Two elements that an instruction converts at once; the upper one is 0 here.
bool is_pair(const Place& place) {
  return place.bits == 8;
}

struct Element {
  const Place& from;
  const Place& to;
  std::string form;        // "ex2.approx.f32"
  std::string statements;  // from the register of `from` to that of `to`
};

std::string named_register(const Place& place, int n) {
  return std::string("%") + place.letter + std::to_string(n);
}

Element plain(const Place& from, const Place& to, const std::string& form) {
  return {from, to, form, form + " " + named_register(to, 2) + ", " + named_register(from, 1) + ";"};
}

// cvt.rn.satfinite.e4m3x2.f32 d, 0, x: the lower half is x.
Element to_pair(const Place& from, const Place& to, const std::string& form) {
  return {from, to, form,
          "mov.b32 %r9, 0; " + form + " " + named_register(to, 2) + ", %r9, " + named_register(from, 1) + ";"};
}

// cvt.rn.f16x2.e4m3x2 d, a
Element from_pair(const Place& from, const Place& to, const std::string& form) {
  return {from, to, form,
          form + " %r9, " + named_register(from, 1) + "; mov.b32 {" + named_register(to, 2) + ", %h9}, %r9;"};
}

// The kernel: an element for each thread.
std::string kernel_of(const Element& e, Target target) {
  const auto access = [](const Place& p, int n) {
    return ".b" + std::to_string(p.bits) + " " + named_register(p, n);
  };
  const std::string size_in = std::to_string(e.from.bits / 8), size_out = std::to_string(e.to.bits / 8);
  return ".version " + std::string(kPtxVersion) + "\n.target " + std::string(target.name()) +
         "\n.address_size 64\n.visible .entry f(.param .u64 x, .param .u64 y, .param .u64 n) {\n"
         ".reg .pred %p; .reg .b8 %b<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>; .reg .b64 %a<6>;\n"
         "ld.param.u64 %a1, [x]; ld.param.u64 %a2, [y]; ld.param.u64 %a3, [n];\n"
         "mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mov.u32 %r7, %tid.x;\n"
         "mul.wide.u32 %a4, %r5, %r6; cvt.u64.u32 %a5, %r7; add.u64 %a4, %a4, %a5;\n"
         "setp.ge.u64 %p, %a4, %a3; @%p ret;\n"
         "mad.lo.u64 %a1, %a4, " +
         size_in + ", %a1; mad.lo.u64 %a2, %a4, " + size_out +
         ", %a2;\n"
         "ld.global" +
         access(e.from, 1) + ", [%a1];\n" + e.statements + "\nst.global.b" + std::to_string(e.to.bits) +
         " [%a2], " + named_register(e.to, 2) + ";\nret;\n}\n";
}

ptx::Report launched(const Element& e, Target target, const void* x, void* y, std::uint64_t count,
                     bool allow_inferred) {
  const ptx::Module module = value_of(ptx::Module::load(kernel_of(e, target), target));
  const ptx::Function function = value_of(module.function("f"));
  constexpr unsigned kThreads = 256;
  const std::span in(static_cast<const std::byte*>(x), count * static_cast<std::uint64_t>(e.from.bits) / 8);
  const std::span out(static_cast<std::byte*>(y), count * static_cast<std::uint64_t>(e.to.bits) / 8);
  const std::vector<ptx::Argument> arguments{in, out, ptx::value(count)};
  ptx::Launch how{.grid = {static_cast<unsigned>((count + kThreads - 1) / kThreads), 1, 1},
                  .block = {kThreads, 1, 1}};
  how.check_shared = how.check_global = false;
  how.execute.allow_inferred = allow_inferred;
  ptx::Report report = function.launch(how, arguments);
  if (report.fault) throw Refusal{report.fault->error};
  return report;
}

// ---- Arrays

As<"NDArray[Any]", py::array> applied(const Element& e, Arguments& arguments, const Numbers& x, Target target,
                                      bool allow_inferred) {
  const py::array from = dense(arguments.codes(x, "x", e.from.format));
  py::array out(unsigned_dtype(static_cast<std::size_t>(e.to.bits) / 8), shape_of(from));
  if (from.size() != 0)
    interruptible([&] {
      launched(e, target, from.data(), out.mutable_data(), static_cast<std::uint64_t>(from.size()),
               allow_inferred);
    });
  return as_format(out, e.to.format);
}

// The format that an array has by its dtype; f32 of lists and numbers.
std::string format_by_dtype(const Numbers& x, const std::string& where) {
  const std::optional<Items> items = items_in(x);
  if (!items) return "f32";
  if (items->format.empty())
    refuse(where, "x is " + seen_text(x),
           "an array whose dtype says its format: x.view(np.float16), x.astype(np.float32)");
  return items->format;
}

struct FunctionRow {
  const char* name;
  const char* opcode;  // with .approx
  std::string_view formats;
  const char* does;
};
constexpr FunctionRow kFunctions[] = {
    {"ex2", "ex2.approx", "f32 f16 bf16", "2^x"},
    {"lg2", "lg2.approx", "f32", "log2 x"},
    {"rcp", "rcp.approx", "f32 f64", "1 / x"},
    {"rsqrt", "rsqrt.approx", "f32 f64", "1 / sqrt(x)"},
    {"sqrt_approx", "sqrt.approx", "f32", "sqrt(x)"},
    {"sin", "sin.approx", "f32", "The sine of x, in radians,"},
    {"cos", "cos.approx", "f32", "The cosine of x, in radians,"},
    {"tanh", "tanh.approx", "f32 f16 bf16", "The hyperbolic tangent of x"},
};

Element function_of(const FunctionRow& row, const std::string& format, bool ftz) {
  const std::string where = row.name;
  if (std::string_view(row.formats).find(format) == std::string_view::npos)
    refuse(where, "x of " + format, "an array of " + std::string(row.formats));
  const Place& place = place_of(format, where, "x");
  // By the PTX manual these forms have .ftz always, and tanh never.
  const bool always = (format == "bf16" && where == "ex2") || (format == "f64" && where == "rcp");
  return plain(place, place,
               std::string(row.opcode) + (ftz || always ? ".ftz." : ".") + std::string(place.type));
}

Element conversion(const std::string& from_name, const std::string& to_name, const std::string& rounding,
                   bool satfinite, bool relu) {
  const std::string where = "cvt";
  const Place &from = place_of(from_name, where, "x"), &to = place_of(to_name, where, "the result");
  const std::string words = (rounding.empty() ? "" : "." + rounding) + (relu ? ".relu" : "");
  const std::string types = "." + std::string(to.type) + ".";
  if (is_pair(to)) {
    if (from.format == "f32")
      return to_pair(from, to, "cvt" + words + (satfinite ? ".satfinite" : "") + types + "f32");
    refuse(where, "x of " + from_name,
           "float32: " + to_name + " is made of two of them (x.astype(np.float32) is exact)");
  }
  if (is_pair(from))
    return from_pair(from, to, "cvt" + words + "." + std::string(to.type) + "x2." + std::string(from.type));
  return plain(from, to, "cvt" + words + (satfinite ? ".satfinite" : "") + types + std::string(from.type));
}

// What PTX asks for where nothing is said: .rn to what does not hold all numbers of the source.
std::string rounding_of(const std::string& from, const std::string& to,
                        const std::optional<std::string>& given) {
  if (given) return *given;
  if (to == "ue8m0") return "rp";
  if (to == "f64" || (to == "f32" && from != "f64")) return "";
  return to == "s32" ? "rni" : "rn";
}

}  // namespace

void add_functions(py::module_& m) {
  for (const FunctionRow& row : kFunctions)
    m.def(
        row.name,
        [&row](const Numbers& x, const TargetName& target, bool ftz, bool allow_inferred) {
          Arguments arguments{std::string(row.name)};
          return applied(function_of(row, format_by_dtype(x, row.name), ftz), arguments, x, target,
                         allow_inferred);
        },
        "x"_a, py::kw_only(), "target"_a, "ftz"_a = false, "allow_inferred"_a = true,
        (std::string(row.does) + " as a GPU's " + row.opcode +
         " has it, bit for bit, of every element.\n\nx: " + std::string(row.formats) +
         " by its dtype; lists and numbers are f32. The result has the same format. ftz: subnormals are zeros. With\n"
         "allow_inferred=False a function that rests on no result of that GPU is refused (see inferences). Errors: view_mismatch,\n"
         "inferred_plan; those of the instruction where the target does not have it.")
            .c_str());
  m.def(
      "cvt",
      [](const Numbers& x, const std::string& to, const TargetName& target,
         const std::optional<std::string>& rounding, const std::optional<bool>& satfinite, bool relu,
         bool allow_inferred) {
        const std::string from = format_by_dtype(x, "cvt"), name(value_of(find_format_info(to)).name);
        Arguments arguments{"cvt"};
        const bool saturates = satfinite.value_or(is_pair(place_of(name, "cvt", "the result")));
        return applied(conversion(from, name, rounding_of(from, name, rounding), saturates, relu), arguments, x,
                       target, allow_inferred);
      },
      "x"_a, "to"_a, py::kw_only(), "target"_a, "rounding"_a = py::none(), "satfinite"_a = py::none(),
      "relu"_a = false, "allow_inferred"_a = true,
      R"(An array converted by a GPU's cvt, bit for bit: cvt(x, "e4m3", target="H100").

x: its dtype says from what; lists and numbers are f32. rounding: the qualifier of PTX, "rn", "rz", "rna", "rp", ...; without it that
which the form has. A GPU's cvt to e4m3, e5m2, e2m1 and the like always saturates: what lies beyond the largest number becomes
that, where `encode` has NaN unless satfinite=True. The result is an array of the format's own dtype, or codes (see gemm).
Errors: view_mismatch; those of the instruction where the target does not have it.)");
  m.def(
      "inferences",
      [](const std::string& function, const TargetName& target, const std::string& format) {
        const auto* row = std::ranges::find(kFunctions, std::string_view(function),
                                            [](const FunctionRow& r) { return std::string_view(r.name); });
        if (row == std::end(kFunctions) && function != "cvt")
          refuse(Errc::usage, "inferences", "'" + function + "'",
                 "ex2, lg2, rcp, rsqrt, sqrt_approx, sin, cos, tanh or cvt");
        const std::string f(value_of(find_format_info(format)).name);
        const Element e = row != std::end(kFunctions)
                              ? function_of(*row, f, false)
                              : conversion("f32", f, rounding_of("f32", f, std::nullopt),
                                           is_pair(place_of(f, "inferences", "the format")), false);
        const std::uint64_t x = 0;
        std::uint64_t y = 0;
        return launched(e, target, &x, &y, 1, true).inferences;
      },
      "function"_a, "target"_a, "format"_a = "f32",
      R"(What of a function ("ex2", ..., or "cvt" from f32 to the format) rests on no result of the target's GPU: records as in a
LaunchReport; empty if a GPU of that target left its results, or the PTX manual defines every bit.)");
}

}  // namespace warpbit::python
