// SPDX-License-Identifier: Apache-2.0
// Elements of whole matrices that come from elsewhere, or of D go elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "diagnose/hypothesis.hpp"

namespace warpbit::diagnosis {

// An element of a matrix: its row and column. A row of kZero: it is 0; of kElsewhere: it is not known.
struct From {
  int row, column;
};

// Each element of a matrix is that of source(row, column); of D the source says where an element is written.
struct WholeMove {
  Part part;
  std::function<From(int row, int column)> source;
  bool tail = false;  // also what is outside the matrix is read; else it is 0
};

// What a move does to all elements of a matrix.
struct MoveSummary {
  std::uint64_t hash;    // of where each comes from
  bool identity, known;  // each from where it should be; one of the matrix is known
};

// Hypotheses about a product of whole matrices.
class MatrixCollection {
 public:
  // Precondition: it is about matrices.
  explicit MatrixCollection(Collection& all) : to(all), matrices(*all.capture.matrices) {}

  const Codes& matrix(Part part) const;
  const Instruction& instruction() const { return to.instruction; }
  static char letter(Part part) { return "DABC"[static_cast<int>(part)]; }

  // A mistake that moves elements, unless another one does the same to all of them, or none is known then.
  void add(Hypothesis h, std::vector<WholeMove> moves);
  // The same with what is known of each of the moves, which may be a part of several mistakes.
  void add(Hypothesis h, std::vector<WholeMove> moves, std::span<const MoveSummary> summaries);
  MoveSummary summary(const WholeMove& move) const;

  Collection& to;
  const Matrices& matrices;

 private:
  Codes padded(Part part) const;

  std::set<std::uint64_t> seen_;  // hashes of moves
};

inline int rounded_up(int n, int to) {
  return (n + to - 1) / to * to;
}

void collect_matrices(MatrixCollection& to);
void collect_steps(MatrixCollection& to);
void collect_mixed_tiles(MatrixCollection& to);
void collect_shared_tiles(MatrixCollection& to);

}  // namespace warpbit::diagnosis
