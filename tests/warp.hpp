// SPDX-License-Identifier: Apache-2.0
// One warp, or one warpgroup, with its memory, executing one instruction.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/machine.hpp"

namespace warp {

using namespace warpbit;
using Bytes = std::vector<std::byte>;

inline Instruction parse(const std::string& text, std::string_view target) {
  const Result<Instruction> i = Instruction::parse(text, *Target::find(target));
  INFO(text << ": " << (i ? std::string() : i.error().message()));
  REQUIRE(i.ok());
  return *i;
}

/// All forms of a family on a target, in the order of the list.
inline std::vector<std::string> forms_of(std::string_view family, std::string_view target) {
  std::vector<std::string> out;
  for (const FormInfo& form : forms())
    for (const Target t : form.targets)
      if (form.family == family && t.name() == target) out.push_back(form.canonical);
  return out;
}

/// True if the form has the qualifier.
inline bool has(const std::string& form, const std::string& qualifier) {
  return (form + ".").find("." + qualifier + ".") != form.npos;
}

/// Bits [from, from + count) of an image, one by one: bit i is bit i % 8 of byte i / 8.
inline std::uint64_t bits(const Bytes& image, std::uint64_t from, int count) {
  std::uint64_t out = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t at = from + static_cast<std::uint64_t>(i);
    const auto byte = std::to_integer<std::uint64_t>(image.at(at / 8));
    out |= (byte >> (at % 8) & 1) << i;
  }
  return out;
}

/// The operands lie one after the other in `registers`, all of whose cells hold noise at first.
struct Warp {
  Instruction instruction;
  Memory memory;
  Binding binding;
  Registers registers{0, 0};
  std::vector<const Instruction*> lanes;
  std::mt19937_64 random{20};

  Warp(const std::string& text, std::string_view target, Memory m = Memory())
      : instruction(parse(text, target)), memory(std::move(m)) {
    int used = 0;
    for (const Operand& operand : instruction.operands()) {
      binding.push_back(used);
      used += operand.registers;
    }
    registers = Registers(std::max(32, instruction.lanes()), used);
    for (int lane = 0; lane < registers.lanes(); ++lane)
      for (int r = 0; r < used; ++r) registers.write(lane, r, random());
    lanes.assign(static_cast<std::size_t>(registers.lanes()), &instruction);
  }

  std::size_t index(Part part) const {
    for (std::size_t i = 0; i < binding.size(); ++i)
      if (instruction.operands()[i].part == part) return i;
    FAIL("no such operand");
    return 0;
  }
  const Operand& operand(Part part) const { return instruction.operands()[index(part)]; }
  /// The number of an operand's register.
  int number(Part part, int reg = 0) const { return binding[index(part)] + reg; }
  std::uint64_t get(Part part, int lane, int reg = 0) const { return registers.read(lane, number(part, reg)); }
  void set(Part part, int lane, std::uint64_t value, int reg = 0) {
    registers.write(lane, number(part, reg), value);
  }
  void set_all(Part part, std::uint64_t value) {
    for (int lane = 0; lane < registers.lanes(); ++lane) set(part, lane, value);
  }

  Bytes image() const {
    Bytes out(memory.shared_bytes());
    REQUIRE(memory.read(Space::shared, 0, out).ok());
    return out;
  }
  void randomise_memory() {
    Bytes noise(memory.shared_bytes());
    for (std::byte& b : noise) b = static_cast<std::byte>(random());
    REQUIRE(memory.write(Space::shared, 0, noise).ok());
  }

  /// Executes and applies.
  Effects run() {
    const Result<Effects> effects = execute_warp(lanes, binding, registers, memory);
    INFO(instruction.text() << ": " << (effects ? std::string() : effects.error().message()));
    REQUIRE(effects.ok());
    REQUIRE(apply(*effects, registers, memory).ok());
    return *effects;
  }
  /// The message of the error that must come.
  std::string refusal(Errc code) const {
    const Result<Effects> effects = execute_warp(lanes, binding, registers, memory);
    REQUIRE_FALSE(effects.ok());
    CHECK(name(effects.error().code) == name(code));
    return effects.error().message();
  }
};

}  // namespace warp
