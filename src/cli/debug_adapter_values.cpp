// SPDX-License-Identifier: Apache-2.0
// What a debug adapter says of a place: warps as threads, chains of lines as stacks, registers and fragments as variables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <filesystem>

#include "cli/arguments.hpp"
#include "cli/debug_adapter.hpp"
#include "cli/debug_block.hpp"
#include "cli/debug_fragments.hpp"
#include "cli/launch_arguments.hpp"
#include "cli/launch_numbers.hpp"
#include "cli/launch_values.hpp"

namespace warpbit::cli {
namespace {

using Json = DebugAdapter::Json;
constexpr int kFramesOfWarp = 1000;
constexpr unsigned kLanesOfRegister = 32;

Json named(std::string name, std::string value, std::size_t reference = 0, std::string_view type = {}) {
  Json out = {{"name", std::move(name)}, {"value", std::move(value)}, {"variablesReference", reference}};
  if (!type.empty()) out["type"] = type;
  return out;
}

Json source_json(const std::string& path) {
  // Editors open absolute paths alone. A compiler names files from where it was called; if that is here, they are found.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error).lexically_normal();
  return {{"name", whole.filename().string()},
          {"path", std::filesystem::exists(whole, error) ? whole.string() : path}};
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

std::size_t DebugAdapter::handle(std::function<Json()> list, Set set) {
  handles_.push_back({std::move(list), std::move(set)});
  return handles_.size();
}

Json DebugAdapter::register_json(int warp, const ptx::RegisterValues& one) {
  const auto set_lane = [this, warp, one](const std::string& name, const std::string& value) {
    const auto lane = number<unsigned>(name.substr(std::min<std::size_t>(name.find(' ') + 1, name.size())));
    if (!lane || *lane >= kLanesOfRegister)
      refuse("the variable", fmt::format("'{}'", name), "lane 0 to lane 31");
    set_register(warp, one, std::uint32_t{1} << *lane, value);
  };
  const std::size_t lanes = handle(
      [one] {
        Json out = Json::array();
        for (std::size_t lane = 0; lane < one.values.size(); ++lane)
          out.push_back(named(fmt::format("lane {}", lane), value_and_bits(one.type, one.values[lane])));
        return out;
      },
      set_lane);
  return named(one.name, values_text(one, 0xffff'ffff), lanes, one.type);
}

Json DebugAdapter::registers_json(int warp, const std::vector<ptx::RegisterValues>& all) {
  Json out = Json::array();
  for (const ptx::RegisterValues& one : all) out.push_back(register_json(warp, one));
  return out;
}

void DebugAdapter::set_register(int warp, const ptx::RegisterValues& one, std::uint32_t lanes,
                                const std::string& value) {
  std::string type(one.type == "pred" ? "u8" : one.type);
  if (type.find("x2") != type.npos) type = "b32";
  required(debugger_.edit(
      {at_.step, DebugEdit::Register{warp, lanes, one.name, parse_value(one.name, type, value)}}));
}

Json DebugAdapter::set_variable(const Json& arguments) {
  const auto reference = arguments.at("variablesReference").get<std::size_t>();
  if (reference == 0 || reference > handles_.size() || !handles_[reference - 1].set)
    refuse("setVariable", fmt::format("{}", reference), "the lanes of a register, or a list of registers");
  const std::string value = arguments.at("value").get<std::string>();
  handles_[reference - 1].set(arguments.at("name").get<std::string>(), value);
  at_ = debugger_.state(at_.step);
  return {{"value", value}};
}

// A row is a variable: the first cell its name, the others its value, and each by its heading below it.
Json DebugAdapter::table_json(const Table& table) {
  Json out = Json::array();
  for (std::size_t i = 1; i < table.size(); ++i) {
    Json cells = Json::array();
    std::string value;
    for (std::size_t j = 1; j < table[i].size(); ++j) {
      if (table[i][j].empty()) continue;
      cells.push_back(named(table[0][j], table[i][j]));
      value += fmt::format("{}{}: {}", value.empty() ? "" : ", ", table[0][j], table[i][j]);
    }
    out.push_back(named(table[i][0], value, handle([cells] { return cells; })));
  }
  return out;
}

// Columns that are allocated, 32 of them at once; below them rows of words.
Json DebugAdapter::tensor_json() {
  constexpr std::size_t kStep = 32;
  Json out = Json::array();
  for (const ptx::TensorMemoryState::Columns& one : at_.block.tensor->allocated)
    for (std::size_t first = static_cast<std::size_t>(one.first);
         first < static_cast<std::size_t>(one.first + one.count); first += kStep)
      out.push_back(named(
          fmt::format("columns {} to {}", first, first + kStep - 1), "128 lanes of words",
          handle([this, first] {
            const Table words =
                tensor_table(*at_.block.tensor, {0, first, ptx::TensorMemoryState::kLanes, kStep}, "b32");
            Json rows = Json::array();
            for (std::size_t i = 1; i < words.size(); ++i)
              rows.push_back(named("lane " + words[i][0],
                                   fmt::format("{}", fmt::join(words[i].begin() + 1, words[i].end(), " "))));
            return rows;
          })));
  return out;
}

Json DebugAdapter::scopes(const Json& arguments) {
  const int warp = arguments.at("frameId").get<int>() / kFramesOfWarp - 1;
  Json out = Json::array();
  const auto add = [&](std::string_view name, std::function<Json()> list) {
    out.push_back({{"name", name}, {"variablesReference", handle(std::move(list))}, {"expensive", false}});
  };
  if (at_.seen && at_.seen->warp == warp) {
    add("read", [this, warp] { return registers_json(warp, at_.seen->sources); });
    add("written", [this, warp] { return registers_json(warp, at_.seen->registers); });
  }
  add("registers", [this, warp] {
    Json all = Json::array();
    if (const auto found = at_.warps.find(warp); found != at_.warps.end())
      for (const auto& [name, one] : found->second.registers) all.push_back(register_json(warp, one));
    return all;
  });
  add("fragments", [this, warp] {
    Json all = Json::array();
    std::vector<DebugFragment> fragments;
    if (at_.warps.contains(warp)) fragments = fragments_of(at_, warp, loaded_.module.target());
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
    constexpr std::size_t kBytes = kSharedRow, kRows = 512;
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
  for (const BlockTable& one : block_tables())
    if (at_.seen) add(one.name, [this, make = one.make] { return table_json(make(at_.block)); });
  if (at_.block.tensor) add("tensor memory", [this] { return tensor_json(); });
  return {{"scopes", out}};
}

Json DebugAdapter::variables(const Json& arguments) {
  const auto reference = arguments.at("variablesReference").get<std::size_t>();
  if (reference == 0 || reference > handles_.size())
    refuse("variables", fmt::format("{}", reference),
           "a number that scopes or variables has given since the last stop");
  const std::function<Json()> list = handles_[reference - 1].list;  // which adds others
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
  const Json out = register_json(warp, found->second.registers.at(name));
  return {{"result", out.at("value")},
          {"type", out.at("type")},
          {"variablesReference", out.at("variablesReference")}};
}

}  // namespace warpbit::cli
