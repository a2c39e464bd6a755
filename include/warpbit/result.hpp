// SPDX-License-Identifier: Apache-2.0
// Errors are values: every call that can refuse returns a Result. The library never prints, aborts or
// guesses. It throws only std::bad_alloc, when memory runs out, and Stopped on request (warpbit/stop.hpp).
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

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

}  // namespace warpbit
#pragma GCC visibility pop
