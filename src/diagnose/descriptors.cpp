// SPDX-License-Identifier: Apache-2.0
// Mistakes in the descriptors of factors in shared memory (PTX manual, "Matrix Descriptor Format").
#include <fmt/format.h>

#include <array>
#include <set>

#include "diagnose/hypothesis.hpp"
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

class DescriptorCollection {
 public:
  explicit DescriptorCollection(Collection& to) : to_(to) {}

  void run() {
    std::vector<Part> parts;
    for (const Part part : {Part::a, Part::b})
      if (array_of(to_.capture, part, true) != nullptr) parts.push_back(part);
    for (const Part part : parts) one({part});
    if (parts.size() < 2) return;
    one(parts);
    to_.add_inputs({"factors_exchanged", "a b", "the descriptors of A and B are exchanged",
                    "the order of the operands", 1},
                   [](Trial& trial) {
                     std::swap(array_of(trial.capture, Part::a, true)->data,
                               array_of(trial.capture, Part::b, true)->data);
                   });
  }

 private:
  void add(std::string_view kind, std::string_view what, std::string hint, int cost, const Change& change_one) {
    std::vector<std::uint64_t> before, effect;
    for (const Part part : parts_)
      for (std::uint64_t i = 0; i < to_.capture.cases; ++i) {
        before.push_back(array_of(to_.capture, part, true)->at(i));
        effect.push_back(change_one(before.back()));
      }
    if (effect == before || !seen_.insert({parts_, effect}).second) return;
    const bool both = parts_.size() == 2, left = parts_[0] == Part::a;
    to_.add_change({std::string(kind),
                    both   ? "a b"
                    : left ? "a"
                           : "b",
                    fmt::format("the descriptor{}: {}",
                                both   ? "s of A and B"
                                : left ? " of A"
                                       : " of B",
                                what),
                    std::move(hint), cost, cost == 1},
                   parts_, change_one, true);
  }

  void one(std::vector<Part> parts) {
    parts_ = std::move(parts);
    add("offsets_exchanged", "LBO and SBO are exchanged",
        "which offset is the leading and which the stride dimension's", 1, [](std::uint64_t d) {
          return with_field(with_field(d, kLeading, field(d, kStride)), kStride, field(d, kLeading));
        });
    units();
    for (std::uint64_t mode = 0; mode < 4; ++mode)
      add("swizzle", name(static_cast<Swizzle>(mode)), "the swizzle that the tile was stored with", 1,
          [mode](std::uint64_t d) { return with_field(d, kSwizzle, mode, 3); });
    for (std::uint64_t base = 0; base < 8; ++base)
      add("base_offset", fmt::format("the base offset is {}", base),
          "address / 128 % 8 of where the swizzle's pattern begins", 2,
          [base](std::uint64_t d) { return with_field(d, kBase, base, 7); });
    for (const FieldName& f : kFields) values(f);
  }

  // Bytes where units of 16 bytes belong, and the other way round, in any of the three fields.
  void units() {
    for (int subset = 1; subset < 8; ++subset)
      for (const bool bytes : {true, false}) {
        std::string which;
        for (std::size_t i = 0; i < 3; ++i)
          if (subset >> i & 1) which += fmt::format("{}{}", which.empty() ? "" : " and ", kFields[i].name);
        add("offset_units",
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
  void values(const FieldName& f) {
    const auto set = [&](const std::string& text, auto value) {
      add(f.kind, fmt::format("{} is {}", f.name, text), "how the address advances with K, M and N", 2,
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

  Collection& to_;
  std::vector<Part> parts_;
  std::set<std::pair<std::vector<Part>, std::vector<std::uint64_t>>> seen_;
};

}  // namespace

void collect_descriptors(Collection& to) {
  if (to.capture.memory) DescriptorCollection(to).run();
}

}  // namespace warpbit
