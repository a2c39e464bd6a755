// SPDX-License-Identifier: Apache-2.0
// Kernels as ptxas assembled them at -O0 and at -O3: digests of what a GPU left. At -O0 a kernel is run as it is written, at -O3 by the
// rules of the assembler.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>

#include "capture/text.hpp"
#include "recording/fields.hpp"
#include "verify/cases/random/kernel.hpp"
#include "verify/prepare.hpp"

namespace warpbit::verification {
namespace {

using recording::Fields;
using Words = std::vector<std::uint32_t>;

constexpr std::array<const char*, 2> kLevels = {"O0", "O3"};

struct AssembledKernel {
  std::string text, entry;
  Dim3 block = {};
  Words inputs = {};
  std::vector<Words> constants = {};  ///< a second array that the kernel reads, or none
};

struct RecordedDigests {
  std::string target;
  std::array<std::string, 2> digests;
  std::string differs;               ///< why -O3 left other words than the rules lead to
  std::vector<std::string> defects;  ///< of ptxas, by which it did

  bool is_open() const { return !differs.empty() || !defects.empty(); }
  std::string why() const {
    if (defects.empty()) return differs;
    return fmt::format("by a defect of ptxas ({}), which is not imitated{}{}", fmt::join(defects, ", "),
                       differs.empty() ? "" : "; ", differs);
  }
};

RecordedDigests read_digests(const Fields& fields) {
  RecordedDigests out{fields.text_or_empty("target"),
                      {fields.text(kLevels[0]), fields.text(kLevels[1])},
                      fields.text_or_empty("differs"),
                      {}};
  if (fields.has("defects")) out.defects = fields.texts("defects");
  return out;
}

// ---- The kernel

AssembledKernel random_kernel(const Fields& fields) {
  const std::string name = fields.text("generator");
  const std::uint64_t seed = fields.number("seed");
  const auto* const kind = std::ranges::find(random_kernels::kKinds, name, &random_kernels::Kind::name);
  if (kind == std::end(random_kernels::kKinds))
    fields.refuse("generator", capture::quoted(name), "a kind of random kernels");
  random_kernels::Builder builder(*kind, seed);
  AssembledKernel out{std::string(random_kernels::kHead) + builder.text(), builder.name()};
  out.block.x = static_cast<unsigned>(builder.threads());
  out.inputs = random_kernels::inputs(*kind, seed, builder.threads());
  return out;
}

Words words_of(std::span<const std::byte> bytes) {
  Words out(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(std::uint32_t));
  return out;
}

// A kernel whose text and inputs are data.
Result<AssembledKernel> given_kernel(const Subject& subject, const Fields& fields) {
  AssembledKernel out{{}, fields.text("entry"), fields.extent("block")};
  if (fields.has("constants")) {
    Words& constants = out.constants.emplace_back();
    for (const std::uint64_t one : fields.numbers("constants")) {
      if (one > 0xFFFF'FFFF) fields.refuse("constants", fmt::format("{}", one), "numbers of 32 bits");
      constants.push_back(static_cast<std::uint32_t>(one));
    }
  }
  const Result<Bytes> text = subject.recording.data(fields.text("module")),
                      inputs = subject.recording.data(fields.text("before"));
  if (!text) return text.error();
  if (!inputs) return inputs.error();
  if (inputs->empty() || inputs->size() % sizeof(std::uint32_t) != 0)
    fields.refuse("before", fmt::format("{} bytes", inputs->size()), "words of 32 bits");
  out.text.assign(reinterpret_cast<const char*>(text->data()), text->size());
  out.inputs = words_of(*inputs);
  return out;
}

Result<ptx::Function> loaded(const AssembledKernel& kernel, Target target) {
  const Result<ptx::Module> module = ptx::Module::load(kernel.text, target);
  if (!module) return module.error();
  return module->function(kernel.entry);
}

struct LeftWords {
  ptx::Report report;
  Words words;  ///< zeros before
};

LeftWords run(const Subject& subject, const AssembledKernel& kernel, const ptx::Function& function,
              bool as_written) {
  ptx::Launch how = subject.options.how;
  how.grid = {1, 1, 1}, how.block = kernel.block;
  how.as_written = as_written;
  if (as_written) how.without.clear();
  how.execute.threads = 1;
  LeftWords out{{}, Words(kernel.inputs.size())};
  std::vector<ptx::Argument> arguments = {ptx::buffer(kernel.inputs)};
  for (const Words& words : kernel.constants) arguments.push_back(ptx::buffer(words));
  arguments.push_back(ptx::buffer(out.words));
  out.report = function.launch(how, arguments);
  return out;
}

// ---- Comparing

std::string digest_of_words(const Words& words) {
  std::uint64_t sum = 0;
  for (std::size_t place = 0; place < words.size(); ++place) sum += inputs::mix(place, words[place]);
  return fmt::format("{:016x}", sum);
}

void differ(FileReport& report, std::string note) {
  ++report.mismatches;
  report.notes.push_back(std::move(note));
}

// Of -O3, where the record says that the rules do not lead there.
void compare_open(const RecordedDigests& recorded, const LeftWords& left, FileReport& report) {
  if (digest_of_words(left.words) == recorded.digests[1])
    differ(report, "at -O3 the same words, and the record says that they differ: " + recorded.why());
  std::set<std::string> noted;
  for (const ptx::AssemblerNote& note : left.report.notes) noted.insert(note.defect);
  for (const std::string& defect : recorded.defects)
    if (!noted.contains(defect))
      differ(report, fmt::format("no note of the module has the defect '{}'", defect));
  report.notes.push_back("at -O3 other words: " + recorded.why());
}

Result<FileStatus> compare_levels(const Subject& subject, const AssembledKernel& kernel,
                                  const RecordedDigests& recorded, Target target, FileReport& report) {
  const Result<ptx::Function> function = loaded(kernel, target);
  if (!function) return function.error();
  for (const std::size_t level : {0, 1}) {
    const LeftWords left = run(subject, kernel, *function, level == 0);
    if (left.report.fault) {
      if (left.report.fault->lanes.empty()) return left.report.fault->error;  // nothing has run
      report.notes.push_back(fmt::format("at -{} a fault: {}", kLevels[level], left.report.fault->message()));
      return FileStatus::fault;
    }
    report.inferred |= left.report.inferred;
    if (level == 1 && recorded.is_open()) {
      compare_open(recorded, left, report);
      return report.mismatches == 0 ? FileStatus::not_reproducible : FileStatus::replayed;
    }
    ++report.cases, report.elements += left.words.size();
    if (const std::string got = digest_of_words(left.words); got != recorded.digests[level])
      differ(report, fmt::format("at -{}: expected digest 0x{}, got 0x{}", kLevels[level],
                                 recorded.digests[level], got));
  }
  return FileStatus::replayed;
}

}  // namespace

Result<FileStatus> verify_kernel_digests(const Subject& subject, FileReport& report) {
  RecordedDigests recorded;
  const auto kernel = recording::reading([&]() -> Result<AssembledKernel> {
    const Fields fields = recording::fields_of(subject.record);
    recorded = read_digests(fields);
    if (fields.has("generator")) return random_kernel(fields);
    return given_kernel(subject, fields);
  });
  if (!kernel) return kernel.error();
  if (!*kernel) return kernel->error();
  report.header.statement = (*kernel)->entry;
  const Result<Target> target = subject.target(recorded.target);
  if (!target) return target.error();
  report.target = target->name();
  return compare_levels(subject, **kernel, recorded, *target, report);
}

}  // namespace warpbit::verification
