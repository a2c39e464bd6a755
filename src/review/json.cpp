// SPDX-License-Identifier: Apache-2.0
#include "review/json.hpp"

#include <nlohmann/json.hpp>

#include "test_process.hpp"

namespace warpbit::review {
namespace {

using nlohmann::json;

json json_of_places(const std::vector<RemarkPlace>& all) {
  json out = json::array();
  for (const RemarkPlace& one : all)
    out.push_back({{"file", one.file}, {"line", one.line}, {"column", one.column}, {"what", one.what}});
  return out;
}

std::vector<RemarkPlace> places_of(const json& from) {
  std::vector<RemarkPlace> out;
  for (const json& one : from)
    out.push_back({one.at("file").get<std::string>(), one.at("line").get<int>(), one.at("column").get<int>(),
                   one.at("what").get<std::string>()});
  return out;
}

}  // namespace

json json_of(const Remark& one) {
  return {{"rule", one.rule},
          {"sentence", one.sentence},
          {"grade", name(one.grade)},
          {"message", one.message},
          {"kernel", one.kernel},
          {"at", json_of_places(one.at)},
          {"others", json_of_places(one.others)},
          {"times", one.times}};
}

std::optional<Remark> remark_of(const json& from) {
  try {
    const std::optional<Grade> grade = find_grade(from.at("grade").get<std::string>());
    if (!grade) return std::nullopt;
    return Remark{
        from.at("rule").get<std::string>(),    from.at("sentence").get<std::string>(), *grade,
        from.at("message").get<std::string>(), from.at("kernel").get<std::string>(),   places_of(from.at("at")),
        places_of(from.at("others")),          from.at("times").get<std::uint64_t>()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace warpbit::review

namespace warpbit {

void add_remark(const Remark& one) {
  if (const TestProcess* const process = TestProcess::self())
    process->write({{"event", "remark"}, {"remark", review::json_of(one)}});
}

}  // namespace warpbit
