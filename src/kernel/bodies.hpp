// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/body.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// The kernel itself. Errors: no_such_kernel, if this processor cannot run it.
Result<Kernel> check_kernel(Kernel kernel);

/// The body of a kernel, or nullptr for Kernel::reference. Precondition: this processor can run it.
const Body* find_body(Kernel kernel);

/// The kernel that a body is, as its compilation says.
Kernel kernel_of(const Body& body);

}  // namespace warpbit
