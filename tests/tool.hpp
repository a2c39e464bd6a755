// SPDX-License-Identifier: Apache-2.0
// Runs the command-line tool as a user does, and makes captures for it.
#pragma once

#include <sys/mman.h>  // memfd_create
#include <sys/wait.h>  // WEXITSTATUS
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>  // std::system, std::getenv, std::exit
#include <initializer_list>
#include <iostream>
#include <sstream>

#include "archive.hpp"
#include "cli/command_line.hpp"
#include "warpbit/instruction.hpp"

namespace tool {

using archive::Directory;
using archive::Members;

struct Output {
  int status;
  std::string out, err;

  std::vector<std::string> lines() const {
    std::vector<std::string> list;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) list.push_back(line);
    return list;
  }
};

inline std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

inline std::string shell_words(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& word : list) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

// A command of the shell, with this text at its standard input.
inline Output shell(const std::string& command, const std::string& input = "") {
  const Directory directory;
  std::ofstream(directory.path / "in", std::ios::binary) << input;
  const auto file = [&](const char* name) { return shell_word((directory.path / name).string()); };
  const int status =
      std::system(("{ " + command + "\n} <" + file("in") + " >" + file("out") + " 2>" + file("err")).c_str());
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), archive::bytes_of(directory.path / "out"),
          archive::bytes_of(directory.path / "err")};
}

// The first of some commands with which `probe` succeeds, or nothing.
inline std::string find_command(std::initializer_list<std::string> commands, const std::string& probe) {
  for (const std::string& command : commands)
    if (shell(command + " " + probe).status == 0) return command;
  return "";
}

// For a test whose means are missing: CTest counts it as skipped.
[[noreturn]] inline void not_run(const std::string& why) {
  std::printf("not run: %s\n", why.c_str());
  std::fflush(stdout);
  std::exit(77);
}

// What CTest names in a variable of the environment.
inline std::string named(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) FAIL(variable << " is not set");
  return value;
}

// A file without a name, of these bytes; and the bytes of one.
inline int stream_of(const std::string& bytes) {
  const int file = memfd_create("stream", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(lseek(file, 0, SEEK_SET) == 0);
  return file;
}
inline std::string taken_from(int file) {
  std::string out(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  REQUIRE(pread(file, out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()));
  close(file);
  return out;
}

// What main does for a process of its own, in a child of this one: a third of the time with sanitizers, since the child finds the tables of forms
// made, and nothing is loaded. Tests of the tool as a program (pipes, terminals, variables that a library has read) take shell().
[[noreturn]] inline void run_command(std::vector<std::string> words, const std::array<int, 3>& streams,
                                     const std::string& variable) {
  for (int i = 0; i < 3; ++i) dup2(streams[static_cast<std::size_t>(i)], i);
  if (const std::size_t at = variable.find('='); at != variable.npos)
    setenv(variable.substr(0, at).c_str(), variable.substr(at + 1).c_str(), 1);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int status = warpbit::cli::run_command_line(static_cast<int>(words.size()), pointers.data());
  std::fflush(nullptr);
  _exit(status);
}

// The commands of the tool that CTest names in WARPBIT_CLI, with these arguments and a variable of the environment: "COLUMNS=80".
inline Output run_with(const std::string& variable, const std::vector<std::string>& arguments,
                       const std::string& input = "") {
  static const std::size_t forms = warpbit::forms().size();
  REQUIRE(forms > 0);
  std::vector<std::string> words = {named("WARPBIT_CLI")};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::array<int, 3> streams = {stream_of(input), stream_of(""), stream_of("")};
  std::fflush(nullptr);
  std::cout.flush();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) run_command(words, streams, variable);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  close(streams[0]);
  Output out{WEXITSTATUS(status), taken_from(streams[1]), taken_from(streams[2])};
  INFO(out.err);
  REQUIRE(WIFEXITED(status));
  return out;
}
inline Output run(const std::vector<std::string>& arguments, const std::string& input = "") {
  return run_with("", arguments, input);
}

// 32-bit registers as the data of a member.
inline std::string words(std::size_t count, std::uint32_t value) {
  std::string out;
  for (std::size_t i = 0; i < 4 * count; ++i) out += static_cast<char>(value >> (8 * (i % 4)) & 0xFF);
  return out;
}
inline std::string registers(std::size_t cases, std::size_t count, std::uint32_t value) {
  return archive::npy(
      archive::dictionary("'<u4'", "(" + std::to_string(cases) + ", 32, " + std::to_string(count) + ")"),
      words(cases * 32 * count, value));
}

// Two cases in which all of A and B is 1 and C is 0, so that all of D is 8.
inline Members good() {
  using archive::text_npy;
  return {{"format.npy", text_npy("capture-1")},
          {"statement.npy", text_npy("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};")},
          {"target.npy", text_npy("sm_90a")},
          {"layout.npy", text_npy("registers")},
          {"source.npy", text_npy("model")},
          {"provenance.npy", text_npy("{\"program\": \"cli_test\"}")},
          {"d.npy", registers(2, 4, 0x41000000)},
          {"a.npy", registers(2, 2, 0x3C003C00)},
          {"b.npy", registers(2, 1, 0x3C003C00)},
          {"c.npy", registers(2, 4, 0)}};
}
inline constexpr std::size_t kElements = 2 * 16 * 8;

// The same with one member replaced or added; with an empty content it is left out.
inline Members with(Members members, const std::string& name, const std::string& content) {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.first == name; });
  if (content.empty())
    members.erase(found);
  else
    (found == members.end() ? members.emplace_back(name, "") : *found).second = content;
  return members;
}
inline Members with(const std::string& name, const std::string& content) {
  return with(good(), name, content);
}

inline std::string write(const archive::fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

}  // namespace tool
