// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_setup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments.hpp"

namespace warpbit::cli {
namespace {

// "4", "4,4" or "4,4,2"
Dim3 parse_dim3(const std::string& where, const std::string& text) {
  std::vector<unsigned> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto one = number<unsigned>(text.substr(at, end - at));
    if (!one || *one == 0 || all.size() == 3)
      refuse(where, fmt::format("'{}'", text), "one to three numbers from 1 on, as in 4,4");
    all.push_back(*one);
    at = end + 1;
  }
  all.resize(3, 1);
  return {all[0], all[1], all[2]};
}

ptx::Function kernel_of(const ptx::Module& module, const std::string& name) {
  const std::vector<std::string> all = module.entries();
  if (name.empty() && all.size() != 1)
    refuse("launch", fmt::format("no --entry for a module with {} kernels", all.size()),
           fmt::format("{}", fmt::join(all, ", ")));
  return required(module.function(name.empty() ? all[0] : name));
}

std::vector<std::string> rule_names() {
  std::vector<std::string> out;
  for (const ptx::AssemblerRule& rule : ptx::assembler_rules()) out.emplace_back(rule.name);
  return out;
}

// Which clusters take others that have not begun.
void add_cancel(CLI::App& command, ptx::Launch& how) {
  const auto take = [&how](const std::string& word) { how.cancel = *ptx::find_cancel(word); };
  command
      .add_option_function<std::string>(
          "--cancel", take,
          "which requests of clusterlaunchcontrol.try_cancel succeed: first_come (default), as if clusters ran "
          "side by side, about as many as each takes; never; always, one cluster at a time; random, by "
          "--cancel-seed")
      ->check(CLI::IsMember({"first_come", "never", "always", "random"}));
  command.add_option("--cancel-seed", how.cancel_seed, "of --cancel random; 0 unless given");
  command.add_option(
      "--schedule", how.schedule,
      "the order in which warps and blocks take turns: a number decides on it, and on how long each goes on; 0 "
      "(default): until it waits, in the order of their numbers");
}

ptx::Launch shape_of(const LaunchSetup& o) {
  ptx::Launch how = o.how;
  how.grid = parse_dim3("--grid", o.grid);
  how.block = parse_dim3("--block", o.block);
  if (!o.cluster.empty()) how.cluster = parse_dim3("--cluster", o.cluster);
  how.check_shared = !o.unchecked;
  how.check_global = !o.unchecked_global;
  for (const std::string& one : o.grades) how.grades.push_back(required(ptx::GradedRule::parse(one)));
  return how;
}

}  // namespace

LoadedLaunch::LoadedLaunch(const LaunchSetup& setup)
    : module(required(ptx::Module::load_file(setup.file, find_target(setup.target)))),
      kernel(kernel_of(module, setup.entry)),
      arguments(parse_arguments(setup.arguments, kernel, arrays)),
      how(shape_of(setup)) {
  bind_references(setup.bound, module, arrays);
}

void LaunchSetup::add_to(CLI::App& command) {
  command.add_option("file", file, "a module of PTX, as nvcc -ptx makes it")->required();
  command.add_option("--entry", entry, "the kernel; may be left out if the module has one");
  command.add_option("--target", target, "the target; that of the module unless given");
  command.add_option("--grid", grid, "blocks: X, X,Y or X,Y,Z")->capture_default_str();
  command.add_option("--block", block, "threads of a block, the same")->capture_default_str();
  command.add_option(
      "--cluster", cluster,
      "blocks of a cluster, the same; what the kernel demands (.reqnctapercluster) unless given");
  command.add_option("--shared", how.shared_bytes, "dynamic shared memory of a block, in bytes")
      ->check(whole_number(0));
  command
      .add_option(
          "--arg", arguments,
          "an argument, one for each parameter: null; an array IN.npy, or IN.npy:OUT.npy, which is "
          "written after a launch without a fault; zeros:TYPE:SHAPE[:OUT.npy] (zeros:f32:64x64); "
          "uninit:TYPE:SHAPE[:OUT.npy], the same without values, as cudaMalloc returns it; a "
          "number TYPE:NUMBER (i32:-5, f32:0.5, u64:0xff); bytes:HEX for a structure; "
          "texture:SHAPE[:WORD...]:ARRAY, a handle (texture:2d:linear:normalized:wrap:a.npy); "
          "sampler:WORD[:WORD...], of a parameter .samplerref (sampler:linear:wrap); "
          "surface:SHAPE:ARRAY, a handle of what the kernel stores to (surface:2d:a.npy:out.npy); "
          "tensor_map:BOX[:MEMBER=VALUE...]:ARRAY, tiles of an array (tensor_map:64x64:elemtype=bf16:a.npy), "
          "with the members elemtype, element_stride, swizzle_mode (none, bytes_32, bytes_64, "
          "bytes_128), l2_promotion, fill_mode")
      ->type_name("ARGUMENT")
      ->allow_extra_args(false);
  command
      .add_option("--bind", bound,
                  "what a variable .texref, .surfref or .samplerref of the module stands for: its name, and a "
                  "texture, surface or sampler as of --arg (--bind tex=texture:2d:linear:a.npy)")
      ->type_name("NAME=HANDLE")
      ->allow_extra_args(false);
  command.add_flag("--as-written", how.as_written,
                   "each statement by itself, as ptxas -O0: no rule of the assembler acts");
  command
      .add_option("--without", how.without,
                  "a rule of the assembler that does not act (warpbit list --assembler)")
      ->type_name("RULE")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(rule_names()).description(""));
  command.add_flag("!--no-contract", how.contract, "fuse no products and sums, as ptxas --fmad=false");
  command.add_flag("--no-check-shared", unchecked, "look for no broken rules (warpbit list --rules)");
  command.add_flag("--no-check-global", unchecked_global, "look for no races in global memory");
  command.add_flag("--lenient", how.lenient,
                   "go on behind broken rules, and show all of them; exit status 1 if there are findings");
  command.add_flag("--strict", how.strict,
                   "a broken rule of the manual is a fault, also where hardware leaves right bytes");
  command
      .add_option("--rule", grades,
                  "what one rule is, whatever --lenient and --strict say: NAME=silent, note, finding or fault")
      ->type_name("NAME=GRADE")
      ->allow_extra_args(false);
  command.add_option("--step-limit", how.step_limit,
                     "the maximum number of steps of a block; any number unless given");
  add_cancel(command, how);
  command.add_option("--threads", how.execute.threads, "threads of this machine; those of OpenMP unless given")
      ->check(whole_number(0));
  add_undefined(command, how.execute.undefined);
}

}  // namespace warpbit::cli
