// SPDX-License-Identifier: Apache-2.0
// What a module and its kernels have.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "grid/compile.hpp"
#include "grid/launch.hpp"
#include "grid/references.hpp"
#include "grid/turn.hpp"
#include "ptx/module.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::ptx {

struct Module::State {
  std::shared_ptr<const ModuleText> text;
  Target target;
  bool is_given = false;  ///< the target; else it is the module's own
  grid::GlobalMemory memory = {};
  grid::Addresses addresses = {};  // of variables
  std::once_flag filling = {};
  std::unique_ptr<grid::Heap> heap = {};  // once a kernel has used it
  grid::Turns launches = {};
  std::mutex binding = {};
  grid::Bound bound = {};  // see Module::bind
  std::string file = {};   ///< from which it was loaded; empty: from memory
  // In a test that `warpbit notice` runs: what it is called, and with a mistake what it was without.
  std::string key = {};
  std::shared_ptr<State> original = {};

  grid::Bound references() {
    const std::lock_guard lock(binding);
    return bound;
  }
  /// Its variables with their bytes, which nothing needs before.
  const grid::GlobalMemory& variables() {
    std::call_once(filling, [&] { grid::fill_variables(*text, addresses, memory); });
    return memory;
  }
};

struct Function::State {
  std::shared_ptr<Module::State> module;
  const FunctionText* text;
  std::string name;
  std::vector<Parameter> parameters;
  grid::Program usual;
  std::shared_ptr<const State> original = {};  ///< without the mistake that is planted in it
  std::vector<AssemblerNote> notes = {};       // of the functions that it may call, too
  // Compiled when they are asked for.
  mutable std::mutex compiling = {};
  mutable std::map<grid::CompileOptions, Result<grid::Program>> others = {};

  Result<const grid::Program*> program(const grid::CompileOptions& options) const {
    if (options == grid::CompileOptions()) return &usual;
    const std::lock_guard turn(compiling);
    auto found = others.find(options);
    if (found == others.end())
      found =
          others.emplace(options, grid::compile(module->text, name, module->target, module->addresses, options))
              .first;
    if (!found->second) return found->second.error();
    return &*found->second;
  }
};

}  // namespace warpbit::ptx
