// SPDX-License-Identifier: Apache-2.0
// A recorded launch of a whole kernel (golden/README.md, "Whole kernels").
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capture/archive.hpp"
#include "capture/npy.hpp"
#include "text_file.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/tensor_map.hpp"

namespace recorded_kernel {

using namespace warpbit;
using nlohmann::json;
using text_file::kernel_in, text_file::text_of;
namespace fs = std::filesystem;

inline constexpr std::uint64_t kMaxBytes = 64 << 20;

using Bytes = std::vector<std::byte>;
using Arrays = std::map<std::string, Bytes>;

/// The arrays of a file, by name without ".npy".
inline Arrays arrays_of(const fs::path& path) {
  INFO(path);
  const Result<capture::Archive> archive = capture::Archive::open(path, kMaxBytes);
  REQUIRE(archive);
  Arrays out;
  for (const capture::Member& member : archive->members()) {
    Bytes file(member.bytes);
    Result<capture::MemberStream> stream = archive->stream(member);
    REQUIRE(stream);
    REQUIRE(stream->read(file));
    REQUIRE(stream->finish());
    Result<Array> array = capture::parse_npy(member.name, file);
    REQUIRE(array);
    out.emplace(capture::stem(member.name), std::move(array->data));
  }
  return out;
}

template <class T>
Bytes bytes_of(T number) {
  Bytes out(sizeof number);
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

/// "u16" and 60000: its bytes. Triton's "i32" is either.
inline Bytes scalar(const std::string& type, const json& value) {
  if (type == "f32") return bytes_of(value.get<float>());
  if (type == "f64") return bytes_of(value.get<double>());
  REQUIRE((type[0] == 's' || type[0] == 'u' || type[0] == 'i'));
  const std::size_t bits = std::stoul(type.substr(1));
  Bytes out =
      value.is_number_unsigned() ? bytes_of(value.get<std::uint64_t>()) : bytes_of(value.get<std::int64_t>());
  REQUIRE((bits % 8 == 0 && bits / 8 <= out.size()));
  out.resize(bits / 8);
  return out;
}

/// The bytes of a tensor map in hexadecimal, with the address that its tensor has here.
inline Bytes tensor_map(const std::string& hexadecimal, std::uint64_t address) {
  TensorMapBytes bytes;
  REQUIRE(hexadecimal.size() == 2 * bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(hexadecimal.substr(2 * i, 2), nullptr, 16));
  Result<TensorMap> map = TensorMap::decode(bytes);
  REQUIRE(map);
  map->global_address = address;
  const Result<TensorMapBytes> encoded = map->encode();
  INFO((encoded ? "" : encoded.error().message()));
  REQUIRE(encoded);
  return {encoded->begin(), encoded->end()};
}

/// What a launch is given, and the addresses that it needs.
class Arguments {
 public:
  Arguments(const json& recorded, Arrays& memory) : memory_(memory) {
    std::size_t blocks = 1;
    for (const json& extent : recorded.at("grid")) blocks *= extent.get<std::size_t>();
    scratch_.resize(blocks * recorded.value("global_scratch", std::size_t{0}));
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (const std::uint64_t address : addresses_) ptx::forget(address);
  }

  ptx::Argument argument(const json& parameter) {
    if (parameter.contains("array")) return ptx::buffer(array(parameter.at("array")));
    if (parameter.contains("null") && parameter.at("null") != "profile_scratch" && !scratch_.empty())
      return ptx::buffer(scratch_);
    return bytes(parameter);
  }

 private:
  Bytes& array(const std::string& name) { return memory_.at("in_" + name); }

  std::uint64_t address(const std::string& name) {
    addresses_.push_back(ptx::address(array(name)));
    return addresses_.back();
  }

  Bytes bytes(const json& parameter) {
    if (parameter.contains("scalar")) return scalar(parameter.at("scalar"), parameter.at("value"));
    if (parameter.contains("null")) return bytes_of(std::uint64_t{0});
    if (parameter.contains("array")) return bytes_of(address(parameter.at("array")));
    if (parameter.contains("buffer"))
      return bytes_of(address(std::to_string(parameter.at("buffer").get<int>())) +
                      parameter.at("offset").get<std::uint64_t>());
    if (parameter.contains("tensor_map"))
      return tensor_map(parameter.at("tensor_map"), address(parameter.at("of")));
    Bytes out(parameter.at("struct").get<std::size_t>());
    for (const json& field : parameter.at("fields")) {
      const Bytes piece = bytes(field);
      const auto at = field.at("at").get<std::size_t>();
      REQUIRE(at + piece.size() <= out.size());
      std::ranges::copy(piece, out.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return out;
  }

  Arrays& memory_;
  Bytes scratch_;  // of all blocks
  std::vector<std::uint64_t> addresses_;
};

inline Dim3 extent(const json& three) {
  return {three.at(0), three.at(1), three.at(2)};
}

/// What the recording says of the launch.
inline ptx::Launch shape_of(const json& recorded) {
  ptx::Launch how;
  how.grid = extent(recorded.at("grid"));
  how.block = extent(recorded.at("block"));
  how.shared_bytes = recorded.at("shared");
  if (recorded.contains("cluster")) how.cluster = extent(recorded.at("cluster"));
  return how;
}

/// Whatever nvcc was told (`fmad`), the driver's assembler fuses products and sums.
inline ptx::Report launch(const ptx::Function& function, const json& recorded, Arrays& memory,
                          const ptx::Launch& how) {
  Arguments arguments(recorded, memory);
  std::vector<ptx::Argument> given;
  for (const json& parameter : recorded.at("params")) given.push_back(arguments.argument(parameter));
  return function.launch(how, given);
}

}  // namespace recorded_kernel
