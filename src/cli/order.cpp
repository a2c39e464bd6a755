// SPDX-License-Identifier: Apache-2.0
// warpbit order
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/order_output.hpp"
#include "cli/order_sum.hpp"
#include "cli/parts.hpp"
#include "cli/terminal.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

constexpr double kEverything = 1e30;  // products

struct OrderArguments {
  std::string a, b, c, d, elements, target, types, form, known, shape, part;
  std::vector<std::string> kernels;
  double limit = FindOrderOptions().most_products;
  std::size_t top = FindOrderOptions().most_found;
  Shard shard;
  SumArguments sum;
  bool exhaustive = false, words = false, json = false;
};

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

// ---- Kernels' names

// "2x3x1" with its separator 'x'; 0 for what is no number.
std::vector<std::size_t> sizes_of(const std::string& typed, char separator) {
  std::vector<std::size_t> out;
  std::istringstream in(typed);
  for (std::string size; std::getline(in, size, separator);)
    out.push_back(number<std::size_t>(size).value_or(0));
  return out;
}
bool has_zero(const std::vector<std::size_t>& sizes) {
  return std::ranges::find(sizes, std::size_t{0}) != sizes.end();
}

// NAME@GRID, as a profiler shows it: @2,3,1 or @2x3x1; without, 1 block.
NamedLaunch launch_of(const std::string& typed) {
  const std::size_t at = typed.rfind('@');
  NamedLaunch out{typed.substr(0, at)};
  if (at == typed.npos) return out;
  const std::string grid = typed.substr(at + 1);
  const std::vector<std::size_t> sizes = sizes_of(grid, grid.find('x') == grid.npos ? ',' : 'x');
  if (sizes.empty() || sizes.size() > out.grid.size() || has_zero(sizes))
    refuse("--kernel", grid.empty() ? "no grid behind the @" : fmt::format("the grid {}", grid),
           "NAME@X,Y,Z: numbers of blocks; or NAME");
  std::ranges::copy(sizes, out.grid.begin());
  return out;
}

struct ProductShape {
  std::size_t rows = 0, columns = 0, depth = 0;
};
ProductShape shape_of(const std::string& typed) {
  const std::vector<std::size_t> sizes = sizes_of(typed, 'x');
  if (sizes.size() != 3 || has_zero(sizes))
    refuse("--shape", typed, "MxNxK: rows and columns of D, and the depth, as 64x128x4096");
  return {sizes[0], sizes[1], sizes[2]};
}

KernelOrder order_of_kernels(const OrderArguments& o, const Instruction& i, const SumOrder& known,
                             const ProductShape& shape) {
  NamedProduct product;
  product.a = i.find(Part::a)->format;
  product.b = i.find(Part::b)->format;
  product.d = format_of_result(i, known);
  product.rows = shape.rows, product.columns = shape.columns, product.depth = shape.depth;
  product.has_c = !o.c.empty() || known.c_last;
  product.alpha = known.alpha, product.beta = known.beta;
  for (const std::string& kernel : o.kernels) product.launches.push_back(launch_of(kernel));
  return required(kernel_order(product));
}

int print_kernel_order(const KernelOrder& named, bool as_json) {
  if (as_json)
    print_json("order", {{"kernel", named_json(named)}});
  else
    for (const std::string& line :
         {std::string("the kernel's name says"), fmt::format("  {}: {}", named.form, named.order.text())})
      print_fitted(line);
  return kYes;
}

// ---- Elements of D

// Lines of "row, column, value"; empty ones and those that begin with # are none.
std::vector<ResultElement> read_elements(const std::string& file, std::string_view format,
                                         std::vector<std::string>& notes) {
  std::ifstream in(file);
  if (!in) refuse(file, "no such file", "lines of row,column,value", Errc::file_unreadable);
  std::vector<ResultElement> out;
  std::size_t count = 0, rounded = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = fmt::format("{}:{}", file, ++count), given = line;
    std::ranges::replace_if(
        line, [](char c) { return c == ',' || c == ';' || c == '\r'; }, ' ');
    std::istringstream cells(line);
    std::string row, column, value, more;
    if (!(cells >> row) || row[0] == '#') continue;
    cells >> column >> value;
    const auto at_row = number<std::size_t>(row), at_column = number<std::size_t>(column);
    if (!at_row || !at_column || value.empty() || cells >> more)
      refuse(where, given, "row,column,value: two numbers from 0 and a number or code of D");
    const Result<EncodedNumber> code = parse_code(format, value);
    if (!code) refuse(where, code.error().seen, code.error().accepted, code.error().code);
    rounded += !code->is_exact;
    out.push_back({*at_row, *at_column, code->code});
  }
  if (out.empty()) refuse(file, "no elements", "lines of row,column,value");
  if (rounded != 0)
    notes.push_back(
        fmt::format("{}: {} numbers are not in {}, rounded to nearest even", file, rounded, format));
  return out;
}

// ---- The command

void require_files(const OrderArguments& o) {
  if (o.d.empty() == o.elements.empty())
    refuse("order", o.d.empty() ? "no --d" : "both --d and --elements", "--d or --elements, or --words");
  for (const auto& [name, file] : {std::pair("--a", &o.a), std::pair("--b", &o.b)})
    if (file->empty()) refuse("order", fmt::format("no {}", name), "--a, --b and --d, or --words");
}

// Puts the instruction and the order that the name tells in front.
void try_first(const KernelOrder& named, std::vector<Instruction>& instructions, FindOrderOptions& options) {
  const auto found = std::ranges::find(instructions, named.form,
                                       [](const Instruction& i) { return std::string(i.canonical()); });
  if (found != instructions.end())
    std::rotate(instructions.begin(), found, found + 1);
  else
    instructions.insert(instructions.begin(),
                        required(Instruction::parse(named.form, instructions[0].target())));
  options.first = {named.order};
}

OrderSearch searched(const std::vector<Instruction>& instructions, const FoundProduct& product,
                     FindOrderOptions options, bool shows) {
  ProgressBar bar(shows);
  options.progress = [&](std::uint64_t tried, std::uint64_t of) { bar.show(std::min(tried, of), of); };
  return required(find_order(instructions, product, options));
}

ordered_json question_of(const OrderArguments& o, const NamedOrder& named) {
  ordered_json out{{"a", o.a},         {"b", o.b},
                   {"d", o.d},         {"elements", o.elements},
                   {"c", o.c},         {"target", o.target},
                   {"types", o.types}, {"form", o.form},
                   {"order", o.known}, {"limit", o.exhaustive ? kEverything : o.limit},
                   {"top", o.top}};
  out["kernel"] = named_json(named);
  return out;
}

int answer_order(const OrderSearch& search, const NamedOrder& named, bool as_json) {
  print_search(search, named, as_json);
  return search.found.empty() ? kNo : kYes;
}

// The matrices of the question, in the formats of the first instruction.
class OrderFiles {
 public:
  OrderFiles(const OrderArguments& o, const Instruction& i) {
    a_.emplace(o.a, i.find(Part::a)->format, notes_);
    b_.emplace(o.b, i.find(Part::b)->format, notes_);
    if (!notes_.empty()) refuse_rounded(notes_[0]);
    require_order_size("b", *b_, shape().depth, shape().columns);
  }
  ProductShape shape() const { return {a_->matrix.rows, b_->matrix.columns, a_->matrix.columns}; }

  // C and what is known of D, whose formats the order tells.
  void read_results(const OrderArguments& o, const Instruction& i, const SumOrder& known) {
    const std::string of_d(format_of_result(i, known));
    const auto read = [&](std::string_view name, const std::string& file, std::string_view format,
                          std::optional<OrderMatrix>& to) {
      if (file.empty()) return;
      to.emplace(file, format, notes_);
      require_order_size(name, *to, shape().rows, shape().columns);
    };
    read("d", o.d, of_d, d_);
    read("c", o.c, known.c_last ? std::string_view(of_d) : i.operands()[0].format, c_);
    if (!d_) elements_ = read_elements(o.elements, of_d, notes_);
    // Text has the decimal numbers that are nearest to those of D.
    for (const std::string& note : notes_)
      if (note.find(".npy: ") != note.npos)
        refuse_rounded(note);
      else
        fmt::print(stderr, "warpbit: {}\n", note);
  }
  FoundProduct product() const {
    FoundProduct out{{shape().rows,
                      shape().columns,
                      shape().depth,
                      a_->view(),
                      b_->view(),
                      c_ ? c_->view() : MatrixView(),
                      {}},
                     elements_};
    if (d_)
      out.product.d = {const_cast<std::byte*>(d_->bytes.data()), static_cast<std::ptrdiff_t>(shape().columns),
                       1};
    return out;
  }

 private:
  // Other inputs have another D.
  [[noreturn]] static void refuse_rounded(const std::string& note) {
    refuse(
        "order", note,
        "A, B, C and D as the library had them: numbers of their formats, or codes (unsigned integers; int16 for "
        "bf16)");
  }

  std::vector<std::string> notes_;
  std::optional<OrderMatrix> a_, b_, c_, d_;
  std::vector<ResultElement> elements_;
};

// What the type of D's items says of the store.
std::string store_of_file(const std::string& file, const Instruction& i, const SumOrder& known) {
  if (!file.ends_with(".npy")) return "";
  const Array d = required(read_array(file));
  return required(store_of_items(i, known, d.header.kind, d.header.item_bytes));
}

// With --kernel alone: what the name says.
int answer_kernel(const OrderArguments& o, const Instruction& i, const SumOrder& known) {
  if (o.shape.empty()) refuse("order", "no --shape", "--shape MxNxK with --kernel, or --a, --b and --d");
  return print_kernel_order(order_of_kernels(o, i, known, shape_of(o.shape)), o.json);
}

int order_command(const OrderArguments& o) {
  if (!o.sum.reduction.empty()) return order_sum(o.sum, o.a, o.b, o.known, o.words, o.json);
  if (o.words) return print_order_words(sum_order_words(), o.json);
  const bool has_files = !(o.a + o.b + o.d + o.elements).empty();
  if (o.kernels.empty() || has_files) require_files(o);
  std::vector<Instruction> instructions = asked_instructions(o);
  const Instruction i = instructions[0];
  if (i.find(Part::a) == nullptr || i.find(Part::b) == nullptr)
    refuse(std::string(i.canonical()), "no product", "an instruction D = A B + C", Errc::view_mismatch);
  FindOrderOptions options;
  if (!o.known.empty()) options.known = required(SumOrder::parse(o.known));
  options.most_products = o.exhaustive ? kEverything : o.limit;
  options.most_found = o.top;
  options.shard = o.shard;
  if (!has_files) return answer_kernel(o, i, options.known);
  if (!o.shape.empty()) refuse("--shape", "it and matrices", "one of them");
  OrderFiles files(o, i);
  NamedOrder named;
  if (!o.kernels.empty()) {
    named = order_of_kernels(o, i, options.known, files.shape());
    options.known.c_last = options.known.c_last || named->order.c_last;
    try_first(*named, instructions, options);
  }
  if (options.known.store.empty()) options.known.store = store_of_file(o.d, i, options.known);
  files.read_results(o, i, options.known);
  const auto search = [&] { return searched(instructions, files.product(), options, !o.json); };
  if (o.part.empty()) return answer_order(search(), named, o.json);
  const ordered_json part =
      kept(o.part, {"order", question_of(o, named), o.shard}, [&] { return part_json(search()); });
  return read_part(o.part, [&] {
    const OrderSearch share = search_of(part);
    return answer_order(required(merge_orders(std::span(&share, 1))), named, o.json);
  });
}

}  // namespace

int merge_order(const MergeArguments& o, const std::vector<SavedPart>& parts) {
  return read_part(o.files[0], [&] {
    std::vector<OrderSearch> shares;
    for (const SavedPart& part : parts) shares.push_back(search_of(part.answer));
    return answer_order(required(merge_orders(shares)), named_of(parts[0].question.at("kernel")), o.json);
  });
}

void add_order(CLI::App& command, int& status) {
  OrderArguments& o = add_arguments(command, status, order_command);
  command.add_option("a,--a", o.a, "A as a whole matrix: .npy, or text with a row in each line");
  command.add_option("b,--b", o.b, "B, the same");
  command.add_option("d,--d", o.d, "what the library made of them");
  command.add_option("--c", o.c, "C; 0 unless given");
  command
      .add_option(
          "--elements", o.elements,
          "known elements instead of all of D: lines of row,column,value, both from 0, numbers or codes (0x3c00)")
      ->type_name("FILE");
  command
      .add_option(
          "--sum", o.sum.reduction,
          "a reduction of one array, A, to D, the second file: sum, mean, norm, softmax, layer_norm, rms_norm, logsumexp, "
          "log_softmax, cumsum, attention; all_reduce and "
          "all_reduce_mean, of A with a row for each rank")
      ->type_name("NAME");
  command
      .add_option("--axis", o.sum.axis,
                  "of --sum: which axis is summed, 1 or -1 the last one; all: one sum of all values")
      ->check(CLI::IsMember({"0", "1", "-1", "all"}))
      ->capture_default_str();
  command.add_option(
      "--epsilon", o.sum.epsilon,
      "of --sum layer_norm and rms_norm: what is added to the variance, or to the mean of squares");
  command.add_option("--v", o.sum.v, "of --sum attention: the values, a row for each column of A")
      ->type_name("FILE");
  command.add_option("--threads", o.sum.hints.threads, "of --sum: threads of a block, if they are known");
  command.add_option("--blocks", o.sum.hints.blocks, "of --sum: blocks that share a row, if they are known");
  command.add_option("--target", o.target, "the target on which it did");
  command.add_option("--types", o.types,
                     "the formats of A and B: f16, bf16, tf32, e4m3.e5m2, s8, f64; f32 without tensor cores");
  command.add_option("--form", o.form, "one form instead of all of these types");
  command.add_option(
      "--order", o.known,
      "what is known of the order, in words: only orders with all of them are tried (split_k=4 asks whether it was "
      "that); c=last, alpha=2, store=bf16 where the type of D does not say so");
  command
      .add_option(
          "--kernel", o.kernels,
          "a kernel that cuBLAS launched and its grid, NAME@X,Y,Z, as a profiler shows them; more of them in order. What "
          "the name says is tried first; without matrices it is printed")
      ->allow_extra_args(false)
      ->type_name("NAME@X,Y,Z");
  command
      .add_option("--shape", o.shape,
                  "with --kernel, without matrices: MxNxK, D's rows and columns and the depth")
      ->type_name("MxNxK");
  command.add_option("--top", o.top, "descriptions to list")->check(whole_number(1))->capture_default_str();
  CLI::Option* const limit =
      command
          .add_option("--limit", o.limit,
                      "try as many orders as compute about so many products of two numbers: some seconds")
          ->capture_default_str();
  command.add_flag("--exhaustive", o.exhaustive, "try all orders, for minutes where D is of none")
      ->excludes(limit);
  add_shard(command, o.shard, "try this share of the hypotheses");
  add_part(command, o.part);
  command.add_flag("--words", o.words, "list the words of an order");
  command.add_flag("--json", o.json, "print JSON");
  command.footer(examples(
      {"printf '1 2\\n3 4\\n' > a.csv && printf '7 10\\n15 22\\n' > d.csv && warpbit order a.csv a.csv d.csv "
       "--target H200 --types f16",
       "warpbit order --target H100 --types f16 --order store=f16 --shape 64x64x4096 --kernel "
       "nvjet_sm90_hsh_32x64_64x16_2x1_v_bz_splitK_NTN@2,3,1 --kernel splitKreduce_kernel",
       "warpbit order --words"}));
}

}  // namespace warpbit::cli
