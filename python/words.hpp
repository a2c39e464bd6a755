// SPDX-License-Identifier: Apache-2.0
// Enumerators are words in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <iterator>  // std::size
#include <stdexcept>
#include <string>
#include <string_view>

#include "warpbit/capture.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/target.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/kernel.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::python {

/// The words of an enumeration, in the order of its enumerators, which count from 0: `words`, or where the
/// library has names for them, those up to `last`. `what` says what they are in the message that lists them.
template <class E>
struct Words;

template <>
struct Words<Kernel> {
  static constexpr const char* what = "kernel";
  static constexpr Kernel last = Kernel::avx512;
};
template <>
struct Words<Undefined> {
  static constexpr const char *what = "undefined", *words[] = {"error", "as_measured"};
};
template <>
struct Words<Rounding> {
  static constexpr const char *what = "rounding", *words[] = {"rn", "rz", "rp", "rm", "rna"};
};
template <>
struct Words<Basis> {
  static constexpr const char* what = "basis";
  static constexpr Basis last = Basis::inferred;
};
template <>
struct Words<CodeClass> {
  static constexpr const char* what = "class";
  static constexpr CodeClass last = CodeClass::nan;
};
template <>
struct Words<CaptureLayout> {
  static constexpr const char* what = "layout";
  static constexpr CaptureLayout last = CaptureLayout::digests;
};
template <>
struct Words<CaptureSource> {
  static constexpr const char* what = "source";
  static constexpr CaptureSource last = CaptureSource::model;
};
template <>
struct Words<FileStatus> {
  static constexpr const char *what = "status",
                              *words[] = {"replayed", "other_shard", "unsupported", "unreadable"};
};
template <>
struct Words<Verdict> {
  static constexpr const char* what = "verdict";
  static constexpr Verdict last = Verdict::none;
};
template <>
struct Words<Medium> {
  static constexpr const char *what = "medium",
                              *words[] = {"registers", "shared_memory", "memory", "addresses"};
};
template <>
struct Words<ExactNumber::Kind> {
  static constexpr const char *what = "kind", *words[] = {"finite", "infinity", "nan"};
};
template <>
struct Words<OperandKind> {
  static constexpr const char *what = "kind", *words[] = {"vector",  "scalar",     "immediate", "pair",
                                                          "address", "descriptor", "predicate"};
};
template <>
struct Words<Part> {
  static constexpr const char *what = "part",
                              *words[] = {"destination",     "left_factor",      "right_factor", "accumulator",
                                          "metadata",        "selector",         "left_scale",   "right_scale",
                                          "left_selector",   "right_selector",   "source",       "random_bits",
                                          "address",         "scale_d",          "left_sign",    "right_sign",
                                          "left_transposed", "right_transposed", "group_count",  "stride"};
};
template <>
struct Words<inputs::Profile> {
  static constexpr const char* what = "profile";
  static constexpr auto& words = inputs::kProfileNames;
};

template <class E>
concept HasWords = requires {
  Words<E>::what;
};

template <HasWords E>
constexpr std::size_t count_words() {
  if constexpr (requires { Words<E>::last; })
    return static_cast<std::size_t>(Words<E>::last) + 1;
  else
    return std::size(Words<E>::words);
}
/// Precondition: at < count_words<E>().
template <HasWords E>
std::string_view word(std::size_t at) {
  if constexpr (requires { Words<E>::last; })
    return name(static_cast<E>(at));
  else
    return Words<E>::words[at];
}

/// Throws warpbit.Error for a word that is none.
[[noreturn]] void refuse_word(const char* what, const std::string& seen, const std::string& accepted);

}  // namespace warpbit::python

namespace PYBIND11_NAMESPACE {
namespace detail {

template <warpbit::python::HasWords E>
class type_caster<E> {
 public:
  PYBIND11_TYPE_CASTER(E, const_name("str"));

  bool load(handle source, bool) {
    using namespace warpbit::python;
    if (!PyUnicode_Check(source.ptr())) return false;
    const auto seen = source.cast<std::string>();
    std::string accepted;
    for (std::size_t at = 0; at < count_words<E>(); ++at) {
      if (word<E>(at) == seen) {
        value = static_cast<E>(at);
        return true;
      }
      accepted.append(at > 0 ? ", " : "").append(word<E>(at));
    }
    refuse_word(Words<E>::what, seen, accepted);
  }
  static handle cast(E e, return_value_policy, handle) {
    using namespace warpbit::python;
    const auto at = static_cast<std::size_t>(e);
    if (at >= count_words<E>()) throw std::out_of_range(Words<E>::what);  // a word is missing here
    return str(word<E>(at).data(), word<E>(at).size()).release();
  }
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
