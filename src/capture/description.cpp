// SPDX-License-Identifier: Apache-2.0
#include "capture/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "capture/text.hpp"

namespace warpbit {
namespace {

constexpr std::array<std::string_view, 4> kLayouts{"registers", "elements", "scalars", "digests"};
constexpr std::array<std::string_view, 3> kSources{"hardware", "published", "model"};

// Puts the enumerator that `words` spells as `text` into `out`.
template <class Enum>
bool put_word(std::span<const std::string_view> words, std::string_view text, Enum& out) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return false;
  out = static_cast<Enum>(found - words.begin());
  return true;
}

}  // namespace

std::string_view name(CaptureLayout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}
std::string_view name(CaptureSource source) {
  return kSources[static_cast<std::size_t>(source)];
}

namespace capture {
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

constexpr std::array kMembers{
    DescriptiveMember{"format", "'capture-1', the version that is read here",
                      [](const CaptureHeader&) { return std::string(kFormat); },
                      [](CaptureHeader&, std::string_view text) { return text == kFormat; }},
    DescriptiveMember{"statement", "one PTX statement, without control characters",
                      [](const CaptureHeader& header) { return header.statement; },
                      [](CaptureHeader& header, std::string_view text) {
                        header.statement = text;
                        return is_text(text);
                      }},
    DescriptiveMember{"target", "a target such as sm_90a, without control characters",
                      [](const CaptureHeader& header) { return header.target; },
                      [](CaptureHeader& header, std::string_view text) {
                        header.target = text;
                        return is_text(text);
                      }},
    DescriptiveMember{
        "layout", "registers, elements, scalars or digests",
        [](const CaptureHeader& header) { return std::string(name(header.layout)); },
        [](CaptureHeader& header, std::string_view text) { return put_word(kLayouts, text, header.layout); }},
    DescriptiveMember{
        "source", "hardware, published or model",
        [](const CaptureHeader& header) { return std::string(name(header.source)); },
        [](CaptureHeader& header, std::string_view text) { return put_word(kSources, text, header.source); }},
    DescriptiveMember{"provenance", "one JSON object",
                      [](const CaptureHeader& header) { return header.provenance; },
                      [](CaptureHeader& header, std::string_view text) {
                        header.provenance = text;
                        return is_json_object(text);
                      }},
};

}  // namespace

std::span<const DescriptiveMember> descriptive_members() {
  return kMembers;
}

bool is_descriptive(std::string_view member) {
  return std::any_of(kMembers.begin(), kMembers.end(), [&](const auto& row) { return row.name == member; });
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
