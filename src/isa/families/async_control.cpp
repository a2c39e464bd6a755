// SPDX-License-Identifier: Apache-2.0
// Instructions that order asynchronous ones and wait for them (PTX manual, "Asynchronous wgmma Proxy
// Operations" and "membar/fence", the bi-directional proxy fence).
//
//   wgmma.fence.sync.aligned;
//   wgmma.commit_group.sync.aligned;
//   wgmma.wait_group.sync.aligned N;
//   fence.proxy.async{.global, .shared::cta, .shared::cluster};
#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using Kind = AsyncControl::Kind;

// ---- The tables

struct GroupRow {
  std::string_view name;
  Kind kind;
};
constexpr GroupRow kGroupRows[] = {
    {"fence", Kind::register_fence},
    {"commit_group", Kind::commit_group},
    {"wait_group", Kind::wait_group},
};

struct ProxyRow {
  std::string_view space;
  Space orders;
};
// A block's shared memory is part of its cluster's.
constexpr ProxyRow kProxyRows[] = {
    {"", Space::generic},
    {"global", Space::global},
    {"shared::cta", Space::shared},
    {"shared::cluster", Space::shared},
};

// ---- Expansion

constexpr std::array kGroupSlots{kInstruction, kSync, kAlignedByManual};
constexpr std::array kProxySlots{
    QualifierSlot{.what = "qualifier .proxy", .group = "proxy", .leading = true},
    QualifierSlot{.what = "qualifier .async", .group = "async"},
    kSpace,
};
constexpr std::string_view kProxyMarks[] = {"proxy"};

Form make_form(std::string_view opcode, std::initializer_list<std::string_view> qualifiers, Unit unit,
               Feature needs, Control action) {
  using enum FormatId;
  Form out = make_form(opcode, qualifiers, Shape{0, 0, 0, 0}, needs, {unit, b32, b32, b32, b32});
  out.action = action;
  return out;
}

}  // namespace

void add_async_control(std::vector<Family>& out) {
  constexpr int kWarpgroup = 128;
  out.push_back({"wgmma.sync", "wgmma", {}, kGroupSlots, {}});
  for (const GroupRow& row : kGroupRows)
    out.back().forms.push_back(make_form("wgmma", {row.name, "sync", "aligned"}, Unit::wgmma_sync,
                                         Feature::wgmma, {{row.kind}, kWarpgroup}));
  out.back().forms.back().operands = {immediate_operand("N", Part::group_count, {0, kUnbounded})};
  out.push_back({"fence.proxy", "fence", kProxyMarks, kProxySlots, {}});
  for (const ProxyRow& row : kProxyRows)
    out.back().forms.push_back(make_form("fence", {"proxy", "async", row.space}, Unit::proxy_fence,
                                         Feature::sm_90, {{Kind::proxy_fence, row.orders}, 1}));
}

}  // namespace warpbit
