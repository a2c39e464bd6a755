// SPDX-License-Identifier: Apache-2.0
// The kernels for scaled groups (kind::mxf4, kind::mxf4nvf4) against the specification, bit for bit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>

#include "warp.hpp"
#include "warpbit/execute.hpp"

namespace group_kernel_test {

using namespace warpbit;
using Words = std::vector<std::uint32_t>;
using Halves = std::vector<std::uint16_t>;
using warp::Bytes;

constexpr std::size_t kLanes = 32, kCases = 24;

struct Form {
  std::string canonical;
  bool sparse = false, fractions = false;

  // Values of byte-id; thread-id is below 2 for A, below 4 for B.
  std::vector<int> byte_ids() const { return fractions ? std::vector{0} : std::vector{0, 2}; }
  Instruction with(const std::string& c, const std::string& sel_a, const std::string& sel_b) const {
    return warp::parse(fmt::format("{} {{d}}, {{a}}, {{b}}, {}, {} sfa, {}, sfb, {};", canonical, c,
                                   sparse ? "e, 0," : "", sel_a, sel_b),
                       "sm_120a");
  }
  Instruction in_registers() const { return with("{c}", "{%rs0, %rs1}", "{%rs2, %rs3}"); }
};

// 4X with ue8m0 has no kernel.
std::vector<Form> all_forms() {
  std::vector<Form> out;
  for (const char* family : {"mma.block_scale", "mma.sp.block_scale"})
    for (const std::string& form : warp::forms_of(family, "sm_120a"))
      if (form.find("kind::mxf4") != form.npos &&
          !(warp::has(form, "scale_vec::4X") && warp::has(form, "ue8m0")))
        out.push_back({form, form.find(".sp::") != form.npos, warp::has(form, "ue4m3")});
  return out;
}

// ---- Inputs

struct Random {
  std::mt19937_64 engine;

  std::uint32_t bits() { return static_cast<std::uint32_t>(engine()); }
  int range(int least, int most) {
    return least + static_cast<int>(engine() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(int n) { return range(1, n) == 1; }
};

// The registers of a batch: [case][lane][register].
struct Inputs {
  Words a, b, c, e, scale_a, scale_b;
  Halves pair_a, pair_b;
  std::size_t cases = 0;
};

enum class Profile {
  anything,    // all codes
  ordinary,    // scale factors near 1
  apart,       // scale factors so far apart that groups are cut
  least,       // scale factors near their least, with zeros: results are subnormal
  largest,     // near their largest: results overflow
  holes,       // most elements are zero
  cancelling,  // all sums are zero
  negligible,  // beside C
  edges,       // C is zero, tiny, huge, Inf or NaN
  alone,       // the same, and all products are zero
};
constexpr Profile kProfiles[] = {Profile::anything, Profile::ordinary, Profile::apart,      Profile::least,
                                 Profile::largest,  Profile::holes,    Profile::cancelling, Profile::negligible,
                                 Profile::edges,    Profile::alone};

std::uint32_t element_word(Profile profile, Random& r) {
  std::uint32_t out = 0;
  if (profile == Profile::alone) return r.bits() & 0x88888888;
  for (int i = 0; i < 8; ++i)
    if (profile != Profile::holes || r.one_in(6)) out |= (r.bits() & 0xF) << 4 * i;
  if (profile == Profile::holes && r.one_in(2)) out &= 0x88888888;  // zeros of both signs
  return out;
}

std::uint32_t scale_code(Profile profile, bool fractions, Random& r) {
  const int one = fractions ? 7 << 3 : 127, step = fractions ? 8 : 1;
  switch (profile) {
    case Profile::anything: return r.bits() & 0xFF;
    case Profile::apart: return static_cast<std::uint32_t>(fractions ? r.range(0, 0x7E) : r.range(100, 154));
    case Profile::least: return static_cast<std::uint32_t>(fractions ? r.range(0, 9) : r.range(40, 62));
    case Profile::largest:
      return static_cast<std::uint32_t>(fractions ? r.range(0x70, 0x7E) : r.range(185, 196));
    default: break;
  }
  if (fractions && r.one_in(16)) return r.one_in(2) ? 0 : 0x80;
  const std::uint32_t low = fractions ? r.bits() & 0x87 : 0;
  return static_cast<std::uint32_t>(one + step * r.range(-3, 3)) | low;
}

std::uint32_t c_code(Profile profile, bool fractions, Random& r) {
  constexpr std::array<std::uint32_t, 14> kEdges{0,          0x80000000, 1,          0x807FFFFF, 0x00800000,
                                                 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
                                                 0xFF812345, 0x7F000000, 0x3F800000, 0x00123456};
  const auto number = [&](int least, int most) {
    return (r.bits() & 0x807FFFFF) | static_cast<std::uint32_t>(127 + r.range(least, most)) << 23;
  };
  switch (profile) {
    case Profile::anything: return r.bits();
    case Profile::apart: return r.one_in(3) ? number(-50, 50) : 0;
    case Profile::least: return r.one_in(2) ? r.bits() & 0x80FFFFFF : fractions ? number(-40, -20) : 0;
    case Profile::largest: return fractions ? number(125, 127) : number(110, 127);
    case Profile::negligible: return number(20, 45);
    case Profile::edges:
    case Profile::alone: return kEdges[r.bits() % kEdges.size()];
    default: return r.one_in(8) ? 0 : number(-6, 6);
  }
}

// k = 2 i + 1 meets what k = 2 i meets, with the other sign.
void cancel(Inputs& in) {
  for (std::uint32_t& word : in.a) word = (word & 0x0F0F0F0F) * 0x11;
  for (std::uint32_t& word : in.b) word = (word & 0x0F0F0F0F) * 0x11 ^ 0x80808080;
}

Inputs random_inputs(const Form& f, Profile profile, std::size_t cases, Random& r) {
  constexpr std::array<std::uint32_t, 6> kAscending{0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
  Inputs out;
  out.cases = cases;
  const auto fill = [&](Words& words, std::size_t count, auto make) {
    for (std::size_t i = 0; i < cases * kLanes * count; ++i) words.push_back(make());
  };
  const auto four = [&](auto make) {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word |= make() << 8 * i;
    return word;
  };
  fill(out.a, 4, [&] { return element_word(profile, r); });
  fill(out.b, f.sparse ? 4 : 2, [&] { return element_word(profile, r); });
  fill(out.c, 4, [&] { return c_code(profile, f.fractions, r); });
  fill(out.e, 1,
       [&] { return four([&] { return kAscending[r.bits() % 6] | kAscending[r.bits() % 6] << 4; }); });
  for (Words* scales : {&out.scale_a, &out.scale_b})
    fill(*scales, 1, [&] { return four([&] { return scale_code(profile, f.fractions, r); }); });
  const std::vector<int> bytes = f.byte_ids();
  for (std::size_t i = 0; i < cases; ++i)
    for (const bool of_a : {true, false}) {
      const int byte = bytes[r.bits() % bytes.size()], thread = r.range(0, of_a ? 1 : 3);
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        for (const int item : {byte, thread})
          (of_a ? out.pair_a : out.pair_b).push_back(static_cast<std::uint16_t>(item));
    }
  if (profile == Profile::cancelling) cancel(out);
  return out;
}

// ---- Execution

struct Layout {
  std::string_view what;
  std::ptrdiff_t gap_of_register, gap_of_lane;  // bytes
  bool registers_outside = false;               // [register][lane] instead of [lane][register]
};
constexpr Layout kDense{"dense", 0, 0}, kLaneGaps{"gaps between lanes", 0, 7},
    kRegisterGaps{"gaps between registers", 4, 0}, kByRegister{"register by register", 0, 0, true};

// Registers in a layout, and the view of them.
struct Cells {
  Bytes bytes;
  OperandView view;

  Cells(const void* dense, std::size_t cases, int registers, int register_bytes, const Layout& layout) {
    const auto lanes = static_cast<std::ptrdiff_t>(kLanes);
    const std::ptrdiff_t each = register_bytes + layout.gap_of_register;
    view.register_stride = layout.registers_outside ? each * lanes : each;
    view.lane_stride = layout.registers_outside ? each : each * registers + layout.gap_of_lane;
    view.case_stride = lanes * (each * registers + layout.gap_of_lane);
    bytes.assign(cases * static_cast<std::size_t>(view.case_stride), std::byte{0xA5});
    view.base = bytes.data();
    for (std::size_t i = 0; dense != nullptr && i < cases * kLanes * static_cast<std::size_t>(registers); ++i)
      std::memcpy(bytes.data() + offset(i, registers),
                  static_cast<const std::byte*>(dense) + i * static_cast<std::size_t>(register_bytes),
                  static_cast<std::size_t>(register_bytes));
  }
  // Where register number i is.
  std::ptrdiff_t offset(std::size_t i, int registers) const {
    const auto count = static_cast<std::size_t>(registers);
    return static_cast<std::ptrdiff_t>(i / count / kLanes) * view.case_stride +
           static_cast<std::ptrdiff_t>(i / count % kLanes) * view.lane_stride +
           static_cast<std::ptrdiff_t>(i % count) * view.register_stride;
  }
};

const void* data_of(const Inputs& in, Part part) {
  switch (part) {
    case Part::a: return in.a.data();
    case Part::b: return in.b.data();
    case Part::c: return in.c.data();
    case Part::metadata: return in.e.data();
    case Part::scale_a: return in.scale_a.data();
    case Part::scale_b: return in.scale_b.data();
    case Part::selector_a: return in.pair_a.data();
    case Part::selector_b: return in.pair_b.data();
    default: return nullptr;
  }
}

struct How {
  Kernel kernel = Kernel::reference;
  Layout layout = kDense;
  Part destination = Part::d;  // D is in registers of its own, or in those of this operand
  Undefined undefined = Undefined::error;
};

// D: [case][lane][register].
Words run(const Instruction& i, const Inputs& in, const How& how) {
  std::map<Part, Cells> cells;
  std::vector<OperandView> sources;
  for (const Operand& op : i.operands()) {
    const auto [at, is_new] = cells.try_emplace(op.part, data_of(in, op.part), in.cases, op.registers,
                                                op.register_bits / 8, how.layout);
    if (op.part != Part::d) sources.push_back(at->second.view);
  }
  Cells& out = cells.at(how.destination);
  const ResultView d{out.bytes.data(), out.view.case_stride, out.view.lane_stride, out.view.register_stride};
  ExecuteOptions options;
  options.kernel = how.kernel;
  options.threads = 1;
  options.undefined = how.undefined;
  const Result<Execution> done = execute_batch(i, sources, d, in.cases, options);
  INFO(i.text() << (done ? std::string() : done.error().message()));
  REQUIRE(done.ok());
  REQUIRE(done->kernel == how.kernel);
  Words words(in.cases * kLanes * 4);
  for (std::size_t n = 0; n < words.size(); ++n)
    std::memcpy(&words[n], out.bytes.data() + out.offset(n, 4), sizeof words[n]);
  return words;
}

// Every other kernel must give what the node gives, which is returned.
Words check(const Instruction& i, const Inputs& in, How how = {}) {
  How by_node;
  by_node.undefined = how.undefined;
  const Words wanted = run(i, in, by_node);
  for (const Kernel kernel : kernels()) {
    if (kernel == Kernel::reference) continue;
    CAPTURE(i.text(), name(kernel), how.layout.what);
    how.kernel = kernel;
    const Words got = run(i, in, how);
    const auto differ = std::ranges::mismatch(wanted, got);
    CAPTURE(differ.in1 - wanted.begin());
    REQUIRE(differ.in1 == wanted.end());
  }
  return wanted;
}

enum class Kind { zero, subnormal, normal, infinite, nan };

Kind kind_of(std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7FFFFFFF;
  return magnitude == 0            ? Kind::zero
         : magnitude < 0x00800000  ? Kind::subnormal
         : magnitude < 0x7F800000  ? Kind::normal
         : magnitude == 0x7F800000 ? Kind::infinite
                                   : Kind::nan;
}

TEST_CASE("the kernels for scaled groups equal the node, whatever the inputs are") {
  const std::vector<Form> forms = all_forms();
  REQUIRE(forms.size() == 8);
  for (const Form& f : forms) {
    std::map<Kind, int> seen;
    for (const Profile profile : kProfiles) {
      CAPTURE(f.canonical, static_cast<int>(profile));
      Random r{std::mt19937_64(static_cast<std::uint64_t>(profile))};
      const Inputs in = random_inputs(f, profile, kCases, r);
      for (const std::uint32_t code : check(f.in_registers(), in)) ++seen[kind_of(code)];
    }
    CAPTURE(f.canonical);
    for (const Kind kind : {Kind::zero, Kind::subnormal, Kind::normal, Kind::infinite, Kind::nan})
      REQUIRE(seen[kind] > 50);
  }
}

TEST_CASE("scale factors of scaled groups are selected by literals") {
  for (const Form& f : all_forms()) {
    Random r{std::mt19937_64(100)};
    const Inputs in = random_inputs(f, Profile::ordinary, 1, r);
    const auto check_all = [&](int threads_of_a, int threads_of_b) {
      for (const int byte : f.byte_ids())
        for (int a = 0; a < threads_of_a; ++a)
          for (int b = 0; b < threads_of_b; ++b)
            check(f.with("{c}", fmt::format("{{{}, {}}}", byte, a),
                         fmt::format("{{{}, {}}}", f.byte_ids().back() - byte, b)),
                  in);
    };
    check_all(2, 4);
    check(f.with("{c}", "{0, %rs1}", "{%rs2, 3}"), in);
  }
}

TEST_CASE("the registers of scaled groups may lie anywhere") {
  for (const Form& f : all_forms()) {
    Random r{std::mt19937_64(200)};
    for (const Profile profile : {Profile::ordinary, Profile::anything}) {
      const Inputs in = random_inputs(f, profile, 3, r);
      for (const Layout& layout : {kDense, kLaneGaps, kRegisterGaps, kByRegister})
        for (const Part destination : {Part::d, Part::c, Part::a})
          check(f.in_registers(), in, {.layout = layout, .destination = destination});
    }
  }
}

TEST_CASE("registers of scaled groups may be literals") {
  for (const Form& f : all_forms()) {
    Random r{std::mt19937_64(300)};
    const Inputs in = random_inputs(f, Profile::ordinary, 2, r);
    check(f.with("{0f3F800000, %c1, 0f00000000, %c3}", "{0, 0}", "{0, 0}"), in);
  }
}

TEST_CASE("undefined metadata of scaled groups are taken as measured") {
  int sparse = 0;
  for (const Form& f : all_forms()) {
    if (!f.sparse) continue;
    ++sparse;
    Random r{std::mt19937_64(400)};
    Inputs in = random_inputs(f, Profile::ordinary, kCases, r);
    for (std::size_t i = 0; i < in.e.size(); ++i) {
      const std::uint32_t change = r.bits() & r.bits() & r.bits();
      if (i / kLanes % 2 == 0)
        in.e[i] ^= r.one_in(4) ? change : 0;  // few in every other case
      else
        in.e[i] = r.bits();
    }
    check(f.in_registers(), in, {.undefined = Undefined::as_measured});
  }
  REQUIRE(sparse == 4);
}

// 1 x -1 in k = 0, with scale factors of 2^64 each, is the opposite of 2^128, which Inf would be if it were a
// number.
TEST_CASE("an infinite C is not cancelled by scaled groups") {
  int tried = 0;
  for (const Form& f : all_forms()) {
    if (f.fractions) continue;
    ++tried;
    const std::size_t b_registers = f.sparse ? 4 : 2;
    Inputs in;
    in.cases = 1;
    in.a.assign(kLanes * 4, 0);
    in.b.assign(kLanes * b_registers, 0);
    for (std::size_t lane = 0; lane < kLanes; lane += 4) {
      in.a[lane * 4] = in.a[lane * 4 + 1] = 0x2;
      in.b[lane * b_registers] = 0xA;
    }
    in.c.assign(kLanes * 4, 0x7F800000);
    in.e.assign(kLanes, 0x44444444);
    in.scale_a.assign(kLanes, 0xBFBFBFBF);
    in.scale_b = in.scale_a;
    in.pair_a.assign(kLanes * 2, 0);
    in.pair_b = in.pair_a;
    REQUIRE(check(f.in_registers(), in) == in.c);
  }
  REQUIRE(tried == 6);
}

}  // namespace group_kernel_test
