// SPDX-License-Identifier: Apache-2.0
// warpbit launch
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/launch_watch.hpp"
#include "cli/terminal.hpp"
#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/run.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct LaunchArguments {
  std::string file, entry, target, grid = "1", block = "1";
  std::vector<std::string> arguments;
  ptx::Launch how;
  WatchArguments watch;
  bool separate = false, unchecked = false, json = false;
};

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

// ---- Types of numbers

constexpr std::string_view kTypes =
    "i8 to i64, s8 to s64, u8 to u64, b8 to b64, f16, bf16, f32, f64, e4m3, e5m2";

/// A type of numbers: of integers or of a floating-point format.
struct NumberType {
  std::string_view name;
  std::size_t bytes;
  char kind;  ///< NumPy's
  bool is_integer;
};

NumberType parse_type(const std::string& where, std::string_view name) {
  for (const int bits : {8, 16, 32, 64})
    for (const char letter : {'i', 's', 'u', 'b'})
      if (name == fmt::format("{}{}", letter, bits))
        return {name, static_cast<std::size_t>(bits) / 8, letter == 'i' || letter == 's' ? 'i' : 'u', true};
  const Result<FormatInfo> format = find_format_info(name);
  if (!format || format->is_integer || format->bits % 8 != 0)
    refuse(where, fmt::format("type '{}'", name), fmt::format("one of {}", kTypes));
  const bool numpy = format->name == "f16" || format->name == "f32" || format->name == "f64";
  return {name, static_cast<std::size_t>(format->bits) / 8, numpy ? 'f' : 'u', false};
}

// An integer as decimal or hexadecimal digits. The types i and b take both signs.
std::uint64_t parse_integer(const std::string& where, const NumberType& type, std::string_view text) {
  const auto bits = 8 * type.bytes;
  const bool negative = text.starts_with('-'), hexadecimal = text.substr(negative).starts_with("0x");
  const auto digits =
      number<std::uint64_t>(text.substr(negative + (hexadecimal ? 2 : 0)), hexadecimal ? 16 : 10);
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  const std::uint64_t least = largest / 2 + 1;  // without its sign
  const bool is_signed = type.name[0] == 's', is_unsigned = type.name[0] == 'u';
  const bool fits =
      digits && (negative ? !is_unsigned && *digits <= least : *digits <= (is_signed ? least - 1 : largest));
  if (!fits) refuse(where, fmt::format("'{}'", text), fmt::format("an integer that {} holds", type.name));
  return negative ? (0 - *digits) & largest : *digits;
}

std::uint64_t parse_number(const std::string& where, const NumberType& type, const std::string& text) {
  if (type.is_integer) return parse_integer(where, type, text);
  const Result<EncodedNumber> code = parse_code(type.name, text);
  if (!code) refuse(where, code.error().seen, code.error().accepted, code.error().code);
  return code->code;
}

// ---- Arguments

/// An array of an argument, and the file that it is written to.
struct LaunchArray {
  Array array;
  std::string out;
};

constexpr std::string_view kArgument =
    "null; IN.npy or IN.npy:OUT.npy; zeros:TYPE:SHAPE or zeros:TYPE:SHAPE:OUT.npy; TYPE:NUMBER; bytes:HEX";

// "4096" or "64x64"
std::vector<std::uint64_t> parse_shape(const std::string& where, const std::string& text,
                                       std::uint64_t item_bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // bytes
  std::vector<std::uint64_t> out;
  std::uint64_t bytes = item_bytes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const auto one = number<std::uint64_t>(text.substr(at, end - at));
    if (!one || (*one != 0 && bytes > kMost / *one) || out.size() == 32)
      refuse(where, fmt::format("shape '{}'", text), "numbers as in 4096 or 64x64, of at most 2^40 bytes");
    bytes *= *one;
    out.push_back(*one);
    at = end + 1;
  }
  return out;
}

std::vector<std::byte> parse_bytes(const std::string& where, std::string_view text) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto byte = number<unsigned>(text.substr(i, 2), 16);
    if (!byte || i + 2 > text.size())
      refuse(where, fmt::format("'{}'", text), "two hexadecimal digits for each byte");
    out.push_back(static_cast<std::byte>(*byte));
  }
  return out;
}

// "IN.npy" or "IN.npy:OUT.npy"
LaunchArray read_file(const std::string& text) {
  constexpr std::string_view kEnd = ".npy:";
  const std::size_t colon = text.find(kEnd);
  if (colon == text.npos) return {required(read_array(text)), ""};
  return {required(read_array(text.substr(0, colon + kEnd.size() - 1))), text.substr(colon + kEnd.size())};
}

ptx::Argument parse_argument(const std::string& text, std::deque<LaunchArray>& arrays) {
  const std::string where = fmt::format("--arg {}", text);
  const auto add = [&](LaunchArray array) -> ptx::Argument {
    if (!array.out.empty() && !array.out.ends_with(".npy"))
      refuse(where, fmt::format("'{}'", array.out), "a name that ends in .npy");
    return ptx::buffer(arrays.emplace_back(std::move(array)).array.data);
  };
  if (text == "null") return ptx::null();
  if (text.ends_with(".npy") && !text.starts_with("zeros:")) return add(read_file(text));
  const std::size_t colon = text.find(':');
  if (colon == text.npos) refuse("--arg", fmt::format("'{}'", text), std::string(kArgument));
  const std::string word = text.substr(0, colon), rest = text.substr(colon + 1);
  if (word == "bytes") return parse_bytes(where, rest);
  if (word != "zeros") {
    const NumberType type = parse_type(where, word);
    const std::uint64_t code = parse_number(where, type, rest);
    const auto* const first = reinterpret_cast<const std::byte*>(&code);
    return std::vector<std::byte>(first, first + type.bytes);
  }
  const std::size_t second = rest.find(':'),
                    third = second == rest.npos ? rest.npos : rest.find(':', second + 1);
  if (second == rest.npos) refuse(where, "no shape", std::string(kArgument));
  const NumberType type = parse_type(where, rest.substr(0, second));
  const std::string shape = rest.substr(second + 1, third == rest.npos ? rest.npos : third - second - 1);
  LaunchArray out{Array::zeros("zeros", type.bytes, parse_shape(where, shape, type.bytes)),
                  third == rest.npos ? "" : rest.substr(third + 1)};
  out.array.header.kind = type.kind;
  return add(std::move(out));
}

// ---- The answer

ordered_json side_json(const FaultSide& side) {
  return {{"warp", side.warp},
          {"lanes", side.lanes},
          {"ptx_line", side.ptx_line},
          {"file", side.at.file},
          {"line", side.at.line}};
}

ordered_json fault_json(const Fault& fault) {
  ordered_json out{{"code", name(fault.error.code)},
                   {"message", fault.message()},
                   {"block", {fault.block.x, fault.block.y, fault.block.z}},
                   {"at", side_json(fault)}};
  if (fault.other) out["other"] = side_json(*fault.other);
  if (fault.address) {
    out["space"] = name(fault.address->space);
    out["byte"] = fault.address->byte;
  }
  return out;
}

ordered_json order_json(const ptx::Report& report) {
  ordered_json out = ordered_json::array();
  for (const ptx::OrderDependence& one : report.order_dependent)
    out.push_back({{"ptx_line", one.line},
                   {"instruction", one.instruction},
                   {"why", one.why},
                   {"file", one.file},
                   {"line", one.source_line}});
  return out;
}

// ", order-dependent: line 40 atom.global.add.f32 (the sum depends on the order of the additions)", or nothing.
std::string order_text(const ptx::Report& report) {
  std::string out;
  for (const ptx::OrderDependence& one : report.order_dependent)
    out += fmt::format("{} line {} {} ({})", out.empty() ? ", order-dependent:" : ",", one.line,
                       one.instruction, one.why);
  return out;
}

// Whether all blocks have ended, so that arrays are what the kernel leaves.
bool is_complete(const ptx::Report& report) {
  return !report.fault && !report.stopped;
}

ordered_json report_json(const ptx::Function& kernel, Target target, const ptx::Report& report,
                         const std::deque<LaunchArray>& arrays) {
  ordered_json out{{"kernel", kernel.name()},          {"target", target.name()},
                   {"blocks", report.blocks},          {"steps", report.steps},
                   {"inferred", report.inferred},      {"contracted", report.contracted},
                   {"printed", report.printed},        {"fault", nullptr},
                   {"written", ordered_json::array()}, {"order_dependent", order_json(report)}};
  if (report.fault) out["fault"] = fault_json(*report.fault);
  for (const LaunchArray& one : arrays)
    if (is_complete(report) && !one.out.empty()) out["written"].push_back(one.out);
  return out;
}

void print_report(const ptx::Function& kernel, Target target, const ptx::Report& report,
                  const std::deque<LaunchArray>& arrays) {
  fmt::print("{}", report.printed);
  if (report.fault) {
    std::istringstream in(report.fault->message());
    for (std::string line; std::getline(in, line);) fmt::print("{}\n", printable(line));
    return;
  }
  const std::string where = fmt::format("{} on {}", kernel.name(), target.name());
  if (report.stopped) return print_fitted(where + ": stopped by --break; no array is written");
  print_fitted(fmt::format("{}: {} block{}, {} steps{}{}", where, report.blocks, report.blocks == 1 ? "" : "s",
                           report.steps, report.inferred ? ", inferred" : "", order_text(report)));
  for (const LaunchArray& one : arrays)
    if (!one.out.empty())
      print_fitted(
          fmt::format("{}: {} of shape {}", one.out, one.array.header.dtype(), one.array.header.shape_text()));
}

ptx::Function kernel_of(const ptx::Module& module, const std::string& name) {
  const std::vector<std::string> all = module.entries();
  if (name.empty() && all.size() != 1)
    refuse("launch", fmt::format("no --entry for a module with {} kernels", all.size()),
           fmt::format("{}", fmt::join(all, ", ")));
  return required(module.function(name.empty() ? all[0] : name));
}

std::vector<ptx::Argument> arguments_of(const LaunchArguments& o, const ptx::Function& kernel,
                                        std::deque<LaunchArray>& arrays) {
  std::vector<std::string> parameters;
  for (const ptx::Parameter& p : kernel.parameters())
    parameters.push_back(fmt::format("{} ({} bytes, .{})", p.name, p.bytes, p.type));
  if (o.arguments.size() != parameters.size())
    refuse(kernel.name(), fmt::format("{} arguments", o.arguments.size()),
           fmt::format("{}: {}", parameters.size(), fmt::join(parameters, ", ")), Errc::argument_mismatch);
  std::vector<ptx::Argument> out;
  for (const std::string& text : o.arguments) out.push_back(parse_argument(text, arrays));
  return out;
}

ptx::Report run_kernel(const LaunchArguments& o, const ptx::Function& kernel, LaunchWatch& watch,
                       const std::vector<ptx::Argument>& arguments) {
  ptx::Launch how = o.how;
  how.grid = parse_dim3("--grid", o.grid);
  how.block = parse_dim3("--block", o.block);
  how.contract = !o.separate;
  how.check_shared = !o.unchecked;
  watch.follow(how);
  ProgressBar bar(!watch.prints_steps());
  how.progress = [&](std::uint64_t done, std::uint64_t blocks) { bar.show(done, blocks); };
  return kernel.launch(how, arguments);
}

int launch(const LaunchArguments& o) {
  const ptx::Module module = required(ptx::Module::load_file(o.file, find_target(o.target)));
  const ptx::Function kernel = kernel_of(module, o.entry);
  std::deque<LaunchArray> arrays;  // which stay where they are
  const std::vector<ptx::Argument> arguments = arguments_of(o, kernel, arrays);
  LaunchWatch watch(o.watch, kernel, !o.separate, o.json);
  const ptx::Report report = run_kernel(o, kernel, watch, arguments);
  if (report.fault && report.fault->lanes.empty()) throw Refusal{report.fault->error};  // nothing has run
  for (const LaunchArray& one : arrays)
    if (is_complete(report) && !one.out.empty()) required(write_array(one.out, one.array));
  if (o.json) {
    ordered_json answer = report_json(kernel, module.target(), report, arrays);
    watch.add_to(answer, report);
    fmt::print("{}\n", answer.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    watch.print_break();
    print_report(kernel, module.target(), report, arrays);
    watch.print_profile(report);
  }
  return report.fault || watch.missed() ? kNo : kYes;
}

}  // namespace

void add_launch(CLI::App& command, int& status) {
  LaunchArguments& o = add_arguments(command, status, launch);
  command.add_option("file", o.file, "a module of PTX, as nvcc -ptx makes it")->required();
  command.add_option("--entry", o.entry, "the kernel; may be left out if the module has one");
  command.add_option("--target", o.target, "the target; that of the module unless given");
  command.add_option("--grid", o.grid, "blocks: X, X,Y or X,Y,Z")->capture_default_str();
  command.add_option("--block", o.block, "threads of a block, the same")->capture_default_str();
  command.add_option("--shared", o.how.shared_bytes, "dynamic shared memory of a block, in bytes");
  command
      .add_option("--arg", o.arguments,
                  "an argument, one for each parameter: null; an array IN.npy, or IN.npy:OUT.npy, which is "
                  "written after a launch without a fault; zeros:TYPE:SHAPE[:OUT.npy] (zeros:f32:64x64); a "
                  "number TYPE:NUMBER (i32:-5, f32:0.5, u64:0xff); bytes:HEX for a structure")
      ->type_name("ARGUMENT")
      ->allow_extra_args(false);
  command.add_flag("--no-contract", o.separate, "fuse no products and sums, as ptxas --fmad=false");
  command.add_flag("--no-check-shared", o.unchecked,
                   "look for no races and no bytes never written in shared memory");
  command.add_option("--step-limit", o.how.step_limit, "the most steps of a block; any number unless given");
  command
      .add_option("--threads", o.how.execute.threads, "threads of this machine; those of OpenMP unless given")
      ->check(CLI::NonNegativeNumber);
  add_undefined(command, o.how.execute.undefined);
  command.add_flag(
      "--profile", o.watch.profile,
      "count executions, active lanes, sectors of global memory and bank conflicts, by family of opcodes "
      "and by line");
  command
      .add_option(
          "--trace", o.watch.trace,
          "show each statement that a warp executes and the registers that it writes: WARP of the first "
          "block, or X,Y,Z:WARP of another")
      ->type_name("WARP");
  command
      .add_option(
          "--break", o.watch.break_at,
          "end the launch at the first execution of a line by that warp (0 unless traced), and show by lane "
          "what it reads and writes: LINE of the PTX, or FILE:LINE of the source; exit status 1 if it is "
          "never executed")
      ->type_name("LINE");
  command.add_flag("--json", o.json, "the answer as JSON");
  command.footer(examples(
      {"printf '%s\\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry f(.param .u64 x) { ret; }' >f.ptx && "
       "warpbit launch f.ptx --grid 4,4 --block 128 --arg zeros:f32:4096:x.npy",
       "warpbit launch f.ptx --arg null --profile", "warpbit launch f.ptx --arg null --trace 0 --json"}));
}

}  // namespace warpbit::cli
