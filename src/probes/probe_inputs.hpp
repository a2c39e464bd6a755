// SPDX-License-Identifier: Apache-2.0
// Inputs of single dot products: sums of a few powers of two, at the limits of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/tile.hpp"

namespace warpbit {

/// The codes of one element of D, and their description, e.g. "2^0 @0, -2^0 @1, 2^-25 @C": at k 0 and 1, and
/// C.
struct ProbeInputs : ElementInputs {
  std::string text;
};

/// Receives inputs and the number of their arrangement, in ascending order; inputs with the same number have
/// their addends in the same places. Returns false to stop.
using ProbeVisit = std::function<bool(const ProbeInputs&, int arrangement)>;

/// Calls visit for all inputs, the simplest first. They depend only on the tile's plan, formats and numbers
/// of products and blocks.
void for_each_probe_input(const Tile& tile, const ProbeVisit& visit);

// ---- Writing them

inline constexpr int kC = -1;  ///< the place of C; others are k

/// The construction of a product with the raw exponent e.
enum class Kind {
  power,           ///< 2^i * 2^j = 2^e; of subnormals if necessary, whose raw exponents are higher
  square,          ///< 1.5 2^i * 1.5 2^j: it lies in [2, 4) 2^e
  left_subnormal,  ///< the minimum number of A * 2^j: it is less than 2^e
  right_subnormal,
  left_zero,  ///< 0 * 2^j
  right_zero,
};

/// The exponent of the last bit of the minimum number, and of the maximum number.
int least_bit(const Format& f);
int largest_exponent(const Format& f);

/// The code of (-1)^negative * magnitude * 2^exponent, if the format has that number.
std::optional<std::uint64_t> code_of(const Format& f, bool negative, std::uint64_t magnitude, int exponent);

/// Writes addends into inputs that are otherwise zero, with scales of 1. The first addend in a block
/// determines its scale.
class ProbeWriter {
 public:
  explicit ProbeWriter(const Tile& tile);

  const ProbeInputs& inputs() const { return out_; }

  /// Adds an addend. Returns false if the number does not exist.
  bool add(int place, bool negative, int exponent, Kind kind = Kind::power);

  /// Writes a product, all products, or C, by their codes; `text` describes them.
  void product(int k, std::uint64_t a, std::uint64_t b, const std::string& text);
  void all_products(std::uint64_t a, std::uint64_t b, const std::string& text);
  void c(std::uint64_t code, const std::string& text);

  /// Sets the scale of a block. Returns false if that scale does not exist.
  bool scale(std::size_t block, int exponent);

 private:
  // magnitude * 2^exponent
  struct Factor {
    std::uint64_t magnitude;
    int exponent;
  };

  void note(const std::string& text);
  bool add_product(int k, bool negative, int exponent, Kind kind);
  using Factors = std::optional<std::pair<Factor, Factor>>;
  Factors factors_of(int exponent, Kind kind) const;
  int zero_exponent(const Format& f) const;
  int left_exponent(int exponent) const;
  std::size_t block_of(int k) const { return static_cast<std::size_t>(k) * scales_.size() / out_.a.size(); }
  std::string text(int k, const Factor& x, const Factor& y) const;

  const Tile& tile_;
  std::vector<std::optional<int>> scales_;  // of the blocks that have elements
  ProbeInputs out_;
};

}  // namespace warpbit
