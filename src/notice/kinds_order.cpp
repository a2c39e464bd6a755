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
  return begins(name_of(site), kTests);
}

}  // namespace

void barrier(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, kBarriers, "barrier", to);
}

void fence(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, kFences, "fence", to);
}

void wait(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, kWaits, "wait", to);
  if (begins(name_of(site), kWaits) && edit::is_literal(site, 0))
    add_operand(site, 0, std::to_string(site.parts.operands[0].literal.bits + 1), kMorePending, to);
  if (is_test(site)) add_text(site, fmt::format("setp.eq.u32 {}, 0, 0;", site.operand(0)), kNoWait, to);
}

void parity(const Code&, const Site& site, Changes& to) {
  constexpr std::size_t kParity = 2;
  if (!is_test(site) || !site.has("parity") || site.parts.operands.size() <= kParity) return;
  if (edit::is_literal(site, kParity)) {
    add_operand(site, kParity, std::to_string(site.parts.operands[kParity].literal.bits ^ 1), kOtherParity, to);
    return;
  }
  std::vector<std::string> operands = site.operands();
  const std::string was = std::exchange(operands[kParity], "_parity");
  to.push_back({edit::whole(site, fmt::format("{{ .reg .b32 _parity; xor.b32 _parity, {}, 1; $G{} }}", was,
                                              site.with(operands))),
                kOtherParity});
}

void arrival(const Code&, const Site& site, Changes& to) {
  leave_out_if(site, kArrivals, "arrival", to);
  leave_out_if(site, kCommits, "commit", to);
}

void copy(const Code&, const Site& site, Changes& to) {
  if (!begins(name_of(site), kNoCopies)) leave_out_if(site, kCopies, "copy", to);
}

void store(const Code&, const Site& site, Changes& to) {
  if (!begins(name_of(site), kNoStores)) leave_out_if(site, kStores, "store", to);
}

}  // namespace warpbit::noticing
