// SPDX-License-Identifier: Apache-2.0
// Which GPU has a form, what it becomes in machine code, and on what the numbers rest.
import { parts } from "./address.mjs";
import { html, table } from "./html.mjs";

export const parameters = [];

export async function load({ subject }, ask) {
  const check = await ask(["check", parts(subject)[0]]);
  const { targets } = await ask(["list", "--targets"]);
  return { check, targets, form: check.answers.find(a => a.accepted)?.form ?? check.text };
}

const kGrounds = ["order", "window", "floor", "specials"];

const ground = ({ basis, from }) => html`<span class="basis ${basis.replaceAll(" ", "-")}">${basis}</span>${from && html`<br><small>${from}</small>`}`;

export function render(state, { check, form, targets }) {
  const named = t => targets.find(x => x.target === t);
  const gpus = t => named(t) && html`${named(t).architecture}<br><small>${named(t).names.slice(0, 4).join(", ")}</small>`;
  const having = check.answers.filter(a => a.accepted), refused = check.answers.filter(a => !a.accepted);
  return html`<p class="answer">${form}</p>
${having.length > 0 && html`<p><a href="#/layout/${form}">Layout</a> · <a href="#/sum/${form}">Sum</a></p>
${table("GPUs that have it, and on what its numbers rest", ["target", "GPUs", "machine code", "captures", ...kGrounds], having.map(a =>
    [a.target, gpus(a.target), a.machine_code?.text ?? a.machine,
      html`<span data-captures="${a.target}">…</span>`, ...kGrounds.map(g => a.evidence[g] && ground(a.evidence[g]))]), "evidence")}`}
${refused.length > 0 && html`<details ${having.length === 0 && "open"}><summary>${refused.length} targets that have not</summary>${table("", ["target", "GPUs", "why"], refused.map(a => [a.target, gpus(a.target), a.error.message]))}</details>`}`;
}

// ---- In the browser

const count = n => n.toLocaleString("en");
const recorded = r => !r || r.files === 0 ? "" : html`${count(r.cases)} cases, ${count(r.elements)} elements in ${r.files} files<br><small>${r.devices.join(", ")}; ${r.dates.join(" to ")}</small>`;

// The captures, which take a while to count, come behind.
export function enliven(root, state, { form }, { ask }) {
  const only = `^${form.replace(/[.*+?^$()[\]{}|\\]/g, "\\$&")}$`;
  const fill = forms => { for (const span of root.querySelectorAll("[data-captures]")) span.innerHTML = recorded(forms.find(f => f.target === span.dataset.captures)?.recorded); };
  ask(["list", "--evidence", "--forms", only]).then(({ forms }) => fill(forms), () => fill([]));
  return {};
}
