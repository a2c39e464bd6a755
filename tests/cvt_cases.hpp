// SPDX-License-Identifier: Apache-2.0
// The documented forms of cvt between floating-point formats (PTX ISA 9.0, cvt, as ptxas 13.0 takes them; PTX ISA 9.4), and
// what their words mean for one element: a conversion of the library and one of the oracle. Also the sources
// that are worth converting.
#pragma once

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "boundary.hpp"
#include "form_words.hpp"
#include "numeric/conversion.hpp"
#include "oracle/conversion.hpp"
#include "profiles.hpp"

namespace cvt_cases {

inline std::vector<std::string> of_patterns(const std::vector<const char*>& patterns) {
  std::vector<std::string> out;
  for (const char* pattern : patterns)
    for (const std::string& form : form_words::expanded(pattern)) out.push_back(form);
  return out;
}

/// Those of PTX 9.0, as ptxas 13.0 takes them: 173.
inline std::vector<std::string> of_ptxas() {
  return of_patterns({
      "cvt.bf16.bf16",
      "cvt.{rni,rzi,rmi,rpi}.bf16.bf16",
      "cvt{,.rni,.rzi,.rmi,.rpi}{,.sat}.f16.f16",
      "cvt{,.rn,.rz,.rm,.rp}{.bf16.f16,.f16.bf16,.f64.bf16}",
      "cvt{,.rn,.rz,.rm,.rp}{,.ftz}.f32.bf16",
      "cvt{,.ftz}{,.sat}.f32.f16",
      "cvt{,.sat}.f64.f16",
      "cvt.{rn,rz,rm,rp}{,.ftz}.bf16.f32",
      "cvt.{rn,rz}{.relu,.satfinite,.relu.satfinite}.bf16.f32",
      "cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f16.f32",
      "cvt.{rn,rz}{.relu,.satfinite,.relu.satfinite}.f16.f32",
      "cvt.{rn,rz,rm,rp}.bf16.f64",
      "cvt.{rn,rz,rm,rp}{,.sat}.f16.f64",
      "cvt.{rn,rz,rs}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32",
      "cvt.rna{,.satfinite}.tf32.f32",
      "cvt.{rn,rz}{,.relu}{,.satfinite}.tf32.f32",
      "cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}",
      "cvt.rn{,.relu}.satfinite.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f32",
      "cvt.rn{,.relu}.satfinite.{e4m3x2,e5m2x2,e2m1x2}.f16x2",
      "cvt.rs{,.relu}.satfinite.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.f32",
      "cvt.{rz,rp}{,.satfinite}.ue8m0x2.{f32,bf16x2}",
      "cvt.rn.bf16x2.ue8m0x2",
  });
}

/// Those of PTX 9.1 to 9.4, by the manual.
inline std::vector<std::string> later() {
  return of_patterns({
      "cvt.rn{,.relu}.satfinite.{e2m3x2,e3m2x2}.f16x2",
      "cvt.rn{,.relu}.satfinite.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.bf16x2",
      "cvt.rn{,.relu}{,.satfinite}{,.scaled::n2::ue8m0}.bf16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2,s2f6x2}",
      "cvt.{rn,rz}{,.relu}.satfinite{,.scaled::n2::ue8m0}.s2f6x2.{f32,bf16x2}",
      "cvt.{rn,rz}{,.relu}{,.satfinite}.pzo.{f16,bf16,tf32}.f32",
      "cvt.{rn,rz,rs}{,.relu}{,.satfinite}.pzo.{f16x2,bf16x2}.f32",
      "cvt.rs{,.relu}.satfinite.pzo.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.f32",
      "cvt.{rn,rz}{,.relu}.satfinite{.pzo,.scaled::n1::ue8m0,.pzo.scaled::n1::ue8m0}"
      ".{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.{f32,f16x2,bf16x2}",
      "cvt.rz{,.relu}.satfinite.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.{f32,f16x2,bf16x2}",
      "cvt.{rn,rz,rp}{,.satfinite}.ue5m3x2.{f32,f16x2,bf16x2}",
      "cvt.{rn,rz}{,.satfinite}.scaled::n1::ue8m0.ue5m3x2.{f32,f16x2,bf16x2}",
      "cvt.rn.f16x2.ue5m3x2",
      "cvt.rn{,.satfinite}{,.scaled::n2::ue8m0}.bf16x2.ue5m3x2",
  });
}

inline std::vector<std::string> all() {
  std::vector<std::string> out = of_ptxas();
  for (std::string& form : later()) out.push_back(std::move(form));
  return out;
}

struct Meaning {
  oracle::Conversion oracles;
  warpbit::Conversion ours;
  int to_elements = 1, from_elements = 1;  ///< 2 of f16x2; a destination of 2 or 4 has as many sources of 1
};

// "e4m3x2" -> "e4m3", 2.
inline std::pair<std::string, int> without_count(const std::string& type) {
  const std::size_t x = type.rfind('x');
  if (x == type.npos) return {type, 1};
  return {type.substr(0, x), std::stoi(type.substr(x + 1))};
}

inline warpbit::CvtRounding rounding(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(warpbit::CvtRounding::rpi); ++i)
    if (name(static_cast<warpbit::CvtRounding>(i)) == word) return static_cast<warpbit::CvtRounding>(i);
  FAIL("no rounding " + word);
  return warpbit::CvtRounding::none;
}

inline Meaning meaning(const std::string& form) {
  std::vector<std::string> words;
  std::istringstream in(form);
  for (std::string word; std::getline(in, word, '.');) words.push_back(word);
  REQUIRE(words.size() >= 3);
  Meaning m;
  std::tie(m.oracles.from, m.from_elements) = without_count(words.back());
  words.pop_back();
  std::tie(m.oracles.to, m.to_elements) = without_count(words.back());
  words.pop_back();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "ftz")
      m.oracles.ftz = true;
    else if (words[i] == "sat")
      m.oracles.sat = true;
    else if (words[i] == "satfinite")
      m.oracles.satfinite = true;
    else if (words[i] == "relu")
      m.oracles.relu = true;
    else if (words[i] == "pzo")
      m.oracles.pzo = true;
    else if (words[i].starts_with("scaled::"))
      m.oracles.scaled = words[i].substr(8, 2);
    else
      m.oracles.rounding = words[i];
  }
  const warpbit::Format *from = warpbit::find_format(m.oracles.from), *to = warpbit::find_format(m.oracles.to);
  REQUIRE((from && to));
  m.ours = {from->id,
            to->id,
            rounding(m.oracles.rounding),
            m.oracles.ftz,
            m.oracles.sat,
            m.oracles.satfinite,
            m.oracles.relu,
            m.oracles.pzo,
            m.oracles.scaled == "n1"   ? warpbit::Scaling::n1
            : m.oracles.scaled == "n2" ? warpbit::Scaling::n2
                                       : warpbit::Scaling::none};
  return m;
}

// All codes up to 16 bits; of f32 and f64 every number of `to` up to 8 bits and those at its boundaries beyond,
// what lies a quarter, a half and three quarters on the way to the next one, and the neighbours of all these.
inline boundary::Codes around_numbers(const oracle::Format& from, const oracle::Format& to) {
  boundary::Codes out = boundary::codes(from), numbers = boundary::codes(to);
  if (to.width() <= 8)
    for (std::uint64_t code = 0; code < std::uint64_t{1} << to.width(); ++code) numbers.push_back(code);
  for (const std::uint64_t number : numbers) {
    const oracle::Value v = oracle::decode(to, number);
    if (v.kind != oracle::Value::zero && v.kind != oracle::Value::finite) continue;
    for (int quarter = 0; quarter < 4; ++quarter) {
      const std::uint64_t code = oracle::encode(from, false, v.magnitude * 4 + quarter, v.exponent - 2,
                                                oracle::Round::nearest_even, false);
      for (const std::uint64_t near : {code - 1, code, code + 1})
        for (const std::uint64_t sign : {std::uint64_t{0}, from.sign_bit()})
          out.push_back((near & boundary::ones(from.width())) ^ sign);
    }
  }
  return out;
}

// Any bits, and numbers over the range of `to` and a little beyond.
inline void add_random(const oracle::Format& from, const oracle::Format& to, boundary::Codes& out) {
  profiles::Stream stream(17, 0);
  const profiles::Alphabet numbers(from), target(to);
  for (int i = 0; i < 2000; ++i) {
    out.push_back(stream.bits() & boundary::ones(from.width()));
    const int exponent = stream.range(target.least - 4, target.most + 3);
    out.push_back(numbers.number(stream.coin(), exponent, stream.bits()));
  }
}

inline boundary::Codes sources(const std::string& from_name, const std::string& to_name) {
  const oracle::Format &from = oracle::find_format(from_name), &to = oracle::find_format(to_name);
  boundary::Codes out;
  if (from.width() <= 16) {
    for (std::uint64_t code = 0; code <= boundary::ones(from.width()); ++code) out.push_back(code);
    return out;
  }
  out = around_numbers(from, to);
  add_random(from, to, out);
  return boundary::sorted(out);
}

}  // namespace cvt_cases
