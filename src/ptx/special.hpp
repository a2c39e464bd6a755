// SPDX-License-Identifier: Apache-2.0
// The special registers (PTX manual, "Special Registers").
#pragma once

#include <optional>
#include <string_view>

#include "ptx/type.hpp"
#include "target/target.hpp"

namespace warpbit::ptx {

/// In the order of their rows.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  tid_w,  ///< zero, as each w
  ntid_x,
  ntid_y,
  ntid_z,
  ntid_w,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  ctaid_w,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  nctaid_w,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  clusterid_w,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  nclusterid_w,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_ctaid_w,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_nctaid_w,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  total_smem_size,
  aggr_smem_size,
  dynamic_smem_size,
  reserved_smem_offset_begin,
  reserved_smem_offset_end,
  reserved_smem_offset_cap,
  reserved_smem_offset_0,
  reserved_smem_offset_1,
  current_graph_exec,
  envreg,   ///< all but the next two
  envreg1,  ///< the upper half of the address of a grid's workspace, if its blocks wait for each other
  envreg2,
  locality_domain_id,
  locality_domain_supplemental_sm,  ///< the lower half
};

struct SpecialRow {
  Special special;
  std::string_view name;  ///< with its '%' and component
  Type type;
  Feature needs = Feature::sm_70;
  Version since = {};      ///< where it is later than the first target
  bool is_narrow = false;  ///< mov takes it into fewer bits, too
};

/// Whether it tells of the shared memory that the system keeps for itself, and for libraries (cooperative groups).
constexpr bool is_of_reserved(Special special) {
  return special >= Special::reserved_smem_offset_begin && special <= Special::reserved_smem_offset_1;
}

/// nullptr if there is none of that name.
const SpecialRow* find_special(std::string_view name);

/// Whether one may be an address, or a part of a sum: an integer without a component.
inline bool is_addend(std::string_view special) {
  return special.find('.') == special.npos && find_special(special)->type != Type::pred;
}

/// What one is beside the registers of a vector, {%r1, %smid}. Nothing for a predicate.
inline std::optional<Type> type_in_vector(std::string_view special) {
  const Type is = find_special(special)->type;
  if (is == Type::pred) return {};
  return bits(is) == 64 ? Type::b64 : Type::b32;
}

}  // namespace warpbit::ptx
