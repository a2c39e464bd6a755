// SPDX-License-Identifier: Apache-2.0
// Joint actions of a warp's lanes, once none of them can proceed alone.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>  // std::memcpy
#include <string>

#include "api/checks.hpp"
#include "device/block.hpp"
#include "warpbit/machine.hpp"

namespace warpbit::device {
namespace {

std::uint32_t bit(int lane) {
  return std::uint32_t{1} << lane;
}

std::string place(const Place& at) {
  return fmt::format("{}:{}", at.file, at.line);
}

std::string lanes_text(std::uint32_t lanes) {
  return fmt::format("{} {}", std::has_single_bit(lanes) ? "lane" : "lanes", ranges(lanes_of(lanes)));
}

std::size_t lane_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.registers * operand.register_bits / 8);
}

}  // namespace

void Block::go_on(int warp, std::uint32_t lanes) {
  for (int i = 0; i < kWarp; ++i)
    if ((lanes & bit(i)) != 0) lane(warp, i).state = Thread::State::ready;
}

Fault Block::fault_of_warp(int warp, Error error) {
  Fault out = fault_of(warp * kWarp, lane(warp, 0).request->at, std::move(error));
  out.lanes = lanes_of(kAllLanes);
  return out;
}

bool Block::meet(int warp) {
  const auto is = [](Thread::State state) { return [state](const Thread& t) { return t.state == state; }; };
  if (lanes_that(warp, is(Thread::State::waits)) == 0) return false;
  if (meet_masked(warp) || meet_instruction(warp)) return !fault_;
  if (fault_ || lanes_that(warp, is(Thread::State::stuck)) != 0) return false;
  if (meet_active_mask(warp)) return true;
  diagnose(warp);
  return false;
}

// CUDA C++ Programming Guide, "Warp Vote Functions", "Warp Shuffle Functions", "__syncwarp": all lanes in the
// mask that have not ended must execute the same call with the same mask.
bool Block::meet_masked(int warp) {
  bool progress = false;
  const std::uint32_t live = lanes_that(warp, [](const Thread& t) { return t.state != Thread::State::ended; });
  for (int i = 0; i < kWarp && !fault_; ++i) {
    if ((live & bit(i)) == 0 || lane(warp, i).state != Thread::State::waits) continue;
    const Request& first = *lane(warp, i).request;
    if (!first.is_masked()) continue;
    if ((first.mask & bit(i)) == 0) {
      fault_ = fault_of(warp * kWarp + i, first.at,
                        {Errc::inactive_lane, std::string(first.name),
                         fmt::format("lane {} is not in its own mask {:#010x}", i, first.mask),
                         "the mask must name every lane that executes it"});
      return false;
    }
    const std::uint32_t here = lanes_that(
        warp, [&](const Thread& t) { return t.state == Thread::State::waits && t.request->is_same(first); });
    const std::uint32_t wanted = first.mask & live;
    if ((here & wanted) != wanted) continue;
    if (first.kind == Request::Kind::shuffle) fault_ = shuffle(warp, wanted);
    if (first.kind == Request::Kind::vote) vote(warp, wanted);
    if (first.kind == Request::Kind::sync_warp) order_.sync_warp(warp, wanted);
    go_on(warp, wanted);
    progress = true;
  }
  return progress;
}

void Block::vote(int warp, std::uint32_t lanes) {
  std::uint64_t ballot = 0;
  for (const int i : lanes_of(lanes)) ballot |= lane(warp, i).request->value != 0 ? bit(i) : 0;
  for (const int i : lanes_of(lanes)) lane(warp, i).request->value = ballot;
}

// PTX manual, "shfl.sync": a lane reads another lane of its segment of `width` lanes, or itself if that lane
// does not exist.
std::optional<Fault> Block::shuffle(int warp, std::uint32_t lanes) {
  std::array<std::uint64_t, kWarp> values{};
  for (const int i : lanes_of(lanes)) values[static_cast<std::size_t>(i)] = lane(warp, i).request->value;
  for (const int i : lanes_of(lanes)) {
    Request& r = *lane(warp, i).request;
    const auto fault = [&](Errc code, std::string seen, std::string accepted) {
      return fault_of(warp * kWarp + i, r.at,
                      {code, std::string(r.name), std::move(seen), std::move(accepted)});
    };
    if (r.width < 1 || r.width > kWarp || !std::has_single_bit(static_cast<unsigned>(r.width)))
      return fault(Errc::undefined_operand, fmt::format("width {}", r.width), "1, 2, 4, 8, 16 or 32");
    const int first = i & ~(r.width - 1), operand = r.operand & (kWarp - 1);
    int from = i;
    switch (r.how) {
      case calls::Shuffle::index: from = first + (operand & (r.width - 1)); break;
      case calls::Shuffle::up: from = i - operand < first ? i : i - operand; break;
      case calls::Shuffle::down: from = i + operand >= first + r.width ? i : i + operand; break;
      case calls::Shuffle::exclusive_or: from = (i ^ operand) >= first + r.width ? i : i ^ operand; break;
    }
    if ((lanes & bit(from)) == 0) {
      Fault out = fault(Errc::inactive_lane, fmt::format("lane {} reads lane {}, which takes no part", i, from),
                        fmt::format("a lane that executes it: {}", ranges(lanes_of(lanes))));
      if (warp * kWarp + from < static_cast<int>(threads_.size()))
        out.other = {warp, {from}, lane(warp, from).last};
      return out;
    }
    r.value = values[static_cast<std::size_t>(from)];
  }
  return std::nullopt;
}

bool Block::meet_active_mask(int warp) {
  const auto asks = [](const Thread& t) {
    return t.state == Thread::State::waits && t.request->kind == Request::Kind::active_mask;
  };
  const std::uint32_t all = lanes_that(warp, asks);
  if (all == 0) return false;
  const Place at = lane(warp, std::countr_zero(all)).request->at;
  const std::uint32_t lanes = lanes_that(warp, [&](const Thread& t) { return asks(t) && t.request->at == at; });
  for (const int i : lanes_of(lanes)) lane(warp, i).request->value = lanes;
  go_on(warp, lanes);
  return true;
}

bool Block::meet_instruction(int warp) {
  if (lane(warp, 0).state != Thread::State::waits || !lane(warp, 0).request->is_instruction()) return false;
  const Request& first = *lane(warp, 0).request;
  if (lanes_that(warp, [&](const Thread& t) {
        return t.state == Thread::State::waits && t.request->is_same(first);
      }) != kAllLanes)
    return false;
  if (first.kind == Request::Kind::warpgroup) return meet_warpgroup(warp * kWarp / kWarpgroup);
  const Result<Instruction>& instruction = worker_.instruction(first.name, first.selector);
  if (!instruction) {
    fault_ = fault_of_warp(warp, instruction.error());
    return false;
  }
  std::optional<Fault> fault =
      first.kind == Request::Kind::execute ? execute(warp, *instruction) : move(warp, *instruction);
  if (fault && fault->error.code == Errc::never_written) {
    if (!stuck_) stuck_ = std::move(fault);
    for (const int i : lanes_of(kAllLanes)) lane(warp, i).state = Thread::State::stuck;
    return false;
  }
  if (fault) {
    fault_ = std::move(fault);
    return false;
  }
  go_on(warp, kAllLanes);
  return true;
}

// Executes an instruction on registers.
std::optional<Fault> Block::execute(int warp, const Instruction& instruction) {
  std::array<OperandView, std::tuple_size_v<decltype(registers_)>> views{};
  const std::span<const Operand> operands = instruction.operands();
  std::size_t given = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].kind == OperandKind::immediate) continue;
    const std::size_t size = lane_bytes(operands[k]);
    std::vector<std::byte>& bytes = registers_[k];
    bytes.resize(kWarp * size);
    views[k] = OperandView::dense(bytes.data(), kWarp, operands[k].registers, operands[k].register_bits);
    if (k == 0) continue;
    for (int i = 0; i < kWarp; ++i)
      std::memcpy(&bytes[static_cast<std::size_t>(i) * size], lane(warp, i).request->sources[given], size);
    ++given;
  }
  const Operand& d = operands[0];
  ExecuteOptions options = how_.execute;
  options.threads = 1;
  const Result<Execution> done =
      execute_batch(instruction, std::span(views).subspan(1, operands.size() - 1),
                    ResultView::dense(registers_[0].data(), kWarp, d.registers, d.register_bits), 1, options);
  if (!done) return fault_of_warp(warp, done.error());
  inferred_ = inferred_ || done->inferred;
  const std::size_t size = lane_bytes(d);
  for (int i = 0; i < kWarp; ++i)
    std::memcpy(lane(warp, i).request->d, &registers_[0][static_cast<std::size_t>(i) * size], size);
  return std::nullopt;
}

// Moves between registers and shared memory. Register 0 of each lane is its address; those of the matrix
// follow.
std::optional<Fault> Block::move(int warp, const Instruction& instruction) {
  const bool loads = lane(warp, 0).request->kind == Request::Kind::load_matrix;
  const int lines = instruction.rows() * instruction.products();
  const Operand& matrix = *instruction.find(loads ? Part::d : Part::source);
  const auto row_bytes = std::int64_t{16};  // per address: PTX manual, "ldmatrix", "stmatrix"
  Registers registers(kWarp, 1 + matrix.registers);
  std::array<const Instruction*, kWarp> lanes{};
  for (int i = 0; i < kWarp; ++i) {
    const Request& r = *lane(warp, i).request;
    lanes[static_cast<std::size_t>(i)] = &instruction;
    if (i < lines)
      if (auto fault = check_shared(r.name, r.row, row_bytes, 16, warp * kWarp + i, r.at)) return fault;
    registers.write(i, 0, static_cast<std::uint64_t>(r.row.at));
    if (loads) continue;
    const auto* words = static_cast<const std::uint32_t*>(r.sources[0]);
    for (int k = 0; k < matrix.registers; ++k) registers.write(i, 1 + k, words[k]);
  }
  ExecuteOptions options = how_.execute;
  options.threads = 1;
  const Result<Effects> effects =
      execute_warp(lanes, loads ? Binding{1, 0} : Binding{0, 1}, registers, memory_, options);
  if (!effects) {
    Fault fault = fault_of_warp(warp, effects.error());
    fault.error.where = fmt::format("{}, {}", instruction.canonical(), fault.error.where);
    return fault;
  }
  return move_accesses(warp, instruction, *effects);
}

std::optional<Fault> Block::move_accesses(int warp, const Instruction& instruction, const Effects& effects) {
  const std::string_view what = instruction.canonical();
  const Place at = lane(warp, 0).request->at;
  for (const Effects::MemoryRead& r : effects.memory_reads)
    if (auto fault = read(what, static_cast<std::int64_t>(r.address), static_cast<std::int64_t>(r.bytes),
                          warp * kWarp + r.lane, at))
      return fault;
  for (const Effects::MemoryWrite& w : effects.memory_writes) {
    if (auto fault = write(what, static_cast<std::int64_t>(w.address),
                           static_cast<std::int64_t>(w.bytes.size()), warp * kWarp + w.lane, at))
      return fault;
    (void)memory_.write(w.space, w.address, w.bytes);  // execute_warp has checked it
  }
  for (const Effects::Write& w : effects.writes)
    static_cast<std::uint32_t*>(lane(warp, w.lane).request->d)[w.reg - 1] = static_cast<std::uint32_t>(w.value);
  inferred_ = inferred_ || effects.inferred;
  return std::nullopt;
}

// ---- Deadlocks

// The fault if `wanted` lanes do not execute the instruction that lane `first` waits for.
Fault Block::missing(int warp, int first, std::uint32_t wanted) {
  const Request& r = *lane(warp, first).request;
  const std::uint32_t here = lanes_that(
      warp, [&](const Thread& t) { return t.state == Thread::State::waits && t.request->is_same(r); });
  const std::uint32_t away = wanted & ~here;
  const std::uint32_t waits = lanes_that(warp, [](const Thread& t) { return t.state == Thread::State::waits; });
  Fault out = fault_of(warp * kWarp + first, r.at, {});
  out.lanes = lanes_of(away);
  const std::string must = r.is_masked()
                               ? fmt::format("all lanes of the mask {:#010x} must execute it", r.mask)
                               : fmt::format("all lanes of the {} must execute it, at one place",
                                             r.kind == Request::Kind::warpgroup ? "warpgroup" : "warp");
  if ((away & waits) != 0) {
    const Thread& one = lane(warp, std::countr_zero(away & waits));
    const std::uint32_t same = lanes_that(warp, [&](const Thread& t) {
      return t.state == Thread::State::waits && t.request->is_same(*one.request);
    });
    out.lanes = lanes_of(same & away);
    out.other = {warp, out.lanes, one.request->at};
    const bool barrier = r.kind == Request::Kind::barrier || one.request->kind == Request::Kind::barrier;
    out.error = {barrier ? Errc::threads_diverge : Errc::lanes_disagree, std::string(r.form()),
                 fmt::format("executed by {}, but {} by {}", lanes_text(here), one.request->form(),
                             lanes_text(same & away)),
                 must};
    return out;
  }
  const int one = std::countr_zero(away);
  if (warp * kWarp + one < static_cast<int>(threads_.size()))
    out.other = {warp, out.lanes, lane(warp, one).last};
  out.error = {Errc::lanes_missing, std::string(r.form()),
               fmt::format("executed by {}, but {} {} ended", lanes_text(here), lanes_text(away),
                           std::has_single_bit(away) ? "has" : "have"),
               must};
  return out;
}

// Finds the fault when all lanes wait or have ended and no request can be fulfilled, unless all wait at one
// barrier.
void Block::diagnose(int warp) {
  const std::uint32_t live = lanes_that(warp, [](const Thread& t) { return t.state == Thread::State::waits; });
  const auto of = [&](auto condition) {
    return lanes_that(
        warp, [&](const Thread& t) { return t.state == Thread::State::waits && condition(*t.request); });
  };
  // Report the widest rendezvous first: warp instruction, masked operation, barrier.
  for (const std::uint32_t lanes : {of([](const Request& r) { return r.is_instruction(); }),
                                    of([](const Request& r) { return r.is_masked(); }), live}) {
    if (lanes == 0) continue;
    const int first = std::countr_zero(lanes);
    const Request& r = *lane(warp, first).request;
    const std::uint32_t wanted = r.is_instruction() ? kAllLanes : r.is_masked() ? r.mask & live : live;
    if ((wanted & ~of([&](const Request& x) { return x.is_same(r); })) == 0) continue;
    fault_ = missing(warp, first, wanted);
    return;
  }
}

// CUDA C++ Programming Guide, "Synchronization Functions": a condition around __syncthreads must be the same
// for all threads of the block.
void Block::check_barrier() {
  const Thread* first = nullptr;
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i) {
    const Thread& t = thread(i);
    if (t.state != Thread::State::waits) continue;
    if (first == nullptr) first = &t;
    if (t.request->at == first->request->at) continue;
    const auto one = static_cast<int>(first - threads_.data());
    Fault out = fault_of(i, t.request->at,
                         {Errc::threads_diverge, std::string(t.request->name),
                          fmt::format("warp {} waits at {}, warp {} at {}", one / kWarp,
                                      place(first->request->at), i / kWarp, place(t.request->at)),
                          "all threads of a block must wait at the same place"});
    out.other = {one / kWarp, {one % kWarp}, first->request->at};
    fault_ = std::move(out);
    return;
  }
}

}  // namespace warpbit::device
