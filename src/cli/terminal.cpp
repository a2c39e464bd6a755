// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>  // TIOCGWINSZ
#include <unistd.h>     // isatty

#include <algorithm>
#include <bit>  // std::countl_one
#include <charconv>
#include <cstdlib>  // getenv
#include <numeric>  // std::accumulate
#include <sstream>
#include <utility>

namespace warpbit::cli {
namespace {

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : text;
}

}  // namespace

const Terminal& terminal() {
  static const Terminal found = [] {
    Terminal out;
    out.is_one = isatty(STDOUT_FILENO) != 0;
    out.colours = out.is_one && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
    std::size_t given = 0;
    winsize size{};
    if (out.is_one && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) given = size.ws_col;
    const std::string_view text = variable("COLUMNS");
    if (given == 0) std::from_chars(text.data(), text.data() + text.size(), given);
    const bool is_believed = given >= 20 && given <= 1000;
    if (is_believed) out.columns = given;
    return out;
  }();
  return found;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    // The first byte of a character has as many ones in front as there are bytes, if there are several; the others are
    // 10xxxxxx. Control characters are below 0x20, and 0x7f to 0x9f.
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
    const unsigned char first = byte(0);
    const auto size = static_cast<std::size_t>(std::max(std::countl_one(first), 1));
    bool good = size == 1 ? first >= 0x20 && first < 0x7F
                          : first >= 0xC2 && first < 0xF5 && !(first == 0xC2 && byte(1) < 0xA0);
    for (std::size_t i = 1; i < size; ++i) good = good && (byte(i) & 0xC0) == 0x80;
    if (good)
      out += text.substr(0, size);
    else
      out += fmt::format("\\x{:02x}", first);
    text.remove_prefix(good ? size : 1);
  }
  return out;
}

std::vector<std::string> broken(std::string_view text, std::size_t columns) {
  std::vector<std::string> out;
  while (text.size() > columns) {
    const std::size_t blank = text.rfind(' ', columns), dot = text.rfind('.', columns);
    const bool at_blank = blank != text.npos && blank > 0, at_dot = dot != text.npos && dot > 0;
    const std::size_t end = at_blank ? blank : at_dot ? dot : columns;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (at_blank ? 1 : 0));
  }
  out.emplace_back(text);
  return out;
}

void print_fitted(std::string_view line) {
  const std::size_t columns = terminal().is_one ? terminal().columns : line.npos;
  for (const std::string& part : broken(printable(line), columns)) fmt::print("{}\n", part);
}

std::string coloured(std::string_view text, int colour) {
  if (!terminal().colours) return std::string(text);
  return fmt::format("\033[38;5;{}m{}\033[0m", colour, text);
}

// ---- Progress

ProgressBar::ProgressBar(bool is_wanted)
    : is_shown_(is_wanted && isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (!text_.empty()) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show(std::uint64_t done, std::uint64_t all) {
  constexpr std::uint64_t kWidth = 40, kParts = 1000;
  if (!is_shown_ || all == 0 || (done * kParts / all == (done - 1) * kParts / all && !text_.empty())) return;
  const std::uint64_t filled = done * kWidth / all;
  text_ = fmt::format("\r[{}{}] {}/{}", std::string(filled, '#'), std::string(kWidth - filled, '.'), done, all);
  fmt::print(stderr, "{}", text_);
  std::fflush(stderr);
}

// ---- Tables

namespace {

constexpr std::size_t kGap = 2;

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> out(table[0].size());
  for (const Row& row : table)
    for (std::size_t j = 0; j < row.size(); ++j) out[j] = std::max(out[j], row[j].size());
  return out;
}

constexpr std::size_t kMaxWhole = 30;  // of words that are not broken

std::size_t longest_word(const Table& table, std::size_t column) {
  std::size_t out = 0;
  for (const Row& row : table) {
    std::istringstream in(row[column]);
    for (std::string word; in >> word;) out = std::max(out, word.size());
  }
  return out;
}

// As much of a column as should not be broken: its longest word, if that is no form.
std::size_t least_width(const Table& table, std::size_t column) {
  return std::min(longest_word(table, column), kMaxWhole);
}

// A row with its first cell, which is not broken, on a line of its own; the others below it, those side by side that fit.
void print_paragraph(const Row& headings, const Row& row) {
  constexpr std::size_t kIndent = 2;
  const std::size_t columns = terminal().columns - 2 * kIndent;
  std::vector<std::string> lines;
  for (std::size_t j = 1; j < row.size(); ++j) {
    const std::string cell = fmt::format("{}: {}", headings[j], row[j]);
    if (!lines.empty() && lines.back().size() + kGap + cell.size() <= columns)
      lines.back() += std::string(kGap, ' ') + cell;
    else
      lines.push_back(cell);
  }
  fmt::print("{}\n", row[0]);
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = broken(line, columns);
    for (std::size_t i = 0; i < parts.size(); ++i)
      fmt::print("{:{}}{}\n", "", (i == 0 ? 1 : 2) * kIndent, parts[i]);
  }
}

void print_in_paragraphs(const Table& table) {
  for (std::size_t i = 1; i < table.size(); ++i) print_paragraph(table[0], table[i]);
}

// The first column and some more that fit beside it, then it and the next ones.
void print_in_bands(const Table& table) {
  for (std::size_t next = 1; next < table[0].size();) {
    Table band;
    for (const Row& row : table) band.push_back({row[0]});
    std::size_t width = least_width(table, 0);
    const std::size_t first = next;
    while (next < table[0].size() &&
           (next == first || width + kGap + least_width(table, next) <= terminal().columns)) {
      width += kGap + least_width(table, next);
      for (std::size_t i = 0; i < table.size(); ++i) band[i].push_back(table[i][next]);
      ++next;
    }
    if (first > 1) fmt::print("\n");
    print_narrow(band);
  }
}

}  // namespace

Row joined(Row row, const Row& more) {
  row.insert(row.end(), more.begin(), more.end());
  return row;
}

void print(const Table& table, bool markdown) {
  if (!markdown) return longest_word(table, 0) > kMaxWhole ? print_in_paragraphs(table) : print_in_bands(table);
  const std::vector<std::size_t> widths = widths_of(table);
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (std::size_t j = 0; j < widths.size(); ++j) fmt::print("| {:<{}} ", table[i][j], widths[j]);
    fmt::print("|\n");
    if (i != 0) continue;
    for (const std::size_t width : widths) fmt::print("|{}", std::string(width + 2, '-'));
    fmt::print("|\n");
  }
}

void print_narrow(const Table& table, const PaintCell& paint) {
  constexpr std::size_t kLeastHeading = 25, kLeast = 8;
  const std::size_t columns = terminal().columns;
  std::vector<std::size_t> widths = widths_of(table);
  const auto total = [&] { return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1)); };
  while (total() > columns && widths[0] > kLeastHeading) --widths[0];
  while (total() > columns && *std::ranges::max_element(widths) > kLeast) --*std::ranges::max_element(widths);
  for (const Row& row : table) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t j = 0; j < row.size(); ++j)
      height = std::max(height, cells.emplace_back(broken(row[j], widths[j])).size());
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      std::size_t blanks = 0;  // before the next cell that has a text
      for (std::size_t j = 0; j < cells.size(); ++j) {
        const std::string text = i < cells[j].size() ? cells[j][i] : "";
        if (!text.empty()) line += std::string(std::exchange(blanks, 0), ' ') + (paint ? paint(j, text) : text);
        blanks += widths[j] - text.size() + kGap;
      }
      fmt::print("{}\n", line);
    }
  }
}

void print_csv(const Table& table) {
  for (Row row : table) {
    for (std::string& cell : row) {
      if (cell.find_first_of(",\"\r\n") == cell.npos) continue;
      for (std::size_t at = 0; (at = cell.find('"', at)) != cell.npos; at += 2) cell.insert(at, 1, '"');
      cell = '"' + cell + '"';
    }
    fmt::print("{}\n", fmt::join(row, ","));
  }
}

}  // namespace warpbit::cli
