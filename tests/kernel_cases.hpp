// SPDX-License-Identifier: Apache-2.0
// What the kernels are tested on: forms of dot products, and batches of tile_inputs.hpp in their registers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>  // memcpy
#include <map>
#include <string_view>
#include <vector>

#include "isa/instruction.hpp"
#include "oracle/oracle.hpp"
#include "tile_inputs.hpp"
#include "warpbit/execute.hpp"

namespace kernel_cases {

using namespace warpbit;
using profiles::Alphabet;
using profiles::Stream;
using tiles::Codes;
using tiles::Formats;
using Bytes = std::vector<std::byte>;

inline constexpr std::uint64_t kSeed = 1;

// ---- Kernels

inline std::vector<Kernel> fast_kernels() {
  std::vector<Kernel> out = kernels();
  std::erase(out, Kernel::reference);
  return out;
}

// ---- Forms

struct Subject {
  Instruction instruction;
  oracle::Problem problem;

  const Tile& tile() const { return std::get<Tile>(instruction.decoded().kernel); }
  std::string title() const {
    return fmt::format("{} on {}", instruction.canonical(), instruction.target().name());
  }
  // Formats and fragments, in words.
  std::string layout() const {
    std::string out = fmt::format("{} terms, {} scales;", instruction.terms(), problem.scale);
    for (const Operand& x : instruction.operands())
      if (x.registers > 0) out += fmt::format("{} {} {} {};", x.role, x.format, x.registers, x.fragment.text());
    return out;
  }
  bool same_plan(const Subject& x) const {
    return *tile().plan == *x.tile().plan && problem.sparse == x.problem.sparse &&
           problem.blocks == x.problem.blocks && instruction.family() == x.instruction.family();
  }
};

// What reads memory is executed by execute_warp, which has no kernel but the specification.
inline bool is_batched(const Instruction& instruction) {
  return std::holds_alternative<DotProduct>(instruction.decoded().form->action) && !instruction.uses_memory();
}

// One for each plan, formats and layout.
inline std::vector<Subject> distinct_subjects() {
  std::map<std::string, std::vector<Subject>> found;
  for (const FormInfo& form : forms()) {
    if (!is_batched(Instruction::parse(form.canonical, form.targets.back()).value())) continue;
    for (const Target target : form.targets) {
      const Result<Instruction> parsed = Instruction::parse(form.canonical, form.operands, target);
      INFO(form.canonical << " " << form.operands << " on " << target.name());
      REQUIRE(parsed.ok());
      const Subject subject{*parsed, oracle::problem_of(target.name(), form.canonical)};
      std::vector<Subject>& alike = found[subject.layout()];
      if (std::ranges::none_of(alike, [&](const Subject& x) { return x.same_plan(subject); }))
        alike.push_back(subject);
    }
  }
  std::vector<Subject> out;
  for (const auto& [layout, subjects] : found) out.insert(out.end(), subjects.begin(), subjects.end());
  return out;
}

// ---- Batches

// The registers of one operand: [case][lane][register].
struct Cells {
  int lanes = 32, count = 0, bits = 32;
  Bytes bytes;

  Cells(const Instruction& i, std::size_t operand, std::size_t cases)
      : lanes(i.lanes()), count(i.operands()[operand].registers), bits(i.operands()[operand].register_bits) {
    bytes.resize(cases * case_bytes());
  }
  std::size_t case_bytes() const { return static_cast<std::size_t>(lanes * count * bits / 8); }
  OperandView view() const { return OperandView::dense(bytes.data(), lanes, count, bits); }
  ResultView result_view() { return ResultView::dense(bytes.data(), lanes, count, bits); }

  // Register bits that hold no element keep what they have.
  void put(std::size_t index, const Place& p, std::uint64_t code) {
    std::byte* at =
        bytes.data() + index * case_bytes() + static_cast<std::size_t>((p.lane * count + p.reg) * bits / 8);
    const std::uint64_t mask = boundary::ones(p.bits) << p.low_bit;
    std::uint64_t word = 0;
    std::memcpy(&word, at, static_cast<std::size_t>(bits / 8));
    word = (word & ~mask) | (code << p.low_bit & mask);
    std::memcpy(at, &word, static_cast<std::size_t>(bits / 8));
  }
};

// Where the elements of an operand lie, each by row and column; more than once where lanes share them.
struct Places {
  int products = 1, rows = 0, columns = 0;
  std::vector<std::vector<Place>> of_element;

  Places() = default;
  explicit Places(const FragmentMap& map) : products(map.products()), rows(map.rows()), columns(map.columns()) {
    of_element.resize(static_cast<std::size_t>(products * rows * columns));
    for (int lane = 0; lane < map.lanes(); ++lane)
      for (int reg = 0; reg < map.registers(); ++reg)
        for (int slot = 0; slot < map.packing().per_register(); ++slot)
          if (const auto at = map.at(lane, reg, slot))
            of_element[static_cast<std::size_t>((at->product * rows + at->row) * columns + at->column)]
                .push_back({lane, reg, map.packing().low_bit_of(slot), map.packing().bits});
  }
  // The matrix of a product, row by row or column by column.
  void put(Cells& registers, std::size_t index, int product, const Codes& codes, bool by_column) const {
    const std::size_t first = static_cast<std::size_t>(product) * codes.size();
    const auto all_rows = static_cast<std::size_t>(rows), all_columns = static_cast<std::size_t>(columns);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::size_t at = by_column ? i % all_rows * all_columns + i / all_rows : i;
      for (const Place& p : of_element[first + at]) registers.put(index, p, codes[i]);
    }
  }
};

// Makes batches. The same number gives the same batch.
class Inputs {
 public:
  Inputs(const Instruction& instruction, const oracle::Problem& problem)
      : instruction_(instruction), formats_(formats_of(instruction, problem)) {
    for (const Operand& operand : instruction.operands())
      places_.push_back(operand.registers > 0 ? Places(operand.fragment) : Places());
  }

  // The registers of the sources of batch `number`, and what each case holds.
  struct Batch {
    std::vector<Cells> sources;
    std::vector<std::string_view> kinds;

    std::vector<OperandView> views() const {
      std::vector<OperandView> out;
      for (const Cells& r : sources) out.push_back(r.view());
      return out;
    }
  };
  Batch operator()(std::uint64_t number, std::size_t cases) const {
    Stream stream(kSeed, number);
    Batch out = random_bits(cases, stream);
    for (std::size_t i = 0; i < cases; ++i)
      out.kinds[i] = fill_case(out, i, static_cast<int>((number * cases + i) % tiles::Builder::kKinds), stream);
    return out;
  }
  // Registers of random bits, but for metadata, of which each nibble is defined.
  Batch of_bits(std::uint64_t number, std::size_t cases) const {
    Stream stream(kSeed, number);
    Batch out = random_bits(cases, stream);
    const auto operands = instruction_.operands();
    for (std::size_t i = 1; i < operands.size(); ++i)
      if (operands[i].part == Part::metadata)
        for (std::byte& b : out.sources[i - 1].bytes) b = std::byte(nibble(stream) << 4 | nibble(stream));
    return out;
  }
  // Boundary codes alone: any with any.
  Batch of_boundaries(std::uint64_t number, std::size_t cases) const {
    Stream stream(kSeed, number);
    Batch out = random_bits(cases, stream);
    for (std::size_t i = 0; i < cases; ++i)
      out.kinds[i] = fill_case(out, i, tiles::Builder::kKinds - 1, stream);
    return out;
  }

 private:
  static Formats formats_of(const Instruction& i, const oracle::Problem& p) {
    const auto alphabet = [](const std::string& name) { return Alphabet(oracle::find_format(name)); };
    return {{alphabet(p.a), alphabet(p.b), alphabet(p.c), alphabet(p.d), i.terms()},
            i.rows(),
            i.columns(),
            alphabet(p.blocks > 0 ? p.scale : p.c),
            p.blocks};
  }

  Batch random_bits(std::size_t cases, Stream& stream) const {
    Batch out;
    const auto operands = instruction_.operands();
    for (std::size_t i = 1; i < operands.size(); ++i) {
      out.sources.emplace_back(instruction_, i, cases);
      const bool selects = operands[i].part == Part::selector_a || operands[i].part == Part::selector_b;
      Bytes& bytes = out.sources.back().bytes;
      for (std::size_t at = 0; !selects && at < bytes.size(); at += 4) {
        const auto word = static_cast<std::uint32_t>(stream.bits() >> 32);
        std::memcpy(&bytes[at], &word, 4);
      }
    }
    out.kinds.assign(cases, "random bits");
    return out;
  }

  // A nibble that is defined, its indices in any order.
  std::uint64_t nibble(Stream& stream) const {
    std::uint64_t out = 0;
    while (!is_defined(tile().sparsity, out, false)) out = static_cast<std::uint64_t>(stream.range(0, 15));
    return out;
  }
  // One nibble for all groups, so that the products are those of the tile; or any.
  std::uint64_t metadata(Batch& batch, std::size_t index, Stream& stream) const {
    const std::uint64_t nibble = this->nibble(stream);
    const auto operands = instruction_.operands();
    for (std::size_t i = 1; i < operands.size(); ++i) {
      Cells& r = batch.sources[i - 1];
      if (operands[i].part == Part::metadata && stream.coin())
        std::fill_n(r.bytes.begin() + static_cast<std::ptrdiff_t>(index * r.case_bytes()), r.case_bytes(),
                    static_cast<std::byte>(nibble * 0x11));
    }
    return nibble;
  }
  // Of a column of B: `terms` elements where the nibble chooses them, beside others of the same.
  Codes spread(const std::uint64_t* terms, std::uint64_t nibble) const {
    const Sparsity& s = tile().sparsity;
    const int count = instruction_.terms(), depth = instruction_.depth();
    if (!s.is_sparse()) return {terms, terms + count};
    Codes out;
    for (int k = 0; k < depth; ++k) out.push_back(terms[k / 2]);
    for (int term = 0; term < count; ++term) {
      const int within = term % s.kept, unit = s.kept / 2;
      const int chosen =
          s.kept == 1 ? static_cast<int>(nibble >> 3) : stored_index(s, nibble, within) * unit + within % unit;
      out[static_cast<std::size_t>(term / s.kept * s.width + chosen)] = terms[term];
    }
    return out;
  }

  std::string_view fill_case(Batch& batch, std::size_t index, int kind, Stream& stream) const {
    const std::uint64_t nibble = tile().sparsity.is_sparse() ? metadata(batch, index, stream) : 0;
    std::string_view name;
    for (int product = 0; product < instruction_.products(); ++product) {
      tiles::Tile tile;
      name = tiles::Builder(formats_, stream, tile).fill(kind);
      const auto terms = static_cast<std::size_t>(instruction_.terms());
      Codes b;
      for (std::size_t i = 0; i < tile.b.size(); i += terms)
        for (const std::uint64_t code : spread(&tile.b[i], nibble)) b.push_back(code);
      const auto operands = instruction_.operands();
      for (std::size_t i = 1; i < operands.size(); ++i) {
        const auto put = [&](const Codes& codes, bool by_column) {
          places_[i].put(batch.sources[i - 1], index, product, codes, by_column);
        };
        switch (operands[i].part) {
          case Part::a: put(tile.a, false); break;
          case Part::b: put(b, true); break;
          case Part::c: put(tile.c, false); break;
          case Part::scale_a: put(tile.scale_a, false); break;
          case Part::scale_b: put(tile.scale_b, true); break;
          default: break;
        }
      }
    }
    return name;
  }

  const Tile& tile() const { return std::get<Tile>(instruction_.decoded().kernel); }

  Instruction instruction_;
  Formats formats_;
  std::vector<Places> places_;
};

// ---- Execution

inline Execution execute(const Subject& x, std::span<const OperandView> sources, const ResultView& d,
                         std::size_t cases, Kernel kernel, int threads = 1) {
  ExecuteOptions options;
  options.undefined = Undefined::as_measured;
  options.kernel = kernel;
  options.threads = threads;
  return execute_batch(x.instruction, sources, d, cases, options).value();
}

// The kernels that ran when these were asked for.
inline std::vector<Kernel> kernels_that_run(const Subject& x) {
  const Inputs::Batch batch = Inputs(x.instruction, x.problem)(0, 1);
  Cells d(x.instruction, 0, 1);
  std::vector<Kernel> out;
  for (const Kernel kernel : fast_kernels())
    out.push_back(execute(x, batch.views(), d.result_view(), 1, kernel).kernel);
  return out;
}

}  // namespace kernel_cases
