// SPDX-License-Identifier: Apache-2.0
// Products by the bodies: A and B become panels (body.hpp), or fragments, that are as long as the steps of a stripe.
#pragma once

#include <memory>

#include "kernel/gemm.hpp"

namespace warpbit {

/// Of fused nodes. Precondition: panel_tile(*product.tile).
std::unique_ptr<GemmEngine> make_panel_engine(const MatrixProduct& product, const Body& body);
/// Of scaled groups. Precondition: group_program(*product.tile).
std::unique_ptr<GemmEngine> make_group_engine(const MatrixProduct& product, const Body& body);

}  // namespace warpbit
