// SPDX-License-Identifier: Apache-2.0
// Capture files: the inputs of one tensor instruction and the bits that a GPU (or another stated source)
// returned for them. src/capture/FORMAT.md describes the format. This header handles files only;
// warpbit/replay.hpp judges the meaning of the statement and the members that it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How the arrays of a capture are arranged (src/capture/FORMAT.md, "Layouts").
enum class CaptureLayout { registers, elements, scalars, digests };
/// Where the expected bits come from. `model` is never evidence.
enum class CaptureSource { hardware, published, model };

std::string_view name(CaptureLayout layout);
std::string_view name(CaptureSource source);

/// The header of one array member, i.e. the content of its .npy header; no data is read for it.
struct ArrayHeader {
  std::string name;            ///< member name without ".npy"
  char kind = 'u';             ///< NumPy's kind: 'u' unsigned integer, 'i' signed, 'b' bool, 'f', 'S' bytes
  std::size_t item_bytes = 0;  ///< bytes an item, 1 to 8 for numbers, any for 'S'
  std::vector<std::uint64_t> shape;  ///< row-major; empty for a scalar

  /// Product of the shape (1 for a scalar). It never overflows in a header that was read: opening refuses
  /// arrays of 2^63 bytes or more.
  std::uint64_t items() const;
  /// As NumPy prints it: "uint32", "|S9", and "(16, 32, 4)".
  std::string dtype() const;
  std::string shape_text() const;
};

/// One array with its data, little-endian, C order.
struct Array {
  ArrayHeader header;
  std::vector<std::byte> data;  ///< items() * item_bytes

  /// An unsigned array of the given shape, zeroed. item_bytes is 1, 2, 4 or 8. Precondition: it fits in memory.
  static Array zeros(std::string name, std::size_t item_bytes, std::vector<std::uint64_t> shape);
  /// Item i in C order, zero-extended. Precondition: i < header.items(), item_bytes is 1, 2, 4 or 8.
  std::uint64_t at(std::uint64_t i) const;
  void set(std::uint64_t i, std::uint64_t value);
  /// Item i of an 'S' array without its trailing zero bytes.
  std::string text(std::uint64_t i = 0) const;
};

/// The description that every capture contains.
struct CaptureHeader {
  std::string statement;  ///< one PTX statement with symbolic operands, terminated by ';'
  std::string target;     ///< the name of the target that the bits belong to
  CaptureLayout layout = CaptureLayout::registers;
  CaptureSource source = CaptureSource::hardware;
  std::string provenance;  ///< the text of one JSON object
};

/// Limits on the cost of reading a file.
struct ReadOptions {
  /// Upper bound of the uncompressed bytes of all members together; more is archive_too_large.
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  /// Maximum number of products a b (or of elements moved or converted) that are computed for a file of the
  /// layout `digests`, or for one shard of it; more is archive_too_large.
  std::uint64_t max_products = std::uint64_t{1} << 40;
};

/// An open capture file. Opening reads and checks the header of every member (magic, version, dtype, shape,
/// and the member's size, which must follow from them) and the six descriptive members. Array data is read on
/// demand. Members whose name does not end in .npy are ignored. Different readers may be used by different
/// threads at the same time; one reader must not.
class CaptureReader {
 public:
  /// Errors: file_unreadable, not_an_archive, archive_too_large, member_missing, member_malformed,
  /// member_dtype, member_shape, member_value; each names the member.
  static Result<CaptureReader> open(const std::filesystem::path& path, const ReadOptions& options = {});
  /// The same for a file of arrays alone; `header` takes the place of the descriptive members, which are not
  /// read. Errors: also those of write_capture for the texts of the header.
  static Result<CaptureReader> open_arrays(const std::filesystem::path& path, const CaptureHeader& header,
                                           const ReadOptions& options = {});
  /// As open, from bytes in memory, which must outlive the reader.
  static Result<CaptureReader> open(std::span<const std::byte> bytes, const ReadOptions& options = {});

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  const CaptureHeader& header() const;
  /// Headers of all members but the descriptive ones, in the order of the archive.
  std::span<const ArrayHeader> arrays() const;
  /// The header of one array, or nullptr.
  const ArrayHeader* find(std::string_view name) const;
  /// Names of the members that are not arrays (not ending in .npy), in the order of the archive.
  std::span<const std::string> ignored() const;
  /// Reads one array's data. Errors: member_missing, member_malformed (truncated or corrupt data),
  /// archive_too_large (no memory for it).
  Result<Array> read(std::string_view name) const;

 private:
  struct State;
  explicit CaptureReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a capture file: the descriptive members and the arrays, deflated, readable by NumPy. The same input
/// gives the same bytes. The file appears complete or not at all and replaces one of that name. A capture
/// that CaptureReader would refuse is not written. Errors: file_unwritable, member_malformed, member_dtype,
/// member_shape, member_value.
Result<void> write_capture(const std::filesystem::path& path, const CaptureHeader& header,
                           std::span<const Array> arrays);

}  // namespace warpbit
#pragma GCC visibility pop
