// SPDX-License-Identifier: Apache-2.0
// The direction of dependencies, and that the public headers name nothing that grows.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "isa/form.hpp"

namespace layers_test {

namespace fs = std::filesystem;
using Names = std::set<std::string, std::less<>>;

// The arrows of src/README.md. An include follows one or a path of them, and everyone may use `base`.
using Arrows = std::map<std::string, Names, std::less<>>;
const Arrows kArrows = {
    {"base", {}},
    // The core.
    {"numeric", {}},
    {"fragment", {}},
    {"machine", {"fragment"}},
    {"kernel", {"machine", "fragment", "numeric"}},
    {"target", {"numeric"}},
    {"isa", {"kernel", "target", "fragment", "machine", "numeric"}},
    {"format", {"numeric"}},
    {"api", {"isa", "machine", "format"}},
    {"block", {"api"}},
    {"review", {"block"}},
    {"c", {"api", "replay", "grid"}},
    // Tools.
    {"text", {}},
    {"capture", {}},
    {"probes", {"api", "capture"}},
    {"record", {"api", "capture", "probes"}},
    {"recording", {"capture", "block"}},
    {"replay", {"record", "recording", "capture", "api", "format"}},
    {"explain", {"replay", "format", "text"}},
    {"compare", {"explain", "probes"}},
    {"order", {"replay", "text"}},
    {"diagnose", {"order", "replay", "format", "review"}},
    {"layout", {"api", "capture", "text"}},
    {"run", {"replay", "format", "text"}},
    // Kernels.
    {"tensor_map", {"fragment"}},
    {"async", {"block", "tensor_map"}},
    {"device", {"async", "review"}},
    {"ptx", {"isa"}},
    {"scalar", {"ptx"}},
    {"assembler", {"scalar"}},
    {"texture", {"scalar"}},
    {"grid", {"assembler", "async", "texture", "review"}},
    // Programs.
    {"reduction", {"capture", "format", "grid"}},
    {"verify", {"replay", "recording", "order", "grid", "reduction"}},
    {"edit", {"assembler"}},
    {"arbiter", {"verify", "edit"}},
    {"notice", {"edit", "grid", "replay"}},
    {"debug", {"grid"}},
    {"profile", {"grid", "capture", "text"}},
    {"cli",
     {"debug", "profile", "notice", "arbiter", "verify", "reduction", "grid", "tensor_map", "device", "explain",
      "compare", "order", "diagnose", "layout", "run", "record"}},
};

bool reaches(const std::string& from, const std::string& to) {
  return from == to ||
         std::ranges::any_of(kArrows.at(from), [&](const auto& next) { return reaches(next, to); });
}

// The layer of each public header. A header that is not here is part of the api.
const std::map<std::string, std::string, std::less<>> kHeaders = {
    {"result", "base"},           {"warpbit", "cli"},           {"target", "target"},
    {"fragment", "fragment"},     {"swizzle", "fragment"},      {"rounding", "base"},
    {"descriptor", "fragment"},   {"state", "machine"},         {"instruction", "isa"},
    {"format", "format"},         {"capture", "capture"},       {"inputs", "capture"},
    {"philox", "capture"},        {"member", "capture"},        {"setting", "capture"},
    {"element", "capture"},       {"text", "capture"},          {"record", "probes"},
    {"replay", "replay"},         {"explain", "explain"},       {"layout", "layout"},
    {"diagnose", "diagnose"},     {"find_order", "order"},      {"catch2", "diagnose"},
    {"gmock", "diagnose"},        {"vectors", "diagnose"},      {"device", "device"},
    {"common", "device"},         {"forms", "device"},          {"host", "device"},
    {"cuda", "device"},           {"calls", "device"},          {"launch", "device"},
    {"async", "device"},          {"tensor", "device"},         {"ptx", "grid"},
    {"fault", "block"},           {"block", "block"},           {"errors", "base"},
    {"kernel_rules", "base"},     {"source", "base"},           {"letters", "base"},
    {"tensor_map", "tensor_map"}, {"tensor_memory", "machine"}, {"texture", "texture"},
    {"recording", "recording"},   {"verify", "verify"},         {"arbiter", "arbiter"},
    {"reduction", "reduction"},   {"all_reduce", "reduction"},  {"study", "compare"},
    {"notice", "notice"},         {"debug", "debug"},           {"bits", "diagnose"},
    {"review", "review"},         {"block_state", "grid"},      {"timeline", "grid"},
    {"profile", "profile"},       {"surface", "texture"},
};

// "src/isa/families/mma.cpp" -> isa, "warpbit/target.hpp" -> target, "isa/form.hpp" -> isa.
std::string layer_of(std::string path) {
  for (const std::string_view prefix : {"src/", "include/"})
    if (path.starts_with(prefix)) path.erase(0, prefix.size());
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return "base";  // src/result.cpp
  const std::string folder = path.substr(0, slash);
  if (folder != "warpbit") return folder;
  if (path.ends_with(".h")) return "c";
  const auto header = kHeaders.find(fs::path(path).stem().string());
  return header == kHeaders.end() ? "api" : header->second;
}

bool may_include(const std::string& layer, const std::string& included) {
  const std::string other = layer_of(included);
  const bool is_public = included.starts_with("warpbit/");
  if (layer == "cli" && other != "cli" && !is_public) return false;  // what a user may include, and no more
  return other == "base" || reaches(layer, other);
}

std::vector<fs::path> files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".hpp" || extension == ".cpp") out.push_back(entry.path());
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

std::string content(const fs::path& path) {
  return {std::istreambuf_iterator<char>(std::ifstream(path).rdbuf()), {}};
}

std::vector<std::string> includes(const fs::path& path) {
  static const std::regex kInclude(R"re((?:^|\n)\s*#\s*include\s*"([^"]*)")re");
  const std::string text = content(path);
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), kInclude), end; at != end; ++at)
    out.push_back((*at)[1]);
  return out;
}

TEST_CASE("includes follow the arrows", "[quick][layers]") {
  std::size_t checked = 0;
  for (const char* folder : {"src", "include"})
    for (const fs::path& path : files(folder)) {
      const std::string layer = layer_of(path.generic_string());
      INFO(path.string() << " of layer " << layer);
      REQUIRE(kArrows.contains(layer));
      for (const std::string& included : includes(path)) {
        INFO("includes " << included << " of layer " << layer_of(included));
        REQUIRE(kArrows.contains(layer_of(included)));
        CHECK((fs::exists("src/" + included) || fs::exists("include/" + included) ||
               included == "warpbit/device/forms.hpp"));  // the build makes it
        CHECK(may_include(layer, included));
        ++checked;
      }
    }
  fmt::print("layers: {} includes\n", checked);
  REQUIRE(checked >= 80);
}

TEST_CASE("warpbit.hpp includes all headers but those that its head names", "[quick][layers]") {
  const std::string text = content("include/warpbit/warpbit.hpp"),
                    head = text.substr(0, text.find("#pragma once"));
  std::size_t included = 0;
  for (const auto& entry : fs::directory_iterator("include/warpbit")) {
    const std::string name = "warpbit/" + entry.path().filename().string();
    if (entry.path().extension() != ".hpp" || name == "warpbit/warpbit.hpp") continue;
    INFO(name);
    const bool is_included = text.find("#include \"" + name + "\"") != text.npos;
    CHECK(is_included != (head.find("(" + name + ")") != head.npos));
    included += is_included;
  }
  CHECK(included >= 20);
}

// Rows of the last table of tests/README.md: promise | case, case | file.
TEST_CASE("each promise has its case", "[quick][layers]") {
  const std::string text = content("tests/README.md");
  const std::size_t begin = text.find("## Which case holds which promise");
  REQUIRE(begin != text.npos);
  static const std::regex kRow("\\n\\| [^|]* \\| ([^|]*) \\| ([^| ]*) \\|");
  const std::string rows = text.substr(begin);
  std::size_t checked = 0;
  for (std::sregex_iterator at(rows.begin(), rows.end(), kRow), end; at != end; ++at) {
    const std::string file = (*at)[2].str();
    if (file == "in") continue;
    const std::string cases = (*at)[1].str(), source = content("tests/" + file);
    INFO(file << ": " << cases);
    const bool is_python = file.ends_with(".py");
    static const std::regex kName("test_[a-z0-9_]+");
    if (!is_python) CHECK(source.find("TEST_CASE(\"" + cases + "\"") != source.npos);
    for (std::sregex_iterator name(cases.begin(), cases.end(), kName), last; is_python && name != last; ++name)
      CHECK(source.find("def " + name->str() + "(") != source.npos);
    ++checked;
  }
  CHECK(checked >= 15);
}

TEST_CASE("the arrows have no way back", "[quick][layers]") {
  for (const auto& [layer, below] : kArrows)
    for (const std::string& other : below) CHECK_FALSE(reaches(other, layer));
  CHECK(may_include("isa", "kernel/tile.hpp"));
  CHECK_FALSE(may_include("kernel", "isa/form.hpp"));
  CHECK_FALSE(may_include("capture", "warpbit/replay.hpp"));
  CHECK_FALSE(may_include("numeric", "warpbit/target.hpp"));
  CHECK_FALSE(may_include("cli", "isa/form.hpp"));
}

TEST_CASE("the Python module includes what a user may", "[quick][layers]") {
  std::size_t checked = 0;
  for (const fs::path& path : files("python"))
    for (const std::string& included : includes(path)) {
      INFO(path.string() << " includes " << included);
      const bool is_public = included.starts_with("warpbit/");
      CHECK(fs::exists(fs::path(is_public ? "include" : "python") / included));
      checked += is_public;
    }
  REQUIRE(checked >= 20);
}

TEST_CASE("the second implementation shares nothing with the first", "[quick][layers]") {
  std::size_t checked = 0;
  for (const fs::path& path : files("tests/oracle"))
    for (const std::string& included : includes(path)) {
      INFO(path.string() << " includes " << included);
      CHECK(included.find('/') == included.npos);
      CHECK(fs::exists(fs::path("tests/oracle") / included));
      ++checked;
    }
  REQUIRE(checked >= 5);
  for (const fs::path& path : files("tests/oracle"))
    CHECK(content(path).find("#include <warpbit") == std::string::npos);
}

// Names of formats, families, shapes and targets. A synonym without a digit ("half", "bit") is an English word.
Names growing_words() {
  Names out;
  const auto add = [&](std::string_view word) { out.emplace(word); };
  for (const warpbit::Format& format : warpbit::formats()) {
    if (format.name.starts_with('b') && format.bits > 1 && format.is_integer) continue;  // a register's type
    add(format.name);
    std::istringstream synonyms{std::string(format.synonyms)};
    for (std::string word; synonyms >> word;)
      if (word.find_first_of("0123456789") != word.npos) add(word);
  }
  for (const warpbit::Family& family : warpbit::families()) {
    add(family.name);
    add(family.opcode);
    for (std::size_t slot = 0; slot < family.slots.size(); ++slot)
      if (family.slots[slot].group == "shape")
        for (const warpbit::Form& form : family.forms) add(form.qualifiers[slot]);
  }
  for (const warpbit::Target target : warpbit::Target::all()) add(target.name());
  out.erase("");
  out.erase("fence");  // an English word
  return out;
}

// The wrappers of a kernel's instructions are these names; device_rows_test compares them with the tables. The types of
// tensor maps are codes of the driver, a list of its own, and what textures and surfaces store are those of CUDA. Tensor memory and descriptors belong to the instructions of one name.
bool may_name(const fs::path& path) {
  static const std::set<std::string> kNaming = {"device.hpp",     "tensor_map.hpp", "tensor_memory.hpp",
                                                "descriptor.hpp", "texture.hpp",    "surface.hpp"};
  return path.parent_path().filename() == "device" || kNaming.contains(path.filename().string());
}

/// A part of a header that may, too: from one title to another one, or to the end. Moves of fragments are answers about two
/// instructions by name; an order of sums names formats.
struct NamingPart {
  std::string_view file, from, to;
};
constexpr NamingPart kNamingParts[] = {{"execute.hpp", "// ---- tcgen05\n", ""},
                                       {"instruction.hpp", "// ---- Instruction descriptors\n", ""},
                                       {"layout.hpp", "// ---- Moves of fragments\n", ""},
                                       {"reduction.hpp", "// Sums of one array", ""},
                                       {"all_reduce.hpp", "// Sums over ranks", ""},
                                       {"gemm.hpp", "// ---- Orders of sums\n", "// ---- Products\n"}};

// The text of a header; blank where it may name what it likes.
std::string without_naming_parts(const fs::path& path) {
  std::string out = content(path);
  for (const NamingPart& part : kNamingParts) {
    if (path.filename() != part.file) continue;
    const std::size_t from = out.find(part.from);
    REQUIRE(from != out.npos);
    const std::size_t to = part.to.empty() ? out.size() : out.find(part.to);
    REQUIRE(to != out.npos);
    std::replace_if(
        out.begin() + static_cast<std::ptrdiff_t>(from), out.begin() + static_cast<std::ptrdiff_t>(to),
        [](char c) { return c != '\n'; }, ' ');
  }
  return out;
}

TEST_CASE("public headers name no format, shape, family or GPU", "[quick][layers]") {
  const Names words = growing_words();
  REQUIRE(words.size() >= 50);
  static const std::regex kWord("[A-Za-z0-9_]+");
  std::size_t checked = 0;
  std::vector<std::string> named;
  for (const fs::path& path : files("include/warpbit")) {
    if (may_name(path)) continue;
    const std::string text = without_naming_parts(path);
    for (std::sregex_iterator at(text.begin(), text.end(), kWord), end; at != end; ++at, ++checked)
      if (words.contains(at->str()))
        named.push_back(fmt::format("{}:{} {}", path.string(),
                                    1 + std::count(text.begin(), text.begin() + at->position(), '\n'),
                                    at->str()));
  }
  fmt::print("public headers: {} words against {} names\n", checked, words.size());
  REQUIRE(checked >= 1000);
  CHECK(named == std::vector<std::string>());
}

}  // namespace layers_test
