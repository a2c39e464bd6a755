// SPDX-License-Identifier: Apache-2.0
// A reduction in the order that its record has.
#include "warpbit/reduction.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "verify/kinds.hpp"
#include "warpbit/all_reduce.hpp"
#include "warpbit/format.hpp"

namespace warpbit::verification {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 32;

/// The codes of an array, row by row.
struct Codes {
  std::size_t rows = 1, columns = 1;
  std::vector<std::uint64_t> of;

  void transpose() {
    of = transposed(of, rows, columns);
    std::swap(rows, columns);
  }
};

Result<Codes> codes_of(const Subject& subject, const RecordedMatrix& from, std::string_view role) {
  const Result<std::vector<std::byte>> data = subject.recording.data(from.data);
  if (!data) return data.error();
  const auto item = static_cast<std::size_t>(find_format_info(from.format)->bits + 7) / 8;
  Codes out;
  const std::size_t extents = from.shape.size();
  if (extents >= 1) out.columns = from.shape[extents - 1];
  if (extents >= 2) out.rows = from.shape[extents - 2];
  const std::uint64_t row_stride = extents >= 2 ? from.strides[extents - 2] : 0,
                      stride = extents >= 1 ? from.strides[extents - 1] : 0, items = data->size() / item;
  // The last place of an extent, without a product that wraps.
  const auto reaches = [&](std::uint64_t extent, std::uint64_t step) {
    return extent <= 1 || step == 0 || extent - 1 <= (items - 1) / step;
  };
  const bool fits = items != 0 && out.rows != 0 && out.columns != 0 && out.rows <= kMostValues / out.columns &&
                    reaches(out.rows, row_stride) && reaches(out.columns, stride) &&
                    (out.rows - 1) * row_stride + (out.columns - 1) * stride < items;
  if (!fits || extents > 2)
    return Error{Errc::record_malformed, fmt::format("line {}: {}", subject.record.line, role),
                 fmt::format("data of {} bytes", data->size()),
                 fmt::format("an element or more of up to two extents and {} values, all of them in the data",
                             kMostValues)};
  for (std::size_t row = 0; row < out.rows; ++row)
    for (std::size_t column = 0; column < out.columns; ++column) {
      std::uint64_t code = 0;
      std::memcpy(&code, &(*data)[(row * row_stride + column * stride) * item], item);
      out.of.push_back(code);
    }
  return out;
}

void compare(std::span<const std::uint64_t> expected, std::span<const std::uint64_t> got, std::size_t details,
             FileReport& report) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ++report.elements;
    if (expected[i] == got[i]) continue;
    if (report.mismatches++ < details)
      report.notes.push_back(fmt::format("value {}: expected {:#x}, got {:#x}", i, expected[i], got[i]));
  }
}

Result<std::vector<std::uint64_t>> reduced_rows(const Subject& subject, const RecordedReduction& read, Codes& x,
                                                Codes& d) {
  const Result<Reduction> op = find_reduction(read.op);
  if (!op) return op.error();
  const Result<ReductionOrder> order = ReductionOrder::parse(read.order);
  if (!order) return order.error();
  if (read.axis == 0U) {
    x.transpose();
    if (leaves_values(*op)) d.transpose();
  } else if (!read.axis) {
    x.columns *= std::exchange(x.rows, 1);
  }
  ReductionProblem problem{*op, x.rows, x.columns, read.x.format, read.d.format, x.of, d.of, read.epsilon};
  if (!read.v) return reduce(problem, *order);
  const Result<Codes> v = codes_of(subject, *read.v, "v");
  if (!v) return v.error();
  problem.v_format = read.v->format;
  problem.v_columns = v->columns;
  problem.v = v->of;
  return reduce(problem, *order);
}

Result<std::vector<std::uint64_t>> reduced_over_ranks(const RecordedReduction& read, bool is_mean,
                                                      const Codes& x) {
  const Result<AllReduceOrder> order = AllReduceOrder::parse(read.order);
  if (!order) return order.error();
  return all_reduce({x.rows, x.columns, read.x.format, is_mean, x.of, {}}, *order);
}

}  // namespace

Result<FileStatus> verify_reduction(const Subject& subject, FileReport& report) {
  const Result<RecordedReduction> read = read_reduction(subject.record);
  if (!read) return read.error();
  report.header.statement = read->op;
  if (read->order.empty()) {
    report.notes.emplace_back(
        "the record has no order of the sum (warpbit order --sum finds those that explain it)");
    return FileStatus::not_reproducible;
  }
  Result<Codes> x = codes_of(subject, read->x, "x"), d = codes_of(subject, read->d, "d");
  if (!x) return x.error();
  if (!d) return d.error();
  const std::optional<bool> is_mean = is_all_reduce_mean(read->op);
  const Result<std::vector<std::uint64_t>> got =
      is_mean ? reduced_over_ranks(*read, *is_mean, *x) : reduced_rows(subject, *read, *x, *d);
  if (!got) return got.error();
  if (got->size() != d->of.size())
    return Error{Errc::record_malformed, fmt::format("line {}: d", subject.record.line),
                 fmt::format("{} values", d->of.size()), fmt::format("{}", got->size())};
  compare(d->of, *got, subject.options.details, report);
  report.cases = 1;
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
