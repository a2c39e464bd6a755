// SPDX-License-Identifier: Apache-2.0
// Layouts of operands against points of the manual's formulas, transcribed by hand; and the commands that print
// them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "count_wanted.hpp"
#include "layout_points.hpp"
#include "tensor_formulas.hpp"
#include "tool.hpp"
#include "warpbit/layout.hpp"
#include "xml.hpp"

namespace layout_test {

using namespace warpbit;
using tool::Output;
using tool::run;
using tool::shell_word;
namespace fs = std::filesystem;

using namespace points;

Layout read(const Points& points) {
  const Result<Instruction> instruction = parse_on_newest(points.text);
  INFO(points.text << (instruction ? "" : instruction.error().message()));
  REQUIRE(instruction.ok());
  LayoutOptions options;
  if (!points.options.empty() && points.options[0] == "--swizzle") options.swizzle = Swizzle::bytes_128;
  if (!points.options.empty() && points.options[0] == "--descriptor")
    options.descriptor = std::stoull(points.options[1], nullptr, 16);
  const Result<Layout> found = layout(*instruction, options);
  REQUIRE(found.ok());
  return *found;
}

const OperandLayout& operand(const Layout& layout, const std::string& role) {
  const auto at = std::ranges::find_if(
      layout.operands, [&](const OperandLayout& o) { return o.role == role || o.role == role + "_desc"; });
  INFO(role);
  REQUIRE(at != layout.operands.end());
  return *at;
}

std::string name(const std::string& role, const Point& p, bool products) {
  return products ? fmt::format("{}[{},{},{}]", role, p.row, p.column, p.product)
                  : fmt::format("{}[{},{}]", role, p.row, p.column);
}

std::string place(const Point& p) {
  return p.bits == 1 ? fmt::format("lane {}, register {}, bit {}", p.lane, p.reg, p.low_bit)
                     : fmt::format("lane {}, register {}, bits {}:{}", p.lane, p.reg, p.low_bit + p.bits - 1,
                                   p.low_bit);
}

std::vector<std::string> command(const Points& points, const std::string& question) {
  std::vector<std::string> out{"where", points.text};
  out.insert(out.end(), points.options.begin(), points.options.end());
  std::istringstream words(question);
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> where(const Points& points, const std::string& question) {
  const Output output = run(command(points, question));
  INFO(output.err);
  REQUIRE(output.status == 0);
  return output.lines();
}

// Commands and a line that each prints, for all of which one shell is enough. With WARPBIT_QUESTIONS=N one in N is asked (3).
class Questions {
 public:
  void ask(const Points& points, const std::string& question, std::string expected) {
    if (count_++ % step_ != 0) return;
    script_ += shell_word(tool::named("WARPBIT_CLI")) + " " + tool::shell_words(command(points, question)) +
               " || exit 1\necho\n";
    expected_.push_back(std::move(expected));
  }
  std::size_t check() const {
    const Output output = tool::shell(script_);
    INFO(output.err);
    REQUIRE(output.status == 0);
    std::set<std::string> printed;
    std::size_t answered = 0;
    for (const std::string& line : output.lines()) {
      if (!line.empty()) {
        printed.insert(line);
        continue;
      }
      REQUIRE(answered < expected_.size());
      INFO(expected_[answered]);
      CHECK(printed.contains(expected_[answered++]));
      printed.clear();
    }
    CHECK(answered == expected_.size());
    return answered;
  }

 private:
  const std::size_t step_ = count_wanted("WARPBIT_QUESTIONS", 3);
  std::size_t count_ = 0;
  std::string script_;
  std::vector<std::string> expected_;
};

// What a point says, in the library; and the questions about it. The other direction is asked for some.
void check_point(const Points& points, const Point& p, const Layout& found, bool both, Questions& questions) {
  const OperandLayout& op = operand(found, p.operand);
  const LayoutCell cell{{p.row, p.column, p.product}, {p.lane, p.reg, p.low_bit, p.bits}};
  const std::string element = name(op.role, p, op.products > 1);
  CAPTURE(element);
  CHECK(std::ranges::count(op.cells, cell) == 1);
  CHECK(std::ranges::count(op.cells, cell.element, &LayoutCell::element) == 1);
  questions.ask(points, element, element + ": " + place(p));
  if (both)
    questions.ask(points, fmt::format("{} lane {} reg {}", p.operand, p.lane, p.reg),
                  place(p) + ": " + element);
}

void check_byte(const Points& points, const Byte& b, const Layout& found, Questions& questions) {
  const OperandLayout& op = operand(found, b.operand);
  const LayoutCell cell{{b.row, b.column, 0}, {}, 8 * b.byte};
  const std::string element = fmt::format("[{},{}]", b.row, b.column),
                    what = op.medium == Medium::memory ? "offset" : "byte";
  CHECK(std::ranges::count(op.cells, cell) == 1);
  questions.ask(points, b.operand + element, fmt::format("{}{}: {} {:#x}", op.role, element, what, b.byte));
  for (const std::uint64_t upper : {0, 1})
    questions.ask(points, fmt::format("{} byte {:#x}", b.operand, b.byte + upper),
                  fmt::format("{} {:#x}: bits {}:{} of {}{}", what, b.byte + upper, 8 * upper + 7, 8 * upper,
                              op.role, element));
}

TEST_CASE("cells are where the manual's formulas say, and so says the command", "[quick][layout]") {
  std::set<std::string> forms;
  std::size_t count = 0;
  Questions questions;
  for (const Points& points : table()) {
    CAPTURE(points.text);
    forms.insert(points.text.substr(0, points.text.find(' ')));
    const Layout found = read(points);
    for (const Point& p : points.registers)
      check_point(points, p, found, &p == &points.registers.back(), questions);
    for (const Byte& b : points.bytes) check_byte(points, b, found, questions);
    count += points.registers.size() + points.bytes.size();
  }
  fmt::print("layout: {} points of {} forms, {} questions\n", count, forms.size(), questions.check());
  CHECK(forms.size() >= 25);
}

// PTX manual, 9.7.14.5.15 and 9.7.14.5.16, the tables of addresses: matrix m, row i of 8: lane 8 m + i.
TEST_CASE("which lane's address is that of a row", "[quick][layout]") {
  const Points load{"ldmatrix.sync.aligned.m8n8.x4.shared.b16", {}, {}, {}},
      store{"stmatrix.sync.aligned.m8n8.x2.shared.b16", {}, {}, {}};
  CHECK(where(load, "p[3,0,1]") == std::vector<std::string>{"p[3,0,1]: the address of lane 11"});
  CHECK(where(load, "p[7,0,3]") == std::vector<std::string>{"p[7,0,3]: the address of lane 31"});
  CHECK(where(load, "p lane 16") == std::vector<std::string>{"the address of lane 16: p[0,0,2]"});
  CHECK(where(store, "p[7,0,1]") == std::vector<std::string>{"p[7,0,1]: the address of lane 15"});
  CHECK(run({"where", store.text, "p", "lane", "16"}).status == 1);
}

// Fragments of wmma are the tool's own knowledge (NUMERICS.md): f16 factors are held twice, four registers
// apart.
TEST_CASE("an element with several places has a line for each", "[quick][layout]") {
  const Points load{"wmma.load.a.sync.aligned.row.m16n16k16.f16", {}, {}, {}};
  CHECK(where(load, "r[3,5]") == std::vector<std::string>{"r[3,5]: lane 14, register 0, bits 31:16",
                                                          "r[3,5]: lane 14, register 4, bits 31:16"});
}

// ---- The commands

const std::string kSmall = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                  kGroup = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
                  kMove = "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16";

TEST_CASE("a matrix with what holds it, as it is printed", "[quick][layout]") {
  const Output b = run({"layout", kSmall, "--operand", "b"});
  CHECK(b.status == 0);
  CHECK(b.err.empty());
  CHECK(b.out ==
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32\n"
        "\n"
        "b: 8 x 8 f16, in 1 register of 32 bits of each of 32 lanes\n"
        "CuTe (T32,V2) -> (N8,K8): ((4,8),2):((16,1),8)\n"
        "a cell is 2 rows in one register: bits 15:0, 31:16\n"
        "\n"
        "     0       1       2       3       4       5       6       7\n"
        "0-1  T0:r0   T4:r0   T8:r0   T12:r0  T16:r0  T20:r0  T24:r0  T28:r0\n"
        "2-3  T1:r0   T5:r0   T9:r0   T13:r0  T17:r0  T21:r0  T25:r0  T29:r0\n"
        "4-5  T2:r0   T6:r0   T10:r0  T14:r0  T18:r0  T22:r0  T26:r0  T30:r0\n"
        "6-7  T3:r0   T7:r0   T11:r0  T15:r0  T19:r0  T23:r0  T27:r0  T31:r0\n");
  const Output by_descriptor = run({"layout", kGroup, "--operand", "b", "--swizzle", "128"});
  CHECK(by_descriptor.out ==
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n"
        "\n"
        "b_desc: 16 x 64 f16, in shared memory; by descriptor 0x4000004000010000: start 0x0, LBO 16, SBO\n"
        "    1024, base offset 0, 128-byte swizzle; K-major\n"
        "CuTe (N64,K16) -> offset in elements: Swizzle<3,3,3> o 0 o (64,16):(64,1)\n"
        "a cell is 8 rows, 16 bytes from that address on\n"
        "goes on to column 63: every 8 of them the same again, with addresses 0x400 higher\n"
        "\n"
        "      0      1      2      3      4      5      6      7\n"
        "0-7   0x000  0x090  0x120  0x1b0  0x240  0x2d0  0x360  0x3f0\n"
        "8-15  0x010  0x080  0x130  0x1a0  0x250  0x2c0  0x370  0x3e0\n");
  CHECK(run({"layout", "cvt.rn.f16x2.f32", "--operand", "d"}).out ==
        "cvt.rn.f16x2.f32\n"
        "\n"
        "d: 1 x 2 f16, in 1 register of 32 bits\n"
        "CuTe (T1,V2) -> (M1,N2): (1,2):(0,1)\n"
        "a cell is 2 columns in one register: bits 15:0, 31:16\n"
        "\n"
        "   0-1\n"
        "0  r0\n");
}

TEST_CASE("lanes with what they hold, and the addresses of rows, as they are printed", "[quick][layout]") {
  const Output lanes =
      run({"layout", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 2;",
           "--operand", "e", "--lanes"});
  CHECK(lanes.out ==
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n"
        "\n"
        "e: 16 x 4 u4, in 1 register of 32 bits of each of 32 lanes; the indices of a group of A each, for\n"
        "    selector f = 2\n"
        "[row,column] of the elements of a register, from the lowest bit up\n"
        "\n"
        "lane  r0\n"
        "T2    [0,0-3] [8,0-3]\n"
        "T6    [1,0-3] [9,0-3]\n"
        "T10   [2,0-3] [10,0-3]\n"
        "T14   [3,0-3] [11,0-3]\n"
        "T18   [4,0-3] [12,0-3]\n"
        "T22   [5,0-3] [13,0-3]\n"
        "T26   [6,0-3] [14,0-3]\n"
        "T30   [7,0-3] [15,0-3]\n");
  CHECK(run({"layout", kMove, "--operand", "p"}).out ==
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16\n"
        "\n"
        "p: 16 addresses of rows, from the lanes; a row is 16 bytes\n"
        "the lane whose address is that of the row\n"
        "\n"
        "row \\ matrix  0    1\n"
        "0             T0   T8\n"
        "1             T1   T9\n"
        "2             T2   T10\n"
        "3             T3   T11\n"
        "4             T4   T12\n"
        "5             T5   T13\n"
        "6             T6   T14\n"
        "7             T7   T15\n");
  const std::vector<std::string> by_address =
      run({"layout", kGroup, "--operand", "b", "--swizzle", "128", "--lanes"}).lines();
  REQUIRE(by_address.size() > 8);
  CHECK(by_address[7] ==
        "address  +0x0       +0x10      +0x20      +0x30      +0x40      +0x50      +0x60      "
        "+0x70");
  CHECK(by_address[9] ==
        "0x080    [8-15,1]   [0-7,1]    -          -          -          -          -          -");
}

TEST_CASE("a matrix in shared memory of which nothing says where is named", "[quick][layout]") {
  const Output all = run({"layout", kGroup});
  CHECK(all.status == 0);
  CHECK(all.out.ends_with(
      "\n\nb_desc lies in shared memory: a descriptor or the swizzle of a canonical layout says where\n"
      "say it with --descriptor HEX, or --swizzle 128, 64, 32 or none\n"));
  CHECK(all.out.find("\na: 64 x 16 f16") != std::string::npos);
  // A bare form stands for both places of A.
  const Output a = run({"layout", kGroup, "--operand", "a_desc", "--swizzle", "32"});
  CHECK(a.out.find("\na_desc: 64 x 16 f16, in shared memory") != std::string::npos);
  // A literal of the statement is a descriptor.
  const Output literal = run({"where", kGroup + " {d}, 0x0, 0x4000004000010000, p, 1, 1, 0, 0;", "b[3,5]"});
  CHECK(literal.out == "b_desc[3,5]: byte 0x2d6\n");
}

TEST_CASE("of a sparse A there are the stored elements", "[quick][layout]") {
  const std::string form = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16";
  for (const std::string& medium : {std::string("a"), std::string("a_desc")}) {
    const std::vector<std::string> lines =
        run({"layout", form, "--operand", medium, "--swizzle", "none"}).lines();
    REQUIRE(lines.size() > 3);
    CHECK(lines[2].starts_with(medium + ": 64 x 16 f16, in "));
    CHECK((lines[2] + lines[3]).find("columns count stored") != std::string::npos);
  }
}

TEST_CASE("addresses that repeat leave no column out", "[quick][layout]") {
  // LBO 0 and SBO 0: all groups of 8 columns lie at the same addresses, and so do k from 0 and from 8 on: 2 x 8
  // elements of each k in a chunk of 8.
  const Output all = run({"layout", kGroup, "--operand", "b", "--descriptor", "0", "--lanes"});
  CHECK(all.out.find("goes on") == std::string::npos);
  CHECK(all.out.find("+0x70") != std::string::npos);
  CHECK(all.out.find("[0,0] [0,8] [0,16] and 125 more") != std::string::npos);
  CHECK(run({"layout", kGroup, "--operand", "b", "--descriptor", "0"})
            .out.find("goes on to column 63: every 8 of them the same again\n") != std::string::npos);
}

TEST_CASE("records: JSON, CSV and Markdown", "[quick][layout]") {
  const auto json = nlohmann::json::parse(run({"layout", kSmall, "--json"}).out);
  CHECK(json["schema"] == "layout/1");
  CHECK(json["form"] == kSmall);
  CHECK(json["target"] == "sm_121f");
  CHECK(json["operands"].size() == 4);
  REQUIRE(json["elements"].size() == 16 * 8 + 16 * 8 + 8 * 8 + 16 * 8);
  CHECK(json["elements"].back() == nlohmann::json{{"operand", "c"},
                                                  {"product", 0},
                                                  {"row", 15},
                                                  {"column", 7},
                                                  {"lane", 31},
                                                  {"register", 3},
                                                  {"low_bit", 0},
                                                  {"bits", 32}});
  CHECK(nlohmann::json::parse(run({"layout", kSmall, "--json", "--target", "sm_80"}).out)["target"] == "sm_80");
  const auto shared =
      nlohmann::json::parse(run({"layout", kGroup, "--operand", "b", "--swizzle", "128", "--json"}).out);
  CHECK(shared["elements"][1] == nlohmann::json{{"operand", "b_desc"},
                                                {"product", 0},
                                                {"row", 0},
                                                {"column", 1},
                                                {"byte", 0x90},
                                                {"bit", 0},
                                                {"bits", 16},
                                                {"bank", 4}});
  // Byte 0x90 is word 36, of bank 36 % 32. Eight rows of 128 bytes share no banks with a swizzle, and all of them without.
  CHECK(shared["operands"][0]["banks"]["extra_wavefronts"] == 0);
  CHECK_THAT(shared["operands"][0]["heading"].get<std::string>(),
             Catch::Contains("16 x 64 f16, in shared memory"));
  CHECK(shared["unknown"].empty());
  const auto unknown = nlohmann::json::parse(run({"layout", kGroup, "--json"}).out)["unknown"];
  REQUIRE(unknown.size() == 1);
  CHECK_THAT(unknown[0].get<std::string>(), Catch::Contains("b_desc lies in shared memory"));
  const auto where = nlohmann::json::parse(run({"where", kSmall, "a[3,5]", "--json"}).out);
  CHECK(where["answers"][0]["sentence"] == run({"where", kSmall, "a[3,5]"}).lines()[0]);

  const std::vector<std::string> csv = run({"layout", kMove, "--csv"}).lines();
  REQUIRE(csv.size() == 1 + 2 * 8 * 8 + 2 * 8);
  CHECK(csv[0] == "operand,product,row,column,lane,register,low_bit,byte,bit,bits");
  CHECK(csv[1] == "r,0,0,0,0,0,0,,,16");
  CHECK(csv[2] == "r,0,0,1,4,0,0,,,16");
  CHECK(csv.back() == "p,1,7,0,15,0,,,,");

  const std::vector<std::string> markdown = run({"layout", kSmall, "--operand", "b", "--markdown"}).lines();
  REQUIRE(markdown.size() == 2 + 8 * 8);
  CHECK(markdown[0] == "| operand | product | row | column | lane | register | low_bit | bits |");
  CHECK(markdown[1] == "|---|---:|---:|---:|---:|---:|---:|---:|");
  CHECK(markdown.back() == "| b | 0 | 7 | 7 | 31 | 0 | 16 | 16 |");
}

TEST_CASE("what cannot be answered says what could", "[quick][layout]") {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const Output output = run(arguments);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    return output.err;
  };
  CHECK(refused({"layout", "mma.sync.aligned.m16n8k15.row.col.f32.f16.f16.f32"}) ==
        "warpbit: mma: m16n8k15 does not exist for f16; it has m8n8k4, m16n8k8 and m16n8k16\n"
        "did you mean\n"
        "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n"
        "  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32\n"
        "  mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32\n");
  CHECK(refused({"layout", kSmall, "--operand", "z"}) ==
        "warpbit: " + kSmall + ": no operand 'z' holds a matrix; expected d, a, b, c\n");
  CHECK(refused({"layout", kSmall, "--operand", "a_desc"}) ==
        "warpbit: " + kSmall + ": no operand 'a_desc' holds a matrix; expected d, a, b, c\n");
  CHECK(refused({"layout", "wgmma.fence.sync.aligned"}) ==
        "warpbit: wgmma.fence.sync.aligned: no operand holds a matrix; expected an instruction of matrices\n");
  CHECK(refused({"layout", kGroup, "--operand", "b"}) ==
        "warpbit: b_desc: it lies in shared memory; expected --descriptor HEX, or --swizzle 128, 64, 32 or "
        "none\n");
  CHECK(refused({"where", kGroup, "b[3,5]"}) == refused({"layout", kGroup, "--operand", "b"}));
  CHECK(refused({"layout", kSmall, "--descriptor", "0"}) ==
        "warpbit: " + kSmall + ": a descriptor, and no such operand in shared memory; expected none\n");
  CHECK(refused({"layout", kGroup + " {d}, x, y, p, 1, 1, 0, 0;", "--descriptor", "0"}) ==
        "warpbit: " + kGroup +
            ": one descriptor, and several operands in shared memory; expected the operand that it is for\n");
  CHECK(refused({"layout", kGroup, "--descriptor", "xyz"}) ==
        "warpbit: descriptor: 'xyz'; expected at most 16 hexadecimal digits\n");
  CHECK(refused({"layout", kSmall, "--target", "sm_70"}).find("does not exist on sm_70") != std::string::npos);
  CHECK(refused({"layout", kSmall, "--target", "sm_1"}).find("not a known target") != std::string::npos);
  CHECK(refused({"layout", kSmall, "--json", "--csv"}).find("--json excludes --csv") != std::string::npos);
  CHECK(refused({"layout", kSmall, "--json", "--lanes"}).find("--lanes excludes --json") != std::string::npos);
  CHECK(refused({"layout", kGroup, "--swizzle", "16"}).find("--swizzle") != std::string::npos);
  CHECK(refused({"layout", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "--swizzle", "128",
                 "--transposed", "--operand", "q"})
            .find("expected d, a, b, c") != std::string::npos);
  CHECK(refused(
            {"layout", "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8", "--swizzle", "128", "--transposed"})
            .find("a transposed matrix of s8") != std::string::npos);
  CHECK(refused({"layout"}).find("form is required") != std::string::npos);

  CHECK(refused({"where", kSmall, "a[16,0]"}) ==
        "warpbit: a: no such element, [16,0]; expected a row 0 to 15, a column 0 to 7\n");
  CHECK(refused({"where", kMove, "r[0,0,2]"}) ==
        "warpbit: r: no such element, [0,0,2]; expected a row 0 to 7, a column 0 to 7, a matrix 0 to 1\n");
  CHECK(refused({"where", kSmall, "lane", "32"}) ==
        "warpbit: d, a, b, c: no such place, lane 32; expected lanes 0 to 31, registers 0 to 3 of d, 0 to 1 of "
        "a, "
        "0 of b, 0 to 3 of c\n");
  CHECK(refused({"where", kSmall, "a", "lane", "7", "reg", "2"}) ==
        "warpbit: a: no such place, lane 7 register 2; expected lanes 0 to 31, registers 0 to 1 of a\n");
  CHECK(refused({"where", kSmall, "a", "byte", "7"}) ==
        "warpbit: a: no place in memory is known; expected lane N [reg N]\n");
  CHECK(refused({"where", kGroup, "--swizzle", "128", "b", "lane", "7"}) ==
        "warpbit: b_desc: it lies in memory; expected byte N\n");
  for (const char* question : {"a", "a[1]", "a[1,2,3,4]", "a[1,,2]", "a[1,-2]", "a[1,2", "[1,2]", "a[x,2]",
                               "lane", "lane x", "lane 1 reg", "lane 1 lane 2", "reg 1", "lane 1 byte 2",
                               "a b lane 1", "a[99999999999,1]", "byte 0x", ""})
    CHECK_FALSE(parse_layout_question(question).ok());
  CHECK(refused({"where", kSmall, "a[1]"}) ==
        "warpbit: question: 'a[1]'; expected a[3,5], a[3,5,1], lane 7 reg 2, a lane 7 reg 2, lane 7, d lane 7 "
        "column 2, d block 1 lane 7 or b byte "
        "0x412\n");
  CHECK(refused({"where", kSmall}).find("question is required") != std::string::npos);

  const Output none = run({"where", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "e", "lane", "1"});
  CHECK(none.status == 1);
  CHECK(none.out == "e lane 1: no element lies there\n");
}

// ---- Pictures

std::string content(const fs::path& path) {
  return {std::istreambuf_iterator<char>(std::ifstream(path).rdbuf()), {}};
}

const std::vector<std::string>& one_of_each_family() {
  static const std::vector<std::string> kForms = [] {
    std::map<std::string_view, std::string> longest;  // the longest name
    for (const FormInfo& form : forms())
      if (std::string& text = longest[form.family]; text.size() < form.canonical.size()) text = form.canonical;
    std::vector<std::string> out;
    // Where tensor memory and shared memory hold matrices of tcgen05, an instruction descriptor says.
    const auto says_where = [](std::string_view family) {
      if (family.starts_with("tcgen05.")) return family.starts_with("tcgen05.ld") || family == "tcgen05.st";
      return family != "wgmma.sync" && family != "fence.proxy";
    };
    for (const auto& [family, text] : longest)
      if (says_where(family)) out.push_back(text);
    out.push_back("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16");
    out.push_back("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc");
    out.push_back("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
    out.push_back("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16");
    return out;
  }();
  return kForms;
}

TEST_CASE("a picture is a whole XML document, or the file is as it was", "[quick][layout]") {
  const archive::Directory directory;
  const fs::path file = directory.path / "a.svg";
  const Output written = run({"layout", kSmall, "--operand", "a", "--svg", file.string()});
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  const std::string svg = content(file);
  CHECK(xml::is_well_formed(svg));
  CHECK(svg.find("<title>" + kSmall + "</title>") != std::string::npos);
  // 16 rows of 4 cells with two lines, a legend of 32 colours; with --lanes also 32 lanes of 2 cells.
  const auto boxes = [](const std::string& picture) {
    static const std::regex kBox("h[0-9]+v[0-9]+h-[0-9]+z");
    return std::distance(std::sregex_iterator(picture.begin(), picture.end(), kBox), std::sregex_iterator());
  };
  const auto count = [](const std::string& picture, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = picture.find(what, at)) != picture.npos; ++at) ++n;
    return n;
  };
  CHECK(boxes(svg) == 16 * 4 + 32);
  CHECK(count(svg, ">T31<") == 2);
  CHECK(count(svg, ">[15,6-7]<") == 0);
  CHECK(run({"layout", kSmall, "--operand", "a", "--lanes", "--svg", file.string()}).out.empty());
  const std::string with_lanes = content(file);
  CHECK(boxes(with_lanes) == 16 * 4 + 32 * 2 + 32);
  CHECK(count(with_lanes, ">T31<") == 2 + 1);
  CHECK(count(with_lanes, ">[15,6-7]<") == 1);
  CHECK(std::distance(fs::directory_iterator(directory.path), fs::directory_iterator()) == 1);

  const Output both = run({"layout", kSmall, "--svg", file.string(), "--csv"});
  CHECK(both.lines().size() == 1 + 16 * 8 + 16 * 8 + 8 * 8 + 16 * 8);
  const std::string all = content(file);
  CHECK(all != svg);

  const std::string nowhere = (directory.path / "none" / "a.svg").string();
  const Output refused = run({"layout", kSmall, "--svg", nowhere});
  CHECK(refused.status == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err == "warpbit: " + nowhere + ": cannot be written: No such file or directory\n");
  const std::string folder = (directory.path / "folder.svg").string();
  fs::create_directory(folder);
  CHECK(run({"layout", kSmall, "--svg", folder}).err ==
        "warpbit: " + folder + ": cannot be written: it is not a regular file\n");
  CHECK(content(file) == all);
  CHECK(std::distance(fs::directory_iterator(directory.path), fs::directory_iterator()) == 2);

  const std::string other = (directory.path / "a.png").string();
  CHECK(run({"layout", kSmall, "--svg", other}).err ==
        "warpbit: --svg: '" + other + "'; expected a name that ends in .svg\n");
  CHECK_FALSE(fs::exists(other));
}

// A whole form, its matrices in memory with a swizzle.
Layout swizzled_layout(const std::string& form) {
  const Result<Instruction> instruction = parse_on_newest(form);
  REQUIRE(instruction.ok());
  Result<Layout> found = layout(*instruction, {.operand = "", .descriptor = {}, .swizzle = Swizzle::bytes_128});
  REQUIRE(found.ok());
  return *std::move(found);
}

TEST_CASE("pictures of all families are well-formed", "[quick][layout]") {
  for (const std::string& form : one_of_each_family()) {
    CAPTURE(form);
    CHECK(xml::is_well_formed(layout_svg(swizzled_layout(form))));
  }
  CHECK_FALSE(xml::is_well_formed("<a><b></a></b>"));
  CHECK_FALSE(xml::is_well_formed("<a>&b;</a>"));
  CHECK_FALSE(xml::is_well_formed("<a>"));
}

// Corners of the cells with such a text: x, y, by the text's place above them.
std::vector<std::pair<int, int>> places_of_text(const std::string& svg, const std::string& text) {
  std::vector<std::pair<int, int>> out;
  const std::regex entry("<text x=\"([0-9]+)\" y=\"([0-9]+)\"[^>]*>" + text + "<");
  for (std::sregex_iterator at(svg.begin(), svg.end(), entry), end; at != end; ++at)
    out.emplace_back(std::stoi((*at)[1]), std::stoi((*at)[2]));
  return out;
}

// A text of a picture with the box that it fills: a character is 3/5 of its size wide.
struct TextBox {
  double left, top, right, bottom;
};

std::vector<TextBox> text_boxes(const std::string& svg) {
  static const std::regex kText(
      "<text x=\"([0-9]+)\" y=\"([0-9]+)\"(?: font-size=\"([0-9]+)\")?(?: text-anchor=\"([a-z]+)\")?[^>]*>([^<]*)<");
  std::vector<TextBox> out;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kText), end; at != end; ++at) {
    const std::string anchor = (*at)[4];
    const double x = std::stoi((*at)[1]), y = std::stoi((*at)[2]),
                 size = (*at)[3].matched ? std::stoi((*at)[3]) : 11;
    const std::string text = std::regex_replace((*at)[5].str(), std::regex("&[a-z]+;"), "x");
    const double width = static_cast<double>(text.size()) * size * 3 / 5;
    const double left = anchor == "start" ? x : anchor == "end" ? x - width : x - width / 2;
    out.push_back({left, y - size * 3 / 4, left + width, y + size / 5});
  }
  std::ranges::sort(out, {}, &TextBox::left);
  return out;
}

TEST_CASE("no text of a picture lies over another or outside", "[quick][layout][once]") {
  std::size_t checked = 0;
  const auto check = [&](const Layout& found, bool by_lanes) {
    const std::string svg = layout_svg(found, {by_lanes});
    const double width = std::stoi(svg.substr(svg.find("width=\"") + 7)),
                 height = std::stoi(svg.substr(svg.find("height=\"") + 8));
    const std::vector<TextBox> boxes = text_boxes(svg);
    for (std::size_t i = 0; i < boxes.size(); ++i, ++checked) {
      const TextBox& a = boxes[i];
      CHECK((a.left >= 0 && a.top >= 0 && a.right <= width && a.bottom <= height));
      for (std::size_t j = i + 1; j < boxes.size() && boxes[j].left < a.right; ++j)
        if (boxes[j].top < a.bottom && a.top < boxes[j].bottom)
          FAIL_CHECK("two texts at " << a.left << ", " << a.top);
    }
  };
  for (const std::string& form : one_of_each_family()) {
    CAPTURE(form);
    const Layout found = swizzled_layout(form);
    check(found, false);
    const bool has_lanes =
        std::ranges::any_of(found.operands, [](const OperandLayout& operand) { return operand.lanes == 32; });
    if (has_lanes) check(found, true);
  }
  const Result<Layout> scales = scale_factor_layout({128, 8});
  REQUIRE(scales.ok());
  check(*scales, true);
  CHECK(checked > 5000);
}

TEST_CASE("a whole form: A left of D, B above it, C not repeated", "[quick][layout]") {
  const Result<Instruction> instruction = parse_on_newest("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  REQUIRE(instruction.ok());
  const Result<Layout> found = layout(*instruction);
  REQUIRE(found.ok());
  const std::string svg = layout_svg(*found);
  CHECK(svg.find(">c: f32, as d<") != std::string::npos);
  // Lane 31 has the last row of A (two registers of it), of D (two), and the last column of B (two).
  const auto cells = places_of_text(svg, "T31");
  REQUIRE(cells.size() == 2 + 4 + 4);
  const auto corner = [&](const char* name) {
    const auto at = places_of_text(svg, name);
    REQUIRE(at.size() == 1);
    return at[0];
  };
  const auto a = corner("A"), b = corner("B"), d = corner("D");
  CHECK(b.second < d.second);
  CHECK(a.second == d.second);
  CHECK(a.first < d.first);
  CHECK(b.first == d.first);
  // Rows of A are rows of D, columns of B those of D.
  std::set<int> rows;
  std::set<int> columns;
  for (const auto& [x, y] : cells) {
    if (y > d.second) rows.insert(y);
    if (x > d.first) columns.insert(x);
  }
  CHECK(rows.size() == 2);
  CHECK(columns.size() == 2);
}

TEST_CASE("a whole tile: steps along K fill the 128 bytes", "[quick][layout]") {
  const std::vector<std::string> tile = {"layout",    kGroup, "--operand", "b",
                                         "--swizzle", "128",  "--tile",    "64x64"};
  const Output text = run(tile);
  CHECK(text.status == 0);
  CHECK(text.out.find("start address + 0x0, 0x20, 0x40, 0x60") != std::string::npos);
  // Row 1 of 128 bytes: column 1, whose chunk c of 8 k lies at (c ^ 1) * 16; two chunks are a step.
  CHECK(text.out.find("\n0x080    s0 [8-15,1]   s0 [0-7,1]    s1 [24-31,1]  s1 [16-23,1]") !=
        std::string::npos);
  CHECK(text.out.find("goes on to 0x1f80: every 8 rows the same again, with columns 8 higher") !=
        std::string::npos);
  const auto json = nlohmann::json::parse(
      run({"layout", kGroup, "--operand", "b", "--swizzle", "128", "--tile", "64x64", "--json"}).out);
  REQUIRE(json["elements"].size() == 64 * 64);
  std::set<std::uint64_t> bytes;
  for (const auto& element : json["elements"]) bytes.insert(element["byte"].get<std::uint64_t>());
  CHECK(bytes.size() == 64 * 64);
  CHECK(*bytes.rbegin() == 64 * 128 - 2);
  const auto refused = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"layout", kGroup};
    words.insert(words.end(), more.begin(), more.end());
    const Output output = run(words);
    CHECK(output.status == 2);
    return output.err;
  };
  CHECK(refused({"--operand", "b", "--swizzle", "128", "--tile", "60x64"}) ==
        "warpbit: b_desc: a tile of 60 x 64; expected multiples of 16 rows and 64 columns\n");
  CHECK(refused({"--operand", "b", "--swizzle", "128", "--tile", "64"}) ==
        "warpbit: tile: '64'; expected ROWSxCOLUMNS, 64x64\n");
  CHECK(refused({"--operand", "b", "--tile", "64x64"}).find("--tile requires --swizzle") != std::string::npos);
}

// The notation, executed: a shape:stride of at most two levels, of two variables.
struct Cute {
  std::array<std::vector<std::int64_t>, 2> shape, stride;

  static std::array<std::vector<std::int64_t>, 2> read(const std::string& text) {
    std::array<std::vector<std::int64_t>, 2> out;
    int depth = 0;
    std::size_t variable = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')') --depth;
      if (text[i] == ',' && depth == 1) ++variable;
      if (text[i] >= '0' && text[i] <= '9') {
        std::size_t used = 0;
        out[variable].push_back(std::stoll(text.substr(i), &used));
        i += used - 1;
      }
    }
    return out;
  }
  explicit Cute(const std::string& text) {
    shape = read(text.substr(0, text.find(':')));
    stride = read(text.substr(text.find(':') + 1));
  }
  std::int64_t operator()(std::int64_t x, std::int64_t y) const {
    std::int64_t out = 0;
    for (std::size_t v = 0; v < 2; ++v) {
      std::int64_t index = v == 0 ? x : y;
      for (std::size_t i = 0; i < shape[v].size(); ++i) {
        out += index % shape[v][i] * stride[v][i];
        index /= shape[v][i];
      }
    }
    return out;
  }
};

TEST_CASE("CuTe's notation is the map", "[quick][layout]") {
  // CUTLASS, include/cute/atom/mma_traits_sm80.hpp: SM80_16x8x16_F32F16F16F32_TN.
  const Result<Instruction> instruction = parse_on_newest("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  REQUIRE(instruction.ok());
  const Result<Layout> found = layout(*instruction);
  REQUIRE(found.ok());
  CHECK(operand(*found, "a").cute == "((4,8),(2,2,2)):((32,1),(16,8,128))");
  CHECK(operand(*found, "b").cute == "((4,8),(2,2)):((16,1),(8,64))");
  CHECK(operand(*found, "d").cute == "((4,8),(2,2)):((32,1),(16,8))");
  std::size_t checked = 0;
  for (const std::string& form : one_of_each_family()) {
    const Result<Instruction> read = parse_on_newest(form);
    const Result<Layout> all = layout(*read, {.operand = "", .descriptor = {}, .swizzle = Swizzle::bytes_128});
    REQUIRE(all.ok());
    for (const OperandLayout& op : all->operands) {
      if (op.cute.empty()) continue;
      CAPTURE(form, op.role, op.cute);
      const bool by_columns = op.role.starts_with("b");
      const bool swizzled = op.cute.starts_with("Swizzle<3,");
      const Cute cute(swizzled ? op.cute.substr(op.cute.find(" o 0 o ") + 7) : op.cute);
      for (const LayoutCell& cell : op.cells) {
        const Coordinate& e = cell.element;
        const std::int64_t x = by_columns ? e.column : e.row, y = by_columns ? e.row : e.column;
        if (op.medium == Medium::registers) {
          const int slot = cell.place.low_bit / op.packing.slot_bits - op.packing.first_slot;
          REQUIRE(cute(cell.place.lane, cell.place.reg * op.packing.per_register() + slot) ==
                  x + (by_columns ? op.columns : op.rows) * y);
        } else {
          auto bit = static_cast<std::uint64_t>(cute(x, y)) * static_cast<std::uint64_t>(op.element_bits);
          if (swizzled) bit ^= (bit >> 10 & 7) << 7;
          REQUIRE(bit == cell.bit);
        }
      }
      ++checked;
    }
  }
  CHECK(checked >= 20);
}

// ---- Scale factors

TEST_CASE("scale factors in memory", "[quick][layout]") {
  CHECK(run({"where", "scale_factors", "sf[37,2]", "--rows", "128", "--blocks", "4"}).out ==
        "sf[37,2]: offset 0x56\n");
  CHECK(run({"where", "scale_factors", "byte", "0x56", "--rows", "128", "--blocks", "4"}).out ==
        "offset 0x56: sf[37,2]\n");
  CHECK(
      run({"where", "scale_factors", "sf[37,2]", "--rows", "128", "--blocks", "4", "--order", "linear"}).out ==
      "sf[37,2]: offset 0x96\n");
  // A byte of padding.
  CHECK(run({"where", "scale_factors", "byte", "3", "--rows", "128", "--blocks", "3"}).status == 1);
  const auto json = nlohmann::json::parse(
      run({"where", "scale_factors", "sf[130,5]", "--rows", "256", "--blocks", "8", "--json"}).out);
  CHECK(json["schema"] == "where/1");
  CHECK(json["answers"][0]["byte"] == 3 * 512 + 2 * 16 + 1);
  const std::string text = run({"layout", "scale_factors", "--rows", "256", "--blocks", "8"}).out;
  CHECK(text.find("((32,4,2),(4,2)):((16,4,1024),(1,512))") != std::string::npos);
  const auto refused = [](std::vector<std::string> words) {
    const Output output = run(words);
    CHECK(output.status == 2);
    return output.err;
  };
  CHECK(refused({"layout", "scale_factors", "--rows", "256"}) ==
        "warpbit: scale_factors: no --blocks; expected --rows N --blocks N\n");
  CHECK(refused({"layout", "scale_factors", "--rows", "4096", "--blocks", "4096"}).find("at most 1048576") !=
        std::string::npos);
  CHECK(refused({"where", "scale_factors", "sf[128,0]", "--rows", "128", "--blocks", "4"}) ==
        "warpbit: sf: no such element, [128,0]; expected a row 0 to 127, a column 0 to 3\n");
  CHECK(refused({"layout", kSmall, "--rows", "4"}).find("scale_factors only") != std::string::npos);
}

// ---- Width

TEST_CASE("no line is wider than the terminal, and a pipe has no colours", "[quick][layout][once]") {
  std::size_t checked = 0;
  for (const std::string& form : one_of_each_family()) {
    const Layout found = swizzled_layout(form);
    for (const bool by_lanes : {false, true})
      for (const int width : {80, 100, 120}) {
        std::istringstream lines(layout_text(found, {.by_lanes = by_lanes, .width = width, .paint = {}}));
        for (std::string line; std::getline(lines, line); ++checked)
          if (line.size() > static_cast<std::size_t>(width) || line.ends_with(' '))
            FAIL_CHECK(form << " at " << width << ": " << line);
      }
  }
  CHECK(checked > 5000);
  for (const std::string width : {"80", "100", "120"})
    for (const std::string more : {"", " --lanes"})
      for (const std::string& form : {kGroup, one_of_each_family()[0]}) {
        const Output output = tool::shell("COLUMNS=" + width + " " + shell_word(tool::named("WARPBIT_CLI")) +
                                          " layout " + shell_word(form) + more);
        CHECK(output.status == 0);
        CHECK(output.out.find('\033') == std::string::npos);
        std::size_t widest = 0;
        for (const std::string& line : output.lines()) widest = std::max(widest, line.size());
        CHECK(widest <= std::stoul(width));
        CHECK(widest > 40);
      }
}

TEST_CASE("colours change no character", "[quick][layout]") {
  const Result<Instruction> instruction = parse_on_newest(kSmall);
  REQUIRE(instruction.ok());
  const Result<Layout> found = layout(*instruction);
  REQUIRE(found.ok());
  std::set<int> colours;
  const Paint paint = [&](std::string_view text, int colour) {
    colours.insert(colour);
    return "{" + std::string(text) + "}";
  };
  for (const bool by_lanes : {false, true}) {
    std::string painted = layout_text(*found, {.by_lanes = by_lanes, .width = 80, .paint = paint});
    CHECK((painted.find("{T5:r0}") == std::string::npos) == by_lanes);
    CHECK(std::ranges::count(painted, '{') > 64);
    std::erase_if(painted, [](char c) { return c == '{' || c == '}'; });
    CHECK(painted == layout_text(*found, {.by_lanes = by_lanes, .width = 80, .paint = {}}));
  }
  CHECK(colours.size() == 32);
  CHECK((*colours.begin() >= 0 && *colours.rbegin() <= 255));
}

// ---- Tensor memory

using tensor_formulas::Cell;

// All elements of an operand are where `expected` says, and nowhere else.
template <class Expected>
void check_tensor_operand(const Layout& found, std::string_view role, int rows, int columns,
                          Expected expected) {
  const auto operand = std::ranges::find(found.operands, role, &OperandLayout::role);
  REQUIRE(operand != found.operands.end());
  CHECK(operand->medium == Medium::tensor_memory);
  CHECK(operand->rows == rows);
  CHECK(operand->columns == columns);
  std::map<std::pair<int, int>, std::vector<Cell>> seen;
  for (const LayoutCell& cell : operand->cells)
    seen[{cell.element.row, cell.element.column}].push_back(
        {cell.place.lane / 128, cell.place.lane % 128, cell.place.reg, cell.place.low_bit});
  CHECK(seen.size() == static_cast<std::size_t>(rows * columns));
  int wrong = 0;
  for (auto& [element, cells] : seen) {
    std::vector<Cell> wanted = expected(element.first, element.second);
    std::ranges::sort(wanted);
    std::ranges::sort(cells);
    wrong += cells != wanted;
  }
  INFO(role);
  CHECK(wrong == 0);
}

Layout tensor_layout(std::string_view statement, std::optional<std::uint32_t> descriptor, int lane = 0) {
  const Result<Instruction> instruction = parse_on_newest(statement);
  REQUIRE(instruction.ok());
  const Result<Layout> found =
      layout(*instruction, {.operand = {}, .instruction_descriptor = descriptor, .tensor_lane = lane});
  REQUIRE(found.ok());
  return *found;
}

TEST_CASE("the layout of tcgen05.mma is that of its instruction descriptor", "[quick][layout]") {
  const tensor_formulas::Shape f{64, 128, 1, false, false}, c{128, 128, 2, false, true, 16},
      b{128, 96, 2, false, false};
  const Layout of_f = tensor_layout(
      "tcgen05.mma.cta_group::1.kind::f16 [d_tmem], [a_tmem], b_desc, idesc, enable_input_d;", 0x0420'0010);
  check_tensor_operand(of_f, "d_tmem", 64, 128,
                       [&](int m, int n) { return std::vector{tensor_formulas::d(f, m, n)}; });
  check_tensor_operand(of_f, "a_tmem", 64, 16,
                       [&](int m, int k) { return tensor_formulas::a(f, 16, 0, m, k); });
  CHECK(of_f.unknown.size() == 1);

  // Sparse, of a pair, in the upper half of the lanes; the descriptor as a literal.
  const Layout of_c = tensor_layout(
      "tcgen05.mma.sp.cta_group::2.kind::f16 [d_tmem], a_desc, b_desc, [sp_meta_tmem], 0x8200015, enable_input_d;",
      std::nullopt, 16);
  check_tensor_operand(of_c, "d_tmem", 128, 128,
                       [&](int m, int n) { return std::vector{tensor_formulas::d(c, m, n)}; });
  check_tensor_operand(of_c, "sp_meta_tmem", 128, 8,
                       [&](int m, int q) { return tensor_formulas::metadata(c, true, 1, m, q); });

  const Layout of_b = tensor_layout("tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16", 0x0898'0480);
  check_tensor_operand(of_b, "d_tmem", 128, 96,
                       [&](int m, int n) { return std::vector{tensor_formulas::d(b, m, n)}; });
  check_tensor_operand(of_b, "scale_a_tmem", 128, 4,
                       [&](int m, int j) { return tensor_formulas::scale_a(b, 0, m, j); });
  check_tensor_operand(of_b, "scale_b_tmem", 4, 96,
                       [&](int j, int n) { return tensor_formulas::scale_b(b, 0, n, j); });
  const std::string picture = layout_svg(of_b), text = layout_text(of_b);
  CHECK(picture.size() < 4'000'000);
  CHECK(text.find("in 48 columns of tensor memory of each block of a pair; layout B") != std::string::npos);
}

TEST_CASE("questions about tensor memory", "[quick][layout]") {
  const Layout found = tensor_layout("tcgen05.mma.cta_group::2.kind::f16", 0x1020'0010);
  const auto asked = [&](const char* question) {
    const LayoutQuestion parsed = *parse_layout_question(question);
    const auto answers = *answer(found, parsed);
    REQUIRE(answers.size() == 1);
    return text(answers[0], parsed);
  };
  CHECK(asked("d[131,7]") == "d_tmem[131,7]: block 1, lane 3, column 7, bits 31:0");
  CHECK(asked("d block 1 lane 3 column 7") == "block 1, lane 3, column 7, bits 31:0: d_tmem[131,7]");
  CHECK(asked("d lane 131 column 7") == "block 1, lane 3, column 7, bits 31:0: d_tmem[131,7]");
  CHECK(!parse_layout_question("d block 2 lane 3").ok());
  CHECK(!parse_layout_question("d block 1").ok());
  const Result<Layout> none = layout(*parse_on_newest("tcgen05.mma.cta_group::2.kind::f16"));
  CHECK(
      none.error().message() ==
      "tcgen05.mma.cta_group::2.kind::f16: no instruction descriptor; expected one, which says the shape and the "
      "types");
  CHECK(!layout(*parse_on_newest("tcgen05.mma.cta_group::2.kind::f16"),
                {.operand = {}, .instruction_descriptor = 0x1020'0010, .tensor_lane = 16})
             .ok());
  CHECK(!layout(*parse_on_newest("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
                {.operand = {}, .instruction_descriptor = 0x1020'0010})
             .ok());
}

}  // namespace layout_test
