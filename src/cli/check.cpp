// SPDX-License-Identifier: Apache-2.0
// warpbit check
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>  // std::cin, read line by line
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/check_json.hpp"
#include "cli/json.hpp"
#include "cli/notes.hpp"
#include "cli/review.hpp"
#include "cli/terminal.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {
namespace {

constexpr std::string_view kOperandsNotChecked =
    "not looked at: check --ptx does, in a module that declares them";

std::string ground(std::string_view parameter, const Ground& g) {
  return fmt::format("  {:<10}{} ({})\n", parameter, name(g.basis), g.from);
}

std::string operand_text(const Operand& op) {
  switch (op.kind) {
    case OperandKind::immediate: return fmt::format("immediate {}", static_cast<std::int64_t>(*op.literals[0]));
    case OperandKind::descriptor: return fmt::format("descriptor of {} in shared memory", op.format);
    case OperandKind::predicate: return "predicate register, 0 or 1";
    case OperandKind::address:
      return fmt::format("address{}", op.offset ? fmt::format(", plus {}", op.offset) : "");
    case OperandKind::pair: return "byte-id and thread-id, literals or 16-bit registers";
    default: break;
  }
  const std::string registers =
      fmt::format("{} register{} of {} bits", op.registers, op.registers == 1 ? "" : "s", op.register_bits);
  if (op.part == Part::stride || op.part == Part::random_bits || op.part == Part::scale_factor)
    return registers;
  return fmt::format(
      "{}, {} {}x{}{}", registers, op.format, op.fragment.rows(), op.fragment.columns(),
      op.fragment.products() > 1 ? fmt::format(" ({} side by side)", op.fragment.products()) : "");
}

// By parameter, or one line if all rest on the same.
std::string evidence_text(const Evidence& e) {
  const auto same = [&](const Ground& g) { return g.basis == e.order.basis && g.from == e.order.from; };
  if (same(e.window) && same(e.floor) && same(e.specials)) return ground("evidence", e.order);
  return ground("order, L", e.order) + ground("F", e.window) + ground("floor", e.floor) +
         ground("specials", e.specials);
}

// No form of PTX.
bool is_product_by_types(const Instruction& i) {
  return i.family() == "tcgen05.mma by types";
}

int check_kernel_form(const std::string& text, Target target) {
  const Result<ptx::KernelForm> form = ptx::kernel_form(text, target);
  if (!form) {
    fmt::print("refused: {}\n", printable(form.error().message()));
    suggest_forms(form.error(), text, target);
    return kNo;
  }
  fmt::print("accepted on {}: {}\n", target.name(), printable(form->form));
  fmt::print("  {:<10}{}, known to kernels: launch executes it\n", "kind", form->kind);
  fmt::print("  {:<10}PTX {}{}\n", "since", form->since,
             form->as_target ? fmt::format(", the first with {}", target.name()) : "");
  if (form->has_operands) fmt::print("  {:<10}{}\n", "operands", kOperandsNotChecked);
  return kYes;
}

// One target: the plan and what it rests on.
int check_one(const std::string& text, Target target) {
  const Result<Instruction> i = Instruction::parse(text, target);
  if (!i) return check_kernel_form(text, target);
  const Kernel kernel = required(chosen_kernel());
  const bool is_ptx = !is_product_by_types(*i);
  fmt::print("{} on {}: {}\n", is_ptx ? "accepted" : "no form of PTX, a product of matrices", target.name(),
             i->canonical());
  for (const Operand& op : i->operands())
    if (is_ptx) fmt::print("  {}: {}\n", op.role, operand_text(op));
  const auto row = [](std::string_view label, const std::string& value) {
    fmt::print("  {:<10}{}\n", label, fmt::join(broken(value, terminal().columns - 12), "\n            "));
  };
  row("plan", i->plan());
  row("machine", fmt::format("{} ({})", i->machine(), i->toolkit()));
  fmt::print("{}", evidence_text(i->evidence()));
  row("kernel", path_of(*i, kernel));
  if (const std::string trap = note(*i); !trap.empty()) row("note", trap);
  return kYes;
}

// Targets that give the same answer.
struct Answer {
  Row cells;  // all but the targets
  std::optional<Error> refusal;
  std::vector<Target> targets;
};

// What is refused on some targets in the same words, but for their names, is one answer.
bool same(const Answer& x, const Answer& y) {
  if (!x.refusal || !y.refusal) return x.refusal.has_value() == y.refusal.has_value() && x.cells == y.cells;
  return x.refusal->message() == y.refusal->message();
}

Answer answer_of(const std::string& text, Target target) {
  const Result<Instruction> i = Instruction::parse(text, target);
  if (i)
    return {{is_product_by_types(*i) ? "no PTX" : "accepted", std::string(name(i->evidence().overall())),
             i->machine(), i->plan()},
            {},
            {target}};
  const Result<ptx::KernelForm> form = ptx::kernel_form(text, target);
  if (form) return {{"accepted", "", "", fmt::format("{}, known to kernels", form->kind)}, {}, {target}};
  Error refusal = form.error();
  if (refusal.seen == target.name()) {  // below the table, where the form need not be said again
    refusal.where = "it";
    refusal.seen = "these targets";
  }
  return {{"refused", "", "", ""}, refusal, {target}};
}

std::vector<Answer> answers(const std::string& text) {
  std::vector<Answer> out;
  for (const Target target : Target::all()) {
    Answer next = answer_of(text, target);
    const auto known = std::ranges::find_if(out, [&](const Answer& answer) { return same(answer, next); });
    if (known == out.end())
      out.push_back(std::move(next));
    else
      known->targets.push_back(target);
  }
  return out;
}

std::string painted(std::size_t column, const std::string& text) {
  constexpr int kGreen = 2, kRed = 1;
  if (column != 1 || (!text.starts_with("accepted") && !text.starts_with("refused"))) return text;
  return coloured(text, text.starts_with("accepted") ? kGreen : kRed);
}

// Why, below the table; numbered as in it if there are several reasons.
void print_reasons(const std::vector<Error>& refusals) {
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    const std::string heading = refusals.size() == 1 ? "refused: " : fmt::format("refused {}: ", i + 1);
    const std::vector<std::string> lines = broken(heading + printable(refusals[i].message()));
    fmt::print("{}{}\n", i == 0 ? "\n" : "", fmt::join(lines, "\n"));
  }
}

// All targets; one line if all of them refuse it for the same reason. Strictly, "yes" if none refuses it.
int check_all(const std::string& text, bool strict) {
  std::vector<Answer> all = answers(text);
  std::vector<Error> refusals;
  for (const Answer& answer : all)
    if (answer.refusal) refusals.push_back(*answer.refusal);
  if (all.size() == 1 && !refusals.empty()) {
    fmt::print("refused on every target: {}\n", printable(refusals[0].message()));
  } else {
    Table table{{"target", "answer", "evidence", "machine", "plan"}};
    std::size_t reason = 0;
    for (Answer& answer : all) {
      if (answer.refusal && refusals.size() > 1) answer.cells[0] += fmt::format(" {}", ++reason);
      table.push_back(joined({names(answer.targets)}, answer.cells));
    }
    print_narrow(table, painted);
    print_reasons(refusals);
  }
  if (refusals.size() < all.size()) return strict && !refusals.empty() ? kNo : kYes;
  suggest_forms(refusals.back(), text, std::nullopt);
  return kNo;
}

// What was seen in machine code, by target.
int check_machine(const std::string& text, const std::vector<Target>& targets) {
  Table table{{"target", "compiled to", "by the kind of its arithmetic"}};
  std::vector<Target> same;
  for (const Target target : targets) {
    const Result<Instruction> i = Instruction::parse(text, target);
    if (!i) continue;
    const std::optional<MachineCode> code = machine_code(i->canonical(), target);
    const Row cells{code ? warpbit::text(*code) : "-", i->machine()};
    if (same.empty() || !std::equal(cells.begin(), cells.end(), table.back().begin() + 1)) {
      same.clear();
      table.push_back(joined({""}, cells));
    }
    same.push_back(target);
    table.back()[0] = names(same);
  }
  if (table.size() == 1) return check_all(text, false);
  print(table, false);
  fmt::print("\n");
  print_fitted(fmt::format(
      "Compiled to: as seen when {} compiled a kernel with the instruction alone, from the bits of opcodes; another "
      "toolkit may compile otherwise",
      kMachineCodeToolkit));
  return kYes;
}

// ---- Lines

// target<TAB>form or statement[<TAB>operands]
struct BatchLine {
  std::size_t number;  // from 1
  std::string target = {}, text = {}, operands = {};
  std::optional<Error> refusal = {};
  bool has_operands = false;  ///< that nobody has looked at
};

BatchLine answered(std::size_t number, const std::string& line) {
  BatchLine out{number};
  std::istringstream in(line);
  std::getline(in, out.target, '\t');
  const bool has_text = !in.eof();
  std::getline(in, out.text, '\t');
  std::getline(in, out.operands);
  try {
    if (!has_text) refuse("line", "no tab", "target, tab, form or statement");
    const Target target = required(Target::find(out.target));
    const Result<Instruction> instruction = Instruction::parse(out.text, out.operands, target);
    if (instruction || Instruction::parse(out.text, target)) {
      required(instruction);
      return out;
    }
    out.has_operands = required(ptx::kernel_form(out.text, target)).has_operands;
    if (!out.operands.empty())
      refuse("operands", fmt::format("'{}'", out.operands),
             "none: those of scalar instructions are not looked at");
  } catch (const Refusal& refusal) {
    out.refusal = refusal.error;
  }
  return out;
}

void print_batch_line(const BatchLine& line, bool json) {
  if (json) {
    nlohmann::ordered_json out{
        {"line", line.number}, {"target", line.target}, {"text", line.text}, {"accepted", !line.refusal}};
    if (line.refusal) out["error"] = error_json(*line.refusal);
    return print_json_line("check-line", out);
  }
  fmt::print("line {}: {}\n", line.number,
             line.refusal        ? "refused: " + printable(line.refusal->message())
             : line.has_operands ? fmt::format("accepted; operands {}", kOperandsNotChecked)
                                 : "accepted");
}

// All lines of standard input. Whether any is refused.
bool check_batch(bool json) {
  bool refuses = false;
  std::size_t number = 0;
  for (std::string text; std::getline(std::cin, text);) {
    if (text.ends_with('\r')) text.pop_back();
    const BatchLine line = answered(++number, text);
    refuses = refuses || line.refusal;
    print_batch_line(line, json);
  }
  return refuses;
}

// Everything that is refused of a module of PTX.
int check_module(const std::string& file, std::optional<Target> target, bool json, const ReviewOutput& review) {
  const Result<ptx::Module> module = ptx::Module::load_file(file, target);
  if (!module && module.error().code == Errc::file_unreadable) throw Refusal{module.error()};
  const std::vector<Error> errors = module ? module->check() : std::vector{module.error()};
  const std::vector<ptx::AssemblerNote> notes = module ? module->notes() : std::vector<ptx::AssemblerNote>();
  if (json)
    print_json("check", module_json(file, module, errors));
  else
    for (const Error& error : errors) print_fitted(fmt::format("refused: {}", error.message()));
  if (errors.empty() && !json) {
    print_fitted(
        fmt::format("accepted on {}: {}", module->target().name(), fmt::join(module->entries(), ", ")));
    print_assembler_notes(notes);
  }
  std::vector<Remark> remarks = ptx::remarks(errors, file);
  std::ranges::move(ptx::remarks(notes, file), std::back_inserter(remarks));
  write_review(review, std::move(remarks));
  return errors.empty() ? kYes : kNo;
}

// ---- The command

struct CheckArguments {
  std::string text, target, module;
  bool batch = false, strict = false, machine = false, json = false;
  ReviewOutput review;
};

int check_json(const CheckArguments& o, const Result<AskedForm>& form) {
  const std::optional<Target> target = form ? form->target : find_target(o.target);
  const std::vector<Target> targets = target ? std::vector{*target} : Target::all();
  nlohmann::ordered_json out = answers_json(form ? form->text : o.text, targets);
  if (form && !form->short_form.empty()) out["short_form"] = form->short_form;
  print_json("check", out);
  const bool refuses =
      std::ranges::any_of(out["answers"], [](const auto& answer) { return !answer["accepted"]; });
  return out["accepted"] && !(o.strict && refuses) ? kYes : kNo;
}

int check(const CheckArguments& o) {
  if (o.batch) return check_batch(o.json) && o.strict ? kNo : kYes;
  if (!o.module.empty()) return check_module(o.module, find_target(o.target), o.json, o.review);
  if (o.review.is_wanted()) refuse("--sarif and --annotations", "no module", "a module (--ptx FILE)");
  if (o.text.empty()) refuse("check", "no form or statement", "one, or --batch, or --ptx");
  const Result<AskedForm> form = find_form(o.text, o.target);
  if (o.json) return check_json(o, form);
  if (!form) {
    const bool is_everywhere =
        form.error().code != Errc::ambiguous_form && o.target.empty() && o.text.find('@', 1) == o.text.npos;
    fmt::print("refused{}: {}\n", is_everywhere ? " on every target" : "", printable(form.error().message()));
    suggest_forms(form.error(), o.text, find_target(o.target));
    return kNo;
  }
  if (!form->short_form.empty())
    print_fitted(fmt::format("{} is short for {}{}", form->short_form, form->text,
                             form->text.starts_with("tcgen05.mma.kind") ? "" : "; ptxas takes that only"));
  if (o.machine) return check_machine(form->text, form->target ? std::vector{*form->target} : Target::all());
  return form->target ? check_one(form->text, *form->target) : check_all(form->text, o.strict);
}

}  // namespace

void add_check(CLI::App& command, int& status) {
  CheckArguments& o = add_arguments(command, status, check);
  CLI::Option* text = command.add_option("form", o.text, "a form, also short or FORM@TARGET, or a statement");
  CLI::Option* target = command.add_option("--target", o.target, "one target; all of them without it");
  command
      .add_flag(
          "--batch", o.batch,
          "answer each line of standard input, target<TAB>form or statement[<TAB>operands]; exit status 0, "
          "unless --strict is given")
      ->excludes(text, target);
  command.add_flag("--strict", o.strict,
                   "exit status 1 if anything is refused: a line, or the form on any target");
  CLI::Option* machine = command.add_flag(
      "--machine", o.machine, "show what it becomes in machine code, by target; --json has that always");
  command
      .add_option(
          "--ptx", o.module,
          "check a module of PTX instead: show all that ptxas or a launch would refuse, with line and column; on its "
          "own target unless one is given")
      ->excludes(text, machine);
  CLI::Option* json =
      add_json(command, o.json)
          ->description(
              "print JSON, of the schema check/1; with --batch a line for each, of the schema check-line/1");
  add_review(command, o.review, json);
  command.footer(
      examples({"warpbit check mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                "warpbit check mma.m16n8k32.f32.e4m3@H100", "warpbit check mma.m16n8k32.f32.e4m3 --machine",
                "warpbit check mma.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 --target sm_90",
                "printf 'sm_90a\\tcvt.rn.f16.f32\\n' | warpbit check --batch --strict"}));
}

}  // namespace warpbit::cli
