// SPDX-License-Identifier: Apache-2.0
// Members of a JSON object that a recording holds: each is there and what it should be, or the error says where it is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpbit/detail/block.hpp"
#include "warpbit/recording.hpp"
#include "warpbit/result.hpp"

namespace warpbit::recording {

#pragma GCC visibility push(default)  // the library of programs reads kinds of its own
/// Thrown while a record is read, and caught by `reading`.
struct Malformed {
  Error error;
};

/// The value of a reading function, or its error.
template <class Read>
auto reading(const Read& read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const Malformed& malformed) {
    return malformed.error;
  }
}

/// A JSON object, and where it is: "line 12, memory 3". All functions throw Malformed.
class Fields {
 public:
  Fields(std::string where, nlohmann::json object);
  /// A line of a file.
  static Fields parse(const std::string& where, std::string_view text);

  bool has(const std::string& name) const { return object_.contains(name); }
  bool is_null(const std::string& name) const { return has(name) && object_.at(name).is_null(); }

  std::string text(const std::string& name) const;
  std::string text_or_empty(const std::string& name) const { return has(name) ? text(name) : ""; }
  std::optional<std::string> optional_text(const std::string& name) const;
  std::uint64_t number(const std::string& name) const;
  std::uint64_t number_or(const std::string& name, std::uint64_t other) const {
    return has(name) ? number(name) : other;
  }
  double real_or(const std::string& name, double other) const;
  std::optional<bool> optional_flag(const std::string& name) const;
  std::vector<std::uint64_t> numbers(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;
  Dim3 extent(const std::string& name) const;
  std::optional<Dim3> optional_extent(const std::string& name) const;
  /// "0x7f00": 16 digits at most.
  std::uint64_t address(const std::string& name) const;
  std::vector<std::byte> hex(const std::string& name) const;
  Fields object(const std::string& name) const;
  std::vector<Fields> objects(const std::string& name) const;
  std::vector<Fields> objects_or_none(const std::string& name) const {
    return has(name) ? objects(name) : std::vector<Fields>();
  }

  [[noreturn]] void refuse(const std::string& name, std::string seen, std::string accepted) const;

 private:
  const nlohmann::json& member(const std::string& name, std::string_view accepted) const;

  std::string where_;
  nlohmann::json object_;
};

/// The members of a record.
Fields fields_of(const Record& record);
#pragma GCC visibility pop

}  // namespace warpbit::recording
