// SPDX-License-Identifier: Apache-2.0
// Explanations as pictures: a cell for each bit, what is kept on the left, what is cut in red behind the line.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "capture/whole_file.hpp"
#include "explain/bit_columns.hpp"
#include "text/xml.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

constexpr int kCell = 14, kRow = 20, kMargin = 16, kSign = 24;
constexpr int kCharacter = 8;  // width, of the font that is used
constexpr int kMostLost = 48;  // columns

// What is drawn so far, and how large it is.
class Picture {
 public:
  void text(int x, int y, std::string_view what, std::string_view style = "") {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", x, y, style.empty() ? "" : " ", style,
                         escaped(what));
    reach(x + static_cast<int>(what.size()) * kCharacter, y + kRow);
  }
  void cell(int x, int y, char bit, std::string_view fill) {
    body_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#999\" "
        "stroke-width=\"0.5\"/>\n",
        x, y - kRow + 5, kCell, kRow - 2, fill);
    text(x + (kCell - kCharacter) / 2, y, std::string_view(&bit, 1));
  }
  void line(int x, int from, int to) {
    body_ +=
        fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" stroke=\"#c00\" stroke-width=\"2\"/>\n",
                    x, from, to);
  }
  std::string document() const {
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{2}</svg>\n",
        width_ + kMargin, height_, body_);
  }

 private:
  void reach(int x, int y) {
    width_ = std::max(width_, x);
    height_ = std::max(height_, y);
  }
  std::string body_;
  int width_ = 0, height_ = 0;
};

// Draws a row of bits, and its value behind them.
void draw_number(Picture& picture, const BitColumns& at, const ExactNumber& x, int left, int y,
                 std::string_view fill) {
  picture.text(left - kSign / 2, y, x.negative ? "-" : "+");
  const std::string bits = at.kept(x) + at.cut(x).substr(0, kMostLost);
  const auto kept = static_cast<std::size_t>(at.top() - at.low() + 1);
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i] != ' ')
      picture.cell(left + static_cast<int>(i) * kCell, y, bits[i], i < kept ? fill : "#f6b8b8");
  const int end = left + (at.top() - at.low() + 1 + std::min(at.lost(), kMostLost)) * kCell;
  picture.text(end + kSign, y, x.decimal());
}

// One sum that is cut, from y on; returns where it ends.
int draw(Picture& picture, const ExplainedSum& sum, int y) {
  const BitColumns at(sum);
  std::size_t label = sum.format.size();
  for (const ExplainedAddend& addend : sum.addends) label = std::max(label, addend.name.size());
  const int left = kMargin + static_cast<int>(label) * kCharacter + kSign;
  const int cut = left + (at.top() - at.low() + 1) * kCell;
  picture.text(left, y, fmt::format("2^{}", at.top()));
  const std::string low = fmt::format("2^{}", at.low());
  picture.text(cut - static_cast<int>(low.size()) * kCharacter - 3, y, low);
  const int first = y;
  const auto row = [&](std::string_view name, const ExactNumber& x, std::string_view fill) {
    y += kRow;
    picture.text(kMargin, y, name);
    draw_number(picture, at, x, left, y, fill);
  };
  for (const ExplainedAddend& addend : sum.addends)
    if (!addend.value.bits.empty()) row(addend.name, addend.value, addend.sets_e ? "#bcd9f5" : "#e4eef8");
  y += kRow / 2;
  row("sum", sum.total, "#d8f0d2");
  row(sum.format, sum.result, "#f6e8b1");
  picture.line(cut, first - kRow / 2, y + kRow / 2);
  return y;
}

}  // namespace

std::string svg(const Explanation& e) {
  Picture picture;
  int y = 2 * kRow;
  picture.text(kMargin, y, fmt::format("{} on {}", e.form, e.target), "font-weight=\"bold\"");
  for (const ExplainedSum& sum : e.sums) {
    picture.text(kMargin, y += 2 * kRow, fmt::format("{}: {}", sum.name, sum.step));
    if (sum.window) {
      picture.text(kMargin, y += kRow,
                   fmt::format("E = {}, F = {}: multiples of 2^{} are kept", sum.window->e, sum.window->f,
                               sum.window->e - sum.window->f));
      y = draw(picture, sum, y + 2 * kRow);
      continue;
    }
    for (const ExplainedAddend& addend : sum.addends)
      if (!addend.value.is_zero())
        picture.text(kMargin, y += kRow, fmt::format("{:<18} {}", addend.name, addend.value.decimal()));
    picture.text(kMargin, y += kRow, fmt::format("-> {}", code_text(sum.format, sum.code)));
  }
  y += kRow;
  const auto row = [&](std::string_view label, const std::string& value) {
    picture.text(kMargin, y += kRow, label);
    picture.text(kMargin + 10 * kCharacter, y, value);
  };
  row("result", code_text(e.format, e.code));
  row("exact", e.exact.decimal());
  if (e.ulps) row("error", e.ulps->decimal() + " ulp");
  return picture.document();
}

Result<void> write_svg(const std::filesystem::path& path, const Explanation& explanation) {
  const std::string document = svg(explanation);
  return capture::write_whole_file(path, std::as_bytes(std::span(document)));
}

}  // namespace warpbit
