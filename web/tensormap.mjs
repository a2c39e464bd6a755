// SPDX-License-Identifier: Apache-2.0
// Tensor maps: 128 bytes as 16 words, their fields, what they mean and what looks wrong.
import { listen, strip } from "./bits.mjs";
import { findings, html, table } from "./html.mjs";

export const parameters = [];

const wordsOf = subject => subject.split(/[\s,]+/).filter(Boolean);

export const load = async ({ subject }, ask) => ({ map: await ask(["tensormap", ...wordsOf(subject)]) });

// The parts of a field that lie in a word of 64 bits.
function inWord(fields, word) {
  const low = 64 * word, high = low + 64;
  const parts = fields.filter(f => f.first_bit < high && f.first_bit + f.bits > low).map(f => ({ field: f.field, first_bit: f.first_bit - low, bits: f.bits }));
  const out = [];
  let next = 0;
  for (const f of parts) {
    if (f.first_bit > next) out.push({ field: "", first_bit: next, bits: f.first_bit - next });
    out.push(f);
    next = f.first_bit + f.bits;
  }
  return next < 64 ? [...out, { field: "", first_bit: next, bits: 64 - next }] : out;
}

const shown = value => Array.isArray(value) ? value.join(" × ") : value;

export function render(state, { map }) {
  const members = Object.entries(map).filter(([k]) => !["schema", "findings", "fields", "words"].includes(k));
  return html`${findings(map.findings)}
<dl class="facts">${members.map(([k, v]) => html`<div><dt>${k}</dt><dd>${k === "global_address" ? "0x" + v.toString(16) : shown(v)}</dd></div>`)}</dl>
${map.fields && html`<h2>Word by word</h2>${map.words.map((word, i) => inWord(map.fields, i).every(f => f.field === "") ? null
    : html`<p class="wordname">word ${i} <code>${word}</code></p><div class="scroll">${strip(word, 64, inWord(map.fields, i), String(i))}</div>`)}
${table("Fields", ["field", "bits", "value"], map.fields.map(f => [f.field, f.bits === 1 ? f.first_bit : `${f.first_bit + f.bits - 1}:${f.first_bit}`, f.value]))}`}`;
}

export function enliven(root, state, { map }, { go }) {
  listen(root, (word, code) => go({ ...state, subject: map.words.map((w, i) => (String(i) === word ? code : w)).map(w => w.replace(/^0x/, "")).join(" ") }));
  return {};
}
