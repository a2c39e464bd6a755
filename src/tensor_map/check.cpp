// SPDX-License-Identifier: Apache-2.0
// What the driver refuses (LAYOUT.md, "What is refused"), and what looks wrong.
#include <fmt/format.h>

#include <algorithm>
#include <utility>  // std::cmp_less

#include "tensor_map/fields.hpp"
#include "warpbit/descriptor.hpp"  // span_bytes

namespace warpbit {
namespace {

bool is_floating(TensorType type) {
  return type >= TensorType::f16;
}

class Refusals {
 public:
  explicit Refusals(const TensorMap& m) : m_(m) {}

  std::vector<Error> run() {
    check_enumerators();
    const bool three = m_.mode == TensorMapMode::im2col || m_.interleave_layout != TensorInterleave::none;
    check("rank", m_.rank, three ? 3 : 1, 5,
          m_.mode == TensorMapMode::im2col ? " with im2col"
          : three                          ? " with an interleave"
                                           : "");
    if (!out_.empty()) return std::move(out_);  // the others depend on these
    check_tensor();
    if (m_.mode == TensorMapMode::tiled)
      check_box();
    else
      check_pixels();
    if (out_.empty() && m_.box_bytes() > kMaxBoxBytes)
      add("a copy", fmt::format("{} bytes", m_.box_bytes()), fmt::format("at most {}", kMaxBoxBytes));
    return std::move(out_);
  }

 private:
  void add(std::string where, std::string seen, std::string accepted) {
    out_.push_back({Errc::descriptor_field, std::move(where), std::move(seen), std::move(accepted)});
  }

  template <class Number>
  void check(const std::string& where, Number value, std::int64_t least, std::int64_t most,
             std::string_view why = "") {
    if (std::cmp_less(value, least) || std::cmp_greater(value, most))
      add(where, fmt::format("{}", value), fmt::format("{} to {}{}", least, most, why));
  }
  template <class Enum>
  void check_enumerator(const char* where, Enum value, Enum last) {
    check(where, static_cast<int>(value), 0, static_cast<int>(last));
  }
  void check_multiple(const std::string& where, std::uint64_t value) {
    const bool wide = m_.interleave_layout == TensorInterleave::bytes_32;
    if (value % (wide ? 32 : 16) != 0)
      add(where, fmt::format("{:#x}", value),
          wide ? "a multiple of 32 with an interleave of 32 bytes" : "a multiple of 16");
  }
  std::size_t rank() const { return static_cast<std::size_t>(m_.rank); }

  void check_enumerators() {
    check_enumerator("mode", m_.mode, TensorMapMode::im2col);
    check_enumerator("elemtype", m_.elemtype, TensorType::tf32_ftz);
    check_enumerator("interleave_layout", m_.interleave_layout, TensorInterleave::bytes_32);
    check_enumerator("swizzle_mode", m_.swizzle_mode, Swizzle::bytes_32);
    check_enumerator("l2_promotion", m_.l2_promotion, L2Promotion::bytes_256);
    check_enumerator("fill_mode", m_.fill_mode, TensorFill::nan);
  }

  void check_tensor() {
    constexpr std::uint64_t kAddresses = std::uint64_t{1} << 57, kStrides = std::uint64_t{1} << 40;
    if (m_.fill_mode == TensorFill::nan && !is_floating(m_.elemtype))
      add("fill_mode", fmt::format("nan for elements of {}", name(m_.elemtype)),
          "zeros, or elements of a floating-point type");
    check_multiple("global_address", m_.global_address);
    if (m_.global_address >= kAddresses)
      add("global_address", fmt::format("{:#x}", m_.global_address), "an address below 2^57");
    for (std::size_t i = 0; i < rank(); ++i) {
      check(fmt::format("global_dim[{}]", i), m_.global_dim[i], 1, std::int64_t{1} << 32);
      check(fmt::format("element_stride[{}]", i), m_.element_stride[i], 1, 8);
    }
    for (std::size_t i = 0; i + 1 < rank(); ++i) {
      const std::string where = fmt::format("global_stride[{}]", i);
      check_multiple(where, m_.global_stride[i]);
      if (m_.global_stride[i] >= kStrides)
        add(where, fmt::format("{:#x}", m_.global_stride[i]), "bytes below 2^40");
    }
  }

  // The contiguous elements of a copy: whole 16 bytes, in a swizzle's span.
  void check_inner(const char* where, std::uint32_t elements) {
    const std::uint64_t bytes = std::uint64_t{elements} * element_bytes(m_.elemtype);
    const auto span = static_cast<std::uint64_t>(span_bytes(m_.swizzle_mode));
    if (bytes % 16 != 0)
      add(where, fmt::format("{} elements of {}, {} bytes", elements, name(m_.elemtype), bytes),
          "a multiple of 16 bytes");
    if (m_.swizzle_mode != Swizzle::none && m_.interleave_layout == TensorInterleave::none && bytes > span)
      add(where, fmt::format("{} elements of {}, {} bytes", elements, name(m_.elemtype), bytes),
          fmt::format("at most the {} bytes of the swizzle", span));
  }

  void check_box() {
    for (std::size_t i = 0; i < rank(); ++i) check(fmt::format("box_dim[{}]", i), m_.box_dim[i], 1, 256);
    check_inner("box_dim[0]", m_.box_dim[0]);
  }

  void check_pixels() {
    check("channels_per_pixel", m_.channels_per_pixel, 1, 256);
    check("pixels_per_column", m_.pixels_per_column, 1, 1024);
    check_inner("channels_per_pixel", m_.channels_per_pixel);
    const std::int64_t half = std::int64_t{1} << (tensor_map::corner_bits(m_.rank) - 1);
    for (std::size_t i = 0; i + 2 < rank(); ++i) {
      check(fmt::format("pixel_box_lower[{}]", i), m_.pixel_box_lower[i], -half, half - 1);
      check(fmt::format("pixel_box_upper[{}]", i), m_.pixel_box_upper[i], -half, half - 1);
      check_image(i);
    }
  }

  // The driver counts with 32 bits. With an interleave W is the first dimension, else channels are.
  void check_image(std::size_t i) {
    const std::size_t at = m_.interleave_layout == TensorInterleave::none ? i + 1 : i;
    const std::uint64_t extent = m_.global_dim[at] +
                                 static_cast<std::uint64_t>(std::int64_t{m_.pixel_box_upper[i]}) -
                                 static_cast<std::uint64_t>(std::int64_t{m_.pixel_box_lower[i]});
    if (static_cast<std::int32_t>(static_cast<std::uint32_t>(extent)) > 0) return;
    add(fmt::format("the image between pixel_box_lower[{0}] and pixel_box_upper[{0}]", i),
        fmt::format("global_dim[{}] {} from {} to {} beyond", at, m_.global_dim[at], m_.pixel_box_lower[i],
                    m_.pixel_box_upper[i]),
        "at least one element, and less than 2^31");
  }

  const TensorMap& m_;
  std::vector<Error> out_;
};

// Findings about a map that has arguments.
class Check {
 public:
  Check(const tensor_map::Words& words, const TensorMap& m) : words_(words), m_(m) {}

  std::vector<TensorMapFinding> run() {
    const std::vector<Error> refused = m_.refusals();
    for (const Error& error : refused) add(TensorMapIssue::refused, error.message());
    if (m_.interleave_layout == TensorInterleave::bytes_32 && m_.swizzle_mode != Swizzle::bytes_32)
      add(TensorMapIssue::undocumented,
          fmt::format("swizzle_mode: {} with an interleave of 32 bytes; cuda.h asks for the 32-byte swizzle",
                      name(m_.swizzle_mode)));
    if (m_.interleave_layout == TensorInterleave::none) check_overlap();
    check_bits();
    return std::move(out_);
  }

 private:
  void add(TensorMapIssue issue, std::string message) { out_.push_back({issue, std::move(message)}); }

  // Each dimension, as cuda.h has it, begins behind the one before.
  void check_overlap() {
    std::uint64_t step = element_bytes(m_.elemtype);
    for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(m_.rank); ++i) {
      const std::uint64_t stride = m_.global_stride[i], dim = m_.global_dim[i];
      // What fills 2^40 bytes has no stride behind it.
      if (m_.global_dim[i + 1] > 1 && (stride < step || (stride - step) / step + 1 < dim))
        add(TensorMapIssue::overlap,
            fmt::format("global_stride[{}]: {} bytes, but {} elements of dimension {} fill {} each{}", i,
                        stride, dim, i, step,
                        i == 0 && step > 1 && stride == dim ? "; it looks like a number of elements" : ""));
      step = std::max<std::uint64_t>(stride, 1);
    }
  }

  void check_bits() {
    const tensor_map::Words expected = tensor_map::packed(m_);
    const auto is_derived = [](std::size_t word) {
      return word == tensor_map::kBoxBytes.bit / 32 || word == tensor_map::kAlignment.bit / 32;
    };
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (const std::uint32_t other = words_[i] & ~expected[i]; other != 0 && !is_derived(i))
        add(TensorMapIssue::ignored_bits,
            fmt::format("word {}: bits {:#x} are set, which no field has", i, other));
    check_derived("the bytes of a copy", tensor_map::kBoxBytes, expected);
    check_derived("the alignment of its place", tensor_map::kAlignment, expected);
  }
  void check_derived(std::string_view what, tensor_map::Field at, const tensor_map::Words& expected) {
    const std::size_t word = at.bit / 32;
    if (words_[word] != expected[word])
      add(TensorMapIssue::stale,
          fmt::format("word {}: {} is {}, but by the fields it is {}; `tensormap.replace` leaves it", word,
                      what, words_[word], expected[word]));
  }

  const tensor_map::Words& words_;
  const TensorMap& m_;
  std::vector<TensorMapFinding> out_;
};

}  // namespace

std::vector<Error> TensorMap::refusals() const {
  return Refusals(*this).run();
}

std::vector<TensorMapFinding> check_tensor_map(std::span<const std::byte, 128> map) {
  const Result<TensorMap> decoded = TensorMap::decode(map);
  if (!decoded) return {{TensorMapIssue::unknown_code, decoded.error().message()}};
  return Check(tensor_map::words_of(map), *decoded).run();
}

}  // namespace warpbit
