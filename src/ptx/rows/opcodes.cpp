// SPDX-License-Identifier: Apache-2.0
#include "ptx/rows/opcodes.hpp"

#include <algorithm>
#include <unordered_map>

#include "ptx/forms.hpp"

namespace warpbit::ptx {
namespace {

using enum ToldBy;

constexpr Opcode kOpcodes[] = {
    {"add", Does::compute, "ss"},
    {"sub", Does::compute, "sd"},
    {"mad", Does::compute, "mms"},
    {"mad24", Does::compute, "mms"},
    {"mul", Does::compute, "mm"},
    {"mul24", Does::compute, "mm"},
    {"div", Does::compute, "mm"},
    {"rem", Does::compute, "mm"},
    {"fma", Does::compute, "mmm"},
    {"clmad", Does::compute, "mmm"},
    {"popc", Does::compute, "m"},
    {"clz", Does::compute, "m"},
    {"bfi", Does::compute, "p"},
    {"shl", Does::compute, "h"},
    {"set", Does::compute, "mm"},
    {"selp", Does::compute, "cc-"},
    {"setp", Does::compute, "n"},
    {"cvt", Does::convert, "a"},
    {"mov", Does::move, "a"},
    {"and", Does::logic, "ss"},
    {"or", Does::logic, "ss"},
    {"xor", Does::logic, "ss"},
    {"not", Does::logic},

    {"spdecompress", Does::decompress, "n"},

    {"ld", Does::load, "n", space},
    {"ldu", Does::load, "n", space},
    {"st", Does::store, {}, space},
    {"atom", Does::atomic, "n", space, true},
    {"red", Does::reduction, {}, space},
    {"cvta", Does::window, "a"},
    {"isspacep", Does::is_space},
    {"mapa", Does::map_address, "a-"},
    {"getctarank", Does::rank_of_address, "n"},
    {.name = "createpolicy", .does = Does::policy, .undescribed = "fabric"},

    {"bra", Does::branch},
    {"brx", Does::branch_indexed},
    {"call", Does::call},
    {"ret", Does::ret},
    {"exit", Does::exit},
    {"trap", Does::trap},
    {"brkpt", Does::trap},
    {"alloca", Does::allocate},
    {"stacksave", Does::save_stack},
    {"stackrestore", Does::restore_stack},

    {"cp", Does::copy, {}, first_word},
    {"mbarrier", Does::mbarrier, {}, first_word, true},
    {.name = "tensormap", .does = Does::tensor_map, .undescribed = "alloc_class query"},
    {"clusterlaunchcontrol", Does::launch_control},
    {"tex", Does::texture},
    {"tld4", Does::texture},
    {"txq", Does::texture},
    {"suld", Does::surface_load, "n"},
    {"sust", Does::surface_store},
    {"sured", Does::surface_reduction},
    {"suq", Does::surface_query, "n"},
    {"istypep", Does::surface_query, "n"},
    {"bar", Does::barrier, {}, first_word, true, false, true},
    {"barrier", Does::barrier, {}, first_word, true},
    {"membar", Does::fence},
    {"fence", Does::fence},
    // What lanes tell each other the assembler leaves out if nobody asks.
    {"shfl", Does::shuffle},
    {"vote", Does::vote},
    {"match", Does::match},
    {"redux", Does::reduce_lanes},
    {"activemask", Does::active_mask},
    {"elect", Does::elect},

    // Hints, and what only time tells.
    {"prefetch", Does::hint, {}, space},
    {"prefetchu", Does::hint},
    {"applypriority", Does::hint},
    {"nanosleep", Does::hint},
    {"pmevent", Does::hint},
    {"griddepcontrol", Does::hint},
    {"discard", Does::discard},
    {"setmaxnreg", Does::registers},

    {"mma", Does::tensor},
    {"wmma", Does::tensor, {}, first_word},
    {"wgmma", Does::tensor, {}, first_word, true, true},
    {"ldmatrix", Does::tensor, {}, ToldBy::opcode, true},
    {"stmatrix", Does::tensor},
    {"movmatrix", Does::tensor},
    {"tcgen05", Does::tensor},

    {.name = "multimem", .not_modelled = "there is one GPU"},
    {.name = "fabric", .not_modelled = "there is one GPU", .undescribed = "try_atom tensor L2::cache_hint"},
};

bool has_result(const ScalarForm& form) {
  return !form.operands.empty() && form.operands.front().is_destination();
}

Writes first_of(std::string_view name) {
  const std::span<const ScalarForm* const> forms = forms_of(name);
  const auto with = std::ranges::count_if(forms, [](const ScalarForm* form) { return has_result(*form); });
  return with == std::ssize(forms) ? Writes::always : with == 0 ? Writes::never : Writes::some;
}

const std::unordered_map<std::string_view, Opcode>& table() {
  static const std::unordered_map<std::string_view, Opcode> made = [] {
    std::unordered_map<std::string_view, Opcode> out;
    for (const Opcode& row : kOpcodes) {
      Opcode& one = out.try_emplace(row.name, row).first->second;
      if (one.does != Does::tensor) one.first = one.does == Does::call ? Writes::never : first_of(row.name);
    }
    return out;
  }();
  return made;
}

bool is_one_of(Does does, std::initializer_list<Does> list) {
  return std::ranges::find(list, does) != list.end();
}

}  // namespace

const Opcode& opcode(std::string_view name) {
  static constexpr Opcode kOther{};
  const auto found = table().find(name);
  return found == table().end() ? kOther : found->second;
}

bool writes_first(const Opcode& opcode, std::span<const std::string_view> words) {
  if (opcode.name == "tcgen05") return !words.empty() && words[0] == "ld";
  if (opcode.first != Writes::some) return opcode.first == Writes::always;
  return std::ranges::any_of(forms_of(opcode.name), [&](const ScalarForm* form) {
    return has_result(*form) && has_words(*form, opcode.name, words);
  });
}

bool goes_on(Does does) {
  return !is_one_of(does, {Does::branch, Does::branch_indexed, Does::ret, Does::exit});
}
bool ends_block(Does does) {
  return !goes_on(does) || is_one_of(does, {Does::call, Does::trap});
}
bool joins_lanes(Does does) {
  return is_one_of(does, {Does::shuffle, Does::vote, Does::match, Does::reduce_lanes, Does::tensor});
}
bool accesses_memory(Does does) {
  return is_one_of(does, {Does::load, Does::store, Does::atomic, Does::reduction});
}

}  // namespace warpbit::ptx
