// SPDX-License-Identifier: Apache-2.0
// Of subjects and things to try on each, all pairs; or, where the environment says so, one thing for each subject.
#pragma once

#include <cstddef>
#include <cstdlib>  // getenv

/// Whether all pairs are tried. A case that asks is tagged [sampled], so that it runs without sanitizers as a whole; where a
/// function asks for several cases, none of the file is.
inline bool tries_all() {
  static const bool in_turn = std::getenv("WARPBIT_IN_TURN") != nullptr;
  return !in_turn;
}

/// Is thing `thing` of `things` tried on subject `subject`? Always, but with WARPBIT_IN_TURN only if it is its turn: subject 0
/// has thing 0, subject 1 thing 1, ... For sanitizers, which need each path once.
inline bool has_turn(std::size_t subject, std::size_t thing, std::size_t things) {
  return tries_all() || subject % things == thing;
}
