// SPDX-License-Identifier: Apache-2.0
// warpbit order
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"
#include "warpbit/run.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct OrderArguments {
  std::string a, b, c, d, target, types, form, known;
  double limit = FindOrderOptions().most_products;
  std::size_t top = FindOrderOptions().most_found;
  Shard shard;
  bool words = false, json = false;
};

ordered_json found_json(const FoundOrder& f) {
  ordered_json out{{"form", f.instruction.canonical()},
                   {"order", f.order.text()},
                   {"equal", f.equal},
                   {"elements", f.elements},
                   {"left_out", f.left_out}};
  if (f.first_wrong)
    out["first_wrong"] = {{"row", f.first_wrong->row},
                          {"column", f.first_wrong->column},
                          {"given", fmt::format("{:#x}", f.first_wrong->code)},
                          {"computed", fmt::format("{:#x}", f.computed)}};
  return out;
}

void print_search(const OrderSearch& search, bool as_json) {
  if (!as_json) {
    const std::string text = search.text();
    for (std::size_t first = 0; first < text.size();) {
      const std::size_t end = std::min(text.find('\n', first), text.size());
      print_fitted(text.substr(first, end - first));
      first = end + 1;
    }
    return;
  }
  ordered_json found = ordered_json::array(), nearest = ordered_json::array();
  for (const FoundOrder& f : search.found) found.push_back(found_json(f));
  for (const FoundOrder& f : search.nearest) nearest.push_back(found_json(f));
  print_json("order", {{"found", found},
                       {"nearest", nearest},
                       {"tried", search.tried},
                       {"complete", search.complete},
                       {"inferred", search.inferred}});
}

int print_words(bool as_json) {
  Table table{{"word", "meaning"}};
  ordered_json list = ordered_json::array();
  for (const SumOrderWord& w : sum_order_words()) {
    table.push_back({w.name.empty() ? std::string(w.values) : fmt::format("{}={}", w.name, w.values),
                     std::string(w.meaning)});
    list.push_back({{"name", w.name}, {"values", w.values}, {"meaning", w.meaning}});
  }
  if (as_json)
    print_json("order", {{"words", list}});
  else
    print(table, false);
  return kYes;
}

// A matrix as gemm() takes it.
struct OrderMatrix {
  OrderMatrix(const std::string& file, std::string_view format, std::vector<std::string>& notes)
      : matrix(required(read_matrix(file, format, notes))), bytes(matrix_items(matrix, format)) {}
  MatrixView view() const { return {bytes.data(), static_cast<std::ptrdiff_t>(matrix.columns), 1}; }

  CodeMatrix matrix;
  std::vector<std::byte> bytes;
};

void require_order_size(std::string_view name, const OrderMatrix& m, std::size_t rows, std::size_t columns) {
  if (m.matrix.rows != rows || m.matrix.columns != columns)
    refuse(std::string(name), fmt::format("{} x {}", m.matrix.rows, m.matrix.columns),
           fmt::format("{} x {}", rows, columns), Errc::view_mismatch);
}

std::vector<Instruction> asked_instructions(const OrderArguments& o) {
  if (!o.form.empty()) return {instruction_of(asked_form(o.form, o.target))};
  const std::optional<Target> target = find_target(o.target);
  if (!target) refuse("order", "no --target", "the target on which D was computed");
  const std::size_t dot = std::min(o.types.find('.'), o.types.size());
  const std::string left = o.types.substr(0, dot),
                    right = dot == o.types.size() ? left : o.types.substr(dot + 1);
  if (left.empty()) refuse("order", "no --types", "the formats of A and B (f16, e4m3.e5m2), or --form");
  return required(instructions_of_products(left, right, *target));
}

int order_command(const OrderArguments& o) {
  if (o.words) return print_words(o.json);
  for (const auto& [name, file] : {std::pair("--a", &o.a), std::pair("--b", &o.b), std::pair("--d", &o.d)})
    if (file->empty()) refuse("order", fmt::format("no {}", name), "--a, --b and --d, or --words");
  const std::vector<Instruction> instructions = asked_instructions(o);
  const Instruction& i = instructions[0];
  if (i.find(Part::a) == nullptr || i.find(Part::b) == nullptr)
    refuse(std::string(i.canonical()), "no product", "an instruction D = A B + C", Errc::view_mismatch);
  FindOrderOptions options;
  if (!o.known.empty()) options.known = required(SumOrder::parse(o.known));
  options.most_products = o.limit;
  options.most_found = o.top;
  options.shard = o.shard;
  std::vector<std::string> notes;
  const auto format_of_factor = [&](Part part) {
    const std::string_view format = i.find(part)->format;
    return format == "tf32" ? std::string_view("f32") : format;  // its items are f32, whose low bits may count
  };
  const std::string_view of_d = format_of_result(i, options.known);
  const OrderMatrix a(o.a, format_of_factor(Part::a), notes), b(o.b, format_of_factor(Part::b), notes),
      d(o.d, of_d, notes);
  std::optional<OrderMatrix> c;
  if (!o.c.empty()) c.emplace(o.c, options.known.c_last ? of_d : i.operands()[0].format, notes);
  for (const std::string& note : notes) fmt::print(stderr, "warpbit: {}\n", note);
  const std::size_t rows = a.matrix.rows, depth = a.matrix.columns, columns = b.matrix.columns;
  require_order_size("b", b, depth, columns);
  require_order_size("d", d, rows, columns);
  if (c) require_order_size("c", *c, rows, columns);
  FoundProduct product{{rows, columns, depth, a.view(), b.view(), c ? c->view() : MatrixView(), {}}};
  product.product.d = {const_cast<std::byte*>(d.bytes.data()), static_cast<std::ptrdiff_t>(columns), 1};
  const OrderSearch search = required(find_order(instructions, product, options));
  print_search(search, o.json);
  return search.found.empty() ? kNo : kYes;
}

}  // namespace

void add_order(CLI::App& command, int& status) {
  OrderArguments& o = add_arguments(command, status, order_command);
  command.add_option("a,--a", o.a, "A as a whole matrix: .npy, or text with a row in each line");
  command.add_option("b,--b", o.b, "B, the same");
  command.add_option("d,--d", o.d, "what the library made of them");
  command.add_option("--c", o.c, "C; 0 unless given");
  command.add_option("--target", o.target, "the target on which it did");
  command.add_option("--types", o.types, "the formats of A and B: f16, bf16, tf32, e4m3.e5m2, s8, f64");
  command.add_option("--form", o.form, "one form instead of all of these types");
  command.add_option(
      "--order", o.known,
      "what is known of the order, in words: store=f16 where D is f16; c=last, alpha=2; the others "
      "are tried first");
  command.add_option("--top", o.top, "descriptions to list")->check(whole_number(1))->capture_default_str();
  command.add_option("--limit", o.limit, "about how many products of two numbers to compute")
      ->capture_default_str();
  add_shard(command, o.shard, "try this share of the hypotheses");
  command.add_flag("--words", o.words, "list the words of an order");
  command.add_flag("--json", o.json, "print JSON");
  command.footer(examples(
      {"printf '1 2\\n3 4\\n' > a.csv && printf '7 10\\n15 22\\n' > d.csv && warpbit order a.csv a.csv d.csv "
       "--target H200 --types f16",
       "warpbit order --words"}));
}

}  // namespace warpbit::cli
