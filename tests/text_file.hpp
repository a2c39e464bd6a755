// SPDX-License-Identifier: Apache-2.0
// Texts of files: those of recordings are compressed by gzip.
#pragma once

#include <zlib.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

namespace text_file {

namespace fs = std::filesystem;

/// The text of a file, whether gzip has compressed it or not.
inline std::string text_of(const fs::path& path) {
  INFO(path);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  REQUIRE(file);
  std::string out;
  std::array<char, 1 << 16> part;
  int bytes = 0;
  while ((bytes = gzread(file.get(), part.data(), part.size())) > 0)
    out.append(part.data(), static_cast<std::size_t>(bytes));
  REQUIRE(bytes == 0);
  return out;
}

}  // namespace text_file
