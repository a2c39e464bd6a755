// SPDX-License-Identifier: Apache-2.0
// Sum: one element of D, its terms bit under bit, on one or several GPUs side by side, and why they differ.
import { parts } from "./address.mjs";
import { codeStrip, listen } from "./bits.mjs";
import { html, list, refusal } from "./html.mjs";

const kNumbers = ["a", "b", "c", "a-scale", "b-scale"];

export const parameters = [
  { name: "targets", label: "GPUs", hint: "sm_80,sm_90a or A100,H100", middle: true },
];

const words = text => (text ?? "").split(/[\s,]+/).filter(Boolean);
const kinds = { a: "a", b: "b", c: "c", "a-scale": "scale_a", "b-scale": "scale_b" };

// The GPUs asked for; else the first and the last that have the form.
async function targetsOf({ subject, parameters: p }, ask) {
  const [form, target] = parts(subject);
  const { answers } = await ask(["check", form]);
  const having = answers.filter(a => a.accepted);
  if (having.length === 0) return { form, targets: [target].filter(Boolean), operands: [] };
  const targets = p.targets ? words(p.targets) : target ? [target] : [...new Set([having[0].target, having.at(-1).target])];
  return { form: having[0].form, targets, operands: having[0].operands, having: having.map(a => a.target) };
}

// Each number with its code: [{text, answer}].
const coded = (numbers, format, ask) => Promise.all(numbers.map(async text => ({
  text, answer: await ask(["format", format, text]).catch(error => ({ refusal: error.message })) })));

export async function load(state, ask) {
  const p = state.parameters, of = await targetsOf(state, ask);
  const format = Object.fromEntries(kNumbers.map(n => [n, of.operands.find(o => o.role === kinds[n] || o.role.startsWith(kinds[n] + "_"))?.format]));
  const given = kNumbers.filter(n => p[n] && format[n]).flatMap(n => ["--" + n, words(p[n]).join(" ")]);
  const several = of.targets.length > 1;
  let answer = null;
  if (given.length > 0)
    answer = several ? await ask(["compare", of.form, "--targets", of.targets.join(","), ...given])
      : await ask(["explain", of.form, "--target", of.targets[0], ...given]);
  const codes = {};
  for (const n of kNumbers) if (format[n]) codes[n] = await coded(words(p[n]), format[n], ask);
  return { ...of, format, codes, answer };
}

// ---- Rendering

const number = (name, i, { text, answer }, format) => html`<div class="number"><label>${name}[${i}] <input data-number="${name}" data-index="${i}" data-above="${answer?.above ?? ""}" data-below="${answer?.below ?? ""}" value="${text}" size="10" spellcheck="false"></label>
${answer && !answer.refusal && html`<code>${answer.code}</code>${codeStrip(answer.code, answer.fields, `${name}/${i}`)}<small>${answer.value}</small>`}${answer?.refusal && refusal(answer.refusal)}
${!answer && html`<small>${format}</small>`}</div>`;

function inputs({ format, codes }) {
  const rows = Math.max(codes.a?.length ?? 0, codes.b?.length ?? 0) + 1;
  const at = (n, i) => codes[n] && number(n, i, codes[n][i] ?? { text: "" }, format[n]);
  const scales = ["a-scale", "b-scale"].filter(n => format[n]);
  return html`<div class="terms">${Array.from({ length: rows }, (_, i) => html`<div class="term">${at("a", i)}${at("b", i)}</div>`)}
<div class="term">${at("c", 0)}</div>
${scales.length > 0 && html`<div class="term">${scales.map(n => Array.from({ length: codes[n].length + 1 }, (_, i) => at(n, i)))}</div>`}</div>`;
}

function columns({ columns: c }) {
  if (!c) return null;
  const heads = c.top === c.low ? `2^${c.low}` : `2^${c.top} to 2^${c.low}`;
  return html`<div class="scroll"><table class="sum"><thead><tr><th scope="col">term</th><th scope="col">bits from ${heads}<span class="cut"> cut</span></th><th scope="col">value</th></tr></thead>
<tbody>${c.rows.map(r => html`<tr class="${r.is}"><th scope="row">${r.name}</th><td><code>${r.sign}${r.kept}<s class="cut" ${r.cut && html`aria-label="cut: ${r.cut.trim()}"`}>${r.cut}</s></code></td><td>${r.value}</td></tr>`)}</tbody></table></div>`;
}

function explanation(e, first) {
  return html`<article class="card sumcard ${first && e.code !== first.code ? "differs" : ""}"><h2 class="minor"><a href="#/gpu/${e.form}">${e.target}</a></h2><p class="note">${e.plan}${e.assumed?.length > 0 && html` · inferred: ${e.assumed.join(", ")}`}</p>
${e.sums.map(s => html`<section><h3>${s.name}</h3>${columns(s)}${list(s.sentences ?? [])}</section>`)}
<p class="result">${e.sentence}</p><p class="note">exact ${e.exact.decimal}</p>${list(e.notes ?? [], "note")}</article>`;
}

export function render(state, data) {
  const { answer, targets } = data;
  const explanations = answer?.explanations ?? (answer?.sums ? [answer] : []);
  const reasons = [...new Set((answer?.reasons ?? []).filter(Boolean))];
  const codes = new Set(explanations.map(e => e.code));
  return html`<p class="actions"><button type="button" data-action="find" ${targets.length < 2 && "disabled"}>Find numbers that tell ${targets.slice(0, 2).join(" and ")} apart</button>
<button type="button" data-action="draw" ${targets.length < 2 && "disabled"}>Draw at random until they differ</button></p>
<p role="status" data-said></p>
${inputs(data)}
${explanations.length > 1 && html`<p class="verdict ${codes.size > 1 ? "warn" : "fine"}" role="status">${reasons.length > 0 ? reasons.join(" ") : codes.size > 1 ? "The results differ." : "The results are the same."}</p>`}
<div class="side">${explanations.map((e, i) => explanation(e, i > 0 && explanations[0]))}</div>
${!answer && html`<p class="hint">Type numbers above, in decimal, as fractions or as codes: 0.1, 1/3, 2^-12, 0x3c00. Arrow keys step to the neighbouring code; each bit is a button.</p>`}`;
}

// ---- In the browser

const kDraws = 40;

export function enliven(root, state, data, { ask, go, busy }) {
  const set = (name, index, text) => {
    const numbers = words(state.parameters[name]);
    while (numbers.length < index) numbers.push("0");
    numbers[index] = text || "0";
    while (numbers.length > 0 && numbers.at(-1) === "0") numbers.pop();
    go({ ...state, parameters: { ...state.parameters, [name]: numbers.join(" ") } }, `[data-number="${name}"][data-index="${index}"]`);
  };
  root.addEventListener("change", ({ target }) => { if (target.dataset.number) set(target.dataset.number, Number(target.dataset.index), target.value.trim()); });
  root.addEventListener("keydown", event => {
    const { number: name, index, above, below } = event.target.dataset;
    const code = event.key === "ArrowUp" ? above : event.key === "ArrowDown" ? below : "";
    if (name && code) { event.preventDefault(); set(name, Number(index), code); }
  });
  listen(root, (word, code) => set(word.split("/")[0], Number(word.split("/")[1]), code));
  const take = ({ a, b, c, a_scale = [], b_scale = [] }) => go({ ...state, parameters: { targets: data.targets.join(","),
    a: trimmed(a), b: trimmed(b), c: c === "0x0" ? "" : c, "a-scale": a_scale.join(" "), "b-scale": b_scale.join(" ") } });
  const say = text => root.querySelector("[data-said]").textContent = text;
  const actions = {
    async find() {
      const found = await ask(["compare", data.form, "--find-difference", data.targets.slice(0, 2).join(",")]);
      if (found.found) take(found.inputs); else say(`No numbers were found that tell ${data.targets.slice(0, 2).join(" and ")} apart; ${found.tried} were tried.`);
    },
    async draw() {
      const from = Math.floor(Math.random() * 1e6);
      for (let seed = from; seed < from + kDraws; ++seed) {
        const { first } = await ask(["compare", data.form, "--targets", data.targets.join(","), "--random", "ordinary", "--cases", "1", "--seed", String(seed)]);
        if (first) return take(first.inputs);
      }
      say(`${kDraws} matrices were drawn; ${data.targets.join(", ")} computed the same.`);
    },
  };
  root.addEventListener("click", ({ target }) => { const action = actions[target.dataset.action]; if (action) busy(action()); });
  return {};
}

const trimmed = codes => { const out = [...codes]; while (out.length > 0 && out.at(-1) === "0x0") out.pop(); return out.join(" "); };
