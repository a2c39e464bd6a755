// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <new>  // std::bad_alloc
#include <system_error>
#include <variant>

#include "api/loaded_capture.hpp"
#include "isa/instruction.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/machine.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;

// The library's answer to the inputs of a capture, in the shape of the expected result: registers to registers,
// and threads one by one (layout `scalars`).
Result<Array> execute_registers(const LoadedCapture& capture, const ReplayOptions& options) {
  const Instruction& instruction = capture.instruction;
  const std::span<const Operand> operands = instruction.operands();
  std::vector<OperandView> sources;
  for (std::size_t i = 0; i < capture.sources.size(); ++i)
    sources.push_back(OperandView::dense(capture.sources[i].data.data(), instruction.lanes(),
                                         operands[i + 1].registers, operands[i + 1].register_bits));
  Array got = capture.expected;
  ExecuteOptions execute;
  execute.undefined = options.undefined;
  const ResultView d =
      ResultView::dense(got.data.data(), instruction.lanes(), operands[0].registers, operands[0].register_bits);
  const Result<Execution> done = execute_batch(instruction, sources, d, capture.cases, execute);
  if (!done) return done.error();
  return got;
}

// One element after the other (layout `elements`).
Result<Array> execute_elements(const LoadedCapture& capture) {
  const Tile& tile = std::get<Tile>(capture.instruction.decoded().kernel);
  const auto count = static_cast<std::int64_t>(capture.cases);
  Array got = capture.expected;
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < count; ++n) {
    std::array<std::uint64_t, kMaxDepth> a, b, a_scale, b_scale;
    ElementCodes codes{};
    // Row n of an array [cases, extent].
    const auto row = [&](const Array& array, std::array<std::uint64_t, kMaxDepth>& out) {
      const auto extent = static_cast<std::size_t>(array.header.shape[1]);
      for (std::size_t k = 0; k < extent; ++k) out[k] = array.at(static_cast<std::uint64_t>(n) * extent + k);
      return std::span<const std::uint64_t>(out).first(extent);
    };
    for (std::size_t i = 0; i < capture.sources.size(); ++i) {
      const Array& array = capture.sources[i];
      switch (capture.instruction.operands()[i + 1].part) {
        case Part::left_factor: codes.a = row(array, a); break;
        case Part::right_factor: codes.b = row(array, b); break;
        case Part::left_scale: codes.a_scale = row(array, a_scale); break;
        case Part::right_scale: codes.b_scale = row(array, b_scale); break;
        case Part::accumulator: codes.c = array.at(static_cast<std::uint64_t>(n)); break;
        default: break;
      }
    }
    if (capture.before) codes.c = capture.before->at(static_cast<std::uint64_t>(n));
    got.set(static_cast<std::uint64_t>(n), run_element(tile, codes));
  }
  return got;
}

// The registers of one warp for case `index`: those of each operand that has a member, one after the other.
struct WarpInputs {
  Binding binding;
  Registers registers{0, 0};

  WarpInputs(const LoadedCapture& capture, std::uint64_t index) {
    const std::span<const Operand> operands = capture.instruction.operands();
    int used = 0;
    for (const Operand& operand : operands) {
      binding.push_back(used);
      used += operand.registers;
    }
    registers = Registers(capture.instruction.lanes(), used);
    if (capture.before) fill(*capture.before, index, binding[0], operands[0].registers);
    const std::size_t first = operands[0].is_destination() ? 1 : 0;
    for (std::size_t i = 0; i < capture.sources.size(); ++i)
      if (!capture.sources[i].data.empty())
        fill(capture.sources[i], index, binding[i + first], operands[i + first].registers);
  }

 private:
  // [cases, lanes, registers], [cases, lanes], or [cases] for all lanes.
  void fill(const Array& array, std::uint64_t index, int first, int count) {
    const auto lanes = static_cast<std::uint64_t>(registers.lanes()), each = static_cast<std::uint64_t>(count);
    const bool by_lane = array.header.shape.size() > 1;
    for (std::uint64_t lane = 0; lane < lanes; ++lane)
      for (std::uint64_t r = 0; r < each; ++r)
        registers.write(static_cast<int>(lane), first + static_cast<int>(r),
                        array.at(by_lane ? (index * lanes + lane) * each + r : index));
  }
};

// Registers and memory, warp by warp: what is in d afterwards, or in memory.
Result<Array> execute_warps(const LoadedCapture& capture, const ReplayOptions& options) {
  const Instruction& instruction = capture.instruction;
  const std::vector<const Instruction*> lanes(static_cast<std::size_t>(instruction.lanes()), &instruction);
  const auto bytes = static_cast<std::size_t>(capture.memory->header.shape[1]);
  const Operand& d = instruction.operands()[0];
  Array got = capture.expected;
  for (std::uint64_t i = 0; i < capture.cases; ++i) {
    WarpInputs inputs(capture, i);
    Memory memory(bytes);
    const std::span<const std::byte> before(capture.memory->data);
    if (Result<void> written = memory.write(Space::shared, 0, before.subspan(i * bytes, bytes)); !written)
      return written.error();
    ExecuteOptions execute;
    execute.undefined = options.undefined;
    const Result<Effects> effects = execute_warp(lanes, inputs.binding, inputs.registers, memory, execute);
    if (!effects) {
      Error error = effects.error();
      error.where = fmt::format("case {}, {}", i, error.where);
      return error;
    }
    if (Result<void> applied = apply(*effects, inputs.registers, memory); !applied) return applied.error();
    if (capture.stores()) {
      const std::span<std::byte> after(got.data);
      if (Result<void> read = memory.read(Space::shared, 0, after.subspan(i * bytes, bytes)); !read)
        return read.error();
      continue;
    }
    for (int lane = 0; lane < instruction.lanes(); ++lane)
      for (int r = 0; r < d.registers; ++r) {
        const auto item = static_cast<std::uint64_t>(lane * d.registers + r);
        got.set(i * static_cast<std::uint64_t>(instruction.lanes() * d.registers) + item,
                inputs.registers.read(lane, inputs.binding[0] + r));
      }
  }
  return got;
}

Result<Array> execute(const LoadedCapture& capture, const ReplayOptions& options) {
  if (capture.header.layout == CaptureLayout::elements) return execute_elements(capture);
  return capture.memory ? execute_warps(capture, options) : execute_registers(capture, options);
}

// Whether a refusal means "not here" (the statement may be fine elsewhere, or a GPU did what the manual leaves
// undefined) or "malformed".
FileStatus status_of(Errc code) {
  switch (code) {
    case Errc::unknown_instruction:
    case Errc::unknown_qualifier:
    case Errc::repeated_qualifier:
    case Errc::qualifier_order:
    case Errc::missing_qualifier:
    case Errc::no_such_form:
    case Errc::undocumented_form:
    case Errc::not_on_target:
    case Errc::not_modelled:
    case Errc::instruction_not_modelled:
    case Errc::inferred_plan:
    case Errc::undefined_operand:
    case Errc::addresses_disagree:
    case Errc::stores_overlap: return FileStatus::unsupported;
    default: return FileStatus::unreadable;
  }
}

Result<void> replay_into(FileReport& report, const ReplayOptions& options) {
  Result<LoadedCapture> capture = load_capture(report.path, options, report.header);
  if (!capture) return capture.error();
  report.target = capture->instruction.target().name();
  report.inferred = capture->instruction.inferred();
  report.notes = capture->notes;
  const Result<Array> got = execute(*capture, options);
  if (!got) return got.error();

  std::uint64_t elements = 0, mismatches = 0;
  for_each_element(*capture, capture->expected, *got, [&](Mismatch& m, const auto& name) {
    ++elements;
    if (m.expected == m.got) return;
    if (++mismatches > options.details) return;
    m.name = name();
    report.details.push_back(m);
  });
  report.cases = capture->cases;
  report.elements = elements;
  report.masked = capture->elements() - elements;
  report.mismatches = mismatches;
  return {};
}

Result<void> same_inputs(const LoadedCapture& x, const LoadedCapture& y) {
  const auto differ = [](std::string where, std::string_view seen, std::string_view expected) {
    return Error{Errc::captures_differ, std::move(where), std::string(seen), std::string(expected)};
  };
  if (x.instruction.canonical() != y.instruction.canonical())
    return differ("statement", y.instruction.canonical(), x.instruction.canonical());
  if (x.instruction.operands().size() != y.instruction.operands().size())
    return differ("statement", y.instruction.text(), x.instruction.text());
  for (std::size_t i = 0; i < x.instruction.operands().size(); ++i) {
    const Operand &ox = x.instruction.operands()[i], &oy = y.instruction.operands()[i];
    if (ox.literals != oy.literals || ox.offset != oy.offset)
      return differ(fmt::format("operand {}", ox.role), oy.label, ox.label);
  }
  if (x.header.layout != y.header.layout) return differ("layout", name(y.header.layout), name(x.header.layout));
  for (std::size_t i = 0; i < x.sources.size(); ++i) {
    const ArrayHeader &hx = x.sources[i].header, &hy = y.sources[i].header;
    if (hx.shape != hy.shape) return differ("member '" + hy.name + "'", hy.shape_text(), hx.shape_text());
    if (x.sources[i].data != y.sources[i].data)
      return differ("member '" + hy.name + "'", "other inputs", "the same inputs in both files");
  }
  if (x.before && (x.before->header.shape != y.before->header.shape || x.before->data != y.before->data))
    return differ("member '" + y.before->header.name + "'", "other inputs", "the same inputs in both files");
  if (x.memory && (x.memory->header.shape != y.memory->header.shape || x.memory->data != y.memory->data))
    return differ("member '" + y.memory->header.name + "'", "other inputs", "the same inputs in both files");
  return {};
}

// The places that both captures compare.
std::optional<Array> common_mask(const LoadedCapture& x, const LoadedCapture& y) {
  if (!x.mask || !y.mask) return x.mask ? x.mask : y.mask;
  Array out = *x.mask;
  for (std::uint64_t i = 0; i < out.header.items(); ++i) out.set(i, x.compared(i) && y.compared(i));
  return out;
}

Result<DiffReport> diff_loaded(const fs::path& first, const fs::path& second, const ReplayOptions& options) {
  CaptureHeader unused;
  const Result<LoadedCapture> x = load_capture(first, options, unused);
  if (!x) return x.error();
  const Result<LoadedCapture> y = load_capture(second, options, unused);
  if (!y) return y.error();
  if (Result<void> same = same_inputs(*x, *y); !same) return same.error();
  DiffReport report;
  report.cases = x->cases;
  LoadedCapture both = *x;  // compared where both files allow it
  both.mask = common_mask(*x, *y);
  for_each_element(both, x->expected, y->expected, [&](Mismatch& m, const auto& name) {
    ++report.elements;
    if (m.expected == m.got) return;
    if (++report.differences > options.details) return;
    m.name = name();
    report.details.push_back(m);
  });
  if (report.elements == 0)
    return Error{Errc::no_cases, "mask", "no place is compared in both files", "at least one"};
  return report;
}

// Arrays may be as large as the options allow; no memory for them is an error of the file, not of the program.
template <class Work>
auto guarded(const fs::path& path, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{Errc::archive_too_large, path.string(), "there is no memory for its arrays", "split the file"};
  }
}

}  // namespace

void ReplayTotals::add(const FileReport& report) {
  ++files;
  cases += report.cases;
  elements += report.elements;
  mismatches += report.mismatches;
  unsupported += report.status == FileStatus::unsupported ? 1 : 0;
  unreadable += report.status == FileStatus::unreadable ? 1 : 0;
}

int ReplayTotals::exit_status() const {
  if (unsupported || unreadable || files == 0) return 2;
  return mismatches ? 1 : 0;
}

std::string ReplayTotals::text() const {
  return fmt::format("total: {} files, {} cases, {} elements, {} mismatches, {} unsupported, {} unreadable",
                     files, cases, elements, mismatches, unsupported, unreadable);
}

FileReport replay(const fs::path& path, const ReplayOptions& options) {
  FileReport report;
  report.path = path;
  const Result<void> done = guarded(path, [&] { return replay_into(report, options); });
  if (done) {
    report.status = FileStatus::replayed;
    return report;
  }
  report.status = status_of(done.error().code);
  report.error = done.error();
  return report;
}

std::vector<fs::path> find_captures(std::span<const fs::path> paths) {
  std::vector<fs::path> out;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      out.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (fs::recursive_directory_iterator at(path, fs::directory_options::follow_directory_symlink, error), end;
         !error && at != end; at.increment(error))
      if (at->path().extension() == ".npz") found.push_back(at->path());
    if (error) out.push_back(path);  // so that a report says that the folder could not be read
    std::ranges::sort(found);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::vector<FileReport> replay_all(std::span<const fs::path> files, const ReplayOptions& options,
                                   const std::function<void(std::size_t)>& progress) {
  std::vector<FileReport> out(files.size());
  std::size_t done = 0;
  const auto count = static_cast<std::ptrdiff_t>(files.size());
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    out[static_cast<std::size_t>(i)] = replay(files[static_cast<std::size_t>(i)], options);
#pragma omp critical(warpbit_progress)
    {
      ++done;
      if (progress) progress(done);
    }
  }
  return out;
}

Result<DiffReport> diff(const fs::path& first, const fs::path& second, const ReplayOptions& options) {
  return guarded(first, [&] { return diff_loaded(first, second, options); });
}

}  // namespace warpbit
