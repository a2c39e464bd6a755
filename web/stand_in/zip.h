// SPDX-License-Identifier: Apache-2.0
// libzip where there are no files: what src/capture uses of it. No archive opens, so that the rest is never called.
#pragma once

#include <cstdint>

using zip_int64_t = std::int64_t;
using zip_uint8_t = std::uint8_t;
using zip_uint16_t = std::uint16_t;
using zip_uint32_t = std::uint32_t;
using zip_uint64_t = std::uint64_t;
struct zip_t;
struct zip_file_t;
struct zip_source_t;
struct zip_error_t {
  int code;
};
struct zip_stat_t {
  zip_uint64_t valid, size, comp_size;
  zip_uint16_t comp_method, encryption_method;
};
struct zip_buffer_fragment_t {
  zip_uint8_t* data;
  zip_uint64_t length;
};
enum {
  ZIP_CM_STORE = 0,
  ZIP_CM_DEFLATE = 8,
  ZIP_CREATE = 1,
  ZIP_TRUNCATE = 8,
  ZIP_RDONLY = 16,
  ZIP_EM_NONE = 0
};
enum {
  ZIP_ER_SEEK = 4,
  ZIP_ER_READ = 5,
  ZIP_ER_NOENT = 9,
  ZIP_ER_OPEN = 11,
  ZIP_ER_MEMORY = 14,
  ZIP_ER_NOZIP = 19,
  ZIP_ER_TELL = 30
};
enum { ZIP_FL_ENC_GUESS = 0, ZIP_FL_ENC_RAW = 64 };
enum { ZIP_STAT_SIZE = 4, ZIP_STAT_COMP_SIZE = 8, ZIP_STAT_COMP_METHOD = 64, ZIP_STAT_ENCRYPTION_METHOD = 128 };

inline void zip_error_init(zip_error_t* error) {
  error->code = ZIP_ER_OPEN;
}
inline void zip_error_fini(zip_error_t*) {}
inline int zip_error_code_zip(const zip_error_t* error) {
  return error->code;
}
inline const char* zip_error_strerror(zip_error_t*) {
  return "there are no archives here";
}
inline const char* zip_strerror(zip_t*) {
  return zip_error_strerror(nullptr);
}
inline const char* zip_file_strerror(zip_file_t*) {
  return zip_error_strerror(nullptr);
}

inline zip_source_t* zip_source_buffer_create(const void*, zip_uint64_t, int, zip_error_t*) {
  return nullptr;
}
inline zip_source_t* zip_source_file_create(const char*, zip_uint64_t, zip_int64_t, zip_error_t*) {
  return nullptr;
}
inline zip_source_t* zip_source_buffer_fragment(zip_t*, const zip_buffer_fragment_t*, zip_uint64_t, int) {
  return nullptr;
}
inline void zip_source_keep(zip_source_t*) {}
inline void zip_source_free(zip_source_t*) {}
inline int zip_source_open(zip_source_t*) {
  return -1;
}
inline int zip_source_close(zip_source_t*) {
  return -1;
}
inline int zip_source_stat(zip_source_t*, zip_stat_t*) {
  return -1;
}
inline zip_int64_t zip_source_read(zip_source_t*, void*, zip_uint64_t) {
  return -1;
}
inline zip_error_t* zip_source_error(zip_source_t*) {
  return nullptr;
}

inline zip_t* zip_open_from_source(zip_source_t*, int, zip_error_t*) {
  return nullptr;
}
inline int zip_close(zip_t*) {
  return -1;
}
inline void zip_discard(zip_t*) {}
inline zip_error_t* zip_get_error(zip_t*) {
  return nullptr;
}
inline zip_int64_t zip_get_num_entries(zip_t*, zip_uint32_t) {
  return 0;
}
inline const char* zip_get_name(zip_t*, zip_uint64_t, zip_uint32_t) {
  return nullptr;
}
inline void zip_stat_init(zip_stat_t* stat) {
  *stat = {};
}
inline int zip_stat_index(zip_t*, zip_uint64_t, zip_uint32_t, zip_stat_t*) {
  return -1;
}
inline zip_file_t* zip_fopen_index(zip_t*, zip_uint64_t, zip_uint32_t) {
  return nullptr;
}
inline zip_int64_t zip_fread(zip_file_t*, void*, zip_uint64_t) {
  return -1;
}
inline int zip_fclose(zip_file_t*) {
  return -1;
}
inline zip_int64_t zip_file_add(zip_t*, const char*, zip_source_t*, zip_uint32_t) {
  return -1;
}
inline int zip_file_set_dostime(zip_t*, zip_uint64_t, zip_uint16_t, zip_uint16_t, zip_uint32_t) {
  return -1;
}
inline int zip_set_file_compression(zip_t*, zip_uint64_t, int, zip_uint32_t) {
  return -1;
}
