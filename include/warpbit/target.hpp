// SPDX-License-Identifier: Apache-2.0
// What PTX is compiled for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

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
