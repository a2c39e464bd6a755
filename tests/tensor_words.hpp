// SPDX-License-Identifier: Apache-2.0
// Elements of tcgen05.mma by plans alone, and those of a B200 that others published (tests/published/tcgen05_b200.tsv).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "numeric/node.hpp"
#include "scale_profiles.hpp"
#include "target/target.hpp"

namespace tensor_words {

using namespace warpbit;
using Codes = std::vector<std::uint64_t>;
using Inputs = profiles::ScaledCase;

// ---- A kind with its types

struct Kind {
  std::string kind, d, a, b;
  bool saturates = false, sparse = false;
  std::string scale = "";  // "" without
  int scales = 0;          // of a row or column

  bool is_grouped() const { return kind.starts_with("mxf4"); }
  std::string title() const {
    return fmt::format("{}{}{}: {} = {} x {}{}", kind, sparse ? ", sparse" : "",
                       saturates ? ", saturating" : "", d, a, b,
                       scales > 0 ? fmt::format(", {} of {}", scales, scale) : "");
  }
  // Products that exist.
  int terms() const { return kind == "tf32" ? 8 : kind == "f16" ? 16 : is_grouped() ? 64 : 32; }
  Arithmetic arithmetic() const {
    const auto id = [](const std::string& name) { return find_format(name)->id; };
    const Unit unit = scale.empty() ? (sparse ? Unit::tcgen05_sp : Unit::tcgen05)
                                    : (sparse ? Unit::tcgen05_sp_block_scale : Unit::tcgen05_block_scale);
    const Modifier modifier = saturates          ? Modifier::satfinite
                              : !is_grouped()    ? Modifier::none
                              : scale == "ue4m3" ? Modifier::packed_nvf4
                                                 : Modifier::packed_fp4;
    return {unit, id(d), id(a), id(b), id(d), modifier};
  }
  TargetPlan plan_on(std::string_view target) const {
    const std::optional<TargetPlan> out = find_plan(Target::find(target).value().row(), arithmetic());
    INFO(title() << " on " << target);
    REQUIRE(out.has_value());
    return *out;
  }
  const Plan& plan() const { return plan_on("sm_100a").row->plan; }
};

inline std::vector<Decoded> decoded(const Format& f, const Codes& codes) {
  std::vector<Decoded> out;
  for (const std::uint64_t code : codes) out.push_back(decode(f, code));
  return out;
}

inline std::uint64_t run(const Kind& x, const Plan& plan, const Inputs& in, int c_scale = 0,
                         Trace* trace = nullptr) {
  const Format &a = *find_format(x.a), &b = *find_format(x.b);
  const Format* scale = x.scale.empty() ? nullptr : find_format(x.scale);
  const auto values_a = decoded(a, in.a), values_b = decoded(b, in.b);
  std::vector<Decoded> scales_a, scales_b;
  if (scale != nullptr) {
    scales_a = decoded(*scale, in.scale_a);
    scales_b = decoded(*scale, in.scale_b);
  }
  return evaluate(plan, {values_a, &a, scales_a, scale}, {values_b, &b, scales_b, scale}, *find_format(x.d),
                  in.c, trace, c_scale);
}

inline std::string text(const Inputs& in) {
  return fmt::format("a {:x}\nb {:x}\nscales of a {:x}\nscales of b {:x}\nc {:x}", fmt::join(in.a, " "),
                     fmt::join(in.b, " "), fmt::join(in.scale_a, " "), fmt::join(in.scale_b, " "), in.c);
}

// ---- Published results

struct Published {
  std::string name;
  Kind kind;
  Inputs in;
  std::uint64_t word = 0;
};

inline Codes codes_of(const std::string& words) {
  Codes out;
  std::istringstream in(words);
  for (std::string word; in >> word && word != "-";) out.push_back(std::stoull(word, nullptr, 16));
  return out;
}

inline std::vector<Published> published() {
  std::ifstream file("tests/published/tcgen05_b200.tsv");
  REQUIRE(file.is_open());
  std::vector<Published> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("name\t")) continue;
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
    INFO(line);
    REQUIRE(cells.size() == 14);
    Published x{cells[0], {cells[1], cells[3], cells[4], cells[5]}, {}, 0};
    x.kind.sparse = cells[2] == "yes";
    x.kind.saturates = cells[6] == "yes";
    if (cells[7] != "-") x.kind.scale = cells[7];
    x.in.a = codes_of(cells[8]);
    x.in.b = codes_of(cells[9]);
    x.in.c = codes_of(cells[10]).at(0);
    x.in.scale_a = codes_of(cells[11]);
    x.in.scale_b = codes_of(cells[12]);
    x.kind.scales = static_cast<int>(x.in.scale_a.size());
    x.word = codes_of(cells[13]).at(0);
    CHECK(x.in.a.size() == static_cast<std::size_t>(x.kind.terms()));
    out.push_back(std::move(x));
  }
  return out;
}

}  // namespace tensor_words
