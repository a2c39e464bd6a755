// SPDX-License-Identifier: Apache-2.0
// A recorded launch, made ready to be run here: its module, its memory and the variables of the module.
#pragma once

#include <cstddef>
#include <vector>

#include "verify/kinds.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::verification {

using Bytes = std::vector<std::byte>;

/// A part of the memory of a launch: what it had, has and should have.
struct Part {
  const RecordedMemory* recorded;
  Bytes bytes;
  Bytes defined = {};  ///< of memory that nobody has written: the bits that the launch writes
  Bytes expected = {};

  bool is_compared(std::size_t i) const { return defined.empty() || defined[i] != std::byte{0}; }
};

/// Whether a launch may use bytes that something which is not recorded has changed.
enum class Changed { unknown, as_recorded };

/// A data file. Errors: record_malformed, also where it has not so many bytes; `what` names it.
Result<Bytes> data_of(const Subject& subject, const std::string& name, std::uint64_t bytes,
                      std::string_view what);
/// The memory of a launch. Errors: those of its data. Precondition: `launch` outlives the parts.
Result<std::vector<Part>> parts_of(const Subject& subject, const RecordedLaunch& launch, Changed how);
/// The bytes of a variable that are addresses by its initial value. Errors: no_such_variable.
Result<std::vector<bool>> addresses_of(const ptx::Module& module, std::string_view variable);
/// Gives variables of the module the values that the recording has, but for those addresses: a GPU has other ones. Errors:
/// no_such_variable; those of data.
Result<void> set_variables(const Subject& subject, const RecordedLaunch& launch, const ptx::Module& module);
/// The text of the module. Errors: those of its data.
Result<std::string> module_text(const Subject& subject, const RecordedLaunch& launch);
/// The options with the shape and the memory of the launch. Precondition: the parts outlive it.
ptx::Launch how_to_launch(const Subject& subject, const RecordedLaunch& launch, std::vector<Part>& parts);
/// Makes three of a part of a launch's memory: the middle, bytes `from` to `to`, nobody may write.
void protect(ptx::Launch& how, std::size_t part, std::size_t from, std::size_t to);
/// The arguments of the kernel.
std::vector<ptx::Argument> arguments_of(const RecordedLaunch& launch);

}  // namespace warpbit::verification
