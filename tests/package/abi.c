/* SPDX-License-Identifier: Apache-2.0
 *
 * What callers were compiled with on a 64-bit machine: it never changes. Something new gets a line, and a new
 * WARPBIT_ABI. */
#include <warpbit/warpbit.h>

#define OFFSET(type, member, bytes) \
  _Static_assert(offsetof(type, member) == (bytes), #type "." #member " has moved")
#define SIZE(type, bytes)  _Static_assert(sizeof(type) == (bytes), #type " has another size")
#define VALUE(name, value) _Static_assert((name) == (value), #name " has another value")

VALUE(WARPBIT_ABI, 4);

VALUE(WARPBIT_OK, 0);
VALUE(WARPBIT_STATEMENT, 1);
VALUE(WARPBIT_EXECUTION, 2);
VALUE(WARPBIT_MEMORY, 3);
VALUE(WARPBIT_FILE, 4);
VALUE(WARPBIT_USAGE, 5);
VALUE(WARPBIT_NO_MEMORY, 6);
VALUE(WARPBIT_INTERNAL, 7);
SIZE(warpbit_status, 4);

VALUE(WARPBIT_REGISTERS, 0);
VALUE(WARPBIT_SCALAR, 1);
VALUE(WARPBIT_IMMEDIATE, 2);
VALUE(WARPBIT_PAIR, 3);
VALUE(WARPBIT_ADDRESS, 4);
VALUE(WARPBIT_DESCRIPTOR, 5);
VALUE(WARPBIT_PREDICATE, 6);

OFFSET(warpbit_description, size, 0);
OFFSET(warpbit_description, form, 8);
OFFSET(warpbit_description, family, 16);
OFFSET(warpbit_description, target, 24);
OFFSET(warpbit_description, operands, 32);
OFFSET(warpbit_description, lanes, 36);
OFFSET(warpbit_description, rows, 40);
OFFSET(warpbit_description, columns, 44);
OFFSET(warpbit_description, depth, 48);
OFFSET(warpbit_description, terms, 52);
OFFSET(warpbit_description, products, 56);
OFFSET(warpbit_description, uses_memory, 60);
OFFSET(warpbit_description, inferred, 64);
SIZE(warpbit_description, 72);

OFFSET(warpbit_operand, size, 0);
OFFSET(warpbit_operand, role, 8);
OFFSET(warpbit_operand, format, 16);
OFFSET(warpbit_operand, kind, 24);
OFFSET(warpbit_operand, is_destination, 28);
OFFSET(warpbit_operand, registers, 32);
OFFSET(warpbit_operand, register_bits, 36);
OFFSET(warpbit_operand, element_bits, 40);
OFFSET(warpbit_operand, rows, 44);
OFFSET(warpbit_operand, columns, 48);
OFFSET(warpbit_operand, products, 52);
SIZE(warpbit_operand, 56);

OFFSET(warpbit_place, lane, 0);
OFFSET(warpbit_place, reg, 4);
OFFSET(warpbit_place, low_bit, 8);
OFFSET(warpbit_place, bits, 12);
SIZE(warpbit_place, 16);

OFFSET(warpbit_element, row, 0);
OFFSET(warpbit_element, column, 4);
OFFSET(warpbit_element, product, 8);
SIZE(warpbit_element, 12);

OFFSET(warpbit_registers, data, 0);
OFFSET(warpbit_registers, case_stride, 8);
OFFSET(warpbit_registers, lane_stride, 16);
OFFSET(warpbit_registers, register_stride, 24);
SIZE(warpbit_registers, 32);

OFFSET(warpbit_options, size, 0);
OFFSET(warpbit_options, as_measured, 8);
OFFSET(warpbit_options, refuse_inferred, 12);
OFFSET(warpbit_options, threads, 16);
SIZE(warpbit_options, 24);

OFFSET(warpbit_matrix, data, 0);
OFFSET(warpbit_matrix, row_stride, 8);
OFFSET(warpbit_matrix, column_stride, 16);
SIZE(warpbit_matrix, 24);

OFFSET(warpbit_product, size, 0);
OFFSET(warpbit_product, rows, 8);
OFFSET(warpbit_product, columns, 16);
OFFSET(warpbit_product, depth, 24);
OFFSET(warpbit_product, a, 32);
OFFSET(warpbit_product, b, 56);
OFFSET(warpbit_product, c, 80);
OFFSET(warpbit_product, d, 104);
OFFSET(warpbit_product, a_scale, 128);
OFFSET(warpbit_product, b_scale, 152);
OFFSET(warpbit_product, order, 176);
OFFSET(warpbit_product, bias, 184);
SIZE(warpbit_product, 208);

OFFSET(warpbit_report, size, 0);
OFFSET(warpbit_report, cases, 8);
OFFSET(warpbit_report, elements, 16);
OFFSET(warpbit_report, mismatches, 24);
OFFSET(warpbit_report, inferred, 32);
SIZE(warpbit_report, 40);

VALUE(WARPBIT_NULL, 0);
VALUE(WARPBIT_BUFFER, 1);
VALUE(WARPBIT_VALUE, 2);
VALUE(WARPBIT_CONSTANT, 3);
VALUE(WARPBIT_UNWRITTEN, 4);

VALUE(WARPBIT_CANCEL_FIRST_COME, 0);
VALUE(WARPBIT_CANCEL_NEVER, 1);
VALUE(WARPBIT_CANCEL_ALWAYS, 2);
VALUE(WARPBIT_CANCEL_RANDOM, 3);
SIZE(warpbit_kind, 4);
SIZE(warpbit_argument_kind, 4);
SIZE(warpbit_cancel, 4);

OFFSET(warpbit_module_description, size, 0);
OFFSET(warpbit_module_description, target, 8);
OFFSET(warpbit_module_description, kernels, 16);
SIZE(warpbit_module_description, 24);

OFFSET(warpbit_kernel_description, size, 0);
OFFSET(warpbit_kernel_description, name, 8);
OFFSET(warpbit_kernel_description, parameters, 16);
OFFSET(warpbit_kernel_description, shared_bytes, 24);
SIZE(warpbit_kernel_description, 32);

OFFSET(warpbit_parameter, size, 0);
OFFSET(warpbit_parameter, name, 8);
OFFSET(warpbit_parameter, type, 16);
OFFSET(warpbit_parameter, bytes, 24);
OFFSET(warpbit_parameter, offset, 32);
OFFSET(warpbit_parameter, alignment, 40);
SIZE(warpbit_parameter, 48);

OFFSET(warpbit_argument, kind, 0);
OFFSET(warpbit_argument, data, 8);
OFFSET(warpbit_argument, bytes, 16);
SIZE(warpbit_argument, 24);

OFFSET(warpbit_launch_options, size, 0);
OFFSET(warpbit_launch_options, grid, 8);
OFFSET(warpbit_launch_options, block, 20);
OFFSET(warpbit_launch_options, shared_bytes, 32);
OFFSET(warpbit_launch_options, step_limit, 40);
OFFSET(warpbit_launch_options, separate, 48);
OFFSET(warpbit_launch_options, unchecked_shared, 52);
OFFSET(warpbit_launch_options, as_measured, 56);
OFFSET(warpbit_launch_options, refuse_inferred, 60);
OFFSET(warpbit_launch_options, threads, 64);
OFFSET(warpbit_launch_options, lenient, 68);
OFFSET(warpbit_launch_options, cluster, 72);
OFFSET(warpbit_launch_options, without, 88);
OFFSET(warpbit_launch_options, as_written, 96);
OFFSET(warpbit_launch_options, strict, 100);
OFFSET(warpbit_launch_options, rules, 104);
OFFSET(warpbit_launch_options, cancel_seed, 112);
OFFSET(warpbit_launch_options, cancel, 120);
OFFSET(warpbit_launch_options, unchecked_global, 124);
OFFSET(warpbit_launch_options, schedule, 128);
SIZE(warpbit_launch_options, 136);

OFFSET(warpbit_launch_report, size, 0);
OFFSET(warpbit_launch_report, blocks, 8);
OFFSET(warpbit_launch_report, steps, 16);
OFFSET(warpbit_launch_report, inferred, 24);
OFFSET(warpbit_launch_report, contracted, 28);
OFFSET(warpbit_launch_report, fault, 32);
OFFSET(warpbit_launch_report, printed, 40);
OFFSET(warpbit_launch_report, order_dependent, 48);
OFFSET(warpbit_launch_report, findings, 56);
OFFSET(warpbit_launch_report, cancelled, 64);
OFFSET(warpbit_launch_report, checked_shared, 72);
OFFSET(warpbit_launch_report, checked_global, 80);
OFFSET(warpbit_launch_report, checked_barriers, 88);
OFFSET(warpbit_launch_report, checked_copies, 96);
OFFSET(warpbit_launch_report, checked_products, 104);
SIZE(warpbit_launch_report, 112);

OFFSET(warpbit_finding, size, 0);
OFFSET(warpbit_finding, message, 8);
OFFSET(warpbit_finding, name, 16);
OFFSET(warpbit_finding, times, 24);
OFFSET(warpbit_finding, rule, 32);
OFFSET(warpbit_finding, grade, 40);
SIZE(warpbit_finding, 48);

static uint32_t (*const abi)(void) = warpbit_abi;
static const char* (*const version)(void) = warpbit_version;
static const char* (*const message)(void) = warpbit_message;
static const char* (*const error_name)(void) = warpbit_error_name;
static warpbit_status (*const parse)(const char*, const char*, warpbit_instruction**) = warpbit_parse;
static void (*const release)(warpbit_instruction*) = warpbit_free;
static warpbit_status (*const describe)(const warpbit_instruction*, warpbit_description*) = warpbit_describe;
static warpbit_status (*const describe_operand)(const warpbit_instruction*, int32_t,
                                                warpbit_operand*) = warpbit_describe_operand;
static warpbit_status (*const element_at)(const warpbit_instruction*, int32_t, int32_t, int32_t, int32_t,
                                          warpbit_element*, int32_t*) = warpbit_element_at;
static warpbit_status (*const places_of)(const warpbit_instruction*, int32_t, warpbit_element, warpbit_place*,
                                         size_t, size_t*) = warpbit_places_of;
static warpbit_registers (*const dense)(const warpbit_instruction*, int32_t, void*) = warpbit_dense;
static warpbit_status (*const execute)(const warpbit_instruction*, const warpbit_registers*, size_t, size_t,
                                       const warpbit_options*) = warpbit_execute;
static warpbit_status (*const execute_warp)(const warpbit_instruction*, const warpbit_registers*, size_t, void*,
                                            size_t, uint64_t, const warpbit_options*) = warpbit_execute_warp;
static warpbit_status (*const gemm)(const warpbit_instruction*, const warpbit_product*,
                                    const warpbit_options*) = warpbit_gemm;
static warpbit_status (*const verify)(const char*, const char*, warpbit_report*) = warpbit_verify;
static warpbit_status (*const load_module)(const char*, const char*, warpbit_module**) = warpbit_load_module;
static void (*const free_module)(warpbit_module*) = warpbit_free_module;
static warpbit_status (*const describe_module)(const warpbit_module*,
                                               warpbit_module_description*) = warpbit_describe_module;
static const char* (*const kernel_name)(const warpbit_module*, int32_t) = warpbit_kernel_name;
static warpbit_status (*const find_kernel)(const warpbit_module*, const char*,
                                           warpbit_kernel**) = warpbit_find_kernel;
static void (*const free_kernel)(warpbit_kernel*) = warpbit_free_kernel;
static warpbit_status (*const describe_kernel)(const warpbit_kernel*,
                                               warpbit_kernel_description*) = warpbit_describe_kernel;
static warpbit_status (*const describe_parameter)(const warpbit_kernel*, int32_t,
                                                  warpbit_parameter*) = warpbit_describe_parameter;
static warpbit_status (*const variable)(const warpbit_module*, const char*, void**, size_t*) = warpbit_variable;
static warpbit_status (*const address)(void*, size_t, uint64_t*) = warpbit_address;
static warpbit_status (*const forget)(uint64_t) = warpbit_forget;
static warpbit_status (*const launch)(const warpbit_kernel*, const warpbit_launch_options*,
                                      const warpbit_argument*, size_t, warpbit_launch_report*) = warpbit_launch;
static const char* (*const inferences)(void) = warpbit_inferences;
static const char* (*const assembled)(void) = warpbit_assembled;
static const char* (*const notes)(void) = warpbit_notes;
static warpbit_status (*const describe_finding)(uint64_t, warpbit_finding*) = warpbit_describe_finding;

int main(void) {
  return !(abi() == 4 && version && message && error_name && parse && release && describe && describe_operand &&
           element_at && places_of && dense && execute && execute_warp && gemm && verify && load_module &&
           free_module && describe_module && kernel_name && find_kernel && free_kernel && describe_kernel &&
           describe_parameter && variable && address && forget && launch && inferences && assembled && notes &&
           describe_finding);
}
