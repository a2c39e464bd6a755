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

/// Whether a tile is one product of a chain of FMA, rounded to nearest.
bool is_chain(const Tile& tile);
/// Of such. Precondition: is_chain(*product.tile).
std::unique_ptr<GemmEngine> make_chain_engine(const MatrixProduct& product, const Body& body);

/// The one that a tile has. Precondition: has_engine(*product.tile).
std::unique_ptr<GemmEngine> make_engine(const MatrixProduct& product, const Body& body);
/// The engine of all tiles: element by element.
std::unique_ptr<GemmEngine> make_element_engine(const MatrixProduct& product);

}  // namespace warpbit
