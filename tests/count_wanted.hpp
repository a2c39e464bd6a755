// SPDX-License-Identifier: Apache-2.0
// How much a test does, where the environment may say so.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>  // getenv, strtoull

/// The number above 0 in a variable of the environment, or another one where it is not set.
inline std::uint64_t count_wanted(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const std::uint64_t out = std::strtoull(text, &end, 10);
  INFO(variable << " is " << text << "; expected a number above 0");
  REQUIRE((*end == '\0' && out > 0));
  return out;
}
