// SPDX-License-Identifier: Apache-2.0
// One element of a cvt, from the words of its qualifiers.
#pragma once

#include "oracle.hpp"

namespace oracle {

struct Conversion {
  std::string from, to;
  std::string rounding;  // "", "rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi"
  bool ftz = false, sat = false, satfinite = false, relu = false, pzo = false;
  std::string scaled = {};  // "", "n1", "n2"
};

// extra: random bits for rs, 13 where the destination is f16, else 16; the code of the scale factor where it is scaled. Throws std::invalid_argument for an
// unknown format or rounding.
std::uint64_t convert(const Conversion&, std::uint64_t code, std::uint64_t extra);

}  // namespace oracle
