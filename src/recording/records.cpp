// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "recording/fields.hpp"
#include "warpbit/recording.hpp"

namespace warpbit {

using recording::Fields, recording::fields_of, recording::reading;

namespace {

RecordOrigin origin_of(const Fields& fields) {
  return {fields.text_or_empty("where"), fields.text_or_empty("library"), fields.text_or_empty("target")};
}

RecordedMemory read_memory(const Fields& fields, std::size_t number) {
  RecordedMemory out{fields.address("address"), fields.number("bytes"), fields.text_or_empty("name"),
                     fields.optional_text("before"), fields.optional_text("after")};
  out.is_compared = !fields.is_null("after");
  if (out.bytes == 0) fields.refuse("bytes", "0", "a number from 1 on");
  if (out.address + (out.bytes - 1) < out.address)
    fields.refuse("address", fmt::format("{:#x} with {} bytes", out.address, out.bytes), "memory below 2^64");
  if (out.name.empty()) out.name = fmt::format("memory {}", number);
  return out;
}

// Parts that are in order do not overlap; any others neither.
void refuse_overlaps(const Fields& fields, std::vector<RecordedMemory> parts) {
  std::ranges::sort(parts, {}, &RecordedMemory::address);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].address - parts[i - 1].address < parts[i - 1].bytes)
      fields.refuse("memory",
                    fmt::format("'{}' at {:#x} overlaps '{}' at {:#x}", parts[i].name, parts[i].address,
                                parts[i - 1].name, parts[i - 1].address),
                    "parts that do not overlap");
}

struct RecordedFormat {
  std::string_view name;
  int bytes;
};
constexpr std::array<RecordedFormat, 10> kFormats = {{{"f16", 2},
                                                      {"bf16", 2},
                                                      {"f32", 4},
                                                      {"f64", 8},
                                                      {"e4m3", 1},
                                                      {"e5m2", 1},
                                                      {"ue8m0", 1},
                                                      {"s8", 1},
                                                      {"s32", 4},
                                                      {"u8", 1}}};

RecordedMatrix read_matrix(const Fields& fields) {
  RecordedMatrix out{
      fields.text("dtype"), fields.numbers("shape"), fields.numbers("strides"), fields.text("data"), {}};
  if (std::ranges::find(kFormats, out.format, &RecordedFormat::name) == kFormats.end())
    fields.refuse("dtype", fmt::format("'{}'", out.format),
                  "f16, bf16, f32, f64, e4m3, e5m2, ue8m0, s8, s32 or u8");
  if (out.shape.size() > 3 || out.shape.size() != out.strides.size())
    fields.refuse("strides", fmt::format("{} strides for {} extents", out.strides.size(), out.shape.size()),
                  "a stride for each of up to 3 extents");
  if (fields.has("address")) out.address = fields.address("address");
  return out;
}

std::optional<RecordedMatrix> optional_matrix(const Fields& fields, const std::string& name) {
  if (!fields.has(name) || fields.is_null(name)) return {};
  return read_matrix(fields.object(name));
}

}  // namespace

Result<RecordedLaunch> read_launch(const Record& record) {
  return reading([&] {
    const Fields fields = fields_of(record);
    RecordedLaunch out{origin_of(fields),
                       fields.text("entry"),
                       fields.text_or_empty("module"),
                       fields.text_or_empty("reason"),
                       fields.extent("grid"),
                       fields.extent("block"),
                       fields.optional_extent("cluster"),
                       fields.number_or("shared", 0)};
    for (const Fields& one : fields.objects_or_none("parameters"))
      out.parameters.push_back({one.hex("bytes"), one.text_or_empty("type"), one.text_or_empty("name")});
    for (const Fields& one : fields.objects_or_none("memory"))
      out.memory.push_back(read_memory(one, out.memory.size()));
    refuse_overlaps(fields, out.memory);
    for (const Fields& one : fields.objects_or_none("variables"))
      out.variables.push_back({one.text("name"), one.optional_text("before"), one.optional_text("after")});
    out.stable = fields.optional_flag("stable");
    out.printed = fields.optional_text("printed");
    return out;
  });
}

Result<RecordedProduct> read_product(const Record& record) {
  return reading([&] {
    const Fields fields = fields_of(record);
    RecordedProduct out{origin_of(fields),
                        fields.text("op"),
                        read_matrix(fields.object("a")),
                        read_matrix(fields.object("b")),
                        read_matrix(fields.object("d")),
                        optional_matrix(fields, "c"),
                        optional_matrix(fields, "bias"),
                        optional_matrix(fields, "scale_a"),
                        optional_matrix(fields, "scale_b"),
                        fields.real_or("alpha", 1),
                        fields.real_or("beta", 1)};
    for (const Fields& one : fields.objects_or_none("kernels"))
      out.kernels.push_back({one.text("name"), one.optional_extent("grid").value_or(Dim3{})});
    out.order = fields.text_or_empty("order");
    out.may_round = fields.optional_flag("tf32");
    out.stable = fields.optional_flag("stable");
    return out;
  });
}

Result<RecordedReduction> read_reduction(const Record& record) {
  return reading([&] {
    const Fields fields = fields_of(record);
    RecordedReduction out{origin_of(fields), fields.text("op"), read_matrix(fields.object("x")),
                          read_matrix(fields.object("d"))};
    if (out.x.shape.size() != 2)
      fields.refuse("x", fmt::format("{} extents", out.x.shape.size()), "rows and columns");
    out.v = optional_matrix(fields, "v");
    if (fields.has("axis")) out.axis = static_cast<unsigned>(fields.number("axis"));
    if (out.axis.value_or(0) > 1) fields.refuse("axis", fmt::format("{}", *out.axis), "0 or 1");
    out.epsilon = fields.real_or("epsilon", 0);
    out.order = fields.text_or_empty("order");
    return out;
  });
}

Result<RecordedCopy> read_copy(const Record& record) {
  return reading([&] {
    const Fields fields = fields_of(record);
    RecordedCopy out{origin_of(fields), fields.address("to"), fields.number("bytes"),
                     fields.text_or_empty("data")};
    if (out.data.empty()) out.from = fields.address("from");
    return out;
  });
}

}  // namespace warpbit
