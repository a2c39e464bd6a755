// SPDX-License-Identifier: Apache-2.0
// What hypotheses about a tcgen05.mma work on: the values of its operands and the memories before it. Each changes them, or says
// where D was read in truth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/hypothesis.hpp"
#include "fragment/tensor_maps.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::diagnosis {

/// What an mma has; a copy for each hypothesis.
struct TensorState {
  TensorMmaSources sources;
  std::vector<TensorMemory> tensor;            ///< by block
  std::vector<std::vector<std::byte>> shared;  ///< by block

  std::vector<TensorBlock> blocks();
};

/// A word of tensor memory, its column relative to that of D's address.
struct TensorCell {
  int block, lane, column;
};

/// An mma, its descriptors and what it has.
struct TensorSubject {
  const Instruction& instruction;
  TensorMma mma;
  InstructionDescriptor of;
  tensor::Extent extent;
  std::vector<TensorCell> d;  ///< by rows
  TensorState state;
  TensorDiagnoseOptions::Compared compared;

  /// Errors: those of execute_mma that concern the instruction descriptor.
  static Result<TensorSubject> make(const Instruction& instruction, const TensorMmaSources& sources,
                                    std::span<const TensorBlock> blocks,
                                    TensorDiagnoseOptions::Compared compared);
  bool is_wanted() const { return compared == TensorDiagnoseOptions::Compared::wanted; }
  int stored_k() const { return of.is_sparse ? of.k / 2 : of.k; }
};

using TensorChange = std::function<void(TensorState&)>;
/// From where the element of D that lies in a cell was read; nothing if from outside tensor memory.
using TensorRead = std::function<std::optional<TensorCell>(const TensorCell&)>;

struct TensorMistake {
  Hypothesis words;
  TensorChange change = {};
  TensorRead read = {};
  /// Nobody can know what it makes of D in the lanes from here on.
  int known_lanes = TensorMemory::kLanes;
};

/// Mistakes as they are collected.
struct TensorMistakes {
  const TensorSubject& subject;
  std::vector<TensorMistake> all = {};

  void add(Hypothesis words, TensorChange change) { all.push_back({std::move(words), std::move(change), {}}); }
  /// A change that is not its own inverse. Where D is what is wanted, `words` are the mistake that `inverse` puts right.
  void add(Hypothesis words, TensorChange change, TensorChange inverse) {
    all.push_back({std::move(words), subject.is_wanted() ? std::move(inverse) : std::move(change), {}});
  }
  void add_read(Hypothesis words, TensorRead read) { all.push_back({std::move(words), {}, std::move(read)}); }
};

/// Everything that may have happened, by tables.
void collect_tensor_operands(TensorMistakes& to);
void collect_tensor_contents(TensorMistakes& to);
void collect_tensor_reads(TensorMistakes& to);

}  // namespace warpbit::diagnosis
