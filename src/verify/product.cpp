// SPDX-License-Identifier: Apache-2.0
// A product of matrices that a library computed: in the order that the names of its kernels tell, or else in one that explains D.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "recording/fields.hpp"
#include "verify/kinds.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"

namespace warpbit::verification {
namespace {

using Bytes = std::vector<std::byte>;

/// A matrix, or a batch of them: what the GPU had, and what this program has.
struct Matrices {
  const RecordedMatrix* recorded = nullptr;
  std::size_t item = 0, batch = 1, rows = 1, columns = 1;
  std::ptrdiff_t batch_stride = 0, row_stride = 0, column_stride = 0;
  Bytes gpu, here;

  bool exists() const { return recorded != nullptr; }
  MatrixView view(const Bytes& bytes, std::size_t number) const {
    if (!exists()) return {};
    return {
        bytes.data() + static_cast<std::ptrdiff_t>(item) * batch_stride * static_cast<std::ptrdiff_t>(number),
        row_stride, column_stride};
  }
};

std::size_t bytes_of(std::string_view format) {
  return static_cast<std::size_t>(find_format_info(format).value().bits + 7) / 8;
}

// How many elements lie from the one with index 0 to the last.
std::uint64_t extent_of(const RecordedMatrix& matrix) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < matrix.shape.size(); ++i) {
    if (matrix.shape[i] == 0) return 0;
    last += (matrix.shape[i] - 1) * matrix.strides[i];
  }
  return last + 1;
}

Result<Matrices> read_matrices(const Subject& subject, const RecordedMatrix& from, std::string_view role,
                               FileReport& report) {
  Matrices out;
  out.recorded = &from;
  out.item = bytes_of(from.format);
  const auto extent = [&](std::size_t from_end, std::size_t& size, std::ptrdiff_t& stride) {
    if (from.shape.size() < from_end) return;
    size = from.shape[from.shape.size() - from_end];
    stride = static_cast<std::ptrdiff_t>(from.strides[from.shape.size() - from_end]);
  };
  extent(1, out.columns, out.column_stride);
  extent(2, out.rows, out.row_stride);
  extent(3, out.batch, out.batch_stride);
  Result<Bytes> data = subject.recording.data(from.data);
  if (!data) return data.error();
  const std::uint64_t needed = extent_of(from) * out.item;
  if (needed == 0 || data->size() < needed)
    return Error{
        Errc::record_malformed, fmt::format("line {}: {}", subject.record.line, role),
        fmt::format("data of {} bytes", data->size()),
        fmt::format("at least {} bytes, for an element or more", std::max<std::uint64_t>(needed, out.item))};
  out.gpu = *std::move(data);
  out.here = out.gpu;
  if (subject.carried != nullptr && from.address && role != "d")
    if (const auto changed = subject.carried->carry(*from.address, out.here); !changed.empty())
      report.notes.push_back(fmt::format(
          "{} bytes of {} were changed before it by what is not recorded, and come from the recording",
          changed.size(), role));
  return out;
}

/// A product with its operands.
struct Product {
  RecordedProduct recorded;
  Matrices a, b, c, bias, a_scale, b_scale, d;

  std::size_t depth() const { return a.columns; }
};

bool is_all_one(const Matrices& scale) {
  for (std::size_t i = 0; i + 4 <= scale.gpu.size(); i += 4) {
    float factor = 0;
    std::memcpy(&factor, &scale.gpu[i], 4);
    if (factor != 1) return false;
  }
  return true;
}

Result<void> read_optional(const Subject& subject, const std::optional<RecordedMatrix>& from,
                           std::string_view role, FileReport& report, Matrices& to) {
  if (!from) return {};
  Result<Matrices> read = read_matrices(subject, *from, role, report);
  if (!read) return read.error();
  to = *std::move(read);
  return {};
}

Result<void> read_operands(const Subject& subject, FileReport& report, Product& out) {
  const RecordedProduct& r = out.recorded;
  for (const auto& [from, to, role] :
       {std::tuple{&r.a, &out.a, "a"}, {&r.b, &out.b, "b"}, {&r.d, &out.d, "d"}}) {
    Result<Matrices> read = read_matrices(subject, *from, role, report);
    if (!read) return read.error();
    *to = *std::move(read);
  }
  for (const auto& [from, to, role] : {std::tuple{&r.c, &out.c, "c"},
                                       {&r.bias, &out.bias, "bias"},
                                       {&r.a_scale, &out.a_scale, "scale_a"},
                                       {&r.b_scale, &out.b_scale, "scale_b"}})
    if (const auto done = read_optional(subject, *from, role, report, *to); !done) return done.error();
  // A row for all rows is a bias; factors that are all one change nothing.
  if (out.c.exists() && out.c.recorded->shape.size() == 1 && !out.bias.exists()) std::swap(out.c, out.bias);
  for (Matrices* const scale : {&out.a_scale, &out.b_scale})
    if (scale->exists() && is_all_one(*scale)) *scale = {};
  const bool fits = out.a.columns == out.b.rows && out.d.rows == out.a.rows && out.d.columns == out.b.columns &&
                    out.a.batch == out.d.batch && out.b.batch == out.d.batch;
  if (!fits)
    return Error{Errc::record_malformed, fmt::format("line {}: shapes", subject.record.line),
                 fmt::format("A of {} x {}, B of {} x {}, D of {} x {}", out.a.rows, out.a.columns, out.b.rows,
                             out.b.columns, out.d.rows, out.d.columns),
                 "A with as many columns as B has rows, D with the rows of A and the columns of B"};
  return {};
}

// One product of the batch; `here`: of what this program has.
Gemm gemm_of(const Product& p, std::size_t number, bool here) {
  const auto view = [&](const Matrices& m) { return m.view(here ? m.here : m.gpu, m.batch == 1 ? 0 : number); };
  Gemm out;
  out.rows = p.d.rows, out.columns = p.d.columns, out.depth = p.depth();
  out.a = view(p.a), out.b = view(p.b), out.c = view(p.c), out.bias = view(p.bias);
  out.a_scale = view(p.a_scale), out.b_scale = view(p.b_scale);
  return out;
}

Result<Bytes> computed(const Product& p, const Instruction& instruction, const SumOrder& order, bool here) {
  Bytes out = p.d.gpu;
  GemmOptions options;
  options.order = order;
  options.execute.threads = 1;
  for (std::size_t i = 0; i < p.d.batch; ++i) {
    Gemm problem = gemm_of(p, i, here);
    const MatrixView d = p.d.view(out, i);
    problem.d = {const_cast<void*>(d.data), d.row_stride, d.column_stride};
    if (const auto done = gemm(instruction, problem, options); !done) return done.error();
  }
  return out;
}

// ---- Which order

/// An instruction and an order, and who says so.
struct Way {
  Instruction instruction;
  SumOrder order;
  std::string from;
};

// By the names of the kernels, if they tell an order that gives D.
std::optional<Way> by_names(const Product& p, Target target) {
  NamedProduct named;
  named.d = p.recorded.d.format;
  named.rows = p.d.rows, named.columns = p.d.columns, named.depth = p.depth(), named.batch = p.d.batch;
  named.has_c = p.c.exists();
  named.alpha = static_cast<float>(p.recorded.alpha);
  named.beta = static_cast<float>(p.recorded.beta);
  named.has_scales = p.a_scale.exists() || p.b_scale.exists();
  for (const RecordedKernel& one : p.recorded.kernels)
    named.launches.push_back({one.name, {one.grid.x, one.grid.y, one.grid.z}});
  const bool is_single = p.recorded.a.format == "f32";
  for (const bool tf32 : {true, false}) {
    if (tf32 && !is_single) continue;
    named.a = tf32 ? "tf32" : p.recorded.a.format;
    named.b = tf32 ? "tf32" : p.recorded.b.format;
    const Result<KernelOrder> told = kernel_order(named);
    if (!told) continue;
    Result<Instruction> instruction = Instruction::parse(told->form, target);
    if (!instruction) continue;
    const Result<Bytes> d = computed(p, *instruction, told->order, false);
    if (d && *d == p.d.gpu) return Way{*std::move(instruction), told->order, "told by its kernels"};
  }
  return {};
}

// What the record says, with the first instruction of these types.
Result<std::optional<Way>> by_record(const Product& p, Target target) {
  if (p.recorded.order.empty()) return std::optional<Way>();
  Result<SumOrder> order = SumOrder::parse(p.recorded.order);
  if (!order) return order.error();
  const bool is_tf32 = p.recorded.a.format == "f32" && p.recorded.may_round.value_or(true);
  const auto type_of = [&](const Matrices& m) { return is_tf32 ? std::string("tf32") : m.recorded->format; };
  Result<std::vector<Instruction>> instructions = instructions_of_products(type_of(p.a), type_of(p.b), target);
  if (!instructions) return instructions.error();
  return std::optional(Way{instructions->front(), *std::move(order), "told by the record"});
}

// With operands as instructions have them.
std::optional<Way> by_search(const Product& p, Target target, std::string_view a, std::string_view b) {
  const Result<std::vector<Instruction>> instructions = instructions_of_products(a, b, target);
  if (!instructions) return {};
  FoundProduct problem{gemm_of(p, 0, false)};
  const MatrixView d = p.d.view(p.d.gpu, 0);
  problem.product.d = {const_cast<void*>(d.data), d.row_stride, d.column_stride};
  FindOrderOptions options;
  options.known.store = p.recorded.d.format == "s32" ? "" : p.recorded.d.format;
  options.known.c_last = p.c.exists();
  options.known.alpha = static_cast<float>(p.recorded.alpha);
  if (p.c.exists()) options.known.beta = static_cast<float>(p.recorded.beta);
  options.known.scales_last = p.a_scale.exists();
  options.most_products = 1e10;
  options.execute.threads = 1;
  const Result<OrderSearch> search = find_order(*instructions, problem, options);
  if (!search) return {};
  for (const FoundOrder& one : search->found) {
    const Result<Bytes> all = computed(p, one.instruction, one.order, false);
    if (all && *all == p.d.gpu) return Way{one.instruction, one.order, "found from D"};
  }
  return {};
}

// By D, of the first product of the batch; all have to come out.
std::optional<Way> by_search(const Product& p, Target target) {
  if (p.recorded.a.format == "f32" && p.recorded.may_round.value_or(true))
    if (std::optional<Way> way = by_search(p, target, "tf32", "tf32")) return way;
  return by_search(p, target, p.recorded.a.format, p.recorded.b.format);
}

// Items of so many bytes.
std::uint64_t differing(const Bytes& x, const Bytes& y, std::size_t item) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i + item <= x.size(); i += item) out += std::memcmp(&x[i], &y[i], item) != 0;
  return out;
}

}  // namespace

Result<FileStatus> verify_product(const Subject& subject, FileReport& report) {
  Result<RecordedProduct> recorded = read_product(subject.record);
  if (!recorded) return recorded.error();
  Product p{*std::move(recorded), {}, {}, {}, {}, {}, {}, {}};
  report.header.statement = p.recorded.op;
  const Result<Target> target = subject.target(p.recorded.target);
  if (!target) return target.error();
  report.target = target->name();
  if (const auto done = read_operands(subject, report, p); !done) return done.error();
  const Result<std::optional<Way>> told = by_record(p, *target);
  if (!told) return told.error();
  std::optional<Way> way = *told;
  if (!way) way = by_names(p, *target);
  if (!way) way = by_search(p, *target);
  if (!way) {
    report.notes.emplace_back("no order of the sum that is known gives D");
    if (subject.carried != nullptr && p.recorded.d.address)
      subject.carried->leave(*p.recorded.d.address, p.d.gpu, p.d.gpu);
    return FileStatus::not_reproducible;
  }
  const Result<Bytes> d = computed(p, way->instruction, way->order, true);
  if (!d) return d.error();
  report.cases = p.d.batch;
  report.elements = p.d.batch * p.d.rows * p.d.columns;
  report.mismatches = differing(p.d.gpu, *d, p.d.item);
  report.inferred = way->instruction.inferred();
  report.notes.push_back(
      fmt::format("by {}, {}: {}", way->instruction.canonical(), way->order.text(), way->from));
  if (subject.carried != nullptr && p.recorded.d.address)
    subject.carried->leave(*p.recorded.d.address, p.d.gpu, *d);
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
