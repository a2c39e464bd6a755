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
#include "warpbit/digest.hpp"
#include "warpbit/evidence.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/kernel.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::python {

/// The words of an enumeration, in the order of its enumerators, which count from 0. `what` says what they are
/// in the message that lists them.
template <class E>
struct Words;

template <>
struct Words<Kernel> {
  static constexpr const char *what = "kernel", *words[] = {"node", "scalar", "avx2", "avx512"};
};
template <>
struct Words<Undefined> {
  static constexpr const char *what = "undefined", *words[] = {"error", "as_measured"};
};
template <>
struct Words<RoundingMode> {
  static constexpr const char *what = "rounding", *words[] = {"rn", "rz", "rp", "rm", "rna"};
};
template <>
struct Words<Basis> {
  static constexpr const char *what = "basis", *words[] = {"captured", "published", "inferred"};
};
template <>
struct Words<CodeClass> {
  static constexpr const char *what = "class",
                              *words[] = {"zero", "subnormal", "normal", "integer", "infinity", "NaN"};
};
template <>
struct Words<CaptureLayout> {
  static constexpr const char *what = "layout", *words[] = {"registers", "elements", "scalars", "digests"};
};
template <>
struct Words<CaptureSource> {
  static constexpr const char *what = "source", *words[] = {"hardware", "published", "model"};
};
template <>
struct Words<FileStatus> {
  static constexpr const char *what = "status",
                              *words[] = {"replayed", "other_shard", "unsupported", "unreadable"};
};
template <>
struct Words<Verdict> {
  static constexpr const char *what = "verdict",
                              *words[] = {"correct", "mistake", "ambiguous", "partial", "none"};
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

/// Throws warpbit.Error for a word that is none.
[[noreturn]] void refuse_word(const char* what, const std::string& seen, const std::string& accepted);

/// A pybind11 caster for an enumeration with Words.
template <class E>
struct WordCaster {
  PYBIND11_TYPE_CASTER(E, pybind11::detail::const_name("str"));

  bool load(pybind11::handle source, bool) {
    if (!PyUnicode_Check(source.ptr())) return false;
    const auto seen = source.cast<std::string>();
    std::string accepted;
    int at = 0;
    for (const std::string_view word : Words<E>::words) {
      if (word == seen) {
        value = static_cast<E>(at);
        return true;
      }
      accepted.append(at++ ? ", " : "").append(word);
    }
    refuse_word(Words<E>::what, seen, accepted);
  }
  static pybind11::handle cast(E e, pybind11::return_value_policy, pybind11::handle) {
    const auto at = static_cast<std::size_t>(e);
    if (at >= std::size(Words<E>::words)) throw std::out_of_range(Words<E>::what);  // a word is missing here
    const std::string_view word = Words<E>::words[at];
    return pybind11::str(word.data(), word.size()).release();
  }
};

}  // namespace warpbit::python

namespace PYBIND11_NAMESPACE {
namespace detail {
#define WARPBIT_WORDS(E) \
  template <>            \
  struct type_caster<E> : warpbit::python::WordCaster<E> {}
WARPBIT_WORDS(warpbit::Kernel);
WARPBIT_WORDS(warpbit::Undefined);
WARPBIT_WORDS(warpbit::RoundingMode);
WARPBIT_WORDS(warpbit::Basis);
WARPBIT_WORDS(warpbit::CodeClass);
WARPBIT_WORDS(warpbit::CaptureLayout);
WARPBIT_WORDS(warpbit::CaptureSource);
WARPBIT_WORDS(warpbit::FileStatus);
WARPBIT_WORDS(warpbit::Verdict);
WARPBIT_WORDS(warpbit::Medium);
WARPBIT_WORDS(warpbit::ExactNumber::Kind);
WARPBIT_WORDS(warpbit::OperandKind);
WARPBIT_WORDS(warpbit::Part);
WARPBIT_WORDS(warpbit::inputs::Profile);
#undef WARPBIT_WORDS
}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
