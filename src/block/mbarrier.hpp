// SPDX-License-Identifier: Apache-2.0
// The barrier objects in a block's shared memory (PTX manual, "mbarrier"). A phase is complete when as many arrivals have
// come as are expected, and as many bytes; then the next one begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "block/shared.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// What an arrive does; `expected` bytes first.
struct MbarrierArrival {
  std::uint32_t count = 1, expected = 0;
  bool drops = false;     ///< arrive_drop: also from the phases that follow
  bool completes = true;  ///< not of .noComplete
  bool releases = true;   ///< not of .relaxed
  Scope scope = Scope::cluster;
  bool scope_unsaid = false;  ///< by its statement
  /// What agents have done before their clocks is known to those who wait.
  std::span<const Accesses::Agent> reveals = {};
  std::int32_t states = -1;    ///< where its state is kept; -1: nobody knows
  std::string_view name = {};  ///< of the instruction in faults, if it is no mbarrier.arrive
};

/// An arrival that comes when what its thread has begun is done: of tcgen05.commit and cp.async.mbarrier.arrive.
struct MbarrierPromise {
  std::int64_t address = 0;
  std::string_view name = {};  ///< of the instruction in faults
  Who who = {};
  Knowledge told = {};  ///< what those who wait learn by it
};

/// What a test asks for: a state that an arrive has returned, or a parity.
struct MbarrierTest {
  std::uint64_t value;
  bool is_parity;
  bool acquires = true;  ///< not of .relaxed
  bool is_read = true;   ///< by some statement: the answer of any other one orders nothing
  Scope scope = Scope::cluster;
  bool scope_unsaid = false;  ///< by its statement
  /// Of a state: where it was kept, which is no other one's than that of an arrival; -1: nobody knows.
  std::int32_t states = -1;
};

/// Addresses are bytes of the block's shared memory. Who acts may be a thread of another block of the cluster. What is found is
/// done all the same, as without a record, unless its rule is `none`.
class Mbarriers {
 public:
  /// `shared` stays where it is.
  explicit Mbarriers(Shared& shared) : shared_(shared) {}

  static constexpr std::int64_t kBytes = 8;
  static constexpr std::uint32_t kMaxCount = (1U << 20) - 1;

  Found init(std::int64_t address, std::uint32_t count, Who who);
  Found invalidate(std::int64_t address, Who who);
  /// `state`: what it was before.
  Found arrive(std::int64_t address, const MbarrierArrival& arrival, Who who, std::uint64_t& state);
  Found expect(std::int64_t address, std::uint32_t bytes, Who who);
  Found complete(std::int64_t address, std::uint32_t bytes, Who who);
  /// A fault for each object that has been used, then written as data without an mbarrier.inval, and not used since: at that
  /// write. Triton's kernels initialise objects that nobody uses, where data are later.
  std::vector<Fault> overwritten() const;
  /// A fault for each object whose last phase is not complete and has such an arrival as may have come in the phase before, for
  /// which somebody has waited.
  std::vector<Fault> early_arrivals() const;
  /// Whether a byte is one of an object's.
  bool has(std::int64_t byte) const;
  /// Whether the phase is complete, for lanes of a warp that ask for the same one by one instruction. A warp that learns it
  /// knows what has been released and copied in it.
  Found test(std::int64_t address, const MbarrierTest& test, int warp, std::uint32_t lanes, Place at,
             bool& is_complete);
  /// They go on from a wait for the last complete phase, by its parity or by a token.
  void pass(std::int64_t address, int warp, std::uint32_t lanes, Place at, bool is_parity);
  /// An arrival will come, and tells then what its thread has done by now.
  Found promise(std::int64_t address, const MbarrierArrival& arrival, Who who, MbarrierPromise& out);
  /// The same of the thread's cp.async up to now (PTX manual, "cp.async.mbarrier.arrive").
  Found promise_copies(std::int64_t address, bool counted, Who who, MbarrierPromise& out);
  /// It comes; at an object that is no more, it does nothing.
  Found keep(const MbarrierPromise& promise);

  // ---- Turns: nobody overtakes those who wait for a phase that is complete

  /// Lanes of a warp wait for the phase at hand, until they leave.
  void wait(std::int64_t address, int warp, std::uint32_t lanes);
  /// Whether they were the last to wait at some object, and whether the phase that they waited for was complete.
  struct Left {
    bool last = false, late = false;
  };
  Left leave(int warp, std::uint32_t lanes);
  /// Whether some wait for a phase of the object that is complete: they have had no turn since.
  bool has_late(std::int64_t address) const;
  /// Whether these arrivals must give them their turn first, since they may complete a further phase.
  bool must_let_go(std::int64_t address, std::uint32_t arrivals) const;
  /// Whether an init or inval must, or let arrivals come that are promised.
  bool must_settle(std::int64_t address) const;

  // ---- Bulk copies

  /// The agent of a copy that will complete bytes of the phase at hand, issued by `who`. Each
  /// such copy must be completed. `async`: through the async proxy.
  Found begin_copy(std::int64_t address, Who who, Accesses::Agent& agent, bool async = true);
  /// Its bytes have arrived.
  Found complete_copy(std::int64_t address, std::uint32_t bytes, Accesses::Agent agent, Who who);

  /// A fence must follow mbarrier.init before copies of the block's own, too.
  void fence_own_inits() { fences_own_inits_ = true; }
  /// Arrivals and waits that say no scope have that of the manual, .cta. Else they reach the cluster, since published kernels
  /// leave it out between blocks.
  void take_default_scope() { takes_default_scope_ = true; }
  /// fence.mbarrier_init by a thread: its objects may be used by others, and by copies.
  void fence_init(int thread);

  /// A test of the warp has failed.
  void fail(std::int64_t address, int warp, Who who) { failed_[warp] = {address, who}; }

  /// How many arrivals are pending in a state (PTX manual, "mbarrier.pending_count").
  static std::uint32_t pending_count(std::uint64_t state);
  /// How many phases of all objects were complete.
  std::uint64_t phases() const { return phases_; }
  /// What a thread waits for that tests in vain: the phase, who has arrived, which bytes have come, who should have come.
  /// `warp`: whose thread it is; a phase that it has left out is named, too.
  std::string awaited(std::int64_t address, int warp) const;
  /// "phase 2 (parity 0) of the mbarrier at 0x8 (bar)", of the phase at hand; nothing if there is no object.
  std::string phase_text(std::int64_t address) const;
  /// How many arrivals its phase at hand lacks, of which some have come; 0: none, or bytes, too.
  std::uint32_t lacks(std::int64_t address) const;
  /// Whether a thread has not arrived in the phase at hand, and may still have to: it has arrived before, or the phase is the first
  /// one, and it has not dropped out.
  bool owes(std::int64_t address, int thread) const;
  /// Why a warp waits in vain, if that lies in the object: other bytes are expected than come, at who expects them or copies; in
  /// its first phase, arrivals of which some have come, at its mbarrier.init; ...
  std::optional<Cause> cause(std::int64_t address, int warp) const;
  /// The same of a copy issued at a place whose bytes were expected behind the last arrival of the phase that it was meant for.
  std::optional<Cause> cause_of_copy(Place copy) const;
  /// How a wait by parity of a warp has left out the phase before, which is complete; empty: it has not.
  std::string left_out(std::int64_t address, int warp) const;
  /// What is to be seen of an object.
  struct Shown {
    std::int64_t address, phase;
    std::uint32_t expected, pending;  ///< arrivals
    std::int64_t came, bytes;         ///< bytes of the phase at hand; those that are still to come
    std::string absent;               ///< who arrived in earlier phases, and not in this one
  };
  std::vector<Shown> all() const;
  /// Where an object was initialised, and where it was arrived at last.
  std::vector<FaultSide> places(std::int64_t address) const;
  /// The wait of a warp for a phase that it had waited for before, if that was its last one on some object: what that says,
  /// for a fault that followed.
  struct Repeated {
    std::string what;
    Who who;
  };
  const Repeated* repeated(int warp) const;
  struct AtObject {
    std::int64_t address;
    Who who;
  };
  /// The last test of a warp whose answer nothing reads.
  std::optional<AtObject> unread(int warp) const;
  /// The last test of a warp that has failed, if none at its object has been true since.
  std::optional<AtObject> failed(int warp) const;
  /// Where a warp has seen a phase complete last.
  std::optional<AtObject> waited(int warp) const;
  /// The warps that have arrived at the object at which a warp has seen a phase complete last.
  std::vector<int> arrived_for(int warp) const;
  /// Whether a warp has arrived at an object.
  bool has_arrived(std::int64_t address, int warp) const;
  /// The phase that a warp has seen complete last.
  struct SeenPhase {
    std::string name;          ///< "phase 0 (parity 0) of the mbarrier at 0x400 (bar)"
    std::uint32_t count;       ///< of arrivals
    std::vector<Who> arrived;  ///< the last ones in it, by warp and place
    std::vector<Who> later;    ///< in phases behind it
  };
  std::optional<SeenPhase> seen_phase(int warp) const;
  /// What is wrong with the count of the object at which the warp has seen a phase complete last, if more threads arrive there
  /// by the statement of this one than it counts; or nothing.
  std::string miscounted(int warp, int thread) const;
  /// An arrival of a warp by which it has not met another warp: it has not waited for its phase, or that was complete without an
  /// arrival of the other one.
  struct NotMet {
    Who arrival;
    std::string object;
    std::uint32_t count;
    bool has_waited;
    std::size_t arrivals = 0;     ///< of a phase, if those are more
    std::vector<Who> again = {};  ///< of a thread that arrives by several statements, as others do not
  };
  std::vector<NotMet> not_met(int warp, int other) const;
  /// Who has completed the last phase of an object, as the last of those that had to come.
  Actor completed_by(std::int64_t address) const;
  /// Which object counts what an agent copies; nothing: none of them.
  std::optional<std::int64_t> counted_by(int agent) const;
  /// Whether nobody has seen complete the phase in which an agent's copy began, at the object that it is for.
  bool is_open(std::int64_t address, int agent, std::uint32_t phase) const {
    const auto found = objects_.find(address);
    return found != objects_.end() && found->second.agent == agent && found->second.awaited <= phase;
  }
  /// The last copy that an object counts, of a phase that nobody has seen complete.
  struct Pending {
    Who copy;
    std::int64_t address, phase;
  };
  std::vector<Pending> pending() const;
  /// The wait of a warp for parity 1 of an object that had been in no use, if bytes of its first phase are still to come.
  std::optional<Repeated> early(int warp) const;

 private:
  /// An arrival of the phase at hand or before it.
  struct Arrived {
    Who who;
    std::int64_t phase;
    std::uint32_t clock = 0;  ///< its thread's
  };
  /// The last phase that a warp has waited for, and which of its lanes have.
  struct Seen {
    std::int64_t phase;
    std::uint32_t lanes;
    std::uint64_t arrivals = 0;  ///< that had come
  };
  struct Object {
    std::uint32_t expected, pending;
    std::int64_t bytes = 0;  ///< that are expected and have not come
    std::int64_t phase = 0;
    Who made;
    std::uint32_t made_at;  ///< its thread's clock
    bool fenced = false;    ///< by fence.mbarrier_init
    int agent = -1;
    Knowledge released = {}, complete = {};
    Knowledge released_afar = {}, complete_afar = {};  ///< by arrivals of other blocks
    int acquired_by = -1;  ///< the warp that has learned `complete` last: lanes ask one by one
    std::int64_t acquired_in = -1;
    std::vector<Arrived> arrived = {};   ///< the last of each warp and place
    std::set<int> dropped = {};          ///< threads
    std::map<int, Seen> seen = {};       ///< by warp
    std::int64_t came = 0, copies = 0;   ///< bytes of the phase at hand, copies on their way
    std::int64_t came_before = 0;        ///< bytes of the phase before
    std::uint64_t arrivals = 0;          ///< of all phases
    std::uint32_t promised = 0;          ///< arrivals that will come
    std::uint32_t raised = 0;            ///< those by which the pending count has risen in the phase at hand
    std::optional<Who> raises = {};      ///< who has raised it last
    std::int64_t awaited = 0;            ///< phases that somebody has seen complete
    std::optional<Arrived> copied = {};  ///< the last copy
    std::optional<Who> expects = {};     ///< who has expected bytes of it last
    bool expects_early = false;          ///< without knowing that the phase before is complete
    Actor completed_by = {};             ///< the last complete phase
    bool used = false;                   ///< it, or one before it that no mbarrier.inval has ended
    bool overwritten = false;            ///< as a use has told
    std::vector<Arrived> seen_by = {};   ///< who has seen the last complete phase, by warp
    std::optional<Arrived> early = {};   ///< the last arrival by a thread that does not know it to be complete
  };
  /// `out` is nullptr if there is none.
  Found find(std::int64_t address, std::string_view what, Who who, Object*& out);
  Found change(std::int64_t address, std::string_view what, Who who);
  Found use(std::int64_t address, std::string_view what, Who who, Object*& out);
  Found unordered_use(const Found& race, std::int64_t address, std::string_view what, Who who,
                      const Object& object) const;
  Found record_use(std::int64_t address, std::string_view what, Who who, const Object& object);
  Found misused(std::string_view what, std::int64_t address, std::string seen, std::string accepted, Who who,
                const Object* object = nullptr, KernelRule rule = KernelRule::none) const;
  bool has_seen_complete(const Object& object, Who who) const;
  bool knows_complete(const Object& object, Who who) const;
  Found old_state(std::int64_t address, const Object& object, const MbarrierTest& test, Who who) const;
  void forget_states(std::int64_t address) {
    std::erase_if(states_, [&](const auto& one) { return one.first.address == address; });
  }
  void release(const MbarrierArrival& arrival, Who who, Knowledge& into);
  Knowledge& released(Object& object, Who who);
  void count(Object& object, const MbarrierArrival& arrival, Who who);
  void acquire(const MbarrierTest& test, int warp, const Object& object);
  Found add_bytes(std::int64_t address, std::string_view what, Object& object, std::int64_t bytes, Who who);
  void settle(Object& object);
  int agent_of(std::int64_t address, Object& object);
  static std::uint64_t state(const Object& object);
  /// Arrivals of the phase at hand, without those that have raised the count.
  static std::uint32_t arrived(const Object& object) {
    return object.expected - std::min(object.expected, object.pending);
  }
  static bool is_idle(const Object& object) {
    return object.pending == object.expected && object.bytes == 0 && object.copies == 0;
  }
  static std::vector<Who> arrives_again(const Object& object);
  static bool is_arrival(const Object& object, const FaultSide& use);
  bool is_unordered(const Object& object, Who who) const;
  std::optional<Who> overwriter(std::int64_t address, const Object& object) const;
  Fault reused(std::int64_t address, const Object& object, Who by) const;
  std::string name(std::int64_t address) const;
  std::string name(std::int64_t address, Who who) const;
  std::string in_use(std::int64_t address, const Object& object) const;
  Fault too_many(std::int64_t address, const Object& object, const MbarrierArrival& arrival,
                 std::string_view what, Who who) const;
  Fault too_late(std::int64_t address, const Object& object, std::uint32_t bytes, std::int64_t phase,
                 Who who) const;
  Scope scope_of(Scope said, bool unsaid) const { return unsaid && takes_default_scope_ ? Scope::cta : said; }
  FaultSide made_by(std::int64_t address, const Object& object) const;
  std::string progress(const Object& object) const;
  std::optional<Cause> expected_late(std::int64_t address, const Object& object) const;
  std::optional<Cause> cause_of_bytes(std::int64_t address, const Object& object) const;
  std::optional<Cause> cause_of_count(std::int64_t address, const Object& object, int warp) const;
  std::uint64_t missed(const Object& object, int warp) const;
  std::string absent(const Object& object) const;
  std::string phase_text(std::int64_t address, std::int64_t phase) const;
  std::string names(const std::vector<int>& threads) const;

  Shared& shared_;
  std::map<std::int64_t, Object> objects_;
  std::map<int, Repeated> repeated_;  // by warp
  std::map<int, AtObject> unread_;    // by warp
  std::map<int, AtObject> waited_;    // by warp
  /// Lanes of a warp that wait.
  struct Waiter {
    int warp;
    std::uint32_t lanes;
    std::int64_t address, phase;
  };
  /// The latest state of an object that a thread has kept at a place.
  struct Kept {
    std::int64_t address;
    std::int32_t states;
    int thread;
    auto operator<=>(const Kept&) const = default;
  };
  std::map<Kept, Arrived> states_;
  bool is_late(const Waiter& one) const;
  std::vector<Waiter> waiters_;
  std::uint64_t phases_ = 0;  // that were complete
  bool fences_own_inits_ = false, takes_default_scope_ = false;
  std::map<int, AtObject> early_;   // by warp, its last wait of this kind
  std::map<int, AtObject> failed_;  // by warp
};

}  // namespace warpbit::block
#pragma GCC visibility pop
