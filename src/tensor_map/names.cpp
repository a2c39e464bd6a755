// SPDX-License-Identifier: Apache-2.0
#include "warpbit/tensor_map.hpp"

namespace warpbit {
namespace {

template <class Enum, std::size_t N>
std::string_view word(Enum value, const std::string_view (&names)[N]) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "unknown";
}

}  // namespace

std::string_view name(TensorMapMode mode) {
  return word(mode, {"tiled", "im2col"});
}
std::string_view name(TensorType type) {
  return word(type, {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32_ftz", "f64", "bf16", "tf32",
                     "tf32_ftz"});
}
std::string_view name(TensorInterleave interleave) {
  return word(interleave, {"none", "bytes_16", "bytes_32"});
}
std::string_view name(L2Promotion promotion) {
  return word(promotion, {"none", "bytes_64", "bytes_128", "bytes_256"});
}
std::string_view name(TensorFill fill) {
  return word(fill, {"zeros", "nan"});
}
std::string_view name(TensorMapIssue issue) {
  return word(issue, {"unknown_code", "refused", "undocumented", "overlap", "ignored_bits", "stale"});
}

}  // namespace warpbit
