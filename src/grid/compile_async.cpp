// SPDX-License-Identifier: Apache-2.0
// Statements of Hopper's asynchronous machine.
#include "grid/compiler.hpp"

namespace warpbit::grid {
namespace {

using tensor_map::CopyMode;
using tensor_map::Reduction;

constexpr std::pair<std::string_view, CopyMode> kModes[] = {
    {"tile", CopyMode::tile},
    {"im2col", CopyMode::im2col},
    {"im2col_no_offs", CopyMode::im2col_no_offs},
    {"tile::gather4", CopyMode::tile_gather4},
    {"tile::scatter4", CopyMode::tile_scatter4},
    {"im2col::w", CopyMode::im2col_w},
    {"im2col::w::128", CopyMode::im2col_w_128},
};
constexpr std::pair<std::string_view, Reduction> kReductions[] = {
    {"add", Reduction::add}, {"min", Reduction::min},  {"max", Reduction::max}, {"inc", Reduction::inc},
    {"dec", Reduction::dec}, {"and", Reduction::and_}, {"or", Reduction::or_},  {"xor", Reduction::xor_},
};
constexpr std::pair<Type, TensorType> kElementTypes[] = {
    {Type::u32, TensorType::u32}, {Type::b32, TensorType::u32},   {Type::s32, TensorType::s32},
    {Type::u64, TensorType::u64}, {Type::b64, TensorType::u64},   {Type::s64, TensorType::s64},
    {Type::f16, TensorType::f16}, {Type::bf16, TensorType::bf16}, {Type::f32, TensorType::f32},
    {Type::f64, TensorType::f64},
};

/// Words of copies that nothing executes.
struct LeftWord {
  std::string_view begin;  ///< of the word
  std::string_view reason;
};
constexpr std::string_view kNotMeasured = "how it copies has not been measured";
constexpr LeftWord kLeftWords[] = {
    {"cp_mask", kNotMeasured},
    {"tile::gather4", kNotMeasured},
    {"tile::scatter4", kNotMeasured},
    {"im2col::w", kNotMeasured},
    {"im2col_no_offs::w", kNotMeasured},
    {"mbarrier::report::validity", "what it reports of its bytes is not known"},
    {"override::global_dim", "how eight bits say a size is not known"},
};

bool is_one_of(MbarrierOperation::Kind kind, std::initializer_list<MbarrierOperation::Kind> list) {
  return std::ranges::find(list, kind) != list.end();
}

// The row of a table that one of the words names.
template <class Row, std::size_t N, class Has>
const Row* find_word(const Row (&rows)[N], Has has) {
  for (const Row& row : rows)
    if (has(row.first)) return &row;
  return nullptr;
}

}  // namespace

// Operands whose places are a list of the step.
OperandAt Compiler::listed(Place place, std::int64_t offset) {
  listed_.push_back(place);
  return {static_cast<int>(listed_.size()) - 1, offset};
}

OperandAt Compiler::listed_address(const Operand& operand) {
  Access access;
  const Place base = address(operand, access);
  return listed(base, access.offset);
}

OperandsAt Compiler::listed_elements(const Operand& operand, Type type) {
  const std::vector<Place> places = elements(operand, type, false);
  listed_.insert(listed_.end(), places.begin(), places.end());
  return {static_cast<int>(listed_.size() - places.size()), static_cast<int>(places.size())};
}

// A step of a table's latest row.
void Compiler::add_listed(Run what, std::size_t rows) {
  Step step;
  step.run = what;
  step.target = keep(std::exchange(listed_, {}));
  step.extra = static_cast<std::int32_t>(rows) - 1;
  add(step);
}

// Where an object lies: in a window of 32 bits, or at a generic address.
void Compiler::barrier_object(const Operand& operand, Step& step) {
  step.access.space = StateSpace::shared;
  step.access.cluster = has("shared::cluster");
  step.access.generic = !has("shared") && !has("shared::cta") && !has("shared::cluster");
  step.place[2] = address(operand, step.access);
}

void Compiler::mbarrier() {
  using Kind = MbarrierOperation::Kind;
  constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"init", Kind::init},           {"inval", Kind::inval},      {"arrive", Kind::arrive},
      {"arrive_drop", Kind::arrive},  {"expect_tx", Kind::expect}, {"complete_tx", Kind::complete},
      {"test_wait", Kind::test},      {"try_wait", Kind::test},    {"pending_count", Kind::pending},
      {"check_layout", Kind::layout},
  };
  MbarrierOperation out{std::ranges::find(kKinds, word(0), &std::pair<std::string_view, Kind>::first)->second};
  Step step;
  step.run = steps::mbarrier;
  int i = 0;
  if (is_one_of(out.kind, {Kind::arrive, Kind::test, Kind::pending, Kind::layout}))
    step.place[0] = destination(operand(i++));
  const bool has_value = out.kind == Kind::test && operand(i).kind != Operand::Kind::address;  // of a report
  if (has_value) ++i;
  if (out.kind != Kind::pending) barrier_object(operand(i++), step);
  changes_ = !is_one_of(out.kind, {Kind::test, Kind::pending, Kind::layout});
  out.reports = has("layout::v1");
  out.is_parity = has("parity");
  out.acquires = out.arrival.releases = !has("relaxed");
  if (has("cta")) out.scope = out.arrival.scope = block::Scope::cta;
  out.scope_unsaid = out.arrival.scope_unsaid = !has("cta") && !has("cluster");
  out.arrival.drops = word(0) == "arrive_drop";
  out.arrival.completes = !has("noComplete");
  out.expects = out.kind == Kind::arrive && has("expect_tx");
  const bool wide = out.kind == Kind::pending || (out.kind == Kind::test && !out.is_parity);
  if (has("multicast::cluster::32b")) {
    out.blocks = listed(source(operand(count() - 1), Type::u32));
    step.target = keep(std::exchange(listed_, {}));
  }
  const int last = count() - (out.blocks.exists() ? 1 : 0);
  if (i < last) step.place[3] = source(operand(i), wide ? Type::u64 : Type::u32);
  step.extra = static_cast<std::int32_t>(program_.async.mbarriers.size());
  program_.async.mbarriers.push_back(out);
  add(step);
  if (out.kind != Kind::test) return;
  if (operand(0).second >= 0) set_zero(second(operand(0)));
  if (has_value) set_zero(destination(operand(1)));
}

// What no copy of a launch reports (kLeftWords).
void Compiler::set_zero(const Place& place) {
  Step step;
  step.run = steps::move;
  step.place[0] = place;
  step.place[2] = constant(0, std::max(static_cast<int>(place.bits), 8));
  vectorise(step, nullptr);
  add(step);
}

// cp.async.mbarrier.arrive{.noinc}
void Compiler::copies_arrive() {
  Step step;
  step.run = steps::mbarrier;
  barrier_object(operand(0), step);
  MbarrierOperation out{MbarrierOperation::Kind::copies};
  out.counted = !has("noinc");
  step.extra = static_cast<std::int32_t>(program_.async.mbarriers.size());
  program_.async.mbarriers.push_back(out);
  add(step);
}

// [map, {coordinates}], with the address of the tensor between them
void Compiler::tensor_operand(const Operand& operand, BulkOperation& out) {
  const Operand& base = child(operand, 0);
  out.map = listed(source(base, Type::u64), operand.offset);
  if (operand.count > 2) out.address = listed(source(child(operand, 1), Type::u64));
  out.coordinates = listed_elements(child(operand, operand.count - 1), Type::s32);
}

void Compiler::prefetched_map(const Operand& operand) {
  Step step;
  step.run = steps::check_map;
  const bool gathers = has("tile::gather4");  // its coordinates are those of four rows
  step.target = gathers ? 2 : child(operand, operand.count - 1).count;
  step.place[2] = source(child(operand, 0), Type::u64);
  step.access.offset = operand.offset;
  add(step);
}

// cp{.reduce}.async.bulk{.tensor}
void Compiler::bulk() {
  using Kind = BulkOperation::Kind;
  if (has("prefetch")) return has("tensor") ? prefetched_map(operand(0)) : nothing();
  if (has("commit_group")) return add({.run = steps::bulk_commit});
  if (has("wait_group"))
    return add({.run = steps::bulk_wait,
                .target = static_cast<std::int32_t>(operand(0).literal.bits),
                .extra = has("read") ? steps::kReadsOnly : -1});
  BulkOperation out{};
  out.is_tensor = has("tensor");
  const bool from_global = std::ranges::find(words(), "global") >
                           std::ranges::find_if(words(), [](auto one) { return one.starts_with("shared"); });
  out.kind = has("bulk_group") ? Kind::store : from_global && has("global") ? Kind::load : Kind::exchange;
  for (const std::string_view one : words())
    if (const auto* const left =
            std::ranges::find_if(kLeftWords, [&](const LeftWord& row) { return one.starts_with(row.begin); });
        left != std::end(kLeftWords))
      return leave(fmt::format(".{}: {}", one, left->reason));
  out.strong = has("relaxed");
  out.in_pair = has("cta_group::2");
  const auto in_words = [&](std::string_view name) { return has(name); };
  if (const auto* const row = find_word(kModes, in_words)) out.mode = row->second;
  if (word(0) == "reduce") {
    out.reduction = find_word(kReductions, in_words)->second;
    if (!out.is_tensor)
      out.type = std::ranges::find(kElementTypes, last_type(), &std::pair<Type, TensorType>::first)->second;
  }
  int i = 0;
  if (out.is_tensor && out.kind == Kind::store)
    tensor_operand(operand(i++), out);
  else
    out.to = listed_address(operand(i++));
  if (out.is_tensor && out.kind == Kind::load)
    tensor_operand(operand(i++), out);
  else
    out.from = listed_address(operand(i++));
  if (!out.is_tensor) out.bytes = listed(source(operand(i++), Type::u32));
  if (has("ignore_oob")) {
    out.ignored_left = listed(source(operand(i++), Type::u32));
    out.ignored_right = listed(source(operand(i++), Type::u32));
  }
  if (out.kind != Kind::store) out.barrier = listed_address(operand(i++));
  if (i < count() && operand(i).kind == Operand::Kind::vector)
    out.offsets = listed_elements(operand(i++), Type::u16);
  out.wide_mask = has("multicast::cluster::32b");
  if (out.wide_mask || has("multicast::cluster") || has("multicast::cluster::16b"))
    out.mask = listed(source(operand(i++), out.wide_mask ? Type::u32 : Type::u16));
  add_bulk(out);
}

void Compiler::add_bulk(const BulkOperation& operation) {
  program_.async.bulks.push_back(operation);
  add_listed(steps::bulk, program_.async.bulks.size());
  const Operand& in_shared = operand(operation.kind == BulkOperation::Kind::store ? 1 : 0);
  program_.steps.back().access.variable = placed(provenance_->variable(child(in_shared, 0)));
}

// st.async, red.async: to shared memory of the cluster, completing on a barrier object there.
void Compiler::element_async() {
  if (!has("mbarrier::complete_tx::bytes") || count() != 3)
    refuse({Errc::instruction_not_modelled,
            {},
            "asynchronous stores without a barrier object are not modelled",
            {}});
  BulkOperation out{};
  out.kind = BulkOperation::Kind::element;
  out.to = listed_address(operand(0));
  out.values = listed_elements(operand(1), last_type());
  out.barrier = listed_address(operand(2));
  out.element_bytes = static_cast<std::uint8_t>(ptx::bits(last_type()) / 8);
  if (statement_->is->does == Does::reduction) {
    out.reduction = find_word(kReductions, [&](std::string_view name) { return has(name); })->second;
    out.type = std::ranges::find(kElementTypes, last_type(), &std::pair<Type, TensorType>::first)->second;
  }
  add_bulk(out);
}

void Compiler::cluster_barrier() {
  Step step;
  step.run = has("arrive") ? steps::cluster_arrive : steps::cluster_wait;
  step.target = (has("relaxed") ? 0 : steps::kOrders) | (has("aligned") ? steps::kAligned : 0);
  add(step);
}

// tensormap.replace, tensormap.cp_fenceproxy
void Compiler::tensor_map() {
  MapOperation out{};
  out.in_shared = has("shared::cta");
  if (has("replace")) {
    out.kind = MapOperation::Kind::replace;
    out.field = word(2);
    out.map = listed_address(operand(0));
    if (count() == 3) out.ordinal = static_cast<unsigned>(operand(1).literal.bits);
    out.value = listed(source(operand(count() - 1), last_type()));
  } else {
    out.kind = MapOperation::Kind::copy;
    out.map = listed_address(operand(0));
    out.from = listed_address(operand(1));
  }
  program_.async.maps.push_back(out);
  add_listed(steps::change_map, program_.async.maps.size());
}

// fence.proxy.tensormap, fence.mbarrier_init
void Compiler::async_fence() {
  if (word(0) == "mbarrier_init") return add({.run = steps::fence_mbarrier_init});
  MapOperation out{};
  out.kind = has("release") ? MapOperation::Kind::release : MapOperation::Kind::acquire;
  if (count() > 0) out.map = listed_address(operand(0));
  program_.async.maps.push_back(out);
  add_listed(steps::change_map, program_.async.maps.size());
}

// clusterlaunchcontrol: a request, whose response comes as a copy does; or what a response says.
void Compiler::launch_control() {
  if (has("try_cancel")) {
    BulkOperation out{};
    out.kind = BulkOperation::Kind::request;
    out.generic = !has("shared::cta");
    out.to_all = has("multicast::cluster::all");
    out.to = listed_address(operand(0));
    out.barrier = listed_address(operand(1));
    program_.requests_clusters = true;
    return add_bulk(out);
  }
  Step step;
  step.run = has("is_canceled") ? steps::is_canceled : steps::first_block;
  step.place[2] = source(operand(1), Type::b128);
  step.extra = keep(elements(operand(0), Type::b32, true));
  step.target = has("get_first_ctaid::y") ? 1 : has("get_first_ctaid::z") ? 2 : 0;
  add(step);
}

void Compiler::registers() {
  Step step;
  step.run = steps::set_registers;
  step.target = static_cast<std::int32_t>(operand(0).literal.bits);
  step.extra = has("inc") ? 1 : 0;
  add(step);
}

}  // namespace warpbit::grid
