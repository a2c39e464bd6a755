// SPDX-License-Identifier: Apache-2.0
#include "debug_state.hpp"

#include <cstring>

#include "launches.hpp"
#include "records.hpp"

namespace warpbit::python {
namespace {

using OptionalWords = As<"Optional[NDArray[np.uint32]]">;

// ---- Registers

/// How NumPy has a register of a type.
struct LaneType {
  std::string_view type;
  const char* dtype;
};
constexpr LaneType kLaneTypes[] = {{"pred", "u1"}, {"u8", "u1"},  {"s8", "i1"},  {"b8", "u1"},  {"u16", "u2"},
                                   {"s16", "i2"},  {"b16", "u2"}, {"f16", "f2"}, {"u32", "u4"}, {"s32", "i4"},
                                   {"b32", "u4"},  {"f32", "f4"}, {"s64", "i8"}, {"f64", "f8"}};

// An item a lane; of types that NumPy has not the bits.
py::array lanes_of(const ptx::RegisterValues& of) {
  const auto* const known = std::ranges::find(kLaneTypes, of.type, &LaneType::type);
  const py::dtype type(known == std::end(kLaneTypes) ? "u8" : known->dtype);
  py::array out(type, std::vector<py::ssize_t>{std::ssize(of.values)});
  const auto bytes = static_cast<std::size_t>(type.itemsize());
  auto* to = static_cast<std::byte*>(out.mutable_data());
  for (const std::uint64_t value : of.values) {
    std::memcpy(to, &value, bytes);
    to += bytes;
  }
  return out;
}

RegisterArrays arrays_of(const std::vector<ptx::RegisterValues>& all) {
  RegisterArrays out;
  for (const ptx::RegisterValues& one : all) out[py::str(one.name)] = lanes_of(one);
  return out;
}

}  // namespace

DebugStatement statement_of(std::uint64_t step, const ptx::Observation& seen) {
  return {step,
          seen.warp,
          seen.lanes,
          seen.line,
          utf8(seen.statement),
          arrays_of(seen.sources),
          arrays_of(seen.registers),
          seen.is_found};
}

namespace {

// ---- States

struct PythonWarp {
  int line = 0;
  std::string statement;
  std::uint64_t step = 0;
  RegisterArrays registers;
};

struct PythonWait {
  int warp = 0;
  std::uint32_t lanes = 0;
  int line = 0;
  std::string statement, kind;
  std::uint64_t number = 0;
  std::vector<int> missing;
  std::string awaits;
};

struct PythonBytes {
  std::string space;
  std::uint64_t address = 0, bytes = 0;
  std::string name;
};

struct PythonPending {
  int warp = 0;
  std::uint32_t lanes = 0;
  int line = 0;
  std::string statement;
  std::optional<PythonBytes> from, to;
  std::uint64_t bytes = 0, count = 1;
  std::string awaited_by;
};

std::optional<PythonBytes> bytes_of(const std::optional<ptx::PendingBytes>& of) {
  if (!of) return std::nullopt;
  return PythonBytes{std::string(name(of->space)), of->address, of->bytes, of->name};
}

std::vector<PythonWait> waits_of(const ptx::BlockState& of) {
  std::vector<PythonWait> out;
  for (const ptx::WaitState& one : of.waits)
    out.push_back({one.warp, one.lanes, one.line, utf8(one.statement), std::string(ptx::name(one.kind)),
                   one.number, one.missing, one.awaits});
  return out;
}

std::vector<PythonPending> pending_of(const ptx::BlockState& of) {
  std::vector<PythonPending> out;
  for (const ptx::PendingState& one : of.pending)
    out.push_back({one.warp, one.lanes, one.line, utf8(one.statement), bytes_of(one.from), bytes_of(one.to),
                   one.bytes, one.count, one.awaited_by});
  return out;
}

std::vector<std::string> findings_of(const DebugState& of) {
  std::vector<std::string> out;
  for (const ptx::Finding& one : of.findings) out.push_back(one.fault.message());
  return out;
}

OptionalWords tensor_of(const DebugState& of) {
  if (!of.block.tensor) return OptionalWords(py::none());
  constexpr std::size_t kLanes = ptx::TensorMemoryState::kLanes, kColumns = ptx::TensorMemoryState::kColumns;
  py::array_t<std::uint32_t> out({kLanes, kColumns});
  std::ranges::copy(of.block.tensor->words, out.mutable_data());
  return OptionalWords(py::object(out));
}

std::map<int, PythonWarp> warps_of(const DebugState& of) {
  std::map<int, PythonWarp> out;
  for (const auto& [number, one] : of.warps) {
    PythonWarp& warp = out[number];
    warp.line = one.line;
    warp.statement = utf8(one.statement);
    warp.step = one.step;
    for (const auto& [name, values] : one.registers) warp.registers[py::str(name)] = lanes_of(values);
  }
  return out;
}

Bytes shared_of(const DebugState& of) {
  py::array_t<std::uint8_t> out(std::vector<py::ssize_t>{std::ssize(of.shared)});
  std::memcpy(out.mutable_data(), of.shared.data(), of.shared.size());
  return Bytes(py::object(out));
}

void add_state(py::module_& m) {
  using Mbarrier = ptx::MbarrierState;
  add_record(m, "MbarrierState", "A barrier object (mbarrier) at a place of a launch.",
             field("address", &Mbarrier::address, "Of the block's shared memory."),
             field("name", &Mbarrier::name, "As in \"full + 0x8\", or empty."),
             field("phase", &Mbarrier::phase, "The one at hand: so many are complete."),
             field("expected", &Mbarrier::expected, "Arrivals of a phase."),
             field("pending", &Mbarrier::pending, "Those that are still to come."),
             field("came", &Mbarrier::came, "Bytes of copies in this phase."),
             field("pending_bytes", &Mbarrier::pending_bytes, "Expected ones that are still to come."),
             field("absent", &Mbarrier::absent, "Who arrived in earlier phases, and not in this one."))
      .def_property_readonly("parity", &Mbarrier::parity, "Of the phase at hand.");
  add_record(m, "WaitState", "Lanes of a warp that cannot go on yet.",
             field("warp", &PythonWait::warp, "Of the block."), field("lanes", &PythonWait::lanes, "A mask."),
             field("line", &PythonWait::line, "Of the module's text, from 1."),
             field("statement", &PythonWait::statement, "At which they wait."),
             field("kind", &PythonWait::kind,
                   "What they wait for: \"lanes\", \"barrier\", \"warpgroup\", \"mbarrier\", "
                   "\"cluster_barrier\", \"registers\", \"columns\" (of tensor memory)."),
             field("number", &PythonWait::number, "Of a barrier; of a barrier object its address."),
             field("missing", &PythonWait::missing,
                   "Warps of the block that have not come, where it is known which must."),
             field("awaits", &PythonWait::awaits, "As in \"barrier 1: 1 of 2 warps have arrived\"."));
  add_record(m, "PendingBytes", "Bytes that something pending reads or writes.",
             field("space", &PythonBytes::space, "\"shared\" or \"global\"."),
             field("address", &PythonBytes::address, "Of the first one."),
             field("bytes", &PythonBytes::bytes, "From the first to the last."),
             field("name", &PythonBytes::name, "What has them, or empty."));
  add_record(m, "PendingState", "A copy, product or arrival that is not known to be done.",
             field("warp", &PythonPending::warp, "Of the block."),
             field("lanes", &PythonPending::lanes, "A mask."),
             field("line", &PythonPending::line, "Of the module's text, from 1."),
             field("statement", &PythonPending::statement, "That has begun it."),
             field("source", &PythonPending::from, "What it reads, or None."),
             field("to", &PythonPending::to, "What it writes, or None."),
             field("bytes", &PythonPending::bytes, "That are moved."),
             field("count", &PythonPending::count, "Of these, the last of which this is."),
             field("awaited_by", &PythonPending::awaited_by,
                   "As in \"the mbarrier at 0x8 (full)\"; empty: it is in no group yet."));
  add_record(m, "DebugOrigin", "A statement that has made something.",
             field("step", &DebugOrigin::step, "When."), field("warp", &DebugOrigin::warp, "Of the block."),
             field("lanes", &DebugOrigin::lanes, "A mask."),
             field("line", &DebugOrigin::line, "Of the module's text, from 1."),
             field("statement", &DebugOrigin::statement, "In one line."));
}

}  // namespace

void add_states(py::module_& m) {
  add_state(m);
  py::class_<DebugStatement>(m, "DebugStatement", "A statement that a warp has executed.")
      .def_readonly("step", &DebugStatement::step, "Its number among those of the block, from 1.")
      .def_readonly("warp", &DebugStatement::warp, "Of the block.")
      .def_readonly("lanes", &DebugStatement::lanes, "A mask of those that have executed it.")
      .def_readonly("line", &DebugStatement::line, "Of the module's text, from 1.")
      .def_readonly("statement", &DebugStatement::statement, "In one line, with its guard.")
      .def_readonly("read", &DebugStatement::read, "Registers by name, an item a lane.")
      .def_readonly("written", &DebugStatement::written, "The same of its results.")
      .def_readonly("is_found", &DebugStatement::is_found, "Whether a finding is new behind it.");
  py::class_<PythonWarp>(m, "DebugWarp", "What a warp has done up to a place.")
      .def_readonly("line", &PythonWarp::line, "Of the statement that it executed last.")
      .def_readonly("statement", &PythonWarp::statement, "That, in one line.")
      .def_readonly("step", &PythonWarp::step, "When that was.")
      .def_readonly(
          "registers", &PythonWarp::registers,
          "All that its statements have named, as they are there: an item a lane, of the register's type.");
  py::class_<DebugState>(m, "DebugState", "A launch at one place.")
      .def_readonly("step", &DebugState::step, "So many statements of the block were executed.")
      .def_readonly("is_end", &DebugState::is_end, "Whether the launch has ended.")
      .def_property_readonly(
          "seen",
          [](const DebugState& s) {
            return s.seen ? std::optional(statement_of(s.step, *s.seen)) : std::nullopt;
          },
          "The last statement; None at the start and the end.")
      .def_property_readonly(
          "fault",
          [](const DebugState& s) { return s.fault ? std::optional(utf8(s.fault->message())) : std::nullopt; },
          "The message of the fault that has ended it, or None.")
      .def_property_readonly("findings", &findings_of, "The messages of what was found so far.")
      .def_property_readonly("warps", &warps_of, "By number, of those that have begun.")
      .def_property_readonly("shared", &shared_of, "The block's shared memory.")
      .def_property_readonly(
          "mbarriers", [](const DebugState& s) { return s.block.mbarriers; }, "By address.")
      .def_property_readonly(
          "waits", [](const DebugState& s) { return waits_of(s.block); }, "Who waits for whom, by warp.")
      .def_property_readonly(
          "pending", [](const DebugState& s) { return pending_of(s.block); },
          "Copies, products and arrivals that are not known to be done.")
      .def_property_readonly("tensor", &tensor_of,
                             "Tensor memory, 128 lanes by 512 columns of words, once it is used; or None.");
}

}  // namespace warpbit::python
