// SPDX-License-Identifier: Apache-2.0
// Lines of JSON, member by member.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace warpbit::record {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

inline std::string quoted_address(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "\"0x%llx\"", static_cast<unsigned long long>(address));
  return text;
}

inline std::string quoted_hex(const unsigned char* bytes, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out + '"';
}

/// {"a":1,"b":"c"}: `add` takes JSON, `text` any text; an empty one is left out.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view json) {
    out_ += out_.size() > 1 ? "," : "";
    out_ += quoted(name);
    out_ += ':';
    out_ += json;
    return *this;
  }
  JsonObject& add(std::string_view name, std::uint64_t number) { return add(name, std::to_string(number)); }
  JsonObject& text(std::string_view name, std::string_view value) {
    return value.empty() ? *this : add(name, quoted(value));
  }
  std::string str() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

/// [1,2]: from what is added.
class JsonList {
 public:
  void add(std::string_view json) {
    out_ += out_.size() > 1 ? "," : "";
    out_ += json;
  }
  std::string str() const { return out_ + "]"; }

 private:
  std::string out_ = "[";
};

inline std::string json_extent(const unsigned* n) {
  return "[" + std::to_string(n[0]) + "," + std::to_string(n[1]) + "," + std::to_string(n[2]) + "]";
}

}  // namespace warpbit::record
