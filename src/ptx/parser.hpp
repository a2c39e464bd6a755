// SPDX-License-Identifier: Apache-2.0
// Text of a module -> ModuleText: recursive descent over the grammar of the PTX manual ("Syntax", "State Spaces, Types, and
// Variables", "Abstracting the ABI", "Directives"). What is read, by file: parse.cpp tokens and directives of the module,
// parse_constants.cpp, parse_variables.cpp, parse_functions.cpp, and of their statements parse_operands.cpp.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/lexer.hpp"
#include "ptx/module.hpp"

namespace warpbit::ptx {

/// Thrown inside the parser alone; parse_module returns it.
struct Refused {
  Error error;
};

[[noreturn]] inline void refuse(Errc code, Position at, std::string seen, std::string accepted) {
  throw Refused{{code, text(at), std::move(seen), std::move(accepted)}};
}

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
  /// Of single registers whose name ends in a number, by what stands before it: the lowest one.
  std::unordered_map<std::string_view, int> numbered;
  std::unordered_map<std::string_view, const Variable*> variables;
  std::unordered_map<std::string_view, int> labels, tables;
};

/// Of a constant expression.
struct Constant {
  Literal literal;
  bool is_unsigned = false;
};

class Parser {
 public:
  explicit Parser(ModuleText& out) : out_(out), lexer_(out.text) { advance(); }
  void module();

 private:
  using Kind = Token::Kind;

  // ---- Tokens
  void advance();
  bool take(char c);
  bool take(std::string_view dotted);
  void expect(char c);
  [[noreturn]] void unexpected(std::string accepted);
  /// While it lives, what is read lies inside something of its kind.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepest)
        refuse(Errc::statement_syntax, parser_.token_.position, "something deeply nested",
               fmt::format("at most {} levels", kDeepest));
    }
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;

   private:
    Parser& parser_;
  };
  std::string_view name(std::string_view what);
  std::int64_t integer(std::string_view what);
  Constant primary();
  std::string_view binary_operator();
  Constant constant(int precedence = 1);

  // ---- Directives of the module and of functions
  void version();
  void target();
  void file();
  Location location();
  void loc();
  int last_at(const Location& at);
  void section();
  Extent extent();
  bool performance_directive(FunctionText& function);
  void performance_directives(FunctionText& function);
  void skip_parentheses();
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
  void initialise(Variable& variable, std::span<const std::int64_t> sizes, int vector);
  std::int64_t initial_values(Variable& variable, std::span<const std::int64_t> counts, bool vectors,
                              std::size_t& at);
  void initial_value(Variable& variable, std::size_t at, int bytes);
  bool symbol(Relocation& out);
  void put(Variable& variable, std::size_t at, int bytes, const Literal& value);
  void register_declaration();
  void one_register(std::string_view name, Type type, int vector, Position at);
  std::deque<Variable> parameters();
  Variable parameter();

  // ---- Functions
  void function(Linkage linkage, bool is_entry);
  void body(FunctionText& function);
  void open_scope();
  void in_body();
  void label(std::string_view name, Position at);
  LabelTable label_table(LabelTable::Kind kind, std::string_view name);
  void statement();
  Operand sum(const Operand& reg, const Statement& before);
  bool may_be_sum(const Operand& operand) const;
  Operand operand(bool of_call);
  bool is_negated_register() const;
  Operand negated_operand();
  Operand constant_operand();
  Operand named_operand();
  Operand group(Operand::Kind kind, char close, bool of_call);
  Operand address(Operand base);
  Operand bracketed();
  void add_children(Operand& parent, const std::vector<Operand>& children);

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
  int guard_register();
  void resolve(const Reference& reference);

  ModuleText& out_;
  Lexer lexer_;
  Token token_ = {};
  static constexpr int kDeepest = 100;
  int depth_ = 0;
  bool moves_ = false;           // the statement is a mov: symbol[4] is an address, not what lies there
  std::size_t end_of_last_ = 0;  // where the token before token_ ended
  FunctionText* function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  int location_ = -1;                                 // of the statements that follow
  std::map<std::tuple<int, int, int>, int> last_at_;  // of the function: file, line and column of a .loc
  std::vector<Reference> references_;
  std::unordered_map<std::string_view, const Variable*> variables_;  // of the module
};

}  // namespace warpbit::ptx
