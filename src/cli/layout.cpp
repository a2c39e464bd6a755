// SPDX-License-Identifier: Apache-2.0
// warpbit layout, warpbit where
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::cli {
namespace {

// What both commands take.
struct Source {
  std::string form, target, descriptor, swizzle;
  bool transposed = false;
};

struct LayoutArguments {
  Source source;
  std::string operand, svg;
  bool lanes = false, json = false, csv = false, markdown = false;
};

const std::map<std::string, Swizzle> kSwizzles = {
    {"128", Swizzle::bytes_128}, {"64", Swizzle::bytes_64}, {"32", Swizzle::bytes_32}, {"none", Swizzle::none}};

// In the words of the command line.
constexpr auto kHowToSay = "--descriptor HEX, or --swizzle 128, 64, 32 or none";

void add_source(CLI::App& command, Source& source) {
  command.add_option("form", source.form, "a form, also short or FORM@TARGET, or a statement")->required();
  command.add_option("--target", source.target, "for this target; the newest that has it unless given");
  command.add_option("--descriptor", source.descriptor,
                     "of an operand in shared memory: its descriptor, 64 bits in hexadecimal");
  command
      .add_option(
          "--swizzle", source.swizzle,
          "of operands in shared memory: as in the canonical layout at address 0, with spans of so many "
          "bytes")
      ->check(CLI::IsMember({"128", "64", "32", "none"}))
      ->excludes("--descriptor");
  command.add_flag("--transposed", source.transposed, "of those: M or N is contiguous (imm-trans 1)");
}

Layout read(const Source& source, const std::string& operand) {
  LayoutOptions options{.operand = operand, .transposed = source.transposed};
  if (!source.descriptor.empty()) options.descriptor = parse_hex("descriptor", source.descriptor);
  if (!source.swizzle.empty()) options.swizzle = kSwizzles.at(source.swizzle);
  const AskedForm form = asked_form(source.form, source.target);
  Result<Layout> out =
      layout(form.target ? instruction_of(form) : required(parse_on_newest(form.text), form.text), options);
  if (!out && out.error().code == Errc::usage && source.descriptor.empty())
    refuse(out.error().where, out.error().seen, kHowToSay);
  return required(std::move(out));
}

void print_text(const Layout& found, bool by_lanes) {
  fmt::print("{}", layout_text(found, {.by_lanes = by_lanes,
                                       .width = static_cast<int>(terminal().columns),
                                       .paint = terminal().colours ? Paint(coloured) : Paint()}));
  if (!found.unknown.empty()) fmt::print("say it with {}\n", kHowToSay);
}

int print_layout(const LayoutArguments& o) {
  check_svg(o.svg);
  const Layout found = read(o.source, o.operand);
  if (!o.svg.empty()) required(write_layout_svg(o.svg, found));
  if (o.json || o.csv || o.markdown)
    fmt::print("{}", (o.json ? layout_json : o.csv ? layout_csv : layout_markdown)(found));
  else if (o.svg.empty() || o.lanes)
    print_text(found, o.lanes);
  return kYes;
}

struct WhereArguments {
  Source source;
  std::vector<std::string> question;
};

int print_where(const WhereArguments& o) {
  const std::string text = fmt::format("{}", fmt::join(o.question, " "));
  const LayoutQuestion question = required(parse_layout_question(text));
  const Layout found = read(o.source, question.operand);
  const std::vector<LayoutAnswer> answers = required(answer(found, question));
  for (const LayoutAnswer& a : answers) fmt::print("{}\n", warpbit::text(a, question));
  if (answers.empty()) fmt::print("{}: no element lies there\n", text);
  return answers.empty() ? kNo : kYes;
}

}  // namespace

void add_layout(CLI::App& command, int& status) {
  LayoutArguments& o = add_arguments(command, status, print_layout);
  add_source(command, o.source);
  command.add_option("--operand", o.operand, "one operand, by the manual's name: d, a, b, c, e, ...");
  CLI::Option* lanes =
      command.add_flag("--lanes", o.lanes, "lane by lane and register, or by address: which elements");
  command.add_option("--svg", o.svg, "write a picture to this file, whose name ends in .svg");
  CLI::Option* json =
      command.add_flag("--json", o.json, "print a record for each element, as JSON")->excludes(lanes);
  CLI::Option* csv = command.add_flag("--csv", o.csv, "the same as CSV")->excludes(json, lanes);
  command.add_flag("--markdown", o.markdown, "the same as a Markdown table")->excludes(json, csv, lanes);
  command.footer(examples(
      {"warpbit layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand a",
       "warpbit layout 'mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;' "
       "--operand e --lanes",
       "warpbit layout wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --operand b --swizzle 128"}));
}

void add_where(CLI::App& command, int& status) {
  WhereArguments& o = add_arguments(command, status, print_where);
  add_source(command, o.source);
  command
      .add_option("question", o.question,
                  "a[3,5] (row and column, from 0), a[3,5,1] (of matrix 1 of several), lane 7 reg 2, a lane 7 "
                  "reg 2, lane 7, or b byte 0x412")
      ->required();
  command.footer(examples(
      {"warpbit where mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 'a[3,5]'",
       "warpbit where mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 lane 7 reg 2",
       "warpbit where wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --swizzle 128 b byte 0x412"}));
}

}  // namespace warpbit::cli
