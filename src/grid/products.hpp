// SPDX-License-Identifier: Apache-2.0
// The asynchronous products of a block's warpgroups: what they read in shared memory (block/products), and which registers
// of each warp they use until they are waited for. Here a product is computed when it is issued; who accesses its
// registers before they are its own again, or its tile, finds a fault.
//
// Compilers move values between registers as they like: a mov between two, or of one to its halves, is no access, but makes
// the one what the other is, and a constant may be set behind a fence. Without optimisation all values live in local
// memory: accesses to it count neither.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "block/products.hpp"
#include "grid/steps.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/execute.hpp"

namespace warpbit::grid {

class Block;

/// Finds the steps that touch registers of products, or copies of them, and has them noted.
void find_touches(Program& program);

/// What a product of a warpgroup reads in shared memory; nothing of other steps.
std::vector<Effects::MemoryRead> reads_of_product(Warp& warp, const Path& path, const Step& step);

class Products {
 public:
  explicit Products(Block& block);

  /// Four warps issue a product. `effects` are those of execute_warp, with the numbers of its places as registers.
  block::Found issue(std::span<const steps::Gathered> warps, const Instruction& product,
                     const Effects& effects);
  /// The same of a product that is not computed by execute_warp.
  block::Found issue(std::span<const steps::Gathered> warps, const Instruction& product,
                     const WarpgroupSources& sources);
  /// What looks wrong in the descriptors of a product that four warps are about to issue.
  block::Found suspicious(std::span<const steps::Gathered> warps, const Instruction& product);
  /// Four warps fence their registers, commit a group, or wait.
  void control(std::span<const steps::Gathered> warps, const Instruction& instruction);
  /// Lanes of a warp are about to do a step that touches registers.
  block::Found touch(Warp& warp, const Path& path, const Step& step, Lanes lanes);
  const block::Products& of_groups() const { return shared_; }
  /// Those of block::Products.
  std::vector<block::Who> pending() const { return shared_.pending(); }

 private:
  struct OfWarp {
    AsyncState state;
    int registers = 0;
    const FunctionCode* function = nullptr;  // at the access that is checked
    int first = 0;
  };
  AsyncState& of(Warp& warp, const Path& path);
  block::Found mistaken(const steps::Gathered& first, const Instruction& product) const;
  const Effects& effects_of(const Instruction& product, const WarpgroupSources& sources);

  Block& block_;
  block::Products shared_;
  std::vector<std::unique_ptr<OfWarp>> warps_;
  // By the product and its descriptors, of which a ring of stages has few.
  std::map<std::tuple<const Instruction*, std::uint64_t, std::uint64_t>, Effects> effects_;
  std::set<std::tuple<const Instruction*, Part, std::uint64_t>> judged_, bounded_;  // descriptors
  // Those, without their starts, that read nothing twice of a matrix, wherever they start.
  std::vector<std::pair<DescribedMatrix, std::uint64_t>> sound_;
  bool has_variables_;  // of .shared, more than one
};

}  // namespace warpbit::grid
