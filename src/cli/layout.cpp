// SPDX-License-Identifier: Apache-2.0
// warpbit layout, warpbit where
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::cli {
namespace {

// Stands for a form: the scale factors of a matrix in memory.
constexpr std::string_view kScaleFactors = "scale_factors";

// What both commands take.
struct Source {
  std::string form, target, descriptor, idesc, swizzle, tile;
  bool transposed = false;
  int tensor_lane = 0;
  std::int64_t rows = 0, blocks = 0;  // of scale factors
  std::string order = "128x4";

  bool is_of_scales() const { return form == kScaleFactors; }
};

struct LayoutArguments {
  Source source;
  std::string operand, svg, by;
  bool lanes = false, json = false, csv = false, markdown = false;
};

const std::map<std::string, Swizzle> kSwizzles = {
    {"128", Swizzle::bytes_128}, {"64", Swizzle::bytes_64}, {"32", Swizzle::bytes_32}, {"none", Swizzle::none}};

constexpr std::string_view kNoInstructionDescriptor = "no instruction descriptor";

// In the words of the command line.
constexpr auto kHowToSay = "--descriptor HEX, or --swizzle 128, 64, 32 or none";

void add_source(CLI::App& command, Source& source) {
  command
      .add_option(
          "form", source.form,
          "a form, also short or FORM@TARGET, or a statement; or scale_factors, those of a matrix in memory")
      ->required();
  command.add_option("--target", source.target, "for this target; the newest that has it unless given");
  command.add_option("--descriptor", source.descriptor,
                     "of an operand in shared memory: its descriptor, 64 bits in hexadecimal");
  command.add_option("--idesc", source.idesc,
                     "of tcgen05.mma: its instruction descriptor, 32 bits in hexadecimal");
  command
      .add_option("--tmem-lane", source.tensor_lane,
                  "with that, in layouts C and F of D: the lane of the addresses, 0 (default) or 16")
      ->check(CLI::IsMember({0, 16}))
      ->needs("--idesc");
  command
      .add_option(
          "--swizzle", source.swizzle,
          "of operands in shared memory: as in the canonical layout at address 0, with spans of so many "
          "bytes")
      ->check(CLI::IsMember({"128", "64", "32", "none"}))
      ->excludes("--descriptor");
  command.add_flag("--transposed", source.transposed, "of those: M or N is contiguous (imm-trans 1)");
  command
      .add_option(
          "--tile", source.tile,
          "of one of those: ROWSxCOLUMNS, a tile of several steps along K, in the same layout, instead of "
          "what one instruction reads")
      ->needs("--swizzle");
  command.add_option("--rows", source.rows, "of scale_factors: rows of A or columns of B");
  command.add_option("--blocks", source.blocks, "of scale_factors: blocks of a row, along K");
  command
      .add_option(
          "--order", source.order,
          "of scale_factors: 128x4, the tiles of cuBLAS, CUTLASS and PyTorch (default), or linear, row by row")
      ->check(CLI::IsMember({"128x4", "linear"}));
}

LayoutOptions::Tile parse_tile(const std::string& text) {
  const std::size_t x = text.find('x');
  const std::optional<int> rows = number<int>(text.substr(0, x)),
                           columns = number<int>(x == text.npos ? "" : text.substr(x + 1));
  if (!rows || !columns) refuse("tile", fmt::format("'{}'", text), "ROWSxCOLUMNS, 64x64");
  return {*rows, *columns};
}

Layout read_scales(const Source& source, const LayoutQuestion* question) {
  if (source.rows == 0 || source.blocks == 0)
    refuse(std::string(kScaleFactors), source.rows == 0 ? "no --rows" : "no --blocks", "--rows N --blocks N");
  return required(scale_factor_layout(
      {source.rows, source.blocks, source.order == "linear" ? ScaleOrder::linear : ScaleOrder::tiles},
      question));
}

Instruction read_instruction(const Source& source) {
  return instruction_anywhere(asked_form(source.form, source.target));
}

Layout read(const Source& source, const std::string& operand, const LayoutQuestion* question = nullptr) {
  if (source.is_of_scales()) return read_scales(source, question);
  if (source.rows != 0 || source.blocks != 0)
    refuse(source.form, source.rows != 0 ? "--rows" : "--blocks", "it with scale_factors only");
  LayoutOptions options{.operand = operand, .tensor_lane = source.tensor_lane, .transposed = source.transposed};
  if (!source.idesc.empty())
    options.instruction_descriptor = parse_word("instruction descriptor", source.idesc);
  if (!source.descriptor.empty()) options.descriptor = parse_hex("descriptor", source.descriptor);
  if (!source.swizzle.empty()) options.swizzle = kSwizzles.at(source.swizzle);
  if (!source.tile.empty()) options.tile = parse_tile(source.tile);
  const Instruction instruction = read_instruction(source);
  if (options.transposed && tensor_mma(instruction))
    refuse("--transposed", std::string(instruction.canonical()), "the instruction descriptor, which says it");
  Result<Layout> out = layout(instruction, options);
  if (!out && out.error().code == Errc::usage && out.error().seen == kNoInstructionDescriptor)
    refuse(out.error().where, out.error().seen, "--idesc HEX");
  if (!out && out.error().code == Errc::usage && source.descriptor.empty() && source.swizzle.empty())
    refuse(out.error().where, out.error().seen, kHowToSay);
  return required(std::move(out));
}

void print_text(const Layout& found, bool by_lanes) {
  fmt::print("{}", layout_text(found, {.by_lanes = by_lanes,
                                       .width = static_cast<int>(terminal().columns),
                                       .paint = terminal().colours ? Paint(coloured) : Paint()}));
  if (!found.unknown.empty()) fmt::print("say it with {}\n", kHowToSay);
}

// Which ldmatrix and stmatrix move the operands.
int print_moves(const LayoutArguments& o) {
  if (o.source.is_of_scales()) refuse("--by", std::string(kScaleFactors), "a form");
  const FragmentMoves moves = required(fragment_moves(read_instruction(o.source), o.operand));
  if (o.json)
    print_json("layout", nlohmann::ordered_json::parse(fragment_moves_json(moves)));
  else
    fmt::print("{}", text(moves, static_cast<int>(terminal().columns)));
  return kYes;
}

int print_layout(const LayoutArguments& o) {
  check_svg(o.svg);
  if (!o.by.empty()) return print_moves(o);
  const Layout found = read(o.source, o.operand);
  if (!o.svg.empty()) required(write_layout_svg(o.svg, found, {.by_lanes = o.lanes}));
  if (o.json)
    print_json("layout", nlohmann::ordered_json::parse(layout_json(found)));
  else if (o.csv || o.markdown)
    fmt::print("{}", (o.csv ? layout_csv : layout_markdown)(found));
  else if (o.svg.empty())
    print_text(found, o.lanes);
  return kYes;
}

struct WhereArguments {
  Source source;
  std::vector<std::string> question;
  bool json = false;
};

int print_where(const WhereArguments& o) {
  const std::string text = fmt::format("{}", fmt::join(o.question, " "));
  const LayoutQuestion question = required(parse_layout_question(text));
  const Layout found = read(o.source, question.operand, &question);
  const std::vector<LayoutAnswer> answers = required(answer(found, question));
  if (o.json) {
    print_json("where", nlohmann::ordered_json::parse(answers_json(found, text, answers)));
    return answers.empty() ? kNo : kYes;
  }
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
  CLI::Option* by =
      command
          .add_option("--by", o.by,
                      "say which instructions move the operands from and to shared memory, and which row "
                      "each lane points to: ldmatrix (D by stmatrix)")
          ->check(CLI::IsMember({"ldmatrix"}))
          ->excludes(lanes);
  command
      .add_option(
          "--svg", o.svg,
          "write a picture to this file, whose name ends in .svg; with --lanes also of what each lane holds")
      ->excludes(by);
  CLI::Option* json =
      command.add_flag("--json", o.json, "print a record for each element, as JSON")->excludes(lanes);
  CLI::Option* csv = command.add_flag("--csv", o.csv, "the same as CSV")->excludes(json, lanes, by);
  command.add_flag("--markdown", o.markdown, "the same as a Markdown table")->excludes(json, csv, lanes, by);
  command.footer(examples(
      {"warpbit layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand a",
       "warpbit layout 'mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;' "
       "--operand e --lanes",
       "warpbit layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --by ldmatrix",
       "warpbit layout wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --operand b --swizzle 128 --tile 64x64",
       "warpbit layout tcgen05.mma.cta_group::1.kind::f16 --idesc 0x8200010 --operand d",
       "warpbit layout scale_factors --rows 256 --blocks 8"}));
}

void add_where(CLI::App& command, int& status) {
  WhereArguments& o = add_arguments(command, status, print_where);
  add_source(command, o.source);
  command
      .add_option("question", o.question,
                  "a[3,5] (row and column, from 0), a[3,5,1] (of matrix 1 of several), lane 7 reg 2, a lane 7 "
                  "reg 2, lane 7, b byte 0x412, or in tensor memory d lane 7 column 2 and d block 1 lane 7")
      ->required();
  command.add_flag("--json", o.json, "print a record for each answer, as JSON");
  command.footer(
      examples({"warpbit where mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 'a[3,5]'",
                "warpbit where mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 lane 7 reg 2",
                "warpbit where wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --swizzle 128 b byte 0x412",
                "warpbit where tcgen05.mma.cta_group::1.kind::f16 --idesc 0x4200010 'd[17,5]'",
                "warpbit where scale_factors 'sf[37,2]' --rows 128 --blocks 4"}));
}

}  // namespace warpbit::cli
