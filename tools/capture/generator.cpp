// SPDX-License-Identifier: Apache-2.0
#include "generator.hpp"

#include <algorithm>
#include <cstring>  // memcpy

namespace capture {
namespace {

using namespace warpbit::inputs;

constexpr std::uint32_t kThreads = 256;

// Registers of a lane, those of all fills.
int registers_of_lane(const KernelMember& member, const Member& fill) {
  return static_cast<int>(8 * member.bytes()) / fill.register_bits / fill.lanes;
}

// One fill of a case, whose bytes begin at `to`.
void fill_case(const Member& m, int per_lane, const Stream& stream, std::uint64_t index, unsigned char* to) {
  const auto bytes = static_cast<std::size_t>(m.register_bits / 8);
  const Setting setting = setting_of(m, stream.key, stream.profile, index);
  for (std::int32_t lane = 0; lane < m.lanes; ++lane)
    for (std::int32_t reg = m.first; reg < m.first + m.registers; ++reg) {
      const std::uint64_t value = word(m, setting, stream.key, index, lane, reg);
      std::memcpy(to + static_cast<std::size_t>(lane * per_lane + reg) * bytes, &value,
                  bytes);  // little-endian
    }
}

// The array of a member.
std::vector<unsigned char> filled(const KernelMember& member, const Stream& stream, std::uint64_t cases) {
  std::vector<unsigned char> out(member.bytes() * cases);
  for (std::uint64_t i = 0; i < cases; ++i)
    for (const Member& fill : member.fills)
      fill_case(fill, registers_of_lane(member, fill), stream, stream.first + i,
                out.data() + i * member.bytes());
  return out;
}

}  // namespace

Generator::Generator(const Device& device, const std::string& ptx) : device_(device) {
  if (ptx.empty()) return;
  module_.emplace(device_, ptx);
  fill_ = module_->function("fill");
  digest_ = module_->function("digest");
}

void Generator::fill(const KernelMember& member, const Stream& stream, DevicePointer to) {
  const std::vector<unsigned char> here = filled(member, stream, on_device() ? 1 : stream.cases);
  if (!on_device()) return device_.copy_in(to, here.data(), here.size());
  Stream values = stream;
  for (Member fill : member.fills) {
    int registers = registers_of_lane(member, fill);
    const std::uint64_t all = stream.cases * static_cast<std::uint64_t>(fill.lanes * fill.registers);
    device_.launch(fill_, {std::min<std::uint64_t>((all + kThreads - 1) / kThreads, 1 << 20), kThreads},
                   {&fill, &values.key, &values.profile, &values.first, &values.cases, &registers, &to});
  }
  std::vector<unsigned char> there(here.size());
  device_.copy_out(there.data(), to, there.size());
  if (here != there) throw Failure("inputs '" + member.name + "' made by the GPU are not those made here");
}

std::vector<std::uint64_t> Generator::digests(const KernelMember& result, const Stream& stream,
                                              DevicePointer from) {
  if (!on_device()) return digests_here(result, stream, from);
  const std::vector<std::uint64_t> out = digests_on_device(result, stream, from);
  Stream block = stream;
  block.cases = std::min(block.cases, kBlockCases);
  if (!digest_compared_ && digests_here(result, block, from)[0] != out[0])
    throw Failure("a digest made by the GPU is not the one made here");
  digest_compared_ = true;
  return out;
}

std::vector<std::uint64_t> Generator::digests_on_device(const KernelMember& result, const Stream& stream,
                                                        DevicePointer from) {
  std::vector<std::uint64_t> out((stream.cases + kBlockCases - 1) / kBlockCases);
  const Buffer sums(device_, out.size() * sizeof(out[0]));
  device_.set(sums.pointer(), 0, sums.bytes());
  std::uint64_t first = stream.first, cases = stream.cases;
  int registers = static_cast<int>(result.registers()), bits = result.register_bits;
  DevicePointer to = sums.pointer();
  constexpr std::uint32_t kRows = 64;
  device_.launch(digest_, {out.size(), kThreads, kRows}, {&from, &first, &cases, &registers, &bits, &to});
  device_.copy_out(out.data(), to, sums.bytes());
  return out;
}

std::vector<std::uint64_t> Generator::digests_here(const KernelMember& result, const Stream& stream,
                                                   DevicePointer from) {
  std::vector<unsigned char> data(result.bytes() * stream.cases);
  device_.copy_out(data.data(), from, data.size());
  const std::uint64_t per_case = result.registers(), bytes = result.bytes() / per_case;
  std::vector<std::uint64_t> out((stream.cases + kBlockCases - 1) / kBlockCases);
  for (std::uint64_t i = 0; i < per_case * stream.cases; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, data.data() + i * bytes, bytes);
    out[i / per_case / kBlockCases] += mix(stream.first * per_case + i, value);
  }
  return out;
}

}  // namespace capture
