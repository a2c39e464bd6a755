// SPDX-License-Identifier: Apache-2.0
// Recordings as tests write them (src/recording/FORMAT.md).
#pragma once

#include <nlohmann/json.hpp>

#include "archive.hpp"
#include "warpbit/result.hpp"

namespace recording_files {

using nlohmann::json;
namespace fs = std::filesystem;

inline json header(const std::string& target = "sm_90a") {
  return {{"format", "recording-1"}, {"target", target}, {"source", "hardware"}, {"program", "a test"}};
}

/// A list, of one value, too.
inline json list(std::vector<json> values) {
  return values;
}

/// Words of 32 bits, little-endian.
inline std::string words(std::initializer_list<std::uint32_t> list) {
  return {reinterpret_cast<const char*>(std::data(list)), sizeof(std::uint32_t) * list.size()};
}

/// A part of memory with that data.
inline json part(const std::string& address, std::size_t bytes, const json& before, const json& after) {
  json out = {{"address", address}, {"bytes", bytes}, {"name", "at " + address}};
  if (before != "") out["before"] = before;
  if (after != "") out["after"] = after;
  return out;
}

/// A pointer as a parameter.
inline json pointer(std::uint64_t address) {
  std::string hex;
  for (int i = 0; i < 8; ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = address >> (8 * i) & 0xff;
    hex += std::string{kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return {{"bytes", hex}};
}

/// A launch of the kernel `k` of k.ptx, of one thread.
inline json launch(const std::string& name, const json& parameters, const json& memory) {
  return {{"kind", "launch"},         {"name", name},      {"entry", "k"},
          {"module", "k.ptx"},        {"grid", {1, 1, 1}}, {"block", {1, 1, 1}},
          {"parameters", parameters}, {"memory", memory}};
}

/// The body of a kernel of one pointer %rd1 to global memory.
inline std::string kernel(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 p)\n{\n  .reg .pred %p<4>;\n  .reg .b32 %r<8>;\n  .reg .f32 %f<4>;\n  .reg .b64 %rd<4>;\n"
         "  ld.param.u64 %rd1, [p];\n" +
         body + "  ret;\n}\n";
}

using Data = std::vector<std::pair<std::string, std::string>>;  // names, contents

inline std::string lines(const std::vector<json>& records, const json& first = header()) {
  std::string out = first.dump() + "\n";
  for (const json& record : records) out += record.dump() + "\n";
  return out;
}

inline void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder with a recording.
inline fs::path write_folder(const fs::path& folder, const std::string& text, const Data& data) {
  fs::create_directories(folder / "data");
  write(folder / "recording.jsonl", text);
  for (const auto& [name, content] : data) write(folder / "data" / name, content);
  return folder;
}
/// The same in an archive.
inline fs::path write_zip(const fs::path& file, const std::string& text, const Data& data) {
  archive::Members members = {{"recording.jsonl", text}};
  for (const auto& [name, content] : data) members.emplace_back("data/" + name, content);
  write(file, archive::zip_of(members, true));
  return file;
}

/// A matrix of a product.
inline json matrix(const std::string& dtype, const json& shape, const json& strides, const std::string& data) {
  return {{"dtype", dtype}, {"shape", shape}, {"strides", strides}, {"data", data}};
}

/// D of 16 x 8 words of f32, and A and B of f16: the data "d" and "ones".
inline json product() {
  return {{"kind", "product"},
          {"name", "p"},
          {"op", "mm"},
          {"a", matrix("f16", {16, 16}, {16, 1}, "ones")},
          {"b", matrix("f16", {16, 8}, {8, 1}, "ones")},
          {"d", matrix("f32", {16, 8}, {8, 1}, "d")}};
}

/// A member with another value, and what is said of it.
struct Wrong {
  const char* member;
  json value;
  std::string message;
};

/// The value of what must not fail.
template <class T>
T required(warpbit::Result<T> result) {
  INFO((result ? "" : result.error().message()));
  REQUIRE(result);
  return *std::move(result);
}

}  // namespace recording_files
