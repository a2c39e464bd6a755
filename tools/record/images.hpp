// SPDX-License-Identifier: Apache-2.0
// The PTX in what a program gives to the driver to load: text, a machine program (ELF), or a container of both ("fatbin").
//
// A container is a header of 16 bytes (magic, u16 version, u16 its size, u64 bytes behind it), then entries, each
//   0 u16 kind (1 PTX, 2 ELF)   2 u16 version   4 u32 size of this head   8 u64 size of the content, padded
//  16 u32 size if compressed   20 u32   24 u16 minor   26 u16 major   28 u32 architecture (90)
//  40 u64 flags (0x2000 LZ4, 0x8000 Zstandard, 0x100000 an architecture of its own: sm_90a)   56 u64 size of the text
// as nvcc 13.0 makes them; `cuobjdump` is not needed.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hash.hpp"

namespace warpbit::record {

using Bytes = std::vector<unsigned char>;

/// The bytes behind LZ4 blocks or a Zstandard frame, or nothing where they are not `size` as promised.
inline std::optional<std::string> unpack_lz4(const unsigned char* from, std::size_t count, std::size_t size) {
  std::string out;
  const unsigned char* const end = from + count;
  const auto length = [&](unsigned short_one) -> std::size_t {
    std::size_t n = short_one;
    for (unsigned char byte = 255; short_one == 15 && byte == 255 && from < end; n += byte) byte = *from++;
    return n;
  };
  while (from < end && out.size() < size) {
    const unsigned token = *from++;
    const std::size_t literals = length(token >> 4);
    if (literals > static_cast<std::size_t>(end - from)) return std::nullopt;
    out.append(reinterpret_cast<const char*>(from), literals);
    from += literals;
    if (end - from < 2) break;
    const std::size_t back = from[0] | static_cast<std::size_t>(from[1]) << 8;
    from += 2;
    const std::size_t matched = length(token & 15) + 4;
    if (back == 0 || back > out.size() || matched > size) return std::nullopt;
    for (std::size_t i = 0; i < matched; ++i) out += out[out.size() - back];
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

inline std::optional<std::string> unpack_zstd(const unsigned char* from, std::size_t count, std::size_t size) {
  static void* const library = dlopen("libzstd.so.1", RTLD_NOW);
  if (library == nullptr) return std::nullopt;
  using Unpack = std::size_t(void*, std::size_t, const void*, std::size_t);
  static auto* const unpack = reinterpret_cast<Unpack*>(dlsym(library, "ZSTD_decompress"));
  std::string out(size, '\0');
  if (unpack == nullptr || unpack(out.data(), size, from, count) != size) return std::nullopt;
  return out;
}

/// PTX of an image, still packed.
struct PackedPtx {
  unsigned architecture = 0;  // 90
  bool is_specific = false;   // sm_90a
  std::uint64_t flags = 0;
  std::size_t size = 0;  // of the text
  Bytes packed;
};

struct MachineProgram {
  unsigned architecture = 0;
  bool is_specific = false;
};

/// What the recorder keeps of a loaded image.
struct Image {
  std::vector<PackedPtx> ptx;
  std::vector<MachineProgram> programs;
  Hash hash;             // of an ELF that stands alone
  bool is_text = false;  // PTX itself: the driver compiled it
  std::string file;      // where it came from, if it was a file
};

namespace image_detail {

template <class T>
T read(const unsigned char* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

constexpr std::uint32_t kWrapper = 0x466243b1, kContainer = 0xba55ed50, kElf = 0x464c457f;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000, kSpecific = 0x100000;

inline void read_entries(const unsigned char* at, const unsigned char* end, Image& image) {
  while (end - at >= 64) {
    const std::uint32_t head = read<std::uint32_t>(at + 4);
    const std::uint64_t content = read<std::uint64_t>(at + 8);
    if (head < 64 || head > static_cast<std::uint64_t>(end - at) ||
        content > static_cast<std::uint64_t>(end - at) - head)
      return;
    const std::uint64_t flags = read<std::uint64_t>(at + 40);
    const unsigned architecture = read<std::uint32_t>(at + 28);
    const bool is_specific = (flags & kSpecific) != 0;
    if (read<std::uint16_t>(at) == 1) {
      const std::uint32_t packed = read<std::uint32_t>(at + 16);
      const std::uint64_t size = read<std::uint64_t>(at + 56);
      const std::size_t kept = packed != 0 && packed <= content ? packed : content;
      image.ptx.push_back({architecture, is_specific, flags, static_cast<std::size_t>(size),
                           Bytes(at + head, at + head + kept)});
    } else if (read<std::uint16_t>(at) == 2) {
      image.programs.push_back({architecture, is_specific});
    }
    at += head + content;
  }
}

inline std::size_t elf_size(
    const unsigned char* at) {  // 64 bits: the end of the tables of sections and segments, or of a section
  const auto table = [&](std::size_t offset, std::size_t each, std::size_t count) {
    return read<std::uint64_t>(at + offset) +
           std::uint64_t{read<std::uint16_t>(at + each)} * read<std::uint16_t>(at + count);
  };
  std::uint64_t end = std::max(table(40, 58, 60), table(32, 54, 56));
  const std::uint64_t sections = read<std::uint64_t>(at + 40);
  for (unsigned i = 0; i < read<std::uint16_t>(at + 60); ++i) {
    const unsigned char* const section = at + sections + std::size_t{i} * read<std::uint16_t>(at + 58);
    if (read<std::uint32_t>(section + 4) != 8)  // SHT_NOBITS
      end = std::max(end, read<std::uint64_t>(section + 24) + read<std::uint64_t>(section + 32));
  }
  return end;
}

}  // namespace image_detail

constexpr std::size_t kUnknownSize = ~std::size_t{0};

/// Reads an image as the driver gets it: without its size. That is known of files alone.
inline Image read_image(const void* data, std::size_t size = kUnknownSize) {
  using namespace image_detail;
  Image image;
  const auto* at = static_cast<const unsigned char*>(data);
  if (at == nullptr || size < 16) return image;
  if (size == kUnknownSize && read<std::uint32_t>(at) == kWrapper) {
    at = read<const unsigned char*>(at + 8);
    if (at == nullptr) return image;
  }
  const std::uint32_t magic = read<std::uint32_t>(at);
  if (magic == kContainer) {
    const std::size_t head = read<std::uint16_t>(at + 6);
    std::uint64_t content = read<std::uint64_t>(at + 8);
    if (size != kUnknownSize) content = std::min<std::uint64_t>(content, size - std::min(size, head));
    read_entries(at + head, at + head + content, image);
  } else if (magic == kElf) {
    image.hash =
        hash_of(at, std::min<std::uint64_t>(elf_size(at), size));  // what lies behind it does not count
    image.programs.push_back({});
  } else {
    const std::size_t count = strnlen(static_cast<const char*>(data), size);
    image.is_text = true;
    image.ptx.push_back({0, false, 0, count, Bytes(at, at + count)});
  }
  return image;
}

/// The text of PTX without the zeros that pad it; nothing if it cannot be unpacked.
inline std::optional<std::string> text_of(const PackedPtx& ptx) {
  using namespace image_detail;
  std::optional<std::string> out;
  if ((ptx.flags & kZstd) != 0) {
    out = unpack_zstd(ptx.packed.data(), ptx.packed.size(), ptx.size);
  } else if ((ptx.flags & kLz4) != 0) {
    out = unpack_lz4(ptx.packed.data(), ptx.packed.size(), ptx.size);
  } else {
    out.emplace(ptx.packed.begin(), ptx.packed.end());
  }
  if (out) out->resize(std::min(out->size(), out->find('\0')));
  return out;
}

// ---- What PTX says

inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

/// Whether a name stands in the text behind `.entry`.
inline bool has_entry(std::string_view ptx, std::string_view name) {
  for (std::size_t at = ptx.find(".entry"); at != std::string_view::npos; at = ptx.find(".entry", at + 6)) {
    std::size_t from = at + 6;
    while (from < ptx.size() && std::isspace(static_cast<unsigned char>(ptx[from]))) ++from;
    if (ptx.compare(from, name.size(), name) == 0 &&
        (from + name.size() >= ptx.size() || !is_word(ptx[from + name.size()])))
      return true;
  }
  return false;
}

/// The variables of a module in .global and .const memory, in order.
inline std::vector<std::string> variables_of(std::string_view ptx) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t line = 0;
  while (line < ptx.size()) {
    const std::size_t end = std::min(ptx.size(), ptx.find('\n', line));
    std::string_view text = ptx.substr(line, end - line);
    line = end + 1;
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    text.remove_prefix(first);
    if (text.substr(0, 2) == "//") continue;
    const bool is_variable =
        depth == 0 && text[0] == '.' &&
        (text.find(".global ") != std::string_view::npos || text.find(".const ") != std::string_view::npos);
    if (is_variable) {  // .visible .global .align 4 .b8 name[16] = {...};
      const std::string_view head = text.substr(0, text.find_first_of("[=;"));
      const std::size_t last = head.find_last_not_of(" \t");
      std::size_t begin = last == std::string_view::npos ? 0 : last;
      while (begin > 0 && is_word(head[begin - 1])) --begin;
      const bool is_texture = head.find("ref ") != std::string_view::npos;  // .texref, .samplerref, .surfref
      if (last != std::string_view::npos && is_word(head[last]) && !is_texture)
        out.emplace_back(head.substr(begin, last + 1 - begin));
    }
    for (const char c : text) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
  }
  return out;
}

/// Whether a kernel of the module may do what restored memory does not undo.
inline bool has_side_effects(std::string_view ptx) {
  for (const char* function : {"vprintf", " malloc", "cudaLaunchDevice", "__nv_printf"})
    if (ptx.find(function) != std::string_view::npos) return true;
  return false;
}

}  // namespace warpbit::record
