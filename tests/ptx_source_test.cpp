// SPDX-License-Identifier: Apache-2.0
// From where in the source a statement comes: .loc with function_name and inlined_at.
#include <catch2/catch.hpp>

#include "block/source_lines.hpp"
#include "function_name.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_source_test {

using namespace warpbit;
using Chain = std::vector<SourceLink>;

// put() is inlined into stage(), which the kernel calls at lines 20 and 30; put() also by itself, at line 25. `put` stands four
// bytes behind its label.
constexpr const char* kText = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .b32 %r<8>;
  mov.u32 %r0, 0;
  .loc 1 20 3
  .loc 1 4 3, function_name $names, inlined_at 1 20 3
  mov.u32 %r1, 1;
  .loc 2 9 5, function_name $more+4, inlined_at 1 4 3
  mov.u32 %r2, 2;
  .loc 2 9 5, function_name $more+4, inlined_at 1 25 3
  mov.u32 %r3, 3;
  .loc 1 30 3
  .loc 1 4 3, function_name $names, inlined_at 1 30 3
  .loc 2 9 5, function_name $more+4, inlined_at 1 4 3
  mov.u32 %r4, 4;
  .loc 1 40 1, function_name $nowhere, inlined_at 1 35 3
  mov.u32 %r5, 5;
  .loc 1 41 3
  mov.u32 %r6, 6;
  .loc 1 0 3
  mov.u32 %r6, 6;
  .loc 2 9 5
  mov.u32 %r6, 6;
  ret;
}
.file 1 "a/kernel.cu"
.file 2 "helper.hpp"
.section .debug_str
{
$names:
.b8 95,90,53,115,116,97,103,101,80,102,0
$more:
.b8 120,120,120,0
.b8 112,117,116,0
}
)";

Chain chain_at(int line) {
  const Result<ptx::Module> module = ptx::Module::load(kText);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  for (const ptx::CodeLine& one : function->lines())
    if (one.line == line) {
      CHECK(one.file == (one.chain.empty() ? "" : one.chain.front().file));
      CHECK(one.source_line == (one.chain.empty() ? 0 : one.chain.front().line));
      return one.chain;
    }
  FAIL("no statement at line " << line);
  return {};
}

TEST_CASE("a statement has the line of the kernel's body and those of inlined functions") {
  CHECK(chain_at(7).empty());
  CHECK(chain_at(10) == Chain{{"k", "a/kernel.cu", 20}, {"stage", "a/kernel.cu", 4}});
  CHECK(chain_at(12) == Chain{{"k", "a/kernel.cu", 20}, {"stage", "a/kernel.cu", 4}, {"put", "helper.hpp", 9}});
  CHECK(chain_at(14) == Chain{{"k", "a/kernel.cu", 25}, {"put", "helper.hpp", 9}});
  CHECK(chain_at(18) == Chain{{"k", "a/kernel.cu", 30}, {"stage", "a/kernel.cu", 4}, {"put", "helper.hpp", 9}});
  CHECK(chain_at(20) == Chain{{"k", "a/kernel.cu", 35}, {"", "a/kernel.cu", 40}});
  CHECK(chain_at(22) == Chain{{"k", "a/kernel.cu", 41}});
  // No line; and that of put() again, of which the last call is meant.
  CHECK(chain_at(24).empty());
  CHECK(chain_at(26) == chain_at(18));
}

// A loop is unrolled that calls push() twice, which calls put(). Compilers write the lines of push() in the first copy alone. A
// statement has the number of the line of the kernel that it is of: %r18 is of line 18.
constexpr const char* kUnrolled = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .b32 %r<50>;
  .reg .pred %p<2>;
  setp.eq.u32 %p1, 1, 1;
  .loc 1 18 5
  mov.u32 %r18, 0;
  .loc 1 4 3, function_name $names, inlined_at 1 18 5
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r18, 1;
  .loc 1 4 3, function_name $names, inlined_at 1 18 5
  mov.u32 %r18, 1;
  .loc 1 20 5
  .loc 1 4 3, function_name $names, inlined_at 1 20 5
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r20, 1;
  .loc 1 5 3, function_name $names, inlined_at 1 20 5
  mov.u32 %r20, 1;
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r20, 1;
  MIDDLE
  ret;
}
.file 1 "kernel.cu"
.section .debug_str
{
$names:
.b8 95,90,53,115,116,97,103,101,80,102,0
}
)";

// What is told in place of the number of the first register of each statement, where it differs.
std::string misplaced(const std::string& middle) {
  std::string text = kUnrolled, out;
  text.replace(text.find("MIDDLE"), 6, middle);
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  for (const ptx::CodeLine& one : function->lines()) {
    const std::size_t at = one.statement.find("%r");
    if (at == one.statement.npos) continue;
    const int line = std::stoi(one.statement.substr(at + 2));
    REQUIRE_FALSE(one.chain.empty());
    std::string told = std::to_string(one.chain.front().line);
    for (const int other : one.chain.front().or_lines) told += " or " + std::to_string(other);
    if (told != std::to_string(line)) out += one.statement + ": " + told + "\n";
  }
  return out;
}

TEST_CASE("a copy of an inlined line by an unrolled loop is of the call before it") {
  CHECK(misplaced("").empty());
  // The line of the call stands before the copy; what follows has the order of the first copy.
  const std::string copy =
      ".loc 1 18 5\n mov.u32 %r18, 2;\n .loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r18, 2;\n"
      ".loc 1 20 5\n mov.u32 %r20, 2;\n .loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r20, 2;\n";
  CHECK(misplaced(copy).empty());
  CHECK(misplaced(copy + copy).empty());
  // A line that one call alone has, behind it one that both have.
  CHECK(misplaced(".loc 1 4 3, function_name $names, inlined_at 1 18 5\n mov.u32 %r18, 3;\n"
                  ".loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r18, 3;\n")
            .empty());
  CHECK(misplaced(".loc 1 5 3, function_name $names, inlined_at 1 20 5\n mov.u32 %r20, 3;\n"
                  ".loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r20, 3;\n")
            .empty());
}

TEST_CASE("a line that was inlined at a line of which nothing tells the call is of its calls, too") {
  // Line 7 is known behind line 30 alone, of either call; so are lines 8 and 9, which were inlined at it.
  CHECK(misplaced(".loc 1 30 5\n mov.u32 %r30, 4;\n"
                  ".loc 1 7 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r20, 4;\n"
                  ".loc 1 8 3, function_name $names, inlined_at 1 7 3\n mov.u32 %r20, 5;\n"
                  ".loc 1 9 3, function_name $names, inlined_at 1 7 3\n mov.u32 %r20, 6;\n"
                  ".loc 1 7 3\n mov.u32 %r7, 7;\n") ==
        "mov.u32 %r20, 4: 20 or 18\nmov.u32 %r20, 5: 20 or 18\nmov.u32 %r20, 6: 20 or 18\n");
}

TEST_CASE("where nothing tells of which call a copied line is, all of them are told") {
  const std::string copy =
      ".loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r18, 4;\n"
      ".loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r20, 4;\n";
  CHECK(misplaced(".loc 1 30 5\n mov.u32 %r30, 4;\n" + copy) ==
        "mov.u32 %r18, 4: 18 or 20\nmov.u32 %r20, 4: 20 or 18\n");
  // In a basic block that has the line of one call alone, it is of that one.
  const std::string block =
      "@%p1 bra NEXT;\nNEXT:\n.loc 1 33 5\n.loc 1 4 3, function_name $names, inlined_at 1 33 5\n"
      ".loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r33, 5;\n.loc 1 34 5\n mov.u32 %r34, 5;\n"
      ".loc 1 2 3, function_name $names, inlined_at 1 4 3\n mov.u32 %r33, 5;\n";
  CHECK(misplaced(block).empty());
}

TEST_CASE("names of functions are as people write them") {
  for (const auto& [symbol, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"saxpy", "saxpy"},
           {"_Z5stagePf", "stage"},
           {"_ZN4TileILi128EE3getEi", "Tile<128>::get"},
           {"_ZNK4TileILi128EE3getEi", "Tile<128>::get"},
           {"_Z9block_sumILi4EEffRAT__f", "block_sum<4>"},
           {"_ZN9StoreRowsclI4TileILi32ELi32EEEEvRT_PKf", "StoreRows::operator()<Tile<32, 32> >"},
           {"_ZN1AclEv", "A::operator()"},
           {"_ZN12_GLOBAL__N_13putEPf", "(anonymous namespace)::put"},
           {"_ZN37_INTERNAL_f8580934_9_reduce_cu_kernel5__ldgEPKf", "__ldg"},
           {"_Z", "_Z"},
           {"", ""}}) {
    INFO(symbol);
    CHECK(function_name(symbol) == name);
  }
}

TEST_CASE("a fault has the lines of both sides") {
  std::string text = kText;
  const std::string store = "trap;";
  text.insert(text.find("mov.u32 %r3"), store + " ");
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const ptx::Report report = module->function("k")->launch({}, {});
  REQUIRE(report.fault);
  CHECK(report.fault->at.file == std::string("a/kernel.cu"));
  CHECK(report.fault->at.line == 25);
  CHECK(report.fault->chain == Chain{{"k", "a/kernel.cu", 25}, {"put", "helper.hpp", 9}});
  CHECK_THAT(report.fault->message(),
             Catch::EndsWith("\n  a/kernel.cu:25: PTX line 14: warp 0, lane 0\n    in put() at helper.hpp:9"));
}

TEST_CASE("a side begins with the lines of the kernel's file, and has one line for those of others") {
  const Chain chain = {{"k", "/src/k.cu", 46},       {"body", "/src/k.cu", 43},   {"load", "tile.hpp", 7},
                       {"copy", "tile.hpp", 9},      {"again", "/src/k.cu", 24},  {"again", "/src/k.cu", 24},
                       {"ldg", "intrinsics.hpp", 1}, {"ldg", "intrinsics.hpp", 2}};
  CHECK(own_lines(chain) == "/src/k.cu:46 > 43 > 24");
  CHECK(others_lines(chain) == "in load() at tile.hpp:7 > 9 and 2 more");
  CHECK(own_lines({}).empty());
  CHECK(others_lines({}).empty());
  CHECK(others_lines({chain[0], chain[1]}).empty());
}

TEST_CASE("a side is told by the body's line, in a lambda too, or by that at which the sides part") {
  const auto link = [](std::string function, int line, std::string file = "k.cu") {
    return SourceLink{std::move(function), std::move(file), line};
  };
  const std::string lambda = "k(float*, int)::{lambda(int)#1}::operator()";
  const auto line = [](const Chain& chain, const Chain& other) {
    return chain[block::told_link(chain, other)].line;
  };
  const Chain stage = {link("k", 20), link("each<k(float*, int)::{lambda(int)#1}>", 7), link(lambda, 21),
                       link("put", 4)};
  Chain read = stage;
  read[2].line = 22;
  CHECK(line(stage, {}) == 21);
  CHECK(line(stage, read) == 21);
  CHECK(line(read, stage) == 22);
  CHECK(own_lines(stage, 21) == "k.cu:21 (20 > 7 > 21 > 4)");
  CHECK(own_lines(stage, 20) == "k.cu:20 > 7 > 21 > 4");
  // A lambda that the body calls itself is a helper like any other, and so is that of another kernel.
  CHECK(line({link("k", 20), link(lambda, 12)}, {}) == 20);
  CHECK(line({link("k2", 20), link("each", 7), link(lambda, 21)}, {}) == 20);
  CHECK(line({link("k", 20), link("each", 7, "each.hpp"), link("k(int)::{lambda()#1}::operator()", 21)}, {}) ==
        21);
  // Two lambdas with names, each given to a helper: a barrier is missing between the calls.
  const Chain fill = {link("k", 13), link("each", 6), link(lambda, 10)},
              use = {link("k", 17), link("each", 6), link(lambda, 11)};
  CHECK(line(use, fill) == 17);
  CHECK(line(fill, use) == 13);
  CHECK(line(use, {}) == 11);
  CHECK(line(use, {link("k", 24)}) == 11);
  // By one call it is the line in the lambda; a lambda with `auto` and a struct of the body are like others.
  const std::string generic = "k(float*, int)::{lambda(auto:1)#1}::operator()<int>",
                    local = "k(float*, int)::Local::operator()";
  for (const std::string& body : {generic, local}) {
    const Chain put = {link("k", 20), link("each", 2), link(body, 17)},
                get = {link("k", 20), link("each", 2), link(body, 18)};
    CHECK(line(put, get) == 17);
    CHECK(line(get, put) == 18);
  }
  // One line of the body has both.
  const Chain load = {link("k", 40), link("loop", 31), link("get", 5)},
              store = {link("k", 40), link("loop", 35), link("put", 6)};
  CHECK(line(load, store) == 31);
  CHECK(line(store, load) == 35);
  CHECK(line(load, {}) == 40);
  CHECK(line(load, load) == 40);
  CHECK(line(load, {link("k", 41), link("loop", 35), link("put", 6)}) == 40);
  // Where one of them is in the helper itself, or the helper is in another file, it is the body's line that somebody can change.
  CHECK(line({load[0], load[1]}, {store[0], store[1]}) == 40);
  CHECK(line(load, {store[0], store[1]}) == 40);
  CHECK(line({load[0], link("loop", 31, "lib.hpp"), load[2]},
             {load[0], link("loop", 35, "lib.hpp"), load[2]}) == 40);
  CHECK(block::told_link({}, load) == 0);
}

TEST_CASE("a long name of a template is shortened") {
  const std::string inner = "float, 128, 64, Layout<Shape<128, 64>, Stride<64, 1> >, SwizzleOf<128> ";
  const auto in = [](const std::string& name) {
    return others_lines({{"k", "k.cu", 1}, {name, "tile.hpp", 3}});
  };
  CHECK(in("load<" + inner + ">") == "in load<...>() at tile.hpp:3");
  CHECK(in("load<float>") == "in load<float>() at tile.hpp:3");
  CHECK(in("") == "at tile.hpp:3");
}

// put() is not inlined: twice() calls it, which the kernel calls at line 21.
constexpr const char* kCalls = R"(.version 9.0
.target sm_90a
.address_size 64
.func _Z3putv()
{
  .loc 1 9 5
  trap;
  ret;
}
.func _Z5twicev()
{
  .loc 1 14 3
  call.uni _Z3putv, ();
  ret;
}
.visible .entry k()
{
  .loc 1 20 3
  bar.sync 0;
  .loc 1 21 3
  call.uni _Z5twicev, ();
  ret;
}
.file 1 "/usr/local/bin/../k.cu"
)";

TEST_CASE("undefined bits that come through a call are told at the load") {
  const Result<ptx::Module> module = ptx::Module::load(R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 to) get(.param .b32 at)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [at];
  ld.shared.u32 %r2, [%r1];
  st.param.b32 [to], %r2;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  .shared .align 4 .b8 s[8];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, s;
  {
    .param .b32 at; .param .b32 to;
    st.param.b32 [at], %r1;
    call.uni (to), get, (at);
    ld.param.b32 %r2, [to];
  }
  st.global.u32 [%rd1], %r2;
  ret;
}
)");
  REQUIRE(module);
  std::vector<std::uint32_t> out(1);
  const ptx::Report report = module->function("k")->launch({}, {ptx::buffer(out)});
  REQUIRE(report.fault);
  CHECK_THAT(report.fault->message(),
             Catch::StartsWith(
                 "ld.shared.u32 %r2, [%r1]: bytes 0x0 to 0x3 of shared memory have never been written, and "));
  CHECK_THAT(report.fault->message(),
             Catch::EndsWith("\n  PTX line 8: warp 0, lane 0\n  PTX line 24: warp 0, lane 0: uses %r2"));
}

TEST_CASE("a fault in a function that is not inlined has the lines of its calls") {
  const Result<ptx::Module> module = ptx::Module::load(kCalls);
  REQUIRE(module);
  const ptx::Report report = module->function("k")->launch({}, {});
  REQUIRE(report.fault);
  CHECK(report.fault->chain ==
        Chain{{"k", "/usr/local/k.cu", 21}, {"twice", "/usr/local/k.cu", 14}, {"put", "/usr/local/k.cu", 9}});
  CHECK_THAT(report.fault->message(),
             Catch::EndsWith("\n  /usr/local/k.cu:21 > 14 > 9: PTX line 7: warp 0, lane 0"));
}

}  // namespace ptx_source_test
