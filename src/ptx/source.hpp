// SPDX-License-Identifier: Apache-2.0
// From where in a source file a statement comes (PTX manual, ".loc").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"
#include "warpbit/detail/source.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

/// The lines of a statement, by .loc: that of the body of its function first, each further one in a function that was inlined
/// at the one before. None without .loc.
std::vector<SourceLink> chain_of(const ModuleText& module, const FunctionText& function,
                                 const Statement& statement);
/// The first of them; an empty file and 0 without .loc.
SourceLink source_of(const ModuleText& module, const FunctionText& function, const Statement& statement);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
