// SPDX-License-Identifier: Apache-2.0
// Operations of CuTe DSL (Python): "cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4)". Each is a row: how its
// form is made from its arguments, by name or place.
#include <fmt/format.h>

#include <algorithm>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

// The arguments of a call, as they are written. Those without a name have the next one of the operation's.
class Arguments {
 public:
  Arguments(std::string_view text, std::string_view names) {
    std::vector<std::string> order = words_of(names);
    std::size_t next = 0;
    for (const std::string& one : separated(text)) {
      const std::size_t equals = one.find('=');
      const bool has_name = equals != one.npos;
      if (!has_name && next == order.size()) break;
      values_.push_back({has_name ? bare(one.substr(0, equals)) : order[next++],
                         bare(has_name ? one.substr(equals + 1) : one)});
    }
  }

  std::string_view get(std::string_view name, std::string_view otherwise) const {
    const auto found = std::ranges::find(values_, name, &Value::name);
    return found == values_.end() || found->text.empty() ? otherwise : std::string_view(found->text);
  }
  std::string_view last_word(std::string_view name, std::string_view otherwise) const {
    const std::string_view text = get(name, otherwise);
    const std::size_t dot = text.rfind('.');
    return dot == text.npos ? text : text.substr(dot + 1);
  }
  bool is_true(std::string_view name) const { return get(name, "") == "True"; }
  // As PTX names it: "cutlass.Float16" -> "f16".
  std::string type(std::string_view name, std::string_view otherwise) const {
    const std::string found = element_type(last_word(name, ""));
    return found.empty() ? std::string(otherwise) : found;
  }
  // "(16, 8, 16)" -> "m16n8k16"
  std::string shape(std::string_view name, std::string_view otherwise) const {
    AskScanner in(get(name, otherwise));
    std::string out;
    for (const std::string_view letter : {"m", "n", "k"}) {
      while (in.take("(") || in.take(" ") || in.take(",") || in.take("[")) {
      }
      const auto number = in.take_number();
      if (!number) return letter == "m" ? "" : out + fmt::format("k{}", 16);
      out += fmt::format("{}{}", letter, *number);
    }
    return out;
  }

 private:
  struct Value {
    std::string name, text;
  };
  static std::string bare(std::string text) {
    while (text.starts_with(' ')) text.erase(0, 1);
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }
  // At commas outside of parentheses.
  static std::vector<std::string> separated(std::string_view text) {
    std::vector<std::string> out;
    int depth = 0;
    std::string one;
    for (const char c : text) {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c == ',' && depth == 0)
        out.push_back(std::exchange(one, ""));
      else
        one += c;
    }
    if (!bare(one).empty()) out.push_back(one);
    return out;
  }

  std::vector<Value> values_;
};

using MakeForm = std::string (*)(const Arguments&);

std::string_view group(const Arguments& a) {
  return a.last_word("cta_group", "ONE") == "TWO" ? "2" : "1";
}
std::string tensor_product(const Arguments& a, std::string_view kind) {
  return fmt::format("tcgen05.mma.cta_group::{}.{}", group(a), kind);
}
std::string tensor_move(const Arguments& a, std::string_view move, std::string_view shape) {
  const std::string_view packing = a.last_word("pack", "NONE") == "PACK_16b_IN_32b"       ? ".pack::16b"
                                   : a.last_word("unpack", "NONE") == "UNPACK_32b_IN_16b" ? ".unpack::16b"
                                                                                          : "";
  return fmt::format("tcgen05.{}.sync.aligned.{}.{}{}.b32", move, shape, a.last_word("repeat", "x1"), packing);
}
std::string tensor_copy(const Arguments& a, std::string_view shape) {
  return fmt::format("tcgen05.cp.cta_group::{}.{}", group(a), shape);
}

struct Operation {
  std::string_view name, arguments;
  MakeForm form;
};
constexpr std::string_view kProduct = "ab_dtype acc_dtype shape_mnk cta_group", kLoad = "repeat pack",
                           kStore = "repeat unpack", kCopy = "cta_group";
constexpr std::string_view kBulk = "cp.async.bulk.tensor.2d.";

// Those whose form depends on the namespace stand there once for each: it is a part of the name.
const Operation kOperations[] = {
    {"LdMatrix8x8x16bOp", "transpose num_matrices",
     [](const Arguments& a) {
       return fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", a.get("num_matrices", "1"),
                          a.is_true("transpose") ? ".trans" : "");
     }},
    {"LdMatrix16x16x8bOp", "num_matrices",
     [](const Arguments& a) {
       return fmt::format("ldmatrix.sync.aligned.m16n16.x{}.trans.shared.b8", a.get("num_matrices", "1"));
     }},
    {"StMatrix8x8x16bOp", "transpose num_matrices",
     [](const Arguments& a) {
       return fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16", a.get("num_matrices", "1"),
                          a.is_true("transpose") ? ".trans" : "");
     }},
    {"StMatrix16x8x8bOp", "num_matrices",
     [](const Arguments& a) {
       return fmt::format("stmatrix.sync.aligned.m16n8.x{}.trans.shared.b8", a.get("num_matrices", "1"));
     }},
    {"warpgroup.MmaF16BF16Op", "ab_dtype acc_dtype instruction_shape a_src",
     [](const Arguments& a) {
       const std::string type = a.type("ab_dtype", "f16");
       return fmt::format("wgmma.mma_async.sync.aligned.{}.{}.{}.{}",
                          a.shape("instruction_shape", "(64, 128, 16)"), a.type("acc_dtype", "f32"), type,
                          type);
     }},
    {"warpgroup.MmaF8Op", "a_dtype b_dtype acc_dtype instruction_shape a_src",
     [](const Arguments& a) {
       return fmt::format("wgmma.mma_async.sync.aligned.{}.{}.{}.{}",
                          a.shape("instruction_shape", "(64, 128, 32)"), a.type("acc_dtype", "f32"),
                          a.type("a_dtype", "e4m3"), a.type("b_dtype", "e4m3"));
     }},
    {"tcgen05.MmaF16BF16Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::f16"); }},
    {"warp.MmaMXF4NVF4Op", "ab_dtype acc_dtype sf_type",
     [](const Arguments&) {
       return std::string(
           "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32."
           "ue4m3");
     }},
    {"warp.MmaMXF4Op", "ab_dtype acc_dtype sf_type",
     [](const Arguments&) {
       return std::string(
           "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0");
     }},
    {"MmaF16BF16Op", "ab_dtype acc_dtype shape_mnk",
     [](const Arguments& a) {
       const std::string type = a.type("ab_dtype", "f16"), sum = a.type("acc_dtype", "f32");
       return fmt::format("mma.sync.aligned.{}.row.col.{}.{}.{}.{}", a.shape("shape_mnk", "(16, 8, 16)"), sum,
                          type, type, sum);
     }},
    {"MmaTF32Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::tf32"); }},
    {"MmaI8Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::i8"); }},
    {"MmaFP8Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::f8f6f4"); }},
    {"MmaF8F6F4Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::f8f6f4"); }},
    {"MmaMXF8Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::mxf8f6f4.block_scale"); }},
    {"MmaMXF8F6F4Op", kProduct,
     [](const Arguments& a) { return tensor_product(a, "kind::mxf8f6f4.block_scale"); }},
    {"MmaMXF4Op", kProduct, [](const Arguments& a) { return tensor_product(a, "kind::mxf4.block_scale"); }},
    {"MmaMXF4NVF4Op", kProduct,
     [](const Arguments& a) { return tensor_product(a, "kind::mxf4nvf4.block_scale.scale_vec::4X"); }},
    {"Ld16x64bOp", kLoad, [](const Arguments& a) { return tensor_move(a, "ld", "16x64b"); }},
    {"Ld16x128bOp", kLoad, [](const Arguments& a) { return tensor_move(a, "ld", "16x128b"); }},
    {"Ld16x256bOp", kLoad, [](const Arguments& a) { return tensor_move(a, "ld", "16x256b"); }},
    {"Ld16x32bx2Op", kLoad, [](const Arguments& a) { return tensor_move(a, "ld", "16x32bx2"); }},
    {"Ld32x32bOp", kLoad, [](const Arguments& a) { return tensor_move(a, "ld", "32x32b"); }},
    {"St16x64bOp", kStore, [](const Arguments& a) { return tensor_move(a, "st", "16x64b"); }},
    {"St16x128bOp", kStore, [](const Arguments& a) { return tensor_move(a, "st", "16x128b"); }},
    {"St16x256bOp", kStore, [](const Arguments& a) { return tensor_move(a, "st", "16x256b"); }},
    {"St16x32bx2Op", kStore, [](const Arguments& a) { return tensor_move(a, "st", "16x32bx2"); }},
    {"St32x32bOp", kStore, [](const Arguments& a) { return tensor_move(a, "st", "32x32b"); }},
    {"Cp128x256bOp", kCopy, [](const Arguments& a) { return tensor_copy(a, "128x256b"); }},
    {"Cp128x128bOp", kCopy, [](const Arguments& a) { return tensor_copy(a, "128x128b"); }},
    {"Cp4x256bOp", kCopy, [](const Arguments& a) { return tensor_copy(a, "4x256b"); }},
    {"Cp4x32x128bOp", kCopy, [](const Arguments& a) { return tensor_copy(a, "32x128b.warpx4"); }},
    {"Cp2x64x128b0213Op", kCopy, [](const Arguments& a) { return tensor_copy(a, "64x128b.warpx2::02_13"); }},
    {"Cp2x64x128b0123Op", kCopy, [](const Arguments& a) { return tensor_copy(a, "64x128b.warpx2::01_23"); }},
    {"CopyG2SOp", "", [](const Arguments&) { return std::string("cp.async.cg.shared.global"); }},
    {"CopyBulkTensorTileG2SOp", "",
     [](const Arguments&) {
       return fmt::format("{}shared::cluster.global.mbarrier::complete_tx::bytes", kBulk);
     }},
    {"CopyBulkTensorTileG2SMulticastOp", "",
     [](const Arguments&) {
       return fmt::format("{}shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster", kBulk);
     }},
    {"CopyBulkTensorTileS2GOp", "",
     [](const Arguments&) { return fmt::format("{}global.shared::cta.bulk_group", kBulk); }},
    {"CopyReduceBulkTensorTileS2GOp", "",
     [](const Arguments&) {
       return std::string("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group");
     }},
};

// Where a name stands as an identifier of its own, or behind a namespace.
std::size_t find_name(std::string_view text, std::string_view name) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return at;
  }
  return text.npos;
}

// What stands in the parentheses with which the text begins.
std::string_view in_parentheses(std::string_view text) {
  if (!text.starts_with('(')) return "";
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text.substr(1, i - 1);
  }
  return text.substr(1);
}

}  // namespace

AskReadings ask_operation(const AskedLine& line) {
  for (const Operation& operation : kOperations) {
    const std::size_t at = find_name(line.text, operation.name);
    if (at == line.text.npos) continue;
    const std::string_view arguments =
        in_parentheses(std::string_view(line.text).substr(at + operation.name.size()));
    const std::string form = operation.form(Arguments(arguments, operation.arguments));
    return {any_form_reading("atom", fmt::format("{} of CuTe DSL is", operation.name), form, line.targets)};
  }
  return {};
}

}  // namespace warpbit::cli
