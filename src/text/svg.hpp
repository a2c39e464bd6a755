// SPDX-License-Identifier: Apache-2.0
// The frame of a picture for light and dark backgrounds.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// What a picture's texts are set in.
inline constexpr std::string_view kSansFont = "DejaVu Sans, Helvetica, Arial, sans-serif";
inline constexpr std::string_view kMonospacedFont = "DejaVu Sans Mono, Menlo, Consolas, monospace";

/// Eight colours for lines and marks, each with a contrast of 3.5 or more with both backgrounds.
inline constexpr std::string_view kPictureColours[] = {"#1f83d6", "#d9661f", "#1f9a6a", "#c75aa3",
                                                       "#8a7a14", "#7f6fe0", "#d64550", "#5f8a8f"};

struct SvgFrame {
  int width, height;
  std::string_view font;
  int font_size = 12;
  std::string_view light = {}, dark = {};  ///< rules of CSS besides those of wb-paper and wb-ink
  std::string_view title = {};             ///< empty: none
};
/// An XML document in UTF-8: `body` on a background. Texts have the class wb-ink.
std::string svg_document(const SvgFrame& frame, std::string_view body);

}  // namespace warpbit
#pragma GCC visibility pop
