// SPDX-License-Identifier: Apache-2.0
// What a debug adapter says of a place: warps as threads, chains of lines as stacks, registers and fragments as variables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <filesystem>

#include "cli/arguments.hpp"
#include "cli/debug_adapter.hpp"
#include "cli/debug_fragments.hpp"
#include "cli/launch_values.hpp"

namespace warpbit::cli {
namespace {

using Json = DebugAdapter::Json;
constexpr int kFramesOfWarp = 1000;

Json named(std::string name, std::string value, std::size_t reference = 0, std::string_view type = {}) {
  Json out = {{"name", std::move(name)}, {"value", std::move(value)}, {"variablesReference", reference}};
  if (!type.empty()) out["type"] = type;
  return out;
}

Json source_json(const std::string& path) {
  return {{"name", std::filesystem::path(path).filename().string()}, {"path", path}};
}

}  // namespace

Json DebugAdapter::threads(const Json&) {
  Json out = Json::array();
  for (const auto& [number, one] : at_.warps)
    out.push_back({{"id", number + 1}, {"name", fmt::format("warp {}", number)}});
  if (out.empty()) out.push_back({{"id", 1}, {"name", "warp 0"}});
  return {{"threads", out}};
}

// The innermost line first; the statement of the PTX last.
Json DebugAdapter::stack(const Json& arguments) {
  const int warp = arguments.at("threadId").get<int>() - 1;
  const auto found = at_.warps.find(warp);
  Json out = Json::array();
  if (found == at_.warps.end()) return {{"stackFrames", out}, {"totalFrames", 0}};
  const std::vector<SourceLink>& chain = chain_of(found->second.line);
  const auto add = [&](const std::string& name, const std::string& file, int line) {
    out.push_back({{"id", (warp + 1) * kFramesOfWarp + static_cast<int>(out.size())},
                   {"name", name},
                   {"source", source_json(file)},
                   {"line", line},
                   {"column", 1}});
  };
  for (auto link = chain.rbegin(); link != chain.rend(); ++link)
    add(link->function.empty() ? loaded_.kernel.name() : link->function, link->file, link->line);
  add(found->second.statement, file_, found->second.line);
  return {{"stackFrames", out}, {"totalFrames", out.size()}};
}

std::size_t DebugAdapter::handle(std::function<Json()> list) {
  handles_.push_back(std::move(list));
  return handles_.size();
}

Json DebugAdapter::register_json(const ptx::RegisterValues& one) {
  const std::size_t lanes = handle([one] {
    Json out = Json::array();
    for (std::size_t lane = 0; lane < one.values.size(); ++lane)
      out.push_back(named(fmt::format("lane {}", lane), value_and_bits(one.type, one.values[lane])));
    return out;
  });
  return named(one.name, values_text(one, 0xffff'ffff), lanes, one.type);
}

Json DebugAdapter::registers_json(const std::vector<ptx::RegisterValues>& all) {
  Json out = Json::array();
  for (const ptx::RegisterValues& one : all) out.push_back(register_json(one));
  return out;
}

Json DebugAdapter::scopes(const Json& arguments) {
  const int warp = arguments.at("frameId").get<int>() / kFramesOfWarp - 1;
  Json out = Json::array();
  const auto add = [&](std::string_view name, std::function<Json()> list) {
    out.push_back({{"name", name}, {"variablesReference", handle(std::move(list))}, {"expensive", false}});
  };
  if (at_.seen && at_.seen->warp == warp) {
    add("read", [this] { return registers_json(at_.seen->sources); });
    add("written", [this] { return registers_json(at_.seen->registers); });
  }
  add("registers", [this, warp] {
    Json all = Json::array();
    if (const auto found = at_.warps.find(warp); found != at_.warps.end())
      for (const auto& [name, one] : found->second.registers) all.push_back(register_json(one));
    return all;
  });
  add("fragments", [this, warp] {
    Json all = Json::array();
    std::vector<DebugFragment> fragments;
    try {
      if (at_.warps.contains(warp)) fragments = fragments_of(at_, warp, loaded_.module.target());
    } catch (const Refusal&) {  // no tensor instruction
    }
    for (const DebugFragment& one : fragments)
      all.push_back(named(
          one.role, fmt::format("{} x {} of {}", one.rows, one.columns, one.format), handle([one] {
            Json rows = Json::array();
            for (std::size_t i = 0; i < one.rows; ++i) {
              const std::span<const double> row = std::span(one.numbers).subspan(i * one.columns, one.columns);
              rows.push_back(named(fmt::format("{}", i), fmt::format("{:.6g}", fmt::join(row, " "))));
            }
            return rows;
          })));
    return all;
  });
  add("shared memory", [this] {
    constexpr std::size_t kBytes = 32, kRows = 512;
    Json rows = Json::array();
    for (std::size_t at = 0; at + 4 <= at_.shared.size() && rows.size() < kRows; at += kBytes) {
      std::string words;
      for (std::size_t i = at; i + 4 <= std::min(at + kBytes, at_.shared.size()); i += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, &at_.shared[i], sizeof word);
        words += fmt::format("{}{:08x}", words.empty() ? "" : " ", word);
      }
      rows.push_back(named(fmt::format("{:#06x}", at), words));
    }
    return rows;
  });
  return {{"scopes", out}};
}

Json DebugAdapter::variables(const Json& arguments) {
  const auto reference = arguments.at("variablesReference").get<std::size_t>();
  if (reference == 0 || reference > handles_.size())
    refuse("variables", fmt::format("{}", reference),
           "a number that scopes or variables has given since the last stop");
  const std::function<Json()> list = handles_[reference - 1];  // which adds others
  return {{"variables", list()}};
}

// A register of the frame's warp.
Json DebugAdapter::evaluate(const Json& arguments) {
  const std::string name = arguments.at("expression").get<std::string>();
  const int frame = arguments.value("frameId", 0);
  const int warp = frame == 0 ? (at_.seen ? at_.seen->warp : 0) : frame / kFramesOfWarp - 1;
  const auto found = at_.warps.find(warp);
  if (found == at_.warps.end() || !found->second.registers.contains(name))
    refuse("the expression", fmt::format("'{}'", name), "a register that a statement of this warp has named");
  const Json out = register_json(found->second.registers.at(name));
  return {{"result", out.at("value")},
          {"type", out.at("type")},
          {"variablesReference", out.at("variablesReference")}};
}

}  // namespace warpbit::cli
