// SPDX-License-Identifier: Apache-2.0
// warpbit/notice.hpp: what is wrong in the launches of a test
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "function_name.hpp"
#include "notice/command.hpp"
#include "notice/events.hpp"
#include "review/json.hpp"
#include "warpbit/notice.hpp"

namespace warpbit {

bool FindingsReport::has_findings() const {
  return std::ranges::any_of(remarks, [](const Remark& one) { return one.grade >= Grade::finding; });
}

namespace {

void collect(const std::vector<nlohmann::json>& events, FindingsReport& out) {
  std::set<std::string> kernels;
  for (const nlohmann::json& one : events) {
    if (noticing::is_event(one, "source")) ++out.source_launches;
    if (noticing::is_event(one, "launch")) {
      ++out.launches;
      kernels.insert(function_name(one.value("kernel", "")));
    }
    if (!noticing::is_event(one, "remark")) continue;
    if (std::optional<Remark> remark = review::remark_of(one.value("remark", nlohmann::json())))
      out.remarks.push_back(*std::move(remark));
  }
  out.kernels.assign(kernels.begin(), kernels.end());
  out.remarks = merged(std::move(out.remarks));
  // What is worst first, and else as it came.
  std::ranges::stable_sort(out.remarks, std::greater(), &Remark::grade);
}

}  // namespace

Result<FindingsReport> findings(std::span<const std::string> command, bool shows) {
  if (std::optional<Error> refused = noticing::check_command(command, "findings")) return *std::move(refused);
  const noticing::Folder folder;
  if (folder.path().empty())
    return Error{Errc::file_unreadable, "the folder for temporary files", "it cannot be written",
                 "one that can"};
  FindingsReport out;
  const noticing::Ended ended =
      noticing::run_command(command, folder.path(), {.first_failure = false, .limit = 0, .shows = shows});
  out.status = ended.status;
  out.seconds = ended.seconds;
  if (!shows) out.output = noticing::end_of_output(folder.path());
  if (ended.how == noticing::Ended::How::not_found) {
    out.state = FindingsReport::State::not_run;
    return out;
  }
  collect(noticing::events_of(folder.path()), out);
  if (out.launches + out.source_launches == 0 && out.remarks.empty())
    out.state = FindingsReport::State::no_kernel;
  return out;
}

}  // namespace warpbit
