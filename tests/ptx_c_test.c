/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels through the interface for C, compiled as C: what ptx_c_test.cpp calls. */
#include <string.h>

#include "warpbit/warpbit.h"

/* y = a x + y for 50 elements in two blocks of 32 threads. Returns what went wrong, or null. */
const char* c_launch(const char* text, float y[50], float x[50]) {
  warpbit_module* module = NULL;
  warpbit_kernel* kernel = NULL;
  warpbit_module_description module_is = WARPBIT_INIT(warpbit_module_description);
  warpbit_kernel_description kernel_is = WARPBIT_INIT(warpbit_kernel_description);
  warpbit_parameter last = WARPBIT_INIT(warpbit_parameter);
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
  warpbit_argument arguments[4] = {{WARPBIT_BUFFER, NULL, 0}, {WARPBIT_BUFFER, NULL, 0}, {WARPBIT_VALUE, NULL, 4},
                                   {WARPBIT_VALUE, NULL, 4}};
  float a = 2;
  uint32_t n = 50;
  arguments[0].data = y;
  arguments[1].data = x;
  arguments[0].bytes = arguments[1].bytes = 50 * sizeof *x;
  arguments[2].data = &a;
  arguments[3].data = &n;
  how.grid[0] = 2;
  how.block[0] = 32;
  if (warpbit_load_module(text, "sm_90a", &module) != WARPBIT_OK) return warpbit_message();
  if (warpbit_describe_module(module, &module_is) != WARPBIT_OK) return warpbit_message();
  if (strcmp(module_is.target, "sm_90a") != 0 || strcmp(warpbit_kernel_name(module, 0), "saxpy") != 0 ||
      warpbit_kernel_name(module, module_is.kernels) != NULL)
    return "the description of the module is wrong";
  if (warpbit_find_kernel(module, "saxpy", &kernel) != WARPBIT_OK) return warpbit_message();
  warpbit_free_module(module);
  if (warpbit_describe_kernel(kernel, &kernel_is) != WARPBIT_OK ||
      warpbit_describe_parameter(kernel, 3, &last) != WARPBIT_OK)
    return warpbit_message();
  if (strcmp(kernel_is.name, "saxpy") != 0 || kernel_is.parameters != 4 || kernel_is.shared_bytes != 0 ||
      strcmp(last.name, "n") != 0 || strcmp(last.type, "u32") != 0 || last.bytes != 4 || last.offset != 20 ||
      last.alignment != 4)
    return "the description of the kernel is wrong";
  if (warpbit_launch(kernel, &how, arguments, 4, &report) != WARPBIT_OK) return warpbit_message();
  if (report.blocks != 2 || report.steps == 0 || report.fault != NULL || report.printed[0] != 0 || !report.contracted)
    return "the report is wrong";
  warpbit_free_kernel(kernel);
  return NULL;
}
