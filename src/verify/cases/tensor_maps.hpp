// SPDX-License-Identifier: Apache-2.0
// The arguments of tensor maps that recordings name by a generator: tools/capture/tensor_maps.cu asks a driver for the maps, and
// verify warpbit. C++17, needs nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tensor_maps {

/// The driver's functions: cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide.
enum Kind : std::uint32_t { kTiled, kIm2col, kIm2colWide };

/// What they take, under the names of cuda.h. Enumerations are their numbers there. A function ignores what it has no
/// parameter for.
struct Arguments {
  std::uint32_t kind = kTiled;
  std::uint32_t dataType = 0, rank = 0;
  std::uint64_t address = 0;
  std::array<std::uint64_t, 5> dim{};
  std::array<std::uint64_t, 4> stride{};
  std::array<std::uint32_t, 5> box{};
  std::array<std::uint32_t, 5> step{};           // elementStrides
  std::array<std::int32_t, 3> lower{}, upper{};  // corners of the pixel box; of the wide function the first
  std::uint32_t channels = 0, pixels = 0;
  std::uint32_t interleave = 0, mode = 0, swizzle = 0, promotion = 0, fill = 0;
};

// cuda.h: bits of an element, and whether it is a floating-point number.
struct DataType {
  std::uint32_t bits;
  bool is_floating;
};
inline constexpr std::array<DataType, 16> kDataTypes{{{8, false},
                                                      {16, false},
                                                      {32, false},
                                                      {32, false},
                                                      {64, false},
                                                      {64, false},
                                                      {16, true},
                                                      {32, true},
                                                      {64, true},
                                                      {16, true},
                                                      {32, true},
                                                      {32, true},
                                                      {32, true},
                                                      {4, false},
                                                      {4, false},
                                                      {6, false}}};
/// SplitMix64.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0xD1B54A32D192ED03u) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
  std::uint32_t below32(std::uint32_t n) { return static_cast<std::uint32_t>(below(n)); }
  /// In [1, 2^bits], small numbers as often as large ones.
  std::uint64_t magnitude(std::uint32_t bits) {
    const std::uint64_t range = std::uint64_t{1} << below(bits + 1);
    return 1 + below(range);
  }
  template <class List>
  typename List::value_type of(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t state_;
};

// ---- Legal arguments

inline constexpr std::uint64_t kMostBytes = 228 << 10;  // of a box: the shared memory of a multiprocessor

inline std::uint64_t element_bytes(const Arguments& a) {
  return kDataTypes[a.dataType].bits / 8;
}

// A number of elements of the innermost dimension that is copied: whole 16 bytes, no more than the swizzle's span.
inline std::uint32_t inner_elements(Draw& draw, const Arguments& a) {
  const std::uint32_t bytes = kDataTypes[a.dataType].bits / 8;
  const std::uint32_t span = a.swizzle == 0 || a.interleave != 0 ? 256 * bytes : 16u << a.swizzle;
  return 16 * (1 + draw.below32((span < 256 * bytes ? span : 256 * bytes) / 16)) / bytes;
}

// A corner in one dimension: 16, 8 or 5 bits.
inline std::int32_t corner(Draw& draw, std::uint32_t rank) {
  const auto magnitude = static_cast<std::int32_t>(draw.magnitude(rank == 3 ? 15 : rank == 4 ? 7 : 4));
  return draw.below(2) ? -magnitude : magnitude - 1;
}

inline void draw_box(Draw& draw, Arguments& a) {
  a.box[0] = a.channels = inner_elements(draw, a);
  for (std::size_t i = 1; i < 5; ++i) a.box[i] = static_cast<std::uint32_t>(draw.magnitude(8));
  a.pixels = static_cast<std::uint32_t>(draw.magnitude(10));
  while (element_bytes(a) * a.channels * a.pixels > kMostBytes) a.pixels = (a.pixels + 1) / 2;
  const auto bytes = [&] {
    std::uint64_t out = element_bytes(a);
    for (std::size_t i = 0; i < a.rank; ++i) out *= a.box[i];
    return out;
  };
  for (std::size_t i = 4; bytes() > kMostBytes; i = i == 1 ? 4 : i - 1) a.box[i] = (a.box[i] + 1) / 2;
  for (std::size_t i = 0; i < 3; ++i) {
    a.lower[i] = corner(draw, a.rank);
    a.upper[i] = corner(draw, a.rank);
  }
}

// The image of the corners must not be empty: with 32 bits, D + upper - lower > 0.
inline void fit_image(Draw& draw, Arguments& a) {
  for (std::size_t i = 0; a.kind != kTiled && i + 2 < a.rank; ++i) {
    const bool has_corner = a.kind == kIm2col || i == 0;
    const std::int64_t border = has_corner ? std::int64_t{a.lower[i]} - a.upper[i] : 0;
    std::uint64_t& dim = a.dim[a.interleave == 0 ? i + 1 : i];
    if (border > 0) dim = static_cast<std::uint64_t>(border) + draw.magnitude(16);
    if (dim > std::uint64_t{1} << 31) dim >>= 1;
    if (dim > (std::uint64_t{1} << 31) - (1 << 17)) dim -= 1 << 17;
  }
}

inline void draw_tensor(Draw& draw, Arguments& a) {
  const std::uint64_t align = a.interleave == 2 ? 32 : 16;
  a.address = (draw() >> (7 + draw.below(40))) / align * align;
  const bool is_dense = draw.below(2) != 0;
  for (std::size_t i = 0; i < 5; ++i) a.dim[i] = draw.magnitude(is_dense ? 12 : 32);
  fit_image(draw, a);
  std::uint64_t bytes = a.dim[0] * element_bytes(a);
  for (std::size_t i = 0; i < 4; ++i) {
    if (is_dense) {
      a.stride[i] = (bytes + align - 1) / align * align + align * (draw.below(2) ? draw.below(16) : 0);
      bytes = a.stride[i] * a.dim[i + 1];
    }
    if (!is_dense || a.stride[i] >= std::uint64_t{1} << 40)
      a.stride[i] = draw.magnitude(40) % (std::uint64_t{1} << 40) / align * align;
  }
  for (std::size_t i = 0; i < 5; ++i) a.step[i] = draw.below(2) ? 1 : 1 + draw.below32(8);
}

/// Arguments that the driver takes for a GPU of compute capability 9.0: two thirds are of tiles, a twelfth is for the
/// wide function.
inline Arguments legal(std::uint64_t seed) {
  Draw draw(seed);
  Arguments a;
  a.kind = draw.below(3) != 0 ? kTiled : draw.below(4) != 0 ? kIm2col : kIm2colWide;
  a.dataType = draw.below32(13);
  a.rank = a.kind == kTiled ? 1 + draw.below32(5) : 3 + draw.below32(3);
  a.interleave = a.rank >= 3 && draw.below(2) ? 1 + draw.below32(2) : 0;
  a.mode = draw.below32(2);
  a.swizzle = draw.below32(4);
  a.promotion = draw.below32(4);
  a.fill = kDataTypes[a.dataType].is_floating ? draw.below32(2) : 0;
  draw_box(draw, a);
  draw_tensor(draw, a);
  return a;
}

// ---- Arguments near the limits

inline constexpr std::array<std::uint64_t, 26> kNearNumbers{
    0, 1, 2, 3, 4, 7, 8, 9, 10, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 128, 129, 255, 256, 257};

// A power of two, or a number near it.
inline std::uint64_t near_power(Draw& draw, std::uint32_t bits) {
  const std::uint64_t power = std::uint64_t{1} << draw.below(bits);
  static constexpr std::array<std::uint64_t, 7> kOffsets{
      0, 0, 1, 16, 0 - std::uint64_t{1}, 0 - std::uint64_t{16}, 8};
  return power + draw.of(kOffsets);
}

/// One argument becomes another that may be illegal.
inline void spoil(Draw& draw, Arguments& a) {
  const std::size_t i = draw.below(a.rank < 5 ? a.rank + 1 : 5);
  switch (draw.below(14)) {
    case 0: a.dataType = draw.below32(18); break;
    case 1: a.rank = draw.below32(7); break;
    case 2: a.address += std::uint64_t{1} << draw.below(64); break;
    case 3: a.dim[i] = near_power(draw, 35); break;
    case 4: a.stride[i % 4] = near_power(draw, 44); break;
    case 5: a.box[i] = static_cast<std::uint32_t>(draw.of(kNearNumbers)); break;
    case 6: a.step[i] = draw.below32(11); break;
    case 7: a.interleave = draw.below32(4); break;
    case 8: a.swizzle = draw.below32(8); break;
    case 9: a.promotion = draw.below32(5); break;
    case 10: a.fill = draw.below32(3); break;
    case 11: a.channels = static_cast<std::uint32_t>(draw.of(kNearNumbers)); break;
    case 12: a.pixels = static_cast<std::uint32_t>(near_power(draw, 12)); break;
    default: {
      const auto value = static_cast<std::int32_t>(near_power(draw, 17));
      (draw.below(2) ? a.lower : a.upper)[i % 3] = draw.below(2) ? value : -value;
    }
  }
}

/// Legal arguments, one or two of them spoiled.
inline Arguments near_limits(std::uint64_t seed) {
  Arguments a = legal(seed ^ 0x5555555555u);
  Draw draw(seed);
  for (std::uint64_t n = 1 + draw.below(2); n > 0; --n) spoil(draw, a);
  return a;
}

// ---- One argument at a time

/// A legal set from which one argument is varied.
inline Arguments base(std::uint32_t kind, std::uint32_t type, std::uint32_t rank, std::uint32_t interleave,
                      std::uint32_t swizzle) {
  Arguments a;
  a.kind = kind;
  a.dataType = type;
  a.rank = rank;
  a.address = 0x7f1234560000u;
  a.dim = {256, 48, 40, 36, 34};
  a.stride = {0x1000, 0x40000, 0x1000000, 0x40000000};
  a.box = {128 / kDataTypes[type].bits, 6, 5, 4, 3};  // 16 bytes
  a.step = {1, 1, 1, 1, 1};
  a.lower = {-2, -1, -3};
  a.upper = {1, 2, 3};
  a.channels = a.box[0];
  a.pixels = 64;
  a.interleave = interleave;
  a.swizzle = swizzle;
  return a;
}

inline std::vector<Arguments> bases() {
  std::vector<Arguments> out;
  for (const Kind kind : {kTiled, kIm2col}) {
    for (std::uint32_t rank = kind == kTiled ? 1 : 3; rank <= 5; ++rank) {
      out.push_back(base(kind, 6, rank, 0, 0));
      if (rank >= 3) out.push_back(base(kind, 6, rank, 1, 0));
      if (rank >= 3) out.push_back(base(kind, 9, rank, 2, 1));
    }
    for (const std::uint32_t type : {0u, 7u, 8u}) out.push_back(base(kind, type, 3, 0, 0));
    out.push_back(base(kind, 6, 4, 0, 1));
    out.push_back(base(kind, 0, 4, 1, 3));
    out.push_back(base(kind, 6, 4, 0, 3));
  }
  for (std::uint32_t rank = 3; rank <= 5; ++rank) out.push_back(base(kIm2colWide, 6, rank, 0, 3));
  return out;
}

/// All sets that differ from a base in one argument, by its values near powers of two and limits.
inline void vary(const Arguments& from, std::vector<Arguments>& out) {
  const auto with = [&](auto change) {
    Arguments a = from;
    change(a);
    out.push_back(a);
  };
  std::vector<std::uint64_t> near;  // 0, powers of two, their neighbours
  for (std::uint32_t bit = 0; bit < 44; ++bit)
    for (const std::uint64_t offset : {0 - std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{1}})
      near.push_back((std::uint64_t{1} << bit) + offset);
  with([](Arguments&) {});
  for (std::uint32_t v = 0; v < 18; ++v) with([&](Arguments& a) { a.dataType = v; });
  for (std::uint32_t v = 0; v < 8; ++v) with([&](Arguments& a) { a.rank = v; });
  for (std::uint32_t bit = 0; bit < 64; ++bit) {
    with([&](Arguments& a) { a.address = std::uint64_t{1} << bit; });
    with([&](Arguments& a) { a.address ^= std::uint64_t{1} << bit; });
  }
  with([](Arguments& a) { a.address = 0; });
  for (std::size_t i = 0; i < 5; ++i) {
    for (const std::uint64_t v : near)
      if (v <= (std::uint64_t{1} << 34)) with([&](Arguments& a) { a.dim[i] = v; });
    for (const std::uint64_t v : kNearNumbers)
      with([&](Arguments& a) { a.box[i] = static_cast<std::uint32_t>(v); });
    for (const std::uint32_t v : {80u, 112u, 160u, 176u, 192u, 208u, 224u, 240u, 512u, 1024u, 65536u, 1u << 31})
      with([&](Arguments& a) { a.box[i] = v; });
    for (const std::uint32_t v : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 16u, 17u, 32u, 64u, 256u, 257u})
      with([&](Arguments& a) { a.step[i] = v; });
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::uint32_t bit = 0; bit < 44; ++bit)
      for (const std::uint64_t v :
           {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 16, (std::uint64_t{1} << bit) + 16,
            (std::uint64_t{1} << bit) - 32, std::uint64_t{16} * 37 * bit})
        with([&](Arguments& a) { a.stride[i] = v; });
  for (std::uint32_t v = 0; v < 9; ++v) {
    with([&](Arguments& a) { a.interleave = v; });
    with([&](Arguments& a) { a.swizzle = v; });
    with([&](Arguments& a) { a.promotion = v; });
    with([&](Arguments& a) { a.fill = v; });
    with([&](Arguments& a) { a.mode = v; });
  }
  for (const std::uint64_t v : kNearNumbers) {
    with([&](Arguments& a) { a.channels = static_cast<std::uint32_t>(v); });
    with([&](Arguments& a) { a.pixels = static_cast<std::uint32_t>(v); });
  }
  for (const std::uint32_t v :
       {160u, 192u, 224u, 240u, 511u, 512u, 513u, 1000u, 1023u, 1024u, 1025u, 2048u, 65536u, 1u << 31}) {
    with([&](Arguments& a) { a.channels = v; });
    with([&](Arguments& a) { a.pixels = v; });
  }
  for (std::size_t i = 0; i < 3; ++i)
    for (std::uint32_t bit = 0; bit < 18; ++bit)
      for (const std::int32_t offset : {-1, 0, 1})
        for (const std::int32_t sign : {1, -1}) {
          const std::int32_t v = sign * ((1 << bit) + offset);
          with([&](Arguments& a) { a.lower[i] = v; });
          with([&](Arguments& a) { a.upper[i] = v; });
        }
}

inline std::vector<Arguments> varied() {
  std::vector<Arguments> out;
  for (const Arguments& a : bases()) vary(a, out);
  return out;
}

/// All data types, interleaves, swizzles and fills with several sizes of the innermost dimension.
inline std::vector<Arguments> combined() {
  std::vector<Arguments> out;
  for (const Kind kind : {kTiled, kIm2col})
    for (std::uint32_t type = 0; type < kDataTypes.size(); ++type)
      for (std::uint32_t interleave = 0; interleave < 3; ++interleave)
        for (std::uint32_t swizzle = 0; swizzle < 7; ++swizzle)
          for (std::uint32_t fill = 0; fill < 2; ++fill)
            for (const std::uint32_t bytes : {8u, 16u, 24u, 32u, 48u, 64u, 80u, 96u, 128u, 144u, 160u, 256u}) {
              Arguments a = base(kind, type, 4, interleave, swizzle);
              a.fill = fill;
              a.box[0] = a.channels = bytes * 8 / kDataTypes[type].bits;
              out.push_back(a);
            }
  return out;
}

/// Boxes of about as many bytes as the shared memory has, of f16; some with element strides, by which boxes of tiles are
/// divided.
inline std::vector<Arguments> large() {
  std::vector<Arguments> out;
  for (std::uint32_t units = kMostBytes / 16 - 40; units < kMostBytes / 16 + 40; ++units) {
    Arguments a = base(kTiled, 6, 4, 0, 0);
    for (std::uint32_t i = 256; i > 28; --i)
      for (std::uint32_t j = 256; j > 28; --j) {
        if (units % (i * j) != 0 || units / (i * j) > 32) continue;
        a.box = {8 * (units / (i * j)), i, j, 1, 1};
        out.push_back(a);
      }
    for (const std::uint32_t i : {30u, 40u, 57u, 60u, 64u, 80u, 100u}) {
      a.box = {8 * 31, i, 1 + units * 2 / (31 * i), 3, 1};
      a.step = {1, 1, 2, 2, 1};
      out.push_back(a);
    }
    a = base(kIm2col, 6, 4, 0, 0);
    for (std::uint32_t i = 1; i <= 32; ++i) {
      a.channels = 8 * i;
      a.pixels = units / i;
      if (units % i == 0) out.push_back(a);
    }
  }
  return out;
}

}  // namespace tensor_maps
