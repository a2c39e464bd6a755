// SPDX-License-Identifier: Apache-2.0
#include "ptx/special.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace warpbit::ptx {
namespace {

using enum Special;

constexpr std::array kSpecials = {
    SpecialRow{tid_x, "%tid.x", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{tid_y, "%tid.y", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{tid_z, "%tid.z", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{tid_w, "%tid.w", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ntid_x, "%ntid.x", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ntid_y, "%ntid.y", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ntid_z, "%ntid.z", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ntid_w, "%ntid.w", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ctaid_x, "%ctaid.x", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ctaid_y, "%ctaid.y", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ctaid_z, "%ctaid.z", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{ctaid_w, "%ctaid.w", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{nctaid_x, "%nctaid.x", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{nctaid_y, "%nctaid.y", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{nctaid_z, "%nctaid.z", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{nctaid_w, "%nctaid.w", Type::u32, Feature::sm_70, {}, true},
    SpecialRow{clusterid_x, "%clusterid.x", Type::u32, Feature::sm_90},
    SpecialRow{clusterid_y, "%clusterid.y", Type::u32, Feature::sm_90},
    SpecialRow{clusterid_z, "%clusterid.z", Type::u32, Feature::sm_90},
    SpecialRow{clusterid_w, "%clusterid.w", Type::u32, Feature::sm_90},
    SpecialRow{nclusterid_x, "%nclusterid.x", Type::u32, Feature::sm_90},
    SpecialRow{nclusterid_y, "%nclusterid.y", Type::u32, Feature::sm_90},
    SpecialRow{nclusterid_z, "%nclusterid.z", Type::u32, Feature::sm_90},
    SpecialRow{nclusterid_w, "%nclusterid.w", Type::u32, Feature::sm_90},
    SpecialRow{cluster_ctaid_x, "%cluster_ctaid.x", Type::u32, Feature::sm_90},
    SpecialRow{cluster_ctaid_y, "%cluster_ctaid.y", Type::u32, Feature::sm_90},
    SpecialRow{cluster_ctaid_z, "%cluster_ctaid.z", Type::u32, Feature::sm_90},
    SpecialRow{cluster_ctaid_w, "%cluster_ctaid.w", Type::u32, Feature::sm_90},
    SpecialRow{cluster_nctaid_x, "%cluster_nctaid.x", Type::u32, Feature::sm_90},
    SpecialRow{cluster_nctaid_y, "%cluster_nctaid.y", Type::u32, Feature::sm_90},
    SpecialRow{cluster_nctaid_z, "%cluster_nctaid.z", Type::u32, Feature::sm_90},
    SpecialRow{cluster_nctaid_w, "%cluster_nctaid.w", Type::u32, Feature::sm_90},
    SpecialRow{cluster_ctarank, "%cluster_ctarank", Type::u32, Feature::sm_90},
    SpecialRow{cluster_nctarank, "%cluster_nctarank", Type::u32, Feature::sm_90},
    SpecialRow{is_explicit_cluster, "%is_explicit_cluster", Type::pred, Feature::sm_90},
    SpecialRow{laneid, "%laneid", Type::u32},
    SpecialRow{warpid, "%warpid", Type::u32},
    SpecialRow{nwarpid, "%nwarpid", Type::u32},
    SpecialRow{smid, "%smid", Type::u32},
    SpecialRow{nsmid, "%nsmid", Type::u32},
    SpecialRow{gridid, "%gridid", Type::u64, Feature::sm_70, {}, true},
    SpecialRow{lanemask_eq, "%lanemask_eq", Type::u32},
    SpecialRow{lanemask_le, "%lanemask_le", Type::u32},
    SpecialRow{lanemask_lt, "%lanemask_lt", Type::u32},
    SpecialRow{lanemask_ge, "%lanemask_ge", Type::u32},
    SpecialRow{lanemask_gt, "%lanemask_gt", Type::u32},
    SpecialRow{clock, "%clock", Type::u32},
    SpecialRow{clock_hi, "%clock_hi", Type::u32},
    SpecialRow{clock64, "%clock64", Type::u64},
    SpecialRow{globaltimer, "%globaltimer", Type::u64},
    SpecialRow{globaltimer_lo, "%globaltimer_lo", Type::u32},
    SpecialRow{globaltimer_hi, "%globaltimer_hi", Type::u32},
    SpecialRow{total_smem_size, "%total_smem_size", Type::u32},
    SpecialRow{aggr_smem_size, "%aggr_smem_size", Type::u32, Feature::sm_90, {8, 1}},
    SpecialRow{dynamic_smem_size, "%dynamic_smem_size", Type::u32},
    SpecialRow{reserved_smem_offset_begin, "%reserved_smem_offset_begin", Type::u32, Feature::sm_80, {7, 6}},
    SpecialRow{reserved_smem_offset_end, "%reserved_smem_offset_end", Type::u32, Feature::sm_80, {7, 6}},
    SpecialRow{reserved_smem_offset_cap, "%reserved_smem_offset_cap", Type::u32, Feature::sm_80, {7, 6}},
    SpecialRow{reserved_smem_offset_0, "%reserved_smem_offset_0", Type::u32, Feature::sm_80, {7, 6}},
    SpecialRow{reserved_smem_offset_1, "%reserved_smem_offset_1", Type::u32, Feature::sm_80, {7, 6}},
    SpecialRow{current_graph_exec, "%current_graph_exec", Type::u64, Feature::sm_70, {8, 0}},
    SpecialRow{envreg, "%envreg0", Type::b32},
    SpecialRow{envreg1, "%envreg1", Type::b32},
    SpecialRow{envreg2, "%envreg2", Type::b32},
    SpecialRow{locality_domain_id, "%locality_domain_id", Type::u32, Feature::sm_70, {9, 5}},
    SpecialRow{
        locality_domain_supplemental_sm, "%locality_domain_supplemental_sm", Type::u32, Feature::sm_70, {9, 5}},
};

constexpr bool specials_in_order() {
  for (std::size_t i = 0; i < kSpecials.size(); ++i)
    if (static_cast<std::size_t>(kSpecials[i].special) != i) return false;
  return true;
}
static_assert(specials_in_order());

}  // namespace

const SpecialRow* find_special(std::string_view name) {
  // %envreg3 to %envreg31 are as %envreg0.
  constexpr std::string_view kEnvironment = "%envreg";
  if (name.starts_with(kEnvironment)) {
    int number = -1;
    const std::string_view digits = name.substr(kEnvironment.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_whole = error == std::errc() && end == digits.data() + digits.size() && digits.front() != '0';
    if (is_whole && number > 2 && number < 32) return &kSpecials[static_cast<std::size_t>(envreg)];
  }
  const auto found = std::ranges::find(kSpecials, name, &SpecialRow::name);
  return found == kSpecials.end() ? nullptr : &*found;
}

}  // namespace warpbit::ptx
