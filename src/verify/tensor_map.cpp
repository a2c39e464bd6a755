// SPDX-License-Identifier: Apache-2.0
// Tensor maps that a driver made of arguments, or refused, and maps of which a GPU replaced a field.
#include "warpbit/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>  // in_range

#include "recording/fields.hpp"
#include "verify/cases/tensor_map_arguments.hpp"
#include "verify/kinds.hpp"

namespace warpbit::verification {
namespace {

using recording::Fields;
using tensor_maps::Arguments;

// ---- Reading

std::uint32_t read_word(const Fields& fields, const std::string& member) {
  const std::uint64_t out = fields.number(member);
  if (out > 0xFFFF'FFFF) fields.refuse(member, fmt::format("{}", out), "a number below 2^32");
  return static_cast<std::uint32_t>(out);
}

template <class Array>
void read_list(const Fields& fields, const std::string& member, Array& out) {
  using Number = typename Array::value_type;
  const auto fill = [&](const auto& list) {
    const auto fits = [](auto n) { return std::in_range<Number>(n); };
    if (list.size() != out.size() || !std::ranges::all_of(list, fits))
      fields.refuse(member, fmt::format("{} numbers", list.size()),
                    fmt::format("{} numbers of {} bits", out.size(), 8 * sizeof(Number)));
    std::ranges::transform(list, out.begin(), [](auto n) { return static_cast<Number>(n); });
  };
  if constexpr (std::is_signed_v<Number>)
    fill(fields.integers(member));
  else
    fill(fields.numbers(member));
}

// Under the names of cuda.h.
Arguments read_arguments(const Fields& fields) {
  Arguments a;
  a.kind = read_word(fields, "function");
  if (a.kind > tensor_maps::kIm2colWide)
    fields.refuse("function", fmt::format("{}", a.kind), "0 (tiled), 1 (im2col) or 2 (im2col wide)");
  a.address = fields.address("address");
  read_list(fields, "dim", a.dim), read_list(fields, "stride", a.stride);
  read_list(fields, "box", a.box), read_list(fields, "step", a.step);
  read_list(fields, "lower", a.lower), read_list(fields, "upper", a.upper);
  for (const auto& [member, to] : {std::pair("type", &a.dataType),
                                   {"rank", &a.rank},
                                   {"channels", &a.channels},
                                   {"pixels", &a.pixels},
                                   {"interleave", &a.interleave},
                                   {"mode", &a.mode},
                                   {"swizzle", &a.swizzle},
                                   {"promotion", &a.promotion},
                                   {"fill", &a.fill}})
    *to = read_word(fields, member);
  return a;
}

TensorMapBytes read_map(const Fields& fields, const std::string& member) {
  const std::vector<std::byte> bytes = fields.hex(member);
  TensorMapBytes out{};
  if (bytes.size() != out.size())
    fields.refuse(member, fmt::format("{} bytes", bytes.size()), fmt::format("{} bytes", out.size()));
  std::ranges::copy(bytes, out.begin());
  return out;
}

// ---- Maps of arguments

// Without what the driver ignores.
TensorMap essential(TensorMap m) {
  for (auto i = static_cast<std::size_t>(m.rank); i < 5; ++i)
    m.global_dim[i] = m.global_stride[i - 1] = m.box_dim[i] = m.element_stride[i] = 0;
  if (m.mode == TensorMapMode::tiled) {
    m.pixel_box_lower = m.pixel_box_upper = {};
    m.channels_per_pixel = m.pixels_per_column = 0;
    return m;
  }
  m.box_dim = {};
  for (std::size_t i = static_cast<std::size_t>(m.rank) - 2; i < 3; ++i)
    m.pixel_box_lower[i] = m.pixel_box_upper[i] = 0;
  return m;
}

/// What becomes of arguments: a map, or nothing if they are refused; and what is wrong if decoding gives others.
struct Made {
  std::optional<TensorMapBytes> map = {};
  std::string wrong = {};
};

Made made(const Arguments& a) {
  const std::optional<TensorMap> m = tensor_map_arguments::tensor_map(a);
  if (!m) return {};
  const Result<TensorMapBytes> map = m->encode();
  if (!map) return {};
  const Result<TensorMap> decoded = TensorMap::decode(*map);
  return {*map, decoded && *decoded == essential(*m) ? "" : "the map is decoded to other arguments"};
}

// How the map of a driver is another one.
std::string difference(const std::optional<TensorMapBytes>& expected, const Made& got) {
  if (expected.has_value() != got.map.has_value())
    return expected ? "the driver takes the arguments, and here they are refused"
                    : "the driver refuses the arguments, and here they are taken";
  if (!expected || *expected == *got.map) return got.wrong;
  const auto [x, y] = std::ranges::mismatch(*expected, *got.map);
  return fmt::format("byte {} differs: expected {:#04x}, got {:#04x}", x - expected->begin(),
                     std::to_integer<unsigned>(*x), std::to_integer<unsigned>(*y));
}

FileStatus compared(const std::string& difference, FileReport& report) {
  report.cases = report.elements = 1;
  if (difference.empty()) return FileStatus::replayed;
  ++report.mismatches;
  report.notes.push_back(difference);
  return FileStatus::replayed;
}

struct RecordedMap {
  Arguments arguments;
  std::optional<TensorMapBytes> map;
};

// ---- Many generated ones

struct Generator {
  std::string_view name;
  std::size_t count;  // of what is drawn; 0: a list
  std::vector<Arguments> (*list)();
  Arguments (*draw)(std::uint64_t seed);
};
constexpr Generator kGenerators[] = {{"varied", 0, tensor_maps::varied, nullptr},
                                     {"combined", 0, tensor_maps::combined, nullptr},
                                     {"large", 0, tensor_maps::large, nullptr},
                                     {"legal", 12000, nullptr, tensor_maps::legal},
                                     {"near", 16000, nullptr, tensor_maps::near_limits}};

/// The sets of a generator, made once.
const std::vector<Arguments>& sets_of(const Generator& generator) {
  static const std::vector<std::vector<Arguments>> kSets = [] {
    std::vector<std::vector<Arguments>> out;
    for (const Generator& one : kGenerators) {
      out.push_back(one.list != nullptr ? one.list() : std::vector<Arguments>());
      for (std::uint64_t seed = 1; seed <= one.count; ++seed) out.back().push_back(one.draw(seed));
    }
    return out;
  }();
  return kSets[static_cast<std::size_t>(&generator - kGenerators)];
}

/// Some sets of a generator, with the digest of the maps that a driver made of them.
struct RecordedMaps {
  const Generator* generator = nullptr;
  std::uint64_t first = 0, count = 0;
  std::string refused, digest;

  /// Whether the driver refused a set: its bit in `refused`, the first set the lowest.
  bool is_refused(std::uint64_t i) const {
    if (i / 4 >= refused.size()) return false;
    const char digit = refused[refused.size() - 1 - i / 4];
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    return (value >> i % 4 & 1) != 0;
  }
};

std::string read_digits(const Fields& fields, const std::string& member) {
  std::string out = fields.text(member);
  if (out.empty() || out.find_first_not_of("0123456789abcdef") != out.npos)
    fields.refuse(member, fmt::format("'{}'", out), "hexadecimal digits");
  return out;
}

RecordedMaps read_maps(const Fields& fields) {
  RecordedMaps out;
  const std::string name = fields.text("generator");
  out.generator = std::ranges::find(kGenerators, name, &Generator::name);
  if (out.generator == std::end(kGenerators))
    fields.refuse("generator", fmt::format("'{}'", name), "varied, combined, large, legal or near");
  out.first = fields.number("first"), out.count = fields.number("count");
  const std::uint64_t all = sets_of(*out.generator).size();
  if (out.first > all || out.count > all - out.first)
    fields.refuse("count", fmt::format("{} sets from {} on", out.count, out.first),
                  fmt::format("some of the {} sets", all));
  out.refused = read_digits(fields, "refused"), out.digest = read_digits(fields, "digest");
  return out;
}

// ---- Replaced fields

struct Change {
  std::string field;
  std::uint64_t ordinal = 0, value = 0;
  TensorMapBytes map{}, changed{};
};

// The address: all of its 57 bits, which cuTensorMapReplaceAddress has, and the rest as it was.
void replace_by_driver(TensorMap& m, std::size_t, std::uint64_t value) {
  m.global_address = m.global_address >> 57 << 57 | value;
}

/// What a replacement does to the arguments, by the PTX manual.
struct ReplacedField {
  std::string_view name;
  void (*replace)(TensorMap& m, std::size_t i, std::uint64_t value);
};
constexpr ReplacedField kFields[] = {
    {"driver", replace_by_driver},
    {"global_address", [](TensorMap& m, std::size_t, std::uint64_t v) { m.global_address = v; }},
    {"rank", [](TensorMap& m, std::size_t, std::uint64_t v) { m.rank = static_cast<int>(v) + 1; }},
    {"box_dim",
     [](TensorMap& m, std::size_t i, std::uint64_t v) { m.box_dim[i] = static_cast<std::uint32_t>(v); }},
    {"global_dim", [](TensorMap& m, std::size_t i, std::uint64_t v) { m.global_dim[i] = v; }},
    {"global_stride", [](TensorMap& m, std::size_t i, std::uint64_t v) { m.global_stride[i] = v; }},
    {"element_stride",
     [](TensorMap& m, std::size_t i, std::uint64_t v) { m.element_stride[i] = static_cast<std::uint32_t>(v); }},
    {"elemtype", [](TensorMap& m, std::size_t, std::uint64_t v) { m.elemtype = static_cast<TensorType>(v); }},
    {"interleave_layout", [](TensorMap& m, std::size_t,
                             std::uint64_t v) { m.interleave_layout = static_cast<TensorInterleave>(v); }},
    {"swizzle_mode",
     [](TensorMap& m, std::size_t, std::uint64_t v) {
       constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64,
                                        Swizzle::bytes_128};
       m.swizzle_mode = kSwizzles[v % 4];
     }},
    {"fill_mode", [](TensorMap& m, std::size_t, std::uint64_t v) { m.fill_mode = static_cast<TensorFill>(v); }},
};

Change read_change(const Fields& fields) {
  Change out{fields.text("field"), fields.number("ordinal"), fields.address("value"), read_map(fields, "map"),
             read_map(fields, "changed")};
  if (std::ranges::find(kFields, out.field, &ReplacedField::name) == std::end(kFields))
    fields.refuse("field", fmt::format("'{}'", out.field), "a field of tensormap.replace, or driver");
  if (out.field != "driver" && out.ordinal > 4)
    fields.refuse("ordinal", fmt::format("{}", out.ordinal), "a number from 0 to 4");
  return out;
}

// Why a replacement tells nothing about arguments; empty if it does.
std::string nothing_told(const Change& change, const Result<TensorMap>& before) {
  if (!before) return "the map has no arguments: " + before.error().message();
  if (change.field == "driver") return change.ordinal == 0 ? "" : "the driver refused the address";
  const std::uint64_t last = change.ordinal + (change.field == "global_stride" ? 1 : 0);
  if (last >= static_cast<std::uint64_t>(before->rank))
    return fmt::format("{}[{}] is no argument of a map of rank {}", change.field, change.ordinal, before->rank);
  if (before->mode == TensorMapMode::tiled) return "";
  if (change.field == "box_dim") return "box_dim is no argument of im2col";
  return change.field == "rank" && change.value < 2 ? "im2col has no such rank" : "";
}

}  // namespace

Result<FileStatus> verify_tensor_map(const Subject& subject, FileReport& report) {
  report.target = subject.recording.header().target;
  const auto recorded = recording::reading([&] {
    const Fields fields = recording::fields_of(subject.record);
    RecordedMap out{read_arguments(fields.object("arguments")), {}};
    if (fields.has("map")) out.map = read_map(fields, "map");
    return out;
  });
  if (!recorded) return recorded.error();
  report.header.statement =
      recorded->map ? "arguments that the driver takes" : "arguments that the driver refuses";
  return compared(difference(recorded->map, made(recorded->arguments)), report);
}

Result<FileStatus> verify_tensor_maps(const Subject& subject, FileReport& report) {
  report.target = subject.recording.header().target;
  const auto recorded = recording::reading([&] { return read_maps(recording::fields_of(subject.record)); });
  if (!recorded) return recorded.error();
  report.header.statement = recorded->generator->name;
  std::uint64_t digest = 0xcbf29ce484222325U;  // FNV-1a
  for (std::uint64_t i = 0; i < recorded->count; ++i) {
    const Made one = made(sets_of(*recorded->generator)[recorded->first + i]);
    ++report.cases, ++report.elements;
    if (one.map.has_value() == recorded->is_refused(i) || !one.wrong.empty()) {
      ++report.mismatches;
      report.notes.push_back(fmt::format("set {}: {}", recorded->first + i,
                                         !one.wrong.empty() ? one.wrong
                                         : recorded->is_refused(i)
                                             ? "the driver refuses it, and here it is taken"
                                             : "the driver takes it, and here it is refused"));
    }
    for (std::size_t byte = 0; one.map && byte < one.map->size(); ++byte)
      digest = (digest ^ std::to_integer<std::uint64_t>((*one.map)[byte])) * 0x100000001b3U;
  }
  if (const std::string got = fmt::format("{:016x}", digest); got != recorded->digest) {
    ++report.mismatches;
    report.notes.push_back(
        fmt::format("the digest of the maps differs: expected {}, got {}", recorded->digest, got));
  }
  return FileStatus::replayed;
}

Result<FileStatus> verify_tensor_map_change(const Subject& subject, FileReport& report) {
  report.target = subject.recording.header().target;
  const auto change = recording::reading([&] { return read_change(recording::fields_of(subject.record)); });
  if (!change) return change.error();
  report.header.statement = change->field;
  const Result<TensorMap> before = TensorMap::decode(change->map);
  if (const std::string why = nothing_told(*change, before); !why.empty()) {
    report.notes.push_back(why);
    return FileStatus::not_reproducible;
  }
  TensorMap expected = *before;
  std::ranges::find(kFields, change->field, &ReplacedField::name)
      ->replace(expected, change->ordinal, change->value);
  const Result<TensorMap> after = TensorMap::decode(change->changed);
  if (!after) return compared("the map that the GPU left has no arguments: " + after.error().message(), report);
  const bool is_same = change->field == "rank" ? after->rank == expected.rank : *after == expected;
  return compared(is_same ? "" : "the map that the GPU left has other arguments", report);
}

}  // namespace warpbit::verification
