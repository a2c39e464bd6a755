// SPDX-License-Identifier: Apache-2.0
// Random kernels run without a GPU, and the digests of what they leave.
#pragma once

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "warpbit/ptx.hpp"

namespace random_kernels {

using Words = std::vector<std::uint32_t>;

inline const Kind* find_kind(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

/// As record.py has it.
inline std::uint64_t digest(const Words& words) {
  std::uint64_t sum = 0;
  for (std::size_t place = 0; place < words.size(); ++place) sum += mixed(words[place] + kGamma * (place + 1));
  return sum;
}
/// 16 digits, as files have it.
inline std::string text_of(std::uint64_t digest) {
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(digest));
  return out;
}

/// A kernel, loaded.
class Loaded {
 public:
  Loaded(const Kind& kind, std::uint64_t seed) : builder_(kind, seed) {
    text_ = std::string(kHead) + builder_.text();
    inputs_ = inputs(kind, seed, builder_.threads());
    const warpbit::Result<warpbit::ptx::Module> module = warpbit::ptx::Module::load(text_);
    if (!module) {
      said_ = module.error().message();
      return;
    }
    warpbit::Result<warpbit::ptx::Function> function = module->function(builder_.name());
    if (function)
      function_ = *function;
    else
      said_ = function.error().message();
  }

  /// What is left of zeros; nothing after a fault, which `said` tells. `without`: rules of the assembler that are off.
  std::optional<Words> run(bool as_written, std::vector<std::string> without = {}) {
    if (!function_) return {};
    Words words(inputs_.size());
    warpbit::ptx::Launch how;
    how.block = {static_cast<unsigned>(builder_.threads())};
    how.as_written = as_written;
    how.without = std::move(without);
    how.execute.threads = 1;
    const Words& in = inputs_;
    const warpbit::ptx::Report report =
        function_->launch(how, {warpbit::ptx::buffer(in), warpbit::ptx::buffer(words)});
    if (!as_written) notes_ = report.notes;
    if (!report.fault) return words;
    said_ = report.fault->message();
    return {};
  }

  const std::string& text() const { return text_; }
  const std::string& said() const { return said_; }  ///< an error or a fault, or nothing
  /// Defects of the assembler in it, once it has run.
  const std::vector<warpbit::ptx::AssemblerNote>& notes() const { return notes_; }

 private:
  Builder builder_;
  std::string text_, said_;
  Words inputs_;
  std::optional<warpbit::ptx::Function> function_;
  std::vector<warpbit::ptx::AssemblerNote> notes_;
};

}  // namespace random_kernels
