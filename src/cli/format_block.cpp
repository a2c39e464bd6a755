// SPDX-License-Identifier: Apache-2.0
#include "cli/format_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

using Json = nlohmann::ordered_json;

ExplainedCode largest(std::string_view format) {
  std::uint64_t code = 0;
  for (const Landmark& l : required(landmarks(format)))
    if (l.name == "largest") code = l.code;
  return required(explain_code(format, code));
}

std::string largest_of(std::string_view format) {
  return largest(format).decimal;
}

std::string hex_code(std::string_view format, std::uint64_t code) {
  return fmt::format("{:#0{}x}", code, 2 + (required(find_format_info(format)).bits + 3) / 4);
}

std::string decimal_of(std::string_view format, std::uint64_t code) {
  return required(explain_code(format, code)).decimal;
}

// "1.75 x 2^8" -> "8"
std::string exponent_of_largest(const BlockFormat& b) {
  const std::string power = largest(b.element).power;
  return power.substr(power.find('^') + 1);
}

// "amax / 6", "2^(floor(log2 amax) - 8)"
std::string scale_rule(const BlockFormat& b) {
  return b.rule == ScaleRule::quotient
             ? fmt::format("amax / {}, to nearest even, at most {}", largest_of(b.element), largest_of(b.scale))
             : fmt::format("2^(floor(log2 amax) - {})", exponent_of_largest(b));
}

std::string bits_per_element(const BlockFormat& b) {
  const int element = required(find_format_info(b.element)).bits,
            scale = required(find_format_info(b.scale)).bits;
  return fmt::format("{:g}", element + static_cast<double>(scale) / b.block);
}

Json description_json(const BlockFormat& b) {
  return {{"format", b.name},      {"element", b.element},        {"scale", b.scale},
          {"block", b.block},      {"scale_rule", scale_rule(b)}, {"tensor_scale", b.tensor_scale},
          {"defined_in", b.source}};
}

void print_description(const BlockFormat& b) {
  const auto line = [](std::string_view label, const std::string& text) {
    print_fitted(fmt::format("  {:<11}{}", label, text));
  };
  fmt::print("{}\n", b.name);
  line("element", fmt::format("{}, at most {}", b.element, largest_of(b.element)));
  line("block",
       fmt::format("{} elements share a scale factor; {} bits an element", b.block, bits_per_element(b)));
  line("scale",
       fmt::format("{}: {}, where amax is the largest magnitude in the block", b.scale, scale_rule(b)));
  line("code", fmt::format("number / scale, to nearest even, at most {}", largest_of(b.element)));
  if (!b.tensor_scale.empty()) line("tensor", std::string(b.tensor_scale));
  line("defined in", std::string(b.source));
}

std::string unrounded_scale(const BlockFormat& b, const QuantizedBlock& block) {
  return b.rule == ScaleRule::quotient
             ? fmt::format("{} / {} = {}", block.amax, largest_of(b.element), block.unrounded_scale)
             : block.unrounded_scale;
}

// The least power of two by which the block does not leave the element's range: 2^ceil(log2(amax / 6)). Of a block that is 0,
// and for formats with another rule, nothing.
std::optional<ExplainedCode> upward_scale(const BlockFormat& b, const QuantizedBlock& block) {
  if (b.rule == ScaleRule::quotient) return std::nullopt;
  const double amax =
      std::strtod(required(explain_code("f64", required(encode_number("f64", block.amax, Rounding::up)).code))
                      .decimal.c_str(),
                  nullptr);
  const double most = std::strtod(largest_of(b.element).c_str(), nullptr);
  if (amax == 0 || !std::isfinite(amax)) return std::nullopt;
  int exponent = -127;  // of ue8m0: codes 0 to 254
  while (exponent < 127 && std::ldexp(most, exponent) < amax) ++exponent;
  return required(explain_code(b.scale, static_cast<std::uint64_t>(exponent + 127)));
}

std::string upward_rule(const BlockFormat& b) {
  return fmt::format("2^ceil(log2(amax / {}))", largest_of(b.element));
}

void print_block(const BlockFormat& b, const QuantizedBlock& block, std::span<const std::string> numbers) {
  fmt::print("amax   {}\n", block.amax);
  fmt::print("scale  {} -> {} {} ({})\n", unrounded_scale(b, block), b.scale, hex_code(b.scale, block.scale),
             block.scale_value);
  if (const auto other = upward_scale(b, block)) {
    print_fitted(fmt::format("rule   {}, that of OCP (torchao: FLOOR)", scale_rule(b)));
    print_fitted(fmt::format("other  {} (torchao: RCEIL; cvt.rp to {}) gives {}", upward_rule(b), b.scale,
                             other->decimal));
  }
  Table table{{"number", "code", b.element.data(), "value", "error"}};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const QuantizedElement& e = block.elements[i];
    table.push_back({numbers[i], hex_code(b.element, e.code), decimal_of(b.element, e.code), e.value, e.error});
  }
  print_narrow(table);
}

Json block_json(const BlockFormat& b, const QuantizedBlock& block, std::span<const std::string> numbers) {
  Json elements = Json::array();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const QuantizedElement& e = block.elements[i];
    elements.push_back({{"number", numbers[i]},
                        {"code", hex_code(b.element, e.code)},
                        {"element", decimal_of(b.element, e.code)},
                        {"value", e.value},
                        {"error", e.error}});
  }
  Json out{{"amax", block.amax},
           {"unrounded_scale", block.unrounded_scale},
           {"scale_code", hex_code(b.scale, block.scale)},
           {"scale", block.scale_value}};
  if (const auto other = upward_scale(b, block))
    out["other_rules"] = {
        {{"rule", upward_rule(b)}, {"scale_code", hex_code(b.scale, other->code)}, {"scale", other->decimal}}};
  out["elements"] = elements;
  return out;
}

}  // namespace

std::optional<BlockFormat> block_format_of(const std::string& name) {
  const Result<BlockFormat> found = find_block_format(name);
  return found ? std::optional(*found) : std::nullopt;
}

Table block_format_table() {
  Table out{{"block format", "element", "scale", "block", "scale factor"}};
  for (const BlockFormat& b : block_formats())
    out.push_back({std::string(b.name), std::string(b.element), std::string(b.scale), std::to_string(b.block),
                   scale_rule(b)});
  return out;
}

int print_block_format(const BlockFormat& b, const std::vector<std::string>& numbers, bool json) {
  Json out = description_json(b);
  if (numbers.empty()) {
    if (json)
      print_json("format", out);
    else
      print_description(b);
    return kYes;
  }
  const std::vector<QuantizedBlock> blocks = required(quantize(b.name, numbers));
  out["blocks"] = Json::array();
  std::span<const std::string> rest = numbers;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto given = rest.first(blocks[i].elements.size());
    rest = rest.subspan(given.size());
    if (json) {
      out["blocks"].push_back(block_json(b, blocks[i], given));
      continue;
    }
    fmt::print("{}{}{}\n", i > 0 ? "\n" : "", b.name, blocks.size() > 1 ? fmt::format(", block {}", i) : "");
    print_block(b, blocks[i], given);
  }
  if (json) print_json("format", out);
  return kYes;
}

std::string shared_name_note(const std::string& name) {
  for (const std::span<const SharedName> names : {shared_names(), shared_block_names()})
    for (const SharedName& shared : names)
      if (shared.name == in_small_letters(name))
        return fmt::format("{}: {} is meant; {} is the other", name, shared.taken, shared.other);
  return "";
}

}  // namespace warpbit::cli
