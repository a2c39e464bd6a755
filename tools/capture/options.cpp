// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <string_view>

#include "driver.hpp"

namespace capture {

const char* const kUsage =
    "usage: capture --kernels FILE [option...]\n"
    "Records captures of the statements in a kernels file on a GPU.\n"
    "  --kernels FILE   what `warpbit list --ptx --target T` printed\n"
    "  --out DIR        folder for the captures (captures)\n"
    "  --forms REGEX    only statements in which it is found\n"
    "  --first          of each form only the first statement\n"
    "  --seed N         of the inputs (1)\n"
    "  --profile NAME   of the inputs (mixed): uniform, ordinary, narrow, wide, underflow, overflow, "
    "specials,\n"
    "                   cancellation, alignment, mixed or exhaustive\n"
    "  --cases N        cases in each capture; without it as many as fit in 64 KiB, at most 1024\n"
    "  --elements N     no inputs and results but digests of them, of at least N registers of results each\n"
    "  --exhaustive     such digests of all inputs of conversions: every source register goes through all of\n"
    "                   its values, of up to 32 bits\n"
    "  --first-case N   the first case of each capture (0)\n"
    "  --probes         probes of the statements that have them, and nothing else\n"
    "  --target T       what the captures say; the target of the kernels, if the GPU is one\n"
    "  --generator FILE the PTX of generate.cu (generate.ptx beside this program, if it is there)\n"
    "  --device N       which GPU (0)\n"
    "  --help           print this and stop\n"
    "  --describe       print as JSON what GPU this is, and stop; needs no kernels\n"
    "  --list           print the statements and stop\n"
    "  --dry-run        assemble all kernels with ptxas and stop; needs no GPU\n";

namespace {

template <class Number>
Number number(const std::string& option, const std::string& text) {
  Number out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < Number{0})
    throw Failure(option + ": '" + text + "'; expected a number, 0 or more");
  return out;
}

std::uint64_t positive(const std::string& option, const std::string& text) {
  if (const auto out = number<std::uint64_t>(option, text); out > 0) return out;
  throw Failure(option + ": 0; expected a number, 1 or more");
}

warpbit::inputs::Profile profile(const std::string& text) {
  if (const auto found = warpbit::inputs::find_profile(text)) return *found;
  std::string known;
  for (const std::string_view name : warpbit::inputs::kProfileNames)
    known += (known.empty() ? "" : ", ") + std::string(name);
  throw Failure("--profile: '" + text + "'; expected one of " + known);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options out;
  using Text = const std::string&;
  const std::map<std::string, std::function<void(Text)>> with_value = {
      {"--kernels", [&](Text v) { out.kernels = v; }},
      {"--out", [&](Text v) { out.out = v; }},
      {"--forms", [&](Text v) { out.forms = v; }},
      {"--seed", [&](Text v) { out.seed = number<std::uint64_t>("--seed", v); }},
      {"--profile", [&](Text v) { out.profile = profile(v); }},
      {"--cases", [&](Text v) { out.cases = positive("--cases", v); }},
      {"--elements", [&](Text v) { out.elements = positive("--elements", v); }},
      {"--first-case", [&](Text v) { out.first_case = number<std::uint64_t>("--first-case", v); }},
      {"--target", [&](Text v) { out.target = v; }},
      {"--generator", [&](Text v) { out.generator = v; }},
      {"--device", [&](Text v) { out.device = number<int>("--device", v); }},
  };
  const std::map<std::string, bool*> flags = {
      {"--first", &out.first},   {"--list", &out.list},         {"--dry-run", &out.dry_run},
      {"--help", &out.help},     {"--describe", &out.describe}, {"--exhaustive", &out.exhaustive},
      {"--probes", &out.probes},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (const auto flag = flags.find(name); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    const auto option = with_value.find(name);
    if (option == with_value.end()) throw Failure("'" + name + "' is no option\n" + kUsage);
    if (++i == argc) throw Failure(name + " needs a value\n" + kUsage);
    option->second(argv[i]);
  }
  if (out.kernels.empty() && !out.describe && !out.help)
    throw Failure(std::string("--kernels is missing\n") + kUsage);
  if (out.elements.has_value() + out.exhaustive + (out.cases || out.first_case) > 1)
    throw Failure("of --elements, --exhaustive and (--cases, --first-case) one at a time");
  if (out.exhaustive) out.profile = warpbit::inputs::Profile::exhaustive;
  return out;
}

}  // namespace capture
