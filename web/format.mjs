// SPDX-License-Identifier: Apache-2.0
// Format: every code on a line of numbers, the spacing, and how a number is rounded in each mode.
import { html, list, refusal, table } from "./html.mjs";

const kModes = ["rn", "rz", "rp", "rm", "rna"];

export const parameters = [
  { name: "number", label: "Number or code", hint: "3.3, 1/3, 0x7e" },
  { name: "satfinite", label: "satfinite", flag: true },
];

export async function load({ subject, parameters: p }, ask) {
  const formats = await ask(["format"]);
  if (!subject) return { formats: formats.formats };
  const about = await ask(["format", subject]);
  if (about.scale) return { about, quantised: p.number ? await ask(["format", subject, ...p.number.split(/[\s,]+/)]) : null, formats: formats.formats };
  const saturated = p.satfinite ? ["--satfinite"] : [];
  const { codes } = await ask(["format", subject, "--table"]);
  const isCode = /^0[xb]/.test(p.number ?? "") && !/p/i.test(p.number);
  const roundings = !p.number ? [] : isCode ? [["", await ask(["format", subject, p.number])]]
    : await Promise.all(kModes.map(async mode => [mode, await ask(["format", subject, p.number, "--round", mode, ...saturated])
      .catch(error => ({ refusal: error.message }))]));
  return { about, codes, roundings, formats: formats.formats };
}

// Where a value stands on a line that is even near 0 and logarithmic beyond `unit`.
const place = (value, unit) => Math.asinh(value / unit);

function line(codes, roundings) {
  const finite = codes.filter(c => Number.isFinite(Number(c.value)));
  const values = finite.map(c => Number(c.value));
  const few = finite.length <= 16;
  const unit = few ? 1e9 : Math.min(...values.filter(v => v > 0)) * 16;
  const xs = values.map(v => place(v, unit)), low = Math.min(...xs), high = Math.max(...xs);
  const x = v => 20 + 960 * (place(v, unit) - low) / (high - low || 1);
  let last = -Infinity;
  const labels = finite.map((c, i) => [x(values[i]), c]).sort((p, q) => p[0] - q[0])
    .filter(([at, c]) => at - last >= 8 * (short(c.value).length + 1) && (last = at, true));
  const typed = Number(roundings[0]?.[1].number);
  return html`<div class="scroll"><svg class="line" viewBox="0 0 1000 92" role="img" aria-label="${finite.length} finite codes on a line, the table below lists them">
<path class="axis" d="M10 50H990"/>${finite.map((c, i) => html`<path class="code ${c.class}" d="M${x(values[i]).toFixed(1)} ${c.class === "subnormal" ? 42 : 36}V50"><title>${c.code} ${c.value}</title></path>`)}
${labels.map(([at, c]) => html`<text x="${at.toFixed(1)}" y="68">${short(c.value)}</text>`)}
${Number.isFinite(typed) && typed >= Math.min(...values) && typed <= Math.max(...values) && html`<path class="typed" d="M${x(typed).toFixed(1)} 14V50"/><text class="typed" x="${x(typed).toFixed(1)}" y="10">${roundings[0][1].number}</text>`}</svg></div>`;
}
// The codes that a number is rounded to, and by which modes, around it.
function zoom(p, roundings) {
  const given = roundings.map(([mode, a]) => [mode, a, Number(a.value)]).filter(([mode, , v]) => mode && Number.isFinite(v));
  if (given.length === 0 || given[0][1].is_exact) return null;
  const typed = given[0][1].number, at = new Map();
  for (const [mode, a, v] of given) at.set(v, { code: a.code, value: a.value, modes: [...(at.get(v)?.modes ?? []), mode] });
  const ends = [...at.keys()].sort((x, y) => x - y);
  if (ends.length !== 2) return null;
  const [low, high] = ends.map(v => at.get(v)), error = Math.abs(Number(given.find(([, , v]) => v === ends[0])[1].error_ulp));
  const x = 150 + 700 * Math.min(error, 1);
  const end = (p, of, anchor) => html`<path d="M${p} 36V64"/><text x="${p}" y="80">${of.value}</text><text x="${p}" y="94">${of.code}</text>
<path class="typed" d="M${x.toFixed(1)} 44H${p}" marker-end="url(#arrow)"/><text x="${(p + x) / 2}" y="38">${of.modes.join(" ")}</text>`;
  return html`<div class="scroll"><svg class="line" viewBox="0 0 1000 100" role="img" aria-label="${typed} lies between ${low.value} and ${high.value}">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>
<path d="M100 56H900"/>${end(150, low)}${end(850, high)}<path class="typed" d="M${x.toFixed(1)} 20V64"/><text class="typed" x="${x.toFixed(1)}" y="14">${typed}</text></svg></div>`;
}

const short = text => text.length > 7 ? Number(text).toExponential(1).replace("e+", "e") : text;

const bits = fields => html`<code class="bits">${fields.map(f => html`<span class="${f.name}" title="${f.name}">${f.bits}</span>`)}</code>`;

function code(answer) {
  return answer.refusal ? [refusal(answer.refusal)] : [answer.code, bits(answer.fields), answer.class, answer.value, answer.power,
    answer.error_ulp ?? "", answer.ulp ?? "", [answer.below, answer.above].filter(Boolean).join(" · ")];
}

function quantised({ blocks }) {
  return blocks.map((b, i) => html`<p>Block ${i}: largest ${b.amax}, scale <code>${b.scale_code}</code> = ${b.scale} (unrounded ${b.unrounded_scale})</p>
${table("", ["number", "code", "element", "value", "error"], b.elements.map(e => [e.number, e.code, e.element, e.value, e.error]))}`);
}

export function render({ subject, parameters: p }, { about, codes, roundings, quantised: blocks, formats }) {
  const columns = Object.keys(formats[0]);
  const all = table("All formats", columns, formats.map(f => [html`<a href="#/format/${f.format}">${f.format}</a>`, ...columns.slice(1).map(c => f[c])]));
  if (!about) return all;
  const facts = Object.entries(about).filter(([, v]) => typeof v !== "object").filter(([k]) => !["schema", "format"].includes(k));
  return html`<dl class="facts">${facts.map(([k, v]) => html`<div><dt>${k.replaceAll("_", " ")}</dt><dd>${String(v)}</dd></div>`)}</dl>
${blocks && quantised(blocks)}
${codes && html`${codes.length <= 256 && line(codes, roundings)}${zoom(p, roundings)}
${roundings.length > 0 && table(roundings[0][0] ? `${p.number} in each mode` : `The code ${p.number}`, ["mode", "code", "bits", "class", "value", "power", "error in ulp", "ulp", "neighbours"],
    roundings.map(([mode, answer]) => [mode || p.number, ...code(answer)]))}
${table("Landmarks", ["landmark", "code", "bits", "class", "value", "power", "error in ulp", "ulp", "neighbours"], (about.landmarks ?? []).map(l => [l.landmark, ...code(l)]))}
<details ${codes.length <= 64 ? "open" : ""}><summary>${codes.length} codes</summary>${table("", ["code", "bits", "class", "value", "power", "hexadecimal"],
    codes.map(c => [html`<a href="#/format/${subject}?number=${c.code}">${c.code}</a>`, html`<code>${c.bits}</code>`, c.class, c.value, c.power, c.hexadecimal]))}</details>`}
${all}`;
}
