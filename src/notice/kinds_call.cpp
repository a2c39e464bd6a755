// SPDX-License-Identifier: Apache-2.0
// Mistakes in calls of kernels in source. Indices, bounds and strides are C++, which the compiler has compiled.
#include <algorithm>
#include <charconv>

#include "notice/kinds.hpp"

namespace warpbit::noticing {
namespace {

using How = PlantedCall::Change;

void leave_out_if(const Call& call, std::string_view words, std::string_view what, CallChanges& to) {
  if (begins(call.text, words)) to.push_back({fmt::format("the {} is left out", what)});
}

/// The statement with another text, if it is one.
void add_statement(const Call& call, std::string text, std::string sentence, CallChanges& to) {
  if (Instruction::parse(text, call.target))
    to.push_back({std::move(sentence), How::statement, 0, std::move(text)});
}

std::string replaced(const std::string& text, std::string_view what, std::string_view by) {
  std::string out = text;
  if (const std::size_t at = out.find(what); at != out.npos) out.replace(at, what.size(), by);
  return out;
}

// The literals at the end: "wgmma... {d}, a_desc, b_desc, p, 1, -1, 0, 0;" has four.
struct Tail {
  std::string head;
  std::vector<int> literals;

  std::string text() const { return fmt::format("{}, {};", head, fmt::join(literals, ", ")); }
};

Tail tail_of(std::string text) {
  Tail out;
  while (!text.empty() && (text.back() == ';' || text.back() == ' ')) text.pop_back();
  for (std::size_t at = 0; (at = text.rfind(", ")) != text.npos; text.resize(at)) {
    int number = 0;
    const auto [end, error] = std::from_chars(&text[at + 2], text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) break;
    out.literals.insert(out.literals.begin(), number);
  }
  out.head = std::move(text);
  return out;
}

void toggle(const Call& call, Tail tail, std::size_t n, const char* sentence, CallChanges& to) {
  tail.literals[n] ^= 1;
  add_statement(call, tail.text(), sentence, to);
}

const Operand* find_operand(const Call& call, Part part) {
  return call.instruction ? call.instruction->find(part) : nullptr;
}

std::size_t number_of(const Call& call, const Operand& operand) {
  return static_cast<std::size_t>(&operand - call.instruction->operands().data());
}

}  // namespace

void barrier(const Call& call, CallChanges& to) {
  leave_out_if(call, kBarriers, "barrier", to);
}

void fence(const Call& call, CallChanges& to) {
  leave_out_if(call, kFences, "fence", to);
}

void wait(const Call& call, CallChanges& to) {
  if (begins(call.text, kTests)) to.push_back({kNoWait});
  leave_out_if(call, kWaits, "wait", to);
  const std::size_t blank = call.text.find(' ');
  if (!begins(call.text, kWaits) || blank == call.text.npos) return;
  if (begins(call.text, "cp.")) to.push_back({kMorePending, How::one_more});
  if (int pending = 0;
      begins(call.text, "wgmma.") &&
      std::from_chars(&call.text[blank + 1], call.text.data() + call.text.size(), pending).ec == std::errc())
    add_statement(call, fmt::format("{} {};", call.text.substr(0, blank), pending + 1), kMorePending, to);
}

void parity(const Call& call, CallChanges& to) {
  if (begins(call.text, kTests) && call.text.ends_with(".parity")) to.push_back({kOtherParity, How::toggled});
}

void arrival(const Call& call, CallChanges& to) {
  leave_out_if(call, kArrivals, "arrival", to);
  leave_out_if(call, kCommits, "commit", to);
}

void copy(const Call& call, CallChanges& to) {
  if (!begins(call.text, kNoCopies)) leave_out_if(call, kCopies, "copy", to);
}

void store(const Call& call, CallChanges& to) {
  leave_out_if(call, kStores, "store", to);
}

// wgmma's fragments are registers of all its products.
void fragment(const Call& call, CallChanges& to) {
  if (!call.instruction || (!begins(call.text, "mma.") && !begins(call.text, kFragments))) return;
  for (const Operand& one : call.instruction->operands())
    if (one.kind == OperandKind::vector && one.registers >= 2)
      to.push_back({fmt::format("registers 0 and 1 of {} are exchanged", one.role), How::exchanged,
                    number_of(call, one)});
}

void transposed(const Call& call, CallChanges& to) {
  if (begins(call.text, "ldmatrix stmatrix")) {
    if (call.text.find(".trans") != call.text.npos)
      return add_statement(call, replaced(call.text, ".trans", ""), "without .trans", to);
    return add_statement(call, replaced(call.text, ".shared", ".trans.shared"), "with .trans", to);
  }
  const Tail tail = tail_of(call.text);
  const std::size_t count = tail.literals.size();
  if (begins(call.text, "wgmma.mma_async") && count >= 3) toggle(call, tail, count - 1, kTransposedB, to);
  if (begins(call.text, "wgmma.mma_async") && count >= 4) toggle(call, tail, count - 2, kTransposedA, to);
}

void selector(const Call& call, CallChanges& to) {
  const Tail tail = tail_of(call.text);
  if (begins(call.text, "mma.sp") && !tail.literals.empty())
    toggle(call, tail, tail.literals.size() - 1, kOtherSelector, to);
  // With fewer scale factors in a word than it has bytes another byte is none of them.
  if (call.text.find("scale_vec::1X") == call.text.npos) return;
  for (const Part part : {Part::selector_a, Part::selector_b})
    if (const Operand* const operand = find_operand(call, part);
        operand != nullptr && begins(call.text, "mma."))
      to.push_back(
          {fmt::format("{} ({})", kOtherByte, operand->role), How::toggled, number_of(call, *operand)});
}

void product_sign(const Call& call, CallChanges& to) {
  Tail tail = tail_of(call.text);
  if (!begins(call.text, "wgmma.mma_async") || tail.literals.size() < 2 || tail.literals.front() != 1) return;
  tail.literals.front() = -1;
  add_statement(call, tail.text(), kOtherSign, to);
}

void product(const Call& call, CallChanges& to) {
  if (begins(call.text, "wgmma.mma_async tcgen05.mma")) to.push_back({kNoProduct});
  if (begins(call.text, "mma.") && find_operand(call, Part::c) != nullptr) to.push_back({kDIsC});
}

void accumulation(const Call& call, CallChanges& to) {
  const Operand *const c = find_operand(call, Part::c), *const d = find_operand(call, Part::d);
  if (begins(call.text, "mma.") && c != nullptr && d != nullptr && d->format == "f32")
    to.push_back({kAddedOutside, How::added, number_of(call, *c)});
}

void offset(const Call& call, CallChanges& to) {
  const std::size_t bits = call.text.rfind(".b");
  if (begins(call.text, "ld. st.") && bits != call.text.npos)
    to.push_back({fmt::format("{} bytes further", std::stoi(call.text.substr(bits + 2)) / 8), How::further});
}

void literal(const Call& call, CallChanges& to) {
  if (begins(call.text, "__shfl")) to.push_back({"its lane, delta or mask is one more", How::one_more});
}

void rounding(const Call& call, CallChanges& to) {
  if (!begins(call.text, "cvt.")) return;
  for (const std::string_view word : {"rn", "rz", "rna"})
    if (const std::string_view other = other_rounding(word);
        call.text.find(fmt::format(".{}.", word)) != call.text.npos)
      add_statement(call, replaced(call.text, fmt::format(".{}.", word), fmt::format(".{}.", other)),
                    fmt::format("with .{} in place of .{}", other, word), to);
}

}  // namespace warpbit::noticing
