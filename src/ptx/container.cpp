// SPDX-License-Identifier: Apache-2.0
#include "ptx/container.hpp"

#include <algorithm>
#include <string>

namespace warpbit::ptx {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kCompile = "nvcc -ptx -arch=sm_90a -lineinfo makes it of the source";
constexpr std::string_view kExtract = "cuobjdump -ptx shows it, if it is there";

struct Container {
  std::string_view begin, what, remedy;
};
constexpr Container kContainers[] = {
    {"\x7F"
     "ELF"sv,
     "a cubin or another ELF file, which is compiled", kExtract},
    {"\x50\xED\x55\xBA"sv, "a fatbin, which is compiled", kExtract},
    {"PK\x03\x04"sv, "a zip archive", "its content"},
    {"\x1F\x8B"sv, "a file of gzip", "its content: gunzip"},
    {"\x28\xB5\x2F\xFD"sv, "a file of zstd", "its content: unzstd"},
    {"!<arch>\n"sv, "a library of object files", kExtract},
    {"BC\xC0\xDE"sv, "bitcode of LLVM", "what llc -march=nvptx64 makes of it"},
    {"; ModuleID"sv, "text of LLVM", "what llc -march=nvptx64 makes of it"},
    {"\xEF\xBB\xBF"sv, "a mark of UTF-8", "the text behind it"},
    {"\xFF\xFE"sv, "text of UTF-16", "ASCII"},
    {"Fatbin elf code"sv, "a listing of cuobjdump",
     "a module of it, which begins with .version: cuobjdump -xptx all writes them"},
    {"Fatbin ptx code"sv, "a listing of cuobjdump",
     "a module of it, which begins with .version: cuobjdump -xptx all writes them"},
};

// Words of CUDA C++ that no PTX has outside of comments and strings.
constexpr std::string_view kSource[] = {"#include",   "__global__", "__device__",
                                        "__shared__", "#pragma",    "#define"};

// A line of it without what stands behind "//".
bool is_source(std::string_view content) {
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end), code = line.substr(0, line.find("//"));
    content.remove_prefix(std::min(end + 1, content.size()));
    if (code.find(".version") != code.npos) return false;
    if (std::ranges::any_of(kSource, [&](std::string_view word) { return code.find(word) != code.npos; }))
      return true;
  }
  return false;
}

}  // namespace

std::optional<Error> not_ptx(std::string_view content) {
  const auto error = [](std::string_view what, std::string_view remedy) {
    return Error{Errc::statement_syntax, "line 1, column 1", std::string(what), "PTX: " + std::string(remedy)};
  };
  for (const Container& one : kContainers)
    if (content.starts_with(one.begin)) return error(one.what, one.remedy);
  if (is_source(content)) return error("CUDA C++", kCompile);
  return {};
}

}  // namespace warpbit::ptx
