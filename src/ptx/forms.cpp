// SPDX-License-Identifier: Apache-2.0
#include "ptx/forms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

namespace warpbit::ptx {
namespace {

// ---- The rows

struct NamedSet {
  std::string_view name, words;
};
constexpr NamedSet kSets[] = {
    {"int", ".u16,.u32,.u64,.s16,.s32,.s64"},
    {"carry", ".u32,.u64,.s32,.s64"},
    {"narrow", ".u16,.u32,.s16,.s32"},
    {"bits", ".b16,.b32,.b64"},
    {"any", ".u16,.u32,.u64,.s16,.s32,.s64,.b16,.b32,.b64,.f32,.f64"},
    {"ints8", ".u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64"},
    {"rnd", ".rn,.rz,.rm,.rp"},
    {"rndi", ".rni,.rzi,.rmi,.rpi"},
    {"half", ".f16,.f16x2"},
    {"bf", ".bf16,.bf16x2"},
    {"eq", ".eq,.ne"},
    {"order", ".eq,.ne,.lt,.le,.gt,.ge"},
    {"unsigned", ".eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs"},
    {"compare", ".eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan"},
    {"bool", ",.and,.or,.xor"},
    // State spaces. `windows` have their own addresses; .shared::cluster is of sm_90.
    {"ld_windows", ".const,.local,.param,.param::entry,.param::func,.shared,.shared::cta"},
    {"st_windows", ".local,.param,.param::func,.shared,.shared::cta"},
    {"gs", ",.global,.shared,.shared::cta"},
    {"scope", ".cta,.gpu,.sys"},
    {"evict", ".L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate"},
    {"nc",
     ".nc,.ca.nc,.cg.nc,.cs.nc,.nc.L1::evict_normal,.nc.L1::evict_unchanged,.nc.L1::evict_first,.nc.L1::evict_last,"
     ".nc.L1::no_allocate"},
    {"ld_cache", ".ca,.cg,.cs,.lu,.cv"},
    {"st_cache", ".wb,.cg,.cs,.wt"},
    {"acquire", ".relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys"},
    {"relaxed", ".relaxed.cta,.relaxed.gpu,.relaxed.sys"},
    {"acquire_cluster", ".relaxed.cluster,.acquire.cluster"},
    {"release", ".relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys"},
    {"release_cluster", ".relaxed.cluster,.release.cluster"},
    // Up to 16 bytes that are loaded or stored together; 32 on sm_100.
    {"memory",
     ".u8,.u16,.s8,.s16,.b8,.b16,.v2.u8,.v2.u16,.v2.s8,.v2.s16,.v2.b8,.v2.b16,.v4.u8,.v4.u16,.v4.s8,.v4.s16,.v4.b8,.v4.b16,"
     ".v8.u8,.v8.u16,.v8.s8,.v8.s16,.v8.b8,.v8.b16,.u32,.s32,.b32,.f32,.v2.u32,.v2.s32,.v2.b32,.v2.f32,.v4.u32,.v4.s32,"
     ".v4.b32,.v4.f32,.u64,.s64,.b64,.f64,.v2.u64,.v2.s64,.v2.b64,.v2.f64,.b128"},
    {"wide", ".v8.u32,.v8.s32,.v8.b32,.v8.f32,.v4.u64,.v4.s64,.v4.b64,.v4.f64"},
    {"atom_order", ".relaxed,.acquire,.release,.acq_rel"},
    {"atom",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.exch.b32,.exch.b64,.add.u32,.add.u64,.add.s32,.add.f32,.add.f64,"
     ".inc.u32,.dec.u32,.min.u32,.min.u64,.min.s32,.min.s64,.max.u32,.max.u64,.max.s32,.max.s64,.add.noftz.f16,"
     ".add.noftz.f16x2"},
    {"red",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.u64,.add.s32,.add.f32,.add.f64,.inc.u32,.dec.u32,"
     ".min.u32,.min.u64,.min.s32,.min.s64,.max.u32,.max.u64,.max.s32,.max.s64,.add.noftz.f16,.add.noftz.f16x2"},
    {"atom_vector",
     ".add.v2.f32,.add.v4.f32,.add.noftz.v2.f16,.add.noftz.v4.f16,.add.noftz.v8.f16,.add.noftz.v2.f16x2,"
     ".add.noftz.v4.f16x2,.add.noftz.v2.bf16,.add.noftz.v4.bf16,.add.noftz.v8.bf16,.add.noftz.v2.bf16x2,"
     ".add.noftz.v4.bf16x2,.min.noftz.v2.f16,.min.noftz.v4.f16,.min.noftz.v8.f16,.min.noftz.v2.f16x2,"
     ".min.noftz.v4.f16x2,.min.noftz.v2.bf16,.min.noftz.v4.bf16,.min.noftz.v8.bf16,.min.noftz.v2.bf16x2,"
     ".min.noftz.v4.bf16x2,.max.noftz.v2.f16,.max.noftz.v4.f16,.max.noftz.v8.f16,.max.noftz.v2.f16x2,"
     ".max.noftz.v4.f16x2,.max.noftz.v2.bf16,.max.noftz.v4.bf16,.max.noftz.v8.bf16,.max.noftz.v2.bf16x2,"
     ".max.noftz.v4.bf16x2"},
    {"policy", ".L2::evict_last,.L2::evict_normal,.L2::evict_first,.L2::evict_unchanged"},
    {"policy_both",
     ".L2::evict_last.L2::evict_unchanged,.L2::evict_normal.L2::evict_unchanged,.L2::evict_first.L2::evict_unchanged,"
     ".L2::evict_unchanged.L2::evict_unchanged,.L2::evict_last.L2::evict_first,.L2::evict_normal.L2::evict_first,"
     ".L2::evict_first.L2::evict_first,.L2::evict_unchanged.L2::evict_first"},
    // Asynchronous copies, and barrier objects.
    {"own", ",.shared,.shared::cta"},
    {"arrive_order", ".release.cta,.release.cluster,.relaxed.cta,.relaxed.cluster"},
    {"wait_order", ".acquire.cta,.acquire.cluster,.relaxed.cta,.relaxed.cluster"},
    {"dim", ".1d,.2d,.3d,.4d,.5d"},
    {"group", ",.cta_group::1,.cta_group::2"},
    {"bulk_red",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.u64,.add.s32,.add.f32,.add.f64,.inc.u32,.dec.u32,"
     ".min.u32,.min.u64,.min.s32,.min.s64,.max.u32,.max.u64,.max.s32,.max.s64,.add.noftz.f16,.add.noftz.bf16,.min.f16,"
     ".min.bf16,.max.f16,.max.bf16"},
    {"bulk_red_shared",
     ".and.b32,.or.b32,.xor.b32,.add.u32,.add.u64,.add.s32,.inc.u32,.dec.u32,.min.u32,.min.s32,.max.u32,.max.s32"},
    {"red_async", ".add.u32,.add.u64,.add.s32,.add.s64,.inc.u32,.dec.u32,.min.u32,.min.s32,.max.u32,.max.s32"},
    {"async", ".b32,.b64,.u32,.u64,.s32,.s64,.f32,.f64"},
    {"async_vector",
     ".v2.b32,.v2.b64,.v2.u32,.v2.u64,.v2.s32,.v2.s64,.v2.f32,.v2.f64,.v4.b32,.v4.u32,.v4.s32,.v4.f32"},
    {"async_narrow", ".b8,.u8,.s8,.b16,.u16,.s16"},
    {"restrict", ".sync_restrict::shared::cta,.sync_restrict::shared::cluster"},
    // Of several GPUs at once.
    {"multimem_load",
     ",.weak,.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.cluster,"
     ".acquire.gpu,.acquire.sys"},
    {"multimem_store",
     ",.weak,.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys,.release.cta,.release.cluster,"
     ".release.gpu,.release.sys"},
    {"multimem_red",
     ",.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys,.release.cta,.release.cluster,.release.gpu,"
     ".release.sys"},
    {"multimem_integer",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.u64,.add.s32,.min.u32,.min.u64,.min.s32,.min.s64,"
     ".max.u32,.max.u64,.max.s32,.max.s64"},
    {"half_vector",
     ".v2.f16,.v2.bf16,.v2.f16x2,.v2.bf16x2,.v4.f16,.v4.bf16,.v4.f16x2,.v4.bf16x2,.v8.f16,.v8.bf16"},
};

using enum Feature;

constexpr FormRow kRows[] = {
    // Integer Arithmetic Instructions; Extended-Precision Integer Arithmetic Instructions
    {"{add,sub}$int", "d:T a:T b:T", sm_75},
    {"{add,sub}.sat.s32", "d:T a:T b:T", sm_75},
    {"{add,sub}.cc$carry", "d:T a:T b:T", sm_75},
    {"{addc,subc}$int", "d:T a:T b:T", sm_75},
    {"{addc,subc}.sat.s32", "d:T a:T b:T", sm_75},
    {"{addc,subc}.cc$carry", "d:T a:T b:T", sm_75},
    {"add{.u16x2,.s16x2}", "d:T a:T b:T", sm_90},
    {"mul{.lo,.hi}$int", "d:T a:T b:T", sm_75},
    {"mul.wide$narrow", "d:W a:T b:T", sm_75},
    {"{mad,madc}{.lo,.hi}$int", "d:T a:T b:T c:T", sm_75},
    {"{mad,madc}{.lo,.hi}.cc$carry", "d:T a:T b:T c:T", sm_75},
    {"{mad,madc}.hi.sat.s32", "d:T a:T b:T c:T", sm_75},
    {"mad.wide$narrow", "d:W a:T b:T c:W", sm_75},
    {"mul24{.lo,.hi}{.u32,.s32}", "d:T a:T b:T", sm_75},
    {"mad24{.lo,.hi}{.u32,.s32}", "d:T a:T b:T c:T", sm_75},
    {"mad24.hi.sat.s32", "d:T a:T b:T c:T", sm_75},
    {"sad$int", "d:T a:T b:T c:T", sm_75},
    {"{div,rem,min,max}$int", "d:T a:T b:T", sm_75},
    {"{abs,neg}{.s16,.s32,.s64}", "d:T a:T", sm_75},
    {"{min,max}{.u16x2,.s16x2}", "d:T a:T b:T", sm_90},
    {"{min,max}.relu{.s32,.s16x2}", "d:T a:T b:T", sm_90},
    {"{popc,clz}{.b32,.b64}", "d:u32 a:T", sm_75},
    {"bfind{,.shiftamt}$carry", "d:u32 a:T", sm_75},
    {"fns.b32", "d:T a:T b:T c:T", sm_75},
    {"brev{.b32,.b64}", "d:T a:T", sm_75},
    {"bfe$carry", "d:T a:T b:u32(0..255) c:u32(0..255)", sm_75},
    {"bfi{.b32,.b64}", "d:T a:T b:T c:u32(0..255) e:u32(0..255)", sm_75},
    {"szext{.clamp,.wrap}{.u32,.s32}", "d:T a:T b:u32", sm_75},
    {"bmsk{.clamp,.wrap}.b32", "d:u32 a:u32 b:u32", sm_75},
    {"dp4a{.u32,.s32}{.u32,.s32}", "d:u32 a:u32 b:u32 c:u32", sm_75},
    {"dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}", "d:u32 a:u32 b:u32 c:u32", sm_75},

    // Floating-Point Instructions
    {"{add,sub,mul}{,$rnd}{,.ftz}{,.sat}.f32", "d:T a:T b:T", sm_75},
    {"{add,sub,mul}{,$rnd}.f64", "d:T a:T b:T", sm_75},
    {"{add,sub,mul}{,$rnd}{,.ftz}.f32x2", "d:T a:T b:T", sm_100},
    {"{add,sub}{,$rnd}{,.sat}.f32{.f16,.bf16}", "d:U a:T c:U", sm_100},
    {"fma{$rnd}{,.sat}.f32{.f16,.bf16}", "d:U a:T b:T c:U", sm_100},
    {"{fma,mad}{$rnd}{,.ftz}{,.sat}.f32", "d:T a:T b:T c:T", sm_75},
    {"{fma,mad}{$rnd}.f64", "d:T a:T b:T c:T", sm_75},
    {"fma{$rnd}{,.ftz}.f32x2", "d:T a:T b:T c:T", sm_100},
    {"div{.approx,.full,$rnd}{,.ftz}.f32", "d:T a:T b:T", sm_75},
    {"div{$rnd}.f64", "d:T a:T b:T", sm_75},
    {"{abs,neg}{,.ftz}.f32", "d:T a:T", sm_75},
    {"{abs,neg}.f64", "d:T a:T", sm_75},
    {"{min,max}{,.ftz}.f32", "d:T a:T b:T", sm_75},
    {"{min,max}.f64", "d:T a:T b:T", sm_75},
    {"{min,max}{,.ftz}.NaN.f32", "d:T a:T b:T", sm_80},
    {"{min,max}{,.ftz}{,.NaN}.xorsign.abs.f32", "d:T a:T b:T", sm_86},
    {"{min,max}{,.ftz}{,.NaN}{,.abs}.f32", "d:T a:T b:T c:T", sm_100},
    {"testp{,.finite,.infinite,.number,.notanumber,.normal,.subnormal}{.f32,.f64}", "d:pred a:T", sm_75},
    {"copysign{.f32,.f64}", "d:T a:T b:T", sm_75},
    {"{rcp,sqrt}{.approx,$rnd}{,.ftz}.f32", "d:T a:T", sm_75},
    {"{rcp,sqrt}{$rnd}.f64", "d:T a:T", sm_75},
    {"rcp{.approx,$rnd}.ftz.f64", "d:T a:T", sm_75},
    {"rsqrt.approx{,.ftz}{.f32,.f64}", "d:T a:T", sm_75},
    {"{sin,cos,lg2,ex2}.approx{,.ftz}.f32", "d:T a:T", sm_75},
    {"tanh.approx.f32", "d:T a:T", sm_75},

    // Half Precision Floating-Point Instructions
    {"{add,sub,mul}{,.rn}{,.ftz}{,.sat}{$half}", "d:T a:T b:T", sm_75},
    {"{add,sub,mul}{,.rn}{$bf}", "d:T a:T b:T", sm_90},
    {"fma.rn{,.ftz}{,.sat}{$half}", "d:T a:T b:T c:T", sm_75},
    {"fma.rn{,.ftz}.relu{$half}", "d:T a:T b:T c:T", sm_80},
    {"fma.rn{,.relu,.sat}.oob{$half}", "d:T a:T b:T c:T", sm_90},
    {"fma{$rnd}{,.relu}{$bf}", "d:T a:T b:T c:T", sm_80},
    {"fma{$rnd}{,.relu}.oob{$bf}", "d:T a:T b:T c:T", sm_90},
    {"{abs,neg}{,.ftz}{$half}", "d:T a:T", sm_75},
    {"{abs,neg}{$bf}", "d:T a:T", sm_80},
    {"{min,max}{,.ftz}{,.NaN}{$half}", "d:T a:T b:T", sm_80},
    {"{min,max}{,.NaN}{$bf}", "d:T a:T b:T", sm_80},
    {"{min,max}{,.ftz}{,.NaN}.xorsign.abs{$half}", "d:T a:T b:T", sm_86},
    {"{min,max}{,.NaN}.xorsign.abs{$bf}", "d:T a:T b:T", sm_86},
    {"{ex2,tanh}.approx{$half}", "d:T a:T", sm_75},
    {"ex2.approx.ftz{$bf}", "d:T a:T", sm_90},
    {"tanh.approx{$bf}", "d:T a:T", sm_90},

    // Comparison and Selection Instructions; Half Precision Comparison Instructions
    {"set{$unsigned}{$bool}{.u32,.s32,.f16,.f32}{.u16,.u32,.u64}", "d:U a:T b:T c:pred&", sm_75},
    {"set{$order}{$bool}{.u32,.s32,.f16,.f32}{.s16,.s32,.s64}", "d:U a:T b:T c:pred&", sm_75},
    {"set{$eq}{$bool}{.u32,.s32,.f16,.f32}{$bits}", "d:U a:T b:T c:pred&", sm_75},
    {"set{$compare}{$bool}{,.ftz}{.u32,.s32,.f16,.f32}.f32", "d:U a:T b:T c:pred&", sm_75},
    {"set{$compare}{$bool}{.u32,.s32,.f16,.f32}.f64", "d:U a:T b:T c:pred&", sm_75},
    {"set{$compare}{$bool}{,.ftz}{.u16,.u32,.s16,.s32,.f16}.f16", "d:U a:T b:T c:pred&", sm_75},
    {"set{$compare}{$bool}{,.ftz}{.u32,.s32,.f16x2}.f16x2", "d:U a:T b:T c:pred&", sm_75},
    {"set{$compare}{$bool}{.u16,.u32,.s16,.s32,.bf16}.bf16", "d:U a:T b:T c:pred(1..0)&", sm_90},
    {"set{$compare}{$bool}{.u32,.s32,.bf16x2}.bf16x2", "d:U a:T b:T c:pred(1..0)&", sm_90},
    {"set{$unsigned}{$bool}.bf16{.u16,.u32,.u64}", "d:U a:T b:T c:pred(1..0)&", sm_90},
    {"set{$order}{$bool}.bf16{.s16,.s32,.s64}", "d:U a:T b:T c:pred(1..0)&", sm_90},
    {"set{$eq}{$bool}.bf16{$bits}", "d:U a:T b:T c:pred(1..0)&", sm_90},
    {"set{$compare}{$bool}.bf16{.f16,.f32,.f64}", "d:U a:T b:T c:pred(1..0)&", sm_90},
    {"setp{$unsigned}{$bool}{.u16,.u32,.u64}", "d_|q:pred a:T b:T c:pred&", sm_75},
    {"setp{$order}{$bool}{.s16,.s32,.s64}", "d_|q:pred a:T b:T c:pred&", sm_75},
    {"setp{$eq}{$bool}{$bits}", "d_|q:pred a:T b:T c:pred&", sm_75},
    {"setp{$compare}{$bool}{,.ftz}{.f32,.f16x2}", "d_|q:pred a:T b:T c:pred&", sm_75},
    {"setp{$compare}{$bool}.f64", "d_|q:pred a:T b:T c:pred&", sm_75},
    {"setp{$compare}{$bool}{,.ftz}.f16", "d_:pred a:T b:T c:pred&", sm_75},
    {"setp{$compare}{$bool}.bf16", "d_:pred a:T b:T c:pred(1..0)&", sm_90},
    {"setp{$compare}{$bool}.bf16x2", "d_|q:pred a:T b:T c:pred(1..0)&", sm_90},
    {"selp{$any}", "d:T a:T b:T c:pred", sm_75},
    {"slct{$any}.s32", "d:U a:U b:U c:T", sm_75},
    {"slct{,.ftz}{$any}.f32", "d:U a:U b:U c:T", sm_75},

    // Logic and Shift Instructions
    {"{and,or,xor}{$bits,.pred}", "d:T a:T b:T", sm_75},
    {"not{$bits,.pred}", "d:T a:T", sm_75},
    {"cnot{$bits}", "d:T a:T", sm_75},
    {"lop3.b32", "d_:T a:T b:T c:T #imm", sm_75},
    {"lop3{.or,.and}.b32", "d_&p:T a:T b:T c:T #imm q:pred", sm_75},
    {"shf{.l,.r}{.clamp,.wrap}.b32", "d:T a:T b:T c:u32", sm_75},
    {"shl{$bits}", "d:T a:T b:u32", sm_75},
    {"shr{$int,$bits}", "d:T a:T b:u32", sm_75},
    {"prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "d:T a:T b:T c:T", sm_75},

    // Data Movement and Conversion Instructions
    {"mov{$any,.b128,.pred}", "d:T a:T", sm_75},
    {"mov.b16", "d:T {a:b8*2}", sm_75},
    {"mov.b32", "d:T {a:b16*2}", sm_75},
    {"mov.b32", "d:T {a:b8*4}", sm_75},
    {"mov.b64", "d:T {a:b32*2}", sm_75},
    {"mov.b64", "d:T {a:b16*4}", sm_75},
    {"mov.b128", "d:T {a:b64*2}", sm_75},
    {"mov.b128", "d:T {a:b32*4}", sm_75},
    {"mov.b16", "{d:b8*2} a:T", sm_75},
    {"mov.b32", "{d:b16*2} a:T", sm_75},
    {"mov.b32", "{d:b8*4} a:T", sm_75},
    {"mov.b64", "{d:b32*2} a:T", sm_75},
    {"mov.b64", "{d:b16*4} a:T", sm_75},
    {"mov.b128", "{d:b64*2} a:T", sm_75},
    {"mov.b128", "{d:b32*4} a:T", sm_75},
    {"shfl.sync{.up,.down,.bfly,.idx}.b32", "d|p:T a:T b:T c:T m:u32", sm_75},
    {"cvta{,.to}{.const,.global,.local,.param,.param::entry,.shared,.shared::cta}{.u32,.u64}", "d:T a:T",
     sm_75},
    {"cvta{,.to}.shared::cluster{.u32,.u64}", "d:T a:T", sm_90},
    {"isspacep{.const,.global,.local,.param,.param::entry,.shared,.shared::cta}", "d:pred a:u64", sm_75},
    {"isspacep.shared::cluster", "d:pred a:u64", sm_90},
    {"isspacep{.const,.global,.local,.param,.param::entry,.shared,.shared::cta}", "d:pred a:u32", sm_75},
    {"isspacep.shared::cluster", "d:pred a:u32", sm_90},
    {"mapa{,.shared::cluster}{.u32,.u64,.s32,.s64}", "d:T a:T b:u32", sm_90},
    {"getctarank{,.shared::cluster}{.u32,.u64,.s32,.s64}", "d:u32 a:T", sm_90},
    {"cvt{$ints8}{$ints8}", "d:U a:T", sm_75},
    {"cvt.sat{.u8,.s8,.s16}{.u16,.u32,.u64,.s32,.s64}", "d:U a:T", sm_75},  // where it may change the number
    {"cvt.sat{.u8,.u16,.u32,.u64}{.s8,.s16}", "d:U a:T", sm_75},
    {"cvt.sat{.u16,.s32}{.u32,.u64,.s64}", "d:U a:T", sm_75},
    {"cvt.sat{.u16,.u32,.u64}.s32", "d:U a:T", sm_75},
    {"cvt.sat{.u32,.s64}.u64", "d:U a:T", sm_75},
    {"cvt.sat{.u32,.u64}.s64", "d:U a:T", sm_75},
    {"cvt.sat.s8{.u8,.s16}", "d:U a:T", sm_75},
    {"cvt{$rnd}{,.sat}{.f16,.f64}{$ints8}", "d:U a:T", sm_75},
    {"cvt{$rnd}{,.ftz}{,.sat}.f32{$ints8}", "d:U a:T", sm_75},
    {"cvt{$rnd}.bf16{$ints8}", "d:U a:T", sm_90},
    {"cvt{$rndi}{,.ftz}{,.sat}{$ints8}.f32", "d:U a:T", sm_75},
    {"cvt{$rndi}{,.sat}{$ints8}{.f16,.f64}", "d:U a:T", sm_75},
    {"cvt{$rndi}{$ints8}.bf16", "d:U a:T", sm_90},
    {"cvt{,.ftz}{,.sat}.f32.f32", "d:U a:T", sm_75},
    {"cvt{$rndi}{,.ftz}{,.sat}.f32.f32", "d:U a:T", sm_75},
    {"cvt{,$rndi}{,.sat}.f64.f64", "d:U a:T", sm_75},
    {"cvt{,$rndi}{,.sat}.f16.f16", "d:U a:T", sm_75},
    {"cvt{,$rndi}.bf16.bf16", "d:U a:T", sm_90},
    {"cvt{$rnd}{,.ftz}{,.sat}.f32.f64", "d:U a:T", sm_75},
    {"cvt{,.ftz}{,.sat}.f64.f32", "d:U a:T", sm_75},
    {"cvt{,.ftz}{,.sat}.f32.f16", "d:U a:T", sm_75},
    {"cvt{,.sat}.f64.f16", "d:U a:T", sm_75},
    {"cvt{$rnd}{,.ftz}{,.sat}.f16.f32", "d:U a:T", sm_75},
    {"cvt{$rnd}{,.sat}.f16.f64", "d:U a:T", sm_75},
    {"cvt{,$rnd}.f32.bf16", "d:U a:T", sm_80},
    {"cvt{,$rnd}.ftz.f32.bf16", "d:U a:T", sm_90},
    {"cvt{,$rnd}{.f16,.f64}.bf16", "d:U a:T", sm_90},
    {"cvt{,$rnd}.bf16.f16", "d:U a:T", sm_90},
    {"cvt{$rnd}{,.ftz}.bf16.f32", "d:U a:T", sm_80},
    {"cvt{$rnd}.bf16.f64", "d:U a:T", sm_90},
    {"cvt.pack.sat{.u16,.s16}.s32", "d:u32 a:T b:T", sm_75},
    {"cvt.pack.sat{.u8,.s8}.s32.b32", "d:u32 a:V b:V c:T", sm_75},

    // Loads and stores. Hints of caches and of evictions change no result.
    {"ld{,.weak}{$ld_windows}{,$ld_cache}{$memory}", "#d:T [p]", sm_75},
    {"ld{,.weak}.shared::cluster{,$ld_cache}{$memory}", "#d:T [p]", sm_90},
    {"ld{,.weak}{,.global}{,$ld_cache,$evict}{,.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75},
    {"ld{,.weak}{,.global}{,$ld_cache,$evict}.L2::256B{$memory}", "#d:T [p]", sm_80},
    {"ld{,.weak}{,.global}{,$ld_cache,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$memory}",
     "#d:T [p] c:u64", sm_80},
    {"ld.global{$nc}{,.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75},
    {"ld.global{$nc}.L2::256B{$memory}", "#d:T [p]", sm_80},
    {"ld.global{$nc}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$memory}", "#d:T [p] c:u64", sm_80},
    {"ld.volatile{$gs}{$memory}", "#d:T [p]", sm_75},
    {"ld.volatile.shared::cluster{$memory}", "#d:T [p]", sm_90},
    {"ld{$acquire}{$gs}{$memory}", "#d:T [p]", sm_75},
    {"ld{$acquire_cluster}{$gs}{$memory}", "#d:T [p]", sm_90},
    {"ld{$acquire,$acquire_cluster}.shared::cluster{$memory}", "#d:T [p]", sm_90},
    {"ld{$relaxed}{,.global}{$evict}{,.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75},
    {"ld{$relaxed}{,.global}{$evict}.L2::256B{$memory}", "#d:T [p]", sm_80},
    {"ld{$acquire,.volatile}{,.global}.L2::256B{$memory}", "#d:T [p]", sm_80},
    {"ld{$acquire,.volatile}{,.global}{.L2::64B,.L2::128B}{$memory}", "#d:T [p]", sm_75},
    {"ld{$acquire}{,.global}{,$evict}.L2::cache_hint{,.L2::64B,.L2::128B}{$memory}", "#d:T [p] c:u64", sm_80},
    {"ld{.mmio.relaxed.sys}{,.global}{$memory}", "#d:T [p]", sm_75},
    {"ld{,.weak}{,.global}{,$ld_cache,$evict}{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p]", sm_100},
    {"ld{,.weak}{,.global}{,$ld_cache,$evict}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$wide}",
     "#d:T [p] c:u64", sm_100},
    {"ld.global{$nc}{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p]", sm_100},
    {"ld.global{$nc}.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}{$wide}", "#d:T [p] c:u64", sm_100},
    {"ld{$acquire,$acquire_cluster,.volatile}{,.global}{$wide}", "#d:T [p]", sm_100},
    {"ldu{,.global}{$memory}", "#d:T [p]", sm_75},
    {"st{,.weak}{$st_windows}{,$st_cache}{$memory}", "[p] #a:T", sm_75},
    {"st{,.weak}.shared::cluster{,$st_cache}{$memory}", "[p] #a:T", sm_90},
    {"st{,.weak}{,.global}{,$st_cache,$evict}{$memory}", "[p] #a:T", sm_75},
    {"st{,.weak}{,.global}{,$st_cache,$evict}.L2::cache_hint{$memory}", "[p] #a:T c:u64", sm_80},
    {"st.volatile{$gs}{$memory}", "[p] #a:T", sm_75},
    {"st.volatile.shared::cluster{$memory}", "[p] #a:T", sm_90},
    {"st{$release}{$gs}{$memory}", "[p] #a:T", sm_75},
    {"st{$release_cluster}{$gs}{$memory}", "[p] #a:T", sm_90},
    {"st{$release,$release_cluster}.shared::cluster{$memory}", "[p] #a:T", sm_90},
    {"st{$relaxed}{,.global}{$evict}{$memory}", "[p] #a:T", sm_75},
    {"st{$release}{,.global}{,$evict}.L2::cache_hint{$memory}", "[p] #a:T c:u64", sm_80},
    {"st{.mmio.relaxed.sys}{,.global}{$memory}", "[p] #a:T", sm_75},
    {"st{,.weak}{,.global}{,$st_cache,$evict}{$wide}", "[p] #a:T", sm_100},
    {"st{,.weak}{,.global}{,$st_cache,$evict}.L2::cache_hint{$wide}", "[p] #a:T c:u64", sm_100},
    {"st{$release,$release_cluster,.volatile}{,.global}{$wide}", "[p] #a:T", sm_100},

    // Atomics and reductions. A scope may be named without an order.
    {"atom{,$atom_order}{,$scope}{$gs}{$atom}", "d_:T [p] a:T", sm_75},
    {"atom{,$atom_order}.cluster{$gs}{$atom}", "d_:T [p] a:T", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}.shared::cluster{$atom}", "d_:T [p] a:T", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}.exch.b128", "d_:T [p] a:T", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}{.add.noftz.bf16,.add.noftz.bf16x2}",
     "d:T [p] a:T", sm_90},
    {"atom{,$atom_order}{,$scope}{$gs}.cas{$bits}", "d_:T [p] a:T b:T", sm_75},
    {"atom{,$atom_order}.cluster{$gs}.cas{$bits}", "d_:T [p] a:T b:T", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}.shared::cluster.cas{$bits}", "d_:T [p] a:T b:T", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}.cas.b128", "d_:T [p] a:T b:T", sm_90},
    // A second operand of exch is none of the manual's.
    {"atom{,$atom_order}{,$scope}{$gs}.exch.b32", "d_:T [p] a:T b:T(1..0)", sm_75},
    {"atom{,$atom_order}.cluster{$gs}.exch.b32", "d_:T [p] a:T b:T(1..0)", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}.shared::cluster.exch.b32", "d_:T [p] a:T b:T(1..0)", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{$gs,.shared::cluster}.exch.b128", "d_:T [p] a:T b:T(1..0)", sm_90},
    {"red{,.relaxed,.release}{,$scope}{$gs}{$red}", "[p] a:T", sm_75},
    {"red{,.relaxed,.release}.cluster{$gs}{$red}", "[p] a:T", sm_90},
    {"red{,.relaxed,.release}{,$scope,.cluster}.shared::cluster{$red}", "[p] a:T", sm_90},
    {"red{,.relaxed,.release}{,$scope,.cluster}{$gs,.shared::cluster}{.add.noftz.bf16,.add.noftz.bf16x2}",
     "[p] a:T", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{,.global}{$atom_vector}", "#d_:T [p] #a:T", sm_90},
    {"red{,.relaxed,.release}{,$scope,.cluster}{,.global}{$atom_vector}", "[p] #a:T", sm_90},
    {"atom{,$atom_order}{,$scope}{,.global}{$atom+}", "d_:T [p] a:T c:u64", sm_80},
    {"atom{,$atom_order}{,$scope,.cluster}{,.global}{$atom_vector+}", "#d_:T [p] #a:T c:u64", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{,.global}.exch.L2::cache_hint.b128", "d_:T [p] a:T c:u64", sm_90},
    {"atom{,$atom_order}{,$scope,.cluster}{,.global}{.add.noftz.L2::cache_hint.bf16,.add.noftz.L2::cache_hint.bf16x2}",
     "d:T [p] a:T c:u64", sm_90},
    {"red{,.relaxed,.release}{,$scope,.cluster}{,.global}.add.noftz.L2::cache_hint{.bf16,.bf16x2}",
     "[p] a:T c:u64", sm_90},
    {"red{,.relaxed,.release}{,$scope}{,.global}{$red+}", "[p] a:T c:u64", sm_80},
    {"red{,.relaxed,.release}{,$scope,.cluster}{,.global}{$atom_vector+}", "[p] #a:T c:u64", sm_90},

    // Parallel Synchronization and Communication Instructions
    {"bar{,.cta}.sync", "a:u32(0..15) b:u32(0..4294967264/32)?", sm_75},
    {"bar{,.cta}.arrive", "a:u32(0..15) b:u32(32..4294967264/32)", sm_75},
    {"bar{,.cta}.red.popc.u32", "d:T a:u32(0..15) b:u32(0..4294967264/32)? p:pred", sm_75},
    {"bar{,.cta}.red{.and,.or}.pred", "d:T a:u32(0..15) b:u32(0..4294967264/32)? p:pred", sm_75},
    {"bar.warp.sync", "m:u32", sm_75},
    {"barrier{,.cta}.sync{,.aligned}", "a:u32(0..15) b:u32(0..4294967264/32)?", sm_75},
    {"barrier{,.cta}.arrive{,.aligned}", "a:u32(0..15) b:u32(32..4294967264/32)", sm_75},
    {"barrier{,.cta}.red{,.aligned}.popc.u32", "d:T a:u32(0..15) b:u32(0..4294967264/32)? p:pred", sm_75},
    {"barrier{,.cta}.red{,.aligned}{.and,.or}.pred", "d:T a:u32(0..15) b:u32(0..4294967264/32)? p:pred", sm_75},
    {"vote.sync{.all,.any,.uni}.pred", "d:pred a:pred m:u32", sm_75},
    {"vote.sync.ballot.b32", "d:T a:pred m:u32", sm_75},
    {"match.any.sync{.b32,.b64}", "d:u32 a:T m:u32", sm_75},
    {"match.all.sync{.b32,.b64}", "d_|p:u32 a:T m:u32", sm_75},
    {"redux.sync{.add,.min,.max}{.u32,.s32}", "d:u32 a:u32 m:u32", sm_80},
    {"redux.sync{.and,.or,.xor}.b32", "d:u32 a:u32 m:u32", sm_80},
    {"redux.sync{.min,.max}{,.abs}{,.NaN}.f32", "d:T a:T m:u32", redux_f32},
    {"activemask.b32", "d:T", sm_75},
    {"elect.sync", "d_&p:u32 m:u32", sm_90},
    {"membar{.cta,.gl,.sys}", "", sm_75},
    {"membar.proxy.alias", "", sm_75},
    {"fence{,.sc,.acq_rel,.acquire,.release}{$scope}", "", sm_75},
    {"fence{,.sc,.acq_rel,.acquire,.release}.cluster", "", sm_90},
    {"fence.proxy.alias", "", sm_75},
    {"fence.acquire.sync_restrict::shared::cluster.cluster", "", sm_90},
    {"fence.release.sync_restrict::shared::cta.cluster", "", sm_90},
    {"fence.mbarrier_init.release.cluster", "", sm_90},
    {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "", sm_90},
    {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", "", sm_90},
    {"fence.proxy.tensormap::generic.release{,$restrict}{$scope,.cluster}", "", sm_90},
    {"fence.proxy.tensormap::generic.acquire{$scope,.cluster}", "[x] #imm(128)", sm_90},
    {"fence.proxy{.alias,.async,.async.global,.async.shared::cta,.async.shared::cluster}{$restrict}", "",
     sm_90},
    {"barrier.cluster.arrive{,.release,.relaxed}{,.aligned}", "", sm_90},
    {"barrier.cluster.wait{,.acquire}{,.aligned}", "", sm_90},
    {"clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128", "[p] [q]", sm_100},
    {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128", "[p] [m]", sm_100},
    {"clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
     "[p] [q]", cancel_multicast},
    {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
     "[p] [m]", cancel_multicast},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "d:pred a:T", sm_100},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", "#d:b32 a:T", sm_100},
    {"clusterlaunchcontrol.query_cancel{.get_first_ctaid::x,.get_first_ctaid::y,.get_first_ctaid::z}.b32.b128",
     "d:U a:T", sm_100},
    {"fence.proxy.async{,.global,.shared::cta,.shared::cluster}", "", sm_90},
    {"griddepcontrol{.launch_dependents,.wait}", "", sm_90},

    // Asynchronous copies
    {"cp.async.ca{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(4,8,16) a:u32(0..16)?", sm_80},
    {"cp.async.ca{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(4,8,16) p:pred(0..1)", sm_80},
    {"cp.async.ca{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(4,8,16) a:u32(0..16)? c:u64", sm_80},
    {"cp.async.ca{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(4,8,16) p:pred(0..1) c:u64", sm_80},
    {"cp.async.cg{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(16) a:u32(0..16)?", sm_80},
    {"cp.async.cg{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}", "[p] [q] #imm(16) p:pred(0..1)",
     sm_80},
    {"cp.async.cg{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(16) a:u32(0..16)? c:u64", sm_80},
    {"cp.async.cg{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
     "[p] [q] #imm(16) p:pred(0..1) c:u64", sm_80},
    {"cp.async.commit_group", "", sm_80},
    {"cp.async.wait_group", "#imm", sm_80},
    {"cp.async.wait_all", "", sm_80},
    {"cp.async.mbarrier.arrive{,.noinc}{$own}.b64", "[p]", sm_80},

    // Barrier objects. One in another block gives no state.
    {"mbarrier.init{$own}.b64", "[m] a:u32", sm_80},
    {"mbarrier.inval{$own}.b64", "[m]", sm_80},
    {"mbarrier{.expect_tx,.complete_tx}{,.relaxed.cta,.relaxed.cluster}{$own,.shared::cluster}.b64",
     "[m] a:u32", sm_90},
    {"mbarrier{.arrive,.arrive_drop}{,.release.cta}{$own}.b64", "d_:u64 [m]", sm_80},
    {"mbarrier{.arrive,.arrive_drop}.noComplete{,.release.cta}{$own}.b64", "d_:u64 [m] a:u32(1..)", sm_80},
    {"mbarrier{.arrive,.arrive_drop}{,$arrive_order}{$own}.b64", "d_:u64 [m] a:u32(1..)?", sm_90},
    {"mbarrier{.arrive,.arrive_drop}{,$arrive_order}.shared::cluster.b64", "_ [m] a:u32(1..)?", sm_90},
    {"mbarrier{.arrive,.arrive_drop}.expect_tx{,$arrive_order}{$own}.b64", "d_:u64 [m] a:u32", sm_90},
    {"mbarrier{.arrive,.arrive_drop}.expect_tx{,$arrive_order}.shared::cluster.b64", "_ [m] a:u32", sm_90},
    {"mbarrier.test_wait{,.acquire.cta}{$own}.b64", "d:pred [m] a:u64", sm_80},
    {"mbarrier.test_wait.parity{,.acquire.cta}{$own}.b64", "d:pred [m] a:u32(0..1)", sm_80},
    {"mbarrier.test_wait{$wait_order}{$own}.b64", "d:pred [m] a:u64", sm_90},
    {"mbarrier.test_wait.parity{$wait_order}{$own}.b64", "d:pred [m] a:u32(0..1)", sm_90},
    {"mbarrier.try_wait{,$wait_order}{$own}.b64", "d:pred [m] a:u64 b:u32?", sm_90},
    {"mbarrier.try_wait.parity{,$wait_order}{$own}.b64", "d:pred [m] a:u32(0..1) b:u32?", sm_90},
    {"mbarrier.pending_count.b64", "d:u32 a:u64", sm_80},

    // Asynchronous copies in bulk
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
     "[p] [q] a:u32(0..1048560/16) [m]", sm_90},
    {"cp.async.bulk{.shared::cta,.shared::cluster}.global.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
     "[p] [q] a:u32(0..1048560/16) [m] c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{,.L2::cache_hint}",
     "[p] [q] a:u32(0..1048560/16) [m] b:u16 c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}",
     "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}.cp_mask",
     "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint b:u16", sm_100},
    {"cp.async.bulk.commit_group", "", sm_90},
    {"cp.async.bulk.wait_group{,.read}", "#imm", sm_90},
    {"cp.async.bulk.prefetch.L2.global{,.L2::cache_hint}", "[p] a:u32(0..1048560/16) c:u64&L2::cache_hint",
     sm_90},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}{$bulk_red}",
     "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", sm_90},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{$bulk_red_shared}",
     "[p] [q] a:u32(0..1048560/16) [m]", sm_90},

    // Asynchronous copies of tensors
    {"cp.async.bulk.tensor{$dim}{.shared::cta,.shared::cluster}.global{,.tile}.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
     "[p] [t,c] [m] c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes.multicast::cluster"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global.im2col.mbarrier::complete_tx::bytes"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] {o} c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] {o} b:u16 c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
     "[p] [t,c] [m] c:u64&L2::cache_hint", sm_100},
    {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
     "[p] [t,c] [m] {o} c:u64&L2::cache_hint", sm_100},
    {"cp.async.bulk.tensor{$dim}{.shared::cta,.shared::cluster}.global{,.tile}.mbarrier::complete_tx::bytes{$group}"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes.multicast::cluster{$group}"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.tensor.2d{.shared::cta,.shared::cluster}.global.tile::gather4.mbarrier::complete_tx::bytes{$group}"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster{$group}"
     "{,.L2::cache_hint}",
     "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global{.im2col,.im2col::w,.im2col::w::128}"
     ".mbarrier::complete_tx::bytes{$group}{,.L2::cache_hint}",
     "[p] [t,c] [m] {o} c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global{.im2col,.im2col::w,.im2col::w::128}"
     ".mbarrier::complete_tx::bytes.multicast::cluster{$group}{,.L2::cache_hint}",
     "[p] [t,c] [m] {o} b:u16 c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.tensor{$dim}.global.shared::cta{,.tile}.bulk_group{,.L2::cache_hint}",
     "[t,c] [q] c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta.im2col_no_offs.bulk_group{,.L2::cache_hint}",
     "[t,c] [q] c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{,.L2::cache_hint}",
     "[t,c] [q] c:u64&L2::cache_hint", tensor_group},
    {"cp.reduce.async.bulk.tensor{$dim}.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}{,.tile}.bulk_group"
     "{,.L2::cache_hint}",
     "[t,c] [q] c:u64&L2::cache_hint", sm_90},
    {"cp.reduce.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}.im2col_no_offs"
     ".bulk_group{,.L2::cache_hint}",
     "[t,c] [q] c:u64&L2::cache_hint", sm_90},
    {"cp.reduce.async.bulk.tensor.2d.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}.tile::scatter4.bulk_group"
     "{,.L2::cache_hint}",
     "[t,c] [q] c:u64&L2::cache_hint", tensor_group},
    {"cp.async.bulk.prefetch.tensor{$dim}.L2.global{,.tile}{,.L2::cache_hint}", "[t,c] c:u64&L2::cache_hint",
     sm_90},
    {"cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global.im2col{,.L2::cache_hint}",
     "[t,c] {o} c:u64&L2::cache_hint", sm_90},
    {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{,.L2::cache_hint}", "[t,c] c:u64&L2::cache_hint",
     tensor_group},
    {"cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global{.im2col::w,.im2col::w::128}{,.L2::cache_hint}",
     "[t,c] {o} c:u64&L2::cache_hint", tensor_group},
    {"tensormap.replace.tile.global_address{,.global,.shared::cta}.b1024.b64", "[p] a:T", tensormap_replace},
    {"tensormap.replace.tile.rank{,.global,.shared::cta}.b1024.b32", "[p] a:T", tensormap_replace},
    {"tensormap.replace.tile{.box_dim,.global_dim,.element_stride}{,.global,.shared::cta}.b1024.b32",
     "[p] #imm(0..4) a:u32", tensormap_replace},
    {"tensormap.replace.tile.global_stride{,.global,.shared::cta}.b1024.b64", "[p] #imm(0..4) a:T",
     tensormap_replace},
    {"tensormap.replace.tile.elemtype{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..15)", tensormap_replace},
    {"tensormap.replace.tile.interleave_layout{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..2)",
     tensormap_replace},
    {"tensormap.replace.tile.swizzle_mode{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..3)",
     tensormap_replace},
    {"tensormap.replace.tile.swizzle_atomicity{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..3)",
     swizzle_atomicity},
    {"tensormap.replace.tile.fill_mode{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..1)", tensormap_replace},
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release{$scope,.cluster}.sync.aligned",
     "[p] [q] #imm(128)", sm_90},

    // Asynchronous stores. Those without a barrier object take any size.
    {"st.async{,.weak}{$own,.shared::cluster}.mbarrier::complete_tx::bytes{$async,$async_vector}",
     "[p] #a:T [m]", sm_90},
    {"st.async.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{$async,$async_vector}", "[p] #a:T [m]",
     sm_90},
    {"st.async{,.weak}{.shared,.shared::cta}{$async,$async_vector}", "[p] #a:T [m]", sm_90},
    {"st.async{,.weak}.global{$async,$async_vector}", "[p] #a:T [p]", sm_100},
    {"st.async{,.release}{.gpu,.sys}.global{$async,$async_vector}", "[p] #a:T [p]", sm_100},
    {"st.async.mmio.release{.gpu,.sys}.global{$async}", "[p] #a:T [p]", sm_100},
    {"st.async{,.weak}{$own}{,.mbarrier::complete_tx::bytes}{$async,$async_narrow}", "[p] #a:T", sm_90},
    {"st.async{,.weak}.shared::cluster.mbarrier::complete_tx::bytes{$async,$async_narrow}", "[p] #a:T", sm_90},
    {"st.async.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{$async,$async_narrow}", "[p] #a:T",
     sm_90},
    {"st.async{.gpu,.sys}{$async,$async_narrow}", "[p] #a:T", sm_90},
    {"st.async{,.weak}.global{$async,$async_narrow}", "[p] #a:T", sm_100},
    {"st.async{,.release,.mmio.release}{.gpu,.sys}{,.global}{$async,$async_narrow}", "[p] #a:T", sm_100},
    {"red.async.relaxed.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{.and,.or,.xor}.b32",
     "[p] a:T [m]?", sm_90},
    {"red.async.relaxed{.gpu,.sys}{.and,.or,.xor}.b32", "[p] a:u32", sm_90},
    {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}{,.global}{.and,.or,.xor}.b32", "[p] a:u32", sm_100},
    {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}.global{.and,.or,.xor}.b32", "[p] a:T [p]", sm_100},
    {"red.async.relaxed.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{$red_async}", "[p] a:T [m]?",
     sm_90},
    {"red.async.relaxed{.gpu,.sys}{$red_async}", "[p] a:T", sm_90},
    {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}{,.global}{$red_async}", "[p] a:T", sm_100},
    {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}.global{$red_async}", "[p] a:T [p]", sm_100},
    {"st.bulk{,.weak}", "[p] a:u32=(1..0) #imm(0)", sm_100},
    {"st.bulk{,.weak}", "[p] a:u64(0..16777216/8) #imm(0)", sm_100},
    {"st.bulk{,.weak}.shared::cta", "[r] a:u32=(1..0) #imm(0)", sm_100},
    {"st.bulk{,.weak}.shared::cta", "[r] a:u64(0..16777216/8) #imm(0)", sm_100},

    // Memory of several GPUs
    {"multimem.ld_reduce{$multimem_load}{,.global}{$multimem_integer}", "d:T [p]", sm_90},
    {"multimem.ld_reduce{$multimem_load}{,.global}{.add.f64,.add.f32,.add.v2.f32,.add.v4.f32}", "#d:T [p]",
     sm_90},
    {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.min,.max}{.f16x2,.bf16x2,$half_vector}", "#d:T [p]",
     sm_90},
    {"multimem.ld_reduce{$multimem_load}{,.global}.add.acc::f32{.f16x2,.bf16x2,$half_vector}", "#d:T [p]",
     sm_90},
    {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.add.acc::f16,.min,.max}{.v4,.v8}{.e4m3,.e5m2}",
     "#d:b8 [p]", multimem_fp8},
    {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.add.acc::f16,.min,.max}{.v2,.v4,.v8}{.e4m3x2,.e5m2x2}",
     "#d:b16 [p]", multimem_fp8},
    {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.add.acc::f16,.min,.max}{,.v2,.v4}{.e4m3x4,.e5m2x4}",
     "#d:b32 [p]", multimem_fp8},
    {"multimem.st{$multimem_store}{,.global}{$async,.f16x2,.bf16x2,.v2.f32,.v4.f32,$half_vector}", "[p] #a:T",
     sm_90},
    {"multimem.st{$multimem_store}{,.global}{.v4,.v8}{.e4m3,.e5m2}", "[p] #a:b8", multimem_fp8},
    {"multimem.st{$multimem_store}{,.global}{.v2,.v4,.v8}{.e4m3x2,.e5m2x2}", "[p] #a:b16", multimem_fp8},
    {"multimem.st{$multimem_store}{,.global}{,.v2,.v4}{.e4m3x4,.e5m2x4}", "[p] #a:b32", multimem_fp8},
    {"multimem.red{$multimem_red}{,.global}{$multimem_integer}", "[w] a:T", sm_90},
    {"multimem.red{$multimem_red}{,.global}{.add.f64,.add.f32,.add.v2.f32,.add.v4.f32,.add.f16x2,.add.bf16x2}",
     "[w] #a:T", sm_90},
    {"multimem.red{$multimem_red}{,.global}{.add,.min,.max}{$half_vector}", "[w] #a:T", sm_90},

    // Hints
    {"prefetch{,.global,.local}{.L1,.L2}", "[p]", sm_75},
    {"prefetch{,.global}{.L2::evict_last,.L2::evict_normal}", "[p]", sm_80},
    {"prefetch{,.const,.param}.tensormap", "[p]", sm_90},
    {"prefetchu.L1", "[r]", sm_75},
    {"applypriority{,.global}.L2::evict_normal", "[p] #imm(128)", sm_80},
    {"discard{,.global}.L2", "[p] #imm(128)", sm_80},
    {"createpolicy.fractional{$policy,$policy_both}.b64", "d:u64 a:f32?", sm_80},
    {"createpolicy.range{,.global}{$policy,$policy_both}.b64", "d:u64 [p] a:u32 b:u32", sm_80},
    {"createpolicy.cvt.L2.b64", "d:u64 a:u64", sm_80},
    {"nanosleep.u32", "a:u32", sm_75},
    {"pmevent", "#imm(0..15)", sm_75},
    {"pmevent.mask", "#imm(0..65535)", sm_75},
    {"setmaxnreg{.inc,.dec}.sync.aligned{.u32,.s32}", "#imm(24..256/8)", setmaxnreg},

    // Control flow, stack and others
    {"bra{,.uni}", "@label", sm_75},
    {"brx.idx{,.uni}", "a:u32 @table", sm_75},
    {"brkpt", "", sm_75},
    {"trap", "", sm_75},
    {"exit", "", sm_75},
    {"ret{,.uni}", "", sm_75},
    {"stacksave{.u32,.u64}", "d:T", sm_75},
    {"stackrestore{.u32,.u64}", "a:T(1..0)", sm_75},
    {"alloca{.u32,.u64}", "d:T a:T #imm?", sm_75},
};

// ---- Rows, taken apart

using Words = std::vector<std::string_view>;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

// ".mmio.relaxed" -> mmio, relaxed; "" -> none.
Words words_of(std::string_view dotted) {
  return dotted.empty() ? Words{} : split(dotted.substr(1), '.');
}

std::string_view set(std::string_view name) {
  return std::ranges::find(kSets, name, &NamedSet::name)->words;
}

// The alternatives of "{a,$name,$name+}" without its braces; "+": with a cache hint before the vector and the type. An empty one comes last: words are taken if they can be.
std::vector<Words> alternatives(std::string_view text) {
  std::vector<Words> out;
  bool may_be_absent = false;
  const auto add = [&](std::string_view alternative) {
    if (alternative.empty())
      may_be_absent = true;
    else
      out.push_back(words_of(alternative));
  };
  for (std::string_view one : split(text, ',')) {
    if (!one.starts_with('$')) {
      add(one);
      continue;
    }
    const bool hint = one.ends_with('+');
    if (hint) one.remove_suffix(1);
    const std::size_t first = out.size();
    for (const std::string_view words : split(set(one.substr(1)), ',')) add(words);
    if (hint)
      for (Words& words : std::span(out).subspan(first))
        words.insert(std::ranges::find_if(
                         words, [](std::string_view word) { return word[0] == 'v' || find_type(word); }),
                     "L2::cache_hint");
  }
  std::ranges::stable_sort(out, std::greater(), [](const Words& words) { return words.size(); });
  if (may_be_absent) out.emplace_back();
  return out;
}

// A piece of a pattern: "{...}", "$name" or ".words", taken from its front.
std::string_view take_piece(std::string_view& pattern) {
  const std::size_t end =
      pattern.front() == '{' ? pattern.find('}') + 1 : std::min(pattern.find_first_of("{$", 1), pattern.size());
  const std::string_view out = pattern.substr(0, end);
  pattern.remove_prefix(end);
  return out;
}

OperandForm operand_form(std::string_view text) {
  OperandForm out;
  if (text.ends_with('?')) out.presence = OperandForm::Presence::optional;
  if (text.ends_with('&')) out.presence = OperandForm::Presence::with_boolean;
  if (out.presence != OperandForm::Presence::always) text.remove_suffix(1);
  if (const std::size_t with = text.find('&', text.find(':')); with != text.npos) {
    out.presence = OperandForm::Presence::with_word;
    out.word = text.substr(with + 1);
    text = text.substr(0, with);
  }
  if (text.ends_with(')')) {
    const std::size_t open = text.find('(');
    out.values = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  if (text.ends_with('=')) {
    out.is_strict = true;
    text.remove_suffix(1);
  }
  if (text.starts_with('[')) {
    out.kind = text == "[t,c]" ? OperandForm::Kind::tensor : OperandForm::Kind::address;
    out.role = text.substr(1, 1);
    return out;
  }
  if (text == "{o}") {
    out.kind = OperandForm::Kind::offsets;
    out.role = "o";
    return out;
  }
  if (text == "_") {
    out.kind = OperandForm::Kind::sink;
    return out;
  }
  if (text == "#imm") {
    out.kind = OperandForm::Kind::immediate;
    out.role = "imm";
    return out;
  }
  if (text.starts_with('@')) {
    out.kind = text == "@label" ? OperandForm::Kind::label : OperandForm::Kind::table;
    return out;
  }
  if (text.starts_with('#')) {
    out.kind = OperandForm::Kind::vector;
    text.remove_prefix(1);
  }
  if (text.starts_with('{')) {  // {a:b16*2}
    out.kind = OperandForm::Kind::pack;
    out.count = text[text.size() - 2] - '0';
    text = text.substr(1, text.size() - 4);
  }
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon), type = text.substr(colon + 1);
  out.role = name.substr(0, 1);
  out.sink = name.find('_') != name.npos;
  if (name.find('|') != name.npos) out.second = OperandForm::Second::allowed;
  if (name.find('&') != name.npos) out.second = OperandForm::Second::required;
  if (type.size() == 1)
    out.type_from = type[0];
  else
    out.type = find_type(type).value();
  return out;
}

ScalarForm take_apart(const FormRow& row) {
  ScalarForm out{&row, {}, {}, {}, {}};
  std::string_view pattern = row.pattern;
  if (pattern.front() == '{') {
    const std::string_view names = take_piece(pattern);
    out.opcodes = split(names.substr(1, names.size() - 2), ',');
  } else {
    const std::size_t end = std::min(pattern.find_first_of(".{$"), pattern.size());
    out.opcodes = {pattern.substr(0, end)};
    pattern.remove_prefix(end);
  }
  while (!pattern.empty()) {
    const std::string_view piece = take_piece(pattern);
    out.slots.push_back(alternatives(piece.front() == '{' ? piece.substr(1, piece.size() - 2) : piece));
    for (const Words& alternative : out.slots.back()) out.words.insert(alternative.begin(), alternative.end());
  }
  if (!row.operands.empty())
    for (const std::string_view operand : split(row.operands, ' '))
      out.operands.push_back(operand_form(operand));
  return out;
}

struct Forms {
  std::vector<ScalarForm> all;
  std::unordered_map<std::string_view, std::vector<const ScalarForm*>> by_opcode;
};
const Forms& forms() {
  static const Forms out = [] {
    Forms made;
    for (const FormRow& row : kRows) made.all.push_back(take_apart(row));
    for (const ScalarForm& form : made.all)
      for (const std::string_view opcode : form.opcodes) made.by_opcode[opcode].push_back(&form);
    return made;
  }();
  return out;
}

// ---- Words against a row

struct Progress {
  std::size_t words = 0;                    ///< that some row has, from the first on
  std::vector<const Words*> accepted = {};  ///< after these
};

bool starts_with(std::span<const std::string_view> words, const Words& first) {
  return words.size() >= first.size() && std::equal(first.begin(), first.end(), words.begin());
}

bool fits(const ScalarForm& form, std::size_t slot, std::span<const std::string_view> all, std::size_t at,
          Progress& progress) {
  const std::span<const std::string_view> rest = all.subspan(at);
  if (slot == form.slots.size()) {
    if (rest.empty()) return true;
    if (at > progress.words) progress = {at, {}};
    return false;
  }
  for (const Words& alternative : form.slots[slot]) {
    if (starts_with(rest, alternative)) {
      if (fits(form, slot + 1, all, at + alternative.size(), progress)) return true;
    } else {
      if (at > progress.words) progress = {at, {}};
      if (at == progress.words) progress.accepted.push_back(&alternative);
    }
  }
  return false;
}

// Words that belong to an opcode: they stand before all others, in the order of the form.
struct FixedWords {
  std::string_view opcodes, words;
};
constexpr FixedWords kFixed[] = {
    {"mul mad madc mul24 mad24 dp2a", "lo hi wide"},
    {"shf", "l r"},
    {"cvta", "to"},
    {"cvt", "pack"},
    {"bar barrier", "cta arrive red warp cluster wait"},
    {"membar fence", "proxy"},
    {"createpolicy", "fractional range cvt"},
    {"cp", "async mbarrier arrive commit_group wait_group wait_all bulk tensor reduce prefetch"},
    {"mbarrier", "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait parity pending_count"},
    {"st red", "async bulk"},
    {"tensormap", "replace cp_fenceproxy"},
    {"multimem", "ld_reduce st red"},
    {"setmaxnreg", "inc dec"},
    {"clusterlaunchcontrol", "try_cancel async query_cancel"},
};

bool is_among(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = split(list, ' ');
  return std::ranges::find(words, word) != words.end();
}
bool is_fixed(std::string_view opcode, std::string_view word) {
  return std::ranges::any_of(kFixed, [&](const FixedWords& one) {
    return is_among(one.opcodes, opcode) && is_among(one.words, word);
  });
}

// Words of one of these classes keep their order among themselves.
enum class WordClass { free, type, space, eviction };
WordClass class_of(std::string_view word) {
  if (find_type(word)) return WordClass::type;
  if (word == "global" || word == "shared" || word.starts_with("shared::")) return WordClass::space;
  return word.starts_with("L2::evict") ? WordClass::eviction : WordClass::free;
}

/// The words of a statement, of which some slots of a form have taken theirs.
struct Taking {
  std::string_view opcode;
  std::span<const std::string_view> words;
  std::vector<bool> used;
  std::size_t fixed = 0;  ///< that stand at the beginning

  bool take(std::string_view wanted) {
    if (is_fixed(opcode, wanted)) {
      if (fixed == words.size() || words[fixed] != wanted || used[fixed]) return false;
      return used[fixed++] = true;
    }
    const WordClass kind = class_of(wanted);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (used[i]) continue;
      if (words[i] == wanted) return used[i] = true;
      if (kind != WordClass::free && class_of(words[i]) == kind) return false;
    }
    return false;
  }
};

// The words in another order, as ptxas takes them and compilers write some (atom.shared.cta.add.u32).
bool fits_in_any_order(const ScalarForm& form, std::size_t slot, const Taking& taken) {
  if (slot == form.slots.size()) return std::ranges::find(taken.used, false) == taken.used.end();
  return std::ranges::any_of(form.slots[slot], [&](const Words& alternative) {
    Taking mine = taken;
    return std::ranges::all_of(alternative, [&](std::string_view word) { return mine.take(word); }) &&
           fits_in_any_order(form, slot + 1, mine);
  });
}

bool fits_in_any_order(const ScalarForm& form, std::string_view opcode,
                       std::span<const std::string_view> words) {
  return std::ranges::all_of(words, [&](std::string_view word) { return form.words.contains(word); }) &&
         fits_in_any_order(form, 0, {opcode, words, std::vector<bool>(words.size()), 0});
}

MatchedForm matched(const ScalarForm& form, std::span<const std::string_view> words, Features features) {
  MatchedForm out{&form, {}, 1, false, 0, 0, features};
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  for (const std::string_view word : words) {
    if (const std::optional<Type> type = find_type(word)) out.types.push_back(*type);
    if (word == "v2" || word == "v4" || word == "v8") out.vector = word[1] - '0';
    if (is_among("1d 2d 3d 4d 5d", word)) out.coordinates = word[0] - '0';
    if (word == "and" || word == "or" || word == "xor") out.boolean = true;
  }
  out.offsets = has("im2col::w") || has("im2col::w::128") ? 2 : out.coordinates - 2;
  if (has("tile::gather4") || has("tile::scatter4")) out.coordinates = 5;  // a column and four rows
  return out;
}

Error no_form(std::string_view opcode, std::span<const std::string_view> words, const Progress& progress) {
  std::set<std::string> spellings;
  for (const Words* one : progress.accepted) spellings.insert(fmt::format(".{}", fmt::join(*one, ".")));
  const std::string spelled =
      words.empty() ? std::string(opcode) : fmt::format("{}.{}", opcode, fmt::join(words, "."));
  const std::string accepted = spellings.empty() ? "none" : fmt::format("{}", fmt::join(spellings, ", "));
  if (progress.words == words.size())
    return {Errc::missing_qualifier, spelled, "qualifier after the last", accepted};
  return {Errc::unknown_qualifier, spelled, std::string(words[progress.words]), accepted};
}

}  // namespace

std::span<const FormRow> form_rows() {
  return kRows;
}

std::span<const ScalarForm> scalar_forms() {
  return forms().all;
}

Type MatchedForm::type_of(const OperandForm& operand) const {
  switch (operand.type_from) {
    case 'T': return types.back();
    case 'U':
    case 'V': return types[types.size() - 2];
    case 'W': return twice(types.back()).value();
    default: return operand.type;
  }
}

Result<std::vector<MatchedForm>> match_scalar(std::string_view opcode, std::span<const std::string_view> words,
                                              Target target) {
  const auto rows = forms().by_opcode.find(opcode);
  if (rows == forms().by_opcode.end())
    return Error{Errc::unknown_instruction, {}, std::string(opcode), "those of the PTX manual"};
  std::vector<MatchedForm> out;
  Progress progress;
  Features lacking;
  for (const ScalarForm* form : rows->second) {
    if (!fits(*form, 0, words, 0, progress) && !fits_in_any_order(*form, opcode, words)) continue;
    if (target.row().features.has(form->row->needs))
      out.push_back(matched(*form, words, target.row().features));
    else
      lacking = form->row->needs;
  }
  if (!out.empty()) return out;
  if (lacking == Features()) return no_form(opcode, words, progress);
  std::vector<Target> having;
  for (const Target one : Target::all())
    if (one.row().features.has(lacking)) having.push_back(one);
  return Error{Errc::not_on_target, fmt::format("{}.{}", opcode, fmt::join(words, ".")),
               std::string(target.name()), names(having)};
}

}  // namespace warpbit::ptx
