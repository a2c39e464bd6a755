// SPDX-License-Identifier: Apache-2.0
// What random kernels are made of: statements as rows (rows/), whose text is
//
//     =f       a new register of class f                 ?f     a register or a literal
//     %f       a register that has a value               #f     a literal; #g a power of two; #k one of known numbers
//     ^f ^^f   the last, last but one that the row made  #[a:b:s]  a number from a to b in steps of s
//     &f       bytes of the results, which the row fills  (a|b)  one of these
//     $z $n    the kernel's .ftz; .rn or nothing         <in> <out> <tid>  inputs, results, thread
//     <tile>   shared memory; <own> the thread's bytes of it; <other> a register for an address of others'
//
// A row that begins with ! needs all threads of the block; a name that begins with : is a block of statements (kernel.hpp).
#pragma once

#include <string_view>

namespace random_kernels {

/// A class of values. Several share a kind of register.
struct Class {
  char letter;
  std::string_view prefix, declared, moved;  ///< "%f", "f32", "f32"
  int bytes;                                 ///< in memory
};
inline constexpr Class kClasses[] = {
    {'f', "%f", "f32", "f32", 4},   {'d', "%d", "f64", "f64", 8}, {'r', "%r", "b32", "b32", 4},
    {'l', "%rd", "b64", "b64", 8},  {'s', "%h", "b16", "b16", 2}, {'h', "%h", "b16", "b16", 2},
    {'b', "%h", "b16", "b16", 2},   {'x', "%r", "b32", "b32", 4}, {'y', "%r", "b32", "b32", 4},
    {'p', "%p", "pred", "pred", 0},
};
constexpr const Class& class_of(char letter) {
  for (const Class& one : kClasses)
    if (one.letter == letter) return one;
  return kClasses[0];
}

struct Row {
  int weight;
  std::string_view text;
};

#define COMPARE   "(eq|ne|lt|le|gt|ge|lt|gt|le|ge|equ|neu|ltu|leu|gtu|geu|num|nan)"
#define ROUND     "(rn|rz|rm|rp)"
#define ROUND_INT "(rni|rzi|rmi|rpi)"

}  // namespace random_kernels
