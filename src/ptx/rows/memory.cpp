// SPDX-License-Identifier: Apache-2.0
// Loads and stores; atomics and reductions.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

// Hints of caches and of evictions change no result.
std::span<const FormRow> memory_rows() {
  static constexpr FormRow kRows[] = {
      {"ld{,.weak}{$ld_windows}{,$ld_cache}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld{,.weak}.shared::cluster{,$ld_cache}{$memory}", "#d:T [p]", sm_90, loads_and_stores},
      {"ld{,.weak}{,.global}{,$ld_cache,$evict}{,.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75,
       loads_and_stores},
      {"ld{,.weak}{,.global}{,$ld_cache,$evict}.L2::256B{$memory}", "#d:T [p]", sm_80, loads_and_stores},
      {"ld{,.weak}{,.global}{,$ld_cache,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$memory}",
       "#d:T [p] c:u64", sm_80, loads_and_stores},
      {"ld.global{$nc}{,.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld.global{$nc}.L2::256B{$memory}", "#d:T [p]", sm_80, loads_and_stores},
      {"ld.global{$nc}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$memory}", "#d:T [p] c:u64", sm_80,
       loads_and_stores},
      {"ld.volatile{$gs}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld.volatile.shared::cluster{$memory}", "#d:T [p]", sm_90, loads_and_stores},
      {"ld{$acquire}{$gs}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld{$acquire_cluster}{$gs}{$memory}", "#d:T [p]", sm_90, loads_and_stores},
      {"ld{$acquire,$acquire_cluster}.shared::cluster{$memory}", "#d:T [p]", sm_90, loads_and_stores},
      {"ld{$acquire}{,.global}{$evict}{,.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld{$acquire}{,.global}{$evict}.L2::256B{$memory}", "#d:T [p]", sm_80, loads_and_stores},
      {"ld{$acquire,.volatile}{,.global}.L2::256B{$memory}", "#d:T [p]", sm_80, loads_and_stores},
      {"ld{$acquire,.volatile}{,.global}{.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld{$acquire}{,.global}{,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$memory}",
       "#d:T [p] c:u64", sm_80, loads_and_stores},
      {"ld{$acquire_cluster}{,.global}{.L2::64B,.L2::128B,.L2::256B}{$memory}", "#d:T [p]", sm_90,
       loads_and_stores},
      {"ld{$acquire_cluster}{,.global}{$evict}{,.L2::64B,.L2::128B,.L2::256B}{$memory}", "#d:T [p]", sm_90,
       loads_and_stores},
      {"ld{$acquire_cluster}{,.global}{,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$memory}",
       "#d:T [p] c:u64", sm_90, loads_and_stores},
      {"ld{.mmio.relaxed.sys}{,.global}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"ld{,.weak}{,.global}{,$ld_cache,$evict}{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p]", sm_100,
       loads_and_stores, "8.8"},
      {"ld{,.weak}{,.global}{,$ld_cache,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$wide}",
       "#d:T [p] c:u64", sm_100, loads_and_stores, "8.8"},
      {"ld.global{$nc}{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p]", sm_100, loads_and_stores, "8.8"},
      {"ld.global{$nc}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p] c:u64", sm_100,
       loads_and_stores, "8.8"},
      {"ld{$acquire,$acquire_cluster,.volatile}{,.global}{$wide}", "#d:T [p]", sm_100, loads_and_stores, "8.8"},
      {"ld{$acquire,$acquire_cluster}{,.global}{.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p]", sm_100,
       loads_and_stores, "8.8"},
      {"ld{$acquire,$acquire_cluster}{,.global}{$evict}{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p]",
       sm_100, loads_and_stores, "8.8"},
      {"ld{$acquire,$acquire_cluster}{,.global}{,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$wide}",
       "#d:T [p] c:u64", sm_100, loads_and_stores, "8.8"},
      {"ldu{,.global}{$memory}", "#d:T [p]", sm_75, loads_and_stores},
      {"st{,.weak}{$st_windows}{,$st_cache}{$memory}", "[p] #a:T", sm_75, loads_and_stores},
      {"st{,.weak}.shared::cluster{,$st_cache}{$memory}", "[p] #a:T", sm_90, loads_and_stores},
      {"st{,.weak}{,.global}{,$st_cache,$evict}{$memory}", "[p] #a:T", sm_75, loads_and_stores},
      {"st{,.weak}{,.global}{,$st_cache,$evict}.L2::cache_hint{$memory}", "[p] #a:T c:u64", sm_80,
       loads_and_stores},
      {"st.volatile{$gs}{$memory}", "[p] #a:T", sm_75, loads_and_stores},
      {"st.volatile.shared::cluster{$memory}", "[p] #a:T", sm_90, loads_and_stores},
      {"st{$release}{$gs}{$memory}", "[p] #a:T", sm_75, loads_and_stores},
      {"st{$release_cluster}{$gs}{$memory}", "[p] #a:T", sm_90, loads_and_stores},
      {"st{$release,$release_cluster}.shared::cluster{$memory}", "[p] #a:T", sm_90, loads_and_stores},
      {"st{$release}{,.global}{$evict}{$memory}", "[p] #a:T", sm_75, loads_and_stores},
      {"st{$release_cluster}{,.global}{$evict}{$memory}", "[p] #a:T", sm_90, loads_and_stores},
      {"st{$release_cluster}{,.global}{,$evict}.L2::cache_hint{$memory}", "[p] #a:T c:u64", sm_90,
       loads_and_stores},
      {"st{$release}{,.global}{,$evict}.L2::cache_hint{$memory}", "[p] #a:T c:u64", sm_80, loads_and_stores},
      {"st{.mmio.relaxed.sys}{,.global}{$memory}", "[p] #a:T", sm_75, loads_and_stores},
      {"st{,.weak}{,.global}{,$st_cache,$evict}{$wide}", "[p] #a:T", sm_100, loads_and_stores, "8.8"},
      {"st{,.weak}{,.global}{,$st_cache,$evict}.L2::cache_hint{$wide}", "[p] #a:T c:u64", sm_100,
       loads_and_stores, "8.8"},
      {"st{$release,$release_cluster,.volatile}{,.global}{$wide}", "[p] #a:T", sm_100, loads_and_stores, "8.8"},
      {"st{$release,$release_cluster}{,.global}{$evict}{$wide}", "[p] #a:T", sm_100, loads_and_stores, "8.8"},
      {"st{$release,$release_cluster}{,.global}{,$evict}.L2::cache_hint{$wide}", "[p] #a:T c:u64", sm_100,
       loads_and_stores, "8.8"},
  };
  return kRows;
}

// A scope may be named without an order.
std::span<const FormRow> atomic_rows() {
  static constexpr FormRow kRows[] = {
      {"atom{,$atom_order}{,$scope}{$gs}{$atom}", "d_:T [p] a:T!", sm_75, atomics},
      {"atom{,$atom_order}.cluster{$gs}{$atom}", "d_:T [p] a:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}.shared::cluster{$atom}", "d_:T [p] a:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}.exch.b128", "d_:T [p] a:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}{.add.noftz.bf16,.add.noftz.bf16x2}",
       "d:T [p] a:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope}{$gs}.cas{$bits}", "d_:T [p] a:T! b:T!", sm_75, atomics},
      {"atom{,$atom_order}.cluster{$gs}.cas{$bits}", "d_:T [p] a:T! b:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}.shared::cluster.cas{$bits}", "d_:T [p] a:T! b:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}.cas.b128", "d_:T [p] a:T! b:T!", sm_90,
       atomics},
      // A second operand of exch is none of the manual's.
      {"atom{,$atom_order}{,$scope}{$gs}.exch.b32", "d_:T [p] a:T! b:T(1..0)!", sm_75, not_measured},
      {"atom{,$atom_order}.cluster{$gs}.exch.b32", "d_:T [p] a:T! b:T(1..0)!", sm_90, not_measured},
      {"atom{,$atom_order}{,$scope,.cluster}.shared::cluster.exch.b32", "d_:T [p] a:T! b:T(1..0)!", sm_90,
       not_measured},
      {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}.exch.b128", "d_:T [p] a:T! b:T(1..0)!",
       sm_90, not_measured},
      {"red{,.relaxed,.release}{,$scope}{$gs}{$red}", "[p] a:T!", sm_75, atomics},
      {"red{,.relaxed,.release}.cluster{$gs}{$red}", "[p] a:T!", sm_90, atomics},
      {"red{,.relaxed,.release}{,$scope,.cluster}.shared::cluster{$red}", "[p] a:T!", sm_90, atomics},
      {"red{,.relaxed,.release}{,$scope,.cluster}{$gs,.shared::cluster}{.add.noftz.bf16,.add.noftz.bf16x2}",
       "[p] a:T!", sm_90, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}{,.global}{$atom_vector}", "#d_:T [p] #a:T!", sm_90, atomics,
       "8.1"},
      {"red{,.relaxed,.release}{,$scope,.cluster}{,.global}{$atom_vector}", "[p] #a:T!", sm_90, atomics, "8.1"},
      {"atom{,$atom_order}{,$scope}{,.global}{$atom+}", "d_:T [p] a:T! c:u64", sm_80, atomics},
      {"atom{,$atom_order}{,$scope,.cluster}{,.global}{$atom_vector+}", "#d_:T [p] #a:T! c:u64", sm_90, atomics,
       "8.1"},
      {"atom{,$atom_order}{,$scope,.cluster}{,.global}.exch.L2::cache_hint.b128", "d_:T [p] a:T! c:u64", sm_90,
       atomics},
      {"atom{,$atom_order}{,$scope,.cluster}{,.global}{.add.noftz.L2::cache_hint.bf16,.add.noftz.L2::cache_hint.bf16x2}",
       "d:T [p] a:T! c:u64", sm_90, atomics},
      {"red{,.relaxed,.release}{,$scope,.cluster}{,.global}.add.noftz.L2::cache_hint{.bf16,.bf16x2}",
       "[p] a:T! c:u64", sm_90, atomics},
      {"red{,.relaxed,.release}{,$scope}{,.global}{$red+}", "[p] a:T! c:u64", sm_80, atomics},
      {"red{,.relaxed,.release}{,$scope,.cluster}{,.global}{$atom_vector+}", "[p] #a:T! c:u64", sm_90, atomics,
       "8.1"},
  };
  return kRows;
}

}  // namespace warpbit::ptx
