// SPDX-License-Identifier: Apache-2.0
// What a launch of PTX gives, and the rules that it follows.
#include "launch_report.hpp"

#include "launches.hpp"
#include "profile.hpp"
#include "records.hpp"
#include "warpbit/profile.hpp"

namespace warpbit::python {

std::string utf8(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(
             PyUnicode_DecodeUTF8(bytes.data(), std::ssize(bytes), "backslashreplace"))
      .cast<std::string>();
}

namespace {

Block block_of(const device::Index3& block) {
  return {block.x, block.y, block.z};
}

std::vector<SourceLink> links_of(std::vector<SourceLink> out) {
  for (SourceLink& link : out)
    for (std::string* text : {&link.function, &link.file}) *text = utf8(*text);
  return out;
}

LaunchFaultSide side_of(const FaultSide& side) {
  return {side.warp,
          side.lanes,
          side.at.file,
          side.at.line,
          side.ptx_line,
          links_of(side.chain),
          side.elsewhere ? std::optional(block_of(*side.elsewhere)) : std::nullopt,
          side.what};
}

LaunchWaiters waiters_of(const FaultWaiters& row) {
  LaunchWaiters out{{},           row.warps,           row.lanes,     row.at.file, row.at.line,
                    row.ptx_line, links_of(row.chain), row.statement, row.awaits};
  for (const device::Index3& block : row.blocks) out.blocks.push_back(block_of(block));
  return out;
}

LaunchFault fault_of(const Fault& fault) {
  LaunchFault out{fault.error,
                  std::string(name(fault.rule)),
                  fault.kernel,
                  fault.message(),
                  block_of(fault.block),
                  side_of(fault),
                  {},
                  {},
                  {},
                  {},
                  {}};
  for (const FaultSide& one : fault.related) out.related.push_back({side_of(one), one.what});
  for (const FaultWaiters& row : fault.waiting) out.waiting.push_back(waiters_of(row));
  if (fault.other) out.other = side_of(*fault.other);
  if (fault.address) {
    out.space = name(fault.address->space);
    out.byte = fault.address->byte;
  }
  return out;
}

std::vector<LaunchFinding> findings_of(const ptx::Report& report) {
  std::vector<LaunchFinding> out;
  for (const ptx::Finding& one : report.findings)
    out.push_back({fault_of(one.fault), one.times, std::string(name(one.grade)), one.warps, one.lanes,
                   one.blocks, one.cause < 0 ? std::nullopt : std::optional(one.cause)});
  return out;
}

// Lines whose texts are UTF-8.
template <class Line>
std::vector<Line> lines_of(std::vector<Line> out) {
  for (Line& line : out) {
    for (std::string* text : {&line.statement, &line.file}) *text = utf8(*text);
    if constexpr (requires { line.chain; }) line.chain = links_of(line.chain);
  }
  return out;
}

}  // namespace

LaunchReport report_of(const ptx::Report& report) {
  return {report.fault ? std::optional(fault_of(*report.fault)) : std::nullopt,
          report.inferred,
          report.contracted,
          report.blocks,
          report.cancelled,
          report.steps,
          report.checked.shared,
          report.checked.global,
          report.checked.barriers,
          report.checked.copies,
          report.checked.products,
          report.checked.not_looked_for,
          utf8(report.printed),
          report.printed_dropped,
          findings_of(report),
          report.order_dependent,
          report.inferences,
          lines_of(report.assembled),
          lines_of(report.profile),
          report.timeline,
          lines_of(report.notes)};
}

// "st.global.f32 [%rd4], %f1" and, behind the first line of a fault, its places.
LaunchStore store_of(const Fault& fault) {
  const std::string message = fault.message(), &statement = fault.error.where;
  return {block_of(fault.block), side_of(fault), utf8(statement),
          utf8(statement + message.substr(std::min(message.find('\n'), message.size())))};
}

namespace {

struct LaunchRule {
  std::string_view name, says, manual, by_default, strict, in_source, reason, hardware;
};
std::vector<LaunchRule> launch_rules() {
  std::vector<LaunchRule> out;
  for (const KernelRuleInfo& rule : kernel_rules())
    out.push_back({rule.name, rule.says, rule.manual, name(rule.by_default), name(rule.strict),
                   name(rule.in_source), rule.reason, rule.hardware});
  return out;
}

void add_rules(py::module_& m) {
  add_record(m, "AssemblerRule",
             "A rule by which the assembler (ptxas) changes the bits that a kernel leaves. At -O0 none acts.",
             field("name", &ptx::AssemblerRule::name, "As `without` of a launch takes it."),
             field("pattern", &ptx::AssemblerRule::pattern, "What it sees."),
             field("result", &ptx::AssemblerRule::result, "What it makes of it."),
             field("since", &ptx::AssemblerRule::since, "The ptxas in which it was first seen."),
             field("evidence", &ptx::AssemblerRule::evidence, "What shows it."));
  m.def(
      "assembler_rules",
      [] {
        const std::span<const ptx::AssemblerRule> all = ptx::assembler_rules();
        return std::vector<ptx::AssemblerRule>(all.begin(), all.end());
      },
      "All rules of the assembler, in the order in which they act.");
  add_record(
      m, "KernelRule", "A rule that a kernel must keep.",
      field("name", &LaunchRule::name, "As `rules` of a launch takes it."),
      field("says", &LaunchRule::says, "What a kernel must do."),
      field("manual", &LaunchRule::manual, "The section of the PTX manual."),
      field("by_default", &LaunchRule::by_default,
            "What a launch does where it is broken: \"fault\", it ends; \"finding\", it goes on and says so."),
      field("strict", &LaunchRule::strict, "The same of a launch with `strict`."),
      field("in_source", &LaunchRule::in_source,
            "The same of a kernel in source (device.hpp), whose launch reports faults alone."),
      field("reason", &LaunchRule::reason, "Why."),
      field("hardware", &LaunchRule::hardware, "What GPUs did with kernels that break it; or empty."));
  m.def("kernel_rules", &launch_rules, "All rules that a kernel must keep.");
}

}  // namespace

void add_report(py::module_& m) {
  add_rules(m);
  add_profile(m);
  add_record(m, "KernelParameter", "A parameter of a kernel.",
             field("name", &ptx::Parameter::name, "As the PTX has it."),
             field("type", &ptx::Parameter::type,
                   "As PTX spells it, without the dot; of an array that of its elements."),
             field("bytes", &ptx::Parameter::bytes, "Of the whole parameter."),
             field("offset", &ptx::Parameter::offset, "Among all parameters."),
             field("alignment", &ptx::Parameter::alignment, "In bytes."));
  add_record(m, "LaunchFaultSide", "Who does what a fault is about.",
             field("warp", &LaunchFaultSide::warp, "Of the block."),
             field("lanes", &LaunchFaultSide::lanes, "Of the warp; of the launch itself none."),
             field("file", &LaunchFaultSide::file, "Where the instruction comes from (.file), or empty."),
             field("line", &LaunchFaultSide::line,
                   "In that file: the line of the chain that the message begins with."),
             field("ptx_line", &LaunchFaultSide::ptx_line, "Of the module's text, from 1."),
             field("chain", &LaunchFaultSide::chain, kChain),
             field("elsewhere", &LaunchFaultSide::elsewhere,
                   "x, y and z, where it is another block of the cluster than the fault's; or None."),
             field("what", &LaunchFaultSide::what,
                   "As in \"the write of the flag\": what is there; of a fault's own side nothing."));
  add_record(
      m, "LaunchRelatedSide", "A place that has to do with a fault, besides its two sides.",
      field("at", &LaunchRelatedSide::at, "Where, and who."),
      field("what", &LaunchRelatedSide::what, "As in \"initialises the mbarrier at 0x10 for 64 arrivals\"."));
  add_record(
      m, "LaunchWaiters", "Threads that wait alike, of a deadlock.",
      field("blocks", &LaunchWaiters::blocks, "x, y and z of each."),
      field("warps", &LaunchWaiters::warps, "Of each of these blocks."),
      field("lanes", &LaunchWaiters::lanes, "Of each of these warps; empty: all that have not ended."),
      field("file", &LaunchWaiters::file, "Where they wait (.file), or empty."),
      field("line", &LaunchWaiters::line, "In that file."),
      field("ptx_line", &LaunchWaiters::ptx_line, "Of the module's text, from 1."),
      field("chain", &LaunchWaiters::chain, kChain),
      field("statement", &LaunchWaiters::statement, "At which they wait."),
      field("awaits", &LaunchWaiters::awaits, "What they wait for: \"barrier 1: 1 of 2 warps have arrived\"."));
  auto fault = add_record(
      m, "LaunchFault",
      "The first thing that a kernel must not do, in the first faulty block. str() is its message.",
      field("error", &LaunchFault::error, "What it is: an Error that is not raised."),
      field("rule", &LaunchFault::rule,
            "The rule that is broken, of kernel_rules(); \"none\" if nothing could go on behind it."),
      field("kernel", &LaunchFault::kernel, "Its name."),
      field("message", &LaunchFault::message, "The whole fault as text, a line for each side."),
      field("block", &LaunchFault::block, "x, y and z."), field("at", &LaunchFault::at, "Who did it."),
      field("other", &LaunchFault::other, "The other side of a conflict, or None."),
      field("space", &LaunchFault::space, "The memory concerned: \"shared\", \"global\"; or None."),
      field("byte", &LaunchFault::byte, "The byte in it; in global memory that of the array."),
      field("waiting", &LaunchFault::waiting, "Of a deadlock: all threads that have not ended."),
      field("related", &LaunchFault::related,
            "Further places: where a barrier object was initialised and arrived at, a flag written and read."));
  fault.def("__str__", [](const LaunchFault& f) { return f.message; });
  add_record(m, "LaunchFinding",
             "A fault behind which a launch has gone on, the first of its kind at these lines.",
             field("fault", &LaunchFinding::fault, "What it is."),
             field("times", &LaunchFinding::times, "How often it was found in all blocks."),
             field("grade", &LaunchFinding::grade, "\"finding\", a mistake, or \"note\"."),
             field("warps", &LaunchFinding::warps, "Whose fault it was, of all times."),
             field("lanes", &LaunchFinding::lanes, "The same of lanes."),
             field("blocks", &LaunchFinding::blocks, "In how many blocks it was found."),
             field("cause", &LaunchFinding::cause,
                   "The number of another finding that shares a line with it and was found before, or None."));
  add_record(
      m, "OrderDependence",
      "A statement with a result that PTX leaves open: it depends on the order in which threads run, on time, or "
      "on where the GPU runs them. A launch computes one of the results that there may be.",
      field("line", &ptx::OrderDependence::line, "Of the module's text, from 1."),
      field("instruction", &ptx::OrderDependence::instruction, "As in \"atom.global.add.f32\"."),
      field("why", &ptx::OrderDependence::why, "As in \"the sum depends on the order of the additions\"."),
      field("file", &ptx::OrderDependence::file, "Where the instruction comes from (.file), or empty."),
      field("source_line", &ptx::OrderDependence::source_line, "In that file."));
  add_record(
      m, "Inference",
      "What of a launch rests on no result of the target's GPU: an instruction, at its first statement, or a rule by which the "
      "assembler changes what is computed.",
      field("line", &ptx::Inference::line, "Of the module's text, from 1."),
      field("instruction", &ptx::Inference::instruction,
            "As in \"ex2.approx.f32\", or \"assembler: contract\"."),
      field("open", &ptx::Inference::open, "Which part of its results, as in \"the bits of a NaN\"."),
      field("source", &ptx::Inference::from, "What they are assumed as: \"an H100\"."),
      field("file", &ptx::Inference::file, "Where the instruction comes from (.file), or empty."),
      field("source_line", &ptx::Inference::source_line, "In that file."));
  add_record(
      m, "AssemblerNote",
      "A statement that the assembler (ptxas) turns into machine code with other bits than the PTX manual says: a defect "
      "of it, which a launch does not imitate.",
      field("defect", &ptx::AssemblerNote::defect, "Its name, as in \"half-addend\"."),
      field("line", &ptx::AssemblerNote::line, "Of the module's text, from 1."),
      field("statement", &ptx::AssemblerNote::statement, "In one line."),
      field("text", &ptx::AssemblerNote::text, "What ptxas makes of it, and what the PTX manual says."),
      field("file", &ptx::AssemblerNote::file, "Where the statement comes from (.file), or empty."),
      field("source_line", &ptx::AssemblerNote::source_line, "In that file."));
  add_record(m, "AssembledLine", "A rule of the assembler has acted on a statement.",
             field("rule", &ptx::AssembledLine::rule, "Its name in assembler_rules()."),
             field("line", &ptx::AssembledLine::line, "Of the module's text, from 1."),
             field("statement", &ptx::AssembledLine::statement, "In one line, as it was."),
             field("file", &ptx::AssembledLine::file, "Where the statement comes from (.file), or empty."),
             field("source_line", &ptx::AssembledLine::source_line, "In that file."));
  auto report = add_record(
      m, "LaunchReport", "What a launch did.",
      field("fault", &LaunchReport::fault, "What the kernel must not do, or None."),
      field("inferred", &LaunchReport::inferred, "Whether `inferences` are not empty."),
      field("contracted", &LaunchReport::contracted, "Whether products and sums were fused."),
      field("blocks", &LaunchReport::blocks, "Blocks that have ended."),
      field("cancelled", &LaunchReport::cancelled,
            "Blocks that did not begin, since other clusters have taken theirs."),
      field("steps", &LaunchReport::steps, "Instructions of warps."),
      field("checked_shared", &LaunchReport::checked_shared,
            "Accesses to shared memory that were checked, one for each lane of an instruction."),
      field("checked_global", &LaunchReport::checked_global, "The same of global memory."),
      field("checked_barriers", &LaunchReport::checked_barriers,
            "Phases that were complete: of bar, barrier.cluster and barrier objects."),
      field("checked_copies", &LaunchReport::checked_copies,
            "Asynchronous copies: cp.async, one for each lane, and those in bulk."),
      field("checked_products", &LaunchReport::checked_products,
            "Asynchronous products: wgmma and tcgen05.mma."),
      field("not_looked_for", &LaunchReport::not_looked_for,
            "What the launch was told not to look for: \"races in global memory\", \"the rule data_race\"."),
      field("printed", &LaunchReport::printed,
            "By printf, block by block: the last 1 MiB, as a GPU's buffer has it."),
      field("printed_dropped", &LaunchReport::printed_dropped, "Bytes of it before that."),
      field("findings", &LaunchReport::findings, "What was found and allowed, block by block."),
      field("order_dependent", &LaunchReport::order_dependent,
            "Statements that were executed and leave a result open, by line."),
      field("inferences", &LaunchReport::inferences,
            "What rests on no result of the target's GPU, each form once, by line."),
      field(
          "assembled", &LaunchReport::assembled,
          "Where rules of the assembler have acted, each rule once a line, in all functions that the kernel may call, by "
          "line."),
      field("profile", &LaunchReport::profile, "With `profile`: the statements that were executed, by line."),
      field("timeline", &LaunchReport::timeline, "With `profile`: what the warps of a block waited for."),
      field("notes", &LaunchReport::notes,
            "Where a GPU leaves other bits by a defect of ptxas, by line; none as written."));
  report.def(
      "profile_svg",
      [](const LaunchReport& r, const std::string& title) {
        ptx::ProfilePicture picture{title, r.profile, r.timeline};
        if (r.fault) {
          picture.ended_by = "A fault: " + r.fault->message.substr(0, r.fault->message.find('\n'));
          picture.fault_line = r.fault->at.ptx_line;
        }
        return ptx::profile_svg(picture);
      },
      "title"_a = "",
      R"(The profile and the timeline as a picture, SVG for light and dark backgrounds.

The lines with what is counted of each, and the warps of the observed block over its statements, with arrows from what lets a
warp go on. It is drawn from a report of a launch with profile=True.)");
  set_repr(report, [](const LaunchReport& r) {
    return "LaunchReport: " +
           (r.fault ? r.fault->message
                    : std::to_string(r.blocks) + " blocks, " + std::to_string(r.steps) + " steps" +
                          (r.findings.empty() ? "" : ", " + std::to_string(r.findings.size()) + " findings"));
  });
}

}  // namespace warpbit::python
