// SPDX-License-Identifier: Apache-2.0
// The sanitized tool is started thousands of times, and a search for leaks at each end takes a third of its time and a
// thread of its own. The test programs search the same objects.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();

const char* __asan_default_options() {
  return "detect_leaks=0";
}
