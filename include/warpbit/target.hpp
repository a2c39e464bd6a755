// SPDX-License-Identifier: Apache-2.0
// Targets, and the evidence for their arithmetic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- Evidence

/// How a statement about a GPU is known. Ordered: a smaller value is stronger evidence.
enum class Basis {
  captured,    ///< a capture of this project, replayed by its tests
  published,   ///< published results of that GPU by others
  value_only,  ///< measured on that GPU by others, who published the parameter's value but no results
  inferred,    ///< no result of that GPU; `from` names the source of the inference
};
std::string_view name(Basis basis);

/// A basis and its source.
struct Ground {
  Basis basis;
  std::string_view from;
};

/// The evidence for each parameter of a plan (NUMERICS.md, "The node"). If a parameter does not apply (the
/// floor of an integer sum), its evidence is that of the order.
struct Evidence {
  Ground order;     ///< the products in each sum, their order, and the place of C; L
  Ground window;    ///< F, and the rounding of the result
  Ground floor;     ///< the floor of E
  Ground specials;  ///< NaN, Inf, signs of zero

  /// The weaker of order and window: the evidence for results of ordinary numbers.
  constexpr Basis overall() const { return order.basis > window.basis ? order.basis : window.basis; }
};

// ---- Targets

struct TargetRow;  // src/target/target.hpp

/// A target, named as in a PTX `.target` directive (PTX manual, "PTX Module Directives: .target"). Cheap to
/// copy; the rows live as long as the program.
class Target {
 public:
  /// The target of a name that people use: the PTX name, a GPU ("H100", "NVIDIA GeForce RTX 4090") or an
  /// architecture ("hopper"), as target_names() has them. Case, blanks, '-' and '_' do not matter. Errors:
  /// unknown_target, which lists the known ones and names that are near; ambiguous_target, which lists what the
  /// name may be.
  static Result<Target> find(std::string_view name);
  /// The target of a PTX name exactly: for what PTX and capture files say. Error: unknown_target, which gives the PTX
  /// name of a GPU's.
  static Result<Target> find_ptx(std::string_view name);
  /// All targets, oldest first.
  static std::vector<Target> all();

  std::string_view name() const;
  const TargetRow& row() const { return *row_; }
  friend bool operator==(Target, Target) = default;

 private:
  explicit Target(const TargetRow& row) : row_(&row) {}
  const TargetRow* row_;
};

/// A generation of GPUs, and the target that has all their instructions.
struct TargetNames {
  Target target;
  std::string_view architecture;        ///< "Hopper"
  std::vector<std::string_view> names;  ///< "H100", "RTX 4090", "hopper"
};
/// All names of targets but PTX's own, oldest first.
std::vector<TargetNames> target_names();

/// The names of the given targets, separated by ", ".
std::string names(const std::vector<Target>& targets);

}  // namespace warpbit
#pragma GCC visibility pop
