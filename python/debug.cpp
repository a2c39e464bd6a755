// SPDX-License-Identifier: Apache-2.0
// A launch statement by statement, forwards and back.
#include <functional>
#include <memory>

#include "debug_state.hpp"
#include "launches.hpp"
#include "profile.hpp"

namespace warpbit::python {
namespace {

using Predicate = As<"Callable[[DebugStatement], Any]">;

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
  add_states(m);
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
