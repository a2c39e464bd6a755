// SPDX-License-Identifier: Apache-2.0
// Who is right where a GPU left other bytes than its PTX has here: the PTX, the GPU, or what stands between them. Of a recorded
// launch the kernel is run again in other ways and with one statement changed, until its bytes are those of the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/recording.hpp"
#include "warpbit/result.hpp"
#include "warpbit/verify.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What a verdict says.
enum class Ruling : std::uint8_t {
  as_ptx,      ///< the GPU has the bits of the PTX
  open,        ///< the PTX leaves its results open: an order, a race, a choice of the assembler
  ptx_fault,   ///< the PTX breaks a rule
  assembler,   ///< the assembler made of it what the PTX manual does not say
  other_code,  ///< other code ran: for another target, by other rules, or with a statement that differs
  unexplained,
};
/// Its name: "as_ptx".
std::string_view name(Ruling ruling);
/// The sentence that it is: "the GPU has the bits of the PTX".
std::string_view sentence(Ruling ruling);

/// A statement of a module.
struct CodePlace {
  int line = 0;           ///< of the module's text
  std::string statement;  ///< in one line, with its guard
};

/// A way to come to the bytes of the GPU, all of them; or why they may be any.
struct Cause {
  Ruling ruling = Ruling::unexplained;
  std::string hypothesis;  ///< its name: "half-addend", "target", "literal"
  std::string sentence;    ///< "without the addend: a defect of ptxas 12.8 and 13.0"
  std::vector<CodePlace> places = {};
};

/// What was tried of one kind.
struct Tried {
  std::string hypothesis;
  std::uint64_t count = 0;
};

/// What is said of a launch.
struct Judgement {
  Ruling ruling = Ruling::unexplained;
  /// Nothing else that was tried leaves the bytes of the GPU, or breaks a rule where it matters.
  bool is_certain = false;
  std::vector<Cause> causes = {};             ///< those of the ruling first
  std::vector<std::string> differences = {};  ///< where the bytes of the GPU differ from those of the PTX here
  /// The statements that the first wrong element comes from, the last one first; then those that decide whether they run.
  std::vector<CodePlace> slice = {};
  std::vector<Tried> tried = {};
  std::vector<std::string> notes = {};  ///< what was not looked at, and why
  /// A module that shows the statement that is to blame, and what it leaves: PTX. Empty if there is none.
  std::string minimal = {};
};

/// How much to try.
struct ArbiterOptions : VerifyOptions {
  std::uint64_t tries = 20'000;  ///< changed statements at most
  /// Called with what has been tried; by one thread at a time.
  std::function<void(std::uint64_t tried)> progress = {};
};

/// The verdict on a recorded launch. Errors: those of reading the record and its data, and of loading its PTX; usage for a record
/// that is no launch, or has no PTX.
Result<Judgement> arbitrate(const Recording& recording, const Record& record,
                            const ArbiterOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
