// SPDX-License-Identifier: Apache-2.0
// warpbit profile
#include "warpbit/profile.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "capture/whole_file.hpp"
#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/profile_read.hpp"
#include "cli/profile_tables.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{1} << 28;

struct ProfileArguments {
  std::string file, svg;
  bool json = false;
};

ptx::ProfilePicture picture_in(const std::string& file) {
  const std::vector<std::byte> bytes = required(capture::read_whole_file(file, kMostAnswerBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return printable(read_profile(file, text));
}

void print_picture(const ptx::ProfilePicture& of) {
  print_fitted(of.title);
  if (!of.ended_by.empty()) print_fitted(of.ended_by);
  if (of.lines.empty()) return print_fitted("No statement was executed.");
  fmt::print("\n");
  print_profile(of.lines);
}

int profile(const ProfileArguments& o) {
  check_svg(o.svg);
  const ptx::ProfilePicture picture = picture_in(o.file);
  if (!o.svg.empty()) required(ptx::write_profile_svg(o.svg, picture));
  if (o.json)
    print_json("profile", {{"title", picture.title},
                           {"ended_by", picture.ended_by},
                           {"lines", picture.lines.size()},
                           {"statements", picture.timeline.statements},
                           {"picture", ptx::profile_svg(picture)}});
  else
    print_picture(picture);
  return kYes;
}

}  // namespace

void add_profile(CLI::App& command, int& status) {
  ProfileArguments& o = add_arguments(command, status, profile);
  command.add_option("file", o.file, "the answer of warpbit launch --profile --json")
      ->required()
      ->type_name("FILE.json");
  command
      .add_option("--svg", o.svg,
                  "write to this file, whose name ends in .svg, the picture that launch --svg draws")
      ->type_name("FILE");
  add_json(command, o.json);
  command.footer(examples(
      {"printf '%s\\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry f(.param .u64 x) { ret; }' >f.ptx && "
       "warpbit launch f.ptx --arg null --profile --json >f.json && warpbit profile f.json",
       "warpbit profile f.json --svg f.svg", "warpbit profile f.json --json"}));
}

}  // namespace warpbit::cli
