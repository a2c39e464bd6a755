// SPDX-License-Identifier: Apache-2.0
// warpbit pack
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "warpbit/recording.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;

struct PackArguments {
  std::vector<std::string> paths;  // the last one is that of the copy
  std::optional<std::uint64_t> bytes;
  bool json = false;
};

// Whether a search of `folder` would come to `path`, too.
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path relative =
      fs::weakly_canonical(path, error).lexically_relative(fs::weakly_canonical(folder, error));
  return !relative.empty() && relative != "." && *relative.begin() != "..";
}

int pack_captures(const PackArguments& o, const std::vector<fs::path>& files) {
  if (o.paths.size() != 2) refuse("pack", fmt::format("{} paths of captures", o.paths.size() - 1), "one");
  const fs::path from = o.paths[0], last = o.paths[1];
  nlohmann::ordered_json packed = nlohmann::ordered_json::array();
  for (const fs::path& file : files) {
    const fs::path to = file == from ? last : last / file.lexically_relative(from);
    packed.push_back({{"from", file.string()}, {"to", to.string()}});
    std::error_code failure;
    if (to.has_parent_path()) fs::create_directories(to.parent_path(), failure);
    if (const Result<void> done = pack_capture(file, to, o.bytes); !done) {
      Error error = done.error();
      if (!error.where.starts_with(file.string())) error.where = file.string() + ": " + error.where;
      throw Refusal{error};
    }
  }
  if (o.json)
    print_json("pack", {{"files", packed}});
  else
    fmt::print("packed: {} files\n", files.size());
  return kYes;
}

// All of them as one.
int pack_records(const PackArguments& o, const std::vector<fs::path>& files) {
  if (o.bytes) refuse("--bytes", "recordings", "captures");
  std::vector<Recording> recordings;
  for (const fs::path& file : files) recordings.push_back(required(Recording::open(file)));
  const PackedRecording packed = required(pack_recordings(recordings, o.paths.back()));
  if (o.json)
    print_json("pack", {{"to", o.paths.back()},
                        {"recordings", files.size()},
                        {"records", packed.records},
                        {"data_files", packed.data_files},
                        {"data_bytes", packed.data_bytes}});
  else
    fmt::print("packed: {} recordings, {} records, {} data files of {} bytes\n", files.size(), packed.records,
               packed.data_files, packed.data_bytes);
  return kYes;
}

int pack(const PackArguments& o) {
  const std::vector<fs::path> from(o.paths.begin(), o.paths.end() - 1);
  for (const fs::path& one : from)
    if (is_inside(o.paths.back(), one))
      refuse("pack", o.paths.back() + " inside " + one.string(), "a folder outside it");
  const std::vector<fs::path> files = find_recorded(from);
  const std::string given = fmt::format("{}", fmt::join(o.paths.begin(), o.paths.end() - 1, ", "));
  if (files.empty()) refuse(given, "no captures and no recordings", "at least one", Errc::no_cases);
  const auto recordings = std::ranges::count_if(files, Recording::is_one);
  if (recordings == 0) return pack_captures(o, files);
  if (recordings == std::ssize(files)) return pack_records(o, files);
  refuse(given, fmt::format("{} recordings among {} files", recordings, files.size()),
         "captures alone, or recordings");
}

}  // namespace

void add_pack(CLI::App& command, int& status) {
  PackArguments& o = add_arguments(command, status, pack);
  command
      .add_option(
          "paths", o.paths,
          "a capture, or a folder of them, and the copy: of a folder one with the same paths in it; or recordings, "
          "and the one that they become: an archive X.zip, or a folder")
      ->required()
      ->expected(2, -1);
  command.add_option(
      "--bytes", o.bytes,
      "of captures: keep the first cases of each file, with arrays of that many bytes together; at least one");
  add_json(command, o.json);
  command.footer(examples({"warpbit pack golden/sm_90a/ldmatrix copies",
                           "warpbit pack golden/sm_90a/ldmatrix smaller --bytes 100000",
                           "warpbit pack golden/kernels/scan.zip golden/kernels/sort.zip both.zip"}));
}

}  // namespace warpbit::cli
