// SPDX-License-Identifier: Apache-2.0
// warpbit compare --random: generated inputs, as a whole or in shares.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <iterator>  // std::back_inserter
#include <numeric>

#include "cli/compare.hpp"
#include "cli/compare_output.hpp"
#include "cli/help.hpp"
#include "cli/parts.hpp"
#include "cli/terminal.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/study.hpp"

namespace warpbit::cli {
namespace {

constexpr std::uint64_t kRandomElements = 131'072, kMostCases = 100'000;  // are held at once
constexpr std::size_t kMostDepths = 32;

using nlohmann::ordered_json;

inputs::Profile profile_of(const std::string& name) {
  const std::optional<inputs::Profile> profile = inputs::find_profile(name);
  if (!profile)
    refuse("--random", name, fmt::format("a profile of inputs: {}", fmt::join(inputs::kProfileNames, ", ")));
  return *profile;
}

// ---- One K in a part of an answer

// The errors, in ascending order, are the 16 digits of each double; of the first element that differs the case is enough.
ordered_json part_of(const Comparison& c) {
  ordered_json out = {
      {"cases", c.cases}, {"elements", c.elements}, {"results", ordered_json::array()}, {"first", nullptr}};
  for (const ComparedResults& r : c.results) {
    std::string errors;
    for (const double error : r.errors)
      fmt::format_to(std::back_inserter(errors), "{:016x}", std::bit_cast<std::uint64_t>(error));
    out["results"].push_back({{"differing", r.differing},
                              {"most_codes", r.most_codes},
                              {"correctly_rounded", r.correctly_rounded},
                              {"special", r.special},
                              {"overflowed", r.overflowed},
                              {"errors", errors}});
  }
  if (c.first) out["first"] = c.first->index;
  return out;
}

ComparedResults results_of(const std::string& file, const ordered_json& part) {
  ComparedResults out{part.at("differing"), part.at("most_codes"), part.at("correctly_rounded"),
                      part.at("special"), part.at("overflowed")};
  const auto& digits = part.at("errors").get_ref<const std::string&>();
  for (std::size_t i = 0; i < digits.size(); i += 16) {
    const auto bits = number<std::uint64_t>(std::string_view(digits).substr(i, 16), 16);
    if (!bits || digits.size() % 16 != 0) refuse_part(file, "errors that are no doubles");
    out.errors.push_back(std::bit_cast<double>(*bits));
  }
  return out;
}

// ---- All

// What makes parts those of one work.
struct Sweep {
  std::vector<Computation> computations;
  InputChoice choice;
  std::uint64_t cases = 0;
  std::vector<std::size_t> depths;
  bool zero_c = false;

  DepthStudy compared(Shard shard, bool shows) const {
    ProgressBar bar(shows);
    const std::uint64_t all = shard.range(cases).second;
    return required(compare_depths(computations, choice, cases, depths, shard, zero_c,
                                   [&](std::uint64_t done) { bar.show(done, all); }));
  }
  ordered_json question() const {
    ordered_json out = {{"computations", ordered_json::array()},
                        {"profile", inputs::kProfileNames[static_cast<std::size_t>(choice.profile)]},
                        {"seed", choice.seed},
                        {"cases", cases},
                        {"depths", depths},
                        {"zero_c", zero_c}};
    for (const Computation& c : computations)
      out["computations"].push_back({{"statement", c.instruction.text()},
                                     {"target", c.instruction.target().name()},
                                     {"order", c.order.text()}});
    return out;
  }
  static Sweep of(const std::string& file, const ordered_json& question) {
    Sweep out{{},
              {question.at("seed"), profile_of(question.at("profile"))},
              question.at("cases"),
              question.at("depths"),
              question.at("zero_c")};
    if (out.depths.empty()) refuse_part(file, "no K");
    for (const ordered_json& c : question.at("computations")) {
      const Target target = required(Target::find(c.at("target").get<std::string>()));
      const Instruction instruction =
          required(Instruction::parse(c.at("statement").get<std::string>(), target));
      out.computations.push_back(
          required(computation(instruction, c.at("order").get<std::string>(), out.depths.back())));
    }
    return out;
  }

  // Without first elements.
  DepthStudy study(const std::string& file, const ordered_json& parts) const {
    std::vector<Comparison> out;
    for (const ordered_json& part : parts) {
      Comparison& c = out.emplace_back();
      c.cases = part.at("cases");
      c.elements = part.at("elements");
      c.depth = depths[std::min(out.size(), depths.size()) - 1];
      for (const ordered_json& r : part.at("results")) c.results.push_back(results_of(file, r));
      if (c.results.size() != computations.size())
        refuse_part(file, fmt::format("{} results", c.results.size()));
      c.names = distinct_names(computations);
      c.format = computations[0].instruction.operands()[0].format;
    }
    if (out.size() != depths.size()) refuse_part(file, fmt::format("{} answers", out.size()));
    return study_of(computations, std::move(out));
  }
  // The first element that differs, from its case alone.
  void find_first(DepthStudy& to, std::size_t depth, std::uint64_t index) const {
    const DepthStudy found =
        required(compare_depths(computations, choice, cases, {&depths[depth], 1}, {index + 1, cases}, zero_c));
    to.comparisons[depth].first = found.comparisons[0].first;
  }
};

ordered_json parts_of(const DepthStudy& study) {
  ordered_json out = ordered_json::array();
  for (const Comparison& c : study.comparisons) out.push_back(part_of(c));
  return out;
}

// ---- How much

// The elements of a case, whose size the deepest instruction determines.
std::uint64_t elements_of_case(const Instructions& instructions) {
  const Instruction& tile = *std::ranges::max_element(instructions.list, {}, &Instruction::terms);
  return static_cast<std::uint64_t>(tile.rows()) * static_cast<std::uint64_t>(tile.columns() * tile.products());
}

// Cases of all shares that --max-products allows.
std::uint64_t most_cases(const CompareArguments& o, const Instructions& instructions, const Sweep& sweep) {
  const std::size_t depth = std::accumulate(sweep.depths.begin(), sweep.depths.end(), std::size_t{0});
  return o.max_products / (elements_of_case(instructions) * depth * sweep.computations.size());
}

// How many are compared: of several K fewer, where they would be too many.
std::uint64_t cases_of(const CompareArguments& o, const Instructions& instructions, const Sweep& sweep) {
  if (o.cases > 0) return o.cases;
  const std::uint64_t usual = std::max<std::uint64_t>(1, kRandomElements / elements_of_case(instructions));
  if (sweep.depths.size() < 2) return usual;
  return std::max<std::uint64_t>(1, std::min(usual, most_cases(o, instructions, sweep)));
}

void check_work(const CompareArguments& o, const Instructions& instructions, const Sweep& sweep) {
  const std::uint64_t cases = (sweep.cases - 1) / o.shard.count + 1,  // of the share
      held = kMostCases * instructions.terms / sweep.depths.back(), most = most_cases(o, instructions, sweep);
  const std::string depth = fmt::format("{}", fmt::join(sweep.depths, ","));
  if (cases > held)
    refuse("--cases", fmt::format("{} with a K of {}", sweep.cases, depth),
           fmt::format("at most {}, or as many in each share (--shard)", held));
  if (cases > most)
    refuse("--cases",
           fmt::format("{} with {} elements, a K of {} and {} computations", sweep.cases,
                       elements_of_case(instructions), depth, sweep.computations.size()),
           fmt::format("at most {} of these ({} products), or more with --shard or --max-products", most,
                       o.max_products));
}

void check_show(bool show, std::size_t depths) {
  if (show && depths > 1) refuse("--explain", "several K, of which no element is explained", "one K");
}

Sweep find_sweep(const CompareArguments& o, const Instructions& instructions) {
  Sweep out;
  out.choice = {o.seed, profile_of(o.random)};
  out.zero_c = o.zero_c;
  check_show(o.show, o.depths.size());
  if (o.depths.size() > kMostDepths)
    refuse("--depth", fmt::format("{} numbers", o.depths.size()), fmt::format("at most {}", kMostDepths));
  for (const std::size_t depth : o.depths.empty() ? std::vector<std::size_t>{0} : o.depths) {
    Compared compared = find_computations(o, instructions, depth);
    if (!out.depths.empty() && compared.depth <= out.depths.back())
      refuse("--depth", fmt::format("a K of {} behind one of {}", compared.depth, out.depths.back()),
             fmt::format("numbers that ascend, also once they are rounded up to multiples of {}",
                         instructions.terms));
    out.depths.push_back(compared.depth);
    out.computations = std::move(compared.computations);
  }
  out.cases = cases_of(o, instructions, out);
  check_work(o, instructions, out);
  return out;
}

}  // namespace

int answer(const CompareArguments& o, const DepthStudy& study, const std::vector<Computation>& computations) {
  if (!o.svg.empty()) required(write_svg(o.svg, study));
  if (o.json)
    print_json(study, computations);
  else if (o.csv)
    print_csv(study, computations);
  else if (study.comparisons.size() > 1)
    print_study(study, computations);
  else
    print_comparison(study.comparisons[0], computations, o.show);
  return std::ranges::any_of(study.comparisons, [](const Comparison& c) { return c.first.has_value(); }) ? kNo
                                                                                                         : kYes;
}

int compare_random(const CompareArguments& o, const Instructions& instructions) {
  const Sweep sweep = find_sweep(o, instructions);
  const auto study = [&] { return sweep.compared(o.shard, !o.json && !o.csv); };
  if (o.part.empty()) return answer(o, study(), sweep.computations);
  const ordered_json parts =
      kept(o.part, {"compare", sweep.question(), o.shard}, [&] { return parts_of(study()); });
  return read_part(o.part, [&] {
    DepthStudy found = sweep.study(o.part, parts);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (const ordered_json& first = parts[i].at("first"); !first.is_null()) sweep.find_first(found, i, first);
    return answer(o, found, sweep.computations);
  });
}

int merge_compare(const MergeArguments& o, const std::vector<SavedPart>& parts) {
  return read_part(o.files[0], [&] {
    const Sweep sweep = Sweep::of(o.files[0], parts[0].question);
    check_show(o.show, sweep.depths.size());
    std::vector<std::vector<Comparison>> shares(sweep.depths.size());  // by K
    std::vector<std::optional<std::uint64_t>> first(sweep.depths.size());
    for (const SavedPart& part : parts) {
      DepthStudy study = sweep.study(o.files[0], part.answer);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        shares[i].push_back(std::move(study.comparisons[i]));
        if (const ordered_json& index = part.answer.at(i).at("first"); !first[i] && !index.is_null())
          first[i] = index.get<std::uint64_t>();
      }
    }
    std::vector<Comparison> whole;
    for (const std::vector<Comparison>& of_depth : shares) whole.push_back(required(merge(of_depth)));
    DepthStudy study = study_of(sweep.computations, std::move(whole));
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i]) sweep.find_first(study, i, *first[i]);
    CompareArguments how;
    how.json = o.json;
    how.csv = o.csv;
    how.show = o.show;
    return answer(how, study, sweep.computations);
  });
}

}  // namespace warpbit::cli
