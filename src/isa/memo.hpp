// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace warpbit {

/// A cache of a function of Key. Each value is computed at its first use, kept as long as the memo, and has a
/// stable address. Thread-safe.
template <class Key, class Value>
class Memo {
 public:
  /// The value for the key, computed by make() if it is missing. Threads that ask for it at the same time may
  /// all compute it; they get the same object.
  template <class Make>
  const Value& get(const Key& key, Make make) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto at = values_.find(key); at != values_.end()) return at->second;
    }
    Value made = make();
    const std::unique_lock lock(mutex_);
    return values_.try_emplace(key, std::move(made)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace warpbit
