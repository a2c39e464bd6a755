// SPDX-License-Identifier: Apache-2.0
// The order in which threads take spin locks (lock_order): each mistake beside its correct neighbours.
#include "found_rules.hpp"

namespace ptx_locks_test {

using namespace found_rules;

const ptx::Launch kWarps{.block = {64}};
// One after the other: with more host threads they may wait for each other, indeed.
const ptx::Launch kBlocks{.grid = {2}, .block = {32}, .execute = {.threads = 1}};
const std::string kA = "[%rd1+64]", kB = "[%rd1+68]", kC = "[%rd1+72]";

// A loop of one atomic that ends when the word was 0.
std::string spin(const std::string& atomic, const std::string& lock, const std::string& values) {
  return "{ .reg .pred q; .reg .b32 r;\nL: " + atomic + " r, " + lock + ", " + values +
         ";\nsetp.ne.s32 q, r, 0;\n@q bra L; }\n";
}
std::string take(const std::string& lock) {
  return spin("atom.acquire.gpu.global.cas.b32", lock, "0, 1");
}
std::string release(const std::string& lock) {
  return "st.release.gpu.global.u32 " + lock + ", 0;\n";
}
std::string nest(const std::string& outer, const std::string& inner) {
  return take(outer) + take(inner) + release(inner) + release(outer);
}

// Lane 0 of warp 0, or of block 0, does one thing, that of the other one another.
std::string two(const std::string& first, const std::string& second) {
  return "add.u32 %r5, %r2, %r4; setp.eq.u32 %p4, %r5, 0;\n@!%p2 bra END;\n@!%p4 bra OTHER;\n" + first +
         "bra END;\nOTHER:\n" + second + "END:";
}

TEST_CASE("two locks in opposite orders are told, though nobody waits") {
  for (const ptx::Launch& how : {kWarps, kBlocks}) {
    check({"lock_order", two(nest(kA, kB), nest(kB, kA)), "all threads must take these locks in one order"},
          how);
    check({"", two(nest(kA, kB), nest(kA, kB))}, how);
  }
  check({"lock_order", two(nest(kA, kB), nest(kB, kA)),
         "block (0, 0, 0), warp 0, lane 0: takes the lock at byte 68 of the array of 'out'"},
        kBlocks);
  // One is given back before the other one is taken.
  check({"", two(nest(kA, kB), take(kB) + release(kB) + take(kA) + release(kA))}, kWarps);
  // By atomics without an order, as nvcc makes them of atomicCAS, atomicExch and __threadfence.
  const auto older = [](const std::string& lock) {
    return spin("atom.global.cas.b32", lock, "0, 1") + "membar.gl;\n";
  };
  const auto exchanged = [](const std::string& lock) {
    return spin("atom.global.exch.b32", lock, "1") + "membar.gl;\n";
  };
  const auto give = [](const std::string& lock) {
    return "membar.gl; atom.global.exch.b32 %r9, " + lock + ", 0;\n";
  };
  for (const auto& by : {+older, +exchanged}) {
    const std::string frees = give(kA) + give(kB);
    check({"lock_order", two(by(kA) + by(kB) + frees, by(kB) + by(kA) + frees)}, kWarps);
    check({"", two(by(kA) + by(kB) + frees, by(kA) + by(kB) + frees)}, kWarps);
  }
  // Tested before it is tried, with a pause.
  const std::string patient =
      "{ .reg .pred q; .reg .b32 r;\nL: ld.relaxed.gpu.global.u32 r, [%rd1+64]; setp.ne.s32 q, r, 0; @q bra L;\n"
      "nanosleep.u32 20; atom.acquire.gpu.global.cas.b32 r, [%rd1+64], 0, 1;\n"
      "{ .reg .pred s; setp.eq.s32 s, r, 0; @!s bra L; } }\n";
  check({"lock_order", two(patient + take(kB) + release(kB) + release(kA), nest(kB, kA))}, kWarps);
}

TEST_CASE("two locks of shared memory in opposite orders are told") {
  const std::string clear = "@%p1 st.shared.u32 [flag], 0; @%p1 st.shared.u32 [other], 0; bar.sync 0;\n";
  const auto inside = [](const std::string& outer, const std::string& inner) {
    const std::string atomic = "atom.acquire.cta.shared.cas.b32", gives = "st.release.cta.shared.u32 ";
    return spin(atomic, outer, "0, 1") + spin(atomic, inner, "0, 1") + gives + inner + ", 0;" + gives + outer +
           ", 0;\n";
  };
  check({"lock_order", clear + two(inside("[flag]", "[other]"), inside("[other]", "[flag]")), "(other)"},
        kWarps);
  check({"", clear + two(inside("[flag]", "[other]"), inside("[flag]", "[other]"))}, kWarps);
}

TEST_CASE("opposite orders are right where one of the threads comes behind the other, or both hold a gate") {
  const std::string ab = nest(kA, kB), ba = nest(kB, kA);
  check({"", two(take(kC) + ab + release(kC), take(kC) + ba + release(kC))}, kWarps);
  check({"", two(take(kC) + ab + release(kC), take(kC) + ba + release(kC))}, kBlocks);
  check({"lock_order", two(take(kC) + ab + release(kC), ba)}, kWarps);
  check({"lock_order", two(ab, take(kC) + ba + release(kC))}, kWarps);
  // A gate orders nothing if its accesses are relaxed, but two threads do not hold it at a time.
  const std::string in = spin("atom.relaxed.gpu.global.cas.b32", kC, "0, 1"),
                    out = "st.relaxed.gpu.global.u32 " + kC + ", 0;\n";
  check({"", two(in + ab + out, in + ba + out)}, kWarps);
  // A ticket is one, too: nothing of it is a spin lock.
  const std::string ticket =
      "{ .reg .pred q; .reg .b32 r, s;\natom.relaxed.gpu.global.add.u32 r, [%rd1+80], 1;\n"
      "L: ld.acquire.gpu.global.u32 s, [%rd1+84]; setp.ne.u32 q, r, s; @q bra L;\n";
  const std::string next = "add.u32 s, s, 1; st.release.gpu.global.u32 [%rd1+84], s; }\n";
  check({"", two(ticket + ab + next, ticket + ba + next)}, kWarps);
  check({"", "setp.eq.u32 %p4, %r4, 0; @!%p2 bra MET; @!%p4 bra MET;\n" + ab +
                 "MET: bar.sync 0;\n@!%p3 bra END;\n" + ba + "END:"},
        kWarps);
  // Lanes of one warp come one after the other.
  check({"", "@%p1 bra FIRST; bra MET;\nFIRST:\n" + ab +
                 "MET: bar.warp.sync -1; setp.eq.u32 %p4, %r3, 1; @!%p4 bra END;\n" + ba + "END:"},
        {.block = {32}});
}

TEST_CASE("what waits for nobody is no lock") {
  // The second lock is tried once, and the first one given up if another thread has it.
  const std::string backs_off =
      "AGAIN:\n" + take(kB) +
      "atom.acquire.gpu.global.cas.b32 %r7, [%rd1+64], 0, 1;\nsetp.eq.s32 %p5, %r7, 0;\n@%p5 bra BOTH;\n" +
      release(kB) + "bra AGAIN;\nBOTH:\n" + release(kA) + release(kB);
  check({"", two(nest(kA, kB), backs_off)}, kWarps);
  // So many times.
  const std::string tries =
      take(kB) +
      "mov.u32 %r8, 100;\nTRY: atom.acquire.gpu.global.cas.b32 %r7, [%rd1+64], 0, 1;\nsetp.eq.s32 %p5, %r7, 0;\n"
      "@%p5 bra BOTH;\nsub.u32 %r8, %r8, 1; setp.ne.u32 %p6, %r8, 0;\n@%p6 bra TRY;\nbra OUT;\nBOTH:\n" +
      release(kA) + "OUT:\n" + release(kB);
  check({"", two(nest(kA, kB), tries)}, kWarps);
  // An empty place of a table, wherever it is, is taken, and given back.
  const auto insert = [](const std::string& place, int at) {
    return "{ .reg .pred q; .reg .b32 r;\nadd.u64 " + place + ", %rd1, " + std::to_string(at) +
           ";\nL: atom.acquire.gpu.global.cas.b32 r, [" + place +
           "], 0, 1;\nsetp.eq.s32 q, r, 0;\n@q bra D;\nxor.b64 " + place + ", " + place +
           ", 4;\nbra L;\nD: }\n";
  };
  const std::string clears = release("[%rd3]") + release("[%rd4]");
  check({"", two(insert("%rd3", 64) + insert("%rd4", 68) + clears,
                 insert("%rd3", 68) + insert("%rd4", 64) + clears)},
        kWarps);
}

TEST_CASE("locks that are taken in one order, however") {
  // Hand over hand along a list.
  const std::string along = take(kA) + take(kB) + release(kA) + take(kC) + release(kB) + release(kC);
  check({"", two(along, along)}, kWarps);
  check({"lock_order", two(along, take(kC) + take(kB) + release(kC) + release(kB))}, kWarps);
  // Again, by the thread that has it.
  const auto own = [](const std::string& lock) {
    return "{ .reg .pred q, s; .reg .b32 r, me;\nadd.u32 me, %r1, 1;\nL: atom.acquire.gpu.global.cas.b32 r, " +
           lock + ", 0, me;\nsetp.eq.u32 q, r, 0;\nsetp.eq.or.u32 s, r, me, q;\n@!s bra L; }\n";
  };
  const std::string twice = own(kA) + take(kB) + own(kA) + release(kB) + release(kA);
  check({"", two(twice, twice)}, kWarps);
}

// Compilers put the first try before the loop.
TEST_CASE("a lock that is taken at the first try is one, too") {
  const auto peeled = [](const std::string& lock) {
    return "{ .reg .pred q, f; .reg .b32 r;\natom.acquire.gpu.global.cas.b32 r, " + lock +
           ", 0, 1;\nsetp.eq.s32 f, r, 0;\n@f bra IN;\n" +
           "L: nanosleep.u32 10; atom.acquire.gpu.global.cas.b32 r, " + lock +
           ", 0, 1;\nsetp.ne.s32 q, r, 0;\n@q bra L;\nIN: }\n";
  };
  const std::string frees = release(kA) + release(kB);
  check({"lock_order", two(peeled(kA) + peeled(kB) + frees, peeled(kB) + peeled(kA) + frees)}, kWarps);
  check({"", two(peeled(kA) + peeled(kB) + frees, peeled(kA) + peeled(kB) + frees)}, kWarps);
}

TEST_CASE("who waits for a lock for ever is told who holds it") {
  const std::string kD = "[%rd1+76]";
  const auto tells = [](const std::string& flag) { return "st.release.gpu.global.u32 " + flag + ", 1;\n"; };
  const auto waits = [](const std::string& flag) {
    return "{ .reg .pred q; .reg .b32 r;\nL: ld.acquire.gpu.global.u32 r, " + flag +
           ";\nsetp.eq.u32 q, r, 0;\n@q bra L; }\n";
  };
  const auto says = [](const std::string& body) {
    ptx::Launch how = kBlocks;
    how.step_limit = std::uint64_t{1} << 40;
    return launch(body, how).messages.at(0);
  };
  const std::string in_turn = ", and no thread changes anything any more; ";
  CHECK(
      says(two(take(kA) + tells(kC) + waits(kD) + take(kB), take(kB) + tells(kD) + waits(kC) + take(kA))) ==
      "atom.acquire.gpu.global.cas.b32 r, [%rd1+68], 0, 1: it waits for the lock at byte 68 of the array of 'out', which "
      "lane 0 of warp 0 of block (1, 0, 0) holds" +
          in_turn +
          "that thread waits for the lock at byte 64 of the array of 'out': all threads must take these locks in one order\n"
          "  k, block (0, 0, 0)\n  PTX line 25: warp 0, lane 0\n  PTX line 31: block (1, 0, 0), warp 0, lane 0: takes the lock "
          "at byte 68 of the array of 'out', holds it, and waits for the one at byte 64 of the array of 'out'\n  PTX line 16: "
          "warp 0, lane 0: takes the lock at byte 64 of the array of 'out', holds it, and waits for the one at byte 68 of the "
          "array of 'out'");
  CHECK_THAT(says(two(take(kA) + take(kA), "")),
             Catch::Contains("which lane 0 of warp 0 of block (0, 0, 0) holds" + in_turn +
                             "a thread must not take a lock that it holds\n"));
  CHECK_THAT(says(two(waits(kC) + take(kA) + tells(kD), take(kA) + tells(kC) + waits(kD))),
             Catch::Contains("which lane 0 of warp 0 of block (1, 0, 0) holds" + in_turn +
                             "that thread must release it, and may wait for nobody who needs it\n"));
}

}  // namespace ptx_locks_test
