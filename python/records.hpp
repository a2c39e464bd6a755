// SPDX-License-Identifier: Apache-2.0
// Structures of results as classes of Python: their members are attributes to read, they are pickled member by
// member, and equal if all members are.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "module.hpp"

namespace warpbit::python {

template <class T, class M>
struct Field {
  const char* name;
  M T::*member;
  const char* doc;
};
template <class T, class M>
Field<T, M> field(const char* name, M T::*member, const char* doc) {
  return {name, member, doc};
}

/// Text that is never freed: names in results are views of tables, and these come from a pickle.
inline std::string_view interned(std::string text) {
  static auto& all = *new std::set<std::string, std::less<>>;  // guarded by the GIL
  return *all.insert(std::move(text)).first;
}

template <class M>
M from_python(const py::handle& object) {
  if constexpr (std::is_same_v<M, std::string_view>)
    return interned(object.cast<std::string>());
  else
    return object.cast<M>();
}

/// The members in a tuple.
template <class T, class... M>
py::tuple state_of(const T& object, const std::tuple<Field<T, M>...>& fields) {
  return std::apply([&](const auto&... f) { return py::make_tuple(py::cast(object.*f.member)...); }, fields);
}

/// Defines a class with attributes, __eq__, __repr__ and pickling. Precondition: the classes of the members are defined.
template <class T, class... M>
py::class_<T> add_record(py::module_& m, const char* name, const char* doc, const Field<T, M>&... fields) {
  py::class_<T> c(m, name, doc);
  const std::tuple<Field<T, M>...> all(fields...);
  (c.def_property_readonly(
       fields.name, [f = fields](const T& object) -> M { return object.*f.member; }, fields.doc),
   ...);
  add_equality(c, [all](const T& x, const T& y) { return state_of(x, all).equal(state_of(y, all)); });
  c.def("__repr__", [all](const py::object& self) {
    std::string out = py::type::handle_of(self).attr("__name__").cast<std::string>();
    std::apply(
        [&](const auto&... f) {
          const char* between = "(";
          ((out += between + std::string(f.name) + "=" +
                   py::repr(py::cast(self.cast<const T&>().*f.member)).template cast<std::string>(),
            between = ", "),
           ...);
        },
        all);
    return out + ")";
  });
  c.def(py::pickle(
      [all](const T& object) { return state_of(object, all); },
      [all](const py::tuple& state) {
        T out{};
        std::size_t i = 0;
        std::apply(
            [&](const auto&... f) {
              ((out.*f.member = from_python<std::remove_reference_t<decltype(out.*f.member)>>(state[i++])),
               ...);
            },
            all);
        return out;
      }));
  return c;
}

/// Another __repr__, for what has too many members to print: "<", what `text` gives, ">".
template <class Class, class Text>
void set_repr(Class& c, Text text) {
  c.attr("__repr__") = py::cpp_function(
      [text](const typename Class::type& object) { return "<" + text(object) + ">"; }, py::is_method(c));
}

}  // namespace warpbit::python
