// SPDX-License-Identifier: Apache-2.0
#include "warpbit/warpbit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "c/status.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

struct warpbit_instruction {
  warpbit::Instruction instruction;
  std::string form, family, target;         // with a terminating zero
  std::vector<std::string> roles, formats;  // of the operands
};

namespace warpbit {
namespace {

// By ErrorKind.
constexpr warpbit_status kStatuses[] = {WARPBIT_STATEMENT, WARPBIT_EXECUTION, WARPBIT_MEMORY, WARPBIT_FILE,
                                        WARPBIT_USAGE};

// A structure of the caller, with zeros for what was added after it was compiled.
template <class Struct>
Result<Struct> taken(const Struct& given, std::string_view what) {
  Struct out{};
  if (given.size < sizeof given.size)
    return Error{Errc::usage, std::string(what), fmt::format("size {}", given.size), "WARPBIT_INIT"};
  std::memcpy(&out, &given, std::min(given.size, sizeof out));
  return out;
}

Result<ExecuteOptions> options_of(const warpbit_options* given) {
  ExecuteOptions out;
  if (given == nullptr) return out;
  const Result<warpbit_options> read = taken(*given, "options");
  if (!read) return read.error();
  const warpbit_options& all = *read;
  if (all.threads < 0) return Error{Errc::usage, "threads", std::to_string(all.threads), "0 or more"};
  out.undefined = all.as_measured != 0 ? Undefined::as_measured : Undefined::error;
  out.allow_inferred = all.refuse_inferred == 0;
  out.threads = all.threads;
  return out;
}

warpbit_status no_instruction() {
  return wrong_argument("instruction", "a null pointer", "one of warpbit_parse");
}

// An operand by number, or nullptr.
const Operand* find_operand(const warpbit_instruction* instruction, int32_t operand) {
  if (instruction == nullptr || operand < 0) return nullptr;
  const std::span<const Operand> all = instruction->instruction.operands();
  return static_cast<std::size_t>(operand) < all.size() ? &all[static_cast<std::size_t>(operand)] : nullptr;
}
warpbit_status no_operand(const warpbit_instruction* instruction, int32_t operand) {
  if (instruction == nullptr) return no_instruction();
  const auto count = static_cast<int32_t>(instruction->instruction.operands().size());
  return wrong_argument("operand", std::to_string(operand), fmt::format("0 to {}", count - 1));
}

// Refuses invalid arguments common to several functions.
warpbit_status check_operands(const warpbit_instruction* instruction, const warpbit_registers* operands,
                              std::size_t count) {
  if (instruction == nullptr) return no_instruction();
  const std::span<const Operand> all = instruction->instruction.operands();
  if (count != all.size() || (count != 0 && operands == nullptr))
    return wrong_argument("operands", fmt::format("{} entries", operands == nullptr ? 0 : count),
                          fmt::format("{}, one for each operand", all.size()));
  for (std::size_t i = 0; i < count; ++i)
    if (operands[i].data == nullptr && all[i].registers != 0 && all[i].literals.empty())
      return wrong_argument(fmt::format("operand {} ({})", i, all[i].role), "no data", "its registers");
  return WARPBIT_OK;
}

// The operands as arrays of `cases` cases.
std::vector<OperandArray> arrays_of(const warpbit_registers* operands, std::size_t count, std::size_t cases) {
  std::vector<OperandArray> out;
  for (const warpbit_registers& r : std::span(operands, count))
    out.push_back(OperandArray::strided(
        ResultView{static_cast<std::byte*>(r.data), r.case_stride, r.lane_stride, r.register_stride}, cases));
  return out;
}

warpbit_status status_of(const Result<Execution>& done) {
  return done ? WARPBIT_OK : refuse(done.error());
}

}  // namespace

LastError& last_error() {
  thread_local LastError last;
  return last;
}

warpbit_status refuse(const Error& error) {
  last_error() = {error.message(), std::string(name(error.code))};
  return kStatuses[static_cast<std::size_t>(kind(error.code))];
}

warpbit_status wrong_argument(std::string where, std::string seen, std::string accepted) {
  return refuse({Errc::usage, std::move(where), std::move(seen), std::move(accepted)});
}

}  // namespace warpbit

using namespace warpbit;

uint32_t warpbit_abi(void) {
  return WARPBIT_ABI;
}

const char* warpbit_version(void) {
  return WARPBIT_VERSION_TEXT;
}

const char* warpbit_message(void) {
  return last_error().message.c_str();
}

const char* warpbit_error_name(void) {
  return last_error().name.c_str();
}

warpbit_status warpbit_parse(const char* text, const char* target, warpbit_instruction** instruction) {
  return guarded([&] {
    if (text == nullptr || target == nullptr || instruction == nullptr)
      return wrong_argument("warpbit_parse", "a null pointer",
                            "a text, a target and where to put the instruction");
    *instruction = nullptr;
    Result<Instruction> parsed = Instruction::parse(text, std::string_view(target));
    if (!parsed) return refuse(parsed.error());
    const Instruction& i = *parsed;
    auto* out = new warpbit_instruction{
        i, std::string(i.canonical()), std::string(i.family()), std::string(i.target().name()), {}, {}};
    *instruction = out;
    for (const Operand& operand : i.operands()) {
      out->roles.emplace_back(operand.role);
      out->formats.emplace_back(operand.format);
    }
    return WARPBIT_OK;
  });
}

void warpbit_free(warpbit_instruction* instruction) {
  delete instruction;
}

warpbit_status warpbit_describe(const warpbit_instruction* instruction, warpbit_description* description) {
  return guarded([&] {
    if (instruction == nullptr) return no_instruction();
    const Instruction& i = instruction->instruction;
    return fill(description,
                {0, instruction->form.c_str(), instruction->family.c_str(), instruction->target.c_str(),
                 static_cast<int32_t>(i.operands().size()), i.lanes(), i.rows(), i.columns(), i.depth(),
                 i.terms(), i.products(), i.uses_memory(), i.inferred()});
  });
}

warpbit_status warpbit_describe_operand(const warpbit_instruction* instruction, int32_t operand,
                                        warpbit_operand* description) {
  return guarded([&] {
    const Operand* o = find_operand(instruction, operand);
    if (o == nullptr) return no_operand(instruction, operand);
    const auto n = static_cast<std::size_t>(operand);
    return fill(description,
                {0, instruction->roles[n].c_str(), instruction->formats[n].c_str(),
                 static_cast<int32_t>(o->kind), o->is_destination(), o->registers, o->register_bits,
                 o->element_bits, o->fragment.rows(), o->fragment.columns(), o->fragment.products()});
  });
}

warpbit_status warpbit_element_at(const warpbit_instruction* instruction, int32_t operand, int32_t lane,
                                  int32_t reg, int32_t bit, warpbit_element* element, int32_t* found) {
  return guarded([&] {
    const Operand* o = find_operand(instruction, operand);
    if (o == nullptr) return no_operand(instruction, operand);
    if (element == nullptr || found == nullptr)
      return wrong_argument("warpbit_element_at", "a null pointer", "where to put the element");
    const std::optional<Coordinate> at = o->registers == 0 ? std::nullopt : o->fragment.at_bit(lane, reg, bit);
    *found = at.has_value();
    if (at) *element = {at->row, at->column, at->product};
    return WARPBIT_OK;
  });
}

warpbit_status warpbit_places_of(const warpbit_instruction* instruction, int32_t operand,
                                 warpbit_element element, warpbit_place* places, size_t capacity,
                                 size_t* count) {
  return guarded([&] {
    const Operand* o = find_operand(instruction, operand);
    if (o == nullptr) return no_operand(instruction, operand);
    if (count == nullptr || (capacity != 0 && places == nullptr))
      return wrong_argument("warpbit_places_of", "a null pointer", "where to put the places, and their number");
    std::vector<Place> all;
    if (o->registers != 0) all = o->fragment.find({element.row, element.column, element.product});
    *count = all.size();
    for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i)
      places[i] = {all[i].lane, all[i].reg, all[i].low_bit, all[i].bits};
    return WARPBIT_OK;
  });
}

warpbit_registers warpbit_dense(const warpbit_instruction* instruction, int32_t operand, void* data) {
  const Operand* o = find_operand(instruction, operand);
  if (o == nullptr) return {};
  const auto view = ResultView::dense(data, instruction->instruction.lanes(), o->registers, o->register_bits);
  return {data, view.case_stride, view.lane_stride, view.register_stride};
}

warpbit_status warpbit_execute(const warpbit_instruction* instruction, const warpbit_registers* operands,
                               size_t count, size_t cases, const warpbit_options* options) {
  return guarded([&] {
    if (const warpbit_status checked = check_operands(instruction, operands, count); checked != WARPBIT_OK)
      return checked;
    const Result<ExecuteOptions> how = options_of(options);
    if (!how) return refuse(how.error());
    return status_of(execute(instruction->instruction, arrays_of(operands, count, cases), *how));
  });
}

warpbit_status warpbit_execute_warp(const warpbit_instruction* instruction, const warpbit_registers* operands,
                                    size_t count, void* shared, size_t shared_bytes, uint64_t window,
                                    const warpbit_options* options) {
  return guarded([&] {
    if (const warpbit_status checked = check_operands(instruction, operands, count); checked != WARPBIT_OK)
      return checked;
    if (shared == nullptr && shared_bytes != 0)
      return wrong_argument("shared", "a null pointer", "shared memory, or 0 bytes");
    const Result<ExecuteOptions> how = options_of(options);
    if (!how) return refuse(how.error());
    return status_of(execute_warp(instruction->instruction, arrays_of(operands, count, 1),
                                  {static_cast<std::byte*>(shared), shared_bytes}, window, *how));
  });
}

warpbit_status warpbit_gemm(const warpbit_instruction* instruction, const warpbit_product* product,
                            const warpbit_options* options) {
  return guarded([&] {
    if (instruction == nullptr) return no_instruction();
    if (product == nullptr) return wrong_argument("product", "a null pointer", "matrices");
    const Result<warpbit_product> read = taken(*product, "product");
    if (!read) return refuse(read.error());
    const Result<ExecuteOptions> how = options_of(options);
    if (!how) return refuse(how.error());
    const warpbit_product& p = *read;
    const Result<SumOrder> order = SumOrder::parse(p.order == nullptr ? "ascending" : p.order);
    if (!order) return refuse(order.error());
    const auto view = [](const warpbit_matrix& m) { return MatrixView{m.data, m.row_stride, m.column_stride}; };
    const Gemm problem{p.rows,
                       p.columns,
                       p.depth,
                       view(p.a),
                       view(p.b),
                       view(p.c),
                       {p.d.data, p.d.row_stride, p.d.column_stride},
                       view(p.a_scale),
                       view(p.b_scale),
                       view(p.bias)};
    return status_of(gemm(instruction->instruction, problem, {*order, *how}));
  });
}
