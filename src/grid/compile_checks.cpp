// SPDX-License-Identifier: Apache-2.0
// What ptxas refuses of a statement beside its form and the kinds of its operands: PTX versions, special registers of later
// targets, addresses of 32 bits.
#include "grid/compiler.hpp"
#include "isa/since.hpp"
#include "ptx/special.hpp"

namespace warpbit::grid {

void Compiler::check_version() const {
  const Version given = program_.module->version;
  const Version needed =
      form_ != nullptr ? since(*form_, words()) : since(statement_->opcode, words(), program_.target);
  if (given < needed)
    refuse({Errc::not_in_version, spell(statement_->opcode, words()), text(given), text(needed)});
}

// Special registers, inside of braces and brackets, too.
void Compiler::check_special(const Operand& operand) const {
  for (int i = 0; i < operand.count; ++i) check_special(child(operand, i));
  if (operand.kind != Operand::Kind::special) return;
  const ptx::SpecialRow& row = *ptx::find_special(operand.text);
  const std::string where = fmt::format("{}: {}", ptx::text(operand.position), operand.text);
  if (!program_.target.row().features.has(row.needs))
    throw Refused{
        {Errc::not_on_target, where, std::string(program_.target.name()), names(targets_with(row.needs))}};
  if (program_.module->version < row.since)
    throw Refused{{Errc::not_in_version, where, text(program_.module->version), text(row.since)}};
}

namespace {

// Of 32 bits these are no addresses in .global, and no generic ones; asynchronous copies and tensor instructions take them.
bool is_wide(Does does) {
  return ptx::accesses_memory(does) || does == Does::mbarrier || does == Does::hint || does == Does::discard;
}

}  // namespace

void Compiler::check_address_size() const {
  const Does does = statement_->is->does;
  if (does == Does::window && has("u32"))
    refuse("a generic address of 32 bits", ".u64: a generic address has 64 bits");
  for (int i = 0; does == Does::move && i < count(); ++i) {
    const Operand& one = operand(i);
    if (one.kind == Operand::Kind::symbol && one.variable->space == StateSpace::global &&
        ptx::bits(last_type()) < 64)
      refuse(fmt::format("the address of '{}' in .global in {} bits", one.text, ptx::bits(last_type())),
             "a register of 64 bits");
  }
  if (!is_wide(does) || has("async") || has("tensormap")) return;
  const auto windows = [](std::string_view word) {
    return word.starts_with("shared") || word.starts_with("param") || word == "local" || word == "const";
  };
  if (std::ranges::any_of(words(), windows)) return;
  for (int i = 0; i < count(); ++i) {
    const Operand& one = operand(i);
    if (one.kind != Operand::Kind::address || child(one, 0).kind != Operand::Kind::reg) continue;
    const ptx::Register& base = function_->registers[static_cast<std::size_t>(child(one, 0).index)];
    if (ptx::bits(base.type) == 32)
      refuse(fmt::format("an address in register '{}' of .{}", base.name, ptx::row(base.type).name),
             has("global") ? "a register of 64 bits: an address in .global has 64 bits"
                           : "a register of 64 bits, for a generic address has 64 bits, or a state space "
                             "(.shared may be missing)");
  }
}

// Of more the driver would have to be asked, which is for what a launch adds. Precondition: it is laid out.
void Compiler::check_static_shared(const ptx::FunctionText& kernel) const {
  const std::uint64_t most = program_.target.row().static_shared;
  const std::uint64_t bytes = program_.shared_bytes - program_.reserved_bytes;
  if (bytes > most)
    throw Refused{{Errc::launch_shape, fmt::format("{}: kernel '{}'", ptx::text(kernel.position), kernel.name),
                   fmt::format("{} bytes of static shared memory", bytes),
                   fmt::format("at most {}; .extern .shared arrays have the size of the launch", most)}};
}

}  // namespace warpbit::grid
