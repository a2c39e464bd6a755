// SPDX-License-Identifier: Apache-2.0
// Shared by the functions for C: statuses, the last message of a thread, and structures that start with their
// size.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "warpbit/result.hpp"
#include "warpbit/warpbit.h"

#pragma GCC visibility push(default)
namespace warpbit {

/// The results of warpbit_message and warpbit_error_name.
struct LastError {
  std::string message, name;
};
/// Of this thread.
LastError& last_error();

/// Stores the error as the last one; returns the status of its code.
warpbit_status refuse(const Error& error);
warpbit_status wrong_argument(std::string where, std::string seen, std::string accepted);

/// Runs a call; an exception becomes a status.
template <class Call>
warpbit_status guarded(Call call) noexcept {
  LastError& last = last_error();
  try {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      last = {"there is no memory left", "no_memory"};
      return WARPBIT_NO_MEMORY;
    } catch (const std::exception& e) {
      last = {e.what(), "internal"};
      return WARPBIT_INTERNAL;
    }
  } catch (...) {  // no memory for a message either
    last = {};
    return WARPBIT_NO_MEMORY;
  }
}

/// Fills the members that exist in the caller's structure; `all` has its size.
template <class Struct>
warpbit_status fill(Struct* to, Struct all) {
  if (to == nullptr || to->size < sizeof to->size)
    return wrong_argument("size", "no structure with its size", "WARPBIT_INIT");
  all.size = to->size;
  std::memcpy(to, &all, std::min(to->size, sizeof all));
  return WARPBIT_OK;
}

}  // namespace warpbit
#pragma GCC visibility pop
