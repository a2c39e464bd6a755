// SPDX-License-Identifier: Apache-2.0
// Changes to a function, collected while its statements keep their numbers, and made at once.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>  // exchange
#include <vector>

#include "assembler/assemble.hpp"

namespace warpbit::assembler {

using ptx::FunctionText, ptx::Operand, ptx::Statement;

/// An operand that is a register, a literal; the same with the other sign.
Operand register_operand(int index);
Operand literal_operand(std::uint64_t bits, ptx::Type type);
Operand negated(Operand operand);

class Editor {
 public:
  /// Precondition: `of` outlives the editor.
  explicit Editor(Assembled& of) : of_(of) {}

  /// A new register.
  int temporary(ptx::Type type);
  /// A statement with the guard and the place of another one.
  Statement make(int at, std::string_view opcode, std::vector<std::string_view> words,
                 const std::vector<Operand>& operands);
  void insert_before(int at, Statement statement) { insert_before(at, statement, at); }
  /// It comes from another statement than the one that it stands before.
  void insert_before(int at, Statement statement, int from) {
    edit(at).before.push_back(statement);
    edit(at).from.push_back(from);
  }
  void replace(int at, Statement statement);
  /// It stays if a statement that stays reads what it writes: one that nobody needs, whose step is executed.
  void drop(int at) { edit(at).dropped = true; }
  /// It goes, whoever reads what it writes: it is never executed.
  void remove(int at) { edit(at).removed = true; }
  /// It is executed always.
  void unguard(int at) {
    edit(at);
    of_.function.statements[static_cast<std::size_t>(at)].guard = -1;
  }
  bool is_dropped(int at) const { return changed_ && edits_[static_cast<std::size_t>(at)].dropped; }
  /// Notes that a rule has acted.
  void acted(Rule rule, int at);
  /// Makes the changes. Whether there were any.
  bool apply();

 private:
  struct Edit {
    std::vector<Statement> before = {};
    std::vector<int> from = {};
    bool dropped = false, removed = false, replaced = false;
  };
  void keep_what_is_read();
  Edit& edit(int at) {
    if (!std::exchange(changed_, true)) edits_.assign(of_.function.statements.size(), {});
    return edits_[static_cast<std::size_t>(at)];
  }

  Assembled& of_;
  std::vector<Edit> edits_;  // by statement, if there are any
  bool changed_ = false;
};

/// What a statement says, for the files of this folder.
struct View {
  const FunctionText& f;
  int i;

  const Statement& statement() const { return f.statements[static_cast<std::size_t>(i)]; }
  std::string_view opcode() const { return statement().opcode; }
  ptx::Does does() const { return statement().is->does; }
  /// `_` where a statement that nobody has checked yet has too few.
  const Operand& operand(int n) const;
  int operands() const { return statement().operands; }
  bool is_register(int n) const { return n < operands() && operand(n).kind == Operand::Kind::reg; }
  std::span<const std::string_view> words() const { return ptx::words_of(f, statement()); }
  bool has(std::string_view word) const;
  std::string_view type() const { return words().empty() ? std::string_view() : words().back(); }
  /// Of an instruction with two types that of the result; of others another word, or none.
  std::string_view result_type() const {
    return words().size() < 2 ? std::string_view() : words()[words().size() - 2];
  }
  /// Whether the first two sources are the same register.
  bool is_twice() const { return is_register(1) && is_register(2) && operand(1).index == operand(2).index; }
  bool is_guarded() const { return statement().guard >= 0; }
  /// .rn and the like.
  bool rounds() const;
  /// The bits of a literal; nothing if the operand is none.
  std::optional<std::uint64_t> literal(int n) const;
  /// 1 or -1 of a product of f32 by it; otherwise 0.
  int unit_factor() const;
};

}  // namespace warpbit::assembler
