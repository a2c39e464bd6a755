// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/debug_bytes.hpp"
#include "cli/debug_fragments.hpp"
#include "cli/launch_watch.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

struct CommandRow {
  std::string_view names;  ///< the long one first, by blanks
  std::string_view words;
  std::string_view help;
  void (DebugSession::*run)(const Words&);
};
constexpr CommandRow kCommandRows[] = {
    {"help h", "", "this list", &DebugSession::help},
    {"break b", "LINE | FILE:LINE | OPCODE | write BYTES | finding [warp W] [every N]",
     "stop at a line of the PTX or of the source, at statements whose name begins so, at those that write these "
     "bytes (C[3,5], C, shared As+0x40, shared 0x40:16), or behind which there is a new finding",
     &DebugSession::set_break},
    {"delete", "NUMBER", "no such breakpoint any more", &DebugSession::delete_break},
    {"info", "", "the breakpoints", &DebugSession::info},
    {"continue c", "", "to the next breakpoint, or to the end", &DebugSession::go_on},
    {"step s", "[N]", "the next statement of this warp", &DebugSession::step},
    {"line n", "", "its next statement from another line of the source", &DebugSession::line},
    {"barrier", "", "its next statement that waits for others", &DebugSession::barrier},
    {"other", "", "the next statement of another warp", &DebugSession::other_warp},
    {"back r", "[continue | step | line | barrier | other]",
     "the same backwards: step, unless another is named", &DebugSession::back},
    {"goto g", "NUMBER | start | end", "the place behind so many statements of the block",
     &DebugSession::go_to},
    {"warps w", "", "where each warp is", &DebugSession::warps},
    {"warp", "W", "look at another warp", &DebugSession::select_warp},
    {"print p", "[REGISTER...]", "by lane, what the statement reads and writes, or these registers",
     &DebugSession::print_value},
    {"registers", "", "all registers of the warp that statements have named", &DebugSession::registers},
    {"matrix m", "[OPERAND]", "the operands of a tensor instruction as matrices", &DebugSession::matrix},
    {"shared x", "[PLACE [COUNT | ROWSxCOLUMNS] [TYPE]]",
     "shared memory from a byte on (0x40, As, As+0x40): 8 words of u32, or of the type of the variable, unless said "
     "otherwise; alone: the variables there",
     &DebugSession::shared},
    {"tensor", "[LANE COLUMN [ROWSxCOLUMNS] [TYPE]]",
     "words of tensor memory: 8x8 of f32 unless said otherwise; alone: what is allocated",
     &DebugSession::tensor},
    {"made", "BYTES [COUNT]",
     "the statements of the block that made an element (C[3,5], shared As+0x40) as it is here, from its store back to the loads",
     &DebugSession::made},
    {"mbarriers", "", "the barrier objects of the block: phase, arrivals and bytes", &DebugSession::mbarriers},
    {"waits", "", "who waits for whom", &DebugSession::waits},
    {"pending", "", "copies, products and arrivals that nobody has waited for", &DebugSession::pending},
    {"array a", "PARAMETER [FIRST] [COUNT]", "elements of an array as they are here", &DebugSession::array},
    {"stored", "PARAMETER ELEMENT", "which thread and statement stores an element of an array",
     &DebugSession::stored},
    {"set", "REGISTER[:LANES] VALUE | BYTES VALUE [TYPE]",
     "change a register of this warp (%r1:0-3), an element of an array (C[3,5]) or shared memory (shared As+0x40) here, "
     "and in all that follows; alone: what is changed; set none: nothing any more",
     &DebugSession::set},
    {"list l", "", "the statements around this one", &DebugSession::list},
    {"quit q", "", "the end", nullptr},
};

// All lines of a fault, the first behind a word.
void print_message(std::string_view word, const Fault& fault) {
  std::istringstream lines(fault.message());
  for (std::string line; std::getline(lines, line); word = "")
    print_fitted(printable(fmt::format("{}{}", word, line)));
}

bool is_name(const CommandRow& row, const std::string& word) {
  std::istringstream in{std::string(row.names)};
  for (std::string one; in >> one;)
    if (one == word) return true;
  return false;
}

}  // namespace

DebugSession::DebugSession(LoadedLaunch& loaded)
    : loaded_(loaded),
      debugger_(loaded.kernel, loaded.how, loaded.arguments),
      lines_(loaded.kernel.lines(loaded.how)),
      variables_(loaded.kernel.shared_variables(loaded.how)),
      at_(debugger_.state(0)) {
  // What cannot be launched at all is refused now.
  const DebugState first = debugger_.state(1);
  if (first.is_end && first.fault && first.fault->lanes.empty()) throw Refusal{first.fault->error};
  debugger_.restore();
}

bool DebugSession::obey(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string one; in >> one;) words.push_back(one);
  if (words.empty()) return before_.empty() || obey(before_);
  before_ = line;
  const auto* const row =
      std::ranges::find_if(kCommandRows, [&](const CommandRow& one) { return is_name(one, words[0]); });
  if (row == std::end(kCommandRows)) {
    print_fitted(printable(fmt::format("'{}' is no command; help lists them", words[0])));
    has_refused_ = true;
    return true;
  }
  if (row->run == nullptr) return false;
  words.erase(words.begin());
  try {
    (this->*row->run)(words);
  } catch (const Refusal& refusal) {  // the session goes on
    has_refused_ = true;
    print_fitted(printable(refusal.error.message()));
  }
  return true;
}

void DebugSession::help(const Words&) {
  Table table{{"command", "words", "what it does"}};
  for (const CommandRow& one : kCommandRows)
    table.push_back({std::string(one.names), std::string(one.words), std::string(one.help)});
  print_narrow(table);
  print_fitted("An empty line repeats the last one.");
}

// ---- Places

const ptx::CodeLine* DebugSession::code_line(int line) const {
  const auto found = std::ranges::find(lines_, line, &ptx::CodeLine::line);
  return found == lines_.end() ? nullptr : &*found;
}

std::string DebugSession::source_of(int line) const {
  const ptx::CodeLine* const at = code_line(line);
  return at == nullptr || at->chain.empty() ? std::string() : own_lines(at->chain);
}

void DebugSession::show_place() const {
  const device::Index3& block = loaded_.how.observed_block;
  if (at_.step == 0 && !at_.is_end) {
    print_fitted(fmt::format("{}: block ({}, {}, {}), before the first statement", loaded_.kernel.name(),
                             block.x, block.y, block.z));
    return;
  }
  if (at_.is_end) {
    print_fitted(fmt::format("the end, behind {} statements of the block", at_.step));
    for (const ptx::Finding& one : at_.findings) print_message("a finding: ", one.fault);
    if (at_.fault) print_message("a fault: ", *at_.fault);
    return;
  }
  const std::string source = source_of(at_.seen->line);
  print_fitted(
      printable(fmt::format("{}: warp {}, {}PTX line {}: {}", at_.step, at_.seen->warp,
                            source.empty() ? "" : source + ": ", at_.seen->line, at_.seen->statement)));
  if (at_.seen->is_found && !at_.findings.empty())
    print_message("a finding is new here: ", at_.findings.back().fault);
}

void DebugSession::move_to(std::uint64_t step) {
  at_ = debugger_.state(step);
  if (at_.seen) warp_ = at_.seen->warp;
  if (at_.is_end && at_.fault) warp_ = at_.fault->warp;
  show_place();
}

void DebugSession::move(const DebugPredicate& holds, bool is_back, std::string_view what) {
  const std::optional<std::uint64_t> to = is_back
                                              ? debugger_.find_previous(at_.step + (at_.is_end ? 1 : 0), holds)
                                              : debugger_.find_next(at_.step, holds);
  if (to) return move_to(*to);
  if (!is_back) return move_to(~std::uint64_t{0});
  print_fitted(fmt::format("there is no {} before this", what));
  at_ = debugger_.state(at_.step);
}

DebugPredicate DebugSession::of_warp() const {
  return [warp = warp_](const ptx::Observation& seen) { return seen.warp == warp; };
}

void DebugSession::step(const Words& words) {
  std::uint64_t count = 1;
  if (!words.empty()) {
    const auto read = number<std::uint64_t>(words[0]);
    if (!read || *read == 0) refuse("step", fmt::format("'{}'", words[0]), "a number from 1 on");
    count = *read;
  }
  const std::optional<std::uint64_t> to = debugger_.find_next(at_.step, of_warp(), count);
  move_to(to.value_or(~std::uint64_t{0}));
}

void DebugSession::go_on(const Words&) {
  std::vector<std::uint64_t> hits(breaks_.size(), 0);
  const auto stops = [&](const ptx::Observation& seen) {
    bool out = false;
    for (std::size_t i = 0; i < breaks_.size(); ++i)
      if (is_at(breaks_[i], seen) && ++hits[i] % breaks_[i].hits == 0) out = true;
    return out;
  };
  move(stops, false, "breakpoint");
}

void DebugSession::line(const Words& words) {
  const int from = at_.seen ? at_.seen->line : 0;
  const bool is_back = !words.empty();
  move(
      [&, from](const ptx::Observation& seen) {
        return seen.warp == warp_ && (source_of(seen.line) != source_of(from) || source_of(from).empty());
      },
      is_back, "other line");
}

void DebugSession::barrier(const Words& words) {
  // What ptx::Awaited has, but for instructions of lanes or warps together.
  constexpr std::string_view kWaiting[] = {"bar",          "mbarrier.try_wait", "mbarrier.test_wait",
                                           "wgmma.wait",   "cp.async.wait",     "cp.async.bulk.wait",
                                           "tcgen05.wait", "tcgen05.alloc",     "setmaxnreg.inc"};
  move(
      [this, &kWaiting](const ptx::Observation& seen) {
        const std::string_view text = without_guard(seen.statement);
        return seen.warp == warp_ &&
               std::ranges::any_of(kWaiting, [&](std::string_view one) { return text.starts_with(one); });
      },
      !words.empty(), "barrier");
}

void DebugSession::other_warp(const Words& words) {
  move([warp = warp_](const ptx::Observation& seen) { return seen.warp != warp; }, !words.empty(),
       "other warp");
}

void DebugSession::back(const Words& words) {
  const std::string what = words.empty() ? "step" : words[0];
  const Words backwards = {"back"};
  if (what == "step" || what == "s") return move(of_warp(), true, "statement of this warp");
  if (what == "line" || what == "n") return line(backwards);
  if (what == "barrier") return barrier(backwards);
  if (what == "other") return other_warp(backwards);
  if (what != "continue" && what != "c")
    refuse("back", fmt::format("'{}'", what), "continue, step, line, barrier or other");
  move(
      [this](const ptx::Observation& seen) {
        return std::ranges::any_of(breaks_, [&](const DebugBreakpoint& one) { return is_at(one, seen); });
      },
      true, "breakpoint");
}

void DebugSession::go_to(const Words& words) {
  if (words.size() != 1) refuse("goto", "no place", "a number, start or end");
  if (words[0] == "start") return move_to(0);
  if (words[0] == "end") return move_to(~std::uint64_t{0});
  const auto step = number<std::uint64_t>(words[0]);
  if (!step) refuse("goto", fmt::format("'{}'", words[0]), "a number, start or end");
  move_to(*step);
}

// ---- Breakpoints

bool DebugSession::is_at(const DebugBreakpoint& one, const ptx::Observation& seen) const {
  if (seen.lanes == 0 || (one.warp && *one.warp != seen.warp)) return false;
  if (!one.lines.empty())
    return std::ranges::find(one.lines, seen.line, &ptx::CodeLine::line) != one.lines.end();
  if (one.holds) return one.holds(seen);
  return without_guard(seen.statement).starts_with(one.opcode);
}

// What stands before "warp W" and "every N", which are taken off the words.
DebugBreakpoint DebugSession::parse_break(Words& words) {
  DebugBreakpoint out;
  for (; words.size() > 2 && (words[words.size() - 2] == "warp" || words[words.size() - 2] == "every");
       words.resize(words.size() - 2)) {
    const auto value = number<int>(words.back());
    const bool is_warp = words[words.size() - 2] == "warp";
    if (!value || *value < 0)
      refuse("break", fmt::format("'{} {}'", words[words.size() - 2], words.back()), "warp W or every N");
    if (is_warp) out.warp = *value;
    if (!is_warp) out.hits = static_cast<std::uint64_t>(std::max(*value, 1));
  }
  const std::string what = fmt::format("{}", fmt::join(words, " "));
  constexpr std::string_view kWrite = "write ";
  const bool is_line = what.find_first_not_of("0123456789") == what.npos;
  if (what == "finding") {
    out.holds = has_finding();
  } else if (what.starts_with(kWrite)) {
    out.holds = parse_bytes("break", what.substr(kWrite.size()), loaded_, variables_).is_written();
  } else if (is_line || what.find(':') != what.npos) {
    out.lines = find_lines(what, loaded_.kernel, loaded_.how);
  } else {
    out.opcode = what;
    if (std::ranges::none_of(lines_,
                             [&](const ptx::CodeLine& line) { return line.statement.find(what) != what.npos; }))
      refuse("break", fmt::format("'{}'", what),
             "a line, write and bytes, finding, or the beginning of a statement that the kernel has");
  }
  return out;
}

void DebugSession::set_break(const Words& words) {
  if (words.empty())
    refuse("break", "no place",
           "LINE of the PTX, FILE:LINE of the source, the name of statements, write BYTES, or finding");
  Words left = words;
  DebugBreakpoint one = parse_break(left);
  one.text = fmt::format("{}", fmt::join(words, " "));
  breaks_.push_back(std::move(one));
  show_break(breaks_.size() - 1);
}

void DebugSession::delete_break(const Words& words) {
  const auto which = words.empty() ? std::nullopt : number<std::size_t>(words[0]);
  if (!which || *which < 1 || *which > breaks_.size())
    refuse("delete", words.empty() ? "nothing" : fmt::format("'{}'", words[0]),
           "the number of a breakpoint, as info lists them");
  breaks_.erase(breaks_.begin() + static_cast<std::ptrdiff_t>(*which - 1));
  info({});
}

void DebugSession::info(const Words&) {
  if (breaks_.empty()) print_fitted("no breakpoint");
  for (std::size_t i = 0; i < breaks_.size(); ++i) show_break(i);
}

void DebugSession::show_break(std::size_t i) const {
  std::string at;
  for (const ptx::CodeLine& line : breaks_[i].lines)
    at += fmt::format("{}{}", at.empty() ? ": PTX line " : ", ", line.line);
  print_fitted(printable(fmt::format("{}: {}{}", i + 1, breaks_[i].text, at)));
}

}  // namespace warpbit::cli
