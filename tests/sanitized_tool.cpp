// SPDX-License-Identifier: Apache-2.0
// The sanitized tool is started thousands of times, so a start is made cheap: it searches for no leaks at its end, knows no
// redzones of globals, and keeps of each allocation one caller. The test programs do all of that with the same libraries.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();

const char* __asan_default_options() {
  return "detect_leaks=0:report_globals=0:malloc_context_size=1";
}
