// SPDX-License-Identifier: Apache-2.0
// Inputs of dot products with block scaling: elements as in profiles.hpp, scales that move them to where
// something changes, and a C to match. Of a plan nothing is known but that groups have 16 products.
#pragma once

#include "oracle/arithmetic.hpp"
#include "profiles.hpp"

namespace profiles {

struct ScaledFormats {
  Formats elements;
  Alphabet scale;
  int blocks;  // of a row or column
};

struct ScaledCase {
  std::vector<std::uint64_t> a, b, scale_a, scale_b;
  std::uint64_t c = 0;
};

class ScaledBuilder {
 public:
  ScaledBuilder(const ScaledFormats& formats, std::uint64_t seed, std::uint64_t index)
      : f_(formats), s_(seed + 1, index) {
    Case elements;
    fill(formats.elements, seed, index, elements);
    const auto terms = static_cast<std::ptrdiff_t>(formats.elements.depth);
    in_.a.assign(elements.a.begin(), elements.a.begin() + terms);
    in_.b.assign(elements.b.begin(), elements.b.begin() + terms);
    in_.c = elements.c;
  }
  template <class Dot>
  ScaledCase build(const Dot& dot) {
    if (s_.one_in(8)) {
      floors();
      return in_;
    }
    if (f_.blocks > 1) arrange_groups();
    scales();
    accumulator(dot);
    return in_;
  }

 private:
  // Two products about the smallest numbers of f32, with nothing else: a bit of the lower one is kept or lost.
  void floors() {
    std::ranges::fill(in_.a, 0);
    std::ranges::fill(in_.b, 0);
    in_.c = 0;
    const bool grouped = f_.blocks > 1;
    const int top = grouped ? 0 : f_.elements.a.most + f_.elements.b.most;
    const int anchor = s_.range(-150, -138), apart = s_.range(4, 13), low = s_.range(-177, -171);
    put(static_cast<std::size_t>(s_.range(0, 15)), false, top);
    put(in_.a.size() - 1 - static_cast<std::size_t>(s_.range(0, 15)), true, grouped ? 0 : top - apart);
    for (int i = 0; i < f_.blocks; ++i) {
      const int sum = (i == 0 ? anchor : low) - top, of_a = s_.range(-127, sum + 127);
      in_.scale_a.push_back(f_.scale.number(false, of_a, 0));
      in_.scale_b.push_back(f_.scale.number(false, sum - of_a, 0));
    }
  }
  // A power of two of that exponent as far as the formats allow, from factors with large exponents.
  void put(std::size_t k, bool negative, int exponent) {
    const Alphabet &a = f_.elements.a, &b = f_.elements.b;
    const int of_a = std::clamp(exponent - b.most, a.least, a.most);
    in_.a[k] = a.number(negative, of_a, 0);
    in_.b[k] = b.number(false, exponent - of_a, 0);
  }
  // Groups of zeros; groups that cancel in themselves; groups that cancel each other.
  void arrange_groups() {
    for (std::size_t g = 0; g < 64; g += 16) {
      const int what = s_.range(0, 9);
      if (what == 0) std::ranges::fill_n(in_.a.begin() + static_cast<std::ptrdiff_t>(g), 16, 0);
      for (std::size_t k = g; what == 1 && k < g + 16; k += 2) {
        in_.a[k + 1] = in_.a[k] ^ 8;
        in_.b[k + 1] = in_.b[k];
      }
      if (what <= 1 || what > 4) continue;
      mirrored_ = static_cast<std::size_t>(s_.range(0, 3)) * 16;
      for (std::size_t k = 0; k < 16 && mirrored_ != g; ++k) {
        in_.a[mirrored_ + k] = in_.a[g + k] ^ 8;
        in_.b[mirrored_ + k] = in_.b[g + k];
      }
      mirror_of_ = g;
    }
  }
  void scales() {
    const int products = largest_product();
    const int target = f_.scale.format->name == "ue8m0" ? target_exponent() : s_.range(-18, 16);
    const int spread = s_.coin() ? 0 : s_.coin() ? s_.range(0, 8) : 45;
    for (int i = 0; i < f_.blocks; ++i) {
      const int sum = target - products - s_.range(0, spread), half = (sum >= 0 ? sum : sum - 1) / 2;
      const int of_a = s_.coin() ? half : s_.range(half - 60, half + 60);
      in_.scale_a.push_back(scale(of_a));
      in_.scale_b.push_back(scale(sum - of_a));
    }
    const auto block = [&](std::size_t k) { return k * in_.scale_a.size() / in_.a.size(); };
    if (s_.coin()) {
      in_.scale_a[block(mirrored_)] = in_.scale_a[block(mirror_of_)];
      in_.scale_b[block(mirrored_)] = in_.scale_b[block(mirror_of_)];
    }
    if (s_.one_in(12)) (s_.coin() ? in_.scale_a : in_.scale_b)[0] = s_.pick(f_.scale.table);
    if (s_.one_in(40)) in_.scale_a.back() = s_.bits() & 0xFF;
  }
  std::uint64_t scale(int exponent) {
    const std::uint64_t code = f_.scale.number(false, exponent, s_.coin() ? 0 : s_.bits());
    return f_.scale.format->name == "ue4m3" && s_.one_in(8) ? code | 0x80 : code;
  }
  // Where the largest product shall lie.
  int target_exponent() {
    switch (s_.range(0, 5)) {
      case 0: return s_.range(-40, 40);
      case 1: return s_.range(100, 135);
      case 2: return s_.range(-150, -100);
      case 3: return s_.range(-180, -140);
      case 4: return s_.range(-127, 127);
      default: return s_.range(-290, 290);
    }
  }
  int largest_product() const {
    int out = -100;
    for (std::size_t k = 0; k < in_.a.size(); ++k) {
      const oracle::Value p = oracle::product(oracle::decode(*f_.elements.a.format, in_.a[k]),
                                              oracle::decode(*f_.elements.b.format, in_.b[k]));
      if (p.kind == oracle::Value::finite) out = std::max(out, p.raw_exponent);
    }
    return out == -100 ? 0 : out;
  }
  // Zero, special, as it was, what the products leave, or near the largest block.
  template <class Dot>
  void accumulator(const Dot& dot) {
    const int what = s_.range(0, 9);
    if (what < 2) return;
    in_.c = s_.coin() ? 0 : f_.elements.c.format->sign_bit();
    if (what == 2) return;
    if (what == 3 && s_.one_in(3)) in_.c = s_.pick(f_.elements.c.specials);
    if (what == 3) return;
    if (what == 4) {
      in_.c = dot(in_.a, in_.b, in_.c, in_.scale_a, in_.scale_b) ^ f_.elements.c.format->sign_bit();
      return;
    }
    int exponent = -300;
    for (std::size_t i = 0; i < in_.scale_a.size(); ++i)
      exponent = std::max(exponent, oracle::decode(*f_.scale.format, in_.scale_a[i]).raw_exponent +
                                        oracle::decode(*f_.scale.format, in_.scale_b[i]).raw_exponent);
    exponent += largest_product() + (s_.coin() ? s_.range(-4, 4) : s_.range(-45, 45));
    in_.c = f_.elements.c.number(s_.coin(), exponent, s_.coin() ? 0 : s_.bits());
  }

  const ScaledFormats& f_;
  Stream s_;
  ScaledCase in_;
  std::size_t mirrored_ = 0, mirror_of_ = 0;
};

// Case `index` of the sequence that belongs to `seed`. `dot` says what the products leave.
template <class Dot>
ScaledCase scaled_case(const ScaledFormats& f, const Dot& dot, std::uint64_t seed, std::uint64_t index) {
  return ScaledBuilder(f, seed, index).build(dot);
}

}  // namespace profiles
