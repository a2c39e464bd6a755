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

constexpr std::pair<std::string_view, Kind> kGroupRows[] = {
    {"fence", Kind::register_fence},
    {"commit_group", Kind::commit_group},
    {"wait_group", Kind::wait_group},
};

// A block's shared memory is part of its cluster's.
constexpr std::pair<std::string_view, Space> kProxyRows[] = {
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

std::vector<Form> expand_group() {
  constexpr int kWarpgroup = 128;
  std::vector<Form> out;
  for (const auto& [name, kind] : kGroupRows)
    out.push_back(
        make_form("wgmma", {name, "sync", "aligned"}, Unit::wgmma_sync, Feature::wgmma, {{kind}, kWarpgroup}));
  out.back().operands = {immediate_operand("N", Part::group_count, {0, kUnbounded})};
  return out;
}

std::vector<Form> expand_proxies() {
  std::vector<Form> out;
  for (const auto& [name, space] : kProxyRows)
    out.push_back(make_form("fence", {"proxy", "async", name}, Unit::proxy_fence, Feature::sm_90,
                            {{Kind::proxy_fence, space}, 1}));
  return out;
}

constexpr SinceRow kProxySince[] = {
    {"", {8, 0}},
};

}  // namespace

void add_async_control(std::vector<Family>& out) {
  out.push_back({"wgmma.sync", "wgmma", {}, kGroupSlots, FormList(expand_group)});
  out.push_back({"fence.proxy", "fence", kProxyMarks, kProxySlots, FormList(expand_proxies), kProxySince});
}

}  // namespace warpbit
