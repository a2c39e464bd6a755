// SPDX-License-Identifier: Apache-2.0
#include "layout/fragment_fit.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "isa/instruction.hpp"

namespace warpbit::fragment_fit {
namespace {

// ---- The forms

void find_matrices(Candidate& candidate) {
  std::map<int, std::vector<const MoveElement*>> by_register;
  for (const MoveElement& element : candidate.move->elements) by_register[element.bits.reg].push_back(&element);
  std::map<int, Matrix> by_line;
  for (const auto& [reg, elements] : by_register) {
    const int first = (*std::ranges::min_element(elements, {}, &MoveElement::line))->line;
    Matrix& matrix = by_line[first];
    matrix.registers.push_back(reg);
    for (const MoveElement* element : elements) {
      matrix.elements.push_back(element);
      if (std::ranges::find(matrix.lines, element->line) == matrix.lines.end())
        matrix.lines.push_back(element->line);
    }
  }
  for (auto& [line, matrix] : by_line) {
    std::ranges::sort(matrix.lines);
    candidate.matrices.push_back(std::move(matrix));
  }
}

// ---- The comparison

// The lines' beginnings, if the matrix goes into these registers of the operand.
std::optional<Starts> compare(const Fragment& fragment, const Candidate& c, const Matrix& matrix, int warp,
                              std::span<const int> registers, int shift, bool padded) {
  Starts out;
  int matched = 0;
  for (const MoveElement* element : matrix.elements) {
    const auto at = std::ranges::find(matrix.registers, element->bits.reg) - matrix.registers.begin();
    for (int bit = 0; bit < c.move->element_bits; ++bit) {
      const int low = element->bits.low_bit + shift + bit;
      if (low >= kRegisterBits) return std::nullopt;
      const StoredBit& held =
          fragment.at(warp * kWarp + element->bits.lane, registers[static_cast<std::size_t>(at)], low);
      if (held.line < 0) {
        if (padded) continue;
        return std::nullopt;
      }
      ++matched;
      const StoredBit start{held.line, held.at - element->position * c.move->element_bits - bit};
      const auto [known, is_new] = out.try_emplace(element->line, start);
      if (!is_new && (known->second.line != start.line || known->second.at != start.at)) return std::nullopt;
    }
  }
  const int unit = c.is_dense() ? kLineBits : c.move->line_elements * c.move->element_bits;
  for (const auto& [line, start] : out)
    if (start.at < 0 || start.at % unit != 0 || start.at % fragment.memory_bits != 0) return std::nullopt;
  int held = 0;
  for (const int reg : registers)
    for (int lane = 0; lane < kWarp; ++lane)
      for (int bit = 0; bit < kRegisterBits; ++bit)
        held += fragment.at(warp * kWarp + lane, reg, bit).line >= 0 ? 1 : 0;
  return held == matched && out.size() == matrix.lines.size() ? std::optional(out) : std::nullopt;
}

// The unused registers, the lowest first, that a matrix of the form fills; and takes them.
std::vector<int> take(const Fragment& fragment, const Candidate& c, const Matrix& matrix, int shift,
                      bool padded, std::vector<bool>& used, std::vector<int> chosen = {}) {
  if (chosen.size() == matrix.registers.size())
    return compare(fragment, c, matrix, 0, chosen, shift, padded) ? chosen : std::vector<int>();
  for (int reg = 0; reg < fragment.registers; ++reg) {
    if (used[static_cast<std::size_t>(reg)]) continue;
    used[static_cast<std::size_t>(reg)] = true;
    chosen.push_back(reg);
    if (std::vector<int> found = take(fragment, c, matrix, shift, padded, used, chosen); !found.empty())
      return found;
    chosen.pop_back();
    used[static_cast<std::size_t>(reg)] = false;
  }
  return {};
}

std::optional<Fit> fit(const Fragment& fragment, const Candidate& c, int shift, bool padded) {
  const int each = c.move->registers;
  if (fragment.registers % each != 0) return std::nullopt;
  std::vector<bool> used(static_cast<std::size_t>(fragment.registers));
  Fit out{&c, shift, {}};
  for (int first = 0; first < fragment.registers; first += each) {
    std::vector<int> registers(static_cast<std::size_t>(each));
    for (const Matrix& matrix : c.matrices) {
      const std::vector<int> taken = take(fragment, c, matrix, shift, padded, used);
      if (taken.empty()) return std::nullopt;
      for (std::size_t i = 0; i < taken.size(); ++i)
        registers[static_cast<std::size_t>(matrix.registers[i])] = taken[i];
    }
    out.registers.push_back(registers);
  }
  for (int warp = 0; warp < fragment.warps; ++warp) {
    auto& starts = out.starts.emplace_back();
    for (const std::vector<int>& registers : out.registers) {
      Starts& all = starts.emplace_back();
      for (const Matrix& matrix : c.matrices) {
        std::vector<int> own;
        for (const int reg : matrix.registers) own.push_back(registers[static_cast<std::size_t>(reg)]);
        const std::optional<Starts> found = compare(fragment, c, matrix, warp, own, shift, padded);
        if (!found) return std::nullopt;
        all.insert(found->begin(), found->end());
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Candidate> candidates(Target target, bool stores) {
  const std::string_view family = stores ? "stmatrix" : "ldmatrix";
  std::vector<Candidate> out;
  for (const FormInfo& form : forms()) {
    if (form.family != family || form.canonical.find(".shared.") == std::string::npos ||
        std::ranges::find(form.targets, target) == form.targets.end())
      continue;
    Result<Instruction> parsed = Instruction::parse(form.canonical, target);
    if (!parsed) continue;
    const auto& kernel = std::get<std::reference_wrapper<const Move>>(parsed->decoded().kernel);
    out.push_back({form.canonical, *std::move(parsed), &kernel.get()});
    find_matrices(out.back());
  }
  return out;
}

std::optional<Fit> best_fit(const Fragment& fragment, std::span<const Candidate> all, int shift, bool padded) {
  std::optional<Fit> best;
  const auto rank = [](const Fit& f) {
    return std::tuple(f.registers.size(), f.shift, f.candidate->form.size(), f.candidate->form);
  };
  for (const Candidate& c : all)
    for (const int by : {0, shift}) {
      std::optional<Fit> found = fit(fragment, c, by, padded);
      if (found && (!best || rank(*found) < rank(*best))) best = std::move(found);
      if (shift == 0) break;
    }
  return best;
}

}  // namespace warpbit::fragment_fit
