// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_block.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/debug_bytes.hpp"
#include "cli/launch_values.hpp"

namespace warpbit::cli {
namespace {

// The beginning of a statement, whose line says the rest.
std::string short_text(const std::string& statement) {
  constexpr std::size_t kMost = 64;
  return printable(statement.size() <= kMost ? statement : statement.substr(0, kMost) + "...");
}

Table mbarriers_table(const ptx::BlockState& of) {
  Table out{{"mbarrier", "name", "phase", "parity", "arrivals", "bytes", "came before, and not in this phase"}};
  for (const ptx::MbarrierState& one : of.mbarriers) {
    std::string bytes;
    if (one.came != 0 || one.pending_bytes != 0)
      bytes = fmt::format("{} of {}", one.came, one.came + one.pending_bytes);
    out.push_back({fmt::format("{:#x}", one.address), one.name, fmt::format("{}", one.phase),
                   fmt::format("{}", one.parity()),
                   fmt::format("{} of {}", one.expected - one.pending, one.expected), bytes, one.absent});
  }
  return out;
}

Table waits_table(const ptx::BlockState& of) {
  Table out{{"who", "PTX line", "statement", "waits for", "warps that have not come"}};
  for (const ptx::WaitState& one : of.waits)
    out.push_back({who_text(one.warp, one.lanes), fmt::format("{}", one.line), short_text(one.statement),
                   printable(one.awaits), fmt::format("{}", fmt::join(one.missing, ", "))});
  return out;
}

// "shared 0x400 to 0x7ff (As)"
std::string bytes_text(const std::optional<ptx::PendingBytes>& of) {
  if (!of) return {};
  if (of->space == Space::global && !of->name.empty()) return of->name;
  std::string out = fmt::format("{} {:#x} to {:#x}", of->space == Space::shared ? "shared" : "global",
                                of->address, of->address + std::max<std::uint64_t>(of->bytes, 1) - 1);
  if (of->rank >= 0) out += fmt::format(" of block {} of the cluster", of->rank);
  return of->name.empty() ? out : out + fmt::format(" ({})", of->name);
}

Table pending_table(const ptx::BlockState& of) {
  Table out{{"who", "PTX line", "statement", "from", "to", "bytes", "is waited for by"}};
  for (const ptx::PendingState& one : of.pending)
    out.push_back({who_text(one.warp, one.lanes) + (one.count == 1 ? "" : fmt::format(": {}", one.count)),
                   fmt::format("{}", one.line), short_text(one.statement), printable(bytes_text(one.from)),
                   printable(bytes_text(one.to)), one.bytes == 0 ? "" : fmt::format("{}", one.bytes),
                   one.awaited_by.empty() ? "nothing: it is not committed" : one.awaited_by});
  return out;
}

constexpr BlockTable kBlockTables[] = {
    {"mbarriers", "the block has no mbarrier here", mbarriers_table},
    {"waits", "nobody waits here", waits_table},
    {"pending", "nothing is pending here", pending_table},
};

}  // namespace

std::string who_text(int warp, std::uint32_t lanes) {
  return lanes == 0xffff'ffff ? fmt::format("warp {}", warp)
                              : fmt::format("warp {}, lane{} {}", warp, (lanes & (lanes - 1)) == 0 ? "" : "s",
                                            lanes_text(lanes));
}

std::span<const BlockTable> block_tables() {
  return kBlockTables;
}

Table tensor_table(const ptx::TensorMemoryState& of, const TensorWords& words, std::string_view type) {
  const std::size_t bits = 8 * std::min<std::size_t>(parse_memory_type("tensor", type).bytes, 4);
  Table out(1, Row{"lane"});
  for (std::size_t j = 0; j < words.columns; ++j) out[0].push_back(fmt::format("{}", words.column + j));
  for (std::size_t i = 0; i < words.lanes; ++i) {
    out.push_back({fmt::format("{}", words.lane + i)});
    for (std::size_t j = 0; j < words.columns; ++j) {
      const std::size_t lane = words.lane + i, column = words.column + j;
      std::string cell;
      for (std::size_t part = 0; part < 32; part += bits) {
        const std::uint64_t code = of.word(lane, column) >> part & ((std::uint64_t{1} << bits) - 1);
        cell += (cell.empty() ? "" : " ") + (of.is_written(lane, column) ? value_text(type, code) : ".");
      }
      out.back().push_back(std::move(cell));
    }
  }
  return out;
}

}  // namespace warpbit::cli
