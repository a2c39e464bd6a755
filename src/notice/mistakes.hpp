// SPDX-License-Identifier: Apache-2.0
// The mistakes that people make in kernels, as changes of one statement of PTX: a row for each kind.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edit/code.hpp"

namespace warpbit::noticing {

/// A statement as it may have been.
struct Change {
  edit::Edit edit;
  std::string sentence;  ///< "the barrier is left out"
};

struct KindRow {
  std::string_view name, sentence;
  /// Adds what may have become of a statement.
  void (*add)(const edit::Code&, const edit::Site&, std::vector<Change>&);
  bool is_order = false;  ///< what it changes is the order of accesses, which values do not show
};
std::span<const KindRow> kind_rows();

}  // namespace warpbit::noticing
