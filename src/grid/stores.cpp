// SPDX-License-Identifier: Apache-2.0
#include "grid/stores.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "assembler/flow.hpp"
#include "ptx/type.hpp"

namespace warpbit::grid {

using ptx::Operand;
using ptx::StateSpace;

namespace {

constexpr int kTextRounds = 20;

/// The values of which a register is made that may be addresses, a bit each.
using AddressOrigins = std::uint64_t;
constexpr AddressOrigins kAnyAddress = 1, kNotGlobal = 2;  ///< any address; one that is not in global memory
constexpr std::size_t kFirstSource = 2, kOriginBits = 64;

class StoreSearch {
 public:
  StoreSearch(std::span<const ptx::FunctionText* const> functions,
              const std::function<std::uint64_t(const ptx::Variable&)>& address_of)
      : kernel_(*functions.front()), address_of_(address_of) {
    std::int64_t at = 0;
    for (const ptx::Variable& one : kernel_.parameters) {
      at = (at + one.alignment - 1) / one.alignment * one.alignment;
      places_.push_back(at);
      at += one.bytes;
    }
    for (const ptx::FunctionText* const one : functions) pass(*one);
  }
  Stores out() const;

 private:
  /// An address in a parameter of the kernel, or that of a variable.
  struct Source {
    const ptx::Variable* variable;
    std::int64_t place;  ///< in all parameters; -1: anywhere in this one
    friend bool operator==(const Source&, const Source&) = default;
  };

  std::optional<std::int64_t> place_of(const ptx::Variable* variable) const;
  AddressOrigins bit(Source source);
  AddressOrigins of(const Operand& operand);
  AddressOrigins loaded(const ptx::Statement& statement);
  AddressOrigins result(const ptx::Statement& statement);
  AddressOrigins copied_to(const Operand& to);
  void write(const ptx::Statement& statement);
  void pass(const ptx::FunctionText& function);
  const Operand& operand(const ptx::Statement& statement, int i) const {
    return f_->operands[static_cast<std::size_t>(statement.first_operand + i)];
  }
  int bits(const ptx::Statement& statement) const;

  const ptx::FunctionText& kernel_;
  const std::function<std::uint64_t(const ptx::Variable&)>& address_of_;
  std::vector<std::int64_t> places_;  // of the kernel's parameters
  std::vector<Source> sources_;       // by bit, from kFirstSource on
  AddressOrigins stored_ = 0;
  const ptx::FunctionText* f_ = nullptr;
  std::vector<AddressOrigins> origins_;  // by register of the function at hand
  bool grows_ = false;
};

std::optional<std::int64_t> StoreSearch::place_of(const ptx::Variable* variable) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (&kernel_.parameters[i] == variable) return places_[i];
  return std::nullopt;
}

AddressOrigins StoreSearch::bit(Source source) {
  const auto found = std::ranges::find(sources_, source);
  const auto number = kFirstSource + static_cast<std::size_t>(found - sources_.begin());
  if (number >= kOriginBits) return kAnyAddress;
  if (found == sources_.end()) sources_.push_back(source);
  return AddressOrigins{1} << number;
}

AddressOrigins StoreSearch::of(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::reg: return origins_[static_cast<std::size_t>(operand.index)];
    case Operand::Kind::function: return kNotGlobal;
    case Operand::Kind::symbol: {
      const bool is_global = operand.variable->space == StateSpace::global;
      return is_global || place_of(operand.variable) ? bit({operand.variable, -1}) : kNotGlobal;
    }
    default: {
      AddressOrigins out = 0;
      for (int i = 0; i < operand.count; ++i)
        out |= of(f_->operands[static_cast<std::size_t>(operand.first + i)]);
      return out;
    }
  }
}

// Of the last type that a statement names.
int StoreSearch::bits(const ptx::Statement& statement) const {
  int out = 64;
  for (const std::string_view word : words_of(*f_, statement))
    if (const auto type = ptx::find_type(word)) out = ptx::bits(*type);
  return out;
}

// A number of 32 bits is no address. One of 64 bits is one that a parameter of the kernel has, or any.
AddressOrigins StoreSearch::loaded(const ptx::Statement& statement) {
  const int wide = bits(statement);
  if (wide < 64) return 0;
  const Operand &to = operand(statement, 0), &from = operand(statement, 1);
  const Operand& base = f_->operands[static_cast<std::size_t>(from.first)];
  const auto words = words_of(*f_, statement);
  if (std::ranges::none_of(words, [](std::string_view one) { return one.starts_with("param"); }))
    return kAnyAddress;
  if (base.kind != Operand::Kind::symbol) {
    const AddressOrigins out = of(base);  // the address of a parameter stands for all of it
    return out == 0 ? kAnyAddress : out;
  }
  const std::optional<std::int64_t> place = place_of(base.variable);
  if (!place) return kAnyAddress;
  const std::int64_t count = std::int64_t{std::max(to.count, 1)} * wide / 64;
  AddressOrigins out = 0;
  for (std::int64_t i = 0; i < count; ++i)
    out |= bit({base.variable, *place + base.offset + from.offset + 8 * i});
  return out;
}

// By the column of the opcode. What is mixed is a distance here, not an address; a part of 64 bits may become any one.
AddressOrigins StoreSearch::result(const ptx::Statement& statement) {
  using ptx::Does;
  const Does does = statement.is->does;
  if (does == Does::load || does == Does::atomic) return loaded(statement);
  if (does == Does::allocate || does == Does::save_stack) return kNotGlobal;
  const std::string_view made_of = statement.is->addresses;
  const bool is_of_parts = does == Does::move && operand(statement, 1).kind == Operand::Kind::vector;
  if ((is_of_parts || made_of == "p") && bits(statement) >= 64) return kAnyAddress;
  if (made_of == "h" && bits(statement) >= 64) {
    const Operand& by = operand(statement, 2);
    if (by.kind != Operand::Kind::literal || by.literal.bits >= 32) return kAnyAddress;
  }
  if (made_of == "n") return 0;
  AddressOrigins out = 0;
  for (int i = 1; i < statement.operands; ++i) {
    const auto at = static_cast<std::size_t>(i) - 1;
    if (at >= made_of.size() || made_of[at] != 'm') out |= of(operand(statement, i));
  }
  return out;
}

void StoreSearch::write(const ptx::Statement& statement) {
  const bool calls = statement.is->does == ptx::Does::call;
  if (!calls && !assembler::writes_first(*f_, statement)) return;
  const AddressOrigins written = calls ? kAnyAddress : result(statement);
  for (int i = 0; i < (calls ? statement.operands : 1); ++i)
    assembler::for_each_register(*f_, operand(statement, i), [&](int reg) {
      AddressOrigins& all = origins_[static_cast<std::size_t>(reg)];
      grows_ = grows_ || (all | written) != all;
      all |= written;
    });
}

// Of a bulk store. Where a tensor map leads the text does not say.
AddressOrigins StoreSearch::copied_to(const Operand& to) {
  const AddressOrigins out = of(to);
  return out == 0 || to.count > 1 ? kAnyAddress : out;
}

void StoreSearch::pass(const ptx::FunctionText& function) {
  f_ = &function;
  origins_.assign(function.registers.size(), 0);
  int rounds = 0;
  do {
    grows_ = false;
    for (const ptx::Statement& one : function.statements) write(one);
  } while (grows_ && ++rounds < kTextRounds);
  if (grows_) stored_ |= kAnyAddress;
  for (const ptx::Statement& one : function.statements) {
    const ptx::Does does = one.is->does;
    const bool returns = does == ptx::Does::atomic;
    const auto words = words_of(function, one);
    if (does == ptx::Does::copy && std::ranges::find(words, "bulk_group") != words.end()) {
      stored_ |= copied_to(operand(one, 0));
      continue;
    }
    if (does == ptx::Does::surface_store ||
        does == ptx::Does::surface_reduction) {  // its array has any address
      stored_ |= kAnyAddress;
      continue;
    }
    const bool of_warp = does == ptx::Does::tensor && !words.empty() && words.front() == "store";
    if (!returns && !of_warp && does != ptx::Does::store && does != ptx::Does::reduction) continue;
    if (std::ranges::any_of(words, [](std::string_view word) {
          return word.starts_with("shared") || word == "local" || word.starts_with("param");
        }))
      continue;
    const AddressOrigins to = of(operand(one, returns ? 1 : 0));
    stored_ |= to == 0 ? kAnyAddress : to;
  }
}

Stores StoreSearch::out() const {
  Stores out;
  out.anywhere = (stored_ & kAnyAddress) != 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if ((stored_ >> (kFirstSource + i) & 1) == 0) continue;
    const auto& [variable, place] = sources_[i];
    const std::optional<std::int64_t> whole = place_of(variable);
    if (!whole) {
      const std::uint64_t address = address_of_(*variable);
      out.anywhere = out.anywhere || address == 0;
      out.variables.push_back(address);
    } else if (place >= 0) {
      out.parameters.push_back(place);
    } else {
      for (std::int64_t at = 0; at + 8 <= variable->bytes; at += 8) out.parameters.push_back(*whole + at);
    }
  }
  return out;
}

}  // namespace

Stores find_stores(std::span<const ptx::FunctionText* const> functions,
                   const std::function<std::uint64_t(const ptx::Variable&)>& address_of) {
  return StoreSearch(functions, address_of).out();
}

bool may_reach(const Stores& stores, std::span<const std::byte> parameters, const GlobalMemory& memory,
               const GlobalMemory::Range& range) {
  if (stores.anywhere) return true;
  if (stores.variables.empty() && stores.parameters.empty()) return false;  // there are none
  bool points = !stores.variables.empty();
  for (const std::uint64_t address : stores.variables)
    if (address - range.address < range.bytes) return true;
  for (const std::int64_t place : stores.parameters) {
    std::uint64_t address = 0;
    const auto at = static_cast<std::size_t>(place);
    if (at + sizeof address > parameters.size()) return true;
    std::memcpy(&address, parameters.data() + at, sizeof address);
    if (address < kConstants) continue;  // a distance, or no array
    points = true;
    if (address - range.address <= range.bytes || memory.find(address, 0) == nullptr) return true;
  }
  return !points;
}

}  // namespace warpbit::grid
