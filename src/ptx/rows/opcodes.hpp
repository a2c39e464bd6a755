// SPDX-License-Identifier: Apache-2.0
// What an instruction is, by its opcode: the one table of opcodes beside the rows of forms. A statement carries its row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

/// What a statement does, and what it becomes in a program (grid/compile.cpp).
enum class Does : std::uint8_t {
  compute,  ///< sets registers of its lane from others (scalar/)
  convert,  ///< the same; or a tensor instruction, by its words
  move,
  logic,  ///< computes, or does the same with predicates
  load,
  store,
  atomic,
  reduction,
  branch,
  branch_indexed,
  call,
  ret,
  exit,
  trap,
  allocate,
  save_stack,
  restore_stack,
  window,    ///< makes an address one of another state space
  is_space,  ///< in which one an address lies
  map_address,
  rank_of_address,
  policy,
  copy,
  mbarrier,
  tensor_map,
  shuffle,
  vote,
  match,
  reduce_lanes,
  active_mask,
  elect,
  barrier,
  fence,
  hint,
  discard,
  registers,
  launch_control,
  decompress,
  texture,
  surface_load,
  surface_store,
  surface_reduction,
  surface_query,
  tensor,  ///< of isa/families
};

/// By what the instructions of an opcode are told apart in a profile.
enum class ToldBy : std::uint8_t { opcode, space, first_word };

/// Whether the first operand is what an instruction writes, by the rows of its forms.
enum class Writes : std::uint8_t { never, always, some };

struct Opcode {
  std::string_view name;
  Does does = Does::compute;
  /// What the result is, by its sources from the first on, where they may be addresses: a copied, s two that are added, d one
  /// less another, c one of two, m all mixed, - looked at alone, n it is a number whatever they are, p parts of it, h one that is shifted. Behind them:
  /// mixed. Of a row that says m the sources are factors and the like: no address is made of them.
  std::string_view addresses = {};
  ToldBy told_by = ToldBy::opcode;
  bool stays = false;                  ///< the assembler keeps it, though nobody needs what it writes
  bool accumulates = false;            ///< the first operand is read, too
  bool aligned = false;                ///< all threads of a warp execute it together, without saying so
  Writes first = Writes::always;       ///< its first operand, by the rows
  std::string_view not_modelled = {};  ///< why no kernel executes it
  /// Words of forms that PTX ISA 9.4 or 9.5 announces, and no document describes.
  std::string_view undescribed = {};
};

/// The row of an opcode; of one without a row: it computes.
const Opcode& opcode(std::string_view name);

/// Whether a statement with these words writes its first operand. Precondition: that is no address.
bool writes_first(const Opcode& opcode, std::span<const std::string_view> words);

/// Whether control may come to the statement behind one that has no guard.
bool goes_on(Does does);
/// Whether a basic block ends behind it.
bool ends_block(Does does);
/// Whether lanes take values of others.
bool joins_lanes(Does does);
/// Whether it accesses memory at an address of its own, lane by lane.
bool accesses_memory(Does does);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
