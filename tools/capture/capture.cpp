// SPDX-License-Identifier: Apache-2.0
// Records captures on a GPU: kernels come from a file, inputs from generators, and the driver is found at run
// time. README.md says how to build and use it.
//
// Exit status: 0 if everything was recorded (assembled, with --dry-run), 1 if not, 2 if nothing could be done.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>  // atoi
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <thread>

#include "assembler.hpp"
#include "driver.hpp"
#include "generator.hpp"
#include "kernels.hpp"
#include "options.hpp"
#include "ptxas.hpp"
#include "recorder.hpp"
#include "worker.hpp"

namespace capture {
namespace {

constexpr int kAll = 0, kNotAll = 1, kNothing = 2;

// The statements that the options ask for.
KernelFile chosen(const Options& options) {
  KernelFile out = read_kernels(options.kernels);
  std::regex pattern;
  try {
    pattern = std::regex(options.forms);
  } catch (const std::regex_error& error) {
    throw Failure("--forms: '" + options.forms + "' (" + error.what() + "); expected a regular expression");
  }
  std::set<std::string> seen;
  std::erase_if(out.kernels, [&](const Kernel& kernel) {
    std::string form = kernel.form;  // two forms of one text differ in their members
    for (const KernelMember& member : kernel.members) form += " " + member.name;
    return !std::regex_search(kernel.statement, pattern) || (!seen.insert(form).second && options.first);
  });
  if (out.kernels.empty()) throw Failure("'" + options.forms + "' is in no statement of " + options.kernels);
  std::erase_if(out.kernels, [&](const Kernel& kernel) {
    return (options.exhaustive && kernel.all_inputs() == 0) ||
           (options.probes && out.probes_of(kernel) == nullptr);
  });
  return out;
}

// "sm_90a" -> 90
int capability_of(const std::string& target) {
  const int out = target.compare(0, 3, "sm_") == 0 ? std::atoi(target.c_str() + 3) : 0;
  if (out == 0) throw Failure("target '" + target + "'; expected sm_ and a number");
  return out;
}

// One module of the kernels first, first + 1, ..., count of them: ptxas needs longer to start than for one.
std::string joined(const std::vector<Kernel>& kernels, std::size_t first, std::size_t count) {
  const std::string entry = ".visible .entry capture";
  std::string out;
  for (std::size_t i = first; i < first + count; ++i) {
    const std::string& ptx = kernels[i].ptx;
    const std::size_t at = std::min(ptx.find(entry), ptx.size());
    if (i == first) out = ptx.substr(0, at);
    out += entry + std::to_string(i) + ptx.substr(std::min(at + entry.size(), ptx.size()));
  }
  return out;
}

// What is said against each kernel; nothing against most.
std::vector<std::string> refusals(const Assembler& assembler, const std::vector<Kernel>& kernels) {
  constexpr std::size_t kTogether = 32;
  std::vector<std::string> out(kernels.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads(std::max(std::thread::hardware_concurrency(), 1U));
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      for (std::size_t first; (first = next.fetch_add(kTogether)) < kernels.size();) {
        const std::size_t count = std::min(kTogether, kernels.size() - first);
        if (assembler.assemble(joined(kernels, first, count)).ok()) continue;
        for (std::size_t i = first; i < first + count; ++i) out[i] = assembler.assemble(kernels[i].ptx).refusal;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return out;
}

int dry_run(const KernelFile& file) {
  const Assembler assembler(find_ptxas(), file.target);
  std::size_t refused = 0;
  const std::vector<std::string> all = refusals(assembler, file.kernels);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    ++refused;
    std::printf("%s\n  %s\n", file.kernels[i].statement.c_str(), all[i].c_str());
  }
  std::printf("total: %zu kernels for %s, %zu refused by %s\n", file.kernels.size(), file.target.c_str(),
              refused, assembler.version().c_str());
  return refused == 0 ? kAll : kNotAll;
}

// The PTX of generate.cu; empty if there is none.
std::string generator_ptx(const Options& options) {
  const std::filesystem::path beside =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "generate.ptx";
  const std::string path = options.generator.empty() ? beside.string() : options.generator;
  std::ifstream file(path, std::ios::binary);
  if (!file && !options.generator.empty()) throw Failure(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// ptxas, if it is there and knows the architecture; else the driver assembles.
std::unique_ptr<Assembler> find_assembler(const std::string& architecture) {
  const std::string program = find_ptxas();
  if (program.empty()) return nullptr;
  try {
    return std::make_unique<Assembler>(program, architecture);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "capture: %s; the driver assembles\n", failure.what());
    return nullptr;
  }
}

Answerer answerer(const Device& device, const Assembler* assembler) {
  return {device.name(), device.compute_capability(), device.driver(),
          assembler ? assembler->version() : "the driver's assembler", today()};
}

int describe(const Options& options) {
  const Device device(options.device);
  const auto assembler = find_assembler("sm_" + std::to_string(device.compute_capability()));
  std::printf("{%s}\n", about(answerer(device, assembler.get())).c_str());
  return kAll;
}

// A GPU, and what makes captures on it. What it can run: kernels of its own target, or of an earlier one
// without a letter.
class Session {
 public:
  Session(const Options& options, const KernelFile& file)
      : options_(options), file_(file), device_(options.device), generator_(device_, generator_ptx(options)) {
    const int capability = capability_of(file.target), own = device_.compute_capability();
    const std::string architecture = capability == own ? file.target : "sm_" + std::to_string(own);
    const bool portable = file.target.find_first_not_of("0123456789", 3) == file.target.npos;
    if (capability != own && (!portable || capability > own))
      throw Failure("kernels of " + file.target + " do not run on " + device_.name() + " (" + architecture +
                    ")");
    assembler_ = find_assembler(architecture);
    origin_ = {options.target.empty() ? architecture : options.target, answerer(device_, assembler_.get())};
  }

  void introduce() const {
    std::printf("%s, %s, driver %s, %s, inputs made on the %s: %zu statements for %s\n", device_.name().c_str(),
                origin_.target.c_str(), device_.driver().c_str(), origin_.by.toolkit.c_str(),
                generator_.on_device() ? "GPU" : "host", file_.kernels.size(), file_.target.c_str());
  }

  // All statements from number `first` on, as long as the GPU is usable.
  void record(std::size_t first, const Report& report) {
    Recorder recorder(device_, generator_, options_, origin_);
    Ahead codes(assembler_ ? file_.kernels.size() - first : 0, std::thread::hardware_concurrency(),
                [&](std::size_t i) { return assembler_->assemble(file_.kernels[first + i].ptx); });
    for (std::size_t i = first; i < file_.kernels.size() && device_.is_usable(); ++i) {
      const Kernel& kernel = file_.kernels[i];
      Outcome outcome = Outcome::done;
      std::string line;
      try {
        const Code code = assembler_ ? codes.take(i - first) : Code{kernel.ptx, ""};
        if (!code.ok()) throw Failure("not assembled: " + code.refusal);
        const Module module(device_, code.cubin);
        const Function function = module.function("capture");
        line = options_.probes ? recorder.record_probes(kernel, *file_.probes_of(kernel), function)
                               : recorder.record(kernel, function);
      } catch (const Failure& failure) {
        line = failed(kernel, failure.what());
        outcome = Outcome::failed;
      }
      std::printf("%s\n", line.c_str());
      report(outcome);
    }
  }

  static std::string failed(const Kernel& kernel, const std::string& why) {
    return "FAILED " + kernel.statement + "\n  " + why;
  }

 private:
  const Options& options_;
  const KernelFile& file_;
  Device device_;
  Generator generator_;
  std::unique_ptr<Assembler> assembler_;
  Origin origin_;
};

int record(const Options& options, const KernelFile& file) {
  std::size_t recorded = 0, failed = 0;
  const auto work = [&](std::size_t first, const Report& report) {
    Session session(options, file);
    if (first == 0) session.introduce();
    session.record(first, report);
  };
  const auto heard = [&](std::size_t i, Outcome outcome) {
    ++(outcome == Outcome::done ? recorded : failed);
    if (outcome == Outcome::none)
      std::printf("%s\n", Session::failed(file.kernels[i], "the process that ran it died").c_str());
  };
  if (!in_processes(file.kernels.size(), work, heard)) return recorded == 0 ? kNothing : kNotAll;
  std::printf("total: %zu statements, %zu recorded, %zu failed\n", file.kernels.size(), recorded, failed);
  return failed == 0 ? kAll : kNotAll;
}

int run(const Options& options) {
  if (options.help) return std::printf("%s", kUsage), kAll;
  if (options.describe) return describe(options);
  const KernelFile file = chosen(options);
  if (options.list) {
    for (const Kernel& kernel : file.kernels) std::printf("%s\n", kernel.statement.c_str());
    return kAll;
  }
  return options.dry_run ? dry_run(file) : record(options, file);
}

}  // namespace
}  // namespace capture

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  try {
    return capture::run(capture::parse_options(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "capture: %s\n", error.what());
    return capture::kNothing;
  }
}
