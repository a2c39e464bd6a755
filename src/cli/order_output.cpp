// SPDX-License-Identifier: Apache-2.0
#include "cli/order_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {

using nlohmann::ordered_json;

namespace {

ordered_json found_json(const FoundOrder& f) {
  ordered_json out{{"form", f.instruction.canonical()},
                   {"order", f.order.text()},
                   {"equal", f.equal},
                   {"elements", f.elements},
                   {"left_out", f.left_out},
                   {"same", ordered_json::array()}};
  for (const SameSum& same : f.same) out["same"].push_back({{"form", same.form}, {"order", same.order.text()}});
  if (f.first_wrong)
    out["first_wrong"] = {{"row", f.first_wrong->row},
                          {"column", f.first_wrong->column},
                          {"given", fmt::format("{:#x}", f.first_wrong->code)},
                          {"computed", fmt::format("{:#x}", f.computed)}};
  return out;
}

bool is_as_named(const FoundOrder& f, const KernelOrder& named) {
  const auto is_named = [&](std::string_view form, const SumOrder& order) {
    return form == named.form && order.text() == named.order.text();
  };
  return is_named(f.instruction.canonical(), f.order) ||
         std::ranges::any_of(f.same, [&](const SameSum& s) { return is_named(s.form, s.order); });
}

}  // namespace

void print_search(const OrderSearch& search, const NamedOrder& named, bool as_json) {
  const bool is_right =
      named && std::ranges::any_of(search.found, [&](const FoundOrder& f) { return is_as_named(f, *named); });
  if (!as_json) {
    std::istringstream lines(search.text());
    for (std::string line; std::getline(lines, line);) print_fitted(line);
    if (search.found.empty() && !search.complete) print_fitted("--exhaustive tries the others");
    if (named)
      print_fitted(fmt::format(
          "{} {}: {}, {}", is_right ? "the kernel's name says so, too:" : "but the kernel's name says",
          named->form, named->order.text(), is_right ? "tried first" : "which D contradicts"));
    return;
  }
  ordered_json found = ordered_json::array(), nearest = ordered_json::array();
  for (const FoundOrder& f : search.found) found.push_back(found_json(f));
  for (const FoundOrder& f : search.nearest) nearest.push_back(found_json(f));
  ordered_json out{{"found", found},
                   {"nearest", nearest},
                   {"split_k", name(search.split_k())},
                   {"tried", search.tried},
                   {"complete", search.complete},
                   {"inferred", search.inferred},
                   {"narrowed", search.narrowed}};
  if (named) out["kernel"] = {{"form", named->form}, {"order", named->order.text()}, {"explains", is_right}};
  print_json("order", out);
}

// ---- Parts

namespace {

ordered_json part_json(const FoundOrder& f) {
  ordered_json out{
      {"form", f.instruction.text()}, {"order", f.order.text()}, {"equal", f.equal}, {"elements", f.elements},
      {"left_out", f.left_out},       {"number", f.number},      {"sum", f.sum},     {"wrong", nullptr}};
  if (f.first_wrong)
    out["wrong"] = {f.first_wrong->row, f.first_wrong->column, f.first_wrong->code, f.computed};
  return out;
}
FoundOrder found_of(const ordered_json& j, Target target) {
  FoundOrder out{required(Instruction::parse(j.at("form").get<std::string>(), target)),
                 required(SumOrder::parse(j.at("order").get<std::string>())), j.at("equal"), j.at("elements")};
  out.left_out = j.at("left_out");
  out.number = j.at("number");
  out.sum = j.at("sum");
  const ordered_json& wrong = j.at("wrong");
  if (wrong.is_null()) return out;
  out.first_wrong = ResultElement{wrong.at(0), wrong.at(1), wrong.at(2)};
  out.computed = wrong.at(3);
  return out;
}

}  // namespace

ordered_json part_json(const OrderSearch& s) {
  ordered_json out{{"target", ""},
                   {"found", ordered_json::array()},
                   {"near", ordered_json::array()},
                   {"tried", s.share.tried},
                   {"limited", s.share.is_limited},
                   {"most", s.share.most_found},
                   {"more", s.share.has_more},
                   {"narrowed", s.share.is_narrowed},
                   {"explaining", ordered_json::array()}};
  const auto add = [&](const char* list, ordered_json item, const FoundOrder& f) {
    out[list].push_back(std::move(item));
    out["target"] = f.instruction.target().name();
  };
  for (const FoundOrder& f : s.found) add("found", part_json(f), f);
  for (const OrderShare::Near& n : s.share.near)
    add("near", {part_json(n.order), n.first_equal, n.looked_equal}, n.order);
  for (const OrderShare::Explaining& e : s.share.explaining)
    out["explaining"].push_back({e.instruction.text(), e.order.text(), e.sum, e.number});
  return out;
}
OrderSearch search_of(const ordered_json& j) {
  OrderSearch out;
  out.share.tried = j.at("tried").get<std::vector<std::uint64_t>>();
  out.share.is_limited = j.at("limited");
  out.share.most_found = j.at("most");
  out.share.has_more = j.at("more");
  out.share.is_narrowed = j.at("narrowed");
  if (j.at("found").empty() && j.at("near").empty()) return out;
  const Target target = required(Target::find(j.at("target").get<std::string>()));
  for (const ordered_json& f : j.at("found")) out.found.push_back(found_of(f, target));
  for (const ordered_json& n : j.at("near"))
    out.share.near.push_back({found_of(n.at(0), target), n.at(1), n.at(2)});
  for (const ordered_json& e : j.at("explaining"))
    out.share.explaining.push_back({required(Instruction::parse(e.at(0).get<std::string>(), target)),
                                    required(SumOrder::parse(e.at(1).get<std::string>())), e.at(2), e.at(3)});
  return out;
}

ordered_json named_json(const NamedOrder& named) {
  if (!named) return nullptr;
  return {{"form", named->form}, {"order", named->order.text()}};
}
NamedOrder named_of(const ordered_json& j) {
  if (j.is_null()) return std::nullopt;
  return KernelOrder{j.at("form"), required(SumOrder::parse(j.at("order").get<std::string>()))};
}

}  // namespace warpbit::cli
