// SPDX-License-Identifier: Apache-2.0
// warpbit profile
#include "warpbit/profile.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

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

// All of a file, or of a pipe.
std::string answer_in(const std::string& file) {
  std::string out;
  std::array<char, 65536> piece;
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  while (in && out.size() <= kMostAnswerBytes) {
    in.read(piece.data(), piece.size());
    out.append(piece.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (out.size() > kMostAnswerBytes)
    refuse(file, "it is too long", fmt::format("at most {} bytes are read", kMostAnswerBytes),
           Errc::archive_too_large);
  if (!in.eof())
    refuse(file, std::error_code(errno, std::generic_category()).message(), "", Errc::file_unreadable);
  return out;
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
  const ptx::ProfilePicture picture = printable(read_profile(o.file, answer_in(o.file)));
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
