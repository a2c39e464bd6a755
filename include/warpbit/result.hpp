// SPDX-License-Identifier: Apache-2.0
// Errors are values: every call that can refuse returns a Result. The library never prints, aborts or
// guesses. It throws only std::bad_alloc, when memory runs out, and Stopped on request (warpbit/result.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// The version of these headers. Before 1.0 a new minor version may change the C++ interface and the soname's
// symbols; a new patch version changes neither. Any version may correct results that hardware proves wrong;
// CHANGELOG.md names each such change.
/// "major.minor.patch", and its parts. CMake reads the text from this line.
#define WARPBIT_VERSION_TEXT  "1.0.0"
#define WARPBIT_VERSION_MAJOR 1
#define WARPBIT_VERSION_MINOR 0
#define WARPBIT_VERSION_PATCH 0

#pragma GCC visibility push(default)
namespace warpbit {

/// The kind of an error. Each code has exactly one message template (warpbit/detail/errors.inc), which
/// Error::message fills.
enum class Errc {
#define WARPBIT_ERROR(code, kind, sentence) code,
#include "warpbit/detail/errors.inc"
#undef WARPBIT_ERROR
};

/// A refusal: what was seen, where, and what is accepted there. Any of the three may be empty if the code's
/// template does not use it.
struct Error {
  Errc code;
  std::string where;
  std::string seen;
  std::string accepted;

  /// One sentence without a trailing full stop or newline, for a person.
  std::string message() const;
};

/// The name of a code, spelled as it is, for machine-readable reports.
std::string_view name(Errc code);

/// The subject of an error; the C interface's statuses (warpbit_status).
enum class ErrorKind {
  statement,  ///< the text, the form or the target
  execution,  ///< operands, lanes, kernels, unknown arithmetic
  memory,     ///< addresses and descriptors
  file,       ///< capture files
  usage,      ///< an argument
};
ErrorKind kind(Errc code);

/// A value of type T, or the Error that explains its absence. Result<void>{} is success without a value.
template <class T>
class [[nodiscard]] Result {
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  Result() requires std::is_void_v<T> {}
  Result(Value value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// True if there is a value.
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value. Precondition: ok().
  Value& value() & { return std::get<0>(state_); }
  const Value& value() const& { return std::get<0>(state_); }
  Value value() && { return std::get<0>(std::move(state_)); }
  Value* operator->() { return &value(); }
  const Value* operator->() const { return &value(); }
  Value& operator*() & { return value(); }
  const Value& operator*() const& { return value(); }
  Value operator*() && { return std::move(*this).value(); }

  /// The error. Precondition: !ok().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<Value, Error> state_;
};

// ---- Ending long calls early

/// Thrown by a call that is ended early.
struct Stopped {};

/// While it lives, this library's calls from its thread end soon after `stop` becomes true: they throw
/// Stopped, and their output is invalid unless they were done. The Stoppables of one thread must be destroyed
/// in the reverse order.
class Stoppable {
 public:
  explicit Stoppable(const std::atomic<bool>& stop) : Stoppable(&stop) {}
  /// With nullptr nothing ends early.
  explicit Stoppable(const std::atomic<bool>* stop);
  ~Stoppable();
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;

 private:
  const std::atomic<bool>* before_;
};

// ---- Kernels of the arithmetic
//
// Kernels: implementations of the arithmetic, one for each vector extension. All compute the same bits.

/// Of one architecture from the slowest to the fastest. Numbers stay what they are.
enum class Kernel {
  reference,  ///< the specification, element by element (src/numeric/node.hpp)
  scalar,     ///< the fast kernel for any processor
  avx2,       ///< for AVX2, FMA and F16C
  avx512,     ///< for AVX-512 F, BW, DQ, VL and VNNI
  neon,       ///< for 64-bit Arm, all of whose processors have these vectors of 128 bits
};

/// "reference", "scalar", "avx2", "avx512", "neon".
std::string_view name(Kernel kernel);

/// The kernels that this processor can run, in the order of the enumeration; never empty.
std::vector<Kernel> kernels();

/// The kernel named by the environment variable WARPBIT_KERNEL, or the last of kernels(). The variable is
/// read once. Errors: no_such_kernel if the name is unknown or this processor cannot run that kernel.
Result<Kernel> chosen_kernel();

// ---- The rules of kernels
//
// The rules that a kernel must keep, and what a launch does where one is broken.

/// What follows from a broken rule.
enum class Grade : std::uint8_t {
  silent,   ///< nothing: the launch goes on
  note,     ///< the launch goes on, and its report tells it as something to know
  finding,  ///< the launch goes on, and its report tells it as a mistake
  fault,    ///< the launch ends
};
std::string_view name(Grade grade);
/// Nothing for another name.
std::optional<Grade> find_grade(std::string_view name);

/// A rule of the table; `none` is the rule of a fault behind which nothing can go on, in no kind of launch.
enum class KernelRule : std::uint8_t {
  none,
#define WARPBIT_KERNEL_RULE(name, ...) name,
#include "warpbit/detail/kernel_rules.inc"
#undef WARPBIT_KERNEL_RULE
};

/// How many there are, with `none`.
inline constexpr std::size_t kKernelRules = 1
#define WARPBIT_KERNEL_RULE(...) +1
#include "warpbit/detail/kernel_rules.inc"
#undef WARPBIT_KERNEL_RULE
    ;

/// A row of the table.
struct KernelRuleInfo {
  KernelRule rule;
  std::string_view name;      ///< as in "data_race"
  Grade by_default, strict;   ///< of a launch, and of one with `strict`
  Grade in_source;            ///< of a kernel in source (warpbit/device.hpp), whose launch reports faults alone
  std::string_view says;      ///< what a kernel must do
  std::string_view manual;    ///< the section of the PTX manual
  std::string_view reason;    ///< why it has this grade
  std::string_view hardware;  ///< what GPUs did with kernels that break it; empty: nothing is known
};

/// The table, but for `none`.
std::span<const KernelRuleInfo> kernel_rules();
/// Its row; nullptr for `none`.
const KernelRuleInfo* find_info(KernelRule rule);
/// "none" for none.
std::string_view name(KernelRule rule);
/// Nothing for another name.
std::optional<KernelRule> find_kernel_rule(std::string_view name);

}  // namespace warpbit
#pragma GCC visibility pop
