// SPDX-License-Identifier: Apache-2.0
// images_test FILE ENTRY: what tools/record reads of an image of nvcc: architectures, and the PTX that has the entry.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "../../tools/record/images.hpp"

using namespace warpbit::record;

int main(int count, char** words) {
  if (count != 3) return 2;
  std::ifstream in(words[1], std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const Image image = read_image(bytes.data(), bytes.size());
  for (const MachineProgram& program : image.programs)
    std::printf("machine %u%s\n", program.architecture, program.is_specific ? "a" : "");
  for (const PackedPtx& ptx : image.ptx) {
    const std::optional<std::string> text = text_of(ptx);
    std::printf("ptx %u%s %s", ptx.architecture, ptx.is_specific ? "a" : "",
                !text                        ? "unreadable"
                : has_entry(*text, words[2]) ? "entry"
                                             : "other");
    if (text)
      for (const std::string& name : variables_of(*text)) std::printf(" %s", name.c_str());
    std::puts("");
  }
}
