// SPDX-License-Identifier: Apache-2.0
// What is promised of version 1 (doc/guide/stability.md) is still there: members of JSON, the command line, files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "json_schema.hpp"
#include "tool.hpp"
#include "warpbit/result.hpp"
#include "warpbit/verify.hpp"

namespace stable_test {

using namespace tool;
using json_schema::Json;
using Lines = std::set<std::string>;

// ---- What was promised, a line each

// Without empty lines and those that begin with '#'.
Lines promised(const std::string& file) {
  Lines out;
  std::ifstream in("tests/stable/" + file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.insert(line);
  return out;
}

Lines without(const Lines& all, const Lines& some) {
  Lines out;
  std::ranges::set_difference(all, some, std::inserter(out, out.end()));
  return out;
}

// `changed`: what to do where something must not stay as it was promised. Lines are printed as they are: Catch breaks long ones.
void check_promise(const std::string& file, const Lines& now, const std::string& changed) {
  const Lines then = promised(file), gone = without(then, now), added = without(now, then);
  CHECK(then.size() > 100);
  if (!gone.empty()) fmt::print("promised, and there no more: {}\n{}\n", changed, fmt::join(gone, "\n"));
  if (!added.empty()) fmt::print("new: add these lines to tests/stable/{}\n{}\n", file, fmt::join(added, "\n"));
  CHECK(gone.empty());
  CHECK(added.empty());
}

// ---- JSON

// "string", "array of integer", "fault|null": of what is defined its name.
std::string type_of(const Json& schema) {
  if (const std::string name = json_schema::referred(schema); !name.empty()) return name;
  if (schema.contains("const")) return schema["const"].dump();
  std::vector<std::string> types;
  for (const Json& one : schema.value("anyOf", Json::array())) types.push_back(type_of(one));
  if (!schema.contains("type")) return fmt::format("{}", fmt::join(types, "|"));
  if (schema["type"] == "array") return "array of " + type_of(schema.at("items"));
  if (schema["type"].is_string()) return schema["type"];
  return fmt::format("{}", fmt::join(schema["type"].get<std::vector<std::string>>(), "|"));
}

// "file.path string required", "file.status = fault" for each word, "range_with_floor has range" of what it extends.
void add_members(const Json& schema, const std::string& path, Lines& out) {
  for (const Json& word : schema.value("enum", Json::array()))
    if (!word.is_null()) out.insert(fmt::format("{} = {}", path, word.get<std::string>()));
  for (const Json& base : schema.value("allOf", Json::array()))
    out.insert(fmt::format("{} has {}", path, type_of(base)));
  const Json members = schema.value("properties", Json::object()),
             required = schema.value("required", Json::array());
  for (const auto& [member, of] : members.items()) {
    const bool is_required = std::ranges::find(required, Json(member)) != required.end();
    const std::string deeper = fmt::format("{}.{}", path, member);
    out.insert(fmt::format("{} {} {}", deeper, type_of(of), is_required ? "required" : "optional"));
    add_members(of, deeper, out);
  }
  if (schema.contains("items")) add_members(schema["items"], path + "[]", out);
  if (!schema.contains("additionalProperties")) return;
  out.insert(fmt::format("{}.* {}", path, type_of(schema["additionalProperties"])));
  add_members(schema["additionalProperties"], path + ".*", out);
}

TEST_CASE("members of JSON are only added", "[quick][cli]") {
  Lines now;
  for (const std::string& name : json_schema::names()) {
    const Json schema = json_schema::read(name);
    REQUIRE(schema.is_object());
    add_members(schema, name, now);
    const std::vector<std::string> shapes = json_schema::shapes(schema);
    const Json definitions = schema.value("definitions", Json::object());
    for (const auto& [word, definition] : definitions.items()) {
      const bool is_shape = std::ranges::find(shapes, word) != shapes.end();
      add_members(definition, is_shape ? fmt::format("{} {}", name, word) : word, now);
    }
  }
  check_promise("json.txt", now,
                "keep it. A member that another name, type or meaning must have belongs to the next number, "
                "COMMAND/2, with a file of its own in schemas/");
}

// A member is described where it stands, or by what it is of.
void check_described(const Json& root, const Json& schema, const std::string& path) {
  const Json members = schema.value("properties", Json::object());
  for (const auto& [name, member] : members.items()) {
    INFO(path << "." << name);
    CHECK((member.contains("description") || member.contains("const") ||
           json_schema::resolved(root, member).contains("description")));
    check_described(root, member, path + "." + name);
  }
  if (schema.contains("items")) check_described(root, schema["items"], path + "[]");
}

TEST_CASE("schemas are complete, and have each definition once", "[quick][cli]") {
  std::map<std::string, Json> all;
  for (const std::string& name : json_schema::names()) {
    INFO(name);
    const Json root = json_schema::read(name);
    std::string id = "urn:warpbit:schema:" + name;
    std::ranges::replace(id, '/', '-');
    CHECK(root["$schema"] == "http://json-schema.org/draft-07/schema#");
    CHECK(root["$id"] == id);
    CHECK(root.contains("title"));
    check_described(root, root, name);
    const std::vector<std::string> shapes = json_schema::shapes(root);
    const Json definitions = root.value("definitions", Json::object());
    for (const auto& [word, definition] : definitions.items()) {
      check_described(root, definition, word);
      if (std::ranges::find(shapes, word) != shapes.end()) continue;
      INFO(word << " is another thing in another file");
      CHECK(all.try_emplace(word, definition).first->second == definition);
    }
  }
  Lines errors, rules;
#define WARPBIT_ERROR(code, kind, sentence) errors.emplace(#code);
#include "warpbit/detail/errors.inc"
#undef WARPBIT_ERROR
  for (const warpbit::KernelRuleInfo& rule : warpbit::kernel_rules()) rules.emplace(rule.name);
  CHECK(all.at("error_code")["enum"].get<Lines>() == errors);
  CHECK(all.at("rule")["enum"].get<Lines>() == rules);
}

// ---- The command line

// "check --target TARGET", "check --json", "check form once": each name of an option, and what stands without one.
void add_option(const std::string& command, const CLI::Option& option, Lines& out) {
  namespace cli = warpbit::cli;
  const bool is_repeated = option.get_items_expected_max() > 1;
  const std::string word = cli::takes_value(option) ? cli::value_word(option) : "";
  const bool is_list = word.find('|') != word.npos;
  const auto add = [&](const std::string& name, const std::string& kind) {
    out.insert(fmt::format("{} {}{}{}", command, name, kind, option.get_required() ? " required" : ""));
    std::istringstream words(is_list ? word : "");
    for (std::string one; std::getline(words, one, '|');)
      out.insert(fmt::format("{} {} = {}", command, name, one));
  };
  if (option.get_positional()) add(cli::name_of(option), is_repeated ? " ..." : " once");
  const std::string kind =
      fmt::format("{}{}{}", word.empty() ? "" : " ", is_list ? "WORD" : word, is_repeated ? " ..." : "");
  for (const std::string& name : option.get_snames()) add("-" + name, kind);
  for (const std::string& name : option.get_lnames()) add("--" + name, kind);
}

TEST_CASE("commands and options are only added", "[quick][cli]") {
  CLI::App app("", "warpbit");
  int status = 0;
#define WARPBIT_ADD(name, help) warpbit::cli::add_##name(*app.add_subcommand(#name, help), status);
  WARPBIT_COMMANDS(WARPBIT_ADD)
#undef WARPBIT_ADD
  Lines now;
  for (const CLI::App* command : warpbit::cli::commands_of(app)) {
    now.insert(command->get_name());
    for (const bool positional : {false, true})
      for (const CLI::Option* option : warpbit::cli::options_of(*command, positional))
        add_option(command->get_name(), *option, now);
  }
  check_promise("command_line.txt", now,
                "keep it, beside what is new. Only a new first number of the version may take a name away");
  CHECK((warpbit::cli::kYes == 0 && warpbit::cli::kNo == 1 && warpbit::cli::kNoAnswer == 2));
}

// ---- Files

// What was written in the first format of captures and recordings is read, and leaves what it did.
struct Written {
  std::string path;
  std::uint64_t files, cases, elements, mismatches;
};
const Written kWritten[] = {
    // A capture of each layout: registers of 2 cases, 32 lanes with two halves each; a scalar each; dot products, an element each;
    // and 16 digests of 4096 conversions.
    {"golden/sm_90a/movmatrix/movmatrix_sync_aligned_m8n8_trans_b16.npz", 1, 2, 2 * 32 * 2, 0},
    {"golden/sm_90a/cvt/cvt_bf16_bf16.npz", 1, 1024, 1024, 0},
    {"golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.probes.npz", 1, 4, 4, 0},
    {"golden-digests/sm_90a/cvt/cvt_bf16_bf16.exhaustive.digests.npz", 1, 16 * 4096, 16 * 4096, 0},
    // A recording in an archive: of y, z, words, flags and the counter it has the bytes that the launch left.
    {"golden/kernels/scan.zip", 1, 1, 5348 + 5348 + 88 + 132 + 4, 0},
    // One in a folder: five launches, of 513 words each. By defects of the assembler three left other bytes.
    {"examples/recordings/assembler", 5, 5, 5 * 4 * 513, 354 + 256 + 852},
};

TEST_CASE("files of the first formats are read for ever", "[quick]") {
  for (const Written& one : kWritten) {
    INFO(one.path);
    warpbit::ReplayTotals totals;
    const std::vector<std::filesystem::path> paths = {one.path};
    for (const warpbit::FileReport& report : warpbit::verify_all(warpbit::find_verifiable(paths)))
      totals.add(report);
    CHECK(totals.files == one.files);
    CHECK(totals.cases == one.cases);
    CHECK(totals.elements == one.elements);
    CHECK(totals.mismatches == one.mismatches);
    CHECK(totals.unsupported + totals.unreadable == 0);
  }
}

TEST_CASE("a file of a later format is refused, and says so", "[quick]") {
  const Directory directory;
  const auto refusal = [&](const std::string& name, const std::string& content) {
    const Output output = run({"verify", write(directory.path / name, content)});
    CHECK(output.status == 2);
    return output.out;
  };
  CHECK_THAT(refusal("new.npz", archive::zip_of(with("format.npy", archive::text_npy("capture-2")))),
             Catch::Contains("it is 'capture-2'; expected 'capture-1'"));
  CHECK_THAT(refusal("new.jsonl",
                     R"({"format": "recording-2", "target": "sm_90a", "source": "model", "program": "a test"})"
                     "\n"),
             Catch::Contains("line 1: 'format': 'recording-2'; expected 'recording-1'"));
}

}  // namespace stable_test
