// SPDX-License-Identifier: Apache-2.0
// Explanations as pictures: a cell for each bit, what is kept on the left, what is cut in red behind the line.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "capture/whole_file.hpp"
#include "explain/words.hpp"
#include "numeric/words.hpp"
#include "text/wrapped.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

constexpr int kCell = 14, kRow = 20, kMargin = 16, kSign = 24;
constexpr int kCharacter = 8;                 // width, of the font that is used
constexpr std::size_t kMostLost = 48;         // columns
constexpr std::size_t kMostCharacters = 120;  // of a line

// What is drawn so far, and how large it is.
class Picture {
 public:
  void text(int x, int y, std::string_view what, std::string_view style = "") {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", x, y, style.empty() ? "" : " ", style,
                         escaped(what));
    width_ = std::max(width_, x + static_cast<int>(what.size()) * kCharacter);
    height_ = std::max(height_, y + kRow);
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
  std::string body_;
  int width_ = 0, height_ = 0;
};

constexpr std::string_view kAddend = "#e4eef8", kSetsE = "#bcd9f5", kCut = "#f6b8b8", kSum = "#d8f0d2",
                           kResult = "#f6e8b1";
constexpr std::pair<std::string_view, std::string_view> kLegend[] = {{kSetsE, "E is its exponent"},
                                                                     {kAddend, "other addends"},
                                                                     {kCut, "cut"},
                                                                     {kSum, "sum of what is kept"},
                                                                     {kResult, "the sum, rounded"}};

// Draws a row of bits, and its value behind them.
void draw_number(Picture& picture, const BitColumns& at, const ExactNumber& x, int left, int y,
                 std::string_view fill, std::optional<int> last = std::nullopt) {
  picture.text(left - kSign / 2, y, x.negative ? "-" : "+");
  const std::string cut = at.cut(x), bits = at.kept(x, last) + cut.substr(0, kMostLost);
  const auto kept = static_cast<std::size_t>(at.top() - at.low() + 1);
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i] != ' ' && bits[i] != '.')
      picture.cell(left + static_cast<int>(i) * kCell, y, bits[i], i < kept ? fill : kCut);
  const int end = left + (at.top() - at.low() + 1 + std::min(at.lost(), static_cast<int>(kMostLost))) * kCell;
  if (cut.size() > kMostLost) picture.text(end, y, "...", "fill=\"#c00\"");
  picture.text(end + 3 * kCharacter + kSign / 2, y, short_text(x));
}

// One sum that is cut, from y on; returns where it ends.
int draw(Picture& picture, const ExplainedSum& sum, int y) {
  const BitColumns at(sum);
  std::size_t label = sum.format.size();
  for (const ExplainedAddend& addend : sum.addends) label = std::max(label, addend.name.size());
  const int left = kMargin + static_cast<int>(label) * kCharacter + kSign;
  const int cut = left + (at.top() - at.low() + 1) * kCell;
  const auto [high, low] = at.headings(static_cast<std::size_t>((cut - left) / kCharacter));
  picture.text(left, y, high);
  picture.text(cut - static_cast<int>(low.size()) * kCharacter - 3, y, low);
  const int first = y;
  const auto row = [&](std::string_view name, const ExactNumber& x, std::string_view fill,
                       std::optional<int> last = std::nullopt) {
    y += kRow;
    picture.text(kMargin, y, name);
    draw_number(picture, at, x, left, y, fill, last);
  };
  for (const ExplainedAddend& addend : sum.addends)
    if (!addend.value.bits.empty()) row(addend.name, addend.value, addend.sets_e ? kSetsE : kAddend);
  y += kRow / 2;
  row("sum", sum.total, kSum);
  row(sum.format, sum.result, kResult, last_bit(sum));
  picture.line(cut, first - kRow / 2, y + kRow / 2);
  for (const ExplainedAddend& addend : sum.addends)
    if (addend.group && !addend.group->sum.is_zero()) picture.text(kMargin, y += kRow, group_text(addend));
  if (const std::string text = precision_text(sum); !text.empty())
    picture.text(kMargin, y += kRow, text.substr(2));  // without "; "
  return y;
}

// What the colours mean, in one line.
void draw_legend(Picture& picture, int y) {
  int x = kMargin;
  for (const auto& [fill, words] : kLegend) {
    picture.cell(x, y, ' ', fill);
    picture.text(x + kCell + kCharacter, y, words);
    x += kCell + (static_cast<int>(words.size()) + 3) * kCharacter;
  }
}

// One explanation, from y on; returns where it ends.
int draw(Picture& picture, const Explanation& e, int y) {
  picture.text(kMargin, y, fmt::format("{} on {}{}", e.form, e.target, marked(e)), "font-weight=\"bold\"");
  for (const ExplainedSum& sum : e.sums) {
    picture.text(kMargin, y += 2 * kRow, fmt::format("{}: {}", sum.name, sum.step));
    if (has_columns(sum)) {
      picture.text(kMargin, y += kRow, window_text(sum));
      y = draw(picture, sum, y + 2 * kRow);
      continue;
    }
    picture.text(kMargin, y += kRow, cut_off(addition_text(sum), kMostCharacters));
    picture.text(kMargin, y += kRow, fmt::format("-> {}", code_text(sum.format, sum.code)));
  }
  y += kRow;
  const auto row = [&](std::string_view label, const std::string& value) {
    picture.text(kMargin, y += kRow, label);
    picture.text(kMargin + 10 * kCharacter, y, value);
  };
  row("result", code_text(e.format, e.code));
  row("exact", cut_off(e.exact.decimal(), kMostCharacters));
  if (e.ulps) row("error", error_text(e));
  if (!e.note.empty()) {
    const std::string note = wrapped("note: " + e.note, kMostCharacters);
    for (const std::string_view line : words_between(note, "\n"))
      if (!line.empty()) picture.text(kMargin, y += kRow, line);
  }
  return y;
}

}  // namespace

std::string svg(std::span<const Explanation> explanations) {
  Picture picture;
  int y = 0;
  bool has_cells = false;
  for (const Explanation& e : explanations) {
    y = draw(picture, e, y + 2 * kRow);
    has_cells |= std::ranges::any_of(e.sums, has_columns);
  }
  if (has_cells) draw_legend(picture, y + 2 * kRow);
  return picture.document();
}

std::string svg(const Explanation& explanation) {
  return svg(std::span(&explanation, 1));
}

Result<void> write_svg(const std::filesystem::path& path, std::span<const Explanation> explanations) {
  const std::string document = svg(explanations);
  return capture::write_whole_file(path, std::as_bytes(std::span(document)));
}

}  // namespace warpbit
