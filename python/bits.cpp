// SPDX-License-Identifier: Apache-2.0
// Whole arrays compared by their bits.
#include "warpbit/bits.hpp"

#include "records.hpp"
#include "warpbit/format.hpp"
#include "warpbit/review.hpp"

namespace warpbit::python {
namespace {

// Whether items have the type of others, or are the codes of a format as they lie.
bool is_comparable(const py::handle& object, const Items& items, const Items& other,
                   const std::string& format) {
  if (items.kind == Kind::other || items.array.itemsize() != other.array.itemsize()) return false;
  return items.array.dtype().equal(other.array.dtype()) ||
         (!format.empty() &&
          (items.is_copy ||
           Arguments::in_place(object, format, static_cast<std::size_t>(items.array.itemsize()))));
}

Items items_to_compare(const py::handle& object, const std::string& where) {
  constexpr const char* kAccepted =
      "an array or tensor of floats, integers or codes (unsigned) in this machine's byte order";
  std::optional<Items> items = items_in(object);
  if (!items || items->kind == Kind::other) refuse(where, seen_text(object), kAccepted);
  return std::move(*items);
}

BitsComparison compare_arrays(const Bits& got_object, const Bits& expected_object, const std::string& name,
                              const std::string& given_format) {
  const Items got = items_to_compare(got_object, name),
              expected = items_to_compare(expected_object, name + ", expected");
  std::string format = given_format;
  for (const Items* items : {&expected, &got})
    if (format.empty()) format = items->format;
  const auto bytes = static_cast<std::size_t>(expected.array.itemsize());
  if (!given_format.empty() && code_bytes(given_format) != bytes)
    refuse(name + ", expected", seen_text(expected_object) + " with format=\"" + given_format + "\"",
           bits_text(code_bytes(given_format), given_format));
  if (!is_comparable(got_object, got, expected, format) || shape_of(got.array) != shape_of(expected.array))
    refuse(name, seen_text(got_object),
           bits_text(bytes, format) + " of shape " + shape_text(shape_of(expected.array)) + ", as expected, " +
               seen_text(expected_object) + ", has");
  if (!is_comparable(expected_object, expected, got, format))
    refuse(name + ", expected", seen_text(expected_object), bits_text(bytes, format));
  const py::array items[] = {dense(expected.array), dense(got.array)};
  const auto bits_of = [&](const py::array& array) {
    const std::vector<py::ssize_t> shape = shape_of(array);
    return ArrayBits{{static_cast<const std::byte*>(array.data()), static_cast<std::size_t>(array.nbytes())},
                     bytes,
                     format,
                     {shape.begin(), shape.end()}};
  };
  const ArrayBits of_expected = bits_of(items[0]), of_got = bits_of(items[1]);
  return interruptible([&] { return value_of(compare_bits(of_expected, of_got, name)); },
                       kItemAsProducts * static_cast<double>(items[0].size()));
}

void tell_remark(const std::string& rule, const std::string& message,
                 const std::vector<std::tuple<std::string, int>>& at, const std::string& grade,
                 const std::string& sentence) {
  const std::optional<Grade> found = find_grade(grade);
  if (!found || *found == Grade::silent) refuse("grade", "'" + grade + "'", "fault, finding or note");
  Remark out{rule, sentence, *found, message};
  for (const auto& [file, line] : at) out.at.push_back({file, line});
  add_remark(out);
}

}  // namespace

void add_bits(py::module_& m) {
  add_record(m, "DifferentElement", "An element of two arrays.",
             field("index", &DifferentElement::index, "Its place, an index for each dimension."),
             field("expected", &DifferentElement::expected, "The code that was expected."),
             field("got", &DifferentElement::got, "The code that is there."),
             field("distance", &DifferentElement::distance,
                   "In ulp, of integers their difference; None for NaNs and unknown formats."));
  add_record(m, "WholeTiles", "Square tiles each of which is wholly wrong or wholly right.",
             field("size", &WholeTiles::size, "Rows and columns of one."),
             field("wrong", &WholeTiles::wrong, "How many are wrong."),
             field("all", &WholeTiles::all, "Of how many."),
             field("row", &WholeTiles::row, "The first row of the first wrong one."),
             field("column", &WholeTiles::column, "Its first column."));
  add_record(
      m, "WrongMap", "How many elements differ in each part of an array, whose indices but the last are rows.",
      field("rows", &WrongMap::rows, "Of the array."), field("columns", &WrongMap::columns, "Of the array."),
      field("cell_rows", &WrongMap::cell_rows, "Of a cell."),
      field("cell_columns", &WrongMap::cell_columns, "Of a cell."),
      field("wrong", &WrongMap::wrong, "Elements that differ in each cell, row by row."));
  auto comparison = add_record(
      m, "BitsComparison", "Two arrays compared by their bits. str() of it says what differs, with a map.",
      field("name", &BitsComparison::name, "Of the array, for messages."),
      field("format", &BitsComparison::format, "Whose codes the items are; may be empty."),
      field("item_bytes", &BitsComparison::item_bytes, "Bytes of an item."),
      field("shape", &BitsComparison::shape, "Of both arrays."),
      field("elements", &BitsComparison::elements, "Of each."),
      field("different", &BitsComparison::different, "Elements that differ."),
      field("first", &BitsComparison::first, "The first one that differs, or None."),
      field("farthest", &BitsComparison::farthest, "The largest distance of two numbers that differ, or None."),
      field("where", &BitsComparison::where, "Where elements differ."),
      field("tiles", &BitsComparison::tiles, "Whole tiles that differ, or None."),
      field("map", &BitsComparison::map, "At most 128 x 128 cells."));
  set_repr(comparison, [](const BitsComparison& c) {
    return "BitsComparison: " + (c.equal() ? std::to_string(c.elements) + " elements are equal" : c.lines()[0]);
  });
  comparison.def("__str__", &BitsComparison::text)
      .def("lines", &BitsComparison::lines, "What differs, in words; nothing if nothing does.")
      .def("picture", &BitsComparison::picture, "The map in block characters.")
      .def("svg", &bits_svg, "The map as a picture, the text of an SVG file for light and dark backgrounds.");
  m.def("compare_bits", &compare_arrays, "got"_a, "expected"_a, py::kw_only(), "name"_a = "the array",
        "format"_a = "",
        R"(Compares two arrays by their bits: payloads of NaNs and signs of zeros count.

Both have one shape and one dtype; one of them may be codes, unsigned integers of the same size. format: whose codes
the items are, where no dtype says it. warpbit.testing.assert_bits_equal raises an AssertionError of it. Errors:
view_mismatch, usage.)");
  m.def(
      "add_remark", &tell_remark, "rule"_a, "message"_a, py::kw_only(),
      "at"_a = std::vector<std::tuple<std::string, int>>(), "grade"_a = "finding", "sentence"_a = "",
      R"(In a test that `warpbit findings` runs, adds a remark to those of its launches; elsewhere nothing happens.

rule: a name for what is wrong, "bits_differ"; sentence: what that is, of any kernel. message: all of it, in lines. at: the
lines that it is about, as (file, line), the nearest one first; a review shows the first that lies in the repository. grade:
"fault", "finding" or "note". Errors: usage.)");
}

}  // namespace warpbit::python
