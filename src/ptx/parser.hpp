// SPDX-License-Identifier: Apache-2.0
// Text of a module -> ModuleText: recursive descent over the grammar of the PTX manual ("Syntax", "State Spaces, Types, and
// Variables", "Abstracting the ABI", "Directives"). What is read, by file: parse.cpp directives of the module,
// parse_variables.cpp, parse_references.cpp (what stands for a texture), parse_functions.cpp, and of their statements the names in operands parse_operands.cpp, and what calls
// pass calls.cpp.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/reader.hpp"
#include "ptx/locations.hpp"
#include "ptx/module.hpp"

namespace warpbit::ptx {

/// The names that one pair of braces declares. Scopes stay until the function ends.
struct Scope {
  /// `.reg .b32 %r<count>`: %r0 and the following; kSingle: the name itself; `.v2`, `.v4`: its components.
  /// Of many only those that are named are registers of the function.
  struct Registers {
    int first, count;
    bool is_vector = false;
    Type type = Type::b32;
    std::unordered_map<int, int> named = {};  ///< by number
  };
  static constexpr int kSingle = -1;
  int parent = -1, depth = 0;
  std::unordered_map<std::string_view, Registers> registers;
  std::unordered_map<std::string_view, Registers> ranges;  ///< `%r<count>`, beside which `%r` is another name
  /// Of single registers whose name ends in a number, by what stands before it: the lowest one.
  std::unordered_map<std::string_view, int> numbered;
  std::unordered_map<std::string_view, const Variable*> variables;
  std::unordered_map<std::string_view, int> labels, tables;
};

class Parser : private Reader {
 public:
  explicit Parser(ModuleText& out)
      : Reader(out.text, Lexer::Of::module), out_(out), locations_(out.locations) {}
  void module();

 private:
  // ---- Directives of the module and of functions
  void version();
  void target();
  void texture_mode(std::string_view property, Position at);
  void file();
  Location location();
  void loc();
  void section();
  Extent extent();
  bool performance_directive(FunctionText& function);
  void performance_directives(FunctionText& function);
  void skip_parentheses();
  void attribute_list();
  /// Errors: not_in_version; statement_syntax, of an older target.
  void require(Version since, Position at, std::string_view what) const;
  void require_sm_90(Position at, std::string_view what) const;
  void pragma();
  void alias();
  bool other_directive();
  void module_variable(StateSpace in, Linkage linkage, Position at);

  // ---- Variables and registers
  std::optional<StateSpace> space();
  void declaration(StateSpace space, Linkage linkage);
  void attributes(Variable& variable, int& vector);
  void one_variable(Variable variable, int vector);
  std::vector<std::int64_t> extents();
  void begin_reference(Variable& variable, Opaque opaque);
  void check_reference(const Variable& variable, bool is_parameter, bool is_array, int vector) const;
  void initialise_reference(Variable& variable);
  void reference_member(Variable& variable);
  void initialise(Variable& variable, std::span<const std::int64_t> sizes, int vector);
  std::int64_t initial_values(Variable& variable, std::span<const std::int64_t> counts, bool vectors,
                              std::size_t& at);
  void initial_value(Variable& variable, std::size_t at, int bytes);
  bool symbol(Relocation& out);
  void put(Variable& variable, std::size_t at, int bytes, const Literal& value);
  void register_declaration();
  void one_register(std::string_view name, Type type, int vector, Position at);
  std::deque<Variable> parameters(bool of_kernel = false);
  Variable parameter(bool of_kernel);

  // ---- Functions
  void function(Linkage linkage, bool is_entry);
  void make_room(FunctionText& function);
  void body(FunctionText& function);
  void open_scope();
  void in_body();
  void label(std::string_view name, Position at);
  LabelTable label_table(LabelTable::Kind kind, std::string_view name);
  void statement();
  void add_statement(const Statement& like, std::string_view opcode,
                     std::initializer_list<std::string_view> qualifiers, const std::vector<Operand>& operands);
  Operand sum(const OperandText& tree, const Statement& before);
  Type type_of_addend(const Operand& operand) const;
  bool is_sum(const OperandText& tree);
  Operand resolved(const OperandText& tree);
  Operand resolved_name(const OperandText& tree);
  Operand resolved_parts(Operand::Kind kind, const OperandText& tree);
  Operand negated(const OperandText& tree);
  Operand negative(const OperandText& tree);
  bool take_part(Operand& out);
  Operand symbol_operand(Operand out, const OperandText& tree);
  void add_children(Operand& parent, const std::vector<Operand>& children);

  // ---- What calls and functions pass in registers
  struct Moved {
    const Variable* in_param;
    Operand item;
  };
  Operand address_of(const Moved& one);
  void load_param(const Statement& like, const Moved& one);
  void store_param(const Statement& like, const Moved& one);
  std::vector<Moved> pass_in_param(const Statement& call);
  void declare_in_register(Variable& formal, bool returns);
  void store_results(const Statement& before);

  // ---- Names
  struct Reference {
    int operand;  ///< of the function; -1: a label of a table
    int table = -1, entry = -1;
    int scope;
    std::string_view name;
    Position at;
  };
  Scope& scope() { return scopes_[static_cast<std::size_t>(scope_)]; }
  const Scope* enclosing(const Scope& scope) const {
    return scope.parent < 0 ? nullptr : &scopes_[static_cast<std::size_t>(scope.parent)];
  }
  const Scope::Registers* find_registers(std::string_view name) const;
  static std::pair<std::string_view, int> stem_of(std::string_view name);
  static int number_in_range(const Scope& in, std::string_view name);
  int find_register(std::string_view name);
  static bool declares_register(const Scope& in, std::string_view name);
  static bool range_meets(const Scope& in, std::string_view base, int count);
  const Variable* find_variable(std::string_view name) const;
  const Variable* find_module_variable(std::string_view name) const;
  int find_table(std::string_view name) const;
  int predicate(std::string_view name, Position at);
  int guard_register();
  void resolve(const Reference& reference);

  ModuleText& out_;
  std::string_view opcode_ = {};  // of the statement
  bool moves_ = false;            // the statement is a mov: symbol[4] is an address, not what lies there
  FunctionText* function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  int location_ = -1;    // of the statements that follow
  Locations locations_;  // of the function
  std::vector<Reference> references_;
  std::vector<Moved> returned_;  // of the function: its results in registers
  std::size_t counted_ = 0;      // how far make_room has looked
  std::unordered_map<std::string_view, const Variable*> variables_;  // of the module
  std::string_view texture_mode_ = {};                               // as .target has it
};

}  // namespace warpbit::ptx
