// SPDX-License-Identifier: Apache-2.0
// What an arithmetic rests on. The rules and their proofs are in src/target/NUMERICS.md.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)
namespace warpbit {

/// How a statement about a GPU is known. Ordered: a smaller value is stronger.
enum class Basis {
  captured,   ///< a capture of this project, replayed by its tests
  published,  ///< results of that GPU that somebody else published
  inferred,   ///< no result of that GPU; `from` says what it was inferred from
};
std::string_view name(Basis basis);

/// A basis and where to look.
struct Ground {
  Basis basis;
  std::string_view from;
};

/// The grounds of each parameter of a plan (NUMERICS.md, "The node"). Where a parameter does not apply (the
/// floor of an integer sum), its ground is that of the order.
struct Evidence {
  Ground order;     ///< which products are added in which order, and where C enters; L
  Ground window;    ///< F, and the rounding of the result
  Ground floor;     ///< the floor of E
  Ground specials;  ///< NaN, Inf, signs of zero

  /// The weaker of order and window: what the result for ordinary numbers rests on.
  constexpr Basis overall() const { return order.basis > window.basis ? order.basis : window.basis; }
};

}  // namespace warpbit
#pragma GCC visibility pop
