// SPDX-License-Identifier: Apache-2.0
// The functions for C that libwarpbit-tools has.
#include "c/status.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/warpbit.h"

using namespace warpbit;

warpbit_status warpbit_verify(const char* path, const char* target, warpbit_report* report) {
  return guarded([&] {
    if (path == nullptr) return wrong_argument("path", "a null pointer", "the name of a file");
    ReplayOptions options;
    options.details = 1;
    if (target != nullptr) {
      const Result<Target> found = Target::find(target);
      if (!found) return refuse(found.error());
      options.target = *found;
    }
    const FileReport r = replay(path, options);
    if (r.error) return refuse(*r.error);
    if (!r.details.empty()) last_error() = {text(r.details[0]), "mismatch"};
    return fill(report, {0, r.cases, r.elements, r.mismatches, r.inferred});
  });
}
