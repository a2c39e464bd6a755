// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "capture/whole_file.hpp"
#include "profile/draw.hpp"
#include "warpbit/profile.hpp"

namespace warpbit::ptx {

std::string source_text(std::span<const SourceLink> chain) {
  std::string out, file;
  for (const SourceLink& one : chain) {
    if (!out.empty()) out += " > ";
    if (one.file != file) out += one.file.substr(one.file.rfind('/') + 1) + ":";  // npos + 1 is 0
    out += fmt::format("{}", one.line);
    file = one.file;
  }
  return out;
}

std::string profile_svg(const ProfilePicture& of) {
  constexpr int kLeastWidth = 900;
  const profile::LineTable table(of.lines, of.fault_line);
  profile::Drawing drawing(std::max(kLeastWidth, table.width()));
  drawing.skip(profile::kMargin);
  drawing.text(profile::kMargin, drawing.y(), of.title, "font-size=\"16\" font-weight=\"bold\"");
  drawing.write("Counted, not sampled; nothing here is time.", "class=\"wb-faint\"");
  if (!of.ended_by.empty()) {
    drawing.write(of.ended_by);
    drawing.write("The launch ended there, and the picture has what came before.");
  }
  table.draw(drawing);
  profile::draw_timeline(drawing, of.timeline);
  return drawing.document(of.title);
}

Result<void> write_profile_svg(const std::filesystem::path& path, const ProfilePicture& of) {
  const std::string document = profile_svg(of);
  return capture::write_whole_file(path, std::as_bytes(std::span(document)));
}

}  // namespace warpbit::ptx
