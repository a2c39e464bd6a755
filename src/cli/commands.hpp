// SPDX-License-Identifier: Apache-2.0
// The commands of the tool. Exit status of each: 0 yes, 1 no, 2 could not answer; of those that run a test also 3, it launches no
// kernel.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>  // std::is_void_v
#include <utility>
#include <vector>

#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

namespace warpbit::cli {

inline constexpr int kYes = 0, kNo = 1, kNoAnswer = 2, kNoKernel = 3;

// command(name, help): all commands, in the order of the help. Hosted ones need the files or the shell of a host, which a page
// does not have.
#ifndef WARPBIT_HOSTED
#define WARPBIT_HOSTED(command, name, help) command(name, help)
#endif
// clang-format off
#define WARPBIT_COMMANDS(command) \
  WARPBIT_HOSTED(command, verify, "replay capture files and compare every element bit for bit") \
  WARPBIT_HOSTED(command, merge, "make one answer of the parts of a work that verify or compare have kept (--shard I/N " \
                                 "--part FILE)") \
  WARPBIT_HOSTED(command, diff, "compare the results in two captures of the same inputs") \
  command(check, "say whether a form or statement exists, on which targets, and why not") \
  command(list, "list what results rest on, by instruction and target: captured, published or inferred") \
  command(descriptor, "say what a matrix descriptor of wgmma reads, and what looks wrong about it (exit status 1)") \
  command(tensormap, "say what the 128 bytes of a tensor map mean, and what looks wrong about them (exit status 1)") \
  WARPBIT_HOSTED(command, pack, "copy captures, deflated; make one recording of several") \
  WARPBIT_HOSTED(command, record, "run a program and record what its GPU does: launches with their memory, products") \
  WARPBIT_HOSTED(command, arbiter, "say who is right where a GPU left other bytes than a kernel's PTX has here, of a recorded " \
                                   "launch (exit status 1 if it has other bytes)") \
  WARPBIT_HOSTED(command, diagnose, "find the mistake in a kernel that explains a wrong D, from the intended inputs and " \
                                    "that D") \
  WARPBIT_HOSTED(command, order, "find the order in which a library summed a product of matrices, from A, B and D (exit " \
                                 "status 1 if none explains D)") \
  command(format, "say what a code of a format means, which code a number becomes, what a format can represent") \
  WARPBIT_HOSTED(command, launch, "run a kernel of PTX as a grid, on arrays (exit status 1 for a fault)") \
  command(profile, "show and draw what a launch has counted, of the answer of launch --profile --json") \
  WARPBIT_HOSTED(command, debug, "run a kernel of PTX statement by statement, forwards and back, and show what it has") \
  WARPBIT_HOSTED(command, notice, "say which mistakes in a kernel a test would notice, by planting them (exit status 1 if " \
                                  "some survive)") \
  WARPBIT_HOSTED(command, findings, "run a test and say what is wrong in the kernels that it launches, for reviews of code, too " \
                                    "(exit status 1 if something is)") \
  command(run, "execute a statement on arrays of an .npz, or an instruction on matrices") \
  command(explain, "show how one element of D came about: what is added, cut and rounded (exit status 1 if " \
                   "a capture has another code there)") \
  command(compare, "show where targets, forms or orders of K differ, by how much and why (exit status 1 if they do)") \
  command(layout, "show which lane, register and bits hold each element of each operand") \
  command(where, "say where an element lies, or which elements lie in a register or byte (exit status 1 if " \
                 "none does)") \
  command(ask, "say what a line means that you hold (a form, a name, machine code, numbers), and which commands say more " \
               "(exit status 1 if it is not understood)") \
  WARPBIT_HOSTED(command, completion, "print a script that completes command lines in a shell") \
  WARPBIT_HOSTED(command, man, "print a manual page")
// clang-format on

inline constexpr std::string_view kCommands[] = {
#define WARPBIT_NAME(name, help) #name,
    WARPBIT_COMMANDS(WARPBIT_NAME)
#undef WARPBIT_NAME
};

/// add_verify(command, status), ...: gives a command its options, and a callback that leaves its exit status.
#define WARPBIT_DECLARE_COMMAND(name, help) void add_##name(CLI::App& command, int& status);
WARPBIT_COMMANDS(WARPBIT_DECLARE_COMMAND)
#undef WARPBIT_DECLARE_COMMAND

/// What the options of a command write to. When all are read, `run` answers with the exit status.
template <class Arguments>
Arguments& add_arguments(CLI::App& command, int& status, int (*run)(const Arguments&)) {
  const auto out = std::make_shared<Arguments>();
  command.callback([out, run, &status] { status = run(*out); });
  return *out;
}

/// The end of a command's help: lines that work where golden/ and examples/ are folders of warpbit's repository.
std::string examples(std::initializer_list<std::string_view> lines);

// ---- What cannot be answered

/// Thrown by a command that cannot answer. The tool prints the error, suggests forms near to `text` (as
/// suggest_forms), and ends with kNoAnswer.
struct Refusal {
  Error error;
  std::string text = {};
  std::optional<Target> target = {};
};

/// The value of a result. Throws a Refusal if there is none; `text` is the form or statement in question.
template <class T>
T required(Result<T> result, std::string_view text = {}, std::optional<Target> target = {}) {
  if (!result) throw Refusal{result.error(), std::string(text), target};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Throws a Refusal: by default of an argument.
[[noreturn]] inline void refuse(std::string where, std::string seen, std::string accepted,
                                Errc code = Errc::usage) {
  throw Refusal{{code, std::move(where), std::move(seen), std::move(accepted)}};
}

/// The documented forms that a refused form or statement is nearest to, if it is no form: on the target, if there is one.
std::vector<std::string> near_forms(const Error& error, std::string_view text, std::optional<Target> target);
/// Prints these to stderr.
void suggest_forms(const Error& error, std::string_view text, std::optional<Target> target);

}  // namespace warpbit::cli
