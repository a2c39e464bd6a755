// SPDX-License-Identifier: Apache-2.0
// warpbit layout, warpbit where
#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/commands.hpp"
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
  command.add_option("form", source.form, "a form or a statement")->required();
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

Result<Layout> laid_out(const Instruction& instruction, const Source& source, const LayoutOptions& options) {
  Result<Layout> out = layout(instruction, options);
  if (out || out.error().code != Errc::usage || !source.descriptor.empty()) return out;
  Error error = out.error();
  error.accepted = kHowToSay;
  return error;
}

Result<Layout> read(const Source& source, const std::string& operand) {
  LayoutOptions options{.operand = operand, .descriptor = {}, .swizzle = {}, .transposed = source.transposed};
  if (!source.descriptor.empty()) {
    const Result<std::uint64_t> bits = parse_hex("descriptor", source.descriptor);
    if (!bits) return bits.error();
    options.descriptor = *bits;
  }
  if (!source.swizzle.empty()) options.swizzle = kSwizzles.at(source.swizzle);
  if (source.target.empty()) {
    const Result<Instruction> newest = parse_on_newest(source.form);
    return newest ? laid_out(*newest, source, options) : newest.error();
  }
  const Result<Target> target = Target::find(source.target);
  if (!target) return target.error();
  const Result<Instruction> instruction = Instruction::parse(source.form, *target);
  return instruction ? laid_out(*instruction, source, options) : instruction.error();
}

void print_text(const Layout& found, bool by_lanes) {
  fmt::print("{}", layout_text(found, {.by_lanes = by_lanes,
                                       .width = terminal().columns,
                                       .paint = terminal().colours ? Paint(coloured) : Paint()}));
  if (!found.unknown.empty()) fmt::print("say it with {}\n", kHowToSay);
}

int print_layout(const LayoutArguments& o) {
  if (const Result<void> named = check_svg(o.svg); !named) return cannot_answer(named.error());
  const Result<Layout> found = read(o.source, o.operand);
  if (!found) return cannot_parse(found.error(), o.source.form, std::nullopt);
  if (!o.svg.empty())
    if (const Result<void> written = write_layout_svg(o.svg, *found); !written)
      return cannot_answer(written.error());
  if (o.json)
    fmt::print("{}", layout_json(*found));
  else if (o.csv)
    fmt::print("{}", layout_csv(*found));
  else if (o.markdown)
    fmt::print("{}", layout_markdown(*found));
  else if (o.svg.empty() || o.lanes)
    print_text(*found, o.lanes);
  return kYes;
}

int print_where(const Source& source, const std::vector<std::string>& words) {
  std::string question;
  for (const std::string& word : words) question += (question.empty() ? "" : " ") + word;
  const Result<LayoutQuestion> parsed = parse_layout_question(question);
  if (!parsed) return cannot_answer(parsed.error());
  const Result<Layout> found = read(source, parsed->operand);
  if (!found) return cannot_parse(found.error(), source.form, std::nullopt);
  const Result<std::vector<LayoutAnswer>> answers = answer(*found, *parsed);
  if (!answers) return cannot_answer(answers.error());
  for (const LayoutAnswer& a : *answers) fmt::print("{}\n", text(a, *parsed));
  if (answers->empty()) fmt::print("{}: no element lies there\n", question);
  return answers->empty() ? kNo : kYes;
}

}  // namespace

void add_layout(CLI::App& command, int& status) {
  const auto o = std::make_shared<LayoutArguments>();
  add_source(command, o->source);
  command.add_option("--operand", o->operand, "one operand, by the manual's name: d, a, b, c, e, ...");
  CLI::Option* lanes =
      command.add_flag("--lanes", o->lanes, "lane by lane and register, or by address: which elements");
  command.add_option("--svg", o->svg, "write a picture to this file, whose name ends in .svg");
  CLI::Option* json =
      command.add_flag("--json", o->json, "print a record for each element, as JSON")->excludes(lanes);
  CLI::Option* csv = command.add_flag("--csv", o->csv, "the same as CSV")->excludes(json, lanes);
  command.add_flag("--markdown", o->markdown, "the same as a Markdown table")->excludes(json, csv, lanes);
  command.footer(examples(
      {"warpbit layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand a",
       "warpbit layout 'mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;' "
       "--operand e --lanes",
       "warpbit layout wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --operand b --swizzle 128"}));
  command.callback([o, &status] { status = print_layout(*o); });
}

void add_where(CLI::App& command, int& status) {
  const auto source = std::make_shared<Source>();
  const auto words = std::make_shared<std::vector<std::string>>();
  add_source(command, *source);
  command
      .add_option("question", *words,
                  "a[3,5] (row and column, from 0), a[3,5,1] (of matrix 1 of several), lane 7 reg 2, a lane 7 "
                  "reg 2, lane 7, or b byte 0x412")
      ->required();
  command.footer(examples(
      {"warpbit where mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 'a[3,5]'",
       "warpbit where mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 lane 7 reg 2",
       "warpbit where wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --swizzle 128 b byte 0x412"}));
  command.callback([source, words, &status] { status = print_where(*source, *words); });
}

}  // namespace warpbit::cli
