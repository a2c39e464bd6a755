// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cli/arguments.hpp"
#include "cli/launch_numbers.hpp"
#include "cli/terminal.hpp"
#include "warpbit/format.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/tensor_map.hpp"

namespace warpbit::cli {
namespace {

// ---- Arguments

std::vector<std::byte> parse_bytes(const std::string& where, std::string_view text) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto byte = number<unsigned>(text.substr(i, 2), 16);
    if (!byte || i + 2 > text.size())
      refuse(where, fmt::format("'{}'", text), "two hexadecimal digits for each byte");
    out.push_back(static_cast<std::byte>(*byte));
  }
  return out;
}

// ---- Tensor maps

// The enumerator with that name, from 0 to `last`.
template <class Enum>
Enum parse_named(const std::string& where, const std::string& member, const std::string& text, Enum last) {
  std::vector<std::string_view> all;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    all.push_back(name(static_cast<Enum>(i)));
    if (all.back() == text) return static_cast<Enum>(i);
  }
  refuse(where, fmt::format("{} '{}'", member, text), fmt::format("one of {}", fmt::join(all, ", ")));
}

Swizzle parse_swizzle(const std::string& where, const std::string& member, const std::string& text) {
  constexpr std::pair<std::string_view, Swizzle> kAll[] = {{"none", Swizzle::none},
                                                           {"bytes_32", Swizzle::bytes_32},
                                                           {"bytes_64", Swizzle::bytes_64},
                                                           {"bytes_128", Swizzle::bytes_128}};
  for (const auto& [word, swizzle] : kAll)
    if (word == text) return swizzle;
  refuse(where, fmt::format("{} '{}'", member, text), "one of none, bytes_32, bytes_64, bytes_128");
}

// "64x16" for an array of that rank: as numbers for each dimension, the contiguous one first.
std::array<std::uint32_t, 5> parse_extents(const std::string& where, const std::string& member,
                                           const std::string& text, int rank) {
  const auto refused = [&] {
    refuse(
        where, fmt::format("{} '{}'", member, text),
        fmt::format("{} number{} as in 64x16, in the order of the array's shape", rank, rank == 1 ? "" : "s"));
  };
  std::vector<std::uint32_t> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const auto one = number<std::uint32_t>(text.substr(at, end - at));
    if (!one || std::ssize(all) == rank) refused();
    all.push_back(*one);
    at = end + 1;
  }
  if (std::ssize(all) != rank) refused();
  std::array<std::uint32_t, 5> out{};
  std::ranges::copy(all.rbegin(), all.rend(), out.begin());
  return out;
}

// The type of an array's elements: of zeros the name, of a file what it says.
TensorType element_type(const std::string& where, const LaunchArray& of) {
  const ArrayHeader& header = of.array.header;
  const char letter = header.kind == 'i' ? 's' : header.kind;
  const std::string own = fmt::format("{}{}", letter, 8 * header.item_bytes);
  for (int i = 0; i <= static_cast<int>(TensorType::tf32_ftz); ++i)
    for (const std::string& word : {of.type, own})
      if (name(static_cast<TensorType>(i)) == word) return static_cast<TensorType>(i);
  refuse(where, fmt::format("an array of {}", of.type.empty() ? header.dtype() : of.type),
         fmt::format("elemtype=TYPE before it, with a type of {} bytes", header.item_bytes));
}

// The map of a whole array, without box and other members.
TensorMap map_of(const std::string& where, LaunchArray& of) {
  const std::vector<std::uint64_t>& shape = of.array.header.shape;
  TensorMap out;
  if (shape.empty() || shape.size() > out.global_dim.size())
    refuse(where, fmt::format("an array of shape {}", of.array.header.shape_text()), "one to five dimensions");
  out.rank = static_cast<int>(shape.size());
  out.global_address = ptx::address(of.array.data);
  std::ranges::copy(shape.rbegin(), shape.rend(), out.global_dim.begin());
  std::uint64_t bytes = of.array.header.item_bytes;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) out.global_stride[i] = bytes *= out.global_dim[i];
  std::fill_n(out.element_stride.begin(), shape.size(), 1);
  return out;
}

/// A member of a tensor map that an argument may set.
struct MapMember {
  std::string_view name;
  void (*set)(const std::string& where, const std::string& text, TensorMap& map);
};
constexpr MapMember kMapMembers[] = {
    {"elemtype",
     [](const std::string& where, const std::string& text, TensorMap& map) {
       map.elemtype = parse_named(where, "elemtype", text, TensorType::tf32_ftz);
     }},
    {"element_stride",
     [](const std::string& where, const std::string& text, TensorMap& map) {
       map.element_stride = parse_extents(where, "element_stride", text, map.rank);
     }},
    {"swizzle_mode", [](const std::string& where, const std::string& text,
                        TensorMap& map) { map.swizzle_mode = parse_swizzle(where, "swizzle_mode", text); }},
    {"l2_promotion",
     [](const std::string& where, const std::string& text, TensorMap& map) {
       map.l2_promotion = parse_named(where, "l2_promotion", text, L2Promotion::bytes_256);
     }},
    {"fill_mode", [](const std::string& where, const std::string& text, TensorMap& map) {
       map.fill_mode = parse_named(where, "fill_mode", text, TensorFill::nan);
     }}};

/// "swizzle_mode=bytes_128", split.
struct MemberText {
  const MapMember* member;
  std::string value;
};

std::optional<MemberText> parse_member(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto found = std::ranges::find(kMapMembers, std::string_view(text).substr(0, equals), &MapMember::name);
  if (equals == text.npos || found == std::end(kMapMembers)) return std::nullopt;
  return MemberText{&*found, text.substr(equals + 1)};
}

// "BOX[:MEMBER=VALUE...]:ARRAY"
ptx::Argument make_map(const std::string& where, std::string text, std::deque<LaunchArray>& arrays) {
  const auto next = [&] {  // up to the next colon, or all of it
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string out = text.substr(0, colon);
    text.erase(0, colon + 1);
    return out;
  };
  const std::string box = next();
  std::vector<MemberText> members;
  while (const std::optional<MemberText> member = parse_member(text.substr(0, text.find(':')))) {
    members.push_back(*member);
    next();
  }
  if (!is_array(text)) {
    std::vector<std::string_view> known;
    for (const MapMember& member : kMapMembers) known.push_back(member.name);
    if (const std::size_t equals = text.find('='); equals < text.find_first_of(":/."))
      refuse(where, fmt::format("tensor_map has no member {}", text.substr(0, equals)),
             fmt::format("{}", fmt::join(known, ", ")));
    refuse(where, fmt::format("'{}'", text),
           fmt::format("an array, or MEMBER=VALUE with one of {}", fmt::join(known, ", ")));
  }
  LaunchArray& array = add_array(where, text, arrays);
  TensorMap map = map_of(where, array);
  map.box_dim = parse_extents(where, "box", box, map.rank);
  const bool has_type =
      std::ranges::any_of(members, [](const MemberText& m) { return m.member == kMapMembers; });
  if (!has_type) map.elemtype = element_type(where, array);
  for (const MemberText& one : members) one.member->set(where, one.value, map);
  if (element_bytes(map.elemtype) != array.array.header.item_bytes)
    refuse(where, fmt::format("elemtype {} for an array of {}", name(map.elemtype), array.array.header.dtype()),
           fmt::format("a type of {} bytes", array.array.header.item_bytes));
  const Result<TensorMapBytes> bytes = map.encode();
  if (!bytes)
    refuse(fmt::format("{}: {}", where, bytes.error().where), bytes.error().seen, bytes.error().accepted,
           bytes.error().code);
  return std::vector<std::byte>(bytes->begin(), bytes->end());
}

// ---- Textures and surfaces

ptx::TexelFormat texel_format(const std::string& where, const LaunchArray& of) {
  if (const auto found = ptx::find_texel_format(element_name(of))) return *found;
  refuse(where, fmt::format("an array of {}", of.array.header.dtype()), "integers of 8 to 32 bits, f16 or f32");
}

ptx::Argument handle_of(const std::string& where, const Result<std::uint64_t>& handle) {
  if (!handle)
    refuse(fmt::format("{}: {}", where, handle.error().where), handle.error().seen, handle.error().accepted);
  return ptx::value(*handle);
}

// A word of a sampler, or of a texture that has it; false if it is none.
template <class Modes>
bool set_mode(const std::string& where, const std::string& word, Modes& of) {
  constexpr std::string_view kBorder = "border=";
  if (const auto addressing = ptx::find_addressing(word)) return of.addressing.fill(*addressing), true;
  if (word == "linear") return of.linear = true;
  if (!word.starts_with(kBorder)) return false;
  const Result<EncodedNumber> code = parse_code("f32", word.substr(kBorder.size()));
  if (!code) refuse(where, code.error().seen, code.error().accepted, code.error().code);
  of.border.fill(std::bit_cast<float>(static_cast<std::uint32_t>(code->code)));
  return true;
}

// A word of a texture; false if it is none.
bool set_word(const std::string& where, const std::string& word, ptx::Texture& texture) {
  if (word == "normalized") return texture.normalized = true;
  if (word == "floats") return texture.floats = true;
  return set_mode(where, word, texture);
}

// "WORD[:WORD...]"
ptx::Argument make_sampler(const std::string& where, const std::string& text) {
  ptx::Sampler sampler;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (word == "unnormalized")
      sampler.unnormalized = true;
    else if (word != "nearest" && !set_mode(where, word, sampler))
      refuse(where, fmt::format("'{}'", word),
             "nearest, linear, unnormalized, wrap, clamp, mirror, border, border=NUMBER");
    at = end + 1;
  }
  return ptx::value(ptx::sampler(sampler));
}

// "SHAPE[:WORD...]:ARRAY"
ptx::Argument make_texture(const std::string& where, std::string text, std::deque<LaunchArray>& arrays) {
  ptx::Texture texture;
  const std::size_t colon = text.find(':');
  const auto shape = ptx::find_texture_shape(text.substr(0, colon));
  if (!shape || colon == text.npos)
    refuse(where, fmt::format("'{}'", text.substr(0, colon)),
           "memory, 1d, 2d, 3d, a1d, a2d, cube or acube, and an array");
  texture.shape = *shape;
  text.erase(0, colon + 1);
  while (set_word(where, text.substr(0, text.find(':')), texture)) text.erase(0, text.find(':') + 1);
  const std::string word = text.substr(0, text.find(':'));
  const bool is_made = text.starts_with(kZeros) || text.starts_with(kUnwritten),
             is_word = !is_made && word != text && !word.ends_with(".npy") && !std::filesystem::exists(text);
  if (!is_array(text) || is_word)
    refuse(where, fmt::format("'{}'", is_word ? word : text),
           "an array, or before it linear, normalized, floats, wrap, clamp, mirror, border, border=NUMBER");
  LaunchArray& array = add_array(where, text, arrays);
  texture.format = texel_format(where, array);
  texture.texels = array.array.data;
  const Result<ptx::Texture> shaped = ptx::with_extents(texture, array.array.header.shape);
  return handle_of(where, shaped ? ptx::texture(*shaped) : shaped.error());
}

// "SHAPE:ARRAY"
ptx::Argument make_surface(const std::string& where, const std::string& text, std::deque<LaunchArray>& arrays) {
  ptx::Surface surface;
  const std::size_t colon = text.find(':');
  const auto shape = ptx::find_texture_shape(text.substr(0, colon));
  if (!shape || colon == text.npos)
    refuse(where, fmt::format("'{}'", text.substr(0, colon)), "1d, 2d, 3d, a1d or a2d, and an array");
  surface.shape = *shape;
  const std::string of = text.substr(colon + 1);
  if (!is_array(of) || of.starts_with(kUnwritten))
    refuse(where, fmt::format("'{}'", of), "IN.npy, IN.npy:OUT.npy or zeros:TYPE:SHAPE[:OUT.npy]");
  LaunchArray& array = add_array(where, of, arrays);
  surface.format = texel_format(where, array);
  surface.texels = array.array.data;
  const Result<ptx::Surface> shaped = ptx::with_extents(surface, array.array.header.shape);
  return handle_of(where, shaped ? ptx::surface(*shaped) : shaped.error());
}

// ---- Any of them

// A handle; nothing of other words.
std::optional<ptx::Argument> parse_handle(const std::string& where, const std::string& text,
                                          std::deque<LaunchArray>& arrays) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const std::string word = text.substr(0, colon), rest = text.substr(colon + 1);
  if (word == "texture") return make_texture(where, rest, arrays);
  if (word == "surface") return make_surface(where, rest, arrays);
  if (word == "sampler") return make_sampler(where, rest);
  return std::nullopt;
}

ptx::Argument parse_argument(const std::string& text, std::deque<LaunchArray>& arrays) {
  const std::string where = fmt::format("--arg {}", text);
  if (text == "null") return ptx::null();
  const std::size_t colon = text.find(':');
  const std::string word = text.substr(0, colon), rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (std::optional<ptx::Argument> handle = parse_handle(where, text, arrays)) return *std::move(handle);
  if (word == "tensor_map" && colon != text.npos) return make_map(where, rest, arrays);
  if (is_array(text)) {
    LaunchArray& array = add_array(where, text, arrays);
    return array.unwritten ? ptx::unwritten(std::span(array.array.data)) : ptx::buffer(array.array.data);
  }
  if (colon == text.npos) refuse("--arg", fmt::format("'{}'", text), std::string(kArgument));
  if (word == "bytes") return parse_bytes(where, rest);
  const NumberType type = parse_type(where, word);
  const std::uint64_t code = parse_number(where, type, rest);
  const auto* const first = reinterpret_cast<const std::byte*>(&code);
  return std::vector<std::byte>(first, first + type.bytes);
}

}  // namespace

std::vector<ptx::Argument> parse_arguments(const std::vector<std::string>& texts, const ptx::Function& kernel,
                                           std::deque<LaunchArray>& arrays) {
  std::vector<std::string> parameters;
  for (const ptx::Parameter& p : kernel.parameters())
    parameters.push_back(fmt::format("{} ({} bytes, .{})", p.name, p.bytes, p.type));
  if (texts.size() != parameters.size())
    refuse(kernel.name(), fmt::format("{} arguments", texts.size()),
           fmt::format("{}: {}", parameters.size(), fmt::join(parameters, ", ")), Errc::argument_mismatch);
  std::vector<ptx::Argument> out;
  for (const std::string& text : texts) out.push_back(parse_argument(text, arrays));
  return out;
}

void bind_references(const std::vector<std::string>& texts, const ptx::Module& module,
                     std::deque<LaunchArray>& arrays) {
  for (const std::string& text : texts) {
    const std::string where = fmt::format("--bind {}", text);
    const std::size_t equals = text.find('=');
    const std::optional<ptx::Argument> handle =
        equals == text.npos ? std::nullopt : parse_handle(where, text.substr(equals + 1), arrays);
    if (!handle)
      refuse(where, equals == text.npos ? "no name" : fmt::format("'{}'", text.substr(equals + 1)),
             "NAME=texture:SHAPE:ARRAY, NAME=surface:SHAPE:ARRAY or NAME=sampler:WORD");
    std::uint64_t number = 0;
    std::memcpy(&number, std::get<std::vector<std::byte>>(*handle).data(), sizeof number);
    (void)required(module.bind(text.substr(0, equals), number));
  }
}

}  // namespace warpbit::cli
