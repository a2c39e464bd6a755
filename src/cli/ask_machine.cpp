// SPDX-License-Identifier: Apache-2.0
// Machine code, as disassemblers write it.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/arguments.hpp"
#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kMostOthers = 6;

// ---- Machine code beside products, matrix moves and conversions (forms_of_machine_code)

// Those with a word more stand before those without. "xN" stands for a number.
constexpr AskName kMachineNames[] = {
    {"SYNCS.PHASECHK", "mbarrier.try_wait.parity.shared::cta.b64",
     "a test or a wait for a phase of an mbarrier"},
    {"SYNCS.ARRIVE", "mbarrier.arrive.shared::cta.b64", "an arrival at an mbarrier"},
    {"SYNCS.EXCH", "mbarrier.init.shared::cta.b64", "a new mbarrier"},
    {"SYNCS.CCTL", "mbarrier.inval.shared::cta.b64", "the end of an mbarrier"},
    {"SYNCS", "mbarrier.arrive.shared::cta.b64", "an instruction of an mbarrier, by the word behind it"},
    {"WARPGROUP.DEPBAR", "wgmma.wait_group.sync.aligned", "waits for groups of products"},
    {"WARPGROUP", "wgmma.fence.sync.aligned", "orders the asynchronous products of a warpgroup"},
    {"MUFU.EX2", "ex2.approx.ftz.f32", "2 to a power, approximated"},
    {"MUFU.LG2", "lg2.approx.ftz.f32", "a logarithm, approximated"},
    {"MUFU.RCP", "rcp.approx.ftz.f32", "a reciprocal, approximated"},
    {"MUFU.RSQ", "rsqrt.approx.ftz.f32", "a reciprocal square root, approximated"},
    {"MUFU.SQRT", "sqrt.approx.ftz.f32", "a square root, approximated"},
    {"MUFU.SIN", "sin.approx.ftz.f32", "a sine, approximated"},
    {"MUFU.COS", "cos.approx.ftz.f32", "a cosine, approximated"},
    {"MUFU.TANH", "tanh.approx.f32", "a hyperbolic tangent, approximated"},
    {"MUFU", "ex2.approx.ftz.f32", "an approximation, by the word behind it"},
    {"BAR.ARV", "bar.arrive", "an arrival at a barrier of the block"},
    {"BAR.RED", "bar.red.popc.u32", "a barrier of the block that counts or votes"},
    {"BAR", "bar.sync", "a barrier of the block"},
    {"LDGSTS", "cp.async.cg.shared.global", "an asynchronous copy of a thread to shared memory"},
    {"LDGDEPBAR", "cp.async.commit_group", "ends a group of asynchronous copies"},
    {"DEPBAR", "cp.async.wait_group", "waits for groups of asynchronous copies"},
    {"ARRIVES", "cp.async.mbarrier.arrive.shared.b64", "asynchronous copies arrive at an mbarrier"},
    {"UBLKCP", kBulkLoad, "a bulk copy"},
    {"UBLKRED", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32", "a bulk reduction"},
    {"UTMALDG", kTileLoad, "a bulk copy by a tensor map to shared memory"},
    {"UTMASTG", kTileStore, "a bulk copy by a tensor map from shared memory"},
    {"UTMAREDG", kTileReduce, "a reduction by a tensor map"},
    {"UTMAPF", "cp.async.bulk.prefetch.tensor.2d.L2.global.tile", "a prefetch by a tensor map"},
    {"UTMACCTL", "prefetch.tensormap", "a prefetch of a tensor map"},
    {"UTMACMDFLUSH", "cp.async.bulk.commit_group", "ends a group of bulk copies"},
    {"WARPSYNC", "bar.warp.sync", "lanes of a warp meet"},
    {"UCGABAR_ARV", "barrier.cluster.arrive", "an arrival at the cluster's barrier"},
    {"UCGABAR_WAIT", "barrier.cluster.wait", "a wait for the cluster's barrier"},
    {"MEMBAR", "fence.acq_rel.gpu", "a fence"},
    {"FENCE", "fence.proxy.async", "a fence between kinds of accesses"},
    {"ELECT", "elect.sync", "chooses a lane"},
    {"SHFL", "shfl.sync.bfly.b32", "a lane's register read by others"},
    {"VOTE", "vote.sync.ballot.b32", "a bit of each lane"},
    {"MATCH", "match.any.sync.b32", "the lanes with the same value"},
    {"REDUX", "redux.sync.add.s32", "a reduction over a warp"},
    {"FFMA", "fma.rn.f32", "a product and a sum, rounded once"},
    {"FADD", "add.f32", "a sum"},
    {"FMNMX", "min.f32", "the smaller or the larger of two"},
    {"DADD", "add.f64", "a sum"},
    {"DMUL", "mul.f64", "a product"},
    {"SEL", "selp.b32", "one of two registers, by a predicate"},
    {"S2R", "mov.u32", "a special register, such as %tid.x, into a register"},
    {"CS2R", "mov.u64", "a special register, such as %clock64, or a zero into registers"},
    {"HFMA2", "fma.rn.f16x2", "two products and sums, each rounded once"},
    {"DFMA", "fma.rn.f64", "a product and a sum, rounded once"},
    {"FMUL", "mul.f32", "a product"},
    {"HADD2", "add.f16x2", "two sums"},
    {"HMUL2", "mul.f16x2", "two products"},
    {"IMAD", "mad.lo.s32", "a product and a sum of integers"},
    {"IADD3", "add.s32", "a sum of integers, here of two"},
    {"LOP3", "lop3.b32", "a logical function of three registers"},
    {"PRMT", "prmt.b32", "bytes chosen from two registers"},
    {"IDP", "dp4a.s32.s32", "products of bytes, added"},
    {"LDG", "ld.global.b32", "a load of global memory"},
    {"STG", "st.global.b32", "a store to global memory"},
    {"LDS", "ld.shared.b32", "a load of shared memory"},
    {"STS", "st.shared.b32", "a store to shared memory"},
    {"LDL", "ld.local.b32", "a load of local memory: a spilled register, often"},
    {"STL", "st.local.b32", "a store to local memory: a spilled register, often"},
    {"LDC", "ld.const.b32", "a load of constants: parameters, often"},
    {"LDCU", "ld.const.b32", "a load of constants: parameters, often"},
    {"ULDC", "ld.const.b32", "a load of constants: parameters, often"},
    {"ATOMG", "atom.global.add.u32", "an atomic of global memory"},
    {"ATOMS", "atom.shared.add.u32", "an atomic of shared memory"},
    {"REDG", "red.global.add.u32", "a reduction in global memory"},
    {"RED", "red.global.add.u32", "a reduction in global memory"},
    {"USETMAXREG", "setmaxnreg.inc.sync.aligned.u32", "takes or gives back registers"},
    {"ACQBULK", "griddepcontrol.wait", "waits for the kernel before"},
    {"PREEXIT", "griddepcontrol.launch_dependents", "lets the next kernel begin"},
    {"NANOSLEEP", "nanosleep.u32", "a pause"},
    {"I2F", "cvt.rn.f32.s32", "an integer into a floating-point number"},
    {"I2FP", "cvt.rn.f32.s32", "an integer into a floating-point number"},
    {"F2I", "cvt.rzi.s32.f32", "a floating-point number into an integer"},
    {"I2I", "cvt.s32.s8", "an integer of another size"},
    {"FSETP", "setp.lt.f32", "a comparison into a predicate"},
    {"DSETP", "setp.lt.f64", "a comparison into a predicate"},
    {"HSETP2", "setp.lt.f16x2", "two comparisons into predicates"},
    {"ISETP", "setp.lt.s32", "a comparison of integers into a predicate"},
    {"FSET", "set.lt.f32.f32", "a comparison into a register"},
    {"HSET2", "set.lt.f16x2.f16x2", "two comparisons into a register"},
    {"FSEL", "selp.f32", "one of two registers, by a predicate"},
    {"HMNMX2", "min.f16x2", "the smaller or the larger ones of two pairs"},
    {"DMNMX", "min.f64", "the smaller or the larger of two"},
    {"IMNMX", "min.s32", "the smaller or the larger of two integers"},
    {"VIMNMX", "min.s32", "the smaller or the larger of two integers"},
    {"FCHK", "div.rn.f32", "whether a division needs its slow way"},
    {"IABS", "abs.s32", "an integer without its sign"},
    {"IADD", "add.s32", "a sum of integers"},
    {"LEA", "mad.lo.s32", "an index, shifted, and a base: an address"},
    {"SHF", "shf.l.wrap.b32", "a shift of two registers"},
    {"SHL", "shl.b32", "a shift to the left"},
    {"SHR", "shr.u32", "a shift to the right"},
    {"BREV", "brev.b32", "the bits in the other order"},
    {"FLO", "bfind.u32", "the highest bit that is set"},
    {"POPC", "popc.b32", "how many bits are set"},
    {"BMSK", "bmsk.clamp.b32", "a mask of bits"},
    {"SGXT", "szext.clamp.s32", "a field of bits, with its sign"},
    {"PLOP3", "and.pred", "a logical function of predicates"},
    {"P2R", "mov.b32", "predicates into a register"},
    {"R2P", "setp.ne.b32", "the bits of a register into predicates"},
    {"R2UR", "mov.b32", "a register of a lane into one that the warp shares"},
    {"S2UR", "mov.u32", "a special register into one that the warp shares"},
    {"MOV", "mov.b32", "a register into another one"},
    {"ATOM", "atom.add.u32", "an atomic at a generic address"},
    {"LD", "ld.b32", "a load at a generic address"},
    {"ST", "st.b32", "a store to a generic address"},
    {"CCTL", "discard.global.L2",
     "what the cache does with a line; behind an acquire it forgets the first level"},
    {"ERRBAR", "fence.acq_rel.sys", "a part of a fence"},
    {"BRA", "bra", "a branch"},
    {"BRX", "brx.idx", "a branch by a table"},
    {"BSSY", "bra", "where diverged lanes will meet: before a branch"},
    {"BSYNC", "bra", "diverged lanes meet: behind a branch"},
    {"BREAK", "bra", "lanes leave a loop"},
    {"CALL", "call", "a call of a function"},
    {"RET", "ret", "the end of a function"},
    {"EXIT", "exit", "the end of a thread"},
    {"BPT", "brkpt", "a breakpoint, or a trap"},
    {"TEX", "tex.2d.v4.f32.f32", "a texture"},
    {"UTCBAR", kCommit, "arrives when products of tensor memory are complete"},
    {"UTCATOMSWS", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "columns of tensor memory"},
};

// What stands before an instruction in a listing: "/*0070*/", "@!P0", "@!UP0", "0x0070:", "&wr=0x1".
bool is_before_instruction(std::string_view word) {
  return word.starts_with("/*") || word.starts_with('@') || word.starts_with('&') || word.ends_with(':') ||
         word.starts_with('[') || word.starts_with('{') ||
         word.find_first_not_of("0123456789abcdefx") == word.npos;
}

// Words that may be the instruction: the first, and those before which is only what listings have there.
std::span<const std::string> leading_words(const AskedLine& line) {
  const auto other = std::ranges::find_if_not(line.words, is_before_instruction);
  const auto count = other - line.words.begin();
  return std::span(line.words).first(static_cast<std::size_t>(other == line.words.end() ? count : count + 1));
}

// Without its 'U' an instruction on registers that the warp shares: "UIADD3", "ULOP3".
const AskName* machine_name(std::string_view word) {
  const auto* const found = std::ranges::find_if(kMachineNames, [&](const AskName& row) {
    return word == row.name || (word.starts_with(row.name) && word[row.name.size()] == '.');
  });
  if (found != std::end(kMachineNames)) return found;
  return word.starts_with('U') ? machine_name(word.substr(1)) : nullptr;
}

}  // namespace

AskReadings ask_machine_name(const AskedLine& line) {
  for (const std::string& whole : leading_words(line)) {
    const AskName* const row = machine_name(up_to(whole, ";,"));
    if (row != nullptr)
      return {any_form_reading(
          "machine", fmt::format("{} is a machine instruction: {}. It comes from", row->name, row->said),
          std::string(row->form), line.targets)};
  }
  return {};
}

AskReadings ask_machine(const AskedLine& line) {
  for (const std::string& word : leading_words(line)) {
    const std::string base = in_small_letters(up_to(word, "."));
    const bool is_upper = !word.empty() && word.front() >= 'A' && word.front() <= 'Z';
    if (base.size() < 3 || (!is_upper && word.find('.') == word.npos)) continue;
    const Result<MachineForms> found = forms_of_machine_code(word);
    if (!found || (!is_upper && !found->ignored.empty())) continue;
    const std::string name(up_to(word, ";,"));
    // An instruction with forms of its own is no part of others, nor a conversion unless its words say so.
    const AskName* const row = machine_name(name);
    if (row != nullptr && (found->forms.empty() || name == row->name)) continue;
    const std::vector<MachineForm>& known = found->forms.empty() ? found->composing : found->forms;
    if (known.empty()) {
      AskReading out{"error", fmt::format("{} is read as {}, which no form becomes", name, found->name)};
      out.suggestions.push_back({std::string(up_to(name, ".")), "the instruction without its shape and types"});
      return {out};
    }
    // "UTCQMMA.2CTA" is the product of a pair of blocks, "LDTM.x32" the move of 32 lanes.
    std::string form = known[0].form;
    if (name.find(".2CTA") != name.npos)
      for (const MachineForm& one : known)
        if (one.form.find("cta_group::2") != one.form.npos && form.find("cta_group::1") != form.npos)
          form = one.form;
    if (name.starts_with("LDTM.x") || name.starts_with("STTM.x"))
      form = fmt::format("tcgen05.{}.sync.aligned.32x32b.{}.b32", name.starts_with("LD") ? "ld" : "st",
                         name.substr(5));
    Result<AskReading> out = form_reading(
        "machine", form, line.targets.empty() ? std::vector{known[0].targets.front()} : line.targets);
    if (!out) return {no_form(form, out.error(), line.targets)};
    const std::size_t count = found->forms.size() + found->composing.size();
    out->understood = fmt::format("{} is a machine instruction, here {} of {} form{}: {}, {}", name,
                                  found->forms.empty() ? "a part" : "what becomes", count,
                                  count == 1 ? "" : "s", form, out->understood);
    out->views.push_back(
        {"gpu",
         fmt::format("All forms that become {}, as {} compiled them", name, kMachineCodeToolkit),
         {{"list", "--forms", "--machine", name, "--json"}}});
    for (std::size_t other = 1; other < known.size() && other <= kMostOthers; ++other)
      out->suggestions.push_back(
          {known[other].form, fmt::format("becomes it, too, on {}", names(known[other].targets))});
    return {*out};
  }
  return {};
}

}  // namespace warpbit::cli
