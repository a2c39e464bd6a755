// SPDX-License-Identifier: Apache-2.0
// Operands with thousands of elements: the grid drawn on canvases, tile by tile as they come into sight. What is lit lies above
// as elements of the page; a button is the cursor of the keyboard. The table is behind "as a table".
import { html, raw } from "./html.mjs";

const kCell = { width: 38, height: 27 }, kHead = { width: 36, height: 20 }, kColumns = 32, kRows = 64;  // of a tile

export function plot(operand, product, name) {
  const width = kHead.width + kCell.width * operand.columns, height = kHead.height + kCell.height * operand.rows;
  return html`<div class="plot" role="group" aria-label="${name}: ${operand.rows} x ${operand.columns} ${operand.format}, drawn; the table is below"
 data-operand="${operand.operand}" data-product="${product}" data-rows="${operand.rows}" data-columns="${operand.columns}" data-name="${name}"
 style="width:${width}px;height:${height}px"><button type="button" class="cursor" style="width:${kCell.width - 1}px;height:${kCell.height - 1}px;${raw(placed(0, 0))}"></button></div>`;
}

const left = column => kHead.width + kCell.width * column, top = row => kHead.height + kCell.height * row;
const placed = (row, column) => `left:${left(column)}px;top:${top(row)}px`;

// The colours of a page's classes, as the canvas takes them.
function palette(root) {
  const probe = document.createElement("span");
  root.append(probe);
  const of = name => { probe.className = name; return getComputedStyle(probe).backgroundColor; };
  const out = { shades: Array.from({ length: 32 }, (_, k) => of("k" + k)), none: of("probe-none") };
  probe.className = "";
  out.ink = getComputedStyle(probe).color;
  probe.className = "probe-soft";
  out.soft = getComputedStyle(probe).color;
  probe.remove();
  return out;
}

// Draws the rows and columns of a tile. `look(row, column)` gives [colour, lines of text] or nothing.
function draw(canvas, box, look, colours, name) {
  const scale = devicePixelRatio, { row, column, rows, columns } = box;
  const width = columns * kCell.width + kHead.width, height = rows * kCell.height + kHead.height;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const ink = canvas.getContext("2d");
  ink.scale(scale, scale);
  ink.textAlign = "center";
  ink.textBaseline = "middle";
  ink.font = "10px " + getComputedStyle(canvas).fontFamily;
  ink.fillStyle = colours.ink;
  if (column === 0 && row === 0) ink.fillText(name, kHead.width / 2, kHead.height / 2);
  ink.fillStyle = colours.soft;
  for (let j = 0; j < columns; ++j) ink.fillText(column + j, kHead.width + (j + .5) * kCell.width, kHead.height / 2);
  if (column === 0) for (let i = 0; i < rows; ++i) ink.fillText(row + i, kHead.width / 2, kHead.height + (i + .5) * kCell.height);
  for (let i = 0; i < rows; ++i)
    for (let j = 0; j < columns; ++j) {
      const [shade, lines] = look(row + i, column + j) ?? [undefined, []];
      const x = kHead.width + j * kCell.width, y = kHead.height + i * kCell.height;
      ink.fillStyle = shade === undefined ? colours.none : colours.shades[shade];
      ink.fillRect(x, y, kCell.width - 1, kCell.height - 1);
      ink.fillStyle = colours.ink;
      lines.forEach((line, n) => ink.fillText(line, x + kCell.width / 2, y + kCell.height / 2 + (n - (lines.length - 1) / 2) * 11));
    }
}

// Gives a plot its tiles. `look` as above; visit, choose: (row, column).
export function fill(element, look, visit, choose) {
  const { rows, columns } = Object.fromEntries(["rows", "columns"].map(n => [n, Number(element.dataset[n])]));
  const cursor = element.querySelector(".cursor"), drawn = new Set();
  let at = [0, 0];
  const seen = new IntersectionObserver(entries => {
    const colours = entries.some(e => e.isIntersecting) && palette(element);
    for (const { isIntersecting, target } of entries)
      if (isIntersecting && !drawn.has(target)) { drawn.add(target); draw(target, target.box, look, colours, element.dataset.name); }
  }, { rootMargin: "200px" });
  for (let row = 0; row < rows; row += kRows)
    for (let column = 0; column < columns; column += kColumns) {
      const canvas = document.createElement("canvas");
      canvas.box = { row, column, rows: Math.min(kRows, rows - row), columns: Math.min(kColumns, columns - column) };
      canvas.setAttribute("aria-hidden", "true");
      canvas.style = `left:${column * kCell.width}px;top:${row * kCell.height}px;width:${canvas.box.columns * kCell.width + kHead.width}px;height:${canvas.box.rows * kCell.height + kHead.height}px`;
      element.insertBefore(canvas, element.firstChild);  // tiles further right lie under the headings of those on the left
      seen.observe(canvas);
    }
  const again = () => { drawn.clear(); for (const c of element.querySelectorAll("canvas")) { seen.unobserve(c); seen.observe(c); } };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  document.addEventListener("theme", again);
  const cellAt = event => {
    const box = element.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - kHead.height) / kCell.height), column = Math.floor((event.clientX - box.left - kHead.width) / kCell.width);
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  };
  const move = (row, column) => {
    at = [row, column];
    cursor.style.left = left(column) + "px";
    cursor.style.top = top(row) + "px";
    cursor.setAttribute("aria-label", `${element.dataset.name}[${row},${column}]: ${(look(row, column)?.[1] ?? ["empty"]).join(" ")}`);
  };
  move(0, 0);
  let last = "";
  element.addEventListener("pointermove", event => {
    const cell = cellAt(event);
    if (cell && String(cell) !== last) { last = String(cell); visit(...cell); }
  });
  element.addEventListener("click", event => { const cell = event.detail > 0 ? cellAt(event) : at; if (cell) { move(...cell); choose(...cell); } });
  element.addEventListener("keydown", event => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-8, 0], PageDown: [8, 0], Home: [0, -columns], End: [0, columns] }[event.key];
    if (!step) return;
    event.preventDefault();
    move(Math.min(Math.max(at[0] + step[0], 0), rows - 1), Math.min(Math.max(at[1] + step[1], 0), columns - 1));
    cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
    visit(...at);
  });
}

// Something lit above a cell, or above a heading where the row or the column is missing; the caller removes it.
export function lit(element, row, column, name, text) {
  const out = document.createElement("span");
  out.className = "lit " + name;
  out.setAttribute("aria-hidden", "true");
  out.textContent = text;
  const head = row === undefined ? { left: left(column), top: 0, width: kCell.width, height: kHead.height }
    : column === undefined ? { left: 0, top: top(row), width: kHead.width, height: kCell.height }
    : { left: left(column), top: top(row), width: kCell.width, height: kCell.height };
  out.style = `left:${head.left}px;top:${head.top}px;width:${head.width - 1}px;height:${head.height - 1}px`;
  element.append(out);
  return out;
}
