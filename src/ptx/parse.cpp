// SPDX-License-Identifier: Apache-2.0
// The directives of a module.
#include <algorithm>
#include <array>
#include <charconv>

#include "numeric/value.hpp"
#include "ptx/container.hpp"
#include "ptx/parser.hpp"
#include "target/target.hpp"

namespace warpbit::ptx {
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
    section();
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
    if (const auto found = out_.numbers.find(named); found != out_.numbers.end())
      if (FunctionText& one = out_.functions[found->second]; !one.is_entry && one.has_body == has_body)
        return one;
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
  constexpr int kMost = 99;  // of either number
  if (token_.kind != Kind::number || dot == number.npos || !read(number.substr(0, dot), out_.version.major) ||
      !read(number.substr(dot + 1), out_.version.minor) || out_.version.major > kMost ||
      out_.version.minor > kMost)
    unexpected("a version, such as 9.0");
  constexpr std::array kLast = {-1, 5, 3, 2, 3, 1, 5, 8, 8};  // minor version of 0, 1, ...; later ones may come
  const auto major = static_cast<std::size_t>(out_.version.major);
  if (major < kLast.size() && out_.version.minor > kLast[major])
    refuse(Errc::statement_syntax, token_.position, fmt::format(".version {}", number),
           major == 0
               ? std::string("1.0 or later")
               : fmt::format("a version that exists; the last of {} is {}.{}", major, major, kLast[major]));
  advance();
  if (!take(".target")) unexpected(".target, which follows .version");
  target();
  while (take(".target")) target();
  if (take(".address_size")) {
    const Position at = token_.position;
    out_.address_bits = static_cast<int>(integer("64"));
    if (out_.address_bits != 64)
      refuse(Errc::statement_syntax, at, std::to_string(out_.address_bits), "64, which CUDA 13.0 has alone");
  }
}

// Several directives, or several architectures in one, are those of several targets, of which the first is the module's.
void Parser::target() {
  const std::string_view architecture = name("a target, such as sm_90a");
  if (out_.target.empty()) out_.target = architecture;
  while (take(',')) {
    const Position at = token_.position;
    const std::string_view property = name("a property of the target, such as debug");
    if (property.starts_with("texmode_"))
      texture_mode(property, at);
    else if (property == "debug")
      out_.is_debug = true;
    else if (!property.starts_with("sm_"))
      refuse(Errc::statement_syntax, at, fmt::format("'{}'", property),
             "debug, texmode_unified or texmode_independent");
  }
}

void Parser::file() {
  const auto number = static_cast<std::size_t>(integer("the number of a file"));
  if (token_.kind != Kind::string || number > 1'000'000) unexpected("the name of a file in quotes");
  if (out_.files.size() <= number) out_.files.resize(number + 1);
  out_.files[number] = token_.text;
  advance();
  while (take(',')) integer("the time or the size of a file");
}

Location Parser::location() {
  Location out;
  out.file = static_cast<int>(integer("the number of a file"));
  out.line = static_cast<int>(integer("a line"));
  out.column = static_cast<int>(integer("a column"));
  return out;
}

void Parser::loc() {
  Location here = location();
  std::optional<LinePlace> inlined_at;
  while (take(',')) {
    const std::string_view what = name("function_name or inlined_at");
    if (what == "function_name") {
      here.function = name("a label");
      if (take('+')) here.offset = integer("an offset");
    } else {
      const Location parent = location();
      inlined_at = {parent.file, parent.line, parent.column};
    }
  }
  location_ = locations_.add(here, inlined_at);
}

// Debug information: its braces hold no braces. The strings are names of functions that were inlined.
void Parser::section() {
  const bool has_names = token_.is(".debug_str");
  while (!token_.is('{')) {
    if (token_.kind == Kind::end) unexpected("'{'");
    advance();
  }
  while (!token_.is('}')) {
    if (token_.kind == Kind::end) unexpected("'}'");
    if (has_names && token_.kind == Kind::name)
      out_.debug_labels.try_emplace(token_.text, out_.debug_names.size());
    else if (has_names && token_.kind == Kind::number)
      out_.debug_names += static_cast<char>(token_.literal.bits);
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

// .attribute(.managed, .unified(1, 2)): behind its first word.
void Parser::attribute_list() {
  expect('(');
  do {
    const Position at = token_.position;
    if (take(".unified")) {
      require({8, 0}, at, ".unified");
      require_sm_90(at, ".unified");
      skip_parentheses();
    } else if (!take(".managed")) {
      unexpected(".managed or .unified");
    }
  } while (take(','));
  expect(')');
}

void Parser::require(Version since, Position at, std::string_view what) const {
  if (out_.version < since)
    throw Refused{{Errc::not_in_version, fmt::format("{}: {}", text(at), what), warpbit::text(out_.version),
                   warpbit::text(since)}};
}

void Parser::require_sm_90(Position at, std::string_view what) const {
  const Result<Target> target = Target::find_ptx(out_.target);
  if (target.ok() && !target->row().features.has(Feature::sm_90))
    refuse(Errc::statement_syntax, at, fmt::format("'{}' for {}", what, out_.target), "sm_90 or later");
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
  else if (take(".maxnreg"))
    function.max_registers = integer("a number");
  else if (take(".minnctapersm"))
    function.min_blocks = integer("a number");
  else if (take(".maxclusterrank") || take(".abi_preserve") || take(".abi_preserve_control"))
    integer("a number");
  else if (take(".pragma"))
    pragma();
  else
    return false;
  return true;
}

// Directives of kernels or of functions alone: what ptxas asks of them.
struct DirectiveRule {
  std::string_view name;
  bool of_kernels, of_sm_90;
  std::array<std::string_view, 2> needs;
  std::string_view excludes;
  Version since = {};
};
constexpr DirectiveRule kDirectiveRules[] = {
    {".maxntid", true, false, {}, ".reqntid"},
    {".reqntid", true, false, {}, ".maxntid"},
    {".minnctapersm", true, false, {}, {}},
    {".maxnreg", true, false, {}, {}},
    {".reqnctapercluster", true, true, {}, ".maxclusterrank", {7, 8}},
    {".maxclusterrank", true, true, {}, ".reqnctapercluster", {7, 8}},
    {".explicitcluster", true, true, {}, {}, {7, 8}},
    {".blocksareclusters", true, true, {".reqntid", ".reqnctapercluster"}, {}, {9, 0}},
    {".noreturn", false, false, {}, {}, {6, 4}},
    {".abi_preserve", false, false, {}, {}, {9, 0}},
    {".abi_preserve_control", false, false, {}, {}, {9, 0}},
};

void Parser::performance_directives(FunctionText& function) {
  struct Seen {
    std::string_view name;
    Position at;
  };
  std::vector<Seen> all;
  for (Seen one{token_.text, token_.position}; performance_directive(function);
       one = {token_.text, token_.position})
    all.push_back(one);
  const auto has = [&](std::string_view name) {
    return std::ranges::find(all, name, &Seen::name) != all.end();
  };
  for (const Seen& one : all) {
    const auto rule = std::ranges::find(kDirectiveRules, one.name, &DirectiveRule::name);
    if (rule == std::end(kDirectiveRules)) continue;
    require(rule->since, one.at, one.name);
    if (rule->of_kernels != function.is_entry)
      refuse(Errc::statement_syntax, one.at,
             fmt::format("'{}' of a {}", one.name, function.is_entry ? "kernel" : "function"),
             rule->of_kernels ? "one of a kernel" : "one of a function");
    if (rule->of_sm_90) require_sm_90(one.at, one.name);
    for (const std::string_view needed : rule->needs)
      if (!needed.empty() && !has(needed))
        refuse(Errc::statement_syntax, one.at, fmt::format("'{}' without '{}'", one.name, needed), "both");
    if (!rule->excludes.empty() && has(rule->excludes))
      refuse(Errc::statement_syntax, one.at, fmt::format("'{}' beside '{}'", one.name, rule->excludes),
             "one of both");
  }
}

// ---- What a module is

std::string_view name(StateSpace space) {
  constexpr std::array<std::string_view, 6> kNames = {"reg", "param", "local", "shared", "global", "const"};
  return kNames[static_cast<std::size_t>(space)];
}

std::span<const std::string_view> words_of(const FunctionText& function, const Statement& statement) {
  return std::span(function.qualifiers)
      .subspan(static_cast<std::size_t>(statement.first_qualifier),
               static_cast<std::size_t>(statement.qualifiers));
}

const FunctionText* ModuleText::find(std::string_view name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end()) return nullptr;
  const FunctionText& function = functions[found->second];
  return function.alias.empty() ? &function : find(function.alias);
}

std::uint64_t literal_bits(const Literal& value, Type type) {
  if (type == Type::pred) return value.bits != 0 ? 1 : 0;
  const int size = bits(type);
  const std::uint64_t mask = size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  if (!value.is_float || size > 64) return value.bits & mask;
  if (value.single || size != 32) return value.bits & mask;
  const Format &from = format(FormatId::f64), &to = format(FormatId::f32);
  return round(to, value_of(decode(from, value.bits), from), Rounding::nearest_even) & mask;
}

std::string one_line(std::string_view statement) {
  std::string out;
  for (const char c : statement.substr(0, statement.find(';'))) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_blank || (!out.empty() && out.back() != ' ')) out += is_blank ? ' ' : c;
  }
  return out;
}

Result<std::shared_ptr<const ModuleText>> parse_module(std::string text) {
  if (std::optional<Error> other = not_ptx(text)) return *std::move(other);
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
