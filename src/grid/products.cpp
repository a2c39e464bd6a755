// SPDX-License-Identifier: Apache-2.0
#include "grid/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/checks.hpp"
#include "grid/block.hpp"
#include "grid/bounds.hpp"
#include "grid/written.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {

// ---- Before a launch

namespace {

const Instruction* product_of(const Program& program, const Step& step) {
  if (step.run != steps::tensor) return nullptr;
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(step.extra)];
  return instruction.lanes() == 4 * kLanes ? &instruction : nullptr;
}

// A mov between two registers of 32 bits or of 16, or of a constant to one. To a register from a vector it computes.
bool is_copy(const Program& program, const Step& step) {
  return step.statement >= 0 && does(program, step) == ptx::Does::move && step.extra < 0 &&
         step.place[0].kind == Place::Kind::reg && (step.place[0].bits == 32 || step.place[0].bits == 16);
}

// A mov of a register of 32 bits to its halves: each is a copy of it. ptxas 13.0 takes it so, too: it says of no wait that
// it puts before one, as it does of what computes with an accumulator or stores it (C7517).
const std::vector<Place>* copied_halves(const Program& program, const Step& step) {
  const Place& from = step.place[2];
  const bool is_one = step.statement >= 0 && does(program, step) == ptx::Does::move && step.extra >= 0 &&
                      !step.place[0].exists() && from.kind == Place::Kind::reg && from.bits == 32;
  return is_one ? &program.places[static_cast<std::size_t>(step.extra)] : nullptr;
}

/// The slots of one function that its products use, and those that are copies of them.
class Used {
 public:
  Used(const Program& program, const FunctionCode& function, std::span<const Step> steps)
      : program_(program), slots_(static_cast<std::size_t>(function.slots)) {
    for (const Step& step : steps)
      if (const Instruction* const product = product_of(program, step)) add_operands(step, *product);
    while (any_ && add_copies(steps)) continue;
  }
  bool any() const { return any_; }
  bool has(const Place& place) const { return place.kind == Place::Kind::reg && slots_[place.slot]; }

 private:
  void add(const Place& place) {
    if (place.kind == Place::Kind::reg) any_ = slots_[place.slot] = true;
  }
  void add_operands(const Step& step, const Instruction& product) {
    std::size_t at = 0;
    for (const warpbit::Operand& operand : product.operands())
      for (int r = 0; r < operand.registers; ++r, ++at)
        if (operand.kind == OperandKind::vector && (operand.part == Part::d || operand.part == Part::a))
          add(program_.places[static_cast<std::size_t>(step.target)][at]);
  }
  // Both ways: a value comes from a copy, too. Halves come from what is used.
  bool add_copies(std::span<const Step> steps) {
    bool added = false;
    for (const Step& step : steps) {
      if (const auto* const parts = copied_halves(program_, step); parts != nullptr && has(step.place[2]))
        for (const Place& part : *parts) {
          added = added || (part.kind == Place::Kind::reg && !has(part));
          add(part);
        }
      const Place &to = step.place[0], &from = step.place[2];
      if (!is_copy(program_, step) || from.kind != Place::Kind::reg || has(to) == has(from)) continue;
      add(to), add(from);
      added = true;
    }
    return added;
  }

  const Program& program_;
  std::vector<bool> slots_;
  bool any_ = false;
};

Touch touch_of(const Program& program, const Step& step, const Used& used) {
  Touch out;
  for_each_use(program, step, [&](const Place& place, Use use) {
    if (used.has(place)) (use == Use::result ? out.writes : out.reads).push_back(static_cast<int>(place.slot));
  });
  const ptx::Does what = does(program, step);
  if (what == ptx::Does::load || what == ptx::Does::store) out.kind = Touch::Kind::moves;
  if (copied_halves(program, step) != nullptr)
    out.kind = Touch::Kind::copies;
  else if (is_copy(program, step))
    out.kind = step.place[2].kind == Place::Kind::reg ? Touch::Kind::copies : Touch::Kind::sets;
  return out;
}

}  // namespace

void find_touches(Program& program) {
  for (std::size_t f = 0; f < program.functions.size(); ++f) {
    const std::span<Step> steps = steps_of(program, f);
    const Used used(program, program.functions[f], steps);
    if (!used.any()) continue;
    for (Step& step : steps) {
      if (product_of(program, step) != nullptr) continue;
      // A run of products would pass by what its later steps touch.
      if (step.run == steps::tensor) program.tensor_plans[static_cast<std::size_t>(step.extra)].run = -1;
      Touch touch = touch_of(program, step, used);
      if (touch.reads.empty() && touch.writes.empty()) continue;
      step.touch = static_cast<std::int32_t>(program.touches.size());
      program.touches.push_back(std::move(touch));
      steps::note(step);
    }
  }
}

// ---- During a launch

namespace {

// Registers are numbered from 1; this one stands for values from local memory, and from registers that no product uses.
constexpr int kFirst = 1, kMemory = 0;

bool is_local(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  if (!step.access.generic) return step.access.space == ptx::StateSpace::local;
  const std::uint64_t address = warp.read(path, step.place[2], std::countr_zero(lanes));
  return address + static_cast<std::uint64_t>(step.access.offset) - kLocalWindow < kWindowBytes;
}

int threads_of(const Grid& grid) {
  return static_cast<int>(grid.threads[0] * grid.threads[1] * grid.threads[2]);
}

// Compilers put no proxy fence behind cp.async, although it writes through the generic proxy.
block::Products::Ordered copied(const Program& program) {
  return
      [&program](block::Place at) { return statement_of(origin_at(program, at)).is->does == ptx::Does::copy; };
}

}  // namespace

Products::Products(Block& block)
    : block_(block),
      shared_(threads_of(block.grid()), block.accesses(), {}, copied(block.grid().program)),
      warps_(static_cast<std::size_t>((threads_of(block.grid()) + kLanes - 1) / kLanes)),
      has_variables_(std::ranges::count(block.grid().program.variables, ptx::StateSpace::shared,
                                        [](const PlacedVariable& one) { return one.variable->space; }) > 1) {}

// With the registers of the path's function, each of which has a slot of its own.
AsyncState& Products::of(Warp& warp, const Path& path) {
  std::unique_ptr<OfWarp>& out = warps_[static_cast<std::size_t>(warp.number())];
  if (!out) {
    out = std::make_unique<OfWarp>(OfWarp{AsyncState(0)});
    out->state = AsyncState(0, [of = out.get()](int reg) {
      const Place place{Place::Kind::reg, 32, false, static_cast<std::uint32_t>(reg - of->first)};
      return reg < of->first ? "a register of a caller" : register_name(*of->function, place, 0);
    });
  }
  out->function = &warp.program().functions[static_cast<std::size_t>(path.function)];
  out->first = kFirst + static_cast<int>(path.frame);
  if (const int registers = out->first + out->function->slots; registers > out->registers)
    out->state.grow(out->registers = registers);
  return out->state;
}

namespace {

/// A factor of a product that lies in shared memory.
struct Described {
  Part part;
  std::uint64_t descriptor;
  const DescribedMatrix& matrix;
};

std::vector<Described> described(Warp& warp, const Path& path, const Step& step, const Instruction& product) {
  const Tile& tile = std::get<Tile>(product.decoded().kernel);
  const std::vector<Place>& places = warp.program().places[static_cast<std::size_t>(step.target)];
  std::vector<Described> out;
  std::size_t at = 0;
  for (const warpbit::Operand& operand : product.operands()) {
    const std::size_t place = std::exchange(at, at + static_cast<std::size_t>(operand.registers));
    const std::optional<DescribedMatrix>& matrix =
        operand.part == Part::a ? tile.a_described : tile.b_described;
    if ((operand.part == Part::a || operand.part == Part::b) && matrix)
      out.push_back({operand.part, warp.read(path, places[place], 0), *matrix});
  }
  return out;
}
std::vector<Described> described(const steps::Gathered& first, const Instruction& product) {
  return described(*first.warp, *first.path, *first.step, product);
}

}  // namespace

std::vector<Effects::MemoryRead> reads_of_product(Warp& warp, const Path& path, const Step& step) {
  const Instruction* const product = product_of(warp.program(), step);
  if (product == nullptr) return {};
  WarpgroupSources sources;
  for (const auto& [part, descriptor, matrix] : described(warp, path, step, *product))
    (part == Part::a ? sources.a_descriptor : sources.b_descriptor) = descriptor;
  return described_reads(*product, sources);
}

// Whether the product takes tiles of tensor copies for what they are.
block::Found Products::mistaken(const steps::Gathered& first, const Instruction& product) const {
  const async::CopiedTiles& tiles = block_.async().tiles;
  if (tiles.empty()) return std::nullopt;
  for (const auto& [part, descriptor, matrix] : described(first, product))
    if (auto found = tiles.mistaken(product.canonical(), Descriptor::decode(descriptor), matrix,
                                    Block::who(*first.warp, *first.step, 0)))
      return found;
  return std::nullopt;
}

namespace {

// The matrix of a descriptor begins in one variable of .shared and ends behind it.
block::Found beyond_variable(const steps::Gathered& first, const Described& of) {
  const auto& [part, descriptor, matrix] = of;
  const Descriptor decoded = Descriptor::decode(descriptor);
  const std::optional<SharedVariable> variable = shared_variable(first.warp->program(), decoded.start);
  const std::uint64_t end = described_end(decoded, matrix);
  if (!variable || end <= variable->first + variable->bytes) return std::nullopt;
  block::Found out = block::fault_of(
      Block::who(*first.warp, *first.step, 0),
      {Errc::address_out_of_bounds,
       {},
       fmt::format(
           "bytes {} to {} of '{}' ({} bytes of .shared), which the descriptor {:#x} of {} (start {:#x}, LBO {}, SBO {} "
           "bytes, {}) describes",
           decoded.start - variable->first, end - variable->first - 1, variable->name, variable->bytes,
           descriptor, part == Part::a ? "A" : "B", decoded.start, decoded.leading, decoded.stride,
           name(decoded.swizzle)),
       fmt::format("a matrix that begins in '{}' must end in it", variable->name)},
      KernelRule::beyond_variable);
  out->address = {Space::shared, static_cast<std::int64_t>(decoded.start)};
  return out;
}

}  // namespace

block::Found Products::suspicious(std::span<const steps::Gathered> warps, const Instruction& product) {
  const steps::Gathered& first = warps.front();
  for (const Described& one : described(first, product)) {
    const auto& [part, descriptor, matrix] = one;
    if (has_variables_ && bounded_.emplace(&product, part, descriptor).second)
      if (auto found = beyond_variable(first, one))
        return block::of_group(first.warp->number_in_cluster() / block::kGroupWarps, *std::move(found));
    constexpr std::uint64_t kStart = 0x3FFF;
    const std::pair anywhere(matrix, descriptor & ~kStart);
    const bool is_sound = std::ranges::find(sound_, anywhere) != sound_.end();
    if (is_sound || !judged_.emplace(&product, part, descriptor).second) continue;
    if (!async::reads_twice(Descriptor::decode(descriptor), matrix)) {
      sound_.push_back(anywhere);
      continue;
    }
    if (auto found = async::suspicious(part == Part::a ? "A" : "B", descriptor, matrix, DescriptorForm::wgmma,
                                       Block::who(*first.warp, *first.step, 0)))
      return block::of_group(first.warp->number_in_cluster() / block::kGroupWarps, *std::move(found));
  }
  return std::nullopt;
}

namespace {

// What a product reads in shared memory, and the registers that are its own until it is waited for, by their numbers among
// its places.
Effects asynchronous_effects(const Instruction& product, const WarpgroupSources& sources) {
  Effects out;
  out.memory_reads = described_reads(product, sources);
  AsyncUse use{{product.rows(), product.columns(), product.depth()}, {}, {}};
  int number = 0;
  for (const warpbit::Operand& operand : product.operands())
    for (int end = number + operand.registers; number < end; ++number) {
      if (operand.part == Part::d) use.accumulators.push_back(number);
      if (operand.part == Part::a && operand.kind == OperandKind::vector) use.factors.push_back(number);
    }
  out.deferred = std::move(use);
  return out;
}

}  // namespace

const Effects& Products::effects_of(const Instruction& product, const WarpgroupSources& sources) {
  constexpr std::size_t kMax = 256;
  const std::tuple key(&product, sources.a_descriptor, sources.b_descriptor);
  if (const auto found = effects_.find(key); found != effects_.end()) return found->second;
  if (effects_.size() == kMax) effects_.clear();
  return effects_.emplace(key, asynchronous_effects(product, sources)).first->second;
}

block::Found Products::issue(std::span<const steps::Gathered> warps, const Instruction& product,
                             const WarpgroupSources& sources) {
  return issue(warps, product, effects_of(product, sources));
}

block::Found Products::issue(std::span<const steps::Gathered> warps, const Instruction& product,
                             const Effects& effects) {
  const steps::Gathered& first = warps.front();
  const block::Place at = Block::who(*first.warp, *first.step, 0).at;
  Effects of_group;
  of_group.memory_reads = effects.memory_reads;
  of_group.deferred = AsyncUse{effects.deferred->shape, {}, {}};
  if (block::Found found =
          shared_.issue(first.warp->number_in_cluster() / block::kGroupWarps, product, std::move(of_group), at))
    return found;
  if (block::Found found = mistaken(first, product))
    return block::of_group(first.warp->number_in_cluster() / block::kGroupWarps, *std::move(found));
  block::Shared& memory = block_.accesses();
  Effects of_last;  // of this warp, and of others that have the same registers
  const steps::Gathered* last = nullptr;
  for (const steps::Gathered& one : warps) {
    const std::vector<Place>& places = one.warp->program().places[static_cast<std::size_t>(one.step->target)];
    AsyncState& state = of(*one.warp, *one.path);
    const auto take = [&](const std::vector<int>& numbers, std::vector<int>& to) {
      to.resize(numbers.size());
      std::size_t count = 0;
      for (const int number : numbers)
        if (const Place& place = places[static_cast<std::size_t>(number)]; place.kind == Place::Kind::reg)
          to[count++] = kFirst + static_cast<int>(one.path->frame + place.slot);
      to.resize(count);
    };
    if (last == nullptr || last->step != one.step || last->path->frame != one.path->frame) {
      of_last.deferred = AsyncUse{effects.deferred->shape, {}, {}};
      take(effects.deferred->accumulators, of_last.deferred->accumulators);
      take(effects.deferred->factors, of_last.deferred->factors);
      last = &one;
    }
    const block::Who who = Block::who(*one.warp, *one.step, 0);
    const AsyncActor actor{product.canonical(),
                           memory.actor({first.warp->number_in_cluster() * kLanes, at}, true)};
    if (state.repeat(actor, *of_last.deferred)) continue;
    if (const auto found = state.check(actor, of_last, {})) {
      Fault out = memory.violated(block::fault_of(who, {}), *found);
      out.lanes = block::lanes_of(kAllLanes);
      return out;
    }
    Registers none(0, 0);
    (void)state.apply(actor, of_last, none);
  }
  return std::nullopt;
}

void Products::control(std::span<const steps::Gathered> warps, const Instruction& instruction) {
  shared_.control(warps.front().warp->number_in_cluster() / block::kGroupWarps, instruction);
  for (const steps::Gathered& one : warps) {
    Effects effects;
    effects.control = std::get<Control>(instruction.decoded().kernel).control;
    Registers none(0, 0);
    (void)of(*one.warp, *one.path).apply({instruction.canonical()}, std::move(effects), none);
  }
}

block::Found Products::touch(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  const Touch& touch = warp.program().touches[static_cast<std::size_t>(step.touch)];
  AsyncState& state = of(warp, path);
  const int first = kFirst + static_cast<int>(path.frame);
  if (touch.kind == Touch::Kind::copies) {
    const int from = touch.reads.empty() ? kMemory : first + touch.reads[0];
    for (const int slot : touch.writes) state.copy(from, first + slot);
    return std::nullopt;
  }
  if (touch.kind == Touch::Kind::moves && is_local(warp, path, step, lanes)) {
    for (const int slot : touch.writes) state.copy(kMemory, first + slot);
    return std::nullopt;
  }
  const block::Who who = Block::who(warp, step, std::countr_zero(lanes));
  const AsyncActor actor{{}, block_.accesses().actor(who)};
  if (state.is_pending()) {
    Effects effects;
    for (const int slot : touch.reads) effects.reads.push_back(first + slot);
    for (const int slot : touch.writes) effects.writes.push_back({0, first + slot, 0});
    if (const auto found = state.check(actor, effects, {})) {
      Fault out = block_.accesses().violated(block::fault_of(who, {}), *found);
      out.lanes = block::lanes_of(lanes);
      return out;
    }
  }
  if (touch.kind != Touch::Kind::sets)
    for (const int slot : touch.writes) state.written(actor, first + slot);
  return std::nullopt;
}

}  // namespace warpbit::grid
