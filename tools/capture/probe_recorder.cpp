// SPDX-License-Identifier: Apache-2.0
// Probes: one execution for each, in which the element in row 0 and column 0 of D is that of the probe.
#include <algorithm>

#include "arrays.hpp"
#include "recorder.hpp"

namespace capture {
namespace {

using Bytes = std::vector<unsigned char>;

// Bits [at, at + bits) of an array, the lowest first.
void set_bits(Bytes& bytes, std::uint64_t at, int bits, std::uint64_t value) {
  for (int i = 0; i < bits; ++i)
    if (value >> i & 1)
      bytes[(at + static_cast<unsigned>(i)) / 8] |=
          static_cast<unsigned char>(1 << (at + static_cast<unsigned>(i)) % 8);
}
std::uint64_t get_bits(const Bytes& bytes, std::uint64_t at, int bits) {
  std::uint64_t out = 0;
  for (int i = 0; i < bits; ++i)
    out |= std::uint64_t{bytes[(at + static_cast<unsigned>(i)) / 8] >> (at + static_cast<unsigned>(i)) % 8 & 1U}
           << i;
  return out;
}

// A member for all probes.
Bytes member_of(const Kernel& kernel, const KernelMember& member, const ProbeSet& set) {
  Bytes out(member.bytes() * set.probes.size());
  const int item_bits = 8 * member.item_bytes;
  for (const Constant& constant : kernel.constants)
    for (std::uint64_t at = 0; constant.member == member.name && at < 8 * out.size();
         at += static_cast<unsigned>(item_bits))
      set_bits(out, at, item_bits, constant.value);
  for (std::size_t i = 0; i < set.probes.size(); ++i)
    for (const Places& places : kernel.places)
      for (const Probe::Code& code : set.probes[i].codes)
        if (places.member == member.name && places.array == code.array)
          set_bits(out, 8 * member.bytes() * i + places.at[code.index], places.bits, code.value);
  return out;
}

// An array of the capture: the codes of all probes.
void write_array(npz::Writer& file, const Places& places, const ProbeSet& set, const Bytes& values) {
  std::vector<std::uint64_t> shape = {set.probes.size()};
  if (places.is_vector) shape.push_back(places.at.size());
  file.array(places.array, places.item_bytes(), shape, values.data());
}

Bytes inputs_of(const Places& places, const ProbeSet& set) {
  const auto bits = static_cast<std::uint64_t>(8 * places.item_bytes());
  Bytes out(set.probes.size() * places.at.size() * bits / 8);
  for (std::size_t i = 0; i < set.probes.size(); ++i)
    for (const Probe::Code& code : set.probes[i].codes)
      if (code.array == places.array)
        set_bits(out, (i * places.at.size() + code.index) * bits, static_cast<int>(bits), code.value);
  return out;
}

Bytes results_of(const Places& places, std::uint64_t case_bytes, const ProbeSet& set, const Bytes& result) {
  const auto bits = static_cast<std::uint64_t>(8 * places.item_bytes());
  Bytes out(set.probes.size() * bits / 8);
  for (std::size_t i = 0; i < set.probes.size(); ++i)
    set_bits(out, i * bits, static_cast<int>(bits),
             get_bits(result, 8 * case_bytes * i + places.at[0], places.bits));
  return out;
}

}  // namespace

std::string Recorder::record_probes(const Kernel& kernel, const ProbeSet& set, Function function) {
  const std::uint64_t cases = set.probes.size();
  const std::size_t last = kernel.members.size() - 1;
  Arrays arrays(device_, kernel, cases);
  for (std::size_t i = 0; i < last; ++i) arrays.write(i, member_of(kernel, kernel.members[i], set));
  arrays.run(function, cases, 0x00);
  const Bytes result = arrays.read(last, cases);
  arrays.run(function, cases, 0xFF);
  if (result != arrays.read(last, cases)) not_the_same();

  const std::string name = path(kernel, ".probes");
  npz::Writer file(name);
  describe(file, kernel.statement, origin_.target, "elements",
           "{" + about(origin_.by) + ", \"program\": \"tools/capture --probes\"}");
  std::vector<std::string> written;
  for (const Places& places : kernel.places) {
    if (std::find(written.begin(), written.end(), places.array) != written.end()) continue;  // a copy
    written.push_back(places.array);
    write_array(file, places, set,
                places.array == "d" ? results_of(places, kernel.result().bytes(), set, result)
                                    : inputs_of(places, set));
  }
  std::vector<std::string> names;
  for (const Probe& probe : set.probes) names.push_back(probe.name);
  file.texts("names", names);
  file.close();
  return name + ": " + std::to_string(cases) + " probes";
}

}  // namespace capture
