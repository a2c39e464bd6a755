// SPDX-License-Identifier: Apache-2.0
// Capture files byte by byte, well-formed and malformed.
#pragma once

#include <stdlib.h>  // mkdtemp
#include <zip.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace archive {

namespace fs = std::filesystem;

using Members = std::vector<std::pair<std::string, std::string>>;  // zip name, content

// A .npy file of the given dictionary and data.
inline std::string npy(const std::string& dictionary, const std::string& data, char major = 1) {
  const std::string text = dictionary + "\n";
  std::string out = std::string("\x93NUMPY") + major + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text + data;
}

inline std::string dictionary(const std::string& descr, const std::string& shape,
                              const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

inline std::string text_npy(const std::string& text) {
  return npy(dictionary("'|S" + std::to_string(text.size()) + "'", "()"), text);
}

inline std::string zip_of(const Members& members, bool deflate = false) {
  zip_source_t* bytes = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  zip_t* archive = zip_open_from_source(bytes, ZIP_TRUNCATE | ZIP_CREATE, nullptr);
  zip_source_keep(bytes);
  for (const auto& [name, content] : members) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const auto index = static_cast<zip_uint64_t>(zip_file_add(archive, name.c_str(), source, 0));
    zip_set_file_compression(archive, index, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  REQUIRE(zip_close(archive) == 0);
  REQUIRE(zip_source_open(bytes) == 0);
  zip_stat_t stat;
  zip_source_stat(bytes, &stat);
  std::string out(stat.size, '\0');
  REQUIRE(zip_source_read(bytes, out.data(), out.size()) == static_cast<zip_int64_t>(out.size()));
  zip_source_close(bytes);
  zip_source_free(bytes);
  return out;
}

// Overwrites a little-endian field of a member's entry in the central directory (APPNOTE.TXT, 4.3.12).
using Field = std::pair<std::size_t, std::size_t>;  // offset, bytes
inline constexpr Field kFlags{8, 2}, kMethod{10, 2}, kCrc{16, 4}, kCompressed{20, 4}, kSize{24, 4};

inline std::string patched(std::string archive, const std::string& member, Field field, std::uint64_t value) {
  std::size_t entry = archive.find("PK\x01\x02");
  while (archive.substr(entry + 46, member.size()) != member) entry = archive.find("PK\x01\x02", entry + 1);
  for (std::size_t i = 0; i < field.second; ++i)
    archive[entry + field.first + i] = static_cast<char>(value >> (8 * i) & 0xff);
  return archive;
}

// A folder that goes with its object.
struct Directory {
  fs::path path;
  Directory() {
    std::string name = (fs::temp_directory_path() / "warpbit_test_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Directory() { fs::remove_all(path); }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(path), {}); }
};

inline std::string bytes_of(const fs::path& path) {
  return {std::istreambuf_iterator<char>(std::ifstream(path, std::ios::binary).rdbuf()), {}};
}

}  // namespace archive
