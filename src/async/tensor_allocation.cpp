// SPDX-License-Identifier: Apache-2.0
// Pairs of blocks, and which columns of tensor memory they have.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>  // std::abs
#include <utility>

#include "async/tensor_faults.hpp"

namespace warpbit::async {
namespace {

Result<Block*> peer_of(Block& here) {
  if (Block* const peer = here.cluster.block(here.shared.rank() ^ 1)) return peer;
  return Error{Errc::launch_shape,
               {},
               fmt::format("a cluster of {} blocks", here.shared.cluster().blocks()),
               "pairs of blocks for .cta_group::2"};
}

}  // namespace

// All instructions of a kernel have one .cta_group, which the assembler checks.
bool TensorIssue::uses_group(int cta_group) {
  Tensor& tensor = here_.tensor();
  if (tensor.cta_group == 0) {
    tensor.cta_group = cta_group;
    tensor.first = who_;
  }
  if (tensor.cta_group == cta_group || !here_.shared.records()) return true;
  Fault out =
      block::fault_of(who_, {Errc::protocol_violation,
                             {},
                             fmt::format("it has .cta_group::{}, and the kernel has used .cta_group::{}",
                                         cta_group, tensor.cta_group),
                             "all tcgen05 instructions of a kernel must have the same .cta_group"});
  out.other = block::side_of(tensor.first, fmt::format("uses .cta_group::{}", tensor.cta_group));
  return here_.allows(std::move(out));
}

// ---- Pairs

Result<std::vector<TensorBlock>> TensorIssue::pair(int cta_group, std::span<Block*> blocks) {
  const int rank = here_.shared.rank();
  blocks[0] = &here_;
  if (cta_group == 2) {
    const Result<Block*> peer = peer_of(here_);
    if (!peer) return peer.error();
    blocks[static_cast<std::size_t>(rank & 1)] = &here_;
    blocks[static_cast<std::size_t>((rank & 1) ^ 1)] = *peer;
    // An empty result: a fault was found.
    if (!here_.cluster.may_access(here_, **peer, who_)) return std::vector<TensorBlock>();
  }
  std::vector<TensorBlock> out;
  for (int i = 0; i < cta_group; ++i) {
    Block& one = *blocks[static_cast<std::size_t>(i)];
    out.push_back({&one.tensor().memory, one.memory()});
  }
  return out;
}

// ---- Allocation

// What one block of a pair does the other one does, too.
Result<bool> TensorIssue::agree(Block& peer, TensorMemory::Columns columns) {
  Tensor &mine = here_.tensor(), &others = peer.tensor();
  mine.together.push_back({columns, who_, here_.shared.order().clock(who_.thread)});
  const std::size_t last = mine.together.size() - 1;
  if (last >= others.together.size() || others.together[last].columns == columns) return true;
  const auto words = [](TensorMemory::Columns of) {
    return of.count > 0 ? "the allocation of " + range_text(of)
                        : "the deallocation of " + range_text({of.first, -of.count});
  };
  return Error{Errc::tensor_memory,
               {},
               fmt::format("{} in block {} of the cluster, and {} in block {}", words(columns),
                           here_.shared.rank(), words(others.together[last].columns), peer.shared.rank()),
               "the same columns in both blocks of a pair, in the same order"};
}

// Before the block deallocates: what the other block of the pair did with its columns happens before that, also if it has
// deallocated first.
bool TensorIssue::peer_is_done(Tensor& peer, TensorMemory::Columns freed) {
  if (!here_.shared.records()) return true;
  const std::size_t number = here_.tensor().together.size();
  std::shared_ptr<const block::TensorAccesses> before;
  if (number < peer.together.size()) before = std::exchange(peer.together[number].before, {});
  const block::TensorAccesses& accesses = before ? *before : peer.accesses;
  return here_.allows(accesses.deallocate_for_peer(freed.first, freed.count, who_));
}

// Before the block deallocates: the allocation of the other block of the pair happens before that.
bool TensorIssue::peer_has_allocated(Block& peer, TensorMemory::Columns columns) {
  if (!here_.shared.records()) return true;
  const std::vector<Tensor::Together>&mine = here_.tensor().together, &others = peer.tensor().together;
  const auto own = std::find_if(mine.rbegin(), mine.rend(),
                                [&](const Tensor::Together& one) { return one.columns == columns; });
  const auto number = static_cast<std::size_t>(mine.rend() - own);  // from 1 on
  if (number == 0) return true;
  const Tensor::Together* const other = number > others.size() ? nullptr : &others[number - 1];
  if (other != nullptr && here_.shared.order().before(other->who.thread, other->clock, who_.thread))
    return true;
  Fault out = of_warp(
      who_,
      {Errc::protocol_violation,
       {},
       other == nullptr
           ? fmt::format("block {} of the cluster, the other one of the pair, may not have allocated "
                         "its columns",
                         peer.shared.rank())
           : fmt::format("nothing orders the allocation by block {} of the cluster, the other one "
                         "of the pair, before this deallocation",
                         peer.shared.rank()),
       "all threads of the cluster must execute a barrier.cluster between both blocks' tcgen05.alloc and the "
       "first tcgen05.dealloc"},
      KernelRule::tensor_pair);
  if (other != nullptr) out.other = block::side_of_warp(other->who, "the allocation of the other block");
  return here_.allows(std::move(out));
}

Result<std::optional<std::uint32_t>> TensorIssue::allocate(int cta_group, std::uint32_t columns,
                                                           bool is_exclusive) {
  if (!uses_group(cta_group)) return std::optional<std::uint32_t>();
  Tensor& tensor = here_.tensor();
  const Result<Block*> peer = cta_group == 2 ? peer_of(here_) : Result<Block*>(nullptr);
  if (!peer) return peer.error();
  const Result<std::optional<TensorAddress>> at = tensor.memory.allocate(columns, is_exclusive);
  if (!at) return without_place(at.error());
  if (!*at) return std::optional<std::uint32_t>();
  const TensorMemory::Columns made{(*at)->column, static_cast<int>(columns)};
  tensor.allocated.push_back({made, cta_group, who_});
  if (*peer != nullptr)
    if (const Result<bool> agreed = agree(**peer, made); !agreed) return agreed.error();
  here_.cluster.happened();
  return std::optional((*at)->encode());
}

Result<bool> TensorIssue::deallocate(int cta_group, std::uint32_t address, std::uint32_t columns,
                                     bool is_exclusive) {
  if (!uses_group(cta_group)) return false;
  Tensor& tensor = here_.tensor();
  const Result<Block*> peer = cta_group == 2 ? peer_of(here_) : Result<Block*>(nullptr);
  if (!peer) return peer.error();
  const TensorMemory::Columns freed{TensorAddress::decode(address).column, static_cast<int>(columns)};
  if (const Result<void> done = tensor.memory.deallocate(address, columns, is_exclusive); !done) {
    Error error = without_place(done.error());
    if (tensor.freed && tensor.freed->columns == freed) {
      error.seen += ", which are deallocated already";
      error.accepted = "one tcgen05.dealloc for each tcgen05.alloc";
    }
    return error;
  }
  std::erase_if(tensor.allocated, [&](const Tensor::Allocated& one) { return one.columns == freed; });
  tensor.freed = {freed, cta_group, who_};
  if (*peer != nullptr) {
    if (!peer_has_allocated(**peer, freed)) return false;
    if (!peer_is_done((*peer)->tensor(), freed)) return false;
    if (const Result<bool> agreed = agree(**peer, {freed.first, -freed.count}); !agreed) return agreed.error();
  }
  here_.cluster.happened();
  if (!here_.shared.records()) return true;
  if (*peer != nullptr && tensor.together.size() > (*peer)->tensor().together.size())
    tensor.together.back().before = std::make_shared<const block::TensorAccesses>(tensor.accesses);
  return here_.allows(tensor.accesses.deallocate(freed.first, freed.count, who_));
}

Result<bool> TensorIssue::relinquish(int cta_group) {
  if (!uses_group(cta_group)) return false;
  here_.tensor().memory.relinquish();
  return true;
}

std::string awaited(Block& block, std::uint32_t columns) {
  std::string all;
  int count = 0;
  for (const TensorMemory::Columns& one : block.tensor().memory.allocations()) {
    all += fmt::format("{}{}", all.empty() ? "" : ", ", range_text(one));
    count += one.count;
  }
  return fmt::format("{} columns of tensor memory: {} of {} are allocated ({})", columns, count,
                     TensorMemory::kColumns, all);
}

namespace {

// The last block of a pair ends: both have allocated and deallocated the same.
bool end_pair(Block& block, block::Who who) {
  Block* const peer = block.cluster.block(block.shared.rank() ^ 1);
  if (peer == nullptr || !peer->ended || !(block.has_tensor() || peer->has_tensor())) return true;
  const std::vector<Tensor::Together>&mine = block.tensor().together, &others = peer->tensor().together;
  if (mine.size() == others.size()) return true;
  const bool more = mine.size() > others.size();
  const Tensor::Together& first = more ? mine[others.size()] : others[mine.size()];
  Fault out = block::fault_of(
      who,
      {Errc::tensor_memory,
       {},
       fmt::format(
           "block {} of the cluster has {} columns of tensor memory of a pair ({}), and block {} has ended without that",
           (more ? block : *peer).shared.rank(), first.columns.count > 0 ? "allocated" : "deallocated",
           range_text({first.columns.first, std::abs(first.columns.count)}),
           (more ? *peer : block).shared.rank()),
       "both blocks of a pair must take part"});
  out.other = block::side_of_warp(first.who, first.columns.count > 0 ? "allocates them" : "deallocates them");
  return block.allows(std::move(out));
}

}  // namespace

bool end_tensor(Block& block, block::Who who) {
  if (!block.has_tensor()) return !block.shared.records() || end_pair(block, who);
  for (const Tensor::Allocated& one : std::exchange(block.tensor().allocated, {})) {
    Fault out = block::fault_of(
        who,
        {Errc::protocol_violation,
         {},
         fmt::format("the block ends, and {} columns of tensor memory at {:#x} are still allocated",
                     one.columns.count, one.columns.first),
         block.tensor().cta_group == 2
             ? "one warp of each block of the pair must execute tcgen05.dealloc before the end"
             : "one warp must execute tcgen05.dealloc before the end"},
        KernelRule::tensor_not_freed);
    out.other = block::side_of_warp(one.who, "allocates them");
    if (!block.allows(std::move(out))) return false;
  }
  return !block.shared.records() || end_pair(block, who);
}

}  // namespace warpbit::async
