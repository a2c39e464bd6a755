// SPDX-License-Identifier: Apache-2.0
#include "assembler.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>  // popen
#include <filesystem>
#include <fstream>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace {

constexpr const char* kRegisters =
    ".reg .u32 %u<16>; .reg .s32 %s<16>; .reg .b32 %r<160>; .reg .f32 %f<160>; .reg .f16x2 %h<64>; "
    ".reg .f64 %d<512>; .reg .b64 %q<160>; .reg .u64 %v<16>; .reg .s64 %w<16>; .reg .b16 %c<64>; "
    ".reg .u16 %t<16>; .reg .s16 %i<16>; .reg .f16 %g<16>; .reg .b8 %y<16>; .reg .u8 %z<16>; "
    ".reg .s8 %o<16>; .reg .b128 %k<64>; .reg .pred %p<16>; .shared .align 16 .b8 tile[1024];";

struct Output {
  int status;
  std::string text;
};
Output output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no pipe");
  Output out{0, ""};
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.text.append(buffer.data(), n);
  out.status = pclose(pipe);
  return out;
}

// N of "ptxas FILE, line N; error   : ...", or 0. Not of "ptxas <macro util>, line N; ...": lines of its own text, which
// follow from errors elsewhere.
std::size_t number_of_bad_line(std::string_view message) {
  constexpr std::string_view kBefore = ", line ";
  const std::size_t at = message.find(kBefore);
  if (!message.starts_with("ptxas ") || message.starts_with("ptxas <") || at == message.npos) return 0;
  message.remove_prefix(at + kBefore.size());
  std::size_t number = 0;
  const char* const end = std::from_chars(message.data(), message.data() + message.size(), number).ptr;
  message.remove_prefix(static_cast<std::size_t>(end - message.data()));
  return message.starts_with("; error ") || message.starts_with("; fatal ") ? number : 0;
}

}  // namespace

Assembler::Assembler(std::string path) : path_("'" + std::move(path) + "'") {
  folder_ = (fs::temp_directory_path() / "ptxas_test_XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder");
  help_ = output_of(path_ + " --help").text;
  std::smatch found;
  const std::string text = output_of(path_ + " --version").text;
  version_ = std::regex_search(text, found, std::regex("V[0-9.]+")) ? found.str() : "of unknown version";
}

Assembler::~Assembler() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool Assembler::knows(std::string_view target) const {
  return help_.find(fmt::format("'{}'", target)) != help_.npos;
}

bool Assembler::reads_tables_version() {
  return knows("sm_90a") && run({}, "sm_90a").status == 0;
}

// Checks only, as `-arch compute_XX` does: no code is generated.
Assembler::Answer Assembler::run(const std::vector<std::string>& lines, const std::string& target) {
  ++runs_;
  const std::string source = folder_ + "/t.ptx",
                    first_lines = fmt::format(
                        ".version 9.0\n.target {}\n.address_size 64\n.visible .entry k(.param .u64 p){{\n{}\n",
                        target, kRegisters);
  std::ofstream file(source);
  file << first_lines;
  for (const std::string& line : lines) file << line << '\n';
  file << "ret;\n}\n";
  file.close();
  const Output out = output_of(
      fmt::format("{} -arch compute_{} '{}' -o '{}/t.cubin'", path_, target.substr(3), source, folder_));

  Answer answer{out.status, {}};
  const auto before = static_cast<std::size_t>(std::ranges::count(first_lines, '\n'));
  std::istringstream text(out.text);
  for (std::string line; std::getline(text, line);)
    if (const std::size_t number = number_of_bad_line(line); number > before && number <= before + lines.size())
      answer.bad_lines.push_back(number - before - 1);
  return answer;
}

// A syntax error ends a run, so what is still open is asked again; a failure that names no line (a crash) is
// narrowed down by halves.
void Assembler::judge(const std::vector<std::string>& lines, std::vector<std::size_t> open,
                      const std::string& target, std::vector<bool>& accepted) {
  while (!open.empty()) {
    std::vector<std::string> asked;
    for (const std::size_t i : open) asked.push_back(lines[i]);
    const Answer answer = run(asked, target);
    if (answer.status == 0) return;
    if (answer.bad_lines.empty() && open.size() == 1) {
      accepted[open[0]] = false;
      return;
    }
    if (answer.bad_lines.empty()) {
      const auto middle = open.begin() + static_cast<std::ptrdiff_t>(open.size() / 2);
      judge(lines, {open.begin(), middle}, target, accepted);
      judge(lines, {middle, open.end()}, target, accepted);
      return;
    }
    for (const std::size_t i : answer.bad_lines) accepted[open[i]] = false;
    std::erase_if(open, [&](std::size_t i) { return !accepted[i]; });
  }
}

// So few at once, because the first error in syntax ends a run, and many lines would be asked again.
constexpr std::size_t kLinesAtOnce = 1000;

std::vector<bool> Assembler::accepts(const std::vector<std::string>& lines, const std::string& target) {
  std::vector<bool> accepted(lines.size(), true);
  for (std::size_t first = 0; first < lines.size(); first += kLinesAtOnce) {
    std::vector<std::size_t> open(std::min(kLinesAtOnce, lines.size() - first));
    std::iota(open.begin(), open.end(), first);
    judge(lines, std::move(open), target, accepted);
  }
  return accepted;
}
