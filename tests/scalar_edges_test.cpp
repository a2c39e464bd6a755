// SPDX-License-Identifier: Apache-2.0
// Scalar instructions where no freedom exists: limits, zeros, NaN. The ground of a row is a section of the PTX manual, or
// `kRecorded`: the manual leaves it open, and an H100 does so (golden-digests/scalar/).
#include "numeric/words.hpp"
#include "scalar/operation.hpp"
#include "scalar_table.hpp"
#include "warpbit/ptx.hpp"

namespace scalar_edges_test {

using namespace warpbit;

constexpr const char* kRecorded = "recorded";

struct Edge {
  const char* form;
  std::vector<std::uint64_t> sources;
  std::uint64_t result;
  const char* ground;
};

const std::vector<Edge>& edges() {
  static const std::vector<Edge> kEdges = {
      // Amounts beyond the width
      {"shl.b32", {1, 31}, 0x80000000, "shl"},
      {"shl.b32", {1, 32}, 0, "shl"},
      {"shl.b32", {1, 0xFFFFFFFF}, 0, "shl"},
      {"shl.b16", {1, 16}, 0, "shl"},
      {"shl.b64", {1, 64}, 0, "shl"},
      {"shr.u32", {0x80000000, 32}, 0, "shr"},
      {"shr.s32", {0x80000000, 32}, 0xFFFFFFFF, "shr"},
      {"shr.s32", {0x80000000, 0xFFFFFFFF}, 0xFFFFFFFF, "shr"},
      {"shr.s16", {0x8000, 16}, 0xFFFF, "shr"},
      {"shr.s64", {0x8000000000000000, 64}, ones(64), "shr"},
      {"shf.l.clamp.b32", {0x11111111, 0x22222222, 40}, 0x11111111, "shf"},
      {"shf.l.wrap.b32", {0x11111111, 0x22222222, 32}, 0x22222222, "shf"},
      {"shf.r.clamp.b32", {0x11111111, 0x22222222, 40}, 0x22222222, "shf"},
      {"shf.r.wrap.b32", {0x11111111, 0x22222222, 32}, 0x11111111, "shf"},

      // Division
      {"div.u32", {5, 0}, 0xFFFFFFFF, kRecorded},
      {"div.s32", {5, 0}, 0xFFFFFFFF, kRecorded},
      {"div.u64", {5, 0}, ones(64), kRecorded},
      {"rem.u32", {5, 0}, 0xFFFFFFFF, kRecorded},
      {"rem.s64", {5, 0}, ones(64), kRecorded},
      {"div.s32", {0x80000000, 0xFFFFFFFF}, 0x80000000, kRecorded},
      {"rem.s32", {0x80000000, 0xFFFFFFFF}, 0, kRecorded},
      {"div.s64", {0x8000000000000000, ones(64)}, 0x8000000000000000, kRecorded},
      {"rem.s64", {0x8000000000000000, ones(64)}, 0, kRecorded},
      {"div.s32", {0xFFFFFFF9, 2}, 0xFFFFFFFD, "div"},
      {"rem.s32", {0xFFFFFFF9, 2}, 0xFFFFFFFF, kRecorded},

      // Fields
      {"bfe.u32", {0xF0, 4, 4}, 0xF, "bfe"},
      {"bfe.u32", {0xFFFFFFFF, 28, 8}, 0xF, "bfe"},
      {"bfe.u32", {0xFFFFFFFF, 40, 4}, 0, "bfe"},
      {"bfe.u32", {0xFF, 0x100, 4}, 0xF, "bfe"},
      {"bfe.s32", {0x80000000, 31, 1}, 0xFFFFFFFF, "bfe"},
      {"bfe.s32", {0x80000000, 40, 4}, 0xFFFFFFFF, "bfe"},
      {"bfe.s32", {0xFFFFFFFF, 3, 0}, 0, "bfe"},
      {"bfe.s64", {0x8000000000000000, 63, 1}, ones(64), "bfe"},
      {"bfi.b32", {0xFF, 0, 28, 8}, 0xF0000000, "bfi"},
      {"bfi.b32", {0xFF, 0x12345678, 4, 0}, 0x12345678, "bfi"},
      {"bfi.b32", {0xFF, 0x12345678, 32, 4}, 0x12345678, "bfi"},
      {"bmsk.clamp.b32", {0, 32}, 0xFFFFFFFF, "bmsk"},
      {"bmsk.wrap.b32", {0, 32}, 0, "bmsk"},
      {"szext.clamp.s32", {0x80, 8}, 0xFFFFFF80, "szext"},
      {"bfind.u32", {0}, 0xFFFFFFFF, "bfind"},
      {"bfind.s32", {0xFFFFFFFF}, 0xFFFFFFFF, "bfind"},
      {"bfind.shiftamt.u32", {1}, 31, "bfind"},
      {"clz.b64", {0}, 64, "clz"},
      {"fns.b32", {0xAAAAAAAA, 3, 1}, 3, "fns"},
      {"fns.b32", {0xAAAAAAAA, 2, 0xFFFFFFFF}, 1, "fns"},
      {"fns.b32", {0xAAAAAAAA, 3, 0x80000000}, 0, kRecorded},

      // Bytes: b is 7 6 5 4, a is 3 2 1 0
      {"prmt.b32", {0x03020100, 0x07060504, 0x0123}, 0x00010203, "prmt"},
      {"prmt.b32", {0x03020100, 0x07060504, 0x7654}, 0x07060504, "prmt"},
      {"prmt.b32", {0x80000000, 0, 0x000B}, 0x000000FF, "prmt"},
      {"prmt.b32.f4e", {0x03020100, 0x07060504, 1}, 0x04030201, "prmt"},
      {"prmt.b32.b4e", {0x03020100, 0x07060504, 1}, 0x06070001, "prmt"},
      {"prmt.b32.rc8", {0x03020100, 0x07060504, 2}, 0x02020202, "prmt"},
      {"prmt.b32.ecl", {0x03020100, 0x07060504, 1}, 0x03020101, "prmt"},
      {"prmt.b32.ecr", {0x03020100, 0x07060504, 2}, 0x02020100, "prmt"},
      {"prmt.b32.rc16", {0x03020100, 0x07060504, 1}, 0x03020302, "prmt"},
      {"lop3.b32", {0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0x1A}, 0x1A1A1A1A, "lop3"},

      // Products and sums of integers
      {"mul.hi.s32", {0x80000000, 0x80000000}, 0x40000000, "mul"},
      {"mul.hi.u64", {ones(64), ones(64)}, ones(64) - 1, "mul"},
      {"mul.wide.s16", {0x8000, 0x8000}, 0x40000000, "mul"},
      {"mul24.hi.u32", {0xFFFFFF, 0xFFFFFF}, 0xFFFFFE00, "mul24"},
      {"add.sat.s32", {0x7FFFFFFF, 1}, 0x7FFFFFFF, "add"},
      {"sub.sat.s32", {0x80000000, 1}, 0x80000000, "sub"},
      {"abs.s32", {0x80000000}, 0x80000000, kRecorded},
      {"sad.s32", {0x80000000, 0x7FFFFFFF, 1}, 0, "sad"},

      // NaN
      {"add.f32", {0x7FC00001, 0x3F800000}, 0x7FFFFFFF, kRecorded},
      {"add.f16", {0x7E01, 0x3C00}, 0x7FFF, kRecorded},
      {"add.bf16", {0xFFC1, 0x3F80}, 0x7FFF, kRecorded},
      {"add.f64", {0x7FF0000000000001, 0x3FF0000000000000}, 0x7FF8000000000001, kRecorded},
      {"add.f32", {0x7F800000, 0xFF800000}, 0x7FFFFFFF, kRecorded},
      {"add.f64", {0x7FF0000000000000, 0xFFF0000000000000}, 0xFFF8000000000000, kRecorded},
      {"mul.f32", {0, 0x7F800000}, 0x7FFFFFFF, kRecorded},
      {"neg.f32", {0xFFC00000}, 0x7FFFFFFF, kRecorded},
      {"copysign.f32", {0x80000000, 0x7F800001}, 0xFF800001, "copysign"},
      {"min.f32", {0x7FC00000, 0x3F800000}, 0x3F800000, "min"},
      {"min.NaN.f32", {0x7FC00000, 0x3F800000}, 0x7FFFFFFF, "min"},
      {"max.f32", {0x7FC00000, 0xFFC00000}, 0x7FFFFFFF, "max"},
      {"sqrt.rn.f32", {0xBF800000}, 0x7FFFFFFF, kRecorded},
      {"rsqrt.approx.f64", {0xBFF0000000000000}, 0xFFF8000000000000, kRecorded},
      {"lg2.approx.f32", {0xBF800000}, 0x7FFFFFFF, kRecorded},
      {"fma.rn.oob.f16", {0xFFF7, 0x3C00, 0x3C00}, 0, kRecorded},
      {"fma.rn.oob.bf16", {0x3F80, 0x7FF7, 0x7FC0}, 0, kRecorded},
      {"fma.rn.oob.bf16", {0x3F80, 0x7FFF, 0x3F80}, 0x7FFF, kRecorded},
      {"fma.rn.oob.f16x2", {0x3C007FF7, 0x3C003C00, 0x3C003C00}, 0x40000000, kRecorded},
      {"set.eq.u32.f32", {0x7FC00000, 0x7FC00000}, 0, "set"},
      {"set.neu.u32.f32", {0x7FC00000, 0x7FC00000}, 0xFFFFFFFF, "set"},
      {"setp.nan.f32", {0x7FC00000, 0}, 1, "setp"},
      {"testp.normal.f32", {0}, 1, kRecorded},

      // Signs of zero
      {"add.f32", {0, 0x80000000}, 0, "IEEE 754, 6.3"},
      {"add.rm.f32", {0, 0x80000000}, 0x80000000, "IEEE 754, 6.3"},
      {"add.f32", {0x80000000, 0x80000000}, 0x80000000, "IEEE 754, 6.3"},
      {"mul.f32", {0x80000000, 0x3F800000}, 0x80000000, "IEEE 754, 6.3"},
      {"sqrt.rn.f32", {0x80000000}, 0x80000000, "IEEE 754, 6.3"},
      {"fma.rn.f32", {0x3F800000, 0xBF800000, 0x3F800000}, 0, "IEEE 754, 6.3"},
      {"fma.rm.f32", {0x3F800000, 0xBF800000, 0x3F800000}, 0x80000000, "IEEE 754, 6.3"},
      {"rcp.rn.f32", {0x80000000}, 0xFF800000, "rcp"},
      {"rcp.approx.f32", {0x80000000}, 0xFF800000, "rcp"},
      {"div.rn.f32", {0x3F800000, 0x80000000}, 0xFF800000, "IEEE 754, 7.3"},
      {"min.f32", {0, 0x80000000}, 0x80000000, "min"},
      {"max.f32", {0x80000000, 0}, 0, "max"},
      {"setp.eq.f32", {0, 0x80000000}, 1, "setp"},

      // Subnormal numbers
      {"add.f32", {1, 0}, 1, "add"},
      {"add.ftz.f32", {1, 0}, 0, "add"},
      {"mul.ftz.f32", {0x00800000, 0x3F000000}, 0, "mul"},
      {"mul.ftz.f32", {0x80800000, 0x3F000000}, 0x80000000, "mul"},
      {"mul.ftz.f32", {0x00800000, 0x3F7FFFFF}, 0, kRecorded},
      {"setp.eq.ftz.f32", {1, 0}, 1, "setp"},
      {"ex2.approx.ftz.f32", {0x007FFFFF}, 0x3F800000, "ex2"},

      // Saturation
      {"add.sat.f32", {0x3F800000, 0x3F800000}, 0x3F800000, "add"},
      {"add.sat.f32", {0xBF800000, 0}, 0, "add"},
      {"add.sat.f32", {0x7FC00000, 0}, 0, "add"},
      {"cvt.sat.f32.f32", {0x7FC00000}, 0, "cvt"},

      // Conversions out of range
      {"cvt.rzi.s32.f32", {0x4F000000}, 0x7FFFFFFF, "cvt"},
      {"cvt.rzi.s32.f32", {0xCF000001}, 0x80000000, "cvt"},
      {"cvt.rzi.s32.f32", {0x7F800000}, 0x7FFFFFFF, "cvt"},
      {"cvt.rzi.u32.f32", {0xBF800000}, 0, "cvt"},
      {"cvt.rzi.u8.f32", {0x43C80000}, 255, "cvt"},
      {"cvt.rzi.s32.f32", {0x7FC00000}, 0, "cvt"},
      {"cvt.rzi.s32.f64", {0x7FF8000000000000}, 0x80000000, kRecorded},
      {"cvt.rzi.u64.f32", {0x7FC00000}, 0x8000000000000000, kRecorded},
      {"cvt.rni.s32.f32", {0x40200000}, 2, "cvt"},
      {"cvt.sat.u8.s32", {0xFFFFFFFB}, 0, "cvt"},
      {"cvt.sat.s8.s32", {200}, 0x7F, "cvt"},
      {"cvt.u8.u32", {0x1FF}, 0xFF, "cvt"},
      {"cvt.s32.s8", {0x80}, 0xFFFFFF80, "cvt"},
      {"cvt.rn.f16.f32", {0x477FF000}, 0x7C00, "IEEE 754, 4.3.1"},
      {"cvt.rn.f16.f32", {0x477FEFFF}, 0x7BFF, "IEEE 754, 4.3.1"},
      {"cvt.rz.f16.f32", {0x477FF000}, 0x7BFF, "IEEE 754, 4.3.2"},
      {"cvt.pack.sat.s16.s32", {0x12345, 0xFFFF0000}, 0x7FFF8000, "cvt.pack"},
      {"cvt.pack.sat.s4.s32.b32", {9, 0xFFFFFFF7, 0x89ABCDEF}, 0xABCDEF78, "cvt.pack"},
      {"cvt.pack.sat.u4.s32.b32", {0xFFFFFFFF, 16, 0x89ABCDEF}, 0xABCDEF0F, "cvt.pack"},
      {"cvt.pack.sat.s2.s32.b32", {5, 0xFFFFFFFF, 0x89ABCDEF}, 0x9ABCDEF7, "cvt.pack"},
      {"cvt.pack.sat.s2.s32.b32", {0xFFFFFFFD, 1, 0}, 9, "cvt.pack"},
      {"cvt.pack.sat.u2.s32.b32", {3, 0xFFFFFFF9, 0xFFFFFFFF}, 0xFFFFFFFC, "cvt.pack"},
  };
  return kEdges;
}

TEST_CASE("scalar instructions at their limits") {
  for (const Edge& edge : edges()) {
    CAPTURE(edge.form, edge.sources, edge.ground);
    scalar::Sources sources;
    for (const std::uint64_t value : edge.sources)
      sources.value[static_cast<std::size_t>(sources.count++)] = value;
    const std::vector<std::string_view> words = words_between(edge.form, ".");
    const scalar::Operation operation = scalar::operation(words[0], std::span(words).subspan(1));
    REQUIRE(operation.execute != nullptr);
    CHECK(scalar::execute(operation, sources).value == edge.result);
  }
  CHECK(edges().size() >= 120);
}

bool is_inferred(const char* target, const std::string& statement) {
  const std::string text = fmt::format(
      ".version 9.0\n.target {}\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<4>;\n.reg .b64 %q<4>;\n{}\nret;\n}}\n",
      target, statement);
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  INFO((function ? "" : function.error().message()));
  REQUIRE(function);
  const ptx::Report report = function->launch({.grid = {1, 1, 1}, .block = {32, 1, 1}}, {});
  INFO((report.ok() ? "" : report.fault->message()));
  REQUIRE(report.ok());
  return report.inferred;
}

TEST_CASE("forms that the manual does not have are refused") {
  for (const isa_table::Row& row : isa_table::read("scalar"))
    for (const std::string& name : scalar_table::names(row.at("form"))) {
      if (!scalar_table::undocumented().contains(name)) continue;
      CAPTURE(name);
      const auto module =
          ptx::Module::load(scalar_table::module(*scalar_table::statement(name, row.at("operands")) + "\n"));
      REQUIRE(module);
      const auto function = module->function("k");
      REQUIRE(!function);
      CHECK(function.error().code == Errc::instruction_not_modelled);
    }
}

TEST_CASE("a launch says whether results of all of its forms are recorded") {
  const std::string sum = "mov.b32 %r0, 1; add.f32 %r1, %r0, %r0;";
  const std::string function =
      "mov.u32 %r0, %tid.x; ex2.approx.f32 %r1, %r0;";  // of a number that is not known
  const std::string two = "mov.b64 %q0, 1; add.rn.f32x2 %q1, %q0, %q0;";
  CHECK_FALSE(is_inferred("sm_90a", sum));
  CHECK(is_inferred("sm_100a", sum));  // the bits of a NaN
  CHECK_FALSE(is_inferred("sm_100a", "mov.b32 %r0, 1; add.s32 %r1, %r0, %r0;"));
  CHECK_FALSE(is_inferred("sm_90a", function));
  CHECK_FALSE(is_inferred("sm_90", function));
  CHECK(is_inferred("sm_80", function));
  CHECK(is_inferred("sm_100a", two));
  const std::string division = "mov.b32 %r0, 0; div.u32 %r1, %r0, %r0;";
  for (const char* const target : {"sm_80", "sm_120a"}) CHECK(is_inferred(target, division));
  CHECK_FALSE(is_inferred("sm_90a", division));
}

}  // namespace scalar_edges_test
