// SPDX-License-Identifier: Apache-2.0
// What mbarriers answer: states and pending counts, arrivals by number, arrivals that drop, transactions,
// waits by state and by parity, copies that arrive; and instructions that only have an effect on when things
// happen.
#include "hopper.cuh"

namespace kernel {

constexpr int kThreads = 128, kAnswers = 48, kRounds = 5;

__device__ unsigned test(unsigned barrier, uint64_t state) {
  unsigned done;
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(barrier), "l"(state)
               : "memory");
  return done;
}

__device__ unsigned test_parity(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done;
}

__device__ unsigned pending(uint64_t state) {
  unsigned count;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
}

// A state, of an instruction that takes a number.
#define ARRIVE(instruction, barrier, n)                       \
  [&] {                                                       \
    uint64_t state;                                           \
    asm volatile("mbarrier." instruction ".b64 %0, [%1], %2;" \
                 : "=l"(state)                                \
                 : "r"(barrier), "r"(n)                       \
                 : "memory");                                 \
    return state;                                             \
  }()

// By one thread: the answers in order.
__device__ int ask(unsigned barrier, unsigned* out) {
  int n = 0;
  const auto say = [&](unsigned x) { out[n++] = x; };
  init(barrier, 5);
  say(test_parity(barrier, 0)), say(test_parity(barrier, 1));
  uint64_t state = ARRIVE("arrive.noComplete.shared::cta", barrier, 2);
  say(pending(state)), say(test(barrier, state));
  state = ARRIVE("arrive_drop.noComplete.shared::cta", barrier, 1);  // from the next phase on 4 arrive
  say(pending(state));
  state = ARRIVE("arrive.shared::cta", barrier, 2);
  say(test(barrier, state)), say(test_parity(barrier, 0)), say(test_parity(barrier, 1));
  state = ARRIVE("arrive.noComplete.shared::cta", barrier, 1);
  say(pending(state));
  state = ARRIVE("arrive_drop.shared::cta", barrier, 2);  // 2
  say(test(barrier, state));
  state = ARRIVE("arrive.release.cta.shared::cta", barrier, 1);
  say(test(barrier, state)), say(test_parity(barrier, 0)), say(test_parity(barrier, 1));

  // A phase with transactions: two arrivals, 48 bytes.
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(barrier) : "memory");
  state = ARRIVE("arrive.expect_tx.shared::cta", barrier, 32);
  say(test(barrier, state));
  state = ARRIVE("arrive.shared::cta", barrier, 1);
  say(test(barrier, state));
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 40;" ::"r"(barrier) : "memory");
  say(test(barrier, state));
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(barrier) : "memory");
  say(test(barrier, state));

  // Bytes may come before they are expected.
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(barrier) : "memory");
  state = ARRIVE("arrive_drop.expect_tx.shared::cta", barrier, 64);  // 1
  say(test(barrier, state));
  state = ARRIVE("arrive.shared::cta", barrier, 1);
  say(test(barrier, state)), say(test_parity(barrier, 1)), say(test_parity(barrier, 0));
  unsigned done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.shared::cta.b64 p, [%1], %2, 1000;\nselp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "l"(state)
      : "memory");
  say(done);
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
  init(barrier, (1 << 20) - 1);
  state = ARRIVE("arrive.noComplete.shared::cta", barrier, 7);
  say(pending(state));
  state = ARRIVE("arrive.noComplete.shared::cta", barrier, 9);
  say(pending(state)), say(test(barrier, state));
  return n;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_barriers(const unsigned* x, unsigned* answers, unsigned* out) {
  __shared__ uint64_t barriers[3];
  __shared__ __align__(16) unsigned copied[kThreads], turned[kRounds + 1][kThreads];
  const unsigned t = threadIdx.x, asked = shared_address(barriers), all = asked + 8, copies = asked + 16;
  asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;" ::: "memory");
  if (t == 0) {
    int n = ask(asked, answers);
    while (n < kAnswers) answers[n++] = 0;
    init(all, kThreads);
    init(copies, kThreads);
  }
  turned[0][t] = x[t];
  __syncthreads();

  // Rounds without another barrier: each thread reads what its neighbour wrote in the round before. Odd threads arrive
  // later, and wait by parity.
  for (unsigned round = 0; round < kRounds; ++round) {
    if (t % 2 == 0) {
      const uint64_t state = ARRIVE("arrive.shared::cta", all, 1);
      while (!test(all, state)) asm volatile("nanosleep.u32 20;");
    } else {
      __nanosleep(40 * (t % 3));
      arrive(all);
      wait(all, round % 2);
    }
    turned[round + 1][t] = turned[round][(t + 33) % kThreads] * 3 + round;
  }

  // Copies of threads arrive when they are complete; with .noinc they are counted already.
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&copied[t])), "l"(x + t)
               : "memory");
  if (t < kThreads / 2) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(copies) : "memory");
  } else {
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(copies) : "memory");
    arrive(copies);
  }
  wait(copies, 0);
  out[t] = turned[kRounds][t];
  out[kThreads + t] = copied[(t * 5 + 1) % kThreads];
  if (elect()) out[2 * kThreads + t / 32] = t;
}

}  // namespace kernel
