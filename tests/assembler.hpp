// SPDX-License-Identifier: Apache-2.0
// Asks ptxas which of many instructions it accepts: one instruction a line, errors mapped back by line number.
#pragma once

#include <string>
#include <vector>

class Assembler {
 public:
  explicit Assembler(std::string path);
  Assembler(const Assembler&) = delete;
  ~Assembler();

  /// "V13.0.88", as it says itself.
  const std::string& version() const { return version_; }
  bool knows(std::string_view target) const;
  /// True if it reads the PTX version that the tables were made with.
  bool reads_tables_version();
  /// For each line: is it accepted for the target? Registers as in spellings.tsv (tests/isa/README.md). A line
  /// that crashes the assembler is not.
  std::vector<bool> accepts(const std::vector<std::string>& lines, const std::string& target);
  int runs() const { return runs_; }

 private:
  struct Answer {
    int status;
    std::vector<std::size_t> bad_lines;
  };
  Answer run(const std::vector<std::string>& lines, const std::string& target);
  void judge(const std::vector<std::string>& lines, std::vector<std::size_t> open, const std::string& target,
             std::vector<bool>& accepted);

  std::string path_, folder_, version_, help_;
  int runs_ = 0;
};
