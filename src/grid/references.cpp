// SPDX-License-Identifier: Apache-2.0
#include "grid/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "texture/sampler.hpp"
#include "texture/surface.hpp"
#include "texture/texture.hpp"

namespace warpbit::grid {

namespace {

using ptx::Opaque, ptx::Variable;

/// Where their addresses begin, below those of memory and behind handles.
constexpr std::uint64_t kReferences = 0x0DE0'0000'0000, kReferenceStep = 32;

struct OpaqueRow {
  Opaque opaque;
  std::string_view said, made_by, typed;
};
constexpr OpaqueRow kOpaqueRows[] = {
    {Opaque::texture, "texture", "ptx::texture", "texture:SHAPE:ARRAY"},
    {Opaque::sampler, "sampler", "ptx::sampler", "sampler:WORD"},
    {Opaque::surface, "surface", "ptx::surface", "surface:SHAPE:ARRAY"},
};
const OpaqueRow& opaque_row(Opaque opaque) {
  return *std::ranges::find(kOpaqueRows, opaque, &OpaqueRow::opaque);
}

bool is_handle(Opaque opaque, std::uint64_t handle) {
  return opaque == Opaque::texture   ? texture::find(handle) != nullptr
         : opaque == Opaque::sampler ? texture::find_sampler(handle) != nullptr
                                     : texture::find_surface(handle) != nullptr;
}

Error refused_reference(const Variable& variable, std::string seen, std::string accepted) {
  return {Errc::argument_mismatch, fmt::format("the .{} '{}'", name(variable.opaque), variable.name),
          std::move(seen), std::move(accepted)};
}

std::string addressing_member(int axis) {
  return fmt::format("addr_mode_{}", axis);
}

// clamp_ogl is none of them.
std::optional<ptx::Addressing> addressing_of(std::string_view word) {
  constexpr std::pair<std::string_view, ptx::Addressing> kWords[] = {
      {"wrap", ptx::Addressing::wrap},
      {"mirror", ptx::Addressing::mirror},
      {"clamp_to_edge", ptx::Addressing::clamp},
      {"clamp_to_border", ptx::Addressing::border}};
  for (const auto& [known, addressing] : kWords)
    if (known == word) return addressing;
  return std::nullopt;
}
std::string_view word_of(bool linear) {
  return linear ? "linear" : "nearest";
}

// A member of an initial value says otherwise than what is bound: which of both counts on a GPU was not measured.
Error contradicts(const Variable& variable, const ptx::ReferenceMember& member, std::string_view bound) {
  return refused_reference(
      variable, fmt::format("{} bound to it is {}", opaque_row(variable.opaque).said, bound),
      fmt::format("what its initial value says, {} = {}", member.name,
                  member.word.empty() ? std::to_string(member.number) : std::string(member.word)));
}

std::optional<Error> contradiction(const Variable& variable, const ptx::Sampler& modes, int axes) {
  if (const auto* member = variable.member("filter_mode");
      member != nullptr && member->word != word_of(modes.linear))
    return contradicts(variable, *member, word_of(modes.linear));
  for (int axis = 0; axis < axes; ++axis) {
    const ptx::Addressing addressing = modes.addressing[static_cast<std::size_t>(axis)];
    if (const auto* member = variable.member(addressing_member(axis));
        member != nullptr && addressing_of(member->word) != addressing)
      return contradicts(variable, *member, fmt::format("{} along axis {}", ptx::name(addressing), axis));
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t reference_address(const ptx::ModuleText& module, const Variable& reference) {
  std::uint64_t number = 0;
  const auto find = [&](const std::deque<Variable>& all) {
    for (const Variable& one : all) {
      if (one.opaque == Opaque::none) continue;
      ++number;
      if (&one == &reference) return true;
    }
    return false;
  };
  if (!find(module.variables))
    (void)std::ranges::any_of(module.functions, find, &ptx::FunctionText::parameters);
  return kReferences + number * kReferenceStep;
}

std::optional<Error> wrong_handle(const Variable& reference, std::uint64_t handle) {
  if (is_handle(reference.opaque, handle)) return std::nullopt;
  const OpaqueRow& row = opaque_row(reference.opaque);
  std::string_view other = "";
  for (const OpaqueRow& one : kOpaqueRows)
    if (is_handle(one.opaque, handle)) other = one.said;
  return refused_reference(
      reference, fmt::format("{:#x} is no {}{}{}", handle, row.said, other.empty() ? "" : " but a ", other),
      fmt::format("what {} has returned, until it is forgotten", row.made_by));
}

Result<References> References::of(const Program& program, const Bound& bound,
                                  std::span<const std::byte> parameters) {
  References out;
  for (const auto& [variable, handle] : bound) out.add(program, *variable, handle);
  std::size_t at = 0;
  for (const Variable& one : program.functions[static_cast<std::size_t>(program.entry)].function->parameters) {
    const auto aligned = static_cast<std::size_t>(one.alignment);
    at = (at + aligned - 1) / aligned * aligned;
    if (one.opaque != Opaque::none) {
      std::uint64_t handle = 0;
      std::memcpy(&handle, &parameters[at], sizeof handle);
      out.add(program, one, handle);
    }
    at += static_cast<std::size_t>(one.bytes);
  }
  for (const Variable* const one : program.references)
    if (auto error = out.check(program, *one)) return *std::move(error);
  for (std::size_t i = 0; i < program.textures.size(); ++i)
    if (auto error = out.sample(program, static_cast<std::int32_t>(i))) return *std::move(error);
  return out;
}

void References::add(const Program& program, const Variable& variable, std::uint64_t handle) {
  by_address_.try_emplace(reference_address(*program.module, variable), One{&variable, handle});
}

std::optional<Error> References::check(const Program& program, const Variable& variable) const {
  const auto found = by_address_.find(reference_address(*program.module, variable));
  const OpaqueRow& row = opaque_row(variable.opaque);
  if (found == by_address_.end()) {
    if (variable.opaque == Opaque::sampler && !variable.members.empty()) return std::nullopt;
    return refused_reference(
        variable, fmt::format("no {} is bound to it", row.said),
        fmt::format("one, by its name, before the launch: Module::bind, RawModule.bind, --bind {}={}",
                    variable.name, row.typed));
  }
  if (auto error = wrong_handle(variable, found->second.handle)) return error;
  // In unified mode the driver looks at no initial value (tools/capture/texture_references.py, on an H200).
  const std::shared_ptr<const ptx::Texture> of = texture::find(found->second.handle);
  if (of == nullptr || !program.module->has_samplers) return std::nullopt;
  if (const auto* member = variable.member("normalized_coords");
      member != nullptr && (member->number != 0) != of->normalized)
    return contradicts(variable, *member, of->normalized ? "normalized" : "not normalized");
  return std::nullopt;
}

// What the initial value leaves out is open.
Result<ptx::Sampler> References::sampler_of(const Program& program, const Variable& variable, int axes) const {
  const auto bound = by_address_.find(reference_address(*program.module, variable));
  const auto* const forced = variable.member("force_unnormalized_coords");
  if (bound != by_address_.end()) {
    const std::shared_ptr<const ptx::Sampler> is = texture::find_sampler(bound->second.handle);
    if (is == nullptr) return *wrong_handle(variable, bound->second.handle);
    const ptx::Sampler out = *is;
    if (forced != nullptr && (forced->number != 0) != out.unnormalized)
      return contradicts(variable, *forced, out.unnormalized ? "unnormalized" : "not unnormalized");
    if (auto error = contradiction(variable, out, axes)) return *std::move(error);
    return out;
  }
  const auto without = [&](std::string_view member, std::string_view words) {
    const auto* const found = variable.member(member);
    return refused_reference(variable,
                             found == nullptr ? fmt::format("no {} in its initial value", member)
                                              : fmt::format("{} = {}", member, found->word),
                             fmt::format("{}; what a GPU reads otherwise has not been measured", words));
  };
  ptx::Sampler out;
  out.unnormalized = forced != nullptr && forced->number != 0;
  const auto* const filter = variable.member("filter_mode");
  if (filter == nullptr) return without("filter_mode", "nearest or linear");
  out.linear = filter->word == word_of(true);
  for (int axis = 0; axis < axes; ++axis) {
    const auto* const member = variable.member(addressing_member(axis));
    const auto addressing = member == nullptr ? std::nullopt : addressing_of(member->word);
    if (!addressing) return without(addressing_member(axis), "wrap, mirror, clamp_to_edge or clamp_to_border");
    out.addressing[static_cast<std::size_t>(axis)] = *addressing;
  }
  return out;
}

std::optional<Error> References::sample(const Program& program, std::int32_t operation) {
  const TextureOperation& of = program.textures[static_cast<std::size_t>(operation)];
  if (of.sampler == nullptr) return std::nullopt;
  const std::uint64_t named = handle(reference_address(*program.module, *of.texture));
  const std::shared_ptr<const ptx::Texture> read = texture::find(named);
  if (read == nullptr) return wrong_handle(*of.texture, named);
  const Result<ptx::Sampler> sampler = sampler_of(program, *of.sampler, texture::shape_row(read->shape).axes);
  if (!sampler) return sampler.error();
  Result<ptx::Texture> made = texture::with_sampler(*read, *sampler);
  if (!made)
    return refused_reference(*of.texture,
                             fmt::format("read by the sampler '{}', {}: {}", of.sampler->name,
                                         made.error().where, made.error().seen),
                             made.error().accepted);
  sampled_.emplace(operation, std::make_shared<ptx::Texture>(*std::move(made)));
  return std::nullopt;
}

}  // namespace warpbit::grid
