// SPDX-License-Identifier: Apache-2.0
// A study as a picture: two panels, of the median and of the 99th percentile, side by side on one scale.
//
//        median              99 %
//   2^8 |        .-o     |        .-o
//       |     .-'        |     .-'           lines against K, or bars if there is one K
//   2^0 | o--'           | o--'
//       +-----------     +-----------
//         512   1024       512   1024
//   o-- name   o- - name (inferred)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>  // std::log2, for places in a picture

#include "capture/whole_file.hpp"
#include "compare/judge.hpp"
#include "numeric/words.hpp"
#include "text/svg.hpp"
#include "text/wrapped.hpp"
#include "warpbit/study.hpp"

namespace warpbit {
namespace {

constexpr int kWidth = 900, kMargin = 16, kTop = 76, kPanel = 380, kHeight = 260, kLeft = 64, kBetween = 32,
              kLine = 18;
constexpr std::size_t kCharacters = 120;  // of a line
constexpr std::string_view kLight = ".wb-grid{stroke:#ccc}", kDark = ".wb-grid{stroke:#444}";

struct Statistic {
  std::string_view heading;
  double ErrorStatistics::*number;
};
constexpr Statistic kPanels[] = {{"median: half of the elements are no further off", &ErrorStatistics::p50},
                                 {"99 % of the elements are no further off", &ErrorStatistics::p99}};

std::string_view colour_of(std::size_t computation) {
  return kPictureColours[computation % std::size(kPictureColours)];
}

std::string label_of(int exponent) {
  if (exponent < -6 || exponent > 20) return fmt::format("2^{}", exponent);
  return exponent < 0 ? fmt::format("1/{}", 1 << -exponent) : std::to_string(1 << exponent);
}

// By K, by computation.
using Errors = std::vector<std::vector<ErrorStatistics>>;

Errors errors_of(const DepthStudy& study) {
  Errors out;
  for (const Comparison& c : study.comparisons) {
    std::vector<ErrorStatistics>& of_depth = out.emplace_back();
    for (const ComparedResults& r : c.results) of_depth.push_back(statistics(r));
  }
  return out;
}

// Errors as heights: powers of two, and zero at the bottom.
class Scale {
 public:
  explicit Scale(const Errors& errors) {
    double least = HUGE_VAL, most = 0;
    for (const std::vector<ErrorStatistics>& of_depth : errors)
      for (const ErrorStatistics& of_one : of_depth)
        for (const Statistic& s : kPanels)
          if (const double x = of_one.*s.number; x > 0 && std::isfinite(x)) {
            least = std::min(least, x);
            most = std::max(most, x);
          }
    if (most == 0) least = most = 1;
    low_ = static_cast<int>(std::floor(std::log2(least))) - 1;
    high_ = std::max(static_cast<int>(std::ceil(std::log2(most))), low_ + 2);
  }
  int y(double error) const {
    const double at = error > 0 ? std::min(std::log2(error), static_cast<double>(high_)) : low_;
    return kTop + kHeight - static_cast<int>(std::lround((at - low_) / (high_ - low_) * kHeight));
  }
  // Exponents with a line across, the lowest one of zero.
  std::vector<int> ticks() const {
    const int step = (high_ - low_ + 7) / 8;
    std::vector<int> out;
    for (int e = low_; e <= high_; e += step) out.push_back(e);
    return out;
  }
  int low() const { return low_; }

 private:
  int low_ = 0, high_ = 0;
};

class Picture {
 public:
  void text(int x, int y, std::string_view what, std::string_view more = "") {
    body_ += fmt::format("<text class=\"wb-ink\" x=\"{}\" y=\"{}\"{}{}>{}</text>\n", x, y,
                         more.empty() ? "" : " ", more, escaped(what));
    height_ = std::max(height_, y + kMargin);
  }
  void line(int x, int y, int to_x, int to_y, std::string_view more) {
    body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", x, y, to_x, to_y, more);
  }
  void stroke(int x, int y, int to_x, int to_y, std::size_t computation, bool dashed) {
    line(x, y, to_x, to_y,
         fmt::format("stroke=\"{}\" stroke-width=\"2\"{}", colour_of(computation),
                     dashed ? " stroke-dasharray=\"6 4\"" : ""));
  }
  // Full, or hollow.
  void mark(int x, int y, std::size_t computation, bool hollow) {
    const std::string colour(colour_of(computation));
    body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\" {} stroke=\"{}\" stroke-width=\"2\"/>\n", x, y,
                         hollow ? "class=\"wb-paper\"" : "fill=\"" + colour + "\"", colour);
  }
  void bar(int x, int y, int width, int height, std::size_t computation, bool hollow) {
    body_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{}\" stroke=\"{}\" "
        "stroke-width=\"2\"{}/>\n",
        x, y, width, height, colour_of(computation), hollow ? "0.25" : "1", colour_of(computation),
        hollow ? " stroke-dasharray=\"6 4\"" : "");
  }
  std::string document() const { return svg_document({kWidth, height_, kSansFont, 12, kLight, kDark}, body_); }

 private:
  std::string body_;
  int height_ = 0;
};

// Of one statistic.
struct Panel {
  const DepthStudy& study;
  const Errors& errors;
  const Scale& scale;
  Statistic statistic;
  int left;

  int right() const { return left + kPanel; }
  double error(std::size_t i, std::size_t n) const { return errors[i][n].*statistic.number; }
  int y_of(std::size_t i, std::size_t n) const { return scale.y(error(i, n)); }
  // Precondition: several K.
  int x_of(std::size_t i) const {
    const double first = std::log2(study.comparisons.front().depth),
                 last = std::log2(study.comparisons.back().depth), at = std::log2(study.comparisons[i].depth);
    constexpr int kInset = 24;
    return left + kInset + static_cast<int>(std::lround((at - first) / (last - first) * (kPanel - 2 * kInset)));
  }
};

void draw_frame(Picture& picture, const Panel& panel, bool says_ticks) {
  picture.text(panel.left, kTop - 12, panel.statistic.heading);
  for (const int e : panel.scale.ticks()) {
    const bool is_zero = e == panel.scale.low();
    const int y = panel.scale.y(is_zero ? 0 : std::ldexp(1.0, e));
    picture.line(panel.left, y, panel.right(), y, "class=\"wb-grid\"");
    if (says_ticks) picture.text(panel.left - 8, y + 4, is_zero ? "0" : label_of(e), "text-anchor=\"end\"");
  }
}

void draw_lines(Picture& picture, const Panel& panel) {
  const DepthStudy& study = panel.study;
  for (std::size_t i = 0; i < study.comparisons.size(); ++i)
    picture.text(panel.x_of(i), kTop + kHeight + kLine, std::to_string(study.comparisons[i].depth),
                 "text-anchor=\"middle\"");
  picture.text(panel.left + kPanel / 2, kTop + kHeight + 2 * kLine, "K", "text-anchor=\"middle\"");
  for (std::size_t n = 0; n < study.computations.size(); ++n) {
    const bool inferred = !study.computations[n].mark.empty();
    for (std::size_t i = 1; i < study.comparisons.size(); ++i)
      picture.stroke(panel.x_of(i - 1), panel.y_of(i - 1, n), panel.x_of(i), panel.y_of(i, n), n, inferred);
    for (std::size_t i = 0; i < study.comparisons.size(); ++i)
      picture.mark(panel.x_of(i), panel.y_of(i, n), n, inferred);
  }
}

void draw_bars(Picture& picture, const Panel& panel) {
  const auto count = static_cast<int>(panel.study.computations.size());
  const int each = kPanel / count, width = std::max(each * 2 / 3, 2);
  for (int n = 0; n < count; ++n) {
    const auto computation = static_cast<std::size_t>(n);
    const int x = panel.left + n * each + (each - width) / 2, y = panel.y_of(0, computation);
    picture.bar(x, y, width, kTop + kHeight - y, computation,
                !panel.study.computations[computation].mark.empty());
    picture.text(x + width / 2, y - 5, fmt::format("{:.3g}", panel.error(0, computation)),
                 "text-anchor=\"middle\"");
  }
  picture.text(panel.left + kPanel / 2, kTop + kHeight + kLine,
               fmt::format("K {}", panel.study.comparisons[0].depth), "text-anchor=\"middle\"");
}

// Names, and what they are computed by.
void draw_legend(Picture& picture, const DepthStudy& study, int y) {
  bool any = false;
  for (std::size_t n = 0; n < study.computations.size(); ++n, y += kLine) {
    const StudiedComputation& c = study.computations[n];
    const bool inferred = !c.mark.empty();
    any = any || inferred;
    picture.stroke(kMargin, y - 4, kMargin + 36, y - 4, n, inferred);
    picture.mark(kMargin + 18, y - 4, n, inferred);
    picture.text(kMargin + 48, y, c.name + (inferred ? " (inferred)" : ""));
  }
  std::vector<std::string> lines = forms_of(study);
  if (any)
    lines.emplace_back(
        "dashed: inferred; it rests on a model, in part or as a whole, and not on results of that GPU");
  y += kLine / 2;
  for (const std::string& line : lines) {
    const std::string broken = wrapped(line, kCharacters);
    for (const std::string_view part :
         words_between(std::string_view(broken).substr(0, broken.size() - 1), "\n")) {
      picture.text(part.starts_with(' ') ? 2 * kMargin : kMargin, y, part.substr(part.find_first_not_of(' ')));
      y += kLine;
    }
  }
}

}  // namespace

Result<std::string> svg(const DepthStudy& study) {
  if (!has_errors(study))
    return Error{Errc::view_mismatch, "picture", "no element has an error", "sums of floating-point numbers"};
  const Comparison& first = study.comparisons[0];
  Picture picture;
  picture.text(kMargin, 28, fmt::format("Distance from the exact sum, in ulp of {}", first.format),
               "font-size=\"16\" font-weight=\"bold\"");
  picture.text(kMargin, 46,
               fmt::format("{} elements{}", first.elements, study.comparisons.size() > 1 ? " for each K" : ""));
  const Errors errors = errors_of(study);
  const Scale scale(errors);
  const bool is_one = study.comparisons.size() == 1;
  for (std::size_t i = 0; i < std::size(kPanels); ++i) {
    const Panel panel{study, errors, scale, kPanels[i], kLeft + static_cast<int>(i) * (kPanel + kBetween)};
    draw_frame(picture, panel, i == 0);
    (is_one ? draw_bars : draw_lines)(picture, panel);
  }
  draw_legend(picture, study, kTop + kHeight + 4 * kLine);
  return picture.document();
}

Result<void> write_svg(const std::filesystem::path& path, const DepthStudy& study) {
  const Result<std::string> document = svg(study);
  if (!document) return document.error();
  return capture::write_whole_file(path, std::as_bytes(std::span(*document)));
}

}  // namespace warpbit
