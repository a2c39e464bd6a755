// SPDX-License-Identifier: Apache-2.0
#include "profile/drawing.hpp"

#include <fmt/format.h>

#include "numeric/words.hpp"
#include "text/svg.hpp"
#include "text/wrapped.hpp"

namespace warpbit::profile {
namespace {

constexpr std::string_view
    kLight =
        ".wb-faint{fill:#666}.wb-grid{stroke:#d0d0d0}.wb-stripe{fill:#f6f7f9}.wb-bar{fill:#cfe0f2}"
        ".wb-bad{fill:#f4c4c0}.wb-run{fill:#8fa6bd}.wb-idle{stroke:#999}",
    kDark =
        ".wb-faint{fill:#a0a0a0}.wb-grid{stroke:#444}.wb-stripe{fill:#222326}"
        ".wb-bar{fill:#2b4562}.wb-bad{fill:#6d3333}.wb-run{fill:#5f7890}"
        ".wb-idle{stroke:#777}";

// Of the colours of arrows.
std::string markers() {
  std::string out = "<defs>";
  for (const std::string_view colour : kPictureColours)
    out += fmt::format(
        "<marker id=\"wb-{0}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" "
        "orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\" fill=\"{1}\"/></marker>",
        colour.substr(1), colour);
  return out + "</defs>\n";
}

// "12", "12.5"
std::string at(double x) {
  std::string out = fmt::format("{:.1f}", x);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

std::string closed(std::string_view element, std::string_view title) {
  if (title.empty()) return "/>\n";
  return fmt::format("><title>{}</title></{}>\n", escaped(title), element);
}

}  // namespace

std::string number_text(std::uint64_t number) {
  constexpr std::uint64_t kExact = 10'000'000;
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {1e6, " M"}, {1e9, " G"}, {1e12, " T"}, {1e15, " P"}};
  if (number >= kExact) {
    const auto x = static_cast<double>(number);
    std::size_t unit = 0;
    while (unit + 1 < std::size(kUnits) && x >= 1e3 * kUnits[unit].first) ++unit;
    return fmt::format("{:.1f}{}", x / kUnits[unit].first, kUnits[unit].second);
  }
  std::string out = std::to_string(number);
  for (std::size_t place = out.size(); place > 3;) out.insert(place -= 3, ",");
  return out;
}

void Drawing::text(double x, double y, std::string_view what, std::string_view more) {
  if (what.empty()) return;
  const bool has_class = more.find("class=") != more.npos;
  body_ += fmt::format("<text{} x=\"{}\" y=\"{}\"{}{}>{}</text>\n", has_class ? "" : " class=\"wb-ink\"", at(x),
                       at(y), more.empty() ? "" : " ", more, escaped(what));
}

void Drawing::write(std::string_view what, std::string_view more) {
  const auto characters = static_cast<std::size_t>((width_ - 2 * kMargin) * 5 / 3 / kText);
  const std::string lines = wrapped(what, characters);
  for (const std::string_view one : words_between(std::string_view(lines).substr(0, lines.size() - 1), "\n")) {
    y_ += kLine;
    text(kMargin, y_, one.substr(std::min(one.find_first_not_of(' '), one.size())), more);
  }
}

void Drawing::heading(std::string_view what) {
  y_ += kLine + 4;
  text(kMargin, y_, what, "font-size=\"13\" font-weight=\"bold\"");
}

void Drawing::box(double x, double y, double width, double height, std::string_view more,
                  std::string_view title) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}{}", at(x), at(y), at(width),
                       at(height), more, closed("rect", title));
}

void Drawing::line(double x, double y, double to_x, double to_y, std::string_view more,
                   std::string_view title) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}{}", at(x), at(y), at(to_x), at(to_y),
                       more, closed("line", title));
}

void Drawing::path(std::string_view d, std::string_view more, std::string_view title) {
  body_ += fmt::format("<path d=\"{}\" {}{}", d, more, closed("path", title));
}

std::string Drawing::document(std::string_view title) const {
  return svg_document({width_, y_ + kMargin, kMonospacedFont, kText, kLight, kDark, title}, markers() + body_);
}

}  // namespace warpbit::profile
