// SPDX-License-Identifier: Apache-2.0
// tcgen05, the instructions of tensor memory (PTX manual, "TensorCore 5th Generation Family Instructions").
//
//   tcgen05.mma{.ws}{.sp}.cta_group.kind{.block_scale{.scale_vec_size}}{.ashift}{.collector_usage}{.collector_usage}
//      [d], a-desc | [a], b-desc, {[sp-meta],} idesc, {[scale-a], [scale-b],} {disable-output-lane,} enable-input-d
//      {, scale-input-d | zero-column-mask-desc};
//   tcgen05.ld{.red}.sync.aligned.shape.num{.pack::16b | .op{.abs}{.NaN}}.type  r, {redval,} [taddr] {, immHalfSplitoff};
//   tcgen05.ld{.red}.spcompress.sync.aligned.shape.num.op.sp::2:4{.abs}{.NaN}.f32.b2  mdata, cdata, {redval,} [taddr];
//   tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32                  [taddr], {immHalfSplitoff,} r;
//   tcgen05.cp.cta_group.shape{.multicast}{.b8x16.src_fmt}               [taddr], s-desc;
//   tcgen05.shift.cta_group.down                                         [taddr];
//   tcgen05.alloc{.exclusive}.cta_group.sync.aligned{.shared::cta}.b32   [dst], nCols;
//   tcgen05.dealloc{.exclusive}.cta_group.sync.aligned.b32               taddr, nCols;
//   tcgen05.relinquish_alloc_permit.cta_group.sync.aligned;
//   tcgen05.commit.cta_group.mbarrier::arrive::one{.sync_restrict}{.shared::cluster}{.multicast}.b64  [mbar] {, ctaMask};
//   tcgen05.fence::before_thread_sync;  tcgen05.fence::after_thread_sync;
//   tcgen05.wait::ld.sync.aligned;      tcgen05.wait::st.sync.aligned;
#include <algorithm>

#include "isa/families/tcgen05.hpp"

namespace warpbit {
namespace tcgen05_family {

using enum FormatId;

// ---- What all share

FragmentMap thread_values(int lanes, int bits, int count) {
  if (lanes == kWarp) return lane_values(bits);
  if (count == 1) return {1, 1, 1, {bits, bits, 0, bits}, {}, {}};
  return {1, count, 1, {bits, bits, 0, bits}, {}, {{count, {0, 1}}}};
}

OperandSpec one(std::string_view role, Part part, OperandKind kind, const RegisterClass& registers, FormatId id,
                int lanes) {
  return {role, part, kind, &registers, 1, id, {thread_values(lanes, registers.bits)}};
}

// The assembler takes more types where it does not look, and no others than .b32 in tcgen05.mma.
OperandSpec tensor_address(std::string_view role, Part part, int lanes) {
  static constexpr RegisterClass kOfMove{"b32", 32, kIntegerTypes}, kOfMma{"b32", 32, "b32"};
  return one(role, part, OperandKind::address, part == Part::tensor_address ? kOfMove : kOfMma, b32, lanes);
}

OperandSpec shared_address(std::string_view role, int lanes) {
  OperandSpec out = address_operand();
  out.role = role;
  out.fragments = {thread_values(lanes, 64)};
  return out;
}

OperandSpec descriptor(std::string_view role, Part part, FormatId id) {
  static constexpr RegisterClass kDescriptor64{"b64", 64, "b64 u64 s64", {.integer = kAlone}};
  return one(role, part, OperandKind::descriptor, kDescriptor64, id, kThread);
}

Form make_tensor_form(std::initializer_list<std::string_view> qualifiers, TensorAction action, Features needs) {
  Form out =
      make_form("tcgen05", qualifiers, Shape{0, 0, 0, 0}, needs, {Unit::tensor_memory, b32, b32, b32, b32});
  out.action = action;
  return out;
}

namespace {

// The number of columns, and an address without brackets.
OperandSpec integer_of_warp(std::string_view role, Part part) {
  return one(role, part, OperandKind::scalar, kIntegerOrLiteral, b32, kWarp);
}

// ---- tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit

using AllocationKind = tensor::Allocation::Kind;

constexpr QualifierSlot kExclusive{.what = "qualifier .exclusive", .group = "exclusive", .required = false};
constexpr std::array kAllocSlots{kWord, kExclusive, kCtaGroup, kSync, kAligned, kSpace, kDataType};
constexpr std::array kDeallocSlots{kWord, kExclusive, kCtaGroup, kSync, kAligned, kDataType};
constexpr std::array kRelinquishSlots{kWord, kCtaGroup, kSync, kAligned};

std::vector<Form> expand_allocations(AllocationKind kind) {
  std::vector<Form> out;
  for (const std::string_view exclusive : {"", "exclusive"})
    for (const std::string_view group : kCtaGroups) {
      const TensorAction action{kWarp, number_of(group), tensor::Allocation{kind, !exclusive.empty()}};
      const OperandSpec count = integer_of_warp("ncols", Part::column_count);
      if (kind == AllocationKind::relinquish && exclusive.empty())
        out.push_back(make_tensor_form({"relinquish_alloc_permit", group, "sync", "aligned"}, action));
      if (kind == AllocationKind::deallocate) {
        out.push_back(make_tensor_form({"dealloc", exclusive, group, "sync", "aligned", "b32"}, action));
        out.back().operands = {integer_of_warp("taddr", Part::tensor_address), count};
      }
      if (kind != AllocationKind::allocate) continue;
      for (const std::string_view space : {"", "shared::cta"}) {
        out.push_back(make_tensor_form({"alloc", exclusive, group, "sync", "aligned", space, "b32"}, action));
        out.back().operands = {shared_address("dst", kWarp), count};
      }
    }
  return out;
}

// ---- tcgen05.commit, tcgen05.fence, tcgen05.wait

constexpr std::array kCommitSlots{
    kWord,
    kCtaGroup,
    QualifierSlot{.what = "completion mechanism", .group = "completion"},
    QualifierSlot{.what = "restriction", .group = "restriction", .required = false},
    kSpace,
    QualifierSlot{.what = "multicast", .group = "multicast", .required = false},
    kDataType};
constexpr std::array kTensorFenceSlots{kWord};
constexpr std::array kWaitSlots{kWord, kSync, kAligned};

struct CommitRow {
  std::string_view restriction, multicast;
  int mask_bits;
  Features needs = Feature::tensor_memory;
};
constexpr Features kOf107 = Feature::tensor_memory | Feature::sm_107f;
constexpr std::string_view kReadsOfA = "sync_restrict::shared::read::mma::a";
constexpr CommitRow kCommitRows[] = {
    {"", "", 0},
    {"", "multicast::cluster", 16},
    // PTX ISA 9.4
    {"", "multicast::cluster::16b", 16},
    {"", "multicast::cluster::32b", 32, kOf107},
    {kReadsOfA, "", 0, kOf107},
    {kReadsOfA, "multicast::cluster", 16, kOf107},
    {kReadsOfA, "multicast::cluster::16b", 16, kOf107},
    {kReadsOfA, "multicast::cluster::32b", 32, kOf107},
};

std::vector<Form> expand_commits() {
  static constexpr RegisterClass kMask{"b16", 16, "b16 u16 s16"}, kWideMask{"b32", 32, kIntegerTypes};
  std::vector<Form> out;
  for (const CommitRow& row : kCommitRows)
    for (const std::string_view group : kCtaGroups)
      for (const std::string_view space : {"", "shared::cluster"}) {
        out.push_back(make_tensor_form(
            {"commit", group, "mbarrier::arrive::one", row.restriction, space, row.multicast, "b64"},
            {.cta_group = number_of(group), .what = tensor::Commit{row.mask_bits, !row.restriction.empty()}},
            row.needs));
        out.back().operands = {shared_address("mbar", kThread)};
        if (row.mask_bits == 0) continue;
        const bool is_wide = row.mask_bits == 32;
        out.back().operands.push_back(one("cta_mask", Part::block_mask, OperandKind::scalar,
                                          is_wide ? kWideMask : kMask, is_wide ? b32 : b16, kThread));
      }
  return out;
}

using OrderingKind = tensor::Ordering::Kind;

std::vector<Form> expand_fences() {
  const auto fence = [](std::string_view name, OrderingKind kind) {
    return make_tensor_form({name}, {.what = tensor::Ordering{kind}});
  };
  return {fence("fence::before_thread_sync", OrderingKind::before_thread_sync),
          fence("fence::after_thread_sync", OrderingKind::after_thread_sync)};
}

std::vector<Form> expand_waits() {
  const auto wait = [](std::string_view name, OrderingKind kind) {
    return make_tensor_form({name, "sync", "aligned"}, {.lanes = kWarp, .what = tensor::Ordering{kind}});
  };
  return {wait("wait::ld", OrderingKind::wait_ld), wait("wait::st", OrderingKind::wait_st)};
}

constexpr std::string_view kAllocMarks[] = {"alloc"}, kDeallocMarks[] = {"dealloc"},
                           kRelinquishMarks[] = {"relinquish_alloc_permit"}, kCommitMarks[] = {"commit"},
                           kFenceMarks[] = {"fence"}, kWaitMarks[] = {"wait"};
constexpr SinceRow kAllocSince[] = {
    {"exclusive", {9, 4}},
};
constexpr SinceRow kCommitSince[] = {
    {"multicast::cluster::*|sync_restrict::*", {9, 4}},
};

void add_control(std::vector<Family>& out) {
  add(out, "tcgen05.alloc", kAllocMarks, kAllocSlots, FormList(expand_allocations, AllocationKind::allocate),
      kAllocSince);
  add(out, "tcgen05.alloc", kDeallocMarks, kDeallocSlots,
      FormList(expand_allocations, AllocationKind::deallocate));
  add(out, "tcgen05.alloc", kRelinquishMarks, kRelinquishSlots,
      FormList(expand_allocations, AllocationKind::relinquish));
  add(out, "tcgen05.commit", kCommitMarks, kCommitSlots, FormList(expand_commits), kCommitSince);
  add(out, "tcgen05.fence", kFenceMarks, kTensorFenceSlots, FormList(expand_fences));
  add(out, "tcgen05.fence", kWaitMarks, kWaitSlots, FormList(expand_waits));
}

}  // namespace
}  // namespace tcgen05_family

// By name.
void add_tcgen05(std::vector<Family>& out) {
  std::vector<Family> own;
  tcgen05_family::add_control(own);
  tcgen05_family::add_moves(own);
  tcgen05_family::add_products(own);
  std::ranges::stable_sort(own, {}, &Family::name);
  std::ranges::move(own, std::back_inserter(out));
}

}  // namespace warpbit
