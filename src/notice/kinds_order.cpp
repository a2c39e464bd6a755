// SPDX-License-Identifier: Apache-2.0
// Mistakes in what orders threads and copies.
#include "notice/kinds.hpp"

namespace warpbit::noticing {
namespace {

// Leaves out a statement whose name begins with one of some words.
void leave_out_if(const Site& site, std::string_view words, std::string_view what, Changes& to) {
  if (begins(name_of(site), words)) leave_out(site, fmt::format("the {} is left out", what), to);
}

bool is_test(const Site& site) {
  return begins(name_of(site), "mbarrier.try_wait mbarrier.test_wait");
}

}  // namespace

void barrier(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, "bar.sync bar.warp bar.arrive bar.cta barrier.", "barrier", to);
}

void fence(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, "fence. membar. wgmma.fence tcgen05.fence", "fence", to);
}

void wait(const Code&, const Site& site, Changes& to) {
  constexpr std::string_view kWaits =
      "cp.async.wait_ cp.async.bulk.wait_ wgmma.wait_ tcgen05.wait griddepcontrol.wait";
  leave_out_if(site, kWaits, "wait", to);
  if (begins(name_of(site), kWaits) && edit::is_literal(site, 0))
    add_operand(site, 0, std::to_string(site.parts.operands[0].literal.bits + 1),
                "one group more may be pending", to);
  if (is_test(site))
    add_text(site, fmt::format("setp.eq.u32 {}, 0, 0;", site.operand(0)), "the wait does not wait", to);
}

void parity(const Code&, const Site& site, Changes& to) {
  constexpr std::size_t kParity = 2;
  if (!is_test(site) || !site.has("parity") || site.parts.operands.size() <= kParity) return;
  const char* const sentence = "the parity is the other one";
  if (edit::is_literal(site, kParity)) {
    add_operand(site, kParity, std::to_string(site.parts.operands[kParity].literal.bits ^ 1), sentence, to);
    return;
  }
  std::vector<std::string> operands = site.operands();
  const std::string was = std::exchange(operands[kParity], "_parity");
  to.push_back({edit::whole(site, fmt::format("{{ .reg .b32 _parity; xor.b32 _parity, {}, 1; $G{} }}", was,
                                              site.with(operands))),
                sentence});
}

void arrival(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, "mbarrier.arrive mbarrier.expect_tx mbarrier.complete_tx cp.async.mbarrier", "arrival",
               to);
  leave_out_if(site, "cp.async.commit cp.async.bulk.commit wgmma.commit tcgen05.commit", "commit", to);
}

void copy(const Code&, const Site& site, Changes& to) {
  if (begins(name_of(site),
             "cp.async.wait cp.async.commit cp.async.mbarrier cp.async.bulk.wait cp.async.bulk.commit"))
    return;
  leave_out_if(site, "cp.async. cp.reduce. tcgen05.cp", "copy", to);
}

void store(const Code&, const Site& site, Changes& to) {
  if (begins(name_of(site), "st.param st.async")) return;
  leave_out_if(site, "st. stmatrix. red. wmma.store tcgen05.st multimem.red multimem.st", "store", to);
}

}  // namespace warpbit::noticing
