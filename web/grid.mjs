// SPDX-License-Identifier: Apache-2.0
// Operands as grids: a cell for each element with the text of its place, and the records of `layout --json` behind them.
import { html, raw } from "./html.mjs";
import { fill, lit, plot } from "./plot.mjs";

export const inLanes = operand => "lanes" in operand;
const hex = number => "0x" + number.toString(16);

// The records by operand, matrix, row and column; an element may have several places.
export function byElement(elements) {
  const out = new Map();
  for (const e of elements) {
    const key = keyOf(e);
    if (out.has(key)) out.get(key).push(e); else out.set(key, [e]);
  }
  return out;
}
export const keyOf = e => `${e.operand}/${e.product}/${e.row}/${e.column}`;
export const nameOf = (e, operand) => `${e.operand}[${e.row},${e.column}${operand.products > 1 ? "," + e.product : ""}]`;

// "T7 r0:16": lane, register and, of a part of one, its lowest bit. In memory the byte and the bank.
function placeText(e, operand) {
  if (!("lane" in e)) return ["bank" in e ? `b${e.bank}` : "", hex(e.byte) + (e.bit > 0 ? ":" + e.bit : "")];
  const tensor = operand.medium === "tensor_memory";
  if (!("bits" in e)) return [`T${e.lane}`, ""];
  const part = e.bits < operand.register_bits ? ":" + e.low_bit : "";
  return [operand.lanes > 1 ? (tensor ? "L" : "T") + e.lane : "", (tensor ? "c" : "r") + e.register + part];
}

// Its colour: one of 32, by lane, or by bank of shared memory.
const colour = e => "lane" in e ? e.lane % 32 : e.bank;

// What a plot draws of an element.
function look(operand, product, elements) {
  return (row, column) => {
    const places = elements.get(`${operand.operand}/${product}/${row}/${column}`);
    return places && [colour(places[0]), placeText(places[0], operand).filter(Boolean)];
  };
}

function cell(places, operand) {
  if (!places) return "<td class=none>";
  const [upper, lower] = placeText(places[0], operand);
  const shade = colour(places[0]);
  return `<td${shade === undefined ? "" : ` class=k${shade}`}>${upper}${upper && lower ? "\n" : ""}${lower}${places.length > 1 ? "+" : ""}`;
}

export const isLarge = operand => operand.columns > 32 || operand.rows * operand.columns > 1024;

// One matrix of an operand. A caption names it; row and column headings count from 0.
export function grid(operand, product, elements, large = isLarge(operand)) {
  const name = operand.operand + (operand.products > 1 ? `, matrix ${product}` : "");
  return large ? plot(operand, product, name) : asTable(operand, product, elements, name);
}

export function asTable(operand, product, elements, name = operand.operand) {
  let rows = "";
  for (let row = 0; row < operand.rows; ++row) {
    rows += `<tr role=row><th scope=row>${row}`;
    for (let column = 0; column < operand.columns; ++column)
      rows += cell(elements.get(`${operand.operand}/${product}/${row}/${column}`), operand);
  }
  let heads = "";
  for (let column = 0; column < operand.columns; ++column) heads += `<th scope=col>${column}`;
  return html`<table class="grid" style="--columns: ${operand.columns}" role="grid" aria-label="${name}: ${operand.rows} x ${operand.columns} ${operand.format}"
 data-operand="${operand.operand}" data-product="${product}"><thead><tr role="row"><td class="corner">${name}</td>${raw(heads)}</thead><tbody>${raw(rows)}</tbody></table>`;
}

// What a lane holds in each register, or what lies in each 16 bytes: the inverse, by comparing the records.
export function inverse(operand, elements) {
  const of = elements.filter(e => e.operand === operand.operand);
  const lanes = inLanes(operand);
  const place = e => lanes ? [e.lane, e.register] : [e.byte >> 7, e.byte >> 4 & 7];
  const cells = new Map(), rows = new Set(), columns = new Set();
  for (const e of of) {
    const [row, column] = place(e);
    rows.add(row); columns.add(column);
    const key = row + "/" + column;
    cells.set(key, [...(cells.get(key) ?? []), e]);
  }
  const ordered = set => [...set].sort((x, y) => x - y);
  const names = held => (held ?? []).length > 4
    ? `${nameOf(held[0], operand)} … ${nameOf(held.at(-1), operand)}` : (held ?? []).map(e => nameOf(e, operand)).join(" ");
  const across = ordered(columns);
  return html`<div class="scroll"><table class="plain"><caption>${operand.operand} ${lanes ? "by lane and register" : "by address"}</caption>
<thead><tr><th scope="col">${lanes ? "lane" : "address"}</th>${across.map(c => html`<th scope="col">${lanes ? c : "+" + hex(16 * c)}</th>`)}</tr></thead>
<tbody>${ordered(rows).map(r => html`<tr><th scope="row">${lanes ? r : hex(128 * r)}</th>${across.map(c => html`<td>${names(cells.get(r + "/" + c))}</td>`)}</tr>`)}</tbody></table></div>`;
}

// The registers of a lane, each a strip of its bits with the elements that lie in it.
export function registers(operand, lane, elements, chosen) {
  const held = elements.filter(e => e.operand === operand.operand && e.lane === lane && "bits" in e);
  const wanted = new Set(operand.registers > 8 ? chosen.map(e => e.register) : held.map(e => e.register));
  const marked = new Set(chosen.map(keyOf));
  return html`<dl class="registers">${[...wanted].sort((x, y) => x - y).map(r => html`<dt>${operand.operand} r${r}</dt>
<dd class="strip" style="--bits:${operand.register_bits}">${held.filter(e => e.register === r).sort((x, y) => y.low_bit - x.low_bit).map(e => html`<span class="k${lane % 32} ${marked.has(keyOf(e)) ? "chosen" : ""}" style="grid-column:${operand.register_bits - e.low_bit - e.bits + 1}/span ${e.bits}"><b>${nameOf(e, operand)}</b>${e.bits > 4 && html` <small>${e.low_bit + e.bits - 1}:${e.low_bit}</small>`}</span>`)}</dd>`)}</dl>`;
}

// ---- In the browser

const keyOfCell = td => {
  const { operand, product } = td.closest("table").dataset;
  return `${operand}/${product}/${td.parentNode.rowIndex - 1}/${td.cellIndex - 1}`;
};
const kSteps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-8, 0], PageDown: [8, 0] };

// Calls visit(records) for the element under the pointer or the focus, choose(records) for a click or Enter.
export function listen(root, operands, elements, visit, choose) {
  for (const element of root.querySelectorAll(".plot")) {
    const { operand, product } = element.dataset, found = (row, column) => elements.get(`${operand}/${product}/${row}/${column}`);
    fill(element, look(operands.find(o => o.operand === operand), product, elements), (r, c) => visit(found(r, c)), (r, c) => found(r, c) && choose(found(r, c)));
  }
  const at = event => event.target.closest?.(".grid tbody td");
  const records = td => elements.get(keyOfCell(td));
  root.addEventListener("pointerover", event => { const td = at(event); if (td) visit(records(td)); });
  root.addEventListener("focusin", event => { const td = at(event); if (td) visit(records(td)); });
  root.addEventListener("click", event => { const td = at(event); if (td && records(td)) { focus(td); choose(records(td)); } });
  root.addEventListener("keydown", event => {
    const td = at(event);
    if (!td) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); if (records(td)) choose(records(td)); return; }
    const body = td.closest("tbody"), last = td.parentNode.cells.length - 1;
    const step = kSteps[event.key];
    const column = event.key === "Home" ? 1 : event.key === "End" ? last : step && Math.min(Math.max(td.cellIndex + step[1], 1), last);
    if (!column) return;
    event.preventDefault();
    const row = Math.min(Math.max(td.parentNode.sectionRowIndex + (step ? step[0] : 0), 0), body.rows.length - 1);
    focus(body.rows[row].cells[column]);
  });
  for (const table of root.querySelectorAll(".grid")) table.tBodies[0].rows[0].cells[1].tabIndex = 0;
}

function focus(td) {
  for (const other of td.closest("table").querySelectorAll("td[tabindex]")) other.removeAttribute("tabindex");
  td.tabIndex = 0;
  td.focus({ preventScroll: false });
}

// Lights up cells of tables and plots by a class, until off().
export class Lights {
  constructor(root) { this.root = root; this.undo = []; }
  off() { for (const undo of this.undo) undo(); this.undo = []; }
  mark(td, name) {
    if (!td) return;
    td.classList.add(name);
    this.undo.push(() => td.classList.remove(name));
  }
  // A cell; the heading of a row or a column where the other is missing.
  at({ operand, product, row, column }, name) {
    const of = `[data-operand="${operand}"][data-product="${product}"]`;
    for (const table of this.root.querySelectorAll(".grid" + of))
      this.mark(row === undefined ? table.tHead.rows[0].cells[column + 1] : table.tBodies[0].rows[row]?.cells[column === undefined ? 0 : column + 1], name);
    for (const element of this.root.querySelectorAll(".plot" + of)) {
      const above = lit(element, row, column, name, row === undefined ? column : column === undefined ? row : "");
      this.undo.push(() => above.remove());
    }
  }
  on(records, name) { for (const e of records) this.at(e, name); }
  heads({ row, column, ...of }) {
    if (row !== undefined) this.at({ ...of, row }, "met");
    if (column !== undefined) this.at({ ...of, column }, "met");
  }
}
