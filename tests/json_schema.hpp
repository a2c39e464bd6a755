// SPDX-License-Identifier: Apache-2.0
// The files of schemas/, as valijson reads them, and stricter: what a test must find is more than what users may rely on.
//
//     published  {"properties": {"a": ...}}                                  takes {"a": 1, "new": 2}
//     closed     {"properties": {"a": ...}, "additionalProperties": false}   does not
//
// Objects are closed where they stand, with what they extend: a definition itself stays open, for others may extend it, too.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#include <vector>

namespace json_schema {

using Json = nlohmann::ordered_json;

/// "verify/1" -> what schemas/verify-1.json has.
inline Json read(const std::string& name) {
  std::string file = name;
  std::ranges::replace(file, '/', '-');
  std::ifstream in("schemas/" + file + ".json");
  return Json::parse(in, nullptr, false);
}

/// The names of all files: "verify/1".
inline std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("schemas")) {
    out.push_back(entry.path().stem().string());
    out.back()[out.back().rfind('-')] = '/';
  }
  std::ranges::sort(out);
  return out;
}

/// "#/definitions/error" -> "error"; empty if it is no reference.
inline std::string referred(const Json& schema) {
  const std::string text = schema.is_object() ? schema.value("$ref", "") : "";
  return text.substr(std::min(text.size(), std::string_view("#/definitions/").size()));
}
inline const Json& resolved(const Json& root, const Json& schema) {
  const std::string name = referred(schema);
  return name.empty() ? schema : root.at("definitions").at(name);
}

/// The definitions of which an answer is one; of a schema with one shape none.
inline std::vector<std::string> shapes(const Json& root) {
  std::vector<std::string> out;
  for (const Json& one : root.value("anyOf", Json::array())) out.push_back(referred(one));
  return out;
}

/// All members that an object of the schema may have.
inline std::set<std::string> members(const Json& root, const Json& schema) {
  std::set<std::string> out;
  for (const Json& base : schema.value("allOf", Json::array())) out.merge(members(root, base));
  if (!referred(schema).empty()) out.merge(members(root, resolved(root, schema)));
  const Json own = schema.value("properties", Json::object());
  for (const auto& [name, member] : own.items()) out.insert(name);
  return out;
}

Json closed(const Json& root, const Json& schema);

/// The same where others may extend it: its members are closed, it is not.
inline Json closed_within(const Json& root, const Json& schema) {
  Json out = schema;
  for (const char* const of_each : {"properties", "definitions"})
    if (out.contains(of_each))
      for (auto& [name, member] : out[of_each].items())
        member = of_each[0] == 'p' ? closed(root, member) : closed_within(root, member);
  for (const char* const list : {"anyOf", "allOf"})
    if (out.contains(list))
      for (Json& one : out[list]) one = list[1] == 'n' ? closed(root, one) : closed_within(root, one);
  for (const char* const one : {"items", "additionalProperties"})
    if (out.contains(one)) out[one] = closed(root, out[one]);
  return out;
}
inline Json closed(const Json& root, const Json& schema) {
  const std::set<std::string> all = members(root, schema);
  Json out = closed_within(root, schema);
  if (all.empty()) return out;
  if (!referred(schema).empty()) out = {{"allOf", Json::array({{{"$ref", out["$ref"]}}})}};
  for (const std::string& name : all)
    if (Json& own = out["properties"]; !own.contains(name)) own[name] = Json::object();
  out["additionalProperties"] = false;
  return out;
}

/// Why the object is not of the schema, a line each; empty if it is. valijson asks a definition by its name.
inline std::vector<std::string> refusals(const Json& schema, const Json& object) {
  const nlohmann::json of_schema = schema, of_object = object;
  valijson::Schema read;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(of_schema), read);
  valijson::ValidationResults results;
  const bool is_one =
      valijson::Validator().validate(read, valijson::adapters::NlohmannJsonAdapter(of_object), &results);
  std::vector<std::string> out;
  if (!is_one && results.numErrors() == 0) out.emplace_back("refused");
  for (valijson::ValidationResults::Error error; results.popError(error);)
    out.push_back(fmt::format("{}: {}", fmt::join(error.context, ""), error.description));
  return out;
}

/// What an answer is compared with: the shapes of a schema, closed; "whole" where it has one.
struct Closed {
  explicit Closed(const Json& root) : shapes(json_schema::shapes(root)), whole(closed(root, root)) {
    if (shapes.empty()) shapes = {"whole"};
  }

  /// Those that the object is of. `why` is what the nearest one refuses.
  std::vector<std::string> shapes_of(const Json& object, std::vector<std::string>& why) const {
    std::vector<std::string> out;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Json one = whole;
      if (one.contains("anyOf")) one.update(Json(one["anyOf"][i])), one.erase("anyOf");
      const std::vector<std::string> refused = refusals(one, object);
      if (refused.empty()) out.push_back(shapes[i]);
      if (refused.size() < least) why = refused, least = refused.size();
    }
    return out;
  }

  std::vector<std::string> shapes;
  Json whole;
};

}  // namespace json_schema
