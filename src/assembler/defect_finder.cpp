// SPDX-License-Identifier: Apache-2.0
#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {

// Whether it stands in a loop of one block.
bool DefectFinder::loops(const View& v) const {
  const int block = flow_.block(v.i);
  const std::vector<int>& next = flow_.blocks()[static_cast<std::size_t>(block)].next;
  return std::ranges::find(next, block) != next.end();
}
// Of a statement in such a loop: whether a source has one value in all rounds.
bool DefectFinder::is_invariant(const View& v, int n) const {
  if (!v.is_register(n)) return true;
  const int last = flow_.blocks()[static_cast<std::size_t>(flow_.block(v.i))].last - 1;
  return flow_.definition_above(v.operand(n).index, last) < 0;
}
// The statement that makes a register, behind copies of whole registers; i < 0: there is none, or it has a guard.
View DefectFinder::maker_of(const Operand& of, int statement) const {
  const int at = of.kind == Operand::Kind::reg ? flow_.definition(of.index, statement) : -1;
  const View out{f_, at};
  return at < 0 || out.is_guarded() ? View{f_, -1} : out;
}
// Whether sources of two statements are the same value in a register.
bool DefectFinder::is_same_source(const View& above, int m, const View& v, int n) const {
  return origin(above, m) >= 0 && origin(above, m) == origin(v, n) && is_same(origin(v, n), above.i, v.i);
}
// Whether a result, and its copies, are there for one statement alone.
bool DefectFinder::serves_alone(const View& made, const View& user) const {
  for (const Halves::Value& copy : halves_.copies(result(made)))
    if (halves_.uses(copy.statement, copy.reg).elsewhere) return false;
  return std::ranges::all_of(halves_.readers(result(made)), [&](const View& one) { return one.i == user.i; });
}

}  // namespace warpbit::assembler
