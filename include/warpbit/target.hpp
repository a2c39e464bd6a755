// SPDX-License-Identifier: Apache-2.0
// Targets, and what their arithmetic rests on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- Evidence

/// How a statement about a GPU is known. Ordered: a smaller value is stronger.
enum class Basis {
  captured,   ///< a capture of this project, replayed by its tests
  published,  ///< results of that GPU that somebody else published
  inferred,   ///< no result of that GPU; `from` says what it was inferred from
};
std::string_view name(Basis basis);

/// A basis and where to look.
struct Ground {
  Basis basis;
  std::string_view from;
};

/// The grounds of each parameter of a plan (NUMERICS.md, "The node"). Where a parameter does not apply (the
/// floor of an integer sum), its ground is that of the order.
struct Evidence {
  Ground order;     ///< which products are added in which order, and where C enters; L
  Ground window;    ///< F, and the rounding of the result
  Ground floor;     ///< the floor of E
  Ground specials;  ///< NaN, Inf, signs of zero

  /// The weaker of order and window: what the result for ordinary numbers rests on.
  constexpr Basis overall() const { return order.basis > window.basis ? order.basis : window.basis; }
};

// ---- Targets

struct TargetRow;  // src/target/target.hpp

/// A target, named as in a PTX `.target` directive (PTX manual, "PTX Module Directives: .target"). Cheap to
/// copy; the rows live as long as the program.
class Target {
 public:
  /// Error: unknown_target, which lists the known ones.
  static Result<Target> find(std::string_view name);
  /// All targets, oldest first.
  static std::vector<Target> all();

  std::string_view name() const;
  const TargetRow& row() const { return *row_; }
  friend bool operator==(Target, Target) = default;

 private:
  explicit Target(const TargetRow& row) : row_(&row) {}
  const TargetRow* row_;
};

/// The names of the given targets, separated by ", ".
std::string names(const std::vector<Target>& targets);

}  // namespace warpbit
#pragma GCC visibility pop
