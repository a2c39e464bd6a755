// SPDX-License-Identifier: Apache-2.0
// The functions of the rows of mistakes.cpp, by what they change.
#pragma once

#include <fmt/format.h>

#include "notice/mistakes.hpp"

namespace warpbit::noticing {

using edit::Code, edit::Site;
using Changes = std::vector<Change>;
using CallChanges = std::vector<CallChange>;

// ---- What statements and calls begin with
inline constexpr std::string_view
    kBarriers = "bar.sync bar.warp bar.arrive bar.cta barrier. __sync",
    kFences = "fence. membar. wgmma.fence tcgen05.fence",
    kWaits = "cp.async.wait_ cp.async.bulk.wait_ wgmma.wait_ tcgen05.wait griddepcontrol.wait",
    kTests = "mbarrier.try_wait mbarrier.test_wait",
    kArrivals = "mbarrier.arrive mbarrier.expect_tx mbarrier.complete_tx cp.async.mbarrier",
    kCommits = "cp.async.commit cp.async.bulk.commit wgmma.commit tcgen05.commit",
    kCopies = "cp.async. cp.reduce. tcgen05.cp",
    kNoCopies = "cp.async.wait cp.async.commit cp.async.mbarrier cp.async.bulk.wait cp.async.bulk.commit",
    kStores = "st. stmatrix. red. wmma.store tcgen05.st multimem.red multimem.st",
    kNoStores = "st.param st.async", kProducts = "mma. wmma.mma wgmma.mma_async tcgen05.mma",
    kFragments = "ldmatrix stmatrix wmma. tcgen05.ld tcgen05.st";

// ---- What a mistake is, in a statement and in a call
inline constexpr const char *kMorePending = "one group more may be pending",
                            *kNoWait = "the wait does not wait", *kOtherParity = "the parity is the other one",
                            *kNoProduct = "the product is left out", *kDIsC = "the product is left out: D is C",
                            *kAddedOutside = "the product is added to C by add.f32",
                            *kOtherSelector = "the sparsity selector is another one",
                            *kOtherByte = "the byte of the scales is another one",
                            *kOtherSign = "A has the other sign (imm-scale-a)",
                            *kTransposedA = "A is read the other way (imm-trans-a)",
                            *kTransposedB = "B is read the other way (imm-trans-b)";
/// The other rounding of one, both as words; empty if the word is none.
std::string_view other_rounding(std::string_view word);

/// The opcode and the words of a statement: "cp.async.wait_group".
std::string name_of(const Site& site);
/// Whether it begins with one of some words, which blanks part.
bool begins(std::string_view name, std::string_view words);
/// Adds the statement with another text, under its guard.
void add_text(const Site& site, std::string text, std::string sentence, Changes& to);
/// Adds the statement with another operand.
void add_operand(const Site& site, std::size_t n, std::string operand, std::string sentence, Changes& to);
/// Adds the statement with another word.
void add_word(const Site& site, std::size_t n, std::string_view word, std::string sentence, Changes& to);
/// Adds that the statement is not there.
void leave_out(const Site& site, std::string sentence, Changes& to);
/// An operand plus a number, as a statement before this one computes it, in a scope of its own.
void add_plus(const Site& site, std::size_t n, std::string_view type, std::int64_t number, std::string sentence,
              Changes& to);
/// The bits of a register that an operand is; 0 if it is none.
int register_bits(const Site& site, std::size_t n);

// ---- Order (kinds_order.cpp)
void barrier(const Code& code, const Site& site, Changes& to);
void fence(const Code& code, const Site& site, Changes& to);
void wait(const Code& code, const Site& site, Changes& to);
void parity(const Code& code, const Site& site, Changes& to);
void arrival(const Code& code, const Site& site, Changes& to);
void copy(const Code& code, const Site& site, Changes& to);
void store(const Code& code, const Site& site, Changes& to);

// ---- Products (kinds_product.cpp)
void fragment(const Code& code, const Site& site, Changes& to);
void transposed(const Code& code, const Site& site, Changes& to);
void selector(const Code& code, const Site& site, Changes& to);
void product_sign(const Code& code, const Site& site, Changes& to);
void product(const Code& code, const Site& site, Changes& to);
void accumulation(const Code& code, const Site& site, Changes& to);

// ---- Places and conditions (kinds_index.cpp)
void swizzle(const Code& code, const Site& site, Changes& to);
void bound(const Code& code, const Site& site, Changes& to);
void comparison(const Code& code, const Site& site, Changes& to);
void last_step(const Code& code, const Site& site, Changes& to);
void guard(const Code& code, const Site& site, Changes& to);
void stride(const Code& code, const Site& site, Changes& to);
void offset(const Code& code, const Site& site, Changes& to);
void parameter(const Code& code, const Site& site, Changes& to);

// ---- Numbers (kinds_number.cpp)
void literal(const Code& code, const Site& site, Changes& to);
void exchanged(const Code& code, const Site& site, Changes& to);
void term(const Code& code, const Site& site, Changes& to);
void rounding(const Code& code, const Site& site, Changes& to);
void fusion(const Code& code, const Site& site, Changes& to);
void sign(const Code& code, const Site& site, Changes& to);

// ---- Calls of kernels in source (kinds_call.cpp)
void barrier(const Call& call, CallChanges& to);
void fence(const Call& call, CallChanges& to);
void wait(const Call& call, CallChanges& to);
void parity(const Call& call, CallChanges& to);
void arrival(const Call& call, CallChanges& to);
void copy(const Call& call, CallChanges& to);
void store(const Call& call, CallChanges& to);
void fragment(const Call& call, CallChanges& to);
void transposed(const Call& call, CallChanges& to);
void selector(const Call& call, CallChanges& to);
void product_sign(const Call& call, CallChanges& to);
void product(const Call& call, CallChanges& to);
void accumulation(const Call& call, CallChanges& to);
void offset(const Call& call, CallChanges& to);
void literal(const Call& call, CallChanges& to);
void rounding(const Call& call, CallChanges& to);

}  // namespace warpbit::noticing
