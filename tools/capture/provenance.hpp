// SPDX-License-Identifier: Apache-2.0
// What every capture says about itself (src/capture/FORMAT.md). C++17, needs nothing else.
#pragma once

#include <array>
#include <ctime>
#include <string>
#include <string_view>

#include "npz.hpp"

namespace capture {

/// A JSON string; control characters become blanks.
inline std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) >= ' ' ? c : ' ';
  }
  return out + "\"";
}

/// "2026-11-20", in UTC.
inline std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

/// 13000 -> "CUDA 13.0", as the driver and the runtime number themselves.
inline std::string cuda_version(int number) {
  return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// Who answered, and when.
struct Answerer {
  std::string device;
  int compute_capability = 0;  ///< 90 for 9.0
  std::string driver, toolkit, date;
};

/// "device": ..., "compute_capability": "9.0", ... as members of a JSON object.
inline std::string about(const Answerer& by) {
  return "\"device\": " + json_text(by.device) + ", \"compute_capability\": \"" +
         std::to_string(by.compute_capability / 10) + "." + std::to_string(by.compute_capability % 10) +
         "\", \"driver\": " + json_text(by.driver) + ", \"toolkit\": " + json_text(by.toolkit) +
         ", \"date\": " + json_text(by.date);
}

/// Writes the members that every capture has; `provenance` is a JSON object.
inline void describe(npz::Writer& file, std::string_view statement, std::string_view target,
                     std::string_view layout, std::string_view provenance) {
  file.text("format", "capture-1");
  file.text("statement", statement);
  file.text("target", target);
  file.text("layout", layout);
  file.text("source", "hardware");
  file.text("provenance", provenance);
}

}  // namespace capture
