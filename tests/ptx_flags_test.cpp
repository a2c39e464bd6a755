// SPDX-License-Identifier: Apache-2.0
// What strong accesses order (PTX manual, "Release and Acquire Patterns", "Scope"): each mistake beside its correct neighbour.
#include "found_rules.hpp"

namespace ptx_flags_test {

using namespace found_rules;

const std::string kClear = "@%p1 st.shared.u32 [flag], 0; @%p1 st.shared.u32 [other], 0; bar.sync 0;\n",
                  kStore = "shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r5, %r5, %r6;\n";

// Warp 0 does one thing, warp 1 waits so for the flag and does another.
std::string two_warps(const std::string& sets, const std::string& load, const std::string& then) {
  return kClear + kStore + "setp.eq.u32 %p4, %r4, 0; @!%p4 bra WAIT;\n" + sets + "\nbra END;\nWAIT: " + load +
         " %r7, [flag]; setp.eq.u32 %p5, %r7, 0; @%p5 bra WAIT;\n" + then + "\nEND:";
}
const std::string kSetAll = "st.shared.u32 [%r5], %r1;", kSet = "@%p1 st.shared.u32 [%r5], 7;",
                  kRead = "ld.shared.u32 %r8, [%r5+-128]; st.global.u32 [%rd2], %r8;",
                  kReadOne = "@%p3 ld.shared.u32 %r8, [tile]; @%p3 st.global.u32 [%rd1], %r8;";

const std::vector<Case> kWarps = {
    // A release is of its own lane, and of those that it has met.
    {"data_race",
     two_warps(kSetAll + "@%p1 st.release.cta.shared.u32 [flag], 1;", "ld.acquire.cta.shared.u32", kRead)},
    {"", two_warps(kSetAll + "bar.warp.sync -1; @%p1 st.release.cta.shared.u32 [flag], 1;",
                   "ld.acquire.cta.shared.u32", kRead)},
    {"data_race", two_warps(kSetAll + "@%p1 fence.acq_rel.cta; @%p1 atom.shared.exch.b32 %r9, [flag], 1;",
                            "ld.acquire.cta.shared.u32", kRead)},
    {"", two_warps(kSetAll + "fence.acq_rel.cta; bar.warp.sync -1; @%p1 fence.acq_rel.cta;"
                             "@%p1 atom.relaxed.cta.shared.exch.b32 %r9, [flag], 1;",
                   "ld.acquire.cta.shared.u32", kRead)},
    // A relaxed side without a fence.
    {"data_race",
     two_warps(kSet + "@%p1 st.release.cta.shared.u32 [flag], 1;", "ld.relaxed.cta.shared.u32", kReadOne),
     "the read of the flag between that write and this read is relaxed, and no fence follows it"},
    {"", two_warps(kSet + "@%p1 st.release.cta.shared.u32 [flag], 1;", "ld.relaxed.cta.shared.u32",
                   "fence.acq_rel.cta;" + kReadOne)},
    {"data_race",
     two_warps(kSet + "@%p1 st.relaxed.cta.shared.u32 [flag], 1;", "ld.acquire.cta.shared.u32", kReadOne)},
    {"", two_warps(kSet + "fence.acq_rel.cta; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                   "ld.acquire.cta.shared.u32", kReadOne)},
    // Volatile, and atomics without an order.
    {"flag_fence",
     two_warps(kSet + "@%p1 st.volatile.shared.u32 [flag], 1;", "ld.volatile.shared.u32", kReadOne),
     "the flag between that write and this read is volatile or relaxed"},
    {"flag_fence",
     two_warps(kSet + "membar.cta; @%p1 st.volatile.shared.u32 [flag], 1;", "ld.volatile.shared.u32", kReadOne),
     "lane 0: the read of the flag, without a fence after it"},
    {"flag_fence",
     two_warps(kSet + "@%p1 st.volatile.shared.u32 [flag], 1;", "ld.volatile.shared.u32",
               "membar.cta;" + kReadOne),
     "lane 0: the write of the flag, without a fence before it"},
    {"", two_warps(kSet + "membar.cta; @%p1 st.volatile.shared.u32 [flag], 1;", "ld.volatile.shared.u32",
                   "membar.cta;" + kReadOne)},
    {"flag_fence",
     two_warps(kSet + "@%p1 atom.shared.exch.b32 %r9, [flag], 1;", "ld.acquire.cta.shared.u32", kReadOne)},
    {"", two_warps(kSet + "membar.gl; @%p1 atom.shared.exch.b32 %r9, [flag], 1;", "ld.acquire.cta.shared.u32",
                   kReadOne)},
    // Another address orders nothing.
    {"data_race",
     two_warps(kSet + "@%p1 st.release.cta.shared.u32 [other], 1; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
               "ld.acquire.cta.shared.u32", kReadOne)},
    {"",
     two_warps(kSet + "@%p1 st.release.cta.shared.u32 [other], 1; @%p1 st.release.cta.shared.u32 [flag], 1;",
               "ld.acquire.cta.shared.u32", kReadOne)},
    // A release, and a later write of its thread.
    {"", two_warps(kSet + "@%p1 st.release.cta.shared.u32 [flag], 0; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                   "ld.acquire.cta.shared.u32", kReadOne)},
};

TEST_CASE("what a flag orders between warps") {
  for (const Case& one : kWarps) check(one, {.block = {64}});
}

// Warp 0 releases, warp 1 changes the flag, warp 2 waits for that and reads what warp 0 has stored.
std::string chain(const std::string& change) {
  return kClear + kStore + "setp.eq.u32 %p4, %r1, 32; setp.eq.u32 %p5, %r1, 64;\n" + kSet +
         "@%p1 st.release.cta.shared.u32 [flag], 1; @%p4 bra MIDDLE; @%p5 bra WAIT; bra END;\n"
         "MIDDLE: ld.relaxed.cta.shared.u32 %r7, [flag]; setp.ne.u32 %p6, %r7, 1; @%p6 bra MIDDLE;\n" +
         change +
         "\nbra END;\nWAIT: ld.acquire.cta.shared.u32 %r7, [flag]; setp.ne.u32 %p6, %r7, 2; @%p6 bra WAIT;\n"
         "ld.shared.u32 %r8, [tile]; st.global.u32 [%rd1], %r8;\nEND:";
}

TEST_CASE("an atomic carries on what was released, a store does not") {
  check({"", chain("atom.relaxed.cta.shared.add.u32 %r9, [flag], 1;")}, {.block = {96}});
  check({"", chain("red.relaxed.cta.shared.add.u32 [flag], 1;")}, {.block = {96}});
  check({"data_race", chain("st.relaxed.cta.shared.u32 [flag], 2;")}, {.block = {96}});
}

// Block 1 of a cluster stores to block 0 and sets a flag there.
std::string two_blocks(const std::string& sets, const std::string& waits) {
  return "@%p1 st.shared.u32 [flag], 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
         "mov.u32 %r5, flag; mov.u32 %r6, tile; mapa.shared::cluster.u32 %r5, %r5, 0; mapa.shared::cluster.u32 %r6, %r6, 0;\n"
         "@!%p1 bra END; setp.eq.u32 %p4, %r2, 0; @%p4 bra WAIT;\n"
         "st.shared::cluster.u32 [%r6], 7;" +
         sets + "bra END;\nWAIT: " + waits +
         "ld.shared::cluster.u32 %r8, [%r6]; st.global.u32 [%rd1], %r8;\n"
         "END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
}
std::string wait_by(const std::string& load) {
  return load + " %r7, [%r5]; setp.eq.u32 %p5, %r7, 0; @%p5 bra WAIT;\n";
}

TEST_CASE("a scope must reach the other block") {
  const ptx::Launch how{.grid = {2}, .block = {32}, .cluster = Dim3{2}};
  const std::string kWide = "ld.acquire.cluster.shared::cluster.u32",
                    kNarrow = "ld.acquire.cta.shared::cluster.u32";
  const auto release = [](const std::string& scope) {
    return "st.release." + scope + ".shared::cluster.u32 [%r5], 1;";
  };
  check({"scope_too_narrow", two_blocks(release("cta"), wait_by(kWide)),
         "the release between that write and this read has .cta scope, which does not reach another block"},
        how);
  check({"scope_too_narrow", two_blocks(release("cluster"), wait_by(kNarrow)),
         ": the acquire of the flag, with .cta scope"},
        how);
  check({"", two_blocks(release("cluster"), wait_by(kWide))}, how);
  check({"", two_blocks(release("gpu"), wait_by("ld.acquire.sys.shared::cluster.u32"))}, how);
  const std::string kRelaxed = "st.relaxed.cluster.shared::cluster.u32 [%r5], 1;",
                    kPoll = wait_by("ld.relaxed.cluster.shared::cluster.u32");
  check({"scope_too_narrow", two_blocks("fence.acq_rel.cta;" + kRelaxed, wait_by(kWide))}, how);
  check({"scope_too_narrow", two_blocks("fence.acq_rel.cluster;" + kRelaxed, kPoll + "fence.acq_rel.cta;")},
        how);
  check({"", two_blocks("fence.acq_rel.cluster;" + kRelaxed, kPoll + "fence.acq_rel.cluster;")}, how);
  check({"", two_blocks("fence.acq_rel.gpu; fence.acq_rel.cta;" + kRelaxed, kPoll + "fence.acq_rel.gpu;")},
        how);
}

// The blocks of a cluster store to each other and arrive at each other's barrier object.
std::string arrivals(const std::string& arrive, const std::string& wait) {
  return "@%p1 mbarrier.init.shared.b64 [tile], 32; @%p1 fence.mbarrier_init.release.cluster;\n"
         "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
         "xor.b32 %r5, %r2, 1; mov.u32 %r6, tile; mapa.shared::cluster.u32 %r7, %r6, %r5;\n"
         "shl.b32 %r8, %r1, 2; add.u32 %r9, %r7, %r8; st.shared::cluster.u32 [%r9+128], %r1;\n" +
         arrive + ".shared::cluster.b64 _, [%r7];\nWAIT: " + wait +
         ".b64 %p5, [%r6], 0; @!%p5 bra WAIT;\n"
         "add.u32 %r9, %r6, %r8; ld.shared.u32 %r10, [%r9+128]; st.shared.u32 [%r9+256], %r10;\n"
         "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
}

TEST_CASE("an arrival at another block's object, and the wait for it, have a scope") {
  const ptx::Launch how{.grid = {2}, .block = {32}, .cluster = Dim3{2}};
  const std::string kWait = "mbarrier.try_wait.parity.acquire.cluster.shared::cta";
  check({"scope_too_narrow", arrivals("mbarrier.arrive.release.cta", kWait)}, how);
  check({"scope_too_narrow",
         arrivals("mbarrier.arrive.release.cluster", "mbarrier.try_wait.parity.acquire.cta.shared::cta")},
        how);
  check({"", arrivals("mbarrier.arrive.release.cluster", kWait)}, how);
  check({"", arrivals("mbarrier.arrive", "mbarrier.try_wait.parity.shared::cta")}, how);
}

// Both warps of each block store, its first thread counts and waits for the other block, and all of them load behind a barrier.
std::string arrived(const std::string& before, const std::string& count, const std::string& load) {
  return "mad.lo.u32 %r5, %r2, 64, %r1; mad.wide.u32 %rd3, %r5, 4, %rd1; st.global.u32 [%rd3+64], %r1;\n" +
         before + "@!%p1 bra MET;\n" + count + " [%rd1], 1;\nWAIT: " + load +
         " %r6, [%rd1]; setp.ne.u32 %p4, %r6, 2;\n@%p4 bra WAIT;\nMET: bar.sync 0; ld.global.u32 %r7, [%rd2+64];";
}

TEST_CASE("a flag is named where barriers stand before its write and behind its read") {
  const ptx::Launch how{.grid = {2}, .block = {64}};
  const std::string release = "red.release.gpu.global.add.u32", acquire = "ld.acquire.gpu.global.u32",
                    relaxed = "red.relaxed.gpu.global.add.u32", polls = "ld.relaxed.gpu.global.u32";
  check({"", arrived("bar.sync 0;", release, acquire)}, how);
  check({"", arrived("bar.sync 0;", "membar.gl; red.global.add.u32", acquire)}, how);
  check(
      {"blocks_not_ordered", arrived("bar.sync 0;", relaxed, acquire),
       "red.relaxed.gpu.global.add.u32 [%rd1], 1: this write of a flag is relaxed, and no fence stands before it"},
      how);
  check({"blocks_not_ordered", arrived("bar.sync 0;", release, polls),
         "ld.relaxed.gpu.global.u32 %r6, [%rd1]: this read of a flag is relaxed, and no fence follows it"},
        how);
  check({"blocks_not_ordered", arrived("bar.sync 0;", relaxed, polls),
         "the flag between that write and this read is relaxed"},
        how);
  for (const std::string& count : {release, std::string("membar.gl; red.global.add.u32")})
    check({"blocks_not_ordered", arrived("", count, acquire),
           "a __syncthreads must come between that write and the write of the flag"},
          how);
}

// Block 0 reads and sets a flag, and block 1, which has seen it, writes there.
std::string read_before(const std::string& load, const std::string& taken, const std::string& later) {
  return "setp.ne.u32 %p5, %r2, 0; @%p5 bra WRITES;\n" + load + " [%rd2+64];\n" + taken +
         "bar.sync 0; @%p1 st.relaxed.gpu.global.u32 [%rd1], 1;\n" + later +
         "bra DONE;\nWRITES: ld.relaxed.gpu.global.u32 %r6, [%rd1]; setp.ne.u32 %p4, %r6, 1;\n@%p4 bra WRITES;\n"
         "bar.sync 0; st.global.v2.u32 [%rd2+64], {7, 7};\nDONE:";
}

TEST_CASE("a read whose value is taken before the flag comes before what is behind it") {
  const ptx::Launch how{.grid = {2}, .block = {1}};
  const std::string one = "ld.global.u32 %r7,", two = "ld.global.v2.u32 {%r7, %r8},",
                    take = "add.u32 %r9, %r7, 1; setp.ne.u32 %p6, %r9, 5;";
  const Case keeps{"flag_fence", "", "the flag between that read and this write is relaxed"},
      leaves{"blocks_not_ordered", "", "the flag between that read and this write is relaxed"};
  const auto is = [&](Case what, std::string body) {
    what.body = std::move(body);
    INFO(what.body);
    check(what, how);
  };
  is(keeps, read_before(one, take, ""));
  is(keeps, read_before(two, "mov.u32 %r9, %r8;", ""));
  is(keeps, read_before(one, "@%p1 bra ONE; add.u32 %r9, %r7, 1; bra MET; ONE: add.u32 %r9, %r7, 2; MET:", ""));
  is(leaves, read_before(one, "", take));
  is(leaves, read_before(one, "", ""));
  is(leaves, read_before(one, "mov.u32 %r7, 5;" + take, ""));
  is(leaves, read_before(one, "@%p1 bra MET; add.u32 %r9, %r7, 1; MET:", ""));
  is(leaves, read_before(one, "bar.warp.sync -1;", take));
}

// Of blocks that would wait for each other, or whose values depend on who comes first.
ptx::Launch one_after_another(ptx::Launch how) {
  how.execute.threads = 1;
  return how;
}

// Lane 0 of the first warp of a block does one thing, all threads of the other block another.
std::string of_blocks(const std::string& first, const std::string& second, int block = 0) {
  return fmt::format("setp.ne.u32 %p4, %r2, {}; @%p4 bra SECOND; @!%p1 bra END;\n{}bra END;\nSECOND:\n{}END:",
                     block, first, second);
}

TEST_CASE(
    "what is missing between blocks is told by where the flag was read, and by which access stands first") {
  const ptx::Launch how{.grid = {2}, .block = {64}};
  // Warp 0 waits for the flag, warp 1 reads what was stored before it.
  const std::string
      sets = "st.global.u32 [%rd1+4], 7; st.release.gpu.global.u32 [%rd1], 1;\n",
      waits =
          "@!%p1 bra MET;\nWAIT: ld.acquire.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p5, %r5, 0;\n"
          "@%p5 bra WAIT;\nMET:\n",
      reads = "@%p3 ld.global.u32 %r6, [%rd1+4]; @%p3 st.global.u32 [%rd1+8], %r6;\n";
  check(
      {"blocks_not_ordered", of_blocks(sets, waits + reads),
       "nothing orders that write and this read: warp 0 of this block comes behind that write, by a flag, and "
       "no barrier came between that flag and this read; a __syncthreads must come between the wait of warp 0 "
       "for the flag and this read"},
      how);
  check({"", of_blocks(sets, waits + "bar.sync 0;\n" + reads)}, how);
  // Block 0 reads before block 1 has written, by statements that stand in the other order.
  const std::string write = "setp.eq.u32 %p5, %r2, 1; and.pred %p5, %p5, %p1; @%p5 st.global.u32 [%rd1], 7;\n",
                    read =
                        "setp.eq.u32 %p6, %r2, 0; and.pred %p6, %p6, %p1; @%p6 ld.global.u32 %r6, [%rd1];"
                        " @%p6 st.global.u32 [%rd1+8], %r6;\n";
  check({"blocks_not_ordered", write + read,
         "nothing orders this write and that read, which stands behind it; a flag must be written with "
         ".release.gpu after this write and read with .acquire.gpu before that read"},
        how);
  check(
      {"blocks_not_ordered", read + write,
       "nothing orders that read and this write; a flag must be written with .release.gpu after that read and "
       "read with .acquire.gpu before this statement"},
      how);
  check({"", of_blocks("st.global.u32 [%rd1], 7;\n", "ld.global.u32 %r6, [%rd2+64];\n")}, how);
  // Block 0 reads before its own wait is over, by the other warp.
  check({"blocks_not_ordered", of_blocks(sets, waits + reads, 1),
         "nothing orders this write and that read, which stands behind the wait for a flag at PTX line"},
        how);
  check({"", of_blocks(sets, waits + "bar.sync 0;\n" + reads, 1)}, how);
}

TEST_CASE("a plain store to a flag is told there") {
  const ptx::Launch how{.grid = {2}, .block = {32}};
  const auto waits = [](const std::string& load) {
    return "@!%p1 bra END;\nWAIT: " + load + " %r5, [%rd1]; setp.eq.u32 %p5, %r5, 0;\n@%p5 bra WAIT;\n";
  };
  const std::string plain = "membar.gl; st.global.u32 [%rd1], 1;\n";
  check(
      {"blocks_not_ordered", of_blocks(plain, waits("ld.volatile.global.u32")),
       "st.global.u32 [%rd1], 1: this is a plain store to a flag, for which a load of another block waits; it must be an "
       "atomic, st.volatile or st.relaxed, with a __threadfence before it if it hands over other bytes\n"},
      how);
  check({"blocks_not_ordered", of_blocks(plain, waits("ld.acquire.gpu.global.u32"), 1),
         "this is a plain store to a flag"},
        how);
  check({"", of_blocks("membar.gl; st.volatile.global.u32 [%rd1], 1;\n", waits("ld.volatile.global.u32"))},
        how);
}

TEST_CASE("who has waited for a flag may reset it by a plain store, as what it has read comes before") {
  const ptx::Launch how{.grid = {2}, .block = {32}};
  const auto reset = [](const std::string& sets, const std::string& load, const std::string& waits_for) {
    return of_blocks(sets, "@!%p1 bra END;\nWAIT: " + load + " %r5, [%rd1+" + waits_for +
                               "]; setp.eq.u32 %p5, %r5, 0;\n@%p5 bra WAIT;\nst.global.u32 [%rd1], 0;\n");
  };
  const std::string adds = "red.relaxed.gpu.global.add.u32 [%rd1], 1;\n",
                    tells = "st.relaxed.gpu.global.u32 [%rd1+64], 1;\n", acquires = "ld.acquire.gpu.global.u32";
  check({"", reset("fence.acq_rel.gpu; " + adds, acquires, "0")}, how);
  check({"", reset(adds, acquires, "0")}, how);
  check({"", reset(adds, "ld.relaxed.gpu.global.u32", "0")}, how);
  // Another word tells of it.
  check({"blocks_not_ordered", reset(adds + tells, acquires, "64")}, how);
  check({"", reset(adds + "fence.acq_rel.gpu; " + tells, acquires, "64")}, how);
}

TEST_CASE("an atom.cas that takes a place does not say that what is written there then is done") {
  // Lane 0 takes the place, and the other lanes find it taken.
  const auto insert = [](const std::string& meets) {
    return "atom.global.cas.b32 %r5, [%rd1+256], 0, 9; setp.ne.u32 %p4, %r5, 0; @%p4 bra TAKEN;\n"
           "st.global.u32 [%rd1+260], 7;\nTAKEN: " +
           meets + "@!%p4 bra END; ld.global.u32 %r6, [%rd1+260]; st.global.u32 [%rd2], %r6;\nEND:";
  };
  check(
      {"data_race", insert(""),
       "one atom.cas must write these bytes, too, or the write must be followed by a flag with .release for which the "
       "reader waits (the atom.cas at PTX line"},
      {.block = {32}});
  check({"", insert("bar.warp.sync -1; ")}, {.block = {32}});
}

TEST_CASE(
    "a flag by an atomic of .cta scope does not reach another block, whether a fence stands there or not") {
  const ptx::Launch how{.grid = {2}, .block = {32}};
  const auto flag = [](const std::string& sets) {
    return of_blocks("st.global.u32 [%rd1+4], 7;\n" + sets + " [%rd1], 1;\n",
                     "WAIT: ld.acquire.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p5, %r5, 0;\n@%p5 bra WAIT;\n"
                     "ld.global.u32 %r6, [%rd1+4]; @%p1 st.global.u32 [%rd1+8], %r6;\n");
  };
  const std::string says =
      "the release between that write and this read has .cta scope, which does not reach another block";
  check({"scope_too_narrow", flag("membar.gl; red.cta.global.add.u32"), says}, how);
  check({"scope_too_narrow", flag("red.cta.global.add.u32"), says}, how);
  check({"flag_fence", flag("red.global.add.u32"),
         "this write of a flag is volatile or relaxed, and no fence stands before it"},
        how);
  check({"", flag("membar.gl; red.global.add.u32")}, how);
}

TEST_CASE("a store that a comparison with the value there decides may lose that of another thread") {
  // Warps and blocks begin in their order, and each has more than the one before.
  const std::string counts = "add.u32 %r7, %r4, 1; add.u32 %r7, %r7, %r2;\n";
  const auto around = [](const std::string& load, const std::string& test, const std::string& store) {
    return "@!%p2 bra END;\n" + load + ";\n" + test + ";\n@%p4 bra END;\n" + store + ";\nEND:";
  };
  const std::string load = "ld.relaxed.gpu.global.u32 %r6, [%rd1]",
                    store = "st.relaxed.gpu.global.u32 [%rd1], %r7";
  for (const ptx::Launch& how : {ptx::Launch{.block = {64}}, one_after_another({.grid = {2}, .block = {32}})}) {
    check({"lost_update", counts + around(load, "setp.le.u32 %p4, %r7, %r6", store)}, how);
    check({"lost_update", counts + around(load, "setp.ge.u32 %p4, %r6, %r7", store)}, how);
    check({"lost_update",
           counts + "@!%p2 bra END;\n" + load + "; setp.gt.u32 %p4, %r7, %r6; @%p4 " + store + ";\nEND:"},
          how);
    check({"lost_update", counts + around("ld.volatile.global.u32 %r6, [%rd1]", "setp.le.u32 %p4, %r7, %r6",
                                          "st.volatile.global.u32 [%rd1], %r7")},
          how);
    // The atomic decides once more.
    check(
        {"", counts + around(load, "setp.le.u32 %p4, %r7, %r6", "red.relaxed.gpu.global.max.u32 [%rd1], %r7")},
        how);
    // A flag, which all set to the same; values that all have; another word; one thread alone.
    check({"", counts + around(load, "setp.ne.u32 %p4, %r6, 0", "st.relaxed.gpu.global.u32 [%rd1], 1")}, how);
    check({"", counts + "mov.u32 %r7, 5;\n" + around(load, "setp.le.u32 %p4, %r7, %r6", store)}, how);
    check({"", counts + around("ld.relaxed.gpu.global.u32 %r6, [%rd2]", "setp.le.u32 %p4, %r7, %r6",
                               "st.relaxed.gpu.global.u32 [%rd1], %r6")},
          {.block = {32}});
    check(
        {"", counts + "setp.eq.and.u32 %p2, %r7, 1, %p2;\n" + around(load, "setp.le.u32 %p4, %r7, %r6", store)},
        how);
  }
  const std::string behind = kClear + "sub.u32 %r7, 3, %r4;\n";  // warp 1 comes first
  const std::string shared = around("ld.volatile.shared.u32 %r6, [flag]", "setp.le.u32 %p4, %r7, %r6",
                                    "st.volatile.shared.u32 [flag], %r7");
  check({"lost_update", behind + shared}, {.block = {64}});
  check({"", behind + shared}, {.block = {32}});
  // Behind a barrier, and in a lock.
  check({"", counts + "@!%p1 bra MET; " + load + "; " + store + ";\nMET: bar.sync 0;\n@!%p3 bra END;\n" + load +
                 "; setp.le.u32 %p4, %r7, %r6; @%p4 bra END; " + store + ";\nEND:"},
        {.block = {64}});
  check({"",
         counts + around("LOCK: atom.acquire.gpu.global.cas.b32 %r9, [%rd1+64], 0, 1; setp.ne.u32 %p5, %r9, 0;"
                         " @%p5 bra LOCK;\n" +
                             load,
                         "setp.gt.u32 %p6, %r7, %r6; @!%p6 bra OUT;\n" + store +
                             ";\nOUT: st.release.gpu.global.u32 [%rd1+64], 0; setp.eq.u32 %p4, %r7, 0",
                         "mov.u32 %r10, 0")},
        {.block = {64}});
}

// Block 0 stores, by `stores`, and releases a flag, in one of both orders; block 1 waits for it, and loads.
std::string announced(const std::string& first, const std::string& then,
                      const std::string& load = "ld.acquire.gpu.global.u32", const std::string& behind = "") {
  return "@!%p2 bra END; setp.eq.u32 %p4, %r2, 0; @!%p4 bra WAIT;\n" + first + then +
         "bra END;\nWAIT: " + load + " %r7, [%rd1]; setp.eq.u32 %p5, %r7, 0; @%p5 bra WAIT;\n" + behind +
         "ld.global.u32 %r8, [%rd1+128]; st.global.u32 [%rd1+256], %r8;\nEND:";
}

TEST_CASE("a flag that was released before what it is to hand over is named") {
  const ptx::Launch how{.grid = {2}, .block = {32}};
  const std::string kRelease = "st.release.gpu.global.u32 [%rd1], 1; ",
                    kPlain = "st.global.u32 [%rd1+128], 7; ";
  check(
      {"blocks_not_ordered", announced(kRelease, kPlain),
       "st.release.gpu.global.u32 [%rd1], 1: this release of a flag comes before a write of bytes that it hands over; it must "
       "come behind that write, or another flag must be released after it\n  k, block (0, 0, 0), global address "},
      how);
  check(
      {"blocks_not_ordered", announced(kRelease, kPlain),
       "block (1, 0, 0), warp 0, lane 0: what comes of it: ld.global.u32 %r8, [%rd1+128]: bytes 128 to 131 of the array "
       "of 'out' were written by lane 0 of warp 0 of block (0, 0, 0), and the flag acquired before this read was "
       "released before that write\n"},
      how);
  check({"", announced(kPlain, kRelease)}, how);
  const auto copy = [](const std::string& waits) {
    return "st.shared.v4.u32 [tile], {%r1, %r1, %r1, %r1}; fence.proxy.async;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%rd1+128], [tile], 16; cp.async.bulk.commit_group;\n"
           "cp.async.bulk.wait_group" +
           waits + " 0; ";
  };
  check(
      {"blocks_not_ordered", announced(copy(".read"), kRelease + "cp.async.bulk.wait_group 0; "),
       "ld.global.u32 %r8, [%rd1+128]: bytes 128 to 131 of the array of 'out' were written by lane 0 of warp 0 of "
       "block (0, 0, 0), and the flag acquired before this read was released before that write; that copy must be "
       "complete (cp.async.bulk.wait_group 0, without .read) before the release of the flag\n"},
      how);
  check({"", announced(copy(""), kRelease)}, how);
}

// With what comes of it.
TEST_CASE("a flag of which one side alone is wrong is told there") {
  const ptx::Launch how{.grid = {2}, .block = {32}};
  const std::string kPlain = "st.global.u32 [%rd1+128], 7; ", kFence = "membar.gl; ",
                    kOf = "\n  k, block (0, 0, 0), global address 0x";
  check(
      {"blocks_not_ordered", announced(kPlain, "st.relaxed.gpu.global.u32 [%rd1], 1; "),
       "st.relaxed.gpu.global.u32 [%rd1], 1: this write of a flag is relaxed, and no fence stands before it; it must "
       "be .release.gpu, or a __threadfence (fence.acq_rel.gpu) must come before it" +
           kOf},
      how);
  check({"", announced(kPlain + kFence, "st.relaxed.gpu.global.u32 [%rd1], 1; ")}, how);
  check(
      {"scope_too_narrow", announced(kPlain + "membar.cta; ", "st.relaxed.gpu.global.u32 [%rd1], 1; "),
       "st.relaxed.gpu.global.u32 [%rd1], 1: the fence before this write of a flag has .cta scope, which does not reach "
       "another block; it must be a __threadfence (fence.acq_rel.gpu)" +
           kOf},
      how);
  check(
      {"scope_too_narrow", announced(kPlain, "st.release.cta.global.u32 [%rd1], 1; "),
       "st.release.cta.global.u32 [%rd1], 1: this release of a flag has .cta scope, which does not reach another "
       "block; it must have .gpu scope" +
           kOf},
      how);
  check(
      {"flag_fence", announced(kPlain, "st.volatile.global.u32 [%rd1], 1; "),
       "st.volatile.global.u32 [%rd1], 1: this write of a flag is volatile or relaxed, and no fence stands before "
       "it; a __threadfence (fence.acq_rel.gpu) must come before it" +
           kOf},
      how);
  check(
      {"flag_fence", announced(kFence + kPlain, "st.volatile.global.u32 [%rd1], 1; "),
       "st.volatile.global.u32 [%rd1], 1: this write of a flag is volatile or relaxed, and the last fence stands before the accesses that it hands over; "
       "a __threadfence (fence.acq_rel.gpu) must stand right before it, behind the accesses that come before it" +
           kOf},
      how);
  check({"", announced(kPlain + kFence, "st.volatile.global.u32 [%rd1], 1; ")}, how);
  const std::string kRelease = "st.release.gpu.global.u32 [%rd1], 1; ",
                    kBehind = "\n  k, block (1, 0, 0), global address 0x";
  check(
      {"blocks_not_ordered", announced(kPlain, kRelease, "ld.relaxed.gpu.global.u32"),
       "ld.relaxed.gpu.global.u32 %r7, [%rd1]: this read of a flag is relaxed, and no fence follows it; it must be "
       ".acquire.gpu, or a __threadfence (fence.acq_rel.gpu) must come after it" +
           kBehind},
      how);
  check({"", announced(kPlain, kRelease, "ld.relaxed.gpu.global.u32", kFence)}, how);
  check(
      {"flag_fence", announced(kPlain, kRelease, "ld.volatile.global.u32"),
       "ld.volatile.global.u32 %r7, [%rd1]: this read of a flag is volatile or relaxed, and no fence follows it; a "
       "__threadfence (fence.acq_rel.gpu) must come after it" +
           kBehind},
      how);
  check({"", announced(kPlain, kRelease, "ld.volatile.global.u32", kFence)}, how);
  check(
      {"scope_too_narrow", announced(kPlain, kRelease, "ld.acquire.cta.global.u32"),
       "what comes of it: ld.global.u32 %r8, [%rd1+128]: bytes 128 to 131 of the array of 'out' were written by lane 0 "
       "of warp 0 of block (0, 0, 0), and the acquire between that write and this read has .cta scope, which does not "
       "reach another block\n"},
      how);
}

}  // namespace ptx_flags_test
