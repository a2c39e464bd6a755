// SPDX-License-Identifier: Apache-2.0
#include "cli/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "warpbit/format.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != ',' && c != '\t' && c != '\n') {
      word += c;
      continue;
    }
    if (!word.empty()) out.push_back(std::exchange(word, ""));
  }
  return out;
}

Result<std::uint64_t> code_of(std::string_view where, std::string_view format, const std::string& word,
                              std::vector<std::string>& notes) {
  const Result<EncodedNumber> number = parse_code(format, word);
  if (!number) {
    Error error = number.error();
    error.where = where;
    return error;
  }
  if (!number->is_exact)
    notes.push_back(
        fmt::format("{}: {} is not in {}; {} is taken", where, word, format, code_text(format, number->code)));
  return number->code;
}

Result<std::vector<std::uint64_t>> codes_of(std::string_view role, std::string_view format,
                                            const std::string& text, std::size_t most,
                                            std::vector<std::string>& notes) {
  std::vector<std::uint64_t> out;
  const std::vector<std::string> words = words_of(text);
  if (words.size() > most)
    return Error{Errc::usage, std::string(role), fmt::format("{} values", words.size()),
                 fmt::format("at most {}", most)};
  for (const std::string& word : words) {
    const Result<std::uint64_t> code = code_of(fmt::format("{}[{}]", role, out.size()), format, word, notes);
    if (!code) return code.error();
    out.push_back(*code);
  }
  return out;
}

}  // namespace

void ElementOptions::add_to(CLI::App& command) {
  command.add_option("--a", a, "a row of A: numbers or codes (0x3c00), as many as there are, the rest is 0");
  command.add_option("--b", b, "a column of B; with a sparse A what its elements meet");
  command.add_option("--c", c, "the accumulator; 0 unless given");
  command.add_option("--a-scale", a_scale, "scale factors of the row of A, one for each block; 1 unless given");
  command.add_option("--b-scale", b_scale, "the same for the column of B");
}

Result<ElementInputs> ElementOptions::inputs(const Instruction& instruction, std::vector<std::string>& notes,
                                             int instructions) const {
  const Operand *left = instruction.find(Part::a), *right = instruction.find(Part::b);
  if (left == nullptr || right == nullptr)
    return Error{Errc::view_mismatch, std::string(instruction.canonical()),
                 "its elements are no sums of products", "an instruction of the form D = A B + C"};
  ElementInputs out;
  const auto take = [&](std::string_view role, std::string_view format, const std::string& text, int most,
                        std::vector<std::uint64_t>& codes) -> Result<void> {
    Result<std::vector<std::uint64_t>> taken =
        codes_of(role, format, text, static_cast<std::size_t>(most), notes);
    if (!taken) return taken.error();
    codes = std::move(*taken);
    return {};
  };
  const int terms = instruction.terms();
  if (Result<void> taken = take("a", left->format, a, terms * instructions, out.a); !taken)
    return taken.error();
  if (Result<void> taken = take("b", right->format, b, terms * instructions, out.b); !taken)
    return taken.error();
  out.a.resize(std::max(out.a.size(), out.b.size()));
  out.b.resize(out.a.size());
  const Operand* accumulator = instruction.find(Part::c);
  std::vector<std::uint64_t> sum;
  if (Result<void> taken =
          take("c", (accumulator ? *accumulator : instruction.operands()[0]).format, c, 1, sum);
      !taken)
    return taken.error();
  if (!sum.empty()) out.c = sum[0];
  // As many scale factors as the elements need, and at least as many as are given.
  const auto blocks = static_cast<std::size_t>(instruction.blocks()), all = static_cast<std::size_t>(terms);
  std::size_t needed = std::max<std::size_t>((out.a.size() * blocks + all - 1) / all, blocks > 0 ? 1 : 0);
  for (const auto& [part, text, codes] :
       {std::tuple(Part::scale_a, &a_scale, &out.a_scale), std::tuple(Part::scale_b, &b_scale, &out.b_scale)}) {
    const Operand* scale = instruction.find(part);
    const std::string role = part == Part::scale_a ? "a-scale" : "b-scale";
    if (scale == nullptr && !text->empty())
      return Error{Errc::usage, role, "scale factors", "none: the form has no block scaling"};
    if (scale == nullptr) continue;
    if (Result<void> taken = take(role, scale->format, *text, instruction.blocks(), *codes); !taken)
      return taken.error();
    needed = std::max(needed, codes->size());
  }
  if (blocks > 0)
    out.a.resize(std::max(out.a.size(), (needed - 1) * all / blocks + 1));  // the rest of a block is 0
  out.b.resize(out.a.size());
  for (const auto& [part, codes] :
       {std::pair(Part::scale_a, &out.a_scale), std::pair(Part::scale_b, &out.b_scale)})
    if (const Operand* scale = instruction.find(part))
      codes->resize(needed, encode_number(scale->format, "1")->code);
  return out;
}

}  // namespace warpbit::cli
