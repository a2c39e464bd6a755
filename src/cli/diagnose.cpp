// SPDX-License-Identifier: Apache-2.0
// warpbit diagnose
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/capture.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct DiagnoseArguments {
  std::string what, arrays, target, a, b, c, d, store, memory;
  std::size_t top = 5;
  bool json = false, single = false, wanted = false;
};

ordered_json json(const Finding& f) {
  ordered_json out{{"kind", f.kind},         {"operand", f.operand},     {"mistake", f.mistake},
                   {"hint", f.hint},         {"explained", f.explained}, {"contradicted", f.contradicted},
                   {"elements", f.elements}, {"certain", f.certain}};
  if (f.order.empty()) return out;
  out["form"] = f.form;
  out["order"] = f.order;
  out["left_out"] = f.left_out;
  return out;
}

ordered_json json(const WrongPlaces& w) {
  ordered_json indices = ordered_json::array();
  for (const WrongIndices& i : w.indices)
    indices.push_back({{"index", i.index}, {"values", i.values}, {"size", i.size}, {"text", i.text}});
  return {{"wrong", w.wrong}, {"complete", w.is_complete}, {"text", w.text()}, {"indices", indices}};
}

void print_diagnosis_json(const Diagnosis& d, std::size_t top) {
  ordered_json findings = ordered_json::array();
  for (std::size_t i = 0; i < std::min(top, d.findings.size()); ++i) findings.push_back(json(d.findings[i]));
  ordered_json where = ordered_json::array();
  for (const WrongPlaces& w : d.where) where.push_back(json(w));
  print_json("diagnose", {{"verdict", name(d.verdict)},
                          {"text", d.text()},
                          {"statement", d.statement},
                          {"target", d.target},
                          {"inferred", d.inferred},
                          {"cases", d.cases},
                          {"elements", d.elements},
                          {"right", d.right},
                          {"hypotheses", d.hypotheses},
                          {"found", d.findings.size()},
                          {"findings", findings},
                          {"where", where}});
}

void print_diagnosis(const Diagnosis& d, std::size_t top) {
  print_fitted(d.text());
  for (const WrongPlaces& w : d.where) print_fitted(w.text());
  if (d.inferred) fmt::print("the arithmetic of {} is inferred, no hardware result\n", d.target);
  if (d.findings.empty() || top == 0) return;
  Table table{{"explained", "mistake", "look at"}};
  for (std::size_t i = 0; i < std::min(top, d.findings.size()); ++i) {
    const Finding& f = d.findings[i];
    table.push_back({fmt::format("{} of {}", f.explained, f.elements), f.mistake, f.hint});
  }
  print(table, false);
  if (d.findings.size() > top) fmt::print("and {} more (--top)\n", d.findings.size() - top);
}

// A matrix as gemm() takes it.
struct Items {
  CodeMatrix matrix;
  std::vector<std::byte> bytes = {};
  MatrixView view() const { return {bytes.data(), static_cast<std::ptrdiff_t>(matrix.columns), 1}; }
};
Items read_items(const std::string& file, std::string_view format, std::vector<std::string>& notes) {
  Items out{required(read_matrix(file, format, notes))};
  std::size_t bytes = 1;
  while (bytes * 8 < static_cast<std::size_t>(required(find_format_info(format)).bits)) bytes *= 2;
  out.bytes.resize(out.matrix.codes.size() * bytes);
  for (std::size_t i = 0; i < out.matrix.codes.size(); ++i)
    std::memcpy(out.bytes.data() + i * bytes, &out.matrix.codes[i], bytes);
  return out;
}

// Whole matrices.
Diagnosis diagnose_product(const DiagnoseArguments& o, const DiagnoseOptions& options) {
  const AskedForm form = asked_form(o.what, o.target);
  const std::pair<std::string_view, std::string_view> needed[] = {
      {"--target", form.target ? form.target->name() : ""}, {"--a", o.a}, {"--b", o.b}, {"--d", o.d}};
  for (const auto& [what, given] : needed)
    if (given.empty())
      refuse("diagnose", fmt::format("no {}", what), "matrices need a form, --target, --a, --b and --d");
  const Instruction i = instruction_of(form);
  const Operand *a = i.find(Part::a), *b = i.find(Part::b);
  if (a == nullptr || b == nullptr)
    refuse(std::string(i.canonical()), "no product", "an instruction D = A B + C", Errc::view_mismatch);
  const Operand& result = i.operands()[0];
  std::vector<std::string> notes;
  Items of_a = read_items(o.a, a->format, notes), of_b = read_items(o.b, b->format, notes),
        of_d = read_items(o.d, o.store.empty() ? result.format : o.store, notes), of_c;
  if (!o.c.empty()) of_c = read_items(o.c, result.format, notes);
  for (const std::string& note : notes) fmt::print(stderr, "warpbit: {}\n", note);
  const std::size_t rows = of_a.matrix.rows, columns = of_b.matrix.columns, depth = of_a.matrix.columns;
  const auto require_size = [&](std::string_view name, const Items& m, std::size_t m_rows,
                                std::size_t m_columns) {
    if (m.matrix.rows != m_rows || m.matrix.columns != m_columns)
      refuse(std::string(name), fmt::format("{} x {}", m.matrix.rows, m.matrix.columns),
             fmt::format("{} x {}", m_rows, m_columns), Errc::view_mismatch);
  };
  require_size("b", of_b, depth, columns);
  require_size("d", of_d, rows, columns);
  if (!o.c.empty()) require_size("c", of_c, rows, columns);
  return required(diagnose(i,
                           Gemm{rows,
                                columns,
                                depth,
                                of_a.view(),
                                of_b.view(),
                                o.c.empty() ? MatrixView{} : of_c.view(),
                                {of_d.bytes.data(), static_cast<std::ptrdiff_t>(columns), 1}},
                           options));
}

// tcgen05.mma on the memories in a file.
int diagnose_memory(const DiagnoseArguments& o) {
  const AskedForm form = asked_form(o.what, o.target);
  if (!form.target) refuse("diagnose", "no --target", "--memory needs a form, --target or FORM@TARGET");
  TensorDiagnoseOptions options;
  options.pairs = !o.single;
  if (o.wanted) options.d = TensorDiagnoseOptions::Compared::wanted;
  const TensorDiagnosis found = required(diagnose_tensor(instruction_of(form), o.memory, options));
  if (o.json) {
    print_diagnosis_json(found.diagnosis, o.top);
  } else {
    print_diagnosis(found.diagnosis, o.top);
    if (const std::size_t line = found.text().find('\n'); line != std::string::npos)
      fmt::print("{}\n", found.text().substr(line + 1));
  }
  return found.diagnosis.verdict == Verdict::correct ? kYes : kNo;
}

// Of a capture: bits below elements in bytes of their own, which the GPU reads with them (NUMERICS.md, "Padding").
void warn_of_padding(const std::string& file) {
  const CaptureReader capture = required(CaptureReader::open(file));
  const CaptureHeader& header = capture.header();
  const Result<Instruction> i = Instruction::parse(header.statement, required(Target::find_ptx(header.target)));
  for (const char* role : {"a", "b"}) {
    const Operand* const operand = i ? i->find(role[0] == 'a' ? Part::a : Part::b) : nullptr;
    if (operand == nullptr || operand->format != "e2m1" || operand->fragment.packing().slot_bits != 8) continue;
    const Array array = required(capture.read(role));
    for (std::uint64_t item = 0; item < array.header.items(); ++item)
      if ((array.at(item) & 0x03030303) != 0) {
        fmt::print(
            stderr,
            "warpbit: {} has bits below its elements of e2m1; the GPU reads bits 5 to 0 of a byte as e2m3\n",
            role);
        break;
      }
  }
}

// FORM FILE.npz: its arrays a, b and d, and c if there is one, as the matrices.
DiagnoseArguments with_arrays(DiagnoseArguments o) {
  if (o.arrays.empty()) return o;
  if (!(o.a + o.b + o.c + o.d).empty() || !o.memory.empty())
    refuse("diagnose", fmt::format("{} beside other operands", o.arrays),
           "an .npz with a, b and d, or options");
  if (!o.arrays.ends_with(".npz")) refuse(o.arrays, "another file", "an .npz with the arrays a, b and d");
  o.a = o.arrays + ":a", o.b = o.arrays + ":b", o.d = o.arrays + ":d";
  const std::string c = o.arrays + ":c";
  if (const Result<Array> there = read_array(c); there || there.error().code != Errc::usage) o.c = c;
  return o;
}

// Of an .npz that is no capture, how it is one of matrices.
Diagnosis diagnose_file(const std::string& file, const DiagnoseOptions& options) {
  Result<Diagnosis> out = diagnose(file, options);
  if (out || out.error().code != Errc::member_missing) return required(std::move(out));
  Error error = out.error();
  error.accepted += fmt::format(
      "; of matrices a, b and d a form before it: warpbit diagnose mma.m16n8k16.f32.f16@H100 {}", file);
  throw Refusal{error};
}

int diagnose_command(const DiagnoseArguments& given) {
  const DiagnoseArguments o = with_arrays(given);
  if (!o.memory.empty()) return diagnose_memory(o);
  DiagnoseOptions options;
  options.pairs = !o.single;
  options.target = find_target(o.target);
  options.store = o.store;
  const bool is_file = (o.a + o.b + o.c + o.d).empty();
  const Diagnosis d = is_file ? diagnose_file(o.what, options) : diagnose_product(o, options);
  if (is_file) warn_of_padding(o.what);
  (o.json ? print_diagnosis_json : print_diagnosis)(d, o.top);
  return d.verdict == Verdict::correct ? kYes : kNo;
}

}  // namespace

void add_diagnose(CLI::App& command, int& status) {
  DiagnoseArguments& o = add_arguments(command, status, diagnose_command);
  command
      .add_option(
          "file", o.what,
          "a capture of the layout registers, of an instruction D = A B + C; with matrices or --memory a form (mma, wgmma; tcgen05.mma), also short or FORM@TARGET")
      ->required();
  command.add_option("arrays", o.arrays,
                     "behind a form: an .npz with the matrices a, b and d, and c where there is one");
  command.add_option("--a", o.a, "A as a whole matrix: .npy, FILE.npz:NAME, or text with a row in each line");
  command.add_option("--b", o.b, "B, the same");
  command.add_option("--c", o.c, "C; 0 unless given");
  CLI::Option* const d = command.add_option("--d", o.d, "the kernel's D");
  command
      .add_option("--store", o.store,
                  "the format of D, where the kernel rounds its sums to another: f16, bf16, ...")
      ->needs(d);
  CLI::Option* const memory = command.add_option(
      "--memory", o.memory,
      "of a tcgen05.mma: an .npz with shared (bytes), tensor (128 x 512 words), of a pair both blocks', d (32 bits "
      "an item), and the operands' values: d_tmem, a_desc, b_desc, idesc, enable_input_d, ...");
  command
      .add_flag("--wanted", o.wanted, "d of --memory is what it should be, and the operands are the kernel's")
      ->needs(memory);
  command.add_option("--target", o.target, "the target that the kernel ran on, instead of the one in the file");
  command.add_option("--top", o.top, "findings to show")->check(whole_number(0))->capture_default_str();
  command.add_flag("--single", o.single, "try no pairs of mistakes");
  command.add_flag("--json", o.json, "print JSON");
  command.footer(examples(
      {"warpbit diagnose golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz",
       "warpbit diagnose golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz "
       "--target sm_80 --single",
       "printf '1 2\\n3 4\\n' > a.csv && printf '7 15\\n10 22\\n' > d.csv && warpbit diagnose "
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 --target sm_90 --a a.csv --b a.csv --d d.csv"}));
}

}  // namespace warpbit::cli
