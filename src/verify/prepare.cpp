// SPDX-License-Identifier: Apache-2.0
#include "verify/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "recording/fields.hpp"

namespace warpbit::verification {
Result<Bytes> data_of(const Subject& subject, const std::string& name, std::uint64_t bytes,
                      std::string_view what) {
  Result<Bytes> out = subject.recording.data(name);
  if (out && out->size() != bytes)
    return Error{Errc::record_malformed, fmt::format("line {}: {}", subject.record.line, what),
                 fmt::format("data '{}' of {} bytes", name, out->size()), fmt::format("{} bytes", bytes)};
  return out;
}

namespace {

Result<Part> part_of(const Subject& subject, const RecordedMemory& memory) {
  Part out{&memory, {}};
  if (memory.before) {
    Result<Bytes> before = data_of(subject, *memory.before, memory.bytes, memory.name);
    if (!before) return before.error();
    out.bytes = *std::move(before);
  } else {
    out.bytes.resize(memory.bytes);
    out.defined.resize(memory.bytes);
  }
  if (memory.after) {
    Result<Bytes> after = data_of(subject, *memory.after, memory.bytes, memory.name);
    if (!after) return after.error();
    out.expected = *std::move(after);
  } else if (memory.before && memory.is_compared) {
    out.expected = out.bytes;
  }
  return out;
}

// What the records before have left. Bytes that something else has changed since are unknown first: mostly the launch overwrites
// them, and to use one is a fault.
void carry(const Subject& subject, Changed how, Part& part) {
  if (subject.carried == nullptr || !part.defined.empty()) return;
  const std::vector<std::size_t> changed = subject.carried->carry(part.recorded->address, part.bytes);
  if (changed.empty() || how == Changed::as_recorded) return;
  part.defined.assign(part.bytes.size(), std::byte{0xFF});
  for (const std::size_t at : changed) part.defined[at] = std::byte{0};
}

}  // namespace

Result<std::vector<Part>> parts_of(const Subject& subject, const RecordedLaunch& launch, Changed how) {
  std::vector<Part> out;
  for (const RecordedMemory& memory : launch.memory) {
    Result<Part> part = part_of(subject, memory);
    if (!part) return part.error();
    carry(subject, how, *part);
    out.push_back(*std::move(part));
  }
  return out;
}

Result<std::vector<bool>> addresses_of(const ptx::Module& module, std::string_view variable) {
  const Result<std::span<std::byte>> bytes = module.variable(variable);
  if (!bytes) return bytes.error();
  const Result<std::vector<ptx::AddressWord>> words = module.address_words(variable);
  if (!words) return words.error();
  std::vector<bool> out(bytes->size());
  for (const ptx::AddressWord& one : *words)
    for (std::size_t i = one.at; i < one.at + one.bytes; ++i) out[i] = true;
  return out;
}

Result<void> set_variables(const Subject& subject, const RecordedLaunch& launch, const ptx::Module& module) {
  for (const RecordedVariable& one : launch.variables) {
    const Result<std::span<std::byte>> place = module.variable(one.name);
    if (!place) return place.error();
    if (!one.before) continue;
    const Result<Bytes> before = data_of(subject, *one.before, place->size(), "variable " + one.name);
    if (!before) return before.error();
    const Result<std::vector<bool>> kept = addresses_of(module, one.name);
    if (!kept) return kept.error();
    for (std::size_t i = 0; i < before->size(); ++i)
      if (!(*kept)[i]) (*place)[i] = (*before)[i];
  }
  return {};
}

ptx::Launch how_to_launch(const Subject& subject, const RecordedLaunch& launch, std::vector<Part>& parts) {
  ptx::Launch how = subject.options.how;
  how.grid = launch.grid;
  how.block = launch.block;
  how.cluster = launch.cluster;
  how.shared_bytes = launch.shared_bytes;
  how.execute.threads = 1;  // records are executed side by side
  for (Part& part : parts)
    how.memory.push_back({part.recorded->address, part.bytes, part.recorded->name, part.defined});
  return how;
}

Result<std::string> module_text(const Subject& subject, const RecordedLaunch& launch) {
  const Result<Bytes> text = subject.recording.data(launch.module);
  if (!text) return text.error();
  return std::string(reinterpret_cast<const char*>(text->data()), text->size());
}

void protect(ptx::Launch& how, std::size_t part, std::size_t from, std::size_t to) {
  const ptx::PlacedMemory whole = how.memory[part];
  const auto piece = [&](std::size_t first, std::size_t last, bool is_writable) {
    ptx::PlacedMemory out{whole.address + first, whole.bytes.subspan(first, last - first), whole.name};
    if (!whole.defined.empty()) out.defined = whole.defined.subspan(first, last - first);
    out.is_writable = is_writable;
    return out;
  };
  how.memory[part] = piece(from, to, false);
  if (from > 0) how.memory.push_back(piece(0, from, true));
  if (to < whole.bytes.size()) how.memory.push_back(piece(to, whole.bytes.size(), true));
}

std::vector<ptx::Argument> arguments_of(const RecordedLaunch& launch) {
  std::vector<ptx::Argument> out;
  for (const RecordedParameter& one : launch.parameters) out.emplace_back(one.bytes);
  return out;
}

}  // namespace warpbit::verification
