// SPDX-License-Identifier: Apache-2.0
// Parts of an answer that several machines compute: --shard I/N --part FILE keeps what one of them has found, and
// `warpbit merge` makes the answer of the whole of all such files.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/replay.hpp"

namespace warpbit::cli {

/// A file is {"schema": "part/1", "warpbit": version, "command", "question", "shard": [I, N], "answer"}. Parts belong together
/// if all but the shard and the answer are equal.
struct SavedPart {
  std::string command;
  nlohmann::ordered_json question;
  Shard shard;
  nlohmann::ordered_json answer = {};
};

/// Writes a file: whoever finds it finds all of it. Refuses what cannot be written.
void write_text(const std::string& file, std::string_view text);

/// The option --part FILE. Precondition: `file` outlives the parsing.
CLI::Option* add_part(CLI::App& command, std::string& file);

/// The answer that the file has, or else that of `compute`, which is then written there: the file is whole or not there at all.
/// Refuses a file that is no such part of this question.
nlohmann::ordered_json kept(const std::string& file, SavedPart asked,
                            const std::function<nlohmann::ordered_json()>& compute);

/// All parts of one question, in the order of their numbers. Refuses files that are no parts, parts of several questions, and
/// too few of them; the same part may be there twice.
std::vector<SavedPart> read_parts(const std::vector<std::string>& files);

/// Calls read(), which takes a part's JSON apart, and refuses what is not as it is written.
template <class Read>
auto read_part(const std::string& file, const Read& read) -> decltype(read());
/// Refuses such a file.
[[noreturn]] void refuse_part(const std::string& file, const std::string& seen);

template <class Read>
auto read_part(const std::string& file, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    refuse_part(file, error.what());
  }
}

// ---- What each command makes of its parts, printed as it prints an answer of its own

struct MergeArguments {
  std::vector<std::string> files;
  bool json = false, csv = false, quiet = false, show = false;
};
int merge_verify(const MergeArguments& o, const std::vector<SavedPart>& parts);
int merge_compare(const MergeArguments& o, const std::vector<SavedPart>& parts);
int merge_order(const MergeArguments& o, const std::vector<SavedPart>& parts);

}  // namespace warpbit::cli
