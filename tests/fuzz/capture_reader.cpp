// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes are either refused or read completely, within the size limit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>  // abort

#include "warpbit/capture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const warpbit::ReadOptions options{.max_bytes = std::uint64_t{16} << 20};
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto reader = warpbit::CaptureReader::open(bytes, options);
  if (!reader) {
    if (reader.error().message().empty()) std::abort();
    return 0;
  }
  for (const warpbit::ArrayHeader& header : reader->arrays()) {
    const auto array = reader->read(header.name);
    if (!array) {
      if (array.error().message().empty()) std::abort();
      continue;
    }
    if (array->data.size() != header.items() * header.item_bytes || array->data.size() > options.max_bytes)
      std::abort();
  }
  return 0;
}
