// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <algorithm>

#include "replay/loaded_capture.hpp"

namespace warpbit {
namespace {

bool has_cases(const Array& array, std::uint64_t cases) {
  return !array.header.shape.empty() && array.header.shape[0] == cases;
}

}  // namespace

Result<void> pack_capture(const std::filesystem::path& from, const std::filesystem::path& to,
                          std::optional<std::uint64_t> bytes, const ReadOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(from, options);
  if (!reader) return reader.error();
  std::vector<Array> arrays;
  for (const ArrayHeader& header : reader->arrays()) {
    Result<Array> array = reader->read(header.name);
    if (!array) return array.error();
    arrays.push_back(*std::move(array));
  }
  const CaptureLayout layout = reader->header().layout;
  if (bytes && (layout == CaptureLayout::registers || layout == CaptureLayout::scalars)) {
    const Result<LoadedCapture> capture = load_capture(*reader, {});
    if (!capture) return capture.error();
    const std::uint64_t cases = capture->cases;
    std::uint64_t each = 0;
    for (const Array& array : arrays)
      if (has_cases(array, cases)) each += array.data.size() / cases;
    const std::uint64_t count = std::clamp(*bytes / each, std::uint64_t{1}, cases);
    for (Array& array : arrays)
      if (has_cases(array, cases)) array = cases_of(array, cases, 0, count);
  }
  return write_capture(to, reader->header(), arrays);
}

}  // namespace warpbit
