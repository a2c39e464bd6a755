// SPDX-License-Identifier: Apache-2.0
// The mistakes that people make in kernels, as changes of one statement of PTX, or of one call of a kernel in source: a row for
// each kind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edit/code.hpp"
#include "test_process.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::noticing {

/// A statement as it may have been.
struct Change {
  edit::Edit edit;
  std::string sentence;  ///< "the barrier is left out"
};

/// A call of device.hpp, by its statement of PTX where it is one: "cp.async.wait_group 1", "__syncthreads".
struct Call {
  std::string text;
  Target target;
  std::optional<Instruction> instruction = {};  ///< if the statement is one that this library executes
};

/// A call as it may have been.
struct CallChange {
  std::string sentence;
  PlantedCall::Change change = PlantedCall::Change::left_out;
  std::size_t operand = 0;
  std::string text = {};
};

struct KindRow {
  std::string_view name, sentence;
  bool is_order = false;  ///< what it changes is the order of accesses, which values do not show
  /// Adds what may have become of a statement.
  void (*add)(const edit::Code&, const edit::Site&, std::vector<Change>&) = nullptr;
  /// Adds what may have become of a call; nullptr: nothing, as where the compiler decides what it is.
  void (*add_call)(const Call&, std::vector<CallChange>&) = nullptr;
};
std::span<const KindRow> kind_rows();

}  // namespace warpbit::noticing
