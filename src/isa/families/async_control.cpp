// SPDX-License-Identifier: Apache-2.0
// Instructions that order asynchronous ones and wait for them (PTX manual, "Asynchronous wgmma Proxy
// Operations" and "membar/fence", the bi-directional proxy fence).
//
//   wgmma.fence.sync.aligned;
//   wgmma.commit_group.sync.aligned;
//   wgmma.wait_group.sync.aligned N;
//   fence.proxy.async{.global, .shared::cta, .shared::cluster};
#include <array>

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

constexpr RegisterClass kCount{"b32", 32, "", {}};

Form make_form(std::string_view opcode, std::vector<std::string> qualifiers, Unit unit, Feature needs,
               Control action) {
  using enum FormatId;
  Form form{};
  form.canonical = canonical(opcode, qualifiers);
  form.qualifiers = std::move(qualifiers);
  form.needs = needs;
  form.arithmetic = {unit, b32, b32, b32, b32};
  form.action = action;
  return form;
}

constexpr std::array kGroupSlots{
    QualifierSlot{.what = "instruction", .group = "instruction", .leading = true},
    kSync,
    QualifierSlot{.what = "qualifier .aligned", .group = "aligned", .assembler_optional = true},
};
constexpr std::array kProxySlots{
    QualifierSlot{.what = "qualifier .proxy", .group = "proxy", .leading = true},
    QualifierSlot{.what = "qualifier .async", .group = "async"},
    kSpace,
};
constexpr std::string_view kProxyMarks[] = {"proxy"};

}  // namespace

Family wgmma_sync_family() {
  constexpr int kWarpgroup = 128;
  Family out{"wgmma.sync", "wgmma", {}, kGroupSlots, {}};
  for (const GroupRow& row : kGroupRows) {
    Form form = make_form("wgmma", {std::string(row.name), "sync", "aligned"}, Unit::wgmma_sync, Feature::wgmma,
                          {{row.kind}, kWarpgroup});
    if (row.kind == Kind::wait_group)
      form.operands = {{"N",
                        Part::group_count,
                        OperandKind::immediate,
                        &kCount,
                        0,
                        {},
                        FormatId::b32,
                        {lane_values(32)},
                        {0, kUnbounded}}};
    out.forms.push_back(std::move(form));
  }
  return out;
}

Family proxy_fence_family() {
  Family out{"fence.proxy", "fence", kProxyMarks, kProxySlots, {}};
  for (const ProxyRow& row : kProxyRows)
    out.forms.push_back(make_form("fence", {"proxy", "async", std::string(row.space)}, Unit::proxy_fence,
                                  Feature::sm_90, {{Kind::proxy_fence, row.orders}, 1}));
  return out;
}

}  // namespace warpbit
