// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

/// Of those that are tried unless asked: at most so many, and so many steps in all. To read a byte of PTX takes about as long.
/// For copies and products alone fewer are tried.
constexpr std::uint64_t kTried = 50, kSteps = 1'000'000, kStepsOfCopies = kSteps / 10;

/// Whether any are: where something depends on the order, or is done in the background. One warp has no other order, and a pipe
/// is read once.
bool are_tried(const std::string& file, const ptx::Launch& how, const ptx::Report& report) {
  constexpr unsigned kWarp = 32;
  const bool is_one_warp = report.blocks == 1 && how.block.x * how.block.y * how.block.z <= kWarp;
  const bool is_in_background = report.checked.copies + report.checked.products != 0;
  const bool may_matter =
      !report.order_dependent.empty() || (is_in_background && report.steps <= kStepsOfCopies);
  return may_matter && !is_one_warp && std::filesystem::is_regular_file(file);
}

bool tells_something(const ptx::Report& report) {
  const auto is_finding = [](const ptx::Finding& one) { return one.grade == Grade::finding; };
  return report.fault || std::ranges::any_of(report.findings, is_finding);
}

}  // namespace

OtherSchedules::OtherSchedules(std::optional<std::uint64_t> asked, const LaunchSetup& setup,
                               const LoadedLaunch& usual, const ptx::Report& report) {
  if (tells_something(report) || report.stopped || usual.how.schedule != 0) return;
  const std::uint64_t count = asked ? *asked : are_tried(setup.file, usual.how, report) ? kTried : 0;
  std::error_code unknown;
  const std::uint64_t bytes = std::filesystem::file_size(setup.file, unknown);
  std::uint64_t steps = report.steps;
  while (tried_ < count && !found_ && (asked || steps < kSteps)) {
    const LoadedLaunch loaded(setup);
    ptx::Launch how = loaded.how;
    how.schedule = ++tried_;
    ptx::Report other = loaded.kernel.launch(how, loaded.arguments);
    steps += other.steps + bytes;
    if (tells_something(other)) found_ = std::move(other);
    for (std::size_t i = 0; i < loaded.arrays.size() && !found_; ++i) {
      const auto &left = loaded.arrays[i].array.data, &by_usual = usual.arrays[i].array.data;
      const auto at = std::ranges::mismatch(left, by_usual).in1;
      if (at != left.end()) others_.push_back({tried_, i, static_cast<std::size_t>(at - left.begin())});
    }
  }
}

void OtherSchedules::print() const {
  if (tried_ == 0) return;
  if (found_)
    return print_fitted(fmt::format(
        "found by --schedule {}, another order of the threads; in the usual order nothing is found", tried_));
  std::string bytes = "the same bytes";
  if (!others_.empty())
    bytes = fmt::format("other bytes (--schedule {}: array {} from byte {} on)", others_.front().schedule,
                        others_.front().array + 1, others_.front().byte);
  print_fitted(
      fmt::format("{} other order{} of the threads: nothing found, {}", tried_, tried_ == 1 ? "" : "s", bytes));
}

nlohmann::ordered_json OtherSchedules::json() const {
  nlohmann::ordered_json others = nlohmann::ordered_json::array();
  for (const Other& one : others_)
    others.push_back({{"schedule", one.schedule}, {"array", one.array}, {"byte", one.byte}});
  return {{"tried", tried_},
          {"found_by", found_ ? nlohmann::ordered_json(tried_) : nullptr},
          {"other_bytes", others}};
}

}  // namespace warpbit::cli
