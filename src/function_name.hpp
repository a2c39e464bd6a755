// SPDX-License-Identifier: Apache-2.0
// Names of C++ functions, as compilers mangle them.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// A function as people write it, without parameters and result: "Tile<128>::get" of _ZN4TileILi128EE3getEi. What is no
/// mangled name stays as it is.
std::string function_name(std::string_view symbol);

}  // namespace warpbit
#pragma GCC visibility pop
