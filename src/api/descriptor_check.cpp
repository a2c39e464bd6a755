// SPDX-License-Identifier: Apache-2.0
#include "warpbit/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/checks.hpp"
#include "isa/instruction.hpp"
#include "numeric/formats.hpp"
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
  const int atom_lines = descriptor.swizzle == Swizzle::bytes_128_atoms_32 && matrix.major == Major::mn ? 4 : 8;
  const auto atom = static_cast<std::uint32_t>(atom_lines * span);
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
  return fmt::format("{:#x} to {:#x}", range.first, range.last);
}

class Check {
 public:
  Check(std::uint64_t bits, const DescribedMatrix& matrix, std::uint64_t shared_bytes, DescriptorForm form)
      : bits_(bits), matrix_(matrix), shared_bytes_(shared_bytes), form_(form) {}

  std::vector<DescriptorFinding> run() {
    if (form_ == DescriptorForm::wgmma)
      check_bits();
    else
      check_tensor_bits();
    const bool explained = check_major() || check_exchanged() || check_units();
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

  // The findings that decode_tensor would refuse, each on its own, and what depends on the matrix.
  void check_tensor_bits() {
    const std::uint64_t version = bits_ >> 46 & 7, mode = bits_ >> 61;
    if (version == 0)
      add(DescriptorIssue::older_descriptor,
          "bits 46-48 are 0 as in a descriptor of wgmma; those of tcgen05 have 1 there, i.e. bit 46 set");
    else if (version != 1)
      add(DescriptorIssue::not_allowed, fmt::format("bits 46-48 are {}; tcgen05 has 1 there", version));
    constexpr std::uint64_t kReserved = 0x1FE0'0000'C000'C000;
    if (const std::uint64_t reserved = bits_ & kReserved)
      add(DescriptorIssue::not_allowed, fmt::format("{} set and reserved", bit_list(reserved)));
    if (mode == 3 || mode == 5 || mode == 7)
      add(DescriptorIssue::not_allowed,
          fmt::format(
              "the swizzle, bits 61-63, is {}; it may be 0 (none), 1 (128 bytes in atoms of 32), 2 (128 "
              "bytes), 4 (64) and 6 (32){}",
              mode, version == 0 ? "" : ", i.e. wgmma's number twice"));
    if (d_.absolute_leading &&
        (d_.swizzle != Swizzle::bytes_128 || d_.base_offset != 0 || matrix_.major != Major::k))
      add(DescriptorIssue::not_allowed,
          "bit 52 makes LBO an address, which only K-major matrices with the 128-byte swizzle and base offset 0 have");
    if (const std::uint64_t ignored = ignored_descriptor_bits(bits_, form_))
      add(DescriptorIssue::ignored_bits,
          fmt::format("{} set and ignored without a swizzle", bit_list(ignored)));
    check_swizzle();
  }

  // PTX manual, "Major-ness supported by Strides".
  void check_swizzle() {
    if (matrix_.major == Major::k) return;
    const bool wide = matrix_.element_bits == 32, by_wide_atoms = d_.swizzle == Swizzle::bytes_128_atoms_32;
    if (wide == by_wide_atoms) return;
    add(DescriptorIssue::not_allowed,
        fmt::format("{}: elements of {} bits with M or N contiguous {}", name(d_.swizzle), matrix_.element_bits,
                    wide ? "have the 128-byte swizzle of 32-byte atoms alone" : "have every swizzle but that"));
  }

  std::string twice() const {
    const bool is_all = reading_.shared.size() == 1;
    return fmt::format("{} bytes ({}{}) belong to more than one element", count(reading_.shared),
                       is_all ? "" : "the first are ", text(reading_.shared.front()));
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

  bool check_major() {
    const bool has_both = matrix_.element_bits >= 8 || matrix_.padded;
    if (form_ == DescriptorForm::wgmma || reading_.canonical || !has_both) return false;
    DescribedMatrix other = matrix_;
    other.major = matrix_.major == Major::k ? Major::mn : Major::k;
    if (!read(d_, other, shared_bytes_).canonical) return false;
    const auto along = [](Major major) { return major == Major::k ? "K" : "M or N"; };
    add(DescriptorIssue::other_major,
        fmt::format(
            "with {} contiguous {}; with {} contiguous it is the canonical layout: is the transpose bit of the "
            "instruction descriptor right?",
            along(matrix_.major), symptoms(), along(other.major)));
    return true;
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
    const bool by_wide_atoms = d_.swizzle == Swizzle::bytes_128_atoms_32;
    if (by_wide_atoms && d_.start % 32 != 0)
      add(DescriptorIssue::misaligned_start,
          fmt::format("start {:#x} is no multiple of the 32 bytes that this swizzle moves", d_.start));
    const auto span = static_cast<std::uint32_t>(span_bytes(d_.swizzle)),
               repeat = (by_wide_atoms ? 4 : 8) * span;
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
  DescriptorForm form_;
  Descriptor d_ = Descriptor::decode(bits_, form_);
  Reading reading_ = read(d_, matrix_, shared_bytes_);
  std::vector<DescriptorFinding> findings_;
};

}  // namespace

std::string_view name(DescriptorIssue issue) {
  constexpr std::string_view kNames[] = {"ignored_bits",     "newer_descriptor", "ignored_leading",
                                         "misaligned_start", "exchanged",        "bytes_for_units",
                                         "read_twice",       "out_of_bounds",    "older_descriptor",
                                         "other_major",      "not_allowed"};
  return kNames[static_cast<std::size_t>(issue)];
}

namespace {

// Lines of tensor memory, of 16 or 32 bytes: each becomes a row of four or eight words.
DescribedMatrix copied_matrix(const tensor::Copy& copy) {
  struct Row {
    int lines, bytes;
  };
  constexpr Row kRows[] = {{128, 32}, {4, 32}, {128, 16}, {64, 16}, {32, 16}};  // by Copy::Shape
  const auto [lines, bytes] = kRows[static_cast<std::size_t>(copy.shape)];
  return {Major::k, copy.source_bits, lines, bytes, copy.source_bits < 8};
}

}  // namespace

DescriptorForm descriptor_form(const Instruction& instruction) {
  return std::holds_alternative<TensorAction>(instruction.decoded().kernel) ? DescriptorForm::tcgen05
                                                                            : DescriptorForm::wgmma;
}

Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         const InstructionDescriptor& of) {
  const Operand* at = instruction.find(factor);
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if (!mma || at == nullptr || (factor != Part::a && factor != Part::b))
    return mismatch(instruction, "no descriptor stands there", "A or B of tcgen05.mma", Errc::operand_kind);
  const bool left = factor == Part::a, is_mn = left ? of.a_is_mn_major : of.b_is_mn_major;
  const int lines = (left ? of.m : of.n) / mma->cta_group, bits = find_format(left ? of.a : of.b)->bits;
  const bool in_bytes = mma->kind == TensorKind::f8f6f4 || mma->kind == TensorKind::mxf8f6f4;
  return DescribedMatrix{is_mn ? Major::mn : Major::k, bits, lines, left && of.is_sparse ? of.k / 2 : of.k,
                         in_bytes && bits < 8};
}

Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         std::optional<bool> transposed) {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return mismatch(instruction, std::move(seen), std::move(accepted), Errc::operand_kind);
  };
  if (const auto* action = std::get_if<TensorAction>(&instruction.decoded().kernel)) {
    const auto* copy = std::get_if<tensor::Copy>(&action->what);
    if (copy != nullptr && factor == Part::source) return copied_matrix(*copy);
    return refuse("its instruction descriptor says what it describes", "that, for A and B of tcgen05.mma");
  }
  const Operand *at = instruction.find(factor), *right = instruction.find(Part::b);
  if (right == nullptr || right->kind != OperandKind::descriptor || (factor != Part::a && at != right))
    return refuse("no descriptor stands there", "A or B of wgmma");
  if (instruction.depth() == 0)
    return refuse("the shape and the types are in an instruction descriptor", "A or B of wgmma");
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
                                                std::uint64_t shared_bytes, DescriptorForm form) {
  return Check(descriptor, matrix, shared_bytes, form).run();
}

}  // namespace warpbit
