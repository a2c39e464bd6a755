// SPDX-License-Identifier: Apache-2.0
#include "block/source_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "warpbit/fault.hpp"

namespace warpbit {
namespace {

// "46 > 43 > 24": the lines of a file in a chain, those of a function that calls itself once; "46 or 48 > 43" where it is not
// known which one.
std::string lines_in(const std::string& file, const std::vector<SourceLink>& chain) {
  std::string out;
  int last = 0;
  for (const SourceLink& link : chain)
    if (link.file == file && link.line != std::exchange(last, link.line)) {
      out += fmt::format("{}{}", out.empty() ? "" : " > ", link.line);
      for (const int other : link.or_lines) out += fmt::format(" or {}", other);
    }
  return out;
}

// What stands in <> of a template is most of a long name.
std::string short_name(std::string name) {
  constexpr std::size_t kMost = 60;
  if (const std::size_t first = name.find('<'), last = name.rfind('>');
      name.size() > kMost && first < last && last != name.npos)
    name.replace(first + 1, last - first - 1, "...");
  return name;
}

}  // namespace

std::string own_lines(const std::vector<SourceLink>& chain, int line) {
  if (chain.empty()) return {};
  const SourceLink& first = chain.front();
  const std::string lines = lines_in(first.file, chain);
  return line == 0 || line == first.line ? fmt::format("{}:{}", first.file, lines)
                                         : fmt::format("{}:{} ({})", first.file, line, lines);
}

std::string others_lines(const std::vector<SourceLink>& chain) {
  const auto is_others = [&](const SourceLink& link) { return link.file != chain.front().file; };
  const auto first = std::ranges::find_if(chain, is_others);
  if (first == chain.end()) return {};
  const auto more = std::ranges::count_if(
      chain, [&](const SourceLink& link) { return is_others(link) && link.file != first->file; });
  return fmt::format(
      "{}at {}:{}{}", first->function.empty() ? "" : fmt::format("in {}() ", short_name(first->function)),
      first->file, lines_in(first->file, chain), more == 0 ? "" : fmt::format(" and {} more", more));
}

namespace block {
namespace {

using Chain = std::vector<SourceLink>;

// "gemm(float*)::{lambda(int)#1}::operator()" stands in the body of "gemm", and so do the functions of a struct there.
bool is_of_body(const Chain& chain, std::size_t link) {
  const std::string& kernel = chain.front().function;
  return link == 0 || (!kernel.empty() && chain[link].function.starts_with(kernel + "(") &&
                       chain[link].file == chain.front().file);
}

std::size_t last_called_back(const Chain& chain) {
  for (std::size_t link = chain.size() - 1; link > 1; --link)
    if (is_of_body(chain, link) && !is_of_body(chain, link - 1)) return link;
  return 0;
}

// Whether the lambda that the chain is told by was written before it was given to a helper.
bool is_named(const Chain& chain) {
  return !chain.empty() && chain[last_called_back(chain)].line < chain.front().line;
}

}  // namespace

std::size_t told_link(const Chain& chain, const Chain& other) {
  if (chain.empty()) return 0;
  const bool are_helpers = is_named(chain) && is_named(other) && chain.front() != other.front();
  const std::size_t own = are_helpers ? 0 : last_called_back(chain);
  const std::size_t part = static_cast<std::size_t>(std::ranges::mismatch(chain, other).in1 - chain.begin());
  const bool is_helper = part > own && part + 1 < std::min(chain.size(), other.size());
  return is_helper && chain[part].file == chain[own].file && chain[part].file == other[part].file ? part : own;
}

}  // namespace block
}  // namespace warpbit
