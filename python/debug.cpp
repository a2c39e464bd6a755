// SPDX-License-Identifier: Apache-2.0
// A launch statement by statement, forwards and back.
#include "warpbit/debug.hpp"

#include <cstring>
#include <functional>
#include <memory>

#include "launches.hpp"
#include "profile.hpp"
#include "records.hpp"

namespace warpbit::python {
namespace {

using RegisterArrays = As<"dict[str, NDArray[Any]]", py::dict>;
using Predicate = As<"Callable[[DebugStatement], Any]">;
using Words = As<"NDArray[np.uint32]">;
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

/// What a callback gets, and what stands at a place.
struct DebugStatement {
  std::uint64_t step = 0;
  int warp = 0;
  std::uint32_t lanes = 0;
  int line = 0;
  std::string statement;
  RegisterArrays read, written;
  bool is_found = false;
};

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

// ---- The debugger

/// A place in a launch. What a callback raises ends the move, and is raised.
class KernelDebugger {
 public:
  KernelDebugger(ptx::Function kernel, ptx::Launch how, std::vector<ptx::Argument> arguments,
                 std::vector<py::object> held)
      : held_(std::move(held)), debugger_(std::move(kernel), std::move(how), std::move(arguments)) {}

  const DebugState& state() const { return state_; }
  const DebugState& go_to(std::uint64_t step) {
    return state_ = interruptible([&] { return debugger_.state(step); });
  }
  std::optional<DebugState> move(const DebugPredicate& holds, std::uint64_t count, bool back) {
    std::optional<std::uint64_t> to;
    interruptible([&] {
      to = back ? previous(holds, count) : debugger_.find_next(state_.step, holds, count);
      return true;
    });
    go_to(to.value_or(here()));
    return to ? std::optional(state_) : std::nullopt;
  }
  std::optional<DebugState> find(const Predicate& call, std::uint64_t count, bool back) {
    std::optional<py::error_already_set> raised;
    const auto holds = [&](std::uint64_t step, const ptx::Observation& seen) {
      const py::gil_scoped_acquire acquired;
      if (raised) return true;
      try {
        return py::bool_(call(statement_of(step, seen))).cast<bool>();
      } catch (py::error_already_set& error) {
        raised.emplace(std::move(error));
        return true;
      }
    };
    // Forwards the statements behind the place are shown, back those before it.
    std::uint64_t step = back ? 0 : state_.step;
    const auto out = move([&](const ptx::Observation& seen) { return holds(++step, seen); }, count, back);
    if (raised) throw *raised;
    return out;
  }
  void edit(DebugEdit::Register what) { change({state_.step, std::move(what)}); }
  void edit(DebugEdit::Shared what) { change({state_.step, std::move(what)}); }
  std::vector<DebugOrigin> made(std::span<const std::byte> element) {
    auto out = interruptible([&] { return value_of(debugger_.made(here(), writes_memory(element))); });
    go_to(here());
    return out;
  }
  void restore() { debugger_.restore(); }

 private:
  std::uint64_t here() const { return state_.is_end ? ~std::uint64_t{0} : state_.step; }
  std::optional<std::uint64_t> previous(const DebugPredicate& holds, std::uint64_t count) {
    std::vector<std::uint64_t> all;
    std::uint64_t at = 0;
    (void)debugger_.find_previous(state_.step + (state_.is_end ? 1 : 0), [&](const ptx::Observation& seen) {
      ++at;
      if (holds(seen)) all.push_back(at);
      return false;
    });
    return all.size() < count ? std::nullopt : std::optional(all[all.size() - count]);
  }
  void change(DebugEdit what) {
    interruptible([&] { return value_of(debugger_.edit(std::move(what))), true; });
    go_to(state_.step);
  }

  std::vector<py::object> held_;
  Debugger debugger_;
  DebugState state_;
};

std::unique_ptr<KernelDebugger> debug(const ptx::Function& kernel, const Extent& grid, const Extent& block,
                                      const LaunchArguments& args, const device::Index3& observed_block,
                                      std::uint64_t shared_mem, const OptionalExtent& cluster, bool contract,
                                      bool as_written, bool lenient, bool strict, const Grades& rules) {
  std::vector<py::object> held;
  std::vector<ptx::Argument> arguments = arguments_of(kernel, args, held);
  ptx::Launch how{.grid = dim3_of(grid, "grid"),
                  .block = dim3_of(block, "block"),
                  .cluster = cluster_of(cluster),
                  .shared_bytes = shared_mem,
                  .contract = contract,
                  .as_written = as_written,
                  .lenient = lenient,
                  .strict = strict,
                  .grades = grades_of(rules),
                  .observed_block = observed_block};
  auto out = std::make_unique<KernelDebugger>(kernel, how, std::move(arguments), std::move(held));
  // What cannot be launched at all is refused now.
  const DebugState first = out->go_to(1);
  if (first.is_end && first.fault && first.fault->lanes.empty()) throw Refusal{first.fault->error};
  out->go_to(0);
  return out;
}

DebugPredicate of_warp(const std::optional<int>& warp) {
  return [warp](const ptx::Observation& seen) { return !warp || seen.warp == *warp; };
}

DebugPredicate writes_element(const AnyArray& array, const std::vector<py::ssize_t>& index) {
  return writes_memory(element_of(array, index));
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

void add_places(py::module_& m) {
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

constexpr const char* kDebug =
    R"(The launch statement by statement, forwards and back: a KernelDebugger, before the first statement.

It follows one block, observed_block, (x, y, z). It runs the launch again for each move, so the launch must be the same each time. Arrays
hold what memory has at the place; `restore` gives back what they held before. Arguments as of `launch`.
Errors, raised: argument_mismatch, launch_shape.)";

void add_moves(py::class_<KernelDebugger>& c) {
  c.def_property_readonly("state", &KernelDebugger::state, "What stands at the place.")
      .def("goto", &KernelDebugger::go_to, "step"_a, "Goes behind so many statements, or to the end.")
      .def(
          "step",
          [](KernelDebugger& d, const std::optional<int>& warp, std::uint64_t count) {
            return d.move(of_warp(warp), count, false);
          },
          "warp"_a = py::none(), "count"_a = 1,
          "Goes to the next statement, of this warp or of any. None: there is none, and the place is the same.")
      .def(
          "back",
          [](KernelDebugger& d, const std::optional<int>& warp, std::uint64_t count) {
            return d.move(of_warp(warp), count, true);
          },
          "warp"_a = py::none(), "count"_a = 1, "The same backwards.")
      .def("find", &KernelDebugger::find, "predicate"_a, "count"_a = 1, "back"_a = false,
           R"(Goes to the next statement for which predicate(statement) is true, at this time.

It is called for each statement on the way; one that is never true observes the rest of the launch. None: there is none, and
the place is the same. What it raises is raised.)")
      .def(
          "find_write",
          [](KernelDebugger& d, const AnyArray& array, const std::vector<py::ssize_t>& index, bool back) {
            return d.move(writes_element(array, index), 1, back);
          },
          "array"_a, "index"_a, "back"_a = false,
          "Goes to the next statement that writes an element of an array on the memory of an argument.")
      .def(
          "find_finding", [](KernelDebugger& d, bool back) { return d.move(has_finding(), 1, back); },
          "back"_a = false, "Goes to the next statement behind which there is a new finding.");
}

}  // namespace

void add_debug(py::module_& m) {
  add_state(m);
  add_places(m);
  py::class_<KernelDebugger> c(m, "KernelDebugger", "A place in a launch, which moves forwards and back.");
  add_moves(c);
  c.def(
       "set_register",
       [](KernelDebugger& d, int warp, const std::string& name, std::uint64_t bits, std::uint32_t lanes) {
         d.edit(DebugEdit::Register{warp, lanes, name, bits});
       },
       "warp"_a, "name"_a, "bits"_a, "lanes"_a = 0xFFFF'FFFF,
       "Lanes, a mask, get these bits in a register here, and in all that follows. Errors: usage.")
      .def(
          "set_shared",
          [](KernelDebugger& d, std::uint64_t address, const py::bytes& data) {
            const auto text = data.cast<std::string_view>();
            const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
            d.edit(DebugEdit::Shared{address, {bytes.begin(), bytes.end()}});
          },
          "address"_a, "data"_a, "The same of bytes of shared memory. Errors: usage, address_out_of_bounds.")
      .def(
          "made",
          [](KernelDebugger& d, const AnyArray& array, const std::vector<py::ssize_t>& index) {
            return d.made(element_of(array, index));
          },
          "array"_a, "index"_a,
          "The statements of the block that made an element as it is here, from its store back to the loads; none if the "
          "block has not written it. Addresses and guards are not followed. Errors: usage.")
      .def("restore", &KernelDebugger::restore, "Arrays hold what they held before the launch.")
      .def("__repr__", [](const KernelDebugger& d) {
        return "<KernelDebugger behind statement " + std::to_string(d.state().step) +
               (d.state().is_end ? ", at the end>" : ">");
      });
  const py::object kernel = m.attr("RawKernel");
  kernel.attr("debug") = py::cpp_function(
      &debug, py::name("debug"), py::is_method(kernel), "grid"_a, "block"_a, "args"_a, py::kw_only(),
      "observed_block"_a = device::Index3{}, "shared_mem"_a = 0, "cluster"_a = py::none(), "contract"_a = true,
      "as_written"_a = false, "lenient"_a = false, "strict"_a = false, "rules"_a = py::dict(), kDebug);
}

}  // namespace warpbit::python
