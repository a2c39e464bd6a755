// SPDX-License-Identifier: Apache-2.0
#include "c/status.hpp"

namespace warpbit {
namespace {

warpbit_status status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::statement: return WARPBIT_STATEMENT;
    case ErrorKind::execution: return WARPBIT_EXECUTION;
    case ErrorKind::memory: return WARPBIT_MEMORY;
    case ErrorKind::file: return WARPBIT_FILE;
    case ErrorKind::usage: return WARPBIT_USAGE;
  }
  return WARPBIT_INTERNAL;
}

}  // namespace

LastError& last_error() {
  thread_local LastError last;
  return last;
}

warpbit_status refuse(const Error& error) {
  last_error() = {error.message(), std::string(name(error.code))};
  return status(kind(error.code));
}

warpbit_status wrong_argument(std::string where, std::string seen, std::string accepted) {
  return refuse({Errc::usage, std::move(where), std::move(seen), std::move(accepted)});
}

}  // namespace warpbit
