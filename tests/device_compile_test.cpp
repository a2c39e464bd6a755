// SPDX-License-Identifier: Apache-2.0
// What kernels' source becomes under nvcc, and what neither compiler takes. Where nvcc is missing its cases say
// so and exit with 77.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <span>

#include "text_file.hpp"
#include "tool.hpp"
#include "warpbit/device.hpp"
#include "warpbit/ptx.hpp"

namespace device_compile_test {

namespace fs = std::filesystem;
using Catch::Contains;
using Counts = std::map<std::string, int>;
const std::string kIncludes = " -I include -I " + tool::shell_word(WARPBIT_MADE_HEADERS);

using warpbit::device::Rows;

template <class... Row>
std::vector<std::string> forms(Rows<Row...>) {
  return {Row::form...};
}

// ---- Illegal combinations

// What the rows have for a value: the n-th word of their forms, counted from the end. Of some of their words, before
// which a text stands, each once.
struct Words {
  std::size_t n;
  std::string before;
};
std::string has(const std::vector<std::string>& forms, std::size_t n, const std::string& value,
                std::string subject, const std::vector<Words>& words) {
  static const std::regex kWord("[^.]+");
  std::vector<std::vector<std::string>> split;
  for (const std::string& form : forms)
    if (std::vector<std::string> one(std::sregex_token_iterator(form.begin(), form.end(), kWord), {});
        one[one.size() - n] == value)
      split.push_back(std::move(one));
  for (const Words& word : words) {
    std::vector<std::string> found;
    for (const auto& one : split) found.push_back(one[one.size() - word.n]);
    std::ranges::sort(found, {}, [](const std::string& x) { return std::pair(x.size(), x); });
    found.erase(std::unique(found.begin(), found.end()), found.end());
    const std::string last = found.back();
    found.pop_back();
    subject += word.before + fmt::format("{}", fmt::join(found, ", ")) + (found.empty() ? "" : " or ") + last;
  }
  return subject;
}
std::string mma_has(const std::string& a) {
  return has(forms(warpbit::device::MmaRows{}), 3, a, "mma with A " + a,
             {{7, " has "}, {2, "; B "}, {4, "; C and D "}});
}
std::string mma_sp_has(const std::string& a) {
  return has(forms(warpbit::device::MmaSpRows{}), 3, a, "mma.sp with A " + a,
             {{7, " has "}, {2, "; B "}, {4, "; C and D "}});
}
std::string wgmma_has(const std::string& a) {
  return has(forms(warpbit::device::WgmmaRows{}), 2, a, "wgmma with A " + a,
             {{4, " has m64nN"}, {1, "; B "}, {3, "; D "}});
}

/// A statement in a kernel, and what its static assertion says.
struct Refused {
  std::string statement, message;
};
const Refused kRefused[] = {
    {"mma<m16n8k8, f16, bf16>({}, {}, {})", mma_has("bf16")},
    {"mma<m16n8k16, f32, f16, bf16>({}, {}, {})", mma_has("f16")},
    {"mma<m16n8k16, f32, tf32>({}, {}, {})", mma_has("tf32")},
    {"mma<m16n8k64, f32, e4m3>({}, {}, {})", mma_has("e4m3")},
    {"mma<m16n8k16, f32, s8>({}, {}, {})", mma_has("s8")},
    {"mma<m16n8k16, s32, s4>({}, {}, {})", mma_has("s4")},
    {"mma<m16n8k32, f64, f64>({}, {}, {})", mma_has("f64")},
    // One in full.
    {"mma<m16n8k16, f16, bf16>({}, {}, {})", "mma with A bf16 has m16n8k8 or m16n8k16; B bf16; C and D f32"},
    {"mma<m16n8k16, f32, f32>({}, {}, {})", "mma has A s4, "},
    {"mma_sp<m16n8k8, f32, f16>({}, {}, {}, 0)", mma_sp_has("f16")},
    {"mma_sp<m16n8k32, f32, bf16, bf16, 2>({}, {}, {}, 0)",
     "the selector of mma.sp is 0, or 0 to 1, or 0 to 3"},
    {"mma_block_scale<m16n8k64, mxf4, e2m1, e2m1, ue4m3>({}, {}, {}, 0, {}, 0, {})",
     "kind::mxf4 has m16n8k64; A and B e2m1; scale factors ue8m0"},
    {"ldmatrix<3>(tile)", "ldmatrix has 1, 2 or 4 matrices"},
    {"cvt_rn<e4m3x2>(1, 2)", "cvt.rn has f16x2 or bf16x2"},
    {"cp_async_ca<12>(tile, from)", "cp.async.ca copies 4, 8 or 16 bytes"},
    {"sizeof(Wgmma<m64nNkK<64, 8>, f32, f16, f16>)", wgmma_has("f16")},
    {"sizeof(Wgmma<m64nNkK<64, 16>, f16, bf16, bf16>)", wgmma_has("bf16")},
    {"sizeof(Wgmma<m64nNkK<64, 16>, f32, tf32, tf32>)", wgmma_has("tf32")},
    {"sizeof(Wgmma<m64nNkK<64, 32>, f32, e4m3, s8>)", wgmma_has("e4m3")},
    {"sizeof(Wgmma<m64nNkK<64, 32>, f32, s8, s8>)", wgmma_has("s8")},
    {"sizeof(Wgmma<m64nNkK<64, 16>, f32, s4, s4>)", "wgmma has A s8, "},
    {"sizeof(Wgmma<m64nNkK<12, 16>, f32, f16, f16>)", "N of wgmma is a multiple of 8 from 8 to 256"},
    {"sizeof(Wgmma<m64nNkK<264, 8>, f32, tf32, tf32>)", "N of wgmma is a multiple of 8 from 8 to 256"},
    {"sizeof(Wgmma<m64nNkK<40, 32>, s32, u8, u8>)",
     "N of wgmma with A s8 or u8 is 8, 24 or a multiple of 16 from 16 to 256"},
    {"wgmma<m64nNkK<8, 16>, f32, f16, f16, 2>(sums, 0, 0, true)",
     "imm-scale-a and imm-scale-b of wgmma are 1 or -1"},
    {"wgmma<m64nNkK<8, 16>, f32, f16, f16, 1, 1, 2>(sums, 0, 0, true)",
     "imm-trans-a and imm-trans-b of wgmma are 0 or 1"},
    {"wgmma<m64nNkK<8, 8>, f32, tf32, tf32, 1, 1, 0, 1>(sums, 0, 0, true)",
     "wgmma transposes f16 and bf16 alone"},
    {"wgmma<m64nNkK<8, 16>, f32, f16, f16, 1, 1, 1>(sums, a, 0, true)",
     "wgmma does not transpose an A in registers"},
    {"wgmma<m64nNkK<8, 32>, s32, s8, s8, 1, -1>(words, 0, 0, true)", "wgmma with A s8 or u8 negates nothing"},
    {"wgmma_wait_group<-1>()", "wgmma.wait_group takes a number of groups, 0 or more"},
    {"(cp_async_bulk_wait_group_read<-1>(), 0)",
     "cp.async.bulk.wait_group takes a number of groups, 0 or more"},
    {"(cp_async_bulk_tensor_im2col_global_to_shared(tile, map, {1, 2, 3}, {1, 2}, object), 0)",
     "im2col has 3 to 5 coordinates, and an offset for all but the first and the last"},
    {"(cp_async_bulk_tensor_global_to_shared(tile, map, {1, 2, 3, 4, 5, 6}, object), 0)",
     "a tensor has 1 to 5 dimensions"},
    {"(cp_reduce_async_bulk_shared_to_global<Reduction::add, tf32>(from_bits, tile, 16), 0)",
     "elements that are reduced are 32- or 64-bit integers, float, double, f16 or bf16"},
};
const std::string kAccepted[] = {
    "mma<m16n8k8, f32, bf16>({}, {}, {})",
    "mma_sp<m16n8k32, f32, bf16, bf16, 1>({}, {}, {}, 0)",
    "mma_block_scale<m16n8k64, mxf4, e2m1, e2m1, ue8m0>({}, {}, {}, 0, {}, 0, {})",
    "cp_async_ca<8>(tile, from)",
    "wgmma<m64nNkK<8, 16>, f32, f16, f16, -1, 1, 1, 1>(sums, 0, 0, true)",
    "wgmma<m64nNkK<8, 16>, f32, bf16, bf16, 1, 1, 0, 1>(sums, a, 0, false)",
    "wgmma<m64nNkK<8, 32>, s32, s8, u8>(words, a, matrix_descriptor(tile, 16, 16, Swizzle::bytes_64), true)",
    "wgmma_wait_group<2>(sums)",
    "(cp_async_bulk_tensor_global_to_shared(tile, map, {1, 2, 3, 4, 5}, object), 0)",
    "(cp_reduce_async_bulk_shared_to_global<Reduction::add>(from_bits, tile, 16), 0)",
};

std::string kernel(const std::string& statements) {
  return "#include \"warpbit/device.hpp\"\nusing namespace warpbit::device;\n"
         "WARPBIT_KERNEL void kernel(SharedArray<float> tile, GlobalArray<const float> from,\n"
         "                           SharedArray<Mbarrier> object, GlobalArray<float> from_bits,\n"
         "                           const WARPBIT_GRID_CONSTANT TensorMapParameter map) {\n"
         "  AsyncFragment<float, 4> sums;\n  AsyncFragment<std::uint32_t, 4> words, a;\n" +
         statements + "}\n";
}

// Compiles both; `command` takes a file.
void check_refusals(const std::string& command, const std::string& suffix) {
  const archive::Directory directory;
  const auto compile = [&](const std::string& statements) {
    const std::string file = tool::write(directory.path / ("kernel" + suffix), kernel(statements));
    return tool::shell(command + " " + tool::shell_word(file));
  };
  std::string legal;
  for (const std::string& statement : kAccepted) legal += "  (void)" + statement + ";\n";
  const tool::Output good = compile(legal);
  INFO(good.err);
  CHECK(good.status == 0);
  // A few at a time: compilers stop after some errors.
  constexpr std::size_t kTogether = 7;
  for (std::size_t first = 0; first < std::size(kRefused); first += kTogether) {
    const auto some = std::span(kRefused).subspan(first, std::min(kTogether, std::size(kRefused) - first));
    std::string illegal;
    for (const Refused& refused : some) illegal += "  (void)" + refused.statement + ";\n";
    const tool::Output bad = compile(illegal);
    CHECK(bad.status != 0);
    const std::string said = bad.err + bad.out;
    for (const Refused& refused : some) CHECK_THAT(said, Contains(refused.message));
  }
}

// With a standard that is too old. The one thing that it says is what it needs.
void check_standard(const std::string& command, const std::string& suffix) {
  const archive::Directory directory;
  const std::string file =
      tool::write(directory.path / ("kernel" + suffix), "#include \"warpbit/device.hpp\"\n");
  const tool::Output old = tool::shell(command + " " + tool::shell_word(file));
  CHECK(old.status != 0);
  const std::string said = old.err + old.out;
  CHECK_THAT(said, Contains("warpbit/device.hpp needs -std=c++20"));
  CHECK_THAT(said, !Contains("static_assert") && !Contains("requires"));
}

TEST_CASE("an older standard says what is needed", "[host]") {
  check_standard(tool::shell_word(tool::named("WARPBIT_CXX")) + " -std=c++17 -fsyntax-only" + kIncludes,
                 ".cpp");
}

TEST_CASE("a combination that does not exist says what would", "[host]") {
  check_refusals(tool::shell_word(tool::named("WARPBIT_CXX")) + " -std=c++20 -fsyntax-only" + kIncludes,
                 ".cpp");
}

// ---- nvcc

std::string nvcc() {
  const std::string found = tool::find_command({"nvcc", "/usr/local/cuda/bin/nvcc"}, "--version");
  if (found.empty()) tool::not_run("needs nvcc");
  return found + " -std=c++20 -Werror all-warnings" + kIncludes;
}

// The PTX of a file, which ptxas takes for the target.
std::string ptx_of(const std::string& file, const std::string& arch, const std::string& options = "") {
  const std::string compiler = nvcc() + options;
  const archive::Directory directory;
  const std::string ptx = (directory.path / "kernel.ptx").string();
  const tool::Output made =
      tool::shell(compiler + " -ptx -arch=compute_" + arch + " -o " + ptx + " tests/kernels/" + file);
  INFO(made.out << made.err);
  REQUIRE(made.status == 0);
  const tool::Output assembled =
      tool::shell(compiler + " -cubin -arch=sm_" + arch + " -o " + ptx + ".cubin " + ptx);
  INFO(assembled.out << assembled.err);
  REQUIRE(assembled.status == 0);
  return archive::bytes_of(ptx);
}

// How often each instruction with a pattern occurs.
Counts count(const std::string& text, const std::string& pattern) {
  Counts out;
  const std::regex expression("(?:^|\\n)\\s*((?:" + pattern + ")[a-zA-Z0-9_.:]*)");
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) ++out[(*at)[1]];
  return out;
}

// What the library cannot run of a module.
std::string refusals(std::string ptx) {
  const auto module = warpbit::ptx::Module::load(std::move(ptx));
  if (!module) return module.error().message();
  std::string out;
  for (const warpbit::Error& error : module->check()) out += error.message() + "\n";
  return out;
}

/// A kernel, what it is made of, and what else is in it.
struct Assembled {
  std::string kernel;
  Counts products;
  std::vector<std::string> others = {"cp.async.cg.shared.global", "cp.async.commit_group",
                                     "cp.async.wait_group", "bar.sync"};
};

// Of each entry of the PTX.
void check_entries(const std::string& arch, const std::vector<Assembled>& expected) {
  const std::string ptx = ptx_of("kernels.cu", arch);
  for (const Assembled& one : expected) {
    INFO(one.kernel << " for " << arch);
    std::size_t first = 0;
    do {
      first = ptx.find(".entry", first + 1);
      REQUIRE(first != ptx.npos);
    } while (ptx.substr(first, ptx.find('(', first) - first).find(one.kernel) == std::string::npos);
    const std::string body = ptx.substr(first, ptx.find(".entry", first + 1) - first);
    CHECK(count(body, "mma|ldmatrix|cvt.rn.bf16x2") == one.products);
    for (const std::string& other : one.others) CHECK_THAT(body, Contains(other));
  }
}

TEST_CASE("kernels become the PTX that they spell", "[cuda]") {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
  const std::string transposed = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16";
  const Assembled fp8{"8fp8_gemm",
                      {{load, 2 * (1 + 4)}, {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 2 * 8}}};
  std::vector<Assembled> kernels = {
      // Two halves of a step, 2 x 4 tiles each.
      {"4gemm", {{load, 4}, {transposed, 4}, {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16}}},
      {"12mental_model",
       {{load, 1},
        {"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 1},
        {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 1}}},
      {"11sparse_gemm",
       {{load, 2},
        {transposed, 2 * 8},
        {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 2 * 8}}},
      // Scores: four quarters of the depth; sums: four pairs of tiles of scores.
      {"9attention",
       {{load, 4 * (1 + 4)},
        {transposed, 4 * 4},
        {"cvt.rn.bf16x2.f32", 4 * 4},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 2 * 4 * 8}}}};
  check_entries("80", kernels);
  kernels.push_back(fp8);
  check_entries("90a", kernels);
  check_entries("120a", kernels);
}

// "// Cuda compilation tools, release 13.0, V13.0.88"
std::string release_of(const std::string& ptx) {
  const std::size_t at = ptx.find("// Cuda compilation tools");
  return at == ptx.npos ? "" : ptx.substr(at, ptx.find('\n', at) - at);
}

void check_recorded(const std::string& made, const std::string& path) {
  INFO(path);
  const std::string recorded = text_file::text_of(path);
  REQUIRE(!release_of(recorded).empty());
  if (release_of(made) != release_of(recorded))
    tool::not_run("needs the nvcc of '" + release_of(recorded) + "'");
  CHECK(made == recorded);
}

TEST_CASE("kernels that a GPU has run become the PTX of golden/kernels/", "[recorded]") {
  check_recorded(ptx_of("record.cu", "90a", " -I . -I src -I tools/capture -DWARPBIT_TARGET='\"sm_90a\"'"),
                 "golden/kernels/sm_90a.ptx.gz");
}

TEST_CASE("kernels with tensor memory become the PTX of tests/kernels/tensor/", "[recorded]") {
  for (const auto& [name, arch] : {std::pair{"product", "100a"},
                                   {"gemm", "100a"},
                                   {"moves", "100a"},
                                   {"product", "103a"},
                                   {"moves", "103a"}})
    check_recorded(ptx_of(fmt::format("tensor/{}.cu", name), arch),
                   fmt::format("tests/kernels/tensor/{}.sm_{}.ptx", name, arch));
}

TEST_CASE("every form that kernels may call is in the PTX once", "[cuda]") {
  using namespace warpbit::device;
  Counts expected{{"movmatrix.sync.aligned.m8n8.trans.b16", 1}};
  for (const auto& some : {forms(MmaRows{}), forms(MmaSpRows{}), forms(MmaBlockScaleRows{}),
                           forms(LdmatrixRows{}), forms(StmatrixRows{}), forms(CvtRows{})})
    for (const std::string& form : some) ++expected[form];
  const std::string ptx = ptx_of("rows.cu", "120a");
  CHECK(count(ptx, "mma|ldmatrix|stmatrix|movmatrix|cvt[.]r[nzp][.][a-z0-9.]*x2[.]") == expected);
  CHECK(refusals(ptx) == "");
}

TEST_CASE("a GEMM by wgmma and its forms become the PTX that they spell", "[cuda]") {
  const std::string ptx = ptx_of("wgmma.cu", "90a");
  Counts expected;
  const auto add = [&](int n, const std::string& rest) {
    expected["wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + rest] += 2;
  };
  for (const std::string& rest : forms(warpbit::device::WgmmaRows{}))
    for (const int n : {24, 256}) add(n, rest);
  for (int n = 8; n < 256; n += 8) {
    if (n == 24) continue;
    add(n, "k16.f32.f16.f16");
    add(n, "k16.f16.f16.f16");
    if (n <= 32 || n % 16 == 0) add(n, "k32.s32.s8.s8");
  }
  // With transposed factors, and the four of a step of the GEMM.
  ++expected["wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"];
  ++expected["wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16"];
  expected["wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"] += 4;
  CHECK(count(ptx, "wgmma\\.mma_async") == expected);
  CHECK(refusals(ptx) == "");
  for (const std::string& operands :
       {std::string("p, 1, -1, 1, 0;"), std::string("p, 1, 1, 0, 1;"), std::string("p, -1, 1, 0, 0;"),
        std::string("p, -1, 1;"), std::string("p;"), std::string("wgmma.wait_group.sync.aligned 3;"),
        std::string("fence.proxy.async.shared::cta;")})
    CHECK_THAT(ptx, Contains(operands));
}

TEST_CASE("barrier objects, copies and clusters become the PTX that they spell", "[cuda]") {
  const std::string tensor = "cp.async.bulk.tensor.", bulk = "cp.async.bulk.",
                    to_shared = "shared::cluster.global.", counted = "mbarrier::complete_tx::bytes",
                    multicast = ".multicast::cluster", reduce = "cp.reduce.async.bulk.",
                    to_global = "global.shared::cta.";
  std::vector<std::string> forms = {bulk + "shared::cluster.global." + counted,
                                    bulk + "shared::cluster.global." + counted + multicast,
                                    bulk + "shared::cluster.shared::cta." + counted,
                                    bulk + to_global + "bulk_group",
                                    bulk + "commit_group",
                                    bulk + "wait_group",
                                    bulk + "wait_group.read",
                                    "barrier.cluster.arrive.relaxed",
                                    "barrier.cluster.wait.acquire",
                                    "fence.mbarrier_init.release.cluster",
                                    "cp.async.mbarrier.arrive.shared::cta.b64",
                                    "cp.async.mbarrier.arrive.noinc.shared::cta.b64",
                                    "mbarrier.arrive.release.cluster.shared::cluster.b64",
                                    "mbarrier.pending_count.b64",
                                    "mbarrier.init.shared::cta.b64",
                                    "mbarrier.inval.shared::cta.b64"};
  for (const char* one : {"arrive.release", "arrive_drop.release", "arrive.expect_tx.release",
                          "expect_tx.relaxed", "complete_tx.relaxed"})
    forms.push_back(fmt::format("mbarrier.{}.cta.shared::cta.b64", one));
  for (const char* one : {"test_wait", "test_wait.parity", "try_wait", "try_wait.parity"})
    forms.push_back(fmt::format("mbarrier.{}.acquire.cluster.shared::cta.b64", one));
  for (int rank = 1; rank <= 5; ++rank) {
    const std::string of_rank = tensor + std::to_string(rank) + "d.";
    forms.push_back(of_rank + to_shared + "tile." + counted);
    forms.push_back(of_rank + to_shared + "tile." + counted + multicast);
    forms.push_back(of_rank + to_global + "tile.bulk_group");
    if (rank >= 3) forms.push_back(of_rank + to_shared + "im2col." + counted);
  }
  for (const char* one : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
    forms.push_back(fmt::format("{}tensor.2d.{}{}.tile.bulk_group", reduce, to_global, one));
  for (const char* one : {"add.u32", "inc.u32", "and.b32", "min.s32", "or.b32", "xor.b64", "add.u64", "add.f32",
                          "add.f64", "add.noftz.f16", "max.bf16"})
    forms.push_back(reduce + to_global + "bulk_group." + one);
  Counts expected;
  for (const std::string& form : forms) expected[form] = 1;
  const std::string ptx = ptx_of("async.cu", "90a");
  CHECK(count(ptx, "mbarrier|cp\\.|barrier\\.cluster|fence\\.") == expected);
  CHECK(refusals(ptx) == "");
}

TEST_CASE("nvcc's older standard says what is needed", "[cuda]") {
  std::string command = nvcc();
  command.replace(command.find(" -std=c++20"), 11, "");
  check_standard(command + " -x cu -arch=sm_90a -ptx -o /dev/null", ".cu");
}

TEST_CASE("nvcc refuses the same combinations", "[cuda]") {
  check_refusals(nvcc() + " -x cu -arch=sm_120a -ptx -o /dev/null", ".cu");
}

}  // namespace device_compile_test
