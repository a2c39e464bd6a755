// SPDX-License-Identifier: Apache-2.0
// Variables that stand for textures, samplers and surfaces (PTX manual, "Texture Sampler and Surface Types"): what is written, what
// may be bound, and what kernels then read and store, computed here by hand.
#include <fmt/format.h>

#include <array>
#include <vector>

#include <catch2/catch.hpp>
#include "warpbit/ptx.hpp"

namespace references_test {

using namespace warpbit;
using Catch::Contains;

std::string module_of(const std::string& variables, const std::string& body, const std::string& parameters = "",
                      const char* mode = "") {
  return fmt::format(R"(.version 9.0
.target sm_90{}
.address_size 64
{}
.visible .entry k(.param .u64 out{}) {{
.reg .b32 %r<8>; .reg .f32 %f<8>; .reg .u64 %p, %t; .reg .pred %q<4>; ld.param.u64 %p, [out];
{}
ret; }}
)",
                     mode, variables, parameters, body);
}
constexpr const char* kIndependent = ", texmode_independent";

/// Texels 1, 2, 4, 8 of f32 in a row.
struct RowOfFour {
  std::array<float, 4> texels = {1, 2, 4, 8};
  std::uint64_t handle = 0;

  explicit RowOfFour(bool linear = false, bool normalized = false,
                     ptx::Addressing addressing = ptx::Addressing::clamp) {
    ptx::Texture of;
    of.texels = std::as_bytes(std::span(texels));
    of.width = 4;
    of.linear = linear, of.normalized = normalized;
    of.addressing = {addressing, addressing, addressing};
    handle = ptx::texture(of).value();
  }
  ~RowOfFour() { ptx::forget(handle); }
  RowOfFour(const RowOfFour&) = delete;
};

struct Bound {
  const char* name;
  std::uint64_t handle;
};

/// What a launch of one thread says, and the number that it leaves.
struct Done {
  std::string said = "-";
  float number = -1;
  bool inferred = false;
};

Done done(const std::string& text, std::initializer_list<Bound> bound, std::vector<ptx::Argument> more = {}) {
  Done out;
  const auto module = ptx::Module::load(text);
  if (!module) return {module.error().message()};
  for (const Bound& one : bound)
    if (const auto set = module->bind(one.name, one.handle); !set) return {set.error().message()};
  const auto made = module->function("k");
  if (!made) return {made.error().message()};
  std::vector<float> words = {-1};
  more.insert(more.begin(), ptx::buffer(words));
  const ptx::Report report = made->launch({}, more);
  if (report.fault) out.said = report.fault->message();
  out.number = words[0];
  out.inferred = static_cast<bool>(report.inferred);
  return out;
}

// Of "[tex, " the rest: reads at x of the first row, and stores r.
std::string read_at(const std::string& names, float x) {
  return fmt::format(
      "tex.2d.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [{}, {{0f{:08X}, 0f00000000}}]; st.global.f32 [%p], %f0;",
      names, std::bit_cast<std::uint32_t>(x));
}

TEST_CASE("a texture is read by the name of its variable", "[quick]") {
  const RowOfFour nearest, linear(true), wrapped(true, true, ptx::Addressing::wrap);
  const std::string by_name = module_of(".global .texref tex;", read_at("tex", 1.75F));
  CHECK(done(by_name, {{"tex", nearest.handle}}).number == 2);
  CHECK(done(by_name, {{"tex", linear.handle}}).number == 2.5F);  // a quarter of the way from 2 to 4
  // 1.75 times four texels, less three of them to come around: the middle between 8 and 1
  CHECK(done(module_of(".visible .global .align 8 .texref tex;", read_at("tex", 2)), {{"tex", wrapped.handle}})
            .number == 4.5F);
  CHECK(done(by_name, {{"tex", nearest.handle}, {"tex", linear.handle}}).number == 2.5F);
  const std::string two = ".global .texref a, b;";
  const RowOfFour other(true);
  CHECK(done(module_of(two, read_at("b", 1.75F)), {{"b", linear.handle}, {"a", nearest.handle}}).number ==
        2.5F);
  CHECK(done(module_of(two, read_at("b", 1.75F)), {{"b", linear.handle}}).said == "-");  // a is not named
}

TEST_CASE("the address of a reference is a value", "[quick]") {
  const RowOfFour nearest, linear(true);
  const std::string both = ".global .texref a, b; .global .u64 kept;";
  CHECK(
      done(module_of(both, "mov.u64 %t, a; st.global.u64 [kept], %t; mov.u64 %t, b; ld.global.u64 %t, [kept];" +
                               read_at("%t", 1.75F)),
           {{"a", linear.handle}, {"b", nearest.handle}})
          .number == 2.5F);
  const std::string asked =
      "mov.u64 %t, {}; istypep.texref %q0, %t; istypep.surfref %q1, %t; selp.f32 %f0, 1.0, 0.0, %q0;"
      "@%q1 add.f32 %f0, %f0, 0f40000000; st.global.f32 [%p], %f0;";
  std::array<std::uint8_t, 4> bytes = {};
  ptx::Surface of;
  of.texels = std::as_writable_bytes(std::span(bytes)), of.width = 4;
  const std::uint64_t surface = ptx::surface(of).value();
  const std::string kinds = ".global .texref a; .global .surfref s;";
  CHECK(done(module_of(kinds, fmt::format(fmt::runtime(asked), "a")), {{"a", linear.handle}}).number == 1);
  CHECK(done(module_of(kinds, fmt::format(fmt::runtime(asked), "s")), {{"s", surface}}).number == 2);
  CHECK(done(module_of(kinds, fmt::format(fmt::runtime(asked), linear.handle)), {}).number == 0);
  CHECK(ptx::forget(surface));
}

TEST_CASE("a parameter may be a reference", "[quick]") {
  const RowOfFour linear(true);
  const std::string text = module_of("", read_at("tex", 1.75F), ", .param .texref tex");
  CHECK(done(text, {}, {ptx::value(linear.handle)}).number == 2.5F);
  CHECK_THAT(done(text, {}, {ptx::value(std::uint64_t{7})}).said,
             Contains("the .texref 'tex': 0x7 is no texture; expected what ptx::texture has returned"));
  std::vector<float> array(4);
  CHECK_THAT(done(text, {}, {ptx::buffer(array)}).said,
             Contains("argument 'tex': an array, which is no handle; expected 8 bytes (.texref)"));
  CHECK(ptx::Module::load(text)->function("k")->parameters()[1].type == "texref");
}

TEST_CASE("a surface is accessed by the name of its variable", "[quick]") {
  std::array<std::uint8_t, 8> bytes = {10, 11, 12, 13, 14, 15, 16, 17};
  ptx::Surface of;
  of.texels = std::as_writable_bytes(std::span(bytes)), of.width = 4, of.height = 2;
  const std::uint64_t handle = ptx::surface(of).value();
  const std::string body =
      "suld.b.2d.b8.trap %r0, [{0}, {{3, 1}}]; suq.width.b32 %r1, [{0}]; sust.p.2d.b32.trap [{0}, {{1, 0}}], 99;"
      "sured.b.add.2d.u32.trap [{0}, {{4, 1}}], 1; add.u32 %r0, %r0, %r1; cvt.rn.f32.u32 %f0, %r0;"
      "st.global.f32 [%p], %f0;";
  const std::string text =
      module_of(".global .surfref s = { width = 4 };", fmt::format(fmt::runtime(body), "s"));
  CHECK_THAT(done(text, {{"s", handle}}).said,
             Contains("coordinates x 4, y 1 of a 2D surface of 4 x 2 texels"));
  const std::string inside = text.substr(0, text.find("sured")) + text.substr(text.find("add.u32"));
  bytes = {10, 11, 12, 13, 14, 15, 16, 17};
  CHECK(done(inside, {{"s", handle}}).number == 17 + 4);
  CHECK(bytes == std::array<std::uint8_t, 8>{10, 99, 12, 13, 14, 15, 16, 17});
  CHECK(ptx::forget(handle));
  CHECK_THAT(done(inside, {{"s", handle}}).said,
             Contains("is no surface; expected what ptx::surface has returned"));
}

TEST_CASE("in independent mode a sampler says how a texture is read", "[quick]") {
  const RowOfFour plain, normalized(false, true, ptx::Addressing::border);
  const auto by = [&](const std::string& sampler, float x, std::uint64_t texture) {
    return done(
        module_of(
            fmt::format(".global .texref tex = {{ filter_mode = nearest }}; .global .samplerref s{};", sampler),
            read_at("tex, s", x), "", kIndependent),
        {{"tex", texture}});
  };
  const std::string
      linear = " = { addr_mode_0 = wrap, addr_mode_1 = wrap, filter_mode = linear }",
      nearest = " = { addr_mode_0 = clamp_to_border, addr_mode_1 = clamp_to_edge, filter_mode = nearest }";
  CHECK(by(linear, 1.75F, plain.handle).number == 2.5F);
  CHECK(by(nearest, 1.75F, plain.handle).number == 2);
  CHECK(by(linear, 2, normalized.handle).number == 4.5F);
  CHECK(by(nearest, 4, plain.handle).number == 0);
  CHECK(by(nearest, 0.5F, normalized.handle).number == 4);
  const std::string forced = nearest.substr(0, nearest.size() - 1) + ", force_unnormalized_coords = 1 }";
  CHECK(by(forced, 0.5F, normalized.handle).number == 1);
  CHECK(by(linear.substr(0, linear.size() - 1) + ", force_unnormalized_coords = 0 }", 2, normalized.handle)
            .number == 4.5F);

  const std::string open = "; what a GPU reads otherwise has not been measured";
  CHECK_THAT(by("", 1, plain.handle).said,
             Contains("the .samplerref 's': no sampler is bound to it; expected one, by its name"));
  CHECK_THAT(
      by(" = { addr_mode_0 = wrap, addr_mode_1 = wrap }", 1, plain.handle).said,
      Contains("the .samplerref 's': no filter_mode in its initial value; expected nearest or linear" + open));
  CHECK_THAT(
      by(" = { addr_mode_0 = wrap, filter_mode = linear }", 1, plain.handle).said,
      Contains("no addr_mode_1 in its initial value; expected wrap, mirror, clamp_to_edge or clamp_to_border" +
               open));
  CHECK_THAT(
      by(" = { addr_mode_0 = clamp_ogl, addr_mode_1 = wrap, filter_mode = linear }", 1, plain.handle).said,
      Contains("addr_mode_0 = clamp_ogl; expected wrap"));
}

TEST_CASE("a sampler is bound as a texture is", "[quick]") {
  const RowOfFour plain, normalized(false, true);
  const std::string text =
      module_of(".global .texref tex; .global .samplerref s;", read_at("tex, s", 1.75F), "", kIndependent);
  const std::uint64_t linear = ptx::sampler({.linear = true}),
                      forced = ptx::sampler({.linear = true, .unnormalized = true});
  CHECK(done(text, {{"tex", plain.handle}, {"s", linear}}).number == 2.5F);
  CHECK(done(text, {{"tex", normalized.handle}, {"s", linear}}).number == 8);
  CHECK(done(text, {{"tex", normalized.handle}, {"s", forced}}).number == 2.5F);
  const std::string parameter =
      module_of(".global .texref tex;", read_at("tex, s", 1.75F), ", .param .samplerref s", kIndependent);
  CHECK(done(parameter, {{"tex", plain.handle}}, {ptx::value(linear)}).number == 2.5F);
  CHECK_THAT(done(parameter, {{"tex", plain.handle}}, {ptx::value(plain.handle)}).said,
             Contains("the .samplerref 's': ") &&
                 Contains("is no sampler but a texture; expected what ptx::sampler has returned"));
  const std::string filtered =
      module_of(".global .texref tex; .global .samplerref s = { filter_mode = nearest };", read_at("tex, s", 1),
                "", kIndependent);
  CHECK_THAT(
      done(filtered, {{"tex", plain.handle}, {"s", linear}}).said,
      Contains(
          "the .samplerref 's': sampler bound to it is linear; expected what its initial value says, filter_mode = nearest"));
  std::array<std::uint32_t, 4> integers = {};
  ptx::Texture of;
  of.texels = std::as_bytes(std::span(integers)), of.width = 4, of.format = ptx::TexelFormat::u32;
  const std::uint64_t whole = ptx::texture(of).value();
  CHECK_THAT(done(text, {{"tex", whole}, {"s", linear}}).said,
             Contains("the .texref 'tex': read by the sampler 's', linear: texels of u32; expected f16"));
  for (const std::uint64_t one : {linear, forced, whole}) CHECK(ptx::forget(one));
  CHECK_FALSE(ptx::forget(linear));
}

TEST_CASE("a launch without a binding, or with another one, says what would do", "[quick]") {
  const RowOfFour nearest, linear(true, true, ptx::Addressing::mirror);
  const std::string text =
      module_of(".global .texref tex; .global .surfref s; .global .u32 n;", read_at("tex", 1));
  CHECK_THAT(
      done(text, {}).said,
      Contains("the .texref 'tex': no texture is bound to it; expected one, by its name, before the launch: "
               "Module::bind, RawModule.bind, --bind tex=texture:SHAPE:ARRAY"));
  for (const char* const name : {"n", "k", "out", ""})
    CHECK(done(text, {{name, nearest.handle}}).said ==
          fmt::format("bind: '{}'; expected a .texref, .samplerref or .surfref of the module: tex, s", name));
  CHECK(done(module_of("", ""), {{"tex", nearest.handle}}).said ==
        "bind: 'tex'; expected another module: this one has no .texref, .samplerref or .surfref");
  CHECK_THAT(done(text, {{"tex", 7}}).said,
             Contains("the .texref 'tex': 0x7 is no texture; expected what ptx::texture"));
  CHECK_THAT(done(text, {{"s", nearest.handle}}).said,
             Contains("is no surface but a texture; expected what ptx::surface"));
  CHECK_THAT(done(module_of(".extern .global .texref tex;", read_at("tex", 1)), {}).said,
             Contains("'tex'; expected a variable that is defined in the module"));
  const auto done_with = [&](const std::string& members) {
    return done(module_of(fmt::format(".global .texref tex = {{ {} }};", members), read_at("tex", 1)),
                {{"tex", linear.handle}});
  };
  const auto bound = [&](const std::string& members) { return done_with(members).said; };
  const auto number_of = [&](const std::string& members) { return done_with(members).number; };
  CHECK(
      bound(
          "width = 99, filter_mode = linear, addr_mode_0 = mirror, addr_mode_2 = wrap, normalized_coords = 1") ==
      "-");
  CHECK_FALSE(done_with("").inferred);
  CHECK(done(module_of("", read_at("t", 1), ", .param .texref t"), {}, {ptx::value(linear.handle)}).inferred);
  // The driver looks at none of them.
  const float number = number_of("");
  for (const char* const members :
       {"filter_mode = nearest", "addr_mode_1 = clamp_to_edge", "normalized_coords = 0"}) {
    CHECK(bound(members) == "-");
    CHECK(number_of(members) == number);
  }
}

TEST_CASE("what the text of a reference may be", "[quick]") {
  const auto said = [](const std::string& variables, const std::string& body = "", const char* mode = "",
                       const std::string& parameters = "") {
    const auto module = ptx::Module::load(module_of(variables, body, parameters, mode));
    if (!module) return module.error().message();
    const std::vector<Error> refused = module->check();
    return refused.empty() ? std::string("-") : refused[0].message();
  };
  for (const char* const good :
       {".global .texref t;", ".weak .global .texref t;", ".extern .global .surfref t;",
        ".global .texref t = { width = 2 + 2 };", ".global .surfref t = { memory_layout = 1, array_size = 3 };",
        ".global .texref a = { depth = 1 }, b;", ".global .texref t = { };"})
    CHECK(said(good) == "-");
  CHECK(said(".global .samplerref t = { force_unnormalized_coords = 1, addr_mode_2 = clamp_ogl };", "",
             kIndependent) == "-");
  CHECK(said("", "", "", ", .param .texref t") == "-");

  const auto bad = [&](const std::string& variables, const std::string& words, const char* mode = "") {
    INFO(variables);
    CHECK_THAT(said(variables, "", mode), Contains(words));
  };
  bad(".const .texref t;", "expected another type: a .texref is in .global, or a parameter of a kernel");
  bad(".shared .surfref t;", "expected another type: a .surfref is in .global");
  bad(".global .samplerref t;",
      "only a module with .target ..., texmode_independent has samplers of their own");
  bad(".global .texref t[4];", "'t', a .texref of several; expected one for each name");
  bad(".global .v2 .texref t;", "'t', a .texref of several");
  bad(".common .global .texref t;", "'t', a .texref with .common; expected .visible, .weak or nothing");
  bad(".func f(.param .texref t) { ret; }",
      "'t', a .texref of a function; expected a variable of the module, or a parameter of a kernel");
  bad(".func f() { .global .texref t; ret; }", "'t', a .texref of a function");
  bad(".func f() { .reg .texref t; ret; }", "expected another type");
  bad(".global .texref t; .global .u64 p = t;", "'t'; expected a variable in .global or .const, or a function");
  bad(".global .texref t = { bogus = 1 };",
      "'bogus'; expected a member of a .texref: width, height, depth, channel_data_type");
  bad(".global .surfref t = { filter_mode = linear };",
      "'filter_mode'; expected a member of a .surfref: width");
  bad(".global .texref t = { filter_mode = wrap };", "'wrap'; expected nearest, linear");
  bad(".global .texref t = { addr_mode_0 = clamp };",
      "'clamp'; expected wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border");
  bad(".global .texref t = { normalized_coords = 2 };", "2; expected 0 to 1");
  bad(".global .texref t = { width = 1, width = 1 };", "'width' a second time; expected another member");
  bad("", "'texmode_other'; expected texmode_unified or texmode_independent", ", texmode_other");
  bad("", "'texmode_independent'; expected texmode_unified, as before",
      ", texmode_unified, texmode_independent");

  const std::string all = ".global .texref t; .global .surfref u; .global .u64 g;";
  const std::string samplers = all + " .global .samplerref s;";
  const auto statement = [&](const std::string& one) { return said(all, one); };
  const auto independent = [&](const std::string& one) { return said(samplers, one, kIndependent); };
  const std::string tex = "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, ";
  CHECK(statement(tex + "[t, {%f4, %f5}];") == "-");
  CHECK(statement("txq.width.b32 %r0, [t];") == "-");
  CHECK(independent("txq.width.b32 %r0, [t];") == "-");
  CHECK_THAT(statement(tex + "[u, {%f4, %f5}];"),
             Contains("expected [.texref or .u64 register with a handle, {2 coordinates}]"));
  CHECK_THAT(statement(tex + "[g, {%f4, %f5}];"), Contains("the address of 'g' in .global"));
  CHECK_THAT(statement("sust.b.2d.b32.trap [t, {%r0, %r1}], %r2;"),
             Contains("expected [.surfref or .u64 register with a handle"));
  CHECK(independent("sust.b.2d.b32.trap [u, {%r0, %r1}], %r2;") == "-");
  CHECK(independent(tex + "[t, s, {%f4, %f5}];") == "-");
  CHECK(independent("tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, s, {%f4, %f5}];") == "-");
  CHECK_THAT(independent(tex + "[t, {%f4, %f5}];"),
             Contains("expected [.texref or .u64 register with a handle, .samplerref, {2 coordinates}]"));
  CHECK_THAT(independent(tex + "[t, t, {%f4, %f5}];"), Contains("expected [.texref or .u64"));
  CHECK_THAT(independent(tex + "[s, s, {%f4, %f5}];"), Contains("expected [.texref or .u64"));
  CHECK_THAT(independent(tex + "[%t, s, {%f4, %f5}];"),
             Contains("register '%t' for a texture; expected the name of a variable"));
  CHECK_THAT(statement("txq.width.b32 %r0, [u];"), Contains("the address of 'u'"));
  CHECK_THAT(statement("suq.width.b32 %r0, [t];"), Contains("the address of 't'"));
  for (const char* const other : {"ld.global.u64 %t, [t];", "st.global.u64 [t], %t;", "mov.b64 %t, t;",
                                  "mov.u32 %r0, t;", "mov.u64 %t, t + 8;", "cvta.global.u64 %t, t;",
                                  "prefetch.global.L1 [t];", "istypep.texref %q0, t;", "add.u64 %t, t, 8;"}) {
    INFO(other);
    CHECK(statement(other) != "-");
  }
  CHECK_THAT(said("", "ld.param.u64 %t, [t];", "", ", .param .texref t"), Contains("'t'"));
}

}  // namespace references_test
