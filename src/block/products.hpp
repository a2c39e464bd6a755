// SPDX-License-Identifier: Apache-2.0
// The warpgroups of a block that have asynchronous products: their registers, and what is in flight.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "block/shared.hpp"
#include "warpbit/instruction.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// Warpgroups are numbered as their threads are: in the cluster.
class Products {
 public:
  /// The name of a register of a warpgroup in faults.
  using Name = std::function<std::string(int group, int reg)>;
  struct Group {
    Registers registers;
    AsyncState async;
    int agent = -1;  ///< of the pair which reads for its products; its clock is their number
    std::uint32_t issued = 0, complete = 0;  ///< products
    Place last = {};                         ///< where the last one was issued
    /// Ensures that lanes have this number of registers or more.
    void reserve(int count);
  };

  /// Whether what was written at a place needs no proxy fence.
  using Ordered = std::function<bool(Place)>;

  /// `shared` stays where it is.
  Products(int threads, Shared& shared, Name name, Ordered ordered = {});

  /// It begins without registers.
  Group& group(int number);
  /// The same; nullptr: it has had none.
  const Group* find(int number) const {
    return groups_[static_cast<std::size_t>(number - shared_.first_group())].get();
  }

  /// A thread's access to its registers. `what` is the action's name in faults.
  Found access(std::string_view what, Effects effects, Who who);
  /// The thread ends its use of `count` registers.
  Found release(std::string_view what, int first, int count, Who who);

  /// A warpgroup issues a product; `effects` are those of execute_warp.
  Found issue(int group, const Instruction& product, Effects effects, Place at);
  /// A warpgroup executes a fence, commits a group or waits.
  void control(int group, const Instruction& instruction);
  /// The last product of each warpgroup that has not waited for it: its first thread.
  std::vector<Who> pending() const;

 private:
  std::optional<Accesses::Unfenced> unfenced(std::uint64_t address, std::uint64_t bytes, int group) const;

  Shared& shared_;
  Name name_;
  Ordered ordered_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace warpbit::block
#pragma GCC visibility pop
