// SPDX-License-Identifier: Apache-2.0
// Writes capture files (src/capture/FORMAT.md): NumPy arrays in a zip archive, stored. C++17, needs nothing
// else.
//
//   zip:  { local header, name, data } for each member, { directory entry, name } for each member, end
//   npy:  \x93NUMPY 1 0, length of the dictionary (2 bytes), dictionary padded to 64 bytes, data
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace npz {

/// The CRC of zip archives (polynomial 0xEDB88320) of `bytes`, continued from that of what stands before them.
inline std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320U : 0U);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = ~before;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

/// `bytes` bytes of a number, lowest first; zeros above its 64 bits.
inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
  return out;
}

/// The header of a .npy file: dtype "<u4" and so on.
inline std::string npy_header(std::string_view dtype, const std::vector<std::uint64_t>& shape) {
  std::string extents;
  for (const std::uint64_t extent : shape) extents += std::to_string(extent) + ", ";
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.pop_back();
  std::string text =
      "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  constexpr std::size_t kBefore = 10, kAlignment = 64;
  while ((kBefore + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  return std::string("\x93NUMPY\1\0", 8) + little_endian(text.size(), 2) + text;
}

/// A file that appears complete or not at all. What goes wrong is thrown as std::runtime_error.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& path)
      : path_(path), partial_(path.string() + ".partial"), file_(partial_, std::ios::binary) {
    if (!file_) fail("cannot be written");
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    std::error_code ignored;
    if (!closed_) std::filesystem::remove(partial_, ignored);
  }

  /// A member that is one byte string.
  void text(std::string_view name, std::string_view value) {
    member(name, npy_header("|S" + std::to_string(value.size()), {}), value);
  }
  /// A member that is an array of unsigned integers of 1, 2, 4 or 8 bytes, in C order.
  void array(std::string_view name, int item_bytes, const std::vector<std::uint64_t>& shape, const void* data) {
    std::uint64_t bytes = static_cast<std::uint64_t>(item_bytes);
    for (const std::uint64_t extent : shape) bytes *= extent;
    member(name, npy_header((item_bytes == 1 ? "|u" : "<u") + std::to_string(item_bytes), shape),
           {static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
  }

  /// A member that is an array of byte strings.
  void texts(std::string_view name, const std::vector<std::string>& values) {
    std::size_t longest = 1;
    for (const std::string& value : values) longest = std::max(longest, value.size());
    std::string all;
    for (const std::string& value : values) all += value + std::string(longest - value.size(), '\0');
    member(name, npy_header("|S" + std::to_string(longest), {values.size()}), all);
  }

  /// Writes the directory and gives the file its name.
  void close() {
    const std::uint64_t first = offset_, entries = directory_.size();
    std::string all;
    for (const std::string& entry : directory_) all += entry;
    put(all);
    put("PK\5\6" + little_endian(0, 4) + little_endian(entries, 2) + little_endian(entries, 2) +
        little_endian(all.size(), 4) + little_endian(first, 4) + little_endian(0, 2));
    file_.close();
    if (!file_) fail("could not be written");
    std::filesystem::rename(partial_, path_);
    closed_ = true;
  }

 private:
  // Version 2.0, no flags, stored, 1980-01-01 00:00.
  static constexpr std::uint64_t kVersion = 20, kDate = 1 << 5 | 1, kLargest = 0xFFFFFFFF;

  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(path_.string() + ": " + why);
  }

  void put(std::string_view bytes) {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    offset_ += bytes.size();
    if (offset_ > kLargest) fail("more than 4 GiB; fewer cases fit");
  }

  void member(std::string_view name, const std::string& header, std::string_view data) {
    const std::uint64_t bytes = header.size() + data.size(), at = offset_;
    const std::string file_name = std::string(name) + ".npy";
    const std::string common = little_endian(kVersion, 2) + little_endian(0, 6) + little_endian(kDate, 2) +
                               little_endian(crc32(data, crc32(header)), 4) + little_endian(bytes, 4) +
                               little_endian(bytes, 4) + little_endian(file_name.size(), 2) +
                               little_endian(0, 2);
    put("PK\3\4" + common + file_name);
    put(header);
    put(data);
    directory_.push_back("PK\1\2" + little_endian(kVersion, 2) + common + little_endian(0, 10) +
                         little_endian(at, 4) + file_name);
  }

  std::filesystem::path path_, partial_;
  std::ofstream file_;
  std::vector<std::string> directory_;
  std::uint64_t offset_ = 0;
  bool closed_ = false;
};

}  // namespace npz
