// SPDX-License-Identifier: Apache-2.0
#include "warpbit/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "isa/instruction.hpp"
#include "replay/loaded_capture.hpp"
#include "threads.hpp"
#include "warpbit/inputs/text.hpp"

namespace warpbit {
namespace {

namespace fs = std::filesystem;

// The lines of golden/index.tsv, its heading first. CMakeLists.txt makes the file.
constexpr const char* kGolden[] = {
#include <golden_index.inc>
};

constexpr std::string_view kHeading =
    "path\tstatement\ttarget\tlayout\tsource\tprofile\tcases\telements\tdate\tdevice";

// A text for one field: tabs and line breaks would end it.
std::string field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text.empty() ? "-" : text;
}

std::string from_provenance(const nlohmann::json& provenance, const char* key) {
  const auto at = provenance.find(key);
  return at != provenance.end() && at->is_string() ? field(at->get<std::string>()) : "-";
}

// "{d},  {a};" -> "{d}, {a};"
std::string statement_text(const Instruction& instruction) {
  std::string out(instruction.canonical());
  const std::string operands = field(instruction.text());
  const std::size_t begin = operands.find_first_of(" ;");
  if (begin == operands.npos) return out;
  for (const char c : operands.substr(begin))
    if (c != ' ' || out.back() != ' ') out += c;
  return out;
}

std::uint64_t compared_elements(const LoadedCapture& capture) {
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < capture.expected.header.items(); ++i) out += capture.compared(i);
  return out * static_cast<std::uint64_t>(capture.slots());
}

Result<IndexedCapture> indexed(const fs::path& path, const ReadOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(path, options);
  if (!reader) return reader.error();
  const CaptureHeader& header = reader->header();
  IndexedCapture out;
  out.path = path.generic_string();
  out.target = header.target;
  out.layout = name(header.layout);
  out.source = name(header.source);
  const auto provenance = nlohmann::json::parse(header.provenance);
  out.profile = from_provenance(provenance, "profile");
  out.date = from_provenance(provenance, "date");
  out.device = from_provenance(provenance, "device");
  if (header.layout == CaptureLayout::digests) {
    const Result<LoadedDigests> digests = load_digests(*reader, {});
    if (!digests) return digests.error();
    out.statement = statement_text(digests->instruction);
    out.profile = inputs::name(digests->choice.profile);
    out.cases = digests->blocks.cases;
    out.elements = out.cases * elements_of_case(digests->instruction);
    return out;
  }
  const Result<LoadedCapture> capture = load_capture(*reader, {});
  if (!capture) return capture.error();
  out.statement = statement_text(capture->instruction);
  if (capture->names) out.profile = "probes";
  out.cases = capture->cases;
  out.elements = compared_elements(*capture);
  return out;
}

// A line of the index that the library was built with; tests show that it is what index_text writes.
IndexedCapture parsed(std::string_view line) {
  std::vector<std::string> f;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    f.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return {f[0], f[1], f[2], f[3], f[4], f[5], std::stoull(f[6]), std::stoull(f[7]), f[8], f[9]};
}

// "sm_90a" -> "sm_90"
std::string_view without_letter(std::string_view target) {
  return target.substr(0, target.find_last_of("0123456789") + 1);
}

}  // namespace

Result<std::vector<IndexedCapture>> index_captures(std::span<const fs::path> paths,
                                                   const ReadOptions& options) {
  const std::vector<fs::path> files = find_captures(paths);
  if (files.empty()) return Error{Errc::no_cases, "captures", "none in these folders", "at least one"};
  std::vector<std::optional<Result<IndexedCapture>>> found(files.size());
  for_each_piece(0, files.size(), [&](std::size_t i) { found[i] = indexed(files[i], options); });
  std::vector<IndexedCapture> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!found[i]->ok()) {
      Error error = found[i]->error();
      if (!error.where.starts_with(files[i].string())) error.where = files[i].string() + ": " + error.where;
      return error;
    }
    out.push_back(found[i]->value());
  }
  std::ranges::sort(out, {}, &IndexedCapture::path);
  return out;
}

std::string index_text(std::span<const IndexedCapture> captures) {
  std::string out = fmt::format("{}\n", kHeading);
  for (const IndexedCapture& c : captures)
    out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", c.path, c.statement, c.target, c.layout,
                       c.source, c.profile, c.cases, c.elements, c.date, c.device);
  return out;
}

const std::vector<IndexedCapture>& golden_captures() {
  static const std::vector<IndexedCapture> all = [] {
    std::vector<IndexedCapture> out;
    for (const char* line : std::span(kGolden).subspan(1)) out.push_back(parsed(line));
    return out;
  }();
  return all;
}

// By the name of their form, with which a statement begins. Only the statements that a question needs are parsed: all take
// longer than a reader waits.
std::vector<const IndexedCapture*> golden_captures(const Instruction& form) {
  static const auto by_name = [] {
    std::multimap<std::string_view, const IndexedCapture*> all;
    for (const IndexedCapture& c : golden_captures())
      all.emplace(std::string_view(c.statement).substr(0, c.statement.find_first_of(" ;")), &c);
    return all;
  }();
  std::vector<const IndexedCapture*> out;
  const auto [begin, end] = by_name.equal_range(form.canonical());
  for (auto at = begin; at != end; ++at) {
    const IndexedCapture& c = *at->second;
    if (without_letter(c.target) != without_letter(form.target().name())) continue;
    const Result<Target> target = Target::find_ptx(c.target);
    if (!target) continue;
    const auto parsed = Instruction::parse(c.statement, *target);
    if (parsed && parsed->decoded().form == form.decoded().form) out.push_back(&c);
  }
  return out;
}

}  // namespace warpbit
