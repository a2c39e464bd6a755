// SPDX-License-Identifier: Apache-2.0
// Kernels by name: the one that is asked for computes, and what does not exist is refused with a list of what
// does. CTest runs the cases tagged [forced] with one value of WARPBIT_KERNEL after the other.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tool.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/machine.hpp"
#include "warpbit/result.hpp"

namespace kernel_choice_test {

using namespace warpbit;
using Catch::Contains;

constexpr const char* kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

// One case of zeros.
Result<Execution> execute(const ExecuteOptions& options) {
  const Instruction i = Instruction::parse(kForm, *Target::find("sm_90a")).value();
  std::vector<std::uint32_t> in(32 * 4), out(32 * 4, 1);
  std::vector<OperandView> sources;
  for (const int registers : {4, 2, 4}) sources.push_back(OperandView::dense(in.data(), 32, registers, 32));
  return execute_batch(i, sources, ResultView::dense(out.data(), 32, 4, 32), 1, options);
}

void check_refused(const Error& error, const std::string& where) {
  CHECK(error.code == Errc::no_such_kernel);
  CHECK_THAT(error.message(), Contains(where));
  for (const Kernel kernel : kernels()) CHECK_THAT(error.message(), Contains(std::string(name(kernel))));
}

#if defined(__linux__) && defined(__x86_64__)
TEST_CASE("the kernels are those that the processor's flags allow") {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) flags.insert(word);
    }
  REQUIRE(!flags.empty());
  const auto has = [&](std::initializer_list<const char*> wanted) {
    return std::ranges::all_of(wanted, [&](const char* flag) { return flags.count(flag) == 1; });
  };
  std::vector<Kernel> expected{Kernel::reference, Kernel::scalar};
  const bool avx2 = has({"avx2", "fma", "f16c", "bmi2"});
  if (avx2) expected.push_back(Kernel::avx2);
  if (avx2 && has({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}))
    expected.push_back(Kernel::avx512);
  CHECK(kernels() == expected);
}
#elif defined(__aarch64__)
TEST_CASE("every processor of 64-bit Arm has the kernel for it") {
  CHECK(kernels() == std::vector<Kernel>{Kernel::reference, Kernel::scalar, Kernel::neon});
}
#endif

TEST_CASE("ExecuteOptions::kernel: the kernel asked for computes, any other value is refused") {
  const std::vector<Kernel> possible = kernels();
  for (int number = -1; number < 10; ++number) {
    const auto kernel = static_cast<Kernel>(number);
    ExecuteOptions options;
    options.kernel = kernel;
    const Result<Execution> done = execute(options);
    INFO("kernel " << number);
    REQUIRE(done.ok() == (std::ranges::find(possible, kernel) != possible.end()));
    if (done)
      CHECK(done->kernel == kernel);
    else
      check_refused(done.error(), "ExecuteOptions::kernel");
  }
}

TEST_CASE("a Machine says which kernel computed, as execute_batch does") {
  const Target target = *Target::find("sm_90a");
  const auto parsed = [&](const char* text) { return Instruction::parse(text, target).value(); };
  for (const Kernel kernel : kernels()) {
    MachineOptions options;
    options.execute.kernel = kernel;
    Machine machine(4, 70, Memory(65536), options);
    const Instruction mma = parsed(kForm), convert = parsed("cvt.rn.f16x2.f32");
    CHECK(machine.execute(0, mma, {0, 4, 8, 10}).value().kernel == kernel);
    CHECK(machine.execute(0, convert, {0, 1, 2}).value().kernel == kernels().front());
    // Warps beside each other: the slowest of theirs.
    std::vector<const Instruction*> lanes(128, &mma);
    const Instruction shape = parsed("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
    std::fill(lanes.begin() + 32, lanes.end(), &shape);
    CHECK(machine.execute(0, lanes, {0, 4, 8, 10}).value().kernel == kernel);
    const Instruction product =
        parsed("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, a_desc, b_desc, 1, 1, 1, 0, 0;");
    CHECK(machine.execute(0, parsed("wgmma.fence.sync.aligned;")).value().kernel == kernels().front());
    CHECK(machine.execute(0, product, {0, 64, 65, 0, 0, 0, 0, 0}).value().kernel == kernel);
  }
}

TEST_CASE("each error is of one kind, which does not depend on the order of the codes") {
  const std::pair<Errc, ErrorKind> rows[] = {{Errc::statement_syntax, ErrorKind::statement},
                                             {Errc::unknown_target, ErrorKind::statement},
                                             {Errc::lanes_missing, ErrorKind::execution},
                                             {Errc::not_sparse, ErrorKind::execution},
                                             {Errc::address_out_of_bounds, ErrorKind::memory},
                                             {Errc::no_such_layout, ErrorKind::memory},
                                             {Errc::launch_shape, ErrorKind::execution},
                                             {Errc::stack_overflow, ErrorKind::execution},
                                             {Errc::file_unreadable, ErrorKind::file},
                                             {Errc::captures_differ, ErrorKind::file},
                                             {Errc::usage, ErrorKind::usage}};
  for (const auto& [code, expected] : rows) CHECK(kind(code) == expected);
}

// The value that CTest gives.
std::string forced() {
  const char* value = std::getenv("WARPBIT_KERNEL");
  INFO("WARPBIT_KERNEL is to be set");
  REQUIRE(value != nullptr);
  return value;
}
bool is_possible(const std::string& wanted) {
  const std::vector<Kernel> possible = kernels();
  return std::ranges::any_of(possible, [&](Kernel kernel) { return name(kernel) == wanted; });
}

TEST_CASE("WARPBIT_KERNEL: the kernel that it names computes, any other value is refused", "[.forced]") {
  const std::string wanted = forced();
  const Result<Execution> done = execute({});
  INFO("WARPBIT_KERNEL is " << wanted);
  REQUIRE(done.ok() == is_possible(wanted));
  if (done)
    CHECK(name(done->kernel) == wanted);
  else
    check_refused(done.error(), "WARPBIT_KERNEL: there is no kernel '" + wanted + "'");
}

TEST_CASE("the tool says so, too", "[.forced]") {
  const std::string wanted = forced();
  const archive::Directory directory;
  const std::string file = tool::write(directory.path / "x.npz", archive::zip_of(tool::good()));
  const tool::Output output = tool::run({"verify", file});
  INFO(output.out << output.err);
  CHECK((output.status == 0) == is_possible(wanted));
  if (is_possible(wanted)) return;
  CHECK(output.status == 2);
  for (const Kernel kernel : kernels())
    CHECK_THAT(output.out + output.err, Contains(std::string(name(kernel))));
}

// How each path is called.
struct Computed {
  const char *form, *target, *path;
};
constexpr Computed kComputed[] = {
    {kForm, "sm_90", "fused sums from fragments"},
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_70", "fused sums from gathered registers"},
    {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "sm_90a", "fused sums from shared memory"},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", "sm_90a",
     "fused sums from fragments, which shared memory is brought into"},
    {"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8", "sm_90a",
     "integer sums from fragments, which shared memory is brought into"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_80", "integer sums from fragments"},
    {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc", "sm_80", "bit counts from fragments"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_80", "IEEE operations from gathered registers"},
    {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "sm_120a",
     "scaled groups from fragments"},
    {"cvt.rn.f16.f32", "sm_80", nullptr},
};

TEST_CASE("check says how the kernel computes a form", "[.forced]") {
  const std::string wanted = forced();
  for (const auto& [form, target, path] : kComputed) {
    const tool::Output output = tool::run({"check", form, "--target", target});
    INFO(form << " on " << target << ": " << output.out << output.err);
    CHECK((output.status == 0) == is_possible(wanted));
    if (!is_possible(wanted)) continue;
    const bool is_fast = path != nullptr && wanted != "reference";
    CHECK_THAT(output.out, Contains(is_fast ? fmt::format("\n  kernel    fast: {} ({})\n", path, wanted)
                                            : std::string("\n  kernel    reference\n")));
  }
}

}  // namespace kernel_choice_test
