// SPDX-License-Identifier: Apache-2.0
// What a page does not have, and does otherwise.
#include <cstdlib>

#include "warpbit/instruction.hpp"
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
std::vector<AssemblerNote> Module::notes() const {
  return {};
}
std::vector<Remark> remarks(std::span<const Error>, const std::string&) {
  return {};
}
std::vector<Remark> remarks(std::span<const AssemblerNote>, const std::string&) {
  return {};
}
std::span<const AssemblerRule> assembler_rules() {
  return {};
}
std::span<const AssemblerDefect> assembler_defects() {
  return {};
}

// Of the instructions of kernels a page knows those of matrices alone.
Result<KernelForm> kernel_form(std::string_view text, Target target) {
  const Result<Instruction> tensor = Instruction::parse(text, target);
  return tensor ? Error{Errc::unknown_instruction, std::string(text), "a tensor instruction",
                        "the command-line tool, which knows others"}
                : tensor.error();
}

// Kernels are not run, so there is nothing to be said of them.
std::vector<KindEvidence> evidence_table() {
  return {};
}

}  // namespace warpbit::ptx

namespace warpbit {

std::vector<IsaRow> isa_rows() {
  return {};
}
std::vector<IsaSet> isa_sets() {
  return {};
}

}  // namespace warpbit

namespace {

// WebAssembly rounds to nearest alone, and the bodies of the kernels set other modes: the specification, in integers,
// computes everything.
[[maybe_unused]] const int g_reference = setenv("WARPBIT_KERNEL", "reference", 1);

}  // namespace
