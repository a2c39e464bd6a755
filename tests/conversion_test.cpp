// SPDX-License-Identifier: Apache-2.0
// One element of cvt: against what the hardware returned, and against the oracle for every documented form.
#include "numeric/conversion.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "cvt_cases.hpp"
#include "kernel/conversion_table.hpp"
#include "profiles.hpp"
#include "tally.hpp"
#include "warpbit/capture.hpp"

namespace conversion_test {

using namespace warpbit;
using boundary::Codes;
using cvt_cases::Meaning;
using cvt_cases::sources;

// ---- hardware
// -------------------------------------------------------------------------------------------------

// Element `element`, from the low end, of a register with `elements` of them in `bits` bits.
std::uint64_t element_of(std::uint64_t value, int element, int elements, int bits) {
  const int width = bits / elements;
  return value >> (element * width) & boundary::ones(width);
}

// Scalars as PTX packs them: of two sources the first is the upper element, of a packed source the upper half.
void replay(const std::filesystem::path& path) {
  const auto reader = CaptureReader::open(path);
  REQUIRE(reader.ok());
  REQUIRE(reader->header().source == CaptureSource::hardware);
  const std::string& statement = reader->header().statement;
  const Meaning m = cvt_cases::meaning(statement.substr(0, statement.find(' ')));
  const auto array = [&](const char* member) {
    auto result = reader->read(member);
    REQUIRE(result.ok());
    return *std::move(result);
  };
  const bool two_sources = reader->find("b") != nullptr;
  REQUIRE(m.to_elements == (two_sources ? 2 : m.from_elements));
  const Array a = array("a"), b = array(two_sources ? "b" : "a"), d = array("d");
  const int a_bits = static_cast<int>(a.header.item_bytes) * 8,
            d_bits = static_cast<int>(d.header.item_bytes) * 8;
  Tally tally;
  for (std::uint64_t i = 0; i < d.header.items(); ++i)
    for (int e = 0; e < m.to_elements; ++e) {
      const std::uint64_t source =
          two_sources ? (e == 1 ? a : b).at(i) : element_of(a.at(i), e, m.from_elements, a_bits);
      const std::uint64_t expected = element_of(d.at(i), e, m.to_elements, d_bits);
      const std::uint64_t got = convert(m.ours, source, 0), oracles = oracle::convert(m.oracles, source, 0);
      tally.check(got == expected && oracles == expected, [&] {
        return fmt::format("{:x}: hardware {:x}, library {:x}, oracle {:x}", source, expected, got, oracles);
      });
    }
  tally.judge(path.filename().string());
}

TEST_CASE("every captured cvt is what the hardware returned") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("golden/sm_90a/cvt")) {
    replay(entry.path());
    ++files;
  }
  CHECK(files == 128);
}

// ---- the oracle
// -----------------------------------------------------------------------------------------------

void compare(const Meaning& m, std::uint64_t code, std::uint64_t random, Tally& tally) {
  const std::uint64_t got = convert(m.ours, code, random), expected = oracle::convert(m.oracles, code, random);
  tally.check(got == expected, [&] {
    return fmt::format("{} of {:x}, random bits {:x}: {:x}, oracle {:x}", describe(m.ours), code, random, got,
                       expected);
  });
}

// Forms that differ in the number of elements only are one conversion. (oracle words -> a form of them)
std::map<std::string, Meaning> conversions(const std::vector<std::string>& forms = cvt_cases::all()) {
  std::map<std::string, Meaning> out;
  for (const std::string& form : forms) {
    const Meaning m = cvt_cases::meaning(form);
    out.emplace(describe(m.ours), m);
  }
  return out;
}

TEST_CASE("every documented cvt equals the oracle") {
  CHECK(cvt_cases::of_ptxas().size() == 173);
  for (const auto& [text, m] : conversions(cvt_cases::of_ptxas())) {
    if (m.oracles.rounding == "rs") continue;
    Tally tally;
    for (const std::uint64_t code : sources(m.oracles.from, m.oracles.to)) compare(m, code, 0, tally);
    tally.judge(text);
  }
}

// Each source with some scale factors: about `most` of these pairs, and the boundaries.
void compare_scaled(const Meaning& m, std::size_t most, Tally& tally) {
  profiles::Stream stream(19, 0);
  std::vector<std::uint64_t> scales = {0};
  if (!m.oracles.scaled.empty()) scales = {127, 126, 128, 120, 0, 254, 255, stream.bits() & 0xFF};
  const Codes codes = sources(m.oracles.from, m.oracles.to);
  const std::size_t step = codes.size() * scales.size() / most + 1;
  for (std::size_t i = stream.bits() % step; i < codes.size(); i += step)
    for (const std::uint64_t scale : scales) compare(m, codes[i], scale, tally);
  for (const std::uint64_t code : boundary::codes(oracle::find_format(m.oracles.from)))
    for (const std::uint64_t scale : scales) compare(m, code, scale, tally);
}

TEST_CASE("a sample of every cvt of PTX 9.1 to 9.4 equals the oracle") {
  CHECK(cvt_cases::later().size() == 381);
  for (const auto& [text, m] : conversions(cvt_cases::later())) {
    if (m.oracles.rounding == "rs") continue;
    Tally tally;
    compare_scaled(m, 500, tally);
    tally.judge(text);
  }
}

// ---- all codes of f32

// Consecutive codes up to `last` with one result.
struct Run {
  std::uint32_t last;
  std::uint64_t result;
};

// Appends the runs of codes first to last, numbers of one sign, or all NaNs of one sign. Rounding is monotone: if the oracle gives
// both ends of a range one result, it gives all between the same.
void add_runs(const Meaning& m, std::uint64_t scale, std::uint32_t first, std::uint32_t last,
              std::vector<Run>& out) {
  const auto result = [&](std::uint32_t code) { return oracle::convert(m.oracles, code, scale); };
  for (std::uint64_t at = first; at <= last;) {
    const std::uint64_t here = result(static_cast<std::uint32_t>(at));
    std::uint64_t same = at, reach = 1;  // the run ends in [same, same + reach)
    while (same + reach <= last && result(static_cast<std::uint32_t>(same + reach)) == here) {
      same += reach;
      reach *= 2;
    }
    for (; reach > 0; reach /= 2)
      if (same + reach <= last && result(static_cast<std::uint32_t>(same + reach)) == here) same += reach;
    out.push_back({static_cast<std::uint32_t>(same), here});
    at = same + 1;
  }
}

// What the oracle gives for every f32.
std::vector<Run> runs_of(const Meaning& m, std::uint64_t scale) {
  std::vector<Run> out;
  for (const std::uint32_t sign : {0U, 0x80000000U}) {
    add_runs(m, scale, sign, sign | 0x7F800000, out);
    add_runs(m, scale, sign | 0x7F800001, sign | 0x7FFFFFFF, out);
  }
  return out;
}

// All 2^32 codes: the specification, and its table where there is one.
void compare_all(const Meaning& m, std::uint64_t scale, const std::string& text) {
  const std::vector<Run> runs = runs_of(m, scale);
  REQUIRE(runs.back().last == 0xFFFFFFFF);
  std::optional<ConversionTable> table;
  if (ConversionTable::has(m.ours)) table.emplace(m.ours);
  std::uint64_t compared = 0, different = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : compared, different)
  for (std::uint32_t part = 0; part < 256; ++part) {
    const std::uint64_t begin = std::uint64_t{part} << 24, end = begin + (std::uint64_t{1} << 24);
    auto run = std::ranges::lower_bound(runs, begin, {}, &Run::last);
    for (std::uint64_t code = begin; code < end; ++code, ++compared) {
      if (code > run->last) ++run;
      different += convert(m.ours, code, scale) != run->result ||
                   (table && (*table)(static_cast<std::uint32_t>(code)) != run->result);
    }
  }
  INFO(text);
  CHECK(compared == std::uint64_t{1} << 32);
  CHECK(different == 0);
  fmt::print("{}: {} codes, {} runs, {} differ\n", text, compared, runs.size(), different);
}

// Sources of up to 16 bits have all codes, with all scale factors; f32 has all codes, with the scale factor 1, and those where
// results change with all others. Three hours on one core.
TEST_CASE("every cvt of PTX 9.1 to 9.4 equals the oracle", "[.exhaustive]") {
  for (const auto& [text, m] : conversions(cvt_cases::later())) {
    if (m.oracles.rounding == "rs") continue;
    Tally tally;
    for (std::uint64_t scale = 0; scale <= (m.oracles.scaled.empty() ? 0 : 255); ++scale)
      for (const std::uint64_t code : sources(m.oracles.from, m.oracles.to)) compare(m, code, scale, tally);
    tally.judge(text);
    if (m.oracles.from == "f32") compare_all(m, 127, text);
  }
}

TEST_CASE("cvt.rs equals the oracle: few random bits for all sources, all for a few", "[once]") {
  for (const auto& [text, m] : conversions()) {
    if (m.oracles.rounding != "rs") continue;
    const std::uint64_t most = m.oracles.to == "f16" ? 0x1FFF : 0xFFFF;
    const Codes codes = sources("f32", m.oracles.to);
    Tally tally;
    profiles::Stream stream(18, 0);
    for (const std::uint64_t code : codes)
      for (const std::uint64_t random : {std::uint64_t{0}, most / 2, most / 2 + 1, most, stream.bits() & most})
        compare(m, code, random, tally);
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t code = stream.pick(codes);
      for (std::uint64_t random = 0; random <= most; ++random) compare(m, code, random, tally);
    }
    tally.judge(text);
  }
}

TEST_CASE("bits above the source's width are ignored") {
  Tally tally;
  for (const auto& [text, m] : conversions()) {
    const int width = oracle::find_format(m.oracles.from).width();
    if (width == 64) continue;
    for (const std::uint64_t code : boundary::codes(oracle::find_format(m.oracles.from)))
      tally.check(convert(m.ours, code, 0) == convert(m.ours, code | ~boundary::ones(width), 0),
                  [&] { return fmt::format("{} of {:x} with bits above", describe(m.ours), code); });
  }
  tally.judge("bits above");
}

// Whether elements are looked up: each result by its code, or by the bits of an f32 that count.
bool should_have_table(const Conversion& c) {
  const warpbit::Format &from = format(c.from), &to = format(c.to);
  const bool is_floating = !from.is_integer && !to.is_integer && from.bits <= 32 && to.bits <= 32;
  return is_floating && c.rounding != CvtRounding::rs && c.scaling == Scaling::none;
}

TEST_CASE("a table of a conversion has what the specification gives", "[once]") {
  for (const auto& [text, m] : conversions()) {
    INFO(text);
    CHECK(ConversionTable::has(m.ours) == should_have_table(m.ours));
  }
  std::size_t tables = 0;
  for (const auto& [text, m] : conversions(cvt_cases::of_ptxas())) {
    if (!ConversionTable::has(m.ours)) continue;
    ++tables;
    const ConversionTable table(m.ours);
    CHECK(table.size() <= std::size_t{1} << 21);
    Tally tally;
    const auto check = [&](std::uint64_t code) {
      tally.check(table(static_cast<std::uint32_t>(code)) == convert(m.ours, code, 0),
                  [&] { return fmt::format("{} of {:x}", text, code); });
    };
    for (const std::uint64_t code : sources(m.oracles.from, m.oracles.to)) check(code);
    profiles::Stream stream(19, tables);
    for (int i = 0; i < 10'000; ++i) check(stream.bits() >> 32);
    tally.judge(text);
  }
  CHECK(tables > 100);
}

TEST_CASE("a table is made when as many elements are converted as it has codes") {
  const Conversion conversion{FormatId::e5m2, FormatId::f16, CvtRounding::rz};  // of no form
  CHECK(find_table(conversion, 255) == nullptr);
  const ConversionTable* const table = find_table(conversion, 1);
  REQUIRE(table != nullptr);
  CHECK(table->size() == 256);
  CHECK((*table)(0xBC) == 0xBC00);
  CHECK(find_table(conversion, 0) == table);
  CHECK(find_table({FormatId::f32, FormatId::bf16, CvtRounding::rs}, std::size_t{1} << 40) == nullptr);
}

// ---- rbits
// ----------------------------------------------------------------------------------------------------

// The bits of rbits from the highest of a share down to the lowest: runs of first and last bit.
using Runs = std::vector<std::pair<int, int>>;

std::uint64_t taken(const Runs& runs, std::uint32_t rbits) {
  std::uint64_t out = 0;
  for (const auto& [first, last] : runs)
    for (int bit = first;; bit += first < last ? 1 : -1) {
      out = out << 1 | (rbits >> bit & 1);
      if (bit == last) break;
    }
  return out;
}

// The manual's figures name the bits; for bf16x2, e4m3x4, e5m2x4 and e2m1x4 vkuzo/quant_cast_bench
// (experiments/nvidia_rs_bit_probe) found their order on sm_100. a of {a, b, e, f} is the last element.
TEST_CASE("each element of cvt.rs takes its bits of rbits") {
  const std::vector<Runs> fp8{{{15, 0}}, {{0, 15}}, {{31, 16}}, {{16, 31}}};
  const std::map<FormatId, std::vector<Runs>> expected{
      {FormatId::f16, {{{12, 0}}, {{28, 16}}}},
      {FormatId::bf16, {{{15, 0}}, {{31, 16}}}},
      {FormatId::e4m3, fp8},
      {FormatId::e5m2, fp8},
      {FormatId::e3m2, fp8},
      {FormatId::e2m3, fp8},
      {FormatId::e2m1, {{{23, 16}, {7, 0}}, {{0, 7}, {16, 23}}, {{31, 24}, {15, 8}}, {{8, 15}, {24, 31}}}},
  };
  profiles::Stream stream(19, 0);
  std::vector<std::uint32_t> words{0, 0xFFFFFFFF};
  for (int bit = 0; bit < 32; ++bit) words.push_back(std::uint32_t{1} << bit);
  for (int i = 0; i < 100; ++i) words.push_back(static_cast<std::uint32_t>(stream.bits()));
  for (const auto& [to, elements] : expected)
    for (std::size_t element = 0; element < elements.size(); ++element)
      for (const std::uint32_t rbits : words) {
        INFO(format(to).name << " element " << element << fmt::format(" of {:08x}", rbits));
        CHECK(random_bits(to, static_cast<int>(element), rbits) == taken(elements[element], rbits));
      }
}

// ---- a few by hand
// --------------------------------------------------------------------------------------------

struct Case {
  const char* form;
  std::uint64_t source, random, expected;
};

// What no capture shows, each from the sentence of the manual (PTX ISA 9.0, cvt) or the machine code named.
TEST_CASE("what the manual and the machine code say") {
  for (const Case& c : {
           // .sat: NaN results become positive zero, the rest is clamped to [0.0, 1.0]
           Case{"cvt.sat.f16.f16", 0x7C01, 0, 0},
           {"cvt.sat.f16.f16", 0xFC00, 0, 0},
           {"cvt.sat.f16.f16", 0x7C00, 0, 0x3C00},
           {"cvt.sat.f16.f16", 0x8000, 0, 0},
           {"cvt.sat.f64.f16", 0x4000, 0, 0x3FF0000000000000},
           {"cvt.rp.sat.f16.f32", 0x80000001, 0, 0},
           {"cvt.rp.sat.f16.f32", 0x3F7FFFFF, 0, 0x3C00},
           {"cvt.rni.sat.f16.f16", 0x3800, 0, 0},
           // .satfinite to a format without NaN: positive MAX_NORM
           {"cvt.rn.satfinite.e2m1x2.f32", 0xFFC00000, 0, 0x7},
           {"cvt.rn.relu.satfinite.e3m2x2.f32", 0xFFFFFFFF, 0, 0x1F},
           {"cvt.rn.satfinite.e2m3x2.f32", 0xFF800000, 0, 0x3F},
           // .ue8m0x2: of the absolute value, positive MAX_NORM
           {"cvt.rp.satfinite.ue8m0x2.f32", 0xFF800000, 0, 0xFE},
           {"cvt.rp.ue8m0x2.f32", 0xFF000001, 0, 0xFF},
           {"cvt.rz.ue8m0x2.f32", 0xFF7FFFFF, 0, 0xFE},
           {"cvt.rp.ue8m0x2.bf16x2", 0xC040, 0, 0x81},
           {"cvt.rn.bf16x2.ue8m0x2", 0, 0, 0x0040},
           // .f32.bf16 is a shift without .ftz, F2F with it
           {"cvt.f32.bf16", 0xFF81, 0, 0xFF810000},
           {"cvt.ftz.f32.bf16", 0xFF81, 0, 0x7FFFFFFF},
           {"cvt.ftz.f32.bf16", 0x807F, 0, 0x80000000},
           {"cvt.rp.ftz.bf16.f32", 0x00000001, 0, 0},
           // .ftz to f16 is assembled as without it
           {"cvt.rp.ftz.f16.f32", 0x00000001, 0, 0x0001},
           {"cvt.rm.ftz.f16.f32", 0x80000001, 0, 0x8001},
           // .rni, .rzi: an integral value in the same format
           {"cvt.rni.bf16.bf16", 0xBF00, 0, 0x8000},
           {"cvt.rni.bf16.bf16", 0x7F7F, 0, 0x7F7F},
           {"cvt.rni.f16.f16", 0x3E00, 0, 0x4000},
           {"cvt.rzi.f16.f16", 0xBFFF, 0, 0xBC00},
           {"cvt.rmi.f16.f16", 0x3BFF, 0, 0x0000},
           {"cvt.rmi.bf16.bf16", 0xBE80, 0, 0xBF80},
           {"cvt.rpi.f16.f16", 0x0001, 0, 0x3C00},
           {"cvt.rpi.bf16.bf16", 0xBE80, 0, 0x8000},
           // .rs: away from zero on a carry out of the discarded bits
           {"cvt.rs.bf16x2.f32", 0x3F800001, 0xFFFE, 0x3F80},
           {"cvt.rs.bf16x2.f32", 0x3F800001, 0xFFFF, 0x3F81},
           {"cvt.rs.bf16x2.f32", 0x7F7FFFFF, 1, 0x7F80},
           {"cvt.rs.satfinite.bf16x2.f32", 0xFF7FFFFF, 1, 0xFF7F},
           {"cvt.rs.satfinite.e4m3x4.f32", 0x3F80000F, 0xFFFF, 0x38},
           {"cvt.rs.satfinite.e4m3x4.f32", 0x3F800010, 0xFFFF, 0x39},
           {"cvt.rs.satfinite.e2m1x4.f32", 0xBE800000, 0x8000, 0x9},
           {"cvt.rs.satfinite.e2m1x4.f32", 0xBE800000, 0x7FFF, 0x8},
       }) {
    const Meaning m = cvt_cases::meaning(c.form);
    INFO(c.form << fmt::format(" of {:x}, random bits {:x}", c.source, c.random));
    CHECK(convert(m.ours, c.source, c.random) == c.expected);
    CHECK(oracle::convert(m.oracles, c.source, c.random) == c.expected);
  }
}

TEST_CASE("a conversion is described in one line") {
  CHECK(describe({FormatId::f32, FormatId::e4m3, CvtRounding::rn, false, false, true, true}) ==
        "f32 -> e4m3 rn, satfinite, relu");
  CHECK(describe({FormatId::f16, FormatId::f32, CvtRounding::none, true, true}) == "f16 -> f32, ftz, sat");
  CHECK(describe({FormatId::bf16, FormatId::bf16, CvtRounding::rzi}) == "bf16 -> bf16 rzi");
}

}  // namespace conversion_test
