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
#include "warpbit/fragment.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/tensor_map.hpp"

namespace warpbit::python {

/// The words of an enumeration for its enumerators from 0 to `last`: `own`, or, where that says name(), what the
/// library's name() says. `what` is its name in signatures, with an underscore in front, and in messages.
template <std::size_t N, class E, std::size_t Count>
struct Words {
  using Enum = E;
  char what[N];
  E last;
  std::string_view own[Count];
};
template <std::size_t N, class E, std::size_t Count>
Words(const char (&)[N], E, const std::string_view (&)[Count]) -> Words<N, E, Count>;

/// The enumerations that are bound.
template <class... W>
struct Table : W... {};
template <class... W>
Table(W...) -> Table<W...>;
inline constexpr Table kWords{
    Words{"kernel", Kernel::neon, {"name()"}},
    Words{"basis", Basis::inferred, {"name()"}},
    Words{"class", CodeClass::nan, {"name()"}},
    Words{"layout", CaptureLayout::digests, {"name()"}},
    Words{"source", CaptureSource::model, {"name()"}},
    Words{"verdict", Verdict::none, {"name()"}},
    Words{"profile", static_cast<inputs::Profile>(std::size(inputs::kProfileNames) - 1), {"name()"}},
    Words{"tensor_map_mode", TensorMapMode::im2col, {"name()"}},
    Words{"tensor_type", TensorType::tf32_ftz, {"name()"}},
    Words{"interleave", TensorInterleave::bytes_32, {"name()"}},
    Words{"promotion", L2Promotion::bytes_256, {"name()"}},
    Words{"fill", TensorFill::nan, {"name()"}},
    Words{"cancel", ptx::Cancel::random, {"name()"}},
    Words{"awaited", ptx::Awaited::columns, {"name()"}},
    Words{"released_by", ptx::ReleasedBy::end, {"name()"}},
    Words{"undefined", Undefined::as_measured, {"error", "as_measured"}},
    Words{"rounding", Rounding::nearest_away, {"rn", "rz", "rm", "rp", "rna"}},
    Words{"status",
          FileStatus::not_reproducible,
          {"replayed", "other_shard", "unsupported", "unreadable", "fault", "not_reproducible"}},
    Words{"medium",
          Medium::tensor_memory,
          {"registers", "shared_memory", "memory", "addresses", "tensor_memory"}},
    Words{"storage_order", StorageOrder::column_major, {"row_major", "column_major"}},
    Words{"scale_order", ScaleOrder::linear, {"tiles", "linear"}},
    Words{"number_kind", ExactNumber::Kind::nan, {"finite", "infinity", "nan"}},
    Words{"operand_kind",
          OperandKind::predicate,
          {"vector", "scalar", "immediate", "pair", "address", "descriptor", "predicate"}},
    Words{"part",
          Part::stride,
          {"d",           "a",       "b",          "c",          "metadata",     "selector",
           "scale_a",     "scale_b", "selector_a", "selector_b", "source",       "random_bits",
           "address",     "scale_d", "sign_a",     "sign_b",     "transposed_a", "transposed_b",
           "group_count", "stride"}},
};
template <class E, std::size_t N, std::size_t Count>
constexpr const Words<N, E, Count>& row_of(const Words<N, E, Count>& row) {
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
#if PYBIND11_VERSION_MAJOR >= 3  // which has a caster of its own for enumerations
namespace PYBIND11_NAMESPACE {
namespace detail {
template <warpbit::python::HasWords E>
struct type_caster_enum_type_enabled<E> : std::false_type {};
}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
#endif
