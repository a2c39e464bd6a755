// SPDX-License-Identifier: Apache-2.0
// The statements of a module with their places in its text, and texts with some of them changed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/statement.hpp"
#include "ptx/module.hpp"
#include "warpbit/result.hpp"

namespace warpbit::edit {

/// A statement, and where its text stands.
///
///     @%p1  add.s32 %r1, %r2, 5;
///     guard at      length
struct Site {
  const ptx::FunctionText* function;
  int index;  ///< in the function
  int line;
  std::string text;                  ///< in one line, with its guard, as an observation has it
  std::string guard;                 ///< "@%p1 ", or empty
  std::size_t guard_at, at, length;  ///< in the module's text; of the statement without its guard, with its ';'
  warpbit::Statement
      parts;          ///< its words and operands, which view the text; empty if they cannot be told apart
  bool writes_first;  ///< the first operand is its result

  ptx::Does does() const { return function->statements[static_cast<std::size_t>(index)].is->does; }
  bool has(std::string_view qualifier) const;
  /// The last type that it names, without its dot; empty if it names none.
  std::string_view type() const;
  /// The bits of that type; 32 without one.
  int bits() const;
  /// The text of operand n; empty if it has none.
  std::string operand(std::size_t n) const;
  /// The statement with other operands.
  std::string with(const std::vector<std::string>& operands) const;
  std::vector<std::string> operands() const;
};

/// A part of the module's text, and what stands there instead.
struct Edit {
  std::size_t at, length;
  std::string text;
};

class Code {
 public:
  /// Errors: those of the text.
  static Result<Code> read(const std::string& text);

  const std::string& text() const { return module_->text; }
  const ptx::ModuleText& module() const { return *module_; }
  const std::vector<Site>& sites() const { return sites_; }
  const Site& site(int number) const { return sites_[static_cast<std::size_t>(number)]; }
  /// The number of the statement that an observation has; -1 if there is none.
  int find(int line, const std::string& text) const;
  /// The number of a statement of a function; -1 if there is none.
  int find(const ptx::FunctionText* function, int index) const;
  /// The text with these changes, of which no two meet.
  std::string changed(std::vector<Edit> edits) const;

 private:
  std::shared_ptr<const ptx::ModuleText> module_;
  std::vector<Site> sites_;
  std::map<std::pair<int, std::string>, int> by_text_;
};

/// The statement in place of another one, under the same guard.
Edit replaced(const Site& site, std::string text);
/// Statements in place of one and its guard, which comes wherever they have `$G`.
Edit whole(const Site& site, const std::string& text);
/// The bits of a literal operand in the type of the statement, and a literal with such bits as PTX has it.
std::uint64_t literal_of(const Site& site, std::size_t operand);
std::string literal_text(const Site& site, std::size_t operand, std::uint64_t bits);
bool is_literal(const Site& site, std::size_t operand);
bool is_load(const Site& site);
bool is_store(const Site& site);
/// Whether a word is one of some, which blanks part.
bool is_among(std::string_view word, std::string_view words);
/// The text with `guard` for each `$G`.
std::string guarded(std::string text, std::string_view guard);

}  // namespace warpbit::edit
