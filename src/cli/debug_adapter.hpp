// SPDX-License-Identifier: Apache-2.0
// The Debug Adapter Protocol over the standard input and output, as editors speak it (Microsoft, "Debug Adapter Protocol", 1.x).
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launch_setup.hpp"
#include "cli/terminal.hpp"
#include "warpbit/debug.hpp"

namespace warpbit::cli {

class DebugAdapter {
 public:
  static constexpr std::size_t kSharedRow = 32;  ///< bytes of a variable of shared memory
  static constexpr std::string_view kFindingReason = "exception";

  DebugAdapter(LoadedLaunch& loaded, std::string file, std::istream& in, std::ostream& out);

  /// Answers requests until the client disconnects, or its stream ends.
  void serve();

  // The requests, by name: each returns the body of its answer.
  using Json = nlohmann::ordered_json;
  Json initialize(const Json& arguments);
  Json start(const Json& arguments);
  Json set_breakpoints(const Json& arguments);
  Json set_function_breakpoints(const Json& arguments);
  Json set_exception_breakpoints(const Json& arguments);
  Json data_breakpoint_info(const Json& arguments);
  Json set_data_breakpoints(const Json& arguments);
  Json nothing(const Json& arguments);
  Json configured(const Json& arguments);
  Json threads(const Json& arguments);
  Json stack(const Json& arguments);
  Json scopes(const Json& arguments);
  Json variables(const Json& arguments);
  Json evaluate(const Json& arguments);
  Json set_variable(const Json& arguments);
  Json go_on(const Json& arguments);
  Json next(const Json& arguments);
  Json step_in(const Json& arguments);
  Json step_out(const Json& arguments);
  Json step_back(const Json& arguments);
  Json reverse(const Json& arguments);
  Json disconnect(const Json& arguments);

 private:
  struct Breakpoint {
    std::string file = {};    ///< of a source, or the module's; empty: `opcode`
    int line = 0;             ///< in that
    std::string opcode = {};  ///< "mma"
    std::uint64_t hits = 1;
    DebugPredicate condition = {};  ///< or none
    DebugPredicate holds = {};      ///< at these statements, and no file and no opcode
    std::string_view reason = "breakpoint";
  };
  void answer(const Json& request);
  void send(Json message);
  void stopped(std::string_view reason);
  /// Goes to the place, or to the end; the event behind the answer says why it stops.
  void go(std::optional<std::uint64_t> to, std::string_view reason);
  bool is_at(const Breakpoint& one, const ptx::Observation& seen) const;
  bool is_of_module(const std::string& file) const;
  const std::vector<SourceLink>& chain_of(int line) const;
  std::uint64_t behind_last() const;
  DebugPredicate steps_of(int warp, bool statements) const;
  /// Gives a variable of a list another value, as text.
  using Set = std::function<void(const std::string& name, const std::string& value)>;
  /// A number by which the client asks for variables, and changes them.
  std::size_t handle(std::function<Json()> list, Set set = {});
  Json registers_json(int warp, const std::vector<ptx::RegisterValues>& all);
  Json register_json(int warp, const ptx::RegisterValues& one);
  void set_register(int warp, const ptx::RegisterValues& one, std::uint32_t lanes, const std::string& value);
  Json table_json(const Table& table);
  Json tensor_json();

  LoadedLaunch& loaded_;
  std::string file_;
  std::istream& in_;
  std::ostream& out_;
  Debugger debugger_;
  std::vector<ptx::CodeLine> lines_;
  std::vector<ptx::SharedVariable> variables_;
  std::map<std::string, std::vector<Breakpoint>> breaks_;  // by source, or kind
  DebugState at_;
  struct Handle {
    std::function<Json()> list;
    Set set;
  };
  std::vector<Handle> handles_;
  std::function<void()> behind_;  // what follows the answer
  int sequence_ = 0;
  bool is_done_ = false, stops_on_entry_ = false, stops_at_faults_ = true;
};

}  // namespace warpbit::cli
