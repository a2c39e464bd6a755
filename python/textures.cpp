// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces, which are arrays with a handle, and samplers.
#include "module.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::python {
namespace {

using Texels = As<"_Bits">;
using Addressings = As<"Union[str, Sequence[str]]">;
using Colour = As<"Union[float, Sequence[float]]">;

ptx::Addressing addressing_of(const std::string& word) {
  if (const auto found = ptx::find_addressing(word)) return *found;
  refuse(Errc::usage, "addressing", "'" + word + "'", "wrap, clamp, mirror or border");
}

// One for all, or a list.
template <class T, std::size_t N, class Given, class Convert>
void spread(const char* name, const Given& given, std::array<T, N>& out, Convert convert) {
  if (!py::isinstance<py::sequence>(given) || py::isinstance<py::str>(given)) return out.fill(convert(given));
  const auto list = py::reinterpret_borrow<py::sequence>(given);
  if (list.size() == 0 || list.size() > N)
    refuse(Errc::usage, name, std::to_string(list.size()) + " entries", "1 to " + std::to_string(N));
  for (std::size_t i = 0; i < list.size(); ++i) out[i] = convert(py::object(list[i]));
}

// Of a sampler, or of a texture that has it.
template <class Modes>
void modes_of(const Addressings& addressing, const Colour& border, Modes& out) {
  spread("addressing", addressing, out.addressing,
         [](const py::object& one) { return addressing_of(one.cast<std::string>()); });
  spread("border", border, out.border, [](const py::object& one) { return one.cast<float>(); });
}

ptx::TexelFormat format_of(const py::array& array) {
  const std::string letter(1, array.dtype().kind() == 'i' ? 's' : array.dtype().kind());
  const std::string wanted = letter + std::to_string(8 * array.itemsize());
  if (const auto found = ptx::find_texel_format(wanted)) return *found;
  refuse(Errc::usage, "array", seen_text(array), "integers of 8 to 32 bits, float16 or float32");
}

std::uint64_t texture_of(const Texels& object, const std::string& shape, bool linear, bool normalized,
                         bool floats, const Addressings& addressing, const Colour& border) {
  ptx::Texture out;
  const auto known = ptx::find_texture_shape(shape);
  if (!known) refuse(Errc::usage, "shape", "'" + shape + "'", "memory, 1d, 2d, 3d, a1d, a2d, cube or acube");
  out.shape = *known;
  const py::array array = memory_in(object, "array");
  out.format = format_of(array);
  out.texels = bytes_in(array);
  out.linear = linear;
  out.normalized = normalized;
  out.floats = floats;
  modes_of(addressing, border, out);
  const std::vector<std::uint64_t> extents(array.shape(), array.shape() + array.ndim());
  const std::uint64_t handle = value_of(ptx::texture(value_of(ptx::with_extents(out, extents))));
  py::module_::import("weakref").attr("finalize")(object, py::cpp_function([handle] { ptx::forget(handle); }));
  return handle;
}

std::uint64_t sampler_of(bool linear, bool unnormalized, const Addressings& addressing, const Colour& border) {
  ptx::Sampler out;
  out.linear = linear;
  out.unnormalized = unnormalized;
  modes_of(addressing, border, out);
  return ptx::sampler(out);
}

std::uint64_t surface_of(const Texels& object, const std::string& shape) {
  ptx::Surface out;
  const auto known = ptx::find_texture_shape(shape);
  if (!known) refuse(Errc::usage, "shape", "'" + shape + "'", "1d, 2d, 3d, a1d or a2d");
  out.shape = *known;
  py::array array = memory_in(object, "array");
  out.format = format_of(array);
  if (!array.writeable()) refuse(Errc::usage, "array", "a read-only array", "one that a kernel can store to");
  const auto bytes = static_cast<std::size_t>(array.nbytes());
  out.texels = {static_cast<std::byte*>(array.mutable_data()), bytes};
  const std::vector<std::uint64_t> extents(array.shape(), array.shape() + array.ndim());
  const std::uint64_t handle = value_of(ptx::surface(value_of(ptx::with_extents(out, extents))));
  py::module_::import("weakref").attr("finalize")(object, py::cpp_function([handle] { ptx::forget(handle); }));
  return handle;
}

}  // namespace

void add_textures(py::module_& m) {
  m.def(
      "surface", &surface_of, "array"_a, "shape"_a,
      R"(The handle by which the launches of this process reach an array as a surface (PTX manual, "Surface Instructions").

array: C-contiguous and writable, of integers of 8 to 32 bits, float16 or float32; of the shape (layers, depth, height, width), as
far as the surface has them, with 1, 2 or 4 channels behind it if there are several. shape: 1d, 2d, 3d, a1d or a2d (arrays of
layers).

Launches read the array and store to it, until the array object is collected. Errors: usage, argument_mismatch.)");
  m.def("sampler", &sampler_of, py::kw_only(), "linear"_a = false, "unnormalized"_a = false,
        "addressing"_a = "clamp", "border"_a = 0.0,
        R"(The handle of a sampler: how kernels of modules with .target ..., texmode_independent read a texture.

It is for a variable .samplerref (RawModule.bind), or a parameter. linear, addressing, border: as of `texture`. unnormalized:
coordinates count texels, also of a texture with coordinates from 0 to 1. Errors: usage.)");
  m.def(
      "texture", &texture_of, "array"_a, "shape"_a, py::kw_only(), "linear"_a = false, "normalized"_a = false,
      "floats"_a = false, "addressing"_a = "clamp", "border"_a = 0.0,
      R"(The handle by which the launches of this process reach an array as a texture (PTX manual, "Texture Instructions").

array: C-contiguous, of integers of 8 to 32 bits, float16 or float32; of the shape (layers, 6 faces, depth, height, width), as
far as the texture has them, with 1, 2 or 4 channels behind it if there are several. shape: memory (linear memory), 1d, 2d,
3d, a1d, a2d (arrays of layers), cube or acube. linear: filtered. normalized: coordinates from 0 to 1. floats: integers of 8
and 16 bits are read as floats from 0 or -1 to 1. addressing: wrap, clamp, mirror or border, for all axes or for each, x
first; without normalized wrap and mirror are clamp, as on a GPU. border: its colour, for all channels or for each.

Launches read the array as it is then, until the array object is collected. Errors: usage, argument_mismatch.)");
}

}  // namespace warpbit::python
