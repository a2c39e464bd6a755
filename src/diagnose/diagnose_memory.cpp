// SPDX-License-Identifier: Apache-2.0
// Mistakes in the descriptors of factors in shared memory (PTX manual, "Matrix Descriptor Format").
#include <fmt/format.h>

#include <array>
#include <set>

#include "diagnose/diagnose_trial.hpp"
#include "warpbit/descriptor.hpp"

namespace warpbit {
namespace {

constexpr std::uint64_t kField = 0x3FFF;
constexpr int kStart = 0, kLeading = 16, kStride = 32, kBase = 49, kSwizzle = 62;

std::uint64_t field(std::uint64_t bits, int low, std::uint64_t mask = kField) {
  return bits >> low & mask;
}
std::uint64_t with_field(std::uint64_t bits, int low, std::uint64_t value, std::uint64_t mask = kField) {
  return (bits & ~(mask << low)) | (value & mask) << low;
}

using Change = std::function<std::uint64_t(std::uint64_t)>;

struct FieldName {
  int low;
  std::string_view kind, name;
};
constexpr FieldName kFields[] = {{kStart, "start_address", "the start address"},
                                 {kLeading, "leading_offset", "LBO"},
                                 {kStride, "stride_offset", "SBO"}};

// The source of a descriptor, or nullptr if the statement has none or has it as a literal.
Array* descriptors_of(LoadedCapture& capture, Part part) {
  const auto operands = capture.instruction.operands();
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (operands[i].part == part && operands[i].kind == OperandKind::descriptor &&
        !capture.sources[i - 1].data.empty())
      return &capture.sources[i - 1];
  return nullptr;
}

class MemoryCollection {
 public:
  explicit MemoryCollection(const LoadedCapture& capture) : capture_(capture) {}

  std::vector<Hypothesis> run() {
    std::vector<Part> all;
    for (const Part part : {Part::a, Part::b})
      if (descriptors_of(capture_, part) != nullptr) all.push_back(part);
    for (const Part part : all) one({part});
    if (all.size() == 2) {
      one(all);
      exchanged();
    }
    return std::move(out_);
  }

 private:
  using Parts = std::vector<Part>;

  static std::string names(const Parts& parts) {
    return parts.size() == 2     ? "the descriptors of A and B"
           : parts[0] == Part::a ? "the descriptor of A"
                                 : "the descriptor of B";
  }

  void add(const Parts& parts, std::string_view kind, const std::string& what, std::string hint, int cost,
           Change change) {
    std::vector<std::uint64_t> effect;
    for (const Part part : parts) {
      const Array& array = *descriptors_of(capture_, part);
      for (std::uint64_t i = 0; i < array.header.items(); ++i) effect.push_back(change(array.at(i)));
      for (std::uint64_t i = 0; i < array.header.items(); ++i) same_.push_back(array.at(i));
    }
    const bool nothing = effect == same_;
    same_.clear();
    if (nothing || !seen_.insert({parts, effect}).second) return;
    Hypothesis h{std::string(kind),
                 parts.size() == 2     ? "a b"
                 : parts[0] == Part::a ? "a"
                                       : "b",
                 fmt::format("{}: {}", names(parts), what),
                 std::move(hint),
                 cost,
                 cost == 1};
    h.inputs = [parts, change](Trial& trial) {
      for (const Part part : parts) {
        Array& array = *descriptors_of(trial.capture, part);
        for (std::uint64_t i = 0; i < array.header.items(); ++i) array.set(i, change(array.at(i)));
      }
    };
    out_.push_back(std::move(h));
  }

  void one(const Parts& parts) {
    add(parts, "offsets_exchanged", "LBO and SBO are exchanged",
        "which offset is the leading and which the stride dimension's", 1, [](std::uint64_t d) {
          return with_field(with_field(d, kLeading, field(d, kStride)), kStride, field(d, kLeading));
        });
    units(parts);
    for (std::uint64_t mode = 0; mode < 4; ++mode)
      add(parts, "swizzle", name(static_cast<Swizzle>(mode)), "the swizzle that the tile was stored with", 1,
          [mode](std::uint64_t d) { return with_field(d, kSwizzle, mode, 3); });
    for (std::uint64_t base = 0; base < 8; ++base)
      add(parts, "base_offset", fmt::format("the base offset is {}", base),
          "address / 128 % 8 of where the swizzle's pattern begins", 2,
          [base](std::uint64_t d) { return with_field(d, kBase, base, 7); });
    for (const FieldName& f : kFields) values(parts, f);
  }

  // Bytes where units of 16 bytes belong, and the other way round, in any of the three fields.
  void units(const Parts& parts) {
    for (int subset = 1; subset < 8; ++subset)
      for (const bool bytes : {true, false}) {
        std::string which;
        for (std::size_t i = 0; i < 3; ++i)
          if (subset >> i & 1) which += fmt::format("{}{}", which.empty() ? "" : " and ", kFields[i].name);
        add(parts, "offset_units",
            fmt::format("{} {} {}", which, bytes ? "in bytes instead of" : "divided once more into",
                        "units of 16 bytes"),
            "the fields hold bytes / 16", 1, [subset, bytes](std::uint64_t d) {
              for (std::size_t i = 0; i < 3; ++i)
                if (subset >> i & 1) {
                  const std::uint64_t value = field(d, kFields[i].low);
                  d = with_field(d, kFields[i].low, bytes ? value * 16 : value / 16);
                }
              return d;
            });
      }
  }

  // Another offset or start: of neighbours, of another step along K.
  void values(const Parts& parts, const FieldName& f) {
    const auto set = [&](const std::string& text, auto value) {
      add(parts, f.kind, fmt::format("{} is {}", f.name, text), "how the address advances with K, M and N", 2,
          [low = f.low, value](std::uint64_t d) { return with_field(d, low, value(field(d, low))); });
    };
    set("0", [](std::uint64_t) { return std::uint64_t{0}; });
    set("twice what it should be", [](std::uint64_t x) { return 2 * x; });
    set("half of what it should be", [](std::uint64_t x) { return x / 2; });
    for (std::uint64_t units = 1; units <= 512; units *= 2) {
      set(fmt::format("{} bytes too large", 16 * units), [units](std::uint64_t x) { return x + units; });
      set(fmt::format("{} bytes too small", 16 * units), [units](std::uint64_t x) { return x - units; });
    }
    if (f.low != kStart)
      for (std::uint64_t units = 1; units <= 512; units *= 2)
        set(fmt::format("{} bytes", 16 * units), [units](std::uint64_t) { return units; });
  }

  void exchanged() {
    Hypothesis h{"factors_exchanged", "a b", "the descriptors of A and B are exchanged",
                 "the order of the operands", 1};
    h.inputs = [](Trial& trial) {
      std::swap(descriptors_of(trial.capture, Part::a)->data, descriptors_of(trial.capture, Part::b)->data);
    };
    out_.push_back(std::move(h));
  }

  LoadedCapture capture_;
  std::vector<std::uint64_t> same_;
  std::set<std::pair<Parts, std::vector<std::uint64_t>>> seen_;
  std::vector<Hypothesis> out_;
};

}  // namespace

std::vector<Hypothesis> memory_hypotheses(const LoadedCapture& capture) {
  if (!capture.memory) return {};
  return MemoryCollection(capture).run();
}

}  // namespace warpbit
