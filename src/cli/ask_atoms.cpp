// SPDX-License-Identifier: Apache-2.0
// Names of CuTe's and CUTLASS's atoms, by rule, and those of fragments of wmma in C++. A name is taken apart; whether the form
// that it says exists, the library's tables say.
//
//     SM80 _ 16x8x16 _ F32 F16 F16 F32 _ TN      mma.sync   .m16n8k16 .row.col .f32 .f16 .f16 .f32
//     SM90 _ 64x128x16 _ F32 BF16 BF16 _ SS      wgmma      .m64n128k16 .f32 .bf16 .bf16, A and B by descriptors
//     SM75 _ U32x4 _ LDSM _ N                    ldmatrix   .m8n8 .x4 .b16;  U16x8 _ LDSM _ T  .m8n8 .x4 .trans .b16
//     SM100 _ MMA _ F16BF16 _ 2x1SM _ SS         tcgen05    .mma .cta_group::2 .kind::f16
#include <fmt/format.h>

#include <algorithm>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

// What a name stands for.
struct Atom {
  std::string form;
  std::string statement = {};  // if the operands' kinds are said
  std::string said = {};       // what is left to say of it
};

// A name and its template arguments.
struct AtomName {
  std::string name;
  std::vector<std::string> arguments;  // without namespaces

  // One that says an element type, as PTX names it.
  std::string type(std::size_t i, std::string_view otherwise) const;
};

// ---- Words

struct TypeWord {
  std::string_view seen, meant;
};
// In names of atoms; longer ones first where one begins like another.
constexpr TypeWord kAtomTypes[] = {{"TF32", "tf32"}, {"BF16", "bf16"}, {"F16", "f16"},     {"F32", "f32"},
                                   {"F64", "f64"},   {"S32", "s32"},   {"S8", "s8"},       {"U8", "u8"},
                                   {"S4", "s4"},     {"U4", "u4"},     {"U1", "b1"},       {"B1", "b1"},
                                   {"E4M3", "e4m3"}, {"E5M2", "e5m2"}, {"C64", "complex"}, {"GC64", "complex"}};
std::string AtomName::type(std::size_t i, std::string_view otherwise) const {
  return i < arguments.size() && !element_type(arguments[i]).empty() ? element_type(arguments[i])
                                                                     : std::string(otherwise);
}

// "F32F16F16F32" up to '_' or the end; empty if a part is no type.
std::vector<std::string> take_types(AskScanner& in) {
  std::vector<std::string> out;
  while (!in.is_done() && !in.rest().starts_with('_')) {
    const auto type = std::ranges::find_if(
        kAtomTypes, [&](const TypeWord& word) { return in.rest().starts_with(word.seen); });
    if (type == std::end(kAtomTypes)) return {};
    in.take(type->seen);
    out.emplace_back(type->meant);
  }
  return out;
}

// "16x8x16" -> "m16n8k16"
std::string take_shape(AskScanner& in) {
  const auto m = in.take_number();
  const bool is_first = m && in.take("x");
  const auto n = is_first ? in.take_number() : std::nullopt;
  const auto k = n && in.take("x") ? in.take_number() : std::nullopt;
  return k ? fmt::format("m{}n{}k{}", *m, *n, *k) : "";
}

// ---- The rules. Each gets the name behind SMxx_ and returns nothing if it is not of its kind.

using AtomRule = std::optional<Atom> (*)(AskScanner&, const AtomName&);

std::optional<Atom> warp_product(AskScanner& in, const AtomName&) {
  const std::string shape = take_shape(in);
  if (shape.empty() || !in.take("_")) return std::nullopt;
  const std::vector<std::string> types = take_types(in);
  if (types.size() != 4 || !in.take("_")) return std::nullopt;
  const std::string_view layouts = in.take_one({"TN", "NT", "NN", "TT"});
  if (layouts.empty()) return std::nullopt;
  // T is K contiguous for A and N contiguous for B: its rows.
  const std::string_view a = layouts[0] == 'T' ? "row" : "col", b = layouts[1] == 'N' ? "col" : "row";
  if (std::ranges::find(types, "complex") != types.end())
    return Atom{fmt::format("mma.sync.aligned.{}.{}.{}.f64.f64.f64.f64", shape, a, b), "",
                "CuTe composes the product of complex numbers of several of these"};
  const bool saturates = in.take("_SATURATE");
  std::string end = in.take("_XORPOPC") ? ".xor.popc" : in.take("_ANDPOPC") ? ".and.popc" : "";
  if (types[1] == "b1" && end.empty()) end = ".xor.popc";
  return Atom{fmt::format("mma.sync.aligned.{}.{}.{}{}.{}.{}.{}.{}{}", shape, a, b,
                          saturates ? ".satfinite" : "", types[0], types[1], types[2], types[3], end)};
}

// The operands of a wgmma with both factors in shared memory.
std::string shared_operands(const std::string& a, bool is_sparse, const AtomName& name) {
  const auto is_mn = [&](std::size_t i) {
    return i < name.arguments.size() && (name.arguments[i] == "MN" || name.arguments[i] == "Major::MN") ? 1 : 0;
  };
  const std::string metadata = is_sparse ? ", e, 0" : "";
  if (a == "f16" || a == "bf16")
    return fmt::format(" {{d}}, a_desc, b_desc{}, p, 1, 1, {}, {};", metadata, is_mn(0), is_mn(1));
  const bool is_integer = a == "s8" || a == "u8" || a == "b1";
  return fmt::format(" {{d}}, a_desc, b_desc{}, p{};", metadata, is_integer ? "" : ", 1, 1");
}

std::optional<Atom> warpgroup_product(AskScanner& in, const AtomName& name) {
  const bool is_sparse = name.name.find("SPARSE") != std::string::npos;
  for (const std::string_view word : {"GMMA_", "SPARSE_", "GMMA_", "MMA_"}) in.take(word);
  const std::string shape = take_shape(in);
  if (!shape.starts_with("m64") || !in.take("_")) return std::nullopt;
  const std::vector<std::string> types = take_types(in);
  if (types.size() != 3 || !in.take("_")) return std::nullopt;
  const std::string_view sources = in.take_one({"SS", "RS"});
  if (sources.empty()) return std::nullopt;
  in.take("_TN");
  const bool saturates = in.take("_SATURATE");
  const std::string form = fmt::format("wgmma.mma_async{}.sync.aligned.{}{}.{}.{}.{}{}", is_sparse ? ".sp" : "",
                                       shape, saturates ? ".satfinite" : "", types[0], types[1], types[2],
                                       types[1] == "b1" ? ".and.popc" : "");
  if (sources == "RS") return Atom{form, "", "A in registers, B in shared memory"};
  return Atom{form, form + shared_operands(types[1], is_sparse, name), "A and B in shared memory"};
}

std::optional<Atom> matrix_move(AskScanner& in, const AtomName&) {
  const std::string_view unit = in.take_one({"U32x", "U16x", "U8x", "SU4_DU8x16_x", "SU6_DU8x16_x"});
  const auto count = unit.empty() ? std::nullopt : in.take_number();
  if (!count || !in.take("_")) return std::nullopt;
  const std::string_view move = in.take_one({"LDSM_", "STSM_"}), layout = in.take_one({"N", "T"});
  if (move.empty() || layout.empty()) return std::nullopt;
  const bool is_load = move == "LDSM_";
  const std::string begin = is_load ? "ldmatrix.sync.aligned" : "stmatrix.sync.aligned";
  if (unit == "U8x" && is_load) return Atom{fmt::format("{}.m16n16.x{}.trans.shared.b8", begin, *count / 8)};
  if (unit == "U8x") return Atom{fmt::format("{}.m16n8.x{}.trans.shared.b8", begin, *count / 4)};
  if (unit.starts_with('S'))
    return Atom{
        fmt::format("{}.m8n16.x{}.shared.b8x16.{}", begin, *count, unit[2] == '4' ? "b4x16_p64" : "b6x16_p32")};
  const int matrices = unit == "U16x" ? *count / 2 : *count;
  return Atom{fmt::format("{}.m8n8.x{}{}.shared.b16", begin, matrices, layout == "T" ? ".trans" : "")};
}

// The kinds of tcgen05.mma, as in names of atoms.
struct AtomKind {
  std::string_view name, qualifiers;
};
constexpr AtomKind kAtomKinds[] = {{"F16BF16", "kind::f16"},
                                   {"TF32", "kind::tf32"},
                                   {"F8F6F4", "kind::f8f6f4"},
                                   {"S8", "kind::i8"},
                                   {"MXF8F6F4", "kind::mxf8f6f4.block_scale"},
                                   {"MXF4NVF4", "kind::mxf4nvf4.block_scale.scale_vec::4X"},
                                   {"NVF4", "kind::mxf4nvf4.block_scale.scale_vec::4X"},
                                   {"MXF4", "kind::mxf4.block_scale"}};

std::optional<Atom> tensor_product(AskScanner& in, const AtomName& name) {
  if (!in.take("MMA_")) return std::nullopt;
  const std::string_view known = up_to(in.rest(), "_");
  const auto kind = std::ranges::find(kAtomKinds, known, &AtomKind::name);
  if (kind == std::end(kAtomKinds)) return std::nullopt;
  in.take(known);
  const auto says = [&](std::string_view word) { return in.rest().find(word) != std::string_view::npos; };
  // Of MXF4 blocks of 16 are those of nvfp4.
  const bool has_blocks_of_16 =
      known == "MXF4" && std::ranges::find(name.arguments, "16") != name.arguments.end();
  return Atom{
      fmt::format("tcgen05.mma{}{}.cta_group::{}.{}", says("_WS") ? ".ws" : "", says("_SPARSE") ? ".sp" : "",
                  says("2x1SM") ? 2 : 1, has_blocks_of_16 ? kAtomKinds[5].qualifiers : kind->qualifiers),
      "", says("_TS") ? "A in tensor memory" : ""};
}

// SM120_16x8x32_TN<a, b, c>, _TN_VS<a, b, c, scale, block>, and sparse ones.
std::optional<Atom> typed_product(AskScanner& in, const AtomName& name) {
  const bool is_sparse = in.take("SPARSE_");
  const std::string shape = take_shape(in);
  if (shape.empty() || !in.take("_TN")) return std::nullopt;
  const bool is_scaled = in.take("_VS");
  const bool is_packed = shape.ends_with(is_sparse ? "k128" : "k64");
  const std::string_view usual = is_packed ? "e2m1" : "e4m3";
  const std::string a = name.type(0, usual), b = name.type(1, usual), c = name.type(2, "f32");
  const std::string_view small = is_sparse ? "32" : "16";
  const bool has_small_blocks =
      name.arguments.empty() || std::ranges::find(name.arguments, small) != name.arguments.end();
  const std::string kind = !is_scaled         ? "kind::f8f6f4"
                           : !is_packed       ? "kind::mxf8f6f4.block_scale.scale_vec::1X"
                           : has_small_blocks ? "kind::mxf4nvf4.block_scale.scale_vec::4X"
                                              : "kind::mxf4nvf4.block_scale.scale_vec::2X";
  const std::string scale = !is_scaled ? "" : is_packed && has_small_blocks ? ".ue4m3" : ".ue8m0";
  return Atom{fmt::format("mma{}.sync.aligned.{}.row.col.{}.{}.{}.{}.{}{}",
                          is_sparse ? ".sp::ordered_metadata" : "", shape, kind, c, a, b, c, scale),
              "", name.arguments.empty() ? "its types are template arguments; common ones are taken" : ""};
}

std::optional<Atom> tensor_move(AskScanner& in, const AtomName&) {
  if (!in.take("TMEM_")) return std::nullopt;
  const std::string_view move = in.take_one({"LOAD_", "STORE_"});
  const auto lanes = in.take_number();
  const auto bits = lanes && in.take("dp") ? in.take_number() : std::nullopt;
  const auto count = bits && in.take("b") ? in.take_number() : std::nullopt;
  if (move.empty() || !count || !in.take("x")) return std::nullopt;
  const bool is_load = move == "LOAD_";
  const std::string_view packing = !in.take("_16b") ? "" : is_load ? ".pack::16b" : ".unpack::16b";
  const std::string shape = fmt::format("{}x{}b{}", *lanes, *bits, *lanes == 16 && *bits == 32 ? "x2" : "");
  return Atom{
      fmt::format("tcgen05.{}.sync.aligned.{}.x{}{}.b32", is_load ? "ld" : "st", shape, *count, packing)};
}

struct CopyShape {
  std::string_view name, qualifiers;
};
constexpr CopyShape kCopyShapes[] = {{"128dp256bit", "128x256b"},
                                     {"128dp128bit", "128x128b"},
                                     {"4dp256bit", "4x256b"},
                                     {"4x32dp128bit", "32x128b.warpx4"},
                                     {"2x64dp128bitlw0213", "64x128b.warpx2::02_13"},
                                     {"2x64dp128bitlw0123", "64x128b.warpx2::01_23"}};

std::optional<Atom> tensor_copy(AskScanner& in, const AtomName&) {
  if (!in.take("UTCCP_")) return std::nullopt;
  const auto shape = std::ranges::find(kCopyShapes, up_to(in.rest(), "_"), &CopyShape::name);
  if (shape == std::end(kCopyShapes)) return std::nullopt;
  in.take(shape->name);
  return Atom{
      fmt::format("tcgen05.cp.cta_group::{}.{}", in.rest().ends_with("2cta") ? 2 : 1, shape->qualifiers)};
}

constexpr AtomRule kAtomRules[] = {warpgroup_product, warp_product, matrix_move, tensor_product,
                                   typed_product,     tensor_move,  tensor_copy};

// Names that no rule covers, by their beginning.
struct AtomNote {
  std::string_view begin, said;
};
constexpr AtomNote kAtomNotes[] = {
    {"SM61_", "an instruction of integer units: four products of bytes in a thread, no matrices"},
    {"SM90_TMA", "a copy by a tensor map, which warpbit tensormap reads"},
    {"SM100_TMA", "a copy by a tensor map, which warpbit tensormap reads"},
    {"SM80_CP_ASYNC", "an asynchronous copy of up to 16 bytes of a thread to shared memory"},
    {"SM90_BULK", "a copy of bytes, which knows no elements"},
    {"SM100_2x1x1", "an instruction of a thread on pairs of f32, no matrices"},
};

// ---- Finding names

// "cute::GMMA::Major::K" -> "K"
std::string without_namespaces(std::string_view text) {
  const std::size_t colons = text.rfind("::");
  std::string out(colons == text.npos ? text : text.substr(colons + 2));
  const std::size_t first = std::min(out.find_first_not_of(' '), out.size());
  out.erase(0, first);
  while (out.ends_with(' ') || out.ends_with('}') || out.ends_with('{')) out.pop_back();
  return out;
}

// What stands between '<', with which the text begins, and its '>'; or between that and the end.
std::vector<std::string> template_arguments(std::string_view text) {
  std::vector<std::string> out;
  if (!text.starts_with('<')) return out;
  text = up_to(text.substr(1), ">");
  while (!text.empty()) {
    const std::string_view argument = up_to(text, ",");
    out.push_back(without_namespaces(argument));
    text.remove_prefix(std::min(text.size(), argument.size() + 1));
  }
  return out;
}

// "... SM90::GMMA::SPARSE::GMMA_64x8x16_..." or "... SM80_16x8x16_...<...>": the names joined by '_'.
std::optional<AtomName> find_atom(const std::string& text) {
  for (std::size_t at = text.find("SM"); at != text.npos; at = text.find("SM", at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_')) continue;
    std::size_t end = at + 2;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == at + 2 || end >= text.size() || (text[end] != '_' && text[end] != ':')) continue;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == ':'))
      ++end;
    std::string name = text.substr(at, end - at);
    for (std::size_t colons = name.find("::"); colons != name.npos; colons = name.find("::"))
      name.replace(colons, 2, "_");
    return AtomName{name, template_arguments(std::string_view(text).substr(end))};
  }
  return std::nullopt;
}

// "MMA_64x256x16_F16F16F16_SS", of which the namespaces that say SM90 are left out.
std::optional<AtomName> find_bare_atom(const std::string& text) {
  const std::size_t at = text.find("MMA_64x");
  if (at == text.npos) return std::nullopt;
  return find_atom((text[at == 0 ? 0 : at - 1] == 'G' ? "SM90_G" : "SM90_") + text.substr(at));
}

// The name behind "SM80_", and behind namespaces.
AskScanner behind_target(std::string_view name) {
  for (std::size_t at = name.rfind("_SM"); at != name.npos && at > 0; at = name.rfind("_SM", at - 1)) {
    AskScanner in(name.substr(at));
    in.take("_SM");
    if (in.take_number() && in.take("_")) return in;
  }
  AskScanner out(name);
  out.take("SM");
  out.take_number();
  out.take("_");
  return out;
}

std::vector<Target> targets_of_atom(const AskedLine& line, std::string_view name) {
  if (!line.targets.empty()) return line.targets;
  AskScanner in(name);
  in.take("SM");
  const auto number = in.take_number();
  for (const std::string_view end : {"a", ""})
    if (const auto target = Target::find_ptx(fmt::format("sm_{}{}", number.value_or(0), end))) return {*target};
  return {};
}

AskReadings atom_reading(const Atom& atom, const std::string& name, const std::vector<Target>& targets) {
  Result<AskReading> out = form_reading("atom", atom.form, targets, atom.statement);
  if (!out && !atom.statement.empty()) out = form_reading("atom", atom.form, targets);
  if (!out) {
    AskReading none = no_form(atom.form, out.error(), targets);
    none.understood = fmt::format("{} would be {}: {}", name, atom.form, none.understood);
    return {none};
  }
  out->understood = fmt::format("{} is {}, {}{}{}", name, atom.form, out->understood,
                                atom.said.empty() ? "" : "; ", atom.said);
  return {*out};
}

// ---- Fragments of wmma: fragment<matrix_a, 16, 16, 16, half, row_major>

// m8n8k32 is there for the types of less than 8 bits alone, and 16x16x8 for tf32.
std::optional<Atom> wmma_fragment(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5) return std::nullopt;
  const std::string& use = arguments[0];
  const std::string operand = use == "matrix_a"      ? "a"
                              : use == "matrix_b"    ? "b"
                              : use == "accumulator" ? "c"
                                                     : "";
  const std::string type = element_type(arguments[4]);
  if (operand.empty() || type.empty()) return std::nullopt;
  const bool is_column = arguments.size() > 5 && arguments[5] == "col_major";
  return Atom{fmt::format("wmma.load.{}.sync.aligned.{}.m{}n{}k{}.{}", operand, is_column ? "col" : "row",
                          arguments[1], arguments[2], arguments[3], type)};
}

}  // namespace

AskReadings ask_atom(const AskedLine& line) {
  std::optional<AtomName> name = find_atom(line.text);
  if (!name) name = find_bare_atom(line.text);
  if (!name) return {};
  const std::vector<Target> targets = targets_of_atom(line, name->name);
  for (const AtomRule rule : kAtomRules) {
    AskScanner in = behind_target(name->name);
    const std::optional<Atom> atom = rule(in, *name);
    if (atom && (in.is_done() || in.rest().starts_with('_'))) return atom_reading(*atom, name->name, targets);
  }
  if (AskReadings named = ask_name(line); !named.empty()) return named;
  for (const auto& [begin, said] : kAtomNotes)
    if (name->name.starts_with(begin)) return {{"atom", fmt::format("{} is {}", name->name, said)}};
  AskReading out{
      "error",
      fmt::format("{} looks like an atom of CuTe, but it says no shape and types that are known", name->name)};
  out.suggestions = {{"SM80_16x8x16_F32F16F16F32_TN", "a name of mma"},
                     {"SM90_64x128x16_F32BF16BF16_SS", "a name of wgmma"},
                     {"SM75_U32x4_LDSM_N", "a name of ldmatrix"},
                     {"SM100_MMA_F16BF16_SS", "a name of tcgen05.mma"}};
  return {out};
}

AskReadings ask_fragment(const AskedLine& line) {
  const std::size_t at = line.text.find("fragment");
  const std::size_t open = at == line.text.npos ? at : line.text.find('<', at);
  std::optional<Atom> atom;
  if (open != line.text.npos)
    atom = wmma_fragment(template_arguments(std::string_view(line.text).substr(open)));
  const std::string name(up_to(line.text, ";"));
  return atom ? atom_reading(*atom, name, line.targets) : AskReadings{};
}

}  // namespace warpbit::cli
