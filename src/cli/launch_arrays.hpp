// SPDX-License-Identifier: Apache-2.0
// Arrays of a launch, as people type them.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "warpbit/capture.hpp"

namespace warpbit::cli {

/// An array of an argument, and the file that it is written to.
struct LaunchArray {
  Array array;
  std::string out;
  std::string type;        ///< of zeros, as it was typed
  bool unwritten = false;  ///< it begins without values
};

/// What an argument may be.
inline constexpr std::string_view kArgument =
    "null; IN.npy or IN.npy:OUT.npy; zeros:TYPE:SHAPE or zeros:TYPE:SHAPE:OUT.npy, or uninit for zeros; "
    "TYPE:NUMBER; bytes:HEX; "
    "tensor_map:BOX:ARRAY; texture:SHAPE:ARRAY; surface:SHAPE:ARRAY; sampler:WORD";
inline constexpr std::string_view kZeros = "zeros:", kUnwritten = "uninit:";

/// Whether a text is that of an array: a file, zeros, or bytes without values.
bool is_array(const std::string& text);
/// Adds it to those of the launch. What is none is refused.
LaunchArray& add_array(const std::string& where, const std::string& text, std::deque<LaunchArray>& arrays);
/// "u8" of an array's elements: of zeros as it was typed.
std::string element_name(const LaunchArray& of);

}  // namespace warpbit::cli
