// SPDX-License-Identifier: Apache-2.0
// Trying hypotheses on some elements of D, and those left on all.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "api/sum_identity.hpp"
#include "order/known.hpp"

namespace warpbit::order {

// D in a format to which it may have been stored, and what is looked at of it.
struct Stored {
  Stored(const FoundProduct& given, std::vector<std::byte> codes, SumOrder order, const ItemSizes& sizes,
         std::size_t factors)
      : d(std::move(codes)), product(given), base(std::move(order)), known(product, sizes, factors) {
    if (!d.empty()) product.product.d = {d.data(), static_cast<std::ptrdiff_t>(given.product.columns), 1};
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  std::vector<std::byte> d;  // or that of the caller
  FoundProduct product;
  SumOrder base;
  Known known;
  std::vector<Group> groups = {}, refuting = {};
};

/// The codes of D in a narrower format; nothing if not all are its numbers.
std::optional<std::pair<std::vector<std::byte>, std::vector<ResultElement>>> narrowed(
    const FoundProduct& product, const Format& from, const Format& to);

/// The answer; `stores` are the formats that D may have been stored in, that in which it is given first. Errors: those of
/// gemm.
Result<OrderSearch> search(std::span<const Instruction> instructions, const FindOrderOptions& options,
                           const SumInputs& inputs, std::span<const std::unique_ptr<Stored>> stores);

}  // namespace warpbit::order
