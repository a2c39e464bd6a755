// SPDX-License-Identifier: Apache-2.0
// Variables that stand for a texture, a sampler or a surface (PTX manual, "Texture Sampler and Surface Types").
#include <fmt/ranges.h>

#include <array>

#include "ptx/parser.hpp"

namespace warpbit::ptx {
namespace {

constexpr std::array kOpaque = {std::pair{Opaque::texture, "texref"}, std::pair{Opaque::sampler, "samplerref"},
                                std::pair{Opaque::surface, "surfref"}};

/// A member of an initial value, and which references have it.
struct MemberRow {
  std::string_view name;
  bool texture, sampler, surface;
  std::span<const std::string_view> words = {};  ///< that it may be; none: a number
  std::int64_t most = std::int64_t{1} << 32;     ///< of a number

  bool is_of(Opaque opaque) const {
    return opaque == Opaque::texture ? texture : opaque == Opaque::sampler ? sampler : surface;
  }
};
constexpr std::string_view kFilters[] = {"nearest", "linear"},
                           kAddressing[] = {"wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"};
constexpr MemberRow kMembers[] = {
    {"width", true, false, true},
    {"height", true, false, true},
    {"depth", true, false, true},
    {"channel_data_type", true, false, true},
    {"channel_order", true, false, true},
    {"normalized_coords", true, false, false, {}, 1},
    {"force_unnormalized_coords", false, true, false, {}, 1},
    {"filter_mode", true, true, false, kFilters},
    {"addr_mode_0", true, true, false, kAddressing},
    {"addr_mode_1", true, true, false, kAddressing},
    {"addr_mode_2", true, true, false, kAddressing},
    {"array_size", true, false, true},
    {"num_mipmap_levels", true, false, false},
    {"num_samples", true, false, false},
    {"memory_layout", false, false, true, {}, 1},
};

}  // namespace

std::string_view name(Opaque opaque) {
  const auto* const found = std::ranges::find(kOpaque, opaque, &decltype(kOpaque)::value_type::first);
  return found == kOpaque.end() ? std::string_view() : found->second;
}

Opaque find_opaque(std::string_view name) {
  for (const auto& [opaque, word] : kOpaque)
    if (word == name) return opaque;
  return Opaque::none;
}

// texmode_unified, in which a texture has its sampler, or texmode_independent. A module has one mode.
void Parser::texture_mode(std::string_view property, Position at) {
  constexpr std::string_view kIndependent = "texmode_independent";
  const bool is_known = property == kIndependent || property == "texmode_unified";
  if (!is_known || (!texture_mode_.empty() && texture_mode_ != property))
    refuse(Errc::statement_syntax, at, fmt::format("'{}'", property),
           is_known ? fmt::format("{}, as before", texture_mode_)
                    : std::string("texmode_unified or texmode_independent"));
  texture_mode_ = property;
  out_.has_samplers = property == kIndependent;
}

void Parser::begin_reference(Variable& variable, Opaque opaque) {
  if (variable.space != StateSpace::global && variable.space != StateSpace::param)
    unexpected(fmt::format("another type: a {} is in .global, or a parameter of a kernel", token_.text));
  if (opaque == Opaque::sampler && !out_.has_samplers)
    unexpected("another type: only a module with .target ..., texmode_independent has samplers of their own");
  variable.opaque = opaque;
  variable.type = Type::u64;
  advance();
}

// Whether a variable of that kind may be there; of no reference nothing is said.
void Parser::check_reference(const Variable& variable, bool is_parameter, bool is_array, int vector) const {
  if (variable.opaque == Opaque::none) return;
  const auto refused = [&](std::string_view seen, std::string_view accepted) {
    refuse(Errc::statement_syntax, variable.position,
           fmt::format("'{}', a .{}{}", variable.name, ptx::name(variable.opaque), seen),
           std::string(accepted));
  };
  if (!is_parameter && (variable.space == StateSpace::param || function_ != nullptr))
    refused(" of a function", "a variable of the module, or a parameter of a kernel");
  if (is_array || vector > 1) refused(" of several", "one for each name");
  if (variable.linkage == Linkage::common) refused(" with .common", ".visible, .weak or nothing");
}

// = {member = value, ...}
void Parser::initialise_reference(Variable& variable) {
  expect('=');
  expect('{');
  if (!token_.is('}')) do
      reference_member(variable);
    while (take(','));
  expect('}');
}

void Parser::reference_member(Variable& variable) {
  const auto refused = [&](Position at, std::string seen, std::string accepted) {
    refuse(Errc::statement_syntax, at, std::move(seen), std::move(accepted));
  };
  const Position at = token_.position;
  const std::string_view named = name("a member");
  const auto* const row = std::ranges::find(kMembers, named, &MemberRow::name);
  if (row == std::end(kMembers) || !row->is_of(variable.opaque)) {
    std::vector<std::string_view> all;
    for (const MemberRow& one : kMembers)
      if (one.is_of(variable.opaque)) all.push_back(one.name);
    refused(at, fmt::format("'{}'", named),
            fmt::format("a member of a .{}: {}", ptx::name(variable.opaque), fmt::join(all, ", ")));
  }
  if (variable.member(named) != nullptr)
    refused(at, fmt::format("'{}' a second time", named), "another member");
  expect('=');
  ReferenceMember out{named};
  const Position value = token_.position;
  if (!row->words.empty()) {
    const std::string accepted = fmt::format("{}", fmt::join(row->words, ", "));
    out.word = name(accepted);
    if (std::ranges::find(row->words, out.word) == row->words.end())
      refused(value, fmt::format("'{}'", out.word), accepted);
  } else if (out.number = integer("a number"); out.number < 0 || out.number > row->most) {
    refused(value, fmt::format("{}", out.number), fmt::format("0 to {}", row->most));
  }
  variable.members.push_back(out);
}

}  // namespace warpbit::ptx
