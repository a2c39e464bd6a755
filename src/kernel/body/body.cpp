// SPDX-License-Identifier: Apache-2.0
// One body of the kernels; compiled for each vector extension, WARPBIT_BODY being the name of its table.
#include "kernel/body.hpp"

#include "kernel/body/cases.hpp"
#include "kernel/body/chain.hpp"
#include "kernel/body/fused.hpp"
#include "kernel/body/groups.hpp"
#include "kernel/body/native.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/sparse.hpp"

namespace warpbit {

extern const Body WARPBIT_BODY = {kExtension, arrange_a,   arrange_b,  exponent_range, decode, find_specials,
                                  fused,      fused_parts, is_defined, groups,         native, chain};

}  // namespace warpbit
