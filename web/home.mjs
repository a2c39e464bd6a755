// SPDX-License-Identifier: Apache-2.0
// The first page: questions that people had, each one link, and the views.
import { html } from "./html.mjs";

const k16816 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

// Question, address.
export const examples = [
  ["Which lane holds a[3,5] of mma.m16n8k16, and in which half of the register?", `#/layout/${k16816}?select=a[3,5]`],
  ["Which rows do the lanes point to, so that ldmatrix loads A and B of it?", `#/layout/${k16816}?by=ldmatrix`],
  ["My wgmma reads B at the wrong places: where does the 128-byte swizzle put b[9,8]?", "#/layout/wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16?swizzle=128&select=b[9,8]"],
  ["Is this wgmma descriptor right?", "#/descriptor/0x4000004000010040?form=wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"],
  ["In which order do block scales lie in memory for cuBLAS and CUTLASS?", "#/layout/scale_factors?rows=256&blocks=8&select=sf[37,2]"],
  ["Which lane gives the scale factors of NVFP4's mma?", "#/layout/mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3?select=scale_a[3,0]"],
  ["Why do an A100 and an H100 differ by one unit in the last place?", `#/sum/${k16816}?targets=sm_80,sm_90a&a=0x0%200xbc00%200xc00&b=0x0%200x3c00%200x800`],
  ["How many bits does FP8 on Hopper keep in its sums?", "#/sum/wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3?targets=sm_90a&a=448%201%20-448%200.0625&b=1%201%201%200.0625"],
  ["What is wrong with this tensor map's box?", "#/tensormap/7f0000000008%2020000066510%200%200%203ff00000fff%200%203f00000000000000%207f%204000%20400%200%200%200%200%200%200"],
  ["Where does tcgen05.mma put d[17,5] in tensor memory?", "#/layout/tcgen05.mma.cta_group::1.kind::f16?idesc=0x8200010&select=d[17,5]"],
  ["What does 3.3 become in e4m3, in each rounding mode?", "#/format/e4m3?number=3.3"],
  ["What did my kernel wait for, and which lines move the most?", "#/profile"],
  ["Which GPUs have mma of FP8, and who measured it?", "#/gpu/mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"],
];

export const parameters = [];
export const load = async () => ({});
export const render = () => html`<p class="lead">Layouts, sums and descriptors of NVIDIA’s tensor instructions, answered by the library itself, in this page.</p>
<h2>Questions</h2><ul class="questions">${examples.map(([question, link]) => html`<li><a href="${link}">${question}</a></li>`)}</ul>
<p class="note">All ${html`<a href="form/index.html">forms as pages</a>`}, by family and GPU.</p>`;
