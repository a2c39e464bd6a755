// SPDX-License-Identifier: Apache-2.0
#include "async/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/checks.hpp"
#include "api/tensor_product.hpp"
#include "async/tensor_faults.hpp"
#include "isa/instruction.hpp"

namespace warpbit::async {

using block::TensorUse;

// ---- What is touched

namespace {

std::vector<Effects::MemoryRead> reads_of(const TensorTouches& touches, int block) {
  std::vector<Effects::MemoryRead> out;
  for (const SharedTouch& one : touches.shared)
    if (one.block == block)
      out.push_back({-1, Space::shared, one.bytes.first, one.bytes.last - one.bytes.first + 1});
  return out;
}

Tensor::Touches kept(const TensorTouches& touches) {
  return {touches.tensor, {reads_of(touches, 0), reads_of(touches, 1)}};
}

// What is read as A, of which tcgen05.commit may tell alone. It is in the list of each block; so is what B has of the same bytes.
void take_a(Tensor::Touches& touches) {
  const Tensor::Touches::Matrix& a = touches.matrices.front();
  for (const ByteRange& range : described_ranges(a.descriptor, a.matrix))
    touches.of_a.push_back({-1, Space::shared, range.first, range.last - range.first + 1});
  for (std::vector<Effects::MemoryRead>& all : touches.shared)
    for (const Effects::MemoryRead& one : touches.of_a) {
      const auto is_same = [&](const auto& other) {
        return other.address == one.address && other.bytes == one.bytes;
      };
      if (const auto found = std::ranges::find_if(all, is_same); found != all.end()) all.erase(found);
    }
}

// The kind and the matrices of a product, whose touches have been found.
void describe(const Instruction& instruction, const TensorMmaSources& sources, Tensor::Touches& out) {
  const Result<const TensorProduct*> product =
      tensor_product(instruction, sources.instruction, sources.scale_input_d);
  if (!product) return;
  out.shape = static_cast<std::uint64_t>((*product)->mma.kind) << 32;
  const auto add = [&](std::string_view name, std::uint64_t bits,
                       const std::optional<DescribedMatrix>& matrix) {
    const Result<Descriptor> descriptor = tensor_descriptor({}, bits);
    if (matrix && descriptor) out.matrices.push_back({name, bits, *descriptor, *matrix});
  };
  const bool has_a = !(*product)->mma.a_in_tensor_memory;
  if (has_a) add("A", sources.a, (*product)->tile.a_described);
  add("B", sources.b, (*product)->tile.b_described);
  if (has_a && !out.matrices.empty() && out.matrices.front().name == "A") take_a(out);
}

}  // namespace

// Whether the product takes tiles of tensor copies for what they are.
bool TensorIssue::takes_tiles(const Tensor::Touches& touches, std::span<Block* const> blocks) {
  for (const Block* const block : blocks) {
    if (block == nullptr || block->tiles.empty()) continue;
    for (const auto& [name, bits, descriptor, matrix] : touches.matrices)
      if (!here_.allows(block->tiles.mistaken({}, descriptor, matrix, who_))) return false;
  }
  return true;
}

bool TensorIssue::has_sound_descriptors(const Tensor::Touches& touches) {
  return std::ranges::all_of(touches.matrices, [&](const Tensor::Touches::Matrix& one) {
    return here_.allows(suspicious(one.name, one.bits, one.matrix, DescriptorForm::tcgen05, who_));
  });
}

template <class Find>
Result<const Tensor::Touches*> TensorIssue::touches(const Instruction& instruction,
                                                    std::array<std::uint64_t, 11> values, Find find,
                                                    const TensorMmaSources* product) {
  constexpr std::size_t kMax = 1024;
  std::array<std::uint64_t, 12> key{reinterpret_cast<std::uintptr_t>(&instruction.decoded())};
  std::ranges::copy(values, key.begin() + 1);
  std::map<std::array<std::uint64_t, 12>, Tensor::Touches>& all = here_.tensor().touches;
  if (const auto found = all.find(key); found != all.end()) return &found->second;
  const Result<TensorTouches> made = find();
  if (!made) return without_place(made.error());
  if (all.size() == kMax) all.clear();
  Tensor::Touches& out = all.emplace(key, kept(*made)).first->second;
  if (product != nullptr) describe(instruction, *product, out);
  return &out;
}

namespace {

bool disables_lanes(const TensorMmaSources& sources) {
  return std::ranges::any_of(sources.disabled_lanes, [](std::uint32_t word) { return word != 0; });
}

}  // namespace

// The next thing that the other block of the pair has done, and this one has not, is no deallocation of these words.
bool TensorIssue::peer_has_not_freed(const TensorTouch& touch, Block& of) {
  const std::size_t number = of.tensor().together.size();
  Block* const peer = number == 0 ? nullptr : of.cluster.block(of.shared.rank() ^ 1);
  if (peer == nullptr || peer->tensor().together.size() <= number) return true;
  const Tensor::Together& next = peer->tensor().together[number];
  const int end = next.columns.first - next.columns.count;
  if (next.columns.count >= 0 || touch.first_column >= end ||
      touch.first_column + touch.columns <= next.columns.first)
    return true;
  Fault out = block::fault_of(
      who_,
      {Errc::protocol_violation,
       {},
       fmt::format("block {} of the cluster, the other one of the pair, has deallocated {} of tensor memory",
                   peer->shared.rank(), range_text({next.columns.first, -next.columns.count})),
       "all threads of the cluster must execute a barrier.cluster between the last use in both blocks and the first "
       "tcgen05.dealloc"},
      KernelRule::tensor_pair);
  out.other = block::side_of_warp(next.who, "deallocates them");
  return here_.allows(std::move(out));
}

// Behind a wait a fence is missing: it is this warp's last one.
void TensorIssue::name_wait(Fault& fault) const {
  if (fault.rule != KernelRule::tensor_fence) return;
  if (const auto waited = here_.mbarriers.waited(warp()))
    fault.related.push_back(block::side_of_warp(waited->who, "the last wait of this warp for an mbarrier"));
}

bool TensorIssue::record(const Tensor::Touches& touches, std::span<Block* const> blocks, TensorUse use,
                         int pipe, std::uint32_t clock, const TensorMmaSources* product) {
  here_.tensor().last = {&touches, static_cast<int>(std::ranges::find(blocks, &here_) - blocks.begin())};
  for (const TensorTouch& one : touches.tensor) {
    if (!peer_has_not_freed(one, *blocks[static_cast<std::size_t>(one.block)])) return false;
    block::TensorAccesses::Access access{use, pipe, clock, who_};
    if (use == TensorUse::shift && !one.writes) continue;  // they are written, too
    access.needs_value = use == TensorUse::shift;
    if (product != nullptr) {
      const bool is_d = one.first_column == TensorAddress::decode(product->d).column;
      if (is_d && !one.writes) continue;  // it is written, too
      access.use = is_d ? TensorUse::accumulator : TensorUse::operand;
      access.shape = touches.shape | (product->instruction >> 17 & 0xFFF);  // the kind, N and M
      access.needs_value = is_d ? product->accumulates && !disables_lanes(*product) : !one.writes;
    }
    block::Found found = blocks[static_cast<std::size_t>(one.block)]->tensor().accesses.access(one, access);
    if (found) name_wait(*found);
    if (!here_.allows(std::move(found))) return false;
  }
  return true;
}

bool TensorIssue::record_operation(const Tensor::Touches& touches, std::span<Block* const> blocks,
                                   TensorUse use, const TensorMmaSources* product) {
  if (!here_.shared.records()) return true;
  block::TensorOrder& order = here_.cluster.tensor_order();
  const int pipe = order.operations(who_.thread);
  for (std::size_t i = 0; i < touches.shared.size(); ++i)
    for (const bool of_a : {true, false}) {
      const std::vector<Effects::MemoryRead>& read = of_a ? touches.of_a : touches.shared[i];
      if (blocks[i] != nullptr && !read.empty() &&
          !here_.allows(blocks[i]->shared.read_by({}, read, who_, order.reader(pipe, of_a))))
        return false;
    }
  return record(touches, blocks, use, pipe, order.issue(pipe, who_), product);
}

// ---- Operations

Result<bool> TensorIssue::product(const Instruction& instruction, const TensorMmaSources& sources,
                                  const ExecuteOptions& options, bool& inferred) {
  const int cta_group = std::get<TensorAction>(instruction.decoded().kernel).cta_group;
  std::array<Block*, 2> blocks = {};
  if (!uses_group(cta_group)) return false;
  const Result<std::vector<TensorBlock>> memories = pair(cta_group, blocks);
  if (!memories) return memories.error();
  if (memories->empty()) return false;
  if (here_.shared.records()) {
    const auto half = [](std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; };
    const auto& off = sources.disabled_lanes;
    const Result<const Tensor::Touches*> found = touches(
        instruction,
        {half(sources.d, sources.instruction), sources.a, sources.b, half(sources.metadata, sources.scale_a),
         half(sources.scale_b, sources.accumulates ? 1 : 0), sources.zero_columns, half(off[0], off[1]),
         half(off[2], off[3]), half(off[4], off[5]), half(off[6], off[7]),
         static_cast<std::uint64_t>(sources.scale_input_d)},
        [&] { return touches_of_mma(instruction, sources, *memories); }, &sources);
    if (!found) return found.error();
    if (!has_sound_descriptors(**found) || !takes_tiles(**found, blocks)) return false;
    if (!record_operation(**found, blocks, TensorUse::operand, &sources)) return false;
  }
  const Result<Execution> done = execute_mma(instruction, sources, *memories, options);
  if (!done) return without_place(done.error());
  inferred = inferred || done->inferred;
  return true;
}

Result<bool> TensorIssue::copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from) {
  const TensorAction& action = std::get<TensorAction>(instruction.decoded().kernel);
  std::array<Block*, 2> blocks = {};
  if (!uses_group(action.cta_group)) return false;
  const Result<std::vector<TensorBlock>> memories = pair(action.cta_group, blocks);
  if (!memories) return memories.error();
  if (memories->empty()) return false;
  if (here_.shared.records()) {
    const Result<const Tensor::Touches*> found =
        touches(instruction, {to, from}, [&] { return touches_of_copy(instruction, to, from, *memories); });
    if (!found) return found.error();
    const bool refreshes = std::get<tensor::Copy>(action.what).shape == tensor::Copy::Shape::s4x256b;
    if (!record_operation(**found, blocks, refreshes ? TensorUse::refresh : TensorUse::copy)) return false;
  }
  if (const Result<void> done = execute_copy(instruction, to, from, *memories); !done)
    return without_place(done.error());
  return true;
}

Result<bool> TensorIssue::shift(const Instruction& instruction, std::uint32_t at) {
  const int cta_group = std::get<TensorAction>(instruction.decoded().kernel).cta_group;
  std::array<Block*, 2> blocks = {};
  if (!uses_group(cta_group)) return false;
  const Result<std::vector<TensorBlock>> memories = pair(cta_group, blocks);
  if (!memories) return memories.error();
  if (memories->empty()) return false;
  if (here_.shared.records()) {
    const Result<const Tensor::Touches*> found =
        touches(instruction, {at}, [&] { return touches_of_shift(instruction, at, *memories); });
    if (!found) return found.error();
    if (!record_operation(**found, blocks, TensorUse::shift)) return false;
  }
  if (const Result<void> done = execute_shift(instruction, at, *memories); !done)
    return without_place(done.error());
  return true;
}

bool TensorIssue::commit(int cta_group, bool reads_of_a, std::span<const Object> objects) {
  if (!uses_group(cta_group)) return false;
  std::vector<block::Accesses::Agent> done;
  if (here_.shared.records())
    done = here_.cluster.tensor_order().committed(
        who_.thread, reads_of_a,
        objects.empty() ? "" : objects.front().block->mbarriers.phase_text(objects.front().at));
  block::MbarrierArrival arrival;
  arrival.reveals = done;
  arrival.name = "tcgen05.commit";
  return std::ranges::all_of(objects, [&](const Object& one) {
    block::MbarrierPromise promise;
    block::Found found = one.block->mbarriers.promise(one.at, arrival, who_, promise);
    return here_.promise(*one.block, std::move(found), std::move(promise));
  });
}

// ---- Loads and stores

// PTX manual, "Access restrictions"; hardware takes the lane modulo 32.
bool TensorIssue::names_own_window(const Instruction& instruction, std::uint32_t address) {
  if (!here_.shared.records() || !names_other_window(warp_in_block(), address)) return true;
  const int lane = TensorAddress::decode(address).lane,
            first = warp_in_block() % 4 * TensorMemory::kWindowLanes;
  const auto& move = std::get<tensor::RegisterMove>(std::get<TensorAction>(instruction.decoded().kernel).what);
  const bool takes_all = move.shape == tensor::MoveShape::s32x32b;
  return here_.allows(of_warp(
      who_,
      {Errc::protocol_violation,
       {},
       fmt::format("the address {:#x} names lane {}, and warp {} may access lanes {} to {} only (a GPU takes "
                   "the lane modulo 32)",
                   address, lane, warp_in_block(), first, first + TensorMemory::kWindowLanes - 1),
       takes_all ? fmt::format("the lane of the address must be {} (.32x32b takes 32 lanes)", first)
                 : fmt::format("the lane of the address must be {} to {} (16 lanes are taken from there on)",
                               first, first + TensorMemory::kWindowLanes / 2)},
      KernelRule::tensor_window));
}

Result<bool> TensorIssue::load(const Instruction& instruction, std::uint32_t address, std::int64_t split,
                               std::span<std::uint32_t> registers, std::span<std::uint32_t> reduced) {
  if (!names_own_window(instruction, address)) return false;
  if (here_.shared.records()) {
    const Result<const Tensor::Touches*> found = touches(
        instruction, {address, static_cast<std::uint64_t>(split), static_cast<std::uint64_t>(warp_in_block())},
        [&] { return touches_of_move(instruction, warp_in_block(), address, split); });
    if (!found) return found.error();
    block::TensorOrder& order = here_.cluster.tensor_order();
    const int pipe = order.loads(warp());
    Block* const here = &here_;
    if (!record(**found, {&here, 1}, TensorUse::load, pipe, order.issue(pipe, who_))) return false;
  }
  if (const Result<void> done =
          execute_load(instruction, warp_in_block(), address, split, here_.tensor().memory, registers, reduced);
      !done)
    return without_place(done.error());
  return true;
}

Result<bool> TensorIssue::store(const Instruction& instruction, std::uint32_t address, std::int64_t split,
                                std::span<const std::uint32_t> registers) {
  if (!names_own_window(instruction, address)) return false;
  if (here_.shared.records()) {
    const Result<const Tensor::Touches*> found = touches(
        instruction, {address, static_cast<std::uint64_t>(split), static_cast<std::uint64_t>(warp_in_block())},
        [&] { return touches_of_move(instruction, warp_in_block(), address, split); });
    if (!found) return found.error();
    block::TensorOrder& order = here_.cluster.tensor_order();
    const int pipe = order.stores(warp());
    Block* const here = &here_;
    if (!record(**found, {&here, 1}, TensorUse::store, pipe, order.issue(pipe, who_))) return false;
  }
  if (const Result<void> done =
          execute_store(instruction, warp_in_block(), address, split, here_.tensor().memory, registers);
      !done)
    return without_place(done.error());
  return true;
}

void TensorIssue::fence(bool before) {
  if (!here_.shared.records()) return;
  block::TensorOrder& order = here_.cluster.tensor_order();
  before ? order.fence_before(warp()) : order.fence_after(warp());
}

// Hardware waits for a register that is used; the manual does not promise more.
bool TensorIssue::use_register(const std::function<std::string(block::Place load)>& name) {
  if (!here_.shared.records()) return true;
  const std::optional<block::Who> load = here_.cluster.tensor_order().pending_load(warp());
  if (!load) return true;
  const std::string used = name(load->at);
  Fault out = of_warp(
      who_,
      {Errc::protocol_violation,
       {},
       fmt::format("this statement uses {}, a destination of a tcgen05.ld that has not been waited for", used),
       "this warp must execute tcgen05.wait::ld between that tcgen05.ld and this statement"},
      KernelRule::tensor_load_wait);
  out.other = block::side_of_warp(*load, "loads " + used);
  return here_.allows(std::move(out));
}

void TensorIssue::wait(bool stores) {
  if (here_.shared.records()) here_.cluster.tensor_order().wait(warp(), stores);
}

}  // namespace warpbit::async
