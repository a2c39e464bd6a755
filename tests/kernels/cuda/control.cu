// SPDX-License-Identifier: Apache-2.0
// What compilers rarely make, or only for hints: brx.idx, exit within a warp, elect, stacks of alloca, parameters of
// kernels as memory, caches' policies and priorities, the launch's dependents, and a cluster of one block.
#include <cstdint>

namespace kernel {

struct Row {
  unsigned* to;
  int columns;

  __device__ void put(unsigned x) {
    *to = x;
    to += columns;
  }
};

// Four steps of a machine whose next state is where a table leads; lanes differ.
__device__ unsigned indexed(unsigned x, unsigned choices) {
  unsigned result;
  asm("{\n.reg .pred p;\n.reg .b32 n, i, v, c;\nmov.u32 v, %1;\nmov.u32 c, %2;\nmov.u32 n, 4;\n"
      "table: .branchtargets first, second, third, fourth, second;\n"
      "again: and.b32 i, c, 7;\nmin.u32 i, i, 4;\nshr.u32 c, c, 3;\nbrx.idx i, table;\n"
      "first: mad.lo.u32 v, v, 3, 1;\nbra next;\n"
      "second: shr.u32 i, v, 7;\nxor.b32 v, v, i;\nbra next;\n"
      "third: brev.b32 v, v;\n"
      "fourth: add.u32 v, v, 0x9e3779b9;\n"
      "next: sub.u32 n, n, 1;\nsetp.ne.u32 p, n, 0;\n@p bra again;\nmov.u32 %0, v;\n}"
      : "=r"(result)
      : "r"(x), "r"(choices));
  return result;
}

// The same to every lane.
__device__ unsigned uniform(unsigned x, unsigned choice) {
  unsigned result;
  asm("{\n.reg .b32 i;\nand.b32 i, %2, 1;\ntable: .branchtargets one, other;\nbrx.idx.uni i, table;\n"
      "one: add.u32 %0, %1, 17;\nbra.uni done;\nother: not.b32 %0, %1;\ndone:\n}"
      : "=r"(result)
      : "r"(x), "r"(choice));
  return result;
}

// An array in local memory whose size the run knows.
__device__ unsigned stacks(unsigned x, unsigned count) {
  unsigned result;
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 top, a, n, at;\n.reg .b32 i, v, s;\nmov.u32 s, 0;\nmov.u32 v, %1;\n"
      "cvt.u64.u32 n, %2;\nshl.b64 n, n, 2;\nstacksave.u64 top;\nalloca.u64 a, n;\nmov.u32 i, 0;\n"
      "fill: mad.wide.u32 at, i, 4, a;\nst.local.u32 [at], v;\nmad.lo.u32 v, v, 5, i;\nadd.u32 i, i, 1;\n"
      "setp.lt.u32 p, i, %2;\n@p bra fill;\n"
      "sum: sub.u32 i, i, 1;\nmad.wide.u32 at, i, 4, a;\nld.local.u32 v, [at];\nmad.lo.u32 s, s, 3, v;\n"
      "setp.ne.u32 p, i, 0;\n@p bra sum;\nstackrestore.u64 top;\nmov.u32 %0, s;\n}"
      : "=r"(result)
      : "r"(x), "r"(count));
  return result;
}

__device__ void hints(Row& row, const unsigned* in, unsigned* scratch) {
  unsigned a, b, c, d;
  uint64_t policy, range, made;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(policy));
  asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %0, [%1], 128, 256;"
               : "=l"(range)
               : "l"(in));
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(made));
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(a) : "l"(in), "l"(policy));
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.u32 %0, [%1+4], %2;"
               : "=r"(b)
               : "l"(in), "l"(range));
  asm volatile("ldu.global.v2.u32 {%0, %1}, [%2+8];" : "=r"(c), "=r"(d) : "l"(in));
  row.put(a), row.put(b), row.put(c), row.put(d);
  asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(scratch), "r"(a + 1), "l"(made) : "memory");
  asm volatile("atom.global.add.L2::cache_hint.u32 %0, [%1], 7, %2;"
               : "=r"(a)
               : "l"(scratch), "l"(policy)
               : "memory");
  asm volatile("red.global.add.L2::cache_hint.u32 [%0], 9, %1;" ::"l"(scratch), "l"(policy) : "memory");
  row.put(a), row.put(*scratch);
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(reinterpret_cast<uint64_t>(in) & ~127));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(in));
  asm volatile("ld.relaxed.gpu.global.L1::evict_last.L2::64B.u32 %0, [%1];" : "=r"(a) : "l"(in));
  asm volatile("ld.mmio.relaxed.sys.global.u32 %0, [%1];" : "=r"(b) : "l"(in));
  asm volatile("st.mmio.relaxed.sys.global.u32 [%0], %1;" ::"l"(scratch), "r"(b) : "memory");
  row.put(a), row.put(b), row.put(*scratch);
}

// Shared memory by its address in a cluster, which is of one block.
__device__ void cluster(Row& row, unsigned* in_shared) {
  const auto own = static_cast<unsigned>(__cvta_generic_to_shared(in_shared + threadIdx.x));
  unsigned mapped, rank, x;
  uint64_t generic;
  in_shared[threadIdx.x] = 3 * threadIdx.x;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(mapped) : "r"(own));
  asm volatile("mapa.u64 %0, %1, 0;" : "=l"(generic) : "l"(in_shared + threadIdx.x));
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(mapped));
  row.put(rank);
  asm volatile("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(generic));
  row.put(rank);
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapped), "r"(5 * threadIdx.x + 1) : "memory");
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(mapped));
  row.put(x);
  row.put(in_shared[threadIdx.x]);
  asm volatile("atom.shared::cluster.add.u32 %0, [%1], 4;" : "=r"(x) : "r"(mapped) : "memory");
  row.put(x), row.put(*reinterpret_cast<const volatile unsigned*>(generic));
  asm volatile("{\n.reg .pred p;\nisspacep.shared::cluster p, %1;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(x)
               : "l"(generic));
  row.put(x);
}

__device__ void warp(Row& row, unsigned lanes) {
  unsigned leader, is_leader;
  asm volatile("{\n.reg .pred p;\nelect.sync %0|p, %2;\nselp.u32 %1, 1, 0, p;\n}"
               : "=r"(leader), "=r"(is_leader)
               : "r"(lanes));
  row.put(leader), row.put(is_leader);
  asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\npmevent 3;\npmevent.mask 5;" ::
                   : "memory");
}

// in: four words for each thread; what it chooses; how many words it keeps.
extern "C" __global__ void control(const unsigned* in, const unsigned* choices, const unsigned* counts,
                                   unsigned* scratch, unsigned* out) {
  __shared__ unsigned in_shared[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Row row = {out + i, static_cast<int>(gridDim.x * blockDim.x)};
  row.put(indexed(in[4 * i], choices[i]));
  row.put(uniform(in[4 * i], blockIdx.x));
  row.put(stacks(in[4 * i], counts[i]));
  hints(row, in + 4 * i, scratch + i);
  cluster(row, in_shared);
  warp(row, 0xFFFFFFFF);
  if (threadIdx.x % 3 == 1) asm volatile("exit;");
  warp(row, __activemask());
  row.put(__popc(__activemask()));
  if (threadIdx.x < 32) asm volatile("exit;");
  // Only the second warp's are here; a barrier waits for no thread that has left.
  row.put(__syncthreads_count(threadIdx.x % 2));
  row.put(__shfl_sync(__activemask(), i, 4));
}

}  // namespace kernel
