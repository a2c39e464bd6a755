// SPDX-License-Identifier: Apache-2.0
// Two recordings of one program: where they part, and why.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "recording/fields.hpp"
#include "verify/kinds.hpp"

namespace warpbit {
namespace {

using Bytes = std::vector<std::byte>;

/// Data of a record with a name for people.
struct Named {
  std::string name;
  std::optional<std::string> data;
};

/// What a record found, executed and left.
struct Facts {
  std::string what;  ///< "launch triton_mm"
  std::vector<Named> inputs, results;
  std::vector<std::string> shape;  ///< of the launch: what must be equal beside memory
  std::string code;                ///< data of the PTX; of a product the names of its kernels
};

Result<Facts> facts_of_launch(const Record& record) {
  const Result<RecordedLaunch> launch = read_launch(record);
  if (!launch) return launch.error();
  Facts out{"launch " + launch->entry, {}, {}, {}, launch->module};
  for (const Dim3& extent : {launch->grid, launch->block, launch->cluster.value_or(Dim3{})})
    out.shape.push_back(fmt::format("{} x {} x {}", extent.x, extent.y, extent.z));
  out.shape.push_back(fmt::format("{} bytes of shared memory", launch->shared_bytes));
  for (const RecordedMemory& one : launch->memory) {
    out.inputs.push_back({one.name, one.before});
    if (one.is_compared) out.results.push_back({one.name, one.after ? one.after : one.before});
  }
  for (const RecordedVariable& one : launch->variables) {
    out.inputs.push_back({one.name, one.before});
    out.results.push_back({one.name, one.after ? one.after : one.before});
  }
  return out;
}

Result<Facts> facts_of_product(const Record& record) {
  const Result<RecordedProduct> product = read_product(record);
  if (!product) return product.error();
  Facts out{"product " + product->op,
            {{"A", product->a.data}, {"B", product->b.data}},
            {{"D", product->d.data}},
            {},
            {}};
  for (const RecordedKernel& one : product->kernels) out.code += one.name + "\n";
  return out;
}

Result<Facts> facts_of(const Record& record) {
  if (record.kind == "launch") return facts_of_launch(record);
  if (record.kind == "product") return facts_of_product(record);
  if (record.kind != "copy") return Facts{record.kind, {}, {}, {}, {}};
  const Result<RecordedCopy> copy = read_copy(record);
  if (!copy) return copy.error();
  return Facts{
      "copy", {}, {{"its data", copy->data.empty() ? std::nullopt : std::optional(copy->data)}}, {}, {}};
}

/// A place of two recordings where the bytes are compared.
class Pair {
 public:
  Pair(const Recording& first, const Recording& second) : first_(first), second_(second) {}

  /// "out_ptr0: 3 of 4096 bytes differ, the first is byte 12: 0x3f and 0x40", for each that differs.
  Result<std::vector<std::string>> differing(const std::vector<Named>& x, const std::vector<Named>& y) const {
    std::vector<std::string> out;
    if (x.size() != y.size()) out.push_back(fmt::format("{} and {} parts of memory", x.size(), y.size()));
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!x[i].data || !y[i].data) continue;
      Result<Bytes> a = first_.data(*x[i].data), b = second_.data(*y[i].data);
      if (!a) return a.error();
      if (!b) return b.error();
      if (std::string text = difference(*a, *b); !text.empty()) out.push_back(x[i].name + ": " + text);
    }
    return out;
  }

  /// How two texts of PTX differ; empty if they do not.
  Result<std::string> code(const std::string& x, const std::string& y) const {
    if (x.empty() || y.empty()) return std::string(x == y ? "" : "one of them has no PTX");
    Result<Bytes> a = first_.data(x), b = second_.data(y);
    if (!a) return a.error();
    if (!b) return b.error();
    if (*a == *b) return std::string();
    const auto at = std::ranges::mismatch(*a, *b).in1;
    const auto line = 1 + std::count(a->begin(), at, std::byte{'\n'});
    return fmt::format("the PTX differs from line {} on", line);
  }

 private:
  static std::string difference(const Bytes& a, const Bytes& b) {
    if (a.size() != b.size()) return fmt::format("{} and {} bytes", a.size(), b.size());
    std::size_t count = 0, first = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i] && count++ == 0) first = i;
    if (count == 0) return "";
    return fmt::format("{} of {} bytes differ, the first is byte {}: {:#04x} and {:#04x}", count, a.size(),
                       first, static_cast<unsigned>(a[first]), static_cast<unsigned>(b[first]));
  }

  const Recording& first_;
  const Recording& second_;
};

// ---- Why

/// A way to run a launch that may explain the bytes of one recording.
struct Way {
  std::string_view words;
  void (*set)(ptx::Launch&);
};
constexpr Way kWays[] = {
    {"", [](ptx::Launch&) {}},
    {"with no rule of the assembler, as ptxas -O0", [](ptx::Launch& how) { how.as_written = true; }},
    {"with no products fused, as ptxas --fmad=false", [](ptx::Launch& how) { how.contract = false; }},
};

// "leaves the bytes of the PTX on sm_90a", by the first way that does.
std::string explained(const Recording& recording, const Record& record, const VerifyOptions& options) {
  const auto number = static_cast<std::size_t>(&record - recording.records().data());
  const Verifiable one{recording.path(), std::make_shared<const Recording>(recording), number};
  FileReport report;
  for (const Way& way : kWays) {
    VerifyOptions how = options;
    way.set(how.how);
    report = verify(one, how);
    if (report.status == FileStatus::replayed && report.mismatches == 0)
      return fmt::format("has the bytes that its PTX has here on {}{}{}", report.target,
                         way.words.empty() ? "" : ", ", way.words);
  }
  return fmt::format("has bytes that its PTX does not have here: {}",
                     report.error ? report.error->message() : std::string(name(report.status)));
}

std::string target_of(const Recording& recording) {
  return recording.header().target;
}

void explain(const Recording& first, const Record& x, const Recording& second, const Record& y,
             const VerifyOptions& options, RecordDifference& out) {
  if (target_of(first) != target_of(second))
    out.lines.push_back(fmt::format("the targets differ: {} and {}", target_of(first), target_of(second)));
  if (x.kind != "launch") return;
  out.lines.push_back("the first recording " + explained(first, x, options));
  out.lines.push_back("the second recording " + explained(second, y, options));
}

/// Records of the second recording by kind and kernel, in order.
using ByWhat = std::map<std::string, std::vector<const Record*>>;

Result<ByWhat> by_what(const Recording& recording) {
  ByWhat out;
  for (const Record& record : recording.records()) {
    const Result<Facts> facts = facts_of(record);
    if (!facts) return facts.error();
    out[facts->what].push_back(&record);
  }
  return out;
}

/// Nothing if both found and left the same.
Result<std::optional<RecordDifference>> compare(const Recording& first, const Record& x,
                                                const Recording& second, const Record& y,
                                                const VerifyOptions& options) {
  const Result<Facts> a = facts_of(x), b = facts_of(y);
  if (!a) return a.error();
  if (!b) return b.error();
  RecordDifference out{x.name, y.name, a->what};
  const Pair pair(first, second);
  const auto inputs = pair.differing(a->inputs, b->inputs), results = pair.differing(a->results, b->results);
  if (!inputs) return inputs.error();
  if (!results) return results.error();
  const Result<std::string> code =
      x.kind == "launch" ? pair.code(a->code, b->code)
                         : Result<std::string>(std::string(a->code == b->code ? "" : "other kernels ran"));
  if (!code) return code.error();
  out.same_code = code->empty();
  out.same_inputs = inputs->empty() && a->shape == b->shape;
  if (out.same_inputs && results->empty()) return std::optional<RecordDifference>();
  if (a->shape != b->shape) out.lines.emplace_back("the shapes of the launches differ");
  for (const std::string& one : *inputs) out.lines.push_back("before it, " + one);
  for (const std::string& one : *results) out.lines.push_back("after it, " + one);
  if (!out.same_code) out.lines.push_back(*code);
  if (out.same_inputs) explain(first, x, second, y, options, out);
  return std::optional(std::move(out));
}

}  // namespace

const RecordDifference* RecordingComparison::parting() const {
  const auto found =
      std::ranges::find_if(differences, [](const RecordDifference& one) { return one.same_inputs; });
  return found == differences.end() ? nullptr : &*found;
}

Result<RecordingComparison> compare_recordings(const Recording& first, const Recording& second,
                                               const VerifyOptions& options) {
  RecordingComparison out;
  Result<ByWhat> others = by_what(second);
  if (!others) return others.error();
  std::map<std::string, std::size_t> met;
  for (const Record& record : first.records()) {
    const Result<Facts> facts = facts_of(record);
    if (!facts) return facts.error();
    const std::vector<const Record*>& same_kind = (*others)[facts->what];
    const std::size_t number = met[facts->what]++;
    if (number >= same_kind.size()) {
      out.differences.push_back(
          {record.name, "", facts->what, false, false, {"only the first recording has it"}});
      continue;
    }
    Result<std::optional<RecordDifference>> one = compare(first, record, second, *same_kind[number], options);
    if (!one) return one.error();
    if (*one)
      out.differences.push_back(**std::move(one));
    else
      ++out.same;
  }
  for (const auto& [what, records] : *others)
    for (std::size_t i = met[what]; i < records.size(); ++i)
      out.differences.push_back(
          {"", records[i]->name, what, false, false, {"only the second recording has it"}});
  return out;
}

}  // namespace warpbit
