// SPDX-License-Identifier: Apache-2.0
// Block formats of whole arrays, and their scale factors in memory.
#include <cstring>

#include "module.hpp"
#include "warpbit/format.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit::python {
namespace {

using Quantized = As<"tuple[NDArray[np.uint8], NDArray[np.uint8], np.float32]", py::tuple>;

// The array with an axis moved to the end, one row after the other.
py::array with_last(const py::array& array, py::ssize_t axis, const std::string& where) {
  if (array.ndim() == 0 || axis < -array.ndim() || axis >= array.ndim())
    refuse(where, "axis " + std::to_string(axis) + " of " + seen_text(array), "an axis of the array");
  return dense(py::module_::import("numpy").attr("moveaxis")(array, axis, -1));
}
// The same way back.
py::object moved_back(const py::array& array, py::ssize_t axis) {
  return py::module_::import("numpy").attr("ascontiguousarray")(
      py::module_::import("numpy").attr("moveaxis")(array, -1, axis));
}

template <class T>
std::span<T> memory_span(py::array& array) {
  return {static_cast<T*>(array.mutable_data()), static_cast<std::size_t>(array.nbytes()) / sizeof(T)};
}

std::vector<py::ssize_t> scales_shape(const py::array& rows, const BlockFormat& format) {
  std::vector<py::ssize_t> out = shape_of(rows);
  out.back() = (out.back() + format.block - 1) / format.block;
  return out;
}

Quantized quantize_array(const Numbers& x, const As<"str">& name, py::ssize_t axis,
                         const std::optional<double>& tensor, const std::string& rule) {
  if (py::isinstance<py::str>(x))
    refuse(Errc::usage, "quantize", "'" + x.cast<std::string>() + "' as the array",
           "quantize(x, \"nvfp4\"); explain_blocks(\"nvfp4\", x) shows each block in exact texts");
  if (!py::isinstance<py::str>(name))
    refuse(Errc::usage, "quantize", seen_text(name) + " as the format", "a name: \"nvfp4\"");
  const BlockFormat format = value_of(find_block_format(name.cast<std::string>()));
  const std::string where = "quantize " + std::string(format.name);
  const auto numbers = with_last(Arguments(where).numbers(x, "x"), axis, where).cast<py::array_t<double>>();
  const std::span from(numbers.data(), static_cast<std::size_t>(numbers.size()));
  const auto row = static_cast<std::size_t>(numbers.shape(numbers.ndim() - 1));
  py::array codes(unsigned_dtype(1), shape_of(numbers)),
      scales(unsigned_dtype(1), scales_shape(numbers, format));
  const std::span<std::byte> to = memory_span<std::byte>(codes), factors = memory_span<std::byte>(scales);
  const float of_tensor = interruptible([&] {
    const float scale = tensor ? static_cast<float>(*tensor) : tensor_scale(format, from);
    value_of(quantize_items(format, from, row, to, factors, {rule, scale}));
    return scale;
  });
  return py::make_tuple(moved_back(codes, axis), moved_back(scales, axis),
                        py::module_::import("numpy").attr("float32")(of_tensor));
}

py::array_t<double> dequantize_array(const Codes& codes, const std::string& name, const Codes& scales,
                                     float tensor, py::ssize_t axis) {
  const BlockFormat format = value_of(find_block_format(name));
  const std::string where = "dequantize " + std::string(format.name);
  Arguments arguments(where, true);
  const py::array rows = with_last(arguments.codes(codes, "codes", format.element), axis, where),
                  factors = with_last(arguments.codes(scales, "scales", format.scale), axis, where);
  if (shape_of(factors) != scales_shape(rows, format))
    arguments.refused("scales", seen_text(scales),
                      "one for each " + std::to_string(format.block) + " of the axis");
  py::array_t<double> out(shape_of(rows));
  const std::span from(static_cast<const std::byte*>(rows.data()), static_cast<std::size_t>(rows.size())),
      by(static_cast<const std::byte*>(factors.data()), static_cast<std::size_t>(factors.size()));
  const auto row = static_cast<std::size_t>(rows.shape(rows.ndim() - 1));
  const std::span to(out.mutable_data(), static_cast<std::size_t>(out.size()));
  interruptible([&] { dequantize_items(format, from, by, row, tensor, to); });
  return moved_back(out, axis).cast<py::array_t<double>>();
}

// ---- Scale factors in memory

py::array scales_matrix(Arguments& arguments, const py::object& object) {
  const py::array out = arguments.codes(object, "scales", "b8");
  if (out.ndim() != 2) arguments.refused("scales", seen_text(object), "two dimensions: (rows, blocks)");
  return dense(out);
}

Bytes to_scale_layout(const Codes& scales, ScaleOrder order) {
  Arguments arguments("to_scale_layout", true);
  const py::array from = scales_matrix(arguments, scales);
  const ScaleLayout layout{from.shape(0), from.shape(1), order};
  py::array out = py::module_::import("numpy").attr("zeros")(layout.bytes(), unsigned_dtype(1));
  const auto* at = static_cast<const std::byte*>(from.data());
  auto* to = static_cast<std::byte*>(out.mutable_data());
  for (std::int64_t row = 0; row < layout.rows; ++row)
    for (std::int64_t block = 0; block < layout.blocks; ++block) to[layout.offset(row, block)] = *at++;
  return Bytes(out);
}

Bytes from_scale_layout(const Codes& memory, std::int64_t rows, std::int64_t blocks, ScaleOrder order) {
  Arguments arguments("from_scale_layout", true);
  const py::array from = dense(arguments.codes(memory, "memory", "b8"));
  const ScaleLayout layout{rows, blocks, order};
  if (rows < 0 || blocks < 0 || from.size() != layout.bytes())
    arguments.refused("memory", seen_text(memory),
                      std::to_string(std::max<std::int64_t>(layout.bytes(), 0)) + " bytes");
  py::array out(unsigned_dtype(1), {rows, blocks});
  const auto* at = static_cast<const std::byte*>(from.data());
  auto* to = static_cast<std::byte*>(out.mutable_data());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t block = 0; block < blocks; ++block) *to++ = at[layout.offset(row, block)];
  return Bytes(out);
}

}  // namespace

void add_quantize(py::module_& m) {
  m.def("quantize", &quantize_array, "x"_a, "format"_a, "axis"_a = -1, "tensor_scale"_a = py::none(),
        "rule"_a = "",
        R"(An array in a block format ("nvfp4", "mxfp8", "mxfp4", ...): (codes, scales, tensor_scale).

x: numbers, as of `encode`. axis: along which elements share a scale factor; the last block may be shorter. codes: uint8 of
x's shape, one element in each byte; scales: uint8, with a block for each 16 or 32 of the axis; number = element x scale factor x
tensor_scale. tensor_scale: the second scale factor of nvfp4; without it amax / (448 x 6), as its definition has it; 1 for none.
rule: how a scale factor comes from the amax of its block, a name of scale_rules(); empty: the format's own. Everything is
computed exactly and rounded once. Errors: view_mismatch; usage for an infinity or a NaN.)");
  m.def("dequantize", &dequantize_array, "codes"_a, "format"_a, "scales"_a, "tensor_scale"_a = 1.0,
        "axis"_a = -1,
        R"(The numbers of a block format, as float64: element x scale factor x tensor_scale, exactly.

codes, scales, axis: as `quantize` gives them. Errors: view_mismatch, usage.)");
  m.def(
      "scale_rules",
      [] {
        As<"dict[str, str]", py::dict> out;
        for (const ScaleRuleInfo& rule : scale_rules())
          out[py::cast(rule.name)] = std::string(rule.says) + " (" + std::string(rule.used) + ")";
        return out;
      },
      "How scale factors come from amax, and who does so; m is the largest element.");
  m.def(
      "to_scale_layout", &to_scale_layout, "scales"_a, "order"_a = ScaleOrder::tiles,
      R"(The memory of scale factors as cuBLAS, CUTLASS and PyTorch have it: uint8 with one dimension (see ScaleLayout).

scales: (rows, blocks), of A as `quantize` gives them along axis -1; of B (columns, blocks): those of axis 0 are scales.T.
order: "tiles", 128 x 4 factors in 512 bytes, padded with zeros; or "linear".)");
  m.def("from_scale_layout", &from_scale_layout, "memory"_a, "rows"_a, "blocks"_a,
        "order"_a = ScaleOrder::tiles,
        "The scale factors in such memory, (rows, blocks). Errors: view_mismatch.");
}

}  // namespace warpbit::python
