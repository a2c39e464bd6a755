// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>

// Comparisons by the million: counts them, keeps the first differences, and is judged once.
class Tally {
 public:
  template <class Describe>
  void check(bool equal, const Describe& describe) {
    ++count_;
    if (equal) return;
    if (++different_ <= 5) shown_ += describe() + "\n";
  }
  void judge(std::string_view what) const {
    INFO(what << "\n" << shown_);
    CHECK(count_ > 0);
    CHECK(different_ == 0);
    fmt::print("{}: {} comparisons\n", what, count_);
  }

 private:
  std::uint64_t count_ = 0, different_ = 0;
  std::string shown_;
};
