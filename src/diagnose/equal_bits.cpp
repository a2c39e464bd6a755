// SPDX-License-Identifier: Apache-2.0
#include "warpbit/diagnose.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "warpbit/execute.hpp"
#include "warpbit/format.hpp"
#include "warpbit/replay.hpp"

namespace warpbit {

struct ExpectedBits::State {
  Operand operand;
  int lanes = 0;
  std::vector<std::byte> expected;
  /// Of which it is the result, and of what.
  std::optional<Instruction> instruction = std::nullopt;
  std::vector<std::vector<std::byte>> sources = {};
};

namespace {

constexpr std::uint64_t kShown = 8;

std::size_t bytes_of(const Operand& operand, int lanes) {
  return static_cast<std::size_t>(lanes) * static_cast<std::size_t>(operand.registers) *
         static_cast<std::size_t>(operand.register_bits / 8);
}

Error other_size(const Operand& operand, int lanes, std::size_t seen) {
  return {Errc::view_mismatch, std::string(operand.role), fmt::format("{} bytes", seen),
          fmt::format("{}, {} register{} of {} bits in each of {} lanes", bytes_of(operand, lanes),
                      operand.registers, operand.registers == 1 ? "" : "s", operand.register_bits, lanes)};
}

OperandView view_of(const Operand& operand, int lanes, std::span<const std::byte> registers) {
  if (registers.empty()) return {};
  return OperandView::dense(registers.data(), lanes, operand.registers, operand.register_bits);
}
std::vector<OperandView> views_of(const Instruction& instruction,
                                  std::span<const std::vector<std::byte>> sources) {
  std::vector<OperandView> out;
  for (const std::vector<std::byte>& source : sources)
    out.push_back(view_of(instruction.operands()[out.size() + 1], instruction.lanes(), source));
  return out;
}

std::string differences(const Operand& operand, int lanes, std::span<const std::byte> expected,
                        std::span<const std::byte> got) {
  const Packing& packing = operand.fragment.packing();
  const std::uint64_t mask = packing.mask();
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  std::uint64_t elements = 0, different = 0;
  std::string lines;
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < operand.registers; ++reg) {
      std::uint64_t wanted = 0, word = 0;
      const std::size_t at = static_cast<std::size_t>(lane * operand.registers + reg) * bytes;
      std::memcpy(&wanted, expected.data() + at, bytes);
      std::memcpy(&word, got.data() + at, bytes);
      for (int slot = 0; slot < packing.per_register(); ++slot) {
        const std::optional<Coordinate> element = operand.fragment.at(lane, reg, slot);
        if (!element) continue;
        ++elements;
        const int low = packing.low_bit_of(slot);
        const std::uint64_t x = wanted >> low & mask, y = word >> low & mask;
        if (x == y || ++different > kShown) continue;
        lines += fmt::format("  lane {} register {}, row {} column {}{}: expected {}, got {}\n", lane, reg,
                             element->row, element->column,
                             element->product > 0 ? fmt::format(" product {}", element->product) : "",
                             code_text(operand.format, x), code_text(operand.format, y));
      }
    }
  if (different == 0) return "";
  if (different > kShown) lines += fmt::format("  and {} more\n", different - kShown);
  return fmt::format("{} of {} elements of {} differ:\n{}", different, elements, operand.role, lines);
}

// A line for each of the first mistakes that explain everything, where there are several.
std::string alternatives(const Diagnosis& diagnosis) {
  constexpr std::size_t kAlternatives = 3;
  if (diagnosis.verdict != Verdict::ambiguous) return "";
  std::string out;
  std::size_t count = 0;
  for (const Finding& finding : diagnosis.findings)
    if (finding.explains_all() && ++count <= kAlternatives) out += fmt::format("  {}\n", finding.mistake);
  return count > kAlternatives ? out + fmt::format("  and {} more\n", count - kAlternatives) : out;
}

}  // namespace

Result<ExpectedBits> ExpectedBits::registers(const Operand& operand, int lanes,
                                             std::span<const std::byte> expected) {
  if (operand.registers == 0)
    return Error{Errc::operand_kind, std::string(operand.role), "it has no registers",
                 "an operand in registers"};
  if (lanes < 1 || expected.size() != bytes_of(operand, lanes))
    return other_size(operand, lanes, expected.size());
  return ExpectedBits(std::make_shared<const State>(State{operand, lanes, {expected.begin(), expected.end()}}));
}

Result<ExpectedBits> ExpectedBits::result_of(const Instruction& instruction,
                                             std::span<const std::span<const std::byte>> sources) {
  const std::span<const Operand> operands = instruction.operands();
  if (sources.size() + 1 != operands.size())
    return Error{Errc::view_mismatch, std::string(instruction.canonical()),
                 fmt::format("{} sources", sources.size()),
                 fmt::format("{}, one for each source operand", operands.size() - 1)};
  State state{operands[0], instruction.lanes(), {}, instruction, {}};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].empty() && sources[i].size() != bytes_of(operands[i + 1], state.lanes))
      return other_size(operands[i + 1], state.lanes, sources[i].size());
    state.sources.emplace_back(sources[i].begin(), sources[i].end());
  }
  state.expected.resize(bytes_of(operands[0], state.lanes));
  const ResultView d =
      ResultView::dense(state.expected.data(), state.lanes, operands[0].registers, operands[0].register_bits);
  const Result<Execution> done = execute_batch(instruction, views_of(instruction, state.sources), d, 1);
  if (!done) return done.error();
  return ExpectedBits(std::make_shared<const State>(std::move(state)));
}

std::string ExpectedBits::mismatch(std::span<const std::byte> got) const {
  const State& s = *state_;
  if (got.size() != s.expected.size()) return other_size(s.operand, s.lanes, got.size()).message() + "\n";
  const std::string details = differences(s.operand, s.lanes, s.expected, got);
  if (details.empty()) return details;
  const Result<Diagnosis> diagnosis =
      s.instruction
          ? diagnose(*s.instruction, views_of(*s.instruction, s.sources), view_of(s.operand, s.lanes, got), 1)
          : diagnose(s.operand, s.lanes, s.expected, got);
  if (!diagnosis) return details;
  if (diagnosis->verdict == Verdict::none) return s.instruction ? details + diagnosis->text() + "\n" : details;
  return diagnosis->text() + "\n" + alternatives(*diagnosis) + details;
}

}  // namespace warpbit
