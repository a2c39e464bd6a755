// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <mutex>
#include <new>  // std::bad_alloc
#include <set>
#include <system_error>

#include "capture/text.hpp"
#include "replay/execute_capture.hpp"
#include "threads.hpp"
#include "warpbit/format.hpp"
#include "warpbit/record.hpp"
#include "warpbit/recording.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;

// Whether a refusal means "not here" (the statement may be fine elsewhere, or a GPU did what the manual leaves
// undefined) or "malformed".
FileStatus status_of(Errc code) {
  constexpr std::array kNotHere = {
      Errc::unknown_instruction,      Errc::unknown_qualifier, Errc::repeated_qualifier,
      Errc::qualifier_order,          Errc::missing_qualifier, Errc::no_such_form,
      Errc::undocumented_form,        Errc::not_on_target,     Errc::not_modelled,
      Errc::instruction_not_modelled, Errc::inferred_plan,     Errc::undefined_operand,
      Errc::addresses_disagree,       Errc::stores_overlap};
  const bool not_here = std::ranges::find(kNotHere, code) != kNotHere.end();
  return not_here ? FileStatus::unsupported : FileStatus::unreadable;
}

constexpr std::string_view kBlocksOfShard = "blocks are in the shard";  // the end of a note

// Of what a file says about itself.
std::uint64_t hash_of(const CaptureHeader& header) {
  const inputs::Key key = inputs::key_of((header.statement + header.target + header.provenance).c_str(), 0);
  return key.w[0] | std::uint64_t{key.w[1]} << 32;
}

// Whether a unit of a file's work is in the shard: a block, or 0 for all of it.
bool is_in(const Shard& shard, std::uint64_t file, std::uint64_t unit) {
  return inputs::mix(unit, file) % shard.count == shard.number - 1;
}

// A file of a few bytes may state any number of cases.
Result<void> check_work(const LoadedDigests& file, std::span<const std::uint64_t> blocks,
                        const ReadOptions& options) {
  if (const auto members = capture_members(file.instruction); !members) return members.error();
  std::uint64_t cases = 0;
  for (const std::uint64_t block : blocks) cases += file.blocks.cases_in(block);
  const auto terms = static_cast<std::uint64_t>(std::max(file.instruction.terms(), 1));
  const std::uint64_t each = elements_of_case(file.instruction) * terms;
  if (cases <= options.max_products / each) return {};
  return Error{Errc::archive_too_large, "member 'count'",
               fmt::format("{} cases with {} products each", cases, each),
               fmt::format("at most {} products are computed for a file", options.max_products)};
}

Result<FileStatus> replay_digests(FileReport& report, const CaptureReader& reader,
                                  const ReplayOptions& options) {
  const Result<LoadedDigests> file = load_digests(reader, options);
  if (!file) return file.error();
  report.target = file->instruction.target().name();
  report.inferred = file->instruction.inferred();
  report.notes = file->notes;
  std::vector<std::uint64_t> blocks;
  const std::uint64_t hash = hash_of(report.header);
  for (std::uint64_t block = 0; block < file->blocks.count(); ++block)
    if (is_in(options.shard, hash, block)) blocks.push_back(block);
  if (blocks.empty()) return FileStatus::other_shard;
  if (Result<void> bounded = check_work(*file, blocks, options.read); !bounded) return bounded.error();
  if (blocks.size() < file->blocks.count())
    report.notes.push_back(fmt::format("{} of {} {}", blocks.size(), file->blocks.count(), kBlocksOfShard));
  const Result<std::vector<std::uint64_t>> got =
      digests(file->instruction, file->choice, file->blocks, blocks, execute_options(options));
  if (!got) return got.error();
  std::optional<std::uint64_t> first;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Mismatch m;
    m.index = file->blocks.first_case(blocks[i]);
    m.cases = file->blocks.cases_in(blocks[i]);
    m.expected = file->digests.at(blocks[i]);
    m.got = (*got)[i];
    report.cases += m.cases;
    if (m.expected == m.got) continue;
    if (!first) first = blocks[i];
    if (++report.mismatches <= options.details) report.details.push_back(m);
  }
  report.elements = report.cases * elements_of_case(file->instruction);
  if (!first || options.block_folder.empty()) return FileStatus::replayed;
  const std::uint64_t begin = file->blocks.first_case(*first);
  const fs::path path = options.block_folder / fmt::format("{}.case{}.npz", report.path.stem().string(), begin);
  report.notes.push_back(
      fmt::format("what was computed for the inputs from case {} on is in {}", begin, path.string()));
  if (const Result<void> done = write_block(*file, *first, path, execute_options(options)); !done)
    return done.error();
  return FileStatus::replayed;
}

// Compares what a capture compares, and describes the first `most` mismatches. Returns their number.
std::uint64_t compare(const LoadedCapture& capture, const Array& expected, const Array& got, std::size_t most,
                      std::uint64_t& elements, std::vector<Mismatch>& details) {
  std::uint64_t mismatches = 0;
  for_each_element(capture, expected, got, [&](Mismatch& m, const auto& name) {
    ++elements;
    if (m.expected == m.got || ++mismatches > most) return;
    m.name = name();
    details.push_back(m);
  });
  return mismatches;
}

Result<FileStatus> replay_into(FileReport& report, const ReplayOptions& options) {
  Result<CaptureReader> reader = CaptureReader::open(report.path, options.read);
  if (!reader) return reader.error();
  report.header = reader->header();
  if (report.header.layout == CaptureLayout::digests) return replay_digests(report, *reader, options);
  if (!is_in(options.shard, hash_of(report.header), 0)) return FileStatus::other_shard;
  Result<LoadedCapture> capture = load_capture(*reader, options);
  if (!capture) return capture.error();
  report.target = capture->instruction.target().name();
  report.inferred = capture->instruction.inferred();
  report.notes = capture->notes;
  const Result<Array> got = execute(*capture, execute_options(options));
  if (!got) return got.error();
  report.cases = capture->cases;
  report.mismatches =
      compare(*capture, capture->expected, *got, options.details, report.elements, report.details);
  report.masked = capture->elements() - report.elements;
  return FileStatus::replayed;
}

Result<void> same_inputs(LoadedCapture& x, LoadedCapture& y) {
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
  const std::vector<Array*> of_x = x.inputs(), of_y = y.inputs();
  for (std::size_t i = 0; i < of_x.size(); ++i) {
    const ArrayHeader &hx = of_x[i]->header, &hy = of_y[i]->header;
    if (hx.shape != hy.shape) return differ("member '" + hy.name + "'", hy.shape_text(), hx.shape_text());
    if (of_x[i]->data != of_y[i]->data)
      return differ("member '" + hy.name + "'", "other inputs", "the same inputs in both files");
  }
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
  Result<LoadedCapture> x = load_capture(first, options);
  if (!x) return x.error();
  Result<LoadedCapture> y = load_capture(second, options);
  if (!y) return y.error();
  if (Result<void> same = same_inputs(*x, *y); !same) return same.error();
  DiffReport report;
  report.cases = x->cases;
  LoadedCapture both = *x;  // compared where both files allow it
  both.mask = common_mask(*x, *y);
  report.differences =
      compare(both, x->expected, y->expected, options.details, report.elements, report.details);
  if (report.elements == 0)
    return Error{Errc::no_cases, "mask", "no place is compared in both files", "at least one"};
  return report;
}

// The captures of folders, and the recordings if they are wanted, in alphabetical order. Links are followed, and each folder and
// file is met once, by the first of its paths.
class FolderSearch {
 public:
  explicit FolderSearch(bool wants_recordings) : wants_recordings_(wants_recordings) {}
  std::vector<fs::path> found;

  // A file is taken as it is, also one that does not exist.
  void take(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error) && !is_recording(path))
      search(path);
    else
      found.push_back(path);
  }

 private:
  bool is_recording(const fs::path& path) const { return wants_recordings_ && Recording::is_one(path); }

  bool is_new(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    return error || met_.insert(real).second;  // a link to nothing has a report of its own
  }

  void search(const fs::path& folder) {
    std::error_code error;
    if (!is_new(folder)) return;
    if (Recording::is_one(folder)) return wants_recordings_ ? found.push_back(folder) : void();
    std::vector<fs::path> entries;
    error.clear();
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      entries.push_back(at->path());
    if (error) found.push_back(folder);  // its report says that it could not be read
    std::ranges::sort(entries);
    for (const fs::path& entry : entries)
      if (std::error_code ignored; fs::is_directory(entry, ignored))
        search(entry);
      else if ((entry.extension() == ".npz" || is_recording(entry)) && is_new(entry))
        found.push_back(entry);
  }

  bool wants_recordings_;
  std::set<fs::path> met_;
};

bool is_of_shard(const std::string& note) {
  return note.ends_with(kBlocksOfShard);
}

// What another share found out about the file.
void add(FileReport& to, const FileReport& share) {
  if (share.status == FileStatus::other_shard || (to.status != FileStatus::other_shard && to.error)) return;
  if (to.status == FileStatus::other_shard || share.error) {
    to = share;
    std::erase_if(to.notes, is_of_shard);
    return;
  }
  to.cases += share.cases;
  to.elements += share.elements;
  to.mismatches += share.mismatches;
  to.details.insert(to.details.end(), share.details.begin(), share.details.end());
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

std::string text(const Mismatch& m) {
  if (m.cases > 0)
    return fmt::format("cases {} to {}: expected digest {:#018x}, got {:#018x}", m.index, m.index + m.cases - 1,
                       m.expected, m.got);
  std::string where = m.address >= 0  ? fmt::format("case {} byte {:#x} of memory", m.index, m.address)
                      : m.lane >= 0   ? fmt::format("case {} lane {} register {} row {} column {}", m.index,
                                                    m.lane, m.reg, m.row, m.column)
                      : m.column >= 0 ? fmt::format("case {} element {}", m.index, m.column)
                                      : fmt::format("element {}", m.index);
  if (m.product > 0) where += fmt::format(" product {}", m.product);
  if (!m.name.empty()) where += " " + capture::quoted(m.name);
  return fmt::format("{}: expected {}, got {}", where, code_text(m.format, m.expected),
                     code_text(m.format, m.got));
}

std::string_view name(FileStatus status) {
  constexpr std::string_view kNames[] = {"replayed",   "other shard", "unsupported",
                                         "unreadable", "fault",       "not reproducible"};
  return kNames[static_cast<std::size_t>(status)];
}

void ReplayTotals::add(const FileReport& report) {
  const auto is = [&](FileStatus status) { return report.status == status ? 1 : 0; };
  ++(is(FileStatus::other_shard) ? other_shards : files);
  records += report.record.empty() || is(FileStatus::other_shard) ? 0 : 1;
  cases += report.cases;
  elements += report.elements;
  mismatches += report.may_differ ? 0 : report.mismatches;
  may_differ += report.may_differ ? 1 : 0;
  unsupported += is(FileStatus::unsupported);
  unreadable += is(FileStatus::unreadable);
  faults += is(FileStatus::fault);
  not_reproducible += is(FileStatus::not_reproducible);
}

int ReplayTotals::exit_status() const {
  if (unsupported || unreadable || files + other_shards == not_reproducible) return 2;
  return mismatches || faults ? 1 : 0;
}

std::string ReplayTotals::text() const {
  std::string out =
      fmt::format("total: {} files, {} cases, {} elements, {} mismatches, {} unsupported, {} unreadable", files,
                  cases, elements, mismatches, unsupported, unreadable);
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) out += fmt::format(", {} {}", count, what);
  };
  add(other_shards, "files in other shards");
  add(records, "of the files records of recordings");
  add(may_differ, "that differ as they may");
  add(faults, "with a fault");
  add(not_reproducible, "not reproducible");
  return out;
}

FileReport replay(const fs::path& path, const ReplayOptions& options) {
  FileReport report;
  report.path = path;
  const Result<FileStatus> done = guarded(path, [&] { return replay_into(report, options); });
  report.status = done ? *done : status_of(done.error().code);
  if (!done) report.error = done.error();
  return report;
}

static std::vector<fs::path> find_files(std::span<const fs::path> paths, bool wants_recordings) {
  FolderSearch search(wants_recordings);
  for (const fs::path& path : paths) search.take(path);
  return std::move(search.found);
}
std::vector<fs::path> find_captures(std::span<const fs::path> paths) {
  return find_files(paths, false);
}
std::vector<fs::path> find_recorded(std::span<const fs::path> paths) {
  return find_files(paths, true);
}

std::vector<FileReport> replay_all(std::span<const fs::path> files, const ReplayOptions& options,
                                   const std::function<void(std::size_t)>& progress) {
  std::vector<FileReport> out(files.size());
  std::size_t done = 0;
  std::mutex mutex;
  for_each_piece(0, files.size(), [&](std::size_t i) {
    out[i] = replay(files[i], options);
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(done);
  });
  return out;
}

Result<std::vector<FileReport>> merge_reports(std::span<const std::vector<FileReport>> shares,
                                              std::size_t details) {
  if (shares.empty()) return Error{Errc::usage, "merge", "no share", "one or more"};
  std::vector<FileReport> out = shares[0];
  for (FileReport& report : out) std::erase_if(report.notes, is_of_shard);
  for (const std::vector<FileReport>& share : shares.subspan(1)) {
    const auto place = [](const FileReport& one) { return std::tie(one.path, one.record); };
    if (!std::ranges::equal(share, out, {}, place, place))
      return Error{Errc::usage, "merge", "shares of different files", "shares of the same files"};
    for (std::size_t i = 0; i < out.size(); ++i) add(out[i], share[i]);
  }
  for (FileReport& report : out) {
    std::ranges::stable_sort(report.details, {}, &Mismatch::index);
    if (report.details.size() > details) report.details.resize(details);
  }
  return out;
}

Result<DiffReport> diff(const fs::path& first, const fs::path& second, const ReplayOptions& options) {
  return guarded(first, [&] { return diff_loaded(first, second, options); });
}

Result<void> pack_capture(const std::filesystem::path& from, const std::filesystem::path& to,
                          std::optional<std::uint64_t> bytes, const ReadOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(from, options);
  if (!reader) return reader.error();
  std::vector<Array> arrays;
  for (const ArrayHeader& header : reader->arrays()) {
    Result<Array> array = reader->read(header.name);
    if (!array) return array.error();
    arrays.push_back(*std::move(array));
  }
  const CaptureLayout layout = reader->header().layout;
  if (bytes && (layout == CaptureLayout::registers || layout == CaptureLayout::scalars)) {
    const Result<LoadedCapture> capture = load_capture(*reader, {});
    if (!capture) return capture.error();
    const std::uint64_t cases = capture->cases;
    const auto has_cases = [&](const Array& array) {
      return !array.header.shape.empty() && array.header.shape[0] == cases;
    };
    std::uint64_t each = 0;
    for (const Array& array : arrays)
      if (has_cases(array)) each += array.data.size() / cases;
    const std::uint64_t count = std::clamp(*bytes / each, std::uint64_t{1}, cases);
    for (Array& array : arrays)
      if (has_cases(array)) array = cases_of(array, cases, 0, count);
  }
  return write_capture(to, reader->header(), arrays);
}

}  // namespace warpbit
