// SPDX-License-Identifier: Apache-2.0
// All of D of one warp, by any plan.
#pragma once

#include <cstdint>
#include <cstring>  // memcpy
#include <functional>
#include <vector>

#include "api/checks.hpp"
#include "isa/instruction.hpp"
#include "kernel/tile.hpp"
#include "warpbit/execute.hpp"

namespace tile_results {

using namespace warpbit;

using Words = std::vector<std::uint64_t>;  // [lane][register] of an operand
/// By operand of the statement; D is empty, and so is what the statement gives as a literal.
using Operands = std::vector<Words>;
/// D.
using Compute = std::function<Words(const Operands&)>;

struct Bytes {
  std::vector<std::vector<std::byte>> operands;
  std::vector<OperandView> sources;
};
inline Bytes bytes_of(const Instruction& i, const Operands& words) {
  Bytes out;
  for (std::size_t n = 0; n < words.size(); ++n) {
    const Operand& o = i.operands()[n];
    const auto each = static_cast<std::size_t>(o.register_bits / 8);
    auto& bytes = out.operands.emplace_back(words[n].size() * each);
    for (std::size_t w = 0; w < words[n].size(); ++w) std::memcpy(&bytes[w * each], &words[n][w], each);
    if (n > 0)
      out.sources.push_back(words[n].empty()
                                ? OperandView{}
                                : OperandView::dense(bytes.data(), 32, o.registers, o.register_bits));
  }
  return out;
}

/// By another plan, element by element; `order` as in Neighbour.
inline Compute by_plan(const Instruction& i, const Plan& plan, const std::vector<std::size_t>& order = {}) {
  return [&i, &plan, &order](const Operands& words) {
    Tile tile = std::get<Tile>(i.decoded().kernel);
    const Bytes in = bytes_of(i, words);
    std::vector<Coordinate> all;
    for (int product = 0; product < tile.products; ++product)
      for (int row = 0; row < tile.rows; ++row)
        for (int column = 0; column < tile.columns; ++column) all.push_back({row, column, product});
    const std::vector<ElementInputs> elements = codes_of_elements(tile, tile_views(i, in.sources), 0, all);
    tile.plan = &plan;
    const auto count = static_cast<std::size_t>(i.operands()[0].registers);
    Words out(32 * count);
    for (std::size_t e = 0; e < all.size(); ++e) {
      ElementInputs x = elements[e];
      for (std::size_t k = 0; k < order.size(); ++k) {
        x.a[k] = elements[e].a[order[k]];
        x.b[k] = elements[e].b[order[k]];
      }
      const Place& at = tile.d.places[e];
      out[static_cast<std::size_t>(at.lane) * count + static_cast<std::size_t>(at.reg)] |= run_element(tile, x)
                                                                                           << at.low_bit;
    }
    return out;
  };
}

}  // namespace tile_results
