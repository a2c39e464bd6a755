// SPDX-License-Identifier: Apache-2.0
#include "products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string_view>

namespace bench {

Plain plain_any();
Plain plain_avx2();
Plain plain_avx512();

namespace {

constexpr std::size_t kAlignment = 64, kCacheBytes = 32768;

struct ElementType {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<ElementType, 3> kElements{{{"f32", 4}, {"s32", 4}, {"f64", 8}}};

const ElementType& type_of(const Shape& shape) {
  return kElements[static_cast<std::size_t>(shape.element)];
}

std::size_t elements(const Shape& shape) {
  return static_cast<std::size_t>(shape.m * shape.n + shape.m * shape.k + shape.k * shape.n);
}

template <class T, class Number>
void fill(std::span<std::byte> out, Number number) {
  for (std::size_t i = 0; i < out.size(); i += sizeof(T)) {
    const T value = number();
    std::memcpy(&out[i], &value, sizeof(T));
  }
}

}  // namespace

Shape shape_of(const warpbit::Instruction& instruction) {
  const std::string_view d = instruction.operands()[0].format;
  return {d == "s32"   ? Element::s32
          : d == "f64" ? Element::f64
                       : Element::f32,
          instruction.rows(), instruction.columns(), instruction.terms()};
}

double multiplications(const Shape& shape) {
  return static_cast<double>(shape.m) * shape.n * shape.k;
}

std::string name(const Shape& shape) {
  return fmt::format("{} {}x{}x{}", type_of(shape).name, shape.m, shape.n, shape.k);
}

Plain plain([[maybe_unused]] warpbit::Kernel kernel) {
#ifdef WARPBIT_BENCH_X86
  if (kernel == warpbit::Kernel::avx512) return plain_avx512();
  if (kernel == warpbit::Kernel::avx2) return plain_avx2();
#endif
  return plain_any();
}

Tiles::Tiles(const Shape& shape)
    : count_(std::max<std::size_t>(1, kCacheBytes / (elements(shape) * type_of(shape).bytes))),
      bytes_(count_ * elements(shape) * type_of(shape).bytes + kAlignment) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<std::int32_t> small(-128, 127);
  const std::span<std::byte> out(static_cast<std::byte*>(data()), bytes_.size() - kAlignment);
  switch (shape.element) {
    case Element::f32: fill<float>(out, [&] { return static_cast<float>(normal(random)); }); break;
    case Element::f64: fill<double>(out, [&] { return normal(random); }); break;
    case Element::s32: fill<std::int32_t>(out, [&] { return small(random); }); break;
  }
}

void* Tiles::data() {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
  return bytes_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

Square::Square(int size) : size_(size) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (std::vector<float>* matrix : {&a_, &b_, &c_}) {
    matrix->resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
    std::ranges::generate(*matrix, [&] { return normal(random); });
  }
}

}  // namespace bench
