// SPDX-License-Identifier: Apache-2.0
// Capture files, and the inputs that are generated for them.
#include "warpbit/capture.hpp"

#include <cstring>

#include "records.hpp"
#include "warpbit/record.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::python {
namespace {

py::dtype dtype_of(const ArrayHeader& header) {
  return py::dtype(
      std::string(header.kind == 'b' ? "?" : std::string(1, header.kind) + std::to_string(header.item_bytes)));
}

// The array, which Python owns from now on.
As<"NDArray[Any]", py::array> numpy_of(Array&& array) {
  auto* const kept = new Array(std::move(array));
  const py::capsule owner(kept, [](void* p) { delete static_cast<Array*>(p); });
  return py::array(dtype_of(kept->header),
                   std::vector<py::ssize_t>(kept->header.shape.begin(), kept->header.shape.end()),
                   kept->data.data(), owner);
}

Array array_from(const std::string& name, const py::handle& object) {
  const std::optional<Items> items = items_in(object);
  if (!items || py::hasattr(object, "mask"))
    refuse(Errc::member_dtype, name, seen_text(object), "an array or a tensor");
  const py::array& array = items->array;
  const py::dtype type = array.dtype();
  if (!type.attr("isnative").cast<bool>())
    refuse(Errc::member_dtype, name, py::str(py::object(type)).cast<std::string>(), "little-endian items");
  Array out;
  out.header.name = name;
  out.header.kind = type.kind();
  out.header.item_bytes = static_cast<std::size_t>(array.itemsize());
  out.header.shape.assign(array.shape(), array.shape() + array.ndim());
  const auto bytes = array.attr("tobytes")("C").cast<std::string>();
  out.data.resize(bytes.size());
  std::memcpy(out.data.data(), bytes.data(), bytes.size());
  return out;
}

Types arrays_of(const CaptureReader& reader) {
  py::dict out;
  for (const ArrayHeader& a : reader.arrays())
    out[py::cast(a.name)] = py::make_tuple(dtype_of(a), py::tuple(py::cast(a.shape)));
  return out;
}

void add_reader(py::module_& m) {
  add_record(
      m, "CaptureHeader", "What every capture says about itself.",
      field("statement", &CaptureHeader::statement, "One PTX statement with symbolic operands."),
      field("target", &CaptureHeader::target, "The target that the bits belong to."),
      field("layout", &CaptureHeader::layout, "\"registers\", \"elements\", \"scalars\" or \"digests\"."),
      field("source", &CaptureHeader::source, "\"hardware\", \"published\" or \"model\"."),
      field("provenance", &CaptureHeader::provenance, "The text of one JSON object."));
  py::class_<CaptureReader>(
      m, "Capture",
      R"(An open capture file (.npz). Capture(path, max_bytes): opening checks the header of every member; data
is read on demand. Errors: file_unreadable, not_an_archive, archive_too_large, member_...; each names the
member.)")
      .def(py::init([](const std::filesystem::path& path, std::uint64_t max_bytes) {
             return value_of(CaptureReader::open(path, {max_bytes}));
           }),
           "path"_a, "max_bytes"_a = ReadOptions{}.max_bytes)
      .def_property_readonly("header", &CaptureReader::header, "What it says about itself.")
      .def_property_readonly("arrays", &arrays_of,
                             "{name: (dtype, shape)} of its arrays, in the order of the file.")
      .def(
          "read",
          [](const CaptureReader& r, const std::string& name) { return numpy_of(value_of(r.read(name))); },
          "name"_a, "The data of an array. Errors: member_missing, member_malformed, archive_too_large.")
      .def("__repr__", [](const CaptureReader& r) {
        return "<Capture of " + r.header().statement + " on " + r.header().target + ">";
      });
}

Arrays generate(const Instruction& instruction, std::uint64_t cases, std::uint64_t seed,
                inputs::Profile profile, std::uint64_t first) {
  py::dict out;
  for (Array& array : interruptible([&] {
         return value_of(generated_capture(instruction, {seed, profile}, first, cases));
       })) {
    const py::str name(array.header.name);
    out[name] = numpy_of(std::move(array));
  }
  return out;
}

Types members(const Instruction& instruction) {
  py::dict out;
  for (const CaptureMember& member : value_of(capture_members(instruction)))
    out[py::cast(member.name)] =
        py::make_tuple(unsigned_dtype(member.item_bytes), py::tuple(py::cast(member.shape)));
  return out;
}

}  // namespace

void add_captures(py::module_& m) {
  add_reader(m);
  m.def(
      "write_capture",
      [](const std::filesystem::path& path, const std::string& statement, const TargetName& target,
         const As<"Mapping[str, NDArray[Any]]", py::dict>& arrays, CaptureLayout layout, CaptureSource source,
         const std::string& provenance) {
        std::vector<Array> list;
        for (const auto& [name, array] : arrays) list.push_back(array_from(name.cast<std::string>(), array));
        return write_capture(path, {statement, std::string(target.target.name()), layout, source, provenance},
                             list);
      },
      "path"_a, "statement"_a, "target"_a, "arrays"_a, "layout"_a = CaptureLayout::registers,
      "source"_a = CaptureSource::model, "provenance"_a = "{}",
      R"(Writes a capture. arrays: {name: array}, as capture_members says. The file appears complete or not at
all. Errors: file_unwritable, member_malformed, member_dtype, member_shape, member_value.)");
  m.def("capture_members", &members, "instruction"_a,
        R"(The arrays of a capture of an instruction: {name: (dtype, shape of a case)}, the result as the last.
Error: member_value.)");
  m.def(
      "generate", &generate, "instruction"_a, "cases"_a, "seed"_a = 0, "profile"_a = inputs::Profile::ordinary,
      "first"_a = 0,
      R"(Generated inputs and what the instruction makes of them: {name: array}, each (cases, *shape of a case),
the result as the last; of cases [first, first + cases). Case i depends on form, seed, profile and i alone (see
compare_generated), so that shares of the cases can be made apart. The GIL is released. Error: member_value.)");
  m.def(
      "run_arrays",
      [](const std::filesystem::path& source, const std::filesystem::path& to, const std::string& statement,
         const std::optional<TargetName>& target, int threads, std::optional<Kernel> kernel,
         Undefined undefined) {
        const RunOptions options{statement, target, {}, {}, {undefined, true, threads, kernel}};
        const RunReport report = interruptible([&] { return value_of(run_arrays(source, to, options)); });
        return std::tuple(report.header, report.cases, report.inferred);
      },
      "source"_a, "to"_a, "statement"_a = "", "target"_a = py::none(), "threads"_a = 0, "kernel"_a = py::none(),
      "undefined"_a = Undefined::error,
      R"(Executes a statement (that of the file, if it is empty) on the arrays of an .npz and writes a capture
with inputs and result: (header, cases, inferred). Nothing is written unless all of it succeeded.)");
  m.def(
      "pack_capture",
      [](const std::filesystem::path& source, const std::filesystem::path& to,
         std::optional<std::uint64_t> bytes) { return pack_capture(source, to, bytes); },
      "source"_a, "to"_a, "bytes"_a = py::none(),
      "Copies a capture deflated; with `bytes` only the first cases, as many as have arrays of that size.");
}

}  // namespace warpbit::python
