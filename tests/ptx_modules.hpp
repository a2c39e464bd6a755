// SPDX-License-Identifier: Apache-2.0
// The modules of tests/isa/modules.txt.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "text_file.hpp"

namespace ptx_modules {

using text_file::text_of;
namespace fs = std::filesystem;

struct Module {
  std::string name, sentence, text;
};

inline std::vector<Module> modules() {
  std::vector<Module> out;
  std::istringstream in(text_of("tests/isa/modules.txt"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("= ")) {
      const std::size_t bar = line.find(" | ");
      REQUIRE(bar != line.npos);
      out.push_back({line.substr(2, bar - 2), line.substr(bar + 3), ""});
    } else {
      out.back().text += line + '\n';
    }
  }
  for (Module& module : out) {
    if (!module.text.empty()) module.text.pop_back();
    if (module.text.find(".version") == module.text.npos)
      module.text.insert(0, ".version 9.0 .target sm_90a .address_size 64\n");
  }
  return out;
}

}  // namespace ptx_modules
