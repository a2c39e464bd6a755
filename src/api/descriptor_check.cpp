// SPDX-License-Identifier: Apache-2.0
#include "warpbit/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/checks.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {
namespace {

// The bytes that one descriptor reads from a memory.
struct Reading {
  std::vector<ByteRange> ranges, shared;
  std::uint64_t beyond = 0;  // bytes out of bounds
  // Reads each byte once, in whole atoms, with distances no larger than in the canonical layout.
  bool canonical = false;

  bool is_sound() const { return shared.empty() && beyond == 0; }
};

std::uint64_t count(const std::vector<ByteRange>& ranges) {
  std::uint64_t sum = 0;
  for (const ByteRange& range : ranges) sum += range.last - range.first + 1;
  return sum;
}

// A K-major matrix within one span does not need LBO.
bool uses_leading(const Descriptor& d, const DescribedMatrix& matrix) {
  return matrix.major == Major::mn || d.swizzle == Swizzle::none ||
         matrix.contiguous_bytes() > span_bytes(d.swizzle);
}

Reading read(const Descriptor& descriptor, const DescribedMatrix& matrix, std::uint64_t shared_bytes) {
  const DescriptorMap map(descriptor, matrix);
  Reading out{map.ranges(), map.shared_ranges()};
  for (const ByteRange& range : out.ranges)
    if (range.last >= shared_bytes) out.beyond += range.last - std::max(range.first, shared_bytes) + 1;
  const int lines = matrix.major == Major::mn ? matrix.depth : matrix.lines,
            span = span_bytes(descriptor.swizzle);
  const auto room =
      static_cast<std::uint64_t>(lines) * static_cast<std::uint64_t>(std::max(span, matrix.contiguous_bytes()));
  const auto atom = static_cast<std::uint32_t>(8 * span);
  out.canonical = out.is_sound() && out.ranges.back().last - out.ranges.front().first < room &&
                  descriptor.stride % atom == 0 &&
                  (!uses_leading(descriptor, matrix) || descriptor.leading % atom == 0);
  return out;
}

// "bits 14, 15 and 46"
std::string bit_list(std::uint64_t bits) {
  std::vector<int> set;
  for (int bit = 0; bit < 64; ++bit)
    if (bits >> bit & 1) set.push_back(bit);
  std::string out = set.size() == 1 ? "bit " : "bits ";
  for (std::size_t i = 0; i < set.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == set.size() ? " and " : ", ", set[i]);
  return out + (set.size() == 1 ? " is" : " are");
}

std::string text(const ByteRange& range) {
  return fmt::format("[{:#x}, {:#x}]", range.first, range.last);
}

class Check {
 public:
  Check(std::uint64_t bits, const DescribedMatrix& matrix, std::uint64_t shared_bytes)
      : bits_(bits), matrix_(matrix), shared_bytes_(shared_bytes) {}

  std::vector<DescriptorFinding> run() {
    check_bits();
    const bool explained = check_exchanged() || check_units();
    if (!explained) {
      check_leading();
      check_reading();
    }
    check_start();
    std::ranges::stable_sort(findings_, {}, &DescriptorFinding::issue);
    return std::move(findings_);
  }

 private:
  void add(DescriptorIssue issue, std::string message) { findings_.push_back({issue, std::move(message)}); }

  // tcgen05 (PTX manual, "Shared memory descriptor"): bits 46-48 are 1, 52 is a mode, 61-63 the swizzle.
  void check_bits() {
    constexpr std::uint64_t kVersion = std::uint64_t{7} << 46, kOne = std::uint64_t{1} << 46;
    constexpr std::uint64_t kMode = std::uint64_t{1} << 52, kSwizzle = std::uint64_t{1} << 61;
    const bool versioned = (bits_ & kVersion) == kOne;
    const std::uint64_t newer = bits_ & (versioned ? kOne | kMode | kSwizzle : kSwizzle);
    if (newer)
      add(DescriptorIssue::newer_descriptor,
          fmt::format(
              "{} set as in a descriptor of tcgen05 (sm_100 and later), whose swizzle, bits 61-63, is {}; "
              "wgmma ignores that and takes bits 62-63, which are {} ({})",
              bit_list(newer), bits_ >> 61, bits_ >> 62, name(d_.swizzle)));
    if (const std::uint64_t ignored = ignored_descriptor_bits(bits_) & ~newer)
      add(DescriptorIssue::ignored_bits, fmt::format("{} set and ignored", bit_list(ignored)));
  }

  std::string twice() const {
    return fmt::format("{} bytes are read by more than one element, first {}", count(reading_.shared),
                       text(reading_.shared.front()));
  }
  std::string beyond() const {
    return fmt::format("{} bytes up to {:#x} lie beyond the {} bytes of shared memory", reading_.beyond,
                       reading_.ranges.back().last, shared_bytes_);
  }
  std::string symptoms() const {
    if (reading_.shared.empty()) return reading_.beyond ? beyond() : "its parts lie far apart";
    return reading_.beyond ? twice() + ", and " + beyond() : twice();
  }

  void check_reading() {
    if (!reading_.shared.empty()) add(DescriptorIssue::read_twice, twice());
    if (reading_.beyond) add(DescriptorIssue::out_of_bounds, beyond());
  }

  bool check_exchanged() {
    Descriptor other = d_;
    std::swap(other.leading, other.stride);
    if (reading_.is_sound() || !read(other, matrix_, shared_bytes_).canonical) return false;
    add(DescriptorIssue::exchanged,
        fmt::format("LBO {} and SBO {} look exchanged: {}; the other way round it is the canonical layout",
                    d_.leading, d_.stride, symptoms()));
    return true;
  }

  // Finds a field of x units that should be x bytes. A start within shared memory is accepted.
  bool check_units() {
    struct Field {
      std::string_view name;
      std::uint32_t Descriptor::*value;
    };
    constexpr std::array kFields{Field{"SBO", &Descriptor::stride}, Field{"LBO", &Descriptor::leading},
                                 Field{"start", &Descriptor::start}};
    if (reading_.canonical) return false;
    for (const unsigned choice : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {
      Descriptor other = d_;
      std::string seen;
      bool possible = choice < 4 || d_.start >= shared_bytes_;
      for (std::size_t f = 0; f < kFields.size(); ++f) {
        if (!(choice >> f & 1)) continue;
        std::uint32_t& value = other.*kFields[f].value;
        possible = possible && value > 0 && value % 256 == 0;
        seen += fmt::format("{}{} {}", seen.empty() ? "" : ", ", kFields[f].name, value / 16);
        value /= 16;
      }
      if (!possible || !read(other, matrix_, shared_bytes_).canonical) continue;
      add(DescriptorIssue::bytes_for_units,
          fmt::format("as 16-byte units {}; taken as bytes, {} would be the canonical layout", symptoms(),
                      seen));
      return true;
    }
    return false;
  }

  void check_leading() {
    if (uses_leading(d_, matrix_) || d_.leading == 0 || d_.leading == 16) return;
    add(DescriptorIssue::ignored_leading,
        fmt::format(
            "LBO {} is ignored: K-major, the {} bytes of a row lie in one span of the {}; the next span is "
            "reached by the start address",
            d_.leading, matrix_.contiguous_bytes(), name(d_.swizzle)));
  }

  // A start within the first span is what K steps lead to.
  void check_start() {
    if (d_.swizzle == Swizzle::none || d_.base_offset != 0) return;
    const auto span = static_cast<std::uint32_t>(span_bytes(d_.swizzle)), repeat = 8 * span;
    if (d_.start % repeat < span) return;
    add(DescriptorIssue::misaligned_start,
        fmt::format(
            "start {:#x} lies {} bytes into the {} bytes after which the {} repeats, and the base offset is 0; "
            "right if what is stored was swizzled by its address, else the tile must begin at a multiple of {}"
            "{}",
            d_.start, d_.start % repeat, repeat, name(d_.swizzle), repeat,
            d_.start % 128 < span ? fmt::format(", or the base offset be {}", d_.start / 128 % 8) : ""));
  }

  std::uint64_t bits_;
  DescribedMatrix matrix_;
  std::uint64_t shared_bytes_;
  Descriptor d_ = Descriptor::decode(bits_);
  Reading reading_ = read(d_, matrix_, shared_bytes_);
  std::vector<DescriptorFinding> findings_;
};

}  // namespace

std::string_view name(DescriptorIssue issue) {
  constexpr std::string_view kNames[] = {"ignored_bits",     "newer_descriptor", "ignored_leading",
                                         "misaligned_start", "exchanged",        "bytes_for_units",
                                         "read_twice",       "out_of_bounds"};
  return kNames[static_cast<std::size_t>(issue)];
}

Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         std::optional<bool> transposed) {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return mismatch(instruction, std::move(seen), std::move(accepted), Errc::operand_kind);
  };
  const Operand *at = instruction.find(factor), *right = instruction.find(Part::b);
  if (right == nullptr || right->kind != OperandKind::descriptor || (factor != Part::a && at != right))
    return refuse("no descriptor stands there", "A or B of wgmma");
  const bool is_bare = instruction.text().find('{') == std::string::npos;
  if (at->kind != OperandKind::descriptor && !is_bare)
    return refuse("A lies in registers", "A by a descriptor");
  const bool left = factor == Part::a;
  const Operand* immediate = instruction.find(left ? Part::transposed_a : Part::transposed_b);
  if (!transposed) transposed = immediate != nullptr && *immediate->literals[0] == 1;
  if (*transposed && at->element_bits != 16)
    return refuse(fmt::format("a transposed matrix of {}", at->format),
                  "16-bit types, or a matrix with K contiguous");
  return DescribedMatrix{*transposed ? Major::mn : Major::k, at->element_bits,
                         left ? instruction.rows() : instruction.columns(),
                         left ? instruction.terms() : instruction.depth()};
}

std::vector<DescriptorFinding> check_descriptor(std::uint64_t descriptor, const DescribedMatrix& matrix,
                                                std::uint64_t shared_bytes) {
  return Check(descriptor, matrix, shared_bytes).run();
}

}  // namespace warpbit
