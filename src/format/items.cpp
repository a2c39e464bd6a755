// SPDX-License-Identifier: Apache-2.0
// Whole arrays of codes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "format/narrow.hpp"
#include "threads.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kPiece = 1 << 14;  // numbers

// Calls work(first, last) for pieces of [0, count).
template <class Work>
void for_pieces(std::size_t count, const Work& work) {
  for_each_piece(0, (count + kPiece - 1) / kPiece,
                 [&](std::size_t i) { work(i * kPiece, std::min(count, (i + 1) * kPiece)); });
}

bool is_same(double x, double y) {
  return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
}

Result<std::uint64_t> encoded(const Codec& codec, const std::optional<Narrow>& narrow, double number,
                              const EncodeItems& how) {
  if (narrow)
    if (const std::optional<std::uint64_t> code = narrow->encode(number)) {
      if (!how.exactly || is_same(codec.decode(*code), number)) return *code;
    }
  const Result<std::uint64_t> code = codec.encode(number, how.rounding, how.satfinite);
  if (!code || !how.exactly || is_same(codec.decode(*code), number)) return code;
  return Error{Errc::usage, std::string(codec.name()), "a number that it does not hold",
               "one that it holds exactly"};
}

}  // namespace

std::optional<RefusedItem> encode_items(const Codec& codec, std::span<const double> numbers,
                                        std::span<std::byte> items, const EncodeItems& how) {
  const Format& format = *find_format(codec.name());
  const std::size_t bytes = code_bytes(format.bits);
  const bool is_fast = how.rounding == Rounding::nearest_even && Narrow::takes(format);
  const std::optional<Narrow> narrow = is_fast ? std::optional<Narrow>(format) : std::nullopt;
  std::mutex mutex;
  std::optional<RefusedItem> first;  // guarded
  for_pieces(numbers.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Result<std::uint64_t> code = encoded(codec, narrow, numbers[i], how);
      if (!code) {
        const std::lock_guard lock(mutex);
        if (!first || i < first->item) first = RefusedItem{i, code.error()};
        return;
      }
      std::memcpy(items.data() + i * bytes, &*code, bytes);
    }
  });
  return first;
}

void decode_items(const Codec& codec, std::span<const std::byte> items, std::span<double> numbers) {
  const std::size_t bytes = code_bytes(codec.bits());
  std::vector<double> table;  // of formats of a byte
  for (std::uint64_t code = 0; bytes == 1 && code < 256; ++code) table.push_back(codec.decode(code));
  for_pieces(numbers.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::uint64_t code = 0;
      std::memcpy(&code, items.data() + i * bytes, bytes);
      numbers[i] = table.empty() ? codec.decode(code) : table[code];
    }
  });
}

}  // namespace warpbit
