// SPDX-License-Identifier: Apache-2.0
// What pictures of profiles are drawn with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpbit::profile {

// In pixels. A character of the monospaced font is 3/5 of its size wide.
inline constexpr int kMargin = 16, kText = 11, kLine = 16;

/// The width of so many characters, rounded up.
constexpr int width_of(std::size_t characters) {
  return (static_cast<int>(characters) * kText * 3 + 4) / 5;
}

/// What is drawn so far, from top to bottom.
class Drawing {
 public:
  explicit Drawing(int width) : width_(width) {}

  int width() const { return width_; }
  int y() const { return y_; }
  void skip(int pixels) { y_ += pixels; }

  /// Text at a place; `more`: attributes.
  void text(double x, double y, std::string_view what, std::string_view more = "");
  /// Behind the text so far, in lines that fit.
  void write(std::string_view what, std::string_view more = "");
  void box(double x, double y, double width, double height, std::string_view more, std::string_view title = "");
  void line(double x, double y, double to_x, double to_y, std::string_view more, std::string_view title = "");
  /// A curve of SVG, as its member d.
  void path(std::string_view d, std::string_view more, std::string_view title = "");
  void heading(std::string_view what);

  /// All of it as a document.
  std::string document(std::string_view title) const;

 private:
  int width_, y_ = kMargin;
  std::string body_;
};

/// "1,536"; from ten million on "12.3 M".
std::string number_text(std::uint64_t number);

}  // namespace warpbit::profile
