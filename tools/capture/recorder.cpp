// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <algorithm>
#include <filesystem>

#include "arrays.hpp"
#include "blocks.hpp"
#include "npz.hpp"

namespace capture {
namespace {

using warpbit::inputs::kBlockCases;

constexpr std::uint64_t kSmallCapture = std::uint64_t{64} << 10, kMostCases = 1024;
constexpr std::uint64_t kDigestedAtOnce = std::uint64_t{1} << 30;  // bytes of all members
constexpr std::size_t kMostDigests = 4096;

}  // namespace

std::string Recorder::path(const Kernel& kernel, const std::string& suffix) const {
  const auto profile = options_.profile == warpbit::inputs::Profile::mixed
                           ? ""
                           : "." + std::string(warpbit::inputs::name(options_.profile));
  const std::filesystem::path out =
      std::filesystem::path(options_.out) / origin_.target / (kernel.file + profile + suffix + ".npz");
  std::filesystem::create_directories(out.parent_path());
  return out.string();
}

std::string Recorder::provenance(std::uint64_t first_case) const {
  return "{" + about(origin_.by) +
         ", \"program\": \"tools/capture\", \"seed\": " + std::to_string(options_.seed) +
         ", \"profile\": " + json_text(std::string(warpbit::inputs::name(options_.profile))) +
         ", \"first_case\": " + std::to_string(first_case) + "}";
}

std::string Recorder::record(const Kernel& kernel, Function function) {
  return options_.elements || options_.exhaustive ? write_digests(kernel, function)
                                                  : write_capture(kernel, function);
}

std::string Recorder::write_capture(const Kernel& kernel, Function function) {
  const std::uint64_t fitting = std::clamp<std::uint64_t>(kSmallCapture / kernel.bytes(), 1, kMostCases);
  const Stream stream{warpbit::inputs::key_of(kernel.form.c_str(), options_.seed), options_.profile,
                      options_.first_case.value_or(0), options_.cases.value_or(fitting)};
  Arrays arrays(device_, kernel, stream.cases);
  arrays.fill(generator_, stream);
  const std::size_t last = kernel.members.size() - 1;
  arrays.run(function, stream.cases, 0x00);
  const std::vector<unsigned char> once = arrays.read(last, stream.cases);
  arrays.run(function, stream.cases, 0xFF);
  if (once != arrays.read(last, stream.cases)) not_the_same();

  const std::string name = path(kernel, options_.first_case ? ".case" + std::to_string(stream.first) : "");
  npz::Writer file(name);
  describe(file, kernel.statement, origin_.target, kernel.lanes == 1 ? "scalars" : "registers",
           provenance(stream.first));
  for (std::size_t i = 0; i <= last; ++i) {
    const KernelMember& member = kernel.members[i];
    std::vector<std::uint64_t> shape = {stream.cases};
    shape.insert(shape.end(), member.extents.begin(), member.extents.end());
    file.array(member.name, member.item_bytes, shape, arrays.read(i, stream.cases).data());
  }
  file.close();
  return name + ": " + std::to_string(stream.cases) + " cases";
}

std::string Recorder::write_digests(const Kernel& kernel, Function function) {
  const std::uint64_t per_case = kernel.result().registers();
  const std::uint64_t count =
      options_.exhaustive ? kernel.all_inputs() : (*options_.elements + per_case - 1) / per_case;
  // Whole blocks, within what a grid can have.
  const std::uint64_t bytes = std::min<std::uint64_t>(device_.free_bytes() / 2, kDigestedAtOnce);
  const std::uint64_t most = std::min<std::uint64_t>(bytes / kernel.bytes(), 0x7FFFFFFF / kernel.lanes);
  const std::uint64_t chunk = std::min(std::max<std::uint64_t>(most / kBlockCases, 1) * kBlockCases, count);
  Arrays arrays(device_, kernel, chunk);
  std::vector<std::uint64_t> digests;
  for (std::uint64_t first = 0; first < count; first += chunk) {
    const Stream stream{warpbit::inputs::key_of(kernel.form.c_str(), options_.seed), options_.profile, first,
                        std::min(chunk, count - first)};
    arrays.fill(generator_, stream);
    arrays.run(function, stream.cases, 0x00);
    const std::vector<std::uint64_t> once = generator_.digests(kernel.result(), stream, arrays.result());
    arrays.run(function, stream.cases, 0xFF);
    if (once != generator_.digests(kernel.result(), stream, arrays.result())) not_the_same();
    digests.insert(digests.end(), once.begin(), once.end());
  }
  const std::uint64_t of_block = join_blocks(digests, kBlockCases, kMostDigests);
  const std::string name = path(kernel, ".digests");
  npz::Writer file(name);
  describe(file, kernel.statement, origin_.target, "digests", provenance(0));
  file.array("seed", 8, {}, &options_.seed);
  file.text("profile", warpbit::inputs::name(options_.profile));
  file.array("count", 8, {}, &count);
  file.array("block", 8, {}, &of_block);
  file.array("digest", 8, {digests.size()}, digests.data());
  file.close();
  return name + ": " + std::to_string(count) + " cases, " + std::to_string(count * per_case) + " registers";
}

}  // namespace capture
