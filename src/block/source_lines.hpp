// SPDX-License-Identifier: Apache-2.0
// Which line of a chain of calls a person looks for.
#pragma once

#include <cstddef>
#include <vector>

#include "warpbit/detail/source.hpp"

#pragma GCC visibility push(default)  // kernels are in another library
namespace warpbit::block {

/// The number of the link that a side of a fault is told by. By itself it is the first one, of the kernel's body. A helper may call
/// back what the body has, a lambda; then it is the last line of the body that is reached so, unless the sides come by two calls with
/// lambdas that were written before, which are helpers then, too:
///
///     20  for_each(tiles, [&](int i) {     20 > 7 > 21 > 4: line 21
///     21    stage(i);
///
/// Where both sides have that line in common, it is the one at which they part, if each calls something from there:
///
///     40  mainloop(tiles);                 40 > 31 > 5 and 40 > 35 > 6: lines 31 and 35
///
/// `other`: the chain of the other side, or an empty one.
std::size_t told_link(const std::vector<SourceLink>& chain, const std::vector<SourceLink>& other);

}  // namespace warpbit::block
#pragma GCC visibility pop
