// SPDX-License-Identifier: Apache-2.0
// Layout: A left, B above, D below right; what an element, a lane, a register or a byte has to do with the others.
import { asTable, byElement, grid, inverse, inLanes, isLarge, Lights, listen, nameOf, registers } from "./grid.mjs";
import { fileName, parts } from "./address.mjs";
import { html, list, refusal, table } from "./html.mjs";

// The parameters that are options of the command, as the tool calls them.
const kOptions = ["target", "idesc", "descriptor", "swizzle", "tile", "tmem-lane", "order", "rows", "blocks"];
const has = (layout, role) => layout?.operands.some(o => o.operand === role);
const isShared = layout => layout?.unknown.length > 0 || layout?.operands.some(o => o.medium === "shared_memory");

export const parameters = [
  { name: "select", label: "Where is", hint: "a[3,5], lane 7 reg 2, b byte 0x412", shown: s => s.layout, middle: true },
  { name: "swizzle", label: "Swizzle", choices: ["", "128", "64", "32", "none"], shown: s => isShared(s.layout) },
  { name: "tile", label: "Tile", hint: "64x64", shown: s => s.parameters.swizzle },
  { name: "transposed", label: "M or N contiguous", flag: true, shown: s => isShared(s.layout) && !s.parameters.idesc },
  { name: "descriptor", label: "Descriptor", hint: "0x4000004000010000", shown: s => isShared(s.layout) && !s.parameters.swizzle },
  { name: "idesc", label: "Instruction descriptor", hint: "0x8200010", shown: s => s.subject.startsWith("tcgen05.mma") },
  { name: "tmem-lane", label: "Lane of the addresses", choices: ["", "0", "16"], shown: s => s.parameters.idesc },
  { name: "f", label: "Selector f", choices: ["", "0", "1", "2", "3"], shown: s => has(s.layout, "e") },
  ...["a", "b"].flatMap(x => ["byte", "thread"].map(id => ({
    name: `sel-${x}-${id}`, label: `sel_${x} ${id}-id`, choices: ["", "0", "1", "2", "3"], shown: s => has(s.layout, "scale_" + x) }))),
  { name: "rows", label: "Rows", hint: "256", shown: s => s.subject === "scale_factors" },
  { name: "blocks", label: "Blocks", hint: "8", shown: s => s.subject === "scale_factors" },
  { name: "order", label: "Order", choices: ["", "128x4", "linear"], shown: s => s.subject === "scale_factors" },
  { name: "by", label: "Rows that ldmatrix and stmatrix move", flag: true, value: "ldmatrix", shown: s => s.layout?.operands.some(o => inLanes(o)) && /mma/.test(s.subject) && !/^tcgen05/.test(s.subject) },
];

// Selectors are operands: a form becomes a statement.
function statement({ subject, parameters: p }) {
  const [form, target] = parts(subject);
  const scales = ["a", "b"].map(x => [p[`sel-${x}-byte`], p[`sel-${x}-thread`]]);
  if (!p.f && !scales.flat().some(Boolean)) return [subject];
  const scaled = form.includes(".block_scale");
  const operands = ["{d}", "{a}", "{b}", "{c}", ...(form.includes("mma.sp") ? ["e", p.f || "0"] : []),
    ...(scaled ? scales.flatMap(([byte, thread], i) => ["scale_" + "ab"[i], `{${byte || 0}, ${thread || 0}}`]) : [])];
  return [`${form} ${operands.join(", ")};`, ...(target ? ["--target", target] : [])];
}

const options = p => [...kOptions.flatMap(name => p[name] ? ["--" + name, p[name]] : []), ...(p.transposed ? ["--transposed"] : [])];

// An instruction descriptor of tcgen05.mma unless one is given: an example.
async function withDescriptor(state, ask) {
  const [form] = parts(state.subject);
  if (!/^tcgen05\.mma/.test(form) || state.parameters.idesc || form.includes(" ")) return state;
  const { forms } = await ask(["list", "--forms", `^${form.replaceAll(".", "\\.")}$`]);
  const idesc = forms[0]?.idesc_example;
  return idesc ? { ...state, parameters: { ...state.parameters, idesc }, assumed: idesc } : state;
}

export const where = async (state, ask) => {
  const { select } = state.parameters;
  const full = await withDescriptor(state, ask);
  return select ? ask(["where", ...statement(full), ...select.split(" "), ...options(full.parameters)]) : null;
};

export async function load(state, ask) {
  const full = await withDescriptor(state, ask);
  const words = [...statement(full), ...options(full.parameters)];
  const layout = await ask(["layout", ...words]);
  const moves = state.parameters.by
    ? await ask(["layout", ...words, "--by", "ldmatrix"]).catch(error => ({ refusal: error.message })) : null;
  return { layout, moves, assumed: full.assumed };
}

const kWide = 16;  // columns of A that leave room for D
const called = (layout, name) => layout.operands.find(o => o.operand === name || o.operand.startsWith(name + "_"));
const same = (x, y, elements) => {
  const of = o => elements.filter(e => e.operand === o.operand).map(e => [e.product, e.row, e.column, e.lane, e.register, e.low_bit].join());
  return x.format === y.format && String(of(x)) === String(of(y));
};

function heading(operand) {
  return html`<h2 class="minor">${operand.heading}</h2>${operand.cute && html`<p class="cute">CuTe <code>${operand.cute_domain}</code>: <code>${operand.cute}</code></p>`}
${operand.banks && html`<p class="${operand.banks.extra_wavefronts > 0 ? "warn" : "fine"}">${operand.banks.sentence}.</p>`}`;
}

// What the view draws: the triple, matrix by matrix, then the others.
function figures({ operands, elements }, records) {
  const [a, b, c, d] = ["a", "b", "c", "d"].map(name => called({ operands }, name));
  const triple = a && b && d && d.products === a.products ? [a, b, d] : a && d ? [a, d] : b && d ? [b, d] : [];
  const cAsD = c && d && same(c, d, elements);
  const rest = operands.filter(o => !triple.includes(o) && !(cAsD && o === c));
  const small = triple.some(isLarge), words = html`${triple.map(heading)}${cAsD && html`<h2 class="minor">${c.heading}; its places are those of d</h2>`}`;
  const quarter = (name, o, product) => html`<div class="${name}">${triple.includes(o) && grid(o, product, records, small)}</div>`;
  const inCorner = triple.length === 3 && Math.max(a.columns, b.columns) >= 8;  // the words have room beside B
  const mirrored = triple.length === 3 && a.columns > 2 * kWide && d.columns < a.columns;  // B and D are seen without scrolling
  return html`${!inCorner && words}
${triple.length > 0 && Array.from({ length: d.products }, (_, product) => html`<div class="scroll"><div class="triple ${mirrored && "mirrored"}">
<div class="words">${inCorner && product === 0 && words}</div>${quarter("b", b, product)}${quarter("a", a, product)}${quarter("d", d, product)}</div></div>`)}
${rest.map(o => html`${heading(o)}<div class="scroll row">${Array.from({ length: o.products }, (_, product) => grid(o, product, records))}</div>`)}`;
}

function move(m) {
  if (m.reason) return html`<article class="card"><h3>${m.operand}, ${m.stored}${m.tiles > 1 && `, ${m.tiles} tiles`}</h3><p class="note">${m.reason}</p></article>`;
  return html`<article class="card"><h3>${m.operand}, ${m.stored}${m.tiles > 1 && `, ${m.tiles} tiles`}</h3>
<p><code>${m.form} {${m.registers.flat().map(r => `${m.operand}${r}`).join(", ")}}</code></p>
<p>lane i points to [${m.row}, ${m.column}]</p>
<details><summary>lane by lane</summary>${table("", ["lane", "row", "column"], (m.addresses ?? []).map(x => [x.lane, x.row, x.column]))}</details></article>`;
}

export function render(state, { layout, moves, assumed }) {
  const records = byElement(layout.elements);
  return html`<p class="facts">${layout.form !== "scale_factors" && html`<a href="#/gpu/${layout.form}">${layout.target}</a>`}
${assumed && html`<span class="note">for the instruction descriptor <a href="#/descriptor/${assumed}?form=${layout.form}">${assumed}</a>, an example</span>`}</p>
<div class="panel" aria-live="polite"><div class="chosen-words"><p class="hint">Choose an element, or ask for one, for a lane, a register or a byte.</p></div><p class="under"></p></div>
${layout.unknown.map(sentence => html`<p class="note">${sentence}: choose a swizzle or give a descriptor.</p>`)}
<div class="figures">${figures(layout, records)}</div>
${moves && (moves.refusal ? refusal(moves.refusal) : html`<h2>Rows that ldmatrix and stmatrix move</h2><div class="cards">${moves.moves.map(move)}</div>`)}
<h2>The same from the other side</h2>
${layout.operands.map(o => html`<details data-operand="${o.operand}" data-as="inverse"><summary>${o.operand} ${inLanes(o) ? "by lane and register" : "by address"}</summary></details>
${isLarge(o) && html`<details data-operand="${o.operand}" data-as="table"><summary>${o.operand} as a table</summary></details>`}`)}`;
}

// The address of the picture that is made beforehand, for a form alone.
export const picture = (state, { layout }) => layout.form === "scale_factors" ? "" : `form/${fileName(layout.form)}.svg`;

// ---- In the browser

const kHover = 60;  // ms before a sentence is asked for

// What stands in the panel for a question that `where` answered.
function panel(question, answers, { layout }) {
  const chosen = answers.filter(e => "bits" in e);
  const lanes = [...new Set(chosen.map(e => e.lane))].filter(lane => lane !== undefined);
  const strips = lanes.length !== 1 ? [] : layout.operands.filter(o => o.medium === "registers").map(o => registers(o, lanes[0], layout.elements, chosen.filter(e => e.operand === o.operand)));
  const shown = answers.slice(0, 12);
  return html`<p class="answer">${shown.map(e => html`<span>${e.sentence}</span> `)}${answers.length > shown.length && html`<span>and ${answers.length - shown.length} more</span>`}
${answers.length === 0 && html`<span>${question}: no element lies there</span>`}</p>${strips.length > 0 && html`<h2 class="minor">Registers of lane ${lanes[0]}</h2><div class="lanes">${strips}</div>`}`;
}

export function enliven(root, state, data, { ask, go }) {
  const { layout } = data, records = byElement(layout.elements);
  const operand = e => layout.operands.find(o => o.operand === e.operand);
  const byLane = grouped(layout.elements, e => e.lane);
  const chosen = new Lights(root), visited = new Lights(root);
  const box = root.querySelector(".chosen-words"), under = root.querySelector(".under");
  let current = state, timer = 0;
  const light = (lights, found, name) => {
    lights.off();
    for (const e of found) {
      if (e.lane !== undefined && found.length <= 8) {
        lights.on(byLane.get(e.lane), "lane");
        lights.on(byLane.get(e.lane).filter(x => x.operand === e.operand && x.register === e.register), "register");
      }
      if (found.length === 1) for (const o of layout.operands) lights.heads({ operand: o.operand, product: e.product, ...meets(e, o, operand(e)) });
    }
    lights.on(found, name);
  };
  const show = async asked => {
    try {
      const answer = await where({ ...current, parameters: { ...current.parameters, select: asked } }, ask);
      return answer;
    } catch (error) { return { question: asked, answers: [], refusal: error.message }; }
  };
  const select = async next => {
    current = next;
    const asked = next.parameters.select;
    if (!asked) { chosen.off(); return; }
    const answer = await show(asked);
    if (current !== next) return;
    light(chosen, answer.answers, "chosen");
    box.innerHTML = answer.refusal ? refusal(answer.refusal) : panel(asked, answer.answers, data);
  };
  listen(root, layout.operands, records, found => {
    clearTimeout(timer);
    if (!found) return visited.off();
    light(visited, found.slice(0, 1), "visited");
    timer = setTimeout(async () => {
      const answer = await show(nameOf(found[0], operand(found[0])));
      under.textContent = answer.answers.map(e => e.sentence).join("; ");
    }, kHover);
  }, found => go({ ...current, parameters: { ...current.parameters, select: nameOf(found[0], operand(found[0])) } }));
  for (const details of root.querySelectorAll("details[data-as]"))
    details.addEventListener("toggle", () => {
      if (details.children.length > 1) return;
      const o = operand(details.dataset);
      details.insertAdjacentHTML("beforeend", details.dataset.as === "inverse" ? inverse(o, layout.elements)
        : `<div class="scroll">${Array.from({ length: o.products }, (_, product) => asTable(o, product, records)).join("")}</div>`);
    });
  select(state);
  return { live: ["select"], update: select };
}

function grouped(items, key) {
  const out = new Map();
  for (const item of items) { if (!out.has(key(item))) out.set(key(item), []); out.get(key(item)).push(item); }
  return out;
}

// The row and the column of an operand that an element of `of` lies in, is multiplied with or becomes part of.
const kMeets = { ad: "row", da: "row", bd: "column", db: "column" };
function meets(e, o, of) {
  if (o === of) return { row: e.row, column: e.column };
  const pair = of.operand[0] + o.operand[0];
  if (pair in kMeets && !/^s/.test(pair)) return { [kMeets[pair]]: e[kMeets[pair]] };
  if (pair === "ab" && of.columns === o.rows) return { row: e.column };
  if (pair === "ba" && of.rows === o.columns) return { column: e.row };
  return {};
}
