// SPDX-License-Identifier: Apache-2.0
#include "capture/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>  // back_inserter
#include <nlohmann/json.hpp>
#include <type_traits>

namespace warpbit {
namespace {

constexpr std::array<std::string_view, 4> kLayouts{"registers", "elements", "scalars", "digests"};
constexpr std::array<std::string_view, 3> kSources{"hardware", "published", "model"};

}  // namespace

std::string_view name(CaptureLayout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}
std::string_view name(CaptureSource source) {
  return kSources[static_cast<std::size_t>(source)];
}

namespace capture {
namespace {

constexpr std::size_t kLongestExcerpt = 80;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestExcerpt)) {
    if (is_control(c) || static_cast<unsigned char>(c) >= 0x80)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    else
      out.push_back(c);
  }
  if (text.size() > kLongestExcerpt) out += "...";
  return out;
}

std::string quoted(std::string_view text) {
  return "'" + excerpt(text) + "'";
}

bool is_plain(std::string_view text, bool lines) {
  return std::none_of(text.begin(), text.end(),
                      [&](char c) { return is_control(c) && !(lines && (c == '\t' || c == '\n')); });
}

Error member_error(Errc code, std::string_view member, std::string seen, std::string accepted) {
  return Error{code, excerpt(member), std::move(seen), std::move(accepted)};
}

// ---- The members in which a capture describes itself

namespace {

constexpr std::string_view kFormat = "capture-1";
constexpr std::string_view kBlanks = " \t\n";

bool is_text(std::string_view text) {
  return is_plain(text, true) && text.find_first_not_of(kBlanks) != std::string_view::npos;
}

// Judges without building the object, whose memory could be many times the text's.
bool is_json_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n\r");
  return first != std::string_view::npos && text[first] == '{' && nlohmann::json::accept(text);
}

// The rows of texts and of enumerators in the header.
template <auto Text, auto IsAccepted>
constexpr DescriptiveMember text(std::string_view name, std::string_view accepted) {
  return {name, accepted, [](const CaptureHeader& header) { return header.*Text; },
          [](CaptureHeader& header, std::string_view text) {
            header.*Text = text;
            return IsAccepted(text);
          }};
}
template <auto Word, const auto& Words>
constexpr DescriptiveMember word(std::string_view name, std::string_view accepted) {
  return {name, accepted,
          [](const CaptureHeader& h) { return std::string(Words[static_cast<std::size_t>(h.*Word)]); },
          [](CaptureHeader& header, std::string_view text) {
            const auto found = std::ranges::find(Words, text);
            if (found == Words.end()) return false;
            header.*Word = static_cast<std::remove_reference_t<decltype(header.*Word)>>(found - Words.begin());
            return true;
          }};
}

constexpr std::array kMembers{
    DescriptiveMember{"format", "'capture-1', the version that is read here",
                      [](const CaptureHeader&) { return std::string(kFormat); },
                      [](CaptureHeader&, std::string_view text) { return text == kFormat; }},
    text<&CaptureHeader::statement, is_text>("statement", "one PTX statement, without control characters"),
    text<&CaptureHeader::target, is_text>("target", "a target such as sm_90a, without control characters"),
    word<&CaptureHeader::layout, kLayouts>("layout", "registers, elements, scalars or digests"),
    word<&CaptureHeader::source, kSources>("source", "hardware, published or model"),
    text<&CaptureHeader::provenance, is_json_object>("provenance", "one JSON object"),
};

}  // namespace

std::span<const DescriptiveMember> descriptive_members() {
  return kMembers;
}

bool is_descriptive(std::string_view member) {
  return std::ranges::find(kMembers, member, &DescriptiveMember::name) != kMembers.end();
}

Result<void> put_text(const DescriptiveMember& member, std::string_view text, CaptureHeader& header) {
  if (text.size() > kLongestText)
    return member_error(Errc::member_malformed, member.name, fmt::format("it has {} bytes", text.size()),
                        fmt::format("at most {}", kLongestText));
  if (!member.put(header, text))
    return member_error(Errc::member_value, member.name, "it is " + quoted(text), std::string(member.accepted));
  return {};
}

}  // namespace capture
}  // namespace warpbit
