// SPDX-License-Identifier: Apache-2.0
// tools/capture beside the CUDA toolkit: kernels assemble, the example compiles. Also what ptxas makes of
// wmma.load. Where the toolkit is missing the program says so and exits with 77.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>  // std::memcpy
#include <map>
#include <regex>
#include <set>

#include "../tools/capture/assembler.hpp"
#include "../tools/capture/driver.hpp"
#include "../tools/capture/ptxas.hpp"
#include "capture_program.hpp"
#include "isa_table.hpp"
#include "warp.hpp"
#include "warpbit/replay.hpp"

namespace capture_toolkit_test {

using namespace warpbit;
using archive::Directory;
using Catch::Contains;
namespace fs = std::filesystem;

// ptxas for a target.
capture::Assembler assembler(const std::string& target) {
  try {
    return {capture::find_ptxas(), target};
  } catch (const capture::Failure& failure) {
    tool::not_run(failure.what());
  }
}

// ---- Kernels

// All kernels for a target.
const std::string& kernels_for(const std::string& target) {
  static std::map<std::string, std::string> known;
  const auto [at, is_new] = known.try_emplace(target);
  if (is_new) at->second = capture_program::kernels(target, "");
  return at->second;
}

// The forms that ptxas has refused, by what the program says: a statement, and behind it ptxas.
std::set<std::string> refused_forms(const std::string& said) {
  static const std::regex kRefused("([a-z][^ \n]*) [^\n]*;\n +ptxas");
  std::set<std::string> out;
  for (std::sregex_iterator at(said.begin(), said.end(), kRefused), end; at != end; ++at) out.insert((*at)[1]);
  return out;
}

// The first kernels of the forms that an expression is found in. What later PTX has, this ptxas may refuse.
void check_kernels(const std::string& target, std::size_t least, const std::string& forms = "") {
  assembler(target);
  const Directory directory;
  const std::string file = tool::write(directory.path / "kernels", kernels_for(target));
  const std::string program = tool::shell_word(tool::named("WARPBIT_CAPTURE"));
  const tool::Output said = tool::shell(program + " --first --dry-run --forms " + tool::shell_word(forms) +
                                        " --kernels " + tool::shell_word(file));
  INFO(said.out << said.err);
  std::set<std::string> refused = refused_forms(said.out + said.err);
  CHECK(said.status == (refused.empty() ? 0 : 1));
  std::smatch total;
  REQUIRE(std::regex_search(said.out, total,
                            std::regex("total: (\\d+) kernels for " + target + ", (\\d+) refused by ptxas")));
  CHECK(std::stoul(total[1]) >= least);
  CHECK(std::stoul(total[2]) == refused.size());
  for (const isa_table::Row& row : isa_table::later()) refused.erase(row.at("instruction"));
  CHECK(refused == std::set<std::string>());
}

// As many kernels as there were forms when this was written.
TEST_CASE("the first statement of every form for sm_80 assembles", "[.][sm_80]") {
  check_kernels("sm_80", 1083);
}
// Of wgmma with a few N: with the others it has more registers or fewer, and code for all takes long.
TEST_CASE("the first statement of every form for sm_90a assembles", "[.][sm_90a]") {
  check_kernels("sm_90a", 1431, "^(?!wgmma)|m64n(8|64|256)k");
}

// What this ptxas may not have: a statement of a kernel stands behind two blanks.
bool is_later(const std::string& kernel) {
  static const std::set<std::string, std::less<>> later = [] {
    std::set<std::string, std::less<>> out;
    for (const isa_table::Row& row : isa_table::later()) out.insert(row.at("instruction"));
    return out;
  }();
  for (std::size_t at = 0; (at = kernel.find("\n  ", at)) != kernel.npos; ++at)
    if (later.contains(std::string_view(kernel).substr(at + 3, kernel.find(' ', at + 3) - at - 3))) return true;
  return false;
}

// The kernels of a file as modules of some each, which have an entry "captureI" for each; not those of later PTX.
std::vector<std::string> modules_of(const std::string& kernels) {
  constexpr std::size_t kTogether = 256;
  const std::string entry = ".visible .entry capture", end = "\n}\n";
  std::vector<std::string> out;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = kernels.find("\nptx ", at)) != kernels.npos;) {
    const std::size_t first = kernels.find(".version", at), body = kernels.find(entry, at) + entry.size();
    at = kernels.find(end, body);
    REQUIRE(at != kernels.npos);
    const std::string kernel = kernels.substr(body, at + end.size() - body);
    at += end.size() - 1;
    if (is_later(kernel)) continue;
    if (count % kTogether == 0) out.push_back(kernels.substr(first, body - entry.size() - first));
    out.back() += entry + std::to_string(count) + kernel;
    ++count;
  }
  fmt::print("{} kernels in {} modules\n", count, out.size());
  CHECK(count >= 7301);
  return out;
}

TEST_CASE("all statements of all forms for sm_90a are right PTX", "[.][sm_90a]") {
  const capture::Assembler checker = assembler("compute_90a");
  for (const std::string& module : modules_of(kernels_for("sm_90a"))) {
    const capture::Code checked = checker.assemble(module);
    INFO(checked.refusal);
    CHECK(checked.ok());
  }
}
TEST_CASE("the first statement of every form for sm_100a assembles", "[.][sm_100a]") {
  check_kernels("sm_100a", 1287);
}
TEST_CASE("the first statement of every form for sm_120a assembles", "[.][sm_120a]") {
  check_kernels("sm_120a", 1469);
}

TEST_CASE("a dry run names what ptxas refuses", "[.][refused]") {
  assembler("sm_90a");
  const Directory directory;
  std::string kernels =
      capture_program::kernels("sm_90a", "^(movmatrix|ldmatrix.*x1.shared.b16|mma.sync.*m16n8k8.*f32.tf32)");
  const std::size_t at = kernels.find("\n  movmatrix.");
  REQUIRE(at != kernels.npos);
  kernels.replace(at + 3, 9, "nomatrix.");
  const std::string file = tool::write(directory.path / "kernels", kernels);
  const tool::Output said = tool::shell(tool::shell_word(tool::named("WARPBIT_CAPTURE")) +
                                        " --dry-run --kernels " + tool::shell_word(file));
  INFO(said.out << said.err);
  CHECK(said.status == 1);
  CHECK_THAT(said.out, Catch::StartsWith("movmatrix.sync.aligned.m8n8.trans.b16 d, a;\n  ptxas ") &&
                           Contains("total: 3 kernels for sm_90a, 1 refused by ptxas V"));
}

// ---- wmma.load and LDSM

// How often each entry "k0", "k1", ... of a cubin has the machine's ldmatrix, whose opcode 0x83B is in the low
// 12 bits of the 16 bytes of an instruction.
std::vector<std::size_t> count_ldsm(const std::string& cubin, std::size_t entries) {
  const auto at = [&](auto& value, std::size_t offset) {
    REQUIRE(offset + sizeof value <= cubin.size());
    std::memcpy(&value, cubin.data() + offset, sizeof value);
  };
  std::vector<std::size_t> out(entries);
  Elf64_Ehdr head;
  at(head, 0);
  const auto section = [&](std::size_t i) {
    Elf64_Shdr value;
    at(value, head.e_shoff + i * head.e_shentsize);
    return value;
  };
  std::size_t seen = 0;
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr code = section(i);
    const std::string name = cubin.data() + section(head.e_shstrndx).sh_offset + code.sh_name;
    if (!name.starts_with(".text.k")) continue;
    ++seen;
    for (std::size_t word = 0; word < code.sh_size; word += 16) {
      std::uint16_t low = 0;
      at(low, code.sh_offset + word);
      out[std::stoul(name.substr(7))] += (low & 0xFFF) == 0x83B;
    }
  }
  REQUIRE(seen == entries);
  return out;
}

// Loads from where its parameter says, and stores the registers.
std::string load_kernel(std::size_t number, const std::string& form, const Operand& fragment) {
  const std::string type = warp::has(form, "f32") ? "f32" : warp::has(form, "f64") ? "f64" : "b32";
  std::string list, stores;
  for (int i = 0; i < fragment.registers; ++i) {
    const std::string reg = "%r" + std::to_string(i);
    list += (i ? ", " : "") + reg;
    stores +=
        "st.global." + type + " [%to+" + std::to_string(i * fragment.register_bits / 8) + "], " + reg + ";\n";
  }
  return ".visible .entry k" + std::to_string(number) +
         "(.param .u64 to, .param .u64 from)\n{\n.reg .u64 %to, %from;\n" + ".reg ." + type + " %r<" +
         std::to_string(fragment.registers) + ">;\nld.param.u64 %to, [to];\nld.param.u64 %from, [from];\n" +
         form + " {" + list + "}, [%from];\n" + stores + "ret;\n}\n";
}

// From the least address that the manual allows, and the library?
bool loads_from_multiple_of_fragment(const std::string& form, const std::string& target, int bytes) {
  constexpr std::uint64_t kGlobal = 0x10'0000;
  warp::Warp w(form + " {r}, [p];", target, Memory(8192, 0x5000'0000));
  REQUIRE(w.memory.add_global(kGlobal, 8192).ok());
  const std::uint64_t base = warp::has(form, "global")                                     ? kGlobal
                             : warp::has(form, "shared") || warp::has(form, "shared::cta") ? 0
                                                                                           : 0x5000'0000;
  w.set_all(Part::address, base + static_cast<std::uint64_t>(bytes));
  const Result<Effects> effects = execute_warp(w.lanes, w.binding, w.registers, w.memory);
  if (!effects) CHECK(effects.error().code == Errc::address_misaligned);
  return effects.ok();
}

TEST_CASE("wmma.load needs 16 bytes of alignment where ptxas makes ldmatrix of it", "[.][ldsm]") {
  for (const std::string target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    const capture::Assembler ptxas = assembler(target);
    const std::vector<std::string> forms = warp::forms_of("wmma.load", target);
    REQUIRE(forms.size() == 352);
    std::string module = ".version 9.0\n.target " + target + "\n.address_size 64\n";
    std::vector<int> bytes;
    for (const std::string& form : forms) {
      const Operand fragment = warp::parse(form, target).operands()[0];
      bytes.push_back(fragment.registers * fragment.register_bits / 8);
      module += load_kernel(bytes.size() - 1, form, fragment);
    }
    const capture::Code code = ptxas.assemble(module);
    INFO(target << " " << code.refusal);
    REQUIRE(code.ok());
    const std::vector<std::size_t> ldsm = count_ldsm(code.cubin, forms.size());
    std::size_t stricter = 0;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const bool more_is_needed = ldsm[i] > 0 && bytes[i] < 16;
      stricter += more_is_needed;
      INFO(forms[i]);
      CHECK(loads_from_multiple_of_fragment(forms[i], target, bytes[i]) != more_is_needed);
    }
    CHECK(stricter == 36);
  }
}

// ---- capture.cuh

TEST_CASE("the example of capture.cuh compiles, and says so where there is no GPU", "[.][example]") {
  const std::string nvcc = tool::find_command({"nvcc", "/usr/local/cuda/bin/nvcc"}, "--version");
  if (nvcc.empty()) tool::not_run("needs nvcc");
  const Directory directory;
  const std::string program = (directory.path / "example").string();
  for (const char* target : {"sm_80", "sm_90a"}) {
    const tool::Output compiled = tool::shell(
        nvcc + " -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wshadow -arch=" + target + " -o " +
        program + " tools/capture/example.cu");
    INFO(target << "\n" << compiled.out << compiled.err);
    REQUIRE(compiled.status == 0);
  }
  const tool::Output ran = tool::shell(program + " " + directory.path.string());
  INFO(ran.err);
  if (ran.status == 2) {
    CHECK_THAT(ran.err, Catch::StartsWith("example: "));
    return;
  }
  REQUIRE(ran.status == 0);
  for (const FileReport& report : replay_all(find_captures(std::vector<fs::path>{directory.path}))) {
    CHECK(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
  }
}

}  // namespace capture_toolkit_test
