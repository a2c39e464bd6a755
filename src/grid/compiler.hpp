// SPDX-License-Identifier: Apache-2.0
// What makes steps of statements. Which opcode becomes which step says the table in compile.cpp; how, by file:
// compile_places.cpp operands, compile_compute.cpp, compile_access.cpp, compile_control.cpp, compile_tensor.cpp.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "assembler/assemble.hpp"
#include "assembler/definitions.hpp"
#include "assembler/flow.hpp"
#include "grid/cas_loops.hpp"
#include "grid/compile.hpp"
#include "grid/evidence.hpp"
#include "grid/provenance.hpp"
#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "isa/statement.hpp"
#include "isa/tensor_action.hpp"
#include "ptx/forms.hpp"

namespace warpbit::grid {

using ptx::Does, ptx::Operand, ptx::Statement, ptx::StateSpace, ptx::Type;

/// Thrown inside Compiler alone; compile returns it.
struct Refused {
  Error error;
};

/// One function at a time; what all share is in the program.
class Compiler {
 public:
  Compiler(Program& program, const Addresses& addresses, assembler::Rules rules)
      : program_(program), addresses_(addresses), rules_(rules) {}
  /// Before any function. Precondition: there is one.
  void lay_out_shared(const Named& names);
  void check_static_shared(const ptx::FunctionText& kernel) const;
  /// Every refusal is kept in `refused`, if there is one, instead of being thrown.
  void function(std::size_t index, std::vector<Error>* refused = nullptr);
  std::size_t index_of(std::string_view name, const Statement* at);
  /// Whether rules of the assembler have changed statements of a function.
  bool changed() const { return changed_; }

 private:
  // ---- The statement at hand
  std::string_view word(int i) const { return words()[static_cast<std::size_t>(i)]; }
  std::span<const std::string_view> words() const { return words_of(*function_, *statement_); }
  bool has(std::string_view wanted) const { return std::ranges::find(words(), wanted) != words().end(); }
  int count() const { return statement_->operands; }
  const Operand& operand(int i) const {
    return function_->operands[static_cast<std::size_t>(statement_->first_operand + i)];
  }
  const Operand& child(const Operand& parent, int i) const {
    return function_->operands[static_cast<std::size_t>(parent.first + i)];
  }
  [[noreturn]] void refuse(Error error) const;
  [[noreturn]] void refuse(std::string seen, std::string accepted) const;

  // ---- Places
  void lay_out_registers();
  void lay_out_variables();
  Place constant(std::uint64_t value, int bits, std::uint64_t upper = 0,
                 std::optional<ptx::Special> special = {}, bool in_shared = false);
  Place symbol(const Operand& operand, int bits);
  Place reference(const Operand& operand);
  Place reg(int index) const;
  Place second(const Operand& operand) const;
  Place predicate(int index, bool negated) const;
  Place source(const Operand& operand, Type type);
  Place destination(const Operand& operand) const;
  std::uint64_t address_of(const Operand& symbol);
  bool is_kernel_parameter(const Operand& symbol) const;
  std::int32_t placed(const ptx::Variable* variable);
  Place address(const Operand& operand, Access& access);
  std::vector<Place> elements(const Operand& operand, Type type, bool destinations);
  int keep(std::vector<Place> places) {
    program_.places.push_back(std::move(places));
    return static_cast<int>(program_.places.size()) - 1;
  }
  int keep(scalar::Operation operation) {
    program_.operations.push_back(std::move(operation));
    return static_cast<int>(program_.operations.size()) - 1;
  }

  // ---- Statements
  /// What a statement becomes.
  struct Maker {
    Does does;
    void (Compiler::*make)();
    bool changes = true;
  };
  static const Maker kMakers[];
  std::vector<std::int32_t> statements(const assembler::Assembled& from, std::vector<Error>* refused);
  void resolve(const std::vector<std::int32_t>& step_of);
  void statement();
  void made_statement();
  /// What the words of a statement say, which many statements share.
  struct OfWords {
    std::optional<Result<std::vector<ptx::MatchedForm>>> forms = {};  ///< see ptx::match_scalar
    bool is_noted = false;                                            ///< what is inferred of them
  };
  OfWords& of_words();
  void leave(std::string_view reason);
  void check_version() const;
  void check_special(const Operand& operand) const;
  void check_no_special(const Operand& operand, bool in_vector) const;
  void check_address_size() const;
  /// That something is inferred of the statement at hand.
  void note(std::optional<Inference> inferred);
  void note(OfWords& of);
  void add(Step step);
  template <Run kRun>
  void run() {
    add({.run = kRun});
  }
  void nothing() { run<steps::nothing>(); }
  Type last_type() const;

  // ---- Each lane alone
  void scalar();
  void compute(const scalar::Operation& operation);
  void move();
  void logic();
  void decompress();

  // ---- Memory
  StateSpace space(bool& generic) const;
  block::Strength strength() const;
  bool is_strong(Access& access);
  void load() { access(true); }
  void store() { has("async") ? element_async() : has("bulk") ? fill() : access(false); }
  void access(bool loads);
  std::pair<int, std::int64_t> in_register(const Operand& where) const;
  void find_stores();
  bool is_stored_to(const Operand& where) const;
  std::string_view named_operation() const;
  void atomic() { atomic_of(true); }
  void reduction() { has("async") ? element_async() : atomic_of(false); }
  void atomic_of(bool returns);
  void fill();
  void discard();
  void copy_async();
  void allocate();
  void save_stack();
  void restore_stack();
  Step of_space(Run what);
  void window();
  void is_space();
  void map_address();
  void rank_of_address();
  void policy();

  // ---- Hopper's asynchronous machine
  OperandAt listed(Place place, std::int64_t offset = 0);
  OperandAt listed_address(const Operand& operand);
  OperandsAt listed_elements(const Operand& operand, Type type);
  void add_listed(Run what, std::size_t rows);
  void barrier_object(const Operand& operand, Step& step);
  void mbarrier();
  void set_zero(const Place& place);
  void copies_arrive();
  void tensor_operand(const Operand& operand, BulkOperation& out);
  void bulk();
  void prefetched_map(const Operand& operand);
  void add_bulk(const BulkOperation& operation);
  void element_async();
  void cluster_barrier();
  void tensor_map();
  void async_fence();
  void registers();
  void launch_control();
  void texture();
  void sampled_variables(const Operand& from, TextureOperation& out);
  Step surface_access(const Operand& at, const Operand& elements, bool loads);
  void surface_load() { add(surface_access(operand(1), operand(0), true)); }
  void surface_store() { add(surface_access(operand(0), operand(1), false)); }
  void surface_query();

  // ---- Control, and what lanes do together
  void branch();
  void branch_indexed();
  void call();
  Run system_call(const ptx::FunctionText& declared);
  void fence();
  void barrier();
  Step meeting(Run what, Type of_value);
  void sync_warp();
  void shuffle();
  void vote();
  void match();
  void reduce_lanes();
  void active_mask();
  void elect();

  /// Whether the statement is one; `scalar`: why it is no scalar instruction.
  bool tensor(const Error* scalar = nullptr);
  void check_group(const TensorAction& action);
  OperandText tree(const Operand& operand) const;

  Program& program_;
  const Addresses& addresses_;
  assembler::Rules rules_;
  bool changed_ = false;
  bool checks_ = false;                          // what ptxas takes is no refusal, though nothing executes it
  const ptx::FunctionText* declared_ = nullptr;  // the function at hand, with its variables
  const ptx::FunctionText* function_ = nullptr;  // what the assembler makes of its statements
  FunctionCode* code_ = nullptr;
  const Statement* statement_ = nullptr;
  const ptx::ScalarForm* form_ = nullptr;              // of the statement
  std::vector<Place> listed_;                          // of the statement
  std::optional<assembler::Definitions> definitions_;  // above it
  std::optional<Provenance> provenance_;               // of addresses, above it
  std::optional<CasLoops> cas_loops_;
  CasLoops::Parameters cas_parameters_;            // of functions that are called
  std::set<std::pair<int, std::int64_t>> stores_;  // the registers that they have as addresses, with offsets
  bool changes_ = true;                            // Step::changes of its steps
  std::vector<std::uint32_t> slot_;                // by register
  std::uint32_t carry_ = 0;
  int cta_group_ = 0;  // of the kernel's instructions; 0: there are none yet
  std::unordered_map<const ptx::Variable*, std::int64_t> local_;    // of the function at hand
  std::unordered_set<const ptx::Variable*> parameters_, results_;   // the same
  std::unordered_map<const ptx::Variable*, std::uint64_t> shared_;  // of all
  std::unordered_map<const ptx::Variable*, std::int32_t> placed_;   // by variable, of Program::variables
  struct Key {
    std::uint64_t value, upper;
    int bits;
    int special;
    bool in_shared;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::uint32_t> constants_;
  std::unordered_map<std::string, OfWords> of_words_;  // by opcode and qualifiers
  struct Pending {
    std::size_t step;
    int statement;
  };
  std::vector<Pending> pending_;
  std::set<std::string> noted_;  // forms that are inferred
  std::vector<std::pair<std::size_t, const ptx::LabelTable*>> pending_tables_;
};

}  // namespace warpbit::grid
