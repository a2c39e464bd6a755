// SPDX-License-Identifier: Apache-2.0
// What warpbit debug shows of a block's memories, its barrier objects and what is on its way, and what it changes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cli/arguments.hpp"
#include "cli/debug_block.hpp"
#include "cli/debug_bytes.hpp"
#include "cli/debug_session.hpp"
#include "cli/launch_numbers.hpp"
#include "cli/launch_values.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

// "16x8"; "16" is a column.
struct Extents {
  std::size_t rows = 8, columns = 1;
};
std::optional<Extents> parse_extents(const std::string& text) {
  const std::size_t x = text.find('x');
  const auto rows = number<std::size_t>(text.substr(0, x));
  const auto columns = x == text.npos ? std::optional(std::size_t{1}) : number<std::size_t>(text.substr(x + 1));
  constexpr std::size_t kMost = 1 << 20;
  if (!rows || !columns || *rows == 0 || *columns == 0 || *rows > kMost || *columns > kMost)
    return std::nullopt;
  return Extents{*rows, *columns};
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t out = 0;
  std::memcpy(&out, &bytes[at], size);
  return out;
}

}  // namespace

// ---- Shared memory

void DebugSession::list_shared() const {
  Table table{{"variable", "byte", "type", "bytes"}};
  for (const ptx::SharedVariable& one : variables_)
    table.push_back({printable(one.name), fmt::format("{:#x}", one.address), one.type,
                     one.bytes == 0 ? "as many as the launch has" : fmt::format("{}", one.bytes)});
  if (table.size() == 1) return print_fitted("the kernel has no variable in shared memory");
  print(table, false);
}

// A column of numbers by their places, or a matrix of them.
void DebugSession::shared(const Words& words) {
  if (words.empty()) return list_shared();
  const SharedPlace place = parse_shared("shared", words[0], variables_);
  const auto extents = words.size() > 1 ? parse_extents(words[1]) : Extents{};
  if (!extents) refuse("shared", fmt::format("'{}'", words[1]), "a number, or rows and columns as in 16x8");
  const bool has_type = words.size() > 2 || place.type.starts_with('f');
  const MemoryType type = parse_memory_type("shared", words.size() > 2 ? words[2]
                                                      : has_type       ? place.type
                                                                       : "u32");
  const std::size_t count = extents->rows * extents->columns;
  if (place.address > at_.shared.size() || count > (at_.shared.size() - place.address) / type.bytes)
    refuse("shared", fmt::format("{} x {} bytes from byte {:#x} on", count, type.bytes, place.address),
           fmt::format("bytes of the {:#x} that the block has; none before the first statement",
                       at_.shared.size()));
  const auto code = [&](std::size_t i) {
    return word_at(at_.shared, place.address + i * type.bytes, type.bytes);
  };
  if (extents->columns == 1) {
    for (std::size_t i = 0; i < count; ++i)
      fmt::print("{:#07x}  {}\n", place.address + i * type.bytes, value_and_bits(type.name, code(i)));
    return;
  }
  Table table(1, Row(1, "byte"));
  for (std::size_t j = 0; j < extents->columns; ++j) table[0].push_back(fmt::format("{}", j));
  for (std::size_t i = 0; i < count; ++i) {
    if (i % extents->columns == 0) table.push_back({fmt::format("{:#x}", place.address + i * type.bytes)});
    table.back().push_back(value_text(type.name, code(i)));
  }
  print(table, false);
}

// The last statement first, each line of the PTX once for the same warp.
void DebugSession::made(const Words& words) {
  const bool is_shared = words.size() > 1 && words[0] == "shared";
  if (words.empty()) refuse("made", "no bytes", "an element, as in C[3,5] or shared As+0x40");
  const DebugBytes of = parse_bytes("made", is_shared ? "shared " + words[1] : words[0], loaded_, variables_);
  const std::size_t behind = is_shared ? 2 : 1;
  const auto most = words.size() > behind ? number<std::size_t>(words[behind]) : std::optional(std::size_t{40});
  if (!most) refuse("made", fmt::format("'{}'", words[behind]), "how many lines to show");
  struct Made {
    DebugOrigin last;
    std::size_t times = 1;
  };
  std::vector<Made> all;
  for (const DebugOrigin& one : required(debugger_.made(at_.step, of.is_written()))) {
    const auto known = std::ranges::find_if(
        all, [&](const Made& other) { return other.last.line == one.line && other.last.warp == one.warp; });
    if (known == all.end())
      all.push_back({one});
    else
      known->times += 1, known->last.lanes |= one.lanes;
  }
  at_ = debugger_.state(at_.step);
  if (all.empty()) return print_fitted("no statement of the block has written it here");
  Table table{{"step", "times", "who", "PTX line", "source", "statement"}};
  for (std::size_t i = 0; i < std::min(all.size(), *most); ++i)
    table.push_back({fmt::format("{}", all[i].last.step), fmt::format("{}", all[i].times),
                     who_text(all[i].last.warp, all[i].last.lanes), fmt::format("{}", all[i].last.line),
                     printable(source_of(all[i].last.line)), printable(all[i].last.statement)});
  print_narrow(table);
  if (all.size() > *most) print_fitted(fmt::format("... {} lines more", all.size() - *most));
}

// ---- What else the block has

void DebugSession::show_block(std::string_view name) const {
  if (!at_.seen)
    return print_fitted("before the first statement, and at the end, there is nothing of this to see");
  const auto table = std::ranges::find(block_tables(), name, &BlockTable::name);
  const Table rows = table->make(at_.block);
  if (rows.size() == 1) return print_fitted(table->none);
  print_narrow(rows);
}

void DebugSession::mbarriers(const Words&) {
  show_block("mbarriers");
}
void DebugSession::waits(const Words&) {
  show_block("waits");
}
void DebugSession::pending(const Words&) {
  show_block("pending");
}

void DebugSession::tensor(const Words& words) {
  if (!at_.block.tensor) return print_fitted("the block has used no tensor memory here");
  const ptx::TensorMemoryState& memory = *at_.block.tensor;
  if (words.empty()) {
    for (const ptx::TensorMemoryState::Columns& one : memory.allocated)
      print_fitted(fmt::format("columns {} to {} are allocated", one.first, one.first + one.count - 1));
    if (memory.allocated.empty()) print_fitted("no columns are allocated");
    return;
  }
  const auto lane = number<std::size_t>(words[0]);
  const auto column = words.size() > 1 ? number<std::size_t>(words[1]) : std::nullopt;
  const auto extents = words.size() > 2 ? parse_extents(words[2]) : Extents{8, 8};
  const std::string type = words.size() > 3 ? words[3] : "f32";
  using Memory = ptx::TensorMemoryState;
  if (!lane || !column || !extents || *lane >= Memory::kLanes || *column >= Memory::kColumns)
    refuse("tensor", fmt::format("'{}'", fmt::join(words, " ")),
           "a lane from 0 to 127, a column from 0 to 511, and rows and columns, as in tensor 0 64 16x8 f32");
  const std::size_t lanes = std::min(extents->rows, Memory::kLanes - *lane),
                    columns = std::min(extents->columns, Memory::kColumns - *column);
  print(tensor_table(memory, {*lane, *column, lanes, columns}, type), false);
}

// ---- Changes

namespace {

// "0-3", "5", "0-3,8": a mask.
std::optional<std::uint32_t> parse_lanes(std::string_view text) {
  std::uint32_t out = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    const std::size_t dash = std::min(one.find('-'), one.size());
    const auto first = number<unsigned>(one.substr(0, dash));
    const auto last = dash == one.size() ? first : number<unsigned>(one.substr(dash + 1));
    if (!first || !last || *last > 31 || *first > *last) return std::nullopt;
    for (unsigned lane = *first; lane <= *last; ++lane) out |= std::uint32_t{1} << lane;
    at = end + 1;
  }
  return out;
}

std::vector<std::byte> bytes_of(std::uint64_t code, std::size_t count) {
  std::vector<std::byte> out(count);
  std::memcpy(out.data(), &code, count);
  return out;
}

std::string text_of(const DebugEdit& edit) {
  if (const auto* const reg = std::get_if<DebugEdit::Register>(&edit.what))
    return fmt::format("{}: {} of {} is {:#x}", edit.step, reg->name, who_text(reg->warp, reg->lanes),
                       reg->value);
  if (const auto* const shared = std::get_if<DebugEdit::Shared>(&edit.what))
    return fmt::format("{}: {} bytes of shared memory from {:#x} on", edit.step, shared->bytes.size(),
                       shared->address);
  return fmt::format("{}: {} bytes of an array", edit.step,
                     std::get<DebugEdit::Memory>(edit.what).bytes.size());
}

}  // namespace

void DebugSession::set_register(const Words& words) {
  const std::size_t colon = std::min(words[0].find(':'), words[0].size());
  const std::string name = words[0].substr(0, colon);
  const auto lanes = colon == words[0].size() ? std::optional<std::uint32_t>(0xffff'ffff)
                                              : parse_lanes(words[0].substr(colon + 1));
  if (!lanes) refuse("set", fmt::format("'{}'", words[0]), "lanes from 0 to 31, as in %r1:0-3 or %r1:5");
  const auto known = warp().registers.find(name);
  if (known == warp().registers.end())
    refuse("set", fmt::format("'{}'", name), "a register that a statement of this warp has named");
  const std::string type(known->second.type == "pred" ? "u8" : known->second.type);
  const std::uint64_t value = parse_value("set", type.find("x2") == type.npos ? type : "b32", words[1]);
  required(debugger_.edit({at_.step, DebugEdit::Register{warp_, *lanes, name, value}}));
}

void DebugSession::set(const Words& words) {
  if (words.empty()) {
    for (const DebugEdit& one : debugger_.edits()) print_fitted(printable(text_of(one)));
    if (debugger_.edits().empty()) print_fitted("nothing is changed");
    return;
  }
  const bool is_none = words.size() == 1 && words[0] == "none";
  if (is_none) debugger_.forget_edits();
  const bool is_shared = words[0] == "shared" && words.size() > 2;
  const std::size_t value = is_shared ? 2 : 1;
  if (!is_none && words.size() <= value)
    refuse("set", fmt::format("'{}'", fmt::join(words, " ")),
           "a place and a value, as in %r1 5, %r1:0-3 5, C[3,5] 1.5 or shared As+0x40 1.5 f32");
  if (!is_none && words[0].starts_with('%')) {
    set_register(words);
  } else if (!is_none) {
    DebugBytes to = parse_bytes("set", is_shared ? "shared " + words[1] : words[0], loaded_, variables_);
    const MemoryType type = parse_memory_type("set", words.size() > value + 1 ? words[value + 1] : to.type);
    std::vector<std::byte> bytes = bytes_of(parse_value("set", type.name, words[value]), type.bytes);
    if (!is_shared && to.memory.size() != bytes.size())
      refuse("set", fmt::format("'{}'", words[0]), "one element, as in C[3,5]");
    if (is_shared)
      required(debugger_.edit({at_.step, DebugEdit::Shared{to.address, std::move(bytes)}}));
    else
      required(debugger_.edit({at_.step, DebugEdit::Memory{to.memory, std::move(bytes)}}));
  }
  at_ = debugger_.state(at_.step);
  show_place();
}

}  // namespace warpbit::cli
