// SPDX-License-Identifier: Apache-2.0
#include "cli/review.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/parts.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

ordered_json remark_places_json(const std::vector<RemarkPlace>& places) {
  ordered_json out = ordered_json::array();
  for (const RemarkPlace& one : places)
    out.push_back({{"file", one.file}, {"line", one.line}, {"column", one.column}, {"what", one.what}});
  return out;
}

}  // namespace

void add_review(CLI::App& command, ReviewOutput& output, CLI::Option* json) {
  command.add_option("--sarif", output.sarif, "also write what is found as SARIF 2.1.0, for reviews of code")
      ->type_name("FILE");
  command
      .add_flag("--annotations", output.annotations,
                "also print what is found as annotations of GitHub Actions, which mark lines of a pull request")
      ->excludes(json);
}

void write_review(const ReviewOutput& output, std::vector<Remark> remarks) {
  if (!output.is_wanted()) return;
  const std::vector<Remark> all = merged(std::move(remarks));
  const std::filesystem::path root = review_root();
  if (!output.sarif.empty()) write_text(output.sarif, sarif(all, root));
  if (output.annotations) fmt::print("{}", annotations(all, root));
}

ordered_json remarks_json(const std::vector<Remark>& remarks) {
  ordered_json out = ordered_json::array();
  for (const Remark& one : remarks)
    out.push_back({{"rule", one.rule},
                   {"sentence", one.sentence},
                   {"grade", name(one.grade)},
                   {"message", one.message},
                   {"kernel", one.kernel},
                   {"at", remark_places_json(one.at)},
                   {"others", remark_places_json(one.others)},
                   {"times", one.times}});
  return out;
}

}  // namespace warpbit::cli
