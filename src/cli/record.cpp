// SPDX-License-Identifier: Apache-2.0
// warpbit record: runs the script of that name, which needs nothing of this library and runs where there is a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/script.hpp"

namespace warpbit::cli {
namespace {

// The options of tools/record/record: without a value's name one has no value.
struct RecordOption {
  const char *name, *value, *help;
};
constexpr RecordOption kOptions[] = {
    {"--kernels", "REGEX", "launches of kernels alone whose name, mangled or not, has a match"},
    {"--no-kernels", "", "no launches"},
    {"--products", "REGEX", "products alone whose operation has a match: mm, addmm, bmm, ..."},
    {"--no-products", "", "no products of PyTorch"},
    {"--first", "N", "launches of each kernel's code, and products of each operation and shape; 0: all (3)"},
    {"--copies", "", "also copies to GPU memory, in it, and fills"},
    {"--all", "", "--first 0 --copies: the whole program"},
    {"--record-bytes", "SIZE", "no memory of a launch or product over this (1G)"},
    {"--bytes", "SIZE", "data files together; then nothing more is recorded (8G)"},
    {"--once", "", "do not run each launch a second time to see whether it leaves the same"},
    {"--follow", "", "also memory that words in the reachable memory point to, one step"},
    {"--opaque", "", "memory of kernels without PTX, too"},
    {"--force", "", "delete a recording that is there"},
    {"--cupti", "FILE", "libcupti.so, if it is not found"},
    {"--quiet", "", "no progress on the standard error"},
    {"--debug", "", "say what is known of each kernel"}};

struct RecordArguments {
  std::string out;
  std::vector<std::string> program;
  std::vector<std::pair<const RecordOption*, CLI::Option*>> options;
};

int record(const RecordArguments& o) {
  std::vector<std::string> words{find_script("record/record", "WARPBIT_RECORD").string(), "--out", o.out};
  for (const auto& [option, given] : o.options) {
    if (given->count() == 0) continue;
    words.emplace_back(option->name);
    if (*option->value != '\0') words.push_back(given->as<std::string>());
  }
  words.emplace_back("--");
  words.insert(words.end(), o.program.begin(), o.program.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::setenv("WARPBIT_RECORD_NAME", "warpbit record", 1);
  ::execv(argv[0], argv.data());
  refuse(words[0], std::generic_category().message(errno), "a script that can be run; it needs python3",
         Errc::file_unreadable);
}

}  // namespace

void add_record(CLI::App& command, int& status) {
  RecordArguments& o = add_arguments(command, status, record);
  command.add_option("-o,--out", o.out, "where the recording goes: a new folder, or an empty one")
      ->type_name("FOLDER")
      ->required();
  command.add_option("program", o.program, "what to run, with its arguments, behind --")->required();
  for (const RecordOption& option : kOptions) {
    CLI::Option* const added = *option.value == '\0' ? command.add_flag(option.name, option.help)
                                                     : command.add_option(option.name, option.help);
    if (*option.value != '\0') added->expected(1)->type_name(option.value);
    o.options.emplace_back(&option, added);
  }
  command.footer(
      "The program is not changed. Needs a GPU, CUPTI (a part of the CUDA toolkit and of PyTorch), python3 and, "
      "once, a C++ compiler. The exit status is the program's.\n" +
      examples({"warpbit record -o trace --force -- python3 -c 'print(\"a training step\")'",
                "warpbit record -o trace --force --kernels gemm --first 1 -- ls golden/sm_90a"}));
}

}  // namespace warpbit::cli
