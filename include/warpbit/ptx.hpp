// SPDX-License-Identifier: Apache-2.0
// Kernels as compilers make them: a module of PTX is loaded, and a kernel of it is run as a grid, without a GPU. Every
// byte of memory is what a GPU leaves there; mistakes that hardware hides are faults.
//
//     auto module = ptx::Module::load(text);
//     auto kernel = module->function("saxpy");
//     ptx::Report report = kernel->launch({.grid = {4}, .block = {128}},
//                                         {ptx::buffer(x), ptx::buffer(y), ptx::value(2.0F), ptx::value(512)});
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "warpbit/block_state.hpp"
#include "warpbit/detail/block.hpp"  // Dim3
#include "warpbit/detail/source.hpp"
#include "warpbit/detail/surface.hpp"
#include "warpbit/detail/texture.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/fault.hpp"
#include "warpbit/result.hpp"
#include "warpbit/review.hpp"
#include "warpbit/target.hpp"
#include "warpbit/timeline.hpp"

#pragma GCC visibility push(default)
namespace warpbit::ptx {

/// A parameter of a kernel (PTX manual, "Kernel Function Parameter Attributes").
struct Parameter {
  std::string name;
  std::string type;    ///< as PTX spells it, without the dot: "u64"; of an array that of its elements
  std::size_t bytes;   ///< of the whole parameter
  std::size_t offset;  ///< among all parameters
  std::size_t alignment;
};

/// The caller's memory as cudaMalloc returns it: to use a byte before it is written is a fault of the rule never_written.
struct Unwritten {
  std::span<std::byte> bytes;
};

/// An argument of a launch: an array that the kernel reaches by a pointer to its first byte, or the bytes of a number or
/// of a structure passed by value.
using Argument =
    std::variant<std::span<std::byte>, std::vector<std::byte>, std::span<const std::byte>, Unwritten>;

/// The caller's memory, which the kernel reads and writes; of a constant array it only reads, and a write is a fault. It
/// must live until the launch has ended.
template <class T>
requires std::is_trivially_copyable_v<T> Argument buffer(std::span<T> array) {
  if constexpr (std::is_const_v<T>)
    return std::as_bytes(array);
  else
    return std::as_writable_bytes(array);
}
template <class T>
Argument buffer(std::vector<T>& array) {
  return buffer(std::span(array));
}
template <class T>
Argument buffer(const std::vector<T>& array) {
  return buffer(std::span(array));
}
template <class T>
requires std::is_trivially_copyable_v<T> Argument unwritten(std::span<T> array) {
  return Unwritten{std::as_writable_bytes(array)};
}
/// A number or a structure, by value. Pointers in a structure are numbers that `address` has returned; so is the address of
/// a tensor map, which is a structure: TensorMapBytes.
template <class T>
requires std::is_trivially_copyable_v<T> Argument value(const T& number) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&number, 1));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}
/// A null pointer.
inline Argument null() {
  return value(std::uint64_t{0});
}

/// The address by which all launches of this process reach an array, for pointers inside structures and for
/// tensor maps. The same array has the same address until it is forgotten.
std::uint64_t address(std::span<std::byte> array);
/// The array of an address, or the texture, sampler or surface of a handle, is not reached any more. False if neither `address`
/// nor `texture`, `sampler` or `surface` has returned it.
bool forget(std::uint64_t address);

/// A register of a warp, by lane. A predicate is 0 or 1; of 128 bits, the lower half.
struct RegisterValues {
  std::string name;
  /// As what the statement takes it, without the dot: its declared type, or where that is of bits, the statement's.
  std::string_view type;
  std::array<std::uint64_t, 32> values;
  std::uint32_t changed = 0;  ///< the lanes in which a step has changed it
  bool is_written = true;     ///< the statement writes it; of a source: too
  bool is_value =
      true;  ///< what the statement makes is made of it; a guard, an address and a descriptor only say where
};

/// A statement that a warp has executed, or whose execution is a fault.
struct Observation {
  device::Index3 block;
  int warp;
  std::uint32_t lanes;                     ///< that have executed it; 0 if its guard held for none
  int line;                                ///< of the module's text
  std::string statement;                   ///< in one line, with its guard
  std::vector<RegisterValues> registers;   ///< its results; none yet where it waits for other warps
  std::vector<RegisterValues> sources;     ///< what it has read, its guard first
  std::span<const std::byte> shared = {};  ///< the block's shared memory behind it; during the call alone
  std::vector<MemoryAccess> accesses = {};
  std::vector<TensorTouch> tensor_accesses =
      {};                        ///< words of the block's own tensor memory; none where launches check nothing
  bool joins_lanes = false;      ///< lanes take values of others: of shuffles, votes, matrix moves and products
  bool is_found = false;         ///< a finding or a note is new since the statement before
  ObservedBlock* own = nullptr;  ///< the block; during the call alone
};

/// A statement of a kernel, or of a function that it calls.
struct CodeLine {
  int line;               ///< of the module's text
  std::string statement;  ///< in one line, with its guard
  std::string opcode;
  /// The opcode, of accesses with their space, of groups with what tells them apart: "ld.global", "cp.async".
  std::string family;
  std::string file;                    ///< by .loc: of the body of its function; empty without it
  int source_line = 0;                 ///< in that file
  std::vector<SourceLink> chain = {};  ///< that line, and those of the functions that were inlined there
};

/// Executions of statements, and what they move and multiply. Counted, not sampled.
struct Counts {
  std::uint64_t warps = 0;  ///< executions by a warp, or by a part of one that has diverged
  std::uint64_t lanes = 0;  ///< executions by lanes: 32 for each of `warps` if nothing diverges
  /// Of global memory: those that lanes ask for, of ld, st, atom, red and cp.async; and of copies in bulk, which each lane issues by
  /// itself, all that they count: whole boxes, also what of them lies outside of a tensor. A prefetch moves nothing here.
  std::uint64_t bytes = 0;
  /// Of 32 bytes, from a multiple of 32 on, in which they lie: of each execution those of all lanes once, of each copy in bulk
  /// those of the copy once. What lies outside of a tensor is in none, and a multicast reads once.
  std::uint64_t sectors = 0;
  std::uint64_t least_sectors = 0;  ///< as few as could hold as many different bytes, of each execution or copy
  /// Extra wavefronts of shared memory (bank_conflicts in warpbit/state.hpp): of ld, st, atom, red and matrix moves.
  std::uint64_t conflicts = 0;
  /// Of shared memory that lanes ask for, likewise, with matrix moves; of copies to and from it, a multicast once for each block;
  /// of a product of a warpgroup a quarter of its matrices in shared memory for each of its warps; of one in tensor memory its
  /// matrices in shared memory, of both blocks of a pair, padded elements as bytes; of copies to tensor memory.
  std::uint64_t shared_bytes = 0;
  std::uint64_t local_bytes = 0;     ///< of local memory that lanes ask for
  std::uint64_t constant_bytes = 0;  ///< of constant memory and parameters that lanes ask for
  /// Of tensor memory: from and to registers; what copies to it write; of a product there what it reads, A where it lies there,
  /// metadata, scale factors, and D if it accumulates, and D once more, which it writes. Of what lies there in several copies one
  /// counts, and of D all, whatever a mask disables.
  std::uint64_t tensor_bytes = 0;
  /// Multiply-adds of matrix products, M N K each, of a sparse one half of it; of one of a warpgroup a quarter for each warp.
  std::uint64_t products = 0;

  /// The sum of both.
  Counts& operator+=(const Counts& other);
};

/// The executions of one statement.
struct LineCounts : CodeLine, Counts {};

/// A statement with a result that PTX leaves open: it depends on the order in which threads run, on time, or on where the
/// GPU runs them. A launch computes one of the results that there may be.
struct OrderDependence {
  int line;                 ///< of the module's text
  std::string instruction;  ///< opcode and qualifiers, as in "red.global.add"
  std::string why;          ///< "the sum depends on the order of the additions"
  std::string file;         ///< by .loc; empty without it
  int source_line;
};

/// A rule by which the assembler (ptxas) changes the bits that a kernel leaves. At -O0 none acts.
struct AssemblerRule {
  std::string_view name;             ///< as Launch::without takes it
  std::string_view pattern, result;  ///< what it sees, and what it makes of it
  std::string_view since;            ///< the ptxas in which it was first seen
  std::string_view evidence;
};
/// All of them, in the order in which they act.
std::span<const AssemblerRule> assembler_rules();

/// A rule of the assembler has acted on a statement.
struct AssembledLine {
  std::string rule;
  int line;               ///< of the module's text
  std::string statement;  ///< in one line, as it was
  std::string file;       ///< by .loc; empty without it
  int source_line;        ///< in that file
};

/// What of a launch rests on no result of the target's GPU: an instruction, at its first statement, or a rule by which the
/// assembler changes what is computed.
struct Inference {
  int line;                 ///< of the module's text
  std::string instruction;  ///< opcode and qualifiers, or "assembler: contract"
  std::string open;         ///< which part of its results: "the bits of a NaN"
  std::string from;         ///< what they are assumed as: "an H100"
  std::string file;         ///< by .loc; empty without it
  int source_line;
};

/// A form that a kernel may have: scalar instructions, asynchronous copies, barrier objects and the like, of which Instruction
/// knows none.
struct KernelForm {
  std::string form;           ///< as it was asked
  std::string kind;           ///< "integer arithmetic"
  std::string since;          ///< the first version of PTX that has it on the target: "8.0"
  bool has_operands = false;  ///< the text has some, which nobody has looked at: Module::check does
  bool as_target = false;     ///< that is the first version with the target: the form may be older
};
/// The form that a text begins with, by the rules of ptxas 13.0. Errors: as those of Module::check, and where the text is
/// nearer to a tensor instruction, those of Instruction::parse.
Result<KernelForm> kernel_form(std::string_view text, Target target);

/// What loading a module says that is no refusal. One with a defect is a statement that the assembler (ptxas) turns into
/// machine code with other bits than the PTX manual says: a defect of it, which a launch does not imitate. At -O0 few of
/// them are there.
struct AssemblerNote {
  std::string defect;     ///< its name: assembler_defects; empty: a remark
  int line;               ///< of the module's text
  std::string statement;  ///< in one line
  std::string text;       ///< "ptxas (12.8 and 13.0) drops the addend; by the PTX manual each half is a sum"
  std::string file;       ///< by .loc; empty without it
  int source_line;        ///< in that file
};

/// A defect of the assembler.
struct AssemblerDefect {
  std::string_view name;
  std::string_view pattern, result;  ///< what it sees, and what it makes of it
  std::string_view manual;           ///< what the PTX manual says
  std::string_view seen;             ///< the versions of ptxas in which it was seen
  std::string_view evidence;
};
/// All that are known.
std::span<const AssemblerDefect> assembler_defects();

/// What a launch does where a rule of kernel_rules() is broken.
struct GradedRule {
  std::string rule;
  Grade grade;
  /// Of "NAME=GRADE". Error: usage. Whether there is such a rule a launch says.
  static Result<GradedRule> parse(std::string_view text);
};

/// Which requests for clusters that have not begun succeed (PTX manual, "clusterlaunchcontrol.try_cancel"). That is left to
/// the GPU; a launch follows one schedule, the same on any number of host threads.
enum class Cancel : std::uint8_t {
  /// As if clusters ran side by side, about as many as each of them takes: the square root of their number. Each that
  /// requests another one takes the next in its line.
  first_come,
  never,   ///< all requests fail
  always,  ///< one cluster at a time runs, and takes whatever it requests
  random,  ///< by Launch::cancel_seed: who takes which, and which requests fail
};
/// Its name: "first_come".
std::string_view name(Cancel cancel);
/// The schedule of a name.
std::optional<Cancel> find_cancel(std::string_view name);

/// Memory that a launch reaches at a given address, as the GPU had it where a launch was recorded: pointers in structures, tensor
/// maps and memory itself hold. It is the caller's, as that of an argument.
struct PlacedMemory {
  std::uint64_t address = 0;
  std::span<std::byte> bytes = {};
  std::string name = {};  ///< for messages: "the memory 'in_ptr0'"
  /// Empty, or a zero for each byte: the memory begins without values, as Unwritten, and the launch sets here the bits that it
  /// writes.
  std::span<std::byte> defined = {};
  bool is_writable = true;  ///< false: a write to it is a fault
};

/// How to run a kernel.
struct Launch {
  Dim3 grid = {}, block = {};
  /// The blocks of a cluster (CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION): extents that divide those of the grid, at most 16
  /// blocks. Nothing: what the kernel demands (.reqnctapercluster), else no clusters.
  std::optional<Dim3> cluster = {};
  std::uint64_t shared_bytes = 0;  ///< dynamic shared memory of a block
  /// Products and sums are fused as the assembler does by default (`ptxas --fmad=true`).
  bool contract = true;
  /// Each statement by itself, as `ptxas -O0` has it: no rule of the assembler acts. A module whose target says `debug`
  /// (`nvcc -G`) runs so in any case.
  bool as_written = false;
  /// Names of rules that do not act (assembler_rules).
  std::vector<std::string> without = {};
  /// Accesses to shared memory that no barrier orders are faults, and reads of bytes that were never written.
  bool check_shared = true;
  /// With check_shared: the same of global memory, within a block and between blocks, but for reads of what was never written.
  bool check_global = true;
  /// A broken rule of kernel_rules() is a finding at most, and the launch goes on with the bytes that it has without checks. A
  /// fault behind which nothing can go on still ends it.
  bool lenient = false;
  /// Each rule has its grade of the table's column `strict`: nearly all are faults. Tests of barrier objects are false for a
  /// while before they wait, as a GPU may have them.
  bool strict = false;
  /// The grades of single rules, by name; they come before what `lenient` and `strict` say.
  std::vector<GradedRule> grades = {};
  /// The maximum number of steps of a block, one for each instruction of a path of a warp; 0: any number.
  std::uint64_t step_limit = 0;
  /// Which clusters take others that have not begun.
  Cancel cancel = Cancel::first_come;
  std::uint64_t cancel_seed = 0;  ///< of Cancel::random
  /// In which order threads run, which a GPU leaves open (PTX manual, "Independent Thread Scheduling"). 0: each warp goes on until
  /// it waits, warps and blocks in the order of their numbers, and host threads share the blocks. Another number: clusters, blocks
  /// and warps take turns of random lengths that it decides, on one host thread, so the launch does the same each time.
  std::uint64_t schedule = 0;
  /// Memory beside that of the arguments. An address that the process uses itself (0x0e0000000000 to 0x3fffffffffff), and parts
  /// that overlap, are a fault: argument_mismatch.
  std::vector<PlacedMemory> memory = {};
  /// What to refuse, and the number of host threads.
  ExecuteOptions execute = {};
  /// Whether Report::profile is filled.
  bool profile = false;
  /// Whether Report::timeline is, of the observed block.
  bool timeline = false;
  /// Called after each statement of one warp, or of all, of one block. The launch ends if it returns false. A block or a warp that
  /// the launch has not is a fault: launch_shape.
  std::function<bool(const Observation&)> observe = {};
  device::Index3 observed_block = {};
  int observed_warp = 0;
  bool observes_all_warps = false;  ///< of that block, in the order in which they run
  /// Called after blocks have ended, with the number of those that have or were cancelled, and that of all; by one thread at
  /// a time.
  std::function<void(std::uint64_t done, std::uint64_t blocks)> progress = {};
};

/// A fault behind which a launch has gone on, the first of its kind at these lines of the source, or of the PTX.
struct Finding {
  Fault fault;
  std::uint64_t times = 1;                  ///< it was found, in all blocks
  Grade grade = Grade::finding;             ///< or a note
  std::vector<int> warps = {}, lanes = {};  ///< whose fault it was, of all times
  std::uint64_t blocks = 1;                 ///< in which it was found
  /// The number of another finding that shares a line with this one and was found before, as where one barrier is missing
  /// between several lines; -1: none.
  int cause = -1;

  /// "94 more like it: warps 0-3, lanes 0-31, in 8 blocks"; empty if it was found once.
  std::string more() const;
};

/// What was checked: accesses, one for each lane of an instruction, and what orders them or makes them.
struct Checked {
  std::uint64_t shared = 0, global = 0;
  std::uint64_t barriers = 0;  ///< phases that were complete: of bar, barrier.cluster and barrier objects
  std::uint64_t copies = 0;    ///< asynchronous ones: cp.async by lane, and those in bulk
  std::uint64_t products = 0;  ///< asynchronous ones
  /// What the launch was told not to look for: "races in global memory", "the rule data_race".
  std::vector<std::string> not_looked_for = {};

  /// The sum of both counts.
  Checked& operator+=(const Checked& other) {
    shared += other.shared;
    global += other.global;
    barriers += other.barriers;
    copies += other.copies;
    products += other.products;
    return *this;
  }
  /// "checked 12,288 shared and 4,096 global accesses, 3 barriers, 2 copies, 8 products"
  std::string text() const;
};

/// What a launch did.
struct Report {
  std::optional<Fault> fault;  ///< after a fault, the content of the arrays is unspecified
  bool inferred = false;       ///< `inferences` are not empty
  bool contracted = false;     ///< products became part of other instructions, as `--fmad=true` has it
  /// Where rules of the assembler have acted, by line: in all functions that the kernel may call.
  std::vector<AssembledLine> assembled;
  /// Where a GPU leaves other bits by a defect of the assembler, by line: in the same functions. None as written.
  std::vector<AssemblerNote> notes;
  std::uint64_t blocks = 0;           ///< that have ended
  std::uint64_t cancelled = 0;        ///< blocks that did not begin, since other clusters have taken theirs
  std::uint64_t steps = 0;            ///< instructions of warps
  Checked checked;                    ///< see Launch::check_shared and check_global
  std::string printed;                ///< by printf, block by block: the last 1 MiB, as a GPU's buffer has it
  std::uint64_t printed_dropped = 0;  ///< bytes of it before that
  std::vector<Finding> findings;      ///< findings and notes, block by block
  std::vector<LineCounts> profile;    ///< of the statements that were executed, by line; see Launch::profile
  Timeline timeline;                  ///< see Launch::timeline
  bool stopped = false;               ///< Launch::observe has ended it
  /// Statements that were executed and leave something open, by line. Without them the launch has the same bits on any
  /// number of host threads, unless threads race for global memory.
  std::vector<OrderDependence> order_dependent;
  /// Of the statements that the kernel may reach, each form once, by line. A form that has none was recorded on a GPU of the
  /// target, or the PTX manual defines every bit of its results (evidence_table()).
  std::vector<Inference> inferences;

  bool ok() const { return !fault; }
  explicit operator bool() const { return ok(); }
};

/// How many forms of a target rest on what.
struct FormCounts {
  std::uint64_t captured = 0;  ///< a GPU of that target executed them, and left what is computed here
  std::uint64_t defined = 0;   ///< none did; the PTX manual defines every bit
  std::uint64_t inferred =
      0;  ///< the manual leaves something open, and it is as another GPU or another form has it

  std::uint64_t all() const { return captured + defined + inferred; }
};
/// What results of one kind rest on: of instructions that are no tensor instructions, or of a rule of the assembler.
struct KindEvidence {
  std::string_view kind;                     ///< "integers", "atomics of floats"
  std::string_view open;                     ///< what the manual leaves open of them; empty: nothing
  std::string_view tried;                    ///< results of other GPUs that there are, if something is open
  std::vector<std::string_view> recordings;  ///< the folders of what shows the captured ones
  std::vector<FormCounts> by_target;         ///< in the order of Target::all()
};
/// The table of all kinds. Forms that differ only in what changes no result (scopes, orders, hints) count once.
std::vector<KindEvidence> evidence_table();

class Module;

/// A kernel of a module.
class Function {
 public:
  const std::string& name() const;
  const std::vector<Parameter>& parameters() const;
  /// Static shared memory of a block, as a multiple of the greatest alignment in it: what the driver says.
  std::uint64_t shared_bytes() const;
  /// The statements that such a launch may execute, by line. Those that the assembler makes part of others are not there.
  std::vector<CodeLine> lines(const Launch& how = {}) const;
  /// The variables that it has in shared memory, by address.
  std::vector<SharedVariable> shared_variables(const Launch& how = {}) const;

  /// Runs the kernel; launches of a module take turns: one inside `observe` or `progress` of another is refused (launch_shape),
  /// as it is in a process that was forked while the module was launched. Arguments are given in the order of the parameters, each with
  /// the bytes of its parameter. Faults: launch_shape for an impossible launch; argument_mismatch; those of the
  /// instructions.
  Report launch(const Launch& how, std::span<const Argument> arguments) const;
  Report launch(const Launch& how, std::initializer_list<Argument> arguments) const {
    return launch(how, std::span(arguments.begin(), arguments.size()));
  }

 private:
  friend class Module;
  struct State;
  Report launch_once(const Launch& how, std::span<const Argument> arguments) const;
  explicit Function(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// What a report says is wrong: its fault, its findings and notes, and what the assembler makes of statements. A finding with a
/// cause is among the places of that. `file`: of the module; empty if it has none.
std::vector<Remark> remarks(const Report& report, const std::string& file = {});
/// What is refused of a module (Module::load, Module::check), with line and column; and its notes.
std::vector<Remark> remarks(std::span<const Error> refused, const std::string& file);
std::vector<Remark> remarks(std::span<const AssemblerNote> notes, const std::string& file);

/// Which thread stores an element first: the launch is run again and may not store there; the fault says who tried to, and at
/// which statement (`lanes`, `at`, `ptx_line`, `error.where`). Nothing if no thread does, as where a copy in bulk writes it. A
/// store that is wider than the element is found with all lanes that store so near. Arrays of the arguments are in the end as
/// they were; the run begins with what they and variables of the module hold now, and variables keep what it leaves. Errors:
/// argument_mismatch unless an array to write to has the element; a fault that the kernel has by itself.
Result<std::optional<Fault>> find_store(const Function& kernel, const Launch& how,
                                        std::span<const Argument> arguments,
                                        std::span<const std::byte> element);

/// Bytes of a variable that its initial value makes the address of another one, or of a function: a GPU has other ones there.
struct AddressWord {
  std::size_t at = 0;  ///< the first of them
  std::size_t bytes = 0;
};

/// A module (PTX manual, "PTX Module Structure"). Its variables in global and constant memory keep their values from
/// launch to launch.
class Module {
 public:
  /// Reads a module for a target; without one, for the module's own (.target). PTX for an earlier target runs on a later
  /// one. Errors: those of the text, with line and column; not_on_target; unknown_target.
  static Result<Module> load(std::string text, std::optional<Target> target = {});
  /// The same from a file. Errors: also file_unreadable.
  static Result<Module> load_file(const std::filesystem::path& path, std::optional<Target> target = {});

  Target target() const;
  /// The kernels, in the order of the text.
  std::vector<std::string> entries() const;
  /// A kernel, ready to run. Errors: no_such_kernel_entry; that of the first instruction that it reaches and that cannot run.
  Result<Function> function(std::string_view name) const;
  /// Everything that `ptxas` or a launch would refuse, over all functions, with line and column.
  std::vector<Error> check() const;
  /// Where the assembler has a defect, over all functions, by line.
  std::vector<AssemblerNote> notes() const;
  /// The bytes of a variable in global or constant memory. Errors: no_such_variable.
  Result<std::span<std::byte>> variable(std::string_view name) const;
  /// What a variable .texref, .samplerref or .surfref stands for from the next launch on, as cuTexRefSetArray and cuSurfRefSetArray
  /// set it: a handle of `texture`, `sampler` or `surface`. A launch of a kernel that names one without a handle is a fault
  /// (argument_mismatch), but for a sampler with an initial value. A texture is read as its handle says; an initial value that says
  /// otherwise is the same fault. Errors: usage, for another name; argument_mismatch, for another handle.
  Result<void> bind(std::string_view name, std::uint64_t handle) const;
  /// Where addresses lie in a variable by its initial value (PTX manual, "Initializers"). Errors: no_such_variable.
  Result<std::vector<AddressWord>> address_words(std::string_view name) const;

 private:
  friend class Function;
  struct State;
  explicit Module(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static Result<std::shared_ptr<State>> read(std::string text, std::optional<Target> target);
  std::shared_ptr<State> state_;
};

}  // namespace warpbit::ptx

namespace warpbit {

// ---- The table of instructions
//
// The instructions that kernels may have, as a table (doc/isa.md).

/// Forms of a chapter of the PTX manual that are alike in what they need and what they rest on.
struct IsaRow {
  std::string chapter;  ///< "integer arithmetic"
  std::string forms;    ///< patterns, by blanks: {a,b} is one of these, $name one of IsaSet
  std::string targets;  ///< their names, or the first one "and later"
  /// The version of PTX, and those of words that have another one: "7.1, acquire 8.0"; empty: as old as the target.
  std::string since;
  /// How many of the forms a GPU has executed: "12 of 16"; of tensor instructions: on which targets.
  std::string recorded;
  std::string open;  ///< what the manual leaves open of the others, or why none is executed; empty: nothing
};
/// By chapter, scalar instructions first.
std::vector<IsaRow> isa_rows();

/// Words that patterns have by a name.
struct IsaSet {
  std::string_view name;   ///< "rnd"
  std::string_view words;  ///< ".rn,.rz,.rm,.rp"; an empty one may be absent
};
std::vector<IsaSet> isa_sets();

}  // namespace warpbit
#pragma GCC visibility pop
