// SPDX-License-Identifier: Apache-2.0
#include "test_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace warpbit {

namespace fs = std::filesystem;

nlohmann::json PlantedMistake::json() const {
  return {{"module", module}, {"at", at}, {"length", length}, {"text", text}, {"target", target}};
}

std::optional<PlantedMistake> PlantedMistake::read(const nlohmann::json& from) {
  try {
    return PlantedMistake{from.at("module").get<std::string>(), from.at("at").get<std::size_t>(),
                          from.at("length").get<std::size_t>(), from.at("text").get<std::string>(),
                          from.at("target").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

nlohmann::json PlantedCall::json() const {
  return {{"file", file},       {"line", line}, {"call", call}, {"change", static_cast<int>(change)},
          {"operand", operand}, {"text", text}};
}

std::optional<PlantedCall> PlantedCall::read(const nlohmann::json& from) {
  try {
    return PlantedCall{from.at("file").get<std::string>(),    from.at("line").get<unsigned>(),
                       from.at("call").get<std::string>(),    static_cast<Change>(from.at("change").get<int>()),
                       from.at("operand").get<std::size_t>(), from.at("text").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

TestProcess::TestProcess(fs::path folder) : folder_(std::move(folder)) {
  std::ifstream file(folder_ / kMistake);
  if (!file) return;
  const nlohmann::json mutant = nlohmann::json::parse(file, nullptr, false);
  mistake_ = PlantedMistake::read(mutant);
  call_ = PlantedCall::read(mutant);
}

namespace {
thread_local int unwatched = 0;
}  // namespace

TestProcess::Unwatched::Unwatched() {
  ++unwatched;
}
TestProcess::Unwatched::~Unwatched() {
  --unwatched;
}

const TestProcess* TestProcess::self() {
  if (unwatched != 0) return nullptr;
  static const std::optional<TestProcess> one = [] {
    const char* const folder = std::getenv(kVariable);
    return folder == nullptr ? std::nullopt : std::optional(TestProcess(folder));
  }();
  return one ? &*one : nullptr;
}

// In one piece, as other processes and threads write there, too.
void TestProcess::write(const nlohmann::json& event) const {
  const std::string line = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const int file = ::open((folder_ / kEvents).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, line.data(), line.size());
  ::close(file);
}

void TestProcess::keep(const std::string& key, std::string_view text) const {
  std::error_code ignored;
  const fs::path to = folder_ / kModules / key;
  if (fs::exists(to, ignored)) return;
  fs::create_directories(to.parent_path(), ignored);
  const fs::path part = fmt::format("{}.{}", to.string(), ::getpid());
  std::ofstream(part, std::ios::binary) << text;
  fs::rename(part, to, ignored);
}

// FNV-1a, 64 bits.
std::string module_key(std::string_view text, std::string_view target) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const std::string_view part : {target, std::string_view("\n"), text})
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace warpbit
