// SPDX-License-Identifier: Apache-2.0
// Every kernel against the specification, Kernel::reference, on the plans whose arithmetic the processor has itself:
// integers, bits, chains of IEEE operations. Inputs of tests/profiles.hpp and random bits.
// WARPBIT_KERNEL_COUNT is the number of cases for each form, target and kernel (15 unless set).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cstring>
#include <regex>

#include "count_wanted.hpp"
#include "in_turn.hpp"
#include "isa/instruction.hpp"
#include "oracle/oracle.hpp"
#include "profiles.hpp"
#include "warpbit/execute.hpp"

namespace chain_kernel_test {

using namespace warpbit;

using Bytes = std::vector<std::byte>;

const Tile& tile_of(const Instruction& i) {
  return std::get<Tile>(i.decoded().kernel);
}

bool is_of_this_test(const Instruction& i) {
  const Tile* tile = std::get_if<Tile>(&i.decoded().kernel);
  if (tile == nullptr || tile->uses_memory()) return false;
  return std::any_of(tile->plan->begin(), tile->plan->end(), [](const Step& step) {
    return std::holds_alternative<IntegerSum>(step) || std::holds_alternative<BitCount>(step) ||
           std::holds_alternative<FmaChain>(step) || std::holds_alternative<PairSums>(step);
  });
}

// Each form on the target, with each sparsity selector.
std::vector<Instruction> instructions(std::string_view target) {
  static const std::regex kSelector("\\bf:imm\\(0(?:\\.\\.([0-9]))?\\)");
  std::vector<Instruction> out;
  for (const FormInfo& form : forms()) {
    const auto found = std::ranges::find(form.targets, target, &Target::name);
    if (found == form.targets.end()) continue;
    const Instruction bare = Instruction::parse(form.canonical, *found).value();
    if (!is_of_this_test(bare)) continue;
    std::smatch selectors;
    if (!std::regex_search(form.operands, selectors, kSelector)) {
      out.push_back(bare);
      continue;
    }
    const int most = selectors[1].matched ? std::stoi(selectors[1]) : 0;
    for (int selector = 0; selector <= most; ++selector) {
      const std::string notation = std::regex_replace(form.operands, kSelector, fmt::format("f:={}", selector));
      const Result<Instruction> i = Instruction::parse(form.canonical, notation, *found);
      INFO(form.canonical << " " << notation << ": " << (i ? std::string() : i.error().message()));
      REQUIRE(i.ok());
      out.push_back(*i);
    }
  }
  return out;
}

std::string title(const Instruction& i) {
  return fmt::format("{} on {}", i.canonical(), i.target().name());
}

// ---- Inputs: registers of each operand, [case][lane][register]

std::size_t bytes_in_case(const Operand& operand) {
  return static_cast<std::size_t>(32 * operand.registers * operand.register_bits / 8);
}

// Puts a code where it belongs in the registers of one case.
void put(std::byte* registers, const TileOperand& operand, std::size_t place, std::uint64_t code) {
  const RegisterBits& at = operand.places[place];
  const int bytes = operand.registers.bits / 8;
  std::byte* word = registers + (at.lane * operand.registers.count + at.reg) * bytes;
  const std::uint64_t mask = boundary::ones(at.bits);
  std::uint64_t value = 0;
  std::memcpy(&value, word, static_cast<std::size_t>(bytes));
  value = (value & ~(mask << at.low_bit)) | (code & mask) << at.low_bit;
  std::memcpy(word, &value, static_cast<std::size_t>(bytes));
}

struct Inputs {
  std::vector<Bytes> registers;  // of each operand, that of D filled with noise
};

// Row r and column n hold the same case of the profiles where r % 8 is n % 8.
void fill_from_profiles(const Instruction& i, const profiles::Formats& formats, std::size_t index,
                        Inputs& inputs) {
  const Tile& t = tile_of(i);
  const auto at = [&](Part part) {
    const auto found = std::ranges::find(i.operands(), part, &Operand::part);
    return inputs.registers[static_cast<std::size_t>(found - i.operands().begin())].data() +
           index * bytes_in_case(*found);
  };
  const auto rows = static_cast<std::size_t>(t.rows), columns = static_cast<std::size_t>(t.columns);
  const auto terms = static_cast<std::size_t>(t.terms), depth = static_cast<std::size_t>(t.depth);
  profiles::Case dot;
  for (std::size_t product = 0; product < static_cast<std::size_t>(t.products); ++product)
    for (std::size_t which = 0; which < 8; ++which) {
      profiles::fill(formats, 7, (index * 4 + product) * 8 + which, dot);
      for (std::size_t row = which; row < rows; row += 8) {
        for (std::size_t k = 0; k < terms; ++k)
          put(at(Part::a), t.a, (product * rows + row) * terms + k, dot.a[k]);
        for (std::size_t column = which; column < columns; column += 8)
          put(at(Part::c), t.c, (product * rows + row) * columns + column, dot.c);
      }
      for (std::size_t column = which; column < columns; column += 8)
        for (std::size_t k = 0; k < depth; ++k)
          put(at(Part::b), t.b, (product * columns + column) * depth + k, dot.b[k]);
    }
}

profiles::Alphabet alphabet(const Format* format) {
  return profiles::Alphabet(oracle::find_format(std::string(format->name)));
}

// A nibble of metadata that has a meaning.
std::uint64_t nibble(const Instruction& i, profiles::Stream& stream) {
  const int low = stream.range(0, 3), high = (low + stream.range(1, 3)) % 4;
  const bool swapped = i.decoded().form->ordered && low > high;
  return static_cast<std::uint64_t>(swapped ? low << 2 | high : high << 2 | low);
}

// Two cases of the profiles, then a case of random bits, and so on. Lanes that no selector chooses have other
// metadata.
Inputs inputs_for(const Instruction& i, std::size_t cases) {
  const Tile& t = tile_of(i);
  const profiles::Formats formats{alphabet(t.a.format), alphabet(t.b.format), alphabet(t.c.format),
                                  alphabet(t.d.format), t.depth};
  profiles::Stream stream(11, 0);
  Inputs out;
  for (const Operand& operand : i.operands()) {
    Bytes bytes(cases * bytes_in_case(operand));
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(operand.part == Part::metadata ? nibble(i, stream) << 4 | nibble(i, stream)
                                                                : stream.bits());
    out.registers.push_back(std::move(bytes));
  }
  for (std::size_t c = 0; c < cases; ++c)
    if (c % 3 != 2) fill_from_profiles(i, formats, c, out);
  return out;
}

// ---- Where registers lie

struct Strides {
  std::ptrdiff_t of_case, of_lane, of_register;
  std::ptrdiff_t first = 0;
};
Strides dense(const Operand& operand) {
  const std::ptrdiff_t bytes = operand.register_bits / 8;
  return {bytes * operand.registers * 32, bytes * operand.registers, bytes};
}
// [register][case][lane], with gaps, unaligned.
Strides scattered(const Operand& operand, std::size_t cases) {
  const std::ptrdiff_t lane = operand.register_bits / 8 + 3;
  return {lane * 32 + 5, lane, (lane * 32 + 5) * static_cast<std::ptrdiff_t>(cases), 1};
}

// Calls copy(byte of a dense image, byte with the strides) for each register.
template <class Copy>
void for_each_register(const Operand& operand, const Strides& s, std::size_t cases, Copy copy) {
  std::size_t from = 0;
  for (std::size_t c = 0; c < cases; ++c)
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < operand.registers;
           ++reg, from += static_cast<std::size_t>(operand.register_bits / 8))
        copy(from, static_cast<std::size_t>(s.first + static_cast<std::ptrdiff_t>(c) * s.of_case +
                                            lane * s.of_lane + reg * s.of_register));
}

Bytes spread(const Operand& operand, const Strides& s, std::size_t cases, const Bytes& image) {
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  Bytes out(cases * static_cast<std::size_t>(operand.registers) * (32 * (bytes + 3) + 5) + 1, std::byte{0xA5});
  for_each_register(operand, s, cases, [&](std::size_t from, std::size_t to) {
    std::memcpy(&out.at(to), &image.at(from), bytes);
  });
  return out;
}

OperandView view(const Bytes& bytes, const Strides& s) {
  return {bytes.data() + s.first, s.of_case, s.of_lane, s.of_register};
}
ResultView result_view(Bytes& bytes, const Strides& s) {
  return {bytes.data() + s.first, s.of_case, s.of_lane, s.of_register};
}

// ---- Execution

enum class Layout { side_by_side, scattered, over_a, over_b, over_c };
constexpr std::string_view name_of(Layout layout) {
  constexpr std::string_view kNames[] = {"side by side", "scattered", "D over A", "D over B", "D over C"};
  return kNames[static_cast<int>(layout)];
}

std::optional<std::size_t> operand_under_d(const Instruction& i, Layout layout) {
  const Part part = layout == Layout::over_a ? Part::a : layout == Layout::over_b ? Part::b : Part::c;
  const auto found = std::ranges::find(i.operands(), part, &Operand::part);
  const bool same = found->registers == i.operands()[0].registers &&
                    found->register_bits == i.operands()[0].register_bits && found->literals.empty();
  if (layout == Layout::side_by_side || layout == Layout::scattered || !same) return std::nullopt;
  return static_cast<std::size_t>(found - i.operands().begin());
}

// D as [case][lane][register]; whatever lies between its registers must have stayed as it was.
Bytes execute(const Instruction& i, Inputs inputs, std::size_t cases, Layout layout,
              const ExecuteOptions& options, Kernel kernel) {
  std::vector<Strides> strides;
  for (std::size_t n = 0; n < inputs.registers.size(); ++n) {
    const Operand& operand = i.operands()[n];
    strides.push_back(layout == Layout::scattered ? scattered(operand, cases) : dense(operand));
    if (layout == Layout::scattered)
      inputs.registers[n] = spread(operand, strides[n], cases, inputs.registers[n]);
  }
  std::vector<OperandView> sources;
  for (std::size_t n = 1; n < inputs.registers.size(); ++n)
    sources.push_back(view(inputs.registers[n], strides[n]));
  const std::size_t to = operand_under_d(i, layout).value_or(0);
  const Bytes before = inputs.registers[to];
  const Result<Execution> done =
      execute_batch(i, sources, result_view(inputs.registers[to], strides[to]), cases, options);
  INFO((done ? std::string() : done.error().message()));
  REQUIRE(done.ok());
  REQUIRE(name(done->kernel) == name(kernel));

  const Operand& d = i.operands()[0];
  const auto bytes = static_cast<std::size_t>(d.register_bits / 8);
  Bytes out(cases * bytes_in_case(d)), rest = inputs.registers[to];
  for_each_register(d, strides[to], cases, [&](std::size_t dense_at, std::size_t at) {
    std::memcpy(&out.at(dense_at), &inputs.registers[to].at(at), bytes);
    std::memcpy(&rest.at(at), &before.at(at), bytes);
  });
  REQUIRE(rest == before);
  return out;
}

// The first case that differs.
std::string difference(const Bytes& got, const Bytes& expected, std::size_t cases) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(got, expected).in1 - got.begin());
  return fmt::format("case {}, byte {} of D", at / (got.size() / cases), at % (got.size() / cases));
}

// All kernels, on all layouts that the form has.
void check(const Instruction& i, const Inputs& inputs, std::size_t cases, Undefined undefined) {
  ExecuteOptions options;
  options.undefined = undefined;
  options.kernel = Kernel::reference;
  const Bytes expected = execute(i, inputs, cases, Layout::side_by_side, options, Kernel::reference);
  constexpr std::size_t kLayouts = 5;
  static std::size_t turn = 0;
  for (const Kernel kernel : kernels()) {
    if (kernel == Kernel::reference) continue;
    ++turn;
    for (const Layout layout :
         {Layout::side_by_side, Layout::scattered, Layout::over_a, Layout::over_b, Layout::over_c}) {
      if (!has_turn(turn, static_cast<std::size_t>(layout), kLayouts)) continue;
      const bool exists = layout <= Layout::scattered || operand_under_d(i, layout);
      if (!exists) continue;
      options.kernel = kernel;
      options.threads = layout == Layout::side_by_side ? 1 : 3;
      INFO(title(i) << ", " << name(kernel) << ", " << name_of(layout));
      const Bytes got = execute(i, inputs, cases, layout, options, kernel);
      INFO((got == expected ? std::string() : difference(got, expected, cases)));
      CHECK((got == expected));
    }
  }
}

// The form with literals for C, if it takes them.
std::optional<Instruction> with_literals(const Instruction& i) {
  static const auto all = forms();
  const auto form = std::ranges::find(all, i.canonical(), &FormInfo::canonical);
  const int count = std::ranges::find(i.operands(), Part::c, &Operand::part)->registers;
  std::string values = "c:={2147483647";
  for (int n = 1; n < count; ++n) values += n % 2 == 0 ? ",2147483647" : ",-2147483600";
  static const std::regex kC("\\bc:[^ ]+");
  const std::string notation = std::regex_replace(form->operands, kC, values + "}");
  const Result<Instruction> parsed = Instruction::parse(i.canonical(), notation, i.target());
  if (!parsed) return std::nullopt;
  return *parsed;
}

void check_all(std::string_view target, std::size_t least) {
  const std::size_t count = count_wanted("WARPBIT_KERNEL_COUNT", 15);
  const std::vector<Instruction> list = instructions(target);
  CHECK(list.size() >= least);
  std::size_t literals = 0;
  for (const Instruction& i : list) {
    check(i, inputs_for(i, count), count, Undefined::error);
    const std::optional<Instruction> literal = with_literals(i);
    if (!literal) continue;
    ++literals;
    const std::size_t few = std::max<std::size_t>(count / 10, 3);
    check(*literal, inputs_for(*literal, few), few, Undefined::error);
  }
  CHECK(literals >= least / 2);
  fmt::print("{}: {} forms and selectors of {} cases, {} of them also with literals for C\n", target,
             list.size(), count, literals);
}

TEST_CASE("sm_80: every kernel equals the specification", "[once]") {
  check_all("sm_80", 150);
}
TEST_CASE("sm_90a: every kernel equals the specification") {
  check_all("sm_90a", 150);
}
TEST_CASE("sm_120a: every kernel equals the specification", "[once]") {
  check_all("sm_120a", 150);
}

// p0 = -2^15, p2 = 2^-11, C = 2^15: only a sum in which C meets p0 first keeps p2 (NUMERICS.md, "m8n8k4").
TEST_CASE("m8n8k4: C is the first addend of an f16 sum and the last of an f32 sum") {
  std::size_t checked = 0;
  for (const Instruction& i : instructions("sm_90a")) {
    const Tile& t = tile_of(i);
    if (t.a.format->id != FormatId::f16) continue;
    Inputs inputs = inputs_for(i, 1);
    constexpr std::uint64_t kA[] = {0x5C00, 0, 0x2800, 0}, kB[] = {0xD800, 0, 0x2400, 0};
    for (std::size_t n = 0; n < t.a.places.size(); ++n) put(inputs.registers[1].data(), t.a, n, kA[n % 4]);
    for (std::size_t n = 0; n < t.b.places.size(); ++n) put(inputs.registers[2].data(), t.b, n, kB[n % 4]);
    const bool half_c = t.c.format->id == FormatId::f16, half_d = t.d.format->id == FormatId::f16;
    for (std::size_t n = 0; n < t.c.places.size(); ++n)
      put(inputs.registers[3].data(), t.c, n, half_c ? 0x7800 : 0x47000000);
    Bytes expected(bytes_in_case(i.operands()[0]));
    for (std::size_t n = 0; n < t.d.places.size(); ++n) put(expected.data(), t.d, n, half_d ? 0x1000 : 0);
    for (const Kernel kernel : kernels()) {
      ExecuteOptions options;
      options.kernel = kernel;
      INFO(title(i) << ", " << name(kernel));
      CHECK((execute(i, inputs, 1, Layout::side_by_side, options, kernel) == expected));
      ++checked;
    }
  }
  CHECK(checked == 12 * kernels().size());
}

TEST_CASE("how the caller rounds does not matter, and stays") {
  constexpr std::size_t kCases = 15;
  std::size_t checked = 0;
  for (const Instruction& i : instructions("sm_90a")) {
    if (tile_of(i).d.format->is_integer) continue;
    const Inputs inputs = inputs_for(i, kCases);
    ExecuteOptions options;
    options.threads = 1;
    options.kernel = Kernel::reference;
    const Bytes expected = execute(i, inputs, kCases, Layout::side_by_side, options, Kernel::reference);
    for (const Kernel kernel : kernels())
      for (const int mode : {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD}) {
        options.kernel = kernel;
        std::fesetround(mode);
        const Bytes got = execute(i, inputs, kCases, Layout::side_by_side, options, kernel);
        const int after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        INFO(title(i) << ", " << name(kernel) << ", mode " << mode);
        CHECK(after == mode);
        CHECK((got == expected));
        ++checked;
      }
  }
  CHECK(checked >= 40 * 3 * kernels().size());
}

TEST_CASE("metadata without a meaning: as measured with every kernel") {
  const std::size_t count = count_wanted("WARPBIT_KERNEL_COUNT", 15);
  std::size_t checked = 0;
  for (const Instruction& i : instructions("sm_90a")) {
    const Tile& t = tile_of(i);
    if (!t.sparsity.is_sparse()) continue;
    Inputs inputs = inputs_for(i, count);
    for (std::size_t n = 0; n < inputs.registers.size(); ++n) {
      const Operand& operand = i.operands()[n];
      for (std::size_t c = 0; operand.part == Part::metadata && c < count; c += 2)
        put(inputs.registers[n].data() + c * bytes_in_case(operand), t.e, c % t.e.places.size(), c / 2 % 4 * 5);
    }
    check(i, inputs, count, Undefined::as_measured);
    ++checked;
  }
  CHECK(checked >= 40);
}

}  // namespace chain_kernel_test
