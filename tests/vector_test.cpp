// SPDX-License-Identifier: Apache-2.0
// Steps on all 32 lanes at once against the specification of one lane: every form that has such a step, on boundary values
// and random ones, with lanes left out, for every vector extension of this processor.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "assembler/rules.hpp"
#include "grid/block.hpp"
#include "grid/cluster.hpp"
#include "grid/compile.hpp"
#include "grid/steps.hpp"
#include "kernel/floating.hpp"
#include "ptx/forms.hpp"
#include "ptx/module.hpp"
#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"

namespace vector_test {

using namespace warpbit;
using namespace warpbit::grid;
using grid::Block, grid::Place, grid::Step, grid::Warp;
using Words = std::vector<std::string>;

// ---- Statements: whatever match_scalar accepts of these words

// As many of these as an instruction has, one of each, none where the word is empty.
using Slots = std::vector<Words>;

const Words kIntegers = {"u16", "s16", "u32", "s32", "u64", "s64"}, kBits = {"b16", "b32", "b64"},
            kCarried = {"u32", "s32", "u64", "s64"}, kHalves = {"f16", "f16x2", "bf16", "bf16x2"},
            kWords = {"u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"},
            kAll = {"u8",  "s8",  "u16", "s16", "u32",  "s32", "u64",   "s64",   "b16",
                    "b32", "b64", "f16", "f32", "bf16", "f64", "f16x2", "bf16x2"},
            kRoundings = {"", "rn", "rz", "rni", "rzi", "rmi", "rpi"};

std::vector<std::pair<std::string, Slots>> candidates() {
  const Words ftz = {"", "ftz"}, sat = {"", "sat"}, rn = {"", "rn", "rz", "rm", "rp"};
  std::vector<std::pair<std::string, Slots>> out;
  for (const char* opcode : {"add", "sub", "mul", "fma", "mad"}) {
    out.push_back({opcode, {rn, ftz, sat, kWords}});
    out.push_back({opcode, {{"", "rn"}, ftz, {"", "sat", "relu"}, kHalves}});
  }
  for (const char* opcode : {"mul", "mad"}) out.push_back({opcode, {{"lo", "hi", "wide"}, kAll}});
  for (const char* opcode : {"min", "max", "abs", "neg"}) out.push_back({opcode, {ftz, {"", "NaN"}, kAll}});
  for (const char* opcode :
       {"div", "rem", "and", "or", "xor", "not", "shl", "shr", "lop3", "bfe", "bfi", "popc", "clz", "selp"})
    out.push_back({opcode, {kAll}});
  for (const char* opcode : {"addc", "subc"}) out.push_back({opcode, {{"", "cc"}, kCarried}});
  for (const char* opcode : {"add", "sub"}) out.push_back({opcode, {{"cc"}, kCarried}});
  out.push_back({"madc", {{"lo", "hi"}, {"", "cc"}, kCarried}});
  out.push_back({"mad", {{"lo", "hi"}, {"cc"}, kCarried}});
  for (const char* opcode : {"div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"})
    out.push_back({opcode, {{"approx", "full", "rn", "rz"}, ftz, kAll}});
  out.push_back({"bfind", {{"", "shiftamt"}, kAll}});
  out.push_back({"brev", {kAll}});
  out.push_back({"dp4a", {{"u32", "s32"}, {"u32", "s32"}}});
  out.push_back({"dp2a", {{"lo", "hi"}, {"u32", "s32"}, {"u32", "s32"}}});
  out.push_back({"slct", {ftz, kAll, {"s32", "f32"}}});
  out.push_back({"set",
                 {{"eq", "lt", "hs", "neu", "gtu", "nan"},
                  {"", "and", "or", "xor"},
                  ftz,
                  {"u16", "s32", "f16", "bf16", "f32", "f16x2", "bf16x2"},
                  kAll}});
  out.push_back({"prmt", {{"b32"}}});
  out.push_back({"shf", {{"l", "r"}, {"wrap", "clamp"}, {"b32"}}});
  out.push_back({"setp",
                 {{"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                   "gtu", "geu", "num", "nan"},
                  {"", "and", "or", "xor"},
                  ftz,
                  kAll}});
  out.push_back({"cvt", {kRoundings, ftz, sat, kAll, kAll}});
  return out;
}

std::string reg(int bits, int i) {
  return fmt::format("%{}{}", bits == 1 ? "p" : bits <= 16 ? "h" : bits == 32 ? "r" : "d", i);
}

// A statement of a form, with registers or, for the last source, a constant; d is also the first source, if `same`.
std::string statement(std::string_view opcode, const Words& words, const ptx::MatchedForm& form, bool constant,
                      bool same) {
  std::string out(opcode);
  for (const std::string& word : words) out += "." + word;
  const std::vector<ptx::OperandForm>& operands = form.form->operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ptx::OperandForm& one = operands[i];
    const bool joins =
        std::ranges::any_of(words, [](const std::string& w) { return w == "and" || w == "or" || w == "xor"; });
    if (one.presence != ptx::OperandForm::Presence::always && !joins) continue;
    const int bits = ptx::bits(form.type_of(one));
    const int n = i == 0 || (same && i == 1) ? 0 : static_cast<int>(i);
    std::string text = reg(bits, n);
    const bool immediate = one.kind == ptx::OperandForm::Kind::immediate || opcode == "lop3";
    if (immediate && i + 1 == operands.size()) text = "0xCA";
    const ptx::Type type = form.type_of(one);
    const bool half = type == ptx::Type::f16 || ptx::row(type).element == ptx::Type::f16 ||
                      ptx::row(type).element == ptx::Type::bf16;
    if (constant && i > 0 && i + 1 == operands.size() && bits != 1 && opcode != "cvt" && !half)
      text = ptx::is_floating(type) ? (bits == 64 ? "0d3FF8000000000000" : "0f3FC00000") : "37";
    out += fmt::format("{} {}", i == 0 ? "" : ",", text);
    if (i == 0 && one.second != ptx::OperandForm::Second::none) out += "|%p4";
  }
  return out + ";";
}

void add_statements(std::string_view opcode, const Slots& slots, Target target, std::vector<std::string>& out) {
  std::vector<std::size_t> at(slots.size());
  while (true) {
    Words words;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (!slots[i][at[i]].empty()) words.push_back(slots[i][at[i]]);
    const std::vector<std::string_view> views(words.begin(), words.end());
    if (const auto forms = ptx::match_scalar(opcode, views, target); forms.ok())
      for (const ptx::MatchedForm& form : *forms)
        for (const bool constant : {false, true})
          for (const bool same : {false, true}) {
            const bool can_be_same = form.form->operands.size() > 1 && form.type_of(form.form->operands[0]) ==
                                                                           form.type_of(form.form->operands[1]);
            if (!same || can_be_same) out.push_back(statement(opcode, words, form, constant, same));
          }
    std::size_t i = 0;
    while (i < slots.size() && ++at[i] == slots[i].size()) at[i++] = 0;
    if (i == slots.size()) return;
  }
}

std::string module_of(const std::vector<std::string>& statements) {
  std::string out =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<8>;\n.reg .b16 "
      "%h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n";
  for (const std::string& one : statements) out += one + "\n";
  return out + "ret;\n}\n";
}

// ---- Values

std::uint64_t boundary(int bits, std::mt19937_64& random) {
  constexpr std::array<std::uint64_t, 16> kSingle = {
      0,           0x8000'0000, 0x3F80'0000, 0xBF80'0000, 0x0000'0001, 0x807F'FFFF, 0x0080'0000, 0x8080'0000,
      0x7F7F'FFFF, 0x7F80'0000, 0xFF80'0000, 0x7FC0'0000, 0xFFA0'0001, 0x3F7F'FFFF, 0x4F00'0000, 0xCF00'0001};
  constexpr std::array<std::uint64_t, 8> kDouble = {0,
                                                    0x8000'0000'0000'0000,
                                                    0x3FF0'0000'0000'0000,
                                                    0x000F'FFFF'FFFF'FFFF,
                                                    0x7FF0'0000'0000'0000,
                                                    0xFFF0'0000'0000'0001,
                                                    0x41DF'FFFF'FFC0'0000,
                                                    0x47EF'FFFF'F000'0000};
  constexpr std::array<std::uint64_t, 22> kHalf = {
      0,      0x8000, 0x7C00, 0x7F80, 0xFC01, 0x7FFF, 0x0001, 0x0080, 0x3C00, 0xBBFF, 0x3F80,
      0xBF7F, 0x0400, 0x83FF, 0x7BFF, 0xFBFF, 0x7F7F, 0xFF7F, 0x807F, 0xFC00, 0xFF80, 0x1400};
  constexpr std::array<std::uint64_t, 10> kWhole = {0,  1,  2,  31,          32,
                                                    33, 63, 64, 0x7FFF'FFFF, ~std::uint64_t{0}};
  const auto of = [&](const auto& list) { return list[random() % list.size()]; };
  if (random() % 2 == 0) return of(kWhole);
  return bits == 64 ? of(kDouble) : bits == 32 ? of(kSingle) : of(kHalf);
}

// Any bits, boundary values, small numbers, and floating-point numbers near 1, at the ends of f32 and at those of integers.
std::uint64_t value(int bits, std::mt19937_64& random) {
  const std::uint64_t any = random();
  if (bits == 32 && random() % 4 == 0) return (value(16, random) & 0xFFFF) | (value(16, random) & 0xFFFF) << 16;
  switch (random() % 6) {
    case 0: return any;
    case 1: return any % 80;
    case 2:
      return bits == 64 ? (any & ones(52)) | (std::uint64_t{0x3F0} + any % 31) << 52
                        : (any & 0x807F'FFFF) | (0x70 + (any >> 40) % 31) << 23;
    case 3:
      return bits == 64 ? (any & ones(52)) | (std::uint64_t{0x380} + any % 3) << 52
                        : (any & 0x807F'FFFF) | (any >> 40) % 3 << 23;
    default: return boundary(bits, random);
  }
}

// Many values of a width, made once; a register of 32 lanes has some that follow each other, from a place of its own.
class Pool {
 public:
  Pool(int bits, std::mt19937_64& random) {
    for (std::uint64_t& one : values_) one = value(bits, random);
  }
  std::span<const std::uint64_t, kLanes> lanes(std::mt19937_64& random) const {
    return std::span(values_).subspan(random() % (kSize - kLanes)).first<kLanes>();
  }

 private:
  static constexpr std::size_t kSize = 1 << 16;
  std::vector<std::uint64_t> values_ = std::vector<std::uint64_t>(kSize);
};

// ---- One step

struct Runner {
  Runner(const Program& program, int extension) {
    grid_.emplace(Grid{program, memory_});
    grid_->extension = extension;
    cluster_.emplace(*grid_, std::uint64_t{0}, Extent{0, 0, 0});
    warp_.emplace(*cluster_->block(0), program, 0, kAllLanes);
    slots_ = program.functions[0].slots;
    predicates_ = program.functions[0].predicates;
  }
  std::uint32_t* slot(std::uint32_t i) { return warp_->at(path(), Place{Place::Kind::reg, 32, false, i}); }
  std::vector<std::uint32_t> state() {
    std::vector<std::uint32_t> out(slot(0), slot(0) + slots_ * kLanes);
    for (int i = 0; i < predicates_; ++i)
      out.push_back(
          warp_->holds(path(), Place{Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(i)}));
    return out;
  }
  Next run(Run function, const Step& step, Lanes lanes) { return function(*warp_, path(), step, lanes); }
  void set_predicate(int i, Lanes value) {
    warp_->set(path(), Place{Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(i)}, kAllLanes,
               value);
  }
  int slots() const { return slots_; }
  int predicates() const { return predicates_; }

 private:
  Path& path() { return warp_->paths().front(); }

  GlobalMemory memory_;
  std::optional<Grid> grid_;
  std::optional<Cluster> cluster_;
  std::optional<Warp> warp_;
  int slots_ = 0, predicates_ = 0;
};

// The program of those statements that are not refused: forms do not say everything about operands.
Program compiled(std::vector<std::string>& statements, Target target) {
  constexpr std::size_t kLinesBefore = 10, kRefused = 200;
  for (std::size_t refused = 0; refused < kRefused; ++refused) {
    const auto module = ptx::parse_module(module_of(statements));
    INFO((module ? std::string() : module.error().message()));
    REQUIRE(module.ok());
    Result<Program> program =
        compile(*module, "k", target, {}, {.rules = assembler::Rules::none(), .shares_slots = false});
    if (program) return *std::move(program);
    INFO(program.error().message());
    std::size_t line = 0;
    REQUIRE(std::sscanf(program.error().where.c_str(), "line %zu", &line) == 1);
    REQUIRE(line >= kLinesBefore);
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(line - kLinesBefore));
  }
  throw std::runtime_error("too many statements are refused");
}

TEST_CASE("steps on all lanes equal the specification", "[vector]") {
  const Target target = *Target::find("sm_90a");
  std::vector<std::string> statements;
  // Registers have slots in the order in which they are named.
  for (const char* move : {"mov.b16 %h{0}, %h{0};", "mov.b32 %r{0}, %r{0};", "mov.b64 %d{0}, %d{0};"})
    for (int i = 0; i < 8; ++i) statements.push_back(fmt::format(fmt::runtime(move), i));
  for (const auto& [opcode, slots] : candidates()) add_statements(opcode, slots, target, statements);
  statements.insert(statements.end(),
                    {"mov.b32 %r0, %r1;", "mov.b64 %d0, %d1;", "mov.b16 %h0, %h1;", "mov.u32 %r0, 77;",
                     "mov.b64 %d0, {%r1, %r2};", "mov.b64 {%r0, %r2}, %d1;", "mov.b32 %r0, {%h1, %h2};",
                     "mov.b32 {%h0, %h2}, %r1;", "mov.b64 {_, %r2}, %d1;"});
  for (const char* type : {"f16x2", "bf16x2"})
    for (const char* relu : {"", ".relu"})
      for (const char* places : {"%r0, %r1, %r2", "%r0, %r2, %r0", "%r0, %r0, %r0", "%r0, %r1, 0f3FC00001"})
        statements.push_back(fmt::format("cvt.rn{}.{}.f32 {};", relu, type, places));
  for (const char* mode : {"up", "down", "bfly", "idx"})
    for (const char* places : {"%r0, %r1, %r2, %r3", "%r0|%p4, %r1, %r2, %r3", "%r0|%p4, %r0, 5, %r3",
                               "%r1|%p4, %r0, %r1, 31", "%r3, %r0, 1, %r3", "%r0|%p4, %r1, %r2, 0x1807"})
      statements.push_back(fmt::format("shfl.sync.{}.b32 {}, -1;", mode, places));
  for (const char* form :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"})
    for (const char* places : {"%r0, %r1", "%r0, %r0"})
      statements.push_back(fmt::format("redux.sync.{} {}, -1;", form, places));
  for (const char* source : {"%p1", "!%p2"}) {
    for (const char* mode : {"all", "any", "uni"})
      statements.push_back(fmt::format("vote.sync.{}.pred %p0, {}, -1;", mode, source));
    statements.push_back(fmt::format("vote.sync.ballot.b32 %r0, {}, -1;", source));
  }
  const Program program = compiled(statements, target);

  std::mt19937_64 random(1);
  const Pool halves(16, random), words(32, random), pairs(64, random);
  std::map<std::string, int> forms;  // by opcode
  for (const Kernel kernel : kernels()) {
    if (kernel == Kernel::reference) continue;
    const int extension = static_cast<int>(kernel) - static_cast<int>(Kernel::scalar);
    const DefaultFloating floating;
    Runner one(program, extension), all(program, extension);
    // Registers: eight of 16 bits, of 32, of 64, in this order.
    REQUIRE(one.slots() == 8 + 8 + 16);
    std::string different;
    int found = 0;
    for (const Step& step : program.steps) {
      if (step.specification == nullptr ||
          (step.run != steps::vector_vote && step.vector[static_cast<std::size_t>(extension)] == nullptr))
        continue;
      const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
      const ptx::Statement& from = origin.function->statements[static_cast<std::size_t>(origin.statement)];
      ++forms[fmt::format("{} {}", name(kernel), from.opcode)];
      for (int round = 0; round < 12 && found < 20; ++round) {
        std::vector<std::uint32_t> slots;
        for (int i = 0; i < 8; ++i)
          for (const std::uint64_t x : halves.lanes(random)) slots.push_back(x & 0xFFFF);
        for (int i = 0; i < 8; ++i)
          for (const std::uint64_t x : words.lanes(random)) slots.push_back(static_cast<std::uint32_t>(x));
        for (int i = 0; i < 8; ++i)
          for (const std::uint64_t x : pairs.lanes(random))
            slots.insert(slots.end(), {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)});
        for (Runner* runner : {&one, &all}) std::ranges::copy(slots, runner->slot(0));
        for (int i = 0; i < one.predicates(); ++i) {
          // Of some votes, all lanes or none.
          const std::uint64_t any = random();
          const auto lanes = any % 4 == 0 ? kAllLanes : any % 4 == 1 ? 0 : static_cast<Lanes>(any >> 32);
          one.set_predicate(i, lanes);
          all.set_predicate(i, lanes);
        }
        const bool together = from.opcode == "shfl" || from.opcode == "redux" || from.opcode == "vote";
        const Lanes lanes = round % 3 != 0 || together ? kAllLanes : static_cast<Lanes>(random()) | 1;
        CHECK(one.run(step.specification, step, lanes) == Next::step);
        CHECK(all.run(step.run, step, lanes) == Next::step);
        if (one.state() == all.state()) continue;
        ++found;
        different += fmt::format("{}: {} lanes {:#x}\n", name(kernel), from.text, lanes);
      }
    }
    CHECK(different == "");
  }
  std::map<std::string, int> totals;  // by vector extension
  for (const auto& [form, count] : forms) totals[form.substr(0, form.find(' '))] += count;
  for (const auto& [extension, count] : totals) {
    INFO(extension);
    CHECK(count >= 5590);
  }
  // Every opcode has some, wherever there is a vector extension at all.
  for (const char* opcode :
       {"add",  "sub",  "mul",   "mad", "min",  "max",   "abs",  "neg",  "div",  "rem",   "and",  "or",
        "xor",  "not",  "shl",   "shr", "lop3", "bfe",   "bfi",  "prmt", "popc", "clz",   "selp", "shf",
        "setp", "cvt",  "mov",   "set", "slct", "bfind", "brev", "dp4a", "dp2a", "addc",  "subc", "madc",
        "rcp",  "sqrt", "rsqrt", "sin", "cos",  "lg2",   "ex2",  "tanh", "shfl", "redux", "vote"})
    CHECK(forms[fmt::format("scalar {}", opcode)] > 0);
}

constexpr std::uint64_t kStride = 32003;  // of codes

// Registers of 32 bits, by lane, and what the function of one step leaves in %r0.
struct Many {
  Many(const Program& program, int extension) : one(program, extension), all(program, extension) {}
  // The first codes that differ, or nothing.
  std::string compare(const Step& step, const std::array<std::array<std::uint32_t, kLanes>, 3>& sources) {
    for (Runner* runner : {&one, &all})
      for (std::uint32_t i = 0; i < sources.size(); ++i) std::ranges::copy(sources[i], runner->slot(1 + i));
    (void)one.run(step.specification, step, kAllLanes);
    (void)all.run(step.run, step, kAllLanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if (one.slot(0)[lane] != all.slot(0)[lane])
        return fmt::format("{:#x} {:#x} {:#x}: {:#x}, not {:#x}", sources[0][lane], sources[1][lane],
                           sources[2][lane], all.slot(0)[lane], one.slot(0)[lane]);
    return {};
  }
  Runner one, all;
};

// Statements of %r0 to %r3.
Program program_of_words(const Words& statements) {
  std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n";
  for (const std::string& one : statements) text += one + "\n";
  const auto module = ptx::parse_module(text + "ret;\n}\n");
  REQUIRE(module.ok());
  Result<Program> program = compile(*module, "k", *Target::find("sm_90a"), {},
                                    {.rules = assembler::Rules::none(), .shares_slots = false});
  REQUIRE(program.ok());
  return *std::move(program);
}

// Codes all over a format, each time other ones of those between: of f32 one in kStride, of two halves every pair of the upper
// one with some of the lower.
TEST_CASE("functions of f32 and of two halves equal the specification", "[vector]") {
  Words statements;
  for (const char* form :
       {"sqrt.rn.f32",        "sqrt.rn.ftz.f32",      "rcp.rn.f32",         "rcp.rn.ftz.f32",
        "sqrt.approx.f32",    "sqrt.approx.ftz.f32",  "rcp.approx.f32",     "rcp.approx.ftz.f32",
        "rsqrt.approx.f32",   "rsqrt.approx.ftz.f32", "sin.approx.f32",     "cos.approx.f32",
        "lg2.approx.f32",     "lg2.approx.ftz.f32",   "ex2.approx.f32",     "ex2.approx.ftz.f32",
        "tanh.approx.f32",    "ex2.approx.f16x2",     "tanh.approx.f16x2",  "ex2.approx.ftz.bf16x2",
        "tanh.approx.bf16x2", "cvt.rni.f32.f32",      "cvt.rmi.ftz.f32.f32"})
    statements.push_back(fmt::format("{} %r0, %r1;", form));
  for (const char* form : {"div.rn.f32", "div.rn.ftz.f32", "div.full.f32", "div.full.ftz.f32", "div.approx.f32",
                           "div.approx.ftz.f32", "cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32", "add.rn.f16x2",
                           "sub.rn.ftz.f16x2", "mul.rn.f16x2", "mul.rn.ftz.sat.f16x2", "add.rn.bf16x2",
                           "mul.rn.bf16x2", "min.f16x2", "max.NaN.bf16x2", "add.rz.f32", "mul.rm.f32"})
    statements.push_back(fmt::format("{} %r0, %r1, %r2;", form));
  for (const char* form :
       {"fma.rn.f16x2", "fma.rn.ftz.f16x2", "fma.rn.bf16x2", "fma.rn.relu.bf16x2", "fma.rz.f32", "fma.rp.f32"})
    statements.push_back(fmt::format("{} %r0, %r1, %r2, %r3;", form));
  const Program program = program_of_words(statements);
  for (const Kernel kernel : kernels()) {
    if (kernel == Kernel::reference) continue;
    const int extension = static_cast<int>(kernel) - static_cast<int>(Kernel::scalar);
    const DefaultFloating floating;
    Many many(program, extension);
    REQUIRE(many.one.slots() == 4);
    std::mt19937 engine(static_cast<std::uint32_t>(extension));
    const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
    std::size_t compared = 0;
    std::string different;
    for (const Step& step : program.steps) {
      if (step.statement < 0 || step.vector[static_cast<std::size_t>(extension)] == nullptr) continue;
      ++compared;
      std::string first;
      for (std::uint64_t code = 0; code < std::uint64_t{1} << 32 && first.empty();) {
        std::array<std::array<std::uint32_t, kLanes>, 3> sources;
        for (std::size_t lane = 0; lane < kLanes; ++lane, code += kStride) {
          const auto x = static_cast<std::uint32_t>(code + random() % kStride);
          // Exponents near that of the first, too: their sums and quotients are ordinary, and cancel.
          const std::uint32_t y = random(), near = (x & 0xFFC0'FF80) ^ (y & 0x83FF'83FF);
          sources[0][lane] = x;
          sources[1][lane] = lane % 2 == 0 ? y : near;
          sources[2][lane] = lane % 4 < 2 ? random() : near ^ (random() & 0x8180'8180);
        }
        first = many.compare(step, sources);
      }
      if (first.empty()) continue;
      const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
      different +=
          fmt::format("{} {} {}\n", name(kernel),
                      origin.function->statements[static_cast<std::size_t>(origin.statement)].text, first);
    }
    CHECK(different == "");
    CHECK(compared == statements.size());
  }
}

/// 32 random bits.
struct Random {
  std::mt19937 engine{1};
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine()); }
};

// Two halves whose product is next to the smallest normal number: what rounds to it is no zero with .ftz, what does not is.
std::array<std::array<std::uint32_t, kLanes>, 3> small_products(const Codec& half, std::uint64_t smallest,
                                                                Random& random) {
  std::array<std::array<std::uint32_t, kLanes>, 3> out = {};
  const double wanted = half.decode(smallest);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (const int shift : {0, 16}) {
      const auto x = static_cast<std::uint32_t>(smallest + random() % (0x7000 - smallest));
      const auto y = static_cast<std::uint32_t>(half.encode(wanted / half.decode(x)).value());
      const std::uint32_t sign = random() & 0x8000;
      out[0][lane] |= (x ^ sign) << shift;
      out[1][lane] |= ((y + random() % 3 - 1) & 0x7FFF) << shift;
      out[2][lane] |= (random() & 0x8003) << shift;  // next to nothing
    }
  return out;
}
// Quotients by more than 2^126, which are scaled, around 2^-126.
std::array<std::array<std::uint32_t, kLanes>, 3> huge_divisors(Random& random) {
  std::array<std::array<std::uint32_t, kLanes>, 3> out = {};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    out[0][lane] = (random() & 0x807F'FFFF) | (random() % 6) << 23 | (random() % 2) * 0x3F00'0000U;
    out[1][lane] = (random() & 0x807F'FFFF) | (0xFB + random() % 4) << 23;
  }
  return out;
}

TEST_CASE("what is flushed is what the specification flushes", "[vector]") {
  const Words halves = {"mul.rn.ftz.f16x2 %r0, %r1, %r2;",      "mul.rn.ftz.sat.f16x2 %r0, %r1, %r2;",
                        "fma.rn.ftz.f16x2 %r0, %r1, %r2, %r3;", "fma.rn.ftz.relu.f16x2 %r0, %r1, %r2, %r3;",
                        "mul.rn.f16x2 %r0, %r1, %r2;",          "fma.rn.f16x2 %r0, %r1, %r2, %r3;"},
              quotients = {"div.full.ftz.f32 %r0, %r1, %r2;", "div.full.f32 %r0, %r1, %r2;",
                           "div.approx.ftz.f32 %r0, %r1, %r2;", "div.approx.f32 %r0, %r1, %r2;",
                           "div.rn.ftz.f32 %r0, %r1, %r2;"};
  const Codec half = *Codec::find("f16");
  for (const Kernel kernel : kernels()) {
    if (kernel == Kernel::reference) continue;
    const int extension = static_cast<int>(kernel) - static_cast<int>(Kernel::scalar);
    const DefaultFloating floating;
    Random random;
    for (const Words* const statements : {&halves, &quotients}) {
      const Program program = program_of_words(*statements);
      Many many(program, extension);
      std::size_t compared = 0;
      for (const Step& step : program.steps) {
        if (step.statement < 0 || step.vector[static_cast<std::size_t>(extension)] == nullptr) continue;
        ++compared;
        for (int i = 0; i < 2000; ++i) {
          INFO(fmt::format("{} {}", name(kernel), statement_of(program, step).text));
          REQUIRE(many.compare(step, statements == &halves ? small_products(half, 0x0400, random)
                                                           : huge_divisors(random)) == "");
        }
      }
      CHECK(compared == statements->size());
    }
  }
}

// Products run by run, rows of matrices and asynchronous copies at once: with ordinary factors, and with any bits, whose NaNs,
// infinities and subnormals are left to the specification.
TEST_CASE("a tiled product leaves the bytes that the specification leaves", "[vector]") {
  std::ifstream file("bench/kernels/kernels.ptx");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Result<ptx::Module> module = ptx::Module::load(text, *Target::find("sm_90"));
  REQUIRE(module.ok());
  const Result<ptx::Function> function = module->function("gemm");
  REQUIRE(function.ok());
  constexpr int kSize = 128;
  std::mt19937 random(1);
  for (const bool any_bits : {false, true}) {
    std::vector<std::uint16_t> a(kSize * kSize), b(kSize * kSize);
    for (std::vector<std::uint16_t>* factor : {&a, &b})
      for (std::uint16_t& code : *factor) {
        const auto bits = static_cast<std::uint16_t>(random());
        code = any_bits ? bits : static_cast<std::uint16_t>((bits & 0x807F) | (0x7C + bits / 128 % 6) << 7);
      }
    const auto product = [&](Kernel kernel, bool checks) {
      std::vector<std::uint32_t> d(kSize * kSize, 1);
      ptx::Launch how;
      how.block = {256};
      how.check_shared = checks;
      how.execute.kernel = kernel;
      const ptx::Report report =
          function->launch(how, {ptx::buffer(a), ptx::buffer(b), ptx::buffer(d), ptx::value(kSize)});
      CHECK(report.ok());
      return d;
    };
    const std::vector<std::uint32_t> expected = product(Kernel::reference, false);
    CHECK(std::ranges::count(expected, 1) < 10);
    for (const Kernel kernel : kernels())
      for (const bool checks : {false, true}) {
        INFO(fmt::format("{}, any bits: {}, checks: {}", name(kernel), any_bits, checks));
        CHECK(product(kernel, checks) == expected);
      }
  }
}

}  // namespace vector_test
