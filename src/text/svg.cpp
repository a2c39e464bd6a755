// SPDX-License-Identifier: Apache-2.0
#include "text/svg.hpp"

#include <fmt/format.h>

#include "text/wrapped.hpp"

namespace warpbit {

std::string svg_document(const SvgFrame& frame, std::string_view body) {
  const std::string title = frame.title.empty() ? "" : fmt::format("<title>{}</title>\n", escaped(frame.title));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"{2}\" font-size=\"{3}\">\n"
      "{4}<style>.wb-paper{{fill:#fff}}.wb-ink{{fill:#222}}{5}"
      "@media(prefers-color-scheme:dark){{.wb-paper{{fill:#1b1b1b}}.wb-ink{{fill:#e4e4e4}}{6}}}</style>\n"
      "<rect class=\"wb-paper\" width=\"{0}\" height=\"{1}\"/>\n{7}</svg>\n",
      frame.width, frame.height, frame.font, frame.font_size, title, frame.light, frame.dark, body);
}

}  // namespace warpbit
