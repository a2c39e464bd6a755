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

/// The definitions of which an answer is one; empty if all answers are alike.
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

/// One of the shapes of a schema, closed: "whole" where all answers are alike.
inline Json closed_shape(const Json& root, const std::string& shape) {
  Json out = closed(root, root);
  const std::vector<std::string> all = shapes(root);
  const auto at = std::ranges::find(all, shape);
  if (at == all.end()) return out;
  const Json one = out["anyOf"][static_cast<std::size_t>(at - all.begin())];
  out.erase("anyOf");
  out.update(one);
  return out;
}

}  // namespace json_schema
