// SPDX-License-Identifier: Apache-2.0
// Variables with their initial values, registers.
#include <algorithm>
#include <array>

#include "isa/since.hpp"
#include "ptx/parser.hpp"

namespace warpbit::ptx {

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

// .align, .attribute, .v2, .v4, .ptr and the type, in any order.
void Parser::attributes(Variable& variable, int& vector) {
  bool typed = false;
  while (token_.kind == Kind::dotted) {
    if (take(".align")) {
      const Position at = token_.position;
      constexpr std::int64_t kMaxAlignment = std::int64_t{1} << 30;
      const std::int64_t wanted = integer("an alignment");
      if (wanted <= 0 || wanted > kMaxAlignment || (wanted & (wanted - 1)) != 0)
        refuse(Errc::statement_syntax, at, fmt::format("alignment {}", wanted), "a power of two, at most 2^30");
      variable.alignment = static_cast<int>(wanted);
    } else if (take(".v2")) {
      vector = 2;
    } else if (take(".v4")) {
      vector = 4;
    } else if (take(".attribute")) {
      attribute_list();
    } else if (take(".ptr")) {
      variable.pointee = space();
    } else if (const std::optional<Type> type = find_type(token_.text.substr(1)); type && !typed) {
      if (!row(*type).is_declared || (*type == Type::pred && variable.space != StateSpace::reg))
        unexpected("a type that a variable may have, such as .b32");
      if (*type == Type::b128) require(warpbit::since("b128"), token_.position, ".b128");
      variable.type = *type;
      typed = true;
      advance();
    } else if (const Opaque opaque = find_opaque(token_.text.substr(1)); opaque != Opaque::none && !typed) {
      begin_reference(variable, opaque);
      typed = true;
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
  if (take(';')) return;  // of nothing
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
  check_reference(variable, false, !sizes.empty(), vector);
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
  if (variable.opaque != Opaque::none) return initialise_reference(variable);
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
                             ? variable->opaque == Opaque::none && (variable->space == StateSpace::global ||
                                                                    variable->space == StateSpace::constant)
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
  if (take(';')) return;
  do {
    const Position at = token_.position;
    one_register(name("the name of a register"), like.type, vector, at);
  } while (take(','));
  expect(';');
}

constexpr std::int64_t kMostRegisters = std::int64_t{1} << 31;  // as ptxas

void Parser::one_register(std::string_view base, Type type, int vector, Position at) {
  int count = Scope::kSingle;
  if (take('<')) {
    const Position number = token_.position;
    const std::int64_t wanted = token_.kind == Kind::number || token_.text == "WARP_SZ"
                                    ? static_cast<std::int64_t>(primary().literal.bits)
                                    : -1;
    if (wanted < 0 || wanted > kMostRegisters)
      refuse(Errc::statement_syntax, number, "a number of registers", fmt::format("0 to {}", kMostRegisters));
    count = static_cast<int>(std::min(wanted, kMostRegisters - 1));
    expect('>');
  }
  const bool is_range = count != Scope::kSingle && vector == 1;
  const bool known = is_range ? range_meets(scope(), base, count)
                              : declares_register(scope(), base) || scope().variables.contains(base);
  if (known)
    refuse(Errc::statement_syntax, at, fmt::format("register '{}' a second time", base), "another name");
  auto& registers = function_->registers;
  const Scope::Registers range{static_cast<int>(registers.size()), vector > 1 ? vector : count, vector > 1,
                               type};
  if (vector > 1)
    for (const char component : std::string_view("xyzw").substr(0, static_cast<std::size_t>(vector)))
      registers.push_back({fmt::format("{}.{}", base, component), type});
  else if (count == Scope::kSingle)
    registers.push_back({std::string(base), type});
  if (const auto [stem, number] = stem_of(base); count == Scope::kSingle && number >= 0) {
    const auto [lowest, is_new] = scope().numbered.try_emplace(stem, number);
    lowest->second = std::min(lowest->second, number);
  }
  (is_range ? scope().ranges : scope().registers).emplace(base, range);
}

bool Parser::declares_register(const Scope& in, std::string_view name) {
  return in.registers.contains(name) || number_in_range(in, name) >= 0;
}

// Whether %base<count> has a register that the scope has already.
bool Parser::range_meets(const Scope& in, std::string_view base, int count) {
  const auto lowest = in.numbered.find(base);
  return in.ranges.contains(base) || (lowest != in.numbered.end() && lowest->second < count);
}

}  // namespace warpbit::ptx
