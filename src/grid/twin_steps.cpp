// SPDX-License-Identifier: Apache-2.0
#include "grid/twin_steps.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace warpbit::grid {
namespace {

/// So many statements of a block are looked at.
constexpr std::uint64_t kMostSteps = 1'000'000;

// FNV-1a, 64 bits.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ (word >> 8 * i & 0xff)) * 0x100'0000'01b3;
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  }
  friend bool operator==(const Hash&, const Hash&) = default;

 private:
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
};

void add_registers(const std::vector<ptx::RegisterValues>& all, Hash& to) {
  for (const ptx::RegisterValues& one : all) {
    to.add(one.name);
    to.add(one.changed);
    for (const std::uint64_t value : one.values) to.add(value);
  }
}

struct Steps {
  std::map<int, Hash> warps;       // in which order they run says nothing
  std::set<std::string> left_out;  // statements at the line of the mistake
};

std::optional<Steps> steps_of(const LaunchOnce& launch, ptx::Launch how,
                              std::span<const ptx::Argument> arguments, int line) {
  Steps out;
  std::uint64_t count = 0;
  how.observed_block = {};
  how.observes_all_warps = true;
  how.observe = [&](const ptx::Observation& seen) {
    if (++count > kMostSteps) return false;
    if (seen.line == line) {
      out.left_out.insert(seen.statement);
      return true;
    }
    Hash& hash = out.warps[seen.warp];
    hash.add(seen.statement);
    hash.add(seen.lanes);
    add_registers(seen.sources, hash);
    add_registers(seen.registers, hash);
    return true;
  };
  const ptx::Report report = launch(how, arguments);
  if (report.fault || count > kMostSteps) return std::nullopt;
  return out;
}

}  // namespace

bool have_same_steps(const LaunchOnce& with, const LaunchOnce& without, const ptx::Launch& how,
                     std::span<const ptx::Argument> arguments, int line, const std::function<void()>& restore) {
  const std::optional<Steps> right = steps_of(without, how, arguments, line);
  restore();
  if (!right || right->left_out.size() > 1) return false;
  const std::optional<Steps> wrong = steps_of(with, how, arguments, line);
  return wrong && right->warps == wrong->warps;
}

}  // namespace warpbit::grid
