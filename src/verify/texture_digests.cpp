// SPDX-License-Identifier: Apache-2.0
// Textures and places that a generator makes, read by tex and tld4: digests of what a GPU returned.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "capture/text.hpp"
#include "ptx/evidence.hpp"
#include "ptx/forms.hpp"
#include "recording/fields.hpp"
#include "verify/cases/texture.hpp"
#include "verify/kinds.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::verification {
namespace {

using recording::Fields;

struct RecordedTexture {
  std::string target, form, digest;
  texture_cases::Drawn drawn;
};

RecordedTexture read_texture(const Fields& fields) {
  const std::string form = fields.text("form"), text = fields.text("texture");
  auto drawn = texture_cases::drawn(form, text);
  if (!drawn)
    fields.refuse("texture", capture::quoted(text),
                  "a texture as in 'a2d u8 2 10x6 3 clamp linear normalized floats', of at most 2^20 texels");
  if (const std::uint64_t elements = fields.number("elements"); elements != 4 * texture_cases::kPlaces)
    fields.refuse("elements", fmt::format("{}", elements), fmt::format("{}", 4 * texture_cases::kPlaces));
  return {fields.text_or_empty("target"), form, fields.text("digest"), *std::move(drawn)};
}

// Linear memory is what tex.1d reads by an integer.
bool reads(const ptx::Words& words, const ptx::Texture& texture) {
  const bool is_memory = texture.shape == ptx::TextureShape::memory;
  const std::string_view shape = is_memory ? "1d" : name(texture.shape);
  return std::ranges::find(words, shape) != words.end() && (!is_memory || words.back() == "s32");
}

// Of tld4 the component that it gathers; of tex -1.
int gathered(const ptx::Words& words) {
  if (words[0] != "tld4") return -1;
  return static_cast<int>(std::string_view("rgba").find(words[1]));
}

std::uint64_t digest_of_reads(const RecordedTexture& recorded, int component) {
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < texture_cases::kPlaces; ++i) {
    const texture::Place at = texture_cases::place(recorded.form, recorded.drawn, i);
    const texture::Texel got = component < 0 ? texture::read(recorded.drawn.texture, at)
                                             : texture::gather(recorded.drawn.texture, at, component);
    for (std::uint64_t channel = 0; channel < got.size(); ++channel)
      out += inputs::mix(4 * i + channel, got[channel]);
  }
  return out;
}

// Whether a form reads such a texture, and what its results rest on.
Result<ptx::Rests> rests_of(const RecordedTexture& recorded, Target target) {
  const ptx::Words words = words_between(recorded.form, ".");
  const std::span<const std::string_view> qualifiers = std::span(words).subspan(1);
  const auto forms = ptx::match_scalar(words[0], qualifiers, target);
  if (!forms) return forms.error();
  const auto is_measured = [](const auto& one) { return one.form->row->kind == ptx::Kind::textures; };
  if (std::ranges::none_of(*forms, is_measured) || !reads(words, recorded.drawn.texture))
    return Error{Errc::operand_kind, recorded.form, texture::describe(recorded.drawn.texture),
                 "a texture of the instruction's shape, which tex or tld4 reads"};
  return ptx::evidence(ptx::kind_of(words[0], qualifiers), words[0], qualifiers, target).rests;
}

}  // namespace

Result<FileStatus> verify_texture_digests(const Subject& subject, FileReport& report) {
  const auto recorded = recording::reading([&] {
    const Fields fields = recording::fields_of(subject.record);
    report.header.statement = fields.text("form");
    return read_texture(fields);
  });
  if (!recorded) return recorded.error();
  const Result<Target> target = subject.target(recorded->target);
  if (!target) return target.error();
  report.target = target->name();
  const Result<ptx::Rests> rests = rests_of(*recorded, *target);
  if (!rests) return rests.error();
  report.inferred = *rests == ptx::Rests::inferred;
  const Result<std::uint64_t> handle = ptx::texture(recorded->drawn.texture);
  if (!handle) {
    report.notes.push_back(handle.error().message());
    return FileStatus::not_reproducible;
  }
  ptx::forget(*handle);
  report.cases = texture_cases::kPlaces, report.elements = 4 * texture_cases::kPlaces;
  const std::string got =
      fmt::format("{:016x}", digest_of_reads(*recorded, gathered(words_between(recorded->form, "."))));
  if (got == recorded->digest) return FileStatus::replayed;
  ++report.mismatches;
  report.notes.push_back(fmt::format("expected digest 0x{}, got 0x{}", recorded->digest, got));
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
