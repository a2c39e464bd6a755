// SPDX-License-Identifier: Apache-2.0
// Surfaces, places and values that a generator makes, accessed by suld, sust and sured: digests of what a GPU returned, or left there.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

#include "capture/text.hpp"
#include "ptx/evidence.hpp"
#include "recording/fields.hpp"
#include "verify/cases/surface.hpp"
#include "verify/kinds.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::verification {
namespace {

using recording::Fields;

struct RecordedSurface {
  std::string target, digest;
  surface_cases::Form form;
  surface_cases::Drawn drawn;

  std::uint64_t elements() const {
    if (form.loads) return form.places() * form.vector;
    return form.places() / surface_cases::kRound * drawn.texels.size() /
           static_cast<std::uint64_t>(ptx::texel_bytes(drawn.surface.format));
  }
};

RecordedSurface read_surface(const Fields& fields) {
  const std::string name = fields.text("form"), text = fields.text("surface");
  auto form = surface_cases::form(name);
  if (!form) fields.refuse("form", capture::quoted(name), "a form of suld, sust or sured");
  auto drawn = surface_cases::drawn(*form, text);
  if (!drawn)
    fields.refuse(
        "surface", capture::quoted(text),
        fmt::format("a surface of shape {} as in 'a2d u8 2 10x6 3', of at most 2^20 texels", form->shape));
  RecordedSurface out{fields.text_or_empty("target"), fields.text("digest"), *std::move(form),
                      *std::move(drawn)};
  if (const std::uint64_t elements = fields.number("elements"); elements != out.elements())
    fields.refuse("elements", fmt::format("{}", elements), fmt::format("{}", out.elements()));
  return out;
}

/// What the launches of a record leave, mixed.
class Digest {
 public:
  void add(std::span<const std::byte> bytes, std::size_t size) {
    for (std::size_t i = 0; i < bytes.size(); i += size) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, size);
      sum_ += inputs::mix(position_++, word);
    }
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0, position_ = 0;
};

std::vector<std::uint32_t> places_of(const RecordedSurface& from) {
  std::vector<std::uint32_t> out;
  for (std::uint64_t i = 0; i < from.form.places(); ++i)
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(from.form.coordinates); ++j)
      out.push_back(coordinate(from.form, from.drawn, i, j));
  return out;
}

std::vector<std::uint64_t> values_of(const RecordedSurface& from) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < from.form.places(); ++i)
    for (std::uint64_t j = 0; j < from.form.vector; ++j) out.push_back(value(from.form, from.drawn, i, j));
  return out;
}

// Of a kernel for the places [first, last).
std::vector<ptx::Argument> arguments_of(std::uint64_t handle, std::vector<std::uint32_t>& places,
                                        ptx::Argument data, std::uint32_t first, std::uint32_t last) {
  std::vector<ptx::Argument> out = {ptx::value(handle), ptx::buffer(places), std::move(data)};
  for (const std::uint32_t number : {first, last}) out.push_back(ptx::value(number));
  return out;
}

Result<std::uint64_t> digest_of_loads(const RecordedSurface& from, const ptx::Function& kernel,
                                      std::uint64_t handle) {
  const auto size = static_cast<std::size_t>(from.form.register_bits() / 8);
  std::vector<std::byte> out(from.elements() * size);
  std::vector<std::uint32_t> places = places_of(from);
  const auto last = static_cast<std::uint32_t>(from.form.places());
  const ptx::Report report = kernel.launch({.grid = {last / 256}, .block = {256}},
                                           arguments_of(handle, places, ptx::buffer(out), 0, last));
  if (report.fault) return report.fault->error;
  Digest digest;
  digest.add(out, size);
  return digest.sum();
}

Result<std::uint64_t> digest_of_stores(const RecordedSurface& from, const ptx::Function& kernel,
                                       std::uint64_t handle) {
  std::vector<std::uint32_t> places = places_of(from);
  std::vector<std::uint64_t> values = values_of(from);
  Digest digest;
  constexpr auto kRound = static_cast<std::uint32_t>(surface_cases::kRound);
  for (std::uint32_t first = 0; first < from.form.places(); first += kRound) {
    const ptx::Report report =
        kernel.launch({}, arguments_of(handle, places, ptx::buffer(values), first, first + kRound));
    if (report.fault) return report.fault->error;
    digest.add(from.drawn.texels, static_cast<std::size_t>(ptx::texel_bytes(from.drawn.surface.format)));
  }
  return digest.sum();
}

Result<std::uint64_t> digest_of(const RecordedSurface& from, Target target) {
  const Result<ptx::Module> module = ptx::Module::load(surface_cases::kernel(from.form), target);
  if (!module) return module.error();
  const Result<ptx::Function> kernel = module->function("k");
  if (!kernel) return kernel.error();
  const Result<std::uint64_t> handle = ptx::surface(from.drawn.surface);
  if (!handle) return handle.error();
  const Result<std::uint64_t> out =
      from.form.loads ? digest_of_loads(from, *kernel, *handle) : digest_of_stores(from, *kernel, *handle);
  ptx::forget(*handle);
  return out;
}

}  // namespace

Result<FileStatus> verify_surface_digests(const Subject& subject, FileReport& report) {
  const auto recorded = recording::reading([&] {
    const Fields fields = recording::fields_of(subject.record);
    report.header.statement = fields.text("form");
    return read_surface(fields);
  });
  if (!recorded) return recorded.error();
  const Result<Target> target = subject.target(recorded->target);
  if (!target) return target.error();
  report.target = target->name();
  const std::vector<std::string_view> words = words_between(recorded->form.name, ".");
  const std::span<const std::string_view> qualifiers = std::span(words).subspan(1);
  const Result<std::uint64_t> digest = digest_of(*recorded, *target);
  if (!digest) return digest.error();
  report.inferred = ptx::evidence(ptx::kind_of(words[0], qualifiers), words[0], qualifiers, *target).rests ==
                    ptx::Rests::inferred;
  report.cases = recorded->form.places(), report.elements = recorded->elements();
  const std::string got = fmt::format("{:016x}", *digest);
  if (got == recorded->digest) return FileStatus::replayed;
  ++report.mismatches;
  report.notes.push_back(fmt::format("expected digest 0x{}, got 0x{}", recorded->digest, got));
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
