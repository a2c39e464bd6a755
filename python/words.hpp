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
template <class E, std::size_t N, std::size_t Count>
struct Words {
  using Enum = E;
  char what[N];
  E last;
  std::string_view own[Count];
};
template <std::size_t N, class E>
consteval Words<E, N, 1> named(const char (&what)[N], E last) {
  Words<E, N, 1> out{{}, last, {}};
  std::copy_n(what, N, out.what);
  return out;
}
template <class E, std::size_t N, std::size_t Count>
consteval Words<E, N, Count> own(const char (&what)[N], const std::string_view (&words)[Count]) {
  Words<E, N, Count> out{};
  std::copy_n(what, N, out.what);
  std::copy_n(words, Count, out.own);
  return out;
}

/// The enumerations that are bound.
template <class... W>
struct Table : W... {};
template <class... W>
Table(W...) -> Table<W...>;
inline constexpr Table kWords{
    named("kernel", Kernel::avx512),
    named("basis", Basis::inferred),
    named("class", CodeClass::nan),
    named("layout", CaptureLayout::digests),
    named("source", CaptureSource::model),
    named("verdict", Verdict::none),
    named("profile", static_cast<inputs::Profile>(std::size(inputs::kProfileNames) - 1)),
    own<Undefined>("undefined", {"error", "as_measured"}),
    own<Rounding>("rounding", {"rn", "rz", "rm", "rp", "rna"}),
    own<FileStatus>("status", {"replayed", "other_shard", "unsupported", "unreadable"}),
    own<Medium>("medium", {"registers", "shared_memory", "memory", "addresses"}),
    own<ExactNumber::Kind>("number_kind", {"finite", "infinity", "nan"}),
    own<OperandKind>("operand_kind",
                     {"vector", "scalar", "immediate", "pair", "address", "descriptor", "predicate"}),
    own<Part>("part", {"d",           "a",       "b",          "c",          "metadata",     "selector",
                       "scale_a",     "scale_b", "selector_a", "selector_b", "source",       "random_bits",
                       "address",     "scale_d", "sign_a",     "sign_b",     "transposed_a", "transposed_b",
                       "group_count", "stride"}),
};
template <class E, std::size_t N, std::size_t Count>
constexpr const Words<E, N, Count>& row_of(const Words<E, N, Count>& row) {
  return row;
}

template <class E>
concept HasWords = requires {
  row_of<E>(kWords);
};

template <HasWords E>
const std::vector<std::string_view>& words() {
  static const std::vector<std::string_view> all = [] {
    const auto& row = row_of<E>(kWords);
    std::vector<std::string_view> out;
    if constexpr (requires { name(row.last); })
      for (int i = 0; i <= static_cast<int>(row.last); ++i) out.push_back(name(static_cast<E>(i)));
    else
      out.assign(std::begin(row.own), std::end(row.own));
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
  static constexpr const auto& kRow = warpbit::python::row_of<E>(warpbit::python::kWords);

 public:
  PYBIND11_TYPE_CASTER(E, const_name("_") + const_name(kRow.what));

  bool load(handle source, bool) {
    if (!PyUnicode_Check(source.ptr())) return false;
    const auto& all = warpbit::python::words<E>();
    const auto seen = source.cast<std::string>();
    const auto at = std::find(all.begin(), all.end(), seen);
    if (at == all.end()) warpbit::python::refuse_word(kRow.what, seen, all);
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
