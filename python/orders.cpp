// SPDX-License-Identifier: Apache-2.0
// Orders of sums that were found, and their pickles.
#include "module.hpp"
#include "warpbit/find_order.hpp"

namespace warpbit::python {
namespace {

// ---- Pickles

// (form, order) of the other descriptions of a sum.
std::vector<std::pair<std::string, std::string>> sames_of(const FoundOrder& f) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const SameSum& same : f.same) out.emplace_back(same.form, same.order.text());
  return out;
}

py::tuple state_of_order(const FoundOrder& f) {
  py::object wrong = py::none();
  if (f.first_wrong)
    wrong = py::make_tuple(f.first_wrong->row, f.first_wrong->column, f.first_wrong->code, f.computed);
  return py::make_tuple(f.instruction, f.order.text(), f.equal, f.elements, wrong, f.left_out, f.number, f.sum,
                        sames_of(f));
}
FoundOrder order_of_state(const py::tuple& s) {
  FoundOrder out{s[0].cast<Instruction>(), value_of(SumOrder::parse(s[1].cast<std::string>())),
                 s[2].cast<std::uint64_t>(), s[3].cast<std::uint64_t>()};
  out.left_out = s[5].cast<std::size_t>();
  out.number = s[6].cast<std::uint64_t>();
  out.sum = s[7].cast<std::uint64_t>();
  for (const auto& [form, order] : s[8].cast<std::vector<std::pair<std::string, std::string>>>())
    out.same.push_back({form, value_of(SumOrder::parse(order))});
  if (s[4].is_none()) return out;
  const auto [row, column, code, computed] =
      s[4].cast<std::tuple<std::size_t, std::size_t, std::uint64_t, std::uint64_t>>();
  out.first_wrong = ResultElement{row, column, code};
  out.computed = computed;
  return out;
}

py::list states_of(const std::vector<FoundOrder>& orders) {
  py::list out;
  for (const FoundOrder& f : orders) out.append(state_of_order(f));
  return out;
}
std::vector<FoundOrder> orders_of(const py::handle& states) {
  std::vector<FoundOrder> out;
  for (const py::handle& s : states) out.push_back(order_of_state(s.cast<py::tuple>()));
  return out;
}

py::tuple answer_of(const OrderSearch& s) {
  return py::make_tuple(states_of(s.found), states_of(s.nearest), s.tried, s.complete, s.inferred, s.narrowed);
}
py::tuple state_of_search(const OrderSearch& s) {
  py::list near;
  for (const OrderShare::Near& n : s.share.near)
    near.append(py::make_tuple(state_of_order(n.order), n.first_equal, n.looked_equal));
  py::list explaining;
  for (const OrderShare::Explaining& e : s.share.explaining)
    explaining.append(py::make_tuple(e.instruction, e.order.text(), e.sum, e.number));
  return py::make_tuple(answer_of(s), s.share.tried, s.share.is_limited, s.share.most_found, near,
                        s.share.has_more, explaining, s.share.is_narrowed);
}
OrderSearch search_of_state(const py::tuple& s) {
  const auto answer = s[0].cast<py::tuple>();
  OrderSearch out{orders_of(answer[0]),   orders_of(answer[1]),   answer[2].cast<std::uint64_t>(),
                  answer[3].cast<bool>(), answer[4].cast<bool>(), answer[5].cast<bool>()};
  out.share.tried = s[1].cast<std::vector<std::uint64_t>>();
  out.share.is_limited = s[2].cast<bool>();
  out.share.most_found = s[3].cast<std::uint64_t>();
  for (const py::handle& object : s[4]) {
    const auto n = object.cast<py::tuple>();
    out.share.near.push_back(
        {order_of_state(n[0].cast<py::tuple>()), n[1].cast<std::uint64_t>(), n[2].cast<std::uint64_t>()});
  }
  out.share.has_more = s[5].cast<bool>();
  out.share.is_narrowed = s[7].cast<bool>();
  for (const py::handle& object : s[6]) {
    const auto e = object.cast<py::tuple>();
    out.share.explaining.push_back({e[0].cast<Instruction>(),
                                    value_of(SumOrder::parse(e[1].cast<std::string>())),
                                    e[2].cast<std::uint64_t>(), e[3].cast<std::uint64_t>()});
  }
  return out;
}

void add_found_order(py::module_& m) {
  py::class_<FoundOrder> order(m, "FoundOrder",
                               "An instruction and an order of the sum, and how many elements of D they give.");
  order.def_readonly("instruction", &FoundOrder::instruction, "The instruction of each step.")
      .def_property_readonly(
          "order", [](const FoundOrder& f) { return f.order.text(); },
          "The order in words, as gemm takes them.")
      .def_readonly("equal", &FoundOrder::equal, "Elements that come out bit for bit,")
      .def_readonly("elements", &FoundOrder::elements, "of so many.")
      .def_readonly("left_out", &FoundOrder::left_out, "Values at the end of K that are not in the sum.")
      .def_readonly("number", &FoundOrder::number, "Of the hypothesis, in the order in which they are tried.")
      .def_property_readonly("same", &sames_of,
                             "Other descriptions of the same sum for any data of these sizes: (form, order).")
      .def("__repr__", [](const FoundOrder& f) {
        return "<FoundOrder " + std::string(f.instruction.canonical()) + ": " + f.order.text() + ", " +
               std::to_string(f.equal) + " of " + std::to_string(f.elements) + ">";
      });
  order.def(py::pickle(&state_of_order, &order_of_state));
}

}  // namespace

void add_orders(py::module_& m) {
  add_found_order(m);
  py::class_<OrderSearch> search(m, "OrderSearch", "What find_order found. Equal if the answers are.");
  search.def_readonly("found", &OrderSearch::found, "Those that give all of D, the most plausible first.")
      .def_readonly("nearest", &OrderSearch::nearest, "If there are none: those that give most elements.")
      .def_readonly("tried", &OrderSearch::tried, "How many were tried.")
      .def_readonly("complete", &OrderSearch::complete, "Whether all as plausible as the first were tried.")
      .def_readonly("inferred", &OrderSearch::inferred, "Whether the arithmetic was not verified on hardware.")
      .def_readonly("narrowed", &OrderSearch::narrowed, "Whether only orders with the known words were tried.")
      .def_property_readonly(
          "split_k", [](const OrderSearch& s) { return name(s.split_k()); },
          "Was K split? \"yes\", \"no\" or \"cannot be told\".")
      .def("__str__", &OrderSearch::text);
  search.def(py::pickle(&state_of_search, &search_of_state));
  add_equality(search,
               [](const OrderSearch& x, const OrderSearch& y) { return answer_of(x).equal(answer_of(y)); });
  m.def(
      "merge_orders", [](const std::vector<OrderSearch>& shares) { return value_of(merge_orders(shares)); },
      "shares"_a,
      "What find_order answers without shares, from those of all shares in any order. Error: usage.");
}

}  // namespace warpbit::python
