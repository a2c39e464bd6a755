// SPDX-License-Identifier: Apache-2.0
// warpbit list RECORDING
#include <fmt/format.h>

#include <map>

#include "cli/list.hpp"
#include "warpbit/format.hpp"
#include "warpbit/recording.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

/// What a recording has of one kernel, or of one operation.
struct RecordedKind {
  std::uint64_t records = 0, bytes = 0;  ///< of memory or matrices that the records reach
  std::uint64_t stable = 0, unstable = 0;
  std::uint64_t with_ptx = 0;
};

void count(const Result<RecordedLaunch>& launch, std::string& what, RecordedKind& one) {
  const RecordedLaunch& read = required(launch);
  what = read.entry;
  for (const RecordedMemory& part : read.memory) one.bytes += part.bytes;
  one.with_ptx += !read.module.empty();
  if (read.stable) ++(*read.stable ? one.stable : one.unstable);
}

std::uint64_t bytes_of(const RecordedMatrix& matrix) {
  std::uint64_t out = static_cast<std::uint64_t>(required(find_format_info(matrix.format)).bits + 7) / 8;
  for (const std::uint64_t extent : matrix.shape) out *= extent;
  return out;
}

void count(const Result<RecordedProduct>& product, std::string& what, RecordedKind& one) {
  const RecordedProduct& read = required(product);
  what = read.op;
  for (const RecordedMatrix* const matrix : {&read.a, &read.b, &read.d}) one.bytes += bytes_of(*matrix);
  for (const auto* const matrix : {&read.c, &read.bias, &read.a_scale, &read.b_scale})
    if (*matrix) one.bytes += bytes_of(**matrix);
  if (read.stable) ++(*read.stable ? one.stable : one.unstable);
}

using ByKernel = std::map<std::pair<std::string, std::string>, RecordedKind>;

ByKernel counted(const Recording& recording) {
  ByKernel out;
  for (const Record& record : recording.records()) {
    std::string what;
    RecordedKind one{1};
    if (record.kind == "launch") count(read_launch(record), what, one);
    if (record.kind == "product") count(read_product(record), what, one);
    if (record.kind == "copy") one.bytes = required(read_copy(record)).bytes;
    RecordedKind& all = out[{record.kind, what}];
    all.records += one.records, all.bytes += one.bytes;
    all.stable += one.stable, all.unstable += one.unstable, all.with_ptx += one.with_ptx;
  }
  return out;
}

// "yes", "no" or "2 of 3"; empty if nothing is known.
std::string share(std::uint64_t some, std::uint64_t all) {
  if (all == 0) return "";
  return some == all ? "yes" : some == 0 ? "no" : fmt::format("{} of {}", some, all);
}

ordered_json recording_json(const Recording& recording, const ByKernel& kernels) {
  ordered_json rows = ordered_json::array();
  for (const auto& [name, one] : kernels)
    rows.push_back({{"kind", name.first},
                    {"kernel", name.second},
                    {"records", one.records},
                    {"bytes", one.bytes},
                    {"stable", one.stable},
                    {"unstable", one.unstable},
                    {"with_ptx", one.with_ptx}});
  const RecordingHeader& header = recording.header();
  return {{"recording", recording.path().string()},
          {"target", header.target},
          {"source", name(header.source)},
          {"program", header.program},
          {"device", header.device},
          {"driver", header.driver},
          {"toolkit", header.toolkit},
          {"date", header.date},
          {"notes", recording.notes()},
          {"kernels", rows}};
}

// "python train.py, sm_90a, NVIDIA H100 80GB HBM3, driver 580.159.04, 2026-11-28"
void print_header(const Recording& recording) {
  const RecordingHeader& header = recording.header();
  std::string out = header.program;
  for (const std::string& text :
       {header.target, header.device, header.driver.empty() ? "" : "driver " + header.driver, header.toolkit,
        header.date})
    if (!text.empty()) out += (out.empty() ? "" : ", ") + text;
  print_fitted(printable(out));
  for (const std::string& note : recording.notes()) print_fitted(printable("note: " + note));
}

}  // namespace

int list_records(const ListArguments& o) {
  const Recording recording = required(Recording::open(o.pattern));
  const ByKernel kernels = counted(recording);
  Table table{{"kind", "kernel", "records", "bytes", "stable", "PTX"}};
  for (const auto& [name, one] : kernels)
    table.push_back({name.first, printable(name.second), fmt::format("{}", one.records),
                     fmt::format("{}", one.bytes), share(one.stable, one.stable + one.unstable),
                     name.first == "launch" ? share(one.with_ptx, one.records) : ""});
  if (!o.json && !o.csv && !o.markdown) print_header(recording);
  return print_listing(o, table, recording_json(recording, kernels));
}

}  // namespace warpbit::cli
