// SPDX-License-Identifier: Apache-2.0
// Tensor maps: their arguments and their 128 bytes.
#include "warpbit/tensor_map.hpp"

#include <cstring>  // std::memcpy

#include "module.hpp"

namespace warpbit::python {
namespace {

// A list for the first entries of an array, as many as `wanted`; `why` there are so many.
template <class T, std::size_t N>
std::array<T, N> entries(const char* name, const std::vector<T>& list, std::size_t rank, std::size_t wanted,
                         const char* why = "") {
  if (list.size() != wanted)
    refuse(Errc::usage, name,
           std::to_string(list.size()) + (list.size() == 1 ? " entry for " : " entries for ") +
               std::to_string(rank) + (rank == 1 ? " extent" : " extents") + " of global_dim",
           std::to_string(wanted) + why);
  std::array<T, N> out{};
  std::copy(list.begin(), list.end(), out.begin());
  return out;
}

// The entries that count, `less` fewer than the rank.
template <class T, std::size_t N>
std::vector<T> counted(const std::array<T, N>& all, int rank, int less = 0) {
  return {all.begin(), all.begin() + std::clamp(rank - less, 0, static_cast<int>(N))};
}

TensorMapBytes bytes_of_map(const py::bytes& map) {
  const std::string_view text = map;
  TensorMapBytes out{};
  if (text.size() != out.size())
    refuse(Errc::usage, "map", std::to_string(text.size()) + " bytes", std::to_string(out.size()));
  std::memcpy(out.data(), text.data(), out.size());
  return out;
}

py::bytes encoded(const TensorMap& m) {
  const TensorMapBytes bytes = value_of(m.encode());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TensorMap decoded_map(const py::bytes& map) {
  return value_of(TensorMap::decode(bytes_of_map(map)));
}

TensorMap made(TensorType elemtype, std::uint64_t global_address, const std::vector<std::uint64_t>& global_dim,
               const std::vector<std::uint64_t>& global_stride, const std::vector<std::uint32_t>& box_dim,
               const std::optional<std::vector<std::uint32_t>>& element_stride,
               TensorInterleave interleave_layout, int swizzle_mode, L2Promotion l2_promotion,
               TensorFill fill_mode, TensorMapMode mode, const std::vector<std::int32_t>& pixel_box_lower,
               const std::vector<std::int32_t>& pixel_box_upper, std::uint32_t channels_per_pixel,
               std::uint32_t pixels_per_column) {
  TensorMap m;
  m.mode = mode;
  m.elemtype = elemtype;
  m.rank = static_cast<int>(global_dim.size());
  m.global_address = global_address;
  const std::size_t rank = global_dim.size(),
                    corners = mode == TensorMapMode::im2col && rank > 2 ? rank - 2 : 0;
  if (rank < 1 || rank > 5)
    refuse(Errc::usage, "global_dim", std::to_string(rank) + " extents",
           "1 to 5, the contiguous dimension first");
  m.global_dim = entries<std::uint64_t, 5>("global_dim", global_dim, rank, rank);
  m.global_stride =
      entries<std::uint64_t, 4>("global_stride", global_stride, rank, rank - 1,
                                ": the innermost dimension, whose elements follow each other, has none");
  m.box_dim = entries<std::uint32_t, 5>("box_dim", box_dim, rank, mode == TensorMapMode::tiled ? rank : 0);
  m.element_stride = entries<std::uint32_t, 5>(
      "element_stride", element_stride.value_or(std::vector(global_dim.size(), 1u)), rank, rank);
  constexpr const char* kCorner = ": of im2col two fewer than extents, of tiles none";
  m.pixel_box_lower = entries<std::int32_t, 3>("pixel_box_lower", pixel_box_lower, rank, corners, kCorner);
  m.pixel_box_upper = entries<std::int32_t, 3>("pixel_box_upper", pixel_box_upper, rank, corners, kCorner);
  m.channels_per_pixel = channels_per_pixel;
  m.pixels_per_column = pixels_per_column;
  m.interleave_layout = interleave_layout;
  m.swizzle_mode = swizzle_of(swizzle_mode);
  m.l2_promotion = l2_promotion;
  m.fill_mode = fill_mode;
  return m;
}

void add_arrays(py::class_<TensorMap>& c) {
  c.def_property_readonly(
       "global_dim", [](const TensorMap& m) { return counted(m.global_dim, m.rank); },
       "Elements, the contiguous dimension first.")
      .def_property_readonly(
          "global_stride", [](const TensorMap& m) { return counted(m.global_stride, m.rank, 1); },
          "Bytes, from the second dimension on.")
      .def_property_readonly(
          "box_dim",
          [](const TensorMap& m) { return counted(m.box_dim, m.mode == TensorMapMode::tiled ? m.rank : 0); },
          "Of tiles: elements of a copy before element strides.")
      .def_property_readonly(
          "element_stride", [](const TensorMap& m) { return counted(m.element_stride, m.rank); },
          "Every how manieth element is copied.")
      .def_property_readonly(
          "pixel_box_lower",
          [](const TensorMap& m) {
            return counted(m.pixel_box_lower, m.mode == TensorMapMode::im2col ? m.rank : 0, 2);
          },
          "Of im2col: the offsets of a corner of the image, W first.")
      .def_property_readonly(
          "pixel_box_upper",
          [](const TensorMap& m) {
            return counted(m.pixel_box_upper, m.mode == TensorMapMode::im2col ? m.rank : 0, 2);
          },
          "Of im2col: the offsets of the opposite corner.");
}

}  // namespace

void add_tensor_maps(py::module_& m) {
  py::class_<TensorMap> c(
      m, "TensorMap",
      "The arguments of a tensor map, a CUtensorMap of compute capability 9.0. Its rank is the "
      "number of dimensions in global_dim; element strides are 1 unless given.");
  c.def(py::init(&made), "elemtype"_a, "global_address"_a, "global_dim"_a, "global_stride"_a,
        "box_dim"_a = std::vector<std::uint32_t>(), "element_stride"_a = py::none(), py::kw_only(),
        "interleave_layout"_a = TensorInterleave::none, "swizzle_mode"_a = 0,
        "l2_promotion"_a = L2Promotion::none, "fill_mode"_a = TensorFill::zeros,
        "mode"_a = TensorMapMode::tiled, "pixel_box_lower"_a = std::vector<std::int32_t>(),
        "pixel_box_upper"_a = std::vector<std::int32_t>(), "channels_per_pixel"_a = 0,
        "pixels_per_column"_a = 0)
      .def_static(
          "decode", &decoded_map, "map"_a,
          "The arguments of 128 bytes. Errors: usage; descriptor_field, for a code that no driver writes.")
      .def("encode", &encoded,
           "The 128 bytes. Error: descriptor_field, the first argument that the driver refuses.")
      .def(
          "refusals",
          [](const TensorMap& map) {
            std::vector<std::string> out;
            for (const Error& error : map.refusals()) out.push_back(error.message());
            return out;
          },
          "A sentence for each argument that the driver refuses.")
      .def_static(
          "check",
          [](const py::bytes& map) {
            std::vector<std::string> out;
            for (const TensorMapFinding& f : check_tensor_map(bytes_of_map(map)))
              out.push_back(std::string(name(f.issue)) + ": " + f.message);
            return out;
          },
          "map"_a, "What looks wrong about 128 bytes, each as its issue and a sentence. Error: usage.")
      .def_readonly("mode", &TensorMap::mode, "\"tiled\" or \"im2col\".")
      .def_readonly("elemtype", &TensorMap::elemtype, "The type of an element, in PTX's words: \"bf16\".")
      .def_readonly("rank", &TensorMap::rank, "The number of dimensions.")
      .def_readonly("global_address", &TensorMap::global_address, "Where the tensor begins.")
      .def_readonly("channels_per_pixel", &TensorMap::channels_per_pixel, "Of im2col.")
      .def_readonly("pixels_per_column", &TensorMap::pixels_per_column, "Of im2col.")
      .def_readonly("interleave_layout", &TensorMap::interleave_layout,
                    "\"none\", \"bytes_16\" or \"bytes_32\".")
      .def_property_readonly(
          "swizzle_mode", [](const TensorMap& map) { return bytes_of(map.swizzle_mode); },
          "Bytes within which chunks are exchanged: 0, 32, 64 or 128.")
      .def_readonly("l2_promotion", &TensorMap::l2_promotion,
                    "\"none\", \"bytes_64\", \"bytes_128\" or \"bytes_256\".")
      .def_readonly("fill_mode", &TensorMap::fill_mode, "\"zeros\" or \"nan\".")
      .def(py::pickle([](const TensorMap& map) { return py::make_tuple(encoded(map)); },
                      [](const py::tuple& s) { return decoded_map(s[0].cast<py::bytes>()); }));
  add_arrays(c);
  add_equality(c, std::equal_to<TensorMap>());
}

}  // namespace warpbit::python
