// SPDX-License-Identifier: Apache-2.0
// What a page does not have, and does otherwise.
#include <cstdlib>

#include "warpbit/ptx.hpp"

// Modules of PTX: none can be read, so that the rest is never called.
namespace warpbit::ptx {

Result<Module> Module::load_file(const std::filesystem::path& path, std::optional<Target>) {
  return Error{Errc::file_unreadable, path.string(), "a module of PTX",
               "the command-line tool, which reads files"};
}
Target Module::target() const {
  return Target::all().front();
}
std::vector<std::string> Module::entries() const {
  return {};
}
std::vector<Error> Module::check() const {
  return {};
}

// Kernels are not run, so there is nothing to be said of them.
std::vector<KindEvidence> evidence_table() {
  return {};
}

}  // namespace warpbit::ptx

namespace {

// WebAssembly rounds to nearest alone, and the bodies of the kernels set other modes: the specification, in integers,
// computes everything.
[[maybe_unused]] const int g_reference = setenv("WARPBIT_KERNEL", "reference", 1);

}  // namespace
