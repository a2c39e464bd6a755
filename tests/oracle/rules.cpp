// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>

namespace oracle {
namespace {

// facts 1.9: probed with F 25.
constexpr int floor_f32_sm_90 = -133, floor_f16_sm_90 = -21;
// facts 1.9: by the published models for sm_80 to sm_89; also for F 13.
constexpr int floor_f32_sm_80 = -132, floor_f16_sm_80 = -20;
// facts 1.9 gives no number for sm_70, sm_72 and sm_75: these stand in for it.
constexpr int floor_f32_sm_70_72_75 = -132, floor_f16_sm_70_72_75 = -20;

constexpr std::string_view volta = "sm_70 sm_72";
constexpr std::string_view turing = "sm_75";
constexpr std::string_view ampere_ada = "sm_80 sm_86 sm_87 sm_88 sm_89";
constexpr std::string_view ada = "sm_89";
constexpr std::string_view hopper_on = "sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121";
constexpr std::string_view hopper = "sm_90";
constexpr std::string_view hopper_b200 = "sm_90 sm_100 sm_103 sm_107 sm_110";
constexpr std::string_view sm_120_on = "sm_120 sm_121";
constexpr std::string_view sm_80_on =
    "sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121";
constexpr std::string_view sm_75_on =
    "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121";

constexpr std::string_view fp8 = "e4m3 e5m2";
constexpr std::string_view small = "e4m3 e5m2 e3m2 e2m3 e2m1";

using enum Method;

// facts 1 (table), 2, 3, 8.
constexpr Rule rules[] = {
    // targets, shapes, d, operands, c, same, method, L, F, floor, kept
    {volta, "m8n8k4", "f32", "f16", "f32 f16", true, nodes, 4, 23, floor_f32_sm_70_72_75},
    {volta, "m8n8k4", "f16", "f16", "f16", true, nodes, 4, 23, floor_f16_sm_70_72_75},

    {turing, "m8n8k4", "f32", "f16", "f32 f16", true, nodes, 8, 24, floor_f32_sm_70_72_75},
    {turing, "m16n8k8", "f32", "f16", "f32", true, nodes, 8, 24, floor_f32_sm_70_72_75},
    {turing, "m8n8k4 m16n8k8", "f16", "f16", "f16", true, nodes, 8, 24, floor_f16_sm_70_72_75},

    {ampere_ada, "m16n8k8 m16n8k16", "f32", "f16 bf16", "f32", true, nodes, 8, 24, floor_f32_sm_80},
    {ampere_ada, "m16n8k8 m16n8k16", "f16", "f16", "f16", true, nodes, 8, 24, floor_f16_sm_80},
    {ampere_ada, "m16n8k4 m16n8k8", "f32", "tf32", "f32", true, nodes, 4, 24, floor_f32_sm_80},
    {ada, "m16n8k16 m16n8k32", "f32", fp8, "f32", false, nodes, 16, 13, floor_f32_sm_80, 13},
    {ada, "m16n8k16 m16n8k32", "f16", fp8, "f16", false, nodes, 16, 13, floor_f16_sm_80},

    {hopper_on, "m16n8k8 m16n8k16", "f32", "f16 bf16", "f32", true, nodes, 16, 25, floor_f32_sm_90},
    {hopper_on, "m16n8k8 m16n8k16", "f16", "f16", "f16", true, nodes, 16, 25, floor_f16_sm_90},
    {hopper_on, "m16n8k4 m16n8k8", "f32", "tf32", "f32", true, nodes, 8, 25, floor_f32_sm_90},
    {hopper_b200, "m16n8k16 m16n8k32", "f32", fp8, "f32", false, fp8_lowered, 16, 25, floor_f32_sm_90},
    {hopper_b200, "m16n8k16 m16n8k32", "f16", fp8, "f16", false, fp8_lowered, 16, 25, floor_f16_sm_90},

    {sm_120_on, "m16n8k16", "f32", fp8, "f32", false, nodes, 32, 25, floor_f32_sm_90},
    {sm_120_on, "m16n8k16", "f16", fp8, "f16", false, nodes, 32, 25, floor_f16_sm_90},
    {sm_120_on, "m16n8k32", "f32", small, "f32", false, nodes, 32, 25, floor_f32_sm_90},
    {sm_120_on, "m16n8k32", "f16", small, "f16", false, nodes, 32, 25, floor_f16_sm_90},

    {sm_80_on, "m8n8k4", "f32", "f16", "f32 f16", true, fma_then_c},
    {sm_80_on, "m8n8k4", "f16", "f16", "f16", true, pairs},

    {sm_75_on, "m8n8k16", "s32", "s8 u8", "s32", false, integer_sum},
    {ampere_ada, "m16n8k16 m16n8k32", "s32", "s8 u8", "s32", false, integer_sum, 16},
    {hopper_on, "m16n8k16 m16n8k32", "s32", "s8 u8", "s32", false, integer_sum},
    {sm_75_on, "m8n8k32", "s32", "s4 u4", "s32", false, integer_sum},
    {ampere_ada, "m16n8k32 m16n8k64", "s32", "s4 u4", "s32", false, integer_sum, 32},
    {hopper_on, "m16n8k32 m16n8k64", "s32", "s4 u4", "s32", false, integer_sum},
    {sm_75_on, "m8n8k128", "s32", "b1", "s32", true, bit_count},
    {sm_80_on, "m16n8k128 m16n8k256", "s32", "b1", "s32", true, bit_count},
    {sm_80_on, "m8n8k4", "f64", "f64", "f64", true, fma_chain},
    {hopper_on, "m16n8k4 m16n8k8 m16n8k16", "f64", "f64", "f64", true, fma_chain},
};

// facts 1, below the table: L counts products that exist; facts 2: the k % 4 of a lowered FP8 product is that
// of its compressed index.
constexpr Rule sparse_rules[] = {
    {ampere_ada, "m16n8k16 m16n8k32", "f32", "f16 bf16", "f32", true, nodes, 8, 24, floor_f32_sm_80},
    {ampere_ada, "m16n8k16 m16n8k32", "f16", "f16", "f16", true, nodes, 8, 24, floor_f16_sm_80},
    {ampere_ada, "m16n8k8 m16n8k16", "f32", "tf32", "f32", true, nodes, 4, 24, floor_f32_sm_80},
    {ada, "m16n8k64", "f32", fp8, "f32", false, nodes, 16, 13, floor_f32_sm_80, 13},

    {hopper_on, "m16n8k16 m16n8k32", "f32", "f16 bf16", "f32", true, nodes, 16, 25, floor_f32_sm_90},
    {hopper_on, "m16n8k16 m16n8k32", "f16", "f16", "f16", true, nodes, 16, 25, floor_f16_sm_90},
    {hopper_on, "m16n8k8 m16n8k16", "f32", "tf32", "f32", true, nodes, 8, 25, floor_f32_sm_90},
    {hopper_b200, "m16n8k64", "f32", fp8, "f32", false, fp8_lowered, 16, 25, floor_f32_sm_90},
    {sm_120_on, "m16n8k64", "f32", small, "f32", false, nodes, 32, 25, floor_f32_sm_90},
    {sm_120_on, "m16n8k64", "f16", small, "f16", false, nodes, 32, 25, floor_f16_sm_90},

    {ampere_ada, "m16n8k32 m16n8k64", "s32", "s8 u8", "s32", false, integer_sum, 16},
    {hopper_on, "m16n8k32 m16n8k64", "s32", "s8 u8", "s32", false, integer_sum},
    {ampere_ada, "m16n8k64 m16n8k128", "s32", "s4 u4", "s32", false, integer_sum, 32},
    {hopper_on, "m16n8k64 m16n8k128", "s32", "s4 u4", "s32", false, integer_sum},
};

// facts 8. That they hold for sparse operands too, over the products that exist, is assumed as in facts 1.
constexpr Rule scaled_rules[] = {
    {sm_120_on, "m16n8k32", "f32", small, "f32", false, scaled_products, 32, 25, -133, 23, "ue8m0", 1},
    {sm_120_on, "m16n8k64", "f32", "e2m1", "f32", false, scaled_groups, 16, 35, -139, 23, "ue8m0", 2},
    {sm_120_on, "m16n8k64", "f32", "e2m1", "f32", false, scaled_groups, 16, 35, -139, 23, "ue4m3", 4},
    {sm_120_on, "m16n8k64", "f32", "e2m1", "f32", false, scaled_groups, 16, 35, -139, 23, "ue8m0", 4},
};
constexpr Rule sparse_scaled_rules[] = {
    {sm_120_on, "m16n8k64", "f32", small, "f32", false, scaled_products, 32, 25, -133, 23, "ue8m0", 1},
    {sm_120_on, "m16n8k128", "f32", "e2m1", "f32", false, scaled_groups, 16, 35, -139, 23, "ue8m0", 2},
    {sm_120_on, "m16n8k128", "f32", "e2m1", "f32", false, scaled_groups, 16, 35, -139, 23, "ue4m3", 4},
    {sm_120_on, "m16n8k128", "f32", "e2m1", "f32", false, scaled_groups, 16, 35, -139, 23, "ue8m0", 4},
};

constexpr std::string_view wmma_16 = "m16n16k16 m32n8k16 m8n32k16";

// facts 2, wmma.mma: on sm_90; elsewhere assumed to be this target's mma, tf32 in nodes of 4.
constexpr Rule wmma_rules[] = {
    {ampere_ada, wmma_16, "f32", "f16", "f32 f16", true, nodes, 8, 24, floor_f32_sm_80},
    {ampere_ada, wmma_16, "f32", "bf16", "f32", true, nodes, 8, 24, floor_f32_sm_80},
    {ampere_ada, wmma_16, "f16", "f16", "f16", true, nodes, 8, 24, floor_f16_sm_80},
    {ampere_ada, wmma_16, "f16", "f16", "f32", true, nodes_in_f32, 8, 24, floor_f32_sm_80},
    {ampere_ada, "m16n16k8", "f32", "tf32", "f32", true, nodes, 4, 24, floor_f32_sm_80},

    {hopper_on, wmma_16, "f32", "f16", "f32 f16", true, nodes, 16, 25, floor_f32_sm_90},
    {hopper_on, wmma_16, "f32", "bf16", "f32", true, nodes, 16, 25, floor_f32_sm_90},
    {hopper_on, wmma_16, "f16", "f16", "f16", true, nodes, 16, 25, floor_f16_sm_90},
    {hopper_on, wmma_16, "f16", "f16", "f32", true, nodes_in_f32, 16, 25, floor_f32_sm_90},
    {hopper_on, "m16n16k8", "f32", "tf32", "f32", true, nodes, 4, 25, floor_f32_sm_90},

    {sm_80_on, wmma_16, "s32", "s8 u8", "s32", true, integer_sum},
    {sm_80_on, "m8n8k32", "s32", "s4 u4", "s32", true, integer_sum},
    {sm_80_on, "m8n8k128", "s32", "b1", "s32", true, bit_count},
    {sm_80_on, "m8n8k4", "f64", "f64", "f64", true, fma_chain},
};

// facts 1, "sm_90 wgmma": one node for the whole K; floors as facts 1.9 has them; integers and bits by facts 3.
constexpr Rule wgmma_rules[] = {
    {hopper, "k16", "f32", "f16 bf16", "f32", true, nodes, 16, 25, floor_f32_sm_90},
    {hopper, "k16", "f16", "f16", "f16", true, nodes, 16, 25, floor_f16_sm_90},
    {hopper, "k8", "f32", "tf32", "f32", true, nodes, 8, 25, floor_f32_sm_90},
    {hopper, "k32", "f32", fp8, "f32", false, nodes, 32, 13, floor_f32_sm_90, 13},
    {hopper, "k32", "f16", fp8, "f16", false, nodes, 32, 13, floor_f16_sm_90},
    {hopper, "k32", "s32", "s8 u8", "s32", false, integer_sum},
    {hopper, "k256", "s32", "b1", "s32", true, bit_count},
};
// facts 1, below the table: one node of K/2.
constexpr Rule sparse_wgmma_rules[] = {
    {hopper, "k32", "f32", "f16 bf16", "f32", true, nodes, 16, 25, floor_f32_sm_90},
    {hopper, "k32", "f16", "f16", "f16", true, nodes, 16, 25, floor_f16_sm_90},
    {hopper, "k16", "f32", "tf32", "f32", true, nodes, 8, 25, floor_f32_sm_90},
    {hopper, "k64", "f32", fp8, "f32", false, nodes, 32, 13, floor_f32_sm_90, 13},
    {hopper, "k64", "f16", fp8, "f16", false, nodes, 32, 13, floor_f16_sm_90},
    {hopper, "k64", "s32", "s8 u8", "s32", false, integer_sum},
};

std::span<const Rule> rules_for(const Problem& p) {
  if (p.wgmma) return p.sparse ? std::span<const Rule>(sparse_wgmma_rules) : wgmma_rules;
  if (p.wmma) return wmma_rules;
  if (p.scale.empty()) return p.sparse ? std::span<const Rule>(sparse_rules) : rules;
  return p.sparse ? std::span<const Rule>(sparse_scaled_rules) : scaled_rules;
}

constexpr std::string_view plain_targets =
    "sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 "
    "sm_107 sm_110 sm_120 sm_121";
constexpr std::string_view suffixed_targets =
    "sm_90a sm_100a sm_100f sm_103a sm_103f sm_107a sm_107f sm_110a sm_110f sm_120a "
    "sm_120f sm_121a sm_121f";

// Whether `word` is one of the words, separated by single spaces, of `list`.
bool contains(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// The target without its suffix: the arithmetic is that of the base.
std::string_view base_of(std::string_view target) {
  if (contains(plain_targets, target)) return target;
  if (contains(suffixed_targets, target)) return target.substr(0, target.size() - 1);
  throw std::invalid_argument("oracle: no target " + std::string(target));
}

std::string_view shape_of(const Problem& p) {
  const std::string_view shape = p.shape;
  return p.wgmma ? shape.substr(std::min(shape.find('k'), shape.size())) : shape;
}

// Qualifiers that only some methods have.
bool qualifiers_fit(const Rule& rule, const Problem& p, std::string_view target) {
  if (rule.scale != p.scale || rule.blocks != p.blocks) return false;
  const bool bits = rule.method == bit_count, integers = rule.method == integer_sum;
  if (p.satfinite && !integers) return false;
  if (!p.rounding.empty() && !(rule.method == fma_chain && contains("rn rz rm rp", p.rounding))) return false;
  if (bits ? !contains(p.wgmma ? "and" : "xor and", p.bit_operation) : !p.bit_operation.empty()) return false;
  if ((p.negate_a || p.negate_b) && (!p.wgmma || bits || integers)) return false;
  return !(bits && p.bit_operation == "and" && target == turing);  // .and.popc: sm_80 and later
}

}  // namespace

const Rule& find_rule(const Problem& p) {
  const std::string_view target = base_of(p.target);
  for (const Rule& rule : rules_for(p)) {
    if (contains(rule.targets, target) && contains(rule.shapes, shape_of(p)) && contains(rule.d, p.d) &&
        contains(rule.operands, p.a) && contains(rule.operands, p.b) && contains(rule.c, p.c) &&
        (!rule.same_operands || p.a == p.b) && qualifiers_fit(rule, p, target))
      return rule;
  }
  throw std::invalid_argument(
      std::string("oracle: no rule for ") +
      (p.wgmma  ? "wgmma "
       : p.wmma ? "wmma "
                : "") +
      (p.sparse ? "sparse " : "") + p.shape + "." + p.d + "." + p.a + "." + p.b + "." + p.c +
      (p.scale.empty() ? "" : ", scales " + std::to_string(p.blocks) + "X " + p.scale) + " on " + p.target);
}

int k_of(std::string_view shape) {
  const std::size_t at = shape.find('k');
  int k = 0;
  if (at != std::string_view::npos) std::from_chars(shape.data() + at + 1, shape.data() + shape.size(), k);
  if (k <= 0) throw std::invalid_argument("oracle: no shape " + std::string(shape));
  return k;
}

int product_count(const Problem& p) {
  return p.sparse ? k_of(p.shape) / 2 : k_of(p.shape);
}

}  // namespace oracle
