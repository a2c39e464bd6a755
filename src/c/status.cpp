// SPDX-License-Identifier: Apache-2.0
#include "c/status.hpp"

namespace warpbit {
namespace {

// The status of all codes up to and including this one, in the order of Errc.
struct Group {
  Errc last;
  warpbit_status status;
};
constexpr Group kGroups[] = {
    {Errc::unknown_target, WARPBIT_STATEMENT}, {Errc::not_sparse, WARPBIT_EXECUTION},
    {Errc::no_such_layout, WARPBIT_MEMORY},    {Errc::stack_overflow, WARPBIT_EXECUTION},
    {Errc::captures_differ, WARPBIT_FILE},     {Errc::usage, WARPBIT_USAGE},
};

}  // namespace

LastError& last_error() {
  thread_local LastError last;
  return last;
}

warpbit_status refuse(const Error& error) {
  last_error() = {error.message(), std::string(name(error.code))};
  return std::ranges::find_if(kGroups, [&](const Group& g) { return error.code <= g.last; })->status;
}

warpbit_status wrong_argument(std::string where, std::string seen, std::string accepted) {
  return refuse({Errc::usage, std::move(where), std::move(seen), std::move(accepted)});
}

}  // namespace warpbit
