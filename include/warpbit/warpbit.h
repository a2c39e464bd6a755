/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * warpbit for C and for languages that call C: parse, describe, fragments, execute, products, captures, kernels.
 *
 * Every function that can refuse returns a status and leaves a message for the calling thread. No exception
 * leaves the library, nothing is printed. Handles are immutable and may be shared between threads; two calls
 * may run at the same time unless they write the same memory. A structure that the library fills in, or reads
 * options from, starts with its size as the caller was compiled with: WARPBIT_INIT sets it. What was added
 * later lies behind. */
#ifndef WARPBIT_WARPBIT_H
#define WARPBIT_WARPBIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WARPBIT_API __attribute__((visibility("default")))
#else
#define WARPBIT_API
#endif

/** Grows when something is added; a function or structure never changes. */
#define WARPBIT_ABI 4
/** WARPBIT_ABI of the library that runs. */
WARPBIT_API uint32_t warpbit_abi(void);
/** "1.0.0" */
WARPBIT_API const char* warpbit_version(void);

/** Zeros with the size in front: `warpbit_description d = WARPBIT_INIT(warpbit_description);` */
#ifdef __cplusplus
extern "C++" {
template <class Struct>
Struct warpbit_init() {
  Struct out{};
  out.size = sizeof out;
  return out;
}
}
#define WARPBIT_INIT(type) warpbit_init<type>()
#else
#define WARPBIT_INIT(type) \
  { .size = sizeof(type) }
#endif

/** Roughly, the kind of error. */
typedef enum warpbit_status {
  WARPBIT_OK = 0,
  WARPBIT_STATEMENT = 1, /**< the text, the form or the target */
  WARPBIT_EXECUTION = 2, /**< operands, lanes, arithmetic that is not known */
  WARPBIT_MEMORY = 3,    /**< addresses and descriptors */
  WARPBIT_FILE = 4,      /**< capture files */
  WARPBIT_USAGE = 5,     /**< an argument of these functions */
  WARPBIT_NO_MEMORY = 6, /**< the machine has none left */
  WARPBIT_INTERNAL = 7   /**< a mistake in the library */
} warpbit_status;

/** The error of this thread's last refused call: one sentence with what was seen, where, and what is
 * accepted; and the name of the error, e.g. "no_such_form". Initially empty. Valid until this thread's
 * next refused call. */
WARPBIT_API const char* warpbit_message(void);
WARPBIT_API const char* warpbit_error_name(void);

/** An instruction of a target. */
typedef struct warpbit_instruction warpbit_instruction;

/** Decodes a statement ("mma.sync... {d}, {a}, {b}, {c};") or a bare form, which may be short, for a target ("sm_90a", "H100"). On
 * success the caller must pass *instruction to warpbit_free. */
WARPBIT_API warpbit_status warpbit_parse(const char* text, const char* target,
                                         warpbit_instruction** instruction);
/** A null pointer has no effect. */
WARPBIT_API void warpbit_free(warpbit_instruction* instruction);

/** Texts live as long as the instruction. Sizes as in warpbit/instruction.hpp, Instruction. */
typedef struct warpbit_description {
  size_t size;
  const char* form;   /**< in the manual's spelling, without operands */
  const char* family; /**< as in `warpbit list` */
  const char* target;
  int32_t operands;
  int32_t lanes; /**< 32, 128 for a warpgroup, 1 for an instruction of each thread */
  int32_t rows, columns, depth, terms, products;
  int32_t uses_memory; /**< 0 or 1 */
  int32_t inferred;    /**< 1: the arithmetic rests on no hardware result */
} warpbit_description;
WARPBIT_API warpbit_status warpbit_describe(const warpbit_instruction* instruction,
                                            warpbit_description* description);

/** How an operand is written. */
typedef enum warpbit_kind {
  WARPBIT_REGISTERS = 0, /**< a vector of registers */
  WARPBIT_SCALAR = 1,    /**< one register */
  WARPBIT_IMMEDIATE = 2,
  WARPBIT_PAIR = 3,
  WARPBIT_ADDRESS = 4,
  WARPBIT_DESCRIPTOR = 5,
  WARPBIT_PREDICATE = 6
} warpbit_kind;

/** An operand, without its registers. */
typedef struct warpbit_operand {
  size_t size;
  const char* role;   /**< "d", "a", "b", "c", "e", ...: the manual's name */
  const char* format; /**< "f16", "e4m3", "s8", ...: of an element */
  int32_t kind;       /**< warpbit_kind */
  int32_t is_destination;
  int32_t registers;     /**< in a lane */
  int32_t register_bits; /**< 8, 16, 32 or 64 */
  int32_t element_bits;
  int32_t rows, columns, products; /**< of the matrix that the registers hold */
} warpbit_operand;
/** Describes an operand; they are numbered from 0 in the order of the statement. */
WARPBIT_API warpbit_status warpbit_describe_operand(const warpbit_instruction* instruction, int32_t operand,
                                                    warpbit_operand* description);

/** A place in the registers of an operand. */
typedef struct warpbit_place {
  int32_t lane, reg, low_bit, bits;
} warpbit_place;
/** An element of the operand's matrix. */
typedef struct warpbit_element {
  int32_t row, column, product;
} warpbit_element;
/** The element that a bit of a register belongs to. *found is 0 if there is none. */
WARPBIT_API warpbit_status warpbit_element_at(const warpbit_instruction* instruction, int32_t operand,
                                              int32_t lane, int32_t reg, int32_t bit, warpbit_element* element,
                                              int32_t* found);
/** Every place that holds an element: writes at most `capacity` of them and sets *count to their total
 * number, 0 outside the matrix. */
WARPBIT_API warpbit_status warpbit_places_of(const warpbit_instruction* instruction, int32_t operand,
                                             warpbit_element element, warpbit_place* places, size_t capacity,
                                             size_t* count);

/** The registers of one operand over (case, lane, register): byte strides from `data`; register_bits / 8
 * bytes each, little-endian, aligned or not. For an operand without registers (an immediate), data is not
 * read. A product whose D is also its accumulator (wgmma) reads and writes the registers of D. */
typedef struct warpbit_registers {
  void* data;
  ptrdiff_t case_stride, lane_stride, register_stride;
} warpbit_registers;
/** The registers of a dense array [cases][lanes][registers]. */
WARPBIT_API warpbit_registers warpbit_dense(const warpbit_instruction* instruction, int32_t operand,
                                            void* data);

/** How to execute; a null pointer means zeros. */
typedef struct warpbit_options {
  size_t size;
  int32_t as_measured;     /**< 1: operands that the manual leaves undefined do what was measured; 0: refused */
  int32_t refuse_inferred; /**< 1: refuses arithmetic that rests on no hardware result */
  int32_t threads;         /**< to split the cases over; 0: OpenMP's number */
} warpbit_options;

/** Executes an instruction that uses no memory, once for each case. `operands` has an entry for each operand,
 * in the order of the statement; the destination must not overlap a source unless it is the same registers.
 * `options` may be null. */
WARPBIT_API warpbit_status warpbit_execute(const warpbit_instruction* instruction,
                                           const warpbit_registers* operands, size_t count, size_t cases,
                                           const warpbit_options* options);

/** Executes any instruction for one warp or warpgroup, whose shared memory is `shared` and begins at the
 * generic address `window`. Asynchronous products are complete on return. On error, registers and memory
 * are unchanged. Memory outside `shared` is out of bounds. */
WARPBIT_API warpbit_status warpbit_execute_warp(const warpbit_instruction* instruction,
                                                const warpbit_registers* operands, size_t count, void* shared,
                                                size_t shared_bytes, uint64_t window,
                                                const warpbit_options* options);

/** A matrix of codes, each in the low bits of an item of 1, 2, 4 or 8 bytes: the smallest that holds a code of
 * the operand (element_bits). Strides are in items: row-major is {data, columns, 1}. */
typedef struct warpbit_matrix {
  void* data; /**< element (0, 0) */
  ptrdiff_t row_stride, column_stride;
} warpbit_matrix;

/** D = A B + C of matrices of any size; contracts as in warpbit/gemm.hpp. Only D is written. */
typedef struct warpbit_product {
  size_t size;
  size_t rows, columns, depth;
  warpbit_matrix a, b; /**< rows x depth, depth x columns */
  warpbit_matrix c;    /**< without data: +0 */
  warpbit_matrix d;
  warpbit_matrix a_scale, b_scale; /**< with block scaling: rows x blocks of K, blocks of K x columns */
  const char* order;   /**< "split_k=2 store=f16": SumOrder in words (warpbit/gemm.hpp); null: ascending */
  warpbit_matrix bias; /**< in the format of D; without data: none */
} warpbit_product;
/** Computes D with a dense product (mma, with block scaling or without, wmma, wgmma), bit for bit as the
 * instruction does tile by tile along K. `options` may be null; its threads share D. */
WARPBIT_API warpbit_status warpbit_gemm(const warpbit_instruction* instruction, const warpbit_product* product,
                                        const warpbit_options* options);

/** The outcome of replaying a capture file (src/capture/FORMAT.md). */
typedef struct warpbit_report {
  size_t size;
  uint64_t cases, elements, mismatches;
  int32_t inferred;
} warpbit_report;
/** Replays a capture file and compares every element. `target` may be null: then that of the file.
 * Mismatches also give WARPBIT_OK; the message then describes the first one. */
WARPBIT_API warpbit_status warpbit_verify(const char* path, const char* target, warpbit_report* report);

/* ---- Kernels of PTX (libwarpbit-kernels); contracts as in warpbit/ptx.hpp */

/** A module of PTX, and a kernel of it. A module whose kernels are in use may be freed. */
typedef struct warpbit_module warpbit_module;
typedef struct warpbit_kernel warpbit_kernel;

/** Reads the text of a module, with a zero at its end. `target` may be null: then the module's own. On success the
 * caller must pass *module to warpbit_free_module. */
WARPBIT_API warpbit_status warpbit_load_module(const char* text, const char* target, warpbit_module** module);
/** A null pointer has no effect. */
WARPBIT_API void warpbit_free_module(warpbit_module* module);

/** Texts live as long as the module. */
typedef struct warpbit_module_description {
  size_t size;
  const char* target;
  int32_t kernels;
} warpbit_module_description;
WARPBIT_API warpbit_status warpbit_describe_module(const warpbit_module* module,
                                                   warpbit_module_description* description);
/** The name of a kernel, numbered from 0 in the order of the text; null if there is none. Lives as long as the
 * module. */
WARPBIT_API const char* warpbit_kernel_name(const warpbit_module* module, int32_t kernel);

/** A kernel by its name, ready to run. On success the caller must pass *kernel to warpbit_free_kernel. */
WARPBIT_API warpbit_status warpbit_find_kernel(const warpbit_module* module, const char* name,
                                               warpbit_kernel** kernel);
/** A null pointer has no effect. */
WARPBIT_API void warpbit_free_kernel(warpbit_kernel* kernel);

/** Texts live as long as the kernel. */
typedef struct warpbit_kernel_description {
  size_t size;
  const char* name;
  int32_t parameters;
  uint64_t shared_bytes; /**< static shared memory of a block */
} warpbit_kernel_description;
WARPBIT_API warpbit_status warpbit_describe_kernel(const warpbit_kernel* kernel,
                                                   warpbit_kernel_description* description);

/** A parameter of a kernel. */
typedef struct warpbit_parameter {
  size_t size;
  const char* name;
  const char* type; /**< as PTX spells it, without the dot: "u64"; of an array that of its elements */
  size_t bytes, offset, alignment;
} warpbit_parameter;
/** Describes a parameter; they are numbered from 0. */
WARPBIT_API warpbit_status warpbit_describe_parameter(const warpbit_kernel* kernel, int32_t parameter,
                                                      warpbit_parameter* description);

/** The bytes of a variable in global or constant memory, which live as long as the module and its kernels. */
WARPBIT_API warpbit_status warpbit_variable(const warpbit_module* module, const char* name, void** data,
                                            size_t* bytes);

/** What an argument is. */
typedef enum warpbit_argument_kind {
  WARPBIT_NULL = 0,    /**< a null pointer; data and bytes are ignored */
  WARPBIT_BUFFER = 1,  /**< memory of the caller, which the kernel reads and writes */
  WARPBIT_VALUE = 2,   /**< a number or a structure, copied from data */
  WARPBIT_CONSTANT = 3, /**< memory of the caller, which the kernel only reads; a write is a fault */
  WARPBIT_UNWRITTEN = 4 /**< like WARPBIT_BUFFER, without values as cudaMalloc returns it: the rule never_written */
} warpbit_argument_kind;
/** An argument of a launch. */
typedef struct warpbit_argument {
  int32_t kind; /**< warpbit_argument_kind */
  void* data;
  size_t bytes;
} warpbit_argument;

/** The number by which the launches of this process reach an array, for pointers inside structures and for tensor
 * maps, until it is forgotten as often as it was asked for. */
WARPBIT_API warpbit_status warpbit_address(void* data, size_t bytes, uint64_t* address);
WARPBIT_API warpbit_status warpbit_forget(uint64_t address);

/** Which requests for clusters that have not begun succeed (clusterlaunchcontrol.try_cancel); warpbit::ptx::Cancel. */
typedef enum warpbit_cancel {
  WARPBIT_CANCEL_FIRST_COME = 0, /**< each cluster that requests another one takes the next in its line */
  WARPBIT_CANCEL_NEVER = 1,      /**< all requests fail */
  WARPBIT_CANCEL_ALWAYS = 2,     /**< one cluster at a time runs, and takes whatever it requests */
  WARPBIT_CANCEL_RANDOM = 3      /**< by cancel_seed */
} warpbit_cancel;
/** How to launch. */
typedef struct warpbit_launch_options {
  size_t size;
  uint32_t grid[3], block[3]; /**< x, y, z; 0 counts as 1 */
  uint64_t shared_bytes;      /**< dynamic shared memory of a block */
  uint64_t step_limit;        /**< the maximum number of steps of a block; 0: any number */
  int32_t separate;           /**< 1: products and sums are not fused, as by `ptxas --fmad=false` */
  int32_t unchecked_shared;   /**< 1: broken rules of kernels are not looked for */
  int32_t as_measured;        /**< these three as in warpbit_options */
  int32_t refuse_inferred;
  int32_t threads;
  int32_t lenient; /**< 1: a broken rule of kernels is a finding at most, and the launch goes on */
  /** Blocks of a cluster: x, y, z; 0 counts as 1. Zeros alone are what the kernel demands (.reqnctapercluster), else
   * no clusters. */
  uint32_t cluster[3];
  const char* without; /**< rules of the assembler that do not act: "fold,contract"; null: all act */
  int32_t as_written;  /**< 1: each statement by itself, as by `ptxas -O0`: none acts */
  int32_t strict;      /**< 1: broken rules without harm on hardware are faults, too */
  /** The grades of single rules of kernels: "data_race=finding,never_written=silent"; grades are silent, note, finding
   * and fault; null: none */
  const char* rules;
  uint64_t cancel_seed;     /**< of WARPBIT_CANCEL_RANDOM */
  int32_t cancel;           /**< warpbit_cancel: which clusters take others that have not begun */
  int32_t unchecked_global; /**< 1: races in global memory are not looked for */
  /** In which order clusters, blocks and warps take turns, and for how long: 0 is the usual one, each other number another one */
  uint64_t schedule;
} warpbit_launch_options;

/** What a launch did. Texts are valid until this thread's next launch. */
typedef struct warpbit_launch_report {
  size_t size;
  uint64_t blocks;     /**< that have ended */
  uint64_t steps;      /**< instructions of warps */
  int32_t inferred;    /**< 1: arithmetic of it rests on no hardware result */
  int32_t contracted;  /**< 1: products and sums were fused */
  const char* fault;   /**< what the kernel must not do, a line for each side; null if there was nothing */
  const char* printed; /**< by printf, block by block */
  /** Statements that were executed and leave a result open, a line for each: "line 40: atom.global.add.f32: the sum
   * depends on the order of the additions"; null if there are none. */
  const char* order_dependent;
  uint64_t findings;  /**< and notes, for warpbit_describe_finding */
  uint64_t cancelled; /**< blocks that did not begin, since other clusters have taken theirs */
  /** Accesses to shared and to global memory that were checked: one for each lane of a load, a store or an atomic */
  uint64_t checked_shared, checked_global;
  /** Phases of barriers that were complete, asynchronous copies, asynchronous products */
  uint64_t checked_barriers, checked_copies, checked_products;
} warpbit_launch_report;
/** Runs a kernel; launches of a module take turns. `arguments` has an entry for each parameter. A fault gives the status of
 * its kind, and is the message; then the content of the buffers is unspecified, but `report` is filled in, which may be
 * null. */
WARPBIT_API warpbit_status warpbit_launch(const warpbit_kernel* kernel, const warpbit_launch_options* options,
                                          const warpbit_argument* arguments, size_t count,
                                          warpbit_launch_report* report);

/** What of this thread's last launch rests on no hardware result, a line for each form: "line 12: ex2.approx.f32: all bits
 * within an error; as an H100"; null if there is nothing. Valid until this thread's next launch. */
WARPBIT_API const char* warpbit_inferences(void);

/** Where rules of the assembler have acted in this thread's last launch, a line for each rule and line: "line 12: contract:
 * add.f32 %f4, %f3, %f2"; null if nowhere. Valid until this thread's next launch. */
WARPBIT_API const char* warpbit_assembled(void);

/** Where a GPU leaves other bits than this thread's last launch, by a defect of the assembler, a line for each: "line 12:
 * bfe-position: bfe.s32 %r2, %r1, 32, 8: ptxas (13.0) makes it ones; by the PTX manual all bits are the sign"; null if
 * nowhere, and as written. Valid until this thread's next launch. */
WARPBIT_API const char* warpbit_notes(void);

/** A fault behind which a launch has gone on, the first of its kind at these places. Texts are valid until
 * this thread's next launch. */
typedef struct warpbit_finding {
  size_t size;
  const char* message; /**< a line for each side */
  const char* name;    /**< as warpbit_error_name */
  uint64_t times;      /**< it was found in all blocks */
  const char* rule;    /**< of kernels, that is broken */
  const char* grade;   /**< "finding" or "note" */
} warpbit_finding;
/** Describes a finding of this thread's last launch; they are numbered from 0, block by block. */
WARPBIT_API warpbit_status warpbit_describe_finding(uint64_t finding, warpbit_finding* description);

#ifdef __cplusplus
}
#endif

#endif
