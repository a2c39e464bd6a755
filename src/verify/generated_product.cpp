// SPDX-License-Identifier: Apache-2.0
// A product of matrices whose operands a generator makes again (src/recording/FORMAT.md says how): elements of D at sampled places,
// and the digest of a small D, in the order that the names of the library's kernels tell.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "capture/text.hpp"
#include "recording/fields.hpp"
#include "verify/kinds.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/inputs.hpp"

namespace warpbit::verification {
namespace {

using recording::Fields;
using Places = std::vector<std::uint64_t>;

// ---- The generator

struct Type {
  std::string_view name;
  unsigned bits, exponent, fraction;  // an exponent of 0: integers

  std::size_t bytes() const { return bits / 8; }
  std::uint64_t ones(unsigned width) const { return (std::uint64_t{1} << width) - 1; }
};
constexpr Type kTypes[] = {{"f16", 16, 5, 10}, {"bf16", 16, 8, 7}, {"f32", 32, 8, 23}, {"e4m3", 8, 4, 3},
                           {"e5m2", 8, 5, 2},  {"s8", 8, 0, 0},    {"s32", 32, 0, 0}};
constexpr const Type& kSingle = kTypes[2];

/// Of a product, numbered as the generator has them.
enum class Factor : std::uint64_t { a, b, c, bias, a_scale, b_scale };

std::uint64_t element(const Type& t, std::uint64_t place, std::uint64_t seed, Factor factor) {
  const std::uint64_t x = inputs::mix(place, 16 * seed + static_cast<std::uint64_t>(factor));
  if (t.exponent == 0) return x & t.ones(t.bits);
  const std::uint64_t sign = factor >= Factor::a_scale ? 0 : x >> 63,
                      exponent = (x >> 40 & 7) - 4 + (t.ones(t.exponent) >> 1);
  return sign << (t.bits - 1) | exponent << t.fraction | (x & t.ones(t.fraction));
}

// ---- A record

struct Run {
  std::string profile, digest, d;
  bool is_stable = true;

  bool is_mirrored() const { return profile == "mirrored"; }
};

struct Generated {
  std::string op, scales, target;
  const Type *a = nullptr, *b = nullptr, *d = nullptr;
  std::uint64_t seed = 0;
  NamedProduct named;
  Places items, rows, columns;  // of D, that are sampled
  std::vector<Run> runs;

  /// Few enough to compute all of D.
  bool is_small() const {
    constexpr double kMostProducts = 1 << 24;
    return static_cast<double>(named.batch) * static_cast<double>(named.rows) *
               static_cast<double>(named.columns) * static_cast<double>(named.depth) <=
           kMostProducts;
  }
};

const Type* read_type(const Fields& fields, const std::string& member) {
  const std::string name = fields.text(member);
  const auto* const found = std::ranges::find(kTypes, name, &Type::name);
  if (found == std::end(kTypes))
    fields.refuse(member, fmt::format("'{}'", name), "f16, bf16, f32, e4m3, e5m2, s8 or s32");
  return found;
}

std::size_t read_extent(const Fields& fields, const std::string& member, std::uint64_t if_absent = 0) {
  constexpr std::uint64_t kMost = 0x7FFF'FFFF;
  const std::uint64_t out = if_absent != 0 ? fields.number_or(member, if_absent) : fields.number(member);
  if (out == 0 || out > kMost) fields.refuse(member, fmt::format("{}", out), "a number from 1 to 2^31 - 1");
  return out;
}

Places read_places(const Fields& fields, const std::string& member, std::uint64_t extent) {
  Places out = fields.numbers(member);
  for (const std::uint64_t place : out)
    if (place >= extent)
      fields.refuse(member, fmt::format("{}", place), fmt::format("numbers below {}", extent));
  return out;
}

std::string read_word(const Fields& fields, const std::string& member, std::string word,
                      std::initializer_list<std::string_view> words) {
  if (std::ranges::find(words, word) == words.end())
    fields.refuse(member, fmt::format("'{}'", word), fmt::format("{}", fmt::join(words, ", ")));
  return word;
}

std::vector<Run> read_runs(const Fields& fields, const Generated& product) {
  std::vector<Run> out;
  for (const Fields& one : fields.objects("runs")) {
    const std::string profile = read_word(one, "profile", one.text("profile"), {"plain", "mirrored", "ones"});
    if (profile == "ones") continue;
    out.push_back({profile, one.text("digest"), one.text("d"), one.optional_flag("same").value_or(true)});
    const std::size_t digits =
        product.d->bits / 4 * product.items.size() * product.rows.size() * product.columns.size();
    for (const auto& [member, text, count] :
         {std::tuple("digest", &out.back().digest, std::size_t{16}), {"d", &out.back().d, digits}})
      if (text->size() != count || text->find_first_not_of("0123456789abcdef") != text->npos)
        one.refuse(member, fmt::format("'{}'", capture::excerpt(*text)),
                   fmt::format("{} hexadecimal digits", count));
  }
  return out;
}

Generated read_generated(const Fields& fields) {
  Generated out;
  out.op = read_word(fields, "op", fields.text("op"), {"mm", "bmm", "addmm", "bias", "scaled_mm", "int_mm"});
  out.scales = read_word(fields, "scales", fields.text_or_empty("scales"),
                         {"", "one", "scalar", "rows", "blocks", "strips"});
  out.a = read_type(fields, "a"), out.b = read_type(fields, "b"), out.d = read_type(fields, "d");
  out.target = fields.text_or_empty("target");
  out.seed = fields.number("seed");
  NamedProduct& named = out.named;
  const bool is_tf32 = fields.optional_flag("tf32").value_or(false);
  named.a = is_tf32 ? "tf32" : out.a->name, named.b = is_tf32 ? "tf32" : out.b->name, named.d = out.d->name;
  named.rows = read_extent(fields, "m"), named.columns = read_extent(fields, "n");
  named.depth = read_extent(fields, "k"), named.batch = read_extent(fields, "batch", 1);
  named.has_c = out.op == "addmm";
  named.alpha = static_cast<float>(fields.real_or("alpha", 1));
  named.beta = static_cast<float>(fields.real_or("beta", 0));
  named.has_scales = !out.scales.empty() && out.scales != "one";
  for (const Fields& one : fields.objects("kernels")) {
    const Dim3 grid = one.optional_extent("grid").value_or(Dim3{});
    named.launches.push_back({one.text("name"), {grid.x, grid.y, grid.z}});
  }
  out.items = read_places(fields, "items", named.batch);
  out.rows = read_places(fields, "rows", named.rows);
  out.columns = read_places(fields, "columns", named.columns);
  out.runs = read_runs(fields, out);
  return out;
}

// ---- Operands

/// Codes of elements, row by row.
struct Matrix {
  Matrix() = default;
  Matrix(const Type& t, std::size_t m, std::size_t n) : item(t.bytes()), columns(n), bytes(m * n * t.bytes()) {}

  void set(std::size_t i, std::uint64_t code) { std::memcpy(&bytes[i * item], &code, item); }
  std::uint64_t get(std::size_t i) const {
    std::uint64_t out = 0;
    std::memcpy(&out, &bytes[i * item], item);
    return out;
  }
  MatrixView view() const {
    return bytes.empty() ? MatrixView() : MatrixView{bytes.data(), static_cast<std::ptrdiff_t>(columns), 1};
  }

  std::size_t item = 0, columns = 0;
  std::vector<std::byte> bytes;
};

// Rows of A, or columns of B, each as a row of K elements.
Matrix lines(const Generated& p, Factor factor, bool is_mirrored, std::uint64_t item, const Places& places) {
  const bool is_left = factor == Factor::a;
  const Type& t = is_left ? *p.a : *p.b;
  const std::uint64_t depth = p.named.depth, height = is_left ? p.named.rows : depth,
                      width = is_left ? depth : p.named.columns;
  Matrix out(t, places.size(), depth);
  for (std::size_t line = 0; line < places.size(); ++line)
    for (std::uint64_t i = 0; i < depth; ++i) {
      const bool is_twin = is_mirrored && i >= depth - depth / 2;
      const std::uint64_t k = is_twin ? depth - 1 - i : i, row = is_left ? places[line] : k,
                          column = is_left ? k : places[line];
      const std::uint64_t code = element(t, (item * height + row) * width + column, p.seed, factor);
      out.set(line * depth + i, is_twin && is_left ? code ^ std::uint64_t{1} << (t.bits - 1) : code);
    }
  return out;
}

// A generated matrix at some rows and columns; `place(row, column)` is that of an element.
template <class Place>
Matrix made(const Type& t, std::uint64_t seed, Factor factor, const Places& rows, const Places& columns,
            Place place) {
  Matrix out(t, rows.size(), columns.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j)
      out.set(i * columns.size() + j, element(t, place(rows[i], columns[j]), seed, factor));
  return out;
}

/// What a product has beside A and B, at sampled places; empty where it has none.
struct Extras {
  Matrix c, bias, a_scale, b_scale;
};

Extras extras(const Generated& p, const Places& rows, const Places& columns) {
  constexpr std::uint64_t kDeep = 128;  // of a block that has one factor
  Extras out;
  const auto make = [&](const Type& t, Factor factor, const Places& high, const Places& wide, auto place) {
    return made(t, p.seed, factor, high, wide, place);
  };
  const Places one = {0};
  if (p.named.has_c)
    out.c = make(*p.d, Factor::c, rows, columns, [&](auto i, auto j) { return i * p.named.columns + j; });
  if (p.op == "bias") out.bias = make(*p.d, Factor::bias, one, columns, [](auto, auto j) { return j; });
  if (p.scales == "scalar" || p.scales == "rows") {
    const std::uint64_t step = p.scales == "rows";
    out.a_scale = make(kSingle, Factor::a_scale, rows, one, [&](auto i, auto) { return step * i; });
    out.b_scale = make(kSingle, Factor::b_scale, one, columns, [&](auto, auto j) { return step * j; });
  } else if (p.named.has_scales) {
    const std::uint64_t blocks = p.named.depth / kDeep, wide = p.scales == "blocks" ? kDeep : 1;
    Places all(blocks);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    out.a_scale = make(kSingle, Factor::a_scale, rows, all, [&](auto i, auto k) { return i * blocks + k; });
    out.b_scale =
        make(kSingle, Factor::b_scale, all, columns, [&](auto k, auto j) { return j / wide * blocks + k; });
  }
  return out;
}

// ---- The product

/// What the names of the kernels tell.
struct ToldWay {
  Instruction instruction;
  SumOrder order;
};

Result<Matrix> computed(const Generated& p, const ToldWay& way, bool is_mirrored, std::uint64_t item,
                        const Places& rows, const Places& columns) {
  const Matrix a = lines(p, Factor::a, is_mirrored, item, rows),
               b = lines(p, Factor::b, is_mirrored, item, columns);
  const Extras beside = extras(p, rows, columns);
  Matrix out(*p.d, rows.size(), columns.size());
  Gemm problem;
  problem.rows = rows.size(), problem.columns = columns.size(), problem.depth = p.named.depth;
  problem.a = a.view();
  problem.b = {b.bytes.data(), 1, static_cast<std::ptrdiff_t>(p.named.depth)};
  problem.c = beside.c.view(), problem.bias = beside.bias.view();
  if (problem.bias.data != nullptr) problem.bias.row_stride = 0;
  problem.a_scale = beside.a_scale.view(), problem.b_scale = beside.b_scale.view();
  problem.d = {out.bytes.data(), static_cast<std::ptrdiff_t>(columns.size()), 1};
  GemmOptions options;
  options.order = way.order;
  options.execute.threads = 1;
  if (const auto done = gemm(way.instruction, problem, options); !done) return done.error();
  return out;
}

// The sampled elements of a run.
Result<void> compare_sample(const Generated& p, const ToldWay& way, const Run& run, FileReport& report) {
  const std::size_t digits = p.d->bits / 4, count = p.rows.size() * p.columns.size();
  for (std::size_t i = 0; i < p.items.size(); ++i) {
    const Result<Matrix> d = computed(p, way, run.is_mirrored(), p.items[i], p.rows, p.columns);
    if (!d) return d.error();
    for (std::size_t j = 0; j < count; ++j) {
      const std::string_view expected = std::string_view(run.d).substr((i * count + j) * digits, digits);
      const std::string got = fmt::format("{:0{}x}", d->get(j), digits);
      ++report.elements;
      if (got == expected) continue;
      if (report.mismatches++ == 0)
        report.notes.push_back(fmt::format("{}: item {} row {} column {}: expected 0x{}, got 0x{}", run.profile,
                                           p.items[i], p.rows[j / p.columns.size()],
                                           p.columns[j % p.columns.size()], expected, got));
    }
  }
  return {};
}

// All of D.
Result<void> compare_digest(const Generated& p, const ToldWay& way, const Run& run, FileReport& report) {
  Places rows(p.named.rows), columns(p.named.columns);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  std::iota(columns.begin(), columns.end(), std::uint64_t{0});
  const std::uint64_t size = rows.size() * columns.size();
  std::uint64_t digest = 0;
  for (std::uint64_t item = 0; item < p.named.batch; ++item) {
    const Result<Matrix> d = computed(p, way, run.is_mirrored(), item, rows, columns);
    if (!d) return d.error();
    for (std::uint64_t i = 0; i < size; ++i) digest += inputs::mix(item * size + i, d->get(i));
  }
  report.elements += p.named.batch * size;
  const std::string got = fmt::format("{:016x}", digest);
  if (got == run.digest) return {};
  ++report.mismatches;
  report.notes.push_back(
      fmt::format("{}: the digest of D differs: expected 0x{}, got 0x{}", run.profile, run.digest, got));
  return {};
}

// Kernels of CUDA cores take f32 as it is, though the library was allowed to round it.
Result<KernelOrder> order_of(NamedProduct named) {
  const Result<KernelOrder> told = kernel_order(named);
  if (told || named.a != "tf32") return told;
  named.a = named.b = "f32";
  const Result<KernelOrder> on_cuda_cores = kernel_order(named);
  return on_cuda_cores ? on_cuda_cores : told;
}

}  // namespace

Result<FileStatus> verify_generated_product(const Subject& subject, FileReport& report) {
  const Result<Generated> product =
      recording::reading([&] { return read_generated(recording::fields_of(subject.record)); });
  if (!product) return product.error();
  report.header.statement = product->op;
  const Result<Target> target = subject.target(product->target);
  if (!target) return target.error();
  report.target = target->name();
  const Result<KernelOrder> told = order_of(product->named);
  if (!told) {
    report.notes.push_back(told.error().message());
    return FileStatus::not_reproducible;
  }
  Result<Instruction> instruction = Instruction::parse(told->form, *target);
  if (!instruction) return instruction.error();
  const ToldWay way{*std::move(instruction), told->order};
  report.inferred = way.instruction.inferred();
  report.notes.push_back(fmt::format("by {}, {}", way.instruction.canonical(), way.order.text()));
  for (const Run& run : product->runs) {
    if (const auto done = compare_sample(*product, way, run, report); !done) return done.error();
    if (product->is_small())
      if (const auto done = compare_digest(*product, way, run, report); !done) return done.error();
    report.may_differ |= !run.is_stable;
    ++report.cases;
  }
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
