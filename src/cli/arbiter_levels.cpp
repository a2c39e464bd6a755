// SPDX-License-Identifier: Apache-2.0
#include "cli/arbiter_levels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "cli/script.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "WARPBIT_LEVELS";

/// A new folder, which goes with what is in it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "warpbit-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  fs::path path;
};

// What a program prints; nullopt if it does not run, or ends with another status than 0. Its errors go where ours go.
std::optional<std::string> output_of(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends = {};
  if (::pipe(ends.data()) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer = {};
  for (ssize_t got; child > 0 && (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 1;
  if (child < 0 || ::waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return out;
}

Error no_level(std::string seen) {
  return {Errc::file_unreadable, "levels", std::move(seen),
          "a GPU that the PTX is for, and ptxas; --no-gpu leaves this out"};
}

bool is_equal(const FileReport& report) {
  return report.status == FileStatus::replayed && report.mismatches == 0;
}

// Whether the PTX has the bytes of that record.
bool is_of_ptx(const std::shared_ptr<const Recording>& recording, const std::string& name,
               const VerifyOptions& options) {
  const auto& records = recording->records();
  for (std::size_t i = 0; i < records.size(); ++i)
    if (records[i].name == name) return is_equal(verify({recording->path(), recording, i}, options));
  return false;
}

}  // namespace

bool has_gpu() {
  return std::getenv(kVariable) != nullptr || fs::exists("/dev/nvidiactl");
}

Result<std::vector<Level>> run_levels(const std::string& recording, const Record& record,
                                      const VerifyOptions& options) {
  const Folder folder;
  const std::string to = (folder.path / "levels").string();
  const std::optional<std::string> said =
      output_of({find_script("arbiter/levels", kVariable).string(), recording, record.name, "--out", to});
  if (!said) return no_level("what it says above");
  Result<Recording> opened = Recording::open(to, options.read);
  const std::shared_ptr<const Recording> left =
      opened ? std::make_shared<const Recording>(*std::move(opened)) : nullptr;
  if (left == nullptr && said->find("\"reason\"") == said->npos) return opened.error();
  std::vector<Level> out;
  std::istringstream lines(*said);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json one = nlohmann::json::parse(line, nullptr, false);
    if (!one.is_object()) return no_level(fmt::format("'{}'", line));
    Level level{one.value("name", ""), one.value("bytes", "") == "recorded"};
    level.reason = one.value("reason", "");
    if (level.reason.empty() && left != nullptr) level.is_of_ptx = is_of_ptx(left, level.name, options);
    out.push_back(std::move(level));
  }
  return out;
}

void add_levels(const std::vector<Level>& levels, Judgement& verdict) {
  std::vector<std::string_view> wrong, right;
  for (const Level& one : levels) {
    if (one.is_recorded && !one.is_of_ptx) wrong.push_back(one.name);
    if (one.is_of_ptx) right.push_back(one.name);
  }
  const bool is_open = verdict.ruling == Ruling::unexplained || verdict.ruling == Ruling::other_code;
  if (wrong.empty() || !is_open) return;
  verdict.ruling = Ruling::assembler;
  verdict.is_certain = false;
  verdict.causes.insert(
      verdict.causes.begin(),
      {Ruling::assembler, "levels",
       fmt::format("this PTX leaves the recorded bytes on this GPU as made by {}{}", fmt::join(wrong, ", "),
                   right.empty() ? std::string()
                                 : fmt::format(", and its own as made by {}", fmt::join(right, ", ")))});
}

std::vector<std::string> level_lines(const std::vector<Level>& levels) {
  std::vector<std::string> out;
  for (const Level& one : levels)
    out.push_back(one.name + ": " +
                  (!one.reason.empty()                ? one.reason
                   : one.is_recorded && one.is_of_ptx ? "the recorded bytes, which the PTX has here, too"
                   : one.is_recorded                  ? "the recorded bytes, which the PTX does not have here"
                   : one.is_of_ptx                    ? "the bytes that the PTX has here"
                                                      : "other bytes than the recorded ones and those here"));
  return out;
}

nlohmann::ordered_json levels_json(const std::vector<Level>& levels) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Level& one : levels) {
    out.push_back({{"name", one.name}, {"recorded", one.is_recorded}, {"ptx", one.is_of_ptx}});
    if (!one.reason.empty()) out.back()["reason"] = one.reason;
  }
  return out;
}

}  // namespace warpbit::cli
