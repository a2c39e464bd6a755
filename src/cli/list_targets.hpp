// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace warpbit::cli {

/// The generations of GPUs, a row each, with the names that people use; or the same as Markdown or JSON. The exit status.
int list_targets(bool markdown, bool json);

}  // namespace warpbit::cli
