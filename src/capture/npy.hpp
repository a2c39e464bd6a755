// SPDX-License-Identifier: Apache-2.0
// Headers of .npy members (NumPy enhancement: npy format, versions 1.0, 2.0 and 3.0):
//
//   byte 0          6      7      8                 10 (version 1.0) or 12 (2.0, 3.0)    data_offset
//        \x93NUMPY  major  minor  length, LE u16 or LE u32  dictionary, padded, ends in \n  data
//
// The dictionary is a Python literal: {'descr': '<u4', 'fortran_order': False, 'shape': (16, 32, 4), }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "warpbit/capture.hpp"
#include "warpbit/result.hpp"

namespace warpbit::capture {

/// Reads the header of a member that has that many bytes. read(out) fills `out` with the next of them. As many bytes of data
/// follow as the header states. Errors: those of read() and of parse_npy_dictionary.
Result<ArrayHeader> read_npy_header(std::string_view member, std::uint64_t bytes,
                                    const std::function<Result<void>(std::span<std::byte>)>& read,
                                    bool* by_columns = nullptr);

/// Reads the dictionary. On success the array's bytes (items() * item_bytes) are below 2^63, and so is the
/// product of its dimensions other than 0. Errors: member_malformed, member_dtype, member_shape.
/// If `by_columns` is given, a matrix may be in Fortran order, and it says whether it is.
Result<ArrayHeader> parse_npy_dictionary(std::string_view member, std::string_view text,
                                         bool* by_columns = nullptr);

/// Whether that many bytes of data are those of the array. Error: member_malformed.
Result<void> check_npy_data(const ArrayHeader& header, std::uint64_t bytes);

/// A whole .npy file; a matrix in Fortran order comes in C order. `name` is what errors call it, and the array's. Errors: those of the above.
Result<Array> parse_npy(std::string_view name, std::span<const std::byte> bytes);

/// The dictionary of a header; the type strings are "<u4", "|u1", "|S9".
std::string npy_dictionary(const ArrayHeader& header);

/// The complete header, version 1.0, padded to a multiple of 64 bytes as NumPy does. Precondition: the header
/// has at most 32 dimensions.
std::string encode_npy_header(const ArrayHeader& header);

}  // namespace warpbit::capture
