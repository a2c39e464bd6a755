// SPDX-License-Identifier: Apache-2.0
// Enumerators are words in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::python {

/// The words of an enumeration, in the order of its enumerators, which count from 0: those that the library has for
/// them, up to `last`, or `own`. `what` is its name in signatures, with an underscore in front, and in messages.
template <std::size_t N, class Last, std::size_t Count>
struct Words {
  char what[N];
  Last last{};
  std::string_view own[Count];
};
template <std::size_t N, class Last>
consteval auto named(const char (&what)[N], Last last) {
  Words<N, Last, 1> out{{}, last, {}};
  std::copy_n(what, N, out.what);
  return out;
}
template <std::size_t N, std::size_t Count>
consteval auto own(const char (&what)[N], const std::string_view (&words)[Count]) {
  Words<N, std::nullptr_t, Count> out{};
  std::copy_n(what, N, out.what);
  std::copy_n(words, Count, out.own);
  return out;
}

template <class E>
inline constexpr int kWords = 0;  // not bound
template <>
inline constexpr auto kWords<Kernel> = named("kernel", Kernel::avx512);
template <>
inline constexpr auto kWords<Basis> = named("basis", Basis::inferred);
template <>
inline constexpr auto kWords<CodeClass> = named("class", CodeClass::nan);
template <>
inline constexpr auto kWords<CaptureLayout> = named("layout", CaptureLayout::digests);
template <>
inline constexpr auto kWords<CaptureSource> = named("source", CaptureSource::model);
template <>
inline constexpr auto kWords<Verdict> = named("verdict", Verdict::none);
template <>
inline constexpr auto kWords<inputs::Profile> =
    named("profile", static_cast<inputs::Profile>(std::size(inputs::kProfileNames) - 1));
template <>
inline constexpr auto kWords<Undefined> = own("undefined", {"error", "as_measured"});
template <>
inline constexpr auto kWords<Rounding> = own("rounding", {"rn", "rz", "rm", "rp", "rna"});
template <>
inline constexpr auto kWords<FileStatus> = own("status",
                                               {"replayed", "other_shard", "unsupported", "unreadable"});
template <>
inline constexpr auto kWords<Medium> = own("medium", {"registers", "shared_memory", "memory", "addresses"});
template <>
inline constexpr auto kWords<ExactNumber::Kind> = own("number_kind", {"finite", "infinity", "nan"});
template <>
inline constexpr auto kWords<OperandKind> = own("operand_kind", {"vector", "scalar", "immediate", "pair",
                                                                 "address", "descriptor", "predicate"});
template <>
inline constexpr auto kWords<Part> =
    own("part", {"d",           "a",       "b",          "c",          "metadata",     "selector",
                 "scale_a",     "scale_b", "selector_a", "selector_b", "source",       "random_bits",
                 "address",     "scale_d", "sign_a",     "sign_b",     "transposed_a", "transposed_b",
                 "group_count", "stride"});

template <class E>
concept HasWords = requires {
  kWords<E>.what;
};

template <HasWords E>
const std::vector<std::string_view>& words() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> out;
    if constexpr (requires { name(kWords<E>.last); })
      for (int i = 0; i <= static_cast<int>(kWords<E>.last); ++i) out.push_back(name(static_cast<E>(i)));
    else
      out.assign(std::begin(kWords<E>.own), std::end(kWords<E>.own));
    return out;
  }();
  return all;
}

/// Throws warpbit.Error for a word that is not one of these.
[[noreturn]] void refuse_word(const char* what, const std::string& seen,
                              const std::vector<std::string_view>& accepted);

}  // namespace warpbit::python

namespace PYBIND11_NAMESPACE {
namespace detail {

template <warpbit::python::HasWords E>
class type_caster<E> {
 public:
  PYBIND11_TYPE_CASTER(E, const_name("_") + const_name(warpbit::python::kWords<E>.what));

  bool load(handle source, bool) {
    if (!PyUnicode_Check(source.ptr())) return false;
    const auto& all = warpbit::python::words<E>();
    const auto seen = source.cast<std::string>();
    const auto at = std::find(all.begin(), all.end(), seen);
    if (at == all.end()) warpbit::python::refuse_word(warpbit::python::kWords<E>.what, seen, all);
    value = static_cast<E>(at - all.begin());
    return true;
  }
  static handle cast(E e, return_value_policy, handle) {
    const std::string_view word = warpbit::python::words<E>().at(static_cast<std::size_t>(e));
    return str(word.data(), word.size()).release();
  }
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
