// SPDX-License-Identifier: Apache-2.0
// Mistakes made in simulated kernels, and what diagnose calls them.
#include "warpbit/diagnose.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "kernel_simulation.hpp"

namespace diagnose_test {

using namespace simulated;
using simulated::Kernel;
using simulated::Registers;

// ---- What a right answer is

struct Answer {
  std::string kinds, operand;  // kinds separated by blanks
};
// `exact` names the mistake; what is in `same` cannot be told from it by any inputs.
struct Label {
  std::string line;
  std::vector<Answer> exact, same = {};
};
const std::vector<Label>& labels() {
  static const std::vector<Label> all = {
      {"g", {{"lane_order index_constant", "a b c d"}}},
      {"t", {{"lane_order index_constant", "a b c d"}}},
      {"d_g", {{"lane_order index_constant", "d"}}},
      {"d_t", {{"lane_order index_constant", "d"}}},
      {"d_w", {{"lane_order index_constant", "d"}}},
      {"a_from", {{"factors_exchanged", "a b"}}},
      {"a_registers_bound", {{"not_loaded", "a"}}},
      {"a_elements_bound",
       {{"not_loaded", "a"}},
       {{"not_loaded", "b"}, {"depth_missing", "a b"}}},  // 0 times x
      {"a_row", {{"register_order index_constant lane_order offset", "a"}}},
      {"a_col",
       {{"register_order element_order index_constant lane_order depth_repeated offset", "a"}},
       {{"register_order element_order index_constant lane_order", "b"}}},
      {"a_at", {{"transposed leading_dimension", "a"}}},
      {"a_tile", {{"other_tile", "a"}}},
      {"a_negative", {{"sign", "a"}}, {{"sign", "b"}}},
      {"a_power", {{"scaled", "a b"}}},
      {"b_power", {{"scaled", "a b"}}},
      {"c_power", {{"scaled accumulator_twice", "c"}}},
      {"d_power", {{"scaled", "d"}}},
      {"b_registers_bound", {{"not_loaded", "b"}}, {{"not_loaded", "a"}, {"depth_missing", "a b"}}},
      {"b_elements_bound", {{"not_loaded", "b"}}, {{"not_loaded", "a"}, {"depth_missing", "a b"}}},
      {"b_k",
       {{"register_order element_order index_constant lane_order depth_repeated offset", "b"}},
       {{"register_order element_order index_constant lane_order", "a"}}},
      {"b_n", {{"offset lane_order index_constant", "b"}}},
      {"b_at", {{"transposed leading_dimension", "b"}}},
      {"b_tile", {{"other_tile", "b"}}},
      {"b_negative", {{"sign", "b"}}, {{"sign", "a"}}},
      {"c_times", {{"accumulator_missing accumulator_twice", "c"}}},
      {"c_registers_bound", {{"not_loaded", "c"}}},
      {"c_row", {{"register_order index_constant lane_order offset", "c"}}},
      {"c_col", {{"register_order index_constant lane_order offset", "c"}}},
      {"c_at", {{"transposed leading_dimension", "c"}}},
      {"c_tile", {{"other_tile", "c"}}},
      {"d_registers_bound", {{"not_stored", "d"}}},
      {"d_row",
       {{"register_order index_constant lane_order offset", "d"}},
       {{"not_stored", "d"}}},  // beyond the tile
      {"d_col", {{"register_order index_constant lane_order offset", "d"}}, {{"not_stored", "d"}}},
      {"d_at", {{"transposed leading_dimension", "d"}}},
      {"e_low", {{"metadata_order metadata_lane", "e"}}},
      {"e_high", {{"metadata_order metadata_lane", "e"}}},
      {"e_selector", {{"selector", "e"}}},
      {"s_of_a_from", {{"scales_exchanged", "scale_a scale_b"}}},
      {"sfa_at", {{"scale_order scale_lane scale_selector", "scale_a"}}},
      {"sfb_at", {{"scale_order scale_lane scale_selector", "scale_b"}}},
      {"sfa_byte", {{"scale_selector", "scale_a"}}, {{"scale_order", "scale_a"}}},
      {"sfa_thread", {{"scale_selector", "scale_a"}}, {{"scale_lane", "scale_a"}}},
      {"sfb_byte", {{"scale_selector", "scale_b"}}, {{"scale_order", "scale_b"}}},
      {"sfb_thread", {{"scale_selector", "scale_b"}}, {{"scale_lane", "scale_b"}}},
      {"da_start", {{"start_address", "a"}}},
      {"da_lbo", {{"leading_offset offset_units", "a"}}},
      {"da_sbo", {{"stride_offset offset_units", "a"}}},
      {"da",
       {{"offsets_exchanged offset_units start_address leading_offset stride_offset swizzle base_offset",
         "a"}}},
      {"db_start", {{"start_address", "b"}}},
      {"db_lbo", {{"leading_offset offset_units", "b"}}},
      {"db_sbo", {{"stride_offset offset_units", "b"}}},
      {"db",
       {{"offsets_exchanged offset_units start_address leading_offset stride_offset swizzle base_offset",
         "b"}}},
  };
  return all;
}

bool is_among(const Finding& finding, const std::vector<Answer>& answers) {
  return std::ranges::any_of(answers, [&](const Answer& answer) {
    return (" " + answer.kinds + " ").find(" " + finding.kind + " ") != std::string::npos &&
           finding.operand == answer.operand;
  });
}

struct Tally {
  int tried = 0, first = 0, listed = 0, certain = 0, wrongly_certain = 0;
};

// One mutated kernel; false if the mutation changes nothing.
bool judge(const Kernel& kernel, const kernel_text::Mutation& mutation, const Data& data, const Run& right,
           const archive::fs::path& folder, Tally& tally) {
  const Run wrong = Simulation(kernel, data, mutation.text).run();
  if (wrong.d.empty() || wrong.d == right.d) return false;
  const archive::fs::path path = folder / "wrong.npz";
  write(path, kernel, data, right, fragment_of(kernel, wrong.d));
  const Result<Diagnosis> d = diagnose(path);
  INFO(kernel.name << ": " << kernel_text::spell(mutation.text[mutation.line]));
  INFO((d ? d->text() : d.error().message()));
  REQUIRE(d.ok());
  const auto label = std::ranges::find(labels(), mutation.line_name, &Label::line);
  REQUIRE(label != labels().end());
  const auto is_right = [&](const Finding& f) { return is_among(f, label->exact) || is_among(f, label->same); };
  ++tally.tried;
  const bool found = !d->findings.empty() && is_right(d->findings[0]);
  tally.first += found;
  const bool listed = std::ranges::any_of(
      d->findings, [&](const Finding& f) { return is_right(f) && (found || f.explains_all()); });
  tally.listed += listed;
  const bool certain = !d->findings.empty() && d->findings[0].certain;
  tally.certain += certain;
  const bool wrongly = certain && !is_among(d->findings[0], label->exact);
  tally.wrongly_certain += wrongly;
  CHECK_FALSE(wrongly);
  if (!found)
    fmt::print(
        "{}: '{}' ({}){}: {}\n", kernel.name, kernel_text::spell(mutation.text[mutation.line]), mutation.what,
        listed ? " listed" : "",
        d->text() +
            (d->findings.empty() ? "" : " [" + d->findings[0].kind + " " + d->findings[0].operand + "]"));
  return true;
}

TEST_CASE("mistakes in simulated kernels are named", "[diagnose][mistakes]") {
  const archive::Directory directory;
  Tally all;
  Random random(1);
  for (const Kernel& kernel : simulated::kernels()) {
    const Text text = text_of(kernel);
    std::vector<kernel_text::Mutation> mutations = kernel_text::mutations(text);
    std::shuffle(mutations.begin(), mutations.end(), random);
    Tally tally;
    const int count = kernel.name == "wgmma" ? 8 : 24;  // whose D has 32 times as many elements
    for (std::size_t i = 0; i < mutations.size() && tally.tried < count; ++i) {
      const Data data = data_of(kernel, i % 3 == 2 ? 8 : 0, random);
      const Run right = Simulation(kernel, data, text).run();
      REQUIRE(right.d.size() > 0);
      judge(kernel, mutations[i], data, right, directory.path, tally);
    }
    fmt::print("{}: {} mutations, {} tried, {} named first, {} listed, {} certain\n", kernel.name,
               mutations.size(), tally.tried, tally.first, tally.listed, tally.certain);
    all.tried += tally.tried;
    all.first += tally.first;
    all.listed += tally.listed;
    all.certain += tally.certain;
    all.wrongly_certain += tally.wrongly_certain;
  }
  fmt::print("diagnose: {} wrong results, {} named, {} more among equals, {} certain, {} wrongly\n", all.tried,
             all.first, all.listed - all.first, all.certain, all.wrongly_certain);
  CHECK(all.tried >= 200);
  CHECK(all.first * 200 >= all.tried * 180);
  CHECK(all.wrongly_certain == 0);
}

// A kernel whose text has this instead of a line of the right one's.
Result<Diagnosis> diagnosed(const std::string& kernel_name, const std::string& wrong, bool with_c) {
  const archive::Directory directory;
  const auto kernel = std::ranges::find(simulated::kernels(), kernel_name, &Kernel::name);
  Random random(3);
  Data data = data_of(*kernel, 0, random);
  if (!with_c) std::ranges::fill(data.global_c, 0);
  Text text = text_of(*kernel);
  const kernel_text::Line changed = kernel_text::parse(wrong).at(0);
  *std::ranges::find(text, changed.name, &kernel_text::Line::name) = changed;
  const Run right = Simulation(*kernel, data, text_of(*kernel)).run();
  write(directory.path / "x.npz", *kernel, data, right,
        fragment_of(*kernel, Simulation(*kernel, data, text).run().d));
  return diagnose(directory.path / "x.npz");
}

TEST_CASE("a scale that is forgotten or applied twice is named", "[diagnose][others]") {
  const auto named = [](const std::string& kernel, const std::string& wrong, const std::string& operand,
                        const std::string& mistake, bool with_c = true) {
    const Result<Diagnosis> d = diagnosed(kernel, wrong, with_c);
    INFO(kernel << ", " << wrong << ": " << (d ? d->text() : d.error().message()));
    REQUIRE((d.ok() && d->findings.size() == 1));
    CHECK(d->findings[0].kind == "scaled");
    CHECK(d->findings[0].operand == operand);
    CHECK(d->findings[0].mistake == mistake);
    CHECK(d->findings[0].certain);
  };
  for (const char* kernel : {"f16", "bf16", "tf32", "e4m3", "sparse", "scaled", "f64"}) {
    named(kernel, "a_power = 3", "a b", "A or B is multiplied by 8");
    named(kernel, "c_power = 0 - 2", "c", "C is divided by 4");
  }
  named("f16", "b_power = 0 - 3", "a b", "A or B is divided by 8");
  named("f16", "d_power = 1", "d", "D is multiplied by 2");
  named("wgmma", "d_power = 4", "d", "D is multiplied by 16");
  named("f16", "a_power = 3", "a b d", "A, B or D is multiplied by 8", false);
  // A better explanation comes first, though this is one, too.
  const Result<Diagnosis> twice = diagnosed("f16", "c_power = 1", true);
  REQUIRE(twice.ok());
  CHECK(twice->findings.at(0).kind == "accumulator_twice");
  CHECK(twice->findings.size() == 1);
}

TEST_CASE("right results are correct, and noise has no mistake", "[diagnose][others]") {
  const archive::Directory directory;
  Random random(2);
  int correct = 0, none = 0;
  for (int i = 0; i < 50; ++i) {
    const Kernel& kernel = simulated::kernels()[static_cast<std::size_t>(i) % simulated::kernels().size()];
    const Data data = data_of(kernel, 0, random);
    const Run right = Simulation(kernel, data, text_of(kernel)).run();
    write(directory.path / "right.npz", kernel, data, right, fragment_of(kernel, right.d));
    const Result<Diagnosis> d = diagnose(directory.path / "right.npz");
    INFO(kernel.name);
    REQUIRE(d.ok());
    CHECK(d->verdict == Verdict::correct);
    correct += d->verdict == Verdict::correct;
    // Other numbers everywhere, or at some places.
    Words noise = right.d;
    for (std::uint64_t& word : noise)
      if (i % 2 == 0 || random() % 3 == 0) word = kernel.sum(random);
    write(directory.path / "noise.npz", kernel, data, right, fragment_of(kernel, noise));
    const Result<Diagnosis> n = diagnose(directory.path / "noise.npz");
    REQUIRE(n.ok());
    INFO(n->text());
    CHECK(n->verdict == Verdict::none);
    CHECK(n->findings.empty());
    none += n->verdict == Verdict::none;
  }
  fmt::print("diagnose: {} of 50 right results correct, {} of 50 of noise without a mistake\n", correct, none);
}

}  // namespace diagnose_test
