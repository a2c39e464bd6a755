// SPDX-License-Identifier: Apache-2.0
// Text of a module -> ModuleText. Recursive descent over the grammar of the PTX manual ("Syntax", "State Spaces, Types,
// and Variables", "Abstracting the ABI", "Directives").
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include "numeric/value.hpp"
#include "ptx/lexer.hpp"
#include "ptx/special.hpp"

namespace warpbit::ptx {
namespace {

using Kind = Token::Kind;

/// Thrown inside the parser alone; parse_module returns it.
struct Refused {
  Error error;
};

[[noreturn]] void refuse(Errc code, Position at, std::string seen, std::string accepted) {
  throw Refused{{code, text(at), std::move(seen), std::move(accepted)}};
}

std::string seen(const Token& token) {
  return token.kind == Kind::end ? "the end of the text" : fmt::format("'{}'", token.text);
}

/// The names that one pair of braces declares. Scopes stay until the function ends.
struct Scope {
  /// `.reg .b32 %r<count>`: %r0 and the following; kSingle: the name itself; `.v2`, `.v4`: its components.
  struct Registers {
    int first, count;
    bool is_vector = false;
  };
  static constexpr int kSingle = -1;
  int parent = -1;
  std::unordered_map<std::string_view, Registers> registers;
  std::unordered_map<std::string_view, const Variable*> variables;
  std::unordered_map<std::string_view, int> labels, tables;
};

// ---- Constant expressions (PTX manual, "Constant Expressions")

struct Constant {
  Literal literal;
  bool is_unsigned = false;
};

struct BinaryOperator {
  std::string_view marks;
  int precedence;
};
constexpr std::array kBinaryOperators = {
    BinaryOperator{"||", 1}, BinaryOperator{"&&", 2}, BinaryOperator{"|", 3},  BinaryOperator{"^", 4},
    BinaryOperator{"&", 5},  BinaryOperator{"==", 6}, BinaryOperator{"!=", 6}, BinaryOperator{"<=", 7},
    BinaryOperator{">=", 7}, BinaryOperator{"<<", 8}, BinaryOperator{">>", 8}, BinaryOperator{"<", 7},
    BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},  BinaryOperator{"*", 10},
    BinaryOperator{"/", 10}, BinaryOperator{"%", 10},
};

/// Two integers; nothing for a division by zero.
std::optional<std::uint64_t> evaluate(std::string_view marks, std::uint64_t a, std::uint64_t b,
                                      bool is_unsigned) {
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  const bool less = is_unsigned ? a < b : sa < sb;
  if (marks == "||") return a != 0 || b != 0;
  if (marks == "&&") return a != 0 && b != 0;
  if (marks == "|") return a | b;
  if (marks == "^") return a ^ b;
  if (marks == "&") return a & b;
  if (marks == "==") return a == b;
  if (marks == "!=") return a != b;
  if (marks == "<") return less;
  if (marks == ">=") return !less;
  if (marks == ">") return !less && a != b;
  if (marks == "<=") return less || a == b;
  if (marks == "<<") return b > 63 ? 0 : a << b;
  if (marks == ">>" && is_unsigned) return b > 63 ? 0 : a >> b;
  if (marks == ">>") return static_cast<std::uint64_t>(sa >> std::min<std::uint64_t>(b, 63));
  if (marks == "+") return a + b;
  if (marks == "-") return a - b;
  if (marks == "*") return a * b;
  if (b == 0) return {};
  if (!is_unsigned && b == ~std::uint64_t{0})
    return marks == "/" ? 0 - a : 0;  // the minimum has no quotient in C++
  if (marks == "/") return is_unsigned ? a / b : static_cast<std::uint64_t>(sa / sb);
  return is_unsigned ? a % b : static_cast<std::uint64_t>(sa % sb);
}

class Parser {
 public:
  explicit Parser(ModuleText& out) : out_(out), lexer_(out.text) { advance(); }
  void module();

 private:
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
  void file();
  void loc();
  void skip_section();
  Extent extent();
  bool performance_directive(FunctionText& function);
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
  Operand operand(bool of_call);
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
  std::optional<Scope::Registers> find_registers(std::string_view name) const;
  static int number_in_range(const Scope& in, std::string_view name);
  int find_register(std::string_view name) const;
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
  SourceLine source_ = {};
  std::vector<Reference> references_;
  std::unordered_map<std::string_view, const Variable*> variables_;  // of the module
};

// ---- Tokens

void Parser::advance() {
  if (token_.kind != Kind::end)
    end_of_last_ = static_cast<std::size_t>(token_.text.data() - out_.text.data()) + token_.text.size();
  Result<Token> next = lexer_.next();
  if (!next) throw Refused{next.error()};
  token_ = *next;
}
bool Parser::take(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}
bool Parser::take(std::string_view dotted) {
  if (!token_.is(dotted)) return false;
  advance();
  return true;
}
void Parser::expect(char c) {
  if (!take(c)) unexpected(fmt::format("'{}'", c));
}
void Parser::unexpected(std::string accepted) {
  refuse(Errc::statement_syntax, token_.position, seen(token_), std::move(accepted));
}
std::string_view Parser::name(std::string_view what) {
  if (token_.kind != Kind::name) unexpected(std::string(what));
  const std::string_view out = token_.text;
  advance();
  return out;
}
std::int64_t Parser::integer(std::string_view what) {
  const Position at = token_.position;
  const Constant value = constant();
  if (value.literal.is_float)
    refuse(Errc::statement_syntax, at, "a floating-point constant", std::string(what));
  return static_cast<std::int64_t>(value.literal.bits);
}

Constant Parser::primary() {
  const Nested nested(*this);
  const Position at = token_.position;
  if (token_.kind == Kind::number) {
    const Constant out{token_.literal, token_.text.ends_with('U')};
    advance();
    return out;
  }
  if (token_.kind == Kind::name && token_.text == "WARP_SZ") {
    advance();
    return {{false, false, 32}, false};
  }
  if (take('(')) {
    const bool to_unsigned = token_.is(".u64");
    if (to_unsigned || token_.is(".s64")) {
      advance();
      expect(')');
      return {primary().literal, to_unsigned};
    }
    const Constant out = constant();
    expect(')');
    return out;
  }
  for (const char mark : {'-', '+', '~', '!'}) {
    if (!take(mark)) continue;
    Constant out = primary();
    if (out.literal.is_float && (mark == '~' || mark == '!' || out.literal.single))
      refuse(Errc::statement_syntax, at, fmt::format("'{}' before a floating-point constant", mark),
             "an integer");
    if (out.literal.is_float && mark == '-') out.literal.bits ^= std::uint64_t{1} << 63;
    if (out.literal.is_float) return out;
    if (mark == '-') out.literal.bits = 0 - out.literal.bits;
    if (mark == '~') out.literal.bits = ~out.literal.bits;
    if (mark == '!') out.literal.bits = out.literal.bits == 0;
    return out;
  }
  unexpected("a constant");
}

// The operator at the current token, of one character or two; empty if there is none. It is not taken.
std::string_view Parser::binary_operator() {
  if (token_.kind != Kind::mark) return {};
  const auto at = static_cast<std::size_t>(token_.text.data() - out_.text.data());
  for (const std::size_t size : {std::size_t{2}, std::size_t{1}})
    for (const BinaryOperator& one : kBinaryOperators)
      if (one.marks.size() == size && std::string_view(out_.text).substr(at, size) == one.marks)
        return one.marks;
  return {};
}

// Precedence climbing, from the loosest operator that may stand here.
Constant Parser::constant(int precedence) {
  const Nested nested(*this);
  Constant out = primary();
  for (std::string_view marks = binary_operator(); !marks.empty(); marks = binary_operator()) {
    const int mine = std::ranges::find(kBinaryOperators, marks, &BinaryOperator::marks)->precedence;
    if (mine < precedence) break;
    const Position at = token_.position;
    for (std::size_t i = 0; i < marks.size(); ++i) advance();
    const Constant right = constant(mine + 1);
    if (out.literal.is_float || right.literal.is_float)
      refuse(Errc::statement_syntax, at, fmt::format("'{}' between floating-point constants", marks),
             "integers");
    const bool shift = marks == "<<" || marks == ">>";
    const bool is_unsigned = out.is_unsigned || (right.is_unsigned && !shift);
    const auto value = evaluate(marks, out.literal.bits, right.literal.bits, is_unsigned);
    if (!value) refuse(Errc::statement_syntax, at, "a division by zero", "another constant");
    out = {{false, false, *value}, is_unsigned && mine >= 3 && mine != 6 && mine != 7};
  }
  if (precedence == 1 && take('?')) {
    const Constant yes = constant();
    expect(':');
    const Constant no = constant();
    return out.literal.bits != 0 ? yes : no;
  }
  return out;
}

// ---- Directives

void Parser::module() {
  version();
  const std::array linkages = {std::pair{".visible", Linkage::visible}, std::pair{".extern", Linkage::external},
                               std::pair{".weak", Linkage::weak}, std::pair{".common", Linkage::common}};
  while (token_.kind != Kind::end) {
    Linkage linkage = Linkage::internal;
    const auto found = std::ranges::find_if(linkages, [&](const auto& one) { return token_.is(one.first); });
    if (found != linkages.end()) {
      advance();
      linkage = found->second;
    }
    if (take(".entry"))
      function(linkage, true);
    else if (take(".func"))
      function(linkage, false);
    else if (linkage == Linkage::internal && other_directive())
      continue;
    else if (const Position at = token_.position; const std::optional<StateSpace> in = space())
      module_variable(*in, linkage, at);
    else if (linkage != Linkage::internal)
      unexpected("what is linked: .entry, .func, .global, .const or .shared");
    else
      unexpected(
          "a directive of a module: .entry, .func, .global, .const, .shared, .extern, .visible, .weak, .file, ...");
  }
}

// One that no linkage precedes.
bool Parser::other_directive() {
  if (take(".file"))
    file();
  else if (take(".loc"))
    loc();
  else if (take(".section"))
    skip_section();
  else if (take(".pragma"))
    pragma();
  else if (take(".alias"))
    alias();
  else
    return false;
  return true;
}

void Parser::module_variable(StateSpace in, Linkage linkage, Position at) {
  if (in == StateSpace::reg || in == StateSpace::local || in == StateSpace::param)
    refuse(Errc::statement_syntax, at, fmt::format("'.{}' outside of functions", ptx::name(in)),
           ".global, .const or .shared");
  declaration(in, linkage);
}

// .alias name, function;
void Parser::alias() {
  const auto function = [&](bool has_body) -> FunctionText& {
    const Position at = token_.position;
    const std::string_view named = name("the name of a function");
    for (FunctionText& one : out_.functions)
      if (one.name == named && !one.is_entry && one.has_body == has_body) return one;
    refuse(Errc::statement_syntax, at, fmt::format("'{}'", named),
           has_body ? "a function that is defined" : "a function that is declared and not defined");
  };
  FunctionText& other = function(false);
  expect(',');
  other.alias = function(true).name;
  expect(';');
}

void Parser::version() {
  if (!take(".version")) unexpected(".version, which begins a module");
  const std::string_view number = token_.text;
  const auto dot = number.find('.');
  const auto read = [](std::string_view digits, int& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  if (token_.kind != Kind::number || dot == number.npos || !read(number.substr(0, dot), out_.major) ||
      !read(number.substr(dot + 1), out_.minor))
    unexpected("a version, such as 9.0");
  advance();
  if (!take(".target")) unexpected(".target, which follows .version");
  out_.target = name("a target, such as sm_90a");
  while (take(',')) name("a property of the target, such as debug");
  if (take(".address_size")) out_.address_bits = static_cast<int>(integer("32 or 64"));
}

void Parser::file() {
  const auto number = static_cast<std::size_t>(integer("the number of a file"));
  if (token_.kind != Kind::string || number > 1'000'000) unexpected("the name of a file in quotes");
  if (out_.files.size() <= number) out_.files.resize(number + 1);
  out_.files[number] = token_.text;
  advance();
  while (take(',')) integer("the time or the size of a file");
}

void Parser::loc() {
  source_.file = static_cast<int>(integer("the number of a file"));
  source_.line = static_cast<int>(integer("a line"));
  integer("a column");
  while (take(',')) {
    const std::string_view what = name("function_name or inlined_at");
    if (what == "function_name") {
      name("a label");
      if (take('+')) integer("an offset");
    } else {
      for (int i = 0; i < 3; ++i) integer("file, line and column");
    }
  }
}

// Debug information: its braces hold no braces.
void Parser::skip_section() {
  while (!token_.is('{')) {
    if (token_.kind == Kind::end) unexpected("'{'");
    advance();
  }
  while (!token_.is('}')) {
    if (token_.kind == Kind::end) unexpected("'}'");
    advance();
  }
  advance();
}

// (...), with others inside.
void Parser::skip_parentheses() {
  expect('(');
  for (int depth = 1; depth > 0; advance()) {
    if (token_.kind == Kind::end) unexpected("')'");
    if (token_.is('(')) ++depth;
    if (token_.is(')')) --depth;
  }
}

// Advice to the assembler.
void Parser::pragma() {
  do {
    if (token_.kind != Kind::string) unexpected("a pragma in quotes");
    advance();
  } while (take(','));
  expect(';');
}

Extent Parser::extent() {
  const auto one = [&] {
    const Position at = token_.position;
    const std::int64_t count = integer("a number of threads");
    if (count < 1 || count > 0x7FFFFFFF)
      refuse(Errc::statement_syntax, at, fmt::format("{} threads", count), "1 to 2147483647");
    return static_cast<unsigned>(count);
  };
  Extent out;
  out.x = one();
  if (take(',')) out.y = one();
  if (take(',')) out.z = one();
  return out;
}

bool Parser::performance_directive(FunctionText& function) {
  if (take(".maxntid"))
    function.max_threads = extent();
  else if (take(".reqntid"))
    function.required_threads = extent();
  else if (take(".reqnctapercluster"))
    function.required_cluster = extent();
  else if (take(".explicitcluster"))
    function.explicit_cluster = true;
  else if (take(".blocksareclusters") || take(".noreturn"))
    return true;
  else if (take(".minnctapersm") || take(".maxnctapersm") || take(".maxnreg") || take(".maxclusterrank") ||
           take(".abi_preserve") || take(".abi_preserve_control"))
    integer("a number");
  else if (take(".pragma"))
    pragma();
  else
    return false;
  return true;
}

// ---- Variables

std::optional<StateSpace> Parser::space() {
  constexpr std::array kSpaces = {
      std::pair{".reg", StateSpace::reg},       std::pair{".param", StateSpace::param},
      std::pair{".local", StateSpace::local},   std::pair{".shared", StateSpace::shared},
      std::pair{".global", StateSpace::global}, std::pair{".const", StateSpace::constant},
  };
  for (const auto& [dotted, out] : kSpaces)
    if (take(dotted)) return out;
  return {};
}

// .align, .attribute, .unified, .v2, .v4, .ptr and the type, in any order.
void Parser::attributes(Variable& variable, int& vector) {
  bool typed = false;
  while (token_.kind == Kind::dotted) {
    if (take(".align")) {
      const Position at = token_.position;
      variable.alignment = static_cast<int>(integer("an alignment"));
      if (variable.alignment <= 0 || (variable.alignment & (variable.alignment - 1)) != 0)
        refuse(Errc::statement_syntax, at, fmt::format("alignment {}", variable.alignment), "a power of two");
    } else if (take(".v2")) {
      vector = 2;
    } else if (take(".v4")) {
      vector = 4;
    } else if (take(".attribute")) {
      skip_parentheses();
    } else if (take(".unified") || take(".managed")) {
      continue;
    } else if (take(".ptr")) {
      variable.pointee = space();
    } else if (const std::optional<Type> type = find_type(token_.text.substr(1)); type && !typed) {
      if (!row(*type).is_declared || (*type == Type::pred && variable.space != StateSpace::reg))
        unexpected("a type that a variable may have, such as .b32");
      variable.type = *type;
      typed = true;
      advance();
    } else {
      unexpected("a type, .align, .v2 or .v4");
    }
  }
  if (!typed) unexpected("the type of a variable, such as .b32");
}

void Parser::declaration(StateSpace in, Linkage linkage) {
  if (in == StateSpace::reg) return register_declaration();
  Variable variable{{}, in};
  variable.linkage = linkage;
  int vector = 1;
  attributes(variable, vector);
  do one_variable(variable, vector);
  while (take(','));
  expect(';');
}

// [3][4] or [], of which only the first may be empty: 0.
std::vector<std::int64_t> Parser::extents() {
  std::vector<std::int64_t> out;
  std::int64_t all = 1;
  while (take('[')) {
    const Position at = token_.position;
    if (out.size() == kDeepest)
      refuse(Errc::statement_syntax, at, "another dimension", fmt::format("at most {}", kDeepest));
    if (token_.kind != Kind::number && (!out.empty() || !token_.is(']'))) unexpected("a number of elements");
    const std::int64_t count = token_.is(']') ? 0 : static_cast<std::int64_t>(primary().literal.bits);
    if (count < 0 || (count > 0 && all > (std::int64_t{1} << 40) / count))
      refuse(Errc::statement_syntax, at, fmt::format("{} elements", count), "a smaller number");
    all *= std::max<std::int64_t>(count, 1);
    out.push_back(count);
    expect(']');
  }
  return out;
}

// name, name[3][4], name[] and an initialiser.
void Parser::one_variable(Variable variable, int vector) {
  variable.position = token_.position;
  variable.name = name("the name of a variable");
  const int element = bits(variable.type) / 8 * vector;
  variable.alignment = std::max(variable.alignment, element);
  const std::vector<std::int64_t> sizes = extents();
  variable.bytes = element;
  for (const std::int64_t size : sizes) variable.bytes *= size;
  auto& names = function_ != nullptr ? scope().variables : variables_;
  auto& variables = function_ != nullptr ? function_->variables : out_.variables;
  if (token_.is('=')) initialise(variable, sizes, vector);
  if (variable.bytes == 0 && variable.linkage != Linkage::external)
    refuse(Errc::statement_syntax, variable.position, fmt::format("'{}' without a size", variable.name),
           "a number of elements, initial values or .extern");
  const auto [known, added] = names.try_emplace(variable.name, nullptr);
  const bool is_register = function_ != nullptr && declares_register(scope(), variable.name);
  if (is_register ||
      (!added && known->second->linkage != Linkage::external && variable.linkage != Linkage::external))
    refuse(Errc::statement_syntax, variable.position, fmt::format("'{}' a second time", variable.name),
           "another name");
  variables.push_back(std::move(variable));
  known->second = &variables.back();
}

// = value, = {values}, with braces inside for rows and vectors. The values follow each other, wherever rows end.
void Parser::initialise(Variable& variable, std::span<const std::int64_t> sizes, int vector) {
  if (variable.linkage == Linkage::external ||
      (variable.space != StateSpace::global && variable.space != StateSpace::constant))
    unexpected("';': only variables in .global and .const that are not external have initial values");
  if (variable.type == Type::f16 || variable.type == Type::f16x2 || variable.type == Type::b128)
    unexpected(fmt::format("';': no variable of .{} has an initial value", row(variable.type).name));
  expect('=');
  std::vector<std::int64_t> counts(sizes.begin(), sizes.end());
  if (vector > 1) counts.push_back(vector);
  std::size_t at = 0;
  const std::int64_t first = initial_values(variable, counts, vector > 1, at);
  if (!sizes.empty() && sizes[0] == 0) {
    variable.bytes = first * vector * bits(variable.type) / 8;
    for (const std::int64_t size : sizes.subspan(1)) variable.bytes *= size;
  }
}

// The number of values, or of rows, between one pair of braces.
std::int64_t Parser::initial_values(Variable& variable, std::span<const std::int64_t> counts, bool vectors,
                                    std::size_t& at) {
  const std::size_t bytes = static_cast<std::size_t>(bits(variable.type) / 8);
  if (counts.empty()) {
    initial_value(variable, at, static_cast<int>(bytes));
    at += bytes;
    return 1;
  }
  expect('{');
  std::int64_t count = 0;
  if (!token_.is('}')) do {
      if (counts[0] > 0 && count == counts[0]) unexpected(fmt::format("'}}' after {} values", count));
      initial_values(variable, counts.subspan(1), vectors, at);
      ++count;
    } while (take(','));
  if (vectors && counts.size() == 1 && count != counts[0])
    unexpected(fmt::format("{} values of a vector", counts[0]));
  expect('}');
  return count;
}

// A constant, or the address of a symbol: symbol, generic(symbol), each with an offset; 0xff00(symbol), a byte of it.
void Parser::initial_value(Variable& variable, std::size_t at, int bytes) {
  Relocation address{at, bytes, {}, 0, false, 0, token_.position};
  const bool holds_address = variable.type == Type::u64 || variable.type == Type::u32;
  if (token_.kind == Kind::name && token_.text != "WARP_SZ") {
    if (!holds_address) unexpected("a constant: addresses are initial values of .u64 and .u32");
    if (symbol(address) && take('+')) address.offset = integer("an offset");
    variable.relocations.push_back(address);
    return;
  }
  const Position from = token_.position;
  const Constant value = constant();
  if (!token_.is('(')) {
    if (!value.literal.is_float && is_floating(variable.type))
      refuse(Errc::statement_syntax, from, "an integer", "a floating-point constant");
    if (value.literal.is_float && is_integer(variable.type))
      refuse(Errc::statement_syntax, from, "a floating-point constant", "an integer");
    return put(variable, at, bytes, value.literal);
  }
  if (variable.type != Type::u8) unexpected("',' or '}': bytes of an address are initial values of .u8");
  address.shift = -1;
  for (int shift = 0; shift < 64; shift += 8)
    if (value.literal.bits == std::uint64_t{0xFF} << shift) address.shift = shift;
  if (address.shift < 0)
    refuse(Errc::statement_syntax, from, fmt::format("mask 0x{:x}", value.literal.bits),
           "0xFF, 0xFF00 and the like");
  expect('(');
  symbol(address);
  expect(')');
  variable.relocations.push_back(address);
}

// symbol or generic(symbol): of a variable or a function that is declared before. Whether it is a variable.
bool Parser::symbol(Relocation& out) {
  out.generic = token_.kind == Kind::name && token_.text == "generic";
  if (out.generic) {
    advance();
    expect('(');
  }
  out.position = token_.position;
  out.symbol = name("the name of a variable or a function");
  const Variable* variable =
      function_ != nullptr ? find_variable(out.symbol) : find_module_variable(out.symbol);
  const bool addressed = variable != nullptr
                             ? variable->space == StateSpace::global || variable->space == StateSpace::constant
                             : out_.find(out.symbol) != nullptr;
  if (!addressed)
    refuse(Errc::statement_syntax, out.position, fmt::format("'{}'", out.symbol),
           "a variable in .global or .const, or a function, that is declared before");
  if (out.generic) expect(')');
  return variable != nullptr;
}

void Parser::put(Variable& variable, std::size_t at, int bytes, const Literal& value) {
  if (variable.initial.size() < at + static_cast<std::size_t>(bytes))
    variable.initial.resize(at + static_cast<std::size_t>(bytes));
  const std::uint64_t code = literal_bits(value, variable.type);
  for (int i = 0; i < bytes; ++i)
    variable.initial[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(code >> 8 * i);
}

void Parser::register_declaration() {
  Variable like{{}, StateSpace::reg};
  int vector = 1;
  attributes(like, vector);
  do {
    const Position at = token_.position;
    one_register(name("the name of a register"), like.type, vector, at);
  } while (take(','));
  expect(';');
}

void Parser::one_register(std::string_view base, Type type, int vector, Position at) {
  int count = Scope::kSingle;
  if (take('<')) {
    const Position number = token_.position;
    const std::int64_t wanted =
        token_.kind == Kind::number ? static_cast<std::int64_t>(primary().literal.bits) : -1;
    if (wanted < 0 || wanted > 1'000'000)
      refuse(Errc::statement_syntax, number, "a number of registers", "0 to 1000000");
    count = static_cast<int>(wanted);
    expect('>');
  }
  const bool known = count == Scope::kSingle
                         ? declares_register(scope(), base) || scope().variables.contains(base)
                         : range_meets(scope(), base, count);
  if (known)
    refuse(Errc::statement_syntax, at, fmt::format("register '{}' a second time", base), "another name");
  auto& registers = function_->registers;
  const Scope::Registers range{static_cast<int>(registers.size()), vector > 1 ? vector : count, vector > 1};
  if (vector > 1)
    for (const char component : std::string_view("xyzw").substr(0, static_cast<std::size_t>(vector)))
      registers.push_back({fmt::format("{}.{}", base, component), type});
  else if (count == Scope::kSingle)
    registers.push_back({std::string(base), type});
  else
    for (int i = 0; i < count; ++i) registers.push_back({fmt::format("{}{}", base, i), type});
  scope().registers.emplace(base, range);
}

bool Parser::declares_register(const Scope& in, std::string_view name) {
  return in.registers.contains(name) || number_in_range(in, name) >= 0;
}

// Whether %base<count> has a register that the scope has already.
bool Parser::range_meets(const Scope& in, std::string_view base, int count) {
  if (in.registers.contains(base)) return true;
  return std::ranges::any_of(in.registers, [&](const auto& one) {
    Scope alone;
    alone.registers.emplace(base, Scope::Registers{0, count});
    return one.second.count == Scope::kSingle && number_in_range(alone, one.first) >= 0;
  });
}

// ---- Functions

Variable Parser::parameter() {
  const std::optional<StateSpace> in = space();
  if (in != StateSpace::param && in != StateSpace::reg) unexpected(".param or .reg");
  Variable out{{}, *in};
  int vector = 1;
  attributes(out, vector);
  out.position = token_.position;
  out.name = name("the name of a parameter");
  const int element = bits(out.type) / 8 * vector;
  out.alignment = std::max(out.alignment, element);
  out.bytes = element;
  if (take('[')) {
    out.bytes = token_.is(']') ? 0 : element * integer("a number of elements");
    if (out.bytes < 0 || out.bytes > 1 << 20)
      refuse(Errc::statement_syntax, out.position, "a size of a parameter", "at most 1 MiB");
    expect(']');
  }
  return out;
}

std::deque<Variable> Parser::parameters() {
  std::deque<Variable> out;
  if (!take('(')) return out;
  if (take(')')) return out;
  do out.push_back(parameter());
  while (take(','));
  expect(')');
  return out;
}

void Parser::function(Linkage linkage, bool is_entry) {
  FunctionText made;
  made.is_entry = is_entry;
  made.linkage = linkage;
  if (take(".attribute")) skip_parentheses();
  if (!is_entry) made.returns = parameters();
  made.position = token_.position;
  made.name = name("the name of a function");
  made.parameters = parameters();
  while (performance_directive(made)) continue;
  FunctionText* known = nullptr;
  for (FunctionText& function : out_.functions)
    if (function.name == made.name) known = &function;
  if (known != nullptr && known->is_entry != made.is_entry)
    refuse(Errc::statement_syntax, made.position, fmt::format("'{}' as a kernel and as a function", made.name),
           "one of both");
  if (known != nullptr && known->has_body && token_.is('{'))
    refuse(Errc::statement_syntax, made.position, fmt::format("'{}' a second time", made.name), "another name");
  if (known == nullptr)
    known = &out_.functions.emplace_back(std::move(made));
  else if (token_.is('{'))
    *known = std::move(made);
  if (!take(';')) body(*known);
}

void Parser::body(FunctionText& function) {
  function_ = &function;
  function.has_body = true;
  scopes_.clear();
  references_.clear();
  source_ = {};
  scope_ = -1;
  if (!token_.is('{')) unexpected("'{' or ';'");
  open_scope();
  for (std::deque<Variable>* list : {&function.returns, &function.parameters})
    for (const Variable& variable : *list) {
      if (variable.space == StateSpace::reg)
        one_register(variable.name, variable.type, 1, variable.position);
      else {
        if (!scope().variables.try_emplace(variable.name, &variable).second)
          refuse(Errc::statement_syntax, variable.position, fmt::format("'{}' a second time", variable.name),
                 "another name");
      }
    }
  advance();
  while (scope_ >= 0) in_body();
  for (const Reference& reference : references_) resolve(reference);
  function_ = nullptr;
}

void Parser::open_scope() {
  scopes_.emplace_back().parent = scope_;
  scope_ = static_cast<int>(scopes_.size()) - 1;
}

void Parser::in_body() {
  if (take('{')) return open_scope();
  if (take('}')) {
    scope_ = scope().parent;
    return;
  }
  if (take(".loc")) return loc();
  if (take(".pragma")) return pragma();
  if (const std::optional<StateSpace> in = space()) return declaration(*in, Linkage::internal);
  if (token_.kind == Kind::name || token_.is('@')) return statement();
  unexpected("an instruction, a label, a declaration or '}'");
}

void Parser::label(std::string_view label, Position at) {
  constexpr std::array kTables = {std::pair{".branchtargets", LabelTable::Kind::branch_targets},
                                  std::pair{".calltargets", LabelTable::Kind::call_targets},
                                  std::pair{".callprototype", LabelTable::Kind::prototype}};
  for (const auto& [dotted, kind] : kTables) {
    if (!take(dotted)) continue;
    function_->tables.push_back(label_table(kind, label));
    scope().tables.try_emplace(label, static_cast<int>(function_->tables.size()) - 1);
    return;
  }
  if (declares_register(scope(), label) || scope().variables.contains(label) ||
      !scope().labels.try_emplace(label, static_cast<int>(function_->statements.size())).second)
    refuse(Errc::statement_syntax, at, fmt::format("label '{}' a second time", label), "another name");
}

LabelTable Parser::label_table(LabelTable::Kind kind, std::string_view label) {
  LabelTable out{kind, label};
  if (kind == LabelTable::Kind::prototype) {
    out.returns = parameters();
    name("_ or a name");
    out.parameters = parameters();
    while (performance_directive(*function_)) continue;
  } else {
    do {
      const Position at = token_.position;
      const std::string_view target = name(kind == LabelTable::Kind::branch_targets ? "a label" : "a function");
      if (kind == LabelTable::Kind::call_targets) {
        out.functions.push_back(target);
        continue;
      }
      references_.push_back({-1, static_cast<int>(function_->tables.size()),
                             static_cast<int>(out.labels.size()), scope_, target, at});
      out.labels.push_back(-1);
    } while (take(','));
  }
  expect(';');
  return out;
}

// [@{!}p] opcode.qualifiers operands;
void Parser::statement() {
  Statement out;
  if (take('@')) {
    out.guard_negated = take('!');
    out.guard = guard_register();
  }
  out.position = token_.position;
  out.source = source_;
  const auto first = static_cast<std::size_t>(token_.text.data() - out_.text.data());
  out.opcode = name("an instruction");
  if (out.guard < 0 && take(':')) return label(out.opcode, out.position);
  out.first_qualifier = static_cast<int>(function_->qualifiers.size());
  while (token_.kind == Kind::dotted) {
    function_->qualifiers.push_back(token_.text.substr(1));
    advance();
  }
  out.qualifiers = static_cast<int>(function_->qualifiers.size()) - out.first_qualifier;
  std::vector<Operand> operands;
  const bool of_call = out.opcode == "call";
  moves_ = out.opcode == "mov";
  if (!token_.is(';')) do
      operands.push_back(operand(of_call));
    while (take(','));
  Operand all;
  add_children(all, operands);
  out.first_operand = all.first;
  out.operands = all.count;
  expect(';');
  out.text = std::string_view(out_.text).substr(first, end_of_last_ - first);
  function_->statements.push_back(out);
}

// ---- Operands

void Parser::add_children(Operand& parent, const std::vector<Operand>& children) {
  parent.first = static_cast<int>(function_->operands.size());
  parent.count = static_cast<int>(children.size());
  for (const Operand& child : children) {
    if (child.index == kUnresolved)
      references_.push_back(
          {static_cast<int>(function_->operands.size()), -1, -1, scope_, child.text, child.position});
    function_->operands.push_back(child);
  }
}

Operand Parser::operand(bool of_call) {
  const Position at = token_.position;
  Operand out = token_.is('{')              ? group(Operand::Kind::vector, '}', of_call)
                : token_.is('[')            ? bracketed()
                : of_call && token_.is('(') ? group(Operand::Kind::list, ')', of_call)
                : token_.is('!')            ? negated_operand()
                : token_.kind == Kind::name && token_.text != "WARP_SZ" ? named_operand()
                                                                        : constant_operand();
  out.position = at;
  if (token_.is('[') && out.kind == Operand::Kind::symbol) {  // symbol[4]: of the elements of its type
    advance();
    const Position index = token_.position;
    const std::int64_t element = integer("the number of an element");
    if (element < 0 || element > std::int64_t{1} << 40)
      refuse(Errc::statement_syntax, index, fmt::format("element {}", element), "0 to 2^40");
    out.offset += element * (bits(out.variable->type) / 8);
    expect(']');
    if (!moves_) out = address(out);
  }
  return out;
}

Operand Parser::constant_operand() {
  const bool begins =
      token_.kind == Kind::number || token_.kind == Kind::name ||
      (token_.kind == Kind::mark && std::string_view("(-+~!").find(token_.text[0]) != std::string_view::npos);
  if (!begins) unexpected("an operand");
  Operand out;
  out.kind = Operand::Kind::literal;
  out.literal = constant().literal;
  return out;
}

Operand Parser::negated_operand() {
  expect('!');
  Operand out;
  out.kind = Operand::Kind::reg;
  out.negated = true;
  out.index = guard_register();
  return out;
}

// A register, d|p, a special register, a symbol with an offset, or a name that is declared later.
Operand Parser::named_operand() {
  Operand out;
  out.position = token_.position;
  std::string_view named = name("an operand");
  if (token_.kind == Kind::dotted && token_.adjacent) {  // %tid.x
    named = {named.data(), named.size() + token_.text.size()};
    advance();
  }
  out.text = named;
  if (named == "_") {
    out.kind = Operand::Kind::sink;
  } else if (const std::optional<Scope::Registers> range = find_registers(named); range && range->is_vector) {
    out.kind = Operand::Kind::vector;
    std::vector<Operand> parts(static_cast<std::size_t>(range->count));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].kind = Operand::Kind::reg;
      parts[i].index = range->first + static_cast<int>(i);
    }
    add_children(out, parts);
    return out;
  } else if (out.index = find_register(named); out.index >= 0) {
    out.kind = Operand::Kind::reg;
  } else if (const SpecialRow* special = find_special(named)) {
    out.kind = Operand::Kind::special;
    out.index = static_cast<int>(special->special);
  } else if (out.variable = find_variable(named); out.variable != nullptr) {
    out.kind = Operand::Kind::symbol;
    if (token_.is('+') || token_.is('-')) out.offset = integer("an offset");
    return out;
  } else if (out.index = find_table(named); out.index >= 0) {
    out.kind = Operand::Kind::table;
  } else if (named.starts_with('%')) {
    refuse(Errc::statement_syntax, out.position, fmt::format("'{}'", named),
           "the name of a register that is declared");
  } else {
    out.kind = Operand::Kind::label;
    out.index = kUnresolved;
  }
  if (take('|'))
    out.second =
        token_.kind == Kind::name && token_.text == "_" ? (advance(), kSinkPredicate) : guard_register();
  return out;
}

Operand Parser::group(Operand::Kind kind, char close, bool of_call) {
  const Nested nested(*this);
  advance();
  std::vector<Operand> items;
  if (!token_.is(close)) do
      items.push_back(operand(of_call));
    while (take(','));
  expect(close);
  Operand out;
  out.kind = kind;
  add_children(out, items);
  return out;
}

Operand Parser::address(Operand base) {
  Operand out;
  out.kind = Operand::Kind::address;
  out.offset = base.kind == Operand::Kind::literal ? 0 : std::exchange(base.offset, 0);
  add_children(out, {base});
  return out;
}

// [base], [base + offset], [base, {coordinates}]
Operand Parser::bracketed() {
  const Nested nested(*this);
  expect('[');
  Operand base = token_.kind == Kind::name && token_.text != "WARP_SZ" ? named_operand() : constant_operand();
  if (take('+'))
    base.offset += integer("an offset");
  else if (token_.is('-'))
    unexpected("'+' and the offset, such as [p+-16]");
  std::vector<Operand> items{base};
  while (take(',')) items.push_back(operand(false));
  expect(']');
  Operand out;
  out.kind = Operand::Kind::address;
  out.offset = base.kind == Operand::Kind::literal ? 0 : std::exchange(items[0].offset, 0);
  add_children(out, items);
  return out;
}

// ---- Names

std::optional<Scope::Registers> Parser::find_registers(std::string_view wanted) const {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in)) {
    const auto whole = in->registers.find(wanted);
    if (whole != in->registers.end()) return whole->second;
    if (in->variables.contains(wanted)) return {};
  }
  return {};
}

// The register of %name<count> in one scope; -1 if there is none.
int Parser::number_in_range(const Scope& in, std::string_view wanted) {
  const std::size_t stem = wanted.find_last_not_of("0123456789") + 1;
  const std::string_view digits = wanted.substr(std::min(stem, wanted.size()));
  const auto range = in.registers.find(wanted.substr(0, stem));
  if (digits.empty() || range == in.registers.end() || range->second.is_vector) return -1;
  int number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number >= 0 && number < range->second.count ? range->second.first + number : -1;
}

// The register of a name; -1 if there is none. "%r12" is %r<..> with number 12, never %r1<..> with number 2.
int Parser::find_register(std::string_view wanted) const {
  constexpr std::string_view kComponents = "xyzwrgba";
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in)) {
    const auto whole = in->registers.find(wanted);
    if (whole != in->registers.end() && whole->second.count == Scope::kSingle) return whole->second.first;
    if (wanted.size() > 2 && wanted[wanted.size() - 2] == '.') {
      const auto vector = in->registers.find(wanted.substr(0, wanted.size() - 2));
      const std::size_t component = kComponents.find(wanted.back()) % 4;
      if (vector != in->registers.end() && vector->second.is_vector &&
          static_cast<int>(component) < vector->second.count)
        return vector->second.first + static_cast<int>(component);
    }
    if (const int number = number_in_range(*in, wanted); number >= 0) return number;
    if (in->variables.contains(wanted)) return -1;
  }
  return -1;
}

const Variable* Parser::find_variable(std::string_view wanted) const {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in))
    if (const auto found = in->variables.find(wanted); found != in->variables.end()) return found->second;
  return find_module_variable(wanted);
}

const Variable* Parser::find_module_variable(std::string_view wanted) const {
  const auto found = variables_.find(wanted);
  return found == variables_.end() ? nullptr : found->second;
}

int Parser::find_table(std::string_view wanted) const {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in))
    if (const auto found = in->tables.find(wanted); found != in->tables.end()) return found->second;
  return -1;
}

int Parser::guard_register() {
  const Position at = token_.position;
  const std::string_view named = name("a predicate register");
  const int out = find_register(named);
  if (out < 0 || function_->registers[static_cast<std::size_t>(out)].type != Type::pred)
    refuse(Errc::statement_syntax, at, fmt::format("'{}'", named), "a predicate register that is declared");
  return out;
}

// A label of an enclosing scope, a table that follows, or a function of the module.
void Parser::resolve(const Reference& reference) {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(reference.scope)]; in != nullptr;
       in = enclosing(*in)) {
    const auto label = in->labels.find(reference.name);
    const auto table = in->tables.find(reference.name);
    if (label == in->labels.end() && (table == in->tables.end() || reference.operand < 0)) continue;
    if (reference.operand < 0) {
      function_->tables[static_cast<std::size_t>(reference.table)]
          .labels[static_cast<std::size_t>(reference.entry)] = label->second;
      return;
    }
    Operand& operand = function_->operands[static_cast<std::size_t>(reference.operand)];
    operand.kind = label != in->labels.end() ? Operand::Kind::label : Operand::Kind::table;
    operand.index = label != in->labels.end() ? label->second : table->second;
    return;
  }
  if (reference.operand >= 0 && out_.find(reference.name) != nullptr) {
    Operand& operand = function_->operands[static_cast<std::size_t>(reference.operand)];
    operand.kind = Operand::Kind::function;
    return;
  }
  refuse(Errc::statement_syntax, reference.at, fmt::format("'{}'", reference.name),
         "the name of a label, a variable or a function that is declared");
}

}  // namespace

std::string_view name(StateSpace space) {
  constexpr std::array<std::string_view, 6> kNames = {"reg", "param", "local", "shared", "global", "const"};
  return kNames[static_cast<std::size_t>(space)];
}

const FunctionText* ModuleText::find(std::string_view name) const {
  for (const FunctionText& function : functions)
    if (function.name == name) return function.alias.empty() ? &function : find(function.alias);
  return nullptr;
}

std::uint64_t literal_bits(const Literal& value, Type type) {
  const int size = bits(type);
  const std::uint64_t mask = size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  if (!value.is_float || size > 64) return value.bits & mask;
  if (value.single || size != 32) return value.bits & mask;
  const Format &from = format(FormatId::f64), &to = format(FormatId::f32);
  return round(to, value_of(decode(from, value.bits), from), Rounding::nearest_even) & mask;
}

Result<std::shared_ptr<const ModuleText>> parse_module(std::string text) {
  const auto out = std::make_shared<ModuleText>();
  out->text = std::move(text);
  try {
    Parser(*out).module();
  } catch (Refused& refused) {
    return std::move(refused.error);
  }
  return std::shared_ptr<const ModuleText>(out);
}

}  // namespace warpbit::ptx
