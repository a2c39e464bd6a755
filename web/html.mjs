// SPDX-License-Identifier: Apache-2.0
// Markup as text, escaped. html`<b>${text}</b>` escapes texts, joins lists and leaves out null, undefined and false.
class Markup {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

const kEscapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const piece = value =>
  value === null || value === undefined || value === false ? ""
  : Array.isArray(value) ? value.map(piece).join("")
  : value instanceof Markup ? value.text
  : String(value).replace(/[&<>"]/g, character => kEscapes[character]);

export const raw = text => new Markup(text);
export const html = (strings, ...values) =>
  new Markup(strings.reduce((out, string, i) => out + string + (i < values.length ? piece(values[i]) : ""), ""));

// A table of rows of texts or markup. The first cell of a row is its heading.
export const table = (caption, columns, rows, classes = "") => html`
<div class="scroll"><table class="plain ${classes}"><caption>${caption}</caption>
<thead><tr>${columns.map(c => html`<th scope="col">${c}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...rest]) => html`<tr><th scope="row">${first}</th>${rest.map(c => html`<td>${c}</td>`)}</tr>`)}</tbody>
</table></div>`;

export const list = (items, classes = "") =>
  items.length > 0 && html`<ul class="${classes}">${items.map(item => html`<li>${item}</li>`)}</ul>`;

// A refusal in the library's words.
export const refusal = text => html`<p class="refusal" role="status">${text}</p>`;

// What looks wrong: [{issue, message}], or that nothing does.
export const findings = found => found.length > 0
  ? html`<div role="status"><ul class="findings">${found.map(f => html`<li><b>${f.issue.replaceAll("_", " ")}</b> ${f.message}</li>`)}</ul></div>`
  : html`<p class="fine" role="status">Nothing looks wrong.</p>`;
