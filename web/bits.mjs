// SPDX-License-Identifier: Apache-2.0
// Words of bits as strips of buttons.
import { html } from "./html.mjs";

const digits = (word, width) => BigInt(word).toString(2).padStart(width, "0");
export const hexOf = binary => "0x" + BigInt("0b" + binary).toString(16);

// Fields {field, first_bit, bits, value, meaning} of a word of `width` bits, the highest first. `name` tells what changes.
export function strip(word, width, fields, name) {
  const binary = digits(word, width);
  return html`<div class="word" role="group" aria-label="${name}, bit by bit" data-word="${name}" data-width="${width}">${[...fields].sort((x, y) => y.first_bit - x.first_bit).map((f, i) => html`
<span class="field f${i % 6}"><span class="digits">${Array.from({ length: f.bits }, (_, j) => f.first_bit + f.bits - 1 - j).map(bit => html`<button type="button" class="bit" data-bit="${bit}" aria-pressed="${String(binary[width - 1 - bit] === "1")}" aria-label="${f.field || "no field,"} bit ${bit}: ${binary[width - 1 - bit]}">${binary[width - 1 - bit]}</button>`)}</span><small>${f.field}</small></span>`)}</div>`;
}

// A code's fields, the highest first: [{name: "sign", bits: "0"}, ...].
export const codeStrip = (code, fields, name) => {
  let low = fields.reduce((sum, f) => sum + f.bits.length, 0);
  const width = low;
  return strip(code, width, fields.map(f => ({ field: f.name, first_bit: low -= f.bits.length, bits: f.bits.length })), name);
};

// Toggles bits by click, key or by dragging over them; then calls changed(name, hexadecimal).
export function listen(root, changed) {
  let value = null, word = null;
  const set = button => { button.setAttribute("aria-pressed", value === "1"); button.textContent = value; };
  const done = () => {
    if (!word) return;
    const width = Number(word.dataset.width), binary = Array(width).fill("0");
    for (const b of word.querySelectorAll(".bit")) binary[width - 1 - Number(b.dataset.bit)] = b.textContent;
    const { word: name } = word.dataset;
    word = null;
    changed(name, hexOf(binary.join("")));
  };
  root.addEventListener("pointerdown", event => {
    const button = event.target.closest(".bit");
    if (!button) return;
    event.target.releasePointerCapture?.(event.pointerId);
    word = button.closest(".word");
    value = button.textContent === "1" ? "0" : "1";
    set(button);
  });
  root.addEventListener("pointerover", event => {
    const button = event.target.closest(".bit");
    if (word && button && button.closest(".word") === word) set(button);
  });
  root.addEventListener("pointerup", done);
  root.addEventListener("click", event => {  // of the keyboard, which has no pointer
    const button = event.target.closest(".bit");
    if (!button || event.detail > 0) return;
    word = button.closest(".word");
    value = button.textContent === "1" ? "0" : "1";
    set(button);
    done();
  });
}
