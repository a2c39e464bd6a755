// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "api/checks.hpp"
#include "api/no_product.hpp"
#include "isa/instruction.hpp"
#include "kernel/tile.hpp"
#include "replay/execute_capture.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;

// The file, or its arrays as a capture of the statement.
Result<CaptureReader> open(const fs::path& from, const RunOptions& options) {
  if (options.statement.empty()) return CaptureReader::open(from, options.read);
  if (!options.target)
    return Error{Errc::usage, "target", "none, with a statement", "the target that the statement is for"};
  const Result<Instruction> instruction = Instruction::parse(options.statement, *options.target);
  if (!instruction) return instruction.error();
  const CaptureLayout usual = instruction->lanes() == 1 ? CaptureLayout::scalars : CaptureLayout::registers;
  const CaptureHeader header{options.statement, std::string(options.target->name()),
                             options.layout.value_or(usual), CaptureSource::model, "{}"};
  return CaptureReader::open_arrays(from, header, options.read);
}

std::string size_text(std::size_t rows, std::size_t columns) {
  return fmt::format("{} x {}", rows, columns);
}
std::string size_text(const CodeMatrix& m) {
  return size_text(m.rows, m.columns);
}

bool has_size(const CodeMatrix& m, std::size_t rows, std::size_t columns) {
  return m.rows == rows && m.columns == columns && m.codes.size() == rows * columns;
}

// Sizes that fit each other.
Result<void> check_sizes(const Instruction& i, const MatrixOperands& m) {
  for (const CodeMatrix* matrix : {&m.a, &m.b})
    if (!has_size(*matrix, matrix->rows, matrix->columns))
      return mismatch(i, fmt::format("{} codes", matrix->codes.size()), size_text(*matrix));
  if (m.a.columns != m.b.rows)
    return mismatch(i, fmt::format("A is {}, B is {}", size_text(m.a), size_text(m.b)),
                    fmt::format("as many rows of B as A has columns{}",
                                m.b.rows == 1 && m.b.columns == m.a.columns
                                    ? "; an array of one dimension is a row, and b.reshape(-1, 1) a column"
                                    : ""));
  if (m.c && !has_size(*m.c, m.a.rows, m.b.columns))
    return mismatch(i, fmt::format("C is {}", size_text(*m.c)), size_text(m.a.rows, m.b.columns));
  if (m.bias && !has_size(*m.bias, m.a.rows, m.b.columns) && !has_size(*m.bias, 1, m.b.columns))
    return mismatch(i, fmt::format("the bias is {}", size_text(*m.bias)),
                    fmt::format("{} or {}", size_text(m.a.rows, m.b.columns), size_text(1, m.b.columns)));
  return {};
}

// One scale factor for each of `blocks` blocks of K, or none if that is 0.
Result<void> check_scales(const Instruction& i, const MatrixOperands& m, std::size_t blocks) {
  const auto check = [&](std::string_view name, const std::optional<CodeMatrix>& given, std::size_t rows,
                         std::size_t columns) -> Result<void> {
    if (given ? blocks != 0 && has_size(*given, rows, columns) : blocks == 0) return {};
    return mismatch(i, fmt::format("{} is {}", name, given ? size_text(*given) : "not given"),
                    blocks == 0       ? "none: the form has no block scaling, and the order no promotions"
                    : i.blocks() == 0 ? size_text(rows, columns)
                                      : fmt::format("{}, a factor for each {} of K", size_text(rows, columns),
                                                    i.terms() / i.blocks()));
  };
  if (Result<void> left = check("a_scale", m.a_scale, m.a.rows, blocks); !left) return left;
  return check("b_scale", m.b_scale, blocks, m.b.columns);
}

// Codes as gemm() wants them: in items of the least of 1, 2, 4 and 8 bytes that holds one.
Array array_of(const CodeMatrix& m, std::string_view format) {
  Array out = Array::zeros("", code_bytes(find_format(format)->bits), {m.rows, m.columns});
  for (std::size_t i = 0; i < m.codes.size(); ++i) out.set(i, m.codes[i]);
  return out;
}

MatrixView view_of(const Array& items) {
  return {items.data.data(), static_cast<std::ptrdiff_t>(items.header.shape[1]), 1};
}

// Whole matrices.
Result<CodeMatrix> run_product(const Instruction& i, const MatrixOperands& m, const GemmOptions& options) {
  const Result<std::size_t> factors = scale_factors(i, m.a.columns, options.order);
  if (!factors) return factors.error();
  const bool has_scales = i.blocks() != 0 || m.a_scale || m.b_scale;
  if (has_scales)
    if (Result<void> checked = check_scales(i, m, *factors); !checked) return checked.error();
  const std::string_view of_d = format_of_result(i, options.order),
                         of_c = options.order.c_last ? of_d : i.operands()[0].format;
  CodeMatrix out{m.a.rows, m.b.columns, {}};
  out.codes.resize(out.rows * out.columns);
  const Array a = array_of(m.a, i.find(Part::a)->format), b = array_of(m.b, i.find(Part::b)->format),
              c = array_of(m.c ? *m.c : out, of_c);
  Array d = array_of(out, of_d), a_scale, b_scale, bias;
  Gemm problem{out.rows, out.columns, m.a.columns, view_of(a), view_of(b), {}, {}};
  if (m.c) problem.c = view_of(c);
  problem.d = {d.data.data(), static_cast<std::ptrdiff_t>(out.columns), 1};
  if (has_scales) {
    a_scale = array_of(*m.a_scale, i.blocks() != 0 ? i.find(Part::scale_a)->format : "f32");
    b_scale = array_of(*m.b_scale, i.blocks() != 0 ? i.find(Part::scale_b)->format : "f32");
    problem.a_scale = view_of(a_scale);
    problem.b_scale = view_of(b_scale);
  }
  if (m.bias) {
    bias = array_of(*m.bias, of_d);
    problem.bias = view_of(bias);
    if (m.bias->rows == 1) problem.bias.row_stride = 0;
  }
  if (Result<Execution> done = gemm(i, problem, options); !done) return done.error();
  for (std::size_t n = 0; n < out.codes.size(); ++n) out.codes[n] = d.at(n);
  return out;
}

}  // namespace

std::vector<std::byte> matrix_items(const CodeMatrix& matrix, std::string_view format) {
  return array_of(matrix, format).data;
}

namespace {

// ---- One tile, with zeros outside the matrices, element by element

std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}

Result<void> check_tile(const Instruction& i, const Tile& tile, const MatrixOperands& m) {
  const char* const reason = tile.sparsity.is_sparse()        ? "A is sparse"
                             : tile.c.format != tile.d.format ? "C and D differ in format"
                                                              : "scale-d is 0";
  if (m.a.rows > size(i.rows()) || m.a.columns > size(i.depth()) || m.b.columns > size(i.columns()))
    return mismatch(i, fmt::format("A is {}, B is {}", size_text(m.a), size_text(m.b)),
                    fmt::format("at most one tile, {} x {} and {} x {}, as {}", i.rows(), i.depth(), i.depth(),
                                i.columns(), reason));
  return check_scales(i, m, size(i.blocks()));
}

// The rows of A as the instruction has them: all, or what is not zero and where it stood.
Result<CompressedMatrix> stored(const Instruction& i, const Sparsity& sparsity, const CodeMatrix& a) {
  CompressedMatrix out;
  out.codes.resize(size(i.rows() * i.depth()));
  for (std::size_t n = 0; n < a.codes.size(); ++n)
    out.codes[n / a.columns * size(i.depth()) + n % a.columns] = a.codes[n];
  return sparsity.is_sparse() ? compress(i, out.codes) : out;
}

Result<Element> run_element(const Instruction& i, const Sparsity& s, const MatrixOperands& m,
                            const CompressedMatrix& a, std::size_t row, std::size_t column) {
  const std::size_t terms = size(i.terms()), blocks = size(i.blocks());
  std::vector<std::uint64_t> whole(size(i.depth())), kept(terms), a_scale(blocks), b_scale(blocks);
  for (std::size_t k = 0; k < m.b.rows; ++k) whole[k] = m.b.codes[k * m.b.columns + column];
  for (std::size_t k = 0; s.is_sparse() && k < terms; ++k) {
    const std::size_t group = k / size(s.kept);
    kept[k] = select(s, a.metadata[row * (terms / size(s.kept)) + group], static_cast<int>(k % size(s.kept)),
                     &whole[group * size(s.width)]);
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    a_scale[block] = m.a_scale->codes[row * blocks + block];
    b_scale[block] = m.b_scale->codes[block * m.b.columns + column];
  }
  const std::uint64_t c = m.c ? m.c->codes[row * m.b.columns + column] : 0;
  return execute_element(
      i, {std::span(a.codes).subspan(row * terms, terms), s.is_sparse() ? kept : whole, c, a_scale, b_scale});
}

Result<CodeMatrix> run_tile(const Instruction& i, const Tile& tile, const MatrixOperands& m) {
  if (Result<void> checked = check_tile(i, tile, m); !checked) return checked.error();
  const Result<CompressedMatrix> a = stored(i, tile.sparsity, m.a);
  if (!a) return a.error();
  CodeMatrix out{m.a.rows, m.b.columns, {}};
  for (std::size_t n = 0; n < out.rows * out.columns; ++n) {
    const Result<Element> element = run_element(i, tile.sparsity, m, *a, n / out.columns, n % out.columns);
    if (!element) return element.error();
    out.codes.push_back(element->code);
  }
  return out;
}

}  // namespace

Result<RunReport> run_arrays(const fs::path& from, const fs::path& to, const RunOptions& options) {
  const Result<CaptureReader> reader = open(from, options);
  if (!reader) return reader.error();
  ReplayOptions loading;
  loading.target = options.target;
  Result<LoadedCapture> capture = load_inputs(*reader, loading);
  if (!capture) return capture.error();
  Result<Array> results = execute(*capture, options.execute);
  if (!results) return results.error();
  RunReport out{capture->header, capture->cases, capture->instruction.inferred()};
  out.header.target = capture->instruction.target().name();
  out.header.source = CaptureSource::model;
  out.header.provenance =
      nlohmann::ordered_json{{"program", "warpbit run"}, {"inputs", from.filename().string()}}.dump(
          -1, ' ', true, nlohmann::json::error_handler_t::replace);
  const std::vector<Array> arrays = std::move(*capture).with_results(*std::move(results));
  if (Result<void> written = write_capture(to, out.header, arrays); !written) return written.error();
  return out;
}

Result<CodeMatrix> run_matrices(const Instruction& instruction, const MatrixOperands& operands,
                                const GemmOptions& options) {
  if (Result<void> sizes = check_sizes(instruction, operands); !sizes) return sizes.error();
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (tile == nullptr)
    return no_product(instruction, "it is no product of matrices", "an instruction of the form D = A B + C");
  if (!tile->sparsity.is_sparse() && tile->c.format == tile->d.format && !tile->starts_at_zero)
    return run_product(instruction, operands, options);
  if (options.order != SumOrder() || operands.bias)
    return mismatch(instruction, operands.bias ? "a bias" : "an order of the sum",
                    "none: of this form one tile is computed");
  return run_tile(instruction, *tile, operands);
}

}  // namespace warpbit
