// SPDX-License-Identifier: Apache-2.0
// A tcgen05.mma from an .npz: its memories, D, and the values of its operands by role.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "api/tensor_operands.hpp"
#include "diagnose/tensor.hpp"

namespace warpbit {
namespace {

constexpr auto kMemoryLanes = static_cast<std::uint64_t>(TensorMemory::kLanes),
               kMemoryColumns = static_cast<std::uint64_t>(TensorMemory::kColumns);

// An array of these bytes an item, with this number of items.
Result<Array> read_member(const CaptureReader& file, std::string_view name, std::size_t bytes,
                          std::optional<std::uint64_t> items) {
  Result<Array> out = file.read(name);
  if (!out) return out;
  const ArrayHeader& header = out->header;
  if (header.item_bytes != bytes || header.kind == 'S')
    return Error{Errc::member_dtype, std::string(name), header.dtype(),
                 fmt::format("items of {} bits", 8 * bytes)};
  if (items && header.items() != *items)
    return Error{Errc::member_shape, std::string(name), header.shape_text(), fmt::format("{} items", *items)};
  return out;
}

// The values of all operands without a literal, by operand.
Result<std::vector<std::vector<std::uint64_t>>> read_values(const CaptureReader& file,
                                                            const Instruction& instruction) {
  std::vector<std::vector<std::uint64_t>> out;
  for (const Operand& operand : instruction.operands()) {
    std::vector<std::uint64_t>& values = out.emplace_back();
    if (!operand.literals.empty()) continue;
    const Result<Array> array = file.read(operand.role);
    if (!array) return array.error();
    const auto wanted = static_cast<std::uint64_t>(std::max(operand.registers, 1));
    if (array->header.kind == 'S' || array->header.item_bytes > 8)
      return Error{Errc::member_dtype, std::string(operand.role), array->header.dtype(), "integers"};
    if (array->header.items() != wanted)
      return Error{Errc::member_shape, std::string(operand.role), array->header.shape_text(),
                   fmt::format("{} item{}", wanted, wanted == 1 ? "" : "s")};
    for (std::uint64_t i = 0; i < wanted; ++i) values.push_back(array->at(i));
  }
  return out;
}

Result<std::vector<TensorMemory>> read_tensor_memory(const CaptureReader& file, std::uint64_t blocks) {
  const std::uint64_t items = blocks * kMemoryLanes * kMemoryColumns;
  const Result<Array> words = read_member(file, "tensor", 4, items);
  if (!words) return words.error();
  std::optional<Array> written;
  if (file.find("written") != nullptr) {
    Result<Array> read = read_member(file, "written", 1, items);
    if (!read) return read.error();
    written = std::move(*read);
  }
  std::vector<TensorMemory> out(blocks);
  for (TensorMemory& memory : out)
    if (const auto all = memory.allocate(TensorMemory::kColumns); !all) return all.error();
  for (std::uint64_t i = 0; i < items; ++i)
    if (!written || written->at(i) != 0)
      out[i / (kMemoryLanes * kMemoryColumns)].write(static_cast<int>(i / kMemoryColumns % kMemoryLanes),
                                                     static_cast<int>(i % kMemoryColumns),
                                                     static_cast<std::uint32_t>(words->at(i)));
  return out;
}

}  // namespace

Result<TensorDiagnosis> diagnose_tensor(const Instruction& instruction, const std::filesystem::path& path,
                                        const TensorDiagnoseOptions& options) {
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if (!mma)
    return Error{Errc::usage, std::string(instruction.canonical()), "another instruction", "tcgen05.mma"};
  const CaptureHeader header{instruction.text(), std::string(instruction.target().name()),
                             CaptureLayout::registers, CaptureSource::model, "{}"};
  const Result<CaptureReader> file = CaptureReader::open_arrays(path, header);
  if (!file) return file.error();
  const Result<std::vector<std::vector<std::uint64_t>>> values = read_values(*file, instruction);
  if (!values) return values.error();
  const auto blocks = static_cast<std::uint64_t>(mma->cta_group);
  Result<std::vector<TensorMemory>> memories = read_tensor_memory(*file, blocks);
  if (!memories) return memories.error();
  const Result<Array> shared = read_member(*file, "shared", 1, std::nullopt),
                      d = read_member(*file, "d", 4, std::nullopt);
  if (!shared) return shared.error();
  if (!d) return d.error();
  const std::size_t each = shared->data.size() / blocks;
  std::vector<TensorBlock> before;
  for (std::size_t i = 0; i < blocks; ++i)
    before.push_back({&(*memories)[i], std::span(shared->data).subspan(i * each, each)});
  std::vector<std::uint32_t> words;
  for (std::uint64_t i = 0; i < d->header.items(); ++i) words.push_back(static_cast<std::uint32_t>(d->at(i)));
  const TensorMmaSources sources = mma_sources(instruction, [&](std::size_t i, int r) {
    const std::vector<std::uint64_t>& of = (*values)[i];
    return static_cast<std::size_t>(r) < of.size() ? of[static_cast<std::size_t>(r)] : 0;
  });
  return diagnose_tensor(instruction, sources, before, words, options);
}

}  // namespace warpbit
