// SPDX-License-Identifier: Apache-2.0
// What a launch counts, and what its warps waited for.
#include "warpbit/profile.hpp"

#include "profile.hpp"
#include "records.hpp"

namespace warpbit::python {
namespace {

// A member of what LineCounts is made of.
template <class M, class Base>
Field<ptx::LineCounts, M> line_field(const char* name, M Base::*member, const char* doc) {
  return field(name, static_cast<M ptx::LineCounts::*>(member), doc);
}

void add_line(py::module_& m) {
  add_record(
      m, "SourceLink", "A line of a function from which a statement comes.",
      field("function", &SourceLink::function, "Its name without parameters, or empty."),
      field("file", &SourceLink::file, "As .file has it."), field("line", &SourceLink::line, "In that file."),
      field("or_lines", &SourceLink::or_lines,
            "Others that it may be as well, where the text does not tell copies of one statement apart."));
  add_record(
      m, "LaunchLine", "How often a statement was executed, and what it moves and multiplies: counted.",
      line_field("line", &ptx::CodeLine::line, "Of the module's text, from 1."),
      line_field("statement", &ptx::CodeLine::statement, "In one line, with its guard."),
      line_field("opcode", &ptx::CodeLine::opcode, "Its first word: \"ld\"."),
      line_field("family", &ptx::CodeLine::family,
                 "The opcode, of accesses with their space: \"ld.global\", \"cp.async\"."),
      line_field("file", &ptx::CodeLine::file, "Where it comes from (.loc), or empty."),
      line_field("source_line", &ptx::CodeLine::source_line, "In that file."),
      line_field("chain", &ptx::CodeLine::chain, kChain),
      line_field("warps", &ptx::Counts::warps, "Executions by a warp, or by a part that has diverged."),
      line_field("lanes", &ptx::Counts::lanes, "Executions by lanes."),
      line_field("bytes", &ptx::Counts::bytes,
                 "Of global memory that lanes ask for, and boxes of copies in bulk."),
      line_field("sectors", &ptx::Counts::sectors,
                 "Of 32 bytes in which they lie, of each execution or copy in bulk."),
      line_field("least_sectors", &ptx::Counts::least_sectors,
                 "As few as could hold as many different bytes, of each execution or copy."),
      line_field("conflicts", &ptx::Counts::conflicts, "Extra wavefronts of shared memory, by bank conflicts."),
      line_field(
          "shared_bytes", &ptx::Counts::shared_bytes,
          "Of shared memory: of lanes, of copies, of tcgen05.mma its matrices, and of wgmma a quarter of them for "
          "each warp."),
      line_field("local_bytes", &ptx::Counts::local_bytes, "Of local memory that lanes ask for."),
      line_field("constant_bytes", &ptx::Counts::constant_bytes,
                 "Of constant memory and parameters that lanes ask for."),
      line_field(
          "tensor_bytes", &ptx::Counts::tensor_bytes,
          "Of tensor memory: from and to registers, of tcgen05.cp, and of tcgen05.mma A, metadata, scale factors and D."),
      line_field("products", &ptx::Counts::products,
                 "Multiply-adds of matrix products, M N K each; of wgmma a quarter for each warp."));
}

}  // namespace

void add_profile(py::module_& m) {
  add_line(m);
  add_record(
      m, "LaunchRelease", "A statement that has let a warp go on, as the last of all that had to be.",
      field("what", &ptx::Release::by,
            "\"arrival\" at a barrier; a \"copy\" or a \"product\" that began there; the \"end\" of a warp."),
      field("block", &ptx::Release::block, "x, y and z."), field("warp", &ptx::Release::warp, "In its block."),
      field("line", &ptx::Release::line, "Of the module's text, from 1."),
      field("statement", &ptx::Release::statement,
            "Its number; of another block that of the next one of the observed block."));
  add_record(
      m, "LaunchWait", "A warp, or a part of one that has diverged, waited at a statement or could have.",
      field("what", &ptx::Wait::what,
            "For what: \"barrier\", \"mbarrier\", \"copies\", \"products\" and so on."),
      field("warp", &ptx::Wait::warp, "In the block."), field("lanes", &ptx::Wait::lanes, "A bit for each."),
      field("line", &ptx::Wait::line, "Of the module's text, from 1."),
      field("waited", &ptx::Wait::waited, "False: all was there already."),
      field("begin", &ptx::Wait::from, "How many statements of the block were executed when it began."),
      field("released", &ptx::Wait::released, "How many were when it was over."),
      field("to", &ptx::Wait::to,
            "The number of the statement with which the warp went on; None: it never did."),
      field("by", &ptx::Wait::by, "What let it go on, or None: a test gave up, or the wait is not over."));
  add_record(m, "LaunchRun", "Statements that a warp has executed one after the other.",
             field("warp", &ptx::WarpRun::warp, "In the block."),
             field("first", &ptx::WarpRun::first, "The number of the first one."),
             field("count", &ptx::WarpRun::count, "How many."),
             field("first_line", &ptx::WarpRun::first_line, "Of the module's text, from 1."),
             field("last_line", &ptx::WarpRun::last_line, "The same of the last one."));
  add_record(
      m, "LaunchTimeline",
      "What the warps of a block waited for. Statements have numbers in the order in which warpbit executed those of "
      "the block: an order, and no time.",
      field("block", &ptx::Timeline::block, "x, y and z."),
      field("warps", &ptx::Timeline::warps, "0: the block has not run."),
      field("statements", &ptx::Timeline::statements, "That its warps have executed."),
      field("covered", &ptx::Timeline::covered,
            "So many of them, the first ones, the lists are of: all but in a long launch."),
      field("runs", &ptx::Timeline::runs, "By their statements."),
      field("waits", &ptx::Timeline::waits,
            "In the order in which they were over; behind them those that never were."));
}

}  // namespace warpbit::python
