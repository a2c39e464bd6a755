// SPDX-License-Identifier: Apache-2.0
// Block formats: elements of few bits that share a scale factor, and what numbers become in them. Everything is exact.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/format.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How the scale factor of a block comes from amax, the largest magnitude in the block.
enum class ScaleRule {
  quotient,      ///< amax / the largest element, to nearest even, at most the largest scale factor
  power_of_two,  ///< 2^(floor(log2 amax) - the exponent of the largest element), at least 2^-127; 2^-127 for amax 0
};

/// A block format: numbers are element x scale factor.
struct BlockFormat {
  std::string_view name;
  std::string_view synonyms;        ///< other names, separated by blanks
  std::string_view element, scale;  ///< formats (find_format_info)
  int block;                        ///< elements that share a scale factor
  ScaleRule rule;
  std::string_view tensor_scale;  ///< the second scale factor, of all blocks, in words; empty without one
  std::string_view source;        ///< the document that defines it
};
std::span<const BlockFormat> block_formats();
/// By name, synonym or shared name; case does not matter. Error: usage, which lists the names.
Result<BlockFormat> find_block_format(std::string_view name);
/// Names that people use for two of them.
std::span<const SharedName> shared_block_names();

/// A number in a block. The texts are exact, as EncodedNumber::error is.
struct QuantizedElement {
  std::uint64_t code;  ///< of the number / the scale factor, to nearest even; beyond the largest element, that
  std::string value;   ///< the element times the scale factor
  std::string error;   ///< the value minus the number, "0", "+0.02"
};
/// A block of numbers with its scale factor. The texts are exact, or begin with "about" where they would be too long.
struct QuantizedBlock {
  std::string amax;
  std::string unrounded_scale;  ///< amax / the largest element, or the power of two before its limits
  std::uint64_t scale;          ///< the code of the scale factor
  std::string scale_value;
  std::vector<QuantizedElement> elements;  ///< with a scale factor of 0, all are 0
};
/// Quantises numbers given as text (encode_number says which), block by block; the last block may be shorter.
/// Errors: usage for no number, an infinity or a NaN; those of encode_number and find_block_format.
Result<std::vector<QuantizedBlock>> quantize(std::string_view format, std::span<const std::string> numbers);
/// The same for doubles.
Result<std::vector<QuantizedBlock>> quantize(std::string_view format, std::span<const double> numbers);

}  // namespace warpbit
#pragma GCC visibility pop
