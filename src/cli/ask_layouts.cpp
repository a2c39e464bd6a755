// SPDX-License-Identifier: Apache-2.0
// Layouts and swizzles in CuTe's notation: whose fragment it is, and which canonical layout of shared memory.
//
//     ((4,8),(2,2)):((16,1),(8,64))     lanes and values -> element of a matrix that is counted along its first mode
//     Swizzle<3,4,3>, Sw<3,4,3>         bits [4, 7) of an address ^= bits [7, 10)
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/ask.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::cli {
namespace {

// ---- Notation

// A digit that counts to `size`, and the step of each unit.
struct Mode {
  std::int64_t size, stride;
  friend bool operator==(const Mode&, const Mode&) = default;
};
using Modes = std::vector<Mode>;

// "(4,8)", "_4", "8": the numbers of it, in order.
bool take_numbers(AskScanner& in, std::vector<int>& out, int depth = 0) {
  constexpr int kDeepest = 8;
  in.skip_blanks();
  if (in.take("(")) {
    if (depth == kDeepest) return false;
    do
      if (!take_numbers(in, out, depth + 1)) return false;
    while (in.skip_blanks(), in.take(","));
    return in.skip_blanks(), in.take(")");
  }
  in.take("_");
  const auto number = in.take_number();
  if (number) out.push_back(*number);
  return number.has_value();
}

// The top modes of "((4,8),(2,2))": the numbers of each.
std::optional<std::vector<std::vector<int>>> take_tuple(AskScanner& in) {
  std::vector<std::vector<int>> out;
  in.skip_blanks();
  if (!in.take("(")) return std::nullopt;
  do
    if (!take_numbers(in, out.emplace_back())) return std::nullopt;
  while (in.skip_blanks(), in.take(","));
  return in.skip_blanks(), in.take(")") ? std::optional(out) : std::nullopt;
}

// Without modes of size 1, and neighbours that count on as one.
Modes coalesced(const Modes& modes) {
  Modes out;
  for (const Mode& mode : modes)
    if (mode.size == 1)
      continue;
    else if (!out.empty() && mode.stride == out.back().size * out.back().stride)
      out.back().size *= mode.size;
    else
      out.push_back(mode);
  return out;
}

std::optional<std::vector<Modes>> read_layout(std::string_view text) {
  AskScanner in(text);
  const auto shape = take_tuple(in);
  in.skip_blanks();
  if (!shape || !in.take(":")) return std::nullopt;
  const auto stride = take_tuple(in);
  in.skip_blanks();
  if (!stride || !in.is_done() || shape->size() != stride->size()) return std::nullopt;
  std::vector<Modes> out;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i].size() != (*stride)[i].size()) return std::nullopt;
    Modes modes;
    for (std::size_t j = 0; j < (*shape)[i].size(); ++j) {
      if ((*shape)[i][j] == 0) return std::nullopt;
      modes.push_back({(*shape)[i][j], (*stride)[i][j]});
    }
    out.push_back(coalesced(modes));
  }
  return out;
}

std::int64_t size_of(const Modes& modes) {
  std::int64_t out = 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (const Mode& mode : modes) out = std::min(out * mode.size, kMost);
  return out;
}

// ---- Fragments

struct Fragment {
  std::string form, role, domain;
  int bits;  // of an element
};

// The fragments of products that have this layout. Forms of one shape and width of elements have the same ones.
std::vector<Fragment> fragments_of(const std::vector<Modes>& asked) {
  std::vector<Fragment> out;
  std::set<std::string> seen;
  const std::int64_t lanes = size_of(asked[0]), elements = lanes * size_of(asked[1]);
  const std::string_view opcode = lanes == 128 ? "wgmma.mma_async.sync" : "mma.sync";
  for (const FormInfo& info : all_forms()) {
    if (!info.canonical.starts_with(opcode)) continue;
    const Result<Instruction> i = parse_on_newest(info.canonical);
    if (!i) continue;
    for (const Operand& operand : i->operands()) {
      const bool is_matrix = operand.role == "a" || operand.role == "b" || operand.role == "d";
      const std::int64_t count = std::int64_t{operand.fragment.rows()} * operand.fragment.columns();
      if (!is_matrix || operand.kind == OperandKind::descriptor || count != elements ||
          !seen.insert(fmt::format("{} {} {} {} {}", i->rows(), i->columns(), i->depth(), operand.element_bits,
                                   operand.role))
               .second)
        continue;
      LayoutOptions options;
      options.operand = operand.role;
      const Result<Layout> known = layout(*i, options);
      if (!known || known->operands.empty()) continue;
      const OperandLayout& of = known->operands.front();
      if (!of.cute.empty() && read_layout(of.cute) == asked)
        out.push_back({info.canonical, of.role, of.cute_domain, of.element_bits});
    }
  }
  std::ranges::stable_sort(out, {}, [](const Fragment& one) { return one.bits == 16 ? 0 : 1; });
  return out;
}

std::string_view role_words(std::string_view role) {
  return role == "a" ? "A" : role == "b" ? "B" : "C and D";
}

AskReading fragment_reading(const std::string& text, const std::vector<Fragment>& found,
                            const std::vector<Target>& targets) {
  const Fragment& first = found.front();
  AskReading out{"layout", fmt::format("{} is the fragment of {} of {}: {}", text, role_words(first.role),
                                       first.form, first.domain)};
  if (const Result<AskReading> form = form_reading("layout", first.form, targets)) {
    out.form = form->form;
    out.target = form->target;
  }
  out.views.push_back({"layout",
                       "Where the elements lie",
                       {{"layout", first.form, "--operand", first.role, "--json"},
                        {"layout", first.form, "--operand", first.role, "--lanes"}}});
  if (found.size() > 1 && (found[1].role != first.role || found[1].domain != first.domain))
    out.understood += fmt::format(". It is also that of {} of {}: {}", role_words(found[1].role), found[1].form,
                                  found[1].domain);
  constexpr std::size_t kMost = 6;
  for (std::size_t i = 1; i < found.size() && i < kMost; ++i)
    out.suggestions.push_back(
        {found[i].form, fmt::format("{} of it, {}, have it, too", role_words(found[i].role), found[i].domain)});
  return out;
}

AskReading plain_reading(const std::string& text, const std::vector<Modes>& layout) {
  std::vector<std::int64_t> sizes;
  std::int64_t last = 0;
  for (const Modes& modes : layout) {
    sizes.push_back(size_of(modes));
    for (const Mode& mode : modes) last += (mode.size - 1) * mode.stride;
  }
  return {"layout",
          fmt::format(
              "{} is a layout of CuTe: {} elements at offsets from 0 to {}. No fragment of mma or wgmma has it",
              text, fmt::join(sizes, " x "), last)};
}

// ---- Swizzles

// PTX manual, "Swizzling Modes": 16 bytes stay together, and 2, 4 or 8 of such chunks change places by the number of their row.
struct SwizzleMode {
  int bits;
  std::string_view bytes;  // of its span
};
constexpr SwizzleMode kSwizzleModes[] = {{0, "none"}, {1, "32"}, {2, "64"}, {3, "128"}};

AskReading swizzle_reading(int bits, int base, int shift) {
  const std::string name = fmt::format("Swizzle<{},{},{}>", bits, base, shift);
  AskReading out{"layout", fmt::format("{}: bits [{}, {}) of an offset ^= bits [{}, {})", name, base,
                                       base + bits, base + shift, base + shift + bits)};
  const auto mode = std::ranges::find(kSwizzleModes, bits, &SwizzleMode::bits);
  const bool is_of_hardware = shift == 3 && base >= 2 && base <= 5 && mode != std::end(kSwizzleModes);
  if (!is_of_hardware) {
    out.understood += "; no swizzling mode of wgmma, tcgen05 or tensor maps";
    return out;
  }
  const std::string unit = base == 4   ? "bytes"
                           : base == 3 ? "elements of 16 bits"
                           : base == 2 ? "elements of 32 bits"
                                       : "elements of 4 bits";
  out.understood += fmt::format(
      ". With offsets in {} it is {} of wgmma, tcgen05 and tensor maps", unit,
      bits == 0 ? "no swizzle, the mode 'interleaved'," : fmt::format("the {}-byte swizzle", mode->bytes));
  constexpr std::string_view kForm = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16";
  out.form = kForm;
  out.views.push_back(
      {"layout",
       "Where it puts the elements of B of a wgmma of f16",
       {{"layout", std::string(kForm), "--operand", "b", "--swizzle", std::string(mode->bytes), "--json"}}});
  return out;
}

// "<3,4,3>" and what stands behind it.
std::optional<AskReading> swizzle_behind(AskScanner in) {
  if (in.take_one({"<", "("}).empty()) return std::nullopt;
  int numbers[3];
  for (int& number : numbers) {
    in.skip_blanks();
    const auto found = in.take_number();
    if (!found || *found > 16 || (&number != &numbers[2] && !in.take(","))) return std::nullopt;
    number = *found;
  }
  if (in.take_one({">", ")"}).empty()) return std::nullopt;
  in.take("{}");
  in.skip_blanks();
  return swizzle_reading(numbers[0], numbers[1], numbers[2]);
}

// Names that mean swizzles of so many bytes.
struct SwizzleName {
  std::string_view begin, end;
};
constexpr SwizzleName kSwizzleNames[] = {{"CU_TENSOR_MAP_SWIZZLE_", ""},
                                         {"Layout_K_", "_Atom"},
                                         {"Layout_MN_", "_Atom"},
                                         {"swizzlingByteWidth = ", ""}};
constexpr std::pair<std::string_view, int> kSwizzleWords[] = {
    {"NONE", 0}, {"INTERLEAVE", 0}, {"INTER", 0}, {"SW128", 3}, {"SW64", 2}, {"SW32", 1}, {"128B", 3},
    {"64B", 2},  {"32B", 1},        {"128", 3},   {"64", 2},    {"32", 1},   {"0", 0}};

std::optional<AskReading> read_swizzle(const std::string& text) {
  for (const std::string_view name : {"Swizzle", "Sw", "make_swizzle", "S"})
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      const bool is_inside = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]));
      if (is_inside) continue;
      if (auto out = swizzle_behind(AskScanner(std::string_view(text).substr(at + name.size())))) return out;
    }
  for (const auto& [begin, end] : kSwizzleNames)
    if (const std::size_t at = text.find(begin); at != text.npos)
      for (const auto& [word, bits] : kSwizzleWords) {
        AskScanner in(std::string_view(text).substr(at + begin.size()));
        if (in.take(word) && in.take(end)) return swizzle_reading(bits, 4, 3);
      }
  return std::nullopt;
}

// C++'s "Layout<Shape<Shape<_4,_8>,_2>, Stride<Stride<_32,_1>,_16>>" as CuTe prints it.
std::string as_printed(const std::string& text) {
  const std::size_t shape = text.find("Shape");
  const std::size_t layout = text.rfind("Layout", shape);
  if (shape == text.npos || layout == text.npos) return text;
  std::string bare;
  for (const char c : text.substr(shape))
    if (c != ' ') bare += c;
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    for (const std::string_view name : {"Shape", "Stride"})
      if (bare.compare(i, name.size(), name) == 0) i += name.size();
    depth += bare[i] == '<' ? 1 : bare[i] == '>' ? -1 : 0;
    if (depth < 0) break;  // of the layout
    out += bare[i] == '<' ? '(' : bare[i] == '>' ? ')' : bare[i] == ',' && depth == 0 ? ':' : bare[i];
  }
  return out;
}

// Behind "LayoutA_TV: " and "sA = ".
std::string without_name(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == text.npos || open == 0) return text;
  std::string before = text.substr(0, open);
  while (before.ends_with(' ')) before.pop_back();
  return before.ends_with(':') || before.ends_with('=') ? text.substr(open) : text;
}

}  // namespace

AskReadings ask_layout(const AskedLine& line) {
  if (const auto swizzle = read_swizzle(line.text)) return {*swizzle};
  std::string text = without_name(as_printed(line.text));
  while (text.ends_with(';') || text.ends_with(',') || text.ends_with(' ')) text.pop_back();
  const auto layout = read_layout(text);
  if (!layout) return {};
  if (layout->size() == 2)
    if (const std::vector<Fragment> found = fragments_of(*layout); !found.empty())
      return {fragment_reading(text, found, line.targets)};
  return {plain_reading(text, *layout)};
}

}  // namespace warpbit::cli
