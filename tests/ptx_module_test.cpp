// SPDX-License-Identifier: Apache-2.0
// Modules of PTX are read as by ptxas (tests/isa/modules.txt); broken ones are refused with a place and a sentence; no text
// breaks the parser; real kernels are taken whole.
#include <array>
#include <cstdlib>  // std::getenv
#include <filesystem>
#include <random>

#include "kernel_head.hpp"
#include "ptx/module.hpp"
#include "ptx_modules.hpp"
#include "scalar_table.hpp"

namespace ptx_module_test {

using namespace warpbit;
namespace fs = std::filesystem;

using ptx_modules::Module, ptx_modules::modules, ptx_modules::text_of;

const Module& find(const std::vector<Module>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Module::name);
  REQUIRE(found != all.end());
  return *found;
}

TEST_CASE("modules are accepted and refused as by ptxas") {
  int accepted = 0, refused = 0;
  for (const Module& module : modules()) {
    INFO(module.name);
    const auto parsed = ptx::parse_module(module.text);
    ++(module.sentence == "-" ? accepted : refused);
    CHECK((parsed ? "-" : parsed.error().message()) == module.sentence);
    if (!parsed) CHECK(parsed.error().code == Errc::statement_syntax);
  }
  fmt::print("{} modules accepted, {} refused\n", accepted, refused);
  CHECK(accepted >= 40);
  CHECK(refused >= 110);
}

// What ptxas 13.0 takes of operands of tensor instructions, and what not.
TEST_CASE("tensor instructions have the operands of a module") {
  const auto takes = [](const std::string& statement) {
    const Result<ptx::Module> module = ptx::Module::load(
        ".version 9.0 .target sm_90a .address_size 64 .visible .entry k() { .reg .pred p; .reg .b32 r<8>; .reg .b64 d<3>; "
        ".reg .f32 f<4>; .reg .v4 .b32 v; .reg .v2 .b32 w; .shared .align 16 .b8 s[1024]; " +
        statement + " ret; }");
    return module && module->check().empty();
  };
  const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, ";
  const std::string wgmma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, ";
  const std::string move = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r1}, ";
  for (const std::string& statement :
       {mma + "v, w, {f0, f1, f2, f3};", mma + "{r1, r2, r3, 1+1}, {r1, WARP_SZ}, {f0, f1, f2, f3};",
        std::string("wgmma.wait_group.sync.aligned !0;"),
        std::string("wgmma.wait_group.sync.aligned 1 ? 2 : 3;"), wgmma + "d1+4, d2, !p, 2-1, -1, !1, 0;",
        wgmma + "(5), 0x77+1, 1, 1, 1, 0, 0;", move + "[s+4*4];", move + "[%laneid+16];"}) {
    INFO(statement);
    CHECK(takes(statement));
  }
  for (const std::string& statement :
       {mma + "v, v, {f0, f1, f2, f3};", mma + "v, w, {f0, f1, f2, f3+4};", mma + "v, w, {!0, 1, 2, 3};",
        wgmma + "d1, d2, r1, 1, 1, 0, 0;", wgmma + "%clock64, d2, p, 1, 1, 0, 0;", move + "[s-4];",
        move + "s[4];", move + "[%tid.x];"}) {
    INFO(statement);
    CHECK_FALSE(takes(statement));
  }
}

// Of `%r1+4` ptxas adds as integers before the statement, once in each round of a loop.
TEST_CASE("a register and a constant are a sum") {
  const std::string text = R"(// launch: grid 1 block 8
// array: u32[12] = 0 -> {10 11 12 0 20 21 20 0 0 0 0 0}
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p;
  ld.param.u64 %rd0, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1+1, 4, %rd0;
  setp.lt.u32 %p, %r1+1, 4;
  @%p st.global.u32 [%rd1+-4], %r1+10;
  @!%p bra END;
  mov.u32 %r0, %r1;
ROUND: add.u32 %r0, %r0, %r1+4;
  setp.lt.u32 %p, %r0, 20;
  @%p bra ROUND;
  st.global.u32 [%rd1+12], %r0;
END: ret;
}
)";
  const auto module = ptx::Module::load(text);
  REQUIRE(module.ok());
  const auto kernel = module->function("k");
  REQUIRE(kernel.ok());
  kernel_head::Case test(text);
  const ptx::Report report = kernel->launch(test.how, test.arguments);
  CHECK_FALSE(report.fault.has_value());
  CHECK(difference(*test.arrays.front()) == "");
}

/// The bytes of a variable's values as ptxas writes them.
struct Initial {
  std::string module, variable, bytes;
};
TEST_CASE("initial values are ptxas's bytes") {
  const std::vector<Initial> kInitial = {
      {"vector and array variables", "h", "0100feff03000400"},
      {"vector and array variables", "j",
       "0100000002000000"
       "0300000000000000"
       "0000000000000000"},
      {"initialisers", "b", "ffffffff100000000f00000005000000"},
      {"initialisers", "d", "0000c03f0000803f00007a44000000c00000803f00000040"},
      {"initialisers", "e", "0000000000000040000000000000f4bf"},
      {"initialisers", "f", "486900"},
      {"initialisers", "g", "01020000"},
      {"initialisers", "h", "0000c03f0000803f07000000"},
      {"initialisers", "i", "000000000000f83f0000803f000000000700000000000000"},
      {"expressions", "a",
       "100000003c0000000300000005000000"
       "04000000ffffffff00000000fdffffff"
       "0300000004000000"},
      {"expressions", "c", "0200000020000000"},
  };
  const std::vector<Module> all = modules();
  for (const Initial& one : kInitial) {
    INFO(one.module << ", " << one.variable);
    const auto parsed = ptx::parse_module(find(all, one.module).text);
    REQUIRE(parsed.ok());
    const auto& variables = (*parsed)->variables;
    const auto found = std::ranges::find(variables, one.variable, &ptx::Variable::name);
    REQUIRE(found != variables.end());
    std::vector<std::byte> bytes = found->initial;
    bytes.resize(static_cast<std::size_t>(found->bytes));
    std::string text;
    for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
    CHECK(text == one.bytes);
  }
}

TEST_CASE("initial addresses name their symbols") {
  const auto parsed = ptx::parse_module(find(modules(), "initial addresses").text);
  REQUIRE(parsed.ok());
  const auto& variables = (*parsed)->variables;
  const auto relocations = [&](std::string_view name) {
    std::string out;
    for (const ptx::Relocation& one : std::ranges::find(variables, name, &ptx::Variable::name)->relocations)
      out += fmt::format("{}:{}{}{}+{}>>{} ", one.at, one.bytes, one.generic ? " generic " : " ", one.symbol,
                         one.offset, one.shift);
    return out;
  };
  CHECK(relocations("b") == "0:8 a+0>>0 ");
  CHECK(relocations("d") == "0:8 a+0>>0 8:8 a+4>>0 16:8 generic a+0>>0 ");
  CHECK(relocations("e") == "0:8 generic a+8>>0 ");
  CHECK(relocations("g") == "0:1 a+0>>0 1:1 a+0>>8 2:1 generic a+0>>16 3:1 a+0>>24 4:1 a+0>>32 ");
  CHECK(relocations("h") == "0:4 a+0>>0 ");
}

TEST_CASE("an index counts elements, an offset bytes") {
  const auto parsed = ptx::parse_module(find(modules(), "addresses").text);
  REQUIRE(parsed.ok());
  const ptx::FunctionText& k = (*parsed)->functions.front();
  const auto offset = [&](std::string_view statement) {
    const auto found = std::ranges::find(k.statements, statement, &ptx::Statement::text);
    REQUIRE(found != k.statements.end());
    return k.operands[static_cast<std::size_t>(found->first_operand) + 1].offset;
  };
  CHECK(offset("ld.global.u32 x, [g+8];") == 8);
  CHECK(offset("ld.global.u32 x, g[4];") == 16);
  CHECK(offset("mov.u64 a, g[2];") == 8);
  CHECK(offset("mov.u64 a, g+4+4;") == 8);
  CHECK(offset("ld.global.u32 x, [a+-4];") == -4);
  CHECK(offset("ld.global.u32 x, [a + (2 * 4)];") == 8);
}

TEST_CASE("names are those of their scopes") {
  const auto parsed = ptx::parse_module(find(modules(), "nested scopes").text);
  REQUIRE(parsed.ok());
  const ptx::FunctionText& k = (*parsed)->functions.front();
  const auto destination = [&](std::size_t i) {
    const auto first = static_cast<std::size_t>(k.statements[i].first_operand);
    return k.registers[static_cast<std::size_t>(k.operands[first].index)].type;
  };
  CHECK(destination(0) == ptx::Type::b32);
  CHECK(destination(2) == ptx::Type::f32);
  CHECK(k.operands[static_cast<std::size_t>(k.statements[0].first_operand)].index !=
        k.operands[static_cast<std::size_t>(k.statements[1].first_operand)].index);
  const ptx::Operand& inner = k.operands[static_cast<std::size_t>(k.statements[4].first_operand)];
  CHECK(inner.kind == ptx::Operand::Kind::label);
  CHECK(inner.index == 6);
}

TEST_CASE("source lines are those of .loc") {
  const auto parsed = ptx::parse_module(find(modules(), "source lines").text);
  REQUIRE(parsed.ok());
  const ptx::FunctionText& k = (*parsed)->functions.front();
  const auto at = [&](std::size_t statement) {
    return (*parsed)->locations.at(static_cast<std::size_t>(k.statements[statement].location));
  };
  CHECK(at(0).line == 3);
  CHECK(at(1).line == 7);
  CHECK(at(2).file == 2);
  REQUIRE((*parsed)->files.size() == 3);
  CHECK((*parsed)->files[1] == "/a/b.cu");
  CHECK((*parsed)->files[2] == "c.h");
}

TEST_CASE("an alias is its function") {
  const auto parsed = ptx::parse_module(find(modules(), "aliases").text);
  REQUIRE(parsed.ok());
  REQUIRE((*parsed)->find("bar") != nullptr);
  CHECK((*parsed)->find("bar") == (*parsed)->find("foo"));
}

TEST_CASE("a floating-point constant has ptxas's bits") {
  const Literal single{true, true, 0x3F800000}, wide{true, false, 0x3FF8000000000000};
  CHECK(ptx::literal_bits(single, ptx::Type::f32) == 0x3F800000);
  CHECK(ptx::literal_bits(single, ptx::Type::f64) == 0x3F800000);  // the low half, as it is
  CHECK(ptx::literal_bits(wide, ptx::Type::f32) == 0x3FC00000);
  CHECK(ptx::literal_bits(wide, ptx::Type::f64) == 0x3FF8000000000000);
  CHECK(ptx::literal_bits(wide, ptx::Type::b32) == 0x3FC00000);
  CHECK(ptx::literal_bits(wide, ptx::Type::b16) == 0);
}

// ---- Broken texts

/// A text is taken, or refused with a line and a column of it.
void require_result(const std::string& text) {
  const auto parsed = ptx::parse_module(text);
  if (parsed) return;
  const Error& error = parsed.error();
  if (error.where.starts_with("line ") && !error.seen.empty() && !error.accepted.empty()) return;
  INFO(text);
  INFO(error.message());
  REQUIRE(error.where.starts_with("line "));
  REQUIRE_FALSE(error.seen.empty());
  REQUIRE_FALSE(error.accepted.empty());
}

TEST_CASE("every prefix of a module has a result") {
  std::size_t texts = 0;
  for (const Module& module : modules())
    for (std::size_t size = 0; size < module.text.size(); ++size, ++texts)
      require_result(module.text.substr(0, size));
  CHECK(texts >= 20000);
}

TEST_CASE("every module with a character deleted, replaced or repeated has a result") {
  std::mt19937 random(1);
  constexpr std::string_view kCharacters = "{}()[]<>,;:.!@|=+-*/%_$0x9fA\" \n'#\xFF";
  std::size_t texts = 0;
  for (const Module& module : modules())
    for (std::size_t at = 0; at < module.text.size(); ++at, texts += 3) {
      std::string shorter = module.text, other = module.text, longer = module.text;
      shorter.erase(at, 1);
      other[at] = kCharacters[random() % kCharacters.size()];
      longer.insert(at, 1 + random() % 3, module.text[at]);
      for (const std::string& text : {shorter, other, longer}) require_result(text);
    }
  CHECK(texts >= 60000);
}

TEST_CASE("what is nested deeply is refused") {
  const std::string first = ".version 9.0\n.target sm_90a\n.address_size 64\n";
  const std::string many(100000, '(');
  for (const std::string& text :
       {".global .u32 x = " + many, ".global .u32 x = " + std::string(100000, '-'),
        ".visible .entry k() { call " + many, ".visible .entry k() { mov.b32 " + std::string(100000, '{'),
        ".visible .entry k() { ld.b32 " + std::string(100000, '['),
        ".visible .entry k() { " + std::string(100000, '{'), ".global .attribute" + many}) {
    INFO(text.substr(0, 40));
    CHECK_FALSE(ptx::parse_module(first + text).ok());
  }
  std::string dimensions;
  for (int i = 0; i < 100000; ++i) dimensions += "[1]";
  CHECK_FALSE(ptx::parse_module(first + ".global .u32 x" + dimensions + ";").ok());
}

// ---- Real kernels

constexpr int kNotRun = 77;

/// Instructions that are not among the scalar forms: control flow, tensor and matrix families, asynchronous protocols.
bool is_elsewhere(std::string_view opcode) {
  constexpr std::array kElsewhere = {"bra",      "brx",
                                     "call",     "mma",
                                     "wmma",     "wgmma",
                                     "ldmatrix", "stmatrix",
                                     "cvt",      "movmatrix",
                                     "mbarrier", "cp",
                                     "fence",    "tensormap",
                                     "tcgen05",  "tex",
                                     "suld",     "sust",
                                     "multimem", "red",
                                     "st",       "clusterlaunchcontrol"};
  return std::ranges::find(kElsewhere, opcode) != kElsewhere.end();
}

struct Counts {
  std::size_t taken = 0, elsewhere = 0;
};

void check_statements(const ptx::FunctionText& function, Target target, Counts& counts) {
  for (const ptx::Statement& statement : function.statements) {
    const std::optional<Error> error = scalar_table::refusal(function, statement, target);
    const bool no_form = error && error->code != Errc::operand_missing && error->code != Errc::operand_extra &&
                         error->code != Errc::operand_kind && error->code != Errc::register_type;
    if (no_form && is_elsewhere(statement.opcode)) {
      ++counts.elsewhere;
      continue;
    }
    INFO((error ? error->message() : ""));
    REQUIRE_FALSE(error.has_value());
    ++counts.taken;
  }
}

TEST_CASE("every kernel beside the folders of WARPBIT_GOLDEN_PATH is taken", "[.][path]") {
  const char* const value = std::getenv("WARPBIT_GOLDEN_PATH");
  const std::string first = value == nullptr ? "" : scalar_table::split(value, ':').front();
  const fs::path folder = fs::path(first) / ".." / ".." / "kernels";
  if (first.empty() || !fs::is_directory(folder)) {
    fmt::print("not run: WARPBIT_GOLDEN_PATH names no folder with kernels beside it\n");
    std::fflush(stdout);
    std::exit(kNotRun);
  }
  std::size_t files = 0;
  Counts counts;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    INFO(entry.path().string());
    ++files;
    const std::string text = text_of(entry.path());
    const auto module = ptx::parse_module(text);
    INFO((module ? "" : module.error().message()));
    REQUIRE(module.ok());
    const auto target = Target::find(std::string((*module)->target));
    REQUIRE(target.ok());
    for (const ptx::FunctionText& function : (*module)->functions) check_statements(function, *target, counts);
    for (std::size_t size = 0; size < text.size(); size += 997) require_result(text.substr(0, size));
  }
  fmt::print("{} modules: {} scalar statements, {} others\n", files, counts.taken, counts.elsewhere);
  CHECK(files > 0);
  CHECK(counts.taken > 0);
}

}  // namespace ptx_module_test
