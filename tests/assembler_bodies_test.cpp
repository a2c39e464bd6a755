// SPDX-License-Identifier: Apache-2.0
// Bodies of a kernel leave what an H100 left of them, as ptxas -O0 and -O3 assembled them (golden-digests/assembler): rules of
// the assembler, statements that none changes, and its defects. These leave at -O3 what they leave at -O0, and have a note.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "../tools/random/launch.hpp"

namespace assembler_bodies_test {

using namespace warpbit;
using random_kernels::Words;

const std::string kFolder = "golden-digests/assembler/";

std::ifstream opened(const std::string& name) {
  std::ifstream file(kFolder + name);
  INFO(name);
  REQUIRE(file);
  return file;
}

/// The cells of the lines behind the heading.
std::vector<std::vector<std::string>> table(const std::string& name) {
  std::ifstream file = opened(name);
  std::vector<std::vector<std::string>> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("body\t")) continue;
    std::istringstream cells(line);
    std::vector<std::string>& row = out.emplace_back();
    for (std::string cell; std::getline(cells, cell, '\t');) row.push_back(cell);
  }
  return out;
}

std::string kernel_with(const std::string& body) {
  std::stringstream text;
  text << opened("kernel.ptx").rdbuf();
  std::string out = text.str();
  return out.replace(out.find("BODY"), 4, body);
}

Words inputs() {
  std::ifstream file = opened("inputs.txt");
  Words out;
  for (std::uint32_t word; file >> std::hex >> word;) out.push_back(word);
  REQUIRE(out.size() == 256);
  return out;
}

class Body {
 public:
  Body(std::string defect, const std::string& text) : defect_(std::move(defect)) {
    const Result<ptx::Module> module = ptx::Module::load(kernel_with(text));
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function("k");
    if (!function) FAIL(function.error().message());
    function_ = *function;
    for (const ptx::AssemblerNote& note : module->notes()) defects_.insert(note.defect);
  }

  bool is_wrong() const { return defect_ != "-"; }
  std::set<std::string> expected() const { return is_wrong() ? std::set{defect_} : std::set<std::string>{}; }
  /// That the module has notes of.
  const std::set<std::string>& defects() const { return defects_; }

  /// The digest of what it leaves.
  std::string run(std::uint32_t constant, bool as_written) const {
    const Words in = inputs(), constants = {constant};
    Words out(in.size());
    ptx::Launch how;
    how.block = {static_cast<unsigned>(in.size())};
    how.as_written = as_written;
    const ptx::Report report =
        function_->launch(how, {ptx::buffer(in), ptx::buffer(constants), ptx::buffer(out)});
    if (report.fault) FAIL(report.fault->message());
    CHECK(report.notes.empty() == (as_written || !is_wrong()));
    return random_kernels::text_of(random_kernels::digest(out));
  }

 private:
  std::string defect_;
  std::set<std::string> defects_;
  std::optional<ptx::Function> function_;
};

TEST_CASE("bodies leave what an H100 left at -O0 and -O3, but for the defects that their notes name") {
  std::map<std::string, Body> bodies;
  for (const auto& row : table("bodies.tsv")) {
    REQUIRE(row.size() == 3);
    const Body& body = bodies.try_emplace(row[0], row[1], row[2]).first->second;
    INFO(row[0]);
    CHECK(body.defects() == body.expected());
  }
  CHECK(bodies.size() == 37);
  std::map<std::string, int> launches;
  int changed = 0;
  for (const auto& row : table("sm_90a.tsv")) {
    REQUIRE(row.size() == 4);
    INFO(row[0] << ", " << row[1]);
    const Body& body = bodies.at(row[0]);
    const auto constant = static_cast<std::uint32_t>(std::stoul(row[1]));
    const std::string &written = row[2], &assembled = row[3] == "=" ? written : row[3];
    CHECK(body.run(constant, true) == written);
    CHECK(body.run(constant, false) == (body.is_wrong() ? written : assembled));
    if (body.is_wrong()) CHECK(assembled != written);
    changed += !body.is_wrong() && assembled != written;
    ++launches[row[0]];
  }
  CHECK(launches.size() == bodies.size());
  for (const auto& [name, count] : launches) CHECK(count == 3);
  CHECK(changed > 0);
}

}  // namespace assembler_bodies_test
