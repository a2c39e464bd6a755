// SPDX-License-Identifier: Apache-2.0
// Asks ptxas about the modules of tests/isa/modules.txt. Where it is missing the program says so and exits with 77.
#include <fmt/format.h>

#include <unistd.h>  // getpid

#include <cstdlib>  // std::exit, std::system

#include "../tools/capture/ptxas.hpp"
#include "assembler.hpp"
#include "ptx_modules.hpp"

namespace ptxas_modules_test {

namespace fs = std::filesystem;

// After ".target".
std::string target_of(const std::string& text) {
  const std::size_t at = text.find("sm_");
  return at == text.npos ? "sm_90a" : text.substr(at, text.find_first_not_of("sm_0123456789af", at) - at);
}

TEST_CASE("ptxas accepts and refuses the modules that the library does", "[toolkit]") {
  const std::vector<ptx_modules::Module> modules = ptx_modules::modules();
  const std::string path = capture::find_ptxas();
  if (path.empty() || !Assembler(path).reads_tables_version()) {
    fmt::print("not run: {} modules need ptxas\n", modules.size());
    std::exit(77);
  }
  const fs::path folder = fs::temp_directory_path() / fmt::format("ptxas_modules_{}", getpid());
  fs::create_directory(folder);
  for (const ptx_modules::Module& module : modules) {
    std::ofstream(folder / "t.ptx") << module.text;
    const std::string command =
        fmt::format("'{}' -c -arch {} '{}/t.ptx' -o '{}/t.cubin' >'{}/said' 2>&1", path, target_of(module.text),
                    folder.string(), folder.string(), folder.string());
    const bool accepted = std::system(command.c_str()) == 0;
    INFO(module.name << ": " << ptx_modules::text_of(folder / "said"));
    CHECK(accepted == (module.sentence == "-"));
  }
  fs::remove_all(folder);
}

}  // namespace ptxas_modules_test
