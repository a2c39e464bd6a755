// SPDX-License-Identifier: Apache-2.0
// warpbit pack
#include <fmt/format.h>

#include <system_error>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;

struct PackArguments {
  std::string from, to;
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

int pack(const PackArguments& o) {
  const fs::path from(o.from);
  if (is_inside(o.to, from)) refuse("pack", o.to + " inside " + o.from, "a folder outside it");
  const std::vector<fs::path> files = find_captures(std::span(&from, 1));
  if (files.empty()) refuse(o.from, "no captures", "at least one", Errc::no_cases);
  nlohmann::ordered_json packed = nlohmann::ordered_json::array();
  for (const fs::path& file : files) {
    const fs::path to = file == from ? fs::path(o.to) : o.to / file.lexically_relative(from);
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

}  // namespace

void add_pack(CLI::App& command, int& status) {
  PackArguments& o = add_arguments(command, status, pack);
  command.add_option("from", o.from, "a capture file, or a folder of them")->required();
  command.add_option("to", o.to, "the copy; of a folder one with the same paths in it")->required();
  command.add_option(
      "--bytes", o.bytes,
      "keep the first cases of each file, with arrays of that many bytes together; at least one");
  add_json(command, o.json);
  command.footer(examples({"warpbit pack golden/sm_90a/ldmatrix copies",
                           "warpbit pack golden/sm_90a/ldmatrix smaller --bytes 100000"}));
}

}  // namespace warpbit::cli
