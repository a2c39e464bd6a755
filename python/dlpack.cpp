// SPDX-License-Identifier: Apache-2.0
// Tensors of other libraries, by DLPack (https://dmlc.github.io/dlpack/latest/c_api.html).
#include <cstdint>

#include "module.hpp"

namespace warpbit::python {
namespace {

// ---- The C interface of DLPack 1.1

struct Device {
  std::int32_t type, number;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType type;
  std::int64_t* shape;
  std::int64_t* strides;  // of items; null: the last dimension is the innermost one
  std::uint64_t byte_offset;
};
struct Unversioned {
  static constexpr const char *kName = "dltensor", *kUsed = "used_dltensor";
  static constexpr std::uint64_t flags = 0;
  Tensor tensor;
  void* context;
  void (*release)(Unversioned* self);
};
struct Versioned {
  static constexpr const char *kName = "dltensor_versioned", *kUsed = "used_dltensor_versioned";
  std::uint32_t major, minor;
  void* context;
  void (*release)(Versioned* self);
  std::uint64_t flags;
  Tensor tensor;
};
constexpr std::uint64_t kReadOnly = 1;
constexpr std::int32_t kCpu = 1, kPinned = 3;  // both in the memory of this computer

struct TypeRow {
  std::uint8_t code, bits;
  char kind;
  const char* name;   // of a dtype (meaning_of_items)
  const char* array;  // NumPy's type for the items
};
constexpr TypeRow kTypes[] = {
    {0, 8, 'i', "int8", "int8"},          {0, 16, 'i', "int16", "int16"},
    {0, 32, 'i', "int32", "int32"},       {0, 64, 'i', "int64", "int64"},
    {1, 8, 'u', "uint8", "uint8"},        {1, 16, 'u', "uint16", "uint16"},
    {1, 32, 'u', "uint32", "uint32"},     {1, 64, 'u', "uint64", "uint64"},
    {2, 16, 'f', "float16", "float16"},   {2, 32, 'f', "float32", "float32"},
    {2, 64, 'f', "float64", "float64"},   {4, 16, 'V', "bfloat16", "uint16"},
    {6, 8, 'b', "bool", "bool"},          {10, 8, 'V', "float8_e4m3fn", "uint8"},
    {12, 8, 'V', "float8_e5m2", "uint8"}, {14, 8, 'V', "float8_e8m0fnu", "uint8"},
};

// The strides in bytes.
std::vector<py::ssize_t> strides_of(const Tensor& t, const std::vector<py::ssize_t>& shape) {
  std::vector<py::ssize_t> out(shape.size());
  py::ssize_t dense = t.type.bits / 8;
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = t.strides == nullptr ? dense : static_cast<py::ssize_t>(t.strides[i]) * (t.type.bits / 8);
    dense *= shape[i];
  }
  return out;
}

template <class Managed>
std::optional<Items> items_of(const py::object& capsule, const py::handle& object) {
  if (PyCapsule_IsValid(capsule.ptr(), Managed::kName) == 0) return std::nullopt;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::kName));
  const Tensor& t = managed->tensor;
  const auto* row = std::ranges::find_if(
      kTypes, [&](const TypeRow& r) { return r.code == t.type.code && r.bits == t.type.bits; });
  if (row == std::end(kTypes) || t.type.lanes != 1)
    refuse(seen_text(object),
           "items of DLPack's type code " + std::to_string(t.type.code) + " with " +
               std::to_string(t.type.bits) + " bits",
           "a type that NumPy or ml_dtypes has");
  const std::vector<py::ssize_t> shape(t.shape, t.shape + t.dimensions);
  PyCapsule_SetName(capsule.ptr(), Managed::kUsed);
  const py::capsule owner(managed, [](void* p) {
    auto* m = static_cast<Managed*>(p);
    if (m->release != nullptr) m->release(m);
  });
  py::array array(py::dtype(row->array), shape, strides_of(t, shape),
                  static_cast<const std::byte*>(t.data) + t.byte_offset, owner);
  if ((managed->flags & kReadOnly) != 0) array.attr("setflags")("write"_a = false);
  auto [kind, format] = meaning_of_items(row->kind, row->name, row->bits / 8u);
  return Items{std::move(array), kind, std::move(format)};
}

}  // namespace

std::optional<Items> items_of_dlpack(const py::handle& object) {
  const auto device = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
  if (device.first != kCpu && device.first != kPinned)
    refuse(seen_text(object), "it is in the memory of a device (DLPack's " + std::to_string(device.first) + ")",
           copy_of_gpu(object));
  py::object capsule;
  try {
    capsule = object.attr("__dlpack__")("max_version"_a = py::make_tuple(1, 1));
  } catch (const py::error_already_set& e) {  // older than DLPack 1.0
    if (!e.matches(PyExc_TypeError)) throw;
    capsule = object.attr("__dlpack__")();
  }
  if (std::optional<Items> items = items_of<Versioned>(capsule, object)) return items;
  return items_of<Unversioned>(capsule, object);
}

}  // namespace warpbit::python
