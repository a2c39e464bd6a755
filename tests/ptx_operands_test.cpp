// SPDX-License-Identifier: Apache-2.0
// Operands of scalar instructions are accepted or refused as by ptxas (tests/isa/scalar_operands.tsv).
#include <regex>

#include "grid/compile.hpp"
#include "scalar_table.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_operands_test {

using namespace warpbit;
using isa_table::Row;

/// One operand of a statement replaced.
struct Question {
  std::string statement;
  Target target;
  bool accepted;
};

/// The operands of "add.u32 %u0, {%u1, %u2}", at the commas that are in no braces or brackets.
std::vector<std::string> operands_of(const std::string& text) {
  std::vector<std::string> out;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (out.empty()) out.emplace_back();
    if (c == ',' && depth == 0)
      out.emplace_back();
    else if (c != ' ')
      out.back() += c;
  }
  return out;
}

/// `place`: "1" an operand, "1[0]" the first of a vector, "1[1]" the first coordinate of a tensor, "+" one more at the end;
/// `choice` "-": without it.
std::string replaced(const std::string& statement, const std::string& place, const std::string& choice) {
  const std::size_t blank = statement.find(' ');
  std::vector<std::string> operands = operands_of(statement.substr(blank));
  if (place == "+") {
    operands.push_back(choice);
  } else {
    const std::size_t at = static_cast<std::size_t>(place[0] - '0');
    if (place.size() > 1) {
      const std::size_t first = operands[at].find('{') + 1;
      operands[at].replace(first, operands[at].find_first_of(",}", first) - first, choice);
    } else if (choice == "-")
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(at));
    else
      operands[at] = choice;
  }
  return fmt::format("{} {};", statement.substr(0, blank), fmt::join(operands, ", "));
}

std::vector<Question> questions() {
  std::vector<Question> out;
  for (const Row& row : isa_table::read("scalar_operands"))
    for (std::string statement : scalar_table::split(row.at("statements"), ';')) {
      statement.erase(0, statement.find_first_not_of(' '));
      if (statement.empty()) continue;
      for (const bool accepted : {true, false})
        for (const std::string& choice : isa_table::operands(row.at(accepted ? "accepted" : "refused")))
          out.push_back({replaced(statement, row.at("operand"), choice), Target::find(row.at("target")).value(),
                         accepted});
    }
  return out;
}

/// Nothing if the library takes the statement.
std::optional<Error> refusal(const std::string& statement, Target target) {
  const auto module = ptx::parse_module(scalar_table::module(statement));
  if (!module) return module.error();
  const ptx::FunctionText& function = (*module)->functions.front();
  return scalar_table::refusal(function, function.statements.front(), target);
}

/// What ptxas takes and the library refuses: the manual has none of it, and what it would mean was not measured.
struct Leniency {
  std::string_view what;
  std::regex statement;
};
const std::vector<Leniency>& leniencies() {
  static const std::vector<Leniency> kLeniencies = {
      {"braces around an operand of type bf16 or bf16x2", std::regex(R"([^ ]*bf16(x2)?(\.[a-z0-9]+)? .*\{.*)")},
      {"an address in a register of 16 bits", std::regex(R"(.*\[%c12\].*)")},
      {"an f16x2 register as a predicate, and in dp4a, dp2a and cvt.pack", std::regex(R"((?!.*\{).*%h12.*)")},
      {"integer registers for a bf16 result of set", std::regex(R"(set\..*\.bf16\.[a-z0-9]+ %[ti]12.*)")},
      {"predicates and others in the macros of bf16x2", std::regex(R"(setp?\..*bf16x2 .*%[pusfh]12.*)")},
      {"a vector of one", std::regex(R"((mov\.b32|multimem\.).*\{%r12\}.*)")},
      {"a floating-point constant in a vector of bits", std::regex(R"(.*\{1\.0,.*)")},
      {"|_ behind a source", std::regex(R"(.* %r12\|_.*)")},
      {"a predicate in a vector of 32-bit registers", std::regex(R"(.*\{%p12,.*)")},
      {"a wider result of cvt.pack", std::regex(R"(cvt\.pack\..* %[vwqk]12,.*)")},
      {"a constant as a destination", std::regex(R"(createpolicy\.cvt\.L2\.b64 -?[0-9]+, .*)")},
      {"a floating-point register beside one of bits, for integers", std::regex(R"(.*\{%f12,%r13\}.*)")},
      {"no destination of an atomic with vectors", std::regex(R"(atom\..*\.v[248]\..* _, .*)")},
      {"no source", std::regex(R"(mov\.b32 %r0, \{_,.*)")},
      {"an address that is _", std::regex(R"(.*(red|st)\..* _, .*)")},
      {"an address without brackets", std::regex(R"(cp\.(reduce\.)?async\.bulk\..* (%q12|tile|1)[,;].*)")},
      {"braces around a number of arrivals", std::regex(R"(mbarrier\..*, \{%r12.*)")},
      {"braces around a mask", std::regex(R"(cp\.async\.bulk\.(global|shared).*\{(%c12|1).*)")},
      {"the address of a tensor map in a register that holds none",
       std::regex(R"((cp\..*\[%[dfcp]12,\{%r12|fence\.proxy\..*\[(%[dfp]12|1)\]).*)")},
      {"a mask of 64 bits beside offsets",
       std::regex(R"(cp\.async\.bulk\.tensor\..*\.multicast::cluster.* %[vwq]12;)")},
      {"a vector without .v2 or .v4, and one operand with it",
       std::regex(R"(st\.async\..*\[%q0\], (\{%[cr]12[,}].*|(%[usrf]12|-?[0-9]+|0f3F800000)), \[%q1\];)")},
      {"a predicate or a floating-point constant for four of eight bits",
       std::regex(R"(multimem\..*e[45]m[32]x4 .*(%p12|0f3F800000).*)")},
      {"several registers as one of 128 bits", std::regex(R"(clusterlaunchcontrol\..*\{.*)")},
  };
  return kLeniencies;
}

TEST_CASE("operands are accepted or refused as by ptxas", "[once]") {
  std::size_t accepted = 0, refused = 0, lenient = 0;
  std::vector<std::size_t> met(leniencies().size());
  for (const Question& question : questions()) {
    const std::optional<Error> error = refusal(question.statement, question.target);
    if (error && question.accepted) {
      const auto found = std::ranges::find_if(leniencies(), [&](const Leniency& one) {
        return std::regex_match(question.statement, one.statement);
      });
      if (found != leniencies().end()) {
        ++met[static_cast<std::size_t>(found - leniencies().begin())];
        ++lenient;
        continue;
      }
    }
    ++(question.accepted ? accepted : refused);
    if (!error.has_value() == question.accepted) continue;
    UNSCOPED_INFO(question.statement << " ptxas " << (question.accepted ? "accepts" : "refuses") << "; "
                                     << (error ? error->message() : "taken"));
    CHECK(!error.has_value() == question.accepted);
  }
  fmt::print("{} lists of operands accepted, {} refused as by ptxas; {} that it takes are refused\n", accepted,
             refused, lenient);
  for (std::size_t i = 0; i < met.size(); ++i) {
    INFO(leniencies()[i].what);
    CHECK(met[i] > 0);
  }
  CHECK(accepted >= 23000);
  CHECK(refused >= 144000);
}

// ---- Special registers

struct NeedsTarget {
  std::string_view registers, first;
};
constexpr NeedsTarget kSpecials[] = {
    {"%tid.x %ctaid.y %laneid %smid %clock %total_smem_size %dynamic_smem_size %lanemask_eq", "sm_75"},
    {"%reserved_smem_offset_begin %reserved_smem_offset_end %reserved_smem_offset_cap", "sm_80"},
    {"%clusterid.x %clusterid.z %nclusterid.y %cluster_ctaid.x %cluster_nctaid.z %cluster_ctarank %cluster_nctarank "
     "%aggr_smem_size",
     "sm_90"},
};

TEST_CASE("special registers are those of the target") {
  const Target first = Target::find("sm_75").value(), ampere = Target::find("sm_80").value();
  for (const auto& [registers, from] : kSpecials)
    for (const std::string& name : scalar_table::split(std::string(registers), ' ')) {
      INFO(name);
      const std::string statement = fmt::format("mov.u32 %u0, {};", name);
      CHECK(!refusal(statement, first).has_value() == (from == "sm_75"));
      CHECK(!refusal(statement, ampere).has_value() == (from != "sm_90"));
      for (const char* const later : {"sm_90", "sm_90a", "sm_100", "sm_121f"})
        CHECK_FALSE(refusal(statement, Target::find(later).value()).has_value());
    }
}

// ---- Branches and calls

struct Flow {
  std::string_view statements;
  bool accepted;  ///< by ptxas 13.0
};
constexpr Flow kFlow[] = {
    {"L: bra L;", true},
    {"L: bra.uni L;", true},
    {"L: bra.div L;", false},
    {"L: bra.sync L;", false},
    {"L: bra;", false},
    {"L: bra L, L;", false},
    {"L: bra 5;", false},
    {"L: bra %u0;", false},
    {"L: bra [L];", false},
    {"L: bra g;", false},
    {"T: .branchtargets L; brx.idx %u0, T; L: ret;", true},
    {"T: .branchtargets L; brx.idx.uni %s0, T; L: ret;", true},
    {"T: .branchtargets L; brx.idx %r0, T; L: ret;", true},
    {"T: .branchtargets L; brx.idx 0, T; L: ret;", true},
    {"T: .branchtargets L; brx.idx %v0, T; L: ret;", false},
    {"T: .branchtargets L; brx.idx %t0, T; L: ret;", false},
    {"T: .branchtargets L; brx.idx %f0, T; L: ret;", false},
    {"T: .branchtargets L; brx.idx %u0, L; L: ret;", false},
    {"T: .branchtargets L; brx.idx %u0; L: ret;", false},
    {"T: .branchtargets L; brx %u0, T; L: ret;", false},
    {"T: .calltargets g; brx.idx %u0, T;", false},
    {"call g;", true},
    {"call.uni g;", true},
    {"call g, ();", true},
    {"call (%r0), h, (%r1);", true},
    {"call (%r0), h, (5);", true},
    {"call (%r0), h, (%f0);", true},
    {"call (%f0), h, (%r1);", true},
    {"call (_), h, (%r1);", true},
    {"call (%r0), f, (%r1);", true},
    {"call (%r0), f, (7);", true},
    {"call (%r0), h;", false},
    {"call h, (%r1);", false},
    {"call (%r0), h, (%r1, %r2);", false},
    {"call (%r0), h, (%v1);", false},
    {"call (5), h, (%r1);", false},
    {"{ .param .b32 x; .param .b32 y; call (y), f, (x); }", true},
    {"{ .param .f32 x; .param .b32 y; call (y), f, (x); }", true},
    {"{ .param .b64 x; .param .b32 y; call (y), f, (x); }", false},
    {"{ .param .b32 x; .param .b32 y; call f, (x); }", false},
    {"{ .param .b8 x[4]; .param .b32 y; call (y), f, (x); }", false},
    {"{ .param .align 4 .b8 x[4]; .param .b32 y; call (y), f, (x); }", false},
    {"{ .local .b32 x; .param .b32 y; call (y), f, (x); }", false},
    {"call %v0, ();", false},
    {"P: .callprototype _ (); call %v0, (), P;", true},
    {"P: .callprototype _ (); call %v0, P;", true},
    {"P: .calltargets g; call %v0, (), P;", true},
    {"P: .callprototype (.param .b32 _) _ (); call %v0, (), P;", false},
    {"P: .branchtargets L; call %v0, (), P; L: ret;", false},
    {"call k;", false},
    {"call;", false},
    {"call (%r0);", false},
    {"call g, g;", false},
    {"call [%v0];", false},
};

bool takes_flow(std::string_view statements) {
  const auto module = ptx::parse_module(fmt::format(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.func (.param .b32 r) f(.param .b32 a) {{ ret; }}\n"
      ".func g() {{ ret; }}\n.func (.reg .b32 o) h(.reg .b32 i) {{ ret; }}\n.visible .entry k() {{\n{}{}\n}}\n",
      scalar_table::registers(), statements));
  if (!module) return false;
  const ptx::FunctionText* const k = (*module)->find("k");
  REQUIRE(k != nullptr);
  return std::ranges::all_of(k->statements, [&](const ptx::Statement& one) {
    if (one.opcode == "call") return ptx::check_call(**module, *k, one).ok();
    return !scalar_table::refusal(*k, one, Target::find("sm_90a").value());
  });
}

TEST_CASE("branches and calls are accepted or refused as by ptxas") {
  for (const Flow& one : kFlow) {
    INFO(one.statements);
    CHECK(takes_flow(one.statements) == one.accepted);
  }
}

// ---- Sentences

struct Refused {
  std::string_view statement;
  int column;
  std::string_view sentence;
};
constexpr Refused kRefused[] = {
    {"add.u32 %u0, %u1;", 1, "operand 3 is missing; expected a .u32 register or a constant"},
    {"add.u32 %u0, %u1, %u2, %u3;", 24, "operand 4 is one too many; expected 3 operands"},
    {"add.u32 %u0, %f1, %u2;", 14, "register '%f1' of .f32; expected a .u32 register or a constant"},
    {"add.u32 5, %u1, %u2;", 9, "constant 5; expected a .u32 register"},
    {"add.f32 %f0, %f1, 1;", 19, "constant 1; expected a .f32 register or a floating-point constant"},
    {"add.u32 %u0, {%u1,%u2}, 1;", 14, "a vector of 2; expected a .u32 register or a constant"},
    {"setp.eq.u32 %u0, %u1, 1;", 13, "register '%u0' of .u32; expected a .pred register"},
    {"selp.u32 %u0, %u1, %u2, %u3;", 25, "register '%u3' of .u32; expected a .pred register or a constant"},
    {"and.pred %p0, !%p1, %r2;", 21, "register '%r2' of .b32; expected a .pred register or a constant"},
    {"ld.global.v2.u32 {%u0,%u1,%u2}, [%q0];", 18, "a vector of 3; expected a vector of 2 .u32 registers"},
    {"ld.global.u32 %t0, [%q0];", 15, "register '%t0' of .u16; expected a .u32 register"},
    {"ld.global.u32 %u0, %q0;", 20, "register '%q0' of .b64; expected [address] in .global"},
    {"ld.global.u32 %u0, [tile];", 20, "the address of 'tile' in .shared; expected [address] in .global"},
    {"st.shared.u32 [tile], [tile];", 23,
     "the address of 'tile' in .shared; expected a .u32 register or a constant"},
    {"mov.b64 %q0, {%r0,%r1,%r2};", 14,
     "a vector of 3; expected a .b64 register or a constant, or a vector of 2 .b32 registers, or a vector of 4 .b16 registers"},
    {"bar.sync 16;", 10, "constant 16; expected a .u32 register or a constant of 0..15"},
    {"bfe.u32 %u0, %u1, 256, 1;", 19, "constant 256; expected a .u32 register or a constant of 0..255"},
    {"elect.sync %r0, -1;", 12, "register '%r0' of .b32; expected a .u32 register with a predicate, d|p"},
    {"bra 5;", 5, "constant 5; expected a label"},
    {"cp.async.cg.shared.global [tile], [%q0], 8;", 42, "constant 8; expected a constant of 16"},
    {"atom.global.add.u32 %u0, %u1, 1;", 26, "register '%u1' of .u32; expected [address] in .global"},
};

TEST_CASE("a refused operand is named with its place and with what is taken there") {
  for (const Refused& one : kRefused) {
    INFO(one.statement);
    const std::optional<Error> error = refusal(std::string(one.statement), Target::find("sm_90a").value());
    REQUIRE(error.has_value());
    const auto line = std::ranges::count(scalar_table::module(""), '\n');  // the last but one
    CHECK(error->message() ==
          fmt::format("line {}, column {}: '{}': {}", line, one.column, one.statement, one.sentence));
  }
}

// ---- Forms without measured results

// As ptxas 13.0 answers for sm_90a: of these without .aligned it takes wgmma's alone.
TEST_CASE("a module's statement without .aligned is refused where ptxas refuses it") {
  constexpr std::pair<std::string_view, bool> kAsked[] = {
      {"mma.sync.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r2}, {%r3}, {%r0,%r1};", false},
      {"ldmatrix.sync.m8n8.x1.shared.b16 {%r0}, [tile];", false},
      {"stmatrix.sync.m8n8.x1.shared.b16 [tile], {%r0};", false},
      {"movmatrix.sync.m8n8.trans.b16 %r0, %r1;", false},
      {"wgmma.fence.sync;", true},
      {"wgmma.wait_group.sync 0;", true},
  };
  for (const auto& [statement, is_taken] : kAsked) {
    INFO(statement);
    const Result<ptx::Module> module =
        ptx::Module::load(scalar_table::module(std::string(statement)), Target::find("sm_90a").value());
    REQUIRE(module);
    CHECK(module->check().empty() == is_taken);
  }
}

TEST_CASE("what ptxas takes and nobody measured is no instruction that is executed") {
  const Target target = Target::find("sm_100a").value();
  for (const std::string statement :
       {"min.f32 %f0, %f1, %f2, %f3;", "max.NaN.abs.f32 %f0, %f1, %f2, %f3;",
        "redux.sync.min.f32 %f0, %f1, -1;", "testp.f32 %p0, %f1;", "atom.exch.b32 %r0, [%q0], %r1, %r2;"}) {
    INFO(statement);
    CHECK_FALSE(refusal(statement, target).has_value());
    const auto module = ptx::parse_module(scalar_table::module(statement));
    REQUIRE(module.ok());
    const auto program = grid::compile(*module, "k", target, {});
    REQUIRE_FALSE(program.ok());
    CHECK(program.error().code == Errc::instruction_not_modelled);
  }
}

std::optional<Error> compiled(const std::string& statement, const Target& target) {
  INFO(statement);
  const std::optional<Error> error = refusal(statement, target);
  CHECK((error ? error->message() : "") == "");
  const auto module = ptx::parse_module(scalar_table::module(statement));
  REQUIRE(module.ok());
  const auto program = grid::compile(*module, "k", target, {});
  return program.ok() ? std::nullopt : std::optional(program.error());
}

// One of each family of the asynchronous machine.
TEST_CASE("forms of the asynchronous machine become steps") {
  for (
      const std::string statement :
      {"mbarrier.init.shared::cta.b64 [tile], 1;", "mbarrier.arrive.expect_tx.b64 _, [%q0], %r1;",
       "mbarrier.try_wait.parity.acquire.cluster.b64 %p0, [%q0], 1, %r1;",
       "mbarrier.pending_count.b64 %r0, %q0;", "cp.async.mbarrier.arrive.noinc.b64 [%q0];",
       "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;",
       "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%q0, {%r0, %r1, %r2, 0}], {%c0, 1};",
       "cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group [%q0, {0}], [tile];",
       "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [%r0], [tile], 16, [%r1];",
       "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [tile], 4, %r0;",
       "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%q0], [tile], 128;",
       "fence.proxy.tensormap::generic.acquire.gpu [p], 128;", "barrier.cluster.arrive.relaxed.aligned;",
       "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%r0], {%f0, %f1}, [%r1];",
       "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.or.b32 [%r0], %r1, [%r2];"}) {
    const std::optional<Error> error = compiled(statement, Target::find("sm_100a").value());
    CHECK((error ? error->message() : "") == "");
  }
}

// A family that learns to be executed leaves the list.
TEST_CASE("forms that are known and not executed are refused by name") {
  for (
      const std::string statement :
      {"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%q0], [tile], 64, %q1, %c0;",
       "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster"
       ".cta_group::2 [tile], [%q0, {%r0, %r1, %r2, %r3, 7}], [tile+512], %c0;",
       "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [tile], [%q0, {%r0, %r1, %r2}], "
       "[tile+512], {%c0, 1};",
       "multimem.ld_reduce.acquire.sys.global.add.acc::f32.v4.bf16x2 {%r0, %r1, %r2, %r3}, [%q0];"}) {
    const std::optional<Error> error = compiled(statement, Target::find("sm_100a").value());
    REQUIRE(error);
    CHECK(error->code == Errc::instruction_not_modelled);
  }
}

// ---- What is missing in a list of the asynchronous families

constexpr Refused kRefusedAsynchronous[] = {
    {"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%q0, {%r0}], [tile];", 55,
     "an address in register '%q0' of .b64, a vector of 1; expected [tensor map, {2 coordinates}]"},
    {"cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [tile], [%q0, {0, 0, 0}], [tile], {0, 0};",
     114, "a vector of 2; expected a vector of 1 .b16 offsets"},
    {"mbarrier.arrive.shared::cluster.b64 %q0, [%r0];", 37, "register '%q0' of .b64; expected '_'"},
    {"cp.async.bulk.prefetch.L2.global [%q0], 24;", 41,
     "constant 24; expected a .u32 register or a constant of 0..1048560/16"},
    {"mbarrier.arrive.b64 _, [%q0], 0;", 31, "constant 0; expected a .u32 register or a constant of 1.."},
};

TEST_CASE("refused operands of asynchronous instructions are named") {
  for (const Refused& one : kRefusedAsynchronous) {
    INFO(one.statement);
    const std::optional<Error> error = refusal(std::string(one.statement), Target::find("sm_90a").value());
    REQUIRE(error.has_value());
    const auto line = std::ranges::count(scalar_table::module(""), '\n');
    CHECK(error->message() ==
          fmt::format("line {}, column {}: '{}': {}", line, one.column, one.statement, one.sentence));
  }
}

}  // namespace ptx_operands_test
