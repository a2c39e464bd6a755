// SPDX-License-Identifier: Apache-2.0
// Mistakes in the operands of tcgen05.mma: matrix descriptors, the instruction descriptor, addresses and the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "diagnose/tensor.hpp"
#include "warpbit/descriptor.hpp"

namespace warpbit::diagnosis {
namespace {

// ---- Matrix descriptors

// Fields in the form of tcgen05 (warpbit/descriptor.hpp), in units of 16 bytes.
struct TensorField {
  int low;
  std::uint64_t mask;
  std::string_view kind, name;

  std::uint64_t of(std::uint64_t bits) const { return bits >> low & mask; }
  std::uint64_t set(std::uint64_t bits, std::uint64_t value) const {
    return (bits & ~(mask << low)) | (value & mask) << low;
  }
};
constexpr std::uint64_t kUnits = 0x3FFF;
constexpr TensorField kStartField{0, kUnits, "start_address", "the start address"},
    kLeadingField{16, kUnits, "leading_offset", "LBO"}, kStrideField{32, kUnits, "stride_offset", "SBO"},
    kBaseField{49, 7, "base_offset", "the base offset"}, kSwizzleField{61, 7, "swizzle", "the swizzle"};
constexpr const TensorField* kInUnits[] = {&kStartField, &kLeadingField, &kStrideField};

using OnDescriptor = std::function<std::uint64_t(std::uint64_t)>;

class TensorDescriptors {
 public:
  explicit TensorDescriptors(TensorMistakes& to) : to_(to), s_(to.subject.state.sources) {}

  void run() {
    one(false, true);
    if (to_.subject.mma.a_in_tensor_memory) return;
    one(true, false);
    one(true, true);
    to_.add({"factors_exchanged", "a b", "the descriptors of A and B are exchanged",
             "the order of a_desc and b_desc", 1, true},
            [](TensorState& state) { std::swap(state.sources.a, state.sources.b); });
  }

 private:
  // The change of A's, of B's or of both. A value that another change already gives is left out if `is_value`.
  void add(std::string_view kind, const std::string& what, std::string hint, int cost, const OnDescriptor& f,
           const OnDescriptor& inverse, bool is_value = false) {
    const auto changed = [&](const OnDescriptor& by) {
      return std::pair(a_ ? by(s_.a) : s_.a, b_ ? by(s_.b) : s_.b);
    };
    const auto values = changed(to_.subject.is_wanted() ? inverse : f);
    if ((a_ && values.first == s_.a) || (b_ && values.second == s_.b)) return;
    if (!seen_.insert(values).second && is_value) return;
    const std::string_view names = a_ && b_ ? "the descriptors of A and B"
                                   : a_     ? "the descriptor of A"
                                            : "the descriptor of B";
    const bool is_common = a_ != b_ && (kind == "offsets_exchanged" || kind == "swizzle");
    const auto make = [a = a_, b = b_](const OnDescriptor& by) {
      return [a, b, by](TensorState& state) {
        if (a) state.sources.a = by(state.sources.a);
        if (b) state.sources.b = by(state.sources.b);
      };
    };
    // Both alike is no simpler than one.
    to_.add({std::string(kind),
             a_ && b_ ? "a b"
             : a_     ? "a"
                      : "b",
             fmt::format("{}: {}", names, what), std::move(hint), cost, is_common},
            make(f), make(inverse));
  }
  void add(std::string_view kind, const std::string& what, std::string hint, int cost, const OnDescriptor& f) {
    add(kind, what, std::move(hint), cost, f, f);
  }

  void one(bool a, bool b) {
    a_ = a, b_ = b;
    add("offsets_exchanged", "LBO and SBO are exchanged",
        "which offset is the leading and which the stride dimension's", 1, [](std::uint64_t d) {
          return kStrideField.set(kLeadingField.set(d, kStrideField.of(d)), kLeadingField.of(d));
        });
    struct Mode {
      std::uint64_t bits;
      std::string_view name;
    };
    for (const Mode& mode : {Mode{0, "no swizzle"},
                             {6, "32-byte swizzle"},
                             {4, "64-byte swizzle"},
                             {2, "128-byte swizzle"},
                             {1, "128-byte swizzle with atoms of 32 bytes"}})
      add("swizzle",
          to_.subject.is_wanted() ? fmt::format("it should have {}", mode.name)
                                  : fmt::format("it has {}", mode.name),
          "bits 61 to 63, and the swizzle that the tile was stored with", 1,
          [mode](std::uint64_t d) { return kSwizzleField.set(d, mode.bits); });
    units();
    if (a == b) return;
    steps(a);
    for (std::uint64_t base = 0; base < 8; ++base)
      add("base_offset",
          fmt::format("the base offset {} {}", to_.subject.is_wanted() ? "should be" : "is", base),
          "bits 49 to 51: address / 128 % 8 of where the swizzle's pattern begins", 2,
          [base](std::uint64_t d) { return kBaseField.set(d, base); });
    for (const TensorField* f : kInUnits) values(*f);
  }

  // Bytes where units of 16 bytes belong, and the other way round.
  void units() {
    for (int subset = 1; subset < 8; ++subset) {
      std::string which;
      for (std::size_t i = 0; i < 3; ++i)
        if (subset >> i & 1) which += fmt::format("{}{}", which.empty() ? "" : " and ", kInUnits[i]->name);
      const auto scaled = [subset](bool by_16) {
        return [subset, by_16](std::uint64_t d) {
          for (std::size_t i = 0; i < 3; ++i)
            if (subset >> i & 1)
              d = kInUnits[i]->set(d, by_16 ? kInUnits[i]->of(d) * 16 : kInUnits[i]->of(d) / 16);
          return d;
        };
      };
      const std::string hint = "the fields hold bytes / 16";
      add("offset_units", which + " in bytes instead of units of 16 bytes", hint, 1, scaled(true),
          scaled(false));
      add("offset_units", which + " divided once more into units of 16 bytes", hint, 1, scaled(false),
          scaled(true));
    }
  }

  // The start of another step along K, as kernels advance descriptors.
  void steps(bool of_a) {
    const TensorSubject& x = to_.subject;
    const std::uint64_t bits = of_a ? s_.a : s_.b;
    const Result<DescribedMatrix> matrix = described_matrix(x.instruction, of_a ? Part::a : Part::b, x.of);
    if (!matrix) return;
    const bool plain = kSwizzleField.of(bits) == 0;
    const auto depth = static_cast<std::uint64_t>(matrix->depth);
    const std::uint64_t leading = kLeadingField.of(bits), stride = kStrideField.of(bits);
    const std::uint64_t chunks = static_cast<std::uint64_t>(matrix->contiguous_bytes()) / 16;
    const std::uint64_t step = matrix->major == Major::k ? (plain ? chunks * leading : chunks)
                                                         : depth / 8 * (plain ? leading : stride);
    for (const int by : {1, -1, 2, -2, 3, -3}) {
      const auto move = [step](int n) {
        return [=](std::uint64_t d) {
          return kStartField.set(d, kStartField.of(d) + static_cast<std::uint64_t>(n) * step);
        };
      };
      add("depth_step",
          fmt::format("the start address is that of {} step{} {} along K ({} bytes each)", std::abs(by),
                      std::abs(by) > 1 ? "s" : "", by > 0 ? "further" : "before", step * 16),
          "how the start address advances from one mma to the next along K", 1, move(by), move(-by));
    }
  }

  void values(const TensorField& f) {
    const auto put = [&](const std::string& text, auto value, auto inverse) {
      const auto with = [f](auto by) { return [f, by](std::uint64_t d) { return f.set(d, by(f.of(d))); }; };
      add(f.kind, fmt::format("{} is {}", f.name, text), "how the address advances with K, M and N", 2,
          with(value), with(inverse), true);
    };
    const auto twice = [](std::uint64_t x) { return 2 * x; };
    const auto half = [](std::uint64_t x) { return x / 2; };
    put("twice what it should be", twice, half);
    put("half of what it should be", half, twice);
    for (std::uint64_t units = 1; units <= 512; units *= 2) {
      const auto more = [units](std::uint64_t x) { return x + units; };
      const auto less = [units](std::uint64_t x) { return x - units; };
      put(fmt::format("{} bytes too large", 16 * units), more, less);
      put(fmt::format("{} bytes too small", 16 * units), less, more);
    }
    const std::string_view is = to_.subject.is_wanted() ? "not " : "";
    for (std::uint64_t units = 0; units <= 512; units = units == 0 ? 1 : 2 * units) {
      const auto set = [units](std::uint64_t) { return units; };
      if (f.low != 0 || units == 0) put(fmt::format("{}{} bytes", is, 16 * units), set, set);
    }
  }

  TensorMistakes& to_;
  const TensorMmaSources& s_;
  bool a_ = false, b_ = false;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
};

// ---- The instruction descriptor

class TensorFields {
 public:
  explicit TensorFields(TensorMistakes& to) : to_(to), x_(to.subject) {}

  void run() {
    types();
    bits();
    sizes();
    for (int id = 0; id < 4; ++id) {
      const std::string hint = "the scale factor IDs: bits 29 to 30 of A, 4 to 5 of B";
      add("scale_selector", "scale_a", value("the scale factor ID of A", id), hint, 1,
          [id](InstructionDescriptor& d) { d.scale_id_a = id; });
      add("scale_selector", "scale_b", value("the scale factor ID of B", id), hint, 1,
          [id](InstructionDescriptor& d) { d.scale_id_b = id; });
      add("scale_selector", "scale_a scale_b", value("the scale factor ID of both A and B", id), hint, 1,
          [id](InstructionDescriptor& d) { d.scale_id_a = d.scale_id_b = id; });
      add("selector", "metadata", value("the sparsity selector", id),
          "bits 0 to 1: which of two columns has the metadata", 1,
          [id](InstructionDescriptor& d) { d.sparsity_selector = id; });
    }
  }

 private:
  template <class Value>
  std::string value(std::string_view what, const Value& v) const {
    return fmt::format("{} {} {}", what, x_.is_wanted() ? "should be" : "is", v);
  }

  template <class Set>
  void add(std::string kind, std::string operand, const std::string& text, std::string hint, int cost,
           Set set) {
    InstructionDescriptor changed = x_.of;
    set(changed);
    const Result<std::uint32_t> bits = changed.encode(x_.mma, x_.instruction.target());
    if (!bits || *bits == x_.state.sources.instruction || !seen_.insert(*bits).second) return;
    const std::uint32_t flipped = *bits ^ x_.state.sources.instruction;
    to_.add({std::move(kind), std::move(operand), "the instruction descriptor: " + text, std::move(hint), cost,
             cost == 1},
            [flipped](TensorState& s) { s.sources.instruction ^= flipped; });
  }

  void types() {
    const std::string hint = "the types of A (bits 7 to 9), of B (10 to 12) and of D (4 to 5)";
    add("type", "a b", "the types of A and B are exchanged", hint, 1,
        [](InstructionDescriptor& d) { std::swap(d.a, d.b); });
    constexpr std::string_view kFactors[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2",
                                             "e2m3", "e3m2", "e2m1", "u8",   "s8"};
    for (const std::string_view type : kFactors) {
      add("type", "a", value("the type of A", type), hint, 1, [type](InstructionDescriptor& d) { d.a = type; });
      add("type", "b", value("the type of B", type), hint, 1, [type](InstructionDescriptor& d) { d.b = type; });
      add("type", "a b", value("the type of both A and B", type), hint, 1,
          [type](InstructionDescriptor& d) { d.a = d.b = type; });
    }
    for (const std::string_view type : {"f16", "f32", "s32"})
      add("type", "d", value("the type of D", type), hint, 1, [type](InstructionDescriptor& d) { d.d = type; });
    for (const std::string_view type : {"ue8m0", "ue4m3"})
      add("type", "scale_a scale_b", value("the type of scale factors", type), "bit 23", 1,
          [type](InstructionDescriptor& d) { d.scale = type; });
  }

  void bits() {
    const auto major = [&](bool is_mn) {
      return fmt::format("{} {}", x_.is_wanted() ? "should be" : "is", is_mn ? "K-major" : "MN-major");
    };
    const auto negated = [&](bool is) {
      if (x_.is_wanted()) return is ? "should not be negated" : "should be negated";
      return is ? "is not negated" : "is negated";
    };
    add("transposed", "a", "A " + major(x_.of.a_is_mn_major), "bit 15, and how the tile lies", 1,
        [](InstructionDescriptor& d) { d.a_is_mn_major = !d.a_is_mn_major; });
    add("transposed", "b", "B " + major(x_.of.b_is_mn_major), "bit 16, and how the tile lies", 1,
        [](InstructionDescriptor& d) { d.b_is_mn_major = !d.b_is_mn_major; });
    add("transposed", "a b", "the transpose bits of A and B are the wrong way", "bits 15 and 16", 1,
        [](InstructionDescriptor& d) {
          d.a_is_mn_major = !d.a_is_mn_major;
          d.b_is_mn_major = !d.b_is_mn_major;
        });
    add("sign", "a", fmt::format("A {}", negated(x_.of.negates_a)), "bit 13", 1,
        [](InstructionDescriptor& d) { d.negates_a = !d.negates_a; });
    add("sign", "b", fmt::format("B {}", negated(x_.of.negates_b)), "bit 14", 1,
        [](InstructionDescriptor& d) { d.negates_b = !d.negates_b; });
    add("saturate", "d", "the saturate bit is the wrong way", "bit 3", 1,
        [](InstructionDescriptor& d) { d.saturates = !d.saturates; });
  }

  void sizes() {
    if (x_.is_wanted()) return;  // what is wanted has another size
    for (const int m : {32, 64, 128, 256})
      add("shape", "d", value("M", m), "M / 16 in bits 24 to 28; of a pair, both blocks'", 1,
          [m](InstructionDescriptor& d) { d.m = m; });
    // Further columns change no others where each lane has all of a row.
    const bool has_banks = x_.mma.is_weight_stationary || x_.mma.cta_group == 2;
    for (const int n : {x_.of.n / 2, 2 * x_.of.n, x_.of.n / 4, 4 * x_.of.n, 8, 16, 32, 64, 128, 256})
      if (n < x_.of.n || has_banks)
        add("shape", "d", value("N", n), "N / 8 in bits 17 to 22; of a pair, both blocks'", 1,
            [n](InstructionDescriptor& d) { d.n = n; });
  }

  TensorMistakes& to_;
  const TensorSubject& x_;
  std::set<std::uint32_t> seen_;
};

// ---- Other operands

void collect_tensor_addresses(TensorMistakes& to) {
  const TensorSubject& x = to.subject;
  struct Row {
    bool exists;
    std::string role, name;
    std::uint32_t TensorMmaSources::*address;
  };
  const auto move = [&](const std::string& role, const std::string& name, int by, auto shift) {
    to.add(
        {"column", role,
         fmt::format("{} is {} column{} too {}", name, std::abs(by), std::abs(by) > 1 ? "s" : "",
                     by > 0 ? "high" : "low"),
         "the column in the address", 2},
        [=](TensorState& s) { shift(s.sources, by); }, [=](TensorState& s) { shift(s.sources, -by); });
  };
  const Row rows[] = {
      {x.mma.is_sparse, "metadata", "the address of the metadata", &TensorMmaSources::metadata},
      {x.mma.is_block_scaled(), "scale_a", "the address of the scale factors of A", &TensorMmaSources::scale_a},
      {x.mma.is_block_scaled(), "scale_b", "the address of the scale factors of B",
       &TensorMmaSources::scale_b}};
  for (const Row& row : rows)
    for (const int by : {1, -1, 2, -2, 4, -4, 8, -8})
      if (row.exists)
        move(row.role, row.name, by, [address = row.address](TensorMmaSources& s, int n) {
          s.*address += static_cast<std::uint32_t>(n);
        });
  for (const int by : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16})
    if (x.mma.a_in_tensor_memory)
      move("a", "the address of A", by, [](TensorMmaSources& s, int n) {
        s.a = static_cast<std::uint32_t>(s.a) + static_cast<std::uint32_t>(n);
      });
  if (x.mma.is_block_scaled())
    to.add({"scales_exchanged", "scale_a scale_b", "the scale factors of A and B are exchanged",
            "the order of the addresses", 1, true},
           [](TensorState& s) { std::swap(s.sources.scale_a, s.sources.scale_b); });
}

void collect_tensor_rest(TensorMistakes& to) {
  const TensorSubject& x = to.subject;
  const TensorMmaSources& s = x.state.sources;
  to.add({s.accumulates != x.is_wanted() ? "accumulator_missing" : "accumulator_added", "d",
          s.accumulates != x.is_wanted() ? "enable-input-d is false: what D held is not added"
                                         : "enable-input-d is true: what D held is added",
          "the predicate enable-input-d: false for the first step along K alone", 1, true},
         [](TensorState& t) { t.sources.accumulates = !t.sources.accumulates; });
  if (x.instruction.find(Part::scale_exponent) != nullptr)
    for (int n = 0; n <= 15; ++n)
      if (n != s.scale_input_d)
        to.add({"scaled", "d", fmt::format("scale-input-d {} {}", x.is_wanted() ? "should be" : "is", n),
                "the operand scale-input-d: D is multiplied by 2^-n", 1, n == 0},
               [n](TensorState& t) { t.sources.scale_input_d = n; });
  if (x.instruction.find(Part::disabled_lanes) != nullptr) {
    const std::string hint = "disable-output-lane: bit 1 is a lane of D that is not written";
    to.add({"lanes_disabled", "d", "all lanes of D are written", hint, 1},
           [](TensorState& t) { t.sources.disabled_lanes = {}; });
    to.add({"lanes_disabled", "d", "the mask of disabled lanes is inverted", hint, 1}, [](TensorState& t) {
      for (std::uint32_t& word : t.sources.disabled_lanes) word = ~word;
    });
  }
  if (x.instruction.find(Part::zero_columns) == nullptr) return;
  const std::string hint = "the zero-column mask descriptor";
  to.add({"zero_columns", "b", "the zero-column mask is not enabled", hint, 1},
         [](TensorState& t) { t.sources.zero_columns &= ~(std::uint64_t{1} << 39); });
  to.add({"zero_columns", "b", "the zero-column mask: the lengths of runs of zeros and of others are exchanged",
          hint, 1},
         [](TensorState& t) {
           const std::uint64_t z = t.sources.zero_columns;
           t.sources.zero_columns =
               (z & ~(std::uint64_t{0xFFFF} << 40)) | (z >> 40 & 0xFF) << 48 | (z >> 48 & 0xFF) << 40;
         });
  to.add({"zero_columns", "b", "the zero-column mask: the first values are inverted", hint, 1},
         [](TensorState& t) { t.sources.zero_columns ^= std::uint64_t{15} << 32; });
  to.add({"zero_columns", "b", "the zero-column mask: the columns of B are not shifted", hint, 1},
         [](TensorState& t) { t.sources.zero_columns &= ~(std::uint64_t{63} << 56); });
}

}  // namespace

void collect_tensor_operands(TensorMistakes& to) {
  TensorDescriptors(to).run();
  TensorFields(to).run();
  collect_tensor_addresses(to);
  collect_tensor_rest(to);
}

}  // namespace warpbit::diagnosis
