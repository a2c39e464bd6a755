// SPDX-License-Identifier: Apache-2.0
// Descriptors of matrices and instructions: fields, what is read, what looks wrong.
import { listen, strip } from "./bits.mjs";
import { findings, html, table } from "./html.mjs";

// Which form a descriptor is for, unless it is said: by its digits.
const kForm = { matrix: "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", instruction: "tcgen05.mma.cta_group::1.kind::f16" };
const isShort = subject => subject.replace(/^0x/i, "").length <= 8;
const formOf = ({ subject, parameters: p }) => p.form || (isShort(subject) ? kForm.instruction : kForm.matrix);

export const parameters = [
  { name: "form", label: "Of the form", hint: kForm.matrix, wide: true },
  { name: "operand", label: "Operand", choices: ["", "a", "b", "idesc", "mask", "source"] },
  { name: "idesc", label: "Instruction descriptor", hint: "0x8200010", shown: s => (s.parameters.form ?? "").startsWith("tcgen05") && !isShort(s.subject) },
  { name: "transposed", label: "M or N contiguous", flag: true, shown: s => !isShort(s.subject) },
  { name: "size", label: "Bytes of shared memory", hint: "233472", shown: s => !isShort(s.subject) },
];

export const load = async (state, ask) => {
  const p = state.parameters, given = ["operand", "idesc", "size"].flatMap(n => p[n] ? ["--" + n, p[n]] : []);
  return { read: await ask(["descriptor", state.subject, "--form", formOf(state), ...given, ...(p.transposed ? ["--transposed"] : [])]) };
};

const hex = n => "0x" + n.toString(16);

export function render(state, { read }) {
  const width = read.operand === "idesc" ? 32 : 64, p = state.parameters;
  const layout = read.operand === "idesc" ? `#/layout/${formOf(state)}?idesc=${read.descriptor}`
    : `#/layout/${formOf(state)}?descriptor=${read.descriptor}${p.idesc ? `&idesc=${p.idesc}` : ""}${p.transposed ? "&transposed=1" : ""}`;
  return html`<p class="answer">${read.text ?? read.descriptor}</p>${findings(read.findings ?? [])}
${read.fields && strip(read.descriptor, width, read.fields, "descriptor")}
${read.fields && table("Fields", ["field", "bits", "value", "means"], read.fields.map(f => [f.field, f.bits === 1 ? f.first_bit : `${f.first_bit + f.bits - 1}:${f.first_bit}`, f.value, f.meaning]))}
${read.ranges && html`<p>${read.lines} lines of ${read.depth} elements of ${read.element_bits} bits, ${read.major}-major: ${read.bytes} bytes. <a href="${layout}">Its layout</a></p>
${table("What is read", ["from", "to"], read.ranges.map(([first, last]) => [hex(first), hex(last)]))}`}
${read.operand === "idesc" && html`<p><a href="${layout}">The layout of D</a></p>`}`;
}

export function enliven(root, state, data, { go }) {
  listen(root, (_, code) => go({ ...state, subject: code }));
  return {};
}
