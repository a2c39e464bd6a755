// SPDX-License-Identifier: Apache-2.0
// Warps of a block over its statements: a row for each, arrows from what lets a warp go on to the statement with which it does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "profile/draw.hpp"
#include "text/svg.hpp"

namespace warpbit::profile {
namespace {

using ptx::Awaited, ptx::ReleasedBy, ptx::Release, ptx::Timeline, ptx::Wait, ptx::WarpRun;

constexpr int kLeft = 84, kBar = 12, kColumn = 2, kAllRows = 320, kLeastRow = 20, kMostRow = 40;
constexpr double kMostScale = 12;
constexpr std::size_t kMostArrows = 96;

struct Kind {
  std::string_view colour, words;
};
constexpr std::array<Kind, 4> kKinds = {{{kPictureColours[0], "an arrival at a barrier"},
                                         {kPictureColours[1], "an asynchronous copy"},
                                         {kPictureColours[2], "an asynchronous product"},
                                         {kPictureColours[4], "the end of a warp"}}};
const Kind& kind_of(ReleasedBy by) {
  return kKinds[static_cast<std::size_t>(by)];
}

constexpr std::string_view kWaits = kPictureColours[6];

std::string_view words(Awaited what) {
  constexpr std::array<std::string_view, 10> kWords = {"a barrier",
                                                       "an mbarrier",
                                                       "the cluster's barrier",
                                                       "groups of cp.async",
                                                       "groups of bulk copies",
                                                       "groups of wgmma",
                                                       "registers",
                                                       "columns of tensor memory",
                                                       "lanes",
                                                       "its warpgroup"};
  return kWords[static_cast<std::size_t>(what)];
}

std::string block_text(const device::Index3& at) {
  return fmt::format("({}, {}, {})", at.x, at.y, at.z);
}

class WarpRows {
 public:
  WarpRows(Drawing& drawing, const Timeline& of)
      : drawing_(drawing),
        of_(of),
        room_(drawing.width() - kMargin - kLeft),
        row_(std::clamp(kAllRows / std::max(of.warps, 1), kLeastRow, kMostRow)),
        scale_(std::min(kMostScale, static_cast<double>(room_) / static_cast<double>(of.covered))),
        top_(drawing.y() + kMargin) {}

  void draw();
  bool is_thinned() const { return scale_ < 1; }
  std::uint64_t per_column() const { return static_cast<std::uint64_t>(std::ceil(kColumn / scale_)); }
  bool has_others() const { return has_others_; }
  bool is_any_dashed() const { return is_any_dashed_; }
  bool any_waits() const { return std::ranges::any_of(of_.waits, &Wait::waited); }
  std::size_t arrows() const { return arrows_; }
  std::size_t drawn() const { return drawn_; }
  const std::set<ReleasedBy>& kinds() const { return kinds_; }

 private:
  double x(std::uint64_t statement) const {
    return kLeft + scale_ * static_cast<double>(std::min(statement, of_.covered));
  }
  double y(int row) const { return top_ + row * row_ + row_ / 2.0; }
  int row_of(const Release& by) const { return by.block == of_.block ? by.warp : of_.warps; }
  bool is_arrow(const Wait& one) const { return one.by && one.to && *one.to < of_.covered; }
  void label();
  void draw_runs();
  void draw_columns();
  void draw_thin_waits();
  void draw_wait(const Wait& one);
  void draw_end(const Wait& one);
  void draw_arrow(const Wait& one);
  std::vector<Wait> thinned() const;
  void draw_axis();

  Drawing& drawing_;
  const Timeline& of_;
  int room_, row_;
  double scale_;
  int top_;
  bool has_others_ = false, is_any_dashed_ = false;
  std::size_t arrows_ = 0, drawn_ = 0;
  std::set<ReleasedBy> kinds_;
};

void WarpRows::label() {
  const auto is_others = [&](const Wait& one) { return is_arrow(one) && row_of(*one.by) == of_.warps; };
  has_others_ = std::ranges::any_of(of_.waits, is_others);
  const int rows = of_.warps + (has_others_ ? 1 : 0);
  for (int row = 0; row < rows; ++row) {
    drawing_.text(kLeft - 8, y(row) + 4, row < of_.warps ? fmt::format("warp {}", row) : "others",
                  "text-anchor=\"end\"");
    drawing_.line(kLeft, y(row), x(of_.covered), y(row), "class=\"wb-grid\" stroke-width=\"0.5\"");
  }
}

void WarpRows::draw_runs() {
  for (const WarpRun& run : of_.runs) {
    const double width = scale_ * static_cast<double>(run.count);
    drawing_.box(x(run.first), y(run.warp) - kBar / 2.0, std::max(width - (width > 4 ? 1 : 0), 0.5), kBar,
                 "class=\"wb-run\"",
                 fmt::format("warp {}: {} statement{}, PTX line{} {}{}", run.warp, run.count,
                             run.count == 1 ? "" : "s", run.count == 1 ? "" : "s", run.first_line,
                             run.count == 1 ? "" : fmt::format(" to {}", run.last_line)));
  }
}

// Of each column which part is a warp's, in quarters; neighbours that have the same are one box.
void WarpRows::draw_columns() {
  const std::uint64_t per = per_column();
  const auto columns = static_cast<std::size_t>((of_.covered + per - 1) / per);
  std::vector<std::vector<std::uint64_t>> parts(static_cast<std::size_t>(of_.warps),
                                                std::vector<std::uint64_t>(columns));
  for (const WarpRun& run : of_.runs)
    for (std::uint64_t first = run.first, end = run.first + run.count; first < end;) {
      const std::uint64_t next = std::min((first / per + 1) * per, end);
      parts[static_cast<std::size_t>(run.warp)][first / per] += next - first;
      first = next;
    }
  const auto quarters = [&](std::uint64_t part) { return (4 * part + per - 1) / per; };
  for (int warp = 0; warp < of_.warps; ++warp) {
    const std::vector<std::uint64_t>& of = parts[static_cast<std::size_t>(warp)];
    std::array<std::string, 5> boxes;  // by quarters
    for (std::size_t first = 0, end = 0; first < columns; first = end) {
      while (end < columns && quarters(of[end]) == quarters(of[first])) ++end;
      boxes[quarters(of[first])] += fmt::format("M{:.1f} {:.1f}H{:.1f}v{}H{:.1f}z", x(first * per),
                                                y(warp) - kBar / 2.0, x(end * per), kBar, x(first * per));
    }
    for (std::size_t i = 1; i < boxes.size(); ++i)
      if (!boxes[i].empty())
        drawing_.path(boxes[i],
                      fmt::format("class=\"wb-run\" fill-opacity=\"{}\"", 0.25 * static_cast<double>(i)));
  }
}

// Of a long launch the waits of a warp are one line with gaps.
void WarpRows::draw_thin_waits() {
  std::vector<std::string> waiting(static_cast<std::size_t>(of_.warps)), idle(waiting);
  for (const Wait& one : of_.waits) {
    const auto add = [&](std::string& to, std::uint64_t first, std::uint64_t end) {
      if (x(end) - x(first) >= 1) to += fmt::format("M{:.1f} {:.1f}H{:.1f}", x(first), y(one.warp), x(end));
    };
    const auto warp = static_cast<std::size_t>(one.warp);
    add(waiting[warp], one.from, one.released);
    add(idle[warp], one.released, one.to.value_or(of_.covered));
  }
  for (const std::string& one : waiting)
    if (!one.empty()) drawing_.path(one, fmt::format("stroke=\"{}\" stroke-width=\"2\"", kWaits));
  for (const std::string& one : idle)
    if (!one.empty()) drawing_.path(one, "class=\"wb-idle\" stroke-width=\"2\" stroke-dasharray=\"2 3\"");
}

void WarpRows::draw_wait(const Wait& one) {
  if (one.from >= of_.covered) return;
  const double from = x(one.from), released = x(one.released), row = y(one.warp);
  const double to = x(one.to.value_or(of_.covered));
  if (!one.waited) return;
  const std::string title = fmt::format("warp {} waits for {}, PTX line {}{}", one.warp, words(one.what),
                                        one.line, one.to ? "" : ", and does not go on");
  if (released > from)
    drawing_.line(from, row, released, row, fmt::format("stroke=\"{}\" stroke-width=\"2\"", kWaits), title);
  if (to > released)
    drawing_.line(released, row, to, row, "class=\"wb-idle\" stroke-width=\"2\" stroke-dasharray=\"2 3\"",
                  title);
  drawing_.line(from, row - 4, from, row + 4, fmt::format("stroke=\"{}\" stroke-width=\"2\"", kWaits), title);
}

// It is not over at the end.
void WarpRows::draw_end(const Wait& one) {
  const double row = y(one.warp), end = x(of_.covered);
  drawing_.path(fmt::format("M{:.1f} {:.1f}l8 8m0 -8l-8 8", end - 4, row - 4),
                fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\"", kWaits),
                fmt::format("warp {} does not go on", one.warp));
}

// In the warp's own row an arc; else a line between the rows.
void WarpRows::draw_arrow(const Wait& one) {
  const Kind& kind = kind_of(one.by->by);
  const int from_row = row_of(*one.by);
  const double from = x(one.by->statement) + (from_row < of_.warps ? scale_ / 2 : 0),
               to = x(*one.to) + std::min(scale_ / 2, 3.0);
  const double half = kBar / 2.0, from_y = y(from_row), to_y = y(one.warp);
  const double side = from_row < one.warp ? 1 : -1;
  const std::string d = from_row == one.warp
                            ? fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", from, from_y - half,
                                          (from + to) / 2, from_y - half - 10, to, to_y - half - 1)
                            : fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", from, from_y + side * half, to,
                                          to_y - side * (half + 1));
  const std::string who = one.by->block == of_.block
                              ? fmt::format("warp {}", one.by->warp)
                              : fmt::format("warp {} of block {}", one.by->warp, block_text(one.by->block));
  drawing_.path(d,
                fmt::format("stroke=\"{0}\" stroke-width=\"1.2\" fill=\"none\" marker-end=\"url(#wb-{1})\"{2}",
                            kind.colour, kind.colour.substr(1), !one.waited ? " stroke-dasharray=\"3 2\"" : ""),
                fmt::format("{}, PTX line {}: {}; warp {} goes on with line {}", who, one.by->line,
                            ptx::name(one.by->by), one.warp, one.line));
}

// Of too many arrows all that come from every n-th statement.
std::vector<Wait> WarpRows::thinned() const {
  std::vector<Wait> out;
  std::ranges::copy_if(of_.waits, std::back_inserter(out), [&](const Wait& one) { return is_arrow(one); });
  std::map<std::pair<std::uint64_t, int>, std::size_t> numbers;  // by statement and row
  const auto key = [&](const Wait& one) { return std::pair(one.by->statement, row_of(*one.by)); };
  for (const Wait& one : out) numbers.try_emplace(key(one), 0);
  std::size_t next = 0;
  for (auto& [statement, number] : numbers) number = next++;
  if (!is_thinned() || out.size() <= kMostArrows) return out;
  const std::size_t step = (out.size() + kMostArrows - 1) / kMostArrows;
  std::erase_if(out, [&](const Wait& one) { return numbers.at(key(one)) % step != 0; });
  return out;
}

// Marks at 1, 2 or 5 times a power of ten.
void WarpRows::draw_axis() {
  constexpr double kBetweenMarks = 80;
  const double bottom = top_ + (of_.warps + (has_others_ ? 1 : 0)) * row_ + 4;
  double step = std::pow(10, std::floor(std::log10(std::max(kBetweenMarks / scale_, 1.0))));
  for (const double more : {2.0, 2.5, 2.0})
    if (step * scale_ < kBetweenMarks) step *= more;
  const auto each = std::max<std::uint64_t>(static_cast<std::uint64_t>(step), 1);
  const double end = x(of_.covered);
  drawing_.line(kLeft, bottom, end, bottom, "class=\"wb-grid\"");
  for (std::uint64_t at = 0; at <= of_.covered; at += each) {
    drawing_.line(x(at), bottom, x(at), bottom + 4, "class=\"wb-grid\"");
    drawing_.text(x(at), bottom + 16, number_text(at), "class=\"wb-faint\" text-anchor=\"middle\"");
  }
  drawing_.text(kLeft - 8, bottom + 16, "statement", "class=\"wb-faint\" text-anchor=\"end\"");
  drawing_.skip(static_cast<int>(bottom) + 20 - drawing_.y());
}

void WarpRows::draw() {
  label();
  is_thinned() ? draw_columns() : draw_runs();
  if (is_thinned()) draw_thin_waits();
  for (const Wait& one : of_.waits) {
    if (!is_thinned()) draw_wait(one);
    if (!one.to) draw_end(one);
  }
  arrows_ = static_cast<std::size_t>(
      std::ranges::count_if(of_.waits, [&](const Wait& one) { return is_arrow(one); }));
  const std::vector<Wait> some = thinned();
  drawn_ = some.size();
  for (const Wait& one : some) {
    kinds_.insert(one.by->by);
    is_any_dashed_ = is_any_dashed_ || !one.waited;
    draw_arrow(one);
  }
  draw_axis();
}

// What each stroke means.
void draw_legend(Drawing& drawing, const WarpRows& rows) {
  constexpr int kMark = 26;
  int x = kMargin;
  drawing.skip(kLine + 4);
  const auto add = [&](std::string_view what, const auto& mark) {
    const int width = kMark + 8 + width_of(what.size()) + 20;
    if (x + width > drawing.width()) {
      x = kMargin;
      drawing.skip(kLine + 2);
    }
    mark(x, drawing.y() - 4);
    drawing.text(x + kMark + 8, drawing.y(), what);
    x += width;
  };
  const auto stroke = [&](std::string more) {
    return [&drawing, more = std::move(more)](int at, int y) { drawing.line(at, y, at + kMark, y, more); };
  };
  add("executes", [&](int at, int y) { drawing.box(at, y - 6, kMark, kBar, "class=\"wb-run\""); });
  if (rows.any_waits()) {
    add("waits", stroke(fmt::format("stroke=\"{}\" stroke-width=\"2\"", kWaits)));
    add("may go on, others have their turn",
        stroke("class=\"wb-idle\" stroke-width=\"2\" stroke-dasharray=\"2 3\""));
  }
  for (const ReleasedBy by : rows.kinds()) {
    const Kind& kind = kind_of(by);
    add(fmt::format("{} lets it go on", kind.words),
        stroke(fmt::format("stroke=\"{}\" stroke-width=\"1.2\" marker-end=\"url(#wb-{})\"", kind.colour,
                           kind.colour.substr(1))));
  }
  if (rows.is_any_dashed())
    add("dashed: it was there already",
        stroke("class=\"wb-idle\" stroke-width=\"1.2\" stroke-dasharray=\"3 2\""));
}

}  // namespace

void draw_timeline(Drawing& drawing, const Timeline& of) {
  constexpr std::string_view kFaint = "class=\"wb-faint\"";
  drawing.skip(8);
  drawing.heading(of.warps == 0 ? "What waited for what"
                                : fmt::format("What waited for what: block {}", block_text(of.block)));
  if (of.warps == 0 || of.covered == 0)
    return drawing.write("No statement of the observed block was executed.");
  drawing.write(
      "Across: the statements of the block in the order in which warpbit executed them; an order, not time. Warps take "
      "turns here, each up to its next wait; on a GPU they run side by side. Which one comes last to a barrier, and "
      "whether one waits at all, may be otherwise there.",
      kFaint);
  WarpRows rows(drawing, of);
  rows.draw();
  draw_legend(drawing, rows);
  drawing.skip(4);
  if (rows.has_others()) drawing.write("others: warps of other blocks of the cluster", kFaint);
  if (of.covered < of.statements)
    drawing.write(fmt::format("The first {} of {} statements are drawn.", number_text(of.covered),
                              number_text(of.statements)));
  if (rows.is_thinned())
    drawing.write(
        fmt::format("A column of {} pixels is {} statements, fuller where the warp executes more of them.",
                    kColumn, rows.per_column()));
  if (rows.drawn() < rows.arrows())
    drawing.write(fmt::format("{} of {} arrows are drawn, those from every so many statements; --json has all.",
                              rows.drawn(), rows.arrows()));
}

}  // namespace warpbit::profile
