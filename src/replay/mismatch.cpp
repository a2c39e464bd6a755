// SPDX-License-Identifier: Apache-2.0
// A mismatch as text for people.
#include <fmt/format.h>

#include "capture/text.hpp"
#include "warpbit/format.hpp"
#include "warpbit/replay.hpp"

namespace warpbit {

std::string text(const Mismatch& m) {
  if (m.cases > 0)
    return fmt::format("cases {} to {}: expected digest {:#018x}, got {:#018x}", m.index, m.index + m.cases - 1,
                       m.expected, m.got);
  std::string where = m.address >= 0  ? fmt::format("case {} byte {:#x} of memory", m.index, m.address)
                      : m.lane >= 0   ? fmt::format("case {} lane {} register {} row {} column {}", m.index,
                                                    m.lane, m.reg, m.row, m.column)
                      : m.column >= 0 ? fmt::format("case {} element {}", m.index, m.column)
                                      : fmt::format("element {}", m.index);
  if (m.product > 0) where += fmt::format(" product {}", m.product);
  if (!m.name.empty()) where += " " + capture::quoted(m.name);
  return fmt::format("{}: expected {}, got {}", where, code_text(m.format, m.expected),
                     code_text(m.format, m.got));
}

}  // namespace warpbit
