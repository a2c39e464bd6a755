// SPDX-License-Identifier: Apache-2.0
// warpbit compare
#include "warpbit/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <iterator>  // std::back_inserter

#include "cli/arguments.hpp"
#include "cli/compare_output.hpp"
#include "cli/help.hpp"
#include "cli/parts.hpp"
#include "cli/terminal.hpp"
#include "warpbit/format.hpp"
#include "warpbit/inputs/text.hpp"

namespace warpbit::cli {
namespace {

constexpr std::uint64_t kRandomElements = 131'072, kMostCases = 100'000;  // are held at once
constexpr std::size_t kMostDepth = 4096;                                  // of a K in several instructions
constexpr std::uint64_t kMaxProducts = std::uint64_t{1} << 30;            // some minutes by the specification

using nlohmann::ordered_json;

struct CompareArguments {
  std::vector<std::string> forms, targets, orders = {"ascending"}, find;
  ElementOptions values;
  std::string random, part;
  std::uint64_t cases = 0, seed = 0, max_products = kMaxProducts;
  std::size_t depth = 0;
  Shard shard;
  bool show = false, json = false, csv = false;
};

// ---- What is compared

// Each form on each target; to be made computations of when K is known.
struct Instructions {
  std::vector<Instruction> list;
  std::size_t terms = 1;  // of the deepest
};

// A form on its own target (FORM@TARGET), or on each of the others.
void add_instructions(std::vector<Instruction>& out, const std::string& form,
                      const std::vector<std::string>& targets) {
  const bool has_target = form.find('@', 1) != form.npos;
  if (!has_target && targets.empty())
    refuse("compare", fmt::format("no target for {}", form),
           "FORM@TARGET, or --targets, e.g. --targets A100,H100");
  if (has_target) return out.push_back(instruction_of(asked_form(form)));
  for (const std::string& target : targets) out.push_back(instruction_of(asked_form(form, target)));
}

// Of a capture the form that it is of, and those behind it.
Instructions find_instructions(const CompareArguments& o, const std::vector<std::string>& targets) {
  std::vector<std::string> forms = o.forms;
  if (is_file(forms[0])) forms[0] = required(CaptureReader::open(forms[0])).header().statement;
  const bool are_used =
      std::ranges::any_of(forms, [](const auto& form) { return form.find('@', 1) == form.npos; });
  if (!targets.empty() && !are_used)
    refuse("compare", "--targets beside forms that all name their own", "forms without @, or no --targets");
  Instructions out;
  for (const std::string& form : forms) add_instructions(out.list, form, targets);
  for (const Instruction& i : out.list) out.terms = std::max(out.terms, static_cast<std::size_t>(i.terms()));
  return out;
}

// The least K at which the words of an order mean something.
std::size_t least_depth(const SumOrder& o, std::size_t terms) {
  std::size_t out = std::max<std::size_t>(o.descending ? 2 : 1, o.k_order.size()) * terms;
  out = std::max(out, std::min(o.split_k, kMostDepth) * std::max(o.unit, terms));
  if (o.promote != 0) out = std::max(out, 2 * std::min(o.promote, kMostDepth));
  if (o.slices > 1) out = std::max(out, std::min(o.slices * o.slice_width, kMostDepth));
  std::size_t runs = 0;
  for (const std::size_t run : o.runs) runs += std::min(run, kMostDepth);
  return std::max(out, runs);
}

// Each instruction in each order of K.
struct Compared {
  std::vector<Computation> computations;
  std::size_t depth = 0;
};

// Over this K; if there is none, over the least that the orders need.
Compared find_computations(const CompareArguments& o, const Instructions& instructions, std::size_t depth) {
  std::size_t least = depth;
  for (const std::string& order : o.orders)
    if (depth == 0) least = std::max(least, least_depth(required(SumOrder::parse(order)), instructions.terms));
  Compared out{{}, (least + instructions.terms - 1) / instructions.terms * instructions.terms};
  if (out.depth > kMostDepth)
    refuse("--depth", fmt::format("a K of {}", out.depth), fmt::format("at most {}", kMostDepth));
  for (const Instruction& instruction : instructions.list)
    for (const std::string& order : o.orders)
      out.computations.push_back(required(computation(instruction, order, out.depth)));
  if (out.computations.size() < 2)
    refuse("compare", "one computation",
           "two or more: several forms, --targets sm_80,sm_90 or --k-order ascending,split_k=2");
  return out;
}

// ---- One element

void print_wrapped(const std::string& sentence) {
  fmt::print("{}\n", fmt::join(broken(sentence, terminal().columns - 4), "\n    "));
}

// Where a form is not what the GPU's matrix products use.
void print_notes(const std::vector<Computation>& computations) {
  const std::vector<std::string> names = distinct_names(computations);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::string text = note(computations[i].instruction); !text.empty())
      print_wrapped(fmt::format("note: {}: {}", names[i], text));
  for (const Computation& c : computations) {
    const std::optional<Instruction> used = used_by_products(c.instruction);
    if (!used || std::ranges::any_of(computations, [&](const Computation& other) {
          return other.instruction.canonical() == used->canonical();
        }))
      continue;
    const std::string command =
        fmt::format("warpbit compare {}@{} {}@{} --random ordinary", c.instruction.canonical(),
                    c.instruction.target().name(), used->canonical(), used->target().name());
    return fmt::print("{}\n", shell_lines(command, terminal().columns));
  }
}

void print_element(const ElementComparison& c, bool show) {
  print_results(c);
  if (!show) return;
  for (const Explanation& e : c.explanations) fmt::print("\n{}", text(e, static_cast<int>(terminal().columns)));
}

int compare_values(const CompareArguments& o, const Instructions& instructions) {
  std::vector<std::string> notes;
  const Instruction& first = instructions.list.front();
  const int most = first.blocks() > 0 ? 1 : static_cast<int>(kMostDepth) / std::max(first.terms(), 1);
  ElementInputs inputs = o.values.inputs(first, notes, std::max(most, 1));
  const Compared compared = find_computations(o, instructions, std::max(inputs.a.size(), o.depth));
  if (inputs.a_scale.empty()) {
    inputs.a.resize(compared.depth);
    inputs.b.resize(compared.depth);
  }
  const ElementComparison comparison = required(compare_element(compared.computations, inputs));
  if (o.json) {
    print_json(comparison, compared.computations);
  } else {
    for (const std::string& note : notes) fmt::print("{}\n", note);
    print_element(comparison, o.show);
    print_notes(compared.computations);
  }
  return std::ranges::all_of(comparison.reasons, &std::string::empty) ? kYes : kNo;
}

// What was not measured, where no single element says so.
void print_marks(const std::vector<Computation>& computations) {
  const std::vector<std::string> names = distinct_names(computations);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::string text = mark(computations[i].instruction); !text.empty())
      print_wrapped(fmt::format("{}: {}", names[i], text));
}

// ---- Many

void print_comparison(const Comparison& c, const std::vector<Computation>& computations, bool show) {
  const std::vector<std::string> names = distinct_names(computations);
  const bool are_targets = names[0] == computations[0].instruction.target().name();
  Table table = {
      {are_targets ? "target" : "computation", fmt::format("differs from {}", names[0]), "by at most"}};
  for (std::size_t i = 1; i < names.size(); ++i) {
    const ComparedResults& r = c.results[i];
    table.push_back({names[i], fmt::format("{} of {} elements", r.differing, c.elements),
                     fmt::format("{} codes", r.most_codes)});
  }
  print_narrow(table);
  if (const std::string statistics = statistics_text(c, static_cast<int>(terminal().columns));
      !statistics.empty())
    fmt::print("\n{}", statistics);
  if (!c.first) {
    print_marks(computations);
    return print_notes(computations);
  }
  fmt::print("\nfirst: case {}, row {}, column {}{}\n", c.first->index, c.first->at.row, c.first->at.column,
             c.first->at.product ? fmt::format(", product {}", c.first->at.product) : "");
  print_element(c.first->comparison, show);
  print_notes(computations);
}

int answer(const CompareArguments& o, const Comparison& c, const std::vector<Computation>& computations) {
  if (o.json)
    print_json(c, computations);
  else if (o.csv)
    print_csv(c, computations);
  else
    print_comparison(c, computations, o.show);
  return c.first ? kNo : kYes;
}

int compare_file(const CompareArguments& o, const Instructions& instructions) {
  if (o.depth > 0) refuse("--depth", "a capture", "none: K is that of its instruction");
  const Compared compared = find_computations(o, instructions, instructions.terms);
  return answer(o, required(compare_capture(o.forms[0], compared.computations)), compared.computations);
}

// The elements of a case, whose size the deepest instruction determines.
std::uint64_t elements_of_case(const Instructions& instructions) {
  const Instruction& tile = *std::ranges::max_element(instructions.list, {}, &Instruction::terms);
  return static_cast<std::uint64_t>(tile.rows()) * static_cast<std::uint64_t>(tile.columns() * tile.products());
}

// How many cases are compared.
std::uint64_t cases_of(const CompareArguments& o, const Instructions& instructions) {
  if (o.cases > 0) return o.cases;
  return std::max<std::uint64_t>(1, kRandomElements / elements_of_case(instructions));
}

void check_work(const CompareArguments& o, std::uint64_t all_cases, const Instructions& instructions,
                const Compared& compared) {
  const std::uint64_t cases = (all_cases - 1) / o.shard.count + 1,  // of the share
      held = kMostCases * instructions.terms / compared.depth, elements = elements_of_case(instructions),
                      most = o.max_products / (elements * compared.depth * compared.computations.size());
  if (cases > held)
    refuse("--cases", fmt::format("{} with a K of {}", all_cases, compared.depth),
           fmt::format("at most {}, or as many in each share (--shard)", held));
  if (cases > most)
    refuse("--cases",
           fmt::format("{} with {} elements, a K of {} and {} computations", all_cases, elements,
                       compared.depth, compared.computations.size()),
           fmt::format("at most {} of these ({} products), or more with --shard or --max-products", most,
                       o.max_products));
}

inputs::Profile profile_of(const std::string& name) {
  const std::optional<inputs::Profile> profile = inputs::find_profile(name);
  if (!profile)
    refuse("--random", name, fmt::format("a profile of inputs: {}", fmt::join(inputs::kProfileNames, ", ")));
  return *profile;
}

// Generated inputs, and the computations that are compared on them: what makes parts those of one work.
struct Sweep {
  std::vector<Computation> computations;
  InputChoice choice;
  std::uint64_t cases = 0;
  std::size_t depth = 0;

  Comparison compared(Shard shard, bool shows) const {
    ProgressBar bar(shows);
    const std::uint64_t all = shard.range(cases).second;
    return required(compare_generated(computations, choice, cases, depth, shard,
                                      [&](std::uint64_t done) { bar.show(done, all); }));
  }
  ordered_json question() const {
    ordered_json out = {{"computations", ordered_json::array()},
                        {"profile", inputs::kProfileNames[static_cast<std::size_t>(choice.profile)]},
                        {"seed", choice.seed},
                        {"cases", cases},
                        {"depth", depth}};
    for (const Computation& c : computations)
      out["computations"].push_back({{"statement", c.instruction.text()},
                                     {"target", c.instruction.target().name()},
                                     {"k_order", order_text(c)}});
    return out;
  }
  static Sweep of(const ordered_json& question) {
    Sweep out{{},
              {question.at("seed"), profile_of(question.at("profile"))},
              question.at("cases"),
              question.at("depth")};
    for (const ordered_json& c : question.at("computations")) {
      const Target target = required(Target::find(c.at("target").get<std::string>()));
      const Instruction instruction =
          required(Instruction::parse(c.at("statement").get<std::string>(), target));
      out.computations.push_back(
          required(computation(instruction, c.at("k_order").get<std::string>(), out.depth)));
    }
    return out;
  }

  // The answer of a part. The errors, in ascending order, are the 16 digits of each double; of the first element that differs
  // the case is enough.
  static ordered_json answer(const Comparison& c) {
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
  // Without the first element.
  Comparison comparison(const std::string& file, const ordered_json& answer) const {
    Comparison out;
    out.cases = answer.at("cases");
    out.elements = answer.at("elements");
    for (const ordered_json& r : answer.at("results")) {
      ComparedResults& to = out.results.emplace_back();
      to.differing = r.at("differing");
      to.most_codes = r.at("most_codes");
      to.correctly_rounded = r.at("correctly_rounded");
      to.special = r.at("special");
      to.overflowed = r.at("overflowed");
      const auto& digits = r.at("errors").get_ref<const std::string&>();
      for (std::size_t i = 0; i < digits.size(); i += 16) {
        const auto bits = number<std::uint64_t>(std::string_view(digits).substr(i, 16), 16);
        if (!bits || digits.size() % 16 != 0) refuse_part(file, "errors that are no doubles");
        to.errors.push_back(std::bit_cast<double>(*bits));
      }
    }
    if (out.results.size() != computations.size())
      refuse_part(file, fmt::format("{} results", out.results.size()));
    out.names = distinct_names(computations);
    out.format = computations[0].instruction.operands()[0].format;
    return out;
  }
  // The first element that differs, from its case alone.
  void find_first(Comparison& to, std::uint64_t index) const {
    to.first = required(compare_generated(computations, choice, cases, depth, {index + 1, cases})).first;
  }
};

int compare_random(const CompareArguments& o, const Instructions& instructions) {
  const inputs::Profile profile = profile_of(o.random);
  const Compared compared = find_computations(o, instructions, o.depth);
  const Sweep sweep{compared.computations, {o.seed, profile}, cases_of(o, instructions), compared.depth};
  check_work(o, sweep.cases, instructions, compared);
  const auto comparison = [&] { return sweep.compared(o.shard, !o.json && !o.csv); };
  if (o.part.empty()) return answer(o, comparison(), sweep.computations);
  const ordered_json part =
      kept(o.part, {"compare", sweep.question(), o.shard}, [&] { return Sweep::answer(comparison()); });
  return read_part(o.part, [&] {
    Comparison c = sweep.comparison(o.part, part);
    if (!part.at("first").is_null()) sweep.find_first(c, part.at("first"));
    return answer(o, c, sweep.computations);
  });
}

// ---- The search

std::string element_text(const ElementInputs& inputs, const Instruction& instruction) {
  const auto format_of = [&](Part part) {
    const Operand* found = instruction.find(part);
    return (found != nullptr ? *found : instruction.operands()[0]).format;
  };
  std::string out;
  const auto add = [&](std::string_view name, Part part, std::uint64_t code) {
    if (code != 0) out += fmt::format("  {} = {}\n", name, code_text(format_of(part), code));
  };
  for (std::size_t k = 0; k < inputs.a.size(); ++k) {
    add(fmt::format("a[{}]", k), Part::a, inputs.a[k]);
    add(fmt::format("b[{}]", k), Part::b, inputs.b[k]);
  }
  add("c", Part::c, inputs.c);
  return out;
}

int find(const CompareArguments& o) {
  const Compared compared = find_computations(o, find_instructions(o, o.find), o.depth);
  if (compared.computations.size() != 2)
    refuse("--find-difference", fmt::format("{} computations", compared.computations.size()),
           "two: two targets, or two forms or orders of K on one");
  const Computation &x = compared.computations.front(), &y = compared.computations.back();
  const DifferenceSearch search = required(find_difference(x, y, compared.depth));
  if (o.json) {
    print_json(search, compared.computations);
    return search.found ? kNo : kYes;
  }
  if (search.found) {
    fmt::print("{}", element_text(search.found->inputs, x.instruction));
    print_element(search.found->comparison, o.show);
    print_notes(compared.computations);
    return kNo;
  }
  const std::vector<std::string> names = distinct_names(compared.computations);
  const std::string plan = x.instruction.plan();
  print_wrapped(
      search.equal_steps
          ? fmt::format("equal: {} and {} both compute every element as {}; no input tells them apart",
                        names[0], names[1], plan)
          : fmt::format("no difference found in {} elements; {}: {}; {}: {}", search.tried, names[0], plan,
                        names[1], y.instruction.plan()));
  print_marks(compared.computations);
  print_notes(compared.computations);
  return kYes;
}

int compare(const CompareArguments& o) {
  const bool generates = o.find.empty() && !is_file(o.forms[0]) && !o.values.is_given() && !o.random.empty();
  if (o.shard.count > 1 && !generates)
    refuse("--shard", "a comparison without generated inputs", "it with --random PROFILE");
  if (!o.part.empty() && !generates)
    refuse("--part", "a comparison without generated inputs", "it with --random PROFILE");
  if (o.csv && !generates && !is_file(o.forms[0]))
    refuse("--csv", "one element", "it with --random PROFILE or a capture file; --json");
  if (!o.random.empty() && !generates)
    refuse("--random", "a comparison that has its inputs", "--random, or --a, --b and --c, or a capture file");
  if ((o.cases > 0 || o.seed > 0) && !generates)
    refuse(o.cases > 0 ? "--cases" : "--seed", "a comparison without generated inputs",
           "it with --random PROFILE");
  if (!o.find.empty()) return find(o);
  const Instructions instructions = find_instructions(o, o.targets);
  if (is_file(o.forms[0])) return compare_file(o, instructions);
  if (o.values.is_given()) return compare_values(o, instructions);
  if (generates) return compare_random(o, instructions);
  refuse("compare", "a form without values",
         "--a, --b and --c; --random PROFILE; --find-difference; or a capture file");
}

}  // namespace

int merge_compare(const MergeArguments& o, const std::vector<SavedPart>& parts) {
  return read_part(o.files[0], [&] {
    const Sweep sweep = Sweep::of(parts[0].question);
    std::vector<Comparison> shares;
    std::optional<std::uint64_t> first;
    for (const SavedPart& part : parts) {
      shares.push_back(sweep.comparison(o.files[0], part.answer));
      if (!first && !part.answer.at("first").is_null()) first = part.answer.at("first").get<std::uint64_t>();
    }
    Comparison whole = required(merge(shares));
    if (first) sweep.find_first(whole, *first);
    CompareArguments how;
    how.json = o.json;
    how.csv = o.csv;
    how.show = o.show;
    return answer(how, whole, sweep.computations);
  });
}

void add_compare(CLI::App& command, int& status) {
  command.footer(examples(
      {"warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --find-difference sm_80,sm_90",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --targets sm_80,sm_90,sm_100 "
       "--random ordinary",
       "warpbit compare mma.m16n8k8.f32.f16@T4 mma.m16n8k16.f32.f16@A100 --random ordinary",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 --targets sm_90 --random ordinary",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 --targets sm_90 "
       "--k-order ascending,descending,split_k=2 --random ordinary --cases 64 --depth 64",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --targets sm_80,sm_90 --random mixed "
       "--cases 100000 --shard 3/100",
       "warpbit compare mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 --targets sm_80,sm_90 --a '1 2^-12' "
       "--b '1 1' --c 0.1 --explain",
       "warpbit compare golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz "
       "--targets sm_90,sm_80"}));
  CompareArguments& o = add_arguments(command, status, compare);
  command
      .add_option(
          "forms", o.forms,
          "forms or statements with the same formats, each in a chain along K, also short or FORM@TARGET, or a "
          "capture file and such forms; the first is what others are compared with")
      ->required();
  const auto add_list = [&](const char* name, std::vector<std::string>& list, const char* description) {
    command.add_option(name, list, description)->delimiter(',')->allow_extra_args(false);
  };
  add_list("--targets", o.targets,
           "one or more, separated by commas; each form without @TARGET is taken on each");
  add_list("--k-order", o.orders,
           "orders of the instructions along K, separated by commas: ascending (default), descending, 1:0:3:2, "
           "split_k=2 (runs whose sums are added), descending+split_k=2");
  command
      .add_option(
          "--depth", o.depth,
          "K, rounded up to whole instructions; the deepest instruction's, or as many as the orders need, "
          "unless given")
      ->check(CLI::Range(std::size_t{1}, kMostDepth));
  o.values.add_to(command);
  command.add_option("--random", o.random, "compare on generated inputs of a profile: mixed, ordinary, ...");
  command
      .add_option("--cases", o.cases,
                  fmt::format("how many of them; as many as have {} elements (1024 of m16n8) unless given",
                              kRandomElements))
      ->check(whole_number(1));
  command.add_option("--seed", o.seed, "other generated inputs")->check(whole_number(0));
  command
      .add_option("--max-products", o.max_products,
                  "refuse a comparison that takes more products a b (default 2^30)")
      ->check(whole_number(1));
  add_shard(command, o.shard, "compare one of N shares of the generated cases");
  add_part(command, o.part);
  add_list(
      "--find-difference", o.find,
      "search for small inputs that tell two targets apart, separated by a comma, or two forms or orders of K "
      "on one");
  CLI::Option* show = command.add_flag("--explain", o.show, "also explain the element by each");
  CLI::Option* json =
      command
          .add_flag("--json", o.json, "print one JSON object instead: also statistics, histogram, explanations")
          ->excludes(show);
  command.add_flag("--csv", o.csv, "print the statistics of many elements, a row for each computation")
      ->excludes(show, json);
}

}  // namespace warpbit::cli
