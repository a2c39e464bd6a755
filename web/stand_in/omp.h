// SPDX-License-Identifier: Apache-2.0
// OpenMP where there is one thread.
#pragma once

inline int omp_get_active_level() {
  return 0;
}
inline int omp_get_max_active_levels() {
  return 1;
}
inline int omp_get_max_threads() {
  return 1;
}
