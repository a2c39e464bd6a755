// SPDX-License-Identifier: Apache-2.0
// What the four warps of a warpgroup do together, and the registers that asynchronous products use.
#include "device/warpgroup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>  // std::uncaught_exceptions
#include <numeric>    // std::iota
#include <utility>

#include "api/checks.hpp"
#include "device/block.hpp"
#include "isa/instruction.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/machine.hpp"

namespace warpbit::device {
namespace {

constexpr int kGroupWarps = kWarpgroup / kWarp;
constexpr std::uint64_t kProduct = std::uint64_t{1} << 63;
constexpr int kPlaceBits = 16;

std::vector<int> whole_warp() {
  std::vector<int> out(kWarp);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

bool same_operands(const calls::WarpgroupProduct& x, const calls::WarpgroupProduct& y) {
  return x.d == y.d && x.a == y.a && x.b == y.b && x.scale_d == y.scale_d;
}

// The last byte that a product would read, of the first factor that goes beyond the memory.
std::optional<std::int64_t> beyond(const Instruction& instruction, const calls::WarpgroupProduct& product,
                                   std::uint64_t bytes) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  for (const auto& [factor, descriptor] :
       {std::pair(tile.b_described, product.b), std::pair(tile.a_described, product.a)})
    if (factor && described_end(Descriptor::decode(descriptor), *factor) > bytes)
      return static_cast<std::int64_t>(described_end(Descriptor::decode(descriptor), *factor) - 1);
  return std::nullopt;
}

}  // namespace

// ---- Registers

int RegisterStack::push(int bottom, int count, Place made) {
  const int first = parts_.empty() ? bottom : parts_.back().first + parts_.back().count;
  parts_.push_back({first, count, made});
  return first;
}

void RegisterStack::release(int first) {
  for (Part& part : parts_)
    if (part.first == first) part.alive = false;
  while (!parts_.empty() && !parts_.back().alive) parts_.pop_back();
}

const RegisterStack::Part* RegisterStack::find(int reg) const {
  const auto part = std::ranges::find_if(
      parts_, [&](const Part& p) { return p.alive && reg >= p.first && reg < p.first + p.count; });
  return part == parts_.end() ? nullptr : &*part;
}

Warpgroup::Warpgroup(AsyncState::RegisterName name)
    : registers(kWarpgroup, kFragments), async(kFragments, std::move(name)) {}

void Warpgroup::reserve(int count) {
  if (count <= registers.registers()) return;
  Registers wider(kWarpgroup, 2 * count);
  for (int lane = 0; lane < kWarpgroup; ++lane)
    for (int reg = 0; reg < registers.registers(); ++reg) wider.write(lane, reg, registers.read(lane, reg));
  registers = std::move(wider);
  async.grow(registers.registers());
}

Warpgroup& Block::group(int number) {
  std::unique_ptr<Warpgroup>& out = groups_[static_cast<std::size_t>(number)];
  if (!out) out = std::make_unique<Warpgroup>([this, number](int reg) { return register_name(number, reg); });
  return *out;
}

// Of the thread that runs, or of the first one of another warpgroup.
std::string Block::register_name(int number, int reg) {
  Thread& owner = running_ / kWarpgroup == number ? running() : thread(number * kWarpgroup);
  const RegisterStack::Part* part = owner.registers.find(reg);
  if (part == nullptr) return fmt::format("register {}", reg);
  return fmt::format("register {} of the fragment of line {}", reg - part->first, part->made.line);
}

// Of all lanes of the warpgroup, if it is a product.
std::uint64_t Block::actor(int thread, Place at, bool is_product) {
  return (is_product ? kProduct : 0) | static_cast<std::uint64_t>(thread) << kPlaceBits | accesses_.number(at);
}

Fault::Side Block::side(std::uint64_t actor) const {
  const int thread = static_cast<int>((actor & ~kProduct) >> kPlaceBits);
  const Place at = accesses_.place(static_cast<std::uint16_t>(actor));
  if ((actor & kProduct) != 0) return {thread / kWarp, whole_warp(), at, kGroupWarps};
  return {thread / kWarp, {thread % kWarp}, at};
}

Fault Block::violated(Fault fault, const AsyncViolation& violation) {
  fault.error = violation.error;
  if (violation.other) fault.other = side(*violation.other);
  if (violation.bytes) fault.address = {Space::shared, static_cast<std::int64_t>(violation.bytes->first)};
  return fault;
}

int Block::make_registers(int count, Place at) {
  running().last = at;
  const int first = running().registers.push(Warpgroup::kFragments, count, at);
  Warpgroup& g = group(running_ / kWarpgroup);
  g.reserve(first + count);
  Effects zeros;
  for (int reg = first; reg < first + count; ++reg) zeros.writes.push_back({running_ % kWarpgroup, reg, 0});
  (void)g.async.apply({{}, actor(running_, at)}, std::move(zeros), g.registers);
  return first;
}

void Block::release_registers(int first, int count, Place made) {
  if (!unwinding_ && !fault_ && std::uncaught_exceptions() == 0)
    if (const auto found =
            group(running_ / kWarpgroup).async.check_release({"end of an AsyncFragment"}, first, count))
      fault_ = violated(fault_of(running_, made, {}), *found);
  running().registers.release(first);
}

void Block::access_register(const calls::RegisterView& view, Effects effects, const char* who, Place at) {
  running().last = at;
  if (view.at < 0 || view.at >= view.count)
    fail(fault_of(running_, at,
                  {Errc::address_out_of_bounds, who, fmt::format("register {}", view.at),
                   fmt::format("it has {}", view.count)}));
  Warpgroup& g = group(running_ / kWarpgroup);
  const AsyncActor actor_now{who, actor(running_, at)};
  if (const auto found = g.async.check(actor_now, effects, {}))
    fail(violated(fault_of(running_, at, {}), *found));
  (void)g.async.apply(actor_now, std::move(effects), g.registers);
}

std::uint32_t Block::read_register(const calls::RegisterView& from, Place at) {
  const int reg = from.first + static_cast<int>(from.at);
  Effects effects;
  effects.reads = {reg};
  access_register(from, std::move(effects), "read of an AsyncFragment", at);
  return static_cast<std::uint32_t>(group(running_ / kWarpgroup).registers.read(running_ % kWarpgroup, reg));
}

void Block::write_register(const calls::RegisterView& to, std::uint32_t value, Place at) {
  Effects effects;
  effects.writes = {{running_ % kWarpgroup, to.first + static_cast<int>(to.at), value}};
  access_register(to, std::move(effects), "write to an AsyncFragment", at);
}

// ---- Shared memory

std::uint64_t Block::matrix_descriptor(const calls::SharedView& start, const Descriptor& fields, Place at) {
  constexpr auto kWhat = "matrix_descriptor";
  running().last = at;
  fail_if(check_shared(kWhat, start, 16, 16, running_, at));
  const Result<std::uint64_t> bits = fields.encode();
  if (!bits) fail(fault_of(running_, at, bits.error()));
  return *bits;
}

void Block::fence_proxy(const char* form, Place at) {
  running().last = at;
  const Result<Instruction>& instruction = worker_.instruction(form, -1);
  if (!instruction) fail(fault_of(running_, at, instruction.error()));
  order_.fence(running_);
}

// Whether a product that is pending reads what is about to be written.
std::optional<Fault> Block::overwritten(std::string_view what, std::int64_t first, std::int64_t bytes,
                                        int thread, Place at) {
  const ByteRange range{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(first + bytes - 1)};
  for (const std::unique_ptr<Warpgroup>& g : groups_) {
    if (!g || !g->async.is_pending()) continue;
    if (const auto found = g->async.check_store({what}, range))
      return violated(fault_of(thread, at, {}), *found);
  }
  return std::nullopt;
}

// All lanes read the bytes. Lanes of two warps stand for the rest: what one lane has written no lane of another
// warp may read without a barrier between.
std::optional<Fault> Block::read_as_group(int number, std::string_view what, const Effects::MemoryRead& bytes,
                                          Place at) {
  const int first = number * kWarpgroup, second = first + kWarp;
  for (const int reader : {first, second}) {
    const auto found = accesses_.read(static_cast<std::int64_t>(bytes.address),
                                      static_cast<std::int64_t>(bytes.bytes), reader, at, order_);
    if (!found) continue;
    const bool by_first_warp = found->before && found->before->thread / kWarp == first / kWarp;
    Fault out = conflict(what, *found, by_first_warp ? second : first, at);
    out.warp = first / kWarp;
    out.warps = kGroupWarps;
    out.lanes = whole_warp();
    return out;
  }
  return std::nullopt;
}

// ---- Meeting

Fault Block::fault_of_group(int number, Error error) {
  const int first = number * kWarpgroup;
  Fault out = fault_of(first, thread(first).request->at, std::move(error));
  out.lanes = whole_warp();
  out.warps = kGroupWarps;
  return out;
}

bool Block::meet_warpgroup(int number) {
  const int first = number * kWarpgroup;
  if (static_cast<int>(threads_.size()) < first + kWarpgroup || thread(first).state != Thread::State::waits)
    return false;
  const Request& wanted = request(number, 0);
  const auto lanes = std::span(threads_).subspan(static_cast<std::size_t>(first), kWarpgroup);
  if (!std::ranges::all_of(lanes, [&](const Thread& t) {
        return t.state == Thread::State::waits && t.request->is_same(wanted);
      }))
    return false;
  const Result<Instruction>& instruction = worker_.instruction(wanted.name, -1);
  std::optional<Fault> fault;
  if (!instruction)
    fault = fault_of_group(number, instruction.error());
  else if (wanted.product != nullptr)
    fault = multiply(number, *instruction);
  else
    control(number, *instruction);
  if (fault && fault->error.code == Errc::never_written) {
    if (!stuck_) stuck_ = std::move(fault);
    for (Thread& t : lanes) t.state = Thread::State::stuck;
    return false;
  }
  if (fault) {
    fault_ = std::move(fault);
    return false;
  }
  for (Thread& t : lanes) t.state = Thread::State::ready;
  return true;
}

// Lanes that give other operands than lane 0: registers, which one instruction names alike for all.
std::optional<Fault> Block::disagreeing(int number, const Instruction& instruction) {
  const bool described = instruction.find(Part::left_factor)->kind == OperandKind::descriptor;
  const calls::WarpgroupProduct& first = *request(number, 0).product;
  for (int lane = 1; lane < kWarpgroup; ++lane) {
    const calls::WarpgroupProduct& one = *request(number, lane).product;
    if (one.d == first.d && (described || one.a == first.a)) continue;
    Fault out = fault_of(number * kWarpgroup + lane, request(number, lane).at,
                         {Errc::lanes_disagree, std::string(instruction.canonical()),
                          fmt::format("{} is another fragment in lane {} of warp {} than in lane 0 of warp {}",
                                      one.d == first.d ? "a" : "d", lane % kWarp,
                                      (number * kWarpgroup + lane) / kWarp, number * kGroupWarps),
                          "all lanes must give the same"});
    out.other = {number * kGroupWarps, {0}, request(number, 0).at};
    return out;
  }
  return std::nullopt;
}

std::optional<Fault> Block::multiply(int number, const Instruction& instruction) {
  if (auto fault = disagreeing(number, instruction)) return fault;
  Warpgroup& g = group(number);
  const Place at = request(number, 0).at;
  const calls::WarpgroupProduct& product = *request(number, 0).product;
  Binding binding;
  for (const Operand& operand : instruction.operands()) {
    const bool in_registers = operand.kind != OperandKind::descriptor;
    binding.push_back(operand.part == Part::destination ? product.d
                      : operand.part == Part::left_factor
                          ? in_registers ? static_cast<int>(product.a) : Warpgroup::kDescriptorA
                      : operand.part == Part::right_factor ? Warpgroup::kDescriptorB
                                                           : Warpgroup::kScaleD);
  }
  std::array<const Instruction*, kWarpgroup> lanes{};
  std::vector<int> different;
  for (int lane = 0; lane < kWarpgroup; ++lane) {
    const calls::WarpgroupProduct& own = *request(number, lane).product;
    lanes[static_cast<std::size_t>(lane)] = &instruction;
    g.registers.write(lane, Warpgroup::kDescriptorA, own.a);
    g.registers.write(lane, Warpgroup::kDescriptorB, own.b);
    g.registers.write(lane, Warpgroup::kScaleD, own.scale_d ? 1 : 0);
    const bool same_warp = different.empty() || different.front() / kWarp == lane / kWarp;
    if (!same_operands(own, product) && same_warp) different.push_back(lane);
  }
  ExecuteOptions options = how_.execute;
  options.threads = 1;
  Result<Effects> effects = execute_warp(lanes, binding, g.async.ahead(g.registers), memory_, options);
  if (!effects) {
    Fault out = fault_of_group(number, effects.error());
    if (out.error.code == Errc::lanes_disagree) {
      out.warp += different.front() / kWarp;
      out.warps = 1;
      out.lanes.clear();
      for (const int lane : different) out.lanes.push_back(lane % kWarp);
      out.other = {number * kGroupWarps, {0}, at};
    }
    if (out.error.code == Errc::address_out_of_bounds)
      out.address = {Space::shared, *beyond(instruction, product, memory_.shared_bytes())};
    return out;
  }
  for (const Effects::MemoryRead& read : effects->memory_reads)
    if (auto fault = read_as_group(number, instruction.canonical(), read, at)) return fault;
  std::optional<Accesses::Unfenced> written;
  const auto unordered = [&](std::uint64_t address, std::uint64_t bytes) -> std::optional<ByteRange> {
    written = accesses_.unfenced(static_cast<std::int64_t>(address), static_cast<std::int64_t>(bytes),
                                 number * kWarpgroup, kWarpgroup, order_);
    if (!written) return std::nullopt;
    return ByteRange{static_cast<std::uint64_t>(written->first), static_cast<std::uint64_t>(written->last)};
  };
  const AsyncActor who{instruction.canonical(), actor(number * kWarpgroup, at, true)};
  if (const auto found = g.async.check(who, *effects, unordered)) {
    Fault out = violated(fault_of_group(number, {}), *found);
    if (written) out.other = side(actor(written->write.thread, written->write.at));
    return out;
  }
  inferred_ = inferred_ || effects->inferred;
  (void)g.async.apply(who, *std::move(effects), g.registers);
  return std::nullopt;
}

// A product that is complete has read until now.
void Block::control(int number, const Instruction& instruction) {
  Warpgroup& g = group(number);
  Effects effects;
  effects.control = std::get<Control>(instruction.decoded().kernel).control;
  for (const AsyncState::Product& complete :
       g.async.apply({instruction.canonical()}, std::move(effects), g.registers))
    for (const Effects::MemoryRead& read : complete.effects.memory_reads)
      (void)read_as_group(number, complete.text, read, side(complete.number).at);
}

// ---- Warps that will never meet

// Of a warpgroup, `first` waits for an instruction that `warp` does not execute.
Fault Block::missing_warp(int first, int warp) {
  const Request& r = *thread(first).request;
  const auto together = [&](const Thread& t) {
    return t.state == Thread::State::waits && t.request->is_same(r);
  };
  std::vector<int> here;
  const int first_warp = first / kWarpgroup * kGroupWarps;
  for (int w = first_warp; w < first_warp + kGroupWarps; ++w)
    if (w * kWarp < static_cast<int>(threads_.size()) && lanes_that(w, together) != 0) here.push_back(w);
  Fault out = fault_of(first, r.at, {});
  const auto seen = [&](std::string_view what) {
    return fmt::format("executed by {} {}, but {}", here.size() == 1 ? "warp" : "warps", ranges(here), what);
  };
  const std::string must = "all four warps of the warpgroup must execute it, at one place";
  if (warp * kWarp >= static_cast<int>(threads_.size())) {
    out.error = {Errc::lanes_missing, std::string(r.form()), seen(fmt::format("there is no warp {}", warp)),
                 must};
    return out;
  }
  const std::uint32_t waiting =
      lanes_that(warp, [](const Thread& t) { return t.state == Thread::State::waits; });
  if (waiting == 0) {
    out.lanes = whole_warp();
    out.other = {warp, out.lanes, lane(warp, 0).last};
    out.error = {Errc::lanes_missing, std::string(r.form()), seen(fmt::format("warp {} has ended", warp)),
                 must};
    return out;
  }
  out.lanes = lanes_of(waiting);
  const Request& one = *lane(warp, out.lanes.front()).request;
  out.other = {warp, out.lanes, one.at};
  out.error = {one.kind == Request::Kind::barrier ? Errc::threads_diverge : Errc::lanes_disagree,
               std::string(r.form()), seen(fmt::format("{} by warp {}", one.form(), warp)), must};
  return out;
}

// No thread can go on: nothing that a warpgroup waits for will come.
void Block::check_warpgroups() {
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i) {
    const Thread& t = thread(i);
    if (t.state != Thread::State::waits || t.request->kind != Request::Kind::warpgroup) continue;
    const int first_warp = i / kWarpgroup * kGroupWarps;
    for (int warp = first_warp; warp < first_warp + kGroupWarps; ++warp) {
      const bool is_there = warp * kWarp < static_cast<int>(threads_.size()) &&
                            lanes_that(warp, [&](const Thread& other) {
                              return other.state == Thread::State::waits && other.request->is_same(*t.request);
                            }) != 0;
      if (is_there) continue;
      fault_ = missing_warp(i, warp);
      return;
    }
  }
}

}  // namespace warpbit::device
