// SPDX-License-Identifier: Apache-2.0
// What the statements of Hopper's asynchronous machine do: barrier objects, bulk copies, tensor maps. Each statement is a row
// of one of these tables of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "block/mbarrier.hpp"
#include "grid/place.hpp"
#include "tensor_map/copy.hpp"
#include "tensor_map/reduce.hpp"

namespace warpbit::grid {

/// An operand: one of the step's places (Program::places, by Step::target); -1: none. An address has an offset.
struct OperandAt {
  int place = -1;
  std::int64_t offset = 0;
  bool exists() const { return place >= 0; }
};
/// Places one behind the other.
struct OperandsAt {
  int first = 0, count = 0;
};

/// mbarrier.* and cp.async.mbarrier.arrive. Places of its step: d, -, address, count or bytes or state.
struct MbarrierOperation {
  enum class Kind : std::uint8_t { init, inval, arrive, expect, complete, test, copies, pending, layout };
  Kind kind;
  block::MbarrierArrival arrival = {};
  bool expects = false;    ///< the operand of an arrive: bytes, not a count
  bool is_parity = false;  ///< of a test
  bool acquires = true;
  block::Scope scope = block::Scope::cluster;
  bool scope_unsaid = false;
  bool counted = true;    ///< of copies: not .noinc
  bool reports = false;   ///< of init and layout: .layout::v1
  OperandAt blocks = {};  ///< .multicast::cluster::32b: the mask of blocks that have the objects
  /// Of an arrive and a test: a number of the registers that have its state (states.hpp); -1: other values may be there, too.
  std::int32_t states = -1;
};

/// cp.async.bulk, cp.reduce.async.bulk, both with or without .tensor, st.async, red.async, clusterlaunchcontrol.try_cancel.
struct BulkOperation {
  enum class Kind : std::uint8_t {
    load,      ///< global -> shared, completes on a barrier object
    store,     ///< shared -> global, in a bulk group
    exchange,  ///< shared -> shared of another block, completes on a barrier object there
    element,   ///< registers -> shared, likewise (st.async, red.async)
    request,   ///< for a cluster that has not begun: the response -> own shared, likewise
  };
  Kind kind;
  bool is_tensor = false;
  std::optional<tensor_map::Reduction> reduction = {};
  tensor_map::CopyMode mode = tensor_map::CopyMode::tile;
  TensorType type = TensorType::u8;  ///< of elements that are reduced, without a tensor map
  std::uint8_t element_bytes = 0;    ///< of registers that are stored
  bool in_pair = false;              ///< .cta_group::2: the object may lie in the other block of the pair
  bool to_all = false;               ///< .multicast::cluster::all
  bool generic = false;              ///< of a request: its addresses
  bool strong = false;               ///< .relaxed
  bool wide_mask = false;            ///< of 32 blocks
  OperandAt to = {}, from = {}, barrier = {}, map = {}, bytes = {}, mask = {};
  OperandAt address = {};                           ///< .override::global_address
  OperandAt ignored_left = {}, ignored_right = {};  ///< .ignore_oob
  OperandsAt coordinates = {}, offsets = {}, values = {};
};

/// tensormap.replace and tensormap.cp_fenceproxy, fence.proxy.tensormap.
struct MapOperation {
  enum class Kind : std::uint8_t { replace, copy, release, acquire };
  Kind kind;
  std::string_view field = {};
  unsigned ordinal = 0;
  bool in_shared = false;  ///< .shared::cta, not generic or global
  OperandAt map = {}, from = {}, value = {};
};

struct AsyncTables {
  std::vector<MbarrierOperation> mbarriers;
  std::vector<BulkOperation> bulks;
  std::vector<MapOperation> maps;
};

}  // namespace warpbit::grid
